"""What distinguishes the clusters, feature by feature."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._data.features import as_features
from .._results.view import Fitted
from ..plot import FeaturesDisplay
from ._embed import printable
from ._words import number

_SIGNATURES = 5  # features shown of a cluster
_FEATURE_CELLS = 20_000_000  # clusters times features that are compared
_FEATURE_CLUSTERS = 24


def distinguishing(fitted: Fitted, X: Any) -> dict[str, Any] | None:
    """The features that differ most between each cluster and the rest; None if nothing can be compared."""
    c = fitted.n_clusters
    if X is None or c < 2:
        return None
    features = as_features(X)
    if c * features.n_features > _FEATURE_CELLS:
        return {
            "panels": [],
            "text": [
                f"{number(c)} clusters by {number(features.n_features)} features are too many to compare "
                f"here."
            ],
        }
    display = FeaturesDisplay.from_fitted(fitted, features)
    panels = []
    for j in range(min(c, _FEATURE_CLUSTERS)):
        chosen = [f for f in display.top(j, _SIGNATURES) if display.effect[j, f] != 0]
        largest = max(
            (abs(display.effect[j, f]) for f in chosen if np.isfinite(display.effect[j, f])), default=1.0
        )
        panels.append({"cluster": j, "rows": [_feature(display, j, f, largest) for f in chosen]})
    text = [
        "For each cluster, the features that differ most from those of all other objects. Effect: the "
        "difference of the means in units of the spread inside the groups (1: the means lie one standard "
        "deviation apart), with its standard error; means with their standard deviations."
    ]
    text.append(
        "The clusters were found in these same data, so effects describe them; they are not a test."
        if fitted.pipeline is not None
        else "If the clusters were found in these features, effects describe them; they are not a test."
    )
    if c > len(panels):
        text.append(f"The {len(panels)} largest clusters of {number(c)}.")
    return {"panels": panels, "text": text}


def _feature(display: FeaturesDisplay, j: int, f: int, largest: float) -> dict[str, Any]:
    effect, error = float(display.effect[j, f]), float(display.error[j, f])
    sign = "+" if effect > 0 else "−"
    whole = not np.isfinite(effect)
    return {
        "name": printable(display.names[f], 60),
        "inside": f"{display.mean[j, f]:.3g} ± {display.deviation[j, f]:.2g}",
        "rest": f"{display.rest_mean[j, f]:.3g} ± {display.rest_deviation[j, f]:.2g}",
        "effect": f"{sign} no overlap" if whole else f"{sign}{abs(effect):.2f} ± {error:.2f}",
        "size": 1.0 if whole else abs(effect) / largest,
    }
