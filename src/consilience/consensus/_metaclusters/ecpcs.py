"""Enhanced ensemble clustering via cluster-wise similarity propagation: random walks between base clusters.

    P = rows of J, without its diagonal, scaled to add up to 1                                             (1)
    Z_ab = cosine of what walks of 1..T steps from base clusters a and b reach                             (2)
    HC: E_pq = mean over clusterings that saw both of Z[cluster of p, cluster of q]; average linkage(3)
    MC: cut the graph of base clusters with edges Z in n_clusters groups; objects vote                     (4)

J (k, k) Jaccard overlap of base clusters, Z (k, k), E (u, u).

References
----------
D. Huang, C.-D. Wang, H. Peng, J. Lai and C.-K. Kwoh, "Enhanced ensemble clustering via fast propagation of
cluster-wise similarities", IEEE Transactions on Systems, Man, and Cybernetics: Systems 51(1), 2021.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np

from ..._base.estimator import declared
from ..._base.parameters import Choice, Integer, MinClusterSize, NInit, NJobs, Seed
from ..._kernels.cut.graph import partition_graph
from ..._kernels.cut.metaclusters import jaccard, vote
from ..._kernels.labels.overlaps import overlap_matrix
from ..._kernels.pairs.association import refined_association
from ..._kernels.pairs.linkage import cut_tree, merge_tree_inplace
from ..._kernels.pairs.trajectories import MOST_STEPS, stochastic_rows, trajectory_similarity
from ..._kernels.runtime.memory import WITHOUT_PAIRS, ensure_fits
from .._base import BaseConsensus, Solution


def walk_similarity(K: np.ndarray, offsets: np.ndarray, steps: int, n_jobs: int | None = -1) -> np.ndarray:
    """Z (k, k) of Eqs. (1) and (2) from the overlaps K = Y' diag(w) Y.

    The similarity of a base cluster to itself is 1, even if no other overlaps it.
    """
    J = jaccard(K, offsets)
    np.fill_diagonal(J, 0.0)
    Z = trajectory_similarity(stochastic_rows(J), steps, measure=J.sum(axis=1), n_jobs=n_jobs)
    np.fill_diagonal(Z, 1.0)
    return Z


@declared
class ECPCS(BaseConsensus):
    """Ensemble clustering by propagated similarities of base clusters, hierarchical or by meta-clusters.

    Objects that no clustering put together can still be similar: if their clusters are similar through
    others.

    Parameters
    ----------
    variant : {"hc", "mc"}
        "hc" applies average linkage to the refined co-association (ECPCS-HC, deterministic). "mc" groups the
        base clusters and lets objects vote (ECPCS-MC); it is linear in the number of objects.
    walk_length : int
        Number of steps of the random walks (T in the paper), at most 10,000.
    n_init : int
        Number of starts of k-means on the base clusters ("mc"); the best is kept.

    Attributes
    ----------
    heights_ : array (u - 1,)
        Heights of the merges of distinct objects, in increasing order ("hc").
    votes_, metaclusters_ : arrays (n_samples, n_clusters), (k,)
        Share of each group in the votes of an object, and the group of every base cluster ("mc").

    Notes
    -----
    The fit takes O(u m^2 + k^3) time and 40 k^2 bytes. "hc" takes O(u^2 m) more time and 8 u^2 + 16 u k more
    bytes (twice the u^2 with missing labels); an error is raised beforehand if they do not fit. With missing
    labels, overlaps are taken over the objects that both clusterings saw, and means and votes over the
    clusterings that saw the objects.

    Differences from the paper: base clusters are cut by eigenvectors and k-means instead of rotations, ties
    in the vote go to the heavier group, and exactly n_clusters clusters are returned.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> cs.consensus.ECPCS(n_clusters=2).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    variant: Annotated[str, Choice("hc", "mc")] = "hc"
    walk_length: Annotated[int, Integer(1, MOST_STEPS)] = 20
    n_init: NInit = 10
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    heights_: ClassVar[np.ndarray]
    votes_: ClassVar[np.ndarray]
    metaclusters_: ClassVar[np.ndarray]

    _test_params = [{}, {"variant": "mc", "n_init": 3}]

    def _fit(self, ensemble, rng):
        labels, offsets, weights = ensemble.labels, ensemble.offsets, ensemble.sample_weight
        u, k, c = ensemble.n_samples, ensemble.n_base_clusters, self.n_clusters
        pairs = (
            0.0 if self.variant == "mc" else (16.0 if ensemble.has_missing else 8.0) * u * u + 16.0 * u * k
        )
        ensure_fits(
            40.0 * k * k + pairs,
            what=f"ECPCS on {u} distinct objects and {k} base clusters",
            remedy='use variant="mc", or fewer or coarser clusterings' if pairs else WITHOUT_PAIRS,
        )
        K = overlap_matrix(labels, offsets, weights, n_jobs=self.n_jobs)
        Z = walk_similarity(K, offsets, self.walk_length, self.n_jobs)
        if self.variant == "hc":
            E = refined_association(labels, offsets, Z, n_jobs=self.n_jobs)
            left, right, heights = merge_tree_inplace(np.subtract(1.0, E, out=E), weights, "average")
            return Solution(
                cut_tree(left, right, c),
                n_iter=1,
                merges=np.stack([left, right], axis=1),
                extra={"heights": heights},
            )
        seeds = rng.integers(2**31, size=self.n_init).tolist()
        groups = partition_graph(Z, min(c, k), weights=np.ones(k), seeds=seeds, n_jobs=self.n_jobs)
        votes = vote(labels, offsets, weights, groups, c, n_jobs=self.n_jobs)
        return Solution(
            votes.labels, n_iter=1, per_sample={"votes": votes.shares}, per_cluster={"metaclusters": groups}
        )
