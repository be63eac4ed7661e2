"""Members that label rows by the landmarks nearest to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._data.features import Features
from .._kernels.neighbors.landmarks import Landmarks, Rows, label_rows, nearest_landmarks
from .._kernels.runtime.threads import map_blocks, one_blas_thread
from .labeling import Member

#: Rows in a block: an interrupt takes effect between two blocks.
BLOCK = 4096


@dataclass(frozen=True, eq=False)
class LandmarkMember(Member):
    """What one clustering of :func:`consilience.generate.landmarks` learned, and what labels further objects.

    preparation : how it sees the features.
    model : its landmarks and clusters.
    """

    model: LandmarkModel

    def find(self, Z: Any, known: Any, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray | None]:
        return self.model.find(Z.astype(self.model.landmarks.points.dtype, copy=False), n_jobs=n_jobs)

    def furthest(self, known: Any, n_jobs: int | None) -> float:
        return self.model.furthest

    def label(self, X: Any, *, n_jobs: int | None = 1) -> np.ndarray:
        """(n,) int32, the cluster of each row of X; for rows it was learned from, as in the ensemble."""
        X = Features(X, least_rows=1).X.astype(self.model.landmarks.points.dtype, copy=False)
        with one_blas_thread():
            return self.model.label(self.preparation.apply(X, n_jobs=n_jobs), n_jobs=n_jobs)


@dataclass(frozen=True, eq=False)
class LandmarkModel:
    """Landmarks and clusters of one member, in terms of the prepared features.

    columns, unit : the features it sees, and the power of two that each number is multiplied by.
    landmarks : points, and what leads to the nearest.
    n_neighbors, sigma : K, and the width of the kernel.
    vectors (p, c), centers (k, c) : of the landmarks and of the clusters.
    furthest : the largest distance of a row it was learned from to the last of its K landmarks, in the
        given unit times ``unit``.
        If there are few rows, the landmarks are the rows themselves, and the nearest would be at distance 0.
    """

    columns: np.ndarray
    unit: float
    landmarks: Landmarks = field(repr=False)
    n_neighbors: int
    sigma: float
    vectors: np.ndarray = field(repr=False)
    centers: np.ndarray = field(repr=False)
    furthest: float = np.inf

    def label(self, X: Any, *, n_jobs: int | None = 1) -> np.ndarray:
        """(n,) int32 of prepared rows."""
        return self.find(X, n_jobs=n_jobs)[0]

    def find(self, X: Any, *, n_jobs: int | None = 1) -> tuple[np.ndarray, np.ndarray]:
        """(labels (n,) int32, distances (n,) to the last of its K landmarks) of prepared rows."""
        rows = Rows(X, self.columns, self.unit)

        def block(a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
            index, squares = neighbors_of(rows, self.landmarks, self.n_neighbors, a, b)
            return self.of_neighbors(index, squares), np.sqrt(squares[:, -1], dtype=np.float64)

        found = map_blocks(block, rows.n_samples, size=BLOCK, n_jobs=n_jobs)
        labels, distances = (np.concatenate(part) for part in zip(*found))
        return labels, distances

    def of_neighbors(self, index: np.ndarray, squares: np.ndarray) -> np.ndarray:
        """(n,) int32, the clusters of rows whose landmarks have been found."""
        return label_rows(index, squares, self.sigma, self.vectors, self.centers)


def neighbors_of(
    rows: Rows, landmarks: Landmarks, n_neighbors: int, a: int, b: int
) -> tuple[np.ndarray, np.ndarray]:
    """(index, squares), each (b - a, K), of the landmarks nearest to rows a..b."""
    index = np.empty((b - a, n_neighbors), np.int32)
    squares = np.empty((b - a, n_neighbors), rows.X.dtype)
    nearest_landmarks(rows, landmarks, a, b, index, squares)
    return index, squares
