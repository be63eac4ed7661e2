"""What is free: of the machine, of the control groups around the process, and under its own limits."""

from __future__ import annotations

import subprocess
import sys

import pytest

from consilience._kernels.runtime import memory
from consilience.errors import NotEnoughMemoryError


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)


def test_no_group_file_means_no_limit(tmp_path):
    assert memory._groups_free(tmp_path) is None


def test_version_2_own_group_and_all_around_it(tmp_path):
    write(tmp_path / "proc/self", cgroup="0::/user.slice/work.scope\n")
    mount = tmp_path / "sys/fs/cgroup"
    write(mount / "user.slice/work.scope", memory__max="max\n", memory__current="10\n")
    write(mount / "user.slice", memory__max="5000\n", memory__current="1000\n")
    assert memory._groups_free(tmp_path) == 4000  # the slice around the process's own group
    write(mount / "user.slice/work.scope", memory__max="300\n", memory__current="100\n")
    assert memory._groups_free(tmp_path) == 200


def test_version_2_inside_a_container_is_the_mount_itself(tmp_path):
    write(tmp_path / "proc/self", cgroup="0::/\n")
    write(tmp_path / "sys/fs/cgroup", memory__max="900\n", memory__current="100\n")
    assert memory._groups_free(tmp_path) == 800


def test_version_1_own_group_and_all_around_it(tmp_path):
    write(tmp_path / "proc/self", cgroup="5:cpu,cpuacct:/a\n4:memory:/a/b\n0::/\n")
    mount = tmp_path / "sys/fs/cgroup/memory"
    write(mount, memory__limit_in_bytes="9223372036854771712", memory__usage_in_bytes="7")
    write(mount / "a", memory__limit_in_bytes="700", memory__usage_in_bytes="100")
    write(mount / "a/b", memory__limit_in_bytes="800", memory__usage_in_bytes="50")
    assert memory._groups_free(tmp_path) == 600


def test_version_1_path_of_the_host_does_not_exist_in_a_container(tmp_path):
    write(tmp_path / "proc/self", cgroup="4:memory:/docker/abc\n")
    write(tmp_path / "sys/fs/cgroup/memory", memory__limit_in_bytes="700", memory__usage_in_bytes="100")
    assert memory._groups_free(tmp_path) == 600


def test_path_that_leaves_the_mount_is_not_followed(tmp_path):
    write(tmp_path / "proc/self", cgroup="0::/../other\nnonsense\n")
    write(tmp_path / "sys/fs/other", memory__max="5", memory__current="1")
    assert memory._groups_free(tmp_path) is None


def test_cached_files_do_not_count_as_used(tmp_path):
    write(tmp_path / "proc/self", cgroup="0::/\n")
    stat = "anon 100\ninactive_file 700\n"
    write(tmp_path / "sys/fs/cgroup", memory__max="1000", memory__current="900", memory__stat=stat)
    assert memory._groups_free(tmp_path) == 800


def test_files_read_often_and_caches_of_the_kernel_do_not_count_as_used(tmp_path):
    """Data that was read twice is among the active files, all of which are given back before a refusal."""
    stat = "anon 100\nfile 750\nshmem 50\ninactive_file 200\nactive_file 500\nslab_reclaimable 30\nslab 40\n"
    write(tmp_path / "proc/self", cgroup="0::/\n")
    write(tmp_path / "sys/fs/cgroup", memory__max="1000", memory__current="900", memory__stat=stat)
    assert memory._groups_free(tmp_path) == 1000 - (900 - 200 - 500 - 30)


def test_version_1_counts_the_files_of_the_groups_inside(tmp_path):
    stat = "inactive_file 1\nactive_file 2\ntotal_inactive_file 300\ntotal_active_file 400\n"
    write(tmp_path / "proc/self", cgroup="4:memory:/\n")
    files = {"memory__limit_in_bytes": "1000", "memory__usage_in_bytes": "900", "memory__stat": stat}
    write(tmp_path / "sys/fs/cgroup/memory", **files)
    assert memory._groups_free(tmp_path) == 800


def test_more_given_back_than_used_leaves_the_limit(tmp_path):
    write(tmp_path / "proc/self", cgroup="0::/\n")
    stat = "inactive_file 700\nactive_file 700\n"
    write(tmp_path / "sys/fs/cgroup", memory__max="1000", memory__current="900", memory__stat=stat)
    assert memory._groups_free(tmp_path) == 1000


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limits")
@pytest.mark.parametrize(
    ("limits", "free"),
    [
        ({}, None),  # address space that is only reserved costs nothing without a limit on it
        ({"RLIMIT_AS": 10**12}, 10**12 - 9 * 10**11),  # with one, the system counts what is reserved too
        ({"RLIMIT_AS": 10**12, "RLIMIT_DATA": 3 * 10**9}, 2 * 10**9),
        ({"RLIMIT_DATA": 10**8}, -9 * 10**8),
    ],
)
def test_reserved_address_space_counts_only_under_a_limit_on_it(limits, free, monkeypatch):
    import resource

    given = {getattr(resource, name): value for name, value in limits.items()}
    monkeypatch.setattr(resource, "getrlimit", lambda which: (given.get(which, resource.RLIM_INFINITY),) * 2)
    used = {"VmSize:": 9 * 10**11 // 1024, "VmData:": 10**9 // 1024}
    monkeypatch.setattr(memory, "_fields", lambda _: used)
    found = memory._process_free()
    assert found == (None if free is None else pytest.approx(free, abs=2048))


def test_without_a_limit_what_is_used_is_not_read(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY,) * 2)
    read = []
    monkeypatch.setattr(memory, "_fields", lambda file: read.append(file) or {})
    assert memory._process_free() is None
    assert not read


def test_a_limit_without_a_word_on_what_is_used_refuses_late(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(
        resource,
        "getrlimit",
        lambda which: (10**9 if which == resource.RLIMIT_AS else resource.RLIM_INFINITY,) * 2,
    )
    monkeypatch.setattr(memory, "_fields", lambda _: {})
    assert memory._process_free() == 10**9


def test_an_exceeded_limit_leaves_nothing(monkeypatch):
    monkeypatch.setattr(memory, "_groups_free", lambda: -5)
    assert memory.available_memory() == 0


def limited(code: str, limit: str, n_bytes: int) -> str:
    """What ``code`` prints in a process that may take ``n_bytes`` more than it has after importing."""
    head = f"""
import os, resource, sys
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"): os.environ[name] = "1"
import numpy as np, consilience as cs
from consilience._kernels.runtime.memory import _fields, available_memory
from pathlib import Path
used = 1024 * _fields(Path("/proc/self/status"))["{"VmSize:" if limit == "AS" else "VmData:"}"]
resource.setrlimit(resource.RLIMIT_{limit}, (used + {n_bytes},) * 2)
"""
    done = subprocess.run([sys.executable, "-c", head + code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells what a process uses")
@pytest.mark.parametrize("limit", ["AS", "DATA"])
def test_limits_of_the_process(limit):
    free = int(limited("print(available_memory())", limit, 50_000_000))
    assert 30_000_000 < free <= 50_000_000


def test_a_late_memory_error_is_worded_like_a_refusal():
    with (
        pytest.raises(NotEnoughMemoryError, match=r"^Job ran out of memory .*: Unable.*; use less\.$"),
        memory.refusing("Job", "use less"),
    ):
        raise MemoryError("Unable to allocate 3 GiB")


def test_a_refusal_keeps_its_own_words():
    with pytest.raises(NotEnoughMemoryError, match=r"^A needs 2 bytes$"), memory.refusing("Job", "use less"):
        raise NotEnoughMemoryError("A needs 2 bytes")
