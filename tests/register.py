"""Write what follows from the register: ``make register``, after editing ``src/consilience/_register.py``.

Names for type checkers and editors in the packages, and a row in the table of ``docs/methods/index.md``. What
is there stays.
"""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import consilience
from consilience import _register
from consilience._cli._session import _plain

PACKAGE = Path(consilience.__file__).parent
ROOT = PACKAGE.parents[1]
LISTING = PACKAGE / "_cli" / "listing.json"
INDEX = ROOT / "docs" / "methods" / "index.md"
#: What methods of a folder of ``consensus`` work on, for the third column of the table.
WORKS_ON = {
    "_coassociation": "pairs",
    "_bipartite": "base clusters",
    "_labels": "labels",
    "_lowrank": "pairs",
    "_metaclusters": "base clusters",
}
#: The head of the table that a group of entries belongs to.
GROUPS = {
    "## From base clusterings": _register.CONSENSUS,
    "## From features": (*_register.FEATURES, *_register.MULTITASK),
}


def line_of(file: Path, text: str) -> str:
    """``path:line`` of the first line that holds the text, for a message that an editor can follow."""
    lines = file.read_text("utf-8").splitlines()
    number = next((i for i, line in enumerate(lines, 1) if text in line), 1)
    return f"{file.relative_to(ROOT).as_posix()}:{number}"


def imports() -> dict[Path, list[str]]:
    """The line for type checkers of each estimator, by the file that it belongs in."""
    out: dict[Path, list[str]] = {}
    for entry in _register.ESTIMATORS:
        room, _, module = entry.module.partition(".")
        is_room = room in _register.ROOMS
        name = f"import {entry.name} as {entry.name}"
        if entry in _register.FRONT:
            line = f"from .{room if is_room else entry.module} {name}"
            out.setdefault(PACKAGE / "__init__.py", []).append(line)
        if is_room:
            out.setdefault(PACKAGE / room / "__init__.py", []).append(f"from .{module} {name}")
    return out


def missing_imports() -> dict[Path, list[str]]:
    """Those that are not there."""
    found = {}
    for file, lines in imports().items():
        text = file.read_text("utf-8")
        if absent := [line for line in lines if f"    {line}\n" not in text]:
            found[file] = absent
    return found


def row(entry: _register.Entry, page: str) -> str:
    """The row of the table of methods: the class, the first sentence of its docstring, what it works on."""
    said = inspect.cleandoc(entry.load().__doc__).partition("\n")[0].partition(". ")[0].rstrip(".")
    folder = entry.module.split(".")[1] if "." in entry.module else ""
    return f"| [`{entry.name}`]({page}.md) | {said} | {WORKS_ON.get(folder, 'features')} |"


def page_of(name: str) -> str | None:
    """The page whose heading names the class."""
    for page in sorted((ROOT / "docs" / "methods").glob("*.md")):
        if page != INDEX and re.search(rf"\b{name}\b", page.read_text("utf-8").partition("\n")[0]):
            return page.stem
    return None


def named_in_the_table() -> str:
    """First columns of the tables of methods."""
    rows = re.findall(r"^\|.*$", INDEX.read_text("utf-8"), re.M)
    return " ".join(line.split("|")[1] for line in rows)


def add_imports() -> None:
    for file, lines in missing_imports().items():
        text = file.read_text("utf-8")
        mark = text.index("\nelse:  # hidden from them")
        added = "".join(f"\n    {line}" for line in lines)
        file.write_text(text[:mark] + added + text[mark:], "utf-8")
        subprocess.run(
            [sys.executable, "-m", "ruff", "check", "-q", "--select", "I", "--fix", file], check=True
        )
        print(f"{file.relative_to(ROOT)}: {len(lines)} names")


def add_rows() -> None:
    for heading, entries in GROUPS.items():
        for entry in entries:
            page = page_of(entry.name)
            if page is None or f"`{entry.name}`" in named_in_the_table():
                continue
            before, head, after = INDEX.read_text("utf-8").partition(heading)
            *_, table = re.finditer(r"(?:^\|.*\n)+", after.partition("\n## ")[0] + "\n", re.M)
            after = after[: table.end()] + row(entry, page) + "\n" + after[table.end() :]
            INDEX.write_text(before + head + after, "utf-8")
            print(f"{INDEX.relative_to(ROOT)}: a row for {entry.name}; say in it what the method does")


def listing() -> str:
    """What ``consilience methods`` shows, as the text of its file."""
    from consilience import generate, multitask
    from consilience._pipeline.consensus_clustering import WHOLE
    from consilience._warmup.warm_up import tasks
    from consilience.consensus import methods

    def entry(name: str, cls: str, thing: Any, parameters: Iterable[inspect.Parameter]) -> dict[str, Any]:
        description = (inspect.getdoc(thing) or "").partition("\n")[0]
        empty = inspect.Parameter.empty
        defaults = {one.name: None if one.default is empty else one.default for one in parameters}
        return {
            "name": name,
            **({"class": cls} if cls else {}),
            "description": description,
            "parameters": defaults,
        }

    def estimators(named: Mapping[str, Any]) -> list[dict[str, Any]]:
        signatures = {name: inspect.signature(cls.__init__).parameters for name, cls in named.items()}
        return [
            entry(name, cls.__name__, cls, list(signatures[name].values())[1:]) for name, cls in named.items()
        ]

    found = {
        "methods": estimators(methods()),
        "generators": [
            entry(name, "", maker.make, maker.parameters.values())
            for name, maker in generate.generators().items()
        ],
        "estimators": estimators({one.name: one.load() for one in _register.FEATURES}),
        "multitask": estimators(multitask.methods()),
        "whole": list(WHOLE),
        "warm-up": list(tasks()),
    }
    groups = [
        f"{json.dumps(group)}: [\n" + ",\n".join(json.dumps(_plain(one)) for one in entries) + "\n]"
        for group, entries in found.items()
    ]
    return "{\n" + ",\n".join(groups) + "\n}\n"


def write_listing() -> None:
    text = listing()
    if not LISTING.exists() or LISTING.read_text("utf-8") != text:
        LISTING.write_text(text, "utf-8")
        print(f"{LISTING.relative_to(ROOT)}: names, parameters and defaults")


if __name__ == "__main__":
    add_imports()
    add_rows()
    write_listing()
