"""Conjugate gradients over rows: by hand, against factors, and row by row."""

from __future__ import annotations

import numpy as np
import pytest

from consilience._kernels.programs import box
from consilience._kernels.programs.box_cg import descend_together
from consilience._kernels.programs.coupling import Problem, couple


def thin(seed, b=21, k=120, strength=3.0):
    """Rows with few couplings: (E, r, Y, W, observed, linear)."""
    rng = np.random.default_rng(seed)
    E = np.triu(rng.exponential(strength, (k, k)) * (rng.random((k, k)) < 0.06), 1)
    E += E.T
    r = rng.integers(1, 4, k).astype(float)
    Y = (rng.random((b, k)) < 0.1).astype(float)
    W = np.where(rng.random((b, k)) < 0.1, rng.random((b, k)), 1.0)
    W[rng.random((b, k)) < 0.02] = 0.0
    observed = (rng.random((b, k)) < 0.9).astype(float)
    return E, r, Y, W, observed, rng.exponential(0.4, (b, k)) * (rng.random((b, k)) < 0.8)


def laid_out(E, r, Y, W, observed, linear):
    coupling = couple(E, r)
    assert coupling.starts.size
    degree = W @ coupling.columns
    return Problem(Y.copy(), W, observed, Y, linear, (W * Y) @ coupling.columns, degree, coupling)


def test_two_entries_by_hand():
    # (s-1)^2 + t^2 + 2 (s-t)^2 + l t: at l = 0 s = 3/5, t = 2/5; at l = 4 t is held at 0, and s = 1/3 of what
    # pulls it up.
    k = 40  # the others are alone, so that couplings are few
    E = np.zeros((k, k))
    E[0, 1] = E[1, 0] = 2.0
    Y, linear = np.zeros((2, k)), np.zeros((2, k))
    Y[:, 0], linear[1, 1] = 1.0, 4.0
    ones = np.ones((1, k))
    problem = laid_out(E, np.ones(k), Y, ones, ones, linear)
    left = descend_together(problem, np.ones(k), np.arange(2))
    assert left.size == 0
    np.testing.assert_allclose(problem.S[:, :3], [[3 / 5, 2 / 5, 0], [1 / 3, 0, 0]], atol=1e-12)


@pytest.mark.parametrize("weights", ["ones", "free"])
@pytest.mark.parametrize("missing", [False, True])
def test_rows_are_those_of_factors(seed, weights, missing, monkeypatch):
    E, r, Y, W, observed, linear = thin(seed)
    args = (Y, None if weights == "ones" else W, Y, linear, E, r)
    options = {"observed": observed if missing else None}
    monkeypatch.setattr(box, "_MANY", np.inf)
    expected, _ = box.smooth_rows(*args, **options)
    monkeypatch.setattr(box, "_MANY", 0.0)
    called = []
    monkeypatch.setattr(box, "descend_together", lambda *a: called.append(a[2].size) or descend_together(*a))
    found, unfinished = box.smooth_rows(*args, **options)
    assert unfinished == 0
    assert called[0] > 0
    assert (expected == 0).any()
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_a_row_does_not_depend_on_the_rows_beside_it(seed):
    parts = thin(seed)
    problem = laid_out(*parts)
    descend_together(problem, parts[1], np.arange(21))
    for i in (0, 7, 20):  # more rows than are solved at a time
        alone = laid_out(*parts)
        descend_together(alone, parts[1], np.array([i]))
        np.testing.assert_array_equal(alone.S[i], problem.S[i])
        np.testing.assert_array_equal(np.delete(alone.S, i, axis=0), np.delete(parts[2], i, axis=0))


def test_rows_that_take_too_many_steps_are_left_as_they_were(seed):
    parts = thin(seed)
    problem = laid_out(*parts)
    left = descend_together(problem, parts[1], np.arange(3, 12), max_steps=2)
    np.testing.assert_array_equal(left, np.arange(3, 12))
    np.testing.assert_array_equal(problem.S, parts[2])


def test_a_linear_term_that_pushes_past_1_is_left_as_it_was(seed):
    parts = thin(seed)
    parts[-1][4] = -50.0
    problem = laid_out(*parts)
    left = descend_together(problem, parts[1], np.arange(21))
    assert 4 in left
    np.testing.assert_array_equal(problem.S[4], parts[2][4])


def test_stiff_rows_go_to_factors(seed, monkeypatch):
    E, r, Y, _, _, linear = thin(seed, strength=1e7)

    def refuse(*_):
        raise AssertionError("conjugate gradients would lose digits here")

    monkeypatch.setattr(box, "_MANY", 0.0)
    monkeypatch.setattr(box, "descend_together", refuse)
    assert box.smooth_rows(Y, None, Y, linear, E, r)[1] == 0
