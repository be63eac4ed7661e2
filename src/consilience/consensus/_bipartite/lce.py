"""Link-based cluster ensemble: clusters of one clustering are alike if the others meet both, and objects
    belong a little to each.

    wct_ab = sum over base clusters c of min(J_ac, J_bc),   a, b of the same clustering                 (1)
    Z_ab = decay wct_ab / largest wct,   Z_aa = 1,   0 across clusterings                               (2)
    RM = Y Z (u, k), of which the graph between objects and base clusters is cut                        (3)
    CTS: E_pq = mean over clusterings that saw both of Z[cluster of p, cluster of q],  average linkage of 1 - E   (4)

J (k, k) Jaccard overlap of base clusters, Y (u, k) their indicator.

References
----------
N. Iam-On, T. Boongoen and S. Garrett, "LCE: a link-based cluster ensemble method for improved gene expression
data analysis", Bioinformatics 26(12), 2010. N. Iam-On, T. Boongoen, S. Garrett and C. Price, "A link-based
approach to the cluster ensemble problem", IEEE TPAMI 33(12), 2011.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._base.parameters import Choice, Integer, Real
from ..._kernels.cut.embedding import cut_rows
from ..._kernels.cut.metaclusters import shared_neighbors
from ..._kernels.cut.transfer import transfer_cut_linked
from ..._kernels.pairs.association import refined_association
from ..._kernels.pairs.linkage import cut_tree, merge_tree_inplace
from ..._kernels.runtime.memory import ensure_fits
from .._base import BaseConsensus, Solution


def linked_clusters(
    labels: np.ndarray, offsets: np.ndarray, weights: np.ndarray, decay: float, *, n_jobs: int | None = None
) -> sp.csr_array:
    """Z (k, k), Eqs. (1) and (2); the unit matrix if no base cluster meets two of one clustering."""
    blocks = shared_neighbors(labels, offsets, weights, n_jobs=n_jobs)
    largest = max(block.max() for block in blocks)
    for block in blocks:
        block *= decay / largest if largest > 0 else 0.0
        np.fill_diagonal(block, 1.0)
    return sp.csr_array(sp.block_diag(blocks))


class LCE(BaseConsensus):
    """Link-based cluster ensemble: objects are linked to clusters like their own too, and the graph is cut.

    Parameters
    ----------
    n_clusters : int
        Number of clusters returned.
    variant : {"rm", "cts"}, default "rm"
        "rm": cut of the refined graph between objects and base clusters. "cts": average linkage of the
        refined co-association (deterministic).
    decay : float, default 0.8
        Similarity of the two most similar clusters of one clustering, in [0, 1]. 0 is HBGF without refinement
        ("rm") or evidence accumulation ("cts").
    n_init : int, default 10
        Starts of the final k-means ("rm"); the best is kept.
    min_cluster_size : float or None, default None
        Smaller clusters are merged; see :meth:`fit`.
    random_state : int, Generator or None
        Seed of these starts.
    n_jobs : int or None, default -1
        Threads; -1 is all cores, None as in joblib.

    Attributes
    ----------
    labels_, confidence_ : arrays (n_samples,)
        Cluster of each object, 0 the largest, and how sure the base clusterings are of it, in [0, 1].
    embedding_ : array (n_samples, n_clusters)
        The vectors of the cut ("rm"); fewer columns where there are fewer base clusters.
    heights_ : array (u - 1,)
        Heights of the merges of distinct objects, rising ("cts").

    Notes
    -----
    O(u m^2 + u k^2) time, 24 u k + 32 k^2 bytes; "cts" O(u^2 m) time and 8 u^2 + 16 u k bytes (twice u^2 with
    missing labels). Refused beforehand if they will not fit. Missing labels: overlaps among the objects that
    both clusterings saw; an object has no links into a clustering that did not see it.

    Differences from the paper: the decay is 0.8, that of the R package diceR; "cts" allows for clusterings of
    different numbers of clusters.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> cs.consensus.LCE(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    _constraints = {"variant": Choice("rm", "cts"), "decay": Real(0, 1), "n_init": Integer(1)}
    _test_params = [{"n_init": 3}, {"variant": "cts"}]

    embedding_: np.ndarray
    heights_: np.ndarray

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        variant: str = "rm",
        decay: float = 0.8,
        n_init: int = 10,
        min_cluster_size: float | None = None,
        random_state: Any = None,
        n_jobs: int | None = -1,
    ):
        self.n_clusters = n_clusters
        self.variant = variant
        self.decay = decay
        self.n_init = n_init
        self.min_cluster_size = min_cluster_size
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fit(self, ensemble, rng):
        labels, offsets, weights = ensemble.labels, ensemble.offsets, ensemble.sample_weight
        u, k, c = ensemble.n_samples, ensemble.n_base_clusters, self.n_clusters
        if self.variant == "cts":
            ensure_fits(
                16.0 * k * k + 16.0 * u * k + (16.0 if ensemble.has_missing else 8.0) * u * u,
                what=f"LCE on {u} distinct objects and {k} base clusters",
                remedy="use HBGF, which holds no such matrix, or fewer or coarser clusterings",
            )
        Z = linked_clusters(labels, offsets, weights, self.decay, n_jobs=self.n_jobs)
        if self.variant == "cts":
            E = refined_association(labels, offsets, Z.toarray(), n_jobs=self.n_jobs)
            left, right, heights = merge_tree_inplace(np.subtract(1.0, E, out=E), weights, "average")
            return Solution(
                cut_tree(left, right, c),
                n_iter=1,
                merges=np.stack([left, right], axis=1),
                extra={"heights": heights},
            )
        found = transfer_cut_linked(labels, offsets, Z, weights, min(c, k), n_jobs=self.n_jobs)
        seeds = rng.integers(2**31, size=self.n_init).tolist()
        cut = cut_rows(
            found.objects, c, unit=True, weights=weights, seeds=seeds, max_iter=100, n_jobs=self.n_jobs
        )
        return Solution(
            cut.labels,
            n_iter=found.products,
            converged=found.converged,
            shortfall="its eigenvectors were not found to full accuracy",
            per_sample={"embedding": found.objects},
        )
