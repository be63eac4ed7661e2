"""Tables as people have them: numbers beside categories, booleans, ordered levels, dates, names and gaps.

What a column holds is told by its type, and for whole numbers and text by its values:

    numbers     more than two different numbers
    two values  booleans, and numbers or text of two different values
    levels      categories that are ordered
    categories  text, and categories without an order
    dates       dates and times
    names       text that differs in most rows, and whole numbers at constant steps, each once: they tell
                objects apart and say nothing about which are alike
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._base.parameters import listed
from ..errors import InputError

#: Fewer objects than this are never told by their names.
FEW = 10
#: Share of the rows that have a text of their own, from which on it is a name.
OWN = 0.5

#: Share of the steps that must be equal in a column of numbers for it to count the objects.
REGULAR = 0.9


class Column(NamedTuple):
    """What a column of a table holds: one of the words above, and an example of it."""

    name: str
    kind: str
    example: Any


def is_gap(value: Any) -> bool:
    """Whether a cell is empty: None, NaN, NaT, NA or text without letters."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value or value == ""


def kind_of(column: Any) -> tuple[str, Any]:
    """(kind, example) of a column, as narwhals sees it."""
    import narwhals as nw

    dtype = column.dtype
    if dtype in (nw.Date, nw.Datetime, nw.Duration, nw.Time):
        return "dates", next((value for value in column.to_list() if not is_gap(value)), None)
    if dtype == nw.Boolean:
        return "two values", True
    if dtype.is_numeric():
        return _numeric(np.asarray(column.to_numpy()))
    found = [value for value in column.to_list() if not is_gap(value)]
    if dtype == nw.Enum or (dtype == nw.Categorical and _is_ordered(column)):
        return "levels", found[0] if found else None
    if found and all(isinstance(value, (bool, np.bool_)) for value in found):
        return "two values", found[0]
    if found and all(isinstance(value, (int, float, np.number)) for value in found):
        return _numeric(np.asarray(found, float))
    distinct = len(set(map(str, found)))
    if distinct >= FEW and distinct > OWN * len(found):
        return "names", found[0]
    return ("two values" if distinct == 2 else "categories"), found[0] if found else None


def _is_ordered(column: Any) -> bool:
    native = column.to_native()
    return bool(getattr(getattr(native, "cat", None), "ordered", False))


def _numeric(values: np.ndarray) -> tuple[str, Any]:
    values = np.asarray(values, float)
    seen = values[~np.isnan(values)]
    if is_numbering(seen):
        return "names", int(seen[0])
    return ("two values" if np.unique(seen).size == 2 else "numbers"), float(seen[0]) if seen.size else None


def is_numbering(values: np.ndarray) -> bool:
    """Whether these numbers are 1, 2, 3, ... in any order, or whole numbers at another constant step.

    Some may be absent, as those of rows that were left out.
    """
    if values.size < FEW or not np.isfinite(values).all() or (values != np.rint(values)).any():
        return False
    steps = np.diff(np.sort(values))
    return bool(steps.min() > 0 and (steps == steps.min()).mean() >= REGULAR)


def describe(frame: Any) -> list[Column]:
    """What each column of a frame, as narwhals sees it, holds."""
    return [Column(str(name), *kind_of(column)) for name, column in zip(frame.columns, frame.iter_columns())]


def refuse_columns(frame: Any, own: list[str]) -> None:
    """Raise for the columns of a frame that are not numbers, all of them, in one message.

    ``own`` are their names.
    """
    columns = {column.name: column for column in describe(frame)}
    by_kind: dict[str, list[str]] = {}
    for name in own:
        by_kind.setdefault(_WORDS.get(columns[name].kind, "text"), []).append(repr(name))
    by_kind.setdefault("names of objects", [])
    by_kind["names of objects"] += [
        repr(name) for name, column in columns.items() if column.kind == "names" and name not in own
    ]
    parts = [f"{listed(names, most=8)} ({words})" for words, names in by_kind.items() if names]
    first = columns[own[0]]
    labels = (
        " If these are labels of base clusterings, pass them to a consensus method, or choose_k(ensemble=X)."
        if len(own) == len(columns)
        else ""
    )
    raise InputError(
        f"X holds columns that are not numbers: {'; '.join(parts)}; in {first.name!r}, for instance, "
        f"{_shown(first.example)}. cs.io.TableEncoder().fit_transform(X) makes features of all columns and "
        f"leaves out names of objects; to do without these columns, drop them.{labels}"
    )


_WORDS = {
    "dates": "dates",
    "names": "names of objects",
    "two values": "text",
    "categories": "text",
    "levels": "ordered levels",
}


def _shown(example: Any) -> str:
    text = repr(example) if isinstance(example, str) else str(example)
    return text if len(text) <= 40 else f"{text[:37]}..."
