"""Shrinkage of singular values: the proximal step of low-rank models.

    U max(Sigma - t, 0) V'  of  X = U Sigma V'   minimizes  t |J|_* + 1/2 |J - X|^2                        (1)

(Entries and columns are shrunk in the passes of :mod:`.representation`.) (1) needs only the singular values
above t. For small matrices one dense decomposition is quickest; for large ones they are found in a growing
basis

    X' Q = V B',    X V = Q B + F,    V'V = I,  Q'Q = I,  F'Q = 0                                          (2)

that begins with the vectors V0 of the last, similar matrix, as Q = X V0 made orthonormal: singular vectors of
B (k, k) give those of X, and F what is missing from them. The basis grows by the directions of F that matter
to values above t, until what is missing is small: block Lanczos, but with a good start, and few columns a
round.

The error of the answer has a bound: (1) is 1-Lipschitz in X, so the error is at most |F W| for the
right vectors W that are kept, provided that what was left out is below t; and that is decided by a Cholesky
factorization of (t^2 I - R'R), R = X - X V V', which exists exactly if it is (:func:`remainder_is_below`). F
takes a product with X, and most of it need not be known: as X V0 lies in Q, |F w| <= t tan(w, V0) for w in V.
Late in a Lagrangian, large values have turned by less than is allowed, and only few columns are multiplied a
second time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import cholesky, svd

from ..runtime.threads import inner_product, map_blocks, row_product
from .orthonormal import orthonormal_factors

_DENSE_UP_TO = 200  # measured in benchmarks/bench_rsec.py: below, one dense decomposition beats the iteration
_GUARD = 8  # vectors carried beyond those kept: they converge to what comes next, and show it crossing t
_GUARD_SHARE = 0.05  # how much of what is missing from guard vectors counts when the basis grows
_LEFT_OUT = 0.5  # share of the allowed error that directions left out of a round may have together
_UNMEASURED = 0.5  # share of the allowed error that may rest on angles, not on products
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
    """X = low + rest, rest in single precision.

    ``rest`` is what X is beyond an earlier answer, so that rounding is small beside t.
    """

    low: LowRank
    rest: np.ndarray  # (a, b) float32

    @property
    def shape(self) -> tuple[int, int]:
        return self.rest.shape

    def dense(self) -> np.ndarray:
        return self.rows(0, len(self.rest))

    def rows(self, a: int, b: int) -> np.ndarray:
        return (self.low.left[a:b] * self.low.values) @ self.low.right.T + self.rest[a:b]

    def times(self, V: np.ndarray, n_jobs: int | None = -1) -> np.ndarray:
        rest = row_product(self.rest, V.astype(np.float32), n_jobs=n_jobs)
        return rest + _times(self.low.left * self.low.values, self.low.right, V, n_jobs)

    def transposed_times(self, Q: np.ndarray, n_jobs: int | None = -1) -> np.ndarray:
        rest = row_product(self.rest.T, Q.astype(np.float32), n_jobs=n_jobs)
        return rest + _times(self.low.right * self.low.values, self.low.left, Q, n_jobs)


def _times(A: np.ndarray, B: np.ndarray, V: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """A B'V."""
    return row_product(A, inner_product(B, V, n_jobs=n_jobs), n_jobs=n_jobs)


class _Whole(NamedTuple):
    """X without a deflation."""

    matrix: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        return self.matrix.shape

    def dense(self) -> np.ndarray:
        return self.matrix

    def rows(self, a: int, b: int) -> np.ndarray:
        return self.matrix[a:b]

    def times(self, V: np.ndarray, n_jobs: int | None = -1) -> np.ndarray:
        return row_product(self.matrix, V, n_jobs=n_jobs)

    def transposed_times(self, Q: np.ndarray, n_jobs: int | None = -1) -> np.ndarray:
        return row_product(self.matrix.T, Q, n_jobs=n_jobs)


def shrink_singular_values(
    X: np.ndarray | Deflated,
    threshold: float,
    *,
    weights: np.ndarray | None = None,
    start: np.ndarray | None = None,
    tol: float = 3e-5,
    max_iter: int = 30,
    n_jobs: int | None = -1,
) -> LowRank:
    """Eq. (1), or its weighted form: value i falls by ``threshold * weights[i]``.

    Beyond the last weight, values fall by ``threshold``.

    X (a, b) float64. weights: rising, at most 1 (larger values shrink less), so that the answer keeps the
    order of the values and is the minimizer of the weighted norm. start (b, any): vectors of a similar
    problem. tol bounds the error relative to the threshold.

    Cost: dense O(a b min(a, b)); else one product with X and one with X' of rank + 8 columns, then of fewer.
    """
    weights = np.zeros(0) if weights is None else weights
    whole = X if isinstance(X, Deflated) else _Whole(X)
    small = min(whole.shape)
    if small <= _DENSE_UP_TO:
        return _dense(whole.dense(), threshold, weights)
    basis = _Basis(whole, _start_block(start, whole.shape[1], max(_GUARD, weights.size + _GUARD)), n_jobs)
    basis.settle(_count(basis.values, threshold, weights), _UNMEASURED * tol)
    for iteration in range(1, max_iter + 1):
        order = np.argsort(-basis.everything, kind="stable")
        kept = _count(basis.everything[order], threshold, weights)
        turning = int((order[:kept] >= basis.settled).sum())  # of those kept, the ones that are not settled
        wanted = min(turning + _GUARD, basis.values.size)
        missing = basis.missing(wanted)
        error = float(np.hypot(np.linalg.norm(missing[:, :turning]), threshold * basis.angle))
        crowded = kept + _GUARD // 2 > order.size
        # Guard vectors are still turning towards what comes next in the first round, so one is never enough.
        if (iteration > 1 and error <= tol * threshold and not crowded) or iteration == max_iter:
            break
        if crowded and 4 * order.size > small:
            return _dense(whole.dense(), threshold, weights)
        if order.size > _MOST * (basis.settled + wanted + _GUARD):
            basis.restrict(wanted, missing)
        new = _leading_directions(_weighted(missing, turning), _LEFT_OUT * tol * threshold)
        if basis.everything.size + new.shape[1] > small:  # the basis is the whole space, or about to be
            return _dense(whole.dense(), threshold, weights)
        if crowded:
            new = np.hstack([new, _random(whole.shape[0], min(order.size, max(2 * _GUARD, order.size // 4)))])
        basis.grow(new)
    return _shrunk(*basis.triplets(wanted), threshold, weights, error, iteration)


def _weighted(missing: np.ndarray, kept: int) -> np.ndarray:
    """What is missing from guard vectors counts less."""
    return np.hstack([missing[:, :kept], _GUARD_SHARE * missing[:, kept:]])


class _Basis:
    """Eq. (2), from a start V0: Q spans X V0, and V spans X'Q.

    In the first round B is made diagonal and vectors that have hardly turned are settled: they stay as they
    are, without a second product with X, and the rounds that follow are about the others alone. The first
    ``settled`` columns of Q and V are theirs, with singular values ``known``; B and F are of the rest, with
    singular values ``values`` and coordinates ``P`` and ``W`` of their vectors.

    What is missing from settled vectors is bounded, not known: X V0 lies in Q, so that F is -R N, with R what
    X is outside Q and V, and N (V'V0)^-1 = V0 - V V'V0 the part of V0 outside V: |F w| <= |R|_2 |N w|, of
    which ``angle`` is the second factor, of all together. A direction of F that is taken into Q later is
    joined to the settled vectors by no more than that, and B leaves it out.
    """

    def __init__(self, X: Deflated | _Whole, start: np.ndarray, n_jobs: int | None):
        self.X, self.n_jobs = X, n_jobs
        V0 = orthonormal_factors(start)[0]
        Q = orthonormal_factors(X.times(V0, n_jobs))[0]
        V, R = orthonormal_factors(X.transposed_times(Q, n_jobs))
        P, self.values, Wt = svd(R.T, full_matrices=False, check_finite=False)
        self.tangents = np.linalg.norm(_tangents(self.inner(V, V0)) @ Wt.T, axis=0)
        self.Q, self.V = self.wide(Q, P), self.wide(V, Wt.T)
        self.settled, self.known, self.angle = 0, np.zeros(0), 0.0

    def wide(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return row_product(A, B, n_jobs=self.n_jobs)

    def inner(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return inner_product(A, B, n_jobs=self.n_jobs)

    @property
    def everything(self) -> np.ndarray:
        """Singular values of the settled vectors, then of the others."""
        return np.concatenate([self.known, self.values])

    def settle(self, kept: int, allowed: float) -> None:
        """Settle as many of the first ``kept`` vectors as together have at most this tangent.

        F is then computed for the others and the guard.
        """
        squares = np.square(self.tangents[: kept + _GUARD])
        order = np.argsort(squares[:kept], kind="stable")
        little = order[np.cumsum(squares[order]) <= allowed**2]
        self.settled, self.known, self.angle = (
            little.size,
            self.values[little],
            np.sqrt(squares[little].sum()),
        )
        turning = np.setdiff1d(np.arange(squares.size), little)
        arranged = np.concatenate([little, turning])
        self.Q, self.V, self.values = self.Q[:, arranged], self.V[:, arranged], self.values[turning]
        self.P = self.W = np.eye(turning.size)
        self.B, self.F = np.diag(self.values), self._outside(self.V[:, self.settled :])

    def _outside(self, vectors: np.ndarray) -> np.ndarray:
        return _split(self.Q, self.X.times(vectors, self.n_jobs), self.n_jobs)[0]

    def missing(self, count: int) -> np.ndarray:
        """(a, count) F W of the leading vectors that are not settled."""
        return self.wide(self.F, self.W[:, :count])

    def grow(self, T: np.ndarray) -> None:
        """Take the columns of T (a, t) into Q, and what they need into V."""
        room = self.Q.shape[0] - self.Q.shape[1]
        # T comes from F, divided by what may be small: what rounding left of Q in it has grown with it, hence
        # twice.
        T = orthonormal_factors(_split(self.Q, T[:, :room], self.n_jobs)[0])[0]
        T = orthonormal_factors(_split(self.Q, T, self.n_jobs)[0])[0]
        image, inside = _split(self.V, self.X.transposed_times(T, self.n_jobs), self.n_jobs)
        new, corner = orthonormal_factors(image)
        join = inside[self.settled :].T
        self.B = np.block([[self.B, np.zeros((len(self.B), new.shape[1]))], [join, corner.T]])
        self.Q, self.V = np.hstack([self.Q, T]), np.hstack([self.V, new])
        self.F = np.hstack([self.F - self.wide(T, self.inner(T, self.F)), self._outside(new)])
        self.P, self.values, Wt = svd(self.B, full_matrices=False, check_finite=False)
        self.W = Wt.T

    def restrict(self, count: int, missing: np.ndarray) -> None:
        """Keep the leading ones of the vectors that are not settled; this is missing from them."""
        before, left, right = self._vectors(count)
        self.Q, self.V = np.hstack([self.Q[:, before], left]), np.hstack([self.V[:, before], right])
        self.values, self.F = self.values[:count], missing
        self.B, self.P = np.diag(self.values), np.eye(count)
        self.W = self.P

    def _vectors(self, count: int) -> tuple[slice, np.ndarray, np.ndarray]:
        """(the columns that are settled, left and right vectors of the leading others)."""
        rest = slice(self.settled, None)
        left, right = (
            self.wide(self.Q[:, rest], self.P[:, :count]),
            self.wide(self.V[:, rest], self.W[:, :count]),
        )
        return slice(0, self.settled), left, right

    def triplets(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(left, values, right) by falling value: settled ones, and the leading others."""
        before, left, right = self._vectors(count)
        values = np.concatenate([self.known, self.values[:count]])
        order = np.argsort(-values, kind="stable")
        left, right = np.hstack([self.Q[:, before], left]), np.hstack([self.V[:, before], right])
        return left[:, order], values[order], right[:, order]


def _tangents(C: np.ndarray) -> np.ndarray:
    """(b, b) with |tangents w| = |N w|, N = V0 C^-1 - V, for C = V'V0 of orthonormal V and V0.

    N'N = (C C')^-1 - I.
    """
    squares, Y = np.linalg.eigh(C @ C.T)  # cosines between the two spaces
    return np.sqrt(1.0 / np.clip(squares, _LEAST_COSINE, 1.0) - 1.0)[:, None] * Y.T


def _leading_directions(F: np.ndarray, negligible: float) -> np.ndarray:
    """Leading left singular vectors of F, scaled: at least one, and so many that the rest of F is negligible.

    The norm of the rest is at most ``negligible``.
    """
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
    X: np.ndarray | Deflated, right: np.ndarray, threshold: float, *, n_jobs: int | None = -1
) -> bool:
    """Prove by Cholesky that every singular value of X outside span(right) is at most 1.001 ``threshold``.

    Single precision suffices: X is deflated and scaled in double, and the slack is far above what is then
    rounded. O(a b^2) for the Gram matrix of the smaller side and a third of b^3 for the factorization.
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
