"""Diversified metrics on random subspaces.

Every member has its own kernel, features and number of clusters.

A member draws a share of the features, a number of neighbors k in [5, 20], a scale mu in [0.2, 0.8] and a
number of clusters K in [2, sqrt(n)]. Its similarity is a kernel scaled by how crowded the two ends are, kept
only between neighbors:

    rho(i)    = mean distance of i to its k nearest neighbors
    eps(i, l) = (rho(i) + rho(l) + d(i, l)) / 3
    W(i, l)   = exp( -d(i, l) / (mu eps(i, l)) )                                    "exponential"   (1)
    W(i, l)   = exp( -D^2 / (2 s^2) ) / (s sqrt(2 pi)),  s = mu eps,  D = d^2       "normal"        (2)

(1) is the published kernel, between k nearest neighbors either way. (2) is the one of the authors' program,
where every distance is squared, also in rho and eps, and each object keeps its k most similar ones. The
member is the spectral clustering of W: the K leading eigenvectors of D^-1/2 W D^-1/2 with rows scaled to
length one (Ng, Jordan and Weiss), then k-means.

References
----------
D. Huang, C.-D. Wang, J.-H. Lai and C.-K. Kwoh, "Toward multidiversified ensemble clustering of
high-dimensional data: from subspaces to metrics and beyond", IEEE Transactions on Cybernetics 52(11), 2022.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import sqrt
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._base.numbers import numbers
from .._base.parameters import FRACTION, N_JOBS, Choice, Flag, Integer, Real, check, check_all, listed
from .._data.ensemble import Ensemble
from .._data.features import Features, as_features
from .._kernels.cut.embedding import cut_rows
from .._kernels.cut.partition import compact
from .._kernels.eigen import component_vectors, graph_eigenvectors
from .._kernels.labels.distinct import row_hashes
from .._kernels.neighbors.search import (
    Pairs,
    minus_log_density,
    most_similar,
    nearby_cells,
    nearest,
    symmetric_graph,
)
from .._kernels.pairs.components import components
from .._kernels.pairs.linkage import cut_tree, merge_tree_inplace
from .._kernels.runtime.floats import unit_of_largest
from .._kernels.runtime.memory import ensure_fits
from .._members.assembly import (
    NClusters,
    assemble,
    check_n_clusterings,
    choose_ks,
    dealt,
    draw_columns,
    even_places,
    member_seeds,
    root_upwards,
    stream,
)
from .._members.labeling import (
    KEEP,
    Neighbors,
    codes_of_labels,
    neighbor_bytes,
    seen_by,
    to_keep,
)
from .._members.preparation import PREPARE, View, Views
from .._members.runner import each_member
from ..errors import InputError, warn

CHOOSE_KERNEL = 4
CHOOSE_CELLS = 5
NEIGHBORS = (5, 20)
SCALES = (0.2, 0.8)
RULES = {
    "feature_fraction": FRACTION,
    "kernel": Choice("normal", "exponential"),
    "metric": Choice("diversified", "cosine", "correlation", "spearman"),
    "search": Choice("exact", "approximate"),
    "n_init": Integer(1),
    "cuts_per_metric": Integer(1),
    "balanced": Flag(),
    "distinct": Flag(),
    "preprocess": PREPARE,
    "keep_base_models": KEEP,
    "n_jobs": N_JOBS,
}


@dataclass(frozen=True, eq=False)
class _Runs:
    """How members of :func:`metric_subspace` are made, ``cuts`` of each metric.

    ``given`` are feature_fraction, kernel, metric, search and distinct, for the recipes too.
    """

    features: Features
    ks: list[int]
    seeds: list[int]
    cuts: int
    balanced: bool
    n_neighbors: Sequence[int]  # to draw from
    scales: tuple[float, float]
    n_init: int
    keep: bool
    given: dict[str, Any]

    def begin(self, view: View) -> Callable[[int], tuple[list, list, list]]:
        kept = max(1, round(self.given["feature_fraction"] * view.features.n_features))
        return partial(self.run, view, _Source(view.features, kept, self.given["metric"]), kept)

    def run(self, view: View, source: _Source, kept: int, g: int) -> tuple[list, list, list]:
        """(labels (n,), recipes, what labels further objects) of the members of metric ``g``.

        It sees ``kept`` features.
        """
        own = range(g * self.cuts, min((g + 1) * self.cuts, len(self.seeds)))
        seed = self.seeds[own[0]]
        columns, mu, k = self._drawn(view, kept, g)
        Z, weight, place = source.rows(columns), self.features.sample_weight, None
        if self.given["distinct"]:
            merged = merge_equal(Z, weight)
            if merged[0].shape[0] > 1:  # one alone has no neighbors
                Z, weight, place = merged
                k = min(k, len(merged[1]) - 1)
        W, rho = self._graph(Z, k, mu, seed)
        embedding = spectral_embedding(W, min(max(self.ks[i] for i in own), Z.shape[0]), Z)
        if place is not None:
            rho = None if rho is None else rho[place]
        shared = {
            **self.given,
            "n_neighbors": k,
            "scale": mu,
            "features": view.original(columns),
        }
        columns_of, recipes, members = [], [], []
        for i in own:
            few = min(self.ks[i], Z.shape[0])
            labels, facts = embedding.cut(few, seed=self.seeds[i], n_init=self.n_init, weight=weight)
            labels = labels if place is None else labels[place]
            recipe = {
                "algorithm": "metric_subspace",
                "n_clusters": self.ks[i],
                "seed": self.seeds[i],
                **shared,
                **facts,
            }
            columns_of.append(labels)
            recipes.append(recipe if self.cuts == 1 else {**recipe, "metric_seed": seed})
            members.append(self._member(view, labels, columns, source.scale, rho) if self.keep else None)
        return columns_of, recipes, members

    def _member(
        self, view: View, labels: np.ndarray, columns: np.ndarray, scale: float, rho: Any
    ) -> Neighbors:
        """What labels further objects."""
        codes, X = codes_of_labels(labels), self.features.X
        return Neighbors(view.preparation, X, codes, None, columns, scale, self.given["metric"], rho)

    def _drawn(self, view: View, kept: int, g: int) -> tuple[np.ndarray, float, int]:
        """(features, scale mu, number of neighbors k) of metric g."""
        seed, d, n = self.seeds[g * self.cuts], view.features.n_features, self.features.n_samples
        if self.balanced:
            columns = dealt(d, kept, view.members.index(g), self.seeds[0])
            _, first, second = even_places(self.seeds[0], g + 1, 3)[g]
            mu = self.scales[0] + first * (self.scales[1] - self.scales[0])
            k = self.n_neighbors[int(second * len(self.n_neighbors))]
        else:
            columns = draw_columns(d, kept, seed)
            rng = stream(seed, CHOOSE_KERNEL)
            mu = float(rng.uniform(*self.scales))
            k = self.n_neighbors[int(rng.integers(len(self.n_neighbors)))]
        return columns, float(mu), min(k, n - 1)

    def _graph(self, Z: Any, k: int, mu: float, seed: int) -> tuple[sp.csr_array, np.ndarray | None]:
        """(W, and for random kernels rho) of the rows Z."""
        cells_seed = [seed, CHOOSE_CELLS] if self.given["search"] == "approximate" else None
        if self.given["metric"] == "diversified":
            return affinity_and_widths(Z, k, mu, self.given["kernel"], cells_seed)
        return similarity(Z, k, cells_seed), None


def metric_subspace(
    X: Any,
    *,
    n_clusterings: int = 100,
    n_clusters: NClusters = None,
    feature_fraction: float = 0.5,
    kernel: str = "normal",
    metric: str = "diversified",
    n_neighbors: int | Sequence[int] = NEIGHBORS,
    scales: tuple[float, float] = SCALES,
    search: str = "exact",
    n_init: int = 1,
    cuts_per_metric: int = 1,
    balanced: bool = False,
    distinct: bool = False,
    preprocess: str = "none",
    keep_base_models: bool | None = False,
    sample_weight: Any = None,
    random_state: Any = None,
    n_jobs: int | None = -1,
) -> Ensemble:
    """Spectral clusterings, each with a random kernel on a random subset of the features.

    They are made for data with many features and few objects, where a single metric or the full space
    misleads.

    Parameters
    ----------
    X : array, data frame or sparse matrix (n_samples, n_features)
    n_clusterings : int, default 100
        Number of base clusterings, M.
    n_clusters : int, pair, list or range, or None
        Clusters of each base clustering, or what to draw them from, see :mod:`consilience.generate`; None is
        the interval from 2 to the square root of n_samples, rounded up (at most the number of distinct rows).
    feature_fraction : float in (0, 1], default 0.5
        Share of the features that each base clustering sees (tau); at least one feature.
    kernel : "normal" or "exponential"
        Eq. (2), which the authors' program uses, or Eq. (1), which their paper prints. See Notes.
    metric : "diversified", "cosine", "correlation" or "spearman"
        Random kernels, or one fixed similarity between neighbors (negative values count as 0).
    n_neighbors : int, pair, list or range, default (5, 20)
        Neighbors of each object, k: a number, an interval or a set to draw from, as for ``n_clusters``.
    scales : pair of float, default (0.2, 0.8)
        Range of the scale mu.
    search : "exact" or "approximate"
        Compare every pair of objects, or only those in nearby groups of about sqrt(n) objects each. The
        latter is for ten thousand objects and more, where comparing pairs takes longer than everything else.
        See Notes.
    n_init : int, default 1
        Starts of the final k-means; the best is kept.
    cuts_per_metric : int, default 1
        Base clusterings that share features, kernel and eigenvectors, and differ in their number of clusters.
        These numbers are then spread evenly over their range instead of drawn. Most of the time goes into the
        eigenvectors.
    balanced : bool, default False
        Deal out features, preparations, numbers of neighbors and scales evenly from a random start instead of
        drawing them independently for each base clustering. Ensembles of different seeds are then more alike.
    distinct : bool, default False
        Treat objects that are equal in the features of a base clustering as one object with their summed
        weight. Otherwise, as in the authors' program, equal objects are each other's neighbors, and the graph
        of a table with many of them falls apart.
    preprocess : str, default "none"
        How the features are prepared, see :mod:`consilience.generate`: as given, in one of several
        preparations, or "diverse", where a preparation is drawn for each base clustering.
    keep_base_models : bool or None, default False
        Keep in ``ensemble.base_models`` what labels further objects: X itself, once for all base clusterings,
        because a new row gets the label of the row nearest to it. None keeps it if it takes at most 128 MB.
    sample_weight : array (n_samples,), optional
        Positive weights, used in the final k-means and kept in the ensemble; neighborhoods do not see them.
    random_state : int, numpy generator or None
    n_jobs : int or None, default -1
        Threads over base clusterings; -1 is all cores, None as in joblib. The answer does not depend on it.

    Returns
    -------
    Ensemble
        Each recipe holds ``algorithm, n_clusters, seed, kernel, metric, search, distinct, n_neighbors, scale,
        feature_fraction, features, pieces, missing, preprocess, n_vectors``, and with ``cuts_per_metric``
        also ``metric_seed``, which is equal for base clusterings of the same embedding. pieces is the number
        of connected components of the graph, missing is the number of objects that have no similar object
        under a fixed similarity and get no label, and n_vectors is the number of eigenvectors computed, of
        which the first k are used.

    Warns
    -----
    ConsilienceWarning
        If the eigenvectors of a base clustering were not found to full accuracy (its recipe says
        ``converged=False``).

    Notes
    -----
    If the graph falls into exactly K pieces, they are the clusters. If it falls into more, those with the
    nearest means are merged first (their eigenvectors are undetermined). A base clustering never fails
    silently.

    Each base clustering takes n^2 d / 2 multiplications for (1), twice that for (2) beyond about 4,000
    objects, and O(n K^2) for eigenvectors and k-means. Memory is O(n (d + K)) and at most 64 MB of inner
    products for each thread, never n by n. With ``search="approximate"`` each group of objects is compared
    with the 24 nearest groups of about sqrt(n), which found 97 to 99.8% of the neighbors on digits and spoken
    letters.

    The kernel is chosen by measurement: see the page on MDEC in the documentation.

    Examples
    --------
    >>> import consilience as cs
    >>> from sklearn.datasets import load_wine
    >>> ens = cs.generate.metric_subspace(load_wine().data, n_clusterings=5, random_state=0)
    >>> len(ens.recipes[0]["features"]), 0.2 <= ens.recipes[0]["scale"] <= 0.8
    (6, True)
    """
    given = {
        "feature_fraction": feature_fraction,
        "kernel": kernel,
        "metric": metric,
        "search": search,
        "distinct": distinct,
    }
    check_all(
        {
            **given,
            "n_init": n_init,
            "cuts_per_metric": cuts_per_metric,
            "balanced": balanced,
            "preprocess": preprocess,
            "keep_base_models": keep_base_models,
            "n_jobs": n_jobs,
        },
        RULES,
    )
    among = numbers("n_neighbors", n_neighbors)
    low_mu, high_mu = check_pair("scales", scales, Real(0, open_low=True))
    features = as_features(X, sample_weight)
    seeds = member_seeds(random_state, check_n_clusterings(n_clusterings))
    n = features.n_samples
    each = cuts_per_metric if balanced or cuts_per_metric > 1 else None
    ks = choose_ks(n_clusters, features, seeds, widest=root_upwards(n), each=each)
    ensure_fits(
        16.0 * n * max(ks),  # eigenvectors, and their directions
        what=f"A base clustering of {max(ks)} clusters (dense {n} x {max(ks)} arrays of eigenvectors)",
        remedy="lower n_clusters",
    )

    n_bytes = neighbor_bytes(features.X, len(seeds))
    keep = to_keep(keep_base_models, n_bytes)

    runs = _Runs(
        features, ks, seeds, cuts_per_metric, balanced, among, (low_mu, high_mu), n_init, keep, given
    )
    own = seeds[::cuts_per_metric]
    places = even_places(seeds[0], len(own), 3)[:, 0] if balanced else None
    views = Views(preprocess, features, own, n_jobs=n_jobs, places=places)
    made = each_member(runs.begin, views, "metric subspace", n_jobs)
    labels, recipes, members = ([one for part in parts for one in part] for parts in made)
    _warn_of_rough(recipes)
    return assemble(features, labels, recipes, members=members if keep else None, members_bytes=n_bytes)


def merge_equal(Z: Any, weight: np.ndarray | None) -> tuple[Any, np.ndarray, np.ndarray]:
    """(the different rows of Z, their weights, the position among them of each row of Z)."""
    _, first, place = np.unique(row_hashes(Z), return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")  # by their first appearance, not by their hashes
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    place = rank[place.reshape(-1)]
    return Z[first[order]], np.bincount(place, weights=weight).astype(np.float64), place


def _warn_of_rough(recipes: list[dict]) -> None:
    rough = [i for i, recipe in enumerate(recipes) if not recipe["converged"]]
    if rough:
        warn(
            f"The eigenvectors of {len(rough)} of {len(recipes)} base clusterings ({listed(rough)}) were not "
            "found to full accuracy; these clusterings are rougher than the others.",
        )


# One member ------------------------------------------------------------------------------------------------


def affinity(
    Z: Any, k: int, mu: float, kernel: str = "normal", cells_seed: list[int] | None = None
) -> sp.csr_array:
    """W (n, n), symmetric, of Eq. (1) or (2) on the rows of Z (float64, dense or CSR).

    Equal objects get the largest value, also where all their neighbors are equal too (0/0 in the formulas).

    With ``cells_seed``, neighbors are sought in nearby groups of rows only.
    """
    return affinity_and_widths(Z, k, mu, kernel, cells_seed)[0]


def affinity_and_widths(
    Z: Any, k: int, mu: float, kernel: str = "normal", cells_seed: list[int] | None = None
) -> tuple[sp.csr_array, np.ndarray]:
    """(W of :func:`affinity`, mean square distance (n,) of each row to its k nearest; never 0)."""
    pairs = Pairs(Z, None if cells_seed is None else nearby_cells(Z, k, cells_seed))
    index, squares = nearest(pairs, k)
    widths = squares.mean(axis=1)
    widths = np.where(widths > 0, widths, widths[widths > 0].min(initial=1.0))
    if kernel == "exponential":
        distance = np.sqrt(squares)
        rho = distance.mean(axis=1)
        eps = (rho[:, None] + rho[index] + distance) / 3
        return symmetric_graph(index, np.exp(-distance / (mu * np.where(eps > 0, eps, 1.0)))), widths
    rho = squares.mean(axis=1)
    # The k nearest are no more similar than the k most similar; a little room for rounding.
    bound = minus_log_density(squares, _width(mu, rho, index, squares)).max(axis=1) + 1e-6
    index, squares = most_similar(pairs, k, rho, mu, bound)
    s = _width(mu, rho, index, squares)
    return symmetric_graph(index, np.exp(-0.5 * (squares / s) ** 2) / (sqrt(2 * np.pi) * s)), widths


def _width(mu: float, rho: np.ndarray, index: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """s of Eq. (2) for listed neighbors (n, k)."""
    # The program adds machine epsilon to eps; it keeps equal objects finite.
    return mu * ((rho[:, None] + rho[index] + squares) / 3 + np.finfo(float).eps)


def similarity(Z: Any, k: int, cells_seed: list[int] | None = None) -> sp.csr_array:
    """W (n, n) of inner products between k nearest neighbors; negative ones are 0.

    Rows of Z have length 1, or 0: the latter are similar to nothing and neighbors of none.
    """
    n = Z.shape[0]
    rows = np.flatnonzero(np.asarray((Z * Z).sum(axis=1)).ravel() > 0)
    if rows.size < 2:
        return sp.csr_array((n, n))
    Z, k = Z[rows], min(k, rows.size - 1)
    pairs = Pairs(Z, None if cells_seed is None else nearby_cells(Z, k, cells_seed))
    index, squares = nearest(pairs, k)
    W = symmetric_graph(index, np.maximum(1.0 - squares / 2, 0.0)).tocoo()
    return sp.csr_array((W.data, (rows[W.row], rows[W.col])), shape=(n, n))


def spectral_cut(
    W: sp.csr_array,
    k: int,
    Z: Any,
    *,
    seed: int,
    n_init: int = 1,
    weight: np.ndarray | None = None,
    n_vectors: int | None = None,
) -> tuple[np.ndarray, dict]:
    """(k clusters of the graph W, facts for the recipe); Z (n, d) are the rows it was made from.

    An object that is similar to nothing (never so with random kernels) is missing from the member: -1.
    ``n_vectors`` are the eigenvectors that were sought, of which the first k count.
    """
    return spectral_embedding(W, n_vectors or k, Z).cut(k, seed=seed, n_init=n_init, weight=weight)


@dataclass(frozen=True, eq=False)
class Embedding:
    """The leading eigenvectors of a graph, from which any number of clusters up to theirs is read.

    linked : rows with any neighbor, or None for all of n.
    piece, count : connected pieces of the linked rows.
    vectors : of the linked rows, first those of the pieces; none where there are as many pieces as
        vectors wanted.
    rows : what the graph was made from.
    """

    n: int
    linked: np.ndarray | None
    piece: np.ndarray
    count: int
    vectors: np.ndarray | None
    n_vectors: int
    converged: bool
    rows: Any

    def cut(
        self, k: int, *, seed: int, n_init: int = 1, weight: np.ndarray | None = None
    ) -> tuple[np.ndarray, dict]:
        """(k clusters, facts for the recipe)."""
        own = weight if weight is None or self.linked is None else weight[self.linked]
        k = min(k, self.piece.size)
        if self.count >= k or self.vectors is None:
            labels = nearest_pieces(self.piece, self.count, k, self.rows)
        else:
            seeds = [[seed, start] for start in range(n_init)]
            U = self.vectors[:, :k]
            labels = cut_rows(U, k, unit=True, weights=own, seeds=seeds, max_iter=100, n_jobs=1).labels
        everybody = labels.astype(np.int32)
        if self.linked is not None:
            everybody = np.full(self.n, -1, np.int32)
            everybody[self.linked] = labels
        facts = {"pieces": self.count, "missing": self.n - self.piece.size, "converged": self.converged}
        return everybody, {**facts, "n_vectors": self.n_vectors}


def spectral_embedding(W: sp.csr_array, k: int, Z: Any) -> Embedding:
    """The k leading eigenvectors of D^-1/2 W D^-1/2, where D are the row sums of the graph W.

    Z (n, d) are the rows it was made from.
    """
    n, linked = W.shape[0], None
    W = sp.csr_array(W)
    W.eliminate_zeros()
    if (some := np.flatnonzero(np.diff(W.indptr))).size < n:
        if some.size == 0:
            raise InputError(
                "No two objects are similar in a random subspace: use a larger feature_fraction or "
                "metric='diversified'."
            )
        linked, W, Z = some, W[some][:, some], Z[some]
    sought, k = k, min(k, W.shape[0])
    count, piece = components(W)
    if count >= k:
        return Embedding(n, linked, piece, int(count), None, sought, True, Z)
    degree = np.asarray(W.sum(axis=1)).ravel()
    root = np.sqrt(degree)
    N = sp.csr_array(
        (W.data / (np.repeat(root, np.diff(W.indptr)) * root[W.indices]), W.indices, W.indptr), W.shape
    )
    # Eigenvalue 1 once for each piece, with known vectors; the solver looks for the others.
    known = component_vectors(piece, degree)
    found = graph_eigenvectors(N, k - count, known=known)
    U = np.hstack([known, found.vectors])
    return Embedding(n, linked, piece, int(count), U, sought, found.converged, Z)


def nearest_pieces(piece: np.ndarray, count: int, k: int, Z: Any) -> np.ndarray:
    """At least k pieces: average linkage of their means, each as heavy as its objects, down to k."""
    if count == k:
        return piece.astype(np.int32)
    ensure_fits(
        32.0 * count * count,  # means, products, distances and what lies between them
        what=f"Joining {count} pieces of the graph of a base clustering",
        remedy="use metric='diversified', whose graphs have few pieces, or drop rows without any feature",
    )
    sizes = np.bincount(piece).astype(float)
    gather = sp.csr_array((np.ones(piece.size), (piece, np.arange(piece.size))))
    means = gather @ Z
    means = (means.toarray() if sp.issparse(means) else means) / sizes[:, None]
    squares = (means**2).sum(axis=1)
    products = means @ means.T
    # The product is symmetric up to rounding only, and linkage needs more.
    D = np.sqrt(np.maximum(squares[:, None] + squares - (products + products.T), 0.0))
    left, right, _ = merge_tree_inplace(D, sizes, "average")
    return compact(cut_tree(left, right, k))[piece].astype(np.int32)


# Where rows come from --------------------------------------------------------------------------------------


class _Source:
    """Rows of a subspace as the chosen metric sees them: their Euclidean distance is that of the metric."""

    def __init__(self, features: Features, kept: int, metric: str):
        self.metric = metric
        self.sparse = sp.issparse(features.X)
        self.X = features.X.tocsc() if self.sparse else features.X
        # Fourth powers of distances are formed and machine epsilon is added to squares: bring any unit near
        # one.
        self.scale = unit_of_largest(features.X)
        n = features.n_samples
        if self.sparse and metric in ("correlation", "spearman"):
            ensure_fits(
                16.0 * n * kept,
                what=f"metric={metric!r} on sparse features (a dense {n} x {kept} array)",
                remedy="use metric='cosine' or 'diversified', which stay sparse",
            )

    def rows(self, columns: np.ndarray) -> Any:
        return seen_by(self.X, columns, self.scale, self.metric)


def check_pair(name: str, values: Any, rule: Any) -> tuple[Any, Any]:
    if not isinstance(values, (tuple, list)) or len(values) != 2:
        raise InputError(f"{name}={values!r} is not valid: expected a pair (smallest, largest).")
    low, high = values
    check(f"{name}[0]", low, rule)
    check(f"{name}[1]", high, rule)
    if low > high:
        raise InputError(f"{name}={values!r}: the first is above the second; swap them.")
    return low, high
