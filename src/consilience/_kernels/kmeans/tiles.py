"""Nearest centers of many rows of few columns, by tiles of rows held by columns.

In a tile the same column of TILE rows lies side by side, so that one instruction works on eight rows or more,
and nothing is gathered: all distances of a row to ten centers in four columns cost 3 ns, where a bound on
them that may save this costs 10 to keep. What is computed are the bounds L of :mod:`.screen` in float32; a
row whose two smallest ones leave a doubt is settled in float64, as there.

Where centers and columns are more, or once few rows are near enough to change, the gaps of :mod:`.gaps` pay:
then only rows whose gap is used up are looked at, gathered from several tiles into one, or as their tile if
they are many of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.linalg  # noqa: F401  the BLAS that compiled products call: loaded before threads are counted

from ..compile.jit import fast_kernel, kernel
from ..compile.vectors import dot
from .screen import BEYOND, LOOSE, NO_MORE, WIDTH, insert, two_smallest

#: Rows of a tile. A multiple of 16, which is what one instruction works on at most, and no power of two:
#: columns would lie in the same lines of the cache.
TILE = 240
#: Columns up to which distances are computed here, with nothing written between; beyond, BLAS is faster
#: (measured, k = 10: 3.4 against 4.5 ns a row for 4 columns; 15 against 10 for 16).
FUSED = 4
#: Centers that are compared at a time there.
TOGETHER = 5
#: Share of a tile's rows from which on it is looked at as it is, with nothing gathered.
DENSE = 0.5
#: Before gaps are kept, those of one tile in so many are looked at.
SAMPLED = 16


class TiledRows(NamedTuple):
    """Rows (n, d), and the same by tiles."""

    tiles: np.ndarray  # (tiles, d, TILE) float32
    lengths: np.ndarray  # (n,) float32 |x| in the units of the screen
    X: np.ndarray  # (n, d)
    middle: np.ndarray  # (d,) taken off X
    scale: float  # by which lengths are divided
    rounding: float  # g of :mod:`.screen`


class TiledCenters(NamedTuple):
    """The k centers of one run.

    ``across`` and ``least`` are padded and filled as by :func:`screen_centers`.
    """

    across: np.ndarray  # (k or more, d or more) float32
    least: np.ndarray  # (k or more,) float32
    margin: float  # the largest m(c)
    exact: np.ndarray  # (k, d) float64
    half_squares: np.ndarray  # (k,)


class State(NamedTuple):
    """What a run knows of its rows. Changed in place are labels and gaps."""

    labels: np.ndarray  # (n,) int32 below k
    gaps: np.ndarray  # (n,) float32, or (0,) where they are not kept
    used: np.ndarray  # (k,) of the gaps of a center's rows
    steps: np.ndarray  # (k,) a gap above this is wide
    bounded: bool  # whether gaps are kept, and rows passed over


class _Found(NamedTuple):
    """What the bounds say of the rows of a tile."""

    smallest: np.ndarray  # (3 * WIDTH,) the two smallest bounds of each
    where: np.ndarray  # (TILE,) the center of the smallest
    doubt: np.ndarray  # (TILE,) how far apart the two must be
    gap: np.ndarray  # (TILE,)
    x: np.ndarray  # (d,) room for one row


class _Tile(NamedTuple):
    """Rows in a tile: those from ``first`` on if it is a whole one, else gathered from ``places``."""

    labels: np.ndarray
    lengths: np.ndarray
    places: np.ndarray  # (TILE,)
    first: int
    whole: bool


def n_tiles(n: int) -> int:
    return -(-n // TILE)


def padded(k: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Room for what :func:`screen_centers` fills: (centers, columns), and one number for each center.

    The number of centers is a multiple of what is compared at a time.

    What is not filled is a center that is nowhere near, or a column of zeros.
    """
    centers = -(-k // TOGETHER) * TOGETHER
    return np.zeros((centers, max(d, FUSED)), np.float32), np.full(centers, NO_MORE, np.float32)


@kernel
def fill_tiles(X, middle, scale, tiles, start, stop):
    """Fill tiles start..stop from the rows of X, in the units of the screen.

    Places after the last row stay unchanged.
    """
    unit = 1.0 / scale
    for t in range(start, stop):
        first = t * TILE
        tile = tiles[t]
        for i in range(first, min(first + TILE, X.shape[0])):
            for c in range(X.shape[1]):
                tile[c, i - first] = (np.float64(X[i, c]) - middle[c]) * unit


@kernel
def screen_centers(centers, scale, rounding, across, least):
    """The centers' side of L: -c by columns, |c|^2 / 2 - m(c); returns the largest m(c).

    Centers far beyond all rows are as in :meth:`.screen.Stack.limit`: so loose that float64 decides.
    """
    largest = 0.0
    for j in range(centers.shape[0]):
        square = 0.0
        for c in range(centers.shape[1]):
            x = centers[j, c] / scale
            square += x * x
            across[j, c] = -x
        margin = rounding * square
        least[j] = square / 2 - margin
        if not square <= BEYOND * BEYOND:  # also true for NaN
            for c in range(centers.shape[1]):
                across[j, c] = 0.0
            least[j], margin = BEYOND * BEYOND / 4, LOOSE
        largest = max(largest, margin)
    return largest


@kernel
def look_at_tiles(rows, centers, state, changes, start, stop):
    """Labels of the rows in the tiles start..stop.

    Where ``state`` is bounded, only rows whose gap is used up are looked at, else all.

    changes: room for one of each row; filled with row * 2^32 + label before, rising.
    Returns how many labels changed and, unless bounded, in how many rows of one in SAMPLED tiles the gap is
    above ``steps`` of the label.
    """
    X, middle, unit, labels, bounded = rows.X, rows.middle, 1.0 / rows.scale, state.labels, state.bounded
    k, d = centers.exact.shape
    space = _Found(
        np.empty(3 * WIDTH, np.float32),
        np.empty(TILE, np.int32),
        np.empty(TILE, np.float32),
        np.empty(TILE, np.float32),
        np.empty(d),
    )
    product, noted = np.empty((k if d > FUSED else 0, TILE), np.float32), np.empty(TILE, np.int64)
    # Rows that are gathered from several tiles, and their places, labels and lengths.
    gathered, places = np.zeros((d, TILE), np.float32), np.empty(TILE, np.int64)
    its_labels, its_lengths = np.empty(TILE, np.int32), np.empty(TILE, np.float32)
    filled = count = wide = 0
    t = start
    while t < stop or filled:
        first = t * TILE
        b = min(TILE, rows.lengths.size - first) if t < stop else 0
        unsure = _unsure(state.gaps, labels, state.used, first, b, noted) if bounded else b
        many = unsure > b * DENSE
        # What was gathered goes first where there is no room for more, or a tile follows as it is: changes
        # are listed in their order.
        whole, size = many and filled == 0, filled if many or filled + unsure > TILE or t == stop else 0
        if whole:
            values, size = rows.tiles[t], b
            tile = _Tile(labels[first : first + b], rows.lengths[first : first + b], places, first, whole)
        else:
            values = gathered
            tile = _Tile(its_labels[:size], its_lengths[:size], places, first, whole)
        if size > 0:
            _bound(values, tile, rows.rounding, centers, product, bounded or t % SAMPLED == 0, space)
            count += _relabel(space, tile, rows, centers, labels, changes[count:])
            if bounded:
                _keep_gaps(space.gap, tile, state)
            elif t % SAMPLED == 0:
                wide += _above(space.gap, state.steps, tile.labels)
            filled = 0
        else:
            _touch(X, noted[:unsure], space.x)
            for i in noted[:unsure]:
                for c in range(d):
                    gathered[c, filled] = (np.float64(X[i, c]) - middle[c]) * unit
                places[filled], its_labels[filled], its_lengths[filled] = i, labels[i], rows.lengths[i]
                filled += 1  # noqa: SIM113 - it goes on from tile to tile
        t += whole or size == 0
    return count, wide


@kernel(forceinline=True)
def _bound(values, tile, rounding, centers, product, with_gaps, found):
    """The two smallest bounds of each row of a tile, what leaves it in doubt, and its gap if asked for."""
    least, k = centers.least, len(centers.exact)
    if product.shape[0]:
        np.dot(centers.across[:k], values, product)
        two_smallest(product, least, 0, k, found.smallest, found.where)
    else:
        _two_nearest(values, centers.across, least, found.smallest, found.where)
    _doubts(centers.margin, rounding, tile.lengths, found.doubt)
    if with_gaps:
        _gaps_of(found.smallest, found.doubt, tile.lengths, found.gap)


@kernel(forceinline=True)
def _relabel(found, tile, rows, centers, labels, changes):
    """New labels of the rows of a tile, those in doubt settled; returns how many changes are noted."""
    smallest, where, doubt = found.smallest, found.where, found.doubt
    places, first, whole = tile.places, tile.first, tile.whole
    X, middle, exact, half_squares = rows.X, rows.middle, centers.exact, centers.half_squares
    noteworthy = np.empty(TILE, np.int32)
    count = 0
    for s in noteworthy[: _noteworthy(smallest, where, doubt, tile.labels, noteworthy)]:
        i, j = first + s if whole else places[s], min(np.int64(where[s]), len(exact) - 1)
        if not smallest[WIDTH + s] - smallest[s] > doubt[s]:  # also true for NaN
            j = _nearest(X[i], middle, exact, half_squares, j, found.x)
        if j != labels[i]:
            changes[count] = (i << 32) | np.int64(labels[i])
            count += 1
            labels[i] = j
    return count


@kernel(forceinline=True)
def _keep_gaps(gap, tile, state):
    """Gaps of the rows of a tile, with what is used by now added; rounded down."""
    used, labels, gaps = state.used, state.labels, state.gaps
    places, first, whole = tile.places, tile.first, tile.whole
    for s in range(tile.lengths.size):
        i = first + s if whole else places[s]
        gaps[i] = (gap[s] * (1 - 4e-6) + used[labels[i]]) * (1 - 2.0**-21)


@kernel(forceinline=True)
def _above(gap, steps, labels):
    count = 0
    for s in range(labels.size):
        count += gap[s] > steps[labels[s]]
    return count


@fast_kernel(forceinline=True)
def _touch(X, rows, out):
    """Read the ends of each row and nothing else, so that the processor waits for many of them at once."""
    total = 0.0
    for i in rows:
        total += X[i, 0] + X[i, X.shape[1] - 1]
    out[0] = total


@kernel(forceinline=True)
def _unsure(gaps, labels, used, first, size, noted):
    """Rows of a tile whose gap is used up; returns how many."""
    count = 0
    for i in range(first, first + size):
        noted[count] = i
        count += not gaps[i] > used[labels[i]]
    return count


@kernel(forceinline=True)
def _doubts(margin, rounding, lengths, doubt):
    """How far apart the two smallest bounds of each row must be.

    That is 2 (m(c) + w(x)), and a little more for what float32 rounds here.
    """
    most, share = np.float32(2.002 * margin + 2.0**-94), np.float32(2.002 * 1.01 / 2 * rounding)
    for s in range(lengths.size):
        doubt[s] = most + share * lengths[s] * lengths[s]


@kernel(forceinline=True)
def _noteworthy(found, where, doubt, labels, out):
    """Places of a tile whose nearest center is another than before, or in doubt; returns how many."""
    for s in range(labels.size):  # a loop of its own: this one becomes vector code
        out[s] = (where[s] != labels[s]) | (not found[WIDTH + s] - found[s] > doubt[s])
    count = 0
    for s in range(labels.size):
        noteworthy = out[s]
        out[count] = s
        count += noteworthy
    return count


@kernel(forceinline=True)
def _gaps_of(found, doubt, lengths, gaps):
    """l - u = 2 (s(x, c) - s(x, own)) / (l + u) of :mod:`.gaps` from below.

    l and u are taken from above: what float32 rounds of |x|^2 + 2 s is below 2^-20 (|x|^2 + |s|).
    """
    for s in range(lengths.size):
        low, high = found[s], found[WIDTH + s]
        square = lengths[s] * lengths[s]
        blur = np.float32(2.0**-20) * (square + abs(low) + abs(high)) + np.float32(1e-30)
        near = max(square + np.float32(2) * low + doubt[s], np.float32(0)) + blur
        far = max(square + np.float32(2) * high, np.float32(0)) + blur
        gap = np.float32(2) * (high - low - doubt[s]) / (np.sqrt(far) + np.sqrt(near))
        gaps[s] = gap if gap > 0 else np.float32(0)  # also true for NaN


@fast_kernel(forceinline=True)
def _nearest(row, middle, centers, half_squares, where, x):
    """The first of the centers with the smallest score in float64; ``where`` if none is a number."""
    for c in range(row.size):
        x[c] = np.float64(row[c]) - middle[c]
    best = 1.7e308
    for j in range(half_squares.size):
        score = half_squares[j] - dot(x, centers[j])
        if score < best:
            best, where = score, j
    return where


@fast_kernel(forceinline=True)
def _two_nearest(tile, across, least, found, where):
    """The two smallest bounds of each row of a tile of at most FUSED columns.

    The form is that of :func:`.screen.two_smallest`.
    """
    for s in range(TILE):
        found[s], found[WIDTH + s] = NO_MORE, NO_MORE
        found[2 * WIDTH + s] = np.float32(0)
    last = tile.shape[0] - 1
    # Columns that are not there are the last one again, times zero.
    x0, x1, x2, x3 = tile[0], tile[min(1, last)], tile[min(2, last)], tile[min(3, last)]
    for j in range(0, least.size, TOGETHER):
        _five_centers(x0, x1, x2, x3, across[j : j + TOGETHER], least[j : j + TOGETHER], found, j)
    for s in range(TILE):
        where[s] = np.int32(found[2 * WIDTH + s])


@fast_kernel(forceinline=True)
def _five_centers(x0, x1, x2, x3, across, least, found, j):
    """Five centers at a time: results are read and written less often.

    Places are kept as float32, beside the bounds: of one array the compiler sees that its parts do not
    overlap.
    """
    a, b, c, d, e = across[0], across[1], across[2], across[3], across[4]
    a0, a1, a2, a3, a4 = a[0], a[1], a[2], a[3], least[0]
    b0, b1, b2, b3, b4 = b[0], b[1], b[2], b[3], least[1]
    c0, c1, c2, c3, c4 = c[0], c[1], c[2], c[3], least[2]
    d0, d1, d2, d3, d4 = d[0], d[1], d[2], d[3], least[3]
    e0, e1, e2, e3, e4 = e[0], e[1], e[2], e[3], least[4]
    j0, j1, j2 = np.float32(j), np.float32(j + 1), np.float32(j + 2)
    j3, j4 = np.float32(j + 3), np.float32(j + 4)
    for s in range(TILE):
        x, y, z, u = x0[s], x1[s], x2[s], x3[s]
        now = found[s], found[WIDTH + s], found[2 * WIDTH + s]
        now = insert(a4 + a0 * x + a1 * y + a2 * z + a3 * u, j0, *now)
        now = insert(b4 + b0 * x + b1 * y + b2 * z + b3 * u, j1, *now)
        now = insert(c4 + c0 * x + c1 * y + c2 * z + c3 * u, j2, *now)
        now = insert(d4 + d0 * x + d1 * y + d2 * z + d3 * u, j3, *now)
        now = insert(e4 + e0 * x + e1 * y + e2 * z + e3 * u, j4, *now)
        found[s], found[WIDTH + s], found[2 * WIDTH + s] = now
