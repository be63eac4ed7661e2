"""Hypergraph partitioning: parts of equal weight that cut as few base clusters (hyperedges) as possible.

    min over parts of equal weight of   sum of e_b over base clusters b with objects in several parts   (1)

e_b is the weight of base cluster b ("size") or 1 ("unit"). Parts are divided in two repeatedly, by moves of
single objects from several starts.

References
----------
A. Strehl and J. Ghosh, "Cluster ensembles: a knowledge reuse framework for combining multiple partitions",
Journal of Machine Learning Research 3, 2002.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from ..._base.estimator import declared
from ..._base.parameters import Choice, MinClusterSize, NInit, NJobs, Real, Seed
from ..._kernels.cut.hypergraph import bisect, cut_cost
from ..._kernels.cut.transfer import transfer_cut_dense
from ..._kernels.runtime.memory import ensure_fits
from .._base import BaseConsensus, Solution

_FINE = 2.0**30  # units of cost in the heaviest base cluster


def prefix(order: np.ndarray, weights: np.ndarray, wanted: float, fewest: tuple[int, int]) -> np.ndarray:
    """(u,) bool: True for the last objects of ``order``, whose weight is as close to ``wanted`` as possible.

    At least ``fewest`` objects are False and True.
    """
    u = order.size
    behind = weights.sum() - np.cumsum(weights[order])  # weight of what comes after the first 1, 2, ...
    places = np.arange(fewest[0], u - fewest[1] + 1)  # how many come first
    # Places that differ by rounding alone are equally near, whatever the unit of the weights.
    away = np.round(np.abs(behind[places - 1] - wanted) / weights.sum(), 9)
    first = int(places[np.argmin(away)])
    side = np.ones(u, bool)
    side[order[:first]] = False
    return side


def two_parts(
    ensemble: Any,
    rows: np.ndarray,
    edge_weights: np.ndarray,
    parts: tuple[int, int],
    imbalance: float,
    starts: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """(len(rows),) bool: the cheapest cut found, with ``parts`` final parts on the sides False and True."""
    labels, offsets, weights = (
        np.ascontiguousarray(ensemble.labels[rows]),
        ensemble.offsets,
        ensemble.sample_weight[rows],
    )
    total = weights.sum()
    wanted = total * parts[1] / sum(parts)
    slack = max(imbalance * total, weights.max() / 2) * (1 + 1e-9)
    Y = ensemble.indicator()[rows].toarray()
    vectors = transfer_cut_dense(Y, weights, min(2, Y.shape[1])).objects
    line = np.round(vectors[:, -1] / (np.abs(vectors[:, -1]).max() or 1.0), 6)  # rounding decides no ties
    line *= np.sign(line[np.argmax(np.abs(line))]) or 1.0  # the sign of an eigenvector is free
    orders = [np.argsort(line, kind="stable"), *(rng.permutation(rows.size) for _ in range(starts))]
    found = [
        bisect(
            labels,
            offsets,
            weights,
            edge_weights,
            prefix(order, weights, wanted, parts),
            lightest=wanted - slack,
            heaviest=wanted + slack,
            fewest=parts,
        )
        for order in orders
    ]
    return min(found, key=lambda side: cut_cost(labels, offsets, edge_weights, side.astype(int)))


@declared
class HGPA(BaseConsensus):
    """Hypergraph partitioning algorithm: parts of equal weight that cut few base clusters.

    Use it for comparison only. Once every base cluster is cut, no move of an object changes the objective,
    and the answer is a random division; the published results are at the level of chance.

    Parameters
    ----------
    hyperedges : {"size", "unit"}
        Cost of cutting a base cluster: its weight ("size"), as in the published program, or 1 ("unit"), as in
        the text of the paper.
    imbalance : float
        How far the weight of each side of a cut may differ from its due share, as a share of the weight of
        both.
    n_init : int
        Number of random starts of every cut, in addition to one by eigenvectors; the cheapest cut is kept.

    Attributes
    ----------
    cut_cost_ : float
        Eq. (1), in units of the heaviest base cluster.

    Notes
    -----
    A move takes O(u m) time, and the fit O(u k) memory. Moves run on one thread. An object with a missing
    label belongs to no hyperedge of that clustering.

    Differences from the paper: moves of single objects from several starts replace the multilevel program
    hMETIS, and equal objects stay together, because the method works on distinct objects.

    Examples
    --------
    >>> import consilience as cs
    >>> runs = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], ["x", "x", "x", "z", "z", "z"]]
    >>> base = cs.Ensemble.from_clusterings(runs)
    >>> cs.consensus.HGPA(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    hyperedges: Annotated[str, Choice("size", "unit")] = "size"
    imbalance: Annotated[float, Real(0, 1)] = 0.05
    n_init: NInit = 10
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    cut_cost_: ClassVar[float]

    _test_params = [{"n_init": 3}]
    _remedy = "use HBGF, which holds no matrix of objects by base clusters, or fewer or coarser clusterings"

    def _fit(self, ensemble, rng):
        u, k = ensemble.n_samples, ensemble.n_base_clusters
        ensure_fits(32.0 * u * k + 16.0 * k * k, what=f"HGPA on {u} distinct objects", remedy=self._remedy)
        edges = ensemble.cluster_sizes() if self.hyperedges == "size" else np.ones(k)
        # Whole numbers: sums of them are exact, and moves of equal gain are ties in any unit of the weights.
        edges = np.rint(edges * (_FINE / edges.max()))
        groups = np.zeros(u, np.int64)
        waiting = [(0, self.n_clusters)]  # (number of the first part, parts) still to be divided
        while waiting:
            first, parts = waiting.pop()
            if parts == 1:
                continue
            halves = parts - parts // 2, parts // 2
            rows = np.flatnonzero(groups == first)
            side = two_parts(ensemble, rows, edges, halves, self.imbalance, self.n_init, rng)
            groups[rows[side]] = first + halves[0]
            waiting += [(first, halves[0]), (first + halves[0], halves[1])]
        cost = cut_cost(ensemble.labels, ensemble.offsets, edges / _FINE, groups)
        return Solution(groups, n_iter=1, extra={"cut_cost": cost})
