"""Files that cannot be used: each message names the file, the place, and what to do."""

from __future__ import annotations

import gzip
import io
import os
import zipfile

import numpy as np
import pytest
import scipy.io

import consilience as cs
from consilience.errors import FileError, MissingDependencyError, NotEnoughMemoryError

FEATURES, LABELS = cs.io.read_features, cs.io.read_labels


def written(tmp_path, name: str, content: bytes | str):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("read", [FEATURES, LABELS])
@pytest.mark.parametrize("name", ["t.csv", "t.npy", "t.npz", "t.parquet", "t.mat", "t.csv.gz"])
def test_empty(tmp_path, read, name):
    with pytest.raises(FileError, match=rf"{name} is empty \(0 bytes\)\."):
        read(written(tmp_path, name, b""))


@pytest.mark.parametrize("read", [FEATURES, LABELS])
@pytest.mark.parametrize("content", [b"\n\n", b"   \n", b"\xef\xbb\xbf"])
def test_blank(tmp_path, read, content):
    with pytest.raises(FileError, match=r"t\.csv is empty: it holds no cells\."):
        read(written(tmp_path, "t.csv", content))


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (
            FEATURES,
            "a,b\n1,2\n3\n",
            r"t\.csv, line 3 has 1 cell where the table has 2 \(separated by commas\)\. Look for",
        ),
        (LABELS, "a,b\n1,2\n1,2\n3,4,5\n", r"t\.csv, line 4 has 3 cells where the table has 2"),
        (FEATURES, "1,2\n3,4\n5,6\n7\n", r"t\.csv, line 4 has 1 cell where"),
        (
            FEATURES,
            "a,b\n1,2\n3,x\n",
            r"t\.csv, line 3, column 2 \('b'\): 'x' is not a number\. Every cell but",
        ),
        (
            FEATURES,
            'name,a\nr,1\ns,"2,5"\n',
            r"line 3, column 2 \('a'\): '2,5' is not a number\. Write decimals with a point",
        ),
        (
            FEATURES,
            "1,2,x\n3,4,5\n",
            r"line 1, column 3: 'x' is not a number\. If line 1 is a header, give header=True \(--header",
        ),
        (FEATURES, "a,b\n1,1_0\n2,3\n", r"line 2, column 2 \('b'\): '1_0' is not a number"),
        (
            FEATURES,
            "a,b\n1,2\n",
            r"t\.csv holds a single object; clustering needs at least two \(rows are objects\)",
        ),
        (LABELS, "a,b\n1,2\n", r"t\.csv holds a single object"),
        (FEATURES, "a,b\n", r"t\.csv holds a header but no data below it"),
        (LABELS, "name,b\n", r"t\.csv holds a header but no data below it"),
        (
            FEATURES,
            "n,a\nr,1\nr,2\ns,3\n",
            r"the row name 'r' occurs more than once; make the names in column 1 unique",
        ),
        (LABELS, ",a\nr,1\nr,2\ns,3\ns,4\n", r"t\.csv: the row name 'r' and 's' occur more than once"),
        (
            FEATURES,
            "a,a\n1,2\n3,4\n",
            r"t\.csv: the column name 'a' occurs more than once; rename the columns",
        ),
        (LABELS, "a,a\n1,2\n1,4\n", r"t\.csv: the column name 'a' occurs more than once; rename the columns"),
        (
            FEATURES,
            "a,b\n1,2\n,4\nNaN,6\n",
            r"contains 2 missing values \(NaN\) in 2 of 3 rows and 1 of 2 columns, the first in "
            r"row 2, column 'a'\. Fill them in .* or drop those rows or columns",
        ),
        (
            FEATURES,
            "n,a,b\nx,1,2\ny,3,inf\n",
            r"contains 1 infinite value \(inf\) in 1 of 2 rows .* row 2 \('y'\), column 'b'",
        ),
        (
            LABELS,
            "a,b\n1,\n2,NA\n",
            r"t\.csv: Clustering 'b' \(column 1\) has no labels at all|t\.csv: .*no labels",
        ),
        (
            FEATURES,
            b"\xff\xfe1\x00,\x002\x00\n\x00",
            r"t\.csv is named as text but is UTF-16 text\. Save it as UTF-8",
        ),
        (
            FEATURES,
            b"1,2\n3,\xe94\n",
            r"t\.csv, line 2: byte 0xe9 is not UTF-8; the file is probably in Latin-1.*iconv",
        ),
        (FEATURES, b"1,2\n3,\x004\n", r"t\.csv, line 2 holds a NUL byte: it is binary data or UTF-16"),
        (
            FEATURES,
            gzip.compress(b"1,2\n", mtime=0),
            r"t\.csv is named as text but is gzip data\. Let its name end in \.csv\.gz",
        ),
        (
            LABELS,
            b"PAR1xxxx",
            r"t\.csv is named as text but is a Parquet file\. Let its name end in \.parquet",
        ),
        (FEATURES, 'a,b\n1,2\n"3,4\n5,6\n', r"t\.csv, line 3 has 1 cell where the table has 2"),
        (FEATURES, "a,b\n1,2\n3," + "9" * 140000 + '"\n', r"t\.csv, line 3: field larger than field limit"),
    ],
)
def test_text(tmp_path, read, content, message):
    with pytest.raises(FileError, match=message):
        read(written(tmp_path, "t.csv", content))


def test_index_of_a_single_column(tmp_path):
    with pytest.raises(FileError, match=r"t\.csv has a single column, so none is left beside row names"):
        LABELS(written(tmp_path, "t.csv", "a\n1\n2\n"), index=True)


def test_header_of_another_length(tmp_path):
    with pytest.raises(
        FileError, match=r"the header has 4 cells, the lines below have 2 \(separated by commas\)"
    ):
        FEATURES(written(tmp_path, "t.csv", "a,b,c,d\n1,2\n3,4\n"), header=True)


@pytest.mark.parametrize("read", [FEATURES, LABELS])
def test_not_a_file(tmp_path, read):
    with pytest.raises(FileError, match=r"missing\.csv: no such file\."):
        read(tmp_path / "missing.csv")
    with pytest.raises(FileError, match=r"no such file \(there is no folder .*nowhere either\)"):
        read(tmp_path / "nowhere" / "t.csv")
    with pytest.raises(FileError, match="is a folder; give one file"):
        read(tmp_path)
    with pytest.raises(FileError, match=r"t\.xlsx: unknown kind of file; the name must end in \.csv, \.tsv"):
        read(written(tmp_path, "t.xlsx", b"x"))
    with pytest.raises(FileError, match=r"t\.npz\.gz: unknown kind of file"):
        read(written(tmp_path, "t.npz.gz", b"x"))
    with pytest.raises(FileError, match="cannot be read: embedded null byte"):
        read("a\0b.csv")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may read everything")
def test_unreadable(tmp_path):
    path = written(tmp_path, "t.csv", "1,2\n")
    path.chmod(0)
    with pytest.raises(FileError, match=r"t\.csv cannot be read: Permission denied\."):
        FEATURES(path)


def sample(tmp_path, ending: str) -> bytes:
    path = tmp_path / f"whole{ending}"
    cs.io.write_features(np.random.default_rng(0).normal(size=(60, 7)), path)
    return path.read_bytes()


@pytest.mark.parametrize("ending", [".npy", ".npz", ".parquet", ".mat", ".csv.gz"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_truncated(tmp_path, ending, share):
    whole = sample(tmp_path, ending)
    path = written(tmp_path, f"cut{ending}", whole[: int(share * len(whole))])
    with pytest.raises(FileError, match=rf"cut{ending}.*(truncated|damaged|not an NPZ|holds no)"):
        FEATURES(path)


@pytest.mark.parametrize("ending", [".npy", ".npz", ".parquet", ".mat", ".csv.gz"])
def test_flipped_bytes_never_escape_as_other_errors(tmp_path, ending):
    """A damaged file gives a FileError (or, without a checksum, numbers), never a traceback from within."""
    whole = sample(tmp_path, ending)
    rng = np.random.default_rng(1)
    path = tmp_path / f"bad{ending}"
    refused = 0
    for _ in range(40):
        broken = bytearray(whole)
        for position in rng.integers(0, min(len(broken), 400), size=3):
            broken[position] ^= int(rng.integers(1, 256))
        path.write_bytes(broken)
        try:
            FEATURES(path)
        except (FileError, NotEnoughMemoryError):
            refused += 1
    assert refused > 0


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.npz", b"1,2\n3,4\n", r"t\.npz is not an NPZ archive although its name ends in \.npz\."),
        ("t.npz", b"\x93NUMPY\x01\x00", r"t\.npz is not an NPZ archive .*: it is a NumPy array\."),
        ("t.npy", b"1,2\n3,4\n", r"t\.npy is not an array although its name ends in \.npy\."),
        (
            "t.npy",
            b"PK\x03\x04aaaa",
            r"t\.npy is not an array although its name ends in \.npy: it is a zip archive\.",
        ),
        ("t.parquet", b"1,2\n3,4\n", r"t\.parquet is truncated or damaged, or not a Parquet file"),
        ("t.mat", b"1,2\n3,4\n", r"t\.mat is truncated or damaged, or not a MATLAB file"),
        ("t.csv.gz", b"1,2\n3,4\n", r"t\.csv\.gz is truncated or damaged, or not gzip data"),
    ],
)
def test_false_names(tmp_path, name, content, message):
    with pytest.raises(FileError, match=message):
        FEATURES(written(tmp_path, name, content))


def test_pickles_are_refused(tmp_path):
    objects = np.array([{"a": 1}, None], dtype=object)
    np.savez(tmp_path / "t.npz", labels=objects, other=np.arange(3))
    np.save(tmp_path / "t.npy", objects)
    refusal = (
        r"is an array of Python objects\. "
        r"Python objects would have to be unpickled, which can run code.*np\.savez\(path"
    )
    with pytest.raises(FileError, match=r"t\.npz, array 'labels', " + refusal):
        LABELS(tmp_path / "t.npz")
    with pytest.raises(FileError, match=r"t\.npy " + refusal):
        LABELS(tmp_path / "t.npy")
    # Another array of the same archive can still be read.
    assert LABELS(tmp_path / "t.npz", key="other").n_samples == 3


class Bomb:
    def __reduce__(self):
        return (os.abort, ())


def test_no_pickle_is_ever_run(tmp_path):
    np.save(tmp_path / "t.npy", np.array([Bomb()], dtype=object))
    np.savez(tmp_path / "t.npz", X=np.array([Bomb()], dtype=object))
    for name in ("t.npy", "t.npz"):
        for read in (FEATURES, LABELS):
            with pytest.raises(FileError, match="Python objects"):
                read(tmp_path / name)


def header(shape: tuple[int, ...], dtype: str = "<f8") -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def test_headers_that_promise_too_much(tmp_path):
    path = written(tmp_path, "t.npy", header((10**6, 10**6)) + b"x" * 100)
    with pytest.raises(
        FileError,
        match=r"t\.npy is truncated or damaged: its header promises 8000000000000 bytes, the file holds",
    ):
        FEATURES(path)
    path = tmp_path / "t.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", header((10**6, 10**6)) + b"x" * 100)
    with pytest.raises(FileError, match=r"t\.npz, array 'X', is truncated or damaged: its header promises"):
        FEATURES(path)


def test_archive_that_unpacks_to_more_than_memory(tmp_path, monkeypatch):
    path = tmp_path / "t.npz"
    np.savez_compressed(path, X=np.zeros((1000, 1000)))
    assert path.stat().st_size < 20_000
    monkeypatch.setattr("consilience._kernels.runtime.memory.available_memory", lambda: 1_000_000)
    with pytest.raises(NotEnoughMemoryError, match=r"t\.npz, array 'X', needs 8\.0 MB, but 1\.0 MB are free"):
        FEATURES(path)


def test_impossible_arrays(tmp_path):
    with pytest.raises(FileError, match=r"impossible shape \(-1, 2\)"):
        FEATURES(written(tmp_path, "t.npy", header((-1, 2))))
    np.save(tmp_path / "t.npy", np.zeros((2, 2), complex))
    with pytest.raises(FileError, match=r"t\.npy has the type complex128; expected numbers or text"):
        FEATURES(tmp_path / "t.npy")
    np.save(tmp_path / "t.npy", np.zeros((2, 2, 2)))
    with pytest.raises(FileError, match=r"t\.npy holds 'array' \(2, 2, 2\)"):
        FEATURES(tmp_path / "t.npy")
    np.save(tmp_path / "t.npy", np.zeros((5, 0), int))
    with pytest.raises(FileError, match=r"t\.npy: labels has shape \(5, 0\): no clusterings"):
        LABELS(tmp_path / "t.npy")
    with pytest.raises(FileError, match=r"t\.npy has no columns of features"):
        FEATURES(tmp_path / "t.npy")
    np.save(tmp_path / "t.npy", np.zeros((0, 5)))
    with pytest.raises(FileError, match=r"t\.npy has no rows"):
        FEATURES(tmp_path / "t.npy")


def test_which_array(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, first=np.eye(3), second=np.eye(4))
    with pytest.raises(
        FileError,
        match=r"holds 'first' \(3, 3\) and 'second' \(4, 4\): none is called 'X', 'x' and 'fea'.*Name one",
    ):
        FEATURES(path)
    assert FEATURES(path, key="second").shape == (4, 4)
    with pytest.raises(FileError, match=r"t\.npz has no array 'third'; it holds 'first' \(3, 3\)"):
        FEATURES(path, key="third")
    np.savez(path, words=np.array(["a", "b"]))
    with pytest.raises(FileError, match=r"'words' \(2,\) cannot be features"):
        FEATURES(path, key="words")


@pytest.mark.parametrize(
    "change",
    [
        {"indices": np.array([0, 99, 1])},
        {"indices": np.array([0, -5, 1])},
        {"indptr": np.array([0, 3, 1])},
        {"indptr": np.array([0, 1, 400])},
        {"shape": np.array([2, 10**18])},
        {"shape": np.array([2])},
        {"data": np.array([1.0])},
    ],
)
def test_sparse_pieces_that_do_not_fit(tmp_path, change):
    pieces = {
        "data": np.ones(3),
        "indices": np.array([0, 2, 1]),
        "indptr": np.array([0, 2, 3]),
        "shape": np.array([2, 3]),
    }
    np.savez(tmp_path / "ok.npz", **pieces)
    assert FEATURES(tmp_path / "ok.npz").values.toarray().tolist() == [[1, 0, 1], [0, 1, 0]]
    np.savez(tmp_path / "t.npz", **{**pieces, **change})
    if "shape" in change and len(change["shape"]) == 2:
        assert FEATURES(tmp_path / "t.npz").shape == (
            2,
            10**18,
        )  # absurd, but costs nothing and says what it is
        return
    with pytest.raises(FileError, match=r"t\.npz: the pieces of the sparse matrix do not fit together"):
        FEATURES(tmp_path / "t.npz")


def test_sparse_nan_is_found(tmp_path):
    np.savez(tmp_path / "t.npz", data=[1, np.nan, 2], indices=[0, 2, 1], indptr=[0, 1, 3], shape=[2, 3])
    with pytest.raises(
        FileError,
        match=r"contains 1 missing value \(NaN\) in 1 of 2 rows and 1 of 3 columns, the first in row 2, "
        r"column 3",
    ):
        FEATURES(tmp_path / "t.npz")


def test_codes_without_categories(tmp_path):
    np.savez(tmp_path / "t.npz", labels=np.array([[0], [5]]), categories_0=np.array(["a", "b"]))
    with pytest.raises(
        FileError, match=r"column 0 of 'labels' has codes from 0 to 5, but 'categories_0' has 2 values"
    ):
        LABELS(tmp_path / "t.npz")
    np.savez(tmp_path / "t.npz", labels=np.array([[0], [1]]), recipes=np.array("{"))
    with pytest.raises(FileError, match=r"the entry 'recipes' is not JSON"):
        LABELS(tmp_path / "t.npz")


def test_parquet_columns(tmp_path):
    import pandas as pd

    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}).to_parquet(path)
    with pytest.raises(
        FileError, match=r"t\.parquet, column 'b', row 1: 'x' is not a number; drop the column or encode it"
    ):
        FEATURES(path)
    pd.DataFrame({"a": [[1], [2]]}).to_parquet(path)
    with pytest.raises(FileError, match=r"column 'a' has the type list<.*>; expected numbers or text"):
        LABELS(path)


def test_matlab(tmp_path):
    path = tmp_path / "t.mat"
    scipy.io.savemat(path, {"fea": np.eye(3), "gnd": np.array([[1, 2, 2]]), "s": {"a": 1}})
    assert FEATURES(path).values.tolist() == np.eye(3).tolist()
    assert LABELS(path, truth=True).labels.tolist() == [[0], [1], [1]]
    with pytest.raises(FileError, match=r"'s' .* cannot be features"):
        FEATURES(path, key="s")


def test_matlab_73(tmp_path, monkeypatch):
    import h5py

    path = tmp_path / "t.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        file["X"] = np.arange(6.0).reshape(2, 3)  # MATLAB stores the transpose
        file["elsewhere"] = h5py.ExternalLink("/etc/passwd", "/")
    with open(path, "r+b") as handle:
        handle.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    assert FEATURES(path).values.tolist() == [[0, 3], [1, 4], [2, 5]]
    with pytest.raises(FileError, match="has no array 'elsewhere'"):
        FEATURES(path, key="elsewhere")
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(
        MissingDependencyError,
        match=r"t\.mat is a MATLAB v7\.3 file; reading it needs the package 'h5py'.*\[io\]",
    ):
        FEATURES(path)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    path = written(tmp_path, "t.parquet", sample(tmp_path, ".parquet"))
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(
        MissingDependencyError,
        match=r"needs the package 'pyarrow'; install it with: pip install 'consilience\[io\]'",
    ):
        FEATURES(path)
    with pytest.raises(MissingDependencyError, match="pyarrow"):
        cs.io.check_writable(tmp_path / "new.parquet")


def test_transposed_labels_are_suspected(tmp_path):
    path = tmp_path / "t.npy"
    np.save(path, np.random.default_rng(0).integers(0, 4, size=(8, 500)))
    with pytest.raises(FileError, match=r"t\.npy: labels has shape \(8, 500\).*Read it with transpose=True"):
        LABELS(path)
    assert cs.io.read_labels(path, transpose=True).shape == (500, 8)
    assert cs.Ensemble(np.load(path), sample_names=range(8)).shape == (8, 500)
