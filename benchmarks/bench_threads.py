"""Threads must never hurt: every method, generator and measure with the default n_jobs against n_jobs=1, alone and beside others.

    python -m benchmarks threads                          everything, six to eight minutes
    python -m benchmarks.bench_threads rsec random_k      rows whose name contains one of these words
    python -m benchmarks.bench_threads --quick rsec       one repetition each

Both ways of a row run in pairs of random order, so that what else the machine does hits both alike. The quickest run of
each counts when the machine is quiet, and the mean beside two processes that never rest, which this benchmark starts and
ends: there short calls end within a slice of the scheduler or wait for some, and single runs say little. "ratio" is default / n_jobs=1: the aim is at most 1.1 everywhere, and below 1 where there is
work for two. Measures take no n_jobs; for them OMP_NUM_THREADS=1 is compared with none.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from statistics import fmean

import numpy as np

import consilience as cs
from consilience.consensus import methods
from consilience.kernels import parallel

from ._measure import SHARED, table

POOLS = {"yale165": 15, "lung203": 5, "vs": 4, "semeion": 10, "mf": 10}  # and how many clusters
SETS = {"iris": 3, "semeion": 10, "mf_multiple_features": 10}
SKIPPED = {("nrsec", "mf")}  # half a minute for each of its runs, and nothing that semeion does not show
ENOUGH = 0.6  # seconds for each way of a row; at least one pair of runs

Call = Callable[[int | None], object]


def consensus_rows() -> Iterator[tuple[str, str, Call]]:
    for pool, c in POOLS.items():
        with np.load(SHARED / "data" / f"pool_{pool}.npz") as archive:
            labels = archive["labels"][:, :20].astype(int)
        for name, cls in methods().items():
            if (name, pool) not in SKIPPED:
                seed = {"random_state": 0} if "random_state" in cls().get_params() else {}
                yield (
                    name,
                    pool,
                    lambda j, cls=cls, c=c, L=labels, seed=seed: cls(c, n_jobs=j, **seed).fit(L),
                )


def generator_rows() -> Iterator[tuple[str, str, Call]]:
    from sklearn.cluster import KMeans

    for name, k in SETS.items():
        with np.load(SHARED / "data" / f"{name}.npz", allow_pickle=False) as archive:
            X = np.asarray(archive["X"], float)
        m = {"n_clusterings": 10, "random_state": 0}
        for generator, options in {
            "kmeans": {"k": k, **m},
            "random_k": m,
            "random_features": {"k": k, **m},
            "bagging": {"k": k, **m},
            "metric_subspace": m,
            "spectral": {"k": k, "bandwidths": [0.3, 0.5, 1, 2], "random_state": 0},
            "estimators": {"clusterers": [KMeans(k, n_init=1)], **m},
        }.items():
            make = getattr(cs.generate, generator)
            yield generator, name, lambda j, make=make, X=X, options=options: make(X, n_jobs=j, **options)


def measure_rows() -> Iterator[tuple[str, str, Call]]:
    rng = np.random.default_rng(0)
    for n in (1000, 1_000_000):
        truth = rng.integers(0, 10, n)
        labels = np.where(rng.random((n, 10)) < 0.7, truth[:, None], rng.integers(0, 10, (n, 10)))
        ensemble = cs.Ensemble(labels)
        where = f"{n:,} labels"
        first = labels[:, 0].copy()
        yield "scores", where, _bounded(lambda a=first, b=truth: cs.metrics.scores(a, b))
        for name in ("anmi", "object_stability", "cluster_stability"):
            measure = getattr(cs.metrics, name)
            yield name, where, _bounded(lambda f=measure, t=truth, e=ensemble: f(t, e))
        yield "base_scores", where, _bounded(lambda e=ensemble, t=truth: cs.metrics.base_scores(e, t))


def _bounded(call: Callable[[], object]) -> Call:
    """A call without n_jobs: the environment bounds its threads."""

    def run(n_jobs: int | None) -> object:
        before = os.environ.get("OMP_NUM_THREADS")
        if n_jobs is not None:
            os.environ["OMP_NUM_THREADS"] = str(n_jobs)
        parallel._default_jobs.cache_clear()
        try:
            return call()
        finally:
            if n_jobs is not None:
                os.environ.pop("OMP_NUM_THREADS")
            if before is not None:
                os.environ["OMP_NUM_THREADS"] = before
            parallel._default_jobs.cache_clear()

    return run


@contextmanager
def busy(count: int = 2) -> Iterator[None]:
    """So many processes that never rest, and end with this one even where it is killed."""
    loop = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(10**6))\n"
    others = [subprocess.Popen([sys.executable, "-c", loop]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def race(call: Call, *, pairs: int) -> tuple[list[float], list[float]]:
    """Seconds of each run with n_jobs=1, and with the default."""
    taken: dict[int | None, list[float]] = {1: [], None: []}
    for swapped in np.random.default_rng(0).random(pairs) < 0.5:
        for n_jobs in (None, 1) if swapped else (1, None):
            start = time.perf_counter()
            call(n_jobs)
            taken[n_jobs].append(time.perf_counter() - start)
    return taken[1], taken[None]


def row(name: str, data: str, call: Call, *, quick: bool = False) -> dict:
    call(1)  # compiles
    start = time.perf_counter()
    call(None)
    each = time.perf_counter() - start
    pairs = 1 if quick else int(np.clip(ENOUGH / each, 1, 200))
    alone = [min(found) for found in race(call, pairs=pairs)]
    with busy():
        beside = [fmean(found) for found in race(call, pairs=pairs)]
    return {
        "what": name,
        "data": data,
        "n_jobs=1, s": alone[0],
        "default, s": alone[1],
        "ratio": alone[1] / alone[0],
        "busy: n_jobs=1, s": beside[0],
        "busy: default, s": beside[1],
        "busy: ratio": beside[1] / beside[0],
    }


def _line(found: dict) -> str:
    return f"{found['what']} on {found['data']}: {found['ratio']:.2f} alone, {found['busy: ratio']:.2f} beside two"


def run(words: list[str] | None = None, *, quick: bool = False) -> list[dict]:
    load = os.getloadavg()[0]
    print(f"load {load:.1f} at the start, {os.cpu_count()} cores", flush=True)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for make in (consensus_rows, generator_rows, measure_rows):
            for name, data, call in make():
                if not words or any(word in f"{name} {data}" for word in words):
                    rows.append(row(name, data, call, quick=quick))
                    print(_line(rows[-1]), file=sys.stderr, flush=True)
    return rows


def summary() -> list[dict]:
    """The same by what was run: how many sets, and the least and largest ratio."""
    rows = run()
    found = []
    for name in dict.fromkeys(row["what"] for row in rows):
        mine = [row for row in rows if row["what"] == name]
        found.append(
            {
                "what": name,
                "sets": len(mine),
                "ratio": _between(row["ratio"] for row in mine),
                "busy: ratio": _between(row["busy: ratio"] for row in mine),
                "n_jobs=1, ms": _between((1e3 * row["n_jobs=1, s"] for row in mine), "g"),
            }
        )
    return found


def _between(values: Iterable[float], style: str = ".2f") -> str:
    low, *_, high = sorted([*values] * 2)
    return f"{float(f'{low:.3g}'):{style}} to {float(f'{high:.3g}'):{style}}"


if __name__ == "__main__":
    chosen = [word for word in sys.argv[1:] if word != "--quick"]
    print(table(run(chosen, quick="--quick" in sys.argv)))
