"""Scores of all centers bounded in float32, by which most rows find their nearest center.

Writing x for a row with the middle taken off (dense) or as it is (sparse), and c for a center, all
questions are about the score  s(x, c) = |c|^2 / 2 - x'c, whose smallest value over c marks the nearest
center.

Scores are first bounded from below in float32, for every row and center at once by one matrix product, and
settled in float64 only where the bounds leave a doubt. Dense rows are also turned to their leading principal
directions R (d, q), found on a sample; with the remainder r(c) = c - R R'c,

    x'c = (R'x)'(R'c) + x'r(c),        |x'r(c)| <= |r(x)| |r(c)|,                                          (1)

and centers, being averages, have small remainders. So the product runs over q instead of d columns, and

    L(x, c) = |c|^2 / 2 - (R'x)'(R'c) - |r(x)| |r(c)| - m(c),       m(c) = g |c|^2,
    L(x, c) - w(x)  <=  s(x, c)  <=  L(x, c) + 2 ( |r(x)| |r(c)| + m(c) ) + w(x),     w(x) = g |x|^2 / 2,  (2)

with g = (q + 11) 2^-24: the float32 rounding of the operands and of a product of q + 2 terms in any order of
summation is at most g ( |x| |c| + |c|^2 / 2 + |r(x)| |r(c)| ), where |x| |c| is at most the mean of their
squares. So what rounding blurs is a share of the row and one of the center; the remainders take one more
column, and rows that are not turned none.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from ..compile.jit import fast_kernel

UNIT = 2.0**-24  # rounding unit of float32
#: Lengths, in units of the longest row, from which on the squares of centers may not fit into float32.
BEYOND = 1e18
#: An error of a bound that leaves every center in doubt, and is still finite in float32 when doubled.
LOOSE = 1e37
#: The second smallest bound where there is one center: still finite in float32 when doubled.
NO_MORE = np.float32(1e38)
#: Columns of which :func:`two_smallest` keeps what it finds, at least one block. No power of two: processors
#: take addresses a multiple of 4 kB apart for the same one at first.
WIDTH = 1040


class Centers(NamedTuple):
    """The centers of one or several runs (K of them), in the form compiled code takes them."""

    exact: np.ndarray  # (K, d) float64
    half_squares: np.ndarray  # (K,) |c|^2 / 2
    least: np.ndarray  # (K,) float32 |c|^2 / 2 - m(c)
    remainder: np.ndarray  # (K,) |r(c)|
    margin: np.ndarray  # (K,) m(c)


class Doubt(NamedTuple):
    """Rows of a block whose nearest center the bounds leave open."""

    run: np.ndarray  # (count,) int32
    row: np.ndarray  # (count,) int32, within the block
    limit: np.ndarray  # (count,) the bound above which a center is out


class Stack:
    """Centers of several runs on top of each other, in the form the float32 product needs."""

    def __init__(self, centers: np.ndarray, sizes: np.ndarray):
        self.centers = centers  # (K, d) float64
        self.sizes = sizes
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.half_squares = np.einsum("ij,ij->i", centers, centers) / 2  # (K,)
        self.screen: np.ndarray  # (K, q) or (K, q + 1), or by columns (d, K); float32
        self.least: np.ndarray  # (K,) float32 |c|^2 / 2 - m(c): what the product lacks of L
        self.remainder: np.ndarray  # (K,) |r(c)| in the units of the screen
        self.margin: np.ndarray  # (K,) m(c)

    def part(self, part: slice = slice(None)) -> Centers:
        """Some of the centers, all but their screen."""
        arrays = self.centers, self.half_squares, self.least, self.remainder, self.margin
        return Centers(*(array[part] for array in arrays))

    def bound(self, turned: np.ndarray, remainder: np.ndarray, norm: np.ndarray, g: float) -> np.ndarray:
        """Set the centers' side of L in Eq. (2); returns -R'c and -|r(c)|, by columns."""
        beyond = self.limit(remainder, norm, g)
        if beyond.any():
            turned = np.where(beyond[:, None], 0.0, turned)
        return np.hstack([-turned, -self.remainder[:, None]])

    def limit(self, remainder: np.ndarray, norm: np.ndarray, g: float) -> np.ndarray:
        """Set the part of the centers' side of L in Eq. (2) that does not depend on the features.

        Returns which centers lie too far out for it (K,).

        The square of a center far beyond all rows may overflow float32. Its bound holds for every such
        center, and is so loose that, wherever it is the smallest, float64 decides.
        """
        beyond = norm > BEYOND
        if beyond.any():
            remainder, norm = np.where(beyond, 0.0, remainder), np.where(beyond, 0.0, norm)
        self.remainder, self.margin = remainder, g * norm**2
        least = norm**2 / 2 - self.margin
        # |c|^2 / 2 - x'c with |x| <= 1 is above that.
        self.margin[beyond], least[beyond] = LOOSE, BEYOND**2 / 4
        self.least = least.astype(np.float32)
        return beyond


def buffer(store: threading.local, rows: int, columns: int) -> np.ndarray:
    """Scratch space of this thread, kept between blocks: fresh pages cost as much as the product."""
    flat = getattr(store, "flat", None)
    if flat is None or flat.size < rows * columns:
        flat = store.flat = np.empty(rows * columns, dtype=np.float32)
    return flat[: rows * columns].reshape(rows, columns)


@fast_kernel(forceinline=True)
def two_smallest(L, least, first, last, smallest, where):
    """The smallest and second smallest of L[j] + least[j], first <= j < last, in each column.

    The j of the smallest is found, too.

    The second ones lie WIDTH places after the first: in one array, because the compiler has to see that they
    do not overlap.
    """
    b = L.shape[1]
    for i in range(b):
        smallest[i] = L[first, i] + least[first]
        smallest[WIDTH + i] = NO_MORE
        where[i] = np.int32(first)
    begin = first + 1 + (last - first - 1) % 2
    if begin > first + 1:
        _two_smaller(L[first + 1], least[first + 1], L[first], NO_MORE, first + 1, smallest, where)
    for j in range(begin, last, 2):
        _two_smaller(L[j], least[j], L[j + 1], least[j + 1], j, smallest, where)


@fast_kernel(forceinline=True)
def _two_smaller(row, more, other_row, other_more, j, smallest, where):
    """The same for two more rows of L at a time: results are read and written less often."""
    here, beside = np.int32(j), np.int32(j + 1)
    for i in range(row.size):
        found = insert(row[i] + more, here, smallest[i], smallest[WIDTH + i], where[i])
        smallest[i], smallest[WIDTH + i], where[i] = insert(other_row[i] + other_more, beside, *found)


@fast_kernel(forceinline=True)
def insert(value, j, low, second, where):
    """The two smallest with one more value, and the place of the first.

    Choices instead of branches become vector code.
    """
    closer = value < low
    other = low if closer else value
    return value if closer else low, other if other < second else second, j if closer else where


@fast_kernel
def screen_block(L, centers, offsets, far, blur, labels, start, doubt):
    """Nearest center of every row by the bounds L (centers, rows) + least; returns how many are in doubt.

    Run r owns the centers offsets[r]..offsets[r + 1] of L; far and blur are |r(x)| and w(x) of the rows. In
    doubt is a row whose second smallest bound does not clear its smallest by twice the error; ``doubt`` has a
    place for every row of every run. No run is without centers, and a bound that is NaN leaves the first of
    them: labels are always centers of the run.
    """
    least, remainder, margin = centers.least, centers.remainder, centers.margin
    runs, rows, limits = doubt.run, doubt.row, doubt.limit
    b = L.shape[1]
    smallest, where = np.empty(2 * WIDTH, np.float32), np.empty(b, np.int32)
    count = 0
    for r in range(offsets.shape[0] - 1):
        first = offsets[r]
        two_smallest(L, least, first, offsets[r + 1], smallest, where)
        for i in range(b):
            j = where[i]
            labels[r, start + i] = j - first
            limit = smallest[i] + 2.0 * (far[i] * remainder[j] + margin[j] + blur[i])
            if smallest[WIDTH + i] <= limit:
                runs[count] = r
                rows[count] = i
                limits[count] = limit
                count += 1
    return count
