"""What a first use has to compile, how long that takes, and a second process that compiles meanwhile.

``first_use.json`` lists the kernels that each method, generator and measure calls on a few objects, in the
order of their calls, with the CPU seconds that compiling took when the list was made (``python -m
benchmarks.bench_first_use --store``). A kernel that is not on the list, or is called with other types, is
compiled when it is first called.

The second process compiles from the end of the list, this one from the beginning, as it calls the kernels;
each finds on disk what the other has compiled. ``fit`` never starts the second process: in a program that
embeds Python, ``sys.executable`` may be anything, and callers of a library do not expect processes. The
command line starts it, and any script can.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .._kernels.compile.cached import can_keep, is_kept, notice_given, notice_wanted
from .._kernels.runtime.threads import resolve_jobs

LIST = Path(__file__).with_suffix(".json")
#: Set to 0, no process is started.
VARIABLE = "CONSILIENCE_COMPILE_BESIDE"
PROCESS = "from consilience._warmup.second_process import compile_from_the_end; compile_from_the_end(names)"
_WORTH = 3.0  # CPU seconds of compiling; a process takes more than one second to start
_TWO = 0.65  # share of the time of one process that two processes take


class Needed(NamedTuple):
    """A kernel that something calls, with the types it is called with."""

    name: str
    signature: str
    seconds: float  # on one core, to compile the kernel and what it calls


@cache
def _stored() -> tuple[tuple[Needed, ...], dict[str, list[int]]]:
    found = json.loads(LIST.read_text(encoding="utf-8"))
    return tuple(Needed(*kernel) for kernel in found["kernels"]), found["uses"]


def needed(names: Iterable[str]) -> list[Needed]:
    """The kernels that ``names`` of :func:`.warming.tasks` call, in that order, each once."""
    kernels, uses = _stored()
    return list(dict.fromkeys(kernels[i] for name in names for i in uses.get(name, ())))


def missing(names: Iterable[str]) -> list[Needed]:
    """The kernels needed that are not on disk."""
    return [kernel for kernel in needed(names) if not is_kept(kernel.name, kernel.signature)]


@contextmanager
def compiling_beside(names: Iterable[str], say: Callable[[str], object] | None = None) -> Iterator[None]:
    """Within the block, a second process compiles what ``names`` need and is not on disk.

    ``say`` gets the number of kernels and the expected time. The process ends with the block or with this
    process.
    """
    names = list(names)
    wanted = missing(names)
    seconds = sum(kernel.seconds for kernel in wanted)
    if seconds < _WORTH:  # over before the message could be read
        yield
        return
    process = _start(names) if _may_start() else None
    if say is not None and notice_wanted():
        say(_announcement(len(wanted), seconds, beside=process is not None))
        notice_given()
    try:
        yield
    finally:
        if process is not None:
            process.communicate()  # closes its input, which ends it


def _announcement(count: int, seconds: float, *, beside: bool) -> str:
    expected = max(1, round(seconds * (_TWO if beside else 1.0)))
    how = "two processes" if beside else "one process"
    kept = (
        "kept on disk for next time"
        if can_keep()
        else "for this run only, because nothing can be kept on disk"
    )
    return (
        f"First use: compiling {count} kernel{'s' * (count > 1)} for this machine in {how}, "
        f"about {expected} second{'s' * (expected > 1)}; {kept}."
    )


def _may_start() -> bool:
    return (
        os.environ.get(VARIABLE, "1") != "0"
        and resolve_jobs(-1) > 1
        and can_keep()
        and bool(sys.executable)
        and not getattr(sys, "frozen", False)  # the executable is then the program itself
        and multiprocessing.parent_process() is None
    )


def _start(names: list[str]) -> subprocess.Popen | None:
    # The same path as here: neither the current folder nor anything else may come before it.
    code = f"import sys; sys.path[:] = {sys.path!r}; names = {names!r}\n{PROCESS}"
    try:
        return subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:  # no further process is allowed: this one compiles everything
        return None
