"""Features to consensus in one estimator."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

import consilience as cs
from consilience.errors import InputError

BLOBS, TRUTH = make_blobs(150, centers=4, cluster_std=0.6, random_state=1)


@parametrize_with_checks(
    [cs.ConsensusClustering(n_clusterings=5), cs.ConsensusClustering(consensus="coassociation-k-means")]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "generator", ["kmeans", "random_k", "random_features", "metric_subspace", "bagging", "spectral"]
)
def test_every_generator_by_name(generator):
    model = cs.ConsensusClustering(generator, n_clusters=4, n_clusterings=30, random_state=0).fit(BLOBS)
    assert np.unique(model.labels_).size == 4
    assert len(model.ensemble_.recipes) == model.ensemble_.n_clusterings
    if generator != "random_features":  # one of two features cannot tell the blobs apart
        assert cs.metrics.scores(model.labels_, TRUTH)["ari"] > 0.9


def test_list_of_clusterers_and_function():
    clusterers = [KMeans(4, n_init=1), KMeans(5, n_init=1), HDBSCAN(copy=True)]
    model = cs.ConsensusClustering(clusterers, n_clusters=4, random_state=0).fit(BLOBS)
    assert model.ensemble_.n_clusterings == 3
    assert cs.metrics.scores(model.labels_, TRUTH)["ari"] > 0.9

    def own(X, random_state):
        return cs.generate.kmeans(X, n_clusterings=4, k=5, random_state=random_state)

    assert cs.ConsensusClustering(own, n_clusters=4).fit(BLOBS).ensemble_.n_clusterings == 4


def test_instance_of_a_method_is_cloned():
    method = cs.EvidenceAccumulation(linkage="single")
    model = cs.ConsensusClustering(consensus=method, n_clusters=4, random_state=0).fit(BLOBS)
    assert model.consensus_.linkage == "single"
    assert not hasattr(method, "labels_")
    clone(model)


def test_sparse_equals_dense():
    X = np.round(BLOBS)
    dense = cs.ConsensusClustering(n_clusters=4, random_state=0).fit_predict(X)
    assert np.array_equal(
        cs.ConsensusClustering(n_clusters=4, random_state=0).fit_predict(sp.csr_matrix(X)), dense
    )


def test_same_seed_same_answer_for_any_n_jobs():
    runs = [cs.ConsensusClustering(n_clusters=4, random_state=3, n_jobs=j).fit(BLOBS) for j in (None, 1, 2)]
    assert all(np.array_equal(run.labels_, runs[0].labels_) for run in runs)
    assert all(run.ensemble_ == runs[0].ensemble_ for run in runs)


def test_named_rows():
    frame = pd.DataFrame(load_iris().data, index=[f"flower {i}" for i in range(150)])
    frame.columns = frame.columns.astype(str)
    table = cs.ConsensusClustering(n_clusters=3, random_state=0).fit(frame).to_frame()
    assert table.index[149] == "flower 149"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": 0}, "n_clusters=0 is not valid"),
        ({"n_clusters": 151}, "n_clusters=151 exceeds the 150 objects"),
        ({"generator": "magic"}, "generator='magic' is not valid: expected one of kmeans, random_k"),
        ({"generator": 5}, "generator=5 is not valid"),
        ({"consensus": "magic"}, "method='magic' is not known: choose one of evidence-accumulation"),
        ({"consensus": KMeans()}, "expected the name or an instance of a consensus method"),
        ({"n_jobs": 0}, "n_jobs=0 is not valid"),
        ({"random_state": -1}, "random_state=-1 is not valid"),
        ({"generator": lambda X, random_state: [[0, 1]]}, "labels of 2 objects for the 150 rows"),
    ],
)
def test_refusals(parameters, message):
    with pytest.raises(InputError, match=message):
        cs.ConsensusClustering(**parameters).fit(BLOBS)


def test_objects_of_weight_zero_only_get_a_label():
    weights = np.ones(150)
    weights[::3] = 0
    model = cs.ConsensusClustering(n_clusters=4, random_state=0).fit(BLOBS, sample_weight=weights)
    alone = cs.ConsensusClustering(n_clusters=4, random_state=0).fit(BLOBS[weights > 0])
    assert model.ensemble_.n_samples == 100
    assert np.array_equal(model.labels_[weights > 0], alone.labels_)
    assert cs.metrics.scores(model.labels_, TRUTH)["ari"] > 0.9
    with pytest.raises(InputError, match="sample_weight is zero for all but 0 objects"):
        model.fit(BLOBS, sample_weight=np.zeros(150))
