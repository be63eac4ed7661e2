"""Repairs to the number of clusters asked for."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from consilience._kernels.cut.partition import compact, exactly, merge_clusters, split_clusters

from ...zoo import same_partition


def test_merges_the_most_similar_pair():
    S = np.array([[1, 0.1, 0.6], [0.1, 1, 0.2], [0.6, 0.2, 1]])
    for similarity in (S, sp.csr_array(S)):
        merged = merge_clusters(np.array([4, 7, 9]), 2, similarity=similarity, weights=np.ones(3))
        assert same_partition(merged, [0, 1, 0])


def test_similarity_is_averaged_over_weighted_pairs():
    # Cluster {0, 1} is 0.9 and 0 similar to object 2: 0.45 if equal weights, 0.75 if object 0 weighs five
    # times.
    S = np.eye(4)
    S[0, 2] = S[2, 0] = 0.9
    S[2, 3] = S[3, 2] = 0.5
    labels = np.array([0, 0, 1, 2])
    assert same_partition(merge_clusters(labels, 2, similarity=S, weights=np.ones(4)), [0, 0, 1, 1])
    heavy = np.array([5.0, 1, 1, 1])
    assert same_partition(merge_clusters(labels, 2, similarity=S, weights=heavy), [0, 0, 0, 1])


def test_splits_where_the_scatter_is():
    line = np.array([0.0, 0.1, 0.2, 10.0, 10.1, 30.0])[:, None]
    once = split_clusters(np.zeros(6, int), 2, embedding=line, weights=np.ones(6))
    assert same_partition(once, [0, 0, 0, 0, 0, 1])
    twice = split_clusters(np.zeros(6, int), 3, embedding=line, weights=np.ones(6))
    assert same_partition(twice, [0, 0, 0, 1, 1, 2])


def test_weights_move_the_best_cut():
    line = np.array([0.0, 1.0, 2.1])[:, None]
    assert same_partition(split_clusters(np.zeros(3, int), 2, embedding=line, weights=np.ones(3)), [0, 0, 1])
    heavy = np.array([9.0, 9.0, 1.0])
    assert same_partition(split_clusters(np.zeros(3, int), 2, embedding=line, weights=heavy), [0, 1, 1])


def test_coinciding_objects_can_still_be_split():
    labels = split_clusters(np.zeros(5, int), 5, embedding=np.zeros((5, 2)), weights=np.ones(5))
    assert np.unique(labels).size == 5


@pytest.mark.parametrize("c", range(1, 13))
def test_exactly(c, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 6, 12) * 3
    X = rng.normal(size=(12, 2))
    out = exactly(
        labels, c, similarity=np.exp(-((X[:, None] - X) ** 2).sum(2)), embedding=X, weights=np.ones(12)
    )
    assert np.array_equal(np.unique(out), np.arange(c))
    if c == np.unique(labels).size:
        assert np.array_equal(out, compact(labels))
