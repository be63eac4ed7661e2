"""Who imports whom is in ``architecture.toml``, and names with an underscore stay in their room."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

pytest.importorskip("tomllib", reason="part of Python 3.11")

from consilience import _register

from . import rooms
from .rooms import PACKAGE

ROOMS = rooms.declared()
#: Private attributes that a file takes from a class or module of another one, and why it may.
TAKEN = {
    ("io/_models.py", "kind._to_parts"): "what a file holds of a thing: each class says so by itself",
    ("io/_models.py", "kind._from_parts"): "how it is made again",
    ("_kernels/compile/cached.py", "jit._not_kept"): "both files are one: what jit has done so far",
    ("_kernels/compile/cached.py", "jit._NoCache"): "both files are one: what jit has done so far",
    ("_kernels/compile/jit.py", "cache._cache_file._data_path"): "numba has no other name for it",
    ("_kernels/compile/store.py", "CompileResult._rebuild"): "numba has no other name for it",
    (
        "_kernels/compile/arrays.py",
        "_allocate(context, builder, signature, arguments)._getvalue",
    ): "numba has no other name for it",
}


def private_imports(path: Path, text: str | None = None) -> set[str]:
    """``file: module`` for each private module or name that a file takes from another room."""
    here, found = path.relative_to(PACKAGE), set()
    hall = rooms.room_of_file(path).partition("/")[0]
    for one in rooms.imports_of(path, text):
        inner = [
            i for i, part in enumerate(one.target) if i and rooms.is_private(part)
        ]  # rooms themselves are the package's
        if inner and one.target[0] != hall and one.when != "typing":
            found.add(f"{here.as_posix()}: {'.'.join(one.target[: inner[0] + 1])}")
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_what_it_may(room):
    may, lazily = set(ROOMS[room].get("imports", ())), set(ROOMS[room].get("lazily", ()))
    once = {there: where for (here, there), where in rooms.edges("once").items() if here == room}
    later = {there: where for (here, there), where in rooms.edges("lazily").items() if here == room}
    table = f"tests/architecture.toml, [{room}]"
    for there, where in once.items():
        assert there in may, (
            f"{where}: {room} may not import {there}; mend it, or say in {table}, that it may"
        )
    for there, where in later.items():
        assert there in may | lazily, (
            f"{where}: {room} may not import {there}, not even when needed ({table})"
        )
    assert may - set(once) - set(later) == set(), f"{table}: it imports none of these"
    assert lazily - (set(later) - set(once)) == set(), (
        f"{table}: none of these is imported within functions only"
    )


@pytest.mark.parametrize("room", [name for name in ROOMS if "packages" in ROOMS[name]])
def test_a_room_uses_the_packages_it_may(room):
    found = set()
    for path in rooms.files():
        if rooms.room_of_file(path).partition("/")[0] == room:
            found |= rooms.packages_of(path)
    assert found == set(ROOMS[room]["packages"]), f"tests/architecture.toml, [{room}], packages"


def test_every_room_is_declared_and_every_reason_given():
    found = {rooms.room_of_file(path) for path in rooms.files()}
    assert {name for name in found if not name.startswith("__")} == set(ROOMS)
    for room in ROOMS.values():
        assert room["what"]
        assert all(room.get("lazily", {}).values()), "say why it is imported only when needed"


def test_no_circle():
    graph = {
        room: {*declared.get("imports", ()), *declared.get("lazily", ())} for room, declared in ROOMS.items()
    }
    hall = {name for name in ROOMS if "/" in name}
    graph["_kernels"] |= hall
    list(
        TopologicalSorter(
            {room: {there for there in found if there != room} for room, found in graph.items()}
        ).static_order()
    )


def test_the_table_of_contributing_is_the_declared_one():
    text = rooms.CONTRIBUTING.read_text("utf-8")
    assert rooms.with_table(text) == text, "run python -m tests.rooms"


def test_methods_do_not_import_methods():
    """What two methods share moves to the kernels, or to a file of their room that defines no method."""
    homes = {
        tuple(entry.module.split(".")) for entry in _register.ESTIMATORS if entry not in _register.FEATURES
    }
    assert len(homes) > 25
    for home in homes:
        path = PACKAGE.joinpath(*home).with_suffix(".py")
        for one in rooms.imports_of(path):
            taken = {one.target, one.target[:-1]} & (homes - {home})
            assert not taken, f"{one.where} imports a method"


def test_rooms_keep_their_private_things():
    assert set().union(*(private_imports(path) for path in rooms.files())) == set()


def test_private_attributes_stay_in_their_file():
    found = {
        (path.relative_to(PACKAGE).as_posix(), text): line
        for path in rooms.files()
        for line, text in rooms.private_attributes(ast.parse(path.read_text("utf-8")))
    }
    assert {
        f"{file}:{line}: {text}" for (file, text), line in found.items() if (file, text) not in TAKEN
    } == (set()), "call a function of the file that defines it"
    assert set(TAKEN) - set(found) == set(), "mended: take these off the list"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("model._fit(X)", ["model._fit"]),
        ("model._fit = solve", ["model._fit"]),
        ("getattr(model, '_merges', None)", ["getattr(model, '_merges', None)"]),
        ("class A:\n    _b: int\n    def same(self, other):\n        return other._b", []),
        ("def f(self):\n    self._b = super()._b + cls._b", []),
        ("found._replace(k=2), sys._getframe()", []),
    ],
)
def test_what_counts_as_a_private_attribute(code, expected):
    assert [text for _, text in rooms.private_attributes(ast.parse(code))] == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from ..metrics._table import Contingency", {"metrics._table"}),
        ("from ..metrics import _table, ari", {"metrics._table"}),
        ("def f():\n    from ..io import _text", {"io._text"}),
        ("import consilience.io._text", {"io._text"}),
        ("from consilience._kernels.compile.jit import kernel", set()),
        ("from .._kernels.pairs.paced import _step", {"_kernels.pairs.paced._step"}),
        ("from ._other import helper", set()),
        ("from . import _other", set()),
        ("from .. import __version__", set()),
        ("from numpy import _core", set()),
    ],
)
def test_what_counts_as_private(code, expected):
    path = PACKAGE / "plot" / "some.py"
    assert private_imports(path, code) == {f"plot/some.py: {name}" for name in expected}


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from ..io import load", ("io", "once")),
        ("def f():\n    from ..io import load", ("io", "lazily")),
        ("if TYPE_CHECKING:\n    from ..io import load", ("io", "typing")),
        ("class A:\n    from .._kernels.cut.graph import B", ("_kernels/cut", "once")),
        ("import consilience.errors", ("errors", "once")),
    ],
)
def test_what_counts_as_an_import(code, expected):
    (one,) = rooms.imports_of(PACKAGE / "plot" / "some.py", code)
    assert (rooms.room_of(one.target), one.when) == expected
