"""Every consensus method at its defaults: quality, time, memory and growth.

Writes the tables of docs/which-method.md and docs/research/which-method.md.

    python -m reproduction run methods-pools methods-made --data DIR --out results/methods
    python -m benchmarks.bench_which_method --store results/methods     store the runs in results/quality.csv
    python -m benchmarks which-method                                   measure missing growth, write the page

Quality: means over the ensembles of a set, at defaults, the true number of clusters given (protocols
methods-pools and methods-made). Growth: synthetic labels of n objects, all distinct, each cell in a process
of its own, on one thread, after a fit of a few objects that loads the compiled code; a cell ends at LIMIT
seconds of the processor, and a method may take MEMORY bytes. What is over the time at one size is not tried
at a larger one. Cells are kept in results/, with commit, machine and load, and those there are not run again.
A test holds the page to what is stored.
"""

from __future__ import annotations

import argparse
import csv
import math
import multiprocessing
import os
import re
import resource
import signal
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from consilience import _register
from consilience.consensus import BaseConsensus, methods
from consilience.errors import LowAgreementWarning, NotEnoughMemoryError

from ._measure import ROOT, origin, table
from .bench_baselines import synthetic

FOLDER = ROOT / "benchmarks" / "results"
QUALITY, GROWTH = FOLDER / "quality.csv", FOLDER / "growth.csv"
#: Where the tables stand: what to take for readers, all of it in the pages of research.
CHOICE, PAGE = ROOT / "docs" / "which-method.md", ROOT / "docs" / "research" / "which-method.md"
PROTOCOLS = ("methods-pools", "methods-made")
MEASURES = {"nmi": "nmi_max", "ari": "ari", "acc": "acc"}
SIZES = (1_000, 3_000, 10_000, 100_000)
LIMIT, MEMORY = 60, 4_000_000_000
#: What is stored of a growth cell.
CELL = ("method", "objects", "seconds", "bytes", "note", "when", "commit", "processor", "load")
#: What a growth cell is asked for: as many clusters as were planted.
CLUSTERS, MEMBERS = 10, 20
#: Variants that scale otherwise than the default does.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {"ECPCS, mc": ("ECPCS", {"variant": "mc"})}
BASES = ("mean base clustering", "best base clustering")


# What is stored
# ----------------------------------------------------------------------------------------------


def read(file: Path) -> list[dict[str, str]]:
    if not file.exists():
        return []
    with file.open(newline="", encoding="utf-8") as handle:
        return list(csv.DictReader(handle))


def write(file: Path, rows: Iterable[dict[str, Any]]) -> None:
    rows = list(rows)
    file.parent.mkdir(exist_ok=True)
    with file.open("w", newline="", encoding="utf-8") as handle:
        out = csv.DictWriter(handle, list(rows[0]), lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def summarize(stores: Iterable[str]) -> list[dict[str, Any]]:
    """One row for each ensemble source and method: means over the draws, or why there are none."""
    from reproduction.analyze import current
    from reproduction.protocol import load_protocol
    from reproduction.store import Records, read_store

    records = Records([record for store in stores for record in read_store(store).records])
    rows = []
    for name in PROTOCOLS:
        protocol = load_protocol(name)
        sizes = {item.name: item.n for item in protocol.sets}
        groups: dict[tuple, list[dict]] = {}
        for record in current(protocol, records):
            source = "pool" if name == "methods-pools" else (record["variation"] or "")
            groups.setdefault((source, record["set"], record["method"]), []).append(record)
        for (source, of, method), cells in groups.items():
            good = [cell for cell in cells if "error" not in cell and cell.get("cpu_seconds", 0) <= LIMIT]
            row = {"source": source, "set": of, "objects": sizes[of], "method": method, "draws": len(good)}
            for short, key in MEASURES.items():
                row[short] = _mean(good, lambda cell, key=key: cell["scores"][""][key])
            row["seconds"] = _mean(good, lambda cell: cell.get("cpu_seconds", 0.0))
            row["note"] = "" if good else _why(cells[0])
            rows.append(row)
    return rows


def taken_in(stored: list[dict[str, Any]], fresh: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Stored rows with fresh ones in their places: a cell measured again replaces the former one."""

    def cell(row: dict[str, Any]) -> tuple[str, ...]:
        return row["source"], row["set"], row["method"]

    rows = {cell(row): row for row in [*stored, *fresh]}
    return sorted(rows.values(), key=lambda row: (row["source"], int(row["objects"]), row["set"]))


def _mean(cells: list[dict], value: Callable[[dict], float]) -> str:
    return f"{np.mean([value(cell) for cell in cells]):.4f}" if cells else ""


def _why(cell: dict) -> str:
    kind = cell["error"]["type"] if "error" in cell else "TimeLimit"
    return {"TimeLimit": "time", "MemoryLimit": "memory", "NotEnoughMemoryError": "memory"}.get(kind, kind)


# Growth
# ------------------------------------------------------------------------------------------------------


def build(name: str, n_clusters: int) -> Any:
    known = {cls.__name__: cls for cls in methods().values()}
    base, options = VARIANTS.get(name, (name, {}))
    if "random_state" in known[base]().get_params():
        options = {**options, "random_state": 0}
    return known[base](n_clusters, n_jobs=1, **options)


def fit(name: str, n: int, connection: Any) -> None:
    """One cell: CPU seconds and peak bytes above what the process held; ends itself at the limit."""
    from reproduction.work import Meter, limit_memory

    build(name, 2).fit(synthetic(200)[0])
    labels = synthetic(n, MEMBERS, CLUSTERS)[0]
    limit_memory(MEMORY)
    model = build(name, CLUSTERS)
    used = math.ceil(resource.getrusage(resource.RUSAGE_SELF).ru_utime) + LIMIT
    resource.setrlimit(resource.RLIMIT_CPU, (used, used + 5))
    try:
        with Meter() as meter:
            model.fit(labels)
    except NotEnoughMemoryError:
        connection.send({"note": "memory"})
        return
    figures = meter.figures
    over = figures["cpu_seconds"] > LIMIT
    connection.send(
        {"note": "time"}
        if over
        else {"seconds": round(figures["cpu_seconds"], 4), "bytes": figures["peak_bytes"]}
    )


def measure(name: str, n: int) -> dict[str, Any]:
    """A cell in a process of its own."""
    context = multiprocessing.get_context(
        "forkserver"
    )  # from a process that has imported, and not run, everything
    context.set_forkserver_preload([f"consilience.{entry.module}" for entry in _register.CONSENSUS])
    ours, theirs = context.Pipe()
    process = context.Process(target=fit, args=(name, n, theirs))
    process.start()
    theirs.close()
    try:
        found = ours.recv()
    except EOFError:
        process.join()
        if process.exitcode not in (-signal.SIGXCPU, -signal.SIGKILL):
            raise RuntimeError(f"{name} on {n} objects ended with exit code {process.exitcode}.") from None
        found = {"note": "time"}
    process.join()
    return found


def stamp() -> dict[str, Any]:
    """The state of the code and the machine that cells are measured on."""
    found = origin()
    return {
        "when": found["when"][:10],
        "commit": found["commit"] + "+" * found["changed"],
        "processor": found["machine"]["processor"],
    }


def measured_names() -> list[str]:
    return [*registered(), *VARIANTS]


def over_before(rows: list[dict[str, str]], n: int) -> bool:
    """Whether fewer objects took the method over the time.

    What the growth so far predicts for n is no reason: some methods change course.
    """
    return any(row["note"] == "time" and int(row["objects"]) < n for row in rows)


def forget(rows: list[dict[str, str]], names: Iterable[str], sizes: Iterable[int]) -> list[dict[str, str]]:
    """Stored cells without those of these methods and sizes.

    Larger cells that were left out because of these are dropped, too.
    """
    names, sizes = set(names), set(sizes)
    return [
        row
        for row in rows
        if row["method"] not in names
        or (int(row["objects"]) not in sizes and (int(row["objects"]) < min(sizes) or row["note"] != "time"))
    ]


def grow(
    names: Iterable[str] | None = None, sizes: Iterable[int] | None = None, *, again: bool = False
) -> None:
    """Measure the cells that are missing and needed (:func:`over_before`); ``again``: stored ones, too."""
    names, sizes = list(names or measured_names()), list(sizes or SIZES)
    if unknown := set(names) - set(measured_names()):
        raise SystemExit(
            f"No method is called {', '.join(sorted(unknown))}; names are {'; '.join(measured_names())}."
        )
    state = stamp()  # before the stored file changes
    for n in sizes:
        for name in names:
            mine = [row for row in read(GROWTH) if row["method"] == name]
            if not again and any(int(row["objects"]) == n for row in mine):
                continue
            beside = {"load": round(os.getloadavg()[0], 1)}
            found = {"note": "time"} if over_before(mine, n) else state | beside | measure(name, n)
            cell = dict.fromkeys(CELL, "") | {"method": name, "objects": n} | found
            order = {method: place for place, method in enumerate(measured_names())}
            others = forget(read(GROWTH), [name], [n])
            rows = [*others, {key: str(value) for key, value in cell.items()}]
            write(GROWTH, sorted(rows, key=lambda row: (order.get(row["method"], 99), int(row["objects"]))))


# What the stored figures say
# ----------------------------------------------------------------------------------


def exponent(cells: dict[int, dict[str, str]]) -> float | None:
    """Exponent of the seconds in n, between the two largest sizes that were finished."""
    done = sorted(n for n, cell in cells.items() if cell["seconds"])
    if len(done) < 2:
        return None
    first, last = done[-2:]
    return math.log(float(cells[last]["seconds"]) / float(cells[first]["seconds"])) / math.log(last / first)


def growth_by_method(rows: list[dict[str, str]]) -> dict[str, dict[int, dict[str, str]]]:
    out: dict[str, dict[int, dict[str, str]]] = {}
    for row in rows:
        out.setdefault(row["method"], {})[int(row["objects"])] = row
    return out


def cost(cell: dict[str, str] | None) -> str:
    """'3.9 s, 0.12 GB', or why not."""
    if cell is None:
        return "–"
    if cell["note"]:
        return f"over {LIMIT} s" if cell["note"] == "time" else "refused: memory"
    held = float(cell["bytes"])
    size = f"{held / 1e9:.1f} GB" if held >= 1e9 else f"{max(held / 1e6, 1):.0f} MB"
    return f"{float(cell['seconds']):.2g} s, {size}"


def origins(rows: list[dict[str, str]]) -> str:
    """State of the code, machine and load of the measured cells, a sentence for each."""
    found: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for row in rows:
        if row["commit"]:
            found.setdefault((row["when"], row["commit"], row["processor"]), []).append(row)
    sentences = []
    for (when, commit, processor), mine in sorted(found.items()):
        loads = sorted(float(row["load"]) for row in mine if row["load"])
        beside = f"load {loads[0]} to {loads[-1]}" if loads else "beside other processes"
        sentences.append(
            f"{len(mine)} cell{'s' * (len(mine) > 1)} on {when}, commit {commit}, {processor}, {beside}."
        )
    return " ".join(sentences)


def tried(rows: list[dict[str, str]]) -> dict[tuple[str, str], set[str]]:
    """Case -> methods that were run on it, whether they finished or not."""
    out: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        out.setdefault((row["source"], row["set"]), set()).add(row["method"])
    return out


#: Run on the largest pools too.
QUICK = (
    "EvidenceAccumulation",
    "CoassociationKMeans",
    "LWEA",
    "LWGP",
    "CSPA",
    "HBGF",
    "MCLA",
    "SEC",
    "KCC",
    "ECC",
    "Voting",
    "MixtureConsensus",
    "LCE",
    "NMFC",
)


def whole_cases(rows: list[dict[str, str]], names: list[str]) -> list[tuple[str, str]]:
    """Those on which all these methods were run."""
    return [case for case, found in tried(rows).items() if found >= set(names)]


def compared(rows: list[dict[str, str]]) -> list[str]:
    """Methods that were run at all; one that is new may not have been."""
    return [name for name in registered() if any(row["method"] == name for row in rows)]


def registered() -> list[str]:
    return [cls.__name__ for cls in methods().values()]


def on_pages() -> list[str]:
    """Methods that were measured in some way: others are on no page of figures."""
    known = {row["method"] for file in (QUALITY, GROWTH) for row in read(file)}
    return [name for name in registered() if name in known]


def scored(rows: list[dict[str, str]], of: list[tuple], names: list[str], measure: str) -> np.ndarray:
    """(cases, methods); NaN where a method gave no answer."""
    found = {((row["source"], row["set"]), row["method"]): row[measure] for row in rows}
    return np.array([[float(found.get((case, name)) or "nan") for name in names] for case in of])


def average_ranks(rows: list[dict[str, str]], of: list[tuple], names: list[str]) -> dict[str, float]:
    """Mean over the cases and the three measures, best first; what gave no answer ranks last."""
    from reproduction.analyze import ranks

    means = [ranks(scored(rows, of, names, measure)).mean(axis=0) for measure in MEASURES]
    found = zip(names, np.mean(means, axis=0).tolist())
    return dict(sorted(found, key=lambda item: item[1]))


def finished_by_all(rows: list[dict[str, str]], of: list[tuple], names: list[str]) -> list[tuple]:
    """Cases of which every method gave an answer."""
    whole = ~np.isnan(scored(rows, of, names, "nmi")).any(axis=1)
    return [case for case, kept in zip(of, whole) if kept]


def shared_means(rows: list[dict[str, str]], of: list[tuple], names: list[str]) -> dict[str, list[str]]:
    """Means of the three measures over the cases that all finished."""
    shared = finished_by_all(rows, of, names)
    columns = [scored(rows, shared, names, measure).mean(axis=0) for measure in MEASURES]
    return {name: [f"{mean:.3f}" for mean in means] for name, means in zip(names, np.stack(columns, axis=1))}


def quality_table(rows: list[dict[str, str]]) -> str:
    names = compared(rows)
    of = whole_cases(rows, names)
    values = scored(rows, of, names, "nmi")
    shared = finished_by_all(rows, of, names)
    means = shared_means(rows, of, [*names, *BASES])
    lines = [
        f"{len(of)} cases, {len(shared)} of which every method finished. Average rank among {len(names)} "
        "methods over all cases and the three measures (1 is best; what did not finish ranks last); means "
        "over the cases that all finished.",
        "",
        "| method | average rank | NMI | ARI | ACC | not finished |",
        "|---|---|---|---|---|---|",
    ]
    for name, rank in average_ranks(rows, of, names).items():
        place = names.index(name)
        missing = int(np.isnan(values[:, place]).sum())
        lines.append(f"| `{name}` | {rank:.1f} | {' | '.join(means[name])} | {missing or ''} |")
    lines += [f"| {base} | | {' | '.join(means[base])} | |" for base in BASES]
    if left := [f"`{name}`" for name in on_pages() if name not in names]:
        lines += ["", f"Not compared yet: {', '.join(left)}."]
    return "\n".join(lines)


def expected_seconds(cells: dict[int, dict[str, str]], n: int) -> float | None:
    """Seconds for n objects by the growth between the two largest sizes that were finished.

    In proportion to n where only one was finished; infinite where a size up to n was over a limit.
    """
    if any(cell["note"] and size <= n for size, cell in cells.items()):
        return math.inf
    done = [size for size, cell in cells.items() if cell["seconds"]]
    if not done:
        return None
    power = exponent(cells)
    last = max(done)
    return float(cells[last]["seconds"]) * (n / last) ** (1.0 if power is None else power)


def planned_cases() -> dict[tuple[str, str], int]:
    """(source, set) -> objects, of the two protocols."""
    from reproduction.protocol import load_protocol

    pools, made = (load_protocol(name).sets for name in PROTOCOLS)
    out = {("pool", item.name): item.n for item in pools}
    return out | {(source, item.name): item.n for item in made for source in ("random_k", "metric_subspace")}


def missing_table(quality: list[dict[str, str]], growth: list[dict[str, str]]) -> str:
    """What was not run, case by case, and whether it is expected to end in time."""
    grown, done, names = growth_by_method(growth), tried(quality), on_pages()
    lines = [
        "| base clusterings, set | objects | expected to be over the limits | expected to end, not run |"
    ]
    lines.append("|---|---|---|---|")
    for (source, name), n in planned_cases().items():
        left = [method for method in names if method not in done.get((source, name), ())]
        if not left:
            continue
        seconds = {method: expected_seconds(grown.get(method, {}), n) for method in left}
        late = [f"`{m}`" for m in left if (s := seconds[m]) is not None and s > LIMIT]
        rest = [f"`{m}`" for m in left if f"`{m}`" not in late]
        shown = ", ".join(rest) if len(rest) <= len(names) // 2 else "all others" if late else "all"
        lines.append(f"| {source}, {name} | {n:,} | {', '.join(late)} | {shown} |")
    return "\n".join(lines)


#: Words, and which cases they are of: source, and least and most objects.
KINDS = {
    "published, as many clusters as classes": ("pool", 0, 203),
    "published, random numbers of clusters, n up to 2,310": ("pool", 204, 2_310),
    "published, random numbers of clusters, n from 3,780": ("pool", 2_311, 10**9),
    "ours, k-means with random numbers of clusters": ("random_k", 0, 10**9),
    "ours, random metrics and subspaces": ("metric_subspace", 0, 10**9),
}


def kinds_table(rows: list[dict[str, str]], best: int = 6) -> str:
    """The best methods of each kind of ensemble, among those that were run on all its cases."""
    lines = ["| base clusterings | cases | methods | best, with average rank |", "|---|---|---|---|"]
    for kind, (source, least, most) in KINDS.items():
        mine = [row for row in rows if row["source"] == source and least <= int(row["objects"]) <= most]
        if of := whole_cases(mine, [*QUICK]):
            found = [tried(mine)[case] for case in of]
            names = [name for name in registered() if all(name in one for one in found)]
            listed = list(average_ranks(mine, of, names).items())[:best]
            shown = ", ".join(f"`{name}` {rank:.1f}" for name, rank in listed)
            lines.append(f"| {kind} | {len(of)} | {len(names)} | {shown} |")
    return "\n".join(lines)


def is_deterministic(name: str) -> bool:
    return "random_state" not in build(name, 2).get_params()


def short_table(quality: list[dict[str, str]], growth: list[dict[str, str]], best: int = 4) -> str:
    """What to take when: methods that pass, in the order of their average ranks."""
    names = compared(quality)
    order = list(average_ranks(quality, whole_cases(quality, names), names))
    grown = growth_by_method(growth)

    def within(n: int, seconds: float) -> Callable[[str], bool]:
        def passes(name: str) -> bool:
            cell = grown.get(name, {}).get(n)
            return cell is not None and bool(cell["seconds"]) and float(cell["seconds"]) <= seconds

        return passes

    wishes: dict[str, Callable[[str], bool]] = {
        "the best answer, whatever it costs": lambda name: True,
        f"10,000 distinct objects, within {LIMIT} s": within(10_000, LIMIT),
        f"100,000 distinct objects, within {LIMIT} s": within(100_000, LIMIT),
        "100,000 distinct objects, within 5 s": within(100_000, 5),
        "no random numbers in it": is_deterministic,
    }
    lines = ["| you want | take, best average rank first |", "|---|---|"]
    for wish, passes in wishes.items():
        found = [f"`{name}`" for name in order if passes(name)][:best]
        lines.append(f"| {wish} | {', '.join(found) or '–'} |")
    return "\n".join(lines)


#: Learned by every method, or about the run rather than the data.
COMMON = frozenset(
    f"{name}_"
    for name in (
        "labels",
        "confidence",
        "n_clusters",
        "cluster_sizes",
        "consensus_nmi",
        "baseline_nmi",
        "contradicted",
        "messages",
        "sample_names",
        "n_iter",
        "converged",
        "distinct",
        "history",
        "n_samples",
        "n_clusterings",
    )
)


@cache
def tells() -> dict[str, list[str]]:
    """What a fitted method knows beside labels and confidence, from the methods themselves."""
    labels = synthetic(60, 8, 3)[0]
    out = {}
    for cls in methods().values():
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", LowAgreementWarning
            )  # of these labels nothing is wanted but the names
            model = build(cls.__name__, 3).fit(labels)
        learned = [
            *vars(model),
            *(name for name in dir(cls) if not hasattr(BaseConsensus, name)),  # worked out when asked for
        ]
        out[cls.__name__] = sorted(
            name for name in {*learned} - COMMON if re.fullmatch(r"[a-z]\w*[a-z]_", name)
        )
    return out


# The page
# ----------------------------------------------------------------------------------------------------


def between(text: str, mark: str, inside: str) -> str:
    """The text with a table between its two marks."""
    found, times = re.subn(
        rf"(<!-- {mark} -->\n).*?(<!-- end -->)",
        lambda match: match[1] + inside + "\n" + match[2],
        text,
        flags=re.S,
    )
    if times != 1:
        raise ValueError(f"found {times} places marked {mark!r}, expected one")
    return found


def tables() -> dict[Path, dict[str, str]]:
    """Page -> mark -> the table that stands there, as stored."""
    quality, growth = read(QUALITY), read(GROWTH)
    return {
        CHOICE: {"short": short_table(quality, growth)},
        PAGE: {
            "quality": quality_table(quality),
            "kinds": kinds_table(quality),
            "missing": missing_table(quality, growth),
        },
    }


def pages() -> dict[Path, str]:
    """The pages with the tables as stored."""
    out = {}
    for page, inside in tables().items():
        text = page.read_text("utf-8")
        for mark, table_of in inside.items():
            text = between(text, mark, table_of)
        out[page] = text
    return out


def write_pages() -> None:
    for page, text in pages().items():
        page.write_text(text, "utf-8")


def run() -> list[dict]:
    grow()
    write_pages()
    rows = growth_by_method(read(GROWTH))
    return [
        {"method": name, **{f"n = {n:,}": cost(cells.get(n)) for n in SIZES}} for name, cells in rows.items()
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", nargs="+", help="results of the two protocols: take them into the table")
    parser.add_argument("--methods", nargs="*", help="measure the growth of these only")
    parser.add_argument("--sizes", nargs="*", type=int)
    given = parser.parse_args()
    if given.store:
        write(QUALITY, taken_in(read(QUALITY), summarize(given.store)))
    else:
        grow(given.methods, given.sizes)
    if PAGE.exists():
        write_pages()
    print(table(run() if not (given.store or given.methods or given.sizes) else []))
