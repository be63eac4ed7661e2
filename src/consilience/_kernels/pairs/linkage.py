"""Agglomeration of weighted groups, from a matrix of distances.

Nearest-neighbor chains give the exact average, complete or single linkage tree in O(u^2) time. Starting
sizes are the weights of the groups, so that average linkage on u groups equals average linkage on all
objects in them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compile.arrays import empty_array, zero_array
from ..compile.jit import kernel
from ..compile.plain import counting

_RULES = {"average": 0, "complete": 1, "single": 2}


class _Links(NamedTuple):
    """A chain of groups, each the nearest neighbor of the one before."""

    groups: np.ndarray  # (u,) the first of them, as many as the chain is long
    linked: np.ndarray  # (u,) whether a group is among them


@kernel
def _chain(D, sizes, rule, left, right, height):
    """Merge all groups; D (u, u) is spent. Merge t joins the groups then held by left[t] and right[t].

    Returns whether it could. A chain comes back to one of its own groups only if D is not symmetric, and
    finds no neighbor only if a row of D is without finite numbers: it then stops, so that a chain holds
    distinct groups and cannot outgrow its u places, whatever D holds. For a finite symmetric D neither
    happens, ties and rounding included: each link is shorter than the one before, and no update makes a group
    nearer than both its parts were.
    """
    u = sizes.size
    active = counting(u)  # the first of these are the groups that are still there, in rising order
    chain = _Links(empty_array(u, np.int64), zero_array(u, np.bool_))
    length = 0
    for t in range(u - 1):
        there = active[: u - t]
        length = _extend(D, there, chain, length)
        if length == 0:
            return False
        x, y = chain.groups[length - 1], chain.groups[length - 2]
        length -= 2
        chain.linked[x] = chain.linked[y] = False
        height[t] = D[x, y]
        left[t], right[t] = min(x, y), max(x, y)
        _join(D, sizes, rule, there, left[t], right[t])
    return True


@kernel(inline="always")
def _extend(D, active, chain, length):
    """Go on from the chain's end until its last two groups are nearest to each other.

    Returns its length, or 0 if it cannot go on.
    """
    groups, linked = chain
    if length == 0:
        groups[0] = active[0]
        linked[active[0]] = True
        length = 1
    while True:
        x = groups[length - 1]
        # Prefer the previous link on ties: otherwise the chain could run in a circle.
        if length > 1:
            y = groups[length - 2]
            nearest = D[x, y]
        else:
            y = -1
            nearest = np.inf
        for a in range(active.size):
            z = active[a]
            if z != x and D[x, z] < nearest:
                nearest = D[x, z]
                y = z
        if length > 1 and y == groups[length - 2]:
            return length
        if y < 0 or linked[y]:
            return 0
        groups[length] = y
        linked[y] = True
        length += 1


@kernel(inline="always")
def _join(D, sizes, rule, active, x, y):
    """Distances of the groups x and y together become those of x, and y leaves ``active``."""
    nx, ny = sizes[x], sizes[y]
    position = 0
    for a in range(active.size):
        z = active[a]
        if z == y:
            continue
        active[position] = z
        position += 1
        if z == x:
            continue
        near, far = D[x, z], D[y, z]
        if near > far:
            near, far = far, near
        if rule == 0:
            # Rounding (or overflow) must not leave the two: a mean below both could close a circle.
            d = (nx * D[x, z] + ny * D[y, z]) / (nx + ny)
            if not d >= near:
                d = near
            elif d > far:
                d = far
        elif rule == 1:
            d = far
        else:
            d = near
        D[x, z] = d
        D[z, x] = d
    sizes[x] = nx + ny


@kernel
def _cut(left, right, n_merges, parent):
    """Roots of the groups after the first merges.

    Entries of left and right are groups, and parents never point up.
    """
    for t in range(n_merges):
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

    A merge is named by one group of each side: the merges are the edges of a tree over the groups, so that
    any u - c of them leave c clusters. D must be finite and exactly symmetric, which its maker sees to.
    O(u^2) time, no memory beside D.
    """
    u = D.shape[0]
    if D.shape != (u, u) or weights.shape != (u,) or u == 0:
        raise ValueError(f"D has shape {D.shape} for {weights.shape} weights; expected (u, u) and (u,).")
    if not (np.isfinite(D.min()) and np.isfinite(D.max())):  # both let NaN through, and neither makes a copy
        raise ValueError(f"D must be finite; its values go from {D.min()} to {D.max()}.")
    left, right, height = np.empty(u - 1, np.int64), np.empty(u - 1, np.int64), np.empty(u - 1)
    if not _chain(D, weights.astype(float), _RULES[linkage], left, right, height):
        raise ValueError("D must be symmetric: nearest neighbors ran in a circle. Use (D + D.T) / 2.")
    order = np.argsort(height, kind="stable")
    return left[order], right[order], height[order]


def cut_tree(left: np.ndarray, right: np.ndarray, n_clusters: int) -> np.ndarray:
    """Labels (root group of each) after all but the last ``n_clusters - 1`` merges.

    The merges are those of :func:`merge_tree_inplace`.
    """
    u = left.size + 1
    if not 1 <= n_clusters <= u:
        raise ValueError(f"n_clusters={n_clusters} of a tree over {u} groups; expected 1 to {u}.")
    parent = counting(u)
    _cut(left, right, u - n_clusters, parent)
    return parent
