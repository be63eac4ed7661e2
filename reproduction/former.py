"""Names that have changed since cells were first run, in one place.

A cell's seed comes from its name, and its name and digest tell whether it is done already; both are made of
names of parameters. They stay those of the first run, so that a renamed parameter neither orphans stored
results nor draws other numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Class (in lower case) -> parameter -> its first name.
_TOLERANCE = {"instability_tolerance": "theta"}
_RSEC = {"labels_from": "from_", "entries": "evidence"}
_PIPELINE = {"method": "consensus", "method_params": "consensus_params", "keep_base_models": "keep_members"}
_PARAMETERS: dict[str, dict[str, str]] = {
    "consensusclustering": _PIPELINE,
    "drec": {"n_iter": "n_rounds", "count_duplicates": "object_weights"},
    "evidenceaccumulation": {"distance": "on"},
    "hbgf": {"include_base_clusters": "joint"},
    "kcc": {"norm_order": "order"},
    "lwea": {**_TOLERANCE, "max_samples": "sample"},
    "lwgp": _TOLERANCE,
    "lwsc": _TOLERANCE,
    "mdec": {**_TOLERANCE, **_PIPELINE, "preprocess": "prepare", "feature_fraction": "ratio"},
    "nrsec": {
        **_RSEC,
        "linearize_about": "warm_start",
        "saturation": "gamma",
        "n_linearizations": "n_steps",
    },
    "pta": {"count_duplicates": "object_weights"},
    "ptgp": {"count_duplicates": "object_weights", "max_samples": "sample"},
    "rce": {"n_iter": "n_rounds"},
    "rsec": _RSEC,
    "sccabg": {
        "first_trust": "patience",
        "weighting": "self_paced",
        "similarity_weight": "gamma1",
        "overlap_weight": "gamma2",
    },
    "spce": {"threshold": "theta"},
    "voting": {"algorithm": "method"},
}
_ONE_START = {"preprocess": "none", "parts": "non-negative", "init": "random", "n_init": 1}
#: Class -> parameters that came later, each with the value that says what was done before.
_BEFORE: dict[str, dict[str, Any]] = {
    "asi": {"preprocess": "none"},
    "lssmtc": _ONE_START,
    "spmtc": _ONE_START,
}
#: Parameter of any generator -> its first name; ``n_clusters`` of those that draw it was two parameters.
_OF_GENERATORS = {
    "preprocess": "prepare",
    "keep_base_models": "keep_members",
    "n_clusters": "k",
    "feature_fraction": "ratio",
    "sample_fraction": "ratio",
}
_DRAWING = ("random_k", "metric_subspace", "landmarks")
#: First name -> values, each with what was written for it then.
_VALUES = {"self_paced": [("self-paced", True), ("none", False)]}
#: Row of a table -> its first name.
_ROWS = {'NRSEC, start="zero"': 'NRSEC, warm_start="zero"'}
#: Class of this package -> its first name.
_CLASSES = {"reproduction.spectral:NeighborSpectral": "reproduction.spectral:NeighbourSpectral"}


def first_params(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a class by their first names; those that have these already stay.

    A parameter that came later is left out where it says what was done before.
    """
    names, before = _PARAMETERS.get(method.lower(), {}), _BEFORE.get(method.lower(), {})
    return {
        first: _first_value(first, value, params)
        for key, value in params.items()
        for first in [names.get(key, key)]
        if key not in before or value != before[key]
    }


def first_generator(generator: str | None, params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a generator by their first names, in their order."""
    name = (generator or "").replace("-", "_")
    found: dict[str, Any] = {}
    for key, value in params.items():
        if key == "n_clusters" and name in _DRAWING:
            low, high = value if isinstance(value, (list, tuple)) else (value, value)
            ends = {"k_min": low, "k_max": high}
            found |= {end: one for end, one in ends.items() if one is not None}
        elif key == "n_neighbors" and name == "metric_subspace":
            found["neighbors"] = value
        else:
            found[_OF_GENERATORS.get(key, key)] = value
    return found


def _first_value(first: str, value: Any, params: Mapping[str, Any]) -> Any:
    if first == "generator_params":
        return first_generator(params.get("generator"), value)
    return next((then for now, then in _VALUES.get(first, ()) if now == value), value)


def first_row(name: str) -> str:
    """The first name of a row."""
    return _ROWS.get(name, name)


def first_class(method: str) -> str:
    """The first name of a class."""
    return _CLASSES.get(method, method)
