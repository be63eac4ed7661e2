"""The augmented Lagrangian that RSEC and NRSEC share, on weighted distinct objects.

Scaling. Equal objects have equal rows and columns in S, Z, E, J, so each of these n x n matrices is P X P' with
P (n, u) the indicator of distinct objects and X (u, u). With N = diag(weights) and the orthonormal columns of
Q = P N^-1/2 it is Q (N^1/2 X N^1/2) Q'. All of this module works with such scaled matrices, for which sums, products,
inverses, singular values and Frobenius norms are those of the n x n problem. What else changes:

    column i of the n x n matrix has norm    |scaled column| / sqrt(w_i)     -> threshold sqrt(w_i) t on the scaled one
    entry (p, i) of it is                    scaled entry / sqrt(w_p w_i)    -> threshold sqrt(w_p w_i) t
    the vector of ones is                    Q sqrt(w)

Rotation. With S = U diag(lam) U', the unknowns are kept as U'Z, U'E, ...: S and (S'S + I)^-1 become diagonal, singular
values and column norms stay. Matrices are stored by columns, as rows of a C array: row i of ``X`` is column i of U'(.).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.linalg import eigh

from ...kernels import representation as passes
from ...kernels.memory import ensure_fits
from ...kernels.parallel import map_blocks
from ...kernels.shrinkage import LowRank, remainder_is_below, shrink_singular_values
from ...kernels.spectra import smallest_eigenvectors

LARGEST_PENALTY = 1e10  # mu_max of the paper
BLOCK = 64


class Frame:
    """S (u, u, scaled) in its eigenbasis, with the buffers that every run of the Lagrangian reuses."""

    def __init__(self, S: np.ndarray, root: np.ndarray, n_jobs: int | None = None):
        u = root.size
        self.root = root  # (u,) square roots of the weights
        self.n_jobs = n_jobs
        lam, U = eigh(S, overwrite_a=True, check_finite=False)
        self.lam, self.U = lam[::-1].copy(), np.ascontiguousarray(U[:, ::-1])
        self.single = self.U.astype(np.float32)
        self.norm = float(np.abs(lam).max())  # |S|_2
        self.Y2, self.X = np.zeros((u, u)), np.zeros((u, u))
        self.gap = np.zeros((u, u), np.float32)  # Z - J
        self.graph = np.zeros((u, u), np.float32)  # Z in the original basis, then its affinity

    @property
    def size(self) -> int:
        return self.root.size

    def restart(self) -> None:
        self.Y2[:] = 0.0

    def blocks(self, function):
        return map_blocks(function, self.size, size=BLOCK, n_jobs=self.n_jobs)

    def original(self, low_rank: LowRank, scale: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Factors (a, b) with rows (a b') in the original basis; ``scale`` multiplies each eigendirection."""
        right = low_rank.right if scale is None else scale[:, None] * low_rank.right
        return low_rank.left * low_rank.values, self.U @ right


class ColumnErrors:
    """E shrunk by columns, for the l2,1 norm: Eqs. (13) and (15) in one pass."""

    def __init__(self, frame: Frame, weight: float):
        self.frame, self.weight = frame, weight
        self.Q = np.zeros_like(frame.X)
        self.share = np.zeros(frame.size)  # E = share Q, Y1 = mu (1 - share) Q, by column
        self.mu = 1.0

    def step(self, J: LowRank, B: np.ndarray, mu: float, mu_next: float) -> float:
        """Update Z, E, Y1, Y2; returns a bound on max |S - S Z - E|, the largest norm of a column."""
        frame = self.frame
        left, right = J.left * J.values, J.right.T.copy()
        towards = (frame.U.T @ B).T.copy()  # (c, u): the term of H in the eigenbasis is B towards
        thresholds = self.weight / mu * frame.root
        norms = np.empty((frame.size, 2))
        frame.blocks(
            lambda a, b: passes.step_columns(
                frame.U, frame.lam, left[a:b] @ right, B[a:b] @ towards, self.Q, self.share, frame.Y2, frame.X,
                frame.gap, mu, self.mu, mu_next, thresholds, a, norms[a:b],
            )
        )  # fmt: skip
        self.mu = mu
        np.matmul(frame.gap, frame.single.T, out=frame.graph)
        return float((norms[:, 0] / frame.root).max())

    def error(self) -> np.ndarray:
        """E (u, u, scaled), in the original basis."""
        return self.frame.U @ (self.share[:, None] * self.Q).T

    def norm(self, E: np.ndarray) -> float:
        """|E|_2,1 of the n x n problem."""
        return float(self.frame.root @ np.linalg.norm(E, axis=0))


class EntryErrors:
    """E shrunk entry by entry, for the l1 norm or its reweighted form: Eqs. (13) and (25)."""

    def __init__(self, frame: Frame, weight: float, S: np.ndarray):
        u = frame.size
        self.frame, self.weight, self.S = frame, weight, S
        self.E, self.Y1, self.D = np.zeros((u, u)), np.zeros((u, u)), np.zeros((u, u))
        self.moved = np.zeros((u, u), np.float32)
        self.weights = np.zeros((0, 0), np.float32)  # of the entries; empty for one everywhere

    def restart(self, weights: np.ndarray) -> None:
        """A new linearisation: weights change, E stays, its multiplier starts anew."""
        self.weights = weights
        self.Y1[:] = 0.0
        self.D = self.E @ self.frame.U

    def step(self, J: LowRank, B: np.ndarray, mu: float, mu_next: float) -> float:
        """Update Z, E, Y1, Y2; returns max |S - S Z - E|.

        Products in single precision carry only what changed (Z - J, the step of E), so that their rounding shrinks
        with the residuals.
        """
        frame = self.frame
        left, right = J.left * J.values, J.right.T.copy()
        towards = (frame.U.T @ B).T.copy()
        frame.blocks(
            lambda a, b: passes.step_representation(
                frame.U, frame.lam, left[a:b] @ right, B[a:b] @ towards, self.D, frame.Y2, frame.X, frame.gap,
                self.moved, mu, mu_next, a,
            )
        )  # fmt: skip
        np.matmul(self.moved, frame.single.T, out=frame.graph)
        self.moved, frame.graph = frame.graph, self.moved
        np.matmul(frame.gap, frame.single.T, out=frame.graph)
        left, image = frame.original(J, scale=frame.lam)
        image = image.T.copy()
        worst = frame.blocks(
            lambda a, b: passes.step_entries(
                self.S, left[a:b] @ image, self.moved, self.E, self.Y1, self.weights, frame.root,
                self.weight / mu, mu, mu_next, a,
            )
        )  # fmt: skip
        self.D += self.moved @ frame.single
        return max(worst)

    def error(self) -> np.ndarray:
        """E (u, u, scaled), in the original basis."""
        return self.E.T

    def norm(self, E: np.ndarray) -> float:
        """|E|_1 of the n x n problem."""
        return float(np.abs(E * np.outer(self.frame.root, self.frame.root)).sum())


@dataclass
class State:
    """Where the Lagrangian stands."""

    J: LowRank
    H: np.ndarray  # (u, c) orthonormal, scaled
    scale: np.ndarray  # (u,) Dz^-1/2
    spectrum: np.ndarray | None = None  # block that the next eigenproblem starts from
    history: list[dict] = field(default_factory=list)
    converged: bool = False
    certified: bool = True

    @classmethod
    def zero(cls, u: int, c: int) -> State:
        nothing = np.zeros((u, 0))
        return cls(LowRank(nothing, np.zeros(0), nothing, nothing, 0.0, 0), np.zeros((u, c)), np.zeros(u))


def solve(
    frame: Frame,
    errors: ColumnErrors | EntryErrors,
    state: State,
    *,
    low_rank_weight: float,
    penalty: float | None,
    growth: float,
    affinity: str,
    tol: float,
    max_iter: int,
    rank_weights: np.ndarray | None = None,
) -> None:
    """Algorithm 1 (the inner loop of Algorithm 2) from ``state``, which it updates.

    Stops when max |S - S Z - E| and max |Z - J| are below ``tol`` and the last J is certified.
    """
    mu = 1.5 / frame.norm if penalty is None else penalty
    frame.restart()
    if state.J.rank:  # a second linearisation starts where the first ended
        np.matmul(state.J.left * state.J.values, state.J.right.T, out=frame.X)
        frame.X += frame.gap
    else:
        frame.X[:] = 0.0
    state.converged = False
    for _ in range(max_iter):
        mu_next = min(growth * mu, LARGEST_PENALTY)
        state.J = shrink_singular_values(
            frame.X, low_rank_weight / mu, weights=rank_weights, start=state.J.block
        )
        residual = errors.step(state.J, state.scale[:, None] * state.H, mu, mu_next)
        gap = max(frame.blocks(lambda a, b: passes.largest_gap(frame.graph, frame.root, a, b)))
        build_graph(frame, state.J, absolute=affinity == "absolute")
        bad = update_H(frame, state)
        state.history.append(
            {"residual": residual, "gap": gap, "penalty": mu, "rank": state.J.rank, "bad_degrees": bad}
        )
        mu = mu_next
        if residual < tol and gap < tol:
            J = shrink_singular_values(
                frame.X, low_rank_weight / mu, weights=rank_weights, start=state.J.block
            )
            state.certified = J.iterations == 0 or remainder_is_below(frame.X, J.right, low_rank_weight / mu)
            if state.certified:
                state.converged = True
                break
            # Something above the threshold was missed: look wider, and go on.
            wider = np.random.default_rng(J.block.shape[1]).standard_normal(
                (frame.size, J.block.shape[1])
            ) / np.sqrt(frame.size)
            state.J = J._replace(block=np.hstack([J.block, wider]))


def build_graph(frame: Frame, J: LowRank, *, absolute: bool) -> None:
    """frame.graph <- (|Z| + |Z|')/2, or (Z + Z')/2, from Z - J that it holds. Eq. (5) without H H'."""
    left, right = frame.original(J)
    left, right = left.astype(np.float32), right.astype(np.float32).T.copy()
    W = frame.graph

    def add(a: int, b: int) -> None:
        W[a:b] += left[a:b] @ right

    frame.blocks(add)
    frame.blocks(lambda a, b: passes.symmetrise_inplace(W, absolute, a, b))


def update_H(frame: Frame, state: State) -> int:
    """Eq. (16): the c smallest eigenvectors of Lz, with Dz from the new Z and the old H.

    Returns how many degrees are not positive (none for absolute values; Z itself may be negative, and then
    Dz^-1/2 does not exist: such objects are left out of this step).
    """
    c = state.H.shape[1]
    root, old = frame.root, state.H
    degrees = (frame.graph @ root.astype(np.float32) + old @ (old.T @ root)) / root
    positive = degrees > 0
    state.scale = np.zeros(frame.size)
    np.power(degrees, -0.5, out=state.scale, where=positive)
    state.H, state.spectrum = leading_vectors(frame.graph, state.scale, c, extra=old, start=state.spectrum)
    return int((~positive).sum())


def leading_vectors(
    W: np.ndarray,
    scale: np.ndarray,
    count: int,
    *,
    extra: np.ndarray | None = None,
    start: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """(u, count) leading eigenvectors of diag(scale) (W + extra extra') diag(scale), and a start for the next."""
    column = scale[:, None]

    def product(V: np.ndarray) -> np.ndarray:
        V = column * V
        out = (W @ V.astype(np.float32)).astype(np.float64)
        if extra is not None:
            out += extra @ (extra.T @ V)
        return column * out

    def dense() -> np.ndarray:
        M = W.astype(np.float64)
        if extra is not None:
            M += extra @ extra.T
        M *= -column
        M *= scale
        M.flat[:: scale.size + 1] += 1.0
        return M

    found = smallest_eigenvectors(np.ones(scale.size), product, count, start=start, dense=dense)
    return found.vectors, found.block


def ensure_memory(u: int, bytes_each: int, name: str) -> None:
    """Refuse before allocating what a run needs for each pair of distinct objects."""
    ensure_fits(
        float(bytes_each) * u * u,
        what=f"{name} on {u} distinct objects",
        remedy="use a method that never pairs objects (consilience methods lists them), or fewer clusterings",
    )
