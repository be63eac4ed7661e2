"""What X may be, and what is said when it is not."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import consilience as cs
from consilience._data.features import Features, as_features
from consilience.errors import InputError


def bad(X, pattern):
    with pytest.raises(InputError, match=pattern):
        cs.generate.kmeans(X, n_clusterings=2, n_clusters=2)


def test_accepts_arrays_frames_lists_and_sparse():
    rows = [[0, 1], [2, 3], [4, 6.5]]
    expected = np.array(rows, dtype=float)
    index = ["a", "b", "c"]
    for X in (
        rows,
        expected,
        pd.DataFrame(rows, index=index, columns=["p", "q"]),
        pl.DataFrame(rows, orient="row"),
    ):
        assert np.array_equal(as_features(X).X, expected)
    assert np.array_equal(as_features(sp.coo_matrix(expected)).X.toarray(), expected)
    assert as_features(pd.DataFrame(rows, index=index)).sample_names == index
    assert as_features(pd.DataFrame(rows)).sample_names is None


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [
        ("uint8", "float32"),
        ("float16", "float32"),
        ("float32", "float32"),
        ("int64", "float64"),
        ("bool", "float32"),
    ],
)
def test_single_precision_only_where_it_is_exact(dtype, kept):
    X = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    assert as_features(X).X.dtype == kept
    assert as_features(sp.csr_matrix(X.astype("float32" if dtype == "float16" else dtype))).X.dtype == kept


def test_nan_is_counted_and_located():
    X = np.arange(12.0).reshape(4, 3)
    X[1, 2] = X[3, 0] = np.nan
    bad(
        X,
        r"X contains 2 missing values \(NaN\) in 2 of 4 rows and 2 of 3 columns, the first in row 1, "
        r"column 2\. Fill them in",
    )
    frame = pd.DataFrame(X, index=list("abcd"), columns=["height", "width", "depth"])
    bad(frame, r"2 missing values \(NaN\) in .* columns, the first in row 1 \('b'\), column 'depth'")
    bad(sp.csr_matrix(X), r"2 missing values \(NaN\) in .* columns, the first in row 1, column 2")
    X[0, 1] = -np.inf
    bad(
        X,
        r"2 missing values and 1 infinite value \(NaN and inf\) in .* columns, the first in row 0, column 1",
    )
    bad([[1, None], [2, 3]], r"1 missing value \(NaN\) in .* columns, the first in row 0, column 1")
    bad(
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64")}),
        r"1 missing value \(NaN\) in .* columns, the first in row 1, column 'a'",
    )
    bad(
        np.ma.masked_array(np.ones((3, 2)), mask=[[0, 0], [0, 1], [0, 0]]),
        r"1 missing value \(NaN\) in .* columns, the first in row 1",
    )


def test_infinity_and_huge_numbers():
    bad([[1.0, np.inf], [0, 0]], r"1 infinite value \(inf\) in .* columns, the first in row 0, column 1")
    bad(
        [[1.0, 0.0], [0, -1e200]],
        r"X holds -1e\+200 in row 1, column 1: numbers beyond 1e\+90 cannot be squared",
    )


def test_text_is_named():
    frame = pd.DataFrame({"size": [1.0, 2.0], "city": ["Oslo", "Rome"]}, index=["x", "y"])
    bad(frame, r"X holds columns that are not numbers: 'city' \(text\).*'Oslo'.*TableEncoder")
    bad(np.array([["1", "2"], ["3", "4"]]), r"X holds text: .*'1'.* in row 0, column 0")
    bad(
        np.array([[1, 2], [3, {}]], dtype=object),
        r"X holds \{\} in row 1, column 1, which is not a number: float\(\) argument",
    )
    bad(
        pd.DataFrame({"when": pd.date_range("2020", periods=3)}),
        r"X holds columns that are not numbers: 'when' \(dates\)",
    )
    bad(
        pl.DataFrame({"a": [1, 2], "b": ["u", "v"]}),
        r"X holds columns that are not numbers: 'b' \(text\); in 'b', for instance, 'u'",
    )


def test_shapes():
    bad(np.arange(5), r"X has shape \(5,\): .*X\.reshape\(-1, 1\)")
    bad(np.zeros((2, 2, 2)), r"X has shape \(2, 2, 2\): .*X\.reshape\(len\(X\), -1\)")
    bad(3.0, r"X=3\.0 is not a table")
    bad(np.empty((0, 4)), r"X has shape \(0, 4\): no objects")
    bad(np.empty((4, 0)), r"X has 0 feature\(s\) \(shape=\(4, 0\)\) while a minimum of 1 is required")
    bad(np.ones((1, 4)), r"a single object cannot be clustered.*X\.T")
    bad(pd.DataFrame(), r"X has shape \(0, 0\): no objects")
    bad([[1, 2], [3]], r"rows have different lengths")
    bad(np.ones((3, 2)) * 1j, r"complex numbers")
    bad(sp.csr_matrix(np.ones((3, 2)) * 1j), r"sparse matrix of complex128: real numbers")
    bad(cs.Ensemble.from_clusterings([[0, 1, 1]]), r"X is an Ensemble already.*n_clusters\)\.fit\(X\)\.$")


def test_repeated_row_names():
    bad(
        pd.DataFrame(np.eye(3), index=["a", "b", "a"]),
        r"The row name 'a' occurs more than once; .*reset_index",
    )


def test_k_against_objects_and_distinct_rows():
    X = np.repeat(np.eye(3), 4, axis=0)
    for form in (X, sp.csr_matrix(X)):
        with pytest.raises(
            InputError, match=r"n_clusters=13 exceeds the 12 objects in X; choose a value between 1 and 12"
        ):
            cs.generate.kmeans(form, n_clusters=13)
        with pytest.raises(InputError, match=r"n_clusters=4 exceeds the 3 distinct rows of X \(12 objects"):
            cs.generate.kmeans(form, n_clusters=4)
        assert cs.generate.kmeans(
            form, n_clusterings=2, n_clusters=3, random_state=0
        ).n_clusters_per_clustering.tolist() == [3, 3]


def test_minus_zero_is_zero_and_rows_are_counted_across_blocks():
    assert as_features(np.array([[0.0], [-0.0]])).distinct_rows(2) == 1
    stored = sp.csr_matrix((np.array([0.0, 1.0]), ([0, 1], [0, 1])), shape=(3, 2))
    assert as_features(stored).distinct_rows(3) == 2
    late = np.zeros((5000, 2))
    late[4999] = 1
    assert as_features(late).distinct_rows(2) == 2
    assert as_features(np.arange(5000.0).reshape(-1, 1)).distinct_rows(5000) == 5000


def test_made_once_and_shared():
    X = np.arange(12.0).reshape(6, 2)
    features = cs.io.Features(
        X, sample_names="abcdef", feature_names=["p", "q"], sample_weight=np.arange(1, 7)
    )
    assert features.X is X
    assert (features.shape, features.n_samples, features.n_features) == ((6, 2), 6, 2)
    assert as_features(features) is features
    assert cs.io.Features(features).sample_weight is features.sample_weight
    some = features.take([4, 1])
    assert some.X.tolist() == [[8, 9], [2, 3]]
    assert (some.sample_names, some.feature_names, some.sample_weight.tolist()) == (
        ["e", "b"],
        ["p", "q"],
        [5, 2],
    )
    assert features.take(X[:, 0] > 5).sample_names == ["d", "e", "f"]
    ensemble = cs.generate.kmeans(features, n_clusterings=2, n_clusters=2, random_state=0)
    assert ensemble.sample_names == list("abcdef")
    assert ensemble.sample_weight.tolist() == [1, 2, 3, 4, 5, 6]
    assert repr(cs.io.Features(sp.eye_array(3))) == "Features: 3 objects, 3 features (sparse float64)"


def test_pipeline_keeps_names_and_weights_of_features():
    X = np.repeat(np.eye(3), 4, axis=0) + np.arange(12)[:, None] / 100
    names = [f"r{i}" for i in range(12)]
    features = cs.io.Features(X, sample_names=names, sample_weight=np.arange(1, 13))
    model = cs.ConsensusClustering(3, n_clusterings=5, random_state=0).fit(features)
    assert model.ensemble_.sample_weight.tolist() == list(range(1, 13))
    assert list(model.to_frame().index) == names
    assert model.n_features_in_ == 3
    given = cs.ConsensusClustering(3, n_clusterings=5, random_state=0).fit(X, sample_weight=np.arange(1, 13))
    assert np.array_equal(model.labels_, given.labels_)


def test_rows_are_hashed_once(monkeypatch):
    import consilience._data.features as module

    calls = []
    hashes = module.row_hashes
    monkeypatch.setattr(module, "row_hashes", lambda X: calls.append(len(X)) or hashes(X))
    cs.ConsensusClustering(4, generator="kmeans", n_clusterings=2).fit(np.eye(40))
    assert len(calls) == 1


def test_least_rows():
    one = cs.io.Features([[1.0, 2.0]], least_rows=1)
    assert one.shape == (1, 2)
    bad(one, "a single object cannot be clustered")
    with pytest.raises(InputError, match=r"X has shape \(0, 2\): no objects. Give at least one row."):
        cs.io.Features(np.empty((0, 2)), least_rows=1)


def test_names_and_weights_are_checked():
    with pytest.raises(InputError, match="sample_names has 1 entries for 2 objects"):
        cs.io.Features(np.eye(2), sample_names=["a"])
    with pytest.raises(InputError, match="The sample name 'a' occurs more than once; rename"):
        cs.io.Features(np.eye(2), sample_names=["a", "a"])
    with pytest.raises(InputError, match=r"sample name \['a'\] is a list, which cannot be a name"):
        cs.io.Features(np.eye(2), sample_names=[["a"], ["b"]])
    with pytest.raises(InputError, match="feature_names has 3 entries for 2 features"):
        cs.io.Features(np.eye(2), feature_names="abc")
    with pytest.raises(InputError, match=r"sample_weight\[1\]=0 is not a positive number"):
        cs.io.Features(np.eye(2), sample_weight=[1, 0])


def test_features_are_left_alone():
    X = np.random.default_rng(0).normal(size=(50, 4))
    before = X.copy()
    X.setflags(write=False)
    cs.generate.kmeans(X, n_clusterings=2, n_clusters=3, random_state=0)
    cs.generate.random_features(X, n_clusterings=2, n_clusters=3, random_state=0)
    cs.generate.bagging(X, n_clusterings=2, n_clusters=3, random_state=0)
    cs.generate.spectral(X, n_clusters=3, bandwidths=[1], random_state=0)
    assert np.array_equal(X, before)


def test_one_entry_for_each_column_is_named_as_samples_in_columns():
    X = np.random.default_rng(0).normal(size=(40, 6))
    for given in ({"sample_weight": np.ones(6)}, {"sample_names": list("abcdef")}):
        (name,) = given
        with pytest.raises(
            InputError, match=rf"{name} has 6 entries.*columns of X of shape \(40, 6\).*Pass X\.T"
        ):
            Features(X, **given)
    with pytest.raises(InputError, match=r"The ensemble has 6 entries.*Pass X\.T"):
        cs.choose_k(X, ensemble=cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1, 1]] * 4), n_clusters=[2])
    with pytest.raises(InputError, match="shape \\(7,\\) for 40 objects"):
        Features(X, sample_weight=np.ones(7))
