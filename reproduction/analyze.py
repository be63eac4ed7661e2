"""From records to tables: means, deviations, tests and ranks, with default and tuned kept apart throughout.

Statistics are plain functions of arrays, (sets, methods) where they compare; higher is better, NaN is a
method that could not do a set. Each table is a data frame with one line per figure; reports and pictures are
made from these alone.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from .former import first_params, first_row
from .protocol import Measure, Method, Protocol, digest, setting_name, setting_of, short
from .sets import known_sets
from .store import Records

#: Never mixed: no truth used; the best of a grid by the truth; the figures as printed.
WORDS = {"default": "default", "tuned": "tuned by the truth", "printed": "printed"}
_COLUMNS = list(WORDS)
#: Parts of the objects: confidence above .9, from .6 to .9, below .6.
CONFIDENCE = ("surest", "middle", "rest")
#: Share of the range of a measure: a method that is further below its rival has lost the set.
LOSS = 0.05
#: The columns of each table; all begin with the protocol.
SCHEMA = {
    name: ["protocol", *columns.split()]
    for name, columns in {
        "figures": "measure set vary method column runs mean std printed printed_std difference reached "
        "reaching p_against_best among_best note verdict evidence",
        "comparisons": "measure column group sets method average rank rsec_score shared difference worst "
        "lost",
        "tests": "measure column group sets methods chi2 p f f_p critical_difference",
        "curves": "measure set vary method line parameter value mean",
        "costs": "method column cells mean_seconds longest_seconds mean_processor_seconds peak_bytes",
        "reliability": "set group method column surest_objects surest_right middle_objects middle_right "
        "rest_objects rest_right",
        "sets": "set file objects features classes printed_shape differences",
        "runs": "date cores machine workers threads versions commits base_minutes",
        "remarks": "kind text cells",
    }.items()
}

# Statistics ------------------------------------------------------------------------------------------------


def mean_and_std(values: Any) -> tuple[float, float]:
    """Mean and sample standard deviation (n - 1); NaN for the deviation of a single value."""
    values = np.asarray(values, float)
    return float(values.mean()), float(values.std(ddof=1)) if values.size > 1 else np.nan


def paired_t_test(a: np.ndarray, b: np.ndarray) -> float:
    """Two-sided p-value that paired scores differ; NaN from fewer than two pairs.

    Equal pairs give 1. A difference that is the same in every pair gives 0: no variation stands against it.
    """
    difference = np.asarray(a, float) - np.asarray(b, float)
    if difference.size < 2:
        return np.nan
    # Scores are ratios of counts: below rounding there is no variation, only its noise.
    if np.std(difference, ddof=1) <= 1e-12 * max(1.0, float(np.abs(difference).max())):
        return 1.0 if abs(difference.mean()) <= 1e-12 else 0.0
    return float(stats.ttest_rel(a, b).pvalue)


def ranks(table: np.ndarray) -> np.ndarray:
    """(sets, methods) rank of each method on each set: 1 is best, ties share, failures come last."""
    return stats.rankdata(np.where(np.isnan(table), np.inf, -table), axis=1)


def rsec_score(table: np.ndarray) -> np.ndarray:
    """(methods,) sum over sets of R(A_i, D_j) / max_i R(A_i, D_j); a failed set adds nothing."""
    best = np.nanmax(table, axis=1, keepdims=True)
    return np.nansum(np.divide(table, best, out=np.zeros_like(table), where=best > 0), axis=0)


def critical_difference(n_methods: int, n_sets: int, alpha: float = 0.05) -> float:
    """Nemenyi: q_alpha sqrt(k (k + 1) / (6 N)), q from the studentised range over sqrt(2)."""
    q = stats.studentized_range.ppf(1 - alpha, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))


def friedman(table: np.ndarray) -> dict[str, float] | None:
    """Do the methods differ over the sets? None with fewer than two of either.

    Friedman's chi-square, corrected for ties (SciPy's asks for three methods), the less conservative F of
    Iman and Davenport, and Nemenyi's critical difference: mean ranks that differ by less are not told apart.
    """
    n, k = table.shape
    if n < 2 or k < 2:
        return None
    r = ranks(table)
    spread = ((r - (k + 1) / 2) ** 2).sum()  # 0: every method equal on every set
    chi2 = n * n * (k - 1) * float(((r.mean(axis=0) - (k + 1) / 2) ** 2).sum()) / spread if spread else 0.0
    room = n * (k - 1) - chi2
    f = float("inf") if room <= 1e-12 else (n - 1) * chi2 / room
    return {
        "sets": n,
        "methods": k,
        "chi2": chi2,
        "p": float(stats.chi2.sf(chi2, k - 1)),
        "f": f,
        "f_p": float(stats.f.sf(f, k - 1, (k - 1) * (n - 1))),
        "critical_difference": critical_difference(k, n),
    }


# Records ---------------------------------------------------------------------------------------------------


def current(protocol: Protocol, records: Records) -> list[dict]:
    """The last record of every cell that the protocol, as it is now, contains; one version of each data set.

    Methods and parameters go by the protocol's names, whatever they were called when the cell was run.
    """
    last: dict[str, dict] = {}
    newest: dict[tuple, str] = {}
    sets = {item.name for item in protocol.sets}
    methods = {first_row(method.name): method for method in protocol.methods}
    wanted = {
        (row, column, digest(first_params(method.method, params))): params
        for row, method in methods.items()
        for params, column in method.settings()
    }
    for record in records.of("cell"):
        row, column = first_row(record["method"]), record["column"]
        if record["protocol"] != protocol.name or record["set"] not in sets or row not in methods:
            continue
        params = wanted.get((row, column, digest(first_params(methods[row].method, record["params"]))))
        if params is not None:
            names = {"method": methods[row].name, "params": params, "setting": setting_of(column, params)}
            record = record | names
            last[record["name"]] = record
            newest[record["set"],] = record["data_sha"]
            newest[_group(record)] = record["digest"]
    return [
        record
        for record in last.values()
        if (newest[record["set"],], newest[_group(record)]) == (record["data_sha"], record["digest"])
    ]


def _group(record: dict) -> tuple:
    """A cell but for its repetition: an edited protocol replaces all repetitions, not some."""
    return tuple(record[key] for key in ("set", "variation", "method", "column", "setting"))


def scores(protocol: Protocol, measure: Measure, cells: list[dict]) -> pd.DataFrame:
    """One line per cell (and task), in the order of the protocol: set, task, variation, method, column."""
    sets, methods = ([item.name for item in items] for items in (protocol.sets, protocol.methods))
    labels = [None, *(variation.label for variation in protocol.variations)]
    printed_as = {item.name: item.printed_as or item.name for item in protocol.sets}
    lines = []
    for record in cells:
        for part, values in record["scores"].items():
            if (value := values.get(measure.key)) is None:
                continue
            place = (
                sets.index(record["set"]),
                part,
                labels.index(record["variation"]),
                methods.index(record["method"]),
                _COLUMNS.index(record["column"]),
            )
            line = {key: record[key] for key in ("method", "column", "setting", "repetition", "params")}
            each = record.get("each", {}).get(part, {}).get(measure.key, [])
            line |= {
                "set": f"{record['set']} {part}".strip(),
                "printed_as": f"{printed_as[record['set']]} {part}".strip(),
                "vary": record["variation"] or "",
                "value": value * measure.scale,
                "each": [v * measure.scale for v in each if v is not None],
            }
            lines.append((place, line))
    lines.sort(key=lambda pair: pair[0])
    columns = ["set", "printed_as", "vary", "method", "column", "setting", "repetition", "params", "value"]
    return pd.DataFrame([line for _, line in lines], columns=[*columns, "each"])


# Tables ----------------------------------------------------------------------------------------------------


def tables(protocol: Protocol, records: Records) -> dict[str, pd.DataFrame]:
    """Everything a report says about one protocol, as data frames by name."""
    cells, cut = _whole_grids(protocol, current(protocol, records))
    good = [record for record in cells if "error" not in record]
    bad = [record for record in cells if "error" in record]
    runs = [record for record in records.of("run") if record["protocol"] == protocol.name]
    out: dict[str, list[dict]] = defaultdict(list)
    for measure in protocol.measures:
        found = scores(protocol, measure, good)
        figures = list(_figures(protocol, measure, found))
        for name, lines in {
            "figures": figures + _printed_only(protocol, measure, figures),
            "comparisons": _comparisons(protocol, measure, figures, bad),
            "curves": _curves(protocol, found),
        }.items():
            out[name] += [{"measure": measure.name, **line} for line in lines]
    out["tests"] = [
        {**{key: line[key] for key in ("measure", "column", "group")}, **line.pop("test")}
        for line in out["comparisons"]
        if "test" in line
    ]
    out["costs"] = list(_costs(protocol, good))
    out["reliability"] = list(_reliability(protocol, good))
    out["sets"] = list(_sets(protocol, runs))
    if runs:
        minutes = _base_minutes(protocol, records)
        out["runs"] = [{**_last_run(runs[-1]), "commits": _commits(good), "base_minutes": minutes}]
    out["remarks"] = [*_remarks(protocol, runs, good, bad), *cut]
    return {
        name: pd.DataFrame([{"protocol": protocol.name, **line} for line in out[name]], columns=columns)
        for name, columns in SCHEMA.items()
    }


def _whole_grids(protocol: Protocol, cells: list[dict]) -> tuple[list[dict], list[dict]]:
    """The cells without those of a grid that was stopped in the middle of an ensemble.

    There is a remark for each of these.

    Where each ensemble has a best setting of its own, that of a few settings is not the best of the grid.
    What an ensemble's grid should hold is what the same method has on the most complete one of the set; a
    setting that failed was tried.
    """
    each = {m.name for m in protocol.methods if m.tuned is not None and m.tuned.choice == "ensemble"}

    def place(record: dict) -> tuple:
        return record["set"], record["variation"], record["method"], record["repetition"]

    tried = Counter(place(r) for r in cells if r["column"] == "tuned" and r["method"] in each)
    most: dict[tuple, int] = defaultdict(int)
    for where, count in tried.items():
        most[where[:-1]] = max(most[where[:-1]], count)
    cut = {where: count for where, count in tried.items() if count < most[where[:-1]]}
    remarks = [
        {
            "kind": "left out",
            "text": f"{method} on {' '.join(filter(None, [name, variation]))}, ensemble {repetition + 1}: "
            f"{count} of {most[name, variation, method]} settings of the grid were run",
            "cells": count,
        }
        for (name, variation, method, repetition), count in cut.items()
    ]
    return [r for r in cells if r["column"] != "tuned" or place(r) not in cut], remarks


def _figures(protocol: Protocol, measure: Measure, found: pd.DataFrame) -> Iterator[dict]:
    """Each method on each set: our mean and deviation, the printed one, and whether it is among the best."""
    methods = {method.name: method for method in protocol.methods}
    for (name, vary, column), rows in found.groupby(["set", "vary", "column"], sort=False):
        values = {m: _values(methods[m], column, part) for m, part in rows.groupby("method", sort=False)}
        rivals = [m for m in values if m not in protocol.base_methods]  # base clusterings are not methods
        best = max(rivals, key=lambda m: values[m][0].mean(), default=None)
        for method, (held, note) in values.items():
            part = rows[rows.method == method]
            mean, std = mean_and_std([v for each in part.each for v in each] or held)
            printed = protocol.printed_value(measure.name, method, part.printed_as.iloc[0])
            p = np.nan
            if best is not None and method in rivals:
                pairs = pd.concat([values[best][0], held], axis=1, join="inner").to_numpy()
                p = 1.0 if method == best else paired_t_test(*pairs.T)
            yield {
                "set": name,
                "vary": vary,
                "method": method,
                "column": column,
                "runs": len(held),
                "mean": mean,
                "std": std,
                **compared(mean, printed, measure.digits),
                "reaching": _reaching(held, printed, measure.digits),
                "p_against_best": p,
                "among_best": yes_or_no(p >= 0.05) if p == p else "",
                "note": note,
            }


def compared(mean: float, printed: tuple | None, digits: int) -> dict:
    """Ours beside the printed figure: reached if at most one printed deviation below it, or better."""
    if printed is None:
        return {}
    difference = mean - printed[0]
    return {
        "printed": printed[0],
        "printed_std": printed[1],
        "difference": difference,
        "reached": yes_or_no(difference >= 0 or beyond(difference, printed[1], digits) <= 0),
    }


def _reaching(values: Iterable[float], printed: tuple | None, digits: int) -> float:
    """How many runs reach the printed figure, each for itself."""
    if printed is None:
        return np.nan
    return sum(compared(value, printed, digits)["reached"] == "yes" for value in values)


def beyond(difference: float, deviation: float | None, digits: int) -> float:
    """By how much a difference exceeds one deviation at a precision of so many digits (0 if it does not)."""
    held = 0.0 if deviation is None or np.isnan(deviation) else deviation
    return abs(difference) - held - 0.5001 * 10.0**-digits


def yes_or_no(value: bool) -> str:
    return "yes" if value else "no"


def _values(method: Method, column: str, rows: pd.DataFrame) -> tuple[pd.Series, str]:
    """Score by repetition; of a grid the best by the truth: per ensemble, or one setting for the set."""
    by_setting = rows.pivot(index="repetition", columns="setting", values="value")
    if column == "default":
        return by_setting["default"], ""
    assert method.tuned is not None
    planned = len(method.tuned.points())
    note = (
        "" if by_setting.shape[1] == planned else f"{by_setting.shape[1]} of {planned} settings of the grid"
    )
    if method.tuned.choice == "ensemble":
        return by_setting.max(axis=1), note
    name = max(by_setting, key=lambda setting: (by_setting[setting].mean(), setting))
    return by_setting[name].dropna(), "; ".join(filter(None, [name, note]))


def _printed_only(protocol: Protocol, measure: Measure, figures: list[dict]) -> list[dict]:
    """The printed figures of methods that were not run, on sets that were."""
    names = {item.name: item.printed_as or item.name for item in protocol.sets}
    ran, rows = {f["method"] for f in figures}, {names.get(f["set"], f["set"]) for f in figures}
    return [
        {"set": row, "method": method, "column": "printed", "printed": value[0], "printed_std": value[1]}
        for row, method, value in protocol.printed_values(measure.name)
        if method not in ran and row in rows
    ]


def _comparisons(
    protocol: Protocol, measure: Measure, figures: list[dict], failures: list[dict]
) -> Iterator[dict]:
    """Averages, ranks and tests over the sets that every method has; a failed method comes last there."""
    if protocol.variations:
        return
    copies = {item.name for item in protocol.sets if item.printed_as}  # a set must not count twice
    for column in _COLUMNS:
        if column == "printed":
            means = {(row, method): value[0] for row, method, value in protocol.printed_values(measure.name)}
        else:
            means = {(f["set"], f["method"]): f["mean"] for f in figures if f["column"] == column}
        means = {
            (r, m): v
            for (r, m), v in means.items()
            if m not in protocol.base_methods and not _sets_of(r) & copies
        }
        methods = list(dict.fromkeys(m for _, m in means))
        failed = {(r["set"], r["method"]) for r in failures if r["column"] == column}
        rows: dict[str, list[str]] = defaultdict(list)  # by group
        for row in dict.fromkeys(row for row, _ in means):
            if column == "printed" or all(
                (row, m) in means or any((s, m) in failed for s in _sets_of(row)) for m in methods
            ):
                rows[group_of(row, protocol)].append(row)
        for group, mine in rows.items() if len(methods) > 1 else ():
            table = np.array([[means.get((row, m), np.nan) for m in methods] for row in mine])
            rivals = _held_against(table / measure.scale, methods, protocol.against)
            for line in _compared_methods(table, methods, test=column != "printed"):
                yield {"column": column, "group": group, **line, **rivals.get(line["method"], {})}


def _sets_of(row: str) -> set[str]:
    """The set that a row may be of: itself, or, of 'COMPvsSCI 1', the one of which it is a task."""
    return {row, re.sub(r" \d+$", "", row)}


def group_of(row: str, protocol: Protocol) -> str:
    """The group of a row of the tables: of its set, or of the set that it is a task of."""
    return next((protocol.groups[name] for name in _sets_of(row) if name in protocol.groups), "")


def _compared_methods(table: np.ndarray, methods: list[str], *, test: bool) -> Iterator[dict]:
    """Each method's average and rank over the rows of a table, best first; the first line brings the test."""
    rank, score = ranks(table).mean(axis=0), rsec_score(table)
    tested = friedman(table) if test else None
    for place, j in enumerate(np.argsort(rank, kind="stable")):
        line = {"sets": len(table), "method": methods[j]}
        line |= {"average": table[:, j].mean(), "rank": rank[j], "rsec_score": score[j]}
        yield line if place or tested is None else {**line, "test": tested}


def _held_against(table: np.ndarray, methods: list[str], rival: str | None) -> dict[str, dict]:
    """Method -> mean and lowest difference to its rival, and how many sets it lost.

    Only sets that both could do count.
    """
    if rival not in methods:
        return {}
    differences = (table - table[:, [methods.index(rival)]]).T
    both = {m: held[~np.isnan(held)] for m, held in zip(methods, differences) if m != rival}
    return {
        m: {"shared": d.size, "difference": d.mean(), "worst": d.min(), "lost": (d < -LOSS).sum()}
        for m, d in both.items()
        if d.size
    }


def _curves(protocol: Protocol, found: pd.DataFrame) -> Iterator[dict]:
    """Scores over the first parameter of each grid, one line per value of the others, mean of repetitions."""
    for method in protocol.methods:
        if method.tuned is None or isinstance(method.tuned.grid, list):
            continue
        x, *others = method.tuned.grid
        rows = found[(found.method == method.name) & (found.column == "tuned")]
        for (name, vary, _), part in rows.groupby(["set", "vary", "setting"], sort=False):
            params = part.params.iloc[0]
            line = setting_name({other: params[other] for other in others}) if others else method.name
            at = {"parameter": x, "value": short(params[x]), "line": line}
            yield {"set": name, "vary": vary, "method": method.name, **at, "mean": part.value.mean()}


def _costs(protocol: Protocol, cells: list[dict]) -> Iterator[dict]:
    timed = pd.DataFrame([record for record in cells if "seconds" in record])
    for method in protocol.methods:
        for column in _COLUMNS:
            if (
                timed.empty
                or (group := timed[(timed.method == method.name) & (timed.column == column)]).empty
            ):
                continue
            yield {
                "method": method.name,
                "column": column,
                "cells": len(group),
                "mean_seconds": group.seconds.mean(),
                "longest_seconds": group.seconds.max(),
                "mean_processor_seconds": group.cpu_seconds.mean(),
                "peak_bytes": group.peak_bytes.max(),
            }


def _reliability(protocol: Protocol, cells: list[dict]) -> Iterator[dict]:
    """Objects by confidence, and how many of them are rightly placed, over all repetitions on a set."""
    counts: dict[tuple, np.ndarray] = defaultdict(lambda: np.zeros(6, int))
    for record in cells:
        if "reliability" in record and record["column"] == "default":
            counts[record["set"], record["method"]] += np.ravel(record["reliability"])
    names = [f"{part}_{what}" for part in CONFIDENCE for what in ("objects", "right")]
    for item, method in product(protocol.sets, protocol.methods):
        if (held := counts.get((item.name, method.name))) is not None:
            where = {"set": item.name, "group": item.group, "method": method.name, "column": "default"}
            yield {**where, **dict(zip(names, held.tolist()))}


def _sets(protocol: Protocol, runs: list[dict]) -> Iterator[dict]:
    notes = {name: held for run in runs for name, held in run.get("notes", {}).items()}
    shapes = {name: shape for run in runs for name, shape in run.get("shapes", {}).items()}
    for item in protocol.sets:
        if item.name in shapes:
            n, d, c = shapes[item.name]
            printed = ", ".join("-" if v is None else f"{v:,}" for v in (item.n, item.d, item.classes))
            remark = known_sets().get(item.data, {}).get("remark", "")
            transform = f"features: {item.transform}" if item.transform else ""
            said = "; ".join(filter(None, [*notes.get(item.name, []), remark, transform])) or "none known"
            shape = {"objects": n, "features": d, "classes": c, "printed_shape": printed}
            yield {"set": item.name, "file": item.data, **shape, "differences": said}


def _last_run(run: dict) -> dict:
    facts = {key: run[key] for key in ("cores", "machine", "workers", "threads")}
    versions = ", ".join(f"{name} {number}" for name, number in run["versions"].items())
    return {"date": run["started"][:10], **facts, "versions": versions}


def _commits(cells: list[dict]) -> str:
    """The state of the code behind the figures: one commit, or each with the number of its cells."""
    counts = Counter(record.get("commit") or "not recorded" for record in cells)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{name} ({count} cells)" for name, count in counts.items())


def _base_minutes(protocol: Protocol, records: Records) -> float:
    """CPU minutes of the base clusterings that runs of a protocol made.

    Those that another protocol made are counted there.
    """
    seconds, running = 0.0, ""
    for record in records.records:
        if record["kind"] == "run":
            running = record["protocol"]
        elif record["kind"] == "base" and running == protocol.name:
            seconds += record.get("cpu_seconds", 0.0)
    return seconds / 60


def _remarks(protocol: Protocol, runs: list[dict], good: list[dict], bad: list[dict]) -> Iterator[dict]:
    """What a reader must know of what is not in the other tables: left out, failed, warned of."""
    for what in ("sets", "methods"):
        ran = {record[what[:-1]] for record in good}
        if idle := [item.name for item in getattr(protocol, what) if item.name not in ran]:
            yield {"kind": f"{what} without results", "text": ", ".join(idle), "cells": ""}
    for what, why in runs[-1].get("skipped", []) if runs else []:
        yield {"kind": "left out", "text": f"{what}: {why}", "cells": ""}
    failed = Counter(
        f"{r['method']} on {r['set']} ({WORDS[r['column']]}): {r['error']['type']}: {r['error']['message']}"
        for r in bad
    )
    warned = Counter(f"{r['method']}: {text.split(':')[0]}" for r in good for text in r.get("warnings", []))
    for kind, counts in (("failed", failed), ("warning", warned)):
        yield from ({"kind": kind, "text": text, "cells": count} for text, count in counts.items())
