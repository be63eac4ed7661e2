"""Seconds of the processor and peak memory of every consensus method on published pools; the README's column comes from here.

    python -m benchmarks.bench_methods [--limit 120] [--pools vs mf usps] [--methods lwgp ...]

Each cell runs in a process of its own, on one thread, after a fit of a few objects that loads the compiled code. Cells are kept
in methods.json, and those there are not run again; a cell that takes more seconds than the limit is kept as "over" it. At the end the
column of README.md is written anew (:func:`readme`), which a test compares with the file.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
import resource
import signal
import time
from typing import Any

import numpy as np

from consilience.consensus import methods

from ._measure import ROOT, SHARED, peak, table

STORE, README = ROOT / "benchmarks" / "methods.json", ROOT / "README.md"
POOLS = {"vs": 4, "mf": 10, "usps": 10}  # with the number of clusters asked for


def fit(name: str, pool: str, limit: int, connection: Any) -> None:
    """One cell: distinct objects, base clusters, CPU seconds, peak bytes; ends itself at the limit."""
    labels = np.load(SHARED / "data" / f"pool_{pool}.npz")["labels"]
    cls = methods()[name]
    options = {"random_state": 0} if "random_state" in cls().get_params() else {}
    cls(2, n_jobs=1, **options).fit(labels[:50, :10])
    start = time.process_time()
    resource.setrlimit(resource.RLIMIT_CPU, (int(start) + limit, int(start) + limit + 5))
    model = cls(POOLS[pool], n_jobs=1, **options).fit(labels)
    seconds = time.process_time() - start
    signatures = model.signatures_
    connection.send((signatures.n_samples, signatures.n_total_clusters, seconds, peak()))


def measure(name: str, pool: str, limit: int) -> dict:
    """A cell in a process of its own."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=fit, args=(name, pool, limit, theirs))
    process.start()
    theirs.close()
    try:
        u, k, seconds, held = ours.recv()
    except EOFError:
        process.join()
        if process.exitcode in (-signal.SIGXCPU, -signal.SIGKILL):
            return {"over": limit}
        raise RuntimeError(f"{name} on pool_{pool} ended with exit code {process.exitcode}.") from None
    process.join()
    return {"u": int(u), "k": int(k), "seconds": round(seconds, 3), "bytes": held}


def read() -> dict:
    return json.loads(STORE.read_text()) if STORE.exists() else {}


def words(cell: dict | None) -> str:
    """'3.9 s, 1.1 GB'."""
    if cell is None:
        return "–"
    if "over" in cell:
        return f"over {cell['over']:g} s"
    return f"{cell['seconds']:.2g} s, {cell['bytes'] / 1e9:.1f} GB"


def readme(cells: dict) -> str:
    """The table of costs: one row for each method, one column for each pool."""
    heads = []
    for pool in POOLS:
        sizes = next(cell for cell in cells[pool].values() if "u" in cell)
        heads.append(f"{sizes['u']:,} distinct objects, {sizes['k']:,} base clusters")
    lines = ["| method | " + " | ".join(heads) + " |", "|---" * (len(POOLS) + 1) + "|"]
    for name, cls in methods().items():
        found = [words(cells.get(pool, {}).get(name)) for pool in POOLS]
        lines.append(f"| `{cls.__name__}` | " + " | ".join(found) + " |")
    return "\n".join(lines)


def between(text: str, inside: str) -> str:
    """README with the table between its two marks."""
    return re.sub(
        r"(<!-- costs -->\n).*?(<!-- end -->)",
        lambda found: found[1] + inside + "\n" + found[2],
        text,
        flags=re.S,
    )


def run(limit: int = 120, pools: list[str] | None = None, names: list[str] | None = None) -> list[dict]:
    cells = read()
    for pool in pools or POOLS:
        for name in names or methods():
            if name not in cells.get(pool, {}):
                found = measure(name, pool, limit)
                cells = read()  # another run may have added to it meanwhile
                cells.setdefault(pool, {})[name] = found
                STORE.write_text(json.dumps(cells, indent=1) + "\n")
    if all(cells.get(pool) for pool in POOLS):
        README.write_text(between(README.read_text("utf-8"), readme(cells)), "utf-8")
    return [
        {"pool": pool, "method": name, "cost": words(cell)}
        for pool in cells
        for name, cell in cells[pool].items()
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, default=120)
    parser.add_argument("--pools", nargs="*")
    parser.add_argument("--methods", nargs="*")
    given = parser.parse_args()
    print(table(run(given.limit, given.pools, given.methods)))
