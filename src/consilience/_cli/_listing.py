"""What there is to choose from, as plain data: names are checked without importing what they name.

``listing.json`` beside this file is written by ``make register``.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Iterable
from functools import cache
from typing import Any

from .._base.names import AUTO, find, look_up
from ._params import METHOD_OPTIONS, generator_reserved, parse_params


@cache
def listing() -> dict[str, Any]:
    """The methods, generators, estimators and multi-task methods, and what ``consilience warm-up`` knows."""
    found = pkgutil.get_data(__package__, "listing.json")
    assert found is not None
    return json.loads(found)


def check_method(method: str, given: Iterable[str], group: str = "methods", *, auto: bool = False) -> None:
    """Refuse a method that does not exist, or has no such parameters.

    ``auto``: the library may choose the method, or the name be that of a generator and a method together.
    """
    if auto and find(method, dict.fromkeys((AUTO, *listing()["whole"]), True)):
        return
    entry = look_up(method, _named(group), "method")
    parse_params(given, sorted(entry["parameters"]), owner=entry["class"], reserved=METHOD_OPTIONS)


def check_generator(
    generator: str, given: Iterable[str], *, more: dict[str, str] | None = None, preprocess: str | None = None
) -> None:
    """Refuse a generator that does not exist, or has no such parameters; the library may choose it."""
    if find(generator, {AUTO: True}):
        return
    entry = look_up(generator, _named("generators"), "generator")
    valid = [one for one in entry["parameters"] if one != "sample_weight"]
    reserved = {**generator_reserved(preprocess), **(more or {})}
    parse_params(given, valid, owner=f"The generator {entry['name']}", reserved=reserved)


def _named(group: str) -> dict[str, Any]:
    return {entry["name"]: entry for entry in listing()[group]}
