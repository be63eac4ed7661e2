"""Landmark generators: each formula against a plain version, their promises, and their errors."""

import json
import pickle
import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_blobs, make_moons

import consilience as cs
from consilience._kernels.neighbors import landmarks as kernels
from consilience._kernels.neighbors.landmarks import Rows, place_landmarks
from consilience.errors import ConsilienceWarning, InputError, NotEnoughMemoryError
from consilience.generate import _landmarks

from ..zoo import random_sparse


def row_vectors(index, squares, sigma, vectors):
    """u of Eq. (5) before it is scaled, without a compiled line."""
    a = np.exp(-(squares - squares[:, :1]) / (2 * sigma**2))
    return np.einsum("it,itc->ic", a / a.sum(axis=1, keepdims=True), vectors[index])


X, y = make_blobs(180, 12, centers=4, cluster_std=2.0, random_state=3)
SMALL = {"n_landmarks": 40, "n_clusters": (2, 9)}


def make(X, m=3, **options):
    return cs.generate.landmarks(X, n_clusterings=m, **{**SMALL, "random_state": 0, **options})


def rows_of(X):
    return Rows(X, np.arange(X.shape[1]), 1.0)


def neighbors(X, landmarks, K):
    return _landmarks.neighbors_of(rows_of(X), landmarks, K, 0, X.shape[0])


def all_squares(X, points):
    return ((X[:, None, :] - points[None]) ** 2).sum(axis=2)


def dense_affinity(X, points, K, sigma):
    """a of Eq. (2), (n, p), from all distances."""
    squares = all_squares(X, points)
    A = np.zeros_like(squares)
    for i, order in enumerate(np.argsort(squares, axis=1, kind="stable")[:, :K]):
        A[i, order] = np.exp(-squares[i, order] / (2 * sigma**2))
    return A


@pytest.fixture
def exact(monkeypatch):
    """All landmarks are near each: the search then is exact."""
    monkeypatch.setattr(kernels, "NEARBY", 10**6)


# Formulas ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbors_are_those_of_a_full_search(exact, seed, dtype):
    X = np.random.default_rng(seed).normal(size=(150, 5)).astype(dtype)
    landmarks = place_landmarks(X, 30, 4, seed=seed)
    index, squares = neighbors(X, landmarks, 4)
    wanted = all_squares(X, landmarks.points)
    np.testing.assert_allclose(squares, np.sort(wanted, axis=1)[:, :4], rtol=1e-4)
    np.testing.assert_allclose(np.take_along_axis(wanted, index, axis=1), squares, rtol=1e-4)


def test_most_neighbors_are_found_through_groups():
    X = np.ascontiguousarray(load_digits().data)
    landmarks = place_landmarks(X, 400, 5, seed=0)
    index, _ = neighbors(X, landmarks, 5)
    wanted = np.argsort(all_squares(X, landmarks.points), axis=1)[:, :5]
    found = np.mean([len(set(a) & set(b)) for a, b in zip(index.tolist(), wanted.tolist())]) / 5
    assert found > 0.95
    assert len(landmarks.groups) == 20  # the root of 400


def test_every_landmark_is_in_one_group_and_nearest_to_itself(seed):
    X = np.random.default_rng(seed).normal(size=(300, 3))
    landmarks = place_landmarks(X, 50, 2, seed=seed)
    assert (np.diff(landmarks.starts) > 0).all()
    assert landmarks.starts[-1] == len(landmarks.points) == 50
    np.testing.assert_array_equal(landmarks.nearby[:, 0], np.arange(50))
    assert landmarks.nearby.shape == (50, 20)


@pytest.mark.parametrize("weighted", [False, True])
def test_graph_of_landmarks_is_that_of_the_dense_affinity(exact, seed, weighted):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3))
    w = rng.uniform(0.2, 3, 80) if weighted else None
    landmarks = place_landmarks(X, 20, 3, seed=seed)
    E = kernels.graph_of_landmarks(*neighbors(X, landmarks, 3), 0.7, 20, w)
    A = dense_affinity(X, landmarks.points, 3, 0.7)
    w = np.ones(80) if w is None else w
    np.testing.assert_allclose(E, A.T @ np.diag(w / A.sum(axis=1)) @ A, atol=1e-12)


def test_transfer_cut_is_the_normalized_cut_of_the_whole_graph(exact, seed):
    """Eigenvectors of the (n + p) x (n + p) graph, by a generic solver, span what Eq. (4) and (5) do."""
    X = np.random.default_rng(seed).normal(size=(60, 2))
    landmarks = place_landmarks(X, 15, 4, seed=seed)
    A = dense_affinity(X, landmarks.points, 4, 1.0)
    n, p = A.shape
    W = np.block([[np.zeros((n, n)), A], [A.T, np.zeros((p, p))]])
    degree = W.sum(axis=1)
    vectors = scipy.linalg.eigh(np.diag(degree) - W, np.diag(degree))[1][:, :3]
    k = 3
    V = _landmarks.cut_landmarks(A.T @ np.diag(1 / A.sum(axis=1)) @ A, k, landmarks.points, seed=0)[0]
    both = np.vstack([row_vectors(*neighbors(X, landmarks, 4), 1.0, V), V])
    for column in range(k):  # up to a factor, which differs between the two sides
        for side in (slice(0, n), slice(n, None)):
            a, b = both[side, column], vectors[side, column]
            assert abs(a @ b) == pytest.approx(np.linalg.norm(a) * np.linalg.norm(b), rel=1e-7)


def test_labels_are_the_nearest_centers_of_the_rows_vectors(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(90, 4))
    landmarks = place_landmarks(X, 25, 3, seed=seed)
    V, C = rng.normal(size=(25, 6)), rng.normal(size=(5, 6))
    found = neighbors(X, landmarks, 3)
    U = row_vectors(*found, 1.3, V)
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    np.testing.assert_array_equal(kernels.label_rows(*found, 1.3, V, C), all_squares(U, C).argmin(axis=1))


def test_weights_count_like_repeated_rows(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(70, 3)) + 4 * rng.integers(0, 3, (70, 1))
    times = rng.integers(1, 5, 70)
    landmarks = place_landmarks(X, 30, 4, seed=1)
    options = {"scale": 0.8, "seed": 2}
    _, once, facts = _landmarks.learn(rows_of(X), landmarks, 5, 4, weight=times.astype(float), **options)
    many = rows_of(np.repeat(X, times, axis=0))
    _, repeated, other = _landmarks.learn(many, landmarks, 5, 4, **options)
    np.testing.assert_array_equal(np.repeat(once, times), repeated)
    assert facts["sigma"] == pytest.approx(other["sigma"], rel=1e-12)


def test_pieces_are_the_clusters_where_there_are_as_many():
    X, y = make_blobs(400, 3, centers=8, cluster_std=0.01, random_state=1)
    ens = make(X, 4, feature_fraction=1.0, n_clusters=8, n_landmarks=100)
    for i, recipe in enumerate(ens.recipes):
        assert recipe["pieces"] >= 8
        assert cs.metrics.ari(y, ens.labels[:, i]) == 1.0
    fewer = make(X, 2, feature_fraction=1.0, n_clusters=3, n_landmarks=100)
    assert fewer.n_clusters_per_clustering.tolist() == [3, 3]
    for column in fewer.labels.T:  # no blob is cut
        assert all(len(np.unique(column[y == blob])) == 1 for blob in range(8))


def test_finds_what_k_means_cannot():
    X, y = make_moons(3000, noise=0.06, random_state=0)
    ens = cs.generate.landmarks(X, n_clusterings=20, feature_fraction=1.0, random_state=0)
    assert cs.metrics.nmi(y, cs.consensus.LWEA(2).fit(ens).labels_) > 0.95


# Promises ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [2, 3, None])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_same_answer_for_any_number_of_threads(kind, n_jobs, seed, monkeypatch):
    monkeypatch.setattr(_landmarks, "BLOCK", 32)
    monkeypatch.setattr("consilience._members.landmarks.BLOCK", 32)
    table = kind(X)
    first, other = (
        make(table, 4, random_state=seed, n_jobs=jobs, preprocess="diverse") for jobs in (1, n_jobs)
    )
    assert first == other
    assert first.recipes == other.recipes


def test_first_members_do_not_depend_on_how_many_follow():
    few, many = make(X, 2, preprocess="diverse"), make(X, 6, preprocess="diverse")
    np.testing.assert_array_equal(few.labels, many.labels[:, :2])
    assert few.recipes == many.recipes[:2]


@pytest.mark.parametrize("preprocess", ["none", "standardize", "ranks", "diverse", "unit"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_members_label_the_rows_they_were_made_from_as_the_ensemble_does(preprocess, dtype, seed):
    table = X.astype(dtype)
    ens = make(table, 4, preprocess=preprocess, keep_base_models=True, random_state=seed)
    some = np.random.default_rng(seed).permutation(len(X))[:37]
    for i, member in enumerate(ens.base_models):
        np.testing.assert_array_equal(member.label(table), ens.labels[:, i])
        np.testing.assert_array_equal(member.label(table[some]), ens.labels[some, i])
        assert member.label(table[:1]).tolist() == ens.labels[:1, i].tolist()


def test_members_of_sparse_features_label_sparse_rows(seed):
    rng = np.random.default_rng(seed)
    table = random_sparse((200, 30), 0.3, seed=rng)
    ens = make(table, 3, keep_base_models=True, preprocess="diverse")
    for i, member in enumerate(ens.base_models):
        np.testing.assert_array_equal(member.label(table[50:90]), ens.labels[50:90, i])


def test_labels_of_members_are_codes_even_where_a_center_has_no_objects(monkeypatch):
    def with_a_far_one(*arguments, **options):
        vectors, centers, pieces = cut(*arguments, **options)
        return vectors, np.vstack([np.full((1, centers.shape[1]), 1e6), centers]), pieces

    cut = _landmarks.cut_landmarks
    monkeypatch.setattr(_landmarks, "cut_landmarks", with_a_far_one)
    ens = make(X, 2, keep_base_models=True)
    for i, member in enumerate(ens.base_models):
        np.testing.assert_array_equal(member.label(X), ens.labels[:, i])
        assert ens.n_clusters_per_clustering[i] == ens.recipes[i]["n_clusters"]
        assert member.label(X).max() == ens.n_clusters_per_clustering[i] - 1


def test_members_are_kept_only_if_asked_for_and_go_with_their_clusterings():
    assert make(X).base_models is None
    ens = make(X, 3, keep_base_models=True)
    kept = ens.base_models
    assert ens.select([2, 0]).base_models == [kept[2], kept[0]]
    assert cs.Ensemble.concatenate([ens, ens]).base_models == kept + kept
    assert cs.Ensemble.concatenate([ens, make(X)]).base_models is None
    assert ens.take([0, 1, 5]).base_models is None  # clusters left empty disappear, and codes change
    again = pickle.loads(pickle.dumps(ens)).base_models
    np.testing.assert_array_equal(again[1].label(X), ens.labels[:, 1])
    with pytest.raises(InputError, match="base_models"):
        cs.Ensemble(ens.labels, base_models=kept[:2])


def test_a_member_refuses_other_features():
    member = make(X, 1, keep_base_models=True).base_models[0]
    with pytest.raises(InputError, match="X has 11 features, but .* learned from 12"):
        member.label(X[:, :11])


def test_sparse_and_dense_features_give_the_same(seed):
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((250, 40)) < 0.2, rng.random((250, 40)), 0) + np.eye(250, 40)
    dense[:, :10] += (rng.integers(0, 3, 250)[:, None] == np.arange(10) // 4) * 2.0
    landmarks = place_landmarks(dense, 40, 5, seed=seed)
    (index, squares), (other, others) = (
        neighbors(kind(dense), landmarks, 5) for kind in (np.asarray, sp.csr_array)
    )
    np.testing.assert_array_equal(index, other)
    np.testing.assert_allclose(squares, others, atol=1e-12)
    # Centers differ in their last digits, and with them an object on the border now and then.
    for a, b in zip(make(dense, 4).labels.T, make(sp.csr_array(dense), 4).labels.T):
        assert cs.metrics.ari(b, a) > 0.95


def test_float32_stays_float32():
    member = make(X.astype(np.float32), 1, keep_base_models=True).base_models[0]
    assert member.model.landmarks.points.dtype == np.float32


@pytest.mark.parametrize("factor", [2.0**-180, 2.0**60, 2.0**250])
def test_the_unit_of_the_features_does_not_matter(factor):
    np.testing.assert_array_equal(make(X * factor).labels, make(X).labels)


@pytest.mark.parametrize("largest", [1e-43, 1e-30, 1e38])
def test_float32_near_its_ends(largest):
    scaled = (X / np.abs(X).max() * largest).astype(np.float32)
    assert (make(scaled).n_clusters_per_clustering > 1).all()


def test_recipes_are_json_and_name_given_columns():
    table = X.copy()
    table[:, 3] = 7.0
    ens = make(table, 6, preprocess="diverse")
    assert json.loads(json.dumps(ens.recipes)) == ens.recipes
    for recipe in ens.recipes:
        assert recipe["algorithm"] == "landmarks"
        assert recipe["preprocess"] == "none" or 3 not in recipe["features"]
        assert 0.5 <= recipe["scale"] <= 1
        assert recipe["n_landmarks"] == 40


def test_range_of_k():
    ks = [
        recipe["n_clusters"] for recipe in cs.generate.landmarks(X, n_clusterings=40, random_state=0).recipes
    ]
    assert (min(ks), max(ks)) == (4, 14)  # a third, and the square root of 180 rounded up
    big = np.random.default_rng(0).normal(size=(6000, 2))
    ks = [
        recipe["n_clusters"]
        for recipe in cs.generate.landmarks(big, n_clusterings=30, n_landmarks=80, random_state=0).recipes
    ]
    assert min(ks) >= 20
    assert max(ks) <= 60
    maker = cs.generate.generator("landmarks")
    ks = [
        recipe["n_clusters"] for recipe in maker(X, n_clusters=30, n_clusterings=30, random_state=0).recipes
    ]
    assert min(ks) >= 10
    assert max(ks) > 14  # room for as many as the consensus is asked for


# Odd input --------------------------------------------------------------------------------------------------


def test_fewer_objects_than_landmarks():
    ens = make(X[:25], 4, n_landmarks=600, keep_base_models=True)
    assert all(recipe["n_landmarks"] == 25 for recipe in ens.recipes)
    np.testing.assert_array_equal(ens.base_models[0].label(X[:25]), ens.labels[:, 0])
    two = make(X[:2], 2, n_clusters=None)
    assert two.n_clusters_per_clustering.tolist() == [2, 2]


def test_repeated_rows_are_one_landmark():
    table = np.repeat(X[:6], 30, axis=0)
    ens = make(table, 3, n_clusters=(2, 6))
    assert all(recipe["n_landmarks"] <= 6 for recipe in ens.recipes)
    for column in ens.labels.T:
        assert all(len(np.unique(column[a : a + 30])) == 1 for a in range(0, 180, 30))


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_equal_rows_are_one_cluster(kind):
    ens = make(kind(np.full((20, 3), 2.0)), 2, n_clusters=None, keep_base_models=True)
    assert ens.n_clusters_per_clustering.tolist() == [1, 1]
    assert ens.base_models[0].label(kind(np.full((2, 3), 9.0))).tolist() == [0, 0]


@pytest.mark.parametrize("scales", [(0.5, 1.0), (1e-9, 1e-9), (1e9, 1e9)])
def test_rows_far_from_all_others_and_extreme_widths(scales):
    table = np.vstack([X, X[:1] + 1e6])
    ens = make(table, 4, scales=scales, keep_base_models=True)
    assert (ens.n_clusters_per_clustering > 1).all()
    np.testing.assert_array_equal(ens.base_models[0].label(table), ens.labels[:, 0])


def test_a_subspace_without_enough_distinct_rows_says_so():
    table = np.zeros((60, 8))
    table[np.arange(60), np.arange(60) % 8] = 1.0
    with pytest.warns(ConsilienceWarning, match="fewer clusters than asked for"):
        make(table, 4, feature_fraction=0.25, n_clusters=8)


def test_new_rows_whose_landmarks_nobody_used_go_with_the_nearest():
    E = np.zeros((3, 3))
    E[:2, :2] = [[2.0, 0.5], [0.5, 2.0]]
    points = np.array([[0.0], [5.0], [4.9]])
    vectors, _, _ = _landmarks.cut_landmarks(E, 2, points, seed=0)
    np.testing.assert_array_equal(vectors[2], vectors[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"n_clusters": (2, 41)},
            r"n_landmarks=40 is below n_clusters=\d+, .*raise n_landmarks, or lower n_clusters to at most 40",
        ),
        ({"n_clusters": (2, 181)}, "n_clusters=181 exceeds the 180 objects"),
        ({"n_clusters": (9, 3)}, "the first is above the second"),
        ({"feature_fraction": 0}, "feature_fraction=0"),
        ({"n_landmarks": 0}, "n_landmarks=0"),
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"scales": (1.0, 0.5)}, "swap"),
        ({"scales": 1.0}, "expected a pair"),
        ({"preprocess": "wash"}, "preprocess='wash'"),
        ({"keep_base_models": "yes"}, "keep_base_models='yes'"),
    ],
)
def test_what_it_says_to_wrong_values(options, message):
    with pytest.raises(InputError, match=message):
        make(X, 20, **options)


def test_refused_beforehand(monkeypatch):
    monkeypatch.setattr("consilience._kernels.runtime.memory.available_memory", lambda: 10_000)
    with pytest.raises(NotEnoughMemoryError, match=r"Landmarks of 3 base clusterings .*lower n_landmarks"):
        make(X)


def test_reached_by_name():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = cs.ConsensusClustering(4, generator="landmarks", random_state=0).fit(X)
    assert cs.metrics.ari(y, model.labels_) > 0.9


def test_a_sparse_row_that_names_a_column_more_often_than_there_are_columns():
    """SciPy allows it, and adds the entries up; so many of them must not run over."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    landmarks = place_landmarks(X, 10, 3, seed=0)
    parts = [np.tile(X[:, [j]] / 5, 5) for j in range(3)]
    data, indices = np.hstack(parts).ravel(), np.tile(np.repeat(np.arange(3), 5), 40)
    doubled = sp.csr_array((data, indices, 15 * np.arange(41)), shape=(40, 3))
    index, squares = np.empty((40, 3), np.int32), np.empty((40, 3))
    kernels.nearest_landmarks(Rows(doubled, np.arange(3), 1.0), landmarks, 0, 40, index, squares)
    assert ((index >= 0) & (index < len(landmarks.points))).all()
    assert np.isfinite(squares).all()
