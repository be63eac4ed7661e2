"""Random kernels on random subspaces: formulas over all pairs, the authors' affinities, and awkward data."""

from __future__ import annotations

import warnings
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import consilience as cs
from consilience._members import labeling
from consilience.errors import InputError
from consilience.generate import metric_subspace
from consilience.generate._metric_subspace import affinity, similarity, spectral_cut
from consilience.metrics import scores

from ..zoo import same_partition


def blobs(seed=0, n=120, d=10, c=3):
    return make_blobs(n, d, centers=c, cluster_std=1.0, random_state=seed)


# Affinities ------------------------------------------------------------------------------------------------


def test_printed_kernel_over_all_pairs(seed):
    X, k, mu = blobs(seed)[0], 7, 0.4
    d = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    order = np.argsort(d + np.diag(np.full(len(X), np.inf)), axis=1)[:, :k]
    rho = np.take_along_axis(d, order, axis=1).mean(axis=1)
    near = np.zeros_like(d, dtype=bool)
    np.put_along_axis(near, order, True, axis=1)
    expected = np.exp(-d / (mu * (rho[:, None] + rho + d) / 3)) * (near | near.T)
    assert np.allclose(affinity(X, k, mu, "exponential").toarray(), expected, rtol=1e-10)


@pytest.mark.parametrize("case", ["gen_Yeoh02v1_M30_run1", "gen_Yeoh02v1_M30_run2"])
def test_golden_affinities(shared_dir, case):
    held = np.load(shared_dir / "golden" / f"{case}.npz")
    for i in range(3):
        Z = np.ascontiguousarray(held["X"][:, held["subspaces_1based"][i] - 1])
        W = affinity(Z, int(held["knn_k"][i]), float(held["mu"][i]), "normal")
        W.sort_indices()
        rows = np.repeat(np.arange(W.shape[0]), np.diff(W.indptr))
        order = np.lexsort((held[f"affinity{i}_col"], held[f"affinity{i}_row"]))
        assert np.array_equal(rows, held[f"affinity{i}_row"][order])
        assert np.array_equal(W.indices, held[f"affinity{i}_col"][order])
        assert np.allclose(W.data, held[f"affinity{i}_val"][order], rtol=1e-10, atol=0)


def test_golden_affinities_of_the_larger_set(shared_dir):
    """The stored features are single precision, the golden ones double: values agree to that."""
    held = np.load(shared_dir / "golden" / "gen_MF_M30_run1.npz")
    X = np.load(shared_dir / "data" / "mf_multiple_features.npz")["X"].astype(float)
    Z = np.ascontiguousarray(X[:, held["subspaces_1based"][0] - 1])
    W = affinity(Z, int(held["knn_k"][0]), float(held["mu"][0]), "normal")
    entries = (held["affinity0_val"], (held["affinity0_row"], held["affinity0_col"]))
    theirs = sp.csr_array(entries, shape=W.shape)
    assert W.nnz == theirs.nnz
    assert np.allclose(W.toarray(), theirs.toarray(), rtol=1e-5, atol=0)


def test_equal_objects_are_as_similar_as_can_be():
    X = np.repeat(blobs(n=12)[0], 10, axis=0)
    W = affinity(X, 5, 0.5, "exponential")
    assert np.isfinite(W.data).all()
    assert W[0, 1] == 1 or W[0, 2] == 1
    assert W.max() == 1
    assert np.isfinite(affinity(X, 5, 0.5, "normal").data).all()


def test_fixed_similarity_is_cosine_between_neighbors(seed):
    Z = blobs(seed)[0]
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    W = similarity(Z, 6).tocoo()
    assert np.allclose(W.data, np.maximum((Z @ Z.T)[W.row, W.col], 0))
    assert (np.diff(similarity(Z, 6).indptr) >= 6).all()


# Spectral clustering of one graph --------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
def test_cut_is_that_of_scikit_learn(seed):
    X, truth = blobs(seed, n=300, d=4)
    W = affinity(X, 10, 0.6, "exponential")
    labels, facts = spectral_cut(W, 3, X, seed=0)
    theirs = SpectralClustering(3, affinity="precomputed", random_state=0).fit_predict(W.toarray())
    assert facts["converged"]
    assert scores(truth, labels)["ari"] >= scores(truth, theirs)["ari"] - 0.02


def test_pieces_are_clusters_and_near_ones_are_joined():
    X = np.repeat([0.0, 1.0, 50.0, 53.0], 8)[:, None] + np.tile(np.linspace(0, 0.1, 8), 4)[:, None]
    W = affinity(X, 3, 0.5, "exponential")
    four, facts = spectral_cut(W, 4, X, seed=0)
    assert facts["pieces"] == 4
    assert same_partition(four, np.repeat([0, 1, 2, 3], 8))
    assert same_partition(spectral_cut(W, 2, X, seed=0)[0], np.repeat([0, 0, 1, 1], 8))
    five, _ = spectral_cut(W, 5, X, seed=0)
    assert np.unique(five).size == 5
    for piece in range(4):  # a cluster never spans two pieces
        assert (
            len(set(five[8 * piece : 8 * piece + 8]) & set(np.delete(five, np.s_[8 * piece : 8 * piece + 8])))
            == 0
        )


# The generator ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["normal", "exponential"])
def test_members_know_the_clusters(seed, kernel):
    X, truth = blobs(seed)
    ens = metric_subspace(X, n_clusterings=12, kernel=kernel, random_state=seed)
    assert ens.shape == (120, 12)
    assert ens.n_clusters_per_clustering.max() <= 11
    assert scores(truth, cs.consensus.LWEA(3, instability_tolerance=1.0).fit_predict(ens))["ari"] > 0.95


def test_recipes_say_how():
    X, _ = blobs()
    ens = metric_subspace(X, n_clusterings=20, feature_fraction=0.3, random_state=0)
    for recipe, k in zip(ens.recipes, ens.n_clusters_per_clustering):
        assert recipe["n_clusters"] == k
        assert len(recipe["features"]) == 3
        assert 5 <= recipe["n_neighbors"] <= 20
        assert 0.2 <= recipe["scale"] <= 0.8
        assert recipe["pieces"] >= 1
        assert recipe["converged"]
    drawn = {recipe["n_neighbors"] for recipe in ens.recipes}
    assert len(drawn) > 5
    recipe = ens.recipes[3]
    Z = np.ascontiguousarray(X[:, recipe["features"]])
    W = affinity(Z, recipe["n_neighbors"], recipe["scale"], recipe["kernel"])
    again, _ = spectral_cut(W, recipe["n_clusters"], Z, seed=recipe["seed"])
    assert same_partition(again, ens.labels[:, 3])


def test_same_seed_same_members_for_any_threads_and_more_leave_the_first():
    X, _ = blobs()
    first = metric_subspace(X, n_clusterings=6, random_state=1, n_jobs=1)
    assert np.array_equal(first.labels, metric_subspace(X, n_clusterings=6, random_state=1, n_jobs=2).labels)
    assert np.array_equal(first.labels, metric_subspace(X, n_clusterings=9, random_state=1).labels[:, :6])
    assert not np.array_equal(first.labels, metric_subspace(X, n_clusterings=6, random_state=2).labels)


@pytest.mark.parametrize("balanced", [False, True])
def test_members_that_share_an_embedding_can_be_made_again_from_their_recipes(balanced):
    X, _ = blobs()
    ens = metric_subspace(
        X, n_clusterings=11, n_clusters=(2, 9), cuts_per_metric=4, balanced=balanced, random_state=0
    )
    assert [recipe["metric_seed"] for recipe in ens.recipes[::4]] == [
        ens.recipes[i]["seed"] for i in (0, 4, 8)
    ]
    assert len({recipe["metric_seed"] for recipe in ens.recipes}) == 3
    for recipe, labels in zip(ens.recipes, ens.labels.T):
        Z = np.ascontiguousarray(X[:, recipe["features"]])
        W = affinity(Z, recipe["n_neighbors"], recipe["scale"], recipe["kernel"])
        facts = {"seed": recipe["seed"], "n_vectors": recipe["n_vectors"]}
        assert np.array_equal(spectral_cut(W, recipe["n_clusters"], Z, **facts)[0], labels)


def test_numbers_of_clusters_that_share_an_embedding_are_spread_over_their_range():
    X, _ = blobs()
    ens = metric_subspace(X, n_clusterings=40, n_clusters=(2, 9), cuts_per_metric=4, random_state=0)
    for first in range(0, 40, 4):
        ks = ens.n_clusters_per_clustering[first : first + 4]
        assert [(k - 2) // 2 for k in ks] == [0, 1, 2, 3]  # one in each quarter of 2 to 9
    assert set(np.bincount(ens.n_clusters_per_clustering)[2:]) <= {4, 5, 6}
    assert (
        metric_subspace(
            X, n_clusterings=4, n_clusters=3, cuts_per_metric=4, random_state=0
        ).n_clusters_per_clustering
        == 3
    ).all()


def test_members_that_share_an_embedding_look_for_neighbors_once(monkeypatch):
    X, _ = blobs()
    ens = metric_subspace(
        X, n_clusterings=12, cuts_per_metric=4, preprocess="diverse", keep_base_models=True, random_state=0
    )
    alone = np.stack([member.label(X[:9] + 0.01) for member in ens.base_models], axis=1)
    calls = []
    plain = labeling.nearest_points
    monkeypatch.setattr(labeling, "nearest_points", lambda *a, **k: calls.append(1) or plain(*a, **k))
    together, within = labeling.label_rows(ens.base_models, X[:9] + 0.01, reach=True)
    assert np.array_equal(together, alone)
    assert len(calls) == 6  # three embeddings, each for the rows and for how far they may be
    assert (within > 0.5).all()


def test_balanced_members_see_features_preparations_and_kernels_equally_often():
    X, _ = blobs()
    X = np.abs(X)
    ens = metric_subspace(X, n_clusterings=30, balanced=True, preprocess="diverse", random_state=3)
    assert max(Counter(recipe["preprocess"] for recipe in ens.recipes).values()) <= 11  # of three, 10 each
    for name in {recipe["preprocess"] for recipe in ens.recipes}:
        seen = [recipe["features"] for recipe in ens.recipes if recipe["preprocess"] == name]
        times = np.bincount(np.concatenate(seen), minlength=10)
        assert times.max() - times.min() <= 1
    for key, low, high in (("scale", 0.2, 0.8), ("n_neighbors", 5, 20)):
        values = np.sort([recipe[key] for recipe in ens.recipes])
        assert values[0] >= low
        assert values[-1] <= high
        assert np.abs(values - np.linspace(low, high, 30)).max() < 0.12 * (high - low) + 1
    more = metric_subspace(X, n_clusterings=36, balanced=True, preprocess="diverse", random_state=3)
    assert np.array_equal(more.labels[:, :30], ens.labels)
    other = metric_subspace(X, n_clusterings=30, balanced=True, preprocess="diverse", random_state=4)
    assert other.recipes[0]["scale"] != ens.recipes[0]["scale"]


@pytest.mark.parametrize("metric", ["diversified", "cosine", "correlation", "spearman"])
def test_metrics_on_dense_sparse_and_frames(metric):
    rng = np.random.default_rng(0)
    centers = rng.uniform(size=(3, 40)) * (rng.random((3, 40)) < 0.3)
    truth = np.repeat([0, 1, 2], 20)
    X = centers[truth] * rng.uniform(0.8, 1.2, (60, 40))
    dense = metric_subspace(X, n_clusterings=8, metric=metric, random_state=0)
    sparse = metric_subspace(sp.csr_matrix(X), n_clusterings=8, metric=metric, random_state=0)
    frame = metric_subspace(
        pd.DataFrame(X, index=[f"s{i}" for i in range(60)]), n_clusterings=8, metric=metric, random_state=0
    )
    assert np.array_equal(dense.labels, frame.labels)
    assert frame.sample_names[0] == "s0"
    assert all(same_partition(a, b) for a, b in zip(dense.labels.T, sparse.labels.T))
    assert scores(truth, cs.consensus.LWEA(3).fit_predict(dense))["ari"] > 0.9


def test_units_do_not_matter():
    X, _ = blobs()
    expected = metric_subspace(X, n_clusterings=4, random_state=0).labels
    for unit in (2.0**-180, 2.0**40, 2.0**180):
        assert np.array_equal(metric_subspace(X * unit, n_clusterings=4, random_state=0).labels, expected)


def test_spearman_sees_ranks_only():
    X = np.random.default_rng(0).uniform(1, 2, (40, 30))
    expected = metric_subspace(X, n_clusterings=3, metric="spearman", random_state=0).labels
    assert np.array_equal(
        metric_subspace(X**5, n_clusterings=3, metric="spearman", random_state=0).labels, expected
    )


def test_weights_are_kept():
    X, _ = blobs(n=40)
    weights = np.linspace(1, 2, 40)
    assert np.array_equal(
        metric_subspace(X, n_clusterings=2, sample_weight=weights, random_state=0).sample_weight, weights
    )


@pytest.mark.parametrize("n", [2, 3, 7])
def test_few_objects(n):
    X = np.random.default_rng(0).normal(size=(n, 5))
    ens = metric_subspace(X, n_clusterings=4, random_state=0)
    assert ens.n_samples == n
    assert (ens.n_clusters_per_clustering >= 2).all()


def test_repeated_and_constant_rows():
    X = np.repeat(blobs(n=10)[0], 6, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ens = metric_subspace(X, n_clusterings=5, random_state=0)
    assert (ens.labels >= 0).all()


def test_rows_similar_to_nothing_are_missing():
    X = np.vstack([np.abs(blobs(n=60)[0]), np.zeros((6, 10))])
    ens = metric_subspace(X, n_clusterings=3, metric="cosine", random_state=0)
    assert (ens.labels[60:] == -1).all()
    assert (ens.labels[:60] >= 0).all()
    assert [recipe["missing"] for recipe in ens.recipes] == [6, 6, 6]
    with pytest.raises(InputError, match="No two objects are similar in a random subspace"):
        metric_subspace(np.diag(np.arange(1.0, 9.0)), n_clusterings=1, metric="cosine", random_state=0)


def test_one_feature():
    X = np.concatenate([np.linspace(0, 1, 20), np.linspace(5, 6, 20)])[:, None]
    assert metric_subspace(X, n_clusterings=3, random_state=0).recipes[0]["features"] == [0]


def test_refusals():
    X, _ = blobs(n=30)
    with pytest.raises(InputError, match=r"n_neighbors=\(20, 5\): the first is above the second; swap them"):
        metric_subspace(X, n_clusterings=2, n_neighbors=(20, 5))
    with pytest.raises(InputError, match="n_neighbors=0 is not valid: expected a whole number of at least 1"):
        metric_subspace(X, n_clusterings=2, n_neighbors=0)
    with pytest.raises(
        InputError, match="kernel='gauss' is not valid: expected one of 'normal', 'exponential'"
    ):
        metric_subspace(X, n_clusterings=2, kernel="gauss")
    with pytest.raises(InputError, match="feature_fraction=0 is not valid"):
        metric_subspace(X, n_clusterings=2, feature_fraction=0)
    with pytest.raises(InputError, match="n_clusters=31 exceeds the 30 objects in X"):
        metric_subspace(X, n_clusterings=2, n_clusters=(None, 31))


@pytest.mark.parametrize("metric", ["diversified", "cosine"])
def test_approximate_search_gives_nearly_the_same_members(seed, metric):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 5, 2000)
    X = rng.normal(size=(2000, 12)) + 3.0 * rng.normal(size=(5, 12))[truth]
    options = {"n_clusters": 5, "metric": metric, "random_state": seed}
    exact = metric_subspace(X, n_clusterings=3, **options)
    found = metric_subspace(X, n_clusterings=3, search="approximate", **options)
    again = metric_subspace(X, n_clusterings=3, search="approximate", n_jobs=1, **options)
    assert np.array_equal(found.labels, again.labels)
    assert [recipe["search"] for recipe in found.recipes] == ["approximate"] * 3
    for a, b in zip(exact.labels.T, found.labels.T):
        assert adjusted_rand_score(a, b) > 0.9


def test_approximate_search_of_equal_objects():
    X = np.repeat(np.eye(4), 60, axis=0)
    ens = metric_subspace(
        X, n_clusterings=2, n_clusters=4, feature_fraction=1.0, search="approximate", random_state=0
    )
    for labels in ens.labels.T:
        assert adjusted_rand_score(labels, np.repeat(np.arange(4), 60)) == 1.0


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("search", ["exact", "approximate"])
def test_equal_objects_as_one_of_their_weight(form, search):
    X, _ = make_blobs(80, 4, centers=3, random_state=0)
    times = np.random.default_rng(0).integers(1, 6, 80)
    rows = np.repeat(np.arange(80), times)
    options = {
        "n_clusters": (2, 9),
        "feature_fraction": 0.5,
        "distinct": True,
        "search": search,
        "random_state": 0,
    }
    repeated = metric_subspace(form(X[rows]), n_clusterings=6, **options)
    weighted = metric_subspace(form(X), n_clusterings=6, sample_weight=times.astype(float), **options)
    assert np.array_equal(repeated.labels, weighted.labels[rows])
    assert all(recipe["distinct"] for recipe in repeated.recipes)


def test_equal_rows_do_not_tear_the_graph_apart():
    """Answers on a scale of 1 to 10, mostly equal: each other's only neighbors, unless counted as one."""
    rng = np.random.default_rng(0)
    X = np.vstack([np.full((300, 9), 1.0), rng.integers(1, 4, (150, 9)), rng.integers(4, 11, (150, 9))])
    pieces = [
        np.mean(
            [
                recipe["pieces"]
                for recipe in metric_subspace(X, n_clusterings=10, distinct=flag, random_state=0).recipes
            ]
        )
        for flag in (False, True)
    ]
    assert pieces[1] < 2 < pieces[0]


def test_all_rows_equal_in_a_members_features():
    X = np.column_stack([np.zeros((40, 3)), np.random.default_rng(0).random(40)])
    found = metric_subspace(
        X, n_clusterings=12, feature_fraction=0.25, n_clusters=(None, 3), distinct=True, random_state=0
    )
    assert (found.n_clusters_per_clustering >= 1).all()
    assert found.labels.min() >= 0
