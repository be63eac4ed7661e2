"""Makers of base clusterings: features in, an :class:`~consilience.Ensemble` out.

Every generator takes X first (array, data frame or sparse matrix), gives each member a seed of its own, and
records in ``ensemble.recipes`` how each member was made. The same ``random_state`` gives the same ensemble
for any ``n_jobs``, and asking for more members leaves the first ones as they were.

How many clusters they have is the parameter ``n_clusters``:

* a number: all have that many;
* a pair, ``(smallest, largest)``: an interval, from which each member draws its own, uniformly, both ends
  included. An end that is None is the generator's own: ``(3, None)``;
* a list, range or array of numbers: a set, from which each member draws one, all equally likely;
* None: the generator's own choice.

The generators that take samples have ``sample_fraction``, the share of the objects, and ``feature_fraction``,
that of the features. ``n_jobs`` counts threads: -1, the default, is all cores, and None what
:func:`joblib.parallel_config` says, else one. No answer depends on it.

How members see the features is the parameter ``preprocess`` of all of them, recorded in each recipe:

* "none": as given;
* "standardize": columns of mean 0 and variance 1 (sparse X: of variance 1, zeros stay zeros, and distances
  are the same);
* "ranks": every value by its place in its column, in [0, 1], equal ones in the middle of their places (dense
  X);
* "log": log(1 + x), for values that are not negative;
* "tf-idf": words that few objects have count for more, then rows of length one, for values that are not
  negative;
* "unit": rows of length one;
* "pearson": rows of mean 0 and length one, so that squared distances are 2 (1 - correlation of the rows)
  (dense X);
* "diverse": each member draws one of those that suit the data, with equal chances. Counts (no negative
  values; sparse, or dense with at most a tenth that is not zero): "tf-idf", "unit". Other sparse tables:
  "none", "standardize", "unit". Other dense ones: "none", "standardize", "ranks".

Objects count by their weight, and all objects are seen, before rows or features are sampled. All but "none"
and "pearson" leave constant columns out. A prepared table is a copy of X in its own precision, made for all
members that see it, one at a time. With "none", columns that distances hardly see beside a thousand times
wider one are named in a warning.

``generators()`` lists those that can be asked for by name.
"""

from .._members.preparation import PREPARATIONS as PREPARATIONS
from .._members.preparation import prepared as prepared
from .._members.preparation import suitable as suitable
from ._estimators import estimators
from ._estimators import takes_pairs as takes_pairs
from ._kmeans import bagging, kmeans, random_features, random_k
from ._landmarks import landmarks
from ._metric_subspace import metric_subspace
from ._register import generator, generators
from ._spectral import spectral
from ._stratified import stratified

__all__ = [
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
    "stratified",
]
