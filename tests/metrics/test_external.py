"""Labels against labels: scikit-learn where it has the measure, enumeration where it has not."""

from __future__ import annotations

import csv
from itertools import combinations, groupby, permutations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn import metrics as sk

import consilience as cs
from consilience import metrics
from consilience.errors import InputError
from consilience.metrics import _matching

from ..examples import examples

KEYS = ["accuracy", "nmi", "nmi_geometric", "nmi_max", "ami", "ari", "f1", "purity"]
NMI = {"max": "nmi_max", "geometric": "nmi_geometric", "arithmetic": "nmi"}
SYMMETRIC = [key for key in KEYS if key != "purity"]

pairs_of_labels = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 5), min_size=n, max_size=n),
        st.lists(st.integers(0, 5), min_size=n, max_size=n),
    )
)
quick = examples(100)


def noisy(rng, n=300, k=5, c=4):
    truth = rng.integers(0, c, n)
    return np.where(rng.random(n) < 0.7, truth % k, rng.integers(0, k, n)), truth


def test_keys():
    assert list(metrics.scores([0, 1], [0, 1])) == KEYS
    assert all(type(value) is float for value in metrics.scores([0, 1, 1, 1, 2], [0, 0, 1, 1, 2]).values())


# Against scikit-learn


@given(pairs_of_labels)
@quick
def test_equal_to_scikit_learn(labels_and_truth):
    labels, truth = labels_and_truth
    found = metrics.scores(truth, labels)
    assert found["ari"] == pytest.approx(sk.adjusted_rand_score(truth, labels), abs=1e-10)
    for mean in ("max", "geometric", "arithmetic"):
        expected = sk.normalized_mutual_info_score(truth, labels, average_method=mean)
        assert found[NMI[mean]] == pytest.approx(expected, abs=1e-10)
        assert metrics.nmi(truth, labels, normalization=mean) == found[NMI[mean]]
        singletons = len(set(labels)) == len(set(truth)) == len(labels)  # of which older scikit-learn says 0
        expected = 1.0 if singletons else sk.adjusted_mutual_info_score(truth, labels, average_method=mean)
        assert metrics.ami(truth, labels, normalization=mean) == pytest.approx(expected, abs=1e-10)
    assert found["nmi"] == pytest.approx(sk.v_measure_score(truth, labels), abs=1e-10)


@given(pairs_of_labels)
@quick
def test_pair_confusion_is_half_of_scikit_learns(labels_and_truth):
    labels, truth = labels_and_truth
    (tn, fp), (fn, tp) = sk.cluster.pair_confusion_matrix(truth, labels) // 2
    assert tuple(metrics.pair_confusion(truth, labels)) == (tp, fp, fn, tn)


def test_classes_come_first_as_in_scikit_learn():
    """Only purity and the two kinds of wrong pairs tell the sides apart; a swap would turn them round."""
    classes, clusters = [0, 0, 0, 1], [0, 1, 1, 1]
    assert metrics.purity(["a", "a", "b", "b"], [0, 1, 2, 3]) == 1.0
    assert metrics.purity([0, 1, 2, 3], ["a", "a", "b", "b"]) == 0.5
    assert metrics.purity(labels_true=[0, 1, 2, 3], labels_pred=["a", "a", "b", "b"]) == 0.5
    assert metrics.scores([0, 1, 2, 3], ["a", "a", "b", "b"])["purity"] == 0.5
    assert metrics.contingency_table(classes, clusters).toarray().tolist() == (
        sk.cluster.contingency_matrix(classes, clusters).tolist()
    )


def test_keys_of_scores_are_functions():
    found = metrics.scores([0, 0, 1, 1, 1], [0, 1, 1, 1, 2])
    for key, value in found.items():
        name, _, mean = key.partition("_")
        assert value == getattr(metrics, name)(
            [0, 0, 1, 1, 1], [0, 1, 1, 1, 2], **({"normalization": mean} if mean else {})
        )


@pytest.mark.parametrize("k", [2, 30, 400])
def test_equal_to_scikit_learn_at_size(k, seed):
    labels, truth = noisy(np.random.default_rng(seed), 5000, k, 17)
    found = metrics.scores(truth, labels)
    assert found["ami"] == pytest.approx(sk.adjusted_mutual_info_score(truth, labels), abs=1e-10)
    assert found["ari"] == pytest.approx(sk.adjusted_rand_score(truth, labels), abs=1e-12)
    assert found["nmi"] == pytest.approx(sk.normalized_mutual_info_score(truth, labels), abs=1e-12)


@pytest.mark.parametrize(
    ("labels", "truth", "expected"),
    [
        ([0, 0, 0], [1, 1, 1], 1.0),  # one cluster each
        ([0, 1, 2], [2, 0, 1], 1.0),  # singletons each
        ([0], [5], 1.0),
        ([0, 0, 0, 0], [0, 0, 1, 1], 0.0),  # one cluster against two
        ([0, 1, 2, 3], [0, 0, 0, 0], 0.0),  # singletons against one cluster
    ],
)
def test_conventions_at_the_edges_are_scikit_learns(labels, truth, expected):
    found = metrics.scores(truth, labels)
    assert found["ari"] == expected == sk.adjusted_rand_score(truth, labels)
    assert found["ami"] == expected == sk.adjusted_mutual_info_score(truth, labels)
    for mean in ("max", "geometric", "arithmetic"):
        assert found[NMI[mean]] == expected
        assert sk.normalized_mutual_info_score(truth, labels, average_method=mean) == pytest.approx(expected)


def test_reference_scores(shared_dir):
    """Published programs on fixed inputs, scored elsewhere, to four digits.

    ACC, NMI (geometric and max) and ARI.
    """
    with open(shared_dir / "golden" / "MANIFEST.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["acc"] and not row["case"].startswith("lssmtc")]
    compared = 0
    for case, group in groupby(rows, key=lambda row: row["case"]):
        with np.load(shared_dir / "golden" / f"{case}.npz", allow_pickle=False) as archive:
            for method, same in groupby(group, key=lambda row: row["method"]):
                if f"{method}__labels" not in archive or "truth" not in archive:
                    continue
                for row, labels in zip(same, archive[f"{method}__labels"].T, strict=True):
                    found = metrics.scores(archive["truth"], labels)
                    values = [found[key] for key in ("accuracy", "nmi_geometric", "ari", "nmi_max")]
                    expected = [float(row[key]) for key in ("acc", "nmi", "ari", "nmi_max")]
                    assert values == pytest.approx(expected, abs=6e-5), (case, method, row["params"])
                    compared += 1
    assert compared > 100


# By enumeration and by hand


@given(pairs_of_labels)
@quick
def test_accuracy_is_the_best_of_all_matchings(labels_and_truth):
    labels, truth = (np.array(side) for side in labels_and_truth)
    classes = list(range(6))
    best = max((np.array(p)[labels] == truth).sum() for p in permutations(classes))
    assert metrics.accuracy(truth, labels) == pytest.approx(best / len(labels))


@given(pairs_of_labels)
@quick
def test_pairs_by_enumeration(labels_and_truth):
    labels, truth = labels_and_truth
    tp = fp = fn = 0
    for p, q in combinations(range(len(labels)), 2):
        tp += labels[p] == labels[q] and truth[p] == truth[q]
        fp += labels[p] == labels[q] and truth[p] != truth[q]
        fn += labels[p] != labels[q] and truth[p] == truth[q]
    found = metrics.pair_confusion(truth, labels)
    assert found[:3] == (tp, fp, fn)
    assert sum(found) == len(labels) * (len(labels) - 1) // 2
    assume(tp)
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    assert (found.precision, found.recall) == (precision, recall)
    assert metrics.f1(truth, labels) == pytest.approx(2 * precision * recall / (precision + recall))


@given(pairs_of_labels)
@quick
def test_purity_by_enumeration(labels_and_truth):
    labels, truth = (np.array(side) for side in labels_and_truth)
    majority = sum(np.bincount(truth[labels == cluster]).max() for cluster in set(labels.tolist()))
    assert metrics.purity(truth, labels) == pytest.approx(majority / len(labels))


def test_by_hand():
    """Table [[3, 1], [0, 2], [1, 1]]: clusters of 4, 2 and 2, classes of 4 each."""
    labels = list("AAAABBCC")
    truth = [0, 0, 0, 1, 1, 1, 0, 1]
    assert metrics.contingency_table(labels, truth).toarray().tolist() == [[3, 1], [0, 2], [1, 1]]
    assert metrics.accuracy(truth, labels) == 5 / 8  # A-0, B-1; C is left over
    assert metrics.purity(truth, labels) == 6 / 8
    pairs = metrics.pair_confusion(truth, labels)
    assert pairs == (4, 4, 8, 12)
    assert (pairs.precision, pairs.recall, pairs.f1) == (1 / 2, 1 / 3, 2 / 5)


@pytest.mark.parametrize(
    ("labels", "truth", "precision", "recall", "f1"),
    [
        ([0, 1, 2], [0, 1, 2], 1.0, 1.0, 1.0),  # no pair on either side: nothing is wrong
        ([0, 1, 2], [0, 0, 0], 0.0, 0.0, 0.0),  # none claimed, though all belong together
        ([0, 0, 0], [0, 1, 2], 0.0, 0.0, 0.0),
    ],
)
def test_pair_shares_without_pairs(labels, truth, precision, recall, f1):
    pairs = metrics.pair_confusion(truth, labels)
    assert (pairs.precision, pairs.recall, pairs.f1) == (precision, recall, f1)


@pytest.mark.parametrize(("k", "c"), [(3, 40), (40, 3), (60, 60), (2, 2), (400, 400)])
@pytest.mark.parametrize("route", ["dense", "sparse"])
def test_every_route_to_the_matching_is_as_good(k, c, route, seed, monkeypatch):
    from scipy.optimize import linear_sum_assignment

    # 400 x 400 falls into hundreds of parts: single cells, stars and others.
    labels, truth = noisy(np.random.default_rng(seed), 500, k, c)
    table = metrics.contingency_table(labels, truth)
    dense = table.toarray()
    best = dense[linear_sum_assignment(dense, maximize=True)].sum()
    if route == "sparse":
        monkeypatch.setattr(_matching, "_LARGEST_DENSE_MATCHING", 0)
    monkeypatch.setattr(_matching, "_WHOLE_MATCHING", 0)
    rows, columns = _matching.match(table)
    assert len(set(rows)) == len(rows)
    assert len(set(columns)) == len(columns)
    assert dense[rows, columns].min() > 0
    assert dense[rows, columns].sum() == best
    assert metrics.accuracy(truth, labels) == best / 500


def test_many_small_clusters_are_matched_quickly(seed):
    """100,000 clusters of two against singletons, and against themselves with a few exchanged."""
    rng = np.random.default_rng(seed)
    twos = rng.permutation(np.repeat(np.arange(100_000), 2))
    assert metrics.accuracy(np.arange(200_000), twos) == 0.5
    other = twos.copy()
    other[:3] = other[[1, 2, 0]]
    assert metrics.accuracy(other + 7, twos) == pytest.approx(1 - 3 / 200_000)


# Invariance


@given(pairs_of_labels, st.randoms(use_true_random=False))
@quick
def test_names_and_order_do_not_matter(labels_and_truth, random):
    labels, truth = (np.array(side) for side in labels_and_truth)
    base = metrics.scores(truth, labels)
    order = np.array(random.sample(range(len(labels)), len(labels)))
    shuffled = metrics.scores(truth[order], labels[order])
    assert shuffled == base  # the same table, so exactly
    names = np.array(random.sample(["x", "y", "zz", "", "a b", "q"], 6))
    renamed = metrics.scores(["class " + names[t] for t in truth], labels * 10**15 - 77)
    assert renamed == base  # not even the last digit


@given(pairs_of_labels)
@quick
def test_symmetry(labels_and_truth):
    labels, truth = labels_and_truth
    one, other = metrics.scores(truth, labels), metrics.scores(labels, truth)
    assert [one[key] for key in SYMMETRIC] == pytest.approx([other[key] for key in SYMMETRIC], abs=1e-12)
    pairs = metrics.pair_confusion(truth, labels)
    assert pairs.precision == metrics.pair_confusion(labels, truth).recall


@given(pairs_of_labels)
@quick
def test_ranges(labels_and_truth):
    for key, value in metrics.scores(*labels_and_truth).items():
        assert value <= 1
        assert value >= (-1 if key in ("ami", "ari") else 0)
    assert set(metrics.scores(labels_and_truth[0], labels_and_truth[0]).values()) == {1.0}


@given(pairs_of_labels, st.data())
@quick
def test_weights_equal_repeated_rows(labels_and_truth, data):
    labels, truth = (np.array(side) for side in labels_and_truth)
    weights = np.array(data.draw(st.lists(st.integers(0, 4), min_size=len(labels), max_size=len(labels))))
    assume(weights.any())
    repeated = metrics.scores(np.repeat(truth, weights), np.repeat(labels, weights))
    assert metrics.scores(truth, labels, sample_weight=weights) == repeated
    assert metrics.scores(truth, labels, sample_weight=weights.astype(float)) == repeated


def test_fractional_weights(seed):
    rng = np.random.default_rng(seed)
    labels, truth = noisy(rng)
    weights = rng.random(len(labels))
    found = metrics.scores(truth, labels, sample_weight=weights)
    assert np.isnan(found["ami"])
    # What does not count pairs is a matter of shares: halves of doubled weights.
    for key in ("accuracy", "purity", "nmi_max", "nmi_geometric", "nmi"):
        assert found[key] == pytest.approx(metrics.scores(truth, labels, sample_weight=weights * 3.5)[key])
    perfect = metrics.scores(labels, labels, sample_weight=weights)
    assert [v for k, v in perfect.items() if k != "ami"] == pytest.approx([1.0] * 7)
    with pytest.raises(InputError, match=r"ami needs whole numbers as sample_weight.*Scale or round"):
        metrics.ami(truth, labels, sample_weight=weights)


def test_counts_beyond_int64_products():
    """Weights of 10^9: sums of squares pass 2^63, products of pair counts 2^127."""
    labels, truth = [0, 0, 1, 1, 2], [0, 0, 0, 1, 1]
    small = metrics.scores(truth, labels, sample_weight=[10**6] * 5)
    large = metrics.scores(truth, labels, sample_weight=[10**10] * 5)
    assert large == pytest.approx(small, abs=1e-5)
    assert metrics.pair_confusion(truth, labels, sample_weight=[10**10] * 5).true_positive == (
        2 * 10**10 * (2 * 10**10 - 1) // 2 + 3 * (10**10 * (10**10 - 1) // 2)
    )


def test_ten_million_labels():
    n = 10**7
    labels = np.arange(n) // (n // 10)
    truth = np.where(np.arange(n) % 100 == 0, (labels + 1) % 10, labels)  # each cluster loses a hundredth
    found = metrics.scores(truth, labels)
    assert found["accuracy"] == found["purity"] == 0.99
    tp = 10 * (990_000 * 989_999 + 10_000 * 9_999) // 2
    assert metrics.pair_confusion(truth, labels).true_positive == tp
    assert found["f1"] == pytest.approx(tp / (10 * 10**6 * 999_999 // 2))


# What may be passed


def test_containers_agree(seed):
    labels, truth = noisy(np.random.default_rng(seed), 100)
    expected = metrics.scores(truth, labels)
    words = np.array(["zero", "one", "two", "three", "four"])
    for one, other in [
        (labels.tolist(), tuple(truth.tolist())),
        (pd.Series(labels, index=np.arange(100)[::-1]), pd.Series(words[truth])),
        (pd.Series(words[labels], dtype="category"), pd.array(truth, dtype="Int64")),
        (pl.Series(labels), pl.Series(words[truth])),
        (words[labels], words[truth].astype("S")),
        (labels.astype(float) / 3, words[truth].astype(object)),
        (labels.astype(np.uint8), truth.astype(np.int16)),
    ]:
        assert metrics.scores(other, one) == pytest.approx(expected, abs=1e-12)
    assert metrics.scores(truth > 1, labels > 1) == metrics.scores(
        (truth > 1).astype(int), (labels > 1).astype(int)
    )


def test_inputs_are_left_alone(seed):
    labels, truth = noisy(np.random.default_rng(seed), 100)
    labels.setflags(write=False)
    truth.setflags(write=False)
    metrics.scores(truth, labels)
    metrics.align(labels, truth)


@pytest.mark.parametrize(
    ("labels", "truth"),
    [
        ([0, 0, 1, 1, -1, 2], [0, 0, 1, 1, 1, -1]),
        ([0.0, 0.0, 1.0, 1.0, np.nan, 2.0], ["a", "a", "b", "b", "b", None]),
        (["x", "x", "y", "y", "", "z"], pd.array([0, 0, 1, 1, 1, None], dtype="Int64")),
        (
            np.ma.array([0, 0, 1, 1, 5, 2], mask=[0, 0, 0, 0, 1, 0]),
            pd.Series(["a", "a", "b", "b", "b", pd.NA]),
        ),
    ],
)
def test_missing(labels, truth):
    with pytest.raises(
        InputError,
        match=r"Missing labels \(-1, NaN or None\): 1 in labels_pred and 1 in labels_true, of 6 objects",
    ):
        metrics.scores(truth, labels)
    assert set(metrics.scores(truth, labels, missing="ignore").values()) == {1.0}
    as_cluster = metrics.scores(truth, labels, missing="cluster")
    assert as_cluster == metrics.scores([0, 0, 1, 1, 1, 9], [0, 0, 1, 1, 9, 2])  # to the last digit


def test_missing_as_a_cluster_has_no_name():
    table = metrics.contingency_table(["a", None, "b"], [0, 1, -1], missing="cluster")
    assert table.row_labels.tolist() == [None, "a", "b"]
    assert table.column_labels.tolist() == [-1, 0, 1]


@pytest.mark.parametrize(
    ("labels", "truth", "options", "message"),
    [
        (
            [0, 1],
            [0, 1, 1],
            {},
            "labels_pred has 2 objects but labels_true has 3; both must label the same objects",
        ),
        ([], [], {}, "labels_pred and labels_true are empty: there is nothing to compare"),
        ([[0, 1], [1, 0]], [0, 1], {}, r"labels_pred has shape \(2, 2\); expected one label per object"),
        ([[0, 1], [1]], [0, 1], {}, "labels_pred holds lists among its labels"),
        (3, [0, 1], {}, "labels_pred is 3, not a vector of labels; expected one label per object.$"),
        (
            cs.consensus.LWEA(2),
            [0, 1],
            {},
            r"LWEA\(n_clusters=2\), not a vector of labels; .* those it learned, LWEA.labels_\.$",
        ),
        ([1j, 0], [0, 1], {}, "labels_pred has labels of type complex128, which cannot be categories"),
        (
            [0, 1],
            np.array([{}, {}]),
            {},
            "labels_true has a label of type dict at object 0; labels must be numbers or text",
        ),
        (
            [0, -1],
            [0, 1],
            {},
            "1 in labels_pred, of 2 objects. Pass missing='ignore' to compare only .* or missing='cluster'",
        ),
        ([0, -1], [-1, 1], {"missing": "ignore"}, "No object is left to compare"),
        (
            [0, 1],
            [0, 1],
            {"missing": "drop"},
            "missing='drop' is not valid: expected one of 'error', 'ignore', 'cluster'",
        ),
        ([0, 1], [0, 1], {"sample_weight": [1]}, r"sample_weight has shape \(1,\) for 2 objects"),
        ([0, 1], [0, 1], {"sample_weight": [1, -2]}, r"sample_weight\[1\]=-2 is not a weight"),
        ([0, 1], [0, 1], {"sample_weight": [1, np.nan]}, r"sample_weight\[1\]=nan is not a weight"),
        ([0, 1], [0, 1], {"sample_weight": ["a", "b"]}, "sample_weight must be numbers"),
        ([0, 1], [0, 1], {"sample_weight": [0, 0]}, "sample_weight is zero for every object"),
    ],
)
def test_messages(labels, truth, options, message):
    with pytest.raises(InputError, match=message):
        metrics.scores(truth, labels, **options)


def test_unknown_normalization():
    with pytest.raises(InputError, match="normalization='min' is not valid: expected one of 'max'"):
        metrics.nmi([0, 1], [0, 1], normalization="min")


# The table itself


def test_table():
    table = metrics.contingency_table([3, 3, 9, 9, 9], ["b", "a", "b", "b", "b"])
    assert table.row_labels.tolist() == [3, 9]
    assert table.column_labels.tolist() == ["a", "b"]
    assert table.toarray().tolist() == table.tocsr().toarray().tolist() == [[1, 1], [0, 3]]
    assert table.row_sums.tolist() == [2, 3]
    assert table.column_sums.tolist() == [1, 4]
    assert table.total == 5
    assert repr(table) == "Contingency(2 rows x 2 columns, total 5)"


def test_dense_table_that_cannot_fit_is_refused():
    n = 3_000_000
    table = metrics.contingency_table(np.arange(n), np.arange(n))
    with pytest.raises(
        MemoryError, match=r"A dense table of shape \(3000000, 3000000\) needs 72.0 TB.*use tocsr"
    ):
        table.toarray()
    assert table.tocsr().nnz == n


# Renaming


def test_align_by_hand():
    assert metrics.align([7, 7, 3, 3, 5], [0, 0, 1, 1, 1]).tolist() == [0, 0, 1, 1, 2]
    assert metrics.align([0, 0, 1], list("bba")).tolist() == ["b", "b", "a"]
    # Two clusters are left over: the larger is named first, and taken names are passed over.
    found = metrics.align(list("aaabbccc"), ["x", "x", "x", "extra-1", "x", "x", "x", "x"])
    assert found.tolist() == ["x", "x", "x", "extra-1", "extra-1", "extra-2", "extra-2", "extra-2"]
    assert metrics.align([0, 1, 2, 2], [0.5, 0.5, 1.5, 1.5]).tolist() == [0.5, 2.0, 1.5, 1.5]


def test_align_does_not_match_what_never_meets():
    """Cluster 1 and class "c" are both free, but share no object."""
    assert metrics.align([0, 0, 1, 2], ["a", "a", "a", "b"]).tolist() == ["a", "a", "extra-1", "b"]


def test_align_keeps_missing_labels():
    assert metrics.align([5, -1, 6], [0, 0, 1]).tolist() == [0, -1, 1]
    assert metrics.align([5, None, 6], ["a", "a", "b"]).tolist() == ["a", None, "b"]
    assert metrics.align([5, 5, 6, 6], [1, 1, -1, 2]).tolist() == [1, 1, 2, 2]


@given(pairs_of_labels)
@quick
def test_align_renames_and_agrees_most(labels_and_truth):
    labels, reference = (np.array(side) for side in labels_and_truth)
    found = metrics.align(labels, reference)
    assert sk.adjusted_rand_score(found, labels) == 1.0
    assert np.mean(found == reference) == pytest.approx(metrics.accuracy(reference, labels))
    assert np.array_equal(metrics.align(found, reference), found) or np.mean(found == reference) < 1


def test_align_messages():
    with pytest.raises(InputError, match="labels has 2 objects but reference has 3"):
        metrics.align([0, 1], [0, 1, 1])
