"""k-means on features drawn from strata: groups of features that are alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._base.parameters import FRACTION, Integer, check_all
from .._data.ensemble import Ensemble
from .._data.features import as_features
from .._kernels.kmeans import many_kmeans
from .._members.assembly import (
    CHOOSE_FEATURES,
    NClusters,
    check_n_clusterings,
    choose_ks,
    member_seeds,
    stream,
)
from .._members.preparation import View
from ._kmeans import OnColumns, check_runs

_STARTS = 5  # of the k-means of features


def strata_of(X: Any, n_strata: int, seed: int, weights: np.ndarray | None = None) -> np.ndarray:
    """(n_features,) stratum of each column, by k-means of the columns.

    Objects count by weight, and the best of five starts is kept.
    """
    columns = np.ascontiguousarray(X.T) if isinstance(X, np.ndarray) else X.T.tocsr()
    if weights is not None:
        root = np.sqrt(weights / weights.max()).astype(columns.dtype)
        columns = (
            columns * root
            if isinstance(columns, np.ndarray)
            else sp.csr_array(columns @ sp.diags_array(root))
        )
    k = min(n_strata, columns.shape[0])
    seeds = [int(one) for one in np.random.default_rng([seed, CHOOSE_FEATURES]).integers(2**31, size=_STARTS)]
    found = many_kmeans(columns, [k] * _STARTS, seeds=seeds, n_jobs=1, keep_centers=False)
    return found.labels[:, int(np.argmin(found.inertia))]


def draw_from(strata: np.ndarray, fraction: float, rng: np.random.Generator) -> np.ndarray:
    """Sorted columns: a share of every stratum, at least one of each, drawn without replacement."""
    drawn = []
    for stratum in np.unique(strata):
        members = np.flatnonzero(strata == stratum)
        drawn.append(rng.choice(members, max(1, round(fraction * members.size)), replace=False))
    return np.sort(np.concatenate(drawn))


def stratified(
    X: Any,
    *,
    n_clusterings: int = 20,
    n_clusters: NClusters = None,
    feature_fraction: float = 0.1,
    n_strata: int = 10,
    init: str = "k-means++",
    max_iter: int = 300,
    tol: float = 1e-4,
    preprocess: str = "none",
    keep_base_models: bool | None = None,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = -1,
) -> Ensemble:
    """k-means on features drawn from groups of similar features in each base clustering.

    This is known as stratified feature sampling: plain sampling of many features may miss a small group that
    matters.

    Parameters
    ----------
    X : array, data frame or sparse matrix (n_samples, n_features)
    n_clusterings : int, default 20
    n_clusters : int, pair, list or range, or None
        As in :func:`kmeans`.
    feature_fraction : float in (0, 1], default 0.1
        Share of every stratum that each base clustering sees, drawn without replacement; at least one feature
        of each.
    n_strata : int, default 10
        Groups of features, found by k-means of the columns once for all base clusterings; at most the number
        of features.
    init, max_iter, tol, preprocess, keep_base_models : see :func:`kmeans`
    sample_weight, random_state, n_jobs : see :func:`kmeans`

    Returns
    -------
    Ensemble
        Recipes also hold ``feature_fraction``, ``n_strata`` and ``features``, the column numbers used.

    References
    ----------
    L. Jing, K. Tian and J. Z. Huang, "Stratified feature sampling method for ensemble clustering of high
    dimensional data", Pattern Recognition 48(11), 2015.

    Examples
    --------
    >>> import consilience as cs
    >>> from sklearn.datasets import load_digits
    >>> ens = cs.generate.stratified(load_digits().data, n_clusterings=3, n_clusters=10, random_state=0)
    >>> ens.n_clusters_per_clustering.tolist(), ens.recipes[0]["n_strata"]
    ([10, 10, 10], 10)
    """
    check_all(
        {"feature_fraction": feature_fraction, "n_strata": n_strata},
        {"feature_fraction": FRACTION, "n_strata": Integer(1)},
    )
    features = as_features(X, sample_weight)
    seeds = member_seeds(random_state, check_n_clusterings(n_clusterings))
    ks = choose_ks(n_clusters, features, seeds)
    check_runs(init, max_iter, tol, n_jobs, keep_base_models)

    def choose(view: View) -> Callable[[int], tuple[np.ndarray, dict]]:
        # By the first member's seed: more members leave the first ones as they were.
        strata = strata_of(view.features.X, int(n_strata), seeds[0], features.sample_weight)
        facts = {"n_strata": int(strata.max()) + 1}
        return lambda i: (draw_from(strata, feature_fraction, stream(seeds[i], CHOOSE_FEATURES)), facts)

    most = min(features.n_features, round(feature_fraction * features.n_features) + int(n_strata))
    runs = OnColumns("stratified", "stratified features", init, max_iter, tol, float(feature_fraction))
    return runs.ensemble(features, ks, seeds, choose, most, preprocess, keep_base_models, n_jobs)
