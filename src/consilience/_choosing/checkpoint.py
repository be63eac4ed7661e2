"""Finished references, kept in a file with one line each.

An interrupted study then continues where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import FileError
from .runs import Measured, Plan


def fingerprint(X: Any, weights: np.ndarray, plan: Plan, null: str | None) -> str:
    """A hash of what a reference depends on: data, weights, seed, and how clusterings are made."""
    digest = hashlib.sha256()
    arrays = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
    for array in (*arrays, weights, plan.ks):
        digest.update(np.ascontiguousarray(array).tobytes())
    fractions = plan.sample_fraction, plan.feature_fraction
    settings = (X.shape, plan.n_clusterings, *fractions, plan.generator.name, plan.seed, plan.widest, null)
    digest.update(repr(settings).encode())
    return digest.hexdigest()[:32]


class Checkpoint:
    """``done`` holds the references by number. Without a path nothing is written."""

    def __init__(self, path: Any, key: str):
        self.path, self.key = path, key
        self.done: dict[int, Measured] = {}
        self._lock = threading.Lock()
        self._whole: int | None = None  # bytes of the file that are whole lines, where there are others
        if path is not None and os.path.exists(path):
            self._read()

    def _read(self) -> None:
        try:
            with open(self.path, encoding="utf-8", newline="") as file:
                lines = file.read().split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise FileError(
                f"{self.path} cannot be read as a checkpoint: {error}. Give another file."
            ) from None
        for number, line in enumerate(lines, 1):
            if not line:
                continue
            try:
                entry = json.loads(line)
                key, reference = entry["study"], int(entry["reference"])
                measured = Measured(*(np.array(entry[name], float) for name in Measured._fields))
            except (ValueError, KeyError, TypeError):
                if number == len(lines):  # the study was stopped while it wrote this
                    self._whole = len("\n".join([*lines[:-1], ""]).encode())
                    continue
                raise FileError(
                    f"{self.path}, line {number}: this is not a checkpoint of choose_k. Give another file, "
                    f"or remove this one."
                ) from None
            if key == self.key:
                self.done[reference] = measured

    def add(self, number: int, measured: Measured) -> None:
        """Keep a reference, and write it."""
        with self._lock:
            self.done[number] = measured
            if self.path is None:
                return
            entry = {"study": self.key, "reference": number}
            entry |= {name: value.tolist() for name, value in measured._asdict().items()}
            try:
                with open(self.path, "a", encoding="utf-8", newline="") as file:
                    if self._whole is not None:  # what was being written when the study was stopped
                        file.truncate(self._whole)
                        self._whole = None
                    file.write(json.dumps(entry) + "\n")
            except OSError as error:
                raise FileError(f"{self.path} cannot be written: {error}. Give another checkpoint.") from None
