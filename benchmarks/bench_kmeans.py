"""Many k-means runs: our kernel against a loop over scikit-learn's KMeans, in the same process.

    python -m benchmarks.bench_kmeans              k = 10 with 20 runs, k = 100 with 4
    python -m benchmarks.bench_kmeans --runs 5     fewer runs for a first look

Data: the 70,000 x 784 digits beside the checkout (CONSILIENCE_SHARED, or ../shared), else synthetic data of the
same shape. Both sides get float32, the same k, tol, max_iter, k-means++ and all cores; starts differ, as their random
numbers do. Reported: seconds, ratio, mean inertia, iterations, and the rate of useful work, counting 2 n d k
operations for each iteration, as a fraction of the rate of a large float32 product measured just before.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np

MAX_ITER, TOL = 300, 1e-4
SHAPE = (70_000, 784)


def data() -> tuple[np.ndarray, str]:
    """X and a word on what it is."""
    shared = Path(os.environ.get("CONSILIENCE_SHARED", Path(__file__).resolve().parents[2] / "shared"))
    file = shared / "data" / "mnist70000.npz"
    if file.is_file():
        with np.load(file) as archive:
            return archive["X"].astype(np.float32), "mnist70000"
    rng = np.random.default_rng(0)
    n, d = SHAPE
    basis = rng.normal(size=(40, d)).astype(np.float32)
    core = rng.normal(size=(30, 40))[rng.integers(30, size=n)] + rng.normal(size=(n, 40))
    noise = rng.standard_normal((n, d), dtype=np.float32)
    return core.astype(np.float32) @ basis + noise, "synthetic (mnist70000 not found)"


def gemm_rate() -> float:
    """Operations per second of a float32 product of 4,000 x 4,000 on all cores."""
    A = np.random.default_rng(0).random((4000, 4000), dtype=np.float32)
    best = 0.0
    for _ in range(4):
        start = time.perf_counter()
        A @ A
        best = max(best, 2 * 4000.0**3 / (time.perf_counter() - start))
    return best


def measure(X: np.ndarray, k: int, runs: int, theirs: int) -> dict:
    """One row of the table: ``runs`` runs of ours, ``theirs`` of scikit-learn's, scaled to the same number."""
    from sklearn.cluster import KMeans

    from consilience.kernels.kmeans import many_kmeans

    rate = gemm_rate()
    start = time.perf_counter()
    ours = many_kmeans(X, [k] * runs, seeds=range(runs), max_iter=MAX_ITER, tol=TOL)
    seconds = time.perf_counter() - start
    inertia, n_iter = [], []
    start = time.perf_counter()
    for seed in range(theirs):
        model = KMeans(k, n_init=1, max_iter=MAX_ITER, tol=TOL, random_state=seed).fit(X)
        inertia.append(model.inertia_)
        n_iter.append(model.n_iter_)
    loop = time.perf_counter() - start
    work = 2.0 * X.shape[0] * X.shape[1] * k
    return {
        "k": k,
        "runs": runs,
        "runs of scikit-learn": theirs,
        "seconds": seconds,
        "scikit-learn seconds": loop * runs / theirs,
        "speed-up": loop / theirs / (seconds / runs),
        "ms per iteration": 1e3 * seconds / ours.n_iter.sum(),
        "scikit-learn ms per iteration": 1e3 * loop / sum(n_iter),
        "speed-up per iteration": (loop / sum(n_iter)) / (seconds / ours.n_iter.sum()),
        "inertia ratio": float(ours.inertia.mean() / np.mean(inertia)),
        "iterations": float(ours.n_iter.mean()),
        "scikit-learn iterations": float(np.mean(n_iter)),
        "GEMM Gflop/s": rate / 1e9,
        "fraction of GEMM rate": float(work * ours.n_iter.sum() / seconds / rate),
        "scikit-learn fraction": float(work * sum(n_iter) / loop / rate),
    }


def run(runs: int | None = None) -> list[dict]:
    """All rows. ``runs`` replaces the numbers of runs given in the module's docstring."""
    from consilience.kernels.kmeans import many_kmeans

    X, name = data()
    many_kmeans(X[:3000], [3], seeds=[0])  # compiled before the clock starts
    plan = [(10, runs or 20), (100, runs or 4)]
    return [{"data": f"{name} {X.shape[0]} x {X.shape[1]}", **measure(X, k, m, m)} for k, m in plan]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, help="runs for every k (default: 20 at k = 10, 4 at k = 100)")
    options = parser.parse_args()
    for row in run(options.runs):
        print()
        for key, value in row.items():
            print(f"{key:32} {value:.4g}" if isinstance(value, float) else f"{key:32} {value}")


if __name__ == "__main__":
    main()
