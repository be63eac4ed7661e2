"""Signature compression against np.unique(axis=0): 10 million x 20 int16 labels.

The labels are those of 20 clusterings of up to 30 clusters with 200,000 frequent signatures, 30% of the
objects having one label changed: about 2.2 million distinct rows. Run: python -m benchmarks.bench_signatures
"""

from __future__ import annotations

import sys

import numpy as np

from ._measure import alone, peak, resident, table

N, M = 10_000_000, 20


def make_labels(n: int = N, m: int = M) -> np.ndarray:
    rng = np.random.default_rng(0)
    frequent = rng.integers(0, 30, (max(n // 50, 1), m), dtype=np.int16)
    labels = frequent[rng.integers(0, len(frequent), n)]
    changed = np.flatnonzero(rng.random(n) < 0.3)
    labels[changed, rng.integers(0, m, changed.size)] = 0
    return labels


def copy_once(n: int) -> int:
    """The floor: read and write the label matrix once."""
    import time

    labels = make_labels(n)
    start = time.perf_counter()
    labels.copy()
    return time.perf_counter() - start


def ours(n: int, n_jobs: int | None, whole: bool) -> tuple[float, float, int]:
    """Seconds, peak memory (labels included) over the size of the labels, distinct rows.

    ``whole`` builds the Ensemble, which checks and copies the labels, and compresses it.
    """
    import time

    import consilience as cs
    from consilience._kernels.labels.distinct import unique_rows

    cs.Ensemble(make_labels(1000)).distinct(n_jobs=n_jobs)  # compile
    before = resident()
    labels = make_labels(n)
    start = time.perf_counter()
    if whole:
        distinct = cs.Ensemble(labels).distinct(n_jobs=n_jobs).n_samples
    else:
        distinct = unique_rows(labels, n_jobs=n_jobs)[0].size
    seconds = time.perf_counter() - start
    return seconds, (peak() - before) / labels.nbytes, distinct


def numpy_unique(n: int) -> tuple[float, int]:
    import time

    labels = make_labels(n)
    start = time.perf_counter()
    rows, _, _ = np.unique(labels, axis=0, return_inverse=True, return_counts=True)
    return time.perf_counter() - start, len(rows)


def run(n: int = N) -> list[dict]:
    """One row per way; `ratio` is numpy's seconds over this way's."""
    _, _, (slow, found) = alone(numpy_unique, n)
    rows = [{"way": "np.unique(axis=0)", "seconds": slow, "ratio": 1.0, "distinct": found}]
    ways = {
        "unique_rows, n_jobs=1": (1, False),
        "unique_rows": (None, False),
        "Ensemble(labels).distinct()": (None, True),
    }
    for way, options in ways.items():
        _, _, (seconds, share, distinct) = alone(ours, n, *options)
        rows.append(
            {
                "way": way,
                "seconds": seconds,
                "ratio": slow / seconds,
                "distinct": distinct,
                "memory / labels": share,
            }
        )
    rows.append(
        {"way": "copying the labels once", "seconds": (s := alone(copy_once, n)[2]), "ratio": slow / s}
    )
    for row in rows:
        row.setdefault("memory / labels", "")
        row.setdefault("distinct", "")
    return rows


if __name__ == "__main__":
    print(table(run(int(float(sys.argv[1])) if len(sys.argv) > 1 else N)))
