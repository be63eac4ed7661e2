"""Pages of every public name, from the register and each room's ``__all__``: none is written by hand."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import consilience
from consilience import _register

#: Heading of the page of a room, and what stands under it.
ROOMS = {
    "consensus": ("Consensus methods", "An ensemble of base clusterings in, one clustering out."),
    "generate": ("Generators", "Features in, an ensemble of base clusterings out."),
    "multitask": ("Several tasks", "Features of related tasks in, one clustering of each out."),
    "metrics": ("Measures", "Labels against labels, and an ensemble by itself."),
    "plot": ("Displays", "Numbers first, then a drawing by matplotlib (extra ``plot``)."),
    "io": ("Files", "Labels, features, annotations and fitted models."),
    "dask": ("Dask", "Ensembles and features that are larger than one machine's memory (extra ``dask``)."),
    "anndata": ("AnnData", "Features and base clusterings from an AnnData object, answers back into it."),
    "errors": ("Errors and warnings", "What is raised on purpose, and what is warned of."),
}


def public(room: str) -> list[str]:
    """Names of a room that users may import."""
    module = importlib.import_module(f"consilience.{room}")
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if inspect.isclass(value) and value.__module__ == module.__name__
    ]


def rooms() -> dict[str, tuple[str, str]]:
    """Rooms as registered; a new one gets its name as heading and the first line of its docstring."""
    known = {}
    for room in _register.ROOMS:
        module = importlib.import_module(f"consilience.{room}")
        known[room] = ROOMS.get(room, (room.capitalize(), (module.__doc__ or "").partition("\n")[0]))
    return {room: known[room] for room in (*ROOMS, *_register.ROOMS) if room in known}


def groups() -> dict[str, list[str]]:
    """The names at the top of the package, by kind.

    Classes of consensus methods have the page of their room.
    """
    kinds = {
        "Data": _register.CONTAINERS,
        "From features to clusters": _register.FEATURES,
        "Functions": _register.FUNCTIONS,
    }
    return {title: [f"consilience.{entry.name}" for entry in entries] for title, entries in kinds.items()}


def home(room: str, name: str) -> str:
    """The one address under which a name has its page: as short as it can be imported."""
    value = getattr(importlib.import_module(f"consilience.{room}"), name)
    at_the_top = name in consilience.__all__ and getattr(consilience, name) is value
    return f"consilience.{name}" if at_the_top else f"consilience.{room}.{name}"


def names() -> list[str]:
    """Every public name by its address."""
    found = [name for group in groups().values() for name in group]
    found += [home(room, name) for room in rooms() for name in public(room)]
    return list(dict.fromkeys(found))


def listing(members: list[str]) -> list[str]:
    return [
        ".. autosummary::",
        "   :toctree: names",
        "   :nosignatures:",
        "",
        *(f"   ~{name}" for name in members),
        "",
    ]


def heading(text: str, line: str) -> list[str]:
    return [text, line * len(text), ""]


def pages() -> dict[str, str]:
    """File name -> text."""
    out, taken = {}, set()
    lines = [*heading("API", "="), "``import consilience as cs``. Names are imported when first used.", ""]
    for title, members in groups().items():
        lines += heading(title, "-") + listing(members)
        taken.update(members)
    lines += heading("Rooms", "-")
    for room, (title, words) in rooms().items():
        lines += [f"- :doc:`{title} <{room}>`: {words}"]
        members = [home(room, name) for name in public(room)]
        own = [name for name in members if name not in taken]
        taken.update(own)
        module = f"``consilience.{room}``. {words}"
        elsewhere = [f":obj:`{name}`" for name in members if name not in own]
        text = [*heading(title, "="), module, ""] + (listing(own) if own else [])
        text += [f"Also here: {', '.join(elsewhere)}.", ""] if elsewhere else []
        out[f"{room}.rst"] = "\n".join(text)
    lines += ["", ".. toctree::", "   :hidden:", "", *(f"   {room}" for room in rooms()), ""]
    out["index.rst"] = "\n".join(lines)
    return out


def write(app: Any, config: Any) -> None:
    folder = Path(app.srcdir) / "api"
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        file = folder / name
        if not file.exists() or file.read_text("utf-8") != text:  # unchanged pages are not read again
            file.write_text(text, "utf-8")


def members_of(cls: type) -> dict[str, list[str]]:
    """Public methods and properties that the library wrote, in the order of their definition."""
    found: dict[str, list[str]] = {"methods": [], "attributes": []}
    for base in reversed(cls.__mro__):
        if not base.__module__.startswith("consilience"):
            continue  # what scikit-learn adds is known from there
        for name, value in vars(base).items():
            kind = "attributes" if isinstance(value, property) else "methods"
            described = inspect.getdoc(getattr(cls, name)) if not name.startswith("_") else None
            is_ours = isinstance(value, property | classmethod | staticmethod) or inspect.isfunction(value)
            if described and is_ours and name not in found[kind]:
                found[kind].append(name)
    return found


def name_pages(app: Any, config: Any) -> None:
    """By itself autosummary goes by the pages of the last build, and misses those of a new room."""
    config.autosummary_generate = [f"api/{name}" for name in pages()]


def context(app: Any, config: Any) -> None:
    """What the template of a class asks for."""
    classes = {address: value for address in names() if inspect.isclass(value := resolve_name(address))}
    config.autosummary_context = {"ours": {address: members_of(value) for address, value in classes.items()}}


def setup(app: Any) -> dict[str, bool]:
    app.connect("config-inited", context)
    app.connect("config-inited", name_pages)
    app.connect("config-inited", write)  # before pages are looked for
    return {"parallel_read_safe": True, "parallel_write_safe": True}
