"""The format of a path, and the common ways in which a file cannot be opened."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import ConsilienceError, FileError, NotEnoughMemoryError, need

SUFFIXES = {
    ".csv": "text",
    ".tsv": "text",
    ".tab": "text",
    ".txt": "text",
    ".dat": "text",
    ".npy": "npy",
    ".npz": "npz",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".mat": "mat",
}
_LONGEST_REASON = 300  # some parsers quote all they have read
SUPPORTED = ".csv, .tsv, .txt (each also with .gz), .npy, .npz, .parquet or .mat"

# The first bytes of a file, and its real format; HDF5 is what MATLAB writes as v7.3.
_MAGIC = (
    (b"\x1f\x8b", "gzip data"),
    (b"PK\x03\x04", "a zip archive"),
    (b"PAR1", "a Parquet file"),
    (b"\x93NUMPY", "a NumPy array"),
    (b"\x89HDF\r\n", "an HDF5 file"),
    (b"MATLAB 5.0", "a MATLAB file"),
    (b"MATLAB 7.3", "a MATLAB file"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
)


LONGEST_MAGIC = max(len(magic) for magic, _ in _MAGIC)
_FORMATS = {
    "gzip data": "gzip",
    "a zip archive": "npz",
    "a Parquet file": "parquet",
    "a NumPy array": "npy",
    "an HDF5 file": "mat",
    "a MATLAB file": "mat",
}


def is_stream(target: Any) -> bool:
    """Whether this is an open binary file rather than a path."""
    return hasattr(target, "read") or hasattr(target, "write")


def shown(target: Any) -> str:
    """The name of a file in messages."""
    return str(getattr(target, "name", "<stream>")) if is_stream(target) else os.fspath(target)


def format_of(path: str | os.PathLike[str]) -> tuple[str, bool]:
    """(format, gzipped) of a path, judged by its name.

    A device or pipe (``/dev/null``, ``/dev/stdin``) is text.
    """
    suffixes = [suffix.lower() for suffix in Path(path).suffixes[-2:]]
    gzipped = bool(suffixes) and suffixes[-1] == ".gz"
    if gzipped:
        suffixes.pop()
    kind = SUFFIXES.get(suffixes[-1]) if suffixes else None
    if kind is None and is_special(path):
        return "text", False
    if kind is None or (gzipped and kind != "text"):
        raise FileError(f"{os.fspath(path)}: unknown kind of file; the name must end in {SUPPORTED}.")
    return kind, gzipped


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether this is a device, pipe or socket, which has no size and cannot be replaced."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def require_packages(kind: str) -> None:
    """Import the optional package of a format before any work is done."""
    if kind == "parquet":
        need("pyarrow", "io", "Parquet")


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for reading; a failure becomes a :class:`FileError` that names the file."""
    name = os.fspath(path)
    try:
        if os.path.isdir(path):
            raise FileError(f"{name} is a folder; give one file ({SUPPORTED}).")
        handle = open(path, "rb")  # noqa: SIM115 - closed below, outside the reach of the except clauses
    except FileNotFoundError:
        folder = Path(path).parent
        hint = "" if folder.is_dir() else f" (there is no folder {folder} either)"
        raise FileError(f"{name}: no such file{hint}.") from None
    except FileError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path itself
        raise FileError(f"{name} cannot be read: {reason(error)}.") from None
    with handle:
        if os.fstat(handle.fileno()).st_size == 0 and Path(path).is_file():
            raise FileError(f"{name} is empty (0 bytes).")
        yield handle


def check_readable(path: str | os.PathLike[str], *, formats: bool = True) -> None:
    """Raise :class:`FileError` now if a reader could not even open ``path``.

    Checks the ending of the name, unless ``formats=False``.
    """
    if not is_special(path):  # a pipe that was opened and closed is over
        if formats:
            format_of(path)
        with opened(path):
            pass


def reason(error: BaseException) -> str:
    """The cause of an OSError in the system's words; for any other error its message on one line."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    text = " ".join(text.split()).rstrip(".")
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}..."


def betrayed_by(start: bytes) -> str | None:
    """The real format of a file, if its first bytes tell it."""
    return next((what for magic, what in _MAGIC if start.startswith(magic)), None)


def format_of_bytes(start: bytes) -> str:
    """The format of a file without a name, by its first bytes; "gzip" is packed text."""
    return _FORMATS.get(betrayed_by(start) or "", "text")


def damaged(name: str, error: BaseException, what: str) -> FileError:
    """The error for a file that is truncated or damaged."""
    return FileError(
        f"{name} is truncated or damaged, or not {what}: {reason(error)}. Fetch or write it again."
    )


@contextmanager
def guarded(name: str, what: str) -> Iterator[None]:
    """Turn whatever parsers of other packages raise about a file into one of our errors.

    On a damaged file they raise nearly anything, from ``struct.error`` to ``KeyError``. Interrupts pass.
    """
    try:
        yield
    except ConsilienceError:
        raise
    except MemoryError as error:
        raise NotEnoughMemoryError(
            f"{name} needs more memory than there is ({reason(error)}); store fewer rows or columns, or "
            f"use a larger machine."
        ) from None
    except Exception as error:
        raise damaged(name, error, what) from None
