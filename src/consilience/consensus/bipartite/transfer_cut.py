"""Locally weighted graph partitioning: cut the graph of objects and clusters, solving on the side of the clusters.

    ECI(C) = exp( - H(C) / theta ),   H(C) the mean entropy of the clusterings on C                     (1)
    B_pC = ECI(C) if p is in C, else 0                                                                  (2)
    W = B' diag(w / d) B,   d = B 1                                                                     (3)
    W v = gamma D v,   D = diag(W 1),   the n_clusters largest gamma                                    (4)
    U = diag(1 / d) B V,   rows to unit length, k-means with weights w                                  (5)

B (u, k) weighs the edges between u distinct objects and k base clusters, w (u,) are the weights of the objects,
W (k, k) couples clusters that share objects, V (k, n_clusters). (4) is the transfer cut: it has the same solutions as
the normalised cut of the whole graph of u + k vertices, and nothing pairwise between objects is ever formed.

References
----------
D. Huang, C.-D. Wang and J.-H. Lai, "Locally weighted ensemble clustering", IEEE Transactions on Cybernetics 48(5), 2018.
Z. Li, X.-M. Wu and S.-F. Chang, "Segmentation using superpixels: a bipartite graph partitioning approach", CVPR 2012.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...evidence import trust_by_reliability
from ...kernels.cut import cut_rows
from ...kernels.eigen import Leading, leading_eigenvectors
from ...kernels.overlaps import cluster_reliability, gather, overlap_matrix, scatter
from ...validation import Integer, Real
from .._base import BaseConsensus, Solution

_EXPLICIT_UP_TO = 5000  # base clusters; beyond, W (200 MB there) is applied as a product instead of formed


def cluster_vectors(
    ensemble: Any, eci: np.ndarray, count: int, n_jobs: int | None
) -> tuple[Leading, np.ndarray]:
    """Eq. (3) and (4): (eigenpairs of D^-1/2 W D^-1/2, the vectors V of (4))."""
    labels, offsets, k = ensemble.labels, ensemble.offsets, ensemble.n_total_clusters
    e = eci[:, None]
    share = ensemble.weights[:, None] / gather(labels, offsets, e, n_jobs=n_jobs)  # w / d
    # W 1 = B' diag(w / d) B 1 = B' w: every cluster holds an object, so D has no zeros.
    root = 1.0 / np.sqrt(e * scatter(labels, offsets, ensemble.weights[:, None], n_jobs=n_jobs))
    scaled = e * root

    def product(X: np.ndarray) -> np.ndarray:
        lifted = gather(labels, offsets, scaled * X, n_jobs=n_jobs)
        return scaled * scatter(labels, offsets, share * lifted, n_jobs=n_jobs)

    if k <= _EXPLICIT_UP_TO:
        W = overlap_matrix(labels, offsets, share[:, 0], n_jobs=n_jobs)
        W *= scaled
        W *= scaled.T
        found = leading_eigenvectors(lambda X: W @ X, k, count, dense=lambda: W)
    else:
        found = leading_eigenvectors(product, k, count)
    return found, root * found.vectors


def object_vectors(ensemble: Any, eci: np.ndarray, V: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """U of Eq. (5), before its rows are scaled: the weighted mean of V over an object's clusters."""
    labels, offsets = ensemble.labels, ensemble.offsets
    stacked = gather(labels, offsets, eci[:, None] * np.hstack([V, np.ones((len(V), 1))]), n_jobs=n_jobs)
    return stacked[:, :-1] / stacked[:, -1:]


class LWGP(BaseConsensus):
    """Locally weighted graph partitioning: transfer cut of the graph between objects and reliable clusters.

    Linear in the number of objects; also the consensus of MDEC-BG (with ``theta=1``).

    Parameters
    ----------
    n_clusters : int
        Number of clusters returned.
    theta : float, default 0.4
        How far an unstable cluster is still trusted: small values trust only what all clusterings agree on, large
        values weigh all clusters alike.
    n_init : int, default 10
        Starts of the final k-means; the best is kept.
    random_state : int, Generator or None
        Seed of these starts.
    n_jobs : int or None
        Threads; None is all cores.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of each object, 0 the largest.
    cluster_reliability_ : array (k,)
        ECI of every base cluster, by its number in the ensemble (``ensemble.offsets[i] + j``).
    clustering_weights_ : array (n_clusterings,)
        Trust in each base clustering, adding up to 1: the mean ECI of its clusters, by their weight, normalised.
    confidence_ : array (n_samples,)
        Share of an object's evidence that points to its own cluster, in (0, 1].
    embedding_ : array (n_samples, n_clusters)
        The vectors of Eq. (5).

    Notes
    -----
    O(u m^2) time for reliabilities and W, O(k^2) for each step of the eigensolver; memory O(u m + k^2), and O(u m + k) from
    5,000 base clusters on. An object not seen by a clustering has no edge to it; nothing else changes.

    Differences from the paper: as in the authors' program, U is not scaled by 1 / (1 - gamma) of the transfer-cut theorem.

    Examples
    --------
    >>> import consilience as cs
    >>> base = [[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]]
    >>> cs.LWGP(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    constraints = {"theta": Real(0, open_low=True), "n_init": Integer(1)}
    _test_params = [{"n_init": 3}]
    _remedy = "use fewer or coarser clusterings"

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        theta: float = 0.4,
        n_init: int = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.n_clusters = n_clusters
        self.theta = theta
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, ensemble, rng):
        eci = cluster_reliability(
            ensemble.labels, ensemble.offsets, ensemble.weights, self.theta, n_jobs=self.n_jobs
        )
        count = min(self.n_clusters, ensemble.n_total_clusters)
        found, V = cluster_vectors(ensemble, eci, count, self.n_jobs)
        U = object_vectors(ensemble, eci, V, self.n_jobs)
        cut = cut_rows(
            U,
            self.n_clusters,
            unit=True,
            weights=ensemble.weights,
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
            per_sample={"embedding": U},
        )
