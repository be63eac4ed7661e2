"""Atomic writes: write beside the target, flush to disk, then rename over it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from ..errors import FileError
from ._formats import format_of, reason, require_packages

try:
    import fcntl
except ImportError:  # Windows, where a file that is open cannot be removed or replaced
    fcntl = None  # type: ignore[assignment]

_STALE = 3600  # seconds


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "wb", **open_options: Any) -> Iterator[IO[Any]]:
    """Open a temporary file beside ``path`` that replaces it on success and is removed on failure.

    ``KeyboardInterrupt`` counts as failure, so Ctrl-C leaves the old file, or none. A device or pipe
    (``/dev/stdout``) cannot be replaced and is written to directly. A symbolic link is followed. Only a
    process that is killed leaves its temporary file (``.consilience-*.tmp``) behind; the next write to the
    same target removes that file once it is an hour old.

    Parameters
    ----------
    path : path
        Where the file is to appear.
    mode : {"wb", "w"}, default="wb"
        As for :func:`open`, and so are ``open_options`` (``encoding``, ``newline``).
    """
    if mode not in ("w", "wb"):
        raise ValueError(f"mode={mode!r}: an atomic write starts a new file; expected 'w' or 'wb'.")
    target = _target(path)
    try:
        before = os.stat(target)
    except OSError:
        before = None
    if before is not None and stat.S_ISDIR(before.st_mode):
        raise FileError(f"Cannot write {os.fspath(path)}: it is a folder; give the name of a file.")
    if before is not None and not stat.S_ISREG(before.st_mode):
        with named(path), open(target, mode, **open_options) as handle:
            yield handle
        return
    _remove_stale(target)
    temporary = _temporary(target)
    permissions = 0o666 if before is None else stat.S_IMODE(before.st_mode)
    try:
        with named(path):
            handle = os.fdopen(
                os.open(
                    temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), permissions
                ),
                mode,
                **open_options,
            )
            with handle:
                _lock(handle.fileno())  # until it is closed; a temporary file without lock belongs to nobody
                yield handle
                handle.flush()
                os.fsync(handle.fileno())
            if before is not None:
                os.chmod(
                    temporary, permissions
                )  # the umask applied at creation; the old file's mode is kept whole
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(os.path.dirname(target))


def check_writable(path: str | os.PathLike[str], *, formats: bool = True) -> None:
    """Raise :class:`FileError` now if writing ``path`` would fail later.

    Checks the ending of the name and the package it needs (unless ``formats=False``), the folder, and, by
    creating and removing an empty file, that the folder takes new files.
    """
    name = os.fspath(path)
    if formats:
        kind, _ = format_of(path)
        require_packages(kind)
    target = _target(path)
    folder = os.path.dirname(target)
    if os.path.isdir(target):
        raise FileError(f"Cannot write {name}: it is a folder; give the name of a file.")
    if os.path.exists(target) and not os.access(target, os.W_OK):
        raise FileError(f"Cannot write {name}: the file is read-only.")
    if os.path.exists(target) and not os.path.isfile(target):
        return  # a device or pipe: written to directly
    if not os.path.isdir(folder):
        what = "is not a folder" if os.path.exists(folder) else "does not exist"
        raise FileError(f"Cannot write {name}: the folder {folder} {what}.")
    probe = _temporary(target)
    try:
        with named(path):
            os.close(os.open(probe, os.O_WRONLY | os.O_CREAT | os.O_EXCL))
    finally:
        with contextlib.suppress(OSError):
            os.unlink(probe)


@contextmanager
def named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn errors of the system into ours, with the name of the file that the user asked for."""
    try:
        yield
    except (BrokenPipeError, FileError):
        raise
    except OSError as error:
        words = reason(error)
        if error.errno is None:  # numpy counts what it could not write, and does not name the cause
            words = f"the disk may be full ({words})"
        raise FileError(f"Cannot write {os.fspath(path)}: {words}.") from error


def _target(path: str | os.PathLike[str]) -> str:
    """The file itself, links followed."""
    try:
        return os.path.realpath(path)
    except ValueError as error:  # a NUL in the path
        raise FileError(f"Cannot write {os.fspath(path)!r}: {reason(error)}.") from None


def _temporary(target: str) -> str:
    """A name beside the target that carries the mark of the target.

    It is short, so that a target near the limit of name lengths still works.
    """
    return os.path.join(os.path.dirname(target), f"{_mark(target)}{secrets.token_hex(8)}.tmp")


def _mark(target: str) -> str:
    name = os.path.basename(target).encode("utf-8", "surrogateescape")
    return f".consilience-{hashlib.blake2b(name, digest_size=6).hexdigest()}-"


def _lock(descriptor: int) -> bool:
    """Claim an open file for as long as it is open.

    Returns False if a living writer has it, or if the system has no locks.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_stale(target: str) -> None:
    """Remove the files that a killed process left when it wrote to the same target.

    Removes only files of this user that carry the mark of the target, have not been touched for an hour and
    are not locked: a writer holds the lock of its file until the rename. Where the system has no locks,
    nothing is removed.
    """
    mark, folder = _mark(target), os.path.dirname(target)
    with contextlib.suppress(OSError):
        left = [name for name in os.listdir(folder) if name.startswith(mark) and name.endswith(".tmp")]
        for name in left:
            with contextlib.suppress(OSError):
                _remove_if_stale(os.path.join(folder, name))


def _remove_if_stale(path: str) -> None:
    found = os.lstat(path)
    ours = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()
    if not ours or time.time() - found.st_mtime < _STALE:
        return
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        if _lock(descriptor):
            os.unlink(path)
    finally:
        os.close(descriptor)


def _sync_folder(folder: str) -> None:
    """Make the rename itself durable, where the system lets a folder be opened."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
