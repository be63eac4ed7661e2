"""Further objects: by their base labels, and by their features."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import consilience as cs
from consilience.errors import ConsilienceWarning, InputError
from consilience.kernels.signatures import RowTable

from .zoo import planted

# By hand: objects a a b b of three clusterings, in two clusters -------------------------------------------------

LABELS = np.array([[0, 0, 5], [0, 0, 5], [0, 1, 6], [1, 1, 6], [1, 1, 6]])


def fitted(**params):
    return cs.EvidenceAccumulation(n_clusters=2, **params).fit(LABELS)


def test_by_hand():
    model = fitted()
    assert model.labels_.tolist() == [1, 1, 0, 0, 0]  # 0 is the larger
    # An unseen row. Cluster 0 are rows 2, 3, 4 and cluster 1 rows 0, 1; shares of them in the row's base clusters:
    # clustering 0, label 0: 1/3 and 1; clustering 1, label 1: 1 and 0; clustering 2, label 5: 0 and 1.
    row = [[0, 1, 5]]
    ties = np.array([1 / 3 + 1 + 0, 1 + 0 + 1])
    assert model.predict(row_table(row)).tolist() == [1]
    np.testing.assert_allclose(model.predict_proba(row_table(row))[0], ties / ties.sum())


def row_table(rows):
    return np.array(rows)


def test_known_rows_keep_their_cluster_where_memberships_alone_would_not():
    labels, _ = planted(3, n=200, m=6, noise=0.5)
    found = 0
    for seed in range(5):
        model = cs.Voting(n_clusters=3, random_state=seed).fit(labels)
        plain = model._predictor.evidence.ties(model.signatures_.labels).argmax(axis=1)
        found += int((plain[model.signatures_.inverse] != model.labels_).sum())
        np.testing.assert_array_equal(model.predict(labels), model.labels_)
        shares = model.predict_proba(labels)
        np.testing.assert_array_equal(shares.argmax(axis=1), model.labels_)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert found > 0  # otherwise this shows nothing


def test_categories_are_matched_by_value_and_columns_by_name():
    names = {"a": ["x", "x", "y", "y", "y"], "b": [2, 2, 2, 9, 9], "c": [0.5, 0.5, 1.0, 1.0, 1.0]}
    frame = pd.DataFrame(names)
    model = cs.EvidenceAccumulation(n_clusters=2).fit(frame)
    part = frame.iloc[[3, 0]]
    assert model.predict(part[["c", "a", "b"]]).tolist() == model.labels_[[3, 0]].tolist()
    assert model.predict({"b": [9], "c": [1], "a": ["y"]}).tolist() == [model.labels_[3]]
    assert model.predict([["y"], [9], [1.0]]).tolist() == [model.labels_[3]]  # vectors, by position
    stranger = pd.DataFrame({"a": ["z"], "b": [9], "c": [None]})
    assert model.predict(stranger).tolist() == [model.labels_[3]]


def test_dates_and_wide_integers_are_categories_too():
    day = np.array(["2020-01-01", "2020-01-01", "2020-01-02", "2020-01-02"], "M8[s]")
    wide = [2**60, 2**60, 7, 7]
    model = cs.EvidenceAccumulation(n_clusters=2).fit({"day": day, "wide": wide})
    again = {"day": day[[2, 0]].astype("M8[ns]"), "wide": [7, 2**60]}
    assert model.predict(again).tolist() == model.labels_[[2, 0]].tolist()


def test_nothing_known_is_minus_one_with_one_warning():
    model = fitted()
    rows = np.array([[0, 0, 5], [77, -1, 99], [-1, -1, -1]])
    with pytest.warns(
        ConsilienceWarning, match=r"2 of 3 objects \(1 and 2\) have no label that was there in fit"
    ) as said:
        found = model.predict(rows)
    assert len(said) == 1
    assert said[0].filename == __file__
    assert found.tolist() == [1, -1, -1]
    assert model.predict_proba(rows)[1:].tolist() == [[0, 0], [0, 0]]
    assert model.predict_proba(rows, top=1)[0].ravel().tolist() == [1, -1, -1]
    assert model.predict_confidence(rows)[1:].tolist() == [0, 0]


def test_top():
    labels, _ = planted(0, n=100, m=8, c=5, noise=0.4)
    model = cs.LWEA(n_clusters=5).fit(labels)
    fresh, _ = planted(1, n=50, m=8, c=5, noise=0.4)
    whole = model.predict_proba(fresh)
    clusters, shares = model.predict_proba(fresh, top=3)
    assert clusters.shape == shares.shape == (50, 3)
    np.testing.assert_array_equal(clusters[:, 0], model.predict(fresh))
    np.testing.assert_array_equal(np.take_along_axis(whole, clusters, axis=1), shares)
    assert (np.diff(shares, axis=1) <= 0).all()
    assert model.predict_proba(fresh, top=50)[0].shape == (50, 5)
    with pytest.raises(InputError, match="top=0"):
        model.predict_proba(fresh, top=0)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_confidence_of_known_rows_is_that_of_fit(missing):
    labels, _ = planted(0, n=80, m=7, missing=missing, noise=0.4)
    weights = np.random.default_rng(0).integers(1, 4, 80)
    model = cs.LWGP(n_clusters=3).fit(labels, sample_weight=weights)
    np.testing.assert_allclose(model.predict_confidence(labels), model.confidence_, atol=1e-12)


def test_weights_count():
    """An unseen row between two clusters goes where the weight is."""
    labels = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    light = cs.EvidenceAccumulation(n_clusters=2).fit(labels, sample_weight=[5, 1, 1, 5])
    repeated = cs.EvidenceAccumulation(n_clusters=2).fit(np.repeat(labels, [5, 1, 1, 5], axis=0))
    fresh = np.array([[0, -1], [-1, 1], [1, -1]])
    np.testing.assert_allclose(light.predict_proba(fresh), repeated.predict_proba(fresh))


def test_messages():
    frame = pd.DataFrame(LABELS, columns=["a", "b", "c"])
    model = cs.EvidenceAccumulation(n_clusters=2).fit(frame)
    with pytest.raises(InputError, match="'c' is not among the columns; 'd' is none of its clusterings"):
        model.predict(frame.rename(columns={"c": "d"}))
    with pytest.raises(InputError, match="2 clusterings, but EvidenceAccumulation was fitted to 3"):
        model.predict(LABELS[:, :2])
    with pytest.raises(InputError, match=r"Pass labels.T if there are 5 objects"):
        model.predict(LABELS.T)
    with pytest.raises(InputError, match="no objects"):
        model.predict(np.empty((0, 3), int))
    with pytest.raises(Exception, match="not fitted yet"):
        cs.LWEA(2).predict(LABELS)
    assert not hasattr(cs.LWEA(2), "membership_")


def test_few_rows_with_many_clusterings_are_not_taken_for_transposed():
    labels, _ = planted(0, n=60, m=30)
    model = cs.EvidenceAccumulation(n_clusters=3).fit(labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(labels[:1]).tolist() == model.labels_[:1].tolist()


def test_a_second_fit_forgets_the_first():
    model = fitted()
    labels, _ = planted(0)
    model.set_params(n_clusters=3).fit(labels)
    np.testing.assert_array_equal(model.predict(labels), model.labels_)
    assert model.membership_.shape == (60, 3)


def test_as_a_transformer():
    model = fitted().set_output(transform="pandas")
    out = model.transform(pd.DataFrame(LABELS, columns=["a", "b", "c"]))
    assert (
        list(out.columns)
        == ["evidenceaccumulation0", "evidenceaccumulation1"]
        == list(model.get_feature_names_out())
    )
    np.testing.assert_array_equal(out.to_numpy(), model.membership_)
    np.testing.assert_array_equal(
        cs.EvidenceAccumulation(n_clusters=2).fit_transform(LABELS), model.membership_
    )


def test_equal_objects_in_several_clusters():
    """The published program may leave each of several equal objects alone; the first of them then stands for all."""
    model = cs.SCCABG(n_clusters=2, mode="authors").fit(LABELS)
    first = model.labels_[model.signatures_.rows][model.signatures_.inverse]
    np.testing.assert_array_equal(model.predict(LABELS), first)


def test_rows_are_found_by_every_number():
    rng = np.random.default_rng(0)
    known = np.unique(rng.integers(0, 4, (500, 7)).astype(np.int16), axis=0)
    asked = rng.integers(0, 4, (3000, 7)).astype(np.int16)
    place = {tuple(row): i for i, row in enumerate(known.tolist())}
    expected = [place.get(tuple(row), -1) for row in asked.tolist()]
    assert RowTable(known).find(asked).tolist() == expected
    with pytest.raises(ValueError, match="among rows of 7 int16"):
        RowTable(known).find(asked.astype(np.int32))
