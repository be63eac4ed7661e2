"""Kernels that were compiled when the package was built, in a file beside this one.

The pure wheel and a checkout have no such file; a wheel for a platform does (``tools/platform_wheel.py``). A
kernel is taken from it if everything is as it was then: the sources that the kernel is made of, the types it
is called with, numba, llvmlite, Python, the kind of system and the compiler's settings. The code needs a
level of processor (:data:`LEVELS`), which this one has to have. Whatever is not there is compiled as if there
was no store.

The file begins with one line of JSON: what the store is for, and for each kernel and its types where the code
begins, how long it is and its SHA-256. Code is unpickled only if it has this digest, so that what is cut
short, damaged or of another file is compiled instead.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import llvmlite
import numba
from llvmlite import binding
from numba.core import config
from numba.core.compiler import CompileResult

#: Set to 0, kernels are compiled for this very processor although the package holds compiled ones.
VARIABLE = "CONSILIENCE_COMPILED"
FILE = Path(__file__).with_name("kernels.store")

#: Levels of processors that kernels are compiled for ahead, by the architecture of the system: LLVM's name of
#: the level, and what a processor has to have.
LEVELS: dict[str, tuple[str, frozenset[str]]] = {
    "x86_64": (
        "x86-64-v3",
        frozenset(
            {
                *("sse3", "ssse3", "sse4.1", "sse4.2", "avx", "avx2", "f16c", "fma"),
                *("bmi", "bmi2", "cx16", "lzcnt", "movbe", "popcnt", "sahf", "xsave"),
            }
        ),
    ),
    "aarch64": ("generic", frozenset()),
}
#: numba's settings that change the code it makes.
_SETTINGS = (
    "OPT",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "ENABLE_AVX",
    "DISABLE_JIT",
)


class Kept(NamedTuple):
    """A compiled kernel, as numba keeps it: pickled."""

    name: str  # begins with its module
    stamp: str  # of its sources
    signature: str
    code: bytes


def level() -> tuple[str, frozenset[str]] | None:
    """LLVM's name of the level for this kind of system, and what it asks of the processor."""
    return LEVELS.get(_architecture())


def _architecture() -> str:
    found = binding.get_process_triple().partition("-")[0].lower()
    return {"arm64": "aarch64", "amd64": "x86_64"}.get(found, found)


def made_for() -> dict[str, Any]:
    """What code that is compiled here fits to, but for the processor."""
    return {
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "python": f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}",
        "system": f"{sys.platform} {_architecture()}",
        "settings": {name: str(getattr(config, name, None) or 0) for name in _SETTINGS},
    }


def write(path: Path, kernels: Iterable[Kept], level: str) -> int:
    """Write a store of ``kernels`` and return how many there are."""
    listed: dict[str, dict[str, Any]] = {}
    codes, begin = [], 0
    for kept in sorted(kernels):
        one = listed.setdefault(kept.name, {"stamp": kept.stamp, "variants": {}})
        place = [begin, len(kept.code), hashlib.sha256(kept.code).hexdigest()]
        one["variants"][kept.signature] = place
        codes.append(kept.code)
        begin += len(kept.code)
    head = {"made for": made_for(), "level": level, "kernels": listed}
    path.write_bytes(json.dumps(head).encode() + b"\n" + b"".join(codes))
    return len(codes)


class Store:
    """What a file holds for this process; nothing if it is not there or made for something else."""

    def __init__(self, path: Path):
        self._path = path
        self._start = 0
        self._kernels: dict[str, dict[str, Any]] = {}
        if os.environ.get(VARIABLE, "1") == "0":
            return
        with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):  # no file, or a damaged one
            head = self._head()
            if head["made for"] == made_for() and _processor_has(head["level"]):
                self._kernels = dict(head["kernels"])

    def _head(self) -> dict[str, Any]:
        try:
            with open(self._path, "rb") as file:
                line = file.readline()
        except (FileNotFoundError, NotADirectoryError):
            line = read(self._path).partition(b"\n")[0] + b"\n"
        self._start = len(line)
        return json.loads(line)

    def _place(self, name: str, stamp: str, signature: str) -> list[Any] | None:
        with suppress(KeyError, TypeError, AttributeError):
            kernel = self._kernels[name]
            if kernel["stamp"] == stamp:
                return kernel["variants"][signature]
        return None

    def holds(self, name: str, stamp: str, signature: str) -> bool:
        """Whether there is code for a kernel and its types."""
        return self._place(name, stamp, signature) is not None

    def load(self, name: str, stamp: str, signature: str, target_context: Any) -> Any:
        """What numba makes of a kernel and its types; None if that is not here, or not undamaged."""
        place = self._place(name, stamp, signature)
        if place is None:
            return None
        try:
            begin, length, digest = place
            code = self._read(self._start + begin, length)
        except (OSError, ValueError, TypeError, MemoryError, OverflowError):
            return None
        if hashlib.sha256(code).hexdigest() != digest:
            return None
        return CompileResult._rebuild(target_context, *pickle.loads(code))

    def _read(self, begin: int, length: int) -> bytes:
        try:
            # Opened each time: processes that were forked would share a place in an open file.
            with open(self._path, "rb") as file:
                file.seek(begin)
                return file.read(length)
        except (FileNotFoundError, NotADirectoryError):
            return read(self._path)[begin : begin + length]


def read(path: Path) -> bytes:
    """The bytes of a file of the package, which may be in an archive; ``OSError`` if there is none."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        from_archive = getattr(globals().get("__loader__"), "archive", None)
        if from_archive is None:
            raise
        return globals()["__loader__"].get_data(str(path))


def _processor_has(wanted: str) -> bool:
    """Whether this processor has that level, and is not to be treated as another one."""
    known = level()
    if known is None or known[0] != wanted:
        return False
    if config.CPU_NAME is not None or config.CPU_FEATURES is not None:
        return wanted == config.CPU_NAME  # somebody compiles for another processor, or for this level
    try:
        features = binding.get_host_cpu_features()
    except RuntimeError:  # LLVM cannot tell
        features = {}
    return all(features.get(name, False) for name in known[1])


@cache
def shipped() -> Store:
    """The store of the package."""
    return Store(FILE)
