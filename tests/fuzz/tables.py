"""Tables of every kind of column: the encoder makes finite features of them, or refuses in words."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import consilience as cs
from consilience.errors import ConsilienceError

from .properties import Case, Refused, Suite, require

KINDS = (
    "numbers",
    "whole",
    "ids",
    "texts",
    "names",
    "flags",
    "dates",
    "levels",
    "gaps",
    "same",
    "mixed",
    "huge",
)
NAMES = ("a", "b", "a b", "", "1", 1, 2.5, None, "é", "x=y", ("a", 1), "label", "index")


def _column(rng: np.random.Generator, kind: str, n: int) -> list[Any]:
    if kind == "numbers":
        return np.round(rng.normal(size=n), 3).tolist()
    if kind == "whole":
        return rng.integers(-2, 3, n).tolist()
    if kind == "ids":
        return (rng.permutation(n) * int(rng.integers(1, 4))).tolist()
    if kind == "texts":
        return [str(v) for v in rng.choice(["a", "b", "c", "A ", "-1", "NA", "é"], n)]
    if kind == "names":
        return [f"n{i}" for i in range(n)]
    if kind == "flags":
        return (rng.random(n) < 0.3).tolist()
    if kind == "dates":
        return [f"20{v:02d}-03-0{1 + v % 9}" for v in rng.integers(0, 50, n)]
    if kind == "levels":
        return [str(v) for v in rng.choice(["low", "mid", "high"], n)]
    if kind == "gaps":
        return [None] * n
    if kind == "same":
        return [7] * n
    if kind == "mixed":
        return [v if i % 3 else f"t{v}" for i, v in enumerate(rng.integers(0, 4, n).tolist())]
    return (rng.normal(size=n) * 10.0 ** int(rng.choice([-300, -80, 80, 300]))).tolist()


def make(rng: np.random.Generator) -> dict[str, Any]:
    n, d = int(rng.integers(1, 30)), int(rng.integers(1, 6))
    kinds = [str(kind) for kind in rng.choice(KINDS, d)]
    columns = []
    for kind in kinds:
        values = _column(rng, kind, n)
        if rng.random() < 0.3:
            values = [None if drawn < 0.2 else value for value, drawn in zip(values, rng.random(n))]
        columns.append(values)
    named = rng.choice(len(NAMES), d, replace=False) if rng.random() < 0.4 else range(d)
    return {
        "kinds": kinds,
        "columns": columns,
        "names": [int(i) for i in named],
        "odd": not isinstance(named, range),
        "library": str(rng.choice(["pandas", "pandas types", "polars", "rows"], p=[0.4, 0.2, 0.3, 0.1])),
        "most": int(rng.choice([2, 3, 20])),
    }


suite = Suite("tables", make, weight=0.15)


def _table(data: dict[str, Any]) -> Any:
    import pandas as pd

    frame = pd.DataFrame(dict(enumerate(data["columns"])))
    for j, kind in enumerate(data["kinds"]):
        if kind == "dates":
            frame[j] = pd.to_datetime(frame[j])
        elif kind == "levels":
            frame[j] = pd.Categorical(frame[j], categories=["low", "mid", "high"], ordered=True)
    if data["library"] == "rows":
        return frame.astype(object).to_numpy().tolist()
    names = [NAMES[i] for i in data["names"]] if data["odd"] else [f"c{j}" for j in data["names"]]
    if data["library"] == "polars":
        import polars as pl

        mixed = [j for j, kind in enumerate(data["kinds"]) if kind == "mixed"]
        frame[mixed] = frame[mixed].map(lambda value: None if value is None else str(value))
        return pl.from_pandas(frame.set_axis([f"c{j}" for j in range(frame.shape[1])], axis=1))
    frame = frame.set_axis(pd.Index(names, tupleize_cols=False), axis=1)
    return frame.convert_dtypes() if data["library"] == "pandas types" else frame


def _quietly(call: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cs.errors.ConsilienceWarning)
        return call()


@suite.promises("a table becomes finite features, or is refused")
def encoded(case: Case) -> None:
    table = _table(case.data)
    encoder = cs.io.TableEncoder(max_categories=case.data["most"])
    try:
        found = _quietly(lambda: encoder.fit_transform(table))
    except ConsilienceError:
        raise Refused from None
    require(found.ndim == 2 and found.shape[0] == len(case.data["columns"][0]), f"shape {found.shape}")
    require(
        np.isfinite(found).all(), f"features are not finite: {found[~np.isfinite(found).all(axis=1)][:2]}"
    )
    names = encoder.get_feature_names_out()
    require(len(names) == found.shape[1], f"{len(names)} names of {found.shape[1]} features")
    again = _quietly(lambda: encoder.transform(table))
    require(np.array_equal(again, found), "transform differs from fit_transform")
    case.memory["found"] = found


@suite.promises("features as given are taken, or refused in words", 0.5)
def taken(case: Case) -> None:
    try:
        _quietly(lambda: cs.io.Features(_table(case.data)))
    except ConsilienceError as error:
        require(len(str(error)) < 2000, "a message without end")
