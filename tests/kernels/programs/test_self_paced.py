"""Self-paced weights against a grid of all weights, and the pace."""

from __future__ import annotations

import numpy as np
import pytest

from consilience._kernels.programs.self_paced import hard_weights, quantile_loss, shares, soft_weights

GRID = np.linspace(0, 1, 20001)


def test_hard_weights_minimize_their_objective(seed):
    L = np.random.default_rng(seed).exponential(size=40)
    age = 0.8
    best = GRID[np.argmin(np.outer(L - age, GRID), axis=1)]
    np.testing.assert_allclose(hard_weights(L, age), best)


@pytest.mark.parametrize("gamma", [0.1, 0.4, 3.0])
def test_soft_weights_minimize_their_objective(seed, gamma):
    L = np.random.default_rng(seed).exponential(size=40)
    age = 0.8
    value = L[:, None] * GRID - gamma * np.log(GRID + gamma / age)
    np.testing.assert_allclose(soft_weights(L, age, gamma), GRID[value.argmin(axis=1)], atol=1e-4)


def test_soft_weights_by_hand():
    # gamma = age / 2 = 3: full up to age / 3 = 2, none from 6 on, 3 / 3 - 3 / 6 at 3.
    weights = soft_weights(np.array([0.0, 2.0, 3.0, 6.0, 9.0]), 6.0, 3.0)
    np.testing.assert_allclose(weights, [1, 1, 0.5, 0, 0])


def test_nothing_is_hard_without_loss():
    assert soft_weights(np.zeros(3), 0.0, 0.0).tolist() == [1, 1, 1]
    assert hard_weights(np.zeros(3), 0.0).tolist() == [1, 1, 1]


def test_pace():
    np.testing.assert_allclose(shares(0.5, 0.1), [0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    assert shares(1.0, 0.1) == [1.0]
    np.testing.assert_allclose(shares(0.5, 0.3), [0.5, 0.8, 1.0])
    losses = np.arange(10.0)
    assert [quantile_loss(losses, s) for s in (0.5, 0.7, 1.0)] == [4, 6, 9]
    assert quantile_loss(losses, 0.1, at_least=3) == 2
    assert hard_weights(losses, quantile_loss(losses, 0.7)).sum() == 7
