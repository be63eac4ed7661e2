"""Row problems over a box: against a generic solver, by hand, and without favor for any column."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from consilience._kernels.programs.box import contradiction, smooth_rows, weigh_rows
from consilience._kernels.programs.coupling import couple, gram, spread


def problem(seed, b=4, k=7):
    rng = np.random.default_rng(seed)
    E = np.abs(rng.normal(size=(k, k)))
    E = (E + E.T) / 2
    np.fill_diagonal(E, 0.0)
    Y = (rng.random((b, k)) < 0.4).astype(float)
    return rng, E, Y, rng.random((b, k)), rng.exponential(size=(b, k)) * (rng.random((b, k)) < 0.7)


def smooth_value(s, w, y, linear, E, o):
    differences = (s[:, None] - s) ** 2
    return o @ (w * (s - y)) ** 2 + linear @ s + 0.5 * np.sum(E * np.outer(w, w) * differences)


@pytest.mark.parametrize("weights", ["ones", "free"])
@pytest.mark.parametrize("missing", [False, True])
def test_smooth_rows_reach_the_optimum(seed, weights, missing):
    rng, E, Y, W, linear = problem(seed)
    W = None if weights == "ones" else W
    observed = (rng.random(Y.shape) < 0.7).astype(float) if missing else None
    S, _ = smooth_rows(Y, W, Y, linear, E, np.ones(E.shape[0]), observed=observed, tol=1e-12)
    assert S.min() >= 0
    assert S.max() <= 1
    for i in range(Y.shape[0]):
        w = np.ones(E.shape[0]) if W is None else W[i]
        o = np.ones(E.shape[0]) if observed is None else observed[i]
        args = (w, Y[i], linear[i], E, o)
        best = minimize(
            smooth_value,
            np.full(E.shape[0], 0.5),
            args,
            bounds=[(0, 1)] * E.shape[0],
            options={"ftol": 1e-14},
        )
        assert smooth_value(S[i], *args) <= best.fun + 1e-8


def test_smooth_row_by_hand():
    # One edge of weight 2 between a coordinate seen as 1 and one seen as 0: (s-1)^2 + t^2 + 2 (s-t)^2.
    E = np.array([[0.0, 2.0], [2.0, 0.0]])
    S, _ = smooth_rows(np.zeros((1, 2)), None, np.array([[1.0, 0.0]]), np.zeros((1, 2)), E, np.ones(2))
    np.testing.assert_allclose(S, [[3 / 5, 2 / 5]], atol=1e-9)


def test_a_coordinate_that_does_not_matter_follows_the_others():
    E = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 3.0], [1.0, 3.0, 0.0]])
    Y, W = np.array([[1.0, 0.0, 0.0]]), np.array([[1.0, 1.0, 0.0]])
    free, _ = smooth_rows(Y, W, Y, np.zeros((1, 3)), E, np.ones(3))
    np.testing.assert_allclose(free, [[1.0, 0.0, 0.25]])  # the limit of a small weight: (1 * 1 + 3 * 0) / 4
    pulled, _ = smooth_rows(Y, W, Y, np.array([[0.0, 0.0, 0.1]]), E, np.ones(3))
    np.testing.assert_allclose(pulled, [[1.0, 0.0, 0.0]])


def test_weights_are_stationary(seed):
    _, E, Y, S, _ = problem(seed, b=6)
    lam = 0.8
    W, solved, _ = weigh_rows(
        np.zeros_like(Y), S, Y, lam, E, np.ones(E.shape[0]), tol=1e-11, max_steps=200_000
    )
    assert solved > 0
    for i in range(Y.shape[0]):
        M = np.diag((S[i] - Y[i]) ** 2) + 0.5 * E * (S[i][:, None] - S[i]) ** 2
        gradient = 2 * M @ W[i] - lam
        moved = np.clip(W[i] - gradient, 0, 1)
        np.testing.assert_allclose(moved, W[i], atol=1e-7)


def test_rows_without_contradiction_are_not_solved(seed):
    _, E, Y, S, _ = problem(seed)
    lam = (2 * (S - Y) ** 2 + contradiction(S, E, np.ones(E.shape[0]))).max()
    W, solved, _ = weigh_rows(np.zeros_like(Y), S, Y, lam, E, np.ones(E.shape[0]))
    assert solved == 0
    np.testing.assert_array_equal(W, 1.0)


def test_weights_do_not_depend_on_the_order_of_columns(seed):
    rng, E, Y, S, _ = problem(seed, b=5, k=9)
    r = np.ones(9)
    order = rng.permutation(9)
    W, _, _ = weigh_rows(np.zeros_like(Y), S, Y, 0.5, E, r)
    shuffled, _, _ = weigh_rows(np.zeros_like(Y), S[:, order], Y[:, order], 0.5, E[order][:, order], r)
    np.testing.assert_allclose(shuffled, W[:, order], atol=1e-6)


def test_contradicting_mirror_images_share_the_doubt():
    # The published toy: 4 w1 w3 + 4 w2 w4 - sum(w). A minimizer would favor one of each pair; the mirror
    # images must come out alike, at the saddle.
    E = np.zeros((4, 4))
    E[0, 2] = E[2, 0] = E[1, 3] = E[3, 1] = 4.0
    S = np.array([[1.0, 0.0, 0.0, 1.0]])
    W, _, _ = weigh_rows(np.zeros((1, 4)), S, S, 1.0, E, np.ones(4))
    np.testing.assert_allclose(W, 0.25)


def test_copies_stand_for_equal_columns(seed):
    _, E, Y, W, linear = problem(seed, k=5)
    r = np.array([1.0, 3.0, 1.0, 2.0, 1.0])
    spread = np.repeat(np.arange(5), r.astype(int))
    wide = E[spread][:, spread] * (spread[:, None] != spread)
    args = [x[:, spread] for x in (Y, W, Y, linear)]
    S, _ = smooth_rows(Y, W, Y, linear, E, r, tol=1e-12)
    S_wide, _ = smooth_rows(*args, wide, np.ones(spread.size), tol=1e-12)
    np.testing.assert_allclose(S[:, spread], S_wide, atol=1e-9)
    V, _, _ = weigh_rows(np.zeros_like(Y), S, Y, 0.6, E, r, tol=1e-11)
    V_wide, _, _ = weigh_rows(
        np.zeros((4, spread.size)), S[:, spread], Y[:, spread], 0.6, wide, np.ones(spread.size), tol=1e-11
    )
    np.testing.assert_allclose(V[:, spread], V_wide, atol=1e-6)


def test_inputs_are_left_alone(seed):
    _, E, Y, W, linear = problem(seed)
    given = [x.copy() for x in (E, Y, W, linear)]
    smooth_rows(Y, W, Y, linear, E, np.ones(7))
    weigh_rows(W, Y, Y, 0.5, E, np.ones(7))
    for before, after in zip(given, (E, Y, W, linear)):
        np.testing.assert_array_equal(before, after)


def stiff(seed, b=30, k=40, strength=1e5):
    """Rows like those of a large ensemble: couplings that dwarf the loss, few ones, a pull towards 0."""
    rng = np.random.default_rng(seed)
    E = strength * np.abs(rng.normal(size=(k, k))) * (rng.random((k, k)) < 0.5)
    E = E + E.T
    np.fill_diagonal(E, 0.0)
    Y = (rng.random((b, k)) < 0.2).astype(float)
    linear = rng.exponential(size=(b, k)) * strength * 10.0 ** rng.uniform(-6, 1, size=(b, 1))
    return rng, E, Y, linear


@pytest.mark.parametrize("weights", ["ones", "some", "free"])
@pytest.mark.parametrize("missing", [False, True])
def test_stiff_rows_are_solved_to_the_last_digit(seed, weights, missing):
    """Coordinate descent alone would need many thousand sweeps here."""
    rng, E, Y, linear = stiff(seed)
    W = {"ones": None, "some": np.ones_like(Y), "free": rng.uniform(0.1, 1, Y.shape)}[weights]
    if weights == "some":
        W[::3, ::2] = 0.3
    O = (rng.random(Y.shape) < 0.7).astype(float) if missing else np.ones_like(Y)
    r = rng.integers(1, 4, Y.shape[1]).astype(float)
    S, _ = smooth_rows(Y, W, Y, linear, E, r, observed=O if missing else None)
    w = np.ones_like(Y) if W is None else W
    coupling = E * r
    curvature = w * (O * w + w @ coupling.T)
    gradient = curvature * S - w * ((w * S) @ coupling.T) - O * w**2 * Y + linear / 2
    step = S - np.clip(S - gradient / curvature, 0, 1)  # 0 at the solution
    assert np.abs(step).max() < 1e-9
    assert (S > 0).any()


def test_a_row_does_not_depend_on_the_rows_beside_it(seed):
    _, E, Y, linear = stiff(seed)
    r = np.ones(Y.shape[1])
    whole, _ = smooth_rows(Y, None, Y, linear, E, r)
    for part in (slice(7), slice(7, None)):
        alone, _ = smooth_rows(Y[part], None, Y[part], linear[part], E, r)
        np.testing.assert_allclose(whole[part], alone, atol=1e-9)


def test_a_linear_term_that_pushes_past_1_is_left_to_coordinate_descent():
    E = np.array([[0.0, 50.0, 0.0], [50.0, 0.0, 50.0], [0.0, 50.0, 0.0]])
    Y, linear = np.array([[1.0, 0.0, 0.0]]), np.array([[-300.0, 1.0, 1.0]])
    S, _ = smooth_rows(Y, None, Y, linear, E, np.ones(3))
    np.testing.assert_allclose(S[0, 0], 1.0)
    args = (np.ones(3), Y[0], linear[0], E, np.ones(3))
    best = minimize(smooth_value, np.full(3, 0.5), args, bounds=[(0, 1)] * 3, options={"ftol": 1e-14})
    assert smooth_value(S[0], *args) <= best.fun + 1e-7


@pytest.mark.parametrize("max_steps", [1, 40, 3000])
def test_steps_taken_at_once_are_the_steps_one_by_one(seed, max_steps):
    rng, E, Y, _, _ = problem(seed, b=6, k=12)
    E, lam, r = 40 * E, 0.5, rng.integers(1, 3, 12).astype(float)
    W, solved, moving = weigh_rows(np.zeros_like(Y), Y, Y, lam, E, r, max_steps=max_steps)
    assert solved == 6
    still = 0
    worst = contradiction(Y, E, r)
    for i in range(6):
        M = E * r * (Y[i][:, None] - Y[i]) ** 2
        certain = worst[i] <= lam
        inner = M[~certain][:, ~certain].sum(axis=1)
        step, w = (1 / inner.max() if inner.max() > 0 else 1 / lam), np.where(certain, 1.0, 0.0)
        for _ in range(max_steps):
            new = np.clip(w - step * (M @ w - lam), 0, 1)
            new = np.where(certain, 1.0, np.rint(new * 2**36) / 2**36)
            moved, w = np.abs(new - w).max(), new
            if moved <= 1e-9:
                break
        still += moved > 1e-9
        np.testing.assert_allclose(W[i], w, atol=1e-7)
    assert moving == still


def test_rows_that_still_move_at_the_end_are_counted(seed):
    # A linear term below 0 is left to coordinate descent alone, see above; the second row is solved as it is.
    E = np.array([[0.0, 50.0, 0.0], [50.0, 0.0, 50.0], [0.0, 50.0, 0.0]])
    Y, linear = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), np.array([[-300.0, 1.0, 1.0], [1.0, 1.0, 1.0]])
    assert smooth_rows(np.zeros((2, 3)), None, Y, linear, E, np.ones(3), max_sweeps=5)[1] == 1
    assert smooth_rows(np.zeros((2, 3)), None, Y, linear, E, np.ones(3))[1] == 0
    _, E, Y, S, _ = problem(seed, b=6)
    W, r = np.zeros_like(Y), np.ones(7)
    _, solved, moving = weigh_rows(W, S, Y, 0.8, E, r, max_steps=5)
    assert moving == solved == 6
    _, solved, moving = weigh_rows(W, S, Y, 0.8, E, r)
    assert solved == 6
    assert moving == 0


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_few_entries_and_matrix_products_agree(seed, share):
    rng = np.random.default_rng(seed)
    b, k = 20, 60
    A, B = rng.random((2, b, k)) * (rng.random((2, b, k)) < share)
    weights, r = rng.random(b), rng.integers(1, 4, k).astype(float)
    np.testing.assert_allclose(gram(A, weights), A.T @ (weights[:, None] * A), atol=1e-12)
    np.testing.assert_allclose(gram(A, weights, B), A.T @ (weights[:, None] * B), atol=1e-12)
    for density in (0.02, 0.5):
        E = np.triu(rng.random((k, k)) * (rng.random((k, k)) < density), 1)
        E = E + E.T
        coupling = couple(E, r)
        assert (coupling.starts.size > 0) == (density < 0.1)
        np.testing.assert_allclose(spread(A, coupling), A @ (E * r).T, atol=1e-12)
        plain = np.einsum("pq,ipq->ip", E * r, (A[:, :, None] - A[:, None, :]) ** 2)
        np.testing.assert_allclose(contradiction(A, E, r), plain, atol=1e-12)


@pytest.mark.parametrize("weights", ["ones", "free"])
def test_thin_couplings_are_solved_alike(seed, weights):
    """Optimality where only the entries of E that are not 0 are visited."""
    rng, E, Y, linear = stiff(seed, k=60, strength=20.0)
    E *= np.add.outer(np.arange(60), np.arange(60)) % 14 == 0
    W = None if weights == "ones" else rng.uniform(0.1, 1, Y.shape)
    r = np.ones(60)
    assert couple(E, r).starts.size > 0
    S, _ = smooth_rows(Y, W, Y, linear, E, r)
    w, coupling = np.ones_like(Y) if W is None else W, E
    curvature = w * (w + w @ coupling)
    gradient = curvature * S - w * ((w * S) @ coupling) - w**2 * Y + linear / 2
    assert np.abs(S - np.clip(S - gradient / curvature, 0, 1)).max() < 1e-9
