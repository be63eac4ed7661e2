"""Names that have changed since cells were first run, in one place.

A cell's seed comes from its name, and its name and digest tell whether it is done already; both are made of names of parameters.
They stay those of the first run, so that a renamed parameter neither orphans stored results nor draws other numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Class (in lower case) -> parameter -> its first name.
_PARAMETERS = {
    "rsec": {"labels_from": "from_"},
    "nrsec": {"labels_from": "from_", "start": "warm_start"},
    "spce": {"threshold": "theta"},
    "sccabg": {"first_trust": "patience", "weighting": "self_paced"},
}
#: First name -> values, each with what was written for it then.
_VALUES = {"self_paced": [("self-paced", True), ("none", False)]}
#: Row of a table -> its first name.
_ROWS = {'NRSEC, start="zero"': 'NRSEC, warm_start="zero"'}


def first_params(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a class by their first names; those that have these already stay."""
    names = _PARAMETERS.get(method.lower(), {})
    return {
        first: _first_value(first, value) for key, value in params.items() for first in [names.get(key, key)]
    }


def _first_value(first: str, value: Any) -> Any:
    return next((then for now, then in _VALUES.get(first, ()) if now == value), value)


def first_row(name: str) -> str:
    """The first name of a row."""
    return _ROWS.get(name, name)
