"""A column of a table of features that is something else: the task, group or site of each row."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

import consilience as cs
from consilience.errors import FileError, InputError

SITES = ["x", "y", "x", "z"]
VALUES = np.array([[1.5, 2], [3, 4], [5, 6], [7, 8.25]])


def check(table, names):
    assert isinstance(table, cs.io.Features)
    np.testing.assert_array_equal(table.X, VALUES)
    assert table.column.tolist() == SITES
    assert (table.sample_names, table.feature_names) == names


def test_every_format(tmp_path):
    rows = list("abcd")
    frame = pd.DataFrame({"p": VALUES[:, 0], "site": SITES, "q": VALUES[:, 1]}, index=rows)
    frame.to_csv(tmp_path / "t.csv")
    frame.to_parquet(tmp_path / "t.parquet")
    for ending in ("csv", "parquet"):
        check(cs.io.read_features(tmp_path / f"t.{ending}", column="site"), (rows, ["p", "q"]))
    np.savez(tmp_path / "t.npz", X=VALUES, site=SITES)
    check(cs.io.read_features(tmp_path / "t.npz", column="site"), (None, None))


def test_positions_and_whole_numbers():
    table = cs.io.read_features(io.BytesIO(b"1,2,0\n3,4,1\n5,6,0\n"), column="2")
    assert table.column.tolist() == [0, 1, 0]
    assert table.column.dtype.kind == "i"
    assert table.feature_names == ["0", "1"]


def test_codes_with_leading_zeros_are_text():
    table = cs.io.read_features(io.BytesIO(b"a,t\n1,01\n3,1\n5,1_0\n"), column="t")
    assert table.column.tolist() == ["01", "1", "1_0"]


def test_text_in_a_typed_file_is_no_number(tmp_path):
    pd.DataFrame({"a": [1.5, 2.5], "b": ["3", "4"], "t": ["x", "y"]}).to_parquet(tmp_path / "t.parquet")
    for column in (None, "t"):
        with pytest.raises(
            FileError, match="column 'b', row 1: '3' is not a number; drop the column or encode it"
        ):
            cs.io.read_features(tmp_path / "t.parquet", column=column)


def test_without_a_column_there_is_none():
    table = cs.io.read_features(io.BytesIO(b"a,b\n1,2\n3,4\n"))
    assert table.column is None
    assert table.decisions
    assert (table.values is table.X, table.sample_names, table.feature_names) == (True, None, ["a", "b"])


def test_a_table_goes_where_features_go():
    table = cs.io.read_features(io.BytesIO(b"n,a,b\nr,1,2\ns,3,4\nt,9,9\nu,8,9\n"))
    assert cs.ConsensusClustering(2, random_state=0).fit(table).ensemble_.sample_names == list("rstu")
    assert cs.generate.kmeans(table, n_clusterings=2, n_clusters=2).sample_names == list("rstu")


@pytest.mark.parametrize("ending", ["csv", "npz", "parquet"])
def test_features_are_written_with_their_names(tmp_path, ending):
    features = cs.io.Features(VALUES, sample_names=list("abcd"), feature_names=["p", "q"])
    cs.io.write_features(features, tmp_path / f"t.{ending}")
    back = cs.io.read_features(tmp_path / f"t.{ending}")
    assert (back.sample_names, back.feature_names) == (list("abcd"), ["p", "q"])
    np.testing.assert_array_equal(back.X, VALUES)


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("a,b\n1,2\n3,4\n", "c", "has no column 'c'; it has 'a' and 'b'"),
        ("a\n1\n3\n", "a", "has no columns of features besides 'a'"),
        ("a,b\n1,x\n3,\n", "b", "column 'b', row 2 is missing; fill it in or drop the row"),
        (
            "a,b,t\n1,,x\n3,4,y\n",
            "t",
            "contains 1 missing value .NaN. in 1 of 2 rows .*, the first in row 1, column 'b'",
        ),
    ],
)
def test_refusals(text, column, message):
    with pytest.raises(FileError, match=message):
        cs.io.read_features(io.BytesIO(text.encode()), column=column)


def test_numbers_too_large_are_read_but_not_clustered():
    table = cs.io.read_features(io.BytesIO(b"a,b\n1e200,2\n3,4\n"))
    assert table.X[0, 0] == 1e200
    with pytest.raises(InputError, match="cannot be squared"):
        cs.generate.kmeans(table.take([0, 1]))
    for use in (cs.generate.kmeans, cs.MDEC(2).fit, cs.multitask.ASI(2).fit):
        with pytest.raises(
            InputError, match="holds 1e.200 in row 0, column 'a': numbers beyond 1e.90 cannot be"
        ):
            use(table)


def test_arrays_of_the_wrong_length(tmp_path):
    np.savez(tmp_path / "t.npz", X=VALUES, site=SITES[:3])
    with pytest.raises(FileError, match="'site' has 3 values for 4 rows"):
        cs.io.read_features(tmp_path / "t.npz", column="site")
    with pytest.raises(FileError, match="has no array 'group'; it holds 'X' and 'site'"):
        cs.io.read_features(tmp_path / "t.npz", column="group")
