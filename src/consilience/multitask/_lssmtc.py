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

from typing import Any

import numpy as np

from .._base.parameters import Real
from ._base import BaseMultitask
from ._model import RULES, WARM_UP, make_model, run_stage, solution_of


class LSSMTC(BaseMultitask):
    """Multi-task clustering with a shared subspace (LSSMTC): every example counts from the start.

    Related tasks (with the same features, and examples from different sources) are clustered together. Each
    has its own centers, and all have centers in a shared subspace, so that a task with little evidence
    benefits from the others. Cluster j of one task corresponds to cluster j of every other task.

    Parameters
    ----------
    n_clusters : int
        Number of clusters of each task (c in the paper).
    trade_off : float in [0, 1]
        Weight of the centers of each task (lambda in the paper). 1 clusters every task by itself, 0 uses only
        the shared centers.
    n_components : int or None
        Dimension of the shared subspace (l in the paper); None uses n_clusters. With
        subspace="reconstruction", larger values have no effect.
    subspace : {"reconstruction", "span", "printed", "nonnegative"}
        How W is found. "reconstruction": the directions of the shared centers. "span": eigenvectors of the
        smallest eigenvalues in the span of the data. "printed": the same in the space of all features, as in
        the paper. "nonnegative": the multiplicative step of the public program. See Notes.
    init : "random" or array (n_samples, n_clusters)
        Initial P.
    max_iter : int
        Maximum number of rounds.
    tol : float
        The iteration stops when the objective falls by less than this share of itself.
    random_state : int, Generator or None
        Seed of the random initial P.
    n_jobs : int or None, default -1
        Accepted for consistency with other methods, but without effect: linear algebra runs on one thread.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of each example in the order of the rows (of a list: one task after the other); 0 is the
        largest over all tasks.
    task_labels_ : list of arrays
        The labels of each task, in the order of ``tasks_``.
    tasks_ : array
        Sorted names of the tasks; their positions for a list.
    memberships_ : array (n_samples, n_clusters)
        Share of each center in an example. Rows add up to 1 (to 0 for examples whose features are all 0).
    confidence_ : array (n_samples,)
        Membership of each example in its own cluster, in [0, 1]. It is not a probability.
    subspace_ : array (n_features, n_components)
        The shared subspace, W.
    centers_ : array (n_clusters, n_components)
        Shared centers in the subspace, M'.
    task_centers_ : list of arrays (n_clusters, n_features)
        Centers of each task, M^t'.
    parts_ : array (n_samples, n_clusters)
        P, scaled so that the centers have length 1 on average.
    history_ : list of dict
        One entry per round: ``stage``, ``share`` of the examples that are included, and ``objective``.
    n_restarts_ : int
        Number of times that an empty cluster was started again.

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

    _constraints = {**RULES, "trade_off": Real(0, 1)}

    subspace_: np.ndarray
    centers_: np.ndarray
    task_centers_: list[np.ndarray]
    n_restarts_: int

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        trade_off: float = 0.25,
        n_components: int | None = None,
        subspace: str = "reconstruction",
        init: Any = "random",
        max_iter: int = 300,
        tol: float = 1e-5,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ):
        self.n_clusters = n_clusters
        self.trade_off = trade_off
        self.n_components = n_components
        self.subspace = subspace
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, tasks, rng):
        model = make_model(self, tasks, rng, self.trade_off)
        history: list[dict] = []
        converged = run_stage(model, history, 0, 1.0, min(WARM_UP, self.max_iter), self.tol)
        model.align()
        if (left := self.max_iter - len(history)) > 0:
            converged = run_stage(model, history, 0, 1.0, left, self.tol)
        return solution_of(model, history, converged, self.tol)
