"""Self-paced multi-task clustering: each task has its own centres, all share a subspace, easy examples come first.

    minimise  l1 sum_t || (X^t - M^t P^t') V^t ||^2 + (1 - l1) sum_t || (W' X^t - M P^t') V^t ||^2 - sum_t f(l2^t, V^t)
    over M^t, M, P^t >= 0, W' W = I, v^t in [0, 1]                                             (7)

Examples are columns in print and rows here: x_i is row i of X^t (n_t, d). P^t (n_t, c) parts of the examples, M^t (d, c)
centres of task t, W (d, l) shared subspace, M (l, c) shared centres, V = diag(v) weights of examples, l1 the trade-off,
l2^t the age of task t. With u the weight of an example in (7) (v, or v^2 as printed):

    v       hard_weights, soft_weights of the losses                                           (11), (13)
    M       = W' X' U P (P' U P)^-1                                                            (16)
    M^t     = X^t' U P^t (P^t' U P^t)^-1                                                       (18)
    P_ij   <- P_ij sqrt( [A+ + P B-]_ij / [A- + P B+]_ij )                                     (22)
              A = l1 X^t M^t + (1 - l1) X^t W M,    B = l1 M^t' M^t + (1 - l1) M' M            (21)
    W       see _subspaces                                                                     (25)

A needs X only through one product with the (d, c) matrix l1 M^t + (1 - l1) W M, and the sums over examples are
one product more: two passes over the non-zeros of X are a round.

References
----------
Y. Ren, X. Que, D. Yao and Z. Xu, "Self-paced multi-task clustering", Neurocomputing 350, 2019.
Q. Gu and J. Zhou, "Learning the shared subspace for multi-task clustering and transductive transfer
classification", ICDM 2009 (LSSMTC).
T. Li, S. Ma and M. Ogihara, "Document clustering via adaptive subspace iteration", SIGIR 2004 (ASI).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from ...errors import InputError
from ...kernels.pacing import hard_weights, quantile_loss, shares, soft_weights
from ...validation import Choice, Flag, Integer, Nothing, Real, Rule
from ._base import BaseMultitask, Centres, Solution, Tasks, best_parts, draw_parts
from ._subspaces import FORMS, PROGRAM_EPSILON, divide, make_form, squares

# The updates -----------------------------------------------------------------------------------------------


def losses(own: np.ndarray, A: np.ndarray, B: np.ndarray, P: np.ndarray) -> np.ndarray:
    """(n,) what each example costs in (7): l1 |x - M^t p|^2 + (1 - l1) |W'x - M p|^2, expanded.

    ``own`` (n,) is l1 |x|^2 + (1 - l1) |W'x|^2, A and B are those of (21).
    """
    cost = own - 2 * np.einsum("ij,ij->i", A, P) + np.einsum("ij,ij->i", P @ B, P)
    return np.maximum(cost, 0.0)  # rounding can take an example that is explained in full below zero


def update_P(A: np.ndarray, B: np.ndarray, P: np.ndarray, epsilon: float = 0.0) -> np.ndarray:
    """Eq. (22). The weight of an example multiplies numerator and denominator alike and cancels, so that
    examples that are out follow the centres, and their losses say when to let them in."""
    numerator = np.maximum(A, 0) + P @ np.maximum(-B, 0)
    denominator = np.maximum(-A, 0) + P @ np.maximum(B, 0) + epsilon
    # Both are zero for an example without features: it has no part in any centre.
    ratio = np.divide(numerator, denominator, out=np.zeros_like(P), where=denominator > 0)
    return P * np.sqrt(ratio)


def update_v(L: np.ndarray, share: float, *, weighting: str, inclusion: str, at_least: int = 1) -> np.ndarray:
    """Eq. (11) or (13) for one task, with the age at which that share of its examples is in.

    Soft weights have gamma = l2 / 2: full up to L = l2 / 3, none from l2 on. An example counts as in when its weight is
    full ("full") or when it is not zero ("any").
    """
    age = quantile_loss(L, share, at_least)
    if weighting == "hard":
        return hard_weights(L, age)
    # A weight above zero needs a loss below the age, hence the last digit.
    age = 3 * age * (1 + 1e-12) if inclusion == "full" else age * (1 + 1e-9)
    return soft_weights(L, age, age / 2)


def cluster_means(X: Any, own: Centres, P: np.ndarray) -> np.ndarray:
    """(d, c) means of the examples by their largest membership; zero for an empty cluster."""
    onto = (own.memberships(P).argmax(axis=1)[:, None] == np.arange(P.shape[1])).astype(float)
    return np.asarray(X.T @ onto) / np.maximum(onto.sum(axis=0), 1)


@dataclass
class Model:
    """The unknowns of (7), and the sums over examples that the next updates start from."""

    Xs: list  #: T matrices (n_t, d)
    Ps: list[np.ndarray]  #: T matrices (n_t, c)
    form: Any  #: how W is found
    trade_off: float
    epsilon: float = 0.0
    us: list[np.ndarray] = field(default_factory=list)  #: T weights (n_t,)
    W: np.ndarray = field(default_factory=lambda: np.empty(0))
    M: np.ndarray = field(default_factory=lambda: np.empty(0))
    Ms: list[np.ndarray] = field(default_factory=list)
    restarts: int = 0

    def __post_init__(self) -> None:
        self.own = [squares(X) for X in self.Xs]
        self.weigh([np.ones(X.shape[0]) for X in self.Xs])
        self.W = self.form.start(sum(self.sums), sum(self.grams))

    def weigh(self, us: list[np.ndarray]) -> None:
        """Set the weights of the examples."""
        self.us = us
        self.form.weigh(np.concatenate(us))
        self._sum()

    def _sum(self) -> None:
        """X^t' U P^t and P^t' U P^t of every task; over all tasks they add up."""
        weighted = [u[:, None] * P for u, P in zip(self.us, self.Ps)]
        self.sums = [np.asarray(X.T @ p) for X, p in zip(self.Xs, weighted)]
        self.grams = [P.T @ p for P, p in zip(self.Ps, weighted)]

    def refresh_centres(self) -> None:
        """Eqs. (16) and (18)."""
        self.M = divide(self.W.T @ sum(self.sums), sum(self.grams))
        self.Ms = [divide(total, gram) for total, gram in zip(self.sums, self.grams)]

    def centres(self) -> list[Centres]:
        """What (21) needs of the centres, for each task."""
        l1 = self.trade_off
        shared, inner = self.W @ self.M, self.M.T @ self.M
        return [Centres(l1 * own + (1 - l1) * shared, l1 * own.T @ own + (1 - l1) * inner) for own in self.Ms]

    def bases(self) -> list[np.ndarray]:
        """l1 |x|^2 + (1 - l1) |W'x|^2 of every example."""
        if self.trade_off == 1:
            return self.own
        shared = self.form.own(self.W)
        ends = np.cumsum([0, *(own.size for own in self.own)])
        return [
            self.trade_off * own + (1 - self.trade_off) * shared[a:b]
            for own, a, b in zip(self.own, ends[:-1], ends[1:])
        ]

    def losses(self) -> list[np.ndarray]:
        """Losses of the examples of every task at the best centres for the P and W of now."""
        self.refresh_centres()
        return [
            losses(base, np.asarray(X @ own.combined), own.B, P)
            for base, X, own, P in zip(self.bases(), self.Xs, self.centres(), self.Ps)
        ]

    def round(self) -> float:
        """M, M^t, P, W, once each; returns (7) without its last term, as it was after M and M^t."""
        self.refresh_centres()
        total = 0.0
        for t, (own, base) in enumerate(zip(self.centres(), self.bases())):
            P = self.Ps[t]
            A = np.asarray(self.Xs[t] @ own.combined)
            L = losses(base, A, own.B, P)
            total += float(self.us[t] @ L)
            P = update_P(A, own.B, P, self.epsilon)
            self.Ps[t] = self._revived(P, own.B, L, self.us[t])
        self._sum()
        if self.trade_off < 1:
            self.W = self.form.update(sum(self.sums), sum(self.grams), self.Ps, self.W, self.M)
        return total

    def align(self) -> None:
        """Number the clusters of each task after those of the weightiest one, if that lowers (7).

        A random start may pair cluster 1 of one task with cluster 2 of another, and the updates do not lead out of that: the
        tasks' own terms do not depend on the numbers and scales of the columns of P, only the shared one does.
        The clusters as they stand are matched by their means, and P starts anew from these.
        """
        if len(self.Xs) == 1 or self.trade_off == 1 or self.epsilon:
            return
        value = sum(float(u @ L) for u, L in zip(self.us, self.losses()))
        kept = self.Ps, self.W
        means = [cluster_means(X, own, P) for X, own, P in zip(self.Xs, self.centres(), self.Ps)]
        lengths = [np.maximum(np.linalg.norm(mean, axis=0), np.finfo(float).tiny) for mean in means]
        first = int(np.argmax([own.sum() for own in self.own]))
        for t, mean in enumerate(means):
            likeness = (means[first] / lengths[first]).T @ (mean / lengths[t])
            means[t] = mean[:, linear_sum_assignment(-likeness)[1]]
        self.Ps = [best_parts(np.asarray(X @ mean), mean.T @ mean) for X, mean in zip(self.Xs, means)]
        if self._value_anew() >= value:
            self.Ps, self.W = kept
            self._sum()

    def _value_anew(self) -> float:
        """(7) without its last term, at the best W and centres for the P of now."""
        self._sum()
        self.W = self.form.update(sum(self.sums), sum(self.grams), self.Ps, self.W, self.M)
        return sum(float(u @ L) for u, L in zip(self.us, self.losses()))

    def _revived(self, P: np.ndarray, B: np.ndarray, L: np.ndarray, u: np.ndarray) -> np.ndarray:
        """P with every emptied cluster restarted from the examples of the task that are explained worst.

        A column of zeros stays zero under (22).
        """
        weight = (u @ P**2) * np.diag(B)
        if self.epsilon or self.restarts >= 10 * P.shape[1] or not weight.any():
            return P
        for j in np.flatnonzero(weight <= 1e-10 * weight.max()):
            worst = np.argsort(-(L * (u > 0)), kind="stable")[: max(1, len(L) // (4 * P.shape[1]))]
            P = P.copy()
            P[:, j] = 0.01 * P.mean()
            P[worst] = 0.1 * P[worst]
            P[worst, j] = P.max(axis=1).mean()
            self.restarts += 1
        return P


def starting_parts(init: Any, tasks: Tasks, c: int, rng: np.random.Generator) -> list[np.ndarray]:
    """P at the start, for each task: random, or as the user gives it (rows in the user's order)."""
    if isinstance(init, str):
        return tasks.split(draw_parts(tasks.X, c, rng))
    if isinstance(init, (list, tuple)):
        init = np.concatenate([np.asarray(part, dtype=float) for part in init])
    P = np.array(init, dtype=float)
    n = tasks.X.shape[0]
    if P.shape != (n, c) or not np.isfinite(P).all() or (P < 0).any():
        raise InputError(
            f"init has shape {P.shape}, {'with negative or non-finite numbers' if P.shape == (n, c) else f'not {(n, c)}'}: give one row "
            "of n_clusters non-negative numbers for each example, or 'random'."
        )
    return tasks.split(P[tasks.order])


def run_stage(model: Model, history: list[dict], stage: int, share: float, max_iter: int, tol: float) -> bool:
    """Rounds with fixed weights until (7) falls by no more than ``tol`` of itself; whether that happened."""
    before = None
    for _ in range(max_iter):
        value = model.round()
        history.append({"stage": stage, "share": share, "objective": value})
        if before is not None and before - value <= tol * abs(before):
            return True
        before = value
    return False


def solution_of(model: Model, history: list[dict], converged: bool, tol: float) -> Solution:
    """What was learned, with the columns of P and of the centres brought to a common scale."""
    model.refresh_centres()
    centres = model.centres()
    scale = np.sqrt(np.mean([np.diag(own.B) for own in centres], axis=0))
    scale[scale == 0] = 1.0
    last = [row["objective"] for row in history[-2:]]
    drop = (last[0] - last[-1]) / abs(last[0]) if last[0] else 0.0
    return Solution(
        [Centres(own.combined / scale, own.B / np.outer(scale, scale)) for own in centres],
        parts=np.concatenate(model.Ps) * scale,
        extra={"subspace": model.W, "n_restarts": model.restarts},
        per_cluster={"centers": (model.M / scale).T, "task_centers": [(own / scale).T for own in model.Ms]},
        history=history,
        converged=converged,
        shortfall=f"the objective still fell by {drop:.2g} of itself in the last round, more than tol={tol:g}; raise max_iter",
    )


# The estimators --------------------------------------------------------------------------------------------

#: Rounds before the clusters of the tasks are matched and, in SPMTC, the first stage begins.
WARM_UP = 20


class _Start(Rule):
    """Where P starts."""

    def accepts(self, value: Any) -> bool:
        return value == "random" if isinstance(value, str) else hasattr(value, "__len__")

    def __str__(self) -> str:
        return "'random' or an array (n_samples, n_clusters)"


_RULES: dict[str, Rule] = {
    "trade_off": Real(0, 1),
    "n_components": Nothing() | Integer(1),
    "subspace": Choice(*FORMS),
    "init": _Start(),
}


class LSSMTC(BaseMultitask):
    """Multi-task clustering with a shared subspace (LSSMTC): every example counts from the start.

    Related tasks (the same features, examples from different sources) are clustered together: each has centres of its own, and
    all have centres in one subspace, so that a task with little evidence leans on the others. Cluster j of one task
    corresponds to cluster j of every other.

    Parameters
    ----------
    n_clusters : int
        Clusters of each task (c).
    trade_off : float in [0, 1]
        Weight of the tasks' own centres (lambda in the paper): 1 clusters every task by itself, 0 by the shared centres alone.
    n_components : int or None
        Dimension of the shared subspace (l); None is n_clusters. The form "reconstruction" has no use for more.
    subspace : {"reconstruction", "span", "printed", "nonnegative"}
        What W is: the directions of the shared centres; the smallest eigenvectors in the span of the data; the same in the
        space of all features, as printed; or the multiplicative step of the public program. See Notes.
    init : "random" or array (n_samples, n_clusters)
        Where P starts.
    max_iter : int
        Most rounds.
    tol : float
        Stop when the objective falls by less than this share of itself.
    random_state : int, Generator or None
    n_jobs : int or None
        Threads of the linear algebra; None leaves them as they are.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of each example in the order of the rows (of a list: one task after the other); 0 is the largest over all tasks.
    task_labels_ : list of arrays
        The same by task, in the order of ``tasks_``.
    tasks_ : array
        Names of the tasks, sorted; positions for a list.
    memberships_ : array (n_samples, n_clusters)
        Share of each centre in an example; rows sum to 1 (to 0 for examples without features).
    confidence_ : array (n_samples,)
        Membership in the own cluster.
    subspace_ : array (n_features, n_components)
        W.
    centers_ : array (n_clusters, n_components)
        Shared centres in the subspace (M').
    task_centers_ : list of arrays (n_clusters, n_features)
        Centres of each task (M^t').
    parts_ : array (n_samples, n_clusters)
        P, scaled so that the centres have length one on average.
    history_ : list of dict
        Stage, share of examples in and objective of every round.
    n_restarts_ : int
        How often an emptied cluster was started anew.

    Notes
    -----
    Time: two products with X and O((n + d) c^2) a round with "reconstruction" and "nonnegative"; "span" adds one
    eigendecomposition of order min(n, d) for every set of weights, "printed" one of order d every round. A sparse X stays sparse;
    beside it O((n + d) (c + l)) memory, and with "span" 24 min(n, d)^2 bytes.

    Centres combine without a constant: features with a large common offset should be centred first.

    The objective falls in every round with "reconstruction" and "span". Labels do not depend on the order of examples or
    tasks, nor on whether X is sparse; equal examples of a task get equal labels unless an
    empty cluster had to be filled.

    **Differences from the paper.** The printed W minimises |W'X - M P'| with W'W = I, which it does by looking where the data hardly
    vary: with more features than examples W'X vanishes, and in the span of the data W reproduces any P exactly, so that the
    shared term carries nothing from task to task. The default minimises |X - W M P'| instead, which adds the variance that W
    leaves out; M and P keep their updates. Labels are read off the best P for the final centres, each
    column weighted by the length of its centre, because the scale of a column of P is arbitrary. Emptied clusters restart from the
    worst explained examples, a singular P'P is lifted, the clusters of the tasks are matched to each other after 20 rounds, and the
    start of P depends on the example, not on its position.

    References
    ----------
    Q. Gu and J. Zhou, "Learning the shared subspace for multi-task clustering and transductive transfer
    classification", ICDM 2009.

    Examples
    --------
    >>> import numpy as np, consilience as cs
    >>> one = np.array([[5, 1, 0, 0], [4, 2, 0, 0], [0, 0, 3, 3], [0, 1, 4, 2.0]])
    >>> two = np.array([[3, 3, 0, 0], [0, 0, 1, 6], [2, 4, 0, 0], [0, 0, 2, 5.0]])
    >>> model = cs.LSSMTC(n_clusters=2, random_state=0).fit([one, two])
    >>> bool((model.task_labels_[0] == model.task_labels_[1][[0, 2, 1, 3]]).all())
    True
    """

    constraints = _RULES

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        trade_off: float = 0.25,
        n_components: int | None = None,
        subspace: str = "reconstruction",
        init: Any = "random",
        max_iter: int = 300,
        tol: float = 1e-5,
        random_state: Any = None,
        n_jobs: int | None = None,
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

    def _learn(self, tasks, rng):
        model = make_model(self, tasks, rng, self.trade_off)
        history: list[dict] = []
        converged = run_stage(model, history, 0, 1.0, min(WARM_UP, self.max_iter), self.tol)
        model.align()
        if (left := self.max_iter - len(history)) > 0:
            converged = run_stage(model, history, 0, 1.0, left, self.tol)
        return solution_of(model, history, converged, self.tol)


class SPMTC(BaseMultitask):
    """Self-paced multi-task clustering (SPMTC): tasks share a subspace, and easy examples are learned first.

    As :class:`LSSMTC`, but the model is first fitted to the half of each task that it explains best, then to 10% more
    at each stage until all examples are in. Hard and odd examples thus do not lead the early rounds astray, and the weights
    by stage tell which examples those are.

    Parameters
    ----------
    n_clusters : int
        Clusters of each task (c).
    weighting : {"soft", "hard"}
        Weights of the examples at a stage: between 0 and 1 by their losses (Eq. 13), or 0 and 1 (Eq. 11).
    trade_off : float in [0, 1]
        lambda_1: 1 clusters every task by itself, 0 by the shared centres alone.
    n_components : int or None
        Dimension of the shared subspace (l); None is n_clusters. The form "reconstruction" has no use for more.
    subspace : {"reconstruction", "span", "printed", "nonnegative"}
        What W is; see :class:`LSSMTC`.
    first_share, share_step : float
        Share of each task's examples that is in at the first stage, and how much more at each further one.
    inclusion : {"full", "any"}
        When an example with a soft weight counts as in: at full weight, or at any above zero. With "any" the last stage
        still holds hard examples near zero; with "full" it holds all at one.
    weight_power : {1, 2}
        An example weighs v^weight_power in the updates. With 1, weights and updates minimise one objective; with 2 they are
        those printed in (16) to (25), which do not.
    warm_up : int
        Rounds of LSSMTC before the first stage.
    init : "random" or array (n_samples, n_clusters)
        Where P starts.
    max_iter : int
        Most rounds of a stage; the last stage has ten times as many.
    tol : float
        A stage ends when the objective falls by less than this share of itself.
    random_state : int, Generator or None
    n_jobs : int or None
        Threads of the linear algebra; None leaves them as they are.

    Attributes
    ----------
    labels_, task_labels_, tasks_, memberships_, confidence_, subspace_, centers_, task_centers_, parts_, history_, n_restarts_
        As in :class:`LSSMTC`.
    example_weights_ : array (n_stages, n_samples)
        v of every example at every stage.
    shares_ : array (n_stages,)
        Share of examples in at every stage.
    entry_stage_ : array (n_samples,)
        The stage from which on an example has full weight: 0 is easy; ``n_stages`` means never.

    Notes
    -----
    Cost as :class:`LSSMTC`, over warm_up + n_stages * max_iter rounds at most. The objective falls within a stage, not from stage
    to stage, where its weights change.

    **Differences from the paper.** Those of :class:`LSSMTC`; and, for soft weights: (8) and (9) weigh the loss of an example by v,
    (7) by v^2, and the printed v minimises the first only, so v is the default. "Half of the examples in" is read as half at full weight,
    because otherwise the last stage, in which all examples are to be in, leaves the hardest out again.

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

    constraints = {
        **_RULES,
        "weighting": Choice("soft", "hard"),
        "first_share": Real(0, 1, open_low=True),
        "share_step": Real(1e-4, 1),  # each step is a stage: a smaller one would never end
        "inclusion": Choice("full", "any"),
        "weight_power": Integer(1, 2),
        "warm_up": Integer(1),
    }

    def __init__(
        self,
        n_clusters: int = 2,
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
        n_jobs: int | None = None,
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

    def _learn(self, tasks, rng):
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
        behind = len(stages) - np.argmax(
            v[::-1] < 1, axis=0
        )  # the stage after the last one below full weight
        entry = np.where((v >= 1).all(axis=0), 0, behind)
        solution.per_stage = {"example_weights": v, "entry_stage": entry}
        solution.extra = {**solution.extra, "shares": np.array(stages)}
        return solution


class ASI(BaseMultitask):
    """Adaptive subspace iteration (ASI): clustering in a learned subspace, each task by itself or all as one.

    The shared term of :class:`LSSMTC` alone. It is the single-task baseline of multi-task clustering, and with ``pooled=True``
    the other one: forget about the tasks.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    pooled : bool
        Cluster the examples of all tasks as one set.
    n_components, subspace, init, max_iter, tol, random_state, n_jobs
        As in :class:`LSSMTC`.

    Attributes
    ----------
    labels_, task_labels_, tasks_, memberships_, confidence_, parts_, history_
        As in :class:`LSSMTC`; clusters of different tasks have nothing to do with each other unless pooled. A task of pooled
        examples may lack a cluster.
    task_subspaces_ : list of arrays (n_features, n_components)
        W of each task; the same one for all if pooled.
    task_centers_ : list of arrays (n_clusters, n_components)
        Centres in the subspace.

    References
    ----------
    T. Li, S. Ma and M. Ogihara, "Document clustering via adaptive subspace iteration", SIGIR 2004.

    Examples
    --------
    >>> import numpy as np, consilience as cs
    >>> X = np.array([[5, 1, 0, 0], [4, 2, 0, 0], [0, 0, 3, 3], [0, 1, 4, 2], [0, 0, 1, 6.0]])
    >>> cs.ASI(n_clusters=2, random_state=0).fit_predict(X).tolist()
    [1, 1, 0, 0, 0]
    """

    constraints = {**_RULES, "pooled": Flag()}

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        pooled: bool = False,
        n_components: int | None = None,
        subspace: str = "reconstruction",
        init: Any = "random",
        max_iter: int = 300,
        tol: float = 1e-5,
        random_state: Any = None,
        n_jobs: int | None = None,
    ):
        self.n_clusters = n_clusters
        self.pooled = pooled
        self.n_components = n_components
        self.subspace = subspace
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learn(self, tasks, rng):
        T = len(tasks.names)
        parts = starting_parts(self.init, tasks, self.n_clusters, rng)
        if self.pooled:
            found = [self._alone(tasks.pooled(), [np.concatenate(parts)])] * T
            return joined(found, np.array(found[0].parts), pooled=True)
        found = [self._alone(tasks.alone(t), [parts[t]]) for t in range(T)]
        return joined(found, np.concatenate([one.parts for one in found]), pooled=False)

    def _alone(self, tasks: Tasks, parts: list[np.ndarray]) -> Solution:
        form = make_form(self.subspace, tasks.X, self.n_components, self.n_clusters)
        model = Model([tasks.X], parts, form, 0.0, program_epsilon(self.subspace))
        history: list[dict] = []
        converged = run_stage(model, history, 0, 1.0, self.max_iter, self.tol)
        return solution_of(model, history, converged, self.tol)


def program_epsilon(subspace: str) -> float:
    """The public program guards its denominators by a constant."""
    return PROGRAM_EPSILON if subspace == "nonnegative" else 0.0


def make_model(estimator: Any, tasks: Tasks, rng: np.random.Generator, trade_off: float) -> Model:
    """The unknowns at the start."""
    c = estimator.n_clusters
    form = make_form(estimator.subspace, tasks.X, estimator.n_components, c)
    parts = starting_parts(estimator.init, tasks, c, rng)
    return Model(tasks.split(tasks.X), parts, form, trade_off, program_epsilon(estimator.subspace))


def joined(found: list[Solution], parts: np.ndarray, *, pooled: bool) -> Solution:
    """The solutions of tasks solved by themselves, as one."""
    apart = [found[0]] if pooled else found
    short = [one for one in apart if not one.converged]
    history = [{**row, "task": t} for t, one in enumerate(apart) for row in one.history]
    return Solution(
        [one.centres[0] for one in found],
        parts=parts,
        extra={
            "task_subspaces": [one.extra["subspace"] for one in found],
            "n_restarts": sum(one.extra["n_restarts"] for one in apart),
        },
        per_cluster={"task_centers": [one.per_cluster["centers"] for one in found]},
        history=history,
        converged=not short,
        shortfall=short[0].shortfall if short else "",
        pooled=pooled,
    )
