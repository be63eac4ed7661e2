"""MATLAB files up to version 7: plain matrices, text, cells of these, and sparse matrices.

They are read by the rules of the format. SciPy's reader trusts the sizes in a file and can crash the process
when they are damaged. Here every element is read from a :class:`_Part` that ends where the enclosing element
ends, so a wrong size leads to an error message.
"""

from __future__ import annotations

import math
import os
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from .._kernels.runtime.memory import ensure_fits
from ..errors import FileError
from ._sparse import sparse_from_pieces

_MATRIX, _COMPRESSED = 14, 15
_NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_ENCODINGS = {1: "latin-1", 2: "latin-1", 4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
_CELL, _CHAR, _SPARSE = 1, 4, 5
_NUMERIC = range(6, 16)
_MOST_DIMENSIONS = 32
_DEFLATE = 1032  # deflate compresses by a factor of 1032 at most


@dataclass(frozen=True)
class Variable:
    """A variable of the file as its header describes it."""

    shape: tuple[int, ...]
    kind: str  # "f" numbers, "b" logical, "U" text, "O" cells, "V" what is not read
    sparse: bool
    load: Callable[[], Any]


def variables(handle: BinaryIO, name: str) -> dict[str, Variable]:
    """What a MATLAB file of version 4 to 7 holds; raises ``ValueError`` or the like where it is damaged."""
    start = handle.read(128)
    if len(start) >= 20 and b"\0" in start[:4]:
        return _variables_4(handle, name)
    if len(start) < 128 or start[126:128] not in (b"IM", b"MI"):
        raise ValueError("it has no MATLAB header")
    return _variables_5(handle, name, "<" if start[126:128] == b"IM" else ">")


def is_matlab(start: bytes) -> bool:
    """Whether these can be the first bytes of a file of version 4 to 7."""
    if len(start) >= 20 and b"\0" in start[:4]:
        return any(start[16:20])  # the length of the first name
    return start[126:128] in (b"IM", b"MI")


# Parts of a file
# -----------------------------------------------------------------------------------------------


class _Part:
    """A range of bytes beyond which nothing can be read."""

    def __init__(self, source: Callable[[int], bytes], size: int):
        self._source = source
        self.left = size

    def read(self, n: int) -> bytes:
        """The next ``n`` bytes."""
        self._take(n)
        data = self._source(n)
        if len(data) < n:
            raise ValueError(f"it ends {n - len(data)} bytes too early")
        return data

    def part(self, n: int) -> _Part:
        """The next ``n`` bytes as a part, which must be read to its end before this one is read on."""
        self._take(n)
        return _Part(self._source, n)

    def finish(self) -> None:
        """Skip what is left."""
        while self.left:
            self.read(min(self.left, 1 << 20))

    def _take(self, n: int) -> None:
        if n > self.left:
            raise ValueError(f"an element of {n} bytes where {self.left} are left")
        self.left -= n


def _inflated(packed: _Part) -> Callable[[int], bytes]:
    """A function that reads the content of a compressed part, never more than it is asked for."""
    unpacker = zlib.decompressobj()

    def read(n: int) -> bytes:
        out = bytearray()
        while len(out) < n and not unpacker.eof:
            data = unpacker.unconsumed_tail or packed.read(min(1 << 16, packed.left))
            piece = unpacker.decompress(data, n - len(out))
            if not piece and not data:
                break
            out += piece
        return bytes(out)

    return read


# Version 5 to 7
# ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Header:
    matlab_class: int
    logical: bool
    complex: bool
    dims: tuple[int, ...]
    name: str


def _variables_5(handle: BinaryIO, name: str, order: str) -> dict[str, Variable]:
    size = os.fstat(handle.fileno()).st_size
    found = {}
    position = 128
    while position + 8 <= size:
        handle.seek(position)
        kind, length = struct.unpack(order + "II", handle.read(8))
        if not kind:  # not a type of the format: zeros would be just as many elements without content
            raise ValueError("an element of the unknown type 0")
        if length > size - position - 8:
            raise ValueError(f"an element of {length} bytes where {size - position - 8} are left")
        if kind in (_MATRIX, _COMPRESSED):
            header = _header(_matrix_at(handle, position, order), order)
            if header.name:
                found[header.name] = _variable_5(handle, name, position, order, header)
        position += 8 + length
    return found


def _variable_5(handle: BinaryIO, name: str, position: int, order: str, header: _Header) -> Variable:
    kind = {_CELL: "O", _CHAR: "U", _SPARSE: "f"}.get(header.matlab_class, "V")
    if header.matlab_class in _NUMERIC:
        kind = "b" if header.logical else "f"
    # A matrix of characters is read as one text per row.
    shape = header.dims[:-1] if header.matlab_class == _CHAR else header.dims

    def load() -> Any:
        part = _matrix_at(handle, position, order)
        value = _value(part, order, f"{name}, {header.name!r},", nested=False)
        part.finish()
        part._source(1)  # at the end of the stream zlib compares its checksum
        return value

    return Variable(shape, kind, header.matlab_class == _SPARSE, load)


def _matrix_at(handle: BinaryIO, position: int, order: str) -> _Part:
    """The content of the matrix element at a position of the file, unpacked on the way."""
    handle.seek(position)
    kind, length = struct.unpack(order + "II", handle.read(8))
    part = _Part(handle.read, length)
    if kind == _MATRIX:
        return part
    read = _inflated(part)
    inner, unpacked = struct.unpack(order + "II", _Part(read, 8).read(8))
    if inner != _MATRIX or unpacked > _DEFLATE * length + 1024:
        raise ValueError(f"{length} compressed bytes claim an element of kind {inner} with {unpacked} bytes")
    return _Part(read, unpacked)


def _tag(part: _Part, order: str) -> tuple[int, int, bytes | None]:
    """(type, size, content if it sits in the tag itself)."""
    first = part.read(4)
    (kind,) = struct.unpack(order + "I", first)
    second = part.read(4)
    if kind >> 16:
        size = kind >> 16
        if size > 4:
            raise ValueError(f"a short element of {size} bytes")
        return kind & 0xFFFF, size, second[:size]
    return kind, struct.unpack(order + "I", second)[0], None


def _element(part: _Part, order: str) -> tuple[int, bytes]:
    """(type, content) of a small element."""
    kind, size, content = _tag(part, order)
    if content is None:
        content = part.read(size)
        part.read(min(-size % 8, part.left))
    return kind, content


def _numbers(part: _Part, order: str, what: str) -> np.ndarray:
    """The vector of numbers of one element."""
    kind, size, content = _tag(part, order)
    if kind not in _NUMBERS:
        raise ValueError(f"numbers of the unknown type {kind}")
    dtype = np.dtype(order + _NUMBERS[kind])
    if size % dtype.itemsize:
        raise ValueError(f"{size} bytes of numbers of {dtype.itemsize} bytes each")
    if content is not None:
        return native(np.frombuffer(bytearray(content), dtype))
    numbers = filled(part.read, size // dtype.itemsize, dtype, what)
    part.read(min(-size % 8, part.left))
    return native(numbers)


def _header(part: _Part, order: str) -> _Header:
    _, flags = _element(part, order)
    if len(flags) < 8:
        raise ValueError("the flags of a matrix are cut short")
    (word,) = struct.unpack(order + "I", flags[:4])
    matlab_class = word & 0xFF
    dims: tuple[int, ...] = ()
    if matlab_class != 17:  # an opaque object has none
        _, content = _element(part, order)
        count = len(content) // 4
        if len(content) % 4 or not 2 <= count <= _MOST_DIMENSIONS:
            raise ValueError(f"dimensions in {len(content)} bytes")
        dims = struct.unpack(f"{order}{count}i", content)
        if min(dims) < 0:
            raise ValueError(f"the impossible shape {dims}")
    _, name = _element(part, order)
    return _Header(
        matlab_class, bool(word >> 9 & 1), bool(word >> 11 & 1), dims, name.split(b"\0")[0].decode("latin-1")
    )


def _value(part: _Part, order: str, what: str, *, nested: bool) -> Any:
    header = _header(part, order)
    if header.complex:
        raise FileError(f"{what} holds complex numbers; save real ones.")
    if header.matlab_class == _CHAR:
        return _text(part, order, header.dims)
    if header.matlab_class in _NUMERIC:
        numbers = _numbers(part, order, what)
        if numbers.size != math.prod(header.dims):
            raise ValueError(f"{numbers.size} numbers for the shape {header.dims}")
        return numbers.reshape(header.dims, order="F")
    if header.matlab_class == _SPARSE and not nested:
        indices, indptr, data = (_numbers(part, order, what) for _ in range(3))
        return sparse_from_pieces(what.rstrip(","), data, indices, indptr, header.dims, layout="csc")
    if header.matlab_class == _CELL and not nested:
        return _cells(part, order, header.dims, what)
    where = "a cell of " if nested else ""
    raise FileError(
        f"{where}{what} is not plain numbers or text; save a plain matrix, or cells with one text or "
        f"number each."
    )


def _text(part: _Part, order: str, dims: tuple[int, ...]) -> np.ndarray:
    """A matrix of characters as one text per row."""
    kind, content = _element(part, order)
    if kind not in _ENCODINGS:
        raise ValueError(f"text of the unknown type {kind}")
    encoding = _ENCODINGS[kind]
    if encoding in ("utf-16", "utf-32"):
        encoding += "-le" if order == "<" else "-be"
    text = content.decode(encoding)
    n_rows = math.prod(dims[:-1])
    if n_rows == 1:
        return _texts([text], dims[:-1])
    if len(text) != math.prod(dims):
        raise ValueError(f"{len(text)} characters for the shape {dims}")
    return _texts([text[i::n_rows] for i in range(min(n_rows, len(text)))], dims[:-1])


def _texts(rows: list[str], shape: tuple[int, ...]) -> np.ndarray:
    out = np.empty(len(rows), object)
    out[:] = rows
    return out.reshape(shape, order="F") if len(rows) == math.prod(shape) else out


def _cells(part: _Part, order: str, dims: tuple[int, ...], what: str) -> np.ndarray:
    """Cells with one text or number each, as plain values."""
    count = math.prod(dims)
    if 8 * count > part.left:
        raise ValueError(f"{count} cells in {part.left} bytes")
    out: np.ndarray = np.empty(count, object)
    for i in range(count):
        kind, size, content = _tag(part, order)
        if kind != _MATRIX or content is not None:
            raise ValueError(f"a cell of the unknown type {kind}")
        cell = part.part(size)
        value = _value(cell, order, what, nested=True) if size else np.empty(0)
        cell.finish()
        if value.size > 1:
            raise FileError(f"{what} cell {i + 1} holds {value.size} values; expected one text or number.")
        out[i] = value.reshape(-1)[0] if value.size else ""
    out[:] = [value.item() if hasattr(value, "item") else value for value in out]
    return out.reshape(dims, order="F")


# Version 4
# -----------------------------------------------------------------------------------------------------

_NUMBERS_4 = ("f8", "f4", "i4", "i2", "u2", "u1")


def _variables_4(handle: BinaryIO, name: str) -> dict[str, Variable]:
    size = os.fstat(handle.fileno()).st_size
    found = {}
    position = 0
    while position + 20 <= size:
        handle.seek(position)
        head = handle.read(20)
        order = "<" if 0 <= struct.unpack("<i", head[:4])[0] <= 5000 else ">"
        code, rows, columns, imaginary, name_length = struct.unpack(order + "5i", head)
        form, precision = code % 10, code // 10 % 10
        if not 0 <= code <= 5000 or form > 2 or precision >= len(_NUMBERS_4) or min(rows, columns) < 0:
            raise ValueError(f"a variable of the unknown type {code} and shape ({rows}, {columns})")
        dtype = np.dtype(order + _NUMBERS_4[precision])
        n_bytes = rows * columns * dtype.itemsize * (2 if imaginary else 1)
        data_at = position + 20 + name_length
        if not 1 <= name_length <= size or data_at + n_bytes > size:
            raise ValueError(f"a variable of {n_bytes} bytes reaches past the end of the file")
        key = handle.read(name_length).split(b"\0")[0].decode("latin-1")
        found[key] = _variable_4(
            handle, f"{name}, {key!r},", data_at, dtype, (rows, columns), form, bool(imaginary)
        )
        position = data_at + n_bytes
    return found


def _variable_4(
    handle: BinaryIO,
    what: str,
    position: int,
    dtype: np.dtype,
    shape: tuple[int, int],
    form: int,
    imaginary: bool,
) -> Variable:
    def stored() -> np.ndarray:
        handle.seek(position)
        return native(filled(handle.read, math.prod(shape), dtype, what)).reshape(shape, order="F")

    def load() -> Any:
        if imaginary or (form == 2 and shape[1] != 3):
            raise FileError(f"{what} holds complex numbers; save real ones.")
        if form == 0:
            return stored()
        if form == 1:
            return _texts(["".join(map(_character, row)) for row in stored().tolist()], shape[:1])
        return _sparse_4(stored(), what.rstrip(","))

    if form == 2:
        return Variable(_shape_4(stored()), "f", True, load)
    return Variable(shape[:1] if form else shape, "U" if form else "f", False, load)


def _character(code: float) -> str:
    return chr(int(code))


def _shape_4(triples: np.ndarray) -> tuple[int, ...]:
    """The last of the triples (row, column, value) of a sparse matrix holds its shape."""
    if not len(triples) or not (np.isfinite(triples[-1, :2]).all() and (triples[-1, :2] >= 0).all()):
        raise ValueError("a sparse matrix without a shape")
    return tuple(int(length) for length in triples[-1, :2])


def _sparse_4(triples: np.ndarray, what: str) -> Any:
    shape = _shape_4(triples)
    rows, columns = (triples[:-1, j] for j in (0, 1))
    for positions, length in zip((rows, columns), shape):
        if positions.size and not (positions.min() >= 1 and positions.max() <= length):
            raise ValueError(f"entries from {positions.min():g} to {positions.max():g} of {length}")
    ensure_fits(16.0 * shape[0], what=what, remedy="store fewer rows")
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows.astype(np.int64) - 1, minlength=shape[0]))])
    indices = columns.astype(np.int64)[order] - 1
    return sparse_from_pieces(what, triples[:-1, 2][order], indices, indptr, shape, layout="csr")


# Arrays
# --------------------------------------------------------------------------------------------------------


def filled(read: Callable[[int], bytes], count: int, dtype: np.dtype, what: str) -> np.ndarray:
    """A vector read directly into its array, in pieces.

    A stream that ends early has not cost more memory than the vector.
    """
    promised = count * dtype.itemsize
    ensure_fits(promised, what=what, remedy="store fewer columns, or a sparse matrix")
    flat = np.empty(count, dtype)
    octets = flat.view(np.uint8) if flat.nbytes else np.empty(0, np.uint8)
    position = 0
    while position < promised:
        piece = read(min(1 << 24, promised - position))
        if not piece:
            raise FileError(f"{what} is truncated: it ends after {position} of {promised} bytes.")
        octets[position : position + len(piece)] = np.frombuffer(piece, np.uint8)
        position += len(piece)
    return flat


def native(array: np.ndarray) -> np.ndarray:
    """The same numbers in the byte order of this machine."""
    return array.astype(array.dtype.newbyteorder("="), copy=False)
