"""Shrinkage of singular values: the proximal step of low-rank models.

    U max(Sigma - t, 0) V'  of  X = U Sigma V'   minimises  t |J|_* + 1/2 |J - X|^2                         (1)

(Entries and columns are shrunk in the passes of :mod:`.representation`.) (1) needs only the singular values above t. For small
matrices one dense decomposition is quickest; for large ones they are found in a growing basis

    X V = Q B,    X' Q = V B' + F,    V'V = I,  Q'Q = I,  F'V = 0                                           (2)

that begins with the vectors of the last, similar matrix: singular vectors of B (k, k) give those of X, and F what is missing from
them, without a further product. The basis grows by the directions of F that matter to values above t, until
what is missing is small: block Lanczos, but with a good start, and few columns a round.

What that answer is worth is known, not hoped: (1) is 1-Lipschitz in X, so the error is at most |F P| for the left vectors
P that are kept, provided that what was left out is below t; and that is decided by a Cholesky factorisation of
(t^2 I - R'R), R = X - X V V', which exists exactly if it is (:func:`remainder_is_below`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, svd

from .orthonormal import orthonormal_factors
from .parallel import map_blocks, row_product

_DENSE_UP_TO = 200  # measured in benchmarks/bench_rsec.py: below, one dense decomposition beats the iteration
_GUARD = 8  # vectors carried beyond those kept: they converge to what comes next, and show it crossing t
_GUARD_SHARE = 0.05  # how much of what is missing from guard vectors counts when the basis grows
_LEFT_OUT = 0.5  # share of the allowed error that directions left out of a round may have together
_MOST = 4  # vectors of the basis, for each one wanted, from which it is cut back to the wanted ones
_ROWS = 256  # of a block
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


class Deflated(NamedTuple):
    """X = low + rest, rest in single precision: what X is beyond an earlier answer, so that rounding is small beside t."""

    low: LowRank
    rest: np.ndarray  # (a, b) float32

    @property
    def shape(self) -> tuple[int, int]:
        return self.rest.shape

    def dense(self) -> np.ndarray:
        return self.rows(0, len(self.rest))

    def rows(self, a: int, b: int) -> np.ndarray:
        return (self.low.left[a:b] * self.low.values) @ self.low.right.T + self.rest[a:b]

    def times(self, V: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        rest = row_product(self.rest, V.astype(np.float32), n_jobs=n_jobs)
        return (self.low.left * self.low.values) @ (self.low.right.T @ V) + rest

    def transposed_times(self, Q: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        rest = row_product(self.rest.T, Q.astype(np.float32), n_jobs=n_jobs)
        return (self.low.right * self.low.values) @ (self.low.left.T @ Q) + rest


class _Whole(NamedTuple):
    """X as it is."""

    matrix: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    def dense(self) -> np.ndarray:
        return self.matrix

    def rows(self, a: int, b: int) -> np.ndarray:
        return self.matrix[a:b]

    def times(self, V: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        return row_product(self.matrix, V, n_jobs=n_jobs)

    def transposed_times(self, Q: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        return row_product(self.matrix.T, Q, n_jobs=n_jobs)


def shrink_singular_values(
    X: np.ndarray | Deflated,
    threshold: float,
    *,
    weights: np.ndarray | None = None,
    start: np.ndarray | None = None,
    tol: float = 3e-5,
    max_iter: int = 30,
    n_jobs: int | None = None,
) -> LowRank:
    """Eq. (1), or its weighted form: value i falls by ``threshold * weights[i]``, by ``threshold`` beyond the last weight.

    X (a, b) float64. weights: rising, at most 1 (larger values shrink less), so that the answer keeps the order
    of the values and is the minimiser of the weighted norm. start (b, any): vectors of a similar problem. tol bounds
    the error relative to the threshold.

    Cost: dense O(a b min(a, b)); else products with X and X' of rank + 8 columns, then of fewer.
    """
    weights = np.zeros(0) if weights is None else weights
    whole = X if isinstance(X, Deflated) else _Whole(X)
    small = min(whole.shape)
    if small <= _DENSE_UP_TO:
        return _dense(whole.dense(), threshold, weights)
    basis = _Basis(whole, _start_block(start, whole.shape[1], max(_GUARD, weights.size + _GUARD)), n_jobs)
    for iteration in range(1, max_iter + 1):
        P, values, Wt = svd(basis.B, full_matrices=False, check_finite=False)
        kept = _count(values, threshold, weights)
        wanted = min(kept + _GUARD, values.size)
        missing = basis.F @ P[:, :wanted]
        error = float(np.linalg.norm(missing[:, :kept]))
        crowded = kept + _GUARD // 2 > values.size
        # Guard vectors are still turning towards what comes next in the first round, so one is never enough.
        if (iteration > 1 and error <= tol * threshold and not crowded) or iteration == max_iter:
            break
        if crowded and 4 * values.size > small:
            return _dense(whole.dense(), threshold, weights)
        missing[:, kept:] *= _GUARD_SHARE
        new = _leading_directions(missing, _LEFT_OUT * tol * threshold)
        if values.size + new.shape[1] > small:  # the basis is the whole space, or about to be
            return _dense(whole.dense(), threshold, weights)
        if crowded:
            new = np.hstack([new, _random(whole.shape[1], values.size)])
        if values.size > _MOST * (wanted + _GUARD):
            basis.restrict(P[:, :wanted], values[:wanted], Wt[:wanted])
        basis.grow(new)
    left, right = basis.Q @ P[:, :kept], basis.V @ Wt[:wanted].T
    return _shrunk(left, values, right, threshold, weights, error, iteration)


class _Basis:
    """Eq. (2)."""

    def __init__(self, X: Deflated | _Whole, V: np.ndarray, n_jobs: int | None):
        self.X, self.n_jobs = X, n_jobs
        self.V = orthonormal_factors(V)[0]
        self.Q, self.B = orthonormal_factors(X.times(self.V, n_jobs))
        self.F = self._missing(self.Q)

    def grow(self, T: np.ndarray) -> None:
        """Take the columns of T (b, t) into V."""
        room = self.V.shape[0] - self.V.shape[1]
        T = orthonormal_factors(_split(self.V, T[:, :room])[0])[0]
        # T comes from F, divided by what may be small: what rounding left of V in it has grown with it.
        T = orthonormal_factors(_split(self.V, T)[0])[0]
        image, inside = _split(self.Q, self.X.times(T, self.n_jobs))
        new, corner = orthonormal_factors(image)
        below = np.zeros((new.shape[1], self.B.shape[1]))
        self.B = np.block([[self.B, inside], [below, corner]])
        self.F -= T @ (T.T @ self.F)
        self.V, self.Q = np.hstack([self.V, T]), np.hstack([self.Q, new])
        self.F = np.hstack([self.F, self._missing(new)])

    def restrict(self, P: np.ndarray, values: np.ndarray, Wt: np.ndarray) -> None:
        """Keep the vectors that have these coordinates and singular values."""
        self.Q, self.V, self.F, self.B = self.Q @ P, self.V @ Wt.T, self.F @ P, np.diag(values)

    def _missing(self, Q: np.ndarray) -> np.ndarray:
        F = self.X.transposed_times(Q, self.n_jobs)
        return F - self.V @ (self.V.T @ F)


def _leading_directions(F: np.ndarray, negligible: float) -> np.ndarray:
    """Leading left singular vectors of F, scaled, such that the rest of F has at most this norm; one at least."""
    energies, Y = np.linalg.eigh(F.T @ F)
    rest = np.cumsum(np.maximum(energies, 0.0))  # energies rise
    first = min(int((rest <= negligible**2).sum()), energies.size - 1)
    return F @ Y[:, first:]


def _split(basis: np.ndarray, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(X without its part in an orthonormal basis, the coordinates of that part)."""
    part = basis.T @ X
    rest = X - basis @ part
    before, after = (np.einsum("ij,ij->j", Y, Y) for Y in (X, rest))
    if (after < 0.01 * before).any():  # what is left of a column may be mostly rounding of what was taken off
        again = basis.T @ rest
        rest -= basis @ again
        part += again
    return rest, part


def remainder_is_below(
    X: np.ndarray | Deflated, right: np.ndarray, threshold: float, *, n_jobs: int | None = None
) -> bool:
    """Whether every singular value of X outside span(right) is at most 1.001 ``threshold``: a proof, by Cholesky.

    Single precision suffices: X is deflated and scaled in double, and the slack is far above what is then rounded.
    O(a b^2) for the Gram matrix of the smaller side and a third of b^3 for the factorisation.
    """
    whole = X if isinstance(X, Deflated) else _Whole(X)
    R = np.empty(whole.shape, np.float32)
    inside = whole.times(right, n_jobs)

    def deflate(a: int, b: int) -> None:
        R[a:b] = (whole.rows(a, b) - inside[a:b] @ right.T) / threshold

    map_blocks(deflate, R.shape[0], size=_ROWS, n_jobs=n_jobs)
    R = R if R.shape[1] <= R.shape[0] else R.T
    gram = np.empty((R.shape[1], R.shape[1]), np.float32)

    def multiply(a: int, b: int) -> None:
        np.matmul(R[:, a:b].T, R[:, :b], out=gram[a:b, :b])  # the lower triangle is enough

    map_blocks(multiply, gram.shape[0], size=_ROWS, n_jobs=n_jobs)
    np.negative(gram, out=gram)
    gram.flat[:: gram.shape[0] + 1] += np.float32((1.0 + _SLACK) ** 2)
    try:
        cholesky(gram, lower=True, overwrite_a=True, check_finite=False)
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
