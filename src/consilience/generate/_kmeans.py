"""Generators around the many-run k-means kernel: fixed k, random k, random features, resampled rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .._base.parameters import FRACTION, N_JOBS, Choice, Flag, Integer, Real, check, check_all
from .._base.progress import progress
from .._data.ensemble import Ensemble
from .._data.features import Features, as_features
from .._kernels.kmeans import ManyKMeans, many_kmeans, nearest_centers
from .._members.assembly import (
    CHOOSE_ROWS,
    NClusters,
    assemble,
    check_n_clusterings,
    choose_ks,
    draw_columns,
    member_seeds,
    root,
    some_columns,
    stream,
)
from .._members.labeling import KEEP, Member, center_member, columns_of, to_keep
from .._members.preparation import View, Views
from .._members.runner import each_member, within_memory
from ..errors import InputError

_RULES = {
    "init": Choice("k-means++", "random"),
    "max_iter": Integer(1),
    "tol": Real(0),
    "n_jobs": N_JOBS,
    "keep_base_models": KEEP,
}
_OF_BAGGING = {
    "sample_fraction": FRACTION,
    "feature_fraction": FRACTION,
    "bootstrap": Flag(),
    "unseen": Choice("missing", "nearest"),
}


def kmeans(
    X: Any,
    *,
    n_clusterings: int = 20,
    n_clusters: NClusters = None,
    init: str = "k-means++",
    max_iter: int = 300,
    tol: float = 1e-4,
    preprocess: str = "none",
    keep_base_models: bool | None = False,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = -1,
) -> Ensemble:
    """k-means from different random starts.

    Parameters
    ----------
    X : array, data frame or sparse matrix (n_samples, n_features)
    n_clusterings : int, default 20
        Number of base clusterings.
    n_clusters : int, pair, list or range, or None
        Clusters of each base clustering: a number, the same for all; a pair (smallest, largest), an interval
        from which each draws its own number; or a list or range, a set to draw from. See
        :mod:`consilience.generate`. None is the square root of n_samples (at most the number of distinct
        rows).
    init : "k-means++" (greedy, as in scikit-learn) or "random" rows
    max_iter, tol : stopping rule of scikit-learn's KMeans
    preprocess : str, default "none"
        How the features are prepared: "none" (as given), "standardize", "ranks", "log", "tf-idf", "unit", or
        "diverse", where each base clustering draws one of those that suit the data. See
        :mod:`consilience.generate`.
    keep_base_models : bool or None, default False
        Keep in ``ensemble.base_models`` what labels further objects, the centers; None keeps them if they
        take at most 128 MB.
    sample_weight : array (n_samples,), optional
        Positive weights, used for the clusterings and kept in the ensemble.
    random_state : int, numpy generator or None
    n_jobs : int or None, default -1
        Threads; -1 is all cores, None as in joblib. The answer does not depend on it.

    Returns
    -------
    Ensemble
        Each recipe holds ``algorithm, n_clusters, seed, init, max_iter, tol, inertia, n_iter, converged,
        preprocess``; the inertia is computed from the prepared features.

    Notes
    -----
    Runs share each pass over X, unless X fits into a cache: see
    :func:`consilience._kernels.kmeans.many_kmeans`.

    Examples
    --------
    >>> import consilience as cs
    >>> from sklearn.datasets import load_iris
    >>> ens = cs.generate.kmeans(load_iris().data, n_clusterings=5, n_clusters=3, random_state=0)
    >>> ens.n_clusters_per_clustering.tolist()
    [3, 3, 3, 3, 3]
    >>> ens.recipes[0]["algorithm"], ens.recipes[0]["n_clusters"]
    ('kmeans', 3)
    """
    features = as_features(X, sample_weight)
    seeds = member_seeds(random_state, check_n_clusterings(n_clusterings))
    ks = choose_ks(n_clusters, features, seeds)
    check_runs(init, max_iter, tol, n_jobs, keep_base_models)
    views = Views(preprocess, features, seeds, n_jobs=n_jobs)
    return _runs(views, ks, seeds, init, max_iter, tol, keep_base_models, n_jobs)


def random_k(
    X: Any,
    *,
    n_clusterings: int = 20,
    n_clusters: NClusters = None,
    init: str = "k-means++",
    max_iter: int = 300,
    tol: float = 1e-4,
    preprocess: str = "none",
    keep_base_models: bool | None = False,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = -1,
) -> Ensemble:
    """k-means with a random number of clusters in each base clustering.

    This is known as random parameter selection (RPS).

    Parameters
    ----------
    X : array, data frame or sparse matrix (n_samples, n_features)
    n_clusterings : int, default 20
    n_clusters : int, pair, list or range, or None
        As in :func:`kmeans`, except that None is the interval from 2 to the square root of n_samples (at most
        the number of distinct rows).
    init, max_iter, tol, preprocess, keep_base_models : see :func:`kmeans`
    sample_weight, random_state, n_jobs : see :func:`kmeans`

    Examples
    --------
    >>> import consilience as cs
    >>> from sklearn.datasets import load_iris
    >>> ens = cs.generate.random_k(load_iris().data, n_clusterings=30, random_state=0)
    >>> int(ens.n_clusters_per_clustering.min()), int(ens.n_clusters_per_clustering.max())
    (2, 12)
    """
    features = as_features(X, sample_weight)
    seeds = member_seeds(random_state, check_n_clusterings(n_clusterings))
    ks = choose_ks(n_clusters, features, seeds, widest=root(features.n_samples))
    check_runs(init, max_iter, tol, n_jobs, keep_base_models)
    views = Views(preprocess, features, seeds, n_jobs=n_jobs)
    return _runs(views, ks, seeds, init, max_iter, tol, keep_base_models, n_jobs)


def random_features(
    X: Any,
    *,
    n_clusterings: int = 20,
    n_clusters: NClusters = None,
    feature_fraction: float = 0.1,
    init: str = "k-means++",
    max_iter: int = 300,
    tol: float = 1e-4,
    preprocess: str = "none",
    keep_base_models: bool | None = False,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = -1,
) -> Ensemble:
    """k-means on a random subset of the features in each base clustering.

    This is known as random feature selection (RFS).

    Parameters
    ----------
    X : array, data frame or sparse matrix (n_samples, n_features)
    n_clusterings : int, default 20
    n_clusters : int, pair, list or range, or None
        As in :func:`kmeans`.
    feature_fraction : float in (0, 1], default 0.1
        Share of the features that each base clustering sees, drawn without replacement; at least one feature.
    init, max_iter, tol, preprocess, keep_base_models : see :func:`kmeans`
    sample_weight, random_state, n_jobs : see :func:`kmeans`

    Returns
    -------
    Ensemble
        Recipes also hold ``feature_fraction`` and ``features``, the column numbers used.

    Examples
    --------
    >>> import consilience as cs
    >>> from sklearn.datasets import load_digits
    >>> ens = cs.generate.random_features(load_digits().data, n_clusterings=3, n_clusters=10, random_state=0)
    >>> [len(recipe["features"]) for recipe in ens.recipes]
    [6, 6, 6]
    """
    check("feature_fraction", feature_fraction, FRACTION)
    features = as_features(X, sample_weight)
    seeds = member_seeds(random_state, check_n_clusterings(n_clusterings))
    ks = choose_ks(n_clusters, features, seeds)
    check_runs(init, max_iter, tol, n_jobs, keep_base_models)

    def choose(view: View) -> Callable[[int], tuple[np.ndarray, dict]]:
        d = view.features.n_features
        kept = max(1, round(feature_fraction * d))
        return lambda i: (draw_columns(d, kept, seeds[i]), {})

    most = max(1, round(feature_fraction * features.n_features))
    runs = OnColumns("random_features", "random features", init, max_iter, tol, float(feature_fraction))
    return runs.ensemble(features, ks, seeds, choose, most, preprocess, keep_base_models, n_jobs)


class OnColumns(NamedTuple):
    """k-means of each member on columns of its own."""

    algorithm: str
    what: str
    init: str
    max_iter: int
    tol: float
    feature_fraction: float

    def ensemble(
        self,
        features: Features,
        ks: list[int],
        seeds: list[int],
        choose: Callable[[View], Callable[[int], tuple[np.ndarray, dict]]],
        most: int,
        preprocess: str,
        keep_base_models: bool | None,
        n_jobs: int | None,
    ) -> Ensemble:
        """Run k-means for every member on the columns chosen for it.

        ``choose(view)(i)`` gives the columns of member i and what else its recipe holds; ``most`` is the
        largest number of columns.
        """
        n_bytes = _center_bytes(ks, most)
        keep = to_keep(keep_base_models, n_bytes)

        def begin(view: View) -> Callable[[int], tuple[np.ndarray, dict, Member | None]]:
            X = view.features.X
            by_column = X if isinstance(X, np.ndarray) else X.tocsc()
            columns_of = choose(view)

            def run(i: int) -> tuple[np.ndarray, dict, Member | None]:
                columns, more = columns_of(i)
                own = by_column[:, columns]
                found = many_kmeans(
                    own,
                    [ks[i]],
                    seeds=[seeds[i]],
                    init=self.init,
                    max_iter=self.max_iter,
                    tol=self.tol,
                    sample_weight=features.sample_weight,
                    n_jobs=1,
                )
                recipe = _recipe(
                    self.algorithm, ks[i], seeds[i], self.init, self.max_iter, self.tol, found, 0
                )
                recipe |= {
                    "feature_fraction": self.feature_fraction,
                    **more,
                    "features": view.original(columns),
                }
                member = None
                if keep:
                    own = own if isinstance(own, np.ndarray) else own.tocsr()
                    member = center_member(
                        view.preparation, columns, own, found.centers[0], found.labels[:, 0]
                    )
                return found.labels[:, 0], recipe, member

            return run

        views = Views(preprocess, features, seeds, n_jobs=n_jobs)
        labels, recipes, members = each_member(begin, views, self.what, n_jobs)
        return assemble(features, labels, recipes, members=members if keep else None, members_bytes=n_bytes)


@dataclass(frozen=True, eq=False)
class _OnRows:
    """k-means on samples of the objects: how members of :func:`bagging` are made.

    ks, seeds : of each member.
    drawn : objects of a sample.
    settings : init, max_iter and tol of k-means.
    facts : sample_fraction, feature_fraction, bootstrap and unseen, for the recipes.
    """

    features: Features
    ks: list[int]
    seeds: list[int]
    drawn: int
    keep: bool
    settings: dict[str, Any]
    facts: dict[str, Any]

    def begin(self, view: View) -> Callable[[int], tuple[np.ndarray, dict, Member | None]]:
        return partial(self.run, view)

    def run(self, view: View, i: int) -> tuple[np.ndarray, dict, Member | None]:
        """(labels (n,), recipe, what labels further objects) of one member."""
        k, seed = self.ks[i], self.seeds[i]
        columns = some_columns(view.features.n_features, self.facts["feature_fraction"], seed)
        X = columns_of(view.features.X, columns)
        rows, counts = self._sample(seed)
        found = many_kmeans(
            X[rows], [min(k, len(rows))], seeds=[seed], **self.settings, sample_weight=counts, n_jobs=1
        )
        labels = np.full(self.features.n_samples, -1, dtype=np.int32)
        labels[rows] = found.labels[:, 0]
        recipe = _recipe("bagging", k, seed, **self.settings, found=found, r=0)
        recipe |= {**self.facts, "n_seen": len(rows)}
        if columns is not None:
            recipe["features"] = view.original(columns)
        member = None
        if self.keep:
            own = view.preparation, columns, X[rows], found.centers[0], found.labels[:, 0]
            member = center_member(*own)
        rest = np.flatnonzero(labels < 0)
        if self.facts["unseen"] == "nearest" and len(rest):
            # A center that lost all its rows in the end must not attract others.
            filled = np.unique(labels[rows])
            nearest = nearest_centers(X[rest], [found.centers[0][filled]], n_jobs=1)[:, 0]
            labels[rest] = filled[nearest]
        return labels, recipe, member

    def _sample(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """(objects drawn, sorted, what each counts)."""
        rng, weight = stream(seed, CHOOSE_ROWS), self.features.sample_weight
        chosen = rng.choice(self.features.n_samples, self.drawn, replace=self.facts["bootstrap"])
        rows, times = np.unique(chosen, return_counts=True)
        return rows, times.astype(np.float64) if weight is None else times * weight[rows]


def bagging(
    X: Any,
    *,
    n_clusterings: int = 20,
    n_clusters: NClusters = None,
    sample_fraction: float = 0.8,
    feature_fraction: float = 1.0,
    bootstrap: bool = False,
    unseen: str = "missing",
    init: str = "k-means++",
    max_iter: int = 300,
    tol: float = 1e-4,
    preprocess: str = "none",
    keep_base_models: bool | None = False,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = -1,
) -> Ensemble:
    """k-means on a random sample of the objects, and optionally of the features.

    Parameters
    ----------
    X : array, data frame or sparse matrix (n_samples, n_features)
    n_clusterings : int, default 20
    n_clusters : int, pair, list or range, or None
        As in :func:`kmeans`.
    sample_fraction : float in (0, 1], default 0.8
        Size of the sample as a share of the objects.
    feature_fraction : float in (0, 1], default 1
        Share of the features that each base clustering sees, drawn without replacement; at least one feature.
    bootstrap : bool, default False
        Draw with replacement; repeated objects count as often as they were drawn.
    unseen : "missing" or "nearest"
        Objects outside the sample get no label, or the label of the nearest center.
    init, max_iter, tol, preprocess, keep_base_models : see :func:`kmeans`
    sample_weight, random_state, n_jobs : see :func:`kmeans`

    Returns
    -------
    Ensemble
        Recipes also hold ``sample_fraction, feature_fraction, bootstrap, unseen`` and ``n_seen``, the number
        of different objects drawn; and ``features``, the column numbers used, where base clusterings do not
        see all of them.

    Notes
    -----
    With few base clusterings and a small ``sample_fraction``, some objects may be in none of the samples:
    ``ensemble.unseen`` lists them.

    Examples
    --------
    >>> import consilience as cs
    >>> from sklearn.datasets import load_iris
    >>> ens = cs.generate.bagging(load_iris().data, n_clusterings=4, n_clusters=3, random_state=0)
    >>> (ens.labels < 0).sum(axis=0).tolist()
    [30, 30, 30, 30]
    """
    facts = {
        "sample_fraction": sample_fraction,
        "feature_fraction": feature_fraction,
        "bootstrap": bootstrap,
        "unseen": unseen,
    }
    check_all(facts, _OF_BAGGING)
    features = as_features(X, sample_weight)
    seeds = member_seeds(random_state, check_n_clusterings(n_clusterings))
    ks = choose_ks(n_clusters, features, seeds)
    check_runs(init, max_iter, tol, n_jobs, keep_base_models)
    n = features.n_samples
    drawn = max(1, round(sample_fraction * n))
    if max(ks) > drawn:
        raise InputError(
            f"sample_fraction={sample_fraction} leaves {drawn} of {n} objects, too few for "
            f"n_clusters={max(ks)}; raise sample_fraction or lower n_clusters."
        )

    n_bytes = _center_bytes(ks, max(1, round(feature_fraction * features.n_features)))
    keep = to_keep(keep_base_models, n_bytes)

    facts = {name: rule.plain(facts[name]) for name, rule in _OF_BAGGING.items()}
    settings = {"init": init, "max_iter": max_iter, "tol": tol}
    samples = _OnRows(features, ks, seeds, drawn, keep, settings, facts)
    views = Views(preprocess, features, seeds, n_jobs=n_jobs)
    columns, recipes, members = each_member(samples.begin, views, "bagging", n_jobs)
    return assemble(features, columns, recipes, members=members if keep else None, members_bytes=n_bytes)


def _runs(
    views: Views,
    ks: list[int],
    seeds: list[int],
    init: str,
    max_iter: int,
    tol: float,
    keep_base_models: bool | None,
    n_jobs: int | None,
) -> Ensemble:
    """Members that differ in start, k and preparation only: one call of the kernel for each preparation."""
    features = views.features
    n_bytes = _center_bytes(ks, features.n_features)
    keep = to_keep(keep_base_models, n_bytes)
    made: dict[int, tuple[np.ndarray, dict, Member | None]] = {}
    with within_memory("k-means", features), progress(total=len(ks), what="k-means", unit="run") as bar:
        for view in views:
            found = many_kmeans(
                view.features.X,
                [ks[i] for i in view.members],
                seeds=[seeds[i] for i in view.members],
                init=init,
                max_iter=max_iter,
                tol=tol,
                sample_weight=features.sample_weight,
                n_jobs=n_jobs,
                on_done=bar.update,
                keep_centers=keep,
            )
            for r, i in enumerate(view.members):
                recipe = _recipe("kmeans", ks[i], seeds[i], init, max_iter, tol, found, r)
                labels, X, member = found.labels[:, r], view.features.X, None
                if keep:
                    member = center_member(view.preparation, None, X, found.centers[r], labels)
                made[i] = labels, {**recipe, "preprocess": view.preparation.name}, member
            del view, X  # before the next is made
    columns, recipes, members = zip(*(made[i] for i in range(len(ks))))
    return assemble(features, columns, recipes, members=members if keep else None, members_bytes=n_bytes)


def _recipe(
    algorithm: str, k: int, seed: int, init: str, max_iter: int, tol: float, found: ManyKMeans, r: int
) -> dict:
    return {
        "algorithm": algorithm,
        "n_clusters": k,
        "seed": seed,
        "init": init,
        "max_iter": int(max_iter),
        "tol": float(tol),
        "inertia": float(found.inertia[r]),
        "n_iter": int(found.n_iter[r]),
        "converged": bool(found.converged[r]),
    }


def check_runs(
    init: str, max_iter: int, tol: float, n_jobs: int | None, keep_base_models: bool | None
) -> None:
    given = {
        "init": init,
        "max_iter": max_iter,
        "tol": tol,
        "n_jobs": n_jobs,
        "keep_base_models": keep_base_models,
    }
    check_all(given, _RULES)


def _center_bytes(ks: list[int], d: int) -> float:
    """Bytes that the centers of all members take."""
    return 8.0 * sum(ks) * d
