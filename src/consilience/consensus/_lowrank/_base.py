"""What RSEC and NRSEC share around their Lagrangian: S, its eigenbasis, and how labels are read."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ..._base.parameters import Choice, Flag, Integer, Nothing, Real, Rule
from ..._data.distinct import Compressed
from ..._kernels.cut.embedding import cut_rows
from ..._kernels.eigen import every_eigenpair
from ..._kernels.eigen.singular import LowRank
from ..._kernels.runtime.threads import row_product
from .._base import BaseConsensus, Solution
from ._embedding import leading_vectors
from ._lagrangian import Frame, State, eigenpairs_of_product, ensure_memory

_POSITIVE = Real(0, open_low=True)
_THIN = 0.8  # base clusters per distinct object up to which S is decomposed through them


def co_association(ensemble: Compressed, entries: str, n_jobs: int | None = -1) -> np.ndarray:
    """S (u, u): Eq. (1) divided by m, or by how often each pair was seen.

    With "signed", entries are +1 for together, -1 for apart and 0 for unseen, as in the paper for incomplete
    ensembles. If all clusterings agree on c clusters, S is then 2 I - 1 1' between them, whose determinant
    2^(c-1) (2 - c) vanishes for c = 2: S = v v' then, v = +-1, has rank one, Z is v v'/n, and |Z| is the same
    for all pairs. For any other c, and for shares, S has one direction for each cluster.
    """
    S = ensemble.coassociation(n_jobs=n_jobs)
    if entries == "signed":  # seen (2 together/seen - 1) / m
        S *= 2.0
        S -= 1.0
        S *= ensemble.cooccurrence_counts()
        S /= ensemble.n_clusterings
    return S


def scaled(S: np.ndarray, root: np.ndarray) -> np.ndarray:
    """diag(root) S diag(root), in place.

    For root = sqrt(weights), its norms and spectra are those of the matrix of all n objects.
    """
    S *= root[:, None]
    S *= root
    return S


def spectral_rows(W: np.ndarray, root: np.ndarray, count: int, n_jobs: int | None = -1) -> np.ndarray:
    """(u, count) leading eigenvectors of D^-1/2 W D^-1/2 for an affinity W (scaled)."""
    degrees = (W @ root.astype(W.dtype)).astype(np.float64) / root
    scale = np.zeros(root.size)
    np.power(degrees, -0.5, out=scale, where=degrees > 0)
    return leading_vectors(W, scale, count, n_jobs=n_jobs)[0]


def squared_cosines(frame: Frame, J: LowRank) -> np.ndarray:
    """(u, u) affinity of subspaces: squared cosines between the rows of L Sigma^1/2, Z = L Sigma R'.

    Low-rank representation clusters Z in this way (G. Liu et al., TPAMI 2013): objects in independent
    subspaces are orthogonal there, for any dimension of the subspaces and any length of the rows. The result
    is scaled like the graph and overwrites ``frame.graph``.
    """
    rows = frame.product(frame.U, J.right * np.sqrt(J.values))
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    # sqrt(root) on either side of a cosine is root on either side of its square.
    rows *= np.sqrt(frame.root)[:, None] / np.where(norms > 0, norms, np.inf)
    rows = rows.astype(np.float32)
    graph = row_product(rows, rows.T, frame.graph, n_jobs=frame.n_jobs)
    frame.blocks(lambda a, b: np.square(graph[a:b], out=graph[a:b]))
    return graph


class BaseLowRank(BaseConsensus):
    """A method that learns Z and H by :func:`._lagrangian.solve` and reads labels off either."""

    _constraints: ClassVar[dict[str, Rule]] = {
        "low_rank_weight": _POSITIVE,
        "error_weight": _POSITIVE,
        "labels_from": Choice("embedding", "representation", "subspaces"),
        "affinity": Choice("absolute", "signed"),
        "entries": Choice("together", "signed"),
        "penalty": Real(1e-20, 1e20) | Nothing(),  # beyond, its products leave single precision
        "growth": Real(1, open_low=True),
        "tol": _POSITIVE,
        "unit_rows": Flag(),
        "n_init": Integer(1),
        "saturation": Real(1, open_low=True),
        "linearize_about": Choice("zero", "convex"),
        "n_linearizations": Integer(1),
    }
    _any_unit = False
    _BYTES: ClassVar[int]  # for each pair of distinct objects

    embedding_: np.ndarray
    outlier_score_: np.ndarray
    representation_: np.ndarray
    error_: np.ndarray
    rank_: int
    singular_values_: np.ndarray

    # Parameters that both have.
    low_rank_weight: float
    labels_from: str
    affinity: str
    entries: str
    penalty: float | None
    growth: float
    max_iter: int
    tol: float
    unit_rows: bool
    n_init: int
    n_jobs: int | None

    def _fit(self, ensemble, rng):
        c = self.n_clusters
        ensure_memory(ensemble.n_samples, self._BYTES, type(self).__name__)
        root = np.sqrt(ensemble.sample_weight)
        frame, errors, state = self._learn(ensemble, root)
        frame.release()
        E = errors.error()
        Z = frame.original(state.J)
        vectors = self._vectors(frame, state)
        cut = cut_rows(
            vectors if self.unit_rows else vectors / root[:, None],
            c,
            unit=self.unit_rows,
            weights=ensemble.sample_weight,
            seeds=rng.spawn(self.n_init),
            n_jobs=self.n_jobs,
        )
        outlier_score = np.linalg.norm(E, axis=0) / np.linalg.norm(frame.U * frame.lam, axis=1)
        last = state.history[-1]
        return Solution(
            cut.labels,
            history=state.history,
            converged=state.converged,
            shortfall=(
                f"max |S - S Z - E| = {last['residual']:.1e} and max |Z - J| = {last['gap']:.1e} exceed "
                f"tol={self.tol:g}; "
                f"raise max_iter={self.max_iter}"
                if state.certified
                else "singular values above the threshold may have been missed; lower tol or raise max_iter"
            ),
            per_sample={"embedding": state.H / root[:, None], "outlier_score": outlier_score},
            per_pair={"representation": scaled(Z, 1.0 / root), "error": scaled(E, 1.0 / root)},
            extra={"rank": state.J.rank, "singular_values": state.J.values},
        )

    def _vectors(self, frame: Frame, state: State) -> np.ndarray:
        """(u, c) orthonormal columns whose rows k-means divides."""
        if self.labels_from == "embedding":
            return state.H
        graph = frame.graph if self.labels_from == "representation" else squared_cosines(frame, state.J)
        return spectral_rows(graph, frame.root, state.H.shape[1], self.n_jobs)

    def _options(self) -> dict:
        return {
            "low_rank_weight": self.low_rank_weight,
            "penalty": self.penalty,
            "growth": self.growth,
            "affinity": self.affinity,
            "tol": self.tol,
            "max_iter": self.max_iter,
        }

    def _learn(self, ensemble: Compressed, root: np.ndarray):
        raise NotImplementedError

    def _frame(self, ensemble: Compressed, root: np.ndarray, S: np.ndarray | None = None) -> Frame:
        """S in its eigenbasis; through the base clusters where they are fewer than the objects."""
        u, k = ensemble.n_samples, ensemble.n_base_clusters
        if self.entries == "together" and not ensemble.has_missing and k < _THIN * u:
            F = sp.diags_array(root / np.sqrt(ensemble.n_clusterings)) @ ensemble.indicator()
            pairs = eigenpairs_of_product(sp.csr_array(F), self.n_jobs)
        else:
            if S is None:
                S = scaled(co_association(ensemble, self.entries, self.n_jobs), root)
            values, vectors = every_eigenpair(S, n_jobs=self.n_jobs)
            pairs = values[::-1], vectors[:, ::-1]
        return Frame(*pairs, root, n_clusters=self.n_clusters, n_jobs=self.n_jobs)
