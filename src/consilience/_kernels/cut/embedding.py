"""From an embedding to clusters: the best of some k-means of its rows (the last step of spectral methods)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..kmeans import many_kmeans
from .partition import compact, split_clusters


class Cut(NamedTuple):
    """Clusters of rows, and how the k-means that found them ended."""

    labels: np.ndarray  # (n,) int64, from 0 without gaps
    inertia: float
    n_iter: int
    converged: bool


def unit_rows(U: np.ndarray) -> np.ndarray:
    """Rows scaled to length one; rows of zeros stay."""
    length = np.sqrt(np.einsum("ij,ij->i", U, U))
    return U / np.where(length > 0, length, 1.0)[:, None]


def cut_rows(
    points: np.ndarray,
    n_clusters: int,
    *,
    unit: bool = False,
    exact: bool = True,
    weights: np.ndarray | None = None,
    seeds: Sequence[Any],
    max_iter: int = 300,
    n_jobs: int | None = -1,
    on_done: Callable[[int], Any] | None = None,
) -> Cut:
    """``n_clusters`` clusters of the rows of ``points``: the best of one weighted k-means per seed.

    unit: of their directions, rows scaled to length one. Rows that coincide can leave k-means with fewer
    clusters. The widest are then split, unless ``exact`` is False; the inertia is that before. ``on_done`` is
    told how many runs have ended.
    """
    n = points.shape[0]
    points = unit_rows(points) if unit else np.ascontiguousarray(points)
    weights = np.ones(n) if weights is None else weights
    if exact and n_clusters == n:
        return Cut(np.arange(n), 0.0, 0, True)
    if n_clusters == 1:
        rest = points - np.average(points, axis=0, weights=weights)
        return Cut(np.zeros(n, np.int64), float(weights @ np.einsum("ij,ij->i", rest, rest)), 0, True)
    ks = [n_clusters] * len(seeds)
    runs = many_kmeans(
        points, ks, seeds=seeds, max_iter=max_iter, sample_weight=weights, n_jobs=n_jobs, on_done=on_done
    )
    best = int(np.argmin(runs.inertia))
    labels = compact(runs.labels[:, best])
    if exact:
        labels = split_clusters(labels, n_clusters, embedding=points, weights=weights)
    return Cut(labels, float(runs.inertia[best]), int(runs.n_iter[best]), bool(runs.converged[best]))
