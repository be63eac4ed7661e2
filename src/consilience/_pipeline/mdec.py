"""Multi-diversified ensemble clustering: from features to clusters, in one estimator."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from .._base.names import Named, find
from .._base.parameters import Integer, Real, Rule
from ..consensus import LWEA, LWGP, LWSC, method
from ..errors import InputError
from ..generate import generator
from .consensus_clustering import WHOLE, ConsensusClustering

__all__ = ["MDEC"]

#: The paper's three ways to combine the members, and the methods that implement them.
_WAYS = {"hierarchical": "lwea", "spectral": "lwsc", "bipartite": "lwgp"}
#: Parameters that the generator takes.
_SUBSPACE = ("feature_fraction", "kernel", "metric", "search", "preprocess")


class MDEC(ConsensusClustering):
    """Multi-diversified ensemble clustering of high-dimensional data.

    Many spectral clusterings are made, each with a random kernel on a random half of the features
    (:func:`consilience.generate.metric_subspace`). They are combined by a consensus that trusts a cluster by
    how well the other base clusterings agree on it. It is made for thousands of features and from about ten
    to about ten thousand objects.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters returned; "auto" as in :class:`ConsensusClustering`.
    method : "hierarchical", "spectral", "bipartite", name or instance of a consensus method
        MDEC-HC (:class:`LWEA`), MDEC-SC (:class:`LWSC`) or MDEC-BG (:class:`LWGP`). The first holds a square
        matrix of the distinct objects; the last is linear in their number. Any other method can combine the
        same base clusterings.
    n_clusterings : int, default 100
        Number of base clusterings.
    instability_tolerance : float, default 1.0
        How much an unstable cluster is still trusted; in the limit of infinity, all clusters have the same
        weight. Only for the three ways of the paper.
    feature_fraction : float in (0, 1], default 0.5
        Share of the features each member sees.
    kernel : "normal" or "exponential"
        The kernel of the authors' program or the printed one; see
        :func:`consilience.generate.metric_subspace`.
    metric : "diversified", "cosine", "correlation" or "spearman"
        Random kernels, or one fixed similarity for all base clusterings.
    search : "exact" or "approximate"
        How neighbors are found; "approximate" for many objects, see
        :func:`consilience.generate.metric_subspace`.
    preprocess : str, default "none"
        How the features are prepared: "none" leaves them as given, as in the paper. Others are for instance
        "standardize" and "diverse", where a preparation is drawn for each base clustering. See
        :mod:`consilience.generate`.
    min_cluster_size : float or None, default None
        Clusters smaller than this are merged, as by every consensus method: see
        :meth:`consilience.consensus.BaseConsensus.fit`.
    random_state : int, Generator or None
        Seed of generation and consensus.
    n_jobs : int or None, default -1
        Threads; -1 is all cores, None as in joblib. The answer does not depend on it.
    keep_base_models : bool or None
        Whether to keep X, which labels new rows by the nearest of its rows; None, the default, keeps it if it
        takes at most 128 MB.
    verbose : bool, int or None
        Whether long work shows its progress; None, the default, shows it if there is a terminal.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of each object, 0 the largest.
    confidence_ : array (n_samples,)
        How sure the base clusterings are of each object's cluster, in [0, 1]. It is not a probability.
    n_clusters_, cluster_sizes_, consensus_nmi_, baseline_nmi_, messages_
        As in :class:`ConsensusClustering`.
    ensemble_ : Ensemble
        The base clusterings, with their recipes.
    cluster_reliability_ : array (k,)
        ECI in (0, 1] of every cluster of every base clustering, if the consensus method learns it: cluster j
        of base clustering i has position ``ensemble_.offsets[i] + j``.
    clustering_weights_ : array (n_clusterings,)
        Trust in each base clustering, adding up to 1, if the consensus method learns it: the mean ECI of its
        clusters, by their weight, normalized.
    method_ : consensus estimator
        The fitted consensus method, with everything it learned.
    n_features_in_ : int

    References
    ----------
    D. Huang, C.-D. Wang, J.-H. Lai and C.-K. Kwoh, "Toward multidiversified ensemble clustering of
    high-dimensional data: from subspaces to metrics and beyond", IEEE Transactions on Cybernetics 52(11),
    2022.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import consilience as cs
    >>> model = cs.MDEC(n_clusters=3, n_clusterings=10, random_state=0).fit(load_wine().data)
    >>> model.labels_.shape, model.ensemble_.n_clusterings
    ((178,), 10)
    >>> model.cluster_reliability_.size == model.ensemble_.n_base_clusters
    True
    """

    _constraints: ClassVar[dict[str, Rule]] = {
        "method": Named(_WAYS) | ConsensusClustering._constraints["method"],
        "n_clusterings": Integer(1),
        "keep_base_models": ConsensusClustering._constraints["keep_base_models"],
        "verbose": ConsensusClustering._constraints["verbose"],
        "instability_tolerance": Real(0, open_low=True),
        **{name: generator("metric-subspace").rules[name] for name in _SUBSPACE},
    }

    def __init__(
        self,
        n_clusters: int | str | None = None,
        *,
        method: Any = "hierarchical",
        n_clusterings: int = 100,
        instability_tolerance: float = 1.0,
        feature_fraction: float = 0.5,
        kernel: str = "normal",
        metric: str = "diversified",
        search: str = "exact",
        preprocess: str = "none",
        min_cluster_size: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
        keep_base_models: bool | None = None,
        verbose: bool | int | None = None,
    ):
        self.n_clusters = n_clusters
        self.method = method
        self.n_clusterings = n_clusterings
        self.instability_tolerance = instability_tolerance
        self.feature_fraction = feature_fraction
        self.kernel = kernel
        self.metric = metric
        self.search = search
        self.preprocess = preprocess
        self.min_cluster_size = min_cluster_size
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.keep_base_models = keep_base_models
        self.verbose = verbose

    @property
    def cluster_reliability_(self) -> np.ndarray:
        return self.method_.cluster_reliability_

    @property
    def clustering_weights_(self) -> np.ndarray:
        return self.method_.clustering_weights_

    def _generator(self) -> tuple[Any, dict[str, Any]]:
        return "metric-subspace", {name: getattr(self, name) for name in _SUBSPACE}

    def _method(self) -> tuple[Any, dict[str, Any]]:
        whole = find(self.method, WHOLE)
        chosen = whole.method if whole else find(self.method, _WAYS) or self.method
        if isinstance(chosen, str) and method(chosen) in (LWEA, LWSC, LWGP):
            return chosen, {"instability_tolerance": self.instability_tolerance}
        if self.instability_tolerance != 1:
            raise InputError(
                f"instability_tolerance={self.instability_tolerance!r} means nothing to "
                f"method={self.method!r}: leave it out, or choose one of "
                f"{', '.join(_WAYS)}."
            )
        return chosen, {}
