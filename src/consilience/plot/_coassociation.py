"""How often objects are put together, in the order of the consensus."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.parameters import Integer, check
from .._evidence.table import Evidence
from .._results.view import Fitted
from .style import axes

_POWER_STEPS = 8
_MOST_ITEMS = 100  # clusters


class CoassociationDisplay:
    """Heat map of co-association, with objects ordered by cluster.

    Parts of a cluster that are often together lie side by side. Up to ``max_cells`` objects, every cell is a
    pair. Beyond, objects of one cluster that are neighbors form blocks, and a cell shows the mean over the
    pairs of two blocks, computed from tables of base clusters by blocks: O(n m) time and O(k max_cells)
    memory, without any array of size n x n.

    Attributes
    ----------
    values : array (b, b)
        Mean co-association between cells, in [0, 1]; NaN where no clustering saw any such pair.
    cell_cluster, cell_size : arrays (b,)
        Cluster and number of objects of each cell.
    order : array (n_samples,)
        The objects in the order of the axes; cell i holds ``order[starts[i]:starts[i + 1]]``.
    items : array (b, n_clusters) or None
        Item consensus: mean co-association of the objects of a cell with the objects of each cluster, without
        each object's pair with itself; None for more than 100 clusters.

    Examples
    --------
    >>> import consilience as cs
    >>> model = cs.consensus.EvidenceAccumulation(2).fit([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
    >>> display = cs.plot.CoassociationDisplay.from_estimator(model)
    >>> display.values.shape, display.cell_cluster.tolist()
    ((4, 4), [0, 0, 1, 1])
    """

    def __init__(self, values, cell_cluster, cell_size, order, items=None):
        self.values = values
        self.cell_cluster = cell_cluster
        self.cell_size = cell_size
        self.order = order
        self.items = items
        self.starts = np.concatenate([[0], np.cumsum(cell_size)])

    @classmethod
    def from_estimator(cls, model: Any, *, max_cells: int = 200) -> CoassociationDisplay:
        """Make the display of a fitted consensus method or pipeline."""
        return cls.from_fitted(Fitted.from_estimator(model), max_cells)

    @classmethod
    def from_ensemble(
        cls, ensemble: Any, labels: Any, *, confidence: Any = None, max_cells: int = 200
    ) -> CoassociationDisplay:
        """Make the display of base clusterings and any labels of the same objects."""
        return cls.from_fitted(Fitted.from_ensemble(ensemble, labels, confidence), max_cells)

    @classmethod
    def from_fitted(cls, fitted: Fitted, max_cells: int = 200) -> CoassociationDisplay:
        """Make the display of the view of a fitted model that all displays share."""
        fitted = Fitted.of(fitted)
        check("max_cells", max_cells, Integer(1))
        order = inner_order(fitted)
        counts = cell_counts(fitted.sizes, max_cells)
        if counts is None:  # more clusters than cells: blocks of equal length across clusters
            edges = np.linspace(0, fitted.n_samples, min(max_cells, fitted.n_samples) + 1).astype(np.int64)
            sizes = np.diff(edges)
            clusters = fitted.labels[order][edges[:-1]]
        else:
            sizes = np.concatenate([_split(size, count) for size, count in zip(fitted.sizes, counts)])
            clusters = np.repeat(np.arange(fitted.n_clusters), counts)
        bins = np.empty(fitted.n_samples, np.int64)
        bins[order] = np.repeat(np.arange(len(sizes)), sizes)
        cells = fitted.against(bins, len(sizes))
        values = cells.between
        alone = sizes == 1  # an object with itself
        values[alone, alone] = 1.0
        items = item_consensus(fitted, cells) if fitted.n_clusters <= _MOST_ITEMS else None
        return cls(values, clusters, sizes, order, items)

    def plot(self, ax: Any = None, *, cmap: Any = "cividis") -> CoassociationDisplay:
        """Draw the heat map; lines separate the clusters."""
        ax = axes(ax, "CoassociationDisplay.plot()", figsize=(6.2, 5.2))
        n = self.starts[-1]
        self.image_ = ax.pcolormesh(self.starts, self.starts, self.values, cmap=cmap, vmin=0, vmax=1)
        ax.set_xlim(0, n)
        ax.set_ylim(n, 0)
        ax.set_aspect("equal")
        changes = np.flatnonzero(np.diff(self.cell_cluster)) + 1
        for edge in self.starts[changes]:
            ax.axhline(edge, color="white", lw=0.8)
            ax.axvline(edge, color="white", lw=0.8)
        edges = np.concatenate([[0], self.starts[changes], [n]])
        middles, names = (edges[:-1] + edges[1:]) / 2, self.cell_cluster[np.concatenate([[0], changes])]
        wide = np.diff(edges) >= 0.025 * n  # a name needs room
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_ticks(middles[wide], names[wide])
        ax.tick_params(length=0)
        ax.set(
            xlabel="objects by cluster", ylabel="objects by cluster", title="How often objects are together"
        )
        ax.figure.colorbar(self.image_, ax=ax, label="share of clusterings", shrink=0.85)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def item_consensus(fitted: Fitted, cells: Evidence) -> np.ndarray:
    """(b, c) mean co-association of the objects of a cell with those of a cluster, from the tables of both.

    The pair of an object with itself is left out, as in Eq. (6) of :mod:`consilience._evidence.table`. NaN
    where no pair was seen.
    """
    groups = fitted.evidence
    together, seen = cells.table.T @ groups.table, cells.seen.T @ groups.seen
    sights = (fitted.distinct.labels >= 0).sum(axis=1)[fitted.inverse]
    loops = cells.weights * np.minimum(cells.weights, 1.0 / cells.unit) * sights
    itself = np.zeros_like(seen)
    np.add.at(itself, (cells.groups, fitted.labels), loops)
    some = seen - itself > 1e-12 * seen  # sums of fractional weights leave a rounding error
    return np.where(some, np.clip((together - itself) / np.where(some, seen - itself, 1.0), 0.0, 1.0), np.nan)


def inner_order(fitted: Fitted) -> np.ndarray:
    """The objects by cluster and, inside a cluster, along the main direction of disagreement.

    That direction is the first principal component of the cluster's rows of Y, by a few power steps for all
    clusters at once; it puts the parts of a cluster that are often together side by side. O(u m) time.
    """
    codes, w = fitted.distinct.labels, fitted.distinct.sample_weight
    own = fitted.labels[fitted.distinct.rows]
    c = fitted.n_clusters
    mass = np.bincount(own, w, minlength=c)
    score = np.cos(1.0 + np.arange(own.size))
    for _ in range(_POWER_STEPS):
        score -= (np.bincount(own, w * score, minlength=c) / np.maximum(mass, np.finfo(float).tiny))[own]
        pull = np.zeros(own.size)
        for column, k in zip(codes.T, fitted.distinct.n_clusters_per_clustering):
            seen = np.flatnonzero(column >= 0)
            where = own[seen] * k + column[seen]
            pull[seen] += np.bincount(where, (w * score)[seen], minlength=c * k)[where]
        scale = np.maximum(np.sqrt(np.bincount(own, w * pull**2, minlength=c)), np.finfo(float).tiny)
        score = pull / scale[own]
    sure = (
        fitted.confidence
        - (np.bincount(fitted.labels, fitted.confidence, minlength=c) / fitted.sizes)[fitted.labels]
    )
    along = score[fitted.inverse]
    forward = np.bincount(fitted.labels, sure * along, minlength=c) >= 0
    along = np.where(forward[fitted.labels], along, -along).round(9)  # the surer end first
    return np.lexsort((-fitted.confidence, -along, fitted.labels))


def cell_counts(sizes: np.ndarray, most: int) -> np.ndarray | None:
    """Cells of each cluster: one per object if they fit, else by size and at least one; None if too many."""
    if sizes.sum() <= most:
        return sizes
    if len(sizes) > most:
        return None
    return np.minimum(1 + np.floor((most - len(sizes)) * sizes / sizes.sum()).astype(np.int64), sizes)


def _split(size: int, count: int) -> np.ndarray:
    """``count`` nearly equal parts of ``size``."""
    edges = np.linspace(0, size, count + 1).round().astype(np.int64)
    return np.diff(edges)
