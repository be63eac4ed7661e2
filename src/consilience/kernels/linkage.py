"""Agglomeration of weighted groups, from a matrix of distances.

Nearest-neighbour chains give the exact average, complete or single linkage tree in O(u^2) time. Starting
sizes are the weights of the groups, so that average linkage on u groups equals average linkage on all
objects in them.
"""

from __future__ import annotations

import numpy as np

from ._jit import kernel

_RULES = {"average": 0, "complete": 1, "single": 2}


@kernel
def _chain(D, sizes, rule, left, right, height):
    """Merge all groups; D (u, u) is spent. Merge t joins the groups then held by left[t] and right[t]."""
    u = sizes.size
    active = np.arange(u)  # groups that are still there, in rising order
    alive = u
    chain = np.empty(u, np.int64)
    length = 0
    for t in range(u - 1):
        if length == 0:
            chain[0] = active[0]
            length = 1
        while True:
            x = chain[length - 1]
            # Prefer the previous link on ties: otherwise the chain could run in a circle.
            if length > 1:
                y = chain[length - 2]
                nearest = D[x, y]
            else:
                y = -1
                nearest = np.inf
            for a in range(alive):
                z = active[a]
                if z != x and D[x, z] < nearest:
                    nearest = D[x, z]
                    y = z
            if length > 1 and y == chain[length - 2]:
                break
            chain[length] = y
            length += 1
        length -= 2
        if x > y:
            x, y = y, x
        left[t], right[t], height[t] = x, y, nearest
        nx, ny = sizes[x], sizes[y]
        position = 0
        for a in range(alive):
            z = active[a]
            if z == y:
                continue
            active[position] = z
            position += 1
            if z == x:
                continue
            if rule == 0:
                d = (nx * D[x, z] + ny * D[y, z]) / (nx + ny)
            elif rule == 1:
                d = max(D[x, z], D[y, z])
            else:
                d = min(D[x, z], D[y, z])
            D[x, z] = d
            D[z, x] = d
        alive = position
        sizes[x] = nx + ny


@kernel
def _cut(left, right, order, n_merges, parent):
    for t in order[:n_merges]:
        a, b = left[t], right[t]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        parent[max(a, b)] = min(a, b)
    for i in range(parent.size):
        parent[i] = parent[parent[i]]


def merge_tree_inplace(
    D: np.ndarray, weights: np.ndarray, linkage: str = "average"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(left, right, height) of the u - 1 merges, by rising height; ``D`` (u, u) is overwritten.

    A merge is named by one group of each side. O(u^2) time, no memory beside D.
    """
    u = D.shape[0]
    left, right, height = np.empty(u - 1, np.int64), np.empty(u - 1, np.int64), np.empty(u - 1)
    _chain(D, weights.astype(float), _RULES[linkage], left, right, height)
    order = np.argsort(height, kind="stable")
    return left[order], right[order], height[order]


def cut_tree(left: np.ndarray, right: np.ndarray, n_clusters: int) -> np.ndarray:
    """Labels (root group of each) after all but the last ``n_clusters - 1`` merges."""
    u = left.size + 1
    parent = np.arange(u)
    _cut(left, right, np.arange(u - 1), u - n_clusters, parent)
    return parent
