"""Eigenvectors by block Lanczos, factors and polynomials: all against a dense decomposition."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from consilience._kernels.eigen import lanczos
from consilience._kernels.eigen.orthonormal import orthonormal
from consilience._kernels.neighbors.search import Pairs, nearest, symmetric_graph

from ...zoo import random_sparse


def symmetric(n, seed=0):
    values = np.sort(np.random.default_rng(seed).uniform(-1, 1, n))[::-1]
    Q = np.linalg.qr(np.random.default_rng(seed + 1).normal(size=(n, n)))[0]
    return (Q * values) @ Q.T, values, Q


def subspaces_agree(A, B, tol):
    return np.linalg.norm(A - B @ (B.T @ A)) <= tol


def neighbor_graph(n=900, seed=0, k=6):
    """(normalized adjacency, its known leading vector) of a neighbor graph of two moons and a bridge."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + 2.5 * np.eye(3)[rng.integers(0, 3, n)]
    index, squares = nearest(Pairs(X), k)
    W = symmetric_graph(index, np.exp(-squares))
    degree = np.asarray(W.sum(axis=1)).ravel()
    root = sp.diags_array(degree**-0.5)
    known = np.sqrt(degree / degree.sum())[:, None]
    return sp.csr_array(root @ W @ root), known


@pytest.mark.parametrize("count", [1, 5, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("block", [1, 4])
def test_restarted_iteration(seed, count, block):
    A, values, Q = symmetric(400, seed)
    found = lanczos.leading_eigenvectors(lambda X: A @ X, 400, count, block=block, tol=1e-8)
    assert found.converged
    assert np.allclose(found.values, values[:count], atol=1e-10)
    assert np.allclose(found.vectors.T @ found.vectors, np.eye(count), atol=1e-10)
    assert subspaces_agree(found.vectors, Q[:, :count], 1e-4)


def test_small_problems_are_solved_directly():
    A, values, _ = symmetric(50)
    found = lanczos.leading_eigenvectors(None, 50, 3, dense=lambda: A)
    assert found.products == 0
    assert np.allclose(found.values, values[:3])


def test_known_vectors_are_left_out():
    A, values, Q = symmetric(300)
    for dense in (None, lambda: A):
        found = lanczos.leading_eigenvectors(
            lambda X: A @ X, 300, 4, known=Q[:, :3], dense=dense, tol=1e-8, max_products=3000
        )
        assert np.allclose(found.values, values[3:7], atol=1e-8)
        assert np.abs(Q[:, :3].T @ found.vectors).max() < 1e-8


def test_repeated_eigenvalues_are_all_found():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(300, 300)))[0]
    values = np.concatenate([np.full(6, 2.0), np.linspace(1, 0, 294)])
    A = (Q * values) @ Q.T
    found = lanczos.leading_eigenvectors(lambda X: A @ X, 300, 6, tol=1e-8)
    assert np.allclose(found.values, 2.0)
    assert subspaces_agree(found.vectors, Q[:, :6], 1e-5)


def test_an_invariant_subspace_does_not_stop_it():
    """Rank two: the iteration runs out of directions and goes on in new ones."""
    U = np.linalg.qr(np.random.default_rng(0).normal(size=(250, 2)))[0]
    found = lanczos.leading_eigenvectors(lambda X: U @ (U.T @ X), 250, 5)
    assert np.allclose(found.values, [1, 1, 0, 0, 0], atol=1e-10)
    assert np.allclose(found.vectors.T @ found.vectors, np.eye(5), atol=1e-10)


def test_says_when_products_run_out():
    A, _, _ = symmetric(400)
    found = lanczos.leading_eigenvectors(lambda X: A @ X, 400, 5, max_products=1, tol=1e-12)
    assert not found.converged
    rescued = lanczos.leading_eigenvectors(
        lambda X: A @ X, 400, 5, max_products=1, tol=1e-12, dense=lambda: A
    )
    assert rescued.converged


@pytest.mark.parametrize("way", ["factors", "polynomial"])
@pytest.mark.parametrize("count", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_both_ways_through_a_graph(seed, way, count, monkeypatch):
    N, known = neighbor_graph(seed=seed)
    monkeypatch.setattr(lanczos, "FACTORS_UP_TO", (10**6,) * 4 if way == "factors" else (0,) * 4)
    found = lanczos.graph_eigenvectors(N, count, known=known, tol=1e-7)
    values, vectors = np.linalg.eigh(N.toarray())
    expected = vectors[:, ::-1][:, 1 : count + 1]
    assert found.converged
    assert np.allclose(found.values, values[::-1][1 : count + 1], atol=1e-9)
    assert subspaces_agree(found.vectors, expected, 1e-3)


def test_chebyshev_polynomial_of_a_sparse_matrix(seed):
    rng = np.random.default_rng(seed)
    A = random_sparse((40, 40), 0.2, seed=rng)
    for width in (3, 4):
        X = rng.normal(size=(40, width))
        B = (A - 0.25 * sp.eye_array(40)) / 0.5
        assert np.allclose(lanczos._chebyshev(A, X, 1, 0.25, 0.5), B @ X)
        assert np.allclose(lanczos._chebyshev(A, X, 3, 0.25, 0.5), 4 * (B @ (B @ (B @ X))) - 3 * (B @ X))


def test_orthonormal_rows_and_what_is_lost(seed):
    W = np.random.default_rng(seed).normal(size=(60, 4))
    W[:, 2] = W[:, 0] - 3 * W[:, 1]
    Q, R = orthonormal(W, 1e-10)
    assert np.allclose(Q.T @ R, W)
    assert np.diag(R)[2] == 0
    assert not Q[2].any()
    assert np.allclose(Q @ Q.T, np.diag([1, 1, 0, 1]), atol=1e-14)


def test_polynomials_give_way_to_factors(monkeypatch):
    """Nine clumps with faint ties: eigenvalues bunched at 1 exhaust any patience."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3)) * 0.1 + rng.normal(size=(9, 3)).repeat(100, axis=0) * 20
    index, squares = nearest(Pairs(X), 6)
    ties = sp.diags_array([np.full(899, 1e-6)] * 2, offsets=[-1, 1])
    W = sp.csr_array(symmetric_graph(index, np.exp(-squares)) + ties)
    monkeypatch.setattr(lanczos, "FACTORS_UP_TO", (0, 0, 10**6, 10**6))
    root = np.sqrt(np.asarray(W.sum(axis=1)).ravel())
    N = sp.csr_array(sp.diags_array(1 / root) @ W @ sp.diags_array(1 / root))
    known = (root / np.linalg.norm(root))[:, None]
    asked = []
    inverted = lanczos._inverted
    monkeypatch.setattr(lanczos, "_inverted", lambda *a: asked.append(1) or inverted(*a))
    found = lanczos.graph_eigenvectors(N, 12, known=known)
    assert asked
    assert found.converged
    assert np.allclose(found.values, np.linalg.eigvalsh(N.toarray())[::-1][1:13], atol=1e-8)


def test_polynomials_of_a_graph_without_eigenvalues_near_one(seed):
    """The first polynomial is cut at 1/2; of a random graph all wanted eigenvalues lie below."""
    rng, n, count = np.random.default_rng(seed), 1100, 12
    W = sp.csr_array(rng.random((n, n)) * (rng.random((n, n)) < 0.02))
    W = sp.csr_array(W + W.T)
    degree = np.asarray(W.sum(axis=1)).ravel()
    scale = sp.diags_array(1 / np.sqrt(degree))
    N = sp.csr_array(scale @ W @ scale)
    known = np.sqrt(degree / degree.sum())[:, None]
    found = lanczos.graph_eigenvectors(N, count, known=known)
    expected = np.linalg.eigvalsh(N.toarray())[::-1][1 : count + 1]
    assert expected[0] < 0.5
    assert found.converged
    assert np.allclose(found.values, expected, atol=1e-8)
    assert np.linalg.norm(N @ found.vectors - found.vectors * found.values, axis=0).max() < 1e-4


def test_of_equal_eigenvalues_the_same_vectors_whatever_the_last_digit():
    """Six pieces, three vectors: LAPACK returns any three of six, and labels would change with rounding."""
    blocks = [np.full((size, size), 1.0 / size) for size in (3, 4, 5, 6, 7, 8)]
    A = scipy.linalg.block_diag(*blocks)
    found = lanczos.leading_eigenvectors(lambda X: A @ X, len(A), 3, dense=lambda: A).vectors
    assert np.allclose(found.T @ found, np.eye(3))
    assert np.allclose(A @ found, found)
    noise = 1e-16 * np.random.default_rng(0).normal(size=A.shape)
    B = A + noise + noise.T
    again = lanczos.leading_eigenvectors(lambda X: B @ X, len(B), 3, dense=lambda: B).vectors
    assert np.allclose(again, found, atol=1e-9)
