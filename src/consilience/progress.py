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
