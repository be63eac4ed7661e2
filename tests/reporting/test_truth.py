"""The page tells the truth: the method's own words, the right cause, scales for finer base clusterings."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import consilience as cs
from consilience._reporting import _bases, _certainty, _compared
from consilience._reporting._methods import METHODS, words_of
from consilience._results.view import Fitted, firmness_of
from consilience.plot import CoassociationDisplay

from .conftest import groups
from .test_page import Page

# What was not reached ---------------------------------------------------------------------------------------


def test_a_method_keeps_its_words_for_what_was_not_reached():
    _, labels, _ = groups(80, 4, 8, noise=0.5)
    with pytest.warns(ConvergenceWarning) as caught:
        model = cs.RSEC(4, max_iter=2, n_jobs=1).fit(labels)
    assert model.messages_ == [str(caught[0].message)]
    page = Page(cs.report(model).html).visible
    assert model.messages_[0].startswith("RSEC did not converge in 2 iterations: ")
    assert model.messages_[0] in page
    assert "before it had settled" not in page
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert cs.consensus.EvidenceAccumulation(4).fit(labels).messages_ == []


def test_spce_is_not_told_to_go_on():
    """It has no max_iter: its graph fell into too many pieces, which were merged."""
    _, labels, _ = groups(90, 3, 8, noise=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = cs.SPCE(3, threshold=0.9).fit(labels)
    assert not model.converged_
    page = Page(cs.report(model).html).visible
    assert f"the learned graph has {model.n_pieces_} components" in page
    assert "may still change with more" not in page


# Firmness ---------------------------------------------------------------------------------------------------


def test_firmness_by_hand():
    """Six objects, groups {0, 1, 2} and {3, 4, 5}; the clustering {0, 1} {2, 3} {4, 5}.

    Group 0: T = (2, 1, 0), S = (2, 2, 2), 3 loops. Together 5 - 3 = 2 ordered pairs of 9 - 3 = 6; company 2*2
    + 1*2 - 3 = 3; chance 3 * 6 / (3*6 - 3) = 1.2; firmness (2 - 1.2) / (3 - 1.2) = 4/9. Group 1 is its mirror
    image.
    """
    table = np.array([[2.0, 0], [1, 1], [0, 2]])
    found = firmness_of(table, np.array([0, 3]), np.array([[3.0, 3.0]]))
    np.testing.assert_allclose(found, [4 / 9, 4 / 9])
    labels = np.array([[0], [0], [1], [1], [2], [2]])
    np.testing.assert_allclose(Fitted.from_ensemble(labels, [0, 0, 0, 1, 1, 1]).firmness, [4 / 9, 4 / 9])


@pytest.mark.parametrize("weighted", [False, True])
def test_splitting_and_joining_whole_groups_is_firm(weighted):
    truth = np.repeat([0, 1, 2, 3], 12)
    finer, coarser = truth * 3 + np.arange(48) % 3, truth // 2
    ensemble = cs.Ensemble(
        np.column_stack([finer, coarser]), sample_weight=np.arange(1.0, 49) if weighted else None
    )
    fitted = Fitted.from_ensemble(ensemble, truth)
    np.testing.assert_allclose(fitted.firmness, 1.0)
    assert fitted.evidence.stability.max() < 0.7  # the plain share says otherwise


def test_chance_is_not_firm(seed):
    rng = np.random.default_rng(seed)
    labels = np.column_stack([rng.integers(0, k, 3000) for k in (3, 8, 25)])
    fitted = Fitted.from_ensemble(labels, rng.integers(0, 4, 3000))
    assert np.abs(fitted.firmness).max() < 0.02


def test_firmness_knows_missing_labels_and_lone_objects():
    truth = np.repeat([0, 1], 10)
    labels = np.column_stack([truth, truth, truth])
    labels[np.arange(0, 20, 3), 1] = -1
    assert Fitted.from_ensemble(labels, truth).firmness.tolist() == pytest.approx([1, 1])
    alone = truth.copy()
    alone[0] = 2
    firm = Fitted.from_ensemble(labels, alone).firmness
    assert np.isnan(firm[2])
    assert np.isnan(Fitted.from_ensemble(labels, np.zeros(20)).firmness).all()


def test_the_card_allows_for_finer_base_clusterings():
    """Base clusterings of four parts a group: together a quarter of the time, and as firm as can be."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 40)
    labels = np.column_stack([truth * 4 + rng.integers(0, 4, 120) for _ in range(12)])
    html = cs.report(cs.consensus.EvidenceAccumulation(3).fit(labels)).html
    assert "<dt>Firmness</dt><dd>100%</dd>" in html
    assert "Mean stability" not in html
    assert "Most base clusterings are finer than the answer (half of them have 12 clusters or more)" in html


def test_methods_are_compared_on_one_scale():
    _, labels, _ = groups(90, 3, 8)
    models = {"SPCE": cs.SPCE(3).fit(labels), "SCCABG": cs.SCCABG(3).fit(labels)}
    html = cs.report(models).html
    table = html.partition('aria-label="Scores of methods"')[2].partition("</table>")[0]
    assert ">Firmness<" in table
    rows = re.findall(r'<th scope="row" class="text">(\w+)</th>(.*?)</tr>', table)
    numbers = {name: re.findall(r">([\d.]+%?|none)</td>", cells) for name, cells in rows}
    assert (models["SPCE"].labels_ == models["SCCABG"].labels_).all()
    assert numbers["SPCE"] == numbers["SCCABG"]


# Culprits
# ----------------------------------------------------------------------------------------------------


def test_the_method_is_blamed_where_the_clusterings_agree():
    truth = np.repeat([0, 1], 50)
    rng = np.random.default_rng(0)
    labels = np.column_stack([np.where(rng.random(100) < 0.02, 1 - truth, truth) for _ in range(10)])
    page = Page(cs.report(Fitted.from_ensemble(labels, np.tile([0, 1], 50))).html).visible
    assert "agree with each other" in page
    assert "but not with this answer" in page
    assert "do not support this many clusters" not in page
    assert "Its base clusterings do not support it" in page
    assert "agreed on by" not in page


def test_the_clusterings_are_blamed_where_they_do_not_agree():
    labels = np.random.default_rng(0).integers(0, 3, (400, 8))
    page = Page(cs.report(Fitted.from_ensemble(labels, np.arange(400) % 3)).html).visible
    assert "the base clusterings hardly agree with each other either" in page
    assert "The method has failed" not in page


def test_what_a_method_found_against_its_answer_is_said():
    _, labels, _ = groups(60, 3, 6)
    model = cs.consensus.EvidenceAccumulation(3).fit(labels)
    model.consensus_nmi_, model.baseline_nmi_, model.contradicted_ = 0.1, 0.9, True
    page = Page(cs.report(model).html).visible
    assert "they agree with it by a mean NMI of 0.10, and with plain average linkage" in page
    assert "Its base clusterings do not support it" in page
    model.contradicted_ = False
    assert "contradict" not in Page(cs.report(model).html).visible


# First and second choice
# -------------------------------------------------------------------------------------


def test_choices_are_those_of_the_evidence():
    """Object 0 is in group 0, but three of four clusterings have it with group 1."""
    truth = np.repeat([0, 1, 2], 10)
    labels = np.column_stack([truth] * 4)
    labels[0, :3] = 1
    fitted = Fitted.from_ensemble(labels, truth)
    choice, tie = _certainty.choices(fitted, np.array([0, 15]))
    assert choice.tolist() == [[1, 0], [1, 0]]
    # Memberships, Eq. (3): with group 1 wholly in three clusterings, with the other nine of group 0 (and
    # itself) in one.
    with_one, with_zero = 3 * 1.0, 3 * 0.1 + 1.0
    np.testing.assert_allclose(tie[0], np.array([with_one, with_zero]) / (with_one + with_zero))
    shown = _certainty.doubts(fitted)
    first = shown["doubtful"][0]
    assert (first["cluster"], [pair[0] for pair in first["choices"]]) == (0, [1, 0])
    assert first["choices"][0][1] == "70%"
    assert "1 object is not in the cluster that it has most ties to" in shown["doubt"][1]


def test_every_method_can_say_why_it_overrules():
    """In words of its own, or in those that hold for any method."""
    unknown = set(METHODS) - {cls.__name__ for cls in cs.consensus.methods().values()}
    assert unknown == set(), "src/consilience/_reporting/_methods.py: METHODS names what is no method"
    assert all(len(words.quantities) <= 2 for words in METHODS.values())
    assert words_of(object()).overrules


@pytest.mark.parametrize("method", sorted(cs.consensus.methods()))
def test_no_variable_names(method):
    _, labels, _ = groups(60, 3, 6, noise=0.3)
    cls = cs.consensus.methods()[method]
    model = cls(**{"n_clusters": 3, **cls._test_params[0]}).fit(labels)
    html = cs.report(model).html
    section = html.partition('aria-labelledby="history"')[2].partition("</section>")[0]
    words = Page(section).visible
    keys = {key for entry in model.history_ for key in entry}
    found = [key for key in keys if re.search(rf"\b{re.escape(key)}\b", words)]
    assert set(found) <= {"stage", "step", "pace", "pieces", "bound"}  # words of everyday use
    assert section.count("<polyline") <= 3
    if section:
        assert "<details>" in section


# Finer base clusterings and known classes
# --------------------------------------------------------------------


def test_finer_base_clusterings_are_not_punished_by_accuracy():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 40)
    labels = np.column_stack([truth * 4 + rng.integers(0, 4, 120) for _ in range(12)])
    shown = _compared.against_truth(Fitted.from_ensemble(labels, truth), truth)
    assert shown["measures"] == ["NMI", "ARI", "Purity"]
    assert "Half of the base clusterings have 12 clusters or more for 3 classes" in shown["text"][0]
    assert [row["numbers"][2] for row in shown["rows"]] == ["1.000"] * 3  # base clusterings are pure
    equal = _compared.against_truth(Fitted.from_ensemble(np.column_stack([truth] * 3), truth), truth)
    assert "Accuracy" in equal["measures"]


# Item consensus
# ----------------------------------------------------------------------------------------------


def test_item_consensus_is_the_mean_coassociation_with_each_cluster(seed):
    rng = np.random.default_rng(seed)
    _, labels, _ = groups(40, 3, 7, seed, noise=0.4)
    labels[rng.random(labels.shape) < 0.1] = -1
    labels[:, 0] = np.arange(40) % 3
    model = cs.consensus.EvidenceAccumulation(3).fit(labels)
    display = CoassociationDisplay.from_estimator(model)
    expected = np.full((40, 3), np.nan)
    for row, p in enumerate(display.order):
        for j in range(3):
            others = [q for q in range(40) if q != p and model.labels_[q] == j]
            both = (labels[p] >= 0) & (labels[others] >= 0)
            expected[row, j] = (both & (labels[p] == labels[others])).sum() / both.sum()
    np.testing.assert_allclose(display.items, expected, atol=1e-12)


def test_agreement_between_base_clusterings():
    truth = np.repeat([0, 1], 30)
    labels = np.column_stack([truth, truth, np.tile([0, 1], 30)])
    fitted = Fitted.from_ensemble(labels, truth)
    np.testing.assert_allclose(fitted.similarity, [[1, 1, 0], [1, 1, 0], [0, 0, 1]], atol=1e-12)
    assert fitted.mean_similarity == pytest.approx(1 / 3)
    shown, data = _bases.similarity(fitted)
    assert "0.33 on average" in shown["text"]
    assert sorted(data["names"]) == ["clustering 0", "clustering 1", "clustering 2"]
    assert data["names"].index("clustering 2") in (0, 2)  # alike ones side by side


def test_agreement_of_many_base_clusterings_is_compressed():
    labels = np.random.default_rng(0).integers(0, 4, (50, 260))
    fitted = Fitted.from_ensemble(labels, labels[:, 0])
    assert fitted.similarity.shape == (100, 100)
    assert 0 in fitted.compared  # the closest to the consensus is among them
    assert "100 of the 260 are shown" in _bases.similarity(fitted)[0]["text"]
