"""The largest eigenvectors of a symmetric operator, by block Lanczos with thick restarts.

    A V = V H + Q R e',     V' V = I,  V' Q = 0                                                     (1)

V (n, s) grows by blocks: the last block is multiplied by A and made orthogonal to V, which gives the next
one. The Ritz pairs of H (s, s) are the answers once R times the last rows of their vectors is small;
otherwise the best of them replace V and growth goes on. Several vectors at a time turn orthogonalization, the
most expensive part, into matrix products, and find eigenvalues that come in twos and threes. Unlike ARPACK it
frees the interpreter lock, so that solves run side by side on threads.

In the code a row of ``basis`` is a column of V: vectors lie one after the other in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from ..compile.csr import Entries
from ..compile.jit import fast_kernel, kernel
from .dense import eigenpairs
from .orthonormal import orthonormal

DENSE_UP_TO = 200  # below, one dense decomposition is quicker (benchmarks/bench_mdec.py)
#: Rows up to which a neighbor graph is factored: at once; at once if it has few edges; when polynomials take
#: more than a while; when they fail.
FACTORS_UP_TO = (1000, 4000, 8000, 20_000)
#: Polynomials of a graph: vectors at a time, degree times sqrt(2 (1 - cut)) and its ends, and how much
#: farther from 1 than the last wanted eigenvalue they are cut. Eight vectors read the basis half as often as
#: four; higher degrees save restarts.
_WIDTH, _STEEP, _DEGREES, _BELOW = 8, 6.0, (8, 160), 1.15

_TIED = 1e-11  # share of the largest eigenvalue below which two are one; rounding is a hundredth of it


class Leading(NamedTuple):
    """Eigenpairs by falling eigenvalue."""

    values: np.ndarray  # (count,)
    vectors: np.ndarray  # (n, count) orthonormal
    products: int  # of the operator with a block
    converged: bool


def leading_eigenvectors(
    product: Callable[[np.ndarray], np.ndarray],
    n: int,
    count: int,
    *,
    known: np.ndarray | None = None,
    dense: Callable[[], np.ndarray] | None = None,
    tol: float = 1e-6,
    block: int = 4,
    max_products: int = 3000,
) -> Leading:
    """The ``count`` largest eigenpairs of A in the complement of ``known``.

    product(X) = A X for X (n, b) in C order; known (n, z): orthonormal eigenvectors to leave out (not
    returned). dense(): A itself, used for small n, for large count / n and if the iteration does not
    converge. tol bounds |A x - theta x| for every pair, relative to its |theta| (or a hundredth of the
    largest, if that is more). The start is fixed: the same operator always gives the same vectors.

    Cost: O(n (count + b)) for each vector of the basis beside the products; memory 8 n (2 count + 40) bytes.
    """
    free = n - (0 if known is None else known.shape[1])
    assert 0 < count <= free
    # Room beyond the wanted vectors: restarts then cost less than the growth between them.
    room = min(free, 2 * count + max(5 * block, 24))
    if dense is not None and (n <= DENSE_UP_TO or room >= 0.6 * n):
        return _dense(dense(), count, known)
    found = _restarted(product, n, count, known, tol, min(block, free), room, max_products)
    if not found.converged and dense is not None and n <= 4000:
        return _dense(dense(), count, known)
    return found


def graph_eigenvectors(
    N: sp.csr_array, count: int, *, known: np.ndarray, tol: float = 1e-5, max_products: int = 3000
) -> Leading:
    """The ``count`` largest eigenpairs of N = D^-1/2 W D^-1/2 in the complement of ``known``.

    ``known`` holds its eigenvectors at 1.

    Polynomials of N find most of them quickest. Loosely knit graphs have many eigenvalues close to 1, which
    take many steps: up to some thousands of objects the factors of (I - N), shifted, are cheap and their
    inverse spreads these eigenvalues out (measured: benchmarks/bench_mdec.py). Which kind a graph is shows on
    the way only, unless it has few edges.
    """
    n = N.shape[0]
    at_once, sparse_at_once, after_a_while, last_resort = FACTORS_UP_TO
    if n <= DENSE_UP_TO or 3 * count >= n:
        return _dense(N.toarray(), count, known)
    if n <= at_once or (n <= sparse_at_once and N.nnz <= 12 * n):
        return _inverted(N, count, known, tol, max_products)
    # Factors cost as much as about n / 1000 restarts.
    patience = n / 1000 if n <= after_a_while else np.inf
    found = _filtered(N, count, known, tol, max_products, patience)
    if not found.converged and n <= last_resort:
        return _inverted(N, count, known, tol, max_products)
    return found


def _filtered(
    N: sp.csr_array, count: int, known: np.ndarray, tol: float, max_products: int, patience: float
) -> Leading:
    """Largest eigenpairs of N, spectrum in [-1, 1], by (1) on a Chebyshev polynomial of it.

    T_p, stretched over [-1, cut], is at most 1 there and grows steeply above: one step does the work of p
    products and one orthogonalization, where the latter cost more. cut must not lie above a wanted
    eigenvalue, and should not lie far below the last one: the smallest Ritz value of what a run found is
    never above it, and the next run cuts somewhat below that, until one converges. ``patience``: give up
    after so many times the steps that fill the basis.
    """
    n = N.shape[0]
    room = min(n // 2, 2 * count + max(24, 3 * _WIDTH))
    fills, most = (1.0, patience) if np.isfinite(patience) else (3.0, np.inf)
    cut, degree, steps, used, filled = 0.5, 4, 0.0, 0, 0.0
    while True:
        # [-1, cut] becomes [-1, 1] by (x - center) / half.
        center, half = (cut - 1.0) / 2, (cut + 1.0) / 2

        def polynomial(X: np.ndarray, degree=degree, center=center, half=half) -> np.ndarray:
            return _chebyshev(N, X, degree, center, half)

        found = _restarted(polynomial, n, count, known, tol, _WIDTH, room, steps)
        used += degree * found.products
        filled += found.products * _WIDTH / room
        ritz, Y = np.linalg.eigh(found.vectors.T @ (N @ found.vectors))
        found = Leading(ritz[::-1], found.vectors @ Y[:, ::-1], used, found.converged and ritz[0] >= cut)
        if found.converged or used >= max_products or filled >= most:
            return found
        cut = float(np.clip(1.0 - _BELOW * (1.0 - ritz[0]), -0.9, 1 - 1e-6))
        degree = int(np.clip(np.ceil(_STEEP / np.sqrt(2.0 * (1.0 - cut))), *_DEGREES))
        steps = fills * room / _WIDTH


def _inverted(N: sp.csr_array, count: int, known: np.ndarray, tol: float, max_products: int) -> Leading:
    """Largest eigenpairs of N from those of (sigma I - N)^-1, sigma just above its spectrum."""
    n, sigma = N.shape[0], 1.0 + 1e-4
    shifted = (sigma * sp.eye_array(n) - N).tocsc()
    # Positive definite: no pivoting is needed, and an order for symmetric matrices keeps the factors thin.
    factor = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    found = leading_eigenvectors(factor.solve, n, count, known=known, tol=tol, max_products=max_products)
    return found._replace(values=sigma - 1.0 / found.values)


def _dense(A: np.ndarray, count: int, known: np.ndarray | None) -> Leading:
    if known is not None and known.shape[1]:
        shift = 2 * np.abs(A).sum(axis=1).max() + 1  # beyond the spectrum: known ones come last
        A = A - shift * (known @ known.T)
    n = A.shape[0]
    values, vectors = eigenpairs(A, min(count + 1, n), which="largest")
    near = _TIED * max(np.abs(values[[0, -1]]).max(), np.finfo(float).tiny)
    if values.size > count and values[count - 1] - values[count] <= near:
        values, vectors = eigenpairs(A, which="largest")
        tied = np.flatnonzero(np.abs(values - values[count - 1]) <= near)
        vectors = vectors.copy()
        vectors[:, tied[0] : count] = _some_of(vectors[:, tied], count - tied[0])
    return Leading(values[:count], vectors[:, :count], 0, True)


def _some_of(V: np.ndarray, count: int) -> np.ndarray:
    """(n, count) orthonormal vectors in the span of V (n, more), which depend on that span alone.

    Where eigenvectors share an eigenvalue, LAPACK returns any basis, by the last digit of the matrix: fixed
    directions decide.
    """
    start = np.random.default_rng(0).standard_normal((V.shape[0], count))
    return np.linalg.qr(V @ (V.T @ start))[0]


def _restarted(product, n, count, known, tol, block, room, max_products) -> Leading:
    rng = np.random.default_rng(0)
    left_out = 0 if known is None else known.shape[1]
    rows = np.empty((left_out + room + block, n))
    if known is not None:
        rows[:left_out] = known.T
    basis = rows[left_out:]
    H = np.zeros((room + block, room + block))
    Q = _fresh(rng, block, rows[:left_out])
    size = products = 0
    last = 0  # where the rows begin that matter to the next product
    scale = 0.0
    while True:
        b = len(Q)
        new = slice(size, size + b)
        basis[new] = Q
        W = np.ascontiguousarray(product(np.ascontiguousarray(Q.T)))
        products += 1
        # In exact arithmetic the last two blocks matter (after a restart or a fresh start, all): first these,
        # then all rows, so that what rounding left is removed too.
        h = np.zeros((size + b, b))
        h[last:] = _remove(W, basis[last : size + b])
        h += _remove(W, rows[: left_out + size + b])[left_out:]
        H[: size + b, new] = h
        H[new, : size + b] = h.T
        last, size = size, size + b
        scale = max(scale, float(np.abs(h).max()))
        Q, R = orthonormal(W, 1e-12 * max(scale, np.finfo(float).tiny))
        lost = np.diag(R) == 0
        if lost.any():  # an invariant subspace is complete: go on in a new direction
            Q = Q[~lost]
            R = R[~lost]
        width = min(b, n - size - left_out)
        if size + b > room or width <= 0:
            values, Y = np.linalg.eigh(H[:size, :size])
            values, Y = values[::-1], Y[:, ::-1]
            missing = np.linalg.norm(R @ Y[size - b : size, :count], axis=0)
            scale = max(scale, float(np.abs(values).max()))
            converged = bool((missing <= tol * np.maximum(np.abs(values[:count]), 0.01 * scale)).all())
            if converged or width <= 0 or products >= max_products:
                vectors = (Y[:, :count].T @ basis[:size]).T
                return Leading(values[:count], vectors, products, converged or width <= 0)
            kept = min(count + (room - count) // 2, size - b)
            basis[:kept] = Y[:, :kept].T @ basis[:size]
            H[:] = 0
            H[np.arange(kept), np.arange(kept)] = values[:kept]
            last, size = 0, kept
        if lost.any():
            held = np.vstack([rows[: left_out + size], Q])
            Q = np.vstack([Q, _fresh(rng, b - len(Q), held)])
            last = 0
        Q = Q[:width]


def _remove(W: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Make the columns of W orthogonal to the given orthonormal rows, in place; returns rows W."""
    part = rows @ W
    W -= rows.T @ part
    return part


def _fresh(rng: np.random.Generator, width: int, rows: np.ndarray) -> np.ndarray:
    """(width, n) random orthonormal directions outside of the given rows."""
    W = rng.standard_normal((rows.shape[1], width))
    for _ in range(2):  # twice is enough (Kahan)
        _remove(W, rows)
        Q, _ = orthonormal(W, 0.0)
        W = np.ascontiguousarray(Q.T)
    return Q


def _chebyshev(N: sp.csr_array, X: np.ndarray, degree: int, center: float, half: float) -> np.ndarray:
    """T_degree((N - center I) / half) X."""
    return _chebyshev_of_csr(Entries(N.data, N.indices, N.indptr), X, degree, center, half)


@kernel
def _chebyshev_of_csr(entries, X, degree, center, half):
    before, now, free = X.copy(), np.empty_like(X), np.empty_like(X)
    _recur(entries, before, center, 1.0 / half, before, 0.0, now)
    for _ in range(degree - 1):
        _recur(entries, now, center, 2.0 / half, before, 1.0, free)
        before, now, free = now, free, before
    return now


@fast_kernel(forceinline=True)
def _recur_eight(entries, X, center, alpha, Y, beta, out):
    data, indices, indptr = entries
    s = np.empty(8)
    for i in range(X.shape[0]):
        s[:] = 0.0
        # Unsigned positions for the reason given below; indices are those of a square matrix, as many as X
        # has rows.
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            value, q = data[p], np.uint64(indices[p])
            for j in range(8):
                s[j] += value * X[q, j]
        for j in range(8):
            out[i, j] = alpha * (s[j] - center * X[i, j]) - beta * Y[i, j]


@fast_kernel(forceinline=True)
def _recur(entries, X, center, alpha, Y, beta, out):
    """out = alpha (A - center I) X - beta Y for A in CSR, the others (n, b) in C order.

    Blocks of four and eight, the usual ones, keep their sums in registers.
    """
    data, indices, indptr = entries
    n, b = X.shape
    if b == 8:
        _recur_eight(entries, X, center, alpha, Y, beta, out)
        return
    if b != 4:
        for i in range(n):
            for j in range(b):
                out[i, j] = -alpha * center * X[i, j] - beta * Y[i, j]
            for p in range(indptr[i], indptr[i + 1]):
                value = alpha * data[p]
                for j in range(b):
                    out[i, j] += value * X[indices[p], j]
        return
    flat = X.ravel()  # X is in C order: no copy
    for i in range(n):
        s0 = s1 = s2 = s3 = 0.0
        # Unsigned positions cannot count from the end, and need no test for that: twice as fast.
        for p in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            value = data[p]
            q = np.uint64(indices[p]) * np.uint64(4)
            s0 += value * flat[q]
            s1 += value * flat[q + np.uint64(1)]
            s2 += value * flat[q + np.uint64(2)]
            s3 += value * flat[q + np.uint64(3)]
        out[i, 0] = alpha * (s0 - center * X[i, 0]) - beta * Y[i, 0]
        out[i, 1] = alpha * (s1 - center * X[i, 1]) - beta * Y[i, 1]
        out[i, 2] = alpha * (s2 - center * X[i, 2]) - beta * Y[i, 2]
        out[i, 3] = alpha * (s3 - center * X[i, 3]) - beta * Y[i, 3]
