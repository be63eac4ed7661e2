"""What a first use compiles is known and announced, compiled in two processes, and nothing keeps running."""

from __future__ import annotations

import importlib
import subprocess
import sys
import time

import pytest

from consilience._kernels.compile import cached, jit
from consilience._kernels.compile.text import text_of, types_of
from consilience._warmup import first_use, warm_up
from consilience._warmup.first_use import Needed, compiling_beside

HINT = "python -m benchmarks.bench_first_use --store makes src/consilience/_warmup/first_use.json again"


@pytest.fixture
def slow(tmp_path, monkeypatch):
    """Two kernels on a list, kept in ``tmp_path``, that are said to take their time."""
    lines = [
        "from consilience._kernels.compile.jit import kernel",
        *(f"@kernel\ndef {n}(x):\n    return x + 1" for n in "ab"),
    ]
    (tmp_path / "slowly.py").write_text("\n".join(lines))
    monkeypatch.setattr(jit.config, "CACHE_DIR", "")
    monkeypatch.syspath_prepend(tmp_path)
    listed = tuple(Needed(f"slowly.{name}", "(int64,)", 4.0) for name in "ab")
    monkeypatch.setattr(first_use, "_stored", lambda: (listed, {"both": [0, 1], "one": [0]}))
    monkeypatch.setattr(jit.NOTICE, "said", False)
    monkeypatch.setattr(jit.NOTICE, "announced", False)
    monkeypatch.setattr(first_use, "resolve_jobs", lambda _: 2)
    monkeypatch.setenv(first_use.VARIABLE, "1")
    yield importlib.import_module("slowly")
    for name in "ab":
        jit.KERNELS.pop(f"slowly.{name}", None)
    del sys.modules["slowly"]


def test_the_list_names_kernels_that_exist_for_everything():
    kernels, uses = first_use._stored()
    assert set(uses) - set(warm_up.tasks()) == set(), HINT  # what is not listed compiles when it is used
    unknown = [kernel.name for kernel in kernels if cached.named(kernel.name) is None]
    assert not unknown, HINT
    for kernel in kernels:
        assert text_of(types_of(kernel.signature)) == kernel.signature


def test_rows_of_few_columns_have_kernels_of_their_own():
    wide, narrow = (
        {kernel.name for kernel in first_use.needed([name])}
        for name in ("generate.kmeans", "generate.kmeans of few columns")
    )
    assert "consilience._kernels.kmeans.tiles.look_at_tiles" in narrow - wide


@pytest.mark.parametrize("name", ["LWGP", "measures"])
def test_what_was_compiled_leaves_nothing_missing(name):
    warm_up.warm(name)
    assert first_use.needed([name])
    assert first_use.missing([name]) == []


def test_what_is_missing_is_said_once_and_then_nothing(slow, monkeypatch):
    monkeypatch.setenv(first_use.VARIABLE, "0")
    said = []
    with compiling_beside(["both"], said.append):
        assert slow.a(1) == 2
    assert said == [
        "First use: compiling 2 kernels for this machine in one process, about 8 seconds; kept on disk for "
        "next time."
    ]
    assert jit.NOTICE.announced
    assert [kernel.name for kernel in first_use.missing(["both", "one"])] == ["slowly.b"]
    with compiling_beside(["one"], said.append):
        pass
    assert len(said) == 1


def test_a_process_beside_compiles_from_the_end_and_ends_with_the_block(slow, monkeypatch):
    begun = []
    start = first_use._start
    monkeypatch.setattr(first_use, "_start", lambda names: begun.append(start(names)) or begun[-1])
    # The process beside reads the package's own list: it is given what it would find there.
    monkeypatch.setattr(first_use, "PROCESS", _COMPILES_B)
    with compiling_beside(["both"]):
        limit = time.monotonic() + 120
        while first_use.missing(["both"])[-1].name != "slowly.a" and time.monotonic() < limit:
            time.sleep(0.05)
        assert [kernel.name for kernel in first_use.missing(["both"])] == ["slowly.a"]
        assert begun[0].poll() is None, "it waits for more"
    assert begun[0].poll() is not None
    assert slow.b(1) == 2
    assert slow.b.stats.cache_hits.total() == 1


_COMPILES_B = """
import threading, time
from consilience._warmup import second_process
threading.Thread(target=second_process._end_with_input, daemon=True).start()
from consilience._kernels.compile.cached import compile_now
compile_now("slowly.b", "(int64,)")
time.sleep(600)
"""


@pytest.mark.parametrize(
    ("seconds", "variable", "cores"),
    [(1.0, "1", 2), (4.0, "0", 2), (4.0, "1", 1)],
    ids=["little", "off", "one core"],
)
def test_no_process_where_it_does_not_help(slow, monkeypatch, seconds, variable, cores):
    listed = (Needed("slowly.a", "(int64,)", seconds),)
    monkeypatch.setattr(first_use, "_stored", lambda: (listed, {"one": [0]}))
    monkeypatch.setattr(first_use, "_start", lambda names: pytest.fail("started"))
    monkeypatch.setattr(first_use, "resolve_jobs", lambda _: cores)
    monkeypatch.setenv(first_use.VARIABLE, variable)
    with compiling_beside(["one"]):
        pass


def test_it_ends_when_the_other_process_is_gone():
    code = (
        "from consilience._warmup.second_process import compile_from_the_end as c; "
        "import time; c([]); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(120) == 0


def test_code_for_other_types_is_not_taken(slow, tmp_path):
    """As when two processes keep code for two types at the same moment, in a file of the same name."""
    slow.a(1)
    (path,) = tmp_path.rglob("*.a-*.nbc")
    kept = path.read_bytes()
    slow.a(1.0)
    other = next(file for file in tmp_path.rglob("*.a-*.nbc") if file != path)
    other.write_bytes(kept)
    again = jit.kernel(slow.a.py_func)
    assert again(1.5) == 2.5
    assert again.stats.cache_hits.total() == 0
