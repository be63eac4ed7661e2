"""Consensus clustering: many imperfect clusterings in, one better, stable, explained clustering out.

>>> import consilience as cs
>>> ens = cs.Ensemble([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]])
>>> cs.EvidenceAccumulation(n_clusters=2).fit_predict(ens).tolist()
[0, 0, 1, 1]

Names are imported when first used, so that ``import consilience`` is quick.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

#: Public name -> module that defines it.
_HOMES = {
    "Ensemble": "ensemble",
    "Features": "features",
    "ConsensusClustering": "pipeline",
    "EvidenceAccumulation": "consensus",
    "CoassociationKMeans": "consensus",
    "SCCABG": "consensus",
    "SPCE": "consensus",
    "RSEC": "consensus",
    "NRSEC": "consensus",
    "LWEA": "consensus",
    "LWGP": "consensus",
    "LWSC": "consensus",
    "MDEC": "mdec",
    "SPMTC": "multitask",
    "LSSMTC": "multitask",
    "ASI": "multitask",
    "report": "reporting",
}
_ROOMS = ("consensus", "errors", "generate", "io", "metrics", "multitask", "plot")

__all__ = [*sorted(_HOMES), *_ROOMS, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    elif name in _ROOMS:
        value = importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
