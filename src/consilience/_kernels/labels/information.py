"""What is read off contingency tables: information, pairs of objects, and the measures made of them.

Everything here takes arrays and gives arrays; logarithms are natural.
"""

from __future__ import annotations

import math

import numpy as np

from ..._base.parameters import Choice, check
from ..compile.arrays import empty_array, zero_array
from ..compile.jit import kernel
from ..runtime.threads import map_blocks, map_tasks
from .contingency import SMALL_TABLE, Cells, count_pairs


def information_terms(counts, rows, columns, n):
    """n_ij log( n n_ij / (a_i b_j) ) of cells that are not zero: MI in nats is their sum over n.

    The ratio is formed before the logarithm, so that independent cells contribute exactly zero.
    """
    return counts * np.log(n * counts / (rows * columns))


def entropy_terms(counts, n):
    """- a_i/n log(a_i/n) of counts that are not zero: the entropy in nats is their sum."""
    return -counts / n * np.log(counts / n)


def confuse_pairs(both, a, b, n, itself):
    """Ordered pairs of objects together in both partitions, in the first only, the second only, in neither.

    From sum n_ij^2, sum a_i^2, sum b_j^2 and n. ``itself`` is what the pairs of an object with itself weigh:
    n leaves them out (weights below one then leave less than one pair: none), 0 counts them.
    """
    return max(0, both - itself), max(0, a - both), max(0, b - both), n * n - a - b + both


def adjusted_rand(together, only_a, only_b, apart):
    """ARI from the pairs, 0 where chance leaves nothing to gain; Python's integers stay exact at any n."""
    below = (together + only_a) * (only_a + apart) + (together + only_b) * (only_b + apart)
    return 2 * (together * apart - only_a * only_b) / below if below else 0.0


# The same formulas inside kernels.
_information_terms, _entropy_terms = kernel(information_terms), kernel(entropy_terms)
_confuse_pairs, _adjusted_rand = kernel(confuse_pairs), kernel(adjusted_rand)

#: Means of two entropies, by the number that :func:`mean_entropy` takes.
MEANS = ("arithmetic", "max", "geometric")


@kernel(inline="always")
def mean_entropy(entropy_a, entropy_b, mean):
    """The mean of two entropies, by its place in :data:`MEANS`."""
    if mean == 1:
        return max(entropy_a, entropy_b)
    if mean == 2:
        return math.sqrt(max(0.0, entropy_a * entropy_b))
    return (entropy_a + entropy_b) / 2


@kernel(inline="always")
def normalize_information(information, entropy_a, entropy_b, mean):
    """NMI of two different partitions; if one of them is a single cluster, the information is zero."""
    scale = mean_entropy(entropy_a, entropy_b, mean)
    return min(1.0, max(0.0, information / scale)) if scale > 0 else 0.0


def mutual_information(cells: Cells, rows: np.ndarray, columns: np.ndarray) -> float:
    """MI = sum_ij n_ij/n log( n n_ij / (a_i b_j) ) in nats, from the cells and both margins."""
    n = float(rows.sum())
    a, b = rows[cells.rows].astype(np.float64), columns[cells.columns].astype(np.float64)
    return max(0.0, _sum(information_terms(cells.counts.astype(np.float64), a, b, n)) / n)


def entropy(counts: np.ndarray) -> float:
    """H = - sum_i a_i/n log(a_i/n) in nats; zero counts contribute nothing."""
    return max(0.0, _sum(entropy_terms(counts[counts > 0], counts.sum())))


def _sum(terms: np.ndarray) -> float:
    """Sum of the sorted terms: renaming clusters does not change even the last digit."""
    return float(np.sort(terms).sum())


def expected_mutual_information(rows: np.ndarray, columns: np.ndarray, *, n_jobs: int | None = -1) -> float:
    """E[MI] over all tables with the given integer margins (Vinh, Epps and Bailey 2010, Eq. 24a).

        E = sum_ij sum_k  k/n log( n k / (a_i b_j) ) P(k),    P hypergeometric with (a_i, b_j, n)

    Equal margins are summed once. Each inner sum starts at the mode of P, walks outwards by the ratio
    P(k+1)/P(k) until the terms no longer count, and is normalized by the sum of P itself: about 20 standard
    deviations of terms instead of min(a_i, b_j), and no differences of large log-factorials.
    """
    a, repeats_a = np.unique(np.asarray(rows, np.float64), return_counts=True)
    b, repeats_b = np.unique(np.asarray(columns, np.float64), return_counts=True)
    n = float(np.sum(rows))
    if not all(np.array_equal(m, np.rint(m)) and m[0] > 0 for m in (a, b)):
        raise ValueError("Margins must be whole positive numbers: counts are looked up by them.")
    # Most k are small: looking their logarithms up halves the time.
    logs = np.log(np.arange(1, 1 + int(min(a[-1], b[-1], 1 << 14))))
    size = max(1, (1 << 10) // b.size)
    sums = map_blocks(
        lambda i, j: _expected(a[i:j], repeats_a[i:j], b, repeats_b, n, logs),
        a.size,
        size=size,
        n_jobs=n_jobs,
    )
    return math.fsum(sums)


@kernel
def _expected(a, repeats_a, b, repeats_b, n, logs):
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            total += repeats_a[i] * repeats_b[j] * _expected_cell(a[i], b[j], n, logs)
    return total


@kernel
def _log(k, logs):
    """k is a whole number from 1 on (margins are whole): below, the place would wrap around."""
    return logs[np.uint64(k) - np.uint64(1)] if k <= logs.shape[0] else math.log(k)


@kernel
def _expected_cell(a, b, n, logs):
    """sum_k k/n log(n k/(a b)) P(k), with P(mode) = 1 until the end."""
    low, high = max(0.0, a + b - n), min(a, b)
    mode = min(max(math.floor((a + 1) * (b + 1) / (n + 2)), low), high)
    rest = n - a - b
    shift = math.log(a) + math.log(b) - math.log(n)
    mass = 1.0
    total = mode * (_log(mode, logs) - shift) if mode > 0 else 0.0
    p, k = 1.0, mode
    while k < high and p > 1e-20:
        p *= (a - k) * (b - k) / ((k + 1) * (rest + k + 1))
        k += 1
        mass += p
        total += p * k * (_log(k, logs) - shift)
    p, k = 1.0, mode
    while k > low and p > 1e-20:
        p *= k * (rest + k) / ((a - k + 1) * (b - k + 1))
        k -= 1
        mass += p
        if k > 0:
            total += p * k * (_log(k, logs) - shift)
    return total / (mass * n)


# All pairs of columns --------------------------------------------------------------------------------------

#: Measures of two partitions, by the number that kernels know them by; plain "nmi" is the arithmetic one, as
#: in scikit-learn.
PAIRWISE_MEASURES = ("nmi", "nmi_max", "nmi_geometric", "nmi_arithmetic", "ari")


def measure_tables(
    table: np.ndarray, offsets: np.ndarray, measure: str = "nmi", *, with_itself: bool = False
) -> np.ndarray:
    """(m,) a measure of each of m dense tables that lie one below the other.

    Table i is rows offsets[i] to offsets[i + 1].

    NaN for a table without counts. ``with_itself`` counts an object's pair with itself in the ARI, which
    makes it independent of the scale of weights.
    """
    check("measure", measure, Choice(*PAIRWISE_MEASURES))
    which, out = PAIRWISE_MEASURES.index(measure), np.empty(len(offsets) - 1)
    for i in range(len(out)):
        out[i] = _measure(table[offsets[i] : offsets[i + 1]], which, with_itself)
    return out


def pairwise_measure(
    labels: np.ndarray,
    n_clusters: np.ndarray,
    measure: str = "nmi",
    weights: np.ndarray | None = None,
    *,
    n_jobs: int | None = -1,
) -> np.ndarray:
    """Symmetric (m, m) matrix of a measure between every two columns of ``labels`` (n, m), -1 missing.

    Each pair is compared on the objects that both have labeled; a pair without any is NaN. Time
    O(n m^2 / 2), memory one copy of ``labels`` and one table per thread; threads share the columns.
    """
    check("measure", measure, Choice(*PAIRWISE_MEASURES))
    m = labels.shape[1]
    columns = np.ascontiguousarray(labels.T)
    widths = np.ascontiguousarray(n_clusters, np.int64)
    weights = np.ones(1) if weights is None else np.ascontiguousarray(weights, np.float64)
    out = np.ones((m, m))
    which = PAIRWISE_MEASURES.index(measure)
    widest = int(widths.max(initial=0))

    def pairs_of(i: int) -> None:
        if int(widths[i]) * widest <= max(SMALL_TABLE, 2 * labels.shape[0]):
            _pairs_of_column(columns, weights, widths, i, which, False, out)
            return
        for j in range(i, m):
            out[i, j] = _sparse_pair(columns[i], columns[j], weights, which)

    map_tasks(pairs_of, list(range(m)), n_jobs=n_jobs)
    upper = np.triu_indices(m, 1)
    out.T[upper] = out[upper]
    return out


@kernel
def _pairs_of_column(columns, weights, widths, i, which, with_itself, out):
    """Row i of the matrix, from the diagonal on."""
    m, n = columns.shape
    one_weight = weights.shape[0] != n
    widest = 1
    for j in range(i, m):
        widest = max(widest, widths[j])
    table = empty_array(widths[i] * widest, np.float64)
    for j in range(i, m):
        width = widths[j]
        cells = table[: widths[i] * width]
        cells[:] = 0.0
        for p in range(n):
            if columns[i, p] >= 0 and columns[j, p] >= 0:
                cells[columns[i, p] * width + columns[j, p]] += weights[0] if one_weight else weights[p]
        out[i, j] = _measure(cells.reshape(widths[i], width), which, with_itself)


@kernel
def _measure(table, which, with_itself):
    """One measure of a dense table; the conventions at the edges are scikit-learn's."""
    a, b = zero_array(table.shape[0], np.float64), zero_array(table.shape[1], np.float64)
    squares, n_cells = 0.0, 0
    for i in range(table.shape[0]):
        for j in range(table.shape[1]):
            if table[i, j] > 0:
                n_cells += 1
                a[i] += table[i, j]
                b[j] += table[i, j]
                squares += table[i, j] * table[i, j]
    # Loops, not array expressions: they compile in a fraction of the time.
    n, squares_a, n_rows = 0.0, 0.0, 0
    for i in range(a.shape[0]):
        n += a[i]
        squares_a += a[i] * a[i]
        n_rows += a[i] > 0
    squares_b, n_columns = 0.0, 0
    for j in range(b.shape[0]):
        squares_b += b[j] * b[j]
        n_columns += b[j] > 0
    if n <= 0:
        return np.nan
    if n_cells == n_rows == n_columns:
        return 1.0  # the same partition, also where a formula would say 0/0
    if which == 4:
        together, only_a, only_b, apart = _confuse_pairs(
            squares, squares_a, squares_b, n, 0.0 if with_itself else n
        )
        return _adjusted_rand(together, only_a, only_b, apart)
    information, entropy_a, entropy_b = 0.0, 0.0, 0.0
    for i in range(table.shape[0]):
        if a[i] > 0:
            entropy_a += _entropy_terms(a[i], n)
            for j in range(table.shape[1]):
                if table[i, j] > 0:
                    information += _information_terms(table[i, j], a[i], b[j], n)
    for j in range(table.shape[1]):
        if b[j] > 0:
            entropy_b += _entropy_terms(b[j], n)
    return normalize_information(information / n, entropy_a, entropy_b, which % 3)


def _sparse_pair(a: np.ndarray, b: np.ndarray, weights: np.ndarray, which: int) -> float:
    """The same for a table too large to hold densely."""
    seen = (a >= 0) & (b >= 0)
    cells = count_pairs(a[seen], b[seen], weights[seen] if weights.size == a.size else None, n_jobs=1)
    if cells.counts.size == 0:
        return math.nan
    if cells.counts.size == cells.row_values.size == cells.column_values.size:
        return 1.0
    counts = cells.counts.astype(np.float64)
    rows = np.bincount(cells.rows, counts)
    columns = np.bincount(cells.columns, counts)
    n = float(counts.sum())
    if which == 4:
        return adjusted_rand(
            *confuse_pairs(float(counts @ counts), float(rows @ rows), float(columns @ columns), n, n)
        )
    information = mutual_information(cells, rows, columns)
    return normalize_information(information, entropy(rows), entropy(columns), which % 3)
