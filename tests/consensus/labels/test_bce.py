"""BCE: its steps against plain versions, the bound, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import gammaln, psi

import consilience as cs
from consilience._kernels.labels import mixed_membership
from consilience._kernels.labels.mixed_membership import digamma, infer_rows
from consilience.consensus._labels.bce import expected_log_prior, update_alpha

from ...zoo import planted
from ..printed import row


def test_digamma():
    x = np.concatenate([np.geomspace(1e-8, 1e6, 500), [0.5, 1.0, 6.0]])
    assert np.allclose([digamma(one) for one in x], psi(x), rtol=1e-11, atol=1e-11)


def plain(ens, b, alpha, g, steps):
    """Eq. (1) and (2) with arrays (u, m, c)."""
    seen = ens.labels >= 0
    likely = np.where(seen[:, :, None], b[np.where(seen, ens.global_labels(), 0)], 1.0)
    for _ in range(steps):
        phi = np.exp(psi(g))[:, None, :] * likely
        phi = phi / phi.sum(axis=2, keepdims=True) * seen[:, :, None]
        g = alpha + phi.sum(axis=1)
    logs = psi(g) - psi(g.sum(axis=1, keepdims=True))
    prior = gammaln(alpha.sum()) - gammaln(alpha).sum() + logs @ (alpha - 1)
    own = gammaln(g.sum(axis=1)) - gammaln(g).sum(axis=1) + ((g - 1) * logs).sum(axis=1)
    parts = phi * (logs[:, None, :] + np.log(likely) - np.log(np.where(phi > 0, phi, 1)))
    bound = prior + parts.sum(axis=(1, 2)) - own
    table = ens.indicator().toarray()
    shares = np.zeros(b.shape)
    for i in range(ens.n_clusterings):
        block = slice(ens.offsets[i], ens.offsets[i + 1])
        shares[block] = table[:, block].T @ (ens.sample_weight[:, None] * phi[:, i])
    return g, shares, ens.sample_weight @ logs, ens.sample_weight @ bound


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_inference_is_that_of_full_arrays(seed, missing, n_jobs, monkeypatch):
    monkeypatch.setattr(mixed_membership, "_BLOCK", 7)
    labels, _ = planted(seed, n=40, m=5, missing=missing)
    rng = np.random.default_rng(seed)
    ens = cs.Ensemble(labels, sample_weight=rng.uniform(0.5, 3, 40)).distinct()
    b, alpha = rng.uniform(0.1, 1, (ens.n_base_clusters, 3)), np.array([0.5, 1.0, 2.0])
    g = alpha + np.ones((ens.n_samples, 3))
    expected = plain(ens, b, alpha, g.copy(), 4)
    found = infer_rows(
        ens.labels, ens.offsets, ens.sample_weight, b, alpha, g, tol=0.0, max_iter=3, n_jobs=n_jobs
    )
    assert np.allclose(g, expected[0])
    assert np.allclose(found.table, expected[1])
    assert np.allclose(found.logs, expected[2])
    assert found.bound == pytest.approx(expected[3])


def test_inference_checks_its_shapes():
    with pytest.raises(ValueError, match=r"alpha \(3,\)"):
        infer_rows(
            np.zeros((2, 1), np.int32),
            np.array([0, 1]),
            np.ones(2),
            np.ones((1, 2)),
            np.ones(3),
            np.ones((2, 2)),
            tol=0.0,
            max_iter=1,
        )


def test_newton_on_alpha_ends_where_a_generic_solver_does(seed):
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet([0.7, 2.0, 4.0], 400)
    logs = np.log(theta).sum(axis=0)
    alpha, values = np.ones(3), []
    for _ in range(50):
        alpha = update_alpha(alpha, logs, 400.0)
        values.append(expected_log_prior(alpha, logs, 400.0))
    best = minimize(lambda z: -expected_log_prior(np.exp(z), logs, 400.0), np.zeros(3), tol=1e-12)
    assert (np.diff(values) >= 0).all()
    assert np.allclose(alpha, np.exp(best.x), rtol=1e-3)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_bound_rises(seed, missing):
    labels, _ = planted(seed, n=100, m=8, noise=0.4, missing=missing)
    weights = np.random.default_rng(seed).uniform(0.5, 3, 100)
    model = cs.consensus.BCE(4, n_init=2, tol=1e-6, random_state=seed).fit(labels, sample_weight=weights)
    bounds = [line["bound"] for line in model.history_]
    assert len(bounds) > 2
    assert (np.diff(bounds) >= -1e-6).all()


def test_one_component_is_known(seed):
    """Memberships are 1, and the bound is the likelihood of independent labels."""
    labels, _ = planted(seed, n=50, m=4)
    model = cs.consensus.BCE(1, random_state=0).fit(labels)
    assert np.allclose(model.membership_, 1)
    alone = cs.consensus.MixtureConsensus(1, random_state=0).fit(labels)
    assert model.history_[-1]["bound"] == pytest.approx(alone.log_likelihood_, abs=1e-6)


def test_memberships_are_in_the_order_of_the_labels(seed):
    labels, _ = planted(seed, n=100, m=10, noise=0.2)
    model = cs.consensus.BCE(3, random_state=seed).fit(labels)
    assert np.array_equal(model.membership_.argmax(axis=1), model.labels_)


def test_checked_row(shared_dir):
    mean, _ = row(shared_dir, lambda c: cs.consensus.BCE(c, random_state=0))
    assert np.allclose(mean[:2], [0.675, 0.093], atol=0.005)
