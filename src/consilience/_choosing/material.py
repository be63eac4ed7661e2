"""What is studied: features, in the form that makes runs fastest, and base clusterings.

Base clusterings are made from the features, or given.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .. import _register
from .._base.dask_types import is_lazy
from .._base.names import AUTO
from .._data.ensemble import Ensemble
from .._data.features import Features, as_features, check_not_of_columns
from .._data.plausibility import question_features
from .._kernels.kmeans.gram import Gram
from ..errors import InputError
from ..generate import comparable, prepared
from .null import Cloud, cloud_of
from .runs import (
    OBJECTS,
    Generator,
    Measured,
    StudyPlan,
    by_inner_products,
    ensemble_of,
    measure,
    mixed,
    subsampled,
    widest_mixed,
)

#: The largest number of objects of a sparse X with more features than this: its principal components need a
#: square matrix of the objects.
SPARSE_OBJECTS = 2_000


class Settings(NamedTuple):
    """The settings of a study, checked."""

    ks: np.ndarray  # rising
    n_clusterings: int
    sample_fraction: float
    feature_fraction: float
    generator: Generator
    method: Any
    seed: int
    n_pairs: int
    n_jobs: int | None


class Objects(NamedTuple):
    """The features under study."""

    features: Features  # of the sample, prepared
    weights: np.ndarray  # (n,) of mean 1
    weighted: bool  # whether weights differ
    X: Any  # as runs take it
    cloud: Cloud | None  # its principal components, where runs take these
    n_samples: int  # of the features given
    sample: np.ndarray | None  # rows of them that are studied
    notes: list[str]

    @property
    def by_distance(self) -> bool:
        """Whether runs depend only on distances."""
        return self.cloud is not None


class Base(NamedTuple):
    """The clusterings that are studied."""

    ensembles: dict[int, Ensemble]  # of each k that has some
    mixed: Ensemble  # of many k, for the spectrum and lifetimes
    given: bool  # whether they came from the user
    notes: list[str]


class Runs(NamedTuple):
    """What runs on the features show."""

    plan: StudyPlan
    own: Measured
    inertia: np.ndarray  # (K,)


# Features
# ----------------------------------------------------------------------------------------------------


def take_features(
    X: Any, sample_weight: Any, max_samples: int, given: Ensemble | None, preprocess: str, settings: Settings
) -> Objects:
    """The features, checked, sampled if there are too many objects, and in the space of the runs."""
    if is_lazy(X):
        features, n, sample = _drawn_lazily(X, sample_weight, max_samples, settings)
        most = max_samples
    else:
        features = as_features(X)
        if features is not X:
            question_features(features, X, None)
        n, d = features.shape
        if given is not None and given.n_samples != n:
            check_not_of_columns(given.labels, features.shape, "The ensemble")
            raise InputError(
                f"X has {n} rows for the {given.n_samples} objects of the ensemble; give those of the same "
                f"objects."
            )
        features = as_features(features, sample_weight)
        sparse = sp.issparse(features.X)
        most = min(max_samples, SPARSE_OBJECTS) if sparse and d > SPARSE_OBJECTS else max_samples
        sample = _drawn(n, most, settings)
        features = features if sample is None else features.take(sample)
    notes = []
    if sample is not None:
        why = "sparse X of so many features" if most < max_samples else f"max_samples={max_samples}"
        what = "The study looked at" if given is None else "The tests looked at"
        notes.append(f"{what} a random sample of {most:,} of the {n:,} objects ({why}).")
    if features.distinct_rows(2) < 2:
        raise InputError(
            f"All {features.n_samples} rows of X are equal: there is nothing to cluster. Check how X was "
            "read or scaled."
        )
    way = comparable(features) if preprocess == AUTO else preprocess
    features = prepared(features, way, n_jobs=settings.n_jobs)
    weight = features.sample_weight
    weighted = weight is not None and bool((weight != weight[0]).any())
    weights = np.ones(features.n_samples) if weight is None else weight / weight.mean()
    # If only distances matter, the scores on the principal components replace the rows: their distances are
    # the same.
    used, cloud = features.X, None
    if settings.generator.by_distance:
        cloud = cloud_of(features.X, weights, axes=False)
        used = as_run(cloud.scores, by_distance=True)
    return Objects(features, weights, weighted, used, cloud, n, sample, notes)


def _drawn(n: int, most: int, settings: Settings) -> np.ndarray | None:
    """Rows that are studied, ascending; None for all."""
    if n <= most:
        return None
    rng = np.random.default_rng([settings.seed, OBJECTS])
    return np.sort(rng.choice(n, most, replace=False))


def _drawn_lazily(
    X: Any, sample_weight: Any, most: int, settings: Settings
) -> tuple[Features, int, np.ndarray | None]:
    """(the same rows of a Dask collection, the number of all rows, their positions).

    No other rows are loaded.
    """
    rows = _register.offered("Rows").of(X, sample_weight)
    sample = _drawn(rows.n_samples, most, settings)
    return rows.take(sample), rows.n_samples, sample


def as_run(X: np.ndarray, *, by_distance: bool) -> Any:
    """Rows in the form that makes runs fastest."""
    if by_distance and by_inner_products(*X.shape):
        return Gram.of(X)
    return np.ascontiguousarray(X)


def check_largest(objects: Objects, settings: Settings) -> None:
    """Raise if there are too few objects for the largest number of clusters."""
    n, most = objects.features.n_samples, int(settings.ks[-1])
    objects.features.check_k(most, "n_clusters")
    drawn = max(1, round(settings.sample_fraction * n))
    if most >= drawn:
        raise InputError(
            f"n_clusters={most} is too large for subsamples of {drawn} objects "
            f"(sample_fraction={settings.sample_fraction:g} of {n}); choose numbers below {drawn}, or "
            f"raise sample_fraction."
        )


def make_clusterings(objects: Objects, settings: Settings) -> tuple[Base, Runs]:
    """The clusterings of the subsamples, for every k, and the mixed ensemble."""
    X, weights, ks = objects.X, objects.weights, settings.ks
    n, most = len(weights), int(ks[-1])
    top = widest_mixed(n, most, objects.features.distinct_rows(max(most, int(n**0.5) + 1)))
    fractions = settings.sample_fraction, settings.feature_fraction
    plan = StudyPlan(ks, settings.n_clusterings, *fractions, settings.generator, settings.seed, top)
    labels, left = subsampled(X, weights, plan, 0, range(settings.n_clusterings), n_jobs=settings.n_jobs)
    unseen = np.flatnonzero((labels[:, :, 0] < 0).all(axis=0))
    if unseen.size:
        raise InputError(
            f"{unseen.size} of {n} objects are in none of the {settings.n_clusterings} subsamples; raise "
            f"n_clusterings or "
            f"sample_fraction={settings.sample_fraction:g}."
        )
    blend = mixed(X, weights, plan, 0)
    kept, names = weights if objects.weighted else None, objects.features.sample_names
    ensembles = {k: ensemble_of(labels[:, :, j].T, kept, names) for j, k in enumerate(ks.tolist())}
    base = Base(ensembles, ensemble_of(blend, kept, names), False, [])
    return base, Runs(plan, measure(labels, left, blend, weights, plan), np.exp(left.mean(axis=0)))


# Labels
# ------------------------------------------------------------------------------------------------------


def take_ensemble(given: Ensemble, sample_weight: Any) -> Ensemble:
    """The clusterings given, with their weights, checked."""
    ensemble = given if sample_weight is None else Ensemble(given, sample_weight=sample_weight)
    if ensemble.unseen.size:
        raise InputError(
            f"{ensemble.unseen.size} objects are missing from every clustering. Drop them with "
            f"ensemble.drop_unseen()."
        )
    if ensemble.n_clusterings < 2:
        raise InputError(
            "The ensemble has a single clustering, which cannot tell how many clusters there are. "
            "Give several."
        )
    return ensemble


def of_each_number(ensemble: Ensemble, settings: Settings) -> Base:
    """The clusterings given: those with k clusters tell about k, all together give spectrum and lifetimes."""
    distinct = ensemble.distinct(n_jobs=settings.n_jobs).n_samples
    if settings.ks[-1] > distinct:
        raise InputError(
            f"n_clusters={settings.ks[-1]} exceeds the {distinct} distinct objects of the ensemble; choose "
            f"numbers up to "
            f"{distinct}."
        )
    counts = ensemble.n_clusters_per_clustering
    with_k = {k: np.flatnonzero(counts == k) for k in settings.ks.tolist()}
    notes = []
    if np.unique(counts).size == 1:
        notes.append(
            f"Every clustering has {counts[0]} clusters, so that eigengap and lifetime lean towards "
            f"{counts[0]}: add clusterings with other numbers of clusters, or give the features."
        )
    return Base(
        {k: ensemble.select(own) for k, own in with_k.items() if own.size >= 2}, ensemble, True, notes
    )
