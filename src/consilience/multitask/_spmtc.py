"""Self-paced multi-task clustering: the model of ``_model``, learned from easy examples first.

    minimize  l1 sum_t || (X^t - M^t P^t') V^t ||^2 + (1 - l1) sum_t || (W' X^t - M P^t') V^t ||^2 - sum_t
    f(l2^t, V^t)
    over M^t, M, P^t >= 0, W' W = I, v^t in [0, 1]                                             (7)

    v       hard_weights, soft_weights of the losses of the examples                           (11), (13)

At each stage the weights v are set by the losses, with the age l2^t that lets a given share of each task in;
then M, M^t, P and W are updated with these weights. Symbols, shapes and updates are those of ``_model``.

References
----------
Y. Ren, X. Que, D. Yao and Z. Xu, "Self-paced multi-task clustering", Neurocomputing 350, 2019.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.parameters import Choice, Integer, Real
from .._kernels.programs.self_paced import hard_weights, quantile_loss, shares, soft_weights
from ._base import BaseMultitask
from ._model import RULES, WARM_UP, make_model, run_stage, solution_of


def update_v(L: np.ndarray, share: float, *, weighting: str, inclusion: str, at_least: int = 1) -> np.ndarray:
    """Eq. (11) or (13) for one task, with the age at which that share of its examples is in.

    Soft weights have gamma = l2 / 2: full up to L = l2 / 3, none from l2 on. An example counts as in when its
    weight is full ("full") or when it is not zero ("any").
    """
    age = quantile_loss(L, share, at_least)
    if weighting == "hard":
        return hard_weights(L, age)
    # A weight above zero needs a loss below the age, hence the last digit.
    age = 3 * age * (1 + 1e-12) if inclusion == "full" else age * (1 + 1e-9)
    return soft_weights(L, age, age / 2)


class SPMTC(BaseMultitask):
    """Self-paced multi-task clustering (SPMTC): tasks share a subspace, and easy examples are learned first.

    As :class:`LSSMTC`, but the model is first fitted to the half of each task that it explains best, then to
    10% more at each stage until all examples are in. Hard and odd examples thus do not lead the early rounds
    astray, and the weights by stage tell which examples those are.

    Parameters
    ----------
    n_clusters : int
        Clusters of each task (c).
    weighting : {"soft", "hard"}
        Weights of the examples at a stage: between 0 and 1 by their losses (Eq. 13), or 0 and 1 (Eq. 11).
    trade_off : float in [0, 1]
        lambda_1: 1 clusters every task by itself, 0 by the shared centers alone.
    n_components : int or None
        Dimension of the shared subspace (l); None is n_clusters. The form "reconstruction" has no use for
        more.
    subspace : {"reconstruction", "span", "printed", "nonnegative"}
        What W is; see :class:`LSSMTC`.
    first_share, share_step : float
        Share of each task's examples that is in at the first stage, and how much more at each further one.
    inclusion : {"full", "any"}
        When an example with a soft weight counts as in: at full weight, or at any above zero. With "any" the
        last stage still holds hard examples near zero; with "full" it holds all at one.
    weight_power : {1, 2}
        An example weighs v^weight_power in the updates. With 1, weights and updates minimize one objective;
        with 2 they are those printed in (16) to (25), which do not.
    warm_up : int
        Rounds of LSSMTC before the first stage.
    init : "random" or array (n_samples, n_clusters)
        Where P starts.
    max_iter : int
        Most rounds of a stage; the last stage has ten times as many.
    tol : float
        A stage ends when the objective falls by less than this share of itself.
    random_state : int, Generator or None
    n_jobs : int or None, default -1
        Taken as everywhere; the linear algebra runs on one thread, so that nothing depends on it.

    Attributes
    ----------
    labels_, task_labels_, tasks_, memberships_, confidence_, subspace_, centers_, task_centers_, parts_,
    history_, n_restarts_
        As in :class:`LSSMTC`.
    example_weights_ : array (n_stages, n_samples)
        v of every example at every stage.
    shares_ : array (n_stages,)
        Share of examples in at every stage.
    entry_stage_ : array (n_samples,)
        The stage from which on an example has full weight: 0 is easy; ``n_stages`` means never.

    Notes
    -----
    Cost as :class:`LSSMTC`, over warm_up + n_stages * max_iter rounds at most. The objective falls within a
    stage, not from stage to stage, where its weights change.

    **Differences from the paper.** Those of :class:`LSSMTC`; and, for soft weights: (8) and (9) weigh the
    loss of an example by v, (7) by v^2, and the printed v minimizes the first only, so v is the default.
    "Half of the examples in" is read as half at full weight, because otherwise the last stage, in which all
    examples are to be in, leaves the hardest out again.

    References
    ----------
    Y. Ren, X. Que, D. Yao and Z. Xu, "Self-paced multi-task clustering", Neurocomputing 350, 2019.

    Examples
    --------
    >>> import numpy as np, consilience as cs
    >>> X = np.array([[5, 1, 0, 0], [4, 2, 0, 0], [0, 0, 3, 3], [0, 1, 4, 2], [3, 3, 0, 0], [0, 0, 1, 6], [0, 0, 2, 5.0]])
    >>> task = ["a", "a", "a", "a", "b", "b", "b"]
    >>> model = cs.SPMTC(n_clusters=2, weighting="soft", random_state=0).fit(X, task=task)
    >>> model.labels_.tolist()
    [1, 1, 0, 0, 1, 0, 0]
    >>> model.predict([[9, 1, 0, 0]], task="b").tolist()
    [1]
    """

    _constraints = {
        **RULES,
        "trade_off": Real(0, 1),
        "weighting": Choice("soft", "hard"),
        "first_share": Real(0, 1, open_low=True),
        "share_step": Real(1e-4, 1),  # each step is a stage: a smaller one would never end
        "inclusion": Choice("full", "any"),
        "weight_power": Integer(1, 2),
        "warm_up": Integer(1),
    }
    _test_params = [{}, {"weighting": "hard"}]

    subspace_: np.ndarray
    centers_: np.ndarray
    task_centers_: list[np.ndarray]
    n_restarts_: int
    example_weights_: np.ndarray
    shares_: np.ndarray
    entry_stage_: np.ndarray

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        weighting: str = "soft",
        trade_off: float = 0.25,
        n_components: int | None = None,
        subspace: str = "reconstruction",
        first_share: float = 0.5,
        share_step: float = 0.1,
        inclusion: str = "full",
        weight_power: int = 1,
        warm_up: int = WARM_UP,
        init: Any = "random",
        max_iter: int = 50,
        tol: float = 1e-5,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ):
        self.n_clusters = n_clusters
        self.weighting = weighting
        self.trade_off = trade_off
        self.n_components = n_components
        self.subspace = subspace
        self.first_share = first_share
        self.share_step = share_step
        self.inclusion = inclusion
        self.weight_power = weight_power
        self.warm_up = warm_up
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, tasks, rng):
        model = make_model(self, tasks, rng, self.trade_off)
        history: list[dict] = []
        run_stage(model, history, 0, 1.0, self.warm_up, self.tol)
        model.align()
        stages = shares(self.first_share, self.share_step)
        weights = []
        for stage, share in enumerate(stages, 1):
            vs = [
                update_v(
                    L, share, weighting=self.weighting, inclusion=self.inclusion, at_least=self.n_clusters
                )
                for L in model.losses()
            ]
            model.weigh([v**self.weight_power for v in vs])
            # The stages before are ways to a start; only the last is to converge.
            most = self.max_iter if share < 1 else 10 * self.max_iter
            converged = run_stage(model, history, stage, share, most, self.tol)
            weights.append(np.concatenate(vs))
        solution = solution_of(model, history, converged, self.tol)
        v = np.array(weights)
        # The stage after the last one below full weight.
        behind = len(stages) - np.argmax(v[::-1] < 1, axis=0)
        entry = np.where((v >= 1).all(axis=0), 0, behind)
        solution.per_example = {"example_weights": v, "entry_stage": entry}
        solution.extra = {**solution.extra, "shares": np.array(stages)}
        return solution
