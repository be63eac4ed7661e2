"""The process that compiles beside another one (:mod:`.first_use`). What takes long to import comes when it
listens already.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading


def compile_from_the_end(names: list[str]) -> None:
    """Compile what these need and is not on disk, last used first, until all is there or the input is closed."""
    threading.Thread(target=_end_with_input, daemon=True).start()
    from .._kernels.compile.cached import can_keep, compile_now
    from .first_use import missing

    for kernel in reversed(missing(names)):
        if not can_keep():
            return
        compile_now(kernel.name, kernel.signature)


def _end_with_input() -> None:
    sys.stdin.buffer.read()  # returns when the other process closes it, in whatever way it ends
    compiler = sys.modules.get("consilience._kernels.compile.jit")
    with getattr(compiler, "WRITING", contextlib.nullcontext()):  # no half of a file is left behind
        os._exit(0)
