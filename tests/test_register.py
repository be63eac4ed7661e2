"""A class that is registered is everywhere it should be: a contribution cannot be made by halves."""

from __future__ import annotations

import ast
import dis
import importlib
import inspect
import json
import pkgutil
import re
from pathlib import Path

import pytest

import consilience as cs
from consilience import _register
from consilience._base.estimator import BaseMethod
from consilience._base.parameters import COMMON_RULES
from consilience._cli import cli
from consilience._pipeline.consensus_clustering import ConsensusClustering

from .commands import runner

PACKAGE = Path(cs.__file__).parent
ROOT = PACKAGE.parents[1]
every_estimator = pytest.mark.parametrize("entry", _register.ESTIMATORS, ids=lambda entry: entry.name)


def address(entry: _register.Entry) -> str:
    """How users write it."""
    return (
        f"cs.{entry.name}"
        if entry in _register.FRONT
        else f"cs.{entry.module.partition('.')[0]}.{entry.name}"
    )


def parameters_of(cls: type) -> list[str]:
    return list(inspect.signature(cls.__init__).parameters)[1:]


@every_estimator
def test_is_exported(entry):
    cls = entry.load()
    assert inspect.isclass(cls)
    assert cls.__module__ == f"consilience.{entry.module}"  # not where it is only imported
    assert (entry in _register.FRONT) == (entry.name in cs.__all__) == (entry.name in dir(cs))
    if entry in _register.FRONT:
        assert getattr(cs, entry.name) is cls
    room = entry.module.partition(".")[0]
    if room in _register.ROOMS:
        assert getattr(getattr(cs, room), entry.name) is cls
        assert entry.name in getattr(cs, room).__all__


@every_estimator
def test_every_parameter_has_a_rule(entry):
    cls = entry.load()
    names, rules = parameters_of(cls), {**COMMON_RULES, **cls._constraints}
    assert [name for name in names if name not in rules] == []


@every_estimator
def test_every_parameter_is_documented(entry):
    cls = entry.load()
    documented = cls.__doc__.partition("Parameters\n")[2].partition("Attributes\n")[0]
    lines = re.findall(r"^    (\w[\w, ]*?)(?: :.*)?$", documented, re.M)
    named = {name for line in lines for name in line.split(", ")}
    assert [name for name in parameters_of(cls) if name not in named] == []


@every_estimator
def test_docstring_has_an_example(entry):
    """``tests/docs/test_docs.py`` runs it."""
    assert f"{address(entry)}(" in entry.load().__doc__.partition(">>>")[2]


@every_estimator
def test_stands_in_the_table_of_methods(entry):
    rows = re.findall(r"^\|.*$", (ROOT / "docs" / "methods" / "index.md").read_text("utf-8"), re.M)
    first_column = " ".join(row.split("|")[1] for row in rows)
    assert f"`{entry.name}`" in first_column


@every_estimator
def test_has_a_page_whose_heading_names_it(entry):
    headings = [page.read_text().partition("\n")[0] for page in (ROOT / "docs" / "methods").glob("*.md")]
    assert sum(re.search(rf"\b{entry.name}\b", heading) is not None for heading in headings) == 1


def test_is_listed_by_the_command():
    said = json.loads(runner().invoke(cli, ["methods", "--json"]).stdout)
    groups = {
        "methods": _register.CONSENSUS,
        "estimators": _register.FEATURES,
        "multitask": _register.MULTITASK,
    }
    for group, entries in groups.items():
        assert [one["class"] for one in said[group]] == [entry.name for entry in entries]
        for one, entry in zip(said[group], entries):
            assert list(one["parameters"]) == parameters_of(entry.load())


def test_every_public_estimator_is_registered():
    registered = {entry.load() for entry in _register.ESTIMATORS}
    for _, name, _ in pkgutil.walk_packages([str(PACKAGE)], "consilience."):
        if "__main__" in name:
            continue
        for value in vars(importlib.import_module(name)).values():
            if inspect.isclass(value) and issubclass(value, (BaseMethod, ConsensusClustering)):
                assert value in registered or value.__name__.startswith(("Base", "_")), value


@pytest.mark.parametrize(
    ("room", "names"),
    [
        ("", {*cs.__all__, *_register.ROOMS} - {"__version__"}),
        ("consensus", {entry.name for entry in _register.CONSENSUS}),
        ("multitask", {entry.name for entry in _register.MULTITASK}),
    ],
)
def test_type_checkers_see_what_is_registered(room, names):
    tree = ast.parse((PACKAGE / room / "__init__.py").read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    aliases = [alias for node in block.body for alias in node.names]
    assert {alias.name for alias in aliases} == names
    assert all(alias.asname == alias.name for alias in aliases)  # which marks an export


def test_the_front_door_is_small():
    """What stands at the top is what most users need; names of other packages are not taken by ``import *``."""
    assert len(cs.__all__) <= 24
    assert not {"io", "dask", "anndata"} & set(cs.__all__)
    assert {"io", "dask", "anndata"} <= set(dir(cs))
    for name in dir(cs):
        assert getattr(cs, name) is not None


def public_classes() -> list[type]:
    """Those of the package and its rooms."""
    rooms = [getattr(cs, room) for room in _register.ROOMS if room != "errors"]
    values = [getattr(package, name) for package in (cs, *rooms) for name in package.__all__]
    return list({value.__qualname__: value for value in values if inspect.isclass(value)}.values())


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
def test_every_attribute_is_declared(cls):
    """So that type checkers and editors know it; names end in ``_`` where they are learned."""
    section = inspect.cleandoc(cls.__doc__).partition("Attributes\n----------\n")[2]
    section = re.split(r"\n\n\w[\w ]*\n-{3,}\n", section)[0]
    lines = re.findall(r"^(\w[\w, ]*?)(?: :.*)?$", section, re.M)
    documented = {name for line in lines for name in line.split(", ")}
    declared = {name for base in cls.__mro__ for name in getattr(base, "__annotations__", {})}
    if inspect.isfunction(cls.__init__):  # what a constructor sets is as good as declared
        declared |= {one.argval for one in dis.get_instructions(cls.__init__) if one.opname == "STORE_ATTR"}
    assert [name for name in sorted(documented - declared) if not hasattr(cls, name)] == []
    estimators = {entry.load() for entry in _register.ESTIMATORS}
    assert documented or cls not in estimators


def test_names_that_are_not_there():
    for package in (cs, cs.consensus, cs.multitask):
        with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'Nonesuch'"):
            package.Nonesuch  # noqa: B018
