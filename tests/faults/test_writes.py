"""Disks that fill up and processes that are killed: a file is whole, or the old one, or none."""

from __future__ import annotations

import json
import os
import subprocess

import numpy as np
import pytest

from consilience import io

from .children import run, start

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits and signals as POSIX has them")

ENDINGS = [".csv", ".csv.gz", ".npy", ".npz", ".mat", ".parquet"]

# Every writer on every format, over an old file and over none; prints what came of each.
WRITERS = """
import json, os, sys
import numpy as np
import consilience as cs
from consilience.errors import FileError

folder, endings = sys.argv[1], json.loads(sys.argv[2])
{limit}
rng = np.random.default_rng(0)
X, labels = rng.random((3000, 4)), rng.integers(0, 2**40, 30000)
ensemble = cs.Ensemble(rng.integers(0, 2**40, (3000, 3)).repeat(2, axis=0))
model = cs.consensus.EvidenceAccumulation(2).fit(rng.integers(0, 3, (200, 5)))
writers = {{
    "features": lambda path: cs.io.write_features(X, path),
    "labels": lambda path: cs.io.write_labels(labels, path),
    "ensemble": lambda path: cs.io.write_ensemble(ensemble, path),
    "report": lambda path: cs.report(model, path=path),
}}
found = []
for ending in [*endings, ".html"]:
    for name, write in writers.items():
        if (name == "report") != (ending == ".html"):
            continue
        for old in (None, b"old"):
            path = os.path.join(folder, "t" + ending)
            if old is not None:
                with open(path, "wb") as handle:
                    handle.write(old)
            try:
                write(path)
                words = "written"
            except FileError as error:
                words = str(error)
            except BaseException as error:
                words = f"{{type(error).__name__}}: {{error}}"
            left = sorted(os.listdir(folder))
            intact = old is None or open(path, "rb").read() == old
            found.append([name, ending, old is not None, words, left, intact])
            if old is not None:
                os.unlink(path)
print(json.dumps(found))
"""
NO_LARGE_FILES = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
"""


def check_refusals(found: list, reason: str) -> None:
    assert len(found) >= 2 * (3 * len(ENDINGS) + 1)
    for name, ending, existed, words, left, intact in found:
        where = f"{name} as {ending}, {'over an old file' if existed else 'new'}"
        assert words.startswith("Cannot write "), f"{where}: {words}"
        assert reason in words or "the disk may be full" in words, f"{where}: {words}"
        assert left == ([f"t{ending}"] if existed else []), f"{where} leaves {left}"
        assert intact, f"{where}: the old file was changed"


def test_a_file_that_may_not_grow_leaves_the_old_one(tmp_path):
    script = WRITERS.format(limit=NO_LARGE_FILES)
    check_refusals(json.loads(run(script, tmp_path, json.dumps(ENDINGS))), "File too large")


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 1)() != 0, reason="only the superuser may mount")
def test_a_full_disk_leaves_the_old_file(tmp_path):
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=20k", "none", str(tmp_path)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        script = WRITERS.format(limit="")
        check_refusals(json.loads(run(script, tmp_path, json.dumps(ENDINGS))), "No space left on device")
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


# Writers that never stop, killed at random moments. Forked from a process that has no threads, as it neither
# reads nor writes: forking beside the threads of a reader of CSV can wait for a lock that nobody gives back.
KILLED = """
import os, random, signal, sys, time
import numpy as np
import consilience as cs

path = sys.argv[1]
versions = [np.full((4000, 3), float(v)) for v in (1, 2)]
write = cs.io.write_features
random.seed(0)
for order in sys.stdin:
    writer = os.fork()
    if writer == 0:
        while True:
            for X in versions:
                write(X, path)
    time.sleep(random.uniform(0.005, 0.06))
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    print("killed", flush=True)
"""


@pytest.mark.parametrize("ending", [".csv", ".npz", ".mat"])
def test_a_killed_writer_leaves_no_half_file(tmp_path, ending):
    path = tmp_path / f"t{ending}"
    versions = [np.full((4000, 3), float(v)) for v in (1, 2)]
    io.write_features(versions[0], path)
    killer = start(KILLED, path, stdin=subprocess.PIPE)
    assert killer.stdin is not None
    assert killer.stdout is not None
    met_a_write = False
    for _ in range(25):
        killer.stdin.write("another\n")
        killer.stdin.flush()
        assert killer.stdout.readline() == "killed\n"
        back = np.asarray(io.read_features(path).values)
        assert any(np.array_equal(back, X) for X in versions)
        for other in set(tmp_path.iterdir()) - {path}:
            assert other.name.startswith(".consilience-")
            assert other.name.endswith(".tmp")
            other.unlink()
            met_a_write = True
    killer.stdin.close()
    assert killer.wait(timeout=60) == 0
    assert met_a_write  # some kills did hit a write in progress, or this shows nothing


def test_a_pipe_that_breaks_leaves_no_file(tmp_path):
    script = (
        "import consilience as cs, numpy as np, sys\n"
        "try: cs.io.write_features(np.zeros((200000, 3)), sys.stdout.buffer)\n"
        "except (BrokenPipeError, cs.errors.ConsilienceError): raise SystemExit(7)\n"
    )
    child = start(script, cwd=tmp_path)
    assert child.stdout is not None
    child.stdout.read(10)
    child.stdout.close()
    assert child.wait(timeout=60) in (7, 120)  # 120: Python could not flush its own output either
    assert os.listdir(tmp_path) == []
