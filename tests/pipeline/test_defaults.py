"""The rule behind ``ConsensusClustering()``: which plan for which data, and what a user gets from it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_blobs, make_circles, make_moons

import consilience as cs
from consilience._data.features import Features
from consilience._pipeline import defaults
from consilience._pipeline.defaults import default_plan
from consilience.errors import InputError
from consilience.metrics import ari, scores


def plan_for(n: int, d: int, c: int) -> defaults.Plan:
    return default_plan(Features(np.random.default_rng(0).random((n, d))), c)


@pytest.mark.parametrize(
    ("n", "generator", "members"),
    [
        (30, "metric-subspace", 400),
        (1_000, "metric-subspace", 400),
        (1_001, "metric-subspace", 200),
        (2_500, "metric-subspace", 200),
        (2_501, "metric-subspace", 160),
        (5_001, "metric-subspace", 60),
        (defaults.DENSE_UP_TO, "metric-subspace", 60),
        (defaults.DENSE_UP_TO + 1, "landmarks", 20),
    ],
)
def test_members_by_the_number_of_objects(n, generator, members):
    plan = plan_for(n, 2, 3)
    assert (plan.generator, plan.n_clusterings) == (generator, members)
    assert plan.generator_params["preprocess"] == "diverse"
    shared = {"cuts_per_metric": 4, "balanced": True} if generator == "metric-subspace" else {}
    assert shared.items() <= plan.generator_params.items()


def test_a_named_method_gets_no_hundreds_of_members():
    X, _ = make_blobs(60, 4, centers=3, random_state=0)
    assert cs.ConsensusClustering(3, method="hbgf", random_state=0).fit(X).ensemble_.n_clusterings == 50
    assert cs.ConsensusClustering(3, method="hbgf", n_clusterings=60).fit(X).ensemble_.n_clusterings == 60


@pytest.mark.parametrize(("asked", "cuts"), [(None, 4), (7, 1), (30, 3), (400, 4)])
def test_few_members_do_not_share_an_embedding(asked, cuts):
    X, _ = make_blobs(60, 4, centers=3, random_state=0)
    model = cs.ConsensusClustering(3, n_clusterings=asked, random_state=0).fit(X)
    assert model.plan_.generator_params["cuts_per_metric"] == cuts


@pytest.mark.parametrize(
    ("n", "d", "all_pairs"),
    [
        (5_000, 10**6, True),
        (10_000, 256, True),
        (11_000, 256, True),
        (10_000, 784, False),
        (12_001, 2, False),
    ],
)
def test_all_pairs_of_objects_are_compared_while_that_takes_little(n, d, all_pairs):
    assert defaults.compares_all(n, d) == all_pairs


@pytest.mark.parametrize(
    ("n", "c", "members", "low", "high"),
    [
        (40, 2, 100, 2, 8),
        (1_001, 6, 60, 3, 12),
        (2_501, 20, 30, 10, 40),
        (12, 5, 100, 2, 6),
        (3, 2, 100, 2, 2),
    ],
)
def test_sparse_tables_are_clustered_by_k_means(n, c, members, low, high):
    X = sp.csr_array(np.random.default_rng(0).random((n, 5)))
    plan = default_plan(Features(X), c)
    assert (plan.generator, plan.n_clusterings) == ("random-k", members)
    assert plan.generator_params == {"preprocess": "tf-idf", "n_clusters": (low, high)}
    assert default_plan(Features(X * -1.0), c).generator_params["preprocess"] == "diverse"  # no counts
    assert (plan.method, plan.method_params) == ("lwgp", {"instability_tolerance": 0.4})


@pytest.fixture
def texts():
    """(counts of words (300, 600), one of two themes of each text)."""
    rng = np.random.default_rng(0)
    words, theme = rng.dirichlet(np.full(600, 0.05), size=2), np.arange(300) % 2
    chance = 0.8 / 600 + 0.2 * words[theme]
    return np.stack([rng.multinomial(60, p / p.sum()) for p in chance]).astype(float), theme


@pytest.mark.parametrize("kind", [sp.csr_array, np.asarray], ids=["sparse", "dense"])
def test_texts_of_two_themes_are_told_apart(texts, kind):
    """Where graphs of neighbors cut a few odd texts off."""
    counts, theme = texts
    assert ari(theme, cs.ConsensusClustering(2, random_state=0).fit(kind(counts)).labels_) > 0.8


def test_a_dense_table_of_counts_follows_the_rule_of_sparse_ones(texts):
    counts, _ = texts
    model = cs.ConsensusClustering(2, random_state=0).fit(counts)
    same = cs.ConsensusClustering(2, random_state=0).fit(sp.csr_array(counts))
    assert model.plan_ == same.plan_
    assert model.plan_.generator == "random-k"
    assert (model.labels_ == same.labels_).all()
    new = 2.0 * counts[:50]  # the same texts, twice as long
    assert (model.predict(new) == same.predict(sp.csr_array(new))).all()
    ranks = cs.ConsensusClustering(2, generator_params={"preprocess": "ranks"}, random_state=0).fit(counts)
    assert {recipe["preprocess"] for recipe in ranks.ensemble_.recipes} == {"ranks"}
    more = np.where(counts == 0, 1.0, counts)  # no zeros
    assert default_plan(Features(more), 2).generator == "metric-subspace"
    assert default_plan(Features(-counts), 2).generator == "metric-subspace"
    with pytest.raises(InputError, match="which is random-k for an X of mostly zeros"):
        cs.ConsensusClustering(2, generator_params={"feature_fraction": 0.5}).fit(counts)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method_params": {"max_samples": 9}}, "which is lwgp for this X, has no parameter 'max_samples'"),
        (
            {"generator_params": {"feature_fraction": 0.5}},
            "which is random-k for an X of mostly zeros, has no parameter 'feature_fraction'",
        ),
    ],
)
def test_parameters_that_sparse_tables_leave_no_use_for(parameters, message):
    with pytest.raises(InputError, match=message):
        cs.ConsensusClustering(2, **parameters).fit(sp.csr_array(np.eye(20)))


@pytest.mark.parametrize(
    ("n", "method", "params"),
    [
        (400, "lwsc", {"instability_tolerance": 1.0}),
        (2_501, "lwea", {"instability_tolerance": 0.4, "max_samples": defaults.LINKED}),
        (defaults.DENSE_UP_TO + 1, "lwea", {"instability_tolerance": 1.0, "max_samples": defaults.LINKED}),
    ],
)
def test_the_consensus_by_the_number_of_objects(n, method, params):
    plan = plan_for(n, 2, 3)
    assert (plan.method, plan.method_params) == (method, params)


def test_more_clusters_than_landmarks_are_never_asked_for():
    plan = default_plan(Features(np.random.default_rng(0).random((12_001, 2))), 700)
    assert plan.generator_params["n_landmarks"] >= plan.generator_params["n_clusters"][1] == 1_400


@pytest.mark.parametrize(("d", "fraction"), [(1, 1.0), (2, 1.0), (8, 1.0), (10, 0.8), (16, 0.5), (500, 0.5)])
def test_members_see_half_of_the_features_but_eight_at_least(d, fraction):
    assert plan_for(40, d, 3).generator_params["feature_fraction"] == pytest.approx(fraction)


@pytest.mark.parametrize(
    ("n", "c", "most"), [(100, 2, 10), (101, 2, 11), (100, 8, 16), (30, 20, 20), (30, 12, 15), (3, 2, 2)]
)
def test_members_may_have_more_clusters_than_are_asked_for(n, c, most):
    assert plan_for(n, 2, c).generator_params["n_clusters"] == (None, most)


def test_no_more_clusters_than_distinct_rows():
    X = np.repeat(np.eye(4), 25, axis=0)
    assert default_plan(Features(X), 3).generator_params["n_clusters"] == (None, 4)
    assert np.unique(cs.ConsensusClustering(3, random_state=0).fit(X).labels_).size == 3


def test_what_is_given_stays():
    X, _ = make_blobs(90, 3, centers=3, random_state=0)
    model = cs.ConsensusClustering(
        3,
        generator_params={"preprocess": "ranks", "n_clusters": (12, None)},
        method_params={"instability_tolerance": 2.0},
        n_clusterings=7,
    ).fit(X)
    assert model.plan_.generator == "metric-subspace"
    assert {recipe["preprocess"] for recipe in model.ensemble_.recipes} == {"ranks"}
    assert (model.ensemble_.n_clusters_per_clustering >= 12).all()
    assert (model.method_.instability_tolerance, model.ensemble_.n_clusterings) == (2.0, 7)
    model = cs.ConsensusClustering(3, method="eac").fit(X)
    assert (model.plan_.generator, type(model.method_)) == (
        "metric-subspace",
        cs.consensus.EvidenceAccumulation,
    )
    model = cs.ConsensusClustering(3, generator="kmeans").fit(X)
    assert (model.ensemble_.recipes[0]["algorithm"], type(model.method_)) == ("kmeans", cs.consensus.LWSC)
    assert cs.ConsensusClustering(3, generator="Auto", method="AUTO").fit(X).plan_.method == "lwsc"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"generator_params": {"bandwidths": [1]}},
            "generator='auto', which is metric-subspace or landmarks, has no parameter 'bandwidths'; its "
            "parameters are .*feature_fraction",
        ),
        (
            {"method_params": {"linkage": "single"}},
            "method='auto', which is lwsc, lwea or lwgp, has no parameter 'linkage'; its parameters are "
            "instability_tolerance",
        ),
        (
            {"method_params": {"max_samples": 9}},
            "method='auto', which is lwsc for this X, has no parameter 'max_samples'; its parameters are "
            "instability_tolerance, n_init",
        ),
    ],
)
def test_parameters_that_the_rule_cannot_pass_on(parameters, message):
    with pytest.raises(InputError, match=message):
        cs.ConsensusClustering(2, **parameters).fit(np.random.default_rng(0).random((20, 3)))


@pytest.mark.parametrize(
    ("made", "c"),
    [
        (make_moons(300, noise=0.06, random_state=0), 2),
        (make_circles(300, noise=0.05, factor=0.5, random_state=0), 2),
        (make_blobs(300, cluster_std=[1, 2.5, 0.5], random_state=170), 3),
    ],
    ids=["moons", "circles", "blobs of different width"],
)
def test_shapes_that_k_means_misses(made, c):
    X, y = made
    found = ari(y, cs.ConsensusClustering(c, random_state=0).fit(X).labels_)
    assert found > 0.9
    assert found > ari(y, KMeans(c, n_init=10, random_state=0).fit_predict(X)) + 0.1


@pytest.mark.parametrize(("load", "more"), [(load_wine, 0.3), (load_breast_cancer, 0.1), (load_digits, 0.08)])
def test_better_than_k_means_on_bundled_sets_as_given(load, more):
    X, y = load(return_X_y=True)
    c = np.unique(y).size
    ours = scores(y, cs.ConsensusClustering(c, random_state=0).fit(X).labels_)["nmi"]
    theirs = scores(y, KMeans(c, n_init=10, random_state=0).fit_predict(X))["nmi"]
    assert ours > theirs + more


def test_units_of_columns_matter_little():
    X, y = make_blobs(200, 6, centers=4, random_state=2)
    X = X * np.logspace(-3, 3, 6)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # nor is the user told to scale
        assert ari(y, cs.ConsensusClustering(4, random_state=0).fit(X).labels_) > 0.95


def test_sparse_counts_of_texts_of_different_length():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    topics = np.full((3, 60), 0.2)
    for j in range(3):
        topics[j, 20 * j : 20 * j + 20] = 1.0
    lengths = rng.lognormal(0, 1.5, 120)
    X = sp.csr_array(rng.poisson(topics[y] * lengths[:, None] + 0.02))
    ours = ari(y, cs.ConsensusClustering(3, random_state=0).fit(X).labels_)
    assert ours > ari(y, KMeans(3, n_init=10, random_state=0).fit_predict(X)) + 0.3


@pytest.mark.parametrize("linked", [10**6, 60], ids=["all are linked", "a sample is linked"])
def test_the_way_of_many_objects_on_a_few(monkeypatch, linked):
    monkeypatch.setattr(defaults, "EXACT_UP_TO", 40)
    monkeypatch.setattr(defaults, "DENSE_UP_TO", 40)
    monkeypatch.setattr(defaults, "LINKED", linked)
    X, y = make_blobs(400, 5, centers=4, random_state=0)
    model = cs.ConsensusClustering(4, random_state=0).fit(X)
    assert model.plan_.generator == "landmarks"
    assert model.method_.heights_.size < linked
    assert ari(y, model.labels_) > 0.9
