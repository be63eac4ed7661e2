"""A file appears whole or not at all."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import pytest

import consilience as cs
from consilience.errors import FileError
from consilience.io import atomic_write, check_writable
from consilience.io._atomic import _temporary


def test_replaces_only_at_the_end(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("old")
    with atomic_write(path, "w") as handle:
        handle.write("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["t.txt"]


@pytest.mark.parametrize("failure", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("existed", [False, True])
def test_failure_leaves_things_as_they_were(tmp_path, failure, existed):
    path = tmp_path / "t.txt"
    if existed:
        path.write_text("old")

    def attempt():
        with atomic_write(path) as handle:
            handle.write(b"half")
            raise failure

    with pytest.raises(failure):
        attempt()
    assert os.listdir(tmp_path) == (["t.txt"] if existed else [])
    assert not existed or path.read_text() == "old"


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".npz", ".parquet", ".mat"])
def test_interrupted_writers_leave_nothing(tmp_path, ending, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        cs.io.write_labels([0, 1], tmp_path / f"t{ending}")
    assert os.listdir(tmp_path) == []


def test_full_disk_is_named(tmp_path, monkeypatch):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(FileError, match=r"Cannot write .*t\.csv: No space left on device\."):
        cs.io.write_labels([0, 1], tmp_path / "t.csv")
    assert os.listdir(tmp_path) == []


def test_permissions(tmp_path):
    path = tmp_path / "t.txt"
    before = os.umask(0o027)
    try:
        with atomic_write(path, "w") as handle:
            handle.write("x")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o666)
        with atomic_write(path, "w") as handle:
            handle.write("y")
        assert stat.S_IMODE(path.stat().st_mode) == 0o666
    finally:
        os.umask(before)


def test_links_are_followed_and_devices_not_replaced(tmp_path):
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    link.symlink_to(real)
    cs.io.write_labels([0, 1], link)
    assert link.is_symlink()
    assert real.read_text() == "name,label\n0,0\n1,1\n"
    with atomic_write("/dev/null", "w") as handle:
        handle.write("x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_long_names(tmp_path):
    path = tmp_path / ("x" * 250 + ".csv")
    cs.io.write_labels([0, 1], path)
    assert path.exists()


def test_only_new_files():
    with (
        pytest.raises(ValueError, match="mode='a': an atomic write starts a new file"),
        atomic_write("t", "a"),
    ):
        pass


def test_check_writable(tmp_path):
    check_writable(tmp_path / "t.csv")
    assert os.listdir(tmp_path) == []
    with pytest.raises(FileError, match=r"Cannot write .*t\.csv: the folder .*nowhere does not exist\."):
        check_writable(tmp_path / "nowhere" / "t.csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="is not a folder"):
        check_writable(tmp_path / "file" / "t.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FileError, match="it is a folder; give the name of a file"):
        check_writable(tmp_path / "folder.csv")
    with pytest.raises(FileError, match=r"t\.docx: unknown kind of file; the name must end in \.csv"):
        check_writable(tmp_path / "t.docx")
    with pytest.raises(FileError, match="it is a folder"), atomic_write(tmp_path / "folder.csv"):
        pass
    with pytest.raises(FileError, match=r"Cannot write .*t\.npz: No such file or directory"):
        cs.io.write_features(np.eye(2), tmp_path / "nowhere" / "t.npz")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_check_writable_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(FileError, match="Permission denied"):
        check_writable(tmp_path / "t.csv")


def test_refused_folder_is_named(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.open", refuse)
    with pytest.raises(FileError, match=r"Cannot write .*t\.csv: Permission denied\."):
        check_writable(tmp_path / "t.csv")


def left_behind(tmp_path, target: str, *, age: float):
    """What a process killed while writing leaves."""
    path = tmp_path / os.path.basename(_temporary(str(tmp_path / target)))
    path.write_bytes(b"half")
    then = time.time() - age
    os.utime(path, (then, then))
    return path


def test_what_killed_writers_left_is_removed(tmp_path):
    stale = left_behind(tmp_path, "t.csv", age=4000)
    fresh = left_behind(tmp_path, "t.csv", age=60)
    other = left_behind(tmp_path, "other.csv", age=4000)
    foreign = tmp_path / ".consilience-notes.tmp"
    foreign.write_text("mine")
    os.utime(foreign, (0, 0))
    cs.io.write_labels([0, 1], tmp_path / "t.csv")
    assert not stale.exists()
    assert fresh.exists()
    assert other.exists()
    assert foreign.exists()


def test_a_slow_writer_keeps_its_file(tmp_path):
    path = tmp_path / "t.csv"
    with atomic_write(path, "w") as slow:
        slow.write("slow")
        slow.flush()
        (temporary,) = tmp_path.iterdir()
        os.utime(temporary, (0, 0))
        cs.io.write_labels([0, 1], path)
        assert temporary.exists()
    assert path.read_text() == "slow"


def test_links_that_look_stale_are_left_alone(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("x")
    link = tmp_path / os.path.basename(_temporary(str(tmp_path / "t.csv")))
    link.symlink_to(victim)
    os.utime(link, (0, 0), follow_symlinks=False)
    cs.io.write_labels([0, 1], tmp_path / "t.csv")
    assert link.is_symlink()
    assert victim.exists()


def test_killed_while_writing(tmp_path):
    code = (
        "import os, signal, sys\n"
        "from consilience.io import atomic_write\n"
        "with atomic_write(sys.argv[1]) as handle:\n"
        "    handle.write(b'half'); handle.flush(); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "t.csv"
    assert subprocess.run([sys.executable, "-c", code, str(path)]).returncode == -signal.SIGKILL
    (temporary,) = tmp_path.iterdir()
    os.utime(temporary, (0, 0))
    cs.io.write_labels([0, 1], path)
    assert os.listdir(tmp_path) == ["t.csv"]


def test_devices_need_no_ending():
    check_writable("/dev/null")
    cs.io.write_labels([0, 1], "/dev/null")
    with pytest.raises(FileError, match=r"Cannot write /dev/full: No space left on device\."):
        cs.io.write_labels([0, 1], "/dev/full")
    with (
        open("/dev/full", "wb", buffering=0) as full,
        pytest.raises(FileError, match=r"Cannot write /dev/full: No space left on device\."),
    ):
        cs.io.write_labels([0, 1], full)
