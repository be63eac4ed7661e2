"""Link-based cluster ensemble: two clusters of a clustering are similar if other clusters overlap both.

    An object also belongs, to a lesser degree, to clusters similar to its own.

    wct_ab = sum over base clusters c of min(J_ac, J_bc),   a, b of the same clustering                    (1)
    Z_ab = decay wct_ab / largest wct,   Z_aa = 1,   0 across clusterings                                  (2)
    RM = Y Z (u, k), of which the graph between objects and base clusters is cut                           (3)
    CTS: E_pq = mean over clusterings that saw both of Z[cluster of p, cluster of q]; average linkage (4)

J (k, k) Jaccard overlap of base clusters, Y (u, k) their indicator.

References
----------
N. Iam-On, T. Boongoen and S. Garrett, "LCE: a link-based cluster ensemble method for improved gene expression
data analysis", Bioinformatics 26(12), 2010.
N. Iam-On, T. Boongoen, S. Garrett and C. Price, "A link-based approach to the cluster ensemble problem", IEEE
TPAMI 33(12), 2011.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
import scipy.sparse as sp

from ..._base.estimator import declared
from ..._base.parameters import Choice, MinClusterSize, NInit, NJobs, Real, Seed
from ..._kernels.cut.embedding import cut_rows
from ..._kernels.cut.metaclusters import shared_neighbors
from ..._kernels.cut.transfer import transfer_cut_linked
from ..._kernels.pairs.association import refined_association
from ..._kernels.pairs.linkage import cut_tree, merge_tree_inplace
from ..._kernels.runtime.memory import ensure_fits
from .._base import BaseConsensus, Solution


def linked_clusters(
    labels: np.ndarray, offsets: np.ndarray, weights: np.ndarray, decay: float, *, n_jobs: int | None = -1
) -> sp.csr_array:
    """Z (k, k), Eqs. (1) and (2); the identity if no base cluster overlaps two clusters of one clustering."""
    blocks = shared_neighbors(labels, offsets, weights, n_jobs=n_jobs)
    largest = max(block.max() for block in blocks)
    for block in blocks:
        block *= decay / largest if largest > 0 else 0.0
        np.fill_diagonal(block, 1.0)
    return sp.csr_array(sp.block_diag(blocks))


@declared
class LCE(BaseConsensus):
    """Link-based cluster ensemble: cut of a graph that also links objects to clusters similar to their own.

    Parameters
    ----------
    variant : {"rm", "cts"}
        "rm" cuts the refined graph between objects and base clusters. "cts" applies average linkage to the
        refined co-association (deterministic).
    decay : float
        Similarity of the two most similar clusters of one clustering, in [0, 1] (the decay factor DC in the
        paper). 0 gives HBGF without refinement ("rm") or evidence accumulation ("cts").
    n_init : int
        Number of starts of the final k-means ("rm"); the best is kept.

    Attributes
    ----------
    embedding_ : array (n_samples, n_clusters)
        The vectors of the cut ("rm"). It has fewer columns if there are fewer base clusters.
    heights_ : array (u - 1,)
        Heights of the merges of distinct objects, in increasing order ("cts").

    Notes
    -----
    The links take O(u m^2 + k sum_i k_i^2 / 2) time, where clustering i has k_i clusters, and 8 k k_i bytes a
    thread. "rm" then applies the refined graph without forming it, O(u m) a step; up to 1,000 base clusters
    it is formed. "cts" takes O(u^2 m) time and 8 u^2 + 16 u k + 16 k^2 bytes (twice the u^2 with missing
    labels). An error is raised beforehand if the links, or the matrices of "cts", do not fit. With missing
    labels, overlaps are taken over the objects that both clusterings saw, and an object has no links to
    clusters of a clustering that did not see it.

    Differences from the paper: the default decay is 0.8, as in the R package diceR, and "cts" allows
    clusterings with different numbers of clusters.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> cs.consensus.LCE(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    variant: Annotated[str, Choice("rm", "cts")] = "rm"
    decay: Annotated[float, Real(0, 1)] = 0.8
    n_init: NInit = 10
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    embedding_: ClassVar[np.ndarray]
    heights_: ClassVar[np.ndarray]

    _test_params = [{"n_init": 3}, {"variant": "cts"}]

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
