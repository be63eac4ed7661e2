"""What ensembles share: numbers of clusterings and objects, their names, and the weights of objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from .._base.names import check_count, check_unique
from .._base.parameters import check_weights
from .frames import in_order_of


class NamedClusterings(ABC):
    """Clusterings with names; subclasses know the number of clusterings and of objects."""

    _names: list[str] | None

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """Number of objects."""

    @property
    @abstractmethod
    def n_clusterings(self) -> int:
        """Number of base clusterings, m."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_clusterings)."""
        return self.n_samples, self.n_clusterings

    def __len__(self) -> int:
        return self.n_samples

    @property
    def clustering_names(self) -> list[str]:
        """Names of the clusterings; 'clustering 0', ... if none were given."""
        if self._names is not None:
            return list(self._names)
        return [f"clustering {i}" for i in range(self.n_clusterings)]

    def _name_clusterings(self, names: Sequence[Any] | None) -> None:
        if names is not None:
            names = check_count(names, self.n_clusterings, "clustering_names", "clusterings")
            self._names = [str(name) for name in names]


class NamedObjects(NamedClusterings):
    """Clusterings in memory, hard or soft, whose objects have names and weights, too."""

    _sample_names: list[Any] | None
    _weights: np.ndarray | None

    @property
    @abstractmethod
    def n_clusters_per_clustering(self) -> np.ndarray:
        """(m,) number of clusters in each clustering."""

    @property
    def n_base_clusters(self) -> int:
        """k, the number of clusters of all clusterings together."""
        return int(self.n_clusters_per_clustering.sum())

    @property
    def has_names(self) -> bool:
        """Whether the clusterings were given names."""
        return self._names is not None

    @property
    def sample_names(self) -> list[Any] | None:
        """Row names, or None."""
        return None if self._sample_names is None else list(self._sample_names)

    @cached_property
    def sample_weight(self) -> np.ndarray:
        """(n_samples,) weights; ones unless given. Read-only."""
        weights = np.ones(self.n_samples) if self._weights is None else self._weights
        weights.setflags(write=False)
        return weights

    @abstractmethod
    def _incidence(self) -> Any:
        """Products with the indicator of base clusters, or with memberships, without forming a matrix."""

    def _name_objects(self, names: Sequence[Any] | None, weights: Any) -> None:
        if names is not None:
            self._sample_names = check_count(names, self.n_samples, "sample_names", "objects")
        check_unique(self._sample_names, "sample name", "rename the rows or drop the copies")
        if weights is not None:
            self._weights = check_weights(in_order_of(self._sample_names, weights), self.n_samples)

    def _of_rows(self, rows: np.ndarray) -> tuple[list[Any] | None, np.ndarray | None]:
        """Names and weights of some objects."""
        names = None if self._sample_names is None else [self._sample_names[r] for r in rows]
        return names, None if self._weights is None else self._weights[rows]


def given_names(clusterings: NamedClusterings) -> list[str] | None:
    """Names of the clusterings, if they were given any."""
    return clusterings._names


def incidence_of(ensemble: NamedObjects) -> Any:
    """Products with the indicator of base clusters, or with memberships, without forming a matrix."""
    return ensemble._incidence()


def given_weights(ensemble: NamedObjects) -> np.ndarray | None:
    """Weights of the objects, if they were given any."""
    return ensemble._weights
