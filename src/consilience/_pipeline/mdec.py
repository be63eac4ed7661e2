"""Multi-diversified ensemble clustering: from features to clusters, in one estimator."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any

import numpy as np

from .._base.estimator import declared
from .._base.names import Named, find
from .._base.parameters import Choice, Integer, MinClusterSize, NJobs, Real, Seed
from ..consensus import LWEA, LWGP, LWSC, method, methods
from ..errors import InputError
from ..generate import generator
from .consensus_clustering import METHOD, WHOLE, BasePipeline, KeepBaseModels, Verbose
from .defaults import AUTO

__all__ = ["MDEC"]

#: The paper's three ways to combine the members, and the methods that implement them.
_WAYS = {"hierarchical": "lwea", "spectral": "lwsc", "bipartite": "lwgp"}
#: Parameters that the generator takes.
_SUBSPACE = ("feature_fraction", "kernel", "metric", "search", "preprocess")
_RULES = generator("metric-subspace").rules


@declared
class MDEC(BasePipeline):
    """Multi-diversified ensemble clustering of high-dimensional data.

    Many spectral clusterings are made, each with a random kernel on a random half of the features
    (:func:`consilience.generate.metric_subspace`). They are combined by a consensus that trusts a cluster by
    how well the other base clusterings agree on it. It is made for thousands of features and from about ten
    to about ten thousand objects.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters returned; "auto" as in :class:`ConsensusClustering`.
    method : {"hierarchical", "spectral", "bipartite"}, name or consensus estimator
        MDEC-HC (:class:`LWEA`), MDEC-SC (:class:`LWSC`) or MDEC-BG (:class:`LWGP`). The first holds a square
        matrix of the distinct objects; the last is linear in their number. Any other method can combine the
        same base clusterings.
    n_clusterings : int
        Number of base clusterings.
    instability_tolerance : float
        How much an unstable cluster is still trusted; in the limit of infinity, all clusters have the same
        weight. Only for the three ways of the paper.
    feature_fraction : float in (0, 1]
        Share of the features each member sees.
    kernel : "normal" or "exponential"
        The kernel of the authors' program or the printed one; see
        :func:`consilience.generate.metric_subspace`.
    metric : "diversified", "cosine", "correlation" or "spearman"
        Random kernels, or one fixed similarity for all base clusterings.
    search : "exact" or "approximate"
        How neighbors are found; "approximate" for many objects, see
        :func:`consilience.generate.metric_subspace`.
    preprocess : str
        How the features are prepared: "none" leaves them as given, as in the paper. Others are for instance
        "standardize" and "diverse", where a preparation is drawn for each base clustering. See
        :mod:`consilience.generate`.
    keep_base_models : bool or None
        Whether to keep X, which labels new rows by the nearest of its rows; None, the default, keeps it if it
        takes at most 128 MB.

    Attributes
    ----------
    cluster_reliability_ : array (k,)
        ECI in (0, 1] of every cluster of every base clustering, if the consensus method learns it: cluster j
        of base clustering i has position ``ensemble_.offsets[i] + j``.
    clustering_weights_ : array (n_clusterings,)
        Trust in each base clustering, adding up to 1, if the consensus method learns it: the mean ECI of its
        clusters, by their weight, normalized.

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

    n_clusters: Annotated[int | str | None, Integer(1) | Choice(AUTO)] = field(default=None, kw_only=False)
    method: Annotated[Any, Named(_WAYS) | Named([AUTO, *methods(), *WHOLE]) | METHOD] = "hierarchical"
    n_clusterings: Annotated[int, Integer(1)] = 100
    instability_tolerance: Annotated[float, Real(0, open_low=True)] = 1.0
    feature_fraction: Annotated[float, _RULES["feature_fraction"]] = 0.5
    kernel: Annotated[str, _RULES["kernel"]] = "normal"
    metric: Annotated[str, _RULES["metric"]] = "diversified"
    search: Annotated[str, _RULES["search"]] = "exact"
    preprocess: Annotated[str, _RULES["preprocess"]] = "none"
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1
    keep_base_models: KeepBaseModels = None
    verbose: Verbose = None

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
