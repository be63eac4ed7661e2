"""How members are aligned with a partition, and what centers of groups of label vectors are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..._kernels.labels.grouping import Costs, commonest_rows


def maps(table: np.ndarray, offsets: np.ndarray, match: str) -> np.ndarray:
    """B (k, c), which groups the clusters of members stand for, from Y' diag(w) R: one-to-one (unmatched
    clusters vote for nobody), many-to-one, or soft shares of every cluster.
    """
    if match == "soft":
        sums = table.sum(axis=1, keepdims=True)
        return table / np.where(sums > 0, sums, 1.0)
    B = np.zeros(table.shape)
    if match == "many-to-one":
        B[np.arange(len(B)), table.argmax(axis=1)] = 1.0
        return B
    for first, last in pairwise(offsets):
        clusters, groups = linear_sum_assignment(-table[first:last])
        B[first + clusters, groups] = 1.0
    return B


def commonest(P: np.ndarray, offsets: np.ndarray) -> Costs:
    """Costs for centers that are labels: 0 for the commonest of the group (the lowest of equals), 1 for
    others.
    """

    def costs(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        T = np.ones(table.shape)
        T[commonest_rows(table, offsets, P), np.arange(table.shape[1])] = 0.0
        return T, np.zeros(table.shape[1])

    return costs
