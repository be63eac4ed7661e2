"""Connected components of a weighted graph, counted by search and not by eigenvalues: exact, no tolerance."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..compile.arrays import empty_array
from ..compile.jit import kernel
from ..compile.plain import counting


def components(adjacency: Any) -> tuple[int, np.ndarray]:
    """(count, labels) of the components of the undirected graph given by the non-zeros of ``adjacency``.

    adjacency (u, u): sparse (either triangle or both), or dense, of which only the upper triangle is read.
    Labels are numbered by first appearance. Sparse: O(edges). Dense: O(u^2) at worst, and far less for dense
    graphs, since a search only looks at nodes that have not been reached yet.
    """
    labels = np.empty(adjacency.shape[0], np.int64)
    if sp.issparse(adjacency):
        rows = sp.csr_array(adjacency)
        return _join(rows.indptr, rows.indices, rows.data, labels), labels
    return _search_upper(adjacency, labels), labels


def components_of_rows(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray) -> tuple[int, np.ndarray]:
    """:func:`components` of the rows of a CSR matrix, either triangle or both; stored zeros are no edges."""
    labels = np.empty(indptr.size - 1, np.int64)
    return _join(indptr, indices, data, labels), labels


@kernel
def _join(indptr, indices, data, labels):
    """Union-find over the edges; twice as fast as scipy, which first makes the graph symmetric.

    indices are those of a sound CSR matrix (u, u). Parents never point up, so that every walk ends.
    """
    u = labels.size
    parent = counting(u)
    for p in range(u):
        a = p
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        for t in range(indptr[p], indptr[p + 1]):
            if data[t] == 0.0:
                continue
            b = indices[t]
            while parent[b] != b:
                parent[b] = parent[parent[b]]
                b = parent[b]
            # The root is the smallest member, so that labels come out by first appearance.
            if a < b:
                parent[b] = a
            elif b < a:
                parent[a] = b
                a = b
    count = 0
    for p in range(u):
        if parent[p] == p:
            labels[p] = count
            count += 1
        else:
            labels[p] = labels[parent[p]]
    return count


@kernel
def _search_upper(adjacency, labels):
    """A node leaves ``waiting`` as it enters ``queue``: neither holds more than u."""
    u = labels.size
    waiting = counting(u)  # not reached yet, in rising order
    left = u
    queue = empty_array(u, np.int64)
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
