"""What users may pass by mistake: odd containers, values and parameters; taken, or refused in our words."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

import consilience as cs
from consilience.consensus import methods
from consilience.errors import ConsilienceError

from .properties import Case, Refused, Suite, require

Rng = np.random.Generator

SCALARS: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    2,
    -1,
    -7,
    2**31,
    2**63,
    10**400,
    -(10**400),
    0.0,
    0.5,
    1.0,
    2.5,
    -0.0,
    1e-300,
    1e-40,
    1e40,
    1e300,
    5e-324,
    float("nan"),
    float("inf"),
    -float("inf"),
    "",
    "a",
    "auto",
    "nan",
    "\udc80",
    b"\xff",
    Fraction(1, 3),
    Decimal("0.5"),
    1j,
    np.int8(3),
    np.uint64(2**64 - 1),
    np.float16(0.1),
    np.float32(0.5),
    np.str_("x"),
    np.datetime64("NaT"),
    np.bool_(True),
    (),
    [],
    {},
    set(),
    [1, 2],
    {"a": 1},
    object,
    Ellipsis,
    datetime.date(2020, 1, 1),
    np.array(3),
    np.array([1]),
    np.ma.masked,
    1e154,
    1e-154,
    1e16,
    1e-16,
    1e9,
    1e-9,
    10**6,
    10**30,
    np.float32(1e30),
)


def _array_labels(array: Any) -> np.ndarray:
    out = np.empty(3, object)
    out[:] = [array, array, None]
    return out


#: Name -> something that looks like labels, (n, m) or a list of vectors.
CONTAINERS: dict[str, Callable[[Rng], Any]] = {
    "scalars": lambda rng: [[_pick(rng) for _ in range(4)] for _ in range(3)],
    "one scalar": lambda rng: _pick(rng),
    "object column": lambda rng: [np.array([_pick(rng) for _ in range(5)] + [None], object)[:5]],
    "uint64 narrow": lambda rng: [(2**63 + rng.integers(0, 5, 6).astype(np.uint64)).astype(np.uint64)],
    "uint64 matrix": lambda rng: (2**63 + rng.integers(0, 5, (6, 2)).astype(np.uint64)).astype(np.uint64),
    "uint64 wide": lambda rng: [rng.integers(0, 2**64 - 1, 6, dtype=np.uint64)],
    "int64 ends": lambda rng: rng.choice([np.iinfo(np.int64).min, -1, 0, np.iinfo(np.int64).max], (5, 2)),
    "bytes": lambda rng: [np.array([b"a", b"\xff", b"", b"\xc3\x28"])],
    "float16": lambda rng: rng.choice([0, 1, 65504, np.nan], (5, 2)).astype(np.float16),
    "floats": lambda rng: rng.choice([0.0, -0.0, 1e300, 5e-324, np.nan, 2.0**53, -1], (5, 2)),
    "infinite": lambda rng: rng.choice([0.0, np.inf], (5, 2)),
    "long double": lambda rng: np.asarray(rng.integers(0, 3, (5, 2)), np.longdouble),
    "complex": lambda rng: rng.integers(0, 3, (5, 2)) * 1j,
    "bool": lambda rng: rng.random((5, 2)) < 0.5,
    "dates": lambda rng: [np.array(["2020-01-01", "NaT", "2021-01-01"], "M8[D]")],
    "big endian": lambda rng: rng.integers(0, 3, (5, 2)).astype(">i4"),
    "structured": lambda rng: np.zeros(4, [("a", int), ("b", float)]),
    "strided": lambda rng: rng.integers(0, 3, (10, 6))[::-2, ::3],
    "read-only": lambda rng: _frozen(rng.integers(0, 3, (5, 2))),
    "masked": lambda rng: np.ma.MaskedArray(rng.integers(0, 3, (5, 2)), rng.random((5, 2)) < 0.5),
    "wholly masked": lambda rng: np.ma.MaskedArray(np.zeros((4, 2), int), True),
    "matrix": lambda rng: np.asmatrix(rng.integers(0, 3, (5, 2))),
    "empty": lambda rng: np.empty(rng.choice([(0, 0), (0, 3), (3, 0)], axis=0)),
    "three axes": lambda rng: np.zeros((3, 2, 2), int),
    "zero axes": lambda rng: np.array(3),
    "ragged": lambda rng: [[0, 1], [0]],
    "nested ragged": lambda rng: [[[0, 1], [0]], [[1], [1, 2]]],
    "mixed depths": lambda rng: [[0, 1], [[0], [1]], 3],
    "arrays as labels": lambda rng: [_array_labels(np.zeros(2))],
    "lists as labels": lambda rng: [_array_labels([1])],
    "one-hot": lambda rng: [np.eye(4)[:, :3], sp.csr_array(np.eye(4))],
    "one-hot without columns": lambda rng: [np.zeros((4, 0)), np.eye(4)],
    "one-hot without rows": lambda rng: [np.zeros((0, 2))],
    "one-hot twice": lambda rng: [np.ones((3, 2))],
    "sparse": lambda rng: sp.csr_array(np.eye(3)),
    "dict": lambda rng: {"a": [0, 1, 1], 3: ["x", None, "y"]},
    "empty dict": lambda rng: {},
    "dict of scalars": lambda rng: {"a": 1, "b": 2},
    "set": lambda rng: {0, 1, 2},
    "generator": lambda rng: (x for x in [[0, 1], [1, 0]]),
    "text": lambda rng: "0011",
    "list of text": lambda rng: ["0011", "0101"],
    "frame": lambda rng: pd.DataFrame({"a": [0, 1, None], "b": ["x", "y", "x"]}),
    "categorical frame": lambda rng: pd.DataFrame({"a": pd.Categorical(["x", None, "y"])}),
    "nullable frame": lambda rng: pd.DataFrame({"a": pd.array([1, None, 2], dtype="Int64")}),
    "frame of twins": lambda rng: pd.DataFrame([[0, 1], [1, 0]], columns=["a", "a"]),
    "empty frame": lambda rng: pd.DataFrame(),
    "frame without columns": lambda rng: pd.DataFrame(index=[1, 2]),
    "series": lambda rng: [pd.Series([0, 1, 1], name="s")],
    "odd text": lambda rng: [np.array(["a\0", "\udc80", " ", "", "NA", "-0", "\u2028"], object)],
    "unsortable": lambda rng: [np.array([1, "a", 2.5, (1, 2), Fraction(1, 2), None], object)],
    "none only": lambda rng: [[None, None]],
}


def _pick(rng: Rng) -> Any:
    return SCALARS[rng.integers(len(SCALARS))]


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def _draw(case: Case, purpose: str) -> Rng:
    return np.random.default_rng([case.data["draw"], len(purpose)])


def make(rng: Rng) -> dict[str, Any]:
    return {"container": str(rng.choice(list(CONTAINERS))), "draw": int(rng.integers(2**31))}


suite = Suite("containers", make, weight=0.06)


def _given(case: Case) -> Any:
    return CONTAINERS[case.data["container"]](_draw(case, "labels"))


@suite.promises("container taken, or refused")
def container(case: Case) -> None:
    given = _given(case)
    try:
        found = (cs.Ensemble.from_clusterings if isinstance(given, list) else cs.Ensemble)(given)
    except ConsilienceError as error:
        case.memory["refusal"] = str(error)
        require(len(str(error)) > 10, f"the refusal says only {str(error)!r}")
        return
    require(found.labels.shape == found.shape, "shape and labels differ")
    require(
        ((found.labels >= -1) & (found.labels < found.n_clusters_per_clustering)).all(),
        "codes outside their range",
    )
    for j in range(found.n_clusterings):
        own = found.labels[:, j]
        require(
            np.array_equal(np.unique(own[own >= 0]), np.arange(found.n_clusters_per_clustering[j])),
            "codes that nobody has",
        )
    repr(found), found._repr_html_()


@suite.promises("container in a method", 0.5)
def fitted(case: Case) -> None:
    try:
        cs.consensus.EvidenceAccumulation(1).fit(_given(case))
    except ConsilienceError:
        return


@suite.promises("container in metrics", 0.5)
def scored(case: Case) -> None:
    given = _given(case)
    vector = given[0] if isinstance(given, list) and given else given
    for call in (
        lambda: cs.metrics.scores(vector, vector),
        lambda: cs.metrics.scores(vector, [0, 1, 1, 0, 2], missing="ignore"),
        lambda: cs.metrics.align([0, 1, 1, 0, 2], vector),
        lambda: cs.metrics.anmi(given, vector),
        lambda: cs.metrics.sample_stability(given, vector),
    ):
        try:
            call()
        except ConsilienceError:
            continue


@suite.promises("names and weights at the door", 0.5)
def names(case: Case) -> None:
    rng = _draw(case, "names and so on")
    values = [_pick(rng) for _ in range(3)]
    for option in ("sample_names", "clustering_names", "sample_weight", "recipes"):
        for given in (values, _pick(rng)):
            try:
                cs.Ensemble.from_clusterings([[0, 1, 1], [0, 0, 1], [1, 1, 0]], **{option: given})
            except ConsilienceError:
                continue


@suite.promises("container as features", 0.5)
def as_features(case: Case) -> None:
    for call in (
        lambda: cs.generate.kmeans(_given(case), n_clusterings=1, n_clusters=1, random_state=0),
        lambda: cs.multitask.ASI(1, random_state=0, max_iter=2).fit(_given(case)),
    ):
        try:
            call()
        except ConsilienceError:
            continue


# Parameters ------------------------------------------------------------------------------------------------

#: Large values of these are asked for in earnest: they cost time, and are no fault.
COSTLY = {"n_init", "max_iter", "n_clusterings", "n_linearizations", "warm_up", "n_repeats", "n_jobs"}


def make_parameters(rng: Rng) -> dict[str, Any]:
    names = [*methods(), "SPMTC", "LSSMTC", "ASI", "MDEC", "ConsensusClustering"]
    name = str(rng.choice(names))
    parameters = list(_class(name)().get_params(deep=False))
    return {
        "method": name,
        "parameter": str(rng.choice(parameters)),
        "value": int(rng.integers(len(SCALARS))),
    }


parameter_suite = Suite("parameters", make_parameters, weight=0.06)


def _class(name: str) -> Any:
    found = {**methods(), **{cls.__name__: cls for cls in cs.multitask.methods().values()}}
    return found[name] if name in found else getattr(cs, name)


@parameter_suite.promises("parameter taken, or refused")
def parameter(case: Case) -> None:
    name, option, value = case.data["method"], case.data["parameter"], SCALARS[case.data["value"]]
    if option in COSTLY and isinstance(value, (int, np.integer)) and abs(int(value)) > 100:
        value = 3
    model = _class(name)()
    fast = {"n_init": 2, "max_iter": 20, "random_state": 0, "n_clusterings": 4, "n_jobs": 1}
    model.set_params(**{k: v for k, v in fast.items() if k in model.get_params(deep=False)})
    model.set_params(**{option: value})
    labels = np.array([[0, 0, 1, 1, 2, 2, 0], [0, 0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 2, 2, 0]]).T
    X = labels + np.arange(7)[:, None] / 10
    try:
        model.fit(labels if name in methods() else X)
    except ConsilienceError as error:
        require(len(str(error)) > 10, f"the refusal says only {str(error)!r}")
        raise Refused from None
    require(model.labels_.shape == (7,), f"labels_ has shape {model.labels_.shape}")
    require(np.isfinite(model.confidence_).all(), f"{option}={value!r}: confidence_ holds NaN or inf")
    repr(model)
