"""Seconds and peak memory of one call, and the state of code and machine that they belong to.

Each call runs in a process of its own, so that peaks do not mix.
"""

from __future__ import annotations

import datetime
import multiprocessing
import os
import platform
import resource
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("CONSILIENCE_SHARED", ROOT.parent / "shared"))


def timed(call: Callable[[], Any], *, repeat: int = 1) -> tuple[float, Any]:
    """(best seconds of ``repeat`` calls, last result)."""
    best, result = float("inf"), None
    for _ in range(repeat):
        start = time.perf_counter()
        result = call()
        best = min(best, time.perf_counter() - start)
    return best, result


def resident() -> int:
    """Bytes this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def peak() -> int:
    """Most bytes this process ever held. (ru_maxrss would begin at what its parent held.)"""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def _child(connection: Any, call: Callable, args: tuple) -> None:
    start = time.perf_counter()
    try:
        result = call(*args)
    except BaseException as error:  # handed to the parent, which raises it
        result = error
    seconds = time.perf_counter() - start
    connection.send((seconds, peak(), result))


def alone(call: Callable, *args: Any) -> tuple[float, float, Any]:
    """(seconds, peak bytes of the process, result) of ``call(*args)`` in a fresh process.

    ``call`` must be importable; what it returns should be small.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_child, args=(theirs, call, args))
    process.start()
    theirs.close()  # so that a child that dies without an answer ends the wait
    seconds, held, result = ours.recv()
    process.join()
    if isinstance(result, BaseException):
        raise result
    return seconds, held, result


def origin() -> dict[str, Any]:
    """Commit and machine."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        return done.stdout.strip()

    import numba
    import numpy
    import scipy
    import sklearn

    from reproduction.run import processor

    return {
        "commit": git("rev-parse", "--short", "HEAD"),
        "changed": bool(git("status", "--porcelain", "--untracked-files=no")),
        "when": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "system": f"{platform.system()} {platform.machine()}",
            "python": platform.python_version(),
            **{module.__name__: module.__version__ for module in (numpy, scipy, sklearn, numba)},
        },
        "load": round(os.getloadavg()[0], 1),
    }


def table(rows: Iterable[dict]) -> str:
    """Rows as an aligned Markdown table; a row without a column is empty there."""
    rows = list(rows)
    if not rows:
        return "(nothing measured)"
    heads = list(dict.fromkeys(head for row in rows for head in row))
    cells = [[_cell(row.get(head, "")) for head in heads] for row in rows]
    widths = [max(len(head), *(len(line[i]) for line in cells)) for i, head in enumerate(heads)]
    lines = [heads, ["-" * width for width in widths], *cells]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in lines
    )


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
