"""Voting: match the clusters of all base clusterings, then count votes; or k-modes on label vectors.

aligned     T = Y' diag(w) R (k, c);  B_i maps clustering i's clusters to groups, from T_i                 (1)
            group of p = the one that most of the clusterings that saw p map it to                         (2)
iterative   center of group j in clustering i = its commonest label, or the distribution M_ji of its labels(3)
            group of p = that of least mean disagreement: [x_pi is not the center], or 1 - M_ji[x_pi]      (4)

Y (u, k) indicator of base clusters, R (u, c) of the groups, w (u,) weights of the distinct objects. Both
loops end when no object moves.

References
----------
E. Dimitriadou, A. Weingessel and K. Hornik, "A combination scheme for fuzzy clustering", International
Journal of Pattern Recognition and Artificial Intelligence 16(7), 2002.
H. G. Ayad and M. S. Kamel, "Cumulative voting consensus method for partitions with variable number of
clusters", IEEE Transactions on Pattern Analysis and Machine Intelligence 30(1), 2008.
N. Nguyen and R. Caruana, "Consensus clusterings", ICDM 2007.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..._base.estimator import declared
from ..._base.parameters import Choice, MaxIter, MinClusterSize, NInit, NJobs, Seed
from ..._evidence.table import Evidence
from ..._kernels.cut.graph import partition_graph
from ..._kernels.cut.metaclusters import jaccard, vote
from ..._kernels.cut.partition import by_decreasing_size
from ..._kernels.labels.grouping import (
    Costs,
    LabelRows,
    Settled,
    alternate,
    assign,
    best_start,
    commonest_rows,
    fill_empty,
    label_rows,
)
from ..._kernels.labels.overlaps import overlap_matrix
from .._base import BaseConsensus, Solution
from ._shared import disagreement, overall_shares

_STARTS_LOOKED_AT = 50  # base clusterings with n_clusters clusters that are tried as starts


def maps(table: np.ndarray, offsets: np.ndarray, match: str) -> np.ndarray:
    """B (k, c), the groups to which base clusters are mapped, from Y' diag(w) R.

    The map is one-to-one (unmatched clusters have no vote), many-to-one, or soft shares of every cluster.
    """
    if match == "soft":
        sums = table.sum(axis=1, keepdims=True)
        return table / np.where(sums > 0, sums, 1.0)
    B = np.zeros(table.shape)
    if match == "many-to-one":
        B[np.arange(len(B)), table.argmax(axis=1)] = 1.0
        return B
    for first, last in pairwise(offsets):
        clusters, groups = linear_sum_assignment(-table[first:last])
        B[first + clusters, groups] = 1.0
    return B


def commonest(P: np.ndarray, offsets: np.ndarray) -> Costs:
    """Costs for centers that are labels: 0 for the most common label of the group, 1 for others.

    The lowest of equally common labels is taken.
    """

    def costs(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        T = np.ones(table.shape)
        T[commonest_rows(table, offsets, P), np.arange(table.shape[1])] = 0.0
        return T, np.zeros(table.shape[1])

    return costs


@declared
class Voting(BaseConsensus):
    """Voting: base clusterings are aligned, and objects join the cluster with most votes; or k-modes.

    The method is linear in the number of objects.

    Parameters
    ----------
    algorithm : {"aligned", "iterative"}
        "aligned" matches the clusters of the base clusterings and then counts votes. "iterative" is k-modes
        on label vectors (iterative voting).
    match : {"one-to-one", "many-to-one", "soft"}
        For ``algorithm="aligned"``: how the clusters of a base clustering are mapped to consensus clusters.
        The last two suit base clusterings with any number of clusters, but a single cluster of all objects
        satisfies them too.
    center : {"mode", "mean"}
        For ``algorithm="iterative"``: the center of a group is its most common label in each clustering
        ("mode", IVC) or its distribution of labels ("mean", IPVC).
    n_init : int
        Number of starts; the best is kept. "aligned" starts from at most n_init base clusterings and compares
        the results by mean NMI with the base clusterings, "iterative" by disagreement.

    Attributes
    ----------
    cluster_labels_ : array (k,)
        The consensus cluster to which every base cluster is mapped, by its number in the ensemble; -1 for
        none.
    aligned_ : array (n_samples, n_clusterings)
        The labels of every base clustering in the numbers of the consensus; -1 where missing or unmatched.
    history_ : list of dict
        ``objective``, the weight of votes for other clusters (aligned) or the mean disagreement (iterative),
        at each iteration of the best start.

    Notes
    -----
    An iteration takes O(u m c) time, and O(m c^3) for one-to-one maps; the fit takes O(u m + k c) memory.
    Votes are counted among the clusterings that saw an object. With ``match="one-to-one"`` or "many-to-one",
    and with ``center="mode"``, the objective never rises; otherwise the loop ends at the first rise. With
    more than 65,536 distinct objects, "iterative" compares the starts on a sample of that size, and the best
    one continues with all objects.

    Differences from the papers: starts are the base clusterings with n_clusters clusters that agree most with
    the others, or, if there are none, a vote of groups of base clusters; objects with a tie stay where they
    are; an empty cluster gets the object with the largest loss.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> model = cs.consensus.Voting(n_clusters=2, random_state=0).fit(base)
    >>> model.labels_.tolist()
    [1, 1, 0, 0, 0]
    >>> model.aligned_[:, 0].tolist()
    [1, 1, 1, 0, 0]
    """

    algorithm: Annotated[str, Choice("aligned", "iterative")] = "aligned"
    match: Annotated[str, Choice("one-to-one", "many-to-one", "soft")] = "one-to-one"
    center: Annotated[str, Choice("mode", "mean")] = "mode"
    n_init: NInit = 10
    max_iter: MaxIter = 100
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    cluster_labels_: ClassVar[np.ndarray]

    _test_params = [
        {"n_init": 5},
        {"match": "soft", "n_init": 5},
        {"algorithm": "iterative"},
        {"algorithm": "iterative", "center": "mean"},
    ]

    @property
    def aligned_(self) -> np.ndarray:
        """Labels of every base clustering in the numbers of the consensus, -1 where there is none.

        An array (n_samples, n_clusterings).
        """
        numbers = np.append(self.cluster_labels_, -1)
        return self.distinct_.expand(numbers[self.distinct_.global_labels()])

    def _fit(self, ensemble, rng):
        found = (
            self._aligned(ensemble, rng) if self.algorithm == "aligned" else self._iterative(ensemble, rng)
        )
        labels = by_decreasing_size(found.groups, ensemble.sample_weight, tie_breaker=ensemble.rows)
        table = label_rows(ensemble.labels, ensemble.offsets, ensemble.sample_weight).table(
            labels, self.n_clusters
        )
        B = maps(table, ensemble.offsets, self.match if self.algorithm == "aligned" else "many-to-one")
        return Solution(
            labels,
            history=[{"objective": loss} for loss in found.losses],
            converged=found.converged,
            per_cluster={"cluster_labels": np.where(B.any(axis=1), B.argmax(axis=1), -1)},
        )

    def _iterative(self, ensemble: Any, rng: np.random.Generator) -> Settled:
        offsets, seen = ensemble.offsets, (ensemble.labels >= 0).sum(axis=1)
        P = overall_shares(ensemble)
        return best_start(
            label_rows(ensemble.labels, offsets, ensemble.sample_weight, scale=1.0 / seen),
            self.n_clusters,
            commonest(P, offsets) if self.center == "mode" else disagreement(P, offsets),
            rng,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=0.0,
            stay=True,
            n_jobs=self.n_jobs,
        )

    def _aligned(self, ensemble: Any, rng: np.random.Generator) -> Settled:
        rows = label_rows(ensemble.labels, ensemble.offsets, ensemble.sample_weight)

        def costs(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return 1.0 - maps(table, rows.offsets, self.match), np.zeros(table.shape[1])

        runs = [self._settle(rows, start, costs) for start in self._starts(ensemble, rng)]
        return max(runs, key=lambda run: round(Evidence(ensemble, run.groups).mean_agreement(), 12))

    def _settle(self, rows: LabelRows, start: np.ndarray, costs: Costs) -> Settled:
        """The loop from one partition (u,), -1 where it has no label."""
        c = self.n_clusters
        near = assign(rows, *costs(rows.table(start, c, self.n_jobs)), n_jobs=self.n_jobs)
        groups = fill_empty(np.where(start < 0, near.groups, start), c, rows.mass * near.cost)
        return alternate(
            rows, groups, c, costs, max_iter=self.max_iter, tol=0.0, stay=True, n_jobs=self.n_jobs
        )

    def _starts(self, ensemble: Any, rng: np.random.Generator) -> list[np.ndarray]:
        """Base clusterings with n_clusters clusters that agree most with all, else grouped base clusters."""
        fitting = np.flatnonzero(ensemble.n_clusters_per_clustering == self.n_clusters)[:_STARTS_LOOKED_AT]
        members = [ensemble.labels[:, i].astype(np.int64) for i in fitting]
        if members:
            agree = np.array([Evidence(ensemble, member).mean_agreement() for member in members])
            return [members[i] for i in np.argsort(-agree.round(12), kind="stable")[: self.n_init]]
        labels, offsets, k = ensemble.labels, ensemble.offsets, ensemble.n_base_clusters
        J = jaccard(overlap_matrix(labels, offsets, ensemble.sample_weight, n_jobs=self.n_jobs), offsets)
        seeds = rng.integers(2**31, size=self.n_init).tolist()
        groups = partition_graph(
            J, min(self.n_clusters, k), weights=np.ones(k), seeds=seeds, n_jobs=self.n_jobs
        )
        return [
            vote(labels, offsets, ensemble.sample_weight, groups, self.n_clusters, n_jobs=self.n_jobs).labels
        ]
