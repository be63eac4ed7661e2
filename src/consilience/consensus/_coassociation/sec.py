"""Spectral ensemble clustering: normalized cut of the co-association by weighted k-means of label vectors.

    d_p = sum over p's clusters b of s_b,   s = Y' w                   (1)
    minimize   sum_p w_p d_p | Y_p / d_p - center of p's cluster |^2   (2)
             = Ncut(Y Y') - n_clusters + sum_p w_p m_p / d_p           (3)

Y (u, k) indicator of base clusters, w (u,) weights of the distinct objects, s (k,) weights of the clusters, d
(u,) degrees, m_p how many clusterings saw p. (3) holds for every clustering, so that k-means lowers the cut
itself, without eigenvectors or pairs of objects.

References
----------
H. Liu, T. Liu, J. Wu, D. Tao and Y. Fu, "Spectral ensemble clustering", KDD 2015.
H. Liu, J. Wu, T. Liu, D. Tao and Y. Fu, "Spectral ensemble clustering via weighted k-means: theoretical and
practical evidence", IEEE Transactions on Knowledge and Data Engineering 29(5), 2017.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np

from ..._base.estimator import declared
from ..._base.parameters import Flag, MaxIter, MinClusterSize, NInit, NJobs, Seed, Tol
from ..._kernels.cut.normalized import cut_loop, move_objects, normalized_cut
from ..._kernels.labels.grouping import best_start
from .._base import BaseConsensus, Solution


@declared
class SEC(BaseConsensus):
    """Spectral ensemble clustering: normalized cut of co-association by weighted k-means of label vectors.

    The method is linear in the number of objects.

    Parameters
    ----------
    single_moves : bool
        Whether to move single objects after k-means as long as this lowers the cut.
    n_init : int
        Number of starts (k-means++ on the label vectors); the one with the smallest cut is kept.
    max_iter : int
        Maximum number of iterations of each start, and of sweeps of single moves.
    tol : float
        A start ends when its objective falls by no more than this share of itself.

    Attributes
    ----------
    normalized_cut_ : float
        Normalized cut of Y Y', Eq. (3).
    history_ : list of dict
        ``objective``, Eq. (2), at each iteration of the best start.

    Notes
    -----
    An iteration takes O(u m c) time, and the fit O(u m + k c) memory. With more than 65,536 distinct objects,
    the starts are compared on a sample of that size, and the best one continues with all objects. With
    missing labels, Y_p has fewer ones, and (3) is the exact cut of Y Y', which counts how often pairs were
    together. Objects of low degree cost little, so that outliers can become clusters.

    Differences from the paper: k-means++ instead of random starts, and an empty cluster gets the object with
    the largest loss instead of being dropped.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> cs.consensus.SEC(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    single_moves: Annotated[bool, Flag()] = False
    n_init: NInit = 10
    max_iter: MaxIter = 100
    tol: Tol = 1e-6
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    normalized_cut_: ClassVar[float]

    _test_params = [{"n_init": 5}, {"n_init": 5, "single_moves": True}]

    def _fit(self, ensemble, rng):
        ones = np.ones(ensemble.n_base_clusters)
        rows, costs = cut_loop(
            ensemble.labels, ensemble.offsets, ensemble.sample_weight, ones, n_jobs=self.n_jobs
        )
        found = best_start(
            rows,
            self.n_clusters,
            costs,
            rng,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
        )
        groups = found.groups
        if self.single_moves:
            groups, _ = move_objects(rows, groups, self.n_clusters, ones, max_sweeps=self.max_iter)
        table = rows.table(groups, self.n_clusters, self.n_jobs)
        return Solution(
            groups,
            history=[{"objective": loss} for loss in found.losses],
            converged=found.converged,
            extra={"normalized_cut": normalized_cut(table, ones)},
        )
