"""The consensus methods: an ensemble in, one clustering out.

``methods()`` lists what exists, by the name the command line uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import register
from ..naming import command_name, look_up
from ._base import BaseConsensus, Pacing, Solution

if TYPE_CHECKING:  # for editors and type checkers; a test holds it to the register
    from .best_of import BestOf as BestOf
    from .bipartite.ceshl import CESHL as CESHL
    from .bipartite.hbgf import HBGF as HBGF
    from .bipartite.hgpa import HGPA as HGPA
    from .bipartite.lce import LCE as LCE
    from .bipartite.lwgp import LWGP as LWGP
    from .bipartite.sccabg import SCCABG as SCCABG
    from .coassociation.cspa import CSPA as CSPA
    from .coassociation.evidence import EvidenceAccumulation as EvidenceAccumulation
    from .coassociation.kmeans import CoassociationKMeans as CoassociationKMeans
    from .coassociation.locally_weighted import LWEA as LWEA
    from .coassociation.locally_weighted import LWSC as LWSC
    from .coassociation.nmfc import NMFC as NMFC
    from .coassociation.pta import PTA as PTA
    from .coassociation.ptgp import PTGP as PTGP
    from .coassociation.sec import SEC as SEC
    from .coassociation.spce import SPCE as SPCE
    from .coassociation.trce import TRCE as TRCE
    from .coassociation.weac import WEAC as WEAC
    from .labels.bce import BCE as BCE
    from .labels.kcc import ECC as ECC
    from .labels.kcc import KCC as KCC
    from .labels.mixture import MixtureConsensus as MixtureConsensus
    from .labels.soft_vote import SoftVote as SoftVote
    from .labels.voting import Voting as Voting
    from .lowrank.drec import DREC as DREC
    from .lowrank.nrsec import NRSEC as NRSEC
    from .lowrank.rce import RCE as RCE
    from .lowrank.rsec import RSEC as RSEC
    from .metaclusters.ecpcs import ECPCS as ECPCS
    from .metaclusters.mcla import MCLA as MCLA
else:  # hidden from them: where there is a __getattr__, no name is a mistake
    __getattr__, __dir__ = register.lazily(globals(), register.CONSENSUS)

__all__ = [
    *sorted(entry.name for entry in register.CONSENSUS),
    "BaseConsensus",
    "Pacing",
    "Solution",
    "method",
    "methods",
]


def methods() -> dict[str, type[BaseConsensus]]:
    """Every registered method by its command-line name, e.g. ``evidence-accumulation``."""
    return {command_name(entry.name): entry.load() for entry in register.CONSENSUS}


def method(name: str) -> type[BaseConsensus]:
    """The method of that command-line or class name (case, hyphens and underscores do not matter)."""
    return look_up(name, methods(), "method")
