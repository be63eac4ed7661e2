"""NMFC: iterates and objective against all objects, where descent is proved, and the printed row."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience.consensus._coassociation.nmfc import factorize, times_association

from ...zoo import planted
from ..printed import COMMON, row


def plain(A, Q, orthogonal, rounds):
    """The published iteration on a dense matrix of all objects, and its objective."""
    S = Q.T @ A @ Q if orthogonal else np.eye(Q.shape[1])
    for _ in range(rounds):
        if orthogonal:
            X = A @ Q @ S
            Q = Q * np.sqrt(X / (Q @ Q.T @ X))
            S = S * np.sqrt((Q.T @ A @ Q) / (Q.T @ Q @ S @ Q.T @ Q))
        else:
            Q = Q * (A @ Q / (Q @ Q.T @ Q)) ** 0.25
    return Q, np.linalg.norm(A - Q @ S @ Q.T) ** 2


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("orthogonal", [True, False])
def test_iterates_are_those_of_all_objects(seed, missing, orthogonal):
    labels, _ = planted(seed, n=40, m=5, noise=0.3, missing=missing)
    weights = np.random.default_rng(seed).integers(1, 4, 40)
    copies = np.repeat(np.arange(40), weights)
    small = cs.Ensemble(labels, sample_weight=weights).distinct()
    product, square = times_association(small, None)
    start = np.random.default_rng(seed).uniform(0.1, 1, (small.n_samples, 3))
    rows = small.inverse[copies]
    A = cs.Ensemble(labels[copies]).coassociation()
    length = np.linalg.norm(start[rows], axis=0)
    wanted, objective = plain(A, start[rows] / length, orthogonal, 30)
    root = np.sqrt(small.sample_weight)[:, None]
    Q, history, _ = factorize(
        product, square, root * start / length, orthogonal=orthogonal, max_iter=30, tol=-1.0
    )
    assert np.allclose((Q / root)[rows], wanted, atol=1e-9)
    assert history[-1] == pytest.approx(objective, rel=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_two_factors_descend(seed):
    labels, _ = planted(seed, n=80, m=8, noise=0.4)
    history = [
        h["objective"]
        for h in cs.consensus.NMFC(3, orthogonal=False, init="random", n_init=1, tol=1e-5, random_state=seed)
        .fit(labels)
        .history_
    ]
    assert (np.diff(history) <= 1e-9 * history[0]).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_three_factors_come_to_rest(seed):
    """The objective need not fall in every step, but factors move less and less, and labels no more."""
    labels, _ = planted(seed, n=80, m=8, noise=0.3)
    early, late, later = (
        cs.consensus.NMFC(3, tol=0.0, max_iter=rounds, random_state=0).fit(labels)
        for rounds in (300, 2000, 4000)
    )
    moved = [np.abs(a.embedding_ - later.embedding_).max() for a in (early, late)]
    assert moved[1] < min(moved[0], 1e-3)
    assert np.array_equal(early.labels_, later.labels_)


@pytest.mark.parametrize("orthogonal", [True, False])
@pytest.mark.parametrize("init", ["k-means", "random"])
def test_printed_row(shared_dir, orthogonal, init):
    mean, deviation = row(
        shared_dir, lambda c: cs.consensus.NMFC(c, orthogonal=orthogonal, init=init, n_init=3, random_state=0)
    )
    assert mean.tolist() == COMMON[0]
    assert deviation.tolist() == COMMON[1]
