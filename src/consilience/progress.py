"""Progress with time left, on anything that takes more than a moment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

_shown: bool | None = None  # None: decide by the terminal


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
    items: Iterable[Any] | None = None, *, total: int | None = None, what: str = "", unit: str = "it"
):
    """A bar on stderr that appears after two seconds and leaves no trace when done.

    Use as an iterator over ``items``, or with ``total`` as a context whose ``update(k)`` advances it.
    """
    from tqdm.auto import tqdm

    return tqdm(
        items,
        total=total,
        desc=what,
        unit=unit,
        delay=2.0,
        leave=False,
        disable=None if _shown is None else not _shown,
    )


#: Expected seconds from which work is announced.
LONG = 20.0


def announce(what: str, seconds: float, n_bytes: float) -> None:
    """One line on stderr before long work: what it takes. Shown where bars are shown."""
    import sys

    from tqdm.auto import tqdm

    shown = sys.stderr.isatty() if _shown is None else _shown
    if shown and seconds >= LONG:
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
