"""What k-means asks of its data, answered for dense arrays and for CSR matrices.

Writing x for a row with the middle taken off (dense) or as it is (sparse), and c for a centre, all
questions are about the score  s(x, c) = |c|^2 / 2 - x'c, whose smallest value over c marks the nearest centre.

Scores are first bounded from below in float32, for every row and centre at once by one matrix product, and
settled in float64 only where the bounds leave a doubt. Dense rows are also turned to their leading principal
directions R (d, q), found on a sample; with the remainder r(c) = c - R R'c,

    x'c = (R'x)'(R'c) + x'r(c),        |x'r(c)| <= |r(x)| |r(c)|,                                 (1)

and centres, being averages, have small remainders. So the product runs over q instead of d columns, and

    L(x, c) = |c|^2 / 2 - (R'x)'(R'c) - e(x, c)  <=  s(x, c)  <=  L(x, c) + 2 e(x, c),            (2)
    e(x, c) = |r(x)| |r(c)| + g ( |x| |c| + |c|^2 / 2 + |r(x)| |r(c)| ),

with g = (q + 11) 2^-24 covering the float32 rounding of the operands and of a product of q + 3 terms in any
order of summation. e is bilinear in quantities of x and of c, so three more columns make the product return L.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._jit import fast_kernel, kernel
from .kmeans_middle import FAR, add_residuals, mean_variance, middle_of, some_rows, typical_size
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
UNIT = 2.0**-24  # rounding unit of float32
#: Lengths, in units of the longest row, from which on the squares of centres may not fit into float32.
BEYOND = 1e18
#: An error of a bound that leaves every centre in doubt, and is a number in float32 still, also doubled.
LOOSE = 1e38


class Stack:
    """Centres of several runs on top of each other, in the form the float32 product needs."""

    def __init__(self, centers: np.ndarray, sizes: np.ndarray):
        self.centers = centers  # (K, d) float64
        self.sizes = sizes
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.half_squares = np.einsum("ij,ij->i", centers, centers) / 2  # (K,)
        self.screen: np.ndarray  # (K, q + 3) or (d + 2, K) float32
        self.remainder: np.ndarray  # (K,) |r(c)| in the units of the screen
        self.slack: np.ndarray  # (K,) g |c|
        self.margin: np.ndarray  # (K,) g |c|^2 / 2

    def bound(
        self, turned: np.ndarray, remainder: np.ndarray, norm: np.ndarray, g: float
    ) -> list[np.ndarray]:
        """The centres' side of L in Eq. (2), by columns: [-R'c, -|r(c)|, -g |c|, (1 - g) |c|^2 / 2].

        The square of a centre far beyond all rows is no number in float32. Its bound is one that holds of every such
        centre, and so loose that, wherever it is the smallest, float64 decides.
        """
        beyond = norm > BEYOND
        if beyond.any():
            turned = np.where(beyond[:, None], 0.0, turned)
            remainder, norm = np.where(beyond, 0.0, remainder), np.where(beyond, 0.0, norm)
        self.remainder, self.slack, self.margin = remainder, g * norm, g * norm**2 / 2
        least = norm**2 / 2 - self.margin
        self.margin[beyond], least[beyond] = (
            LOOSE,
            BEYOND**2 / 4,
        )  # |c|^2 / 2 - x'c with |x| <= 1 is above that
        return [-turned, -remainder[:, None], -self.slack[:, None], least[:, None]]


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
        out = _buffer(self._buffers, part.stop - part.start, stop - start)
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


class SparseRows:
    """Rows of a canonical CSR matrix, used as they are: taking the means off would fill it."""

    def __init__(self, X: Any, sample_weight: np.ndarray, n_jobs: int | None):
        self.X = X
        self.weight = sample_weight
        self.n_jobs = n_jobs
        self.n_samples, self.n_features = X.shape
        self.data = X.data.astype(np.float64)
        self.indices = X.indices.astype(np.int32)
        self.indptr = X.indptr.astype(np.int64)
        squares = np.zeros(self.n_samples)
        map_blocks(
            lambda a, b: _row_squares(self.data, self.indptr, squares, a, b),
            self.n_samples,
            size=BLOCK,
            n_jobs=n_jobs,
        )
        self.squares = squares
        self.norms = np.sqrt(squares)
        self.far = bool(np.abs(self.data).max(initial=0.0) > FAR * typical_size(self.data))
        self.scale = float(self.norms.max()) or 1.0
        mean = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() / self.n_samples
        # Two passes over the stored values; the zeros add their share in closed form.
        self.mean_variance = _sparse_variance(self.data, self.indices, mean, self.n_samples) / self.n_features
        longest = int(np.diff(self.indptr).max(initial=0))
        self.rounding = (longest + 13) * UNIT * 1.01
        self.single = (self.data / self.scale).astype(np.float32)
        self._norm_column = (self.norms / self.scale * (1 + 4 * UNIT)).astype(np.float32)
        self._none = np.zeros(BLOCK, dtype=np.float32)
        self._buffers = threading.local()

    def rows(self, index: np.ndarray) -> np.ndarray:
        return self.X[index].toarray().astype(np.float64)

    def uncentre(self, centers: np.ndarray) -> np.ndarray:
        return centers

    def centre(self, centers: np.ndarray) -> np.ndarray:
        return centers

    def stack(self, centers: np.ndarray, sizes: np.ndarray) -> Stack:
        stack = Stack(centers, sizes)
        scaled = centers / self.scale
        norm = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
        turned, _, *others = stack.bound(scaled, np.zeros(len(norm)), norm, self.rounding)
        columns = np.vstack([turned.T, *(column.T for column in others)])
        stack.screen = np.ascontiguousarray(columns, dtype=np.float32)  # (d + 2, K)
        return stack

    def bounds(self, stack: Stack, part: slice, start: int, stop: int) -> np.ndarray:
        by_row = np.empty((stop - start, part.stop - part.start), dtype=np.float32)
        _sparse_bounds(
            self.single, self.indices, self.indptr, self._norm_column, stack.screen, part.start, start, by_row
        )
        out = _buffer(self._buffers, part.stop - part.start, stop - start)
        out[...] = by_row.T
        return out

    def doubt(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        return self._none[: stop - start], self._norm_column[start:stop]

    def settle(self, stack: Stack, part: slice, offsets: np.ndarray, *doubt: Any) -> None:
        _settle_sparse(
            self.data,
            self.indices,
            self.indptr,
            stack.centers[part],
            stack.half_squares[part],
            offsets,
            *doubt,
        )

    def move(self, stack_offsets: np.ndarray, old: np.ndarray, new: np.ndarray, sums: np.ndarray) -> None:
        groups = min(len(old), resolve_jobs(self.n_jobs))
        runs = np.linspace(0, len(old), groups + 1).astype(np.int64)
        map_tasks(
            lambda r: _move_sparse(
                self.data,
                self.indices,
                self.indptr,
                self.weight,
                old,
                new,
                stack_offsets,
                sums,
                (runs[r], runs[r + 1]),
            ),
            list(range(groups)),
            n_jobs=self.n_jobs,
        )

    def own_squares(self, centers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        squares, stored = np.einsum("ij,ij->i", centers, centers), np.count_nonzero(centers, axis=1)
        out = np.empty(self.n_samples)
        map_blocks(
            lambda a, b: _own_squares_sparse(
                self.data, self.indices, self.indptr, centers, squares, stored, labels, out, a, b
            ),
            self.n_samples,
            size=BLOCK,
            n_jobs=self.n_jobs,
        )
        return out

    def add_residuals(self, labels: np.ndarray, mass: np.ndarray, centers: np.ndarray) -> None:
        _add_residuals_sparse(self.data, self.indices, self.indptr, self.weight, labels, mass, centers)

    def seeds(self, index: np.ndarray) -> Any:
        return np.ascontiguousarray(self.X[index].toarray().T, dtype=np.float64), self.squares[index]

    def seed_squares(self, seeds: Any, start: int, stop: int) -> np.ndarray:
        out = np.empty((stop - start, len(seeds[1])), dtype=np.float32)
        _sparse_seed(self.data, self.indices, self.indptr, self.squares, *seeds, self.scale, start, out)
        return out


def _buffer(store: threading.local, rows: int, columns: int) -> np.ndarray:
    """Scratch space of this thread, kept between blocks: fresh pages cost as much as the product."""
    flat = getattr(store, "flat", None)
    if flat is None or flat.size < rows * columns:
        flat = store.flat = np.empty(rows * columns, dtype=np.float32)
    return flat[: rows * columns].reshape(rows, columns)


# ---------------------------------------------------------------------------------------------------------
# Both kinds


@fast_kernel
def screen_block(L, offsets, far, norm, remainder, slack, margin, labels, start, runs, rows, limits):
    """Nearest centre of every row by the bounds L (centres, rows); returns how many are in doubt.

    Run r owns the centres offsets[r]..offsets[r + 1] of L. In doubt is a row whose second smallest bound does
    not clear its smallest by twice the error: listed in ``runs``, ``rows``, with the bound above which a
    centre is out in ``limits``; these have a place for every row of every run. No run is without centres, and a
    bound that is no number leaves the first of them: labels are always centres of the run.
    """
    b = L.shape[1]
    smallest = np.empty(b, np.float32)
    second = np.empty(b, np.float32)
    where = np.empty(b, np.int32)
    count = 0
    for r in range(offsets.shape[0] - 1):
        first = offsets[r]
        for i in range(b):
            smallest[i] = L[first, i]
            second[i] = np.float32(3.0e38)
            where[i] = np.int32(first)
        for j in range(first + 1, offsets[r + 1]):
            here = np.int32(j)
            for i in range(b):  # written as choices, not branches, so that it becomes vector code
                value = L[j, i]
                low = smallest[i]
                closer = value < low
                other = low if closer else value
                second[i] = other if other < second[i] else second[i]
                smallest[i] = value if closer else low
                where[i] = here if closer else where[i]
        for i in range(b):
            j = where[i]
            labels[r, start + i] = j - first
            limit = smallest[i] + 2.0 * (far[i] * remainder[j] + norm[i] * slack[j] + margin[j])
            if second[i] <= limit:
                runs[count] = r
                rows[count] = i
                limits[count] = limit
                count += 1
    return count


# ---------------------------------------------------------------------------------------------------------
# Dense


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


# ---------------------------------------------------------------------------------------------------------
# Sparse


@fast_kernel
def _row_squares(data, indptr, out, start, stop):
    for i in range(start, stop):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += data[p] * data[p]
        out[i] = total


@kernel
def _sparse_variance(data, indices, mean, n):
    """Sum over the columns of their variances."""
    stored = np.zeros(mean.shape[0])
    total = 0.0
    for p in range(data.shape[0]):
        x = data[p] - mean[indices[p]]
        total += x * x
        stored[indices[p]] += 1
    for c in range(mean.shape[0]):
        total += (n - stored[c]) * mean[c] * mean[c]
    return total / n


@fast_kernel
def _sparse_bounds(data, indices, indptr, norm, screen, first, start, out):
    d = screen.shape[0] - 2
    K = out.shape[1]
    for i in range(out.shape[0]):
        x = norm[start + i]
        for j in range(K):
            out[i, j] = screen[d + 1, first + j] + x * screen[d, first + j]
        for p in range(indptr[start + i], indptr[start + i + 1]):
            x = data[p]
            c = indices[p]
            for j in range(K):
                out[i, j] += x * screen[c, first + j]


@fast_kernel
def _settle_sparse(
    data, indices, indptr, centers, half_squares, offsets, L, runs, rows, limits, count, start, labels
):
    for t in range(count):
        r = runs[t]
        i = rows[t]
        best = 1.7e308
        for j in range(offsets[r], offsets[r + 1]):
            if L[j, i] <= limits[t]:
                dot = 0.0
                for p in range(indptr[start + i], indptr[start + i + 1]):
                    dot += data[p] * centers[j, indices[p]]
                score = half_squares[j] - dot
                if score < best:
                    best = score
                    labels[r, start + i] = j - offsets[r]


@kernel
def _move_sparse(data, indices, indptr, weight, old, new, offsets, sums, runs):
    for i in range(indptr.shape[0] - 1):
        for r in range(runs[0], runs[1]):
            a = old[r, i]
            b = new[r, i]
            if a != b:
                w = weight[i]
                for p in range(indptr[i], indptr[i + 1]):
                    x = w * data[p]
                    sums[offsets[r] + b, indices[p]] += x
                    if a >= 0:
                        sums[offsets[r] + a, indices[p]] -= x


@kernel
def _add_residuals_sparse(data, indices, indptr, weight, labels, mass, centers):
    sums, stored = np.zeros(centers.shape), np.zeros(centers.shape, np.int32)
    size, left = np.zeros(mass.size, np.int32), np.zeros(centers.shape)
    for i in range(labels.size):
        j = labels[i]
        size[j] += 1
        for p in range(indptr[i], indptr[i + 1]):
            c = indices[p]
            sums[j, c] += weight[i] * (data[p] - centers[j, c])
            left[j, c] += weight[i]
            stored[j, c] += 1
    for j in range(mass.size):
        for c in range(centers.shape[1]):
            if mass[j] > 0:
                if stored[j, c] < size[j]:  # the zeros of the others
                    sums[j, c] -= (mass[j] - left[j, c]) * centers[j, c]
                centers[j, c] += sums[j, c] / mass[j]


@kernel
def _own_squares_sparse(data, indices, indptr, centers, squares, stored, labels, out, start, stop):
    # |c|^2 + sum over stored values of (x - c)^2 - c^2: no large terms cancel when x is close to c, unless nothing of
    # |c|^2 lies elsewhere; then it is left out, and a far row alone in its cluster has distance 0 exactly.
    for i in range(start, stop):
        j = labels[i]
        total, alone, met = squares[j], 0.0, 0
        for p in range(indptr[i], indptr[i + 1]):
            c = centers[j, indices[p]]
            square = (data[p] - c) ** 2
            total += square - c * c
            alone += square
            met += c != 0
        out[i] = alone if met == stored[j] else max(total, 0.0)


@fast_kernel
def _sparse_seed(data, indices, indptr, squares, across, candidate_squares, scale, start, out):
    T = across.shape[1]
    dots = np.empty(T)
    for i in range(out.shape[0]):
        dots[:] = 0.0
        for p in range(indptr[start + i], indptr[start + i + 1]):
            x = data[p]
            c = indices[p]
            for t in range(T):
                dots[t] += x * across[c, t]
        for t in range(T):
            whole = squares[start + i] + candidate_squares[t]
            square = whole - 2.0 * dots[t]
            # What is left of equal rows is rounding; as a distance it would be drawn in the end.
            out[i, t] = 0.0 if square <= 1e-13 * whole else square / scale / scale


def as_rows(X: Any, sample_weight: np.ndarray, n_jobs: int | None) -> DenseRows | SparseRows:
    """The right kind for ``X``."""
    kind = SparseRows if sp.issparse(X) else DenseRows
    return kind(X, sample_weight, n_jobs)
