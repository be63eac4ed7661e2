"""Normalized co-association for its leading eigenvectors, as an operator that is never formed or a matrix.

    A_pq = mean over clusterings of e_b [p, q together in cluster b],    A_pp = 1                          (1)
    N^1/2 D^-1/2 A D^-1/2 N^1/2,    N = diag(weights),  D = diag(A weights)                                (2)
    E_pq = mean over clusterings that saw both of Z[cluster of p, cluster of q]                            (3)

e (k,) weighs the base clusters, at most 1. An object is as similar to itself as can be, whatever its clusters
weigh. (3) refines (1): objects in different clusters of a clustering are as similar as these, Z (k, k).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..labels.overlaps import gather, scatter


def normalized_operator(
    labels: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray,
    cluster_weights: np.ndarray,
    *,
    n_jobs: int | None = -1,
) -> Callable[[np.ndarray], np.ndarray]:
    """X -> (2) X where nothing is missing: A = Y diag(e) Y' / m, but for its diagonal.

    Two passes over the labels, O(u m) a column.
    """
    share = cluster_weights[:, None] / labels.shape[1]

    def times_A(X: np.ndarray) -> np.ndarray:
        return gather(labels, offsets, share * scatter(labels, offsets, X, n_jobs=n_jobs), n_jobs=n_jobs)

    own = gather(labels, offsets, share, n_jobs=n_jobs)[:, 0]  # the mean of e where (1) has 1
    degree = times_A(weights[:, None])[:, 0] + 1.0 - own
    root, loop = np.sqrt(weights / degree)[:, None], ((1.0 - own) / degree)[:, None]
    return lambda X: root * times_A(root * X) + loop * X


def normalized_matrix_inplace(A: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(2) of a given A (u, u), which is overwritten; also with missing labels, where A is not a product."""
    own = A.diagonal().copy()
    degree = A @ weights + 1.0 - own
    root = np.sqrt(weights / degree)
    A *= root[:, None]
    A *= root
    A[np.diag_indices_from(A)] += (1.0 - own) / degree
    return A


def within_clusterings(Z: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Z (k, k) between clusters of the same clustering, 0 elsewhere."""
    owner = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    return np.where(owner[:, None] == owner, Z, 0.0)


def refined_association(
    labels: np.ndarray, offsets: np.ndarray, Z: np.ndarray, *, n_jobs: int | None = -1
) -> np.ndarray:
    """E (u, u) of Eq. (3), exactly symmetric if Z is; pairs that no clustering saw are 0.

    O(u^2 m) time, 8 u^2 + 16 u k bytes, and 8 u^2 more with missing labels.
    """
    rows = gather(labels, offsets, within_clusterings(Z, offsets), n_jobs=n_jobs)  # (u, k)
    E = gather(labels, offsets, rows.T, n_jobs=n_jobs)
    seen = (labels >= 0).astype(float)
    if seen.all():
        E /= labels.shape[1]
        return E
    both = seen @ seen.T
    return np.divide(E, both, out=E, where=both > 0)
