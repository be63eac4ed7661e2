"""Voting: permuted copies, brute force, plain k-modes, and what never rises."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import consilience as cs
from consilience._kernels.labels.grouping import alternate, label_rows
from consilience.consensus._labels._shared import overall_shares
from consilience.consensus._labels.voting import commonest, maps

from ...zoo import planted, same_partition
from ..printed import row

every_match = pytest.mark.parametrize("match", ["one-to-one", "many-to-one", "soft"])


@every_match
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_permuted_copies_of_one_partition_come_back(seed, match, missing):
    rng = np.random.default_rng(seed)
    _, truth = planted(seed, c=4)
    labels = np.stack([rng.permutation(4)[truth] for _ in range(7)], axis=1)
    gone = rng.random(labels.shape) < missing
    gone[:, 0] = False
    labels[gone] = -1
    model = cs.consensus.Voting(4, match=match, random_state=0).fit(labels)
    assert same_partition(model.labels_, truth)
    assert np.array_equal(model.aligned_, np.where(gone, -1, model.labels_[:, None]))
    assert model.history_[-1]["objective"] == 0


def test_aligned_labels_by_hand():
    """The third cluster of the second member is left over: it stands for none."""
    base = cs.Ensemble.from_clusterings(
        [["a", "a", "a", "b", "b", "b"], [5, 5, 9, 7, 7, 7], [0, 0, 0, 1, 1, 1]]
    )
    model = cs.consensus.Voting(2, random_state=0).fit(base)
    assert model.aligned_[:, 1].tolist() == [*model.labels_[:2], -1, *model.labels_[3:]]
    assert model.cluster_labels_.shape == (7,)
    many = cs.consensus.Voting(2, match="many-to-one", random_state=0).fit(base)
    assert np.array_equal(many.aligned_[:, 1], many.labels_)


def test_maps_by_hand():
    table, offsets = np.array([[3.0, 1.0], [2.0, 0.0], [0.0, 4.0]]), np.array([0, 3])
    assert maps(table, offsets, "one-to-one").tolist() == [[1, 0], [0, 0], [0, 1]]
    assert maps(table, offsets, "many-to-one").tolist() == [[1, 0], [1, 0], [0, 1]]
    assert maps(table, offsets, "soft").tolist() == [[0.75, 0.25], [1, 0], [0, 1]]


@pytest.mark.parametrize("params", [{}, {"match": "many-to-one"}, {"algorithm": "iterative"}])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_disagreement_never_rises(seed, params, missing):
    labels, _ = planted(seed, n=120, m=9, noise=0.5, missing=missing)
    weights = np.random.default_rng(seed).integers(1, 4, 120)
    model = cs.consensus.Voting(3, random_state=seed, **params).fit(labels, sample_weight=weights)
    losses = [line["objective"] for line in model.history_]
    assert (np.diff(losses) <= 1e-9).all()


def disagreement(labels, groups):
    """The loss of k-modes: shares of seen labels that are not the most frequent of the group."""
    total = 0.0
    for j in np.unique(groups):
        inside = labels[groups == j]
        modes = [
            np.bincount(column[column >= 0] if (column >= 0).any() else [0]).argmax() for column in inside.T
        ]
        seen = inside >= 0
        total += (((inside != modes) & seen).sum(axis=1) / seen.sum(axis=1)).sum()
    return total


def test_iterative_finds_the_best_of_all_partitions(seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, (6, 5))
    best = min(disagreement(labels, np.array((0, *rest))) for rest in product([0, 1], repeat=5) if any(rest))
    found = cs.consensus.Voting(2, algorithm="iterative", n_init=40, random_state=seed).fit(labels)
    assert disagreement(labels, found.labels_) == pytest.approx(best)
    assert found.history_[-1]["objective"] == pytest.approx(best)


def test_iterative_is_k_modes(seed):
    labels, _ = planted(seed, n=70, m=6, noise=0.4)
    ens = cs.Ensemble(labels).distinct()
    rows = label_rows(ens.labels, ens.offsets, ens.sample_weight, scale=np.full(ens.n_samples, 1 / 6))
    start = groups = np.random.default_rng(seed).integers(0, 3, ens.n_samples)
    found = alternate(
        rows, start, 3, commonest(overall_shares(ens), ens.offsets), max_iter=100, tol=0.0, stay=True
    )
    for _ in range(100):
        modes = np.array(
            [
                [
                    np.bincount(ens.labels[groups == j, i], ens.sample_weight[groups == j]).argmax()
                    for i in range(6)
                ]
                for j in range(3)
            ]
        )
        cost = (ens.labels[:, None, :] != modes).mean(axis=2)
        own = cost[np.arange(len(cost)), groups]
        moved = np.where(cost.min(axis=1) < own, cost.argmin(axis=1), groups)
        if np.array_equal(moved, groups):
            break
        groups = moved
    assert np.array_equal(found.groups, groups)
    assert found.losses[-1] == pytest.approx((ens.sample_weight * own).sum())


@every_match
def test_members_of_other_numbers_of_clusters(seed, match):
    """No member has the number asked for: it starts from votes of clustered base clusters."""
    labels, _ = planted(seed, n=120, m=10, c=4, noise=0.1)
    found = cs.consensus.Voting(7, match=match, random_state=0).fit(labels)
    assert np.unique(found.labels_).size == 7


def test_checked_rows(shared_dir):
    def mean(name="allaml", **params):
        return row(shared_dir, lambda c: cs.consensus.Voting(c, random_state=0, **params), name)[0]

    assert mean(algorithm="iterative")[0] == pytest.approx(0.669, abs=0.005)
    assert mean(algorithm="iterative", center="mean")[0] == pytest.approx(0.671, abs=0.005)
    assert mean()[1] == pytest.approx(0.092, abs=0.005)
    assert np.allclose(mean("lung203", match="soft")[0], 0.891, atol=0.005)
