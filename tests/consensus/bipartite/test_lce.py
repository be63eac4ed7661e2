"""LCE: links by hand, and the cut and the tree against plain versions on all objects."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience._kernels.cut.metaclusters import jaccard
from consilience.consensus._bipartite.lce import linked_clusters

from ...zoo import planted, same_partition
from ..printed import row


def test_links_by_hand():
    """Clusters {0,1}, {2}, {3} and {0,1,2}, {3}: only the first two have a neighbor in common."""
    ens = cs.Ensemble.from_clusterings([[0, 0, 1, 2], [0, 0, 0, 1]])
    Z = linked_clusters(ens.labels, ens.offsets, ens.sample_weight, 0.8).toarray()
    expected = np.eye(5)
    expected[0, 1] = expected[1, 0] = 0.8  # the largest: min(2/3, 1/3) = 1/3
    assert np.allclose(Z, expected)


def test_links_against_plain_loops(seed):
    labels, _ = planted(seed, n=40, m=5, missing=0.2)
    ens = cs.Ensemble(labels)
    J = jaccard(ens.contingency(), ens.offsets)
    k, owner = ens.n_base_clusters, np.repeat(np.arange(5), ens.n_clusters_per_clustering)
    wct = np.zeros((k, k))
    for a in range(k):
        for b in range(k):
            if a != b and owner[a] == owner[b]:
                wct[a, b] = sum(min(J[a, c], J[b, c]) for c in range(k))
    assert np.allclose(
        linked_clusters(ens.labels, ens.offsets, ens.sample_weight, 0.6).toarray(),
        0.6 * wct / wct.max() + np.eye(k),
    )


def test_clusters_without_links():
    """One clustering alone links nothing."""
    ens = cs.Ensemble.from_clusterings([[0, 0, 1, 1, 2]])
    assert np.array_equal(
        linked_clusters(ens.labels, ens.offsets, ens.sample_weight, 0.8).toarray(), np.eye(3)
    )


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_without_decay_it_is_the_plain_cut_and_the_plain_tree(seed, missing):
    labels, _ = planted(seed, n=80, m=8, noise=0.3, missing=missing)
    plain = cs.consensus.HBGF(3, refine=False, random_state=0).fit(labels)
    cut = cs.consensus.LCE(3, decay=0.0, random_state=0).fit(labels)
    assert same_partition(cut.labels_, plain.labels_)
    tree = cs.consensus.LCE(3, decay=0.0, variant="cts").fit(labels)
    assert np.allclose(tree.heights_, cs.consensus.EvidenceAccumulation(3).fit(labels).heights_)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_vectors_are_those_of_all_objects(seed, missing):
    """The graph is that between n objects and k clusters with edges Y Z."""
    labels, _ = planted(seed, n=50, m=5, noise=0.3, missing=missing)
    ens = cs.Ensemble(labels)
    owner = np.repeat(np.arange(5), ens.n_clusters_per_clustering)
    Z = linked_clusters(ens.labels, ens.offsets, ens.sample_weight, 0.8).toarray()
    assert not Z[owner[:, None] != owner].any()
    RM = ens.indicator().toarray() @ Z
    d, e = RM.sum(axis=1), RM.sum(axis=0)
    left, values, _ = np.linalg.svd(RM / np.sqrt(d)[:, None] / np.sqrt(e))
    found = cs.consensus.LCE(3, random_state=0).fit(labels).embedding_ * np.sqrt(d)[:, None]
    basis, _ = np.linalg.qr(found)
    assert values[2] - values[3] > 1e-6
    assert np.allclose(basis @ basis.T, left[:, :3] @ left[:, :3].T, atol=1e-5)


@pytest.mark.parametrize(("variant", "expected"), [("rm", [0.833, 0.604]), ("cts", [0.875, 0.651])])
def test_figures_of_lung(shared_dir, variant, expected):
    def make(c):
        return cs.consensus.LCE(c, variant=variant, decay=0.9, random_state=0)

    mean, _ = row(shared_dir, make, "lung203")
    assert np.allclose(mean[:2], expected, atol=0.005)
