"""Data frames of any library, seen through narwhals."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_frame(data: Any) -> Any:
    """A narwhals data frame of ``data``, or None if it is none."""
    if isinstance(data, (np.ndarray, list, tuple)):
        return None
    import narwhals as nw

    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError:
        return None
    return frame if isinstance(frame, nw.DataFrame) else None


def row_names(data: Any) -> list[Any] | None:
    """The index of a pandas data frame, unless it only counts the rows."""
    index = getattr(data, "index", None)
    return None if index is None or type(index).__name__ == "RangeIndex" else list(index)
