"""The consensus methods: each takes an ensemble and returns one clustering.

``methods()`` returns all of them by the name that the command line uses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _register
from .._base.names import command_name, look_up
from ._base import BaseConsensus, Pacing, Solution
from ._base import accept as accept  # for other rooms, not for users
from ._base import learn as learn
from ._base import predictor_of as predictor_of

if TYPE_CHECKING:  # for editors and type checkers; a test holds it to the register
    from ._best_of import BestOf as BestOf
    from ._bipartite.ceshl import CESHL as CESHL
    from ._bipartite.hbgf import HBGF as HBGF
    from ._bipartite.hgpa import HGPA as HGPA
    from ._bipartite.lce import LCE as LCE
    from ._bipartite.lwgp import LWGP as LWGP
    from ._bipartite.sccabg import SCCABG as SCCABG
    from ._coassociation.cspa import CSPA as CSPA
    from ._coassociation.evidence import EvidenceAccumulation as EvidenceAccumulation
    from ._coassociation.kmeans import CoassociationKMeans as CoassociationKMeans
    from ._coassociation.locally_weighted import LWEA as LWEA
    from ._coassociation.locally_weighted import LWSC as LWSC
    from ._coassociation.nmfc import NMFC as NMFC
    from ._coassociation.pta import PTA as PTA
    from ._coassociation.ptgp import PTGP as PTGP
    from ._coassociation.sec import SEC as SEC
    from ._coassociation.spce import SPCE as SPCE
    from ._coassociation.trce import TRCE as TRCE
    from ._coassociation.weac import WEAC as WEAC
    from ._labels.bce import BCE as BCE
    from ._labels.kcc import ECC as ECC
    from ._labels.kcc import KCC as KCC
    from ._labels.mixture import MixtureConsensus as MixtureConsensus
    from ._labels.soft_vote import SoftVote as SoftVote
    from ._labels.voting import Voting as Voting
    from ._lowrank.drec import DREC as DREC
    from ._lowrank.nrsec import NRSEC as NRSEC
    from ._lowrank.rce import RCE as RCE
    from ._lowrank.rsec import RSEC as RSEC
    from ._metaclusters.ecpcs import ECPCS as ECPCS
    from ._metaclusters.mcla import MCLA as MCLA
else:  # hidden from them: where there is a __getattr__, no name is a mistake
    __getattr__, __dir__ = _register.lazily(globals(), _register.CONSENSUS)

__all__ = [
    *sorted(entry.name for entry in _register.CONSENSUS),
    "BaseConsensus",
    "Pacing",
    "Solution",
    "method",
    "methods",
]


def methods() -> dict[str, type[BaseConsensus]]:
    """Every registered method by its command-line name, e.g. ``evidence-accumulation``."""
    return {command_name(entry.name): entry.load() for entry in _register.CONSENSUS}


def method(name: str) -> type[BaseConsensus]:
    """The method with this command-line or class name; case, hyphens and underscores are ignored."""
    return look_up(name, methods(), "method")
