"""Weighted evidence accumulation: clusterings that agree with the others count more.

    r_i = mean over other clusterings j of NMI(i, j),   a_i = r_i^power / sum                     (1)
    A_pq = sum of a_i over clusterings that put p and q together / sum over those that saw both   (2)
    linkage of 1 - A                                                                              (3)

a (m,) trust in the clusterings, A (u, u) co-association of the distinct objects.

References
----------
D. Huang, J.-H. Lai and C.-D. Wang, "Combining multiple clusterings via crowd agreement estimation and
multi-granularity link analysis", Neurocomputing 170, 2015.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from ..._base.estimator import declared
from ..._base.parameters import Choice, MinClusterSize, NJobs, Real
from ..._kernels.pairs.linkage import cut_tree, merge_tree_inplace
from ..._kernels.runtime.memory import WITHOUT_PAIRS, ensure_fits
from .._base import BaseConsensus, Solution


def crowd_agreement(ensemble: Any, power: float) -> np.ndarray:
    """a (m,), Eq. (1), over pairs of clusterings that saw some of the same objects.

    All are equal if no clustering says anything about another.
    """
    m = ensemble.n_clusterings
    similarity = ensemble.clustering_similarity("nmi")
    compared = ~np.isnan(similarity) & ~np.eye(m, dtype=bool)
    total = np.where(compared, similarity, 0.0).sum(axis=1)
    agreement = np.clip(total / np.maximum(compared.sum(axis=1), 1), 0.0, 1.0)
    if agreement.max() < 1e-12:
        return np.full(m, 1.0 / m)
    trust = (agreement / agreement.max()) ** power
    return trust / trust.sum()


@declared
class WEAC(BaseConsensus):
    """Weighted evidence accumulation: linkage in which clusterings that agree with the others count more.

    The method is deterministic.

    Parameters
    ----------
    linkage : {"average", "complete", "single"}
        Distance between two groups: the mean, largest or smallest 1 - A over their pairs.
    power : float
        Exponent of the mean agreement. 0 trusts all clusterings alike, large values only those that agree
        best.

    Attributes
    ----------
    clustering_weights_ : array (n_clusterings,)
        Trust in each base clustering, a of Eq. (1). Adds up to 1.

    Notes
    -----
    The fit takes O(u m^2 + u^2 m) time and 8 u^2 bytes; an error is raised beforehand if they do not fit. Two
    objects that no clustering saw together count as apart.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> model = cs.consensus.WEAC(n_clusters=2).fit(base)
    >>> model.labels_.tolist(), model.clustering_weights_.round(2).tolist()
    ([1, 1, 0, 0, 0], [0.23, 0.38, 0.38])
    """

    linkage: Annotated[str, Choice("average", "complete", "single")] = "average"
    power: Annotated[float, Real(0)] = 1.0
    min_cluster_size: MinClusterSize = None
    n_jobs: NJobs = -1

    clustering_weights_: ClassVar[np.ndarray]
    heights_: ClassVar[np.ndarray]

    _test_params = [{}, {"power": 4.0}]

    def _fit(self, ensemble, rng):
        u = ensemble.n_samples
        ensure_fits(8.0 * u * u, what=f"WEAC on {u} distinct objects", remedy=WITHOUT_PAIRS)
        trust = crowd_agreement(ensemble, self.power)
        A = ensemble.coassociation(clustering_weights=trust, n_jobs=self.n_jobs)
        distance = np.subtract(1.0, A, out=A)
        left, right, heights = merge_tree_inplace(distance, ensemble.sample_weight, self.linkage)
        return Solution(
            cut_tree(left, right, self.n_clusters),
            n_iter=1,
            per_clustering={"clustering_weights": trust},
            merges=np.stack([left, right], axis=1),
            extra={"heights": heights},
        )
