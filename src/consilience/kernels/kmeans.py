"""Many k-means runs over the same data, sharing every pass over it.

    minimise over centres c and labels l    sum_i w_i | x_i - c_l(i) |^2                                 (1)

by Lloyd's two steps: each row to its nearest centre, each centre to the (weighted) mean of its rows. The runs
are independent; what they share is the reading of X: one matrix product per block of rows bounds the distances
to all centres of all runs still moving (:mod:`.kmeans_rows`), and rows whose bounds leave a doubt are settled
in float64. Cluster sums are kept in float64 and corrected only for rows that changed their cluster. Data that fits a
core's cache has no passes to share; there, each run is one compiled call (:mod:`.kmeans_small`).

What is guaranteed: every assignment is the one of float64 arithmetic (up to its own rounding at exact ties,
where the first centre wins). Hence a run's answer depends on the data, its k and its start or seed alone: not
on the runs beside it, not on the number of threads.

Start, stopping rule and empty clusters follow scikit-learn: greedy k-means++ with 2 + log k candidates a step;
stop when no label changes, or when the squared moves of the centres sum to at most ``tol`` times the mean
variance of the columns; an empty cluster restarts at the row farthest from its centre.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..validation import unit_of_lightest
from ._jit import kernel
from .floats import as_floats
from .kmeans_rows import BLOCK, DenseRows, SparseRows, Stack, as_rows, screen_block
from .kmeans_small import Run, SmallRows, is_small, plus_plus, run_from
from .memory import ensure_fits
from .parallel import map_blocks, map_tasks, one_blas_thread, resolve_jobs

Rows = DenseRows | SparseRows

#: Centres bounded by one product: its output stays in the second-level cache.
PART = 512
#: Numbers held for the centres of one batch of runs (sums and centres in float64, screen in float32).
BATCH = 2**25


@dataclass
class ManyKMeans:
    """Outcome of m runs."""

    labels: np.ndarray  #: (n, m) int32
    inertia: np.ndarray  #: (m,) Eq. (1)
    n_iter: np.ndarray  #: (m,)
    converged: np.ndarray  #: (m,) False where max_iter came first
    centers: list[np.ndarray]  #: m arrays (k_r, d) float64; none if they were not to be kept


def many_kmeans(
    X: Any,
    ks: Sequence[int] | np.ndarray,
    *,
    seeds: Sequence[Any] | None = None,
    inits: Sequence[np.ndarray] | None = None,
    init: str = "k-means++",
    max_iter: int = 300,
    tol: float = 1e-4,
    sample_weight: np.ndarray | None = None,
    n_jobs: int | None = None,
    on_done: Callable[[int], Any] | None = None,
    keep_centers: bool = True,
    check_memory: bool = True,
) -> ManyKMeans:
    """Run k-means ``len(ks)`` times on the rows of X.

    Parameters
    ----------
    X : array or CSR matrix (n, d), finite
        float32 and float64 are used as they are; other numbers become float32 where that is exact.
    ks : m whole numbers
        Clusters of each run, at most n.
    seeds : m seeds for ``numpy.random.default_rng``
        Needed unless ``inits`` is given.
    inits : m arrays (k_r, d)
        Start from these centres.
    init : "k-means++" or "random"
        How to choose k rows to start from.
    max_iter, tol : the stopping rule (see the module).
    sample_weight : (n,) positive numbers
        Of any unit: the runs depend on their ratios alone.
    n_jobs : threads; None for all cores
    on_done : called with the number of runs that have just finished
    keep_centers : False leaves ``centers`` empty: they can outweigh X, if runs are many or X is sparse
    check_memory : False where the caller knows that it fits: to ask takes longer than a run on small data

    Notes
    -----
    Time per iteration: one product of (n, q) by (q, sum of ks), q <= min(d, 125) where a few directions hold
    half the variance and q = d otherwise. Memory beside X: 4 n (q + 3) bytes, 8 n m for labels and starts.
    """
    X = as_floats(X)
    n, _ = X.shape
    ks = np.asarray(ks, dtype=np.int64)
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    _check_runs(X, ks, weight, inits)
    if check_memory:
        _ensure_runs(X, ks, keep_centers, n_jobs)
    unit = unit_of_lightest(weight)
    weight = weight / unit
    if is_small(X):
        runs = _small(SmallRows(X, weight), ks, seeds, inits, init, max_iter, tol, n_jobs, on_done)
        return replace(
            runs, inertia=_in_unit(runs.inertia, unit), centers=runs.centers if keep_centers else []
        )
    labels = np.empty((n, len(ks)), dtype=np.int32)
    inertia, n_iter = np.empty(len(ks)), np.empty(len(ks), dtype=np.int64)
    converged = np.empty(len(ks), dtype=bool)
    centers: list[np.ndarray] = []
    with one_blas_thread():  # threads are over blocks, here
        rows = as_rows(X, weight, n_jobs)
        for batch in _batches(ks, rows.n_features):
            if inits is not None:
                start = [rows.centre(np.asarray(inits[r], dtype=np.float64)) for r in batch]
            else:
                assert seeds is not None
                rngs = [np.random.default_rng(seeds[r]) for r in batch]
                start = [rows.rows(index) for index in choose_seeds(rows, ks[batch], rngs, init)]
            found, n_iter[batch], converged[batch], ends = lloyd(
                rows, start, max_iter=max_iter, tol=tol * rows.mean_variance, on_done=on_done
            )
            labels[:, batch] = found.T
            for r, own, c in zip(batch, found, ends):
                inertia[r] = np.dot(rows.own_squares(c, own), weight)
                if keep_centers:
                    centers.append(rows.uncentre(c))
    return ManyKMeans(labels, _in_unit(inertia, unit), n_iter, converged, centers)


def _ensure_runs(X: Any, ks: np.ndarray, keep_centers: bool, n_jobs: int | None) -> None:
    """Refuse runs whose centres, scores or labels will not fit; counted is what is there at the same time for certain."""
    (n, d), m, most = X.shape, len(ks), int(ks.max(initial=1))
    centers = 8.0 * d * (int(ks.sum()) if keep_centers else 0)
    if is_small(X):
        working = 8.0 * n * most * min(resolve_jobs(n_jobs), m)  # scores of all rows and centres of a run
    else:
        batch = max(int(ks[runs].sum()) for runs in _batches(ks, d))
        # Centres, their sums, those of the step before and the float32 screen; labels; distances of starts.
        working = 28.0 * d * batch + 8.0 * n * m + 4.0 * BLOCK * most
    ensure_fits(
        centers + working,
        what=f"k-means with {m} runs of up to {most} clusters on {n} objects with {d} features",
        remedy="ask for fewer clusters or clusterings, or use fewer features (generate.random_features)",
    )


def _in_unit(inertia: np.ndarray, unit: float) -> np.ndarray:
    """Inertia in the unit that weights were given in; infinite where that is beyond all numbers."""
    with np.errstate(over="ignore"):
        return inertia * unit


def _small(rows, ks, seeds, inits, init, max_iter, tol, n_jobs, on_done) -> ManyKMeans:
    """:func:`many_kmeans` on small dense data."""

    def run(r: int) -> Run:
        if inits is not None:
            start = np.asarray(inits[r], dtype=np.float64) - rows.middle
        else:
            rng = np.random.default_rng(seeds[r])
            start = rows.X[
                plus_plus(rows, ks[r], rng) if init == "k-means++" else _random_rows(rows.weight, ks[r], rng)
            ]
        found = run_from(rows, start, max_iter, tol * rows.mean_variance)
        if on_done is not None:
            on_done(1)
        return found

    with one_blas_thread():
        runs = map_tasks(run, list(range(len(ks))), n_jobs=n_jobs)
    return ManyKMeans(
        np.stack([run.labels for run in runs], axis=1),
        np.array([run.inertia for run in runs]),
        np.array([run.n_iter for run in runs], dtype=np.int64),
        np.array([run.converged for run in runs]),
        [run.centers + rows.middle for run in runs],
    )


def nearest_centers(X: Any, centers: Sequence[np.ndarray], *, n_jobs: int | None = None) -> np.ndarray:
    """Nearest centre of every row, for each of m sets of centres: (n, m) int32. Exact as :func:`many_kmeans`."""
    X = as_floats(X)
    _check_centers(X, centers)
    with one_blas_thread():
        rows = as_rows(X, np.ones(X.shape[0]), n_jobs)
        stacked = np.vstack([rows.centre(np.asarray(c, dtype=np.float64)) for c in centers])
        return assign(rows, rows.stack(stacked, np.array([len(c) for c in centers]))).T


def _check_runs(X: Any, ks: np.ndarray, weight: np.ndarray, inits: Sequence[np.ndarray] | None) -> None:
    """What the compiled loops take for granted: rows, one weight for each, and at least one centre in every run."""
    n = X.shape[0]
    if n == 0 or weight.shape != (n,) or ks.ndim != 1 or (ks < 1).any() or (ks > n).any():
        raise ValueError(f"{weight.shape} weights and ks={ks} for {n} rows; expected (n,) and 1 <= k <= n.")
    if inits is not None:
        _check_centers(X, inits)
        if [len(c) for c in inits] != ks.tolist():
            raise ValueError(f"inits have {[len(c) for c in inits]} centres for ks={ks}.")


def _check_centers(X: Any, centers: Sequence[np.ndarray]) -> None:
    shapes = [np.shape(c) for c in centers]
    if not shapes or any(len(s) != 2 or s[0] == 0 or s[1] != X.shape[1] for s in shapes):
        raise ValueError(f"Centres of shapes {shapes}; expected (1 or more, {X.shape[1]}) each.")


def _batches(ks: np.ndarray, d: int) -> list[np.ndarray]:
    """Consecutive runs whose centres fit the working memory together."""
    batches, first = [], 0
    while first < len(ks):
        last = first + max(1, int(np.searchsorted(np.cumsum(ks[first:]) * d, BATCH, side="right")))
        batches.append(np.arange(first, min(last, len(ks))))
        first = last
    return batches


# ---------------------------------------------------------------------------------------------------------
# Starts


def choose_seeds(rows: Rows, ks: np.ndarray, rngs: list[np.random.Generator], init: str) -> list[np.ndarray]:
    """Rows to start from, one array of k_r row numbers for each run."""
    if init == "random":
        return [_random_rows(rows.weight, k, rng) for k, rng in zip(ks, rngs)]
    return greedy_plus_plus(rows, ks, rngs)


def _random_rows(weight: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    p = None if np.all(weight == weight[0]) else weight / weight.sum()
    return rng.choice(weight.size, size=k, replace=False, p=p)


def greedy_plus_plus(rows: Rows, ks: np.ndarray, rngs: list[np.random.Generator]) -> list[np.ndarray]:
    """k-means++ with 2 + log k candidates a step, of which the one that lowers Eq. (1) most is kept.

    All candidates of all runs share the passes. Distances are along the kept directions only: a start
    need not be exact, and equal rows still have distance zero.
    """
    n, m, weight, n_jobs = rows.n_samples, len(ks), rows.weight, rows.n_jobs
    trials = 2 + np.log(ks).astype(np.int64)
    heaps = np.cumsum(weight)
    chosen = [np.empty(k, dtype=np.int64) for k in ks]
    for index, rng in zip(chosen, rngs):
        index[0] = _draw(heaps, rng.random(1))[0]
    closest = np.full((m, n), np.finfo(np.float32).max, dtype=np.float32)
    _approach(rows, np.array([index[0] for index in chosen]), np.arange(m), closest)

    def draw(r: int) -> np.ndarray:
        heap = np.cumsum(closest[r] * weight)
        # Where every row sits on a chosen one any will do, and Lloyd's empty clusters sort it out.
        return _draw(heap if heap[-1] > 0 else heaps, rngs[r].random(trials[r]))

    for step in range(1, int(ks.max(initial=1))):
        active = np.flatnonzero(ks > step)
        drawn = map_tasks(draw, list(active), n_jobs=n_jobs)
        left_over = _left_over_by(rows, np.concatenate(drawn), np.repeat(active, trials[active]), closest)
        ends = np.cumsum(trials[active])
        for r, candidates, end in zip(active, drawn, ends):
            chosen[r][step] = candidates[np.argmin(left_over[end - trials[r] : end])]
        _approach(rows, np.array([chosen[r][step] for r in active]), active, closest)
    return chosen


def _draw(heap: np.ndarray, tickets: np.ndarray) -> np.ndarray:
    """Rows drawn with the probabilities whose running sum is ``heap``."""
    return np.minimum(np.searchsorted(heap, tickets * heap[-1], side="right"), len(heap) - 1)


def _approach(rows: Rows, index: np.ndarray, runs: np.ndarray, closest: np.ndarray) -> None:
    """closest[runs[t]] <- min(itself, squared distance to row index[t])."""
    seeds = rows.seeds(index)
    map_blocks(
        lambda a, b: _keep_smaller(rows.seed_squares(seeds, a, b), closest, runs, a),
        rows.n_samples,
        size=BLOCK,
        n_jobs=rows.n_jobs,
    )


def _left_over_by(rows: Rows, index: np.ndarray, owner: np.ndarray, closest: np.ndarray) -> np.ndarray:
    """What Eq. (1) would be with row index[t] added to the centres of run owner[t]."""
    seeds = rows.seeds(index)
    parts = map_blocks(
        lambda a, b: _left_over(rows.seed_squares(seeds, a, b), closest, rows.weight, owner, a),
        rows.n_samples,
        size=BLOCK,
        n_jobs=rows.n_jobs,
    )
    return np.sum(parts, axis=0)


@kernel
def _keep_smaller(squares, closest, runs, start):
    for t in range(runs.shape[0]):
        for i in range(squares.shape[0]):
            closest[runs[t], start + i] = min(closest[runs[t], start + i], squares[i, t])


@kernel
def _left_over(squares, closest, weight, owner, start):
    out = np.zeros(owner.shape[0])
    for i in range(squares.shape[0]):
        w = weight[start + i]
        for t in range(owner.shape[0]):
            out[t] += w * min(closest[owner[t], start + i], squares[i, t])
    return out


# ---------------------------------------------------------------------------------------------------------
# Lloyd


def lloyd(
    rows: Rows,
    starts: list[np.ndarray],
    *,
    max_iter: int,
    tol: float,
    on_done: Callable[[int], Any] | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[np.ndarray]]:
    """Labels (m, n), iterations, whether converged, and centres of all runs from the given starts."""
    m = len(starts)
    ks = np.array([len(c) for c in starts])
    offsets = np.concatenate([[0], np.cumsum(ks)])
    centers = np.vstack(starts)
    sums = np.zeros_like(centers)
    labels = np.full((m, rows.n_samples), -1, dtype=np.int32)
    n_iter, converged = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=bool)
    last_look = np.zeros(m, dtype=bool)  # centres stand; labels are to be read off once more
    active = np.arange(m)
    while len(active):
        own = [slice(offsets[r], offsets[r + 1]) for r in active]
        stack = rows.stack(np.vstack([centers[o] for o in own]), ks[active])
        old, new = labels[active], assign(rows, stack)
        labels[active] = new
        moving = np.flatnonzero(~last_look[active])
        before_move = old[moving]
        if rows.far:  # what a far row leaves of a sum that it was in is its rounding: add up anew
            before_move = np.full_like(before_move, -1)
            for a in moving:
                sums[own[a]] = 0
        rows.move(offsets[active[moving]], before_move, new[moving], sums)
        for a in moving:
            r = active[a]
            o = own[a]
            before = centers[o].copy()
            centers[o] = means(rows, before, sums[o], new[a])
            n_iter[r] += 1
            if np.array_equal(old[a], new[a]):
                converged[r] = True
            elif ((centers[o] - before) ** 2).sum() <= tol:
                converged[r] = last_look[r] = True
            elif n_iter[r] == max_iter:
                last_look[r] = True
        stay = [a for a in moving if last_look[active[a]] or not converged[active[a]]]
        if on_done is not None and len(stay) < len(active):
            on_done(len(active) - len(stay))
        active = active[stay]
    return labels, n_iter, converged, [centers[offsets[r] : offsets[r + 1]] for r in range(m)]


def assign(rows: Rows, stack: Stack) -> np.ndarray:
    """Nearest centre of every row in each run of the stack: (runs, n) int32."""
    runs = len(stack.sizes)
    labels = np.empty((runs, rows.n_samples), dtype=np.int32)
    parts = _parts(stack.sizes)

    def assign_block(start: int, stop: int) -> None:
        b = stop - start
        for first, last in parts:
            part = slice(int(stack.offsets[first]), int(stack.offsets[last]))
            offsets = stack.offsets[first : last + 1] - part.start
            L = rows.bounds(stack, part, start, stop)
            size = (last - first) * b
            doubt = np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size)
            count = screen_block(
                L,
                offsets,
                *rows.doubt(start, stop),
                stack.remainder[part],
                stack.slack[part],
                stack.margin[part],
                labels[first:last],
                start,
                *doubt,
            )
            rows.settle(stack, part, offsets, L, *doubt, count, start, labels[first:last])

    map_blocks(assign_block, rows.n_samples, size=BLOCK, n_jobs=rows.n_jobs)
    return labels


def _parts(sizes: np.ndarray) -> list[tuple[int, int]]:
    """Consecutive runs with about PART centres together."""
    parts, first, total = [], 0, 0
    for r, k in enumerate(sizes):
        if total and total + k > PART:
            parts.append((first, r))
            first, total = r, 0
        total += k
    return [*parts, (first, len(sizes))]


def means(rows: Rows, before: np.ndarray, sums: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Centres of one run from its cluster sums, with empty clusters moved to the farthest rows."""
    k = len(before)
    mass = np.bincount(labels, weights=rows.weight, minlength=k)
    empty, moved = np.flatnonzero(mass == 0), False
    if len(empty):
        sums = sums.copy()
        distance = rows.own_squares(before, labels)
        if moved := bool(distance.max() > 0):
            farthest = np.argpartition(distance, -len(empty))[: -len(empty) - 1 : -1]
            far_rows = rows.rows(farthest)
            for j, i, x in zip(empty, farthest, far_rows):
                w = rows.weight[i]
                sums[labels[i]] -= w * x
                mass[labels[i]] -= w
                sums[j] = w * x
                mass[j] = w
    # A cluster can stay empty only if rows coincide; it then follows the heaviest one.
    heaviest = mass.argmax()
    filled = mass > 0
    centers = np.empty_like(before)
    centers[filled] = sums[filled] / mass[filled, None]
    if rows.far and not moved:
        rows.add_residuals(labels, mass, centers)
    centers[~filled] = centers[heaviest]
    return centers
