"""One name for one meaning: the glossary of CONTRIBUTING.md holds every public name, and what was renamed stays so."""

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
    "warm_start": "start",
    "patience": "first_trust",
    "self_paced": "weighting",
    "n_components_": "n_pieces_",
    "theta_": "threshold_",
    "diversity": "similarity",
    "row_names": "sample_names",
    "column_names": "feature_names or clustering_names",
    "centers_": "centers_",
    "task_centers_": "task_centers_",
}
every_estimator = pytest.mark.parametrize("entry", _register.ESTIMATORS, ids=lambda entry: entry.name)


@cache
def glossary(heading: str) -> dict[str, str]:
    """Name -> the column "where" of the table under a bold heading; several names may share a row."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Glossary")[2].partition("\n## ")[0]
    below = text.partition(f"**{heading}**\n")[2].partition("\n**")[0]
    rows = [line.strip("| ").split(" | ") for line in below.splitlines() if line.startswith("| `")]
    names = [(name, row[2]) for row in rows for name in re.findall(r"`([\w*]+)`", row[0])]
    assert len(dict(names)) == len(names) > 0, f"{heading}: a name stands there twice, or the table is gone"
    return dict(names)


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
    estimators = [entry.load() for entry in _register.ESTIMATORS]
    return [*filter(inspect.isclass, rooms), *estimators, cs.Ensemble, cs.Features, cs.dask.Ensemble]


@cache
def fitted(entry: _register.Entry) -> list[Any]:
    """The class with each of its small settings, and step by step as published where it has that mode, fitted."""
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


@every_estimator
def test_parameters_of_estimators_are_in_the_glossary(entry):
    known = glossary("Parameters")
    assert [name for name in parameters_of(entry.load()) if name not in known] == []


@pytest.mark.parametrize("function", public_functions(), ids=lambda f: f"{f.__module__}.{f.__name__}")
def test_parameters_of_functions_are_in_the_glossary(function):
    known = glossary("Parameters")
    assert [name for name in parameters_of(function) if name not in known] == []


def test_the_glossary_holds_no_parameter_that_is_gone():
    takers = [*public_functions(), *public_classes()]
    takers += [cls.fit for cls in public_classes() if hasattr(cls, "fit")]
    taken = {name for taker in takers for name in parameters_of(taker)}
    assert [name for name in glossary("Parameters") if name not in taken] == []


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
def test_keys_of_the_history_are_in_the_glossary(entry):
    """All that a method records stands there with its name beside it, and nothing else does."""
    listed = {key for key, where in glossary("Keys of `history_`").items() if f"`{entry.name}`" in where}
    found = {key for model in fitted(entry) for line in getattr(model, "history_", ()) for key in line}
    assert found == listed


@every_estimator
def test_keys_of_the_history_are_documented(entry):
    """By the class, or by the one whose attributes it says it shares."""
    cls = entry.load()
    texts = [cls.__doc__, *(getattr(cs, name).__doc__ for name in re.findall(r":class:`(\w+)`", cls.__doc__))]
    keys = {key for model in fitted(entry) for line in getattr(model, "history_", ()) for key in line}
    assert [key for key in sorted(keys) if not any(f"``{key}``" in text for text in texts)] == []
