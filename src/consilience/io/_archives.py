"""Files of named arrays (NPY, NPZ, MATLAB): the contents are listed first, and arrays are loaded on demand.

Sizes are checked against the bytes that are there and the memory that is free before they are used. Nothing
is ever unpickled.
"""

from __future__ import annotations

import io
import math
import os
import struct
import sys
import zipfile
from abc import ABC, abstractmethod
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from .._kernels.runtime.memory import ensure_fits
from ..errors import FileError, need
from ._formats import betrayed_by, guarded
from ._matlab import filled, is_matlab, native, variables
from ._sparse import sparse_from_pieces

_REMEDY_OBJECTS = (
    "Python objects would have to be unpickled, which can run code, so they are refused. Save plain arrays "
    "instead: np.savez(path, labels=np.asarray(labels, dtype=int)), or dtype=str for text."
)
_HDF5 = b"\x89HDF\r\n"
_USER_BLOCK = 512  # bytes of MATLAB's own before the HDF5 of a v7.3 file


@dataclass(frozen=True)
class Entry:
    """What is known about an array before it is loaded."""

    shape: tuple[int, ...]
    kind: str  # of its dtype; "O" in a MATLAB file is a cell array
    sparse: bool = False


class Archive(ABC):
    """Named arrays in one file."""

    def __init__(self, name: str):
        self.name = name
        self.entries: dict[str, Entry] = {}
        self._refused: dict[str, FileError] = {}

    @abstractmethod
    def load(self, key: str) -> Any:
        """The array itself."""

    def refusal(self, keys: tuple[str, ...]) -> FileError | None:
        """Why one of these keys is not among the entries, although the file has it."""
        return next((self._refused[key] for key in keys if key in self._refused), None)

    def texts(self, key: str) -> list[str] | None:
        """A vector of text, or None if there is no such entry."""
        if key not in self.entries:
            return None
        values = np.asarray(self.load(key)).ravel().tolist()
        return [
            value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value) for value in values
        ]


def open_archive(kind: str, handle: BinaryIO, name: str, stack: ExitStack) -> Archive:
    """The archive in an open file of the given format."""
    if kind == "npy":
        return NpyFile(handle, name)
    if kind == "npz":
        return NpzFile(handle, name, stack)
    start = handle.read(128)
    handle.seek(0)
    if start.startswith((_HDF5, b"MATLAB 7.3")):
        return Hdf5File(handle, name, stack)
    return MatFile(handle, name)


def announced_by(kind: str, start: bytes) -> int | None:
    """The size of a file in bytes, as announced by its first bytes.

    0 if they belong to another format, None if they do not tell the size.
    """
    if kind == "npy":
        head = io.BytesIO(start)
        try:
            shape, _, dtype = _read_header(head, "")
        except FileError:
            return 0
        return head.tell() + math.prod(shape) * dtype.itemsize
    if kind == "mat":
        if start.startswith((_HDF5, b"MATLAB 7.3")):
            return _announced_by_hdf5(start, 0 if start.startswith(_HDF5) else _USER_BLOCK)
        return None if is_matlab(start) else 0
    return None if start.startswith({"npz": b"PK", "parquet": b"PAR1"}[kind]) else 0


def _announced_by_hdf5(start: bytes, at: int) -> int | None:
    """The end of the file by the superblock of HDF5, which begins at byte ``at``."""
    block = start[at : at + 96]
    if len(block) < 96 or not block.startswith(_HDF5):
        return 0
    version = block[8]
    addresses, width = {0: (24, block[13]), 1: (28, block[13])}.get(version, (12, block[9]))
    if width != 8:
        return None
    base, _, end = struct.unpack_from("<3Q", block, addresses)
    return int(base + end)


# NumPy
# ---------------------------------------------------------------------------------------------------------

_LONGEST_HEADER = 10_000  # NumPy's own limit for files that are not trusted


def _read_header(handle: Any, what: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    with guarded(what, "a NumPy array"):
        version = npy.read_magic(handle)
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise FileError(f"{what} has the unknown NPY version {version}.")
        if version == (3, 0):  # the layout of 2.0 with UTF-8 field names: only structured arrays have those
            raise FileError(f"{what} is a structured array; save its fields as plain arrays.")
        # The length is checked here: NumPy would unpack all of it first.
        width = 2 if version == (1, 0) else 4
        prefix = handle.read(width)
        length = int.from_bytes(prefix, "little")
        if len(prefix) < width or length > _LONGEST_HEADER:
            raise ValueError(f"a header of {length} bytes")
        header = io.BytesIO(prefix + handle.read(length))
        shape, fortran, dtype = (
            npy.read_array_header_1_0(header) if width == 2 else npy.read_array_header_2_0(header)
        )
    if dtype.hasobject:
        raise FileError(f"{what} is an array of Python objects. {_REMEDY_OBJECTS}")
    if dtype.kind not in "biufUS":
        raise FileError(f"{what} has the type {dtype}; expected numbers or text.")
    if not all(type(length) is int and 0 <= length < 2**63 for length in shape):
        raise FileError(f"{what} has the impossible shape {shape}.")
    if dtype.itemsize == 0:
        raise FileError(
            f"{what} has the type {dtype.str!r}: its texts have no width, so they hold nothing; write it "
            "again with its texts."
        )
    return shape, fortran, dtype


def read_array(handle: Any, what: str, n_bytes: int) -> np.ndarray:
    """One array of an open NPY stream of ``n_bytes`` bytes.

    The promised size is checked before memory is allocated.
    """
    shape, fortran, dtype = _read_header(handle, what)
    promised = math.prod(shape) * dtype.itemsize
    if promised > n_bytes:
        raise FileError(
            f"{what} is truncated or damaged: its header promises {promised} bytes, the file holds {n_bytes}."
        )
    with guarded(what, "a NumPy array"):
        flat = native(filled(handle.read, math.prod(shape), dtype, what))
        if dtype.kind == "U" and flat.view(np.uint32).max(initial=0) > sys.maxunicode:
            raise FileError(f"{what} is damaged: its texts hold numbers that are not characters.")
        return flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)


class NpyFile(Archive):
    """A single array."""

    KEY = "array"

    def __init__(self, handle: BinaryIO, name: str):
        super().__init__(name)
        self._handle = handle
        _check_start(handle, name, b"\x93NUMPY", ".npy")
        shape, _, dtype = _read_header(handle, name)
        self.entries[self.KEY] = Entry(shape, dtype.kind)

    def load(self, key: str) -> np.ndarray:
        self._handle.seek(0)
        return read_array(self._handle, self.name, os.fstat(self._handle.fileno()).st_size)


class NpzFile(Archive):
    """A zip archive of arrays."""

    def __init__(self, handle: BinaryIO, name: str, stack: ExitStack):
        super().__init__(name)
        start = handle.read(8)
        handle.seek(0)
        with guarded(name, "a zip archive"):
            try:
                self._zip = stack.enter_context(zipfile.ZipFile(handle))
            except zipfile.BadZipFile:
                if start.startswith(b"PK"):
                    raise
                what = betrayed_by(start)
                raise FileError(
                    f"{name} is not an NPZ archive although its name ends in .npz"
                    + (f": it is {what}." if what else ".")
                ) from None
        self._base_models = {info.filename.removesuffix(".npy"): info for info in self._zip.infolist()}
        for key, info in self._base_models.items():
            try:
                with self._guarded(key), self._zip.open(info) as member:
                    shape, _, dtype = _read_header(member, self._what(key))
                self.entries[key] = Entry(shape, dtype.kind)
            except FileError as error:  # matters only if this is the array that is asked for
                self._refused[key] = error
        if not self.entries:
            if self._refused:
                raise next(iter(self._refused.values()))
            raise FileError(f"{name} is an archive that holds no arrays.")

    def load(self, key: str) -> np.ndarray:
        info = self._base_models[key]
        with self._guarded(key), self._zip.open(info) as member:
            array = read_array(member, self._what(key), info.file_size)
            member.read(1)  # at the end of the member zipfile compares its checksum
            return array

    def _what(self, key: str) -> str:
        return f"{self.name}, array {key!r},"

    def _guarded(self, key: str) -> Any:
        return guarded(self._what(key), "a readable array")


def _check_start(handle: BinaryIO, name: str, magic: bytes, ending: str) -> None:
    start = handle.read(len(magic))
    handle.seek(0)
    if not start.startswith(magic):
        what = betrayed_by(start)
        raise FileError(
            f"{name} is not an array although its name ends in {ending}"
            + (f": it is {what}." if what else ".")
        )


# MATLAB
# --------------------------------------------------------------------------------------------------------


class MatFile(Archive):
    """A MATLAB file up to version 7."""

    def __init__(self, handle: BinaryIO, name: str):
        super().__init__(name)
        with guarded(name, "a MATLAB file"):
            self._variables = variables(handle, name)
        for key, found in self._variables.items():
            if not key.startswith("__"):
                self.entries[key] = Entry(found.shape, found.kind, found.sparse)

    def load(self, key: str) -> Any:
        with guarded(self.name, "a MATLAB file"):
            return self._variables[key].load()


class Hdf5File(Archive):
    """A MATLAB v7.3 file, which is HDF5 with matrices transposed."""

    def __init__(self, handle: BinaryIO, name: str, stack: ExitStack):
        super().__init__(name)
        self._h5py = need("h5py", "io", f"{name} is a MATLAB v7.3 file; reading it")
        with guarded(name, "a MATLAB file"):
            self._file = stack.enter_context(self._h5py.File(handle, "r"))
            for key in self._file:
                # Links to other files are not followed.
                if isinstance(self._file.get(key, getlink=True), self._h5py.HardLink) and not key.startswith(
                    "#"
                ):
                    entry = self._entry(self._file[key])
                    if entry is not None:
                        self.entries[key] = entry

    def load(self, key: str) -> Any:
        entry = self.entries[key]
        if entry.kind not in "biuf":
            raise FileError(
                f"{self.name}: {key!r} is not a plain matrix; v7.3 files are read for matrices of numbers "
                f"only."
            )
        with guarded(self.name, "a MATLAB file"):
            item = self._file[key]
            if entry.sparse:
                data, indices, indptr = (self._numbers(item[piece], key) for piece in ("data", "ir", "jc"))
                what = f"{self.name}, {key!r}"
                return sparse_from_pieces(what, data, indices, indptr, entry.shape, layout="csc")
            return self._numbers(item, key).T

    def _entry(self, item: Any) -> Entry | None:
        """A matrix, or a group that holds the pieces of a sparse one.

        An empty sparse matrix has no entries and no rows stored.
        """
        if isinstance(item, self._h5py.Group):
            rows = item.attrs.get("MATLAB_sparse")
            if rows is None or not all(self._is_plain(item.get(piece)) for piece in ("data", "ir", "jc")):
                return None
            return Entry((int(rows), max(0, math.prod(item["jc"].shape) - 1)), "f", sparse=True)
        if not self._is_plain(item):
            return None
        char = item.attrs.get("MATLAB_class") == b"char"
        kind = "U" if char else ("O" if item.dtype.hasobject else item.dtype.kind)
        return Entry(tuple(item.shape[::-1]), kind)

    def _is_plain(self, item: Any) -> bool:
        return isinstance(item, self._h5py.Dataset) and not item.external and not item.is_virtual

    def _numbers(self, item: Any, key: str) -> np.ndarray:
        what = f"{self.name}, {key!r},"
        if item.dtype.kind not in "biuf":
            raise FileError(f"{what} has the type {item.dtype}; expected numbers.")
        # Chunks that were never written take no room in the file; other data are compressed a thousandfold at
        # most.
        size = self._file.id.get_filesize()
        if item.size > 1100 * size:
            raise FileError(
                f"{self.name} is damaged: {key!r} claims the shape {item.shape[::-1]} in a file of {size} "
                f"bytes."
            )
        ensure_fits(item.dtype.itemsize * item.size, what=what, remedy="store fewer columns")
        return native(np.asarray(item[()]))
