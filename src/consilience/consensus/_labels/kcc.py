"""k-means-based consensus: k-means on label vectors, with a distance that fits a utility.

    maximize  sum_i v_i U(pi, pi_i)   <=>   minimize  sum_p w_p sum over i that saw p of v_i f(x_pi, M_ji)(1)
    M_ji = distribution of clustering i's labels over the objects of cluster j that i saw                  (2)

    category   f = 1 + |M|^2 - 2 M[x]           entropy   f = - log2 M[x]                                  (3)
    cosine     f = 1 - M[x] / |M|               power     f = 1 - (M[x] / |M|_r)^(r-1)

pi is the consensus, pi_i base clustering i, x_pi its label of object p, j the cluster of p, w (u,) weights of
the distinct objects. The definitions of U, f and v for all four utilities are in ``_utilities``.

References
----------
J. Wu, H. Liu, H. Xiong, J. Cao and J. Chen, "K-means-based consensus clustering: a unified view", IEEE
Transactions on Knowledge and Data Engineering 27(1), 2015.
A. Topchy, A. K. Jain and W. Punch, "Clustering ensembles: models of consensus and weak partitions", IEEE
Transactions on Pattern Analysis and Machine Intelligence 27(12), 2005 (quadratic mutual information: the
category utility). H. Liu, R. Zhao, H. Fang, F. Cheng, Y. Fu and Y.-Y. Liu, "Entropy-based consensus
clustering for patient stratification", Bioinformatics 33(17), 2017.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np

from ..._base.estimator import declared
from ..._base.parameters import Choice, Flag, MaxIter, MinClusterSize, NInit, NJobs, Real, Seed, Tol
from ..._kernels.labels.grouping import best_start, label_rows
from .._base import BaseConsensus, Solution
from ._shared import overall_shares
from ._utilities import UTILITIES, clustering_factors, distances, total_utility


@declared
class BaseKCC(BaseConsensus):
    """K-means on the labels of base clusterings with the distance that belongs to a utility.

    Parameters
    ----------
    n_init : int
        Number of starts (k-means++ with the distance of the method); the best is kept.
    tol : float
        A start ends when the objective falls by no more than this share of itself.

    Attributes
    ----------
    utility_ : float
        The maximized utility, the left side of Eq. (1).
    history_ : list of dict
        ``objective``, the right side of Eq. (1), at each iteration of the best start.
    """

    normalized: Annotated[bool, Flag()] = False
    n_init: NInit = 10
    max_iter: MaxIter = 100
    tol: Tol = 1e-6
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    utility_: ClassVar[float]

    def _kind(self) -> tuple[str, float]:
        """Utility, and the order of its norms."""
        raise NotImplementedError

    def _fit(self, ensemble, rng):
        offsets, kind = ensemble.offsets, self._kind()
        P = overall_shares(ensemble)
        v = clustering_factors(P, offsets, *kind) if self.normalized else np.ones(offsets.size - 1)
        rows = label_rows(ensemble.labels, offsets, ensemble.sample_weight)
        found = best_start(
            rows,
            self.n_clusters,
            distances(P, offsets, v, *kind),
            rng,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            n_jobs=self.n_jobs,
        )
        table = rows.table(found.groups, self.n_clusters, self.n_jobs)
        return Solution(
            found.groups,
            history=[{"objective": loss} for loss in found.losses],
            converged=found.converged,
            extra={"utility": total_utility(table, P, offsets, v, *kind)},
        )


@declared
class KCC(BaseKCC):
    """k-means-based consensus clustering: k-means on label vectors that maximizes a utility.

    The method is linear in the number of objects.

    Parameters
    ----------
    utility : {"category", "entropy", "cosine", "power"}
        Utility of agreement with a base clustering: quadratic mutual information ("category", k-means on
        one-hot rows), mutual information ("entropy", see :class:`ECC`), or norms of the label distributions
        of clusters ("cosine" and "power").
    norm_order : float
        Order of the norms for ``utility="power"``; above 1.
    normalized : bool
        Whether to divide the utility of each clustering by its largest possible value.

    Notes
    -----
    An iteration takes O(u m c) time, and the fit O(u m + k c) memory. The objective never rises. With more
    than 65,536 distinct objects, the starts are compared on a sample of that size, and the best one continues
    with all objects. With missing labels, sums are over the clusterings that saw an object; a cluster that a
    clustering never saw is given the overall distribution of labels of that clustering.

    Differences from the paper: an empty cluster gets the object with the largest loss, not a random one, and
    starts are spread (k-means++).

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> cs.consensus.KCC(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    utility: Annotated[str, Choice(*UTILITIES)] = "category"
    norm_order: Annotated[float, Real(1, open_low=True, high=100)] = 5.0

    _test_params = [
        {"n_init": 5},
        {"n_init": 5, "utility": "entropy", "normalized": True},
        {"n_init": 5, "utility": "cosine"},
        {"n_init": 5, "utility": "power", "normalized": True},
    ]

    def _kind(self):
        return self.utility, float(self.norm_order)


@declared
class ECC(BaseKCC):
    """Entropy-based consensus clustering: maximal mutual information with the base clusterings.

    This is :class:`KCC` with ``utility="entropy"``: it maximizes the sum of the mutual information with all
    base clusterings. The method is linear in the number of objects.

    Parameters
    ----------
    normalized : bool
        Whether to divide the mutual information with each clustering by its entropy.

    Attributes
    ----------
    utility_ : float
        The maximized utility in bits, the left side of Eq. (1).

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> cs.consensus.ECC(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    _test_params = [{"n_init": 5}]

    def _kind(self):
        return "entropy", 2.0
