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
from consilience._base.parameters import Rule
from consilience._cli import cli
from consilience._pipeline.consensus_clustering import BasePipeline

from . import register
from .commands import runner
from .register import PACKAGE, ROOT, line_of

pytestmark = pytest.mark.register
REGISTER = PACKAGE / "_register.py"
#: The form of every page of a method, in this order; others may stand between, and words after a comma.
FORM = ("When to use it", "Objective", "Differences from the paper", "Cost", "References")
every_estimator = pytest.mark.parametrize("entry", _register.ESTIMATORS, ids=lambda entry: entry.name)


def address(entry: _register.Entry) -> str:
    """How users write it."""
    room = entry.module.partition(".")[0]
    return f"cs.{entry.name}" if entry in _register.FRONT else f"cs.{room}.{entry.name}"


def place(cls: type) -> str:
    """Where the class begins."""
    return line_of(Path(inspect.getfile(cls)), f"class {cls.__name__}")


def parameters_of(cls: type) -> list[str]:
    return list(inspect.signature(cls.__init__).parameters)[1:]


@every_estimator
def test_is_exported(entry):
    cls = entry.load()
    assert inspect.isclass(cls)
    where = line_of(REGISTER, f'"{entry.name}"')
    assert cls.__module__ == f"consilience.{entry.module}", f"{where}: name the module that defines it"
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
    unruled = [name for name in parameters_of(cls) if name not in cls._rules]
    assert unruled == [], f"{place(cls)}: add rules to these, as in `power: Annotated[float, Real(0)] = 1.0`"
    assert all(isinstance(rule, Rule) for rule in cls._rules.values())
    assert cls._rules.keys() == set(parameters_of(cls)), place(cls)


def named_in(doc: str, section: str) -> list[str]:
    """What a section of a docstring describes."""
    body = inspect.cleandoc(doc).partition(f"{section}\n{'-' * len(section)}\n")[2]
    body = re.split(r"\n+\w[\w ]*\n-{3,}\n", body)[0]
    lines = re.findall(r"^(\w[\w, ]*?)(?: :.*)?$", body, re.M)
    return [name for line in lines for name in line.split(", ")]


@every_estimator
def test_every_parameter_is_documented_once(entry):
    cls = entry.load()
    assert named_in(cls.__doc__, "Parameters") == parameters_of(cls), (
        f"{place(cls)}: describe each in the section Parameters of its docstring, in the order of the class"
    )


@every_estimator
def test_every_learned_attribute_is_documented_once(entry):
    cls, named = entry.load(), named_in(entry.load().__doc__, "Attributes")
    declared = {name for base in cls.__mro__ for name in (*inspect.get_annotations(base), *vars(base))}
    learned = {name for name in declared if name.endswith("_") and not name.startswith("_")}
    assert sorted(named) == sorted(learned), (
        f"{place(cls)}: describe each attribute that is declared in the section Attributes of its docstring"
    )


#: What a method may say more about than the base class does.
MORE_TO_SAY = {"n_init", "max_iter", "tol", "membership_", "history_", "n_iter_", "converged_", "heights_",
               "task_centers_", "utility_", "n_clusters", "keep_base_models"}  # fmt: skip


def written_by(cls: type) -> list[str]:
    """The parameters and attributes that the source of a class describes."""
    tree = ast.parse(Path(inspect.getfile(cls)).read_text("utf-8"))
    (node,) = [one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == cls.__name__]
    doc = ast.get_docstring(node) or ""
    return named_in(doc, "Parameters") + named_in(doc, "Attributes")


@every_estimator
def test_what_all_methods_have_is_described_by_the_base_class(entry):
    """So that ``confidence_`` has one definition."""
    bases = [base for base in entry.load().__mro__ if base.__name__.startswith("Base")]
    common = {
        name for base in bases if base.__module__.startswith("consilience") for name in written_by(base)
    }
    assert {"labels_", "confidence_", "n_jobs", "random_state"} <= common
    again = [name for name in written_by(entry.load()) if name in common - MORE_TO_SAY]
    assert again == [], f"{place(entry.load())}: leave these out of its docstring"


@every_estimator
def test_docstring_has_an_example(entry):
    """``tests/docs/test_docs.py`` runs it."""
    cls = entry.load()
    example = cls.__doc__.partition(">>>")[2]
    assert f"{address(entry)}(" in example, (
        f"{place(cls)}: add a section Examples that uses {address(entry)}(...)"
    )


@every_estimator
def test_stands_in_the_table_of_methods(entry):
    where = line_of(register.INDEX, "## From ")
    assert f"`{entry.name}`" in register.named_in_the_table(), (
        f"{where}: add a row `{register.row(entry, 'PAGE')}` to the table below, or run make register"
    )


@every_estimator
def test_has_a_page_whose_heading_names_it(entry):
    pages = [
        page.name
        for page in (ROOT / "docs" / "methods").glob("*.md")
        if re.search(rf"\b{entry.name}\b", page.read_text("utf-8").partition("\n")[0])
    ]
    assert len(pages) == 1, (
        f"docs/methods/: one page whose heading, line 1, names {entry.name}; found {pages or 'none'}. "
        "docs/methods/weac.md is an example of its form."
    )


@pytest.mark.parametrize(
    "page",
    sorted(set((ROOT / "docs" / "methods").glob("*.md")) - {ROOT / "docs" / "methods" / "index.md"}),
    ids=lambda page: page.stem,
)
def test_pages_of_methods_have_one_form(page):
    text = page.read_text("utf-8")
    shown = re.sub(r"```.*?```", "", text, flags=re.S)
    found = [name for name in re.findall(r"^## ([^,\n]*)", shown, re.M) if name in FORM]
    where = page.relative_to(ROOT).as_posix()
    assert found == list(FORM), f"{where}: the headings of every page of a method are, in this order, {FORM}"
    order = ["**The problem.**", "<!-- picture: method-", "## When to use it"]
    assert all(words in text for words in order), f"{where}: add what is missing of {order}"
    assert sorted(order, key=text.index) == order, f"{where}: expected in the order {order}"


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
            if inspect.isclass(value) and issubclass(value, (BaseMethod, BasePipeline)):
                known = value in registered or value.__name__.startswith(("Base", "_"))
                assert known, (
                    f"{line_of(REGISTER, 'CONSENSUS = (')}: add Entry({value.__name__!r}, "
                    f"{value.__module__.removeprefix('consilience.')!r})"
                )


@pytest.mark.parametrize("room", ["", "consensus", "multitask"])
def test_type_checkers_see_what_is_registered(room):
    file = PACKAGE / room / "__init__.py"
    entries = {"": (), "consensus": _register.CONSENSUS, "multitask": _register.MULTITASK}[room]
    names = {entry.name for entry in entries} or {*cs.__all__, *_register.ROOMS} - {"__version__"}
    tree = ast.parse(file.read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    aliases = [alias for node in block.body for alias in node.names]
    absent = register.missing_imports().get(file, [])
    where = line_of(file, "if TYPE_CHECKING")
    assert absent == [], f"{where}: add these lines below it, or run make register"
    unknown = {alias.name for alias in aliases} - names
    assert unknown == set(), f"{where}: take these out, they are not in {REGISTER.name}"
    assert names <= {alias.name for alias in aliases}, where
    assert all(alias.asname == alias.name for alias in aliases), f"{where}: `as NAME` marks an export"


def test_the_front_door_is_small():
    """The top holds what most users need; names of other packages are not taken by ``import *``."""
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
    documented = set(named_in(cls.__doc__, "Attributes"))
    declared = {name for base in cls.__mro__ for name in getattr(base, "__annotations__", {})}
    if inspect.isfunction(cls.__init__):  # what a constructor sets is as good as declared
        declared |= {one.argval for one in dis.get_instructions(cls.__init__) if one.opname == "STORE_ATTR"}
    if cls.__name__.startswith("Base"):  # describes what only some methods have
        return
    undeclared = [name for name in sorted(documented - declared) if not hasattr(cls, name)]
    assert undeclared == [], f"{place(cls)}: annotate these attributes in the class (`name_: np.ndarray`)"
    estimators = {entry.load() for entry in _register.ESTIMATORS}
    assert documented or cls not in estimators, f"{place(cls)}: add a section Attributes to its docstring"


def test_names_that_are_not_there():
    for package in (cs, cs.consensus, cs.multitask):
        with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'Nonesuch'"):
            assert package.Nonesuch


@pytest.mark.parametrize(
    ("package", "name", "address"),
    [
        (cs, "LWGP", "cs.consensus.LWGP"),
        (cs, "evidence_accumulation", "cs.consensus.EvidenceAccumulation"),
        (cs.consensus, "lwgp", "cs.consensus.LWGP"),
        (cs.consensus, "MDEC", "cs.MDEC"),
        (cs, "ASI", "cs.multitask.ASI"),
    ],
)
def test_a_class_that_is_elsewhere_is_found(package, name, address):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'; it is {address}$"):
        getattr(package, name)
    assert eval(address, {"cs": cs}).__name__ == address.rpartition(".")[2]


def test_python_suggests_the_name_that_was_meant():
    with pytest.raises(AttributeError) as caught:
        assert cs.ConsensusClusterng
    assert (caught.value.name, caught.value.obj) == ("ConsensusClusterng", cs)
    assert "ConsensusClustering" in dir(caught.value.obj)
