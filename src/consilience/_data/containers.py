"""Containers given in place of a table: opened if that is safe, otherwise refused.

The error says what to pass instead. Labels and features are checked by the same code, so that their errors
agree.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, KeysView, Mapping, ValuesView
from typing import Any

from .._base.parameters import listed
from ..errors import InputError


def unrolled(data: Any) -> Any:
    """An iterator as a list; anything else unchanged."""
    return list(data) if isinstance(data, (Iterator, ValuesView)) else data


def refuse_foreign(data: Any, name: str, *, reader: str) -> None:
    """Raise for what holds a table but is none.

    ``name`` is the argument, and ``reader`` reads such a file.
    """
    if isinstance(data, (str, os.PathLike)):
        path = os.fspath(data)
        raise InputError(
            f"{name}={path!r:.200} is text or a path, not a table. To read a file: "
            f"consilience.io.{reader}({path!r:.200})."
        )
    if _is_a(data, "anndata", "AnnData"):
        raise InputError(_anndata(data, name, reader))
    if hasattr(data, "collect") and not hasattr(data, "__array__"):
        raise InputError(
            f"{name} is a {type(data).__name__}, whose rows are not in memory yet: pass {name}.collect()."
        )
    if isinstance(data, (set, frozenset, KeysView)):
        raise InputError(
            f"{name} is a {type(data).__name__}, which has no order: pass a list, a dict or an array."
        )


def shown(value: Any) -> str:
    """A value in a message: a mapping by its keys, anything long cut short."""
    if isinstance(value, Mapping):
        return f"a {type(value).__name__} with the keys {listed(map(repr, value))}"
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:80]}... ({type(value).__name__})"


def _is_a(data: Any, package: str, name: str) -> bool:
    """Whether an object is of that class of another package, which need not be installed."""
    return any(
        cls.__name__ == name and cls.__module__.partition(".")[0] == package for cls in type(data).__mro__
    )


def _anndata(data: Any, name: str, reader: str) -> str:
    """Raise, and say which of its tables to pass."""
    embeddings = [f"{name}.obsm[{key!r}]" for key in getattr(data, "obsm", {})] or [f"{name}.obsm[...]"]
    columns = [str(column) for column in getattr(getattr(data, "obs", None), "columns", [])]
    example = f"{name}.obs[{columns[:2]!r}]" if columns else f"{name}.obs[[...]]"
    held = f" (it has {listed(map(repr, columns), 8)})" if columns else ""
    features = f"{name}.X or {listed(embeddings)}"
    if reader == "read_labels":
        return (
            f"{name} is an AnnData object, which holds several tables. Cluster labels are columns of .obs: "
            f"pass for instance {example}{held}. Features ({features}) go to ConsensusClustering."
        )
    return (
        f"{name} is an AnnData object, which holds several tables: pass {features} for features. "
        f"Cluster labels, columns of .obs, go to a consensus method: {example}{held}."
    )
