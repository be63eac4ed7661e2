"""The subcommands: what they write, what they say, and that they add nothing to the library."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import consilience as cs
from consilience._cli import _program

#: The commands of this folder's tests; others are tested beside the part of the library they belong to.
COMMANDS = ("cluster", "generate", "consensus", "score", "methods")


def _help(name: str) -> str:
    command = _program.cli.get_command(None, name) if name else _program.cli  # type: ignore[arg-type]
    return command.help


EXAMPLES = [
    (name, line.strip())
    for name in ("", *COMMANDS)
    for line in _help(name).partition("Examples:")[2].splitlines()
    if line.strip().startswith(("consilience ", "cat "))
]


def test_overview_matches_the_commands():
    for name, (_, line) in _program.COMMANDS.items():
        command = _program.cli.get_command(None, name)  # type: ignore[arg-type]
        assert command.name == name
        assert command.short_help == line


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_with_examples(run, name):
    result = run(name, "--help")
    assert result.exit_code == 0
    assert "Examples:" in result.stdout
    assert sum(command == name for command, _ in EXAMPLES) >= 2


@pytest.mark.parametrize(("name", "line"), EXAMPLES, ids=[line for _, line in EXAMPLES])
def test_examples_of_the_help_work(folder, run, name, line):
    # What an earlier example of the same text has made.
    cs.io.write_labels(np.repeat([0, 1, 2], 20), "labels.csv", sample_names=[f"row {i}" for i in range(60)])
    piped = re.fullmatch(r"cat (\S+) \| (.*)", line)
    line, _, target = (piped[2] if piped else line).partition(" > ")
    program, *args = shlex.split(line)
    assert program == "consilience"
    result = run(*args, input=Path(piped[1]).read_bytes() if piped else None)
    assert result.exit_code == 0, result.stderr
    if "-o" in args:
        assert Path(args[args.index("-o") + 1]).stat().st_size > 0
    elif target or "--json" in args:
        assert result.stdout


def test_consensus_equals_the_library(folder, run):
    result = run(
        "consensus",
        "ensemble.csv",
        "-k",
        "3",
        "--method",
        "EvidenceAccumulation",
        "-o",
        "out.csv",
        "--confidence",
    )
    assert result.exit_code == 0, result.stderr
    model = cs.consensus.EvidenceAccumulation(n_clusters=3).fit(cs.io.read_labels("ensemble.csv"))
    lines = Path("out.csv").read_text().splitlines()
    assert lines[0] == "name,label,confidence"
    assert lines[1:] == [
        f"row {i},{model.labels_[i]},{model.confidence_[i]!r}".replace("np.float64(", "").replace(")", "")
        for i in range(60)
    ]
    assert "wrote 60 labels in 3 clusters (" in result.stderr
    assert "note: ensemble.csv: Cells are separated by commas. Line 1 is a header" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("count", [None, 11])
@pytest.mark.parametrize("generator", cs.generate.generators())
@pytest.mark.filterwarnings(
    "ignore::consilience.errors.ConsilienceWarning"
)  # narrow kernels leave objects out
def test_cluster_equals_the_library(folder, run, generator, count):
    given = [] if count is None else ["-n", str(count)]
    result = run(
        "cluster", "features.csv", "-k", "3", "-g", generator, *given, "--random-state", "5", "--json", "-q"
    )
    assert result.exit_code == 0, result.stderr
    said = json.loads(result.stdout)
    assert result.stderr.count("\n") == len(said["warnings"])
    X = cs.io.read_features("features.csv").values
    model = cs.ConsensusClustering(3, generator=generator, n_clusterings=count, random_state=5).fit(X)
    assert said["labels"] == model.labels_.tolist()
    assert said["generator"] == generator
    assert said["n_clusterings"] == model.ensemble_.n_clusterings
    assert sum(said["sizes"]) == said["n_samples"] == 60
    assert said["names"][0] == "row 0"
    assert said["method"] == type(model.method_).__name__


@pytest.mark.parametrize(
    "params", [[], ["--generator-param", "init=k-means++"], ["--generator-param", "tol=1e-4"]]
)
def test_other_parameters_leave_the_range_of_k_alone(folder, run, params):
    files = ["-o", "l.csv", "--save-ensemble", "e.npz"]
    result = run("cluster", "features.csv", "-k", "10", "-g", "random-k", "-n", "40", *files, *params)
    assert result.exit_code == 0, result.stderr
    assert cs.io.read_labels("e.npz").n_clusters_per_clustering.max() == 10


def test_names_may_be_written_either_way(folder, run):
    ways = [("random-k", "evidence-accumulation"), ("random_k", "evidence_accumulation")]
    made = [run("cluster", "features.csv", "-k", "3", "-g", g, "-m", m, "--json", "-q") for g, m in ways]
    assert [done.exit_code for done in made] == [0, 0]
    assert made[0].stdout == made[1].stdout


@pytest.mark.parametrize("generator", cs.generate.generators())
@pytest.mark.filterwarnings("ignore::consilience.errors.ConsilienceWarning")
def test_every_generator_makes_ensembles(folder, run, generator):
    maker = cs.generate.generator(generator)
    given = ["-k", "3"]
    result = run("generate", "features.csv", "-g", generator, *given, "-n", "9", "-o", "e.npz", "-q")
    assert result.exit_code == 0, result.stderr
    params = {"n_clusters": 3}
    X = cs.io.read_features("features.csv").values
    expected = maker(X, params, n_clusterings=9, random_state=0)
    np.testing.assert_array_equal(cs.io.read_labels("e.npz").labels, expected.labels)


def test_generate_equals_the_library(folder, run):
    result = run(
        "generate",
        "features.csv",
        "-g",
        "kmeans",
        "-k",
        "4",
        "-n",
        "3",
        "--random-state",
        "2",
        "-o",
        "e.npz",
        "--json",
    )
    assert result.exit_code == 0, result.stderr
    ensemble = cs.generate.kmeans(
        cs.io.read_features("features.csv").values, n_clusterings=3, n_clusters=4, random_state=2
    )
    back = cs.io.read_labels("e.npz")
    np.testing.assert_array_equal(back.labels, ensemble.labels)
    assert back.sample_names == [f"row {i}" for i in range(60)]
    assert back.recipes == json.loads(result.stdout)["recipes"]
    assert [recipe["n_clusters"] for recipe in back.recipes] == [4, 4, 4]


def test_cluster_writes_the_base_clusterings_too(folder, run):
    args = [
        "-k",
        "3",
        "-n",
        "4",
        "-o",
        "l.parquet",
        "--save-ensemble",
        "e.npz",
        "--generator-param",
        "n_clusters=2,5",
    ]
    result = run("cluster", "features.csv", *args)
    assert result.exit_code == 0, result.stderr
    ensemble = cs.io.read_labels("e.npz")
    assert ensemble.n_clusterings == 4
    assert ensemble.n_clusters_per_clustering.max() <= 5
    assert ensemble.sample_names[0] == "row 0"
    assert cs.io.read_labels("l.parquet").n_clusters_per_clustering.tolist() == [3]


def test_standard_input_and_output(folder, run):
    result = run("consensus", "-", "-k", "3", "-q", input=Path("ensemble.csv").read_bytes())
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    assert lines[0] == "name,label"
    assert len(lines) == 61
    result = run("generate", "features.csv", "-n", "2", "-q")
    assert result.stdout.splitlines()[0] == "name,clustering 0,clustering 1"


def test_parameters_reach_the_method(folder, run):
    result = run(
        "consensus",
        "ensemble.csv",
        "-k",
        "3",
        "--method",
        "evidence-accumulation",
        "--method-param",
        "linkage=complete",
        "--json",
        "-c",
        "one",
        "-c",
        "2",
    )
    said = json.loads(result.stdout)
    assert said["parameters"]["linkage"] == "complete"
    assert said["n_clusterings"] == 2
    assert said["notes"][0].startswith("ensemble.csv: Cells are separated by commas.")


def test_unseen_objects(folder, run):
    Path("e.csv").write_text("a,b\n0,0\nNA,NA\n0,0\n1,1\n")
    result = run("consensus", "e.csv", "-k", "2")
    assert result.exit_code == 2
    assert "missing from every clustering" in result.stderr
    result = run("consensus", "e.csv", "-k", "2", "--drop-unseen", "-q")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "name,label\n0,0\n2,0\n3,1\n"


def test_score(folder, run):
    result = run("score", "ensemble.csv", "--labels-true", "truth.csv", "-q")
    assert result.exit_code == 0, result.stderr
    head, *rows = result.stdout.splitlines()
    assert head.split() == ["clustering", *cs.metrics.scores([0, 1], [0, 1])]
    assert [row.split()[0] for row in rows] == ["one", "two", "three"]
    assert rows[0].split()[1:] == ["1.0000"] * 8
    said = json.loads(
        run("score", "ensemble.csv", "--labels-true", "truth.csv", "-c", "three", "--json").stdout
    )
    truth = np.repeat([0, 1, 2], 20)
    assert said["scores"] == {
        "three": cs.metrics.scores(truth, cs.io.read_labels("ensemble.csv").labels[:, 2])
    }


def test_score_matches_rows_by_name(folder, run):
    labels = np.repeat([0, 1, 2], 20)
    names = np.array([f"row {i}" for i in range(60)])
    order = np.random.default_rng(0).permutation(60)
    cs.io.write_labels(labels[order], "shuffled.csv", sample_names=names[order])
    result = run("score", "shuffled.csv", "--labels-true", "truth.csv", "--json")
    said = json.loads(result.stdout)
    assert said["scores"]["label"]["ari"] == 1
    assert "Matched the rows of truth.csv to those of shuffled.csv by name." in said["notes"]
    cs.io.write_labels(labels, "other.csv", sample_names=[f"line {i}" for i in range(60)])
    result = run("score", "other.csv", "--labels-true", "truth.csv")
    assert result.exit_code == 2
    assert "named 'line 0', 'line 1'" in result.stderr
    assert "the rows cannot be matched" in result.stderr


def test_score_of_archives(folder, run):
    np.savez("data.npz", X=np.eye(4), y=[0, 0, 1, 1])
    cs.io.write_labels([5, 5, 7, 7], "l.csv")
    assert (
        json.loads(run("score", "l.csv", "--labels-true", "data.npz", "--json").stdout)["scores"]["label"][
            "accuracy"
        ]
        == 1
    )


def test_score_with_missing_labels(folder, run):
    Path("l.csv").write_text("label\n0\n0\nNA\n1\n")
    Path("t.csv").write_text("class\n0\n0\n1\n1\n")
    result = run("score", "l.csv", "--labels-true", "t.csv")
    assert result.exit_code == 2
    assert "column 'label'" in result.stderr
    assert "On the command line: --drop-missing." in result.stderr
    assert (
        json.loads(run("score", "l.csv", "--labels-true", "t.csv", "--drop-missing", "--json").stdout)[
            "scores"
        ]["label"]["accuracy"]
        == 1
    )


def test_methods(run):
    result = run("methods")
    assert result.exit_code == 0
    for name, cls in cs.consensus.methods().items():
        summary = cls.__doc__.splitlines()[0]
        assert re.search(rf"^  {name} +{re.escape(summary)}$", result.stdout, re.M)
    said = json.loads(run("methods", "--json").stdout)
    assert {m["name"]: m["class"] for m in said["methods"]} == {
        n: c.__name__ for n, c in cs.consensus.methods().items()
    }
    assert "linkage" in said["methods"][0]["parameters"]
    groups = {"methods", "generators", "estimators", "multitask"}
    assert all(entry["description"] for group in groups for entry in said[group])
    assert [entry["name"] for entry in said["generators"]] == list(cs.generate.generators())
    assert [entry["name"] for entry in said["estimators"]] == ["ConsensusClustering", "MDEC"]
    assert [entry["name"] for entry in said["multitask"]] == ["spmtc", "lssmtc", "asi"]
    for group in groups:
        for entry in said[group]:
            assert re.search(rf"^  {entry['name']} +{re.escape(entry['description'])}$", result.stdout, re.M)


def test_json_says_null_where_a_number_is_none(capsys):
    from consilience._cli._session import Session

    Session().print_json(
        {"a": np.nan, "b": np.array([1.5, np.inf]), "c": (1, None), "d": {2: np.int64(3)}, "e": Path("x")}
    )
    assert json.loads(capsys.readouterr().out) == {
        "a": None, "b": [1.5, None], "c": [1, None], "d": {"2": 3}, "e": "x", "notes": [], "warnings": [],
    }  # fmt: skip


def test_consensus_takes_what_fit_takes(folder, run):
    lines = [f"row {59 - i},{1 + i % 3}" for i in range(60)]
    Path("weights.csv").write_text("\n".join(["name,weight", *lines]))
    Path("links.csv").write_text("row 0,row 59\n2,58\n")
    ensemble = cs.io.read_labels("ensemble.csv")
    given = ["--sample-weight", "weights.csv", "--must-link", "links.csv", "--min-cluster-size", "30"]
    said = run("consensus", "ensemble.csv", "-k", "3", "-m", "lwgp", *given, "--json", "-q")
    assert said.exit_code == 0, said.stderr
    model = cs.consensus.LWGP(3, min_cluster_size=30, random_state=0).fit(
        ensemble,
        sample_weight=[1 + (59 - i) % 3 for i in range(60)],
        must_link=[("row 0", "row 59"), (2, 58)],
    )
    found = json.loads(said.stdout)
    assert found["labels"] == model.labels_.tolist()
    assert found["labels"][0] == found["labels"][59]
    assert found["labels"] != cs.consensus.LWGP(3, random_state=0).fit(ensemble).labels_.tolist()


def test_cluster_takes_what_fit_takes(folder, run):
    Path("links.csv").write_text("row 0,row 59\n")
    given = ["-g", "kmeans", "-m", "lwgp", "--sample-weight", "weights.csv", "--must-link", "links.csv"]
    said = run("cluster", "features.csv", "-k", "3", *given, "--json", "-q")
    assert said.exit_code == 0, said.stderr
    model = cs.ConsensusClustering(3, generator="kmeans", method="lwgp", random_state=0).fit(
        cs.io.read_features("features.csv"),
        sample_weight=np.r_[np.ones(30), np.full(30, 2.0)],
        must_link=[("row 0", "row 59")],
    )
    assert json.loads(said.stdout)["labels"] == model.labels_.tolist()


@pytest.mark.parametrize(
    ("option", "text", "message"),
    [
        ("--sample-weight", "name,a,b\nrow 0,1,2\nrow 1,1,2\n", "weights.csv has 2 columns of numbers"),
        ("--sample-weight", "name,a\nrow 0,1\nrow 1,1\n", "has 60 objects and weights.csv has 2"),
        ("--must-link", "row 0,row 99\n", "must_link names the object 'row 99'"),
    ],
)
def test_files_about_objects_are_checked(folder, run, option, text, message):
    Path("weights.csv").write_text(text)
    said = run("consensus", "ensemble.csv", "-k", "3", option, "weights.csv", "-q")
    assert said.exit_code == 2
    assert message in said.stderr


def test_generate_says_why_it_needs_a_name(folder, run):
    said = run("generate", "features.csv", "-g", "auto")
    assert said.exit_code == 2
    assert "consilience cluster FILE -k K --save-ensemble" in said.stderr


def test_consensus_chooses_the_number_of_clusters(folder, run):
    said = run("consensus", "ensemble.csv", "-k", "auto", "--json")
    assert said.exit_code == 0, said.stderr
    study = cs.choose_k(ensemble=cs.io.read_labels("ensemble.csv"), random_state=0)
    assert len(json.loads(said.stdout)["sizes"]) == study.n_clusters == 3
    assert "3 clusters (verdict: not tested" in said.stderr
    assert run("consensus", "ensemble.csv", "-k", "3.5").exit_code == 2
