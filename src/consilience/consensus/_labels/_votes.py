"""How base clusterings are aligned with a partition, and centers of groups of label vectors."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..._kernels.labels.grouping import Costs, commonest_rows


def maps(table: np.ndarray, offsets: np.ndarray, match: str) -> np.ndarray:
    """B (k, c), the groups to which base clusters are mapped, from Y' diag(w) R.

    The map is one-to-one (unmatched clusters have no vote), many-to-one, or soft shares of every cluster.
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
    """Costs for centers that are labels: 0 for the most common label of the group, 1 for others.

    The lowest of equally common labels is taken.
    """

    def costs(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        T = np.ones(table.shape)
        T[commonest_rows(table, offsets, P), np.arange(table.shape[1])] = 0.0
        return T, np.zeros(table.shape[1])

    return costs
