"""Progress with time left, on anything that takes more than a moment."""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

_shown: bool | None = None  # None: decide by the terminal
_DELAY = 2.0  # seconds before a bar appears


class _Watch(threading.local):
    """What this thread is at, if its loops over blocks of work are to be shown."""

    what: str | None = None


_watch = _Watch()


@contextmanager
def progress_shown(shown: bool | None) -> Iterator[None]:
    """Force progress bars on or off inside a block; None lets the terminal decide."""
    global _shown
    before, _shown = _shown, shown
    try:
        yield
    finally:
        _shown = before


def progress(
    items: Iterable[Any] | None = None,
    *,
    total: int | None = None,
    initial: int = 0,
    what: str = "",
    unit: str = "it",
):
    """A bar on stderr that appears after two seconds and leaves no trace when done.

    Use as an iterator over ``items``, or with ``total`` as a context whose ``update(k)`` advances it;
    ``initial`` of them were done before.
    """
    from tqdm.auto import tqdm

    return tqdm(
        items,
        total=_length(items) if total is None else total,
        initial=initial,
        desc=what,
        unit=unit,
        delay=_DELAY,
        leave=False,
        disable=None if _shown is None else not _shown,
    )


def _length(items: Any) -> float | None:
    """The number of items, if it is known: a range may be longer than the machine counts."""
    try:
        return len(items)
    except OverflowError:
        return math.inf
    except TypeError:
        return None


#: Expected seconds from which work is announced.
LONG = 20.0


def announce(what: str, seconds: float, n_bytes: float) -> None:
    """One line on stderr before long work says what it takes. It is shown where bars are shown."""
    from tqdm.auto import tqdm

    if _visible() and seconds >= LONG:
        tqdm.write(
            f"consilience: {what}: about {_duration(seconds)} of processor time and {n_bytes / 1e9:.1f} GB.",
            file=sys.stderr,
        )


def _duration(seconds: float) -> str:
    """'40 seconds', '7 minutes' or '3 hours'."""
    for unit, length in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} seconds"


@contextmanager
def loops_shown(what: str) -> Iterator[None]:
    """In this block, show a bar for every loop over blocks of work that takes more than a moment.

    The loops are those of ``_kernels.runtime.threads``.
    """
    before, _watch.what = _watch.what, what if _visible() else None
    try:
        yield
    finally:
        _watch.what = before


@contextmanager
def counting(total: int) -> Iterator[Callable[[], None] | None]:
    """A function to call after each of ``total`` tasks of a loop.

    None if no bar is shown, or if one is shown for a loop around it.
    """
    what = _watch.what
    if what is None:
        yield None
        return
    _watch.what = None
    bar = _LateBar(what, total)
    try:
        yield bar.advance
    finally:
        _watch.what = what
        bar.close()


class _LateBar:
    """A bar that is made only after a while: most loops are short, and there can be thousands of them."""

    def __init__(self, what: str, total: int):
        self.what, self.total = what, total
        self.begun, self.done = time.perf_counter(), 0
        self.lock = threading.Lock()
        self.bar: Any = None

    def advance(self) -> None:
        """One more task is done; called by any thread."""
        with self.lock:
            self.done += 1
            passed = time.perf_counter() - self.begun
            if self.bar is not None:
                self.bar.update(1)
            elif passed > _DELAY:
                self.bar = progress(total=self.total, what=self.what, unit="block")
                self.bar.delay = 0
                self.bar.start_t -= passed  # time left is estimated from the beginning
                self.bar.update(self.done)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def _visible() -> bool:
    return sys.stderr.isatty() if _shown is None else _shown
