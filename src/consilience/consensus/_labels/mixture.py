"""Mixture model of label vectors: labels of objects in a cluster have the same distributions.

    p(x_p) = sum_j a_j prod over i that saw p of v_ji[x_pi]                                              (1)
    E:   R_pj ~ a_j exp( sum_i log v_ji[x_pi] )                                                          (2)
    M:   a_j = sum_p w_p R_pj / sum_p w_p,    v_ji ~ table_ji + eps,  table = Y' diag(w) R               (3)

a (c,) shares of the components, v_ji (k_i,) distribution of clustering i's labels in component j, R (u, c)
memberships, w (u,) weights of the distinct objects, Y (u, k) indicator of base clusters, eps = 1e-9 of the
total weight.

References
----------
A. Topchy, A. K. Jain and W. Punch, "A mixture model for clustering ensembles", SIAM International Conference
on Data Mining 2004.
"""

from __future__ import annotations

import math
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from ..._base.estimator import declared
from ..._base.parameters import MaxIter, MinClusterSize, NInit, NJobs, Seed, Tol
from ..._kernels.labels.grouping import LabelRows, block_shares, drawn_rows, label_rows, soften
from .._base import BaseConsensus, Solution
from ._shared import disagreement, overall_shares, read_off, start_table

_SMOOTH = 1e-9  # eps of Eq. (3), of the total weight
_DEAD = 1e-10  # share of the total weight below which a component explains nothing


class Run(NamedTuple):
    """One run: memberships, their table and weights, and the mean log-likelihood at each step."""

    R: np.ndarray
    table: np.ndarray
    sizes: np.ndarray
    gains: list[float]
    reseeded: int
    converged: bool


def maximize(table: np.ndarray, sizes: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eq. (3) as costs: (- log v (k, c), - log a (c,))."""
    total = sizes.sum()
    v = block_shares(table + _SMOOTH * total, offsets, np.ones(len(table)))
    return -np.log(v), -np.log(sizes / total)


def ascend(
    rows: LabelRows,
    table: np.ndarray,
    sizes: np.ndarray,
    *,
    max_iter: int,
    tol: float,
    n_jobs: int | None,
) -> Run:
    """(3) and (2) in turn, until the log-likelihood rises by no more than ``tol`` times itself."""
    total, reseeded, converged = rows.weights.sum(), 0, False
    gains: list[float] = []
    R = np.empty(0)
    for _ in range(max_iter):
        R, table, sums = soften(rows, *maximize(table, sizes, rows.offsets), n_jobs=n_jobs)
        sizes = R.T @ rows.weights
        gains.append(float(rows.weights @ sums / total))
        dead = np.flatnonzero(sizes < _DEAD * total)
        if dead.size:
            worst = np.argsort(sums, kind="stable")[: dead.size]
            table[:, dead] = rows.take(worst).table(np.arange(dead.size), dead.size)
            sizes[dead] = rows.weights[worst]
            reseeded += dead.size
        elif converged := len(gains) > 1 and gains[-1] - gains[-2] <= tol * abs(gains[-1]):
            break
    return Run(R, table, sizes, gains, reseeded, bool(converged))


@declared
class MixtureConsensus(BaseConsensus):
    """Mixture model of label vectors, by expectation maximization.

    The method is linear in the number of objects, and its memberships are soft.

    Parameters
    ----------
    n_init : int
        Number of starts (from objects that are far apart); the one with the largest likelihood is kept.
    tol : float
        A start ends when the log-likelihood rises by no more than this share of itself.

    Attributes
    ----------
    membership_ : array (n_samples, n_clusters)
        R of Eq. (2): probability of each component. Columns are in the order of the labels.
    log_likelihood_ : float
        Weighted mean of log p, Eq. (1), over objects, in nats.
    bic_ : float
        Bayesian information criterion, to compare numbers of clusters; smaller is better.
    n_reseeded_ : int
        Number of times that an empty component was restarted from the object that the model explained worst.
    history_ : list of dict
        ``log_likelihood`` at each iteration of the best start.

    Notes
    -----
    An iteration takes O(u m c) time, and the fit O(u c + k c) memory. The model handles missing labels and
    weights exactly. The log-likelihood never falls, up to the smoothing eps, unless a component is restarted.
    With more than 65,536 distinct objects, the starts are compared on a sample of that size, and the best one
    continues with all objects.

    Differences from the paper: starts are spread instead of random, and empty components are restarted.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> cs.consensus.MixtureConsensus(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    n_init: NInit = 10
    max_iter: MaxIter = 500
    tol: Tol = 1e-7
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    log_likelihood_: ClassVar[float]
    bic_: ClassVar[float]
    n_reseeded_: ClassVar[int]

    _test_params = [{"n_init": 5}]

    def _fit(self, ensemble, rng):
        offsets, weights, c = ensemble.offsets, ensemble.sample_weight, self.n_clusters
        rows = label_rows(ensemble.labels, offsets, weights)
        costs = disagreement(overall_shares(ensemble), offsets)
        drawn = drawn_rows(rows, c, rng)
        climb = partial(ascend, max_iter=self.max_iter, tol=self.tol, n_jobs=self.n_jobs)
        runs = [climb(drawn, *start_table(drawn, c, costs, rng, self.n_jobs)) for _ in range(self.n_init)]
        best = max(runs, key=lambda run: run.gains[-1])
        if drawn is not rows:
            best = climb(rows, best.table, best.sizes)
        labels, membership = read_off(best.R, weights, ensemble.rows)
        n = ensemble.inverse.size
        free = (c - 1) + c * int((ensemble.n_clusters_per_clustering - 1).sum())
        return Solution(
            labels,
            history=[{"log_likelihood": gain} for gain in best.gains],
            converged=best.converged,
            per_sample={"membership": membership},
            extra={
                "log_likelihood": best.gains[-1],
                "bic": free * math.log(n) - 2.0 * n * best.gains[-1],
                "n_reseeded": best.reseeded,
            },
        )
