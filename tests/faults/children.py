"""Scripts in a child process, which may lose what a test process needs: its memory, its files, its life."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import consilience

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def start(script: str, *arguments: Any, **options: Any) -> subprocess.Popen:
    """Python on a script, with the package that is being tested."""
    source = str(Path(consilience.__file__).parents[1])
    paths = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **ONE_THREAD, "PYTHONPATH": paths},
        **options,
    )


def run(script: str, *arguments: Any, seconds: float = 120, **options: Any) -> str:
    """What the script prints; a failure shows its last words."""
    child = start(script, *arguments, **options)
    out, err = child.communicate(timeout=seconds)
    assert child.returncode == 0, f"exit {child.returncode}: {err[-2000:]}"
    return out
