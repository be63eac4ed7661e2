"""Values to codes: columns of integers through tables, anything else of fixed width through hashing.

Nothing of length n is sorted. What the values mean is for :mod:`consilience._data.labels` to say.
"""

from __future__ import annotations

import numpy as np

from ..compile.jit import kernel
from ..runtime.threads import map_blocks

_ROWS_PER_BLOCK = 1 << 16
_WIDE_TABLE = 1 << 20  # integers spread over less than this (or 4 n m) are counted in a table, not hashed


def code_integers(
    matrix: np.ndarray, dtype: type | None = None
) -> tuple[np.ndarray, list[np.ndarray]] | None:
    """Codes (n, m) and the sorted int64 values they stand for, column by column; code and value -1 is missing.

    Codes are of the smallest type that holds them unless ``dtype`` is given. None if the values are spread too wide
    for tables, or beyond int64. Three passes over blocks of rows, O(n m + range), on all threads.
    """
    n, m = matrix.shape
    if matrix.dtype == np.uint64:
        if matrix.size and int(matrix.max()) > np.iinfo(np.int64).max:
            return None
        matrix = matrix.astype(np.int64)
    matrix = np.ascontiguousarray(matrix)

    def extremes(a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
        if m == 1:  # NumPy is faster along one column, and slower along several
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
    map_blocks(lambda a, b: _recode(matrix, a, b, low, first, numbers, codes), n, size=_ROWS_PER_BLOCK)
    return codes, values


def code_dtype(most: int) -> type:
    """The smallest type for codes of so many values."""
    return np.int16 if most <= np.iinfo(np.int16).max else np.int32


def code_values(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n,) int32 of values of fixed width, by hashing their bytes, and the sorted values. O(n), serial."""
    if values.size == 0:
        return np.empty(0, np.int32), values.copy()
    if values.dtype == np.longdouble and values.dtype.itemsize > 8:  # its bytes are in part padding
        distinct, codes = np.unique(values, return_inverse=True)
        return codes.astype(np.int32), distinct
    words = np.ascontiguousarray(values).view(np.uint32).reshape(values.size, -1)
    codes, first = _hash_codes(words)
    # Equal values can have unequal bytes (the many NaNs): unique() merges them.
    distinct, number = np.unique(values[first], return_inverse=True)
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
    """low and first come from the extremes of this very matrix: column j has a place for each number in its range."""
    for i in range(start, stop):
        for j in range(matrix.shape[1]):
            present[first[j] + matrix[i, j] - low[j]] = 1


@kernel
def _recode(matrix, start, stop, low, first, numbers, out):
    for i in range(start, stop):
        for j in range(matrix.shape[1]):
            out[i, j] = numbers[first[j] + matrix[i, j] - low[j]]


@kernel
def _hash_row(words, i):
    h = np.uint64(0xCBF29CE484222325)
    for j in range(words.shape[1]):
        h = (h ^ np.uint64(words[i, j])) * np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(32)
    return h


@kernel
def _hash_codes(words):
    """Code each row (n, q) by order of first appearance; the second array holds those first rows.

    slots are never more than half full: every search ends.
    """
    n, q = words.shape
    size = 1 << 12
    slots = np.full(size, -1, np.int32)
    first = np.empty(size // 2, np.int64)
    hashes = np.empty(size // 2, np.uint64)
    codes = np.empty(n, np.int32)
    found = 0
    for i in range(n):
        h = _hash_row(words, i)
        s = np.int64(h & np.uint64(size - 1))
        while True:
            code = slots[s]
            if code < 0:
                if found == first.shape[0]:  # half full: double, and find the place again
                    size *= 2
                    slots = np.full(size, -1, np.int32)
                    first = np.concatenate((first, np.empty(found, np.int64)))
                    hashes = np.concatenate((hashes, np.empty(found, np.uint64)))
                    for c in range(found):
                        t = np.int64(hashes[c] & np.uint64(size - 1))
                        while slots[t] >= 0:
                            t = (t + 1) & (size - 1)
                        slots[t] = c
                    s = np.int64(h & np.uint64(size - 1))
                    continue
                slots[s] = found
                first[found] = i
                hashes[found] = h
                codes[i] = found
                found += 1
                break
            if hashes[code] == h:
                row = first[code]
                same = True
                for j in range(q):
                    if words[row, j] != words[i, j]:
                        same = False
                        break
                if same:
                    codes[i] = code
                    break
            s = (s + 1) & (size - 1)
    return codes, first[:found]
