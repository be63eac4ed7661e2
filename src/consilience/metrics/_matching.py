"""The one-to-one matching of clusters and classes with the largest total count."""

from __future__ import annotations

import numpy as np

from ._table import Contingency

_WHOLE_MATCHING = 1 << 16  # cells; below, looking for separate parts costs more than it saves
_LARGEST_DENSE_MATCHING = 1 << 22  # cells; 2000 x 2000 takes about a second at worst


def match(table: Contingency) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the one-to-one matching with the largest total count; only cells that are not zero.

    The table falls into parts of clusters and classes that share no object with the others. Each part is
    matched by itself: a part with a single row or column takes its largest cell, any other is solved by the
    Hungarian method, dense or sparse by its size.
    """
    k, c = table.shape
    if k * c <= max(_WHOLE_MATCHING, 4 * len(table.counts)):  # small, or too full to fall into parts
        return _match_whole(table.rows, table.columns, table.counts, table.shape)
    from scipy.sparse import coo_array

    from .._kernels.pairs.components import components

    graph = coo_array((np.ones(len(table.rows)), (table.rows, k + table.columns)), shape=(k + c, k + c))
    n_parts, part_of = components(graph)
    part = part_of[table.rows]
    n_rows = np.bincount(part_of[:k], minlength=n_parts)
    n_columns = np.bincount(part_of[k:], minlength=n_parts)
    order = np.lexsort((table.counts, part))
    bounds = np.searchsorted(part[order], np.arange(n_parts + 1))
    star = np.minimum(n_rows, n_columns) == 1
    best = order[bounds[1:][star] - 1]  # the largest cell of each
    found = [(table.rows[best], table.columns[best])]
    for p in np.flatnonzero(~star):
        here = order[bounds[p] : bounds[p + 1]]
        used_rows, r = np.unique(table.rows[here], return_inverse=True)
        used_columns, s = np.unique(table.columns[here], return_inverse=True)
        i, j = _match_whole(r, s, table.counts[here], (len(used_rows), len(used_columns)))
        found.append((used_rows[i], used_columns[j]))
    rows, columns = (np.concatenate(side) for side in zip(*found))
    by_row = np.argsort(rows, kind="stable")
    return rows[by_row], columns[by_row]


def _match_whole(r: np.ndarray, c: np.ndarray, counts: np.ndarray, shape: tuple[int, int]):
    if shape[0] * shape[1] > _LARGEST_DENSE_MATCHING:
        if shape[0] <= shape[1]:
            return _match_sparse(r, c, counts, shape)
        return _match_sparse(c, r, counts, shape[::-1])[::-1]
    from scipy.optimize import linear_sum_assignment

    dense = np.zeros(shape)
    dense[r, c] = counts
    i, j = linear_sum_assignment(dense, maximize=True)
    met = dense[i, j] > 0
    return i[met], j[met]


def _match_sparse(r: np.ndarray, c: np.ndarray, counts: np.ndarray, shape: tuple[int, int]):
    """The same without the zeros: each row may also be matched to a column of its own that counts 0."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    k, width = shape
    nothing = float(counts.max()) + 1.0  # the solver minimizes, and takes explicit zeros for absent edges
    costs = np.concatenate([nothing - counts, np.full(k, nothing)])
    # Older versions of the solver take indices of 32 bits alone.
    rows = np.concatenate([r, np.arange(k)]).astype(np.int32)
    columns = np.concatenate([c, width + np.arange(k)]).astype(np.int32)
    i, j = min_weight_full_bipartite_matching(csr_array((costs, (rows, columns)), shape=(k, width + k)))
    real = j < width
    return i[real], j[real]
