"""What k-means asks of its data, answered for dense arrays."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ._jit import fast_kernel, kernel
from .kmeans_middle import add_residuals, mean_variance, middle_of, some_rows
from .kmeans_screen import UNIT, Stack, buffer
from .parallel import map_blocks, map_tasks, one_blas_thread, resolve_jobs
from .vectors import dot

#: Rows per block. Fixed, so that no result depends on the number of threads.
BLOCK = 1024
#: Largest number of directions kept, and the share of variance at which fewer will do.
MOST_DIRECTIONS = 125
ENOUGH_VARIANCE = 0.95
#: Below this share the remainders are too large for (1) to settle much: keep all columns.
LEAST_VARIANCE = 0.5
SAMPLE = 4096


class DenseRows:
    """Rows of a C-contiguous float32 or float64 array. Keeps one float32 array of n x (q + 3) beside it."""

    def __init__(self, X: np.ndarray, sample_weight: np.ndarray, n_jobs: int | None):
        self.X = X
        self.weight = sample_weight
        self.n_jobs = n_jobs
        self.n_samples, self.n_features = X.shape
        self.middle, self.mean_variance, self.far = self._moments()
        self.directions = self._leading_directions()
        self._turn()
        self._buffers = threading.local()

    def _moments(self) -> tuple[np.ndarray, float, bool]:
        n = self.n_samples
        sums = map_blocks(
            lambda a, b: self.X[a:b].sum(axis=0, dtype=np.float64), n, size=BLOCK, n_jobs=self.n_jobs
        )
        mean = np.sum(sums, axis=0) / n
        middle = middle_of(self.X, mean)
        squares = map_blocks(
            lambda a, b: _centred_squares(self.X, middle, a, b).sum(), n, size=BLOCK, n_jobs=self.n_jobs
        )
        return middle, mean_variance(np.sum(squares) / n, mean - middle), bool((middle != mean).any())

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
        # Randomised subspace iteration; the start is fixed, being a matter of speed and not of the result.
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
        # A second factorisation in float64, because (1) needs columns orthonormal far below float32.
        return np.linalg.qr(Q.astype(np.float64) @ turn[:, :q])[0]

    def _turn(self) -> None:
        """The left factor of L: [R'x, |r(x)|, |x|, 1], all over the largest |x| so that float32 cannot overflow."""
        n, R = self.n_samples, self.directions
        q = self.n_features if R is None else R.shape[1]
        norms = np.concatenate(
            map_blocks(
                lambda a, b: np.sqrt(_centred_squares(self.X, self.middle, a, b)),
                n,
                size=BLOCK,
                n_jobs=self.n_jobs,
            )
        )
        self.norms = norms
        self.scale = float(norms.max()) or 1.0
        self.rounding = (q + 11) * UNIT * 1.01
        screen = np.empty((n, q + 3), dtype=np.float32)

        def turn(a: int, b: int) -> None:
            x = (self.X[a:b].astype(np.float64) - self.middle) / self.scale
            if R is None:
                screen[a:b, :q] = x
                screen[a:b, q] = 0
            else:
                t = x @ R
                screen[a:b, :q] = t
                x -= t @ R.T
                screen[a:b, q] = np.sqrt(np.einsum("ij,ij->i", x, x)) * (1 + 4 * UNIT) + UNIT * UNIT

        with one_blas_thread():
            map_blocks(turn, n, size=BLOCK, n_jobs=self.n_jobs)
        screen[:, q + 1] = norms / self.scale * (1 + 4 * UNIT)
        screen[:, q + 2] = 1
        self.screen = screen

    def rows(self, index: np.ndarray) -> np.ndarray:
        """Centred float64 rows."""
        return self.X[index].astype(np.float64) - self.middle

    def uncentre(self, centers: np.ndarray) -> np.ndarray:
        return centers + self.middle

    def centre(self, centers: np.ndarray) -> np.ndarray:
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
        stack.screen = np.hstack(columns, dtype=np.float32, casting="same_kind")
        return stack

    def bounds(self, stack: Stack, part: slice, start: int, stop: int) -> np.ndarray:
        """L of Eq. (2), transposed: (centres of ``part``, rows start..stop)."""
        out = buffer(self._buffers, part.stop - part.start, stop - start)
        return np.dot(stack.screen[part], self.screen[start:stop].T, out=out)

    def doubt(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """|r(x)| and |x| of a block, in the units of the screen."""
        return self.screen[start:stop, -3], self.screen[start:stop, -2]

    def settle(self, stack: Stack, part: slice, offsets: np.ndarray, *doubt: Any) -> None:
        """Decide the rows in doubt by exact scores."""
        _settle_dense(self.X, self.middle, stack.centers[part], stack.half_squares[part], offsets, *doubt)

    def move(self, stack_offsets: np.ndarray, old: np.ndarray, new: np.ndarray, sums: np.ndarray) -> None:
        """Bring cluster sums from labels ``old`` to labels ``new``, both (runs, n); old = -1: not in yet.

        Work is shared out by columns, then by runs: each number is added up in the order of the rows.
        """
        jobs = resolve_jobs(self.n_jobs)
        pieces = min(jobs, max(1, self.n_features // 16))
        groups = min(len(old), -(-jobs // pieces))
        columns = np.linspace(0, self.n_features, pieces + 1).astype(np.int64)
        runs = np.linspace(0, len(old), groups + 1).astype(np.int64)
        tasks = [(r, c) for r in range(groups) for c in range(pieces)]

        def add(task: tuple[int, int]) -> None:
            r, c = task
            _move_dense(
                self.X,
                self.middle,
                self.weight,
                old,
                new,
                stack_offsets,
                sums,
                (runs[r], runs[r + 1]),
                (columns[c], columns[c + 1]),
            )

        map_tasks(add, tasks, n_jobs=self.n_jobs)

    def own_squares(self, centers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """|x - c(x)|^2 for every row, in float64."""
        out = np.empty(self.n_samples)
        map_blocks(
            lambda a, b: _own_squares_dense(self.X, self.middle, centers, labels, out, a, b),
            self.n_samples,
            size=BLOCK,
            n_jobs=self.n_jobs,
        )
        return out

    def add_residuals(self, labels: np.ndarray, mass: np.ndarray, centers: np.ndarray) -> None:
        """Bring centres to the means of their rows to the last digit, where far rows count."""
        add_residuals(self.X, self.middle, self.weight, labels, mass, centers)

    def seeds(self, index: np.ndarray) -> Any:
        """Rows in the form :meth:`seed_squares` takes them."""
        return np.ascontiguousarray(self.screen[index, :-3])

    def seed_squares(self, seeds: Any, start: int, stop: int) -> np.ndarray:
        """Squared distances (rows of a block, seeds) along the kept directions, without cancellation."""
        out = np.empty((stop - start, len(seeds)), dtype=np.float32)
        _squared_differences(self.screen, seeds, start, out)
        return out


@fast_kernel
def _centred_squares(X, mean, start, stop):
    out = np.empty(stop - start)
    for i in range(start, stop):
        total = 0.0
        for c in range(X.shape[1]):
            x = np.float64(X[i, c]) - mean[c]
            total += x * x
        out[i - start] = total
    return out


# The innermost loops are functions of whole vectors, as in :mod:`.vectors` and for its reason.


@fast_kernel
def _settle_dense(X, mean, centers, half_squares, offsets, L, runs, rows, limits, count, start, labels):
    """Exact scores of the centres that a row in doubt has left; the first of equal ones wins."""
    d = X.shape[1]
    x = np.empty(d)
    for t in range(count):
        r = runs[t]
        i = rows[t]
        for c in range(d):
            x[c] = np.float64(X[start + i, c]) - mean[c]
        best = 1.7e308
        for j in range(offsets[r], offsets[r + 1]):
            if L[j, i] <= limits[t]:
                score = half_squares[j] - dot(x, centers[j])
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
def _move_dense(X, mean, weight, old, new, offsets, sums, runs, columns):
    n = X.shape[0]
    p, q = columns
    for start in range(0, n, 256):  # rows that stay in cache while one run after the other uses them
        for r in range(runs[0], runs[1]):
            for i in range(start, min(start + 256, n)):
                a = old[r, i]
                b = new[r, i]
                if a == b:
                    continue
                into = sums[offsets[r] + b, p:q]
                if a < 0:
                    _add_row(X[i, p:q], mean[p:q], weight[i], into)
                else:
                    _move_row(X[i, p:q], mean[p:q], weight[i], into, sums[offsets[r] + a, p:q])


@fast_kernel
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


@fast_kernel
def _square_single(x, y):
    total = np.float32(0)
    for c in range(y.shape[0]):
        z = x[c] - y[c]
        total += z * z
    return total


@fast_kernel
def _squared_differences(screen, seeds, start, out):
    for i in range(out.shape[0]):
        for t in range(seeds.shape[0]):
            out[i, t] = _square_single(screen[start + i], seeds[t])
