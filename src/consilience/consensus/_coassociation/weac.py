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

from typing import Any

import numpy as np

from ..._base.parameters import Choice, Real
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


class WEAC(BaseConsensus):
    """Weighted evidence accumulation: linkage in which clusterings that agree with the others count more.

    The method is deterministic.


    Parameters
    ----------
    n_clusters : int
        Number of clusters returned.
    linkage : {"average", "complete", "single"}
        Distance between two groups: the mean, largest or smallest 1 - A over their pairs.
    power : float, default 1
        Exponent of the mean agreement. 0 trusts all clusterings alike, large values only those that agree
        best.
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
    clustering_weights_ : array (n_clusterings,)
        Trust in each base clustering, a of Eq. (1). Adds up to 1.
    heights_ : array (u - 1,)
        Heights of the merges of distinct objects, in increasing order.

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

    _constraints = {"linkage": Choice("average", "complete", "single"), "power": Real(0)}
    _test_params = [{}, {"power": 4.0}]

    clustering_weights_: np.ndarray
    heights_: np.ndarray

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        linkage: str = "average",
        power: float = 1.0,
        min_cluster_size: float | None = None,
        n_jobs: int | None = -1,
    ):
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.power = power
        self.min_cluster_size = min_cluster_size
        self.n_jobs = n_jobs

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
