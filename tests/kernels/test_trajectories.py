"""Trajectories of random walks: the forms without a matrix against the plain one."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from consilience.kernels.trajectories import (
    stochastic_rows,
    trajectory_norms,
    trajectory_product,
    trajectory_similarity,
)


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


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_products_without_the_matrix(seed, steps):
    S = walk(seed)
    P = stochastic_rows(sp.csr_array(S))
    assert np.allclose(P.toarray(), stochastic_rows(S))
    V = np.random.default_rng(seed).normal(size=(40, 3))
    norms = trajectory_norms(P, steps)
    found = trajectory_product(P, steps, norms, V)
    assert np.allclose(found, plain(P.toarray(), steps) @ V, atol=1e-12)


def test_by_hand():
    """Two neighbours swap places with every step; two steps make them equal."""
    P = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert trajectory_similarity(P, 1).tolist() == [[1, 0], [0, 1]]
    assert np.allclose(trajectory_similarity(P, 2), [[1, 0], [0, 1]])
    Q = stochastic_rows(np.array([[0.0, 1, 1], [1, 0, 0], [1, 0, 0]]))
    assert np.allclose(trajectory_similarity(Q, 1)[1:, 1:], 1)
