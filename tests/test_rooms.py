"""Rooms talk to each other through public names: what starts with an underscore stays where it is."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import consilience

PACKAGE = Path(consilience.__file__).parent

#: What is still to be mended; the list may only shrink.
REMAINING: set[str] = set()
MENDED = ("consensus", "metrics", "plot", "reporting")


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def room_of(parts: tuple[str, ...]) -> str:
    """The folder at the top of the package; modules beside the folders share one room."""
    folder = PACKAGE / parts[0] if parts else PACKAGE
    return parts[0] if parts and folder.is_dir() else ""


def imported(node: ast.AST, path: Path) -> list[tuple[str, ...]]:
    """Modules and names of the package that a statement imports, each as its path from the package."""
    if isinstance(node, ast.Import):
        names = [tuple(alias.name.split(".")) for alias in node.names]
        return [name[1:] for name in names if name[0] == PACKAGE.name]
    if not isinstance(node, ast.ImportFrom):
        return []
    module = tuple((node.module or "").split(".")) if node.module else ()
    if node.level:
        folders = path.relative_to(PACKAGE).parts[:-1]
        module = folders[: len(folders) - node.level + 1] + module
    elif module[0] == PACKAGE.name:
        module = module[1:]
    else:
        return []
    return [(*module, alias.name) for alias in node.names]


def private_imports(path: Path) -> set[str]:
    """``file: module`` for each private module or name that a file takes from another room."""
    here, found = path.relative_to(PACKAGE), set()
    for node in ast.walk(ast.parse(path.read_text())):
        for target in imported(node, path):
            private = [i for i, part in enumerate(target) if is_private(part)]
            if private and room_of(target) != room_of(here.parts[:-1]):
                found.add(f"{here.as_posix()}: {'.'.join(target[: private[0] + 1])}")
    return found


FILES = sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)


def test_rooms_keep_their_private_things():
    found = set().union(*(private_imports(path) for path in FILES))
    assert found - REMAINING == set()
    assert REMAINING - found == set(), "mended: take these off the list"


@pytest.mark.parametrize("room", MENDED)
def test_mended_rooms_stay_mended(room):
    assert not [line for line in REMAINING if line.startswith(f"{room}/")]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from ..metrics._table import Contingency", {"metrics._table"}),
        ("from ..metrics import _table, ari", {"metrics._table"}),
        ("from ..ensemble import _names", {"ensemble._names"}),
        ("import consilience.io._text", {"io._text"}),
        ("from consilience._kernels.compile.jit import kernel", {"_kernels.compile.jit"}),
        ("from ._other import helper", set()),
        ("from . import _other", set()),
        ("from .. import __version__", set()),
        ("from ..fitted import Fitted", set()),
        ("from numpy import _core", set()),
    ],
)
def test_what_counts_as_private(code, expected, monkeypatch):
    path = PACKAGE / "plot" / "some.py"
    monkeypatch.setattr(Path, "read_text", lambda self: code)
    assert private_imports(path) == {f"plot/some.py: {name}" for name in expected}
