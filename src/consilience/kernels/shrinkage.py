"""Shrinkage of singular values: the proximal step of low-rank models.

    U max(Sigma - t, 0) V'  of  X = U Sigma V'   minimises  t |J|_* + 1/2 |J - X|^2                         (1)

(Entries and columns are shrunk in the passes of :mod:`.representation`.) (1) needs only the singular values above t. For small matrices one dense decomposition is quickest; for large
ones they are found by block iteration from the vectors of the last, similar matrix. What that answer is worth
is known, not hoped: (1) is 1-Lipschitz in X, so the error is at most the residual |X V - U Sigma| of the kept
vectors, which is computed, provided that what was left out is below t; and that is decided by a Cholesky
factorisation of (t^2 I - R'R), R = X - X V V', which exists exactly if it is (:func:`remainder_is_below`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import svd

from .orthonormal import orthonormal_factors
from .parallel import row_product

_DENSE_UP_TO = 200  # measured in benchmarks/bench_rsec.py: below, one dense decomposition beats the iteration
_GUARD = 8  # vectors carried beyond those kept: they converge to what comes next, and show it crossing t
_SLACK = 1e-3  # relative slack of the certificate, above the rounding of single precision


class LowRank(NamedTuple):
    """left @ diag(values) @ right.T, values falling, with what the next, similar problem starts from."""

    left: np.ndarray  # (a, r) orthonormal columns
    values: np.ndarray  # (r,) positive
    right: np.ndarray  # (b, r) orthonormal columns
    block: np.ndarray  # (b, r + guard)
    error: float  # bound on the Frobenius distance from the exact answer, if the remainder is below t
    iterations: int  # products with X and X'; 0 for a dense decomposition

    @property
    def rank(self) -> int:
        return self.values.size

    def dense(self) -> np.ndarray:
        return (self.left * self.values) @ self.right.T


def shrink_singular_values(
    X: np.ndarray,
    threshold: float,
    *,
    weights: np.ndarray | None = None,
    start: np.ndarray | None = None,
    tol: float = 1e-4,
    max_iter: int = 30,
    n_jobs: int | None = None,
) -> LowRank:
    """Eq. (1), or its weighted form: value i falls by ``threshold * weights[i]``, by ``threshold`` beyond the last weight.

    X (a, b) float64. weights: rising, at most 1 (larger values shrink less), so that the answer keeps the order
    of the values and is the minimiser of the weighted norm. start (b, any): vectors of a similar problem. tol bounds
    the error relative to the threshold.

    Cost: dense O(a b min(a, b)); else a few products with blocks of rank + 8 columns.
    """
    weights = np.zeros(0) if weights is None else weights
    small = min(X.shape)
    if small <= _DENSE_UP_TO:
        return _dense(X, threshold, weights)
    V = _start_block(start, X.shape[1], max(_GUARD, weights.size + _GUARD))
    found = error = None
    for iteration in range(1, max_iter + 1):
        Y = row_product(X, V, n_jobs=n_jobs)
        if found is not None:  # V holds the right vectors of the last round: Y tells how good they were
            left, values, kept = found
            error = float(np.linalg.norm(Y[:, :kept] - left[:, :kept] * values[:kept]))
            crowded = kept + _GUARD // 2 > V.shape[1]
            # Guard vectors are still turning towards what comes next in the first rounds, so one round is never enough.
            if not crowded and error <= tol * threshold:
                return _shrunk(left, values, V, threshold, weights, error, iteration)
            if crowded:
                extra = _random(X.shape[1], V.shape[1])
                V = np.hstack([V, extra])
                if 4 * V.shape[1] > small:
                    return _dense(X, threshold, weights)
                Y = np.hstack([Y, row_product(X, extra, n_jobs=n_jobs)])
        Q = orthonormal_factors(Y)[0]
        V, R = orthonormal_factors(row_product(X.T, Q, n_jobs=n_jobs))
        P, values, Wt = svd(R.T, full_matrices=False, check_finite=False)  # X ~ Q R' V' = (Q P) values (V W)'
        V = V @ Wt.T
        found = Q @ P, values, _count(values, threshold, weights)
    assert found is not None
    left, values, kept = found
    error = float(np.linalg.norm(row_product(X, V[:, :kept], n_jobs=n_jobs) - left[:, :kept] * values[:kept]))
    return _shrunk(left, values, V, threshold, weights, error, max_iter)


def remainder_is_below(X: np.ndarray, right: np.ndarray, threshold: float) -> bool:
    """Whether every singular value of X outside span(right) is at most 1.001 ``threshold``: a proof, by Cholesky.

    Single precision suffices: X is deflated and scaled in double, and the slack is far above what is then rounded.
    O(a b^2) for the Gram matrix of the smaller side and a third of b^3 for the factorisation.
    """
    R = X - (X @ right) @ right.T
    R /= threshold
    R = R.astype(np.float32)
    gram = R.T @ R if R.shape[1] <= R.shape[0] else R @ R.T
    np.negative(gram, out=gram)
    gram.flat[:: gram.shape[0] + 1] += np.float32((1.0 + _SLACK) ** 2)
    try:
        np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        return False
    return True


def _count(values: np.ndarray, threshold: float, weights: np.ndarray) -> int:
    return int((values > threshold * _padded(weights, values.size)).sum())


def _padded(weights: np.ndarray, size: int) -> np.ndarray:
    padded = np.ones(size)
    k = min(size, weights.size)
    padded[:k] = weights[:k]
    return padded


def _shrunk(left, values, right, threshold, weights, error, iterations) -> LowRank:
    less = values - threshold * _padded(weights, values.size)
    kept = int((less > 0).sum())  # a leading run: values fall and thresholds rise
    block = right[:, : kept + _GUARD]
    return LowRank(
        left[:, :kept], less[:kept], right[:, :kept], np.ascontiguousarray(block), error, iterations
    )


def _dense(X: np.ndarray, threshold: float, weights: np.ndarray) -> LowRank:
    left, values, right = svd(X, full_matrices=False, check_finite=False)
    return _shrunk(left, values, right.T, threshold, weights, 0.0, 0)


def _start_block(start: np.ndarray | None, size: int, columns: int) -> np.ndarray:
    if start is None or start.shape[1] == 0:
        return _random(size, columns)
    missing = columns - start.shape[1]
    return np.hstack([start, _random(size, missing)]) if missing > 0 else start


def _random(size: int, columns: int) -> np.ndarray:
    """Fixed random directions: the same problem always gives the same answer."""
    return np.random.default_rng(columns).standard_normal((size, columns)) / np.sqrt(size)
