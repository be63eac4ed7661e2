"""Every example in a docstring runs, and the conventions that can be checked are."""

from __future__ import annotations

import ast
import doctest
import importlib
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import consilience
from consilience import _register

from ..commands import runner
from . import examples

PACKAGE = Path(consilience.__file__).parent
MODULES = [
    name for _, name, _ in pkgutil.walk_packages([str(PACKAGE)], "consilience.") if "__main__" not in name
]


@pytest.mark.parametrize("name", ["consilience", *MODULES])
def test_docstring_examples(name):
    failures, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failures == 0


@pytest.mark.parametrize("name", consilience.__all__)
def test_public_names_exist_and_are_documented(name):
    value = getattr(consilience, name)
    assert name == "__version__" or value.__doc__


def test_public_classes_have_an_example():
    for entry in (*_register.ESTIMATORS, *_register.CONTAINERS, _register.Entry("Features", "io")):
        assert ">>>" in entry.load().__doc__, entry.name


def test_import_is_light():
    heavy = ("numpy", "scipy", "sklearn", "numba", "narwhals", "tqdm")
    code = f"import consilience, sys; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def imported_packages() -> set[str]:
    """Packages that the code imports, at the top, when needed, or by ``need``; without Python's own."""
    found = set()
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                found.add(node.module)
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "need":
                found |= {arg.value for arg in node.args[:1] if isinstance(arg, ast.Constant)}
    return {name.partition(".")[0] for name in found} - sys.stdlib_module_names - {"consilience"}


def test_what_is_imported_is_declared():
    tomllib = pytest.importorskip("tomllib")
    project = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    declared = [
        *project["dependencies"],
        *(one for name, extra in extras.items() if name not in ("test", "dev") for one in extra),
    ]
    names = {re.match(r"[\w-]+", one).group() for one in declared}
    names |= {"typing_extensions", "llvmlite"}  # the first for type checkers, which bring it; numba the other
    assert imported_packages() - {"sklearn" if name == "scikit-learn" else name for name in names} == set()
    assert "version" in project["dynamic"]  # __version__ is the one place


@pytest.mark.parametrize(
    "page", sorted((PACKAGE.parents[1] / "docs" / "methods").glob("*.md")), ids=lambda page: page.stem
)
def test_pages_name_code_that_exists(page):
    """Tables lead from equations to functions, by their path in the package."""
    rooms = "|".join(
        path.name for path in PACKAGE.iterdir() if path.is_dir() and not path.name.startswith("_")
    )
    for name in re.findall(rf"`((?:{rooms})\.[\w.]+)", page.read_text()):
        try:
            pkgutil.resolve_name(f"consilience.{name}")
        except (ImportError, AttributeError) as error:
            raise AssertionError(f"{page.name}: there is no {name}") from error


ROOT = PACKAGE.parents[1]
README = (ROOT / "README.md").read_text("utf-8") if (ROOT / "README.md").exists() else ""


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in (ROOT / "docs", ROOT / "docs" / "methods")
    for path in folder.glob("*.md")
    if "```py" in path.read_text("utf-8")
)


def test_pages_have_examples():
    assert len(PAGES) > 35
    assert {path.stem for path in (ROOT / "docs" / "methods").glob("*.md")} - {"index"} == {
        Path(page).stem for page in PAGES if "methods/" in page
    }


@pytest.mark.filterwarnings("ignore::consilience.errors.ConsilienceWarning")
@pytest.mark.parametrize(
    "page", ["README.md", *(pytest.param(page, marks=pytest.mark.pages) for page in PAGES)]
)
def test_examples_of_a_page_run_as_pasted(page, tmp_path, monkeypatch):
    """In order and in an empty namespace, as a reader has only the page; output must match the page."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text("utf-8")
    if "import anndata" in text:  # not among the packages for tests
        pytest.importorskip("anndata")
    for found, shown in examples.printed(text, page):
        assert not shown or found == shown, f"run python -m tests.docs.examples {page}"


def test_output_is_shown_and_compared():
    assert sum(bool(shown) for _, shown in examples.blocks(README)) >= 3


def test_output_is_written_below_the_block_that_prints_it():
    page = "```python\nx = 1\n```\n\n```python\nprint(x)\n```\n\n```text\nold\n```\n\nWords.\n"
    assert examples.written(page, "page") == page.replace("old", "1")
    assert list(examples.printed(page, "page")) == [("", ""), ("1\n", "old\n")]


@pytest.mark.parametrize("page", ["README.md", pytest.param("docs/command-line.md", marks=pytest.mark.pages)])
def test_commands_in_prose_run(page, tmp_path, monkeypatch):
    """Every `consilience` line, on files of the names it uses."""
    from sklearn.datasets import load_iris

    import consilience as cs
    from consilience._cli import cli

    monkeypatch.chdir(tmp_path)
    X, y = load_iris(return_X_y=True)
    cs.io.write_features(X, "features.csv")
    cs.io.write_ensemble(
        cs.generate.kmeans(X, n_clusterings=5, n_clusters=6, random_state=0), "base_labels.csv"
    )
    cs.io.write_labels(y, "truth.csv")
    shell = blocks("sh", (ROOT / page).read_text("utf-8"))
    lines = [
        line
        for block in shell
        for line in block.replace("\\\n", "").splitlines()
        if line.startswith("consilience ")
    ]
    assert len(lines) >= 4
    for line in lines:
        done = runner().invoke(cli, shlex.split(line, comments=True)[1:])
        assert done.exit_code == 0, f"{line}: {done.output}"


def test_citation_and_classifiers_are_up_to_date():
    tomllib = pytest.importorskip("tomllib")
    root = PACKAGE.parents[1]
    cited = (root / "CITATION.cff").read_text("utf-8")
    assert f"version: {consilience.__version__}\n" in cited
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"license: {project['license']}\n" in cited
    assert project["description"] in cited
    versions = [c.rpartition(" ")[2] for c in project["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert versions[0] == project["requires-python"].lstrip(">=")
    assert versions == [f"3.{minor}" for minor in range(10, 10 + len(versions))]
