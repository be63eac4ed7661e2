"""How kernels are compiled: cached on disk, free of the interpreter lock, and not silently slow.

Kernels are serial and work on a block of rows; :mod:`..runtime.threads` runs blocks on threads. That keeps
one compiled version of each, makes ``n_jobs`` mean what it says, and needs no OpenMP runtime, which neither
forks nor nests well.

Compiled code does not look where it writes. A kernel's indices hold by construction (they are made in the
kernel, or by the Python function in front of it) or are checked at that door; where the reason is not plain,
it is written at the kernel. ``make test-kernels`` runs with every index checked.
"""

from __future__ import annotations

import gc
import hashlib
import re
import threading
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numba
from numba.core import config, event
from numba.core.caching import FunctionCache, IndexDataCacheFile, NullCache

from ...errors import warn
from . import store
from .interrupts import to_its_end
from .notice import Notice
from .text import text_of

_KERNELS, _PACKAGE = Path(__file__).resolve().parents[1:3]

#: Every kernel that has been defined, by module and name.
KERNELS: dict[str, Callable] = {}


def kernel(function: Callable | None = None, /, **options: Any) -> Any:
    """Decorator: compile a function at its first call, and keep the result on disk where that is possible."""
    if function is None:
        return partial(kernel, **options)
    # Nobody calls kernels as C functions: without that door each compiles in nine tenths of the time.
    compiled = numba.njit(nogil=True, no_cfunc_wrapper=True, **options)(function)
    if not config.DISABLE_JIT:
        try:
            compiled._cache = _KernelCache(function)
        except RuntimeError:  # numba finds no folder that it can write to
            compiled._cache = _NoCache(function)
        compiled.compile = to_its_end(compiled.compile)
    KERNELS[f"{function.__module__}.{function.__qualname__}"] = compiled
    return compiled


def fast_kernel(function: Callable | None = None, /, **options: Any) -> Any:
    """For kernels whose inputs are known to be finite: the compiler may reorder and vectorize sums.

    One that other kernels call, or a kernel that calls such a one and is called itself, takes
    ``forceinline=True``: it is compiled into each of them again, the copies may be vectorized differently,
    and which copy a call finds depends on what the process loaded first. A process that compiles would then
    round differently from one that finds the code on disk.
    """
    return kernel(function, fastmath=True, **options)


_IMPORT = re.compile(rb"^[ \t]*from (\.+)([\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)


@cache
def _text(path: Path) -> bytes:
    """A source of the package; nothing if there is no such file."""
    try:
        return store.read(path)
    except OSError:
        return b""


@cache
def _imported(path: Path) -> frozenset[Path]:
    """The files with kernels, or beside them, that this one imports from."""
    found = set()
    for dots, module, names in _IMPORT.findall(_text(path)):
        home = path.parents[len(dots) - 1].joinpath(*module.decode().split("."))
        inside = [home / f"{name}.py" for name in ("__init__", *re.findall(r"\w+", names.decode()))]
        found |= {file for file in (home.with_suffix(".py"), *inside) if _holds_kernels(file)}
    return frozenset(found)


@cache
def _holds_kernels(path: Path) -> bool:
    return bool(_text(path)) and (path.is_relative_to(_KERNELS) or b".jit import" in _text(path))


@cache
def _stamp(path: Path) -> str:
    """Hash of a source and of all that it takes kernels and constants from, however far away."""
    sources, found = {path}, {path}
    while found:
        found = set().union(*map(_imported, found)) - sources
        sources |= found
    digest = hashlib.sha256()
    for source in sorted(sources):
        name = source.name if source == path else source.relative_to(_PACKAGE).as_posix()
        digest.update(name.encode() + b"\0" + _text(source) + b"\0")
    return digest.hexdigest()


#: Held while files are written: who ends the process meanwhile leaves halves of them behind.
WRITING = threading.Lock()


class _Shipped:
    """What the package holds of a kernel (:mod:`.store`)."""

    def __init__(self, function: Callable):
        self._of = f"{function.__module__}.{function.__qualname__}"
        self.stamp = _stamp(Path(function.__code__.co_filename).resolve())

    def holds(self, sig: tuple) -> bool:
        return store.shipped().holds(self._of, self.stamp, text_of(sig))

    def load(self, sig: Any, target_context: Any) -> Any:
        arguments = tuple(getattr(sig, "args", sig))
        target_context.refresh()
        found = store.shipped().load(self._of, self.stamp, text_of(arguments), target_context)
        return found if found is not None and tuple(found.signature.args) == arguments else None


class _KernelCache(FunctionCache):
    """numba's cache, never stale and never in the way.

    numba looks at the file of a kernel alone, but the kernels of other files that it calls are part of its
    code: here a change of any file it imports kernels from counts. Code with checked indices is kept apart,
    which numba's own key does not do.
    """

    def __init__(self, function: Callable):
        super().__init__(function)
        base = self._impl.filename_base + ("-checked" if config.BOUNDSCHECK else "")
        self._shipped = _Shipped(function)
        stamp = self._impl.locator.get_source_stamp(), self._shipped.stamp
        self._cache_file = IndexDataCacheFile(self._cache_path, base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        shipped = self._shipped.load(sig, target_context)
        if shipped is not None:
            return shipped
        try:
            found = super().load_overload(sig, target_context)
        except Exception:  # a file cut short or damaged raises anything; what it held is compiled again
            self._put(self.flush)
            return None
        # Two processes that keep code for other types at the same moment may have chosen the same file for
        # it.
        if found is not None and tuple(found.signature.args) != tuple(getattr(sig, "args", sig)):
            self._put(self.flush)
            return None
        return found

    def keeps(self, sig: tuple) -> bool:
        """Whether there is code for these types, without loading it."""
        return self._shipped.holds(sig) or any(key[0] == sig for key in self._cache_file._load_index())

    def save_overload(self, sig: Any, data: Any) -> None:
        self._put(super().save_overload, sig, data)

    def _put(self, write: Callable, *arguments: Any) -> None:
        try:
            with WRITING:
                write(*arguments)
        except OSError as error:  # a full disk, or a folder that has been closed since
            _say_not_kept(f"{self._cache_path} cannot be written to ({error.strerror or error})")


def kept_of(kernel: Any) -> Iterator[tuple[str, tuple, bytes]]:
    """Of everything that is on disk for a kernel: stamp of the sources, types, code."""
    cache = getattr(kernel, "_cache", None)
    if isinstance(cache, _KernelCache):
        for (types, *_), data in cache._cache_file._load_index().items():
            yield cache._shipped.stamp, types, Path(cache._cache_file._data_path(data)).read_bytes()


class _NoCache(NullCache):
    """Where nothing can be kept: says so before the first compilation."""

    def __init__(self, function: Callable):
        self._shipped = _Shipped(function)

    def keeps(self, sig: tuple) -> bool:
        return self._shipped.holds(sig)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        shipped = self._shipped.load(sig, target_context)
        if shipped is not None:
            return shipped
        given = f"NUMBA_CACHE_DIR={config.CACHE_DIR}, " if config.CACHE_DIR else ""
        _say_not_kept(
            f"{given}the folder of the package ({_PACKAGE}) and your cache folder cannot be written to"
        )
        return None


_not_kept: list[str] = []  # the reason, once it has been said


def _say_not_kept(reason: str) -> None:
    if not _not_kept:
        _not_kept.append(reason)
        NOTICE.kept = False
        warn(
            f"Compiled code cannot be kept on disk: {reason}. Results are the same, but every process "
            f"compiles again, which takes seconds to a minute. Set the environment variable NUMBA_CACHE_DIR "
            f"to a folder that can be written to."
        )


class _WithoutCollection(event.Listener):
    """No garbage collection while the compiler works.

    The compiler makes millions of objects, and looking through them again and again takes a sixth of its
    time. numba's lock lets one thread compile at a time.
    """

    def __init__(self) -> None:
        self._depth = 0
        self._resume = False

    def on_start(self, event) -> None:
        self._depth += 1
        if self._depth == 1:
            self._resume = gc.isenabled()
            gc.disable()

    def on_end(self, event) -> None:
        self._depth = max(0, self._depth - 1)
        if self._depth == 0 and self._resume:
            gc.enable()


event.register("numba:compile", _WithoutCollection())
NOTICE = Notice()
event.register("numba:compile", NOTICE)
