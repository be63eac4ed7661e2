"""Agglomeration against SciPy on the objects one by one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform

import consilience as cs
from consilience import Ensemble
from consilience._choosing import statistics
from consilience._evidence import table
from consilience._kernels.cut import partition
from consilience._kernels.pairs.linkage import _chain, cut_tree, merge_tree_inplace
from consilience.consensus._bipartite import lce
from consilience.consensus._coassociation import evidence, locally_weighted, pta, spce, weac
from consilience.consensus._metaclusters import ecpcs
from consilience.generate import _metric_subspace

from ...zoo import same_partition


@pytest.mark.parametrize("rule", ["average", "complete", "single"])
def test_equals_scipy(rule, seed):
    X = np.random.default_rng(seed).normal(size=(60, 3))
    tree = linkage(pdist(X), rule)
    left, right, height = merge_tree_inplace(squareform(pdist(X)), np.ones(60), rule)
    assert np.allclose(height, tree[:, 2])
    for c in (1, 2, 5, 40):
        assert same_partition(cut_tree(left, right, c), fcluster(tree, c, "maxclust"))
    assert (
        np.unique(cut_tree(left, right, 60)).size == 60
    )  # old versions of SciPy cannot cut off the first merge


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


def is_tree(left, right):
    """Whether the merges join all groups: as edges they then reach every one from the first."""
    return all(np.unique(cut_tree(left, right, c)).size == c for c in range(1, left.size + 2))


def tied(rng, u):
    """A symmetric matrix with few distinct values, some of them one rounding error apart."""
    D = rng.integers(1, 4, (u, u)) / 3
    D = np.where(rng.random((u, u)) < 0.3, np.nextafter(D, 2), D)
    return np.triu(D, 1) + np.triu(D, 1).T


@pytest.mark.parametrize("rule", ["average", "complete", "single"])
def test_ties_and_rounding_never_break_the_tree(rule):
    rng = np.random.default_rng(0)
    for _ in range(300):
        u = int(rng.integers(1, 25))
        left, right, height = merge_tree_inplace(tied(rng, u), rng.uniform(0.1, 3, u), rule)
        assert is_tree(left, right)
        assert np.all(np.diff(height) >= 0)


def test_means_stay_between_what_they_are_means_of():
    """(a d + b d) / (a + b) can round below d: a merged group would then be nearer than both its parts."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        d = rng.random()
        D = np.full((6, 6), d)
        assert np.all(merge_tree_inplace(D, rng.uniform(0.1, 3, 6))[2] == d)


def test_the_largest_numbers_do_not_overflow():
    left, right, height = merge_tree_inplace(tied(np.random.default_rng(0), 9) * 1e308, np.full(9, 1e308))
    assert is_tree(left, right)
    assert np.isfinite(height).all()


@pytest.mark.parametrize("rule", ["average", "complete", "single"])
def test_asymmetry_leads_to_a_tree_or_an_error_but_never_in_a_circle(rule):
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(500):
        u = int(rng.integers(2, 25))
        D = tied(rng, u)
        D = np.where(rng.random((u, u)) < 0.3, np.nextafter(D, 2), D)
        try:
            left, right, _ = merge_tree_inplace(D, rng.uniform(0.1, 3, u), rule)
        except ValueError:
            refused += 1
        else:
            assert is_tree(left, right)
    assert refused


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(wrong):
    for where in (slice(None), (2, 3)):
        D = tied(np.random.default_rng(0), 8)
        D[where] = wrong
        with pytest.raises(ValueError, match="D must be finite"):
            merge_tree_inplace(D, np.ones(8))
        # The kernel behind the door stays within its arrays, too: it stops or makes some tree.
        left, right = np.zeros(7, np.int64), np.zeros(7, np.int64)
        if _chain(D, np.ones(8), 0, left, right, np.zeros(7)):
            assert is_tree(left, right)


@pytest.mark.parametrize(("shape", "u"), [((3, 4), 3), ((3, 3), 4), ((0, 0), 0)])
def test_shapes_are_checked(shape, u):
    with pytest.raises(ValueError, match="shape"):
        merge_tree_inplace(np.zeros(shape), np.ones(u))


@pytest.mark.parametrize("c", [0, 4])
def test_a_tree_has_as_many_clusters_as_groups_at_most(c):
    with pytest.raises(ValueError, match="over 3 groups"):
        cut_tree(np.array([0, 0]), np.array([1, 2]), c)


def callers(rng):
    """(module that hands a matrix over, call that makes it do so), for every one there is."""
    n = 60
    labels = rng.integers(0, 5, (n, 4))
    labels[rng.random(labels.shape) < 0.1] = -1
    labels[:, 0] = rng.integers(0, 5, n)
    weights = rng.uniform(0.1, 3, n)
    ensemble = Ensemble(labels, sample_weight=weights).distinct().canonical()[0]
    pieces = rng.permutation(np.arange(n) % 20)
    similarity = rng.random((n, n))
    similarity += similarity.T
    return {
        "evidence": (
            evidence,
            lambda: cs.consensus.EvidenceAccumulation(3).fit(labels, sample_weight=weights),
        ),
        "table": (
            table,
            lambda: table.agreement_beside_baseline(ensemble, np.arange(ensemble.n_samples) % 3),
        ),
        "locally_weighted": (
            locally_weighted,
            lambda: cs.consensus.LWEA(3).fit(labels, sample_weight=weights),
        ),
        "weac": (weac, lambda: cs.consensus.WEAC(3).fit(labels, sample_weight=weights)),
        "pta": (pta, lambda: cs.consensus.PTA(3).fit(labels, sample_weight=weights)),
        "lce": (lce, lambda: cs.consensus.LCE(3, variant="cts").fit(labels, sample_weight=weights)),
        "ecpcs": (ecpcs, lambda: cs.consensus.ECPCS(3).fit(labels, sample_weight=weights)),
        "spce": (
            spce,
            lambda: spce.repair(ensemble, np.arange(ensemble.n_samples) % 20, 3, alpha=rng.random(4), F=None),
        ),
        "partition": (
            partition,
            lambda: partition.merge_clusters(pieces, 3, similarity=similarity, weights=weights),
        ),
        "statistics": (statistics, lambda: statistics.lifetimes(ensemble, np.array([2, 3]))),
        "_metric_subspace": (
            _metric_subspace,
            lambda: _metric_subspace.nearest_pieces(pieces, 20, 3, rng.normal(size=(n, 7))),
        ),
    }


@pytest.mark.parametrize("name", list(callers(np.random.default_rng(0))))
def test_every_caller_hands_over_an_exactly_symmetric_matrix(name, monkeypatch, seed):
    module, call = callers(np.random.default_rng(seed))[name]
    given = []

    def keep(D, *rest):
        given.append(D.copy())
        return merge_tree_inplace(D, *rest)

    monkeypatch.setattr(module, "merge_tree_inplace", keep)
    call()
    assert given
    assert all(np.array_equal(D, D.T) for D in given)


def test_these_are_all_callers():
    source = Path(cs.__file__).parent
    users = {path.stem for path in source.rglob("*.py") if "merge_tree_inplace(" in path.read_text()}
    assert users == {"linkage", *callers(np.random.default_rng(0))}
