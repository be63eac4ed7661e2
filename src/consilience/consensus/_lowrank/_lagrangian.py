"""The augmented Lagrangian that RSEC and NRSEC share, on weighted distinct objects.

Scaling. Equal objects have equal rows and columns in S, Z, E, J, so each of these n x n matrices is P X P'
with P (n, u) the indicator of distinct objects and X (u, u). With N = diag(weights) and the orthonormal
columns of Q = P N^-1/2 it is Q (N^1/2 X N^1/2) Q'. All of this module works with such scaled matrices, for
which sums, products, inverses, singular values and Frobenius norms are those of the n x n problem. What else
changes:

    norm of column i of the n x n matrix   |scaled column| / sqrt(w_i)    -> threshold sqrt(w_i) t
    entry (p, i) of it                     scaled entry / sqrt(w_p w_i)   -> threshold sqrt(w_p w_i) t
    the vector of ones                     Q sqrt(w)

Rotation. With S = U diag(lam) U', the unknowns are kept as U'Z, U'E, ...: S and (S'S + I)^-1 become diagonal,
singular values and column norms stay. Matrices are stored by columns, as rows of a C array: row i of ``X`` is
column i of U'(.).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from scipy.linalg import svd

from ..._base.progress import progress
from ..._kernels.eigen import every_eigenpair
from ..._kernels.eigen.singular import Deflated, LowRank, remainder_is_below, shrink_singular_values
from ..._kernels.programs import low_rank as passes
from ..._kernels.runtime.memory import WITHOUT_PAIRS, ensure_fits
from ..._kernels.runtime.threads import map_blocks, row_product
from ._embedding import LAST_RESIDUAL, RESIDUAL, leading_vectors

LARGEST_PENALTY = 1e10  # mu_max of the paper
BLOCK = 64
_ROWS = 256  # of a block of a product that is added to something
_ROOM = 64  # directions kept for the term of H beyond the range of S, for each cluster
_NEGLIGIBLE = 1e-9  # relative size of an eigenvalue, or of a new direction, that is rounding
_SMALL_GAP = 1e-4  # part of |Z| that the graph may lack of Z - J; measured in benchmarks/bench_rsec.py
_CLOSE = (
    30.0  # times tol: from there on max |Z - J| is looked at by entries, since norms may be that much larger
)
_FEW_DIRECTIONS = 200  # up to which multiplying all costs less than looking which matter
_NEARLY_ALL = 0.9  # share of the directions from which picking them out costs more than it saves
_INEXACT = 1e-2  # of the threshold: error of J, which Y2 takes up and the next J makes good
_DRIFT = 0.1  # of the residuals: rounding errors that may add up in D before it is computed again
_UNFELT = 0.1  # times tol: what a direction may add to Z and yet be left out of the basis


class Frame:
    """S (u, u, scaled) in its eigenbasis, with the buffers that every run of the Lagrangian reuses.

    lam (s,), U (u, s): eigenpairs of S. Where S has rank s < u, eigenvectors of 0 are left out: there S and E
    have no part, and Z only what the term of H pulls it to. The basis grows by those directions as they come
    up (:meth:`admit`).
    """

    def __init__(
        self, lam: np.ndarray, U: np.ndarray, root: np.ndarray, *, n_clusters: int, n_jobs: int | None = -1
    ):
        u, s = U.shape
        self.root = root  # (u,) square roots of the weights
        self.n_jobs = n_jobs
        self.size = s  # directions in use
        self.norm = float(np.abs(lam).max())  # |S|_2
        # Directions of S: those behind, and those that are admitted later, have eigenvalue 0.
        self.range = int(np.flatnonzero(np.abs(lam) > _NEGLIGIBLE * self.norm).max(initial=0)) + 1
        room = min(u, s + _ROOM * n_clusters)
        self._lam, self._U = np.zeros(room), np.zeros((u, room))
        self._lam[:s], self._U[:, :s] = lam, U
        self._single = self._U.astype(np.float32)
        # Multiplier and differences vanish with the residuals or are divided by mu: single precision is
        # enough.
        self._Y2, self._rest, self._gap = (np.zeros((u, room), np.float32) for _ in range(3))
        self.graph = np.zeros((u, u), np.float32)  # Z in the original basis, then its affinity
        self.tol = 0.0  # of the entries of Z - J
        nothing = np.zeros((u, 0)), np.zeros((0, s))
        self._terms = self._pull = (
            nothing  # of H, in the last step; and what they and those before make of Z - J
        )

    lam = property(lambda self: self._lam[: self.size])
    U = property(lambda self: self._U[:, : self.size])
    single = property(lambda self: self._single[:, : self.size])
    Y2 = property(lambda self: self._Y2[:, : self.size])
    rest = property(lambda self: self._rest[:, : self.size], doc="X - J, for X = Z + Y2 / mu of the next J.")
    gap = property(lambda self: self._gap[:, : self.size], doc="Z - J.")

    @property
    def basis(self) -> passes.Basis:
        """What the passes read and write of it."""
        return passes.Basis(self.U, self.lam, self.Y2, self.rest, self.gap)

    def start(self, tol: float) -> None:
        """Before a run of the Lagrangian: no multiplier, no terms of H before."""
        self.tol = tol
        self.Y2[:] = 0.0
        self._terms = np.zeros((self.n_objects, 0)), np.zeros((0, self.size))

    def release(self) -> None:
        """Give back what only the loop needs."""
        self._Y2 = self._rest = np.zeros((self.n_objects, 0), np.float32)

    @property
    def n_objects(self) -> int:
        return self.root.size

    def blocks(self, function):
        return map_blocks(function, self.n_objects, size=BLOCK, n_jobs=self.n_jobs)

    def product(self, A: np.ndarray, B: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        return row_product(A, B, out, n_jobs=self.n_jobs)

    def admit(self, B: np.ndarray, unfelt: float = 0.0) -> None:
        """Add the columns of B (u, c) to the basis, except parts that change B B' by less than ``unfelt``."""
        free = self._lam.size - self.size
        scale = np.linalg.norm(B)
        if not free or scale == 0:
            return
        rest = B - self.product(self.U, self.product(self.U.T, B))
        least = max(_NEGLIGIBLE * scale, unfelt / scale)
        if np.linalg.norm(rest) <= least:
            return
        # Twice: the first may leave mostly rounding.
        rest -= self.product(self.U, self.product(self.U.T, rest))
        left, values, _ = svd(rest, full_matrices=False, check_finite=False)
        new = left[:, values > least][:, :free]
        span = slice(self.size, self.size + new.shape[1])
        self._U[:, span], self._single[:, span] = new, new
        self.size += new.shape[1]

    def fitting(self, J: LowRank) -> LowRank:
        """J in the present basis: nothing in directions that came later."""
        missing = self.size - J.right.shape[0]
        if not missing:
            return J
        pad = ((0, missing), (0, 0))
        return J._replace(right=np.pad(J.right, pad), block=np.pad(J.block, pad))

    def original(self, J: LowRank) -> np.ndarray:
        """Z = J + (Z - J), (u, u), in the original basis.

        The difference, which vanishes, is in single precision. Its directions that are far below the
        tolerance together are left out.
        """
        low = self.product(self.product(self.U, J.right), (J.left * J.values).T)
        self._pull = np.zeros((self.n_objects, 0), np.float32), np.zeros((0, self.size), np.float32)
        kept = np.flatnonzero(self._left_out(_UNFELT**2 * self.tol * float(self.root.min())) == 0)
        low += self.product(self.single[:, kept], self.gap[:, kept].T)
        return low

    def rotate_term(self, B: np.ndarray, mu: float) -> np.ndarray:
        """(c, s) U'B, transposed: the term of H is B times it in the eigenbasis; keeps its part of Z - J.

        Where S has eigenvalue 0, Z - J is (G - Y2) / mu for the term G, and Y2 the G of the step before.
        Where it is small, nearly so.
        """
        towards = self.product(self.U.T, B).T.copy()
        left, right = self._terms
        self._terms = B, towards
        right = np.pad(right, ((0, 0), (0, self.size - right.shape[1])))
        pull = np.vstack([towards, -right]) / (mu * (1.0 + self.lam**2))
        self._pull = np.hstack([B, left]).astype(np.float32), pull.astype(np.float32)
        return towards

    def gap_entries(self, norms: np.ndarray, J: LowRank) -> float:
        """Bring Z - J to ``graph``, in the original basis; returns a bound on max |Z - J|.

        ``norms`` are those of the columns of Z - J. But for the terms of H, which have low rank, it lies in
        few eigendirections, those of large eigenvalues: others are left out as long as they are small beside
        Z together, and in the end all are. What that changes in Z comes through the term of H, and so is
        smaller still by the factor 1 / mu.
        """
        size = float(np.linalg.norm(norms))
        allowed = _SMALL_GAP * float(np.hypot(np.linalg.norm(J.values), size))
        bound = float((norms / self.root).max())
        if self.tol < bound < _CLOSE * self.tol:
            allowed = min(allowed, _UNFELT * self.tol * float(self.root.min()))
        if size <= allowed:
            self.graph[:] = 0.0
            return bound
        out = self._left_out(allowed) if self.size > _FEW_DIRECTIONS else np.zeros(0)
        if self.size - out.sum() >= _NEARLY_ALL * self.size:
            self.product(self.gap, self.single.T, out=self.graph)
            return max(self.blocks(lambda a, b: passes.largest_gap(self.graph, self.root, a, b)))
        left, right = self._pull
        missing = max(
            self.blocks(lambda a, b: passes.largest_row(self.gap, left[a:b] @ right, out, self.root, a))
        )
        kept = np.flatnonzero(out == 0)
        inside = right[:, kept]
        gap = np.empty((self.n_objects, kept.size), np.float32)

        def pick(a: int, b: int) -> None:
            gap[a:b] = self.gap[a:b, kept]
            gap[a:b] -= left[a:b] @ inside

        self.blocks(pick)
        self.product(gap, self.single[:, kept].T, out=self.graph)
        right = self.product(self.single, right.T).T.copy()

        def add(a: int, b: int) -> float:
            self.graph[a:b] += left[a:b] @ right
            return passes.largest_gap(self.graph, self.root, a, b)

        return missing + max(self.blocks(add))

    def _left_out(self, allowed: float) -> np.ndarray:
        """(s,) 1 for the weakest directions of Z - J without the terms of H, else 0.

        Together these directions have at most the norm ``allowed``.
        """
        left, right = self._pull
        energies = np.sum(self.blocks(lambda a, b: passes.energies(self.gap, left[a:b] @ right, a)), axis=0)
        order = np.argsort(energies, kind="stable")
        out = np.zeros(self.size)
        out[order[np.cumsum(energies[order]) <= allowed**2]] = 1.0
        return out


def eigenpairs_of_product(F: sp.csr_array, n_jobs: int | None = -1) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs (s,), (u, s) of F F' with eigenvalues above rounding, for a sparse F (u, k).

    They come from the smaller matrix F'F (k, k).
    """
    lam, V = every_eigenpair((F.T @ F).toarray(), n_jobs=n_jobs)
    keep = lam > _NEGLIGIBLE * lam[-1]
    lam, V = lam[keep][::-1], V[:, keep][:, ::-1]
    return lam, np.ascontiguousarray((F @ V) / np.sqrt(lam))


class ColumnErrors:
    """E shrunk by columns, for the l2,1 norm: Eqs. (13) and (15) in one pass."""

    def __init__(self, frame: Frame, weight: float):
        self.frame, self.weight = frame, weight
        self._Q = np.zeros_like(frame._U)
        self.share = np.zeros(frame.n_objects)  # E = share Q, Y1 = mu (1 - share) Q, by column
        self.mu = 1.0

    @property
    def Q(self) -> np.ndarray:
        return self._Q[:, : self.frame.size]

    def step(self, J: LowRank, B: np.ndarray, mu: float, mu_next: float) -> tuple[float, float]:
        """Update Z, E, Y1, Y2; returns a bound on max |S - S Z - E|, and max |Z - J|.

        The bound is the largest norm of a column.
        """
        frame = self.frame
        left, right = J.left * J.values, J.right.T.copy()
        towards = frame.rotate_term(B, mu)
        thresholds = self.weight / mu * frame.root
        norms = np.empty((frame.n_objects, 2))
        basis, penalty = frame.basis, passes.Penalty(mu, self.mu, mu_next)
        columns = passes.ColumnShares(self.Q, self.share, thresholds)
        frame.blocks(
            lambda a, b: passes.step_columns(
                basis, left[a:b] @ right, B[a:b] @ towards, columns, penalty, a, norms[a:b]
            )
        )
        self.mu = mu
        return float((norms[:, 0] / frame.root).max()), frame.gap_entries(norms[:, 1], J)

    def error(self) -> np.ndarray:
        """E (u, u, scaled), in the original basis."""
        return self.frame.product(self.frame.U, (self.share[:, None] * self.Q).T)


class EntryErrors:
    """E shrunk entry by entry, for the l1 norm or its reweighted form: Eqs. (13) and (25)."""

    def __init__(self, frame: Frame, weight: float, S: np.ndarray):
        u = frame.n_objects
        self.frame, self.weight, self.S = frame, weight, S
        self.E, self.Y1, self._D = np.zeros((u, u)), np.zeros((u, u)), np.zeros_like(frame._U)
        self._image = np.zeros_like(frame._gap)
        self.moved = np.zeros((u, u), np.float32)
        self.weights = np.zeros((0, 0), np.float32)  # of the entries; empty for one everywhere
        self.drift = (
            0.0  # bound on what rounding has added up to in a column of D, on the scale of the residuals
        )

    def restart(self, weights: np.ndarray) -> None:
        """A new linearization: weights change, E stays, its multiplier is reset."""
        self.weights = weights if (weights != 1).any() else np.zeros((0, 0), np.float32)
        self.Y1[:] = 0.0
        self._refresh(1.0)

    def _refresh(self, mu: float) -> None:
        """D from E and Y1, in double precision."""
        frame = self.frame
        D, basis = self.D[:, : frame.range], frame.U[:, : frame.range]

        def multiply(a: int, b: int) -> None:
            np.matmul(self.E[a:b] - self.Y1[a:b] / mu, basis, out=D[a:b])

        frame.blocks(multiply)
        self.drift = 0.0

    @property
    def D(self) -> np.ndarray:
        """E - Y1 / mu, in the eigenbasis; 0 where S has eigenvalue 0, since Z there does not depend on it."""
        return self._D[:, : self.frame.size]

    def step(self, J: LowRank, B: np.ndarray, mu: float, mu_next: float) -> tuple[float, float]:
        """Update Z, E, Y1, Y2; returns max |S - S Z - E| and max |Z - J|.

        Products in single precision carry only what changed (Z - J, the step of E), so that their rounding
        shrinks with the residuals. The rounding errors of earlier steps stay in D, so that D is computed
        again before they matter. Otherwise Z and E would be drawn to different answers, with a gap between Z
        and J that no penalty closes.
        """
        frame = self.frame
        left, right = J.left * J.values, J.right.T.copy()
        towards = frame.rotate_term(B, mu)
        image, span = self._image[:, : frame.size], slice(0, frame.range)
        norms = np.empty(frame.n_objects)
        basis, penalty = frame.basis, passes.Penalty(mu, mu, mu_next)
        frame.blocks(
            lambda a, b: passes.step_representation(
                basis, left[a:b] @ right, B[a:b] @ towards, self.D, image, penalty, a, norms[a:b]
            )
        )
        self._bring_back(image[:, span], span)
        gap = frame.gap_entries(norms, J)
        left = J.left * J.values
        SJ = frame.product(frame.U[:, span], frame.lam[span, None] * J.right[span]).T.copy()
        entries = passes.EntrySteps(self.moved, self.E, self.Y1)
        thresholds = passes.Thresholds(self.weights, frame.root, self.weight / mu)
        worst, moved = np.max(
            frame.blocks(
                lambda a, b: passes.step_entries(self.S, left[a:b] @ SJ, entries, thresholds, penalty, a)
            ),
            axis=0,
        )
        self.drift += float(np.finfo(np.float32).eps * moved)
        if self.drift > _DRIFT * max(worst, gap):
            self._refresh(mu_next)
        else:
            self._carry_on(span)
        return float(worst), gap

    def _bring_back(self, image: np.ndarray, span: slice) -> None:
        """moved <- S (Z - J), in the original basis."""
        self.frame.product(image, self.frame.single[:, span].T, out=self.moved)

    def _carry_on(self, span: slice) -> None:
        """D by its changes, in single precision."""
        basis, D = self.frame.single[:, span], self.D[:, span]

        def multiply(a: int, b: int) -> None:
            D[a:b] += self.moved[a:b] @ basis

        map_blocks(multiply, len(D), size=_ROWS, n_jobs=self.frame.n_jobs)

    def error(self) -> np.ndarray:
        """E (u, u, scaled), in the original basis."""
        return self.E.T


@dataclass
class State:
    """Where the Lagrangian stands."""

    J: LowRank
    H: np.ndarray  # (u, c) orthonormal, scaled
    scale: np.ndarray  # (u,) Dz^-1/2
    before: np.ndarray  # (u, c) the H that the last eigenproblem had in its graph
    spectrum: np.ndarray | None = None  # block that the next eigenproblem starts from
    history: list[dict] = field(default_factory=list)
    converged: bool = False
    certified: bool = True

    @classmethod
    def zero(cls, frame: Frame, c: int) -> State:
        u = frame.n_objects
        left, right = np.zeros((u, 0)), np.zeros((frame.size, 0))
        return cls(
            LowRank(left, np.zeros(0), right, right, 0.0, 0), np.zeros((u, c)), np.zeros(u), np.zeros((u, c))
        )


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
    frame.start(tol)
    frame.rest[:] = frame.gap  # X = Z: 0 at first; a second linearization starts where the first ended
    state.converged = False
    for _ in progress(range(max_iter), what="low rank, at most", unit="iteration"):
        mu_next = min(growth * mu, LARGEST_PENALTY)
        state.J = shrink_singular_values(
            Deflated(state.J, frame.rest),
            low_rank_weight / mu,
            weights=rank_weights,
            start=state.J.block,
            tol=_INEXACT,
            n_jobs=frame.n_jobs,
        )
        B = state.scale[:, None] * state.H
        frame.admit(B, unfelt=_UNFELT * tol * mu)
        state.J = frame.fitting(state.J)
        residual, gap = errors.step(state.J, B, mu, mu_next)
        build_graph(frame, state.J, absolute=affinity == "absolute")
        bad = update_H(frame, state)
        state.history.append(
            {"residual": residual, "gap": gap, "penalty": mu, "rank": state.J.rank, "bad_degrees": bad}
        )
        mu = mu_next
        if residual < tol and gap < tol:
            X = Deflated(state.J, frame.rest)
            J = shrink_singular_values(
                X, low_rank_weight / mu, weights=rank_weights, start=state.J.block, n_jobs=frame.n_jobs
            )
            state.certified = J.iterations == 0 or remainder_is_below(
                X, J.right, low_rank_weight / mu, n_jobs=frame.n_jobs
            )
            if state.certified:
                state.converged = True
                break
            # Something above the threshold was missed: look wider, and go on.
            wider = np.random.default_rng(J.block.shape[1]).standard_normal(
                (frame.size, J.block.shape[1])
            ) / np.sqrt(frame.size)
            state.J = J._replace(block=np.hstack([J.block, wider]))
    solve_H(frame, state, LAST_RESIDUAL)


def build_graph(frame: Frame, J: LowRank, *, absolute: bool) -> None:
    """frame.graph <- (|Z| + |Z|')/2, or (Z + Z')/2, from Z - J that it holds. Eq. (5) without H H'."""
    left = (J.left * J.values).astype(np.float32)
    right = frame.product(frame.single, J.right.astype(np.float32)).T.copy()
    W = frame.graph

    def add(a: int, b: int) -> None:
        W[a:b] += left[a:b] @ right

    frame.blocks(add)
    frame.blocks(lambda a, b: passes.symmetrize_inplace(W, absolute, a, b))


def update_H(frame: Frame, state: State) -> int:
    """Eq. (16): the c smallest eigenvectors of Lz, with Dz from the new Z and the old H.

    Returns how many degrees are not positive (none for absolute values; Z itself may be negative, and then
    Dz^-1/2 does not exist: such objects are left out of this step).
    """
    root, old = frame.root, state.H
    degrees = (frame.graph @ root.astype(np.float32) + old @ (old.T @ root)) / root
    positive = degrees > 0
    state.scale = np.zeros(frame.n_objects)
    np.power(degrees, -0.5, out=state.scale, where=positive)
    state.before = old
    solve_H(frame, state, RESIDUAL)
    return int((~positive).sum())


def solve_H(frame: Frame, state: State, tol: float) -> None:
    """The eigenvectors of Eq. (16) from the last ones, for the graph, Dz and old H at hand."""
    state.H, state.spectrum = leading_vectors(
        frame.graph,
        state.scale,
        state.H.shape[1],
        extra=state.before,
        start=state.spectrum,
        tol=tol,
        n_jobs=frame.n_jobs,
    )


def ensure_memory(u: int, bytes_each: int, name: str) -> None:
    """Refuse before allocating what a run needs for each pair of distinct objects."""
    ensure_fits(float(bytes_each) * u * u, what=f"{name} on {u} distinct objects", remedy=WITHOUT_PAIRS)
