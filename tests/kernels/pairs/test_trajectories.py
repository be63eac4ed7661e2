"""Trajectories of random walks: the forms without a matrix against the plain one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from consilience._kernels.pairs.trajectories import (
    stochastic_rows,
    trajectory_product,
    trajectory_similarity,
    trajectory_sums,
)
from consilience._kernels.pairs.walks import walk_norms


def walk(seed, v=40):
    rng = np.random.default_rng(seed)
    S = rng.random((v, v)) * (rng.random((v, v)) < 0.15)
    S = S + S.T
    S[3] = S[:, 3] = 0
    return S


def plain(P, steps):
    Q = np.hstack([np.linalg.matrix_power(P, t) for t in range(1, steps + 1)])
    lengths = np.linalg.norm(Q, axis=1)
    return (Q @ Q.T) / np.where(np.outer(lengths, lengths) > 0, np.outer(lengths, lengths), 1)


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_similarity_is_the_cosine_of_trajectories(seed, steps):
    P = stochastic_rows(walk(seed))
    Z = trajectory_similarity(P, steps)
    assert np.allclose(Z, plain(P, steps))
    assert np.array_equal(Z, Z.T)
    assert Z.max() <= 1
    assert Z.min() >= 0
    assert not Z[3].any()


@pytest.mark.parametrize("steps", [4, 7, 20])
def test_one_decomposition_serves_for_all_steps(seed, steps):
    S = walk(seed)
    weights = np.random.default_rng(seed).uniform(0.1, 5, 40)
    P = stochastic_rows(S * weights)
    Z = trajectory_similarity(P, steps, measure=weights * (S @ weights))
    assert np.allclose(Z, trajectory_similarity(P, steps), atol=1e-12)
    assert np.array_equal(Z, Z.T)
    assert not Z[3].any()


def test_walks_that_never_meet_are_not_alike_at_all():
    """Two graphs without an edge between them, and two that swap places for ever."""
    S = np.zeros((12, 12))
    S[:5, :5] = S[5:10, 5:10] = 1.0
    S[10, 11] = S[11, 10] = 1.0
    Z = trajectory_similarity(stochastic_rows(S), 20, measure=S.sum(axis=1))
    expected = np.zeros((12, 12))
    expected[:5, :5] = expected[5:10, 5:10] = 1.0
    expected[10, 10] = expected[11, 11] = 1.0
    assert np.allclose(Z, expected)
    assert not Z[expected == 0].any()


def test_far_apart_weights_are_walked_without_eigenvectors():
    """There the last digits of a large sum hide the small ones: products, which only add, take over."""
    S = walk(0)
    weights = 10.0 ** np.random.default_rng(0).uniform(-9, 9, 40)
    P = stochastic_rows(S * weights)
    Z = trajectory_similarity(P, 20, measure=weights * (S @ weights))
    assert np.array_equal(Z, trajectory_similarity(P, 20))
    vanished = np.where(weights < 1, 0.0, weights * (S @ weights))
    assert np.array_equal(trajectory_similarity(P, 20, measure=vanished), Z)


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_products_without_the_matrix(seed, steps):
    S = walk(seed)
    P = stochastic_rows(sp.csr_array(S))
    assert np.allclose(P.toarray(), stochastic_rows(S))
    V = np.random.default_rng(seed).normal(size=(40, 3))
    norms = walk_norms(P, steps)
    found = trajectory_product(P, norms, trajectory_sums(P, steps, norms, V))
    assert np.allclose(found, plain(P.toarray(), steps) @ V, atol=1e-12)


def test_by_hand():
    """Two neighbors swap places with every step; two steps make them equal."""
    P = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert trajectory_similarity(P, 1).tolist() == [[1, 0], [0, 1]]
    assert np.allclose(trajectory_similarity(P, 2), [[1, 0], [0, 1]])
    Q = stochastic_rows(np.array([[0.0, 1, 1], [1, 0, 0], [1, 0, 0]]))
    assert np.allclose(trajectory_similarity(Q, 1)[1:, 1:], 1)
