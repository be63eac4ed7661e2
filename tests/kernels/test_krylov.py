"""Eigenvectors by block Lanczos, factors and polynomials: all against a dense decomposition."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from consilience.kernels import krylov
from consilience.kernels.neighbours import nearest, symmetric_graph


def symmetric(n, seed=0):
    values = np.sort(np.random.default_rng(seed).uniform(-1, 1, n))[::-1]
    Q = np.linalg.qr(np.random.default_rng(seed + 1).normal(size=(n, n)))[0]
    return (Q * values) @ Q.T, values, Q


def subspaces_agree(A, B, tol):
    return np.linalg.norm(A - B @ (B.T @ A)) <= tol


def neighbour_graph(n=900, seed=0, k=6):
    """(normalised adjacency, its known leading vector) of a connected neighbour graph of two moons and a bridge."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + 2.5 * np.eye(3)[rng.integers(0, 3, n)]
    index, squares = nearest(X, k)
    W = symmetric_graph(index, np.exp(-squares))
    degree = np.asarray(W.sum(axis=1)).ravel()
    root = sp.diags_array(degree**-0.5)
    known = np.sqrt(degree / degree.sum())[:, None]
    return sp.csr_array(root @ W @ root), known


@pytest.mark.parametrize("count", [1, 5, 30])
@pytest.mark.parametrize("block", [1, 4])
def test_restarted_iteration(seed, count, block):
    A, values, Q = symmetric(400, seed)
    found = krylov.leading_eigenvectors(lambda X: A @ X, 400, count, block=block, tol=1e-8)
    assert found.converged
    assert np.allclose(found.values, values[:count], atol=1e-10)
    assert np.allclose(found.vectors.T @ found.vectors, np.eye(count), atol=1e-10)
    assert subspaces_agree(found.vectors, Q[:, :count], 1e-4)


def test_small_problems_are_solved_directly():
    A, values, _ = symmetric(50)
    found = krylov.leading_eigenvectors(None, 50, 3, dense=lambda: A)
    assert found.products == 0
    assert np.allclose(found.values, values[:3])


def test_known_vectors_are_left_out():
    A, values, Q = symmetric(300)
    for dense in (None, lambda: A):
        found = krylov.leading_eigenvectors(
            lambda X: A @ X, 300, 4, known=Q[:, :3], dense=dense, tol=1e-8, max_products=3000
        )
        assert np.allclose(found.values, values[3:7], atol=1e-8)
        assert np.abs(Q[:, :3].T @ found.vectors).max() < 1e-8


def test_repeated_eigenvalues_are_all_found():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(300, 300)))[0]
    values = np.concatenate([np.full(6, 2.0), np.linspace(1, 0, 294)])
    A = (Q * values) @ Q.T
    found = krylov.leading_eigenvectors(lambda X: A @ X, 300, 6, tol=1e-8)
    assert np.allclose(found.values, 2.0)
    assert subspaces_agree(found.vectors, Q[:, :6], 1e-5)


def test_an_invariant_subspace_does_not_stop_it():
    """Rank two: the iteration runs out of directions and goes on in new ones."""
    U = np.linalg.qr(np.random.default_rng(0).normal(size=(250, 2)))[0]
    found = krylov.leading_eigenvectors(lambda X: U @ (U.T @ X), 250, 5)
    assert np.allclose(found.values, [1, 1, 0, 0, 0], atol=1e-10)
    assert np.allclose(found.vectors.T @ found.vectors, np.eye(5), atol=1e-10)


def test_says_when_products_run_out():
    A, _, _ = symmetric(400)
    found = krylov.leading_eigenvectors(lambda X: A @ X, 400, 5, max_products=1, tol=1e-12)
    assert not found.converged
    rescued = krylov.leading_eigenvectors(lambda X: A @ X, 400, 5, max_products=1, tol=1e-12, dense=lambda: A)
    assert rescued.converged


@pytest.mark.parametrize("way", ["factors", "polynomial"])
@pytest.mark.parametrize("count", [2, 20])
def test_both_ways_through_a_graph(seed, way, count, monkeypatch):
    N, known = neighbour_graph(seed=seed)
    monkeypatch.setattr(krylov, "FACTORS_UP_TO", (10**6,) * 3 if way == "factors" else (0, 0, 0))
    found = krylov.graph_eigenvectors(N, count, known=known, tol=1e-7)
    values, vectors = np.linalg.eigh(N.toarray())
    expected = vectors[:, ::-1][:, 1 : count + 1]
    assert found.converged
    assert np.allclose(found.values, values[::-1][1 : count + 1], atol=1e-9)
    assert subspaces_agree(found.vectors, expected, 1e-3)


def test_product_with_a_sparse_matrix(seed):
    rng = np.random.default_rng(seed)
    A = sp.random_array((40, 40), density=0.2, rng=rng, format="csr")
    X = rng.normal(size=(40, 3))
    assert np.allclose(krylov.csr_times_block(A.indptr, A.indices, A.data, X), A @ X)
