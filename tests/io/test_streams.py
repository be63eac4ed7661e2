"""Files without a name, tables lying on their side, R's quotes, genes in rows, and names that travel."""

from __future__ import annotations

import gzip
import io
import os
import threading

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp

import consilience as cs
from consilience.errors import ConsilienceWarning, FileError, InputError, OrientationWarning

L = np.column_stack([np.repeat([0, 1, 2], 4), np.repeat([0, 1], 6)])
NAMES = [f"s{i}" for i in range(12)]
X = np.random.default_rng(0).normal(size=(12, 3))


# Streams ---------------------------------------------------------------------------------------------------


def stored(kind: str, table: np.ndarray, key: str) -> bytes:
    out = io.BytesIO()
    frame = pd.DataFrame(table, columns=[f"c{j}" for j in range(table.shape[1])])
    if kind == "csv":
        return frame.to_csv(index=False).encode()
    if kind == "csv.gz":
        return gzip.compress(frame.to_csv(index=False).encode())
    if kind == "npy":
        np.save(out, table)
    elif kind == "npz":
        np.savez(out, **{key: table})
    elif kind == "parquet":
        frame.to_parquet(out, index=False)
    else:
        scipy.io.savemat(out, {key: table})
    return out.getvalue()


class Once(io.RawIOBase):
    """Bytes that come one after the other, as from a pipe."""

    def __init__(self, data: bytes):
        self._data = io.BytesIO(data)

    def readable(self):
        return True

    def readinto(self, buffer):
        return self._data.readinto(buffer)


@pytest.mark.parametrize("opened", [io.BytesIO, Once, lambda data: io.BufferedReader(Once(data))])
@pytest.mark.parametrize("kind", ["csv", "csv.gz", "npy", "npz", "parquet", "mat"])
def test_streams_of_every_format(kind, opened):
    assert cs.io.read_labels(opened(stored(kind, L, "labels"))).labels.tolist() == L.tolist()
    np.testing.assert_allclose(cs.io.read_features(opened(stored(kind, X, "X"))).X, X)


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "npz", "parquet"])
def test_named_pipes(kind, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(stored(kind, L, "labels")))
    writer.start()
    assert cs.io.read_labels(pipe).labels.tolist() == L.tolist()
    writer.join()


def test_a_stream_that_is_broken_is_told_as_a_file_is():
    with pytest.raises(FileError, match="is truncated or damaged"):
        cs.io.read_labels(io.BytesIO(stored("npz", L, "labels")[:40]))
    with pytest.raises(FileError, match="UTF-16 text"):
        cs.io.read_labels(io.BytesIO("a,b\n1,2\n".encode("utf-16")))


# The other way round ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".txt", ".csv.gz", ".parquet", ".npy", ".npz"])
def test_transposed_features(ending, tmp_path):
    path = tmp_path / f"genes{ending}"
    genes = ["TP53", "MYC", "EGFR"]
    if ending in (".npy", ".npz"):
        np.save(path, X.T) if ending == ".npy" else np.savez(
            path, X=X.T, sample_names=genes, feature_names=NAMES
        )
    else:
        cs.io.write_features(X.T, path, sample_names=genes, feature_names=NAMES)
    table = cs.io.read_features(path, transpose=True)
    np.testing.assert_allclose(table.X, X)
    if ending != ".npy":
        assert (table.sample_names, table.feature_names) == (NAMES, genes)
    assert "Transposed: columns of the file are objects." in table.decisions


def test_transposed_sparse_features(tmp_path):
    sp.save_npz(tmp_path / "x.npz", sp.csr_array(X.T))
    np.testing.assert_allclose(cs.io.read_features(tmp_path / "x.npz", transpose=True).X.toarray(), X)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".npy"])
def test_transposed_labels(ending, tmp_path):
    path = tmp_path / f"labels{ending}"
    frame = pd.DataFrame(L.T, columns=NAMES, index=["one", "two"])
    if ending == ".npy":
        np.save(path, L.T)
    elif ending == ".parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, sep="," if ending == ".csv" else "\t")
    ensemble = cs.io.read_labels(path, transpose=True)
    assert ensemble.labels.tolist() == L.tolist()
    if ending != ".npy":
        assert (ensemble.sample_names, ensemble.clustering_names) == (NAMES, ["one", "two"])
    with pytest.warns(OrientationWarning, match=r"Read it with transpose=True \(--transpose\)"):
        cs.io.read_labels(path)


def test_transposed_labels_are_typed_by_clustering():
    text = b"method,a,b,c,d\nkm,1,1,2,NA\nby hand,x,x,y,y\n"
    ensemble = cs.io.read_labels(io.BytesIO(text), transpose=True)
    assert ensemble.categories[0].tolist() == [1, 2]
    assert ensemble.categories[1].tolist() == ["x", "y"]
    assert ensemble.labels[3].tolist() == [-1, 1]


def test_what_cannot_be_transposed(tmp_path):
    cs.io.write_ensemble(cs.Ensemble.from_clusterings([["a", "b", "b"]]), tmp_path / "e.npz")
    with pytest.raises(FileError, match="written with its clusterings in columns; read it without transpose"):
        cs.io.read_labels(tmp_path / "e.npz", transpose=True)
    with pytest.raises(InputError, match="the column 't' cannot be read from a transposed table"):
        cs.io.read_features(io.BytesIO(b"t,x\n1,2\n3,4\n"), column="t", transpose=True)


def test_more_columns_than_clusterings_can_be_transposed():
    wide = (
        b"name,"
        + b",".join(b"s%d" % i for i in range(100_001))
        + b"\none,"
        + b",".join([b"1", b"2"] * 50_000)
        + b",1\n"
    )
    with pytest.raises(FileError, match=r"transpose=True \(--transpose\)"):
        cs.io.read_labels(io.BytesIO(wide))
    assert cs.io.read_labels(io.BytesIO(wide), transpose=True).shape == (100_001, 1)


# R's quotes ------------------------------------------------------------------------------------------------

R_NAMES = ['GENE "0", alpha', 'say "hi"', "plain", '5" pipe', "C:\\dir", '"']


@pytest.mark.parametrize("separator", [",", "\t", " ", ";"])
@pytest.mark.parametrize("doubled", [False, True])
def test_quotes_inside_names(separator, doubled):
    quoted = ['"' + name.replace('"', '""' if doubled else '\\"') + '"' for name in R_NAMES]
    lines = [separator.join(['"x"', '"y"'])]  # as R writes it: a cell less than below
    lines += [separator.join([name, str(i), str(i * 0.5)]) for i, name in enumerate(quoted)]
    table = cs.io.read_features(io.BytesIO("\n".join(lines).encode() + b"\n"))
    assert table.sample_names == R_NAMES
    np.testing.assert_allclose(table.X[:, 1], np.arange(6) / 2)


def test_a_backslash_at_the_end_of_a_cell_is_one():
    text = b'"name","x","y"\n"C:\\dir\\",1,2\n"D:\\",3,4\n'
    assert cs.io.read_features(io.BytesIO(text)).sample_names == ["C:\\dir\\", "D:\\"]


def test_quotes_escaped_far_down_and_across_blocks(monkeypatch):
    monkeypatch.setattr("consilience.io._text._BLOCK", 64)
    rows = [f'"row {i}",{i},{i + 0.5}' for i in range(40)]
    rows[30] = '"a \\"b\\", c",30,30.5'
    rows[35] = '"5\\" pipe",35,35.5'
    table = cs.io.read_features(io.BytesIO(("name,x,y\n" + "\n".join(rows) + "\n").encode()))
    assert table.sample_names[30] == 'a "b", c'
    assert table.sample_names[35] == '5" pipe'
    assert table.sample_names[39] == "row 39"


# Genes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "suspected"),
    [
        ([f"ENSG{i:011d}" for i in range(60)], True),
        ([f"ENSMUSG{i:011d}.{i}" for i in range(60)], True),
        ([f"{36000 + i}_at" for i in range(60)], True),
        ([f"{200000 + i}_s_at" for i in range(60)], True),
        ([f"NM_{10000 + i}" for i in range(60)], True),
        (["TP53", "Actb", "GAPDH", "MYC", "EGFR", *(f"LOC{i}" for i in range(60))], True),
        ([f"TCGA-{i}" for i in range(60)], False),
        ([f"AD{i}" for i in range(60)], False),
        ([str(i) for i in range(100, 160)], False),
        ([f"sample {i}" for i in range(60)], False),
    ],
)
def test_genes_in_rows_are_suspected(names, suspected, tmp_path):
    path = tmp_path / "t.tsv"
    cs.io.write_features(np.random.default_rng(0).normal(size=(len(names), 5)), path, sample_names=names)
    said = []
    cs.io.read_features(path, on_note=said.append)
    assert ("look like genes" in said[0]) == suspected
    if suspected:
        assert f"The {len(names)} row names look like genes ('{names[0]}' and '{names[1]}', ...)" in said[0]
        assert "give transpose=True (--transpose)" in said[0]
        said.clear()
        assert cs.io.read_features(path, transpose=True, on_note=said.append).n_samples == 5
        assert "look like genes" not in said[0]


# Names travel ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".csv", ".npz", ".mat", ".parquet"])
def test_labels_keep_their_sample_names(ending, tmp_path):
    path = tmp_path / f"labels{ending}"
    cs.io.write_labels(L[:, 0], path, sample_names=NAMES, confidence=np.ones(12))
    assert cs.io.read_labels(path).sample_names == NAMES


def test_names_beside_another_array_are_left_alone(tmp_path):
    np.savez(tmp_path / "t.npz", y=L[:, 0], names=["same"] * 12)
    assert cs.io.read_labels(tmp_path / "t.npz").sample_names is None


def test_an_index_that_is_no_clustering_can_be_named_so(tmp_path):
    frame = pd.DataFrame({"key": np.arange(100, 112), "a": L[:, 0], "b": L[:, 1]})
    frame.to_csv(tmp_path / "l.csv", index=False)
    with pytest.warns(
        ConsilienceWarning, match=r"Column 'key' has a label of its own .*row names \(index=True, or --index"
    ):
        cs.io.read_labels(tmp_path / "l.csv")
    assert cs.io.read_labels(tmp_path / "l.csv", index=True).shape == (12, 2)
