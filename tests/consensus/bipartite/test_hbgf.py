"""HBGF: the cut of the plain graph of objects and base clusters."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

import consilience as cs
from consilience._kernels.cut.embedding import unit_rows
from consilience._kernels.cut.transfer import transfer_cut
from consilience.consensus._bipartite.hbgf import joint_rows, object_cluster_graph

from ...zoo import planted, same_partition
from ..printed import COMMON, row


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_is_lwgp_where_all_clusters_are_trusted_alike(seed, missing):
    labels, _ = planted(seed, n=150, m=8, noise=0.35, missing=missing)
    weights = np.random.default_rng(seed).integers(1, 4, 150)
    plain = cs.consensus.HBGF(3, refine=False, random_state=seed).fit(labels, sample_weight=weights)
    trusting = cs.consensus.LWGP(3, instability_tolerance=1e9, random_state=seed).fit(
        labels, sample_weight=weights
    )
    assert same_partition(plain.labels_, trusting.labels_)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_joint_rows_are_those_of_the_whole_graph(seed, missing):
    """Unit rows of the generalized eigenvectors of objects, repeated by weight, and base clusters."""
    labels, _ = planted(seed, n=50, m=5, missing=missing)
    ens = cs.Ensemble(labels, sample_weight=np.random.default_rng(seed).integers(1, 4, 50)).distinct()
    copies = np.repeat(np.arange(ens.n_samples), ens.sample_weight.astype(int))
    B = ens.indicator().toarray()[copies]
    n, k = B.shape
    graph = np.block([[np.zeros((n, n)), B], [B.T, np.zeros((k, k))]])
    degrees = np.diag(graph.sum(axis=1))
    vectors = unit_rows(eigh(degrees - graph, degrees)[1][:, :3])
    found = transfer_cut(ens.labels, ens.offsets, ens.sample_weight, np.ones(k), 3)
    rows, loads = joint_rows(found, ens.sample_weight)
    assert loads.shape == (ens.n_samples + k,)
    ours = np.vstack([rows[: ens.n_samples][copies], rows[ens.n_samples :]])
    assert np.allclose(ours @ ours.T, vectors @ vectors.T, atol=1e-5)  # whatever the signs are


def normalized_cut(labels, groups):
    """The graph of objects whose edges are shares of their common clusters: cluster vertices eliminated."""
    Y = cs.Ensemble(labels).indicator().toarray()
    S = (Y / Y.sum(axis=0)) @ Y.T
    return sum(
        1 - S[np.ix_(groups == j, groups == j)].sum() / S[groups == j].sum() for j in np.unique(groups)
    )


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_refinement_never_raises_the_cut(seed, missing):
    labels, _ = planted(seed, n=120, m=6, noise=0.5, missing=missing)
    plain = cs.consensus.HBGF(4, refine=False, random_state=seed).fit_predict(labels)
    model = cs.consensus.HBGF(4, random_state=seed).fit(labels)
    assert normalized_cut(labels, model.labels_) <= normalized_cut(labels, plain) + 1e-12
    assert (np.diff([line["objective"] for line in model.history_]) <= 1e-12).all()


def test_more_clusters_than_base_clusters():
    base = np.array([[i, j] for i in range(3) for j in range(3)])
    for more in ({}, {"include_base_clusters": True}):
        assert np.unique(cs.consensus.HBGF(7, random_state=0, **more).fit_predict(base)).size == 7


def test_metis(seed):
    pytest.importorskip("pymetis")
    truth = np.repeat([0, 1, 2], 20)
    rng = np.random.default_rng(seed)
    labels = np.stack([np.where(rng.random(60) < 0.1, rng.integers(0, 3, 60), truth) for _ in range(8)], 1)
    found = cs.consensus.HBGF(3, partitioner="metis", random_state=0).fit_predict(labels)
    assert cs.metrics.scores(truth, found)["ari"] > 0.9
    for c in (1, 2, 9, 12):
        labels, _ = planted(seed, n=40, missing=0.2)
        assert (
            np.unique(cs.consensus.HBGF(c, partitioner="metis", random_state=0).fit_predict(labels)).size == c
        )


def test_graph_for_metis_by_hand():
    ens = cs.Ensemble.from_clusterings([[0, 0, 1], [0, 1, -1]], sample_weight=[2, 1, 3])
    graph, loads = object_cluster_graph(ens)
    assert loads.tolist() == [2, 1, 3, 0, 0, 0, 0]
    assert graph.toarray()[:3, 3:].tolist() == [[2, 0, 2, 0], [1, 0, 0, 1], [0, 3, 0, 0]]


@pytest.mark.parametrize("more", [{}, {"refine": False}, {"include_base_clusters": True}])
def test_printed_row(shared_dir, more):
    mean, deviation = row(shared_dir, lambda c: cs.consensus.HBGF(c, random_state=0, **more))
    assert mean.tolist() == COMMON[0]
    assert deviation.tolist() == COMMON[1]
