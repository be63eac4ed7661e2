"""What methods on label vectors share: spread starts, and memberships in the order of the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..._kernels.cut.partition import by_decreasing_size, one_hot, split_clusters
from ..._kernels.labels.grouping import Costs, LabelRows, assign, block_shares, fill_empty, seed_rows


def overall_shares(ensemble: Any) -> np.ndarray:
    """P (k,): the share of each base cluster in what its clustering saw."""
    offsets = ensemble.offsets
    return block_shares(ensemble.cluster_sizes()[:, None], offsets, np.zeros(offsets[-1]))[:, 0]


def disagreement(P: np.ndarray, offsets: np.ndarray) -> Costs:
    """Costs 1 - M of a label in a group: the share of the group with another label in that clustering.

    P (k,) holds the shares among all objects.
    """

    def costs(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 1.0 - block_shares(table, offsets, P), np.zeros(table.shape[1])

    return costs


def start_table(
    rows: LabelRows, n_groups: int, costs: Costs, rng: np.random.Generator, n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """(table (k, c), weights (c,)) of groups around objects that are far apart."""
    chosen = seed_rows(rows, n_groups, costs, rng, n_jobs)
    around = rows.take(chosen).table(np.arange(n_groups), n_groups)
    near = assign(rows, *costs(around), n_jobs=n_jobs)
    groups = fill_empty(near.groups, n_groups, rows.mass * near.cost)
    return rows.table(groups, n_groups, n_jobs), np.bincount(groups, rows.weights, minlength=n_groups)


def read_off(
    memberships: np.ndarray, weights: np.ndarray, tie_breaker: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(labels, memberships): every object joins its largest column; cluster 0 is the heaviest.

    There are exactly as many clusters as columns. Columns are put in the order of the labels; if a cluster
    had to be split because a column won no object, in the order that fits the labels best.
    """
    labels, columns = order_columns(memberships, weights, tie_breaker)
    return labels, memberships[:, columns]


def order_columns(
    memberships: np.ndarray, weights: np.ndarray, tie_breaker: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(labels, columns) of :func:`read_off`: cluster j is column ``columns[j]`` of the memberships."""
    c = memberships.shape[1]
    groups = split_clusters(memberships.argmax(axis=1), c, embedding=memberships, weights=weights)
    labels = by_decreasing_size(groups, weights, tie_breaker=tie_breaker)
    fits = np.asarray(one_hot(labels, c, weights).T @ memberships)  # (label, column)
    _, columns = linear_sum_assignment(-fits)
    return labels, columns
