"""Contingency tables: how often label i of one vector meets label j of another, and what is read off them.

    n_ij = sum of w_p over objects p with a_p = i and b_p = j       (w_p = 1 unless weights are given)

Everything here takes arrays and gives arrays. Counts are int64 (float64 with weights), so that nothing
overflows or rounds at any n that fits in memory.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from ..validation import Choice, check
from ._jit import kernel
from .parallel import map_blocks, map_tasks

_BLOCK = (
    1 << 17
)  # rows: two int64 vectors of this length stay in a core's cache between the two looks at them
_SMALL_TABLE = 1 << 15  # cells: cheap enough to clear once per block
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


# Labels to codes -------------------------------------------------------------------------------------------


def factorise(
    values: np.ndarray, *, missing_words: Collection[str] = frozenset({""})
) -> tuple[np.ndarray, np.ndarray]:
    """Codes (n,) int32 and the sorted categories they index; code -1 marks a missing label.

    ``values`` is any one-dimensional array: integers, booleans, floats, text, dates or Python objects.
    Missing are -1, NaN, NaT, None, pandas' NA, masked entries, and in text ``missing_words``. Integers in a
    narrow range go through a table, anything else of fixed width through a hash table; nothing of length n is
    sorted. Cost O(n), serial.
    """
    if isinstance(values, np.ma.MaskedArray):
        codes, categories = factorise(values.data, missing_words=missing_words)
        codes[np.ma.getmaskarray(values)] = -1
        return _without_unused(codes, categories)
    kind = values.dtype.kind
    if kind == "b":
        values, kind = values.astype(np.int8), "i"
    if kind in "iu":
        return _factorise_integers(values)
    if kind == "f":
        keys = values.astype(np.float64) + 0.0  # -0.0 and 0.0 are one label
        codes, categories = _factorise_keys(keys, keys)
        return _drop(codes, categories, np.isnan(categories) | (categories == -1))
    if kind in "mM":
        codes, categories = _factorise_keys(values, values)
        return _drop(codes, categories, np.isnat(categories))
    if kind in "US" and values.dtype.itemsize:
        text = np.ascontiguousarray(values.astype(str) if kind == "S" else values)
        codes, categories = _factorise_keys(text, text)
        return _drop(codes, categories, np.isin(categories, list(missing_words)))
    return _factorise_objects(values.astype(object), missing_words)


def _factorise_integers(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if values.size == 0:
        return np.empty(0, np.int32), values.copy()
    low, high = int(values.min()), int(values.max())
    if high - low < max(_NARROW, 4 * values.size):
        present = np.zeros(high - low + 1, np.bool_)
        if not low <= -1 <= high:
            codes = _table_codes(values, values.dtype.type(low), -1, present)
        else:
            codes = _table_codes(values, values.dtype.type(low), -1 - low, present)
        return codes, np.flatnonzero(present).astype(values.dtype) + values.dtype.type(low)
    keys = values.astype(np.int64 if values.dtype.kind == "i" else np.uint64)
    codes, categories = _factorise_keys(keys, values)
    return _drop(codes, categories, categories == -1 if low < 0 else np.zeros(categories.size, bool))


@kernel
def _table_codes(values, low, missing, present):
    """Codes by two looks at the values: mark those present, then number the marks.

    present has a place for every number from low, the least of the values, to the largest. Their difference is taken
    in 64 bits, also of narrow integers.
    """
    for i in range(values.shape[0]):
        present[np.int64(values[i] - low)] = True
    if missing >= 0:
        present[missing] = False
    number = np.empty(present.shape[0], np.int32)
    found = 0
    for j in range(present.shape[0]):
        number[j] = found if present[j] else -1
        found += present[j]
    codes = np.empty(values.shape[0], np.int32)
    for i in range(values.shape[0]):
        codes[i] = number[np.int64(values[i] - low)]
    return codes


def _factorise_keys(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes of fixed-width values by hashing their bytes; only the distinct values are sorted."""
    if keys.size == 0:
        return np.empty(0, np.int32), values.copy()
    words = np.ascontiguousarray(keys).view(np.uint32).reshape(keys.size, -1)
    codes, first = _hash_codes(words)
    distinct = values[first]
    # Equal values can have unequal bytes (the many NaNs): unique() merges them.
    categories, number = np.unique(distinct, return_inverse=True)
    return number.reshape(-1).astype(np.int32)[codes], categories


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


def _factorise_objects(values: np.ndarray, missing_words: Collection[str]) -> tuple[np.ndarray, np.ndarray]:
    table = dict.fromkeys(values.tolist())
    seen = [value for value in table if not _is_missing(value, missing_words)]
    try:
        seen.sort()
    except TypeError:  # numbers and text together
        seen.sort(key=lambda value: (type(value).__name__, str(value)))
    table = dict.fromkeys(table, -1)
    table.update({value: code for code, value in enumerate(seen)})
    categories = np.empty(len(seen), object)
    categories[:] = seen
    return np.fromiter(map(table.__getitem__, values.tolist()), np.int32, values.size), categories


def _is_missing(value: Any, missing_words: Collection[str]) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return value in missing_words
    if isinstance(value, (bool, np.bool_)):
        return False
    return bool(value == -1) or bool(value != value)


def _drop(codes: np.ndarray, categories: np.ndarray, missing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Turn the categories marked ``missing`` into code -1."""
    if not missing.any():
        return codes, categories
    number = np.where(missing, -1, np.cumsum(~missing) - 1).astype(np.int32)
    return number[codes], categories[~missing]


def _without_unused(codes: np.ndarray, categories: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Renumber after entries were masked: a category that lost its last object goes."""
    used = np.zeros(len(categories) + 1, bool)
    used[codes] = True  # code -1 marks the last place
    number = np.append(np.cumsum(used[:-1]) - 1, -1).astype(np.int32)
    return number[codes], categories[used[:-1]]


# Counting --------------------------------------------------------------------------------------------------


def count_pairs(
    a: np.ndarray, b: np.ndarray, weights: np.ndarray | None = None, *, n_jobs: int | None = None
) -> Cells:
    """Contingency table of two integer vectors of equal length n, which need not count from zero.

    Small ranges of values: one pass over memory, each block of rows looked at twice while it is in cache (its
    extent, then its counts) on ``n_jobs`` threads. Larger tables: a second pass into a dense table, or, where
    that would have more cells than twice n, a bucket sort by ``a`` and O(n + range) in all. Values spread wider
    than 4 n are hashed to codes first. With weights the counts are float64, added in the same order for any
    number of threads; cells of weight zero are left out.
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
        if _n_cells(extent) > min(_SMALL_TABLE, 2 * _BLOCK):
            return extent, None
        return extent, _dense_block(x, y, _span(weights, start, stop), extent)

    looks = map_blocks(one_look, n, size=_BLOCK, n_jobs=n_jobs)
    lows_a, highs_a, lows_b, highs_b = zip(*(extent for extent, _ in looks))
    extent = (min(lows_a), max(highs_a), min(lows_b), max(highs_b))
    n_cells = _n_cells(extent)
    if n_cells <= min(_LARGEST_TABLE, max(_SMALL_TABLE, 2 * n)):
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
    (x, values_a), (y, values_b) = (_factorise_keys(np.ascontiguousarray(_eight_bytes(v)), v) for v in (a, b))
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
    _count(x, y, low_a, low_b, shape[1], lanes[0], lanes[min(1, last)], lanes[min(2, last)], lanes[last])
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
def _count(a, b, low_a, low_b, width, t0, t1, t2, t3):
    """Count into four tables in turn (they may be one): a run of equal labels then waits less for its last store.

    low_a, low_b and the tables' size come from the extent of these very vectors; as in the next two.
    """
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
    place = np.zeros(width_a + 1, np.int64)
    for i in range(n):
        place[a[i] - low_a + 1] += 1
    for r in range(width_a):
        place[r + 1] += place[r]
    columns = np.empty(n, np.int64)
    counts = np.ones(n, w.dtype)
    for i in range(n):
        p = place[a[i] - low_a]
        columns[p] = b[i] - low_b
        if w.shape[0] == n:
            counts[p] = w[i]
        place[a[i] - low_a] = p + 1  # ends as the start of the next bucket
    pointers = np.zeros(width_a + 1, np.int64)
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
    n_jobs: int | None = None,
) -> np.ndarray:
    """Table (k, n_codes) float64 of every base cluster against one more partition, in one pass over ``labels``.

    ``labels`` is (n, m) with -1 missing, cluster j of clustering i is row ``offsets[i] + j``, ``codes`` (n,)
    has values below ``n_codes`` with -1 missing. An object missing on either side is left out of that
    clustering's rows. Cost O(n m + k n_codes) in time, O(k n_codes) in memory.
    """
    n_cells = int(offsets[-1]) * n_codes
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


# Reading a table -------------------------------------------------------------------------------------------


def information_terms(counts, rows, columns, n):
    """n_ij log( n n_ij / (a_i b_j) ) of cells that are not zero: MI in nats is their sum over n.

    The ratio is formed before the logarithm, so that independent cells contribute exactly zero.
    """
    return counts * np.log(n * counts / (rows * columns))


def entropy_terms(counts, n):
    """- a_i/n log(a_i/n) of counts that are not zero: the entropy in nats is their sum."""
    return -counts / n * np.log(counts / n)


def confuse_pairs(both, a, b, n, itself):
    """Ordered pairs of objects that are together in both partitions, in the first only, the second only, in neither.

    From sum n_ij^2, sum a_i^2, sum b_j^2 and n. ``itself`` is what the pairs of an object with itself weigh: n leaves
    them out (weights below one then leave less than one pair: none), 0 counts them.
    """
    return max(0, both - itself), max(0, a - both), max(0, b - both), n * n - a - b + both


def adjusted_rand(together, only_a, only_b, apart):
    """ARI from the pairs, 0 where chance leaves nothing to gain; Python's integers stay exact at any n."""
    below = (together + only_a) * (only_a + apart) + (together + only_b) * (only_b + apart)
    return 2 * (together * apart - only_a * only_b) / below if below else 0.0


# The same formulas inside kernels.
_information_terms, _entropy_terms = kernel(information_terms), kernel(entropy_terms)
_confuse_pairs, _adjusted_rand = kernel(confuse_pairs), kernel(adjusted_rand)

#: Means of two entropies, by the number that :func:`mean_entropy` takes.
MEANS = ("arithmetic", "max", "geometric")


@kernel
def mean_entropy(entropy_a, entropy_b, mean):
    """The mean of two entropies, by its place in :data:`MEANS`."""
    if mean == 1:
        return max(entropy_a, entropy_b)
    if mean == 2:
        return math.sqrt(max(0.0, entropy_a * entropy_b))
    return (entropy_a + entropy_b) / 2


@kernel
def normalise_information(information, entropy_a, entropy_b, mean):
    """NMI of two different partitions; if one of them is a single cluster, the information is zero."""
    scale = mean_entropy(entropy_a, entropy_b, mean)
    return min(1.0, max(0.0, information / scale)) if scale > 0 else 0.0


def mutual_information(cells: Cells, rows: np.ndarray, columns: np.ndarray) -> float:
    """MI = sum_ij n_ij/n log( n n_ij / (a_i b_j) ) in nats, from the cells and both margins."""
    n = float(rows.sum())
    a, b = rows[cells.rows].astype(np.float64), columns[cells.columns].astype(np.float64)
    return max(0.0, _sum(information_terms(cells.counts.astype(np.float64), a, b, n)) / n)


def entropy(counts: np.ndarray) -> float:
    """H = - sum_i a_i/n log(a_i/n) in nats; zero counts contribute nothing."""
    return max(0.0, _sum(entropy_terms(counts[counts > 0], counts.sum())))


def _sum(terms: np.ndarray) -> float:
    """Sorted first, so that renaming clusters changes not even the last digit."""
    return float(np.sort(terms).sum())


def expected_mutual_information(rows: np.ndarray, columns: np.ndarray, *, n_jobs: int | None = None) -> float:
    """E[MI] over all tables with the given integer margins (Vinh, Epps and Bailey 2010, Eq. 24a).

        E = sum_ij sum_k  k/n log( n k / (a_i b_j) ) P(k),    P hypergeometric with (a_i, b_j, n)

    Equal margins are summed once. Each inner sum starts at the mode of P, walks outwards by the ratio
    P(k+1)/P(k) until the terms no longer count, and is normalised by the sum of P itself: about 20 standard
    deviations of terms instead of min(a_i, b_j), and no differences of large log-factorials.
    """
    a, repeats_a = np.unique(np.asarray(rows, np.float64), return_counts=True)
    b, repeats_b = np.unique(np.asarray(columns, np.float64), return_counts=True)
    n = float(np.sum(rows))
    if not all(np.array_equal(m, np.rint(m)) and m[0] > 0 for m in (a, b)):
        raise ValueError("Margins must be whole positive numbers: counts are looked up by them.")
    # Most k are small: looking their logarithms up halves the time.
    logs = np.log(np.arange(1, 1 + int(min(a[-1], b[-1], 1 << 14))))
    size = max(1, (1 << 10) // b.size)
    sums = map_blocks(
        lambda i, j: _expected(a[i:j], repeats_a[i:j], b, repeats_b, n, logs),
        a.size,
        size=size,
        n_jobs=n_jobs,
    )
    return math.fsum(sums)


@kernel
def _expected(a, repeats_a, b, repeats_b, n, logs):
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            total += repeats_a[i] * repeats_b[j] * _expected_cell(a[i], b[j], n, logs)
    return total


@kernel
def _log(k, logs):
    """k is a whole number from 1 on (margins are whole): below, the place would wrap around."""
    return logs[np.uint64(k) - np.uint64(1)] if k <= logs.shape[0] else math.log(k)


@kernel
def _expected_cell(a, b, n, logs):
    """sum_k k/n log(n k/(a b)) P(k), with P(mode) = 1 until the end."""
    low, high = max(0.0, a + b - n), min(a, b)
    mode = min(max(math.floor((a + 1) * (b + 1) / (n + 2)), low), high)
    rest = n - a - b
    shift = math.log(a) + math.log(b) - math.log(n)
    mass = 1.0
    total = mode * (_log(mode, logs) - shift) if mode > 0 else 0.0
    p, k = 1.0, mode
    while k < high and p > 1e-20:
        p *= (a - k) * (b - k) / ((k + 1) * (rest + k + 1))
        k += 1
        mass += p
        total += p * k * (_log(k, logs) - shift)
    p, k = 1.0, mode
    while k > low and p > 1e-20:
        p *= k * (rest + k) / ((a - k + 1) * (b - k + 1))
        k -= 1
        mass += p
        if k > 0:
            total += p * k * (_log(k, logs) - shift)
    return total / (mass * n)


# All pairs of columns --------------------------------------------------------------------------------------

#: Measures of two partitions, by the number that kernels know them by; plain "nmi" is the arithmetic one, as in scikit-learn.
PAIRWISE_MEASURES = ("nmi", "nmi_max", "nmi_geometric", "nmi_arithmetic", "ari")


def measure_tables(
    table: np.ndarray, offsets: np.ndarray, measure: str = "nmi", *, with_itself: bool = False
) -> np.ndarray:
    """(m,) a measure of each of m dense tables that lie one below the other: table i is rows offsets[i] to offsets[i + 1].

    NaN for a table without counts. ``with_itself`` counts an object's pair with itself in the ARI, which makes it
    independent of the scale of weights.
    """
    check("measure", measure, Choice(*PAIRWISE_MEASURES))
    which, out = PAIRWISE_MEASURES.index(measure), np.empty(len(offsets) - 1)
    for i in range(len(out)):
        out[i] = _measure(table[offsets[i] : offsets[i + 1]], which, with_itself)
    return out


def pairwise_measure(
    labels: np.ndarray,
    n_clusters: np.ndarray,
    measure: str = "nmi",
    weights: np.ndarray | None = None,
    *,
    n_jobs: int | None = None,
) -> np.ndarray:
    """Symmetric (m, m) matrix of a measure between every two columns of ``labels`` (n, m), codes with -1 missing.

    Each pair is compared on the objects that both have labelled; a pair without any is NaN. Time
    O(n m^2 / 2), memory one copy of ``labels`` and one table per thread; threads share the columns.
    """
    check("measure", measure, Choice(*PAIRWISE_MEASURES))
    m = labels.shape[1]
    columns = np.ascontiguousarray(labels.T)
    widths = np.ascontiguousarray(n_clusters, np.int64)
    weights = np.ones(1) if weights is None else np.ascontiguousarray(weights, np.float64)
    out = np.ones((m, m))
    which = PAIRWISE_MEASURES.index(measure)
    widest = int(widths.max(initial=0))

    def pairs_of(i: int) -> None:
        if int(widths[i]) * widest <= max(_SMALL_TABLE, 2 * labels.shape[0]):
            _pairs_of_column(columns, weights, widths, i, which, out)
            return
        for j in range(i, m):
            out[i, j] = _sparse_pair(columns[i], columns[j], weights, which)

    map_tasks(pairs_of, list(range(m)), n_jobs=n_jobs)
    upper = np.triu_indices(m, 1)
    out.T[upper] = out[upper]
    return out


@kernel
def _pairs_of_column(columns, weights, widths, i, which, out):
    """Row i of the matrix, from the diagonal on."""
    m, n = columns.shape
    one_weight = weights.shape[0] != n
    table = np.empty(widths[i] * max(1, widths[i:].max()))
    for j in range(i, m):
        width = widths[j]
        cells = table[: widths[i] * width]
        cells[:] = 0.0
        for p in range(n):
            if columns[i, p] >= 0 and columns[j, p] >= 0:
                cells[columns[i, p] * width + columns[j, p]] += weights[0] if one_weight else weights[p]
        out[i, j] = _measure(cells.reshape(widths[i], width), which, False)


@kernel
def _measure(table, which, with_itself):
    """One measure of a dense table; the conventions at the edges are scikit-learn's."""
    a, b = np.zeros(table.shape[0]), np.zeros(table.shape[1])
    squares, n_cells = 0.0, 0
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            if table[i, j] > 0:
                n_cells += 1
                a[i] += table[i, j]
                b[j] += table[i, j]
                squares += table[i, j] * table[i, j]
    n = a.sum()
    if n <= 0:
        return np.nan
    if n_cells == (a > 0).sum() == (b > 0).sum():
        return 1.0  # the same partition, also where a formula would say 0/0
    if which == 4:
        together, only_a, only_b, apart = _confuse_pairs(
            squares, (a * a).sum(), (b * b).sum(), n, 0.0 if with_itself else n
        )
        return _adjusted_rand(together, only_a, only_b, apart)
    information, entropy_a, entropy_b = 0.0, 0.0, 0.0
    for i in range(table.shape[0]):
        if a[i] > 0:
            entropy_a += _entropy_terms(a[i], n)
            for j in range(table.shape[1]):
                if table[i, j] > 0:
                    information += _information_terms(table[i, j], a[i], b[j], n)
    for j in range(table.shape[1]):
        if b[j] > 0:
            entropy_b += _entropy_terms(b[j], n)
    return normalise_information(information / n, entropy_a, entropy_b, which % 3)


def _sparse_pair(a: np.ndarray, b: np.ndarray, weights: np.ndarray, which: int) -> float:
    """The same for a table too large to hold densely."""
    seen = (a >= 0) & (b >= 0)
    cells = count_pairs(a[seen], b[seen], weights[seen] if weights.size == a.size else None, n_jobs=1)
    if cells.counts.size == 0:
        return math.nan
    if cells.counts.size == cells.row_values.size == cells.column_values.size:
        return 1.0
    counts = cells.counts.astype(np.float64)
    rows = np.bincount(cells.rows, counts)
    columns = np.bincount(cells.columns, counts)
    n = float(counts.sum())
    if which == 4:
        return adjusted_rand(
            *confuse_pairs(float(counts @ counts), float(rows @ rows), float(columns @ columns), n, n)
        )
    information = mutual_information(cells, rows, columns)
    return normalise_information(information, entropy(rows), entropy(columns), which % 3)
