"""Dask on two processes: labels and features to consensus labels, from 10^6 to 10^8 objects.

Everything is made inside the tasks, so that no data are moved to the workers. Each case is one command, and
stores what it measured in results/dask.csv (the last measurement of a case counts):

    python -m benchmarks.bench_dask labels 1e6         # 20 labels each: fit LWGP, then all labels
    python -m benchmarks.bench_dask labels 1e7
    python -m benchmarks.bench_dask written 1e8        # the same, labels written to Parquet
    python -m benchmarks.bench_dask features 1e7       # 16 features each: ConsensusClustering(12), then all
                                                       labels
    python -m benchmarks.bench_dask overhead 1e6       # against one process that does the same
    python -m benchmarks.bench_dask kmeans 2e6         # ten k-means members of Parquet files, beside dask-ml
    python -m benchmarks.bench_dask page               # write the table of docs/dask.md, from what is stored

``python -m benchmarks dask`` runs the smallest of them.
"""

from __future__ import annotations

import csv
import functools
import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from ._measure import ROOT, peak, table
from .bench_which_method import between

RESULTS = Path(__file__).resolve().parent / "results" / "dask.csv"
PAGE = ROOT / "docs" / "dask.md"
M, C, D = 20, 12, 16
#: Signatures that objects have, by falling frequency: as many as blobs in 4 dimensions have at a million
#: rows.
SIGNATURES = 40_000
FIELDS = (
    "case",
    "n",
    "blocks",
    "u",
    "seconds",
    "seconds_fit",
    "seconds_consensus",
    "seconds_labels",
    "cpu_workers",
    "cpu_client",
    "peak_worker",
    "peak_client",
    "seconds_per_task",
    "row_bytes",
    "ratio",
    "load",
    "cores",
    "ari",
)


# Data, made in tasks
# ---------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=1)
def distinct() -> tuple[np.ndarray, np.ndarray]:
    """(labels (u, M) int8 of the signatures, running sums of their frequencies).

    The labels are C clusters, split or merged, and noise.
    """
    rng = np.random.default_rng(0)
    truth = rng.integers(0, C, SIGNATURES)
    labels = np.empty((SIGNATURES, M), np.int8)
    for j in range(M):
        k = int(rng.integers(5, 30))
        parts = rng.integers(0, max(1, k // C) + 1, SIGNATURES)
        labels[:, j] = (truth * (max(1, k // C) + 1) + parts) % k
        noisy = rng.random(SIGNATURES) < 0.1
        labels[noisy, j] = rng.integers(0, k, noisy.sum())
    frequency = 1.0 / np.arange(1, SIGNATURES + 1)
    return labels, np.cumsum(frequency) / frequency.sum()


def label_block(n: int, seed: int) -> np.ndarray:
    labels, ends = distinct()
    return labels[np.searchsorted(ends, np.random.default_rng([1, seed]).random(n))]


def feature_block(n: int, seed: int) -> np.ndarray:
    """Blobs in 16 dimensions."""
    centers = np.random.default_rng(5).normal(scale=3.0, size=(C, D)).astype(np.float32)
    rng = np.random.default_rng([2, seed])
    return centers[rng.integers(0, C, n)] + rng.standard_normal((n, D), dtype=np.float32)


def lazily(make: Any, n: int, width: int, dtype: Any) -> Any:
    """A dask array of n rows in blocks of at most 10^6."""
    from dask.delayed import delayed

    from consilience.dask.ensemble import stacked

    size = min(10**6, -(-n // 4))
    lengths = tuple(min(size, n - a) for a in range(0, n, size))
    tasks = [delayed(make, pure=False)(length, i) for i, length in enumerate(lengths)]
    return stacked(tasks, lengths, dtype=np.dtype(dtype), width=width, name="made")


# Measuring
# -------------------------------------------------------------------------------------------------------


def _worker_facts() -> tuple[float, int]:
    return time.process_time(), peak()


class Cluster:
    """Two processes of one thread, and what they took."""

    def __init__(self, memory: str = "4GB"):
        self.memory = memory

    def __enter__(self) -> Cluster:
        import distributed

        self.cluster = distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            memory_limit=self.memory,
        )
        self.client = distributed.Client(self.cluster)
        self.client.run(_warm)
        self.before = sum(cpu for cpu, _ in self.client.run(_worker_facts).values())
        self.own = time.process_time()
        return self

    def facts(self) -> dict[str, float]:
        found = list(self.client.run(_worker_facts).values())
        return {
            "cpu_workers": sum(cpu for cpu, _ in found) - self.before,
            "cpu_client": time.process_time() - self.own,
            "peak_worker": max(held for _, held in found),
            "peak_client": peak(),
        }

    def per_task(self, count: int = 500) -> float:
        """CPU seconds that scheduler and client, which are in this process, take for a task of nothing."""
        from dask.delayed import delayed

        tasks = [delayed(_nothing, pure=False)(i) for i in range(count)]
        start = time.process_time()
        self.client.gather(self.client.compute(tasks))
        return (time.process_time() - start) / count

    def __exit__(self, *_: Any) -> None:
        self.client.close()
        self.cluster.close()


def _nothing(i: int) -> int:
    return i


def _warm() -> None:
    """Import and compile before the clock runs."""
    import consilience as cs
    from consilience.dask import fitting, tables

    assert fitting
    labels = label_block(2000, 0)
    tables.merged([tables.table_of(labels), tables.table_of(labels[:100])])
    cs.consensus.LWGP(C, random_state=0).fit(labels).predict(labels)


def _store(row: dict[str, Any]) -> dict[str, Any]:
    row = {**row, "load": round(os.getloadavg()[0], 1), "cores": os.cpu_count()}
    new = not RESULTS.exists()
    with RESULTS.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, restval="")
        if new:
            writer.writeheader()
        writer.writerow({name: _short(row.get(name, "")) for name in FIELDS})
    return row


def _short(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


# Cases
# -----------------------------------------------------------------------------------------------------------


def labels_case(n: int, *, written: bool = False) -> dict[str, Any]:
    """n x 20 labels to consensus labels, on two processes."""
    import distributed

    import consilience as cs
    from consilience.dask.files import write_blocks

    _warm()
    with Cluster() as cluster:
        per_task = cluster.per_task()
        ens = cs.dask.DaskEnsemble(lazily(label_block, n, M, np.int8))
        start = time.perf_counter()
        found = ens.distinct()
        merged, cpu = time.perf_counter(), time.process_time()
        model = cs.consensus.LWGP(C, random_state=0).fit(ens)
        fitted, cpu = time.perf_counter(), time.process_time() - cpu
        folder = tempfile.mkdtemp(prefix="bench_dask_")
        try:
            if written:
                write_blocks(os.path.join(folder, "labels"), model.labels_)
            else:
                distributed.wait(model.labels_.persist())
            end = time.perf_counter()
        finally:
            shutil.rmtree(folder)
        return _store(
            {
                "case": "written" if written else "labels",
                "n": n,
                "blocks": ens.n_blocks,
                "u": found.n_samples,
                "seconds": end - start,
                "seconds_fit": merged - start,
                "seconds_consensus": cpu,
                "seconds_labels": end - fitted,
                "seconds_per_task": per_task,
                "row_bytes": M * found.labels.itemsize + 16,
                **cluster.facts(),
            }
        )


def features_case(n: int) -> dict[str, Any]:
    """n x 16 features to consensus labels by the default of ConsensusClustering, on two processes."""
    import distributed

    import consilience as cs

    _warm()
    with Cluster() as cluster:
        X = lazily(feature_block, n, D, np.float32)
        start = time.perf_counter()
        model = cs.ConsensusClustering(C, random_state=0).fit(X)
        fitted = time.perf_counter()
        distributed.wait(model.labels_.persist())
        end = time.perf_counter()
        return _store(
            {
                "case": "features",
                "n": n,
                "blocks": model.ensemble_.n_blocks,
                "u": model.ensemble_.found.size,
                "seconds": end - start,
                "seconds_fit": fitted - start,
                "seconds_labels": end - fitted,
                **cluster.facts(),
            }
        )


def overhead_case(n: int) -> dict[str, Any]:
    """Seconds on two processes over those of one process that does the same on all cores.

    It makes the same labels and fits the same method.
    """
    import consilience as cs

    _warm()

    def in_one_process() -> np.ndarray:
        size = min(10**6, -(-n // 4))
        parts = [label_block(min(size, n - a), i) for i, a in enumerate(range(0, n, size))]
        return cs.consensus.LWGP(C, random_state=0).fit(np.concatenate(parts)).labels_

    start, cpu = time.perf_counter(), time.process_time()
    expected = in_one_process()
    alone, alone_cpu = time.perf_counter() - start, time.process_time() - cpu
    with Cluster() as cluster:
        start = time.perf_counter()
        model = cs.consensus.LWGP(C, random_state=0).fit(
            cs.dask.DaskEnsemble(lazily(label_block, n, M, np.int8))
        )
        found = model.labels_.compute()
        seconds, facts = time.perf_counter() - start, cluster.facts()
    assert np.array_equal(found, expected), "labels differ from those of one process"
    used = facts["cpu_workers"] + facts["cpu_client"]
    print(
        f"{n:,} rows: one process {alone:.2f} s ({alone_cpu:.2f} s of CPU), two {seconds:.2f} s "
        f"({used:.2f} s of CPU)"
    )
    return _store({"case": "overhead", "n": n, "seconds": seconds, "ratio": seconds / alone, **facts})


def files_case(n: int, rounds: int = 2) -> dict[str, Any]:
    """Ten k-means members of n x 16 features in Parquet files, with a text index, and who else clusters them.

    On two processes, without a client, and in memory; beside dask-ml's KMeans on two processes (random
    starts, 20 iterations), if it is installed, and MiniBatchKMeans in memory, reading included. In turn, so
    that all have the same load: what is kept is the smallest of each. CPU seconds are those of workers and
    client. ``ratio`` is CPU over that of two processes.
    """
    import warnings

    warnings.simplefilter("ignore")
    folder = tempfile.mkdtemp(prefix="bench_dask_")
    try:
        _write_features(folder, n)
        truth = np.concatenate([_blobs(n // 20, i)[1] for i in range(20)])
        found: dict[str, list[dict[str, Any]]] = {}
        for _ in range(rounds):
            for name, run in _CLUSTERERS.items():
                try:
                    facts, labels = run(folder)
                except ImportError as error:
                    print(f"{name}: {error}")
                    continue
                agreement = _ari(truth, labels)
                print(f"{name}: {facts}, ARI {agreement:.2f}, load {os.getloadavg()[0]:.1f}", flush=True)
                found.setdefault(name, []).append({**facts, "ari": agreement})
    finally:
        shutil.rmtree(folder)
    best = {
        name: {field: min(run[field] for run in runs) for field in runs[0]} for name, runs in found.items()
    }
    ours = best["kmeans"]["cpu_workers"] + best["kmeans"]["cpu_client"]
    for name, facts in best.items():
        ratio = (facts["cpu_workers"] + facts["cpu_client"]) / ours
        stored = _store({"case": name, "n": n, "blocks": 20, "ratio": ratio, **facts})
    return stored


def _ari(truth: np.ndarray, labels: Any) -> float:
    import consilience as cs

    return float(cs.metrics.ari(truth, np.asarray(labels)))


def _blobs(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Eight blobs in 16 dimensions, and which each row is of."""
    centers = np.random.default_rng(5).normal(scale=3.0, size=(8, D)).astype(np.float32)
    rng = np.random.default_rng([2, seed])
    truth = rng.integers(0, 8, n)
    return centers[truth] + rng.standard_normal((n, D), dtype=np.float32), truth


def _write_features(folder: str, n: int) -> None:
    import pandas as pd

    for i in range(20):
        X, _ = _blobs(n // 20, i)
        names = pd.Index([f"c{j}" for j in range(i * len(X), (i + 1) * len(X))], name="customer")
        frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(D)], index=names)
        frame.to_parquet(os.path.join(folder, f"part.{i:03d}.parquet"))


def _members() -> Any:
    import consilience as cs

    return cs.ConsensusClustering(8, generator="kmeans", n_clusterings=10, random_state=0)


def _timed(work: Any, cluster: Cluster | None = None) -> tuple[dict[str, Any], Any]:
    start, cpu = time.perf_counter(), time.process_time()
    before = cluster.facts() if cluster else {}
    labels = work()
    facts = {"seconds": time.perf_counter() - start, "cpu_client": time.process_time() - cpu}
    after = cluster.facts() if cluster else {}
    facts["cpu_workers"] = after.get("cpu_workers", 0.0) - before.get("cpu_workers", 0.0)
    return {**facts, "peak_worker": after.get("peak_worker", 0)}, labels


def _here(folder: str) -> tuple[dict[str, Any], Any]:
    import dask.dataframe as dd

    _members().fit(np.asarray(_blobs(3000, 0)[0]))
    return _timed(lambda: _members().fit(dd.read_parquet(folder)).labels_.compute())


def _there(folder: str) -> tuple[dict[str, Any], Any]:
    import dask.array as da
    import dask.dataframe as dd

    with Cluster(memory="1GB") as cluster:
        small = da.from_array(_blobs(3000, 0)[0], chunks=(300, -1))
        _members().fit(small).labels_.compute()
        return _timed(lambda: _members().fit(dd.read_parquet(folder)).labels_.compute(), cluster)


def _in_memory(folder: str) -> tuple[dict[str, Any], Any]:
    import pandas as pd

    return _timed(lambda: _members().fit(pd.read_parquet(folder).to_numpy()).labels_)


def _of_dask_ml(folder: str) -> tuple[dict[str, Any], Any]:
    import dask.array as da
    import dask.dataframe as dd
    from dask_ml.cluster import KMeans

    def work(X: Any) -> Any:
        return KMeans(8, init="random", max_iter=20, random_state=0).fit(X).labels_.compute()

    with Cluster(memory="2GB") as cluster:
        work(da.from_array(_blobs(3000, 0)[0], chunks=(300, -1)))
        return _timed(lambda: work(dd.read_parquet(folder).to_dask_array(lengths=True)), cluster)


def _of_batches(folder: str) -> tuple[dict[str, Any], Any]:
    import pandas as pd
    from sklearn.cluster import MiniBatchKMeans
    from threadpoolctl import threadpool_limits

    def work() -> np.ndarray:
        with threadpool_limits(1):  # threads that wait for each other would count as work
            return MiniBatchKMeans(8, random_state=0).fit_predict(pd.read_parquet(folder).to_numpy())

    return _timed(work)


_CLUSTERERS = {
    "kmeans": _there,
    "kmeans, no client": _here,
    "kmeans, in memory": _in_memory,
    "dask-ml KMeans": _of_dask_ml,
    "MiniBatchKMeans, in memory": _of_batches,
}


# What is kept
# --------------------------------------------------------------------------------------------------


def stored() -> dict[tuple[str, int], dict[str, float]]:
    """The last measurement of each case and size."""
    if not RESULTS.exists():
        sys.exit("Nothing is stored yet: run 'python -m benchmarks.bench_dask labels 1e6' first.")
    with RESULTS.open() as file:
        rows = list(csv.DictReader(file))
    return {
        (row["case"], int(float(row["n"]))): {k: float(v) for k, v in row.items() if k != "case" and v != ""}
        for row in rows
    }


def rows_of(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was measured, for reading."""
    return [
        {
            "case": row["case"],
            "objects": f"{row['n']:,.0f}",
            "distinct rows": f"{row['u']:,.0f}" if "u" in row else "",
            "seconds": f"{row['seconds']:.1f}",
            "µs a row": f"{1e6 * row['seconds'] / row['n']:.2f}",
            "CPU µs a row": f"{1e6 * (row['cpu_workers'] + row['cpu_client']) / row['n']:.2f}",
            "GB a worker": f"{row['peak_worker'] / 1e9:.2f}",
            "GB here": f"{row['peak_client'] / 1e9:.2f}",
            "ratio": f"{row['ratio']:.2f}" if "ratio" in row else "",
            "load": row["load"],
        }
        for row in results
    ]


#: What the page shows, in its order, by case and its own words.
SHOWN = {
    "labels": "labels",
    "kmeans": "ten k-means, two workers",
    "kmeans, no client": "ten k-means, threads",
    "kmeans, in memory": "ten k-means, in memory",
    "dask-ml KMeans": "one KMeans of dask-ml, two workers",
    "MiniBatchKMeans, in memory": "one MiniBatchKMeans, in memory",
}


def page(text: str) -> str:
    """docs/dask.md with its table as stored: the largest run of each case."""
    largest = {case: (n, row) for (case, n), row in sorted(stored().items(), key=lambda cell: cell[0][1])}
    rows = [
        {
            "what": words,
            "objects": f"{n:,}",
            "CPU seconds": f"{row['cpu_workers'] + row['cpu_client']:.1f}",
            "GB a worker": f"{row['peak_worker'] / 1e9:.2f}" if row["peak_worker"] else "",
        }
        for case, words in SHOWN.items()
        if case in largest
        for n, row in [largest[case]]
    ]
    return between(text, "figures", table(rows))


CASES = {
    "labels": labels_case,
    "written": functools.partial(labels_case, written=True),
    "features": features_case,
    "overhead": overhead_case,
    "kmeans": files_case,
}


def run() -> list[dict[str, Any]]:
    return rows_of([labels_case(10**6), overhead_case(10**6)])


if __name__ == "__main__":
    if sys.argv[1:] == ["page"]:
        PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
    elif len(sys.argv) == 3 and sys.argv[1] in CASES:
        print(f"{platform.machine()}, {os.cpu_count()} cores")
        print(table(rows_of([CASES[sys.argv[1]](int(float(sys.argv[2])))])))
    else:
        sys.exit(__doc__)
