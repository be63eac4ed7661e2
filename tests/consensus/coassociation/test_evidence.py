"""Evidence accumulation and k-means on co-association against the plain way with n x n matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist, squareform

import consilience as cs
from consilience.consensus._coassociation.kmeans import embed

from ...zoo import planted, same_partition


@pytest.mark.parametrize("rule", ["average", "single"])
def test_equals_linkage_of_all_objects(rule, seed):
    # Real weights keep averages free of ties, where any tree is as good as another.
    labels, _ = planted(seed, n=80, m=31)
    A = cs.Ensemble(labels).coassociation()
    tree = linkage(squareform(1 - A, checks=False), rule)
    model = cs.consensus.EvidenceAccumulation(n_clusters=3, linkage=rule).fit(labels)
    if np.diff(tree[-4:, 2]).min() > 1e-9:
        assert same_partition(model.labels_, fcluster(tree, 3, "maxclust"))
    assert np.allclose(model.heights_[-5:], tree[-5:, 2]) or rule == "average"


def test_by_hand():
    base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 2, 2], [0, 0, 0, 0, 1, 1]])
    # A: {0,1} always together, {4,5} always; 2-3 in 2 of 3; 0-2 in 2 of 3, 3-4 in 1 of 3.
    model = cs.consensus.EvidenceAccumulation(n_clusters=2).fit(base)
    assert same_partition(model.labels_, [0, 0, 0, 0, 1, 1])
    assert model.confidence_[0] == model.confidence_[1]
    assert model.confidence_[5] > model.confidence_[3]


def test_embedding_has_the_distances_of_coassociation_rows(seed):
    labels, _ = planted(seed, n=50, m=6)
    compressed = cs.Ensemble(labels, sample_weight=np.random.default_rng(seed).integers(1, 4, 50)).distinct()
    rows = compressed.coassociation() * np.sqrt(compressed.sample_weight)
    assert np.allclose(cdist(embed(compressed), embed(compressed)), cdist(rows, rows), atol=1e-4)


def test_memory_is_refused_before_it_is_taken(monkeypatch):
    labels, _ = planted()
    monkeypatch.setattr("consilience._kernels.runtime.memory.available_memory", lambda: 1000)
    with pytest.raises(
        MemoryError, match="Evidence accumulation on .* distinct objects needs .* but 1.0 kB are free"
    ):
        cs.consensus.EvidenceAccumulation(n_clusters=3).fit(labels)
