"""Locally weighted graph partitioning: cut the graph between objects and base clusters.

    ECI(C) = exp( - H(C) / theta ),   H(C) the mean entropy of the clusterings on C                     (1)
    B_pC = ECI(C) if p is in C, else 0                                                                  (2)
    W = B' diag(w / d) B,   d = B 1                                                                     (3)
    W v = gamma D v,   D = diag(W 1),   the n_clusters largest gamma                                    (4)
    U = diag(1 / d) B V,   rows to unit length, k-means with weights w                                  (5)

B (u, k) weighs the edges between u distinct objects and k base clusters, w (u,) are the weights of the
objects, W (k, k) couples clusters that share objects, V (k, n_clusters). (4) is the transfer cut: it has the
same solutions as the normalized cut of the whole graph of u + k vertices, and no matrix of pairs of objects
is formed.

References
----------
D. Huang, C.-D. Wang and J.-H. Lai, "Locally weighted ensemble clustering", IEEE Transactions on Cybernetics
48(5), 2018.
Z. Li, X.-M. Wu and S.-F. Chang, "Segmentation using superpixels: a bipartite graph partitioning approach",
CVPR 2012.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np

from ..._base.estimator import declared
from ..._base.parameters import MinClusterSize, NInit, NJobs, Real, Seed
from ..._data.named import incidence_of
from ..._evidence.table import trust_by_reliability
from ..._kernels.cut.embedding import cut_rows
from ..._kernels.cut.transfer import transfer_cut_of
from .._base import BaseConsensus, Solution


@declared
class LWGP(BaseConsensus):
    """Locally weighted graph partitioning: transfer cut of the graph between objects and reliable clusters.

    The method is linear in the number of objects. With ``instability_tolerance=1`` it is the consensus of
    MDEC-BG.

    Parameters
    ----------
    instability_tolerance : float
        How much an unstable base cluster is still trusted (theta in the paper). Small values trust only
        clusters that all clusterings agree on, large values weight all clusters alike.

    Attributes
    ----------
    cluster_reliability_ : array (k,)
        ECI of every base cluster, by its number in the ensemble (``ensemble.offsets[i] + j``).
    clustering_weights_ : array (n_clusterings,)
        Trust in each base clustering: the mean ECI of its clusters, weighted by their size. Adds up to 1.
    embedding_ : array (n_samples, n_clusters)
        The vectors of Eq. (5).

    Notes
    -----
    Reliabilities and W take O(u m^2) time, each step of the eigensolver O(k^2). The fit takes O(u m + k^2)
    memory, or O(u m + k) from 5,000 base clusters on. An object that a clustering did not see has no edge to
    its clusters; nothing else changes. For a :class:`~consilience.SoftEnsemble`, B_pC is ECI(C) times the
    membership of p in C, and H(C) comes from the average contingency tables of clusterings drawn from the
    memberships.

    Differences from the paper: as in the authors' program, U is not scaled by 1 / (1 - gamma) of the
    transfer-cut theorem.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> cs.consensus.LWGP(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    instability_tolerance: Annotated[float, Real(0, open_low=True)] = 0.4
    n_init: NInit = 10
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    cluster_reliability_: ClassVar[np.ndarray]
    clustering_weights_: ClassVar[np.ndarray]
    embedding_: ClassVar[np.ndarray]

    _test_params = [{"n_init": 3}]
    _takes_soft = True
    _remedy = "use fewer or coarser clusterings"

    def _fit(self, ensemble, rng):
        incidence, weights = incidence_of(ensemble), ensemble.sample_weight
        eci = incidence.reliability(weights, self.instability_tolerance, n_jobs=self.n_jobs)
        count = min(self.n_clusters, ensemble.n_base_clusters)
        found = transfer_cut_of(incidence, weights, eci, count, n_jobs=self.n_jobs)
        cut = cut_rows(
            found.objects,
            self.n_clusters,
            unit=True,
            weights=weights,
            seeds=rng.integers(2**31, size=self.n_init).tolist(),
            max_iter=100,
            n_jobs=self.n_jobs,
        )
        return Solution(
            cut.labels,
            n_iter=found.products,
            converged=found.converged,
            shortfall="its eigenvectors were not found to full accuracy",
            per_cluster={"cluster_reliability": eci},
            per_clustering={"clustering_weights": trust_by_reliability(ensemble, eci)},
            per_sample={"embedding": found.objects},
        )
