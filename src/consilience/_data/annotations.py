"""Annotations of the objects, read from any table: categories, or numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.parameters import listed
from ..errors import InputError
from .frames import as_frame, row_names
from .labels import encode

COLORS = 10  # of categories; if there are more, the last color is for all others
_FEW = 12  # up to this many different numbers are still categories
_MOST = 12  # columns


@dataclass
class Annotation:
    """One column: codes (n,) of the categories, -1 if unknown, or values (n,), NaN if unknown.

    If there are more categories than colors, they are ordered by size.
    """

    name: str
    categories: list[str]
    codes: np.ndarray
    values: np.ndarray | None = None


def read_annotations(annotations: Any, n: int, names: list[Any] | None) -> list[Annotation]:
    """The columns of a dict or data frame, in the order of the n objects.

    A data frame with row names is matched to the objects by name if these have names too, otherwise by
    position.
    """
    order = None
    if isinstance(annotations, Mapping):
        columns = dict(annotations)
    else:
        frame = as_frame(annotations)
        if frame is None:
            raise InputError(
                f"annotations is a {type(annotations).__name__}; give a data frame, or a dict of columns "
                f"by name."
            )
        columns = {column.name: column.to_list() for column in frame.iter_columns()}
        order = _rows(row_names(annotations), names)
    if len(columns) > _MOST:
        raise InputError(
            f"annotations has {len(columns)} columns; a page has room for {_MOST}. Select those that matter."
        )
    return [_column(str(name), values, order, n) for name, values in columns.items()]


def _rows(given: list[Any] | None, names: list[Any] | None) -> np.ndarray | None:
    """The row of each object, by name; None where one side has no names."""
    if given is None or names is None:
        return None
    where = {str(name): row for row, name in enumerate(given)}
    if len(where) < len(given):
        raise InputError(
            "annotations has row names that occur more than once; make them unique, or reset the index."
        )
    strangers = [name for name in map(str, names) if name not in where]
    if strangers:
        raise InputError(
            f"annotations has no row for {listed(map(repr, strangers))}: rows are matched by name. Add "
            "them, or reset the index to match by position."
        )
    return np.array([where[str(name)] for name in names])


def _column(name: str, given: Any, order: np.ndarray | None, n: int) -> Annotation:
    values = list(given.tolist() if hasattr(given, "tolist") else given)
    if order is None and len(values) != n:
        raise InputError(f"annotations[{name!r}] has {len(values)} entries for {n} objects; give one each.")
    if order is not None:
        values = [values[row] for row in order]
    numbers = _numbers(values)
    if numbers is not None and np.unique(numbers[~np.isnan(numbers)]).size > _FEW:
        return Annotation(name, [], np.empty(0, int), numbers)
    codes, categories = encode(
        np.array([str(v) if isinstance(v, bool) else v for v in values], object), f"annotations[{name!r}]"
    )
    sizes = np.bincount(codes[codes >= 0], minlength=len(categories))
    ranked = np.argsort(-sizes, kind="stable") if len(sizes) > COLORS else _in_order(categories)
    rank = np.empty(len(categories) + 1, int)
    rank[ranked], rank[-1] = np.arange(len(categories)), -1
    return Annotation(name, [str(categories[j]) for j in ranked], rank[codes])


def _in_order(categories: np.ndarray) -> np.ndarray:
    """Sort numbers by size, anything else by name."""
    names = [str(category) for category in categories]
    keys = categories if np.asarray(categories).dtype.kind in "if" else names
    return np.array(sorted(range(len(names)), key=keys.__getitem__), int)


def _numbers(values: list[Any]) -> np.ndarray | None:
    """The values as floats, with NaN for unknown ones; None if any is not a number."""
    out = np.full(len(values), np.nan)
    for i, value in enumerate(values):
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
            return None
        out[i] = value if np.isfinite(value) else np.nan
    return out
