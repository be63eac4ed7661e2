"""What the multi-task methods share: the door for several feature matrices, the start, labels and ``predict``."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ...errors import InputError, warn
from ...features import Features
from ...kernels.memory import refusing
from ...kernels.parallel import one_blas_thread
from ...kernels.signatures import mix_array, row_hashes
from ...rng import make_rng
from ...validation import Rule, check_parameters, listed


@dataclass
class Tasks:
    """Checked tasks: the rows of ``X`` sorted by task and then by content, and where they came from.

    Sums over examples, and choices between equals, are then the same in whatever order the user has the rows.
    """

    X: Any  #: (n, d) float64 array or CSR, rows of task 0 first
    names: list  #: of the T tasks
    rows: list[np.ndarray]  #: positions in the user's order of the examples of each task
    given_as_list: bool

    @property
    def offsets(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum([r.size for r in self.rows])])

    @property
    def order(self) -> np.ndarray:
        """User's position of each row of X."""
        return np.concatenate(self.rows)

    def split(self, values: Any) -> list:
        """Rows of ``values`` by task."""
        ends = self.offsets
        return [values[a:b] for a, b in pairwise(ends)]

    def pooled(self) -> Tasks:
        """All examples as one task."""
        return Tasks(self.X, [None], [self.order], self.given_as_list)

    def alone(self, t: int) -> Tasks:
        """One task by itself."""
        return Tasks(self.split(self.X)[t], [self.names[t]], [self.rows[t]], self.given_as_list)


@dataclass
class Centres:
    """What places an example of one task: minimise p B p - 2 a p over p >= 0, a = x' combined."""

    combined: np.ndarray  #: (d, c) l1 M^t + (1 - l1) W M
    B: np.ndarray  #: (c, c)

    def parts(self, X: Any) -> np.ndarray:
        """(n, c) the best P for these centres."""
        return best_parts(np.asarray(X @ self.combined), self.B)

    def memberships(self, P: np.ndarray) -> np.ndarray:
        """(n, c) how much each centre contributes to each example; rows sum to 1, or are 0 where P is.

        The columns of P can be scaled against those of the centres; the length of a contribution, p_j times the
        length of centre j, cannot.
        """
        size = P * np.sqrt(np.maximum(np.diag(self.B), 0.0))
        total = size.sum(axis=1, keepdims=True)
        return np.divide(size, total, out=np.zeros_like(size), where=total > 0)


@dataclass
class Solution:
    """What a method learned, in the order of :class:`Tasks`."""

    centres: list[Centres]  #: of each task
    parts: np.ndarray  #: (n, c) P
    extra: Mapping[str, Any] = field(default_factory=dict)  #: stored as ``name_``
    per_stage: Mapping[str, np.ndarray] = field(default_factory=dict)  #: last axis is the examples
    per_cluster: Mapping[str, Any] = field(
        default_factory=dict
    )  #: first axis is the clusters; lists of such too
    history: list = field(default_factory=list)
    converged: bool = True
    shortfall: str = ""
    pooled: bool = False  #: clusters are of all examples, not of each task


class BaseMultitask(ClusterMixin, BaseEstimator):
    """Base of the methods that cluster several feature matrices together.

    ``fit`` is closed as in the consensus methods; a subclass implements ``_learn(tasks, rng) -> Solution``.
    """

    constraints: ClassVar[dict[str, Rule]] = {}

    labels_: np.ndarray
    n_clusters: int
    _largest: list[int]

    def fit(self, X: Any, y: Any = None, *, task: Any = None):
        """Cluster the examples of every task.

        Parameters
        ----------
        X : (n_samples, n_features) array, data frame or sparse matrix; or a list of them, one per task
            All tasks have the same features.
        y : ignored
        task : array (n_samples,), optional
            The task of each row of X, any values; not with a list. Without it, one matrix is one task.
        """
        self._check_counts()
        parameters = check_parameters(self)
        tasks = gather(X, task)
        _check_sizes(tasks, self.n_clusters)
        rng = make_rng(parameters.get("random_state"))
        n, d = tasks.X.shape
        what = f"{type(self).__name__} on {n} examples with {d} features"
        remedy = "use subspace='reconstruction', a sparse X, or fewer features"
        with refusing(what, remedy), one_blas_thread():
            solution = self._learn(tasks, rng)
            self._store(tasks, solution)
        return self

    def _learn(self, tasks: Tasks, rng: np.random.Generator) -> Solution:
        raise NotImplementedError

    def fit_predict(self, X: Any, y: Any = None, *, task: Any = None) -> np.ndarray:
        """Cluster the examples and return the cluster of each, in the order of the rows."""
        return self.fit(X, y, task=task).labels_

    @one_blas_thread()
    def predict(self, X: Any, task: Any = None) -> np.ndarray:
        """The cluster of new examples of known tasks.

        Parameters
        ----------
        X : (n, n_features) array or sparse matrix, or a list with one matrix for each task of ``fit``
        task : array (n,), or one value for all rows
            Needed if there was more than one task.
        """
        check_is_fitted(self, "labels_")
        if isinstance(X, (list, tuple)) and _is_list_of_tables(X):
            if len(X) != len(self.tasks_):
                raise InputError(f"{len(X)} matrices were given; fit saw {len(self.tasks_)} tasks.")
            task = np.repeat(np.arange(len(X)), [x.shape[0] for x in X])
            names = np.arange(len(X))
            X = _stack([_table(x, f"Matrix {t}: ", few=True) for t, x in enumerate(X)])
        else:
            X = _table(X, few=True)
            names = self.tasks_
            if task is None:
                if len(names) > 1:
                    raise InputError(
                        f"task is needed: fit saw the tasks {listed(map(repr, names.tolist()))}. Give the task of each row."
                    )
                task = names[0]
            task = np.broadcast_to(np.asarray(task), (X.shape[0],)) if np.ndim(task) == 0 else _ids(task, X)
        if X.shape[1] != self.n_features_in_:
            raise InputError(f"X has {X.shape[1]} features, but fit saw {self.n_features_in_}.")
        labels = np.full(X.shape[0], -1, np.int64)
        for t, name in enumerate(names):
            rows = np.flatnonzero(task == name)
            if rows.size:
                labels[rows] = self._place(X[rows], t)[0]
        if (labels < 0).any():
            unknown = np.unique(np.asarray(task)[labels < 0])
            raise InputError(
                f"{'Tasks' if unknown.size > 1 else 'Task'} {listed(map(repr, unknown.tolist()))} not seen by fit, which saw "
                f"{listed(map(repr, names.tolist()))}."
            )
        return labels

    # The closed part ---------------------------------------------------------------------------------------

    def _check_counts(self) -> None:
        if isinstance(self.n_clusters, (list, tuple, np.ndarray, dict)):
            raise InputError(
                f"n_clusters={self.n_clusters!r}: every task gets the same number of clusters, because they share their centres. "
                "Give one whole number, or fit tasks with other numbers by themselves."
            )

    def _place(self, X: Any, t: int) -> tuple[np.ndarray, np.ndarray]:
        """Labels and memberships of examples of task t; zero examples go to the task's largest cluster."""
        centres = self._centres[t]
        shares = centres.memberships(centres.parts(X))
        labels = shares.argmax(axis=1)
        empty = ~shares.any(axis=1)
        if empty.any():
            known = hasattr(self, "_largest")
            labels[empty] = self._largest[t] if known else np.bincount(labels[~empty], minlength=1).argmax()
        return labels, shares

    def _store(self, tasks: Tasks, solution: Solution) -> None:
        self._centres = solution.centres
        if hasattr(self, "_largest"):
            del self._largest  # of an earlier fit
        c, order = self.n_clusters, tasks.order
        placed = [self._place(X, t) for t, X in enumerate(tasks.split(tasks.X))]
        labels = [found for found, _ in placed]
        shares = [share for _, share in placed]
        if solution.pooled:
            together = np.concatenate(labels)
            moved = fill_empty(together, np.concatenate(shares), c)
            labels = tasks.split(together)
        else:
            moved = sum(fill_empty(own, share, c) for own, share in zip(labels, shares))
        if moved:
            warn(
                f"{type(self).__name__} left {moved} of the clusters of its tasks empty; each was given the example nearest to it, so "
                f"that there are {c}. Choose fewer clusters, or another random_state.",
                stacklevel=5,
            )
        sizes = sum(np.bincount(own, minlength=c) for own in labels)
        by_size = np.argsort(-sizes, kind="stable")
        number = np.argsort(by_size)
        labels = [number[own] for own in labels]
        self._largest = [int(np.bincount(own).argmax()) for own in labels]
        self._centres = [
            Centres(own.combined[:, by_size], own.B[np.ix_(by_size, by_size)]) for own in self._centres
        ]
        self.labels_ = np.empty(order.size, np.int64)
        self.labels_[order] = np.concatenate(labels)
        self.task_labels_ = [self.labels_[np.sort(rows)] for rows in tasks.rows]
        self.tasks_ = np.array(tasks.names)
        self.memberships_ = np.empty((order.size, c))
        self.memberships_[order] = np.concatenate(shares)[:, by_size]
        self.confidence_ = self.memberships_[np.arange(order.size), self.labels_]
        self.n_features_in_ = tasks.X.shape[1]
        self.parts_ = np.empty((order.size, c))
        self.parts_[order] = solution.parts[:, by_size]
        for name, value in solution.per_stage.items():
            out = np.empty_like(value)
            out[..., order] = value
            setattr(self, f"{name}_", out)
        for name, value in solution.per_cluster.items():
            arranged = [v[by_size] for v in value] if isinstance(value, list) else value[by_size]
            setattr(self, f"{name}_", arranged)
        for name, value in solution.extra.items():
            setattr(self, f"{name}_", value)
        self.history_ = solution.history
        self.n_iter_ = len(solution.history)
        self.converged_ = solution.converged
        if not self.converged_:
            warn(
                f"{type(self).__name__} did not converge in {self.n_iter_} rounds: {solution.shortfall}.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


# The door --------------------------------------------------------------------------------------------------


def gather(X: Any, task: Any) -> Tasks:
    """The examples sorted by task, or what is wrong with them."""
    if isinstance(X, (list, tuple)) and _is_list_of_tables(X):
        if task is not None:
            raise InputError(
                "X is a list of matrices, one per task, so that task is known; pass one matrix with task, or the list alone."
            )
        tables = [_table(x, f"Task {t}: ") for t, x in enumerate(X)]
        for t, table in enumerate(tables):
            if table.shape[1] != tables[0].shape[1]:
                raise InputError(
                    f"Task {t} has {table.shape[1]} features, task 0 has {tables[0].shape[1]}: tasks share one subspace, so their "
                    "features must be the same, in the same order. Bring them to a common vocabulary first."
                )
        ends = np.cumsum([0, *(table.shape[0] for table in tables)])
        rows = [np.arange(a, b) for a, b in pairwise(ends)]
        return _by_content(_stack(tables), list(range(len(tables))), rows, True)
    table = _table(X)
    if task is None:
        return _by_content(table, [0], [np.arange(table.shape[0])], False)
    task = _ids(task, table)
    try:
        names, codes = np.unique(task, return_inverse=True)
    except TypeError:
        raise InputError(
            "task mixes values that cannot be compared, such as text and numbers; give names of one kind."
        ) from None
    codes = codes.reshape(-1)
    rows = [np.flatnonzero(codes == t) for t in range(names.size)]
    return _by_content(table, names.tolist(), rows, False)


def _by_content(X: Any, names: list, rows: list[np.ndarray], given_as_list: bool) -> Tasks:
    """The tasks with the rows of each in an order that depends on what is in them alone."""
    keys = row_keys(X)
    rows = [own[np.argsort(keys[own], kind="stable")] for own in rows]
    return Tasks(X[np.concatenate(rows)], names, rows, given_as_list)


def _is_list_of_tables(X: list | tuple) -> bool:
    """Whether these are matrices, rather than the rows of one."""
    return bool(X) and all(hasattr(x, "shape") and len(x.shape) == 2 for x in X)


def _table(X: Any, where: str = "", few: bool = False) -> Any:
    """Checked features as float64; messages begin with ``where``."""
    if isinstance(X, (list, tuple)):
        with suppress(ValueError):  # rows of different lengths are worded by Features
            X = np.asarray(X)
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) == 2 and shape[0] == 0:
        raise InputError(f"{where}X has shape {shape}: no examples. Leave the task out.")
    # One example can be predicted; that it cannot be clustered is said in the name of its task.
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


def _check_sizes(tasks: Tasks, c: int) -> None:
    for name, X in zip(tasks.names, tasks.split(tasks.X)):
        n = X.shape[0]
        many = f"{n} example{'s' if n > 1 else ''}"
        if n < c:
            raise InputError(
                f"Task {name!r} has {many}, fewer than n_clusters={c}; leave the task out or ask for fewer clusters."
            )
        distinct = np.unique(row_keys(X)).size
        if distinct < c:
            raise InputError(
                f"Task {name!r} has {distinct} distinct {'rows' if distinct > 1 else 'row'} in {many}, fewer than n_clusters={c}; "
                "leave the task out or ask for fewer clusters."
            )


# Pieces ----------------------------------------------------------------------------------------------------


def row_keys(X: Any) -> np.ndarray:
    """(n,) uint64 numbers that depend on the content of a row alone: not on its place, nor on whether X is sparse."""
    size = 4096
    return np.concatenate([row_hashes(sp.csr_array(X[a : a + size])) for a in range(0, X.shape[0], size)])


def draw_parts(X: Any, c: int, rng: np.random.Generator) -> np.ndarray:
    """(n, c) numbers in (0, 1) to start P from, drawn by what an example is.

    Equal examples start equal and the order of examples or tasks does not matter: each number is a
    hash (splitmix64) of seed, example and cluster.
    """
    seed = rng.integers(2**63, dtype=np.uint64)
    with np.errstate(over="ignore"):
        z = (row_keys(X)[:, None] ^ seed) + np.arange(1, c + 1, dtype=np.uint64) * np.uint64(
            0x9E3779B97F4A7C15
        )
    z = mix_array(z.ravel()).reshape(z.shape)
    return ((z >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def best_parts(A: np.ndarray, B: np.ndarray, *, max_sweeps: int = 1000) -> np.ndarray:
    """(n, c) P >= 0 that minimises p B p - 2 a p for each row a of A, by coordinate descent over all rows at once.

    B (c, c) positive semi-definite. O(n c^2) a sweep.
    """
    P = np.zeros_like(A)
    diagonal = np.diag(B)
    scale = np.abs(A).max(initial=0.0)
    for _ in range(max_sweeps):
        moved = 0.0
        for j in np.flatnonzero(diagonal > 0):
            new = np.maximum(P[:, j] + (A[:, j] - P @ B[:, j]) / diagonal[j], 0.0)
            moved = max(moved, diagonal[j] * np.abs(new - P[:, j]).max(initial=0.0))
            P[:, j] = new
        if moved <= 1e-10 * scale:
            break
    return P


def fill_empty(labels: np.ndarray, shares: np.ndarray, c: int) -> int:
    """Give each empty cluster the example nearest to it, in place; returns how many were empty."""
    moved = 0
    for j in range(c):
        sizes = np.bincount(labels, minlength=c)
        if sizes[j]:
            continue
        own = shares[np.arange(labels.size), labels]
        regret = np.where(sizes[labels] > 1, own - shares[:, j], np.inf)
        labels[regret.argmin()] = j
        moved += 1
    return moved
