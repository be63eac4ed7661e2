"""How the clusters of all clusterings overlap, pair of clusterings by pair, in tables that stay in the cache.

Everything that needs Y' diag(v) Y, with Y (u, k) the indicator of k clusters in m clusterings, is accumulated
here without forming Y, and products with Y are sums over the labels of a row. labels (u, m) hold codes 0..k_i
- 1, -1 for missing; cluster j of clustering i has number offsets[i] + j, as in an Ensemble, which keeps to
it.
"""

from __future__ import annotations

import numpy as np

from ..compile.arrays import zero_array
from ..compile.jit import kernel
from ..runtime.memory import ensure_fits
from ..runtime.threads import map_blocks, map_tasks, resolve_jobs
from .few import FEW_LABELS

_BLOCK = 1 << 14  # rows; does not depend on the number of threads, so sums do not either
_FEW_CLUSTERINGS = 64  # whose pairs a loop of Python goes through in no time


def mean_entropies(
    labels: np.ndarray, offsets: np.ndarray, weights: np.ndarray, *, n_jobs: int | None = -1
) -> np.ndarray:
    """(k,) mean over clusterings of the entropy, in bits, of how they divide each cluster.

        H_m(C) = - sum_j p_j log2 p_j,   p_j = w(C n C_j^m) / w(C n seen by m)                            (1)

    over the clusterings m that saw any of C, its own among them (entropy 0). O(u m^2 / 2) time, O(k m)
    memory.
    """
    m = labels.shape[1]
    _ensure_tables(offsets, n_jobs)
    codes = np.ascontiguousarray(labels.T)
    parts = map_tasks(lambda i: _entropies_from(codes, offsets, weights, i), list(range(m)), n_jobs=n_jobs)
    total, seen = np.zeros(offsets[-1]), np.ones(offsets[-1])
    for entropy, count in parts:
        total += entropy
        seen += count
    return total / seen


def cluster_reliability(
    labels: np.ndarray, offsets: np.ndarray, weights: np.ndarray, theta: float, *, n_jobs: int | None = -1
) -> np.ndarray:
    """(k,) ensemble-driven cluster index exp(-H / theta) in (0, 1], H of Eq. (1)."""
    return reliability_of(mean_entropies(labels, offsets, weights, n_jobs=n_jobs), theta)


def reliability_of(entropies: np.ndarray, theta: float) -> np.ndarray:
    """exp(-H / theta) of mean entropies H."""
    # A floor that no ordinary theta reaches: weights of exactly 0 would leave objects without any evidence.
    with np.errstate(over="ignore"):  # by the smallest theta: infinite, and the floor
        return np.maximum(np.exp(-entropies / theta), 1e-60)


def overlap_matrix(
    labels: np.ndarray, offsets: np.ndarray, values: np.ndarray, *, n_jobs: int | None = -1
) -> np.ndarray:
    """Y' diag(values) Y (k, k) dense. O(u m^2 / 2) time, 8 k^2 bytes."""
    k, m = int(offsets[-1]), labels.shape[1]
    _ensure_tables(offsets, n_jobs, matrix=8.0 * k * k)
    codes = np.ascontiguousarray(labels.T)
    out = np.zeros((k, k))
    if codes.size <= FEW_LABELS and codes.shape[0] <= _FEW_CLUSTERINGS:
        _few_overlaps(codes, offsets, values, out)
        return out
    map_tasks(lambda i: _overlaps_from(codes, offsets, values, i, out), list(range(m)), n_jobs=n_jobs)
    return out


def _ensure_tables(offsets: np.ndarray, n_jobs: int | None, matrix: float = 0.0) -> None:
    """Refuse what will not fit: on every thread, the table of two clusterings."""
    widths = np.sort(np.diff(offsets)).astype(float)
    ensure_fits(
        8.0 * widths[-2:].prod() * min(resolve_jobs(n_jobs), widths.size) + matrix,
        what=f"The overlaps of {int(offsets[-1])} base clusters, {widths[-1]:.0f} in one clustering,",
        remedy="leave out the clusterings with the most clusters",
    )


def gather(
    labels: np.ndarray, offsets: np.ndarray, values: np.ndarray, *, n_jobs: int | None = -1
) -> np.ndarray:
    """Y values (u, b), for values (k, b): the sum over an object's clusters."""
    if labels.size <= FEW_LABELS:
        return _few_gathered(labels, offsets, values)
    out = np.empty((labels.shape[0], values.shape[1]))
    values = np.ascontiguousarray(values)
    map_blocks(
        lambda a, b: _gather(labels[a:b], offsets, values, out[a:b]), len(labels), size=_BLOCK, n_jobs=n_jobs
    )
    return out


def gather_own(
    labels: np.ndarray,
    offsets: np.ndarray,
    values: np.ndarray,
    groups: np.ndarray,
    *,
    rows: np.ndarray | None = None,
    n_jobs: int | None = -1,
) -> np.ndarray:
    """(n,) the sum over an object's clusters of values (k, c) in the column of its own group; 0 for group -1.

    rows (n,): the row of ``labels`` of each object, by default its own.
    """
    rows = np.arange(len(groups)) if rows is None else rows
    if max(labels.shape[0], len(groups)) * labels.shape[1] <= FEW_LABELS:
        return _few_gathered_own(labels, offsets, values, groups, rows)
    out = np.empty(len(groups))
    values = np.ascontiguousarray(values)
    map_blocks(
        lambda a, b: _gather_own(labels, offsets, values, groups[a:b], rows[a:b], out[a:b]),
        len(groups),
        size=_BLOCK,
        n_jobs=n_jobs,
    )
    return out


def scatter(
    labels: np.ndarray, offsets: np.ndarray, values: np.ndarray, *, n_jobs: int | None = -1
) -> np.ndarray:
    """Y' values (k, b), for values (u, b): the sum over a cluster's objects."""
    k = int(offsets[-1])
    if labels.size <= FEW_LABELS and len(labels) <= _BLOCK:
        return _few_scattered(labels, offsets, values, k)
    values = np.ascontiguousarray(values)
    parts = map_blocks(
        lambda a, b: _scatter(labels[a:b], offsets, values[a:b], k), len(labels), size=_BLOCK, n_jobs=n_jobs
    )
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


# For few labels: sums are in the order of the kernels below.


def _few_overlaps(codes: np.ndarray, offsets: np.ndarray, values: np.ndarray, out: np.ndarray) -> None:
    for i in range(len(codes)):
        for j in range(i, len(codes)):
            seen = (codes[i] >= 0) & (codes[j] >= 0)
            k_i, k_j = int(offsets[i + 1] - offsets[i]), int(offsets[j + 1] - offsets[j])
            cells = codes[i][seen].astype(np.int64) * k_j + codes[j][seen]
            table = np.bincount(cells, values[seen], minlength=k_i * k_j).reshape(k_i, k_j)
            out[offsets[i] : offsets[i + 1], offsets[j] : offsets[j + 1]] = table
            out[offsets[j] : offsets[j + 1], offsets[i] : offsets[i + 1]] = table.T


def _few_gathered(labels: np.ndarray, offsets: np.ndarray, values: np.ndarray) -> np.ndarray:
    out = np.zeros((labels.shape[0], values.shape[1]))
    for i in range(labels.shape[1]):
        seen = labels[:, i] >= 0
        out[seen] += values[offsets[i] + labels[seen, i]]
    return out


def _few_gathered_own(
    labels: np.ndarray, offsets: np.ndarray, values: np.ndarray, groups: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    out = np.zeros(len(groups))
    own = np.flatnonzero(groups >= 0)
    for i in range(labels.shape[1]):
        codes = labels[rows[own], i]
        seen = codes >= 0
        out[own[seen]] += values[offsets[i] + codes[seen], groups[own[seen]]]
    return out


def _few_scattered(labels: np.ndarray, offsets: np.ndarray, values: np.ndarray, k: int) -> np.ndarray:
    seen = labels >= 0
    clusters = (offsets[:-1] + labels)[seen]
    objects = np.nonzero(seen)[0]
    out = np.empty((k, values.shape[1]))
    for j in range(values.shape[1]):
        out[:, j] = np.bincount(clusters, values[objects, j], minlength=k)
    return out


@kernel
def _entropies_from(codes, offsets, weights, i):
    """Contributions of the pairs (i, j), j > i, to both sides of (1)."""
    m, u = codes.shape
    k_i = offsets[i + 1] - offsets[i]
    entropy, count = zero_array(offsets[m], np.float64), zero_array(offsets[m], np.float64)
    for j in range(i + 1, m):
        k_j = offsets[j + 1] - offsets[j]
        table = zero_array((k_i, k_j), np.float64)
        for p in range(u):
            a, b = codes[i, p], codes[j, p]
            if a >= 0 and b >= 0:
                table[a, b] += weights[p]
        rows, columns = zero_array(k_i, np.float64), zero_array(k_j, np.float64)
        row_logs, column_logs = zero_array(k_i, np.float64), zero_array(k_j, np.float64)
        for a in range(k_i):
            for b in range(k_j):
                x = table[a, b]
                if x > 0:
                    term = x * np.log2(x)
                    rows[a] += x
                    columns[b] += x
                    row_logs[a] += term
                    column_logs[b] += term
        for a in range(k_i):
            if rows[a] > 0:
                # max: a cluster that is not divided has entropy 0, not -1e-16.
                entropy[offsets[i] + a] += max(np.log2(rows[a]) - row_logs[a] / rows[a], 0.0)
                count[offsets[i] + a] += 1
        for b in range(k_j):
            if columns[b] > 0:
                entropy[offsets[j] + b] += max(np.log2(columns[b]) - column_logs[b] / columns[b], 0.0)
                count[offsets[j] + b] += 1
    return entropy, count


@kernel
def _overlaps_from(codes, offsets, values, i, out):
    """Blocks (i, j) and (j, i), j >= i, of Y' diag(values) Y."""
    m, u = codes.shape
    k_i = offsets[i + 1] - offsets[i]
    for j in range(i, m):
        k_j = offsets[j + 1] - offsets[j]
        table = zero_array((k_i, k_j), np.float64)
        for p in range(u):
            a, b = codes[i, p], codes[j, p]
            if a >= 0 and b >= 0:
                table[a, b] += values[p]
        for a in range(k_i):
            for b in range(k_j):
                out[offsets[i] + a, offsets[j] + b] = table[a, b]
                out[offsets[j] + b, offsets[i] + a] = table[a, b]


@kernel
def _gather(labels, offsets, values, out):
    b = values.shape[1]
    whole = b - b % 4
    for p in range(labels.shape[0]):
        # Four columns at a time in registers: eigensolvers ask for blocks of four.
        for j in range(0, whole, 4):
            s0 = s1 = s2 = s3 = 0.0
            for i in range(labels.shape[1]):
                code = labels[p, i]
                if code >= 0:
                    r = offsets[i] + code
                    s0 += values[r, j]
                    s1 += values[r, j + 1]
                    s2 += values[r, j + 2]
                    s3 += values[r, j + 3]
            out[p, j], out[p, j + 1], out[p, j + 2], out[p, j + 3] = s0, s1, s2, s3
        for j in range(whole, b):
            s0 = 0.0
            for i in range(labels.shape[1]):
                code = labels[p, i]
                if code >= 0:
                    s0 += values[offsets[i] + code, j]
            out[p, j] = s0


@kernel
def _gather_own(labels, offsets, values, groups, rows, out):
    for p in range(groups.shape[0]):
        j, row, total = groups[p], labels[rows[p]], 0.0
        if j >= 0:
            for i in range(row.shape[0]):
                if row[i] >= 0:
                    total += values[offsets[i] + row[i], j]
        out[p] = total


@kernel
def _scatter(labels, offsets, values, k):
    b = values.shape[1]
    whole = b - b % 4
    out = zero_array((k, b), np.float64)
    for p in range(labels.shape[0]):
        for j in range(0, whole, 4):
            v0, v1, v2, v3 = values[p, j], values[p, j + 1], values[p, j + 2], values[p, j + 3]
            for i in range(labels.shape[1]):
                code = labels[p, i]
                if code >= 0:
                    r = offsets[i] + code
                    out[r, j] += v0
                    out[r, j + 1] += v1
                    out[r, j + 2] += v2
                    out[r, j + 3] += v3
        for j in range(whole, b):
            v0 = values[p, j]
            for i in range(labels.shape[1]):
                code = labels[p, i]
                if code >= 0:
                    out[offsets[i] + code, j] += v0
    return out
