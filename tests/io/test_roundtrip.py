"""What is written comes back: names, missing labels, categories and numbers, in every format."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import consilience as cs
from consilience._data.labels import MISSING_WORDS

from ..examples import examples
from ..zoo import random_sparse

TEXT = [".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz"]
TYPED = [".npz", ".parquet", ".mat"]

IN_TMP = [HealthCheck.function_scoped_fixture]

# No NUL (no format keeps it) and no lone surrogates (no encoding does).
names = st.text(st.characters(blacklist_characters="\0", blacklist_categories=("Cs",)), max_size=8)
# A text label that spells a number or a missing word would be read as one; and MATLAB trims blanks at the
# end.
words = st.text(st.characters(whitelist_categories=("Lu", "Ll", "Po", "Zs")), min_size=1, max_size=5).filter(
    lambda word: word.strip() and word.strip() not in MISSING_WORDS and cs.io._cells.as_number(word) is None
)


@st.composite
def ensembles(draw, unique_rows=names, columns=None):
    n = draw(st.integers(2, 9))
    m = draw(st.integers(1, 4))
    labels = []
    for _ in range(m):
        value = draw(
            st.sampled_from(
                [
                    st.integers(0, 5),
                    st.integers(-(2**40), 2**40).filter(lambda v: v != -1),
                    st.floats(-1e9, 1e9, allow_nan=False).filter(lambda v: v != int(v)),
                    words,
                ]
            )
        )
        first = draw(value)  # a column with no label at all is refused
        rest = draw(st.lists(st.none() | value, min_size=n - 1, max_size=n - 1))
        column = np.empty(n, object)
        column[:] = [first, *rest]
        labels.append(column)
    headings = draw(st.lists(names.filter(bool), min_size=m, max_size=m, unique=True))
    rows = draw(st.none() | st.lists(unique_rows, min_size=n, max_size=n, unique=True))
    return cs.Ensemble.from_clusterings(labels, clustering_names=headings, sample_names=rows)


def assert_same(got: cs.Ensemble, wanted: cs.Ensemble) -> None:
    assert got.clustering_names == wanted.clustering_names
    counted = [str(i) for i in range(wanted.n_samples)]
    assert got.sample_names == (None if wanted.sample_names == counted else wanted.sample_names)
    np.testing.assert_array_equal(got.labels, wanted.labels)
    for a, b in zip(got.categories, wanted.categories):
        assert a.tolist() == b.tolist()
        assert [type(x) for x in a.tolist()] == [type(x) for x in b.tolist()]


@pytest.mark.parametrize("ending", [*TEXT, *TYPED])
@examples(60, suppress_health_check=IN_TMP)
@given(ensemble=ensembles())
def test_ensemble(tmp_path, ending, ensemble):
    path = tmp_path / f"ensemble{ending}"
    cs.io.write_ensemble(ensemble, path)
    assert_same(cs.io.read_labels(path), ensemble)


ODD = (
    *(
        "name",
        "Name",
        "id",
        "row_name",
        "sample",
        "label",
        "confidence",
        "truth",
        "0",
        "1",
        "2",
        "-0",
        "007",
        "1e5",
        "1.0",
    ),
    *(
        " NA",
        "NA ",
        "  ",
        "\t",
        "\u2028",
        "10\u2028",
        "\u00a0",
        "\x1c",
        " 1",
        "1 ",
        "a\nb",
        "\r",
        '"',
        ",",
        ";",
        "|",
        "a b",
    ),
    *(
        "inf",
        "nan ",
        "True",
        "12345678901234567890",
        "9223372036854775807",
        "=1+1",
        "#",
        "'",
        "\ufeff",
        "\U0001f600",
        "x",
    ),
    *("-", "+1", "1_0", "\u0661", "0x1", "1.", ".5", "-1 ", "none ", "[1]"),
)
odd_words = st.sampled_from(ODD)
odd_labels = st.one_of(
    st.integers(-(2**63), 2**64 - 1).filter(lambda v: v != -1),
    st.floats(allow_nan=False, allow_infinity=False).filter(lambda v: v != -1),
)


@st.composite
def odd_ensembles(draw):
    n, m = draw(st.integers(2, 7)), draw(st.integers(1, 3))
    columns = []
    for _ in range(m):
        kind = draw(st.sampled_from([odd_words, names, st.integers(-3, 3), odd_labels]))
        cells = draw(st.lists(st.none() | kind, min_size=n, max_size=n))
        column = np.empty(n, object)
        column[:] = cells
        columns.append(column)
    headings = draw(st.lists(odd_words | names, min_size=m, max_size=m, unique=True))
    rows = draw(st.none() | st.lists(odd_words | names, min_size=n, max_size=n, unique=True))
    try:
        return cs.Ensemble.from_clusterings(columns, clustering_names=headings, sample_names=rows)
    except (cs.errors.InputError, OverflowError):  # no label at all in a column, for instance
        return None


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".csv.gz", *TYPED, ".npy"])
@examples(200, suppress_health_check=IN_TMP)
@given(ensemble=odd_ensembles())
def test_what_is_written_comes_back_or_is_refused(tmp_path, ending, ensemble):
    """No name and no label comes back as something else without a word."""
    if ensemble is None:
        return
    path = tmp_path / f"ensemble{ending}"
    path.unlink(missing_ok=True)
    refused = None
    try:
        cs.io.write_ensemble(ensemble, path)
    except cs.errors.FileError as error:
        refused = str(error)
    assert path.exists() == (refused is None)
    if refused is not None:
        assert re.search("; (.* )?(write|rename|give each)", refused)
        return
    back = cs.io.read_labels(path)
    assert_same_labels(back, ensemble)
    if ending != ".npy":
        assert_same_names(back, ensemble)


def kinds(values) -> set[type]:
    return {type(value) for value in values.tolist()}


def assert_same_labels(got: cs.Ensemble, wanted: cs.Ensemble) -> None:
    """The same labels of the same types, or their text.

    Text is kept where a clustering mixes types or has integers beyond machine types.
    """
    assert got.n_clusterings == wanted.n_clusterings
    for i in range(wanted.n_clusterings):
        a, b = got.categories[i], wanted.categories[i]
        read = [None if code < 0 else a.tolist()[code] for code in got.labels[:, i]]
        meant = [None if code < 0 else b.tolist()[code] for code in wanted.labels[:, i]]
        mixed = len(kinds(b)) > 1 or (kinds(b) == {int} and b.dtype == object and max(b) >= 2**63)
        if mixed:
            read, meant = ([None if v is None else str(v) for v in values] for values in (read, meant))
        assert read == meant
        assert mixed or (kinds(a) == {str}) == (kinds(b) == {str})


def assert_same_names(got: cs.Ensemble, wanted: cs.Ensemble) -> None:
    assert got.clustering_names == wanted.clustering_names
    counted = [str(i) for i in range(wanted.n_samples)]
    assert got.sample_names == (None if wanted.sample_names == counted else wanted.sample_names)


@pytest.mark.parametrize("ending", [*TEXT, *TYPED])
def test_an_object_called_name(tmp_path, ending):
    """It used to be taken for the header: (3, 1) became (4, 2)."""
    ensemble = cs.Ensemble.from_clusterings(
        [["a", "b", "c"]], sample_names=["name", "row_name", "q"], clustering_names=["two"]
    )
    cs.io.write_ensemble(ensemble, tmp_path / f"n{ending}")
    assert_same(cs.io.read_labels(tmp_path / f"n{ending}"), ensemble)


@pytest.mark.parametrize(
    ("label", "what"),
    [
        ("1", "as the number 1"),
        (" 7 ", "as the number 7"),
        ("1e3", "as the number 1000"),
    ],
)
def test_labels_that_text_does_not_keep(tmp_path, label, what):
    ensemble = cs.Ensemble.from_clusterings(
        [[label, label, "5"] if "number" in what else [label, label, "b"]]
    )
    with pytest.raises(
        cs.errors.FileError,
        match=rf"in clustering 'clustering 0' the label '{label}' would be read back {what}, because text "
        rf"keeps no types; "
        r"write \.npz, \.parquet or \.mat, or rename the label",
    ):
        cs.io.write_ensemble(ensemble, tmp_path / "e.csv")
    assert list(tmp_path.iterdir()) == []
    for ending in TYPED:
        cs.io.write_ensemble(ensemble, tmp_path / f"e{ending}")
        assert_same(cs.io.read_labels(tmp_path / f"e{ending}"), ensemble)


@pytest.mark.parametrize("label", ["10\u2028", "-0", "\u00a0", "007", "1_0", "\u0661"])
def test_labels_that_only_look_like_numbers(tmp_path, label):
    ensemble = cs.Ensemble.from_clusterings([[label, label, "5"]])
    cs.io.write_ensemble(ensemble, tmp_path / "e.csv")
    assert_same(cs.io.read_labels(tmp_path / "e.csv"), ensemble)


def test_large_integers_stay_apart(tmp_path):
    ensemble = cs.Ensemble.from_clusterings([[2**62, 2**62 + 1, 3]])
    cs.io.write_ensemble(ensemble, tmp_path / "e.csv")
    assert_same(cs.io.read_labels(tmp_path / "e.csv"), ensemble)
    read = cs.io.read_labels(
        io.BytesIO(b"a,b\n12345678901234567890,x\n12345678901234567891,y\n"), header=True
    )
    assert read.labels[:, 0].tolist() == [0, 1]


def test_clusterings_called_label_and_confidence(tmp_path):
    ensemble = cs.Ensemble.from_clusterings([[0, 1], [1, 1]], clustering_names=["label", "confidence"])
    for ending in (".npz", ".mat"):
        cs.io.write_ensemble(ensemble, tmp_path / f"e{ending}")
        assert_same(cs.io.read_labels(tmp_path / f"e{ending}"), ensemble)
    for ending in (".csv", ".parquet"):
        with pytest.raises(
            cs.errors.FileError, match=r"'label' and 'confidence' would be read as one clustering"
        ):
            cs.io.write_ensemble(ensemble, tmp_path / f"e{ending}")


def test_writers_name_what_they_cannot_write(tmp_path):
    half, file = "\udc80", cs.errors.FileError
    for ending in (*TEXT, *TYPED):
        path = tmp_path / f"t{ending}"
        with pytest.raises(file, match="holds half a surrogate pair"):
            cs.io.write_labels([0, 1], path, sample_names=["a", half])
        with pytest.raises(file, match="holds half a surrogate pair"):
            cs.io.write_table({"a": ["b", half]}, path)
        with pytest.raises(file, match="holds half a surrogate pair"):
            cs.io.write_ensemble(cs.Ensemble.from_clusterings([[0, 1]], clustering_names=[half]), path)
    with pytest.raises(file, match="Cannot write .a.*b.csv.: embedded null byte"):
        cs.io.write_labels([0, 1], "a\0b.csv")
    headings = {heading: [0, 1] for heading in cs.io._layout.INDEX_HEADINGS}
    for ending in (".csv", ".parquet"):
        with pytest.raises(
            file, match="every heading for the row names .* is the name of a column or row; rename one"
        ):
            cs.io.write_table(headings, tmp_path / f"t{ending}")
    for key in ("_k", "1a", "a b", "x" * 64):
        with pytest.raises(file, match=rf"'{key}' cannot be the name of a MATLAB variable"):
            cs.io.write_table({key: [0, 1]}, tmp_path / "t.mat")
    with pytest.raises(file, match="a column is called 'sample_names'"):
        cs.io.write_table({"sample_names": [0, 1]}, tmp_path / "t.npz", sample_names=["a", "b"])
    with pytest.raises(file, match=r"column 'a' cannot be kept in Parquet: .*; give it values of one type"):
        cs.io.write_table({"a": np.array([1, "b", 2.5j], object)}, tmp_path / "t.parquet")
    assert list(tmp_path.iterdir()) == []


def test_npz_takes_any_heading(tmp_path):
    cs.io.write_table({"file": [0, 1], "args": [2, 3]}, tmp_path / "t.npz", sample_names=["a", "b"])
    with np.load(tmp_path / "t.npz") as stored:
        assert stored["file"].tolist() == [0, 1]
        assert stored["args"].tolist() == [2, 3]
    first = (tmp_path / "t.npz").read_bytes()
    cs.io.write_table({"file": [0, 1], "args": [2, 3]}, tmp_path / "t.npz", sample_names=["a", "b"])
    assert (tmp_path / "t.npz").read_bytes() == first


@pytest.mark.parametrize("ending", [*TEXT, *TYPED])
@examples(60, suppress_health_check=IN_TMP)
@given(data=st.data())
def test_features(tmp_path, ending, data):
    n, p = data.draw(st.integers(2, 8)), data.draw(st.integers(1, 5))
    finite = st.floats(allow_nan=False, allow_infinity=False)
    values = np.array(data.draw(st.lists(finite, min_size=n * p, max_size=n * p))).reshape(n, p)
    rows = data.draw(st.none() | st.lists(names, min_size=n, max_size=n, unique=True))
    # A heading that is itself a number would make line 1 look like data, were it not for the column of row
    # names.
    headings = data.draw(st.none() | st.lists(names.filter(bool), min_size=p, max_size=p, unique=True))
    path = tmp_path / f"features{ending}"
    cs.io.write_features(values, path, sample_names=rows, feature_names=headings)
    table = cs.io.read_features(path)
    assert table.values.tobytes() == values.tobytes()  # bit by bit, the sign of zero too
    named = ending in TEXT or ending == ".parquet"
    assert table.feature_names == (headings or ([f"x{j}" for j in range(p)] if named else None))
    assert table.sample_names == (None if named and rows == [str(i) for i in range(n)] else rows)


@pytest.mark.parametrize("ending", [*TEXT, *TYPED])
def test_result_table(tmp_path, ending):
    path = tmp_path / f"labels{ending}"
    labels, sure = np.array([1, 0, 0]), np.array([0.1, 1 / 3, 1.0])
    cs.io.write_labels(labels, path, sample_names=["x", "y", "z"], confidence=sure)
    said = []
    back = cs.io.read_labels(path, on_note=said.append)
    assert back.n_clusterings == 1
    assert back.categories[0][back.labels[:, 0]].tolist() == [1, 0, 0]
    if ending not in (".npz", ".mat"):
        assert back.sample_names == ["x", "y", "z"]
        assert "Left out the column 'confidence'." in said[0]


def test_result_table_text(tmp_path):
    path = tmp_path / "labels.csv"
    cs.io.write_labels([1, 0], path, confidence=[0.5, 1])
    assert path.read_text() == "name,label,confidence\n0,1,0.5\n1,0,1.0\n"
    stream = io.BytesIO()
    cs.io.write_labels([1, 0], stream, sample_names=["a,b", 'say "hi"'])
    assert stream.getvalue() == b'name,label\n"a,b",1\n"say ""hi""",0\n'


@pytest.mark.parametrize("ending", [".npz", ".mat"])
def test_archives_keep_weights_and_recipes(tmp_path, ending):
    ensemble = cs.Ensemble.from_clusterings(
        [[0, 1, 1], ["a", "b", None]],
        sample_weight=[1, 2.5, 3],
        recipes=[{"k": np.int64(2), "maker": "kmeans"}, {"features": np.arange(3)}],
    )
    path = tmp_path / f"e{ending}"
    cs.io.write_ensemble(ensemble, path)
    back = cs.io.read_labels(path)
    assert back.sample_weight.tolist() == [1, 2.5, 3]
    assert back.recipes == [{"k": 2, "maker": "kmeans"}, {"features": [0, 1, 2]}]


def test_text_says_that_weights_are_lost(tmp_path):
    ensemble = cs.Ensemble.from_clusterings([[0, 1]], sample_weight=[1, 2])
    with pytest.warns(UserWarning, match=r"does not keep sample weights; write \.npz or \.mat"):
        cs.io.write_ensemble(ensemble, tmp_path / "e.csv")


def test_npy(tmp_path):
    path = tmp_path / "labels.npy"
    cs.io.write_ensemble(cs.Ensemble.from_clusterings([[5, 7, -1], [0, 0, 1]]), path)
    assert np.load(path).tolist() == [[5, 0], [7, 0], [-1, 1]]
    assert cs.io.read_labels(path).labels.tolist() == [[0, 0], [1, 0], [-1, 1]]
    cs.io.write_labels([0, 1, 1], path)
    assert cs.io.read_labels(path).labels.tolist() == [[0], [1], [1]]
    cs.io.write_features([[1, 2], [3, 4]], path)
    assert cs.io.read_features(path).values.tolist() == [[1, 2], [3, 4]]
    with pytest.raises(
        cs.errors.FileError, match=r"\.npy can hold whole-number labels only; write text labels as \.npz"
    ):
        cs.io.write_ensemble(cs.Ensemble.from_clusterings([["a", "b"]]), path)
    with pytest.raises(cs.errors.FileError, match=r"\.npy holds one array without headings"):
        cs.io.write_table({"a": [1]}, path)


@pytest.mark.parametrize("ending", [".npz", ".mat"])
def test_sparse_features(tmp_path, ending):
    matrix = random_sparse((6, 5), 0.4)
    path = tmp_path / f"x{ending}"
    cs.io.write_features(matrix, path, sample_names=list("abcdef"), feature_names=list("vwxyz"))
    table = cs.io.read_features(path)
    assert sp.issparse(table.values)
    assert table.values.format == "csr"
    np.testing.assert_array_equal(table.values.toarray(), matrix.toarray())
    assert table.sample_names == list("abcdef")
    assert table.feature_names == list("vwxyz")
    if ending == ".npz":
        np.testing.assert_array_equal(sp.load_npz(path).toarray(), matrix.toarray())


def test_scipy_writes_what_we_read(tmp_path):
    matrix = random_sparse((6, 5), 0.4, "coo")
    for layout in ("csr", "csc"):
        sp.save_npz(tmp_path / "x.npz", matrix.asformat(layout))
        np.testing.assert_array_equal(
            cs.io.read_features(tmp_path / "x.npz").values.toarray(), matrix.toarray()
        )
    sp.save_npz(tmp_path / "x.npz", matrix.tocoo())
    with pytest.raises(
        cs.errors.FileError, match=r"x\.npz holds a sparse matrix in 'coo' format; save it as CSR"
    ):
        cs.io.read_features(tmp_path / "x.npz")


def test_sparse_needs_a_format_that_can(tmp_path):
    with pytest.raises(
        cs.errors.FileError, match=r"x\.csv: a sparse matrix cannot be written .* pass values\.toarray\(\)"
    ):
        cs.io.write_features(sp.eye_array(3), tmp_path / "x.csv")


def test_data_frames_write_what_we_read(tmp_path):
    import pandas as pd

    frame = pd.DataFrame({"a": [1, 2, 2], "b": ["u", None, "v"]}, index=["r", "s", "t"])
    frame.to_csv(tmp_path / "f.csv")
    frame.to_parquet(tmp_path / "f.parquet")
    for ending in ("csv", "parquet"):
        ensemble = cs.io.read_labels(tmp_path / f"f.{ending}")
        assert ensemble.sample_names == ["r", "s", "t"]
        assert ensemble.clustering_names == ["a", "b"]
        assert ensemble.labels.tolist() == [[0, 0], [1, -1], [1, 1]]
    pd.DataFrame(np.arange(12).reshape(4, 3) ** 2).to_csv(tmp_path / "x.csv")  # header ",0,1,2"
    table = cs.io.read_features(tmp_path / "x.csv")
    assert table.feature_names == ["0", "1", "2"]
    assert table.sample_names is None
    assert table.values[1].tolist() == [9, 16, 25]


def test_small_integers_become_float32(tmp_path):
    np.savez(tmp_path / "x.npz", X=np.array([[0, 255], [3, 4]], np.uint8))
    table = cs.io.read_features(tmp_path / "x.npz")
    assert table.values.dtype == np.float32
    assert table.values.tolist() == [[0, 255], [3, 4]]
    np.savez(tmp_path / "x.npz", X=np.array([[0, 2**31], [3, 4]]))
    assert cs.io.read_features(tmp_path / "x.npz").values.dtype == np.float64


def test_writer_refuses(tmp_path):
    with pytest.raises(
        cs.errors.InputError,
        match=r"Columns of a table must have the same length; these have the lengths \[1, 2\]",
    ):
        cs.io.write_table({"a": [1], "b": [1, 2]}, tmp_path / "t.csv")
    with pytest.raises(cs.errors.InputError, match="sample_names has 1 names for 2 rows"):
        cs.io.write_labels([0, 1], tmp_path / "t.csv", sample_names=["a"])
    with pytest.raises(
        cs.errors.FileError, match="the row name 'a' occurs more than once; make the names unique"
    ):
        cs.io.write_labels([0, 1], tmp_path / "t.csv", sample_names=["a", "a"])
    with pytest.raises(cs.errors.FileError, match="holds a NUL character"):
        cs.io.write_labels([0, 1], tmp_path / "t.csv", sample_names=["a", "b\0"])
    with pytest.raises(
        cs.errors.InputError, match=r"labels has shape \(1, 2\); expected one label per object"
    ):
        cs.io.write_labels([[0, 1]], tmp_path / "t.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["iris", "basehock", "comp_vs_sci", "golub_1999_v1"])
def test_reference_features(shared_dir, name):
    path = shared_dir / "data" / f"{name}.npz"
    table = cs.io.read_features(path)
    truth = cs.io.read_labels(path, truth=True)
    assert table.shape[0] == truth.n_samples
    assert truth.n_clusterings == 1


def test_reference_pool(shared_dir):
    path = shared_dir / "data" / "pool_yale165.npz"
    ensemble = cs.io.read_labels(path)
    np.testing.assert_array_equal(ensemble.labels, np.load(path)["labels"])


def test_sparse_features_have_the_indices_that_scikit_learn_takes(tmp_path):
    from sklearn.cluster import KMeans

    path = tmp_path / "sparse.npz"
    sp.save_npz(path, sp.csr_array(np.eye(6, 4)))
    X = cs.io.read_features(path).X
    assert (X.indices.dtype, X.indptr.dtype) == (np.int32, np.int32)
    KMeans(2, n_init=1).fit(X)


def test_names_under_their_former_keys_are_read(tmp_path):
    """Archives and Parquet files that say ``row_names`` and ``column_names``, as they were written before."""
    np.savez(tmp_path / "x.npz", X=np.eye(2), row_names=["a", "b"], column_names=["u", "v"])
    table = cs.io.read_features(tmp_path / "x.npz")
    assert (table.sample_names, table.feature_names) == (["a", "b"], ["u", "v"])
    np.savez(tmp_path / "l.npz", labels=[[0, 1], [1, 1]], row_names=["a", "b"], column_names=["u", "v"])
    ensemble = cs.io.read_labels(tmp_path / "l.npz")
    assert (ensemble.sample_names, ensemble.clustering_names) == (["a", "b"], ["u", "v"])
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    for key in (b"consilience.row_names", b"consilience.sample_names"):
        columns = pyarrow.table({"u": [1.0, 2.0], "who": ["a", "b"]}).replace_schema_metadata({key: b"who"})
        parquet.write_table(columns, tmp_path / "x.parquet")
        assert cs.io.read_features(tmp_path / "x.parquet").sample_names == ["a", "b"]


def test_names_are_written_under_the_names_of_their_parameters(tmp_path):
    cs.io.write_features(np.eye(2), tmp_path / "x.npz", sample_names=["a", "b"], feature_names=["u", "v"])
    with np.load(tmp_path / "x.npz") as held:
        assert set(held) == {"X", "sample_names", "feature_names"}
    cs.io.write_labels([0, 1], tmp_path / "l.npz", sample_names=["a", "b"])
    with np.load(tmp_path / "l.npz") as held:
        assert set(held) == {"label", "sample_names"}
