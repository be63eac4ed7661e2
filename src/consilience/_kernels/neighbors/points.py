"""The nearest of some points to every row, dense or sparse, the same for a row whatever rows are beside it.

    |z - p|^2 = |z|^2 - 2 z'p + |p|^2,  z and p less the middle of the points                              (1)

(1) is a product of matrices, and rounds. All points that its rounding leaves in question are compared by
their differences, number by number, and of equal ones the first is taken. Few points, such as the centers of
a k-means, are compared with every row by their differences alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..compile.jit import kernel
from ..runtime.threads import map_blocks, one_blas_thread

#: The numbers of points, p d, up to which all differences are faster than products and what goes with them.
FEW = 1 << 14
_ROWS = 1 << 13  # of a block that is compared with few points
_NUMBERS = 1 << 21  # worked on at once by a thread
_DOUBT = 1e-10  # of the squares in (1): far more than a product of rows loses


def nearest_points(
    Z: Any,
    points: Any,
    *,
    widths: np.ndarray | None = None,
    others: bool = False,
    n_jobs: int | None = 1,
) -> tuple[np.ndarray, np.ndarray]:
    """(index (n,), squared distance (n,)) of the point nearest to each row of Z (n, d).

    points (p, d) of any kind.

    widths : positive numbers (p,) by which squared distances to the points are divided before comparison.
    others : rows are the points themselves, and the nearest other one is meant; there must be two.
    O(n p d) time; blocks of rows with about two million numbers each.
    """
    n, d = Z.shape
    p = points.shape[0]
    if p * d <= FEW and widths is None and not others and not sp.issparse(points) and not sp.issparse(Z):
        return _nearest_of_few(Z, points, n_jobs)
    middle = None if sp.issparse(points) or sp.issparse(Z) else np.asarray(points, np.float64).mean(axis=0)
    P = _shifted(points, middle)
    lengths = _squares(P)
    index, squares = np.empty(n, np.int64), np.empty(n)

    def block(a: int, b: int) -> None:
        own = _shifted(Z[a:b], middle)
        products = own @ P.T
        D = lengths - 2.0 * (products.toarray() if sp.issparse(products) else np.asarray(products))
        if others:
            D[np.arange(b - a), np.arange(a, b)] = np.inf
        own_lengths = _squares(own)[:, None]
        doubt = _DOUBT * (own_lengths + lengths)
        D += own_lengths
        if widths is not None:
            D, doubt = D / widths, doubt / widths
        bound = (D + doubt).min(axis=1, keepdims=True)
        rows, columns = np.nonzero(~(bound < D - doubt))  # of a row with NaN, all
        exact = np.empty(rows.size)
        step = max(1, _NUMBERS // max(1, d))
        for s in range(0, rows.size, step):
            r, c = rows[s : s + step], columns[s : s + step]
            difference = _dense(Z[a:b][r]) - _dense(points[c])
            exact[s : s + step] = np.square(difference).sum(axis=1)
        compared = exact if widths is None else exact / widths[columns]
        order = np.lexsort((columns, compared, rows))
        first = order[np.searchsorted(rows[order], np.arange(b - a))]
        index[a:b], squares[a:b] = columns[first], exact[first]

    with one_blas_thread():
        map_blocks(block, n, size=max(16, min(4096, _NUMBERS // max(1, p, d))), n_jobs=n_jobs)
    return index, squares


def _nearest_of_few(Z: Any, points: Any, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
    """:func:`nearest_points` of dense rows and few dense points."""
    if Z.shape[1] != points.shape[1] or not len(points):  # the compiled loop reads as far as the points do
        raise ValueError(f"rows of {Z.shape[1]} numbers, and {len(points)} points of {points.shape[1]}")
    Z = np.ascontiguousarray(Z, None if Z.dtype in (np.float32, np.float64) else np.float64)
    by_columns = np.ascontiguousarray(np.asarray(points, np.float64).T)
    index, squares = np.empty(len(Z), np.int64), np.empty(len(Z))
    with one_blas_thread():
        map_blocks(
            lambda a, b: _compare(Z, by_columns, index, squares, a, b), len(Z), size=_ROWS, n_jobs=n_jobs
        )
    return index, squares


@kernel
def _compare(Z, by_columns, index, squares, start, stop):
    """The nearest point of rows start to stop, and its squared distance; points (d, p) by columns."""
    d, p = by_columns.shape
    sums = np.empty(p)
    for i in range(start, stop):
        for q in range(p):
            sums[q] = 0.0
        for j in range(d):
            z = np.float64(Z[i, j])
            for q in range(p):
                difference = z - by_columns[j, q]
                sums[q] += difference * difference
        best = 0
        for q in range(1, p):
            if sums[q] < sums[best]:
                best = q
        index[i], squares[i] = best, sums[best]


def own_squares(Z: Any, points: np.ndarray, index: np.ndarray, *, n_jobs: int | None = 1) -> np.ndarray:
    """(n,) square distance of each row of Z from the point of that index."""
    out = np.empty(Z.shape[0])

    def block(a: int, b: int) -> None:
        out[a:b] = np.square(_dense(Z[a:b]) - _dense(points[index[a:b]])).sum(axis=1)

    map_blocks(block, Z.shape[0], size=max(1, _NUMBERS // max(1, Z.shape[1])), n_jobs=n_jobs)
    return out


def _shifted(Z: Any, middle: np.ndarray | None) -> Any:
    Z = Z.astype(np.float64)
    return Z if middle is None else Z - middle


def _dense(Z: Any) -> np.ndarray:
    return np.asarray(Z.toarray() if sp.issparse(Z) else Z, np.float64)


def _squares(Z: Any) -> np.ndarray:
    """(n,) squared lengths of rows."""
    if sp.issparse(Z):
        return np.asarray(Z.multiply(Z).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", Z, Z)
