"""Many k-means runs over the same data, sharing every pass over it.

    minimize over centers c and labels l    sum_i w_i | x_i - c_l(i) |^2                                 (1)

by Lloyd's two steps: each row to its nearest center, each center to the (weighted) mean of its rows. The runs
are independent; what they share is the reading of X, block by block. Rows that cannot have changed their
cluster are passed over (:mod:`.gaps`); for the others, products bound the distances to all centers
(:mod:`.screen`), and rows whose bounds leave a doubt are settled in float64. Cluster sums are kept in float64
and corrected only for rows that changed their cluster. Rows of few columns go by tiles, a run by itself
(:mod:`.narrow`). Data that fits a core's cache has no passes to share; there, each run is one compiled call
(:mod:`.small`).

What is guaranteed: every assignment is the one of float64 arithmetic (up to its own rounding at exact ties,
where the first center wins). Hence a run's answer depends on the data, its k and its start or seed alone: not
on the runs beside it, not on the number of threads.

Start, stopping rule and empty clusters follow scikit-learn: greedy k-means++ with 2 + log k candidates a
step; stop when no label changes, or when the squared moves of the centers sum to at most ``tol`` times the
mean variance of the columns; an empty cluster restarts at the row farthest from its center.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._base.parameters import relative_to_lightest
from ..runtime.floats import as_floats
from ..runtime.memory import ensure_fits
from ..runtime.threads import map_tasks, one_blas_thread, resolve_jobs
from .assign import assign as assign_rows
from .narrow import lloyd_either_way
from .rows import BLOCK, as_rows
from .small import Run, SmallRows, is_small, plus_plus, run_from
from .starts import choose_seeds, random_rows

#: Numbers held for the centers of one batch of runs (sums and centers in float64, screen in float32).
BATCH = 2**25

#: Bytes below which nobody asks whether they are free: that takes longer than a run of so few rows.
_TRIFLE = 1e6


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
    n_jobs: int | None = -1,
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
        Start from these centers.
    init : "k-means++" or "random"
        How to choose k rows to start from.
    max_iter, tol : the stopping rule (see the module).
    sample_weight : (n,) positive numbers
        Their unit does not matter: the runs depend on their ratios alone.
    n_jobs : threads; None for all cores
    on_done : called with the number of runs that have just finished
    keep_centers : False leaves ``centers`` empty: they can outweigh X, if runs are many or X is sparse
    check_memory : False where the caller knows that it fits: to ask takes longer than a run on small data

    Notes
    -----
    Time per iteration: one pass over the labels of dense rows, and for those that may have changed their
    cluster (:mod:`.gaps`) a product of q columns with the k centers of the run, q <= min(d, 125) where a few
    directions hold half the variance and q = d otherwise; for sparse rows that product every time. Memory
    beside X: 4 n (q + 4) bytes, 8 n m for labels and gaps. Up to 32 dense columns (4 for several runs) and
    128 clusters: 4 n (d + 3) bytes, 8 n m for labels, 12 n for each thread, and in every iteration the
    product for all rows until few of them can change.
    """
    X = as_floats(X)
    n, _ = X.shape
    ks = np.asarray(ks, dtype=np.int64)
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    _check_runs(X, ks, weight, inits)
    if check_memory:
        _ensure_runs(X, ks, keep_centers, n_jobs)
    given, weight = weight, relative_to_lightest(weight)
    unit = float(given[0] / weight[0])
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
                start = [rows.center(np.asarray(inits[r], dtype=np.float64)) for r in batch]
            else:
                assert seeds is not None
                rngs = [np.random.default_rng(seeds[r]) for r in batch]
                start = [rows.rows(index) for index in choose_seeds(rows, ks[batch], rngs, init)]
            found, n_iter[batch], converged[batch], ends = lloyd_either_way(
                rows, start, max_iter=max_iter, tol=tol * rows.mean_variance, on_done=on_done
            )
            labels[:, batch] = found.T
            for r, own, c in zip(batch, found, ends):
                inertia[r] = np.dot(rows.own_squares(c, own), weight)
                if keep_centers:
                    centers.append(rows.uncentre(c))
    return ManyKMeans(labels, _in_unit(inertia, unit), n_iter, converged, centers)


def _ensure_runs(X: Any, ks: np.ndarray, keep_centers: bool, n_jobs: int | None) -> None:
    """Refuse runs whose centers, scores or labels will not fit.

    Only what is certain to be in memory at the same time is counted.
    """
    (n, d), m, most = X.shape, len(ks), int(ks.max(initial=1))
    centers = 8.0 * d * (int(ks.sum()) if keep_centers else 0)
    if is_small(X):
        working = 8.0 * n * most * min(resolve_jobs(n_jobs), m)  # scores of all rows and centers of a run
    else:
        batch = max(int(ks[runs].sum()) for runs in _batches(ks, d))
        # Centers, their sums, those of the step before and the float32 screen; labels; distances of starts.
        working = 28.0 * d * batch + 8.0 * n * m + 4.0 * BLOCK * most
    if centers + working < _TRIFLE:
        return
    ensure_fits(
        centers + working,
        what=f"k-means with {m} runs of up to {most} clusters on {n} objects with {d} features",
        remedy="ask for fewer clusters or clusterings, or use fewer features (generate.random_features)",
    )


def _in_unit(inertia: np.ndarray, unit: float) -> np.ndarray:
    """Inertia in the unit of the given weights; infinite where it overflows."""
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
                plus_plus(rows, ks[r], rng) if init == "k-means++" else random_rows(rows.weight, ks[r], rng)
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


def nearest_centers(X: Any, centers: Sequence[np.ndarray], *, n_jobs: int | None = -1) -> np.ndarray:
    """Nearest center of every row, for each of m sets of centers: (n, m) int32.

    Exact as :func:`many_kmeans`.
    """
    X = as_floats(X)
    _check_centers(X, centers)
    with one_blas_thread():
        rows = as_rows(X, np.ones(X.shape[0]), n_jobs)
        stacked = np.vstack([rows.center(np.asarray(c, dtype=np.float64)) for c in centers])
        return assign_rows(rows, rows.stack(stacked, np.array([len(c) for c in centers]))).T


def _check_runs(X: Any, ks: np.ndarray, weight: np.ndarray, inits: Sequence[np.ndarray] | None) -> None:
    """Check what the compiled loops take for granted: rows, one weight each, and a center in every run."""
    n = X.shape[0]
    if n == 0 or weight.shape != (n,) or ks.ndim != 1 or (ks < 1).any() or (ks > n).any():
        raise ValueError(f"{weight.shape} weights and ks={ks} for {n} rows; expected (n,) and 1 <= k <= n.")
    if inits is not None:
        _check_centers(X, inits)
        if [len(c) for c in inits] != ks.tolist():
            raise ValueError(f"inits have {[len(c) for c in inits]} centers for ks={ks}.")


def _check_centers(X: Any, centers: Sequence[np.ndarray]) -> None:
    shapes = [np.shape(c) for c in centers]
    if not shapes or any(len(s) != 2 or s[0] == 0 or s[1] != X.shape[1] for s in shapes):
        raise ValueError(f"Centers of shapes {shapes}; expected (1 or more, {X.shape[1]}) each.")


def _batches(ks: np.ndarray, d: int) -> list[np.ndarray]:
    """Consecutive runs whose centers fit the working memory together."""
    batches, first = [], 0
    while first < len(ks):
        last = first + max(1, int(np.searchsorted(np.cumsum(ks[first:]) * d, BATCH, side="right")))
        batches.append(np.arange(first, min(last, len(ks))))
        first = last
    return batches
