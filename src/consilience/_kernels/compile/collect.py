"""What this process finds compiled in numba's cache, for the store of a wheel (:mod:`.store`)."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path

from numba.core import config

from . import jit, store
from .text import text_of


def write_store(path: Path) -> int:
    """Write a store of every kernel that has been imported and is in the cache; return how many there are."""
    level = store.level()
    if level is None or level[0] != config.CPU_NAME:
        raise RuntimeError(f"This process compiles for {config.CPU_NAME}, a store is for {level}.")
    return store.write(path, compiled(), level[0])


def compiled() -> Iterator[store.Kept]:
    """Every kernel that has been imported and is in the cache."""
    for name, kernel in jit.KERNELS.items():
        for stamp, types, code in jit.kept_of(kernel):
            # Code that refers to places in memory of this process is of no use to another.
            if tuple(pickle.loads(code)[3].args) == tuple(types) and " at 0x" not in text_of(types):
                yield store.Kept(name, stamp, text_of(types), code)
