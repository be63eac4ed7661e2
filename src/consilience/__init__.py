"""Consensus clustering: many imperfect clusterings in, one better, stable, explained clustering out.

>>> import consilience as cs
>>> ens = cs.Ensemble.from_clusterings([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]])
>>> cs.consensus.EvidenceAccumulation(n_clusters=2).fit_predict(ens).tolist()
[0, 0, 1, 1]

Names are imported when first used, so that ``import consilience`` is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _register

_NAMES = (*_register.FRONT, *_register.CONTAINERS, *_register.FUNCTIONS)

if TYPE_CHECKING:  # for editors and type checkers; a test holds it to the register
    from . import anndata as anndata
    from . import consensus as consensus
    from . import dask as dask
    from . import errors as errors
    from . import generate as generate
    from . import io as io
    from . import metrics as metrics
    from . import multitask as multitask
    from . import plot as plot
    from ._choosing import choose_k as choose_k
    from ._data.ensemble import Ensemble as Ensemble
    from ._data.soft import SoftEnsemble as SoftEnsemble
    from ._pipeline.consensus_clustering import ConsensusClustering as ConsensusClustering
    from ._pipeline.mdec import MDEC as MDEC
    from ._reporting import report as report
    from ._results.tables import compare as compare
    from ._results.tables import list_methods as list_methods
    from .consensus import NRSEC as NRSEC
    from .consensus import RSEC as RSEC
    from .consensus import SCCABG as SCCABG
    from .consensus import SPCE as SPCE
    from .io import load as load
    from .io import save as save
    from .metrics import align as align
    from .multitask import SPMTC as SPMTC
else:  # hidden from them: with a __getattr__, they would accept any name
    __getattr__, __dir__ = _register.lazily(globals(), _NAMES, _register.ROOMS)

__version__ = "0.1.0"

#: Rooms named like other packages are left out: ``from consilience import *`` would hide those packages.
__all__ = [
    *sorted(entry.name for entry in _NAMES),
    *(room for room in _register.ROOMS if room not in _register.NAMESAKES),
    "__version__",
]
