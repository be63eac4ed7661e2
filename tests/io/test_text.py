"""Delimited text: separators, headers, row names, missing cells, and that the two readers agree."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import consilience as cs
from consilience.io import _text

from ..examples import examples


def features(text: str, **options):
    return cs.io.read_features(io.BytesIO(text.encode()), **options)


def labels(text: str, **options):
    return cs.io.read_labels(io.BytesIO(text.encode()), **options)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1,2\n3,4\n", "commas"),
        ("1;2\n3;4\n", "semicolons"),
        ("1\t2\n3\t4\n", "tabs"),
        ("1|2\n3|4\n", "vertical bars"),
        ("1 2\n3 4\n", "spaces"),
        ("  1   2\n  3   4 \n", "spaces"),
        ("1, 2\n3, 4\n", "commas"),
        ("1,2\r\n3,4\r\n", "commas"),
        ("1,2\r3,4\r", "commas"),
        ("1,2\n3,4", "commas"),
        ("\ufeff1,2\n3,4\n", "commas"),
        ('"1","2"\n"3","4"\n', "commas"),
    ],
)
def test_separators(text, said):
    table = features(text)
    assert table.values.tolist() == [[1, 2], [3, 4]]
    assert table.decisions == [
        f"Cells are separated by {said}.",
        "There is no header (line 1 holds numbers).",
    ]


@pytest.mark.parametrize(
    ("text", "columns", "rows", "said"),
    [
        ("a,b\n1,2\n3,4\n", ["a", "b"], None, "Line 1 is a header (its cells are not numbers)."),
        ("1,2\n3,4\n", None, None, "There is no header (line 1 holds numbers)."),
        (",a,b\nr,1,2\ns,3,4\n", ["a", "b"], ["r", "s"], "Column 1 holds row names (its heading is empty)."),
        (
            "id,a,b\n7,1,2\n8,3,4\n",
            ["a", "b"],
            ["7", "8"],
            "Column 1 ('id') holds row names (by its heading, and no value occurs twice).",
        ),
        (
            "plant,a,b\nr,1,2\ns,3,4\n",
            ["a", "b"],
            ["r", "s"],
            "Column 1 ('plant') holds row names (it holds text).",
        ),
        ("r,1,2\ns,3,4\n", None, ["r", "s"], "Column 1 holds row names (it holds text)."),
        (
            '"a" "b"\n"r" 1 2\n"s" 3 4\n',
            ["a", "b"],
            ["r", "s"],
            "Column 1 holds row names (the header has no cell for it).",
        ),
        (",0,1\nr,1,2\ns,3,4\n", ["0", "1"], ["r", "s"], "Line 1 is a header (its first cell is empty)."),
        ("0,1,2\n5,1,2\n6,3,4\n", ["0", "1", "2"], None, "Line 1 is a header (it counts the columns)."),
    ],
)
def test_layout_of_features(text, columns, rows, said):
    table = features(text)
    assert table.feature_names == columns
    assert table.sample_names == rows
    assert said in table.decisions
    assert table.values[:, -2:].tolist() == [[1, 2], [3, 4]]


def test_a_column_that_counts_is_kept_as_a_feature_and_said():
    table = features("t,x\n0,5\n1,6\n2,7\n3,8\n")
    assert table.feature_names == ["t", "x"]
    assert any(
        "Column 1 counts the rows but is kept as a feature" in sentence for sentence in table.decisions
    )
    assert features("t,x\n0,5\n1,6\n2,7\n3,8\n", index=True).feature_names == ["x"]


@pytest.mark.parametrize(
    ("text", "columns", "rows", "said"),
    [
        ("a,b\n0,1\n0,1\n1,0\n", ["a", "b"], None, "Line 1 is a header (it holds text above numbers)."),
        ("0,1\n0,1\n1,0\n", None, None, "There is no header (line 1 holds numbers)."),
        ("x,u\nx,u\ny,v\n", None, None, "There is no header (cells of line 1 occur again below it)."),
        (
            "a,b\nx,u\nx,u\ny,v\n",
            ["a", "b"],
            None,
            "Line 1 is a header (none of its cells occurs again below it).",
        ),
        ("name,b\nr,0\ns,0\nt,1\n", ["b"], ["r", "s", "t"], "Line 1 is a header (its first cell is 'name')."),
        (
            "r,0\ns,0\nt,1\n",
            None,
            ["r", "s", "t"],
            "Column 1 holds row names (it holds text that never occurs twice).",
        ),
        (
            "1,5\n2,5\n3,5\n4,6\n",
            None,
            ["1", "2", "3", "4"],
            "Column 1 holds row names (it counts the rows).",
        ),
        ("0,5\n1,5\n2,5\n3,6\n", None, None, "The row names only count the rows from 0 and are not kept."),
        ("5\n5\n6\n", None, None, "There is no header (line 1 holds numbers)."),
        ("label\n5\n6\n", ["label"], None, "Line 1 is a header (it holds text above numbers)."),
    ],
)
def test_layout_of_labels(text, columns, rows, said):
    heard = []
    ensemble = labels(text, on_note=heard.append)
    assert said in heard[0]
    assert ensemble.clustering_names == (
        columns or [f"clustering {i}" for i in range(ensemble.n_clusterings)]
    )
    assert ensemble.sample_names == rows


def test_the_user_has_the_last_word():
    assert labels("a,b\nc,d\na,d\n", header=True).clustering_names == ["a", "b"]
    assert labels("a,b\nc,d\na,d\n", header=False).n_samples == 3
    assert labels("name,b\nr,0\ns,0\n", index=False).clustering_names == ["name", "b"]
    assert features("1,2\n3,4\n5,6\n", header=True).feature_names == ["1", "2"]
    assert features("1,2\n3,4\n5,6\n", index=True).sample_names == ["1", "3", "5"]


def test_missing_labels():
    words = ["", "NA", "NaN", "nan", "None", "null", "-1", "N/A", " ", " NA "]
    ensemble = labels("a,b\n" + "".join(f"{word},1\n" for word in words) + "3,1\n")
    assert ensemble.labels[:, 0].tolist() == [-1] * len(words) + [0]
    assert ensemble.categories[0].tolist() == [3]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (["3", "10", "3"], [3, 10]),
        (["-2", "4", " 4"], [-2, 4]),
        (["1.0", "2.0", ""], [1, 2]),
        (["1.5", "2", "1.5"], [1.5, 2.0]),
        (["01", "1", "01"], ["01", "1"]),
        (["+1", "1", "1"], ["+1", "1"]),
        (["1_0", "10", "10"], ["10", "1_0"]),
        (["x", "3", "x"], ["3", "x"]),
        (["inf", "x", "x"], ["inf", "x"]),
        (["12345678901234567890", "1", "1"], [1.0, 1.2345678901234567e19]),
    ],
)
def test_kinds_of_labels(cells, values):
    ensemble = labels("a,b\n" + "".join(f"{cell},0\n" for cell in cells))
    assert ensemble.categories[0].tolist() == values


def test_columns_by_name_and_position():
    text = "a,b,c\n0,1,1\n1,1,0\n"
    assert labels(text, columns=["c", "a"]).clustering_names == ["c", "a"]
    assert labels(text, columns=[1, "2"]).clustering_names == ["b", "c"]
    with pytest.raises(cs.errors.FileError, match=r"has no column 'd'; it has 'a', 'b' and 'c'\."):
        labels(text, columns=["d"])


def test_blank_lines_are_skipped_and_said():
    table = features("a,b\n1,2\n\n3,4\n  \n\n")
    assert table.values.tolist() == [[1, 2], [3, 4]]
    assert "Skipped 3 blank lines." in table.decisions
    assert labels("5\n6\n\n\n").n_samples == 2
    with pytest.raises(
        cs.errors.FileError, match="line 2 is blank: in a table of one column it may be a missing value"
    ):
        labels("5\n\n6\n")
    assert labels('5\n""\n6\n').labels[:, 0].tolist() == [0, -1, 1]


def test_gzip(tmp_path):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n3,4\n"))
    assert cs.io.read_features(path).values.tolist() == [[1, 2], [3, 4]]


cell = st.sampled_from(["0", "1", "7", "12", "-3", "007", "+1", "1.5", "", "NA", "x", "-1", "-0", "0", "1e3"])


@examples(200)
@given(
    rows=st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(cell, min_size=width, max_size=width), min_size=2, max_size=8)
    ),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_fast_and_slow_labels_agree(rows, end):
    """The C reader is used only where it means the same: quoting the first cell forces the csv module."""
    heading = ",".join(f"c{j}" for j in range(len(rows[0])))
    body = [",".join(row) or '""' for row in rows]
    plain = end.join([heading, *body]) + end
    quoted = end.join([heading, *(",".join(f'"{c}"' for c in row) for row in rows)]) + end
    outcomes = []
    for text in (plain, quoted):
        try:
            ensemble = labels(text, header=True, index=False)
            outcomes.append([ensemble.labels.tolist(), [c.tolist() for c in ensemble.categories]])
        except cs.errors.FileError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]


@examples(160)
@given(values=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=6))
def test_fast_and_slow_numbers_agree(values):
    plain = "x\n" + "".join(f"{value!r}\n" for value in values)
    quoted = "x\n" + "".join(f'"{value!r}"\n' for value in values)
    assert features(plain).values.tobytes() == features(quoted).values.tobytes() == np.array(values).tobytes()


def test_blocks_end_at_line_ends_outside_quotes(monkeypatch):
    """The table does not depend on the block size: names with line breaks, and both kinds of line end."""
    text = 'name,a,b\r\n"r\n1",1,2\r\n"s,""2""",3,4\r\nt,5,6\r\nü,7,8\r\n'
    whole = features(text)
    assert whole.sample_names == ["r\n1", 's,"2"', "t", "ü"]
    for size in range(1, 40):
        monkeypatch.setattr(_text, "_BLOCK", size)
        got = features(text, header=True, index=True)
        assert got.sample_names == whole.sample_names
        assert got.values.tolist() == whole.values.tolist()


def test_errors_name_the_right_line_in_a_later_block(monkeypatch):
    monkeypatch.setattr(_text, "_BLOCK", 8)
    with pytest.raises(cs.errors.FileError, match="line 6, column 2 \\('b'\\): 'oops' is not a number"):
        features("a,b\n1,2\n\n3,4\n5,6\n7,oops\n8,9\n")
    with pytest.raises(cs.errors.FileError, match="line 5 has 3 cells where the table has 2"):
        labels("a,b\n1,2\n3,4\n3,4\n5,6,7\n")
