"""Whether the parts of a loaded model fit together: types, shapes and positions, before anything uses them.

Shapes are words of letters, each the length of one axis:

    n  objects          u  distinct objects    m  clusterings    k  base clusters    c  clusters
    t  merges, u - 1    2  two                 *  anything
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _register
from .._base.names import check_count
from .._kernels.labels.distinct import RowKeys
from ..errors import InputError

#: What consensus methods learn: attribute -> (kinds of its type, its shape).
_LEARNED = {
    "labels_": ("i", "n"),
    "confidence_": ("f", "n"),
    "cluster_sizes_": ("if", "c"),
    "cluster_labels_": ("i", "k"),
    "cluster_reliability_": ("f", "k"),
    "cluster_similarity_": ("f", "kk"),
    "clustering_losses_": ("f", "m"),
    "clustering_weights_": ("f", "m"),
    "distinct_consensus_": ("f", "uu"),
    "distinct_graph_": ("f", "uk"),
    "distinct_incidence_": ("f", "uk"),
    "distinct_reliability_": ("f", "uk"),
    "embedding_": ("f", "n*"),
    "error_": ("f", "uu"),
    "heights_": ("f", "*"),
    "isolated_": ("b", "n"),
    "membership_": ("f", "n*"),
    "metaclusters_": ("i", "k"),
    "outlier_score_": ("f", "n"),
    "reliability_": ("f", "n"),
    "representation_": ("f", "uu"),
    "singular_values_": ("f", "*"),
    "votes_": ("f", "n*"),
    "_merges": ("i", "t2"),
}
#: What every method leaves behind, and every pipeline.
_NUMBERS = ("consensus_nmi_", "baseline_nmi_")
_COUNTS = ("n_samples_", "n_clusterings_", "n_clusters_", "n_iter_")
_FLAGS = ("converged_", "contradicted_")
_MADE_FOR_ALL = (
    *(*_NUMBERS, *_COUNTS, *_FLAGS, "labels_", "confidence_", "cluster_sizes_", "distinct_", "_predictor"),
    *("sample_names_", "messages_", "history_", "_library", "_merges"),
)
_MADE_BY_PIPELINES = (
    *("n_features_in_", "ensemble_", "method_", "plan_", "labels_", "confidence_", "_rows_of_ensemble"),
    *("_keys", "_dtype", "_feature_names", "sample_names_", "_library"),
)
_PLAIN = (bool, int, float, str, np.generic, type(None))


def check_learned(name: str, model: Any, learned: Mapping[str, Any]) -> None:
    """Raise unless this is what a fit of the estimator leaves behind."""
    covered = next((key for key in learned if callable(getattr(type(model), key, None))), None)
    if covered is not None:
        raise InputError(f"data in place of the method {covered!r:.60}.")
    if not learned:
        return  # not fitted
    if name in {entry.name for entry in _register.FEATURES}:
        _pipeline(learned)
    else:
        _method(learned)


def _method(learned: Mapping[str, Any]) -> None:
    from .._data.distinct import Compressed
    from .._data.soft import SoftCompressed
    from .._evidence.prediction import Predictor

    _needs(learned, _MADE_FOR_ALL)
    distinct = _of(learned, "distinct_", Compressed, SoftCompressed)
    predictor = _of(learned, "_predictor", Predictor)
    labels = _array(learned, "labels_", "i", 1)
    sizes = {
        "n": distinct.inverse.size,
        "u": distinct.n_samples,
        "t": distinct.n_samples - 1,
        "m": distinct.n_clusterings,
        "k": int(distinct.offsets[-1]),
        "c": int(labels.max(initial=-1)) + 1,
        "2": 2,
    }
    for key, (kinds, shape) in _LEARNED.items():
        if key in learned and not (key == "_merges" and learned[key] is None):
            _fits(learned, key, kinds, shape, sizes)
    for key in (*_COUNTS, *_FLAGS, *_NUMBERS):
        kind = bool if key in _FLAGS else int if key in _COUNTS else (int, float)
        _require(isinstance(learned[key], kind), f"{key} is {learned[key]!r:.60}")
    known = {"n_samples_": "n", "n_clusterings_": "m", "n_clusters_": "c"}
    wrong = [key for key, letter in known.items() if learned[key] != sizes[letter]]
    _require(not wrong, f"{' and '.join(wrong)} do not count what is there")
    _require(labels.min(initial=0) >= 0, "labels_ holds negative numbers")
    _require(
        np.array_equal(predictor.labels, labels)
        and predictor.distinct.inverse.size == labels.size
        and np.array_equal(predictor.distinct.offsets, distinct.offsets)
        and type(predictor.distinct) is type(distinct),
        "what predicts is of another fit",
    )
    merges = learned["_merges"]
    if merges is not None:
        inside = merges.size == 0 or (merges.min() >= 0 and merges.max() < sizes["u"])
        _require(inside and _joins_all(merges, sizes["u"]), "the merges of its tree do not join its objects")
        _require("heights_" in learned and len(learned["heights_"]) == len(merges), "a tree without heights_")
    _names(learned, "sample_names_", sizes["n"])
    _texts(learned, "messages_")
    _library(learned)
    history = _of(learned, "history_", list)
    _require(all(_is_record(step) for step in history), "history_ holds more than numbers")
    known_keys = {*_LEARNED, *_MADE_FOR_ALL}
    for key in learned.keys() - known_keys:
        _plain(key, learned[key])


def _pipeline(learned: Mapping[str, Any]) -> None:
    from .._choosing.study import ChooseKResult
    from .._data.ensemble import Ensemble
    from .._pipeline.defaults import Plan

    _needs(learned, _MADE_BY_PIPELINES)
    ensemble = _of(learned, "ensemble_", Ensemble)
    method = learned["method_"]
    methods = {entry.name for entry in _register.CONSENSUS}
    _require(type(method).__name__ in methods and hasattr(method, "labels_"), "method_ is not a fitted one")
    labels = _array(learned, "labels_", "i", 1)
    n, sizes = labels.size, {"n": labels.size}
    _fits(learned, "confidence_", "f", "n", sizes)
    _fits(learned, "_rows_of_ensemble", "i", "n", sizes)
    rows = learned["_rows_of_ensemble"]
    _require(
        n > 0 and labels.min() >= -1 and labels.max() < method.n_clusters_, "labels_ are not those of method_"
    )
    _require(rows.min() >= 0 and rows.max() < ensemble.n_samples, "rows outside of ensemble_")
    _require(
        ensemble.n_samples == method.n_samples_
        and np.array_equal(ensemble.n_clusters_per_clustering, method.distinct_.n_clusters_per_clustering),
        "method_ was fitted to another ensemble than ensemble_",
    )
    width = learned["n_features_in_"]
    seen = {member.preparation.n_features for member in ensemble.base_models or []}
    fits = type(width) is int and width > 0 and seen <= {width}
    _require(fits, f"n_features_in_ is {width!r:.60}, and base models were learned from {sorted(seen)}")
    keys = learned["_keys"]
    if keys is not None:
        _of(learned, "_keys", RowKeys)
        fits = (
            isinstance(keys.keys, np.ndarray)
            and isinstance(keys.positions, np.ndarray)
            and keys.keys.dtype == np.uint64
            and keys.positions.dtype.kind == "i"
            and keys.keys.ndim == 1
            and keys.keys.shape == keys.positions.shape
            and keys.keys.size > 0
            and 0 <= keys.positions.min() <= keys.positions.max() < n
            and isinstance(keys.sparse, bool)
        )
        _require(fits, "the keys of its rows do not fit them")
    _of(learned, "_dtype", np.dtype)
    _of(learned, "plan_", Plan)
    _names(learned, "_feature_names", width)
    _names(learned, "sample_names_", n)
    _library(learned)
    if "feature_names_in_" in learned:
        _fits(learned, "feature_names_in_", "OU", "d", {"d": width})
    if "study_" in learned:
        _of(learned, "study_", ChooseKResult)
    _require(isinstance(learned.get("_stability"), (float, type(None))), "_stability is not a number")
    for key in learned.keys() - {*_MADE_BY_PIPELINES, "feature_names_in_", "study_"}:
        _plain(key, learned[key])


# Ensembles and studies -------------------------------------------------------------------------------------


def sound_ensemble(parts: Mapping[str, Any]) -> None:
    """Raise unless names, categories, recipes and base models of an ensemble are of the right types."""
    from .._members.labeling import Member

    for i, own in enumerate(parts["categories"]):
        _require(
            isinstance(own, np.ndarray) and own.ndim == 1 and own.dtype.kind in "biufUmMO",
            f"the labels of clustering {i} are no list of values",
        )
        _require(len(set(own.tolist())) == len(own), f"clustering {i} has a label twice")
    names, recipes, members = parts["clustering_names"], parts["recipes"], parts["base_models"]
    _require(names is None or all(isinstance(name, str) for name in names), "clustering_names are not text")
    _require(
        parts["sample_names"] is None or _are_values(parts["sample_names"]),
        "sample_names are neither text nor numbers",
    )
    n_bytes = parts["members_bytes"]
    _require(n_bytes is None or type(n_bytes) in (int, float), "members_bytes is not a number")
    _require(recipes is None or _all_are(recipes, dict), "recipes are not dictionaries")
    _require(members is None or _all_are(members, Member), "base_models are not base models")


def _all_are(values: Any, kind: type) -> bool:
    return isinstance(values, list) and all(isinstance(own, kind) for own in values)


def checked(make: Callable[[Any], Any], check: Callable[[Any], None]) -> Callable[[Any], Any]:
    """What makes a thing from its parts, after a check of them."""

    def made(parts: Any) -> Any:
        check(parts)
        return make(parts)

    return made


# One attribute ---------------------------------------------------------------------------------------------


def _require(holds: Any, words: str) -> None:
    if not holds:
        raise InputError(f"{words}.")


def _needs(learned: Mapping[str, Any], names: tuple[str, ...]) -> None:
    missing = next((name for name in names if name not in learned), None)
    _require(missing is None, f"a fitted model without {missing}")


def _of(learned: Mapping[str, Any], key: str, *kinds: type) -> Any:
    value = learned[key]
    _require(isinstance(value, kinds), f"{key} is a {type(value).__name__}")
    return value


def _array(learned: Mapping[str, Any], key: str, kinds: str, ndim: int) -> Any:
    value = learned[key]
    fits = (isinstance(value, np.ndarray) or sp.issparse(value)) and value.dtype.kind in kinds
    _require(fits and value.ndim == ndim, f"{key} is not an array of the right type and shape")
    return value


def _fits(learned: Mapping[str, Any], key: str, kinds: str, shape: str, sizes: Mapping[str, int]) -> None:
    found = _array(learned, key, kinds, len(shape)).shape
    wanted = tuple(length if letter == "*" else sizes[letter] for letter, length in zip(shape, found))
    _require(found == wanted, f"{key} has shape {found}, expected {wanted}")


def _names(learned: Mapping[str, Any], key: str, count: int) -> None:
    names = learned[key]
    if names is not None:
        _require(_are_values(names), f"{key} are neither text nor numbers")
        check_count(names, count, key, "entries")


def _are_values(names: Any) -> bool:
    return isinstance(names, list) and all(_hashes(name) for name in names)


def _hashes(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _texts(learned: Mapping[str, Any], key: str) -> None:
    texts = learned[key]
    _require(isinstance(texts, list) and all(isinstance(text, str) for text in texts), f"{key} are not text")


def _library(learned: Mapping[str, Any]) -> None:
    from .._choosing.study import FRAMES

    _require(
        learned["_library"] in (None, "modin", "dask", *FRAMES),
        f"an unknown library {learned['_library']!r:.60}",
    )


def _is_record(step: Any) -> bool:
    values = step.values() if isinstance(step, dict) else [step]
    return all(isinstance(value, (bool, int, float, np.number, np.bool_)) for value in values)


def _plain(key: str, value: Any) -> None:
    """Anything else that was learned is a number, text, or a dictionary of these."""
    values = value.values() if isinstance(value, dict) else [value]
    _require(
        all(isinstance(one, (*_PLAIN, np.ndarray)) or sp.issparse(one) for one in values),
        f"{key} is a {type(value).__name__}",
    )


def _joins_all(merges: np.ndarray, count: int) -> bool:
    """Whether the merges make one tree of all objects: each joins two that were apart."""
    parent = list(range(count))

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = i = parent[parent[i]]
        return i

    for left, right in merges.tolist():
        a, b = root(left), root(right)
        if a == b:
            return False
        parent[b] = a
    return True
