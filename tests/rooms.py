"""The rooms of the package, as ``architecture.toml`` declares them.

``python -m tests.rooms`` writes their table in CONTRIBUTING.md.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import consilience
from consilience import _register

if sys.version_info >= (3, 11):
    import tomllib

PACKAGE = Path(consilience.__file__).parent
ROOT = PACKAGE.parents[1]
DECLARED = Path(__file__).with_name("architecture.toml")
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
#: Folders that are rooms of their own.
HALLS = ("_kernels",)

#: Names at the top of the package -> the modules that define them.
HOMES = {
    entry.name: tuple(entry.module.split("."))
    for entry in (*_register.FRONT, *_register.CONTAINERS, *_register.FUNCTIONS)
}


class Import(NamedTuple):
    """One name that a file of the package takes from it."""

    file: Path
    line: int
    target: tuple[str, ...]
    when: str  # "once", "lazily" (within a function) or "typing"

    @property
    def where(self) -> str:
        return f"src/{PACKAGE.name}/{self.file.relative_to(PACKAGE).as_posix()}:{self.line}"


def declared() -> dict:
    """Room -> what it is, and what it may import."""
    return tomllib.loads(DECLARED.read_text("utf-8"))


@cache
def files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)


def room_of(parts: tuple[str, ...]) -> str:
    """The room of a path from the package: a folder or module at its top, or a folder of the kernels."""
    if not parts:
        return ""
    if parts[0] in HOMES:
        parts = HOMES[parts[0]]
    if parts[0] in HALLS and len(parts) > 1 and (PACKAGE / parts[0] / parts[1]).is_dir():
        return f"{parts[0]}/{parts[1]}"
    return parts[0]


def room_of_file(path: Path) -> str:
    return room_of(path.relative_to(PACKAGE).with_suffix("").parts)


def targets(node: ast.AST, folders: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Modules and names of the package that a statement imports, each as its path from the package."""
    if isinstance(node, ast.Import):
        names = [tuple(alias.name.split(".")) for alias in node.names]
        return [name[1:] for name in names if name[0] == PACKAGE.name]
    if not isinstance(node, ast.ImportFrom):
        return []
    module = tuple((node.module or "").split(".")) if node.module else ()
    if node.level:
        module = folders[: len(folders) - node.level + 1] + module
    elif module[0] == PACKAGE.name:
        module = module[1:]
    else:
        return []
    return [(*module, alias.name) for alias in node.names]


def imports_of(path: Path, text: str | None = None) -> Iterator[Import]:
    """What a file imports of the package, and when."""
    folders = path.relative_to(PACKAGE).parts[:-1]

    def walk(node: ast.AST, when: str) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            now = when
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and when == "once":
                now = "lazily"
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                now = "typing"
            for target in targets(child, folders):
                yield Import(path, child.lineno, target, now)
            yield from walk(child, now)

    yield from walk(ast.parse(path.read_text("utf-8") if text is None else text), "once")


def packages_of(path: Path) -> set[str]:
    """Packages of others that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add((node.module or "").partition(".")[0])
    return found - sys.stdlib_module_names - {PACKAGE.name}


#: Names with an underscore that are public: those of named tuples, and of other packages.
_OF_OTHERS = frozenset(
    {
        "_asdict",
        "_cache",
        "_exit",
        "_fields",
        "_get_param_names",
        "_getframe",
        "_load_index",
        "_max_workers",
        "_replace",
    }
)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name not in _OF_OTHERS


def own_names(tree: ast.AST) -> set[str]:
    """Private names that the classes and functions of a file define, or set on themselves."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_own(node.value):
            found.add(node.attr)
    return {name for name in found if is_private(name)}


def is_own(node: ast.AST) -> bool:
    """Whether this is ``self``, ``cls`` or ``super()``."""
    if isinstance(node, ast.Call):
        node = node.func
    return isinstance(node, ast.Name) and node.id in ("self", "cls", "super")


def private_attributes(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, text) where a private attribute is taken from what no class of the file has defined."""
    own = own_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            name, of = node.attr, node.value
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "setattr", "hasattr"):
            name, of = getattr(node.args[1], "value", ""), node.args[0]
        else:
            continue
        if isinstance(name, str) and is_private(name) and name not in own and not is_own(of):
            yield node.lineno, ast.unparse(node)


@cache
def edges(when: str) -> dict[tuple[str, str], str]:
    """(room, room that it imports) -> its first place; exports of the package itself do not count."""
    found: dict[tuple[str, str], str] = {}
    for path in files():
        here = room_of_file(path)
        for one in imports_of(path):
            there = room_of(one.target)
            if here.startswith("__") or there.startswith("__") or there in ("", here) or one.when != when:
                continue
            if there.partition("/")[0] != here.partition("/")[0]:
                there = there.partition("/")[0]
            found.setdefault((here, there), one.where)
    return found


def table() -> str:
    """The table of CONTRIBUTING.md."""
    rooms = declared()
    lines = ["| room | what is in it | may import | only when needed |", "|---|---|---|---|"]
    for name, room in rooms.items():
        path = PACKAGE / name
        shown = f"`{name}/`" if path.is_dir() else f"`{name}.py`"
        own = ", ".join(f"`{other}`" for other in room.get("imports", ())) or "nothing"
        lazily = ", ".join(f"`{other}`" for other in room.get("lazily", ()))
        lines.append(f"| {shown} | {room['what']} | {own} | {lazily} |")
    return "\n".join(lines)


_MARKS = re.compile(r"(<!-- rooms -->\n).*?(<!-- end of rooms -->)", re.S)


def with_table(text: str) -> str:
    """The text with the table between its two marks."""
    assert _MARKS.search(text), "CONTRIBUTING.md: the marks <!-- rooms --> and <!-- end of rooms --> are gone"
    return _MARKS.sub(lambda match: match[1] + table() + "\n" + match[2], text)


if __name__ == "__main__":
    CONTRIBUTING.write_text(with_table(CONTRIBUTING.read_text("utf-8")), "utf-8")
