"""Makers of base clusterings: features in, an :class:`~consilience.Ensemble` out.

Every generator takes X first (array, data frame or sparse matrix), gives each member a seed of its own, and
records in ``ensemble.recipes`` how each member was made. The same ``random_state`` gives the same ensemble for
any ``n_jobs``, and asking for more members leaves the first ones as they were.

``generators()`` lists those that can be asked for by name.
"""

from ._estimators import estimators
from ._kmeans import bagging, kmeans, random_features, random_k
from ._landmarks import LandmarkMember, landmarks
from ._metric_subspace import metric_subspace
from ._register import Maker, generator, generators
from ._spectral import spectral

__all__ = [
    "LandmarkMember",
    "Maker",
    "bagging",
    "estimators",
    "generator",
    "generators",
    "kmeans",
    "landmarks",
    "metric_subspace",
    "random_features",
    "random_k",
    "spectral",
]
