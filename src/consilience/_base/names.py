"""Names of methods and generators, and the check that names of rows and columns are unique."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, TypeVar

from ..errors import ConsilienceError, FileError, InputError
from .parameters import Rule, did_you_mean, listed

Thing = TypeVar("Thing")

#: The name that leaves a choice to the library (consilience._pipeline.defaults).
AUTO = "auto"

#: Other common names -> the name here. They are understood wherever a name is looked up.
ALIASES = {
    "eac": "evidence-accumulation",
    "cokm": "coassociation-k-means",
    "random-subspace": "random-features",
    "bootstrap": "bagging",
}


def command_name(name: str) -> str:
    """EvidenceAccumulation -> evidence-accumulation, SPCE -> spce, random_k -> random-k."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name)
    return words.replace("_", "-").lower()


def find(name: Any, known: Mapping[str, Thing]) -> Thing | None:
    """The entry of that name or alias, or None; case, hyphens and underscores do not matter."""
    if not isinstance(name, str):
        return None
    by_letters = {_letters(key): value for key, value in known.items()}
    wanted = _letters(name)
    if wanted not in by_letters:
        wanted = _letters(_BY_LETTERS.get(wanted, ""))
    return by_letters.get(wanted)


def spellings(known: Iterable[str]) -> tuple[str, ...]:
    """These names, and the other names of things among them."""
    known = tuple(known)
    return (*known, *(alias for alias, name in ALIASES.items() if name in known))


class Named(Rule):
    """The name of one of the registered things; case, hyphens and underscores do not matter."""

    def __init__(self, known: Iterable[str]):
        self.known = {name: name for name in known}

    def accepts(self, value: Any) -> bool:
        return find(value, self.known) is not None

    def words(self) -> tuple[str, ...]:
        return spellings(self.known)

    def __str__(self) -> str:
        return "one of " + ", ".join(map(repr, self.known))


def look_up(name: Any, known: Mapping[str, Thing], what: str) -> Thing:
    """The entry of that name, or an error that lists what there is."""
    found = find(name, known)
    if found is None:
        hint = did_you_mean(name, spellings(known))
        raise InputError(f"{what}={name!r} is not known: choose one of {', '.join(known)}.{hint}")
    return found


def check_names(
    given: Iterable[str], valid: Iterable[str], *, owner: str, reserved: Mapping[str, str]
) -> None:
    """Raise unless ``owner`` has all these parameters.

    ``reserved`` maps parameters that are set elsewhere to the place where they are set.
    """
    names = [name for name in valid if name not in reserved]
    for name in given:
        if name in reserved:
            raise InputError(f"The parameter {name!r} is set by {reserved[name]}.")
        if name not in names:
            choices = f"its parameters are {', '.join(names)}" if names else "it has no further parameters"
            raise InputError(f"{owner} has no parameter {name!r}; {choices}.{did_you_mean(name, names)}")


def check_count(names: Iterable[Any], expected: int, argument: str, things: str) -> list[Any]:
    """The names as a list, one for each of the things."""
    try:
        names = list(names)
    except TypeError:
        raise InputError(
            f"{argument}={names!r} is not a list of names: give one for each of the {expected} {things}."
        ) from None
    if len(names) != expected:
        raise InputError(f"{argument} has {len(names)} entries for {expected} {things}.")
    return names


def check_unique(names: Iterable[Any] | None, what: str, remedy: str, *, file: str | None = None) -> None:
    """Raise if a name occurs twice, and say which; ``file`` is the file they were read from."""
    names = [] if names is None else list(names)
    for name in names:
        if not isinstance(name, Hashable):
            raise InputError(
                f"{what} {name!r} is a {type(name).__name__}, which cannot be a name; give text, numbers "
                f"or tuples."
            )
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if not repeated:
        return
    occur = (
        f"{what} {listed(map(repr, repeated))} {'occurs' if len(repeated) == 1 else 'occur'} more than once"
    )
    error: type[ConsilienceError] = InputError if file is None else FileError
    raise error(f"The {occur}; {remedy}." if file is None else f"{file}: the {occur}; {remedy}.")


def numbered(names: Iterable[Any]) -> list[str]:
    """'KMeans' if it occurs once; 'KMeans 1', 'KMeans 2' if it occurs more often."""
    names = [str(name) for name in names]
    counts, seen = Counter(names), Counter[str]()
    out = []
    for name in names:
        seen[name] += 1
        out.append(f"{name} {seen[name]}" if counts[name] > 1 else name)
    return out


def is_pair(item: Any) -> bool:
    """Whether this is (name, clusterer or labels), as scikit-learn's pipelines and voters take them."""
    if not (isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)):
        return False
    return hasattr(item[1], "fit") or (hasattr(item[1], "__len__") and not isinstance(item[1], (str, bytes)))


def _letters(name: str) -> str:
    return name.lower().replace("-", "").replace("_", "")


_BY_LETTERS = {_letters(alias): name for alias, name in ALIASES.items()}
