"""Cluster-based similarity partitioning: cut the graph of objects whose edges are their co-association.

    A_pq = share of the clusterings that put p and q together, among those that saw both   (1)
    leading eigenvectors of N^1/2 D^-1/2 A D^-1/2 N^1/2,   N = diag(w),   D = diag(A w)    (2)
    rows to unit length, k-means with weights w                                            (3)

w (u,) weights of the distinct objects. With nothing missing A = Y Y' / m is never formed.

References
----------
A. Strehl and J. Ghosh, "Cluster ensembles: a knowledge reuse framework for combining multiple partitions",
Journal of Machine Learning Research 3, 2002.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..._base.estimator import declared
from ..._base.parameters import Choice, Flag, MinClusterSize, NInit, NJobs, Seed
from ..._kernels.cut.embedding import cut_rows
from ..._kernels.cut.graph import PARTITIONERS, partition_graph
from ..._kernels.cut.normalized import cut_loop
from ..._kernels.eigen import Leading, leading_eigenvectors
from ..._kernels.labels.grouping import alternate
from ..._kernels.pairs.association import normalized_matrix_inplace, normalized_operator
from ..._kernels.runtime.memory import WITHOUT_PAIRS, ensure_fits
from .._base import BaseConsensus, Solution


def object_vectors(ensemble: Any, count: int, n_jobs: int | None) -> Leading:
    """Eq. (2): two passes over the labels per step; with missing labels the matrix itself (8 u^2 bytes)."""
    u, ones = ensemble.n_samples, np.ones(ensemble.n_base_clusters)

    def explicit() -> np.ndarray:
        return normalized_matrix_inplace(ensemble.coassociation(n_jobs=n_jobs), ensemble.sample_weight)

    if ensemble.has_missing:
        ensure_fits(
            8.0 * u * u, what=f"CSPA with missing labels on {u} distinct objects", remedy=WITHOUT_PAIRS
        )
        S = explicit()
        return leading_eigenvectors(lambda X: S @ X, u, count, dense=lambda: S)
    implicit = normalized_operator(
        ensemble.labels, ensemble.offsets, ensemble.sample_weight, ones, n_jobs=n_jobs
    )
    return leading_eigenvectors(implicit, u, count, dense=explicit)


def object_graph(ensemble: Any, n_jobs: int | None) -> sp.csr_array:
    """The graph that METIS cuts: w_p w_q times the number of clusterings with p and q together."""
    A = sp.coo_array(ensemble.coassociation_sparse(n_jobs=n_jobs))
    times = A.data * ensemble.n_clusterings
    if not ensemble.has_missing:
        times = np.rint(times)
    edges = times * ensemble.sample_weight[A.row] * ensemble.sample_weight[A.col]
    return sp.csr_array((edges, (A.row, A.col)), shape=A.shape)


@declared
class CSPA(BaseConsensus):
    """Cluster-based similarity partitioning: normalized cut of the graph of co-associations.

    Parameters
    ----------
    refine : bool
        Whether to move single objects between the clusters found by the eigenvectors as long as this lowers
        the normalized cut. Ignored with missing labels, because A is then not a product of indicators.
    partitioner : {"spectral", "metis"}
        "metis" cuts the graph with METIS (extra ``graph``), as published. METIS aims at clusters of equal
        weight and splits unequal ones: on the Lung data (139, 17, 21, 20 and 6 objects) accuracy is 0.44 with
        it and 0.71 without.
    n_init : int
        Number of starts of the final k-means, or of runs of METIS; the best is kept.

    Attributes
    ----------
    embedding_ : array (n_samples, n_clusters)
        The eigenvectors; not set with "metis".
    history_ : list of dict
        ``objective`` at each iteration of the refinement: the normalized cut up to a constant.

    Notes
    -----
    With partitioner="spectral", each step of the eigensolver takes O(u m) per vector, and no u x u matrix is
    formed; with missing labels it takes 8 u^2 bytes. With "metis", the graph has one edge for every pair of
    distinct objects that was ever together. An error is raised beforehand if this does not fit into memory.

    Differences from the paper: the default uses eigenvectors instead of METIS, and METIS gets exact counts
    instead of a rescaled matrix in which weak edges round to 0. The R package diceR uses the name CSPA for
    another method, hierarchical clustering of the rows of A.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> cs.consensus.CSPA(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [1, 1, 0, 0, 0]
    """

    refine: Annotated[bool, Flag()] = True
    partitioner: Annotated[str, Choice(*PARTITIONERS)] = "spectral"
    n_init: NInit = 10
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    embedding_: ClassVar[np.ndarray]

    _test_params = [{"n_init": 3}, {"n_init": 3, "refine": False}]

    def _fit(self, ensemble, rng):
        weights, c = ensemble.sample_weight, self.n_clusters
        seeds = rng.integers(2**31, size=self.n_init).tolist()
        if self.partitioner == "metis":
            graph = object_graph(ensemble, self.n_jobs)
            return Solution(
                partition_graph(graph, c, weights=weights, method="metis", seeds=seeds), n_iter=len(seeds)
            )
        found = object_vectors(ensemble, c, self.n_jobs)
        cut = cut_rows(
            found.vectors, c, unit=True, weights=weights, seeds=seeds, max_iter=100, n_jobs=self.n_jobs
        )
        groups, history = cut.labels, []
        if self.refine and not ensemble.has_missing:
            ones = np.ones(ensemble.n_base_clusters)
            rows, costs = cut_loop(ensemble.labels, ensemble.offsets, weights, ones, n_jobs=self.n_jobs)
            moved = alternate(rows, groups, c, costs, max_iter=100, tol=0.0, stay=True, n_jobs=self.n_jobs)
            groups, history = moved.groups, [{"objective": loss} for loss in moved.losses]
        return Solution(
            groups,
            history=history,
            n_iter=found.products,
            converged=found.converged,
            shortfall="its eigenvectors were not found to full accuracy",
            per_sample={"embedding": found.vectors},
        )
