"""The base class of the multi-task methods: ``fit``, labels from the centers, and ``predict``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar, cast, final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.estimator import (
    BaseMethod,
    Solution,
    check_n_clusters,
    check_parameters,
    declared,
    keep,
    with_parameters,
)
from .._base.parameters import NClusters
from .._base.rng import make_rng
from .._kernels.runtime.memory import refusing
from .._kernels.runtime.threads import one_blas_thread
from ..errors import InputError, warn
from ._centers import Centers, fill_empty
from ._preparation import Preparation, chosen, learn
from ._tasks import Tasks, check_sizes, gather, rows_by_task

# Memberships are near 1 / c where the largest, on average over the examples, is above it by less than this
# share of what is possible.
_UNDECIDED = 0.15

#: The method whose ``fit`` it is; jedi would take Self for the base class.
Fitted = TypeVar("Fitted", bound="BaseMultitask")


@dataclass
class TaskSolution(Solution):
    """What a method learned, with examples in the order of :class:`Tasks`, and how.

    See also :class:`consilience._base.estimator.Solution`.

    centers : centers of each task; they assign its examples, and those of ``predict``, to clusters.
    parts : (n, c) P.
    pooled : whether all examples are clustered together, not each task.
    per_example : arrays whose last axis is the examples; stored as ``name_`` in the order of the user.
    per_center : arrays whose first axis is the clusters, or lists of such; stored in the order of the labels.
    """

    centers: list[Centers]
    parts: np.ndarray
    pooled: bool = False
    per_example: Mapping[str, np.ndarray] = field(default_factory=dict)
    per_center: Mapping[str, Any] = field(default_factory=dict)


@declared
class BaseMultitask(BaseMethod):
    """Base of the methods that cluster several feature matrices together.

    A subclass declares its parameters as :func:`~consilience._base.estimator.declared` says, and implements
    ``_fit(tasks, rng) -> TaskSolution``. What follows means the same in all methods, and is put into the
    docstrings of those that have it.

    Parameters
    ----------
    n_clusters : int
        Number of clusters of each task (c in the paper).
    preprocess : {"auto", "none", "tf-idf", "unit"}
        How features are prepared, for each task by itself. "tf-idf": counts are weighted by the rarity of
        their word in the task, and examples are scaled to length 1. "unit": examples are scaled to length 1.
        "none": features stay as they are; use this if you prepared them. "auto": "tf-idf" if X holds counts
        (whole numbers, of which at most 10% are not 0; or at most half, with a mean of at most 3), else
        "none".
    parts : {"auto", "non-negative", "one-hot"}
        "non-negative": an example may have a part in every center, as in the updates of the paper. "one-hot":
        it belongs to one center, as the paper first states its P (Eq. 3). "auto": the form whose labels agree
        better from start to start; "non-negative" if both agree equally well, or if ``init`` is an array.
    trade_off : float or None
        Weight of the centers of each task, from 0 to 1 (lambda in the paper, lambda_1 in that of SPMTC). 1
        clusters every task by itself, 0 uses only the shared centers. The default is 0.25 with non-negative
        parts and 0.75 with one-hot parts.
    n_components : int or None
        Dimension of the shared subspace (l in the paper); None uses n_clusters. With
        subspace="reconstruction", larger values have no effect.
    subspace : {"reconstruction", "span", "printed", "nonnegative"}
        How W is found. "reconstruction": the directions of the shared centers. "span": eigenvectors of the
        smallest eigenvalues in the span of the data. "printed": the same in the space of all features, as in
        the paper. "nonnegative": the multiplicative step of the public program. See Notes of
        :class:`LSSMTC`.
    init : "kmeans", "random" or array (n_samples, n_clusters)
        Initial P. "kmeans": k-means of the examples scaled to length 1, by turns of all tasks together and of
        each task.
    n_init : int
        Number of starts for each form of the parts. The one with the lowest objective is kept.
    max_iter : int
        Maximum number of rounds.
    tol : float
        The iteration stops when the objective falls by less than this share of itself.
    random_state : int, Generator or None
        Seed of the initial P.
    n_jobs : int or None
        Accepted for consistency with other methods, but without effect: linear algebra runs on one thread.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of each example in the order of the rows (of a list: one task after the other); 0 is the
        largest over all tasks.
    confidence_ : array (n_samples,)
        Membership of each example in its own cluster, in [0, 1]. It is not a probability.
    task_labels_ : list of arrays
        The labels of each task, in the order of ``tasks_``.
    tasks_ : array
        Sorted names of the tasks; their positions for a list.
    memberships_ : array (n_samples, n_clusters)
        Share of each center in an example; with one-hot parts, shares in inverse proportion to the squared
        distance from each center. Rows add up to 1 (to 0 for examples whose features are all 0).
    parts_ : array (n_samples, n_clusters)
        P, with non-negative parts scaled so that the centers have length 1 on average.
    preprocess_ : str
        How features were prepared.
    start_agreement_ : dict
        Mean adjusted Rand index, within tasks, between the labels from different starts, for each form of the
        parts; the form with the higher one was kept. Only with ``parts="auto"`` and no array as ``init``.
    subspace_ : array (n_features, n_components)
        The shared subspace, W.
    centers_ : array (n_clusters, n_components)
        Shared centers in the subspace, M'.
    task_centers_ : list of arrays (n_clusters, n_features)
        Centers of each task, M^t'.
    n_clusters_ : int
        Number of clusters.
    cluster_sizes_ : array (n_clusters,)
        Number of examples in each cluster, over all tasks.
    n_features_in_ : int
        Number of features in ``fit``.
    history_ : list of dict
        One entry per round: ``stage``, ``share`` of the examples that are included, and ``objective``.
    n_iter_ : int
        Number of rounds.
    converged_ : bool
        Whether the last iteration ended before ``max_iter``.
    n_restarts_ : int
        Number of times that an empty cluster was started again.
    messages_ : list of str
        Warnings of ``fit``. Empty if there were none.
    """

    n_clusters: NClusters = field(default=cast(int, None), kw_only=False)

    _steps = "rounds"

    labels_: ClassVar[np.ndarray]
    confidence_: ClassVar[np.ndarray]
    tasks_: ClassVar[np.ndarray]
    task_labels_: ClassVar[list[np.ndarray]]
    memberships_: ClassVar[np.ndarray]
    parts_: ClassVar[np.ndarray]
    n_features_in_: ClassVar[int]
    preprocess_: ClassVar[str]

    # The closed part ---------------------------------------------------------------------------------------

    @final
    def fit(self: Fitted, X: Any, y: Any = None, *, task: Any = None) -> Fitted:
        """Cluster the examples of every task.

        Parameters
        ----------
        X : (n_samples, n_features) array, data frame or sparse matrix; or a list of them, one per task
            All tasks have the same features.
        y : ignored
            Exists for compatibility with scikit-learn.
        task : array (n_samples,), optional
            The task of each row of X, any values; not to be given with a list. Without it, one matrix is one
            task.
        """
        check_n_clusters(self.n_clusters, type(self).__name__, "cs.choose_k(X) estimates one")
        self._check_counts()
        parameters = check_parameters(self)
        tasks = gather(X, task)
        check_sizes(tasks, self.n_clusters)
        rng = make_rng(parameters.get("random_state"))
        n, d = tasks.X.shape
        what = f"{type(self).__name__} on {n} examples with {d} features"
        remedy = "use subspace='reconstruction', a sparse X, or fewer features"
        with refusing(what, remedy), one_blas_thread():
            name = parameters["preprocess"]
            name = chosen(tasks.X) if name == "auto" else name
            Xs = tasks.split(tasks.X)
            preparations = [learn(name, own) for own in Xs]
            tasks = tasks.of([prepared.apply(own) for prepared, own in zip(preparations, Xs)])
            solution = with_parameters(self, parameters)._fit(tasks, rng)
            self._store(solution, tasks, preparations)
        return self

    def _fit(self, tasks: Tasks, rng: np.random.Generator) -> TaskSolution:
        raise NotImplementedError

    @final
    def fit_predict(self, X: Any, y: Any = None, *, task: Any = None) -> np.ndarray:
        """Cluster the examples and return the cluster of each, in the order of the rows."""
        return self.fit(X, y, task=task).labels_

    def _check_counts(self) -> None:
        if isinstance(self.n_clusters, (list, tuple, np.ndarray, dict)):
            raise InputError(
                f"n_clusters={self.n_clusters!r}: every task gets the same number of clusters, because they "
                f"share their centers. Give one whole number, or fit tasks with other numbers by themselves."
            )

    @final
    def _store(self, solution: TaskSolution, tasks: Tasks, preparations: list[Preparation]) -> None:
        c, back = self.n_clusters, np.argsort(tasks.order)
        placed = [own.place(X) for own, X in zip(solution.centers, tasks.split(tasks.X))]
        labels, shares = (np.concatenate(each) for each in zip(*placed))
        apart = tasks.pooled() if solution.pooled else tasks
        moved = sum(fill_empty(own, near, c) for own, near in zip(apart.split(labels), apart.split(shares)))
        if moved:
            said = (
                f"{type(self).__name__} left {moved} of the clusters of its tasks empty; each got the "
                f"example nearest to it, so that there are {c}. Choose fewer clusters, or another "
                f"random_state."
            )
            solution.messages = [*solution.messages, said]
            warn(said)
        if not solution.centers[0].one_hot and (said := _undecided(shares, c, type(self).__name__)):
            solution.messages = [*solution.messages, said]
            warn(said)
        self._preparations = preparations
        by_size = np.argsort(-np.bincount(labels, minlength=c), kind="stable")
        labels = np.argsort(by_size)[labels]
        self._centers = [
            own.reordered(by_size, largest=int(np.bincount(found).argmax()))
            for own, found in zip(solution.centers, tasks.split(labels))
        ]
        labels, memberships = labels[back], shares[back][:, by_size]
        learned = {
            "labels": labels,
            "n_clusters": c,
            "cluster_sizes": np.bincount(labels, minlength=c),
            "task_labels": [labels[np.sort(rows)] for rows in tasks.rows],
            "tasks": np.array(tasks.names),
            "memberships": memberships,
            "confidence": memberships[np.arange(labels.size), labels],
            "parts": solution.parts[back][:, by_size],
            "n_features_in": tasks.X.shape[1],
            "preprocess": preparations[0].name,
        }
        learned |= {name: value[..., back] for name, value in solution.per_example.items()}
        learned |= {
            name: [each[by_size] for each in value] if isinstance(value, list) else value[by_size]
            for name, value in solution.per_center.items()
        }
        keep(self, solution, learned)

    # What users do next ------------------------------------------------------------------------------------

    @one_blas_thread()
    def predict(self, X: Any, task: Any = None) -> np.ndarray:
        """Predict the cluster of new examples of the tasks of ``fit``.

        Parameters
        ----------
        X : (n, n_features) array or sparse matrix, or a list with one matrix for each task of ``fit``
        task : array (n,), or one value for all rows
            The task of each row. Required if ``fit`` had more than one task.
        """
        check_is_fitted(self, "labels_")
        table, rows = rows_by_task(X, task, self.tasks_, self.n_features_in_)
        labels = np.empty(table.shape[0], np.int64)
        for own, prepared, places in zip(self._centers, self._preparations, rows):
            if places.size:
                labels[places] = own.place(prepared.apply(table[places]))[0]
        return labels

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _undecided(shares: np.ndarray, c: int, name: str) -> str:
    """The warning that memberships hardly tell clusters apart; empty if they do."""
    shares = shares[shares.any(axis=1)]
    if c < 2 or not len(shares):
        return ""
    top = float(shares.max(axis=1).mean())
    if top - 1 / c >= _UNDECIDED * (1 - 1 / c):
        return ""
    return (
        f"The largest membership of an example is {top:.2f} on average, near 1 / n_clusters = {1 / c:.2f}: "
        f"with non-negative parts the objective of {name} hardly tells these clusters apart. Use "
        f"parts='one-hot' where the method has it, or k-means."
    )
