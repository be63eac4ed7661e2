"""The eigenvectors that are RSEC's embedding H: of an affinity, with the embedding of the step before."""

from __future__ import annotations

import numpy as np

from ..._kernels.eigen import smallest_eigenvectors
from ..._kernels.runtime.threads import row_product

#: Residual of H before the last iteration, for which single precision is enough: compared with 1e-6, the
#: objective changes by 3e-8 on Semeion, with 1e-4 by 2e-6.
RESIDUAL = 1e-5
#: Residual of the H that is returned.
LAST_RESIDUAL = 1e-6


def leading_vectors(
    W: np.ndarray,
    scale: np.ndarray,
    count: int,
    *,
    extra: np.ndarray | None = None,
    start: np.ndarray | None = None,
    tol: float = LAST_RESIDUAL,
    n_jobs: int | None = -1,
) -> tuple[np.ndarray, np.ndarray]:
    """(u, count) leading eigenvectors of diag(scale) (W + extra extra') diag(scale), and the next start.

    Where ``tol`` allows, the vectors are iterated in single precision, as W is.
    """
    dtype = np.float32 if tol >= RESIDUAL else np.float64
    column = scale[:, None].astype(dtype)
    more = None if extra is None else extra.astype(dtype)

    def product(V: np.ndarray) -> np.ndarray:
        V = column * V
        out = row_product(W, V.astype(np.float32), n_jobs=n_jobs).astype(dtype)
        if more is not None:
            out += more @ (more.T @ V)
        return column * out

    def dense() -> np.ndarray:
        M = W.astype(np.float64)
        if extra is not None:
            M += extra @ extra.T
        M *= -scale[:, None]
        M *= scale
        M.flat[:: scale.size + 1] += 1.0
        return M

    found = smallest_eigenvectors(
        np.ones(scale.size), product, count, start=start, dense=dense, tol=tol, dtype=dtype
    )
    return found.vectors.astype(np.float64), found.block
