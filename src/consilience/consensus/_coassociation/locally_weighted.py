"""Locally weighted co-association: base clusters are weighted by how well other clusterings agree on them.

    H(C) = mean over clusterings m of - sum_j p_j log2 p_j,   p_j = |C n C_j^m| / |C|                   (1)
    ECI(C) = exp( - H(C) / theta )                                                                      (2)
    A_pq = mean over clusterings m of ECI(cluster of p in m) [p, q together in m]                       (3)

C is a base cluster, ECI (k,) its ensemble-driven cluster index in (0, 1], A (u, u) the similarity of distinct
objects. There are two ways to find clusters in A:

    LWEA    average linkage of 1 - A, cut at n_clusters                                                 (4)
    LWEA with a sample S: (4) on S alone; an object q outside S joins the cluster C with the largest
            mean of A_pq over p in C                                                                    (4')
    LWSC    leading eigenvectors of D^-1/2 A D^-1/2, unit rows, k-means                                 (5)

References
----------
D. Huang, C.-D. Wang and J.-H. Lai, "Locally weighted ensemble clustering", IEEE Transactions on Cybernetics
48(5), 2018.
D. Huang, C.-D. Wang, J.-H. Lai and C.-K. Kwoh, "Toward multidiversified ensemble clustering of
high-dimensional data: from subspaces to metrics and beyond", IEEE Transactions on Cybernetics 52(11), 2022.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from ..._base.estimator import declared
from ..._base.parameters import Integer, MinClusterSize, NInit, NJobs, Nothing, Real, Seed
from ..._evidence.table import place_others, trust_by_reliability
from ..._kernels.cut.embedding import cut_rows
from ..._kernels.cut.partition import compact
from ..._kernels.eigen import leading_eigenvectors
from ..._kernels.labels.overlaps import cluster_reliability
from ..._kernels.pairs.association import normalized_matrix_inplace, normalized_operator
from ..._kernels.pairs.linkage import cut_tree, merge_tree_inplace
from ..._kernels.runtime.memory import WITHOUT_PAIRS, ensure_fits
from .._base import BaseConsensus, Solution
from ._sample import linked_objects


def reliability(ensemble: Any, instability_tolerance: float, n_jobs: int | None = -1) -> np.ndarray:
    """ECI (k,), Eq. (2).

    With missing labels, p_j is taken over the objects that both saw, and the mean over the clusterings that
    saw any object of C.
    """
    return cluster_reliability(
        ensemble.labels, ensemble.offsets, ensemble.sample_weight, instability_tolerance, n_jobs=n_jobs
    )


def _present(ensemble: Any, rows: np.ndarray) -> np.ndarray:
    """Sorted global numbers of the base clusters that contain some of the rows."""
    here = np.zeros(ensemble.n_base_clusters, bool)
    for column, offset in zip(ensemble.labels[rows].T, ensemble.offsets):
        here[offset + column[column >= 0]] = True
    return np.flatnonzero(here)


@declared
class LWEA(BaseConsensus):
    """Locally weighted evidence accumulation: average linkage that trusts reliable base clusters more.

    With ``instability_tolerance=1`` this is the consensus of MDEC-HC. The method is deterministic.

    Parameters
    ----------
    instability_tolerance : float
        How much an unstable base cluster is still trusted (theta in the paper). Small values trust only
        clusters that all clusterings agree on, large values weight all clusters alike.
    max_samples : int or None
        Maximum number of distinct objects that are linked. If there are more, a sample of this size is drawn
        by weight, the same one every time, and the other objects join the clusters of the sample by Eq. (4').
        None links all objects.

    Attributes
    ----------
    cluster_reliability_ : array (k,)
        ECI of every base cluster, by its number in the ensemble (``ensemble.offsets[i] + j``).
    clustering_weights_ : array (n_clusterings,)
        Trust in each base clustering: the mean ECI of its clusters, weighted by their size. Adds up to 1.
    heights_ : array (u - 1,)
        Heights of the merges of the distinct objects that were linked, in increasing order.

    Notes
    -----
    The method works on the u distinct objects, each with the total weight of the objects it stands for, and
    takes O(u m^2 + u^2 m) time and 8 u^2 bytes; with a sample of s objects, O(u m^2 + u m n_clusters + s^2 m)
    time and 8 s^2 bytes. Reliability (2) is always computed from all objects. A cluster with fewer than about
    ten objects in the sample is easily missed. Objects that every clustering puts together are never
    separated. With missing labels, A is a mean over the clusterings that saw both objects; a pair never seen
    together counts as apart.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> model = cs.consensus.LWEA(n_clusters=2).fit(base)
    >>> model.labels_.tolist()
    [1, 1, 0, 0, 0]
    >>> model.cluster_reliability_.round(2).tolist()
    [0.22, 1.0, 1.0, 0.47, 1.0, 0.47]
    """

    instability_tolerance: Annotated[float, Real(0, open_low=True)] = 0.4
    max_samples: Annotated[int | None, Nothing() | Integer(2)] = None
    min_cluster_size: MinClusterSize = None
    n_jobs: NJobs = -1

    cluster_reliability_: ClassVar[np.ndarray]
    clustering_weights_: ClassVar[np.ndarray]
    heights_: ClassVar[np.ndarray]

    _test_params = [{}, {"instability_tolerance": 1.0}]

    def _fit(self, ensemble, rng):
        rows, weights = linked_objects(ensemble.sample_weight, self.max_samples, self.n_clusters)
        u = weights.size
        ensure_fits(
            8.0 * u * u,
            what=f"LWEA on {u} distinct objects",
            remedy=f"{WITHOUT_PAIRS}, or pass max_samples=10_000",
        )
        eci = reliability(ensemble, self.instability_tolerance, self.n_jobs)
        part, own = (ensemble, eci) if rows is None else (ensemble.take(rows), eci[_present(ensemble, rows)])
        A = part.coassociation(cluster_weights=own, n_jobs=self.n_jobs)
        distance = np.subtract(1.0, A, out=A)
        left, right, heights = merge_tree_inplace(distance, weights, "average")
        groups = cut_tree(left, right, self.n_clusters)
        if rows is not None:
            groups = place_others(
                ensemble, rows, weights, compact(groups), eci, n_jobs=self.n_jobs
            )  # Eq. (4')
        return Solution(
            groups,
            n_iter=1,
            per_cluster={"cluster_reliability": eci},
            per_clustering={"clustering_weights": trust_by_reliability(ensemble, eci)},
            merges=np.stack([left, right], axis=1) if rows is None else None,
            extra={"heights": heights},
        )


@declared
class LWSC(BaseConsensus):
    """Locally weighted spectral consensus: normalized spectral clustering of the weighted co-association.

    This is the consensus of MDEC-SC.

    Parameters
    ----------
    instability_tolerance : float
        How much an unstable base cluster is still trusted (theta in the paper); see :class:`LWEA`.

    Attributes
    ----------
    cluster_reliability_ : array (k,)
        ECI of every base cluster.
    clustering_weights_ : array (n_clusterings,)
        Trust in each base clustering: the mean ECI of its clusters, weighted by their size. Adds up to 1.
    embedding_ : array (n_samples, n_clusters)
        The eigenvectors.

    Notes
    -----
    Without missing labels the co-association is never formed: the fit takes O(u m^2) time once, then O(u m)
    per vector and step of the eigensolver. With missing labels it takes 8 u^2 bytes; an error is raised
    beforehand if they do not fit into memory.

    A weight of 1 stands for one object, whose similarity to itself is 1. With weights far below 1 these
    self-similarities dominate, so weights that only say which objects count more should have mean 1.

    Differences from the paper: the diagonal of A is 1, as in the authors' program, where Eq. (3) gives the
    mean ECI of the object's clusters. Equal objects share one row of the eigenvectors; eigenvectors that
    differ between them are not considered.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> cs.consensus.LWSC(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    instability_tolerance: Annotated[float, Real(0, open_low=True)] = 1.0
    n_init: NInit = 10
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    cluster_reliability_: ClassVar[np.ndarray]
    clustering_weights_: ClassVar[np.ndarray]
    embedding_: ClassVar[np.ndarray]

    _test_params = [{"n_init": 3}]
    _any_unit = False

    def _fit(self, ensemble, rng):
        u = ensemble.n_samples
        eci = reliability(ensemble, self.instability_tolerance, self.n_jobs)

        def explicit() -> np.ndarray:
            A = ensemble.coassociation(cluster_weights=eci, n_jobs=self.n_jobs)
            return normalized_matrix_inplace(A, ensemble.sample_weight)

        if ensemble.has_missing:
            ensure_fits(
                8.0 * u * u, what=f"LWSC with missing labels on {u} distinct objects", remedy=WITHOUT_PAIRS
            )
            S = explicit()
            found = leading_eigenvectors(lambda X: S @ X, u, self.n_clusters, dense=lambda: S)
        else:
            implicit = normalized_operator(
                ensemble.labels, ensemble.offsets, ensemble.sample_weight, eci, n_jobs=self.n_jobs
            )
            found = leading_eigenvectors(implicit, u, self.n_clusters, dense=explicit)
        cut = cut_rows(
            found.vectors,
            self.n_clusters,
            unit=True,
            weights=ensemble.sample_weight,
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
            per_sample={"embedding": found.vectors},
        )
