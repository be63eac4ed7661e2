"""Agglomeration against SciPy on the objects one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform

from consilience.kernels.linkage import cut_tree, merge_tree_inplace

from ..zoo import same_partition


@pytest.mark.parametrize("rule", ["average", "complete", "single"])
def test_equals_scipy(rule, seed):
    X = np.random.default_rng(seed).normal(size=(60, 3))
    tree = linkage(pdist(X), rule)
    left, right, height = merge_tree_inplace(squareform(pdist(X)), np.ones(60), rule)
    assert np.allclose(height, tree[:, 2])
    for c in (1, 2, 5, 60):
        assert same_partition(cut_tree(left, right, c), fcluster(tree, c, "maxclust"))


@pytest.mark.parametrize("rule", ["average", "complete", "single"])
def test_weighted_groups_equal_their_objects(rule, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 2))
    copies = rng.integers(1, 5, 25)
    rows = np.repeat(np.arange(25), copies)
    tree = linkage(pdist(X[rows]), rule)
    left, right, _ = merge_tree_inplace(squareform(pdist(X)), copies, rule)
    for c in (2, 7, 12):
        assert same_partition(cut_tree(left, right, c)[rows], fcluster(tree, c, "maxclust"))


def test_average_by_hand():
    # Groups of weight 3 and 1 at distances 1 and 2 from the third: (3 * 1 + 1 * 2) / 4 after they merged.
    D = np.array([[0, 0.5, 1.0], [0.5, 0, 2.0], [1.0, 2.0, 0]])
    assert merge_tree_inplace(D, np.array([3.0, 1.0, 1.0]))[2].tolist() == [0.5, 1.25]


def test_ties_do_not_run_in_circles():
    left, right, _ = merge_tree_inplace(np.ones((50, 50)), np.ones(50))
    assert np.unique(cut_tree(left, right, 4)).size == 4
