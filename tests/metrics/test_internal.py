"""An ensemble by itself: against the n-by-n matrix that the library does not form."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import normalized_mutual_info_score

import consilience as cs
from consilience import metrics
from consilience._data.ensemble import Ensemble
from consilience.errors import InputError


@pytest.fixture(params=[0.0, 0.3], ids=["complete", "missing"])
def case(request, seed):
    """Noisy copies of a partition of 40 objects, and that partition."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 4, 40)
    L = np.where(rng.random((40, 7)) < 0.6, labels[:, None], rng.integers(0, 5, (40, 7)))
    L[rng.random(L.shape) < request.param] = -1
    return labels, L


def pair_counts(L):
    """How often each two objects were together, and how often seen together."""
    seen = (L[:, None] >= 0) & (L[None] >= 0)
    return ((L[:, None] == L[None]) & seen).sum(axis=2), seen.sum(axis=2)


def test_stability_is_the_mean_over_pairs(case):
    labels, L = case
    together, seen = pair_counts(L)
    np.fill_diagonal(together, 0)
    np.fill_diagonal(seen, 0)
    same = labels[:, None] == labels[None]
    objects = (together * same).sum(axis=1) / (seen * same).sum(axis=1)
    assert metrics.sample_stability(L, labels) == pytest.approx(objects)
    clusters = [
        together[np.ix_(labels == j, labels == j)].sum() / seen[np.ix_(labels == j, labels == j)].sum()
        for j in range(4)
    ]
    assert metrics.cluster_stability(L, labels) == pytest.approx(clusters)


def test_stability_is_the_mean_coassociation_when_nothing_is_missing(seed):
    rng = np.random.default_rng(seed)
    labels, L = rng.integers(0, 3, 30), rng.integers(0, 3, (30, 6))
    A = Ensemble(L).coassociation()
    members = [np.flatnonzero((labels == labels[p]) & (np.arange(30) != p)) for p in range(30)]
    assert metrics.sample_stability(L, labels) == pytest.approx(
        [A[p, q].mean() for p, q in enumerate(members)]
    )


def test_stability_by_hand():
    # Two clusterings, objects 0 1 2 | 3 4: clustering 1 agrees, clustering 2 has moved object 2.
    ensemble = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1]])
    labels = ["x", "x", "x", "y", "y"]
    assert metrics.sample_stability(ensemble, labels).tolist() == [3 / 4, 3 / 4, 2 / 4, 1, 1]
    assert metrics.cluster_stability(ensemble, labels) == pytest.approx([4 / 6, 1])


def test_stability_without_evidence_is_nan():
    # Object 2 is alone; 3 and 4 were never seen by the same clustering; 5 has no label.
    ensemble = Ensemble(np.array([[0, 0, 1, 2, -1, 0], [0, 0, 1, -1, 2, 0]]).T)
    labels = [0, 0, 1, 2, 2, -1]
    assert np.array_equal(
        metrics.sample_stability(ensemble, labels), [1, 1, np.nan, np.nan, np.nan, np.nan], equal_nan=True
    )
    assert np.array_equal(metrics.cluster_stability(ensemble, labels), [1, np.nan, np.nan], equal_nan=True)


def test_weights_equal_repeated_rows(case, seed):
    labels, L = case
    weights = np.random.default_rng(seed).integers(1, 4, len(labels))
    once = Ensemble(L, sample_weight=weights)
    again, repeated = np.repeat(labels, weights), np.repeat(L, weights, axis=0)
    assert metrics.cluster_stability(once, labels) == pytest.approx(
        metrics.cluster_stability(repeated, again)
    )
    assert np.repeat(metrics.sample_stability(once, labels), weights) == pytest.approx(
        metrics.sample_stability(repeated, again)
    )
    assert metrics.anmi(once, labels) == pytest.approx(metrics.anmi(repeated, again))
    found, expected = metrics.base_scores(once, labels), metrics.base_scores(repeated, again)
    for name in expected:
        assert found[name] == pytest.approx(expected[name])


@pytest.mark.parametrize("normalization", ["geometric", "arithmetic", "max"])
def test_anmi_is_the_mean_over_objects_seen(case, normalization):
    labels, L = case
    values = [
        normalized_mutual_info_score(labels[c >= 0], c[c >= 0], average_method=normalization) for c in L.T
    ]
    assert metrics.anmi(L, labels, normalization=normalization) == pytest.approx(np.mean(values))


def test_anmi_default_is_geometric(case):
    labels, L = case
    assert metrics.anmi(L, labels) == metrics.anmi(L, labels, normalization="geometric")


def test_invariance(case, seed):
    """Renamed labels, shuffled objects, reordered clusterings."""
    labels, L = case
    rng = np.random.default_rng(seed)
    order, columns = rng.permutation(len(labels)), rng.permutation(L.shape[1])
    names = np.array(["d", "b", "a", "c"])[labels]
    shuffled = np.where(L < 0, -1, 11 - 2 * L)[order][:, columns]
    assert metrics.anmi(shuffled, names[order]) == pytest.approx(metrics.anmi(L, labels))
    assert metrics.sample_stability(shuffled, names[order]) == pytest.approx(
        metrics.sample_stability(L, labels)[order]
    )
    # Clusters come in sorted order of their names: a b c d were 2 1 3 0.
    assert metrics.cluster_stability(shuffled, names[order]) == pytest.approx(
        metrics.cluster_stability(L, labels)[[2, 1, 3, 0]]
    )


def test_identical_clusterings_are_perfectly_stable():
    labels = np.array([0, 0, 1, 1, 2, 2])
    L = np.column_stack([labels, 5 - labels, labels])
    assert metrics.anmi(L, labels) == 1
    assert metrics.sample_stability(L, labels).tolist() == [1] * 6
    assert metrics.cluster_stability(L, labels).tolist() == [1] * 3


def test_base_scores_are_the_scores_of_each(case):
    truth, L = case
    found = metrics.base_scores(L, truth)
    for i, column in enumerate(L.T):
        expected = metrics.scores(truth, column, missing="ignore")
        assert {name: values[i] for name, values in found.items()} == pytest.approx(expected, abs=1e-12)


def test_base_scores_with_unlabeled_objects(case):
    truth, L = case
    partial = np.where(np.arange(len(truth)) < 10, -1, truth)
    with pytest.raises(
        InputError, match=r"10 in labels_true, of 40 objects. Pass missing='ignore' to compare only"
    ):
        metrics.base_scores(L, partial)
    found = metrics.base_scores(L, partial, missing="ignore")
    expected = metrics.base_scores(L[10:], truth[10:])
    for name in expected:
        assert found[name] == pytest.approx(expected[name], abs=1e-12)


def test_base_scores_of_a_clustering_that_saw_no_class():
    L = np.array([[0, -1], [1, -1], [-1, 0], [-1, 1]])
    found = metrics.base_scores(L, ["a", "b", None, None], missing="ignore")
    assert found["accuracy"].tolist()[0] == 1
    assert np.isnan(found["accuracy"][1])


def test_compare(case):
    truth, L = case
    table = metrics.compare_with_base(L, truth, truth)
    assert list(table) == ["base mean", "base best", "consensus"]
    base = metrics.base_scores(L, truth)
    assert table["base mean"]["ari"] == pytest.approx(base["ari"].mean())
    assert table["base best"]["ari"] == base["ari"].max()
    assert table["consensus"] == metrics.scores(truth, truth)


@pytest.mark.filterwarnings("error")
def test_what_is_unknown_for_all_is_nan_without_a_warning(case):
    truth, L = case
    table = metrics.compare_with_base(Ensemble(L, sample_weight=np.full(len(truth), 0.5)), truth, truth)
    assert np.isnan([table[row]["ami"] for row in ("base mean", "base best")]).all()
    assert 0 < table["base mean"]["accuracy"] <= table["base best"]["accuracy"] <= 1
    assert np.isnan(metrics.anmi([[-1], [-1], [0], [1]], [0, 1, -1, -1]))


@pytest.mark.parametrize("function", [metrics.anmi, metrics.sample_stability, metrics.cluster_stability])
def test_messages(function):
    with pytest.raises(
        InputError, match="labels has 3 objects but the ensemble has 2; both must describe the same"
    ):
        function([[0, 0], [1, 0]], [0, 1, 1])


def test_base_scores_messages():
    with pytest.raises(InputError, match="labels_true has 3 objects but the ensemble has 2"):
        metrics.base_scores([[0, 0], [1, 0]], [0, 1, 1])
    with pytest.raises(InputError, match="labels_true has no class for any object"):
        metrics.base_scores([[0, 0], [1, 0]], [-1, -1], missing="ignore")
    with pytest.raises(InputError, match="missing='cluster' is not valid: expected one of 'error', 'ignore'"):
        metrics.base_scores([[0, 0], [1, 0]], [0, 1], missing="cluster")


def test_read_only_input(case):
    labels, L = case
    labels.setflags(write=False)
    L.setflags(write=False)
    metrics.sample_stability(L, labels)
    metrics.base_scores(L, labels)
