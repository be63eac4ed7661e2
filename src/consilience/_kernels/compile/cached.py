"""What the compiler has done so far, and what it can do before it has to."""

from __future__ import annotations

import importlib
from typing import Any

from . import jit
from .text import types_of


def times_compiled() -> int:
    """How often a kernel was compiled in this process; loading from disk does not count."""
    found = [kernel.stats for kernel in list(jit.KERNELS.values()) if hasattr(kernel, "stats")]
    return sum(sum(stats.cache_misses.values()) for stats in found)


def named(name: str) -> Any:
    """The kernel of this name, which begins with its module; None if there is no such kernel (any more)."""
    try:
        importlib.import_module(name.rpartition(".")[0])
    except ModuleNotFoundError:
        return None
    found = jit.KERNELS.get(name)
    return found if hasattr(found, "compile") else None  # without a compiler kernels are plain functions


def is_kept(name: str, signature: str) -> bool:
    """Whether nothing is left to compile here: the code is on disk, or there is no such kernel."""
    kernel = named(name)
    return kernel is None or kernel._cache.keeps(types_of(signature))


def compile_now(name: str, signature: str) -> None:
    """Compile a kernel for these types, or load it if it is on disk by now."""
    kernel = named(name)
    if kernel is not None:
        kernel.compile(types_of(signature))


def can_keep() -> bool:
    """Whether compiled code is kept on disk, as far as is known yet."""
    return not jit._not_kept and not any(
        isinstance(getattr(kernel, "_cache", None), jit._NoCache) for kernel in jit.KERNELS.values()
    )


def notice_wanted() -> bool:
    """Whether nobody has told the user yet why a first call takes its time."""
    return not (jit.NOTICE.said or jit.NOTICE.announced)


def notice_given() -> None:
    """Note that the user has been told why a first call takes its time: a bar may move, nothing else."""
    jit.NOTICE.announced = True
