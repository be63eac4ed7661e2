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

from typing import Annotated, ClassVar

import numpy as np

from ..._base.estimator import declared
from ..._base.parameters import Integer, MinClusterSize, NInit, NJobs, Real, Seed
from ..._kernels.cut.embedding import cut_rows
from ..._kernels.eigen import leading_eigenvectors
from ..._kernels.pairs.association import normalized_matrix_inplace
from ..._kernels.runtime.memory import WITHOUT_PAIRS, ensure_fits
from .._base import BaseConsensus, Solution
from ._robust import learn


@declared
class RCE(BaseConsensus):
    """Robust clustering ensemble: a low-rank consensus matrix of clusterings cleaned of sparse errors.

    Parameters
    ----------
    error_weight : float
        Cost of an error in a clustering (l1 in Eq. (1)), at most 1e9. With large values the clusterings are
        hardly corrected.
    low_rank_weight : float
        Weight of the rank of the consensus matrix (l2 in Eq. (1)), at most 1e9.
    n_iter : int
        Number of rounds, each of which cleans the clusterings and updates the consensus, at most 10,000. All
        of them are run.

    Attributes
    ----------
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

    # Its square must be finite.
    error_weight: Annotated[float, Real(0, 1e9, open_low=True)] = 1.0
    low_rank_weight: Annotated[float, Real(0, 1e9)] = 1.0
    n_iter: Annotated[int, Integer(1, 10_000)] = 20
    n_init: NInit = 10
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    embedding_: ClassVar[np.ndarray]
    distinct_consensus_: ClassVar[np.ndarray]

    _test_params = [{"n_init": 3, "n_iter": 5}]
    _any_unit = False

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
