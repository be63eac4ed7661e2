"""The runs on references, and the file of those that are finished.

With such a file, one line for each, an interrupted study continues where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._base.progress import progress
from .._kernels.runtime.threads import map_tasks
from ..errors import FileError, InputError
from .material import Objects, Settings, as_run
from .null import cloud_of, make_null
from .runs import Measured, StudyPlan, measure_reference


def name_of(null: Any) -> str:
    """The name of a null."""
    return null if isinstance(null, str) else getattr(null, "__name__", "the function given")


def run_references(
    null: Any, count: int, checkpoint: Any, objects: Objects, plan: StudyPlan, settings: Settings
) -> list[Measured]:
    """What each of them shows, in their order."""
    X, cloud, by_distance = objects.features.X, objects.cloud, objects.by_distance
    if sp.issparse(X) and not by_distance and not callable(null):
        if plan.feature_fraction < 1:
            raise InputError(
                f"X is sparse, and feature_fraction={plan.feature_fraction:g} needs columns, which the "
                "references do not have. Pass X.toarray() if it fits, leave feature_fraction out, or pass "
                "null=None."
            )
        raise InputError(
            f"X is sparse, and generator={settings.generator.name!r} depends on more than distances, so "
            "that no reference can be drawn that it could cluster. Pass X.toarray() if it fits, or null=None."
        )
    if cloud is None and not callable(null):
        cloud = cloud_of(X, objects.weights, axes=True)
    draw = make_null(null, cloud, X, in_scores=by_distance)
    store = Checkpoint(checkpoint, fingerprint(X, objects.weights, plan, name_of(null)))
    left = [r for r in range(1, count + 1) if r not in store.done]
    with progress(total=count, initial=count - len(left), what="references", unit="reference") as bar:

        def run(number: int) -> None:
            measured = measure_reference(
                number, lambda rng: as_run(draw(rng), by_distance=by_distance), objects.weights, plan
            )
            store.add(number, measured)
            bar.update(1)

        map_tasks(run, left, n_jobs=settings.n_jobs)
    return [store.done[r] for r in range(1, count + 1)]


def fingerprint(X: Any, weights: np.ndarray, plan: StudyPlan, null: str | None) -> str:
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
