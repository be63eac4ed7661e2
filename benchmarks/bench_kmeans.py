"""Many k-means runs: our kernel against a loop over scikit-learn's KMeans, in the same process.

    python -m benchmarks.bench_kmeans              k = 10 with 20 runs, k = 100 with 4, all cores
    python -m benchmarks.bench_kmeans --runs 5     fewer runs for a first look
    python -m benchmarks.bench_kmeans --threads 1  one thread each: on a busy machine compare CPU seconds so
    python -m benchmarks.bench_kmeans --rows       1,000,000 x 16: one run with k = 40 from the same start on
                                                   both sides, and --runs (20) runs with k = 20..60; with the
                                                   floor, one pass over X an iteration
    python -m benchmarks.bench_kmeans --grid       one run from the same start: n = 100,000 and 1,000,000, d =
                                                   4, 16, 32, k = 10, 40, 100, with and without clusters to
                                                   find (--threads 1 for CPU seconds), beside what an
                                                   iteration cannot take less than; --sizes, --widths and -k
                                                   choose cells
    python -m benchmarks.bench_kmeans --small      100 runs with k in [2, sqrt(n)] on data that fits a core's
                                                   cache, compiled runs, shared passes and scikit-learn

Data: the 70,000 x 784 digits beside the checkout (CONSILIENCE_SHARED, or ../shared), else synthetic data of
the same shape. Both sides get float32, the same k, tol, max_iter, k-means++ and threads; starts differ, as
their random numbers do, and so iterations do a little: hence also times per iteration. The rate counts 2 n d
k operations for each iteration, as if every distance were computed in full, over that of a large float32
product measured just before, both per CPU second; with bounds it may exceed 1.
"""

from __future__ import annotations

import argparse
import itertools
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ._measure import SHARED, table

MAX_ITER, TOL = 300, 1e-4
SHAPE = (70_000, 784)


def data() -> tuple[np.ndarray, str]:
    """X and a word on what it is."""
    file = SHARED / "data" / "mnist70000.npz"
    if file.is_file():
        with np.load(file) as archive:
            return archive["X"].astype(np.float32), "mnist70000"
    rng = np.random.default_rng(0)
    n, d = SHAPE
    basis = rng.normal(size=(40, d)).astype(np.float32)
    core = rng.normal(size=(30, 40))[rng.integers(30, size=n)] + rng.normal(size=(n, 40))
    noise = rng.standard_normal((n, d), dtype=np.float32)
    return core.astype(np.float32) @ basis + noise, "synthetic (mnist70000 not found)"


def clocked(call: Callable[[], Any]) -> tuple[float, float, Any]:
    """(seconds, CPU seconds of all threads, result)."""
    start, cpu = time.perf_counter(), time.process_time()
    result = call()
    return time.perf_counter() - start, time.process_time() - cpu, result


def product_rate() -> float:
    """Operations per CPU second of a float32 product of 4,000 x 4,000."""
    A = np.random.default_rng(0).random((4000, 4000), dtype=np.float32)
    return 2 * 4000.0**3 / min(clocked(lambda: A @ A)[1] for _ in range(4))


def measure(X: np.ndarray, k: int, runs: int, threads: int | None) -> list[dict]:
    """Two rows of the table: ours, and the loop."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    from consilience._kernels.kmeans import many_kmeans

    def loop() -> tuple[np.ndarray, np.ndarray]:
        options = {"n_init": 1, "max_iter": MAX_ITER, "tol": TOL}
        models = [KMeans(k, random_state=seed, **options).fit(X) for seed in range(runs)]
        return np.array([model.inertia_ for model in models]), np.array([model.n_iter_ for model in models])

    with threadpool_limits(threads):
        rate = product_rate()
        wall, cpu, found = clocked(
            lambda: many_kmeans(X, [k] * runs, seeds=range(runs), max_iter=MAX_ITER, tol=TOL, n_jobs=threads)
        )
        their_wall, their_cpu, (inertia, n_iter) = clocked(loop)
    sides = [
        ("consilience", wall, cpu, found.inertia, found.n_iter),
        ("scikit-learn", their_wall, their_cpu, inertia, n_iter),
    ]
    return [
        {
            "k": k,
            "runs": runs,
            "what": name,
            "s": seconds,
            "CPU s": busy,
            "faster": their_wall / seconds,
            "faster in CPU": their_cpu / busy,
            "iterations": int(iterations.sum()),
            "ms/iteration": 1e3 * seconds / iterations.sum(),
            "CPU ms/iteration": 1e3 * busy / iterations.sum(),
            "mean inertia": f"{costs.mean() / inertia.mean():.4f}",
            "of product rate": 2.0 * X.size * k * iterations.sum() / busy / rate,
            "product Gflop/CPU s": rate / 1e9,
        }
        for name, seconds, busy, costs, iterations in sides
    ]


def run(runs: int | None = None, ks: tuple[int, ...] = (10, 100), threads: int | None = None) -> list[dict]:
    """All rows; ``runs`` replaces the numbers of runs given above."""
    from consilience._kernels.kmeans import many_kmeans

    X, name = data()
    print(
        f"{name}, {X.shape[0]} x {X.shape[1]}; load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} "
        f"cores\n"
    )
    many_kmeans(X[:3000], [3], seeds=[0])  # compiled before the clock starts
    return [row for k in ks for row in measure(X, k, runs or (20 if k <= 10 else 4), threads)]


def narrow_sets(n: int, d: int, k: int) -> dict[str, np.ndarray]:
    """Rows in k overlapping blobs, and rows of one cloud."""
    from sklearn.datasets import make_blobs

    return {
        "blobs": make_blobs(n, d, centers=k, cluster_std=3.0, random_state=0)[0].astype(np.float32),
        "no clusters": np.random.default_rng(0).standard_normal((n, d), dtype=np.float32),
    }


def bare(X: np.ndarray, k: int) -> tuple[float, float]:
    """CPU seconds of one pass over X, a sum, and of the products of its rows with k centers.

    Products go by blocks that stay in cache.
    """
    C = np.ascontiguousarray(X[:k].T)
    out = np.empty((1024, k), dtype=X.dtype)

    def products() -> None:
        for first in range(0, len(X) - 1023, 1024):
            np.dot(X[first : first + 1024], C, out=out)

    one_pass = min(clocked(lambda: X.sum(dtype=X.dtype))[1] for _ in range(5))
    return one_pass, min(clocked(products)[1] for _ in range(3))


def grid(
    sizes: tuple[int, ...] = (100_000, 1_000_000),
    widths: tuple[int, ...] = (4, 16, 32),
    ks: tuple[int, ...] = (10, 40, 100),
    threads: int | None = None,
) -> list[dict]:
    """One run from the same start on both sides, for every size.

    What an iteration cannot take less than: one pass over X. What one that computes every distance cannot:
    that and the products with all centers. Where scikit-learn's iteration is less than five times either, so
    far is out of reach that way.
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    from consilience._kernels.kmeans import many_kmeans

    rows = []
    for n, d, k in itertools.product(sizes, widths, ks):
        for name, X in narrow_sets(n, d, k).items():
            many_kmeans(X[:20_000], [3], seeds=[0], n_jobs=threads)  # compiled before the clock starts
            start = X[np.random.default_rng(0).choice(n, k, replace=False)].astype(np.float64)
            with threadpool_limits(threads):
                wall, busy, found = clocked(
                    lambda X=X, start=start, k=k: many_kmeans(X, [k], inits=[start], n_jobs=threads)
                )
                their_wall, their_busy, model = clocked(
                    lambda X=X, start=start, k=k: KMeans(
                        k, init=start, n_init=1, max_iter=MAX_ITER, tol=TOL
                    ).fit(X)
                )
                one_pass, products = bare(X, k)
            each, their_each = busy / found.n_iter[0], their_busy / model.n_iter_
            rows.append(
                {
                    "data": name,
                    "n": n,
                    "d": d,
                    "k": k,
                    "s": wall,
                    "CPU s": busy,
                    "faster": their_wall / wall,
                    "faster in CPU": their_busy / busy,
                    "faster in CPU, an iteration": their_each / each,
                    "ns a row and iteration": 1e9 * each / n,
                    "scikit-learn's": 1e9 * their_each / n,
                    "one pass over X": 1e9 * one_pass / n,
                    "bare products": 1e9 * products / n,
                    "theirs / pass": their_each / one_pass,
                    "theirs / (pass + products)": their_each / (one_pass + products),
                    "ours / pass": each / one_pass,
                    "iterations": int(found.n_iter[0]),
                    "theirs": int(model.n_iter_),
                    "inertia": f"{found.inertia[0] / model.inertia_:.6f}",
                }
            )
    return rows


def many_rows(n: int = 1_000_000, runs: int = 20, threads: int | None = None) -> list[dict]:
    """Many rows of few columns, with and without clusters to find.

    The floor is one pass over X in single precision for each iteration of the run that takes most of them,
    for all runs together; it is measured as a sum over X.
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    from consilience._kernels.kmeans import many_kmeans

    rng = np.random.default_rng(0)
    sets = narrow_sets(n, 16, 40)
    ks = rng.integers(20, 61, runs)
    options: dict[str, Any] = {"n_init": 1, "max_iter": MAX_ITER, "tol": TOL}
    rows = []
    for name, X in sets.items():
        many_kmeans(X[:20_000], [3], seeds=[0])  # compiled before the clock starts
        start = X[rng.choice(n, 40, replace=False)].astype(np.float64)
        ours = {
            "same start": lambda X=X, start=start: many_kmeans(X, [40], inits=[start], n_jobs=threads),
            f"{runs} runs": lambda X=X: many_kmeans(X, ks, seeds=range(runs), n_jobs=threads),
        }
        theirs = {
            "same start": lambda X=X, start=start: [KMeans(40, init=start, **options).fit(X)],
            f"{runs} runs": lambda X=X: [
                KMeans(int(k), random_state=i, **options).fit(X) for i, k in enumerate(ks)
            ],
        }
        with threadpool_limits(threads):
            one_pass = min(clocked(lambda X=X: X.sum(dtype=np.float32))[0] for _ in range(5))
            for what, call in ours.items():
                wall, busy, found = clocked(call)
                their_wall, their_busy, models = clocked(theirs[what])
                their_iterations = sum(model.n_iter_ for model in models)
                rows.append(
                    {
                        "data": name,
                        "what": what,
                        "s": wall,
                        "CPU s": busy,
                        "scikit-learn, s": their_wall,
                        "CPU s ": their_busy,
                        "faster": their_wall / wall,
                        "faster in CPU": their_busy / busy,
                        "CPU ms/iteration": 1e3 * busy / found.n_iter.sum(),
                        "theirs": 1e3 * their_busy / their_iterations,
                        "iterations": int(found.n_iter.sum()),
                        "theirs ": int(their_iterations),
                        "inertia": f"{found.inertia.mean() / np.mean([m.inertia_ for m in models]):.4f}",
                        "floor, s": one_pass * int(found.n_iter.max()),
                    }
                )
    return rows


def small(runs: int = 100) -> list[dict]:
    """Each small set the three ways; where compiled runs stop winning is where data stops being small."""
    from sklearn.cluster import KMeans
    from sklearn.datasets import load_digits, load_iris, make_blobs

    from consilience._kernels.kmeans import many_kmeans
    from consilience._kernels.kmeans import small as kmeans_small

    sets = {"iris": load_iris().data, "digits": load_digits().data}
    for n, d in ((2000, 8), (600, 400), (4000, 64), (8000, 32), (30_000, 8)):
        sets[f"blobs {n} x {d}"] = make_blobs(n, d, centers=10, cluster_std=6.0, random_state=0)[0]
    rows = []
    limits = kmeans_small.SMALL, kmeans_small.FEW_ROWS
    for name, X in sets.items():
        ks = np.random.default_rng(0).integers(2, int(len(X) ** 0.5) + 1, runs)
        found = {}
        for way, size in (("compiled runs", 2**30), ("shared passes", 0)):
            kmeans_small.SMALL = kmeans_small.FEW_ROWS = size
            many_kmeans(X, ks[:1], seeds=[0])
            seconds, busy, result = clocked(lambda X=X, ks=ks: many_kmeans(X, ks, seeds=range(runs)))
            found[way] = seconds, busy, result.inertia.mean()
        kmeans_small.SMALL, kmeans_small.FEW_ROWS = limits
        seconds, busy, models = clocked(
            lambda X=X, ks=ks: [KMeans(k, n_init=1, random_state=i).fit(X) for i, k in enumerate(ks)]
        )
        found["scikit-learn"] = seconds, busy, np.mean([model.inertia_ for model in models])
        rows += [
            {
                "data": name,
                "what": way,
                "s": s,
                "CPU s": cpu,
                "faster": seconds / s,
                "faster in CPU": busy / cpu,
                "mean inertia": f"{cost / found['scikit-learn'][2]:.4f}",
            }
            for way, (s, cpu, cost) in found.items()
        ]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, help="runs for every k (default: 20 at k = 10, 4 at k = 100)")
    parser.add_argument(
        "-k", type=int, nargs="+", help="numbers of clusters (default: 10 100; of the grid 10 40 100)"
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000], help="rows of the grid")
    parser.add_argument("--widths", type=int, nargs="+", default=[4, 16, 32], help="columns of the grid")
    parser.add_argument("--threads", type=int, help="threads of both sides (default: all cores)")
    parser.add_argument("--rows", action="store_true", help="many rows of few columns only")
    parser.add_argument("--grid", action="store_true", help="one run each on rows of few columns")
    parser.add_argument("--small", action="store_true", help="small data only")
    options = parser.parse_args()
    if options.small:
        print(table(small()))
        return
    if options.grid:
        cells = tuple(options.sizes), tuple(options.widths), tuple(options.k or (10, 40, 100))
        print(table(grid(*cells, threads=options.threads)))
        return
    if options.rows:
        print(table(many_rows(runs=options.runs or 20, threads=options.threads)))
        return
    print(table(run(options.runs, tuple(options.k or (10, 100)), options.threads)))


if __name__ == "__main__":
    main()
