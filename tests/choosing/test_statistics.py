"""Every statistic equals its dense formula, with weights and missing labels."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score, silhouette_samples

import consilience as cs
from consilience._choosing import statistics as st
from consilience._evidence.table import Evidence
from consilience._kernels.pairs import histogram as ph


def example(missing: float, weighted: bool, seed: int = 0, n: int = 60, m: int = 9):
    """An ensemble whose rows repeat, and the same with every object of weight w written w times."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    labels = np.where(rng.random((n, m)) < 0.7, truth[:, None], rng.integers(0, 4, (n, m)))
    labels[rng.random((n, m)) < missing] = -1
    labels[:, 0] = np.maximum(labels[:, 0], 0)  # everybody is seen
    weights = rng.integers(1, 4, n) if weighted else np.ones(n, int)
    ensemble = cs.Ensemble(
        labels, sample_names=range(n), sample_weight=weights.astype(float) if weighted else None
    )
    return ensemble, np.repeat(np.arange(n), weights), truth


settings = pytest.mark.parametrize(
    ("missing", "weighted"), [(0.0, False), (0.3, False), (0.0, True), (0.3, True)]
)


def dense_pairs(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(together, seen), each over all pairs p < q."""
    seen = (labels[:, None] >= 0) & (labels[None] >= 0)
    together = seen & (labels[:, None] == labels[None])
    upper = np.triu_indices(len(labels), 1)
    return together.sum(axis=2)[upper], seen.sum(axis=2)[upper]


@settings
def test_pairs(missing, weighted):
    ensemble, copies, _ = example(missing, weighted)
    pairs = st.pairs_of(ensemble)
    together, seen = dense_pairs(ensemble.labels[copies])
    A = together[seen > 0] / seen[seen > 0]
    assert pairs.unseen == pytest.approx((seen == 0).mean())
    assert pairs.band == 0
    assert pairs.area == pytest.approx(1 - A.mean())
    assert pairs.pac() == pytest.approx(((A > 0.1) & (A < 0.9)).mean())
    assert pairs.rpac() == pytest.approx(((A > 0.1) & (A < 0.9)).mean() / (A > 0).mean())
    assert pairs.dispersion == pytest.approx((4 * (A - 0.5) ** 2).mean())
    values, shares = pairs.cdf()
    np.testing.assert_allclose(shares, [np.mean(value >= A) for value in values])
    # The area under the CDF is a sum of steps, and one minus the mean whatever the stability.
    assert np.sum(shares[:-1] * np.diff(values)) + (1 - values[-1]) == pytest.approx(pairs.area)


def test_pairs_of_many_clusters_and_fractional_weights():
    rng = np.random.default_rng(3)
    labels = rng.integers(-1, 400, (500, 3))  # more clusters than a byte holds
    weights = rng.uniform(0.2, 3, 500)
    H = ph.pair_histogram(labels, weights)
    expected = np.zeros((4, 4))
    seen = (labels >= 0).sum(axis=1)
    np.add.at(expected, (seen, seen), weights * np.maximum(weights - 1, 0) / 2)
    p, q = np.triu_indices(500, 1)
    np.add.at(expected, dense_pairs(labels), weights[p] * weights[q])
    np.testing.assert_allclose(H, expected)
    np.testing.assert_array_equal(H, ph.pair_histogram(labels, weights, n_jobs=1))


def test_sampled_pairs_stay_in_their_band(monkeypatch):
    ensemble, _, _ = example(0.3, True, n=200)
    exact = st.pairs_of(ensemble)
    monkeypatch.setattr(st, "EXACT_UP_TO", 10)
    sampled = st.pairs_of(ensemble, n_pairs=200_000, seed=1)
    values, shares = exact.cdf()
    others, drawn = sampled.cdf()
    at = np.concatenate([[0.0], drawn])[np.searchsorted(others, values, side="right")]
    assert 0 < sampled.band < 0.005
    assert np.abs(at - shares).max() <= sampled.band
    assert sampled.pac() == pytest.approx(exact.pac(), abs=2 * sampled.band)


@settings
def test_mean_ari(missing, weighted):
    ensemble, copies, _ = example(missing, weighted)
    labels = ensemble.labels[copies]
    found = []
    for a, b in combinations(labels.T, 2):
        both = (a >= 0) & (b >= 0)
        found.append(adjusted_rand_score(a[both], b[both]))
    assert st.mean_ari(ensemble) == pytest.approx(np.mean(found))


@settings
def test_silhouette(missing, weighted):
    ensemble, copies, truth = example(missing, weighted)
    labels, groups = ensemble.labels[copies], truth[copies]
    seen = ((labels[:, None] >= 0) & (labels[None] >= 0)).sum(axis=2).astype(float)
    together = ((labels[:, None] >= 0) & (labels[:, None] == labels[None])).sum(axis=2).astype(float)
    each = []
    for p in range(len(labels)):
        apart = {}
        for j in range(3):
            others = (groups == j) & (np.arange(len(labels)) != p)
            apart[j] = 1 - together[p, others].sum() / seen[p, others].sum()
        a = apart.pop(groups[p])
        b = min(apart.values())
        each.append((b - a) / max(a, b))
    # Equal rows may be in different clusters here, which a consensus never does: each object is its own row.
    evidence = Evidence(ensemble, truth, 3)
    assert st.silhouette(evidence) == pytest.approx(np.mean(each))
    if missing == 0:
        distance = 1 - together / seen
        assert np.mean(each) == pytest.approx(
            silhouette_samples(distance, groups, metric="precomputed").mean()
        )


def test_silhouette_of_objects_alone_is_zero():
    ensemble = cs.Ensemble.from_clusterings([[0, 0, 1], [0, 0, 1], [0, 1, 1]])
    alone = Evidence(ensemble, np.array([0, 1, 2]), 3)
    assert st.silhouette(alone) == 0
    assert np.isnan(st.silhouette(Evidence(ensemble, np.zeros(3, int), 1)))


@settings
def test_concordance(missing, weighted):
    ensemble, copies, truth = example(missing, weighted)
    labels, groups = ensemble.labels[copies], truth[copies]
    shares = []
    for column in labels.T:
        here = column >= 0
        table = np.zeros((4, 3))
        np.add.at(table, (column[here], groups[here]), 1)
        shares.append(table[linear_sum_assignment(table, maximize=True)].sum() / here.sum())
    assert st.concordance(Evidence(ensemble, truth, 3)) == pytest.approx(np.mean(shares))


@settings
def test_spectrum(missing, weighted):
    ensemble, copies, _ = example(missing, weighted)
    Y = ensemble.indicator().toarray()[copies]
    Y = Y / np.sqrt(Y.sum(axis=1, keepdims=True))
    A = Y @ Y.T
    root = 1 / np.sqrt(A.sum(axis=1))
    expected = np.linalg.eigvalsh(root[:, None] * A * root)[::-1][:8]
    np.testing.assert_allclose(st.spectrum(ensemble, 8), expected, atol=1e-12)
    gaps = st.eigengaps(expected, np.array([2, 3]))
    np.testing.assert_allclose(gaps, np.log([expected[1] / expected[2], expected[2] / expected[3]]))
    np.testing.assert_allclose(st.eigengaps(np.array([1.0, 0.5, 0.0]), np.array([2])), np.log(50))


def test_spectrum_beyond_the_base_clusters_is_zero():
    found = st.spectrum(cs.Ensemble.from_clusterings([[0, 0, 1, 1], [0, 0, 1, 1]]), 6)
    np.testing.assert_allclose(found, [1, 1, 0, 0, 0, 0], atol=1e-12)


def untied(missing: float, weighted: bool):
    """An ensemble in which no two pairs have the same co-association, so that there is one tree."""
    for seed in range(1000):
        ensemble, copies, _ = example(missing, weighted, seed, n=6, m=101)
        pairs = ensemble.coassociation()[np.triu_indices(6, 1)]
        if np.unique(pairs).size == pairs.size:
            return ensemble, copies
    raise AssertionError("no such ensemble")


@settings
def test_lifetimes(missing, weighted):
    ensemble, copies = untied(missing, weighted)
    distance = 1 - ensemble.coassociation()[np.ix_(copies, copies)]
    np.fill_diagonal(distance, 0)
    heights = linkage(squareform(distance, checks=False), "average")[:, 2]
    ks = np.array([2, 3, 4])
    expected = [heights[-(k - 1)] - heights[-k] for k in ks]
    found, all_linked = st.lifetimes(ensemble, ks)
    assert all_linked
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_lifetimes_of_a_sample_and_beyond_the_objects(monkeypatch):
    ensemble, _, _ = example(0.0, False, n=300)
    monkeypatch.setattr(st, "LINKED", 100)
    found, all_linked = st.lifetimes(ensemble, np.array([2, 3, 500]))
    assert not all_linked
    assert found[2] == 0
    assert found.max() > 0


@settings
def test_split(missing, weighted):
    ensemble, copies, truth = example(missing, weighted)
    labels, groups = ensemble.labels[copies], truth[copies]
    expected = 0.0
    for j in range(3):
        part = labels[groups == j]
        runs = []
        for column in part.T:
            sizes = np.bincount(column[column >= 0])
            if sizes.sum() - sizes.max() >= 0.1 * sizes.sum() > 0:
                runs.append(column)
        found = []
        for a, b in combinations(runs, 2):
            both = (a >= 0) & (b >= 0)
            found.append(adjusted_rand_score(a[both], b[both]))
        share = len(found) / (labels.shape[1] * (labels.shape[1] - 1) / 2)
        expected = max(expected, share * np.mean(found)) if found else expected
    assert st.split(truth, ensemble) == pytest.approx(expected)


def test_split_of_a_nested_structure():
    inner = np.repeat([0, 1, 2, 3], 20)
    coarse = inner // 2
    first, second = np.where(coarse == 0, inner, 9), np.where(coarse == 1, inner, 9)
    runs = cs.Ensemble.from_clusterings([first, first, second, second])
    # Half of the runs divide a cluster, and all that do divide it alike: of 6 pairs of runs, 1 divides the
    # first.
    assert st.split(coarse, runs) == pytest.approx(1 / 6)
    assert st.split(coarse, cs.Ensemble.from_clusterings([coarse, coarse])) == 0
