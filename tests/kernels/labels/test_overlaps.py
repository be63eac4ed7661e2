"""Overlaps of clusters and products with the indicator: against the indicator itself, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience._kernels.labels import overlaps

from ...zoo import planted


def ensemble(seed, missing):
    labels, _ = planted(seed, n=50, m=7, missing=missing)
    return cs.Ensemble(labels, sample_weight=np.random.default_rng(seed).uniform(0.5, 3, 50))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_products_with_the_indicator(seed, missing):
    ens = ensemble(seed, missing)
    Y = ens.indicator().toarray()
    rng = np.random.default_rng(seed)
    left, right, v = (
        rng.normal(size=(50, 7)),
        rng.normal(size=(ens.n_base_clusters, 2)),
        rng.uniform(size=50),
    )
    assert np.allclose(overlaps.gather(ens.labels, ens.offsets, right), Y @ right)
    assert np.allclose(overlaps.scatter(ens.labels, ens.offsets, left), Y.T @ left)
    assert np.allclose(overlaps.overlap_matrix(ens.labels, ens.offsets, v), (Y.T * v) @ Y)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_entropies_from_the_contingency(seed, missing):
    ens = ensemble(seed, missing)
    table = ens.contingency()
    expected = np.zeros(ens.n_base_clusters)
    for c in range(expected.size):
        own = []
        for i in range(ens.n_clusterings):
            part = table[c, ens.offsets[i] : ens.offsets[i + 1]]
            if part.sum() > 0:
                p = part[part > 0] / part.sum()
                own.append(-(p * np.log2(p)).sum())
        expected[c] = np.mean(own)
    assert np.allclose(
        overlaps.mean_entropies(ens.labels, ens.offsets, ens.sample_weight), expected, atol=1e-12
    )


def test_entropies_by_hand():
    """Four objects; the second clustering halves the first cluster, the third did not see the second one."""
    ens = cs.Ensemble.from_clusterings([[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, -1, -1]])
    half = 1.0
    third = -(1 / 3) * np.log2(1 / 3) - (2 / 3) * np.log2(2 / 3)
    expected = [half / 3, 0.0, 0.0, third / 3, half / 3]
    assert np.allclose(overlaps.mean_entropies(ens.labels, ens.offsets, ens.sample_weight), expected)
    reliability = overlaps.cluster_reliability(ens.labels, ens.offsets, ens.sample_weight, 0.5)
    assert np.allclose(reliability, np.exp(-2 * np.array(expected)))


def test_tiny_theta_leaves_some_trust():
    ens = ensemble(0, 0.0)
    assert overlaps.cluster_reliability(ens.labels, ens.offsets, ens.sample_weight, 1e-6).min() > 0


def test_same_sums_for_any_number_of_threads(monkeypatch):
    ens = ensemble(0, 0.2)
    monkeypatch.setattr(overlaps, "_BLOCK", 8)
    values = np.random.default_rng(0).normal(size=(50, 2))
    one, two = (overlaps.scatter(ens.labels, ens.offsets, values, n_jobs=j) for j in (1, 2))
    assert np.array_equal(one, two)
    one, two = (overlaps.mean_entropies(ens.labels, ens.offsets, ens.sample_weight, n_jobs=j) for j in (1, 2))
    assert np.array_equal(one, two)
