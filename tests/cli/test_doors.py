"""The command line: any format on standard input, transposed tables, scales, and output that goes nowhere."""

from __future__ import annotations

import gzip
import inspect
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import consilience as cs

TRUTH = np.repeat([0, 1, 2], 20)


@pytest.mark.parametrize("kind", ["csv.gz", "npz", "parquet", "npy"])
def test_standard_input_in_any_format(folder, run, kind):
    table = cs.io.read_features("features.csv")
    if kind == "csv.gz":
        data = gzip.compress((folder / "features.csv").read_bytes())
    elif kind == "npy":
        buffer = io.BytesIO()
        np.save(buffer, table.X)
        data = buffer.getvalue()
    else:
        cs.io.write_features(table, f"f.{kind}")
        data = (folder / f"f.{kind}").read_bytes()
    result = run("cluster", "-", "-k", "3", "-o", "out.csv", input=data)
    assert result.exit_code == 0, result.stderr
    assert cs.metrics.ari(TRUTH, cs.io.read_labels("out.csv").labels[:, 0]) == 1.0


def test_genes_in_rows_are_said_and_transpose_helps(folder, run):
    table = cs.io.read_features("features.csv")
    genes = [f"ENSG{i:011d}" for i in range(80)]
    X = np.repeat(table.X, 20, axis=1)
    cs.io.write_features(X.T, "genes.tsv", sample_names=genes, feature_names=table.sample_names)
    said = run("cluster", "genes.tsv", "-k", "3", "-o", "out.csv")
    assert "note: genes.tsv:" in said.stderr
    assert "look like genes" in said.stderr
    assert "--transpose" in said.stderr
    assert "wrote 80 labels" in said.stderr
    turned = run("cluster", "genes.tsv", "-k", "3", "--transpose", "-o", "out.csv")
    assert "look like genes" not in turned.stderr
    found = cs.io.read_labels("out.csv")
    assert found.sample_names == table.sample_names
    assert cs.metrics.ari(TRUTH, found.labels[:, 0]) == 1.0
    assert run("generate", "genes.tsv", "--transpose", "-o", "e.npz").exit_code == 0
    assert cs.io.read_labels("e.npz").sample_names == table.sample_names


def test_an_ensemble_on_its_side_is_said_and_transpose_helps(folder, run):
    ensemble = cs.io.read_labels("ensemble.csv")
    lines = [",".join(["", *ensemble.sample_names])]
    lines += [",".join([n, *map(str, c)]) for n, c in zip(ensemble.clustering_names, ensemble.labels.T)]
    (folder / "turned.csv").write_text("\n".join(lines) + "\n")
    said = run("consensus", "turned.csv", "-k", "3", "-o", "out.csv")
    assert "--transpose" in said.stderr
    turned = run("consensus", "turned.csv", "-k", "3", "--transpose", "-o", "out.csv")
    assert turned.exit_code == 0, turned.stderr
    assert "warning" not in turned.stderr
    assert cs.io.read_labels("out.csv").sample_names == ensemble.sample_names


def test_scale_is_the_generators_preparation(folder, run):
    run(
        "cluster",
        "features.csv",
        "-k",
        "3",
        "--preprocess",
        "standardize",
        "--save-ensemble",
        "a.npz",
        "-o",
        "a.csv",
    )
    run(
        "cluster",
        "features.csv",
        "-k",
        "3",
        "--generator-param",
        "preprocess=standardize",
        "--save-ensemble",
        "b.npz",
        "-o",
        "b.csv",
    )
    assert cs.io.read_labels("a.npz") == cs.io.read_labels("b.npz")
    assert cs.io.read_labels("a.npz").recipes[0]["preprocess"] == "standardize"
    assert run("generate", "features.csv", "--preprocess", "standardize", "-o", "c.npz").exit_code == 0
    assert cs.io.read_labels("c.npz").recipes[0]["preprocess"] == "standardize"
    twice = run(
        "cluster",
        "features.csv",
        "-k",
        "3",
        "--preprocess",
        "standardize",
        "--generator-param",
        "preprocess=ranks",
    )
    assert twice.exit_code == 2
    assert "'preprocess' is set by the option --preprocess" in twice.stderr


def test_features_with_other_units_need_scale(folder, run):
    """One column of large meaningless numbers hides the others; --preprocess standardize brings them back."""
    table = cs.io.read_features("features.csv")
    noise = 1e4 * np.random.default_rng(1).normal(size=(60, 1))
    cs.io.write_features(np.hstack([table.X, noise]), "units.csv", sample_names=table.sample_names)
    scores = {}
    for options in (
        (),
        (
            "--preprocess",
            "standardize",
        ),
    ):
        run("cluster", "units.csv", "-k", "3", "-g", "random-k", *options, "-o", "out.csv")
        scores[options] = cs.metrics.ari(TRUTH, cs.io.read_labels("out.csv").labels[:, 0])
    assert (
        scores[()]
        < 0.3
        < 0.9
        < scores[
            (
                "--preprocess",
                "standardize",
            )
        ]
    )


@pytest.mark.parametrize(("method", "cls"), [("mdec", "LWEA"), ("mdec-sc", "LWSC"), ("MDEC_BG", "LWGP")])
def test_mdec_by_name(folder, run, method, cls):
    result = run("cluster", "features.csv", "-k", "3", "-m", method, "-n", "10", "--json")
    assert result.exit_code == 0, result.stderr
    said = json.loads(result.stdout)
    assert (said["generator"], said["method"], said["parameters"]["instability_tolerance"]) == (
        "metric-subspace",
        cls,
        1.0,
    )
    own = run(
        "cluster",
        "features.csv",
        "-k",
        "3",
        "-m",
        method,
        "-n",
        "10",
        "--method-param",
        "instability_tolerance=0.5",
        "--json",
    )
    assert json.loads(own.stdout)["parameters"]["instability_tolerance"] == 0.5
    other = run("cluster", "features.csv", "-k", "3", "-m", method, "-g", "kmeans")
    assert other.exit_code == 2
    assert "whose base clusterings come from metric-subspace" in other.stderr


def test_short_names(folder, run):
    assert run("consensus", "ensemble.csv", "-k", "3", "-m", "eac").exit_code == 0
    assert run("cluster", "features.csv", "-k", "3", "-m", "CoKM", "-g", "Random_Subspace").exit_code == 0


def test_features_given_to_consensus(folder, run):
    result = run("consensus", "features.csv", "-k", "3", "-o", "out.csv")
    assert result.exit_code == 2
    assert "labels looks like features: 4 of 4 columns" in result.stderr
    assert "'consilience cluster'" in result.stderr
    assert not (folder / "out.csv").exists()
    assert run("cluster", "features.csv", "-k", "3", "-o", "out.csv").exit_code == 0


# Outputs ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("second", ["l.csv", "./l.csv"])
def test_two_outputs_of_one_name(folder, run, second):
    for _ in range(2):  # whether it is there already or not
        result = run("cluster", "features.csv", "-k", "3", "--save-ensemble", "l.csv", "-o", second)
        assert result.exit_code == 2
        assert (
            "l.csv is given twice as an output, and one would overwrite the other; give two different names"
            in result.stderr
        )
        (folder / "l.csv").write_text("kept")
    assert (folder / "l.csv").read_text() == "kept"
    assert run("cluster", "features.csv", "-k", "3", "--save-ensemble", "e.csv", "-o", second).exit_code == 0


def test_a_page_needs_a_name_of_a_page(folder, run):
    result = run("cluster", "features.csv", "-k", "3", "--save-report", "r.txt", "-o", "out.csv")
    assert result.exit_code == 2
    assert "--save-report r.txt would hold an HTML page: choose a name that ends in .html" in result.stderr
    assert not (folder / "r.txt").exists()
    assert (
        run("cluster", "features.csv", "-k", "3", "--save-report", "r.HTML", "-o", "out.csv").exit_code == 0
    )


def test_one_cluster_is_one(folder, run):
    assert "wrote 60 labels in 1 cluster (60 objects) to out.csv" in run(
        "cluster", "features.csv", "-k", "1", "-o", "out.csv"
    ).stderr  # fmt: skip


@pytest.mark.parametrize("command", [["cluster", "features.csv", "-k", "3"], ["methods"], ["--help"]])
def test_a_full_disk_behind_standard_output_is_not_our_fault(folder, command):
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "consilience", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert result.returncode == 2, result.stderr
    assert "No space left on device" in result.stderr
    assert "a bug in consilience" not in result.stderr
    assert "Traceback" not in result.stderr


def test_nowhere_is_an_output(folder, run):
    assert run("cluster", "features.csv", "-k", "3", "-o", "/dev/null").exit_code == 0


def test_given_labels_have_one_default_method_at_every_door():
    """The command line, AnnData, and the page that says which method to take."""
    from consilience._cli.consensus import command

    own = next(option.default for option in command.params if option.name == "method")
    assert own == inspect.signature(cs.anndata.consensus).parameters["method"].default == "lwgp"
    page = (Path(__file__).parents[2] / "docs" / "which-method.md").read_text("utf-8")
    assert "`consilience consensus` and `cs.anndata.consensus` take it where you name no method" in page
