"""The consensus methods: an ensemble in, one clustering out.

``methods()`` lists what exists, by the name the command line uses.
"""

from __future__ import annotations

import re

from ._base import BaseConsensus, Pacing, Solution
from .bipartite import LWGP, SCCABG
from .coassociation import LWEA, LWSC, SPCE, CoassociationKMeans, EvidenceAccumulation
from .lowrank import NRSEC, RSEC

__all__ = [
    "LWEA",
    "LWGP",
    "LWSC",
    "NRSEC",
    "RSEC",
    "SCCABG",
    "SPCE",
    "BaseConsensus",
    "CoassociationKMeans",
    "EvidenceAccumulation",
    "Pacing",
    "Solution",
    "method",
    "methods",
]

_METHODS: tuple[type[BaseConsensus], ...] = (
    EvidenceAccumulation,
    CoassociationKMeans,
    LWEA,
    LWSC,
    LWGP,
    SCCABG,
    SPCE,
    RSEC,
    NRSEC,
)


def methods() -> dict[str, type[BaseConsensus]]:
    """Every registered method by its command-line name, e.g. ``evidence-accumulation``."""
    return {_command_name(cls.__name__): cls for cls in _METHODS}


def method(name: str) -> type[BaseConsensus]:
    """The method of that command-line or class name (case does not matter)."""
    from ..errors import InputError

    known = methods()
    for command_name, cls in known.items():
        if name.lower() in (command_name, cls.__name__.lower()):
            return cls
    raise InputError(f"method={name!r} is not known: choose one of {', '.join(known)}.")


def _command_name(class_name: str) -> str:
    """EvidenceAccumulation -> evidence-accumulation, SPCE -> spce."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", class_name).lower()
