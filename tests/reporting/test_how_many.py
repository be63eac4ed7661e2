"""The section about the number of clusters: what it says, for which pages, and that a browser shows it."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience._reporting._svg_study import round_ticks

from .conftest import HOSTILE
from .test_page import Page, run


def three_groups(n=90, seed=0):
    centers = np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], n // 3, axis=0)
    return np.random.default_rng(seed).normal(size=centers.shape) + centers


@pytest.fixture(scope="module")
def study():
    return cs.choose_k(three_groups(), n_clusters=(2, 5), n_clusterings=10, random_state=0, verbose=False)


@pytest.fixture(scope="module")
def nothing():
    X = np.random.default_rng(3).normal(size=(60, 3))
    study = cs.choose_k(X, n_clusters=(2, 4), n_clusterings=8, random_state=0, verbose=False)
    assert study.n_clusters == 1
    return study


def test_a_study_is_reported_with_its_consensus(study):
    page = Page(cs.report(study, three_groups()).html)
    assert "How many clusters" in page.headings
    assert "The answer" in page.headings
    assert study.summary() in " ".join(page.visible.split())
    for heading in ("Stability above that of the references", "Spectrum", "Ambiguity of pairs"):
        assert heading in page.headings
    for test in study.tests:
        assert f"{test.p:.3f}" in page.visible
    assert page.visible.count("the answer") >= 2  # in both tables
    assert page.external == []


def test_delta_area_is_folded_and_what_it_measures_is_said(study):
    html = cs.report(study).html
    folded = html[html.index("<summary>As in ConsensusClusterPlus") :]
    assert "Delta area measures the sizes of the base clusters" in folded
    assert "delta area" in folded
    assert ">delta area</th>" not in html[: html.index("<summary>As in ConsensusClusterPlus")]


def test_one_cluster_is_a_page_of_its_own(nothing):
    page = Page(cs.report(nothing, source=HOSTILE, command=f"consilience {HOSTILE}").html)
    assert page.headings[1:] == [
        "How many clusters",
        "Stability above that of the references",
        "Spectrum",
        "Ambiguity of pairs",
        "Clusters as their number rises",
        "What was done",
    ]
    assert "Nothing distinguishes these data from a single cloud" in page.visible
    assert "script" not in page.tags
    assert page.external == []


def test_a_pipeline_that_chose_its_number_says_how():
    model = cs.ConsensusClustering(n_clusterings=8, random_state=0).fit(three_groups())
    page = Page(cs.report(model).html)
    assert "How many clusters" in page.headings
    given = cs.ConsensusClustering(3, n_clusterings=8, random_state=0).fit(three_groups())
    assert "How many clusters" not in Page(cs.report(given).html).headings


def test_labels_alone_are_not_tested():
    rng = np.random.default_rng(1)
    groups = np.arange(60) % 3
    labels = np.where(rng.random((60, 8)) < 0.8, groups[:, None], rng.integers(0, 3, (60, 8)))
    page = Page(cs.report(cs.choose_k(cs.Ensemble(labels), n_clusters=(2, 4))).html)
    assert "Eigengap by number of clusters" in page.headings
    assert "There were no references to compare stability with." in page.visible
    single = cs.choose_k(cs.Ensemble.from_clusterings([[0, 0, 1, 1], [0, 1, 2, 2]]), n_clusters=[2, 3])
    assert "Ambiguity of pairs" not in Page(cs.report(single).html).headings


def test_what_is_given_for_all_objects_is_cut_to_the_sample():
    X = three_groups(300)
    names = [f"row {i}" for i in range(300)]
    study = cs.choose_k(X, n_clusters=(2, 4), n_clusterings=8, max_samples=90, random_state=0, verbose=False)
    page = Page(cs.report(study, X, sample_names=names, labels_true=np.repeat([0, 1, 2], 100)).html)
    assert "a random sample of 90 of the 300 objects" in page.visible
    assert page.data["objects"]["names"] == [names[i] for i in study.sample]


def test_the_command_line_writes_it(tmp_path):
    features = tmp_path / "X.csv"
    np.savetxt(features, three_groups(), delimiter=",")
    page = tmp_path / "k.html"
    assert run("choose-k", features, "-k", "2:4", "-n", 8, "--save-report", page) == 0
    shown = Page(page.read_text(encoding="utf-8"))
    assert "How many clusters" in shown.headings
    assert "consilience choose-k" in shown.visible


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-0.19, 0.173), (1e-6, 3e-6), (12.0, 480.0)])
def test_ticks_are_round_numbers_within(low, high):
    ticks = round_ticks(low, high)
    assert 3 <= len(ticks) <= 7
    assert low <= ticks[0] < ticks[-1] <= high
    assert np.allclose(np.diff(ticks), ticks[1] - ticks[0])


@pytest.mark.browser
def test_a_browser_shows_both_pages(browser, study, nothing, tmp_path):
    for name, one in (("study", study), ("nothing", nothing)):
        path = cs.report(one, path=tmp_path / f"{name}.html").path
        for width, phone in ((1200, False), (390, True)):
            browser.screen(width, 844, phone=phone)
            browser.open(path)
            assert browser.run("document.documentElement.scrollWidth <= innerWidth")
            assert browser.run(
                "[...document.querySelectorAll('#how-many ~ .pair svg')].every(s => "
                "s.getBoundingClientRect().width > 200)"
            )
        assert browser.complaints() == []
