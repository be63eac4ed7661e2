"""Data sets by name from a folder, told apart from the published ones where they differ.

A folder holds one file per set, which :mod:`consilience.io` reads: ``NAME.npz`` (``X`` and ``y``; or
``data``, ``indices``, ``indptr``, ``shape`` and ``y`` for sparse features; or ``labels`` and ``y`` for base
clusterings; ``task`` for multi-task sets), ``NAME.mat`` (the same names, or ``fea`` and ``gnd``) or
``NAME.csv`` (a column named y, class, label or target holds the classes). ``sklearn:iris``, ``sklearn:wine``,
``sklearn:digits`` and ``sklearn:breast_cancer`` need no folder.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from consilience.errors import FileError, InputError
from consilience.io import Table, names_in, read_features

from .protocol import DataSet

ENDINGS = (".npz", ".mat", ".csv")
BUNDLED = ("iris", "wine", "digits", "breast_cancer")
_CLASSES = ("y", "gnd", "truth", "gt", "class", "target", "label")
_POOLS = ("labels", "members", "labels_base")
_FEATURES = ("x", "fea", "features", "indptr")


@dataclass(frozen=True)
class LoadedSet:
    """Features (or base clusterings) with their true classes."""

    truth: np.ndarray
    features: Any = None
    pool: np.ndarray | None = None
    task: np.ndarray | None = None

    @property
    def n_classes(self) -> int:
        return np.unique(self.truth).size

    @property
    def shape(self) -> tuple[int, int]:
        held: Any = self.pool if self.features is None else self.features
        return tuple(held.shape)


def find_set(data: str, folder: str | os.PathLike[str] | None) -> Path | None:
    """The file of a set; None for a bundled one. Raises if it is not there."""
    if data.startswith("sklearn:"):
        if data[8:] not in BUNDLED:
            raise InputError(f"{data!r} is not bundled with scikit-learn: choose from {', '.join(BUNDLED)}.")
        return None
    if Path(data).name != data:
        raise InputError(
            f"data={data!r} must be the plain name of a file in the data folder, without its ending."
        )
    if folder is None:
        raise FileError(f"{data}: no data folder was given (--data DIR).")
    for ending in ENDINGS:
        if (path := Path(folder) / f"{data}{ending}").is_file():
            return path
    raise FileError(f"{data}: none of {', '.join(data + e for e in ENDINGS)} is in {folder}.")


def load_set(data: str, folder: str | os.PathLike[str] | None, transform: str | None = None) -> LoadedSet:
    """Read a set and prepare its features."""
    path = find_set(data, folder)
    if path is None:
        from sklearn import datasets

        bunch = getattr(datasets, f"load_{data[8:]}")()
        loaded = LoadedSet(np.asarray(bunch.target), np.asarray(bunch.data, float))
    else:
        loaded = _read(path)
    if transform is None or loaded.features is None:
        return loaded
    return replace(loaded, features=_transformed(loaded.features, transform))


def _read(path: Path) -> LoadedSet:
    """Features, or else base clusterings, with what stands beside them."""
    names = {name.lower(): name for name in names_in(path)}
    classes = next((names[name] for name in _CLASSES if name in names), None)
    if classes is None:
        raise FileError(
            f"{path.name} has no classes: expected a column or an array named {', '.join(_CLASSES)} among "
            f"{', '.join(sorted(names))}."
        )
    pool = next((names[name] for name in _POOLS if name in names), None)
    if path.suffix == ".csv" or any(name in names for name in _FEATURES):
        table = read_features(path, column=classes)
        task = read_features(path, column=names["task"]).column if "task" in names else None
        X = sp.csr_matrix(table.X) if sp.issparse(table.X) else table.X
        return LoadedSet(_column(table), X, task=task)
    if pool is None:
        raise FileError(
            f"{path.name} has neither features (X) nor base clusterings (labels) among "
            f"{', '.join(sorted(names))}."
        )
    table = read_features(path, column=classes, key=pool)
    return LoadedSet(_column(table), pool=table.X.astype(np.int64))


def _column(table: Table) -> np.ndarray:
    assert table.column is not None  # it was asked for
    return table.column


def fingerprint(data: str, folder: str | os.PathLike[str] | None) -> str:
    """sha256 of the file of a set; of the values for a bundled set."""
    path = find_set(data, folder)
    if path is None:
        loaded = load_set(data, None)
        pieces = np.ascontiguousarray(loaded.features, "<f8"), np.ascontiguousarray(loaded.truth, "<i8")
        return hashlib.sha256(b"".join(piece.tobytes() for piece in pieces)).hexdigest()
    sha = hashlib.sha256()
    with open(path, "rb") as handle:
        while block := handle.read(1 << 20):
            sha.update(block)
    return sha.hexdigest()


@lru_cache(maxsize=1)
def known_sets() -> dict[str, dict]:
    """What is known of each file, by name: sha256, shape, and how it differs from the published set."""
    return json.loads((Path(__file__).parent / "sets.json").read_text("utf-8"))


def differences(item: DataSet, loaded: LoadedSet, sha: str) -> list[str]:
    """How the loaded set differs from the printed one and from the file that our notes describe, in words."""
    out = []
    n, d = loaded.shape
    if item.n is not None and item.n != n:
        out.append(f"{n:,} objects, printed {item.n:,}")
    if item.d is not None and loaded.features is not None and item.d != d:
        out.append(f"{d:,} features, printed {item.d:,}")
    if item.classes is not None and item.classes != loaded.n_classes:
        out.append(f"{loaded.n_classes} classes, printed {item.classes}")
    known = known_sets().get(item.data)
    if known is not None:
        if sha != known["sha256"]:
            out.append(
                f"another file than the one described here (sha256 {sha[:12]}... instead of "
                f"{known['sha256'][:12]}...)"
            )
        elif known.get("published") and not known["published"].startswith(("yes", "n/a")):
            out.append(known["published"].removeprefix("no: "))
    if item.note:
        out.append(item.note)
    return out


def _transformed(features: Any, transform: str) -> Any:
    if transform == "standardize":
        from sklearn.preprocessing import StandardScaler

        return StandardScaler(with_mean=not sp.issparse(features)).fit_transform(features.astype(float))
    if transform == "unit":
        from sklearn.preprocessing import normalize

        return normalize(features.astype(float))
    if transform == "log-tfidf":
        return _log_tfidf(features)
    from sklearn.feature_extraction.text import TfidfTransformer

    return TfidfTransformer().fit_transform(sp.csr_matrix(features).astype(float))


def _log_tfidf(counts: Any) -> sp.csr_matrix:
    """(1 + log tf) log(n / df), rows of unit length: term counts as text sets of many MATLAB programs come.

    A term that is in every document weighs nothing; a document of such terms alone stays a row of zeros.
    """
    from sklearn.preprocessing import normalize

    weights = sp.csr_matrix(counts, dtype=float, copy=True)
    weights.eliminate_zeros()
    if weights.nnz and weights.data.min() < 1:
        raise InputError(
            f"transform='log-tfidf' is for counts of terms, and the smallest value above or below 0 is "
            f"{weights.data.min():g}: use 'tfidf' or 'unit' for features that are weighted already."
        )
    documents = np.maximum(np.bincount(weights.indices, minlength=weights.shape[1]), 1)
    weights.data = (1 + np.log(weights.data)) * np.log(weights.shape[0] / documents)[weights.indices]
    return normalize(weights)
