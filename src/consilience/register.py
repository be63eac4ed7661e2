"""What the library offers, as plain data: exports, ``methods()`` and ``consilience methods`` are made from these lists.

A class enters the library by one line here. Nothing is imported before it is asked for, so that ``import
consilience`` is quick. Generators are functions and have a register of their own, in ``generate``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """A public name, and the module of the package that defines it."""

    name: str
    module: str

    def load(self) -> Any:
        """What the name stands for."""
        return getattr(importlib.import_module(f".{self.module}", __package__), self.name)


#: An ensemble in, one clustering out. Here and below in the order in which users see them.
CONSENSUS = (
    Entry("EvidenceAccumulation", "consensus.coassociation.evidence"),
    Entry("CoassociationKMeans", "consensus.coassociation.kmeans"),
    Entry("LWEA", "consensus.coassociation.locally_weighted"),
    Entry("LWSC", "consensus.coassociation.locally_weighted"),
    Entry("LWGP", "consensus.bipartite.lwgp"),
    Entry("SCCABG", "consensus.bipartite.sccabg"),
    Entry("SPCE", "consensus.coassociation.spce"),
    Entry("RSEC", "consensus.lowrank.rsec"),
    Entry("NRSEC", "consensus.lowrank.nrsec"),
    Entry("CSPA", "consensus.coassociation.cspa"),
    Entry("HBGF", "consensus.bipartite.hbgf"),
    Entry("MCLA", "consensus.metaclusters.mcla"),
    Entry("SEC", "consensus.coassociation.sec"),
    Entry("KCC", "consensus.labels.kcc"),
    Entry("ECC", "consensus.labels.kcc"),
    Entry("Voting", "consensus.labels.voting"),
    Entry("SoftVote", "consensus.labels.soft_vote"),
    Entry("MixtureConsensus", "consensus.labels.mixture"),
    Entry("BCE", "consensus.labels.bce"),
    Entry("ECPCS", "consensus.metaclusters.ecpcs"),
    Entry("LCE", "consensus.bipartite.lce"),
    Entry("PTA", "consensus.coassociation.pta"),
    Entry("PTGP", "consensus.coassociation.ptgp"),
    Entry("NMFC", "consensus.coassociation.nmfc"),
    Entry("DREC", "consensus.lowrank.drec"),
    Entry("RCE", "consensus.lowrank.rce"),
    Entry("TRCE", "consensus.coassociation.trce"),
    Entry("CESHL", "consensus.bipartite.ceshl"),
    Entry("HGPA", "consensus.bipartite.hgpa"),
    Entry("WEAC", "consensus.coassociation.weac"),
    Entry("BestOf", "consensus.best_of"),
)

#: Features in, one clustering out: a generator and a consensus method in one estimator.
FEATURES = (
    Entry("ConsensusClustering", "pipeline"),
    Entry("MDEC", "mdec"),
)

#: Features of several related tasks in, one clustering of each out.
MULTITASK = (
    Entry("SPMTC", "multitask.spmtc"),
    Entry("LSSMTC", "multitask.lssmtc"),
    Entry("ASI", "multitask.asi"),
)

#: Everything that clusters.
ESTIMATORS = (*CONSENSUS, *FEATURES, *MULTITASK)

#: What else stands at the top of the package.
CONTAINERS = (
    Entry("Ensemble", "ensemble"),
    Entry("SoftEnsemble", "soft"),
    Entry("Features", "features"),
    Entry("Study", "choosing"),
)
FUNCTIONS = (
    Entry("align", "metrics"),
    Entry("choose_k", "choosing"),
    Entry("load", "io"),
    Entry("report", "reporting"),
)
ROOMS = ("anndata", "consensus", "dask", "errors", "generate", "io", "metrics", "multitask", "plot")


def lazily(
    namespace: dict[str, Any], entries: Iterable[Entry], rooms: Iterable[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose names are imported when first used."""
    package = namespace["__name__"]
    homes = {entry.name: entry for entry in entries}
    folders = frozenset(rooms)

    def __getattr__(name: str) -> Any:
        if name in homes:
            value = homes[name].load()
        elif name in folders:
            value = importlib.import_module(f".{name}", package)
        else:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        namespace[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted(namespace["__all__"])

    return __getattr__, __dir__
