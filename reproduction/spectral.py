"""Spectral clustering on the graph that published tables most likely mean, where they print none."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import SpectralClustering
from sklearn.neighbors import kneighbors_graph


class NeighborSpectral(ClusterMixin, BaseEstimator):
    """Two objects are joined if one is among the nearest of the other.

    All edges weigh the same, and none leads back to its object.

    scikit-learn's own graph of neighbors counts an object among its nearest, and halves an edge that goes one
    way only.
    """

    labels_: np.ndarray

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        n_neighbors: int = 10,
        metric: str = "euclidean",
        random_state: int | None = None,
    ):
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.metric = metric
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> NeighborSpectral:
        """Cluster the rows of X, dense or sparse."""
        near = kneighbors_graph(X, self.n_neighbors, metric=self.metric, include_self=False)
        spectral = SpectralClustering(self.n_clusters, affinity="precomputed", random_state=self.random_state)
        self.labels_ = spectral.fit(near.maximum(near.T)).labels_
        return self
