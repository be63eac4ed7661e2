"""The model of the multi-task methods: each task has its own centers, and all share a subspace.

    minimize  l1 sum_t || (X^t - M^t P^t') V^t ||^2 + (1 - l1) sum_t || (W' X^t - M P^t') V^t ||^2
        - sum_t f(l2^t, V^t)
    over M^t, M, P^t >= 0, W' W = I, v^t in [0, 1]                                             (7)

Examples are columns in print and rows here: x_i is row i of X^t (n_t, d). P^t (n_t, c) parts of the examples,
M^t (d, c) centers of task t, W (d, l) shared subspace, M (l, c) shared centers, V = diag(v) weights of
examples, l1 the trade-off, l2^t the age of task t. With u the weight of an example in (7) (v, or v^2 as
printed):

    v       hard_weights, soft_weights of the losses                                           (11), (13)
    M       = W' X' U P (P' U P)^-1                                                            (16)
    M^t     = X^t' U P^t (P^t' U P^t)^-1                                                       (18)
    P_ij   <- P_ij sqrt( [A+ + P B-]_ij / [A- + P B+]_ij )                                     (22)
              A = l1 X^t M^t + (1 - l1) X^t W M,    B = l1 M^t' M^t + (1 - l1) M' M            (21)
    W       see _subspaces                                                                     (25)

A needs X only in one product with the (d, c) matrix l1 M^t + (1 - l1) W M, and the sums over examples take
one more product: a round takes two passes over the non-zeros of X.

References
----------
Y. Ren, X. Que, D. Yao and Z. Xu, "Self-paced multi-task clustering", Neurocomputing 350, 2019.
Q. Gu and J. Zhou, "Learning the shared subspace for multi-task clustering and transductive transfer
classification", ICDM 2009 (LSSMTC).
T. Li, S. Ma and M. Ogihara, "Document clustering via adaptive subspace iteration", SIGIR 2004 (ASI).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import combinations
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score

from .._base.parameters import Choice, Integer, Kind, Nothing, Real
from .._kernels.kmeans import many_kmeans
from .._kernels.labels.distinct import row_keys, uniforms_by_key
from ..errors import InputError
from ._base import TaskSolution
from ._centers import Centers, indicator, squares
from ._preparation import PREPARATIONS, unit_rows
from ._subspaces import FORMS, PROGRAM_EPSILON, divide, make_form
from ._tasks import Tasks

# The updates -----------------------------------------------------------------------------------------------


def losses(own: np.ndarray, A: np.ndarray, B: np.ndarray, P: np.ndarray) -> np.ndarray:
    """(n,) cost of each example in (7): l1 |x - M^t p|^2 + (1 - l1) |W'x - M p|^2, expanded.

    ``own`` (n,) is l1 |x|^2 + (1 - l1) |W'x|^2, A and B are those of (21).
    """
    cost = own - 2 * np.einsum("ij,ij->i", A, P) + np.einsum("ij,ij->i", P @ B, P)
    return np.maximum(cost, 0.0)  # rounding can make the cost of a fully explained example negative


def update_P(A: np.ndarray, B: np.ndarray, P: np.ndarray, epsilon: float = 0.0) -> np.ndarray:
    """Eq. (22).

    The weight of an example multiplies numerator and denominator alike and cancels, so that excluded examples
    follow the centers, and their losses tell when to include them.
    """
    numerator = np.maximum(A, 0) + P @ np.maximum(-B, 0)
    denominator = np.maximum(-A, 0) + P @ np.maximum(B, 0) + epsilon
    # Both are 0 for an example whose features are all 0: it has no part in any center.
    ratio = np.divide(numerator, denominator, out=np.zeros_like(P), where=denominator > 0)
    return P * np.sqrt(ratio)


def cluster_means(X: Any, own: Centers, P: np.ndarray) -> np.ndarray:
    """(d, c) means of the examples by their largest membership; zero for an empty cluster."""
    onto = (own.memberships(P).argmax(axis=1)[:, None] == np.arange(P.shape[1])).astype(float)
    return np.asarray(X.T @ onto) / np.maximum(onto.sum(axis=0), 1)


def nearest(costs: np.ndarray, base: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The best P with a single 1 in each row; no cluster is left without an example of weight.

    An empty cluster gets the worst explained example of a cluster with others. costs (n, c) and base (n,) add
    up to the loss of an example with each center alone.
    """
    c = costs.shape[1]
    labels = costs.argmin(axis=1)
    left = base + costs[np.arange(labels.size), labels]
    for j in range(c):
        sizes = np.bincount(labels[u > 0], minlength=c)
        spare = (u > 0) & (sizes[labels] > 1)
        if not sizes[j] and spare.any():
            worst = np.where(spare, left, -np.inf).argmax()
            labels[worst], left[worst] = j, -np.inf
    return indicator(labels, c)


@dataclass
class Model:
    """The unknowns of (7), and the sums over examples for the next updates."""

    Xs: list  #: T matrices (n_t, d)
    Ps: list[np.ndarray]  #: T matrices (n_t, c)
    form: Any  #: how W is found
    trade_off: float
    epsilon: float = 0.0
    one_hot: bool = False  #: whether a row of P has a single 1, as Eq. (3) first has it
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
        """X^t' U P^t and P^t' U P^t of every task; the sums over all tasks are their sums."""
        weighted = [u[:, None] * P for u, P in zip(self.us, self.Ps)]
        self.sums = [np.asarray(X.T @ p) for X, p in zip(self.Xs, weighted)]
        self.grams = [P.T @ p for P, p in zip(self.Ps, weighted)]

    def refresh_centers(self) -> None:
        """Eqs. (16) and (18)."""
        self.M = divide(self.W.T @ sum(self.sums), sum(self.grams))
        self.Ms = [divide(total, gram) for total, gram in zip(self.sums, self.grams)]

    def centers(self) -> list[Centers]:
        """The quantities in (21) that depend on the centers, for each task."""
        l1 = self.trade_off
        shared, inner = self.W @ self.M, self.M.T @ self.M
        return [
            Centers(l1 * own + (1 - l1) * shared, l1 * own.T @ own + (1 - l1) * inner, self.one_hot)
            for own in self.Ms
        ]

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
        """Losses of the examples of every task at the best centers for the current P and W."""
        self.refresh_centers()
        return [
            losses(base, np.asarray(X @ own.combined), own.B, P)
            for base, X, own, P in zip(self.bases(), self.Xs, self.centers(), self.Ps)
        ]

    def round(self) -> float:
        """M, M^t, P, W, once each; returns (7) without its last term, as it was after M and M^t."""
        self.refresh_centers()
        total = 0.0
        for t, (own, base) in enumerate(zip(self.centers(), self.bases())):
            P = self.Ps[t]
            A = np.asarray(self.Xs[t] @ own.combined)
            L = losses(base, A, own.B, P)
            total += float(self.us[t] @ L)
            if self.one_hot:
                self.Ps[t] = nearest(own.costs(A), base, self.us[t])
                continue
            P = update_P(A, own.B, P, self.epsilon)
            self.Ps[t] = self._revived(P, own.B, L, self.us[t])
        self._sum()
        if self.trade_off < 1:
            self.W = self.form.update(sum(self.sums), sum(self.grams), self.Ps, self.W, self.M)
        return total

    def align(self) -> None:
        """Match the clusters of each task to those of the task with the largest norm, if that lowers (7).

        A random start may pair cluster 1 of one task with cluster 2 of another, and the updates cannot undo
        it: the terms of the tasks do not depend on the order and scale of the columns of P, only the shared
        term does. The current clusters are matched by their means, and P starts again from these.
        """
        if len(self.Xs) == 1 or self.trade_off == 1 or self.epsilon:
            return
        value = sum(float(u @ L) for u, L in zip(self.us, self.losses()))
        kept = self.Ps, self.W
        means = [cluster_means(X, own, P) for X, own, P in zip(self.Xs, self.centers(), self.Ps)]
        lengths = [np.maximum(np.linalg.norm(mean, axis=0), np.finfo(float).tiny) for mean in means]
        first = int(np.argmax([own.sum() for own in self.own]))
        for t, mean in enumerate(means):
            likeness = (means[first] / lengths[first]).T @ (mean / lengths[t])
            means[t] = mean[:, linear_sum_assignment(-likeness)[1]]
        self.Ps = [Centers(mean, mean.T @ mean, self.one_hot).parts(X) for X, mean in zip(self.Xs, means)]
        if self._value_anew() >= value:
            self.Ps, self.W = kept
            self._sum()

    def _value_anew(self) -> float:
        """(7) without its last term, at the best W and centers for the current P."""
        self._sum()
        self.W = self.form.update(sum(self.sums), sum(self.grams), self.Ps, self.W, self.M)
        return sum(float(u @ L) for u, L in zip(self.us, self.losses()))

    def _revived(self, P: np.ndarray, B: np.ndarray, L: np.ndarray, u: np.ndarray) -> np.ndarray:
        """P with every empty cluster restarted from the examples of the task that are explained worst.

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
    """The initial P of each task: random, or given by the user (with rows in the order of the user)."""
    if isinstance(init, str):
        # By the content of an example: equal ones start equal, and the order of examples or tasks does not
        # matter.
        return tasks.split(uniforms_by_key(row_keys(tasks.X), c, rng))
    n = tasks.X.shape[0]
    try:
        if isinstance(init, (list, tuple)):
            init = np.concatenate([np.asarray(part, dtype=float) for part in init])
        P = np.array(init, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"init is a {type(init).__name__} with values that are not rows of numbers: give {n} rows of "
            f"{c} non-negative numbers, 'kmeans' or 'random'."
        ) from None
    if P.shape != (n, c) or not np.isfinite(P).all() or (P < 0).any():
        raise InputError(
            f"init has shape {P.shape}, "
            f"{'with negative or non-finite numbers' if P.shape == (n, c) else f'not {(n, c)}'}: give "
            f"one row of n_clusters non-negative numbers for each example, 'kmeans' or 'random'."
        )
    return tasks.split(P[tasks.order])


def clusters_of(tasks: Tasks, c: int, *, seeds: list[int], pooled: bool = True) -> list[np.ndarray]:
    """One-hot P of each task by k-means of the directions of its examples, or of those of all tasks."""
    sparse = sp.issparse(tasks.X)
    U = unit_rows(tasks.X)
    # Pooled rows are ordered by content, so that the order of the tasks does not matter.
    groups = [np.argsort(row_keys(tasks.X), kind="stable")] if pooled else tasks.split(np.arange(U.shape[0]))
    labels = np.empty(U.shape[0], np.int64)
    for rows in groups:
        X = sp.csr_array(U[rows]) if sparse else np.ascontiguousarray(U[rows])
        runs = many_kmeans(X, [c] * len(seeds), seeds=seeds, max_iter=100, n_jobs=1)
        labels[rows] = runs.labels[:, int(np.argmin(runs.inertia))]
    return tasks.split(indicator(labels, c))


def matched(Xs: list, Ps: list[np.ndarray]) -> list[np.ndarray]:
    """One-hot P whose clusters are numbered like those of the task of the largest norm, by their means."""
    means = [np.asarray(X.T @ P) for X, P in zip(Xs, Ps)]
    means = [mean / np.maximum(np.linalg.norm(mean, axis=0), np.finfo(float).tiny) for mean in means]
    first = means[int(np.argmax([squares(X).sum() for X in Xs]))]
    return [P[:, linear_sum_assignment(-(first.T @ mean))[1]] for P, mean in zip(Ps, means)]


def starts(
    init: Any, tasks: Tasks, c: int, rng: np.random.Generator, n_init: int, one_hot: bool
) -> list[list[np.ndarray]]:
    """n_init initial P of each task; one if it is given.

    Those of "kmeans" come by turns from all examples together and from those of each task: the first helps
    small tasks, the second finds the same clusters where tasks lie apart.
    """
    given = not isinstance(init, str)
    by_kmeans = not given and init == "kmeans"
    found = []
    for i in range(1 if given else n_init):
        if not by_kmeans:
            Ps = starting_parts(init, tasks, c, rng)
        else:
            seeds = rng.integers(2**31, size=_RUNS).tolist()
            Ps = clusters_of(tasks, c, seeds=seeds, pooled=i % 2 == 0)
            Ps = matched(tasks.split(tasks.X), Ps) if i % 2 else Ps
        if one_hot:
            Ps = [indicator(P.argmax(axis=1), c) for P in Ps]
        elif by_kmeans:
            Ps = [P + _LIFT for P in Ps]  # an entry of 0 would stay 0
        found.append(Ps)
    return found


def agreement(found: list[list[np.ndarray]]) -> float:
    """Mean adjusted Rand index between the labels from different starts, within tasks; 1 from one start."""
    pairs = [adjusted_rand_score(a, b) for one, two in combinations(found, 2) for a, b in zip(one, two)]
    return float(np.mean(pairs)) if pairs else 1.0


def lowest(found: list[TaskSolution]) -> TaskSolution:
    """The one with the lowest objective; the first of those that differ by rounding alone."""
    values = np.array([one.history[-1]["objective"] for one in found])
    return found[int(np.argmax(values <= values.min() + 1e-6 * abs(values.min())))]


def best_of(
    estimator: Any, tasks: Tasks, rng: np.random.Generator, learn: Callable[[Model], TaskSolution]
) -> TaskSolution:
    """The best of the starts of the better of the two forms of P.

    The better form is the one whose answers agree better from start to start, the non-negative one if both
    agree equally well; of its starts the one with the lowest objective is kept.
    """
    parts, c = estimator.parts, estimator.n_clusters
    given = not isinstance(estimator.init, str)
    forms = [parts] if parts != "auto" else ["non-negative"] if given else ["non-negative", "one-hot"]
    best, highest, measured = None, -np.inf, {}
    for name, own_rng in zip(forms, [rng] if len(forms) == 1 else rng.spawn(len(forms))):
        one_hot = name == "one-hot"
        trade_off = TRADE_OFF[name] if estimator.trade_off is None else estimator.trade_off
        found = []
        for Ps in starts(estimator.init, tasks, c, own_rng, estimator.n_init, one_hot):
            form = make_form(estimator.subspace, tasks.X, estimator.n_components, c)
            epsilon = program_epsilon(estimator.subspace)
            found.append(learn(Model(tasks.split(tasks.X), Ps, form, trade_off, epsilon, one_hot)))
        labels = (
            [[own.place(X)[0] for own, X in zip(one.centers, tasks.split(tasks.X))] for one in found]
            if len(forms) > 1
            else []
        )
        measured[name] = agreement(labels)
        if measured[name] > highest + 1e-9:
            best, highest = lowest(found), measured[name]
    assert best is not None
    if len(forms) > 1:
        best.extra = {**best.extra, "start_agreement": measured}
    return best


def run_stage(model: Model, history: list[dict], stage: int, share: float, max_iter: int, tol: float) -> bool:
    """Rounds with fixed weights until (7) falls by no more than ``tol`` times itself; whether it did."""
    before = None
    for _ in range(max_iter):
        value = model.round()
        history.append({"stage": stage, "share": share, "objective": value})
        if before is not None and before - value <= tol * abs(before):
            return True
        before = value
    return False


def solution_of(model: Model, history: list[dict], converged: bool, tol: float) -> TaskSolution:
    """What was learned, with the columns of P and of the centers brought to a common scale."""
    model.refresh_centers()
    centers = model.centers()
    scale = np.sqrt(np.mean([np.diag(own.B) for own in centers], axis=0))
    scale[(scale == 0) | model.one_hot] = 1.0
    last = [row["objective"] for row in history[-2:]]
    drop = (last[0] - last[-1]) / abs(last[0]) if last[0] else 0.0
    return TaskSolution(
        [Centers(own.combined / scale, own.B / np.outer(scale, scale), own.one_hot) for own in centers],
        parts=np.concatenate(model.Ps) * scale,
        extra={"subspace": model.W, "n_restarts": model.restarts},
        per_center={"centers": (model.M / scale).T, "task_centers": [(own / scale).T for own in model.Ms]},
        history=history,
        converged=converged,
        shortfall=f"the objective still fell by {drop:.2g} of itself in the last round, more than "
        f"tol={tol:g}; raise max_iter",
    )


# What the estimators share ---------------------------------------------------------------------------------

#: Rounds before the clusters of the tasks are matched and, in SPMTC, the first stage begins.
WARM_UP = 20
#: Weight of the centers of each task by the form of P, where it is not given.
TRADE_OFF = {"non-negative": 0.25, "one-hot": 0.75}
_RUNS = 3  # of k-means for one start
_LIFT = 0.2  # of the one-hot P that k-means gives, so that every entry can change

NComponents = Annotated[int | None, Nothing() | Integer(1)]
Subspace = Annotated[str, Choice(*FORMS)]
Preprocess = Annotated[str, Choice(*PREPARATIONS)]
Parts = Annotated[str, Choice("auto", "non-negative", "one-hot")]
TradeOff = Annotated[float | None, Real(0, 1) | Nothing()]
NInit = Annotated[int, Integer(1)]
Init = Annotated[
    Any,
    Kind(
        "'kmeans', 'random' or an array (n_samples, n_clusters)",
        lambda value: value in ("kmeans", "random") if isinstance(value, str) else hasattr(value, "__len__"),
    ),
]


def program_epsilon(subspace: str) -> float:
    """The public program guards its denominators by a constant."""
    return PROGRAM_EPSILON if subspace == "nonnegative" else 0.0
