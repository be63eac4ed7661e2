"""Hostile files in every format, damage to them, and the check that readers answer with our errors.

``cases(rng)`` never ends: it yields whole files, mutated files and files that lie about their size.
``check(path)`` reads one and lets only the errors of :mod:`consilience.errors` pass. Damaged HDF5 or Parquet
can, in principle, bring down the libraries that parse them: call both in a child process.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from os import PathLike

import numpy as np
import scipy.io
import scipy.sparse as sp

import consilience as cs
from consilience.errors import ConsilienceError, ConsilienceWarning

from ..zoo import random_sparse

Case = tuple[str, bytes]
Maker = Callable[[np.random.Generator], Case]

_WORDS = (
    "a",
    "b",
    "NA",
    "",
    "1",
    "-0",
    "1e5",
    "ä",
    '"',
    "name",
    " ",
    "x y",
    "-1",
    "1,5",
    "\u2028",
    "=1",
    "0",
    "nan",
)
_HUGE = (0, 1, 2, 3, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**62, 2**63 - 1, 10**12)


def _pick(rng: np.random.Generator, items):
    return items[int(rng.integers(len(items)))]


def _labels(rng: np.random.Generator) -> np.ndarray:
    labels = rng.integers(-1, 4, size=(int(rng.integers(2, 9)), int(rng.integers(1, 4))))
    labels[0] = 0
    return labels.astype(_pick(rng, ["i1", "i2", "<i8", ">i4", "f8", "u1"]))


def _features(rng: np.random.Generator) -> np.ndarray:
    values = rng.normal(size=(int(rng.integers(2, 9)), int(rng.integers(1, 5))))
    return values.astype(_pick(rng, ["f8", "f4", ">f8", "f2"]))


def _sparse(rng: np.random.Generator):
    n, p = (int(v) for v in rng.integers(2, 9, size=2))
    return random_sparse((n, p), 0.5, _pick(rng, ["csr", "csc"]), rng)


# Makers: one file each
# ---------------------------------------------------------------------------------------------


def text(rng: np.random.Generator) -> Case:
    """Tables of odd words, with every separator."""
    separator = _pick(rng, [",", "\t", ";", "|", " ", ", "])
    end = _pick(rng, ["\n", "\r\n", "\r", "\n\n"])
    width = int(rng.integers(1, 5))
    numeric = rng.random() < 0.5
    rows = []
    for i in range(int(rng.integers(0, 9))):
        cells = (
            [str(v) for v in rng.integers(0, 3, width)]
            if numeric
            else [_pick(rng, _WORDS) for _ in range(width)]
        )
        if rng.random() < 0.3:
            cells = [f'"{cell}"' for cell in cells]
        if rng.random() < 0.03:
            cells.append("extra")
        rows.append(separator.join([f"r{i}", *cells] if rng.random() < 0.9 else cells))
    if rng.random() < 0.5:
        rows.insert(0, separator.join(["name", *(f"c{j}" for j in range(width))]))
    content = end.join(rows) + (end if rng.random() < 0.8 else "")
    return _pick(rng, [".csv", ".tsv", ".txt"]), content.encode(
        _pick(rng, ["utf-8", "utf-8", "utf-8-sig", "utf-16"])
    )


def packed_text(rng: np.random.Generator) -> Case:
    """The same, packed; sometimes with an enormous line or very many lines."""
    ending, content = text(rng)
    if rng.random() < 0.05:
        content = _pick(
            rng, [b"0," * 3_000_000 + b"0\n", b"\n" * 5_000_000, b"1\n" * 1_000_000, b'"' * 3_000_001]
        )
    return ending + ".gz", gzip.compress(content, compresslevel=6, mtime=0)


def npy(rng: np.random.Generator) -> Case:
    """One array."""
    buffer = io.BytesIO()
    array = _pick(rng, [_labels, _features])(rng)
    if rng.random() < 0.2:
        array = array.astype(str)
    np.save(buffer, np.asfortranarray(array) if rng.random() < 0.5 else array)
    return ".npy", buffer.getvalue()


def lying_npy(rng: np.random.Generator) -> Case:
    """A header that promises nonsense."""
    shape = tuple(_pick(rng, [*_HUGE, True, -1, 1.5, "x", None]) for _ in range(int(rng.integers(0, 4))))
    descr = _pick(
        rng,
        ["<f8", "|S0", "<U0", "|b1", "<i8", "|O", "<c16", "|V3", "<U1000000", "<M8[s]", "(2,)<f8", "", "|S1"],
    )
    header = repr({"descr": descr, "fortran_order": _pick(rng, [True, False, 3]), "shape": shape}).encode()
    if rng.random() < 0.2:
        header = _pick(rng, [b"{'a': (", b"'", b"[" * 5000, b"{}", b"(1", header[:-4]])
    header = header.ljust(int(rng.integers(50, 200))) + b"\n"
    version = int(_pick(rng, [1, 1, 2, 3, 9]))
    length = len(header) if rng.random() < 0.9 else int(_pick(rng, [0, 2**16 - 1, 12]))
    prefix = struct.pack("<H" if version == 1 else "<I", length)
    return ".npy", b"\x93NUMPY" + bytes([version, 0]) + prefix + header + bytes(int(rng.integers(0, 99)))


def npz(rng: np.random.Generator) -> Case:
    """An ensemble, a table, or the pieces of a sparse matrix, some of which may be missing or lie."""
    buffer = io.BytesIO()
    style = int(rng.integers(4))
    if style == 0:
        labels = _labels(rng)
        n, m = labels.shape
        extra = {
            "clustering_names": np.array([f"c{i}" for i in range(m)]),
            "sample_names": np.array([f"r{i}" for i in range(n)]),
            "sample_weight": rng.random(n + int(rng.random() < 0.1)),
            "categories_0": np.array(["a", "b", "c", "d"]),
            "recipes": np.array(_pick(rng, [json.dumps([{}] * m), "[", "3", "null", "[1]", "{}"])),
        }
        arrays = {"labels": labels, **{k: v for k, v in extra.items() if rng.random() < 0.5}}
    elif style == 1:
        arrays = {_pick(rng, ["X", "fea", "odd"]): _features(rng), "y": np.arange(3)}
    else:
        matrix = _sparse(rng)
        arrays = {
            "data": matrix.data,
            "indices": matrix.indices,
            "indptr": matrix.indptr,
            "shape": np.array(matrix.shape),
            "format": np.array(matrix.format.encode()),
        }
        key = _pick(rng, list(arrays))
        if style == 3:
            arrays[key] = _pick(
                rng,
                [
                    arrays[key].ravel()[:-1],
                    np.array([_pick(rng, _HUGE)]),
                    rng.random(3),
                    np.array(["x"]),
                    np.arange(40),
                ],
            )
        if rng.random() < 0.2:
            del arrays[key]
    (np.savez if rng.random() < 0.5 else np.savez_compressed)(buffer, **arrays)
    return ".npz", buffer.getvalue()


def lying_npz(rng: np.random.Generator) -> Case:
    """Arrays with lying headers in a zip archive, under the usual names."""
    buffer = io.BytesIO()
    method = _pick(rng, [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for key in ("labels", "X", "sample_names", "data", "indices", "indptr", "shape", "format"):
            if rng.random() < 0.4:
                archive.writestr(key + ".npy", lying_npy(rng)[1])
    return ".npz", buffer.getvalue()


def mat5(rng: np.random.Generator) -> Case:
    """A MATLAB file of version 5 (or 4) with matrices, text, cells, a structure or a sparse matrix."""
    buffer = io.BytesIO()
    style = int(rng.integers(4))
    if style == 0:
        content = {"labels": _labels(rng), "note": "text"}
    elif style == 1:
        cells = np.empty((4, 1), object)
        cells[:, 0] = [_pick(rng, ["a", "ä", 1.0, ""]) for _ in range(4)]
        content = {"labels": cells, "sample_names": np.array(["a", "bb", "c", "d"], object)[:, None]}
    elif style == 2:
        content = {"X": _sparse(rng)}
    else:
        content = {"fea": _features(rng).astype("f8"), "s": {"a": 1, "b": [1, 2]}, "flag": np.array([True])}
    old = style != 1 and "s" not in content and rng.random() < 0.2
    if old:
        content = {
            k: v if sp.issparse(v) or isinstance(v, str) else v.astype("f8") for k, v in content.items()
        }
    scipy.io.savemat(buffer, content, format="4" if old else "5", do_compression=bool(rng.random() < 0.4))
    return ".mat", buffer.getvalue()


def packed_mat5(rng: np.random.Generator) -> Case:
    """A version 5 file damaged inside its compressed elements, where no checksum would have let it in."""
    ending, content = mat5(rng)
    if content[:6] != b"MATLAB" or content[128:132] == b"\x0f\0\0\0":
        return ending, content
    out, position = [content[:128]], 128
    while position + 8 <= len(content):
        (size,) = struct.unpack("<I", content[position + 4 : position + 8])
        element = zlib.compress(mutate(content[position : position + 8 + size], rng))
        out.append(struct.pack("<II", 15, len(element)) + element)
        position += 8 + size
    return ending, b"".join(out)


def mat73(rng: np.random.Generator) -> Case:
    """A MATLAB file of version 7.3 with a matrix or a sparse one."""
    import h5py

    buffer = io.BytesIO()
    with h5py.File(buffer, "w", userblock_size=512) as file:
        if rng.random() < 0.5:
            chunked = {"compression": "gzip"} if rng.random() < 0.5 else {}
            file.create_dataset(_pick(rng, ["X", "labels"]), data=_features(rng), **chunked)
        else:
            matrix = _sparse(rng).tocsc()
            group = file.create_group("X")
            group.attrs["MATLAB_sparse"] = np.uint64(_pick(rng, [matrix.shape[0], matrix.shape[0], *_HUGE]))
            group["data"], group["ir"], group["jc"] = matrix.data, matrix.indices, matrix.indptr
        if rng.random() < 0.1:
            file.create_dataset("labels" if "X" in file else "X", (10**9, 10**6), "f8", chunks=(1000, 1000))
    content = bytearray(buffer.getvalue())
    content[:128] = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    return ".mat", bytes(content)


def parquet(rng: np.random.Generator) -> Case:
    """Columns of numbers and text; row names; metadata of ours and of pandas, whole or not."""
    import pyarrow
    import pyarrow.parquet

    n = int(rng.integers(2, 9))
    columns = {
        "name": [f"r{i}" for i in range(n)],
        "a": [None if rng.random() < 0.2 else int(v) for v in rng.integers(0, 3, n)],
        "b": [_pick(rng, _WORDS) for _ in range(n)],
        "c": rng.normal(size=n),
        "d": rng.random(n) < 0.5,
    }
    kept = [key for key in columns if rng.random() < 0.6] or ["a"]
    if rng.random() < 0.02:
        columns["b"], n = ["x" * 1_000_000] * n, n
    table = pyarrow.table({key: columns[key] for key in kept})
    metadata = _pick(
        rng,
        [
            None,
            {
                _pick(rng, [b"consilience.sample_names", b"consilience.row_names"]): _pick(
                    rng, [b"name", b"\xff", b"nowhere"]
                )
            },
            {
                b"pandas": _pick(
                    rng, [b'{"index_columns": ["name"]}', b"{", b"[]", b"\xff", b'{"index_columns": 3}']
                )
            },
        ],
    )
    if metadata is not None:
        table = table.replace_schema_metadata(metadata)
    buffer = io.BytesIO()
    codec = _pick(rng, ["none", "snappy", "gzip", "zstd"])
    pyarrow.parquet.write_table(
        table,
        buffer,
        compression=codec,
        use_dictionary=bool(rng.random() < 0.5),
        store_schema=bool(rng.random() < 0.5),
    )
    return ".parquet", buffer.getvalue()


MAKERS: tuple[Maker, ...] = (
    text, packed_text, npy, lying_npy, npz, lying_npz, mat5, packed_mat5, mat73, parquet
)  # fmt: skip


# Damage
# ------------------------------------------------------------------------------------------------------------


def mutate(content: bytes, rng: np.random.Generator) -> bytes:
    """The same bytes with a few changes: bits, bytes, runs, lengths, cuts, insertions."""
    out = bytearray(content)
    for _ in range(int(rng.integers(1, 5))):
        if not out:
            return bytes(rng.integers(0, 256, size=3, dtype=np.uint8))
        # Headers decide most, and sit at either end.
        at = int(rng.integers(len(out)))
        where = rng.random()
        if where < 0.4:
            at = min(at, int(rng.integers(min(len(out), 300))))
        elif where < 0.6:
            at = max(at, len(out) - 1 - int(rng.integers(min(len(out), 300))))
        how = int(rng.integers(8))
        if how == 0:
            out[at] ^= 1 << int(rng.integers(8))
        elif how == 1:
            out[at] = int(rng.integers(256))
        elif how == 2:
            size = _pick(rng, [1, 2, 4, 8])
            value = _pick(
                rng, [0, 1, 127, 255, 2 ** (8 * size) - 1, 2 ** (8 * size - 1) - 1, 2 ** (8 * size - 1)]
            )
            out[at : at + size] = (value % 2 ** (8 * size)).to_bytes(size, _pick(rng, ["little", "big"]))
        elif how == 3:
            del out[at : at + int(rng.integers(1, 20))]
        elif how == 4:
            out[at:at] = bytes(rng.integers(0, 256, size=int(rng.integers(1, 20)), dtype=np.uint8))
        elif how == 5:
            other = int(rng.integers(len(out)))
            out[at : at + 16] = out[other : other + 16]
        elif how == 6:
            out[at : at + 8] = bytes(8)
        elif rng.random() < 0.3:
            del out[at:]
    return bytes(out)


def cases(rng: np.random.Generator) -> Iterator[Case]:
    """Files without end, a quarter of them as they were made, the others mutated."""
    while True:
        ending, content = _pick(rng, MAKERS)(rng)
        yield ending, content if rng.random() < 0.25 else mutate(content, rng)


def check(path: str | PathLike[str]) -> None:
    """Read a file as labels and as features; only foreign errors and warnings come through."""
    for read in (cs.io.read_labels, cs.io.read_features):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ConsilienceWarning)
            try:
                read(path)
            except ConsilienceError as error:
                if len(str(error)) > 2000:
                    raise AssertionError(f"a message of {len(str(error))} characters") from error
