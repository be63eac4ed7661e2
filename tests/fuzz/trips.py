"""What is written comes back, whatever rows and columns are called."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import consilience as cs
from consilience.errors import ConsilienceError

from .properties import Case, Refused, Suite, require

ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".npz", ".npy", ".mat", ".parquet")
TYPED = (".npz", ".mat", ".parquet")
ODD = (
    "name",
    "label",
    "",
    " ",
    "NA",
    "nan",
    "-1",
    "-0",
    "0",
    "1e5",
    "a,b",
    'say "hi"',
    "tab\there",
    "line\nbreak",
    "cr\rhere",
    "é",
    "\u2028",
    "\xa0",
    "\ufeffx",
    "#c",
    "'",
    "file",
    "_k",
    "x" * 300,
    "\udc80",
    "nul\0",
    "row_names",
    "sample_names",
    "labels",
    "index",
    "=1+1",
    "日本",
)


def make(rng: np.random.Generator) -> dict[str, Any]:
    n, m = int(rng.integers(2, 8)), int(rng.integers(1, 4))
    sane = bool(rng.random() < 0.5)

    def names(count: int, letter: str) -> list[str] | None:
        if rng.random() < 0.3:
            return None
        if sane:
            return [f"{letter}{i}" for i in range(count)]
        return [str(v) for v in rng.choice(ODD, count, replace=False)]

    kinds = [str(v) for v in rng.choice(["whole", "large", "halves", "words"], m)]
    columns = []
    for kind in kinds:
        if kind == "whole":
            values: list[Any] = rng.integers(0, 4, n).tolist()
        elif kind == "large":
            values = rng.choice([2**40, -(2**40), 7], n).tolist()
        elif kind == "halves":
            values = (rng.integers(0, 4, n) + 0.5).tolist()
        else:
            values = [str(v) for v in rng.choice(["one", "two words", "é", "semi;colon", 'q"q'], n)]
        if rng.random() < 0.4 and n > 2:
            values[int(rng.integers(1, n))] = None
        columns.append(values)
    finite = rng.choice([0.0, -0.0, 1.5, 1e300, 5e-324, 0.1, 1 / 3, -2.0, 123456789.0], (n, m))
    return {
        "ending": str(rng.choice(ENDINGS)),
        "columns": columns,
        "rows": names(n, "r"),
        "headings": names(m, "c"),
        "X": finite,
        "sparse": bool(rng.random() < 0.2),
        "sane": sane,
    }


suite = Suite("round trips", make, weight=0.12)


def _folder(case: Case) -> Path:
    """Kept until the case is forgotten."""
    case.memory["folder"] = folder = case.memory.get("folder") or tempfile.TemporaryDirectory(prefix="fuzz-")
    return Path(folder.name)


def _compare_names(got: Any, wanted: Any, what: str) -> None:
    if wanted is not None and list(wanted) != [str(i) for i in range(len(wanted))]:
        require(got == wanted, f"{what} are {got!r}, written were {wanted!r}")


@suite.promises("ensemble comes back, or is refused")
def ensemble(case: Case) -> None:
    data = case.data
    columns = []
    for values in data["columns"]:
        column = np.empty(len(values), object)
        column[:] = values
        columns.append(column)
    wanted = cs.Ensemble.from_clusterings(
        columns, clustering_names=data["headings"], sample_names=data["rows"]
    )
    path = _folder(case) / f"e{data['ending']}"
    try:
        cs.io.write_ensemble(wanted, path)
    except ConsilienceError as error:
        plain = all(
            v is None or (isinstance(v, int) and v >= 0) for values in data["columns"] for v in values
        )
        allowed = not data["sane"] or (data["ending"] == ".npy" and not plain)
        require(allowed, f"sane names were refused: {error}")
        require(not path.exists(), "a refused write left a file")
        raise Refused from None
    try:
        got = cs.io.read_labels(path)
    except ConsilienceError as error:
        require(False, f"what we wrote cannot be read: {error}")
        raise
    require(got.shape == wanted.shape, f"{wanted.shape} were written, {got.shape} come back")
    for j in range(wanted.n_clusterings):
        a, b = got.original_labels(j).tolist(), wanted.original_labels(j).tolist()
        require(a == b, f"labels {b!r} come back as {a!r}")
    if data["ending"] != ".npy":
        _compare_names(got.sample_names, data["rows"], "row names")
        _compare_names(got.clustering_names, data["headings"], "headings")


@suite.promises("features come back, or are refused")
def features(case: Case) -> None:
    data = case.data
    X: Any = sp.csr_array(data["X"]) if data["sparse"] else data["X"]
    path = _folder(case) / f"x{data['ending']}"
    try:
        cs.io.write_features(X, path, sample_names=data["rows"], feature_names=data["headings"])
    except ConsilienceError as error:
        allowed = not data["sane"] or data["sparse"] or data["ending"] == ".npy"
        require(allowed, f"sane names were refused: {error}")
        return
    try:
        got = cs.io.read_features(path)
    except ConsilienceError as error:
        require(False, f"what we wrote cannot be read: {error}")
        raise
    dense = got.values.toarray() if sp.issparse(got.values) else np.asarray(got.values)
    if data["sparse"]:
        require(np.array_equal(dense, data["X"]), "sparse features differ")
    else:
        require(dense.astype(float).tobytes() == data["X"].tobytes(), "features differ in some bit")
    if data["ending"] != ".npy":
        _compare_names(got.sample_names, data["rows"], "row names")
        _compare_names(got.feature_names, data["headings"], "headings")


@suite.promises("table written, or refused", 0.5)
def table(case: Case) -> None:
    data = case.data
    headings = data["headings"] or [f"c{j}" for j in range(len(data["columns"]))]
    path = _folder(case) / f"t{data['ending']}"
    try:
        cs.io.write_table(dict(zip(headings, data["columns"])), path, sample_names=data["rows"])
    except ConsilienceError:
        require(not path.exists(), "a refused write left a file")
        return
    require(path.exists(), "no file was written, and nothing was said")
