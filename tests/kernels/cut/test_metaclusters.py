"""Overlaps of base clusters and votes for groups of them: against plain loops, and by hand."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience._kernels.cut.metaclusters import jaccard, owners, vote
from consilience._kernels.labels.overlaps import overlap_matrix

from ...zoo import planted


def ensemble(seed, missing):
    labels, _ = planted(seed, n=50, m=6, missing=missing)
    return cs.Ensemble(labels, sample_weight=np.random.default_rng(seed).uniform(0.5, 3, 50)).distinct()


def plain_jaccard(ens):
    Y, w = ens.indicator().toarray().astype(bool), ens.sample_weight
    seen, owner = ens.labels >= 0, owners(ens.offsets)
    J = np.zeros((Y.shape[1],) * 2)
    for a in range(len(J)):
        for b in range(len(J)):
            both = seen[:, owner[a]] & seen[:, owner[b]]
            union = w[both & (Y[:, a] | Y[:, b])].sum()
            J[a, b] = w[Y[:, a] & Y[:, b]].sum() / union if union > 0 else 0.0
    return J


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_jaccard_is_that_of_sets_among_the_objects_both_saw(seed, missing):
    ens = ensemble(seed, missing)
    expected = plain_jaccard(ens)
    J = jaccard(overlap_matrix(ens.labels, ens.offsets, ens.sample_weight), ens.offsets)
    assert np.allclose(J, expected)
    assert np.array_equal(J, J.T)
    assert np.allclose(jaccard(ens.contingency_sparse(), ens.offsets).toarray(), expected)


def test_jaccard_of_clusterings_that_share_no_object():
    ens = cs.Ensemble.from_clusterings([[0, 1, -1, -1], [-1, -1, 0, 1]])
    J = jaccard(overlap_matrix(ens.labels, ens.offsets, ens.sample_weight), ens.offsets)
    assert np.array_equal(J, np.eye(4))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_votes_are_means_over_the_clusters_of_a_group(seed, missing):
    ens = ensemble(seed, missing)
    rng = np.random.default_rng(seed)
    k = ens.n_base_clusters
    groups = rng.integers(0, 3, k)
    Y, owner = ens.indicator().toarray(), owners(ens.offsets)
    seen = (ens.labels >= 0)[:, owner]
    sums = np.stack([Y[:, groups == j].sum(axis=1) for j in range(3)], 1)
    counts = np.stack([seen[:, groups == j].sum(axis=1) for j in range(3)], 1)
    expected = np.where(counts > 0, sums / np.maximum(counts, 1), 0.0)
    order = np.argsort([-ens.cluster_sizes()[groups == j].sum() for j in range(3)])
    found = vote(ens.labels, ens.offsets, ens.sample_weight, groups, 3)
    assert np.allclose(found.shares, expected[:, order])
    assert np.array_equal(found.labels, found.shares.argmax(axis=1))


def test_ties_go_to_the_heavier_group_and_every_group_wins_somebody():
    """Two clusterings, one vote each: {first of both} holds 5 of 8 sights, so both tied objects join it."""
    ens = cs.Ensemble.from_clusterings([[0, 0, 0, 1], [0, 1, 0, 1]]).distinct()
    groups = np.array([0, 1, 0, 1])
    found = vote(ens.labels, ens.offsets, ens.sample_weight, groups, 2)
    tied = (ens.labels == [0, 1]).all(axis=1)
    assert found.labels[tied].tolist() == [0]
    lonely = vote(ens.labels, ens.offsets, ens.sample_weight, np.zeros(4, int), 3)
    assert np.unique(lonely.labels).size == 3


def test_votes_check_their_groups():
    ens = cs.Ensemble.from_clusterings([[0, 1], [0, 1]])
    with pytest.raises(ValueError, match="expected numbers below 2"):
        vote(ens.labels, ens.offsets, ens.sample_weight, np.array([0, 1, 2, 0]), 2)
