"""Members fitted to a sample that does not depend on blocks, and rows labeled where they are."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import consilience as cs
import dask
from consilience.dask import generation
from consilience.errors import InputError

pytestmark = pytest.mark.usefixtures("here")


def blobs(n=700, d=5):
    rng = np.random.default_rng(1)
    return (rng.normal(size=(n, d)) + 7 * rng.integers(0, 4, n)[:, None]).astype(np.float32)


@pytest.mark.parametrize("generator", ["kmeans", "random-k", "random-features", "landmarks"])
def test_a_sample_of_all_rows_makes_the_labels_of_one_machine(generator):
    X = blobs(300)
    params = {"generator": generator, "n_clusterings": 4, "method": "lwea", "random_state": 3}
    expected = cs.ConsensusClustering(4, **params).fit(X)
    model = cs.ConsensusClustering(4, **params).fit(da.from_array(X, chunks=((0, 120, 100, 80), 5)))
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    np.testing.assert_array_equal(model.confidence_.compute(), expected.confidence_)
    assert model.labels_.chunks == ((0, 120, 100, 80),)
    np.testing.assert_array_equal(model.predict(X), expected.labels_)


def test_the_answer_does_not_depend_on_blocks(monkeypatch):
    monkeypatch.setattr(generation, "SAMPLE", 200)
    X = blobs()
    answers = []
    for chunks in (700, 90, 333):
        model = cs.ConsensusClustering(4, generator="kmeans", n_clusterings=5, random_state=0)
        model.fit(da.from_array(X, chunks=(chunks, 3)))
        answers.append(model.labels_.compute())
        ens = cs.dask.make_ensemble(
            da.from_array(X, chunks=(chunks, 5)),
            "kmeans",
            n_clusters=4,
            n_clusterings=3,
            max_samples=100,
            random_state=0,
        )
        answers.append(ens.labels.compute())
    np.testing.assert_array_equal(answers[0], answers[2])
    np.testing.assert_array_equal(answers[0], answers[4])
    np.testing.assert_array_equal(answers[1], answers[3])
    np.testing.assert_array_equal(answers[1], answers[5])
    lazy = da.from_array(X, chunks=(100, 5))
    np.testing.assert_array_equal(model.predict(lazy).compute(), answers[0])
    assert model.predict_proba(lazy).compute().shape == (700, 4)
    assert model.predict_top(lazy, 2).clusters.compute().shape == (700, 2)
    assert model.predict_confidence(lazy).compute().min() >= 0
    assert model.score_samples(lazy).compute().max() <= 1
    assert model.membership_.compute().shape == (700, 4)
    local = model.to_local()
    np.testing.assert_array_equal(local.predict(X), answers[0])
    assert local.labels_.shape == local.ensemble_.sample_weight.shape
    assert local.ensemble_.sample_weight.sum() == 700
    fitted_here = cs.ConsensusClustering(4, generator="kmeans", n_clusterings=3, random_state=0).fit(X)
    np.testing.assert_array_equal(fitted_here.predict(lazy).compute(), fitted_here.labels_)


def test_the_default_makes_an_ensemble_with_members():
    ens = cs.dask.make_ensemble(da.from_array(blobs(400), chunks=(200, 5)), n_clusterings=4, random_state=0)
    assert ens.shape == (400, 4)
    assert len(ens.base_models) == len(ens.recipes) == 4
    assert ens.labels.dtype == np.int16
    model = cs.consensus.LWGP(n_clusters=4, random_state=0).fit(ens)
    assert model.labels_.compute().max() == 3


def test_the_number_of_clusters_is_chosen_by_the_study_of_lazy_rows(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "consilience._choosing.choose_k", lambda X, **more: seen.append(type(X)) or ChooseKResult()
    )
    X = da.from_array(blobs(400), chunks=(200, 5))
    model = cs.ConsensusClustering("auto", generator="kmeans", n_clusterings=3, random_state=0).fit(X)
    assert seen == [da.Array]  # which draws its sample where the rows are
    assert model.labels_.compute().max() == 3
    assert model.to_local().labels_.max() == 3


class ChooseKResult:
    n_clusters = 4


def test_frames_and_unknown_sizes():
    frames = pytest.importorskip("dask.dataframe", reason="needs dask[dataframe]")
    X = blobs(200)
    table = pd.DataFrame(X, columns=list("abcde"))
    lazy = frames.from_pandas(table, npartitions=3).map_partitions(lambda part: part)
    params = {"generator": "kmeans", "n_clusterings": 3, "random_state": 0}
    with pytest.warns(match="blocks of X are unknown to Dask: a pass over the first column of X counts them"):
        model = cs.ConsensusClustering(4, **params).fit(lazy)
    expected = cs.ConsensusClustering(4, **params).fit(table)
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    assert model.feature_names_in_.tolist() == list("abcde")
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table[list("edcba")])


def test_weights_of_rows():
    X = blobs(200)
    weights = np.random.default_rng(0).integers(1, 5, 200).astype(float)
    params = {"generator": "kmeans", "n_clusterings": 3, "random_state": 0, "method": "lwea"}
    expected = cs.ConsensusClustering(4, **params).fit(X, sample_weight=weights)
    lazy = da.from_array(X, chunks=(60, 5))
    model = cs.ConsensusClustering(4, **params).fit(lazy, sample_weight=da.from_array(weights, chunks=60))
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)


def test_rows_are_labeled_once():
    """A fit keeps the place of each row, so that its labels cost no second labeling."""
    calls = []
    X = da.from_array(blobs(300), chunks=(100, 5)).map_blocks(
        lambda block: calls.append(len(block)) or block, dtype=np.float32, meta=np.empty((0, 0), np.float32)
    )
    ens = cs.dask.make_ensemble(X, "kmeans", n_clusters=4, n_clusterings=3, random_state=0)
    model = cs.consensus.LWGP(4, random_state=0).fit(ens)
    before = len(calls)
    dask.compute(model.labels_, model.confidence_)
    assert len(calls) == before


@pytest.mark.parametrize("frame", [False, True])
def test_whatever_is_asked_of_rows_is_answered_by_one_labeling(monkeypatch, frame):
    X = blobs(400)
    params = {"generator": "kmeans", "n_clusterings": 3, "random_state": 0}
    model = cs.ConsensusClustering(4, **params).fit(da.from_array(X, chunks=(200, 5)))
    local, labeled = model.to_local(), []
    label = type(model)._label

    def counting(self, block, **more):
        labeled.append(len(block))
        return label(self, block, **more)

    lazy = da.from_array(X[:150], chunks=(50, 5))
    if frame:
        frames = pytest.importorskip("dask.dataframe", reason="needs dask[dataframe]")
        lazy = frames.from_pandas(pd.DataFrame(X[:150]), npartitions=3, sort=False)
    asked = [model.predict, model.predict_confidence, model.predict_proba, model.score_samples]
    lazily = [method(lazy) for method in asked] + list(model.predict_top(lazy, 2))
    monkeypatch.setattr(type(model), "_label", counting)
    found = dask.compute(*lazily)
    assert labeled == [50, 50, 50]
    monkeypatch.undo()
    expected = [getattr(local, method.__name__)(X[:150]) for method in asked]
    for one, wanted in zip(found, [*expected, *local.predict_top(X[:150], 2)]):
        np.testing.assert_array_equal(one, wanted)


def test_a_model_fitted_again_is_sent_again():
    X = blobs(400)
    params = {"generator": "kmeans", "n_clusterings": 3, "random_state": 0}
    lazy = da.from_array(X, chunks=(200, 5))
    model = cs.ConsensusClustering(4, **params).fit(X)
    np.testing.assert_array_equal(model.predict(lazy).compute(), model.labels_)
    model.set_params(n_clusters=2).fit(X)
    np.testing.assert_array_equal(model.predict(lazy).compute(), model.labels_)
    assert cs.ConsensusClustering(4, **params).fit(lazy).predict(X).max() == 3


def test_members_that_cannot_tell_how_far_a_row_is_label_it_all_the_same():
    from sklearn.cluster import KMeans

    X = blobs(400)
    params = {"keep_base_models": True, "n_clusterings": 3, "random_state": 0}
    model = cs.ConsensusClustering(4, generator=KMeans(4, n_init=1), **params).fit(X)
    lazy = da.from_array(X[:90] + 0.01, chunks=(30, 5))
    np.testing.assert_array_equal(model.predict(lazy).compute(), model.predict(X[:90] + 0.01))
    with pytest.raises(InputError, match="No base model can tell"):
        model.score_samples(X[:90] + 0.01)
    with pytest.raises(InputError, match="No base model can tell"):
        model.score_samples(lazy).compute()


def test_refusals_name_the_remedy():
    X = blobs(100)
    lazy = da.from_array(X, chunks=(50, 5))
    with pytest.raises(InputError, match="keep_base_models=False"):
        cs.ConsensusClustering(3, keep_base_models=False).fit(lazy)
    with pytest.raises(InputError, match=r"shape \(100,\)"):
        cs.dask.make_ensemble(lazy[:, 0])
    model = cs.ConsensusClustering(3, generator="kmeans", n_clusterings=2, random_state=0).fit(lazy)
    with pytest.raises(InputError, match="4 features, but ConsensusClustering was fitted to 5"):
        model.predict(lazy[:, :4])
    with pytest.raises(InputError, match="to_local"):
        model.save("model")
    X[70, 2] = np.nan
    with pytest.raises(InputError, match="NaN.*row 70, column 2"):
        cs.ConsensusClustering(3, generator="kmeans").fit(da.from_array(X, chunks=(50, 5)))
