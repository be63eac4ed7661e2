"""Rows that cannot have changed their cluster are passed over.

For a row x of a run, with u the distance to its own center and l that to the next nearest one, the gap l - u
is known once both were measured. When centers have moved, center j by v_j, the triangle inequality leaves of
it at least

    (l - u) - (v_own + max over the others of v),                                                  (1)

and as long as that is above 0 the row stays where it is. The moves of (1) are added up for each center, so
that a row that stays is read and not written: its gap, and the label that says with which sum to compare it.
A few steps after the start most rows of most runs stay, and a step costs one pass over labels and gaps
instead of a product with all centers.

Rows whose gap is used up are gathered, screened in float32 (:mod:`.screen`) and settled in float64 where that
leaves a doubt. Gaps are rounded down and moves up: what is passed over would have been given the label that
it has. Where two centers are equally near the gap is 0, and the first of them is chosen again every time.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
import scipy.linalg  # noqa: F401  the BLAS that compiled products call: loaded before threads are counted

from ..compile.jit import fast_kernel, kernel
from ..compile.vectors import dot
from ..runtime.threads import map_blocks
from .screen import WIDTH, Centers, Stack, two_smallest

#: Rows that one product screens, at most, and numbers of them: so that they stay in the first cache. No power
#: of two: columns would lie in the same lines of it.
CHUNK, NUMBERS = 240, 2**13
#: Columns up to which rows are gathered by columns: a product with so few takes half the time then.
NARROW = 48
#: Rows that stay in cache while one run after the other looks at them, at most; and bytes of them, but 256
#: rows.
CLOSE, CACHED = 4096, 2**19
#: Rows of one task, at least so many over all runs: less work than that is done before it is handed out. And
#: at most. No result depends on it.
FEWEST, MOST, TASKS = 2**14, 2**15, 32
#: Rows that are one of so many or fewer are fetched from memory beforehand.
SPARSE = 2


class Changes(NamedTuple):
    """Rows that changed their cluster, in their order within each run."""

    run: np.ndarray  # position among the runs that were looked at
    row: np.ndarray
    old: np.ndarray


class Looked(NamedTuple):
    """What compiled looks read of dense rows (n, d); lengths, remainders and blur as in :mod:`.screen`."""

    X: np.ndarray  # (n, d)
    middle: np.ndarray  # (d,) taken off X
    scale: float  # by which lengths are divided
    screen: np.ndarray  # (n, p) float32
    lengths: np.ndarray  # (n,) float32 |x|
    remainders: np.ndarray  # (n,) float32 |r(x)|
    blur: np.ndarray  # (n,) float32 w(x)
    turned: bool  # whether rows have remainders
    rounding: float  # g


class Runs(NamedTuple):
    """Runs that are looked at: changed in place are gaps and labels."""

    active: np.ndarray  # which of all runs
    used: np.ndarray  # (K,) float32, of the centers of the active runs: what is used up of gaps
    gaps: np.ndarray  # (m, n) float32
    labels: np.ndarray  # (m, n) int32


class _Space(NamedTuple):
    """Room for the work on one chunk of rows."""

    unsure: np.ndarray  # (CLOSE,) rows whose gap is used up
    gathered: np.ndarray  # (p * chunk,) their screens
    product: np.ndarray  # (most centers of a run * chunk,)
    smallest: np.ndarray  # (2 * WIDTH,) the two smallest bounds of each row
    where: np.ndarray  # (chunk,) the center of the smallest
    norms: np.ndarray  # (chunk,) |x|
    slack: np.ndarray  # (chunk,)
    limits: np.ndarray  # (chunk,)
    gap: np.ndarray  # (chunk,)
    x: np.ndarray  # (d,)
    moved: np.ndarray  # (chunk,) rows whose label changed
    old: np.ndarray  # (chunk,) their labels before
    touched: np.ndarray  # (1,)


class Gaps:
    """Labels of m runs, and how much of the gap of every row is left."""

    def __init__(self, rows, ks: np.ndarray, labels: np.ndarray):
        self.rows, self.labels = rows, labels  # (m, n) int32, changed in place
        self.gaps = np.zeros(labels.shape, dtype=np.float32)
        self.used = [np.zeros(k) for k in ks]  # sums of the moves of (1), in the units of the screen
        self._buffers = threading.local()

    def look(self, stack: Stack, active: np.ndarray, *, listed: bool) -> Changes:
        """Bring labels of the active runs up to the centers of ``stack``.

        Returns what changed, if that is to be listed.
        """
        n = self.rows.n_samples
        size = int(min(max(-(-FEWEST // len(active)), -(-n // TASKS)), MOST))
        used = np.concatenate([self.used[r] for r in active])
        used = (used * (1 + 2.0**-22)).astype(np.float32)
        rows, centers = self.rows.looked_at(), stack.part()
        runs = Runs(active, used, self.gaps, self.labels)

        def look(start: int, stop: int) -> Changes:
            lists = self._lists(len(active) * (stop - start) if listed else 0)
            count = _look(rows, stack.screen, centers, stack.offsets, runs, start, stop, lists)
            return Changes(*(numbers[:count].copy() for numbers in lists))

        parts = map_blocks(look, n, size=size, n_jobs=self.rows.n_jobs)
        return Changes(*map(np.concatenate, zip(*parts)))

    def moved(self, r: int, before: np.ndarray, after: np.ndarray) -> None:
        """The centers of run r have moved."""
        step = (after - before) / self.rows.scale
        moves = np.sqrt(np.einsum("ij,ij->i", step, step)) * (1 + 1e-9)
        others = np.full(len(moves), moves.max())
        if len(moves) > 1:
            farthest = moves.argmax()
            others[farthest] = np.delete(moves, farthest).max()
        self.used[r] += moves + others

    def _lists(self, size: int) -> Changes:
        """Space of this thread for as many changes as there can be."""
        if size == 0:
            return Changes(*(np.empty(0, dtype=np.int32) for _ in range(3)))
        kept = getattr(self._buffers, "lists", None)
        if kept is None or len(kept.run) < size:
            kept = self._buffers.lists = Changes(*(np.empty(size, dtype=np.int32) for _ in range(3)))
        return kept


@kernel
def _look(rows, screen, centers, offsets, runs, start, stop, changes):
    """Labels and gaps of the rows start..stop whose gap is used up; returns how many labels changed.

    The centers of run active[a] are offsets[a]..offsets[a + 1], and ``screen`` is theirs. Labels are
    positions among the centers of their run, before (0 at first) and after; ``changes`` has a place for every
    row of every active run, or none at all.
    """
    space = _make_space(rows, offsets)
    p, chunk = rows.screen.shape[1], space.where.size
    close = max(256, min(CLOSE, CACHED // (rows.X.shape[1] * rows.X.itemsize)))
    count = 0
    for near in range(start, stop, close):
        end = min(near + close, stop)
        for a in range(runs.active.size):
            r, first, last = runs.active[a], offsets[a], offsets[a + 1]
            own, used = _of_run(centers, first, last), runs.used[first:last]
            gaps, labels = runs.gaps[r], runs.labels[r]
            found = _unsure(gaps, labels, used, near, end, space.unsure)
            if p <= NARROW and found * SPARSE < end - near:
                _touch(rows.screen, space.unsure[:found], space.touched)
            for begin in range(0, found, chunk):
                chosen = space.unsure[begin : min(begin + chunk, found)]
                L = _bounds(rows, screen[first:last], own, chosen, space)
                moved = _renew(rows, own, used, chosen, L, space, gaps, labels)
                if changes.run.size:
                    for t in range(moved):
                        changes.run[count + t] = a
                        changes.row[count + t], changes.old[count + t] = space.moved[t], space.old[t]
                    count += moved
    return count


@kernel
def _make_space(rows, offsets):
    p, most = rows.screen.shape[1], 0
    for a in range(offsets.size - 1):
        most = max(most, offsets[a + 1] - offsets[a])
    chunk = max(16, min(CHUNK, NUMBERS // p))
    return _Space(
        np.empty(CLOSE, np.int64),
        np.empty(p * chunk, np.float32),
        np.empty(most * chunk, np.float32),
        np.empty(2 * WIDTH, np.float32),
        np.empty(chunk, np.int32),
        np.empty(chunk, np.float32),
        np.empty(chunk),
        np.empty(chunk),
        np.empty(chunk),
        np.empty(rows.X.shape[1]),
        np.empty(chunk, np.int64),
        np.empty(chunk, np.int32),
        np.empty(1, np.float32),
    )


@kernel
def _of_run(centers, first, last):
    return Centers(
        centers.exact[first:last],
        centers.half_squares[first:last],
        centers.least[first:last],
        centers.remainder[first:last],
        centers.margin[first:last],
    )


@kernel(forceinline=True)
def _bounds(rows, across, centers, chosen, space):
    """L (centers, chosen rows) without what :class:`.Centers` calls least.

    Fills in its two smallest with that.
    """
    screen, p, b, k = rows.screen, rows.screen.shape[1], chosen.size, across.shape[0]
    L = space.product[: k * b].reshape((k, b))
    if p <= NARROW:
        tile = space.gathered[: p * b].reshape((p, b))
        _gather_columns(screen, chosen, tile)
        np.dot(across, tile, L)
    else:
        if chosen[b - 1] - chosen[0] == b - 1:
            block = screen[chosen[0] : chosen[0] + b]
        else:
            block = space.gathered[: p * b].reshape((b, p))
            _gather(screen, chosen, block)
        np.dot(across, block.T, L)
    two_smallest(L, centers.least, 0, k, space.smallest, space.where)
    return L


@kernel(forceinline=True)
def _renew(rows, centers, used, chosen, L, space, gaps, labels):
    """Labels and gaps of the chosen rows from their bounds.

    Returns how many labels changed, listed in ``space``.
    """
    smallest, where, limits = space.smallest, space.where, space.limits
    moved = 0
    _slack_of(rows, centers, chosen, where, space.norms, space.slack)
    _gaps_of(chosen.size, space.norms, space.slack, rows.rounding, smallest, limits, space.gap)
    for t in range(chosen.size):
        i, j, left = chosen[t], where[t], space.gap[t]
        if smallest[WIDTH + t] <= limits[t]:
            best, other, j = _settle(rows, i, centers, L[:, t], limits[t], j, space.x)
            error = 1e-6 * (centers.margin[j] + rows.blur[i])
            left = _gap(rows.lengths[i], best + error, min(other, limits[t] - rows.blur[i]) - error)
        if not left > 0:  # also true for NaN
            left = 0.0
        gaps[i] = (left * (1 - 4e-6) + used[j]) * (1 - 2.0**-21)
        if j != labels[i]:
            space.moved[moved], space.old[moved] = i, labels[i]
            moved += 1
            labels[i] = j
    return moved


@kernel
def _unsure(gaps, labels, used, start, stop, out):
    """Rows whose gap is used up."""
    count = 0
    for i in range(start, stop):
        out[count] = i
        count += not gaps[i] > used[labels[i]]
    return count


@fast_kernel(forceinline=True)
def _touch(screen, chosen, out):
    """Read one number of each row and nothing else, so that the processor waits for many of them at once."""
    total = np.float32(0)
    for i in chosen:
        total += screen[i, 0]
    out[0] = total


@kernel
def _gather_columns(screen, chosen, out):
    for t in range(chosen.size):
        row = screen[chosen[t]]
        for c in range(row.size):
            out[c, t] = row[c]


@kernel
def _gather(screen, chosen, out):
    for t in range(chosen.size):
        i = chosen[t]
        for c in range(screen.shape[1]):
            out[t, c] = screen[i, c]


@fast_kernel(forceinline=True)
def _gap(norm, own, other):
    """l - u from scores: |x - c|^2 = |x|^2 + 2 s(x, c).

    The larger |x|, the smaller it is: a bound on |x| from above will do.
    """
    square = np.float64(norm) * np.float64(norm)
    near, far = max(square + 2.0 * own, 0.0), max(square + 2.0 * other, 0.0)
    # What float32 rounds here is less than what is taken off a gap before it is kept.
    both = np.sqrt(np.float32(far)) + np.sqrt(np.float32(near)) + np.float32(1e-30)
    return np.float64(np.float32(far - near) / both)


@kernel
def _slack_of(rows, centers, chosen, where, norms, slack):
    """|x|, and how far the bound of the nearest center may be off without the row's blur.

    Rows that are not turned have no remainder.
    """
    lengths, margin = rows.lengths, centers.margin
    for t in range(chosen.size):
        norms[t] = lengths[chosen[t]]
        slack[t] = margin[where[t]]
    if rows.turned:
        far, remainder = rows.remainders, centers.remainder
        for t in range(chosen.size):
            slack[t] += far[chosen[t]] * remainder[where[t]]


@fast_kernel(forceinline=True)
def _gaps_of(size, norms, slack, rounding, smallest, limits, gap):
    for t in range(size):
        norm = np.float64(norms[t])
        w = rounding * 1.01 / 2 * norm * norm + 2.0**-96
        limits[t] = smallest[t] + 2.0 * (slack[t] + w)
        gap[t] = _gap(norm, limits[t] - w, smallest[WIDTH + t] - w)


@fast_kernel(forceinline=True)
def _settle(rows, i, centers, bounds, limit, screened, x):
    """(smallest score, second smallest, center of the smallest) of row i, exact and over scale^2.

    Only centers whose bound is not above the limit are looked at.
    """
    scale, half_squares, least = rows.scale, centers.half_squares, centers.least
    _center(rows.X[i], rows.middle, x)
    best, other, where = 1.7e308, 1.7e308, screened
    for j in range(bounds.size):
        if bounds[j] + least[j] <= limit:
            score = half_squares[j] - dot(x, centers.exact[j])
            if score < best:
                best, other, where = score, best, j
            elif score < other:
                other = score
    return best / scale / scale, other / scale / scale, where


@kernel
def _center(row, middle, out):
    for c in range(row.size):
        out[c] = np.float64(row[c]) - middle[c]
