"""Shrinkage of singular values: the proximal step of low-rank models.

    U max(Sigma - t, 0) V'  of  X = U Sigma V'   minimises  t |J|_* + 1/2 |J - X|^2                         (1)

(Entries and columns are shrunk in the passes of :mod:`.representation`.) (1) needs only the singular values above t. For small
matrices one dense decomposition is quickest; for large ones they are found in a growing basis

    X' Q = V B',    X V = Q B + F,    V'V = I,  Q'Q = I,  F'Q = 0                                           (2)

that begins with the vectors V0 of the last, similar matrix, as Q = X V0 made orthonormal: singular vectors of B (k, k) give those of
X, and F what is missing from them. The basis grows by the directions of F that matter to values above t, until
what is missing is small: block Lanczos, but with a good start, and few columns a round.

What that answer is worth is known, not hoped: (1) is 1-Lipschitz in X, so the error is at most |F W| for the right vectors
W that are kept, provided that what was left out is below t; and that is decided by a Cholesky factorisation of
(t^2 I - R'R), R = X - X V V', which exists exactly if it is (:func:`remainder_is_below`). F takes a product with X, and most of it need
not be known: as X V0 lies in Q, |F w| <= t tan(w, V0) for w in V. Late in a Lagrangian, large values have turned by less than
is allowed, and only few columns are multiplied a second time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, svd

from .orthonormal import orthonormal_factors
from .parallel import inner_product, map_blocks, row_product

_DENSE_UP_TO = 200  # measured in benchmarks/bench_rsec.py: below, one dense decomposition beats the iteration
_GUARD = 8  # vectors carried beyond those kept: they converge to what comes next, and show it crossing t
_GUARD_SHARE = 0.05  # how much of what is missing from guard vectors counts when the basis grows
_LEFT_OUT = 0.5  # share of the allowed error that directions left out of a round may have together
_UNMEASURED = 0.5  # share of the allowed error that may rest on angles, not on products
_KNOWN = 1e-8  # size of a vector's part that counts as nothing
_LEAST_COSINE = 1e-12  # squared; beyond, two spaces are at right angles
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
        return rest + _times(self.low.left * self.low.values, self.low.right, V, n_jobs)

    def transposed_times(self, Q: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
        rest = row_product(self.rest.T, Q.astype(np.float32), n_jobs=n_jobs)
        return rest + _times(self.low.right * self.low.values, self.low.left, Q, n_jobs)


def _times(A: np.ndarray, B: np.ndarray, V: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """A B'V."""
    return row_product(A, inner_product(B, V, n_jobs=n_jobs), n_jobs=n_jobs)


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

    Cost: dense O(a b min(a, b)); else one product with X and one with X' of rank + 8 columns, then of fewer.
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
        basis.measure(Wt[:wanted].T, kept, _UNMEASURED * tol)
        missing, angles = basis.missing(Wt[:wanted].T)
        error = float(np.hypot(np.linalg.norm(missing[:, :kept]), threshold * np.linalg.norm(angles[:kept])))
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
            new = np.hstack(
                [new, _random(whole.shape[0], min(values.size, max(2 * _GUARD, values.size // 4)))]
            )
        if values.size > _MOST * (wanted + _GUARD):
            basis.restrict(P[:, :wanted], values[:wanted], Wt[:wanted])
        basis.grow(new)
    left, right = basis.wide(basis.Q, P[:, :kept]), basis.wide(basis.V, Wt[:wanted].T)
    return _shrunk(left, values, right, threshold, weights, error, iteration)


class _Basis:
    """Eq. (2), from a start V0: Q spans X V0, and V spans X'Q.

    F M is known for orthonormal columns of M (columns of V, any), and ``tangents`` bounds the rest: X V0 lies in Q, so that F is
    -R N, with R what X is outside Q and V, and N (V'V0)^-1 = V0 - V V'V0 the part of V0 outside V: |F w| <= |R|_2 |tangents w|.
    """

    def __init__(self, X: Deflated | _Whole, start: np.ndarray, n_jobs: int | None):
        self.X, self.n_jobs = X, n_jobs
        V0 = orthonormal_factors(start)[0]
        self.Q = orthonormal_factors(X.times(V0, n_jobs))[0]
        self.V, R = orthonormal_factors(X.transposed_times(self.Q, n_jobs))
        self.B = R.T
        self.F, self.M = np.zeros((len(self.Q), 0)), np.zeros((len(self.B), 0))
        self.tangents = _tangents(self.inner(self.V, V0))

    def wide(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return row_product(A, B, n_jobs=self.n_jobs)

    def inner(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return inner_product(A, B, n_jobs=self.n_jobs)

    def measure(self, W: np.ndarray, kept: int, allowed: float) -> None:
        """Know F for the columns of V W: the first ``kept`` as far as more than ``allowed`` of their tangents is not, others wholly."""
        squares = np.square(self.tangents @ W).sum(axis=0)
        squares[kept:] = np.inf
        order = np.argsort(squares, kind="stable")
        columns = W[:, order[np.cumsum(squares[order]) > allowed**2]]
        columns = columns - self.M @ (self.M.T @ columns)
        new, sizes, _ = svd(columns, full_matrices=False, check_finite=False)
        new = new[:, sizes > _KNOWN]
        if new.shape[1]:
            self._know(new, self.wide(self.V, new))

    def _know(self, coordinates: np.ndarray, vectors: np.ndarray) -> None:
        F = _split(self.Q, self.X.times(vectors, self.n_jobs), self.n_jobs)[0]
        self.F, self.M = np.hstack([self.F, F]), np.hstack([self.M, coordinates])
        self.tangents = self.tangents - (self.tangents @ coordinates) @ coordinates.T

    def missing(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(what is known of F W (a, t), tangents of the rest (t,))."""
        known = self.wide(self.F, self.M.T @ W)
        return known, np.sqrt(np.square(self.tangents @ W).sum(axis=0))

    def grow(self, T: np.ndarray) -> None:
        """Take the columns of T (a, t) into Q, and what they need into V."""
        room = self.Q.shape[0] - self.Q.shape[1]
        # T comes from F, divided by what may be small: what rounding left of Q in it has grown with it, hence twice.
        T = orthonormal_factors(_split(self.Q, T[:, :room], self.n_jobs)[0])[0]
        T = orthonormal_factors(_split(self.Q, T, self.n_jobs)[0])[0]
        image, inside = _split(self.V, self.X.transposed_times(T, self.n_jobs), self.n_jobs)
        new, corner = orthonormal_factors(image)
        old = self.B.shape[1]
        self.B = np.block([[self.B, np.zeros((len(self.B), new.shape[1]))], [inside.T, corner.T]])
        self.F = self.F - T @ (T.T @ self.F)
        self.Q, self.V = np.hstack([self.Q, T]), np.hstack([self.V, new])
        self.M = np.pad(self.M, ((0, new.shape[1]), (0, 0)))
        self.tangents = np.pad(self.tangents, ((0, 0), (0, new.shape[1])))
        self._know(np.eye(old + new.shape[1])[:, old:], new)

    def restrict(self, P: np.ndarray, values: np.ndarray, Wt: np.ndarray) -> None:
        """Keep the vectors that have these coordinates and singular values."""
        self.measure(Wt.T, 0, 0.0)
        self.F, self.M = self.missing(Wt.T)[0], np.eye(len(values))
        self.Q, self.V, self.B = self.wide(self.Q, P), self.wide(self.V, Wt.T), np.diag(values)
        self.tangents = np.zeros((1, len(values)))


def _tangents(C: np.ndarray) -> np.ndarray:
    """(b, b) with |tangents w| = |N w|, N = V0 C^-1 - V, for C = V'V0 of orthonormal V and V0: N'N = (C C')^-1 - I."""
    squares, Y = np.linalg.eigh(C @ C.T)  # cosines between the two spaces
    return np.sqrt(1.0 / np.clip(squares, _LEAST_COSINE, 1.0) - 1.0)[:, None] * Y.T


def _leading_directions(F: np.ndarray, negligible: float) -> np.ndarray:
    """Leading left singular vectors of F, scaled, such that the rest of F has at most this norm; one at least."""
    energies, Y = np.linalg.eigh(F.T @ F)
    rest = np.cumsum(np.maximum(energies, 0.0))  # energies rise
    first = min(int((rest <= negligible**2).sum()), energies.size - 1)
    return F @ Y[:, first:]


def _split(basis: np.ndarray, X: np.ndarray, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
    """(X without its part in an orthonormal basis, the coordinates of that part)."""
    part = inner_product(basis, X, n_jobs=n_jobs)
    rest = X - row_product(basis, part, n_jobs=n_jobs)
    before, after = (np.einsum("ij,ij->j", Y, Y) for Y in (X, rest))
    if (after < 0.01 * before).any():  # what is left of a column may be mostly rounding of what was taken off
        again = inner_product(basis, rest, n_jobs=n_jobs)
        rest -= row_product(basis, again, n_jobs=n_jobs)
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
