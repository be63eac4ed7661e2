"""Grouping objects by their labels: one pass from groups to a table of base clusters, and one back.

    C = Y' diag(w) R (k, c)                                                                                (1)
    cost of p in group j = a_p + z_j + r_p * sum over p's clusters b of T_bj,    (T, z) = costs(C)         (2)
    hard: p goes to the cheapest group;    soft: R_pj = exp(-cost_pj) / sum over groups                    (3)

labels (u, m) hold codes, -1 for missing; cluster j of clustering i is row offsets[i] + j of the tables; Y (u,
k) is their indicator, which is never formed. R (u, c) says which groups the objects are in, w (u,) are their
weights. Whatever a method minimizes, its alternation is this: (1), its own ``costs``, (2) and (3). O(u m c) a
round, O(u + k c) memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..compile.jit import kernel
from ..runtime.threads import map_blocks
from .contingency import cross_table

_BLOCK = 1 << 14  # rows; does not depend on the number of threads, so sums do not either
#: Objects up to which every start is followed to its end; if there are more, so many are drawn, and the best
#: start goes on with all.
STARTS_ON = 1 << 16

#: From a table (k, c) to T (k, c) and z (c,) of Eq. (2).
Costs = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class LabelRows(NamedTuple):
    """The objects of a loop.

    ``mass`` (u,) weighs costs in the loss; ``scale`` and ``shift`` (u,) are r and a of Eq. (2).
    """

    labels: np.ndarray
    offsets: np.ndarray
    weights: np.ndarray
    mass: np.ndarray
    scale: np.ndarray
    shift: np.ndarray

    def take(self, rows: np.ndarray | slice) -> LabelRows:
        """Some of the objects."""
        per_object = (self.weights, self.mass, self.scale, self.shift)
        return LabelRows(self.labels[rows], self.offsets, *(values[rows] for values in per_object))

    def objects(self, rows: slice) -> _Objects:
        return _Objects(self.labels[rows], self.offsets, self.scale[rows], self.shift[rows])

    def table(self, groups: np.ndarray, n_groups: int, n_jobs: int | None = -1) -> np.ndarray:
        """C of Eq. (1) for groups (u,)."""
        return cross_table(self.labels, self.offsets, groups, n_groups, self.weights, n_jobs=n_jobs)


class _Objects(NamedTuple):
    """What Eq. (2) reads of the objects."""

    labels: np.ndarray
    offsets: np.ndarray
    scale: np.ndarray
    shift: np.ndarray


class Settled(NamedTuple):
    """The best grouping seen, the losses of all, and whether they had come to rest."""

    groups: np.ndarray  # (u,)
    losses: list[float]
    converged: bool


class Assignment(NamedTuple):
    groups: np.ndarray  # (u,) int64 the cheapest group
    cost: np.ndarray  # (u,) its cost
    own: np.ndarray  # (u,) cost of the group each came from


def label_rows(
    labels: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray,
    *,
    mass: np.ndarray | None = None,
    scale: np.ndarray | None = None,
    shift: np.ndarray | None = None,
) -> LabelRows:
    """Objects whose costs are sums over their labels and weigh as much as they do, by default."""
    mass = weights if mass is None else mass
    scale = np.ones(len(labels)) if scale is None else scale
    shift = np.zeros(len(labels)) if shift is None else shift
    return LabelRows(labels, offsets, weights, mass, scale, shift)


def assign(
    rows: LabelRows,
    T: np.ndarray,
    base: np.ndarray,
    current: np.ndarray | None = None,
    *,
    stay: bool = False,
    n_jobs: int | None = -1,
) -> Assignment:
    """Assign every object to its cheapest group, Eq. (2) and (3).

    Ties go to the lowest number, or with ``stay`` to ``current`` (u,).
    """
    u, (k, c) = len(rows.labels), T.shape
    current = np.zeros(u, np.int64) if current is None else np.ascontiguousarray(current, np.int64)
    if k != rows.offsets[-1] or base.shape != (c,) or c == 0 or current.shape != (u,):
        raise ValueError(f"Costs of shapes {T.shape} and {base.shape} for {rows.offsets[-1]} base clusters.")
    if u and (current.min() < 0 or current.max() >= c):
        raise ValueError(f"Groups from {current.min()} to {current.max()}; expected 0 to {c - 1}.")
    T, base = np.ascontiguousarray(T, float), np.ascontiguousarray(base, float)
    found = Assignment(np.empty(u, np.int64), np.empty(u), np.empty(u))

    def block(a: int, b: int) -> None:
        part = Assignment(*(out[a:b] for out in found))
        _assign(rows.objects(slice(a, b)), T, base, current[a:b], stay, part)

    map_blocks(block, u, size=_BLOCK, n_jobs=n_jobs)
    return found


def soften(
    rows: LabelRows, T: np.ndarray, base: np.ndarray, *, n_jobs: int | None = -1
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(R (u, c), C (k, c), log of the sums (u,)): the soft groups of Eq. (3) and their table, in one pass.

    The sums are over groups of exp(-cost), so that costs that are minus log densities give minus their
    mixture's.
    """
    u, (k, c) = len(rows.labels), T.shape
    if k != rows.offsets[-1] or base.shape != (c,) or c == 0:
        raise ValueError(f"Costs of shapes {T.shape} and {base.shape} for {rows.offsets[-1]} base clusters.")
    T, base = np.ascontiguousarray(T, float), np.ascontiguousarray(base, float)
    R, sums = np.empty((u, c)), np.empty(u)

    def block(a: int, b: int) -> np.ndarray:
        table = np.zeros((k, c))
        _soften(rows.objects(slice(a, b)), T, base, rows.weights[a:b], R[a:b], sums[a:b], table)
        return table

    total = np.zeros((k, c))
    for part in map_blocks(block, u, size=_BLOCK, n_jobs=n_jobs):
        total += part
    return R, total, sums


def block_shares(table: np.ndarray, offsets: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """M (k, c): how the clusters of each clustering share out a group, from its table.

    It is ``otherwise`` (k,) where the clustering saw none of the group.
    """
    totals = np.repeat(np.add.reduceat(table, offsets[:-1], axis=0), np.diff(offsets), axis=0)
    return np.where(totals > 0, table / np.where(totals > 0, totals, 1.0), otherwise[:, None])


def commonest_rows(table: np.ndarray, offsets: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """(m, c) the most frequent cluster of each clustering in each group, as a row of the table.

    The lowest of equals; by ``otherwise`` (k,) where the clustering saw none of the group.
    """
    out = np.empty((offsets.size - 1, table.shape[1]), np.int64)
    _commonest(np.ascontiguousarray(table, float), offsets, otherwise, out)
    return out


def fill_empty(groups: np.ndarray, n_groups: int, loss: np.ndarray) -> np.ndarray:
    """Groups (u,) without an empty one.

    Each empty one gets the object of largest loss (u,) that is not alone in its group.
    """
    counts = np.bincount(groups, minlength=n_groups)
    if counts.all():
        return groups
    groups = groups.copy()
    candidates = iter(np.argsort(-loss, kind="stable"))
    for j in np.flatnonzero(counts == 0):
        p = next(p for p in candidates if counts[groups[p]] > 1)
        counts[groups[p]] -= 1
        groups[p], counts[j] = j, 1
    return groups


def seed_rows(
    rows: LabelRows, n_groups: int, costs: Costs, rng: np.random.Generator, n_jobs=-1
) -> np.ndarray:
    """(n_groups,) different objects that lie far apart.

    Each is drawn by mass times its cost with the nearest one before (k-means++).
    """
    u = len(rows.labels)
    chosen = np.empty(n_groups, np.int64)
    chance = rows.mass.astype(float)
    nearest = np.full(u, np.inf)
    for j in range(n_groups):
        reached = np.cumsum(chance)
        if reached[-1] > 0:
            p = min(int(np.searchsorted(reached, rng.random() * reached[-1], side="right")), u - 1)
        else:  # all others cost nothing with those before: in their order
            p = int(np.argmax(~np.isin(np.arange(u), chosen[:j])))
        chosen[j] = p
        one = _one_object(rows, chosen[j : j + 1])
        nearest = np.minimum(nearest, assign(rows, *costs(one), n_jobs=n_jobs).cost)
        chance = rows.mass * np.maximum(nearest, 0.0)
        chance[chosen[: j + 1]] = 0.0
    return chosen


def alternate(
    rows: LabelRows,
    groups: np.ndarray,
    n_groups: int,
    costs: Costs,
    *,
    max_iter: int,
    tol: float,
    stay: bool = False,
    n_jobs: int | None = -1,
) -> Settled:
    """(1), (2), (3) in turn until no object moves, or the loss falls by no more than ``tol`` of itself.

    The loss of a grouping is the mass-weighted cost of the objects in their own groups. Where the table of a
    grouping minimizes it the losses fall; where they do not, the loop ends at the first rise. The best
    grouping seen is returned. Groups left empty get the object of largest loss.
    """
    losses: list[float] = []
    best, converged = groups, False
    for step in range(max_iter + 1):
        T, base = costs(rows.table(groups, n_groups, n_jobs))
        moved = assign(rows, T, base, groups, stay=stay, n_jobs=n_jobs)
        losses.append(float(rows.mass @ moved.own))
        if losses[-1] <= min(losses):
            best = groups
        settled = len(losses) > 1 and losses[-2] - losses[-1] <= tol * abs(losses[-1])
        if converged := settled or np.array_equal(moved.groups, groups):
            break
        if step < max_iter:
            groups = fill_empty(moved.groups, n_groups, rows.mass * moved.cost)
    return Settled(best, losses, bool(converged))


def drawn_rows(rows: LabelRows, n_groups: int, rng: np.random.Generator) -> LabelRows:
    """The objects on which starts are compared: all, or a draw of STARTS_ON of them."""
    u, most = len(rows.labels), max(STARTS_ON, n_groups)
    return rows if u <= most else rows.take(np.sort(rng.choice(u, most, replace=False)))


def best_start(
    rows: LabelRows,
    n_groups: int,
    costs: Costs,
    rng: np.random.Generator,
    *,
    n_init: int,
    max_iter: int,
    tol: float,
    stay: bool = False,
    n_jobs: int | None = -1,
) -> Settled:
    """:func:`alternate` from ``n_init`` seedings, the one of least loss.

    If there are more than ``STARTS_ON`` objects, the starts see a draw of that many, and the best goes on
    with all.
    """
    drawn = drawn_rows(rows, n_groups, rng)

    def follow(some: LabelRows, table: np.ndarray) -> Settled:
        near = assign(some, *costs(table), n_jobs=n_jobs)
        groups = fill_empty(near.groups, n_groups, some.mass * near.cost)
        return alternate(some, groups, n_groups, costs, max_iter=max_iter, tol=tol, stay=stay, n_jobs=n_jobs)

    runs = []
    for _ in range(n_init):
        chosen = seed_rows(drawn, n_groups, costs, rng, n_jobs)
        runs.append(follow(drawn, _one_object(drawn, chosen)))
    best = min(runs, key=lambda run: min(run.losses))
    return best if drawn is rows else follow(rows, drawn.table(best.groups, n_groups, n_jobs))


def _one_object(rows: LabelRows, chosen: np.ndarray) -> np.ndarray:
    """(k, j) table of groups of one object each."""
    some = rows.take(chosen)
    return cross_table(some.labels, rows.offsets, np.arange(chosen.size), chosen.size)


@kernel
def _assign(objects, T, base, current, stay, found):
    """Eqs. (2) and (3), hard, for all of some rows."""
    labels, offsets, scale, shift = objects
    groups, cost, own = found
    c = T.shape[1]
    total = np.empty(c)
    for p in range(labels.shape[0]):
        total[:] = 0.0
        for i in range(labels.shape[1]):
            code = labels[p, i]
            if code >= 0:
                r = offsets[i] + code
                for j in range(c):
                    total[j] += T[r, j]
        for j in range(c):
            total[j] = shift[p] + base[j] + scale[p] * total[j]
        best = current[p] if stay else 0
        for j in range(c):
            if total[j] < total[best]:
                best = j
        groups[p], cost[p], own[p] = best, total[best], total[current[p]]


@kernel
def _commonest(table, offsets, otherwise, out):
    for i in range(out.shape[0]):
        first, last = offsets[i], offsets[i + 1]
        usual = first
        for r in range(first, last):
            if otherwise[r] > otherwise[usual]:
                usual = r
        for j in range(out.shape[1]):
            best, total = first, 0.0
            for r in range(first, last):
                total += table[r, j]
                if table[r, j] > table[best, j]:
                    best = r
            out[i, j] = best if total > 0 else usual


@kernel
def _soften(objects, T, base, weights, R, sums, table):
    """Eqs. (2) and (3), soft, and (1) of the outcome, for all of some rows."""
    labels, offsets, scale, shift = objects
    c = T.shape[1]
    for p in range(labels.shape[0]):
        row = R[p]
        row[:] = 0.0
        for i in range(labels.shape[1]):
            code = labels[p, i]
            if code >= 0:
                r = offsets[i] + code
                for j in range(c):
                    row[j] += T[r, j]
        least = np.inf
        for j in range(c):
            row[j] = shift[p] + base[j] + scale[p] * row[j]
            least = min(least, row[j])
        total = 0.0
        for j in range(c):  # the least cost is taken off first: no sum of many logarithms underflows
            row[j] = np.exp(least - row[j])
            total += row[j]
        for j in range(c):
            row[j] /= total
        sums[p] = np.log(total) - least
        for i in range(labels.shape[1]):
            code = labels[p, i]
            if code >= 0:
                r = offsets[i] + code
                for j in range(c):
                    table[r, j] += weights[p] * row[j]
