"""A label means the same through every door: one table of values and meanings, run through all of them."""

from __future__ import annotations

import datetime
import decimal
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.io
from hypothesis import given
from hypothesis import strategies as st

import consilience as cs
from consilience import metrics
from consilience._data.labels import MISSING_WORDS, Coded, Columns, drop_unused, encode, is_missing
from consilience.errors import InputError

from ..examples import examples

MISSING, REFUSED = "missing", "refused"
WORDS = [*sorted(MISSING_WORDS), " NA ", "\tnan", "-1 ", "  "]

# Labels of four objects, the first two being the value in question, and the category it is.
NUMBERS = {
    "-1": ([-1, -1, 5, 7], MISSING),
    "-1.0": ([-1.0, -1.0, 5.0, 7.5], MISSING),
    "nan": ([np.nan, np.nan, 5.0, 7.0], MISSING),
    "1": ([1, 1, 5, 7], 1),
    "1.0": ([1.0, 1.0, 5.0, 7.0], 1),
    "1.0 beside nan": ([1.0, 1.0, 5.0, np.nan], 1),
    "1.5": ([1.5, 1.5, 5.0, 7.0], 1.5),
    "-0.0": ([-0.0, 0.0, 5.0, 7.0], 0),
    "False": ([False, False, True, True], 0),
    "True": ([True, True, False, False], 1),
    "-2": ([-2, -2, 5, 7], -2),
    "inf": ([np.inf, np.inf, 5.0, 7.0], REFUSED),
    "-inf": ([-np.inf, -np.inf, 5.0, 7.5], REFUSED),
}
TEXTS = {
    **{repr(word): ([word, word, "a", "b"], MISSING) for word in WORDS},
    "x": (["x", "x", "a", "b"], "x"),
    "blanks": ([" x", " x", "x", "b"], " x"),
    "inf in text": (["inf", "inf", "a", "b"], "inf"),
    "True in text": (["True", "True", "a", "b"], "True"),
}
#: Python and typed files know that these are text, a CSV file does not.
TYPED_TEXTS = {"1 as text": (["1", "1", "2", "2"], "1")}
OBJECTS = {
    "None": ([None, None, 5, 7], MISSING),
    "None in text": ([None, None, "a", "b"], MISSING),
    "NA": ([pd.NA, pd.NA, 5, 7], MISSING),
    "NaT": ([pd.NaT, pd.NaT, 5, 7], MISSING),
    "Decimal NaN": ([decimal.Decimal("sNaN"), decimal.Decimal("NaN"), 5, 7], MISSING),
    "1 beside None": ([1, 1.0, 5, None], 1),
    "True beside None": ([True, True, False, None], 1),
    "1.5 beside None": ([1.5, 1.5, 5, None], 1.5),
    "2**70": ([2**70, 2**70, 5, None], 2**70),
    "inf beside None": ([np.inf, np.inf, 5, None], REFUSED),
    "Decimal inf": ([decimal.Decimal("-Infinity")] * 2 + [5, None], REFUSED),
    "text and numbers": (["1", "1", 1, 2], "1"),
    "date": ([datetime.date(2020, 1, 1)] * 2 + [datetime.date(2020, 1, 2)] * 2, datetime.date(2020, 1, 1)),
}


def as_objects(values):
    column = np.empty(len(values), object)
    column[:] = values
    return column


def through_file(ending, write):
    def door(values, folder):
        path = folder / f"labels{ending}"
        write(path, values)
        return cs.io.read_labels(path, header=True) if ending == ".csv" else cs.io.read_labels(path)

    return door


def write_csv(path, values):
    cells = ["" if value is None else str(value) for value in values]
    path.write_text("labels,other\n" + "".join(f'"{cell}",{i % 2}\n' for i, cell in enumerate(cells)))


PYTHON = {
    "array": lambda values, _: cs.Ensemble(np.array(values).reshape(-1, 1)),
    "vector": lambda values, _: cs.Ensemble.from_clusterings([np.array(values)]),
    "list": lambda values, _: cs.Ensemble.from_clusterings([values]),
    "objects": lambda values, _: cs.Ensemble(as_objects(values).reshape(-1, 1)),
    "mapping": lambda values, _: cs.Ensemble({"labels": values}),
    "pandas": lambda values, _: cs.Ensemble(pd.DataFrame({"labels": as_objects(values)}).infer_objects()),
    "coded": lambda values, _: cs.Ensemble(Columns([Coded(np.arange(4), as_objects(values))])),
    "metrics": lambda values, _: metrics.contingency_table(values, [0, 0, 1, 2], missing="ignore"),
    "metrics of objects": lambda values, _: metrics.contingency_table(
        as_objects(values), [0, 0, 1, 2], missing="ignore"
    ),
}
POLARS = {"polars": lambda values, _: cs.Ensemble(pl.DataFrame({"labels": values}, strict=False))}
CSV = {"csv": through_file(".csv", write_csv)}
TYPED = {
    ".npz": through_file(".npz", lambda path, values: np.savez(path, labels=np.array(values))),
    ".mat": through_file(".mat", lambda path, values: scipy.io.savemat(path, {"labels": as_column(values)})),
    ".parquet": through_file(
        ".parquet", lambda path, values: pl.DataFrame({"labels": values}).write_parquet(path)
    ),
}


def as_column(values):
    """Text as MATLAB keeps it, in cells."""
    text = isinstance(values[0], str)
    return as_objects(values)[:, None] if text else np.array(values)[:, None]


def cases():
    for doors, tables in (
        ({**PYTHON, **POLARS, **TYPED}, {**NUMBERS, **TEXTS, **TYPED_TEXTS}),
        (CSV, {**NUMBERS, **TEXTS}),
        (PYTHON, OBJECTS),
    ):
        for door, open_door in doors.items():
            for name, (values, meaning) in tables.items():
                if door == "csv" and isinstance(values[0], bool):
                    continue  # its cells say True and False, which are text
                if door == ".mat" and isinstance(values[0], str) and values[0] != values[0].rstrip():
                    continue  # MATLAB's texts end at the last character that is no blank
                if door == "array" and name in ("text and numbers", "Decimal NaN"):
                    continue  # numpy spells the numbers out, and has no signaling NaN
                yield pytest.param(open_door, values, meaning, id=f"{door}: {name}")


@pytest.mark.parametrize(("door", "values", "meaning"), list(cases()))
def test_a_label_means_the_same_through_every_door(door, values, meaning, tmp_path):
    if meaning is REFUSED:
        with pytest.raises(
            (InputError, cs.errors.FileError), match=r"has the label -?[Ii]nf(inity)? at object 0; use NaN"
        ):
            door(values, tmp_path)
        return
    found = door(values, tmp_path)
    if isinstance(found, cs.Ensemble):
        codes, categories = found.labels[:, 0].tolist(), found.categories[0].tolist()
        first = None if codes[0] < 0 else categories[codes[0]]
        assert codes[0] == codes[1]
    else:
        categories = found.row_labels.tolist()
        first = None if found.total == 2 else categories[found.rows[found.columns == 0][0]]
    if meaning is MISSING:
        assert first is None
        assert len(categories) == 2
    else:
        assert first == meaning
        assert type(first) is type(meaning)


def test_the_table_of_values_names_every_missing_word():
    for word in MISSING_WORDS:
        assert f'``"{word}"``' in cs.Ensemble.__doc__


@pytest.mark.parametrize("value", [True, False, 0, "a", "-1.0", "\u00a0NA", 1.5, (), b"NA"])
def test_what_is_not_missing(value):
    assert not is_missing(value)


def test_coded_labels():
    codes, categories = encode(Coded(np.array([2, 0, -1, 2, 1]), ["b", "NA", "a"]), "labels")
    assert codes.tolist() == [0, 1, -1, 0, -1]
    assert categories.tolist() == ["a", "b"]
    codes, categories = encode(Coded(np.array([0, 0]), np.array([7, 8, 9])), "labels")
    assert (codes.tolist(), categories.tolist()) == ([0, 0], [7])


@given(st.lists(st.integers(-1, 5), max_size=20))
@examples(100)
def test_categories_of_no_object_go(codes):
    codes = np.array(codes, np.int16)
    found, kept = drop_unused(codes, np.arange(6) * 10)
    assert found.dtype == np.int16
    assert kept.tolist() == sorted({10 * code for code in codes.tolist() if code >= 0})
    assert [kept[code] if code >= 0 else -1 for code in found] == [10 * c if c >= 0 else -1 for c in codes]


def test_infinity_in_a_csv_file_is_named(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("a,b\n1.5,0\nInfinity,1\n2,1\n")
    with pytest.raises(
        cs.errors.FileError, match=r"labels.csv: Clustering 0 has the label inf at object 1; use NaN"
    ):
        cs.io.read_labels(path)
    path.write_text("a,b\ninf,0\ninf,1\nword,1\n")
    assert cs.io.read_labels(path).categories[0].tolist() == ["inf", "word"]


def test_an_infinity_in_text_is_not_written_where_it_would_be_refused(tmp_path):
    ensemble = cs.Ensemble.from_clusterings([["inf", "1.5", "2"]])
    with pytest.raises(cs.errors.FileError, match="would be read back as the number"):
        cs.io.write_ensemble(ensemble, tmp_path / "e.csv")
    cs.io.write_ensemble(ensemble, tmp_path / "e.npz")
    assert cs.io.read_labels(tmp_path / "e.npz").categories[0].tolist() == ["1.5", "2", "inf"]


def test_signaling_nans_are_missing_without_a_word():
    vector = np.array([0, 0x7FA00000, 0, 0x3F800000], np.uint32).view(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cs.Ensemble.from_clusterings([vector]).labels[:, 0].tolist() == [0, -1, 0, 1]


def test_a_large_number_beside_a_narrow_scalar_is_sorted_without_a_warning():
    column = np.array([np.float32(2.0), 10**300, np.float32(1.0), 10**300], dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        codes = cs.Ensemble.from_clusterings([column, [0, 0, 1, 1]]).labels[:, 0]
    assert np.unique(codes).size == 3


def test_a_numpy_number_beside_an_empty_tuple_is_sorted():
    """NumPy takes the tuple for an empty array, which is neither more nor less than a number."""
    column = np.empty(4, object)
    column[:] = [np.float64(1.0), (), np.float64(1.0), ()]
    assert cs.Ensemble.from_clusterings([column, [0, 0, 1, 1]]).labels[:, 0].tolist() in (
        [0, 1, 0, 1],
        [1, 0, 1, 0],
    )


IDS = [2**53, 2**53 + 1, 2**53, 2**53 + 1, 7, None]


@pytest.mark.parametrize(
    "column",
    [
        pd.array(IDS, dtype="Int64"),
        pd.Series(IDS, dtype="Int64"),
        pd.Series(IDS, dtype="int64[pyarrow]"),
        pa.array(IDS),
        pa.chunked_array([IDS[:2], IDS[2:]], type=pa.int64()),
        pl.Series(IDS),
        [*IDS[:5], float("nan")],
        IDS,
    ],
    ids=lambda column: type(column).__name__,
)
def test_whole_numbers_beyond_floats_stay_apart(column):
    expected = [1, 2, 1, 2, 0, -1]
    ensemble = cs.Ensemble.from_clusterings([column])
    assert ensemble.labels.ravel().tolist() == expected
    assert [int(value) for value in ensemble.categories[0]] == [7, 2**53, 2**53 + 1]
    assert metrics.ari([0, 1, 0, 1, 2, -1], column, missing="ignore") == 1.0


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": pd.array(IDS, dtype="Int64")}),
        pd.DataFrame({"a": pd.array(IDS, dtype="int64[pyarrow]")}),
        pa.table({"a": IDS}),
        pl.DataFrame({"a": IDS}),
    ],
    ids=["pandas", "pandas of Arrow", "pyarrow", "polars"],
)
def test_whole_numbers_beyond_floats_stay_apart_in_frames(frame):
    ensemble = cs.Ensemble(frame)
    assert ensemble.labels.ravel().tolist() == [1, 2, 1, 2, 0, -1]
    assert cs.Ensemble(ensemble.to_frame()) == ensemble


def test_whole_numbers_beyond_floats_beside_fractions():
    assert cs.Ensemble.from_clusterings([[2**53, 2**53 + 1, 1.5, 2.5]]).n_base_clusters == 4


def test_text_that_ends_in_nul_is_its_own():
    for labels in (["a\0", "a", "b", "b"], ("a\0", "a", "b", "b"), np.array(["a\0", "a", "b", "b"], object)):
        assert cs.Ensemble.from_clusterings([labels]).labels.ravel().tolist() == [1, 0, 2, 2]
    assert metrics.ari(["a\0", "a", "b"], [0, 1, 2]) == 1.0
