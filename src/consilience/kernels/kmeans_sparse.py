"""What k-means asks of its data, answered for CSR matrices."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from ._jit import fast_kernel, kernel
from .kmeans_dense import BLOCK
from .kmeans_middle import FAR, typical_size
from .kmeans_screen import UNIT, Stack, buffer
from .parallel import map_blocks, map_tasks, resolve_jobs


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
        out = buffer(self._buffers, part.stop - part.start, stop - start)
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
