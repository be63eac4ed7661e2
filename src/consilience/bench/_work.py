"""What a worker does: make base clusterings, or run and score one method on them."""

from __future__ import annotations

import contextlib
import inspect
import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from .. import metrics
from ..ensemble import Ensemble
from ..errors import FileError, InputError
from ..io import atomic_write
from ._cells import find_generator, find_method, seed_of
from ._meter import Meter
from ._sets import LoadedSet, load_set

# Tasks -----------------------------------------------------------------------------------------------------


def base(task: dict) -> dict:
    """Make the base clusterings of one set and repetition and put them on disk, whole or not at all."""
    loaded = _loaded(task["data"], task["folder"], task["transform"])
    recipe = task["recipe"]
    if recipe["generator"] is None:
        if loaded.pool is None:
            raise InputError("the protocol names no generator and the file holds no base clusterings.")
        ensemble, meter = Ensemble(loaded.pool), None
    else:
        make = find_generator(recipe["generator"], task.get("protocol_folder"))
        params = filled_in(recipe["params"], loaded.n_classes)
        # A generator may draw the number of members from its own parameters, as one per bandwidth.
        accepted = inspect.signature(make).parameters
        given = {"n_clusterings": recipe["members"], "random_state": seed_of(task["name"])}
        params = {**{name: value for name, value in given.items() if name in accepted}, **params}
        with Meter() as meter:
            ensemble = make(loaded.features, **params)
        ensemble = Ensemble(ensemble)
    if ensemble.n_samples != loaded.truth.size:
        raise InputError(
            f"{recipe['generator']} returned {ensemble.n_samples} objects for a set of {loaded.truth.size}."
        )
    with atomic_write(task["file"]) as handle:
        np.savez_compressed(handle, labels=ensemble.labels)
    figures = {} if meter is None else meter.figures()
    return {"n_clusterings": ensemble.n_clusterings, "n_clusters": ensemble.n_clusters.tolist(), **figures}


def cell(task: dict) -> dict:
    """Run one method on one ensemble (or on the features) and score it."""
    loaded = _loaded(task["data"], task["folder"], task["transform"])
    method = task["method"]
    if method["input"] == "ensemble":
        labels = taken(_labels(task["file"], os.stat(task["file"]).st_mtime_ns), task)
        if method["method"] in ("base-mean", "base-best"):
            return _base_scores(labels, loaded.truth, method["method"])
        if method["fill"] == "random":
            labels = fill_at_random(labels, np.random.default_rng(seed_of(task["ensemble_name"] + "/fill")))
        subject: Any = Ensemble(labels)
    else:
        subject = loaded.features
    estimator = make_estimator(task, loaded.n_classes)
    if method["input"] == "ensemble":
        _warm_up(method["method"], task.get("protocol_folder"), repr(sorted(task["params"].items())), task)
    with Meter() as meter:
        found = _fitted(estimator, subject, loaded, method["input"])
    facts = {
        name: getattr(estimator, name + "_")
        for name in ("n_iter", "converged")
        if isinstance(getattr(estimator, name + "_", None), (bool, int, np.integer))
    }
    return {
        "scores": _scores(found, loaded),
        "n_clusters": int(np.unique(found[found >= 0]).size),
        **facts,
        **meter.figures(),
    }


# Pieces ----------------------------------------------------------------------------------------------------


def taken(members: np.ndarray, task: dict) -> np.ndarray:
    """The ensemble of a repetition from the members that were made: some columns, some labels dropped."""
    size, repetition, take = task["size"], task["repetition"], task["take"]
    m = members.shape[1]
    if take == "consecutive":
        if (repetition + 1) * size > m:
            raise InputError(
                f"repetition {repetition} needs {(repetition + 1) * size} base clusterings; there are {m}."
            )
        columns = np.arange(repetition * size, (repetition + 1) * size)
    elif take == "random":
        columns = np.sort(
            np.random.default_rng(seed_of(task["ensemble_name"] + "/draw")).permutation(m)[:size]
        )
    else:
        columns = np.arange(min(size, m))
    labels = members[:, columns].copy()
    if task["missing"]:
        drop_at_random(
            labels, task["missing"], np.random.default_rng(seed_of(task["ensemble_name"] + "/drop"))
        )
    return labels


def drop_at_random(labels: np.ndarray, share: float, rng: np.random.Generator) -> None:
    """Set that share of each column to missing, in place; columns and objects keep at least one label each."""
    n = labels.shape[0]
    whole = labels.copy()
    for column in labels.T:
        column[rng.permutation(n)[: min(round(share * n), n - 1)]] = -1
    for row in np.flatnonzero((labels < 0).all(axis=1) & (whole >= 0).any(axis=1)):
        back = rng.choice(np.flatnonzero(whole[row] >= 0))
        labels[row, back] = whole[row, back]


def fill_at_random(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random cluster of the same clustering wherever a label is missing."""
    out = labels.copy()
    for column in out.T:
        gaps = np.flatnonzero(column < 0)
        if gaps.size:
            column[gaps] = rng.choice(np.unique(column[column >= 0]), gaps.size)
    return out


def filled_in(params: dict, n_classes: int) -> dict:
    """Parameters with ``"$c"`` replaced by the number of classes."""
    return {key: n_classes if value == "$c" else value for key, value in params.items()}


def make_estimator(task: dict, n_classes: int) -> Any:
    """The method with its parameters, the true number of clusters and the cell's seed."""
    cls = find_method(task["method"]["method"], task.get("protocol_folder"))
    accepted = inspect.signature(cls).parameters
    params = filled_in(task["params"], n_classes)
    if "n_clusters" in accepted:
        params.setdefault("n_clusters", n_classes)
    if "random_state" in accepted:
        params.setdefault("random_state", task["seed"])
    return cls(**params)


@lru_cache(maxsize=256)
def _warmed(method: str, folder: str | None, params: str) -> list:
    return []


def _warm_up(method: str, folder: str | None, params: str, task: dict) -> None:
    """Compile what the method compiles, on six objects, so that its first cell is timed like the others."""
    done = _warmed(method, folder, params)
    if done:
        return
    done.append(True)
    tiny = Ensemble(np.array([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1], [1, 1, 0], [1, 0, 0]]))
    with contextlib.suppress(Exception):  # if it cannot do six objects it is merely not warm
        make_estimator({**task, "params": {**task["params"], "n_clusters": 2}}, 2).fit(tiny)


def _base_scores(labels: np.ndarray, truth: np.ndarray, kind: str) -> dict:
    """The base clusterings themselves: every score of every one; the mean, or the best by each measure."""
    each = metrics.base_scores(Ensemble(labels), truth)
    each["f1_self_pairs"] = np.array([f1_self_pairs(c[c >= 0], truth[c >= 0]) for c in labels.T])
    if kind == "base-best":
        return {"scores": {"": {name: np.nanmax(values) for name, values in each.items()}}}
    scores = {name: np.nanmean(values) for name, values in each.items()}
    return {"scores": {"": scores}, "each": {"": each}}


def _fitted(estimator: Any, subject: Any, loaded: LoadedSet, kind: str) -> np.ndarray:
    """Labels of all objects; a multi-task set is given whole, or task by task."""
    if kind == "tasks":
        return _flat(estimator.fit(subject, task=loaded.task).labels_, loaded)
    if kind == "each-task":
        assert loaded.task is not None
        parts = [
            clone(estimator).fit(subject[loaded.task == task]).labels_ for task in np.unique(loaded.task)
        ]
        return _flat(parts, loaded)
    return np.asarray(estimator.fit(subject).labels_)


def score(labels: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """All measures, and pairwise F1 as some tables print it; an object without a label is in a cluster of its own kind."""
    return {
        **metrics.scores(labels, truth, missing="cluster"),
        "f1_self_pairs": f1_self_pairs(labels, truth),
    }


def f1_self_pairs(labels: np.ndarray, truth: np.ndarray) -> float:
    """Pairwise F1 over ordered pairs with each object paired with itself too: (2 TP + n) / (2 TP + FP + FN + n).

    The printed F1 of the SCCABG tables is this one (LWEA on the authors' ALLAML ensembles: .5811 to the digit, .5697 over
    proper pairs). It is never below the usual one.
    """
    pairs = metrics.pair_confusion(labels, truth, missing="cluster")
    agreed = 2 * pairs.true_positive + len(labels)
    return agreed / (agreed + pairs.false_positive + pairs.false_negative)


def _scores(found: np.ndarray, loaded: LoadedSet) -> dict:
    if loaded.task is None:
        return {"": score(found, loaded.truth)}
    return {
        str(number): score(found[rows], loaded.truth[rows])
        for number, task in enumerate(np.unique(loaded.task), 1)
        if (rows := loaded.task == task).any()
    }


def _flat(labels: Any, loaded: LoadedSet) -> np.ndarray:
    """One label per object; a list of label vectors, one per task, is put back in the order of the rows."""
    if isinstance(labels, (list, tuple)) and loaded.task is not None:
        out = np.empty(loaded.truth.size, np.int64)
        for part, task in zip(labels, np.unique(loaded.task)):
            out[loaded.task == task] = part
        return out
    return np.asarray(labels)


@lru_cache(maxsize=2)
def _loaded(data: str, folder: str | None, transform: str | None) -> LoadedSet:
    return load_set(data, folder, transform)


@lru_cache(maxsize=8)
def _labels(file: str, stamp: int) -> np.ndarray:
    return read_base(file)


def read_base(file: str | Path) -> np.ndarray:
    """Base clusterings from the cache."""
    try:
        with np.load(file, allow_pickle=False) as held:
            return held["labels"]
    except Exception as error:
        raise FileError(f"{Path(file).name} cannot be read: {error}.") from None
