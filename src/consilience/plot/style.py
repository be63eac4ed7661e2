"""Colors and small helpers of all displays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.names import numbered
from .._data.labels import encode
from ..errors import InputError, need

#: Told apart without telling red from green (after Okabe and Ito); clusters beyond them repeat and are
#: numbered.
CLUSTER_COLORS = (
    "#0072b2",
    "#e69f00",
    "#009e73",
    "#cc79a7",
    "#56b4e9",
    "#d55e00",
    "#7b5ea7",
    "#999933",
    "#b0b0b0",
    "#8c564b",
)


#: Color of objects without a label.
UNLABELED = "#d9d9d9"


def color(cluster: int) -> str:
    return CLUSTER_COLORS[cluster % len(CLUSTER_COLORS)]


def colors(labels: Any) -> np.ndarray:
    """Return the color of each object's cluster in the displays, for your own pictures.

    Colors are (n,) strings such as "#0072b2". A cluster number has the same color in all pictures, so that
    labels aligned by :func:`consilience.align` can be compared by eye. Labels that are not whole numbers are
    numbered in sorted order. Missing labels are light gray. From the 11th cluster on, colors repeat.

    >>> import consilience as cs
    >>> cs.plot.colors([0, 0, 1, -1]).tolist()
    ['#0072b2', '#0072b2', '#e69f00', '#d9d9d9']
    """
    codes, categories = encode(labels, "labels")
    numbers = categories if categories.dtype.kind in "iu" else np.arange(len(categories))
    return np.array([*(color(int(number)) for number in numbers), UNLABELED])[codes]


def axes(ax: Any, purpose: str, **options: Any) -> Any:
    """Return the given axes, or new ones. matplotlib is imported here and not before."""
    pyplot = need("matplotlib.pyplot", "plot", purpose)
    if ax is not None:
        return ax
    return pyplot.subplots(**{"layout": "constrained", **options})[1]


def plain(ax: Any) -> None:
    """Hide the upper and right spines."""
    ax.spines[["top", "right"]].set_visible(False)


def as_mapping(models: Any) -> dict[str, Any]:
    """Models by name; a list gets the names of the classes."""
    if isinstance(models, dict):
        named = {str(name): model for name, model in models.items()}
    else:
        models = list(models) if isinstance(models, (list, tuple)) else [models]
        named = dict(zip(numbered(title(model) for model in models), models))
    if not named:
        raise InputError("No models were given: pass at least one fitted consensus method.")
    return named


def title(model: Any) -> str:
    """The name of the method, without the pipeline around it."""
    return type(getattr(model, "method_", model)).__name__


def shorten(text: Any, most: int = 24) -> str:
    text = str(text)
    return text if len(text) <= most else text[: most - 1] + "…"


def needs_log(*curves: np.ndarray) -> bool:
    """Whether values are positive and span more than three orders of magnitude."""
    values = np.concatenate(curves)
    values = values[np.isfinite(values)]
    return bool(values.size) and values.min() > 0 and values.max() > 1e3 * values.min()
