"""Objects with names are matched by them, wherever a table meets another one."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.errors import InputError

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], [50, 30, 20])
    X = rng.normal(size=(100, 4)) + 6 * truth[:, None] * [1, 0, 1, 0]
    return pd.DataFrame(X, index=[f"object {i}" for i in range(100)], columns=list("abcd"))


@pytest.fixture(scope="module")
def truth(frame):
    return pd.Series(np.repeat([0, 1, 2], [50, 30, 20]), index=frame.index)


def clustered(frame, **more):
    return cs.ConsensusClustering(3, generator="kmeans", method="lwgp", random_state=0).fit(frame, **more)


@pytest.fixture(scope="module")
def models(frame):
    shuffled = frame.sample(frac=1, random_state=1)
    return clustered(frame), clustered(shuffled)


def test_a_model_of_features_knows_its_objects(frame, models, tmp_path):
    model = models[0]
    assert model.sample_names_ == list(frame.index)
    model.save(tmp_path / "model")
    assert cs.load(tmp_path / "model").sample_names_ == list(frame.index)
    assert clustered(frame.to_numpy()).sample_names_ is None


def test_models_of_objects_in_another_order_are_matched(models, truth):
    table = cs.compare({"one": models[0], "other": models[1]}, truth.sample(frac=1, random_state=2))
    assert table.loc["one", "ari with other"] == 1
    assert (table["accuracy"] == 1).all()
    aligned = pd.Series(cs.align(models[1], models[0]), index=models[1].sample_names_)
    assert (aligned.loc[models[0].sample_names_].to_numpy() == models[0].labels_).all()


def test_models_of_other_objects_are_aligned_on_those_they_share(frame, models):
    later = clustered(frame.iloc[30:])
    aligned = cs.align(later, models[0])
    assert (aligned == models[0].labels_[30:]).all()


def test_classes_of_other_objects_are_refused(models, truth):
    other = truth.rename({"object 3": "somebody"})
    with pytest.raises(InputError, match="labels_true names other objects than one"):
        cs.compare({"one": models[0]}, other)


def test_weights_with_names_are_matched(frame, truth):
    weights = pd.Series(np.arange(1.0, 101), index=frame.index)
    shuffled = weights.sample(frac=1, random_state=3)
    expected = clustered(frame, sample_weight=weights.to_numpy())
    found = clustered(frame, sample_weight=shuffled)
    np.testing.assert_array_equal(found.cluster_sizes_, expected.cluster_sizes_)
    labels = pd.DataFrame({"a": truth, "b": truth % 2})
    model = cs.consensus.LWGP(3, random_state=0)
    of_names = model.fit(labels, sample_weight=shuffled).cluster_sizes_
    np.testing.assert_array_equal(
        of_names, model.fit(labels, sample_weight=weights.to_numpy()).cluster_sizes_
    )


def test_the_report_matches_features_and_classes(frame, models, truth):
    page = cs.report(models[0], frame, labels_true=truth).html
    other = frame.sample(frac=1, random_state=4)
    again = cs.report(models[0], other, labels_true=truth.sample(frac=1, random_state=5)).html
    assert again.count("<h2") == page.count("<h2")
    section = "What distinguishes"
    assert section in page
    assert page[page.index(section) :][:2000] == again[again.index(section) :][:2000]
