"""Similarity by where random walks go: two vertices are alike if walks that start there visit the same places.

    q_p = row p of [P, P^2, ..., P^T] side by side,    Q = sum_t P^t (P^t)'  holds their inner products   (1)
    Z_pq = Q_pq / sqrt(Q_pp Q_qq)                                                                        (2)

P (v, v) has rows that add up to 1, or to 0 for a vertex without neighbours, whose similarities are then 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .parallel import map_blocks, row_product

#: Rows of a stochastic matrix add up to 1 but for rounding, which grows with every step; walks have long forgotten their start.
MOST_STEPS = 10_000
_ROWS = 256  # of a block of walks; does not depend on the number of threads


def stochastic_rows(S: Any) -> Any:
    """S (dense or CSR, not negative) with rows that add up to 1; rows of zeros stay."""
    sums = np.asarray(S.sum(axis=1)).ravel()
    inverse = 1.0 / np.where(sums > 0, sums, 1.0)
    return sp.csr_array(sp.diags_array(inverse) @ S) if sp.issparse(S) else S * inverse[:, None]


def trajectory_similarity(P: Any, steps: int, *, n_jobs: int | None = None) -> np.ndarray:
    """Z of Eq. (2) (v, v) dense, exactly symmetric and in [0, 1]. O(log(steps) v^3) time, 40 v^2 bytes.

    Q_2s = Q_s + P^s Q_s (P^s)',   Q_(s+1) = P Q_s P' + P P'                                           (3)

    double and add along the binary digits of ``steps``; nothing is subtracted, so that what is out of reach stays exactly 0.
    """
    P = P.toarray() if sp.issparse(P) else P

    def times(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return row_product(A, B, n_jobs=n_jobs)

    reached, Q = P, times(P, P.T)
    digits = bin(steps)[3:]
    for place, digit in enumerate(digits, start=1):
        Q = Q + times(times(reached, Q), reached.T)
        if place < len(digits):
            reached = times(reached, reached)
        if digit == "1":
            Q = times(times(P, Q), P.T) + times(P, P.T)
            reached = times(reached, P) if place < len(digits) else reached
    inverse = _inverse_lengths(Q.diagonal())
    Q *= inverse[:, None]
    Q *= inverse
    Q += Q.T.copy()
    Q *= 0.5
    # Rounding leaves cosines above 1, and trees of distances below 0 are refused.
    return np.clip(Q, 0.0, 1.0, out=Q)


def trajectory_norms(P: sp.csr_array, steps: int, *, n_jobs: int | None = None) -> np.ndarray:
    """(v,) the diagonal of Q, Eq. (1), for a sparse P. O(steps v entries) time, one block of rows (256 v numbers) a thread."""
    out = np.zeros(P.shape[0])

    def walk(start: int, stop: int) -> None:
        reached = P[start:stop].toarray()
        for t in range(steps):
            reached = reached if t == 0 else reached @ P
            out[start:stop] += np.einsum("ij,ij->i", reached, reached)

    map_blocks(walk, P.shape[0], size=_ROWS, n_jobs=n_jobs)
    return out


def trajectory_product(P: Any, steps: int, norms: np.ndarray, V: np.ndarray) -> np.ndarray:
    """Z V (v, b) without Z, from the diagonal of Q. O(steps entries b) time, O(steps v b) memory.

    V_t = P' V_(t-1),   R <- P (V_t + R)   for t = steps..1                                          (4)
    """
    inverse = _inverse_lengths(norms)[:, None]
    back = [inverse * V]
    for _ in range(steps):
        back.append(P.T @ back[-1])
    R = np.zeros_like(back[0])
    for t in range(steps, 0, -1):
        R = P @ (back[t] + R)
    return inverse * R


def _inverse_lengths(squared: np.ndarray) -> np.ndarray:
    return np.where(squared > 0, 1.0 / np.sqrt(np.where(squared > 0, squared, 1.0)), 0.0)
