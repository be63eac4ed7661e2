"""Labels with the names of their objects, from a model, a Series, a frame of one column or a vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._base.names import check_unique
from .._data.frames import as_frame, row_names, values_of
from ..errors import InputError


def labels_and_names(given: Any, what: str) -> tuple[Any, list[Any] | None]:
    """(labels, names of the objects or None); messages call them ``what``."""
    if hasattr(given, "fit"):
        if not hasattr(given, "labels_"):
            kind = type(given).__name__
            called = what if what.startswith(kind) else f"{what} is {kind}, which"
            raise InputError(f"{called} has no labels_: fit it first.")
        return given.labels_, getattr(given, "sample_names_", None)
    frame = as_frame(given)
    if frame is None:
        return given, row_names(given) if type(given).__name__ == "Series" else None
    if list(frame.columns) == ["label", "confidence"]:  # as models and the command line write them
        return values_of(frame["label"]), row_names(given)
    if frame.shape[1] != 1:
        raise InputError(
            f"{what} is a data frame of {frame.shape[1]} columns; pass the one that holds the labels, such "
            f"as {what}['label']."
        )
    return values_of(next(iter(frame.iter_columns()))), row_names(given)


def positions(
    names: Sequence[Any] | None, others: Sequence[Any] | None, what: tuple[str, str]
) -> np.ndarray | None:
    """Position of each name among the others, -1 if it is not there; None if rows correspond by position."""
    if names is None or others is None or list(names) == list(others):
        return None
    for each, called in ((names, what[0]), (others, what[1])):
        check_unique(each, "sample name", f"make the index of {called} unique")
    places = {name: i for i, name in enumerate(others)}
    where = np.array([places.get(name, -1) for name in names], np.int64)
    if (where < 0).all():
        raise InputError(
            f"{what[0]} and {what[1]} have no object in common: their indexes share no name. If rows "
            f"correspond by position, pass their labels as arrays, such as {what[0]}.to_numpy() of a Series "
            f"or {what[0]}.labels_ of a model."
        )
    return where
