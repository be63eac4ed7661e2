"""Neighbors by blocked products: against scikit-learn and against the formulas over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from consilience._kernels.neighbors import search as N


def cloud(seed, n=700, d=9):
    return np.random.default_rng(seed).normal(size=(n, d)) * np.linspace(1, 3, d)


@pytest.mark.parametrize("k", [1, 7])
def test_nearest_are_those_of_scikit_learn(seed, k):
    X = cloud(seed)
    index, squares = N.nearest(N.Pairs(X), k)
    distance, expected = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(X).kneighbors(X)
    assert np.array_equal(index, expected[:, 1:])
    assert np.allclose(squares, distance[:, 1:] ** 2, rtol=1e-12)


def test_blocks_meet_every_pair_once(monkeypatch):
    X = cloud(0, n=83)
    expected = N.nearest(N.Pairs(X), 5)
    monkeypatch.setattr(N, "_ROWS", 7)
    monkeypatch.setattr(N, "_COLUMNS", 11)
    again = N.nearest(N.Pairs(X), 5)
    assert np.array_equal(again[0], expected[0])
    assert np.array_equal(again[1], expected[1])


def test_sparse_rows_have_the_same_neighbors(seed):
    X = cloud(seed, n=150)
    X[np.abs(X) < 1] = 0
    dense, sparse = N.nearest(N.Pairs(X), 6), N.nearest(N.Pairs(sp.csr_array(X)), 6)
    assert np.array_equal(dense[0], sparse[0])
    assert np.allclose(dense[1], sparse[1], rtol=1e-12)


def test_equal_rows_have_distance_zero_however_far_from_the_origin():
    X = np.repeat(1e8 + cloud(0, n=20), 3, axis=0)
    _, squares = N.nearest(N.Pairs(X), 2)
    assert (squares == 0).all()


def test_all_neighbors_of_few_objects():
    X = np.array([[0.0], [1.0], [3.0]])
    index, squares = N.nearest(N.Pairs(X), 2)
    assert index.tolist() == [[1, 2], [0, 2], [1, 0]]
    assert squares.tolist() == [[1, 9], [1, 4], [4, 9]]


@pytest.mark.parametrize("mu", [0.2, 0.8])
def test_most_similar_against_all_pairs(seed, mu):
    X, k = cloud(seed, n=300), 6
    _, near = N.nearest(N.Pairs(X), k)
    radius = near.mean(axis=1)
    index, squares = N.most_similar(N.Pairs(X), k, radius, mu)
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    s = mu * (radius[:, None] + radius + D) / 3
    cost = np.log(s) + 0.5 * (D / s) ** 2
    np.fill_diagonal(cost, np.inf)
    expected = np.argsort(cost, axis=1)[:, :k]
    assert np.array_equal(np.sort(index, axis=1), np.sort(expected, axis=1))
    assert np.allclose(squares, np.take_along_axis(D, index.astype(int), axis=1))


@pytest.mark.parametrize("bound", ["tight", "too low", "too low for one"])
def test_a_bound_changes_nothing_but_the_time(seed, bound):
    X, k, mu = cloud(seed, n=300), 6, 0.4
    pairs = N.Pairs(X)
    radius = N.nearest(pairs, k)[1].mean(axis=1)
    index, squares = N.most_similar(pairs, k, radius, mu)
    s = mu * (radius[:, None] + radius[index] + squares) / 3
    given = N.minus_log_density(squares, s).max(axis=1) + 1e-9
    given[: {"tight": 0, "too low": 300, "too low for one": 1}[bound]] -= 1.0
    again = N.most_similar(pairs, k, radius, mu, given)
    assert np.array_equal(np.sort(again[0], axis=1), np.sort(index, axis=1))


@pytest.mark.parametrize("keep", [0, 2**23])
def test_pairs_can_be_gone_through_twice(keep, monkeypatch):
    monkeypatch.setattr(N, "_KEEP", keep)
    pairs = N.Pairs(cloud(0, n=600))
    first, second = ([(*span, products.copy()) for *span, products in pairs] for _ in range(2))
    assert len(first) > 2
    for one, other in zip(first, second, strict=True):
        assert one[:4] == other[:4]
        assert np.array_equal(one[4], other[4])


def test_graph_keeps_an_edge_listed_at_either_end():
    index = np.array([[1], [2], [1]], np.int32)
    values = np.array([[0.5], [0.25], [0.75]])
    expected = [[0, 0.5, 0], [0.5, 0, 0.75], [0, 0.75, 0]]
    assert N.symmetric_graph(index, values).toarray().tolist() == expected


def test_cells_that_all_meet_give_the_exact_lists(seed):
    X, k = cloud(seed, n=400), 6  # 20 groups: each is near all others
    cells = N.nearby_cells(X, k, seed)
    exact, found = N.nearest(N.Pairs(X), k), N.nearest(N.Pairs(X, cells), k)
    assert np.array_equal(found[0], exact[0])
    assert np.array_equal(found[1], exact[1])
    radius = exact[1].mean(axis=1)
    exact, found = (N.most_similar(N.Pairs(X, given), k, radius, 0.5)[0] for given in (None, cells))
    assert np.array_equal(np.sort(found, axis=1), np.sort(exact, axis=1))


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_cells_find_most_neighbors_from_few_pairs(seed, container):
    X, k = container(np.round(cloud(seed, n=4000, d=4), 3)), 10
    cells = N.nearby_cells(X, k, seed)
    sizes = np.diff(cells.starts)
    met = (sizes[cells.pairs[:, 0]] * sizes[cells.pairs[:, 1]]).sum()
    assert met < 0.6 * 4000**2 / 2
    index, _ = N.nearest(N.Pairs(X, cells), k)
    exact, _ = N.nearest(N.Pairs(X), k)
    assert all(np.unique(row).size == k for row in index)
    assert not (index == np.arange(4000)[:, None]).any()
    assert np.mean([np.isin(a, b).mean() for a, b in zip(index, exact)]) > 0.97


@pytest.mark.parametrize("nearby", [1, 3])
def test_cells_hold_enough_rows_for_full_lists(seed, nearby, monkeypatch):
    monkeypatch.setattr(N, "_NEARBY", nearby)
    rng = np.random.default_rng(seed)
    far = np.array([[1e6 * i, 0.0] for i in range(20)])  # groups of one
    X = np.vstack([rng.normal(size=(300, 2)), far, np.zeros((200, 2))])
    index, squares = N.nearest(N.Pairs(X, N.nearby_cells(X, 30, seed)), 30)
    assert index.min() >= 0
    assert np.isfinite(squares).all()


@pytest.mark.parametrize("kind", ["tiny", "huge", "far", "one far away", "wide", "nearly equal"])
def test_single_precision_only_marks(kind):
    """Whatever the scale, lists are those of all pairs in double precision."""
    rng = np.random.default_rng(1)
    X = {
        "tiny": 1e-150 * rng.normal(size=(300, 5)),
        "huge": 1e70 * rng.normal(size=(300, 5)),
        "far": 1e6 + rng.normal(size=(300, 5)),
        "one far away": np.vstack([rng.normal(size=(299, 5)), np.full(5, 1e12)]),
        "wide": rng.normal(size=(300, 5_000)),
        "nearly equal": 1.0 + 1e-9 * rng.normal(size=(300, 40)),
    }[kind]
    D = np.array([((X - x) ** 2).sum(axis=1) for x in X])
    np.fill_diagonal(D, np.inf)
    for rows in (X, sp.csr_array(X)):
        _, squares = N.nearest(N.Pairs(rows), 7)
        assert np.allclose(squares, np.sort(D, axis=1)[:, :7], rtol=1e-9, atol=0)
        radius = squares.mean(axis=1)
        found, _ = N.most_similar(N.Pairs(rows), 7, radius, 0.5)
        np.fill_diagonal(D, 0)
        s = 0.5 * ((radius[:, None] + radius + D) / 3 + np.finfo(float).eps)
        cost = np.log(s) + 0.5 * (D / s) ** 2
        np.fill_diagonal(cost, np.inf)
        np.fill_diagonal(D, np.inf)
        best = np.sort(cost, axis=1)[:, :7]
        mine = np.sort(np.take_along_axis(cost, found.astype(int), axis=1), axis=1)
        assert np.allclose(mine, best, rtol=1e-9, atol=1e-9)
