"""How often objects are placed correctly, against their confidence."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._data.labels import encode
from ..errors import InputError
from ..metrics import align
from .style import axes, color, plain


class CalibrationDisplay:
    """Share of correctly placed objects, against their confidence.

    Clusters are matched to classes one to one, as :func:`consilience.metrics.accuracy` does; an object is
    placed correctly if its cluster is matched to its class. If confidence is reliable, the share rises with
    it.

    Attributes
    ----------
    edges : array (bins + 1,)
        Edges of the bins; a value on an edge belongs to the bin above it, and 1 to the last bin.
    counts : array (bins,)
        Number of objects in each bin.
    right : array (bins,)
        Share of them that is placed correctly; NaN for an empty bin.
    confidence : array (bins,)
        Their mean confidence; NaN for an empty bin.
    error : float
        Expected calibration error: mean distance between ``right`` and ``confidence``, weighted by the
        counts.

    Examples
    --------
    >>> import consilience as cs
    >>> model = cs.consensus.EvidenceAccumulation(2).fit([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
    >>> display = cs.plot.CalibrationDisplay.from_estimator(model, ["a", "b", "b", "b"], edges=[0, 0.9, 1])
    >>> display.counts.tolist(), display.right.round(2).tolist()
    ([1, 3], [0.0, 1.0])
    """

    def __init__(self, edges, counts, right, confidence):
        self.edges = edges
        self.counts = counts
        self.right = right
        self.confidence = confidence

    @property
    def error(self) -> float:
        some = self.counts > 0
        return float(np.average(np.abs(self.right - self.confidence)[some], weights=self.counts[some]))

    @classmethod
    def from_estimator(
        cls, model: Any, labels_true: Any, *, bins: int = 10, edges: Any = None
    ) -> CalibrationDisplay:
        """Make the display of a fitted model with ``labels_`` and ``confidence_``, and the known classes.

        ``bins`` is the number of bins of equal width. ``edges`` gives their edges instead, rising from 0 to
        1.
        """
        check_is_fitted(model)
        if not hasattr(model, "labels_") or not hasattr(model, "confidence_"):
            raise InputError(
                f"{type(model).__name__} has no labels_ and confidence_: expected an estimator of "
                "consilience after fit(). For results from elsewhere use from_labels(labels, confidence, "
                "labels_true)."
            )
        return cls.from_labels(model.labels_, model.confidence_, labels_true, bins=bins, edges=edges)

    @classmethod
    def from_labels(
        cls, labels: Any, confidence: Any, labels_true: Any, *, bins: int = 10, edges: Any = None
    ) -> CalibrationDisplay:
        """Make the display of clusters, confidence in [0, 1] and classes of the same objects.

        Objects without a class are left out.
        """
        edges = _check_edges(bins, edges)
        classes, _ = encode(labels_true, "labels_true")
        sure = np.asarray(confidence, float)
        if sure.shape != classes.shape:
            raise InputError(
                f"confidence has shape {sure.shape} for the {len(classes)} objects of labels_true; give "
                f"one value each."
            )
        if not ((sure >= 0) & (sure <= 1)).all():  # also NaN
            worst = sure[~((sure >= 0) & (sure <= 1))][0]
            raise InputError(f"confidence holds {worst:g}: expected values between 0 and 1.")
        known = classes >= 0
        if not known.any():
            raise InputError("labels_true gives no object a class; give at least one.")
        placed = align(labels, classes) == classes
        which = np.clip(np.searchsorted(edges, sure[known], side="right") - 1, 0, len(edges) - 2)
        counts = np.bincount(which, minlength=len(edges) - 1)
        with np.errstate(invalid="ignore"):
            right = np.bincount(which, placed[known], minlength=counts.size) / counts
            mean = np.bincount(which, sure[known], minlength=counts.size) / counts
        return cls(edges, counts, right, mean)

    def plot(self, ax: Any = None) -> CalibrationDisplay:
        """Draw a bar for each bin with its number of objects, and the line where share equals confidence."""
        ax = axes(ax, "CalibrationDisplay.plot()", figsize=(5.6, 4.4))
        shares = np.nan_to_num(self.right)
        ax.bar(
            self.edges[:-1],
            shares,
            np.diff(self.edges),
            align="edge",
            color=color(0),
            alpha=0.75,
            edgecolor="white",
        )
        some = self.counts > 0
        ax.plot(self.confidence[some], self.right[some], "o", color="black", ms=4)
        ax.plot([0, 1], [0, 1], color="0.5", lw=1, ls="--")
        middles = (self.edges[:-1] + self.edges[1:]) / 2
        for x, share, count in zip(middles[some], shares[some], self.counts[some]):
            ax.text(x, share + 0.01, f"{count:,}", ha="center", va="bottom", fontsize=8)
        ax.set(
            xlim=(0, 1),
            ylim=(0, 1.08),
            xlabel="confidence (dots: mean of the bin)",
            ylabel="share placed correctly",
            title="Reliability of confidence (objects in each bin)",
        )
        plain(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _check_edges(bins: int, edges: Any) -> np.ndarray:
    """Edges of the bins, from 0 to 1."""
    if edges is None:
        if isinstance(bins, bool) or not isinstance(bins, (int, np.integer)) or bins < 1:
            raise InputError(f"bins={bins!r} is not valid: expected a whole number from 1 on.")
        return np.linspace(0, 1, int(bins) + 1)
    values = np.asarray(edges, float)
    rising = values.ndim == 1 and values.size > 1 and (np.diff(values) > 0).all()
    if not rising or values[0] != 0 or values[-1] != 1:
        raise InputError(f"edges={edges!r} is not valid: expected numbers that rise from 0 to 1.")
    return values
