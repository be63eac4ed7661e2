"""The smallest eigenvectors of a graph Laplacian, started from what is known.

    M = diag(degrees) - K,    M x = lambda x,    the ``count`` smallest lambda               (1)

The null space of a Laplacian is known without solving anything: one vector per connected component. What is
left is found in its complement, by a dense solver for small matrices and otherwise by a locally optimal block
iteration (LOBPCG) with the degrees as preconditioner, which starts from the vectors of the last, similar
matrix: a few products with K instead of a factorization.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .dense import eigenpairs
from .orthonormal import negligible, orthonormal_basis

# Vectors carried beyond those asked for: the iteration converges at the rate of the gap behind them.
_GUARD = 4
_DENSE_UP_TO = 300  # measured in benchmarks/bench_spce.py: below, one dense solve beats any iteration


class Spectrum(NamedTuple):
    """Eigenpairs of (1), by rising eigenvalue."""

    values: np.ndarray  # (count,)
    vectors: np.ndarray  # (u, count) orthonormal
    block: np.ndarray  # (u, count + guard) what to start the next, similar problem from
    iterations: int  # products with K; 0 for a dense solve or a known null space
    converged: bool


def component_vectors(labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(u, components) orthonormal null vectors of N^1/2 (D - S) N^1/2.

    On each component they are sqrt(weights), scaled.
    """
    k = int(labels.max()) + 1
    totals = np.bincount(labels, weights=weights, minlength=k)
    vectors = np.zeros((labels.size, k))
    vectors[np.arange(labels.size), labels] = np.sqrt(weights / totals[labels])
    return vectors


def smallest_eigenvectors(
    degrees: np.ndarray,
    product: Callable[[np.ndarray], np.ndarray],
    count: int,
    *,
    null: np.ndarray | None = None,
    start: np.ndarray | None = None,
    dense: Callable[[], np.ndarray] | None = None,
    tol: float = 1e-6,
    max_iter: int = 60,
    dtype: type = np.float64,
) -> Spectrum:
    """The ``count`` smallest eigenpairs of (1).

    degrees (u,), product(X) = K X for X (u, b). null (u, z): orthonormal vectors known to have eigenvalue 0;
    they are the first answers. start (u, b): vectors of a similar problem, any number. dense(): the matrix M
    itself, used where a dense solver is the faster one, or when the iteration does not converge.
    tol bounds the residual |M x - lambda x|, relative to the mean degree, of every vector asked for. dtype:
    of the vectors while they are iterated; np.float32 takes half the time and serves a tol of 1e-5 or more.
    ``product`` is given and returns that.

    Cost: dense O(u^3); else a handful of products with blocks of ``count + 4`` columns, and O(u count^2).
    """
    u = degrees.size
    null = np.zeros((u, 0)) if null is None else null
    known = min(null.shape[1], count)
    if known == count:
        return Spectrum(np.zeros(count), null[:, :count], null, 0, True)
    wanted = count - null.shape[1]
    if dense is not None and (u <= _DENSE_UP_TO or 5 * (wanted + _GUARD) >= u):
        return dense_eigenvectors(dense(), count)
    found = _block_iteration(degrees, product, wanted, null, start, tol, max_iter, dtype)
    if not found.converged and dense is not None and u <= 4 * _DENSE_UP_TO:
        return dense_eigenvectors(dense(), count)
    return found


def dense_eigenvectors(M: np.ndarray, count: int) -> Spectrum:
    """The ``count`` smallest eigenpairs of a symmetric M; its upper triangle is read (and overwritten)."""
    values, vectors = eigenpairs(M, count, overwrite=True)
    return Spectrum(values, vectors, vectors, 0, True)


def _block_iteration(degrees, product, wanted, null, start, tol, max_iter, dtype) -> Spectrum:
    """LOBPCG in the complement of ``null``.

    The basis [X, R, P] is orthonormalized by its Gram matrix, which drops directions that have become
    dependent instead of failing on them.
    """
    u, b = degrees.size, wanted + _GUARD
    scale = float(degrees.mean()) or 1.0
    inverse = (1.0 / np.maximum(degrees, 1e-3 * scale)).astype(dtype)
    known, null, degrees = null, null.astype(dtype), degrees.astype(dtype)
    X = orthonormal_basis(_start_block(start, u, b, null))
    AX = degrees[:, None] * X - product(X)
    values, Y = np.linalg.eigh(X.T @ AX)
    X, AX = X @ Y[:, :b], AX @ Y[:, :b]
    values = values[:b]
    P = AP = np.zeros((u, 0), dtype)
    used, converged = 1, False
    for _ in range(max_iter):
        R = AX - X * values
        residual = np.sqrt(np.einsum("ij,ij->j", R, R))
        if converged := bool((residual[:wanted] <= tol * scale).all()):
            break
        active = residual > 0.1 * tol * scale
        # The shift keeps the preconditioner from dividing by degree - lambda = 0 and still favors light
        # nodes.
        T = orthonormal_basis(_complement(np.hstack([null, X]), inverse[:, None] * R[:, active]))
        AT = degrees[:, None] * T - product(T)
        used += 1
        Z, AZ = np.hstack([X, T, P]), np.hstack([AX, AT, AP])
        basis, H = _reduced(Z.T @ Z, Z.T @ AZ)
        values, Y = np.linalg.eigh(H)
        k = min(b, values.size)
        values, Y = values[:k], basis @ Y[:, :k]
        tail = Y[X.shape[1] :]  # the part of the new X that is not in the old one: the next direction P
        P, AP = Z[:, X.shape[1] :] @ tail, AZ[:, X.shape[1] :] @ tail
        X, AX = Z @ Y, AZ @ Y
    block = np.hstack([known, X])
    all_values = np.concatenate([np.zeros(known.shape[1]), values[:wanted].astype(float)])
    return Spectrum(all_values, block[:, : known.shape[1] + wanted], block, used, converged)


def _start_block(start, u, b, null) -> np.ndarray:
    """At least b independent columns in the complement of ``null``: ``start``, then fixed random ones."""
    fixed = np.random.default_rng(0)  # explicit: the same problem always gives the same vectors
    dtype = null.dtype
    X = np.zeros((u, 0), dtype) if start is None else _complement(null, start.astype(dtype, copy=False))
    if X.shape[1] < b:
        fresh = fixed.standard_normal((u, b - X.shape[1] + 2)).astype(dtype, copy=False)
        X = np.hstack([X, _complement(null, fresh)])
    return X


def _complement(basis: np.ndarray, X: np.ndarray) -> np.ndarray:
    """X without its part in an orthonormal basis, columns scaled to 1; columns in the basis are dropped."""
    X = X / np.maximum(np.sqrt(np.einsum("ij,ij->j", X, X)), np.finfo(X.dtype).tiny)
    for floor in (
        negligible(X.dtype, 1e-10),
        0.5,
    ):  # twice: what is left of a column may be mostly rounding of what was taken off
        X = X - basis @ (basis.T @ X)
        norms = np.sqrt(np.einsum("ij,ij->j", X, X))
        X = X[:, norms > floor] / norms[norms > floor]
    return X


def _reduced(G: np.ndarray, H: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(B, B' H B) with B' G B = I, leaving out directions of (almost) no length."""
    lengths = np.sqrt(np.maximum(np.diag(G), np.finfo(G.dtype).tiny))
    values, Y = np.linalg.eigh(G / np.outer(lengths, lengths))
    keep = values > negligible(G.dtype, 1e-11) * values[-1]
    basis = (Y[:, keep] / np.sqrt(values[keep])) / lengths[:, None]
    H = basis.T @ H @ basis
    return basis, (H + H.T) / 2
