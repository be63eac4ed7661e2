"""The consensus methods on hostile ensembles: what is learned, and the same input in other clothes."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from consilience._data.labels import Clusterings
from consilience.consensus import methods
from consilience.errors import ConsilienceError

from ..zoo import same_partition
from . import ensembles
from .properties import Case, Exempt, Refused, Suite, require

#: Settings within the documented ranges. Few k-means starts and iterations: this is about promises, not about
#: scores.
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "evidence-accumulation": [
        {},
        {"linkage": "complete"},
        {"linkage": "single"},
        {"distance": "rows"},
        {"distance": "rows", "linkage": "complete"},
    ],
    "weac": [{}, {"power": 4.0}, {"power": 0.0, "linkage": "single"}],
    "hgpa": [{"n_init": 2}, {"n_init": 1, "hyperedges": "unit", "imbalance": 0.5}],
    "coassociation-k-means": [{"n_init": 2}, {"n_init": 1, "max_iter": 2}],
    "lwea": [
        {},
        {"instability_tolerance": 1.0},
        {"instability_tolerance": 1e-3},
        {"instability_tolerance": 1e6},
    ],
    "lwsc": [{"n_init": 2}, {"n_init": 2, "instability_tolerance": 0.05}],
    "lwgp": [{"n_init": 2}, {"n_init": 2, "instability_tolerance": 10.0}],
    "sccabg": [
        {},
        {"similarity": "fixed"},
        {"weighting": "none"},
        {"similarity_weight": 0.1, "overlap_weight": 10.0},
        {"max_iter": 2},
        {"mode": "authors"},
    ],
    "spce": [
        {},
        {"threshold": 0.4},
        {"threshold": 0.7},
        {"threshold": 0.99},
        {"threshold": 0.0},
        {"weighting": "fixed"},
        {"weighting": "none", "threshold": 0.5},
        {"mode": "authors", "threshold": 0.5},
    ],
    "rsec": [
        {"n_init": 2},
        {"n_init": 2, "labels_from": "representation"},
        {"n_init": 2, "affinity": "signed"},
        {"n_init": 2, "entries": "signed"},
        {"n_init": 2, "unit_rows": False},
    ],
    "nrsec": [{"n_init": 2}, {"n_init": 2, "saturation": 1.2, "linearize_about": "zero"}],
    "cspa": [{"n_init": 2}, {"n_init": 2, "refine": False}, {"n_init": 2, "partitioner": "metis"}],
    "hbgf": [
        {"n_init": 2},
        {"n_init": 2, "include_base_clusters": True},
        {"n_init": 2, "refine": False},
        {"n_init": 2, "partitioner": "metis"},
    ],
    "mcla": [{"n_init": 2}, {"n_init": 2, "partitioner": "metis"}],
    "ecpcs": [{}, {"variant": "mc", "n_init": 2}, {"walk_length": 1}],
    "lce": [{"n_init": 2}, {"variant": "cts"}, {"n_init": 2, "decay": 0.0}, {"n_init": 2, "decay": 1.0}],
    "pta": [
        {"n_neighbors": 3},
        {"linkage": "complete", "n_neighbors": 3},
        {"linkage": "single", "n_neighbors": 1, "walk_length": 1, "count_duplicates": False},
    ],
    "ptgp": [{"n_init": 2, "n_neighbors": 3}, {"n_init": 2, "n_neighbors": 1, "count_duplicates": False}],
    "nmfc": [
        {"n_init": 2},
        {"n_init": 2, "orthogonal": False},
        {"n_init": 2, "init": "random", "max_iter": 20},
    ],
    "drec": [{"n_init": 2}, {"n_init": 2, "count_duplicates": True}, {"n_init": 2, "ridge": 1e-3}],
    "rce": [
        {"n_init": 2, "n_iter": 3},
        {"n_init": 2, "n_iter": 2, "error_weight": 10.0, "low_rank_weight": 0.0},
    ],
    "trce": [{}, {"graph_weight": 1e-4}, {"graph_weight": 1e4, "max_iter": 3}],
    "ceshl": [{"max_iter": 8}, {"max_iter": 8, "cohesion_weight": 1e-3}],
    "sec": [{"n_init": 2}, {"n_init": 2, "single_moves": True}, {"n_init": 1, "max_iter": 1}],
    "kcc": [
        {"n_init": 2},
        {"n_init": 2, "utility": "entropy", "normalized": True},
        {"n_init": 2, "utility": "cosine", "normalized": True},
        {"n_init": 2, "utility": "power", "norm_order": 1.5},
        {"n_init": 2, "utility": "power", "norm_order": 8},
    ],
    "ecc": [{"n_init": 2}],
    "voting": [
        {},
        {"match": "many-to-one"},
        {"match": "soft"},
        {"algorithm": "iterative", "n_init": 2},
        {"algorithm": "iterative", "n_init": 2, "center": "mean"},
    ],
    "mixture-consensus": [{"n_init": 2}, {"n_init": 1, "max_iter": 2}],
    "bce": [{"n_init": 2}, {"n_init": 1, "max_iter": 2}],
    "best-of": [{"methods": ("mcla", "lwea")}, {"methods": ("kcc", "lwgp"), "criterion": "ari"}],
}
#: How often each is drawn: the expensive ones less.
_SHARES = {"rsec": 0.5, "nrsec": 0.3, "spce": 2.0, "sccabg": 1.0}


def make(rng: np.random.Generator) -> dict[str, Any]:
    names = list(methods())
    shares = np.array([_SHARES.get(name, 1.0) for name in names])
    name = str(rng.choice(names, p=shares / shares.sum()))
    options = SETTINGS.get(name, [{}])
    made = ensembles.labels(rng)
    kind, weights = ensembles.weights(rng, len(made))
    return {
        "method": name,
        "params": options[rng.integers(len(options))] if rng.random() < 0.6 else options[0],
        "n_clusters": ensembles.number_of_clusters(rng, made),
        "labels": made,
        "weights": weights,
        "weights_kind": kind,
        "random_state": int(rng.integers(2**31)),
    }


suite = Suite("consensus", make, weight=0.22)


def build(case: Case, **more: Any):
    cls = methods()[case.data["method"]]
    known = cls().get_params()
    params = {"n_clusters": case.data["n_clusters"], "n_jobs": 1, **case.data["params"], **more}
    if "random_state" in known:
        params.setdefault("random_state", case.data["random_state"])
    return cls(**params)


def fit(case: Case, labels: np.ndarray | None = None, weights: Any = "given", **more: Any):
    """A fit of the case, or of the case with other labels or weights.

    The ensemble is given as clusterings: few objects would look transposed.
    """
    labels = case.data["labels"] if labels is None else labels
    weights = case.data["weights"] if isinstance(weights, str) else weights
    return build(case, **more).fit(Clusterings(labels.T), sample_weight=weights)


def ordinary(case: Case) -> bool:
    return case.data["weights_kind"] in ensembles.ORDINARY


def model(case: Case) -> Any:
    return case.memory["model"]


def known_alike(case: Case) -> None:
    """Raise Exempt where the documentation lets objects swap."""
    if ensembles.look_alike(case.data["labels"], case.data["weights"]):
        raise Exempt("objects or clusterings that look alike from every side may swap (Compressed.canonical)")


def known_isolated(case: Case, fitted: Any = None) -> None:
    """Raise Exempt where the published program leaves objects by themselves."""
    found = getattr(model(case) if fitted is None else fitted, "isolated_", None)
    if case.data["params"].get("mode") == "authors" and found is not None and found.any():
        raise Exempt(
            "SCCABG with mode='authors' numbers each object that is cut off by itself, as the published "
            "program does"
        )


def same_labels(case: Case, wanted: np.ndarray, got: np.ndarray, words: str) -> None:
    if not same_partition(wanted, got):
        known_alike(case)
        moved = int((wanted != got).sum())
        require(
            False,
            f"{words}: {moved} of {wanted.size} labels differ, {wanted.tolist()} against {got.tolist()}",
        )


def same_confidence(case: Case, wanted: np.ndarray, got: np.ndarray, words: str) -> None:
    if not np.allclose(wanted, got, rtol=1e-6, atol=1e-6):
        known_alike(case)
        require(False, f"{words}: confidence_ differs by up to {np.abs(wanted - got).max():.3g}")


@suite.promises("fits, or is refused for a reason")
def fits(case: Case) -> None:
    labels, weights, c = case.data["labels"], case.data["weights"], case.data["n_clusters"]
    possible = c <= ensembles.distinct_rows(labels)
    before = labels.copy(), None if weights is None else weights.copy()
    labels.setflags(write=False)
    if weights is not None:
        weights.setflags(write=False)
    try:
        case.memory["model"] = fit(case)
    except ConsilienceError as error:
        # A setting that does not suit the ensemble may be refused, by its name.
        by_setting = any(f"{name}=" in str(error) for name in case.data["params"])
        require(by_setting or not (possible and ordinary(case)), f"refused an ordinary input: {error}")
        raise Refused from None
    require(possible, f"n_clusters={c} was accepted for {ensembles.distinct_rows(labels)} distinct objects")
    require(np.array_equal(labels, before[0]), "the labels that were passed in were changed")
    require(
        weights is None or np.array_equal(weights, before[1]), "the weights that were passed in were changed"
    )


@suite.promises("exactly n_clusters")
def exactly(case: Case) -> None:
    found, c = np.unique(model(case).labels_).size, case.data["n_clusters"]
    if found != c and case.data["params"].get("mode") == "authors":
        raise Exempt("mode='authors' follows the published program, which may stop at another number")
    require(found == c, f"{found} clusters instead of {c}")


@suite.promises("labels are 0..c-1")
def label_range(case: Case) -> None:
    found = model(case).labels_
    require(found.shape == (len(case.data["labels"]),), f"labels_ has shape {found.shape}")
    require(found.dtype.kind == "i", f"labels_ has type {found.dtype}")
    require(
        sorted(set(found.tolist())) == list(range(found.max() + 1)),
        f"labels_ are {sorted(set(found.tolist()))}",
    )


@suite.promises("confidence_ within 0..1, no NaN learned")
def finite(case: Case) -> None:
    sure = model(case).confidence_
    require(sure.shape == model(case).labels_.shape, f"confidence_ has shape {sure.shape}")
    require(np.isfinite(sure).all(), "confidence_ holds NaN or inf")
    require((sure >= 0).all(), f"confidence_ falls to {sure.min()}")
    require((sure <= 1 + 1e-9).all(), f"confidence_ rises to {sure.max()!r}")
    for name, value in vars(model(case)).items():
        if name.endswith("_"):
            value = value.data if sp.issparse(value) else value
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                require(not np.isnan(value).any(), f"{name} holds NaN")


@suite.promises("equal rows together")
def equal_rows(case: Case) -> None:
    _, inverse = np.unique(case.data["labels"], axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    pairs = len(set(zip(inverse.tolist(), model(case).labels_.tolist())))
    if pairs != inverse.max() + 1:
        known_isolated(case)
    require(pairs == inverse.max() + 1, "objects with equal rows are in different clusters")


@suite.promises("sizes fall with the label")
def sizes_fall(case: Case) -> None:
    weights = case.data["weights"]
    weights = np.ones(len(case.data["labels"])) if weights is None else weights
    scaled = weights / weights.max() if weights.max() > 1e-300 else weights / 5e-324  # sums may overflow
    sizes = np.bincount(model(case).labels_, weights=scaled)
    slack = 1e-6 * sizes.max()
    if (np.diff(sizes) > slack).any():
        known_isolated(case)
    require(
        (np.diff(sizes) <= slack).all(),
        f"weights of clusters 0, 1, ... over the largest object: {sizes.tolist()}",
    )


@suite.promises("order of objects", 0.35)
def permuted_rows(case: Case) -> None:
    order = case.rng("rows").permutation(len(case.data["labels"]))
    weights = case.data["weights"]
    again = fit(case, case.data["labels"][order], None if weights is None else weights[order])
    same_labels(case, model(case).labels_[order], again.labels_, "rows in another order")
    same_confidence(case, model(case).confidence_[order], again.confidence_, "rows in another order")


@suite.promises("order of clusterings", 0.3)
def permuted_columns(case: Case) -> None:
    order = case.rng("columns").permutation(case.data["labels"].shape[1])
    again = fit(case, case.data["labels"][:, order])
    if not np.array_equal(again.labels_, model(case).labels_):
        known_alike(case)
        require(
            False,
            f"columns in another order: {model(case).labels_.tolist()} against {again.labels_.tolist()}",
        )
    same_confidence(case, model(case).confidence_, again.confidence_, "columns in another order")


@suite.promises("names of labels", 0.3)
def renamed_labels(case: Case) -> None:
    labels, rng = case.data["labels"], case.rng("names")
    renamed = np.full(labels.shape, -1)
    for j in range(labels.shape[1]):
        values = np.unique(labels[labels[:, j] >= 0, j])
        names = rng.permutation(10 * values.size)[: values.size] * 7919
        seen = labels[:, j] >= 0
        renamed[seen, j] = names[np.searchsorted(values, labels[seen, j])]
    again = fit(case, renamed)
    if not np.array_equal(again.labels_, model(case).labels_):
        known_alike(case)
        require(False, f"other names: {model(case).labels_.tolist()} against {again.labels_.tolist()}")
    same_confidence(case, model(case).confidence_, again.confidence_, "other names of labels")


@suite.promises("weight = repetition", 0.25)
def duplication(case: Case) -> None:
    labels = case.data["labels"]
    copies = case.rng("copies").integers(1, 4, len(labels))
    rows = np.repeat(np.arange(len(labels)), copies)
    weighted = fit(case, weights=copies)
    repeated = fit(case, labels[rows], None)
    known_isolated(case, repeated)  # of several equal objects each is alone; one of weight 3 is one
    require(
        same_partition(weighted.labels_[rows], repeated.labels_),
        f"weights {copies.tolist()}: {weighted.labels_[rows].tolist()} against {repeated.labels_.tolist()}",
    )
    same_confidence(case, weighted.confidence_[rows], repeated.confidence_, "weights against copies")


def takes_any_unit(case: Case) -> bool:
    """Whether weights mean ratios alone; published programs count objects."""
    cls = methods()[case.data["method"]]
    counts = case.data["params"].get("mode") == "authors"
    return not counts and getattr(cls, "_any_unit", case.data["method"] not in ("rsec", "nrsec"))


@suite.promises("scale of weights", 0.15)
def scaled_weights(case: Case) -> None:
    if not takes_any_unit(case):
        raise Exempt("the method takes a weight of 1 for one object, and says so")
    if not ordinary(case):
        raise Exempt("extreme weights times a factor leave the numbers")
    weights = case.data["weights"]
    weights = np.ones(len(case.data["labels"])) if weights is None else weights
    factor = 2.0 ** case.rng("factor").integers(-40, 41)  # exact: every difference is ours
    again = fit(case, weights=weights * factor)
    same_labels(case, model(case).labels_, again.labels_, f"weights times {factor}")
    same_confidence(case, model(case).confidence_, again.confidence_, f"weights times {factor}")


@suite.promises("n_jobs None, 1, 2", 0.12)
def n_jobs(case: Case) -> None:
    for jobs in (None, 2):
        again = fit(case, n_jobs=jobs)
        require(
            np.array_equal(again.labels_, model(case).labels_),
            f"n_jobs={jobs}: {int((again.labels_ != model(case).labels_).sum())} labels differ",
        )
        differ = np.abs(again.confidence_ - model(case).confidence_).max()
        require(differ == 0, f"n_jobs={jobs}: confidence_ differs by {differ:.3g}")


def identical(case: Case, again: Any, words: str) -> None:
    require(np.array_equal(again.labels_, model(case).labels_), f"{words}: labels_ differ")
    require(np.array_equal(again.confidence_, model(case).confidence_), f"{words}: confidence_ differs")


@suite.promises("same seed", 0.1)
def same_seed(case: Case) -> None:
    identical(case, fit(case), "a second fit")


@suite.promises("refit", 0.1)
def refit(case: Case) -> None:
    again = clone(model(case))
    with_other = planted_small(case)
    again.set_params(n_clusters=1).fit(with_other)
    again.set_params(n_clusters=case.data["n_clusters"])
    again.fit(Clusterings(case.data["labels"].T), sample_weight=case.data["weights"])
    identical(case, again, "fitted to other data before")


def planted_small(case: Case) -> list:
    return case.rng("other data").integers(0, 3, (4, 9)).T


@suite.promises("pickle", 0.1)
def pickled(case: Case) -> None:
    identical(case, pickle.loads(pickle.dumps(model(case))), "pickled")


@suite.promises("clone", 0.1)
def cloned(case: Case) -> None:
    copy = clone(model(case))
    require(not hasattr(copy, "labels_"), "a clone is fitted already")
    require(repr(copy.get_params()) == repr(model(case).get_params()), "a clone has other parameters")
    identical(
        case, copy.fit(Clusterings(case.data["labels"].T), sample_weight=case.data["weights"]), "a clone"
    )
