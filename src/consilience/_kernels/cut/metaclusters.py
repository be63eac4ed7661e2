"""Clusters of base clusters: how alike base clusters are, and how objects vote for groups of them.

    K = Y' diag(w) Y (k, k),   K_a(b) = weight of cluster a that the clustering of b saw                  (1)
    J_ab = K_ab / (K_a(b) + K_b(a) - K_ab)                                                                (2)
    M_pj = sum over b in j of Y_pb / number of b in j whose clustering saw p                              (3)

Base cluster b is in group j = groups[b]. With nothing missing K_a(b) is the weight of a, and (2) the Jaccard
overlap of two sets.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..compile.jit import fast_kernel, kernel
from ..labels.overlaps import gather
from ..runtime.memory import ensure_fits
from ..runtime.threads import map_tasks, resolve_jobs
from .partition import by_decreasing_size, one_hot, split_clusters


class Votes(NamedTuple):
    """The group of every object, and the shares that it was read off."""

    labels: np.ndarray  # (u,) exactly n_groups groups, 0 the heaviest of base clusters
    shares: np.ndarray  # (u, n_groups) M of Eq. (3), columns in that order


def owners(offsets: np.ndarray) -> np.ndarray:
    """(k,) the clustering of each base cluster."""
    return np.repeat(np.arange(offsets.size - 1), np.diff(offsets))


def jaccard(K: Any, offsets: np.ndarray) -> Any:
    """J of Eq. (2) from K, dense (``overlap_matrix``) or sparse; of the same kind, and as many entries.

    1 on the diagonal, 0 between clusters of one clustering and where nobody saw either. O(k^2) time, or
    O(entries).
    """
    owner = owners(offsets)
    if sp.issparse(K):
        K = sp.coo_array(K)
        seen = np.asarray((K.tocsr() @ one_hot(owner, offsets.size - 1)).toarray())  # (k, m)
        either = seen[K.row, owner[K.col]] + seen[K.col, owner[K.row]] - K.data
        values = np.where(K.row == K.col, 1.0, K.data / np.where(either > 0, either, 1.0))
        return sp.csr_array((values, (K.row, K.col)), shape=K.shape)
    seen = np.add.reduceat(K, offsets[:-1], axis=1)  # (k, m): K_a(b) is the same for all b of a clustering
    either = seen[:, owner]
    either += either.T.copy()
    either -= K
    either[either <= 0] = 1.0  # there K is 0 too
    J = np.divide(K, either, out=either)
    np.fill_diagonal(J, 1.0)
    return J


def shared_neighbors(
    labels: np.ndarray, offsets: np.ndarray, weights: np.ndarray, *, n_jobs: int | None = -1
) -> list[np.ndarray]:
    """For each clustering (k_i, k_i): sum over all base clusters c of min(J_ac, J_bc), a and b its own.

    It is 0 for a = b.

    J of Eq. (2) is never held: O(u m^2 + k sum_i k_i^2 / 2) time, 8 k k_i bytes a thread.
    """
    k, widths = float(offsets[-1]), np.diff(offsets)
    ensure_fits(
        8.0 * k * widths.max() * min(resolve_jobs(n_jobs), widths.size) + 8.0 * float((widths**2.0).sum()),
        what=f"The links of {int(k)} base clusters, {widths.max()} in one clustering,",
        remedy="leave out the clusterings with the most clusters",
    )
    codes = np.ascontiguousarray(labels.T)
    return map_tasks(
        lambda i: _shared(_likeness(codes, offsets, weights, i)), list(range(widths.size)), n_jobs=n_jobs
    )


@kernel
def _likeness(codes, offsets, weights, i):
    """(k_i, k) the rows of J that are clusters of clustering i.

    The codes of clustering j are below offsets[j + 1] - offsets[j], as in every ensemble.
    """
    m, u = codes.shape
    k_i = offsets[i + 1] - offsets[i]
    J = np.zeros((k_i, offsets[m]))
    for j in range(m):
        first, last = offsets[j], offsets[j + 1]
        for p in range(u):
            a, b = codes[i, p], codes[j, p]
            if a >= 0 and b >= 0:
                J[a, first + b] += weights[p]
        seen_here, seen_there = np.zeros(k_i), np.zeros(last - first)
        for a in range(k_i):
            for b in range(last - first):
                seen_here[a] += J[a, first + b]
                seen_there[b] += J[a, first + b]
        for a in range(k_i):
            for b in range(last - first):
                both = J[a, first + b]
                if both > 0:
                    J[a, first + b] = both / (seen_here[a] + seen_there[b] - both)
    return J


@fast_kernel
def _shared(J):
    size = J.shape[0]
    out = np.zeros((size, size))
    for a in range(size):
        for b in range(a + 1, size):
            total = 0.0
            for c in range(J.shape[1]):
                x, y = J[a, c], J[b, c]
                total += x if x < y else y
            out[a, b] = total
            out[b, a] = total
    return out


def vote(
    labels: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray,
    groups: np.ndarray,
    n_groups: int,
    *,
    n_jobs: int | None = -1,
) -> Votes:
    """Assign every object to the group of base clusters with its largest share, Eq. (3).

    Exactly ``n_groups`` groups come back.

    groups (k,) of the base clusters, 0..n_groups - 1, some of which may be empty. Ties go to the heavier
    group, by the weight of the objects in its base clusters, then to the one with the earliest base cluster.
    Groups that win nobody are replaced by splitting others by their shares. O(u m n_groups) time, 8 u
    n_groups bytes (twice that with missing labels).
    """
    k = int(offsets[-1])
    if groups.shape != (k,) or groups.min() < 0 or groups.max() >= n_groups or len(labels) < n_groups:
        raise ValueError(
            f"Groups {groups.shape} of {k} base clusters from {groups.min()} to {groups.max()}, for "
            f"{len(labels)} objects; expected numbers below {n_groups}, and as many objects."
        )
    seen = labels >= 0
    sizes = np.concatenate(
        [
            np.bincount(labels[seen[:, i], i], weights[seen[:, i]], minlength=offsets[i + 1] - offsets[i])
            for i in range(labels.shape[1])
        ]
    )
    ranks = by_decreasing_size(groups, sizes, tie_breaker=np.arange(groups.size))
    members = one_hot(ranks, n_groups).toarray()  # (k, c)
    per_clustering = np.add.reduceat(members, offsets[:-1], axis=0)  # (m, c)
    shares = gather(labels, offsets, members, n_jobs=n_jobs)
    if seen.all():
        counts = np.broadcast_to(per_clustering.sum(axis=0), shares.shape)
    else:
        counts = gather(labels, offsets, per_clustering[owners(offsets)], n_jobs=n_jobs)
    # Numerators and denominators are whole numbers: equal shares are equal to the last bit.
    np.divide(shares, counts, out=shares, where=counts > 0)
    return Votes(split_clusters(shares.argmax(axis=1), n_groups, embedding=shares, weights=weights), shares)
