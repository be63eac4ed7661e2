"""Soft voting: the memberships of all clusterings are aligned and averaged.

    minimize over M and B_i    f = sum_p w_p sum_i s_ip || P_ip B_i / s_ip - M_p ||^2 / sum_p w_p n_p   (1)
    M_p  = sum_i P_ip B_i / n_p,   n_p = sum_i s_ip                                                     (2)
    B_i  = min  tr(B' G_i B) - 2 tr(B' T_i),   T_i = P_i' diag(w) M,   G_i = P_i' diag(w / s_i) P_i     (3)

P_i (u, k_i) memberships in the clusters of clustering i, s_ip the sum of its row p (1; less where a part is
unknown, 0 where p was not seen), w (u,) weights of the distinct objects, M (u, c) the consensus, B_i (k_i, c)
of zeros and ones: the group to which each cluster is mapped. Every cluster is mapped to one group: if k_i <=
c, to different ones; if k_i > c, so that every group has one. (2) is the minimum over M. (3) is the minimum
over B_i where k_i <= c, a matching, as tr(B' G B) is then the same for all; where k_i > c single clusters
change their group as long as (3) falls. So (1) never rises, and ends where no B_i changes.

References
----------
E. Dimitriadou, A. Weingessel and K. Hornik, "A combination scheme for fuzzy clustering", International
Journal of Pattern Recognition and Artificial Intelligence 16(7), 2002.
K. Hornik, "A CLUE for CLUster Ensembles", Journal of Statistical Software 14(12), 2005.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..._base.estimator import declared
from ..._base.parameters import MaxIter, MinClusterSize, NInit, NJobs, Seed
from ..._data.named import incidence_of
from ..._evidence.table import Evidence
from ..._kernels.cut.embedding import cut_rows
from ..._kernels.cut.partition import one_hot
from ..._kernels.cut.transfer import transfer_cut_of
from .._base import BaseConsensus, Solution
from ._shared import order_columns

_STILL = 1e-12  # a change of (3) below this share of its terms is rounding


class Aligned(NamedTuple):
    """The result of the loop from one start."""

    M: np.ndarray
    groups: np.ndarray  # (k,) the column of B that is 1
    history: list[dict[str, float]]
    converged: bool


def objective(M: np.ndarray, groups: np.ndarray, grams: list[np.ndarray], weights, seen, offsets) -> float:
    """Eq. (1) at the M of Eq. (2), for which the cross terms are n_p |M_p|^2."""
    spread = sum(_gram_of(G, groups[a:b]) for G, (a, b) in zip(grams, pairwise(offsets)))
    mass = weights * seen
    return max(spread - float(mass @ np.einsum("pj,pj->p", M, M)), 0.0) / float(mass.sum())


def _gram_of(G: np.ndarray, groups: np.ndarray) -> float:
    """tr(B' G B); for a diagonal G (k_i,) its sum."""
    return float(G.sum() if G.ndim == 1 else G[groups[:, None] == groups].sum())


def update_M(rows: Any, groups: np.ndarray, c: int, seen: np.ndarray, n_jobs: int | None = -1) -> np.ndarray:
    """Eq. (2)."""
    B = np.zeros((groups.size, c))
    B[np.arange(groups.size), groups] = 1.0
    return rows.gather(B, n_jobs=n_jobs) / seen[:, None]


def update_B(T: np.ndarray, G: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
    """Eq. (3) of one clustering: (k_i,) the group of each cluster.

    If single clusters move, they start from ``groups``.
    """
    k, c = T.shape
    if k <= c:
        clusters, columns = linear_sum_assignment(-T)
        found = np.empty(k, np.int64)
        found[clusters] = columns
        # The last matching is kept unless the new one is better: ties must not keep the loop going.
        rows = np.arange(k)
        if groups is not None and T[rows, found].sum() <= T[rows, groups].sum() * (1 + _STILL):
            return groups
        return found
    if groups is None:
        groups = T.argmax(axis=1)
        clusters, columns = linear_sum_assignment(-T)
        groups[clusters] = columns  # every group has a cluster
    return _move_clusters(T, G, groups)


def _move_clusters(T: np.ndarray, G: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Move one cluster at a time, by the largest decrease of (3), and leave no group empty."""
    k, c = T.shape
    groups, every = groups.copy(), np.arange(k)
    cost = -2.0 * T
    inner = None if G.ndim == 1 else G - np.diag(np.diagonal(G))
    if inner is not None:
        cost += 2.0 * inner @ np.eye(c)[groups]
    still = _STILL * max(float(np.abs(T).max()), np.finfo(float).tiny)
    counts = np.bincount(groups, minlength=c)
    while True:
        best = cost.argmin(axis=1)
        gain = np.where(counts[groups] > 1, cost[every, groups] - cost[every, best], 0.0)
        b = int(gain.argmax())
        if gain[b] <= still:
            return groups
        old, new = groups[b], best[b]
        groups[b] = new
        counts[[old, new]] += (-1, 1)
        if inner is not None:
            cost[:, old] -= 2.0 * inner[:, b]
            cost[:, new] += 2.0 * inner[:, b]


@declared
class SoftVote(BaseConsensus):
    """Soft voting: matches the clusters of all base clusterings and averages their memberships.

    The base clusterings can be soft or hard, and the answer is soft. The method is linear in the number of
    objects.

    Parameters
    ----------
    n_init : int
        One start comes from a cut of the graph between objects and base clusters (the best of n_init runs of
        k-means). At most n_init more come from the base clusterings with n_clusters clusters that agree most
        with all others. The answer with the best mean NMI with the base clusterings is kept.

    Attributes
    ----------
    membership_ : array (n_samples, n_clusters)
        M of Eq. (2): the mean of the aligned memberships. Rows add up to 1.
    cluster_labels_ : array (k,)
        The consensus cluster to which every base cluster is mapped, by its number in the ensemble.
    history_ : list of dict
        ``objective``, Eq. (1), at each iteration of the best start; it never rises.

    Notes
    -----
    An iteration takes O(entries c) time for the memberships that are not 0, or O(u m c) for hard clusterings,
    and O(m c^3) for matchings; the fit takes O(entries + u c + k c) memory. The unknown share of an object
    has no vote. If a column of M is the largest one of no object, another cluster is split in its place.

    Differences from the papers: if a base clustering has more than n_clusters clusters, several of them are
    mapped to the same group instead of being left without a partner, and the starts are chosen from the data.

    Examples
    --------
    >>> import consilience as cs
    >>> soft = cs.SoftEnsemble([[[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]], [[0, 1], [0.1, 0.9], [0.8, 0.2]]])
    >>> model = cs.consensus.SoftVote(n_clusters=2, random_state=0).fit(soft)
    >>> model.labels_.tolist(), model.membership_.round(2).tolist()
    ([0, 0, 1], [[0.95, 0.05], [0.8, 0.2], [0.2, 0.8]])
    """

    n_init: NInit = 10
    max_iter: MaxIter = 100
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    cluster_labels_: ClassVar[np.ndarray]

    _test_params = [{"n_init": 3}]
    _takes_soft = True

    def _fit(self, ensemble, rng):
        c, k = self.n_clusters, ensemble.n_base_clusters
        runs = [self._align(ensemble, table) for table in self._starts(ensemble, rng)]
        answers = [order_columns(run.M, ensemble.sample_weight, ensemble.rows) for run in runs]
        agree = [round(Evidence(ensemble, labels, c).mean_agreement(), 12) for labels, _ in answers]
        best = int(np.argmax(agree))
        run, (labels, columns) = runs[best], answers[best]
        numbers = np.empty(c, np.int64)
        numbers[columns] = np.arange(c)
        assert run.groups.size == k
        return Solution(
            labels,
            history=run.history,
            converged=run.converged,
            per_sample={"membership": run.M[:, columns]},
            per_cluster={"cluster_labels": numbers[run.groups]},
        )

    def _align(self, ensemble: Any, T: np.ndarray) -> Aligned:
        """The loop, from T (k, c): what base clusters share with the groups of a start."""
        c, rows, weights, offsets = (
            self.n_clusters,
            incidence_of(ensemble),
            ensemble.sample_weight,
            ensemble.offsets,
        )
        seen, grams = rows.sights(np.ones(ensemble.n_clusterings)), rows.grams(weights, above=c)
        spans = list(pairwise(offsets))
        groups = np.concatenate([update_B(T[a:b], G) for G, (a, b) in zip(grams, spans)])
        history, converged = [], False
        for _ in range(self.max_iter):
            M = update_M(rows, groups, c, seen, self.n_jobs)
            history.append({"objective": objective(M, groups, grams, weights, seen, offsets)})
            T = rows.scatter(weights[:, None] * M, n_jobs=self.n_jobs)
            moved = np.concatenate([update_B(T[a:b], G, groups[a:b]) for G, (a, b) in zip(grams, spans)])
            converged = np.array_equal(moved, groups)
            if converged:
                break
            groups = moved
        return Aligned(update_M(rows, groups, c, seen, self.n_jobs), groups, history, converged)

    def _starts(self, ensemble: Any, rng: np.random.Generator) -> list[np.ndarray]:
        """Tables (k, c) of a cut of the graph, and of base clusterings with n_clusters clusters."""
        c, rows, weights = self.n_clusters, incidence_of(ensemble), ensemble.sample_weight
        seeds = rng.integers(2**31, size=self.n_init).tolist()
        k = ensemble.n_base_clusters
        cut = transfer_cut_of(rows, weights, np.ones(k), min(c, k), n_jobs=self.n_jobs)
        groups = cut_rows(cut.objects, c, unit=True, weights=weights, seeds=seeds, n_jobs=self.n_jobs).labels
        starts = [np.asarray(rows.scatter(one_hot(groups, c, weights).toarray(), n_jobs=self.n_jobs))]
        fitting = np.flatnonzero(ensemble.n_clusters_per_clustering == c)
        if fitting.size:
            K = rows.overlaps(weights, n_jobs=self.n_jobs)
            tables = [K[:, ensemble.offsets[i] : ensemble.offsets[i + 1]] for i in fitting]
            # Weight of all clusterings that the clusters of a base clustering share with their best partners.
            agree = np.array([table.max(axis=1).sum() for table in tables])
            order = np.argsort(-agree.round(9), kind="stable")[: self.n_init]
            starts += [np.ascontiguousarray(tables[i]) for i in order]
        return starts
