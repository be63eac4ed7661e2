"""Matrices of a fitted consensus for other programs: pairs of objects, and the tree over them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._data.soft import SoftCompressed
from .._kernels.runtime.memory import ensure_fits


def consensus_matrix(model: Any, rows: np.ndarray | None = None) -> np.ndarray:
    """(n, n) co-association of the objects of a fitted method, with the weights it learned.

    ``rows`` selects objects.
    """
    distinct = model.distinct_
    inverse = distinct.inverse if rows is None else distinct.inverse[rows]
    n, u = inverse.size, distinct.n_samples
    ensure_fits(
        8.0 * n * n + 8.0 * u * u,
        what=f"A consensus matrix of {n} x {n} objects",
        remedy="take rows of it from model.distinct_.coassociation_blocks(), or fit fewer objects",
    )
    A = distinct.coassociation(**({} if isinstance(distinct, SoftCompressed) else _learned_weights(model)))
    A = A[np.ix_(inverse, inverse)]
    np.fill_diagonal(A, 1.0)
    return A


def _learned_weights(model: Any) -> dict[str, np.ndarray]:
    """The learned weights of base clusters, else those of clusterings, else none."""
    for learned, name in (
        ("cluster_reliability_", "cluster_weights"),
        ("clustering_weights_", "clustering_weights"),
    ):
        if hasattr(model, learned):
            return {name: getattr(model, learned)}
    return {}


def linkage_matrix(merges: np.ndarray, heights: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    """The tree over all objects in the format of scipy.cluster.hierarchy, (n - 1, 4).

    merges (u - 1, 2) : one distinct object of each side of a merge, by rising heights (u - 1,).
    inverse (n,) : the distinct object of every object; equal ones are joined first, at height 0.
    """
    n, u = inverse.size, len(merges) + 1
    Z = np.empty((n - 1, 4))
    node, count = np.full(u, -1), np.ones(n + n - 1)
    made = 0

    def joined(a: int, b: int, height: float) -> int:
        nonlocal made
        Z[made] = min(a, b), max(a, b), height, count[a] + count[b]
        count[n + made] = Z[made, 3]
        made += 1
        return n + made - 1

    for position, own in enumerate(inverse.tolist()):
        node[own] = position if node[own] < 0 else joined(node[own], position, 0.0)
    parent = np.arange(u)

    def root(i: int) -> int:
        while parent[i] != i:
            parent[i] = i = parent[parent[i]]
        return i

    for (left, right), height in zip(merges.tolist(), np.maximum(heights, 0.0).tolist()):
        a, b = root(left), root(right)
        node[a] = joined(node[a], node[b], height)
        parent[b] = a
    return Z
