"""Generators of base clusterings: features in, an :class:`~consilience.Ensemble` out.

Every generator takes X first (array, data frame or sparse matrix), gives each base clustering a seed of its
own, and records in ``ensemble.recipes`` how each of them was made. The same ``random_state`` gives the same
ensemble for any ``n_jobs``, and asking for more base clusterings does not change the first ones.

The parameter ``n_clusters`` says how many clusters they have:

* a number: all have that many;
* a pair, ``(smallest, largest)``: an interval, from which each base clustering draws its own number
  uniformly, both ends included. Where an end is None, the generator chooses it: ``(3, None)``;
* a list, range or array of numbers: a set, from which each base clustering draws one, all equally likely;
* None: the generator chooses.

The generators that draw samples have the parameters ``sample_fraction``, the share of the objects, and
``feature_fraction``, the share of the features. ``n_jobs`` is the number of threads: -1, the default, uses
all cores, and None uses what :func:`joblib.parallel_config` says, else one. The result does not depend on it.

The parameter ``preprocess`` of every generator says how the features are prepared; each recipe records it:

* "none": as given;
* "standardize": columns are scaled to mean 0 and variance 1 (sparse X: only to variance 1, so that zeros stay
  zeros; distances are the same);
* "ranks": every value is replaced by its rank in its column, scaled to [0, 1]; equal values share the mean of
  their ranks (dense X);
* "log": log(1 + x), for values that are not negative;
* "tf-idf": words that few objects have count for more, then rows are scaled to length one, for values that
  are not negative;
* "unit": rows are scaled to length one;
* "pearson": rows are brought to mean 0 and length one, so that squared distances are 2 (1 - correlation of
  the rows) (dense X);
* "diverse": each base clustering draws one of those that suit the data, with equal chances. Counts (no
  negative values; sparse, or dense with at most a tenth that is not zero) draw from "tf-idf" and "unit",
  other sparse tables from "none", "standardize" and "unit", and other dense tables from "none", "standardize"
  and "ranks". In a dense table with columns of at most four values, such as yes and no, beside others, their
  values are half a standard deviation apart at most, lest one of them part all objects by itself; and there
  is no "none" if they are farther apart than that, by the standard deviation of most others.

A preparation is computed from all objects, by their weights, before rows or features are sampled. All but
"none" and "pearson" leave constant columns out. A prepared table is a copy of X in the precision of X. It is
made once for all base clusterings that use it, and only one such table exists at a time. With "none", a
warning names the columns that hardly affect distances because another column is a thousand times wider.

``generators()`` lists the generators that have a name.
"""

from .._members.preparation import PREPARATIONS as PREPARATIONS
from .._members.preparation import comparable as comparable
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
