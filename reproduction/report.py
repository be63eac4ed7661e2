"""Tables and pages: what a results folder holds as CSV, and from the CSV alone one short page per paper."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd

from consilience._kernels.runtime.memory import size as shown_size
from consilience.errors import FileError, InputError
from consilience.io import atomic_write

from .analyze import CONFIDENCE, LOSS, SCHEMA, WORDS, group_of, tables
from .protocol import FOLDER, Measure, Protocol, read_protocol
from .store import read_store
from .verdicts import VERDICTS, judged, lacking

Tables = dict[str, pd.DataFrame]
ABOUT = {
    "figures": "every mean with its deviation and number of runs, the printed figure beside it, whether "
    "it was reached, and where not the verdict with its evidence",
    "comparisons": "averages over the sets, average ranks and RSEC's score, method by method and group by "
    "group of the sets, and how far above or below the method that all are held against",
    "tests": "Friedman's test with the F of Iman and Davenport, and Nemenyi's critical difference",
    "curves": "means over the values of each grid that is tuned by the truth",
    "costs": "time and peak memory of the consensus step alone (of all, where a method takes features), "
    "above what the process held before",
    "reliability": "objects by confidence (above .9, from .6, below), and how many of them are "
    "rightly placed",
    "sets": "the data: shapes, ours and printed, and what differs",
    "runs": "when, where, with which versions and at which commit, and how long making the base "
    "clusterings took",
    "remarks": "what was left out, failed or warned",
}
_TEXTS = {
    "protocol",
    "measure",
    "set",
    "vary",
    "method",
    "column",
    "group",
    "reached",
    "among_best",
    "note",
    "line",
    "parameter",
}
_TEXTS |= {
    "verdict",
    "evidence",
    "commits",
    "value",
    "file",
    "printed_shape",
    "differences",
    "date",
    "machine",
    "versions",
    "kind",
    "text",
}
_WHOLE = (
    "runs",
    "sets",
    "methods",
    "cells",
    "peak_bytes",
    "shared",
    "lost",
    "reaching",
)  # a gap would turn them into floats
_FORMULA = r"(?=[=+\-@\t\r])"  # how a cell begins that a spreadsheet takes for one


def report(
    results: str | os.PathLike[str] | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    only: Iterable[str] | None = None,
    pictures: bool = False,
) -> list[Path]:
    """Write the tables and pages of everything a results folder holds; returns the files that were written.

    Tables that ``out`` (the results folder by default) has already keep the protocols that ``results`` does
    not hold. Without ``results`` the pages are written again from those tables. Nothing of the protocols is
    executed.
    """
    if results is None and out is None:
        raise InputError("Nothing to report: give a results folder, or --out with a folder of tables.")
    target = Path(out if out is not None else results)  # type: ignore[arg-type]
    if results is not None:
        held = merged(read_tables(target), load_tables(results, list(only or [])))
        target.mkdir(parents=True, exist_ok=True)
        _write(target, {f"{name}.csv": _csv(table) for name, table in held.items()})
    held = read_tables(target)
    if held["figures"].empty:
        raise FileError(
            f"{target} holds no tables: expected figures.csv, as 'report RESULTS --out' writes it."
        )
    known = _protocols(held, target if results is None else Path(results))
    held["figures"] = judged(
        held["figures"], known
    )  # of old tables too, and by the protocols as they are now
    _write(target, {"figures.csv": _csv(held["figures"])})
    pages: dict[str, list[Protocol]] = defaultdict(list)
    for protocol in known:
        pages[protocol.paper].append(protocol)
    texts = {f"{paper}.md": page(group, held) for paper, group in pages.items()}
    _write(target, {**texts, "index.md": index(pages, held)})
    written = [target / name for name in (*(f"{name}.csv" for name in SCHEMA), *texts, "index.md")]
    if pictures:
        from .pictures import draw

        written += draw(known, held, target)
    return written


# Tables ----------------------------------------------------------------------------------------------------


def load_tables(results: str | os.PathLike[str], only: list[str]) -> Tables:
    """The tables of every protocol in a results folder."""
    records = read_store(results)
    if not records.records:
        raise FileError(
            f"{results} holds no results: run 'python -m reproduction run PROTOCOL --out {results}' first."
        )
    found = {path.stem: path for path in sorted((Path(results) / "protocols").glob("*.json"))}
    if absent := set(only) - found.keys():
        raise InputError(f"{results} holds no results of {', '.join(sorted(absent))}.")
    each = [tables(read_protocol(path), records) for name, path in found.items() if not only or name in only]
    joined = {name: pd.concat([held[name] for held in each]) for name in SCHEMA}
    if records.damaged:
        line = {
            "protocol": next(iter(found)),
            "kind": "unreadable lines of the store",
            "text": records.damaged,
        }
        joined["remarks"] = pd.concat([joined["remarks"], pd.DataFrame([line])])
    return joined


def merged(old: Tables, new: Tables) -> Tables:
    """The new tables, and of the old ones the protocols that the new do not hold."""
    fresh = set(new["figures"].protocol)
    both = {name: [table[~table.protocol.isin(fresh)], new[name]] for name, table in old.items()}
    joined = {name: [part for part in parts if len(part)] or parts[:1] for name, parts in both.items()}
    return {name: pd.concat(parts).sort_values("protocol", kind="stable") for name, parts in joined.items()}


def read_tables(folder: Path) -> Tables:
    """The tables of a folder; empty ones where there are none."""
    out = {}
    for name, columns in SCHEMA.items():
        path = folder / f"{name}.csv"
        table = pd.DataFrame(columns=columns, dtype=str)
        if path.exists():  # tables of before may lack a column that came later
            table = pd.read_csv(path, dtype=str, keep_default_na=False).reindex(
                columns=columns, fill_value=""
            )
        for column in columns:
            if column in _TEXTS:
                table[column] = table[column].str.replace("^'" + _FORMULA, "", regex=True)
            else:
                table[column] = pd.to_numeric(table[column])
        out[name] = table
    return out


def _csv(table: pd.DataFrame) -> str:
    safe = table.copy()
    for column in table:
        if column in _TEXTS:
            texts = table[column].astype(object).fillna("").astype(str)
            safe[column] = texts.str.replace("^" + _FORMULA, "'", regex=True)
        elif column in _WHOLE:
            safe[column] = pd.to_numeric(table[column]).round().astype("Int64")
        else:  # a column of objects would be written with all its digits
            safe[column] = pd.to_numeric(table[column])
    return safe.to_csv(index=False, float_format="%.6g", lineterminator="\n")


def _write(folder: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        with atomic_write(folder / name, "w", encoding="utf-8", newline="") as handle:
            handle.write(text)


def _protocols(held: Tables, results: Path) -> list[Protocol]:
    """The protocols of the tables: as they were run, or else as they come with the package."""
    out = []
    for name in sorted({name for table in held.values() for name in table.protocol}):
        places = [results / "protocols" / f"{name}.json", FOLDER / f"{name}.json"]
        path = next((place for place in places if place.exists()), None)
        if path is None:
            raise FileError(f"There is no protocol {name!r} in {results} to say what its figures are.")
        out.append(read_protocol(path))
    return out


def _of(table: pd.DataFrame, **wanted: str) -> pd.DataFrame:
    """The lines with these values."""
    for column, value in wanted.items():
        table = table[table[column] == value]
    return table


# Pages -----------------------------------------------------------------------------------------------------


def page(protocols: list[Protocol], held: Tables) -> str:
    """The page of a paper: each of its protocols with what a reader wants to see."""
    shown: set[str] = set()
    return _rendered("page.md.j2", sections=[_section(protocol, held, shown) for protocol in protocols])


def index(pages: dict[str, list[Protocol]], held: Tables) -> str:
    """The front page: how much was reached where, and what the files beside it hold."""
    rows: list[list] = []
    states: list[list] = []
    verdicts: list[list] = []
    minutes = np.zeros(2)  # of cells, of base clusterings
    for paper, protocol in ((paper, protocol) for paper, group in pages.items() for protocol in group):
        failed = _of(held["remarks"], protocol=protocol.name, kind="failed").cells.sum()
        runs = _of(held["runs"], protocol=protocol.name)
        spent = [
            _processor_minutes(_of(held["costs"], protocol=protocol.name)),
            runs.base_minutes.sum(min_count=1),
        ]
        minutes += np.nan_to_num(spent)  # tables of before do not tell the second
        states.append([_link(protocol, paper), *_state(runs), *("" if v != v else f"{v:.1f}" for v in spent)])
        judgment = _of(held["figures"], protocol=protocol.name, reached="no").verdict
        if len(judgment):
            counts = [int((judgment == name).sum()) for name in VERDICTS]
            verdicts.append([_link(protocol, paper), len(judgment), *counts])
        for measure in protocol.measures:
            figures = _of(held["figures"], protocol=protocol.name, measure=measure.name)
            ours = figures[figures.column != "printed"]
            shape = (ours.set + ours.vary).nunique(), ours.method.nunique()
            marks = reached(ours, "default"), reached(ours, "tuned"), int(failed)
            rows.append([_link(protocol, paper), f"{measure.name} ({measure.key})", *shape, *marks])
    head = ["protocol", "measure", "sets", "methods", "default reached", "tuned reached", "failed cells"]
    total = ["all", *(sum(column) for column in list(zip(*verdicts))[1:])]
    return _rendered(
        "index.md.j2",
        overview=markdown_table(head, rows),
        verdicts=markdown_table(["protocol", "missed", *VERDICTS], [*verdicts, total]) if verdicts else "",
        meanings=VERDICTS,
        state=_one_state({commit for _, _, commit, *_ in states}),
        hours=minutes.sum() / 60,
        states=markdown_table(
            ["protocol", "last run", "commit", "minutes", "base clusterings"],
            [*states, ["all", "", "", *(f"{value:.1f}" for value in minutes)]],
        ),
        tables=ABOUT,
    )


def _link(protocol: Protocol, paper: str) -> Markup:
    return Markup(f"[{protocol.name}]({paper}.md)")


def _state(runs: pd.DataFrame) -> tuple[str, str]:
    """(date, commit) of a protocol's figures, as far as they were recorded."""
    run = next(runs.itertuples(), None)
    return ("not recorded",) * 2 if run is None else (run.date, run.commits or "not recorded")


def _one_state(commits: set[str]) -> str:
    """The commit that all figures are of; empty where they are of several, or it was not recorded."""
    first = next(iter(commits), "")
    return first if len(commits) == 1 and " " not in first else ""  # several, or not recorded: in words


def _processor_minutes(costs: pd.DataFrame) -> float:
    """CPU minutes of the finished cells; making the base clusterings is in the table of runs."""
    return float((costs.cells * costs.mean_processor_seconds).sum() / 60)


def reached(figures: pd.DataFrame, column: str) -> str:
    """'21 of 33' printed figures."""
    asked = _of(figures, column=column).reached.loc[lambda marks: marks != ""]
    return f"{(asked == 'yes').sum()} of {len(asked)}" if len(asked) else "-"


def _section(protocol: Protocol, held: Tables, shown: set[str]) -> dict[str, Any]:
    mine = {name: _of(table, protocol=protocol.name) for name, table in held.items()}
    sets = mine["sets"][~mine["sets"].set.isin(shown)]  # a set is described once on a page
    shown |= set(sets.set)
    return {
        "protocol": protocol,
        "setup": _setup(protocol, mine["figures"]),
        "misses": _misses_table(protocol, mine["figures"]),
        "results": [block for measure in protocol.measures for block in _results(protocol, measure, mine)],
        "ranks": [block for column in ("default", "tuned") for block in _ranks(protocol, column, mine)],
        "reliability": _reliability_table(mine["reliability"]),
        "features": all(method.input == "features" for method in protocol.methods),
        "sets": _sets_table(sets),
        "costs": _costs_table(mine["costs"]),
        "run": next(mine["runs"].itertuples(), None),
        "state": _state(mine["runs"]),
        "remarks": mine["remarks"].itertuples(),
    }


def _setup(protocol: Protocol, figures: pd.DataFrame) -> str:
    """What was run, and how often: of the repetitions that the protocol plans, as many as there are."""
    most = int(figures.runs.max()) if figures.runs.notna().any() else 0
    planned = protocol.repetitions
    parts = [f"{most} repetitions" if most == planned else f"{most} of {planned} planned repetitions"]
    ensembles = protocol.ensembles
    if any(method.input == "ensemble" for method in protocol.methods):
        given = ", ".join(f"{key}={_shown(value)}" for key, value in ensembles.params.items())
        by = f" by {ensembles.generator}({given})" if ensembles.generator else ""
        parts.append(f"{ensembles.size} base clusterings each{by}")
    units = (f"{m.name} ({m.key}{', in percent' if m.scale == 100 else ''})" for m in protocol.measures)
    return "; ".join([*parts, ", ".join(units)]) + "."


def _shown(value: Any) -> str:
    """A parameter of a generator; a list is an interval, as Python writes it."""
    return f"({', '.join(map(str, value))})" if isinstance(value, list) else str(value)


def _misses_table(protocol: Protocol, figures: pd.DataFrame) -> str:
    """Every printed figure that was missed, with its verdict: unexplained ones and large gaps first."""
    measures = {measure.name: measure for measure in protocol.measures}
    rows = []
    for line in lacking(figures, measures).itertuples():
        digits = measures[line.measure].digits
        facts = [
            line.measure,
            f"{line.set} {line.vary}".strip(),
            line.method,
            WORDS[line.column],
            f"{line.runs:.0f}",
        ]
        ours, printed = (
            _pair(*pair, measures[line.measure])
            for pair in ((line.mean, line.std), (line.printed, line.printed_std))
        )
        rows.append([line.verdict, *facts, ours, printed, f"{line.lack:.{digits}f}", line.evidence])
    head = [
        "verdict",
        "measure",
        "set",
        "method",
        "settings",
        "ensembles",
        "ours",
        "printed",
        "lacks",
        "evidence",
    ]
    return markdown_table(head, rows) if rows else ""


def _results(protocol: Protocol, measure: Measure, mine: Tables) -> list[dict]:
    """The tables of one measure, default and tuned apart, and each group of sets for itself."""
    out = []
    for column in ("default", "tuned"):
        every = _of(mine["figures"], measure=measure.name, column=column)
        for group, part in _by_group(every, protocol):
            count = reached(part, column)
            said = "" if count == "-" else f": {count} printed figures reached"
            table = _varied(protocol, part, measure) if protocol.variations else _grid(part, measure)
            title = _titled(f"{measure.name}, {WORDS[column]}", group)
            out.append({"title": f"{title}{said}", "table": table})
    return out


def _by_group(figures: pd.DataFrame, protocol: Protocol) -> Iterable[tuple[str, pd.DataFrame]]:
    groups = figures.set.map(lambda row: group_of(row, protocol))
    return ((group, figures[groups == group]) for group in dict.fromkeys(groups))


def _titled(title: str, group: str) -> str:
    return f"{title}: {group}" if group else title


def _grid(part: pd.DataFrame, measure: Measure) -> str:
    """Sets down and methods across, or the other way round where there are more methods."""
    sets, methods = list(dict.fromkeys(part.set)), list(dict.fromkeys(part.method))
    cells = {(line.set, line.method): _cell(line, measure) for line in part.itertuples()}
    runs = {name: _span(_of(part, set=name).runs) for name in sets}
    if len(methods) <= len(sets):
        rows = [[name, runs[name], *(cells.get((name, m), "") for m in methods)] for name in sets]
        return markdown_table(["set", "ensembles", *methods], rows)
    head = ["method", *(f"{name} ({runs[name]})" for name in sets)]
    return markdown_table(head, [[m, *(cells.get((name, m), "") for name in sets)] for m in methods])


def _varied(protocol: Protocol, part: pd.DataFrame, measure: Measure) -> str:
    """Methods down, values across: means over the sets that have them all."""
    assert protocol.vary is not None
    values = [v.label for v in protocol.variations if v.label in set(part.vary)]
    full = part.groupby("set").size() == len(values) * part.method.nunique()
    chosen = part[part.set.map(full)]
    if chosen.empty:  # a run that was stopped
        return "No set has all values yet; what there is stands in [figures.csv](figures.csv)."
    means = chosen.groupby(["method", "vary"])["mean"].mean()
    rows = [[m, *(f"{means[m, v]:.{measure.digits}f}" for v in values)] for m in dict.fromkeys(chosen.method)]
    label = protocol.vary.label or protocol.vary.parameter
    what = f"{label} (mean of {full.sum()} sets, {_span(chosen.runs)} ensembles)"
    return markdown_table([what, *values], rows)


def _ranks(protocol: Protocol, column: str, mine: Tables) -> list[dict]:
    """Averages and ranks of all measures in one table, and the tests in words.

    There is a block for each group of sets.
    """
    every = _of(mine["comparisons"], column=column)
    out = []
    for group in dict.fromkeys(every.group):
        lines = _of(every, group=group)
        out.append(_ranks_of(protocol, lines, _of(mine["tests"], column=column, group=group), column, group))
        out += _held_against(protocol, lines, group)
    return out


def _ranks_of(
    protocol: Protocol, lines: pd.DataFrame, tested: pd.DataFrame, column: str, group: str
) -> dict[str, Any]:
    measures = [measure for measure in protocol.measures if measure.name in set(lines.measure)]
    digits = {measure.name: measure.digits for measure in measures}
    texts = {
        (line.measure, line.method): [
            "-" if np.isnan(line.average) else f"{line.average:.{digits[line.measure]}f}",
            f"{line.rank:.2f}",
        ]
        for line in lines.itertuples()
    }
    head = ["method", *(f"{measure.name} {what}" for measure in measures for what in ("average", "rank"))]
    rows = [
        [method, *(text for measure in measures for text in texts.get((measure.name, method), ["", ""]))]
        for method in dict.fromkeys(lines.method)
    ]
    tests = [
        f"{t.measure}: Friedman over {t.sets:.0f} sets and {t.methods:.0f} methods: chi-square {t.chi2:.2f}, "
        f"p = {t.p:.3g}; F of Iman and Davenport {t.f:.2f}, p = {t.f_p:.3g}. Nemenyi: ranks closer than "
        f"{t.critical_difference:.2f} are not told apart at 5%."
        for t in tested.itertuples()
    ]
    title = _titled(f"Averages and ranks over {_span(lines.sets)} sets, {WORDS[column]}", group)
    return {"title": title, "table": markdown_table(head, rows), "tests": tests}


def _held_against(protocol: Protocol, lines: pd.DataFrame, group: str) -> list[dict]:
    """How far above or below the one method that all are held against; nothing where there is none."""
    held = lines[lines.shared.notna()]
    if held.empty:
        return []
    texts = {
        (c.method, c.measure): [f"{c.difference:+.3f}", f"{c.worst:+.3f}", int(c.lost)]
        for c in held.itertuples()
    }
    measures = list(dict.fromkeys(held.measure))
    kinds = ("mean", "lowest", f"sets lost by {LOSS:g}")
    rows = [
        [method, _span(_of(held, method=method).shared), *(x for m in measures for x in texts[method, m])]
        for method in dict.fromkeys(held.method)
    ]
    head = ["method", "sets that both could do", *(f"{m}: {kind}" for m in measures for kind in kinds)]
    title = _titled(f"Differences to {protocol.against}", group)
    return [{"title": title, "table": markdown_table(head, rows)}]


def _reliability_table(counts: pd.DataFrame) -> str:
    """For each group: the share rightly placed at each confidence (mean over the sets).

    It also says on how many sets the shares are in order.
    """
    rows = []
    for (group, method), part in counts.groupby(["group", "method"], sort=False):
        shares = np.column_stack([part[f"{p}_right"] / part[f"{p}_objects"] for p in CONFIDENCE])
        in_order = sum(bool((np.diff(row[~np.isnan(row)]) < 0).all()) for row in shares)
        texts = ("-" if np.isnan(column).all() else f"{np.nanmean(column):.3f}" for column in shares.T)
        rows.append([group or "all", method, *texts, f"{in_order} of {len(part)}"])
    head = ["sets", "method", "above .9", ".6 to .9", "below .6", "sets in this order"]
    return markdown_table(head, rows) if rows else ""


def _sets_table(sets: pd.DataFrame) -> str:
    rows = [
        [s.set, s.file, f"{s.objects:,}", f"{s.features:,}", s.classes, s.printed_shape, s.differences]
        for s in sets.itertuples()
    ]
    head = [
        "set",
        "file",
        "objects",
        "features or clusterings",
        "classes",
        "printed (n, d, c)",
        "differences",
    ]
    return markdown_table(head, rows) if rows else ""


def _costs_table(costs: pd.DataFrame) -> str:
    rows = []
    for c in costs.itertuples():
        seconds = [f"{s:.3f}" for s in (c.mean_seconds, c.longest_seconds, c.mean_processor_seconds)]
        peak = "-" if np.isnan(c.peak_bytes) else shown_size(c.peak_bytes)
        rows.append([c.method, WORDS[c.column], c.cells, *seconds, peak])
    head = ["method", "settings", "cells", "mean s", "longest s", "mean processor s", "peak memory"]
    return markdown_table(head, rows) if rows else ""


def _cell(line: Any, measure: Measure) -> Markup:
    """'**52.61 ± 1.09** (52.41 ± 1.68) ✓': ours, printed, reached or not."""
    text = _pair(line.mean, line.std, measure)
    if line.note:
        text += markdown(f" [{line.note}]")
    if line.among_best == "yes":
        text = f"**{text}**"
    if not np.isnan(line.printed):
        mark = "✓" if line.reached == "yes" else "✗"
        text += f" ({_pair(line.printed, line.printed_std, measure)}) {mark}"
    return Markup(text)


def _pair(mean: float, std: float, measure: Measure) -> str:
    return f"{mean:.{measure.digits}f}" + ("" if np.isnan(std) else f" ± {std:.{measure.digits}f}")


def _span(values: pd.Series) -> str:
    low, high = int(values.min()), int(values.max())
    return str(low) if low == high else f"{low} to {high}"


# Markdown --------------------------------------------------------------------------------------------------


class Markup(str):
    """Text that is Markdown already."""


def markdown(text: Any) -> str:
    """Text that Markdown shows as it is."""
    if isinstance(text, Markup):
        return text
    text = escape(" ".join(str(text).split()), quote=False).replace("&amp;", "&")
    for mark in ("\\", "|", "`", "*", "[", "]"):
        text = text.replace(mark, "\\" + mark)
    return text


def markdown_table(head: list, rows: list[list]) -> str:
    lines = [" | ".join(map(markdown, row)) for row in [head, ["---"] * len(head), *rows]]
    return "\n".join(f"| {line} |" for line in lines)


def _rendered(name: str, **values: Any) -> str:
    loader = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    environment = jinja2.Environment(loader=loader, trim_blocks=True, keep_trailing_newline=True)
    environment.filters["md"] = markdown
    return environment.get_template(name).render(**values)
