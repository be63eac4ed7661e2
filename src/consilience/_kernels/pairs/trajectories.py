"""Similarity by random walks: two vertices are alike if walks from them visit the same places.

    q_p = row p of [P, P^2, ..., P^T] side by side,    Q = sum_t P^t (P^t)'  holds their inner products   (1)
    Z_pq = Q_pq / sqrt(Q_pp Q_qq)                                                                        (2)

P (v, v) has rows that add up to 1, or to 0 for a vertex without neighbors, whose similarities are then 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..eigen import every_eigenpair
from ..runtime.threads import blocks, one_blas_thread, row_product
from .walks import walk_products, walk_sums

#: Rows of a stochastic matrix add up to 1 but for rounding, which grows with every step; walks have long
#: forgotten their start.
MOST_STEPS = 10_000
_ROWS = 256  # of a block; does not depend on the number of threads
_DECOMPOSED_FROM = 4  # steps; of fewer, products are quicker than a decomposition
_ROUNDING_SHOWS = 1e-6  # of the largest sum: below, an error of its last digit is more than 1e-10 of the sum


def stochastic_rows(S: Any) -> Any:
    """S (dense or CSR, not negative) with rows that add up to 1; rows of zeros stay."""
    sums = np.asarray(S.sum(axis=1)).ravel()
    inverse = 1.0 / np.where(sums > 0, sums, 1.0)
    return sp.csr_array(sp.diags_array(inverse) @ S) if sp.issparse(S) else S * inverse[:, None]


def trajectory_similarity(
    P: Any, steps: int, *, measure: np.ndarray | None = None, n_jobs: int | None = -1
) -> np.ndarray:
    """Z of Eq. (2) (v, v) dense, exactly symmetric and in [0, 1].

    O(v^3) time (log(steps) times that without a measure), 40 v^2 bytes.

    A sparse P of few entries e is walked along instead: O(steps e v) time, 16 v^2 bytes.

    measure (v,): measure_p P_pq = measure_q P_qp, which walks along a symmetric graph have; one decomposition
    then serves for all steps. What is out of reach is exactly 0.
    """
    Q = None
    if _walked_along(P, steps):
        Q = walk_products(P, steps, n_jobs=n_jobs)
    P = P.toarray() if sp.issparse(P) and Q is None else P
    if Q is None and measure is not None and steps >= _DECOMPOSED_FROM:
        Q = _sum_by_eigenvectors(P, steps, measure, n_jobs)
    if Q is None:
        Q = _sum_by_doubling(P, steps, n_jobs)
    inverse = _inverse_lengths(Q.diagonal())
    Q *= inverse[:, None]
    Q *= inverse
    Q += Q.T.copy()
    Q *= 0.5
    # Rounding leaves cosines above 1, and trees of distances below 0 are refused.
    return np.clip(Q, 0.0, 1.0, out=Q)


def similarity_bytes(P: Any, steps: int) -> float:
    """What :func:`trajectory_similarity` takes."""
    return (16.0 if _walked_along(P, steps) else 40.0) * P.shape[0] ** 2


def _walked_along(P: Any, steps: int) -> bool:
    """Whether walks along the entries take less time than dense products."""
    return sp.issparse(P) and steps * P.nnz <= P.shape[0] ** 2


def _sum_by_doubling(P: np.ndarray, steps: int, n_jobs: int | None) -> np.ndarray:
    """Q of Eq. (1).

    Q_2s = Q_s + P^s Q_s (P^s)',   Q_(s+1) = P Q_s P' + P P'                                           (3)

    double and add along the binary digits of ``steps``; nothing is subtracted, so that every entry is exact
    to its own last digits.
    """

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
    return Q


def _sum_by_eigenvectors(
    P: np.ndarray, steps: int, measure: np.ndarray, n_jobs: int | None
) -> np.ndarray | None:
    """R Q R of Eq. (1) with R = diag(measure)^1/2, whose cosines are those of Q.

    None where rounding would show.

    R P R^-1 = V diag(l) V',   R Q R = V [ (V' R^2 V) o sum_t (l l')^t ] V'                             (4)
    """
    if P[measure <= 0].any():  # too small a measure for a number
        return None
    root = np.sqrt(measure)
    inverse = np.where(root > 0, 1.0 / np.where(root > 0, root, 1.0), 0.0)
    with one_blas_thread():
        values, V = every_eigenpair(root[:, None] * P * inverse)
    inner = row_product(V.T * measure, V, n_jobs=n_jobs)
    for a, b in blocks(values.size, _ROWS):
        inner[a:b] *= _geometric_sums(np.outer(values[a:b], values), steps)
    Q = row_product(row_product(V, inner, n_jobs=n_jobs), V.T, n_jobs=n_jobs)
    lengths = Q.diagonal()
    largest = lengths.max(initial=0.0)
    if (lengths[measure > 0] < _ROUNDING_SHOWS * largest).any():
        return None
    Q[np.abs(Q) <= 64 * np.finfo(float).eps * largest] = 0.0  # rounding, where walks do not meet
    return Q


def _geometric_sums(x: np.ndarray, steps: int) -> np.ndarray:
    """x + x^2 + ... + x^steps; the closed form would lose digits near 1."""
    power, total = x, x.copy()
    for digit in bin(steps)[3:]:
        total += power * total
        power = power * power
        if digit == "1":
            power = power * x
            total += power
    return total


def trajectory_sums(
    P: sp.csr_array, steps: int, norms: np.ndarray, V: np.ndarray, *, n_jobs: int | None = -1
) -> np.ndarray:
    """G (v, b) with which Z V = diag(Q)^-1/2 P G (:func:`trajectory_product`).

    P is sparse, and the diagonal of Q is given.

    Walks from elsewhere that enter the graph with their first step have cosines with those inside too: rows
    of one step times G, in proportion.
    """
    return walk_sums(P, steps, _inverse_lengths(norms)[:, None] * V, n_jobs=n_jobs)


def trajectory_product(P: sp.csr_array, norms: np.ndarray, G: np.ndarray) -> np.ndarray:
    """Z V (v, b) without Z."""
    return _inverse_lengths(norms)[:, None] * (P @ G)


def _inverse_lengths(squared: np.ndarray) -> np.ndarray:
    return np.where(squared > 0, 1.0 / np.sqrt(np.where(squared > 0, squared, 1.0)), 0.0)
