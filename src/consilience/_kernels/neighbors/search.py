"""Nearest neighbors and neighborhood kernels by blocks of inner products, never n by n in memory.

    d(i, l)^2 = |x_i|^2 + |x_l|^2 - 2 x_i . x_l                                                     (1)

Each pair is met once, in a block of one matrix product, and offered to the lists of both its ends: a sweep
without branches marks the few pairs that either end may want, and those go into lists of k by a small sorted
insertion.

Products are of single precision: half the time and half the memory. They only mark. With lengths made smaller
by what rounding can add to (1), no pair that is wanted goes unmarked; the squares of the marked are taken
from the differences in double precision, so that equal rows have distance zero and close ones do not lose
their digits.

All pairs are met unless :class:`Cells` are given: then rows are grouped around some sqrt(n) centers and only
pairs of rows in the same or in nearby groups are. That is O(n^1.5 d) instead of O(n^2 d / 2), and misses some
neighbors.

Everything here is serial; threads run over members.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..compile.arrays import empty_array, zero_array
from ..compile.jit import kernel
from ..compile.vectors import square
from ..kmeans import many_kmeans, nearest_centers

_ROWS, _COLUMNS = 256, 2048  # of a block: its inner products stay in the second-level cache
_EPSILON = float(np.finfo(np.float64).eps)
_SINGLE = 2.0**-24  # unit of rounding
_TINIEST = 2.0**-120  # more than underflow takes from a product
_ABOVE = 1.0 + 2.0**-20  # a number times this is still above it when rounded to single precision
_KEEP = 2**24  # inner products (64 MB) that are kept from one pass over the pairs to the next
_NEARBY = 24  # groups that a group is compared with, itself included (recall: benchmarks/bench_mdec.py)
_ENOUGH = 4  # times k: rows that these groups hold at least
_LEARN_FROM, _STEPS = 32, 5  # rows of each group that centers are learned from, and how long


class Block(NamedTuple):
    """Rows a..b and c..e, and what is known of all their pairs."""

    products: np.ndarray  # (b - a, e - c) float32, over ``unit``
    lengths: np.ndarray  # (n,) float32 squares, over ``unit`` and a little too small
    unit: float
    a: int
    b: int
    c: int
    e: int


class Spread(NamedTuple):
    """What Eq. (2) takes from rows themselves."""

    radius: np.ndarray  # (n,)
    smallest: float  # of these
    mu: float


class _Near(NamedTuple):
    """Columns of a block beside one of its rows, from the diagonal on; all float32, and over ``unit``."""

    lengths: np.ndarray
    products: np.ndarray
    radius: np.ndarray
    widest: np.ndarray  # D / s beyond which the other end does not want the row


class Cells(NamedTuple):
    """Rows grouped around centers, and which groups are near each other."""

    order: np.ndarray  # (n,) rows, group after group
    starts: np.ndarray  # (groups + 1,) where each begins in ``order``
    pairs: np.ndarray  # (p, 2) of nearby groups, each once, first <= second


def nearby_cells(X: Any, k: int, seed: Any) -> Cells:
    """About sqrt(n) groups of the rows of X, each paired with its nearest ones, for lists of k neighbors."""
    n = X.shape[0]
    count = int(np.ceil(np.sqrt(n)))
    sample = np.sort(np.random.default_rng(seed).choice(n, min(n, _LEARN_FROM * count), replace=False))
    runs = many_kmeans(X[sample], [count], seeds=[seed], init="random", max_iter=_STEPS, n_jobs=1)
    centers = runs.centers[0]
    group = nearest_centers(X, [centers], n_jobs=1)[:, 0]
    sizes = np.bincount(group, minlength=count)
    centers, sizes = centers[sizes > 0], sizes[sizes > 0]
    group = np.unique(group, return_inverse=True)[1]
    squares = (centers**2).sum(axis=1)
    nearness = np.argsort(squares[:, None] + squares - 2 * centers @ centers.T, axis=1, kind="stable")
    # As many groups as hold enough rows, wherever they are small.
    held = np.cumsum(sizes[nearness], axis=1)
    taken = np.maximum(_NEARBY, 1 + (held < min(_ENOUGH * (k + 1), n)).sum(axis=1))
    here, there = np.nonzero(np.arange(len(sizes)) < taken[:, None])
    there = nearness[here, there]
    own = np.arange(len(sizes))
    both = np.vstack([np.column_stack([here, there]), np.column_stack([own, own])])
    return Cells(
        np.argsort(group, kind="stable"),
        np.concatenate([[0], np.cumsum(sizes)]),
        np.unique(np.sort(both, axis=1), axis=0),
    )


class Pairs:
    """Inner products of the rows of X (n, d), a float64 array or CSR matrix, block by block.

    Iterating gives (a, b, c, e, products of rows a..b with rows c..e), each pair of rows once; the diagonal
    is in it, too. Products are of rows about their mean, divided by their largest entry, whose square is
    ``unit``. With ``cells``, rows are counted in ``cells.order`` and only those of paired groups meet. A
    block lasts until the next one comes, unless they are few: then the first pass keeps them for later ones.
    """

    def __init__(self, X: Any, cells: Cells | None = None):
        self.X, self.cells = X, cells
        self.n_samples = X.shape[0]
        rows = X if cells is None else X[cells.order]
        none = np.empty((0, 0)), np.empty(0), np.empty(0, np.int32), np.empty(0, np.int32)
        if sp.issparse(X):
            self.rows = (none[0], rows.data, rows.indices, rows.indptr)
            terms, largest = np.diff(rows.indptr).max(initial=0), np.abs(rows.data).max(initial=0.0)
            self.unit = float(largest or 1.0) ** 2
            rows = rows / (largest or 1.0)
            lengths = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
            rows = rows.astype(np.float32)
            self._columns = rows.T.tocsc()
        else:
            self.rows = (np.ascontiguousarray(rows), *none[1:])
            # Distances do not see the mean, but inner products lose digits to it.
            rows = rows - rows.mean(axis=0)
            terms, largest = X.shape[1], np.abs(rows).max(initial=0.0)
            self.unit = float(largest or 1.0) ** 2
            rows /= largest or 1.0
            lengths = np.einsum("ij,ij->i", rows, rows)
            rows = rows.astype(np.float32)
        # Entries, products, sums and lengths are rounded: Eq. (1) is wrong by at most this share of |x_i|^2 +
        # |x_l|^2.
        share = min((terms + 10) * _SINGLE, 1.0)
        self.lengths = (lengths * (1.0 - share) - terms * _TINIEST).astype(np.float32)
        self._products_of = rows
        self._ranges = list(_ranges(self.n_samples) if cells is None else _cell_ranges(cells))
        self._kept: list[np.ndarray] | None = None

    def __iter__(self):
        if self._kept is not None:
            yield from ((*span, products) for span, products in zip(self._ranges, self._kept))
            return
        total = sum((b - a) * (e - c) for a, b, c, e in self._ranges)
        few = total <= _KEEP
        free = np.empty(total if few else _ROWS * _COLUMNS, np.float32)
        rows = self._products_of
        kept = []
        for a, b, c, e in self._ranges:
            products = free[: (b - a) * (e - c)].reshape(b - a, e - c)
            if sp.issparse(rows):
                (rows[a:b] @ self._columns[:, c:e]).toarray(out=products)
            else:
                np.matmul(rows[a:b], rows[c:e].T, out=products)
            if few:
                kept.append(products)
                free = free[products.size :]
            yield a, b, c, e, products
        if few:
            self._kept = kept


def nearest(pairs: Pairs, k: int) -> tuple[np.ndarray, np.ndarray]:
    """(indices (n, k) int32, squares (n, k)) of the k nearest other rows in Euclidean distance, k < n.

    Neighbors come by rising distance, equal ones by rising index. O(n^2 d / 2) time without cells, O(n k)
    memory beside the pairs.
    """
    index, key = _empty_lists(np.full(pairs.n_samples, np.inf), k)
    for a, b, c, e, products in pairs:
        block = Block(products, pairs.lengths, pairs.unit, a, b, c, e)
        _offer_nearest(block, pairs.rows, index, key)
    index, squares = _exact(pairs, index)
    order = np.lexsort((index, squares), axis=1)
    return np.take_along_axis(index, order, axis=1), np.take_along_axis(squares, order, axis=1)


def most_similar(
    pairs: Pairs, k: int, radius: np.ndarray, mu: float, bound: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(indices, squares), both (n, k): the k other rows with the largest normal density of each row.

    The density is that of the *squared* distance,

        f(D) = exp(-D^2 / (2 s^2)) / s,   s = mu (radius_i + radius_l + D) / 3,   D = d(i, l)^2          (2)

    A ``bound`` (n,) on -log f of the k-th of each row spares most of the work. Any numbers are right: where
    lists come up short of k, they are sought again without it.
    """
    n, order = pairs.n_samples, slice(None) if pairs.cells is None else pairs.cells.order
    radius, unbounded = radius[order], np.full(n, np.inf)
    smallest = float(radius.min())

    def lists(bound: np.ndarray) -> np.ndarray:
        index, key = _empty_lists(bound, k)
        for a, b, c, e, products in pairs:
            block = Block(products, pairs.lengths, pairs.unit, a, b, c, e)
            _offer_similar(block, pairs.rows, Spread(radius, smallest, mu), index, key)
        return index

    index = lists(unbounded if bound is None else bound[order])
    if (index < 0).any():
        index = lists(unbounded)
    return _exact(pairs, index)


def minus_log_density(squares: np.ndarray, s: np.ndarray) -> np.ndarray:
    """-log f of Eq. (2), without constants."""
    return np.log(s) + 0.5 * (squares / s) ** 2


def _empty_lists(bound: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """k places for each row, held by nobody (-1) and open to keys below the row's bound."""
    if not 1 <= k < bound.size:
        raise ValueError(f"k={k} neighbors among {bound.size} rows; expected 1 to {bound.size - 1}.")
    return np.full((bound.size, k), -1, np.int32), np.repeat(bound, k).reshape(-1, k)


def _exact(pairs: Pairs, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The lists in terms of the rows of X, and their squared distances."""
    n, k = index.shape
    if (index < 0).any():  # only distances that are not finite leave places open: no row to point at
        raise ValueError(
            f"Fewer than {k} neighbors have a finite distance; X must be finite and of moderate size."
        )
    if pairs.cells is not None:
        order = pairs.cells.order
        index, listed = np.empty_like(index), index
        index[order] = order[listed]
    rows = np.repeat(np.arange(n, dtype=np.int32), k)
    return index, pair_squares(pairs.X, rows, index.ravel()).reshape(n, k)


def pair_squares(X: Any, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """|x_i - x_l|^2 of the given pairs, from the differences."""
    if sp.issparse(X):
        return _squares_sparse(X.data, X.indices, X.indptr, rows, columns)
    return _squares_dense(X, rows, columns)


def symmetric_graph(index: np.ndarray, values: np.ndarray) -> sp.csr_array:
    """(n, n) CSR of the listed edges and their reverses, the larger value where both are listed."""
    n, k = index.shape
    # 32-bit indices throughout: half the memory to stream, and what other libraries accept.
    starts = np.arange(0, n * k + 1, k, dtype=np.int32 if n * k < 2**30 else np.int64)
    one_way = sp.csr_array((values.ravel(), index.ravel(), starts), shape=(n, n))
    one_way.sort_indices()
    return sp.csr_array(one_way.maximum(one_way.T.tocsr()))


def _ranges(n: int):
    """Blocks (a, b, c, e) that cover each pair i < l once; those on the diagonal cover l < i, too.

    They come first: rows are often in an order that puts like by like, and lists that begin well are seldom
    changed.
    """
    for a in range(0, n, _ROWS):
        yield a, min(a + _ROWS, n), a, min(a + _ROWS, n)
    for a in range(0, n, _ROWS):
        for c in range(a + _ROWS, n, _COLUMNS):
            yield a, min(a + _ROWS, n), c, min(c + _COLUMNS, n)


def _cell_ranges(cells: Cells):
    """The same for rows of paired groups, each with itself first."""
    for first, second in sorted(cells.pairs.tolist(), key=lambda pair: pair[0] != pair[1]):
        begin, end = cells.starts[first], cells.starts[first + 1]
        for a in range(begin, end, _ROWS):
            last = cells.starts[second + 1]
            for c in range(a if first == second else cells.starts[second], last, _COLUMNS):
                yield a, min(a + _ROWS, end), c, min(c + _COLUMNS, last)


@kernel
def insert(index, key, row, new_index, new_key):
    """Put a candidate in the sorted list of one row, of length k >= 1.

    The caller has seen that it beats the last one.
    """
    k = key.shape[1]
    t = k - 1
    while t > 0 and (
        key[row, t - 1] > new_key or (key[row, t - 1] == new_key and index[row, t - 1] > new_index)
    ):
        key[row, t] = key[row, t - 1]
        index[row, t] = index[row, t - 1]
        t -= 1
    key[row, t] = new_key
    index[row, t] = new_index


@kernel
def _offer_nearest(block, rows, index, key):
    """Put the pairs of a block in the lists of nearest rows of both their ends."""
    products, lengths, unit, a, b, c, e = block
    last = key.shape[1] - 1
    worst = empty_array(e - c, np.float32)
    for l in range(c, e):
        worst[l - c] = _above(key[l, last] / unit)
    wanted, where = _marks(e - c)
    for i in range(a, b):
        low = max(c, i + 1) - c
        here = slice(low, e - c)
        own = _above(key[i, last] / unit)
        _mark_nearest(lengths[i], lengths[c:e][here], products[i - a][here], own, worst[here], wanted[here])
        for t in where[: _marked(wanted, low, where)]:
            D = _square(rows, i, c + t)
            if key[i, last] > D:
                insert(index, key, i, c + t, D)
            if key[c + t, last] > D:
                insert(index, key, c + t, i, D)
                worst[t] = _above(key[c + t, last] / unit)
        if c <= i < e:
            worst[i - c] = _above(key[i, last] / unit)


@kernel
def _above(value):
    """A single-precision number that is not below this one."""
    return np.float32(value * _ABOVE)


@kernel(forceinline=True)
def _square(rows, i, l):
    """|x_i - x_l|^2 from the differences: of dense rows, or, where there are none, of sparse ones."""
    dense, data, indices, indptr = rows
    if dense.shape[0] > 0:
        return square(dense[i], dense[l])
    return _sparse_square(data, indices, indptr, i, l)


@kernel(inline="always")
def _mark_nearest(length, lengths, products, own, worst, wanted):
    """Which pairs of one row are, by Eq. (1), near enough for one of the two ends."""
    for t in range(lengths.size):
        D = length + lengths[t] - np.float32(2.0) * products[t]
        wanted[t] = (own > D) | (worst[t] > D)


@kernel
def _offer_similar(block, rows, spread, index, key):
    """Lists of smallest -log f of Eq. (2), constants left out: log s + D^2 / (2 s^2)."""
    products, lengths, unit, a, b, c, e = block
    radius, smallest, mu = spread
    last = key.shape[1] - 1
    widest, other = empty_array(e - c, np.float32), empty_array(e - c, np.float32)
    wanted, where = _marks(e - c)
    third = mu / 3.0  # s is this times (radius + other + D), in units of the products
    for l in range(c, e):
        widest[l - c] = _widest(key[l, last], _s(mu, radius[l], smallest, 0.0))
        other[l - c] = _above(radius[l] / unit)
    for i in range(a, b):
        low = max(c, i + 1) - c
        here = slice(low, e - c)
        own = _widest(key[i, last], _s(mu, radius[i], smallest, 0.0))
        near = _Near(lengths[c:e][here], products[i - a][here], other[here], widest[here])
        own_radius = _above((radius[i] + 3.0 * _EPSILON) / unit)
        _mark_similar(lengths[i], own_radius, own, _above(third), near, wanted[here])
        for t in where[: _marked(wanted, low, where)]:
            l = c + t
            least = (1.0 - 1e-6) * unit * max(lengths[i] + lengths[l] - 2.0 * products[i - a, t], 0.0)
            if _cost(mu, radius[i], radius[l], least) >= max(key[i, last], key[l, last]):
                continue  # it rises with D: most of the marked are told without their differences
            cost = _cost(mu, radius[i], radius[l], _square(rows, i, l))
            if cost < key[i, last]:
                insert(index, key, i, l, cost)
            if cost < key[l, last]:
                insert(index, key, l, i, cost)
                widest[t] = _widest(key[l, last], _s(mu, radius[l], smallest, 0.0))
        if c <= i < e:
            widest[i - c] = _widest(key[i, last], _s(mu, radius[i], smallest, 0.0))


@kernel
def _s(mu, radius, other, D):
    """s of Eq. (2); machine epsilon is added as in the authors' program, which keeps equal rows finite."""
    return mu * ((radius + other + D) / 3.0 + _EPSILON)


@kernel
def _cost(mu, radius, other, D):
    """-log f of Eq. (2), without constants."""
    s = _s(mu, radius, other, D)
    return np.log(s) + 0.5 * (D / s) ** 2


@kernel
def _widest(cost, least_s):
    """D / s beyond which log s + (D / s)^2 / 2 exceeds ``cost`` for any s from ``least_s`` on.

    A little more is returned, for rounding.

    Needs no logarithm for each pair: s is least where the other radius is and D = 0.
    """
    return _above(np.sqrt(max(2.0 * (cost - np.log(least_s)), 0.0)) + 1e-6)


@kernel(inline="always")
def _mark_similar(length, own_radius, own, third, near, wanted):
    """Which pairs of one row are close enough for one of the two ends.

    D / s rises with D, and a lower bound of D is used.
    """
    lengths, products, radius, widest = near
    for t in range(lengths.size):
        D = max(length + lengths[t] - np.float32(2.0) * products[t], np.float32(0.0))
        s = third * (own_radius + radius[t] + D)
        wanted[t] = (own * s >= D) | (widest[t] * s >= D)  # no quotient: it would take half the time


@kernel(inline="always")
def _marks(count):
    """Two arrays: a mark for each of ``count`` pairs, and room for the places of all marks.

    The marks are filled up to whole words of eight.
    """
    return zero_array((count + 7) // 8 * 8, np.uint8), empty_array(count, np.int64)


@kernel(inline="always")
def _marked(wanted, low, where):
    """Put the places of all marks from ``low`` on in ``where``; returns how many.

    Eight are looked at together.

    What fills up the last word is never marked, so that ``where`` has room for all.
    """
    words = wanted.view(np.uint64)
    count = 0
    for word in range(low // 8, words.size):
        if words[word] != 0:
            for t in range(max(8 * word, low), 8 * word + 8):
                if wanted[t]:
                    where[count] = t
                    count += 1
    return count


@kernel
def _squares_dense(X, rows, columns):
    out = empty_array(rows.size, np.float64)
    for t in range(rows.size):
        out[t] = square(X[rows[t]], X[columns[t]])
    return out


@kernel
def _squares_sparse(data, indices, indptr, rows, columns):
    """rows and columns must not be negative: the end of row -1 would come before its beginning."""
    out = empty_array(rows.size, np.float64)
    for t in range(rows.size):
        out[t] = _sparse_square(data, indices, indptr, rows[t], columns[t])
    return out


@kernel
def _sparse_square(data, indices, indptr, i, l):
    p, p_end = indptr[i], indptr[i + 1]
    q, q_end = indptr[l], indptr[l + 1]
    total = 0.0
    while p < p_end or q < q_end:
        if q == q_end or (p < p_end and indices[p] < indices[q]):
            difference = data[p]
            p += 1
        elif p == p_end or indices[q] < indices[p]:
            difference = data[q]
            q += 1
        else:
            difference = data[p] - data[q]
            p += 1
            q += 1
        total += difference * difference
    return total
