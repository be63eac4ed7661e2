"""Consensus by non-negative factorization of the co-association matrix.

    orthogonal:   A ~ Q S Q',  Q >= 0,  Q' N Q = I,    Ah = N^1/2 A N^1/2,  Qh = N^1/2 Q                (1)
        X = Ah Qh S,   Qh <- Qh sqrt(X / (Qh Qh' X)),   G = Qh' Qh                                      (2)
        S <- S sqrt((Qh' Ah Qh) / (G S G))                                                              (3)
    otherwise:    A ~ H H',  H >= 0:   Hh <- Hh ((Ah Hh) / (Hh Hh' Hh))^(1/4)                           (4)
    |Ah - Qh S Qh'|^2 = |Ah|^2 - 2 tr(S Qh' Ah Qh) + tr(S G S G),   |Ah|^2 = sum(K o K) / m^2           (5)

A (u, u) co-association of the distinct objects, N = diag(w) their weights, Q and H (u, n_clusters), S
(n_clusters, n_clusters), K = Y' N Y (k, k). Without missing labels A = Y Y' / m is never formed. Products and
roots are taken entry by entry.

References
----------
T. Li, C. Ding and M. Jordan, "Solving consensus and semi-supervised clustering problems using nonnegative
matrix factorization", ICDM 2007.
T. Li and C. Ding, "Weighted consensus clustering", SDM 2008.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import numpy as np

from ..._base.estimator import declared
from ..._base.parameters import Choice, Flag, MaxIter, MinClusterSize, NInit, NJobs, Seed, Tol
from ..._kernels.cut.embedding import cut_rows
from ..._kernels.cut.partition import one_hot, split_clusters
from ..._kernels.labels.overlaps import gather, overlap_matrix, scatter
from ..._kernels.runtime.memory import WITHOUT_PAIRS, ensure_fits
from .._base import BaseConsensus, Solution
from ._rows import embed

_OVER = 5  # iterations over which the change of the objective is averaged: it may rise in some


def times_association(ensemble: Any, n_jobs: int | None) -> tuple[Callable[[np.ndarray], np.ndarray], float]:
    """(X -> Ah X, |Ah|^2): two passes over the labels, or with missing labels a matrix (8 u^2 bytes)."""
    u, root = ensemble.n_samples, np.sqrt(ensemble.sample_weight)[:, None]
    if ensemble.has_missing:
        ensure_fits(
            8.0 * u * u, what=f"NMFC with missing labels on {u} distinct objects", remedy=WITHOUT_PAIRS
        )
        A = ensemble.coassociation(n_jobs=n_jobs)
        A *= root
        A *= root.T
        return lambda X: A @ X, float(np.vdot(A, A))
    labels, offsets, m = ensemble.labels, ensemble.offsets, ensemble.n_clusterings
    K = overlap_matrix(labels, offsets, ensemble.sample_weight, n_jobs=n_jobs)

    def product(X: np.ndarray) -> np.ndarray:
        met = scatter(labels, offsets, root * X, n_jobs=n_jobs)
        return root * gather(labels, offsets, met, n_jobs=n_jobs) / m

    return product, float(np.vdot(K, K)) / m**2


def ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """above / below; 0 where the denominator is 0, so that zeros stay."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > np.finfo(float).tiny)


def factorize(
    product: Callable[[np.ndarray], np.ndarray],
    square: float,
    Q: np.ndarray,
    *,
    orthogonal: bool,
    max_iter: int,
    tol: float,
) -> tuple[np.ndarray, list[float], bool]:
    """(Qh or Hh, objectives of Eq. (5), converged) from a start Q (u, c) without zeros.

    An iteration takes O(u m c) time.
    """
    AQ = product(Q)
    S = Q.T @ AQ if orthogonal else np.eye(Q.shape[1])
    history: list[float] = []
    converged = False
    for _ in range(max_iter):
        if orthogonal:
            X = AQ @ S
            Q = Q * np.sqrt(ratio(X, Q @ (Q.T @ X)))
        else:
            Q = Q * ratio(AQ, Q @ (Q.T @ Q)) ** 0.25
        AQ, G = product(Q), Q.T @ Q
        inner = Q.T @ AQ
        if orthogonal:
            S = S * np.sqrt(ratio(inner, G @ S @ G))
        SG = S @ G
        history.append(float(square - 2 * np.vdot(S, inner) + np.vdot(SG, SG.T)))
        if len(history) > _OVER and abs(history[-1] - history[-1 - _OVER]) <= _OVER * tol * square:
            converged = True
            break
    return Q, history, converged


@declared
class NMFC(BaseConsensus):
    """Non-negative factorization of the co-association matrix into soft clusters.

    Parameters
    ----------
    orthogonal : bool
        True factorizes A into three factors, as published. False uses two, A ~ H H', whose objective falls in
        every iteration.
    init : {"k-means", "random"}
        Start from k-means on the rows of the co-association matrix, or from random factors, of which the best
        result is kept.
    n_init : int
        Number of starts of k-means, or of random factors.
    tol : float
        The iteration stops when the objective changes by no more than this share of \\|A\\|^2 per iteration,
        averaged over five iterations.

    Attributes
    ----------
    embedding_ : array (n_samples, n_clusters)
        Q (or H). Each object belongs to the cluster of its largest entry. Columns are not in the order of
        ``labels_``.
    history_ : list of dict
        ``objective``, Eq. (5), at each iteration of the start that was kept. With ``orthogonal`` it may rise.

    Notes
    -----
    An iteration takes O(u m c) time. The fit takes O(u c + k^2) memory, and O(u k) for the start by k-means;
    with missing labels it takes 8 u^2 bytes, and an error is raised beforehand if they do not fit. A pair of
    objects never seen together counts as apart.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> cs.consensus.NMFC(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    orthogonal: Annotated[bool, Flag()] = True
    init: Annotated[str, Choice("k-means", "random")] = "k-means"
    n_init: NInit = 10
    max_iter: MaxIter = 500
    tol: Tol = 1e-6
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    embedding_: ClassVar[np.ndarray]

    _test_params = [{"n_init": 3}, {"n_init": 3, "orthogonal": False}]

    def _fit(self, ensemble, rng):
        root = np.sqrt(ensemble.sample_weight)[:, None]
        product, square = times_association(ensemble, self.n_jobs)
        runs = []
        for start in self._starts(ensemble, rng):
            Q = root * start
            Q = Q / np.linalg.norm(Q, axis=0)
            if not self.orthogonal:
                Q = Q * np.sqrt(np.einsum("pj,pj->j", Q, product(Q)))
            runs.append(
                factorize(
                    product, square, Q, orthogonal=self.orthogonal, max_iter=self.max_iter, tol=self.tol
                )
            )
        Q, history, converged = min(runs, key=lambda run: run[1][-1])
        Q = Q / root
        groups = split_clusters(
            Q.argmax(axis=1), self.n_clusters, embedding=Q, weights=ensemble.sample_weight
        )
        return Solution(
            groups,
            history=[{"objective": value} for value in history],
            converged=converged,
            per_sample={"embedding": Q},
        )

    def _starts(self, ensemble, rng):
        """Factors (u, c) to start from, nowhere 0: zeros would stay."""
        if self.init == "random":
            return [rng.uniform(0.1, 1.0, (ensemble.n_samples, self.n_clusters)) for _ in range(self.n_init)]
        seeds = rng.integers(2**31, size=self.n_init).tolist()
        cut = cut_rows(
            embed(ensemble), self.n_clusters, weights=ensemble.sample_weight, seeds=seeds, n_jobs=self.n_jobs
        )
        return [one_hot(cut.labels, self.n_clusters).toarray() + 0.2]
