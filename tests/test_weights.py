"""Weights of any scale: the same answers, no overflow, and a clear word where double precision ends."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import consilience as cs
from consilience import generate, metrics
from consilience._base.parameters import relative_to_lightest, unit_of
from consilience.consensus import methods
from consilience.errors import ConsilienceWarning, InputError

SCALES = (1e-300, 1e-100, 1e-39, 1e-20, 1e-12, 1e-6, 10.0, 1e6, 1e12, 1e20, 1e39, 1e100, 1e300)
ANY_UNIT = sorted(name for name, method in methods().items() if method._any_unit)
ONE_UNIT = sorted(set(methods()) - set(ANY_UNIT))


@pytest.fixture(autouse=True)
def no_numpy_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def weighted(seed: int = 0, n: int = 60, m: int = 8, k: int = 4):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    labels = np.column_stack([np.where(rng.random(n) < 0.15, rng.integers(0, k, n), truth) for _ in range(m)])
    return labels, truth, rng.uniform(0.5, 3, n)


def fitted(name: str, labels, weights):
    method = methods()[name]
    options = {key: 0 for key in ("random_state",) if key in method().get_params()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        return method(4, n_jobs=1, **options).fit(labels, sample_weight=weights)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", ANY_UNIT)
def test_the_scale_of_weights_does_not_matter(name, scale):
    labels, _, weights = weighted()
    model, plain = fitted(name, labels, scale * weights), fitted(name, labels, weights)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    np.testing.assert_allclose(model.confidence_, plain.confidence_, atol=1e-6)
    assert model.distinct_.sample_weight.sum() == pytest.approx(scale * weights.sum(), rel=1e-12)


def test_which_methods_take_weights_for_counts():
    assert ONE_UNIT == ["best-of", "ceshl", "lwsc", "nrsec", "rce", "rsec", "spce", "trce"]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", ONE_UNIT)
def test_methods_with_a_unit_say_so_where_it_cannot_be_meant(name, scale):
    labels, _, weights = weighted()
    if 1e-15 < scale < 1e15:
        assert np.isfinite(fitted(name, labels, scale * weights).confidence_).all()
        return
    with pytest.raises(InputError, match=r"sample_weight goes up to .* takes a weight of 1 for one object"):
        fitted(name, labels, scale * weights)
    doc = " ".join((methods()[name].__doc__ or "").split())
    assert re.search("weight of 1 (stands )?for one object", doc)


@pytest.mark.parametrize("name", sorted(methods()))
@pytest.mark.parametrize("seed", [0, 1])
def test_weights_that_spread_too_wide_are_refused(name, seed):
    labels, _, _ = weighted(seed)
    exponents = np.random.default_rng(seed).uniform(-1, 1, 60)
    exponents[:2] = -1, 1
    model = fitted(name, labels, 10 ** (7 * exponents))
    sizes = np.bincount(model.labels_, weights=10 ** (7 * exponents))
    assert (np.diff(sizes) <= 1e-9 * sizes.max()).all()
    assert np.isfinite(model.confidence_).all()
    with pytest.raises(InputError, match=r"spreads over a factor of \S+, from \S+ to \S+: beyond 1e\+15"):
        fitted(name, labels, 10 ** (30 * exponents))


def test_the_largest_cluster_is_0_however_light():
    found = cs.consensus.EvidenceAccumulation(2).fit([[0], [1], [1]], sample_weight=[1e-10] * 3)
    assert found.labels_.tolist() == [1, 0, 0]


@pytest.mark.parametrize("weight", [1e306, 1e-306, 5e-324])
def test_weights_beyond_all_range_are_refused(weight):
    with pytest.raises(InputError, match="sample_weight holds"):
        cs.Ensemble.from_clusterings([[0, 1, 1]], sample_weight=[weight, 1, 1])
    with pytest.raises(InputError, match="sample_weight holds"):
        metrics.scores([0, 0, 1], [0, 1, 1], sample_weight=[weight, 1, 1])


@pytest.mark.parametrize("name", ONE_UNIT)
def test_fractions_of_another_mean_are_asked_about_and_the_remedy_helps(name, recwarn):
    labels, _, weights = weighted()
    shares = weights / weights.sum()
    model = methods()[name](4, n_jobs=1)
    with pytest.warns(
        ConsilienceWarning, match=r"sample_weight has mean 0\.0\d+: .* divide them by their mean"
    ):
        model.fit(labels, sample_weight=shares)
    recwarn.clear()
    model.fit(labels, sample_weight=shares / shares.mean())
    model.fit(labels, sample_weight=np.full(len(labels), 10))  # whole numbers count objects
    assert not [entry for entry in recwarn if "sample_weight" in str(entry.message)]


def test_unit_is_a_power_of_two_and_1_for_ordinary_weights():
    for largest in (1e-300, 1e-17, 1.0, 3.0, 1e17, 1e300):
        unit = unit_of(np.array([largest / 3, largest]))
        assert np.log2(unit) == np.rint(np.log2(unit))
        assert 2**-61 <= largest / unit <= 2**60
    assert unit_of(np.array([1e-17, 1e17])) == 1.0


@pytest.mark.parametrize("scale", SCALES)
def test_measures_of_an_ensemble(scale):
    labels, truth, weights = weighted()
    plain = cs.Ensemble(labels, sample_weight=weights * 1000)
    other = cs.Ensemble(labels, sample_weight=weights * scale)
    np.testing.assert_allclose(other.sample_agreement(), plain.sample_agreement(), rtol=1e-9)
    np.testing.assert_allclose(other.clustering_similarity(), plain.clustering_similarity(), rtol=1e-9)
    assert np.isfinite(other.clustering_similarity("ari")).all()
    assert metrics.anmi(other, truth) == pytest.approx(metrics.anmi(plain, truth), rel=1e-9)
    assert np.isfinite(metrics.sample_stability(other, truth)).all()
    assert np.isfinite(metrics.cluster_stability(other, truth)).all()
    if scale >= 1e6:  # where an object is nothing beside its copies
        for measure in (metrics.sample_stability, metrics.cluster_stability):
            np.testing.assert_allclose(measure(other, truth), measure(plain, truth), atol=1e-3)


def test_an_object_alone_has_no_stability_whatever_its_weight():
    for weights in ([1e-20, 2e-20, 0.3e-20], [0.1, 0.2, 0.3], [1.0, 1.0, 1.0]):
        ensemble = cs.Ensemble.from_clusterings([[0, 0, 1], [0, 1, 1]], sample_weight=weights)
        found = metrics.sample_stability(ensemble, [0, 0, 1])
        assert np.isnan(found[2])
        assert np.isfinite(found[:2]).all()


@pytest.mark.parametrize("scale", [1e3, 1e12, 1e16, 1e19, 1e30, 1e140, 1e300])
def test_whole_weights_of_any_size(scale):
    labels, truth, _ = weighted()
    weights = np.rint(np.random.default_rng(0).uniform(1, 9, 60)) * scale
    found = metrics.scores(truth, labels[:, 0], sample_weight=weights)
    plain = metrics.scores(truth, labels[:, 0], sample_weight=weights / scale * 1000)
    for name, value in found.items():
        if name == "ami" and scale >= 1e16:  # sums are no longer exact
            assert np.isnan(value)
        else:
            assert value == pytest.approx(plain[name], rel=1e-2), name
    for measure in (metrics.accuracy, metrics.ari, metrics.nmi, metrics.purity, metrics.f1):
        assert 0 < measure(labels[:, 0], truth, sample_weight=weights) < 1
    if scale > 1e150:
        with pytest.raises(InputError, match="the number of pairs exceeds"):
            metrics.pair_confusion(truth, labels[:, 0], sample_weight=weights)
    else:
        pairs = metrics.pair_confusion(truth, labels[:, 0], sample_weight=weights)
        assert np.isfinite([float(count) for count in pairs]).all()


def test_pairs_seen_only_by_clusterings_of_weight_0():
    ensemble = cs.Ensemble.from_clusterings([[0, 0, None], [None, 0, 0]])
    dense = ensemble.coassociation(clustering_weights=[1, 0])
    sparse = ensemble.coassociation_sparse(clustering_weights=[1, 0])
    np.testing.assert_array_equal(sparse.toarray(), dense)
    np.testing.assert_array_equal(dense, [[1, 1, 0], [1, 1, 0], [0, 0, 0]])


@pytest.mark.parametrize("view", ["coassociation", "coassociation_sparse", "cooccurrence_counts"])
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0, 0], "clustering_weights are 0 for every clustering"),
        ([1, -1], r"clustering_weights\[1\]=-1 is not a weight"),
        (["a", 1], "clustering_weights must be numbers, one for each of the 2 clusterings"),
        ([1e307, 1e307], "clustering_weights holds 1e\\+307"),
    ],
)
def test_clustering_weights_that_cannot_be_used(view, weights, message):
    ensemble = cs.Ensemble.from_clusterings([[0, 0, 1], [0, 1, 1]])
    with pytest.raises(InputError, match=message):
        getattr(ensemble, view)(clustering_weights=weights)


@pytest.mark.parametrize("scale", [2.0**-12, 0.5, 64.0, 2.0**33])
@pytest.mark.parametrize("name", ANY_UNIT)
def test_the_scale_of_weights_does_not_decide_ties(name, scale):
    """Everything is a tie here: the order of objects, which follows their weights, decides."""
    a = np.arange(21)
    labels = np.stack([a % 3, a // 3, (a + 1) % 3], axis=1)
    weights = np.ones(21)
    weights[::4] = 3
    np.testing.assert_array_equal(
        fitted(name, labels, scale * weights).labels_, fitted(name, labels, weights).labels_
    )


MAKERS = {
    "kmeans": lambda X, w: generate.kmeans(X, n_clusterings=3, n_clusters=4, sample_weight=w, random_state=0),
    "random starts": lambda X, w: generate.kmeans(
        X, n_clusterings=3, n_clusters=4, init="random", sample_weight=w, random_state=0
    ),
    "random_k": lambda X, w: generate.random_k(X, n_clusterings=3, sample_weight=w, random_state=0),
    "random_features": lambda X, w: generate.random_features(
        X, n_clusterings=3, n_clusters=4, feature_fraction=0.5, sample_weight=w, random_state=0
    ),
    "stratified": lambda X, w: generate.stratified(
        X, n_clusterings=3, n_clusters=4, feature_fraction=0.5, sample_weight=w, random_state=0
    ),
    "bagging": lambda X, w: generate.bagging(
        X, n_clusterings=3, n_clusters=4, bootstrap=True, unseen="nearest", sample_weight=w, random_state=0
    ),
    "metric_subspace": lambda X, w: generate.metric_subspace(
        X, n_clusterings=3, n_init=2, sample_weight=w, random_state=0
    ),
    "landmarks": lambda X, w: generate.landmarks(
        X, n_clusterings=3, n_landmarks=50, n_clusters=(None, 20), sample_weight=w, random_state=0
    ),
}


#: Recipes of their members tell the inertia.
OF_KMEANS = set(MAKERS) - {"metric_subspace", "landmarks"}


@pytest.mark.parametrize("scale", [1e-300, 1e-39, 1e-6, 1e12, 1e300, 2.0**-900])
@pytest.mark.parametrize("kind", ["small", pytest.param("large", marks=pytest.mark.slow), "sparse"])
@pytest.mark.parametrize("maker", MAKERS)
def test_the_scale_of_weights_does_not_matter_to_generators(maker, kind, scale):
    rng = np.random.default_rng(0)
    n = 9000 if kind == "large" and maker != "metric_subspace" else 80
    X = rng.standard_normal((n, 4)) + 3 * rng.integers(0, 3, (n, 1))
    X = sp.csr_array(np.where(np.abs(X) < 1, 0, X)) if kind == "sparse" else X
    weights = np.rint(rng.uniform(1, 9, n)) / 8
    plain, found = MAKERS[maker](X, weights), MAKERS[maker](X, weights * scale)
    np.testing.assert_array_equal(found.labels, plain.labels)
    for recipe, other in zip(plain.recipes, found.recipes):
        assert ("inertia" in recipe) == (maker in OF_KMEANS)
        if maker in OF_KMEANS:
            assert other["inertia"] == pytest.approx(recipe["inertia"] * scale, rel=1e-9)


def test_inertia_beyond_all_numbers_is_infinite():
    X = np.random.default_rng(0).standard_normal((30, 2)) * 1e80
    found = generate.kmeans(
        X, n_clusterings=2, n_clusters=3, sample_weight=np.full(30, 1e300), random_state=0
    )
    assert [recipe["inertia"] for recipe in found.recipes] == [np.inf] * 2
    assert found == generate.kmeans(
        X, n_clusterings=2, n_clusters=3, sample_weight=np.full(30, 1e300), random_state=0
    )
    np.testing.assert_array_equal(
        found.labels, generate.kmeans(X, n_clusterings=2, n_clusters=3, random_state=0).labels
    )


def test_relative_to_the_lightest():
    assert relative_to_lightest(np.array([3.0, 6e10])).tolist() == [1.0, 2e10]
    assert relative_to_lightest(np.array([1e-300, 5e-300])).tolist() == [1.0, 5.0]
    assert relative_to_lightest(np.array([1e-12, 1e12])).tolist() == [1e-12, 1e12]  # too far apart
    weights = np.random.default_rng(0).uniform(0.1, 9, 500)
    changed = relative_to_lightest(0.37 * weights) != relative_to_lightest(weights)
    assert changed.mean() < 0.01


def spread_out(seed: int, n: int = 500, m: int = 12, k: int = 5):
    """Base clusterings that disagree a lot, with weights that are no powers of two."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    columns = [np.where(rng.random(n) < 0.35, rng.integers(0, k, n), truth) for _ in range(m)]
    return np.column_stack(columns), rng.uniform(0.5, 3, n)


@pytest.mark.parametrize("scale", [3.0, 0.37, 1e5])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("name", ANY_UNIT)
def test_a_constant_factor_changes_nothing_on_unclear_data(name, whole, scale):
    labels, weights = spread_out(3)
    weights = np.ceil(weights) if whole else weights
    plain, scaled = fitted(name, labels, weights), fitted(name, labels, scale * weights)
    np.testing.assert_array_equal(scaled.labels_, plain.labels_)


def test_weights_of_equal_objects_add_up_alike_in_any_order(seed):
    """A last digit that depended on the order of rows once decided between tied eigenvectors."""
    rng = np.random.default_rng(seed)
    labels, weights = rng.integers(0, 2, (200, 2)), rng.uniform(0.1, 3, 200)
    wanted = cs.Ensemble(labels, sample_weight=weights).distinct()
    order = rng.permutation(200)
    found = cs.Ensemble(labels[order], sample_weight=weights[order]).distinct()
    totals = {tuple(row): weight for row, weight in zip(wanted.labels.tolist(), wanted.sample_weight)}
    assert {tuple(row): weight for row, weight in zip(found.labels.tolist(), found.sample_weight)} == totals
