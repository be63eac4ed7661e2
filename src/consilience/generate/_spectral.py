"""Spectral clustering over a grid of kernel widths.

    W_pq = exp( -|x_p - x_q|^2 / (2 sigma^2) ),  W_pp = 0,  sigma = bandwidth * mean distance          (1)
    S = D^-1/2 W D^-1/2,  D = diag(W 1)                                                                (2)

The k leading eigenvectors of S, with rows scaled to length one, go to k-means (Ng, Jordan and Weiss, 2001).

A narrow kernel cuts the graph into pieces. Objects that are linked to no other are then missing from the
member. More than k pieces leave the leading eigenvectors undetermined (their eigenvalues are all 1): the k
largest pieces are then the clusters, and objects of the others are missing too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from .._base.parameters import N_JOBS, Integer, Real, check, listed
from .._base.progress import progress
from .._data.ensemble import Ensemble
from .._data.features import as_features
from .._kernels.cut.embedding import cut_rows
from .._kernels.eigen import eigenpairs, leading_eigenvectors
from .._kernels.pairs.components import components
from .._kernels.runtime.memory import available_memory, ensure_fits, refusing
from .._kernels.runtime.threads import map_tasks, one_blas_thread, resolve_jobs
from .._members.assembly import assemble, choose_ks, member_seeds
from .._members.labeling import Neighbors, codes_of_labels, neighbor_bytes, to_keep
from .._members.preparation import Preparation, View, Views
from ..errors import InputError, warn

#: Widths relative to the mean distance: the grid of the self-paced consensus papers.
BANDWIDTHS = (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 50.0, 100.0)
_REMEDY = "use generate.kmeans, random_k or bagging, whose memory is linear in n, or a subsample of X"
_DENSE_BELOW = 800  # objects; a full eigendecomposition is then quicker than an iterative one
_PRODUCTS = 500  # with a block of vectors: what a full decomposition costs
_LINK = 1e-10  # an entry of S below this links nothing: eigensolvers could not tell the pieces apart


def spectral(
    X: Any,
    *,
    n_clusters: int | tuple[int | None, int | None] | Sequence[int],
    n_clusterings: int | None = None,
    bandwidths: Sequence[float] = BANDWIDTHS,
    preprocess: str = "none",
    keep_base_models: bool | None = False,
    random_state: Any = None,
    n_jobs: int | None = -1,
) -> Ensemble:
    """Spectral clustering with Gaussian kernels from very narrow to very wide.

    Parameters
    ----------
    X : array, data frame or sparse matrix (n_samples, n_features)
    n_clusters : int, pair, list or range
        Clusters of each base clustering, or what to draw them from, see :mod:`consilience.generate`.
    n_clusterings : int or None
        Number of base clusterings, at least one for each width; None is exactly one for each. Widths are used
        in turn: base clusterings of the same width differ in the start of the final k-means (and in the
        number of clusters where it is drawn).
    bandwidths : sequence of positive numbers
        Kernel widths as multiples of the mean distance between objects.
    preprocess : str, default "none"
        How the features are prepared, see :mod:`consilience.generate`: as given, in one of several
        preparations, or "diverse", where a preparation is drawn for each base clustering.
    keep_base_models : bool or None, default False
        Keep in ``ensemble.base_models`` what labels further objects: X itself, once for all base clusterings,
        because a new row gets the label of the row nearest to it. None keeps it if it takes at most 128 MB.
    random_state : int, numpy generator or None
    n_jobs : int or None, default -1
        Threads; -1 is all cores, None as in joblib.

    Returns
    -------
    Ensemble
        Each recipe holds ``algorithm, n_clusters, seed, bandwidth, sigma, pieces, missing, preprocess``.
        pieces is the number of pieces of more than one object into which the graph falls at this width, and
        missing is the number of objects that got no label because of it.

    Warns
    -----
    ConsilienceWarning
        If a width is too narrow for the data. Objects that are linked to no other are missing from that base
        clustering. If the graph has more pieces than clusters, the largest pieces are the clusters. If fewer
        objects than clusters are linked, the base clustering is left out.

    Notes
    -----
    Two dense n x n arrays (16 n^2 bytes) are held; if they will not fit, an error says so beforehand. Each
    width takes the time of a few products of n x n by n x k.

    References
    ----------
    A. Ng, M. Jordan and Y. Weiss. On spectral clustering: analysis and an algorithm. NIPS 2001.

    Examples
    --------
    >>> import consilience as cs
    >>> from sklearn.datasets import load_iris
    >>> ens = cs.generate.spectral(load_iris().data, n_clusters=3, bandwidths=[0.5, 1, 5], random_state=0)
    >>> [recipe["bandwidth"] for recipe in ens.recipes]
    [0.5, 1.0, 5.0]
    """
    check("n_jobs", n_jobs, N_JOBS)
    grid = _check_bandwidths(bandwidths)
    m = _check_count(n_clusterings, grid)
    features = as_features(X)
    seeds = member_seeds(random_state, m)
    ks = choose_ks(n_clusters, features, seeds)
    views = Views(preprocess, features, seeds, n_jobs=n_jobs)
    n = features.n_samples
    _ensure_squares(n, 2)
    n_bytes = neighbor_bytes(features.X, m)
    keep = to_keep(keep_base_models, n_bytes)
    made: dict[int, tuple[np.ndarray, dict, Preparation]] = {}
    with (
        refusing(f"Spectral clustering of {n} objects", _REMEDY),
        one_blas_thread(),
        progress(total=m, what="spectral", unit="run") as bar,
    ):
        for view in views:
            found = _members_seeing(view, grid, ks, seeds, bar, n_jobs)
            made |= {i: (*one, view.preparation) for i, one in found.items()}
            del view  # before the next is made
    turns = [made[i] for i in sorted(made)]
    recipes = [recipe for _, recipe, _ in turns]
    left_out = {grid[i % len(grid)] for i in range(m) if i not in made}
    _report([width for width in grid if width in left_out], recipes, n, max(ks))
    members = [Neighbors(seen, features.X, codes_of_labels(labels)) for labels, _, seen in turns]
    labels = [labels for labels, _, _ in turns]
    return assemble(features, labels, recipes, members=members if keep else None, members_bytes=n_bytes)


def _members_seeing(
    view: View, grid: list[float], ks: list[int], seeds: list[int], bar: Any, n_jobs: int | None
) -> dict[int, tuple[np.ndarray, dict]]:
    """The members that see the features alike, by position.

    Those of widths that are too narrow are left out.
    """
    n, name = view.features.n_samples, view.preparation.name
    squares = euclidean_distances(view.features.X.astype(np.float64), squared=True)
    np.fill_diagonal(squares, 0)
    mean_distance = _sum_of_roots(squares) / (n * (n - 1))
    if mean_distance == 0:
        seen = "" if name == "none" else f" after preprocess={name!r}"
        raise InputError(f"All rows of X are equal{seen}: there is no distance to choose a kernel width by.")
    # Widths are used in turn.
    turns = [[i for i in view.members if i % len(grid) == b] for b in range(len(grid))]

    def members(own: list[int]) -> list[tuple[np.ndarray, dict]]:
        width = grid[own[0] % len(grid)]
        found = _members_of_width(squares, width, width * mean_distance, [(ks[i], seeds[i]) for i in own])
        bar.update(len(own))
        return [(labels, {**recipe, "preprocess": name}) for labels, recipe in found]

    tasks = [own for own in turns if own]
    workers = min(resolve_jobs(n_jobs), _arrays_that_fit(n))
    found = map_tasks(members, tasks, n_jobs=workers)
    return {i: one for own, made in zip(tasks, found) for i, one in zip(own, made)}


def _members_of_width(
    squares: np.ndarray, bandwidth: float, sigma: float, wanted: list[tuple[int, int]]
) -> list[tuple[np.ndarray, dict]]:
    """Labels and recipe of the members of one width, for each (k, seed).

    None if too few objects are linked.
    """
    n = len(squares)
    S, degree = affinity(squares, sigma)
    piece = components(S > _LINK)[1]
    linked = np.flatnonzero(np.bincount(piece)[piece] > 1)
    widest = max(k for k, _ in wanted)
    if len(linked) < widest:
        return []
    _, own_piece = np.unique(piece[linked], return_inverse=True)
    count = int(own_piece.max()) + 1
    if count <= widest:
        if len(linked) < n:
            _ensure_squares(len(linked), 1)
            S = S[np.ix_(linked, linked)]
        vectors = leading_vectors(S, degree[linked], own_piece, widest)
    made = []
    for k, seed in wanted:
        labels = np.full(n, -1, dtype=np.int32)
        labels[linked] = _largest(own_piece, k) if count > k else _cut(vectors[:, :k], seed)
        recipe = {
            "algorithm": "spectral",
            "n_clusters": k,
            "seed": seed,
            "bandwidth": bandwidth,
            "sigma": sigma,
            "pieces": count,
            "missing": int((labels < 0).sum()),
        }
        made.append((labels, recipe))
    return made


def affinity(squares: np.ndarray, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    """S of Eq. (2) and the degrees. A row whose weights all vanish in float64 stays zero."""
    S = squares / (-2.0 * sigma * sigma)
    np.exp(S, out=S)
    np.fill_diagonal(S, 0)
    degree = S.sum(axis=1)
    # Divided by one root after the other: the product of two degrees could vanish.
    root = np.sqrt(np.where(degree > 0, degree, 1))
    S /= root[:, None]
    S /= root[None, :]
    return S, degree


def leading_vectors(S: np.ndarray, degree: np.ndarray, piece: np.ndarray, k: int) -> np.ndarray:
    """The k leading eigenvectors of S: one for each piece of the graph, then by eigenvalue.

    Those of the pieces are known, the roots of the degrees. The others are at least -1/min(degree), because a
    Gaussian kernel is positive, and are lifted by that. The solver then sees them at their own scale, however
    close to each other a wide kernel puts them.
    """
    n, count = len(S), int(piece.max()) + 1
    known = np.zeros((n, count))
    known[np.arange(n), piece] = np.sqrt(degree)
    known /= np.sqrt(np.einsum("ij,ij->j", known, known))
    wanted = min(k, n) - count
    if wanted <= 0:
        return known[:, :k]
    lift = 1.0 / max(1.0, float(degree.min()))
    if n > _DENSE_BELOW and wanted < n // 10:
        found = leading_eigenvectors(
            lambda X: S @ X + lift * X, n, wanted, known=known, tol=1e-8, max_products=_PRODUCTS
        )
        if found.converged:  # else tight bunches of eigenvalues: the direct way does not mind
            return np.hstack([known, found.vectors])
    _ensure_squares(n, 2)
    T = S - (1 + lift) * (known @ known.T)
    T[np.diag_indices(n)] += lift
    return np.hstack([known, eigenpairs(T, wanted, which="largest", overwrite=True)[1]])


def _cut(vectors: np.ndarray, seed: int) -> np.ndarray:
    """One k-means of the directions; equal rows are never separated to reach the number of clusters."""
    return cut_rows(vectors, vectors.shape[1], unit=True, exact=False, seeds=[seed], n_jobs=1).labels


def _largest(piece: np.ndarray, k: int) -> np.ndarray:
    """The k largest pieces as clusters; -1 elsewhere."""
    order = np.argsort(-np.bincount(piece), kind="stable")
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return np.where(rank[piece] < k, rank[piece], -1)


def _sum_of_roots(squares: np.ndarray) -> float:
    """The sum of the distances, without a second n x n array."""
    return float(np.sum([np.sqrt(squares[a : a + 256]).sum() for a in range(0, len(squares), 256)]))


def _check_bandwidths(bandwidths: Any) -> list[float]:
    grid = [bandwidths] if np.isscalar(bandwidths) else list(bandwidths)
    if not grid:
        raise InputError("bandwidths is empty: give at least one positive number.")
    for value in grid:
        check("bandwidths", value, Real(0, open_low=True))
    return np.asarray(grid, dtype=np.float64).tolist()


def _check_count(n_clusterings: Any, grid: list[float]) -> int:
    if n_clusterings is None:
        return len(grid)
    check("n_clusterings", n_clusterings, Integer(1))
    if n_clusterings < len(grid):
        raise InputError(
            f"n_clusterings={n_clusterings} is below the {len(grid)} bandwidths, each of which makes at "
            f"least one base clustering; ask for {len(grid)} or more, or give fewer bandwidths."
        )
    return int(n_clusterings)


def _ensure_squares(n: int, count: int) -> None:
    """Refuse that many dense arrays between all objects if they will not fit."""
    ensure_fits(
        8.0 * count * n * n,
        what=f"Spectral clustering of {n} objects ({count} more dense {n} x {n} "
        f"array{'s' if count > 1 else ''})",
        remedy=_REMEDY,
    )


def _arrays_that_fit(n: int) -> int:
    """How many widths can be worked on at the same time beside the distances."""
    free = available_memory()
    return 1 if free is None else max(1, int(free // (10.0 * n * n)) if n else 1)


def _report(left_out: list[float], recipes: list[dict], n: int, k: int) -> None:
    """One warning about all widths that were too narrow; an error if none was wide enough."""
    if not recipes:
        raise InputError(
            f"Every bandwidth ({listed(left_out)}) leaves fewer than n_clusters={k} of the {n} objects "
            "linked to others; use wider ones, for instance bandwidths=[0.5, 1, 5]."
        )
    thin = {recipe["bandwidth"]: recipe["missing"] for recipe in recipes if recipe["missing"]}
    broken = list(
        dict.fromkeys(recipe["bandwidth"] for recipe in recipes if recipe["pieces"] > recipe["n_clusters"])
    )
    parts = []
    if left_out:
        parts.append(
            f"bandwidth {listed(left_out)} leaves fewer than n_clusters={k} objects linked to others and "
            f"made no base clustering"
        )
    if broken:
        parts.append(
            f"at bandwidth {listed(broken)} the graph has more pieces than n_clusters, and the largest "
            f"pieces are the clusters"
        )
    if thin:
        shown = listed(f"{count} of {n} at {width:g}" for width, count in thin.items())
        parts.append(f"objects outside the clusters are missing ({shown})")
    if parts:
        warn("Spectral clustering with narrow kernels: " + "; ".join(parts) + ".")
