"""Consensus clustering: many imperfect clusterings in, one better, stable, explained clustering out.

>>> import consilience as cs
>>> ens = cs.Ensemble([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]])
>>> cs.consensus.EvidenceAccumulation(n_clusters=2).fit_predict(ens).tolist()
[0, 0, 1, 1]

Names are imported when first used, so that ``import consilience`` is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import _register

_NAMES = (*_register.ESTIMATORS, *_register.CONTAINERS, *_register.FUNCTIONS)

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
    from ._choosing import ChooseKResult as ChooseKResult
    from ._choosing import choose_k as choose_k
    from ._data.ensemble import Ensemble as Ensemble
    from ._data.features import Features as Features
    from ._data.soft import SoftEnsemble as SoftEnsemble
    from ._pipeline.consensus_clustering import ConsensusClustering as ConsensusClustering
    from ._pipeline.mdec import MDEC as MDEC
    from ._reporting import report as report
    from .consensus import BCE as BCE
    from .consensus import CESHL as CESHL
    from .consensus import CSPA as CSPA
    from .consensus import DREC as DREC
    from .consensus import ECC as ECC
    from .consensus import ECPCS as ECPCS
    from .consensus import HBGF as HBGF
    from .consensus import HGPA as HGPA
    from .consensus import KCC as KCC
    from .consensus import LCE as LCE
    from .consensus import LWEA as LWEA
    from .consensus import LWGP as LWGP
    from .consensus import LWSC as LWSC
    from .consensus import MCLA as MCLA
    from .consensus import NMFC as NMFC
    from .consensus import NRSEC as NRSEC
    from .consensus import PTA as PTA
    from .consensus import PTGP as PTGP
    from .consensus import RCE as RCE
    from .consensus import RSEC as RSEC
    from .consensus import SCCABG as SCCABG
    from .consensus import SEC as SEC
    from .consensus import SPCE as SPCE
    from .consensus import TRCE as TRCE
    from .consensus import WEAC as WEAC
    from .consensus import BestOf as BestOf
    from .consensus import CoassociationKMeans as CoassociationKMeans
    from .consensus import EvidenceAccumulation as EvidenceAccumulation
    from .consensus import MixtureConsensus as MixtureConsensus
    from .consensus import SoftVote as SoftVote
    from .consensus import Voting as Voting
    from .io import load as load
    from .metrics import align as align
    from .multitask import ASI as ASI
    from .multitask import LSSMTC as LSSMTC
    from .multitask import SPMTC as SPMTC
else:  # hidden from them: where there is a __getattr__, no name is a mistake
    __getattr__, __dir__ = _register.lazily(globals(), _NAMES, _register.ROOMS)

__version__ = "0.1.0"

__all__ = [*sorted(entry.name for entry in _NAMES), *_register.ROOMS, "__version__"]
