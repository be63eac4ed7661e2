"""What X may be, and what is said when it is not."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import consilience as cs
from consilience.errors import InputError
from consilience.generate.features import check_features


def bad(X, pattern):
    with pytest.raises(InputError, match=pattern):
        cs.generate.kmeans(X, n_clusterings=2, k=2)


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
        assert np.array_equal(check_features(X).X, expected)
    assert np.array_equal(check_features(sp.coo_matrix(expected)).X.toarray(), expected)
    assert check_features(pd.DataFrame(rows, index=index)).sample_names == index
    assert check_features(pd.DataFrame(rows)).sample_names is None


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
    assert check_features(X).X.dtype == kept
    assert check_features(sp.csr_matrix(X.astype("float32" if dtype == "float16" else dtype))).X.dtype == kept


def test_nan_is_counted_and_located():
    X = np.arange(12.0).reshape(4, 3)
    X[1, 2] = X[3, 0] = np.nan
    bad(X, r"X contains 2 missing values \(NaN\), the first in row 1, column 2\. Fill them in")
    frame = pd.DataFrame(X, index=list("abcd"), columns=["height", "width", "depth"])
    bad(frame, r"2 missing values \(NaN\), the first in row 1 \('b'\), column 'depth'")
    bad(sp.csr_matrix(X), r"2 missing values \(NaN\), the first in row 1, column 2")
    X[0, 1] = -np.inf
    bad(X, r"2 missing values and 1 infinite value \(NaN and inf\), the first in row 0, column 1")
    bad([[1, None], [2, 3]], r"1 missing value \(NaN\), the first in row 0, column 1")
    bad(
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64")}),
        r"1 missing value \(NaN\), the first in row 1, column 'a'",
    )
    bad(
        np.ma.masked_array(np.ones((3, 2)), mask=[[0, 0], [0, 1], [0, 0]]),
        r"1 missing value \(NaN\), the first in row 1",
    )


def test_infinity_and_huge_numbers():
    bad([[1.0, np.inf], [0, 0]], r"1 infinite value \(inf\), the first in row 0, column 1")
    bad(
        [[1.0, 0.0], [0, -1e200]],
        r"X holds -1e\+200 in row 1, column 1: numbers beyond 1e\+150 cannot be squared",
    )


def test_text_is_named():
    frame = pd.DataFrame({"size": [1.0, 2.0], "city": ["Oslo", "Rome"]}, index=["x", "y"])
    bad(frame, r"X holds text: 'Oslo' in row 0 \('x'\), column 'city'.*OneHotEncoder")
    bad(np.array([["1", "2"], ["3", "4"]]), r"X holds text: .*'1'.* in row 0, column 0")
    bad(
        np.array([[1, 2], [3, {}]], dtype=object),
        r"X holds \{\} in row 1, column 1, which is not a number: float\(\) argument",
    )
    bad(
        pd.DataFrame({"when": pd.date_range("2020", periods=3)}),
        r"Column 'when' holds Datetime.* no distance",
    )
    bad(pl.DataFrame({"a": [1, 2], "b": ["u", "v"]}), r"X holds text: 'u' in row 0, column 'b'")


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
    bad(cs.Ensemble([[0, 1, 1]]), r"X is an Ensemble already")


def test_repeated_row_names():
    bad(pd.DataFrame(np.eye(3), index=["a", "b", "a"]), r"Row names are not unique: 'a' appear.*reset_index")


def test_k_against_objects_and_distinct_rows():
    X = np.repeat(np.eye(3), 4, axis=0)
    for form in (X, sp.csr_matrix(X)):
        with pytest.raises(
            InputError, match=r"k=13 exceeds the 12 objects in X; choose a value between 1 and 12"
        ):
            cs.generate.kmeans(form, k=13)
        with pytest.raises(InputError, match=r"k=4 exceeds the 3 distinct rows of X \(12 objects"):
            cs.generate.kmeans(form, k=4)
        assert cs.generate.kmeans(form, 2, k=3, random_state=0).n_clusters.tolist() == [3, 3]


def test_minus_zero_is_zero_and_rows_are_counted_across_blocks():
    assert check_features(np.array([[0.0], [-0.0]])).distinct_rows(2) == 1
    stored = sp.csr_matrix((np.array([0.0, 1.0]), ([0, 1], [0, 1])), shape=(3, 2))
    assert check_features(stored).distinct_rows(3) == 2
    late = np.zeros((5000, 2))
    late[4999] = 1
    assert check_features(late).distinct_rows(2) == 2
    assert check_features(np.arange(5000.0).reshape(-1, 1)).distinct_rows(5000) == 5000


def test_features_are_left_alone():
    X = np.random.default_rng(0).normal(size=(50, 4))
    before = X.copy()
    X.setflags(write=False)
    cs.generate.kmeans(X, 2, k=3, random_state=0)
    cs.generate.random_features(X, 2, k=3, random_state=0)
    cs.generate.bagging(X, 2, k=3, random_state=0)
    cs.generate.spectral(X, k=3, bandwidths=[1], random_state=0)
    assert np.array_equal(X, before)
