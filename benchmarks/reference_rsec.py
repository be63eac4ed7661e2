"""RSEC and NRSEC as one would write them from the paper.

They take n x n matrices, and a full SVD and eigendecomposition in every step.

This is what the library's version is timed and checked against. It has the same readings of the paper as the
library's defaults, and none of its devices: no compression, no rotation, no partial spectra, one precision.
What is computed once is the inverse of S'S + I.
"""

from __future__ import annotations

import numpy as np


def rsec(
    S: np.ndarray,
    n_clusters: int,
    *,
    low_rank_weight: float,
    error_weight: float,
    errors: str = "columns",
    affinity: str = "absolute",
    penalty: float | None = None,
    growth: float = 1.5,
    tol: float = 1e-7,
    max_iter: int = 500,
    gamma: float = 2.0,
    linearize_at: tuple[np.ndarray, np.ndarray] | None = None,
    start: dict | None = None,
) -> dict:
    """J, Z, E, H and history.

    ``linearize_at`` = (singular values of J, E) for NRSEC; ``start`` = an earlier answer.
    """
    n = len(S)
    values, slopes_E = (np.zeros(0), 1.0)
    if linearize_at is not None:
        values, slopes_E = linearize_at[0], np.maximum(1 - np.abs(linearize_at[1]) / gamma, 0)
    slopes_J = np.ones(n)
    slopes_J[: values.size] = np.maximum(1 - values / gamma, 0)
    zero = {
        "J": np.zeros((n, n)),
        "Z": np.zeros((n, n)),
        "E": np.zeros((n, n)),
        "H": np.zeros((n, n_clusters)),
        "scale": np.zeros(n),
    }
    now = zero if start is None else start
    Z, E, H, scale = now["Z"], now["E"], now["H"], now["scale"]
    Y1, Y2 = np.zeros((n, n)), np.zeros((n, n))
    inverse = np.linalg.inv(S.T @ S + np.eye(n))
    mu = 1.5 / np.linalg.norm(S, 2) if penalty is None else penalty
    history = []
    for _ in range(max_iter):
        left, sigma, right = np.linalg.svd(Z + Y2 / mu)
        shrunk = np.maximum(sigma - low_rank_weight / mu * slopes_J, 0)
        J = (left * shrunk) @ right
        pull = (scale[:, None] * H) @ (scale[:, None] * H).T
        Z = inverse @ (S.T @ (S - E + Y1 / mu) + J + (pull - Y2) / mu)
        SZ = S @ Z
        Q = S - SZ + Y1 / mu
        if errors == "columns":
            norms = np.linalg.norm(Q, axis=0)
            E = Q * np.maximum(1 - error_weight / mu / np.maximum(norms, np.finfo(float).tiny), 0)
        else:
            E = np.sign(Q) * np.maximum(np.abs(Q) - error_weight / mu * slopes_E, 0)
        W = np.abs(Z) if affinity == "absolute" else Z
        W = (W + W.T) / 2 + H @ H.T
        degrees = W.sum(axis=1)
        scale = np.where(degrees > 0, np.abs(degrees), np.inf) ** -0.5
        H = np.linalg.eigh(scale[:, None] * W * scale)[1][:, -n_clusters:]
        residual, gap = S - SZ - E, Z - J
        Y1 = Y1 + mu * residual
        Y2 = Y2 + mu * gap
        history.append(
            {
                "residual": np.abs(residual).max(),
                "gap": np.abs(gap).max(),
                "penalty": mu,
                "rank": int((shrunk > 0).sum()),
            }
        )
        if max(history[-1]["residual"], history[-1]["gap"]) < tol:
            break
        mu = min(growth * mu, 1e10)
    return {"J": J, "Z": Z, "E": E, "H": H, "scale": scale, "history": history, "values": shrunk[shrunk > 0]}


def objective(
    S: np.ndarray, Z: np.ndarray, low_rank_weight: float, error_weight: float, errors: str = "columns"
) -> float:
    """lambda_1 |Z|_* + lambda_2 |S - S Z|: Eq. (7) without the term of H."""
    E = S - S @ Z
    size = np.linalg.norm(E, axis=0).sum() if errors == "columns" else np.abs(E).sum()
    return low_rank_weight * np.linalg.norm(Z, "nuc") + error_weight * size
