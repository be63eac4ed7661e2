"""PTA and PTGP: walks by hand, and every step against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import KMeans

import consilience as cs
from consilience._kernels.pairs.trajectories import trajectory_product, trajectory_sums
from consilience._kernels.pairs.walks import walk_norms
from consilience.consensus._coassociation._sample import linked_objects
from consilience.consensus._coassociation._walks import rule, ties, transitions
from consilience.errors import ConsilienceWarning

from ...zoo import planted
from ..printed import row


def plain_transitions(A, weights, K, stay=False):
    """P from co-association of distinct objects, object by object."""
    A = A - np.diag(np.diag(A))
    kept = np.zeros_like(A)
    for p, values in enumerate(A):
        least = np.sort(values)[-K]
        kept[p, values >= least] = values[values >= least]
    S = (np.maximum(kept, kept.T) + stay * np.eye(len(A))) * weights
    sums = S.sum(axis=1, keepdims=True)
    return np.divide(S, sums, out=np.zeros_like(S), where=sums > 0)


def plain_cosines(P, steps):
    walks = np.hstack([np.linalg.matrix_power(P, t) for t in range(1, steps + 1)])
    lengths = np.linalg.norm(walks, axis=1, keepdims=True)
    walks = np.divide(walks, lengths, out=np.zeros_like(walks), where=lengths > 0)
    return walks @ walks.T


def plain_graph_partition(labels, c):
    """PTGP by dense matrices: Z, B, and all eigenvectors of the graph of objects and base clusters."""
    ens = cs.Ensemble(labels).distinct()
    steps = rule(ens.n_samples)
    Z = plain_cosines(plain_transitions(ens.coassociation(), ens.sample_weight, steps, stay=True), steps)
    Y = ens.indicator().toarray() * ens.sample_weight[:, None]
    B = (Z @ (Y / Y.sum(axis=0)))[ens.inverse]
    n, k = B.shape
    G = np.block([[np.zeros((n, n)), B], [B.T, np.zeros((k, k))]])
    root = 1 / np.sqrt(G.sum(axis=1))
    values, vectors = np.linalg.eigh(root[:, None] * G * root)
    # The vectors of the objects are those of the clusters, averaged over edges: shorter by the eigenvalue
    # than in the whole graph.
    points = vectors[:n, -c:] * values[-c:]
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return KMeans(c, n_init=20, random_state=0).fit_predict(points)


def distinct(seed, missing=0.0):
    labels, _ = planted(seed, n=60, m=6, noise=0.3, missing=missing)
    weights = np.random.default_rng(seed).integers(1, 4, 60)
    return cs.Ensemble(labels, sample_weight=weights).distinct()


def test_neighbors_by_hand():
    """Three distinct objects on a line: the middle one was once with each of the others."""
    ens = cs.Ensemble.from_clusterings([[0, 0, 1], [0, 1, 1]], sample_weight=[1, 1, 3]).distinct()
    expected = np.zeros((3, 3))
    expected[0, 1] = expected[2, 1] = 1
    expected[1, 0], expected[1, 2] = 1 / 4, 3 / 4  # both are its nearest: ties are kept
    assert np.allclose(transitions(ties(ens, 1), ens.sample_weight).toarray(), expected)


def test_walks_that_stay_with_equal_objects():
    ens = cs.Ensemble.from_clusterings([[0, 0, 1], [0, 1, 1]], sample_weight=[1, 1, 3]).distinct()
    expected = np.array([[1, 0.5, 0], [0.5, 1, 1.5], [0, 0.5, 3]])
    assert np.allclose(
        transitions(ties(ens, 1, stay=True), ens.sample_weight).toarray(),
        expected / expected.sum(axis=1, keepdims=True),
    )


def test_rule():
    assert [rule(u) for u in (2, 16, 100, 1600, 10**6)] == [1, 2, 5, 20, 20]


@pytest.mark.parametrize("missing", [0.0, 0.25])
@pytest.mark.parametrize("K", [1, 4, 1000])
def test_transitions_against_plain_loops(seed, missing, K):
    ens = distinct(seed, missing)
    expected = plain_transitions(ens.coassociation(), ens.sample_weight, min(K, ens.n_samples - 1))
    assert np.allclose(transitions(ties(ens, K), ens.sample_weight).toarray(), expected)


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_edges_to_base_clusters_are_means_of_dense_cosines(seed, missing):
    ens = distinct(seed, missing)
    P = transitions(ties(ens, 4), ens.sample_weight)
    Y = ens.indicator().toarray() * ens.sample_weight[:, None]
    V = Y / Y.sum(axis=0)
    norms = walk_norms(P, 4)
    found = trajectory_product(P, norms, trajectory_sums(P, 4, norms, V))
    assert np.allclose(found, plain_cosines(P.toarray(), 4) @ V, atol=1e-13)


@pytest.mark.parametrize("name", ["lung203", "allaml", "glioma"])
def test_partition_of_the_whole_dense_graph(shared_dir, name):
    """Walks among all 203 objects of Lung differ from those among its 103 distinct ones.

    Equal objects are then each other's nearest.
    """
    with np.load(shared_dir / "data" / f"pool_{name}.npz") as data:
        labels, c = data["labels"][:, :20], np.unique(data["y"]).size
    found = cs.consensus.PTGP(c, random_state=0).fit_predict(labels)
    assert cs.metrics.ari(plain_graph_partition(labels, c), found) == 1.0


@pytest.mark.parametrize("linkage", ["average", "complete", "single"])
def test_tree_of_dense_cosines(seed, linkage):
    from scipy.cluster.hierarchy import linkage as tree
    from scipy.spatial.distance import squareform

    labels, _ = planted(seed, n=60, m=6, noise=0.3)
    ens = cs.Ensemble(labels).distinct()
    P = plain_transitions(ens.coassociation(), ens.sample_weight, rule(ens.n_samples))
    distance = np.maximum(1 - plain_cosines(P, rule(ens.n_samples)), 0)
    np.fill_diagonal(distance, 0)
    expected = tree(squareform((distance + distance.T) / 2), linkage)[:, 2]
    found = cs.consensus.PTA(3, linkage=linkage, count_duplicates=False).fit(labels).heights_
    assert np.allclose(found, expected, atol=1e-10)


def test_few_objects_are_worth_a_word():
    base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1]])
    for cls in (cs.consensus.PTA, cs.consensus.PTGP):
        with pytest.warns(ConsilienceWarning, match="nearest of 3 distinct objects, too few"):
            cls(2).fit(base)


def test_objects_without_company():
    """Nobody was ever with the last three."""
    labels = np.array([[0, 0], [0, 1], [1, 1], [2, 2], [3, 3], [4, 4]])
    for c in range(1, 7):
        for model in (
            cs.consensus.PTA(c, n_neighbors=2),
            cs.consensus.PTGP(c, n_neighbors=2, random_state=0),
        ):
            assert np.unique(model.fit_predict(labels)).size == c


def test_weights_make_no_difference_beyond_noise(shared_dir):
    for cls in (cs.consensus.PTGP, cs.consensus.PTA):
        seeded = {"random_state": 0} if cls is cs.consensus.PTGP else {}
        ours, _ = row(shared_dir, lambda c, cls=cls, more=seeded: cls(c, **more))
        printed, _ = row(shared_dir, lambda c, cls=cls, more=seeded: cls(c, count_duplicates=False, **more))
        assert np.allclose(ours[:2], printed[:2], atol=0.03)


def dense_entering(ens, rows, weights, c):
    """Rows of the cut by dense matrices: trajectories of all objects.

    Those of other objects enter the sample with their first step.
    """
    A, s = ens.coassociation(), rows.size
    K = rule(s)
    P = plain_transitions(A[np.ix_(rows, rows)], weights, K, stay=True)
    first = np.zeros((ens.n_samples, s))
    first[rows] = P
    for q in np.setdiff1d(np.arange(ens.n_samples), rows):
        nearest = A[q, rows] * weights * (A[q, rows] >= np.sort(A[q, rows])[-K])
        first[q] = nearest / nearest.sum()
    walks = np.hstack([first @ np.linalg.matrix_power(P, t) for t in range(K)])
    walks /= np.linalg.norm(walks, axis=1, keepdims=True)
    Y = ens.take(rows).indicator().toarray() * weights[:, None]
    B = walks @ walks[rows].T @ (Y / Y.sum(axis=0))
    inside, d = B[rows], B.sum(axis=1)
    root = 1 / np.sqrt(inside.T @ weights)
    W = root[:, None] * (inside.T @ ((weights / d[rows])[:, None] * inside)) * root
    V = root[:, None] * np.linalg.eigh(W)[1][:, ::-1][:, :c]
    return B @ V / d[:, None]


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_walks_from_outside_a_sample(seed, missing):
    labels, _ = planted(seed, n=150, m=8, noise=0.3, missing=missing)
    compressed = cs.Ensemble(labels).distinct()
    ens, order, *_ = compressed.canonical()  # what a method is given
    model = cs.consensus.PTGP(3, max_samples=40, random_state=0).fit(labels)
    rows, weights = linked_objects(ens.sample_weight, 40, 3)
    assert rows.size < ens.n_samples
    expected = dense_entering(ens, rows, weights, 3)
    found = model.embedding_[compressed.rows][order]
    assert np.allclose(np.abs(found), np.abs(expected), rtol=1e-9, atol=1e-10)  # vectors have no sign


def test_a_sample_of_walks_finds_what_all_objects_do(seed):
    labels, truth = planted(seed, n=900, m=12, noise=0.2)
    every, some = (
        cs.consensus.PTGP(3, max_samples=sample, random_state=0).fit_predict(labels) for sample in (None, 200)
    )
    assert cs.metrics.ari(truth, every) > 0.9
    assert cs.metrics.ari(every, some) > 0.95
    order = np.random.default_rng(seed).permutation(900)
    assert np.array_equal(
        cs.consensus.PTGP(3, max_samples=200, random_state=0, n_jobs=1).fit_predict(labels[order]),
        some[order],
    )
    assert np.array_equal(cs.consensus.PTGP(3, max_samples=900, random_state=0).fit_predict(labels), every)
