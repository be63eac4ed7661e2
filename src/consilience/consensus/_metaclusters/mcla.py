"""Meta-clustering: base clusters that overlap are gathered in groups, and objects join the group that most of
    theirs are in.

    K = Y' diag(w) Y,   J_ab = K_ab / (K_a(b) + K_b(a) - K_ab)                                          (1)
    cut the graph of base clusters with edges J in n_clusters groups                                    (2)
    M_pj = mean over base clusters b in group j, of clusterings that saw p, of Y_pb                     (3)
    label of p = argmax_j M_pj                                                                          (4)

Y (u, k) indicator of base clusters, w (u,) weights of the distinct objects, K_a(b) the weight of cluster a
that the clustering of b saw.

References
----------
A. Strehl and J. Ghosh, "Cluster ensembles: a knowledge reuse framework for combining multiple partitions",
Journal of Machine Learning Research 3, 2002.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._base.parameters import Choice, Integer
from ..._kernels.cut.graph import PARTITIONERS, partition_graph
from ..._kernels.cut.metaclusters import jaccard, vote
from ..._kernels.labels.overlaps import overlap_matrix
from .._base import BaseConsensus, Solution

_DENSE_UP_TO = 5000  # base clusters; beyond, only those that share an object are stored


class MCLA(BaseConsensus):
    """Meta-clustering algorithm: base clusters are clustered by overlap, and objects vote.

    Linear in the number of objects.

    Parameters
    ----------
    n_clusters : int
        Number of clusters returned.
    partitioner : {"spectral", "metis"}, default "spectral"
        How base clusters are grouped. "metis" (extra ``graph``) as published: it asks for groups of equal
        weight and cuts through unequal ones. On the Lung data (139, 17, 21, 20 and 6 objects) accuracy is
        0.70 with it and 0.84 without.
    n_init : int, default 10
        Starts of k-means on the base clusters, or runs of METIS; the best is kept.
    min_cluster_size : float or None, default None
        Smaller clusters are merged; see :meth:`fit`.
    random_state : int, Generator or None
        Seed of these starts.
    n_jobs : int or None, default -1
        Threads; -1 is all cores, None as in joblib.

    Attributes
    ----------
    labels_, confidence_ : arrays (n_samples,)
        Cluster of each object, 0 the largest; and how sure the base clusterings are of it, in [0, 1], on the
        scale of all methods: :attr:`consilience._evidence.table.Evidence.confidence`.
    votes_ : array (n_samples, n_clusters)
        M of Eq. (3), by falling weight of the groups of base clusters; columns are not in the order of
        ``labels_``.
    metaclusters_ : array (k,)
        Group of every base cluster, by its number in the ensemble (``ensemble.offsets[i] + j``).

    Notes
    -----
    O(u m^2 + u m c + k^2) time, O(u c + k^2) memory; from 5,000 base clusters on only overlapping ones are
    stored. Missing labels: overlaps among the objects that both clusterings saw, votes among the clusterings
    that saw the object.

    Differences from the paper: eigenvectors instead of METIS unless asked for; ties go to the heavier group
    instead of at random; a group that wins nobody is replaced by splitting another, so that exactly
    n_clusters come back.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> model = cs.consensus.MCLA(n_clusters=2, random_state=0).fit(base)
    >>> model.labels_.tolist(), model.metaclusters_.tolist()
    ([1, 1, 0, 0, 0], [1, 0, 1, 0, 1, 0])
    """

    _constraints = {"partitioner": Choice(*PARTITIONERS), "n_init": Integer(1)}
    _test_params = [{"n_init": 3}]
    _remedy = "use fewer or coarser clusterings"

    votes_: np.ndarray
    metaclusters_: np.ndarray

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        partitioner: str = "spectral",
        n_init: int = 10,
        min_cluster_size: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ):
        self.n_clusters = n_clusters
        self.partitioner = partitioner
        self.n_init = n_init
        self.min_cluster_size = min_cluster_size
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, ensemble, rng):
        labels, offsets, weights = ensemble.labels, ensemble.offsets, ensemble.sample_weight
        k, c = ensemble.n_base_clusters, self.n_clusters
        if k <= _DENSE_UP_TO:
            K = overlap_matrix(labels, offsets, weights, n_jobs=self.n_jobs)
        else:
            K = ensemble.contingency_sparse()
        # METIS balances the weight of the groups; in k-means a base cluster is one vote, however large.
        weighs = ensemble.cluster_sizes() if self.partitioner == "metis" else np.ones(k)
        groups = partition_graph(
            jaccard(K, offsets),
            min(c, k),
            weights=weighs,
            method=self.partitioner,
            seeds=rng.integers(2**31, size=self.n_init).tolist(),
            n_jobs=self.n_jobs,
        )
        votes = vote(labels, offsets, weights, groups, c, n_jobs=self.n_jobs)
        return Solution(
            votes.labels,
            n_iter=1,
            per_sample={"votes": votes.shares},
            per_cluster={"metaclusters": groups},
        )
