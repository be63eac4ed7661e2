"""Non-negative least squares for many right-hand sides at once."""

from __future__ import annotations

import numpy as np


def nonnegative_parts(A: np.ndarray, B: np.ndarray, *, max_sweeps: int = 1000) -> np.ndarray:
    """(n, c) P >= 0 that minimizes p B p - 2 a p for each row a of A.

    Coordinate descent goes over all rows at once.

    B (c, c) positive semi-definite. O(n c^2) a sweep.
    """
    P = np.zeros_like(A)
    diagonal = np.diag(B)
    scale = np.abs(A).max(initial=0.0)
    for _ in range(max_sweeps):
        moved = 0.0
        for j in np.flatnonzero(diagonal > 0):
            new = np.maximum(P[:, j] + (A[:, j] - P @ B[:, j]) / diagonal[j], 0.0)
            moved = max(moved, diagonal[j] * np.abs(new - P[:, j]).max(initial=0.0))
            P[:, j] = new
        if moved <= 1e-10 * scale:
            break
    return P
