"""Cut a weighted graph in a given number of parts: by eigenvectors, or by METIS where that is installed.

    spectral    leading eigenvectors of D^-1/2 S D^-1/2, rows to unit length, k-means with the weights
                of the vertices                                                                            (1)
    metis       multilevel bisection (from 8 parts on k-way); asks for parts of equal weight               (2)

S (v, v) symmetric and not negative, D = diag(S 1). METIS balances: within 0.1% of equal weights by bisection
and 3% k-way, as far as the weights of single vertices allow. Unequal clusters are cut through; it is here for
comparison with published figures. Where heavy vertices leave METIS fewer vertices than parts, it prints lines
of its own to the standard output, which the answer does not depend on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import need
from ..eigen import leading_eigenvectors
from .embedding import cut_rows
from .partition import compact, split_clusters

#: Ways to cut; the second needs the extra ``graph``.
PARTITIONERS = ("spectral", "metis")
_BISECTION_UP_TO = 7  # parts
_LARGEST_TOTAL = 2.0**53  # of the weights handed to METIS: whole numbers up to here are exact


def partition_graph(
    S: Any,
    n_parts: int,
    *,
    weights: np.ndarray,
    method: str = "spectral",
    seeds: Sequence[int],
    n_jobs: int | None = -1,
) -> np.ndarray:
    """(v,) part of each vertex, exactly ``n_parts`` <= v of them, numbered from 0 without gaps.

    S dense or CSR, weights (v,) of the vertices; one start of k-means, or of METIS, per seed, and the best is
    kept. METIS ignores the diagonal, and takes edges as whole numbers (:func:`whole_numbers`). Where
    it leaves parts empty, others are split by the eigenvectors of (1).
    """
    if method == "metis":
        found = metis_parts(S, n_parts, weights=weights, seeds=seeds)
        if np.unique(found).size == n_parts:
            return compact(found)
        weights = np.where(weights > 0, weights, weights.max() * 1e-12)  # a vertex may weigh nothing there
        return split_clusters(found, n_parts, embedding=spectral_vectors(S, n_parts), weights=weights)
    return cut_rows(
        spectral_vectors(S, n_parts),
        n_parts,
        unit=True,
        weights=weights,
        seeds=seeds,
        max_iter=100,
        n_jobs=n_jobs,
    ).labels


def spectral_vectors(S: Any, count: int) -> np.ndarray:
    """(v, count) leading eigenvectors of D^-1/2 S D^-1/2; vertices without any edge have rows of zeros."""
    degrees = np.asarray(S.sum(axis=1)).ravel()
    root = np.where(degrees > 0, 1.0 / np.sqrt(np.where(degrees > 0, degrees, 1.0)), 0.0)[:, None]
    v = degrees.size

    def dense() -> np.ndarray:
        return root * (S.toarray() if sp.issparse(S) else S) * root.T

    found = leading_eigenvectors(lambda X: root * (S @ (root * X)), v, min(count, v), dense=dense)
    return np.where(degrees[:, None] > 0, found.vectors, 0.0)


def metis_parts(S: Any, n_parts: int, *, weights: np.ndarray, seeds: Sequence[int]) -> np.ndarray:
    """(v,) part of each vertex by METIS: the smallest cut of one run per seed.

    Where vertices are heavy, parts may stay empty.
    """
    v = S.shape[0]
    if n_parts == 1 or n_parts == v:
        return np.zeros(v, np.int64) if n_parts == 1 else np.arange(v)
    pymetis = need("pymetis", "graph", 'partitioner="metis"')
    edges = sp.coo_array(S)
    kept = (edges.row != edges.col) & (edges.data > 0)
    values = whole_numbers(edges.data[kept])
    # An edge that rounds to 0 is no edge to METIS.
    graph = sp.csr_array((np.maximum(values, 1), (edges.row[kept], edges.col[kept])), shape=(v, v))
    graph.sort_indices()
    adjacency = pymetis.CSRAdjacency(graph.indptr.astype(np.int64), graph.indices.astype(np.int64))
    runs = [
        pymetis.part_graph(
            n_parts,
            adjacency,
            vweights=whole_numbers(weights),
            eweights=graph.data,
            recursive=n_parts <= _BISECTION_UP_TO,
            options=pymetis.Options(seed=int(seed) % 2**31),
        )
        for seed in seeds
    ]
    return np.asarray(min(runs, key=lambda run: run[0])[1], np.int64)


def whole_numbers(values: np.ndarray) -> np.ndarray:
    """Non-negative values as int64 in equal proportion, with a total of at most 2^53.

    Exact if some power of two up to 2^20 makes them whole, else in millionths of the largest.
    """
    for power in range(21):
        scaled = values * 2.0**power
        if (scaled == np.rint(scaled)).all() and scaled.sum() <= _LARGEST_TOTAL:
            return scaled.astype(np.int64)
    scale = min(1e6, _LARGEST_TOTAL / values.size)
    return np.rint(values * (scale / values.max())).astype(np.int64)
