"""How sure the base clusterings are, by cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._results.view import Fitted
from .style import axes, color, plain


class ConfidenceDisplay:
    """Distribution of the confidence of objects, by cluster.

    Attributes
    ----------
    edges : array (bins + 1,)
    counts : array (n_clusters, bins)
        Number of objects of each cluster with a confidence between two edges (the last edge included).
    quartiles : array (n_clusters, 3)
    sizes : array (n_clusters,)

    Examples
    --------
    >>> import consilience as cs
    >>> model = cs.consensus.EvidenceAccumulation(2).fit([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
    >>> cs.plot.ConfidenceDisplay.from_estimator(model).counts.sum(axis=1).tolist()
    [2, 2]
    """

    def __init__(self, edges, counts, quartiles):
        self.edges = edges
        self.counts = counts
        self.quartiles = quartiles
        self.sizes = counts.sum(axis=1)

    @classmethod
    def from_estimator(cls, model: Any, *, bins: int = 20) -> ConfidenceDisplay:
        """Make the display of a fitted consensus method or pipeline."""
        return cls.from_fitted(Fitted.from_estimator(model), bins)

    @classmethod
    def from_ensemble(
        cls, ensemble: Any, labels: Any, *, confidence: Any = None, bins: int = 20
    ) -> ConfidenceDisplay:
        """Make the display of base clusterings and any labels of the same objects."""
        return cls.from_fitted(Fitted.from_ensemble(ensemble, labels, confidence), bins)

    @classmethod
    def from_fitted(cls, fitted: Fitted, bins: int = 20) -> ConfidenceDisplay:
        """Make the display of the view of a fitted model that all displays share."""
        fitted = Fitted.of(fitted)
        sure = np.clip(fitted.confidence, 0.0, 1.0)
        which = np.minimum((sure * bins).astype(np.int64), bins - 1)
        counts = np.bincount(fitted.labels * bins + which, minlength=fitted.n_clusters * bins).reshape(
            -1, bins
        )
        order = np.argsort(fitted.labels, kind="stable")
        groups = np.split(sure[order], np.cumsum(fitted.sizes)[:-1])
        quartiles = np.array([np.percentile(group, [25, 50, 75]) for group in groups])
        return cls(np.linspace(0, 1, bins + 1), counts, quartiles)

    def plot(self, ax: Any = None) -> ConfidenceDisplay:
        """Draw one ridge per cluster, with its median."""
        c = len(self.counts)
        ax = axes(ax, "ConfidenceDisplay.plot()", figsize=(6.2, 0.9 + 0.42 * c))
        peaks = np.maximum(self.counts.max(axis=1, keepdims=True), 1)
        heights = 0.85 * self.counts / peaks
        for j in range(c):
            base = c - 1 - j
            ax.stairs(heights[j] + base, self.edges, baseline=base, fill=True, color=color(j), alpha=0.75)
            ax.plot([self.quartiles[j, 1]] * 2, [base, base + 0.85], color="black", lw=1)
        ax.set_yticks(np.arange(c)[::-1] + 0.1, [f"{j} ({size:,})" for j, size in enumerate(self.sizes)])
        ax.tick_params(axis="y", length=0)
        ax.set(
            xlim=(0, 1),
            xlabel="confidence (line: median)",
            ylabel="cluster (objects)",
            title="Confidence by cluster",
        )
        plain(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self
