"""Probability trajectory accumulation: objects are similar if random walks from them go the same ways.

    S_pq = A_pq if among the K largest of p or of q (ties kept), else 0   (1)
    P = rows of S diag(w) scaled to add up to 1                           (2)
    Z_pq = cosine of what walks of 1..T steps from p and q reach          (3)
    linkage of 1 - Z                                                      (4)

A (u, u) co-association of the distinct objects ("microclusters") without its diagonal, w (u,) their weights.

References
----------
D. Huang, J.-H. Lai and C.-D. Wang, "Robust ensemble clustering using probability trajectories", IEEE
Transactions on Knowledge and Data Engineering 28(5), 2016.
"""

from __future__ import annotations

import numpy as np

from ..._base.parameters import Choice, Flag, Integer, Nothing
from ..._kernels.pairs.linkage import cut_tree, merge_tree_inplace
from ..._kernels.pairs.trajectories import MOST_STEPS, similarity_bytes, trajectory_similarity
from ..._kernels.runtime.memory import WITHOUT_PAIRS, ensure_fits
from .._base import BaseConsensus, Solution
from ._walks import walk


class PTA(BaseConsensus):
    """Probability trajectory accumulation: linkage of objects by where random walks from them go.

    The method is deterministic.


    Parameters
    ----------
    n_clusters : int
        Number of clusters returned.
    linkage : {"average", "complete", "single"}
        Distance between two groups: the mean, largest or smallest 1 - Z over their pairs.
    n_neighbors : int, default None
        Number of neighbors that a walk may go to from an object (K in the paper). None uses half the square
        root of the number of distinct objects, at least 1 and at most 20.
    walk_length : int, default None
        Number of steps of the walks (T in the paper), at most 10,000. None uses the same rule as for
        n_neighbors.
    count_duplicates : bool, default True
        Whether a distinct object counts as all the objects it stands for: these are then neighbors of each
        other, and means and clusters are weighted by them. False, as published: walks never stay at an
        object, and each distinct object counts once. The walks are weighted either way.
    min_cluster_size : float or None, default None
        Clusters that weigh less are merged; see :meth:`fit`.
    n_jobs : int or None, default -1
        Number of threads. -1 uses all cores, None follows joblib.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of each object, 0 the largest.
    confidence_ : array (n_samples,)
        How sure the base clusterings are of each object's cluster, in [0, 1]. It is not a probability.
    heights_ : array (u - 1,)
        Heights of the merges of distinct objects, in increasing order.

    Notes
    -----
    The fit takes O(u^2 m + T e u) time for e links between neighbors (2 K u, and more with ties) and 16 u^2
    bytes; with more than u^2 / T links it takes O(u^2 m + u^3) time and 40 u^2 bytes. An error is raised
    beforehand if they do not fit into memory. With missing labels, A is taken over the clusterings that saw
    both objects. Objects without any neighbor are at distance 1 from all others.

    Examples
    --------
    >>> import numpy as np
    >>> import consilience as cs
    >>> rng, truth = np.random.default_rng(0), np.repeat([0, 1], [30, 20])
    >>> runs = [np.where(rng.random(50) < 0.2, rng.integers(0, 4, 50), truth) for _ in range(8)]
    >>> np.bincount(cs.consensus.PTA(n_clusters=2).fit_predict(np.column_stack(runs))).tolist()
    [30, 20]
    """

    _constraints = {
        "linkage": Choice("average", "complete", "single"),
        "n_neighbors": Nothing() | Integer(1),
        "walk_length": Nothing() | Integer(1, MOST_STEPS),
        "count_duplicates": Flag(),
    }
    _test_params = [{}, {"linkage": "complete"}, {"linkage": "single", "count_duplicates": False}]

    heights_: np.ndarray

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        linkage: str = "average",
        n_neighbors: int | None = None,
        walk_length: int | None = None,
        count_duplicates: bool = True,
        min_cluster_size: float | None = None,
        n_jobs: int | None = -1,
    ):
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.n_neighbors = n_neighbors
        self.walk_length = walk_length
        self.count_duplicates = count_duplicates
        self.min_cluster_size = min_cluster_size
        self.n_jobs = n_jobs

    def _fit(self, ensemble, rng):
        u = ensemble.n_samples
        what = f"PTA on {u} distinct objects"
        ensure_fits(
            16.0 * u * u, what=what, remedy=WITHOUT_PAIRS
        )  # at least; checked before neighbors are searched
        found = walk(self, ensemble, ensemble.sample_weight)
        ensure_fits(similarity_bytes(found.P, found.steps), what=what, remedy=WITHOUT_PAIRS)
        Z = trajectory_similarity(found.P, found.steps, measure=found.measure, n_jobs=self.n_jobs)
        distance = np.subtract(1.0, Z, out=Z)
        np.fill_diagonal(distance, 0.0)
        weights = ensemble.sample_weight if self.count_duplicates else np.ones(u)
        left, right, heights = merge_tree_inplace(distance, weights, self.linkage)
        return Solution(
            cut_tree(left, right, self.n_clusters),
            n_iter=1,
            merges=np.stack([left, right], axis=1),
            extra={"heights": heights},
        )
