"""The updates of TRCE, on distinct weighted objects and without the m connective matrices.

    d_pi = KL(row p of P_i, row p of B) = - log s_b - (1 / s_b) sum over q in b of w_q log B_pq   (1)
    e_p = sum_i d_pi / alpha_i,   v_p = min(lam / (2 e_p), 1)                                     (2)
    C_pq = v_p^2 sum_i [together in i] / (alpha_i s_b),   g_pq = |f_p - f_q|^2                    (3)
    B_pq = C_pq / (rho g_pq + th_p),   th_p such that sum_q w_q B_pq = 1                          (4)
    S_p = the point of {s >= 0, w's = 1} nearest to B_p - rho g_p / (2 gamma), by weight          (5)
    F = eigenvectors of the n_clusters smallest eigenvalues of diag(S w) - S,
        alpha_i ~ sqrt(sum_p w_p v_p^2 d_pi)                                                      (6)

P_i (u, u) is 1 / s_b where clustering i has p and q in its cluster b of weight s_b. B and S (u, u), F (u,
n_clusters), v (u,), alpha (m,).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._kernels.cut.metaclusters import owners
from ..._kernels.eigen import smallest_eigenvectors
from ..._kernels.labels.overlaps import gather
from ..._kernels.pairs.components import components
from ..._kernels.pairs.connective import log_sums, nearest_of_weight_one, shared_out
from ..._kernels.programs.low_rank import symmetrize_inplace
from ..._kernels.runtime.threads import map_blocks

_RISE = 1.1  # of lam in each round
_LEAST = 1e-12  # divergence, a mean over objects, below which clusterings do not differ
_TILE = 64  # pairs that are read across and down at a time


class Learned(NamedTuple):
    """The graph, its pieces, and how it came about."""

    S: np.ndarray  # (u, u)
    pieces: np.ndarray  # (u,)
    F: np.ndarray  # (u, c)
    alpha: np.ndarray  # (m,) adding up to 1, larger is less trusted
    v: np.ndarray  # (u,)
    history: list[dict]


def all_clusterings(d: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """e (u,) of Eq. (2)."""
    return (d / alpha).sum(axis=1)


def divergences(ensemble: Any, B: np.ndarray, n_jobs: int | None = -1) -> np.ndarray:
    """d (u, m) of Eq. (1), at least 0.

    It is 0 where a clustering did not see an object, and the other clusterings are scaled up in proportion.
    """
    labels, sizes = ensemble.labels, ensemble.cluster_sizes()
    inside = log_sums(
        np.ascontiguousarray(ensemble.global_labels().T), B, ensemble.sample_weight, n_jobs=n_jobs
    )
    sizes = sizes[np.maximum(ensemble.global_labels(), 0)]
    d = -np.log(sizes) - inside / sizes
    seen = labels >= 0
    # In the first round rows of B need not add up to 1.
    return np.where(seen, np.maximum(d, 0.0), 0.0) * (labels.shape[1] / seen.sum(axis=1))[:, None]


def update_v(e: np.ndarray, lam: float) -> np.ndarray:
    """Eq. (2); an object that nobody contradicts counts in full."""
    return np.minimum(np.divide(lam, 2.0 * e, out=np.ones_like(e), where=e > 0), 1.0)


def first_lam(e: np.ndarray, weights: np.ndarray) -> float:
    """Twice the e of the tenth object of a hundred, by weight; a trace of the largest where that is 0."""
    order = np.argsort(e, kind="stable")
    rank = max(np.floor(weights.sum() / 10), 1.0)
    at = min(int(np.searchsorted(np.cumsum(weights[order]), rank)), e.size - 1)
    return 2.0 * max(float(e[order[at]]), 1e-6 * float(e.max()))


def update_C(ensemble: Any, v: np.ndarray, alpha: np.ndarray, n_jobs: int | None = -1) -> np.ndarray:
    """Eq. (3). O(u^2 m), 8 u k bytes."""
    labels, offsets = ensemble.labels, ensemble.offsets
    each = 1.0 / (alpha[owners(offsets)] * ensemble.cluster_sizes())
    C = gather(labels, offsets, (ensemble.indicator().toarray() * each).T, n_jobs=n_jobs)
    C *= (v**2 * labels.shape[1] / (labels >= 0).sum(axis=1))[:, None]
    return C


def update_B(C: np.ndarray, pull: np.ndarray, weights: np.ndarray, n_jobs: int | None = -1) -> np.ndarray:
    """Eq. (4), pull = rho g."""
    return shared_out(C, pull, weights, n_jobs=n_jobs)


def update_S(V: np.ndarray, weights: np.ndarray, n_jobs: int | None = -1) -> np.ndarray:
    """Eq. (5) for rows V, then the mean with its transpose."""
    S = nearest_of_weight_one(V, weights, n_jobs=n_jobs)
    map_blocks(lambda a, b: symmetrize_inplace(S, False, a, b), len(S), size=_TILE, n_jobs=n_jobs)
    return S


def squared_distances(F: np.ndarray) -> np.ndarray:
    """g of Eq. (3)."""
    norms = np.einsum("pj,pj->p", F, F)
    g = F @ F.T
    g *= -2.0
    g += norms[:, None]
    g += norms
    np.fill_diagonal(g, 0.0)
    return np.maximum(g, 0.0, out=g)


def update_F(S: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
    """F (u, count) of Eq. (6)."""
    root, degrees = np.sqrt(weights), S @ weights

    def laplacian() -> np.ndarray:
        return np.diag(degrees) - root[:, None] * S * root

    found = smallest_eigenvectors(
        degrees, lambda X: root[:, None] * (S @ (root[:, None] * X)), count, dense=laplacian
    )
    return found.vectors / root[:, None]


def learn(
    ensemble: Any,
    n_clusters: int,
    gamma: float,
    max_iter: int,
    *,
    total: Callable[[np.ndarray, np.ndarray], np.ndarray] = all_clusterings,
    n_jobs: int | None = -1,
) -> Learned:
    """Rounds of (1) to (6), from the mean of the P_i, until the graph S has ``n_clusters`` pieces.

    At least two rounds are run. ``total`` is e of Eq. (2). rho doubles while there are too few pieces. If
    there are too many, it halves, and F is set back.
    """
    weights, m = ensemble.sample_weight, ensemble.n_clusterings
    alpha, rho, lam = np.full(m, 1.0 / m), 1.0, 0.0
    B = update_C(ensemble, np.ones(ensemble.n_samples), np.full(m, float(m)), n_jobs)
    B = S = (B + B.T) / 2
    F = update_F(B, weights, n_clusters)
    history: list[dict] = []
    for step in range(max_iter):
        e = total(divergences(ensemble, B, n_jobs), alpha)
        del B, S  # what they say is in e and F, and they are the largest things here
        e[e <= _LEAST] = 0.0
        # As long as nobody is contradicted there is no scale to doubt by.
        lam = lam * _RISE if lam else first_lam(e, weights)
        v = update_v(e, lam)
        g = squared_distances(F)
        g *= rho
        B = update_B(update_C(ensemble, v, alpha, n_jobs), g, weights, n_jobs)
        g /= -2.0 * gamma
        g += B
        S = update_S(g, weights, n_jobs)
        losses = (weights * v**2) @ divergences(ensemble, B, n_jobs)
        alpha = np.sqrt(np.maximum(losses, _LEAST * weights.sum()))
        alpha /= alpha.sum()
        count, pieces = components(S)
        history.append({"rho": rho, "pieces": count})
        before, F = F, update_F(S, weights, n_clusters)
        if count == n_clusters and step > 0:
            break
        if count > n_clusters:
            F = before
        rho *= 2.0 if count < n_clusters else 0.5 if count > n_clusters else 1.0
    return Learned(S, pieces, F, alpha, v, history)
