"""Files of named arrays (NPY, NPZ, MATLAB): what they hold is listed first, one array is loaded on demand.

No size is believed before it is checked against the bytes that are there and the memory that is free, and nothing is
ever unpickled.
"""

from __future__ import annotations

import math
import os
import zipfile
import zlib
from abc import ABC, abstractmethod
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from ..errors import FileError, need
from ..kernels.memory import ensure_fits
from ._formats import betrayed_by, damaged

_REMEDY_OBJECTS = (
    "Python objects would have to be unpickled, which can run code, so they are refused. Save plain arrays instead: "
    "np.savez(path, labels=np.asarray(labels, dtype=int)), or dtype=str for text."
)


@dataclass(frozen=True)
class Entry:
    """What is known of an array before it is loaded."""

    shape: tuple[int, ...]
    kind: str  # of its dtype; "O" in a MATLAB file is a cell array
    sparse: bool = False


class Archive(ABC):
    """Named arrays in one file."""

    def __init__(self, name: str):
        self.name = name
        self.entries: dict[str, Entry] = {}

    @abstractmethod
    def load(self, key: str) -> Any:
        """The array itself."""

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
    if start.startswith((b"\x89HDF", b"MATLAB 7.3")):
        return Hdf5File(handle, name, stack)
    return MatFile(handle, name)


# NumPy ---------------------------------------------------------------------------------------------------------


def _read_header(handle: Any, what: str) -> tuple[tuple[int, ...], bool, np.dtype]:
    try:
        version = npy.read_magic(handle)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise FileError(f"{what} has the unknown NPY version {version}.")
        if version == (
            3,
            0,
        ):  # the same layout as 2.0, with UTF-8 field names: only structured arrays have those
            raise FileError(f"{what} is a structured array; save its fields as plain arrays.")
        shape, fortran, dtype = read(handle)
    except (ValueError, EOFError, SyntaxError, TypeError) as error:
        if isinstance(error, FileError):
            raise
        raise damaged(what, error, "a NumPy array") from None
    if dtype.hasobject:
        raise FileError(f"{what} is an array of Python objects. {_REMEDY_OBJECTS}")
    if dtype.kind not in "biufUS":
        raise FileError(f"{what} has the type {dtype}; expected numbers or text.")
    if min(shape, default=0) < 0:
        raise FileError(f"{what} has the impossible shape {shape}.")
    return shape, fortran, dtype


def _read_array(handle: Any, what: str, n_bytes: int) -> np.ndarray:
    """One array of an open NPY stream of ``n_bytes`` bytes; the promised size is checked before anything is allocated."""
    shape, fortran, dtype = _read_header(handle, what)
    promised = math.prod(shape) * dtype.itemsize
    if promised > n_bytes:
        raise FileError(
            f"{what} is truncated or damaged: its header promises {promised} bytes, the file holds {n_bytes}."
        )
    ensure_fits(promised, what=what, remedy="store fewer columns, or a sparse matrix")
    # Read straight into the array, in pieces: a stream that ends early cannot have cost more than the promised size.
    flat = np.empty(math.prod(shape), dtype)
    octets = flat.view(np.uint8) if flat.nbytes else np.empty(0, np.uint8)
    filled = 0
    while filled < promised:
        piece = handle.read(min(1 << 24, promised - filled))
        if not piece:
            raise FileError(f"{what} is truncated: it ends after {filled} of {promised} bytes.")
        octets[filled : filled + len(piece)] = np.frombuffer(piece, np.uint8)
        filled += len(piece)
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
        return _read_array(self._handle, self.name, os.fstat(self._handle.fileno()).st_size)


class NpzFile(Archive):
    """A zip archive of arrays."""

    def __init__(self, handle: BinaryIO, name: str, stack: ExitStack):
        super().__init__(name)
        start = handle.read(8)
        handle.seek(0)
        try:
            self._zip = stack.enter_context(zipfile.ZipFile(handle))
        except zipfile.BadZipFile as error:
            if start.startswith(b"PK"):
                raise damaged(name, error, "a zip archive") from None
            what = betrayed_by(start)
            raise FileError(
                f"{name} is not an NPZ archive although its name ends in .npz"
                + (f": it is {what}." if what else ".")
            ) from None
        self._members = {info.filename.removesuffix(".npy"): info for info in self._zip.infolist()}
        self._refused: dict[str, FileError] = {}
        for key, info in self._members.items():
            try:
                with self._guarded(key), self._zip.open(info) as member:
                    shape, _, dtype = _read_header(member, self._what(key))
                self.entries[key] = Entry(shape, dtype.kind)
            except FileError as error:  # matters only if this is the array that is asked for
                self._refused[key] = error
        if not self.entries:
            if self._refused:
                raise next(iter(self._refused.values()))
            raise FileError(f"{name} is an archive without arrays.")

    def load(self, key: str) -> np.ndarray:
        info = self._members[key]
        with self._guarded(key), self._zip.open(info) as member:
            array = _read_array(member, self._what(key), info.file_size)
            member.read(1)  # at the end of the member zipfile compares its checksum
            return array

    def refusal(self, keys: tuple[str, ...]) -> FileError | None:
        """Why one of these keys is not among the entries although the archive has it."""
        return next((self._refused[key] for key in keys if key in self._refused), None)

    def _what(self, key: str) -> str:
        return f"{self.name}, array {key!r},"

    def _guarded(self, key: str) -> Any:
        return _Guard(self._what(key))


class _Guard:
    """Everything a broken zip member can raise, as one message."""

    def __init__(self, what: str):
        self.what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, FileError):
            return
        if isinstance(
            error, (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)
        ):
            # RuntimeError: an encrypted member; NotImplementedError: an unknown compression.
            raise damaged(self.what, error, "a readable array") from None


def _check_start(handle: BinaryIO, name: str, magic: bytes, ending: str) -> None:
    start = handle.read(len(magic))
    handle.seek(0)
    if not start.startswith(magic):
        what = betrayed_by(start)
        raise FileError(
            f"{name} is not an array although its name ends in {ending}"
            + (f": it is {what}." if what else ".")
        )


# MATLAB --------------------------------------------------------------------------------------------------------


class MatFile(Archive):
    """A MATLAB file up to version 7."""

    def __init__(self, handle: BinaryIO, name: str):
        super().__init__(name)
        from scipy.io import whosmat

        self._handle = handle
        try:
            listing = whosmat(handle)
        # SciPy answers a broken file with whatever its parser stumbles over, from struct.error to KeyError.
        except Exception as error:
            raise damaged(name, error, "a MATLAB file") from None
        kinds = {
            "cell": "O",
            "struct": "V",
            "object": "V",
            "function": "V",
            "opaque": "V",
            "char": "U",
            "logical": "b",
        }
        for key, shape, matlab_class in listing:
            if not key.startswith("__"):
                kind = "f" if matlab_class == "sparse" else kinds.get(matlab_class, "f")
                self.entries[key] = Entry(tuple(int(s) for s in shape), kind, matlab_class == "sparse")

    def load(self, key: str) -> Any:
        from scipy.io import loadmat

        entry = self.entries[key]
        if entry.kind == "V":
            raise FileError(
                f"{self.name}: {key!r} is a MATLAB structure or object; save a plain matrix or cell array."
            )
        self._handle.seek(0)
        size = os.fstat(self._handle.fileno()).st_size
        if not entry.sparse and entry.kind != "O":
            # zlib packs a thousandfold at best, so a larger promise is a lie.
            if math.prod(entry.shape) > 1100 * size:
                raise FileError(
                    f"{self.name} is damaged: {key!r} claims the shape {entry.shape} in a file of {size} bytes."
                )
            ensure_fits(
                8 * math.prod(entry.shape), what=f"{self.name}, {key!r},", remedy="store fewer columns"
            )
        try:
            value = loadmat(self._handle, variable_names=[key], chars_as_strings=True)[key]
        except Exception as error:  # as above
            raise damaged(self.name, error, "a MATLAB file") from None
        return _flatten_cells(value) if getattr(value, "dtype", np.dtype(float)).kind == "O" else value


class Hdf5File(Archive):
    """A MATLAB v7.3 file, which is HDF5 with matrices transposed."""

    def __init__(self, handle: BinaryIO, name: str, stack: ExitStack):
        super().__init__(name)
        h5py = need("h5py", "io", f"{name} is a MATLAB v7.3 file; reading it")
        try:
            self._file = stack.enter_context(h5py.File(handle, "r"))
            for key in self._file:
                # Links to other files are not followed.
                if isinstance(self._file.get(key, getlink=True), h5py.HardLink) and not key.startswith("#"):
                    item = self._file[key]
                    if isinstance(item, h5py.Dataset) and not item.external and not item.is_virtual:
                        char = item.attrs.get("MATLAB_class") == b"char"
                        kind = "U" if char else ("O" if item.dtype.hasobject else item.dtype.kind)
                        self.entries[key] = Entry(tuple(item.shape[::-1]), kind)
        except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
            raise damaged(name, error, "a MATLAB file") from None

    def load(self, key: str) -> Any:
        entry = self.entries[key]
        if entry.kind not in "biuf":
            raise FileError(
                f"{self.name}: {key!r} is not a plain matrix; v7.3 files are read for matrices of numbers only."
            )
        ensure_fits(8 * math.prod(entry.shape), what=f"{self.name}, {key!r},", remedy="store fewer columns")
        try:
            return self._file[key][()].T
        except (OSError, RuntimeError, KeyError, ValueError) as error:
            raise damaged(self.name, error, "a MATLAB file") from None


def _flatten_cells(cells: np.ndarray) -> np.ndarray:
    """A cell array of texts or numbers as a vector of plain values."""
    out = []
    for cell in cells.ravel():
        value = np.asarray(cell)
        out.append(value.reshape(-1)[0].item() if value.size == 1 else "" if value.size == 0 else str(cell))
    flat = np.empty(len(out), object)
    flat[:] = out
    return flat
