"""k-means on data that fits a core's cache: a whole run in one compiled call.

Small data has no passes worth sharing between runs, and a step on it takes less time than the interpreter
needs to ask for it. So each run is one call that frees the interpreter lock; runs lie side by side on
threads. Start, stopping rule and empty clusters are those of :mod:`.kmeans`; scores are plain float64
products, with no screen before them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..compile.arrays import empty_array, zero_array
from ..compile.jit import fast_kernel, kernel
from ..compile.vectors import square
from .middle import add_residuals, mean_variance, middle_of

#: Numbers in X (2 MB of float64), and rows, up to which data is small (measured: benchmarks/bench_kmeans.py).
SMALL = 2**18
FEW_ROWS = 2**13


def is_small(X: Any) -> bool:
    return isinstance(X, np.ndarray) and X.size <= SMALL and len(X) <= FEW_ROWS


class SmallRows:
    """A dense array with its middle taken off, by columns: what a compiled run reads, and all it reads."""

    def __init__(self, X: np.ndarray, sample_weight: np.ndarray):
        X = X.astype(np.float64)
        self.n_samples, self.n_features = X.shape
        self.weight = sample_weight
        mean = X.sum(axis=0) / self.n_samples
        self.middle = middle_of(X, mean)
        self.far = bool((self.middle != mean).any())
        X -= self.middle
        self.X = X
        self.columns = np.ascontiguousarray(X.T)  # (d, n)
        squares = np.einsum("ij,ij->i", X, X)
        self.mean_variance = mean_variance(squares.sum() / self.n_samples, mean - self.middle)
        # For starts, which need not be exact: over the longest row, so that float32 cannot overflow.
        self.single = (self.columns / (np.sqrt(squares.max()) or 1.0)).astype(np.float32)


class Run(NamedTuple):
    labels: np.ndarray
    centers: np.ndarray  # (k, d), middle still off
    inertia: float
    n_iter: int
    converged: bool


def plus_plus(rows: SmallRows, k: int, rng: np.random.Generator) -> np.ndarray:
    """k row numbers by greedy k-means++ with 2 + log k candidates a step."""
    first = rng.random()
    tickets = rng.random((k - 1, 2 + int(np.log(k))))
    return _plus_plus(rows.single, rows.weight, first, tickets)


def run_from(rows: SmallRows, centers: np.ndarray, max_iter: int, tol: float) -> Run:
    """Lloyd's steps from the given centers (middle taken off)."""
    return Run(
        *_lloyd(rows.X, rows.columns, rows.weight, np.ascontiguousarray(centers), max_iter, tol, rows.far)
    )


@kernel
def _plus_plus(columns, weight, first, tickets):
    n, trials = weight.size, tickets.shape[1]
    steps = tickets.shape[0]
    chosen = empty_array(steps + 1, np.int64)
    everyone = running_sum(weight)
    chosen[0] = draw(everyone, first)
    closest = empty_array(n, np.float32)
    _squares_to(columns, chosen[0], closest)
    best, trial = empty_array(n, np.float32), empty_array(n, np.float32)
    for step in range(steps):
        heap = running_products(closest, weight)
        least = np.inf
        for t in range(trials):
            # Where every row sits on a chosen one any will do, and Lloyd's empty clusters sort it out.
            candidate = draw(heap if heap[-1] > 0 else everyone, tickets[step, t])
            _squares_to(columns, candidate, trial)
            left_over = _keep_smaller(closest, weight, trial)
            if t == 0 or left_over < least:  # also where weights overflow: no place may stay unwritten
                least = left_over
                chosen[step + 1] = candidate
                best, trial = trial, best
        closest, best = best, closest
    return chosen


@kernel(inline="always")
def running_sum(values):
    out = empty_array(values.size, np.float64)
    total = 0.0
    for i in range(values.size):
        total += values[i]
        out[i] = total
    return out


@kernel(inline="always")
def running_products(closest, weight):
    out = empty_array(weight.size, np.float64)
    total = 0.0
    for i in range(weight.size):
        total += closest[i] * weight[i]
        out[i] = total
    return out


@kernel(inline="always")
def draw(heap, ticket):
    """The row drawn with the probabilities whose running sum is ``heap``; some row, whatever the sum is."""
    low, high = 0, heap.size - 1
    while low < high:
        middle = (low + high) // 2
        if ticket * heap[-1] < heap[middle]:
            high = middle
        else:
            low = middle + 1
    return low


@fast_kernel(forceinline=True)
def _squares_to(columns, row, out):
    """Squared distance of every row to one of them: column by column, so that rows are side by side."""
    out[:] = np.float32(0)
    for c in range(columns.shape[0]):
        column = columns[c]
        x = column[row]
        for i in range(out.size):
            out[i] += (column[i] - x) * (column[i] - x)


@fast_kernel(forceinline=True)
def _keep_smaller(closest, weight, trial):
    """trial <- min(itself, closest); returns its weighted sum."""
    total = 0.0
    for i in range(trial.size):
        trial[i] = min(trial[i], closest[i])
        total += weight[i] * trial[i]
    return total


@kernel
def _lloyd(X, columns, weight, centers, max_iter, tol, far):
    """(labels, centers, inertia, steps, whether converged)."""
    n = X.shape[0]
    labels = empty_array(n, np.int32)
    for i in range(n):
        labels[i] = -1
    n_iter, converged, ended = 0, False, False
    while True:
        new = _nearest(columns, centers)
        same = _equal(new, labels)
        labels = new
        if ended:
            break
        before = centers
        centers = _means(X, weight, before, labels, far)
        n_iter += 1
        if same:
            converged = True
            break
        converged = _moved(centers, before) <= tol
        ended = converged or n_iter == max_iter  # centers stand; labels are read off once more
    inertia = 0.0
    for i in range(n):
        inertia += weight[i] * square(X[i], centers[labels[i]])
    return labels, centers, inertia, n_iter, converged


@kernel(inline="always")
def _nearest(columns, centers):
    """The first of the centers with the smallest |c|^2 / 2 - x'c, for every row x.

    It is 0 where all scores are NaN.
    """
    scores = empty_array((centers.shape[0], columns.shape[1]), np.float64)
    np.dot(centers, columns, scores)
    smallest = empty_array(columns.shape[1], np.float64)
    for i in range(smallest.size):
        smallest[i] = np.inf
    where = zero_array(columns.shape[1], np.int32)
    for j in range(centers.shape[0]):
        half = 0.5 * np.dot(centers[j], centers[j])
        _take_smaller(half, scores[j], np.int32(j), smallest, where)
    return where


@kernel(inline="always")
def _take_smaller(half, scores, j, smallest, where):
    for i in range(scores.size):  # written as choices, not branches, so that it becomes vector code
        score = half - scores[i]
        closer = score < smallest[i]
        smallest[i] = score if closer else smallest[i]
        where[i] = j if closer else where[i]


@kernel(inline="always")
def _means(X, weight, before, labels, far):
    """Means of the clusters, empty ones restarted at the rows farthest from their center."""
    k = before.shape[0]
    sums, mass = zero_array(before.shape, np.float64), zero_array(k, np.float64)
    for i in range(labels.size):
        mass[labels[i]] += weight[i]
        for c in range(X.shape[1]):
            sums[labels[i], c] += weight[i] * X[i, c]
    restarted = _restart_empty(X, weight, before, labels, sums, mass)
    # A cluster can stay empty only if rows coincide; it then follows the heaviest one.
    heaviest = _largest(mass)
    centers = zero_array(before.shape, np.float64)
    for j in range(k):
        own = j if mass[j] > 0 else heaviest
        share = 1.0 / mass[own]
        for c in range(X.shape[1]):
            centers[j, c] += share * sums[own, c]
    if far and not restarted:
        add_residuals(X, zero_array(X.shape[1], np.float64), weight, labels, mass, centers)
    return centers


@kernel(inline="always")
def _restart_empty(X, weight, before, labels, sums, mass):
    """Move the farthest rows, one each, to the empty clusters; False where all rows sit on their center."""
    empty = empty_array(mass.size, np.int64)
    count = 0
    for j in range(mass.size):
        if mass[j] == 0:
            empty[count] = j
            count += 1
    if count == 0:
        return False
    distance = empty_array(labels.size, np.float64)
    for i in range(labels.size):
        distance[i] = square(X[i], before[labels[i]])
    for t in range(count):
        i, j = _largest(distance), empty[t]
        if t == 0 and distance[i] == 0:
            return False
        distance[i] = -1.0  # taken
        for c in range(X.shape[1]):
            sums[labels[i], c] -= weight[i] * X[i, c]
            sums[j, c] += weight[i] * X[i, c]
        mass[labels[i]] -= weight[i]
        mass[j] = weight[i]
    return True


@kernel(inline="always")
def _largest(values):
    # By hand, as sums and searches above: compiling numpy's would take longer than most runs.
    best = 0
    for i in range(1, values.size):
        if values[i] > values[best]:
            best = i
    return best


@kernel(inline="always")
def _moved(centers, before):
    total = 0.0
    for j in range(centers.shape[0]):
        total += square(centers[j], before[j])
    return total


@kernel(inline="always")
def _equal(a, b):
    for i in range(a.size):  # noqa: SIM110 - compiled code has no generators
        if a[i] != b[i]:
            return False
    return True
