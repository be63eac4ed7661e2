"""Odd labels, names, parameters and numbers: an answer or our own error, never a foreign one or a warning."""

from __future__ import annotations

import decimal
import fractions
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import consilience as cs
from consilience import generate, metrics
from consilience._kernels.kmeans import nearest_centers
from consilience.errors import InputError

L = [[0, 0], [0, 0], [1, 1], [1, 2], [2, 2]]
X = np.random.default_rng(0).standard_normal((40, 3))


@pytest.fixture(autouse=True)
def no_numpy_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def test_unsigned_labels_beyond_all_signed_ones():
    labels = np.array([2**63 + 1, 2**63 + 5, 2**63 + 1], np.uint64)
    for ensemble in (cs.Ensemble.from_clusterings([labels]), cs.Ensemble(labels[:, None])):
        assert ensemble.labels.ravel().tolist() == [0, 1, 0]
        assert ensemble.categories[0].tolist() == [2**63 + 1, 2**63 + 5]
    assert metrics.ari([3, 4, 3], labels) == 1.0
    assert metrics.align([0, 1, 2], labels).tolist() == [2**63 + 1, 2**63 + 5, 0]


def test_bytes_that_are_not_ascii():
    labels = np.array([b"\xff", b"\xe9", b"a", b"\xff"])
    assert cs.Ensemble.from_clusterings([labels]).labels.ravel().tolist() == [2, 1, 0, 2]
    assert metrics.ari([2, 1, 0, 2], labels) == 1.0
    assert cs.Ensemble.from_clusterings([np.array(["é".encode(), b"a"])]).categories[0].tolist() == ["a", "é"]


def test_half_precision():
    assert cs.Ensemble(np.array(L, np.float16)) == cs.Ensemble(L)


@pytest.mark.parametrize("kind", [">i2", ">i4", ">i8", ">u4", ">u8", ">f8", ">f4"])
def test_byte_order_of_another_machine(kind):
    plain = cs.consensus.EvidenceAccumulation(2).fit(np.array(L)).labels_
    np.testing.assert_array_equal(
        cs.consensus.EvidenceAccumulation(2).fit(np.array(L).astype(kind)).labels_, plain
    )
    assert cs.Ensemble.from_clusterings([np.array(own, kind) for own in zip(*L)]) == cs.Ensemble(L)
    assert metrics.ari(*np.array(L, kind).T) == metrics.ari(*np.array(L).T)
    assert metrics.align(*np.array(L, kind).T).tolist() == [0, 0, 1, 1, 2]


def test_signaling_nan_is_missing():
    labels = [decimal.Decimal("sNaN"), decimal.Decimal(1), decimal.Decimal("NaN"), decimal.Decimal(2)]
    assert cs.Ensemble.from_clusterings([labels]).labels.ravel().tolist() == [-1, 0, -1, 1]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([np.zeros((4, 0)), np.eye(4)], r"Block 0 of the list has shape \(4, 0\), no columns"),
        (
            [np.array([np.zeros(2), np.ones(2), None], object)],
            "Clustering 0 has a label of type ndarray at object 0",
        ),
        ([[[0, 1], [1]], [[0, 1], [1]]], "Item 0 of the list holds lists of different lengths"),
        ([[0, 1, 2], [0, 1, [2, 3]]], "Clustering 1 holds lists among its labels"),
    ],
)
def test_what_cannot_be_labels(labels, message):
    with pytest.raises(InputError, match=message):
        cs.Ensemble.from_clusterings(labels)


def test_what_cannot_be_names():
    with pytest.raises(InputError, match=r"sample name \[1\] is a list, which cannot be a name"):
        cs.Ensemble(L, sample_names=[[1], [2], [3], [4], [5]])
    with pytest.raises(InputError, match="clustering_names=5 is not a list of names"):
        cs.Ensemble(L, clustering_names=5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: cs.consensus.LWGP(2, instability_tolerance=fractions.Fraction(2, 5)),
            r"instability_tolerance=Fraction\(2, 5\) is not.*Pass float\(instability_tolerance\)",
        ),
        (
            lambda: cs.consensus.LWGP(2, instability_tolerance=np.float16(0.4)),
            r"instability_tolerance=np.float16\(0.4\) is not.*Pass float\(instability_tolerance\)|"
            r"instability_tolerance=0.4",
        ),
        (
            lambda: cs.consensus.LWGP(2, instability_tolerance=10**400),
            r"instability_tolerance=1000.*\(401 "
            r"characters\) is not valid",
        ),
        (
            lambda: cs.RSEC(2, penalty=1e-40),
            "penalty=1e-40 is not valid: expected a number of at least 1e-20",
        ),
        (lambda: cs.NRSEC(2, penalty=1e300), r"penalty=1e\+300 is not valid"),
    ],
)
def test_parameters_that_numbers_cannot_carry(make, message):
    with pytest.raises(InputError, match=message):
        make().fit(L)


def test_smallest_theta_and_jobs():
    assert cs.consensus.LWEA(2, instability_tolerance=5e-324).fit(L).labels_.size == 5
    for jobs in ("a", 1.5):
        with pytest.raises(InputError, match="n_jobs=.* is not valid"):
            cs.Ensemble(L).coassociation(n_jobs=jobs)


def test_weights_that_are_no_floats():
    with pytest.raises(InputError, match="sample_weight must be numbers"):
        cs.Ensemble(L, sample_weight=[10**400, 1, 1, 1, 1])


@pytest.mark.parametrize("reference", [[2**63 - 1, 2**63 - 1, 0, 0], [1e300, 1e300, 0.5, 0.5]])
def test_align_to_the_largest_numbers(reference):
    found = metrics.align([0, 0, 1, 2], reference)
    assert found[:3].tolist() == reference[:3]
    assert len(set(found.tolist())) == 3


@pytest.mark.parametrize("scale", [1e-310, 1e-100, 1e100, 1e140])
@pytest.mark.parametrize(
    "use",
    [
        lambda X: generate.random_k(X, n_clusterings=2, random_state=0),
        lambda X: generate.metric_subspace(X, n_clusterings=2, random_state=0),
        lambda X: cs.MDEC(3, random_state=0).fit(X),
        lambda X: cs.multitask.ASI(2, subspace="nonnegative").fit(np.abs(X)),
        lambda X: cs.SPMTC(2, subspace="nonnegative").fit(np.abs(X)),
    ],
)
def test_features_beyond_the_range_of_squares_are_refused(use, scale):
    with pytest.raises(InputError, match=r"X holds .*, column .*Scale X first"):
        use(X * scale)


@pytest.mark.parametrize("scale", [1e-59, 1e-20, 1e20, 1e89])
def test_features_of_any_other_scale(scale):
    plain = generate.random_k(X, n_clusterings=3, random_state=0, sample_weight=np.full(40, 1e12))
    found = generate.random_k(X * scale, n_clusterings=3, random_state=0, sample_weight=np.full(40, 1e12))
    assert np.isfinite([recipe["inertia"] for recipe in found.recipes]).all()
    assert found.n_clusters_per_clustering.tolist() == plain.n_clusters_per_clustering.tolist()
    parts = (
        cs.multitask.ASI(2, subspace="nonnegative", random_state=0, max_iter=20).fit(np.abs(X) * scale).parts_
    )
    assert np.isfinite(parts).all()


def test_whole_number_beyond_all_floats_in_features():
    with pytest.raises(
        InputError, match="in row 0, column 0 that is beyond the range of floating-point numbers"
    ):
        generate.random_k([[10**400, 1], [2, 3]], n_clusterings=2)


def test_masked_cells_among_features_are_missing():
    X = [[1.0, np.ma.masked], [2.0, 3.0], [4.0, 5.0]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=r"1 missing value \(NaN\)"):
            cs.generate.kmeans(X, n_clusterings=2, n_clusters=2)


@pytest.mark.parametrize("init", [b"\xff", [["a"], ["b"]], {}])
def test_starts_that_are_not_numbers(init):
    with pytest.raises(InputError, match="init"):
        cs.SPMTC(2, init=init).fit(np.eye(4))


def own_inertia(X, labels, weights) -> float:
    """Eq. (1) of k-means about the means of the clusters, in two passes."""
    total = 0.0
    for j in np.unique(labels):
        rows, w = X[labels == j], weights[labels == j]
        center = np.average(rows, axis=0, weights=w)
        center += np.average(rows - center, axis=0, weights=w)
        total += float(w @ ((rows - center) ** 2).sum(axis=1))
    return total


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("outlier", [1e12, 1e30, 1e80])
@pytest.mark.parametrize("shape", [(60, 2), (9000, 3), (2700, 100)])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_far_value_takes_no_digits_from_the_others(kind, shape, outlier, copies):
    rng = np.random.default_rng(0)
    table = rng.standard_normal(shape)
    table[:copies] = 0
    table[:copies, 0] = outlier
    weights = rng.uniform(0.5, 3, shape[0])
    found = generate.kmeans(
        kind(table), n_clusterings=2, n_clusters=4, tol=0, sample_weight=weights, random_state=0
    )
    assert found.n_clusters_per_clustering.tolist() == [4, 4]
    for labels, recipe in zip(found.labels.T, found.recipes):
        assert recipe["inertia"] == pytest.approx(own_inertia(table, labels, weights), rel=1e-6)
        near = table[copies:]
        centers = np.stack([near[labels[copies:] == j].mean(axis=0) for j in np.unique(labels[copies:])])
        assert len(centers) == 3
        # Weighted means move a little; where rows are clearly nearest to one center they are there.
        distances = ((near[:, None] - centers) ** 2).sum(axis=2)
        _, own = np.unique(labels[copies:], return_inverse=True)
        clear = np.ptp(np.sort(distances, axis=1)[:, :2], axis=1) > 1.0
        assert (distances.argmin(axis=1) == own)[clear].all()


@pytest.mark.parametrize("outlier", [1e18, 1e30, 1e60, 1e89])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shape", [(40, 3), (400, 60)])
def test_unseen_objects_go_to_the_nearest_center_beside_far_ones(kind, outlier, shape):
    rng = np.random.default_rng(1)
    table = rng.standard_normal(shape)
    table[7] = outlier
    settings = {"n_clusters": 4, "sample_fraction": 0.6, "tol": 0, "random_state": 3}
    seen = generate.bagging(kind(table), n_clusterings=8, **settings).labels
    found = generate.bagging(kind(table), n_clusterings=8, unseen="nearest", **settings).labels
    for i in range(8):
        known = seen[:, i] >= 0
        np.testing.assert_array_equal(found[known, i], seen[known, i])
        centers = np.stack([table[seen[:, i] == j].mean(axis=0) for j in range(4)])
        # The far object is as far from all ordinary centers in double precision: any will do, if it was not
        # seen.
        rest = np.flatnonzero(~known & (np.arange(shape[0]) != 7))
        nearest = ((table[rest, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        np.testing.assert_array_equal(found[rest, i], nearest)


def test_nearest_centers_of_which_some_or_all_are_far():
    near = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    centers = [
        np.array([[1e30, 0], [0.9, 0.1], [0.1, 0.2]]),
        np.array([[1e30, 0], [-1e25, 0], [1e85, 1e85]]),
        np.array([[0.9e18, 0.0], [1e30, 0.0], [1.2e18, 0.0]]),
        np.array([[-3e19, 0.0]]),
    ]
    expected = [[2, 1, 2], [1, 1, 1], [0, 0, 0], [0, 0, 0]]
    for rows in (near, sp.csr_array(near)):
        np.testing.assert_array_equal(nearest_centers(rows, centers).T, expected)


def test_degrees_of_a_kernel_that_are_no_numbers_when_inverted():
    """A degree of 1e-310 is one; its inverse is infinite, and was the shift of the eigenvalues."""
    from consilience.generate._spectral import leading_vectors

    S = np.array([[0.0, 1.0, 1e-9, 0], [1.0, 0, 0, 1e-9], [1e-9, 0, 0, 1], [0, 1e-9, 1, 0]])
    for degree in (np.array([1e-310, 1e-310, 1.0, 1.0]), np.array([5e-324, 1.0, 1.0, 1.0])):
        vectors = leading_vectors(S, degree, np.zeros(4, np.int64), 2)
        assert np.isfinite(vectors).all()
        np.testing.assert_allclose((vectors**2).sum(axis=0), 1.0)


def test_masked_and_boundless_numbers_among_labels():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cs.Ensemble.from_clusterings([[1.0, np.ma.masked, 2.0]]).labels[:, 0].tolist() == [0, -1, 1]
        assert sorted(
            cs.Ensemble.from_clusterings([[10**400, 0.5, np.float32(2), None]]).labels[:, 0].tolist()
        ) == [
            -1,
            0,
            1,
            2,
        ]


@pytest.mark.filterwarnings("error")
def test_a_vector_that_begins_with_a_masked_label_is_a_vector():
    found = cs.Ensemble.from_clusterings([[np.ma.masked, 1, 2, 1], [0, 0, 1, 1]])
    assert found.labels.T.tolist() == [[-1, 0, 1, 0], [0, 0, 1, 1]]


@pytest.mark.parametrize("shape", [(0, 2**63 - 1), (2**63 - 1, 0)])
def test_nothing_of_a_shape_that_no_array_of_floats_has(shape, tmp_path):
    with pytest.raises(cs.errors.ConsilienceError, match="no objects|0 feature"):
        cs.ConsensusClustering(2).fit(np.empty(shape, bool))
    np.savez(tmp_path / "empty.npz", X=np.empty(shape, bool))
    with pytest.raises(cs.errors.ConsilienceError, match="no rows|no columns"):
        cs.io.read_features(tmp_path / "empty.npz")
