"""SEC: identity with the normalized cut, the best partitions of small sets, and scikit-learn's k-means."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from sklearn.cluster import KMeans

import consilience as cs
from consilience._kernels.cut.normalized import cut_loop
from consilience._kernels.labels.grouping import alternate

from ...zoo import planted, same_partition
from ..printed import row


def dense_cut(labels, weights, groups):
    Y = cs.Ensemble(labels).indicator().toarray()
    S = weights[:, None] * (Y @ Y.T) * weights
    return sum(
        1 - S[np.ix_(groups == j, groups == j)].sum() / S[groups == j].sum() for j in np.unique(groups)
    )


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("single_moves", [False, True])
def test_reports_the_normalized_cut_of_all_pairs(seed, missing, single_moves):
    labels, _ = planted(seed, n=60, m=6, noise=0.4, missing=missing)
    weights = np.random.default_rng(seed).integers(1, 4, 60)
    model = cs.consensus.SEC(3, single_moves=single_moves, random_state=seed).fit(
        labels, sample_weight=weights
    )
    assert model.normalized_cut_ == pytest.approx(dense_cut(labels, weights, model.labels_))
    assert (np.diff([line["objective"] for line in model.history_]) <= 1e-12).all()


def test_single_moves_never_raise_the_cut(seed):
    labels, _ = planted(seed, n=90, m=6, noise=0.6)
    plain = cs.consensus.SEC(5, n_init=1, random_state=seed).fit(labels)
    moved = cs.consensus.SEC(5, n_init=1, single_moves=True, random_state=seed).fit(labels)
    assert moved.normalized_cut_ <= plain.normalized_cut_ + 1e-12


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_finds_the_best_of_all_partitions(seed, missing):
    labels, _ = planted(seed, n=10, m=4, c=2, noise=0.4, missing=missing)
    labels = np.unique(labels, axis=0)
    weights = np.arange(1.0, len(labels) + 1)
    partitions = (np.array((0, *rest)) for rest in product([0, 1], repeat=len(labels) - 1) if any(rest))
    best = min(dense_cut(labels, weights, groups) for groups in partitions)
    found = cs.consensus.SEC(2, n_init=30, single_moves=True, random_state=seed).fit(
        labels, sample_weight=weights
    )
    assert found.normalized_cut_ == pytest.approx(best)


def test_is_weighted_k_means_from_the_same_start(seed):
    labels, _ = planted(seed, n=80, m=5, noise=0.4)
    ens = cs.Ensemble(labels, sample_weight=np.random.default_rng(seed).uniform(0.5, 3, 80)).distinct()
    ones = np.ones(ens.n_base_clusters)
    rows, costs = cut_loop(ens.labels, ens.offsets, ens.sample_weight, ones)
    start = np.random.default_rng(seed).integers(0, 3, ens.n_samples)
    points = ens.indicator().toarray() * rows.scale[:, None]
    centers = np.stack(
        [np.average(points[start == j], axis=0, weights=rows.mass[start == j]) for j in range(3)]
    )
    plain = KMeans(3, init=centers, n_init=1, tol=0, max_iter=300).fit(points, sample_weight=rows.mass)
    found = alternate(rows, start, 3, costs, max_iter=300, tol=0.0)
    assert same_partition(found.groups, plain.labels_)
    assert min(found.losses) == pytest.approx(plain.inertia_)


def test_printed_rows(shared_dir):
    mean, deviation = row(shared_dir, lambda c: cs.consensus.SEC(c, random_state=0))
    assert mean[:2].tolist() == [0.6764, 0.0942]
    assert deviation[0] == 0.0161
    mean, _ = row(shared_dir, lambda c: cs.consensus.SEC(c, n_init=20, random_state=0), "lung203")
    assert np.allclose(mean[:2], [0.712, 0.552], atol=0.005)
