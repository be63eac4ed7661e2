"""The transfer cut: both sides against the normalized cut of the whole graph, implicit against dense."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

import consilience as cs
from consilience._kernels.cut import transfer as kernel
from consilience._kernels.labels.overlaps import cluster_reliability

from ...zoo import planted


def case(seed, missing=0.0, **more):
    labels, _ = planted(seed, **{"n": 60, "m": 6, "missing": missing, **more})
    weights = np.random.default_rng(seed).integers(1, 4, len(labels))
    ens = cs.Ensemble(labels, sample_weight=weights).distinct()
    return ens, cluster_reliability(ens.labels, ens.offsets, ens.sample_weight, 0.4)


def cut(ens, eci, count=3):
    return kernel.transfer_cut(ens.labels, ens.offsets, ens.sample_weight, eci, count)


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_cluster_side_has_the_solutions_of_the_whole_graph(seed, missing):
    """gamma of Eq. (2) is (1 - lambda)^2 for lambda of L f = lambda D f on objects and clusters.

    Objects are repeated by their weight.
    """
    ens, eci = case(seed, missing)
    found = cut(ens, eci)
    rows = np.repeat(np.arange(ens.n_samples), ens.sample_weight.astype(int))
    B = (ens.indicator().toarray() * eci)[rows]
    n, k = B.shape
    graph = np.block([[np.zeros((n, n)), B], [B.T, np.zeros((k, k))]])
    degree = graph.sum(axis=1)
    values = eigh(np.diag(degree) - graph, np.diag(degree), eigvals_only=True, subset_by_index=(0, 2))
    assert np.allclose(found.values, (1 - values) ** 2)
    W, V = (B.T / B.sum(axis=1)) @ B, found.clusters
    assert np.allclose(W @ V, (W.sum(axis=1)[:, None] * V) * found.values)


def test_w_as_a_product_gives_the_same(seed, monkeypatch):
    labels, _ = planted(seed, n=400, m=60, noise=0.4)
    ens = cs.Ensemble(labels).distinct()
    eci = cluster_reliability(ens.labels, ens.offsets, ens.sample_weight, 0.4)
    B = ens.indicator().toarray() * eci
    formed = [cut(ens, eci), kernel.transfer_cut_dense(B, ens.sample_weight, 3)]
    monkeypatch.setattr(kernel, "EXPLICIT_UP_TO", 0)
    applied = [cut(ens, eci), kernel.transfer_cut_dense(B, ens.sample_weight, 3)]
    root = np.sqrt(B.T @ ens.sample_weight)[:, None]
    for other in (formed[1], *applied):
        assert np.allclose(formed[0].values, other.values, atol=1e-9)
        overlap = (root * formed[0].clusters).T @ (root * other.clusters)
        assert np.allclose(np.abs(overlap), np.eye(3), atol=1e-4)


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_object_vectors_are_weighted_means(seed, missing):
    ens, eci = case(seed, missing)
    found = cut(ens, eci)
    B = ens.indicator().toarray() * eci
    assert np.allclose(found.objects, (B @ found.clusters) / B.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_dense_edges_give_the_same(seed, missing):
    ens, eci = case(seed, missing)
    found = cut(ens, eci)
    dense = kernel.transfer_cut_dense(ens.indicator().toarray() * eci, ens.sample_weight, 3)
    assert np.allclose(found.values, dense.values)
    assert np.allclose(np.abs(found.objects), np.abs(dense.objects), atol=1e-6)


def test_dense_edges_may_leave_vertices_out():
    B = np.zeros((5, 4))
    B[:2, 0], B[2:4, 1:3] = 1.0, 0.5
    found = kernel.transfer_cut_dense(B, np.ones(5), 2)
    assert np.isfinite(found.objects).all()
    assert not found.objects[4].any()
    assert np.allclose(found.values, 1)
