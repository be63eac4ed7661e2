"""What k-means subtracts from its rows before it multiplies them.

Products then keep the digits that tell rows apart.
"""

from __future__ import annotations

import numpy as np

from ..compile.arrays import zero_array
from ..compile.jit import kernel

#: How many times farther than the others a value must lie to take digits from them that matter to squares.
FAR = 2.0**20
_ROWS = 256


def some_rows(X: np.ndarray, most: int) -> np.ndarray:
    """At most ``most`` rows, evenly spread: always the same ones."""
    n = len(X)
    return X[
        np.linspace(0, n - 1, min(n, most)).astype(np.int64)
    ]  # no row twice: steps are of one row or more


def typical_size(values: np.ndarray) -> float:
    """The median of what is not 0, on a sample; 0 where nothing is."""
    sizes = np.abs(some_rows(values.reshape(-1), _ROWS * 1024))
    sizes = sizes[sizes > 0]
    return float(np.median(sizes)) if sizes.size else 0.0


def middle_of(X: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """The column means, or medians of a sample where far values pull the mean away from the others.

    One value of 1e30 among a hundred near 1 makes a mean of 1e28, and all others the same number beside it.
    """
    sample = some_rows(X, _ROWS).astype(np.float64)
    median = np.median(sample, axis=0)
    return np.where(np.abs(mean - median) > FAR * typical_size(sample - median), median, mean)


def mean_variance(mean_square: float, shift: np.ndarray) -> float:
    """Mean of the columns' variances, from the mean squared length about a point ``shift`` off the mean."""
    return float((mean_square - np.dot(shift, shift)) / shift.size)


@kernel
def add_residuals(X, middle, weight, labels, mass, centers):
    """Add to each center the mean over its rows of x - middle - c.

    This second pass removes the rounding of the first.

    A far row that is alone is then its own center. Without the second pass, an error in the last digit of
    1e30 would be the inertia.
    """
    sums = zero_array(centers.shape, np.float64)
    for i in range(labels.size):
        j = labels[i]
        for c in range(X.shape[1]):
            sums[j, c] += weight[i] * (np.float64(X[i, c]) - middle[c] - centers[j, c])
    for j in range(mass.size):
        if mass[j] > 0:
            for c in range(X.shape[1]):
                centers[j, c] += sums[j, c] / mass[j]
