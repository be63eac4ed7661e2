"""Preprocessing of the features: what each step does, on new rows too, and that every generator has it."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import rankdata
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler, normalize

import consilience as cs
from consilience._data.features import Features
from consilience._members import preparation as _prepare
from consilience._members.assembly import member_seeds
from consilience._members.preparation import DENSE_ONLY, PREPARATIONS, Columns, Views, learn, suitable
from consilience.errors import ConsilienceWarning, InputError, NotEnoughMemoryError

from ..commands import runner

CHANGING = [name for name in PREPARATIONS if name != "none"]
FOR_SPARSE = [name for name in CHANGING if name not in DENSE_ONLY]


def table(seed: int, n: int = 60, d: int = 5) -> np.ndarray:
    """Columns of different scale, with ties, one of them constant; nothing negative, some zeros."""
    rng = np.random.default_rng(seed)
    X = rng.gamma(1.0, 1.0, (n, d)) * (rng.random((n, d)) < 0.7) * 10.0 ** np.arange(d)
    X[:, 1] = np.rint(X[:, 1] / 5)
    X[:, 2] = 4.0
    return X


def prepared(name: str, X, weights=None):
    features = Features(X, sample_weight=weights)
    return learn(name, features).apply(features.X)


def dense(X) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else X


def varying(X: np.ndarray) -> np.ndarray:
    return X[:, np.ptp(X, axis=0) > 0]


def expected(name: str, X: np.ndarray) -> np.ndarray:
    """What others make of it, constant columns left out."""
    if name == "pearson":
        return normalize(X - X.mean(axis=1, keepdims=True))
    X = varying(X)
    if name == "standardize":
        return StandardScaler().fit_transform(X)
    if name == "ranks":
        return (rankdata(X, axis=0) - 0.5) / len(X)
    if name == "log":
        return np.log1p(X)
    if name == "tf-idf":
        return TfidfTransformer(smooth_idf=False).fit_transform(X).toarray()
    return normalize(X)


@pytest.mark.parametrize("name", CHANGING)
def test_agrees_with_others(name, seed):
    X = table(seed)
    before = X.copy()
    np.testing.assert_allclose(prepared(name, X), expected(name, X), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(X, before)


def test_by_hand():
    X = np.array([[1.0, 3.0, 7.0], [3.0, 4.0, 7.0], [3.0, 0.0, 7.0], [5.0, 0.0, 7.0]])
    r = np.sqrt(2)
    np.testing.assert_allclose(prepared("standardize", X)[:, 0], [-r, 0, 0, r], atol=1e-15)
    np.testing.assert_allclose(prepared("ranks", X)[:, 0], [0.125, 0.5, 0.5, 0.875])
    np.testing.assert_allclose(prepared("ranks", X)[:, 1], [0.625, 0.875, 0.25, 0.25])
    np.testing.assert_allclose(prepared("unit", X)[1], [0.6, 0.8])
    np.testing.assert_allclose(learn("tf-idf", Features(X)).idf, [1, 1 + np.log(2)])
    assert learn("log", Features(X)).columns.tolist() == [0, 1]


@pytest.mark.parametrize("name", CHANGING)
def test_weights_are_repeated_objects(name, seed):
    X = table(seed)
    times = np.random.default_rng(seed).integers(1, 5, len(X))
    repeated = prepared(name, np.repeat(X, times, axis=0))
    for unit in (1.0, 0.3, 1e200):
        np.testing.assert_allclose(
            np.repeat(prepared(name, X, times * unit), times, axis=0), repeated, rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", FOR_SPARSE)
def test_sparse_stays_sparse_and_is_the_same(name, weighted, seed):
    X = table(seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2, len(X)) if weighted else None
    found, full = prepared(name, sp.csr_array(X), weights), prepared(name, X, weights)
    assert sp.issparse(found)
    assert found.nnz <= np.count_nonzero(X)
    shift = full[0] - found.toarray()[0] if name == "standardize" else 0.0  # the one thing that is not done
    np.testing.assert_allclose(found.toarray() + shift, full, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
@pytest.mark.parametrize("name", PREPARATIONS)
def test_rows_are_prepared_alike_whoever_comes_with_them(name, kind, seed):
    """The rows it was learned from, together and in parts, to the last bit; precision and storage stay."""
    if name in DENSE_ONLY and kind == "sparse":
        pytest.skip("refused")
    X = table(seed)
    X = sp.csr_array(X) if kind == "sparse" else X.astype(np.float32) if kind == "float32" else X
    features = Features(X)
    (view,) = Views(name, features, [0], note=False)
    trained = view.features.X
    assert trained.dtype == X.dtype
    assert sp.issparse(trained) == sp.issparse(X)
    for rows in (np.arange(60), np.arange(7, 9), np.array([30])):
        again = view.preparation.apply(features.X[rows])
        np.testing.assert_array_equal(dense(again), dense(trained)[rows])


@pytest.mark.parametrize("name", FOR_SPARSE)
def test_new_rows_stored_the_other_way(name, seed):
    X = table(seed)
    for trained, other in ((X, sp.csr_array(X)), (sp.csr_array(X), X)):
        preparation = learn(name, Features(trained))
        np.testing.assert_allclose(
            dense(preparation.apply(other)), dense(preparation.apply(trained)), rtol=1e-12, atol=1e-14
        )


def test_new_rows_of_other_width_are_refused():
    preparation = learn("ranks", Features(table(0)))
    with pytest.raises(InputError, match=r"X has 3 features, but the preparation 'ranks' was learned from 5"):
        preparation.apply(np.ones((2, 3)))


def test_ranks_of_new_values_lie_between_their_neighbors():
    preparation = learn("ranks", Features([[0.0], [10.0], [20.0], [20.0]]))
    found = preparation.apply(np.array([[-5.0], [0.0], [5.0], [20.0], [99.0]]))
    np.testing.assert_allclose(found.ravel(), [0.125, 0.125, 0.25, 0.75, 0.75])


def test_ranks_of_very_many_values_are_interpolated(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.standard_normal(3000), np.full(1000, 0.25)])[:, None]
    exact = prepared("ranks", X)
    monkeypatch.setattr(_prepare, "MOST_PLACES", 500)
    features = Features(X)
    preparation = learn("ranks", features)
    assert len(preparation.places[0][0]) <= 500
    found = preparation.apply(features.X)
    assert np.abs(found - exact).max() < 1 / 249
    assert (np.diff(found[np.argsort(X[:, 0]), 0]) >= 0).all()
    np.testing.assert_array_equal(found[-1000:], exact[-1000:])  # what many share keeps its place


def test_ranks_see_order_alone(seed):
    X = np.random.default_rng(seed).standard_normal((50, 3))
    for bent in (np.exp(X), X**3, np.arctan(X), 5 * X - 2):
        np.testing.assert_array_equal(prepared("ranks", X), prepared("ranks", bent))


def test_standardized_sees_no_unit(seed):
    X = np.random.default_rng(seed).standard_normal((50, 3))
    moved = X * [1e-9, 7.0, 1e12] + [1e-6, 3e3, -1e13]
    np.testing.assert_allclose(prepared("standardize", X), prepared("standardize", moved), atol=1e-10)
    np.testing.assert_array_equal(prepared("standardize", X), prepared("standardize", X * 2.0**40))


def test_a_mean_far_away_costs_no_digit():
    X = 1e9 + np.arange(10.0)[:, None]
    np.testing.assert_allclose(
        prepared("standardize", X), prepared("standardize", X - 1e9), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name", CHANGING)
def test_columns_of_any_scale(name, storage, seed):
    """From 1e-300 to 1e300, and subnormal: finite, quiet, and where columns are seen apart, of one size."""
    if name in DENSE_ONLY and storage is sp.csr_array:
        pytest.skip("refused")
    Z = np.random.default_rng(seed).uniform(1, 2, (40, 6))
    sizes = [1e-300, 1e-160, 1.0, 1e160, 1e300, 5e-322]
    features = Features(Z)
    features.X = storage(Z * sizes)  # past the door, which refuses what generators could not square
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = dense(learn(name, features).apply(features.X))
    assert np.isfinite(found).all()
    if name in ("standardize", "ranks"):
        wanted = prepared(name, storage(Z))
        np.testing.assert_allclose(found[:, :5], dense(wanted)[:, :5], rtol=1e-9, atol=1e-12)
    if name in ("tf-idf", "unit"):
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)


@pytest.mark.parametrize("name", [name for name in CHANGING if name != "pearson"])
def test_constant_columns_are_left_out(name):
    X = table(0)
    X[:, 4] = 0.1 * 3 + np.where(np.arange(60) % 2, 1e-17, np.spacing(0.3))  # nothing but rounding
    features = Features(X, feature_names=list("abcde"))
    assert learn(name, features).columns.tolist() == [0, 1, 3]
    (view,) = Views(name, features, [0])
    assert view.features.feature_names == ["a", "b", "d"]
    assert view.original(np.array([0, 2])) == [0, 3]
    (view,) = Views("none", features, [0], note=False)
    assert view.features is features


@pytest.mark.parametrize("value", [0.0, 3.0])
@pytest.mark.parametrize("name", [*PREPARATIONS, "diverse"])
def test_nothing_but_constant_columns(name, value):
    ens = cs.generate.kmeans(
        np.full((6, 3), value), n_clusterings=2, n_clusters=1, preprocess=name, random_state=0
    )
    assert ens.labels.tolist() == [[0, 0]] * 6
    if name == "diverse":
        assert {recipe["preprocess"] for recipe in ens.recipes} == {"none"}


def test_rows_of_zeros_have_no_direction():
    X = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0], [1.0, 0.0]])
    for storage in (np.asarray, sp.csr_array):
        for name in ("unit", "tf-idf"):
            found = dense(prepared(name, storage(X)))
            np.testing.assert_allclose(np.linalg.norm(found, axis=1), [0, 1, 0, 1])


# What suits ------------------------------------------------------------------------------------------------


def test_what_suits(seed):
    rng = np.random.default_rng(seed)
    signed = rng.standard_normal((30, 20))
    counts = rng.poisson(0.08, (30, 20)) * 3
    cases = [
        (signed, ["none", "standardize", "ranks"]),
        (np.abs(signed), ["none", "standardize", "ranks"]),
        (rng.integers(0, 9, (30, 20)), ["none", "standardize", "ranks"]),
        (counts, ["tf-idf", "unit"]),
        (sp.csr_array(counts), ["tf-idf", "unit"]),
        (sp.csr_array(np.abs(signed)), ["tf-idf", "unit"]),
        (sp.csr_array(counts > 0), ["tf-idf", "unit"]),
        (sp.csr_array(signed), ["none", "standardize", "unit"]),
        (sp.csr_array(signed[:, :1]), ["none", "standardize"]),
        (sp.csr_array(1.5 * counts.max(axis=1, keepdims=True)), ["none"]),
        (np.ones((4, 2)), ["none"]),
    ]
    for X, names in cases:
        assert suitable(Features(X)) == names


def test_diverse_draws_with_equal_chances_and_more_members_leave_the_first():
    features = Features(table(0))
    names = Views("diverse", features, member_seeds(0, 3000)).names
    times = [names.count(name) for name in ("none", "standardize", "ranks")]
    assert sum(times) == 3000
    assert max(times) - min(times) < 200
    assert Views("diverse", features, member_seeds(0, 50)).names == names[:50]


@pytest.mark.parametrize("name", DENSE_ONLY)
def test_what_fills_sparse_features_is_refused(name):
    with pytest.raises(
        InputError, match=rf"preprocess='{name}' on a sparse X of shape \(60, 5\).*X\.toarray\(\)"
    ):
        cs.generate.kmeans(sp.csr_array(table(0)), n_clusterings=2, n_clusters=2, preprocess=name)


def test_squared_distances_of_pearson_are_correlations(seed):
    X = np.random.default_rng(seed).normal(size=(12, 7))
    X[:, 3] = 5.0  # a constant column is part of the rows
    Z = prepared("pearson", X)
    apart = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(apart, 2 * (1 - np.corrcoef(X)), atol=1e-12)
    assert learn("pearson", Features(X)).columns.tolist() == list(range(7))


def test_a_constant_row_correlates_with_nothing():
    for dtype in (np.float32, np.float64):
        X = np.array([[0.1, 0.1, 0.1], [1.0, 2.0, 3.0], [1e30, 1e30, 1e30]], dtype)
        np.testing.assert_allclose(np.linalg.norm(prepared("pearson", X), axis=1), [0, 1, 0], atol=1e-6)


def test_pearson_of_two_features_is_refused():
    with pytest.raises(InputError, match="preprocess='pearson' on 2 features: every correlation.*at least 3"):
        cs.generate.kmeans(table(0)[:, :2], n_clusterings=2, n_clusters=2, preprocess="pearson")


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name", ["log", "tf-idf"])
def test_negative_values_are_refused(name, storage):
    X = table(0)
    preparation = learn(name, Features(storage(X)))
    X[3, 0] = -2.5
    with pytest.raises(
        InputError, match=f"preprocess='{name}' is for values that are not negative.*-2.5.*='standardize'\\.$"
    ):
        cs.generate.kmeans(storage(X), n_clusterings=2, n_clusters=2, preprocess=name)
    with pytest.raises(InputError, match="not negative"):
        preparation.apply(storage(X))


@pytest.mark.parametrize("wrong", ["standardise", "raw", 3, True, ["ranks"]])
def test_other_words_are_refused(wrong):
    with pytest.raises(InputError, match=r"preprocess=.* is not valid: expected .*'standardize'.*'diverse'"):
        cs.generate.random_k(table(0), n_clusterings=2, preprocess=wrong)


def test_no_memory_for_a_copy_is_said_beforehand(monkeypatch):
    X = np.random.default_rng(0).standard_normal((2000, 50))
    monkeypatch.setattr("consilience._kernels.runtime.memory.available_memory", lambda: 700_000)
    for preprocess in ("standardize", "ranks", "unit"):
        with pytest.raises(
            NotEnoughMemoryError, match=f"preprocess='{preprocess}' on 2000 objects with 50 features"
        ):
            learn(preprocess, Features(X))


def test_one_copy_is_held_at_a_time():
    import weakref

    held: list[weakref.ref] = []
    for view in Views("diverse", Features(table(0)), member_seeds(0, 12)):
        assert all(copy() is None for copy in held)
        if view.preparation.name != "none":
            held.append(weakref.ref(view.features.X))
        del view
    assert len(held) == 2


# The note on scales ----------------------------------------------------------------------------------------


def test_narrow_columns_are_named_once():
    rng = np.random.default_rng(0)
    X = rng.random((50, 4)) * [1, 5000, 100, 0.01]
    features = Features(X, feature_names=["height", "income", "age", "share"])
    with pytest.warns(ConsilienceWarning, match="very different scale") as caught:
        cs.ConsensusClustering(3, generator="random-k", n_clusterings=4, random_state=0).fit(features)
    (note,) = [str(w.message) for w in caught]
    assert "beside 'income', from " in note
    assert "2 of 4 have less than a thousandth of that range ('height' and 'share')" in note
    assert "preprocess='standardize' or 'diverse'" in note
    with pytest.warns(ConsilienceWarning, match=r"beside column 1, .*\(column 0 and column 3\)"):
        cs.generate.bagging(X, n_clusterings=3, n_clusters=3, random_state=0)


def test_the_note_is_not_for_those_who_took_care():
    X = np.random.default_rng(0).random((50, 3)) * [1, 5000, 0.01]
    constant = np.hstack([X[:, :1], np.full((50, 1), 1e9)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for preprocess in (*CHANGING, "diverse"):
            cs.generate.random_k(X, n_clusterings=4, preprocess=preprocess, random_state=0)
        cs.generate.random_k(X[:, :1], n_clusterings=4, random_state=0)
        cs.generate.random_k(constant, n_clusterings=4, random_state=0)
        cs.generate.estimators(X, clusterers=KMeans(3, n_init=1), random_state=0)


def test_the_widest_number_of_a_column():
    X = np.array([[1.0, -1.7e308], [2.0, 1.7e308]])
    assert Columns(X).varying.tolist() == [0, 1]
    assert Columns(X).half_range[1] == 1.7e308


# Generators ------------------------------------------------------------------------------------------------

MAKERS = {
    "kmeans": {"n_clusters": 4},
    "random_k": {"n_clusters": (2, 6)},
    "random_features": {"n_clusters": (2, 5), "feature_fraction": 0.7},
    "stratified": {"n_clusters": (2, 5), "feature_fraction": 0.7, "n_strata": 2},
    "bagging": {"n_clusters": 3, "unseen": "nearest"},
    "metric_subspace": {"n_clusters": (2, 6)},
    "spectral": {"n_clusters": 3, "bandwidths": [0.5, 1, 2]},
    "estimators": {"clusterers": [KMeans(3, n_init=1), KMeans(4, n_init=1)], "sample_fraction": 0.9},
}
every_maker = pytest.mark.parametrize("maker", MAKERS)


def make(maker: str, X, **options):
    settings = {"n_clusterings": 9, "random_state": 0, "n_jobs": 1, **MAKERS[maker], **options}
    return getattr(cs.generate, maker)(X, **settings)


@every_maker
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_diverse_members(maker, storage, seed):
    X = storage(table(seed))
    first = make(maker, X, preprocess="diverse", random_state=seed)
    names = [recipe["preprocess"] for recipe in first.recipes]
    assert len(set(names)) > 1
    assert set(names) <= set(suitable(Features(X)))
    assert json.loads(json.dumps(first.recipes)) == first.recipes
    for n_jobs in (2, None):
        again = make(maker, X, preprocess="diverse", random_state=seed, n_jobs=n_jobs)
        np.testing.assert_array_equal(again.labels, first.labels)
        assert again.recipes == first.recipes


@every_maker
@pytest.mark.filterwarnings("ignore::consilience.errors.ConsilienceWarning")
def test_each_member_is_the_one_of_its_preparation(maker, seed):
    """Members keep their place and seed: those of "diverse" are those of a run with one preparation."""
    X = table(seed)
    mixed = make(maker, X, preprocess="diverse", random_state=seed)
    for name in {recipe["preprocess"] for recipe in mixed.recipes}:
        alone = make(maker, X, preprocess=name, random_state=seed)
        for i, recipe in enumerate(mixed.recipes):
            if recipe["preprocess"] == name:
                np.testing.assert_array_equal(mixed.labels[:, i], alone.labels[:, i])
                assert recipe == alone.recipes[i]


@every_maker
def test_preparing_is_what_a_user_would_do_first(maker, seed):
    X = table(seed)
    for name in CHANGING:
        ours = make(maker, X, preprocess=name)
        theirs = make(maker, prepared(name, X))
        np.testing.assert_array_equal(ours.labels, theirs.labels)


@pytest.mark.parametrize("maker", ["random_features", "stratified", "metric_subspace"])
def test_recipes_name_columns_of_what_was_given(maker):
    for recipe in make(maker, table(0), preprocess="ranks").recipes:
        assert 2 not in recipe["features"]  # constant
        assert set(recipe["features"]) <= {0, 1, 3, 4}


def test_weights_reach_the_preparation(seed):
    X = table(seed)
    weights = np.random.default_rng(seed).uniform(0.1, 9, len(X))
    ours = cs.generate.kmeans(
        X, n_clusterings=3, n_clusters=4, preprocess="ranks", sample_weight=weights, random_state=0
    )
    ready = prepared("ranks", X, weights)
    theirs = cs.generate.kmeans(ready, n_clusterings=3, n_clusters=4, sample_weight=weights, random_state=0)
    np.testing.assert_array_equal(ours.labels, theirs.labels)


@every_maker
def test_missing_values_are_still_refused(maker):
    X = table(0)
    X[3, 1] = np.nan
    with pytest.raises(InputError, match=r"1 missing value \(NaN\)"):
        make(maker, X, preprocess="ranks")


def test_through_the_estimators(seed):
    X = table(seed)
    model = cs.ConsensusClustering(3, generator_params={"preprocess": "diverse"}, random_state=0).fit(X)
    assert {recipe["preprocess"] for recipe in model.ensemble_.recipes} == {"none", "standardize", "ranks"}
    clusterers = [KMeans(3, n_init=1), KMeans(4, n_init=1)]
    model = cs.ConsensusClustering(
        3, generator=clusterers, generator_params={"preprocess": "ranks"}, random_state=0
    )
    assert [recipe["preprocess"] for recipe in model.fit(X).ensemble_.recipes] == ["ranks", "ranks"]
    model = cs.MDEC(3, n_clusterings=4, preprocess="standardize", random_state=0).fit(X)
    assert [recipe["preprocess"] for recipe in model.ensemble_.recipes] == ["standardize"] * 4


@pytest.mark.parametrize("preprocess", ["none", "diverse", "tf-idf"])
def test_on_the_command_line(preprocess, tmp_path, monkeypatch):
    from consilience._cli import cli

    monkeypatch.chdir(tmp_path)
    np.savetxt("X.csv", table(0)[:, :3], delimiter=",")
    said = runner().invoke(
        cli,
        ["generate", "X.csv", "-o", "E.npz", "--generator-param", f"preprocess={preprocess}", "--json"],
    )
    assert said.exit_code == 0, said.output
    names = {recipe["preprocess"] for recipe in json.loads(said.stdout)["recipes"]}
    assert names == ({"none", "standardize", "ranks"} if preprocess == "diverse" else {preprocess})


# Columns of few values among others ----------------------------------------------------------------------


def with_flag(n: int = 120) -> np.ndarray:
    rng = np.random.default_rng(0)
    few = [rng.permutation(np.arange(n) % k) for k in (2, 3)]
    return np.column_stack([rng.normal(size=(n, 3)), *few])


def members_see(X) -> dict[str, np.ndarray]:
    return {view.preparation.name: view.features.X for view in Views("diverse", Features(X), list(range(40)))}


def test_diverse_members_see_small_steps_in_columns_of_few_values():
    X = with_flag()
    seen = members_see(X)
    assert sorted(seen) == ["ranks", "standardize"]  # as given, the flag would part the objects
    np.testing.assert_allclose(np.ptp(seen["standardize"][:, 3:], axis=0), [0.5, 1])
    np.testing.assert_allclose(seen["standardize"][:, :3].std(axis=0), 1)
    np.testing.assert_allclose(np.ptp(seen["ranks"][:, 3:], axis=0), np.array([0.5, 1]) / np.sqrt(12))
    asked_for = learn("standardize", Features(X)).apply(X)
    np.testing.assert_allclose(asked_for.std(axis=0), 1)


def test_columns_of_few_values_alone_or_narrow_or_rare_stay():
    X = with_flag()
    alone = members_see((X > 0.5).astype(float))
    assert sorted(alone) == ["none", "ranks", "standardize"]
    np.testing.assert_allclose(alone["standardize"].std(axis=0), 1)
    assert "none" in members_see(X * [10, 10, 10, 1, 1])
    rare = np.column_stack([X[:, :3], np.arange(120) < 3])
    np.testing.assert_allclose(members_see(rare)["standardize"].std(axis=0), 1)


def test_a_random_flag_does_not_part_the_objects():
    X, truth = load_iris(return_X_y=True)
    flag = np.random.default_rng(5).integers(0, 2, len(X))
    model = cs.ConsensusClustering(3, n_clusterings=100, random_state=0).fit(np.column_stack([X, flag]))
    assert cs.metrics.ari(flag, model.labels_) < 0.05
    assert cs.metrics.ari(truth, model.labels_) > 0.6  # standardized, the flag leaves .44
