"""Two parts of a hypergraph of objects and base clusters, by single moves that lower the cost of the cut.

    cost = sum of e_b over the base clusters b with objects on both sides                                 (1)

labels (u, m) hold codes, -1 for missing; cluster j of clustering i is hyperedge offsets[i] + j, which weighs
e_b. Passes as of Fiduccia and Mattheyses: in each an object moves at most once, the best first, even where
the cost rises, and the pass goes back to the best it saw.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compile.jit import kernel

_PATIENCE = 50  # moves of a pass without a new best, after which it ends


class Bounds(NamedTuple):
    """What a bisection keeps to."""

    lightest: float  # weight of the objects on side True
    heaviest: float
    few_false: int  # fewest objects on side False
    few_true: int


class _Pins(NamedTuple):
    """Objects of each hyperedge, and how many of them are on side True."""

    all: np.ndarray
    true: np.ndarray


def cut_cost(labels: np.ndarray, offsets: np.ndarray, edge_weights: np.ndarray, parts: np.ndarray) -> float:
    """Weight of the hyperedges with objects in more than one part, Eq. (1); parts (u,) any integers."""
    k = int(offsets[-1])
    low, high = np.full(k, np.iinfo(np.int64).max), np.full(k, np.iinfo(np.int64).min)
    for i, column in enumerate(labels.T):
        seen = column >= 0
        np.minimum.at(low, offsets[i] + column[seen], parts[seen])
        np.maximum.at(high, offsets[i] + column[seen], parts[seen])
    return float(edge_weights[low < high].sum())


def bisect(
    labels: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray,
    edge_weights: np.ndarray,
    side: np.ndarray,
    *,
    lightest: float,
    heaviest: float,
    fewest: tuple[int, int],
    max_passes: int = 20,
) -> np.ndarray:
    """(u,) bool, from the start ``side``: a cut that is never more expensive.

    The weight of the objects on side True stays in [lightest, heaviest] if it starts there, and ``fewest``
    objects stay on sides False and True. O(u m) a move, one thread.
    """
    side = np.array(side, np.bool_)
    if side.shape != (len(labels),) or weights.shape != side.shape or edge_weights.shape != (offsets[-1],):
        raise ValueError(
            f"Sides {side.shape}, weights {weights.shape} and {edge_weights.shape} for {labels.shape} labels."
        )
    bounds = Bounds(float(lightest), float(heaviest), int(fewest[0]), int(fewest[1]))
    weights, edge_weights = weights.astype(float), edge_weights.astype(float)
    _bisect(labels, offsets, weights, edge_weights, side, bounds, int(max_passes))
    return side


@kernel
def _gain(codes, offsets, edge_weights, pinned, on_true):
    """What a move of the object with these codes takes off the cost."""
    pins, ones = pinned
    gain = 0.0
    for i in range(codes.size):
        if codes[i] >= 0:
            b = offsets[i] + codes[i]
            here = ones[b] if on_true else pins[b] - ones[b]
            if here == pins[b]:
                if here > 1:
                    gain -= edge_weights[b]
            elif here == 1:
                gain += edge_weights[b]
    return gain


@kernel
def _move(p, labels, offsets, side, ones):
    """Put object p on the other side; returns the change in the number of objects on side True."""
    step = -1 if side[p] else 1
    side[p] = not side[p]
    for i in range(labels.shape[1]):
        if labels[p, i] >= 0:
            ones[offsets[i] + labels[p, i]] += step
    return step


@kernel
def _bisect(labels, offsets, weights, edge_weights, side, bounds, max_passes):
    """Passes of moves, each gone back to the best it saw, until one is without a gain.

    ``side`` is changed in place.
    """
    lightest, heaviest, few_false, few_true = bounds
    u, m = labels.shape
    k = edge_weights.size
    pins, ones = np.zeros(k, np.int64), np.zeros(k, np.int64)
    pinned = _Pins(pins, ones)
    load, count = 0.0, 0
    for p in range(u):
        if side[p]:
            load += weights[p]
            count += 1
        for i in range(m):
            if labels[p, i] >= 0:
                b = offsets[i] + labels[p, i]
                pins[b] += 1
                if side[p]:
                    ones[b] += 1
    order = np.empty(u, np.int64)
    moved = np.zeros(u, np.bool_)
    for _ in range(max_passes):
        moved[:] = False
        gained, most, best, length = 0.0, 1e-9 * edge_weights.sum(), 0, 0
        while length < u and length - best < _PATIENCE:
            chosen, value = -1, -np.inf
            for p in range(u):
                if moved[p]:
                    continue
                after = load - weights[p] if side[p] else load + weights[p]
                if after < lightest or after > heaviest:
                    continue
                if (side[p] and count <= few_true) or (not side[p] and u - count <= few_false):
                    continue
                gain = _gain(labels[p], offsets, edge_weights, pinned, side[p])
                if gain > value:
                    chosen, value = p, gain
            if chosen < 0:
                break
            step = _move(chosen, labels, offsets, side, ones)
            load += step * weights[chosen]
            count += step
            moved[chosen] = True
            order[length] = chosen
            length += 1
            gained += value
            if gained > most:
                most, best = gained, length
        for t in range(best, length):  # back to the best
            p = order[t]
            step = _move(p, labels, offsets, side, ones)
            load += step * weights[p]
            count += step
        if best == 0:
            break
