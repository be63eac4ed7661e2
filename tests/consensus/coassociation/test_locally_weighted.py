"""LWEA and LWSC: by hand, against the formulas on all objects, and against the authors' programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

import consilience as cs
from consilience._evidence.table import drawn_by_weight, place_others
from consilience._kernels.pairs.association import normalized_matrix_inplace, normalized_operator
from consilience.consensus._coassociation.locally_weighted import reliability
from consilience.metrics import scores

from ...zoo import planted, same_partition

GOLDEN = [
    "allaml_auth_1-20",
    "coil20_km",
    "gen_MF_M30_run1",
    "gen_Yeoh02v1_M30_run2",
    "glioma_auth_1-20",
    "iris_km",
    "lung_auth_21-40",
    "pool_Caltech20_s300_1-20",
    "pool_IS_s300_21-40",
    "pool_Semeion_full_1-20",
    "pool_VS_full_1-20",
    "tox171_km",
    "yale_auth_1-20",
]


def weighted(seed, missing=0.0):
    """A compressed ensemble with unequal weights, as methods see it."""
    labels, _ = planted(seed, n=60, m=6, missing=missing)
    weights = np.random.default_rng(seed).integers(1, 4, 60)
    return cs.Ensemble(labels, sample_weight=weights).distinct()


def test_reliability_by_hand():
    """The clusterings agree on {2, 3}; {0, 1} is halved by one of two, that is 0.5 bits on average."""
    model = cs.consensus.LWEA(n_clusters=2, instability_tolerance=0.5).fit([[0, 0], [0, 2], [1, 1], [1, 1]])
    assert np.allclose(model.cluster_reliability_, [np.exp(-1), 1, 1, 1, 1])


def test_reliability_comes_in_the_order_of_the_users_clusters(seed):
    labels, _ = planted(seed)
    ens = cs.Ensemble(labels)
    expected = reliability(ens, 0.4)
    for model in (
        cs.consensus.LWEA(3),
        cs.consensus.LWSC(3, instability_tolerance=0.4, random_state=0),
        cs.consensus.LWGP(3, random_state=0),
    ):
        assert np.allclose(model.fit(ens).cluster_reliability_, expected)


def test_linkage_of_groups_is_linkage_of_all_objects(seed):
    labels, _ = planted(seed, n=80, m=10)
    ens = cs.Ensemble(labels)
    A = ens.coassociation(cluster_weights=reliability(ens, 0.4))
    tree = linkage(squareform(1 - A, checks=False), "average")
    for c in (2, 3, 5):
        assert same_partition(cs.consensus.LWEA(c).fit_predict(ens), fcluster(tree, c, "maxclust"))


def explicit_operator(ens, eci):
    return normalized_matrix_inplace(ens.coassociation(cluster_weights=eci), ens.sample_weight)


def test_implicit_and_explicit_operator_agree(seed):
    ens = weighted(seed)
    eci = reliability(ens, 1.0)
    X = np.random.default_rng(seed).normal(size=(ens.n_samples, 3))
    implicit = normalized_operator(ens.labels, ens.offsets, ens.sample_weight, eci)
    assert np.allclose(implicit(X), explicit_operator(ens, eci) @ X)


@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_operator_of_weighted_objects_is_that_of_repeated_ones(seed, missing):
    """N^1/2 D^-1/2 A D^-1/2 N^1/2 has the leading eigenvalues of the normalized matrix of all objects."""
    ens = weighted(seed, missing)
    eci = reliability(ens, 1.0)
    rows = np.repeat(np.arange(ens.n_samples), ens.sample_weight.astype(int))
    A = ens.coassociation(cluster_weights=eci)[np.ix_(rows, rows)]
    np.fill_diagonal(A, 1.0)
    root = np.sqrt(A.sum(axis=1))
    full = np.linalg.eigvalsh(A / np.outer(root, root))[::-1]
    ours = np.linalg.eigvalsh(explicit_operator(ens, eci))[::-1]
    assert np.allclose(ours[:4], full[:4])


def test_without_weights_it_is_evidence_accumulation(seed):
    """theta without end trusts every cluster alike."""
    labels, _ = planted(seed, noise=0.3)
    plain = cs.consensus.EvidenceAccumulation(3).fit_predict(labels)
    assert np.array_equal(cs.consensus.LWEA(3, instability_tolerance=1e9).fit_predict(labels), plain)


def test_trusting_reliable_clusters_helps(seed):
    """Ten coin flips for every clustering that knows something: weighting by agreement hears the few."""
    labels, truth = planted(seed, n=150, m=4, noise=0.15)
    labels = np.hstack([labels, np.random.default_rng(seed).integers(0, 3, (150, 40))])
    plain = scores(truth, cs.consensus.EvidenceAccumulation(3).fit_predict(labels))["ari"]
    weighted = scores(truth, cs.consensus.LWEA(3, instability_tolerance=0.2).fit_predict(labels))["ari"]
    assert weighted > plain + 0.1
    assert weighted > 0.7


def test_refuses_what_makes_no_sense():
    with pytest.raises(ValueError, match="instability_tolerance=0 is not valid: expected a number above 0"):
        cs.consensus.LWEA(2, instability_tolerance=0).fit([[0, 0], [0, 1], [1, 1]])


# Against the authors' programs -----------------------------------------------------------------------------


def golden(shared_dir, case):
    return np.load(shared_dir / "golden" / f"{case}.npz")


@pytest.mark.parametrize("case", GOLDEN)
def test_golden_hierarchies_are_identical(shared_dir, case):
    held = golden(shared_dir, case)
    c = int(held["n_clusters"]) if "n_clusters" in held else np.unique(held["truth"]).size
    for name, theta in (("MDEC_HC", 1.0), ("LWEA", 0.4)):
        if f"{name}__labels" not in held:
            continue
        model = cs.consensus.LWEA(c, instability_tolerance=theta).fit(held["labels_base"])
        assert same_partition(model.labels_, held[f"{name}__labels"][:, 0])
        eci = held[f"{name}__ECI"] if f"{name}__ECI" in held else held["ECI"]
        assert np.allclose(model.cluster_reliability_, eci, rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", GOLDEN)
def test_golden_spectral_consensus_up_to_k_means(shared_dir, case):
    held = golden(shared_dir, case)
    c = int(held["n_clusters"]) if "n_clusters" in held else np.unique(held["truth"]).size
    found = cs.consensus.LWSC(c, random_state=0).fit_predict(held["labels_base"])
    theirs = held["MDEC_SC__labels"].T
    ours = [scores(labels, found)["ari"] for labels in theirs]
    # As close to their runs as these are to each other, and the same partition where k-means leaves no
    # choice.
    among = [scores(labels, theirs[0])["ari"] for labels in theirs[1:]] or [1.0]
    assert max(ours) >= min(0.99, np.median(among) - 0.05)


def test_printed_figures_on_allaml(shared_dir):
    """Ten ensembles of the published table: ACC .6736, NMI (max) .0935, to the digit."""
    held = np.load(shared_dir / "data" / "pool_allaml.npz")
    found = [
        scores(
            held["y"],
            cs.consensus.LWEA(2, instability_tolerance=0.4).fit_predict(held["labels"][:, i : i + 20]),
        )
        for i in range(0, 200, 20)
    ]
    assert f"{np.mean([s['accuracy'] for s in found]):.4f}" == "0.6736"
    assert f"{np.mean([s['nmi_max'] for s in found]):.4f}" == "0.0935"
    assert f"{np.std([s['accuracy'] for s in found], ddof=1):.4f}" == "0.0210"


def test_a_sample_is_linked_and_the_others_are_placed(seed):
    """The formula: linkage of the sample's weighted co-association, then the largest mean for the others."""
    labels, _ = planted(seed, n=300, m=8, missing=0.0)
    ens = cs.Ensemble(labels).distinct()
    rows, weights = drawn_by_weight(ens.sample_weight, 60)
    eci = reliability(ens, 0.4)
    A = ens.coassociation(cluster_weights=eci)
    tickets = np.repeat(rows, weights.astype(int))
    tree = linkage(squareform(1 - A[np.ix_(tickets, tickets)], checks=False), "average")
    each = fcluster(tree, 3, "maxclust") - 1
    groups = each[np.searchsorted(tickets, rows)]
    means = np.column_stack([A[:, tickets[each == j]].mean(axis=1) for j in range(3)])
    expected = means.argmax(axis=1)
    expected[rows] = groups
    found = place_others(ens, rows, weights, groups, eci)
    assert np.array_equal(found, expected)


def test_a_sample_finds_what_all_objects_do(seed):
    labels, _ = planted(seed, n=2000, m=15)
    ens = cs.Ensemble(labels)
    some = cs.consensus.LWEA(3, max_samples=200).fit(ens)
    assert some.heights_.size < 200
    assert scores(cs.consensus.LWEA(3).fit_predict(ens), some.labels_)["ari"] > 0.95
    assert np.array_equal(some.labels_, cs.consensus.LWEA(3, max_samples=200, n_jobs=1).fit_predict(ens))
    order = np.random.default_rng(seed).permutation(2000)
    assert np.array_equal(
        cs.consensus.LWEA(3, max_samples=200).fit_predict(labels[order]), some.labels_[order]
    )


def test_a_sample_with_missing_labels_and_few_heavy_objects(seed):
    labels, _ = planted(seed, n=400, m=10, missing=0.2)
    weights = np.ones(400)
    weights[:2] = 1e6
    found = cs.consensus.LWEA(5, max_samples=20).fit(labels, sample_weight=weights).labels_
    assert np.unique(found).size == 5
    assert np.array_equal(
        cs.consensus.LWEA(3, max_samples=10_000).fit_predict(labels), cs.consensus.LWEA(3).fit_predict(labels)
    )


def test_drawn_by_weight_takes_the_heavy_ones_for_sure():
    weights = np.r_[50.0, np.ones(950)]
    rows, drawn = drawn_by_weight(weights, 100)
    assert rows[0] == 0
    assert drawn[0] in (4, 5, 6)
    assert drawn.sum() == 100
    assert drawn_by_weight(weights, 1000)[0] is None
