"""What k-means asks of its data, answered for CSR matrices."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from ..compile.csr import Entries
from ..compile.jit import fast_kernel, kernel
from ..runtime.threads import map_blocks, map_tasks, resolve_jobs
from .dense import BLOCK, Members
from .gaps import Changes
from .middle import FAR, typical_size
from .screen import UNIT, Centers, Doubt, Stack, buffer


class SparseRows:
    """Rows of a canonical CSR matrix, not centered: subtracting the means would fill it."""

    def __init__(self, X: Any, sample_weight: np.ndarray, n_jobs: int | None):
        self.X = X
        self.weight = sample_weight
        self.uneven = bool((sample_weight != 1).any())
        self.n_jobs = n_jobs
        self.n_samples, self.n_features = X.shape
        self.data = X.data.astype(np.float64)
        self.indices = X.indices.astype(np.int32)
        self.indptr = X.indptr.astype(np.int64)
        self.entries = Entries(self.data, self.indices, self.indptr)
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
        lengths = self.norms / self.scale * (1 + 4 * UNIT)
        self.blur = (self.rounding * 1.01 / 2 * lengths**2 + UNIT**4).astype(np.float32)
        self._none = np.zeros(BLOCK, dtype=np.float32)
        self._buffers = threading.local()

    def rows(self, index: np.ndarray) -> np.ndarray:
        return self.X[index].toarray().astype(np.float64)

    def uncentre(self, centers: np.ndarray) -> np.ndarray:
        return centers

    def center(self, centers: np.ndarray) -> np.ndarray:
        return centers

    def stack(self, centers: np.ndarray, sizes: np.ndarray) -> Stack:
        stack = Stack(centers, sizes)
        scaled = centers / self.scale
        norm = np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
        beyond = stack.limit(np.zeros(len(norm)), norm, self.rounding)
        scaled[beyond] = 0.0  # no numbers in float32
        stack.screen = np.empty(scaled.shape[::-1], dtype=np.float32)  # (d, K)
        np.negative(scaled.T, out=stack.screen, casting="same_kind")
        return stack

    def bounds(self, stack: Stack, part: slice, start: int, stop: int) -> np.ndarray:
        by_row = np.empty((stop - start, part.stop - part.start), dtype=np.float32)
        _sparse_bounds(self.single, self.indices, self.indptr, stack.screen, part.start, start, by_row)
        out = buffer(self._buffers, part.stop - part.start, stop - start)
        out[...] = by_row.T
        return out

    def doubt(self, start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        return self._none[: stop - start], self.blur[start:stop]

    def settle(
        self,
        L: np.ndarray,
        centers: Centers,
        offsets: np.ndarray,
        doubt: Doubt,
        start: int,
        labels: np.ndarray,
    ) -> None:
        _settle_sparse(self.entries, L, centers, offsets, doubt, start, labels)

    def add(
        self, stack_offsets: np.ndarray, labels: np.ndarray, active: np.ndarray, sums: np.ndarray
    ) -> None:
        data = self.entries, self.weight, Members(labels, active, stack_offsets), sums
        self._share_sums(len(active), lambda runs: _add_sparse(*data, runs))

    def move(
        self,
        stack_offsets: np.ndarray,
        labels: np.ndarray,
        active: np.ndarray,
        changes: Changes,
        sums: np.ndarray,
    ) -> None:
        data = self.entries, self.weight, changes, Members(labels, active, stack_offsets), sums
        self._share_sums(len(active), lambda runs: _move_sparse(*data, runs))

    def _share_sums(self, n_runs: int, work: Callable[[tuple[int, int]], None]) -> None:
        groups = min(n_runs, resolve_jobs(self.n_jobs))
        runs = np.linspace(0, n_runs, groups + 1).astype(np.int64)
        map_tasks(lambda r: work((int(runs[r]), int(runs[r + 1]))), list(range(groups)), n_jobs=self.n_jobs)

    def own_squares(self, centers: np.ndarray, labels: np.ndarray) -> np.ndarray:
        squares, stored = np.einsum("ij,ij->i", centers, centers), np.count_nonzero(centers, axis=1)
        out = np.empty(self.n_samples)
        map_blocks(
            lambda a, b: _own_squares_sparse(self.entries, centers, squares, stored, labels, out, a, b),
            self.n_samples,
            size=BLOCK,
            n_jobs=self.n_jobs,
        )
        return out

    def add_residuals(self, labels: np.ndarray, mass: np.ndarray, centers: np.ndarray) -> None:
        _add_residuals_sparse(self.data, self.indices, self.indptr, self.weight, labels, mass, centers)

    def seeds(self, index: np.ndarray) -> Any:
        return np.ascontiguousarray(self.X[index].toarray().T, dtype=np.float64), self.squares[index]

    def left_over(
        self, seeds: Any, active: np.ndarray, firsts: np.ndarray, closest: np.ndarray, nearer: np.ndarray
    ) -> np.ndarray:
        data = self.weight, active, firsts, closest
        parts = map_blocks(
            lambda a, b: _left_over_sparse(self._seed_squares(seeds, a, b), *data, a),
            self.n_samples,
            size=BLOCK,
            n_jobs=self.n_jobs,
        )
        return np.array(parts)

    def approach(
        self,
        seeds: Any,
        active: np.ndarray,
        best: np.ndarray,
        bits: np.ndarray,
        closest: np.ndarray,
        nearer: np.ndarray,
    ) -> None:
        chosen = np.ascontiguousarray(seeds[0][:, best]), seeds[1][best]
        map_blocks(
            lambda a, b: _approach_sparse(self._seed_squares(chosen, a, b), active, closest, a),
            self.n_samples,
            size=BLOCK,
            n_jobs=self.n_jobs,
        )

    def _seed_squares(self, seeds: Any, start: int, stop: int) -> np.ndarray:
        """Squared distances (rows of a block, seeds)."""
        out = np.empty((stop - start, len(seeds[1])), dtype=np.float32)
        _sparse_seed(self.entries, self.squares, *seeds, self.scale, start, out)
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
def _sparse_bounds(data, indices, indptr, screen, first, start, out):
    K = out.shape[1]
    for i in range(out.shape[0]):
        for j in range(K):
            out[i, j] = 0.0
        for p in range(indptr[start + i], indptr[start + i + 1]):
            x = data[p]
            c = indices[p]
            for j in range(K):
                out[i, j] += x * screen[c, first + j]


@fast_kernel
def _settle_sparse(entries, L, centers, offsets, doubt, start, labels):
    """As :func:`.dense._settle_dense`."""
    data, indices, indptr = entries
    exact, half_squares, least = centers.exact, centers.half_squares, centers.least
    limits = doubt.limit
    for t in range(limits.size):
        r = doubt.run[t]
        i = doubt.row[t]
        best = 1.7e308
        for j in range(offsets[r], offsets[r + 1]):
            if L[j, i] + least[j] <= limits[t]:
                dot = 0.0
                for p in range(indptr[start + i], indptr[start + i + 1]):
                    dot += data[p] * exact[j, indices[p]]
                score = half_squares[j] - dot
                if score < best:
                    best = score
                    labels[r, start + i] = j - offsets[r]


@kernel
def _add_sparse(entries, weight, members, sums, runs):
    data, indices, indptr = entries
    labels, active, offsets = members
    for i in range(indptr.shape[0] - 1):
        for a in range(runs[0], runs[1]):
            j = offsets[a] + labels[active[a], i]
            for p in range(indptr[i], indptr[i + 1]):
                sums[j, indices[p]] += weight[i] * data[p]
            sums[j, -1] += weight[i]


@kernel
def _move_sparse(entries, weight, changes, members, sums, runs):
    data, indices, indptr = entries
    run, row, old = changes
    labels, active, offsets = members
    for t in range(run.size):
        a = run[t]
        if runs[0] <= a < runs[1]:
            i = row[t]
            into, out_of = offsets[a] + labels[active[a], i], offsets[a] + old[t]
            for p in range(indptr[i], indptr[i + 1]):
                x = weight[i] * data[p]
                sums[into, indices[p]] += x
                sums[out_of, indices[p]] -= x
            sums[into, -1] += weight[i]
            sums[out_of, -1] -= weight[i]


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
def _own_squares_sparse(entries, centers, squares, stored, labels, out, start, stop):
    data, indices, indptr = entries
    # |c|^2 + sum over stored values of (x - c)^2 - c^2: no large terms cancel when x is close to c, unless
    # nothing of |c|^2 lies elsewhere; then it is left out, and a far row alone in its cluster has distance 0
    # exactly.
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
def _sparse_seed(entries, squares, across, candidate_squares, scale, start, out):
    data, indices, indptr = entries
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


@kernel
def _approach_sparse(squares, active, closest, start):
    for a in range(active.size):
        for i in range(squares.shape[0]):
            closest[active[a], start + i] = min(closest[active[a], start + i], squares[i, a])


@kernel
def _left_over_sparse(squares, weight, active, firsts, closest, start):
    out = np.zeros(squares.shape[1])
    for i in range(squares.shape[0]):
        for a in range(active.size):
            for t in range(firsts[a], firsts[a + 1]):
                out[t] += weight[start + i] * min(closest[active[a], start + i], squares[i, t])
    return out
