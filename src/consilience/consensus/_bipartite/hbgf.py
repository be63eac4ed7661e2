"""Hybrid bipartite graph formulation: cut the graph between objects and base clusters.

    B = Y,   W = B' diag(w / d) B,   d = B 1                             (1)
    W v = gamma D v,   D = diag(W 1),   the n_clusters largest gamma     (2)
    U = diag(1 / d) B V,   rows to unit length, k-means with weights w   (3)
    include_base_clusters:   rows of U gamma^-1/2 and of V together      (4)

Y (u, k) indicator of k base clusters, w (u,) weights of the distinct objects, V (k, n_clusters).

References
----------
X. Z. Fern and C. E. Brodley, "Solving cluster ensemble problems by bipartite graph partitioning", ICML 2004.
D. Huang, C.-D. Wang, J.-S. Wu, J.-H. Lai and C.-K. Kwoh, "Ultra-scalable spectral clustering and ensemble
clustering", IEEE Transactions on Knowledge and Data Engineering 32(6), 2020.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..._base.estimator import declared
from ..._base.parameters import Choice, Flag, MinClusterSize, NInit, NJobs, Seed
from ..._kernels.cut.embedding import cut_rows, unit_rows
from ..._kernels.cut.graph import PARTITIONERS, partition_graph
from ..._kernels.cut.normalized import cut_loop
from ..._kernels.cut.partition import split_clusters
from ..._kernels.cut.transfer import Transfer, transfer_cut
from ..._kernels.labels.grouping import alternate
from .._base import BaseConsensus, Solution


def joint_rows(found: Transfer, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(rows, weights) of the objects and then the base clusters, Eq. (4).

    A base cluster has the weight of the lightest object.
    """
    scale = 1.0 / np.sqrt(np.where(found.values > 1e-12, found.values, 1.0))
    rows = np.vstack([unit_rows(found.objects * scale), unit_rows(found.clusters)])
    return rows, np.concatenate([weights, np.full(len(found.clusters), weights.min())])


def object_cluster_graph(ensemble: Any) -> tuple[sp.csr_array, np.ndarray]:
    """(graph, weights of its vertices) for METIS: an edge weighs as much as its object, a cluster 0."""
    graph = sp.coo_array(ensemble.bipartite())
    weights = np.concatenate([ensemble.sample_weight, np.zeros(ensemble.n_base_clusters)])
    edges = np.maximum(weights[graph.row], weights[graph.col])
    return sp.csr_array((edges, (graph.row, graph.col)), shape=graph.shape), weights


@declared
class HBGF(BaseConsensus):
    """Hybrid bipartite graph formulation: normalized cut of the graph between objects and base clusters.

    The method is linear in the number of objects. It is also the consensus step of U-SENC.

    Parameters
    ----------
    include_base_clusters : bool
        Whether to cluster objects and base clusters together, as published. By default, only objects are
        clustered.
    refine : bool
        Whether to move single objects between the clusters found by the eigenvectors as long as this lowers
        the normalized cut. Only for partitioner="spectral".
    partitioner : {"spectral", "metis"}
        "metis" cuts the graph with METIS (extra ``graph``), which aims at clusters of equal weight and splits
        unequal ones.
    n_init : int
        Number of starts of the final k-means, or of runs of METIS; the best is kept.

    Attributes
    ----------
    embedding_ : array (n_samples, n_clusters)
        The vectors of Eq. (3).
    history_ : list of dict
        ``objective`` at each iteration of the refinement: the normalized cut up to a constant.

    Notes
    -----
    The fit takes O(u m^2) time and O(u m + k^2) memory, or O(u m + k) from 5,000 base clusters on. An object
    that a clustering did not see has no edge to its clusters.

    Differences from the paper: only objects are clustered unless ``include_base_clusters=True``, where a base
    cluster has the weight of the lightest distinct object. The vectors of the transfer cut are scaled by
    gamma^-1/2 only with ``include_base_clusters=True``. With ``refine=False`` this is LWGP with all base
    clusters trusted alike.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> cs.consensus.HBGF(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    include_base_clusters: Annotated[bool, Flag()] = False
    refine: Annotated[bool, Flag()] = True
    partitioner: Annotated[str, Choice(*PARTITIONERS)] = "spectral"
    n_init: NInit = 10
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    embedding_: ClassVar[np.ndarray]

    _test_params = [
        {"n_init": 3},
        {"n_init": 3, "include_base_clusters": True},
        {"n_init": 3, "refine": False},
    ]
    _remedy = "use fewer or coarser clusterings"

    def _fit(self, ensemble, rng):
        labels, offsets, weights = ensemble.labels, ensemble.offsets, ensemble.sample_weight
        u, k, c = ensemble.n_samples, ensemble.n_base_clusters, self.n_clusters
        seeds = rng.integers(2**31, size=self.n_init).tolist()
        found = transfer_cut(labels, offsets, weights, np.ones(k), min(c, k), n_jobs=self.n_jobs)
        if self.partitioner == "metis":
            graph, loads = object_cluster_graph(ensemble)
            groups = partition_graph(graph, c, weights=loads, method="metis", seeds=seeds)[:u]
        else:
            points, loads = (
                joint_rows(found, weights) if self.include_base_clusters else (found.objects, weights)
            )
            cut = cut_rows(points, c, unit=True, weights=loads, seeds=seeds, max_iter=100, n_jobs=self.n_jobs)
            groups = cut.labels[:u]
        # A part may hold base clusters only; it is then no cluster of objects.
        groups = split_clusters(groups, c, embedding=found.objects, weights=weights)
        history = []
        if self.refine and self.partitioner == "spectral":
            rows, costs = cut_loop(
                labels, offsets, weights, 1.0 / ensemble.cluster_sizes(), n_jobs=self.n_jobs
            )
            moved = alternate(rows, groups, c, costs, max_iter=100, tol=0.0, stay=True, n_jobs=self.n_jobs)
            groups, history = moved.groups, [{"objective": loss} for loss in moved.losses]
        return Solution(
            groups,
            history=history,
            n_iter=found.products,
            converged=found.converged,
            shortfall="its eigenvectors were not found to full accuracy",
            per_sample={"embedding": found.objects},
        )
