"""Products with Y (u, k), the share of every object in every base cluster, for hard and soft clusterings.

    gather    Y V          what an object's clusters hold, summed                                       (1)
    scatter   Y' V         what a cluster's objects hold, summed                                        (2)
    overlaps  Y' diag(v) Y                                                                              (3)
    table     Y' diag(w) R,   R (u, c) the indicator of groups                                          (4)

:class:`Labels` holds codes and never forms Y; :class:`Memberships` holds Y as CSR, entries in (0, 1]. Cluster
j of clustering i is column offsets[i] + j in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from ..runtime.memory import ensure_fits
from .contingency import cross_table
from .distinct import row_hashes
from .overlaps import gather, gather_own, mean_entropies, overlap_matrix, reliability_of, scatter

_BLOCK = 1 << 14  # rows


@dataclass(frozen=True)
class Labels:
    """Every object is in one cluster of each clustering that saw it."""

    labels: np.ndarray  # (u, m) codes, -1 missing
    offsets: np.ndarray  # (m + 1,)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, rows) -> Labels:
        return Labels(self.labels[rows], self.offsets)

    def gather(self, values: np.ndarray, *, n_jobs: int | None = -1) -> np.ndarray:
        """Eq. (1)."""
        return gather(self.labels, self.offsets, values, n_jobs=n_jobs)

    def gather_own(self, values, groups, *, rows=None, n_jobs: int | None = -1) -> np.ndarray:
        """(n,) of Eq. (1), the column of each object's group; 0 for group -1."""
        return gather_own(self.labels, self.offsets, values, groups, rows=rows, n_jobs=n_jobs)

    def scatter(self, values: np.ndarray, *, n_jobs: int | None = -1) -> np.ndarray:
        """Eq. (2)."""
        return scatter(self.labels, self.offsets, values, n_jobs=n_jobs)

    def overlaps(self, values: np.ndarray, *, n_jobs: int | None = -1) -> np.ndarray:
        """Eq. (3), dense."""
        return overlap_matrix(self.labels, self.offsets, values, n_jobs=n_jobs)

    def table(self, groups, n_groups: int, weights, *, n_jobs: int | None = -1) -> np.ndarray:
        """Eq. (4); group -1 counts nowhere."""
        return cross_table(self.labels, self.offsets, groups, n_groups, weights, n_jobs=n_jobs)

    def reliability(self, weights, theta: float, *, n_jobs: int | None = -1) -> np.ndarray:
        """(k,) :func:`~consilience._kernels.labels.overlaps.cluster_reliability`."""
        return reliability_of(mean_entropies(self.labels, self.offsets, weights, n_jobs=n_jobs), theta)

    def grams(self, weights: np.ndarray, above: int) -> list[np.ndarray]:
        """Y_i' diag(w) Y_i of each clustering, which is diagonal: (k_i,) each."""
        sizes = self.scatter(weights[:, None])[:, 0]
        return [sizes[a:b] for a, b in pairwise(self.offsets)]

    def sights(self, clustering_weights: np.ndarray) -> np.ndarray:
        """(u,) weight of the clusterings that saw each object."""
        return self.gather(np.repeat(clustering_weights, np.diff(self.offsets))[:, None])[:, 0]

    def meetings(self, clustering_weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(u,), (u,): what the pair of an object with itself adds to "together" and to "seen by both"."""
        seen = self.sights(clustering_weights)
        return seen, seen


@dataclass(frozen=True)
class Memberships:
    """Every object is in every cluster to some share."""

    Y: sp.csr_array  # (u, k), canonical, entries in (0, 1]
    offsets: np.ndarray  # (m + 1,)

    def __len__(self) -> int:
        return self.Y.shape[0]

    def __getitem__(self, rows) -> Memberships:
        return Memberships(self.Y[rows], self.offsets)

    def gather(self, values: np.ndarray, *, n_jobs: int | None = -1) -> np.ndarray:
        """Eq. (1). O(entries) a column."""
        return np.asarray(self.Y @ values)

    def gather_own(self, values, groups, *, rows=None, n_jobs: int | None = -1) -> np.ndarray:
        """(n,) of Eq. (1), the column of each object's group; 0 for group -1."""
        out = np.empty(len(groups))
        for a in range(0, len(groups), _BLOCK):
            here = groups[a : a + _BLOCK]
            part = self.Y[a : a + _BLOCK] if rows is None else self.Y[rows[a : a + _BLOCK]]
            entry = np.repeat(here, np.diff(part.indptr))
            terms = np.where(entry >= 0, part.data * values[part.indices, entry], 0.0)
            out[a : a + _BLOCK] = row_sums(terms, part.indptr)
        return out

    def scatter(self, values: np.ndarray, *, n_jobs: int | None = -1) -> np.ndarray:
        """Eq. (2). O(entries) a column."""
        return np.asarray(self.Y.T @ values)

    def overlaps(self, values: np.ndarray, *, n_jobs: int | None = -1) -> np.ndarray:
        """Eq. (3), dense: by clustering, so that no sparse product is larger than the block it fills."""
        k = self.Y.shape[1]
        ensure_fits(
            24.0 * k * k,
            what=f"The overlaps of {k} base clusters",
            remedy="leave out the clusterings with the most clusters",
        )
        scaled = sp.csr_array(sp.diags_array(values) @ self.Y)
        columns, out = sp.csc_array(self.Y), np.empty((k, k))
        for first, last in pairwise(self.offsets):
            out[first:last] = (columns[:, first:last].T @ scaled).toarray()
        return (out + out.T) / 2

    def table(self, groups, n_groups: int, weights, *, n_jobs: int | None = -1) -> np.ndarray:
        """Eq. (4), the table that hard clusterings drawn from the memberships have on average."""
        here = np.flatnonzero(groups >= 0)
        w = np.ones(len(groups)) if weights is None else weights
        R = sp.csr_array((w[here], (here, groups[here])), shape=(len(groups), n_groups))
        return (self.Y.T @ R).toarray()

    def reliability(self, weights, theta: float, *, n_jobs: int | None = -1) -> np.ndarray:
        """(k,) as for hard clusters, by the mean tables of clusterings drawn from the memberships."""
        return reliability_of(entropies_of_tables(self.overlaps(weights), self.offsets), theta)

    def grams(self, weights: np.ndarray, above: int) -> list[np.ndarray]:
        """Y_i' diag(w / s_i) Y_i of each clustering, or its diagonal.

        (k_i, k_i) for clusterings with more than ``above`` clusters, else the diagonal (k_i,).
        """
        masses, columns, out = self.masses(), sp.csc_array(self.Y), []
        for i, (first, last) in enumerate(pairwise(self.offsets)):
            own = columns[:, first:last]
            share = np.divide(weights, masses[:, i], out=np.zeros(len(weights)), where=masses[:, i] > 0)
            scaled = sp.diags_array(share) @ own
            if last - first > above:
                out.append((own.T @ scaled).toarray())
            else:
                out.append(np.asarray((own * scaled).sum(axis=0)).ravel())
        return out

    def masses(self) -> np.ndarray:
        """(u, m) share of every object that each clustering places: 0 not seen, below 1 partly unknown."""
        if not self.Y.nnz:
            return np.zeros((self.Y.shape[0], self.offsets.size - 1))
        k, owner = self.Y.shape[1], np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))
        return (self.Y @ sp.csr_array((np.ones(k), (np.arange(k), owner)))).toarray()

    def sights(self, clustering_weights: np.ndarray) -> np.ndarray:
        """(u,) weight of the clusterings that saw each object, by the share they place."""
        return self.gather(np.repeat(clustering_weights, np.diff(self.offsets))[:, None])[:, 0]

    def meetings(self, clustering_weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(u,), (u,): what a pair of equal objects adds to "together" and to "seen by both"."""
        squares = sp.csr_array((self.Y.data**2, self.Y.indices, self.Y.indptr), shape=self.Y.shape)
        together = squares @ np.repeat(clustering_weights, np.diff(self.offsets))
        return together, self.masses() ** 2 @ clustering_weights


def row_sums(terms: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Sums of the entries of each row of a CSR matrix; 0 for a row without any."""
    n = indptr.size - 1
    return np.bincount(np.repeat(np.arange(n), np.diff(indptr)), weights=terms, minlength=n)


def unequal_rows(A: sp.csr_array, B: sp.csr_array) -> np.ndarray:
    """(n,) of bool: which rows of two sparse matrices differ."""
    difference = sp.csr_array(A - B)
    difference.eliminate_zeros()
    return np.diff(difference.indptr) > 0


class MembershipTable:
    """Distinct rows of memberships, among which others are looked up."""

    def __init__(self, Y: sp.csr_array):
        self.Y, hashes = Y, row_hashes(Y)
        self.order = np.argsort(hashes, kind="stable")
        self.hashes = hashes[self.order]

    def find(self, rows: Memberships) -> np.ndarray:
        """(n,) the number of each row; -1 where it is not among them."""
        wanted = row_hashes(rows.Y)
        place = np.minimum(np.searchsorted(self.hashes, wanted), self.hashes.size - 1)
        found = self.order[place]
        return np.where((self.hashes[place] == wanted) & ~unequal_rows(rows.Y, self.Y[found]), found, -1)


def entropies_of_tables(K: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """(k,) mean entropy of how the other clusterings divide each cluster, from their tables K (k, k).

    Eq. (1) of :mod:`.overlaps`.
    """
    total, seen = np.zeros(K.shape[0]), np.ones(K.shape[0])
    own = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    for j, (first, last) in enumerate(pairwise(offsets)):
        block = K[:, first:last]
        sums = block.sum(axis=1)
        # A cluster that shares no object with this clustering leaves rounding errors at most.
        here = (sums > 1e-12 * K.max()) & (own != j)
        p = block[here] / sums[here, None]
        logs = np.log2(p, out=np.zeros_like(p), where=p > 0)
        total[here] += np.maximum(-(p * logs).sum(axis=1), 0.0)
        seen[here] += 1
    return total / seen
