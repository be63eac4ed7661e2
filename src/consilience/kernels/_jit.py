"""How kernels are compiled: cached on disk, free of the interpreter lock, and not silently slow.

Kernels are serial and work on a block of rows; :mod:`.parallel` runs blocks on threads. That keeps one
compiled version of each, makes ``n_jobs`` mean what it says, and needs no OpenMP runtime, which neither
forks nor nests well.
"""

from __future__ import annotations

import sys
import threading
from functools import partial

import numba
from numba.core import event

kernel = partial(numba.njit, cache=True, nogil=True)
#: For kernels whose inputs are known to be finite: the compiler may reorder and vectorise sums.
fast_kernel = partial(numba.njit, cache=True, nogil=True, fastmath=True)

_NOTICE_AFTER = 1.0  # seconds


class _SayWhenCompiling(event.Listener):
    """Tell the user, once a process, why a first call takes its time."""

    def __init__(self) -> None:
        self._timer: threading.Timer | None = None
        self._depth = 0
        self._said = False

    def on_start(self, event) -> None:
        self._depth += 1
        if self._depth == 1 and not self._said:
            self._timer = threading.Timer(_NOTICE_AFTER, self._say)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, event) -> None:
        self._depth = max(0, self._depth - 1)
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _say(self) -> None:
        self._said = True
        print(
            "consilience: compiling for this machine (first use only; kept on disk for next time) ...",
            file=sys.stderr,
            flush=True,
        )


event.register("numba:compile", _SayWhenCompiling())
