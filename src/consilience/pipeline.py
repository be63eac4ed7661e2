"""From features to a consensus in one estimator: make base clusterings, then combine them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from . import generate
from .consensus import BaseConsensus, method, methods
from .ensemble import Ensemble, say_unseen
from .errors import InputError
from .features import Features, as_features
from .kernels.memory import refusing
from .kernels.parallel import one_blas_thread
from .naming import Named, check_names
from .rng import draw_seeds
from .validation import Integer, Kind, Nothing, Rule, check_parameters, check_weights

__all__ = ["ConsensusClustering"]

_PARAMS = Nothing() | Kind("a dict of parameters by name", lambda value: isinstance(value, Mapping))


class ConsensusClustering(ClusterMixin, BaseEstimator):
    """Cluster features by consensus: many base clusterings, one answer that says how sure it is.

    Parameters
    ----------
    n_clusters : int
        Number of clusters returned.
    generator : str, callable or list of clusterers
        How base clusterings are made: a name (``consilience methods`` lists them; each is a function of
        :mod:`consilience.generate`), a callable ``(X, random_state=...) -> Ensemble`` or labels, or a list of
        scikit-learn clusterers. In names, hyphens and underscores are alike.
    generator_params : dict, optional
        More parameters of the generator, by name. Unless ``k``, or ``k_min`` and ``k_max``, are among them, members
        have ``n_clusters`` clusters (kmeans, random-features, bagging, spectral), from 2 to the larger of
        ``n_clusters`` and the square root of n_samples (random-k), or from 2 to the square root of n_samples, rounded
        up (metric-subspace).
    consensus : str or consensus estimator
        Name of a method (``consilience methods`` lists them) or an instance, which is cloned; ``n_clusters`` is set
        here.
    consensus_params : dict, optional
        More parameters of the consensus method, by name.
    n_clusterings : int or None
        Number of base clusterings; None leaves it to the generator (20 for most, 100 for metric-subspace, one for each
        bandwidth for spectral, each clusterer once for a list). A callable decides by itself.
    random_state : int, Generator or None
        Seed of generator and consensus.
    n_jobs : int or None
        Threads; None is all cores.

    Attributes
    ----------
    labels_, confidence_ : arrays (n_samples,)
        Cluster of each object (0 the largest) and how sure the consensus is of it.
    ensemble_ : Ensemble
        The base clusterings, with their recipes.
    consensus_ : the fitted consensus method, with all it learned.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import consilience as cs
    >>> model = cs.ConsensusClustering(n_clusters=3, random_state=0).fit(load_iris().data)
    >>> model.labels_.shape, model.ensemble_.n_clusterings
    ((150,), 20)
    >>> params = {"bandwidths": [0.5, 1, 5]}
    >>> model = cs.ConsensusClustering(3, generator="spectral", generator_params=params, consensus="lwea")
    >>> model.fit(load_iris().data).ensemble_.n_clusterings
    3
    """

    constraints: ClassVar[dict[str, Rule]] = {
        "generator": Named(generate.generators())
        | Kind("a function", callable)
        | Kind(
            "a list of clusterers", lambda value: isinstance(value, Sequence) and not isinstance(value, str)
        ),
        "generator_params": _PARAMS,
        "consensus": Named(methods())
        | Kind("an instance of a consensus method", lambda value: isinstance(value, BaseConsensus)),
        "consensus_params": _PARAMS,
        "n_clusterings": Nothing() | Integer(1),
    }

    labels_: np.ndarray

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        generator: Any = "random-k",
        generator_params: Mapping[str, Any] | None = None,
        consensus: Any = "evidence-accumulation",
        consensus_params: Mapping[str, Any] | None = None,
        n_clusterings: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.n_clusters = n_clusters
        self.generator = generator
        self.generator_params = generator_params
        self.consensus = consensus
        self.consensus_params = consensus_params
        self.n_clusterings = n_clusterings
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ConsensusClustering:
        """Make the base clusterings of X (n_samples, n_features), dense or sparse, and combine them.

        An object of ``sample_weight`` 0 takes no part; it gets the label of the nearest one that does.
        """
        check_parameters(self)
        consensus = self._consensus()
        with refusing(
            f"{type(self).__name__} on X of shape {getattr(X, 'shape', '(unknown)')}",
            "use fewer base clusterings (n_clusterings), fewer objects or features, or a generator and consensus method "
            "whose memory grows with n alone (random-k and LWGP)",
        ):
            return self._learn(X, sample_weight, consensus)

    def _learn(self, X: Any, sample_weight: Any, consensus: BaseConsensus) -> ConsensusClustering:
        """:meth:`fit`, parameters checked."""
        everything = as_features(X)
        validate_data(self, X, skip_check_array=True)  # records n_features_in_ and feature_names_in_
        everything.check_k(self.n_clusters, "n_clusters")
        features, counted = _split_weights(everything, sample_weight)
        if not counted.all():
            features.check_k(self.n_clusters, "n_clusters")
        seeds = draw_seeds(self.random_state, 2)
        self.ensemble_: Ensemble = self._generate(features, seeds[0])
        if "random_state" in consensus.get_params(deep=False) and consensus.random_state is None:
            consensus.set_params(random_state=seeds[1])
        _ensure_seen(self.ensemble_)
        self.consensus_: BaseConsensus = consensus.fit(self.ensemble_)
        self.labels_, self.confidence_ = self.consensus_.labels_, self.consensus_.confidence_
        if not counted.all():
            nearest = _nearest(everything.X, features.X)
            self.labels_, self.confidence_ = self.labels_[nearest], self.confidence_[nearest]
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Cluster X and return the cluster of every object."""
        return self.fit(X, y, sample_weight=sample_weight).labels_

    def to_frame(self):
        """A pandas data frame of label and confidence, indexed by row name (or position)."""
        check_is_fitted(self, "consensus_")
        return self.consensus_.to_frame()

    def _generator(self) -> tuple[Any, dict[str, Any]]:
        """What makes the base clusterings, and its parameters."""
        return self.generator, dict(self.generator_params or {})

    def _method(self) -> tuple[Any, dict[str, Any]]:
        """What combines them, and its parameters."""
        return self.consensus, dict(self.consensus_params or {})

    def _consensus(self) -> BaseConsensus:
        """The method, ready to fit."""
        chosen, params = self._method()
        consensus = method(chosen)() if isinstance(chosen, str) else clone(chosen)
        names = consensus.get_params(deep=False)
        owner, here = type(consensus).__name__, type(self).__name__
        reserved = {name: f"{name} of {here}" for name in ("n_clusters", "random_state", "n_jobs")}
        check_names(params, names, owner=owner, reserved=reserved)
        if "n_jobs" in names and self.n_jobs is not None:
            params["n_jobs"] = self.n_jobs
        return consensus.set_params(n_clusters=self.n_clusters, **params)

    def _generate(self, features: Features, seed: int) -> Ensemble:
        chosen, params = self._generator()
        if isinstance(chosen, str):
            return generate.generator(chosen)(
                features,
                params,
                n_clusters=self.n_clusters,
                n_clusterings=self.n_clusterings,
                random_state=seed,
                n_jobs=self.n_jobs,
            )
        if not callable(chosen):
            reserved = {
                name: f"{name} of {type(self).__name__}" for name in ("n_clusterings", "random_state")
            }
            valid = ("ratio", "bootstrap", "n_jobs")
            check_names(params, valid, owner="A list of clusterers", reserved=reserved)
            return generate.estimators(
                features, list(chosen), n_clusterings=self.n_clusterings, random_state=seed, **params
            )
        if self.n_clusterings is not None:
            raise InputError(
                f"n_clusterings={self.n_clusterings} means nothing to a generator that is a function: it decides by itself. "
                "Leave n_clusterings out, or pass what the function takes in generator_params."
            )
        ensemble = Ensemble(chosen(features.X, random_state=seed, **params))
        if ensemble.n_samples != features.n_samples:
            raise InputError(
                f"The generator returned labels of {ensemble.n_samples} objects for the {features.n_samples} rows of X."
            )
        return Ensemble(ensemble, sample_names=features.sample_names, sample_weight=features.sample_weight)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _ensure_seen(ensemble: Ensemble) -> None:
    """A generator can leave objects unseen: what helps is said in its parameters, for there is no ensemble to drop them from."""
    if not ensemble.unseen.size:
        return
    m, recipe = ensemble.n_clusterings, (ensemble.recipes or [{}])[0]
    advice = "Use clusterers that place every object, or more of them."
    if recipe.get("ratio", 1.0) < 1.0:
        advice = f"Raise n_clusterings={m}, or the ratio={recipe['ratio']:g} of objects that each sees (generator_params)"
        nearest = ', or pass generator_params={"unseen": "nearest"}: each then places all objects.'
        advice += nearest if "unseen" in recipe else "."
    raise InputError(f"{say_unseen(ensemble)} {advice}")


def _split_weights(features: Features, sample_weight: Any) -> tuple[Features, np.ndarray]:
    """The objects that count, with their weights, and a mask of them."""
    n = features.n_samples
    if sample_weight is None:
        return features, np.ones(n, bool)
    weights = check_weights(sample_weight, n, zero=True)
    if (counted := weights > 0).sum() < 2:
        raise InputError(
            f"sample_weight is zero for all but {counted.sum()} objects; at least two must count."
        )
    kept = Features(features) if counted.all() else features.take(np.flatnonzero(counted))
    kept.sample_weight = weights[counted]
    return kept, counted


@one_blas_thread()
def _nearest(X: Any, among: Any) -> np.ndarray:
    """For every row of X, the index of the nearest row of ``among``."""
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=1).fit(among).kneighbors(X, return_distance=False).ravel()
