"""The consensus methods: an ensemble in, one clustering out.

``methods()`` lists what exists, by the name the command line uses.
"""

from __future__ import annotations

from ..naming import command_name, look_up
from ._base import BaseConsensus, Solution
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
    return {command_name(cls.__name__): cls for cls in _METHODS}


def method(name: str) -> type[BaseConsensus]:
    """The method of that command-line or class name (case, hyphens and underscores do not matter)."""
    return look_up(name, methods(), "method")
