"""Dense representation ensemble clustering: each distinct object is represented by the others.

    min over Z of  sum_j |x_j - X Z_j| + lam |Z|^2,   X = Y' (k, u)                                     (1)
    Kx = Y' Y = E diag(kap) E',   a = E' Y'                                                             (2)
    s_j = lam;   in each round   r_j = s_j |a_j / (kap + s_j)|,   s_j <- 2 lam r_j                      (3)
    Z = X' M',   M = a / (kap + s),   C = kap^1/2 M,   C C' = V diag(e^2) V'                            (4)
    Us = Y E kap^-1/2 V e^1/2, rows to unit length;   similarity (Us Us')^4 by entry                    (5)

Y (u, k) indicator of base clusters, kap (r,) the eigenvalues that are not 0, s (u,). Each column of (1) is a
ridge problem with its own s_j, and all of them live in the k x k matrix Kx: the published Sylvester equations
of size u are not needed. (5) is cut by eigenvectors and k-means.

References
----------
J. Zhou, H. Zheng and L. Pan, "Ensemble clustering based on dense representation", Neurocomputing 357, 2019.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np

from ..._base.estimator import declared
from ..._base.parameters import Flag, Integer, MinClusterSize, NInit, NJobs, Real, Seed
from ..._kernels.cut.embedding import cut_rows, unit_rows
from ..._kernels.eigen import eigenpairs, leading_eigenvectors
from ..._kernels.labels.overlaps import gather, overlap_matrix
from ..._kernels.pairs.association import normalized_matrix_inplace
from ..._kernels.runtime.memory import WITHOUT_PAIRS, ensure_fits
from ..._kernels.runtime.threads import row_product
from .._base import BaseConsensus, Solution


def basis(ensemble: Any, weights: np.ndarray, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
    """(kap (r,), a' (u, r)) of Eq. (2), where Kx counts objects by ``weights``.

    Eigenvalues below 1e-10 of the largest are taken for rounding errors.
    """
    K = overlap_matrix(ensemble.labels, ensemble.offsets, weights, n_jobs=n_jobs)
    kap, E = eigenpairs(K, K.shape[0])
    kept = kap > 1e-10 * kap[-1]
    return kap[kept], gather(ensemble.labels, ensemble.offsets, E[:, kept], n_jobs=n_jobs)


def ridges(kap: np.ndarray, a: np.ndarray, lam: float, rounds: int) -> np.ndarray:
    """s (u,) after the rounds of Eq. (3), as used by the last Z, before its own update."""
    s = np.full(a.shape[0], float(lam))
    for _ in range(rounds - 1):
        r = s * np.linalg.norm(a / (kap + s[:, None]), axis=1)
        s = 2.0 * lam * np.maximum(r, 1e-12)  # an object that others give exactly would have 0 / 0
    return s


def embed(kap: np.ndarray, a: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Us (u, rank) with rows of unit length, Eqs. (4) and (5)."""
    C = (np.sqrt(kap) * a / (kap + s[:, None])).T
    squares, V = eigenpairs(C @ C.T, kap.size)
    e = np.sqrt(np.maximum(squares, 0.0))
    kept = e > 1e-4 * e[-1]
    return unit_rows((a / np.sqrt(kap)) @ V[:, kept] * np.sqrt(e[kept]))


@declared
class DREC(BaseConsensus):
    """Dense representation ensemble clustering: spectral clustering of how objects represent each other.

    Parameters
    ----------
    ridge : float
        Weight of the size of the representation (lambda in the paper). Below 10 the representation falls
        apart.
    n_iter : int
        Number of rounds of Eq. (3), at most 10,000. All of them are run.
    count_duplicates : bool
        Whether a distinct object counts in proportion to the objects it stands for. By default each counts
        once, as published.

    Attributes
    ----------
    embedding_ : array (n_samples, n_clusters)
        The eigenvectors.

    Notes
    -----
    The fit takes O(u m^2 + k^3 + u^2 k) time and 16 u^2 + 32 u k + 24 k^2 bytes; an error is raised
    beforehand if they do not fit. With missing labels, x_j has fewer ones. Unless ``count_duplicates=True``,
    weights (and equal objects) affect only the confidence and the order of the labels.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> cs.consensus.DREC(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    ridge: Annotated[float, Real(0, open_low=True)] = 100.0
    n_iter: Annotated[int, Integer(1, 10_000)] = 5
    count_duplicates: Annotated[bool, Flag()] = False
    n_init: NInit = 10
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    embedding_: ClassVar[np.ndarray]

    _test_params = [{"n_init": 3}, {"n_init": 3, "count_duplicates": True}]

    def _fit(self, ensemble, rng):
        u, k, c = ensemble.n_samples, ensemble.n_base_clusters, self.n_clusters
        ensure_fits(
            16.0 * u * u + 32.0 * u * k + 24.0 * k * k,
            what=f"DREC on {u} distinct objects",
            remedy=WITHOUT_PAIRS,
        )
        weights = (
            ensemble.sample_weight * (u / ensemble.sample_weight.sum())
            if self.count_duplicates
            else np.ones(u)
        )
        kap, a = basis(ensemble, weights, self.n_jobs)
        Us = embed(kap, a, ridges(kap, a, self.ridge, self.n_iter))
        S = row_product(Us, Us.T, n_jobs=self.n_jobs)
        S **= 4
        S = normalized_matrix_inplace((S + S.T) / 2, weights)
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
        )
