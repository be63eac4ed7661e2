"""``consilience multitask``: thin over the library."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest

import consilience as cs
from consilience._cli import cli
from consilience._cli.multitask import command
from consilience.errors import FileError

from ..commands import runner
from .data import word_counts


@pytest.fixture
def documents(tmp_path, monkeypatch):
    X, _, task = word_counts(0)
    monkeypatch.chdir(tmp_path)
    names = [f"w{j}" for j in range(30)]
    columns = {names[0]: X.toarray()[:, 0], "source": np.array(["news", "mail"])[task]}
    columns |= {name: X.toarray()[:, j + 1] for j, name in enumerate(names[1:])}
    cs.io.write_table(columns, "documents.csv", sample_names=[f"d{i}" for i in range(70)])
    return X, np.array(["news", "mail"])[task]


def run(*args):
    return runner().invoke(cli, list(args))


def test_equals_the_library(documents):
    X, task = documents
    done = run(
        "multitask", "documents.csv", "--task-column", "source", "-k", "2", "-o", "out.csv", "--confidence"
    )
    assert done.exit_code == 0, done.output
    model = cs.SPMTC(2, random_state=0).fit(X, task=task)
    lines = Path("out.csv").read_text().splitlines()
    assert lines[0] == "name,label,confidence"
    assert [line.split(",")[:2] for line in lines[1:]] == [
        [f"d{i}", str(label)] for i, label in enumerate(model.labels_)
    ]


def test_json_names_the_tasks(documents):
    done = run(
        "multitask", "documents.csv", "--task-column", "source", "-k", "2", "--method", "asi", "--json"
    )
    said = json.loads(done.stdout)
    assert said["tasks"] == {"mail": 30, "news": 40}
    assert said["method"] == "ASI"


@pytest.mark.parametrize(
    "line",
    [line.strip() for line in command.help.partition("Examples:")[2].splitlines() if "consilience" in line],
)
def test_examples_of_the_help_work(documents, line):
    done = run(*shlex.split(line)[1:])
    assert done.exit_code == 0, done.output


def test_arrays_of_a_file(documents):
    X, task = documents
    np.savez("tasks.npz", X=X.toarray(), task=task)
    done = run("multitask", "tasks.npz", "--task-column", "task", "-k", "2", "-o", "a.csv")
    assert done.exit_code == 0, done.output
    run("multitask", "documents.csv", "--task-column", "source", "-k", "2", "-o", "b.csv")
    a, b = (Path(name).read_text().splitlines()[1:] for name in ("a.csv", "b.csv"))
    assert [line.split(",")[1] for line in a] == [line.split(",")[1] for line in b]


def test_messages(documents):
    done = run("multitask", "documents.csv", "--task-column", "sorce", "-k", "2")
    assert done.exit_code == 2
    assert "documents.csv has no column 'sorce'; it has 'w0', 'source'" in done.stderr
    Path("gap.csv").write_text("a,b,t\n1,2,x\n3,4,\n5,6,x\n")
    with pytest.raises(FileError, match="gap.csv, column 't', row 2 is missing"):
        cs.io.read_features("gap.csv", column="t")
    Path("text.csv").write_text("a,b,t\n1,2,x\n3,oh,y\n5,6,x\n")
    with pytest.raises(FileError, match="text.csv, column 'b', row 2: 'oh' is not a number"):
        cs.io.read_features("text.csv", column="t")
    done = run(
        "multitask", "documents.csv", "--task-column", "source", "-k", "2", "--method-param", "n_clusters=3"
    )
    assert "set by the option -k" in done.stderr
