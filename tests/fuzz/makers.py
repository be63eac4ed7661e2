"""The makers of base clusterings, and the estimators that begin with features, on hostile features."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

import consilience as cs
from consilience.errors import ConsilienceError

from . import ensembles, features
from .properties import Case, Refused, Suite, require

#: Features whose squares stay within the numbers and whose distances mean something: makers may not refuse
#: these.
ORDINARY = (
    "normal",
    "blobs",
    "half zero",
    "whole numbers",
    "constant columns",
    "line",
    "float32",
    "integers",
    "sparse",
)
#: The first three are for any features; others may be refused.
PREPARE = ("none", "diverse", "standardize", "ranks", "log", "tf-idf", "unit", "pearson")
NAMES = (
    "kmeans",
    "random_k",
    "random_features",
    "stratified",
    "bagging",
    "metric_subspace",
    "landmarks",
    "spectral",
    "estimators",
)


def make(rng: np.random.Generator) -> dict[str, Any]:
    kind, X = features.matrix(rng)
    name = str(rng.choice(NAMES, p=[0.15, 0.1, 0.1, 0.05, 0.15, 0.15, 0.15, 0.1, 0.05]))
    k = int(rng.integers(1, max(2, min(features.distinct_rows(X), 12)) + 1))
    params: dict[str, Any] = {}
    if name == "random_k":
        params = {"n_clusters": (1, k)}
    elif name == "metric_subspace":
        params = {"n_clusters": (1, k), "feature_fraction": float(rng.choice([0.1, 0.5, 1.0]))}
        params["kernel"] = str(rng.choice(["normal", "exponential"]))
    elif name == "landmarks":
        params = {"n_clusters": (1, k), "feature_fraction": float(rng.choice([0.1, 0.5, 1.0]))}
        params |= {"n_landmarks": int(rng.integers(k, 40)), "n_neighbors": int(rng.integers(1, 7))}
    elif name != "estimators":
        params = {"n_clusters": [k, (1, k), list(range(1, k + 1))][int(rng.integers(3))]}
    if name == "bagging":
        params |= {"unseen": str(rng.choice(["missing", "nearest"])), "bootstrap": bool(rng.random() < 0.3)}
        params["feature_fraction"] = float(rng.choice([0.1, 0.5, 1.0]))
    if name == "spectral":
        params["bandwidths"] = [float(v) for v in rng.choice([0.01, 0.1, 0.5, 1, 10, 100], 2, replace=False)]
    params["preprocess"] = str(rng.choice(PREPARE, p=[0.28, 0.3, *[0.07] * 6]))
    weight_kind, weights = ensembles.weights(rng, X.shape[0])
    if name in ("spectral", "estimators"):
        weight_kind, weights = "none", None
    return {
        "maker": name,
        "params": params,
        "kind": kind,
        "X": X,
        "weights": weights,
        "weights_kind": weight_kind,
        "n_clusterings": int(rng.integers(1, 5)),
        "random_state": int(rng.integers(2**31)),
    }


suite = Suite("generators", make, weight=0.1)


def call(case: Case, **more: Any) -> cs.Ensemble:
    data = case.data
    options = {"random_state": data["random_state"], "n_jobs": 1, **data["params"], **more}
    if data["maker"] == "estimators":
        from sklearn.cluster import DBSCAN, KMeans

        k = min(2, features.distinct_rows(data["X"]))
        return cs.generate.estimators(
            data["X"], clusterers=[KMeans(k, n_init=1), DBSCAN(min_samples=2)], sample_fraction=1.0, **options
        )
    if data["maker"] != "spectral":
        options.setdefault("n_clusterings", data["n_clusterings"])
    if data["weights"] is not None:
        options["sample_weight"] = data["weights"]
    return getattr(cs.generate, data["maker"])(data["X"], **options)


def same(a: Any, b: Any) -> bool:
    return (a != b).nnz == 0 if sp.issparse(a) else np.array_equal(a, b)


@suite.promises("makes an ensemble, or is refused")
def makes(case: Case) -> None:
    data = case.data
    before = data["X"].copy()
    ordinary = data["kind"] in ORDINARY and data["weights_kind"] in ensembles.ORDINARY
    k = int(np.max(data["params"].get("n_clusters", 1)))
    ordinary &= k <= features.distinct_rows(data["X"]) and data["maker"] in (
        "kmeans",
        "random_k",
        "metric_subspace",
        "landmarks",
    )
    ordinary &= data["params"]["preprocess"] in PREPARE[:3]
    try:
        case.memory["ensemble"] = made = call(case)
    except ConsilienceError as error:
        require(not ordinary, f"refused ordinary features: {error}")
        raise Refused from None
    finally:
        require(same(before, data["X"]), "the features that were passed in were changed")
    require(made.n_samples == data["X"].shape[0], f"{made.n_samples} objects for {data['X'].shape[0]} rows")
    require(len(made.recipes or []) == made.n_clusterings, "members without a recipe")
    require(
        (made.n_clusters_per_clustering <= max(k, 1)).all() or data["maker"] == "estimators",
        f"more than {k} clusters: {made.n_clusters_per_clustering}",
    )


@suite.promises("generators: n_jobs and seed", 0.4)
def jobs(case: Case) -> None:
    for options in ({}, {"n_jobs": 2}, {"n_jobs": None}, {"n_jobs": -1}):
        again = call(case, **options)
        require(
            np.array_equal(again.labels, case.memory["ensemble"].labels),
            f"{options or 'the same call'}: labels differ",
        )
        require(
            repr(again.recipes) == repr(case.memory["ensemble"].recipes),
            f"{options or 'the same call'}: recipes differ",
        )


@suite.promises("generators: more members leave the first", 0.2)
def more_members(case: Case) -> None:
    if case.data["maker"] in ("spectral", "estimators"):
        return
    m = case.data["n_clusterings"]
    more = call(case, n_clusterings=m + 2)
    first = case.memory["ensemble"]
    if first.n_clusterings == m and more.n_clusterings == m + 2:
        require(np.array_equal(more.labels[:, :m], first.labels), "the first members changed")


@suite.promises("generators: recorded inertia", 0.5)
def inertia(case: Case) -> None:
    if case.data["maker"] != "kmeans" or case.data["params"]["preprocess"] != "none":
        return
    X = case.data["X"].toarray() if sp.issparse(case.data["X"]) else np.asarray(case.data["X"], float)
    weights = np.ones(len(X)) if case.data["weights"] is None else case.data["weights"]
    if np.abs(X).max() > 1e100 or weights.max() > 1e30 or weights.min() < 1e-30:
        return  # squares times weights leave the numbers
    # Runs that stop by tol record the inertia about centers that would still have moved; these stop when
    # labels do.
    settled = call(case, tol=0.0, max_iter=1000)
    for labels, recipe in zip(settled.labels.T, settled.recipes or []):
        total = 0.0
        for j in np.unique(labels):
            own, w = X[labels == j], weights[labels == j]
            center = np.average(own, axis=0, weights=w)
            total += float(w @ ((own - center) ** 2).sum(axis=1))
        # What cannot be told from zero beside the size of the numbers, in the precision of the features.
        precision = 1e-3 if case.data["kind"] == "float32" else 1e-6
        slack = precision * total + 1e-10 * float(weights @ (X**2).sum(axis=1))
        require(
            abs(recipe["inertia"] - total) <= slack,
            f"recipe says {recipe['inertia']!r}, the labels give {total!r}",
        )


@suite.promises("generators: NaN and inf refused", 0.2)
def refuses(case: Case) -> None:
    X = features.spoilt(case.rng("spoil"), case.data["X"])
    try:
        call(Case(case.suite, case.seed, case.number, {**case.data, "X": X}))
    except ConsilienceError:
        return
    require(False, "features with NaN or inf were accepted")


def make_whole(rng: np.random.Generator) -> dict[str, Any]:
    data = make(rng)
    data["maker"] = str(
        rng.choice(
            ["kmeans", "random_k", "random_features", "bagging", "metric_subspace", "landmarks", "spectral"]
        )
    )
    u = features.distinct_rows(data["X"])
    data["n_clusters"] = int(rng.integers(1, max(2, min(u, 6)) + 1))
    data["estimator"] = str(rng.choice(["MDEC", "ConsensusClustering"]))
    data["consensus"] = str(rng.choice(["evidence-accumulation", "lwgp", "coassociation-k-means", "lwea"]))
    data["way"] = str(rng.choice(["hierarchical", "spectral", "bipartite"]))
    if data["estimator"] == "MDEC":
        data["weights"], data["weights_kind"] = None, "none"
    return data


whole_suite = Suite("features to consensus", make_whole, weight=0.04)


def fit_whole(case: Case, **more: Any):
    data = case.data
    common = {
        "n_clusters": data["n_clusters"],
        "n_clusterings": 4,
        "random_state": data["random_state"],
        "n_jobs": 1,
    }
    if data["estimator"] == "MDEC":
        given = {"method": data["way"], "preprocess": data["params"]["preprocess"]}
        return cs.MDEC(**{**common, **given, **more}).fit(data["X"])
    names = {"generator": data["maker"].replace("_", "-"), "method": data["consensus"]}
    params = {"preprocess": data["params"]["preprocess"]}
    model = cs.ConsensusClustering(**{**common, **names, "generator_params": params, **more})
    return model.fit(data["X"], sample_weight=data["weights"])


@whole_suite.promises("fits features, or is refused")
def fits_features(case: Case) -> None:
    before = case.data["X"].copy()
    try:
        model = case.memory["model"] = fit_whole(case)
    except ConsilienceError:
        raise Refused from None
    require(same(before, case.data["X"]), "the features that were passed in were changed")
    n, c = case.data["X"].shape[0], case.data["n_clusters"]
    require(
        np.unique(model.labels_).tolist() == list(range(c)),
        f"clusters {np.unique(model.labels_)} instead of {c}",
    )
    require(
        model.labels_.shape == model.confidence_.shape == (n,), "labels_ or confidence_ of another length"
    )
    require(np.isfinite(model.confidence_).all(), "confidence_ holds NaN")


@whole_suite.promises("features: n_jobs and seed", 0.4)
def whole_jobs(case: Case) -> None:
    for options in ({}, {"n_jobs": 2}, {"n_jobs": None}, {"n_jobs": -1}):
        again = fit_whole(case, **options)
        require(
            np.array_equal(again.labels_, case.memory["model"].labels_),
            f"{options or 'the same call'}: labels differ",
        )
