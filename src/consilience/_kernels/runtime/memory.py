"""Refuse what will not fit, before allocating it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from ...errors import NotEnoughMemoryError

#: What to do where all pairs of objects are too many.
WITHOUT_PAIRS = "use LWGP, CoassociationKMeans or SCCABG, which never pair objects, or fewer clusterings"


#: What a group uses but gives back before it refuses anything: files kept in memory, read once or often, and
#: the kernel's own caches. Files of a memory file system (shmem) are among neither, having no other place.
_GIVEN_BACK = ("inactive_file", "active_file", "slab_reclaimable")


def available_memory() -> int | None:
    """Bytes this process can still take: the least of what machine, control groups and own limits leave."""
    limits = [free for free in (_machine_free(), _groups_free(), _process_free()) if free is not None]
    return max(0, min(limits)) if limits else None


def ensure_fits(n_bytes: float, *, what: str, remedy: str) -> None:
    """Raise :class:`NotEnoughMemoryError` if ``n_bytes`` more will not fit."""
    free = available_memory()
    if free is not None and n_bytes > free:
        raise NotEnoughMemoryError(f"{what} needs {size(n_bytes)}, but {size(free)} are free; {remedy}.")


def how_many_fit(bytes_each: float) -> float:
    """How many things of that size fit; counting them can end there."""
    free = available_memory()
    return float("inf") if free is None else free / bytes_each


@contextmanager
def refusing(what: str, remedy: str) -> Iterator[None]:
    """Word a MemoryError that comes all the same, because others took memory meanwhile, like a refusal."""
    try:
        yield
    except NotEnoughMemoryError:
        raise
    except MemoryError as error:
        free = available_memory()
        left = "" if free is None else f" ({size(free)} are free now)"
        detail = f": {error}" if str(error) else ""
        raise NotEnoughMemoryError(f"{what} ran out of memory{left}{detail}; {remedy}.") from error


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


def _process_free() -> int | None:
    """What the limits set with ``ulimit -v`` and ``ulimit -d`` leave; None without any."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    both = {
        "VmSize:": resource.getrlimit(resource.RLIMIT_AS)[0],
        "VmData:": resource.getrlimit(resource.RLIMIT_DATA)[0],
    }
    limits = {taken: limit for taken, limit in both.items() if limit != resource.RLIM_INFINITY}
    if not limits:  # as nearly always: what is used need not be read, which small fits would feel
        return None
    used = _fields(Path("/proc/self/status"))
    return min(limit - 1024 * used.get(taken, 0) for taken, limit in limits.items())


def _groups_free(root: Path = Path("/")) -> int | None:
    """What the limits of the process's control group and of all groups around it leave; None without any."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        lines = []
    # The mount points themselves are always looked at: inside a container they may be the group, whatever its
    # path says.
    found = {"": PurePosixPath("/"), "memory": PurePosixPath("/")}
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        for controller in controllers.split(","):
            if controller in found and path.startswith("/") and ".." not in path:
                found[controller] = PurePosixPath(path)
    mounts = root / "sys/fs/cgroup"
    version_1, version_2 = ((group, *group.parents) for group in (found["memory"], found[""]))
    free = [
        _group_free(mount / str(group)[1:], "memory.max", "memory.current", _GIVEN_BACK)
        for group in version_2
        for mount in (mounts, mounts / "unified")
    ] + [
        _group_free(
            mounts / "memory" / str(group)[1:],
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            [f"total_{name}" for name in _GIVEN_BACK],
        )
        for group in version_1
    ]
    limits = [value for value in free if value is not None]
    return min(limits) if limits else None


def _group_free(folder: Path, limit: str, used: str, given_back: Sequence[str]) -> int | None:
    """Limit less use of one group; what is given back on demand does not count as used."""
    try:
        most, now = int((folder / limit).read_text()), int((folder / used).read_text())
    except (OSError, ValueError):  # absent, or "max": no limit
        return None
    stat = _fields(folder / "memory.stat")
    return most - max(0, now - sum(stat.get(name, 0) for name in given_back))


def _fields(file: Path) -> dict[str, int]:
    """The lines 'name number ...' of one of the kernel's files."""
    try:
        lines = [line.split() for line in file.read_text().splitlines()]
    except OSError:
        return {}
    return {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdigit()}
