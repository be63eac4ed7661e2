"""LWGP: the transfer cut against the cut of the whole graph, and against the authors' programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

import consilience as cs
from consilience.consensus.bipartite import transfer_cut
from consilience.kernels.overlaps import cluster_reliability
from consilience.metrics import scores

from ...zoo import planted


def case(seed, missing=0.0):
    labels, _ = planted(seed, n=60, m=6, missing=missing)
    weights = np.random.default_rng(seed).integers(1, 4, 60)
    ens = cs.Ensemble(labels, sample_weight=weights).compress()
    return ens, cluster_reliability(ens.labels, ens.offsets, ens.weights, 0.4)


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_cluster_side_has_the_solutions_of_the_whole_graph(seed, missing):
    """gamma of Eq. (4) is (1 - lambda)^2 for lambda of L f = lambda D f on objects (repeated by weight) and clusters."""
    ens, eci = case(seed, missing)
    found, V = transfer_cut.cluster_vectors(ens, eci, 3, None)
    rows = np.repeat(np.arange(ens.n_samples), ens.weights.astype(int))
    B = (ens.indicator().toarray() * eci)[rows]
    n, k = B.shape
    graph = np.block([[np.zeros((n, n)), B], [B.T, np.zeros((k, k))]])
    degree = graph.sum(axis=1)
    values = eigh(np.diag(degree) - graph, np.diag(degree), eigvals_only=True, subset_by_index=(0, 2))
    assert np.allclose(found.values, (1 - values) ** 2)
    W = (B.T / B.sum(axis=1)) @ B
    assert np.allclose(W @ V, (W.sum(axis=1)[:, None] * V) * found.values)


def test_w_as_a_product_gives_the_same(seed, monkeypatch):
    labels, _ = planted(seed, n=400, m=60, noise=0.4)
    ens = cs.Ensemble(labels).compress()
    eci = cluster_reliability(ens.labels, ens.offsets, ens.weights, 0.4)
    formed, _ = transfer_cut.cluster_vectors(ens, eci, 3, None)
    monkeypatch.setattr(transfer_cut, "_EXPLICIT_UP_TO", 0)
    applied, _ = transfer_cut.cluster_vectors(ens, eci, 3, None)
    assert np.allclose(formed.values, applied.values, atol=1e-9)
    assert np.allclose(np.abs(formed.vectors.T @ applied.vectors), np.eye(3), atol=1e-4)


def test_object_vectors_are_weighted_means(seed):
    ens, eci = case(seed, 0.2)
    V = np.random.default_rng(seed).normal(size=(ens.n_total_clusters, 2))
    B = ens.indicator().toarray() * eci
    expected = (B @ V) / B.sum(axis=1, keepdims=True)
    assert np.allclose(transfer_cut.object_vectors(ens, eci, V, None), expected)


def test_more_clusters_than_base_clusters():
    """Two clusterings of 3 know 9 kinds of objects: 7 clusters from 6 vectors."""
    base = np.array([[i, j] for i in range(3) for j in range(3)])
    assert np.unique(cs.LWGP(7, random_state=0).fit_predict(base)).size == 7


@pytest.mark.parametrize(
    "name",
    ["allaml_auth_21-40", "coil20_km", "gen_MF_M30_run1", "lung_auth_1-20", "pool_VS_full_1-20", "tox171_km"],
)
def test_golden_up_to_k_means(shared_dir, name):
    held = np.load(shared_dir / "golden" / f"{name}.npz")
    c = int(held["n_clusters"]) if "n_clusters" in held else np.unique(held["truth"]).size
    for key, theta in (("MDEC_BG", 1.0), ("LWGP", 0.4)):
        if f"{key}__labels" not in held:
            continue
        found = cs.LWGP(c, theta=theta, random_state=0).fit_predict(held["labels_base"])
        theirs = held[f"{key}__labels"].T
        among = [scores(theirs[0], labels)["ari"] for labels in theirs[1:]] or [1.0]
        ours = max(scores(found, labels)["ari"] for labels in theirs)
        assert ours >= min(0.99, np.median(among) - 0.05), (key, ours)
