"""Self-paced multi-task clustering: the model of ``_model``, learned from easy examples first.

    minimize  l1 sum_t || (X^t - M^t P^t') V^t ||^2 + (1 - l1) sum_t || (W' X^t - M P^t') V^t ||^2
        - sum_t f(l2^t, V^t)
    over M^t, M, P^t >= 0, W' W = I, v^t in [0, 1]                                             (7)

    v       hard_weights, soft_weights of the losses of the examples                           (11), (13)

At each stage the weights v are set by the losses, with the age l2^t that includes a given share of each task;
then M, M^t, P and W are updated with these weights. Symbols, shapes and updates are those of ``_model``.

References
----------
Y. Ren, X. Que, D. Yao and Z. Xu, "Self-paced multi-task clustering", Neurocomputing 350, 2019.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np

from .._base.estimator import declared
from .._base.parameters import Choice, Integer, MaxIter, NJobs, Real, Seed, Tol
from .._kernels.programs.self_paced import hard_weights, quantile_loss, shares, soft_weights
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


def update_v(L: np.ndarray, share: float, *, weighting: str, inclusion: str, at_least: int = 1) -> np.ndarray:
    """Eq. (11) or (13) for one task, with the age at which that share of its examples is included.

    Soft weights have gamma = l2 / 2: full up to L = l2 / 3, and 0 from l2 on. An example counts as included
    if its weight is full ("full") or not 0 ("any").
    """
    age = quantile_loss(L, share, at_least)
    if weighting == "hard":
        return hard_weights(L, age)
    # A weight above 0 needs a loss below the age, hence the small factor.
    age = 3 * age * (1 + 1e-12) if inclusion == "full" else age * (1 + 1e-9)
    return soft_weights(L, age, age / 2)


@declared
class SPMTC(BaseMultitask):
    """Self-paced multi-task clustering (SPMTC): tasks share a subspace, and easy examples are learned first.

    The model is that of :class:`LSSMTC`, but it is first fitted to the half of each task that it explains
    best, then to 10% more at each stage until all examples are included. Hard and unusual examples thus do
    not mislead the early rounds, and the weights by stage tell which examples those are.

    Parameters
    ----------
    weighting : {"soft", "hard"}
        Weights of the examples at a stage: from 0 to 1 by their losses ("soft", Eq. 13), or 0 and 1 ("hard",
        Eq. 11).
    first_share : float
        Share of the examples of each task that is included at the first stage.
    share_step : float
        How much is added to this share at each further stage.
    inclusion : {"full", "any"}
        When an example with a soft weight counts as included: with full weight, or with any weight above 0.
        With "any", hard examples still have weights near 0 at the last stage; with "full", all weights are 1.
    weight_power : {1, 2}
        An example has the weight v^weight_power in the updates. With 1, weights and updates minimize the same
        objective; with 2 they are those published in (16) to (25), which do not.
    warm_up : int
        Number of rounds of LSSMTC before the first stage.
    max_iter : int
        Maximum number of rounds of each stage; ten times as many for the last stage.
    tol : float
        A stage ends when the objective falls by less than this share of itself.

    Attributes
    ----------
    example_weights_ : array (n_stages, n_samples)
        v of every example at every stage.
    shares_ : array (n_stages,)
        Share of the examples that is included at every stage.
    entry_stage_ : array (n_samples,)
        The stage from which on an example has full weight: 0 for easy examples; ``n_stages`` means never.

    Notes
    -----
    A round takes as much time as in :class:`LSSMTC`, and there are at most warm_up + (n_stages + 9) *
    max_iter rounds. The objective falls within a stage, but not from stage to stage, because its weights
    change.

    **Differences from the paper.** Those of :class:`LSSMTC`. Moreover, for soft weights, (8) and (9) weight
    the loss of an example by v, but (7) by v^2. The published v minimizes only the former, so v is the
    default. "Half of the examples are included" is read as half at full weight, because otherwise the last
    stage, which is to include all examples, would leave the hardest out again.

    References
    ----------
    Y. Ren, X. Que, D. Yao and Z. Xu, "Self-paced multi-task clustering", Neurocomputing 350, 2019.

    Examples
    --------
    >>> import numpy as np, consilience as cs
    >>> one = [[5, 1, 0, 0], [4, 2, 0, 0], [0, 0, 3, 3], [0, 1, 4, 2]]
    >>> X = np.array([*one, [3, 3, 0, 0], [0, 0, 1, 6], [0, 0, 2, 5.0]])
    >>> task = ["a", "a", "a", "a", "b", "b", "b"]
    >>> model = cs.SPMTC(n_clusters=2, weighting="soft", random_state=0).fit(X, task=task)
    >>> model.labels_.tolist()
    [1, 1, 0, 0, 1, 0, 0]
    >>> model.predict([[9, 1, 0, 0]], task="b").tolist()
    [1]
    """

    preprocess: Preprocess = "auto"
    parts: Parts = "auto"
    weighting: Annotated[str, Choice("soft", "hard")] = "soft"
    trade_off: TradeOff = None
    n_components: NComponents = None
    subspace: Subspace = "reconstruction"
    first_share: Annotated[float, Real(0, 1, open_low=True)] = 0.5
    # Each step is a stage: with a smaller one, the fit would never end.
    share_step: Annotated[float, Real(1e-4, 1)] = 0.1
    inclusion: Annotated[str, Choice("full", "any")] = "full"
    weight_power: Annotated[int, Integer(1, 2)] = 1
    warm_up: Annotated[int, Integer(1)] = WARM_UP
    init: Init = "kmeans"
    n_init: NInit = 4
    max_iter: MaxIter = 50
    tol: Tol = 1e-5
    random_state: Seed = None
    n_jobs: NJobs = -1

    subspace_: ClassVar[np.ndarray]
    centers_: ClassVar[np.ndarray]
    task_centers_: ClassVar[list[np.ndarray]]
    n_restarts_: ClassVar[int]
    start_agreement_: ClassVar[dict[str, float]]
    example_weights_: ClassVar[np.ndarray]
    shares_: ClassVar[np.ndarray]
    entry_stage_: ClassVar[np.ndarray]

    _test_params = [
        {},
        {"weighting": "hard"},
        {"parts": "one-hot"},
        {"parts": "non-negative", "init": "random"},
    ]

    def _fit(self, tasks, rng):
        return best_of(self, tasks, rng, self._learn)

    def _learn(self, model: Model) -> TaskSolution:
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
            # Earlier stages only give starting values; the last one has to converge.
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
