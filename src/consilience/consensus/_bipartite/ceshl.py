"""Clustering ensemble via structured hypergraph learning: the pieces of a hypergraph are the clusters.

    base clusters have weights v (k,), by how cohesive they are and how they overlap with others        (1)
    the incidence H (u, k) of objects and base clusters starts at their indicator Y and stays near it   (2)
    rho, the weight of the number of pieces, is raised until there are n_clusters pieces                (3)

The updates are in ``_hypergraph``.

References
----------
P. Zhou, X. Wang, L. Du and X. Li, "Clustering ensemble via structured hypergraph learning", Information
Fusion 78, 2022.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np

from ..._base.estimator import declared
from ..._base.parameters import MaxIter, MinClusterSize, NJobs, Real
from ..._kernels.cut.partition import merge_clusters, one_hot, split_clusters
from ..._kernels.labels.overlaps import overlap_matrix
from ..._kernels.runtime.memory import ensure_fits
from .._base import BaseConsensus, Solution
from ._hypergraph import cohesion, learn, update_v


@declared
class CESHL(BaseConsensus):
    """Structured hypergraph learning: objects move between base clusters until the hypergraph falls apart.

    The pieces of the hypergraph are the clusters. The method is deterministic.

    Parameters
    ----------
    cohesion_weight : float
        How closely the weight of a base cluster follows the co-association of its objects (lam in Eq. (1) of
        ``_hypergraph``). Small values give overlapping base clusters similar weights.
    max_iter : int
        Maximum number of rounds.

    Attributes
    ----------
    cluster_reliability_ : array (k,)
        v, the weight of every base cluster in [0, 1], by its number in the ensemble (``ensemble.offsets[i] +
        j``).
    embedding_ : array (n_samples, n_clusters)
        F, the embedding by which pieces that are too large are split.
    distinct_incidence_ : array (u, k)
        H, in the order of ``distinct_``.
    n_pieces_ : int
        Number of pieces of the hypergraph. If it is not n_clusters, pieces were merged or split.
    history_ : list of dict
        At each round ``rho``, the weight of the number of pieces, and ``pieces``.

    Notes
    -----
    The fit takes O(u m^2 + k^3) time once and O(u k c) per step, with 21 steps a round, and 250 u k + 24 k^2
    bytes; an error is raised beforehand if they do not fit. No matrix of pairs is formed. F holds
    eigenvectors of the plain Laplacian while the step for H uses the normalized one, as published, so that
    the objective need not fall. A weight of 1 stands for one object. A missing label is a 0 in Y, which H may
    fill in.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> cs.consensus.CESHL(n_clusters=2).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    # Below, the weights of clusters are not determined.
    cohesion_weight: Annotated[float, Real(1e-9, 1e9)] = 1.0
    max_iter: MaxIter = 100
    min_cluster_size: MinClusterSize = None
    n_jobs: NJobs = -1

    cluster_reliability_: ClassVar[np.ndarray]
    embedding_: ClassVar[np.ndarray]
    distinct_incidence_: ClassVar[np.ndarray]
    n_pieces_: ClassVar[int]

    _test_params = [{"max_iter": 20}]
    _any_unit = False
    _steps = "rounds"
    _remedy = "use HBGF, which holds no matrix of objects by base clusters, or fewer or coarser clusterings"

    def _fit(self, ensemble, rng):
        u, k, c, weights = (
            ensemble.n_samples,
            ensemble.n_base_clusters,
            self.n_clusters,
            ensemble.sample_weight,
        )
        ensure_fits(
            250.0 * u * k + 24.0 * k * k,
            what=f"CESHL on {u} distinct objects and {k} base clusters",
            remedy=self._remedy,
        )
        K = overlap_matrix(ensemble.labels, ensemble.offsets, weights, n_jobs=self.n_jobs)
        v = update_v(K, cohesion(ensemble, K), self.cohesion_weight)
        Y = ensemble.indicator().toarray()
        H, F, labels, history = learn(Y, v, weights, c, self.max_iter)
        pieces = history[-1]["pieces"]
        return Solution(
            _repaired(labels, c, Y, F, weights),
            history=history,
            converged=pieces == c,
            shortfall=f"its hypergraph has {pieces} pieces instead of {c}; raise max_iter={self.max_iter}",
            per_sample={"embedding": F},
            per_cluster={"cluster_reliability": v},
            per_distinct_edge={"distinct_incidence": H},
            extra={"n_pieces": pieces},
        )


def _repaired(labels, n_clusters, Y, F, weights) -> np.ndarray:
    """Split pieces by F, or merge them by the base clusters that they share in Y, to exactly n_clusters."""
    count = int(labels.max()) + 1
    if count <= n_clusters:
        return split_clusters(labels, n_clusters, embedding=F, weights=weights)
    totals = np.bincount(labels, weights=weights)
    shares = (one_hot(labels, count, weights).T @ Y) / totals[:, None]  # (pieces, k)
    return merge_clusters(np.arange(count), n_clusters, similarity=shares @ shares.T, weights=totals)[labels]
