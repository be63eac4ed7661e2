"""The base clusterings of a study, and what is measured on each data set: the features, or a reference.

For every k, m clusterings of random subsamples of the objects (Monti et al. 2003), and optionally of the
features. All k share a subsample, and one call. In addition there is one mixed ensemble of all objects, with
a random number of clusters in each member. Random numbers depend only on the seed of the study, their
purpose, the data set (0: the features; r: the r-th reference), the member and k, not on the order of the
work.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from math import isqrt
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from .._base.names import find
from .._base.parameters import did_you_mean
from .._data.ensemble import Ensemble, unquestioned
from .._data.features import as_features
from .._data.labels import Clusterings, encode
from .._kernels.compile.scatter import between_scatter
from .._kernels.kmeans import many_kmeans
from .._kernels.kmeans.gram import Gram
from .._kernels.labels.incidence import Labels
from .._kernels.runtime.threads import map_tasks
from ..errors import InputError
from ..generate import generators, takes_pairs
from .statistics import counted_pairs, mean_ari_of, spectrum_of

#: The purposes of random numbers.
SUBSAMPLE, START, MIXED_K, MIXED_START, REFERENCE, PAIRS, OBJECTS, COLUMNS, MIXED_COLUMNS, LOOK = range(1, 11)
#: Members of the mixed ensemble, and the most clusters that one of them has.
MIXED, MOST_MIXED = 30, 50
#: Subsamples of each reference, and of the features for the comparison with them.
REFERENCE_RUNS = 8
#: Objects, and objects for each feature, up to which runs are made on inner products.
GRAM_UP_TO, GRAM_FEATURES = 2_000, 4
#: Inertia below this share of the whole counts as this share: its logarithm would say nothing.
_FLOOR = 1e-12

#: (X, ks, seeds, weights) -> labels (n, len(ks)): one clustering of X for each k.
Labeller = Callable[[Any, list[int], list[list[int]], np.ndarray], np.ndarray]


class Generator(NamedTuple):
    """What clusters a subsample.

    by_distance : whether it depends on Euclidean distances alone, so that any rotation of X will do.
    """

    name: str
    label: Labeller
    by_distance: bool


def make_generator(chosen: Any, params: Mapping[str, Any] | None) -> Generator:
    """A generator by name, a scikit-learn clusterer, or a function (X, k, random_state) -> labels."""
    params = dict(params or {})
    if find(chosen, {"kmeans": True, "bagging": True}) and not params:
        return Generator("kmeans", _kmeans, True)
    if isinstance(chosen, str):
        makers = {
            name: maker
            for name, maker in generators().items()
            if not maker.draws_n_clusters and name != "bagging"
        }
        maker = find(chosen, makers)
        if maker is None:
            raise InputError(
                f"generator={chosen!r} is not known here: choose one of {', '.join(makers)}, a "
                f"scikit-learn clusterer with n_clusters, or a function (X, k, random_state) -> labels."
                f"{did_you_mean(chosen, makers)}"
            )
        plain = maker.name == "kmeans" and params.get("preprocess", "none") == "none"
        return Generator(maker.name, _by_maker(maker, params), plain)
    if hasattr(chosen, "fit_predict") and not isinstance(chosen, type):
        if "n_clusters" not in chosen.get_params() and "n_components" not in chosen.get_params():
            raise InputError(
                f"generator={chosen!r} has no parameter n_clusters, so it cannot be asked for k clusters. "
                "Use another clusterer, or a function (X, k, random_state) -> labels."
            )
        if takes_pairs(chosen):
            raise InputError(
                f"generator={chosen!r} clusters a matrix of pairs, for which no references can be drawn. "
                "Make the clusterings with cs.generate.estimators(D, clusterers=[one for each number of "
                "clusters], n_clusterings=..., "
                "sample_fraction=0.8), and pass these to choose_k as ensemble."
            )
        return Generator(type(chosen).__name__, _by_clusterer(chosen), False)
    if callable(chosen) and not isinstance(chosen, type):
        return Generator(getattr(chosen, "__name__", "function"), _by_function(chosen, params), False)
    raise InputError(
        f"generator={chosen!r} is not valid: expected a name, a scikit-learn clusterer with n_clusters, or "
        "a function (X, k, random_state) -> labels."
    )


def _kmeans(X: Any, ks: list[int], seeds: list[list[int]], weights: np.ndarray) -> np.ndarray:
    if isinstance(X, Gram):
        runs = [X.kmeans(k, weights, np.random.default_rng(seed)) for k, seed in zip(ks, seeds)]
        return np.column_stack(runs)
    found = many_kmeans(
        X, ks, seeds=seeds, sample_weight=weights, n_jobs=1, keep_centers=False, check_memory=False
    )
    return found.labels


def by_inner_products(n: int, d: int) -> bool:
    """Whether runs on the inner products of n objects are faster than on their d features."""
    return n <= GRAM_UP_TO and n <= GRAM_FEATURES * d


def _by_maker(maker: Any, params: dict[str, Any]) -> Labeller:
    def label(X: Any, ks: list[int], seeds: list[list[int]], weights: np.ndarray) -> np.ndarray:
        features = as_features(X, weights)
        made = [
            maker(features, params, n_clusters=k, n_clusterings=1, random_state=_one_seed(seed), n_jobs=1)
            for k, seed in zip(ks, seeds)
        ]
        return np.column_stack([ensemble.labels[:, 0] for ensemble in made])

    return label


def _by_clusterer(clusterer: Any) -> Labeller:
    parameters = clusterer.get_params()
    count = "n_clusters" if "n_clusters" in parameters else "n_components"

    def label(X: Any, ks: list[int], seeds: list[list[int]], weights: np.ndarray) -> np.ndarray:
        found = []
        for k, seed in zip(ks, seeds):
            own = clone(clusterer).set_params(**{count: k})
            if "random_state" in parameters:
                own.set_params(random_state=_one_seed(seed) % 2**32)
            found.append(encode(own.fit_predict(X), "labels")[0])
        return np.column_stack(found)

    return label


def _by_function(function: Callable, params: dict[str, Any]) -> Labeller:
    seeded = "random_state" in inspect.signature(function).parameters

    def label(X: Any, ks: list[int], seeds: list[list[int]], weights: np.ndarray) -> np.ndarray:
        found = []
        for k, seed in zip(ks, seeds):
            own = {**params, "random_state": _one_seed(seed)} if seeded else params
            codes = encode(function(X, k, **own), "labels")[0]
            if codes.shape != (X.shape[0],):
                raise InputError(f"The generator returned {codes.size} labels for {X.shape[0]} objects.")
            found.append(codes)
        return np.column_stack(found)

    return label


def _one_seed(seed: list[int]) -> int:
    return int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0] >> np.uint64(33))


class StudyPlan(NamedTuple):
    """What is run on each data set."""

    ks: np.ndarray  # rising
    n_clusterings: int
    sample_fraction: float
    feature_fraction: float
    generator: Generator
    seed: int
    widest: int  # clusters of a member of the mixed ensemble, at most

    @property
    def n_values(self) -> int:
        """Eigenvalues that are kept."""
        return int(self.ks[-1]) + 2

    def rng(self, purpose: int, data: int, *more: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, purpose, data, *more])

    def seen(self, X: Any, purpose: int, data: int, member: int) -> Any:
        """The features of rows X that a member sees: its share of them, at least one."""
        if self.feature_fraction == 1:
            return X
        d = X.shape[1]
        count = max(1, round(self.feature_fraction * d))
        return X[:, np.sort(self.rng(purpose, data, member).choice(d, count, replace=False))]


def widest_mixed(n: int, k_max: int, distinct: int) -> int:
    """The most clusters of a member of the mixed ensemble: sqrt(n), within bounds."""
    return min(max(isqrt(n), k_max), max(MOST_MIXED, k_max), distinct)


class Measured(NamedTuple):
    """The statistics of one data set, for each k unless noted, from REFERENCE_RUNS subsamples."""

    ari: np.ndarray  # (K,) mean ARI of every two clusterings
    loss: np.ndarray  # (K,) mean log of inertia over the scatter of all
    pac: np.ndarray  # (K,)
    values: np.ndarray  # (L,) eigenvalues of the mixed ensemble, falling


def subsampled(
    X: Any, weights: np.ndarray, plan: StudyPlan, data: int, members: range, *, n_jobs: int | None = 1
) -> tuple[np.ndarray, np.ndarray]:
    """(labels (members, n, K), log of the share of scatter that is left (members, K)).

    Labels are -1 outside the subsample.
    """
    n, ks = X.shape[0], plan.ks.tolist()
    drawn = max(1, round(plan.sample_fraction * n))

    def run(member: int) -> tuple[np.ndarray, np.ndarray]:
        rows = np.sort(plan.rng(SUBSAMPLE, data, member).choice(n, drawn, replace=False))
        part = plan.seen(X[rows], COLUMNS, data, member)
        seeds = [[plan.seed, START, data, member, k] for k in ks]
        labels = np.full((n, len(ks)), -1, np.int32)
        labels[rows] = own = plan.generator.label(part, ks, seeds, weights[rows])
        return labels, scatter_left(part, own, weights[rows])

    found = map_tasks(run, list(members), n_jobs=n_jobs)
    return np.stack([labels for labels, _ in found]), np.stack([left for _, left in found])


def scatter_left(X: Any, labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(r,) log of the within-cluster scatter of each clustering (n, r).

    It is taken as a share of the scatter around one mean.
    """
    if isinstance(X, Gram):
        whole, weights = X.scatter(weights), np.ascontiguousarray(weights)
        left = np.array([X.within(np.ascontiguousarray(own), weights) for own in labels.T])
        return np.log(np.maximum(left / whole, _FLOOR)) if whole > 0 else np.full(len(left), np.log(_FLOOR))
    total = weights.sum()
    mean = np.asarray((weights / total) @ X, dtype=np.float64).reshape(-1)
    # Taken off first: far from the origin the difference of two large numbers would be rounding errors.
    C = np.asarray(X.todense() if sp.issparse(X) else X, np.float64) - mean
    whole = float(weights @ np.einsum("ij,ij->i", C, C))
    out = np.empty(labels.shape[1])
    for r, own in enumerate(np.ascontiguousarray(labels.T)):
        between = between_scatter(C, own, weights, int(own.max()) + 1)
        out[r] = np.log(max(1.0 - between / whole, _FLOOR)) if whole > 0 else np.log(_FLOOR)
    return out


def mixed(X: Any, weights: np.ndarray, plan: StudyPlan, data: int) -> np.ndarray:
    """(n, MIXED) labels of all objects; each member draws its k between 2 and ``plan.widest``."""
    ks = [int(plan.rng(MIXED_K, data, i).integers(2, plan.widest, endpoint=True)) for i in range(MIXED)]
    seeds = [[plan.seed, MIXED_START, data, i] for i in range(MIXED)]
    if plan.feature_fraction == 1:
        return plan.generator.label(X, ks, seeds, weights)
    made = [
        plan.generator.label(plan.seen(X, MIXED_COLUMNS, data, i), [k], [seed], weights)
        for i, (k, seed) in enumerate(zip(ks, seeds))
    ]
    return np.hstack(made)


def ensemble_of(labels: np.ndarray, weights: np.ndarray | None = None, names: Any = None) -> Ensemble:
    """Labels (n, m) that were made here, as an ensemble."""
    plain = unquestioned(Clusterings(list(labels.T)))
    return Ensemble(plain, sample_weight=weights, sample_names=names)


def measure(
    labels: np.ndarray, left: np.ndarray, mixed_labels: np.ndarray, weights: np.ndarray, plan: StudyPlan
) -> Measured:
    """The statistics that are compared with references, from the first subsamples of a data set."""
    labels, left = labels[:REFERENCE_RUNS], left[:REFERENCE_RUNS]
    ari, pac = [], []
    for j, k in enumerate(plan.ks):
        own = np.ascontiguousarray(labels[:, :, j].T)
        ari.append(mean_ari_of(own, np.full(len(labels), k), weights, n_jobs=1))
        pac.append(counted_pairs(own, weights, n_jobs=1).pac())
    offsets = np.concatenate([[0], np.cumsum(mixed_labels.max(axis=0) + 1)])
    values = spectrum_of(Labels(mixed_labels, offsets), weights, plan.n_values, n_jobs=1)
    return Measured(np.array(ari), left.mean(axis=0), np.array(pac), values)


def measure_reference(
    number: int, draw: Callable[[np.random.Generator], Any], weights: np.ndarray, plan: StudyPlan
) -> Measured:
    """The same for the reference with this number, counted from 1."""
    X = draw(plan.rng(REFERENCE, number))
    labels, left = subsampled(X, weights, plan, number, range(min(REFERENCE_RUNS, plan.n_clusterings)))
    return measure(labels, left, mixed(X, weights, plan, number), weights, plan)
