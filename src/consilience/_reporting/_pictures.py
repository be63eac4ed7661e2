"""Pictures of pairs and of objects: the heat map, item consensus, the plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._results.view import Fitted
from ..plot import CoassociationDisplay, EmbeddingDisplay
from ._certainty import runners_up
from ._embed import levels, pack, printable, spread
from ._words import number, percent

HEAT_CELLS = 180
POINTS = 4000
_ORDERED = 65_536  # objects that the heat map can name
GROUPS = 40  # consensus clusters that item consensus and the alluvial picture have room for


def heat(fitted: Fitted, display: CoassociationDisplay) -> tuple[dict[str, str], dict[str, Any]]:
    grouped = display.cell_size.max() > 1
    sizes = display.cell_size
    text = (
        "Rows and columns are the objects, cluster by cluster; the stronger the color, the more often two "
        "objects are together. Firm clusters are squares on the diagonal."
    )
    if grouped:
        size = f"{sizes.min()}" if sizes.min() == sizes.max() else f"{sizes.min()} to {number(sizes.max())}"
        text += f" Each cell averages over blocks of {size} neighboring objects."
    within, across = fitted.togetherness
    aria = (
        f"Heat map of how often objects are together, ordered by cluster: {percent(within)} inside clusters, "
        f"{percent(across)} across. Use the arrow keys to read cells."
    )
    data: dict[str, Any] = {
        "values": shades(display.values),
        "cluster": display.cell_cluster.tolist(),
        "size": sizes.tolist(),
    }
    if fitted.n_samples <= _ORDERED:  # to name the objects of a cell
        data["order"] = pack(display.order, "u2")
    return {"text": text, "aria": aria}, data


def shades(values: np.ndarray) -> str:
    """Shares in [0, 1] as bytes 0..254, 255 where there is none."""
    return pack(
        np.where(np.isnan(values), 255, np.round(254 * np.clip(np.nan_to_num(values), 0, 1))).ravel(), "u1"
    )


def items(fitted: Fitted, display: CoassociationDisplay) -> tuple[dict[str, str], dict[str, Any]] | None:
    """How often the objects of each cell are together with each cluster.

    None if there is one cluster, or if there are too many.
    """
    values = display.items
    if values is None or not 1 < fitted.n_clusters <= GROUPS:
        return None
    text = (
        "Columns are the objects in the same order, rows are the clusters: the stronger the color, the "
        "more often an object is together with the objects of a cluster. A firm object is dark only in the "
        "row of its own cluster."
    )
    own = values[np.arange(len(values)), display.cell_cluster]
    strayed = int((np.nan_to_num(values.max(axis=1)) > np.nan_to_num(own) + 1e-12).sum())
    aria = (
        f"How often objects are together with each cluster: {percent(strayed / len(values))} of the columns "
        "are more together with another cluster than with their own. Use the arrow keys to read cells."
    )
    return {"text": text, "aria": aria}, {"values": shades(values.T)}


def plane(fitted: Fitted, X: Any) -> EmbeddingDisplay:
    """The objects in the plane; the same objects with any X."""
    return EmbeddingDisplay.from_fitted(fitted, X, POINTS)


def scatter(fitted: Fitted, display: EmbeddingDisplay) -> tuple[dict[str, str], dict[str, Any]]:
    """One picture of the plane: its words, and where the points are."""
    p, n = len(display.points), fitted.n_samples
    if display.what == "circle":
        text = (
            "Every cluster has a place on a circle, next to a similar one. An object lies between the "
            "clusters to which the base clusterings tie it: stray points are doubtful. The spots are spread "
            "out to show all their objects."
        )
    elif display.what == "dimension":
        text = (
            "Objects that the clusterings often put together lie close to each other (classical "
            "scaling of co-association)."
        )
    else:
        text = "The two directions in which the features vary most (principal components)."
    if p < n:
        text += (
            f" {number(p)} of the {number(n)} objects are shown: a random sample of every cluster in "
            f"proportion to its size."
        )
    x, y = (spread(column) for column in display.points.T)
    centers = [
        [int(j), int(np.median(x[display.labels == j])), int(np.median(y[display.labels == j]))]
        for j in np.unique(display.labels)
    ]
    data: dict[str, Any] = {"x": pack(x, "u2"), "y": pack(y, "u2"), "centers": centers}
    across, up = display.axis_names()
    axes = f"Across: {across}. Up: {up}." if across else ""
    aria = (
        f"Scatter plot of {number(p)} objects by cluster. Use the arrow keys to go through them, the "
        f"most doubtful first."
    )
    return {"text": text, "axes": axes, "aria": aria}, data


def points(fitted: Fitted, index: np.ndarray) -> dict[str, Any]:
    """What the page tells about the objects in the plane."""
    data: dict[str, Any] = {
        "labels": fitted.labels[index].tolist(),
        "confidence": levels(fitted.confidence[index]).tolist(),
        "ties": levels(fitted.support[index]).tolist(),
        "index": index.tolist(),
        "second": runners_up(fitted, index).tolist(),
    }
    if fitted.names is not None:
        data["names"] = [printable(fitted.name(i), 120) for i in index]
    return data
