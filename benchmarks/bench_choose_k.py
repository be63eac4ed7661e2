"""Is the true number of classes what ``choose_k`` answers? And how often does it see clusters where there are none?

    python -m benchmarks choose-k                        what is not measured yet, then the tables
    python -m benchmarks.bench_choose_k sets --minutes 10
    python -m benchmarks.bench_choose_k nulls --minutes 10
    python -m benchmarks.bench_choose_k                  the tables, of what is stored

Sets: every set of the protocol ``defaults`` with at most 12 classes, as given and prepared, in its two halves: whoever
changes the rule for real sets looks at half A alone, half B reports. Classes are not clusters: a rule can be right and differ from them. Every criterion sees the
same sample of at most MOST objects and the same numbers of clusters. Nulls: one cloud each, of random n and d; the right answer is 1.
Cells are kept in results/, cheapest first, and those there are not measured again: a run may be stopped, and several may share the work
(``--part 0 4`` is the first of four).
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._measure import ROOT, SHARED, table
from .bench_which_method import between

FOLDER = ROOT / "benchmarks" / "results"
SETS, NULLS = FOLDER / "choose_k.jsonl", FOLDER / "choose_k_nulls.jsonl"
PAGE = ROOT / "docs" / "choose-k.md"
#: Classes a set may have, numbers of clusters that are looked at, and objects of a study.
CLASSES, KS, MOST = 12, range(2, 13), 500
#: Kinds of null, in turn: every second is Gaussian, as that is what the level is promised for.
KINDS = ("gaussian", "uniform", "gaussian", "lognormal", "gaussian", "t")
N_NULLS, OBJECTS, FEATURES = 210, (100, 2_000), (2, 500)
#: Starts of k-means, references of the gap statistic, and components that a Gaussian mixture is fitted in, for the rivals.
STARTS, GAP_REFERENCES, COMPONENTS = 5, 10, 10
#: Growth of the area under the CDF that still counts, for delta area, which comes without a rule.
GROWS = 0.1
DIGITS = 5


# What is stored ----------------------------------------------------------------------------------------------


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


# Sets --------------------------------------------------------------------------------------------------------


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
    study = cs.choose_k(loaded.features, k=KS, max_objects=MOST, random_state=0, verbose=False)
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
    """What the rule decides from, so that another rule can be tried on what is stored."""
    return {
        "k": study.k,
        "verdict": study.verdict,
        "alternatives": study.alternatives,
        "votes": study.votes,
        "p": {test.name: round(test.p, DIGITS) for test in study.tests},
        "ks": study.ks.tolist(),
        "columns": {name: rounded(values) for name, values in study.columns.items() if name != "k"},
        "spectrum": rounded(study.spectrum),
        "gap_error": rounded(study.references.loss.std(axis=0, ddof=1)),
        "spectrum_null": rounded(study.references.values.mean(axis=0)),
    }


# Rivals ------------------------------------------------------------------------------------------------------


def rivals(X: Any) -> dict[str, int]:
    """The k that criteria on the features name; distances are all they need, so they see principal components."""
    from sklearn.metrics import calinski_harabasz_score, silhouette_score

    from consilience.choosing.null import cloud_of

    scores = cloud_of(X if sp.issparse(X) else np.asarray(X, float), np.ones(X.shape[0]), axes=False).scores
    scores = np.ascontiguousarray(scores)
    labels, inertia = best_kmeans(scores, list(KS), 0)
    found = {
        "silhouette": [silhouette_score(scores, own) for own in labels],
        "Calinski-Harabasz": [calinski_harabasz_score(scores, own) for own in labels],
    }
    answers = {name: KS[int(np.argmax(values))] for name, values in found.items()}
    answers["gap statistic"] = gap_statistic(scores, inertia)
    answers["BIC"] = mixture(scores)
    return answers


def best_kmeans(X: np.ndarray, ks: list[int], seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    """(labels, inertia) for each k, the best of STARTS."""
    from consilience.kernels.kmeans import many_kmeans

    every = [k for k in ks for _ in range(STARTS)]
    runs = many_kmeans(X, every, seeds=[[seed, i] for i in range(len(every))], keep_centers=False)
    inertia = np.reshape(runs.inertia, (len(ks), STARTS))
    best = inertia.argmin(axis=1)
    return [runs.labels[:, j * STARTS + b] for j, b in enumerate(best)], inertia.min(axis=1)


def gap_statistic(scores: np.ndarray, inertia: np.ndarray) -> int:
    """Tibshirani, Walther and Hastie (2001): the smallest k whose gap is within an error of the next; 1 is among them."""
    from consilience.kernels.kmeans import many_kmeans

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
    """The k of the best BIC of a Gaussian mixture with full covariances in the leading components; 1 is among them."""
    from sklearn.mixture import GaussianMixture

    part = scores[:, :COMPONENTS]
    ks = [1, *KS]
    bic = [
        GaussianMixture(k, n_init=2, random_state=0, reg_covar=1e-6 * part.var()).fit(part).bic(part)
        for k in ks
    ]
    return ks[int(np.argmin(bic))]


# Nulls -------------------------------------------------------------------------------------------------------


def shape_of(number: int) -> tuple[str, int, int]:
    """(kind, n, d) of a null: sizes are drawn, even on a logarithmic scale."""
    rng = np.random.default_rng([number, 0])
    n, d = (round(math.exp(rng.uniform(math.log(low), math.log(high)))) for low, high in (OBJECTS, FEATURES))
    return KINDS[number % len(KINDS)], n, d


def null(number: int) -> np.ndarray:
    """One cloud: Gaussian of a random covariance, or independent columns that are uniform, lognormal, or t with 3 degrees."""
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
    study = cs.choose_k(null(number), random_state=number, verbose=False)
    return {
        "null": number,
        "kind": kind,
        "objects": n,
        "features": d,
        "seconds": round(time.process_time() - start, 1),
        "k": study.k,
        "verdict": study.verdict,
        "p": {test.name: round(test.p, DIGITS) for test in study.tests},
        "warned": any("skewed" in note for note in study.notes),
    }


# Tables ------------------------------------------------------------------------------------------------------


def answers(row: dict[str, Any]) -> dict[str, int | None]:
    """The k of every criterion on one set."""
    columns = {
        name: np.array([math.nan if v is None else v for v in values])
        for name, values in row["columns"].items()
    }
    ks = np.array(row["ks"])

    def best(name: str, sign: int = 1) -> int:
        return int(ks[np.nanargmax(sign * columns[name])])

    grows = np.flatnonzero(columns["delta_area"][1:] >= GROWS)
    return {
        "choose_k": row["k"],
        "gain alone": best("gain"),
        "eigengap alone": best("eigengap"),
        "lifetime alone": best("lifetime"),
        "PAC": best("pac", -1),
        "relative PAC to references (RCSI)": best("rcsi"),
        "delta area": int(ks[1:][grows[-1]]) if grows.size else int(ks[0]),
        **row["rivals"],
    }


def right(rows: list[dict[str, Any]]) -> dict[str, float]:
    """How often each criterion names the number of classes."""
    found: dict[str, list[bool]] = {}
    for row in rows:
        for name, k in answers(row).items():
            found.setdefault(name, []).append(k == row["classes"])
        among = row["classes"] in [row["k"], *row["alternatives"]]
        found.setdefault("choose_k or an alternative", []).append(among)
    return {name: float(np.sum(hits)) for name, hits in found.items()}


def off(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Mean distance from the number of classes, as a factor: 2 is twice or half as many."""
    found: dict[str, list[float]] = {}
    for row in rows:
        for name, k in answers(row).items():
            found.setdefault(name, []).append(abs(math.log(k / row["classes"])))
    return {name: math.exp(np.mean(values)) for name, values in found.items()}


def set_table(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(f"{row['half']}, {row['how']}", []).append(row)
    hits = {group: right(own) for group, own in sorted(groups.items())}
    away = {
        half: off([row for row in rows if row["half"] == half]) for half in sorted({r["half"] for r in rows})
    }
    for name in next(iter(hits.values()), {}):
        line: dict[str, Any] = {"criterion": name}
        line |= {f"{group} ({len(groups[group])} sets)": int(counts[name]) for group, counts in hits.items()}
        yield line | {f"off by, {half}": own.get(name, "") for half, own in away.items()}


def null_table(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for kind in dict.fromkeys(KINDS):
        own = [row for row in rows if row["kind"] == kind]
        if own:
            yield {
                "null": kind,
                "clouds": len(own),
                "not 1": sum(row["k"] > 1 for row in own),
                "strong": sum(row["verdict"] == "strong" for row in own),
                "inertia p <= .025": sum(row["p"]["inertia"] <= 0.025 for row in own),
                "stability p <= .025": sum(row["p"]["stability"] <= 0.025 for row in own),
                "warned of the columns": sum(row["warned"] for row in own),
            }


def page(text: str) -> str:
    """docs/choose-k.md with the tables as stored."""
    stored, clouds = read(SETS), read(NULLS)
    text = between(text, "sets", table(set_table(stored)) + so_far(len(stored), len(sets()), "sets"))
    return between(text, "nulls", table(null_table(clouds)) + so_far(len(clouds), N_NULLS, "clouds"))


def so_far(done: int, all_of_them: int, what: str) -> str:
    """What a table does not show yet."""
    missing = done < all_of_them
    return f"\n\nMeasured so far: {done} of {all_of_them} {what}, the smallest first." if missing else ""


def write_page() -> None:
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")


# Measuring ---------------------------------------------------------------------------------------------------


def measure(what: str, minutes: float, part: tuple[int, int] = (0, 1)) -> None:
    """Cells that are not stored, until the minutes are over."""
    end = time.monotonic() + 60 * minutes
    file = SETS if what == "sets" else NULLS
    done = {row["set" if what == "sets" else "null"] for row in read(file)}
    cells = [(item.name, item) for item in sets()] if what == "sets" else [(i, i) for i in nulls()]
    for name, cell in [one for one in cells if one[0] not in done][part[0] :: part[1]]:
        if time.monotonic() > end:
            return
        row = measure_set(cell) if what == "sets" else measure_null(cell)
        add(file, row)
        print(name, row["k"], row["verdict"], row["seconds"], flush=True)


def run():
    for what in ("sets", "nulls"):
        measure(what, math.inf)
    write_page()
    print(table(null_table(read(NULLS))), "\n")
    yield from set_table(read(SETS))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", nargs="?", choices=("sets", "nulls"))
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), metavar=("I", "OF"))
    asked = parser.parse_args()
    if asked.what:
        measure(asked.what, asked.minutes, tuple(asked.part))
    write_page()
    print(table(null_table(read(NULLS))), "\n", table(set_table(read(SETS))), sep="\n")
