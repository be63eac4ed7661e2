"""What distinguishes clusters, other annotations, pages from files, and the size of pages."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import consilience as cs
from consilience._data.annotations import read_annotations
from consilience._reporting import _annotations
from consilience._results.view import Fitted
from consilience.errors import InputError
from consilience.plot import CoassociationDisplay, FeaturesDisplay

from .conftest import groups
from .test_page import Page, run

# Features ---------------------------------------------------------------------------------------------------


def fitted_of(labels, weights=None):
    labels = np.asarray(labels)
    return Fitted.from_ensemble(cs.Ensemble(labels[:, None], sample_weight=weights), labels)


def test_effects_by_hand():
    """Groups (1, 3) and (7, 9): means 2 and 8, variances 1 and 1, so 6 standard deviations apart."""
    X = np.array([[1.0, 5, 4], [3, 6, 4], [7, 5, 9], [9, 6, 9]])
    display = FeaturesDisplay.from_fitted(fitted_of([0, 0, 1, 1]), X)
    np.testing.assert_allclose(display.effect[:, :2], [[-6, 0], [6, 0]])
    assert display.effect[:, 2].tolist() == [-np.inf, np.inf]  # no spread, and yet different
    np.testing.assert_allclose(display.mean, [[2, 5.5, 4], [8, 5.5, 9]])
    np.testing.assert_allclose(display.rest_mean, display.mean[::-1])
    np.testing.assert_allclose(display.deviation, [[1, 0.5, 0], [1, 0.5, 0]])
    # sqrt(1/2 + 1/2 + 36 / (2 * 4))
    np.testing.assert_allclose(display.error[:, 0], np.sqrt(5.5))
    assert display.top(0, 2).tolist() == [2, 0]


def test_weights_count_as_repeated_objects(seed):
    rng = np.random.default_rng(seed)
    X, labels, weights = rng.normal(size=(30, 4)), np.arange(30) % 3, rng.integers(1, 5, 30)
    once = FeaturesDisplay.from_fitted(fitted_of(labels, weights.astype(float)), X)
    rows = np.repeat(np.arange(30), weights)
    often = FeaturesDisplay.from_fitted(fitted_of(labels[rows]), X[rows])
    for name in ("effect", "mean", "deviation", "rest_mean", "rest_deviation"):
        np.testing.assert_allclose(getattr(once, name), getattr(often, name), atol=1e-12)


@pytest.mark.parametrize("kind", ["sparse", "float32", "blocks", "far"])
def test_effects_of_any_features_are_the_same(kind, monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.poisson(0.6, size=(60, 7)).astype(float) + np.eye(3, 7)[np.arange(60) % 3]
    fitted = fitted_of(np.arange(60) % 3)
    expected = FeaturesDisplay.from_fitted(fitted, X).effect
    if kind == "sparse":
        given = sp.csr_array(X)
    elif kind == "blocks":
        monkeypatch.setattr("consilience.plot._features._BLOCK", 50)
        given = X
    else:
        given = X.astype(np.float32) if kind == "float32" else 1e7 + X
    np.testing.assert_allclose(FeaturesDisplay.from_fitted(fitted, given).effect, expected, atol=1e-7)


def test_the_page_says_what_distinguishes_the_clusters():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 30)
    X = pandas.DataFrame(rng.normal(size=(90, 6)), columns=[f"gene {j}" for j in "ABCDEF"])
    X["gene D"] += 8 * (truth == 1)
    labels = np.column_stack([truth] * 6)
    page = Page(cs.report(cs.consensus.EvidenceAccumulation(3).fit(labels), X).html)
    assert "What distinguishes the clusters" in page.headings
    display = FeaturesDisplay.from_estimator(cs.consensus.EvidenceAccumulation(3).fit(labels), X)
    best = display.names[display.top(1, 1)[0]]
    assert best == "gene D"
    assert f"+{display.effect[1, 3]:.2f} ± {display.error[1, 3]:.2f}" in page.visible
    assert f"{display.mean[1, 3]:.3g} ± {display.deviation[1, 3]:.2g}" in page.visible
    without = Page(cs.report(cs.consensus.EvidenceAccumulation(3).fit(labels)).html)
    assert "What distinguishes the clusters" not in without.headings


def test_features_of_other_objects_are_refused():
    with pytest.raises(InputError, match="X has 5 rows, but the model has 4 objects"):
        FeaturesDisplay.from_fitted(fitted_of([0, 0, 1, 1]), np.zeros((5, 2)))


# Annotations
# -------------------------------------------------------------------------------------------------


def test_annotations_of_any_kind():
    n = 20
    given = {
        "batch": ["B", "A"] * 10,
        "age": np.linspace(20, 60, n),
        "grade": [1, 2, None, 3] * 5,
        "smoker": [True, False] * 10,
    }
    batch, age, grade, smoker = read_annotations(given, n, None)
    assert batch.categories == ["A", "B"]
    assert batch.codes.tolist() == [1, 0] * 10
    assert age.values.tolist() == given["age"].tolist()
    assert grade.categories == ["1", "2", "3"]  # few numbers are kinds
    assert grade.codes[:4].tolist() == [0, 1, -1, 2]
    assert smoker.categories == ["False", "True"]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_annotations_from_data_frames(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"batch": ["A", None, "B"], "age": [1.5, 2.5, None]})
    batch, age = read_annotations(frame, 3, None)
    assert batch.codes.tolist() == [0, -1, 1]
    assert age.codes.tolist() == [0, 1, -1]


def test_rows_of_annotations_are_matched_by_name():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"batch": ["A", "B", "C", "D"]}, index=["z", "y", "x", "w"])
    (batch,) = read_annotations(frame, 3, ["x", "y", "z"])
    assert [batch.categories[code] for code in batch.codes] == ["C", "B", "A"]
    with pytest.raises(InputError, match="annotations has no row for 'q'"):
        read_annotations(frame, 2, ["x", "q"])
    with pytest.raises(InputError, match=r"annotations\['batch'\] has 4 entries for 3 objects"):
        read_annotations(frame, 3, None)
    with pytest.raises(InputError, match="annotations is a ndarray"):
        read_annotations(np.zeros((3, 2)), 3, None)


def test_strips_by_hand():
    truth = np.repeat([0, 1], 100)
    fitted = Fitted.from_ensemble(np.column_stack([truth] * 3), truth)
    heat = CoassociationDisplay.from_fitted(fitted, 4)
    kinds = np.where(truth == 0, "a", "b").astype(object)
    kinds[:20] = "c"
    notes = read_annotations({"kind": kinds, "size": truth * 10.0 + np.arange(200) / 1000}, 200, None)
    strip = _annotations.strip(notes[0], heat, np.array([0, 50, 150]))
    assert strip["points"] == [2, 0, 1]
    assert set(strip["text"]) <= {"a", "a (60%)", "a (80%)", "a (100%)", "b (100%)"}
    assert _annotations.association(notes[1], fitted)[0] == pytest.approx(1.0, abs=1e-3)
    same = read_annotations({"same": truth}, 200, None)[0]
    assert _annotations.association(same, fitted) == (pytest.approx(1.0), "NMI")


def test_the_page_shows_annotations():
    X, labels, truth = groups(300, 3, 6)
    model = cs.consensus.EvidenceAccumulation(3).fit(labels)
    page = Page(cs.report(model, X, labels_true=truth, annotations={"<b>batch</b>": ["u", "v"] * 150}).html)
    strips = page.data["strips"]
    assert [strip["name"] for strip in strips] == ["known classes", "<b>batch</b>"]
    assert len(strips[0]["cells"]) == len(page.data["heat"]["cluster"])
    assert len(strips[0]["points"]) == len(page.data["points"]["labels"])
    assert "What else is known" in page.headings
    with pytest.raises(InputError, match="13 columns"):
        cs.report(model, annotations={str(i): truth for i in range(13)})


# Sizes
# -------------------------------------------------------------------------------------------------------


def test_two_thousand_objects_take_less_than_a_megabyte():
    X, labels, truth = groups(2000, 10, 60, noise=0.3)
    names = [f"sample-{i:05d}" for i in range(2000)]
    ensemble = cs.Ensemble(labels, sample_names=names)
    fitted = Fitted.from_ensemble(ensemble, labels[:, 0])
    known = {f"note {i}": np.random.default_rng(i).integers(0, 5, 2000) for i in range(12)}
    html = cs.report(fitted, X, labels_true=truth, annotations=known).html
    assert len(html.encode()) < 1e6


def test_a_million_objects_take_less_than_five_megabytes():
    n = 1_000_000
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 10, n)
    labels = np.column_stack([np.where(rng.random(n) < 0.1, rng.integers(0, 10, n), truth) for _ in range(4)])
    X = np.column_stack([truth + rng.normal(size=n) for _ in range(3)]).astype(np.float32)
    page = cs.report(
        Fitted.from_ensemble(labels, truth), X, labels_true=truth, annotations={"batch": truth % 3}
    )
    assert len(page.html.encode()) < 5e6
    assert "4,000 of the 1,000,000 objects are shown" in page.html


# From files
# --------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, labels, truth = groups(60, 3, 6)
    names = [f"row {i}" for i in range(60)]
    cs.io.write_ensemble(cs.Ensemble(labels, sample_names=names), "base.csv")
    back = np.arange(60)[::-1]
    called = np.array(["small", "large", "middle"])[truth]
    cs.io.write_table({"label": called[back]}, "labels.csv", sample_names=[names[i] for i in back])
    cs.io.write_features(
        X[back], "features.csv", sample_names=[names[i] for i in back], feature_names=list("abcdef")
    )
    cs.io.write_table({"class": truth}, "truth.csv", sample_names=names)
    cs.io.write_table(
        {"batch": np.array(["u", "v"])[truth % 2][back], "age": np.arange(60.0)[back] + 0.5},
        "notes.csv",
        sample_names=[names[i] for i in back],
    )
    return names, truth


def test_a_page_from_files(files, capsys):
    names, truth = files
    code = run(
        "report",
        "base.csv",
        "labels.csv",
        "-o",
        "page.html",
        "--features",
        "features.csv",
        "--labels-true",
        "truth.csv",
        "--annotations",
        "notes.csv",
        "--json",
    )
    captured = capsys.readouterr()
    assert code == 0, captured.err
    assert json.loads(captured.out)["output"] == "page.html"
    page = Page(Path("page.html").read_text(encoding="utf-8"))
    assert page.data["objects"]["names"] == names
    assert "consilience report base.csv labels.csv" in page.visible
    assert "Clusters are numbered from the largest down: 0 is “" in page.visible
    assert {"What distinguishes the clusters", "What else is known", "Against known classes"} <= set(
        page.headings
    )
    assert "1.000" in page.visible  # rows were matched by name: the result is the truth
    strips = {strip["name"]: strip for strip in page.data["strips"]}
    assert strips["age"]["numeric"] is True
    order = page.data["points"]["index"]
    assert [strips["batch"]["points"][i] for i in (0, 7)] == [truth[order[0]] % 2, truth[order[7]] % 2]


def test_several_results_are_compared(files, capsys):
    _, labels, truth = groups(60, 3, 6)
    cs.io.write_table(
        {"ours": truth, "theirs": labels[:, 0]}, "two.csv", sample_names=[f"row {i}" for i in range(60)]
    )
    assert run("report", "base.csv", "two.csv", "-o", "page.html", "-q") == 0
    page = Page(Path("page.html").read_text(encoding="utf-8"))
    assert "Other methods" in page.headings
    assert "The rest of this page is about ours." in page.visible


def test_report_refuses_early(files, capsys):
    assert run("report", "base.csv", "labels.csv", "-o", "labels.csv") == 2
    assert "-o labels.csv would overwrite" in capsys.readouterr().err
    assert run("report", "-", "-") == 2
    assert "Standard input can be read only once" in capsys.readouterr().err
    Path("gap.csv").write_text(
        "name,label\n" + "".join(f"row {i},{'' if i == 3 else i % 3}\n" for i in range(60))
    )
    assert run("report", "base.csv", "gap.csv") == 2
    assert "1 objects have no label" in capsys.readouterr().err
    Path("other.csv").write_text("name,label\n" + "".join(f"cell {i},{i % 3}\n" for i in range(60)))
    assert run("report", "base.csv", "other.csv") == 2
    assert "the rows cannot be matched" in capsys.readouterr().err


def test_annotations_of_a_file(tmp_path):
    path = tmp_path / "notes.csv"
    path.write_text("name,batch,age\na,u,1.5\nb,,2.5\nc,v,NA\n")
    notes = cs.io.read_annotations(path)
    assert notes.columns == {"batch": ["u", None, "v"], "age": [1.5, 2.5, None]}
    assert notes.sample_names == ["a", "b", "c"]
