"""Points that are as far apart as the rows of co-association, which is not formed.

    A = N^-1 Y Y'                                                      (1)
    |A_p - A_q|^2 = (z_p - z_q)' K (z_p - z_q),   z_p = Y_p / n_p      (2)
    K = Y' diag(w) Y = R R',   so the points z_p R lie as the rows do  (3)

Y (u, k) indicator of distinct objects, N = diag(n_p) the number of clusterings that saw p, w (u,) weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky

from ..._kernels.runtime.memory import ensure_fits


def bytes_needed(u: int, k: int) -> float:
    """k-means takes a copy of the points; sparse and dense K, and its factor."""
    return 8.0 * (2 * u * k + 7 * k * k)


def embed(ensemble: Any) -> np.ndarray:
    """Points (u, k) whose distances are those between rows of A, Eqs. (2) and (3)."""
    u, k = ensemble.n_samples, ensemble.n_base_clusters
    ensure_fits(
        bytes_needed(u, k),
        what=f"Embedding {u} distinct objects by {k} base clusters",
        remedy="use LWGP, which holds no such matrix, or fewer or coarser clusterings",
    )
    Y = ensemble.indicator()
    K = ensemble.contingency()
    # K is singular (every clustering's columns add up alike); the jitter moves squared distances by 1e-10 of
    # themselves.
    K[np.diag_indices(k)] += 1e-10 * K.diagonal().mean()
    R = cholesky(K, lower=True, overwrite_a=True, check_finite=False)
    seen = np.asarray(Y.sum(axis=1)).ravel()
    return (sp.diags_array(1 / seen) @ Y) @ R
