"""Multi-task clustering with a shared subspace: the model of ``_model`` with every weight one.

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

    Related tasks (the same features, examples from different sources) are clustered together: each has
    centers of its own, and all have centers in one subspace, so that a task with little evidence leans on the
    others. Cluster j of one task corresponds to cluster j of every other.

    Parameters
    ----------
    n_clusters : int
        Clusters of each task (c).
    trade_off : float in [0, 1]
        Weight of the tasks' own centers (lambda in the paper): 1 clusters every task by itself, 0 by the
        shared centers alone.
    n_components : int or None
        Dimension of the shared subspace (l); None is n_clusters. The form "reconstruction" has no use for
        more.
    subspace : {"reconstruction", "span", "printed", "nonnegative"}
        What W is: the directions of the shared centers; the smallest eigenvectors in the span of the data;
        the same in the space of all features, as printed; or the multiplicative step of the public program.
        See Notes.
    init : "random" or array (n_samples, n_clusters)
        Where P starts.
    max_iter : int
        Most rounds.
    tol : float
        Stop when the objective falls by less than this share of itself.
    random_state : int, Generator or None
    n_jobs : int or None, default -1
        Taken as everywhere; the linear algebra runs on one thread, so that nothing depends on it.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of each example in the order of the rows (of a list: one task after the other); 0 is the
        largest over all tasks.
    task_labels_ : list of arrays
        The same by task, in the order of ``tasks_``.
    tasks_ : array
        Names of the tasks, sorted; positions for a list.
    memberships_ : array (n_samples, n_clusters)
        Share of each center in an example; rows sum to 1 (to 0 for examples without features).
    confidence_ : array (n_samples,)
        Membership in the own cluster.
    subspace_ : array (n_features, n_components)
        W.
    centers_ : array (n_clusters, n_components)
        Shared centers in the subspace (M').
    task_centers_ : list of arrays (n_clusters, n_features)
        Centers of each task (M^t').
    parts_ : array (n_samples, n_clusters)
        P, scaled so that the centers have length one on average.
    history_ : list of dict
        One entry a round: ``stage``, ``share`` of examples in, and ``objective``.
    n_restarts_ : int
        How often an emptied cluster was started anew.

    Notes
    -----
    Time: two products with X and O((n + d) c^2) a round with "reconstruction" and "nonnegative"; "span" adds
    one eigendecomposition of order min(n, d) for every set of weights, "printed" one of order d every round.
    A sparse X stays sparse; beside it O((n + d) (c + l)) memory, and with "span" 24 min(n, d)^2 bytes.

    Centers combine without a constant: features with a large common offset should be centered first.

    The objective falls in every round with "reconstruction" and "span". Labels do not depend on the order of
    examples or tasks, nor on whether X is sparse; equal examples of a task get equal labels unless an empty
    cluster had to be filled.

    **Differences from the paper.** The printed W minimizes ``|W'X - M P'|`` with W'W = I, which it does by
    looking where the data hardly vary: with more features than examples W'X vanishes, and in the span of the
    data W reproduces any P exactly, so that the shared term carries nothing from task to task. The default
    minimizes ``|X - W M P'|`` instead, which adds the variance that W leaves out; M and P keep their updates.
    Labels are read off the best P for the final centers, each column weighted by the length of its center,
    because the scale of a column of P is arbitrary. Emptied clusters restart from the worst explained
    examples, a singular P'P is lifted, the clusters of the tasks are matched to each other after 20 rounds,
    and the start of P depends on the example, not on its position.

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
