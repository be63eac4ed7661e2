"""Scatter of rows between clusters: sum of each cluster's weight times the squared length of its mean."""

from __future__ import annotations

import numpy as np

from .arrays import zero_array
from .jit import kernel


@kernel
def between_scatter(X, labels, weights, n_clusters):
    """sum_j |sum of w x over cluster j|^2 / its weight, of centered rows X (n, d); label -1 is ignored.

    O(n d) time.

    Labels lie below n_clusters, as their maximum plus one does by the caller's own count.
    """
    d = X.shape[1]
    sums, mass = zero_array((n_clusters, d), np.float64), zero_array(n_clusters, np.float64)
    for i in range(labels.size):
        j = labels[i]
        if j >= 0:
            mass[j] += weights[i]
            for c in range(d):
                sums[j, c] += weights[i] * X[i, c]
    total = 0.0
    for j in range(n_clusters):
        if mass[j] > 0:
            square = 0.0
            for c in range(d):
                square += sums[j, c] * sums[j, c]
            total += square / mass[j]
    return total
