"""From an embedding to clusters: k-means on the directions of its rows (the last step of spectral methods)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .kmeans import many_kmeans
from .partition import compact, split_clusters


def unit_rows(U: np.ndarray) -> np.ndarray:
    """Rows scaled to length one; rows of zeros stay."""
    length = np.sqrt(np.einsum("ij,ij->i", U, U))
    return U / np.where(length > 0, length, 1.0)[:, None]


def cut_directions(
    U: np.ndarray,
    n_clusters: int,
    *,
    weights: np.ndarray | None = None,
    seeds: Sequence[Any],
    max_iter: int = 100,
    n_jobs: int | None = None,
) -> np.ndarray:
    """(n,) labels of exactly ``n_clusters`` clusters: the best of one weighted k-means per seed on unit rows of U.

    Rows that coincide can leave k-means with fewer clusters; the widest are then split.
    """
    n = U.shape[0]
    if n_clusters == 1:
        return np.zeros(n, np.int64)
    if n_clusters == n:
        return np.arange(n)
    rows = unit_rows(U)
    runs = many_kmeans(
        rows, [n_clusters] * len(seeds), seeds=seeds, max_iter=max_iter, sample_weight=weights, n_jobs=n_jobs
    )
    labels = compact(runs.labels[:, int(np.argmin(runs.inertia))])
    if labels.max() + 1 < n_clusters:
        labels = split_clusters(
            labels, n_clusters, embedding=rows, weights=np.ones(n) if weights is None else weights
        )
    return labels
