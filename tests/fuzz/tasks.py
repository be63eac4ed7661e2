"""The multi-task methods on hostile tasks."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

import consilience as cs
from consilience.errors import ConsilienceError

from ..zoo import same_partition
from . import features
from .properties import Case, Exempt, Refused, Suite, require

WAYS = ("reconstruction", "span", "nonnegative", "printed")


def make(rng: np.random.Generator) -> dict[str, Any]:
    kind, X = features.matrix(rng)
    if rng.random() < 0.5 and not sp.issparse(X):
        X = np.abs(X)
    n = X.shape[0]
    tasks = int(rng.integers(1, min(4, n) + 1))
    task = np.arange(n) % tasks
    smallest = int(np.bincount(task).min())
    params: dict[str, Any] = {"subspace": str(rng.choice(WAYS)), "max_iter": int(rng.choice([3, 20]))}
    name = str(rng.choice(["SPMTC", "LSSMTC", "ASI"]))
    if name == "SPMTC":
        params["weighting"] = str(rng.choice(["soft", "hard"]))
    if name == "ASI":
        params["pooled"] = bool(rng.random() < 0.4)
    return {
        "method": name,
        "params": params,
        "kind": kind,
        "X": X,
        "task": task,
        "n_clusters": int(rng.integers(1, min(smallest, 4) + 1)),
        "random_state": int(rng.integers(2**31)),
    }


suite = Suite("multi-task", make, weight=0.05)


def fit(case: Case, X: Any = None, task: Any = None, **more: Any):
    data = case.data
    options = {
        "n_clusters": data["n_clusters"],
        "random_state": data["random_state"],
        "n_jobs": 1,
        **data["params"],
    }
    estimator = getattr(cs.multitask, data["method"])(**{**options, **more})
    if isinstance(X, list):
        return estimator.fit(X)
    return estimator.fit(data["X"] if X is None else X, task=data["task"] if task is None else task)


def model(case: Case) -> Any:
    return case.memory["model"]


@suite.promises("multi-task fits, or is refused")
def fits(case: Case) -> None:
    before = case.data["X"].copy()
    try:
        found = case.memory["model"] = fit(case)
    except ConsilienceError:
        raise Refused from None
    same = (
        (before != case.data["X"]).nnz == 0 if sp.issparse(before) else np.array_equal(before, case.data["X"])
    )
    require(same, "the features that were passed in were changed")
    c = case.data["n_clusters"]
    groups = [case.data["task"] == t for t in np.unique(case.data["task"])]
    if case.data["params"].get("pooled"):
        groups = [np.ones(case.data["task"].size, bool)]
    for group in groups:
        own = np.unique(found.labels_[group])
        require(own.tolist() == list(range(c)), f"a task has the clusters {own.tolist()} instead of {c}")
    sizes = np.bincount(found.labels_)
    require((np.diff(sizes) <= 0).all(), f"sizes of the clusters are {sizes.tolist()}")
    for name, value in vars(found).items():
        if name.endswith("_") and isinstance(value, np.ndarray) and value.dtype.kind == "f":
            require(np.isfinite(value).all(), f"{name} holds NaN or inf")
    sure = found.confidence_
    require(
        (sure >= 0).all() and (sure <= 1 + 1e-9).all(), f"confidence_ runs from {sure.min()} to {sure.max()}"
    )


def filled(found: Any) -> bool:
    """Whether a cluster had to be filled: an object then lies outside the cluster of its largest share."""
    return bool((found.confidence_ < found.memberships_.max(axis=1)).any())


@suite.promises("multi-task: order of rows", 0.5)
def order_of_rows(case: Case) -> None:
    order = case.rng("rows").permutation(case.data["task"].size)
    again = fit(case, case.data["X"][order], case.data["task"][order])
    if not same_partition(model(case).labels_[order], again.labels_):
        _ties(case)
        _one_of_equals(case, order, again)
        moved = int((model(case).labels_[order] != again.labels_).sum())
        ending = " (an empty cluster was filled)" if filled(model(case)) else ""
        require(False, f"{moved} of {order.size} labels differ for rows in another order{ending}")


def _one_of_equals(case: Case, order: np.ndarray, again: Any) -> None:
    """Raise Exempt where all that differs is which of several equal examples fills an empty cluster."""
    X = case.data["X"].toarray() if sp.issparse(case.data["X"]) else case.data["X"]
    _, example = np.unique(np.column_stack([X, case.data["task"]]), axis=0, return_inverse=True)
    example = example.reshape(-1)

    def placed(examples: np.ndarray, labels: np.ndarray) -> list:
        return sorted(zip(examples.tolist(), labels.tolist()))

    if placed(example, model(case).labels_) == placed(example[order], again.labels_):
        raise Exempt("one of several equal examples fills an empty cluster; nothing tells which")


def _ties(case: Case) -> None:
    """Raise Exempt where sums in another order decide between memberships that are equal up to rounding."""
    shares = np.sort(model(case).memberships_, axis=1)
    if shares.shape[1] > 1 and (shares[:, -1] - shares[:, -2]).min() < 1e-6:
        raise Exempt("an object belongs to two clusters alike, up to rounding")


@suite.promises("multi-task: list = task ids", 0.3)
def as_list(case: Case) -> None:
    task = case.data["task"]
    parts = [case.data["X"][task == t] for t in np.unique(task)]
    listed = fit(case, parts)
    order = np.concatenate([np.flatnonzero(task == t) for t in np.unique(task)])
    if not np.array_equal(listed.labels_, model(case).labels_[order]):
        _ties(case)
        require(False, "a list of matrices and task ids give other labels")


@suite.promises("multi-task: seed, refit, pickle, n_jobs", 0.3)
def again(case: Case) -> None:
    for words, other in (
        ("the same call", fit(case)),
        ("n_jobs=2", fit(case, n_jobs=2)),
        ("refit", clone(model(case)).fit(case.data["X"], task=case.data["task"])),
        ("pickled", pickle.loads(pickle.dumps(model(case)))),
    ):
        require(np.array_equal(other.labels_, model(case).labels_), f"{words}: labels differ")
        require(np.array_equal(other.confidence_, model(case).confidence_), f"{words}: confidence_ differs")


@suite.promises("multi-task: predict", 0.3)
def predict(case: Case) -> None:
    found = model(case).predict(case.data["X"], task=case.data["task"])
    require(found.shape == case.data["task"].shape, f"predict returns the shape {found.shape}")
    require(
        ((found >= 0) & (found < case.data["n_clusters"])).all(),
        f"predict returns {np.unique(found).tolist()}",
    )
