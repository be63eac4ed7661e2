"""Properties that every generator has, and what is particular to each."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import consilience as cs
from consilience.errors import ConsilienceWarning, InputError, NotEnoughMemoryError
from consilience.generate import _spectral

X, y = make_blobs(180, 12, centers=4, cluster_std=2.0, random_state=3)


def make(name, X, m, **options):
    """Each generator with m members."""
    if name == "estimators":
        return cs.generate.estimators(
            X,
            clusterers=[KMeans(4, n_init=1), DBSCAN(eps=6)],
            n_clusterings=m,
            sample_fraction=0.9,
            **options,
        )
    if name == "spectral":
        return cs.generate.spectral(X, n_clusters=4, bandwidths=[0.3, 0.6, 1, 2, 5][:m], **options)
    if name == "random_k":
        return cs.generate.random_k(X, n_clusterings=m, n_clusters=(2, 9), **options)
    return getattr(cs.generate, name)(X, n_clusterings=m, n_clusters=4, **options)


GENERATORS = ["kmeans", "random_k", "random_features", "stratified", "bagging", "spectral", "estimators"]


@pytest.mark.parametrize("name", GENERATORS)
def test_same_seed_same_answer_for_any_number_of_threads(name, seed):
    first = make(name, X, 4, random_state=seed, n_jobs=1)
    for n_jobs in (2, 3, None):
        other = make(name, X, 4, random_state=seed, n_jobs=n_jobs)
        assert np.array_equal(first.labels, other.labels)
        assert first.recipes == other.recipes


@pytest.mark.parametrize("name", GENERATORS)
def test_first_members_do_not_depend_on_how_many_follow(name):
    few, many = make(name, X, 2, random_state=5), make(name, X, 5, random_state=5)
    assert np.array_equal(few.labels, many.labels[:, :2])


@pytest.mark.parametrize("name", GENERATORS)
def test_members_differ_and_so_do_seeds(name):
    ens = make(name, X, 4, random_state=0)
    assert len({recipe["seed"] for recipe in ens.recipes}) == 4
    assert not np.array_equal(ens.labels, make(name, X, 4, random_state=1).labels)


@pytest.mark.parametrize("name", GENERATORS)
def test_recipes_survive_json_and_names_are_kept(name):
    frame = pd.DataFrame(X, index=[f"s{i}" for i in range(len(X))])
    ens = make(name, frame, 3, random_state=0)
    assert json.loads(json.dumps(ens.recipes)) == ens.recipes
    assert all({"algorithm", "seed"} <= set(recipe) for recipe in ens.recipes)
    assert ens.sample_names == [f"s{i}" for i in range(len(X))]
    assert ens.shape == (180, 3)


@pytest.mark.parametrize(
    "name", ["kmeans", "random_k", "random_features", "stratified", "bagging", "spectral"]
)
def test_sparse_features_give_the_dense_ensemble_up_to_the_start(name):
    """Well-separated groups: starts may differ between the two, the groups may not."""
    apart, truth = make_blobs(120, 30, centers=4, cluster_std=0.1, random_state=0)
    options = {"n_clusters": 4}
    if name == "spectral":
        options["bandwidths"] = [0.2, 0.5]
    else:
        options["n_clusterings"] = 2
    if name in ("random_features", "stratified"):
        options["feature_fraction"] = 0.5
    for form in (apart, sp.csr_matrix(apart), sp.csc_array(apart)):
        ens = getattr(cs.generate, name)(form, random_state=0, **options)
        for column in ens.labels.T:
            seen = column >= 0
            assert adjusted_rand_score(truth[seen], column[seen]) == 1


@pytest.mark.parametrize("name", GENERATORS)
def test_bad_arguments(name):
    with pytest.raises(
        InputError, match=r"random_state=-1 is not valid: expected None, a non-negative whole number"
    ):
        make(name, X, 3, random_state=-1)
    with pytest.raises(InputError, match=r"n_jobs=0"):
        make(name, X, 3, n_jobs=0)
    if name != "spectral":
        with pytest.raises(
            InputError, match=r"n_clusterings=0 is not valid: expected .*whole number of at least 1"
        ):
            make(name, X, 0)


COUNTING = [name for name in GENERATORS if name != "estimators"] + ["metric_subspace", "landmarks"]


@pytest.mark.parametrize("name", [*COUNTING, "estimators"])
def test_all_but_the_features_is_given_by_name(name):
    with pytest.raises(TypeError, match="positional argument"):
        getattr(cs.generate, name)(X, 4)


@pytest.mark.parametrize("name", COUNTING)
def test_numbers_of_clusters_are_one_an_interval_or_a_set(name):
    """Wherever members have a number of clusters: what they are asked for, not what they find."""
    options = {"bandwidths": [1.0], "n_clusterings": 40} if name == "spectral" else {"n_clusterings": 40}
    options |= {"random_state": 0}
    if name == "landmarks":
        options |= {"n_landmarks": 60}

    def asked(n_clusters):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConsilienceWarning)
            found = getattr(cs.generate, name)(X, n_clusters=n_clusters, **options)
        return [recipe["n_clusters"] for recipe in found.recipes]

    assert set(asked(4)) == {4}
    interval = asked((3, 6))
    assert set(interval) == {3, 4, 5, 6}
    assert asked(range(3, 7)) == asked(np.arange(3, 7)) == asked([6, 5, 4, 3, 3]) == interval
    assert set(asked([3, 6])) == {3, 6}
    assert set(asked((12, None))) <= {12, 13, 14}


@pytest.mark.parametrize(
    "name", ["kmeans", "random_k", "random_features", "stratified", "bagging", "spectral"]
)
def test_bad_n_clusters(name):
    generator = getattr(cs.generate, name)
    for k in (0, -3, 2.5, True):
        said = (
            rf"n_clusters={k} is not valid: expected a whole number of at least 1, "
            r"a pair \(smallest, largest\), or a list or range"
        )
        with pytest.raises(InputError, match=said):
            generator(X, n_clusters=k)
    with pytest.raises(InputError, match=r"n_clusters=200 exceeds the 180 objects in X"):
        generator(X, n_clusters=200)
    with pytest.raises(InputError, match=r"n_clusters=\(5, 3\): the first is above the second; swap them"):
        generator(X, n_clusters=(5, 3))
    said = (
        r"n_clusters=\(1, 2, 3\) is not valid: a tuple is an interval, .*Give a list .*n_clusters=\[1, 2, 3\]"
    )
    with pytest.raises(InputError, match=said):
        generator(X, n_clusters=(1, 2, 3))
    with pytest.raises(InputError, match=r"n_clusters=\[\] is empty: give at least one number"):
        generator(X, n_clusters=[])


@pytest.mark.parametrize("state", [np.random.default_rng(0), np.random.RandomState(0), np.int64(3), None])
def test_kinds_of_random_state(state):
    assert cs.generate.kmeans(X, n_clusterings=2, n_clusters=3, random_state=state).shape == (180, 2)


def test_a_generator_moves_on():
    rng = np.random.default_rng(0)
    first = cs.generate.kmeans(X, n_clusterings=2, n_clusters=3, random_state=rng)
    assert first.recipes != cs.generate.kmeans(X, n_clusterings=2, n_clusters=3, random_state=rng).recipes


# ---------------------------------------------------------------------------------------------------------


def test_kmeans_recipe_and_quality():
    ens = cs.generate.kmeans(X, n_clusterings=20, n_clusters=10, random_state=0)
    assert ens.n_clusters_per_clustering.tolist() == [10] * 20
    recipe = ens.recipes[7]
    centers = np.array([X[ens.labels[:, 7] == j].mean(0) for j in range(10)])
    assert recipe["inertia"] == pytest.approx(((X - centers[ens.labels[:, 7]]) ** 2).sum(), rel=1e-6)
    assert recipe["algorithm"] == "kmeans"
    assert recipe["n_clusters"] == 10
    assert recipe["converged"] is True


def test_kmeans_default_k_is_the_root_of_n():
    assert cs.generate.kmeans(X, n_clusterings=1, random_state=0).n_clusters_per_clustering.tolist() == [13]
    assert cs.generate.kmeans(
        np.repeat(np.eye(3), 50, axis=0), n_clusterings=1, random_state=0
    ).n_clusters_per_clustering.tolist() == [3]


def test_kmeans_weights_are_used_and_kept():
    line = np.array([[0.0], [1.0], [10.0]])
    ens = cs.generate.kmeans(line, n_clusterings=3, n_clusters=1, sample_weight=[1, 1, 2], random_state=0)
    assert ens.recipes[0]["inertia"] == pytest.approx(27.5625 + 18.0625 + 2 * 22.5625)
    assert ens.sample_weight.tolist() == [1, 1, 2]
    with pytest.raises(InputError, match=r"sample_weight has shape \(2,\) for 3 objects"):
        cs.generate.kmeans(line, n_clusterings=3, n_clusters=1, sample_weight=[1, 1])
    with pytest.raises(InputError, match=r"sample_weight\[2\]=-1 is not a positive number"):
        cs.generate.kmeans(line, n_clusterings=3, n_clusters=1, sample_weight=[1, 1, -1])


@pytest.mark.parametrize(
    ("option", "pattern"),
    [
        ({"init": "best"}, r"init='best' is not valid: expected one of 'k-means\+\+', 'random'"),
        ({"max_iter": 0}, r"max_iter=0 is not valid: expected a whole number of at least 1"),
        ({"tol": -1}, r"tol=-1 is not valid: expected a number of at least 0"),
    ],
)
def test_kmeans_options_are_checked(option, pattern):
    for name in ("kmeans", "random_features", "bagging"):
        with pytest.raises(InputError, match=pattern):
            getattr(cs.generate, name)(X, n_clusterings=2, n_clusters=3, **option)


def test_random_k_covers_its_range():
    ens = cs.generate.random_k(X, n_clusterings=60, n_clusters=(3, 6), random_state=0)
    assert set(ens.n_clusters_per_clustering) == {3, 4, 5, 6}
    assert [recipe["n_clusters"] for recipe in ens.recipes] == ens.n_clusters_per_clustering.tolist()
    assert cs.generate.random_k(X, n_clusterings=60, random_state=0).n_clusters_per_clustering.max() == 13
    with pytest.raises(InputError, match=r"n_clusters=\(7, 4\): the first is above the second"):
        cs.generate.random_k(X, n_clusterings=2, n_clusters=(7, 4))
    with pytest.raises(InputError, match=r"n_clusters=181 exceeds the 180 objects"):
        cs.generate.random_k(X, n_clusterings=2, n_clusters=(None, 181))
    assert cs.generate.random_k(
        X[:2], n_clusterings=2, random_state=0
    ).n_clusters_per_clustering.tolist() == [2, 2]


def test_stratified_draws_from_every_group_of_alike_features():
    """Twenty copies of one feature and two of another: plain sampling would often miss the second."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 60, 1))
    X = np.hstack([np.tile(first, 20), np.tile(second, 2)]) + 1e-3 * rng.normal(size=(60, 22))
    ens = cs.generate.stratified(
        X, n_clusterings=10, n_clusters=3, feature_fraction=0.1, n_strata=2, random_state=0
    )
    for recipe in ens.recipes:
        columns = np.array(recipe["features"])
        assert (columns < 20).sum() == 2
        assert (columns >= 20).sum() == 1
        assert recipe["n_strata"] == 2
    with pytest.raises(InputError, match="n_strata=0 is not valid"):
        cs.generate.stratified(X, n_clusterings=2, n_clusters=3, n_strata=0)
    with pytest.raises(InputError, match="feature_fraction=0 is not valid"):
        cs.generate.stratified(X, n_clusterings=2, n_clusters=3, feature_fraction=0)
    assert (
        cs.generate.stratified(X, n_clusterings=2, n_clusters=3, n_strata=99, random_state=0).recipes[0][
            "n_strata"
        ]
        <= 22
    )


def test_random_features_clusters_the_columns_it_names():
    ens = cs.generate.random_features(X, n_clusterings=5, n_clusters=4, feature_fraction=0.5, random_state=0)
    subsets = [recipe["features"] for recipe in ens.recipes]
    assert all(len(set(columns)) == 6 for columns in subsets)
    assert len({tuple(columns) for columns in subsets}) > 1
    for i, recipe in enumerate(ens.recipes):
        part = X[:, recipe["features"]]
        centers = np.array([part[ens.labels[:, i] == j].mean(0) for j in range(4)])
        assert recipe["inertia"] == pytest.approx(((part - centers[ens.labels[:, i]]) ** 2).sum(), rel=1e-6)
    assert [
        len(r["features"])
        for r in cs.generate.random_features(X, n_clusterings=2, n_clusters=2, feature_fraction=0.01).recipes
    ] == [1, 1]
    spread = cs.generate.random_features(X, n_clusterings=40, n_clusters=(2, 5), random_state=0)
    assert set(spread.n_clusters_per_clustering) == {2, 3, 4, 5}
    with pytest.raises(
        InputError, match=r"feature_fraction=0 is not valid: expected a number above 0 and at most 1"
    ):
        cs.generate.random_features(X, n_clusterings=2, n_clusters=2, feature_fraction=0)


def test_fewer_clusters_than_asked_for_is_said():
    binary = (X > 0).astype(int)
    with pytest.warns(
        ConsilienceWarning,
        match=r"3 of 3 clusterings have fewer clusters than asked for \(base clusterings 0, 1 and 2\)",
    ):
        ens = cs.generate.random_features(
            binary, n_clusterings=3, n_clusters=5, feature_fraction=0.1, random_state=0
        )
    assert ens.n_clusters_per_clustering.max() == 2


def test_bagging_misses_what_it_did_not_draw():
    ens = cs.generate.bagging(X, n_clusterings=6, n_clusters=4, sample_fraction=0.7, random_state=0)
    assert (ens.labels < 0).sum(axis=0).tolist() == [54] * 6
    assert [recipe["n_seen"] for recipe in ens.recipes] == [126] * 6
    boot = cs.generate.bagging(
        X, n_clusterings=6, n_clusters=4, sample_fraction=1.0, bootstrap=True, random_state=0
    )
    seen = (boot.labels >= 0).mean()
    assert 0.58 < seen < 0.69  # 1 - 1/e
    whole = cs.generate.bagging(X, n_clusterings=2, n_clusters=4, sample_fraction=1.0, random_state=0)
    assert not whole.has_missing


def test_bagging_nearest_fills_in_by_the_centers():
    missing = cs.generate.bagging(X, n_clusterings=4, n_clusters=4, sample_fraction=0.5, random_state=1)
    filled = cs.generate.bagging(
        X, n_clusterings=4, n_clusters=4, sample_fraction=0.5, unseen="nearest", random_state=1
    )
    assert not filled.has_missing
    for i in range(4):
        drawn = missing.labels[:, i] >= 0
        assert np.array_equal(missing.labels[drawn, i], filled.labels[drawn, i])
        centers = np.array([X[drawn][missing.labels[drawn, i] == j].mean(0) for j in range(4)])
        nearest = ((X[:, None] - centers) ** 2).sum(-1).argmin(1)
        assert np.mean(nearest == filled.labels[:, i]) > 0.98  # centers stop within tol of the means
    with pytest.raises(
        InputError, match=r"sample_fraction=0.01 leaves 2 of 180 objects, too few for n_clusters=4"
    ):
        cs.generate.bagging(X, n_clusterings=2, n_clusters=4, sample_fraction=0.01)
    with pytest.raises(
        InputError, match=r"unseen='guess' is not valid: expected one of 'missing', 'nearest'"
    ):
        cs.generate.bagging(X, n_clusterings=2, n_clusters=4, unseen="guess")


# ---------------------------------------------------------------------------------------------------------


def test_spectral_grid_and_repeats():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsilienceWarning)
        ens = cs.generate.spectral(load_iris().data, n_clusters=3, random_state=0)
        twice = cs.generate.spectral(
            load_iris().data, n_clusters=3, n_clusterings=2 * len(_spectral.BANDWIDTHS), random_state=0
        )
    assert [recipe["bandwidth"] for recipe in ens.recipes] == list(_spectral.BANDWIDTHS)
    assert twice.n_clusterings == 2 * ens.n_clusterings
    distances = np.sqrt(((load_iris().data[:, None] - load_iris().data) ** 2).sum(-1))
    mean = distances.sum() / (150 * 149)
    assert ens.recipes[4]["sigma"] == pytest.approx(mean)


def test_spectral_uses_its_widths_in_turn():
    widths = [0.5, 1, 5]
    few = cs.generate.spectral(X, n_clusters=4, bandwidths=widths, random_state=0)
    many = cs.generate.spectral(X, n_clusters=4, n_clusterings=7, bandwidths=widths, random_state=0)
    assert [recipe["bandwidth"] for recipe in many.recipes] == [0.5, 1, 5, 0.5, 1, 5, 0.5]
    assert np.array_equal(many.labels[:, :3], few.labels)
    assert len({recipe["seed"] for recipe in many.recipes}) == 7
    with pytest.raises(
        InputError, match="n_clusterings=2 is below the 3 bandwidths, each of which makes at least"
    ):
        cs.generate.spectral(X, n_clusters=4, n_clusterings=2, bandwidths=widths)


def test_spectral_finds_rings_that_kmeans_cannot():
    angle = np.linspace(0, 2 * np.pi, 100, endpoint=False)
    ring = np.c_[np.cos(angle), np.sin(angle)]
    rings = np.r_[ring, 4 * ring]
    ens = cs.generate.spectral(rings, n_clusters=2, bandwidths=[0.1], random_state=0)
    assert adjusted_rand_score(np.repeat([0, 1], 100), ens.labels[:, 0]) == 1


def test_spectral_solvers_agree(monkeypatch):
    """Iterative and direct eigenvectors, for narrow to very wide kernels."""
    data = make_blobs(300, 5, centers=4, cluster_std=2.5, random_state=1)[0]
    grid = [0.1, 0.5, 5, 100]
    direct = cs.generate.spectral(data, n_clusters=4, bandwidths=grid, random_state=0)
    monkeypatch.setattr(_spectral, "_DENSE_BELOW", 10)
    iterative = cs.generate.spectral(data, n_clusters=4, bandwidths=grid, random_state=0)
    for a, b in zip(direct.labels.T, iterative.labels.T):
        assert adjusted_rand_score(a, b) == 1


def test_spectral_vectors_are_eigenvectors():
    data = make_blobs(60, 3, random_state=0, cluster_std=4)[0]
    squares = ((data[:, None] - data) ** 2).sum(-1)
    S, degree = _spectral.affinity(squares, 3.0)
    V = _spectral.leading_vectors(S, degree, np.zeros(60, dtype=int), 4)
    vectors = np.linalg.eigh(S)[1]
    np.testing.assert_allclose(np.abs(V.T @ vectors[:, ::-1][:, :4]), np.eye(4), atol=1e-8)


def test_spectral_isolated_objects_are_missing():
    data = np.r_[np.random.default_rng(0).normal(size=(40, 2)), [[1e3, 1e3]]]
    with pytest.warns(
        ConsilienceWarning, match=r"objects outside the clusters are missing \(1 of 41 at 0.02\)"
    ):
        ens = cs.generate.spectral(data, n_clusters=2, bandwidths=[0.02], random_state=0)
    assert ens.labels[40, 0] == -1
    assert (ens.labels[:40] >= 0).all()
    assert ens.recipes[0]["missing"] == 1


def test_spectral_graph_in_more_pieces_than_clusters():
    centers = np.arange(6)[:, None] * 100.0
    data = (
        np.repeat(centers, [9, 3, 8, 2, 7, 4], axis=0) + np.random.default_rng(0).normal(size=(33, 1)) * 0.1
    )
    with pytest.warns(
        ConsilienceWarning,
        match=r"at bandwidth 0.02 the graph has more pieces than n_clusters.*\(9 of 33 at 0.02\)",
    ):
        ens = cs.generate.spectral(data, n_clusters=3, bandwidths=[0.02], random_state=0)
    sizes = np.bincount(ens.labels[ens.labels[:, 0] >= 0, 0])
    assert sorted(sizes) == [7, 8, 9]
    assert ens.recipes[0]["pieces"] == 6


def test_spectral_hopeless_bandwidths():
    data = np.random.default_rng(0).normal(size=(30, 200))
    with pytest.warns(
        ConsilienceWarning, match=r"bandwidth 0.001 leaves fewer than n_clusters=3 objects linked to others"
    ):
        ens = cs.generate.spectral(data, n_clusters=3, bandwidths=[0.001, 1.0], random_state=0)
    assert ens.n_clusterings == 1
    with pytest.raises(
        InputError, match=r"Every bandwidth \(0.001\) leaves fewer than n_clusters=3 of the 30 objects"
    ):
        cs.generate.spectral(data, n_clusters=3, bandwidths=[0.001])
    with pytest.raises(InputError, match=r"bandwidths=0 is not valid: expected a number above 0"):
        cs.generate.spectral(data, n_clusters=3, bandwidths=[1, 0])
    with pytest.raises(InputError, match="bandwidths is empty"):
        cs.generate.spectral(data, n_clusters=3, bandwidths=[])
    with pytest.raises(InputError, match="All rows of X are equal"):
        cs.generate.spectral(np.ones((5, 2)), n_clusters=1)


def test_spectral_refuses_what_does_not_fit():
    with pytest.raises(
        NotEnoughMemoryError, match=r"Spectral clustering of 2000000 objects.*use generate.kmeans"
    ):
        cs.generate.spectral(
            sp.csr_matrix((np.ones(2), ([0, 1], [0, 1])), shape=(2_000_000, 2)), n_clusters=2
        )


def test_spectral_one_cluster_and_k_equal_to_n():
    data = np.random.default_rng(0).normal(size=(8, 2))
    assert cs.generate.spectral(
        data, n_clusters=1, bandwidths=[1], random_state=0
    ).n_clusters_per_clustering.tolist() == [1]
    assert cs.generate.spectral(
        data, n_clusters=8, bandwidths=[1], random_state=0
    ).n_clusters_per_clustering.tolist() == [8]


# ---------------------------------------------------------------------------------------------------------


def test_estimators_are_cloned_seeded_and_named():
    models = [
        KMeans(4, n_init=1),
        AgglomerativeClustering(3),
        make_pipeline(StandardScaler(), KMeans(5, n_init=1)),
    ]
    ens = cs.generate.estimators(X, clusterers=models, n_clusterings=6, random_state=0)
    assert ens.clustering_names == [
        "KMeans 1",
        "AgglomerativeClustering 1",
        "Pipeline 1",
        "KMeans 2",
        "AgglomerativeClustering 2",
        "Pipeline 2",
    ]
    assert ens.n_clusters_per_clustering.tolist() == [4, 3, 5] * 2
    assert ens.recipes[0]["parameters"] == {"n_clusters": 4, "n_init": 1}
    assert not hasattr(models[0], "labels_")
    assert models[0].random_state is None
    again = KMeans(4, n_init=1, random_state=ens.recipes[3]["seed"]).fit_predict(X)
    assert adjusted_rand_score(again, ens.labels[:, 3]) == 1
    by_name = cs.generate.estimators(X, clusterers={"a": KMeans(2), "b": KMeans(3)}, random_state=0)
    assert by_name.clustering_names == ["a", "b"]
    assert cs.generate.estimators(X, clusterers=KMeans(2), random_state=0).n_clusterings == 1


def test_estimators_noise_is_missing():
    data = np.r_[np.zeros((10, 2)), np.ones((10, 2)), [[50.0, 50.0]]]
    ens = cs.generate.estimators(data, clusterers=[DBSCAN(eps=0.5)])
    assert ens.labels[:, 0].tolist() == [0] * 10 + [1] * 10 + [-1]
    with pytest.warns(
        ConsilienceWarning, match=r"DBSCAN 2 called every object noise, so there is no base clustering"
    ):
        ens = cs.generate.estimators(data, clusterers=[DBSCAN(eps=0.5), DBSCAN(min_samples=50)])
    assert ens.n_clusterings == 1
    with pytest.raises(InputError, match="DBSCAN found no clusters: every object is noise"):
        cs.generate.estimators(data, clusterers=[DBSCAN(min_samples=50)])


def test_estimators_samples():
    ens = cs.generate.estimators(
        X, clusterers=KMeans(3), n_clusterings=3, sample_fraction=0.5, random_state=0
    )
    assert (ens.labels < 0).sum(axis=0).tolist() == [90] * 3


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("preprocess", ["none", "standardize"])
@pytest.mark.parametrize("name", ["bagging", "estimators"])
def test_samples_of_objects_and_of_features_together(name, preprocess, form):
    given = {"clusterers": KMeans(4, n_init=1)} if name == "estimators" else {"n_clusters": 4}
    table = np.hstack([X, np.full((len(X), 1), 7.0)])[
        :, [12, *range(12)]
    ]  # a constant column, which "standardize" leaves out
    options = {"sample_fraction": 0.8, "n_clusterings": 6, "preprocess": preprocess, "random_state": 0}
    made = getattr(cs.generate, name)
    both = made(form(table), feature_fraction=0.5, keep_base_models=True, **given, **options)
    rows = made(form(table), **given, **options)
    assert (both.labels < 0).sum(axis=0).tolist() == [36] * 6
    np.testing.assert_array_equal(
        both.labels < 0, rows.labels < 0
    )  # the samples do not depend on the features
    assert not np.array_equal(both.labels, rows.labels)
    d = 13 if preprocess == "none" else 12
    for recipe in both.recipes:
        assert (recipe["sample_fraction"], recipe["feature_fraction"]) == (0.8, 0.5)
        assert len(recipe["features"]) == round(0.5 * d)
        assert preprocess == "none" or 0 not in recipe["features"]
    assert len({tuple(recipe["features"]) for recipe in both.recipes}) > 1
    assert "features" not in rows.recipes[0]
    for i, (member, recipe) in enumerate(zip(both.base_models, both.recipes)):
        found, seen = member.label(form(table)), both.labels[:, i] >= 0
        assert np.array_equal(found[seen], both.labels[seen, i])
        other = table.copy()  # what a member does not see does not matter
        other[:, [j for j in range(13) if j not in recipe["features"]]] += 1e3
        if preprocess == "none":
            assert np.array_equal(member.label(form(other)), found)


def test_the_nearest_center_is_that_in_the_features_seen():
    ens = cs.generate.bagging(
        X,
        n_clusterings=4,
        n_clusters=4,
        sample_fraction=0.5,
        feature_fraction=0.5,
        unseen="nearest",
        random_state=1,
    )
    missing = cs.generate.bagging(
        X, n_clusterings=4, n_clusters=4, sample_fraction=0.5, feature_fraction=0.5, random_state=1
    )
    for i, recipe in enumerate(ens.recipes):
        part, labels = X[:, recipe["features"]], missing.labels[:, i]
        centers = np.stack([part[labels == j].mean(axis=0) for j in range(4)])
        nearest = ((part[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        assert (nearest == ens.labels[:, i]).mean() > 0.97  # centers of the last step but one, to a rounding


class Text:
    """A clusterer with text labels."""

    def get_params(self, deep=True):
        return {}

    def set_params(self, **params):
        return self

    def fit_predict(self, X):
        return np.where(X[:, 0] > 0, "right", "left")


def test_estimators_with_text_labels():
    ens = cs.generate.estimators(X, clusterers=Text(), sample_fraction=0.5, random_state=0)
    assert sorted(ens.categories[0]) == ["left", "right"]
    assert (ens.labels < 0).sum() == 90


def test_estimators_errors():
    with pytest.raises(InputError, match=r"clusterers is empty"):
        cs.generate.estimators(X, clusterers=[])
    with pytest.raises(
        InputError, match=r"clusterers\[0\] is the class KMeans; pass an instance, KMeans\(\)"
    ):
        cs.generate.estimators(X, clusterers=[KMeans])
    with pytest.raises(InputError, match=r"clusterers\[1\]=3 is not a scikit-learn style clusterer"):
        cs.generate.estimators(X, clusterers=[KMeans(3), 3])
    with pytest.raises(
        InputError, match=r"KMeans failed on X of shape \(180, 12\): ValueError: n_samples=180 should be"
    ):
        cs.generate.estimators(X, clusterers=[KMeans(500)])
