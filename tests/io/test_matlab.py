"""Our reader of MATLAB files against SciPy's writer and reader."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import consilience as cs
from consilience.errors import FileError
from consilience.io._matlab import variables

from ..zoo import random_sparse

SPARSE = random_sparse((7, 5), 0.4, "csc")


def read(path) -> dict:
    with open(path, "rb") as handle:
        return {key: variable.load() for key, variable in variables(handle, str(path)).items()}


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("version", ["4", "5"])
def test_numbers_agree_with_scipy(tmp_path, version, compressed):
    rng = np.random.default_rng(1)
    arrays = {
        f"v{i}": (rng.normal(size=shape) * 90).astype(dtype)
        for i, (dtype, shape) in enumerate(
            (dtype, shape)
            for dtype in (
                "f8",
                "f4",
                "i4",
                "i2",
                "u2",
                "u1",
                *(("i8", "u8", "i1", "u4") if version == "5" else ()),
            )
            for shape in ((3, 4), (1, 1), (1, 3), (5, 1), (0, 0))
        )
    }
    scipy.io.savemat(tmp_path / "t.mat", arrays, format=version, do_compression=compressed)
    got, wanted = read(tmp_path / "t.mat"), scipy.io.loadmat(tmp_path / "t.mat")
    for key in arrays:
        assert got[key].dtype == wanted[key].dtype.newbyteorder("=")
        np.testing.assert_array_equal(got[key], wanted[key])
        assert got[key].flags.writeable


@pytest.mark.parametrize("version", ["4", "5"])
def test_sparse_agrees_with_scipy(tmp_path, version):
    for matrix in (SPARSE, SPARSE[:, :0], SPARSE * 0, sp.csc_array((4, 4))):
        if version == "4" and 0 in matrix.shape:
            continue
        scipy.io.savemat(tmp_path / "t.mat", {"X": matrix}, format=version)
        got = read(tmp_path / "t.mat")["X"]
        assert got.shape == matrix.shape
        np.testing.assert_array_equal(got.toarray(), matrix.toarray())


@pytest.mark.parametrize("version", ["4", "5"])
def test_text(tmp_path, version):
    scipy.io.savemat(
        tmp_path / "t.mat", {"one": "plain", "rows": np.array(["ab", "cde", "f"])}, format=version
    )
    got = read(tmp_path / "t.mat")
    assert got["one"].tolist() == ["plain"]
    assert [text.rstrip() for text in got["rows"].tolist()] == ["ab", "cde", "f"]


def test_cells(tmp_path):
    cells = np.array([["ä", 3], ["", 2.5], ["name ", "\U0001f600"]], object)
    scipy.io.savemat(tmp_path / "t.mat", {"cells": cells, "flag": np.array([[True, False]])})
    got = read(tmp_path / "t.mat")
    assert got["cells"].tolist() == cells.tolist()
    assert got["flag"].tolist() == [[1, 0]]


def test_big_endian(tmp_path):
    matrix = struct.pack(">IIIIIIii", 6, 8, 6, 0, 5, 8, 2, 2) + struct.pack(">HH4s", 1, 1, b"X\0\0\0")
    matrix += struct.pack(">II4d", 9, 32, 1, 2, 3, 4)
    content = b"MATLAB 5.0".ljust(124) + b"\x01\x00MI" + struct.pack(">II", 14, len(matrix)) + matrix
    (tmp_path / "t.mat").write_bytes(content)
    assert cs.io.read_features(tmp_path / "t.mat").values.tolist() == [[1, 3], [2, 4]]
    np.testing.assert_array_equal(scipy.io.loadmat(tmp_path / "t.mat")["X"], [[1, 3], [2, 4]])


def test_what_is_not_read(tmp_path):
    path = tmp_path / "t.mat"
    nested = np.empty(2, object)
    nested[:] = [np.eye(2), np.eye(3)]
    scipy.io.savemat(path, {"X": np.eye(2) * 1j, "labels": nested, "s": {"a": 1}})
    with pytest.raises(FileError, match=r"t\.mat, 'X', holds complex numbers; save real ones"):
        cs.io.read_features(path)
    with pytest.raises(FileError, match=r"'labels', cell 1 holds 4 values; expected one text or number"):
        cs.io.read_labels(path)
    with pytest.raises(FileError, match=r"'s' .* cannot be features"):
        cs.io.read_features(path, key="s")


@pytest.mark.parametrize(
    ("piece", "damage", "message"),
    [
        (
            SPARSE.indices,
            lambda v: np.where(np.arange(v.size) % 3, v, 2**30),
            "indices run from 0 to 1073741824",
        ),
        (SPARSE.indices, lambda v: v - 5, "indices run from -5"),
        (SPARSE.indptr, lambda v: v[::-1], "indptr does not rise from 0"),
        (SPARSE.indptr, lambda v: v * 1000, r"indptr promises \d+ entries"),
        (np.array(SPARSE.shape), lambda v: [7, 9], "indptr has 6 values, expected 10"),
        (np.array(SPARSE.shape), lambda v: [2, 5], "indices run from 0 to 6, expected 0 to 1"),
    ],
)
def test_damaged_sparse_matrix(tmp_path, piece, damage, message):
    """SciPy's kernels trust the indices, which can end the process. Its writer does too, hence by bytes."""
    path = tmp_path / "t.mat"
    scipy.io.savemat(path, {"X": SPARSE})
    content, old = path.read_bytes(), piece.astype("<i4").tobytes()
    assert content.count(old) == 1
    path.write_bytes(content.replace(old, np.asarray(damage(piece), "<i4").tobytes()))
    with pytest.raises(
        FileError, match=rf"t\.mat, 'X': the pieces of the sparse matrix do not fit together: {message}"
    ):
        cs.io.read_features(path)


def hdf5(path, rows=7, **change) -> None:
    import h5py

    pieces = {"data": SPARSE.data, "ir": SPARSE.indices.astype("u8"), "jc": SPARSE.indptr.astype("u8")}
    with h5py.File(path, "w", userblock_size=512) as file:
        group = file.create_group("X")
        group.attrs["MATLAB_sparse"] = np.uint64(rows)
        for key, value in (pieces | change).items():
            group[key] = value
    with open(path, "r+b") as handle:
        handle.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")


def test_sparse_in_version_73(tmp_path):
    path = tmp_path / "t.mat"
    hdf5(path)
    np.testing.assert_array_equal(cs.io.read_features(path).values.toarray(), SPARSE.toarray())
    hdf5(path, ir=SPARSE.indices.astype("u8") + 2**40)
    with pytest.raises(FileError, match="do not fit together: indices run from 10995"):
        cs.io.read_features(path)
    hdf5(path, rows=3)
    with pytest.raises(FileError, match="do not fit together: indices run from 0 to 6, expected 0 to 2"):
        cs.io.read_features(path)
