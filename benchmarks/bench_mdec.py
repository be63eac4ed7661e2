"""MDEC: making members against a plain loop, the consensus functions on large ensembles, and eigensolvers.

    python -m benchmarks.bench_mdec                  everything
    python -m benchmarks.bench_mdec members          only rows whose case starts with this word

members    100 members on Multiple Features (2,000 x 649) and 20 on USPS (11,000 x 256). "cut": the spectral
           clustering of ready-made affinities, ours side by side on threads, against a loop over
           scikit-learn's SpectralClustering on the same affinities with the same numbers of clusters.
           "whole": all of ours (subspaces, neighbors, kernels, cut) against that loop with affinities made
           the plain way: all distances, and np.argpartition. The loop runs on every 10th (5th) member and its
           time is scaled to all. Both may use all cores.
consensus  LWEA, LWSC and LWGP on 20,000 objects x 100 clusterings (letter recognition).
million    LWGP on 1,000,000 x 100 synthetic labels: 20 planted clusters, members of 10 to 30, one label in
           five scrambled, so that all rows differ.
search     12 nearest neighbors of 11,000 and of 70,000 digits in half of the pixels: nearby groups only,
           against all pairs (ours too), CPU seconds of one thread.
solver     20 and 90 leading eigenvectors of member graphs: ours (factors or polynomials) against ARPACK,
           CPU seconds of one thread.

NMI is by the larger entropy. CPU seconds are given beside elapsed ones: on a shared machine they are the
fairer figure. Data: beside the checkout (CONSILIENCE_SHARED, or ../shared), else synthetic ones of the same
shape.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from ._measure import SHARED, alone, table

HEADS = (
    "case",
    "objects",
    "seconds",
    "CPU",
    "theirs",
    "their CPU",
    "speed-up",
    "CPU ratio",
    "peak GB",
    "NMI",
)


def features(name: str, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    file = SHARED / "data" / f"{name}.npz"
    if file.is_file():
        with np.load(file) as held:
            return held["X"], held["y"]
    from sklearn.datasets import make_blobs

    return make_blobs(*shape, centers=10, cluster_std=8.0, random_state=0)


def clocks() -> np.ndarray:
    return np.array([time.perf_counter(), time.process_time()])


def compared(ours: np.ndarray, theirs: np.ndarray) -> dict:
    """Both pairs of clocks, and their ratios."""
    return {
        "seconds": ours[0],
        "CPU": ours[1],
        "theirs": theirs[0],
        "their CPU": theirs[1],
        "speed-up": theirs[0] / ours[0],
        "CPU ratio": theirs[1] / ours[1],
    }


def plain_affinity(Z: np.ndarray, k: int, mu: float):
    """W of the authors' kernel from full matrices.

    Squared distances, neighbors, densities, and the k largest of them.
    """
    import scipy.sparse as sp
    from sklearn.metrics.pairwise import euclidean_distances

    n = len(Z)
    D = euclidean_distances(Z, squared=True)
    np.fill_diagonal(D, np.inf)
    radius = np.partition(D, k - 1, axis=1)[:, :k].mean(axis=1)
    np.fill_diagonal(D, 0.0)
    s = mu * ((radius[:, None] + radius + D) / 3 + np.finfo(float).eps)
    W = np.exp(-0.5 * (D / s) ** 2) / (np.sqrt(2 * np.pi) * s)
    np.fill_diagonal(W, 0.0)
    kept = np.argpartition(W, n - k, axis=1)[:, n - k :]
    rows = np.repeat(np.arange(n), k)
    W = sp.csr_array((W[rows, kept.ravel()], (rows, kept.ravel())), shape=(n, n))
    return W.maximum(W.T)


def members(name: str, n: int, d: int, m: int, step: int) -> list[dict]:
    """Our members, whole and from ready-made affinities, then the plain loop on every ``step``-th of them."""
    import warnings

    from sklearn.cluster import SpectralClustering

    import consilience as cs
    from consilience._kernels.runtime.threads import map_tasks, one_blas_thread
    from consilience.generate._metric_subspace import affinity, spectral_cut

    X, y = features(name, (n, d))
    cs.generate.metric_subspace(X[:300], n_clusterings=2, random_state=0)  # compiled before the clock starts
    start = clocks()
    ensemble = cs.generate.metric_subspace(X, n_clusterings=m, random_state=0)
    whole = clocks() - start
    scale = 2.0 ** -float(np.frexp(float(np.abs(X).max()))[1])  # as ours brings any unit near one
    recipes = ensemble.recipes

    def rows(recipe: dict) -> np.ndarray:
        return np.ascontiguousarray(X[:, recipe["features"]], dtype=np.float64) * scale

    def graph(recipe: dict):
        return affinity(rows(recipe), recipe["n_neighbors"], recipe["scale"], recipe["kernel"])

    with one_blas_thread():
        graphs = map_tasks(graph, recipes, n_jobs=None)
        start = clocks()
        map_tasks(
            lambda i: spectral_cut(
                graphs[i], recipes[i]["n_clusters"], rows(recipes[i]), seed=recipes[i]["seed"]
            ),
            list(range(m)),
            n_jobs=None,
        )
        cut = clocks() - start
    making, cutting, theirs = np.zeros(2), np.zeros(2), []
    for i in range(0, m, step):
        recipe = recipes[i]
        start = clocks()
        plain_affinity(rows(recipe), recipe["n_neighbors"], recipe["scale"])
        making += clocks() - start
        start = clocks()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SpectralClustering(recipe["n_clusters"], affinity="precomputed", random_state=0).fit(
                graphs[i]
            )
        cutting += clocks() - start
        theirs.append(model.labels_)
    base = [cs.metrics.scores(y, labels)["nmi_max"] for labels in ensemble.labels[:, ::step].T]
    other = [cs.metrics.scores(y, labels)["nmi_max"] for labels in theirs]
    found = []
    for what, ours, loop in (("cut", cut, cutting), ("whole", whole, making + cutting)):
        loop = loop * m / len(theirs)
        found.append(
            {
                "case": f"members: {m} of {name}, {what}",
                "objects": X.shape[0],
                **compared(ours, loop),
                "NMI": f"{np.mean(base):.3f} (theirs {np.mean(other):.3f})",
            }
        )
    return found


def consensus(method: str) -> dict:
    import consilience as cs

    file = SHARED / "data" / "pool_lr.npz"
    if file.is_file():
        with np.load(file) as held:
            labels, y = held["labels"], held["y"]
    else:
        labels, y = synthetic(20_000, 100)
    options: dict[str, Any] = {} if method == "LWEA" else {"random_state": 0}
    make = getattr(cs.consensus, method)
    make(2, **options).fit(labels[:200, :5])
    start = clocks()
    model = make(np.unique(y).size, instability_tolerance=0.4, **options).fit(labels)
    used = clocks() - start
    return {
        "case": f"consensus: {method}, 100 clusterings ({model.distinct_.n_samples} distinct)",
        "objects": labels.shape[0],
        "seconds": used[0],
        "CPU": used[1],
        "NMI": f"{cs.metrics.scores(y, model.labels_)['nmi_max']:.3f}",
    }


def synthetic(n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 20, n)
    labels = np.empty((n, m), np.int16)
    for i in range(m):
        k = int(rng.integers(10, 31))
        own = rng.integers(0, k, 20)[truth]
        scrambled = rng.random(n) < 0.2
        own[scrambled] = rng.integers(0, k, int(scrambled.sum()))
        labels[:, i] = own
    return labels, truth


def million(n: int = 1_000_000) -> dict:
    import consilience as cs

    small, _ = synthetic(500, 5)
    cs.consensus.LWGP(2, random_state=0).fit(small)
    labels, truth = synthetic(n, 100)
    start = clocks()
    model = cs.consensus.LWGP(20, random_state=0).fit(labels)
    used = clocks() - start
    return {
        "case": f"million: LWGP, 100 clusterings ({model.distinct_.n_samples} distinct)",
        "objects": n,
        "seconds": used[0],
        "CPU": used[1],
        "NMI": f"{cs.metrics.scores(truth, model.labels_)['nmi_max']:.3f}",
    }


def search(name: str, n: int, d: int) -> dict:
    from consilience._kernels.neighbors.search import Pairs, nearby_cells, nearest
    from consilience._kernels.runtime.threads import one_blas_thread

    X = np.ascontiguousarray(features(name, (n, d))[0][:, ::2], dtype=np.float64)
    with one_blas_thread():
        nearest(Pairs(X[:300], nearby_cells(X[:300], 5, 0)), 5)
        start = clocks()
        found, _ = nearest(Pairs(X, nearby_cells(X, 12, 0)), 12)
        ours = clocks() - start
        start = clocks()
        exact, _ = nearest(Pairs(X), 12)
        theirs = clocks() - start
    recall = np.mean([np.isin(a, b).mean() for a, b in zip(found, exact)])
    return {
        "case": f"search: nearby groups against all pairs (recall {recall:.3f})",
        "objects": len(X),
        **compared(ours, theirs),
    }


def solver(n: int, k: int, mu: float, count: int) -> dict:
    import scipy.sparse as sp
    from scipy.sparse.csgraph import connected_components
    from scipy.sparse.linalg import eigsh

    from consilience._kernels.eigen import graph_eigenvectors
    from consilience._kernels.runtime.threads import one_blas_thread
    from consilience.generate._metric_subspace import affinity

    X = features("usps11000", (11_000, 256))[0][:n].astype(float)
    with one_blas_thread():
        W = affinity(np.ascontiguousarray(X[:, ::2]), k, mu)
        degree = np.asarray(W.sum(axis=1)).ravel()
        root = sp.diags_array(degree**-0.5)
        N = sp.csr_array(root @ W @ root)
        pieces, piece = connected_components(N)
        known = np.zeros((n, pieces))
        known[np.arange(n), piece] = np.sqrt(degree)
        known /= np.linalg.norm(known, axis=0)
        graph_eigenvectors(N, 2, known=known)
        start = clocks()
        found = graph_eigenvectors(N, count, known=known)
        ours = clocks() - start
        start = clocks()
        values, _ = eigsh(N, count + pieces, which="LA", tol=1e-5, v0=np.ones(n))
        theirs = clocks() - start
    gap = float(np.abs(np.sort(values)[::-1][pieces:] - found.values).max())
    return {
        "case": f"solver: {count} vectors, k={k}, mu={mu} (values differ by {gap:.0e})",
        "objects": n,
        **compared(ours, theirs),
    }


PLAN: dict[str, list[tuple]] = {
    "members": [
        (members, "mf_multiple_features", 2000, 649, 100, 10),
        (members, "usps11000", 11_000, 256, 20, 5),
    ],
    "consensus": [(consensus, "LWEA"), (consensus, "LWSC"), (consensus, "LWGP")],
    "million": [(million,)],
    "search": [(search, "usps11000", 11_000, 256), (search, "mnist70000", 70_000, 784)],
    "solver": [
        (solver, n, k, mu, c) for n in (1400, 11_000) for k, mu in ((7, 0.3), (15, 0.6)) for c in (20, 90)
    ],
}


def run(only: str = "") -> list[dict]:
    """One row per case, each in a process of its own."""
    rows = []
    for group, tasks in PLAN.items():
        if not group.startswith(only):
            continue
        for call, *arguments in tasks:
            _, held, found = alone(call, *arguments)
            for row in found if isinstance(found, list) else [found]:
                row["peak GB"] = held / 1e9
                rows.append({head: row.get(head, "") for head in HEADS})
    return rows


if __name__ == "__main__":
    print(table(run(sys.argv[1] if len(sys.argv) > 1 else "")))
