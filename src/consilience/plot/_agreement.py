"""Base clusterings and the consensus: which agree, which were trusted, and where objects went."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._results.view import Fitted
from ..errors import InputError
from .style import axes, color, plain, shorten


class AgreementDisplay:
    """Composition of the clusters of every base clustering by consensus clusters.

    Attributes
    ----------
    table : array (k, n_clusters)
        Weight of the objects in each base cluster and consensus cluster; cluster j of clustering i is row
        ``offsets[i] + j``.
    nmi, ari : arrays (m,)
        Agreement of each base clustering with the consensus on the objects that it saw.
    clustering_names : list of str
    offsets : array (m + 1,)

    Examples
    --------
    >>> import consilience as cs
    >>> model = cs.consensus.EvidenceAccumulation(2).fit([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
    >>> display = cs.plot.AgreementDisplay.from_estimator(model)
    >>> display.nmi.round(2).tolist(), display.table[:2].tolist()
    ([1.0, 1.0, 0.34], [[2.0, 0.0], [0.0, 2.0]])
    """

    def __init__(self, table, nmi, ari, clustering_names, offsets):
        self.table = table
        self.nmi = nmi
        self.ari = ari
        self.clustering_names = clustering_names
        self.offsets = offsets

    @classmethod
    def from_estimator(cls, model: Any) -> AgreementDisplay:
        """Make the display of a fitted consensus method or pipeline."""
        return cls.from_fitted(Fitted.from_estimator(model))

    @classmethod
    def from_ensemble(cls, ensemble: Any, labels: Any) -> AgreementDisplay:
        """Make the display of base clusterings and any labels of the same objects."""
        return cls.from_fitted(Fitted.from_ensemble(ensemble, labels))

    @classmethod
    def from_fitted(cls, fitted: Fitted) -> AgreementDisplay:
        """Make the display of the view of a fitted model that all displays share."""
        fitted = Fitted.of(fitted)
        distinct = fitted.distinct
        return cls(fitted.evidence.table, fitted.nmi, fitted.ari, distinct.clustering_names, distinct.offsets)

    def plot(
        self, ax: Any = None, *, clustering: int | None = None, cmap: Any = "cividis"
    ) -> AgreementDisplay:
        """Draw the clusters of one base clustering, by default of the one closest to the consensus."""
        ax = axes(ax, "AgreementDisplay.plot()", figsize=(5.6, 4.6))
        i = int(np.nanargmax(self.nmi)) if clustering is None else clustering
        if not -len(self.nmi) <= i < len(self.nmi):
            raise InputError(
                f"clustering={clustering} is not valid: there are {len(self.nmi)} clusterings, counted "
                f"from 0."
            )
        i %= len(self.nmi)
        rows = self.table[self.offsets[i] : self.offsets[i + 1]]
        share = rows / np.maximum(rows.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        order = by_barycentre(rows)
        image = ax.imshow(share[order], vmin=0, vmax=1, cmap=cmap, aspect="auto")
        ax.set_xticks(range(rows.shape[1]), range(rows.shape[1]))
        if len(order) <= 40:
            ax.set_yticks(range(len(order)), order)
        ax.set(xlabel="consensus cluster", ylabel=f"cluster of {shorten(self.clustering_names[i])}")
        ax.set_title(f"NMI {self.nmi[i]:.2f}, ARI {self.ari[i]:.2f}")
        ax.figure.colorbar(image, ax=ax, label="share of the base cluster", shrink=0.85)
        self.ax_, self.figure_ = ax, ax.figure
        return self


class Bands(NamedTuple):
    """A column of an alluvial picture: its nodes from top to bottom, small clusters merged into the last."""

    names: list[str]
    place: np.ndarray  # (k_i,) node of each base cluster
    flows: np.ndarray  # (nodes, n_clusters) weight of the objects in both node and consensus cluster


class AlluvialDisplay:
    """Flow of objects from cluster to cluster, through some base clusterings to the consensus.

    Attributes
    ----------
    stages : list of str
        Names of the columns; the consensus is the last.
    nodes : list of arrays
        Weight of the clusters of each column, from top to bottom; the last merges the small clusters of the
        column.
    node_names : list of lists of str
    flows : list of arrays
        ``flows[s][a, b]`` is the weight that goes from cluster a of column s to cluster b of column s + 1.

    Examples
    --------
    >>> import consilience as cs
    >>> model = cs.consensus.EvidenceAccumulation(2).fit([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
    >>> display = cs.plot.AlluvialDisplay.from_estimator(model, clusterings=[2])
    >>> display.stages, display.flows[0].tolist()
    (['clustering 2', 'consensus'], [[1.0, 0.0], [1.0, 2.0]])
    """

    def __init__(self, stages, nodes, node_names, flows):
        self.stages = stages
        self.nodes = nodes
        self.node_names = node_names
        self.flows = flows

    @classmethod
    def from_estimator(
        cls, model: Any, *, clusterings: Any = None, max_clusters: int = 14
    ) -> AlluvialDisplay:
        """Make the display of a fitted method.

        By default, it shows the base clusterings furthest from it, in the middle, and closest to it.
        """
        return cls.from_fitted(Fitted.from_estimator(model), clusterings, max_clusters)

    @classmethod
    def from_ensemble(
        cls, ensemble: Any, labels: Any, *, clusterings: Any = None, max_clusters: int = 14
    ) -> AlluvialDisplay:
        """Make the display of base clusterings and any labels of the same objects."""
        return cls.from_fitted(Fitted.from_ensemble(ensemble, labels), clusterings, max_clusters)

    @classmethod
    def from_fitted(cls, fitted: Fitted, clusterings: Any = None, max_clusters: int = 14) -> AlluvialDisplay:
        """Make the display of the view of a fitted model that all displays share."""
        fitted = Fitted.of(fitted)
        distinct = fitted.distinct
        if clusterings is None:
            order = np.argsort(np.nan_to_num(fitted.nmi), kind="stable")
            picks = dict.fromkeys([int(order[0]), int(order[(len(order) - 1) // 2]), int(order[-1])])
            clusterings = list(picks)
        chosen = [int(i) for i in np.atleast_1d(clusterings)]
        outside = [i for i in chosen if not 0 <= i < distinct.n_clusterings]
        if outside:
            raise InputError(
                f"There is no clustering {outside[0]}: they are counted from 0 to "
                f"{distinct.n_clusterings - 1}."
            )
        bands = [cls.bands(fitted, i, max_clusters) for i in chosen]
        # Missing labels have their own place, below all others.
        columns = [
            np.append(band.place, len(band.names))[distinct.labels[:, i]][fitted.inverse]
            for i, band in zip(chosen, bands)
        ]
        gaps = [bool((distinct.labels[:, i] < 0).any()) for i in chosen]
        names = [band.names + ["not seen"] * gap for band, gap in zip(bands, gaps)]
        flows = [
            np.bincount(a * len(right) + b, fitted.weights, minlength=len(left) * len(right)).reshape(
                len(left), -1
            )
            for a, b, left, right in zip(columns, columns[1:], names, names[1:])
        ]
        unseen = columns[-1] == len(bands[-1].names)
        below = np.bincount(fitted.labels[unseen], fitted.weights[unseen], minlength=fitted.n_clusters)
        flows.append(np.vstack([bands[-1].flows, below]) if gaps[-1] else bands[-1].flows)
        nodes = [flow.sum(axis=1) for flow in flows]
        stages = [distinct.clustering_names[i] for i in chosen]
        names.append([str(j) for j in range(fitted.n_clusters)])
        return cls([*stages, "consensus"], [*nodes, fitted.cluster_weights], names, flows)

    @staticmethod
    def bands(fitted: Fitted, clustering: int, max_clusters: int, max_groups: int | None = None) -> Bands:
        """One base clustering as a column, with the flows from it into the consensus.

        Beyond ``max_groups``, the smallest consensus clusters are merged into the last.
        """
        distinct = fitted.distinct
        rows = fitted.evidence.table[distinct.offsets[clustering] : distinct.offsets[clustering + 1]]
        if max_groups is not None and max_groups < fitted.n_clusters:
            rows = np.hstack([rows[:, :max_groups], rows[:, max_groups:].sum(axis=1, keepdims=True)])
        kept = _largest(rows, max_clusters)
        rest = len(rows) - len(kept)
        names = [str(distinct.categories[clustering][j]) for j in kept]
        place = np.full(len(rows), len(kept))
        place[kept] = np.arange(len(kept))
        flows = np.zeros((len(kept) + (rest > 0), rows.shape[1]))
        np.add.at(flows, place, rows)
        return Bands(names + [f"{rest} smaller"] * (rest > 0), place, flows)

    def plot(self, ax: Any = None) -> AlluvialDisplay:
        """Draw the columns; bands into the last column have the color of their consensus cluster."""
        ax = axes(ax, "AlluvialDisplay.plot()", figsize=(2.2 + 2.0 * len(self.stages), 4.8))
        total = self.nodes[-1].sum()
        gap = 0.012 * total
        tops = []
        for nodes in self.nodes:
            room = gap * (max(map(len, self.nodes)) - len(nodes)) / 2
            tops.append(room + np.concatenate([[0.0], np.cumsum(nodes + gap)[:-1]]))
        x = np.linspace(0, 1, 30)
        bend = 3 * x**2 - 2 * x**3
        for s, flow in enumerate(self.flows):
            left, right = tops[s].copy(), tops[s + 1].copy()
            last = s == len(self.flows) - 1
            for a, b in zip(*np.nonzero(flow)):
                width = flow[a, b]
                low = left[a] + (right[b] - left[a]) * bend
                shade = color(b) if last else "0.6"
                ax.fill_between(s + 0.04 + 0.92 * x, low, low + width, color=shade, alpha=0.45, lw=0)
                left[a] += width
                right[b] += width
        for s, (nodes, top) in enumerate(zip(self.nodes, tops)):
            last = s == len(self.nodes) - 1
            for j, (weight, y) in enumerate(zip(nodes, top)):
                ax.bar(s, weight, 0.08, y, color=color(j) if last else "0.35")
                if weight >= 0.02 * total:
                    side = 1 if last else -1
                    ax.text(s + 0.07 * side, y + weight / 2, shorten(self.node_names[s][j], 10), va="center",
                            ha="left" if last else "right", fontsize="small")  # fmt: skip
        ax.set_xticks(range(len(self.stages)), [shorten(stage, 18) for stage in self.stages])
        ax.set_xlim(-0.3, len(self.stages) - 0.75)
        ax.invert_yaxis()
        ax.set_yticks([])
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        ax.set_title("Where objects go")
        self.ax_, self.figure_ = ax, ax.figure
        return self


class WeightsDisplay:
    """Weights that a method learned for the base clusterings.

    Attributes
    ----------
    weights : array (m,)
        ``clustering_weights_`` of the method: larger means more trusted; they add up to 1.
    nmi : array (m,)
        Agreement of each base clustering with the consensus, for comparison with the weight.
    clustering_names : list of str

    Examples
    --------
    >>> import consilience as cs
    >>> model = cs.consensus.LWEA(n_clusters=2).fit([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
    >>> display = cs.plot.WeightsDisplay.from_estimator(model)
    >>> display.weights.round(2).tolist()
    [0.39, 0.39, 0.22]
    """

    def __init__(self, weights, nmi, clustering_names):
        self.weights = weights
        self.nmi = nmi
        self.clustering_names = clustering_names

    @classmethod
    def from_estimator(cls, model: Any) -> WeightsDisplay:
        """Make the display of a fitted method that weights clusterings or their clusters."""
        return cls.from_fitted(Fitted.from_estimator(model))

    @classmethod
    def from_fitted(cls, fitted: Fitted) -> WeightsDisplay:
        """Make the display of the view of a fitted model that all displays share."""
        fitted = Fitted.of(fitted)
        if fitted.trust is None:
            raise InputError(
                f"{type(fitted.method).__name__} learns no weights: it trusts all base clusterings equally."
            )
        return cls(fitted.trust, fitted.nmi, fitted.distinct.clustering_names)

    def plot(self, ax: Any = None) -> WeightsDisplay:
        """Draw bars, the most trusted first."""
        order = np.argsort(-self.weights, kind="stable")
        ax = axes(ax, "WeightsDisplay.plot()", figsize=(6.2, 3.2))
        ax.bar(np.arange(len(order)), self.weights[order], color="#0072b2")
        if len(order) <= 30:
            names = [shorten(self.clustering_names[i], 16) for i in order]
            ax.set_xticks(np.arange(len(order)), names, rotation=60, ha="right", fontsize="small")
        else:
            ax.set_xlabel(f"{len(order)} base clusterings, by weight")
        ax.set_ylabel("share of the trust")
        ax.set_title("Trust in the base clusterings")
        plain(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def by_barycentre(rows: np.ndarray) -> np.ndarray:
    """Order of base clusters by the mean number of their consensus clusters, so that few bands cross."""
    total = np.maximum(rows.sum(axis=1), np.finfo(float).tiny)
    return np.argsort(rows @ np.arange(rows.shape[1]) / total, kind="stable")


def _largest(rows: np.ndarray, most: int) -> np.ndarray:
    """The largest base clusters, in the order of :func:`by_barycentre`."""
    order = by_barycentre(rows)
    if len(order) <= most:
        return order
    big = np.zeros(len(order), bool)
    big[np.argsort(-rows.sum(axis=1), kind="stable")[: most - 1]] = True
    return order[big[order]]
