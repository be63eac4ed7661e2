"""Every public name: modules, functions, classes, attributes, and parameters with their defaults.

``python -m tests.public_names`` writes the list again to ``tests/public_names.txt``, where a change of it is
seen.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import consilience
from consilience import _register

LIST = Path(__file__).with_suffix(".txt")
_PLAIN = (bool, int, float, str, type(None))


def modules() -> list[ModuleType]:
    return [consilience, *(importlib.import_module(f"consilience.{room}") for room in _register.ROOMS)]


def names_of(module: ModuleType) -> list[str]:
    """Its ``__all__``; of a module without one its own classes and functions."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    own = [
        name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__
    ]
    return sorted(name for name in own if not name.startswith("_"))


def parameters(function: Any, *, bound: bool = False) -> str:
    """Parameters as written in a call, with defaults and without types; ``bound`` drops the first one."""
    out: list[str] = []
    star = False
    for one in list(inspect.signature(function).parameters.values())[bound:]:
        if one.kind is one.KEYWORD_ONLY and not star:
            out, star = [*out, "*"], True
        star = star or one.kind is one.VAR_POSITIONAL
        text = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "") + one.name
        out.append(text if one.default is one.empty else f"{text}={default(one.default)}")
    return ", ".join(out)


def default(value: Any) -> str:
    simple = isinstance(value, _PLAIN) or (
        isinstance(value, tuple) and all(isinstance(part, _PLAIN) for part in value)
    )
    return repr(value) if simple else "..."


def offered(cls: type) -> dict[str, Any]:
    """Public names of a class that the library wrote, in it or in its bases; None where only declared."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("consilience"):
            found.update(dict.fromkeys(inspect.get_annotations(base)))
            found.update(vars(base))
    given = getattr(cls, "_rules", {})  # stand in the line of the class
    return {
        name: value
        for name, value in found.items()
        if not name.startswith("_") and not _of_others(value) and name not in given
    }


def _of_others(value: Any) -> bool:
    """What scikit-learn adds to its estimators by itself."""
    return type(value).__module__.startswith("sklearn")


def lines_of(address: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        exception = issubclass(value, (Exception, Warning))
        yield address if exception else f"{address}({parameters(value)})"
        for name, held in offered(value).items():
            bound = not isinstance(held, staticmethod)
            held = held.__func__ if isinstance(held, (classmethod, staticmethod)) else held
            yield f"{address}.{name}" + (
                f"({parameters(held, bound=bound)})" if inspect.isfunction(held) else ""
            )
    else:
        yield f"{address}({parameters(value)})" if callable(value) else address


def lines() -> list[str]:
    """One for each name, at the first of its addresses; ``name -> address`` at the others."""
    found: list[str] = []
    first: dict[int, str] = {}
    for module in modules():
        for name in names_of(module):
            address, value = f"{module.__name__}.{name}", getattr(module, name)
            if not isinstance(value, (ModuleType, str)) and id(value) in first:
                found.append(f"{address} -> {first[id(value)]}")
                continue
            first[id(value)] = address
            found += sorted(lines_of(address, value))
    return found


if __name__ == "__main__":
    LIST.write_text("\n".join(lines()) + "\n", "utf-8")
