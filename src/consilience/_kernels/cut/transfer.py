"""The normalized cut of the graph between objects and base clusters, solved on the side of the clusters.

    W = B' diag(w / d) B,   d = B 1                                                                     (1)
    W v = gamma D v,   D = diag(W 1),   the ``count`` largest gamma                                     (2)
    U = diag(1 / d) B V                                                                                 (3)

B (u, k) weighs the edges between u objects and k clusters, w (u,) are the weights of the objects, W (k, k)
couples clusters that share objects, V (k, count), U (u, count). (2) is the transfer cut: gamma = (1 -
lambda)^2 for the eigenvalues lambda of the normalized Laplacian of the whole graph of u + k vertices, and
nothing pairwise between objects is ever formed.

References
----------
Z. Li, X.-M. Wu and S.-F. Chang, "Segmentation using superpixels: a bipartite graph partitioning approach",
CVPR 2012.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..eigen import leading_eigenvectors
from ..labels.incidence import Labels, Memberships
from ..labels.overlaps import gather, scatter
from ..runtime.threads import row_product

EXPLICIT_UP_TO = 5000  # clusters; beyond, W (200 MB there) is applied as a product instead of formed


class Transfer(NamedTuple):
    """Both sides of the cut, by falling gamma, and how the eigensolver ended."""

    objects: np.ndarray  # (u, count) U of Eq. (3)
    clusters: np.ndarray  # (k, count) V of Eq. (2)
    values: np.ndarray  # (count,) gamma
    products: int
    converged: bool


def transfer_cut(
    labels: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray,
    cluster_weights: np.ndarray,
    count: int,
    *,
    n_jobs: int | None = -1,
) -> Transfer:
    """The cut for B = Y diag(cluster_weights), Y the indicator of the labels, which is never formed.

    cluster_weights (k,) positive; count at most k. O(u m^2) time for W and O(k^2) a step, 8 k^2 bytes; from
    5,000 clusters on O(u m) a step and no matrix. A missing label is a missing edge.
    """
    return transfer_cut_of(Labels(labels, offsets), weights, cluster_weights, count, n_jobs=n_jobs)


def transfer_cut_of(
    incidence: Labels | Memberships,
    weights: np.ndarray,
    cluster_weights: np.ndarray,
    count: int,
    *,
    n_jobs: int | None = -1,
) -> Transfer:
    """:func:`transfer_cut` for B = Y diag(cluster_weights) with any Y, soft memberships included.

    The weight of an edge is the weight of what it holds.
    """
    k, e = int(incidence.offsets[-1]), cluster_weights[:, None]
    share = weights[:, None] / incidence.gather(e, n_jobs=n_jobs)  # w / d
    # W 1 = B' diag(w / d) B 1 = B' w: every cluster holds an object, so D has no zeros.
    root = 1.0 / np.sqrt(e * incidence.scatter(weights[:, None], n_jobs=n_jobs))
    scaled = e * root

    def product(X: np.ndarray) -> np.ndarray:
        lifted = incidence.gather(scaled * X, n_jobs=n_jobs)
        return scaled * incidence.scatter(share * lifted, n_jobs=n_jobs)

    def formed() -> np.ndarray:
        W = incidence.overlaps(share[:, 0], n_jobs=n_jobs)
        W *= scaled
        W *= scaled.T
        return W

    def lift(V: np.ndarray) -> np.ndarray:
        stacked = incidence.gather(e * np.hstack([V, np.ones((k, 1))]), n_jobs=n_jobs)
        return stacked[:, :-1] / stacked[:, -1:]

    return _solve(formed, product, lift, root, count)


def transfer_cut_dense(
    B: np.ndarray, weights: np.ndarray, count: int, *, n_jobs: int | None = -1
) -> Transfer:
    """The cut for any B (u, k), dense and not negative.

    O(u k^2) time, 16 u k + 8 k^2 bytes; from 5,000 clusters on O(u k) a step.

    Objects and clusters without any edge get rows of zeros.
    """
    d, column = B.sum(axis=1), B.T @ weights
    share = weights / np.where(d > 0, d, 1.0)
    root = np.where(column > 0, 1.0 / np.sqrt(np.where(column > 0, column, 1.0)), 0.0)[:, None]

    def product(X: np.ndarray) -> np.ndarray:
        return root * (B.T @ (share[:, None] * (B @ (root * X))))

    def formed() -> np.ndarray:
        return root * row_product(B.T, share[:, None] * B, n_jobs=n_jobs) * root.T

    def lift(V: np.ndarray) -> np.ndarray:
        return (B @ V) / np.where(d > 0, d, 1.0)[:, None]

    return _solve(formed, product, lift, root, count)


def transfer_cut_linked(
    labels: np.ndarray,
    offsets: np.ndarray,
    Z: sp.csr_array,
    weights: np.ndarray,
    count: int,
    *,
    n_jobs: int | None = -1,
) -> Transfer:
    """The cut for B = Y Z, Y (u, k) the indicator of the labels.

    Z (k, k) is sparse and not negative, and its diagonal entries are present.

    B is not formed, unless there are few clusters: O(u m + entries of Z) a step.
    """
    k = int(offsets[-1])

    def lifted(X: np.ndarray) -> np.ndarray:
        return gather(labels, offsets, Z @ X, n_jobs=n_jobs)

    def lowered(X: np.ndarray) -> np.ndarray:
        return Z.T @ scatter(labels, offsets, X, n_jobs=n_jobs)

    d = lifted(np.ones((k, 1)))
    d[d == 0] = 1.0
    share = weights[:, None] / d
    root = 1.0 / np.sqrt(lowered(weights[:, None]))  # every cluster holds an object

    def formed() -> np.ndarray:
        B = gather(labels, offsets, Z.toarray(), n_jobs=n_jobs)
        return root * row_product(B.T, share * B, n_jobs=n_jobs) * root.T

    found = leading_eigenvectors(
        lambda X: root * lowered(share * lifted(root * X)), k, count, dense=formed if k <= 1000 else None
    )
    V = root * found.vectors
    return Transfer(lifted(V) / d, V, found.values, found.products, found.converged)


def _solve(
    formed: Callable[[], np.ndarray],
    product: Callable[[np.ndarray], np.ndarray],
    lift: Callable[[np.ndarray], np.ndarray],
    root: np.ndarray,
    count: int,
) -> Transfer:
    """Eq. (2) for D^-1/2 W D^-1/2, ``formed`` where it is small enough and else applied; then (3)."""
    k = root.shape[0]
    if k <= EXPLICIT_UP_TO:
        W = formed()
        found = leading_eigenvectors(lambda X: W @ X, k, count, dense=lambda: W)
    else:
        found = leading_eigenvectors(product, k, count)
    V = root * found.vectors
    return Transfer(lift(V), V, found.values, found.products, found.converged)
