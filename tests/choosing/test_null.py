"""References without clusters have the covariance of the data to the last digit; ranks are exact."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from consilience._choosing.null import cloud_of, far_from_gaussian, make_null
from consilience._choosing.rule import inertia_statistics, rank_p, stability_statistics
from consilience._choosing.runs import scatter_left
from consilience._kernels.kmeans import gram as kmeans_gram
from consilience._kernels.kmeans.gram import Gram

SHAPES = [(40, 6), (12, 30)]


def weighted_scatter(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    C = X - np.average(X, axis=0, weights=weights)
    return (C * weights[:, None]).T @ C


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_gaussian_references_have_mean_and_covariance_of_the_data(shape, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) @ np.diag(rng.uniform(1, 5, shape[1])) + 100
    weights = rng.integers(1, 4, shape[0]).astype(float) if weighted else np.ones(shape[0])
    cloud = cloud_of(X, weights, axes=True)
    drawn = make_null("gaussian", cloud, X, in_scores=False)(rng)
    np.testing.assert_allclose(
        np.average(drawn, axis=0, weights=weights), np.average(X, axis=0, weights=weights)
    )
    np.testing.assert_allclose(weighted_scatter(drawn, weights), weighted_scatter(X, weights), atol=1e-8)
    assert not np.allclose(drawn, X)
    np.testing.assert_allclose(cloud.place(cloud.scores), X, atol=1e-8)


@pytest.mark.parametrize("shape", SHAPES)
def test_scores_keep_distances_and_sparse_is_the_same(shape):
    rng = np.random.default_rng(1)
    X = rng.normal(size=shape) * (rng.random(shape) < 0.5)
    weights = rng.uniform(1, 2, shape[0])
    dense, sparse = cloud_of(X, weights, axes=False), cloud_of(sp.csr_array(X), weights, axes=False)

    def distances(Z):
        return ((Z[:, None] - Z[None]) ** 2).sum(axis=2)

    np.testing.assert_allclose(distances(dense.scores), distances(X), atol=1e-8)
    np.testing.assert_allclose(distances(sparse.scores), distances(X), atol=1e-8)


def test_uniform_references_fill_the_box():
    rng = np.random.default_rng(2)
    cloud = cloud_of(rng.normal(size=(500, 3)), np.ones(500), axes=False)
    drawn = cloud.uniform(rng)
    assert (drawn >= cloud.scores.min(axis=0)).all()
    assert (drawn <= cloud.scores.max(axis=0)).all()
    assert (np.ptp(drawn, axis=0) > 0.95 * np.ptp(cloud.scores, axis=0)).all()


def test_ranks_are_exact_for_gaussian_data_in_few_and_many_dimensions():
    """p <= 1/10 in one of ten sets, whatever the covariance.

    The statistic here is the largest fourth moment of a score.
    """
    rng = np.random.default_rng(3)
    hits, sets = 0, 400
    for _ in range(sets):
        n, d = (20, 3) if rng.random() < 0.5 else (10, 25)
        X = rng.normal(size=(n, d)) * np.geomspace(10, 0.1, d)
        cloud = cloud_of(X, np.ones(n), axes=False)
        draws = [cloud.scores, *(cloud.gaussian(rng) for _ in range(9))]
        hits += rank_p(np.array([(Z[:, 0] ** 4).sum() for Z in draws])) <= 0.1
    assert abs(hits / sets - 0.1) < 3 * np.sqrt(0.09 / sets)


def test_statistics_of_the_tests():
    losses = np.array([[-3.0, -2.0], [-1.0, -2.0], [-1.0, -2.0], [-1.0, -2.0]])
    found = inertia_statistics(losses)
    assert found[0] == pytest.approx((-1.5 + 3) / np.std([-3, -1, -1, -1]))
    assert (found[1:] == 0).all()
    aris = np.array([[0.9, 0.5], [0.5, 0.5]])
    np.testing.assert_allclose(stability_statistics(aris), [0.2, 0.0])
    assert rank_p(np.array([1.0, 0.5, 1.0, 2.0])) == pytest.approx(3 / 4)


def test_far_from_gaussian():
    rng = np.random.default_rng(4)
    normal, skewed = rng.normal(size=(300, 4)), np.exp(rng.normal(size=(300, 4)))
    one, groups = np.zeros(300, int), (np.arange(300) < 30).astype(int)
    assert far_from_gaussian(normal, one) == 0
    assert far_from_gaussian(skewed, one) == 1
    assert far_from_gaussian(np.hstack([normal, np.ones((300, 1))]), one) == 0
    apart = (
        normal + 9.0 * groups[:, None]
    )  # a small cluster far away: skewed as a whole, not around its means
    assert far_from_gaussian(apart, one) == 1
    assert far_from_gaussian(apart, groups) == 0
    assert far_from_gaussian(skewed[:10], one[:10]) == 0


# k-means on inner products ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "d", "k"), [(60, 100, 3), (80, 5, 5), (50, 200, 8)])
def test_kmeans_on_inner_products_is_lloyds(n, d, k):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d)) + rng.normal(size=(k, d))[rng.integers(0, k, n)]
    weights = rng.integers(1, 4, n).astype(float)
    starts = rng.choice(n, k, replace=False)
    gram = Gram.of(X)
    labels = kmeans_gram._lloyd(gram.G, weights, starts, 300)
    other = KMeans(k, init=X[starts], n_init=1, tol=0).fit(X, sample_weight=weights)
    assert adjusted_rand_score(labels, other.labels_) == 1
    assert gram.within(labels, weights) == pytest.approx(other.inertia_)
    C = X - np.average(X, axis=0, weights=weights)
    assert gram.scatter(weights) == pytest.approx((weights @ C**2).sum())
    both = scatter_left(X, labels[:, None], weights), scatter_left(gram, labels[:, None], weights)
    np.testing.assert_allclose(*both)
    assert both[0][0] == pytest.approx(np.log(other.inertia_ / gram.scatter(weights)))


def test_kmeans_on_inner_products_finds_clear_clusters_and_bears_equal_rows():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 20)
    X = 20 * np.eye(3, 50)[truth] + rng.normal(size=(60, 50))
    labels = Gram.of(X).kmeans(3, np.ones(60), rng)
    assert adjusted_rand_score(labels, truth) == 1
    equal = np.repeat(np.eye(3), 5, axis=0)
    for k in (1, 3, 5, 15):
        found = Gram.of(equal).kmeans(k, np.ones(15), rng)
        assert np.unique(found).size == min(k, 3)
    part = Gram.of(X)[np.arange(30)]
    assert part.shape == (30, 30)
    with pytest.raises(ValueError, match="k=31"):
        part.kmeans(31, np.ones(30), rng)
