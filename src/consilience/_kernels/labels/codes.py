"""Values to codes: columns of integers through tables, anything else of fixed width through hashing.

Nothing of length n is sorted. What the values mean is for :mod:`consilience._data.labels` to say.
"""

from __future__ import annotations

import numpy as np

from ..compile.jit import kernel
from ..runtime.threads import map_blocks
from .few import FEW_LABELS
from .hashing import RowNumbers, as_words

_ROWS_PER_BLOCK = 1 << 16
_WIDE_TABLE = 1 << 20  # integers spread over less than this (or 4 n m) are counted in a table, not hashed


def code_integers(
    matrix: np.ndarray, dtype: type | None = None
) -> tuple[np.ndarray, list[np.ndarray]] | None:
    """Codes (n, m) and the sorted int64 values they stand for, by column; code and value -1 mean missing.

    Codes are of the smallest type that holds them unless ``dtype`` is given. None if the values are spread
    too wide for tables, or beyond int64. Three passes over blocks of rows, O(n m + range), on all threads.
    """
    n, m = matrix.shape
    if m == 1 and 0 < n <= FEW_LABELS and matrix.dtype != np.uint64:
        return _few_integers(matrix[:, 0], dtype)
    if matrix.dtype == np.uint64:
        if matrix.size and int(matrix.max()) > np.iinfo(np.int64).max:
            return None
        matrix = matrix.astype(np.int64)
    matrix = np.ascontiguousarray(matrix)
    few = matrix.size <= FEW_LABELS

    def extremes(a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
        if m == 1 or few:  # NumPy is faster along one column, and slower along several
            return matrix[a:b].min(axis=0).astype(np.int64), matrix[a:b].max(axis=0).astype(np.int64)
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
    places = first[:-1] - low + matrix if few else None
    if places is not None:
        present[places] = 1
    else:
        map_blocks(lambda a, b: _mark(matrix, a, b, low, first, present), n, size=_ROWS_PER_BLOCK)
    numbers = np.empty(first[-1], np.int32)
    values = []
    for j in range(m):
        here = present[first[j] : first[j + 1]].astype(bool)
        if low[j] <= -1 <= high[j]:
            here[-1 - low[j]] = False
        numbers[first[j] : first[j + 1]] = np.where(here, np.cumsum(here) - 1, -1)
        values.append(np.flatnonzero(here) + low[j])
    codes: np.ndarray = np.empty((n, m), dtype or code_dtype(max(map(len, values))))
    if places is not None:
        codes[...] = numbers[places]
        return codes, values
    map_blocks(lambda a, b: _recode(matrix, a, b, low, first, numbers, codes), n, size=_ROWS_PER_BLOCK)
    return codes, values


def _few_integers(column: np.ndarray, dtype: type | None) -> tuple[np.ndarray, list[np.ndarray]] | None:
    """The same for one column of few labels."""
    column = column.astype(np.int64)
    low = int(column.min())
    width = int(column.max()) - low + 1
    if width > max(_WIDE_TABLE, 4 * column.size):
        return None
    column -= low
    present = np.zeros(width, bool)
    present[column] = True
    if low <= -1 < low + width:
        present[-1 - low] = False
    values = np.flatnonzero(present)
    numbers: np.ndarray = np.full(width, -1, dtype or code_dtype(values.size))
    numbers[values] = np.arange(values.size)
    return numbers[column][:, None], [values + low]


def code_dtype(most: int) -> type:
    """The smallest type for codes of so many values."""
    return np.int16 if most <= np.iinfo(np.int16).max else np.int32


def code_values(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n,) int32 of values of fixed width, by hashing their bytes, and the sorted values.

    O(n), serial.
    """
    if values.size == 0:
        return np.empty(0, np.int32), values.copy()
    if values.dtype == np.longdouble and values.dtype.itemsize > 8:  # its bytes are in part padding
        distinct, codes = np.unique(values, return_inverse=True)
        return codes.astype(np.int32), distinct
    words = as_words(np.ascontiguousarray(values).reshape(-1, 1))
    numbers, codes = RowNumbers(words.shape[1], words.dtype.type), np.empty(values.size, np.int32)
    numbers.number(words, codes)
    # Equal values can have unequal bytes (the many NaNs): unique() merges them.
    distinct, number = np.unique(numbers.rows.view(values.dtype).reshape(-1), return_inverse=True)
    return number.reshape(-1).astype(np.int32)[codes], distinct


@kernel
def _extremes(matrix, start, stop, low, high):
    for i in range(start, stop):
        for j in range(matrix.shape[1]):
            value = matrix[i, j]
            low[j] = min(low[j], value)
            high[j] = max(high[j], value)


@kernel
def _mark(matrix, start, stop, low, first, present):
    """Mark the numbers that occur: column j has a place for each number in its range.

    low and first come from the extremes of this very matrix.
    """
    for i in range(start, stop):
        for j in range(matrix.shape[1]):
            present[first[j] + matrix[i, j] - low[j]] = 1


@kernel
def _recode(matrix, start, stop, low, first, numbers, out):
    for i in range(start, stop):
        for j in range(matrix.shape[1]):
            out[i, j] = numbers[first[j] + matrix[i, j] - low[j]]
