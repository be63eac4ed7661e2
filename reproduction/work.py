"""What a worker process does: make base clusterings, or run and score one method on them."""

from __future__ import annotations

import contextlib
import inspect
import math
import multiprocessing
import os
import signal
import threading
import time
import traceback
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from tqdm import tqdm

from consilience import metrics
from consilience._data.ensemble import Ensemble
from consilience.errors import ConsilienceError, FileError, InputError
from consilience.io import atomic_write

from .cells import Base, Cell, find_generator, find_method, seed_of
from .protocol import Ensembles
from .sets import LoadedSet, load_set

# The process -----------------------------------------------------------------------------------------------


def serve(connection: Any) -> None:
    """Answer tasks until the runner is gone; then leave at once, even in the middle of a cell."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # a Ctrl-C is the runner's to handle: it ends its workers itself
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):  # what libraries print must not mix with what the runner says
        os.dup2(nowhere, stream)
    tqdm.set_lock(threading.RLock())  # its usual one is a semaphore that outlives a worker which is ended
    connection.send({"ready": True})
    with contextlib.suppress(EOFError):
        while True:
            connection.send(perform(*connection.recv()))


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def perform(task: Cell | Base, folder: str | None, file: str | None, memory_limit: int | None) -> dict:
    """Do one task; an exception becomes part of the answer. Its base clusterings are kept in ``file``."""
    try:
        limit_memory(memory_limit)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            work: Any = make_base if isinstance(task, Base) else run_cell
            answer = work(task, folder, file)
        notes = list(dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in caught if _matters(w)))
        return {**clean(answer), **({"warnings": notes[:3]} if notes else {})}
    except MemoryError as error:
        kind = type(error).__name__ if isinstance(error, ConsilienceError) else "MemoryLimit"
        return failure(kind, str(error) or "the cell asked for more memory than it may use")
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        answer = failure(type(error).__name__, str(error))
        answer["error"]["where"] = f"{os.path.basename(where.filename)}:{where.lineno}"
        return answer


def failure(kind: str, message: str) -> dict:
    return {"error": {"type": kind, "message": message}}


def _matters(caught: warnings.WarningMessage) -> bool:
    return not issubclass(caught.category, (DeprecationWarning, PendingDeprecationWarning, FutureWarning))


def clean(value: Any) -> Any:
    """Plain data: numpy numbers become Python's, and a number that is not finite becomes None."""
    if isinstance(value, dict):
        return {str(key): clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    if hasattr(value, "tolist"):
        return clean(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def limit_memory(n_bytes: int | None) -> None:
    """Refuse allocations beyond ``n_bytes`` above what the process holds.

    The runner watches what this misses.
    """
    if n_bytes is None:
        return
    with contextlib.suppress(ImportError, AttributeError, ValueError, OSError):  # not on this system
        import resource

        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        soft = held_bytes("VmData") + n_bytes
        soft = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def held_bytes(entry: str = "VmRSS", process: int | str = "self") -> int:
    """A line of /proc/PROCESS/status in bytes; 0 where there is none."""
    with contextlib.suppress(OSError), open(f"/proc/{process}/status") as handle:
        for line in handle:
            if line.startswith(entry + ":"):
                return int(line.split()[1]) * 1024
    return 0


class Meter:
    """Wall and processor seconds and peak memory of a block, above what the process held before it."""

    def __enter__(self) -> Meter:
        self._resettable = False
        with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as handle:
            handle.write("5")  # restart the high-water mark
            self._resettable = True
        self._before = held_bytes()
        self._wall, self._cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.figures = {
            "seconds": round(time.perf_counter() - self._wall, 6),
            "cpu_seconds": round(time.process_time() - self._cpu, 6),
            "peak_bytes": max(held_bytes("VmHWM") - self._before, 0) if self._resettable else None,
        }


# Tasks -----------------------------------------------------------------------------------------------------


def make_base(base: Base, folder: str | None, file: str) -> dict:
    """Make the base clusterings of one set and repetition and put them on disk, whole or not at all."""
    loaded = _loaded(base.item.data, folder, base.item.transform)
    made, figures = base.ensembles, {}
    if made.generator is None:
        if loaded.pool is None:
            raise InputError("the protocol names no generator and the file holds no base clusterings.")
        ensemble = Ensemble(loaded.pool)
    else:
        make = find_generator(made.generator)
        # A generator may draw the number of members from its own parameters, as one per bandwidth.
        accepted = inspect.signature(make).parameters
        given = {"n_clusterings": made.members or made.size, "random_state": seed_of(base.name)}
        params = {name: value for name, value in given.items() if name in accepted}
        with Meter() as meter:
            ensemble = make(loaded.features, **{**params, **filled_in(made.params, loaded.n_classes)})
        ensemble, figures = Ensemble(ensemble), meter.figures
    if ensemble.n_samples != loaded.truth.size:
        raise InputError(
            f"{made.generator} returned {ensemble.n_samples} objects for a set of {loaded.truth.size}."
        )
    with atomic_write(file) as handle:
        np.savez_compressed(handle, labels=ensemble.labels)
    return {
        "n_clusterings": ensemble.n_clusterings,
        "n_clusters": ensemble.n_clusters_per_clustering.tolist(),
        **figures,
    }


def run_cell(cell: Cell, folder: str | None, file: str | None) -> dict:
    """Run one method on one ensemble (or on the features) and score it."""
    loaded = _loaded(cell.item.data, folder, cell.transform)
    method = cell.method
    if method.input == "ensemble":
        assert file is not None
        labels = taken(
            _labels(file, os.stat(file).st_mtime_ns), cell.ensembles, cell.repetition, cell.ensemble_name
        )
        if method.is_base:
            return _base_scores(labels, loaded.truth, method.method)
        if method.fill == "random":
            labels = fill_at_random(labels, np.random.default_rng(seed_of(cell.ensemble_name + "/fill")))
        subject: Any = Ensemble(labels)
        _warm_up(cell, _TINY_ENSEMBLE)
    else:
        subject = loaded.features
        if method.input == "features":
            _warm_up(cell, _TINY_FEATURES)
    estimator = make_estimator(cell, loaded.n_classes)
    with Meter() as meter:
        found = _fitted(estimator, subject, loaded, method.input)
    facts = {
        name: getattr(estimator, name + "_")
        for name in ("n_iter", "converged")
        if isinstance(getattr(estimator, name + "_", None), (bool, int, np.integer))
    }
    n_clusters = int(np.unique(found[found >= 0]).size)
    answer = {"scores": _scores(found, loaded), "n_clusters": n_clusters, **facts, **meter.figures}
    confidence = getattr(estimator, "confidence_", None)
    if confidence is not None and loaded.task is None:
        answer["reliability"] = reliability(found, np.asarray(confidence), loaded.truth)
    return answer


# Ensembles -------------------------------------------------------------------------------------------------


def taken(members: np.ndarray, ensembles: Ensembles, repetition: int, name: str) -> np.ndarray:
    """The ensemble of a repetition from the members that were made: some columns, some labels dropped."""
    size, m = ensembles.size, members.shape[1]
    if ensembles.take == "consecutive":
        if (repetition + 1) * size > m:
            raise InputError(
                f"repetition {repetition} needs {(repetition + 1) * size} base clusterings; there are {m}."
            )
        columns = np.arange(repetition * size, (repetition + 1) * size)
    elif ensembles.take == "random":
        columns = np.sort(np.random.default_rng(seed_of(name + "/draw")).permutation(m)[:size])
    else:
        columns = np.arange(min(size, m))
    labels = members[:, columns].copy()
    if ensembles.missing:
        drop_at_random(labels, ensembles.missing, np.random.default_rng(seed_of(name + "/drop")))
    return labels


def drop_at_random(labels: np.ndarray, share: float, rng: np.random.Generator) -> None:
    """Set this share of each column to missing, in place; each column and object keeps at least one label."""
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


def read_base(file: str | Path) -> np.ndarray:
    """Base clusterings from the cache."""
    try:
        with np.load(file, allow_pickle=False) as held:
            return held["labels"]
    except Exception as error:
        raise FileError(f"{Path(file).name} cannot be read: {error}.") from None


@lru_cache(maxsize=2)
def _loaded(data: str, folder: str | None, transform: str | None) -> LoadedSet:
    return load_set(data, folder, transform)


@lru_cache(maxsize=8)
def _labels(file: str, stamp: int) -> np.ndarray:
    return read_base(file)


# Methods ---------------------------------------------------------------------------------------------------


#: Parameters of generators in which a list of two numbers is an interval.
INTERVALS = ("n_clusters", "n_neighbors")


def filled_in(params: dict, n_classes: int) -> dict:
    """Parameters with ``"$c"`` replaced by the number of classes, and intervals as tuples."""

    def one(value: Any) -> Any:
        return n_classes if value == "$c" else value

    def whole(key: str, value: Any) -> Any:
        if key in INTERVALS and isinstance(value, list) and len(value) == 2:
            return tuple(map(one, value))
        return filled_in(value, n_classes) if key == "generator_params" else one(value)

    return {key: whole(key, value) for key, value in params.items()}


def make_estimator(cell: Cell, n_classes: int) -> Any:
    """The method with its parameters, the true number of clusters and the cell's seed."""
    cls = find_method(cell.method.method)
    accepted = inspect.signature(cls).parameters
    usual = {"n_clusters": n_classes, "random_state": seed_of(cell.name)}
    params = {name: value for name, value in usual.items() if name in accepted}
    return cls(**{**params, **filled_in(cell.params, n_classes)})


_warmed: set[tuple[str, str]] = set()
_TINY_ENSEMBLE = Ensemble(np.array([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1], [1, 1, 0], [1, 0, 0]]))
_TINY_FEATURES = np.arange(120.0).reshape(40, 3) % 7 + np.repeat([0.0, 50.0], 20)[:, None]


def _warm_up(cell: Cell, tiny: Any) -> None:
    """Compile what the method compiles, on a few objects, so that its first cell is timed like the others."""
    method = cell.method.method, repr(sorted(cell.params.items()))
    if method in _warmed:
        return
    _warmed.add(method)
    with contextlib.suppress(Exception):  # if it cannot do so few objects it is merely not warm
        make_estimator(cell, 2).fit(tiny)


def _fitted(estimator: Any, subject: Any, loaded: LoadedSet, kind: str) -> np.ndarray:
    """Labels of all objects; a multi-task set is given whole, or task by task."""
    if kind == "tasks":
        return _flat(estimator.fit(subject, task=loaded.task).labels_, loaded)
    if kind == "each-task":
        rows = [loaded.task == task for task in np.unique(loaded.task)]  # type: ignore[arg-type]
        return _flat([clone(estimator).fit(subject[here]).labels_ for here in rows], loaded)
    fitted = estimator.fit(subject)
    # A mixture has no labels_: what it says of the objects it was fitted to is a prediction.
    return np.asarray(fitted.labels_ if hasattr(fitted, "labels_") else fitted.predict(subject))


def _flat(labels: Any, loaded: LoadedSet) -> np.ndarray:
    """One label per object; a list of label vectors, one per task, is put back in the order of the rows."""
    if isinstance(labels, (list, tuple)) and loaded.task is not None:
        out = np.empty(loaded.truth.size, np.int64)
        for part, task in zip(labels, np.unique(loaded.task)):
            out[loaded.task == task] = part
        return out
    return np.asarray(labels)


# Scores ----------------------------------------------------------------------------------------------------

#: Name of a measure in the library -> its key in protocols and stored results.
_STORED = {"accuracy": "acc", "nmi": "nmi_arithmetic"}


def _base_scores(labels: np.ndarray, truth: np.ndarray, kind: str) -> dict:
    """The base clusterings themselves: every score of every one; the mean, or the best by each measure."""
    each = stored_names(metrics.base_scores(Ensemble(labels), truth))
    each["f1_self_pairs"] = np.array([f1_self_pairs(c[c >= 0], truth[c >= 0]) for c in labels.T])
    if kind == "base-best":
        return {"scores": {"": {name: np.nanmax(values) for name, values in each.items()}}}
    return {
        "scores": {"": {name: np.nanmean(values) for name, values in each.items()}},
        "each": {"": each},
    }


def stored_names(measured: dict[str, Any]) -> dict[str, Any]:
    """Measures by the names that protocols and stored results have for them."""
    return {_STORED.get(name, name): value for name, value in measured.items()}


def score(labels: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """All measures, and pairwise F1 as some tables print it.

    An object without a label is in a cluster of its own kind.
    """
    return {
        **stored_names(metrics.scores(truth, labels, missing="cluster")),
        "f1_self_pairs": f1_self_pairs(labels, truth),
    }


def f1_self_pairs(labels: np.ndarray, truth: np.ndarray) -> float:
    """Pairwise F1 over ordered pairs, with each object paired with itself, too.

    It is (2 TP + n) / (2 TP + FP + FN + n).

    The printed F1 of the SCCABG tables is this one (LWEA on the authors' ALLAML ensembles: .5811 to the
    digit, .5697 over proper pairs). It is never below the usual one.
    """
    pairs = metrics.pair_confusion(truth, labels, missing="cluster")
    agreed = 2 * pairs.true_positive + len(labels)
    return agreed / (agreed + pairs.false_positive + pairs.false_negative)


def reliability(labels: np.ndarray, confidence: np.ndarray, truth: np.ndarray) -> list[list[int]]:
    """[objects, of these rightly placed] at confidence above .9, from .6 to .9, and below .6.

    Rightly placed: in the class that the object's cluster is matched to, where clusters and classes are
    matched one to one so that as many objects as possible agree.
    """
    classes = np.unique(truth, return_inverse=True)[1].ravel()
    right = metrics.align(labels, classes) == classes
    surest, rest = confidence > 0.9, confidence < 0.6
    return [[int(part.sum()), int(right[part].sum())] for part in (surest, ~surest & ~rest, rest)]


def _scores(found: np.ndarray, loaded: LoadedSet) -> dict:
    """By task; the one part of a set without tasks has no name."""
    if loaded.task is None:
        return {"": score(found, loaded.truth)}
    parts = [loaded.task == task for task in np.unique(loaded.task)]
    return {str(i): score(found[rows], loaded.truth[rows]) for i, rows in enumerate(parts, 1)}
