"""Tri-level robust clustering ensemble: learns a graph with weights of clusterings, objects and pairs.

    P_i = [together in i] / weight of the cluster: rows add up to 1   (1)
    min over B, S, v, alpha of  sum_i (1 / alpha_i) sum_p v_p^2 KL(P_i row p, B row p) - lam sum_p v_p
        + gamma |S - B|^2 + rho tr(F' L_S F)                          (2)

alpha (m,) says how far clusterings are doubted, v (u,) how far objects are trusted, B (u, u) how far pairs
are. S (u, u) is the graph, and rho is raised until it has n_clusters pieces. Rows of B and S add up to 1. The
updates are in ``_connective``.

References
----------
P. Zhou, L. Du, Y.-D. Shen and X. Li, "Tri-level robust clustering ensemble with multiple graph learning",
AAAI 2021.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np

from ..._base.estimator import declared
from ..._base.parameters import MaxIter, MinClusterSize, NJobs, Real
from ..._kernels.cut.partition import exactly
from ..._kernels.runtime.memory import WITHOUT_PAIRS, ensure_fits
from .._base import BaseConsensus, Solution
from ._connective import learn


@declared
class TRCE(BaseConsensus):
    """Tri-level robust clustering ensemble: learns a graph in which each cluster is a connected piece.

    The method is deterministic.

    Parameters
    ----------
    graph_weight : float
        How close the graph stays to the mean of the clusterings that it is learned from (gamma in the paper),
        from 1e-9 to 1e9. From 1,000 on, it has the same connected pieces as that mean.
    max_iter : int
        Maximum number of rounds.

    Attributes
    ----------
    clustering_weights_ : array (n_clusterings,)
        Trust in each base clustering: 1 / alpha, normalized to add up to 1.
    embedding_ : array (n_samples, n_clusters)
        F, the embedding by which pieces that are too large are split.
    n_pieces_ : int
        Number of pieces of the learned graph. If it is not n_clusters, pieces were merged or split.
    history_ : list of dict
        At each round ``rho``, the weight of the number of pieces, and ``pieces``.

    Notes
    -----
    A round takes O(u^2 (m + c)) time and an eigendecomposition, and the fit 32 u^2 + 16 u k bytes; an error
    is raised beforehand if they do not fit. (The published program holds m matrices over all objects.) F
    pulls on both B and S, and the update of B ignores S, so that the objective need not fall, as published. A
    weight of 1 stands for one object. With missing labels, sums run over the clusterings that saw an object,
    scaled in proportion.

    Differences from the paper: the doubt about an object is summed over all clusterings; in the published
    program it comes from the last clustering alone.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> cs.consensus.TRCE(n_clusters=2).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    graph_weight: Annotated[float, Real(1e-9, 1e9)] = 1.0
    max_iter: MaxIter = 10
    min_cluster_size: MinClusterSize = None
    n_jobs: NJobs = -1

    clustering_weights_: ClassVar[np.ndarray]
    embedding_: ClassVar[np.ndarray]
    n_pieces_: ClassVar[int]

    _test_params = [{}]
    _any_unit = False
    _steps = "rounds"

    def _fit(self, ensemble, rng):
        u, k, c = ensemble.n_samples, ensemble.n_base_clusters, self.n_clusters
        ensure_fits(32.0 * u * u + 16.0 * u * k, what=f"TRCE on {u} distinct objects", remedy=WITHOUT_PAIRS)
        found = learn(ensemble, c, self.graph_weight, self.max_iter, n_jobs=self.n_jobs)
        pieces = found.history[-1]["pieces"]
        trust = 1.0 / found.alpha
        return Solution(
            exactly(found.pieces, c, similarity=found.S, embedding=found.F, weights=ensemble.sample_weight),
            history=found.history,
            converged=pieces == c,
            shortfall=f"its graph has {pieces} pieces instead of {c}; raise max_iter={self.max_iter} or "
            f"change graph_weight",
            per_sample={"embedding": found.F},
            per_clustering={"clustering_weights": trust / trust.sum()},
            extra={"n_pieces": pieces},
        )
