"""Rows that k-means starts from: greedy k-means++ for many runs at a time, or rows drawn at random."""

from __future__ import annotations

import numpy as np

from ._jit import kernel
from .kmeans_rows import BLOCK, Rows
from .parallel import map_blocks, map_tasks


def choose_seeds(rows: Rows, ks: np.ndarray, rngs: list[np.random.Generator], init: str) -> list[np.ndarray]:
    """Rows to start from, one array of k_r row numbers for each run."""
    if init == "random":
        return [random_rows(rows.weight, k, rng) for k, rng in zip(ks, rngs)]
    return greedy_plus_plus(rows, ks, rngs)


def random_rows(weight: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
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
