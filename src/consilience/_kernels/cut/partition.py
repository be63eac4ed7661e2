"""Bring a partition to exactly the number of clusters asked for, deterministically.

Methods that read clusters off connected components can end with too many or too few; the repair merges by
the similarity the method learned, or splits by the embedding it learned.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..pairs.linkage import cut_tree, merge_tree_inplace


def one_hot(
    labels: np.ndarray, n_clusters: int | None = None, weights: np.ndarray | None = None
) -> sp.csr_array:
    """(u, c) indicator of labels 0..c-1, with the weights as its entries if given."""
    u = labels.size
    c = int(labels.max()) + 1 if n_clusters is None else n_clusters
    data = np.ones(u) if weights is None else np.asarray(weights, float)
    return sp.csr_array((data, labels, np.arange(u + 1)), shape=(u, c))


def compact(labels: np.ndarray) -> np.ndarray:
    """The same partition with labels 0..c-1."""
    return np.unique(labels, return_inverse=True)[1].reshape(-1)


def falling(sizes: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The order of clusters by falling size; of equal ones, that of their first objects.

    Sizes that differ by rounding alone are equal: nine digits of the largest count.
    """
    return np.lexsort((first, -np.round(sizes / sizes.max(), 9)))


def by_decreasing_size(labels: np.ndarray, weights: np.ndarray, *, tie_breaker: np.ndarray) -> np.ndarray:
    """Labels renumbered 0, 1, ... by decreasing weight; ties are in the order of their first objects."""
    codes = compact(labels)
    sizes = np.bincount(codes, weights=weights)
    earliest = np.full(sizes.size, np.iinfo(np.int64).max)
    np.minimum.at(earliest, codes, tie_breaker)
    numbers = np.empty(sizes.size, np.int64)
    numbers[falling(sizes, earliest)] = np.arange(sizes.size)
    return numbers[codes]


def exactly(
    labels: np.ndarray, n_clusters: int, *, similarity: Any, embedding: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """``labels`` with exactly ``n_clusters`` clusters: merged by ``similarity`` or split by ``embedding``."""
    found = np.unique(labels).size
    if found > n_clusters:
        return merge_clusters(labels, n_clusters, similarity=similarity, weights=weights)
    if found < n_clusters:
        return split_clusters(labels, n_clusters, embedding=embedding, weights=weights)
    return compact(labels)


def merge_clusters(
    labels: np.ndarray, n_clusters: int, *, similarity: Any, weights: np.ndarray
) -> np.ndarray:
    """Merge the clusters of largest average similarity until ``n_clusters`` are left.

    similarity (u, u): dense or sparse, between objects; weights (u,). Averages are over pairs of weighted
    objects and are carried through merges (average linkage of the clusters).
    """
    labels = compact(labels)
    Z = one_hot(labels, weights=weights)
    sizes = np.asarray(Z.sum(axis=0)).ravel()
    between = Z.T @ (similarity @ Z)
    between = between.toarray() if sp.issparse(between) else np.asarray(between)
    average = (between + between.T) / 2 / np.outer(sizes, sizes)
    left, right, _ = merge_tree_inplace(average.max() - average, sizes, "average")
    return compact(cut_tree(left, right, n_clusters)[labels])


def merge_small(
    sizes: np.ndarray, together: np.ndarray, seen: np.ndarray, least: float
) -> tuple[np.ndarray, list[float]]:
    """Merge clusters until none is below ``least``: (final cluster of each, sizes of those merged, in order).

    The smallest of those below is merged into the cluster of largest mean co-association, together / seen,
    (c, c) each, and its pairs count with those of that cluster from then on; into the heaviest where it was
    with none. O(c^2) for each merge.
    """
    sizes, together, seen = sizes.astype(float), together.astype(float), seen.astype(float)
    home, alive, merged = np.arange(sizes.size), np.ones(sizes.size, bool), []
    while alive.sum() > 1:
        live = np.flatnonzero(alive)
        j = live[np.argmin(sizes[live])]
        if sizes[j] >= least * (1 - 1e-9):  # sums of fractions round
            break
        others = live[live != j]
        mean = np.divide(
            together[j, others], seen[j, others], out=np.zeros(others.size), where=seen[j, others] > 0
        )
        # Where means differ by rounding alone, the heavier cluster is taken.
        near = others[mean >= mean.max() * (1 - 1e-9)]
        to = near[np.argmax(sizes[near])]
        merged.append(float(sizes[j]))
        for table in (together, seen):
            table[to] += table[j]
            table[:, to] += table[:, j]
        sizes[to] += sizes[j]
        alive[j] = False
        home[home == j] = to
    return home, merged


def split_clusters(
    labels: np.ndarray, n_clusters: int, *, embedding: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """Split, one at a time, where the weighted scatter in ``embedding`` falls most, up to ``n_clusters``.

    A cluster is cut in two along its leading principal direction at the best place (exact two-means on the
    line). Clusters whose objects coincide in the embedding are cut last, heaviest first.
    """
    labels = compact(labels)
    c = int(labels.max()) + 1
    if c >= n_clusters:
        return labels
    cuts = {j: _best_cut(np.flatnonzero(labels == j), embedding, weights) for j in range(c)}
    while c < n_clusters:
        j = max((j for j in cuts if cuts[j] is not None), key=lambda j: cuts[j][0])
        moved = cuts[j][1]
        labels[moved] = c
        for part in (j, c):
            cuts[part] = _best_cut(np.flatnonzero(labels == part), embedding, weights)
        c += 1
    return labels


def _best_cut(members: np.ndarray, embedding: np.ndarray, weights: np.ndarray):
    """((gain, weight), members of the second half), or None for a single object."""
    if members.size < 2:
        return None
    w = weights[members]
    X = embedding[members] - np.average(embedding[members], axis=0, weights=w)
    direction = np.linalg.svd(X * np.sqrt(w)[:, None], full_matrices=False)[2][0]
    line = X @ direction
    line = line * np.sign(line[np.argmax(np.abs(line))] or 1.0)  # the sign of a singular vector is free
    order = np.argsort(line, kind="stable")
    below = np.cumsum(w[order])[:-1]
    total = w.sum()
    moment = np.cumsum((w * line)[order])[:-1]
    gain = moment**2 / below + moment**2 / (total - below)  # the mean is 0: scatter between the two halves
    cut = int(np.argmax(gain)) + 1
    return (float(gain[cut - 1]), float(total)), members[order[cut:]]
