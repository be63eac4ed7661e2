"""Measures of labels against scikit-learn and against brute force."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np
from sklearn import metrics as theirs

import consilience as cs
from consilience.errors import ConsilienceError

from . import ensembles
from .properties import Case, Refused, Suite, require


def make(rng: np.random.Generator) -> dict[str, Any]:
    n = int(rng.integers(1, 50))
    a, b = (rng.integers(0, rng.integers(1, 7), n) for _ in range(2))
    form = str(rng.choice(["random", "equal", "nearly", "constant", "singletons"]))
    if form == "equal":
        b = a.copy()
    elif form == "nearly":
        b = np.where(rng.random(n) < 0.1, b, a)
    elif form == "constant":
        b = np.zeros(n, np.int64)
    elif form == "singletons":
        b = np.arange(n)
    weights = rng.integers(1, 5, n) if rng.random() < 0.4 else None
    kind, extreme = ensembles.weights(rng, n)
    missing = rng.random(n) < 0.2 if rng.random() < 0.3 else np.zeros(n, bool)
    dress = str(rng.choice(["as they are", "text", "floats", "far apart", "negative"]))
    return {
        "labels": a,
        "truth": b,
        "weights": weights,
        "missing": missing,
        "dress": dress,
        "extreme": extreme,
        "kind": kind,
    }


suite = Suite("metrics", make, weight=0.1)


def dressed(values: np.ndarray, dress: str) -> Any:
    if dress == "text":
        return np.array([f"class {v}" for v in values])
    if dress == "floats":
        return values + 0.5
    if dress == "far apart":
        return values * (np.iinfo(np.int64).max // 100)
    if dress == "negative":
        return -2 - values
    return values


def inputs(case: Case) -> tuple[Any, Any, dict[str, Any]]:
    """labels, truth and options as the user passes them."""
    data = case.data
    truth, labels = dressed(data["truth"], data["dress"]), data["labels"]
    options: dict[str, Any] = {"sample_weight": data["weights"]}
    if data["missing"].any():
        labels = np.where(data["missing"], -1, labels)
        options["missing"] = "ignore"
    return labels, truth, options


def plain(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """The same as two vectors without weights or missing labels: copies instead."""
    keep = ~case.data["missing"]
    a, b = case.data["labels"][keep], case.data["truth"][keep]
    if case.data["weights"] is not None:
        rows = np.repeat(np.arange(a.size), case.data["weights"][keep])
        a, b = a[rows], b[rows]
    return a, b


@suite.promises("scored, or refused")
def scored(case: Case) -> None:
    labels, truth, options = inputs(case)
    try:
        case.memory["scores"] = cs.metrics.scores(truth, labels, **options)
    except ConsilienceError:
        require(plain(case)[0].size == 0, "refused although there are objects to score")
        raise Refused from None
    for name, value in case.memory["scores"].items():
        require(math.isfinite(value) and -1 - 1e-9 <= value <= 1 + 1e-9, f"{name} is {value!r}")


@suite.promises("metrics = scikit-learn")
def against_sklearn(case: Case) -> None:
    a, b = plain(case)
    found = case.memory["scores"]
    wanted = {
        "ari": theirs.adjusted_rand_score(b, a),
        "ami": theirs.adjusted_mutual_info_score(b, a),
        "nmi_max": theirs.normalized_mutual_info_score(b, a, average_method="max"),
        "nmi_geometric": theirs.normalized_mutual_info_score(b, a, average_method="geometric"),
        "nmi": theirs.normalized_mutual_info_score(b, a, average_method="arithmetic"),
    }
    same = len(set(zip(a.tolist(), b.tolist()))) == len(set(a.tolist())) == len(set(b.tolist()))
    for name, value in wanted.items():
        # Equal partitions are 1 here also where the formula is 0/0; scikit-learn agrees, but not for every
        # mean.
        value = 1.0 if same else value
        # The adjustment subtracts nearly equal numbers when one side is all singletons.
        slack = 1e-6 if name == "ami" else 1e-9
        require(abs(found[name] - value) <= slack, f"{name} is {found[name]!r}, scikit-learn has {value!r}")
    matrix = theirs.pair_confusion_matrix(b, a) // 2
    labels, truth, options = inputs(case)
    pairs = cs.metrics.pair_confusion(truth, labels, **options)
    require(
        [pairs.true_negative, pairs.false_positive, pairs.false_negative, pairs.true_positive]
        == matrix.ravel().tolist(),
        f"{pairs} against {matrix.tolist()}",
    )


@suite.promises("ACC and purity = brute force", 0.6)
def brute_force(case: Case) -> None:
    a, b = plain(case)
    table = np.array([[np.sum((a == i) & (b == j)) for j in np.unique(b)] for i in np.unique(a)])
    require(abs(case.memory["scores"]["purity"] - table.max(axis=1).sum() / a.size) < 1e-12, "purity differs")
    small = table if table.shape[0] <= table.shape[1] else table.T
    if small.shape[0] <= 5 and small.shape[1] <= 6:
        rows = np.arange(small.shape[0])
        best = max(small[rows, list(p)].sum() for p in permutations(range(small.shape[1]), small.shape[0]))
        got = case.memory["scores"]["accuracy"]
        require(abs(got - best / a.size) < 1e-12, f"acc is {got!r}, brute force finds {best / a.size!r}")


@suite.promises("align keeps the partition", 0.5)
def aligned(case: Case) -> None:
    if case.data["missing"].any():
        return
    labels, truth, _ = inputs(case)
    found = cs.metrics.align(labels, truth)
    pairs = set(zip(np.asarray(labels).tolist(), np.asarray(found).tolist()))
    require(len(pairs) == len(set(np.asarray(labels).tolist())), "align merges or splits clusters")
    hits = np.mean(np.asarray(found) == np.asarray(truth))
    wanted = cs.metrics.accuracy(truth, labels)
    require(abs(hits - wanted) < 1e-12, f"aligned labels hit {hits}, the accuracy is {wanted}")


@suite.promises("metrics with extreme weights", 0.5)
def extreme_weights(case: Case) -> None:
    labels, truth, options = inputs(case)
    try:
        found = cs.metrics.scores(truth, labels, **{**options, "sample_weight": case.data["extreme"]})
    except ConsilienceError:
        require(case.data["kind"] not in ensembles.ORDINARY, "ordinary weights were refused")
        return
    for name, value in found.items():
        if name != "ami":  # NaN for weights that are not whole, as documented
            require(-1 - 1e-9 <= value <= 1 + 1e-9, f"{name} is {value!r} with {case.data['kind']} weights")


@suite.promises("stability = pairwise means", 0.5)
def stability(case: Case) -> None:
    a, b = case.data["labels"], case.data["truth"]
    base = np.where(case.data["missing"], -1, b)
    if (base < 0).all():
        return
    ens = cs.Ensemble.from_clusterings([base, a])
    found, clusters = cs.metrics.sample_stability(ens, a), cs.metrics.cluster_stability(ens, a)
    A, seen = ens.coassociation(), ens.cooccurrence_counts()
    together = A * seen
    values = np.unique(a)
    for p in range(a.size):
        company = np.flatnonzero((a == a[p]) & (np.arange(a.size) != p))
        below = seen[p, company].sum()
        wanted = together[p, company].sum() / below if below else math.nan
        require(
            np.isclose(found[p], wanted, equal_nan=True),
            f"sample_stability[{p}] is {found[p]!r}, not {wanted!r}",
        )
    for j, value in enumerate(values):
        own = np.flatnonzero(a == value)
        inner = ~np.eye(own.size, dtype=bool)
        below = seen[np.ix_(own, own)][inner].sum()
        wanted = together[np.ix_(own, own)][inner].sum() / below if below else math.nan
        require(
            np.isclose(clusters[j], wanted, equal_nan=True),
            f"cluster_stability[{j}] is {clusters[j]!r}, not {wanted!r}",
        )
    kept = cs.metrics.anmi(ens, a)
    require(-1e-9 <= kept <= 1 + 1e-9, f"anmi is {kept!r}")
