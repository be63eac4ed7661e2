"""Spectral clusterings through landmarks.

Every member has its own landmarks, features, kernel width and number of clusters.

A member draws a share of the features, a scale mu and a number of clusters k. It places some hundred
landmarks by a short k-means of a sample of the objects, links each object to the K landmarks nearest to it,
and cuts that graph on the side of the landmarks (the formulas are in
:mod:`consilience._kernels.neighbors.landmarks`; sigma is mu times the mean distance of an object to its
landmarks). k-means of the landmarks' vectors, each weighted by the objects linked to it, gives k centers, and
every object goes to the center nearest to its own vector.

References
----------
D. Huang, C.-D. Wang, J.-S. Wu, J.-H. Lai and C.-K. Kwoh, "Ultra-scalable spectral clustering and ensemble
clustering", IEEE Transactions on Knowledge and Data Engineering 32(6), 2020.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._base.parameters import FRACTION, N_JOBS, Integer, Real, check_all, relative_to_lightest
from .._base.progress import progress
from .._data.ensemble import Ensemble
from .._data.features import Features, as_features
from .._kernels.cut.embedding import unit_rows
from .._kernels.eigen import eigenpairs
from .._kernels.kmeans import many_kmeans, nearest_centers
from .._kernels.neighbors.landmarks import (
    NEARBY,
    Landmarks,
    Rows,
    graph_of_landmarks,
    place_landmarks,
)
from .._kernels.pairs.components import components
from .._kernels.runtime.floats import unit_of_largest
from .._kernels.runtime.memory import ensure_fits
from .._kernels.runtime.threads import blocks, map_blocks, map_tasks, one_blas_thread, resolve_jobs
from .._members.assembly import (
    CHOOSE_ROWS,
    NClusters,
    assemble,
    check_n_clusterings,
    choose_ks,
    draw_columns,
    member_seeds,
    root_upwards,
    stream,
)
from .._members.labeling import KEEP, to_keep
from .._members.landmarks import BLOCK, LandmarkMember, LandmarkModel, neighbors_of
from .._members.preparation import PREPARE, View, Views
from .._members.runner import within_memory
from ..errors import InputError
from ._metric_subspace import CHOOSE_KERNEL, check_pair, nearest_pieces

#: Objects sampled for each landmark.
SAMPLED = 10
#: The largest k, unless sqrt(n) is less; the smallest is a third of it.
MOST_CLUSTERS = 60
SMALLEST_SHARE = 1 / 3
SCALES = (0.5, 1.0)
#: Starts and steps of the k-means of landmarks.
STARTS, STEPS = 3, 100
RULES = {
    "feature_fraction": FRACTION,
    "n_landmarks": Integer(1),
    "n_neighbors": Integer(1),
    "preprocess": PREPARE,
    "keep_base_models": KEEP,
    "n_jobs": N_JOBS,
}
_PARTS = 16  # partial sums of rows made in parallel; must not depend on the number of threads


def widest(n: int) -> int:
    """The largest k of a member on n objects if none is given."""
    return min(MOST_CLUSTERS, root_upwards(n))


@dataclass(frozen=True, eq=False)
class _Runs:
    """How members of :func:`landmarks` are made."""

    features: Features
    ks: list[int]
    seeds: list[int]
    feature_fraction: float
    n_landmarks: int
    n_neighbors: int
    scales: tuple[float, float]
    keep: bool
    n_jobs: int | None

    @cached_property
    def weight(self) -> np.ndarray | None:
        given = self.features.sample_weight
        return None if given is None else relative_to_lightest(given)

    def of_view(self, view: View, workers: int) -> Iterator[tuple[int, tuple[np.ndarray, dict, Any]]]:
        """(member, (labels, recipe, what labels further objects)) of all members of a view.

        Landmarks of some members side by side, then one member after the other by blocks of rows: one needs
        memory for all objects at a time, and an interrupt waits for a block and not for a member.
        """
        X, unit = view.features.X, unit_of_largest(view.features.X)
        for first, last in blocks(len(view.members), workers):
            turn = view.members[first:last]
            placed = map_tasks(partial(self.start, X=X, unit=unit), turn, n_jobs=self.n_jobs)
            for i, (rows, points) in zip(turn, placed):
                yield i, self.finish(i, rows, points, view)

    def start(self, i: int, X: Any, unit: float) -> tuple[Rows, Landmarks]:
        """A member's view of the objects, and its landmarks."""
        seed, (n, d) = self.seeds[i], X.shape
        kept, size = max(1, round(self.feature_fraction * d)), min(n, SAMPLED * self.n_landmarks)
        rows = Rows(X, draw_columns(d, kept, seed), unit)
        sample = np.sort(stream(seed, CHOOSE_ROWS).choice(n, size, replace=False))
        own = None if self.weight is None else self.weight[sample]
        points = place_landmarks(rows.take(sample), self.n_landmarks, self.n_neighbors, seed=seed, weight=own)
        return rows, points

    def finish(self, i: int, rows: Rows, points: Landmarks, view: View) -> tuple[np.ndarray, dict, Any]:
        """(labels (n,), recipe, what labels further objects)."""
        seed = self.seeds[i]
        scale = float(stream(seed, CHOOSE_KERNEL).uniform(*self.scales))
        model, labels, facts = learn(
            rows,
            points,
            self.ks[i],
            self.n_neighbors,
            scale=scale,
            seed=seed,
            weight=self.weight,
            n_jobs=self.n_jobs,
        )
        recipe = {
            "algorithm": "landmarks",
            "n_clusters": facts.pop("n_clusters"),
            "seed": seed,
            "feature_fraction": self.feature_fraction,
            "n_neighbors": int(self.n_neighbors),
            "scale": scale,
            "features": view.original(rows.columns),
            "preprocess": view.preparation.name,
            **facts,
        }
        return labels, recipe, LandmarkMember(view.preparation, model) if self.keep else None


def landmarks(
    X: Any,
    *,
    n_clusterings: int = 20,
    n_clusters: NClusters = None,
    feature_fraction: float = 0.5,
    n_landmarks: int = 600,
    n_neighbors: int = 5,
    scales: tuple[float, float] = SCALES,
    preprocess: str = "none",
    keep_base_models: bool | None = False,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = -1,
) -> Ensemble:
    """Spectral clusterings of any number of objects, each through its own landmarks and features.

    They find clusters of any shape, as those of :func:`metric_subspace` do, in time linear in the number of
    objects.

    Parameters
    ----------
    X : array, data frame or sparse matrix (n_samples, n_features)
    n_clusterings : int, default 20
        Number of base clusterings.
    n_clusters : int, pair, list or range, or None
        Clusters of each base clustering, or what to draw them from, see :mod:`consilience.generate`. None is
        an interval. Its largest number is 60, or the square root of n_samples, rounded up, if that is less
        (at most the number of distinct rows). Its smallest is a third of that, but at least 2.
    feature_fraction : float in (0, 1], default 0.5
        Share of the features that each base clustering sees; at least one feature.
    n_landmarks : int, default 600
        Landmarks of each base clustering, p. Where there are no more objects than that, the objects are the
        landmarks.
    n_neighbors : int, default 5
        Landmarks that each object is linked to, K.
    scales : pair of float, default (0.5, 1)
        Range of the width of the kernel of a base clustering, as a multiple of the mean distance between an
        object and its landmarks.
    preprocess : str, default "none"
        How the features are prepared, see :mod:`consilience.generate`: as given, in one of several
        preparations, or "diverse", where a preparation is drawn for each base clustering.
    keep_base_models : bool or None, default False
        Keep in ``ensemble.base_models`` what labels further objects, the landmarks of each base clustering.
        None keeps them if they take at most 128 MB.
    sample_weight : array (n_samples,), optional
        Positive weights, used for landmarks, graph and cut, and kept in the ensemble.
    random_state : int, numpy generator or None
    n_jobs : int or None, default -1
        Threads; -1 is all cores, None as in joblib. The answer does not depend on it.

    Returns
    -------
    Ensemble
        Each recipe holds ``algorithm, n_clusters, seed, feature_fraction, n_neighbors, scale, features,
        n_landmarks, sigma, pieces, preprocess``: the number of different landmarks placed, the width of the
        kernel, and the number of connected pieces of the graph. n_clusters is the number of clusters found: a
        cluster of landmarks to which no object is nearest is left out.

    Notes
    -----
    If the graph falls into k pieces or more, the pieces are the clusters; those with the nearest means are
    merged first.

    Time for each base clustering: O(p^2 d) for landmarks from a sample of 10 p objects, O(p^3) for
    eigenvectors, and O(n (sqrt(p) d + K k)) for all objects. Memory beside X: 8 n K bytes (12 n K for
    float64) for one base clustering at a time, and O(p d) for each thread.

    Examples
    --------
    >>> import consilience as cs
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> ens = cs.generate.landmarks(
    ...     X, n_clusterings=3, n_landmarks=200, keep_base_models=True, random_state=0
    ... )
    >>> [len(recipe["features"]) for recipe in ens.recipes]
    [32, 32, 32]
    >>> bool((ens.base_models[0].label(X[:5]) == ens.labels[:5, 0]).all())
    True
    """
    given = {"feature_fraction": feature_fraction, "n_landmarks": n_landmarks, "n_neighbors": n_neighbors}
    check_all(
        {**given, "preprocess": preprocess, "keep_base_models": keep_base_models, "n_jobs": n_jobs}, RULES
    )
    low_mu, high_mu = check_pair("scales", scales, Real(0, open_low=True))
    features = as_features(X, sample_weight)
    seeds = member_seeds(random_state, check_n_clusterings(n_clusterings))
    n, d = features.shape
    ks = choose_ks(n_clusters, features, seeds, widest=min(widest(n), n_landmarks), share=SMALLEST_SHARE)
    if max(ks) > n_landmarks:
        raise InputError(
            f"n_landmarks={n_landmarks} is below n_clusters={max(ks)}, but a base clustering cannot have "
            f"more clusters than landmarks; raise n_landmarks, or lower n_clusters to at most {n_landmarks}."
        )
    workers = min(resolve_jobs(n_jobs), len(seeds))
    kept = max(1, round(feature_fraction * d))
    n_bytes = len(seeds) * _landmark_bytes(features, kept, n_landmarks, n_neighbors)
    keep = to_keep(keep_base_models, n_bytes)
    _ensure_fits(features, kept, n_landmarks, n_neighbors, len(seeds), workers, keep)
    runs = _Runs(
        features,
        ks,
        seeds,
        float(feature_fraction),
        n_landmarks,
        n_neighbors,
        (low_mu, high_mu),
        keep,
        n_jobs,
    )
    views = Views(preprocess, features, seeds, n_jobs=n_jobs)
    made: dict[int, tuple[np.ndarray, dict, Any]] = {}
    with (
        within_memory("landmarks", features, "lower n_jobs or n_landmarks, "),
        progress(total=len(seeds), what="landmarks", unit="run") as bar,
        one_blas_thread(),
    ):
        for view in views:
            for i, found in runs.of_view(view, workers):
                made[i] = found
                bar.update(1)
            del view  # before the next is made
    labels, recipes, members = zip(*(made[i] for i in range(len(seeds))))
    return assemble(features, labels, recipes, members=members if keep else None, members_bytes=n_bytes)


def learn(
    rows: Rows,
    landmarks: Landmarks,
    k: int,
    n_neighbors: int,
    *,
    scale: float = 1.0,
    seed: int,
    weight: np.ndarray | None = None,
    n_jobs: int | None = 1,
) -> tuple[LandmarkModel, np.ndarray, dict]:
    """(model, labels (n,), facts for the recipe) of all rows."""
    n, p = rows.n_samples, len(landmarks.points)
    K = min(n_neighbors, p)
    index, squares = np.empty((n, K), np.int32), np.empty((n, K), rows.X.dtype)

    def find(a: int, b: int) -> float:
        index[a:b], squares[a:b] = neighbors_of(rows, landmarks, K, a, b)
        distance = np.sqrt(squares[a:b], dtype=np.float64).mean(axis=1)
        return float(distance.sum() if weight is None else distance @ weight[a:b])

    total = sum(map_blocks(find, n, size=BLOCK, n_jobs=n_jobs))
    sigma = scale * total / (n if weight is None else float(weight.sum()))

    least = float(squares[:, 0].min())

    def add_up(a: int, b: int) -> np.ndarray:
        own = None if weight is None else weight[a:b]
        return graph_of_landmarks(index[a:b], squares[a:b], sigma, p, own, least)

    E = np.sum(map_blocks(add_up, n, size=max(BLOCK, -(-n // _PARTS)), n_jobs=n_jobs), axis=0)
    vectors, centers, pieces = cut_landmarks(E, k, landmarks.points, seed=seed)
    furthest = float(np.sqrt(squares[:, -1].max(), dtype=np.float64))
    model = LandmarkModel(rows.columns, rows.unit, landmarks, K, sigma, vectors, centers, furthest)
    found = map_blocks(
        lambda a, b: model.of_neighbors(index[a:b], squares[a:b]), n, size=BLOCK, n_jobs=n_jobs
    )
    labels = np.concatenate(found)
    # A center of landmarks to which no object is nearest is dropped: then labels are consecutive codes, and
    # no label changes.
    filled = np.flatnonzero(np.bincount(labels, minlength=len(centers)))
    if filled.size < len(centers):
        model = replace(model, centers=centers[filled])
        labels = np.searchsorted(filled, labels).astype(np.int32)
    # Where there are too few different rows, the recipe keeps the number asked for; a warning tells users.
    k = k if len(centers) < k else int(filled.size)
    return model, labels, {"n_clusters": k, "n_landmarks": p, "sigma": sigma, "pieces": pieces}


def cut_landmarks(
    E: np.ndarray, k: int, points: np.ndarray, *, seed: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """(vectors (p, c) of the landmarks, centers (k, c) of the clusters, pieces of the graph) from E (p, p).

    A graph in k pieces or more leaves eigenvectors undetermined: pieces with the nearest means are put
    together, and vectors and centers are those of the unit cube.
    """
    mass = E.sum(axis=1)
    used = np.flatnonzero(mass > 0)
    E, mass = E[np.ix_(used, used)], mass[used]
    k = min(k, used.size)
    count, piece = components(E)
    if count >= k:
        centers = np.eye(k)
        V = centers[nearest_pieces(piece, count, k, points[used].astype(np.float64))]
    else:
        root = np.sqrt(mass)
        E /= root
        E /= root[:, None]
        V = eigenpairs(E, k, which="largest", overwrite=True)[1] / root[:, None]
        seeds = [[seed, start] for start in range(STARTS)]
        U = unit_rows(V)
        runs = many_kmeans(U, [k] * STARTS, seeds=seeds, max_iter=STEPS, sample_weight=mass, n_jobs=1)
        centers = runs.centers[int(np.argmin(runs.inertia))]
    vectors = np.empty((len(points), V.shape[1]))
    vectors[used] = V
    if used.size < len(points):  # no row's landmarks here, but maybe a later row's: as the nearest other one
        rest = np.setdiff1d(np.arange(len(points)), used)
        nearest = nearest_centers(points[rest], [points[used]], n_jobs=1)[:, 0]
        vectors[rest] = V[nearest]
    return vectors, centers, int(count)


def _landmark_bytes(features: Features, d: int, p: int, n_neighbors: int) -> float:
    """Bytes that one member keeps: p landmarks of d features, those near each, and their vectors."""
    p = min(p, features.n_samples)
    return features.X.dtype.itemsize * p * d + 4.0 * NEARBY * n_neighbors * p + 16.0 * p * MOST_CLUSTERS


def _ensure_fits(
    features: Features, d: int, p: int, n_neighbors: int, m: int, workers: int, keep: bool
) -> None:
    """Refuse what will not fit into memory.

    Counted are labels, the neighbors of one member, the landmarks of several and what places them.
    """
    n, number = features.n_samples, features.X.dtype.itemsize
    p = min(p, n)
    size = min(n, SAMPLED * p)
    each = _landmark_bytes(features, d, p, n_neighbors)
    placing = 28.0 * p * d + 8.0 * p * p + (0.0 if sp.issparse(features.X) else number * size * d)
    ensure_fits(
        n * (4.0 * m + (4.0 + number) * n_neighbors)
        + workers * (each + placing)
        + (m * each if keep else 0.0)
        + 8.0 * _PARTS * p * p,
        what=f"Landmarks of {m} base clusterings on {n} objects with {d} features each",
        remedy="lower n_landmarks, n_clusterings, feature_fraction or n_jobs"
        + (", or pass keep_base_models=False" if keep else ""),
    )
