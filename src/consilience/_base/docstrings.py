"""Docstrings of estimators, finished when the class is made.

A class writes what is its own. Parameters and attributes that mean the same in all methods are written once,
by the base class, and are put into the docstring of every class that has them. Defaults of parameters are
those of the constructor.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import MISSING, fields
from functools import lru_cache
from inspect import cleandoc
from typing import Any, NamedTuple

_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_DEFAULT = re.compile(r", default .*$")


class Entry(NamedTuple):
    """One parameter or attribute, or several that are described together."""

    names: tuple[str, ...]
    header: str
    text: str

    def __str__(self) -> str:
        return f"{self.header}\n{self.text}" if self.text else self.header


@lru_cache(maxsize=64)
def sections(doc: str) -> dict[str, str]:
    """The sections of a docstring by title, with what stands before them under ``""``."""
    parts = _SECTION.split(cleandoc(doc))
    return {"": parts[0].rstrip()} | {title: body.rstrip() for title, body in zip(parts[1::2], parts[2::2])}


@lru_cache(maxsize=64)
def entries(doc: str | None, title: str) -> tuple[Entry, ...]:
    """What a section lists."""
    body = sections(doc or "").get(title, "")
    found = []
    for block in re.split(r"\n+(?=\S)", body) if body else ():
        header, _, text = block.partition("\n")
        found.append(Entry(tuple(header.partition(" :")[0].split(", ")), header, text.rstrip()))
    return tuple(found)


def finish(cls: type) -> None:
    """Complete the sections Parameters and Attributes of an estimator's docstring."""
    doc = vars(cls).get("__doc__")
    if doc is None:  # it has none, or Python was started with -OO
        return
    parts = sections(doc)
    head, others = parts[""], {title: body for title, body in parts.items() if title}
    listed = {"Parameters": _parameters(cls, doc), "Attributes": _attributes(cls, doc)}
    written = {title: "\n".join(map(str, found)) for title, found in listed.items() if found}
    complete = written | {title: body for title, body in others.items() if title not in written}
    bodies = [f"{title}\n{'-' * len(title)}\n{body}" for title, body in complete.items()]
    cls.__doc__ = "\n\n".join([head, *bodies]) + "\n"


def _parameters(cls: Any, doc: str) -> list[Entry]:
    """Those of the constructor in its order; a base class may describe more."""
    own = entries(doc, "Parameters")
    known = {name: entry for entry in _inherited(cls, "Parameters") for name in entry.names}
    known |= {name: entry for entry in own for name in entry.names}
    parameters = {one.name: one for one in fields(cls)}
    found = [_with_default(known[name], parameters) for name in parameters if name in known]
    return list(dict.fromkeys([*found, *(one for one in own if not parameters.keys() & set(one.names))]))


def _attributes(cls: type, doc: str) -> list[Entry]:
    """Labels and their confidence, what is the method's own, and what else all methods learn."""
    own = entries(doc, "Attributes")
    described = {name for entry in own for name in entry.names}
    has = learned(cls)
    common = [one for one in _inherited(cls, "Attributes") if has.issuperset(one.names)]
    common = [one for one in common if not described.intersection(one.names)]
    first = 1 + max((i for i, one in enumerate(common) if "confidence_" in one.names), default=-1)
    return [*common[:first], *own, *common[first:]]


def learned(cls: type) -> set[str]:
    """Names of the attributes that ``fit`` sets, and of properties like them, as classes declare them."""
    names = {name for base in cls.__mro__ for name in (*vars(base).get("__annotations__", {}), *vars(base))}
    return {name for name in names if name.endswith("_") and not name.startswith("_")}


def _inherited(cls: type, title: str) -> Iterable[Entry]:
    """Entries of the bases, the nearest first, each name once."""
    seen: set[str] = set()
    for base in cls.__mro__[1:]:
        for entry in entries(vars(base).get("__doc__"), title) if "_rules" in dir(base) else ():
            if not seen.intersection(entry.names):
                yield entry
                seen.update(entry.names)


def _with_default(entry: Entry, parameters: dict[str, Any]) -> Entry:
    """The entry with the default of the constructor behind its type, unless None is not among its values."""
    header = _DEFAULT.sub("", entry.header)
    default = parameters[entry.names[0]].default
    if len(entry.names) == 1 and default is not MISSING and (default is not None or "None" in header):
        header += f", default {_shown(default)}"
    return entry._replace(header=header)


def _shown(value: Any) -> str:
    """A default as it is written: words in double quotes, numbers without needless digits."""
    text = repr(value)
    if isinstance(value, str):
        return '"' + text[1:-1] + '"'
    return re.sub(r"e-0+", "e-", text).replace("'", '"')
