"""Everything public, as plain data.

Exports, ``methods()`` and ``consilience methods`` are made from these lists. One line here adds a class to
the library. Nothing is imported before it is used, so that ``import consilience`` is quick. Generators are
functions and have a register of their own, in ``generate``.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """A public name, and the module of the package that defines it."""

    name: str
    module: str

    def load(self) -> Any:
        """Import the object that the name stands for."""
        return getattr(importlib.import_module(f".{self.module}", __package__), self.name)


#: An ensemble in, one clustering out. Here and below, in the order in which users see them.
CONSENSUS = (
    Entry("EvidenceAccumulation", "consensus._coassociation.evidence"),
    Entry("CoassociationKMeans", "consensus._coassociation.kmeans"),
    Entry("LWEA", "consensus._coassociation.locally_weighted"),
    Entry("LWSC", "consensus._coassociation.locally_weighted"),
    Entry("LWGP", "consensus._bipartite.lwgp"),
    Entry("SCCABG", "consensus._bipartite.sccabg"),
    Entry("SPCE", "consensus._coassociation.spce"),
    Entry("RSEC", "consensus._lowrank.rsec"),
    Entry("NRSEC", "consensus._lowrank.nrsec"),
    Entry("CSPA", "consensus._coassociation.cspa"),
    Entry("HBGF", "consensus._bipartite.hbgf"),
    Entry("MCLA", "consensus._metaclusters.mcla"),
    Entry("SEC", "consensus._coassociation.sec"),
    Entry("KCC", "consensus._labels.kcc"),
    Entry("ECC", "consensus._labels.kcc"),
    Entry("Voting", "consensus._labels.voting"),
    Entry("SoftVote", "consensus._labels.soft_vote"),
    Entry("MixtureConsensus", "consensus._labels.mixture"),
    Entry("BCE", "consensus._labels.bce"),
    Entry("ECPCS", "consensus._metaclusters.ecpcs"),
    Entry("LCE", "consensus._bipartite.lce"),
    Entry("PTA", "consensus._coassociation.pta"),
    Entry("PTGP", "consensus._coassociation.ptgp"),
    Entry("NMFC", "consensus._coassociation.nmfc"),
    Entry("DREC", "consensus._lowrank.drec"),
    Entry("RCE", "consensus._lowrank.rce"),
    Entry("TRCE", "consensus._coassociation.trce"),
    Entry("CESHL", "consensus._bipartite.ceshl"),
    Entry("HGPA", "consensus._bipartite.hgpa"),
    Entry("WEAC", "consensus._coassociation.weac"),
    Entry("BestOf", "consensus._best_of"),
)

#: Features in, one clustering out: a generator and a consensus method in one estimator.
FEATURES = (
    Entry("ConsensusClustering", "_pipeline.consensus_clustering"),
    Entry("MDEC", "_pipeline.mdec"),
)

#: Features of several related tasks in, one clustering for each task out.
MULTITASK = (
    Entry("SPMTC", "multitask._spmtc"),
    Entry("LSSMTC", "multitask._lssmtc"),
    Entry("ASI", "multitask._asi"),
)

#: Everything that clusters.
ESTIMATORS = (*CONSENSUS, *FEATURES, *MULTITASK)


def estimator(name: str) -> Any:
    """The class of that name."""
    return next(entry.load() for entry in ESTIMATORS if entry.name == name)


#: Estimators at the top of the package; the others are found only in their rooms.
FRONT = tuple(
    entry
    for entry in ESTIMATORS
    if entry.name in ("ConsensusClustering", "MDEC", "NRSEC", "RSEC", "SCCABG", "SPCE", "SPMTC")
)

#: What the time and memory of each method grow with, and its page in docs/methods.
WORKS_ON = {
    "EvidenceAccumulation": "pairs",
    "CoassociationKMeans": "base clusters",
    "LWEA": "pairs",
    "LWSC": "pairs",
    "LWGP": "base clusters",
    "SCCABG": "base clusters",
    "SPCE": "pairs that ever met",
    "RSEC": "pairs",
    "NRSEC": "pairs",
    "CSPA": "labels",
    "HBGF": "base clusters",
    "MCLA": "base clusters",
    "SEC": "labels",
    "KCC": "labels",
    "ECC": "labels",
    "Voting": "labels",
    "SoftVote": "memberships",
    "MixtureConsensus": "labels",
    "BCE": "labels",
    "ECPCS": "base clusters",
    "LCE": "base clusters",
    "PTA": "pairs",
    "PTGP": "neighbors",
    "NMFC": "labels",
    "DREC": "pairs",
    "RCE": "pairs",
    "TRCE": "pairs",
    "CESHL": "base clusters",
    "HGPA": "base clusters",
    "WEAC": "pairs",
    "BestOf": "as the methods",
    "ConsensusClustering": "features",
    "MDEC": "features",
    "SPMTC": "features by task",
    "LSSMTC": "features by task",
    "ASI": "features by task",
}
PAGES = {
    "EvidenceAccumulation": "evidence-accumulation",
    "CoassociationKMeans": "coassociation-kmeans",
    "LWEA": "locally-weighted",
    "LWSC": "locally-weighted",
    "LWGP": "locally-weighted",
    "SCCABG": "sccabg",
    "SPCE": "spce",
    "RSEC": "rsec",
    "NRSEC": "rsec",
    "CSPA": "cspa",
    "HBGF": "hbgf",
    "MCLA": "mcla",
    "SEC": "sec",
    "KCC": "kcc",
    "ECC": "kcc",
    "Voting": "voting",
    "SoftVote": "soft-vote",
    "MixtureConsensus": "mixture-consensus",
    "BCE": "bce",
    "ECPCS": "ecpcs",
    "LCE": "lce",
    "PTA": "pta-ptgp",
    "PTGP": "pta-ptgp",
    "NMFC": "nmfc",
    "DREC": "drec",
    "RCE": "rce",
    "TRCE": "trce",
    "CESHL": "ceshl",
    "HGPA": "hgpa",
    "WEAC": "weac",
    "BestOf": "best-of",
    "ConsensusClustering": "consensus-clustering",
    "MDEC": "mdec",
    "SPMTC": "spmtc",
    "LSSMTC": "spmtc",
    "ASI": "spmtc",
}

#: Other names at the top of the package.
CONTAINERS = (
    Entry("Ensemble", "_data.ensemble"),
    Entry("SoftEnsemble", "_data.soft"),
)
FUNCTIONS = (
    Entry("align", "metrics"),
    Entry("choose_k", "_choosing"),
    Entry("compare", "_results.tables"),
    Entry("list_methods", "_results.tables"),
    Entry("load", "io"),
    Entry("report", "_reporting"),
    Entry("save", "io"),
)
#: What rooms that are built on models do for them. A model asks for it by name (:func:`offered`), because it
#: does not know these rooms.
OFFERED = {
    entry.name: entry
    for entry in (
        Entry("CDFDisplay", "plot"),
        Entry("ChooseKDisplay", "plot"),
        Entry("DeltaAreaDisplay", "plot"),
        Entry("Rows", "dask.generation"),
        Entry("SpectrumDisplay", "plot"),
        Entry("TrackingDisplay", "plot"),
        Entry("choose_k", "_choosing"),
        Entry("fit_lazily", "dask.fitting"),
        Entry("frame_lazily", "dask.fitting"),
        Entry("learn_lazily", "dask.generation"),
        Entry("pairs_of", "dask.measures"),
        Entry("predict_lazily", "dask.fitting"),
        Entry("predict_rows_lazily", "dask.generation"),
        Entry("report", "_reporting"),
        Entry("save", "io"),
        Entry("score_lazily", "dask.fitting"),
        Entry("summary", "_results.summary"),
    )
}
ROOMS = ("anndata", "consensus", "dask", "errors", "generate", "io", "metrics", "multitask", "plot")
#: Rooms whose names are also those of other packages or of modules of Python.
NAMESAKES = ("anndata", "dask", "io")


def address(entry: Entry) -> str:
    """Where users find it, after ``cs.``: its name alone, or behind the name of its room."""
    return entry.name if entry in FRONT else f"{entry.module.partition('.')[0]}.{entry.name}"


def _address(name: str) -> str:
    """Where users find the class that is called so, in any case; "" where there is none."""
    for entry in ESTIMATORS:
        if entry.name.lower() == name.replace("_", "").lower():
            return f"cs.{address(entry)}"
    return ""


def offered(name: str) -> Any:
    """What :data:`OFFERED` holds by this name, imported when it is first needed."""
    return OFFERED[name].load()


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
            hint = _address(name)
            message = f"module {package!r} has no attribute {name!r}{f'; it is {hint}' if hint else ''}"
            raise AttributeError(message, name=name, obj=None if hint else sys.modules[package])
        namespace[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*namespace["__all__"], *folders})

    return __getattr__, __dir__
