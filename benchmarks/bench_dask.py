"""Dask on two processes: labels and features to consensus labels, from 10^6 to 10^8 objects, and beyond.

Everything is made inside the tasks, so that no data are moved to the workers. Each case is one command, and
stores what it measured in results/dask.csv (the last measurement of a case counts):

    python -m benchmarks.bench_dask labels 1e6         # 20 labels each: fit LWGP, then all labels
    python -m benchmarks.bench_dask labels 1e7
    python -m benchmarks.bench_dask written 1e8        # the same, labels written to Parquet
    python -m benchmarks.bench_dask features 1e7       # 16 features each: ConsensusClustering(12), then all
                                                       labels
    python -m benchmarks.bench_dask overhead 1e6       # against one process that does the same
    python -m benchmarks.bench_dask model              # the table "10^9 and beyond", from what is stored
    python -m benchmarks.bench_dask page               # write both tables of docs/dask.md, from what is
                                                       stored

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

    def __enter__(self) -> Cluster:
        import distributed

        self.cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, memory_limit="4GB"
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


# 10^9 and beyond
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


def predicted(
    measured: dict[str, float], n: float, workers: int, *, network: float = 1e9, block: float = 1e6
) -> dict[str, Any]:
    """What n x 20 labels take on so many workers, from one measured run of two.

    work        CPU seconds a row, in the workers, over the workers                                        (1)
    scheduler   CPU seconds a task, for some 4.7 tasks a block (table, facts, a third of a merge, place,
                label) (2)
    tables      bytes of the blocks' tables, of which all but 1 / workers are moved in the first merge, and a
                quarter in each that follows; over ``network`` bytes a second for each pair of workers     (3)
    broadcast   the distinct rows with their labels to every worker, through the client's link             (4)
    consensus   CPU seconds on the client, which grow with the distinct rows alone                         (5)

    The distinct rows grow as the square root of n beyond what was measured: blobs have grown by .4 to .5 (see
    the text).
    """
    growth = max(1.0, (n / measured["n"]) ** 0.5)
    u, blocks = measured["u"] * growth, n / block
    tasks = blocks * 4.7
    moved = blocks * min(u, block) * measured["row_bytes"] * (1 - 1 / workers) * 4 / 3
    work = measured["cpu_workers"] / measured["n"] * n / workers
    scheduler = tasks * measured["seconds_per_task"]
    tables = moved / (network * max(1, workers / 2))
    broadcast = u * (measured["row_bytes"] + 24) * workers / network
    consensus = measured["seconds_consensus"] * growth
    parts = {
        "work": work,
        "scheduler": scheduler,
        "tables": tables,
        "broadcast": broadcast,
        "consensus": consensus,
    }
    # Work overlaps with the scheduler and with transfers; the consensus and the broadcast wait for all of it.
    seconds = max(work, scheduler, tables) + broadcast + consensus
    return {
        "objects": f"{n:,.0f}",
        "workers": workers,
        "tasks": f"{tasks:,.0f}",
        "moved, GB": f"{(moved + u * (measured['row_bytes'] + 24) * workers) / 1e9:.1f}",
        "minutes": f"{seconds / 60:.1f}",
        "bottleneck": max(parts, key=lambda name: parts[name]),
    }


def model_table() -> list[dict[str, Any]]:
    """The table of docs/dask.md, from the largest stored run of labels."""
    found = stored()
    sizes = [n for case, n in found if case in ("labels", "written")]
    if not sizes:
        sys.exit("No run of labels is stored yet: run 'python -m benchmarks.bench_dask labels 1e6' first.")
    largest = max(sizes)
    measured = {**found.get(("labels", largest), {}), **found.get(("written", largest), {})}
    return [predicted(measured, n, workers) for n in (1e9, 1e10) for workers in (16, 32, 64, 128, 256)]


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


def page(text: str) -> str:
    """docs/dask.md with its two tables as stored."""
    found = [
        {"case": case, "n": n, **row}
        for (case, n), row in sorted(stored().items(), key=lambda cell: cell[0][1])
    ]
    return between(between(text, "figures", table(rows_of(found))), "model", table(model_table()))


CASES = {
    "labels": labels_case,
    "written": functools.partial(labels_case, written=True),
    "features": features_case,
    "overhead": overhead_case,
}


def run() -> list[dict[str, Any]]:
    return rows_of([labels_case(10**6), overhead_case(10**6)])


if __name__ == "__main__":
    if sys.argv[1:] == ["model"]:
        print(table(model_table()))
    elif sys.argv[1:] == ["page"]:
        PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
    elif len(sys.argv) == 3 and sys.argv[1] in CASES:
        print(f"{platform.machine()}, {os.cpu_count()} cores")
        print(table(rows_of([CASES[sys.argv[1]](int(float(sys.argv[2])))])))
    else:
        sys.exit(__doc__)
