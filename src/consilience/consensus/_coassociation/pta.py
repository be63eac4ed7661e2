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

from typing import Annotated, ClassVar

import numpy as np

from ..._base.estimator import declared
from ..._base.parameters import Choice, MinClusterSize, NJobs
from ..._kernels.pairs.linkage import cut_tree, merge_tree_inplace
from ..._kernels.pairs.trajectories import similarity_bytes, trajectory_similarity
from ..._kernels.runtime.memory import WITHOUT_PAIRS, ensure_fits
from .._base import Solution
from ._walks import BaseWalks, walk


@declared
class PTA(BaseWalks):
    """Probability trajectory accumulation: linkage of objects by where random walks from them go.

    The method is deterministic.

    Parameters
    ----------
    linkage : {"average", "complete", "single"}
        Distance between two groups: the mean, largest or smallest 1 - Z over their pairs.

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

    linkage: Annotated[str, Choice("average", "complete", "single")] = "average"
    min_cluster_size: MinClusterSize = None
    n_jobs: NJobs = -1

    heights_: ClassVar[np.ndarray]

    _test_params = [{}, {"linkage": "complete"}, {"linkage": "single", "count_duplicates": False}]

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
