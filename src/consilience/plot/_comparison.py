"""Several consensus methods side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._data.ensemble import as_ensemble
from .._results.view import Fitted
from ..errors import InputError
from ..metrics import ari, scores
from .style import as_mapping, axes, shorten


class ComparisonDisplay:
    """Agreement of several methods with each other, the base clusterings, and known classes.

    Attributes
    ----------
    names : list of str
    ari : array (n_models, n_models)
        Adjusted Rand index between each pair of results.
    scores : dict of name -> dict of measure -> float
        For each result: number of clusters, mean NMI with its base clusterings (``"base_nmi"``), mean
        confidence, mean firmness, share of doubtful objects (confidence below 0.6; ``"doubtful"``); with
        ``labels_true`` also ``"accuracy"``, ``"nmi"`` and ``"ari"``.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1]])
    >>> average = cs.consensus.EvidenceAccumulation(2).fit(base)
    >>> models = {"average": average, "k-means": cs.consensus.CoassociationKMeans(2).fit(base)}
    >>> cs.plot.ComparisonDisplay.from_estimators(models).ari.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    def __init__(self, names, ari, scores):
        self.names = names
        self.ari = ari
        self.scores = scores

    @classmethod
    def from_estimators(cls, models: Any, *, labels_true: Any = None) -> ComparisonDisplay:
        """Make the display of a dict of fitted methods by name, or a list, and the true classes if known."""
        return cls.from_fitted(
            {name: Fitted.from_estimator(model) for name, model in as_mapping(models).items()}, labels_true
        )

    @classmethod
    def from_ensemble(
        cls, ensemble: Any, labels: dict[str, Any], *, labels_true: Any = None
    ) -> ComparisonDisplay:
        """Make the display of base clusterings and results by name, such as those of other programs."""
        ensemble = as_ensemble(ensemble)
        return cls.from_fitted(
            {name: Fitted.from_ensemble(ensemble, result) for name, result in labels.items()}, labels_true
        )

    @classmethod
    def from_fitted(cls, fitted: dict[str, Fitted], labels_true: Any = None) -> ComparisonDisplay:
        """Make the display of the view of a fitted model that all displays share."""
        fitted = {name: Fitted.of(each) for name, each in as_mapping(fitted).items()}
        names = list(fitted)
        lengths = {name: result.n_samples for name, result in fitted.items()}
        if len(set(lengths.values())) > 1:
            raise InputError(
                "The models have different numbers of objects "
                f"({', '.join(f'{k}: {v}' for k, v in lengths.items())}); a comparison needs the same "
                "objects in the same order."
            )
        table = np.eye(len(names))
        for i, a in enumerate(names):
            for j in range(i):
                table[i, j] = table[j, i] = ari(fitted[a].labels, fitted[names[j]].labels)
        measured: dict[str, dict[str, float]] = {}
        for name, result in fitted.items():
            measured[name] = {
                "clusters": float(result.n_clusters),
                "base_nmi": float(np.nanmean(result.nmi)),
                "confidence": float(result.confidence.mean()),
                "firmness": result.mean_firmness,
                "doubtful": float(result.doubtful.mean()),
            }
            if labels_true is not None:
                found = scores(labels_true, result.labels, missing="ignore")
                measured[name] |= {key: found[key] for key in ("accuracy", "nmi", "ari")}
        return cls(names, table, measured)

    def plot(self, ax: Any = None, *, cmap: Any = "cividis") -> ComparisonDisplay:
        """Draw the matrix of adjusted Rand indices."""
        k = len(self.names)
        ax = axes(ax, "ComparisonDisplay.plot()", figsize=(2.6 + 0.75 * k, 1.8 + 0.65 * k))
        image = ax.imshow(self.ari, vmin=min(0.0, float(self.ari.min())), vmax=1, cmap=cmap)
        for i in range(k):
            for j in range(k):
                dark = image.norm(self.ari[i, j]) < 0.55
                ax.text(
                    j,
                    i,
                    f"{self.ari[i, j]:.2f}",
                    ha="center",
                    va="center",
                    color="white" if dark else "black",
                )
        names = [shorten(name) for name in self.names]
        ax.set_xticks(range(k), names, rotation=30, ha="right")
        ax.set_yticks(range(k), names)
        ax.set_title("Agreement of methods (adjusted Rand index)")
        self.ax_, self.figure_ = ax, ax.figure
        return self
