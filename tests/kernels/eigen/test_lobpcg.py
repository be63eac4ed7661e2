"""Laplacian eigenvectors against dense LAPACK, and components against scipy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from consilience._kernels.eigen import lobpcg
from consilience._kernels.eigen.lobpcg import component_vectors, dense_eigenvectors, smallest_eigenvectors
from consilience._kernels.pairs.components import components


def graph(seed, blocks=(90, 150, 200), inside=0.3, between=0.02, weighted=True):
    """(S, w): a weighted graph of loosely tied blocks with unit diagonal, and object weights."""
    rng = np.random.default_rng(seed)
    label = np.repeat(np.arange(len(blocks)), blocks)
    chance = np.where(np.equal.outer(label, label), inside, between)
    S = np.triu(rng.random(chance.shape) * (rng.random(chance.shape) < chance), 1)
    S = S + S.T + np.eye(label.size)
    return S, rng.integers(1, 6, label.size).astype(float) if weighted else np.ones(label.size)


def problem(S, w):
    """degrees, product, M of the scaled Laplacian."""
    K = S * np.sqrt(np.outer(w, w))
    degrees = S @ w
    return degrees, lambda X: K @ X, np.diag(degrees) - K


def angle(X, Y):
    """Largest principal angle between two orthonormal bases, as its sine."""
    return np.linalg.norm(X - Y @ (Y.T @ X), 2)


@pytest.mark.parametrize("count", [1, 3, 8])
def test_iteration_agrees_with_dense(seed, count):
    degrees, product, M = problem(*graph(seed))
    found = smallest_eigenvectors(degrees, product, count, tol=1e-9, max_iter=300)
    exact = dense_eigenvectors(M.copy(), count)
    assert found.converged
    assert found.iterations > 0
    np.testing.assert_allclose(found.values, exact.values, atol=1e-7 * degrees.mean())
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(count), atol=1e-10)
    assert angle(found.vectors, exact.vectors) < 1e-5


@pytest.mark.parametrize("count", [1, 3, 8])
def test_single_precision_serves_a_loose_tolerance(seed, count):
    """Residuals of what comes back, in double precision, are within what was asked for."""
    degrees, product, M = problem(*graph(seed))
    asked = []

    def single(X):
        asked.append(X.dtype)
        return product(X).astype(np.float32)

    found = smallest_eigenvectors(degrees, single, count, tol=1e-4, dtype=np.float32)
    assert found.converged
    assert set(asked) == {np.dtype(np.float32)}
    assert found.vectors.dtype == found.values.dtype == np.float64
    residual = np.linalg.norm(M @ found.vectors - found.vectors * found.values, axis=0)
    assert (residual <= 1.1e-4 * degrees.mean()).all()
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(count), atol=1e-5)
    np.testing.assert_allclose(
        found.values, dense_eigenvectors(M.copy(), count).values, atol=1e-4 * degrees.mean()
    )


def test_known_null_space_is_kept_and_complemented(seed):
    S, w = graph(seed, between=0.0)
    degrees, product, M = problem(S, w)
    count, labels = components(sp.csr_array(S))
    assert count == 3
    null = component_vectors(labels, w)
    np.testing.assert_allclose(M @ null, 0, atol=1e-10 * degrees.max())
    np.testing.assert_allclose(null.T @ null, np.eye(3), atol=1e-12)
    found = smallest_eigenvectors(degrees, product, 5, null=null, tol=1e-9, max_iter=300)
    exact = dense_eigenvectors(M.copy(), 5)
    np.testing.assert_allclose(found.values, exact.values, atol=1e-7 * degrees.mean())
    assert angle(found.vectors, exact.vectors) < 1e-5


def test_null_space_alone_needs_no_products():
    S, w = graph(0, between=0.0)

    def product(X):
        raise AssertionError("nothing is left to solve")

    null = component_vectors(components(sp.csr_array(S))[1], w)
    found = smallest_eigenvectors(S @ w, product, 2, null=null)
    assert found.vectors.shape == (440, 2)
    assert (found.values == 0).all()


def test_start_that_contains_the_null_space_is_harmless(seed):
    """The last vectors include constants; projecting them out leaves rounding, which must be dropped."""
    S, w = graph(seed)
    degrees, product, M = problem(S, w)
    null = component_vectors(np.zeros(w.size, int), w)
    start = np.hstack([null, null + 1e-14, np.zeros((w.size, 1))])
    found = smallest_eigenvectors(degrees, product, 4, null=null, start=start, tol=1e-8, max_iter=300)
    np.testing.assert_allclose(
        found.values, dense_eigenvectors(M.copy(), 4).values, atol=1e-6 * degrees.mean()
    )


def test_warm_start_saves_products(seed):
    S, w = graph(seed)
    cold = smallest_eigenvectors(*problem(S, w)[:2], 3)
    S[:40, :40] *= 0.98
    degrees, product, _ = problem(S, w)
    warm = smallest_eigenvectors(degrees, product, 3, start=cold.block)
    again = smallest_eigenvectors(degrees, product, 3)
    assert warm.converged
    assert warm.iterations < again.iterations
    assert angle(warm.vectors, again.vectors) < 1e-4


def test_small_problems_go_dense(monkeypatch):
    S, w = graph(1, blocks=(20, 30))
    degrees, product, M = problem(S, w)
    found = smallest_eigenvectors(degrees, product, 2, dense=lambda: M.copy())
    assert found.iterations == 0
    monkeypatch.setattr(lobpcg, "_DENSE_UP_TO", 0)
    iterated = smallest_eigenvectors(degrees, product, 2, dense=lambda: M.copy(), tol=1e-9)
    np.testing.assert_allclose(iterated.values, found.values, atol=1e-6 * degrees.mean())


def test_dense_solver_takes_over_when_the_iteration_does_not_converge():
    degrees, product, M = problem(*graph(2))
    found = smallest_eigenvectors(degrees, product, 3, dense=lambda: M.copy(), max_iter=1)
    assert found.converged
    assert found.iterations == 0


@pytest.mark.parametrize("density", [0.0, 0.01, 0.03, 0.5])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_components_agree_with_scipy(seed, density, as_sparse):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((80, 80)) < density, 1).astype(float)
    chance_values_below = np.tril(rng.random((80, 80)), -1)
    count, labels = components(sp.csr_array(upper) if as_sparse else upper + chance_values_below)
    expected, expected_labels = connected_components(upper, directed=False)
    assert count == expected
    assert len(set(zip(labels, expected_labels))) == count
    assert np.array_equal(
        np.unique(labels, return_index=True)[1], np.sort(np.unique(labels, return_index=True)[1])
    )
