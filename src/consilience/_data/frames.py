"""Data frames of any library, seen through narwhals."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from .._base.names import check_unique
from ..errors import need

#: From here on a float may not be the whole number it stands for.
LARGEST_WHOLE = 2**53


def as_frame(data: Any) -> Any:
    """A narwhals data frame of ``data``, or None if it is none."""
    if isinstance(data, (np.ndarray, list, tuple)):
        return None
    import narwhals as nw

    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError:
        return None
    except nw.exceptions.DuplicateError:
        # pyarrow calls the columns themselves so
        names = data.column_names if hasattr(data, "column_names") else data.columns
        check_unique(map(str, names), "column name", "rename the columns")
        raise
    return frame if isinstance(frame, nw.DataFrame) else None


def row_names(data: Any) -> list[Any] | None:
    """The index of a pandas data frame, unless it only counts the rows."""
    index = getattr(data, "index", None)
    return None if index is None or type(index).__name__ == "RangeIndex" else list(index)


def in_order_of(names: list[Any] | None, values: Any) -> Any:
    """A pandas object in the order of the objects, if it names the same in another order; else as given."""
    own = row_names(values) if hasattr(values, "loc") else None
    if names is None or own is None or own == names or len(own) != len(names) or set(own) != set(names):
        return values
    if len(set(own)) < len(own):
        return values
    return values.loc[names]


def library_of(data: Any) -> str | None:
    """The library of a data frame; None if it is not a data frame."""
    frame = as_frame(data)
    return None if frame is None else str(frame.implementation)


def labels_frame(labels: np.ndarray, confidence: np.ndarray, names: list[Any] | None, library: Any) -> Any:
    """Labels and confidence as a frame of the library of the input if that was a frame, else of pandas."""
    columns = {"label": labels, "confidence": confidence}
    if library in (None, "pandas"):
        return need("pandas", "pandas", "to_frame()").DataFrame(columns, index=names)
    import narwhals as nw

    columns = columns if names is None else {"sample": np.array(names), **columns}
    backend: Any = library
    return nw.from_dict(columns, backend=backend).to_native()


def values_of(column: Any) -> np.ndarray:
    """The values of a column as narwhals sees it.

    Whole numbers with gaps become a masked array if floats cannot represent them.
    """
    values = column.to_numpy()
    if values.dtype.kind != "f" or not column.dtype.is_integer() or not beyond_floats(values):
        return values
    return np.ma.array(column.fill_null(0).to_numpy(), mask=column.is_null().to_numpy())


def beyond_floats(values: np.ndarray) -> bool:
    """Whether floats may stand for several whole numbers, as from 2**53 on."""
    with np.errstate(invalid="ignore"):  # NaN, which may be a signaling one
        return bool((np.abs(values) >= LARGEST_WHOLE).any())


def as_array(values: Any) -> np.ndarray:
    """An array of any list; a masked number in it becomes NaN without a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Warning: converting a masked element", UserWarning)
        return np.asarray(values)
