"""Variational inference for label vectors of mixed membership, row by row.

    phi_pij ~ exp(psi(g_pj)) b_ji[x_pi], normalized over j;
        g_pj = alpha_j + sum over i that saw p of phi_pij                                                  (1)
    bound of p = E[log p(theta)] + sum_ij phi_ij (psi(g_j) - psi(sum g) + log b_ji[x_i] - log phi_ij)
        - E[log q(theta)]                                                                                  (2)

theta_p ~ Dirichlet(alpha) are the memberships of object p, q(theta_p) = Dirichlet(g_p), and its label in
clustering i is drawn from component j with probability phi_pij.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..compile.jit import kernel
from ..compile.plain import copy_to, total
from ..runtime.threads import map_blocks

_BLOCK = 1 << 12  # rows; does not depend on the number of threads, so sums do not either


class Model(NamedTuple):
    """Components, clustering after clustering, and the prior of memberships."""

    offsets: np.ndarray  # (m + 1,) where the rows of each clustering begin in b
    b: np.ndarray  # (k, c) probability of each cluster in each component
    alpha: np.ndarray  # (c,)


class Inferred(NamedTuple):
    """What the next round needs of all objects together."""

    table: np.ndarray  # (k, c) sum of w_p phi over the objects of each base cluster
    logs: np.ndarray  # (c,) sum of w_p (psi(g_pj) - psi(sum g_p))
    bound: float  # weighted sum of Eq. (2)


def infer_rows(
    labels: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray,
    b: np.ndarray,
    alpha: np.ndarray,
    g: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    n_jobs: int | None = -1,
) -> Inferred:
    """Iterate Eq. (1) for every object until g moves by less than ``tol``.

    The g (u, c) given is the start, and is overwritten.

    b (k, c) and alpha (c,) positive. O(u m c) a step.
    """
    u, (k, c) = len(labels), b.shape
    if k != offsets[-1] or alpha.shape != (c,) or g.shape != (u, c) or c == 0:
        raise ValueError(
            f"b {b.shape}, alpha {alpha.shape} and g {g.shape} for {u} objects in {offsets[-1]} base "
            f"clusters."
        )

    model = Model(offsets, b, alpha)

    def block(start: int, stop: int) -> tuple[np.ndarray, np.ndarray, float]:
        table, logs = np.zeros((k, c)), np.zeros(c)
        part = slice(start, stop)
        bound = _infer(labels[part], weights[part], model, g[part], tol, max_iter, table, logs)
        return table, logs, bound

    parts = map_blocks(block, u, size=_BLOCK, n_jobs=n_jobs)
    table, logs, bound = np.zeros((k, c)), np.zeros(c), 0.0
    for one in parts:
        table += one[0]
        logs += one[1]
        bound += one[2]
    return Inferred(table, logs, bound)


@kernel
def digamma(x):
    """psi(x) for x > 0: raised to 6 by psi(x) = psi(x + 1) - 1 / x, then the asymptotic series, to 1e-12."""
    shift = 0.0
    while x < 6.0:
        shift -= 1.0 / x
        x += 1.0
    z = 1.0 / (x * x)
    series = z * (
        1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z * (1 / 132 - z * (691 / 32760 - z / 12)))))
    )
    return shift + math.log(x) - 0.5 / x - series


@kernel
def _infer(labels, weights, model, g, tol, max_iter, table, logs):
    """Eq. (1) for some rows, which are added to ``table`` and ``logs``.

    Returns the weighted sum of Eq. (2).
    """
    offsets, b, alpha = model
    c = alpha.shape[0]
    log_lift, lift, new, phi = np.empty(c), np.empty(c), np.empty(c), np.empty(c)
    whole = 0.0
    constant = math.lgamma(total(alpha))
    for j in range(c):
        constant -= math.lgamma(alpha[j])
    for p in range(labels.shape[0]):
        row = g[p]
        for _ in range(max_iter):
            _lift(row, log_lift, lift)
            copy_to(alpha, new)
            for i in range(labels.shape[1]):
                if labels[p, i] >= 0:
                    _share(b[offsets[i] + labels[p, i]], lift, phi)
                    for j in range(c):
                        new[j] += phi[j]
            moved = 0.0
            for j in range(c):
                moved = max(moved, abs(new[j] - row[j]))
                row[j] = new[j]
            if moved < tol:
                break
        # Once more, for phi that go with a g: the bound is that of (phi, g made of them).
        _lift(row, log_lift, lift)
        copy_to(alpha, row)
        own = 0.0
        for i in range(labels.shape[1]):
            if labels[p, i] >= 0:
                r = offsets[i] + labels[p, i]
                norm = _share(b[r], lift, phi)
                # log b - log phi = log(sum over j of b lift) - log lift: one logarithm a label.
                own += math.log(norm) if norm > 0.0 else 0.0
                for j in range(c):
                    row[j] += phi[j]
                    table[r, j] += weights[p] * phi[j]
                    own -= phi[j] * log_lift[j]
        mass = total(row)
        top = digamma(mass)
        own += constant - math.lgamma(mass)
        for j in range(c):
            logs[j] += weights[p] * (digamma(row[j]) - top)
            # (alpha - 1) + (g - alpha, the sum of phi) - (g - 1) = 0: the terms in psi cancel.
            own += math.lgamma(row[j])
        whole += weights[p] * own
    return whole


@kernel
def _lift(row, log_lift, lift):
    """exp(psi(g)), scaled so that the largest is 1, and its logarithm."""
    most = -np.inf
    for j in range(row.shape[0]):
        log_lift[j] = digamma(row[j])
        most = max(most, log_lift[j])
    for j in range(row.shape[0]):
        log_lift[j] -= most
        lift[j] = math.exp(log_lift[j])


@kernel
def _share(likely, lift, phi):
    """phi ~ likely * lift; returns what they were divided by."""
    norm = 0.0
    for j in range(phi.shape[0]):
        phi[j] = likely[j] * lift[j]
        norm += phi[j]
    for j in range(phi.shape[0]):
        phi[j] = phi[j] / norm if norm > 0.0 else 1.0 / phi.shape[0]
    return norm
