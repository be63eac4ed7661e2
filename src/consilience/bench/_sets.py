"""Data sets by name from a folder, told apart from the published ones where they differ.

A folder holds one file per set: ``NAME.npz`` (``X`` and ``y``; or ``data``, ``indices``, ``indptr``, ``shape`` and ``y`` for sparse
features; or ``labels`` and ``y`` for base clusterings; ``task`` for multi-task sets), ``NAME.mat`` (the same names, or ``fea`` and
``gnd``) or ``NAME.csv`` (a column named y, class, label or target holds the classes; all others are features).
``sklearn:iris``, ``sklearn:wine``, ``sklearn:digits`` and ``sklearn:breast_cancer`` need no folder.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import FileError, InputError
from ._protocol import DataSet

ENDINGS = (".npz", ".mat", ".csv")
BUNDLED = ("iris", "wine", "digits", "breast_cancer")
TRANSFORMS = ("tfidf", "unit", "standardize")
_CLASS_COLUMNS = ("y", "class", "label", "target")


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
        path = Path(folder) / f"{data}{ending}"
        if path.is_file():
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
        reader = {".npz": _read_npz, ".mat": _read_mat, ".csv": _read_csv}[path.suffix]
        loaded = reader(path)
    _check(loaded, data)
    if transform is not None and loaded.features is not None:
        loaded = LoadedSet(loaded.truth, _transformed(loaded.features, transform), loaded.pool, loaded.task)
    return loaded


def fingerprint(data: str, folder: str | os.PathLike[str] | None) -> str:
    """sha256 of the file of a set; of the values for a bundled set."""
    path = find_set(data, folder)
    if path is None:
        loaded = load_set(data, None)
        pieces = np.ascontiguousarray(loaded.features, "<f8"), np.ascontiguousarray(loaded.truth, "<i8")
        return hashlib.sha256(b"".join(piece.tobytes() for piece in pieces)).hexdigest()
    stamp = path.stat()
    return _file_sha(str(path), stamp.st_mtime_ns, stamp.st_size)


@lru_cache(maxsize=512)
def _file_sha(path: str, modified: int, size: int) -> str:
    sha = hashlib.sha256()
    with open(path, "rb") as handle:
        while block := handle.read(1 << 20):
            sha.update(block)
    return sha.hexdigest()


@lru_cache(maxsize=1)
def known_sets() -> dict[str, dict]:
    """What is known of each file by name: sha256, shape, and how it differs from the set that was published."""
    return json.loads((resources.files(__package__) / "sets.json").read_text("utf-8"))


def differences(item: DataSet, loaded: LoadedSet, sha: str) -> list[str]:
    """In words, how what was loaded differs from what was printed and from the file that our notes describe."""
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
                f"another file than the one described here (sha256 {sha[:12]}... instead of {known['sha256'][:12]}...)"
            )
        elif known.get("published") and not known["published"].startswith(("yes", "n/a")):
            out.append(known["published"].removeprefix("no: "))
    if item.note:
        out.append(item.note)
    return out


# Formats ---------------------------------------------------------------------------------------------------


def _read_npz(path: Path) -> LoadedSet:
    try:
        with np.load(path, allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
    except (OSError, ValueError, EOFError, KeyError) as error:
        raise FileError(f"{path.name} cannot be read: {error}.") from None
    except Exception as error:  # zipfile.BadZipFile and what else a damaged archive brings
        raise FileError(f"{path.name} is damaged: {error}.") from None
    return _from_arrays(arrays, path.name)


def _read_mat(path: Path) -> LoadedSet:
    from scipy.io import loadmat

    try:
        arrays = {k: v for k, v in loadmat(path).items() if not k.startswith("__")}
    except NotImplementedError:
        raise FileError(
            f"{path.name} is a MATLAB 7.3 file; save it with '-v7', or turn it into an .npz with X and y."
        ) from None
    except Exception as error:
        raise FileError(f"{path.name} cannot be read as a MATLAB file: {error}.") from None
    return _from_arrays(arrays, path.name)


def _from_arrays(arrays: dict[str, Any], name: str) -> LoadedSet:
    truth = _first(arrays, ("y", "Y", "gnd", "truth", "gt"))
    if truth is None:
        raise FileError(
            f"{name} has no classes: expected an array named y, Y, gnd, truth or gt among {sorted(arrays)}."
        )
    task = _first(arrays, ("task",))
    pool = _first(arrays, ("labels", "members", "labels_base"))
    features = _first(arrays, ("X", "x", "fea", "features"))
    if features is None and pool is None and {"data", "indices", "indptr", "shape"} <= set(arrays):
        try:
            features = sp.csr_matrix(
                (arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"])
            )
            features.check_format(full_check=True)
        except ValueError as error:
            raise FileError(f"{name} holds a sparse matrix that does not fit together: {error}.") from None
    if features is None and pool is None:
        raise FileError(
            f"{name} has neither features (X) nor base clusterings (labels) among {sorted(arrays)}."
        )
    return LoadedSet(
        np.asarray(truth).ravel(),
        features,
        None if pool is None or features is not None else np.asarray(pool),
        None if task is None else np.asarray(task).ravel(),
    )


def _read_csv(path: Path) -> LoadedSet:
    try:
        with open(path, newline="", encoding="utf-8-sig") as handle:
            rows = [row for row in csv.reader(handle) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"{path.name} cannot be read: {error}.") from None
    if len(rows) < 3:
        raise FileError(f"{path.name} has {len(rows)} lines; expected a header and at least two objects.")
    header = [cell.strip().lower() for cell in rows[0]]
    at = next((header.index(name) for name in _CLASS_COLUMNS if name in header), None)
    if at is None:
        raise FileError(
            f"{path.name} has no column of classes: name one of its columns y, class, label or target (it has "
            f"{', '.join(rows[0][:6])}{', ...' if len(rows[0]) > 6 else ''})."
        )
    for number, row in enumerate(rows[1:], 2):
        if len(row) != len(header):
            raise FileError(
                f"{path.name}, line {number}: {len(row)} cells, but the header has {len(header)}."
            )
    try:
        features = np.array([[float(cell) for j, cell in enumerate(row) if j != at] for row in rows[1:]])
    except ValueError as error:
        raise FileError(f"{path.name}: a feature is not a number: {error}.") from None
    return LoadedSet(np.array([row[at] for row in rows[1:]]), features)


def _first(arrays: dict[str, Any], names: tuple[str, ...]) -> Any:
    return next((arrays[name] for name in names if name in arrays), None)


def _check(loaded: LoadedSet, name: str) -> None:
    n = loaded.shape[0]
    if loaded.truth.size != n:
        raise FileError(f"{name}: {loaded.truth.size} classes for {n} objects.")
    if loaded.task is not None and loaded.task.size != n:
        raise FileError(f"{name}: {loaded.task.size} task numbers for {n} objects.")
    values = getattr(loaded.features, "data", loaded.features) if loaded.features is not None else None
    if values is not None and np.asarray(values).dtype.kind == "f" and not np.isfinite(values).all():
        raise FileError(f"{name}: the features hold missing or infinite numbers.")


def _transformed(features: Any, transform: str) -> Any:
    if transform not in TRANSFORMS:
        raise InputError(f"transform={transform!r} is not valid: expected one of {', '.join(TRANSFORMS)}.")
    if transform == "standardize":
        from sklearn.preprocessing import StandardScaler

        return StandardScaler(with_mean=not sp.issparse(features)).fit_transform(features.astype(float))
    if transform == "unit":
        from sklearn.preprocessing import normalize

        return normalize(features.astype(float))
    from sklearn.feature_extraction.text import TfidfTransformer

    return TfidfTransformer().fit_transform(sp.csr_matrix(features).astype(float))
