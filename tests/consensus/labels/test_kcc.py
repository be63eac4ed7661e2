"""KCC and ECC: k-means of scikit-learn, classification EM, and the utility that the loss stands for."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import mutual_info_score

import consilience as cs
from consilience._kernels.labels.grouping import alternate, block_shares, label_rows
from consilience.consensus._labels._shared import overall_shares
from consilience.consensus._labels._utilities import (
    UTILITIES,
    clustering_factors,
    contributions,
    distances,
    total_utility,
)

from ...zoo import planted
from ..printed import COMMON, row

every_utility = pytest.mark.parametrize("utility", UTILITIES)


def case(seed, missing=0.0, noise=0.4):
    labels, _ = planted(seed, n=80, m=5, noise=noise, missing=missing)
    ens = cs.Ensemble(labels, sample_weight=np.random.default_rng(seed).uniform(0.5, 3, 80)).distinct()
    return ens, label_rows(ens.labels, ens.offsets, ens.sample_weight), np.random.default_rng(seed)


def loop(ens, rows, start, utility, normalized=False, order=3.0):
    P = overall_shares(ens)
    v = clustering_factors(P, ens.offsets, utility, order) if normalized else np.ones(ens.n_clusterings)
    costs = distances(P, ens.offsets, v, utility, order)
    return alternate(rows, start, 3, costs, max_iter=300, tol=0.0), (P, ens.offsets, v, utility, order)


def test_category_is_weighted_k_means_of_one_hot_rows(seed):
    ens, rows, rng = case(seed)
    start = rng.integers(0, 3, ens.n_samples)
    Y = ens.indicator().toarray()
    centers = np.stack(
        [np.average(Y[start == j], axis=0, weights=ens.sample_weight[start == j]) for j in range(3)]
    )
    plain = KMeans(3, init=centers, n_init=1, tol=0, max_iter=300).fit(Y, sample_weight=ens.sample_weight)
    found, _ = loop(ens, rows, start, "category")
    assert np.array_equal(found.groups, plain.labels_)
    assert min(found.losses) == pytest.approx(plain.inertia_)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_entropy_is_classification_em(seed, missing):
    """Equal proportions: each object goes to the component under which its labels are likeliest."""
    ens, rows, rng = case(seed, missing)
    groups = rng.integers(0, 3, ens.n_samples)
    found, _ = loop(ens, rows, groups, "entropy")
    for _ in range(100):
        likely = np.zeros((ens.n_samples, 3))
        for i in range(ens.n_clusterings):
            seen = ens.labels[:, i] >= 0
            for j in range(3):
                inside = seen & (groups == j)
                share = np.bincount(
                    ens.labels[inside, i],
                    ens.sample_weight[inside],
                    minlength=ens.n_clusters_per_clustering[i],
                )
                share = share / share.sum()
                likely[seen, j] += np.log2(np.maximum(share, 2.0**-52))[ens.labels[seen, i]]
        moved = likely.argmax(axis=1)
        if np.array_equal(moved, groups):
            break
        groups = moved
    assert np.array_equal(found.groups, groups)


@every_utility
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_losses_fall(seed, utility, normalized, missing):
    ens, rows, rng = case(seed, missing)
    found, _ = loop(ens, rows, rng.integers(0, 3, ens.n_samples), utility, normalized)
    assert found.converged
    assert (np.diff(found.losses) <= 1e-9).all()


@every_utility
@pytest.mark.parametrize("normalized", [False, True])
def test_what_the_loss_falls_the_utility_rises(seed, utility, normalized):
    """Eq. (1): their sum, by weight, is the same for every partition."""
    ens, rows, rng = case(seed)
    sums = []
    for _ in range(3):
        start = rng.integers(0, 3, ens.n_samples)
        found, about = loop(ens, rows, start, utility, normalized)
        gained = total_utility(rows.table(found.groups, 3), *about)
        sums += [
            min(found.losses) / ens.sample_weight.sum() + gained,
            found.losses[0] / ens.sample_weight.sum() + total_utility(rows.table(start, 3), *about),
        ]
    assert np.allclose(sums, sums[0])


@every_utility
def test_distributions_are_the_best_centers(seed, utility):
    """No other distribution has a smaller sum of f over the objects of a cluster."""
    rng = np.random.default_rng(seed)
    offsets, table = np.array([0, 4]), rng.integers(1, 9, (4, 1)).astype(float)
    M = block_shares(table, offsets, np.zeros(4))
    best = (table * contributions(M, offsets, utility, 3.0)).sum()
    for _ in range(200):
        other = rng.dirichlet(np.ones(4))[:, None]
        assert (table * contributions(other, offsets, utility, 3.0)).sum() >= best - 1e-9


def test_utility_of_ecc_is_the_sum_of_mutual_informations(seed):
    labels, _ = planted(seed, n=100, m=6, noise=0.3)
    model = cs.consensus.ECC(3, random_state=0).fit(labels)
    bits = sum(mutual_info_score(model.labels_, labels[:, i]) for i in range(6)) / np.log(2)
    assert model.utility_ == pytest.approx(bits)


def test_ecc_is_kcc_by_entropy(seed):
    labels, _ = planted(seed, n=100, m=6, noise=0.4, missing=0.1)
    for normalized in (False, True):
        short = cs.consensus.ECC(4, normalized=normalized, random_state=seed).fit(labels)
        long = cs.consensus.KCC(4, utility="entropy", normalized=normalized, random_state=seed).fit(labels)
        assert np.array_equal(short.labels_, long.labels_)
        assert short.utility_ == long.utility_


@every_utility
def test_a_clustering_of_one_cluster_says_nothing(seed, utility):
    """Its labels cost nothing anywhere, and it adds nothing to the utility."""
    ens, _, rng = case(seed)
    groups = rng.integers(0, 3, ens.n_samples)
    more = cs.Ensemble(
        np.column_stack([ens.labels, np.zeros(ens.n_samples, int)]), sample_weight=ens.sample_weight
    )
    gained = []
    for one in (ens, more):
        P, table = (
            overall_shares(one),
            label_rows(one.labels, one.offsets, one.sample_weight).table(groups, 3),
        )
        v = clustering_factors(P, one.offsets, utility, 3.0)
        assert np.isfinite(v).all()
        gained.append(total_utility(table, P, one.offsets, v, utility, 3.0))
        T, _ = distances(P, one.offsets, v, utility, 3.0)(table)
    assert not T[-1].any()
    assert gained[0] == pytest.approx(gained[1])


def test_printed_row_of_the_cosine_utility(shared_dir):
    mean, deviation = row(shared_dir, lambda c: cs.consensus.KCC(c, utility="cosine", random_state=0))
    assert mean.tolist() == COMMON[0]
    assert deviation.tolist() == COMMON[1]
