"""The loop over labels and tables: its passes against dense matrices, its edges by hand."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience._kernels.labels import grouping
from consilience._kernels.labels.grouping import (
    alternate,
    assign,
    best_start,
    commonest_rows,
    fill_empty,
    label_rows,
    seed_rows,
    soften,
)

from ...zoo import planted, same_partition


def case(seed, missing=0.3, n=50):
    labels, truth = planted(seed, n=n, m=6, missing=missing)
    rng = np.random.default_rng(seed)
    ens = cs.Ensemble(labels, sample_weight=rng.uniform(0.5, 3, n))
    scale, shift = rng.uniform(0.5, 2, n), rng.normal(size=n)
    rows = label_rows(ens.labels, ens.offsets, ens.sample_weight, scale=scale, shift=shift)
    T, base = rng.normal(size=(ens.n_base_clusters, 5)), rng.normal(size=5)
    plain = shift[:, None] + base + scale[:, None] * (ens.indicator().toarray() @ T)
    return ens, rows, T, base, plain, truth


def category(ens):
    """k-means of one-hot rows: T = |M|^2 + 1 - 2 M, block by block."""

    def costs(table):
        sums = np.add.reduceat(table, ens.offsets[:-1], axis=0)
        M = table / np.repeat(np.maximum(sums, 1e-300), ens.n_clusters_per_clustering, axis=0)
        squares = np.add.reduceat(M * M, ens.offsets[:-1], axis=0)
        return 1 + np.repeat(squares, ens.n_clusters_per_clustering, axis=0) - 2 * M, np.zeros(table.shape[1])

    return costs


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_hard_groups_are_the_cheapest(seed, n_jobs, monkeypatch):
    monkeypatch.setattr(grouping, "_BLOCK", 7)
    _, rows, T, base, plain, _ = case(seed)
    current = np.arange(50) % 5
    found = assign(rows, T, base, current, n_jobs=n_jobs)
    assert np.array_equal(found.groups, plain.argmin(axis=1))
    assert np.allclose(found.cost, plain.min(axis=1))
    assert np.allclose(found.own, plain[np.arange(50), current])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_soft_groups_and_their_table(seed, n_jobs, monkeypatch):
    monkeypatch.setattr(grouping, "_BLOCK", 7)
    ens, rows, T, base, plain, _ = case(seed)
    R, table, sums = soften(rows, T, base, n_jobs=n_jobs)
    expected = np.exp(-plain)
    assert np.allclose(R, expected / expected.sum(axis=1, keepdims=True))
    assert np.allclose(sums, np.log(expected.sum(axis=1)))
    assert np.allclose(table, ens.indicator().toarray().T @ (ens.sample_weight[:, None] * R))
    far = soften(rows, T, base + 1e6, n_jobs=n_jobs)  # exp of none of these costs is above zero
    assert np.allclose(far[0], R)


def test_ties_go_to_the_lowest_number_or_stay():
    rows = label_rows(np.zeros((3, 1), np.int32), np.array([0, 1]), np.ones(3))
    T, base, current = np.zeros((1, 3)), np.array([1.0, 0.0, 0.0]), np.array([0, 1, 2])
    assert assign(rows, T, base, current).groups.tolist() == [1, 1, 1]
    assert assign(rows, T, base, current, stay=True).groups.tolist() == [1, 1, 2]


def test_shapes_and_groups_are_checked():
    rows = label_rows(np.zeros((3, 1), np.int32), np.array([0, 1]), np.ones(3))
    with pytest.raises(ValueError, match="Groups from 0 to 2; expected 0 to 1"):
        assign(rows, np.zeros((1, 2)), np.zeros(2), np.array([0, 1, 2]))
    for T, base in (
        (np.zeros((2, 2)), np.zeros(2)),
        (np.zeros((1, 2)), np.zeros(3)),
        (np.zeros((1, 0)), np.zeros(0)),
    ):
        for function in (assign, soften):
            with pytest.raises(ValueError, match="Costs of shapes"):
                function(rows, T, base)


def test_empty_groups_get_the_worst_object_that_is_not_alone():
    groups, loss = np.array([0, 0, 2, 0]), np.array([1.0, 3.0, 9.0, 2.0])
    assert fill_empty(groups, 4, loss).tolist() == [0, 1, 2, 3]
    assert groups.tolist() == [0, 0, 2, 0]


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_losses_fall_and_end_at_a_fixed_point(seed, missing):
    ens, *_ = case(seed, missing)
    rows = label_rows(ens.labels, ens.offsets, ens.sample_weight)
    costs = category(ens)
    start = np.random.default_rng(seed).integers(0, 3, 50)
    found = alternate(rows, start, 3, costs, max_iter=100, tol=0.0)
    assert found.converged
    assert (np.diff(found.losses) <= 1e-9).all()
    again = assign(rows, *costs(rows.table(found.groups, 3)), found.groups)
    assert np.allclose(again.own, again.cost)
    assert rows.mass @ again.own == pytest.approx(min(found.losses))


def test_seeds_are_different_objects_that_lie_apart(seed):
    ens, *_ = case(seed, 0.0)
    rows = label_rows(ens.labels, ens.offsets, ens.sample_weight)
    for c in (1, 3, 50):
        chosen = seed_rows(rows, c, category(ens), np.random.default_rng(seed))
        assert np.unique(chosen).size == c
    same = label_rows(np.zeros((4, 1), np.int32), np.array([0, 1]), np.ones(4))
    one = cs.Ensemble.from_clusterings([[0, 0, 0, 0]])
    assert np.unique(seed_rows(same, 4, category(one), np.random.default_rng(seed))).size == 4


def test_starts_on_a_draw_end_with_all_objects(seed, monkeypatch):
    monkeypatch.setattr(grouping, "STARTS_ON", 40)
    labels, truth = planted(seed, n=200, m=12, noise=0.1)
    ens = cs.Ensemble(labels)
    rows = label_rows(ens.labels, ens.offsets, ens.sample_weight)
    found = best_start(rows, 3, category(ens), np.random.default_rng(seed), n_init=5, max_iter=50, tol=0.0)
    assert found.groups.shape == (200,)
    assert cs.metrics.scores(truth, found.groups)["ari"] > 0.9
    again = best_start(
        rows, 3, category(ens), np.random.default_rng(seed), n_init=5, max_iter=50, tol=0.0, n_jobs=2
    )
    assert same_partition(found.groups, again.groups)


def test_the_commonest_cluster_of_each_clustering_in_a_group():
    """Two clusterings of 3 and 2 clusters; ties go to the lowest.

    A clustering that saw nobody of a group goes by the others.
    """
    offsets = np.array([0, 3, 5])
    table = np.array([[1.0, 0, 2], [4, 0, 2], [2, 0, 1], [0, 3, 0], [0, 3, 0]])
    usual = np.array([0.2, 0.3, 0.5, 0.4, 0.6])
    assert commonest_rows(table, offsets, usual).tolist() == [[1, 2, 0], [4, 3, 4]]
