"""Whole numbers to choose from, as one parameter gives them: one number, an interval, or a set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..errors import InputError
from .parameters import Integer

#: What is accepted, for messages.
FORMS = "a whole number of at least {}, a pair (smallest, largest), or a list or range of such numbers"


def numbers(name: str, value: Any, *, least: int = 1) -> Sequence[int]:
    """The numbers that ``value`` stands for, ascending.

    A number stands for itself, a tuple of two for the interval between them, and any other list, range, set
    or array for the numbers in it.
    """
    whole = Integer(least)
    if whole.accepts(value):
        return range(int(value), int(value) + 1)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, dict)):
        given = list(value)
        if all(whole.accepts(one) for one in given):
            return _interval(name, value, given) if isinstance(value, tuple) else _set(name, value, given)
    raise InputError(f"{name}={value!r} is not valid: expected {FORMS.format(least)}.")


def is_interval(value: Any) -> bool:
    """Whether it is a pair, ends that are left open included."""
    return isinstance(value, tuple) and len(value) == 2


def _interval(name: str, value: Any, given: list[Any]) -> range:
    if len(given) != 2:
        raise InputError(
            f"{name}={value!r} is not valid: a tuple is an interval, (smallest, largest). Give a list for "
            f"these {len(given)} numbers alone, {name}={given!r}."
        )
    low, high = (int(one) for one in given)
    if low > high:
        raise InputError(f"{name}={value!r}: the first is above the second; swap them.")
    return range(low, high + 1)


def _set(name: str, value: Any, given: list[Any]) -> list[int]:
    if not given:
        raise InputError(f"{name}={value!r} is empty: give at least one number.")
    return sorted({int(one) for one in given})
