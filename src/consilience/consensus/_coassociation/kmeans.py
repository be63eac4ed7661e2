"""k-means on the rows of the co-association matrix, without ever forming it.

    A = N^-1 Y Y'                                                   (1)
    |A_p - A_q|^2 = (z_p - z_q)' K (z_p - z_q),   z_p = Y_p / n_p   (2)
    K = Y' diag(w) Y = R R',   so the points z_p R give the same k-means (3)

Y (u, k) indicator of distinct objects, N = diag(n_p) the number of clusterings that saw p, w (u,) weights.
"""

from __future__ import annotations

from ..._base.parameters import Integer
from ..._base.progress import progress
from ..._kernels.cut.embedding import cut_rows
from .._base import BaseConsensus, Solution
from ._rows import bytes_needed, embed

#: Seconds on one processor for each distinct object, base cluster, cluster and start; measured at u k from
#: 1e6 to 6e7.
_SECONDS = 1.5e-8


class CoassociationKMeans(BaseConsensus):
    """k-means on the rows of the co-association matrix: objects are close when they share their neighbors.

    Parameters
    ----------
    n_clusters : int
        Number of clusters returned.
    n_init : int
        Number of starts of k-means; the best is kept.
    max_iter : int
        Maximum number of iterations of each start.
    min_cluster_size : float or None, default None
        Clusters that weigh less are merged; see :meth:`fit`.
    random_state : int, Generator or None
        Seed of the starts.
    n_jobs : int or None, default -1
        Number of threads. -1 uses all cores, None follows joblib.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of each object, 0 the largest.
    confidence_ : array (n_samples,)
        How sure the base clusterings are of each object's cluster, in [0, 1]. It is not a probability.
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

    _constraints = {"n_init": Integer(1)}
    _test_params = [{"n_init": 3}]
    _takes_soft = True
    _remedy = "use LWGP, which holds no matrix of objects by base clusters, or fewer or coarser clusterings"

    inertia_: float

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        n_init: int = 10,
        max_iter: int = 300,
        min_cluster_size: float | None = None,
        random_state=None,
        n_jobs: int | None = -1,
    ):
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.min_cluster_size = min_cluster_size
        self.random_state = random_state
        self.n_jobs = n_jobs

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
