"""How kernels are compiled and kept: never stale, never in the way, with a warning where it fails."""

from __future__ import annotations

import gc
import importlib
import pkgutil
import signal
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba.core import event

import consilience
from consilience._kernels.compile import jit
from consilience._kernels.compile.text import TYPES, text_of, types_of
from consilience.errors import ConsilienceWarning

from .conftest import close_to_writing, run

CALLS_A_HELPER = """
import numpy as np
from consilience._kernels.kmeans.small import _moved
print(_moved(np.ones((2, 3)), np.zeros((2, 3))), sum(_moved.stats.cache_hits.values()))
"""


def test_a_read_only_package_and_home_compile_without_a_cache_and_say_so_once(package):
    close_to_writing(package)
    out, said = run(CALLS_A_HELPER, package, HOME="/proc/nohome")
    assert out == "6.0 0"
    assert said.count("Compiled code cannot be kept on disk") == 1
    assert f"the folder of the package ({package / 'consilience'}) and your cache folder" in said
    assert "Set the environment variable NUMBA_CACHE_DIR" in said
    assert "kept on disk for next time" not in said


def test_the_remedy_named_is_one(package, tmp_path):
    close_to_writing(package)
    for hits in "01":
        out, said = run(CALLS_A_HELPER, package, HOME="/proc/nohome", NUMBA_CACHE_DIR=str(tmp_path / "kept"))
        assert out == f"6.0 {hits}"
        assert "cannot be kept" not in said


def test_an_edit_of_a_helper_reaches_its_callers_in_other_files(package):
    assert run(CALLS_A_HELPER, package)[0] == "6.0 0"
    with open(package / "consilience/errors.py", "a") as file:
        file.write("# nothing that is compiled\n")
    with open(package / "consilience/_kernels/programs/box.py", "a") as file:
        file.write("# nothing that is called\n")
    assert run(CALLS_A_HELPER, package)[0] == "6.0 1"
    helpers = package / "consilience/_kernels/compile/vectors.py"
    text = helpers.read_text()
    assert text.count("difference * difference") == 1
    helpers.write_text(text.replace("difference * difference", "difference * 10.0"))
    assert run(CALLS_A_HELPER, package)[0] == "60.0 0"


def test_what_a_kernel_depends_on_is_found_through_imports():
    """Checked against the modules that Python loaded: no module that kernels come from is missed."""
    for module in pkgutil.walk_packages(consilience.__path__, "consilience."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    assert len(jit.KERNELS) > 100
    for name, compiled in jit.KERNELS.items():
        source = Path(compiled.py_func.__code__.co_filename)
        held = {
            Path(value.py_func.__code__.co_filename)
            for value in vars(sys.modules[compiled.py_func.__module__]).values()
            if hasattr(value, "py_func")
        }
        assert held - {source} <= jit._imported(source), name


@pytest.fixture
def double(tmp_path, monkeypatch):
    """A function whose compiled form is kept in ``tmp_path``."""
    monkeypatch.setattr(jit.config, "CACHE_DIR", "")
    (tmp_path / "doubling.py").write_text("def double(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("doubling").double
    jit.KERNELS.pop("doubling.double", None)
    del sys.modules["doubling"]


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("left", [0, 0.5, 0.99])
def test_a_damaged_cache_is_compiled_again(double, tmp_path, kind, left):
    def hits():
        compiled = jit.kernel(double)
        assert compiled(2) == 4
        return sum(compiled.stats.cache_hits.values())

    assert [hits(), hits()] == [0, 1]
    (path,) = tmp_path.rglob(f"*.{kind}")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(left * len(whole))])
    assert [hits(), hits()] == [0, 1]


def test_checked_code_is_kept_apart(package):
    inside = (
        "import numpy as np; from consilience._kernels.compile.vectors import dot; "
        "dot(np.ones(3), np.ones(3)); "
    )
    outside = """
try:
    dot(np.ones(3), np.ones(2))
except IndexError:
    print('refused')
"""
    run(inside, package)
    assert run(inside + outside, package, NUMBA_BOUNDSCHECK="1")[0] == "refused"
    assert run(inside + "print(dot.stats.cache_hits.total())", package)[0] == "1"


def test_a_full_disk_is_said_and_not_raised(double, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(jit, "_not_kept", [])
    monkeypatch.setattr(jit.IndexDataCacheFile, "save", full)
    with pytest.warns(ConsilienceWarning, match="No space left on device"):
        assert jit.kernel(double)(2) == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # said once
        assert jit.fast_kernel(double)(2.0) == 4.0


def test_a_kernel_that_is_interrupted_is_compiled_and_kept(double, monkeypatch):
    compiled = jit.kernel(double)
    whole = compiled._compiler.compile

    def interrupted(*args):
        signal.raise_signal(signal.SIGINT)
        return whole(*args)

    monkeypatch.setattr(compiled._compiler, "compile", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compiled.compile((TYPES["int64"],))
    assert compiled._cache.keeps((TYPES["int64"],))
    assert compiled(2) == 4


@pytest.mark.parametrize("wanted", [True, False])
def test_garbage_is_not_collected_while_compiling_and_then_as_before(wanted):
    def fail():
        with event.trigger_event("numba:compile"):
            with event.trigger_event("numba:compile"):
                assert not gc.isenabled()
            assert not gc.isenabled()
            raise ZeroDivisionError

    before = gc.isenabled()
    try:
        (gc.enable if wanted else gc.disable)()
        with pytest.raises(ZeroDivisionError):
            fail()
        assert gc.isenabled() is wanted
    finally:
        (gc.enable if before else gc.disable)()


def test_both_forms_of_the_decorator(double):
    assert (
        jit.kernel(double)(1) == jit.kernel()(double)(1) == jit.fast_kernel(inline="always")(double)(1) == 2
    )
    assert "doubling.double" in jit.KERNELS


def test_the_package_uses_one_form():
    wrong = [
        path.name
        for path in Path(consilience.__file__).parent.rglob("*.py")
        if "kernel()\n" in path.read_text()
    ]
    assert not wrong


def test_reordered_sums_have_one_copy_for_each_caller():
    """Code whose sums the compiler may reorder and that other kernels call is part of each of them."""
    for module in pkgutil.walk_packages(consilience.__path__, "consilience."):
        if "kernels" in module.name:
            importlib.import_module(module.name)
    kernels = list(jit.KERNELS.values())

    def called_by(kernel):
        names = kernel.py_func.__code__.co_names
        found = (kernel.py_func.__globals__.get(name) for name in names)
        return [one for one in found if any(one is other for other in kernels)]

    calls = {id(kernel): called_by(kernel) for kernel in kernels}
    reordered = {id(kernel) for kernel in kernels if kernel.targetoptions.get("fastmath")}
    assert len(reordered) > 30
    while True:
        more = {caller for caller, called in calls.items() if any(id(one) in reordered for one in called)}
        if more <= reordered:
            break
        reordered |= more
    inner = {id(one): one for called in calls.values() for one in called if id(one) in reordered}

    def is_part(kernel):
        return kernel.targetoptions.get("forceinline") or kernel.targetoptions.get("inline") == "always"

    assert [one.py_func.__name__ for one in inner.values() if not is_part(one)] == []


#: Few values with many ties, where the last bit of a sum decides.
TIED = """
import numpy as np
from consilience._kernels.kmeans import many_kmeans
rng = np.random.default_rng(23)
rng.choice(19), rng.random()
X = (rng.standard_normal((16_836, 1)) * 10.0 ** rng.uniform(-8, 8) + 1e3).astype(np.float32)
found = many_kmeans(X, [20, 2, 6], seeds=range(3), max_iter=40, n_jobs=1)
print(found.n_iter.tolist(), [int((found.labels[:, i] * np.arange(len(X))).sum()) for i in range(3)])
"""


@pytest.mark.slow
def test_a_process_that_compiles_answers_as_one_that_finds_the_code(tmp_path):
    package = Path(consilience.__file__).parents[1]
    first, second = (run(TIED, package, NUMBA_CACHE_DIR=str(tmp_path))[0] for _ in range(2))
    assert first == second


class Two(NamedTuple):
    """As kernels take them: of one type, or of two."""

    first: object
    second: object


@pytest.mark.parametrize("values", [(Two(1, 2.0),), (Two(1, 2),), (1.5, Two(np.ones(2), None)), ((1, 2.0),)])
def test_types_of_arguments_can_be_written_and_read_again(values):
    known = tuple(map(numba.typeof, values))
    text = text_of(known)
    assert types_of(text) == known
    assert text_of(types_of(text)) == text
