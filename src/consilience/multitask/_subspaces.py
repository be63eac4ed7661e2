"""The shared subspace W (d, l) of the tasks: four variants of one term, as interchangeable steps.

    || (W' X' - M P') V ||_F^2,   W' W = I                                                     (1)

X (n, d) holds the examples of all tasks as rows (the papers' X is our X'), P (n, c) their parts, u = v or v^2
their weights, M (l, c) the shared centers. A form gets the weights at the start of a stage and computes W in
every round. ``own`` is the cost of an example in (1) without any center.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._kernels.eigen import eigenpairs, leading_eigenvectors
from .._kernels.runtime.memory import ensure_fits
from ..errors import InputError
from ._centers import squares

#: Directions whose share of the largest variance is below this belong to the null space of the data.
NULL = 1e-10
#: Added to denominators by the public LSSMTC program.
PROGRAM_EPSILON = 1e-9


def divide(sums: np.ndarray, gram: np.ndarray) -> np.ndarray:
    """sums @ gram^-1 for a (c, c) gram; if it is singular, a millionth of its mean diagonal is added.

    It is singular when a cluster has lost its examples, or when two columns of P have become parallel.
    """
    values = np.linalg.eigvalsh(gram)
    if values[0] <= 1e-12 * values[-1]:
        lift = 1e-6 * np.trace(gram) / len(gram)
        gram = gram + (lift if lift > 0 else 1.0) * np.eye(len(gram))
    return np.linalg.solve(gram, sums.T).T


def inverse_root(gram: np.ndarray) -> np.ndarray:
    """gram^-1/2 on the range of a (c, c) positive semi-definite matrix."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-12 * max(values[-1], np.finfo(float).tiny)
    return vectors[:, kept] / np.sqrt(values[kept])


def oriented(W: np.ndarray) -> np.ndarray:
    """W with the signs of columns that make their largest entries positive: equal problems give equal W."""
    top = W[np.abs(W).argmax(axis=0), np.arange(W.shape[1])]
    return W * np.where(top < 0, -1.0, 1.0)


class Reconstruction:
    """W of the form || (X' - W M P') V ||^2: the directions in which the shared centers lie.

    It differs from (1) by the variance that W leaves out, so that W gains nothing by leaving variance out. W
    are the l leading eigenvectors of X' V Pi V X, Pi the projector on the columns of V P; that matrix has
    rank c, so its eigenvectors are the left singular vectors of a (d, c) matrix: O(d c^2) a round, and the
    null space of the data is never touched.
    """

    def __init__(self, X: Any, l: int):
        self.l = l
        self._squares = squares(X)

    def start(self, XP: np.ndarray, gram: np.ndarray) -> np.ndarray:
        return self.update(XP, gram)

    def weigh(self, u: np.ndarray) -> None:
        """Weights have no effect here."""

    def update(self, XP, gram, P=None, W=None, M=None) -> np.ndarray:
        left, _, _ = np.linalg.svd(XP @ inverse_root(gram), full_matrices=False)
        return oriented(left[:, : self.l])

    def own(self, W: np.ndarray) -> np.ndarray:
        return self._squares


class Span:
    """W of (1), in the span of the included examples: the l smallest eigenvalues of X' V (I - Pi) V X there.

    With X' V = U S R' (thin), W = U Q with Q the smallest eigenvectors of S^2 - B B', B = S R' V P (P' V^2
    P)^-1/2 (r, c): a diagonal minus rank c. The thin factors come from the smaller Gram matrix of V X, of
    order min(d, included examples), once for each set of weights; a round then costs O(r c) for each step of
    a shift-and-invert iteration, by the Woodbury formula.
    """

    def __init__(self, X: Any, l: int):
        self.X, self.l = X, l
        ensure_fits(
            3 * 8.0 * min(X.shape) ** 2,
            what=f"The eigenvectors of a Gram matrix of order {min(X.shape)}",
            remedy="use subspace='reconstruction', which needs none",
        )
        self._u: np.ndarray | None = None

    def start(self, XP: np.ndarray, gram: np.ndarray) -> np.ndarray:
        self.weigh(np.ones(self.X.shape[0]))
        return self.update(XP, gram)

    def weigh(self, u: np.ndarray) -> None:
        if self._u is not None and np.array_equal(u, self._u):
            return
        self._u = u
        rows = np.flatnonzero(u > 0)
        X = self.X if rows.size == u.size else self.X[rows]
        root = np.sqrt(u[rows])
        X = sp.diags_array(root) @ X if sp.issparse(X) else root[:, None] * X
        few = X.shape[0] <= X.shape[1]
        gram = X @ X.T if few else X.T @ X
        values, vectors = eigenpairs(gram.toarray() if sp.issparse(gram) else gram, overwrite=True)
        kept = values > NULL * max(values[-1], np.finfo(float).tiny)
        self._values, vectors = values[kept], vectors[:, kept]
        # U' y for a (d, b) y, and U y: U itself (d, r) is never formed when there are fewer examples than
        # features.
        if few:
            right = vectors / np.sqrt(self._values)
            self._into = lambda y: right.T @ (X @ y)
            self._out = lambda y: X.T @ (right @ y)
        else:
            self._into = lambda y: vectors.T @ y
            self._out = lambda y: vectors @ y

    def update(self, XP, gram, P=None, W=None, M=None) -> np.ndarray:
        B = self._into(XP @ inverse_root(gram))
        return oriented(self._out(smallest_of_downdate(self._values, B, min(self.l, self._values.size))))

    def own(self, W: np.ndarray) -> np.ndarray:
        return squares(np.asarray(self.X @ W))


def smallest_of_downdate(D: np.ndarray, B: np.ndarray, l: int) -> np.ndarray:
    """(r, l) eigenvectors of diag(D) - B B' (positive semi-definite) with the smallest eigenvalues."""
    r = D.size
    if r <= 200 or 3 * l >= r:
        return eigenpairs(np.diag(D) - B @ B.T, l, overwrite=True)[1]
    shift = 1e-6 * D[0]  # keeps the inverse finite when P is reproduced exactly (eigenvalue zero)
    inverse = 1.0 / (D + shift)
    core = np.eye(B.shape[1]) - B.T @ (inverse[:, None] * B)
    lifted = (inverse[:, None] * B) @ np.linalg.pinv((core + core.T) / 2, hermitian=True)

    def solve(Y: np.ndarray) -> np.ndarray:
        Y = inverse[:, None] * Y
        return Y + lifted @ (B.T @ Y)

    # The smallest are the largest of the inverse, where they are well separated.
    found = leading_eigenvectors(solve, r, l, tol=1e-10)
    return found.vectors if found.converged else eigenpairs(np.diag(D) - B @ B.T, l, overwrite=True)[1]


class Printed:
    """W of (1) as printed, in the space of all features: one dense (d, d) eigenproblem a round.

    With more features than included examples, W falls into the null space of the data, and (1) carries no
    information.
    """

    def __init__(self, X: Any, l: int):
        self.X, self.l = X, l
        d = X.shape[1]
        ensure_fits(
            4 * 8.0 * d * d,
            what=f"The printed eigenproblem in {d} features",
            remedy="use subspace='span', whose problem is no larger than the number of examples",
        )

    def start(self, XP: np.ndarray, gram: np.ndarray) -> np.ndarray:
        self.weigh(np.ones(self.X.shape[0]))
        return self.update(XP, gram)

    def weigh(self, u: np.ndarray) -> None:
        scatter = (
            self.X.T @ (sp.diags_array(u) @ self.X)
            if sp.issparse(self.X)
            else self.X.T @ (u[:, None] * self.X)
        )
        self._scatter = scatter.toarray() if sp.issparse(scatter) else scatter

    def update(self, XP, gram, P=None, W=None, M=None) -> np.ndarray:
        B = XP @ inverse_root(gram)
        return oriented(eigenpairs(self._scatter - B @ B.T, self.l, overwrite=True)[1])

    def own(self, W: np.ndarray) -> np.ndarray:
        return squares(np.asarray(self.X @ W))


class NonNegative:
    """W >= 0 by the multiplicative step of the public LSSMTC program, from the first l features.

        W <- W * sqrt( [C- W + W W' C+ W + D+ + W W' D-] / [C+ W + W W' C- W + D- + W W' D+] )      (2)

    with C = X' V^2 X, D = X' V^2 P M'. The program splits C itself; C is not formed here, X is split instead,
    which is the same for data without negative numbers. W'W = I holds only about. A zero of W stays zero:
    started at the first l columns of the identity, as in the program, W never uses another feature.
    """

    def __init__(self, X: Any, l: int):
        self.l = l
        self.X = X
        low = X.data.min(initial=0.0) if sp.issparse(X) else X.min(initial=0.0)
        self._parts = (X, None) if low >= 0 else (positive_part(X), positive_part(-X))

    def start(self, XP: np.ndarray, gram: np.ndarray) -> np.ndarray:
        self.weigh(np.ones(self.X.shape[0]))
        return np.eye(self.X.shape[1], self.l)

    def weigh(self, u: np.ndarray) -> None:
        self._u = u[:, None]

    def _scatter(self, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """C+ W and C- W."""
        up, down = self._parts
        if down is None:
            return up.T @ (self._u * (up @ W)), np.zeros_like(W)
        high, low = self._u * (up @ W), self._u * (down @ W)
        return up.T @ high + down.T @ low, up.T @ low + down.T @ high

    def update(self, XP, gram, P=None, W=None, M=None) -> np.ndarray:
        plus, minus = self._scatter(W)
        D = XP @ M.T
        up, down = np.maximum(D, 0), np.maximum(-D, 0)
        numerator = minus + W @ (W.T @ plus) + up + W @ (W.T @ down)
        denominator = plus + W @ (W.T @ minus) + down + W @ (W.T @ up) + PROGRAM_EPSILON
        return W * np.sqrt(numerator / denominator)

    def own(self, W: np.ndarray) -> np.ndarray:
        return squares(np.asarray(self.X @ W))


def positive_part(X: Any) -> Any:
    """max(X, 0), sparse if X is."""
    if not sp.issparse(X):
        return np.maximum(X, 0)
    out = X.copy()
    out.data = np.maximum(out.data, 0)
    out.eliminate_zeros()
    return out


FORMS = {
    "reconstruction": Reconstruction,
    "span": Span,
    "printed": Printed,
    "nonnegative": NonNegative,
}


def make_form(name: str, X: Any, l: int | None, c: int) -> Any:
    """The form of that name with l directions (None: c)."""
    n, d = X.shape
    most = d if name in ("printed", "nonnegative") else min(n, d)
    l = min(c, most) if l is None else int(l)
    if l > most:
        raise InputError(
            f"n_components={l} exceeds the {most} dimensions that {n} examples with {d} features span; "
            f"choose a value between 1 and {most}."
        )
    return FORMS[name](X, l)
