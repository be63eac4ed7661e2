"""How near ``choose_k`` comes to known numbers of clusters, on sets made for it.

    python -m benchmarks.bench_how_many measure --minutes 10    what is not measured yet
    python -m benchmarks.bench_how_many --half B                the table of what is stored
    python -m benchmarks how-many

Half of the sets are generated: 2 to 30 Gaussian, heavy-tailed or nested clusters of equal or unequal sizes
and widths, with or without columns of noise, with more objects than features or fewer. The others are drawn
from known sets with classes: some of the classes, and some of their objects. Two halves, by generated set and
by known set: rules are chosen on half A, half B reports. Each set has at most OBJECTS objects. Criteria name
a number among those that ``choose_k`` compared. "log error" is the mean |log(k / number of clusters)|, "ARI"
that of the clusters at k with the known ones.
"""

from __future__ import annotations

import argparse
import json
import math
import time
import zlib
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ._measure import ROOT, SHARED, table

KEPT = ROOT / "benchmarks" / "results" / "how_many.jsonl"
#: Sets of each kind, and objects of a set.
SETS, OBJECTS = 100, 300
#: The numbers that are always answered, for comparison.
CONSTANTS = (4, 8)


class Known(NamedTuple):
    """A set with known clusters."""

    name: str
    half: str
    X: Any
    y: np.ndarray


# Sets
# ------------------------------------------------------------------------------------------------------


def generated(number: int) -> Known:
    """A set of clusters that are known, drawn by its number."""
    rng = np.random.default_rng([number, 1])
    c = round(2 * 15 ** rng.random())
    d = round(2 * 100 ** rng.random())
    n = int(rng.integers(max(60, 10 * c), OBJECTS + 1)) if 10 * c < OBJECTS else OBJECTS
    shares = rng.dirichlet(np.full(c, 5.0)) if rng.random() < 0.5 else np.full(c, 1 / c)
    sizes = np.maximum(np.round(n * shares).astype(int), 5)
    apart = rng.uniform(3.5, 8) if d > 2 else rng.uniform(5, 9)
    centers = rng.normal(size=(c, d))
    nearest = min(np.linalg.norm(a - b) for i, a in enumerate(centers) for b in centers[:i])
    centers *= apart / max(nearest, 0.3)
    if c >= 4 and rng.random() < 0.25:  # nested: pairs of clusters at the distance that was drawn, far apart
        centers[1::2] = centers[: 2 * (c // 2) : 2] + apart * unit(rng, (c // 2, d))
    spread = rng.uniform(0.6, 1.4, c) if rng.random() < 0.5 else np.ones(c)
    y = np.repeat(np.arange(c), sizes)
    tails = rng.random() < 0.25
    noise = rng.standard_t(4, (len(y), d)) / math.sqrt(2) if tails else rng.normal(size=(len(y), d))
    X = centers[y] + spread[y, None] * noise
    if rng.random() < 0.3:
        X = np.hstack([X, rng.normal(size=(len(y), max(1, d // 2)))])
    return Known(f"generated {number}", "AB"[number % 2], X, y)


def unit(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    """Rows of length one in random directions."""
    found = rng.normal(size=shape)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def drawn(number: int, sources: list[Any]) -> Known:
    """Some classes of a known set, and some of their objects."""
    from reproduction.sets import load_set

    item = sources[number % len(sources)]
    rng = np.random.default_rng([number, 2])
    loaded = load_set(item.data, SHARED / "data", item.transform)
    y = np.unique(loaded.truth, return_inverse=True)[1].reshape(-1)
    most = min(int(y.max()) + 1, 30)
    c = int(rng.integers(2, most + 1))
    kept = np.flatnonzero(np.isin(y, rng.choice(int(y.max()) + 1, c, replace=False)))
    if kept.size > OBJECTS:
        kept = np.sort(rng.choice(kept, OBJECTS, replace=False))
    half = "AB"[zlib.crc32(item.data.encode()) % 2]
    X = loaded.features[kept] if sp.issparse(loaded.features) else np.asarray(loaded.features)[kept]
    return Known(name_of(number, sources), half, X, np.unique(y[kept], return_inverse=True)[1])


def name_of(number: int, sources: list[Any]) -> str:
    return f"{sources[number % len(sources)].data} {number}"


def sources() -> list[Any]:
    """The known sets as given, each once."""
    from reproduction.protocol import load_protocol

    found: dict[str, Any] = {}
    for item in load_protocol("defaults").sets:
        if item.group.endswith("as given") and item.n * item.d < 2e7:
            found.setdefault(item.data, item)
    return [found[name] for name in sorted(found)]


# What is measured
# --------------------------------------------------------------------------------------------


def measure(known: Known) -> dict[str, Any]:
    """The study of a set, what criteria name, and how well each number divides the set."""
    import consilience as cs

    start = time.process_time()
    study = cs.choose_k(known.X, random_state=0, verbose=False)
    seconds = time.process_time() - start
    ks = study.n_clusters_tried.tolist()
    return {
        "set": known.name,
        "half": known.half,
        "clusters": int(known.y.max()) + 1,
        "objects": len(known.y),
        "features": known.X.shape[1],
        "seconds": round(seconds, 2),
        "k": study.n_clusters,
        "verdict": study.verdict,
        "alternatives": study.alternatives,
        "ks": ks,
        "ari": [round(cs.metrics.ari(known.y, study.labels(k)), 4) for k in ks],
        "p": {test.name: round(test.p, 4) for test in study.tests},
        "columns": {
            name: [None if not math.isfinite(v) else round(float(v), 5) for v in values]
            for name, values in study.columns.items()
        },
        "rivals": rivals(known.X, study),
    }


def rivals(X: Any, study: Any) -> dict[str, int]:
    """The numbers that criteria on the features name, of k-means among the same numbers of clusters."""
    from sklearn.cluster import KMeans
    from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score, silhouette_score
    from sklearn.preprocessing import StandardScaler

    dense = np.asarray(X.todense()) if sp.issparse(X) else np.asarray(X, float)
    Z = StandardScaler().fit_transform(dense)
    ks = study.n_clusters_tried.tolist()
    labels = [KMeans(k, n_init=3, random_state=0).fit_predict(Z) for k in ks]
    scores = {
        "silhouette": [silhouette_score(Z, own) for own in labels],
        "Calinski-Harabasz": [calinski_harabasz_score(Z, own) for own in labels],
        "Davies-Bouldin": [-davies_bouldin_score(Z, own) for own in labels],
    }
    return {name: ks[int(np.argmax(values))] for name, values in scores.items()}


def stored() -> list[dict[str, Any]]:
    return [json.loads(line) for line in KEPT.read_text("utf-8").splitlines()] if KEPT.exists() else []


def extend(minutes: float) -> None:
    """Measure what is not stored, in turn of both kinds."""
    done, end = {row["set"] for row in stored()}, time.monotonic() + 60 * minutes
    known = sources() if (SHARED / "data").exists() else []
    for number in range(SETS):
        waiting = [(f"generated {number}", partial(generated, number))]
        if known:
            waiting.append((name_of(number, known), partial(drawn, number, known)))
        for name, make in waiting:
            if name in done:
                continue
            if time.monotonic() > end:
                return
            with KEPT.open("a", encoding="utf-8") as file:
                file.write(json.dumps(measure(make())) + "\n")


# Tables
# ------------------------------------------------------------------------------------------------------


def named_by(row: dict[str, Any]) -> dict[str, int]:
    """The number that each rule names."""
    ks, columns = row["ks"], row["columns"]
    best = {
        name: ks[int(np.nanargmax([np.nan if v is None else v for v in columns[name]]))]
        for name in ("gain", "eigengap", "lifetime", "rcsi")
        if name in columns
    }
    constants = {f"always {k}": k for k in CONSTANTS}
    return {"choose_k": row["k"], **best, **row["rivals"], **constants, "the true number": row["clusters"]}


def ari_at(row: dict[str, Any], k: int) -> float:
    """The ARI with k clusters; 0 with one, and that of the nearest number that was compared."""
    if k == 1:
        return 0.0
    return row["ari"][int(np.argmin([abs(math.log(one / k)) for one in row["ks"]]))]


def summarized(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a rule."""
    found: list[dict[str, Any]] = []
    for rule in named_by(rows[0]):
        ks = [named_by(row)[rule] for row in rows]
        error = [abs(math.log(k / row["clusters"])) for k, row in zip(ks, rows)]
        found.append(
            {
                "rule": rule,
                "sets": len(rows),
                "log error": f"{np.mean(error):.2f}",
                "exact": sum(e == 0 for e in error),
                "ARI": f"{np.mean([ari_at(row, k) for k, row in zip(ks, rows)]):.3f}",
            }
        )
    return found


def run(half: str = "B") -> list[dict[str, Any]]:
    return summarized([row for row in stored() if row["half"] == half])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", nargs="?", choices=["measure"])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--half", choices=["A", "B"], default="B")
    arguments = parser.parse_args()
    if arguments.what == "measure":
        extend(arguments.minutes)
    print(table(run(arguments.half)))


if __name__ == "__main__":
    main()
