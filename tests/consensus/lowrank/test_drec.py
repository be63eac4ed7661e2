"""DREC: the closed forms against the published equations, solved densely."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import solve_sylvester

import consilience as cs
from consilience.consensus._lowrank.drec import basis, embed, ridges

from ...zoo import planted
from ..printed import row


def published(X, lam, rounds=5):
    """Z (u, u): in each round X'X Z + Z diag(s) = X'X, with s from the residuals of the round before."""
    s = np.full(X.shape[1], lam)
    for _ in range(rounds):
        Z = solve_sylvester(X.T @ X, np.diag(s), X.T @ X)
        s = 2 * lam * np.linalg.norm(X - X @ Z, axis=0)
    return Z


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("lam", [1.0, 100.0])
def test_similarity_is_that_of_the_sylvester_equations(seed, missing, lam):
    labels, _ = planted(seed, n=50, m=6, noise=0.3, missing=missing)
    ens = cs.Ensemble(labels).distinct()
    u = ens.n_samples
    Z = published(ens.indicator().toarray().T, lam)
    left, values, _ = np.linalg.svd(Z)
    kept = values > 1e-4 * values[0]
    expected = left[:, kept] * np.sqrt(values[kept])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    kap, a = basis(ens, np.ones(u), None)
    found = embed(kap, a, ridges(kap, a, lam, 5))
    assert np.allclose(found @ found.T, expected @ expected.T, atol=1e-8)


def test_weights_count_only_when_asked(seed):
    labels, _ = planted(seed, n=60, noise=0.4)
    weights = np.random.default_rng(seed).integers(1, 9, 60)
    plain, weighted = (
        cs.consensus.DREC(3, random_state=0).fit(labels, sample_weight=w).embedding_ for w in (None, weights)
    )
    assert np.allclose(np.abs(plain), np.abs(weighted), atol=1e-6)
    heavy = cs.consensus.DREC(3, count_duplicates=True, random_state=0)
    assert not np.allclose(heavy.fit(labels, sample_weight=weights).embedding_, heavy.fit(labels).embedding_)


@pytest.mark.parametrize("ridge", [100.0, 1000.0])
def test_printed_row(shared_dir, ridge):
    mean, deviation = row(shared_dir, lambda c: cs.consensus.DREC(c, ridge=ridge, random_state=0))
    assert mean.tolist() == [0.6819, 0.1006, 0.1231]
    assert deviation.tolist() == [0.0249, 0.0218, 0.0361]
