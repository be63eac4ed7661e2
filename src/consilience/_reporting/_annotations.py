"""Annotations of the objects, for each cell of the heat map and each point of the scatter plot."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._data.annotations import COLORS, Annotation
from .._results.view import Fitted
from ..metrics import nmi
from ..plot import CoassociationDisplay
from ._embed import printable
from ._words import percent


def association(annotation: Annotation, fitted: Fitted) -> tuple[float, str]:
    """(how well the clusters predict it, the measure): NMI, or the share of the variance between clusters."""
    if annotation.values is None:
        known = annotation.codes >= 0
        if len(annotation.categories) < 2 or not known.any():
            return float("nan"), "NMI"
        return nmi(annotation.codes[known], fitted.labels[known]), "NMI"
    known = ~np.isnan(annotation.values)
    values, labels, w = annotation.values[known], fitted.labels[known], fitted.weights[known]
    mass = np.bincount(labels, w, minlength=fitted.n_clusters)
    means = np.bincount(labels, w * values, minlength=fitted.n_clusters) / np.maximum(
        mass, np.finfo(float).tiny
    )
    center = np.average(values, weights=w)
    total = float(w @ (values - center) ** 2)
    return (float(mass @ (means - center) ** 2) / total if total > 0 else float("nan")), "share of variance"


def strip(annotation: Annotation, heat: CoassociationDisplay, points: np.ndarray) -> dict[str, Any]:
    """What the page draws: a color for each cell of the heat map and each point, and words for both."""
    b = len(heat.cell_size)
    cells = np.empty(len(heat.order), int)
    cells[heat.order] = np.repeat(np.arange(b), heat.cell_size)
    if annotation.values is None:
        names = [printable(category, 60) for category in annotation.categories]
        k, known = len(names), annotation.codes >= 0
        counts = np.bincount(cells[known] * k + annotation.codes[known], minlength=b * k).reshape(b, k)
        main = np.where(counts.sum(axis=1) > 0, counts.argmax(axis=1), -1) if k else np.full(b, -1)
        share = counts.max(axis=1, initial=0) / heat.cell_size
        text = [
            "unknown" if j < 0 else names[j] + ("" if size == 1 else f" ({percent(s)})")
            for j, s, size in zip(main, share, heat.cell_size)
        ]
        own = k if k <= COLORS else COLORS - 1  # categories with a color of their own
        legend = [[j, name] for j, name in enumerate(names[:own])]
        if k > own:
            legend.append([own, f"{k - own} others"])
        return {
            "name": printable(annotation.name, 60),
            "numeric": False,
            "cells": np.minimum(main, own).tolist(),
            "text": text,
            "points": np.minimum(annotation.codes[points], own).tolist(),
            "legend": legend,
        }
    values = annotation.values
    known = ~np.isnan(values)
    low, high = (float(values[known].min()), float(values[known].max())) if known.any() else (0.0, 0.0)
    counts = np.bincount(cells[known], minlength=b)
    means = np.bincount(cells[known], values[known], minlength=b) / np.maximum(counts, 1)
    return {
        "name": printable(annotation.name, 60),
        "numeric": True,
        "cells": np.where(counts > 0, _levels(means, low, high), -1).tolist(),
        "text": [f"{v:.4g}" if count else "unknown" for v, count in zip(means, counts)],
        "points": np.where(known[points], _levels(np.nan_to_num(values[points]), low, high), -1).tolist(),
        "legend": [[0, f"{low:.4g}"], [255, f"{high:.4g}"]],
    }


def _levels(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Values as 0..255 over the range."""
    return (
        np.round(255 * np.clip((values - low) / (high - low), 0, 1)).astype(int)
        if high > low
        else np.full(len(values), 128)
    )


def table(annotations: list[Annotation], fitted: Fitted) -> list[dict[str, str]]:
    """Rows of the table of annotations."""
    rows = []
    for each in annotations:
        value, measure = association(each, fitted)
        kinds = "numbers" if each.values is not None else f"{len(each.categories)} kinds"
        told = "unknown" if np.isnan(value) else f"{value:.2f} ({measure})"
        rows.append({"name": printable(each.name), "kinds": kinds, "told": told})
    return rows
