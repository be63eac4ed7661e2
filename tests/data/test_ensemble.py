"""The data model: every rule of the door, every derived view against its definition."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN, KMeans

import consilience as cs
from consilience._data.pairs import pattern_size
from consilience.errors import InputError, NotEnoughMemoryError, OrientationWarning

from ..examples import examples
from ..zoo import planted

HAND = np.array([[0, 0, 1], [0, 1, 1], [1, 1, -1], [1, -1, 0]])


def definition(labels, a=None, b=None):
    """Co-association and co-observation by the formula, pair by pair."""
    ens = cs.Ensemble.from_clusterings(labels)
    n, m = ens.shape
    a = np.ones(m) if a is None else a
    codes = ens.global_labels()
    b = np.ones(ens.n_base_clusters) if b is None else b
    A, seen = np.zeros((n, n)), np.zeros((n, n))
    for p in range(n):
        for q in range(n):
            for i in range(m):
                if codes[p, i] >= 0 and codes[q, i] >= 0:
                    seen[p, q] += a[i]
                    A[p, q] += a[i] * b[codes[p, i]] * (codes[p, i] == codes[q, i])
    return np.divide(A, seen, out=np.zeros_like(A), where=seen > 0), seen


# The door --------------------------------------------------------------------------------------------------


def test_contiguous_labels_keep_their_numbers():
    assert np.array_equal(cs.Ensemble(HAND).labels, HAND)
    assert cs.Ensemble(HAND).labels.dtype == np.int16


@pytest.mark.parametrize(
    "form",
    [
        HAND.tolist(),
        [(f"c{j}", HAND[:, j].tolist()) for j in range(3)],
        HAND.astype(float),
        np.where(HAND < 0, np.nan, HAND),
        np.ma.masked_less(HAND, 0),
        np.where(HAND < 0, None, HAND),
        np.where(HAND < 0, "", HAND.astype(str)),
        np.array([["a", "b"][v] if v >= 0 else "nan" for v in HAND.ravel()]).reshape(HAND.shape),
        np.where(HAND < 0, -1, HAND * 10**12),
        np.where(HAND < 0, np.nan, HAND + 0.5),
        (HAND + 1).astype(np.int64) - 1,
        pd.DataFrame(np.where(HAND < 0, np.nan, HAND)),
        pd.DataFrame(HAND).astype("Int64").mask(HAND < 0),
        pd.DataFrame(np.where(HAND < 0, None, HAND.astype(str))).astype("category"),
        pl.DataFrame({f"c{j}": [None if v < 0 else int(v) for v in HAND[:, j]] for j in range(3)}),
        {f"c{j}": HAND[:, j] for j in range(3)},
        [sp.csr_matrix(np.eye(3)[HAND[:, j]][:, :2]) for j in range(3)],
        [np.eye(3)[HAND[:, j]][:, :2] for j in range(3)],
    ],
    ids=lambda form: type(form).__name__,
)
def test_every_container_gives_the_same_codes(form):
    assert np.array_equal(cs.Ensemble(form).labels, HAND)


def test_categories_and_original_labels_are_kept():
    ens = cs.Ensemble.from_clusterings([["b", "a", None, "b"], [7, 7, 3, np.nan]])
    assert [c.tolist() for c in ens.categories] == [["a", "b"], [3, 7]]
    assert ens.original_labels(0).tolist() == ["b", "a", None, "b"]
    assert ens.original_labels(1).tolist() == [7, 7, 3, None]


def test_fitted_clusterers():
    X = np.random.default_rng(0).normal(size=(40, 2)) + 6 * (np.arange(40) % 2)[:, None]
    fitted = [KMeans(2, n_init=1).fit(X), KMeans(3, n_init=1).fit(X), DBSCAN(eps=1e-9).fit(X)]
    with pytest.raises(InputError, match="'DBSCAN' .* no labels at all"):
        cs.Ensemble(fitted)
    assert cs.Ensemble(fitted[:2]).clustering_names == ["KMeans 1", "KMeans 2"]
    with pytest.raises(InputError, match="KMeans has no labels_ yet: fit every clusterer first"):
        cs.Ensemble.from_clusterings([KMeans(2)])


def test_names_are_kept():
    frame = pd.DataFrame({"a": [0, 1], "b": [1, 1]}, index=["x", "y"])
    ens = cs.Ensemble(frame)
    assert ens.clustering_names == ["a", "b"]
    assert ens.sample_names == ["x", "y"]
    assert cs.Ensemble(HAND).sample_names is None
    assert ens.select(["b"]).clustering_names == ["b"]


def test_wide_and_negative_labels():
    column = np.array([-7, 10**15, -1, -7, 2**62])
    ens = cs.Ensemble.from_clusterings([column, column])
    assert ens.labels[:, 0].tolist() == [0, 1, -1, 0, 2]
    huge = np.array([2**64 - 1, 5, 5], np.uint64)
    assert cs.Ensemble.from_clusterings([huge]).labels[:, 0].tolist() == [1, 0, 0]
    assert cs.Ensemble(huge.reshape(-1, 1)).labels[:, 0].tolist() == [1, 0, 0]


def test_many_clusters_take_a_wider_type():
    ens = cs.Ensemble(np.arange(80_000).reshape(-1, 1) // 2)
    assert ens.labels.dtype == np.int32
    assert ens.labels[-1, 0] == 39_999


def test_immutable():
    source = HAND.copy()
    ens = cs.Ensemble(source)
    source[0, 0] = 1
    assert np.array_equal(ens.labels, HAND)
    with pytest.raises(ValueError, match="read-only"):
        ens.labels[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        ens.sample_weight[0] = 2


def test_pickle_and_equality():
    ens = cs.Ensemble(HAND, clustering_names=["a", "b", "c"])
    ens.distinct()
    assert pickle.loads(pickle.dumps(ens)) == ens
    assert ens != cs.Ensemble(HAND)


def test_views_for_people():
    ens = cs.Ensemble({"<b>": [0, 0, 1], "y": [0, 1, None]})
    assert (
        repr(ens) == "Ensemble: 3 objects, 2 clusterings (2 to 2 clusters, 4 in all), 16.7% of labels missing"
    )
    html = ens._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([], "empty list"),
        ({}, "empty mapping"),
        ([0, 1, 2], r"flat list of 3 values.*pass Ensemble.from_clusterings\(\[labels\]\)"),
        (np.array([0, 1, 2]), r"shape \(3,\), one dimension.*from_clusterings\(\[labels\]\)"),
        (np.zeros((2, 2, 2), int), r"shape \(2, 2, 2\); expected two dimensions"),
        (np.zeros((5, 0), int), r"shape \(5, 0\): no clusterings"),
        (np.zeros((0, 3), int), r"shape \(0, 3\): no objects"),
        (pd.DataFrame(index=range(3)), "no columns"),
        ([[0, 1, 2], [0, 1]], "different lengths: object 0 has 3 labels, object 1 has 2"),
        ([[0, 1], 5], "Clustering 1 is 5, not a vector of labels"),
        ([np.array([[2, 0], [0, 1]])], "other values than 0 and 1"),
        ([np.array([[1, 1], [0, 1]])], "Row 0 of one-hot block 0 has 2 ones"),
        ([[0.5], [np.inf]], "label inf at object 1"),
        ([[0, 1], [1, [1]]], "Clustering 1 holds lists among its labels"),
        (sp.eye_array(3), "sparse matrix"),
        ({"a": [0, 1], "b": [None, None]}, "'b' .column 1. has no labels at all"),
        (5, "not a label matrix"),
        (np.array([[1 + 2j]]), "complex128, which cannot be categories"),
    ],
)
def test_refusals(labels, message):
    with pytest.raises((InputError, ValueError), match=message):
        cs.Ensemble(labels)


def test_an_ensemble_is_an_array_of_its_labels():
    ens = cs.Ensemble(HAND)
    assert np.asarray(ens) is ens.labels
    assert np.array(ens, dtype=float).tolist() == HAND.tolist()
    made = np.array(ens)
    made[0, 0] = 7  # a copy
    assert ens.labels[0, 0] != 7
    assert np.array_equal(ens.__array__(copy=True), HAND)
    assert ens.__array__(np.int16, copy=False) is ens.labels
    with pytest.raises(ValueError, match="only in a copy"):
        ens.__array__(np.float64, copy=False)
    assert len(ens) == len(list(ens)) == len(HAND)
    assert [row.tolist() for row in ens] == HAND.tolist()


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": ["x", None, "y"], "b": [2**60, 2**60 + 1, 3]}, index=["p", "q", "r"]),
        pl.DataFrame({"a": ["x", None, "y"], "b": [2**60, 2**60 + 1, 3]}),
        pa.table({"a": ["x", None, "y"], "b": [2**60, 2**60 + 1, 3]}),
    ],
    ids=["pandas", "polars", "pyarrow"],
)
def test_a_frame_of_the_library_that_the_labels_came_in(frame):
    ens = cs.Ensemble(frame)
    made = ens.to_frame()
    assert type(made) is type(frame)
    assert cs.Ensemble(made) == ens
    assert type(ens.take([0, 2]).select([1]).to_frame()) is type(frame)
    assert type(cs.Ensemble(ens, sample_weight=[1, 2, 3]).to_frame()) is type(frame)


def test_a_frame_of_other_labels_is_one_of_pandas():
    ens = cs.Ensemble(HAND, sample_names=range(len(HAND)))
    frame = ens.to_frame()
    assert list(frame.columns) == [f"clustering {j}" for j in range(HAND.shape[1])]
    assert cs.Ensemble(frame.to_numpy(object)) == cs.Ensemble(HAND)
    twins = cs.Ensemble(HAND, clustering_names=["a"] * HAND.shape[1])
    assert list(twins.to_frame().columns)[:2] == ["a 1", "a 2"]


def test_object_labels_must_be_hashable():
    column = np.empty(2, object)
    column[:] = [[1], [2]]
    with pytest.raises(InputError, match="label of type list at object 0; labels must be numbers or text"):
        cs.Ensemble({"a": column})


def test_duplicate_row_names():
    with pytest.raises(
        InputError, match="The sample name 'x' occurs more than once; rename the rows or drop"
    ):
        cs.Ensemble(HAND, sample_names=["x", "y", "x", "z"])


def test_suspicion_of_a_transposed_matrix_is_named():
    labels, _ = planted(n=500, m=8)
    with pytest.raises(
        InputError, match=r"shape \(8, 500\).*Pass labels.T if you have 8 clusterings of 500 objects"
    ):
        cs.Ensemble(labels.T)
    assert cs.Ensemble(labels.T, sample_names=range(8)).shape == (8, 500)
    few, _ = planted(n=60, m=20, c=2)
    with pytest.warns(OrientationWarning, match=r"Pass labels.T if you have 20 clusterings of 60 objects"):
        cs.Ensemble(few.T)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"shape \(2,\) for 4 objects"),
        ([1, 2, 0, 1], r"sample_weight\[2\]=0 is not a positive number"),
        ([1, 2, np.nan, 1], r"sample_weight\[2\]=nan"),
        (["a"] * 4, "must be numbers"),
    ],
)
def test_weights_are_checked(weights, message):
    with pytest.raises(InputError, match=message):
        cs.Ensemble(HAND, sample_weight=weights)


# Derived views ---------------------------------------------------------------------------------------------


def test_indicator_by_hand():
    Y = cs.Ensemble(HAND).indicator().toarray()
    assert Y.tolist() == [[1, 0, 1, 0, 0, 1], [1, 0, 0, 1, 0, 1], [0, 1, 0, 1, 0, 0], [0, 1, 0, 0, 1, 0]]


def test_sizes_and_contingency():
    weights = np.array([1.0, 2.0, 3.0, 4.0])
    ens = cs.Ensemble(HAND, sample_weight=weights)
    Y = ens.indicator().toarray()
    assert np.allclose(ens.cluster_sizes(), Y.T @ weights)
    assert np.allclose(ens.contingency(), Y.T @ np.diag(weights) @ Y)
    assert np.allclose(ens.contingency_sparse().toarray(), ens.contingency())


@examples(40)
@given(
    seed=st.integers(0, 1000),
    n=st.integers(1, 12),
    m=st.integers(1, 5),
    missing=st.sampled_from([0.0, 0.4]),
    weighted=st.booleans(),
)
def test_coassociation_in_all_forms(seed, n, m, missing, weighted):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, (n, m))
    labels[rng.random((n, m)) < missing] = -1
    labels[0] = 0
    ens = cs.Ensemble.from_clusterings(list(labels.T))
    a = rng.random(m) + 0.1 if weighted else None
    b = rng.random(ens.n_base_clusters) + 0.1 if weighted else None
    A, seen = definition(list(labels.T), a, b)
    assert np.allclose(ens.coassociation(clustering_weights=a, cluster_weights=b), A)
    sparse = ens.coassociation_sparse(clustering_weights=a, cluster_weights=b)
    assert np.allclose(sparse.toarray(), A)
    assert sparse.nnz == (A > 0).sum() == pattern_size(ens)
    assert sparse.has_sorted_indices
    blocks = list(ens.coassociation_blocks(clustering_weights=a, cluster_weights=b, rows=5))
    assert np.allclose(np.vstack([block for _, _, block in blocks]), A)
    assert np.allclose(ens.cooccurrence_counts(clustering_weights=a), seen)


def test_bipartite():
    ens = cs.Ensemble(HAND)
    graph = ens.bipartite().toarray()
    Y = ens.indicator().toarray()
    assert np.array_equal(graph, np.block([[np.zeros((4, 4)), Y], [Y.T, np.zeros((6, 6))]]))
    weighted = ens.bipartite(cluster_weights=np.arange(6.0)).toarray()
    assert np.array_equal(weighted[:4, 4:], Y * np.arange(6.0))


def test_agreement():
    perfect = cs.Ensemble.from_clusterings([[0, 0, 1, 1], [5, 5, 9, 9]])
    assert np.allclose(perfect.sample_agreement(), 1)
    # Object 0 is in {0, 1} and in {0, 2}: one of three in common.
    crossed = cs.Ensemble.from_clusterings([[0, 0, 1, 1], [0, 1, 0, 1]])
    assert np.allclose(crossed.sample_agreement(), 1 / 3)
    once = cs.Ensemble.from_clusterings([[0, 0, 1, 1], [0, None, 0, 1]])
    assert once.sample_agreement()[1] == 1


def test_similarity():
    labels, _ = planted(missing=0.2)
    ens = cs.Ensemble(labels)
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    both = (labels[:, 1] >= 0) & (labels[:, 4] >= 0)
    expected = normalized_mutual_info_score(labels[both, 1], labels[both, 4])
    assert ens.clustering_similarity()[1, 4] == pytest.approx(expected)
    assert ens.clustering_similarity("ari")[4, 1] == pytest.approx(
        adjusted_rand_score(labels[both, 1], labels[both, 4])
    )


def test_subsets():
    labels, _ = planted()
    ens = cs.Ensemble(labels, sample_names=[f"s{i}" for i in range(60)], sample_weight=np.arange(1, 61))
    part = ens.take([5, 0, 59])
    assert part.sample_names == ["s5", "s0", "s59"]
    assert part.sample_weight.tolist() == [6, 1, 60]
    for j in range(8):
        assert part.original_labels(j).tolist() == labels[[5, 0, 59], j].tolist()
    assert np.array_equal(
        ens.take(labels[:, 0] == labels[0, 0]).labels[:, 0], np.zeros((labels[:, 0] == labels[0, 0]).sum())
    )
    assert np.array_equal(ens.select([2, 1]).labels, ens.labels[:, [2, 1]])
    with pytest.raises(InputError, match="Positions run from 0 to 59; got 60"):
        ens.take([60])
    with pytest.raises(InputError, match="No clustering is called 'nope'"):
        ens.select(["nope"])


def test_concatenate():
    labels, _ = planted()
    a, b = cs.Ensemble(labels[:, :3], clustering_names="abc"), cs.Ensemble(labels[:, 3:])
    both = cs.Ensemble.concatenate([a, b])
    assert np.array_equal(both.labels, cs.Ensemble(labels).labels)
    assert both.clustering_names[:3] == ["a", "b", "c"]
    with pytest.raises(InputError, match="different numbers of objects: 60 and 4"):
        cs.Ensemble.concatenate([a, HAND])


def test_drop_unseen():
    labels = np.array([[0, 0], [-1, -1], [1, 0], [-1, -1]])
    ens = cs.Ensemble(labels)
    assert ens.unseen.tolist() == [1, 3]
    assert ens.drop_unseen().labels.tolist() == [[0, 0], [1, 0]]
    full = cs.Ensemble(HAND)
    assert full.drop_unseen() is full


def test_a_dense_matrix_that_will_not_fit_is_refused_before_allocating():
    labels = np.zeros((3_000_000, 1), np.int16)
    labels[0] = 1
    with pytest.raises(
        NotEnoughMemoryError, match=r"A dense 3000000 x 3000000 co-association needs 72.0 TB.*distinct\(\)"
    ):
        cs.Ensemble(labels).coassociation()
    with pytest.raises(NotEnoughMemoryError, match="coassociation_blocks"):
        cs.Ensemble(labels).coassociation_sparse()


# Compression -----------------------------------------------------------------------------------------------


@examples(60)
@given(seed=st.integers(0, 1000), n=st.integers(1, 200), m=st.integers(1, 9), k=st.integers(1, 4))
def test_compression_is_exact(seed, n, m, k):
    labels = np.random.default_rng(seed).integers(-1, k, (n, m))
    labels[:, :] = np.where((labels >= 0).any(axis=0), labels, 0)
    small = cs.Ensemble.from_clusterings(list(labels.T)).distinct()
    full = cs.Ensemble.from_clusterings(list(labels.T))
    assert np.array_equal(small.labels[small.inverse], full.labels)
    assert len(np.unique(small.labels, axis=0)) == small.n_samples == len(np.unique(labels, axis=0))
    assert np.array_equal(small.sample_weight, np.bincount(small.inverse))
    assert np.array_equal(full.labels[small.rows], small.labels)
    assert small.distinct() is small


def test_compression_sums_weights():
    small = cs.Ensemble.from_clusterings([[0, 0, 1]], sample_weight=[1.5, 2, 4]).distinct()
    assert small.sample_weight.tolist() == [3.5, 4]
    assert small.expand(np.array([10, 20])).tolist() == [10, 10, 20]


@examples(40)
@given(seed=st.integers(0, 1000), missing=st.sampled_from([0.0, 0.2]))
def test_canonical_form_ignores_every_order_and_name(seed, missing):
    labels, _ = planted(seed, n=40, m=6, missing=missing)
    rng = np.random.default_rng(seed)
    other = labels[rng.permutation(40)][:, rng.permutation(6)]
    other = np.where(other < 0, -1, (other * 7919 + 3) % 10007)
    one = cs.Ensemble(labels).distinct().canonical()[0]
    two = cs.Ensemble(other).distinct().canonical()[0]
    assert np.array_equal(one.labels, two.labels)
    assert np.array_equal(one.sample_weight, two.sample_weight)


def test_canonical_form_can_be_traced_back():
    labels, _ = planted(missing=0.1)
    small = cs.Ensemble(labels).distinct()
    canonical, rows, columns, clusters = small.canonical()
    assert np.array_equal(canonical.labels[canonical.inverse] >= 0, (labels >= 0)[:, columns])
    Y = small.indicator().toarray()
    assert np.array_equal(canonical.indicator().toarray(), Y[rows][:, clusters])


@pytest.mark.parametrize("recipes", [3, 0.5, "ab", [1, 2], [["a"], ["b"]], object()])
def test_recipes_that_are_none(recipes):
    with pytest.raises(InputError, match=r"recipes=.* is not valid: expected a list of 2 dictionaries"):
        cs.Ensemble.from_clusterings([[0, 1], [1, 0]], recipes=recipes)


def test_masked_and_enormous_weights_are_refused_in_our_words(recwarn):
    for weights in ([1, np.ma.masked], [1, 10**400]):
        with pytest.raises(InputError, match="sample_weight must be numbers, one per object"):
            cs.Ensemble.from_clusterings([[0, 1]], sample_weight=weights)
    assert not recwarn.list


def test_frames_with_twin_columns_are_refused_in_our_words():
    twins = pd.DataFrame([[0, 1], [1, 0]], columns=["a", "a"])
    with pytest.raises(InputError, match="The column name 'a' occurs more than once; rename the columns"):
        cs.Ensemble(twins)


@pytest.fixture
def compressions(monkeypatch):
    """Every call of the kernel that finds the distinct rows."""
    from consilience._data import ensemble

    calls = []
    plain = ensemble.unique_rows

    def counted(labels, **options):
        calls.append(labels.shape)
        return plain(labels, **options)

    monkeypatch.setattr(ensemble, "unique_rows", counted)
    return calls


def test_six_methods_on_one_ensemble_compress_it_once(compressions):
    ens = cs.Ensemble(planted()[0])
    methods = [
        cs.consensus.EvidenceAccumulation,
        cs.consensus.CoassociationKMeans,
        cs.SPCE,
        cs.consensus.LWEA,
        cs.consensus.LWGP,
        cs.consensus.LWSC,
    ]
    for method in methods:
        method(3).fit(ens)
    assert compressions == [(60, 8)]
    ens.clustering_similarity(), ens.sample_agreement()
    assert len(compressions) == 1


def test_other_names_and_weights_keep_what_is_known_of_the_labels(compressions):
    labels, _ = planted(missing=0.1)
    ens = cs.Ensemble(labels)
    small = ens.distinct()
    assert ens.unseen.size == 0
    renamed = cs.Ensemble(ens, clustering_names="abcdefgh", recipes=[{"k": 3}] * 8)
    assert renamed.distinct().clustering_names == list("abcdefgh")
    assert renamed.distinct().recipes == [{"k": 3}] * 8
    assert "unseen" in vars(renamed)
    weights = np.arange(1.0, 61.0)
    weighted = cs.Ensemble(ens, sample_weight=weights).distinct()
    assert np.array_equal(weighted.labels, small.labels)
    assert np.array_equal(weighted.sample_weight, np.bincount(small.inverse, weights))
    cs.consensus.EvidenceAccumulation(3).fit(ens, sample_weight=weights)
    assert len(compressions) == 1
    assert small.sample_weight.sum() == 60


def test_the_distinct_rows_are_an_ensemble_of_their_own():
    """Objects of a compressed ensemble are its rows, not those it was made of."""
    small = cs.Ensemble.from_clusterings([[0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 1]]).distinct()
    assert cs.consensus.EvidenceAccumulation(2).fit(small).labels_.shape == (small.n_samples,) == (4,)
    assert cs.Ensemble(small).distinct().inverse.tolist() == [0, 1, 2, 3]
