"""Clustering-weighted evidence accumulation, and linkage of rows of co-association."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import consilience as cs
from consilience.consensus._coassociation.evidence import row_distances
from consilience.consensus._coassociation.weac import crowd_agreement
from consilience.metrics import nmi

from ...zoo import planted, same_partition
from ..printed import row


def test_trust_is_mean_information_shared_with_the_others(seed):
    labels, _ = planted(seed, n=60, m=5)
    ens = cs.Ensemble(labels)
    means = np.array(
        [np.mean([nmi(a, b) for j, b in enumerate(labels.T) if j != i]) for i, a in enumerate(labels.T)]
    )
    assert np.allclose(crowd_agreement(ens, 1.0), means / means.sum())
    assert np.allclose(crowd_agreement(ens, 2.0), means**2 / (means**2).sum())
    assert np.allclose(crowd_agreement(ens, 0.0), 0.2)


def test_clusterings_that_share_nothing_are_trusted_alike():
    ens = cs.Ensemble([[0, 0, 1, 1], [0, 1, 0, 1]])
    assert crowd_agreement(ens, 1.0).tolist() == [0.5, 0.5]
    assert crowd_agreement(cs.Ensemble([[0, 0, 1]]), 1.0).tolist() == [1.0]


def test_power_zero_is_evidence_accumulation(seed):
    labels, _ = planted(seed, n=60, noise=0.4, missing=0.1)
    plain = cs.consensus.EvidenceAccumulation(3).fit(labels)
    assert np.allclose(cs.consensus.WEAC(3, power=0.0).fit(labels).heights_, plain.heights_)


def test_tree_of_the_weighted_matrix(seed):
    from scipy.cluster.hierarchy import cut_tree, linkage
    from scipy.spatial.distance import squareform

    labels, _ = planted(seed, n=50, m=9, noise=0.3)
    model = cs.consensus.WEAC(3, linkage="complete").fit(labels)
    A = cs.Ensemble(labels).coassociation(clustering_weights=model.clustering_weights_)
    distance = 1 - (A + A.T) / 2
    np.fill_diagonal(distance, 0)
    tree = linkage(squareform(distance), "average")
    expected = cut_tree(tree, 3)[:, 0]
    assert same_partition(cs.consensus.WEAC(3).fit_predict(labels), expected)


def test_rows_of_all_objects(seed):
    labels, _ = planted(seed, n=40, m=5, noise=0.3)
    weights = np.random.default_rng(seed).integers(1, 4, 40)
    copies = np.repeat(np.arange(40), weights)
    small = cs.Ensemble(labels, sample_weight=weights).distinct()
    A = cs.Ensemble(labels[copies]).coassociation()
    rows = small.inverse[copies]
    found = row_distances(small)
    assert np.array_equal(found, found.T)
    assert np.allclose(found[rows][:, rows], cdist(A, A), atol=1e-4)


def test_figures_of_lung(shared_dir):
    mean, _ = row(
        shared_dir,
        lambda c: cs.consensus.EvidenceAccumulation(c, linkage="complete", distance="rows"),
        "lung203",
    )
    assert np.allclose(mean[:2], [0.812, 0.601], atol=0.005)
    mean, _ = row(shared_dir, lambda c: cs.consensus.WEAC(c), "lung203")
    assert mean[0] == pytest.approx(0.83, abs=0.01)
