"""Measures at ten million labels: time against scikit-learn's functions and against one pass over memory.

    python benchmarks/bench_metrics.py [--quick]

Both sides of a comparison run in turns, three times after one that is not counted, and the best of each is shown.
"agree" is the largest difference of the values compared: a fast wrong answer is a regression.
"""

from __future__ import annotations

import argparse
import os
import time
import tracemalloc

import numpy as np
from sklearn import metrics as sk

from consilience import metrics
from consilience.ensemble import Ensemble
from consilience.kernels.information import pairwise_measure
from consilience.labels import encode


def race(*functions, repeat=3):
    """[(seconds, value) of each function]: the best of several runs, taken in turns so that load hits all alike."""
    values = [function() for function in functions]
    seconds = [[] for _ in functions]
    for _ in range(repeat):
        for function, taken in zip(functions, seconds):
            start = time.perf_counter()
            function()
            taken.append(time.perf_counter() - start)
    return [(min(taken), value) for taken, value in zip(seconds, values)]


def noisy(n, k, rng):
    truth = rng.integers(0, k, n)
    return np.where(rng.random(n) < 0.7, truth, rng.integers(0, k, n)), truth


def all_scores(n, rng):
    print(f"\nscores(labels, truth), n = {n:,} int64 labels, 30% noise; seconds")
    print(
        "   k  bincount(labels)    table   scores  scores/bincount | sklearn ari+nmi   ratio  agree | peak MB"
    )
    for k in (10, 50, 1000):
        one_size(k, *noisy(n, k, rng))


def one_size(k, labels, truth):
    (floor, _), (table, _), (ours, found), (theirs, (ari, nmi)) = race(
        lambda: np.bincount(labels),
        lambda: metrics.contingency_table(labels, truth),
        lambda: metrics.scores(labels, truth),
        lambda: (sk.adjusted_rand_score(truth, labels), sk.normalized_mutual_info_score(truth, labels)),
    )
    tracemalloc.start()
    metrics.scores(labels, truth)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    agree = max(abs(found["ari"] - ari), abs(found["nmi_arithmetic"] - nmi))
    print(
        f"{k:4d} {floor:17.4f} {table:8.4f} {ours:8.4f} {ours / floor:16.2f} | {theirs:15.3f} {theirs / ours:6.0f}x  "
        f"{agree:.0e} | {peak:7.1f}"
    )


def compare(name, ours, theirs, equal):
    (fast, found), (slow, expected) = race(ours, theirs)
    print(f"  {name:34s} {fast:8.4f} {slow:9.3f} {slow / fast:7.1f}x   {equal(found, expected)}")


def chance(n, rng):
    print(f"\nami, n = {n:,}; seconds, against scikit-learn; difference of the values")
    for k in (10, 50):
        labels, truth = noisy(n, k, rng)
        compare(
            f"k = {k}",
            lambda labels=labels, truth=truth: metrics.ami(labels, truth),
            lambda labels=labels, truth=truth: sk.adjusted_mutual_info_score(truth, labels),
            lambda a, b: f"{abs(a - b):.0e}",
        )


def other_tables(n, rng):
    print(
        f"\ncontingency_table, n = {n:,}; seconds, against scikit-learn's contingency_matrix(sparse=True); equal"
    )
    labels, truth = noisy(n, 50, rng)
    words = np.array([f"class {i}" for i in range(50)])
    cases = {
        "int16": (labels.astype(np.int16), truth.astype(np.int16)),
        "sorted (equal neighbours)": (np.sort(labels), np.sort(truth)),
        "values up to 10^15": (labels * (10**15 // 50), truth),
        "float": (labels / 7.0, truth),
        "text": (words[labels], truth),
        "n / 10 clusters each": (rng.integers(0, n // 10, n), rng.integers(0, n // 10, n)),
        "singletons each": (rng.permutation(n), np.arange(n)),
    }
    for name, (a, b) in cases.items():
        compare(
            name,
            lambda a=a, b=b: metrics.contingency_table(a, b),
            lambda a=a, b=b: sk.cluster.contingency_matrix(a, b, sparse=True),
            lambda found, expected: (found.tocsr() != expected).nnz == 0,
        )


def codes(n, rng):
    print(f"\nlabels.encode, n = {n:,}; seconds, against np.unique(return_inverse=True); equal")
    values = rng.integers(0, 1000, n)
    cases = {
        "int, range 1000": values,
        "int, spread to 10^15": values * 10**12,
        "float": values / 7.0,
        "text": values.astype(str),
        "objects": values.astype(str).astype(object),
    }
    for name, array in cases.items():
        compare(
            name,
            lambda array=array: encode(array, "labels"),
            lambda array=array: np.unique(array, return_inverse=True),
            lambda found, expected: np.array_equal(found[0], expected[1]),
        )


def inside(n, rng):
    m = 20
    truth = rng.integers(0, 10, n)
    L = np.where(rng.random((n, m)) < 0.7, truth[:, None], rng.integers(0, 10, (n, m)))
    ensemble = Ensemble(L)
    print(
        f"\nAn ensemble of n = {n:,}, m = {m}, k = 10; seconds, against a loop over scikit-learn; difference"
    )
    for name in ("anmi", "object_stability", "cluster_stability"):
        function = getattr(metrics, name)
        ((seconds, _),) = race(lambda function=function: function(truth, ensemble))
        print(f"  {name:34s} {seconds:8.4f}")
    compare(
        "base_scores (against its ARI alone)",
        lambda: metrics.base_scores(ensemble, truth),
        lambda: [sk.adjusted_rand_score(truth, column) for column in L.T],
        lambda found, expected: f"{np.abs(found['ari'] - expected).max():.0e}",
    )
    part = Ensemble(L[: n // 10])
    for measure, reference in (("nmi", sk.normalized_mutual_info_score), ("ari", sk.adjusted_rand_score)):
        compare(
            f"pairwise {measure}, n = {n // 10:,}",
            lambda measure=measure: pairwise_measure(part.labels, part.n_clusters, measure),
            lambda reference=reference: [
                reference(part.labels[:, i], part.labels[:, j]) for i in range(m) for j in range(i)
            ],
            lambda found, expected: f"{np.abs(found[np.tril_indices(m, -1)] - expected).max():.0e}",
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a hundredth of the size, to see that it runs")
    n = 10**5 if parser.parse_args().quick else 10**7
    rng = np.random.default_rng(0)
    print(f"load average at the start: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    all_scores(n, rng)
    chance(n // 10, rng)
    other_tables(n // 10, rng)
    codes(n // 10, rng)
    inside(n // 10, rng)


if __name__ == "__main__":
    main()
