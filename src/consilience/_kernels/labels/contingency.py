"""Contingency tables: how often label i of one vector meets label j of another.

    n_ij = sum of w_p over objects p with a_p = i and b_p = j       (w_p = 1 unless weights are given)

Everything here takes arrays and gives arrays. Counts are int64 (float64 with weights), so that nothing
overflows or rounds at any n that fits in memory.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compile.arrays import empty_array, zero_array
from ..compile.jit import kernel
from ..runtime.threads import map_blocks
from .codes import code_values
from .few import FEW_LABELS

# Rows: two int64 vectors of this length stay in a core's cache between the two looks at them.
_BLOCK = 1 << 17
SMALL_TABLE = 1 << 15  # cells: cheap enough to clear once per block
_LANES_TABLE = 1 << 11  # cells: four copies stay in the first-level cache
_LARGEST_TABLE = 1 << 24  # cells: beyond, a table is sparse whatever n is
_NARROW = 1 << 16  # a range of integer values up to this (or 4 n) is indexed directly, a wider one is hashed


class Cells(NamedTuple):
    """The non-zero cells of a contingency table, by row and then by column."""

    rows: np.ndarray  # (nnz,) index into row_values
    columns: np.ndarray  # (nnz,) index into column_values
    counts: np.ndarray  # (nnz,) int64, or float64 with weights
    row_values: np.ndarray  # sorted distinct values of the first vector
    column_values: np.ndarray  # sorted distinct values of the second


def count_pairs(
    a: np.ndarray, b: np.ndarray, weights: np.ndarray | None = None, *, n_jobs: int | None = -1
) -> Cells:
    """Contingency table of two integer vectors of equal length n, which need not count from zero.

    Small ranges of values: one pass over memory, each block of rows looked at twice while it is in cache (its
    extent, then its counts) on ``n_jobs`` threads. Larger tables: a second pass into a dense table, or, where
    that would have more cells than twice n, a bucket sort by ``a`` and O(n + range) in all. Values spread
    wider than 4 n are hashed to codes first. With weights the counts are float64, added in the same order for
    any number of threads; cells of weight zero are left out.
    """
    n = a.shape[0]
    assert b.shape[0] == n, "the caller checks lengths"
    if n == 0:
        none = np.empty(0, np.int64)
        return Cells(none, none, none if weights is None else np.empty(0), none, none)
    if a.dtype == np.uint64 or b.dtype == np.uint64:
        return _count_codes(a, b, weights, n_jobs)
    if weights is not None:
        weights = np.ascontiguousarray(weights, np.float64)

    def one_look(start: int, stop: int) -> tuple[tuple[int, int, int, int], np.ndarray | None]:
        x, y = _int64(a, start, stop), _int64(b, start, stop)
        extent = (*_extent(x), *_extent(y))
        if _n_cells(extent) > min(SMALL_TABLE, 2 * _BLOCK):
            return extent, None
        return extent, _dense_block(x, y, _span(weights, start, stop), extent)

    looks = map_blocks(one_look, n, size=_BLOCK, n_jobs=n_jobs)
    lows_a, highs_a, lows_b, highs_b = zip(*(extent for extent, _ in looks))
    extent = (min(lows_a), max(highs_a), min(lows_b), max(highs_b))
    n_cells = _n_cells(extent)
    if n_cells <= min(_LARGEST_TABLE, max(SMALL_TABLE, 2 * n)):
        if all(table is not None for _, table in looks):
            return _cells_of_dense(_merge(looks, extent, weights is not None), extent)
        # Few, large blocks: all their tables together then take no more memory than an eighth of the labels.
        size = min(1 << 30, max(_BLOCK, 4 * n_cells))

        def second_look(start: int, stop: int) -> np.ndarray:
            x, y = _int64(a, start, stop), _int64(b, start, stop)
            return _dense_block(x, y, _span(weights, start, stop), extent)

        total = np.zeros(
            (extent[1] - extent[0] + 1, extent[3] - extent[2] + 1),
            np.int64 if weights is None else np.float64,
        )
        for table in map_blocks(second_look, n, size=size, n_jobs=n_jobs):
            total += table
        return _cells_of_dense(total, extent)
    if max(extent[1] - extent[0], extent[3] - extent[2]) >= max(_NARROW, 4 * n):
        return _count_codes(a, b, weights, n_jobs)
    return _sparse(_int64(a, 0, n), _int64(b, 0, n), weights, extent)


def _count_codes(a: np.ndarray, b: np.ndarray, weights: np.ndarray | None, n_jobs: int | None) -> Cells:
    """Hash to codes, count those, and give the cells their values back; -1 is a value like any other here."""
    (x, values_a), (y, values_b) = (code_values(_eight_bytes(v)) for v in (a, b))
    cells = count_pairs(x, y, weights, n_jobs=n_jobs)
    return cells._replace(row_values=values_a[cells.row_values], column_values=values_b[cells.column_values])


def _eight_bytes(values: np.ndarray) -> np.ndarray:
    return values if values.dtype == np.uint64 else values.astype(np.int64)


def _int64(values: np.ndarray, start: int, stop: int) -> np.ndarray:
    """One block as contiguous int64: a conversion in cache instead of one compiled kernel per dtype."""
    return np.ascontiguousarray(values[start:stop], dtype=np.int64)


def _span(weights: np.ndarray | None, start: int, stop: int) -> np.ndarray | None:
    return None if weights is None else weights[start:stop]


def _n_cells(extent: tuple[int, int, int, int]) -> int:
    """Python's integers: a range over all of int64 must not wrap around."""
    low_a, high_a, low_b, high_b = map(int, extent)
    return (high_a - low_a + 1) * (high_b - low_b + 1)


def _dense_block(x, y, w, extent) -> np.ndarray:
    low_a, high_a, low_b, high_b = extent
    shape = high_a - low_a + 1, high_b - low_b + 1
    n_cells = shape[0] * shape[1]
    if w is not None:
        table = np.zeros(n_cells)
        _weigh(x, y, w, low_a, low_b, shape[1], table)
        return table.reshape(shape)
    lanes = np.zeros((4 if n_cells <= _LANES_TABLE else 1, n_cells), np.int32)  # a block has < 2**31 rows
    last = lanes.shape[0] - 1
    tables = lanes[0], lanes[min(1, last)], lanes[min(2, last)], lanes[last]
    _count(x, y, low_a, low_b, shape[1], tables)
    return (lanes.sum(axis=0, dtype=np.int64) if last else lanes[0]).reshape(shape)


def _merge(looks, extent, weighted: bool) -> np.ndarray:
    """Sum of the blocks' tables, each put where its own extent lies in the whole."""
    low_a, high_a, low_b, high_b = extent
    total = np.zeros((high_a - low_a + 1, high_b - low_b + 1), np.float64 if weighted else np.int64)
    for (first_a, last_a, first_b, last_b), table in looks:
        total[first_a - low_a : last_a - low_a + 1, first_b - low_b : last_b - low_b + 1] += table
    return total


def _cells_of_dense(table: np.ndarray, extent: tuple[int, int, int, int]) -> Cells:
    rows, columns = np.nonzero(table)
    counts = table[rows, columns]
    return _compact(rows, columns, counts, extent[0], extent[2], table.shape)


def _compact(rows, columns, counts, low_a: int, low_b: int, shape: tuple[int, int]) -> Cells:
    """Renumber rows and columns so that none is empty."""
    used_rows = np.zeros(shape[0], bool)
    used_columns = np.zeros(shape[1], bool)
    used_rows[rows] = True
    used_columns[columns] = True
    return Cells(
        (np.cumsum(used_rows) - 1)[rows],
        (np.cumsum(used_columns) - 1)[columns],
        counts,
        np.flatnonzero(used_rows) + low_a,
        np.flatnonzero(used_columns) + low_b,
    )


def _sparse(a: np.ndarray, b: np.ndarray, weights: np.ndarray | None, extent) -> Cells:
    from scipy.sparse import csr_array

    low_a, high_a, low_b, high_b = extent
    shape = high_a - low_a + 1, high_b - low_b + 1
    w = np.ones(1, np.int64) if weights is None else weights
    columns, counts, pointers = _bucket(a, b, w, low_a, low_b, shape[0], shape[1])
    table = csr_array((counts, columns, pointers), shape=shape)
    table.sort_indices()
    rows = np.repeat(np.arange(shape[0]), np.diff(pointers))
    seen = table.data > 0
    return _compact(rows[seen], table.indices[seen], table.data[seen], low_a, low_b, shape)


@kernel
def _extent(x):
    low, high = x[0], x[0]
    for i in range(x.shape[0]):
        low = min(low, x[i])
        high = max(high, x[i])
    return low, high


@kernel
def _count(a, b, low_a, low_b, width, tables):
    """Count into four tables in turn (they may be one).

    A run of equal labels then waits less for its last store.

    low_a, low_b and the tables' size come from the extent of these very vectors; as in the next two.
    """
    t0, t1, t2, t3 = tables
    n = a.shape[0]
    whole = n - n % 4
    for i in range(0, whole, 4):
        t0[np.uint64((a[i] - low_a) * width + (b[i] - low_b))] += 1
        t1[np.uint64((a[i + 1] - low_a) * width + (b[i + 1] - low_b))] += 1
        t2[np.uint64((a[i + 2] - low_a) * width + (b[i + 2] - low_b))] += 1
        t3[np.uint64((a[i + 3] - low_a) * width + (b[i + 3] - low_b))] += 1
    for i in range(whole, n):
        t0[np.uint64((a[i] - low_a) * width + (b[i] - low_b))] += 1


@kernel
def _weigh(a, b, w, low_a, low_b, width, table):
    for i in range(a.shape[0]):
        table[np.uint64((a[i] - low_a) * width + (b[i] - low_b))] += w[i]


@kernel
def _bucket(a, b, w, low_a, low_b, width_a, width_b):
    """Rows of the table one after another: bucket the objects by a, then merge equal b inside each bucket."""
    n = a.shape[0]
    place = zero_array(width_a + 1, np.int64)
    for i in range(n):
        place[a[i] - low_a + 1] += 1
    for r in range(width_a):
        place[r + 1] += place[r]
    columns = empty_array(n, np.int64)
    counts = np.ones(n, w.dtype)
    for i in range(n):
        p = place[a[i] - low_a]
        columns[p] = b[i] - low_b
        if w.shape[0] == n:
            counts[p] = w[i]
        place[a[i] - low_a] = p + 1  # ends as the start of the next bucket
    pointers = zero_array(width_a + 1, np.int64)
    slot = np.full(width_b, -1, np.int64)
    out = 0
    start = 0
    for r in range(width_a):
        stop = place[r]
        begin = out
        for p in range(start, stop):  # out <= p: merging in place never overwrites what is still to be read
            j = columns[p]
            value = counts[p]
            if slot[j] >= begin:
                counts[slot[j]] += value
            else:
                slot[j] = out
                columns[out] = j
                counts[out] = value
                out += 1
        start = stop
        pointers[r + 1] = out
    return columns[:out], counts[:out], pointers


def cross_table(
    labels: np.ndarray,
    offsets: np.ndarray,
    codes: np.ndarray,
    n_codes: int,
    weights: np.ndarray | None = None,
    *,
    n_jobs: int | None = -1,
) -> np.ndarray:
    """Table (k, n_codes) float64 of every base cluster against one more partition, in one pass over labels.

    ``labels`` is (n, m) with -1 missing, cluster j of clustering i is row ``offsets[i] + j``, ``codes`` (n,)
    has values below ``n_codes`` with -1 missing. An object missing on either side is left out of that
    clustering's rows. Cost O(n m + k n_codes) in time, O(k n_codes) in memory.
    """
    n_cells = int(offsets[-1]) * n_codes
    if labels.size <= FEW_LABELS and len(labels) <= _BLOCK:
        return _few_crossed(labels, offsets, codes, n_codes, weights)
    offsets = np.ascontiguousarray(offsets, np.int64)
    codes = np.ascontiguousarray(codes, np.int64)
    weights = np.ones(1) if weights is None else np.ascontiguousarray(weights, np.float64)

    def block(start: int, stop: int) -> np.ndarray:
        table = np.zeros((int(offsets[-1]), n_codes))
        _cross(
            labels[start:stop],
            offsets,
            codes[start:stop],
            weights[start:stop] if weights.size > 1 else weights,
            table,
        )
        return table

    size = max(_BLOCK, 4 * n_cells // max(1, labels.shape[1]))
    total = np.zeros((int(offsets[-1]), n_codes))
    for table in map_blocks(block, labels.shape[0], size=size, n_jobs=n_jobs):
        total += table
    return total


def _few_crossed(
    labels: np.ndarray, offsets: np.ndarray, codes: np.ndarray, n_codes: int, weights: np.ndarray | None
) -> np.ndarray:
    """The same for few labels; sums are in the order of the objects."""
    seen = (labels >= 0) & (codes >= 0)[:, None]
    cells = (np.asarray(offsets[:-1], np.int64) + labels) * n_codes + codes[:, None]
    each = np.asarray(1.0 if weights is None else weights[:, None], np.float64)
    each = np.broadcast_to(each, labels.shape)
    size = int(offsets[-1]) * n_codes
    return np.bincount(cells[seen], each[seen], minlength=size).reshape(-1, n_codes)


@kernel
def _cross(labels, offsets, codes, weights, table):
    one_weight = weights.shape[0] != labels.shape[0]
    for p in range(labels.shape[0]):
        j = codes[p]
        if j < 0:
            continue
        w = weights[0] if one_weight else weights[p]
        for i in range(labels.shape[1]):
            if labels[p, i] >= 0:
                table[offsets[i] + labels[p, i], j] += w
