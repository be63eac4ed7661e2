"""Shrinkage: each formula against its definition as a minimizer, the partial one against the dense one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import svd as scipy_svd
from scipy.optimize import minimize

from consilience._kernels.eigen import singular
from consilience._kernels.eigen.orthonormal import orthonormal_factors
from consilience._kernels.eigen.singular import (
    Deflated,
    LowRank,
    remainder_is_below,
    shrink_singular_values,
)
from consilience._kernels.programs import low_rank


def shrink_entries(Q, thresholds):
    """By the pass of NRSEC, with S = Q, everything else 0 and weights of one: E is what is left of S."""
    n, d = Q.shape
    square, E = np.zeros((max(n, d), max(n, d))), np.zeros((n, d))
    square[:n, :d] = thresholds
    moved, Y1, root = np.zeros((n, d), np.float32), np.zeros((n, d)), np.ones(max(n, d))
    weights = square.astype(np.float32)
    entries, penalty = low_rank.EntrySteps(moved, E, Y1), low_rank.Penalty(1.0, 1.0, 1.0)
    low_rank.step_entries(Q, np.zeros((n, d)), entries, low_rank.Thresholds(weights, root, 1.0), penalty, 0)
    return E


def shrink_columns(Q, thresholds):
    """By the pass of RSEC: where S is 0 and E was 0, the new Q is the old one, and E = share Q by column."""
    d, n = Q.shape
    rows, share = np.ascontiguousarray(Q.T), np.zeros(n)
    zeros = np.zeros((n, d))
    basis = low_rank.Basis(zeros, np.zeros(d), zeros.copy(), zeros.copy(), zeros.astype(np.float32))
    columns = low_rank.ColumnShares(rows, share, np.broadcast_to(thresholds, n).astype(float))
    penalty = low_rank.Penalty(1.0, 1.0, 1.0)
    low_rank.step_columns(basis, zeros, zeros, columns, penalty, 0, np.zeros((n, 2)))
    assert np.array_equal(rows, Q.T)
    return Q * share


def low_rank_plus_noise(rng, n, rank, noise):
    left, right = (np.linalg.qr(rng.standard_normal((n, rank)))[0] for _ in range(2))
    return (left * np.linspace(3, 1, rank)) @ right.T + noise * rng.standard_normal((n, n)) / np.sqrt(n)


def test_entries_by_hand():
    Q = np.array([[3.0, -0.5], [-2.0, 0.0]])
    assert np.array_equal(shrink_entries(Q, 1.0), [[2.0, 0.0], [-1.0, 0.0]])
    assert np.array_equal(shrink_entries(Q, np.array([[3.0, 0.0], [1.5, 1.0]])), [[0.0, -0.5], [-0.5, 0.0]])


def test_columns_by_hand():
    Q = np.array([[3.0, 0.3, 0.0], [4.0, 0.4, 0.0]])
    assert np.allclose(shrink_columns(Q, 1.0), [[2.4, 0.0, 0.0], [3.2, 0.0, 0.0]])
    assert np.allclose(shrink_columns(Q, np.array([2.5, 0.0, 1.0])), [[1.5, 0.3, 0.0], [2.0, 0.4, 0.0]])


@pytest.mark.parametrize(
    ("shrink", "penalty"),
    [
        (shrink_entries, lambda X: np.abs(X).sum()),
        (shrink_columns, lambda X: np.linalg.norm(X, axis=0).sum()),
        (lambda Q, t: shrink_singular_values(Q, t).dense(), lambda X: np.linalg.norm(X, "nuc")),
    ],
)
def test_minimizes_penalty_and_distance(shrink, penalty, seed):
    rng = np.random.default_rng(seed)
    Q, t = rng.standard_normal((4, 3)), 0.8

    def f(x):
        X = x.reshape(Q.shape)
        return t * penalty(X) + 0.5 * np.linalg.norm(X - Q) ** 2

    answer = shrink(Q, t)
    generic = minimize(
        f, Q.ravel(), method="Powell", options={"maxiter": 20_000, "xtol": 1e-8, "ftol": 1e-12}
    )
    assert f(answer.ravel()) <= generic.fun + 1e-9
    for _ in range(200):  # and no small step away from it helps
        assert f(answer.ravel()) <= f(answer.ravel() + 1e-3 * rng.standard_normal(Q.size)) + 1e-12


def test_weighted_singular_values_minimize_their_penalty(seed):
    rng = np.random.default_rng(seed)
    Q, t, weights = rng.standard_normal((4, 4)), 0.7, np.array([0.2, 0.5])
    slopes = np.array([0.2, 0.5, 1.0, 1.0])

    def f(X):
        return t * slopes @ np.linalg.svd(X, compute_uv=False) + 0.5 * np.linalg.norm(X - Q) ** 2

    answer = shrink_singular_values(Q, t, weights=weights)
    values = np.linalg.svd(Q, compute_uv=False)
    expected = np.maximum(values - t * slopes, 0)
    assert np.allclose(answer.values, expected[expected > 0])
    # The penalty is not convex, but the formula is its global minimizer as slopes rise while values fall.
    for scale in (1e-3, 1e-1, 1.0):
        for _ in range(200):
            assert f(answer.dense()) <= f(answer.dense() + scale * rng.standard_normal(Q.shape)) + 1e-12


@pytest.mark.parametrize(("rank", "threshold"), [(0, 5.0), (3, 0.9), (12, 0.5), (150, 0.3)])
def test_partial_equals_dense(rank, threshold, seed):
    rng = np.random.default_rng(seed)
    X = low_rank_plus_noise(rng, 320, max(rank, 1), 0.1)
    left, values, right = np.linalg.svd(X)
    exact = (left * np.maximum(values - threshold, 0)) @ right
    found = shrink_singular_values(X, threshold)
    assert found.rank == (values > threshold).sum()
    assert np.linalg.norm(found.dense() - exact) <= found.error + 1e-10
    assert found.error <= 1e-4 * threshold
    assert remainder_is_below(X, found.right, threshold)


def test_a_start_from_the_last_answer_saves_products():
    rng = np.random.default_rng(0)
    X = low_rank_plus_noise(rng, 300, 10, 0.4)
    cold = shrink_singular_values(X, 0.8)
    warm = shrink_singular_values(X + 1e-5 * rng.standard_normal(X.shape), 0.8, start=cold.block)
    assert warm.rank == cold.rank == 10
    assert 0 < warm.iterations < cold.iterations


def test_what_is_not_multiplied_again_is_bounded_by_angles(monkeypatch):
    """A start that has hardly turned: few columns see X a second time, and the error bound still holds."""
    rng = np.random.default_rng(0)
    X = low_rank_plus_noise(rng, 400, 60, 0.4)
    cold = shrink_singular_values(X, 0.9)
    X = X + 1e-5 * rng.standard_normal(X.shape)
    widths = []
    times = singular._Whole.times
    monkeypatch.setattr(
        singular._Whole,
        "times",
        lambda self, V, n_jobs=None: widths.append(V.shape[1]) or times(self, V, n_jobs),
    )
    warm = shrink_singular_values(X, 0.9, start=cold.block, tol=3e-3)
    left, values, right = np.linalg.svd(X)
    exact = (left * np.maximum(values - 0.9, 0)) @ right
    assert warm.rank == 60
    assert widths[0] == 68
    assert sum(widths[1:]) < 34
    assert np.linalg.norm(warm.dense() - exact) <= warm.error <= 3e-3 * 0.9


def test_settled_vectors_take_no_part_in_later_rounds(monkeypatch):
    """Sixty vectors that have hardly turned: only the guard is decomposed again; order and bound hold."""
    rng = np.random.default_rng(0)
    X = low_rank_plus_noise(rng, 400, 60, 0.4)
    cold = shrink_singular_values(X, 0.9)
    X = X + 1e-6 * rng.standard_normal(X.shape)
    sizes = []
    monkeypatch.setattr(singular, "svd", lambda B, **how: sizes.append(len(B)) or scipy_svd(B, **how))
    warm = shrink_singular_values(X, 0.9, start=cold.block, tol=3e-3)
    values = np.linalg.svd(X, compute_uv=False)
    assert sizes[0] == 68
    assert max(sizes[1:]) < 34
    assert np.allclose(warm.values, values[:60] - 0.9, atol=1e-6)
    for vectors in (warm.left, warm.block):
        assert np.allclose(vectors.T @ vectors, np.eye(vectors.shape[1]), atol=1e-12)


def test_tangents_of_two_spaces(seed):
    rng = np.random.default_rng(seed)
    V0 = np.linalg.qr(rng.standard_normal((30, 4)))[0]
    V = np.linalg.qr(V0 + 0.1 * rng.standard_normal((30, 4)))[0]
    N = V0 @ np.linalg.inv(V.T @ V0) - V
    found = singular._tangents(V.T @ V0)
    assert np.allclose(found.T @ found, N.T @ N)
    assert np.linalg.norm(singular._tangents(V0.T @ V0)) < 1e-6
    assert np.isfinite(singular._tangents(np.zeros((4, 4)))).all()


@pytest.mark.parametrize("scale", [1.0, 1e-6])
def test_split_off_an_earlier_answer_single_precision_is_enough(scale):
    """Values far above the threshold, as late in the Lagrangian: rounding is relative to what stays in X."""
    rng = np.random.default_rng(0)
    low = shrink_singular_values(low_rank_plus_noise(rng, 300, 20, 0.0), 0.3)
    rest = (scale * low_rank_plus_noise(rng, 300, 10, 0.1)).astype(np.float32)
    X, threshold = Deflated(low, rest), 0.5 * scale
    left, values, right = np.linalg.svd(X.dense())
    exact = (left * np.maximum(values - threshold, 0)) @ right
    found = shrink_singular_values(X, threshold, start=low.block)
    assert found.rank == (values > threshold).sum() > 20
    assert np.linalg.norm(found.dense() - exact) <= 1e-4 * threshold
    assert remainder_is_below(X, found.right, threshold)
    assert not remainder_is_below(X, found.right[:, :-2], threshold)


def test_basis_is_cut_back_and_still_right(monkeypatch):
    monkeypatch.setattr(singular, "_MOST", 1)
    rng = np.random.default_rng(0)
    X = low_rank_plus_noise(rng, 320, 12, 0.1)
    values = np.linalg.svd(X, compute_uv=False)
    found = shrink_singular_values(X, 0.5)
    assert np.allclose(found.values, values[values > 0.5] - 0.5, atol=1e-5)


def test_certificate_tells_what_was_missed(seed):
    rng = np.random.default_rng(seed)
    X = low_rank_plus_noise(rng, 250, 6, 0.01)
    _, values, right = np.linalg.svd(X)
    right = right.T
    threshold = 0.7 * values[5]
    assert remainder_is_below(X, right[:, :6], threshold)
    assert not remainder_is_below(X, right[:, [0, 1, 2, 3, 5]], threshold)
    assert not remainder_is_below(X[:, :200], right[:200, :0], threshold)
    assert remainder_is_below(X, right[:, :5], values[5])  # equal to the threshold is not above it


def test_guard_grows_when_more_values_cross(monkeypatch):
    """Forty values above the threshold, starting from a block for none."""
    monkeypatch.setattr(singular, "_DENSE_UP_TO", 50)
    rng = np.random.default_rng(0)
    X = low_rank_plus_noise(rng, 400, 40, 0.2)
    found = shrink_singular_values(X, 0.7, start=np.zeros((400, 0)))
    assert isinstance(found, LowRank)
    assert found.rank == 40
    assert found.iterations > 0
    assert remainder_is_below(X, found.right, 0.7)


def test_orthonormal_factors(seed):
    rng = np.random.default_rng(seed)
    graded = np.linalg.qr(rng.standard_normal((80, 6)))[0] * 10.0 ** -np.arange(0, 12, 2)
    dependent = np.column_stack([graded[:, 0], graded[:, 0], np.zeros(80)])
    for Y in (graded + 1e-3 * graded[:, :1], dependent):
        Q, R = orthonormal_factors(Y)
        assert np.allclose(Q.T @ Q, np.eye(Y.shape[1]), atol=1e-12)
        assert np.allclose(Q @ R, Y, atol=1e-14)


def test_orthonormal_columns_are_left_alone(seed):
    Y = np.linalg.qr(np.random.default_rng(seed).standard_normal((80, 6)))[0]
    Q, R = orthonormal_factors(Y)
    assert np.allclose(Q, Y, rtol=0, atol=1e-15)
    assert np.allclose(R, np.eye(6), rtol=0, atol=1e-15)


@pytest.mark.parametrize("columns", [214, 220])
def test_a_start_that_leaves_no_room_to_grow(columns):
    """A rank just below the number of columns: with its guard vectors the start is the whole space."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((260, 220))
    start = np.linalg.qr(rng.standard_normal((220, columns)))[0]
    threshold = float(np.linalg.svd(X, compute_uv=False)[[209, 210]].mean())
    found = shrink_singular_values(X, threshold, start=start)
    assert found.rank == 210
    assert np.allclose(found.dense(), singular._dense(X, threshold, np.zeros(0)).dense(), atol=1e-4)


def test_inputs_stay_as_they_are():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((260, 260))
    before = X.copy()
    found = shrink_singular_values(X, 20.0)
    remainder_is_below(X, found.right, 20.0)
    assert np.array_equal(X, before)
