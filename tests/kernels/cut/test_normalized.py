"""The normalized cut through label tables: against the cut of the dense graph, move by move."""

from __future__ import annotations

import numpy as np
import pytest

import consilience as cs
from consilience._kernels.cut.normalized import cut_loop, move_objects, normalized_cut
from consilience._kernels.labels.grouping import alternate, assign

from ...zoo import planted


def case(seed, missing, kind):
    labels, _ = planted(seed, n=40, m=5, noise=0.4, missing=missing)
    ens = cs.Ensemble(labels, sample_weight=np.random.default_rng(seed).uniform(0.5, 3, 40)).distinct()
    a = np.ones(ens.n_base_clusters) if kind == "ones" else 1 / ens.cluster_sizes()
    rows, costs = cut_loop(ens.labels, ens.offsets, ens.sample_weight, a)
    groups = np.random.default_rng(seed).integers(0, 3, ens.n_samples)
    groups[:3] = range(3)
    return ens, a, rows, costs, groups


def dense_cut(ens, a, groups):
    """Every pair of objects, weighted, in one plain matrix."""
    Y = ens.indicator().toarray()
    S = ens.sample_weight[:, None] * ((Y * a) @ Y.T) * ens.sample_weight
    inside = [S[np.ix_(groups == j, groups == j)].sum() / S[groups == j].sum() for j in np.unique(groups)]
    return len(inside) - sum(inside)


every_graph = pytest.mark.parametrize(
    ("missing", "kind"), [(0.0, "ones"), (0.3, "ones"), (0.0, "sizes"), (0.3, "sizes")]
)


@every_graph
def test_k_means_of_scaled_labels_is_the_cut(seed, missing, kind):
    """Eq. (3), for groupings at random."""
    ens, a, rows, costs, groups = case(seed, missing, kind)
    table = rows.table(groups, 3)
    own = assign(rows, *costs(table), groups).own
    Y = ens.indicator().toarray()
    points = Y * np.sqrt(a) * rows.scale[:, None]
    centers = np.stack(
        [np.average(points[groups == j], axis=0, weights=rows.mass[groups == j]) for j in range(3)]
    )
    assert np.allclose(own, ((points - centers[groups]) ** 2).sum(axis=1))
    constant = (ens.sample_weight * (Y @ a) * rows.scale).sum()
    assert rows.mass @ own == pytest.approx(dense_cut(ens, a, groups) - 3 + constant)
    assert normalized_cut(table, a) == pytest.approx(dense_cut(ens, a, groups))


@every_graph
def test_moves_end_where_no_single_object_lowers_the_cut(seed, missing, kind):
    ens, a, rows, costs, groups = case(seed, missing, kind)
    lloyd = alternate(rows, groups, 3, costs, max_iter=100, tol=0.0).groups
    found, _ = move_objects(rows, lloyd, 3, a, max_sweeps=100)
    best = dense_cut(ens, a, found)
    assert best <= dense_cut(ens, a, lloyd) + 1e-12
    for p in range(ens.n_samples):
        for j in range(3):
            moved = found.copy()
            moved[p] = j
            if np.unique(moved).size == 3:
                assert dense_cut(ens, a, moved) >= best - 1e-9


def test_moves_check_their_groups():
    _, a, rows, _, groups = case(0, 0.0, "ones")
    with pytest.raises(ValueError, match="expected 0 to 1"):
        move_objects(rows, groups, 2, a, max_sweeps=1)
