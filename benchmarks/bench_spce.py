"""SPCE against a plain dense implementation, on large ensembles, and as n grows.

    python -m benchmarks.bench_spce            everything (needs the data beside the checkout, see
                                               CONSILIENCE_SHARED)
    python -m benchmarks.bench_spce semeion    only the sets named: semeion, usps, growth, tdt2, lr
    python -m benchmarks.bench_spce --threads 2

Every row is a process of its own, with all kernels compiled and warmed on 100 objects before the clock
starts. The plain implementation (reference_spce.py) is what the paper's formulas say: m matrices of n x n and
a full eigendecomposition a step. Both follow the same steps to the same labels. Both get one thread by
default: ratios are of CPU seconds, which a busy machine disturbs less than seconds, and threads that wait for
each other would count as work.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

from ._measure import SHARED, alone, table

SETS = ("semeion", "usps", "growth", "tdt2", "lr")
THRESHOLD = 0.2


def pool(name: str, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The first 20 clusterings of a stored pool, and the truth.

    ``n`` takes the first objects in a fixed random order.
    """
    with np.load(SHARED / "data" / f"pool_{name}.npz", allow_pickle=False) as data:
        labels, truth = data["labels"][:, :20], data["y"]
    if n is not None:
        rows = np.random.default_rng(0).permutation(len(truth))[:n]
        labels, truth = labels[rows], truth[rows]
    return labels, truth


def tdt2() -> tuple[np.ndarray, np.ndarray]:
    """20 runs of k-means with k = 96 on the term weights of 10,212 documents, and the truth."""
    import scipy.sparse as sp

    import consilience as cs

    with np.load(SHARED / "data" / "tdt2.npz", allow_pickle=False) as data:
        parts = {name: data[name] for name in data.files}
    X = sp.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=tuple(parts["shape"]))
    seen = np.asarray((X > 0).sum(axis=0)).ravel()
    X = sp.csr_array(X @ sp.diags_array(np.log(X.shape[0] / np.maximum(seen, 1))))
    X = sp.csr_array(sp.diags_array(1 / np.sqrt(X.multiply(X).sum(axis=1))) @ X)
    ensemble = cs.generate.kmeans(X, n_clusterings=20, n_clusters=96, random_state=0)
    return ensemble.labels, parts["y"]


def ours(which: str, n: int | None, params: dict, threads: int | None) -> dict[str, Any]:
    """One fit of the library's SPCE."""
    import consilience as cs
    from consilience._warmup.warm_up import warm

    labels, truth = tdt2() if which == "tdt2" else pool(which, n)
    c = np.unique(truth).size
    warnings.simplefilter("ignore")
    warm("SPCE")  # a hundred objects do not call all kernels
    cs.SPCE(2, **params, n_jobs=threads).fit(labels[:100])
    start, cpu = time.perf_counter(), time.process_time()
    model = cs.SPCE(c, **params, n_jobs=threads).fit(labels)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    scores = cs.metrics.scores(truth, model.labels_)
    return {
        "n": len(truth),
        "u": model.distinct_.n_samples,
        "c": c,
        "seconds": seconds,
        "CPU s": cpu,
        "steps": model.n_iter_,
        "pieces": model.n_pieces_,
        "ACC": scores["accuracy"],
        "NMI max": scores["nmi_max"],
    }


def plain(which: str, n: int | None, params: dict, threads: int) -> dict[str, Any]:
    """The same by reference_spce.py."""
    from threadpoolctl import threadpool_limits

    import consilience as cs

    from .reference_spce import spce

    labels, truth = pool(which, n)
    c = np.unique(truth).size
    with threadpool_limits(threads):
        spce(labels[:100], 2, params["threshold"])
        start, cpu = time.perf_counter(), time.process_time()
        found = spce(labels, c, params["threshold"])
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    scores = cs.metrics.scores(truth, found["labels"])
    return {
        "n": len(truth),
        "u": "",
        "c": c,
        "seconds": seconds,
        "CPU s": cpu,
        "steps": len(found["history"]),
        "pieces": np.unique(found["labels"]).size,
        "ACC": scores["accuracy"],
        "NMI max": scores["nmi_max"],
    }


def row(
    what: str, call, which: str, n: int | None = None, *, threads: int | None, **params
) -> dict[str, Any]:
    """A line of the table: the call, alone in a process."""
    _, peak, found = alone(call, which, n, params, threads)
    return {"what": what, "set": which, **found, "peak MB": round(peak / 1e6), "times faster": ""}


def run(sets: tuple[str, ...] = SETS, threads: int = 1) -> list[dict]:
    """All rows; sets that are not there are left out."""
    rows = []
    if "semeion" in sets and (SHARED / "data" / "pool_semeion.npz").is_file():
        reference = row("plain dense", plain, "semeion", threshold=THRESHOLD, threads=threads)
        rows.append(reference)
        for what, params in {
            "SPCE": {"threshold": THRESHOLD},
            'SPCE, mode="authors"': {"threshold": THRESHOLD, "mode": "authors"},
            'SPCE, threshold="auto"': {"threshold": "auto"},
        }.items():
            rows.append(row(what, ours, "semeion", **params, threads=threads))
            rows[-1]["times faster"] = reference["CPU s"] / rows[-1]["CPU s"]
    if "usps" in sets and (SHARED / "data" / "pool_usps.npz").is_file():
        rows.append(row("SPCE", ours, "usps", threshold=THRESHOLD, threads=threads))
    if "growth" in sets and (SHARED / "data" / "pool_usps.npz").is_file():
        rows += [
            row("SPCE", ours, "usps", n, threshold=THRESHOLD, threads=threads) for n in (1375, 2750, 5500)
        ]
    if "tdt2" in sets and (SHARED / "data" / "tdt2.npz").is_file():
        rows.append(row("SPCE", ours, "tdt2", threshold=THRESHOLD, threads=threads))
    if "lr" in sets and (SHARED / "data" / "pool_lr.npz").is_file():
        rows.append(row('SPCE, threshold="auto"', ours, "lr", threshold="auto", threads=threads))
        rows.append(row('SPCE, threshold="auto", threads', ours, "lr", threshold="auto", threads=None))
    return rows


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "sets", nargs="*", metavar="SET", help=f"which rows: {', '.join(SETS)}; all by default"
    )
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    if unknown := set(options.sets) - set(SETS):
        parser.error(f"unknown: {', '.join(unknown)}; choose from {', '.join(SETS)}")
    print(table(run(tuple(options.sets) or SETS, options.threads)))
