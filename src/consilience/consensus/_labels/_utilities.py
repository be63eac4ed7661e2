"""Utilities of k-means-based consensus, and the distance between labels that belongs to each.

    utility    U(pi, pi_i)                     f(x, M)                       v_i if normalized
    category   sum_j p_j |M_j|^2 - |P|^2       1 + |M|^2 - 2 M[x]            1 / |P_i|^2           (1)
    entropy    mutual information, bits        - log2 M[x]                   1 / H(P_i)            (2)
    cosine     sum_j p_j |M_j| - |P|           1 - M[x] / |M|                1 / |P_i|             (3)
    power      the same, with norms of order r 1 - (M[x] / |M|_r)^(r-1)      1 / |P_i|_r           (4)

M_j (k_i,) distribution of clustering i's labels over the objects of cluster j that i saw, P over all that it
saw, p_j share of cluster j. Tables and shares are (k, c), one block of rows per clustering.
"""

from __future__ import annotations

import numpy as np

from ..._kernels.labels.grouping import Costs, block_shares

UTILITIES = ("category", "entropy", "cosine", "power")
_FLOOR = 2.0**-52  # smallest M[x] in the logarithm: a label that a cluster does not have costs 52 bits


def lengths(M: np.ndarray, offsets: np.ndarray, order: float) -> np.ndarray:
    """(k, c) norm of M over the clusters of each clustering, repeated for all of them."""
    total = np.add.reduceat(M**order, offsets[:-1], axis=0) ** (1.0 / order)
    return np.repeat(total, np.diff(offsets), axis=0)


def contributions(M: np.ndarray, offsets: np.ndarray, utility: str, order: float) -> np.ndarray:
    """f for every label x, (k, c)."""
    if utility == "category":
        return 1.0 + lengths(M, offsets, 2.0) ** 2 - 2.0 * M
    if utility == "entropy":
        return -np.log2(np.maximum(M, _FLOOR))
    order = 2.0 if utility == "cosine" else order
    return 1.0 - (M / lengths(M, offsets, order)) ** (order - 1.0)


def worth(M: np.ndarray, offsets: np.ndarray, utility: str, order: float) -> np.ndarray:
    """(m, c) terms that U weights by the shares of clusters: norms of distributions, or minus entropies."""
    if utility == "entropy":
        return np.add.reduceat(M * np.log2(np.maximum(M, _FLOOR)), offsets[:-1], axis=0)
    order = order if utility == "power" else 2.0
    norms = np.add.reduceat(M**order, offsets[:-1], axis=0)
    return norms if utility == "category" else norms ** (1.0 / order)


def clustering_factors(P: np.ndarray, offsets: np.ndarray, utility: str, order: float) -> np.ndarray:
    """v_i (m,) of the normalized utilities; 0 for a clustering of one cluster under entropy."""
    size = np.abs(worth(P[:, None], offsets, utility, order)[:, 0])
    return np.where(size > 0, 1.0 / np.where(size > 0, size, 1.0), 0.0)


def distances(P: np.ndarray, offsets: np.ndarray, v: np.ndarray, utility: str, order: float) -> Costs:
    """The costs of the loop over label tables: v f."""
    factors = np.repeat(v, np.diff(offsets))[:, None]

    def costs(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        M = block_shares(table, offsets, P)
        return factors * contributions(M, offsets, utility, order), np.zeros(table.shape[1])

    return costs


def total_utility(
    table: np.ndarray, P: np.ndarray, offsets: np.ndarray, v: np.ndarray, utility: str, order: float
) -> float:
    """sum_i v_i U(pi, pi_i), from the table (k, c) of a consensus."""
    seen = np.add.reduceat(table, offsets[:-1], axis=0)  # (m, c)
    shares = seen / seen.sum(axis=1, keepdims=True)
    gained = (shares * worth(block_shares(table, offsets, P), offsets, utility, order)).sum(axis=1)
    return float(v @ (gained - worth(P[:, None], offsets, utility, order)[:, 0]))
