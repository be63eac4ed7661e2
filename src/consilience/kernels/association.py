"""Normalised co-association, as an operator that is never formed or as a matrix, for its leading eigenvectors.

    A_pq = mean over clusterings of e_b [p, q together in cluster b],    A_pp = 1                             (1)
    N^1/2 D^-1/2 A D^-1/2 N^1/2,    N = diag(weights),  D = diag(A weights)                                   (2)

e (k,) weighs the base clusters, at most 1. An object is as similar to itself as can be, whatever its clusters weigh.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .overlaps import gather, scatter


def normalised_operator(
    labels: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray,
    cluster_weights: np.ndarray,
    *,
    n_jobs: int | None = None,
) -> Callable[[np.ndarray], np.ndarray]:
    """X -> (2) X where nothing is missing: A = Y diag(e) Y' / m and its diagonal, two passes over the labels, O(u m) a column."""
    share = cluster_weights[:, None] / labels.shape[1]

    def times_A(X: np.ndarray) -> np.ndarray:
        return gather(labels, offsets, share * scatter(labels, offsets, X, n_jobs=n_jobs), n_jobs=n_jobs)

    own = gather(labels, offsets, share, n_jobs=n_jobs)[:, 0]  # the mean of e where (1) has 1
    degree = times_A(weights[:, None])[:, 0] + 1.0 - own
    root, loop = np.sqrt(weights / degree)[:, None], ((1.0 - own) / degree)[:, None]
    return lambda X: root * times_A(root * X) + loop * X


def normalised_matrix_inplace(A: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(2) of a given A (u, u), which is overwritten; also with missing labels, where A is not a product."""
    own = A.diagonal().copy()
    degree = A @ weights + 1.0 - own
    root = np.sqrt(weights / degree)
    A *= root[:, None]
    A *= root
    A[np.diag_indices_from(A)] += (1.0 - own) / degree
    return A
