"""Any scikit-learn style clusterers as base clusterings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.names import is_pair, numbered
from .._base.parameters import FRACTION, N_JOBS, Flag, Integer, Nothing, check, listed
from .._data.ensemble import Ensemble
from .._data.features import Features, as_features
from .._data.labels import encode
from .._members.assembly import CHOOSE_ROWS, assemble, member_seeds, some_columns, stream
from .._members.labeling import (
    FittedMember,
    Member,
    Neighbors,
    codes_of_labels,
    columns_of,
    neighbor_bytes,
    to_keep,
)
from .._members.preparation import View, Views
from .._members.runner import each_member
from ..errors import InputError, warn


@dataclass(frozen=True, eq=False)
class _Runs:
    """How members of :func:`estimators` are made: clusterers, in turn, on all objects or on samples."""

    features: Features
    models: list[tuple[str, Any]]
    seeds: list[int]
    sample_fraction: float
    feature_fraction: float
    bootstrap: bool
    keep: bool
    of_pairs: bool  # X is a matrix of pairs

    def begin(self, view: View) -> Callable[[int], tuple[np.ndarray, dict, Member | None]]:
        return partial(self.run, view)

    def run(self, view: View, i: int) -> tuple[np.ndarray, dict, Member | None]:
        """(labels (n,), recipe, what labels further objects) of one member."""
        name, model = self.models[i % len(self.models)]
        seed = self.seeds[i] % 2**32  # scikit-learn takes no more
        own, n = _seeded(model, seed), self.features.n_samples
        rows, columns = (
            self._sample(i),
            some_columns(view.features.n_features, self.feature_fraction, self.seeds[i]),
        )
        X = columns_of(view.features.X, columns)
        part = X if rows is None else X[rows][:, rows] if self.of_pairs else X[rows]
        found = _labels_of(own, name, part, part.shape[0])
        labels = np.full(n, None, dtype=object) if found.dtype.kind not in "iu" else np.full(n, -1, np.int64)
        labels[slice(None) if rows is None else rows] = found
        recipe = {
            "algorithm": type(model).__name__,
            "parameters": _changed_parameters(model),
            "seed": seed,
            "sample_fraction": self.sample_fraction,
            "feature_fraction": self.feature_fraction,
            "bootstrap": self.bootstrap,
            "new_rows": "predict" if hasattr(own, "predict") else "neighbors",
        }
        if columns is not None:
            recipe["features"] = view.original(columns)
        member: Member | None = None
        if self.keep and hasattr(own, "predict"):
            member = FittedMember(view.preparation, own, encode(found, name)[1], columns)
        elif self.keep:
            member = Neighbors(view.preparation, self.features.X, codes_of_labels(found), rows, columns)
        return labels, recipe, member

    def _sample(self, i: int) -> np.ndarray | None:
        """The objects that a member sees, sorted; None for all."""
        n = self.features.n_samples
        drawn = max(1, round(self.sample_fraction * n))
        if drawn == n and not self.bootstrap:
            return None
        return np.unique(stream(self.seeds[i], CHOOSE_ROWS).choice(n, drawn, replace=self.bootstrap))


def estimators(
    X: Any,
    *,
    clusterers: Any,
    n_clusterings: int | None = None,
    sample_fraction: float = 1.0,
    feature_fraction: float = 1.0,
    bootstrap: bool = False,
    preprocess: str = "none",
    keep_base_models: bool | None = False,
    random_state: Any = None,
    n_jobs: int | None = -1,
) -> Ensemble:
    """Any clusterers that have ``fit_predict``, on all objects and features or on random samples.

    Parameters
    ----------
    X : array, data frame or sparse matrix (n_samples, n_features)
        Where the clusterers have ``metric="precomputed"`` (or ``affinity="precomputed"``), X is instead the
        matrix (n_samples, n_samples) of distances (or similarities), and samples are drawn from rows and
        columns alike.
    clusterers : clusterer, list of clusterers or (name, clusterer) pairs, or dict by name
        They are cloned before use, so yours stay unfitted. Those with a ``random_state`` (also inside a
        pipeline) get a new seed for each base clustering. The label -1, noise in DBSCAN, HDBSCAN and OPTICS,
        means missing.
    n_clusterings : int or None
        Number of base clusterings; the clusterers are used in turn. None uses each once.
    sample_fraction : float in (0, 1], default 1
        Share of the objects that each base clustering sees; the others are missing from it.
    feature_fraction : float in (0, 1], default 1
        Share of the features that each base clustering sees, drawn without replacement; at least one feature.
    bootstrap : bool, default False
        Draw the sample with replacement; an object that is drawn several times is seen once.
    preprocess : str, default "none"
        How the features are prepared, see :mod:`consilience.generate`: as given, in one of several
        preparations, or "diverse", where a preparation is drawn for each base clustering. All objects are
        prepared before the sample is drawn.
    keep_base_models : bool or None, default False
        Keep in ``ensemble.base_models`` what labels further objects: the clusterer itself if it has
        ``predict``, else X, once for all base clusterings, because a new row gets the label of the nearest
        row that the base clustering saw. None keeps them if X takes at most 128 MB.
    random_state : int, numpy generator or None
    n_jobs : int or None, default -1
        Base clusterings fitted at the same time, on threads; -1 is all cores, None as in joblib. Meanwhile
        BLAS and OpenMP use one thread.

    Returns
    -------
    Ensemble
        Each recipe holds ``algorithm, parameters`` (those that differ from the defaults), ``seed,
        sample_fraction, feature_fraction, bootstrap, new_rows`` and ``preprocess``; new_rows says how further
        objects are labeled, by "predict" or by "neighbors". Where base clusterings do not see all features,
        it also holds ``features``, the column numbers used.

    Warns
    -----
    ConsilienceWarning
        If a clusterer called every object noise: its base clustering is left out.

    Examples
    --------
    >>> import consilience as cs
    >>> from sklearn.cluster import AgglomerativeClustering, KMeans
    >>> from sklearn.datasets import load_iris
    >>> ens = cs.generate.estimators(
    ...     load_iris().data, clusterers=[KMeans(3), AgglomerativeClustering(4)], random_state=0
    ... )
    >>> ens.clustering_names, ens.n_clusters_per_clustering.tolist()
    (['KMeans', 'AgglomerativeClustering'], [3, 4])
    """
    check("n_clusterings", n_clusterings, Nothing() | Integer(1))
    check("sample_fraction", sample_fraction, FRACTION)
    check("feature_fraction", feature_fraction, FRACTION)
    check("bootstrap", bootstrap, Flag())
    check("n_jobs", n_jobs, N_JOBS)
    features = as_features(X)
    models = _check_clusterers(clusterers)
    m = len(models) if n_clusterings is None else int(n_clusterings)
    seeds = member_seeds(random_state, m)
    of_pairs = _check_pairs(models, features, preprocess, feature_fraction, keep_base_models)
    n_bytes = neighbor_bytes(features.X, m)
    keep = to_keep(keep_base_models, n_bytes) and not of_pairs

    fractions = float(sample_fraction), float(feature_fraction)
    runs = _Runs(features, models, seeds, *fractions, bool(bootstrap), keep, of_pairs)
    # No note on scales: a clusterer may be a pipeline that takes care of them.
    views = Views(preprocess, features, seeds, n_jobs=n_jobs, note=False)
    columns, recipes, members = each_member(
        runs.begin,
        views,
        "estimators",
        n_jobs,
        first="use clusterers that hold no pairs of objects, a lower sample_fraction or n_jobs=1, ",
    )
    names = numbered([models[i % len(models)][0] for i in range(m)])
    kept = _not_all_noise(columns, names)
    return assemble(
        features,
        [columns[i] for i in kept],
        [recipes[i] for i in kept],
        names=[names[i] for i in kept],
        members=[members[i] for i in kept] if keep else None,
        members_bytes=n_bytes,
    )


def _not_all_noise(columns: Sequence[np.ndarray], names: list[str]) -> list[int]:
    """The members that found any cluster; a warning names the others."""
    empty = [i for i, labels in enumerate(columns) if labels.dtype.kind in "iu" and (labels < 0).all()]
    if empty:
        shown = listed(names[i] for i in empty)
        if len(empty) == len(columns):
            raise InputError(
                f"{shown} found no clusters: every object is noise. Change the parameters of the clusterers."
            )
        warn(
            f"{shown} called every object noise, so there is no base clustering of it; change parameters.",
        )
    return [i for i in range(len(columns)) if i not in set(empty)]


def _check_clusterers(clusterers: Any) -> list[tuple[str, Any]]:
    if isinstance(clusterers, Mapping):
        models = [(str(name), model) for name, model in clusterers.items()]
    else:
        items = [clusterers] if hasattr(clusterers, "get_params") else list(clusterers)
        models = [model if is_pair(model) else (type(model).__name__, model) for model in items]
    if not models:
        raise InputError("clusterers is empty: give at least one, for instance [KMeans(5), DBSCAN()].")
    for i, (_, model) in enumerate(models):
        if isinstance(model, type):
            raise InputError(
                f"clusterers[{i}] is the class {model.__name__}; pass an instance, {model.__name__}()."
            )
        if not hasattr(model, "fit_predict") or not hasattr(model, "get_params"):
            raise InputError(
                f"clusterers[{i}]={model!r} is not a scikit-learn style clusterer: it needs fit_predict "
                f"and get_params."
            )
    return models


def takes_pairs(clusterer: Any) -> bool:
    """Whether it clusters a matrix of distances or similarities instead of features."""
    params = clusterer.get_params()
    return "precomputed" in (params.get("metric"), params.get("affinity"))


def _check_pairs(
    models: list[tuple[str, Any]],
    features: Features,
    preprocess: Any,
    feature_fraction: float,
    keep_base_models: bool | None,
) -> bool:
    """Whether X is a matrix of pairs; raises for parameters that do not go with one."""
    of_pairs = [takes_pairs(model) for _, model in models]
    if not any(of_pairs):
        return False
    if not all(of_pairs):
        other = models[of_pairs.index(False)][0]
        raise InputError(
            f"{models[of_pairs.index(True)][0]} takes precomputed pairs and {other} takes features, but X "
            "can be only one of them. Make two ensembles and join them with concatenate."
        )
    n, d = features.shape
    if n != d:
        raise InputError(
            f"X has shape {(n, d)}, but precomputed distances or similarities are a square matrix "
            "(n_samples, n_samples). Pass such a matrix, or use clusterers of features."
        )
    if preprocess not in (None, "none"):
        raise InputError(
            f"preprocess={preprocess!r} prepares features, and X is a matrix of pairs. Leave it out."
        )
    if feature_fraction < 1:
        raise InputError(
            f"feature_fraction={feature_fraction} draws features, and X is a matrix of pairs. Use "
            "sample_fraction, which draws objects."
        )
    if keep_base_models:
        raise InputError(
            "keep_base_models=True needs features to label further objects by, and X is a matrix of pairs. "
            "Leave it out."
        )
    return True


def _seeded(model: Any, seed: int) -> Any:
    """A clone whose random states, nested ones too, are set."""
    own = clone(model)
    states = [name for name in own.get_params() if name.split("__")[-1] == "random_state"]
    return own.set_params(**dict.fromkeys(states, seed))


def _labels_of(model: Any, name: str, X: Any, n: int) -> np.ndarray:
    try:
        found = np.asarray(model.fit_predict(X))
    except MemoryError as error:
        raise MemoryError(f"{name}: {error}") from error
    except Exception as error:
        raise InputError(f"{name} failed on X of shape {X.shape}: {type(error).__name__}: {error}") from error
    if found.shape != (n,):
        raise InputError(f"{name} gave labels of shape {found.shape} for {n} objects.")
    return found


def _changed_parameters(model: Any) -> dict[str, Any]:
    try:
        usual = type(model)().get_params(deep=False)
    except TypeError:  # has required parameters
        usual = {}
    given = model.get_params(deep=False)
    return {
        name: value if isinstance(value, (bool, int, float, str, type(None))) else repr(value)
        for name, value in given.items()
        if name != "random_state" and (name not in usual or repr(usual[name]) != repr(value))
    }
