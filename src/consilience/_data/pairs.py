"""Matrices of pairs of clusters (contingency), objects (co-association) and clusterings (similarity)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .._base.parameters import check_range, unit_of
from .._kernels.compile.csr import Entries
from .._kernels.labels.contingency import count_pairs
from .._kernels.labels.information import pairwise_measure
from .._kernels.pairs import coassociation as by_rows
from .._kernels.runtime.memory import ensure_fits, how_many_fit
from .._kernels.runtime.threads import blocks, map_blocks, map_tasks
from ..errors import InputError
from .named import NamedObjects

_BLOCK_BYTES = 1 << 25  # in one row block of a pairwise matrix
_BOUND_BY = 8  # clusterings; bounding the pattern by them takes a table of every two


class WithPairs(NamedObjects):
    """What an ensemble says about pairs: methods of :class:`~consilience.Ensemble` that return matrices."""

    #: What to do if pairs of objects do not fit into memory.
    _remedy_for_pairs: ClassVar[str] = "use distinct() first, or coassociation_blocks()"
    _partners: np.ndarray | None = None  # of each object, itself included, once they were counted

    if TYPE_CHECKING:  # of the ensemble
        labels: Any
        offsets: Any
        has_missing: Any
        indicator: Any
        global_labels: Any
        distinct: Any

    def contingency(self) -> np.ndarray:
        """Y' diag(w) Y (k, k) dense: the weight of objects in every two clusters. O(n m^2) time, 8 k^2 bytes.

        Missing labels are not counted.
        """
        k = self.n_base_clusters
        ensure_fits(8.0 * k * k, what=f"A dense {k} x {k} contingency", remedy="use contingency_sparse()")
        return self.contingency_sparse().toarray()

    def contingency_sparse(self) -> sp.csr_array:
        """:meth:`contingency` as CSR: only clusters that share an object are stored."""
        Y = self.indicator()
        scaled = Y if self._weights is None else sp.diags_array(self.sample_weight) @ Y
        Y = sp.csc_array(Y)
        parts: list[sp.csr_array] = []
        stored = 0
        # By clustering, because how much is stored is known only afterwards.
        for i, own in enumerate(self.n_clusters_per_clustering):
            most = min(int(own) * self.n_base_clusters, self.n_samples * self.n_clusterings)
            ensure_fits(
                12.0 * (stored + 2 * most),
                what=f"A sparse contingency of {self.n_base_clusters} clusters",
                remedy="select() fewer or coarser clusterings",
            )
            parts.append(sp.csr_array(Y[:, self.offsets[i] : self.offsets[i + 1]].T @ scaled))
            stored += parts[-1].nnz
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def coassociation(
        self,
        *,
        clustering_weights: Any = None,
        cluster_weights: Any = None,
        n_jobs: int | None = -1,
    ) -> np.ndarray:
        """A (n, n) dense: the share of clusterings that put two objects together, of those that saw both.

        ``clustering_weights`` (m,) weigh the clusterings in numerator and denominator, ``cluster_weights``
        (k,) the clusters in the numerator only. Never-seen pairs are 0. O(n^2 m) time, 8 n^2 bytes; refused
        before allocating if that does not fit.
        """
        n = self.n_samples
        ensure_fits(
            8.0 * n * n,
            what=f"A dense {n} x {n} co-association",
            remedy="use distinct() first, coassociation_sparse(), or coassociation_blocks()",
        )
        out = np.empty((n, n))
        arguments = _pair_arguments(self, clustering_weights, cluster_weights)
        map_blocks(
            lambda a, b: by_rows.dense_rows(*arguments, a, b, out[a:b]),
            n,
            size=_block_rows(self),
            n_jobs=n_jobs,
        )
        return out

    def coassociation_blocks(
        self,
        *,
        clustering_weights: Any = None,
        cluster_weights: Any = None,
        rows: int | None = None,
    ) -> Iterator[tuple[int, int, np.ndarray]]:
        """(start, stop, rows start..stop of A): the matrix by blocks. O(rows n) memory."""
        n = self.n_samples
        arguments = _pair_arguments(self, clustering_weights, cluster_weights)
        rows = rows or _block_rows(self)
        for start in range(0, n, rows):
            stop = min(start + rows, n)
            block = np.empty((stop - start, n))
            by_rows.dense_rows(*arguments, start, stop, block)
            yield start, stop, block

    def coassociation_sparse(
        self,
        *,
        clustering_weights: Any = None,
        cluster_weights: Any = None,
        n_jobs: int | None = -1,
    ) -> sp.csr_array:
        """A as CSR on its pattern: only pairs that were together at least once (the diagonal included).

        O(sum of squared cluster sizes) time; 12 bytes a stored pair. Refused before allocating if that does
        not fit.
        """
        n = self.n_samples
        codes, a, b, any_missing = _pair_arguments(self, clustering_weights, cluster_weights)
        first, members = _members(self)
        pairs, lengths = _count_pattern(self, codes, first, members, enough=how_many_fit(12.0), n_jobs=n_jobs)
        ensure_fits(
            (12.0 if pairs < 2**31 else 20.0) * pairs,  # from there on positions are kept in 8 bytes
            what=f"A sparse co-association of {n} objects with {pairs} "
            f"pairs{'' if lengths is not None else ' or more'}",
            remedy=self._remedy_for_pairs,
        )
        assert lengths is not None, "counting ends early only with more pairs than fit"
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        indices = np.empty(pairs, np.int32)
        data = np.empty(pairs)
        votes, entries = by_rows.Votes(codes, a, b, any_missing), Entries(data, indices, indptr)
        map_blocks(
            lambda s, t: by_rows.fill_rows(votes, members, first, s, t, entries),
            n,
            size=_block_rows(self),
            n_jobs=n_jobs,
        )
        return sp.csr_array((data, indices, indptr), shape=(n, n))

    def cooccurrence_counts(self, *, clustering_weights: Any = None) -> np.ndarray:
        """(n, n) dense: how many clusterings (or what weight of them) saw both objects.

        0 means "no evidence".
        """
        n = self.n_samples
        ensure_fits(
            8.0 * n * n,
            what=f"A dense {n} x {n} count of co-observations",
            remedy="use distinct() first, or take() the objects of interest",
        )
        codes, a, _, _ = _pair_arguments(self, clustering_weights, None)
        out = np.empty((n, n))
        map_blocks(lambda s, t: by_rows.seen_rows(codes, a, s, t, out[s:t]), n, size=_block_rows(self))
        return out

    def bipartite(self, *, cluster_weights: Any = None) -> sp.csr_array:
        """Adjacency (n + k, n + k) of the graph of objects and clusters, weighted by cluster if asked."""
        Y = self.indicator()
        if cluster_weights is not None:
            Y = Y @ sp.diags_array(
                _vector(cluster_weights, self.n_base_clusters, "cluster_weights", "clusters")
            )
        return sp.csr_array(sp.block_array([[None, Y], [Y.T, None]]))

    def sample_agreement(self) -> np.ndarray:
        """(n,) in [0, 1]: how far the clusterings put an object together with the same others.

        It is the mean, over pairs of clusterings that saw the object, of the Jaccard overlap of its two
        clusters; 1 if it was always with the same objects. An object seen at most once has 1. O(n m^2) time,
        O(n) memory.
        """
        compressed = self.distinct()
        labels = np.ascontiguousarray(compressed.labels.T)
        total, pairs = np.zeros(labels.shape[1]), np.zeros(labels.shape[1])
        k = self.n_clusters_per_clustering
        widest = np.sort(k)[-2:].astype(float).prod()
        ensure_fits(
            8.0 * widest,
            what=f"A table of the {' x '.join(map(str, np.sort(k)[-2:]))} clusters of two clusterings",
            remedy="select() coarser clusterings",
        )
        for i in range(self.n_clusterings):
            for j in range(i):
                by_rows.mean_overlap(labels[i], labels[j], compressed.sample_weight, k[i], k[j], total, pairs)
        return compressed.expand(np.where(pairs > 0, total / np.maximum(pairs, 1), 1.0))

    def clustering_similarity(self, measure: str = "nmi") -> np.ndarray:
        """(m, m) similarity of clusterings by ``"nmi"`` (arithmetic) or ``"ari"``, over objects both saw."""
        compressed = self.distinct()
        weights = compressed.sample_weight / unit_of(compressed.sample_weight)
        return pairwise_measure(compressed.labels, self.n_clusters_per_clustering, measure, weights=weights)


def pattern_size(ensemble: WithPairs, *, enough: float = np.inf, n_jobs: int | None = -1) -> int:
    """Number of pairs (p, q) that were together at least once, in both orders and with the diagonal.

    If there are more than ``enough``, counting ends early: the result is then above ``enough``, and a lower
    bound.
    """
    codes = _pair_arguments(ensemble, None, None)[0]
    return _count_pattern(ensemble, codes, *_members(ensemble), enough=enough, n_jobs=n_jobs)[0]


def _count_pattern(
    ensemble: WithPairs, codes, first, members, *, enough: float, n_jobs: int | None
) -> tuple[int, np.ndarray | None]:
    """(pairs, partners of each object), counted once; or (some number above ``enough``, None)."""
    if ensemble._partners is not None:
        pairs = int(ensemble._partners.sum())
        return pairs, ensemble._partners if pairs <= enough else None
    if np.isfinite(enough) and (at_least := _least_pattern(ensemble, codes, first, enough)) > enough:
        return int(at_least), None
    n, size = ensemble.n_samples, _block_rows(ensemble)
    lengths = np.zeros(n, np.int64)
    pairs = 0
    for start, stop in blocks(n, 64 * size):
        spans = [(start + a, start + b) for a, b in blocks(stop - start, size)]
        map_tasks(
            lambda span: by_rows.count_row_pattern(codes, members, first, *span, lengths),
            spans,
            n_jobs=n_jobs,
        )
        pairs += int(lengths[start:stop].sum())
        if pairs > enough:
            return pairs, None
    ensemble._partners = lengths
    return pairs, lengths


def _least_pattern(ensemble: WithPairs, codes, first, enough: float) -> float:
    """A lower bound on the pairs ever together, from tables of two clusterings.

        |P_1 u ... u P_t|  >=  sum_i |P_i| - sum_i<j |P_i n P_j|,   P_i the pairs in clusters of clustering i

    for any t clusterings, those with the largest clusters first: |P_i| is the sum of the squared cluster
    sizes, |P_i n P_j| that of the squared cells of their table.
    """
    alone = np.add.reduceat(np.diff(first).astype(float) ** 2, ensemble.offsets[:-1])
    order = np.argsort(-alone, kind="stable")
    least = float(alone[order[0]])
    for t in range(1, min(order.size, _BOUND_BY + 1)):
        if least > enough or least + alone[order[t:]].sum() <= enough:
            break
        new = codes[order[t]]
        shared = sum(_pairs_in_both(new, codes[i]) for i in order[:t])
        if shared >= alone[order[t]]:  # says nothing new about others that are as coarse
            break
        least += float(alone[order[t]] - shared)
    return least


def _pairs_in_both(a: np.ndarray, b: np.ndarray) -> float:
    """Pairs (both orders and an object with itself) that two clusterings both put together; -1 is missing."""
    cells = count_pairs(a, b)
    seen = (cells.row_values[cells.rows] >= 0) & (cells.column_values[cells.columns] >= 0)
    return float((cells.counts[seen].astype(float) ** 2).sum())


def _pair_arguments(
    ensemble: WithPairs, clustering_weights: Any, cluster_weights: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    a = _vector(clustering_weights, ensemble.n_clusterings, "clustering_weights", "clusterings")
    b = _vector(cluster_weights, ensemble.n_base_clusters, "cluster_weights", "clusters")
    return np.ascontiguousarray(ensemble.global_labels().T), a, b, ensemble.has_missing


def _members(ensemble: WithPairs) -> tuple[np.ndarray, np.ndarray]:
    """(first, members): objects of global cluster g are members[first[g]:first[g + 1]], ascending."""
    Y = ensemble.indicator(np.int8).tocsc()
    return Y.indptr.astype(np.int64), Y.indices


def _block_rows(ensemble: WithPairs) -> int:
    return max(1, min(ensemble.n_samples, _BLOCK_BYTES // (8 * ensemble.n_samples) or 1))


def _vector(values: Any, expected: int, argument: str, things: str) -> np.ndarray:
    if values is None:
        return np.ones(expected)
    try:
        vector = np.asarray(values, float)
    except (TypeError, ValueError):
        raise InputError(f"{argument} must be numbers, one for each of the {expected} {things}.") from None
    if vector.shape != (expected,):
        raise InputError(f"{argument} has shape {vector.shape} for {expected} {things}; give one value each.")
    bad = ~(np.isfinite(vector) & (vector >= 0))
    if bad.any():
        first = int(np.argmax(bad))
        raise InputError(
            f"{argument}[{first}]={vector[first]:g} is not a weight: give finite numbers of at least 0."
        )
    if argument == "clustering_weights":
        if not vector.any():
            raise InputError(
                "clustering_weights are 0 for every clustering, so that nothing is left to count. Give at "
                "least one that is positive."
            )
        check_range(vector, argument)
    return vector
