"""Multi-diversified ensemble clustering: from features to clusters, in one estimator."""

from __future__ import annotations

from typing import Any

import numpy as np

from .consensus import LWEA, LWGP, LWSC, BaseConsensus
from .ensemble import Ensemble
from .generate import metric_subspace
from .pipeline import ConsensusClustering
from .validation import Choice, Real, check_all

__all__ = ["MDEC"]


class MDEC(ConsensusClustering):
    """Multi-diversified ensemble clustering of high-dimensional data.

    Many spectral clusterings, each with a random kernel on a random half of the features
    (:func:`consilience.generate.metric_subspace`), then a consensus that trusts a cluster by how well the others agree
    on it. Made for thousands of features and any number of objects from some ten to some ten thousand.

    Parameters
    ----------
    n_clusters : int
        Number of clusters returned.
    consensus : "hierarchical", "spectral" or "bipartite"
        MDEC-HC (:class:`LWEA`), MDEC-SC (:class:`LWSC`) or MDEC-BG (:class:`LWGP`). The first holds a square matrix of
        the distinct objects, the last is linear in them.
    n_clusterings : int, default 100
        Number of members.
    theta : float, default 1.0
        How far an unstable cluster is still trusted; infinity in the limit weighs all clusters alike.
    ratio : float in (0, 1], default 0.5
        Share of the features each member sees.
    kernel : "normal" or "exponential"
        The kernel of the authors' program or the printed one; see :func:`consilience.generate.metric_subspace`.
    metric : "diversified", "cosine", "correlation" or "spearman"
        Random kernels, or one fixed similarity for all members.
    search : "exact" or "approximate"
        How members find neighbours; "approximate" for many objects, see :func:`consilience.generate.metric_subspace`.
    random_state : int, Generator or None
        Seed of generation and consensus.
    n_jobs : int or None
        Threads; None is all cores. The answer does not depend on it.

    Attributes
    ----------
    labels_, confidence_ : arrays (n_samples,)
        Cluster of each object (0 the largest) and how sure the consensus is of it.
    ensemble_ : Ensemble
        The members, with their recipes.
    cluster_reliability_ : array (k,)
        ECI in (0, 1] of every cluster of every member: cluster j of member i is ``ensemble_.offsets[i] + j``.
    clustering_weights_ : array (n_clusterings,)
        Trust in each member, adding up to 1: the mean ECI of its clusters, by their weight, normalised.
    consensus_ : the fitted consensus method, with all it learned.
    n_features_in_ : int

    References
    ----------
    D. Huang, C.-D. Wang, J.-H. Lai and C.-K. Kwoh, "Toward multidiversified ensemble clustering of high-dimensional
    data: from subspaces to metrics and beyond", IEEE Transactions on Cybernetics 52(11), 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import consilience as cs
    >>> model = cs.MDEC(n_clusters=3, n_clusterings=10, random_state=0).fit(load_wine().data)
    >>> model.labels_.shape, model.ensemble_.n_clusterings
    ((178,), 10)
    >>> model.cluster_reliability_.size == model.ensemble_.n_total_clusters
    True
    """

    cluster_reliability_: np.ndarray
    clustering_weights_: np.ndarray

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        consensus: str = "hierarchical",
        n_clusterings: int = 100,
        theta: float = 1.0,
        ratio: float = 0.5,
        kernel: str = "normal",
        metric: str = "diversified",
        search: str = "exact",
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.n_clusters = n_clusters
        self.consensus = consensus
        self.n_clusterings = n_clusterings
        self.theta = theta
        self.ratio = ratio
        self.kernel = kernel
        self.metric = metric
        self.search = search
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MDEC:
        """Make the members from X (n_samples, n_features), dense or sparse, and combine them.

        An object of ``sample_weight`` 0 takes no part; it gets the label of the nearest one that does.
        """
        super().fit(X, y, sample_weight=sample_weight)
        self.cluster_reliability_ = self.consensus_.cluster_reliability_
        self.clustering_weights_ = self.consensus_.clustering_weights_
        return self

    def _consensus(self) -> BaseConsensus:
        rules = {
            "consensus": Choice("hierarchical", "spectral", "bipartite"),
            "theta": Real(0, open_low=True),
        }
        check_all({"consensus": self.consensus, "theta": self.theta}, rules)
        cls = {"hierarchical": LWEA, "spectral": LWSC, "bipartite": LWGP}[self.consensus]
        return cls(n_clusters=self.n_clusters, theta=self.theta, n_jobs=self.n_jobs)

    def _generate(self, features: Any, sample_weight: Any, seed: int) -> Ensemble:
        return metric_subspace(
            features,
            self.n_clusterings,
            ratio=self.ratio,
            kernel=self.kernel,
            metric=self.metric,
            search=self.search,
            sample_weight=sample_weight,
            random_state=seed,
            n_jobs=self.n_jobs,
        )
