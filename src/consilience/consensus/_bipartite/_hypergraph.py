"""The updates of CESHL: base clusters are hyperedges, whose weights and objects are learned.

    v = argmin over [0, 1]^k of  v' (Lc + lam I) v - 2 lam v0' v,   Lc = I - D^-1/2 K D^-1/2            (1)
    De = H' w,   Dv = H v,   S = H diag(v / De) H'                                                      (2)
    F = eigenvectors of the n_clusters smallest eigenvalues of diag(Dv) - N^1/2 S N^1/2, over N^1/2     (3)
    H = argmin over [0, 1]^(u x k) of  sum_p w_p sum_b (v_b (H_pb - Y_pb))^2 - rho sum_b (v_b / De_b) |q_b|^2,
        q_b = sum_p w_p Dv_p^-1/2 H_pb f_p                                                              (4)

Y (u, k) indicator of base clusters, w (u,) weights, N = diag(w), K = Y' N Y, D its row sums, v0 (k,) mean
co-association inside a base cluster, H (u, k), F (u, n_clusters) with rows f_p. S (u, u) is never formed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve
from scipy.optimize import fmin_l_bfgs_b

from ..._kernels.eigen import smallest_eigenvectors
from ..._kernels.pairs.components import components

_STEPS = 20  # of the solver of Eq. (4) in a round
_STILL = 1e-3  # projected gradient at which it ends
_TINY = 1e-12  # weight of a base cluster that nobody is left in, and degree of an object that is left in none


def cohesion(ensemble: Any, K: np.ndarray) -> np.ndarray:
    """v0 (k,): weighted mean co-association of the pairs in each base cluster, with p = q included."""
    sizes = ensemble.cluster_sizes()
    if not ensemble.has_missing:
        return np.einsum("ab,ab->b", K, K) / (ensemble.n_clusterings * sizes**2)
    Y, weights, inside = ensemble.indicator(), ensemble.sample_weight, np.zeros(sizes.size)
    for start, stop, A in ensemble.coassociation_blocks():
        met = (A * weights) @ Y  # (rows, k)
        own = sp.diags_array(weights[start:stop]) @ Y[start:stop]
        inside += np.asarray((own.multiply(met)).sum(axis=0)).ravel()
    return inside / sizes**2


def update_v(K: np.ndarray, v0: np.ndarray, lam: float) -> np.ndarray:
    """Eq. (1).

    Off-diagonal entries are not positive, so that the bound 0 never binds, and the search for the v that are
    1 takes a few solves.
    """
    root = 1.0 / np.sqrt(K.sum(axis=1))
    M = np.eye(len(K)) * (1.0 + lam) - root[:, None] * K * root
    at_one = np.zeros(len(K), bool)
    v = np.ones(len(K))
    for _ in range(len(K) + 1):
        free = ~at_one
        v = np.ones(len(K))
        v[free] = solve(
            M[np.ix_(free, free)], lam * v0[free] - M[np.ix_(free, at_one)].sum(axis=1), assume_a="pos"
        )
        pressed = np.where(at_one, lam * v0 - M @ v > 0, v > 1.0)
        if np.array_equal(pressed, at_one):
            break
        at_one = pressed
    return np.clip(v, 0.0, 1.0)


def update_F(H: np.ndarray, v: np.ndarray, weights: np.ndarray, count: int) -> np.ndarray:
    """Eq. (3). O(u k) a step and vector."""
    root = np.sqrt(weights)[:, None]
    share = (v / np.maximum(H.T @ weights, _TINY))[:, None]
    degrees = H @ v

    def product(X: np.ndarray) -> np.ndarray:
        return root * (H @ (share * (H.T @ (root * X))))

    found = smallest_eigenvectors(
        degrees, product, count, dense=lambda: np.diag(degrees) - product(np.eye(len(H)))
    )
    return found.vectors / root


def cost(
    H: np.ndarray, Y: np.ndarray, v: np.ndarray, F: np.ndarray, weights: np.ndarray, rho: float
) -> tuple[float, np.ndarray]:
    """Eq. (4) and its gradient (u, k), divided by the weights of the objects."""
    De, Dv = np.maximum(H.T @ weights, _TINY), np.maximum(H @ v, _TINY)
    scaled = F / np.sqrt(Dv)[:, None]
    q = H.T @ (weights[:, None] * scaled)  # (k, c)
    lengths, away = np.einsum("bj,bj->b", q, q), H - Y
    value = float((weights @ (away**2)) @ v**2 - rho * (v / De) @ lengths)
    along = scaled @ q.T  # (u, k): q_b' f_p / sqrt(Dv_p)
    met = np.einsum("pb,pb,b->p", H, along, v / De) / Dv
    gradient = 2.0 * v**2 * away
    gradient += rho * (v / De**2 * lengths + v * met[:, None] - 2.0 * (v / De) * along)
    return value, gradient


def update_H(
    H: np.ndarray, Y: np.ndarray, v: np.ndarray, F: np.ndarray, weights: np.ndarray, rho: float
) -> np.ndarray:
    """Eq. (4) from the last H by L-BFGS-B, in H sqrt(w): its steps are then those on all objects."""
    root = np.sqrt(weights)[:, None]
    shape = H.shape

    def function(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = cost(x.reshape(shape) / root, Y, v, F, weights, rho)
        return value, (root * gradient).ravel()

    # Bounds as Python numbers and straight to the solver: ``minimize`` takes them apart and together three
    # times more, one by one.
    most = np.broadcast_to(root, shape).ravel().tolist()
    found, *_ = fmin_l_bfgs_b(
        function, (H * root).ravel(), bounds=[(0.0, x) for x in most], maxiter=_STEPS, pgtol=_STILL, factr=0.0
    )
    return np.clip(found.reshape(shape) / root, 0.0, 1.0)


def pieces(H: np.ndarray, v: np.ndarray) -> tuple[int, np.ndarray]:
    """(number of pieces, (u,) piece of each object); objects that share a base cluster are connected."""
    u = len(H)
    edges = sp.csr_array(H * (v > 0))
    _, labels = components(sp.csr_array(sp.block_array([[None, edges], [edges.T, None]])))
    values, labels = np.unique(labels[:u], return_inverse=True)
    return values.size, labels.reshape(-1)


def learn(
    Y: np.ndarray, v: np.ndarray, weights: np.ndarray, n_clusters: int, max_iter: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict]]:
    """(H, F, pieces, history): rounds of (4) and (3) until the hypergraph has ``n_clusters`` pieces.

    rho doubles while there are too few pieces. If there are too many, it halves, and F is set back.
    """
    H, rho = Y, 100.0
    F = update_F(H, v, weights, n_clusters)
    history: list[dict] = []
    labels = np.zeros(len(Y), np.int64)
    for _ in range(max_iter):
        H = update_H(H, Y, v, F, weights, rho)
        before, F = F, update_F(H, v, weights, n_clusters)
        count, labels = pieces(H, v)
        history.append({"rho": rho, "pieces": count})
        if count == n_clusters:
            break
        if count > n_clusters:
            F = before
        rho *= 2.0 if count < n_clusters else 0.5
    return H, F, labels, history
