"""Small files that ask for much, and damage of every kind: one message, soon, whatever a library would do."""

from __future__ import annotations

import base64
import gzip
import io
import time
import warnings
import zipfile
import zlib

import numpy as np
import pytest

import consilience as cs
from consilience.errors import ConsilienceError, FileError, NotEnoughMemoryError

from ..fuzz import files

FEATURES, LABELS = cs.io.read_features, cs.io.read_labels


def header(shape, descr="<i8") -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": descr, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def archive(path, **members: bytes):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for key, content in members.items():
            out.writestr(f"{key}.npy", content)
    return path


@pytest.fixture
def soon():
    start = time.process_time()  # of this process: the machine may be busy
    yield
    assert time.process_time() - start < 20  # seconds; these took minutes or all memory


# What a header promises
# ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", [FEATURES, LABELS])
@pytest.mark.parametrize(
    ("shape", "descr", "message"),
    [
        ((0, 10**12), "<i8", r"(no objects|has no rows)"),
        ((10**9, 2), "|S0", r"has the type '\|S0': its texts have no width"),
        ((0, 2**62, 2**62), "<i8", r"cannot be|none is called|holds 'array'"),
        ((True, 3), "<i8", r"impossible shape \(True, 3\)"),
    ],
)
def test_array_headers(tmp_path, soon, read, shape, descr, message):
    path = tmp_path / "t.npy"
    path.write_bytes(header(shape, descr) + bytes(24))
    with pytest.raises(FileError, match=message):
        read(path)
    content = header(shape, descr)
    with pytest.raises(FileError, match=message):
        read(archive(tmp_path / "t.npz", labels=content, X=content) if len(shape) == 2 else path)


@pytest.mark.parametrize("text", [b"{'a': (", b"'", b"[" * 3000, b"{'descr': '<f8'}"])
def test_headers_that_do_not_parse(tmp_path, text):
    path = tmp_path / "t.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text)
    with pytest.raises(FileError, match="is truncated or damaged, or not a NumPy array"):
        FEATURES(path)


def test_long_header_is_not_unpacked(tmp_path, soon):
    content = b"\x93NUMPY\x02\x00" + (2**30).to_bytes(4, "little") + bytes(1 << 20)
    with pytest.raises(FileError, match="a header of 1073741824 bytes"):
        FEATURES(archive(tmp_path / "t.npz", X=content))


def test_sparse_archive_with_a_bad_member(tmp_path):
    path = tmp_path / "t.npz"
    pieces = {
        "data": np.ones(1),
        "indptr": np.array([0, 1]),
        "shape": np.array([1, 1]),
        "format": np.array("csr"),
    }
    np.savez(path, **pieces)
    with pytest.raises(FileError, match=r"a sparse matrix without 'indices'; write it again with save_npz"):
        FEATURES(path)
    with zipfile.ZipFile(path, "a") as out:
        out.writestr("indices.npy", b"nonsense")
    with pytest.raises(FileError, match=r"array 'indices', is truncated or damaged"):
        FEATURES(path)


def test_unknown_zip_version(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, X=np.eye(3))
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\x01\x02")
    content[at + 6 : at + 8] = b"\xff\x00"  # the version needed to unpack it
    path.write_bytes(content)
    with pytest.raises(
        FileError, match=r"t\.npz is truncated or damaged, or not a zip archive: zip file version 25\.5"
    ):
        FEATURES(path)


# Parquet
# -----------------------------------------------------------------------------------------------------------


def test_parquet_of_one_long_text(tmp_path, soon):
    """20 GB of text in 160 kB: each text is held once."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = 20_000
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), ["x" * 1_000_000])
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": texts, "b": [i % 2 for i in range(n)]}), path, store_schema=False)
    assert path.stat().st_size < 300_000
    ensemble = LABELS(path)
    assert ensemble.n_clusters_per_clustering.tolist() == [1, 2]
    with pytest.raises(FileError, match=r"column 'a', row 1: 'x{37}\.\.\.' is not a number") as caught:
        FEATURES(path)
    assert len(str(caught.value)) < 500


def test_parquet_that_unpacks_to_more_than_memory(tmp_path, monkeypatch):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"
    table = pa.table({"a": [f"{i:03}" + "x" * 10_000 for i in range(500)]})
    pq.write_table(table, path, compression="zstd", use_dictionary=False)
    monkeypatch.setattr("consilience._kernels.runtime.memory.available_memory", lambda: 1_000_000)
    with pytest.raises(
        NotEnoughMemoryError, match=r"t\.parquet needs 10\.\d MB, but 1\.0 MB are free; store fewer"
    ):
        LABELS(path)


@pytest.mark.parametrize(
    "metadata",
    [
        {b"pandas": b"{"},
        {b"pandas": b"\xff"},
        {b"consilience.sample_names": b"\xff"},
        {b"consilience.row_names": b"\xff"},
    ],
)
def test_parquet_metadata_that_does_not_parse(tmp_path, metadata):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [0, 1]}).replace_schema_metadata(metadata), path)
    with pytest.raises(FileError, match="is truncated or damaged, or not a Parquet file"):
        LABELS(path)


@pytest.mark.parametrize("notes", [b"[]", b"3", b'{"index_columns": 3}', b'{"index_columns": [{}]}'])
def test_parquet_notes_without_an_index(tmp_path, notes):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [0, 1]}).replace_schema_metadata({b"pandas": notes}), path)
    assert LABELS(path).labels.tolist() == [[0], [1]]


def test_parquet_names_and_values_that_are_not_utf8(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"heading": ["value", "other"]}), path, compression="none", store_schema=False)
    content = path.read_bytes()
    for word in (b"heading", b"value"):
        path.write_bytes(content.replace(word, b"\xff" * len(word)))
        with pytest.raises(FileError, match="is truncated or damaged, or not a Parquet file"):
            LABELS(path)


#: 862 bytes whose column notes end the process if pyarrow is asked for them (histograms of the wrong length).
ABORTS = (
    "c-nPS&2HL25FQ)L;(#Kh(ptNc4;+G(N(sSL619~pbxa8TAv7QmN-vddEJJDxH4U_H(kJSvkJ5K&cNc7fqO8_4<N3aCJY%nK"
    "v2PO~N95>)Xgtt~ZeGH%n%Y!N8;6Ggpz=#ogiRaL+T`scLFq^JCsn*1fx@j<;)WxfcR&sb0aX;f4LFv5M^qvj>s$cUm%${Q"
    "c|-?Nsi{;;yjfU-j>$<p@r){db_X0*#$ag7WR3+Usj!+3Y$G8&Z}^69m7Tqzn8_OfqJm?Tna(WGc&Qz+;^)eHXK%VEm9SNg"
    "rE*{ltUrqLXwE|ZJQEwgR711M+yOhGB$y}5X*>;+AgrhJ^%pV5k}CgzR<PgyG<v;xGxV=|Ce}J~5wVAx^%3zL-3YG{BWy-8"
    "=em3NTKHCux1#NRRz>3Pg?FWoa>T`qdUYnEYmsetSANo6`0Y6MXWh7yd{~X`R}Xh1I}T*28=?FvqE7yh=DBEH_BN5pVNoCR"
    "@U!fAAgDpk??27I6RqCdbLPt)x;<?2?hpgK+A>-hyEl~cyeoz-inK2#{%DAWMB;CNRu^9S?IHYr8Y~v4UdlgBbrq(|={%{v"
    "xU4toHgouS+-&&GPxCGRv;G5AaH-+"
)


def test_parquet_with_damaged_column_notes(tmp_path):
    path = tmp_path / "t.parquet"
    path.write_bytes(zlib.decompress(base64.b85decode(ABORTS)))
    seen = r"(Definition level histogram|Column 1 named b expected length 2)"  # by newer pyarrow, by older
    with pytest.raises(FileError, match=f"is truncated or damaged, or not a Parquet file: {seen}"):
        LABELS(path)


def test_unsigned_integers_with_missing_ones(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "t.parquet"
    values = pa.array([2**60, None, 2**60 + 1], pa.uint64())
    pq.write_table(pa.table({"a": values}), path)
    assert LABELS(path).labels.tolist() == [[0], [-1], [1]]


# Text
# ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [b"", b"a,b\n0,1\n"])
def test_enormous_rows_of_labels(tmp_path, soon, before):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(before + (b"0," * 2_000_000 + b"0\n") * 2, compresslevel=1))
    with pytest.raises(FileError, match=r"t\.csv\.gz(, line 3)? has 2000001 (columns, and each|cells)"):
        LABELS(path)


def test_lines_may_end_in_cr():
    """A file with bare CR is many short lines, not one long one."""
    assert LABELS(io.BytesIO(b"0,1\r" * 120_000)).n_samples == 120_000


@pytest.mark.parametrize("read", [FEATURES, LABELS])
def test_text_that_unpacks_to_more_than_memory(tmp_path, monkeypatch, read):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"1,2,3\n0,1,2\n" * 500_000, compresslevel=1))
    monkeypatch.setattr("consilience._kernels.runtime.memory.available_memory", lambda: 10_000_000)
    with pytest.raises(
        NotEnoughMemoryError, match=r"t\.csv\.gz needs .* but 10\.0 MB are free; use fewer rows"
    ):
        read(path)


def test_blank_lines_without_end(tmp_path, soon):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n3,4\n" + b"\n" * 3_000_000))
    for read in (FEATURES, LABELS):
        with pytest.raises(FileError, match="holds more than 1000000 blank lines, the first is line 3"):
            read(path)


@pytest.mark.parametrize("read", [FEATURES, LABELS])
def test_blank_bodies_warn_of_nothing(read):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for body in (b"a\n\n\n", b"a,b\n \n", b"1 2\n\n", b"a\n\n1\n"):
            with pytest.raises(FileError):
                read(io.BytesIO(body))


@pytest.mark.parametrize("read", [FEATURES, LABELS])
def test_lines_of_empty_quotes_and_blanks(read):
    for body in (b'\xef\xbb\xbf" "\r\n', b"\n" * 2001 + b"1,2\n3,4\n"):
        with pytest.raises(FileError, match="is empty: its first 2000 lines hold no cells"):
            read(io.BytesIO(body))


def test_neither_interrupt_nor_lack_of_memory_is_called_damage(tmp_path, monkeypatch):
    path = tmp_path / "t.npz"
    np.savez(path, X=np.eye(3))
    for raised, expected in ((MemoryError, NotEnoughMemoryError), (KeyboardInterrupt, KeyboardInterrupt)):

        def fail(*_, raised=raised, **__):
            raise raised

        monkeypatch.setattr("zipfile.ZipFile.open", fail)
        with pytest.raises(expected):
            FEATURES(path)


# Everything else
# ---------------------------------------------------------------------------------------------------


def test_mutated_files(tmp_path):
    """A short walk over the fuzzer's files; HDF5, whose library may crash, is left to the fuzzer itself."""
    rng = np.random.default_rng(0)
    seen = 0
    for ending, content in files.cases(rng):
        if content.startswith(b"MATLAB 7.3") or b"HDF" in content[:520]:
            continue
        path = tmp_path / f"t{ending}"
        path.write_bytes(content)
        files.check(path)
        seen += 1
        if seen == 300:
            return


def test_the_check_lets_foreign_errors_through(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("1,2\n3,4\n")
    files.check(path)
    monkeypatch.setattr("consilience.io._read_labels.TextTable", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        files.check(path)
    assert issubclass(FileError, ConsilienceError)


def test_texts_with_numbers_that_are_no_characters(tmp_path):
    path = tmp_path / "labels.npy"
    texts = np.array([["a", "b"], ["c", "d"], ["a", "d"]])
    texts.view(np.uint32)[1, 1] = 0x110000
    np.save(path, texts)
    with pytest.raises(
        FileError, match=r"labels.npy is damaged: its texts hold numbers that are not characters"
    ):
        cs.io.read_labels(path)
