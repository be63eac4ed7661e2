"""What a first use has to compile, how long that takes, and a process that compiles beside this one
meanwhile.

``first_use.json`` lists the kernels that each method, generator and measure calls on a few objects, in the
order of their calls, with the CPU seconds that compiling took when the list was made (``python -m
benchmarks.bench_first_use --store``). A kernel that is not on it, or is called with other types, is compiled
when it is met.

The process beside compiles from the end of the list, this one from its beginning as it calls them; what one
has compiled the other finds on disk. No ``fit`` starts it: in a program that embeds Python,
``sys.executable`` may be anything, and who calls a library does not expect processes. The command line does,
and so can any script.
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
_WORTH = 3.0  # CPU seconds of compiling; a process takes more than one to begin
_TWO = 0.65  # of the seconds of one, where two compile


class Needed(NamedTuple):
    """A kernel that something calls, with the types it is called with."""

    name: str
    signature: str
    seconds: float  # of one core, to compile it and what it calls


@cache
def _stored() -> tuple[tuple[Needed, ...], dict[str, list[int]]]:
    found = json.loads(LIST.read_text(encoding="utf-8"))
    return tuple(Needed(*kernel) for kernel in found["kernels"]), found["uses"]


def needed(names: Iterable[str]) -> list[Needed]:
    """What these (names of :func:`.warming.tasks`) call, in that order, each kernel once."""
    kernels, uses = _stored()
    return list(dict.fromkeys(kernels[i] for name in names for i in uses.get(name, ())))


def missing(names: Iterable[str]) -> list[Needed]:
    """What of it is not on disk."""
    return [kernel for kernel in needed(names) if not is_kept(kernel.name, kernel.signature)]


@contextmanager
def compiling_beside(names: Iterable[str], say: Callable[[str], object] | None = None) -> Iterator[None]:
    """Within: a process compiles what these need and is not on disk. It says how much that is, and ends with
    the block or this process.
    """
    names = list(names)
    wanted = missing(names)
    seconds = sum(kernel.seconds for kernel in wanted)
    if seconds < _WORTH:  # over before anybody has read what it is
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
            process.communicate()  # closes its input, at which it ends


def _announcement(count: int, seconds: float, *, beside: bool) -> str:
    expected = max(1, round(seconds * (_TWO if beside else 1.0)))
    how = "two processes" if beside else "one process"
    kept = "kept on disk for next time" if can_keep() else "for this run only, as nothing can be kept on disk"
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
    # The path as it is here: neither the present folder nor anything else may come before it.
    code = f"import sys; sys.path[:] = {sys.path!r}; names = {names!r}\n{PROCESS}"
    try:
        return subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except OSError:  # no further process is allowed: this one compiles all of it
        return None
