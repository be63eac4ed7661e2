"""Methods that go through all distinct objects in blocks, where these are too many for one place.

They compute k x k sums first, and then place the rows one by one.
LWGP and CoassociationKMeans are k-means of points z_p = (Y_p M) / (Y_p e), and M and e come from sums over
all objects:

    K = Y' diag(w) Y                                                                                    (1)
    W = Y' diag(w / d) Y,   d = Y e                                                                     (2)
    LWGP                  e the reliabilities by K,  M = diag(e) V,  V the leading vectors by W         (3)
    CoassociationKMeans   e = 1,  M = R,  K = R R'                                                      (4)

Y (u, k) is the indicator of u distinct objects, w (u,) their weights. Every object goes to the nearest center
of a k-means of the heaviest distinct objects (:data:`SAMPLE` at most). Sums of whole weights are exact, and
those of (2) are rounded bucket by bucket. Answers are those of one machine, except for this rounding and for
k-means on the heaviest objects instead of all.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cholesky

from .._base.estimator import Solution
from .._base.rng import make_rng
from .._data.distinct import Compressed
from .._data.ensemble import from_codes
from .._evidence.prediction import Predictor, lift_inplace
from .._evidence.table import Evidence, share_out, whole
from .._kernels.cut.embedding import cut_rows, unit_rows
from .._kernels.cut.partition import falling
from .._kernels.eigen import leading_eigenvectors
from .._kernels.labels.incidence import Labels, entropies_of_tables
from .._kernels.labels.overlaps import reliability_of
from .._kernels.runtime.memory import ensure_fits
from .._kernels.runtime.threads import map_blocks, one_blas_thread, one_thread
from ..consensus import LWGP, CoassociationKMeans, accept
from ..errors import InputError
from . import tables
from .engine import collect
from .finding import MERGING, Found
from .graphs import call, in_tree, share
from .tables import Table

#: Distinct objects that k-means works on.
SAMPLE = 50_000
_BLOCK = 1 << 12  # number of rows whose points are computed at a time


@dataclass(frozen=True)
class Learned:
    """Results of the sums over all objects: the map to points, and what else the method keeps."""

    M: np.ndarray  # (k, q)
    e: np.ndarray  # (k,)
    unit: bool  # points scaled to length one
    max_iter: int
    kept: dict[str, Any]
    solution: Solution


def goes_in_blocks(model: Any) -> bool:
    """Whether this file has a version of the method."""
    return type(model) in _LEARN


def fit_in_blocks(model: Any, found: Found) -> tuple[Any, tuple[str, ...], float]:
    """(a model of the heaviest distinct objects that places all objects as the method does, no names, 1)."""
    if model.min_cluster_size is not None:
        raise InputError(
            f"min_cluster_size is given, but there are {found.size:,} distinct objects, more than the "
            f"{found.limit:,} that are brought to one place. Raise max_distinct, or merge small clusters of "
            "labels_ afterwards."
        )
    offsets = np.concatenate([[0], np.cumsum([len(own) for own in found.categories])])
    k = int(offsets[-1])
    ensure_fits(
        32.0 * k * k, what=f"The overlaps of {k} base clusters", remedy="use fewer or coarser clusterings"
    )
    sums = Sums(found, offsets)
    with one_blas_thread():
        learned = _LEARN[type(model)](model, sums)
        sample = heaviest_table(found, min(found.limit, SAMPLE))
        weights = sample.weights(found.exponent)
        points = Points(offsets, np.hstack([learned.M, learned.e[:, None]]), learned.unit)
        seeds = make_rng(getattr(model, "random_state", None)).integers(2**31, size=model.n_init).tolist()
        at = points.of(sample.labels)
        cut = cut_rows(
            at,
            model.n_clusters,
            weights=weights,
            seeds=seeds,
            max_iter=learned.max_iter,
            n_jobs=model.n_jobs,
        )
        centers = np.stack([np.average(at[own], axis=0, weights=weights[own]) for own in _groups(cut.labels)])
    placer = _numbered(Placer(_compressed(sample, weights, found), points, centers), sums)
    local = copy.copy(model)
    assert isinstance(placer.distinct, Compressed)
    accept(local, learned.solution, {**_about(placer), **learned.kept}, placer, placer.distinct)
    return local, (), 1.0


def _about(placer: Placer) -> dict[str, Any]:
    """What every model keeps about the sample."""
    own = placer.distinct
    assert isinstance(own, Compressed)
    confidence = placer.confidence(own.labels, placer.labels)
    return {
        "labels": placer.labels,
        "n_clusters": placer.n_clusters,
        "cluster_sizes": placer.sizes,
        "confidence": confidence,
        "consensus_nmi": placer.evidence.mean_agreement("nmi"),
        "n_samples": own.n_samples,
        "n_clusterings": own.n_clusterings,
        "distinct": own,
        "sample_names": None,
    }


def heaviest_table(found: Found, most: int) -> Table:
    """The heaviest distinct rows of all buckets, in the codes of all objects."""
    few = collect([call(tables.heaviest, bucket, most, found.exponent) for bucket in found.buckets], MERGING)
    return tables.heaviest(tables.gathered(few), most, found.exponent)


def _compressed(sample: Table, weights: np.ndarray, found: Found) -> Compressed:
    """The sample as distinct objects, with the base clusters of all."""
    own = from_codes(sample.labels, found.categories, found.names, None, weights, kind=Compressed)
    return own.standing_for(np.arange(sample.size), np.arange(sample.size))


def _groups(labels: np.ndarray) -> list[np.ndarray]:
    return [np.flatnonzero(labels == j) for j in range(int(labels.max()) + 1)]


# Sums over all objects
# -----------------------------------------------------------------------------------------


class Sums:
    """Sums over the rows of all buckets, each bucket a task, added in a fixed tree."""

    def __init__(self, found: Found, offsets: np.ndarray):
        self.found, self.offsets = found, offsets

    def add_up(self, function: Callable[..., Any], *more: Any) -> Any:
        """The sum of function(labels, weights, offsets, *more) over the buckets."""
        tasks = [
            call(_of_bucket, function, bucket, self.found.exponent, self.offsets, *more)
            for bucket in self.found.buckets
        ]
        return collect([in_tree(tasks, _added)], "adding up distinct rows")[0]


def _of_bucket(
    function: Callable, table: Table, exponent: int | None, offsets: np.ndarray, *more: Any
) -> Any:
    with one_thread(), one_blas_thread():
        return function(table, table.weights(exponent), offsets, *more)


def _added(parts: list[Any]) -> Any:
    """Arrays are added; each part of an account has its own rule: sum, sum, smallest."""
    if isinstance(parts[0], tuple):
        table, sizes, first = zip(*parts)
        return sum(table[1:], table[0]), sum(sizes[1:], sizes[0]), np.minimum.reduce(first)
    return sum(parts[1:], parts[0])


def _overlaps(table: Table, weights: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Eq. (1)."""
    return Labels(table.labels, offsets).overlaps(weights, n_jobs=1)


def _weighted_overlaps(table: Table, weights: np.ndarray, offsets: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Eq. (2)."""
    incidence = Labels(table.labels, offsets)
    return incidence.overlaps(weights / incidence.gather(e[:, None], n_jobs=1)[:, 0], n_jobs=1)


def _account(
    table: Table, weights: np.ndarray, offsets: np.ndarray, placer: Placer
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(base clusters by clusters, weight of each cluster, its first object)."""
    labels, c = placer.predict(table.labels, n_jobs=1), placer.n_clusters
    first = np.full(c, np.iinfo(np.int64).max)
    np.minimum.at(first, labels, table.first)
    T = Labels(table.labels, offsets).table(labels, c, weights, n_jobs=1)
    return T, np.bincount(labels, weights, minlength=c), first


def _most_company(table: Table, weights: np.ndarray, offsets: np.ndarray, placer: Placer) -> np.ndarray:
    """(1, c) the largest company of any object of each cluster."""
    labels = placer.predict(table.labels, n_jobs=1)
    most = np.zeros(placer.n_clusters)
    np.maximum.at(most, labels, placer.evidence.company_of(table.labels, labels, n_jobs=1))
    return most[None]


# The methods
# ---------------------------------------------------------------------------------------------------


def _learn_lwgp(model: LWGP, sums: Sums) -> Learned:
    """Eqs. (1) to (4) of :mod:`consilience.consensus._bipartite.lwgp`, W from sums."""
    K = sums.add_up(_overlaps)
    sizes = K.diagonal().copy()
    eci = reliability_of(entropies_of_tables(K, sums.offsets), model.instability_tolerance)
    W = sums.add_up(_weighted_overlaps, eci)
    root = 1.0 / np.sqrt(eci * sizes)[:, None]
    scaled = eci[:, None] * root
    W *= scaled
    W *= scaled.T
    count = min(model.n_clusters, len(W))
    ended = leading_eigenvectors(lambda X: W @ X, len(W), count, dense=lambda: W)
    starts = sums.offsets[:-1]
    trust = share_out(np.add.reduceat(sizes * eci, starts) / np.add.reduceat(sizes, starts))
    solution = Solution(
        n_iter=ended.products,
        converged=ended.converged,
        shortfall="its eigenvectors were not found to full accuracy",
    )
    kept = {"cluster_reliability": eci, "clustering_weights": trust}
    return Learned(eci[:, None] * root * ended.vectors, eci, True, 100, kept, solution)


def _learn_kmeans(model: CoassociationKMeans, sums: Sums) -> Learned:
    """Eq. (3) of :mod:`consilience.consensus._coassociation.kmeans`, K from sums."""
    K = sums.add_up(_overlaps)
    k = len(K)
    K[np.diag_indices(k)] += 1e-10 * K.diagonal().mean()  # singular: as there
    R = cholesky(K, lower=True, overwrite_a=True, check_finite=False)
    return Learned(R, np.ones(k), False, model.max_iter, {}, Solution(n_iter=0))


_LEARN: dict[type, Callable[[Any, Sums], Learned]] = {LWGP: _learn_lwgp, CoassociationKMeans: _learn_kmeans}


# Rows to points, and to clusters
# -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Points:
    """z_p = (Y_p M) / (Y_p e) of rows of codes; ``matrix`` (k, q + 1) is M with e behind it."""

    offsets: np.ndarray
    matrix: np.ndarray
    unit: bool

    def of(self, codes: np.ndarray) -> np.ndarray:
        """Points (b, q) of rows of codes; zeros where nothing is known."""
        sums = Labels(codes, self.offsets).gather(self.matrix, n_jobs=1)
        below = sums[:, -1:]
        points = sums[:, :-1] / np.where(below > 0, below, 1.0)
        return unit_rows(points) if self.unit else points


class Placer(Predictor):
    """Places every row, known or not, at the nearest center (c, q) of the points."""

    def __init__(self, distinct: Compressed, points: Points, centers: np.ndarray):
        self.points, self.centers = points, centers
        self.n_clusters = len(centers)
        self.table: np.ndarray | None = None  # base clusters by clusters, of all objects
        self.most: np.ndarray | None = None
        self.sizes: np.ndarray | None = None  # weights of the clusters, of all objects
        super().__init__(distinct, self._nearest(distinct.labels))
        self.n_clusters = len(centers)

    def __getstate__(self) -> dict:
        more = ("points", "centers", "table", "most", "sizes")
        return {**super().__getstate__(), **{name: getattr(self, name) for name in more}}

    @property
    def evidence(self) -> Evidence:
        """The base clusterings against the clusters of all objects."""
        assert isinstance(self.distinct, Compressed)
        found = Evidence(self.distinct, self.labels, self.n_clusters)
        if self.table is not None:
            found.table = self.table / found.unit
        if self.most is not None:
            found.most = self.most
        return found

    def _nearest(self, codes: np.ndarray) -> np.ndarray:
        out = np.empty(len(codes), np.int64)
        half = 0.5 * np.einsum("ij,ij->i", self.centers, self.centers)
        for a in range(0, len(codes), _BLOCK):
            part = codes[a : a + _BLOCK]
            out[a : a + _BLOCK] = (self.points.of(part) @ self.centers.T - half).argmax(axis=1)
        return out

    def predict(self, codes: Any, *, n_jobs: int | None = -1) -> np.ndarray:
        """Return the nearest center of each row (n,); -1 where all labels are missing."""
        parts = map_blocks(lambda a, b: self._nearest(codes[a:b]), len(codes), size=1 << 16, n_jobs=n_jobs)
        labels = np.concatenate(parts) if parts else np.empty(0, np.int64)
        return np.where((codes >= 0).any(axis=1), labels, -1)

    def shares(
        self, codes: Any, top: int | None = None, *, n_jobs: int | None = -1
    ) -> tuple[np.ndarray | None, np.ndarray]:
        """Return the shares as any model does; the largest is that of the cluster of :meth:`predict`."""
        own, labels = self.evidence.ties(codes), self.predict(codes, n_jobs=n_jobs)
        known = labels >= 0
        lifted = own[known]
        lift_inplace(lifted, labels[known])
        own[known] = lifted
        total = own.sum(axis=1, keepdims=True)
        own /= np.where(total > 0, total, 1.0)
        if top is None:
            return None, own
        order = np.argsort(-own, axis=1, kind="stable")[:, : min(top, self.n_clusters)]
        return np.where(total > 0, order, -1), np.take_along_axis(own, order, axis=1)


def _numbered(placer: Placer, sums: Sums) -> Placer:
    """Number clusters by weight, heaviest first, ties by the earliest object, with the evidence of all."""
    T, sizes, first = sums.add_up(_account, share(placer))
    filled = np.flatnonzero(sizes > 0)
    order = filled[falling(sizes[filled], first[filled])]
    assert isinstance(placer.distinct, Compressed)
    final = Placer(placer.distinct, placer.points, placer.centers[order])
    final.table, final.sizes = np.ascontiguousarray(T[:, order]), whole(sizes[order])
    parts = [
        call(_of_bucket, _most_company, bucket, sums.found.exponent, sums.offsets, held)
        for held in [share(final)]
        for bucket in sums.found.buckets
    ]
    most = np.concatenate(collect(parts, "adding up distinct rows")).max(axis=0)
    final.most = np.where(most > 0, most, 1.0)
    return final
