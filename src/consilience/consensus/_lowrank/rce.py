"""Robust consensus: a matrix of low rank, learned from connectivity matrices cleaned of sparse errors.

    min over A, E_i of  sum_i KL(A, S_i - E_i) + l1 sum_i |E_i|_1 + l2 |A|_*,   0 <= A, S_i - E_i <= 1   (1)

S_i (n, n) is 1 where clustering i put a pair together. Labels by spectral clustering of (A + A') / 2. The
updates are in ``_robust``.

References
----------
P. Zhou, L. Du, H. Wang, L. Shi and Y.-D. Shen, "Learning a robust consensus matrix for clustering ensemble
via Kullback-Leibler divergence minimization", IJCAI 2015.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._base.parameters import Integer, Real
from ..._kernels.cut.embedding import cut_rows
from ..._kernels.eigen import leading_eigenvectors
from ..._kernels.pairs.association import normalized_matrix_inplace
from ..._kernels.runtime.memory import WITHOUT_PAIRS, ensure_fits
from .._base import BaseConsensus, Solution
from ._robust import learn


class RCE(BaseConsensus):
    """Robust clustering ensemble: a low-rank consensus matrix of clusterings cleaned of sparse errors.

    Parameters
    ----------
    n_clusters : int
        Number of clusters returned.
    error_weight : float, default 1
        Cost of an error in a clustering (l1 in Eq. (1)), at most 1e9. With large values the clusterings are
        hardly corrected.
    low_rank_weight : float, default 1
        Weight of the rank of the consensus matrix (l2 in Eq. (1)), at most 1e9.
    n_iter : int, default 20
        Number of rounds, each of which cleans the clusterings and updates the consensus, at most 10,000. All
        of them are run.
    n_init : int, default 10
        Number of starts of the final k-means; the best is kept.
    min_cluster_size : float or None, default None
        Clusters that weigh less are merged; see :meth:`fit`.
    random_state : int, Generator or None
        Seed of these starts.
    n_jobs : int or None, default -1
        Number of threads. -1 uses all cores, None follows joblib.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of each object, 0 the largest.
    confidence_ : array (n_samples,)
        How sure the base clusterings are of each object's cluster, in [0, 1]. It is not a probability.
    embedding_ : array (n_samples, n_clusters)
        The eigenvectors.
    distinct_consensus_ : array (u, u)
        (A + A') / 2 between distinct objects, in the order of ``distinct_``.

    Notes
    -----
    The fit takes O(u^3) time, for an eigendecomposition and 40 products of u x u matrices in each round, and
    about 120 u^2 bytes; an error is raised beforehand if they do not fit. (The published program holds m
    matrices over all objects.) With missing labels, pairs are counted among the clusterings that saw both
    objects; a pair that none saw starts at the mean, and only the rank term changes it. A weight of 1 stands
    for one object.

    Differences from the paper: on distinct objects the upper bound that is minimized in place of (1) differs
    a little from that on all objects, but the minimizer does not; labels come from k-means.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> cs.consensus.RCE(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    _constraints = {
        "error_weight": Real(0, 1e9, open_low=True),  # its square must be finite
        "low_rank_weight": Real(0, 1e9),
        "n_iter": Integer(1, 10_000),
        "n_init": Integer(1),
    }
    _test_params = [{"n_init": 3, "n_iter": 5}]
    _any_unit = False

    embedding_: np.ndarray
    distinct_consensus_: np.ndarray

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        error_weight: float = 1.0,
        low_rank_weight: float = 1.0,
        n_iter: int = 20,
        n_init: int = 10,
        min_cluster_size: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ):
        self.n_clusters = n_clusters
        self.error_weight = error_weight
        self.low_rank_weight = low_rank_weight
        self.n_iter = n_iter
        self.n_init = n_init
        self.min_cluster_size = min_cluster_size
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, ensemble, rng):
        u, c, weights = ensemble.n_samples, self.n_clusters, ensemble.sample_weight
        ensure_fits(120.0 * u * u, what=f"RCE on {u} distinct objects", remedy=WITHOUT_PAIRS)
        seen = ensemble.cooccurrence_counts()
        t = np.rint(ensemble.coassociation(n_jobs=self.n_jobs) * seen)
        A = learn(t, seen, weights, self.error_weight, self.low_rank_weight, self.n_iter, self.n_jobs)
        A = (A + A.T) / 2
        S = normalized_matrix_inplace(A.copy(), weights)
        found = leading_eigenvectors(lambda X: S @ X, u, c, dense=lambda: S)
        seeds = rng.integers(2**31, size=self.n_init).tolist()
        cut = cut_rows(
            found.vectors, c, unit=True, weights=weights, seeds=seeds, max_iter=100, n_jobs=self.n_jobs
        )
        return Solution(
            cut.labels,
            n_iter=self.n_iter,
            converged=found.converged,
            shortfall="its eigenvectors were not found to full accuracy",
            per_sample={"embedding": found.vectors},
            per_pair={"distinct_consensus": A},
        )
