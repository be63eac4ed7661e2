"""Small random and hostile inputs for every kernel, with every index checked: a program for test_bounds.

    NUMBA_DISABLE_JIT=1 python tests/kernels/fuzz.py [rounds]      as Python, which checks every index;
                                                                   seconds
    NUMBA_BOUNDSCHECK=1 python tests/kernels/fuzz.py [rounds]      compiled, with checks; minutes

Prints a JSON object: the kernels there are, those that ran, how many inputs were refused, and what went
wrong. A call may succeed or refuse its input with a ValueError (as InputError is one); anything else counts
as wrong. So that small inputs reach them, the edges of blocks and tiles are moved closer.
"""

from __future__ import annotations

import importlib
import json
import sys
import threading
import traceback
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numba.core import config

import consilience as cs
from consilience._data.features import as_features
from consilience._data.labels import encode
from consilience._kernels import kmeans
from consilience._kernels.compile import jit, scatter
from consilience._kernels.cut import hypergraph, metaclusters, normalized, partition
from consilience._kernels.eigen import lanczos
from consilience._kernels.kmeans import (
    assign,
    gaps,
)
from consilience._kernels.kmeans import (
    gram as kmeans_gram,
)
from consilience._kernels.kmeans import (
    narrow as kmeans_narrow,
)
from consilience._kernels.kmeans import (
    rows as kmeans_rows,
)
from consilience._kernels.labels import (
    codes as factorize,
)
from consilience._kernels.labels import (
    contingency,
    distinct,
    grouping,
    hashing,
    information,
    mixed_membership,
    overlaps,
)
from consilience._kernels.neighbors import landmarks, points, search
from consilience._kernels.pairs import coassociation as coassociation_rows
from consilience._kernels.pairs import (
    company,
    components,
    connective,
    histogram,
    linkage,
    paced_dense,
    patterns,
    walks,
)
from consilience._kernels.programs import box, coupling, low_rank
from consilience.consensus._coassociation import spce

paced_dense._TILE = 4
hashing._AT_FIRST, patterns._AT_A_TIME = 4, 16
search._ROWS, search._COLUMNS = 4, 8
assign.BLOCK = 8
distinct._ROWS_PER_BLOCK = 8
for room in (factorize, contingency, distinct, overlaps):
    room.FEW_LABELS = 0  # no labels are so few that kernels are spared
coassociation_rows._FEW = 0
contingency._BLOCK = 16
factorize._ROWS_PER_BLOCK = 8
grouping._BLOCK, grouping.STARTS_ON = 8, 12
mixed_membership._BLOCK = 8
walks.COLUMNS, walks._TOGETHER, company._ROWS, connective._ROWS = 4, 4, 8, 8
histogram._ROWS, histogram._TILE, histogram._DRAWS = 4, 8, 16

# As Python, a number of few bits does not become one of 64 by itself, as it does in compiled code.
INTEGERS = [np.int64] if config.DISABLE_JIT else [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64]


def some_labels(rng):
    """(n, m): ordinary, all equal, all different, two-valued; names anywhere in int64, some missing."""
    n, m = int(rng.integers(2, 24)), int(rng.integers(1, 6))
    kind = rng.integers(4)
    labels = [
        rng.integers(0, 4, (n, m)),
        np.zeros((n, m), np.int64),
        np.tile(np.arange(n)[:, None], m),
        rng.integers(0, 2, (n, m)),
    ][kind]
    if rng.random() < 0.5:
        labels = np.where(rng.random((n, m)) < 0.4, -1, labels)
        labels[0] = 0
    return np.where(labels < 0, -1, labels + rng.choice([0, 5, 2**62]))


def some_ensemble(rng):
    labels = some_labels(rng)
    weights = None if rng.random() < 0.4 else rng.uniform(0.1, 3, len(labels))
    return cs.Ensemble(labels, sample_weight=weights)


def some_rows(rng):
    """(n, d), dense or sparse: ordinary, all equal, with ties, mostly zero, tiny or large; narrow or wide."""
    n, d = int(rng.integers(2, 24)), int(rng.choice([1, 2, 3, 60]))
    X = [
        rng.normal(size=(n, d)),
        np.ones((n, d)),
        rng.integers(0, 2, (n, d)).astype(float),
        rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.2),
    ][rng.integers(4)]
    X = X * rng.choice([1.0, 1.0, 1e-50, 1e-150, 1e80])
    if rng.random() < 0.3:
        X[: rng.integers(1, 3), 0] = 1e30  # far from all others
    return sp.csr_array(X) if rng.random() < 0.4 else X


def hostile(rng, shape):
    """Numbers with ties, NaN, infinities and overflow among them."""
    A = rng.integers(0, 3, shape) / 3
    for value in (np.nan, np.inf, -np.inf, 1e308, -1e308):
        if rng.random() < 0.5:
            A[rng.random(shape) < 0.2] = value
    return A


def trees(rng):
    u = int(rng.integers(1, 15))
    D = hostile(rng, (u, u)) if rng.random() < 0.5 else rng.integers(0, 3, (u, u)) / 3
    if rng.random() < 0.5:
        D = D + D.T
    linkage._chain(
        D.copy(), rng.random(u), rng.integers(3), np.zeros(u - 1, int), np.zeros(u - 1, int), np.zeros(u - 1)
    )
    left, right, _ = linkage.merge_tree_inplace(D, rng.random(u) + 0.1, rng.choice(["average", "single"]))
    linkage.cut_tree(left, right, int(rng.integers(1, u + 1)))


def graphs(rng):
    u = int(rng.integers(1, 20))
    A = np.where(rng.random((u, u)) < rng.choice([0, 0.1, 0.9]), hostile(rng, (u, u)), 0.0)
    components.components(A)
    components.components(sp.csr_array(A))
    rows = sp.csr_array(A)
    components.components_of_rows(rows.indptr, rows.indices, rows.data)


def rows_of_words(rng):
    shape = int(rng.integers(0, 40)), int(rng.integers(1, 6))
    distinct.unique_rows(
        rng.integers(0, rng.choice([1, 2, 100]), shape).astype(rng.choice([np.int8, np.int64]))
    )
    some_ensemble(rng).distinct().canonical()
    known = rng.integers(0, 3, (int(rng.integers(1, 40)), shape[1])).astype(np.int16)
    table = distinct.RowTable(known[distinct.unique_rows(known)[0]])
    table.find(rng.integers(-1, 3, shape).astype(np.int16))


def tables(rng):
    n = int(rng.integers(1, 60))
    kind = rng.choice(INTEGERS)
    span = min(int(rng.choice([1, 5, 300, 10**6])), np.iinfo(kind).max)
    a, b = (rng.integers(0, span, n).astype(kind) for _ in range(2))
    if rng.random() < 0.3:
        a[0], b[-1] = np.iinfo(kind).min, np.iinfo(kind).max
    weights = None if rng.random() < 0.5 else hostile(rng, n) if rng.random() < 0.3 else rng.random(n)
    contingency.count_pairs(a, b, weights)
    encode(a, "a")
    factorize.code_values(hostile(rng, n))
    encode(rng.choice(["x", "y", "a long name", ""], n), "c")
    # More different values than the first table of hashes has room for, once in a while.
    encode(rng.random(3000 if rng.random() < 0.1 else 30), "d")


def measures(rng):
    ensemble = some_ensemble(rng)
    labels = ensemble.labels[:, 0]
    for measure in information.PAIRWISE_MEASURES:
        information.pairwise_measure(
            labels=ensemble.labels, n_clusters=ensemble.n_clusters_per_clustering, measure=measure
        )
    cs.metrics.anmi(ensemble, labels)
    cs.metrics.sample_stability(ensemble, labels)
    n = int(rng.choice([3, 50, 40_000]))
    rows, columns = (1 + rng.multinomial(n, np.ones(3) / 3) for _ in range(2))
    information.expected_mutual_information(rows if rng.random() < 0.8 else rows + 0.5, columns)


def coassociation(rng):
    ensemble = some_ensemble(rng)
    weights = rng.uniform(0.1, 2, ensemble.n_clusterings)
    ensemble.coassociation(clustering_weights=weights)
    ensemble.coassociation_sparse(clustering_weights=weights)
    ensemble.cooccurrence_counts()
    ensemble.sample_agreement()


def walks_among_neighbors(rng):
    ensemble = some_ensemble(rng).distinct()
    labels, some = ensemble.labels, ensemble.labels[: int(rng.integers(1, ensemble.n_samples + 1))]
    given = {"any_missing": ensemble.has_missing}
    K = int(rng.choice([1, 2, 30]))
    company.strongest_company(labels, some, K, **given)
    S = company.strongest_company(labels, labels, K, same=True, **given)
    P = sp.csr_array(S.maximum(S.T))
    if rng.random() < 0.2:
        P.data = hostile(rng, P.nnz)
    walks.walk_norms(P, int(rng.integers(1, 4)))
    walks.walk_sums(P, int(rng.integers(1, 4)), hostile(rng, (P.shape[0], 9)))
    walks.walk_products(P, 2)


def rows_of_pairs(rng):
    ensemble = some_ensemble(rng)
    u, weights = ensemble.n_samples, ensemble.sample_weight
    codes = np.ascontiguousarray(ensemble.global_labels().T)
    V = hostile(rng, (u, u)) if rng.random() < 0.3 else rng.normal(size=(u, u))
    connective.log_sums(codes, V, weights)
    C = (
        np.abs(hostile(rng, (u, u)))
        if rng.random() < 0.3
        else rng.random((u, u)) * (rng.random((u, u)) < 0.5)
    )
    connective.shared_out(C + np.eye(u), np.abs(V), weights)
    connective.nearest_of_weight_one(V, weights)


def cluster_overlaps(rng):
    ensemble = some_ensemble(rng)
    labels, offsets = ensemble.labels, ensemble.offsets
    values = hostile(rng, labels.shape[0])
    overlaps.mean_entropies(labels, offsets, ensemble.sample_weight)
    overlaps.overlap_matrix(labels, offsets, values)
    width = int(rng.integers(1, 10))
    overlaps.gather(labels, offsets, hostile(rng, (int(offsets[-1]), width)))
    overlaps.scatter(labels, offsets, hostile(rng, (labels.shape[0], width)))


def label_loops(rng):
    ensemble = some_ensemble(rng)
    labels, offsets, u = ensemble.labels, ensemble.offsets, ensemble.n_samples
    k, c = int(offsets[-1]), int(rng.integers(1, min(u, 5) + 1))
    rows = grouping.label_rows(labels, offsets, ensemble.sample_weight, scale=hostile(rng, u))
    T, base = hostile(rng, (k, c)), hostile(rng, c)
    groups = rng.integers(-1 if rng.random() < 0.1 else 0, c, u)
    grouping.assign(rows, T, base, groups, stay=bool(rng.integers(2)))
    grouping.soften(rows, T, base)
    metaclusters.vote(labels, offsets, ensemble.sample_weight, rng.integers(0, c, k), c)
    metaclusters.shared_neighbors(labels, offsets, ensemble.sample_weight)

    def costs(table):
        T = table / np.maximum(np.add.reduceat(table, offsets[:-1], axis=0), 1e-300).repeat(
            np.diff(offsets), axis=0
        )
        return hostile(rng, T.shape) if rng.random() < 0.3 else 1 - T, np.zeros(T.shape[1])

    rows = grouping.label_rows(labels, offsets, ensemble.sample_weight)
    grouping.best_start(rows, c, costs, rng, n_init=2, max_iter=3, tol=0.0)
    mixed_membership.infer_rows(
        labels,
        offsets,
        ensemble.sample_weight,
        rng.random((k, c)),
        rng.random(c) + 0.01,
        rng.random((u, c)) + 0.01,
        tol=1e-4,
        max_iter=5,
    )
    a = np.abs(hostile(rng, k))
    rows, _ = normalized.cut_loop(labels, offsets, ensemble.sample_weight, a)
    normalized.move_objects(rows, groups, c, a, max_sweeps=3)
    total = ensemble.sample_weight.sum()
    hypergraph.bisect(
        labels,
        offsets,
        hostile(rng, u) if rng.random() < 0.2 else ensemble.sample_weight,
        hostile(rng, k) if rng.random() < 0.2 else a,
        rng.random(u) < 0.5,
        lightest=float(rng.random() * total),
        heaviest=float(rng.random() * 2 * total),
        fewest=(int(rng.integers(0, 3)), int(rng.integers(0, 3))),
        max_passes=3,
    )


def neighbor_lists(rng):
    X = some_rows(rng)
    if rng.random() < 0.2:
        X = hostile(rng, X.shape)
    n = X.shape[0]
    k = int(rng.integers(1, n)) if rng.random() < 0.9 else int(rng.choice([0, n]))
    cells = None
    if rng.random() < 0.5 and np.isfinite(X.sum()):
        search._NEARBY, search._ENOUGH = 1, 1
        cells = search.nearby_cells(X, max(k, 1), 0)
    pairs = search.Pairs(X, cells)
    search.nearest(pairs, k)
    bound = None if rng.random() < 0.5 else hostile(rng, n)
    radius = np.abs(hostile(rng, n)) if rng.random() < 0.2 else rng.random(n)
    index, _ = search.most_similar(pairs, k, radius, float(rng.choice([0.1, 1.0])), bound)
    search.symmetric_graph(index, np.ones(index.shape))


def nearest_of_points(rng):
    X = some_rows(rng)
    own = X[: int(rng.integers(1, X.shape[0] + 1))]
    if rng.random() < 0.3:
        X = hostile(rng, X.shape)
    points.nearest_points(X, own.toarray() if sp.issparse(own) and rng.random() < 0.5 else own)


def rows_by_landmarks(rng):
    X = some_rows(rng)
    n, d = X.shape
    K, p = int(rng.integers(1, 6)), int(rng.integers(1, n + 1))
    landmarks.NEARBY = int(rng.integers(1, 4))
    placed = landmarks.place_landmarks(X, p, K, seed=0)
    columns = np.arange(d)
    if rng.random() < 0.3:  # rows to come may be anything
        X = hostile(rng, X.shape)
    rows = landmarks.Rows(X, columns, float(rng.choice([0.5, 1.0])))
    K = min(K, len(placed.points)) if rng.random() < 0.9 else n + 1
    index, squares = np.empty((n, K), np.int32), np.empty((n, K), X.dtype)
    landmarks.nearest_landmarks(rows, placed, 0, n, index, squares)
    sigma, p = float(rng.choice([0.0, 1e-9, 1.0])), len(placed.points)
    weight = None if rng.random() < 0.5 else rng.random(n)
    landmarks.graph_of_landmarks(index, squares, sigma, p, weight, float(squares[:, 0].min()))
    c, k = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    landmarks.label_rows(index, squares, sigma, hostile(rng, (p, c)), rng.random((k, c)))


def runs_of_kmeans(rng):
    X = some_rows(rng)
    n, d = X.shape
    ks = rng.integers(0 if rng.random() < 0.1 else 1, n + 1, int(rng.integers(1, 4)))
    if sp.issparse(X) and X.nnz and rng.random() < 0.3:
        X.data = X.data.astype(np.float32)
    weights = rng.choice([1e-300, 1.0, 1e307], n) if rng.random() < 0.3 else rng.uniform(0.1, 3, n)
    was = kmeans.is_small
    kmeans.is_small = was if rng.random() < 0.4 else lambda X: False
    try:
        found = kmeans.many_kmeans(
            X,
            ks,
            seeds=range(len(ks)),
            init=str(rng.choice(["k-means++", "random"])),
            max_iter=4,
            sample_weight=weights,
        )
        starts = [
            rng.integers(0, 2, (k, d)) * rng.choice([1.0, 1e3]) for k in ks
        ]  # many coincide, clusters get empty
        kmeans.many_kmeans(X, ks, inits=starts, max_iter=4, n_jobs=2)
    finally:
        kmeans.is_small = was
    kmeans.nearest_centers(X, found.centers)


def gaps_of_kmeans(rng):
    """Some rows are passed over, others looked at, in any order."""
    X = some_rows(rng)
    X = X.toarray() if sp.issparse(X) else X
    n = len(X)
    ks = rng.integers(1, n + 1, int(rng.integers(1, 4)))
    rows = kmeans_rows.as_rows(np.ascontiguousarray(X), np.ones(n), 1)
    memory = gaps.Gaps(rows, ks, np.zeros((len(ks), n), np.int32))
    for listed in (False, True):
        memory.gaps[...] = rng.choice([0.0, 1e9], memory.gaps.shape)
        stack = rows.stack(np.vstack([rows.rows(rng.integers(0, n, k)) for k in ks]), ks)
        memory.look(stack, np.arange(len(ks)), listed=listed)


def tiles_of_kmeans(rng):
    """Gaps left as they come, so that rows are looked at by tiles, gathered, or not at all."""
    n, d = int(rng.integers(1, 600)), int(rng.integers(1, 7))
    X = hostile(rng, (n, d)) if rng.random() < 0.3 else rng.integers(0, 3, (n, d)).astype(float)
    rows = kmeans_rows.as_rows(np.ascontiguousarray(X), np.ones(n), 1)
    k = int(rng.integers(1, min(n, 12) + 1))
    run = kmeans_narrow.Run(
        kmeans_narrow.Tiles(rows), rows.rows(rng.integers(0, n, k)), np.zeros(n, np.int32)
    )
    run.look()
    run.bounded, run.gaps = True, rng.choice([0.0, 1e9], n, p=[0.2, 0.8]).astype(np.float32)
    run.look()
    run.go(3, 0.0)


def boxes(rng):
    b, k = int(rng.integers(1, 6)), int(rng.integers(1, 25))
    E = (
        rng.random((k, k))
        * (rng.random((k, k)) < rng.choice([0.0, 0.03, 0.9]))
        * rng.choice([1e-3, 1.0, 1e4])
    )
    E = np.triu(E, 1) + np.triu(E, 1).T
    r = rng.integers(1, 4, k).astype(float)
    S, Y = rng.random((2, b, k)) * (rng.random((2, b, k)) < rng.choice([0.1, 0.9]))
    W = None if rng.random() < 0.4 else rng.choice([0.0, 0.5, 1.0], (b, k))
    seen = None if rng.random() < 0.5 else rng.choice([0.0, 1.0], (b, k))
    linear = rng.choice([-0.1, 0.0, 0.1], (b, k))
    box.smooth_rows(S, W, Y, linear, E, r, observed=seen, max_sweeps=int(rng.choice([2, 20])))
    box.weigh_rows(np.ones((b, k)) if W is None else W, S, Y, 0.3, E, r, observed=seen, max_steps=20)
    box.contradiction(S, E, r)
    sparse = S * (rng.random((b, k)) < 0.05)
    coupling.gram(sparse, np.ones(b))
    coupling.gram(sparse, np.ones(b), sparse)
    coupling.spread(sparse, coupling.couple(E * (rng.random((k, k)) < 0.05), r))


def eigenvectors(rng):
    n = int(rng.integers(8, 30))
    A = sp.random(n, n, 0.2, random_state=rng)
    N = sp.csr_array(A + A.T) / max(abs(A + A.T).sum(axis=1).max(), 1.0)
    lanczos._chebyshev(
        N, rng.normal(size=(n, int(rng.choice([1, 3, 4, 5])))), int(rng.integers(1, 5)), 0.1, 0.9
    )
    lanczos.leading_eigenvectors(lambda X: N @ X, n, 2, block=int(rng.integers(1, 5)), max_products=30)
    lanczos._chebyshev(N, rng.standard_normal((n, 8)), 3, 0.0, 1.0)


def pairs(rng):
    ensemble = some_ensemble(rng).distinct().canonical()[0]
    u, m = ensemble.labels.shape
    x = rng.uniform(0.1, 2, m)
    for sparse in (False, True):
        store = spce.make_pairs(ensemble, sparse=sparse)
        store.unpaced()
        for _ in range(2):
            store.step(x, hostile(rng, (u, 3)), np.zeros(u), 1.0, 0.1)
            store.pace(x, 0.5)
        store.matrix(), store.degrees(), store.components()
        store.restart()
        store.product(rng.normal(size=(u, int(rng.integers(1, 10)))))


def methods(rng):
    ensemble = some_ensemble(rng)
    c = int(rng.integers(1, 5))
    kind = [
        cs.SPCE,
        cs.RSEC,
        cs.NRSEC,
        cs.consensus.EvidenceAccumulation,
        cs.consensus.LWEA,
        cs.consensus.LWGP,
        cs.SCCABG,
    ][rng.integers(7)]
    parameters = {"n_init": 2, "max_iter": 5} if kind in (cs.RSEC, cs.NRSEC) else {}
    kind(c, **parameters).fit(ensemble)


def merged(rng):
    u = int(rng.integers(3, 20))
    similarity = rng.integers(0, 2, (u, u)).astype(float)
    labels = rng.permutation(np.arange(u) % 5)
    partition.exactly(
        labels, 2, similarity=similarity, embedding=np.ones((u, 2)), weights=rng.random(u) + 0.1
    )


def intake(rng):
    labels = some_labels(rng)
    cs.Ensemble(labels.astype(rng.choice([np.int8, np.uint8, np.int32, np.int64, np.uint64])))
    blocks = [sp.csr_array(rng.integers(0, 2, (6, 1))) for _ in range(2)]
    if rng.random() < 0.5:
        blocks[0].indices[:] = rng.integers(-3, 4, blocks[0].indices.size)
    cs.Ensemble(blocks)


def features(rng):
    X = some_rows(rng)
    as_features(X).distinct_rows(X.shape[0])
    X = sp.csr_array(X)
    if X.nnz and rng.random() < 0.5:
        broken = X.indices if rng.random() < 0.5 else X.indptr
        broken[rng.integers(broken.size)] = rng.choice([-1, 70, 2**30])
    if rng.random() < 0.5:
        X = sp.csc_array((X.data, X.indices, X.indptr), shape=X.shape[::-1])
    cs.generate.kmeans(X, n_clusterings=2, n_clusters=1, random_state=0)


def differences(rng):
    u, s = int(rng.integers(1, 9)), int(rng.integers(1, 9))
    gap, root = hostile(rng, (u, s + 2)).astype(np.float32)[:, :s], rng.random(u) + 0.1
    start = int(rng.integers(u))
    stop = int(rng.integers(start, u + 1))
    pull = hostile(rng, (stop - start, s)).astype(np.float32)
    low_rank.energies(gap, pull, start)
    low_rank.largest_row(gap, pull, (rng.random(s) < 0.5).astype(float), root, start)


def studies_of_k(rng):
    ensemble = some_ensemble(rng)
    u = ensemble.n_samples
    weights = hostile(rng, u) if rng.random() < 0.2 else ensemble.sample_weight
    histogram.pair_histogram(ensemble.labels, weights)
    histogram.sampled_pair_histogram(ensemble.labels, None, 40, rng)
    table = rng.random((ensemble.n_base_clusters, 3)) * (rng.random((ensemble.n_base_clusters, 3)) < 0.5)
    grouping.commonest_rows(table, ensemble.offsets, table[:, 0])
    X = some_rows(rng)
    X = X.toarray() if sp.issparse(X) else X
    n, k = len(X), int(rng.integers(1, len(X) + 2))
    gram = kmeans_gram.Gram.of(hostile(rng, X.shape) if rng.random() < 0.2 else X)
    weights = rng.uniform(0.1, 3, n)
    labels = gram.kmeans(k, weights, rng, max_iter=5)
    gram.within(labels, weights)
    scatter.between_scatter(X, np.where(rng.random(n) < 0.2, -1, labels), weights, k)


CASES = [  # new ones at the end: their place is their seed
    trees,
    graphs,
    rows_of_words,
    tables,
    measures,
    coassociation,
    cluster_overlaps,
    neighbor_lists,
    runs_of_kmeans,
    boxes,
    eigenvectors,
    pairs,
    methods,
    merged,
    intake,
    features,
    label_loops,
    nearest_of_points,
    rows_by_landmarks,
    differences,
    gaps_of_kmeans,
    studies_of_k,
    walks_among_neighbors,
    rows_of_pairs,
    tiles_of_kmeans,
]


def load_all_kernels() -> None:
    """Import every module that holds kernels, whether or not a case does."""
    package = Path(cs.__file__).parent
    for path in package.rglob("*.py"):
        if ".jit import" in path.read_text(encoding="utf-8"):
            importlib.import_module(
                ".".join(["consilience", *path.relative_to(package).with_suffix("").parts])
            )


def main(rounds: int) -> None:
    load_all_kernels()
    functions = {name: getattr(kernel, "py_func", kernel) for name, kernel in jit.KERNELS.items()}
    by_code = {function.__code__: name for name, function in functions.items()}
    ran: set[str] = set()

    def look(frame, event, _):
        if event == "call" and frame.f_code in by_code:
            ran.add(by_code[frame.f_code])

    if config.DISABLE_JIT:
        threading.setprofile(look)
        sys.setprofile(look)
    refused = dict.fromkeys((case.__name__ for case in CASES), 0)
    wrong = []
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for number, case in enumerate(CASES):
        for turn in range(rounds):
            try:
                case(np.random.default_rng([number, turn]))
            except ValueError:
                refused[case.__name__] += 1
            except Exception:
                wrong.append(f"{case.__name__}, turn {turn}: {traceback.format_exc()}")
    sys.setprofile(None)
    if not config.DISABLE_JIT:
        ran = {name for name, kernel in jit.KERNELS.items() if kernel.overloads}
    print(
        json.dumps({"kernels": sorted(jit.KERNELS), "ran": sorted(ran), "refused": refused, "wrong": wrong})
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
