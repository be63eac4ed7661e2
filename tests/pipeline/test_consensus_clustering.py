"""Features to consensus in one estimator."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN, KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.utils.estimator_checks import parametrize_with_checks

import consilience as cs
from consilience.errors import ConsilienceWarning, InputError

GENERATORS = list(cs.generate.generators())
BLOBS, TRUTH = make_blobs(150, centers=4, cluster_std=0.6, random_state=1)


#: As for scikit-learn's own KMeans: members draw rows and starts at random, by position, so that repeated
#: rows draw others.
DRAWN = dict.fromkeys(
    ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
    "members draw by position, so that a repeated row is another draw than a weight of 2",
)
#: Sparse rows are predicted in tests/pipeline/test_predict.py.
PROBA = dict.fromkeys(
    ("check_estimator_sparse_array", "check_estimator_sparse_matrix"),
    "the check takes whatever has predict_proba for a classifier, and asks for its tags",
)


@parametrize_with_checks(
    # With a number, because a study takes longer than all else that is checked; tests/choosing/test_auto.py
    # has it chosen.
    [
        cs.ConsensusClustering(2, n_clusterings=5),
        cs.ConsensusClustering(2, method="coassociation-k-means"),
    ],
    expected_failed_checks=lambda _: DRAWN | PROBA,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("generator", GENERATORS)
def test_every_generator_by_name(generator):
    # One of two features cannot tell the blobs apart.
    params = (
        {"feature_fraction": 1.0}
        if generator in ("random-features", "metric-subspace", "landmarks")
        else None
    )
    model = cs.ConsensusClustering(
        4, generator=generator, generator_params=params, n_clusterings=30, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsilienceWarning)  # narrow kernels leave objects out
        model.fit(BLOBS)
    assert np.unique(model.labels_).size == 4
    assert len(model.ensemble_.recipes) == model.ensemble_.n_clusterings == 30
    assert cs.metrics.scores(TRUTH, model.labels_)["ari"] > 0.9


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("consensus", cs.consensus.methods())
def test_every_generator_with_every_method(generator, consensus):
    tiny, _ = make_blobs(24, 3, centers=3, cluster_std=0.5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of members with missing objects, and of loops cut short
        model = cs.ConsensusClustering(
            3,
            generator=generator.replace("-", "_"),
            generator_params={"sample_fraction": 0.9} if generator == "bagging" else None,
            method=consensus.replace("-", "_"),
            random_state=0,
        ).fit(tiny)
    assert np.unique(model.labels_).size == 3
    own = {"metric-subspace": 100, "spectral": model.ensemble_.n_clusterings}
    assert model.ensemble_.n_clusterings == own.get(generator, 20)


@pytest.mark.parametrize(("generator", "largest"), [("random-k", 10), ("metric-subspace", 7)])
@pytest.mark.parametrize("params", [None, {"feature_fraction": 1.0}, {"n_clusters": (2, None)}])
def test_range_of_k_depends_on_objects_and_clusters_alone(generator, largest, params):
    X = np.random.default_rng(0).normal(size=(40, 3))
    if generator == "random-k" and params == {"feature_fraction": 1.0}:
        params = {"init": "random"}
    model = cs.ConsensusClustering(
        10, generator=generator, generator_params=params, n_clusterings=60, random_state=0
    ).fit(X)
    assert [
        model.ensemble_.n_clusters_per_clustering.min(),
        model.ensemble_.n_clusters_per_clustering.max(),
    ] == [2, largest]


def test_parameters_reach_generator_and_method():
    model = cs.ConsensusClustering(
        4,
        generator="kmeans",
        generator_params={"n_clusters": 7, "init": "random"},
        method="evidence_accumulation",
        method_params={"linkage": "single"},
        n_clusterings=3,
    ).fit(BLOBS)
    assert model.ensemble_.n_clusters_per_clustering.tolist() == [7, 7, 7]
    assert model.ensemble_.recipes[0]["init"] == "random"
    assert model.method_.linkage == "single"
    own = cs.consensus.EvidenceAccumulation(linkage="complete")
    model = cs.ConsensusClustering(4, method=own, method_params={"linkage": "single"}).fit(BLOBS)
    assert model.method_.linkage == "single"


def test_names_may_be_written_either_way():
    for name in ("random-k", "random_k", "Random_K"):
        assert cs.generate.generator(name).make is cs.generate.random_k
    for name in ("evidence-accumulation", "evidence_accumulation", "EvidenceAccumulation"):
        assert cs.consensus.method(name) is cs.consensus.EvidenceAccumulation


def test_equal_rows_make_one_cluster():
    for generator in ("random-k", "metric-subspace"):
        model = cs.ConsensusClustering(1, generator=generator, n_clusterings=3, random_state=0)
        assert not model.fit_predict(np.ones((5, 2))).any()


@pytest.mark.parametrize("generator", GENERATORS)
def test_members_keep_the_weights(generator):
    weights = np.arange(1.0, 151)
    params = {"bandwidths": [1.0]} if generator == "spectral" else None
    model = cs.ConsensusClustering(
        4, generator=generator, generator_params=params, n_clusterings=5, random_state=0
    ).fit(BLOBS, sample_weight=weights)
    assert np.array_equal(model.ensemble_.sample_weight, weights)


def test_list_of_clusterers_and_function():
    clusterers = [KMeans(4, n_init=1), KMeans(5, n_init=1), HDBSCAN(copy=True)]
    model = cs.ConsensusClustering(4, generator=clusterers, random_state=0).fit(BLOBS)
    assert model.ensemble_.n_clusterings == 3
    more = cs.ConsensusClustering(4, generator=clusterers, n_clusterings=5, random_state=0).fit(BLOBS)
    assert more.ensemble_.n_clusterings == 5
    assert cs.metrics.scores(TRUTH, model.labels_)["ari"] > 0.9

    def own(X, random_state, members=4):
        return cs.generate.kmeans(X, n_clusterings=members, n_clusters=5, random_state=random_state)

    assert cs.ConsensusClustering(4, generator=own).fit(BLOBS).ensemble_.n_clusterings == 4
    model = cs.ConsensusClustering(4, generator=own, generator_params={"members": 6})
    assert model.fit(BLOBS).ensemble_.n_clusterings == 6


def test_instance_of_a_method_is_cloned():
    method = cs.consensus.EvidenceAccumulation(linkage="single")
    model = cs.ConsensusClustering(method=method, n_clusters=4, random_state=0).fit(BLOBS)
    assert model.method_.linkage == "single"
    assert not hasattr(method, "labels_")
    clone(model)


def test_sparse_equals_dense():
    """Members see the features as given; which preparations suit depends on whether they are sparse."""
    X = np.round(BLOBS)
    model = cs.ConsensusClustering(4, generator="random-k", random_state=0)
    dense = model.fit_predict(X)
    assert np.array_equal(model.fit_predict(sp.csr_matrix(X)), dense)


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
        (
            {"n_clusters": "atuo"},
            r"n_clusters='atuo' .* at least 1 or one of 'auto'. Did you mean 'auto'\?$",
        ),
        ({"method": "lwgpp"}, r"an instance of a consensus method. Did you mean 'lwgp'\?$"),
        ({"method": cs.consensus.LWGP}, r"LWGP is a class: pass an instance, LWGP\(\.\.\.\)"),
        ({"generator": "kmens"}, r"Did you mean 'kmeans'\?$"),
        (
            {"generator": "kmeans", "generator_params": {"preprocess": "standardise"}},
            r"Did you mean 'standardize'\?$",
        ),
        ({"n_clusters": 151}, "n_clusters=151 exceeds the 150 objects"),
        (
            {"generator": "magic"},
            "generator='magic' is not valid: expected one of 'auto', 'kmeans', 'random-k'",
        ),
        (
            {"generator_params": [1]},
            r"generator_params=\[1\] is not valid: expected None or a dict of parameters",
        ),
        (
            {"generator": "random-k", "generator_params": {"n_clsters": 4}},
            r"The generator random-k has no parameter 'n_clsters'; .* Did you mean 'n_clusters'\?$",
        ),
        (
            {"generator": "random-k", "generator_params": {"n_clusterings": 4}},
            "The parameter 'n_clusterings' is set by the argument n_clusterings",
        ),
        ({"generator_params": {"n_clusters": (2, 0)}}, r"n_clusters=\(2, 0\) is not valid"),
        ({"generator_params": {"n_clusters": (0, None)}}, r"n_clusters\[0\]=0 is not valid"),
        ({"generator": "spectral", "n_clusterings": 5}, "n_clusterings=5 is below the 9 bandwidths"),
        (
            {"generator": lambda X, random_state: [], "n_clusterings": 5},
            "has no effect on a generator that is a function",
        ),
        (
            {"generator": [KMeans(2)], "generator_params": {"n_clusters": 3}},
            "A list of clusterers has no parameter 'n_clusters'; .* sample_fraction",
        ),
        ({"n_clusterings": 0}, "n_clusterings=0 is not valid: expected None or a whole number of at least 1"),
        (
            {"method": "eac", "method_params": {"linkag": "single"}},
            "EvidenceAccumulation has no parameter 'linkag'; its parameters are distance, linkage",
        ),
        (
            {"method": "eac", "method_params": {"n_clusters": 3}},
            "'n_clusters' is set by n_clusters of ConsensusClustering",
        ),
        ({"generator": 5}, "generator=5 is not valid"),
        (
            {"method": "magic"},
            "method='magic' is not valid: expected one of 'auto', 'evidence-accumulation'",
        ),
        ({"method": KMeans()}, "or an instance of a consensus method"),
        ({"n_jobs": 0}, "n_jobs=0 is not valid"),
        ({"random_state": -1}, "random_state=-1 is not valid"),
        ({"generator": lambda X, random_state: [[0], [1]]}, "labels of 2 objects for the 150 rows"),
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
    assert cs.metrics.scores(TRUTH, model.labels_)["ari"] > 0.9
    with pytest.raises(InputError, match="sample_weight is zero for all but 0 objects"):
        model.fit(BLOBS, sample_weight=np.zeros(150))


def test_objects_that_bagging_leaves_out_and_each_remedy_named():
    X = np.random.default_rng(0).standard_normal((60, 3))
    few = {"generator": "bagging", "n_clusterings": 2, "random_state": 0}
    with pytest.raises(
        InputError,
        match=r"seen by none of the 2 base clusterings.* Make more base clusterings \(n_clusterings=2\), "
        r"let each "
        r"see more "
        r"\(generator_params=\{'sample_fraction': ...\}\), or .*'unseen': 'nearest'",
    ):
        cs.ConsensusClustering(2, **few).fit(X)
    remedies = (
        {"n_clusterings": 30},
        {"generator_params": {"sample_fraction": 1.0}},
        {"generator_params": {"unseen": "nearest"}},
    )
    for remedy in remedies:
        assert cs.ConsensusClustering(2, **few | remedy).fit(X).labels_.shape == (60,)


def test_objects_that_every_clusterer_calls_noise():
    X = np.vstack([np.random.default_rng(0).normal(size=(40, 2)) * 0.1, [[50.0, 50.0]]])
    noise = [DBSCAN(eps=1.0), DBSCAN(eps=2.0)]
    with pytest.raises(
        InputError, match=r"Object 40 was seen by none of the 2 base clusterings.* Make more base clusterings"
    ):
        cs.ConsensusClustering(2, generator=noise).fit(X)
    assert cs.ConsensusClustering(2, generator=[*noise, KMeans(2)]).fit(X).labels_.shape == (41,)


def test_n_jobs_reaches_generator_and_consensus(monkeypatch):
    """Those of a list of clusterers too, unless their own are given."""
    seen = []
    make = cs.generate.estimators
    monkeypatch.setattr(
        cs.generate,
        "estimators",
        lambda *args, **more: (seen.append(more.get("n_jobs")), make(*args, **more))[1],
    )
    X = np.random.default_rng(0).standard_normal((30, 2))
    for n_jobs, params, expected in ((2, None, 2), (2, {"n_jobs": 1}, 1), (None, None, None)):
        model = cs.ConsensusClustering(
            2, generator=[KMeans(2, n_init=1), KMeans(3, n_init=1)], generator_params=params, n_jobs=n_jobs
        ).fit(X)
        assert seen.pop() == expected
        assert model.method_.n_jobs == n_jobs
