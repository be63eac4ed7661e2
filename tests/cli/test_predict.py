"""``consilience predict``, and ``--save-model`` of the commands that make models."""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np
import pytest

import consilience as cs
from consilience._cli import _program


def labels_in(path):
    return cs.io.read_labels(path, columns=["label"]).original_labels(0).tolist()


def test_features_to_model_to_labels(folder, run):
    done = run("cluster", "features.csv", "-k", "3", "--save-model", "model.consilience", "-o", "first.csv")
    assert done.exit_code == 0, done.stderr
    assert "wrote the model to model.consilience" in done.stderr
    done = run("predict", "model.consilience", "features.csv", "-o", "again.csv", "--confidence")
    assert done.exit_code == 0, done.stderr
    assert labels_in("again.csv") == labels_in("first.csv")
    assert Path("again.csv").read_text().splitlines()[0] == "name,label,confidence"
    X = cs.io.read_features("features.csv")
    cs.io.write_features(X.X[:1] + 0.01, "new.csv", sample_names=["new"], feature_names=list("abcd"))
    done = run("predict", "model.consilience", "new.csv", "--json", "--n-jobs", "1")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["labels"] == labels_in("first.csv")[:1]


def test_ensembles_to_model_to_labels(folder, run):
    done = run("consensus", "ensemble.csv", "-k", "3", "--save-model", "model.consilience", "-o", "first.csv")
    assert done.exit_code == 0, done.stderr
    done = run("predict", "model.consilience", "ensemble.npz", "-o", "again.csv")
    assert done.exit_code == 0, done.stderr
    assert labels_in("again.csv") == labels_in("first.csv")
    # One object, its columns in another order, one of them empty.
    Path("new.csv").write_text("name,three,one,two\nnew,0,0,\n")
    done = run("predict", "model.consilience", "new.csv", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["labels"] == labels_in("first.csv")[:1]


def test_what_is_refused(folder, run):
    run("cluster", "features.csv", "-k", "3", "--save-model", "model.consilience", "-o", "first.csv")
    X = cs.io.read_features("features.csv")
    cs.io.write_features(X.X[:5], "other.csv", feature_names=list("abdc"))
    done = run("predict", "model.consilience", "other.csv")
    assert done.exit_code == 2
    assert "Feature names must be in the same order as they were in fit." in done.stderr
    for args, words in (
        (("predict", "features.csv", "features.csv"), "is not a model of consilience"),
        (("predict", "model.consilience", "features.csv", "-o", "features.csv"), "is the input file itself"),
        (
            ("cluster", "features.csv", "-k", "3", "--save-model", "-"),
            "--save-model needs the name of a file",
        ),
        (("cluster", "features.csv", "-k", "3", "--save-model", "features.csv"), "would overwrite the file"),
        (("cluster", "features.csv", "-k", "3", "--save-model", "nowhere/model"), "does not exist"),
    ):
        done = run(*args)
        assert done.exit_code == 2
        assert words in done.stderr, args


@pytest.mark.parametrize("line", [0, 1, 2])
def test_examples_of_the_help_work(folder, run, line):
    run("cluster", "features.csv", "-k", "3", "--save-model", "model.consilience", "-o", "first.csv")
    text = _program.cli.get_command(click.Context(_program.cli), "predict").help
    example = text.partition("Examples:")[2].strip().splitlines()[line].strip()
    piped = example.startswith("cat ")
    args = example.partition("consilience ")[2].partition(" > ")[0].split()
    done = run(*args, input=Path("features.csv").read_bytes() if piped else None)
    assert done.exit_code == 0, done.stderr
    if "--dask" in args:
        assert list(Path("labels").iterdir())
    else:
        assert np.unique(labels_in("labels.csv") if not piped else [1]).size


def test_help(run):
    assert "saved model" in run("--help").stdout
