"""Orthonormal columns, in the three ways that solvers need them.

They differ in what becomes of dependent columns.

    W = Q' R,   Q Q' = I                                                                            (1)

:func:`orthonormal` leaves zeros for them, column by column in one compiled pass, since block Lanczos must
know which were lost. :func:`orthonormal_basis` spans the same space with fewer columns, in any rotation.
:func:`orthonormal_factors` keeps their number, with new directions: the guard vectors of a block. The last
two are matrix products.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import qr, solve_triangular

from ..compile.arrays import zero_array
from ..compile.jit import kernel
from ..compile.vectors import dot

#: Length that every column keeps beside the earlier ones, from which rounding grows by no more than a digit.
_NEARLY_ORTHOGONAL = 0.5
_ROUNDING = 1e-13  # of inner products between columns that are orthonormal


@kernel
def orthonormal(W, negligible):
    """(Q (b, n) with orthonormal rows, R (b, b)) of Eq. (1), by Gram and Schmidt, twice.

    A column of which no more than ``negligible`` is new beside the earlier ones has zeros in Q and in R's
    diagonal.
    """
    n, b = W.shape
    Q = W.T.copy()
    R = zero_array((b, b), np.float64)
    for j in range(b):
        for _ in range(2):
            for i in range(j):
                h = dot(Q[i], Q[j])
                R[i, j] += h
                for t in range(n):
                    Q[j, t] -= h * Q[i, t]
        length = np.sqrt(dot(Q[j], Q[j]))
        lost = length <= negligible
        R[j, j] = 0.0 if lost else length
        for t in range(n):
            Q[j, t] = 0.0 if lost else Q[j, t] / length
    return Q, R


def orthonormal_basis(X: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the columns, twice through the Gram matrix; dependent directions are dropped."""
    for _ in range(2):
        norms = np.sqrt(np.einsum("ij,ij->j", X, X))
        X = X[:, norms > 0] / norms[norms > 0]
        values, Y = np.linalg.eigh(X.T @ X)
        keep = values > negligible(X.dtype, 1e-12) * values[-1]
        X = X @ (Y[:, keep] / np.sqrt(values[keep]))
    return X


def negligible(dtype: np.dtype, share: float) -> float:
    """The share below which a part of a vector is rounding: ``share``, or 50 eps of ``dtype`` if more."""
    return max(share, 50.0 * float(np.finfo(dtype).eps))


def orthonormal_factors(Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Y = Q R with orthonormal columns of Q (n, b), by Cholesky of the Gram matrix of scaled columns.

    It is done twice where columns are far from orthogonal.

    Columns that come from singular vectors are nearly orthogonal once scaled, so this is as accurate as
    Householder's way, which takes over where columns depend on each other.
    """
    Q, R = Y, np.eye(Y.shape[1])
    try:
        for _ in range(2):
            norms = np.sqrt(np.einsum("ij,ij->j", Q, Q))
            if not norms.all():
                raise np.linalg.LinAlgError
            Q = Q / norms
            gram = Q.T @ Q
            if np.abs(gram - np.eye(len(gram))).max() <= _ROUNDING:  # a start is, mostly: nothing to make
                return Q, norms[:, None] * R
            L = np.linalg.cholesky(gram)
            if L.diagonal().min() < 1e-6:
                raise np.linalg.LinAlgError
            Q = Q @ solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False).T
            R = L.T @ (norms[:, None] * R)
            if L.diagonal().min() > _NEARLY_ORTHOGONAL:
                break
    except np.linalg.LinAlgError:
        return qr(Y, mode="economic", check_finite=False)
    return Q, R
