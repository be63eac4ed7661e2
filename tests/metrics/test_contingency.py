"""The counting kernels: every route to a table gives the same table."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import expected_mutual_information as sklearn_emi

from consilience import metrics
from consilience._data.labels import encode
from consilience._kernels.labels import contingency, information
from consilience._kernels.labels.contingency import count_pairs, cross_table
from consilience._kernels.labels.information import (
    expected_mutual_information,
    measure_tables,
    pairwise_measure,
)
from consilience.errors import InputError

from ..examples import examples


def as_dict(cells):
    keys = zip(cells.row_values[cells.rows].tolist(), cells.column_values[cells.columns].tolist())
    return dict(zip(keys, cells.counts.tolist()))


def by_hand(a, b, weights=None):
    table = Counter()
    for i, (x, y) in enumerate(zip(a.tolist(), b.tolist())):
        table[x, y] += 1 if weights is None else weights[i]
    return {key: count for key, count in table.items() if count}


# Values to codes


@pytest.mark.parametrize(
    ("values", "codes", "categories"),
    [
        (np.array([5, -1, 3, 5]), [1, -1, 0, 1], [3, 5]),
        (np.array([-7, -1, 3, -7], np.int8), [0, -1, 1, 0], [-7, 3]),
        (np.array([10**12, -(10**12), -1, 10**12]), [1, 0, -1, 1], [-(10**12), 10**12]),
        (np.array([2**64 - 1, 0, 2**64 - 1], np.uint64), [1, 0, 1], [0, 2**64 - 1]),
        (np.array([-(2**63), 2**63 - 1, 0]), [0, 2, 1], [-(2**63), 0, 2**63 - 1]),
        (np.array([255, 0, 255], np.uint8), [1, 0, 1], [0, 255]),
        (np.array([True, False, True]), [1, 0, 1], [0, 1]),
        (np.array([0.5, np.nan, -0.0, 0.0, -1.0]), [1, -1, 0, 0, -1], [0.0, 0.5]),
        (np.array([0.5, 0.25], np.float32), [1, 0], [0.25, 0.5]),
        (np.array(["b", "a", "", "b"]), [1, 0, -1, 1], ["a", "b"]),
        (np.array([b"b", b"a"]), [1, 0], ["a", "b"]),
        (
            np.array(["b", None, 1, 1.0, np.nan, pd.NA, pd.NaT, -1], object),
            [1, -1, 0, 0, -1, -1, -1, -1],
            [1, "b"],
        ),
        (np.array(["2020-01-02", "NaT", "2020-01-01"], "M8[D]"), [1, -1, 0], None),
        (np.ma.array([4, 5, 6, 4], mask=[0, 1, 0, 0]), [0, -1, 1, 0], [4, 6]),
        (np.array([], np.int64), [], []),
        (np.array([], float), [], []),
    ],
)
def test_encode_by_hand(values, codes, categories):
    found, names = encode(values, "labels")
    assert found.tolist() == codes
    assert found.dtype == np.int32
    if categories is not None:
        assert names.tolist() == categories


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=60))
@examples(80)
def test_encode_integers_like_unique(values):
    values = np.array(values)
    codes, categories = encode(values, "labels")
    kept = values[values != -1]
    assert categories.tolist() == np.unique(kept).tolist()
    assert np.array_equal(categories[codes[codes >= 0]], kept)
    assert np.array_equal(codes < 0, values == -1)


@pytest.mark.parametrize("kind", ["wide", "float", "text"])
def test_encode_many_distinct_values_grows_the_hash_table(kind, seed):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2**60, 40_000)
    values = {"wide": values, "float": values / 3.0, "text": values.astype(str)}[kind]
    values = np.concatenate([values, values[::-1]])
    codes, categories = encode(values, "labels")
    expected, inverse = np.unique(values, return_inverse=True)
    assert np.array_equal(categories, expected)
    assert np.array_equal(codes, inverse)


# Counting


@pytest.mark.parametrize(
    ("low", "width"),
    [(0, 3), (-1, 5), (1000, 40), (-(10**9), 300), (0, 5000), (-(2**62), 2**62)],
    ids=["tiny", "with -1", "shifted", "second look", "sparse", "hashed"],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_route_counts_the_same(low, width, weighted, seed):
    rng = np.random.default_rng(seed)
    n = 60_000
    a = rng.integers(low, low + width, n)
    a = np.where(rng.random(n) < 0.5, a, a[0])
    b = rng.integers(low, low + width, n, dtype=np.int64)
    weights = rng.integers(0, 4, n) if weighted else None
    cells = count_pairs(a, b, weights)
    assert as_dict(cells) == by_hand(a, b, weights)
    assert cells.counts.dtype == (np.float64 if weighted else np.int64)
    order = np.lexsort((cells.columns, cells.rows))
    assert np.array_equal(order, np.arange(len(order)))
    assert np.array_equal(np.unique(cells.rows), np.arange(len(cells.row_values)))
    assert np.array_equal(np.unique(cells.columns), np.arange(len(cells.column_values)))


@pytest.mark.parametrize("weighted", [False, True])
def test_blocks_of_different_extent_are_put_together(monkeypatch, weighted, seed):
    """Sorted labels: each block sees other values than the next."""
    monkeypatch.setattr(contingency, "_BLOCK", 100)
    rng = np.random.default_rng(seed)
    a, b = np.sort(rng.integers(-5, 20, 1003)), rng.integers(7, 11, 1003)
    weights = rng.integers(0, 3, 1003).astype(float) if weighted else None
    assert as_dict(count_pairs(a, b, weights)) == by_hand(a, b, weights)


def test_result_does_not_depend_on_threads(monkeypatch, seed):
    monkeypatch.setattr(contingency, "_BLOCK", 1000)
    rng = np.random.default_rng(seed)
    a, b, w = rng.integers(0, 9, 20_000), rng.integers(0, 7, 20_000), rng.random(20_000)
    one, two = count_pairs(a, b, w, n_jobs=1), count_pairs(a, b, w, n_jobs=2)
    assert np.array_equal(one.counts, two.counts)


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
)
def test_any_integer_type_and_stride(dtype, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 100, (500, 2)).astype(dtype)
    matrix.setflags(write=False)
    a, b = matrix[:, 0], matrix[::-1, 1]
    assert as_dict(count_pairs(a, b)) == by_hand(a, b)


def test_unsigned_beyond_int64():
    a = np.array([2**64 - 1, 2**64 - 1, 0], np.uint64)
    assert as_dict(count_pairs(a, np.array([-1, -1, 2]))) == {(0, 2): 1, (2**64 - 1, -1): 2}


def test_cross_table_is_all_contingencies_at_once(seed, monkeypatch):
    monkeypatch.setattr(contingency, "_BLOCK", 64)
    rng = np.random.default_rng(seed)
    n, k = 1000, np.array([3, 5, 2])
    labels = (rng.random((n, 3)) * (k + 1)).astype(np.int16) - 1
    codes = rng.integers(-1, 4, n)
    weights = rng.integers(0, 3, n).astype(float)
    offsets = np.concatenate([[0], np.cumsum(k)])
    for w in (None, weights):
        found = cross_table(labels, offsets, codes, 4, w)
        for i in range(3):
            for q in range(k[i]):
                for j in range(4):
                    here = (labels[:, i] == q) & (codes == j)
                    assert found[offsets[i] + q, j] == (here.sum() if w is None else w[here].sum())


# Chance


def emi_by_definition(a, b):
    n = sum(a)
    total = 0.0
    for x in a:
        for y in b:
            k = np.arange(max(1, x + y - n), min(x, y) + 1)
            total += np.sum(k / n * np.log(n * k / (x * y)) * hypergeom(n, x, y).pmf(k))
    return total


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=6),
    st.lists(st.integers(1, 12), min_size=1, max_size=6),
)
@examples(80)
def test_expected_information_follows_the_definition(a, b):
    # Make the totals equal: both are margins of one table.
    short = sum(a) - sum(b)
    (b if short > 0 else a).extend([1] * abs(short))
    found = expected_mutual_information(np.array(a), np.array(b))
    assert found == pytest.approx(emi_by_definition(a, b), abs=1e-12)


def test_expected_information_equals_scikit_learn_at_size(seed):
    import scipy.sparse as sp

    rng = np.random.default_rng(seed)
    table = rng.integers(0, 400, (13, 9))
    found = expected_mutual_information(table.sum(axis=1), table.sum(axis=0))
    assert found == pytest.approx(sklearn_emi(sp.csr_matrix(table), int(table.sum())), abs=1e-10)


def test_expected_information_of_singletons_is_their_entropy():
    assert expected_mutual_information(np.ones(10**5), np.ones(10**5)) == pytest.approx(np.log(10**5))


def test_expected_information_of_large_margins_is_near_its_limit():
    """(k - 1)(c - 1) / 2n for large n, where log-factorials would have lost most digits."""
    margins = np.full(10, 10**9)
    assert expected_mutual_information(margins, margins) == pytest.approx(81 / (2 * 10**10), rel=1e-4)


# All pairs of columns


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("measure", information.PAIRWISE_MEASURES)
def test_pairwise_measure_equals_scikit_learn_on_objects_seen_by_both(measure, sparse, seed, monkeypatch):
    if sparse:
        monkeypatch.setattr(information, "SMALL_TABLE", 0)
    rng = np.random.default_rng(seed)
    n, k = 40, np.array([1, 2, 3, 7, 12] if not sparse else [40, 38, 3, 2, 1])
    labels = (rng.random((n, 5)) * k).astype(np.int16)
    labels[rng.random((n, 5)) < 0.2] = -1
    found = pairwise_measure(labels, k, measure)
    for i in range(5):
        for j in range(5):
            a, b = labels[(labels[:, i] >= 0) & (labels[:, j] >= 0)][:, [i, j]].T
            if measure == "ari":
                expected = adjusted_rand_score(a, b)
            else:
                average = "arithmetic" if measure == "nmi" else measure.split("_")[1]
                expected = normalized_mutual_info_score(a, b, average_method=average)
            assert found[i, j] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("measure", ["nmi", "ari"])
def test_pairwise_weights_equal_repeated_rows(measure, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, 4, (50, 4)).astype(np.int32)
    weights = rng.integers(1, 5, 50)
    k = np.full(4, 4)
    weighted = pairwise_measure(labels, k, measure, weights)
    assert weighted == pytest.approx(
        pairwise_measure(np.repeat(labels, weights, axis=0), k, measure), abs=1e-12
    )


@pytest.mark.parametrize("scale", [0.05, 1.0, 100.0])
@pytest.mark.parametrize("sparse", [False, True])
def test_pairwise_and_table_measures_are_those_of_the_metrics(scale, sparse, seed, monkeypatch):
    """One rule for a table, however it was counted; also where weights leave less than one pair."""
    if sparse:
        monkeypatch.setattr(information, "SMALL_TABLE", 0)
    rng = np.random.default_rng(seed)
    labels, weights = rng.integers(0, 4, (30, 2)).astype(np.int16), scale * rng.random(30)
    a, b = labels.T
    table = cross_table(labels[:, :1], np.array([0, 4]), b, 4, weights)
    for measure, expected in (
        ("ari", metrics.ari(a, b, sample_weight=weights)),
        ("nmi", metrics.nmi(a, b, sample_weight=weights)),
    ):
        found = pairwise_measure(labels, np.full(2, 40), measure, weights)[0, 1]
        assert found == pytest.approx(expected, abs=1e-12)
        assert measure_tables(table, np.array([0, 4]), measure)[0] == pytest.approx(expected, abs=1e-12)


def test_pairs_with_oneself_make_ari_independent_of_scale(seed):
    table = np.random.default_rng(seed).integers(0, 5, (4, 3)).astype(float)
    n, both, a, b = table.sum(), (table**2).sum(), *((table.sum(axis=i) ** 2).sum() for i in (1, 0))
    expected = (both - a * b / n**2) / ((a + b) / 2 - a * b / n**2)
    for scale in (1e-6, 1.0, 1e6):
        found = measure_tables(scale * table, np.array([0, 4]), "ari", with_itself=True)
        assert found == pytest.approx([expected])


def test_pairwise_without_common_objects_is_nan():
    labels = np.array([[0, -1], [1, -1], [-1, 0]], np.int16)
    found = pairwise_measure(labels, np.array([2, 1]), "nmi")
    assert np.array_equal(found, [[1, np.nan], [np.nan, 1]], equal_nan=True)


def test_pairwise_unknown_measure():
    with pytest.raises(InputError, match="measure='jaccard' is not valid: expected one of 'nmi'"):
        pairwise_measure(np.zeros((2, 2), np.int16), np.array([1, 1]), "jaccard")
