"""Every update lowers its block of the objective, and the forms of the subspace are what they say."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import eigh

from consilience.multitask._centers import fill_empty
from consilience.multitask._model import Model, losses, starting_parts, update_P
from consilience.multitask._spmtc import update_v
from consilience.multitask._subspaces import (
    FORMS,
    NonNegative,
    Reconstruction,
    Span,
    divide,
    inverse_root,
    smallest_of_downdate,
)
from consilience.multitask._tasks import gather

from .data import word_counts


def objective(Xs, Ps, Ms, W, M, us, l1, form):
    """Eq. (7) without its last term, written out."""
    total = 0.0
    for X, P, own, u in zip(Xs, Ps, Ms, us):
        X = X.toarray() if sp.issparse(X) else X
        total += l1 * (u * ((X - P @ own.T) ** 2).sum(axis=1)).sum()
        rest = X - P @ (W @ M).T if form == "reconstruction" else X @ W - P @ M.T
        total += (1 - l1) * (u * (rest**2).sum(axis=1)).sum()
    return total


def problem(seed, form, *, signed=False, l=2, d=12):
    rng = np.random.default_rng(seed)
    Xs = [rng.normal(size=(n, d)) if signed else rng.random((n, d)) for n in (9, 14)]
    Ps = [rng.random((X.shape[0], 2)) for X in Xs]
    model = Model(Xs, Ps, FORMS[form](np.vstack(Xs), l), 0.4)
    model.weigh([rng.random(X.shape[0]) for X in Xs])
    return model


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("form", ["reconstruction", "span", "printed"])
def test_every_update_lowers_its_block(seed, form, signed):
    m = problem(seed, form, signed=signed)
    rng = np.random.default_rng(seed)
    m.M, m.Ms = rng.normal(size=(2, 2)), [rng.normal(size=(12, 2)) for _ in m.Xs]

    def now():
        return objective(m.Xs, m.Ps, m.Ms, m.W, m.M, m.us, 0.4, form)

    for _ in range(15):
        before = now()
        m.refresh_centers()
        at_centers = now()
        assert at_centers <= before * (1 + 1e-12)
        # The loss by its expansion is the loss written out.
        np.testing.assert_allclose(sum(u @ L for u, L in zip(m.us, m.losses())), at_centers)
        Ps = [update_P(np.asarray(X @ own.combined), own.B, P) for X, own, P in zip(m.Xs, m.centers(), m.Ps)]
        m.Ps = Ps
        after_P = now()
        assert after_P <= at_centers * (1 + 1e-12)
        m._sum()
        m.W = m.form.update(sum(m.sums), sum(m.grams), m.Ps, m.W, m.M)
        m.refresh_centers()  # W is the best together with its M
        assert now() <= after_P * (1 + 1e-10)
        np.testing.assert_allclose(m.W.T @ m.W, np.eye(2), atol=1e-9)


def test_centers_are_a_stationary_point(seed):
    m = problem(seed, "reconstruction")
    m.refresh_centers()
    best = objective(m.Xs, m.Ps, m.Ms, m.W, m.M, m.us, 0.4, "reconstruction")
    rng = np.random.default_rng(seed)
    for _ in range(20):
        M = m.M + 1e-3 * rng.normal(size=m.M.shape)
        Ms = [own + 1e-3 * rng.normal(size=own.shape) for own in m.Ms]
        assert objective(m.Xs, m.Ps, Ms, m.W, M, m.us, 0.4, "reconstruction") > best


@pytest.mark.parametrize("form", ["reconstruction", "span"])
def test_no_other_subspace_is_better(seed, form):
    m = problem(seed, form)
    m.W = m.form.update(sum(m.sums), sum(m.grams))
    m.refresh_centers()
    best = objective(m.Xs, m.Ps, m.Ms, m.W, m.M, m.us, 0.0, form)
    rng = np.random.default_rng(seed)
    for _ in range(50):
        m.W = np.linalg.qr(m.W + 0.1 * rng.normal(size=m.W.shape))[0]
        m.refresh_centers()
        assert objective(m.Xs, m.Ps, m.Ms, m.W, m.M, m.us, 0.0, form) >= best - 1e-9


def test_update_P_by_hand():
    # One example, c = 1: A = 4, B = 2, P = 8: P sqrt(4 / 16).
    assert update_P(np.array([[4.0]]), np.array([[2.0]]), np.array([[8.0]])) == pytest.approx(4.0)
    # Negative parts change sides: A = -1, B = [[1, -1], [-1, 1]].
    P = update_P(np.array([[-1.0, 3.0]]), np.array([[1.0, -1], [-1, 1]]), np.array([[1.0, 1.0]]))
    np.testing.assert_allclose(P, [[np.sqrt(1 / 2), np.sqrt(4 / 1)]])
    # An example without features has no part in anything.
    assert update_P(np.zeros((1, 2)), np.eye(2), np.zeros((1, 2))).tolist() == [[0, 0]]


def test_losses_by_hand():
    # x = (3, 4), center (1, 0) with p = 3 leaves 16.
    assert losses(np.array([25.0]), np.array([[3.0]]), np.array([[1.0]]), np.array([[3.0]])) == pytest.approx(
        16
    )


def test_span_and_full_space_agree_on_full_rank(seed):
    rng = np.random.default_rng(seed)
    X, P = rng.random((40, 12)), rng.random((40, 2))
    u = rng.random(40)
    XP, gram = X.T @ (u[:, None] * P), P.T @ (u[:, None] * P)
    found = {}
    for form in ("span", "printed"):
        f = FORMS[form](X, 3)
        f.weigh(u)
        found[form] = f.update(XP, gram)
    np.testing.assert_allclose(found["span"], found["printed"], atol=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
def test_span_stays_in_the_span_of_the_examples_that_are_in(seed, sparse):
    rng = np.random.default_rng(seed)
    X, P = rng.random((10, 40)), rng.random((10, 2))
    u = np.array([1.0] * 6 + [0.0] * 4)
    f = Span(sp.csr_array(X) if sparse else X, 2)
    f.weigh(u)
    W = f.update(X.T @ (u[:, None] * P), P.T @ (u[:, None] * P))
    basis = np.linalg.qr(X[:6].T)[0]
    np.testing.assert_allclose(basis @ (basis.T @ W), W, atol=1e-8)
    np.testing.assert_allclose(W.T @ W, np.eye(2), atol=1e-8)
    # In the space of all features every P is reproduced, by the null space of the data or by exact
    # interpolation.
    printed = FORMS["printed"](X, 2)
    printed.weigh(u)
    free = printed.update(X.T @ (u[:, None] * P), P.T @ (u[:, None] * P))
    M = np.linalg.lstsq(P[:6], X[:6] @ free, rcond=None)[0]
    np.testing.assert_allclose(P[:6] @ M, X[:6] @ free, atol=1e-6)


def test_smallest_of_downdate_equals_a_dense_solver(seed):
    rng = np.random.default_rng(seed)
    D = np.sort(rng.random(400)) + 0.01
    B = np.sqrt(D)[:, None] * np.linalg.qr(rng.normal(size=(400, 2)))[0] * [0.9, 0.5]
    found = smallest_of_downdate(D, B, 3)
    dense = eigh(np.diag(D) - B @ B.T, subset_by_index=(0, 2))[1]
    np.testing.assert_allclose(np.abs(found.T @ dense), np.eye(3), atol=1e-6)


def test_splitting_X_splits_its_scatter(seed):
    rng = np.random.default_rng(seed)
    X, W, u = rng.normal(size=(15, 6)), rng.random((6, 2)), rng.random(15)
    for table in (X, sp.csr_array(X)):
        f = NonNegative(table, 2)
        f.weigh(u)
        plus, minus = f._scatter(W)
        np.testing.assert_allclose(plus - minus, X.T @ (u[:, None] * X) @ W)
        assert (plus >= 0).all()
        assert (minus >= 0).all()


def test_singular_gram_is_lifted():
    sums, gram = np.array([[1.0, 1.0]]), np.array([[1.0, 1.0], [1.0, 1.0]])
    assert np.isfinite(divide(sums, gram)).all()
    assert np.isfinite(divide(np.zeros((1, 2)), np.zeros((2, 2)))).all()
    assert inverse_root(gram).shape == (2, 1)
    np.testing.assert_allclose(divide(np.array([[2.0, 3.0]]), np.diag([2.0, 4.0])), [[1.0, 0.75]])


def test_emptied_cluster_is_recovered(seed):
    X, _, _ = word_counts(seed)
    P = np.random.default_rng(seed).random((70, 2))
    P[:, 1] = 0
    model = Model([X], [P], Reconstruction(X, 2), 0.5)
    for _ in range(50):
        model.round()
    assert model.restarts >= 1
    assert set(model.Ps[0].argmax(axis=1)) == {0, 1}


@pytest.mark.parametrize("inclusion", ["full", "any"])
def test_pace_lets_in_the_share_asked_for(seed, inclusion):
    L = np.random.default_rng(seed).exponential(size=50)
    for share in (0.5, 0.6, 0.9):
        assert update_v(L, share, weighting="hard", inclusion=inclusion).sum() == round(50 * share)
        v = update_v(L, share, weighting="soft", inclusion=inclusion)
        count = (v >= 1).sum() if inclusion == "full" else (v > 0).sum()
        assert count == round(50 * share)
    last = update_v(L, 1.0, weighting="soft", inclusion=inclusion)
    assert (last == 1).all() == (inclusion == "full")


def test_fill_empty_takes_the_nearest_and_empties_no_other():
    labels = np.array([0, 0, 0, 1])
    shares = np.array([[0.8, 0.1, 0.1], [0.6, 0.0, 0.4], [0.9, 0.0, 0.1], [0.0, 0.5, 0.5]])
    assert fill_empty(labels, shares, 3) == 1
    assert labels.tolist() == [0, 2, 0, 1]


def test_start_follows_the_example_not_its_place(seed):
    X, _, _ = word_counts(seed)
    order = np.random.default_rng(seed).permutation(70)

    def start(X, seed=5):
        (P,) = starting_parts("random", gather(X, None), 3, np.random.default_rng(seed))
        return P[np.argsort(gather(X, None).order)]

    P = start(X)
    np.testing.assert_array_equal(start(X[order]), P[order])
    np.testing.assert_array_equal(start(X.toarray()), P)
    assert not np.array_equal(start(X, 6), P)
    assert 0 < P.min() < 0.05 < 0.45 < P.mean() < 0.55 < 0.95 < P.max() < 1
    assert abs(np.corrcoef(P.T)[0, 1]) < 0.5


def test_clusters_of_tasks_are_matched(seed):
    """Tasks whose clusters were numbered differently are brought together, which lowers the objective."""
    X, truth, task = word_counts(seed, noise=0.1)
    parts = np.where(truth[:, None] == [0, 1], 1.0, 0.1)
    parts[task == 1] = 3 * parts[task == 1][:, ::-1]
    rows = [np.flatnonzero(task == t) for t in (0, 1)]
    model = Model([X[r] for r in rows], [parts[r] for r in rows], Reconstruction(X, 2), 0.25)
    before = sum(L.sum() for L in model.losses())
    model.align()
    assert sum(L.sum() for L in model.losses()) < 0.9 * before
    found = [P.argmax(axis=1) for P in model.Ps]
    assert (found[0] == truth[rows[0]]).all() == (found[1] == truth[rows[1]]).all()
