"""Related tasks for the multi-task methods: one sorted matrix with the examples of all, and its checks."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._base.parameters import listed
from .._data.features import Features
from .._kernels.labels.distinct import row_keys
from ..errors import InputError


@dataclass
class Tasks:
    """Checked tasks: the rows of ``X`` sorted by task and then by content, and their original positions.

    Sums over examples, and choices between equals, are then the same for any order of the rows.
    """

    X: Any  #: (n, d) float64 array or CSR, rows of task 0 first
    names: list  #: of the T tasks
    rows: list[np.ndarray]  #: original positions of the examples of each task

    @property
    def offsets(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum([r.size for r in self.rows])])

    @property
    def order(self) -> np.ndarray:
        """Original position of each row of X."""
        return np.concatenate(self.rows)

    def split(self, values: Any) -> list:
        """Rows of ``values`` by task."""
        ends = self.offsets
        return [values[a:b] for a, b in pairwise(ends)]

    def of(self, Xs: list) -> Tasks:
        """The same tasks with other features: one matrix for each task, in the order of the rows."""
        return Tasks(_stack(Xs), self.names, self.rows)

    def pooled(self) -> Tasks:
        """All examples as one task."""
        return Tasks(self.X, [None], [self.order])

    def alone(self, t: int) -> Tasks:
        """One task by itself."""
        return Tasks(self.split(self.X)[t], [self.names[t]], [self.rows[t]])


# Checks --- -----------------------------------------------------------------------------------------------


def gather(X: Any, task: Any) -> Tasks:
    """The examples sorted by task; raises an error if something is wrong with them."""
    if isinstance(X, (list, tuple)) and _is_list_of_tables(X):
        if task is not None:
            raise InputError(
                "X is a list of matrices, one per task, so that task must not be given. Pass one matrix "
                "with task, or the list alone."
            )
        tables = [_table(x, f"Task {t}: ") for t, x in enumerate(X)]
        for t, table in enumerate(tables):
            if table.shape[1] != tables[0].shape[1]:
                raise InputError(
                    f"Task {t} has {table.shape[1]} features, task 0 has {tables[0].shape[1]}: tasks share "
                    f"one subspace, so their features must be the same, in the same order. Bring them to a "
                    f"common vocabulary first."
                )
        ends = np.cumsum([0, *(table.shape[0] for table in tables)])
        rows = [np.arange(a, b) for a, b in pairwise(ends)]
        return _by_content(_stack(tables), list(range(len(tables))), rows)
    table = _table(X)
    if task is None:
        return _by_content(table, [0], [np.arange(table.shape[0])])
    task = _ids(task, table)
    try:
        names, codes = np.unique(task, return_inverse=True)
    except TypeError:
        raise InputError(
            "task mixes values that cannot be compared, such as text and numbers; give names of one kind."
        ) from None
    codes = codes.reshape(-1)
    rows = [np.flatnonzero(codes == t) for t in range(names.size)]
    return _by_content(table, names.tolist(), rows)


def rows_by_task(X: Any, task: Any, known: np.ndarray, n_features: int) -> tuple[Any, list[np.ndarray]]:
    """New examples, and the rows of each known task; raises an error if something is wrong with them."""
    if isinstance(X, (list, tuple)) and _is_list_of_tables(X):
        if len(X) != len(known):
            raise InputError(f"{len(X)} matrices were given; fit saw {len(known)} tasks.")
        task = np.repeat(np.arange(len(X)), [x.shape[0] for x in X])
        known = np.arange(len(X))
        table = _stack([_table(x, f"Matrix {t}: ", few=True) for t, x in enumerate(X)])
    else:
        table = _table(X, few=True)
        if task is None:
            if len(known) > 1:
                raise InputError(
                    f"task is needed: fit saw the tasks {listed(map(repr, known.tolist()))}. Give the task "
                    f"of each row."
                )
            task = known[0]
        n = table.shape[0]
        task = np.broadcast_to(np.asarray(task), (n,)) if np.ndim(task) == 0 else _ids(task, table)
    if table.shape[1] != n_features:
        raise InputError(f"X has {table.shape[1]} features, but fit saw {n_features}.")
    rows = [np.flatnonzero(task == name) for name in known]
    new = np.ones(table.shape[0], bool)
    new[np.concatenate(rows)] = False
    if new.any():
        unknown = np.unique(np.asarray(task)[new])
        raise InputError(
            f"{'Tasks' if unknown.size > 1 else 'Task'} {listed(map(repr, unknown.tolist()))} not seen by "
            f"fit, which saw {listed(map(repr, known.tolist()))}."
        )
    return table, rows


def _by_content(X: Any, names: list, rows: list[np.ndarray]) -> Tasks:
    """The tasks with the rows of each in an order that depends only on their content."""
    keys = row_keys(X)
    rows = [own[np.argsort(keys[own], kind="stable")] for own in rows]
    return Tasks(X[np.concatenate(rows)], names, rows)


def _is_list_of_tables(X: list | tuple) -> bool:
    """Whether these are matrices, rather than the rows of one."""
    return bool(X) and all(hasattr(x, "shape") and len(x.shape) == 2 for x in X)


def _table(X: Any, where: str = "", few: bool = False) -> Any:
    """Checked features as float64; messages begin with ``where``."""
    if isinstance(X, (list, tuple)):
        with suppress(ValueError):  # Features raises the error for rows of different lengths
            X = np.asarray(X)
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2 and shape[0] == 0:
        raise InputError(f"{where}X has shape {shape}: no examples. Leave the task out.")
    # One example can be predicted; check_sizes raises the error if it is to be clustered.
    try:
        values = Features(X, least_rows=1 if few or where else 2).X
    except InputError as error:
        if not where:
            raise
        raise type(error)(f"{where}{error}") from None
    return values.astype(np.float64, copy=False)


def _ids(task: Any, X: Any) -> np.ndarray:
    task = np.asarray(task)
    if task.shape != (X.shape[0],):
        raise InputError(
            f"task has shape {task.shape}, but X has {X.shape[0]} rows: give one task for each row."
        )
    if (task.dtype.kind == "f" and np.isnan(task).any()) or (
        task.dtype.kind == "O" and any(t is None for t in task)
    ):
        raise InputError("task has missing values; give every row a task, or leave those rows out.")
    return task


def _stack(tables: list) -> Any:
    if any(sp.issparse(table) for table in tables):
        return sp.csr_array(sp.vstack([sp.csr_array(table) for table in tables], format="csr"))
    return np.vstack(tables)


def check_sizes(tasks: Tasks, c: int) -> None:
    for name, X in zip(tasks.names, tasks.split(tasks.X)):
        n = X.shape[0]
        many = f"{n} example{'s' if n > 1 else ''}"
        if n < c:
            raise InputError(
                f"Task {name!r} has {many}, fewer than n_clusters={c}; leave the task out or ask for fewer "
                f"clusters."
            )
        distinct = np.unique(row_keys(X)).size
        if distinct < c:
            raise InputError(
                f"Task {name!r} has {distinct} distinct {'rows' if distinct > 1 else 'row'} in {many}, "
                f"fewer than n_clusters={c}; leave the task out or ask for fewer clusters."
            )
