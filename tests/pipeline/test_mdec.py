"""MDEC from features: the contract, what it learned, and the published figures on a small set."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

import consilience as cs
from consilience.errors import InputError
from consilience.metrics import scores

from .test_consensus_clustering import DRAWN, PROBA

WAYS = ("hierarchical", "spectral", "bipartite")


def blobs(seed=0, n=90):
    return make_blobs(n, 12, centers=3, random_state=seed)


@parametrize_with_checks(
    [cs.MDEC(n_clusters=3, n_clusterings=3, random_state=0)], expected_failed_checks=lambda _: DRAWN | PROBA
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("consensus", WAYS)
def test_finds_clusters_and_says_what_it_learned(seed, consensus):
    X, truth = blobs(seed)
    model = cs.MDEC(n_clusters=3, n_clusterings=10, method=consensus, random_state=seed).fit(X)
    assert scores(truth, model.labels_)["ari"] > 0.95
    assert model.ensemble_.shape == (90, 10)
    assert model.ensemble_.recipes[0]["algorithm"] == "metric_subspace"
    assert model.cluster_reliability_.shape == (model.ensemble_.n_base_clusters,)
    assert (model.cluster_reliability_ > 0).all()
    assert (model.cluster_reliability_ <= 1).all()
    assert model.confidence_.shape == (90,)
    assert model.n_features_in_ == 12


@pytest.mark.parametrize("consensus", WAYS)
def test_exactly_the_clusters_asked_for(consensus):
    X, _ = blobs(n=40)
    for c in (1, 2, 9):
        found = cs.MDEC(c, n_clusterings=5, method=consensus, random_state=0).fit_predict(X)
        assert np.unique(found).size == c


def test_contract():
    X, _ = blobs()
    X.setflags(write=False)
    model = cs.MDEC(n_clusters=3, n_clusterings=5, random_state=0)
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert np.array_equal(model.fit_predict(X), again.fit_predict(X))
    assert np.array_equal(cs.MDEC(3, n_clusterings=5, random_state=0, n_jobs=1).fit_predict(X), model.labels_)
    assert np.array_equal(pickle.loads(pickle.dumps(model)).labels_, model.labels_)


def test_frames_and_sparse_features():
    X, _ = blobs()
    X[np.abs(X) < 2] = 0
    expected = cs.MDEC(3, n_clusterings=5, random_state=0).fit_predict(X)
    frame = pd.DataFrame(X, index=[f"r{i}" for i in range(90)], columns=[f"f{i}" for i in range(12)])
    model = cs.MDEC(3, n_clusterings=5, random_state=0).fit(frame)
    assert np.array_equal(model.labels_, expected)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert list(model.to_frame().index) == list(frame.index)
    sparse = cs.MDEC(3, n_clusterings=5, random_state=0).fit_predict(sp.csr_array(X))
    assert scores(expected, sparse)["ari"] == pytest.approx(1)


def test_objects_without_weight_follow_their_neighbors():
    X, _ = blobs()
    weights = np.ones(90)
    weights[:5] = 0
    model = cs.MDEC(3, n_clusterings=5, random_state=0).fit(X, sample_weight=weights)
    assert model.labels_.shape == (90,)
    assert model.ensemble_.n_samples == 85


def test_refusals():
    X, _ = blobs()
    with pytest.raises(InputError, match="method='tree' is not valid: expected one of 'hierarchical'"):
        cs.MDEC(3, method="tree").fit(X)
    with pytest.raises(
        InputError, match="instability_tolerance=2 means nothing to method='spce': leave it out, or choose"
    ):
        cs.MDEC(3, method="spce", instability_tolerance=2).fit(X)
    with pytest.raises(InputError, match="n_clusters=91 exceeds the 90 objects in X"):
        cs.MDEC(91).fit(X)
    with pytest.raises(InputError, match="metric='hamming' is not valid"):
        cs.MDEC(3, metric="hamming").fit(X)


def test_is_the_pipeline_by_another_name():
    X, _ = blobs(n=40)  # sqrt(40) is not whole: both round it up
    model = cs.MDEC(3, n_clusterings=40, random_state=0).fit(X)
    parts = cs.ConsensusClustering(
        3,
        generator="metric_subspace",
        method="lwea",
        method_params={"instability_tolerance": 1},
        n_clusterings=40,
        random_state=0,
    ).fit(X)
    assert model.ensemble_ == parts.ensemble_
    assert model.ensemble_.n_clusters_per_clustering.max() == 7
    assert np.array_equal(model.labels_, parts.labels_)


def test_any_method_combines_the_members():
    X, truth = blobs()
    model = cs.MDEC(3, n_clusterings=5, method="evidence_accumulation", random_state=0).fit(X)
    assert scores(truth, model.labels_)["ari"] > 0.9
    assert not hasattr(model, "cluster_reliability_")
    ways = [cs.MDEC(3, n_clusterings=5, method=way, random_state=0) for way in ("hierarchical", "LWEA")]
    assert np.array_equal(*[way.fit_predict(X) for way in ways])
    assert ways[1].method_.instability_tolerance == 1


@pytest.mark.parametrize("consensus", WAYS)
def test_published_figure(shared_dir, consensus):
    """Chowdary-2006: 85.97 in print for all three, with no spread over 100 runs."""
    held = np.load(shared_dir / "data" / "chowdary_2006.npz")
    found = cs.MDEC(2, n_clusterings=100, method=consensus, random_state=0).fit_predict(held["X"])
    assert round(100 * scores(held["y"], found)["nmi_max"], 2) == 85.97
