"""What tools see through ``import consilience as cs``: mypy, pyright and, behind many editors, jedi."""

from __future__ import annotations

import importlib.util
import inspect
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import consilience as cs
from consilience import _register

HERE = Path(__file__).parent
PACKAGES = Path(cs.__file__).parents[1]
MISTAKES = [
    number
    for number, line in enumerate((HERE / "mistakes.py").read_text().splitlines(), 1)
    if "# mistake" in line
]


def needed(module: str) -> None:
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed: pip install 'consilience[dev]' has it")


def said_by(tool: str, *options: str, folder: Path) -> str:
    """What a checker says about both files, in a folder where none of our settings count."""
    for name in ("mistakes.py", "right.py"):
        shutil.copy(HERE / name, folder)
    done = subprocess.run(
        [sys.executable, "-m", tool, *options],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(PACKAGES)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1, done.stdout + done.stderr  # it ran, and found mistakes
    return done.stdout


@pytest.mark.slow
def test_mypy(tmp_path):
    needed("mypy")
    # Modules of a typed package that is installed export no name by the way, and are not reported on.
    options = ("--config-file=", "--no-implicit-reexport", "--follow-imports=silent", "--no-error-summary")
    said = said_by("mypy", *options, "mistakes.py", "right.py", folder=tmp_path)
    lines = re.findall(r"^(\w+\.py):(\d+): error", said, re.M)
    assert lines == [("mistakes.py", str(number)) for number in MISTAKES], said


@pytest.mark.slow
def test_pyright(tmp_path):
    """By basedpyright, which brings its own interpreter, in the mode that is pyright's own."""
    needed("basedpyright")
    config = {"typeCheckingMode": "standard", "extraPaths": [str(PACKAGES)], "include": ["."]}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(config))
    said = said_by("basedpyright", "--outputjson", "--pythonpath", sys.executable, folder=tmp_path)
    reports = [
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1)
        for one in json.loads(said)["generalDiagnostics"]
    ]
    assert sorted(reports) == [("mistakes.py", number) for number in MISTAKES], said


def test_what_is_right_runs():
    runpy.run_path(str(HERE / "right.py"))


@pytest.fixture
def at_the_end_of(tmp_path_factory):
    """jedi, with the cursor behind a line of code."""
    needed("jedi")
    import jedi

    jedi.settings.cache_directory = str(
        tmp_path_factory.mktemp("jedi")
    )  # workers would read each other's half-written files
    project = jedi.Project(HERE, added_sys_path=[str(PACKAGES)], smart_sys_path=False)

    def script(line: str) -> jedi.Script:
        code = f"import consilience as cs\n{line}"
        return jedi.Script(code, project=project, environment=jedi.InterpreterEnvironment())

    return script


@pytest.mark.register
def test_jedi_lists_every_name(at_the_end_of):
    offered = {one.name for one in at_the_end_of("cs.").complete()}
    assert set(cs.__all__) - offered == set(), "src/consilience/__init__.py: run make register"


@pytest.mark.parametrize("entry", _register.ESTIMATORS, ids=lambda entry: entry.name)
def test_jedi_lists_parameters(entry, at_the_end_of):
    room = "" if entry in _register.FRONT else f"{entry.module.partition('.')[0]}."
    (signature,) = at_the_end_of(f"cs.{room}{entry.name}(").get_signatures()
    assert [one.name for one in signature.params] == list(inspect.signature(entry.load()).parameters)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cs.SPCE(3).fit([]).", {"labels_", "clustering_losses_", "n_pieces_", "to_frame"}),
        ("cs.MDEC(3).fit([]).", {"labels_", "ensemble_", "cluster_reliability_"}),
        ("cs.MDEC(3).fit([]).ensemble_.", {"n_clusterings", "coassociation"}),
        ("cs.SPMTC(3).fit([]).", {"task_labels_", "example_weights_", "predict"}),
        ("cs.generate.random_k([]).", {"n_clusterings", "coassociation"}),
    ],
)
def test_jedi_lists_what_was_learned(line, expected, at_the_end_of):
    assert expected - {one.name for one in at_the_end_of(line).complete()} == set()
