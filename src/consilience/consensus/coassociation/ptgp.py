"""Probability trajectory based graph partitioning: objects linked to base clusters by random walks, and the graph cut.

    S_pq = A_pq among each object's K largest (ties kept), the larger of (p, q) and (q, p)              (1)
    P = rows of S diag(w) scaled to add up to 1                                                         (2)
    Z_pq = cosine of what walks of 1..T steps from p and q reach                                        (3)
    B_pb = mean of Z_pq over the objects q of base cluster b; cut of the graph with edges B             (4)

A (u, u) co-association of the distinct objects ("microclusters") without its diagonal, w (u,) their weights, B (u, k).

References
----------
D. Huang, J.-H. Lai and C.-D. Wang, "Robust ensemble clustering using probability trajectories", IEEE Transactions on Knowledge
and Data Engineering 28(5), 2016.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ...kernels.cut import cut_rows
from ...kernels.memory import ensure_fits
from ...kernels.trajectories import MOST_STEPS, trajectory_norms, trajectory_product
from ...kernels.transfer_cut import transfer_cut_dense
from ...validation import Flag, Integer, Nothing
from .._base import BaseConsensus, Solution
from ._walks import walk


class PTGP(BaseConsensus):
    """Probability trajectory based graph partitioning: cut of the graph between objects and base clusters, linked by random walks.

    No matrix of pairs is held.

    Parameters
    ----------
    n_clusters : int
        Number of clusters returned.
    n_neighbours, walk_length, object_weights :
        As of PTA.
    n_init : int, default 10
        Starts of the final k-means; the best is kept.
    random_state : int, Generator or None
        Seed of these starts.
    n_jobs : int or None
        Threads; None is all cores.

    Attributes
    ----------
    labels_, confidence_ : arrays (n_samples,)
        Cluster of each object, 0 the largest, and the share of its evidence that points there.
    embedding_ : array (n_samples, n_clusters)
        The vectors of the cut; fewer columns where there are fewer base clusters.

    Notes
    -----
    O(u^2 m + T e (k + u)) time for e links between neighbours (2 K u, and more with ties), 8 (T + 3) u k + 12 e bytes. Time grows with
    the square of the distinct objects; for more than some 20,000 of them use LWGP or HBGF. Missing labels: A over the clusterings
    that saw both.

    Examples
    --------
    >>> import numpy as np
    >>> import consilience as cs
    >>> rng, truth = np.random.default_rng(0), np.repeat([0, 1], [30, 20])
    >>> base = [np.where(rng.random(50) < 0.2, rng.integers(0, 4, 50), truth) for _ in range(8)]
    >>> np.bincount(cs.PTGP(n_clusters=2, random_state=0).fit_predict(base)).tolist()
    [30, 20]
    """

    constraints = {
        "n_neighbours": Nothing() | Integer(1),
        "walk_length": Nothing() | Integer(1, MOST_STEPS),
        "object_weights": Flag(),
        "n_init": Integer(1),
    }
    _test_params = [{"n_init": 3}, {"n_init": 3, "object_weights": False}]

    embedding_: np.ndarray

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        n_neighbours: int | None = None,
        walk_length: int | None = None,
        object_weights: bool = True,
        n_init: int = 10,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.n_clusters = n_clusters
        self.n_neighbours = n_neighbours
        self.walk_length = walk_length
        self.object_weights = object_weights
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, ensemble, rng):
        u, k, c = ensemble.n_samples, ensemble.n_total_clusters, self.n_clusters
        P, steps, _ = walk(self, ensemble)
        ensure_fits(
            8.0 * (steps + 3) * u * k,
            what=f"PTGP on {u} distinct objects and {k} base clusters, with {steps} steps,",
            remedy="use LWGP or HBGF, a smaller walk_length, or fewer or coarser clusterings",
        )
        weights = ensemble.weights if self.object_weights else np.ones(u)
        means = (sp.diags_array(weights) @ ensemble.indicator()).toarray()
        means /= means.sum(axis=0)
        B = trajectory_product(P, steps, trajectory_norms(P, steps, n_jobs=self.n_jobs), means)
        found = transfer_cut_dense(B, weights, min(c, k), n_jobs=self.n_jobs)
        seeds = rng.integers(2**31, size=self.n_init).tolist()
        cut = cut_rows(
            found.objects, c, unit=True, weights=weights, seeds=seeds, max_iter=100, n_jobs=self.n_jobs
        )
        return Solution(
            cut.labels,
            n_iter=found.products,
            converged=found.converged,
            shortfall="its eigenvectors were not found to full accuracy",
            per_sample={"embedding": found.objects},
        )
