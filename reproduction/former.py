"""Names that have changed since cells were first run, in one place.

A cell's seed comes from its name, and its name and digest tell whether it is done already; both are made of names of parameters.
They stay those of the first run, so that a renamed parameter neither orphans stored results nor draws other numbers.
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
    "mdec": {**_TOLERANCE, **_PIPELINE, "preprocess": "prepare"},
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
#: Parameter of any generator -> its first name.
_OF_GENERATORS = {"preprocess": "prepare", "keep_base_models": "keep_members"}
#: First name -> values, each with what was written for it then.
_VALUES = {"self_paced": [("self-paced", True), ("none", False)]}
#: Row of a table -> its first name.
_ROWS = {'NRSEC, start="zero"': 'NRSEC, warm_start="zero"'}
#: Class of this package -> its first name.
_CLASSES = {"reproduction.spectral:NeighborSpectral": "reproduction.spectral:NeighbourSpectral"}


def first_params(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a class by their first names; those that have these already stay."""
    names = _PARAMETERS.get(method.lower(), {})
    return {
        first: _first_value(first, value) for key, value in params.items() for first in [names.get(key, key)]
    }


def _first_value(first: str, value: Any) -> Any:
    if first == "generator_params":
        return {_OF_GENERATORS.get(key, key): each for key, each in value.items()}
    return next((then for now, then in _VALUES.get(first, ()) if now == value), value)


def first_row(name: str) -> str:
    """The first name of a row."""
    return _ROWS.get(name, name)


def first_class(method: str) -> str:
    """The first name of a class."""
    return _CLASSES.get(method, method)
