"""Colours and small helpers of all displays."""

from __future__ import annotations

from typing import Any

from ..errors import InputError, need
from ..naming import numbered

#: Told apart without telling red from green (after Okabe and Ito); clusters beyond them repeat and are numbered.
CLUSTER_COLOURS = (
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


def colour(cluster: int) -> str:
    return CLUSTER_COLOURS[cluster % len(CLUSTER_COLOURS)]


def axes(ax: Any, purpose: str, **options: Any) -> Any:
    """The axes given, or new ones. matplotlib is imported here and nowhere earlier."""
    pyplot = need("matplotlib.pyplot", "plot", purpose)
    if ax is not None:
        return ax
    return pyplot.subplots(**{"layout": "constrained", **options})[1]


def plain(ax: Any) -> None:
    """Without the upper and right spine."""
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
    """The name of the method, without what wraps it."""
    return type(getattr(model, "consensus_", model)).__name__


def shorten(text: Any, most: int = 24) -> str:
    text = str(text)
    return text if len(text) <= most else text[: most - 1] + "…"
