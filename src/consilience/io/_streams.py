"""Streams without a size (pipes, sockets, standard input), read up to a limit; devices are refused."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from contextlib import ExitStack
from typing import Any, BinaryIO

from .._kernels.runtime import memory
from ..errors import FileError
from ._archives import announced_by
from ._formats import reason

#: The most that is read of a stream that does not announce its size, in bytes.
STREAM_LIMIT = 4 * 2**30
_PIECE = 1 << 20
_START = 1 << 14  # holds every header that announces a size
_LIMIT = "the most that is read of a stream without a size"
_REMEDY = "Save it to a regular file first, and pass that"


def size_left(stream: Any) -> int | None:
    """How many bytes a regular file or a buffer in memory still holds; None for a stream without a size."""
    if not (hasattr(stream, "seekable") and stream.seekable()):
        return None
    descriptor = _descriptor(stream)
    if descriptor is not None and not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return None
    at = stream.tell()
    end = stream.seek(0, os.SEEK_END)
    stream.seek(at)
    return max(0, end - at) if isinstance(end, int) else None


def check_device(stream: Any, name: str) -> None:
    """Refuse devices other than terminals: their data have no end, or no meaning as a table."""
    descriptor = _descriptor(stream)
    if descriptor is None:
        return
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not os.isatty(descriptor)):
        raise FileError(f"{name} is a device, from which no table can be read; pass a file or a pipe.")


def _descriptor(stream: Any) -> int | None:
    try:
        return stream.fileno()
    except (AttributeError, OSError, ValueError):  # a buffer in memory
        return None


def first_bytes(stream: Any, most: int) -> Any:
    """The first bytes, fewer only where the stream ends; text if the stream is in text mode."""
    start = stream.read(most)
    while isinstance(start, bytes) and len(start) < most and (piece := stream.read(most - len(start))):
        start += piece
    return start


class Resumed:
    """A stream read from its start, although its first bytes have been read already."""

    def __init__(self, start: Any, stream: Any):
        self._start, self._stream = start, stream

    def read(self, n: int) -> Any:
        """The next bytes."""
        if not self._start:
            return self._stream.read(n)
        data, self._start = self._start[:n], self._start[n:]
        return data


class Limited:
    """A stream of text without a size, up to the limit."""

    def __init__(self, stream: Any, name: str):
        self._stream, self._name, self._left = stream, name, STREAM_LIMIT

    def read(self, n: int) -> Any:
        """The next bytes."""
        data = self._stream.read(n)
        self._left -= len(data)
        if self._left < 0:
            raise FileError(f"{self._name} gives more than {memory.size(STREAM_LIMIT)}, {_LIMIT}. {_REMEDY}.")
        return data


def on_disk(stream: Any, name: str, kind: str, stack: ExitStack) -> BinaryIO:
    """A copy in a temporary file: archives are read at several places, and their sizes checked.

    No more is copied than the stream holds or its header announces. If it announces nothing, the limit is the
    smallest of the general limit, half of the free space and the free memory (where temporary files may be
    kept).
    """
    left = size_left(stream)
    start = first_bytes(stream, _START)
    announced = announced_by(kind, start) if left is None else left
    try:
        copy = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
        room = shutil.disk_usage(tempfile.gettempdir()).free // 2
        if announced is None:
            _copy_unannounced(stream, copy, start, name, room)
        else:
            _copy_announced(stream, copy, start, name, announced, room)
    except FileError:
        raise
    except OSError as error:
        raise FileError(
            f"{name} is a stream, which is read through a temporary file, and this failed: {reason(error)}. "
            f"{_REMEDY}, or let TMPDIR name a folder with more room."
        ) from None
    copy.seek(0)
    return copy


def _copy_announced(stream: Any, copy: Any, start: bytes, name: str, announced: int, room: int) -> None:
    if announced > room:
        raise FileError(
            f"{name} announces {memory.size(announced)}, more than {memory.size(room)}, "
            f"half of the space that is free in {tempfile.gettempdir()}. {_REMEDY}."
        )
    copy.write(start)
    left = announced - len(start)
    while left > 0 and (piece := stream.read(min(_PIECE, left))):
        copy.write(piece)
        left -= len(piece)


def _copy_unannounced(stream: Any, copy: Any, start: bytes, name: str, room: int) -> None:
    free = memory.available_memory()
    limits = [
        (STREAM_LIMIT, _LIMIT),
        (room, f"half of the space that is free in {tempfile.gettempdir()}"),
        (STREAM_LIMIT if free is None else free, "the memory that is free"),
    ]
    most, why = min(limits, key=lambda limit: limit[0])
    copy.write(start)
    left = most - len(start)
    while piece := stream.read(_PIECE):
        left -= len(piece)
        if left < 0:
            raise FileError(f"{name} gives more than {memory.size(most)}, {why}. {_REMEDY}.")
        copy.write(piece)
