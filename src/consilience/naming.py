"""Names of methods and generators: how they are written, and how what a user writes is recognised."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from .errors import InputError

Thing = TypeVar("Thing")


def command_name(name: str) -> str:
    """EvidenceAccumulation -> evidence-accumulation, SPCE -> spce, random_k -> random-k."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name)
    return words.replace("_", "-").lower()


def find(name: Any, known: Mapping[str, Thing]) -> Thing | None:
    """The entry of that name, or None; case, hyphens and underscores do not matter."""
    if not isinstance(name, str):
        return None
    by_letters = {_letters(key): value for key, value in known.items()}
    return by_letters.get(_letters(name))


def look_up(name: Any, known: Mapping[str, Thing], what: str) -> Thing:
    """The entry of that name, or an error that lists what there is."""
    found = find(name, known)
    if found is None:
        raise InputError(f"{what}={name!r} is not known: choose one of {', '.join(known)}.")
    return found


def check_names(
    given: Iterable[str], valid: Iterable[str], *, owner: str, reserved: Mapping[str, str]
) -> None:
    """Raise unless ``owner`` has all these parameters; ``reserved`` maps those set elsewhere to where that is."""
    names = [name for name in valid if name not in reserved]
    for name in given:
        if name in reserved:
            raise InputError(f"The parameter {name!r} is set by {reserved[name]}.")
        if name not in names:
            choices = f"its parameters are {', '.join(names)}" if names else "it has no further parameters"
            raise InputError(f"{owner} has no parameter {name!r}; {choices}.")


def _letters(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")
