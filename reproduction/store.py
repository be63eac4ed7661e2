"""A crash-safe store of results: one JSON record a line, appended and flushed to disk as each cell finishes.

Each line carries a checksum of itself. A run that is killed in the middle of a line leaves a torn line;
readers skip it (and count it), the next run starts on a fresh line, and the cell is simply done again.
Nothing is ever rewritten.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from consilience.errors import FileError

try:
    import fcntl
except ImportError:  # no advisory locks on this system
    fcntl = None  # type: ignore[assignment]

FILE = "results.jsonl"


@dataclass
class Records:
    """What a store holds: the records in the order they were written, and how many lines were unreadable."""

    records: list[dict] = field(default_factory=list)
    damaged: int = 0

    def of(self, kind: str) -> Iterator[dict]:
        """The records of one kind: ``"cell"``, ``"base"`` (clusterings made) or ``"run"``."""
        return (record for record in self.records if record.get("kind") == kind)


def read_store(folder: str | os.PathLike[str]) -> Records:
    """Every intact record of a results folder; none if it has no store yet."""
    out = Records()
    try:
        lines = (Path(folder) / FILE).read_bytes().split(b"\n")
    except FileNotFoundError:
        return out
    except OSError as error:
        raise FileError(f"Cannot read the results in {folder}: {error}.") from None
    decoded = [decode(line) for line in lines if line]
    out.records = [record for record in decoded if record is not None]
    out.damaged = len(decoded) - len(out.records)
    return out


def encode(record: dict) -> bytes:
    """One line: the record with its checksum in front."""
    text = _text(record)
    return f'{{"crc":"{zlib.crc32(text.encode()):08x}","record":{text}}}\n'.encode()


def decode(line: bytes) -> dict | None:
    """The record of a line, or None if the line is torn or was changed."""
    try:
        held = json.loads(line)
        record, crc = held["record"], held["crc"]
    except (ValueError, KeyError, TypeError):
        return None
    return record if isinstance(record, dict) and crc == f"{zlib.crc32(_text(record).encode()):08x}" else None


def _text(record: Any) -> str:
    return json.dumps(record, sort_keys=True, separators=(",", ":"))


class Store:
    """The store of a folder, open for appending by one run at a time. Use as a context."""

    def __init__(self, folder: str | os.PathLike[str]):
        self.folder = Path(folder)

    def __enter__(self) -> Store:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._handle = open(self.folder / FILE, "a+b")
        except OSError as error:
            raise FileError(f"Cannot write results to {self.folder}: {error}.") from None
        if fcntl is not None:
            try:
                fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self._handle.close()
                raise FileError(
                    f"Another run is writing to {self.folder}; wait for it to end, or give another --out "
                    f"folder."
                ) from None
        if self._handle.tell():  # after a torn line, start a new one
            self._handle.seek(-1, os.SEEK_END)
            if self._handle.read(1) != b"\n":
                self._handle.write(b"\n")
        return self

    def __exit__(self, *exception: Any) -> None:
        self._handle.close()

    def append(self, record: dict) -> None:
        """Write one record; it is on disk when this returns."""
        self._handle.write(encode(record))
        self._handle.flush()
        os.fsync(self._handle.fileno())
