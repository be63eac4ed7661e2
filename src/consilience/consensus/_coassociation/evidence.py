"""Evidence accumulation: agglomerate objects that were often put together.

    A_pq = share of the clusterings that put p and q together, among those that saw both   (1)
    merge the two groups of smallest linkage distance, 1 - A, until n_clusters are left    (2)
    distance="rows": the distances |A_p - A_q| between rows of A replace 1 - A             (3)

A (u, u) co-association of distinct objects; groups start with the weights of the objects they stand for, so
that the tree is the same as that of all n objects.

References
----------
A. Fred and A. Jain, "Combining multiple clusterings using evidence accumulation", IEEE TPAMI 27(6), 2005.
V. Kiselev et al., "SC3: consensus clustering of single-cell RNA-seq data", Nature Methods 14, 2017 (rows,
complete linkage).
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from ..._base.estimator import declared
from ..._base.parameters import Choice, MinClusterSize, NJobs
from ..._kernels.pairs.linkage import cut_tree, merge_tree_inplace
from ..._kernels.runtime.memory import WITHOUT_PAIRS, ensure_fits
from ..._kernels.runtime.threads import row_product
from .._base import BaseConsensus, Solution
from ._rows import embed


def row_distances(ensemble: Any, n_jobs: int | None = -1) -> np.ndarray:
    """(u, u) distances between the rows of A of all objects, Eq. (3), exactly symmetric."""
    points = embed(ensemble)
    inner = row_product(points, points.T, n_jobs=n_jobs)
    squares = inner.diagonal().copy()
    inner += inner.T.copy()
    distance = np.subtract(squares[:, None] + squares, inner, out=inner)
    np.sqrt(np.maximum(distance, 0.0, out=distance), out=distance)
    np.fill_diagonal(distance, 0.0)
    return distance


@declared
class EvidenceAccumulation(BaseConsensus):
    """Hierarchical clustering of the co-association matrix (average, complete or single linkage).

    This is a plain and strong baseline: it has no parameters to tune and is deterministic.

    Parameters
    ----------
    linkage : {"average", "complete", "single"}
        Distance between two groups: the mean, largest or smallest 1 - A over their pairs.
    distance : {"pairs", "rows"}
        Distance between two objects: 1 - A ("pairs"), or the Euclidean distance between their rows of A
        ("rows"). With "rows", objects that share their neighbors are close even if they were seldom together;
        complete linkage then gives the consensus of SC3, and average linkage what the R package diceR calls
        CSPA.

    Attributes
    ----------
    heights_ : array (u - 1,)
        Heights of the merges of distinct objects, in increasing order. A wide gap suggests a number of
        clusters.

    Notes
    -----
    The method works on the u distinct objects and takes O(u^2 m) time and 8 u^2 bytes. Two objects that no
    clustering saw together count as apart (A = 0). With ``distance="rows"`` it takes 8 u^2 + 16 u k + 56 k^2
    bytes, and row p holds shares of the clusterings that saw p. For a :class:`~consilience.SoftEnsemble`, A
    is the expected co-association, and objects with equal memberships start as one group.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> cs.consensus.EvidenceAccumulation(n_clusters=2).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    linkage: Annotated[str, Choice("average", "complete", "single")] = "average"
    distance: Annotated[str, Choice("pairs", "rows")] = "pairs"
    min_cluster_size: MinClusterSize = None
    n_jobs: NJobs = -1

    heights_: ClassVar[np.ndarray]

    _takes_soft = True
    _test_params = [{}, {"linkage": "complete"}, {"linkage": "single"}, {"distance": "rows"}]

    def _fit(self, ensemble, rng):
        u = ensemble.n_samples
        ensure_fits(8.0 * u * u, what=f"Evidence accumulation on {u} distinct objects", remedy=WITHOUT_PAIRS)
        if self.distance == "rows":
            distance = row_distances(ensemble, self.n_jobs)
        else:
            A = ensemble.coassociation(n_jobs=self.n_jobs)
            distance = np.subtract(1.0, A, out=A)
        left, right, heights = merge_tree_inplace(distance, ensemble.sample_weight, self.linkage)
        return Solution(
            cut_tree(left, right, self.n_clusters),
            n_iter=1,
            merges=np.stack([left, right], axis=1),
            extra={"heights": heights},
        )
