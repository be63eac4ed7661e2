"""From anything a user may call 'my clusterings' to integer codes: the rules of the door of Ensemble.

A label is a category. Missing are -1, NaN, None, NaT, masked entries, and in text the words of
:data:`MISSING_WORDS`. Codes number the categories of one clustering 0..k-1 in sorted order of their values,
so a label matrix that already counts from 0 without gaps keeps its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._frames import as_frame, row_names
from .errors import InputError
from .kernels._jit import kernel
from .kernels.parallel import map_blocks
from .naming import check_unique, numbered
from .validation import checked_csr, listed

#: Text cells that mean "not clustered here".
MISSING_WORDS = frozenset(
    {"", "-1", "nan", "NaN", "NAN", "NA", "N/A", "<NA>", "None", "none", "null", "NULL", "NaT"}
)

_ROWS_PER_BLOCK = 1 << 16
_WIDE_TABLE = 1 << 20  # integer labels spread over less than this are counted in a table, not sorted


@dataclass
class Intake:
    """What the door lets through."""

    labels: np.ndarray  # (n, m) int16 or int32, -1 missing
    categories: list[np.ndarray]
    clustering_names: list[str] | None = None
    sample_names: list[Any] | None = None
    is_matrix: bool = False  # given as one n x m array: the only form that can be the wrong way round


def take_in(labels: Any) -> Intake:
    """Recognise the container and encode what is in it."""
    import scipy.sparse as sp

    if sp.issparse(labels):
        raise InputError(
            f"labels is a sparse matrix of shape {labels.shape}. Pass a dense (n_samples, n_clusterings) array of "
            "labels, or indicator matrices as a list with one 0/1 block per clustering: Ensemble([Y1, Y2, ...])."
        )
    if isinstance(labels, Mapping):
        if not labels:
            raise InputError("labels is an empty mapping: give at least one clustering.")
        intake = _from_vectors([labels[name] for name in labels])
        intake.clustering_names = [str(name) for name in labels]
        return intake
    frame = as_frame(labels)
    if frame is not None:
        return _from_frame(labels, frame)
    if isinstance(labels, Sequence) and not isinstance(labels, (str, bytes)):
        return _from_sequence(list(labels))
    if hasattr(labels, "labels_"):
        return _from_sequence([labels])
    return _from_array(labels)


def _from_frame(native: Any, frame: Any) -> Intake:
    if frame.shape[1] == 0:
        raise InputError(
            f"The data frame has no columns (shape {frame.shape}): give one column per clustering."
        )
    check_unique(frame.columns, "column name", "rename the columns")
    intake = _from_vectors([column.to_numpy() for column in frame.iter_columns()])
    intake.clustering_names = [str(name) for name in frame.columns]
    intake.sample_names = row_names(native)
    return intake


def _from_sequence(items: list) -> Intake:
    if not items:
        raise InputError("labels is an empty list: give at least one clustering.")
    if all(hasattr(item, "fit") for item in items):
        unfitted = [type(item).__name__ for item in items if not hasattr(item, "labels_")]
        if unfitted:
            raise InputError(
                f"{listed(unfitted)} have no labels_ yet: fit every clusterer first, "
                "or let consilience.generate.estimators(X, clusterers) do it."
            )
        intake = _from_vectors([item.labels_ for item in items])
        intake.clustering_names = numbered(type(item).__name__ for item in items)
        return intake
    dimensions = {_ndim(item) for item in items}
    if dimensions == {2}:
        return _from_vectors([_from_one_hot(block, i) for i, block in enumerate(items)])
    if dimensions == {1}:
        intake = _from_vectors(items)
        names = [getattr(item, "name", None) for item in items]
        if all(name is not None for name in names):
            intake.clustering_names = numbered(names)
        return intake
    if dimensions == {0}:
        raise InputError(
            f"labels is a flat list of {len(items)} values. For a single clustering pass [labels], a list holding one vector."
        )
    raise InputError(
        "labels is a list whose items have different numbers of dimensions. Give label vectors (one per clustering), "
        "fitted clusterers, or 0/1 blocks, not a mixture."
    )


def _ndim(item: Any) -> int:
    if hasattr(item, "ndim"):
        return int(item.ndim)
    if isinstance(item, (str, bytes)) or not isinstance(item, Sequence):
        return 0
    return (
        2
        if item and isinstance(item[0], (Sequence, np.ndarray)) and not isinstance(item[0], (str, bytes))
        else 1
    )


def _from_one_hot(block: Any, position: int) -> np.ndarray:
    """Labels of one indicator block; an all-zero row is missing."""
    import scipy.sparse as sp

    try:
        Y = checked_csr(block, f"Block {position} of the list") if sp.issparse(block) else np.asarray(block)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"Item {position} of the list holds lists of different lengths. Give label vectors, one per clustering."
        ) from None
    if Y.ndim == 2 and Y.shape[1] == 0:
        raise InputError(
            f"Block {position} of the list has shape {Y.shape}, no columns: give one column per cluster."
        )
    values = np.asarray(Y.data if sp.issparse(block) else Y)
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise InputError(
            f"Block {position} of the list is two-dimensional but holds other values than 0 and 1. A list of matrices is "
            "read as one-hot blocks; pass one (n_samples, n_clusterings) array for a label matrix."
        )
    counts = np.asarray((Y != 0).sum(axis=1)).ravel()
    if (counts > 1).any():
        row = int(np.argmax(counts > 1))
        raise InputError(
            f"Row {row} of one-hot block {position} has {counts[row]} ones; an object is in one cluster at most."
        )
    labels = np.asarray(Y.argmax(axis=1)).ravel().astype(np.int32)
    labels[counts == 0] = -1
    return labels


def _from_vectors(vectors: list) -> Intake:
    columns = [_vector(vector, i) for i, vector in enumerate(vectors)]
    for i, column in enumerate(columns):
        if column.ndim != 1:
            raise InputError(
                f"Clustering {i} has shape {column.shape}; each clustering is one vector of labels."
            )
    lengths = [column.shape[0] for column in columns]
    if len(set(lengths)) > 1:
        other = next(i for i, length in enumerate(lengths) if length != lengths[0])
        raise InputError(
            f"Labels have different lengths: clustering 0 has {lengths[0]} objects, clustering {other} has {lengths[other]}. "
            "Every clustering must label the same objects, in the same order (use NaN where one did not see an object)."
        )
    encoded = [_encode(column, i) for i, column in enumerate(columns)]
    codes = np.empty((lengths[0], len(columns)), _code_dtype(max((len(c) for _, c in encoded), default=0)))
    for i, (column_codes, _) in enumerate(encoded):
        codes[:, i] = column_codes
    return Intake(codes, [categories for _, categories in encoded])


def _vector(vector: Any, position: int) -> np.ndarray:
    """One clustering as an array."""
    try:
        return native(
            np.ma.asanyarray(vector) if isinstance(vector, np.ma.MaskedArray) else np.asarray(vector)
        )
    except ValueError:
        raise InputError(
            f"Clustering {position} holds lists among its labels; each clustering is one vector of labels."
        ) from None


def native(array: np.ndarray) -> np.ndarray:
    """The same numbers in the byte order of this machine, which compiled code needs."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def decode(text: np.ndarray) -> np.ndarray:
    """Byte strings as text: UTF-8, or Latin-1 where that fails, which tells all bytes apart."""
    try:
        return np.char.decode(text, "utf-8")
    except UnicodeDecodeError:
        return np.char.decode(text, "latin-1")


def _from_array(labels: Any) -> Intake:
    array = native(labels if isinstance(labels, np.ma.MaskedArray) else np.asarray(labels))
    if array.ndim == 0:
        raise InputError(
            f"labels={labels!r} is not a label matrix: pass an array of shape (n_samples, n_clusterings)."
        )
    if array.ndim == 1:
        raise InputError(
            f"labels has shape {array.shape}, one dimension. For a single clustering of {array.shape[0]} objects pass "
            "labels.reshape(-1, 1) or [labels]."
        )
    if array.ndim > 2:
        raise InputError(
            f"labels has shape {array.shape}; expected two dimensions (n_samples, n_clusterings)."
        )
    if array.shape[1] == 0:
        raise InputError(f"labels has shape {array.shape}: no clusterings. Give at least one column.")
    if array.dtype.kind in "iu" and not isinstance(array, np.ma.MaskedArray) and array.shape[0]:
        intake = _from_integers(array)
        if intake is not None:
            return intake
    intake = _from_vectors([array[:, i] for i in range(array.shape[1])])
    intake.is_matrix = True
    return intake


# One column ------------------------------------------------------------------------------------------------


def _encode(column: np.ndarray, position: int) -> tuple[np.ndarray, np.ndarray]:
    """(codes, categories) of one clustering."""
    if isinstance(column, np.ma.MaskedArray):
        missing = np.ma.getmaskarray(column)
        values = np.asarray(column.data)
        codes = np.full(values.shape[0], -1, np.int32)
        codes[~missing], categories = _encode(values[~missing], position)
        return codes, categories
    kind = column.dtype.kind
    if kind == "b":
        return _encode_integers(column.astype(np.int8))
    if kind in "iu":
        return _encode_integers(column)
    if kind == "f":
        if np.isinf(column).any():
            row = int(np.argmax(np.isinf(column)))
            raise InputError(
                f"Clustering {position} has the label {column[row]} at object {row}; use NaN for a missing label."
            )
        return _encode_floats(column)
    if kind in "mM":
        return _encode_sorted(column, np.isnat(column))
    if kind in "US":
        text = decode(column) if kind == "S" else column
        return _encode_sorted(text, np.isin(text, list(MISSING_WORDS)))
    if kind == "T":  # numpy's variable-width strings
        return _encode_objects(np.asarray(column, object), position)
    if kind == "O":
        return _encode_objects(column, position)
    raise InputError(f"Clustering {position} has labels of type {column.dtype}, which cannot be categories.")


def _encode_integers(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if column.size == 0:
        return np.empty(0, np.int32), column.copy()
    low, high = int(column.min()), int(column.max())
    missing = column == -1 if column.dtype.kind == "i" else np.zeros(column.size, bool)
    if high - low >= max(_WIDE_TABLE, 4 * column.size):
        return _encode_sorted(column, missing)
    shifted = (
        column.astype(np.int64) - low
        if low < 0 or column.dtype.kind == "i"
        else (column - np.asarray(low, column.dtype))
    )
    shifted = shifted.astype(np.int64)
    present = np.zeros(high - low + 1, bool)
    present[shifted] = True
    if low <= -1 <= high:
        present[-1 - low] = False
    numbers = np.cumsum(present, dtype=np.int32) - 1
    if low <= -1 <= high:
        numbers[-1 - low] = -1
    categories = np.flatnonzero(present)
    if high > np.iinfo(np.int64).max:
        return numbers[shifted], categories.astype(np.uint64) + np.uint64(low)
    return numbers[shifted], categories + low


def _encode_floats(column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    column = (
        column.astype(np.float64) if column.dtype.itemsize < 8 else column
    )  # 2**53 is beyond half precision
    missing = np.isnan(column) | (column == -1)
    seen = column[~missing]
    whole = seen.size > 0 and bool((np.abs(seen) < 2**53).all()) and bool((seen == np.rint(seen)).all())
    codes = np.full(column.size, -1, np.int32)
    codes[~missing], categories = (
        _encode_integers(seen.astype(np.int64)) if whole else _encode_sorted(seen, None)
    )
    return codes, categories


def _encode_sorted(column: np.ndarray, missing: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    codes = np.full(column.size, -1, np.int32)
    seen = slice(None) if missing is None else ~missing
    categories, inverse = np.unique(column[seen], return_inverse=True)
    codes[seen] = inverse.reshape(-1)
    return codes, categories


def _encode_objects(column: np.ndarray, position: int) -> tuple[np.ndarray, np.ndarray]:
    table: dict[Any, int] = {}
    codes = np.empty(column.size, np.int32)
    try:
        for row, value in enumerate(column):
            codes[row] = -1 if _is_missing(value) else table.setdefault(value, len(table))
    except (TypeError, ValueError):  # cannot be hashed, or compared with a number (arrays)
        raise InputError(
            f"Clustering {position} has a label of type {type(value).__name__} at object {row}; labels must be numbers or text."
        ) from None
    values = list(table)
    try:
        order = sorted(range(len(values)), key=values.__getitem__)
    except TypeError:  # numbers and text together
        order = sorted(range(len(values)), key=lambda i: (type(values[i]).__name__, str(values[i])))
    numbers = np.empty(len(values) + 1, np.int32)
    numbers[order] = np.arange(len(values))
    numbers[-1] = -1  # code -1 picks the last place
    categories = np.empty(len(values), object)
    categories[:] = [values[i] for i in order]
    return numbers[codes], categories


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, str):
        return value in MISSING_WORDS
    if isinstance(value, (bool, np.bool_)):
        return False
    if type(value).__name__ in ("NAType", "NaTType"):
        return True
    try:
        return bool(value == -1) or bool(value != value)
    except ArithmeticError:  # a signalling NaN, which cannot be compared
        return True


# Whole integer matrices: the large case, recoded by blocks of rows -----------------------------------------


@kernel
def _extremes(matrix, start, stop, low, high):
    for i in range(start, stop):
        for j in range(matrix.shape[1]):
            value = matrix[i, j]
            low[j] = min(low[j], value)
            high[j] = max(high[j], value)


@kernel
def _mark(matrix, start, stop, low, first, present):
    """low and first come from the extremes of this very matrix: column j has a place for each number in its range."""
    for i in range(start, stop):
        for j in range(matrix.shape[1]):
            present[first[j] + matrix[i, j] - low[j]] = 1


@kernel
def _recode(matrix, start, stop, low, first, numbers, out):
    for i in range(start, stop):
        for j in range(matrix.shape[1]):
            out[i, j] = numbers[first[j] + matrix[i, j] - low[j]]


def _from_integers(matrix: np.ndarray) -> Intake | None:
    """Encode all columns at once through small tables; None if the labels are spread too wide for them."""
    n, m = matrix.shape
    if matrix.dtype.kind == "u":
        if matrix.size and int(matrix.max()) > np.iinfo(np.int64).max:
            return None
        matrix = matrix.astype(np.int64) if matrix.dtype.itemsize == 8 else matrix
    matrix = np.ascontiguousarray(matrix)

    def extremes(a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
        low = matrix[a].astype(np.int64)
        high = low.copy()
        _extremes(matrix, a, b, low, high)
        return low, high

    found = map_blocks(extremes, n, size=_ROWS_PER_BLOCK)
    low = np.min([pair[0] for pair in found], axis=0)
    high = np.max([pair[1] for pair in found], axis=0)
    widths = [int(h) - int(l) + 1 for l, h in zip(low, high)]
    if sum(widths) > max(_WIDE_TABLE, 4 * n * m):
        return None
    first = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
    present = np.zeros(first[-1], np.uint8)
    map_blocks(lambda a, b: _mark(matrix, a, b, low, first, present), n, size=_ROWS_PER_BLOCK)
    numbers = np.empty(first[-1], np.int32)
    categories = []
    for j in range(m):
        here = present[first[j] : first[j + 1]].astype(bool)
        if low[j] <= -1 <= high[j]:
            here[-1 - low[j]] = False
        numbers[first[j] : first[j + 1]] = np.where(here, np.cumsum(here) - 1, -1)
        categories.append(np.flatnonzero(here) + low[j])
    codes: np.ndarray = np.empty((n, m), _code_dtype(max(len(c) for c in categories)))
    map_blocks(lambda a, b: _recode(matrix, a, b, low, first, numbers, codes), n, size=_ROWS_PER_BLOCK)
    return Intake(codes, categories, is_matrix=True)


def _code_dtype(most_clusters: int) -> type:
    return np.int16 if most_clusters <= np.iinfo(np.int16).max else np.int32
