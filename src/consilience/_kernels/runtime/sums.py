"""Sums of weights that are the same in any order, and in parts.

Every weight is cut into whole numbers whose sums are exact.

With 2^e above the largest weight, w = sum_j b_j 2^(e - 26 j) for j = 1..5, b_j whole and below 2^26: 130
bits, so that a weight 1e15 times lighter than the largest keeps all of its own. Sums of b_j are exact for up
to 2^27 objects in float64, and for any number in int64.
"""

from __future__ import annotations

import numpy as np

LIMBS, BITS = 5, 26


def to_limbs(weights: np.ndarray, exponent: int) -> np.ndarray:
    """(n, LIMBS) whole numbers b_j, as floats, of weights (n,) below 2**exponent."""
    out = np.empty((weights.size, LIMBS))
    rest = np.ldexp(weights, -exponent)  # in [0, 1)
    for j in range(LIMBS):
        rest = rest * 2.0**BITS
        out[:, j] = np.floor(rest)
        rest = rest - out[:, j]
    return out


def from_limbs(sums: np.ndarray, exponent: int) -> np.ndarray:
    """(u,) what sums of limbs (u, LIMBS) stand for, from the smallest up."""
    total = np.zeros(len(sums))
    for j in reversed(range(LIMBS)):
        total = (total + sums[:, j]) * 2.0**-BITS
    return np.ldexp(total, exponent)


def grouped_sums(weights: np.ndarray, groups: np.ndarray, count: int) -> np.ndarray:
    """(count,) sum of positive weights in each group.

    Nothing depends on the order of objects, nor on how they are divided.
    """
    if weights.size == 0:
        return np.zeros(count)
    exponent = int(np.frexp(weights.max())[1])
    parts = [np.bincount(groups, weights=part, minlength=count) for part in to_limbs(weights, exponent).T]
    sums = from_limbs(np.stack(parts, axis=1), exponent)
    # Groups beyond the last limb weigh nothing beside the heaviest one: take the largest weight of each, so
    # that it can be named.
    beyond = sums[groups] == 0
    np.maximum.at(sums, groups[beyond], weights[beyond])
    return sums
