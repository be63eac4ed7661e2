"""Bayesian cluster ensembles: a mixed-membership model of the labels of each object.

    theta_p ~ Dirichlet(alpha);   for every clustering i that saw p:  z_pi ~ theta_p,  x_pi ~ b_(z_pi),i   (1)
    E:   phi_pij ~ exp(psi(g_pj)) b_ji[x_pi],   g_pj = alpha_j + sum_i phi_pij                             (2)
    M:   b_ji ~ sum_p w_p phi_pij [x_pi] + eps                                                             (3)
         alpha by Newton's method on   sum_p w_p E[log p(theta_p | alpha)]                                 (4)
    label of p = argmax_j g_pj                                                                             (5)

b_ji (k_i,) distribution of clustering i's labels in component j, alpha (c,), g (u, c), w (u,) weights of the
distinct objects.

References
----------
H. Wang, H. Shan and A. Banerjee, "Bayesian cluster ensembles", Statistical Analysis and Data Mining 4(1),
2011.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, polygamma, psi

from ..._base.estimator import declared
from ..._base.parameters import MaxIter, MinClusterSize, NInit, NJobs, Seed, Tol
from ..._kernels.labels.grouping import LabelRows, block_shares, drawn_rows, label_rows
from ..._kernels.labels.mixed_membership import infer_rows
from .._base import BaseConsensus, Solution
from ._shared import disagreement, overall_shares, read_off, start_table

_SMOOTH = 1e-9  # eps of Eq. (3), of the total weight
_INNER = 100  # most steps of (2) for one object and round


class Run(NamedTuple):
    """One run: g of (2), the model, and the mean bound at each round."""

    g: np.ndarray
    table: np.ndarray
    alpha: np.ndarray
    bounds: list[float]
    converged: bool


def expected_log_prior(alpha: np.ndarray, logs: np.ndarray, total: float) -> float:
    """Eq. (4), from logs (c,) = sum_p w_p (psi(g_pj) - psi(sum g_p))."""
    return float(total * (gammaln(alpha.sum()) - gammaln(alpha).sum()) + (alpha - 1.0) @ logs)


def update_alpha(alpha: np.ndarray, logs: np.ndarray, total: float) -> np.ndarray:
    """One Newton step on Eq. (4), whose Hessian is a diagonal plus a constant.

    The step is halved until alpha is positive and (4) does not fall.
    """
    G = logs + total * (psi(alpha.sum()) - psi(alpha))
    h, z = -total * polygamma(1, alpha), total * polygamma(1, alpha.sum())
    q = (G / h).sum() / (1.0 / z + (1.0 / h).sum())
    step, before = (G - q) / h, expected_log_prior(alpha, logs, total)
    for _ in range(40):
        new = alpha - step
        if (new > 1e-8).all() and expected_log_prior(new, logs, total) >= before:
            return new
        step = step / 2.0
    return alpha


def ascend(
    rows: LabelRows, table: np.ndarray, alpha: np.ndarray, *, max_iter: int, tol: float, n_jobs: int | None
) -> Run:
    """(3), (2) and (4) in turn, until the mean bound rises by no more than ``tol`` times itself."""
    total, c = rows.weights.sum(), alpha.size
    seen = (rows.labels >= 0).sum(axis=1)
    g = alpha + seen[:, None] / c
    bounds: list[float] = []
    converged = False
    for _ in range(max_iter):
        b = block_shares(table + _SMOOTH * total, rows.offsets, np.ones(len(table)))
        found = infer_rows(
            rows.labels,
            rows.offsets,
            rows.weights,
            b,
            alpha,
            g,
            tol=1e-4,
            max_iter=_INNER,
            n_jobs=n_jobs,
        )
        bounds.append(found.bound / total)
        table = found.table
        if converged := len(bounds) > 1 and bounds[-1] - bounds[-2] <= tol * abs(bounds[-1]):
            break
        if c > 1:  # with one component theta is 1, whatever alpha is
            alpha = update_alpha(alpha, found.logs, total)
    return Run(g, table, alpha, bounds, bool(converged))


@declared
class BCE(BaseConsensus):
    """Bayesian cluster ensembles: a mixed-membership model of label vectors, by variational inference.

    Each cluster is a component of the model. The method is linear in the number of objects, and its
    memberships are soft.

    Parameters
    ----------
    n_init : int
        Number of starts (from objects that are far apart); the one with the largest bound is kept.
    max_iter : int
        Maximum number of rounds of each start.
    tol : float
        A start ends when the bound rises by no more than this share of itself.

    Attributes
    ----------
    membership_ : array (n_samples, n_clusters)
        Expected share of each component in the object, g / sum g of Eq. (2). Columns are in the order of the
        labels.
    history_ : list of dict
        ``bound`` at each round of the best start: the lower bound on the log-likelihood, averaged over
        objects.

    Notes
    -----
    A step of (2) takes O(u m c) time, and a round takes several; the fit takes O(u c + k c) memory. The model
    handles missing labels and weights exactly. The bound never falls, up to the smoothing eps. With more than
    65,536 distinct objects, the starts are compared on a sample of that size, and the best one continues with
    all objects.

    Differences from the paper: starts are spread instead of random, g continues from the last round instead
    of being initialized again, Newton steps that would lower the bound are shortened, and eps is 1e-9 of the
    total weight. The published program does not accept missing labels.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> cs.consensus.BCE(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    n_init: NInit = 5
    max_iter: MaxIter = 500
    tol: Tol = 1e-4
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    _test_params = [{"n_init": 3}]

    def _fit(self, ensemble, rng):
        offsets, weights, c = ensemble.offsets, ensemble.sample_weight, self.n_clusters
        rows = label_rows(ensemble.labels, offsets, weights)
        costs = disagreement(overall_shares(ensemble), offsets)
        drawn = drawn_rows(rows, c, rng)
        climb = partial(ascend, max_iter=self.max_iter, tol=self.tol, n_jobs=self.n_jobs)
        runs = []
        for _ in range(self.n_init):
            table, sizes = start_table(drawn, c, costs, rng, self.n_jobs)
            runs.append(climb(drawn, table, sizes / sizes.sum()))
        best = max(runs, key=lambda run: run.bounds[-1])
        if drawn is not rows:
            best = climb(rows, best.table, best.alpha)
        labels, membership = read_off(best.g / best.g.sum(axis=1, keepdims=True), weights, ensemble.rows)
        return Solution(
            labels,
            history=[{"bound": bound} for bound in best.bounds],
            converged=best.converged,
            per_sample={"membership": membership},
        )
