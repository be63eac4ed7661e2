"""Devices and streams that never end: refused by their start, or at a limit."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import threading

import h5py
import numpy as np
import pytest
import scipy.io

import consilience as cs
from consilience.errors import FileError, NotEnoughMemoryError

FEATURES, LABELS = cs.io.read_features, cs.io.read_labels
LIMIT = 4_000_000

posix = pytest.mark.skipif(os.name != "posix", reason="devices and pipes as POSIX has them")


class Endless(io.RawIOBase):
    """A start, then one piece again and again; fails the test where far too much is read."""

    name = "endless"

    def __init__(self, start: bytes, piece: bytes = bytes(64)):
        self._held, self._piece, self.taken = start, piece * (1 << 16), 0

    def readable(self):
        return True

    def readinto(self, buffer):
        if not self._held:
            self._held = memoryview(self._piece)
        n = min(len(buffer), len(self._held))
        buffer[:n], self._held = self._held[:n], self._held[n:]
        self.taken += n
        assert self.taken < 10 * LIMIT, "the stream is read without end"
        return n


class ReadOnly:
    """What only has read()."""

    name = "endless"

    def __init__(self, stream):
        self.read = stream.read


@pytest.fixture(autouse=True)
def low_limit(monkeypatch):
    monkeypatch.setattr("consilience.io._streams.STREAM_LIMIT", LIMIT)


def npy(shape) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return stream.getvalue()


def stored(ending: str, table: np.ndarray) -> bytes:
    out = io.BytesIO()
    if ending == "h5":
        with h5py.File(out, "w") as file:
            file["X"] = table.T
    elif ending == "mat":
        scipy.io.savemat(out, {"X": table})
    else:
        np.save(out, table)
    return out.getvalue()


# Devices ------------------------------------------------------------------------------------------


@posix
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom", "/dev/null"])
@pytest.mark.parametrize("ending", ["npz", "npy", "mat", "parquet", "csv", "csv.gz", "txt"])
def test_devices_are_refused_by_name(tmp_path, device, ending):
    path = tmp_path / f"z.{ending}"
    path.symlink_to(device)
    for read in (FEATURES, LABELS):
        with pytest.raises(FileError, match=rf"z\.{ending} is a device, .*; pass a file or a pipe"):
            read(path)
    with pytest.raises(FileError, match=f"{device} is a device"):
        FEATURES(device)
    with open(device, "rb") as handle, pytest.raises(FileError, match=f"{device} is a device"):
        LABELS(handle)


@posix
def test_models_are_not_read_from_devices_or_pipes(tmp_path):
    with pytest.raises(FileError, match="/dev/zero is a device"):
        cs.load("/dev/zero")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    descriptor = os.open(pipe, os.O_RDWR)  # so that opening it again does not wait
    with pytest.raises(FileError, match="pipe is not a regular file; save"):
        cs.load(pipe)
    os.close(descriptor)


# Streams ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("opened", [lambda stream: stream, io.BufferedReader, ReadOnly])
@pytest.mark.parametrize("start", [b"PK\3\4", b"PAR1", b"MATLAB 5.0".ljust(126) + b"IM"])
def test_archives_without_end(opened, start):
    stream = Endless(start)
    with pytest.raises(
        FileError, match=r"endless gives more than 4\.0 MB, the most .* without a size\. Save it to a"
    ):
        FEATURES(opened(stream))
    assert stream.taken < 2 * LIMIT + (1 << 20)


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (b"a,b\n", b"1,2\n"),
        (b"a,b\n", b"1,x\n"),
        (b"a\n", b"1\n"),
        (b"", b"x"),
        (b"", b'"",'),
        (b"\x1f\x8b\x08\x08" + bytes(6), b"a"),  # a name in the header of gzip
        (gzip.compress(b"1,2\n3,4\n", mtime=0), b"\0"),  # padding
    ],
)
@pytest.mark.parametrize("transpose", [False, True])
def test_text_without_end(start, piece, transpose):
    with pytest.raises(
        FileError, match=r"endless gives more than 4\.0 MB, the most .* without a size\. Save it to a"
    ):
        LABELS(Endless(start, piece), transpose=transpose)


def test_features_in_text_without_end():
    for column in (None, "b"):
        with pytest.raises(FileError, match=r"endless gives more than 4\.0 MB"):
            FEATURES(Endless(b"a,b\n", b"1,2\n"), column=column)


@posix
@pytest.mark.parametrize("ending", ["npz", "npy", "mat", "parquet", "csv", "csv.gz"])
def test_named_pipes_of_zeros(tmp_path, ending):
    """What is not of the format its name says is refused after its start."""
    pipe = tmp_path / f"z.{ending}"
    os.mkfifo(pipe)
    taken = []

    def write():
        with open(pipe, "wb", buffering=0) as out:
            try:
                while len(taken) < 200:
                    taken.append(out.write(bytes(1 << 16)))
            except BrokenPipeError:
                pass

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(FileError, match=rf"z\.{ending}"):
        FEATURES(pipe)
    writer.join()
    assert sum(taken) < LIMIT


# Announced sizes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["npy", "h5"])
def test_no_more_is_read_than_is_announced(ending, monkeypatch):
    monkeypatch.setattr("consilience.io._streams.STREAM_LIMIT", 1000)
    table = np.random.default_rng(0).normal(size=(200, 3))
    stream = Endless(stored(ending, table))
    np.testing.assert_array_equal(FEATURES(stream).X, table)
    assert stream.taken < 2**20


def test_an_announced_size_without_room_is_refused_beforehand(monkeypatch):
    usage = type("Usage", (), {"free": 10**6})
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    stream = Endless(npy((10**6, 2)))
    with pytest.raises(
        FileError, match=r"announces 16\.0 MB, more than 500\.0 kB, half of the space .* Save it to a regular"
    ):
        FEATURES(stream)
    assert stream.taken < 2**16
    with pytest.raises(FileError, match=r"gives more than 500\.0 kB, half of the space that is free in "):
        FEATURES(Endless(b"PK\3\4"))


def test_memory_bounds_what_is_copied(monkeypatch):
    monkeypatch.setattr("consilience._kernels.runtime.memory.available_memory", lambda: 10**6)
    with pytest.raises(FileError, match=r"gives more than 1\.0 MB, the memory that is free"):
        FEATURES(Endless(b"PK\3\4"))


def test_files_with_a_size_have_no_limit(tmp_path, monkeypatch):
    monkeypatch.setattr("consilience.io._streams.STREAM_LIMIT", 10)
    table = np.random.default_rng(0).normal(size=(20, 3))
    np.savez(tmp_path / "x.npz", X=table)
    cs.io.write_features(table, tmp_path / "x.csv")
    for ending in ("npz", "csv"):
        with open(tmp_path / f"x.{ending}", "rb") as handle:
            np.testing.assert_allclose(FEATURES(handle).X, table)
        content = (tmp_path / f"x.{ending}").read_bytes()
        np.testing.assert_allclose(FEATURES(io.BytesIO(content)).X, table)


def test_a_temporary_folder_that_fails(monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(FileError, match=r"through a temporary file, and this failed: No space left.*TMPDIR"):
        FEATURES(Endless(b"PK\3\4"))


@pytest.mark.parametrize("version", ["4", "5"])
def test_matlab_files_of_zeros(tmp_path, version):
    path = tmp_path / "z.mat"
    start = b"" if version == "4" else b"MATLAB 5.0".ljust(124) + b"\0\1IM"
    path.write_bytes(start + bytes(2000))
    with pytest.raises(FileError, match="truncated or damaged"):
        FEATURES(path)


# Memory of text -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "options", "line"),
    [
        (LABELS, {"transpose": True}, "x,yy\n"),
        (LABELS, {"index": True}, "name {},1\n"),
        (LABELS, {}, "label {},1\n"),
        (FEATURES, {"column": "a", "index": False}, "x,1\n"),
        (FEATURES, {"index": True}, "name {},1\n"),
    ],
)
def test_texts_count_as_memory(read, options, line, monkeypatch):
    monkeypatch.setattr("consilience._kernels.runtime.memory.available_memory", lambda: 20_000_000)
    text = "a,b\n" + "".join(line.format(i) for i in range(300_000))
    with pytest.raises(NotEnoughMemoryError, match=r"needs .* but 20\.0 MB are free; use fewer rows"):
        read(io.BytesIO(text.encode()), **options)


def test_members_and_padding_of_gzip():
    pieces = [gzip.compress(text) for text in (b"a,b\n1,2\n", b"", b"3,4\n" * 200_000)]
    packed = bytes(5).join(pieces) + bytes(5)
    assert FEATURES(io.BytesIO(packed)).X.shape == (200_001, 2)
    for broken, message in (
        (packed[:-20], "end too early"),
        (packed + b"x" * 20, "header"),
        (packed[:40], "early"),
    ):
        with pytest.raises(FileError, match=f"truncated or damaged, or not gzip data: .*{message}"):
            FEATURES(io.BytesIO(broken))


def test_streams_in_text_mode_are_refused():
    with pytest.raises(FileError, match="<stream> is open in text mode; open it in binary mode"):
        FEATURES(io.StringIO("1,2\n3,4\n"))


@posix
def test_the_program_refuses_a_pipe_without_end():
    code = (
        "import sys, consilience.io._streams as s; s.STREAM_LIMIT = 4_000_000\n"
        "from consilience._cli import main; main(['cluster', '-', '-k', '2'])"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        child.stdin.write(b"PK\3\4")
        for _ in range(100):
            child.stdin.write(bytes(1 << 20))
    except BrokenPipeError:
        pass
    with child:
        _, err = child.communicate(timeout=60) if not child.stdin.closed else (None, child.stderr.read())
    assert child.returncode == 2
    assert err.decode().startswith("consilience: error: <stdin> gives more than 4.0 MB")
