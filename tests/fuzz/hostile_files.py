"""Files from strangers: the cases are in files.py."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from . import files
from .properties import Case, Suite


def make(rng: np.random.Generator) -> dict[str, Any]:
    suffix, content = next(files.cases(rng))
    return {"suffix": suffix, "content": content}


suite = Suite("files", make, weight=0.3)


@suite.promises("file read, or refused")
def read(case: Case) -> None:
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder) / f"file{case.data['suffix']}"
        path.write_bytes(case.data["content"])
        files.check(path)
