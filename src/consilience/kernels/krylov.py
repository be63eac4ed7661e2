"""The largest eigenvectors of a symmetric operator, by block Lanczos with thick restarts.

    A V = V H + Q R e',     V' V = I,  V' Q = 0                                                     (1)

V (n, s) grows by blocks: the last block is multiplied by A and made orthogonal to V, which gives the next one.
The Ritz pairs of H (s, s) are the answers once R times the last rows of their vectors is small; otherwise the best
of them replace V and growth goes on. Several vectors at a time turn orthogonalisation, the dearest part, into
matrix products, and find eigenvalues that come in twos and threes. Unlike ARPACK it frees the interpreter
lock, so that solves run side by side on threads.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import splu

from ._jit import kernel

DENSE_UP_TO = 200  # below, one dense decomposition is quicker (benchmarks/bench_mdec.py)
#: Rows up to which factors of a neighbour graph are the first choice, are with few neighbours, and are a last resort.
FACTORS_UP_TO = (1500, 8000, 20_000)


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

    product(X) = A X for X (n, b) in C order; known (n, z): orthonormal eigenvectors to leave out (not returned).
    dense(): A itself, used for small n, for large count / n and if the iteration does not converge.
    tol bounds |A x - theta x| for every pair, relative to its |theta| (or a hundredth of the largest, if that is more).
    The start is fixed: the same operator always gives the same vectors.

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
    """The ``count`` largest eigenpairs of N = D^-1/2 W D^-1/2 in the complement of ``known``, its eigenvectors at 1.

    Loosely knit graphs have many eigenvalues close to 1, which take (1) many steps. For some thousands of objects the
    factors of (I - N), shifted, are cheap and their inverse spreads these eigenvalues out; beyond, factors fill in
    and polynomials of N do (measured: benchmarks/bench_mdec.py).
    """
    n = N.shape[0]

    def product(X: np.ndarray) -> np.ndarray:
        return csr_times_block(N.indptr, N.indices, N.data, X)

    if n <= DENSE_UP_TO or 3 * count >= n:
        return _dense(N.toarray(), count, known)
    if n <= FACTORS_UP_TO[0] or (n <= FACTORS_UP_TO[1] and N.nnz <= 12 * n):
        return _inverted(N, count, known, tol, max_products)
    found = _filtered(product, n, count, known, tol, max_products)
    if not found.converged and n <= FACTORS_UP_TO[2]:
        return _inverted(N, count, known, tol, max_products)
    return found


def _filtered(product, n, count, known, tol, max_products) -> Leading:
    """Largest eigenpairs of an operator with spectrum in [-1, 1], by (1) on a Chebyshev polynomial of it.

    T_p, stretched over [-1, cut], is at most 1 there and grows steeply above: one step does the work of p products
    and one orthogonalisation, where the latter cost more. cut comes from a first, short run: Ritz values are below
    the eigenvalues they stand for. Where that was too short for a spectrum bunched at 1, cut is moved up once.
    """
    room = min(n // 2, 2 * count + 24)
    found = _restarted(product, n, count, known, tol, 4, room, 0)
    used = found.products
    for steepest in (40, 160):
        if found.converged:
            break
        cut = float(np.clip(found.values[-1], -0.9, 1 - 1e-6))
        degree = int(np.clip(np.ceil(3.0 / np.sqrt(2.0 * (1.0 - cut))), 3, steepest))
        centre, half = (cut - 1.0) / 2, (cut + 1.0) / 2

        def polynomial(X: np.ndarray, degree=degree, centre=centre, half=half) -> np.ndarray:
            before, now = X, (product(X) - centre * X) / half
            for _ in range(degree - 1):
                before, now = now, (product(now) - centre * now) * (2.0 / half) - before
            return now

        found = _restarted(polynomial, n, count, known, tol, 4, room, max_products // (2 * degree))
        used += degree * found.products
        values = np.einsum("ij,ij->j", found.vectors, product(np.ascontiguousarray(found.vectors)))
        found = found._replace(values=values)
    return found._replace(products=used)


def _inverted(N: sp.csr_array, count: int, known: np.ndarray, tol: float, max_products: int) -> Leading:
    """Largest eigenpairs of N from those of (sigma I - N)^-1, sigma just above its spectrum."""
    n, sigma = N.shape[0], 1.0 + 1e-4
    shifted = (sigma * sp.eye_array(n) - N).tocsc()
    # Positive definite: no pivoting is needed, and an order for symmetric matrices keeps the factors thin.
    factor = splu(shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    found = leading_eigenvectors(factor.solve, n, count, known=known, tol=tol, max_products=max_products)
    return found._replace(values=sigma - 1.0 / found.values)


def _dense(A: np.ndarray, count: int, known: np.ndarray | None) -> Leading:
    n = A.shape[0]
    if known is not None and known.shape[1]:
        shift = 2 * np.abs(A).sum(axis=1).max() + 1  # beyond the spectrum: known ones come last
        A = A - shift * (known @ known.T)
    values, vectors = eigh(A, subset_by_index=(n - count, n - 1), check_finite=False)
    return Leading(values[::-1], vectors[:, ::-1], 0, True)


def _restarted(product, n, count, known, tol, block, room, max_products) -> Leading:
    rng = np.random.default_rng(0)
    V = np.empty((n, room + block), order="F")
    H = np.zeros((room + block, room + block))
    Q = _fresh(rng, n, block, known, V[:, :0])
    size = products = 0
    scale = 0.0
    while True:
        b = Q.shape[1]
        new = slice(size, size + b)
        V[:, new] = Q
        W = product(np.ascontiguousarray(Q))
        products += 1
        basis = V[:, : size + b]
        h = _remove(W, basis, known)
        H[: size + b, new] = h
        H[new, : size + b] = h.T
        size += b
        Q, R = np.linalg.qr(W)
        scale = max(scale, float(np.abs(h).max()))
        lost = np.abs(np.diag(R)) <= 1e-12 * max(scale, np.finfo(float).tiny)
        if lost.any():  # an invariant subspace is complete: go on in a new direction
            Q = Q[:, ~lost]
            R = R[~lost]
        width = min(b, n - size - (0 if known is None else known.shape[1]))
        if size + b > room or width <= 0:
            values, Y = np.linalg.eigh(H[:size, :size])
            values, Y = values[::-1], Y[:, ::-1]
            missing = np.linalg.norm(R @ Y[size - b : size, :count], axis=0)
            scale = max(scale, float(np.abs(values).max()))
            converged = bool((missing <= tol * np.maximum(np.abs(values[:count]), 0.01 * scale)).all())
            if converged or width <= 0 or products >= max_products:
                return Leading(values[:count], V[:, :size] @ Y[:, :count], products, converged or width <= 0)
            kept = min(count + (room - count) // 2, size - b)
            V[:, :kept] = V[:, :size] @ Y[:, :kept]
            H[:] = 0
            H[np.arange(kept), np.arange(kept)] = values[:kept]
            size = kept
        if lost.any():
            held = V[:, :size]
            Q = np.hstack([Q, _fresh(rng, n, b - Q.shape[1], known, np.hstack([held, Q]))])
        Q = Q[:, :width]


def _remove(W: np.ndarray, basis: np.ndarray, known: np.ndarray | None) -> np.ndarray:
    """Make W orthogonal to basis (and known), in place; returns basis' W. Twice is enough (Kahan)."""
    h = np.zeros((basis.shape[1], W.shape[1]))
    for _ in range(2):
        if known is not None and known.shape[1]:
            W -= known @ (known.T @ W)
        part = basis.T @ W
        W -= basis @ part
        h += part
    return h


def _fresh(rng, n, width, known, basis) -> np.ndarray:
    """Random orthonormal directions outside of basis and known."""
    W = rng.standard_normal((n, width))
    _remove(W, basis, known)
    Q = np.linalg.qr(W)[0]
    _remove(Q, basis, known)
    return np.linalg.qr(Q)[0]


@kernel
def csr_times_block(indptr, indices, data, X):
    """A X for A (n, n) in CSR and X (n, b) in C order. Blocks of four, the usual ones, keep their sums in registers."""
    n, b = indptr.size - 1, X.shape[1]
    out = np.zeros((n, b))
    if b == 4:
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
            out[i, 0], out[i, 1], out[i, 2], out[i, 3] = s0, s1, s2, s3
        return out
    for i in range(n):
        row = out[i]
        for p in range(indptr[i], indptr[i + 1]):
            value = data[p]
            other = X[indices[p]]
            for j in range(b):
                row[j] += value * other[j]
    return out
