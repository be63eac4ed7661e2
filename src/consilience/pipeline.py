"""From features to a consensus in one estimator: make base clusterings, then combine them."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils.validation import validate_data

from . import generate
from .consensus import BaseConsensus, method
from .ensemble import Ensemble
from .errors import InputError
from .generate.features import check_features
from .validation import N_JOBS, Integer, RandomState, check_all, check_weights

__all__ = ["ConsensusClustering"]

#: Generators that need only X, the number of members and (maybe) k.
GENERATORS = ("kmeans", "random_k", "random_features", "metric_subspace", "bagging", "spectral")


class ConsensusClustering(ClusterMixin, BaseEstimator):
    """Cluster features by consensus: many base clusterings, one answer that says how sure it is.

    Parameters
    ----------
    generator : str, callable or list of clusterers
        How base clusterings are made: the name of a function of :mod:`consilience.generate`
        (``"random_k"``, ``"kmeans"``, ``"random_features"``, ``"metric_subspace"``, ``"bagging"``, ``"spectral"``),
        a callable ``(X, random_state=...) -> Ensemble`` or labels, or a list of scikit-learn clusterers.
    consensus : str or consensus estimator
        Name of a method (``consilience methods`` lists them) or an instance, which is cloned;
        ``n_clusters`` is set here.
    n_clusters : int
        Number of clusters returned.
    n_clusterings : int
        Number of base clusterings, for generators given by name.
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
    """

    labels_: np.ndarray

    def __init__(
        self,
        generator: Any = "random_k",
        consensus: Any = "evidence-accumulation",
        n_clusters: int = 2,
        *,
        n_clusterings: int = 20,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.generator = generator
        self.consensus = consensus
        self.n_clusters = n_clusters
        self.n_clusterings = n_clusterings
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ConsensusClustering:
        """Make the base clusterings of X (n_samples, n_features), dense or sparse, and combine them.

        An object of ``sample_weight`` 0 takes no part; it gets the label of the nearest one that does.
        """
        rules = {
            "n_clusters": Integer(1),
            "n_clusterings": Integer(1),
            "random_state": RandomState(),
            "n_jobs": N_JOBS,
        }
        check_all(self.get_params(deep=False), rules)
        features = check_features(X)
        validate_data(self, X, skip_check_array=True)  # records n_features_in_ and feature_names_in_
        features.check_k(self.n_clusters, "n_clusters")
        weights, counted = _split_weights(sample_weight, features.n_samples)
        if not counted.all():
            features = features.take(np.flatnonzero(counted))
            features.check_k(self.n_clusters, "n_clusters")
        consensus = self._consensus()
        seeds = _two_seeds(self.random_state)
        self.ensemble_: Ensemble = self._generate(features, weights, seeds[0])
        if "random_state" in consensus.get_params(deep=False) and consensus.random_state is None:
            consensus.set_params(random_state=seeds[1])
        # A generator can leave objects unseen (bagging); the consensus says so in its own words.
        self.consensus_: BaseConsensus = consensus.fit(self.ensemble_, sample_weight=weights)
        self.labels_, self.confidence_ = self.consensus_.labels_, self.consensus_.confidence_
        if not counted.all():
            nearest = _nearest(check_features(X).X, features.X)
            self.labels_, self.confidence_ = self.labels_[nearest], self.confidence_[nearest]
        return self

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Cluster X and return the cluster of every object."""
        return self.fit(X, y, sample_weight=sample_weight).labels_

    def to_frame(self):
        """A pandas data frame of label and confidence, indexed by row name (or position)."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "consensus_")
        return self.consensus_.to_frame()

    def _consensus(self) -> BaseConsensus:
        if isinstance(self.consensus, str):
            consensus = method(self.consensus)(n_clusters=self.n_clusters)
        elif isinstance(self.consensus, BaseConsensus):
            consensus = clone(self.consensus).set_params(n_clusters=self.n_clusters)
        else:
            raise InputError(
                f"consensus={self.consensus!r} is not valid: expected the name or an instance of a consensus method."
            )
        if "n_jobs" in consensus.get_params(deep=False) and self.n_jobs is not None:
            consensus.set_params(n_jobs=self.n_jobs)
        return consensus

    def _generate(self, features: Any, sample_weight: Any, seed: int) -> Ensemble:
        generator = self.generator
        if isinstance(generator, str):
            if generator not in GENERATORS:
                raise InputError(
                    f"generator={generator!r} is not valid: expected one of {', '.join(GENERATORS)}."
                )
            options: dict[str, Any] = {"random_state": seed, "n_jobs": self.n_jobs}
            if generator != "spectral":
                options |= {"n_clusterings": self.n_clusterings, "sample_weight": sample_weight}
            if generator in ("random_k", "metric_subspace"):
                # Room for at least the clusters asked for, also on small data where sqrt(n) is below them.
                top = max(isqrt(features.n_samples), self.n_clusters)
                k_max = min(top, features.distinct_rows(top))
                options |= {"k_min": min(2, k_max), "k_max": k_max}
            else:
                options["k"] = self.n_clusters
            return getattr(generate, generator)(features, **options)
        if callable(generator):
            made = generator(features.X, random_state=seed)
        elif isinstance(generator, Sequence):
            made = generate.estimators(features, list(generator), random_state=seed)
        else:
            raise InputError(
                f"generator={generator!r} is not valid: expected a name, a function or a list of clusterers."
            )
        ensemble = Ensemble(made, sample_names=features.sample_names)
        if ensemble.n_samples != features.n_samples:
            raise InputError(
                f"The generator returned labels of {ensemble.n_samples} objects for the {features.n_samples} rows of X."
            )
        return ensemble

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _two_seeds(random_state: Any) -> list[int]:
    """Independent seeds for generator and consensus."""
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(np.iinfo(np.int32).max))
    rng = np.random.default_rng(random_state)
    return [int(seed) for seed in rng.integers(2**31 - 1, size=2)]


def _split_weights(sample_weight: Any, n: int) -> tuple[np.ndarray | None, np.ndarray]:
    """(positive weights of the objects that count, mask of those objects)."""
    if sample_weight is None:
        return None, np.ones(n, bool)
    weights = check_weights(sample_weight, n, zero=True)
    if (counted := weights > 0).sum() < 2:
        raise InputError(
            f"sample_weight is zero for all but {counted.sum()} objects; at least two must count."
        )
    return weights[counted], counted


def _nearest(X: Any, among: Any) -> np.ndarray:
    """For every row of X, the index of the nearest row of ``among``."""
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=1).fit(among).kneighbors(X, return_distance=False).ravel()
