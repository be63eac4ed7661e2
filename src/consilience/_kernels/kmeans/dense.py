"""What k-means asks of its data, answered for dense arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..compile.jit import fast_kernel, kernel
from ..compile.vectors import dot
from ..runtime.threads import map_blocks, map_tasks, one_blas_thread, resolve_jobs
from .gaps import Changes, Looked
from .middle import add_residuals, mean_variance, middle_of, some_rows
from .screen import UNIT, Centers, Doubt, Stack, buffer

#: Rows per block. Fixed, so that no result depends on the number of threads.
BLOCK = 1024
#: The same, for work on whose blocks no number depends.
LONG_BLOCK = 2**15
#: Rows that starts are tried on at a time, by columns: a power of two, since blocks are made of them.
TILE = 256
#: Numbers from one column of a tile to the next: powers of two would lie in the same lines of the cache.
STRIDE = TILE + 16
#: Largest number of directions kept, and the share of variance at which fewer will do.
MOST_DIRECTIONS = 125
ENOUGH_VARIANCE = 0.95
#: Below this share the remainders are too large for (1) to settle much: keep all columns.
LEAST_VARIANCE = 0.5
SAMPLE = 4096


class Weighed(NamedTuple):
    """Rows as sums of clusters take them."""

    X: np.ndarray  # (n, d)
    middle: np.ndarray  # (d,) taken off X
    weight: np.ndarray  # (n,)


class Members(NamedTuple):
    """Which rows the clusters of the active runs have."""

    labels: np.ndarray  # (m, n) int32, of all runs
    active: np.ndarray  # which of the runs
    offsets: np.ndarray  # where the centers of each active run begin


class Candidates(NamedTuple):
    """Rows that are tried as starts: run active[a] has the candidates firsts[a]..firsts[a + 1]."""

    seeds: np.ndarray  # (candidates, q) float32
    active: np.ndarray
    firsts: np.ndarray


class Chosen(NamedTuple):
    """The candidates that are kept, best[a] for run active[a].

    Who is nearer to it is noted in bit bits[a].
    """

    seeds: np.ndarray  # (candidates, q) float32
    active: np.ndarray
    best: np.ndarray
    bits: np.ndarray


class DenseRows:
    """Rows of a C-contiguous float32 or float64 array. Keeps one float32 array of n x (q + 1) beside it."""

    def __init__(self, X: np.ndarray, sample_weight: np.ndarray, n_jobs: int | None):
        self.X = X
        self.weight = sample_weight
        self.uneven = bool((sample_weight != 1).any())
        self.n_jobs = n_jobs
        self.n_samples, self.n_features = X.shape
        self.middle, self.mean_variance, self.far = self._moments()
        self.directions = self._leading_directions()
        self._turn()
        self._buffers = threading.local()

    def _moments(self) -> tuple[np.ndarray, float, bool]:
        n = self.n_samples
        sums = np.zeros((-(-n // BLOCK), self.n_features))
        self._fill(lambda a, b: _column_sums(self.X, sums, a, b))
        mean = np.sum(sums, axis=0) / n
        middle = middle_of(self.X, mean)
        self._squares = np.empty(n)
        self._fill(lambda a, b: _centered_squares(self.X, middle, self._squares, a, b))
        whole = n - n % BLOCK
        squares = [*self._squares[:whole].reshape(-1, BLOCK).sum(axis=1)]
        if whole < n:
            squares.append(self._squares[whole:].sum())
        return middle, mean_variance(np.sum(squares) / n, mean - middle), bool((middle != mean).any())

    def _fill(self, work: Callable[[int, int], None]) -> None:
        """Work on rows by blocks; no number depends on how the rows are shared out."""
        map_blocks(work, self.n_samples, size=LONG_BLOCK, n_jobs=self.n_jobs)

    def _leading_directions(self) -> np.ndarray | None:
        """R (d, q), or None where turning does not pay: any R is right, a good one is fast."""
        n, d = self.n_samples, self.n_features
        width = min(MOST_DIRECTIONS, d // 2, n)
        if d < 48 or self.mean_variance == 0:
            return None
        S = some_rows(self.X, SAMPLE).astype(np.float64) - self.middle
        peak = np.abs(S).max()
        if peak == 0:
            return None
        S = (S / peak).astype(np.float32)
        # Randomized subspace iteration; the start is fixed, being a matter of speed and not of the result.
        Q = np.random.default_rng(0).standard_normal((d, min(width + 8, d)), dtype=np.float32)
        for _ in range(3):
            Q = np.linalg.qr(S.T @ (S @ Q))[0]
        P = (S @ Q).astype(np.float64)
        energy, turn = np.linalg.eigh(P.T @ P)
        energy, turn = energy[::-1], turn[:, ::-1]
        share = np.cumsum(energy) / np.einsum("ij,ij->", S, S, dtype=np.float64)
        q = min(int(np.searchsorted(share, ENOUGH_VARIANCE)) + 1, width)
        if share[q - 1] < LEAST_VARIANCE:
            return None
        # A second factorization in float64, because (1) needs columns orthonormal far below float32.
        return np.linalg.qr(Q.astype(np.float64) @ turn[:, :q])[0]

    def _turn(self) -> None:
        """The rows' side of L: [R'x, |r(x)|], and the blur.

        All are divided by the largest |x|, so that float32 cannot overflow.
        """
        n, R = self.n_samples, self.directions
        self.width = q = self.n_features if R is None else R.shape[1]
        self._screen: np.ndarray | None
        self.scale = scale = float(np.sqrt(self._squares.max())) or 1.0
        self.rounding = (q + 11) * UNIT * 1.01
        self.lengths, self.blur = np.empty((2, n), dtype=np.float32)
        squares, self._squares = self._squares, np.empty(0)
        data = squares, scale, self.rounding, self.lengths, self.blur
        self._fill(lambda a, b: _lengths_and_blur(*data, a, b))
        if R is None:  # made when first asked for: tiles (:mod:`.narrow`) do without
            self._screen, self.remainders = None, np.zeros(n, dtype=np.float32)
            return
        self._screen = screen = np.empty((n, q + 1), dtype=np.float32)

        def turn(a: int, b: int) -> None:
            x = (self.X[a:b].astype(np.float64) - self.middle) / scale
            t = x @ R
            screen[a:b, :q] = t
            # What rounding leaves of a difference of squares is far below the float32 rounding of either.
            own, kept = np.einsum("ij,ij->i", x, x), np.einsum("ij,ij->i", t, t)
            rest = np.maximum(own - kept, 0.0) + self.n_features * 2.0**-50 * own
            screen[a:b, q] = np.sqrt(rest) * (1 + 4 * UNIT) + UNIT * UNIT

        with one_blas_thread():
            map_blocks(turn, n, size=BLOCK, n_jobs=self.n_jobs)
        self.remainders = np.ascontiguousarray(screen[:, q])

    @property
    def screen(self) -> np.ndarray:
        """(n, q), or (n, q + 1) where rows are turned; float32. First asked for before threads are."""
        if self._screen is None:
            self._screen = screen = _aligned(self.n_samples, self.width)
            self._fill(lambda a, b: _scaled_rows(self.X, self.middle, self.scale, screen, a, b))
        return self._screen

    def drop_screen(self) -> None:
        """Free memory. The screen is made again when asked for; rows that are turned keep it."""
        if self.directions is None:
            self._screen = None

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Centered float64 rows."""
        return self.X[index].astype(np.float64) - self.middle

    def uncentre(self, centers: np.ndarray) -> np.ndarray:
        return centers + self.middle

    def center(self, centers: np.ndarray) -> np.ndarray:
        return centers - self.middle

    def stack(self, centers: np.ndarray, sizes: np.ndarray) -> Stack:
        stack = Stack(centers, sizes)
        scaled = centers / self.scale
        norm = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
        if self.directions is None:
            turned, remainder = scaled, np.zeros(len(scaled))
        else:
            turned = scaled @ self.directions
            rest = scaled - turned @ self.directions.T
            remainder = np.sqrt(np.einsum("ij,ij->i", rest, rest)) * (1 + 8 * UNIT) + UNIT * UNIT
        columns = stack.bound(turned, remainder * (1 + self.rounding), norm, self.rounding)
        stack.screen = np.ascontiguousarray(columns[:, : self.screen.shape[1]], dtype=np.float32)
        return stack

    def bounds(self, stack: Stack, part: slice, start: int, stop: int) -> np.ndarray:
        """The product in L of Eq. (2), transposed: (centers of ``part``, rows start..stop)."""
        out = buffer(self._buffers, part.stop - part.start, stop - start)
        return np.dot(stack.screen[part], self.screen[start:stop].T, out=out)

    def doubt(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """|r(x)| and w(x) of a block, in the units of the screen."""
        return self.remainders[start:stop], self.blur[start:stop]

    def looked_at(self) -> Looked:
        """What :class:`.gaps.Gaps` reads of the rows."""
        return Looked(
            self.X,
            self.middle,
            self.scale,
            self.screen,
            self.lengths,
            self.remainders,
            self.blur,
            self.directions is not None,
            self.rounding,
        )

    def settle(
        self,
        L: np.ndarray,
        centers: Centers,
        offsets: np.ndarray,
        doubt: Doubt,
        start: int,
        labels: np.ndarray,
    ) -> None:
        """Decide the rows in doubt by exact scores; the block begins at row ``start``."""
        _settle_dense(self.X, self.middle, L, centers, offsets, doubt, start, labels)

    def add(
        self, stack_offsets: np.ndarray, labels: np.ndarray, active: np.ndarray, sums: np.ndarray
    ) -> None:
        """Add every row to the sum of its cluster in the active runs, and its weight to the last column."""
        rows = Weighed(self.X, self.middle, self.weight)
        members = Members(labels, active, stack_offsets)
        self._share_sums(len(active), lambda runs, columns: _add_dense(rows, members, sums, runs, columns))

    def move(
        self,
        stack_offsets: np.ndarray,
        labels: np.ndarray,
        active: np.ndarray,
        changes: Changes,
        sums: np.ndarray,
    ) -> None:
        """Move rows that changed their cluster from the sum of the old one to that of the new one."""
        rows = Weighed(self.X, self.middle, self.weight)
        members = Members(labels, active, stack_offsets)
        self._share_sums(
            len(active), lambda runs, columns: _move_dense(rows, changes, members, sums, runs, columns)
        )

    def _share_sums(self, n_runs: int, work: Callable[[tuple[int, int], tuple[int, int]], None]) -> None:
        """Work shared out by columns, then by runs: each number is added up in the order of the rows."""
        jobs = resolve_jobs(self.n_jobs)
        pieces = min(jobs, max(1, self.n_features // 16))
        groups = min(n_runs, -(-jobs // pieces))
        columns = np.linspace(0, self.n_features, pieces + 1).astype(np.int64)
        runs = np.linspace(0, n_runs, groups + 1).astype(np.int64)
        tasks = [(r, c) for r in range(groups) for c in range(pieces)]
        map_tasks(
            lambda task: work((runs[task[0]], runs[task[0] + 1]), (columns[task[1]], columns[task[1] + 1])),
            tasks,
            n_jobs=self.n_jobs,
        )

    def own_squares(self, centers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """|x - c(x)|^2 for every row, in float64."""
        out = np.empty(self.n_samples)
        self._fill(lambda a, b: _own_squares_dense(self.X, self.middle, centers, labels, out, a, b))
        return out

    def add_residuals(self, labels: np.ndarray, mass: np.ndarray, centers: np.ndarray) -> None:
        """Bring centers to the means of their rows to the last digit, where far rows count."""
        add_residuals(self.X, self.middle, self.weight, labels, mass, centers)

    def seeds(self, index: np.ndarray) -> Any:
        """Rows in the form :meth:`seed_squares` takes them."""
        return np.ascontiguousarray(self.screen[index, : self.width])

    def left_over(
        self,
        seeds: np.ndarray,
        active: np.ndarray,
        firsts: np.ndarray,
        closest: np.ndarray,
        nearer: np.ndarray,
    ) -> np.ndarray:
        """(blocks, candidates) sums of squares over blocks of rows, each candidate added to its run's seeds.

        Run active[a] has the candidates firsts[a]..firsts[a + 1]. Notes in ``nearer`` which of them a row is
        nearer to.
        """
        parts = np.zeros((-(-self.n_samples // BLOCK), len(seeds)))
        data = self.screen, self.weight, Candidates(seeds, active, firsts), closest, nearer, parts
        self._fill(lambda a, b: _left_over_dense(*data, a, b))
        return parts

    def approach(
        self,
        seeds: np.ndarray,
        active: np.ndarray,
        best: np.ndarray,
        bits: np.ndarray,
        closest: np.ndarray,
        nearer: np.ndarray,
    ) -> None:
        """Update the squared distances of all rows to their nearest seeds.

        Candidate best[a] becomes a seed of run active[a]; bit bits[a] of ``nearer`` says which rows are
        nearer to it.
        """
        data = self.screen, Chosen(seeds, active, best, bits), closest, nearer
        self._fill(lambda a, b: _approach_dense(*data, a, b))


@kernel
def _column_sums(X, out, start, stop):
    """Sums over blocks of rows, in the order of the rows; start is where a block begins."""
    for i in range(start, stop):
        for c in range(X.shape[1]):
            out[i // BLOCK, c] += np.float64(X[i, c])


@fast_kernel
def _centered_squares(X, mean, out, start, stop):
    for i in range(start, stop):
        total = 0.0
        for c in range(X.shape[1]):
            x = np.float64(X[i, c]) - mean[c]
            total += x * x
        out[i] = total


@kernel
def _lengths_and_blur(squares, scale, rounding, lengths, blur, start, stop):
    """|x| and w(x) in the units of the screen, squares by the rounded length.

    They are above the true ones, as they have to be.
    """
    for i in range(start, stop):
        length = np.float32(np.sqrt(squares[i]) / scale * (1 + 4 * UNIT))
        lengths[i] = length
        blur[i] = rounding * 1.01 / 2 * np.float64(length) * np.float64(length) + UNIT**4


@kernel
def _scaled_rows(X, mean, scale, out, start, stop):
    for i in range(start, stop):
        for c in range(X.shape[1]):
            out[i, c] = (np.float64(X[i, c]) - mean[c]) / scale


def _aligned(n: int, q: int) -> np.ndarray:
    """Room for float32 rows (n, q) that starts at a cache line.

    Rows gathered one by one then lie in fewer lines.
    """
    room = np.empty(4 * n * q + 64, dtype=np.uint8)
    first = -room.ctypes.data % 64
    return room[first : first + 4 * n * q].view(np.float32).reshape(n, q)


# The innermost loops are functions of whole vectors, as in :mod:`..compile.vectors` and for its reason.


@fast_kernel
def _settle_dense(X, mean, L, centers, offsets, doubt, start, labels):
    """Exact scores of the centers that a row in doubt has left; the first of equal ones wins."""
    exact, half_squares, least = centers.exact, centers.half_squares, centers.least
    limits = doubt.limit
    d = X.shape[1]
    x = np.empty(d)
    for t in range(limits.size):
        r = doubt.run[t]
        i = doubt.row[t]
        for c in range(d):
            x[c] = np.float64(X[start + i, c]) - mean[c]
        best = 1.7e308
        for j in range(offsets[r], offsets[r + 1]):
            if L[j, i] + least[j] <= limits[t]:
                score = half_squares[j] - dot(x, exact[j])
                if score < best:
                    best = score
                    labels[r, start + i] = j - offsets[r]


@kernel
def _add_row(row, mean, w, into):
    for c in range(row.shape[0]):
        into[c] += w * (np.float64(row[c]) - mean[c])


@kernel
def _move_row(row, mean, w, into, out_of):
    for c in range(row.shape[0]):
        x = w * (np.float64(row[c]) - mean[c])
        into[c] += x
        out_of[c] -= x


@kernel
def _add_dense(rows, members, sums, runs, columns):
    X, mean, weight = rows
    labels, active, offsets = members
    n = X.shape[0]
    p, q = columns
    for start in range(0, n, 256):  # rows that stay in cache while one run after the other uses them
        for a in range(runs[0], runs[1]):
            for i in range(start, min(start + 256, n)):
                j = offsets[a] + labels[active[a], i]
                _add_row(X[i, p:q], mean[p:q], weight[i], sums[j, p:q])
                if p == 0:
                    sums[j, -1] += weight[i]


@kernel
def _move_dense(rows, changes, members, sums, runs, columns):
    X, mean, weight = rows
    run, row, old = changes
    labels, active, offsets = members
    p, q = columns
    for t in range(run.size):
        a = run[t]
        if runs[0] <= a < runs[1]:
            i = row[t]
            into, out_of = offsets[a] + labels[active[a], i], offsets[a] + old[t]
            _move_row(X[i, p:q], mean[p:q], weight[i], sums[into, p:q], sums[out_of, p:q])
            if p == 0:
                sums[into, -1] += weight[i]
                sums[out_of, -1] -= weight[i]


@fast_kernel(forceinline=True)
def _square(row, mean, center):
    total = 0.0
    for c in range(row.shape[0]):
        x = np.float64(row[c]) - mean[c] - center[c]
        total += x * x
    return total


@fast_kernel
def _own_squares_dense(X, mean, centers, labels, out, start, stop):
    for i in range(start, stop):
        out[i] = _square(X[i], mean, centers[labels[i]])


@fast_kernel(forceinline=True)
def _square_single(x, y):
    total = np.float32(0)
    for c in range(y.shape[0]):
        z = x[c] - y[c]
        total += z * z
    return total


@kernel
def _left_over_dense(screen, weight, candidates, closest, nearer, parts, start, stop):
    seeds, active, firsts = candidates
    q = seeds.shape[1]
    tile, squares = np.empty(q * STRIDE, np.float32), np.empty(TILE, np.float32)
    for begin in range(start, stop, TILE):
        end = min(begin + TILE, stop)
        _by_columns(screen[begin:end], q, tile)
        for a in range(active.size):
            r = active[a]
            nearer[r, begin:end] = 0
            for t in range(firsts[a], firsts[a + 1]):
                _squares_in_tile(tile, seeds[t], squares)
                bit = np.uint16(1 << (t - firsts[a]))
                parts[begin // BLOCK, t] += _sum_of_smaller(
                    squares, weight[begin:end], closest[r, begin:end], nearer[r, begin:end], bit
                )


@kernel
def _by_columns(rows, q, tile):
    for i in range(rows.shape[0]):
        row = rows[i]
        for c in range(q):
            tile[c * STRIDE + i] = row[c]


@fast_kernel(forceinline=True)
def _squares_in_tile(tile, seed, out):
    """Squared distances of the rows of a tile, which is kept by columns, along the kept directions."""
    out[:] = np.float32(0)
    whole = seed.size - seed.size % 4
    for c in range(0, whole, 4):  # four at a time: the sums are read and written less often
        y0, y1, y2, y3 = seed[c], seed[c + 1], seed[c + 2], seed[c + 3]
        first = c * STRIDE
        for i in range(TILE):
            z0 = tile[first + i] - y0
            z1 = tile[first + STRIDE + i] - y1
            z2 = tile[first + 2 * STRIDE + i] - y2
            z3 = tile[first + 3 * STRIDE + i] - y3
            out[i] += z0 * z0 + z1 * z1 + z2 * z2 + z3 * z3
    for c in range(whole, seed.size):
        y, first = seed[c], c * STRIDE
        for i in range(TILE):
            z = tile[first + i] - y
            out[i] += z * z


@fast_kernel(forceinline=True)
def _sum_of_smaller(squares, weight, closest, nearer, bit):
    total = 0.0
    for i in range(weight.size):
        closer = squares[i] < closest[i]
        total += weight[i] * np.float64(squares[i] if closer else closest[i])
        nearer[i] |= bit if closer else np.uint16(0)
    return total


@kernel
def _approach_dense(screen, chosen, closest, nearer, start, stop):
    seeds, active, best, bits = chosen
    q = seeds.shape[1]
    noted = np.empty(stop - start, np.int64)
    for a in range(active.size):
        r, seed, bit = active[a], seeds[best[a]], np.uint16(1 << bits[a])
        count = 0
        for i in range(start, stop):
            noted[count] = i
            count += (nearer[r, i] & bit) != 0
        for i in noted[:count]:
            closest[r, i] = _square_single(screen[i, :q], seed)
