"""Refuse what will not fit, before allocating it."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import NotEnoughMemoryError


def available_memory() -> int | None:
    """Bytes this process can still take: the machine's free memory or its control group's, whichever is less."""
    limits = [free for free in (_machine_free(), _group_free()) if free is not None]
    return min(limits) if limits else None


def ensure_fits(n_bytes: float, *, what: str, remedy: str) -> None:
    """Raise :class:`NotEnoughMemoryError` if ``n_bytes`` more will not fit."""
    free = available_memory()
    if free is not None and n_bytes > free:
        raise NotEnoughMemoryError(f"{what} needs {size(n_bytes)}, but {size(free)} are free; {remedy}.")


def size(n_bytes: float) -> str:
    """'13.2 GB'."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}" if unit == "bytes" else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.1f} TB"


def _machine_free() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        # Not "available" but total: better a late refusal than none on systems without /proc.
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _group_free() -> int | None:
    for limit, used in (
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ):
        try:
            return int(Path(limit).read_text()) - int(Path(used).read_text())
        except (OSError, ValueError):  # absent, or "max": no limit
            continue
    return None
