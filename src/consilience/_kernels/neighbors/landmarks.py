"""Rows seen through landmarks: a sparse graph of n rows and p points, and its cut from the points' side.

    S(i)  = the K landmarks nearest to row i,   d(i, l) their distances                                    (1)
    a_il  = exp( -d(i, l)^2 / (2 sigma^2) ) for l in S(i), 0 elsewhere,
            t_i = sum_l a_il,   B_il = a_il / t_i                                                          (2)
    E     = B' diag(w t) B,   m = E 1                                                                      (3)
    v     : leading eigenvectors of  diag(m)^-1/2 E diag(m)^-1/2,  each over m^1/2                         (4)
    u_i   = sum_l B_il v_l,  scaled to length one                                                          (5)

B (n, p) holds K numbers a row; w (n,) are weights. (4) is the normalized cut of the graph with n + p nodes,
found from p x p numbers (the transfer cut), and (5) carries it over to the rows.

(1) is sought in three steps, as U-SPEC does: the nearest of some sqrt(p) groups of landmarks, the nearest
landmark in it, and then the K nearest among those near that one. That is O(sqrt(p) d) for a row and misses
some neighbors.

What a row gets depends on that row alone, to the last bit: not on those beside it, nor on threads. Rows that
come later are therefore placed just as they would have been at first.

Reference: D. Huang, C.-D. Wang, J.-S. Wu, J.-H. Lai and C.-K. Kwoh, "Ultra-scalable spectral clustering and
ensemble clustering", IEEE Transactions on Knowledge and Data Engineering 32(6), 2020.
"""

from __future__ import annotations

from math import isqrt
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..compile.csr import Entries
from ..compile.jit import fast_kernel, kernel
from ..kmeans import many_kmeans
from ..labels.distinct import row_hashes
from .search import insert

#: Landmarks near the nearest one that are looked at, for each neighbor wanted.
NEARBY = 10
#: Steps of the k-means that places landmarks, and of the one that groups them: neither is an answer by
#: itself.
STEPS, GROUP_STEPS = 3, 10


class Landmarks(NamedTuple):
    """Points that stand for the rows around them, group after group, and what leads to the nearest."""

    points: np.ndarray  # (p, d) of the rows' precision
    lengths: np.ndarray  # (p,) float64, their squares
    groups: np.ndarray  # (g, d) centers of the groups
    group_lengths: np.ndarray  # (g,)
    starts: np.ndarray  # (g + 1,) where each group begins among the points; none is empty
    nearby: np.ndarray  # (p, q) int32, the points nearest to each, itself first


class Rows(NamedTuple):
    """Some columns of a table, each number times ``unit``: what landmarks are compared with."""

    X: Any  # (n, all) float32 or float64, C-contiguous or CSR
    columns: np.ndarray  # (d,) positions, each once
    unit: float  # a power of two

    @property
    def n_samples(self) -> int:
        return self.X.shape[0]

    def take(self, rows: np.ndarray) -> Any:
        """(len(rows), d) of X's kind and precision."""
        if sp.issparse(self.X):
            Z = sp.csr_array(sp.csr_array(self.X[rows])[:, self.columns])
            Z.sort_indices()
        else:
            Z = self.X[np.ix_(rows, self.columns)]
        return Z * Z.dtype.type(self.unit)


def place_landmarks(
    Z: Any, p: int, n_neighbors: int, *, seed: Any, weight: np.ndarray | None = None
) -> Landmarks:
    """At most p landmarks for the rows of Z, a sample of all rows.

    They are the means of a short k-means, or the different rows if there are so few.

    ``n_neighbors`` is the K they will be asked for.
    """
    different = _first_of_equals(Z)
    if different.size <= p:
        points = Z[different]
        points = points.toarray() if sp.issparse(points) else points
    else:
        runs = many_kmeans(
            Z, [p], seeds=[seed], init="random", max_iter=STEPS, sample_weight=weight, n_jobs=1
        )
        points = runs.centers[0].astype(Z.dtype)
        # Several at one place would crowd out other neighbors of the rows there.
        points = points[_first_of_equals(points)]
    return _grouped(points, n_neighbors, seed)


def _first_of_equals(Z: Any) -> np.ndarray:
    """Positions of the different rows."""
    return np.sort(np.unique(row_hashes(Z), return_index=True)[1])


def _grouped(points: np.ndarray, n_neighbors: int, seed: Any) -> Landmarks:
    p = len(points)
    count = isqrt(p - 1) + 1
    runs = many_kmeans(points, [count], seeds=[seed], max_iter=GROUP_STEPS, n_jobs=1)
    used, group = np.unique(runs.labels[:, 0], return_inverse=True)
    points = np.ascontiguousarray(points[np.argsort(group, kind="stable")])
    wide = points.astype(np.float64)
    centers = runs.centers[0][used].astype(points.dtype)
    lengths = np.einsum("ij,ij->i", wide, wide)
    products = wide @ wide.T
    squares = lengths[:, None] + lengths - (products + products.T)
    np.fill_diagonal(squares, -np.inf)  # itself first, whatever rounding says
    near = np.argsort(squares, axis=1, kind="stable")[:, : NEARBY * n_neighbors]
    return Landmarks(
        points,
        lengths,
        centers,
        np.einsum("ij,ij->i", centers, centers, dtype=np.float64),
        np.concatenate([[0], np.cumsum(np.bincount(group))]),
        np.ascontiguousarray(near, dtype=np.int32),
    )


def nearest_landmarks(
    rows: Rows, landmarks: Landmarks, start: int, stop: int, index: np.ndarray, squares: np.ndarray
) -> None:
    """Write S of Eq. (1) of rows start..stop into index (stop - start, K) int32, by rising distance.

    d^2 goes into squares.

    K is at most the number of landmarks near each.
    """
    if not 1 <= index.shape[1] <= landmarks.nearby.shape[1] or index.shape != squares.shape:
        raise ValueError(
            f"{index.shape} and {squares.shape} neighbors of {landmarks.nearby.shape[1]} at hand."
        )
    if landmarks.points.shape[1] != len(rows.columns):
        raise ValueError(f"Landmarks have {landmarks.points.shape[1]} columns, rows {len(rows.columns)}.")
    X, unit = rows.X[start:stop], rows.X.dtype.type(rows.unit)
    if sp.issparse(X):
        place = np.full(X.shape[1], -1, np.int64)
        place[rows.columns] = np.arange(len(rows.columns))
        _nearest_sparse(Entries(X.data, X.indices, X.indptr), place, unit, landmarks, index, squares)
    else:
        _nearest_dense(X, rows.columns, unit, landmarks, index, squares)


def graph_of_landmarks(
    index: np.ndarray,
    squares: np.ndarray,
    sigma: float,
    p: int,
    weight: np.ndarray | None = None,
    least: float = 0.0,
) -> np.ndarray:
    """E (p, p) of Eq. (3), float64, times exp(least / (2 sigma^2)).

    A factor changes nothing in (4), and with the smallest of all squares as ``least`` E cannot vanish.
    """
    E = np.zeros((p, p))
    _add_rows(index, squares, _rate(sigma), np.ones(0) if weight is None else weight, least, E)
    return E


def label_rows(
    index: np.ndarray, squares: np.ndarray, sigma: float, vectors: np.ndarray, centers: np.ndarray
) -> np.ndarray:
    """(n,) int32: the center (k, c) nearest to u_i of Eq. (5), from the vectors (p, c) of the landmarks.

    The products of vectors and centers are those of landmarks, not of rows: O(K (c + k)) for each.
    """
    labels = np.empty(len(index), np.int32)
    half = np.einsum("ij,ij->i", centers, centers) / 2
    _label(index, squares, _rate(sigma), vectors, np.ascontiguousarray(vectors @ centers.T), half, labels)
    return labels


def _rate(sigma: float) -> float:
    """1 / (2 sigma^2). Where all distances are zero, so are their exponents."""
    return 0.5 / (sigma * sigma) if sigma > 0 else 0.0


# Compiled ---------------------------------------------------------------------------------------------------


@fast_kernel(forceinline=True)
def _square(x, where, length, point, point_length):
    """|x - point|^2. x is a dense row, or the values of a sparse one, which stand at ``where``."""
    if where is None:
        total = x.dtype.type(0)
        for t in range(x.size):
            difference = x[t] - point[t]
            total += difference * difference
        return np.float64(total)
    product = 0.0
    for t in range(x.size):
        product += np.float64(x[t]) * point[where[t]]
    return max(length + point_length - 2.0 * product, 0.0)


@kernel(forceinline=True)
def _search(x, where, length, landmarks, index, squares, i):
    """The lists of one row.

    Where distances are NaN, the first candidates of each step are kept: all indices stay inside.
    """
    points, lengths, groups, group_lengths, starts, nearby = landmarks
    best, group = np.inf, 0
    for t in range(groups.shape[0]):
        s = _square(x, where, length, groups[t], group_lengths[t])
        if s < best:
            best, group = s, t
    best, nearest = np.inf, starts[group]
    for t in range(starts[group], starts[group + 1]):
        s = _square(x, where, length, points[t], lengths[t])
        if s < best:
            best, nearest = s, t
    last = index.shape[1] - 1
    for t in range(last + 1):
        index[i, t], squares[i, t] = nearby[nearest, t], np.inf
    for t in range(nearby.shape[1]):
        l = nearby[nearest, t]
        s = squares.dtype.type(_square(x, where, length, points[l], lengths[l]))
        if s < squares[i, last]:
            insert(index, squares, i, l, s)


@kernel
def _nearest_dense(X, columns, unit, landmarks, index, squares):
    x = np.empty(columns.size, X.dtype)
    for i in range(X.shape[0]):
        for t in range(columns.size):
            x[t] = X[i, columns[t]] * unit
        _search(x, None, 0.0, landmarks, index, squares, i)


@kernel
def _nearest_sparse(entries, place, unit, landmarks, index, squares):
    """``place`` (all columns) is where a column stands among the chosen, or -1."""
    data, indices, indptr = entries
    longest = 0  # a row may name a column twice: its entries are the bound, not the columns
    for i in range(indptr.size - 1):
        longest = max(longest, indptr[i + 1] - indptr[i])
    x, where = np.empty(longest, data.dtype), np.empty(longest, np.int64)
    for i in range(indptr.size - 1):
        count, length = 0, 0.0
        for t in range(indptr[i], indptr[i + 1]):
            if place[indices[t]] >= 0:
                x[count], where[count] = data[t] * unit, place[indices[t]]
                length += np.float64(x[count]) ** 2
                count += 1
        _search(x[:count], where[:count], length, landmarks, index, squares, i)


@kernel
def _shares(squares, rate, share):
    """B of Eq. (2) of one row, and t up to the factor of the nearest landmark.

    The nearest is the first; its factor is divided out, so that no row is without a share.
    """
    total = 0.0
    for t in range(squares.size):
        share[t] = np.exp(-rate * (np.float64(squares[t]) - np.float64(squares[0])))
        total += share[t]
    for t in range(squares.size):
        share[t] /= total
    return total


@kernel
def _add_rows(index, squares, rate, weight, least, E):
    """Eq. (3). No weights: all are one."""
    share = np.empty(index.shape[1])
    for i in range(index.shape[0]):
        w = _shares(squares[i], rate, share) * np.exp(-rate * (np.float64(squares[i, 0]) - least))
        if weight.size > 0:
            w *= weight[i]
        for s in range(share.size):
            for t in range(share.size):
                E[index[i, s], index[i, t]] += w * share[s] * share[t]


@kernel
def _label(index, squares, rate, vectors, products, half, labels):
    """argmax over centers c of  u'c - |u| |c|^2 / 2,  which is that of u / |u|, the first if several are."""
    share, u, score = np.empty(index.shape[1]), np.empty(vectors.shape[1]), np.empty(half.size)
    for i in range(index.shape[0]):
        _shares(squares[i], rate, share)
        u[:], score[:] = 0.0, 0.0
        for t in range(share.size):
            l = index[i, t]
            for c in range(u.size):
                u[c] += share[t] * vectors[l, c]
            for c in range(score.size):
                score[c] += share[t] * products[l, c]
        length = 0.0
        for c in range(u.size):
            length += u[c] * u[c]
        length = np.sqrt(length)
        best, label = -np.inf, 0
        for c in range(score.size):
            s = score[c] - length * half[c]
            if s > best:
                best, label = s, c
        labels[i] = label
