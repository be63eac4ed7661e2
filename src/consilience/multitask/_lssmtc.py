"""Multi-task clustering with a shared subspace: the model of ``_model`` with all weights 1.

    minimize  l1 sum_t || X^t - M^t P^t' ||^2 + (1 - l1) sum_t || W' X^t - M P^t' ||^2
    over M^t, M, P^t >= 0, W' W = I

Symbols, shapes and updates are those of ``_model``.

References
----------
Q. Gu and J. Zhou, "Learning the shared subspace for multi-task clustering and transductive transfer
classification", ICDM 2009.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from .._base.estimator import declared
from .._base.parameters import MaxIter, NJobs, Seed, Tol
from ._base import BaseMultitask, TaskSolution
from ._model import (
    WARM_UP,
    Init,
    Model,
    NComponents,
    NInit,
    Parts,
    Preprocess,
    Subspace,
    TradeOff,
    best_of,
    run_stage,
    solution_of,
)


@declared
class LSSMTC(BaseMultitask):
    """Multi-task clustering with a shared subspace (LSSMTC): every example counts from the start.

    Related tasks (with the same features, and examples from different sources) are clustered together. Each
    has its own centers, and all have centers in a shared subspace, so that a task with little evidence
    benefits from the others. Cluster j of one task corresponds to cluster j of every other task.

    Notes
    -----
    A round takes two products with X and O((n + d) c^2) time with "reconstruction" and "nonnegative"; "span"
    adds one eigendecomposition of order min(n, d) for every set of weights, "printed" one of order d in every
    round. A sparse X stays sparse. The fit takes O((n + d) (c + l)) memory besides X, and with "span" 24
    min(n, d)^2 bytes more.

    The model has no constant term: center features with a large common offset first.

    With "reconstruction" and "span", the objective falls in every round. Labels depend neither on the order
    of examples or tasks nor on whether X is sparse. Equal examples of a task get equal labels unless an empty
    cluster had to be filled.

    **Differences from the paper.** The published W minimizes ``|W'X - M P'|`` with W'W = I, and therefore
    consists of directions in which the data hardly vary: with more features than examples, W'X vanishes, and
    in the span of the data, W reproduces any P exactly, so that the shared term transfers nothing between
    tasks. The default minimizes ``|X - W M P'|`` instead, which adds the variance that W leaves out; the
    updates of M and P stay the same. Labels come from the best P for the final centers, with each column
    weighted by the length of its center, because the scale of a column of P is arbitrary. Empty clusters
    restart from the examples that are explained worst, a singular P'P is regularized, the clusters of the
    tasks are matched to each other after 20 rounds, and the initial P depends on the example, not on its
    position.

    References
    ----------
    Q. Gu and J. Zhou, "Learning the shared subspace for multi-task clustering and transductive transfer
    classification", ICDM 2009.

    Examples
    --------
    >>> import numpy as np, consilience as cs
    >>> one = np.array([[5, 1, 0, 0], [4, 2, 0, 0], [0, 0, 3, 3], [0, 1, 4, 2.0]])
    >>> two = np.array([[3, 3, 0, 0], [0, 0, 1, 6], [2, 4, 0, 0], [0, 0, 2, 5.0]])
    >>> model = cs.multitask.LSSMTC(n_clusters=2, random_state=0).fit([one, two])
    >>> bool((model.task_labels_[0] == model.task_labels_[1][[0, 2, 1, 3]]).all())
    True
    """

    preprocess: Preprocess = "auto"
    parts: Parts = "auto"
    trade_off: TradeOff = None
    n_components: NComponents = None
    subspace: Subspace = "reconstruction"
    init: Init = "kmeans"
    n_init: NInit = 4
    max_iter: MaxIter = 300
    tol: Tol = 1e-5
    random_state: Seed = None
    n_jobs: NJobs = -1

    subspace_: ClassVar[np.ndarray]
    centers_: ClassVar[np.ndarray]
    task_centers_: ClassVar[list[np.ndarray]]
    n_restarts_: ClassVar[int]
    start_agreement_: ClassVar[dict[str, float]]

    _test_params = [{}, {"parts": "one-hot"}, {"parts": "non-negative", "init": "random", "n_init": 1}]

    def _fit(self, tasks, rng):
        return best_of(self, tasks, rng, self._learn)

    def _learn(self, model: Model) -> TaskSolution:
        history: list[dict] = []
        converged = run_stage(model, history, 0, 1.0, min(WARM_UP, self.max_iter), self.tol)
        model.align()
        if (left := self.max_iter - len(history)) > 0:
            converged = run_stage(model, history, 0, 1.0, left, self.tol)
        return solution_of(model, history, converged, self.tol)
