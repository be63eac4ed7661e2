"""MixtureConsensus: against a plain product-form EM, closed forms, and what EM promises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import entropy

import consilience as cs
from consilience._kernels.labels.grouping import label_rows
from consilience.consensus._labels.mixture import ascend

from ...zoo import planted
from ..printed import row


def naive(ens, R, rounds):
    """EM with products of probabilities, one object at a time."""
    w, n = ens.sample_weight, ens.sample_weight.sum()
    for _ in range(rounds):
        a, densities = R.T @ w / n, np.ones((ens.n_samples, R.shape[1]))
        for i in range(ens.n_clusterings):
            for j in range(R.shape[1]):
                seen = ens.labels[:, i] >= 0
                v = (
                    np.bincount(
                        ens.labels[seen, i], (w * R[:, j])[seen], minlength=ens.n_clusters_per_clustering[i]
                    )
                    + 1e-9 * n
                )
                v = v / v.sum()
                densities[seen, j] *= v[ens.labels[seen, i]]
        R = a * densities
        likelihood = w @ np.log(R.sum(axis=1)) / n
        R = R / R.sum(axis=1, keepdims=True)
    return R, likelihood


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_is_em_in_product_form(seed, missing):
    labels, _ = planted(seed, n=40, m=3, missing=missing)
    rng = np.random.default_rng(seed)
    ens = cs.Ensemble(labels, sample_weight=rng.uniform(0.5, 3, 40)).distinct()
    rows = label_rows(ens.labels, ens.offsets, ens.sample_weight)
    R = rng.dirichlet(np.ones(3), ens.n_samples)
    table = ens.indicator().toarray().T @ (ens.sample_weight[:, None] * R)
    run = ascend(rows, table, R.T @ ens.sample_weight, max_iter=7, tol=0.0, n_jobs=None)
    expected, likelihood = naive(ens, R, 7)
    assert np.allclose(run.R, expected)
    assert run.gains[-1] == pytest.approx(likelihood)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_likelihood_never_falls(seed, missing):
    labels, _ = planted(seed, n=100, m=8, noise=0.5, missing=missing)
    model = cs.consensus.MixtureConsensus(4, n_init=2, random_state=seed).fit(labels)
    gains = [line["log_likelihood"] for line in model.history_]
    assert (np.diff(gains) >= -1e-7).all()
    assert model.log_likelihood_ == gains[-1]


def test_one_component_is_known(seed):
    labels, _ = planted(seed, n=50, m=4)
    model = cs.consensus.MixtureConsensus(1, random_state=0).fit(labels)
    known = -sum(entropy(np.unique(labels[:, i], return_counts=True)[1]) for i in range(4))
    assert model.log_likelihood_ == pytest.approx(known, abs=1e-6)
    free = sum(np.unique(labels[:, i]).size - 1 for i in range(4))
    assert model.bic_ == pytest.approx(free * np.log(50) - 100 * known, abs=1e-3)


def test_memberships_are_in_the_order_of_the_labels(seed):
    labels, _ = planted(seed, n=100, m=10, noise=0.2)
    model = cs.consensus.MixtureConsensus(3, random_state=seed).fit(labels)
    assert np.array_equal(model.membership_.argmax(axis=1), model.labels_)


def test_many_clusterings_do_not_underflow(seed):
    """Products of 900 probabilities are below the smallest number there is."""
    labels, _ = planted(seed, n=1000, m=900, noise=0.5)
    one, three = (cs.consensus.MixtureConsensus(c, n_init=1, random_state=seed).fit(labels) for c in (1, 3))
    assert one.log_likelihood_ < three.log_likelihood_ < -800
    assert np.isfinite(three.membership_).all()


def test_components_that_die_out_begin_anew():
    """One that explains nothing at all: its share is below any that counts."""
    labels, _ = planted(0, n=40, m=6)
    ens = cs.Ensemble(labels).distinct()
    rows = label_rows(ens.labels, ens.offsets, ens.sample_weight)
    table = np.stack([ens.cluster_sizes(), np.zeros(ens.n_base_clusters)], axis=1)
    run = ascend(rows, table, np.array([40.0, 1e-300]), max_iter=200, tol=1e-7, n_jobs=None)
    assert run.reseeded >= 1
    assert run.sizes.min() > 1e-3
    assert run.gains[-1] > run.gains[0]


def test_bic_finds_the_planted_number(seed):
    labels, _ = planted(seed, n=300, m=8, c=3, noise=0.15)
    costs = [cs.consensus.MixtureConsensus(c, random_state=0).fit(labels).bic_ for c in (1, 2, 3, 4, 5, 6)]
    assert np.argmin(costs) in (2, 3, 4)  # members split planted clusters on their own
    assert costs[2] < min(costs[:2])


def test_checked_row(shared_dir):
    mean, _ = row(shared_dir, lambda c: cs.consensus.MixtureConsensus(c, random_state=0))
    assert np.allclose(mean[:2], [0.661, 0.084], atol=0.005)
