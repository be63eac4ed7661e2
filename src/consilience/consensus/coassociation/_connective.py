"""The updates of TRCE, on distinct weighted objects and without the m connective matrices.

    d_pi = KL(row p of P_i, row p of B) = - log s_b - (1 / s_b) sum over q in b of w_q log B_pq         (1)
    e_p = sum_i d_pi / alpha_i,   v_p = min(lam / (2 e_p), 1)                                           (2)
    C_pq = v_p^2 sum_i [together in i] / (alpha_i s_b),   g_pq = |f_p - f_q|^2                          (3)
    B_pq = C_pq / (rho g_pq + th_p),   th_p such that sum_q w_q B_pq = 1                                (4)
    S_p = the point of {s >= 0, w's = 1} nearest to B_p - rho g_p / (2 gamma), by weight                (5)
    F = eigenvectors of the n_clusters smallest eigenvalues of diag(S w) - S,   alpha_i ~ sqrt(sum_p w_p v_p^2 d_pi)   (6)

P_i (u, u) is 1 / s_b where clustering i has p and q in its cluster b of weight s_b. B and S (u, u), F (u, n_clusters), v (u,), alpha (m,).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...kernels.eigen import smallest_eigenvectors
from ...kernels.graph import components
from ...kernels.metaclusters import owners
from ...kernels.overlaps import gather, scatter

_RISE = 1.1  # of lam in each round
_LEAST = 1e-12  # divergence, a mean over objects, below which clusterings do not differ


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


def divergences(ensemble: Any, B: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """d (u, m) of Eq. (1), not below 0; where a clustering did not see an object 0, and the others count for it too."""
    labels, offsets, sizes = ensemble.labels, ensemble.offsets, ensemble.cluster_sizes()
    logs = np.log(np.where(B > 0, B, 1.0)) * ensemble.weights
    inside = scatter(labels, offsets, np.ascontiguousarray(logs.T), n_jobs=n_jobs)  # (k, u)
    codes = np.maximum(ensemble.global_labels(), 0)
    d = -np.log(sizes[codes]) - inside[codes, np.arange(len(labels))[:, None]] / sizes[codes]
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


def update_C(ensemble: Any, v: np.ndarray, alpha: np.ndarray, n_jobs: int | None = None) -> np.ndarray:
    """Eq. (3). O(u^2 m), 8 u k bytes."""
    labels, offsets = ensemble.labels, ensemble.offsets
    each = 1.0 / (alpha[owners(offsets)] * ensemble.cluster_sizes())
    C = gather(labels, offsets, (ensemble.indicator().toarray() * each).T, n_jobs=n_jobs)
    seen = (labels >= 0).sum(axis=1)
    return C * (v**2 * labels.shape[1] / seen)[:, None]


def update_B(C: np.ndarray, pull: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Eq. (4), pull = rho g; Newton's rule on 1 / sum, which is concave and rises: from below it never overshoots."""
    rest = np.where(C > 0, pull, np.inf)
    rest = rest - rest.min(axis=1, keepdims=True)
    mass = C * weights
    th = np.where(rest == 0, mass, 0.0).sum(axis=1)
    for _ in range(100):
        over = 1.0 / (rest + th[:, None])
        total = np.einsum("pq,pq->p", mass, over)
        if (np.abs(total - 1.0) <= 1e-13).all():
            break
        th = th + (total - 1.0) * total / np.einsum("pq,pq,pq->p", mass, over, over)
    return C / (rest + th[:, None])


def update_S(V: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Eq. (5) for rows V, then the mean with its transpose. O(u^2 log u)."""
    order = np.argsort(-V, axis=1)
    values, heavy = np.take_along_axis(V, order, axis=1), weights[order]
    shift = (np.cumsum(heavy * values, axis=1) - 1.0) / np.cumsum(heavy, axis=1)
    last = (values > shift).sum(axis=1) - 1
    S = np.maximum(V - shift[np.arange(len(V)), last][:, None], 0.0)
    return (S + S.T) / 2


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
    n_jobs: int | None = None,
) -> Learned:
    """Rounds of (1) to (6) from the mean of the P_i, until the graph S has ``n_clusters`` pieces, from the second round on.

    ``total`` is e of Eq. (2). rho doubles while there are too few pieces and halves, with the F before, where there are too many.
    """
    weights, m = ensemble.weights, ensemble.n_clusterings
    alpha, rho, lam = np.full(m, 1.0 / m), 1.0, 0.0
    B = update_C(ensemble, np.ones(ensemble.n_samples), np.full(m, float(m)), n_jobs)
    B = (B + B.T) / 2
    F = update_F(B, weights, n_clusters)
    history: list[dict] = []
    for step in range(max_iter):
        e = total(divergences(ensemble, B, n_jobs), alpha)
        e[e <= _LEAST] = 0.0
        # As long as nobody is contradicted there is no scale to doubt by.
        lam = lam * _RISE if lam else first_lam(e, weights)
        v = update_v(e, lam)
        norms = np.einsum("pj,pj->p", F, F)
        g = np.maximum(norms[:, None] + norms - 2.0 * (F @ F.T), 0.0)
        np.fill_diagonal(g, 0.0)
        B = update_B(update_C(ensemble, v, alpha, n_jobs), rho * g, weights)
        S = update_S(B - (rho / (2.0 * gamma)) * g, weights)
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
