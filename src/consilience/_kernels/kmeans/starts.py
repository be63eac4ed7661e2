"""Rows that k-means starts from: greedy k-means++ for many runs at a time, or rows drawn at random."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ..runtime.threads import map_tasks
from .rows import BLOCK, Rows

#: Largest number of candidates of a step: each has a bit in the note of which would be nearest to a row.
MOST_TRIALS = 16


def choose_seeds(rows: Rows, ks: np.ndarray, rngs: list[np.random.Generator], init: str) -> list[np.ndarray]:
    """Rows to start from, one array of k_r row numbers for each run."""
    if init == "random":
        return [random_rows(rows.weight, k, rng) for k, rng in zip(ks, rngs)]
    return greedy_plus_plus(rows, ks, rngs)


def random_rows(weight: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    p = None if np.all(weight == weight[0]) else weight / weight.sum()
    return rng.choice(weight.size, size=k, replace=False, p=p)


def greedy_plus_plus(rows: Rows, ks: np.ndarray, rngs: list[np.random.Generator]) -> list[np.ndarray]:
    """k-means++ with 2 + log k candidates a step; the one that lowers the sum of squares most is kept.

    All candidates of all runs share the passes. Distances are along the kept directions only: a start
    need not be exact, and equal rows still have distance zero.
    """
    n, m, weight = rows.n_samples, len(ks), rows.weight
    trials = np.minimum(2 + np.log(ks).astype(np.int64), MOST_TRIALS)
    by_weight = np.add.reduceat(weight, np.arange(0, n, BLOCK))
    chosen = [np.empty(k, dtype=np.int64) for k in ks]
    for index, rng in zip(chosen, rngs):
        index[0] = _draw(weight, by_weight, rng.random(1))[0]
    closest = np.full((m, n), np.finfo(np.float32).max, dtype=np.float32)
    nearer = np.zeros((m, n), dtype=np.uint16)  # bit t: candidate t would be nearer to the row than any seed
    left = np.empty((m, len(by_weight)))  # sums of squares over blocks of rows, by the seeds so far

    def extend(drawn: list[np.ndarray], active: np.ndarray, step: int) -> None:
        """Try what was drawn for the active runs, and keep the best for each."""
        index = np.concatenate(drawn)
        sizes = np.array([len(candidates) for candidates in drawn])
        firsts = np.concatenate([[0], np.cumsum(sizes)])
        seeds = rows.seeds(index)
        parts = rows.left_over(seeds, active, firsts, closest, nearer)  # (blocks, candidates)
        best = [f + int(parts[:, f:t].sum(axis=0).argmin()) for f, t in pairwise(firsts)]
        for r, t in zip(active, best):
            chosen[r][step], left[r] = index[t], parts[:, t]
        rows.approach(seeds, active, np.array(best), np.array(best) - firsts[:-1], closest, nearer)

    def draw(r: int) -> np.ndarray:
        # Where every row sits on a chosen one any will do, and Lloyd's empty clusters sort it out.
        mass, by_block = (closest[r], left[r]) if left[r].sum() > 0 else (None, by_weight)
        return _draw(weight, by_block, rngs[r].random(trials[r]), mass)

    extend([index[:1] for index in chosen], np.arange(m), 0)
    for step in range(1, int(ks.max(initial=1))):
        active = np.flatnonzero(ks > step)
        extend(map_tasks(draw, list(active), n_jobs=rows.n_jobs), active, step)
    return chosen


def _draw(
    weight: np.ndarray, by_block: np.ndarray, tickets: np.ndarray, mass: np.ndarray | None = None
) -> np.ndarray:
    """Rows drawn in proportion to weight times mass.

    ``by_block`` holds its sums over blocks of rows.
    """
    heap = np.cumsum(by_block)
    drawn = np.empty(len(tickets), dtype=np.int64)
    for t, ticket in enumerate(tickets * heap[-1]):
        block = min(int(np.searchsorted(heap, ticket, side="right")), len(heap) - 1)
        start = block * BLOCK
        own = weight[start : start + BLOCK]
        within = np.cumsum(own if mass is None else own * mass[start : start + BLOCK])
        # As a share of this block, below 1: a row of no mass is never drawn.
        share = (ticket - (heap[block - 1] if block else 0.0)) / by_block[block]
        drawn[t] = start + np.searchsorted(within, min(share, 1 - 2.0**-53) * within[-1], side="right")
    return drawn
