"""Locally weighted co-association: a cluster counts by how well the other clusterings agree on it.

    H(C) = mean over clusterings m of - sum_j p_j log2 p_j,   p_j = |C n C_j^m| / |C|                   (1)
    ECI(C) = exp( - H(C) / theta )                                                                      (2)
    A_pq = mean over clusterings m of ECI(cluster of p in m) [p, q together in m]                       (3)

C is a base cluster, ECI (k,) its ensemble-driven cluster index in (0, 1], A (u, u) the similarity of distinct objects.
Two ways to read clusters off A:

    LWEA    average linkage of 1 - A, cut at n_clusters                                                 (4)
    LWSC    leading eigenvectors of D^-1/2 A D^-1/2, unit rows, k-means                                 (5)

References
----------
D. Huang, C.-D. Wang and J.-H. Lai, "Locally weighted ensemble clustering", IEEE Transactions on Cybernetics 48(5), 2018.
D. Huang, C.-D. Wang, J.-H. Lai and C.-K. Kwoh, "Toward multidiversified ensemble clustering of high-dimensional
data: from subspaces to metrics and beyond", IEEE Transactions on Cybernetics 52(11), 2022.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...evidence import trust_by_reliability
from ...kernels.cut import cut_rows
from ...kernels.eigen import leading_eigenvectors
from ...kernels.linkage import cut_tree, merge_tree_inplace
from ...kernels.memory import WITHOUT_PAIRS, ensure_fits
from ...kernels.overlaps import cluster_reliability, gather, scatter
from ...validation import Integer, Real
from .._base import BaseConsensus, Solution


def reliability(ensemble: Any, theta: float, n_jobs: int | None = None) -> np.ndarray:
    """ECI (k,), Eq. (2). With missing labels p_j is over the objects that both saw, and the mean over the
    clusterings that saw any object of C."""
    return cluster_reliability(ensemble.labels, ensemble.offsets, ensemble.weights, theta, n_jobs=n_jobs)


class LWEA(BaseConsensus):
    """Locally weighted evidence accumulation: average linkage of a co-association that trusts reliable clusters.

    Also the consensus of MDEC-HC (with ``theta=1``). Deterministic.

    Parameters
    ----------
    n_clusters : int
        Number of clusters returned.
    theta : float, default 0.4
        How far an unstable cluster is still trusted: small values trust only what all clusterings agree on, large
        values weigh all clusters alike.
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
    heights_ : array (u - 1,)
        Heights of the merges of distinct objects, rising.

    Notes
    -----
    Works on the u distinct objects, as heavy as the objects they stand for: O(u m^2 + u^2 m) time, 8 u^2 bytes.
    Objects that every clustering puts together are never separated. Missing labels: A is a mean over the
    clusterings that saw both objects; a pair never seen together counts as apart.

    Examples
    --------
    >>> import consilience as cs
    >>> base = [[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]]
    >>> model = cs.LWEA(n_clusters=2).fit(base)
    >>> model.labels_.tolist()
    [1, 1, 0, 0, 0]
    >>> model.cluster_reliability_.round(2).tolist()
    [0.22, 1.0, 1.0, 0.47, 1.0, 0.47]
    """

    constraints = {"theta": Real(0, open_low=True)}
    _test_params = [{}, {"theta": 1.0}]

    def __init__(self, n_clusters: int | None = None, *, theta: float = 0.4, n_jobs: int | None = None):
        self.n_clusters = n_clusters
        self.theta = theta
        self.n_jobs = n_jobs

    def _fit(self, ensemble, rng):
        u = ensemble.n_samples
        ensure_fits(8.0 * u * u, what=f"LWEA on {u} distinct objects", remedy=WITHOUT_PAIRS)
        eci = reliability(ensemble, self.theta, self.n_jobs)
        A = ensemble.coassociation(cluster_weights=eci, n_jobs=self.n_jobs)
        distance = np.subtract(1.0, A, out=A)
        left, right, heights = merge_tree_inplace(distance, ensemble.weights, "average")
        return Solution(
            cut_tree(left, right, self.n_clusters),
            n_iter=1,
            per_cluster={"cluster_reliability": eci},
            per_clustering={"clustering_weights": trust_by_reliability(ensemble, eci)},
            extra={"heights": heights},
        )


def implicit_operator(ensemble: Any, eci: np.ndarray, n_jobs: int | None) -> Any:
    """X -> N^1/2 D^-1/2 A D^-1/2 N^1/2 X for A of Eq. (3) with ones on its diagonal, without forming A.

    N = diag(weights). With nothing missing A = Y diag(ECI) Y' / m: two passes over the labels, O(u m) a column.
    """
    labels, offsets, w = ensemble.labels, ensemble.offsets, ensemble.weights
    share = eci[:, None] / ensemble.n_clusterings

    def times_A(X: np.ndarray) -> np.ndarray:
        return gather(labels, offsets, share * scatter(labels, offsets, X, n_jobs=n_jobs), n_jobs=n_jobs)

    own = gather(labels, offsets, share, n_jobs=n_jobs)[:, 0]  # A_pp of Eq. (3)
    # An object is as similar to itself as can be: the program puts 1 where (3) gives A_pp.
    degree = times_A(w[:, None])[:, 0] + 1.0 - own
    root, loop = np.sqrt(w / degree)[:, None], ((1.0 - own) / degree)[:, None]
    return lambda X: root * times_A(root * X) + loop * X


def explicit_operator(ensemble: Any, eci: np.ndarray, n_jobs: int | None) -> np.ndarray:
    """The matrix of :func:`implicit_operator`; also with missing labels, where A is not a product."""
    w = ensemble.weights
    A = ensemble.coassociation(cluster_weights=eci, n_jobs=n_jobs)
    own = A.diagonal().copy()
    degree = A @ w + 1.0 - own
    root = np.sqrt(w / degree)
    A *= root[:, None]
    A *= root
    A[np.diag_indices_from(A)] += (1.0 - own) / degree
    return A


class LWSC(BaseConsensus):
    """Locally weighted spectral consensus: normalised spectral clustering of the weighted co-association.

    The consensus of MDEC-SC.

    Parameters
    ----------
    n_clusters : int
        Number of clusters returned.
    theta : float, default 1.0
        How far an unstable cluster is still trusted; see :class:`LWEA`.
    n_init : int, default 10
        Starts of the final k-means; the best is kept.
    random_state : int, Generator or None
        Seed of these starts.
    n_jobs : int or None
        Threads; None is all cores.

    Attributes
    ----------
    labels_, confidence_ : arrays (n_samples,)
        Cluster of each object, 0 the largest, and the share of its evidence that points there.
    cluster_reliability_ : array (k,)
        ECI of every base cluster.
    clustering_weights_ : array (n_clusterings,)
        Trust in each base clustering, adding up to 1: the mean ECI of its clusters, by their weight, normalised.
    embedding_ : array (n_samples, n_clusters)
        The eigenvectors.

    Notes
    -----
    With nothing missing the co-association is never formed: O(u m^2) once, then O(u m) a vector and step. With missing
    labels 8 u^2 bytes, refused beforehand if they will not fit.

    A weight of 1 is one object, whose similarity to itself is 1: with weights far below 1 these take over. Weights that
    only say which objects count more should have mean 1.

    Differences from the paper: the diagonal of A is 1, as in the authors' program, where Eq. (3) gives an object's mean
    ECI. Equal objects share one row of the eigenvectors; vectors that would differ between them are not considered.

    Examples
    --------
    >>> import consilience as cs
    >>> base = [[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]]
    >>> cs.LWSC(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    constraints = {"theta": Real(0, open_low=True), "n_init": Integer(1)}
    _test_params = [{"n_init": 3}]
    _any_unit = False

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        theta: float = 1.0,
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
        u = ensemble.n_samples
        eci = reliability(ensemble, self.theta, self.n_jobs)
        if ensemble.has_missing:
            ensure_fits(
                8.0 * u * u, what=f"LWSC with missing labels on {u} distinct objects", remedy=WITHOUT_PAIRS
            )
            S = explicit_operator(ensemble, eci, self.n_jobs)
            found = leading_eigenvectors(lambda X: S @ X, u, self.n_clusters, dense=lambda: S)
        else:
            found = leading_eigenvectors(
                implicit_operator(ensemble, eci, self.n_jobs),
                u,
                self.n_clusters,
                dense=lambda: explicit_operator(ensemble, eci, self.n_jobs),
            )
        cut = cut_rows(
            found.vectors,
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
            per_sample={"embedding": found.vectors},
        )
