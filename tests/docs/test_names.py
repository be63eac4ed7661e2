"""One name for one meaning: what was renamed stays renamed, and what a fit records is documented."""

from __future__ import annotations

import inspect
import re
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import consilience as cs
from consilience import _register
from reproduction.run import run

ROOT = Path(__file__).parents[2]
#: No parameter and no attribute of anything public, each with what it is called instead.
RETIRED = {
    "from_": "labels_from",
    "warm_start": "linearize_about",
    "patience": "first_trust",
    "self_paced": "weighting",
    "n_components_": "n_pieces_",
    "theta_": "threshold_",
    "diversity": "similarity",
    "row_names": "sample_names",
    "column_names": "feature_names or clustering_names",
    "centres_": "centers_",
    "task_centres_": "task_centers_",
    "theta": "instability_tolerance (LWEA, LWSC, LWGP, MDEC) or threshold (SPCE)",
    "gamma1": "similarity_weight",
    "gamma2": "overlap_weight",
    "gamma": "saturation",
    "n_steps": "n_linearizations",
    "n_rounds": "n_iter",
    "joint": "include_base_clusters",
    "on": "distance",
    "prepare": "preprocess",
    "consensus": "method",
    "consensus_params": "method_params",
    "consensus_": "method_",
    "keep_members": "keep_base_models",
    "members": "base_models",
    "object_weights": "count_duplicates",
    "max_objects": "max_samples",
    "max_points": "max_samples",
    "sample_size": "max_samples",
    "sample": "max_samples",
    "max_signatures": "max_distinct",
    "signatures_": "distinct_",
    "n_neighbours": "n_neighbors",
    "min_size": "min_cluster_size",
    "agreement_": "consensus_nmi_, baseline_nmi_",
    "contradiction_": "messages_",
    "shortfall_": "messages_",
    "constraints": "_rules",
    "_constraints": "_rules",
    "pacing": "_pacing",
    "k": "n_clusters",
    "ks": "n_clusters_tried",
    "k_min": "n_clusters, a pair",
    "k_max": "n_clusters, a pair",
    "ratio": "sample_fraction or feature_fraction",
    "neighbors": "n_neighbors",
    "most": "max_features or max_samples",
    "incidence": "_incidence",
    "pattern_size": "_pattern_size",
    "unquestioned": "_unquestioned",
    "stands_for": "_stands_for",
    "agreement": "sample_agreement",
    "to_parts": "_to_parts",
}
every_estimator = pytest.mark.parametrize("entry", _register.ESTIMATORS, ids=lambda entry: entry.name)


def parameters_of(function: Any) -> list[str]:
    """Names of what it takes; of a class, of its constructor."""
    found = inspect.signature(function).parameters.values()
    return [p.name for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def functions_of(room: Any) -> list[Any]:
    held = [getattr(room, name) for name in room.__all__]
    return [function for function in held if inspect.isfunction(function)]


def public_functions() -> list[Any]:
    rooms = (cs.generate, cs.io, cs.metrics, cs.anndata, cs.dask)
    return [cs.choose_k, *(function for room in rooms for function in functions_of(room))]


def public_classes() -> list[type]:
    rooms = [getattr(room, name) for room in (cs.io, cs.metrics, cs.plot) for name in room.__all__]
    rooms.remove(cs.io.ChooseKResult)
    estimators = [entry.load() for entry in _register.ESTIMATORS]
    return [*filter(inspect.isclass, rooms), *estimators, cs.Ensemble, cs.dask.DaskEnsemble]


@cache
def fitted(entry: _register.Entry) -> list[Any]:
    """The class, fitted with each of its small settings, and step by step where it has that mode."""
    rng, truth = np.random.default_rng(0), np.repeat([0, 1, 2], 15)
    X = np.abs(rng.normal(size=(45, 5))) + 4 * np.eye(3, 5)[truth]
    labels = np.stack([np.where(rng.random(45) < 0.2, rng.integers(0, 3, 45), truth) for _ in range(6)], 1)
    cls = entry.load()
    settings = list(getattr(cls, "_test_params", [{}]))
    settings += [{"mode": "authors"}] if "mode" in parameters_of(cls) else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if entry in _register.MULTITASK:
            return [cls(3, **params).fit(X, task=np.arange(45) % 2) for params in settings]
        given = labels if entry in _register.CONSENSUS else X
        return [cls(n_clusters=3, **params).fit(given) for params in settings]


def test_retired_names_are_no_parameters():
    for taker in [*public_functions(), *public_classes(), cs.report, run]:
        names = set(parameters_of(taker))
        assert not names & set(RETIRED), taker
        assert "report" not in names, f"{taker}: a function that is told something is on_note"
    assert "theta" not in parameters_of(cs.SPCE)


def test_retired_names_are_no_attributes_of_classes():
    for cls in public_classes():
        assert not set(dir(cls)) & set(RETIRED), cls


@every_estimator
def test_retired_names_are_not_learned(entry):
    for model in fitted(entry):
        assert not set(dir(model)) & set(RETIRED)


@every_estimator
def test_keys_of_the_history_are_documented(entry):
    """By the class, or by the one whose attributes it says it shares."""
    cls = entry.load()
    shared = re.findall(r":class:`(\w+)`", cls.__doc__)
    texts = [cls.__doc__, *(one.load().__doc__ for one in _register.ESTIMATORS if one.name in shared)]
    keys = {key for model in fitted(entry) for line in getattr(model, "history_", ()) for key in line}
    assert [key for key in sorted(keys) if not any(f"``{key}``" in text for text in texts)] == []
