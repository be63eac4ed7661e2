"""Where a Ctrl-C must not be raised: while LLVM compiles or loads, and while a kernel returns.

It is raised a little later there.
"""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, cast

#: numba's Python function that compiled code calls to make Python's objects of what it returns.
_RETURNING = "_numba_unpickle"
_AGAIN = 0.02  # seconds


def raise_interrupt(number: int, frame: Any) -> None:
    """What a Ctrl-C does by default, but where a kernel is about to return.

    Compiled code does not look whether the function that it calls then failed: raised in there, an interrupt
    crashes the process. It comes again a moment later.
    """
    if frame is not None and frame.f_code.co_name == _RETURNING:
        interrupt_again()
    else:
        raise KeyboardInterrupt


def interrupt_again() -> None:
    """A Ctrl-C that comes a moment later."""
    threading.Timer(_AGAIN, _interrupt_main).start()


def _interrupt_main() -> None:
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(
            cast(int, threading.main_thread().ident), signal.SIGINT
        )  # also wakes it if it waits
    else:
        _thread.interrupt_main()


@contextmanager
def interrupts_outside_kernels() -> Iterator[None]:
    """Inside, a Ctrl-C is raised by :func:`raise_interrupt`, unless the program has a handler of its own."""
    # Only the main thread may set handlers.
    default = threading.current_thread() is threading.main_thread() and (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if default:
        signal.signal(signal.SIGINT, raise_interrupt)
    try:
        yield
    finally:
        if default:
            signal.signal(signal.SIGINT, signal.default_int_handler)


class InterruptsLater:
    """Inside, a Ctrl-C waits, and is raised at the end.

    LLVM calls back into Python: what is raised in there Python can only report and forget, and what is raised
    between two calls into LLVM leaves halves behind, at which the process may crash.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._came = False
        self._before: Any = None

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return  # signals are raised in the main thread alone
        self._depth += 1
        # A program that has a handler of its own keeps it.
        if self._depth == 1 and signal.getsignal(signal.SIGINT) in (
            signal.default_int_handler,
            raise_interrupt,
        ):
            self._before = signal.signal(signal.SIGINT, self._note)

    def __exit__(self, *failure: object) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._depth -= 1
        if self._depth or self._before is None:
            return
        signal.signal(signal.SIGINT, self._before)
        came, self._came, self._before = self._came, False, None
        if came:
            raise KeyboardInterrupt

    def _note(self, number: int, frame: Any) -> None:
        self._came = True


INTERRUPTS_LATER = InterruptsLater()


def to_its_end(compile: Callable) -> Callable:
    """The same, but compiling or loading is completed and kept before an interrupt is raised."""

    @wraps(compile)
    def compile_or_load(*args: Any, **options: Any) -> Any:
        with INTERRUPTS_LATER:
            return compile(*args, **options)

    return compile_or_load
