"""Nearest neighbours and neighbourhood kernels by blocks of inner products, never n by n in memory.

    d(i, l)^2 = |x_i|^2 + |x_l|^2 - 2 x_i . x_l                                                     (1)

Each pair is met once, in a block of one matrix product, and offered to the lists of both its ends; a list keeps
its k best by a small sorted insertion. Squared distances of the pairs that stay are then taken again from the
differences, so that equal rows have distance zero and close ones do not lose their digits in (1).

All pairs are met unless :class:`Cells` are given: then rows are grouped around some sqrt(n) centres and only pairs of
rows in the same or in nearby groups are. That is O(n^1.5 d) instead of O(n^2 d / 2), and misses some neighbours.

Everything here is serial; threads run over members.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ._jit import kernel
from .kmeans import many_kmeans, nearest_centers

_ROWS, _COLUMNS = 256, 2048  # of a block: its inner products stay in the second-level cache
_NEARBY = 24  # groups that a group is compared with, itself included (recall: benchmarks/bench_mdec.py)
_ENOUGH = 4  # times k: rows that these groups hold at least
_LEARN_FROM, _STEPS = 32, 5  # rows of each group that centres are learned from, and how long


class Cells(NamedTuple):
    """Rows grouped around centres, and which groups are near each other."""

    order: np.ndarray  # (n,) rows, group after group
    starts: np.ndarray  # (groups + 1,) where each begins in ``order``
    pairs: np.ndarray  # (p, 2) of nearby groups, each once, first <= second


def nearby_cells(X: Any, k: int, seed: Any) -> Cells:
    """About sqrt(n) groups of the rows of X, each paired with those nearest to it, for lists of k neighbours."""
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


def nearest(X: Any, k: int, cells: Cells | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(indices (n, k) int32, squares (n, k)) of the k nearest other rows of X (n, d) in Euclidean distance.

    X is a float64 array or CSR matrix, k < n. Neighbours come by rising distance, equal ones by rising index.
    O(n^2 d / 2) time without ``cells``, O(n k) memory beside X.
    """
    index, squares = _search(X, k, cells, _offer_nearest)
    order = np.lexsort((index, squares), axis=1)
    return np.take_along_axis(index, order, axis=1), np.take_along_axis(squares, order, axis=1)


def most_similar(
    X: Any, k: int, radius: np.ndarray, mu: float, cells: Cells | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(indices (n, k), squares (n, k)) of the k other rows with the largest normal density of the *squared*
    distance,

        f(D) = exp(-D^2 / (2 s^2)) / s,   s = mu (radius_i + radius_l + D) / 3,   D = d(i, l)^2          (2)

    Cost as :func:`nearest`: most pairs are refused by a bound that needs no logarithm.
    """
    radius = radius if cells is None else radius[cells.order]

    def offer(products, lengths, a, b, c, e, index, key):
        _offer_similar(products, lengths, radius, mu, a, b, c, e, index, key)

    return _search(X, k, cells, offer)


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


def _search(X: Any, k: int, cells: Cells | None, offer: Any) -> tuple[np.ndarray, np.ndarray]:
    """Lists of k rows and their squared distances, from blocks of pairs handed to ``offer``."""
    n = X.shape[0]
    index = np.full((n, k), -1, np.int32)
    key = np.full((n, k), np.inf)
    for a, b, c, e, products, lengths in _blocks(X, cells):
        offer(products, lengths, a, b, c, e, index, key)
    if cells is not None:
        index[cells.order] = cells.order[index]
    squares = pair_squares(X, np.repeat(np.arange(n, dtype=np.int32), k), index.ravel()).reshape(n, k)
    return index, squares


def _blocks(X: Any, cells: Cells | None = None):
    """(a, b, c, e, inner products of rows a..b and c..e, all squared lengths), each pair of rows once.

    With ``cells``, positions are those in ``cells.order``, and only rows of paired groups meet.
    """
    n = X.shape[0]
    if cells is not None:
        X = X[cells.order]
    if sp.issparse(X):
        lengths = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        columns = X.T.tocsc()
    else:
        X = X - X.mean(axis=0)  # distances do not see the mean, but inner products lose digits to it
        lengths = np.einsum("ij,ij->i", X, X)
    for a, b, c, e in _ranges(n) if cells is None else _cell_ranges(cells):
        if sp.issparse(X):
            products = (X[a:b] @ columns[:, c:e]).toarray()
        else:
            products = X[a:b] @ X[c:e].T
        yield a, b, c, e, products, lengths


def _ranges(n: int):
    """Blocks (a, b, c, e) that cover each pair i < l once; those on the diagonal hold it, too."""
    for a in range(0, n, _ROWS):
        for c in range(a, n, _COLUMNS):
            yield a, min(a + _ROWS, n), c, min(c + _COLUMNS, n)


def _cell_ranges(cells: Cells):
    """The same for rows of paired groups."""
    for first, second in cells.pairs:
        begin, end = cells.starts[first], cells.starts[first + 1]
        for a in range(begin, end, _ROWS):
            last = cells.starts[second + 1]
            for c in range(a if first == second else cells.starts[second], last, _COLUMNS):
                yield a, min(a + _ROWS, end), c, min(c + _COLUMNS, last)


@kernel
def _insert(index, key, row, new_index, new_key):
    """Put a candidate in the sorted list of one row; the caller has seen that it beats the last one."""
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
def _offer_nearest(products, lengths, a, b, c, e, index, key):
    last = key.shape[1] - 1
    worst = key[c:e, last].copy()
    for i in range(a, b):
        own = key[i, last]
        length = lengths[i]
        for l in range(max(c, i + 1), e):
            square = length + lengths[l] - 2.0 * products[i - a, l - c]
            if square < own:
                _insert(index, key, i, l, square)
                own = key[i, last]
            if square < worst[l - c]:
                _insert(index, key, l, i, square)
                worst[l - c] = key[l, last]
        if c <= i < e:
            worst[i - c] = own


@kernel
def _offer_similar(products, lengths, radius, mu, a, b, c, e, index, key):
    """Lists of smallest -log f of Eq. (2), constants left out: log s + D^2 / (2 s^2)."""
    last = key.shape[1] - 1
    worst = key[c:e, last].copy()
    tiny = np.finfo(np.float64).eps
    smallest = radius.min()
    for i in range(a, b):
        own = key[i, last]
        length = lengths[i]
        floor = np.log(mu * ((radius[i] + smallest) / 3.0 + tiny))  # of log s in this row
        for l in range(max(c, i + 1), e):
            D = max(length + lengths[l] - 2.0 * products[i - a, l - c], 0.0)
            s = mu * ((radius[i] + radius[l] + D) / 3.0 + tiny)
            x = D / s
            x = 0.5 * x * x
            if x + floor < own or x + floor < worst[l - c]:
                cost = np.log(s) + x
                if cost < own:
                    _insert(index, key, i, l, cost)
                    own = key[i, last]
                if cost < worst[l - c]:
                    _insert(index, key, l, i, cost)
                    worst[l - c] = key[l, last]
        if c <= i < e:
            worst[i - c] = own


@kernel
def _squares_dense(X, rows, columns):
    out = np.empty(rows.size)
    for t in range(rows.size):
        i, l = rows[t], columns[t]
        total = 0.0
        for j in range(X.shape[1]):
            difference = X[i, j] - X[l, j]
            total += difference * difference
        out[t] = total
    return out


@kernel
def _squares_sparse(data, indices, indptr, rows, columns):
    out = np.empty(rows.size)
    for t in range(rows.size):
        p, p_end = indptr[rows[t]], indptr[rows[t] + 1]
        q, q_end = indptr[columns[t]], indptr[columns[t] + 1]
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
        out[t] = total
    return out
