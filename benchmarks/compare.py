"""A short set of benchmarks against a stored baseline: has anything become slower?

    python -m benchmarks.compare             run, keep the outcome in results/bench/, and print it beside the
                                             baseline
    python -m benchmarks.compare --store     make the outcome the baseline of this processor
                                             (benchmarks/results/baseline.json)
    python -m benchmarks.compare --only kmeans,SPCE

Everything runs on one thread and is counted in seconds of the processor, over those of a fixed piece of work
(a product, a sort, a pass over memory, a loop of the interpreter) done in between: a slower or busier machine
is slower at both. What scikit-learn does as well is measured beside it. A case is the best of several runs;
below NOISE nothing is said.

A baseline is stored for each processor. Where there is none for this one, what counts is by how much a case
stands out from the median of all: processors differ in what they are good at, and the same code was up to 1.8
times the median slower on one than on another (scikit-learn's k-means among them), so that only twice is
said.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before anything that counts threads is imported

import numpy as np

from ._measure import ROOT, origin, table

BASELINE = ROOT / "benchmarks" / "results" / "baseline.json"
KEPT = ROOT / "results" / "bench"
#: Seconds of the processor after which a case is not repeated, and the most repetitions.
ENOUGH, REPEATS = 1.5, 5
#: Ratio to the baseline up to which a change may be chance, and to that of another processor.
NOISE, ELSEWHERE = 1.25, 2.0

Case = Callable[[], Any]


def reference() -> Case:
    """Work that no change of ours touches, of the kinds that ours is made of.

    numpy's plain sort is left out: it has code of its own for some processors.
    """
    rng = np.random.default_rng(0)
    A = rng.random((700, 700), dtype=np.float32)
    values, places = rng.random(1_000_000), rng.integers(100_000, size=1_000_000)

    def work() -> None:
        A @ A
        A @ A
        np.argsort(places[:200_000], kind="stable")
        np.bincount(places, weights=values)
        values[places]
        (values * 2.0).sum()
        sum(i * i for i in range(200_000))

    return work


def cpu_seconds(call: Case) -> float:
    begun = time.process_time()
    call()
    return time.process_time() - begun


def best_of(call: Case, beside: Case) -> tuple[float, float]:
    """CPU seconds of a case and its reference: the least of a few runs in turn, after one that compiles."""
    call()
    best = unit = float("inf")
    spent = 0.0
    for _ in range(REPEATS):
        unit = min(unit, *(cpu_seconds(beside) for _ in range(2)))
        seconds = cpu_seconds(call)
        best, spent = min(best, seconds), spent + seconds
        if spent > ENOUGH:
            break
    return best, min(unit, *(cpu_seconds(beside) for _ in range(2)))


def cases() -> dict[str, Case]:
    """Name -> what is timed. Names are what baselines are compared by: a changed case gets a new one."""
    from sklearn.cluster import KMeans
    from sklearn.datasets import load_digits, make_blobs

    import consilience as cs
    from consilience._kernels.kmeans import many_kmeans
    from consilience._kernels.labels.distinct import unique_rows

    from .bench_baselines import synthetic
    from .bench_which_method import build, registered

    digits = load_digits().data
    wide = (
        make_blobs(8000, 20, centers=12, cluster_std=5.0, random_state=0)[0]
        @ np.random.default_rng(0).normal(size=(20, 300))
    ).astype(np.float32)
    rows = make_blobs(150_000, 16, centers=40, cluster_std=3.0, random_state=0)[0].astype(np.float32)
    start = rows[:40].astype(np.float64)
    labels = synthetic(2000)[0]
    many = synthetic(300_000)[0]
    tasks = np.arange(600) // 300
    found: dict[str, Case] = {
        "kmeans 150000x16 k=40, same start": lambda: many_kmeans(rows, [40], inits=[start], n_jobs=1),
        "scikit-learn, 150000x16 k=40, same start": lambda: KMeans(40, init=start, n_init=1).fit(rows),
        "kmeans 8000x300 k=10, 8 runs": lambda: many_kmeans(wide, [10] * 8, seeds=range(8), n_jobs=1),
        "scikit-learn, 8000x300 k=10, 8 runs": lambda: [
            KMeans(10, n_init=1, random_state=s).fit(wide) for s in range(8)
        ],
        "generate.random_k digits": lambda: cs.generate.random_k(
            digits, n_clusterings=20, random_state=0, n_jobs=1
        ),
        "generate.metric_subspace digits": lambda: cs.generate.metric_subspace(
            digits[:600], n_clusterings=6, random_state=0, n_jobs=1
        ),
        "generate.landmarks digits": lambda: cs.generate.landmarks(
            digits, n_clusterings=6, random_state=0, n_jobs=1
        ),
        "unique_rows 300000x20": lambda: unique_rows(many),
        "scores of 300000 labels": lambda: cs.metrics.scores(many[:, 1], many[:, 0]),
        "ConsensusClustering 600 digits": lambda: cs.ConsensusClustering(10, random_state=0, n_jobs=1).fit(
            digits[:600]
        ),
        "MDEC 600 digits": lambda: cs.MDEC(10, n_clusterings=10, random_state=0, n_jobs=1).fit(digits[:600]),
        "SPMTC 600 digits": lambda: cs.SPMTC(10, random_state=0, n_jobs=1).fit(digits[:600], task=tasks),
    }
    slow = {"NRSEC": 500, "RSEC": 800, "BestOf": 500, "TRCE": 800, "RCE": 800}
    for name in registered():
        n = slow.get(name, 2000)
        found[f"{name} {n}x20"] = lambda name=name, n=n: build(name, 10).fit(labels[:n])
    return found


def measure(only: list[str] | None = None) -> dict[str, Any]:
    """Everything, with what is needed to read it later."""
    outcome: dict[str, Any] = {**origin(), "cases": {}}
    beside = reference()
    for name, call in cases().items():
        if only and not any(part.casefold() in name.casefold() for part in only):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds, unit = best_of(call, beside)
        outcome["cases"][name] = {"cpu_seconds": round(seconds, 5), "ratio": round(seconds / unit, 4)}
        print(f"{name}: {seconds:.3g} s, {seconds / unit:.3g} of the reference", file=sys.stderr, flush=True)
    return outcome


def stored() -> list[dict[str, Any]]:
    """The baselines, one for each processor, the newest last."""
    return json.loads(BASELINE.read_text()) if BASELINE.is_file() else []


def baseline_for(now: dict[str, Any], baselines: list[dict[str, Any]]) -> dict[str, Any] | None:
    """That of the same processor, else the newest."""
    same = [before for before in baselines if _processor(before) == _processor(now)]
    return (same or baselines or [None])[-1]


def _processor(outcome: dict[str, Any]) -> str:
    return outcome["machine"]["processor"]


def noise_beside(now: dict[str, Any], before: dict[str, Any] | None) -> float:
    """The ratio to a baseline up to which nothing is said."""
    return NOISE if before is None or _processor(now) == _processor(before) else ELSEWHERE


def compared(now: dict[str, Any], before: dict[str, Any] | None) -> list[dict[str, Any]]:
    """One row for each case: its time over the reference, now and in the baseline.

    On another processor the change is given beside the median's.
    """
    old = (before or {}).get("cases", {})
    changes = {name: case["ratio"] / old[name]["ratio"] for name, case in now["cases"].items() if name in old}
    noise = noise_beside(now, before)
    usual = 1.0 if noise == NOISE or not changes else statistics.median(changes.values())
    return [
        {
            "case": name,
            "CPU s": case["cpu_seconds"],
            "of reference": case["ratio"],
            "baseline": old[name]["ratio"] if name in old else "",
            "change": changes[name] / usual if name in old else "",
            "": _verdict(changes[name] / usual, noise) if name in old else "new",
        }
        for name, case in now["cases"].items()
    ]


def _verdict(change: float, noise: float) -> str:
    return "slower" if change > noise else "faster" if change < 1 / noise else ""


def with_baseline(now: dict[str, Any], baselines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The baselines with this outcome for its processor. Cases that were not run stay as they were."""
    held = {_processor(before): before for before in baselines}
    own = held.pop(_processor(now), {"cases": {}})
    return [*held.values(), {**now, "cases": {**own["cases"], **now["cases"]}}]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", action="store_true", help="make the outcome the baseline")
    parser.add_argument("--only", help="parts of names, with commas between them")
    options = parser.parse_args()
    now = measure(options.only.split(",") if options.only else None)
    baselines = stored()
    before = baseline_for(now, baselines)
    KEPT.mkdir(parents=True, exist_ok=True)
    file = KEPT / f"{now['when'].replace(':', '')}-{now['commit']}.json"
    file.write_text(json.dumps(now, indent=1) + "\n")
    noise = noise_beside(now, before)
    if before:
        print(f"Baseline: commit {before['commit']}, {_processor(before)}, load {before['load']}.")
        if noise == ELSEWHERE:
            print(f"There is none for {_processor(now)}: changes are beside the median of all cases.")
    print(f"Now: commit {now['commit']}{', changed' if now['changed'] else ''}, load {now['load']}; kept "
        f"in {file.relative_to(ROOT)}.\n")  # fmt: skip
    rows = compared(now, before)
    print(table(rows))
    slower = [row["case"] for row in rows if row[""] == "slower"]
    print(f"\n{len(slower)} slower by more than {noise:.2f}{': ' + ', '.join(slower) if slower else ''}.")
    if options.store:
        BASELINE.write_text(json.dumps(with_baseline(now, baselines), indent=1) + "\n")


if __name__ == "__main__":
    main()
