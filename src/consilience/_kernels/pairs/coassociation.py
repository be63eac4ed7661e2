"""Co-association by rows, dense or on its sparse pattern.

    A_pq = sum_i a_i b(cluster of p in i) [p, q together in i] / sum_i a_i [p, q both seen in i]     (1)

a_i weighs a clustering, b a cluster. A pair never seen together, or only by clusterings of weight 0, has
denominator 0 and is stored as 0. codes (m, u): global cluster ids with one clustering per ROW (so that inner
loops run over neighbors in memory), -1 missing. An Ensemble numbers them below k, the length of
cluster_weights and of first less one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compile.arrays import empty_array, zero_array
from ..compile.jit import kernel
from ..compile.plain import sort_inplace, total

#: Labels times objects up to which NumPy writes rows of (1) in no time, and a kernel takes longer to compile.
_FEW = 2**20


class Votes(NamedTuple):
    """Base clusterings as Eq. (1) reads them."""

    codes: np.ndarray  # (m, u)
    clustering_weights: np.ndarray  # (m,) a
    cluster_weights: np.ndarray  # (k,) b
    any_missing: bool


def dense_rows(
    codes: np.ndarray,
    clustering_weights: np.ndarray,
    cluster_weights: np.ndarray,
    any_missing: bool,
    start: int,
    stop: int,
    out: np.ndarray,
) -> None:
    """Write rows start..stop of (1) into ``out`` (stop - start, u)."""
    rows = _few_dense_rows if codes.size * codes.shape[1] <= _FEW else _dense_rows
    rows(codes, clustering_weights, cluster_weights, any_missing, start, stop, out)


def _few_dense_rows(
    codes: np.ndarray,
    clustering_weights: np.ndarray,
    cluster_weights: np.ndarray,
    any_missing: bool,
    start: int,
    stop: int,
    out: np.ndarray,
) -> None:
    """The same for few objects; sums are in the order of the kernel."""
    out[:], weights_in_all = 0.0, 0.0
    seen = np.zeros_like(out)
    for code, own, weight in zip(codes, codes[:, start:stop, None], clustering_weights.tolist()):
        weights_in_all += weight
        out += np.where(code == own, np.where(own != -1, weight * cluster_weights[own], 0.0), 0.0)
        if any_missing:
            seen += np.where((code != -1) & (own != -1), weight, 0.0)
    if any_missing:
        np.divide(out, seen, out=out, where=seen > 0)
        out[seen <= 0] = 0.0
    else:
        out /= weights_in_all


@kernel
def _dense_rows(codes, clustering_weights, cluster_weights, any_missing, start, stop, out):
    """Write rows start..stop of (1) into ``out`` (stop - start, u).

    Cost: O((stop - start) u m), no scratch matrices.
    """
    m, u = codes.shape
    weights_in_all = total(clustering_weights)
    seen = empty_array(u, np.float64)
    for p in range(start, stop):
        row = out[p - start]
        row[:] = 0.0
        seen[:] = 0.0
        for i in range(m):
            code = codes[i, p]
            if code == -1:
                continue
            weight = clustering_weights[i] * cluster_weights[code]
            column = codes[i]
            for q in range(u):
                row[q] += weight if column[q] == code else 0.0
            if any_missing:
                weight = clustering_weights[i]
                for q in range(u):
                    seen[q] += weight if column[q] != -1 else 0.0
        if any_missing:
            for q in range(u):
                row[q] = row[q] / seen[q] if seen[q] > 0 else 0.0
        else:
            for q in range(u):
                row[q] /= weights_in_all


@kernel
def seen_rows(codes, clustering_weights, start, stop, out):
    """Rows of the denominator of (1): how often (by weight) both were seen."""
    m, u = codes.shape
    for p in range(start, stop):
        row = out[p - start]
        row[:] = 0.0
        for i in range(m):
            if codes[i, p] != -1:
                for q in range(u):
                    if codes[i, q] != -1:
                        row[q] += clustering_weights[i]


@kernel
def count_row_pattern(codes, members, first, start, stop, out):
    """Number of partners (itself included) of each object: the row lengths of the sparse pattern."""
    m, u = codes.shape
    met = np.full(u, -1, np.int64)
    for p in range(start, stop):
        count = 0
        for i in range(m):
            code = codes[i, p]
            if code == -1:
                continue
            for t in range(first[code], first[code + 1]):
                q = members[t]
                if met[q] != p:
                    met[q] = p
                    count += 1
        out[p] = count


@kernel
def fill_rows(votes, members, first, start, stop, entries):
    """Sorted indices and values of the sparse rows counted by :func:`count_row_pattern`.

    With the same members.
    """
    codes, clustering_weights, cluster_weights, any_missing = votes
    data, indices, indptr = entries
    m, u = codes.shape
    weights_in_all = total(clustering_weights)
    met = np.full(u, -1, np.int64)
    row = zero_array(u, np.float64)
    for p in range(start, stop):
        at = indptr[p]
        for i in range(m):
            code = codes[i, p]
            if code == -1:
                continue
            weight = clustering_weights[i] * cluster_weights[code]
            for t in range(first[code], first[code + 1]):
                q = members[t]
                if met[q] != p:
                    met[q] = p
                    indices[at] = q
                    at += 1
                row[q] += weight
        sort_inplace(indices[indptr[p] : at])
        for t in range(indptr[p], at):
            q = indices[t]
            denominator = weights_in_all
            if any_missing:
                denominator = 0.0
                for i in range(m):
                    if codes[i, p] != -1 and codes[i, q] != -1:
                        denominator += clustering_weights[i]
            data[t] = row[q] / denominator if denominator > 0 else 0.0
            row[q] = 0.0


@kernel
def mean_overlap(left, right, weights, k_left, k_right, agreement, pairs):
    """Add to ``agreement`` the Jaccard overlap of each object's clusters in two clusterings that saw it."""
    table = zero_array((k_left, k_right), np.float64)
    for p in range(left.size):
        if left[p] != -1 and right[p] != -1:
            table[left[p], right[p]] += weights[p]
    rows = table.sum(axis=1)
    columns = table.sum(axis=0)
    for p in range(left.size):
        if left[p] != -1 and right[p] != -1:
            both = table[left[p], right[p]]
            agreement[p] += both / (rows[left[p]] + columns[right[p]] - both)
            pairs[p] += 1
