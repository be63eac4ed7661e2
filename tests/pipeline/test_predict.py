"""Further objects: by their base labels, and by their features."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import consilience as cs
from consilience._kernels.labels.distinct import RowTable
from consilience._kernels.neighbors import points as points_room
from consilience._kernels.neighbors.points import nearest_points
from consilience._members import labeling
from consilience.errors import ConsilienceWarning, InputError

from ..zoo import planted

# By hand: objects a a b b of three clusterings, in two clusters
# -------------------------------------------------

LABELS = np.array([[0, 0, 5], [0, 0, 5], [0, 1, 6], [1, 1, 6], [1, 1, 6]])


def fitted(**params):
    return cs.consensus.EvidenceAccumulation(n_clusters=2, **params).fit(LABELS)


def test_by_hand():
    model = fitted()
    assert model.labels_.tolist() == [1, 1, 0, 0, 0]  # 0 is the larger
    # An unseen row. Cluster 0 are rows 2, 3, 4 and cluster 1 rows 0, 1; shares of them in the row's base
    # clusters: clustering 0, label 0: 1/3 and 1; clustering 1, label 1: 1 and 0; clustering 2, label 5: 0 and
    # 1.
    row = [[0, 1, 5]]
    ties = np.array([1 / 3 + 1 + 0, 1 + 0 + 1])
    assert model.predict(row_table(row)).tolist() == [1]
    np.testing.assert_allclose(model.predict_proba(row_table(row))[0], ties / ties.sum())


def row_table(rows):
    return np.array(rows)


def test_known_rows_keep_their_cluster_where_memberships_alone_would_not():
    labels, _ = planted(3, n=200, m=6, noise=0.5)
    found = 0
    for seed in range(5):
        model = cs.consensus.Voting(n_clusters=3, random_state=seed).fit(labels)
        plain = model._predictor.evidence.ties(model.distinct_.labels).argmax(axis=1)
        found += int((plain[model.distinct_.inverse] != model.labels_).sum())
        np.testing.assert_array_equal(model.predict(labels), model.labels_)
        shares = model.predict_proba(labels)
        np.testing.assert_array_equal(shares.argmax(axis=1), model.labels_)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert found > 0  # otherwise this shows nothing


def test_categories_are_matched_by_value_and_columns_by_name():
    names = {"a": ["x", "x", "y", "y", "y"], "b": [2, 2, 2, 9, 9], "c": [0.5, 0.5, 1.0, 1.0, 1.0]}
    frame = pd.DataFrame(names)
    model = cs.consensus.EvidenceAccumulation(n_clusters=2).fit(frame)
    part = frame.iloc[[3, 0]]
    assert model.predict(part[["c", "a", "b"]]).tolist() == model.labels_[[3, 0]].tolist()
    assert model.predict({"b": [9], "c": [1], "a": ["y"]}).tolist() == [model.labels_[3]]
    assert model.predict([["y", 9, 1.0]]).tolist() == [model.labels_[3]]  # vectors, by position
    stranger = pd.DataFrame({"a": ["z"], "b": [9], "c": [None]})
    assert model.predict(stranger).tolist() == [model.labels_[3]]


def test_dates_and_wide_integers_are_categories_too():
    day = np.array(["2020-01-01", "2020-01-01", "2020-01-02", "2020-01-02"], "M8[s]")
    wide = [2**60, 2**60, 7, 7]
    model = cs.consensus.EvidenceAccumulation(n_clusters=2).fit({"day": day, "wide": wide})
    again = {"day": day[[2, 0]].astype("M8[ns]"), "wide": [7, 2**60]}
    assert model.predict(again).tolist() == model.labels_[[2, 0]].tolist()


def test_nothing_known_is_minus_one_with_one_warning():
    model = fitted()
    rows = np.array([[0, 0, 5], [77, -1, 99], [-1, -1, -1]])
    with pytest.warns(
        ConsilienceWarning, match=r"2 of 3 objects \(1 and 2\) have no label that was there in fit"
    ) as said:
        found = model.predict(rows)
    assert len(said) == 1
    assert said[0].filename == __file__
    assert found.tolist() == [1, -1, -1]
    assert model.predict_proba(rows)[1:].tolist() == [[0, 0], [0, 0]]
    assert model.predict_top(rows, 1).clusters.ravel().tolist() == [1, -1, -1]
    assert model.predict_confidence(rows)[1:].tolist() == [0, 0]


def test_top():
    labels, _ = planted(0, n=100, m=8, c=5, noise=0.4)
    model = cs.consensus.LWEA(n_clusters=5).fit(labels)
    fresh, _ = planted(1, n=50, m=8, c=5, noise=0.4)
    whole = model.predict_proba(fresh)
    clusters, shares = model.predict_top(fresh, 3)
    assert clusters.shape == shares.shape == (50, 3)
    np.testing.assert_array_equal(clusters[:, 0], model.predict(fresh))
    np.testing.assert_array_equal(np.take_along_axis(whole, clusters, axis=1), shares)
    assert (np.diff(shares, axis=1) <= 0).all()
    assert model.predict_top(fresh, n=50).shares.shape == (50, 5)
    with pytest.raises(InputError, match="n=0"):
        model.predict_top(fresh, 0)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_confidence_of_known_rows_is_that_of_fit(missing):
    labels, _ = planted(0, n=80, m=7, missing=missing, noise=0.4)
    weights = np.random.default_rng(0).integers(1, 4, 80)
    model = cs.consensus.LWGP(n_clusters=3).fit(labels, sample_weight=weights)
    np.testing.assert_allclose(model.predict_confidence(labels), model.confidence_, atol=1e-12)


def test_weights_count():
    """An unseen row between two clusters goes where the weight is."""
    labels = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    light = cs.consensus.EvidenceAccumulation(n_clusters=2).fit(labels, sample_weight=[5, 1, 1, 5])
    repeated = cs.consensus.EvidenceAccumulation(n_clusters=2).fit(np.repeat(labels, [5, 1, 1, 5], axis=0))
    fresh = np.array([[0, -1], [-1, 1], [1, -1]])
    np.testing.assert_allclose(light.predict_proba(fresh), repeated.predict_proba(fresh))


def test_messages():
    frame = pd.DataFrame(LABELS, columns=["a", "b", "c"])
    model = cs.consensus.EvidenceAccumulation(n_clusters=2).fit(frame)
    with pytest.raises(
        InputError, match="the columns do not include 'c'; its clusterings do not include 'd'"
    ):
        model.predict(frame.rename(columns={"c": "d"}))
    with pytest.raises(InputError, match="2 clusterings, but EvidenceAccumulation was fitted to 3"):
        model.predict(LABELS[:, :2])
    with pytest.raises(InputError, match=r"Pass labels.T if there are 5 objects"):
        model.predict(LABELS.T)
    with pytest.raises(InputError, match="no objects"):
        model.predict(np.empty((0, 3), int))
    with pytest.raises(Exception, match="not fitted yet"):
        cs.consensus.LWEA(2).predict(LABELS)
    assert not hasattr(cs.consensus.LWEA(2), "membership_")


def test_few_rows_with_many_clusterings_are_not_taken_for_transposed():
    labels, _ = planted(0, n=60, m=30)
    model = cs.consensus.EvidenceAccumulation(n_clusters=3).fit(labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.predict(labels[:1]).tolist() == model.labels_[:1].tolist()


def test_a_second_fit_forgets_the_first():
    model = fitted()
    labels, _ = planted(0)
    model.set_params(n_clusters=3).fit(labels)
    np.testing.assert_array_equal(model.predict(labels), model.labels_)
    assert model.membership_.shape == (60, 3)


def test_as_a_transformer():
    model = fitted().set_output(transform="pandas")
    out = model.transform(pd.DataFrame(LABELS, columns=["a", "b", "c"]))
    assert (
        list(out.columns)
        == ["evidenceaccumulation0", "evidenceaccumulation1"]
        == list(model.get_feature_names_out())
    )
    np.testing.assert_array_equal(out.to_numpy(), model.membership_)
    np.testing.assert_array_equal(
        cs.consensus.EvidenceAccumulation(n_clusters=2).fit_transform(LABELS), model.membership_
    )


def test_equal_objects_in_several_clusters():
    """The published program may leave each of several equal objects alone; the first then stands for all."""
    model = cs.SCCABG(n_clusters=2, mode="authors").fit(LABELS)
    first = model.labels_[model.distinct_.rows][model.distinct_.inverse]
    np.testing.assert_array_equal(model.predict(LABELS), first)


def test_rows_are_found_by_every_number():
    rng = np.random.default_rng(0)
    known = np.unique(rng.integers(0, 4, (500, 7)).astype(np.int16), axis=0)
    asked = rng.integers(0, 4, (3000, 7)).astype(np.int16)
    place = {tuple(row): i for i, row in enumerate(known.tolist())}
    expected = [place.get(tuple(row), -1) for row in asked.tolist()]
    assert RowTable(known).find(asked).tolist() == expected
    with pytest.raises(ValueError, match="among rows of 7 int16"):
        RowTable(known).find(asked.astype(np.int32))


# Features ---------------------------------------------------------------------------------------------------

BLOBS, TRUTH = make_blobs(160, 6, centers=4, cluster_std=1.5, random_state=1)
GENERATORS = [*cs.generate.generators()]


def pipeline(generator="auto", X=BLOBS, m=8, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsilienceWarning)  # narrow kernels leave objects out
        model = cs.ConsensusClustering(4, generator=generator, n_clusterings=m, random_state=0, **more)
        return model.fit(X)


@pytest.mark.parametrize("generator", ["auto", *GENERATORS])
@pytest.mark.parametrize("sparse", [False, True])
def test_predicting_the_rows_of_fit_gives_their_labels(generator, sparse):
    m = 18 if generator == "spectral" else 8
    X = sp.csr_array(np.abs(BLOBS)) if sparse else BLOBS
    model = pipeline(generator, X, m, generator_params={"preprocess": "diverse"})
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.predict(X[40:43]), model.labels_[40:43])
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.labels_)
    np.testing.assert_allclose(model.predict_confidence(X), model.confidence_, atol=1e-10)
    np.testing.assert_array_equal(model.transform(X), model.membership_)
    np.testing.assert_array_equal(model.score_samples(X), 1)


@pytest.mark.parametrize("generator", ["auto", *GENERATORS])
def test_new_rows_go_with_their_neighbors(generator):
    """Half a clear set, predicted from the other half."""
    X, truth = make_blobs(240, 6, centers=4, cluster_std=0.7, random_state=2)
    m, params = (18, None) if generator == "spectral" else (10, None)
    model = pipeline(generator, X[::2], m, generator_params=params)
    assert cs.metrics.ari(truth[1::2], model.predict(X[1::2])) > 0.95
    assert model.score_samples(X[1::2]).mean() > 0.9
    far = X[:5] + 1000
    assert (model.score_samples(far) < 0.5).all()


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize("metric", ["diversified", "cosine", "correlation"])
def test_members_label_the_rows_they_were_made_from_as_the_ensemble_does(generator, metric):
    if metric != "diversified" and generator != "metric-subspace":
        pytest.skip("has no metric")
    settings = {"keep_base_models": True, "preprocess": "standardize"}
    settings |= {"metric": metric} if generator == "metric-subspace" else {}
    ensemble = cs.generate.generator(generator)(BLOBS, settings, n_clusters=4, random_state=0)
    for i, member in enumerate(ensemble.base_models):
        seen = ensemble.labels[:, i] >= 0
        np.testing.assert_array_equal(member.label(BLOBS[seen]), ensemble.labels[seen, i])


def test_clusterers_predict_or_go_by_neighbors_and_the_recipe_says_which():
    clusterers = [KMeans(4), AgglomerativeClustering(4), DBSCAN(eps=3.0)]
    model = pipeline(clusterers, m=None)
    assert [recipe["new_rows"] for recipe in model.ensemble_.recipes] == [
        "predict",
        "neighbors",
        "neighbors",
    ]
    np.testing.assert_array_equal(model.predict(BLOBS), model.labels_)
    near = BLOBS + 1e-6
    np.testing.assert_array_equal(model.predict(near), model.labels_)
    sampled = pipeline([AgglomerativeClustering(4)], m=15, generator_params={"sample_fraction": 0.6})
    np.testing.assert_array_equal(sampled.predict(BLOBS), sampled.labels_)
    assert cs.metrics.ari(sampled.labels_, sampled.predict(near)) > 0.9
    alone = pipeline(KMeans(4), m=3)
    assert alone.predict(near).shape == (160,)
    with pytest.raises(InputError, match="No base model can tell how far a row is"):
        alone.score_samples(near)


def test_equal_rows_that_members_merge():
    """Rows that are equal in the features of a member are one to it, and count as often as they are."""
    X = np.random.default_rng(0).integers(0, 3, (120, 4)).astype(float)
    model = cs.ConsensusClustering(3, n_clusterings=10, random_state=0).fit(X)
    for member in model.ensemble_.base_models:
        assert len(member.codes) == len(member.widths) == 120
    assert model.predict(X + 0.1).shape == (120,)


def test_mdec_predicts():
    model = cs.MDEC(4, n_clusterings=10, random_state=0).fit(BLOBS)
    np.testing.assert_array_equal(model.predict(BLOBS), model.labels_)
    assert cs.metrics.ari(model.labels_, model.predict(BLOBS + 0.01)) > 0.9


def test_a_row_is_labeled_alike_whatever_rows_are_beside_it_and_for_any_number_of_threads():
    for generator in ("kmeans", "landmarks", "metric-subspace"):
        model = pipeline(generator)
        fresh = BLOBS[:60] + 0.1
        whole, shares = model.predict(fresh), model.predict_proba(fresh)
        assert [int(model.predict(row[None])[0]) for row in fresh] == whole.tolist()
        np.testing.assert_array_equal(model.set_params(n_jobs=2).predict_proba(fresh), shares)
        np.testing.assert_array_equal(model.set_params(n_jobs=1).predict_proba(fresh[::-1])[::-1], shares)


def test_weight_zero_and_other_kinds_of_numbers():
    weights = np.ones(160)
    weights[::10] = 0
    model = cs.ConsensusClustering(4, generator="kmeans", random_state=0).fit(BLOBS, sample_weight=weights)
    np.testing.assert_array_equal(model.predict(BLOBS), model.labels_)
    assert model.membership_.shape == (160, 4)
    narrow = pipeline("landmarks", BLOBS.astype(np.float32))
    np.testing.assert_array_equal(narrow.predict(BLOBS), narrow.labels_)
    frame = pd.DataFrame(BLOBS, columns=list("abcdef"))
    named = pipeline("kmeans", frame)
    np.testing.assert_array_equal(named.predict(frame), named.labels_)
    with pytest.raises(ValueError, match="feature names"):
        named.predict(frame[list("bacdef")])


def test_what_was_not_kept_is_said_with_its_size(monkeypatch):
    model = pipeline("metric-subspace", keep_base_models=False)
    np.testing.assert_array_equal(model.predict(BLOBS), model.labels_)  # known rows need no member
    with pytest.raises(
        InputError,
        match=r"23.0 kB for the 8 base clusterings \(keep_base_models=False\). Fit it with "
        r"keep_base_models=True",
    ):
        model.predict(BLOBS + 1)
    monkeypatch.setattr(labeling, "MOST_KEPT", 100)
    for generator in GENERATORS:
        assert pipeline(generator, m=18).ensemble_.base_models is None
        assert pipeline(generator, m=18, keep_base_models=True).predict(BLOBS + 0.01).shape == (160,)
    with pytest.raises(InputError, match="keep_base_models=None keeps up to"):
        pipeline("kmeans").predict(BLOBS + 1)
    function = cs.ConsensusClustering(2, generator=lambda X: [TRUTH, TRUTH % 2]).fit(BLOBS)
    with pytest.raises(InputError, match="a function that returned only labels"):
        function.predict(BLOBS + 1)


def test_as_steps_of_a_pipeline():
    first = make_pipeline(StandardScaler(), cs.ConsensusClustering(4, n_clusterings=5, random_state=0)).fit(
        BLOBS
    )
    np.testing.assert_array_equal(first.predict(BLOBS), first[-1].labels_)
    inner = cs.ConsensusClustering(4, n_clusterings=5, random_state=0)
    second = make_pipeline(inner, LogisticRegression()).fit(BLOBS, TRUTH)
    assert second.score(BLOBS, TRUTH) > 0.9
    out = inner.set_output(transform="pandas").fit_transform(pd.DataFrame(BLOBS))
    assert list(out.columns) == [f"consensusclustering{j}" for j in range(4)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (40, 16)])
def test_few_points_are_compared_as_many_are(dtype, shape, monkeypatch):
    rng = np.random.default_rng(0)
    centers = rng.normal(size=shape)
    Z = np.asfortranarray(centers[rng.integers(0, len(centers), 9000)] + rng.normal(size=(9000, shape[1])))
    Z = Z.astype(dtype)
    index, squares = nearest_points(Z, centers)
    monkeypatch.setattr(points_room, "FEW", 0)
    expected, others = nearest_points(Z, centers)
    np.testing.assert_array_equal(index, expected)
    np.testing.assert_allclose(squares, others, rtol=1e-12)


@pytest.mark.parametrize("few", [points_room.FEW, 0], ids=["few", "many"])
def test_the_nearest_point_is_exact_and_the_first_of_equals(few, monkeypatch):
    monkeypatch.setattr(points_room, "FEW", few)
    rng = np.random.default_rng(0)
    points = rng.integers(0, 4, (50, 3)).astype(float) + 1e7
    Z = rng.integers(0, 4, (200, 3)) + 1e7 + 0.5
    squares = ((Z[:, None] - points) ** 2).sum(axis=2)
    index, found = nearest_points(Z, points)
    np.testing.assert_array_equal(index, squares.argmin(axis=1))
    np.testing.assert_array_equal(found, squares.min(axis=1))
    np.testing.assert_array_equal(nearest_points(sp.csr_array(Z - 1e7), sp.csr_array(points - 1e7))[0], index)
    widths = rng.random(50) + 0.5
    np.testing.assert_array_equal(
        nearest_points(Z, points, widths=widths)[0], (squares / widths).argmin(axis=1)
    )
    own = ((points[:, None] - points) ** 2).sum(axis=2)
    np.fill_diagonal(own, np.inf)
    np.testing.assert_array_equal(nearest_points(points, points, others=True)[1], own.min(axis=1))


# Columns --------------------------------------------------------------------------------------------------

COLUMNS = pd.DataFrame(make_blobs(30, 4, centers=2, random_state=0)[0], columns=list("abcd"))


def small(estimator=cs.ConsensusClustering):
    return estimator(2, n_clusterings=3, random_state=0)


@pytest.mark.parametrize("names", [["a", "b", 3, 4], [1.5, None, "x", 2], [("a", 1), "b", "c", "d"]])
@pytest.mark.parametrize("estimator", [cs.ConsensusClustering, cs.MDEC])
def test_columns_may_be_called_by_text_and_by_numbers(estimator, names):
    odd = COLUMNS.set_axis(pd.Index(names, tupleize_cols=False), axis=1)
    model = small(estimator).fit(odd)
    np.testing.assert_array_equal(model.predict(odd), model.labels_)
    with pytest.raises(InputError, match="same order as they were in fit"):
        model.predict(odd[odd.columns[::-1]])


@pytest.mark.parametrize("what", ["predict", "predict_proba", "predict_confidence", "score_samples", "score"])
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda X: X[list("dcba")], "Feature names must be in the same order as they were in fit."),
        (lambda X: X[list("abc")], "Feature names seen at fit time, yet now missing:\n- d\nPass the same"),
        (lambda X: X.assign(e=1), "Feature names unseen at fit time:\n- e\nPass the same"),
        (lambda X: X.to_numpy()[:, :3], "X has 3 features, but ConsensusClustering is expecting 4 features"),
    ],
)
def test_other_columns_than_those_of_fit_are_refused_in_the_words_of_scikit_learn(what, change, words):
    model = small().fit(COLUMNS)
    with pytest.raises(InputError) as caught:
        getattr(model, what)(change(COLUMNS))
    assert words in str(caught.value)


def test_columns_without_names_on_one_side_count_by_position():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seen, new in ((COLUMNS, COLUMNS.to_numpy()), (COLUMNS.to_numpy(), COLUMNS)):
            np.testing.assert_array_equal(small().fit(seen).predict(new), small().fit(seen).labels_)


@pytest.mark.parametrize("estimator", [cs.ConsensusClustering, cs.MDEC])
def test_transform_follows_set_output(estimator):
    model = small(estimator).set_output(transform="pandas").fit(COLUMNS)
    for found in (
        model.transform(COLUMNS),
        small(estimator).set_output(transform="pandas").fit_transform(COLUMNS),
    ):
        assert isinstance(found, pd.DataFrame)
        np.testing.assert_array_equal(found.to_numpy(), model.predict_proba(COLUMNS))
