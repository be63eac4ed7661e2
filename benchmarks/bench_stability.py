"""How alike answers are when the seed or a tenth of the objects changes, and how near to the classes.

    python -m benchmarks.bench_stability --half A --seeds 5                 print
    python -m benchmarks.bench_stability --half B --seeds 10 --store        and keep in results/stability.csv
    python -m benchmarks.bench_stability --sets iris,wine --methods default

Sets are those of the protocol ``defaults``, as given, in its two halves: settings are chosen on half A, half
B reports. The number of clusters is that of the classes. "seeds" is the mean adjusted Rand index between fits
with different seeds, "least" the lowest mean of one seed's with the others; "rows" that between fits to
random 90% of the objects, each with a seed of its own, on the objects that two of them share. "AUROC" says
how well ``confidence_`` tells the objects that another seed puts into the same cluster from the others
(matched so that most agree). KMeans and SpectralClustering (of ten nearest neighbors) see standardized
columns; counts of terms, which are the sparse sets, as tf-idf. CPU seconds are of one fit, with as many
threads as there are cores.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ._measure import ROOT, SHARED, alone, table

KEPT = ROOT / "benchmarks" / "results" / "stability.csv"
SHARE = 0.9
#: Seeds of the random numbers that leave objects out; their fits have seeds of their own.
LEFT_OUT, OTHER_SEEDS = 1_000, 100


class Fit(NamedTuple):
    """One answer: for which objects, and how sure."""

    rows: np.ndarray
    labels: np.ndarray
    confidence: np.ndarray | None
    stability: float


def by_hand(X: Any) -> Any:
    """Standardized columns; counts of terms as tf-idf."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.preprocessing import StandardScaler

    return (TfidfTransformer() if sp.issparse(X) else StandardScaler()).fit_transform(X)


def k_means(n_init: int) -> Callable[[Any, int, int], Any]:
    def fit(X: Any, k: int, seed: int) -> Any:
        from sklearn.cluster import KMeans

        return KMeans(k, n_init=n_init, random_state=seed).fit(by_hand(X))

    return fit


def spectral(X: Any, k: int, seed: int) -> Any:
    from sklearn.cluster import SpectralClustering

    neighbors = min(10, X.shape[0] - 1)
    model = SpectralClustering(k, affinity="nearest_neighbors", n_neighbors=neighbors, random_state=seed)
    return model.fit(by_hand(X))


def ours(X: Any, k: int, seed: int) -> Any:
    import consilience as cs

    return cs.ConsensusClustering(k, random_state=seed, keep_base_models=False).fit(X)


def mdec(X: Any, k: int, seed: int) -> Any:
    import consilience as cs

    return cs.MDEC(k, random_state=seed, keep_base_models=False).fit(X)


METHODS = {
    "default": ours,
    "KMeans, 10 starts": k_means(10),
    "KMeans, 1 start": k_means(1),
    "MDEC": mdec,
    "SpectralClustering": spectral,
}


def sets(half: str | None, names: list[str] | None, most: int | None) -> list[tuple[str, dict]]:
    """(half, entry of the protocol) of the sets as given."""
    protocol = json.loads((ROOT / "reproduction" / "protocols" / "defaults.json").read_text("utf-8"))
    found = []
    for item in protocol["sets"]:
        part, form = item["group"].removeprefix("half ").split(", ")
        wanted = names is None or item["name"] in names
        if form == "as given" and wanted and half in (None, part) and (most is None or item["n"] <= most):
            found.append((part, item))
    return sorted(found, key=lambda pair: pair[1]["n"])


def fits(method: str, data: str, seeds: int) -> tuple[dict[str, list[Fit]], np.ndarray, float]:
    """(the fits of each kind, classes, CPU seconds of a fit)."""
    from reproduction.sets import load_set

    warnings.simplefilter("ignore")
    loaded = load_set(data, SHARED / "data")
    X, k = loaded.features, loaded.n_classes
    n = X.shape[0]
    found: dict[str, list[Fit]] = {"seeds": [], "rows": []}
    METHODS[method](X, k, 0)  # so that nothing is compiled below
    start = time.process_time()
    for kind, seed in itertools.product(found, range(seeds)):
        rows = np.arange(n)
        if kind == "rows":
            drawn = np.random.default_rng(LEFT_OUT + seed).permutation(n)
            rows, seed = np.sort(drawn[: round(SHARE * n)]), OTHER_SEEDS + seed
        model = METHODS[method](X[rows], k, seed)
        own = getattr(model, "confidence_", None), getattr(model, "stability_", np.nan)
        found[kind].append(Fit(rows, np.asarray(model.labels_), *own))
    return found, loaded.truth, (time.process_time() - start) / (2 * seeds)


def likeness(fits: list[Fit]) -> np.ndarray:
    """Adjusted Rand index between each two, on the objects they share; NaN on the diagonal."""
    from consilience.metrics import ari

    out = np.full((len(fits), len(fits)), np.nan)
    for a, b in itertools.combinations(range(len(fits)), 2):
        _, i, j = np.intersect1d(fits[a].rows, fits[b].rows, return_indices=True)
        out[a, b] = out[b, a] = ari(fits[a].labels[i], fits[b].labels[j])
    return out


def told_apart(fits: list[Fit]) -> float:
    """Mean AUROC of the confidence of one fit against "same cluster in another"; NaN where no two differ."""
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics import roc_auc_score

    found = []
    for a, b in itertools.permutations(fits, 2):
        counts = np.zeros((a.labels.max() + 1, b.labels.max() + 1))
        np.add.at(counts, (a.labels, b.labels), 1)
        here, there = linear_sum_assignment(-counts)
        match = np.full(len(counts), -1)
        match[here] = there
        same = match[a.labels] == b.labels
        if a.confidence is not None and not same.all() and same.any():
            found.append(roc_auc_score(same, a.confidence))
    return float(np.mean(found)) if found else float("nan")


def measure(method: str, data: str, seeds: int) -> dict[str, Any]:
    """One row's figures, in a process of its own."""
    from consilience.metrics import scores

    found, truth, seconds = fits(method, data, seeds)
    agreed = likeness(found["seeds"])
    against = [scores(truth, fit.labels) for fit in found["seeds"]]
    return {
        "seeds": float(np.nanmean(agreed)),
        "least": float(np.nanmean(agreed, axis=1).min()),
        "rows": float(np.nanmean(likeness(found["rows"]))),
        "NMI": float(np.mean([one["nmi"] for one in against])),
        "ARI": float(np.mean([one["ari"] for one in against])),
        "stability": float(np.mean([fit.stability for fit in found["seeds"]])),
        "AUROC": told_apart(found["seeds"]),
        "CPU s": seconds,
        "fits": seeds,
        "load": os.getloadavg()[0],
    }


def run(
    half: str | None = None,
    names: list[str] | None = None,
    most: int | None = 1_000,
    seeds: int = 3,
    methods: list[str] | None = None,
) -> Iterator[dict[str, Any]]:
    for part, item in sets(half, names, most):
        for method in methods or METHODS:
            _, _, row = alone(measure, method, item["data"], seeds)
            head = {"half": part, "set": item["name"], "n": item["n"], "d": item["d"], "k": item["classes"]}
            yield {**head, "method": method, **row}


def keep(rows: list[dict[str, Any]]) -> None:
    """Into the file, in place of the same sets and methods."""
    old = list(csv.DictReader(KEPT.open(encoding="utf-8"))) if KEPT.is_file() else []
    fresh = {(row["set"], row["method"]) for row in rows}
    everything = [row for row in old if (row["set"], row["method"]) not in fresh]
    everything += [
        {name: f"{value:.4g}" if isinstance(value, float) else str(value) for name, value in row.items()}
        for row in rows
    ]
    everything.sort(
        key=lambda row: (row["half"], int(row["n"]), row["set"], list(METHODS).index(row["method"]))
    )
    with KEPT.open("w", encoding="utf-8", newline="") as handle:
        writer = csv.DictWriter(handle, list(everything[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(everything)


def means(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Over the sets, by half and method; empty figures are left out."""
    names = ("seeds", "least", "rows", "NMI", "ARI", "stability", "AUROC", "CPU s")
    for (half, method), group in itertools.groupby(
        sorted(rows, key=lambda row: (row["half"], list(METHODS).index(row["method"]))),
        lambda row: (row["half"], row["method"]),
    ):
        own = list(group)
        values = {name: np.array([float(row[name]) for row in own]) for name in names}
        mean = {name: float(np.nanmean(of)) for name, of in values.items() if np.isfinite(of).any()}
        yield {"half": half, "method": method, "sets": len(own), **mean}


def kept() -> Iterator[dict[str, Any]]:
    """The means of what is kept, and beside each method those of the default on the same sets."""
    rows = list(csv.DictReader(KEPT.open(encoding="utf-8")))
    for mean in means(rows):
        sets = {row["set"] for row in rows if (row["half"], row["method"]) == (mean["half"], mean["method"])}
        ours = [row for row in rows if row["method"] == "default" and row["set"] in sets]
        same = next(means(ours)) if len(ours) == len(sets) and mean["method"] != "default" else {}
        yield {**mean, **{f"default's {name}": same[name] for name in ("seeds", "rows", "NMI") if same}}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5, help="fits of each kind")
    parser.add_argument("--sets", help="names, with commas between")
    parser.add_argument("--half", choices=("A", "B"))
    parser.add_argument("--max-objects", type=int, default=5_000)
    parser.add_argument("--methods", help=f"of {'; '.join(METHODS)}, with semicolons between")
    parser.add_argument("--store", action="store_true", help="keep in results/stability.csv after every set")
    return parser.parse_args()


if __name__ == "__main__":
    given = _arguments()
    rows: list[dict[str, Any]] = []
    names = given.sets.split(",") if given.sets else None
    methods = [word.strip() for word in given.methods.split(";")] if given.methods else None
    for row in run(given.half, names, given.max_objects, given.seeds, methods):
        rows.append(row)
        print(
            ", ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{v}" for k, v in row.items()), flush=True
        )
        if given.store:
            keep([row])
    print(table(means(rows)))
