"""Rows of graphs of pairs, against the same by whole matrices."""

from __future__ import annotations

import numpy as np
import pytest

from consilience._kernels.pairs.connective import log_sums, nearest_of_weight_one, shared_out


def some(seed, u=90, m=6):
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 5, u).astype(float)
    codes = rng.integers(0, 4, (m, u)) + 4 * np.arange(m)[:, None]
    return rng, np.where(rng.random((m, u)) < 0.2, -1, codes), weights


def test_sums_of_logarithms(seed):
    rng, codes, weights = some(seed)
    B = rng.random((90, 90)) * (rng.random((90, 90)) < 0.9)
    logs = np.log(np.where(B > 0, B, 1.0)) * weights
    together = (codes[:, :, None] == codes[:, None]) & (codes[:, None] >= 0)
    assert np.allclose(log_sums(codes, B, weights), np.einsum("pq,ipq->pi", logs, together), rtol=1e-12)


def test_rows_that_are_shared_out(seed):
    rng, _, weights = some(seed)
    C = rng.random((90, 90)) * (rng.random((90, 90)) < 0.3) + np.eye(90)
    pull = rng.random((90, 90)) * rng.choice([0.0, 1.0, 1e6], (90, 1))
    B = shared_out(C, pull, weights)
    assert np.allclose(B @ weights, 1.0, rtol=1e-12)
    assert np.array_equal(B > 0, C > 0)
    th = np.where(C > 0, C / np.where(C > 0, B, 1.0) - pull, np.nan)  # one number in every row
    spread = np.nanmax(th, axis=1) - np.nanmin(th, axis=1)
    assert (spread <= 1e-9 * (1.0 + pull.max(axis=1))).all()


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_nearest_rows_by_sorting(seed, scale):
    rng, _, weights = some(seed)
    V = rng.normal(size=(90, 90)) * scale
    V[:10] = np.round(V[:10] / scale) * scale  # ties
    order = np.argsort(-V, axis=1)
    values, heavy = np.take_along_axis(V, order, axis=1), weights[order]
    shift = (np.cumsum(heavy * values, axis=1) - 1.0) / np.cumsum(heavy, axis=1)
    last = (values > shift).sum(axis=1) - 1
    expected = np.maximum(V - shift[np.arange(90), last][:, None], 0.0)
    assert np.allclose(nearest_of_weight_one(V, weights), expected, rtol=0, atol=1e-13 * max(scale, 1.0))


def test_the_same_bits_on_any_number_of_threads():
    rng, codes, weights = some(0, u=300)
    V = rng.random((300, 300))
    for function in (
        lambda jobs: log_sums(codes, V, weights, n_jobs=jobs),
        lambda jobs: shared_out(V, V, weights, n_jobs=jobs),
        lambda jobs: nearest_of_weight_one(V, weights, n_jobs=jobs),
    ):
        assert np.array_equal(function(1), function(2))
