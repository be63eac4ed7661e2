"""ECPCS: walks by hand, and refined co-association against plain loops over all objects."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience._kernels.pairs.association import refined_association
from consilience._kernels.runtime import memory
from consilience.consensus._metaclusters.ecpcs import walk_similarity
from consilience.errors import NotEnoughMemoryError

from ...zoo import planted, same_partition
from ..printed import row


def plain_similarity(labels, steps):
    """Z of all base clusters, with nothing compressed."""
    ens = cs.Ensemble(labels)
    Y = ens.indicator().toarray()
    seen = np.repeat(ens.labels >= 0, ens.n_clusters_per_clustering, axis=1).astype(float)
    K, known = Y.T @ Y, Y.T @ seen
    either = known + known.T - K
    J = np.where(either > 0, K / np.maximum(either, 1e-300), 0)
    np.fill_diagonal(J, 0)
    sums = J.sum(axis=1, keepdims=True)
    P = np.divide(J, sums, out=np.zeros_like(J), where=sums > 0)
    walks = np.hstack([np.linalg.matrix_power(P, t) for t in range(1, steps + 1)])
    lengths = np.linalg.norm(walks, axis=1, keepdims=True)
    walks = np.divide(walks, lengths, out=np.zeros_like(walks), where=lengths > 0)
    Z = walks @ walks.T
    np.fill_diagonal(Z, 1)
    return Z


def plain_refined(labels, Z):
    ens = cs.Ensemble(labels)
    codes, n = ens.global_labels(), len(labels)
    E = np.zeros((n, n))
    for p in range(n):
        for q in range(n):
            both = (codes[p] >= 0) & (codes[q] >= 0)
            E[p, q] = Z[codes[p, both], codes[q, both]].mean() if both.any() else 0
    return E


def test_one_step_on_two_clusterings_by_hand():
    """Clusters {0,1}, {2,3} and {0,1,2}, {3}: J = 2/3, 0, 1/4, 1/2 between them."""
    ens = cs.Ensemble.from_clusterings([[0, 0, 1, 1], [0, 0, 0, 1]])
    Z = walk_similarity(ens.contingency(), ens.offsets, 1)
    # Walks of one step: {0,1} only to {0,1,2}; {2,3} to {0,1,2} with 1/3 and to {3} with 2/3; and back.
    a = (1 / 3) / np.hypot(1 / 3, 2 / 3)
    b = (3 / 11) / np.hypot(8 / 11, 3 / 11)
    expected = [[1, a, 0, 0], [a, 1, 0, 0], [0, 0, 1, b], [0, 0, b, 1]]
    assert np.allclose(Z, expected)


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_refined_coassociation_is_that_of_all_objects(seed, missing):
    labels, _ = planted(seed, n=40, m=5, noise=0.3, missing=missing)
    weights = np.random.default_rng(seed).integers(1, 4, 40)
    rows = np.repeat(np.arange(40), weights)
    small = cs.Ensemble(labels, sample_weight=weights).distinct()
    Z = walk_similarity(small.contingency(), small.offsets, 20)
    assert np.allclose(Z, plain_similarity(labels[rows], 20), atol=1e-12)
    E = refined_association(small.labels, small.offsets, Z)
    assert np.array_equal(E, E.T)
    assert np.allclose(E[small.inverse][:, small.inverse], plain_refined(labels, Z), atol=1e-12)


def test_hierarchical_tree_is_that_of_all_objects(seed):
    """With nothing missing: else distinct objects can be at distance 0.

    Their tied merges may then come in another order.
    """
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    labels, _ = planted(seed, n=40, m=5, noise=0.3)
    E = plain_refined(labels, plain_similarity(labels, 20))
    distance = 1 - (E + E.T) / 2
    np.fill_diagonal(distance, 0)
    heights = linkage(squareform(np.maximum(distance, 0)), "average")[:, 2]
    model = cs.consensus.ECPCS(3).fit(labels)
    assert np.allclose(model.heights_, heights[-model.heights_.size :], atol=1e-10)


def test_meta_clusters_of_clusterings_that_differ_in_one_place():
    base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1]])
    model = cs.consensus.ECPCS(2, variant="mc", random_state=0).fit(base)
    assert same_partition(model.metaclusters_, [0, 1, 1, 0, 0, 1])
    assert same_partition(model.labels_, [0, 0, 0, 1, 1, 1])


def test_refuses_pairs_that_will_not_fit(monkeypatch):
    labels, _ = planted(n=60)
    monkeypatch.setattr(memory, "available_memory", lambda: 50_000)
    with pytest.raises(NotEnoughMemoryError, match='ECPCS on .* distinct objects.*use variant="mc"'):
        cs.consensus.ECPCS(3).fit(labels)


@pytest.mark.parametrize(("variant", "expected"), [("hc", [0.871, 0.663]), ("mc", [0.766, 0.558])])
def test_figures_of_lung(shared_dir, variant, expected):
    mean, _ = row(shared_dir, lambda c: cs.consensus.ECPCS(c, variant=variant, random_state=0), "lung203")
    assert np.allclose(mean[:2], expected, atol=0.005)
