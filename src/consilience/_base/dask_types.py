"""Collections of Dask, recognized without importing Dask."""

from __future__ import annotations

from typing import Any

from ..errors import InputError


def is_lazy(data: Any) -> bool:
    """Whether data is a collection of Dask, or the ensemble of :mod:`consilience.dask`."""
    # The class is asked, because a Delayed seems to have every attribute, and so do other proxies.
    return hasattr(type(data), "__dask_graph__") or bool(getattr(type(data), "is_lazy_ensemble", False))


def refuse_lazy(data: Any, what: str) -> None:
    """Raise if a fitted model holds lazy labels and ``what`` looks at every object."""
    if is_lazy(data):
        raise InputError(
            f"{what} looks at the labels of every object, but this model was fitted to a Dask collection, "
            "whose labels are not in memory. Use model.to_local(), the same model of the distinct objects "
            "with their weights."
        )
