"""Types of arguments as text, and back."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

from numba.core import types

#: The words that signatures are written in.
TYPES = vars(types)


def text_of(arguments: Iterable) -> str:
    """Types of arguments as numba writes them: ``(Array(float64, 2, 'C', False, aligned=True), int64)``.

    A NamedTuple is written with the name of its class, ``NamedTuple((int64, int64), 'module.Class')``.
    """
    inner = [_text(one) for one in arguments]
    return f"({', '.join(inner)}{',' * (len(inner) == 1)})"


def _text(one: Any) -> str:
    if not isinstance(one, TYPES["BaseNamedTuple"]):
        return repr(one)
    cls = one.instance_class
    return f"NamedTuple({text_of(one.types)}, '{cls.__module__}.{cls.__qualname__}')"


def types_of(signature: str) -> tuple:
    """The types that :func:`text_of` has written."""
    return eval(signature, {"__builtins__": {}}, {**TYPES, "NamedTuple": _named_tuple})


def _named_tuple(members: tuple, name: str) -> Any:
    module, _, cls = name.rpartition(".")
    return TYPES["BaseTuple"].from_types(members, getattr(importlib.import_module(module), cls))
