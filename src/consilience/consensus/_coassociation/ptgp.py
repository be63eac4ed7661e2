"""Probability trajectory based graph partitioning: random walks link objects to base clusters.

    S_pq = A_pq if among the K largest of p or of q (ties kept), else 0                        (1)
    P = rows of S diag(w) scaled to add up to 1                                                (2)
    Z_pq = cosine of what walks of 1..T steps from p and q reach                               (3)
    B_pb = mean of Z_pq over the objects q of base cluster b; cut of the graph with edges B    (4)
    with a sample of objects: (1)-(4) within it; walks from the others enter it with their first step,
            to the K nearest, and get rows of B, and of the cut, by where they go from there   (4')

A (u, u) co-association of the distinct objects ("microclusters") without its diagonal, w (u,) their weights,
B (u, k).

References
----------
D. Huang, J.-H. Lai and C.-D. Wang, "Robust ensemble clustering using probability trajectories", IEEE
Transactions on Knowledge and Data Engineering 28(5), 2016.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._base.estimator import declared
from ..._base.parameters import Integer, MinClusterSize, NInit, NJobs, Nothing, Seed
from ..._kernels.cut.embedding import cut_rows
from ..._kernels.cut.transfer import transfer_cut_dense
from ..._kernels.pairs.company import strongest_company
from ..._kernels.pairs.trajectories import trajectory_product, trajectory_sums
from ..._kernels.pairs.walks import COLUMNS, walk_norms
from ..._kernels.runtime.memory import ensure_fits
from ..._kernels.runtime.threads import blocks, resolve_jobs
from .._base import Solution
from ._sample import linked_objects
from ._walks import BaseWalks, Walk, walk

_ENTERING = 1 << 15  # objects whose first steps are held at a time


class Edges(NamedTuple):
    """B (s, k) of Eq. (4), and G (s, k): rows of B are those of P G, scaled."""

    B: np.ndarray
    G: np.ndarray


def edges(found: Walk, ensemble: Any, weights: np.ndarray, n_jobs: int | None) -> Edges:
    """Eqs. (3) and (4) without a matrix of pairs."""
    means = (sp.diags_array(weights) @ ensemble.indicator()).toarray()
    means /= means.sum(axis=0)
    norms = walk_norms(found.P, found.steps, n_jobs=n_jobs)
    G = trajectory_sums(found.P, found.steps, norms, means, n_jobs=n_jobs)
    return Edges(trajectory_product(found.P, norms, G), G)


def enter(
    ensemble: Any, rows: np.ndarray, weights: np.ndarray, n_neighbors: int, M: np.ndarray, n_jobs: int | None
) -> np.ndarray:
    """(u, c) rows of the cut for objects outside ``rows``, Eq. (4'); 0 elsewhere.

    They come from M (s, c + 1) = G [V, 1]. The length of a walk scales its row of B, and so both sides of the
    mean that the cut takes; it is not needed.
    """
    out = np.zeros((ensemble.n_samples, M.shape[1] - 1))
    others = np.setdiff1d(np.arange(ensemble.n_samples), rows, assume_unique=True)
    inside, weighted = ensemble.labels[rows], weights[:, None] * M
    for a, b in blocks(others.size, _ENTERING):
        own = others[a:b]
        step = strongest_company(
            ensemble.labels[own], inside, n_neighbors, any_missing=ensemble.has_missing, n_jobs=n_jobs
        )
        reached = step @ weighted
        total = reached[:, -1:]
        out[own] = reached[:, :-1] / np.where(total > 0, total, 1.0)
    return out


@declared
class PTGP(BaseWalks):
    """Probability trajectory based graph partitioning: cut of an object-cluster graph built by random walks.

    No matrix of pairs is formed.

    Parameters
    ----------
    max_samples : int or None
        Maximum number of distinct objects that walks visit. If there are more, a sample of this size is drawn
        by weight, the same one every time, and walks from the other objects enter the sample, Eq. (4'). With
        None, walks visit all objects, as published.

    Attributes
    ----------
    embedding_ : array (n_samples, n_clusters)
        The vectors of the cut. It has fewer columns if there are fewer base clusters.

    Notes
    -----
    With s objects in the sample and e links between them (2 K s, and more with ties), the fit takes O(u s m +
    T e (k + s)) time, less if the links fall into components, and 40 s k + 512 T s + 12 e bytes besides the
    answer. It is linear in the number of distinct objects beyond the sample. With missing labels, A is taken
    over the clusterings that saw both objects.

    Differences from the paper: above 10,000 distinct objects, walks visit a sample of them, unless
    ``max_samples=None``. The page of the method lists the others.

    Examples
    --------
    >>> import numpy as np
    >>> import consilience as cs
    >>> rng, truth = np.random.default_rng(0), np.repeat([0, 1], [30, 20])
    >>> runs = [np.where(rng.random(50) < 0.2, rng.integers(0, 4, 50), truth) for _ in range(8)]
    >>> model = cs.consensus.PTGP(n_clusters=2, random_state=0).fit(np.column_stack(runs))
    >>> np.bincount(model.labels_).tolist()
    [30, 20]
    """

    max_samples: Annotated[int | None, Nothing() | Integer(2)] = 10_000
    n_init: NInit = 10
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1

    embedding_: ClassVar[np.ndarray]

    _test_params = [{"n_init": 3}, {"n_init": 3, "count_duplicates": False}, {"n_init": 3, "max_samples": 20}]

    def _fit(self, ensemble, rng):
        c = self.n_clusters
        rows, drawn = linked_objects(ensemble.sample_weight, self.max_samples, c)
        part = ensemble if rows is None else ensemble.take(rows)
        u, k = part.n_samples, part.n_base_clusters
        found = walk(self, part, drawn)
        counted = drawn if self.count_duplicates else np.ones(u)
        ensure_fits(
            8.0 * u * (5 * k + resolve_jobs(self.n_jobs) * (found.steps + 2) * COLUMNS),
            what=f"PTGP on {u} distinct objects and {k} base clusters, with {found.steps} steps,",
            remedy="use LWGP or HBGF, a smaller max_samples or walk_length, or fewer or coarser clusterings",
        )
        B, G = edges(found, part, counted, self.n_jobs)
        cut = transfer_cut_dense(B, counted, min(c, k), n_jobs=self.n_jobs)
        objects = cut.objects
        if rows is not None:
            M = G @ np.hstack([cut.clusters, np.ones((k, 1))])
            objects = enter(ensemble, rows, drawn, found.neighbors, M, self.n_jobs)
            objects[rows] = cut.objects
        parts = cut_rows(
            objects,
            c,
            unit=True,
            weights=ensemble.sample_weight if self.count_duplicates else np.ones(ensemble.n_samples),
            seeds=rng.integers(2**31, size=self.n_init).tolist(),
            max_iter=100,
            n_jobs=self.n_jobs,
        )
        return Solution(
            parts.labels,
            n_iter=cut.products,
            converged=cut.converged,
            shortfall="its eigenvectors were not found to full accuracy",
            per_sample={"embedding": objects},
        )
