"""SPCE as one would write it from the paper: n x n x m arrays, and a full eigendecomposition in every step.

This is what the library's version is timed and checked against. It follows the authors' program: at most 5
inner steps for r = 0.9 .. 0.6 and 20 for r = 0.5, rho carried over, eigenvalue tests, components as clusters.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components


def spce(labels: np.ndarray, n_clusters: int, theta: float, *, max_steps: int | None = None) -> dict:
    """Labels, S, alpha and history of the plain algorithm; ``max_steps`` stops early, for timing."""
    m = labels.shape[1]
    c = n_clusters
    gamma = (theta * m) ** 2
    together = np.stack([np.equal.outer(labels[:, i], labels[:, i]) for i in range(m)]).astype(float)
    A = together.mean(axis=0)
    certain = (A == 0) | (A == 1)

    def embed(S):
        values, vectors = np.linalg.eigh(np.diag(S.sum(axis=1)) - S)
        return vectors[:, :c], values[:c].sum(), values[: c + 1].sum()

    S, alpha, rho = A.copy(), np.full(m, 1 / m), 1.0
    F = embed(S)[0]
    history: list[dict] = []
    for r, cap in ((0.9, 5), (0.8, 5), (0.7, 5), (0.6, 5), (0.5, 20)):
        lam = 2 * r * (1 - r) * m**2
        B = sum((S - together[i]) ** 2 / alpha[i] for i in range(m))
        W = lam / np.maximum(2 * B, lam)  # min(lambda / 2B, 1), and 1 where B = 0
        for step in range(1, cap + 1):
            s = np.sum(1 / alpha)
            a = sum(together[i] / alpha[i] for i in range(m))
            squares = (F**2).sum(axis=1)
            distance = np.maximum(squares[:, None] + squares - 2 * F @ F.T, 0)
            C = (a - rho * distance / (2 * W**2)) / s
            S = np.where(np.sqrt(gamma / s) / W * (1 + 1e-12) >= C, 0.0, np.minimum(C, 1.0))
            S[certain] = A[certain]
            S = (S + S.T) / 2
            before = F
            F, smallest, beyond = embed(S)
            d = np.array([(((S - together[i]) * W) ** 2).sum() for i in range(m)])
            alpha = np.sqrt(d) / np.sqrt(d).sum()
            value = (d / alpha).sum() - lam * W.sum() + gamma * np.count_nonzero(S) + rho * smallest
            history.append({"r": r, "step": step, "rho": rho, "objective": value})
            if len(history) == max_steps:
                return {"labels": None, "S": S, "alpha": alpha, "history": history}
            if smallest > 1e-9:
                rho *= 2
            elif beyond < 1e-11:
                rho /= 2
                F = before
            elif step > 1:
                break
    return {"labels": connected_components(S > 0)[1], "S": S, "alpha": alpha, "history": history}
