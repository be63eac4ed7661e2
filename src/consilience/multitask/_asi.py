"""Adaptive subspace iteration: the shared term of ``_model`` alone, for each task or for all as one.

    minimize  || W' X - M P' ||^2    over M, P >= 0, W' W = I

Symbols, shapes and updates are those of ``_model``, with l1 = 0.

References
----------
T. Li, S. Ma and M. Ogihara, "Document clustering via adaptive subspace iteration", SIGIR 2004.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np

from .._base.estimator import declared
from .._base.parameters import Flag, MaxIter, NJobs, Seed, Tol
from ._base import BaseMultitask, TaskSolution
from ._model import (
    Init,
    Model,
    NComponents,
    Preprocess,
    Subspace,
    program_epsilon,
    run_stage,
    solution_of,
    starts,
)
from ._subspaces import make_form
from ._tasks import Tasks


@declared
class ASI(BaseMultitask):
    """Adaptive subspace iteration (ASI): clustering in a learned subspace, each task by itself or all as one.

    The method uses only the shared term of :class:`LSSMTC`. By default it is the single-task baseline of
    multi-task clustering; with ``pooled=True`` it is the baseline that ignores the tasks. Clusters of
    different tasks are unrelated unless ``pooled=True``, where a task may lack a cluster.

    Parameters
    ----------
    pooled : bool
        Whether to cluster the examples of all tasks as one set.

    Attributes
    ----------
    history_ : list of dict
        One entry per round: ``task``, ``stage``, ``share`` and ``objective``; see :class:`LSSMTC`.
    task_subspaces_ : list of arrays (n_features, n_components)
        W of each task; the same for all tasks if pooled.
    task_centers_ : list of arrays (n_clusters, n_components)
        Centers of each task in the subspace.

    References
    ----------
    T. Li, S. Ma and M. Ogihara, "Document clustering via adaptive subspace iteration", SIGIR 2004.

    Examples
    --------
    >>> import numpy as np, consilience as cs
    >>> X = np.array([[5, 1, 0, 0], [4, 2, 0, 0], [0, 0, 3, 3], [0, 1, 4, 2], [0, 0, 1, 6.0]])
    >>> cs.multitask.ASI(n_clusters=2, random_state=0).fit_predict(X).tolist()
    [1, 1, 0, 0, 0]
    """

    pooled: Annotated[bool, Flag()] = False
    preprocess: Preprocess = "auto"
    n_components: NComponents = None
    subspace: Subspace = "reconstruction"
    init: Init = "random"
    max_iter: MaxIter = 300
    tol: Tol = 1e-5
    random_state: Seed = None
    n_jobs: NJobs = -1

    task_subspaces_: ClassVar[list[np.ndarray]]
    task_centers_: ClassVar[list[np.ndarray]]

    _test_params = [{}, {"pooled": True}]

    def _fit(self, tasks, rng):
        T = len(tasks.names)
        parts = starts(self.init, tasks, self.n_clusters, rng, 1, one_hot=False)[0]
        if self.pooled:
            found = [self._alone(tasks.pooled(), [np.concatenate(parts)])] * T
            return joined(found, np.array(found[0].parts), pooled=True)
        found = [self._alone(tasks.alone(t), [parts[t]]) for t in range(T)]
        return joined(found, np.concatenate([one.parts for one in found]), pooled=False)

    def _alone(self, tasks: Tasks, parts: list[np.ndarray]) -> TaskSolution:
        form = make_form(self.subspace, tasks.X, self.n_components, self.n_clusters)
        model = Model([tasks.X], parts, form, 0.0, program_epsilon(self.subspace))
        history: list[dict] = []
        converged = run_stage(model, history, 0, 1.0, self.max_iter, self.tol)
        return solution_of(model, history, converged, self.tol)


def joined(found: list[TaskSolution], parts: np.ndarray, *, pooled: bool) -> TaskSolution:
    """One solution from those of tasks that were solved by themselves."""
    apart = [found[0]] if pooled else found
    short = [one for one in apart if not one.converged]
    history = [{**row, "task": t} for t, one in enumerate(apart) for row in one.history]
    return TaskSolution(
        [one.centers[0] for one in found],
        parts=parts,
        extra={
            "task_subspaces": [one.extra["subspace"] for one in found],
            "n_restarts": sum(one.extra["n_restarts"] for one in apart),
        },
        per_center={"task_centers": [one.per_center["centers"] for one in found]},
        history=history,
        converged=not short,
        shortfall=short[0].shortfall if short else "",
        pooled=pooled,
    )
