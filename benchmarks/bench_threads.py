"""Every method, generator and measure with the default n_jobs against n_jobs=1, alone and beside others.

Threads must never hurt.

    python -m benchmarks threads                          everything, some 20 minutes
    python -m benchmarks.bench_threads rsec random_k      rows whose name contains one of these words
    python -m benchmarks.bench_threads --quick rsec       one repetition each

The ways of a row run in turn, in random order, so that what else the machine does hits both alike. The
quickest run of each counts when the machine is quiet, and the mean beside two processes that never rest,
which this benchmark starts and ends: there short calls end within a slice of the scheduler or wait for some,
and single runs say little. "ratio" is default / n_jobs=1: the aim is at most 1.1 everywhere, and below 1
where there is work for two. Measures take no n_jobs; for them OMP_NUM_THREADS=1 is compared with none.

n_jobs=1 also runs against itself ("control"): how far that is off 1 is the machine's doing, and no ratio says
more than it.
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
from consilience._kernels.runtime import threads as parallel
from consilience.consensus import methods

from ._measure import SHARED, table

POOLS = {"yale165": 15, "lung203": 5, "vs": 4, "semeion": 10, "mf": 10}  # and how many clusters
SETS = {"iris": 3, "semeion": 10, "mf_multiple_features": 10}
#: Half a minute for each of their runs, and nothing that the smaller pools do not show.
SKIPPED = {("nrsec", "mf"), *((name, pool) for name in ("rce", "ceshl") for pool in ("semeion", "mf"))}
ENOUGH = 0.6  # seconds for each way of a row; at least one run of each

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
            "kmeans": {"n_clusters": k, **m},
            "random_k": m,
            "random_features": {"n_clusters": k, **m},
            "bagging": {"n_clusters": k, **m},
            "metric_subspace": m,
            "spectral": {"n_clusters": k, "bandwidths": [0.3, 0.5, 1, 2], "random_state": 0},
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
        yield "scores", where, _bounded(lambda a=first, b=truth: cs.metrics.scores(b, a))
        for name in ("anmi", "sample_stability", "cluster_stability"):
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


#: Ways to run a row, and their n_jobs.
WAYS = {"n_jobs=1": 1, "default": None, "n_jobs=1 again": 1}


def race(call: Call, *, rounds: int) -> list[list[float]]:
    """Seconds of each run, by the ways."""
    taken: dict[str, list[float]] = {way: [] for way in WAYS}
    rng = np.random.default_rng(0)
    for _ in range(rounds):
        for way in rng.permutation(list(WAYS)):
            start = time.perf_counter()
            call(WAYS[way])
            taken[way].append(time.perf_counter() - start)
    return list(taken.values())


def row(name: str, data: str, call: Call, *, quick: bool = False) -> dict:
    call(1)  # compiles
    start = time.perf_counter()
    call(None)
    each = time.perf_counter() - start
    rounds = 1 if quick else int(np.clip(ENOUGH / each, 1, 200))
    alone = [min(found) for found in race(call, rounds=rounds)]
    with busy():
        beside = [fmean(found) for found in race(call, rounds=rounds)]
    return {
        "what": name,
        "data": data,
        "n_jobs=1, s": alone[0],
        "default, s": alone[1],
        "ratio": alone[1] / alone[0],
        "control": alone[2] / alone[0],
        "busy: n_jobs=1, s": beside[0],
        "busy: default, s": beside[1],
        "busy: ratio": beside[1] / beside[0],
        "busy: control": beside[2] / beside[0],
    }


def _line(found: dict) -> str:
    alone, beside_two = found["ratio"], found["busy: ratio"]
    return f"{found['what']} on {found['data']}: {alone:.2f} alone, {beside_two:.2f} beside two"


ROWS = {"methods": consensus_rows, "generators": generator_rows, "measures": measure_rows}


def run(
    words: list[str] | None = None, *, quick: bool = False, parts: Iterable[str] = tuple(ROWS)
) -> list[dict]:
    load = os.getloadavg()[0]
    print(f"load {load:.1f} at the start, {os.cpu_count()} cores", flush=True)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in parts:
            for name, data, call in ROWS[part]():
                if not words or any(word in f"{name} {data}" for word in words):
                    rows.append(row(name, data, call, quick=quick))
                    print(_line(rows[-1]), file=sys.stderr, flush=True)
    return rows


def summary(parts: Iterable[str]) -> list[dict]:
    """The same by what was run: how many sets, and the least and largest ratio."""
    rows = run(parts=parts)
    found = []
    for name in dict.fromkeys(row["what"] for row in rows):
        mine = [row for row in rows if row["what"] == name]
        found.append(
            {
                "what": name,
                "sets": len(mine),
                **{
                    ratio: _between(row[ratio] for row in mine)
                    for ratio in ("ratio", "control", "busy: ratio", "busy: control")
                },
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
