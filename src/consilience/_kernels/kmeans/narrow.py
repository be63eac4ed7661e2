"""Lloyd's steps on many rows of few columns: each run by itself, by tiles (:mod:`.tiles`).

The answers are those of :mod:`.lloyd` to the last bit: labels are those of float64 arithmetic in both, and
sums are corrected for the same rows in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ..compile.jit import kernel
from ..runtime.threads import map_blocks, map_tasks
from .lloyd import lloyd
from .means import means
from .rows import DenseRows, Rows
from .tiles import (
    SAMPLED,
    TILE,
    State,
    TiledCenters,
    TiledRows,
    fill_tiles,
    look_at_tiles,
    n_tiles,
    padded,
    screen_centers,
)

T = TypeVar("T")

#: Columns and centers up to which tiles are used. Measured up to 32 and 100 (benchmarks/bench_kmeans.py,
#: --grid): from 0.9 (32 columns, 10 centers, no clusters) to 2.3 times as fast as passes that runs share.
COLUMNS, CENTERS = 32, 128
#: Columns up to which several runs go by tiles. Beyond, what they share of a pass is worth more (measured on
#: 100,000 rows of 16 columns, 6 runs of 20 to 60 centers: tiles take 1.02 to 1.14 times the CPU time; of 4
#: columns, 8 runs of 5 to 15 centers, 0.6 to 0.85 times).
SEVERAL = 4
#: Products of one task at least, and tiles: less is done before it is handed out. And tiles at most. No
#: result depends on it.
PRODUCTS, FEWEST, MOST = 2**25, 136, 1024
#: Moves of the centers, as large as the last ones, that a row must be far from changing for its gap to save
#: work. About as many rows as are nearer than two are looked at in each step when gaps are kept.
STEPS = 2.0


def lloyd_either_way(
    rows: Rows,
    starts: list[np.ndarray],
    *,
    max_iter: int,
    tol: float,
    on_done: Callable[[int], Any] | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[np.ndarray]]:
    """:func:`.lloyd.lloyd`, with runs by tiles where these are faster."""
    narrow = [r for r, c in enumerate(starts) if by_tiles(rows, len(c), len(starts))]
    others = [r for r, c in enumerate(starts) if not by_tiles(rows, len(c), len(starts))]
    if not narrow or not isinstance(rows, DenseRows):
        return lloyd(rows, starts, max_iter=max_iter, tol=tol, on_done=on_done)
    labels = np.zeros((len(starts), rows.n_samples), dtype=np.int32)
    n_iter, converged = np.zeros(len(starts), dtype=np.int64), np.zeros(len(starts), dtype=bool)
    centers = list(starts)
    if others:
        given = [starts[r] for r in others]
        labels[others], n_iter[others], converged[others], ends = lloyd(
            rows, given, max_iter=max_iter, tol=tol, on_done=on_done
        )
        for r, c in zip(others, ends):
            centers[r] = c
    tiles = Tiles(rows)

    def go(r: int) -> None:
        run = Run(tiles, starts[r], labels[r])
        n_iter[r], converged[r] = run.go(max_iter, tol)
        centers[r] = run.centers
        if on_done is not None:
            on_done(1)

    map_tasks(go, narrow, n_jobs=rows.n_jobs)
    return labels, n_iter, converged, centers


def by_tiles(rows: Rows, k: int, runs: int) -> bool:
    """Whether tiles are the faster way.

    Rows that are turned have fewer columns to multiply; sums of far ones are made again in each step.
    """
    return (
        isinstance(rows, DenseRows)
        and rows.directions is None
        and not rows.far
        and rows.n_features <= (COLUMNS if runs == 1 else min(COLUMNS, SEVERAL))
        and k <= CENTERS
    )


class Tiles:
    """Rows by tiles: 4 n d bytes, in the place of the screen."""

    def __init__(self, rows: DenseRows):
        rows.drop_screen()
        self.rows = rows
        self.values = np.zeros((n_tiles(rows.n_samples), rows.n_features, TILE), np.float32)
        data = rows.X, rows.middle, rows.scale, self.values
        self.map(lambda a, b: fill_tiles(*data, a, b), 1)

    def map(self, work: Callable[[int, int], T], k: int) -> list[T]:
        """Work on so many tiles at a time that products with k centers are worth handing out."""
        size = min(max(PRODUCTS // (TILE * self.rows.n_features * k), FEWEST), MOST)
        return map_blocks(work, len(self.values), size=size, n_jobs=self.rows.n_jobs)


class Run:
    """One run from its start: labels (n,) int32, 0 at first and changed in place.

    Keeps 12 n bytes while it runs.
    """

    def __init__(self, tiles: Tiles, centers: np.ndarray, labels: np.ndarray):
        self.tiles, self.rows, self.labels = tiles, tiles.rows, labels
        self.centers = np.ascontiguousarray(centers)
        k, d = centers.shape
        self.sums = np.zeros((k, d + 1))  # the last column is the mass of the cluster
        self.screen = padded(k, d)
        self.changes = np.empty(len(labels), dtype=np.int64)
        self.bounded, self.gaps = False, np.zeros(0, np.float32)
        self.used, self.step = np.zeros(k), np.full(k, np.inf)  # of gaps: in all, and in the last step
        self.few = few_enough(k, d)

    def go(self, max_iter: int, tol: float) -> tuple[int, bool]:
        """(iterations, whether converged), by the rule of :func:`.lloyd.lloyd`."""
        data = self.rows.X, self.rows.middle, self.rows.weight
        n_iter = 0
        while True:
            firsts, counts = self.look()
            if n_iter == 0:
                _add_rows(*data, self.labels, self.sums)
            else:
                _move_rows(*data, self.changes, firsts, counts, self.labels, self.sums)
            before = self.centers
            self.centers = means(self.rows, before, self.sums, self.labels)
            n_iter += 1
            if n_iter > 1 and not counts.any():
                return n_iter, True
            squares = (self.centers - before) ** 2
            converged = bool(squares.sum() <= tol)
            self.moved(np.sqrt(squares.sum(axis=1)) * ((1 + 1e-9) / self.rows.scale))
            if converged or n_iter == max_iter:
                self.look()  # centers stand; labels are read off once more
                return n_iter, converged

    def moved(self, moves: np.ndarray) -> None:
        """What is used of the gaps, Eq. (1) of :mod:`.gaps`.

        The move of the own center and the largest of the others.
        """
        farthest = moves.argmax()
        self.step = moves + moves[farthest]
        moves[farthest] = 0.0
        self.step[farthest] += moves.max() - self.step[farthest] / 2
        self.used += self.step

    def look(self) -> tuple[np.ndarray, np.ndarray]:
        """Bring labels up to the centers.

        Returns where the changes of each task begin in the lists, and how many there are.
        """
        rows, tiles, n = self.rows, self.tiles, len(self.labels)
        margin = screen_centers(self.centers, rows.scale, rows.rounding, *self.screen)
        half_squares = np.einsum("ij,ij->i", self.centers, self.centers) / 2
        data = TiledRows(tiles.values, rows.lengths, rows.X, rows.middle, rows.scale, rows.rounding)
        centers = TiledCenters(*self.screen, margin, self.centers, half_squares)
        state = State(self.labels, self.gaps, self.used, STEPS * self.step, self.bounded)

        def look(start: int, stop: int) -> tuple[int, int, int]:
            changes = self.changes[start * TILE :]
            count, wide = look_at_tiles(data, centers, state, changes, start, stop)
            return start * TILE, count, wide

        found = np.array(tiles.map(look, len(self.centers)))
        if not self.bounded and n - found[:, 2].sum() * SAMPLED < self.few * n:
            # All gaps count as used up: every row is looked at once more.
            self.bounded, self.gaps = True, np.zeros(n, np.float32)
        return found[:, 0], found[:, 1]


def few_enough(k: int, d: int) -> float:
    """Share of rows to be looked at below which it pays to keep gaps.

    Measured on 100,000 rows, in ns: a row of a tile with its distances to all centers (``each``); 2 to find
    out that a gap is not used up; and 45 to gather a row and to keep its gap.
    """
    each = 0.17 * k + 0.022 * k * d + 0.43 * d
    return (each - 2) / (each + 45)


@kernel
def _add_rows(X, middle, weight, labels, sums):
    """Every row to the sum of its cluster, in the order of the rows."""
    d = X.shape[1]
    for i in range(labels.size):
        into, w = sums[labels[i]], weight[i]
        for c in range(d):
            into[c] += w * (np.float64(X[i, c]) - middle[c])
        into[d] += w


@kernel
def _move_rows(X, middle, weight, changes, firsts, counts, labels, sums):
    """Move changed rows from the sum of the old cluster to that of the new one, in the order of the lists."""
    d = X.shape[1]
    for part in range(firsts.size):
        for change in changes[firsts[part] : firsts[part] + counts[part]]:
            i = change >> 32
            into, out_of, w = sums[labels[i]], sums[change & 0xFFFFFFFF], weight[i]
            for c in range(d):
                x = w * (np.float64(X[i, c]) - middle[c])
                into[c] += x
                out_of[c] -= x
            into[d] += w
            out_of[d] -= w
