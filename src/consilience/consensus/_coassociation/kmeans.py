"""k-means on the rows of the co-association matrix, without ever forming it.

    A = N^-1 Y Y'                                                   (1)
    |A_p - A_q|^2 = (z_p - z_q)' K (z_p - z_q),   z_p = Y_p / n_p   (2)
    K = Y' diag(w) Y = R R',   so the points z_p R give the same k-means (3)

Y (u, k) indicator of distinct objects, N = diag(n_p) the number of clusterings that saw p, w (u,) weights.
"""

from __future__ import annotations

from typing import ClassVar

from ..._base.estimator import declared
from ..._base.parameters import MaxIter, MinClusterSize, NInit, NJobs, Seed
from ..._base.progress import progress
from ..._kernels.cut.embedding import cut_rows
from .._base import BaseConsensus, Solution
from ._rows import bytes_needed, embed

#: Seconds on one processor for each distinct object, base cluster, cluster and start; measured at u k from
#: 1e6 to 6e7.
_SECONDS = 1.5e-8


@declared
class CoassociationKMeans(BaseConsensus):
    """k-means on the rows of the co-association matrix: objects are close when they share their neighbors.

    Parameters
    ----------
    n_init : int
        Number of starts of k-means; the best is kept.

    Attributes
    ----------
    inertia_ : float
        Weighted sum of squared distances of co-association rows to their centers.

    Notes
    -----
    A start takes O(u m^2 + k^3 + u k c) time, and the fit 16 u k + 56 k^2 bytes; no u x u matrix is formed.
    With missing labels, row p holds shares of the clusterings that saw p, so that an object that was rarely
    seen counts for less in the rows of others. For a :class:`~consilience.SoftEnsemble`, Y holds the
    memberships and n_p their sum; the diagonal of A is Y_p Y_p' / n_p like its other entries, so that equal
    objects stay equal.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> cs.consensus.CoassociationKMeans(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    n_init: NInit = 10
    max_iter: MaxIter = 300
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    inertia_: ClassVar[float]

    _test_params = [{"n_init": 3}]
    _takes_soft = True
    _remedy = "use LWGP, which holds no matrix of objects by base clusters, or fewer or coarser clusterings"

    def _cost(self, ensemble):
        u, k = ensemble.n_samples, ensemble.n_base_clusters
        return _SECONDS * u * k * self.n_clusters * self.n_init, bytes_needed(u, k)

    def _fit(self, ensemble, rng):
        points = embed(ensemble)
        with progress(total=self.n_init, what="CoassociationKMeans", unit="start") as bar:
            cut = cut_rows(
                points,
                self.n_clusters,
                weights=ensemble.sample_weight,
                seeds=rng.integers(2**31, size=self.n_init).tolist(),
                max_iter=self.max_iter,
                n_jobs=self.n_jobs,
                on_done=bar.update,
            )
        return Solution(
            cut.labels,
            n_iter=cut.n_iter,
            converged=cut.converged or self.max_iter == 1,
            extra={"inertia": cut.inertia},
        )
