"""Whether ``choose_k`` finds the true number of classes, and how often it sees clusters where there are none.

    python -m benchmarks choose-k                        what is not measured yet, then the tables
    python -m benchmarks.bench_choose_k sets --minutes 10
    python -m benchmarks.bench_choose_k synthetic
    python -m benchmarks.bench_choose_k nulls --minutes 10
    python -m benchmarks.bench_choose_k time             seconds and memory, each in a process of its own
    python -m benchmarks.bench_choose_k                  the tables, of what is stored

Stored is what the rule decides from, and the p-values; its answers are made of these when a table is, so that
another rule needs no other run. Sets: every set of the protocol ``defaults`` with at most 12 classes, as
given and prepared, in its two halves: whoever changes the rule for real sets looks at half A alone, half B
reports. Classes are not clusters: a rule can be right and differ from them. Every criterion sees the same
sample of at most MOST objects and the same numbers of clusters. Synthetic: clusters that are known. Nulls:
one cloud each, of random n and d; the right answer is 1. Cells are kept in results/, cheapest first, and
those there are not measured again: a run may be stopped, and several may share the work (``--part 0 4`` is
the first of four).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._measure import ROOT, SHARED, alone, peak, table, timed
from .bench_which_method import between

FOLDER = ROOT / "benchmarks" / "results"
SETS, NULLS = FOLDER / "choose_k.jsonl", FOLDER / "choose_k_nulls.jsonl"
MADE, TIMES = FOLDER / "choose_k_synthetic.jsonl", FOLDER / "choose_k_times.jsonl"
PAGE = ROOT / "docs" / "research" / "choose-k.md"
#: Classes a set may have, numbers of clusters that are looked at, and objects of a study.
CLASSES, KS, MOST = 12, range(2, 13), 500
#: Kinds of null, in turn: every second is Gaussian, as that is what the level is promised for.
KINDS = ("gaussian", "uniform", "gaussian", "lognormal", "gaussian", "t")
N_NULLS, OBJECTS, FEATURES = 210, (100, 2_000), (2, 500)
#: Sets of each synthetic kind.
SEEDS = 18
#: Starts of k-means, references of the gap statistic, and components that a Gaussian mixture is fitted in,
#: for the rivals.
STARTS, GAP_REFERENCES, COMPONENTS = 5, 10, 10
#: Level of each test; 39 references.
LEVEL = 0.025
#: Growth of the area under the CDF that still counts, for delta area, which comes without a rule.
GROWS = 0.1
DIGITS = 5
#: Criteria in the table of synthetic sets.
SHOWN = ("choose_k", "choose_k or an alternative", "gain alone", "eigengap alone", "silhouette", "gap")


# What is stored
# ----------------------------------------------------------------------------------------------


def read(file: Path) -> list[dict[str, Any]]:
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def add(file: Path, row: dict[str, Any]) -> None:
    with file.open("a", encoding="utf-8") as handle:
        handle.write(json.dumps(row) + "\n")


def rounded(values: Any) -> list[float | None]:
    """JSON has no NaN."""
    return [round(float(v), DIGITS) if math.isfinite(v) else None for v in np.asarray(values, float)]


# Sets
# --------------------------------------------------------------------------------------------------------


def sets() -> list[Any]:
    """Those of the protocol with few enough classes, the cheapest first."""
    from reproduction.protocol import load_protocol

    found = [item for item in load_protocol("defaults").sets if item.classes <= CLASSES]
    return sorted(found, key=lambda item: min(item.n, MOST) * min(item.n, item.d, MOST))


def measure_set(item: Any) -> dict[str, Any]:
    import consilience as cs
    from reproduction.sets import load_set

    loaded = load_set(item.data, SHARED / "data", item.transform)
    start = time.process_time()
    study = cs.choose_k(
        loaded.features, n_clusters=KS, preprocess="none", max_samples=MOST, random_state=0, verbose=False
    )
    seconds = time.process_time() - start
    rows = np.arange(study.n_samples) if study.sample is None else study.sample
    half, how = item.group.split(", ")
    return {
        "set": item.name,
        "half": half,
        "how": how,
        "classes": loaded.n_classes,
        "objects": study.n_samples,
        "features": loaded.shape[1],
        "studied": len(rows),
        "seconds": round(seconds, 1),
        **evidence(study),
        "rivals": rivals(loaded.features[rows]),
    }


def evidence(study: Any) -> dict[str, Any]:
    """What the rule decides from."""
    return {
        "p": {test.name: round(test.p, DIGITS) for test in study.tests},
        "ks": study.n_clusters_tried.tolist(),
        "columns": {name: rounded(values) for name, values in study.columns.items() if name != "n_clusters"},
        "spectrum": rounded(study.spectrum),
        "gap_error": rounded(study.references.loss.std(axis=0, ddof=1)),
        "spectrum_null": rounded(study.references.values.mean(axis=0)),
    }


# Rivals
# ------------------------------------------------------------------------------------------------------


def rivals(X: Any) -> dict[str, int]:
    """The k that criteria on the features name.

    Distances are all they need, so they see principal components.
    """
    from sklearn.metrics import calinski_harabasz_score, silhouette_score

    from consilience._choosing.null import cloud_of
    from consilience._kernels.runtime.threads import one_blas_thread

    scores = cloud_of(X if sp.issparse(X) else np.asarray(X, float), np.ones(X.shape[0]), axes=False).scores
    scores = np.ascontiguousarray(scores)
    with one_blas_thread():  # on sets so small, threads wait for each other longer than they work
        labels, inertia = best_kmeans(scores, list(KS), 0)
        found = {
            "silhouette": [silhouette_score(scores, own) for own in labels],
            "Calinski-Harabasz": [calinski_harabasz_score(scores, own) for own in labels],
        }
        answers = {name: KS[int(np.argmax(values))] for name, values in found.items()}
        return {**answers, "gap statistic": gap_statistic(scores, inertia), "BIC": mixture(scores)}


def best_kmeans(X: np.ndarray, ks: list[int], seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """(labels, inertia) for each k, the best of STARTS."""
    from consilience._kernels.kmeans import many_kmeans

    every = [k for k in ks for _ in range(STARTS)]
    runs = many_kmeans(X, every, seeds=[[seed, i] for i in range(len(every))], keep_centers=False)
    inertia = np.reshape(runs.inertia, (len(ks), STARTS))
    best = inertia.argmin(axis=1)
    return [runs.labels[:, j * STARTS + b] for j, b in enumerate(best)], inertia.min(axis=1)


def gap_statistic(scores: np.ndarray, inertia: np.ndarray) -> int:
    """The smallest k whose gap is within an error of the next, with k = 1 among the candidates.

    Tibshirani, Walther and Hastie (2001).
    """
    from consilience._kernels.kmeans import many_kmeans

    def curve(X: np.ndarray, of_ks: np.ndarray) -> np.ndarray:
        return np.log(np.concatenate([[((X - X.mean(axis=0)) ** 2).sum()], of_ks]))

    rng = np.random.default_rng(0)
    reference = []
    for r in range(GAP_REFERENCES):
        drawn = rng.uniform(scores.min(axis=0), scores.max(axis=0), scores.shape)
        runs = many_kmeans(drawn, list(KS), seeds=[[r, k] for k in KS], keep_centers=False)
        reference.append(curve(drawn, runs.inertia))
    gaps = np.mean(reference, axis=0) - curve(scores, inertia)
    error = np.std(reference, axis=0) * np.sqrt(1 + 1 / GAP_REFERENCES)
    enough = np.flatnonzero(gaps[:-1] >= gaps[1:] - error[1:])
    return int(enough[0]) + 1 if enough.size else KS[-1]


def mixture(scores: np.ndarray) -> int:
    """The k of the best BIC of a Gaussian mixture with full covariances in the leading components.

    k = 1 is among the candidates.
    """
    from sklearn.mixture import GaussianMixture

    part = scores[:, :COMPONENTS]
    ks = [1, *KS]
    bic = [
        GaussianMixture(k, n_init=2, random_state=0, reg_covar=1e-6 * part.var()).fit(part).bic(part)
        for k in ks
    ]
    return ks[int(np.argmin(bic))]


# Synthetic sets with known clusters
# -----------------------------------------------------------------------------


def synthetic(kind: str, seed: int) -> tuple[np.ndarray, int]:
    """(X, its number of clusters): n = 80 to 240 objects.

    Clusters are spherical with standard deviation 1 by default.
    """
    rng = np.random.default_rng([seed, list(SYNTHETIC).index(kind)])
    sizes, centers, spread = SYNTHETIC[kind](rng)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    scale = np.broadcast_to(np.asarray(spread, float), centers.shape)[truth]
    return centers[truth] + scale * rng.standard_normal((len(truth), centers.shape[1])), len(sizes)


def apart(rng: np.random.Generator, k: int, d: int) -> np.ndarray:
    """(k, d) random centers in a box, every two at least 4 apart."""
    found: list[np.ndarray] = []
    while len(found) < k:
        one = rng.uniform(0, 10, d)
        if all(np.linalg.norm(one - other) >= 4 for other in found):
            found.append(one)
    return np.array(found)


def wide(k: int, n: int, d: int) -> tuple[list[int], np.ndarray, int]:
    """Fewer objects than features.

    The scatter between clusters is twice the largest that noise has in any direction.
    """
    noise = math.sqrt(n) + math.sqrt(d)
    return [n // k] * k, math.sqrt(2 * k / n) * noise * np.eye(k, d), 1


#: What each kind draws: (objects of each cluster, centers, standard deviation of the columns, for each
#: cluster or for all).
SYNTHETIC: dict[str, Callable[[np.random.Generator], tuple[list[int], np.ndarray, Any]]] = {
    "2 overlapping": lambda rng: ([60] * 2, 4 * np.eye(2, 6)[[0, 0]] * [[0], [1]], 1),
    "3 overlapping": lambda rng: ([50] * 3, 4.5 * np.array([[0, 0], [1, 0], [0.5, 0.866]]), 1),
    "4 overlapping": lambda rng: ([40] * 4, 3.2 * np.eye(4, 5), 1),
    "5 unequal": lambda rng: ([90, 60, 40, 30, 20], 5 * np.vstack([np.zeros(3), np.eye(3), np.ones(3)]), 1),
    "2 x 2 nested": lambda rng: ([40] * 4, np.array([[0.0, 0], [0, 5], [14, 0], [14, 5]]), 1),
    "4 in 100 dimensions": lambda rng: ([25] * 4, 5 * np.eye(4, 100), 1),
    "6 random": lambda rng: ([30] * 6, apart(rng, 6, 4), 1),
    "8 random": lambda rng: ([30] * 8, apart(rng, 8, 5), 1),
    "2 in 50 dimensions": lambda rng: ([40] * 2, 6 * np.eye(2, 50)[[0, 0]] * [[0], [1]], 1),
    "unequal spread": lambda rng: (
        [50] * 3,
        np.array([[0.0, 0, 0], [6, 0, 0], [0, 8, 0]]),
        [[0.5], [1], [2]],
    ),
    "elongated": lambda rng: ([50] * 3, np.array([[0.0, 0], [0, 5], [0, 10]]), [2, 1]),
    "3 in 1,000 dimensions": lambda rng: wide(3, 90, 1_000),
    "4 in 2,000 dimensions": lambda rng: wide(4, 120, 2_000),
    "6 in 500 dimensions": lambda rng: wide(6, 150, 500),
}


def synthetics() -> list[tuple[str, int]]:
    """(kind, seed) of every set."""
    return [(kind, seed) for seed in range(SEEDS) for kind in SYNTHETIC]


def measure_synthetic(cell: tuple[str, int]) -> dict[str, Any]:
    import consilience as cs

    kind, seed = cell
    X, clusters = synthetic(kind, seed)
    start = time.process_time()
    study = cs.choose_k(X, n_clusters=(2, 8), preprocess="none", random_state=seed, verbose=False)
    return {
        "kind": kind,
        "seed": seed,
        "classes": clusters,
        "objects": X.shape[0],
        "features": X.shape[1],
        "seconds": round(time.process_time() - start, 1),
        **evidence(study),
    }


# Nulls
# -------------------------------------------------------------------------------------------------------


def shape_of(number: int) -> tuple[str, int, int]:
    """(kind, n, d) of a null: sizes are drawn, even on a logarithmic scale."""
    rng = np.random.default_rng([number, 0])
    n, d = (round(math.exp(rng.uniform(math.log(low), math.log(high)))) for low, high in (OBJECTS, FEATURES))
    return KINDS[number % len(KINDS)], n, d


def null(number: int) -> np.ndarray:
    """One cloud: Gaussian of a random covariance, or independent columns.

    These are uniform, lognormal, or t with 3 degrees of freedom.
    """
    kind, n, d = shape_of(number)
    rng = np.random.default_rng([number, 1])
    if kind == "gaussian":
        turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
        return rng.standard_normal((n, d)) * np.exp(rng.standard_normal(d)) @ turn
    draw: dict[str, Callable[[], np.ndarray]] = {
        "uniform": lambda: rng.uniform(size=(n, d)),
        "lognormal": lambda: rng.lognormal(size=(n, d)),
        "t": lambda: rng.standard_t(3, size=(n, d)),
    }
    return draw[kind]()


def nulls() -> list[int]:
    """Their numbers, the cheapest first."""
    return sorted(range(N_NULLS), key=lambda number: math.prod(shape_of(number)[1:]))


def measure_null(number: int) -> dict[str, Any]:
    import consilience as cs

    kind, n, d = shape_of(number)
    start = time.process_time()
    study = cs.choose_k(null(number), n_clusters=(2, 10), random_state=number, verbose=False)
    return {
        "null": number,
        "kind": kind,
        "objects": n,
        "features": d,
        "seconds": round(time.process_time() - start, 1),
        "p": {test.name: round(test.p, DIGITS) for test in study.tests},
        "warned": any("skewed" in note for note in study.notes),
    }


# Tables
# ------------------------------------------------------------------------------------------------------


def table_of(row: dict[str, Any]) -> dict[str, np.ndarray]:
    """The stored columns, with the numbers of clusters."""
    columns = {
        name: np.array([math.nan if v is None else v for v in values])
        for name, values in row["columns"].items()
    }
    return {"n_clusters": np.array(row["ks"]), **columns}


def judged(row: dict[str, Any]) -> Any:
    """The answer of the rule as it is now."""
    from consilience._choosing.rule import Test, decide

    tests = [Test(name, math.nan, p, LEVEL, "gaussian", 39) for name, p in row["p"].items()]
    return decide(table_of(row), tests)


def answers(row: dict[str, Any]) -> dict[str, int]:
    """The k of every criterion on one set."""
    columns = table_of(row)
    ks = columns["n_clusters"]

    def best(name: str, sign: int = 1) -> int:
        return int(ks[np.nanargmax(sign * columns[name])])

    grows = np.flatnonzero(columns["delta_area"][1:] >= GROWS)
    answer = judged(row).n_clusters
    before = [best(name) for name in ("gain", "eigengap", "lifetime")]
    return {
        "choose_k": answer,
        "two of three": 1 if answer == 1 else min(before, key=lambda k: (-before.count(k), k)),
        "gain alone": best("gain"),
        "eigengap alone": best("eigengap"),
        "RCSI alone": best("rcsi"),
        "lifetime alone": best("lifetime"),
        "PAC": best("pac", -1),
        "delta area": int(ks[1:][grows[-1]]) if grows.size else int(ks[0]),
        **(row["rivals"] if "rivals" in row else {name: best(name) for name in ("silhouette", "gap")}),
    }


def hits(row: dict[str, Any]) -> dict[str, bool]:
    """Whether each criterion names the number of classes."""
    answer = judged(row)
    found = {name: k == row["classes"] for name, k in answers(row).items()}
    return found | {"choose_k or an alternative": row["classes"] in [answer.n_clusters, *answer.alternatives]}


def right(rows: list[dict[str, Any]]) -> dict[str, int]:
    """How often each criterion names the number of classes."""
    each = [hits(row) for row in rows]
    return {name: sum(one[name] for one in each) for name in each[0]}


def off(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Mean distance from the number of classes, as a factor: 2 is twice or half as many."""
    found: dict[str, list[float]] = {}
    for row in rows:
        for name, k in answers(row).items():
            found.setdefault(name, []).append(abs(math.log(k / row["classes"])))
    return {name: math.exp(np.mean(values)) for name, values in found.items()}


def grouped(rows: list[dict[str, Any]], *by: str) -> dict[str, list[dict[str, Any]]]:
    """Rows with equal values there, by these values."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(", ".join(str(row[name]) for name in by), []).append(row)
    return found


def set_table(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    groups = dict(sorted(grouped(rows, "half", "how").items()))
    counts = {f"{group} ({len(own)} sets)": right(own) for group, own in groups.items()}
    away = {half: off(own) for half, own in sorted(grouped(rows, "half").items())}
    for name in next(iter(counts.values()), {}):
        line: dict[str, Any] = {"criterion": name}
        line |= {group: own[name] for group, own in counts.items()}
        yield line | {f"off by, {half}": own.get(name, "") for half, own in away.items()}


def others(rows: list[dict[str, Any]]) -> str:
    """How many alternatives there are, in a sentence."""
    shares = [
        f"{np.mean([len(judged(row).alternatives) for row in own]):.1f} in {half}"
        for half, own in sorted(grouped(rows, "half").items())
    ]
    return f"\n\nAlternatives to choose from, on average: {', '.join(shares)}."


def synthetic_table(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for kind, own in {**grouped(rows, "kind"), "all": rows}.items():
        passed = {name: sum(row["p"][name] <= LEVEL for row in own) for name in ("inertia", "stability")}
        found = right(own)
        yield {
            "clusters": kind,
            "sets": len(own),
            **{name: found[name] for name in SHOWN},
            **{f"{name} p <= {LEVEL}": n for name, n in passed.items()},
        }


def null_table(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for kind, own in grouped(sorted(rows, key=lambda row: KINDS.index(row["kind"])), "kind").items():
        passed = {
            name: np.array([row["p"][name] <= LEVEL for row in own]) for name in ("inertia", "stability")
        }
        yield {
            "null": kind,
            "clouds": len(own),
            "not 1": int((passed["inertia"] | passed["stability"]).sum()),
            "both tests": int((passed["inertia"] & passed["stability"]).sum()),
            **{f"{name} p <= {LEVEL}": int(each.sum()) for name, each in passed.items()},
            "warned of the columns": sum(row["warned"] for row in own),
        }


def page(text: str) -> str:
    """docs/research/choose-k.md with the tables as stored."""
    stored, made, clouds = read(SETS), read(MADE), read(NULLS)
    text = between(
        text, "sets", table(set_table(stored)) + others(stored) + so_far(len(stored), len(sets()), "sets")
    )
    text = between(
        text, "synthetic", table(synthetic_table(made)) + so_far(len(made), len(synthetics()), "sets")
    )
    text = between(text, "times", table(time_table(read(TIMES))))
    return between(text, "nulls", table(null_table(clouds)) + so_far(len(clouds), N_NULLS, "clouds"))


def so_far(done: int, all_of_them: int, what: str) -> str:
    """What a table does not show yet."""
    missing = done < all_of_them
    return f"\n\nMeasured so far: {done} of {all_of_them} {what}, the smallest first." if missing else ""


def write_page() -> None:
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")


# Time and memory
# ---------------------------------------------------------------------------------------------


def default_study() -> dict[str, Any]:
    """The study at its defaults, by the clock; importing the library is not counted."""
    import consilience as cs

    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 2_000)) + 4 * np.eye(4, 2_000)[rng.integers(0, 4, 500)]
    seconds, study = timed(lambda: cs.choose_k(X, n_clusters=(2, 10), random_state=0, verbose=False))
    return {"seconds": seconds, "peak": peak(), "k": study.n_clusters}


def of_labels(clusters: int) -> dict[str, Any]:
    """A study of 10^6 x 50 labels, their ensemble included.

    The labels are cells around random objects, of so many clusters or of one cloud.
    """
    import consilience as cs

    n, rng = 1_000_000, np.random.default_rng(0)
    centers = 8 * rng.standard_normal((clusters, 3))
    X = (rng.standard_normal((n, 3)) + centers[rng.integers(0, clusters, n)]).astype(np.float32)
    labels = np.empty((50, n), np.int16).T  # one clustering after the other
    for own in labels.T:
        own[:] = nearest(X, X[rng.choice(n, rng.integers(2, 21), replace=False)])
    seconds, study = timed(
        lambda: cs.choose_k(cs.Ensemble(labels), n_clusters=(2, 10), random_state=0, verbose=False)
    )
    return {"seconds": seconds, "peak": peak(), "k": study.n_clusters}


def nearest(X: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """(n,) the center that each row is nearest to, without a matrix of all distances."""
    best, label = np.full(len(X), np.inf, np.float32), np.zeros(len(X), np.int16)
    for j, center in enumerate(centers):
        far = ((X - center) ** 2).sum(axis=1)
        label[far < best] = j
        np.minimum(best, far, out=best)
    return label


#: What is timed: (call, its arguments, seconds and MB that are asked).
TIMED: dict[str, tuple[Callable[..., dict[str, Any]], tuple, float, float | None]] = {
    "500 x 2,000 features, defaults": (default_study, (), 20, None),
    "labels of 10^6 x 50, 10 clusters": (of_labels, (10,), 60, 1_000),
    "labels of 10^6 x 50, one cloud": (of_labels, (1,), 60, 1_000),
}


def measure_times() -> None:
    """All of them again, each in a process of its own; what was stored is replaced."""
    rows = []
    for what, (call, arguments, _, _) in TIMED.items():
        found = alone(call, *arguments)[2]
        rows.append(
            {
                "study": what,
                "seconds": round(found["seconds"], 1),
                "peak_mb": round(found["peak"] / 1e6),
                "cores": len(os.sched_getaffinity(0)),
            }
        )
        print(rows[-1], flush=True)
    TIMES.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def time_table(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        _, _, seconds, memory = TIMED[row["study"]]
        yield {
            "study": row["study"],
            "cores": row["cores"],
            "seconds": row["seconds"],
            "at most": seconds,
            "peak MB of the process": row["peak_mb"],
            "at most, MB": memory or "",
        }


# Measuring
# ---------------------------------------------------------------------------------------------------


#: What is measured in cells: their file, the cells by what tells them apart, and how one is measured.
CELLS: dict[str, tuple[Path, Callable[[], list[tuple[Any, Any]]], Callable[[Any], dict[str, Any]]]] = {
    "sets": (SETS, lambda: [(item.name, item) for item in sets()], measure_set),
    "synthetic": (MADE, lambda: [(cell, cell) for cell in synthetics()], measure_synthetic),
    "nulls": (NULLS, lambda: [(number, number) for number in nulls()], measure_null),
}


def name_of(row: dict[str, Any]) -> Any:
    """What tells a stored cell apart."""
    return (row["kind"], row["seed"]) if "seed" in row else row.get("set", row.get("null"))


def measure(what: str, minutes: float, part: tuple[int, int] = (0, 1)) -> None:
    """Cells that are not stored, until the minutes are over."""
    end = time.monotonic() + 60 * minutes
    file, cells, of = CELLS[what]
    done = {name_of(row) for row in read(file)}
    for name, cell in [one for one in cells() if one[0] not in done][part[0] :: part[1]]:
        if time.monotonic() > end:
            return
        row = of(cell)
        add(file, row)
        print(name, row["p"], row["seconds"], flush=True)


def run():
    for what in CELLS:
        measure(what, math.inf)
    write_page()
    print(table(null_table(read(NULLS))), "\n")
    print(table(synthetic_table(read(MADE))), "\n")
    yield from set_table(read(SETS))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", nargs="?", choices=(*CELLS, "time"))
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), metavar=("I", "OF"))
    asked = parser.parse_args()
    if asked.what == "time":
        measure_times()
    elif asked.what:
        measure(asked.what, asked.minutes, tuple(asked.part))
    write_page()
    for rows in (
        time_table(read(TIMES)),
        null_table(read(NULLS)),
        synthetic_table(read(MADE)),
        set_table(read(SETS)),
    ):
        print(table(rows), "\n")
