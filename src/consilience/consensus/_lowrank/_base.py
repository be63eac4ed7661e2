"""What RSEC and NRSEC share around their Lagrangian: S, its eigenbasis, and how labels are read."""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
import scipy.sparse as sp

from ..._base.estimator import declared
from ..._base.parameters import Choice, Flag, MaxIter, MinClusterSize, NInit, NJobs, Nothing, Real, Seed
from ..._data.distinct import Compressed
from ..._kernels.cut.embedding import cut_rows
from ..._kernels.eigen import every_eigenpair
from ..._kernels.eigen.singular import LowRank
from ..._kernels.runtime.threads import row_product
from .._base import BaseConsensus, Solution
from ._embedding import leading_vectors
from ._lagrangian import Frame, State, eigenpairs_of_product, ensure_memory

Positive = Annotated[float, Real(0, open_low=True)]
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


@declared
class BaseLowRank(BaseConsensus):
    """A method that learns Z and H by :func:`._lagrangian.solve` and reads labels off either.

    Parameters
    ----------
    labels_from : {"embedding", "representation", "subspaces"}
        How labels are found. "embedding": by k-means on H. "representation": by spectral clustering of the
        graph of Z from which H is learned. "subspaces": by spectral clustering of the squared cosines between
        the rows of L Sigma^1/2, where Z = L Sigma R', as in low-rank representation.
    affinity : {"absolute", "signed"}
        Graph of Z: ``(|Z| + |Z|')/2`` ("absolute"), or (Z + Z')/2 as in the paper ("signed"), whose row sums
        can be negative.
    entries : {"together", "signed"}
        Entries of S. "together": the share of the clusterings that put a pair together, among those that saw
        both. "signed": the mean of +1 for together, -1 for apart and 0 for unseen, which the paper uses for
        ensembles with missing labels; it cannot tell two clusters apart.
    penalty : float or None
        Initial penalty (mu_0 in the paper), between 1e-20 and 1e20. None uses 1.5 divided by the largest
        eigenvalue of S. The paper uses 1e-6.
    unit_rows : bool
        Whether to scale the rows for k-means to length one. The paper does so for Z, but not for H.
    tol : float
        The iteration stops when every entry of S - S Z - E and of Z - J is smaller.
    max_iter : int
        Maximum number of iterations.

    Attributes
    ----------
    embedding_ : array (n_samples, n_clusters)
        The embedding, H.
    outlier_score_ : array (n_samples,)
        Norm of the column of E of each object, relative to that of S: the share of its evidence that the
        low-rank structure does not explain. Objects about which the base clusterings contradict each other
        score high.
    representation_, error_ : arrays (u, u)
        Z and E between the distinct objects, in the order of ``distinct_``.
    rank_, singular_values_ : int and array
        Rank of J, and its singular values.
    history_ : list of dict
        For each iteration: ``residual`` (a bound on max ``|S - S Z - E|``), ``gap`` (one on max ``|Z - J|``,
        close to it near ``tol``), ``penalty`` (mu), ``rank`` (of J), ``bad_degrees`` (rows of the graph whose
        sum is not positive).
    """

    labels_from: Annotated[str, Choice("embedding", "representation", "subspaces")] = "embedding"
    affinity: Annotated[str, Choice("absolute", "signed")] = "absolute"
    entries: Annotated[str, Choice("together", "signed")] = "together"
    # Beyond these bounds, products with the penalty leave single precision.
    penalty: Annotated[float | None, Real(1e-20, 1e20) | Nothing()] = None
    unit_rows: Annotated[bool, Flag()] = True
    tol: Positive = 1e-7
    max_iter: MaxIter = 500
    n_init: NInit = 20
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    embedding_: ClassVar[np.ndarray]
    outlier_score_: ClassVar[np.ndarray]
    representation_: ClassVar[np.ndarray]
    error_: ClassVar[np.ndarray]
    rank_: ClassVar[int]
    singular_values_: ClassVar[np.ndarray]

    _any_unit = False
    _BYTES: ClassVar[int]  # for each pair of distinct objects

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
        names = ("low_rank_weight", "penalty", "growth", "affinity", "tol", "max_iter")
        return {name: getattr(self, name) for name in names}

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
