"""A copy of the package, and processes that import it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import consilience


def copied(folder):
    """The folder to import a copy of the package from, without compiled kernels."""
    source = Path(consilience.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__", "kernels.store")
    shutil.copytree(source, folder / "copy/consilience", ignore=ignored)
    return folder / "copy"


@pytest.fixture
def package(tmp_path):
    """The folder to import a copy of the package from."""
    return copied(tmp_path)


def environment(package, **variables):
    """Variables for a process that imports this package, with nothing of ours or numba's set but these."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("NUMBA_", "XDG_", "COV_", "PYTHON", "CONSILIENCE_"))
    }
    return {**kept, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1", **variables}


def run(code, package, **variables):
    """Standard output and error of ``code`` in a process of its own, which must end well."""
    env = environment(package, **variables)
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


def close_to_writing(package):
    """A file where a folder should be: unlike modes, it stops the superuser, too."""
    for folder in {path.parent for path in package.rglob("*.py")}:
        (folder / "__pycache__").write_text("")
