"""What reading labels and features share: opening a file, finding the array meant, names, notes."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, BinaryIO

from .._base.names import check_unique
from .._base.parameters import listed
from ..errors import FileError
from ._archives import Archive, Entry, open_archive
from ._formats import LONGEST_MAGIC, format_of, format_of_bytes, is_special, is_stream, opened, shown
from ._parquet import read_parquet
from ._streams import Limited, Resumed, check_device, first_bytes, on_disk, size_left
from ._text import TextTable

OnNote = Callable[[str], None]

#: Names under which archives keep names of rows and columns, in order of preference.
ROW_KEYS = ("sample_names", "row_names", "names")
COLUMN_KEYS = ("clustering_names", "column_names", "feature_names")


def names_in(path: str | os.PathLike[str] | BinaryIO) -> list[str]:
    """Return the names of the arrays of an ``.npz`` or ``.mat`` file, or of the columns of a table.

    The list is empty for a table without header.

    Examples
    --------
    >>> import io, consilience as cs
    >>> cs.io.names_in(io.BytesIO(b"width,height\\n1.5,2\\n3,4.5\\n"))
    ['width', 'height']
    """
    name = shown(path)
    with ExitStack() as stack:
        kind, handle, gzipped, size = open_file(path, stack)
        if kind == "text":
            text = TextTable(handle, name, labels=False, gzipped=gzipped, header=None, index=None, size=size)
            return list(text.layout.column_names or [])
        if kind == "parquet":
            return list(read_parquet(handle, name, labels=False, index=None)[0])
        return list(open_archive(kind, handle, name, stack).entries)


def check_rows(raw: Any, name: str) -> None:
    """Check that row names are unique."""
    check_unique(
        raw.row_names,
        "row name",
        "make the names in column 1 unique, or drop it (or read with index=False)",
        file=name,
    )


def drop_counting(raw: Any) -> None:
    """Drop row names that only count the rows."""
    if raw.row_names is not None and raw.row_names == [str(i) for i in range(len(raw.row_names))]:
        raw.row_names = None
        raw.decisions.append("The row names only count the rows from 0 and are not kept.")


def open_file(path: Any, stack: ExitStack) -> tuple[str, BinaryIO, bool, int | None]:
    """(format, handle, gzipped, size in bytes); a file without a name is recognized by its first bytes."""
    name = shown(path)
    if is_stream(path):
        check_device(path, name)
        return *_identified(path, name, stack), None
    handle = stack.enter_context(opened(path))
    kind, gzipped = format_of(path)
    if not is_special(path):
        return kind, handle, gzipped, os.fstat(handle.fileno()).st_size
    check_device(handle, name)
    if kind == "text" and not gzipped:
        return *_identified(handle, name, stack), None
    return kind, _text(handle, name) if kind == "text" else on_disk(handle, name, kind, stack), gzipped, None


def _identified(stream: Any, name: str, stack: ExitStack) -> tuple[str, BinaryIO, bool]:
    """(format, handle, gzipped) of an open file by its first bytes; text unless they say otherwise."""
    if hasattr(stream, "peek"):
        start = stream.peek(LONGEST_MAGIC)
    elif hasattr(stream, "seekable") and stream.seekable():
        at = stream.tell()
        start = stream.read(LONGEST_MAGIC)
        stream.seek(at)
    else:
        start = first_bytes(stream, LONGEST_MAGIC)
        stream = Resumed(start, stream)
    if not isinstance(start, bytes):
        raise FileError(f"{name} is open in text mode; open it in binary mode: open(path, 'rb').")
    kind = format_of_bytes(start)
    if kind in ("text", "gzip"):
        return "text", _text(stream, name), kind == "gzip"
    return kind, on_disk(stream, name, kind, stack), False


def _text(stream: Any, name: str) -> Any:
    """The stream, read up to the limit if it has no size."""
    return stream if size_left(stream) is not None else Limited(stream, name)


def choose(
    archive: Archive, usable: dict[str, Entry], preferred: tuple[str, ...], key: str | None, what: str
) -> str:
    """The array to read: the key that was given, a usual name, or the only array there is."""
    there = listed((f"{k!r} {entry.shape}" for k, entry in archive.entries.items()), 10)
    refusal = archive.refusal((key,) if key else preferred)
    if key is not None:
        if key in usable:
            return key
        if refusal is not None:
            raise refusal
        if key in archive.entries:
            raise FileError(
                f"{archive.name}: {key!r} {archive.entries[key].shape} cannot be {what}; the file holds "
                f"{there}."
            )
        raise FileError(f"{archive.name} has no array {key!r}; it holds {there}.")
    for candidate in preferred:
        if candidate in usable:
            return candidate
    if refusal is not None:
        raise refusal
    if len(usable) == 1:
        return next(iter(usable))
    raise FileError(
        f"{archive.name} holds {there or 'no arrays'}: none is called {listed(map(repr, preferred[:3]))}, so "
        f"it is not clear which are the {what}. Name one (key=..., or --key)."
    )


def say(on_note: OnNote | None, name: str, decisions: list[str]) -> None:
    if on_note is not None and decisions:
        on_note(f"{name}: {' '.join(decisions)}")


def first_of(archive: Archive, keys: tuple[str, ...], length: int) -> list[str] | None:
    """Names stored beside an array, if there are as many as needed."""
    for key in keys:
        entry = archive.entries.get(key)
        if entry is not None and entry.kind in "USO" and math.prod(entry.shape) == length:
            return archive.texts(key)
    return None


def single_text(archive: Archive, key: str) -> str | None:
    """A text stored beside an array, if it is one."""
    entry = archive.entries.get(key)
    texts = archive.texts(key) if entry is not None and math.prod(entry.shape) == 1 else None
    return texts[0] if texts else None
