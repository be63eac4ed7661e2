"""Soft voting: the updates, that the objective descends, and what it learns."""

from __future__ import annotations

from itertools import pairwise, permutations, product

import numpy as np
import pytest

import consilience as cs
from consilience._data.named import incidence_of
from consilience.consensus._labels.soft_vote import objective, update_B, update_M


def random_soft(seed, n=40, widths=(2, 3, 5, 8), missing=0.1):
    rng = np.random.default_rng(seed)
    blocks = [rng.dirichlet(np.full(k, 0.3), n) * (rng.random((n, 1)) > missing) for k in widths]
    blocks[0][~np.any([P.any(axis=1) for P in blocks], axis=0), 0] = 1.0
    return cs.SoftEnsemble(blocks, sample_weight=rng.uniform(0.5, 2, n))


def by_hand(blocks, groups, offsets, weights, M):
    """Eq. (1), object by object."""
    total, mass = 0.0, 0.0
    for i, P in enumerate(blocks):
        B = np.eye(M.shape[1])[groups[offsets[i] : offsets[i + 1]]]
        for p, row in enumerate(P):
            if s := row.sum():
                total += weights[p] * s * ((row @ B / s - M[p]) ** 2).sum()
                mass += weights[p] * s
    return total / mass


def test_objective_and_M(seed):
    soft = random_soft(seed)
    rng, c = np.random.default_rng(seed), 3
    groups = rng.integers(0, c, soft.n_base_clusters)
    groups[:2], groups[2:5] = [0, 2], [2, 0, 1]  # of clusterings with at most c clusters no two share a group
    rows, seen = incidence_of(soft), soft.masses.sum(axis=1)
    M = update_M(rows, groups, c, seen)
    np.testing.assert_allclose(M.sum(axis=1), 1)
    Y = soft.indicator().toarray()
    blocks = [Y[:, a:b] for a, b in pairwise(soft.offsets)]
    value = objective(
        M, groups, rows.grams(soft.sample_weight, above=c), soft.sample_weight, seen, soft.offsets
    )
    assert value == pytest.approx(by_hand(blocks, groups, soft.offsets, soft.sample_weight, M))
    for _ in range(20):  # no other M is better
        other = rng.dirichlet(np.ones(c), len(M)) * 0.05 + 0.95 * M
        assert by_hand(blocks, groups, soft.offsets, soft.sample_weight, other) >= value


def test_matching_is_the_best_of_all(seed):
    T = np.random.default_rng(seed).random((3, 4))
    best = max(permutations(range(4), 3), key=lambda g: sum(T[b, j] for b, j in enumerate(g)))
    assert update_B(T, np.ones(3)).tolist() == list(best)


def test_moving_clusters_lowers_the_objective_to_where_no_single_move_does(seed):
    rng = np.random.default_rng(seed)
    P, M = rng.dirichlet(np.full(5, 0.3), 30), rng.dirichlet(np.ones(2), 30)
    T, G = P.T @ M, P.T @ P

    def cost(groups):
        B = np.eye(2)[list(groups)]
        return np.trace(B.T @ G @ B) - 2 * np.trace(B.T @ T)

    start = np.array([0, 1, 0, 1, 0])
    found = update_B(T, G, start)
    assert cost(found) <= cost(start) + 1e-12
    for b, j in product(range(5), range(2)):
        other = found.copy()
        other[b] = j
        if len(set(other.tolist())) == 2:
            assert cost(other) >= cost(found) - 1e-9


@pytest.mark.parametrize("c", [2, 4, 6])
@pytest.mark.parametrize("hard", [False, True])
def test_the_objective_never_rises(seed, c, hard):
    for s in range(seed, seed + 5):
        soft = random_soft(s)
        model = cs.consensus.SoftVote(c, random_state=0).fit(soft.draw(2, random_state=s) if hard else soft)
        values = [line["objective"] for line in model.history_]
        assert all(b <= a + 1e-12 for a, b in pairwise(values))
        assert model.converged_


def test_membership_is_the_mean_of_aligned_blocks():
    """Permuted columns of one matrix, as runs of ancestry estimation give them, average to that matrix."""
    rng = np.random.default_rng(0)
    Q = rng.dirichlet([0.4, 0.4, 0.4, 0.4], 100)
    orders = [rng.permutation(4) for _ in range(6)]
    model = cs.consensus.SoftVote(4, random_state=0).fit(cs.SoftEnsemble([Q[:, order] for order in orders]))
    columns = [model.membership_[:, j] for j in range(4)]
    assert sorted(int(np.abs(Q - column[:, None]).sum(axis=0).argmin()) for column in columns) == [0, 1, 2, 3]
    for column in columns:
        assert np.abs(Q - column[:, None]).max(axis=0).min() < 1e-12
    assert model.history_[-1]["objective"] == pytest.approx(0, abs=1e-12)
    # Every block's columns are told which cluster they are.
    for i, order in enumerate(orders):
        found = model.cluster_labels_[4 * i : 4 * i + 4]
        assert np.array_equal(model.membership_[:, found].round(12), Q[:, order].round(12))
