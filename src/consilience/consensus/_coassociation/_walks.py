"""Random walks among distinct objects, along the strongest ties of each: what PTA and PTGP share.

    S_pq = A_pq if among the K largest of p or of q (ties kept), else 0   (1)
    P = rows of S diag(w) scaled to add up to 1                           (2)
    Z_pq = cosine of what walks of 1..T steps from p and q reach          (3)

A (u, u) co-association of the distinct objects ("microclusters") without its diagonal, w (u,) their weights.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._base.estimator import declared
from ..._base.parameters import Flag, Integer, Nothing
from ..._kernels.pairs.company import strongest_company
from ..._kernels.pairs.trajectories import MOST_STEPS, stochastic_rows
from ...errors import warn
from .._base import BaseConsensus

_FEW = 16  # distinct objects; with fewer the rule gives walks of one step to one neighbor


def rule(u: int) -> int:
    """Default numbers of neighbors and steps: half the square root of the distinct objects, at most 20."""
    return max(1, min(20, int(np.sqrt(u) / 2)))


class Walk(NamedTuple):
    """Where walks go and how far; ``measure`` (u,) has measure_p P_pq = measure_q P_qp."""

    P: sp.csr_array  # (u, u) of Eq. (2)
    neighbors: int
    steps: int
    measure: np.ndarray


def ties(ensemble: Any, n_neighbors: int, *, stay: bool = False, n_jobs: int | None = -1) -> sp.csr_array:
    """S (u, u) of Eq. (1). O(u^2 m) time, 12 bytes an entry kept.

    stay: equal objects are neighbors of each other too. Without it, walks from two objects that have only
    each other as neighbors swap places forever and never meet.
    """
    labels = ensemble.labels
    S = strongest_company(
        labels, labels, n_neighbors, same=True, any_missing=ensemble.has_missing, n_jobs=n_jobs
    )
    S = S.maximum(S.T)
    return sp.csr_array(S + sp.eye_array(ensemble.n_samples) if stay else S)


def transitions(S: sp.csr_array, weights: np.ndarray) -> sp.csr_array:
    """P (u, u) of Eq. (2)."""
    return stochastic_rows(sp.csr_array(S @ sp.diags_array(weights)))


@declared
class BaseWalks(BaseConsensus):
    """A method whose walks start from every object: how far they go, and among which objects.

    Parameters
    ----------
    n_neighbors : int or None
        Number of neighbors that a walk may go to from an object (K in the paper). None uses half the square
        root of the number of distinct objects, at least 1 and at most 20.
    walk_length : int or None
        Number of steps of the walks (T in the paper), at most 10,000. None uses the same rule as for
        n_neighbors.
    count_duplicates : bool
        Whether a distinct object counts as all the objects it stands for: these are then neighbors of each
        other, and means and clusters are weighted by them. False, as published: walks never stay at an
        object, and each distinct object counts once. The walks are weighted either way.
    """

    n_neighbors: Annotated[int | None, Nothing() | Integer(1)] = None
    walk_length: Annotated[int | None, Nothing() | Integer(1, MOST_STEPS)] = None
    count_duplicates: Annotated[bool, Flag()] = True


def walk(model: Any, ensemble: Any, weights: np.ndarray) -> Walk:
    """The walk for the parameters of a model, with a warning if there are too few distinct objects."""
    u = ensemble.n_samples
    if u < _FEW and model.n_neighbors is None:
        warn(
            f"{type(model).__name__} walks among the nearest of {u} distinct objects, too few to tell them "
            f"apart by: "
            "use EvidenceAccumulation, or set n_neighbors.",
        )
    neighbors = rule(u) if model.n_neighbors is None else model.n_neighbors
    steps = rule(u) if model.walk_length is None else model.walk_length
    S = ties(ensemble, neighbors, stay=model.count_duplicates, n_jobs=model.n_jobs)
    relative = weights / weights.max()  # products of very large or small weights would overflow
    return Walk(transitions(S, weights), neighbors, steps, relative * (S @ relative))
