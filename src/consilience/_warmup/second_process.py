"""The second process that compiles for another one (:mod:`.first_use`).

Slow imports come after it has begun to listen.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading


def compile_from_the_end(names: list[str]) -> None:
    """Compile what ``names`` need and is not on disk, last used first, until done or the input is closed."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    from .._kernels.compile.cached import can_keep, compile_now
    from .first_use import missing

    for kernel in reversed(missing(names)):
        if not can_keep():
            return
        compile_now(kernel.name, kernel.signature)


def _end_with_input() -> None:
    sys.stdin.buffer.read()  # returns when the other process closes it, however that process ends
    compiler = sys.modules.get("consilience._kernels.compile.jit")
    with getattr(compiler, "WRITING", contextlib.nullcontext()):  # no partial file is left behind
        os._exit(0)
