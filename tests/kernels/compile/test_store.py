"""Kernels that the package brings: taken where they fit exactly, never executed where they do not."""

from __future__ import annotations

import json
import pickle
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest

from consilience._kernels.compile import store

from .conftest import close_to_writing, copied, environment, run

LEVEL = store.level()
pytestmark = pytest.mark.skipif(
    LEVEL is None or not store._processor_has(LEVEL[0]), reason="no store is made for this processor"
)

USE = """
import numpy as np
from consilience._kernels.kmeans.small import _moved
from consilience._kernels.compile.cached import times_compiled
print(_moved(np.ones((2, 3)), np.zeros((2, 3))), times_compiled())
"""
TAKEN, COMPILED = "6.0 0", "6.0 2"  # the kernel, and the one that it calls

MAKE = """
from consilience._kernels.compile import collect, store
print(collect.write_store(store.FILE))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A store of two kernels, and what it prints to make it."""
    folder = tmp_path_factory.mktemp("made")
    source = copied(folder)
    level, features = store.level()
    said, _ = run(
        USE + MAKE,
        source,
        NUMBA_CACHE_DIR=str(folder / "cache"),
        NUMBA_CPU_NAME=level,
        NUMBA_CPU_FEATURES=",".join(f"+{feature}" for feature in sorted(features)),
    )
    assert said.splitlines() == [COMPILED, "2"]
    return file_of(source)


@pytest.fixture
def wheel(package, made):
    """A package with that store, in which nothing else can be kept."""
    shutil.copy(made, file_of(package))
    close_to_writing(package)
    return package


def file_of(package):
    return package / "consilience/_kernels/compile/kernels.store"


def parts(package):
    head, _, codes = file_of(package).read_bytes().partition(b"\n")
    return json.loads(head), codes


def write(package, head, codes):
    file_of(package).write_bytes(json.dumps(head).encode() + b"\n" + codes)


def test_it_is_taken_from_a_package_and_home_that_are_read_only(wheel):
    assert run(USE, wheel, HOME="/proc/nohome") == (TAKEN, "")


def test_without_one_kernels_are_compiled(wheel):
    file_of(wheel).unlink()
    out, said = run(USE, wheel, HOME="/proc/nohome")
    assert out == COMPILED
    assert "Compiled code cannot be kept" in said


def test_an_old_wheel_with_a_new_numba_compiles(wheel, tmp_path):
    head, codes = parts(wheel)
    head["made for"]["numba"] = "0.0.1"
    write(wheel, head, codes)
    out, said = run(USE, wheel, NUMBA_CACHE_DIR=str(tmp_path / "new"))
    assert out == COMPILED
    assert "arn" not in said


@pytest.fixture
def kept(tmp_path):
    """A store of one piece of code, in this process."""
    path = tmp_path / "kernels.store"
    store.write(path, [store.Kept("room.kernel", "stamp", "(int64,)", pickle.dumps("code"))], LEVEL[0])
    return path


def loaded(path, monkeypatch, stamp="stamp", signature="(int64,)"):
    """What is unpickled from the store."""
    monkeypatch.setattr(store.CompileResult, "_rebuild", lambda context, *code: "".join(code))
    return store.Store(path).load("room.kernel", stamp, signature, None)


def edited(path, **changes):
    line, _, codes = path.read_bytes().partition(b"\n")
    path.write_bytes(json.dumps({**json.loads(line), **changes}).encode() + b"\n" + codes)


def test_code_is_taken_for_the_same_sources_and_types(kept, monkeypatch):
    assert loaded(kept, monkeypatch) == "code"
    assert loaded(kept, monkeypatch, stamp="another") is None
    assert loaded(kept, monkeypatch, signature="(float64,)") is None


@pytest.mark.parametrize("name", ["numba", "llvmlite", "python", "system", "settings"])
def test_code_that_was_made_for_something_else_is_not_taken(kept, monkeypatch, name):
    edited(kept, **{"made for": {**store.made_for(), name: "another"}})
    assert loaded(kept, monkeypatch) is None


@pytest.mark.parametrize(("name", "value"), [("BOUNDSCHECK", 1), ("OPT", 1), ("CPU_NAME", "generic")])
def test_code_is_not_taken_with_other_settings(kept, monkeypatch, name, value):
    monkeypatch.setattr(store.config, name, value)
    assert loaded(kept, monkeypatch) is None


def test_code_is_not_taken_where_that_is_switched_off(kept, monkeypatch):
    monkeypatch.setenv(store.VARIABLE, "0")
    assert loaded(kept, monkeypatch) is None


@pytest.mark.skipif(not (LEVEL and LEVEL[1]), reason="every processor of this kind has the level")
@pytest.mark.parametrize("lost", sorted(LEVEL[1]) if LEVEL else ())
def test_a_processor_below_the_level_does_not_get_its_code(kept, monkeypatch, lost):
    features = {**store.binding.get_host_cpu_features(), lost: False}
    monkeypatch.setattr(store.binding, "get_host_cpu_features", lambda: features)
    assert loaded(kept, monkeypatch) is None


def test_code_for_another_level_is_not_taken(kept, monkeypatch):
    edited(kept, level="x86-64-v9")
    assert loaded(kept, monkeypatch) is None


@pytest.mark.parametrize("left", [0, 1, 20, 0.5, 0.99])
def test_a_store_that_is_cut_short_gives_nothing(kept, monkeypatch, left):
    whole = kept.read_bytes()
    kept.write_bytes(whole[: left if isinstance(left, int) else int(left * len(whole))])
    assert loaded(kept, monkeypatch) is None


def test_no_byte_of_code_can_change(kept, monkeypatch):
    whole = kept.read_bytes()
    for i in range(1, len(pickle.dumps("code")) + 1):
        damaged = bytearray(whole)
        damaged[-i] ^= 1
        kept.write_bytes(damaged)
        assert loaded(kept, monkeypatch) is None


@pytest.mark.parametrize("kernels", [[], None, {"room.kernel": []}, {"room.kernel": {"stamp": "stamp"}}])
def test_a_damaged_head_gives_nothing(kept, monkeypatch, kernels):
    edited(kept, kernels=kernels)
    assert loaded(kept, monkeypatch) is None


@pytest.mark.parametrize("place", [[], None, [0], [0, 10], ["a", 1, "b"], [-5, -1, "b"], [0, 10**12, "b"]])
def test_a_place_that_is_none_gives_nothing(kept, monkeypatch, place):
    edited(kept, kernels={"room.kernel": {"stamp": "stamp", "variants": {"(int64,)": place}}})
    assert loaded(kept, monkeypatch) is None


@pytest.mark.parametrize("whole", [b"", b"\n", b"{", b"\xff\xfe\x00", b"[1, 2]\n"])
def test_what_is_no_store_gives_nothing(kept, monkeypatch, whole):
    kept.write_bytes(whole)
    assert loaded(kept, monkeypatch) is None
    kept.unlink()
    assert loaded(kept, monkeypatch) is None


def test_an_edit_of_a_helper_reaches_its_callers(wheel, tmp_path):
    helper = wheel / "consilience/_kernels/compile/vectors.py"
    helper.write_text(helper.read_text().replace("difference * difference", "difference * 10.0"))
    assert run(USE, wheel, NUMBA_CACHE_DIR=str(tmp_path / "new"))[0] == "60.0 2"


class _Writes:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_foreign_code_is_not_executed(wheel, tmp_path):
    """A pickle in the place of the code, which the digest is not of."""
    bad = pickle.dumps(_Writes(str(tmp_path / "executed")))
    head, codes = parts(wheel)
    for kernel in head["kernels"].values():
        for place in kernel["variants"].values():
            place[:2] = len(codes), len(bad)
    write(wheel, head, codes + bad)
    assert run(USE, wheel, NUMBA_CACHE_DIR=str(tmp_path / "new"))[0] == COMPILED
    assert not (tmp_path / "executed").exists()
    pickle.loads(bad).close()
    assert (tmp_path / "executed").exists(), "it would have been seen"


def test_many_processes_at_once(wheel):
    """Started together, forked before and after the first use, and spawned."""
    env = environment(wheel, HOME="/proc/nohome")
    started = [
        subprocess.Popen([sys.executable, "-c", USE], env=env, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [process.communicate(timeout=300)[0].strip() for process in started] == [TAKEN] * 3


MANY = """
import multiprocessing, sys
import numpy as np

def use(_=None):
    from consilience._kernels.kmeans.small import _moved
    from consilience._kernels.compile.cached import times_compiled
    return _moved(np.ones((2, 3)), np.zeros((2, 3))), times_compiled()

if __name__ == "__main__":
    how, before = sys.argv[1:]
    if before == "used":
        use()
    with multiprocessing.get_context(how).Pool(2) as pool:
        print(set(pool.map(use, range(4), chunksize=1)))
"""


@pytest.mark.parametrize("before", ["used", "new"])
@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_children_take_it(wheel, tmp_path, how, before):
    if how == "fork" and sys.platform != "linux":
        pytest.skip("processes are not forked here")
    (tmp_path / "many.py").write_text(MANY)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "many.py"), how, before],
        env=environment(wheel, HOME="/proc/nohome"),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout.strip() == "{(6.0, 0)}", done.stderr


def test_it_is_taken_from_an_archive(wheel, tmp_path):
    archive = tmp_path / "consilience.zip"
    with zipfile.ZipFile(archive, "w") as into:
        for path in wheel.rglob("*"):
            if path.is_file() and path.name != "__pycache__":
                into.write(path, path.relative_to(wheel))
    assert run(USE, archive, HOME="/proc/nohome") == (TAKEN, "")


def test_answers_are_those_of_compiling_for_the_same_level(wheel, tmp_path):
    code = """
import numpy as np
from consilience._kernels.kmeans.small import _moved
rng = np.random.default_rng(0)
print(_moved(rng.random((40, 37)), rng.random((40, 37))).hex())
"""
    level, features = store.level()
    compiled, _ = run(
        code,
        wheel,
        NUMBA_CACHE_DIR=str(tmp_path / "new"),
        NUMBA_CPU_NAME=level,
        NUMBA_CPU_FEATURES=",".join(f"+{feature}" for feature in sorted(features)),
        **{store.VARIABLE: "0"},
    )
    assert run(code, wheel, HOME="/proc/nohome") == (compiled, "")
    assert float.fromhex(compiled) == pytest.approx(_expected())


def _expected():
    rng = np.random.default_rng(0)
    return float(((rng.random((40, 37)) - rng.random((40, 37))) ** 2).sum())
