"""Connected components of a weighted graph, counted by search and not by eigenvalues: exact, no tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components as _components

from ._jit import kernel


def components(adjacency: Any) -> tuple[int, np.ndarray]:
    """(count, labels) of the components of the undirected graph whose edges are the non-zeros of ``adjacency``.

    adjacency (u, u): sparse (either triangle or both), or dense, of which only the upper triangle is read.
    Labels are numbered by first appearance. Sparse: O(edges). Dense: O(u^2) at worst, and far less for dense
    graphs, since a search only looks at nodes that have not been reached yet.
    """
    if sp.issparse(adjacency):
        count, labels = _components(adjacency, directed=False)
        return int(count), labels.astype(np.int64)
    labels = np.empty(adjacency.shape[0], np.int64)
    return _search_upper(adjacency, labels), labels


@kernel
def _search_upper(adjacency, labels):
    u = labels.size
    waiting = np.arange(u)  # not reached yet, in rising order
    left = u
    queue = np.empty(u, np.int64)
    count = 0
    while left > 0:
        queue[0] = waiting[0]
        head, tail = 0, 1
        for t in range(1, left):
            waiting[t - 1] = waiting[t]
        left -= 1
        while head < tail:
            p = queue[head]
            head += 1
            labels[p] = count
            kept = 0
            for t in range(left):
                q = waiting[t]
                edge = adjacency[p, q] if p < q else adjacency[q, p]
                if edge != 0.0:
                    queue[tail] = q
                    tail += 1
                else:
                    waiting[kept] = q
                    kept += 1
            left = kept
        count += 1
    return count
