"""Tables 2 and 4 to 6 of the SPMTC paper, on the four data sets that are public.

    python -m benchmarks.reproduce_spmtc [RUNS [TUNING_RUNS [OUT.json]]]

Each method runs RUNS times (20) with other seeds, as the paper's did. "default" uses no truth. "tuned" is the mean of
TUNING_RUNS (10) at the trade-off, of 0.05, 0.15, ..., 0.95, that is best by the truth for each task and measure: the
paper's rule, on every second value of its grid. The dimension l of its grid has no effect in our form beyond n_clusters.
NMI is that of the programs behind the printed figures (by the larger entropy). ACC and NMI in percent.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans, SpectralClustering

import consilience as cs
from benchmarks._measure import SHARED
from consilience import metrics

SETS = ("comp_vs_sci", "orgs_vs_people", "orgs_vs_places", "people_vs_places")
GRID = tuple(round(0.05 + 0.1 * i, 2) for i in range(10))
TUNED = {
    "LSSMTC (program)": lambda **p: cs.LSSMTC(2, subspace="nonnegative", max_iter=100, **p),
    "LSSMTC": lambda **p: cs.LSSMTC(2, **p),
    "SPMTC-h": lambda **p: cs.SPMTC(2, weighting="hard", **p),
    "SPMTC-s": lambda **p: cs.SPMTC(2, weighting="soft", **p),
}
METHODS = ("KM", "SC", "ASI", "All KM", "All SC", "All ASI", *TUNED)


def load(name: str):
    """(X, truth, task) of a set."""
    with np.load(SHARED / "data" / f"{name}.npz") as z:
        X = sp.csr_array((z["data"].astype(float), z["indices"], z["indptr"]), shape=tuple(z["shape"]))
        return X, z["y"], z["task"]


def labels(method: str, X, task, seed: int, **parameters) -> np.ndarray:
    """One run of one method."""
    if method in TUNED:
        return TUNED[method](random_state=seed, **parameters).fit(X, task=task).labels_
    kind = method.removeprefix("All ")
    pooled = kind != method
    if kind == "ASI":
        return cs.ASI(2, pooled=pooled, random_state=seed).fit(X, task=task).labels_
    if kind == "KM":
        model = KMeans(2, n_init=1, init="random", random_state=seed)
    else:
        model = SpectralClustering(2, affinity="nearest_neighbors", random_state=seed)
    if pooled:
        return model.fit(X).labels_
    out = np.empty(task.size, int)
    for t in np.unique(task):
        out[task == t] = model.fit(X[task == t]).labels_
    return out


def scores(found: np.ndarray, truth: np.ndarray, task: np.ndarray) -> list[float]:
    """ACC and NMI of task 1, ACC and NMI of task 2, in percent."""
    out = []
    for t in np.unique(task):
        rows = task == t
        out += [
            100 * metrics.accuracy(found[rows], truth[rows]),
            100 * metrics.nmi(found[rows], truth[rows], normalisation="max"),
        ]
    return out


def run(runs: int = 20, tuning_runs: int = 10) -> dict:
    """{set: {method: {"default": (means, deviations), "tuned": ...}}}."""
    result: dict = {}
    for name in SETS:
        X, truth, task = load(name)
        result[name] = {}
        for method in METHODS:
            n = min(runs, 3) if method.endswith("SC") else runs  # its only chance is the last k-means
            each = np.array([scores(labels(method, X, task, seed), truth, task) for seed in range(n)])
            row = {"default": (each.mean(axis=0).tolist(), each.std(axis=0, ddof=1).tolist())}
            if method in TUNED:
                grid = [
                    np.mean(
                        [
                            scores(labels(method, X, task, seed, trade_off=value), truth, task)
                            for seed in range(tuning_runs)
                        ],
                        axis=0,
                    )
                    for value in GRID
                ]
                row["tuned"] = np.max(grid, axis=0).tolist()
                row["grid"] = np.array(grid).tolist()
            result[name][method] = row
            print(name, method, np.round(row["default"][0], 2), np.round(row.get("tuned", []), 2), flush=True)
    return result


def table(result: dict) -> str:
    """The figures as Markdown: ACC/NMI of each task."""
    lines = [
        "| set, task | " + " | ".join(METHODS) + " | " + " | ".join(f"{m} tuned" for m in TUNED) + " |",
        "|---|" + "---|" * (len(METHODS) + len(TUNED)),
    ]
    for name, rows in result.items():
        for t in (0, 1):
            cells = [
                f"{v[2 * t]:.1f}/{v[2 * t + 1]:.1f}" for v in (rows[m]["default"][0] for m in METHODS)
            ] + [f"{v[2 * t]:.1f}/{v[2 * t + 1]:.1f}" for v in (rows[m]["tuned"] for m in TUNED)]
            lines.append(f"| {name} {t + 1} | " + " | ".join(cells) + " |")
    means = [np.mean([r[m]["default"][0] for r in result.values()], axis=0) for m in METHODS]
    means += [np.mean([r[m]["tuned"] for r in result.values()], axis=0) for m in TUNED]
    lines.append("| mean | " + " | ".join(f"{v[::2].mean():.1f}/{v[1::2].mean():.1f}" for v in means) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    found = run(*(int(value) for value in sys.argv[1:3]))
    if len(sys.argv) > 3:
        Path(sys.argv[3]).write_text(json.dumps(found))
    print(table(found))
