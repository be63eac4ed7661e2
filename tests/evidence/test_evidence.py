"""What is read off the table of base clusters and groups, against dense formulas."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience._evidence.table import Evidence

from ..zoo import planted


class Dense:
    """The same quantities from n-by-n arrays and loops, as they are defined."""

    def __init__(self, labels, groups, weights):
        n, m = labels.shape
        self.labels, self.groups, self.w, self.c = labels, groups, weights, groups.max() + 1
        self.m, self.objects = m, range(n)
        both = (labels[:, None] >= 0) & (labels[None] >= 0)  # (n, n, m)
        self.seen = both
        self.together = both & (labels[:, None] == labels[None])

    def pairs(self, which, p, q, i=slice(None)):
        """Weight of the pairs of p with q.

        An object of weight w is w equal objects, and none is paired with itself.
        """
        company = self.w[q] - (min(1.0, self.w[p]) if p == q else 0.0)
        return company * which[p, q, i].sum()

    def membership(self, p):
        ties = np.zeros(self.c)
        for i in range(self.m):
            if self.labels[p, i] >= 0:
                for j in range(self.c):
                    inside = self.groups == j
                    mates = (self.labels[:, i] == self.labels[p, i]) & inside
                    known = (self.labels[:, i] >= 0) & inside
                    ties[j] += self.w[mates].sum() / self.w[known].sum() if known.any() else 0.0
        return ties / ties.sum()

    def sample_stability(self, p):
        mates = np.flatnonzero(self.groups == self.groups[p])
        below = sum(self.pairs(self.seen, p, q) for q in mates)
        return sum(self.pairs(self.together, p, q) for q in mates) / below if below > 1e-9 else np.nan

    def purity(self, p):
        """Mean over the clusterings that saw p of the share of its base cluster that is in its group."""
        shares = []
        for i in range(self.m):
            if self.labels[p, i] >= 0:
                mates = (self.labels[:, i] == self.labels[p, i]) & (self.groups >= 0)
                shares.append(self.w[mates & (self.groups == self.groups[p])].sum() / self.w[mates].sum())
        return np.mean(shares)

    def company(self, p):
        """Weighted co-association of p with its group, itself included, each pair as often as it was seen."""
        own = np.flatnonzero(self.groups == self.groups[p])
        return (self.w[own] @ self.together[p, own]).sum() / (self.w[own] @ self.seen[p, own]).sum()

    def confidence(self, p):
        own = np.flatnonzero(self.groups == self.groups[p])
        return np.sqrt(self.purity(p) * self.company(p) / max(self.company(q) for q in own))

    def between(self, a, b, alpha=None):
        alpha = np.ones(self.m) if alpha is None else alpha
        above = below = 0.0
        for p in np.flatnonzero(self.groups == a):
            for q in np.flatnonzero(self.groups == b):
                for i in range(self.m):
                    above += alpha[i] * self.w[p] * self.pairs(self.together, p, q, i)
                    below += alpha[i] * self.w[p] * self.pairs(self.seen, p, q, i)
        return above / below if below > 1e-9 else np.nan


@pytest.fixture(params=["plain", "missing", "whole weights", "fractional weights", "all"])
def case(request, seed):
    """(ensemble, groups, the dense formulas); group 3 is a single object."""
    rng = np.random.default_rng(seed)
    labels, groups = planted(seed, n=30, m=5, missing=0.3 if request.param in ("missing", "all") else 0.0)
    groups[-1] = 3
    weights = np.ones(30)
    if request.param == "whole weights":
        weights = rng.integers(1, 4, 30).astype(float)
    elif request.param in ("fractional weights", "all"):
        weights = 3 * rng.random(30) + 0.01
    return cs.Ensemble(labels, sample_weight=weights), groups, Dense(labels, groups, weights)


def test_table(case):
    ensemble, groups, dense = case
    onto = dense.w[:, None] * (groups[:, None] == np.arange(4))
    np.testing.assert_allclose(Evidence(ensemble, groups).table, ensemble.indicator().T @ onto)
    seen = (ensemble.labels >= 0).T @ onto
    np.testing.assert_allclose(Evidence(ensemble, groups).seen, seen, atol=1e-12)


def test_memberships_and_support(case):
    ensemble, groups, dense = case
    expected = np.array([dense.membership(p) for p in dense.objects])
    evidence = Evidence(ensemble, groups)
    np.testing.assert_allclose(evidence.memberships(), expected, atol=1e-12)
    np.testing.assert_allclose(evidence.memberships(np.array([7, 3])), expected[[7, 3]], atol=1e-12)
    np.testing.assert_allclose(evidence.support, expected[dense.objects, groups], atol=1e-12)


def test_stability(case):
    ensemble, groups, dense = case
    evidence = Evidence(ensemble, groups)
    expected = [dense.sample_stability(p) for p in dense.objects]
    np.testing.assert_allclose(evidence.sample_stability, expected, atol=1e-9)
    np.testing.assert_allclose(evidence.stability, [dense.between(j, j) for j in range(4)], atol=1e-9)


def test_confidence(case):
    ensemble, groups, dense = case
    evidence = Evidence(ensemble, groups)
    np.testing.assert_allclose(evidence.purity, [dense.purity(p) for p in dense.objects], atol=1e-12)
    np.testing.assert_allclose(evidence.confidence, [dense.confidence(p) for p in dense.objects], atol=1e-12)


def test_confidence_by_hand():
    labels = np.array([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], [0, 1, 2, 3, 3]]).T
    evidence = Evidence(cs.Ensemble(labels), np.array([0, 0, 0, 1, 1]))
    # Of the company of object 2, itself included, 1, 1/3 and 1 are in its group; it is with it 3 + 1 + 1
    # times of 9. The first two are with it 3 + 2 + 1 times, and alone with it. All of group 1 is together,
    # with 2 in one of three.
    np.testing.assert_allclose(evidence.purity, [1, 1, 7 / 9, 8 / 9, 8 / 9])
    np.testing.assert_allclose(evidence.typicality, [1, 1, 5 / 6, 1, 1])
    np.testing.assert_allclose(evidence.confidence, np.sqrt([1, 1, 35 / 54, 8 / 9, 8 / 9]))


def test_fine_base_clusterings_do_not_lower_confidence(seed):
    """Random pieces of a group say nothing against it: stability falls with their number, not confidence."""
    rng = np.random.default_rng(seed)
    groups = np.repeat([0, 1, 2], 200)
    fine = cs.Ensemble(np.column_stack([10 * groups + rng.integers(0, 10, 600) for _ in range(20)]))
    evidence = Evidence(fine, groups)
    assert evidence.stability.max() < 0.12
    np.testing.assert_allclose(evidence.purity, 1)
    assert evidence.support.mean() > 0.99
    assert evidence.confidence.mean() > 0.9


def test_no_confidence_in_what_was_not_seen_or_has_no_group():
    labels = np.array([[0, 0], [0, 0], [1, 1], [1, -1], [-1, -1]])
    evidence = Evidence(cs.Ensemble(labels), np.array([0, 0, 1, -1, 1]))
    np.testing.assert_allclose(evidence.confidence, [1, 1, 1, 0, 0])


@pytest.mark.parametrize("weigh", [False, True])
def test_mean_coassociation_between_groups(case, weigh):
    ensemble, groups, dense = case
    alpha = np.arange(1.0, 6) if weigh else None
    expected = [[dense.between(a, b, alpha) for b in range(4)] for a in range(4)]
    found = Evidence(ensemble, groups).mean_coassociation(alpha)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_agreement(case):
    ensemble, groups, dense = case
    evidence = Evidence(ensemble, groups)
    for i, column in enumerate(ensemble.labels.T):
        given = {"sample_weight": dense.w, "missing": "ignore"}
        assert evidence.agreement("ari")[i] == pytest.approx(cs.metrics.ari(groups, column, **given))
        for mean in ("max", "geometric", "arithmetic"):
            expected = cs.metrics.nmi(groups, column, normalization=mean, **given)
            assert evidence.agreement(f"nmi_{mean}")[i] == pytest.approx(expected)


def test_objects_by_their_distinct_rows_are_the_objects(case, seed):
    """Also where equal objects are in different groups."""
    ensemble, groups, dense = case
    twice = np.concatenate([np.arange(30), np.arange(30)])
    repeated = cs.Ensemble(ensemble.labels[twice], sample_weight=dense.w[twice])
    other = np.concatenate([groups, np.random.default_rng(seed).permutation(groups)])
    full, rows = Evidence(repeated, other), repeated.distinct().inverse
    short = Evidence(repeated.distinct(), other, rows=rows, weights=dense.w[twice])
    for name in ("table", "support", "confidence", "sample_stability", "stability", "between"):
        np.testing.assert_allclose(getattr(short, name), getattr(full, name), atol=1e-9, err_msg=name)
    np.testing.assert_allclose(short.memberships(np.arange(5)), full.memberships()[:5])


def test_objects_without_a_group_count_nowhere(case):
    ensemble, groups, dense = case
    here = np.flatnonzero(groups != 2)
    part, some = Evidence(ensemble, np.where(groups == 2, -1, groups), 4), groups[here]
    rest = Evidence(cs.Ensemble(ensemble.labels[here], sample_weight=dense.w[here]), some, 4)
    np.testing.assert_allclose(part.stability, rest.stability)
    np.testing.assert_allclose(part.sample_stability[here], rest.sample_stability)
    np.testing.assert_allclose(part.support[here], rest.support)
    np.testing.assert_allclose(part.confidence[here], rest.confidence)
    assert np.isnan(part.sample_stability[groups == 2]).all()


@pytest.mark.parametrize("scale", [1e-12, 1e-6, 1e-1])
def test_small_weights_are_not_taken_for_nothing(case, scale):
    """Below one, an object is all of its own weight, so that only ratios of weights matter."""
    ensemble, groups, dense = case
    small = dense.w / dense.w.max()
    one, other = (
        Evidence(cs.Ensemble(ensemble.labels, sample_weight=s * small), groups) for s in (1.0, scale)
    )
    for name in ("support", "confidence", "sample_stability", "stability", "between"):
        np.testing.assert_allclose(getattr(other, name), getattr(one, name), atol=1e-9, err_msg=name)


def test_means_between_groups_are_exactly_symmetric(seed):
    """Merging relies on symmetry: weighted products round differently on the two sides of the diagonal."""
    rng = np.random.default_rng(seed)
    ensemble = cs.Ensemble(rng.integers(0, 4, (60, 5)), sample_weight=rng.uniform(0.1, 3, 60))
    means = Evidence(ensemble, rng.permutation(np.arange(60) % 20)).mean_coassociation(rng.random(5))
    assert np.array_equal(means, means.T)
