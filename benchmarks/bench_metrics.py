"""Measures at ten million labels: time against scikit-learn's functions and against one pass over memory.

    python -m benchmarks.bench_metrics [--quick]

Both sides of a comparison run in turns, three times after one that is not counted, and the best of each is
shown. "agree" is the largest difference of the values compared: a fast wrong answer is a regression.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc

import numpy as np
from sklearn import metrics as sk

from consilience import metrics
from consilience._data.ensemble import Ensemble
from consilience._data.labels import encode
from consilience._kernels.labels.information import pairwise_measure

from ._measure import table


def race(*functions, repeat=3):
    """[(seconds, value) of each function]: the best of several runs, in turns so that load hits all alike."""
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


def compared(what, n, ours, theirs, equal):
    """A row: seconds of both, and how far their answers are apart."""
    (fast, found), (slow, expected) = race(ours, theirs)
    return {
        "what": what,
        "n": n,
        "s": fast,
        "theirs, s": slow,
        "faster": slow / fast,
        "agree": equal(found, expected),
    }


def apart(a, b):
    return f"{np.abs(np.subtract(a, b)).max():.0e}"


def all_scores(n, rng):
    """All eight against two of scikit-learn's; one ``bincount`` is what a pass over memory takes."""
    for k in (10, 50, 1000):
        labels, truth = noisy(n, k, rng)
        row = compared(
            f"scores, 30% noise, k = {k}: ari and nmi of scikit-learn",
            n,
            lambda labels=labels, truth=truth: metrics.scores(truth, labels),
            lambda labels=labels, truth=truth: (
                sk.adjusted_rand_score(truth, labels),
                sk.normalized_mutual_info_score(truth, labels),
            ),
            lambda found, expected: apart([found["ari"], found["nmi"]], expected),
        )
        ((floor, _),) = race(lambda labels=labels: np.bincount(labels))
        tracemalloc.start()
        metrics.scores(truth, labels)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        yield {**row, "passes": row["s"] / floor, "peak MB": peak}


def chance(n, rng):
    for k in (10, 50):
        labels, truth = noisy(n, k, rng)
        yield compared(
            f"ami, k = {k}",
            n,
            lambda labels=labels, truth=truth: metrics.ami(truth, labels),
            lambda labels=labels, truth=truth: sk.adjusted_mutual_info_score(truth, labels),
            apart,
        )


def other_tables(n, rng):
    """Against contingency_matrix(sparse=True)."""
    labels, truth = noisy(n, 50, rng)
    words = np.array([f"class {i}" for i in range(50)])
    cases = {
        "int16": (labels.astype(np.int16), truth.astype(np.int16)),
        "sorted (equal neighbors)": (np.sort(labels), np.sort(truth)),
        "values up to 10^15": (labels * (10**15 // 50), truth),
        "float": (labels / 7.0, truth),
        "text": (words[labels], truth),
        "n / 10 clusters each": (rng.integers(0, n // 10, n), rng.integers(0, n // 10, n)),
        "singletons each": (rng.permutation(n), np.arange(n)),
    }
    for name, (a, b) in cases.items():
        yield compared(
            f"contingency_table, {name}",
            n,
            lambda a=a, b=b: metrics.contingency_table(a, b),
            lambda a=a, b=b: sk.cluster.contingency_matrix(a, b, sparse=True),
            lambda found, expected: (found.tocsr() != expected).nnz == 0,
        )


def codes(n, rng):
    """Against np.unique(return_inverse=True)."""
    values = rng.integers(0, 1000, n)
    cases = {
        "int, range 1000": values,
        "int, spread to 10^15": values * 10**12,
        "float": values / 7.0,
        "text": values.astype(str),
        "objects": values.astype(str).astype(object),
    }
    for name, array in cases.items():
        yield compared(
            f"encode, {name}",
            n,
            lambda array=array: encode(array, "labels"),
            lambda array=array: np.unique(array, return_inverse=True),
            lambda found, expected: np.array_equal(found[0], expected[1]),
        )


def inside(n, rng):
    """Measures of an ensemble against a loop over scikit-learn's, where it has one."""
    m = 20
    truth = rng.integers(0, 10, n)
    L = np.where(rng.random((n, m)) < 0.7, truth[:, None], rng.integers(0, 10, (n, m)))
    ensemble = Ensemble(L)
    for name in ("anmi", "sample_stability", "cluster_stability"):
        function = getattr(metrics, name)
        ((seconds, _),) = race(lambda function=function: function(truth, ensemble))
        yield {"what": f"{name}, m = {m}", "n": n, "s": seconds}
    yield compared(
        f"base_scores, m = {m}, against its ARI alone",
        n,
        lambda: metrics.base_scores(ensemble, truth),
        lambda: [sk.adjusted_rand_score(truth, column) for column in L.T],
        lambda found, expected: apart(found["ari"], expected),
    )
    part = Ensemble(L[: n // 10])
    for measure, reference in (("nmi", sk.normalized_mutual_info_score), ("ari", sk.adjusted_rand_score)):
        yield compared(
            f"all pairs of {m} by {measure}",
            n // 10,
            lambda measure=measure: pairwise_measure(part.labels, part.n_clusters_per_clustering, measure),
            lambda reference=reference: [
                reference(part.labels[:, i], part.labels[:, j]) for i in range(m) for j in range(i)
            ],
            lambda found, expected: apart(found[np.tril_indices(m, -1)], expected),
        )


def run(n=10**7):
    rng = np.random.default_rng(0)
    parts = ((all_scores, n), (chance, n // 10), (other_tables, n // 10), (codes, n // 10), (inside, n // 10))
    return [row for part, size in parts for row in part(size, rng)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a hundredth of the size, to see that it runs")
    print(table(run(10**5 if parser.parse_args().quick else 10**7)))
