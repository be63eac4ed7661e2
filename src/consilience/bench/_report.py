"""Reports: ours beside the printed figures, as Markdown, CSV and one self-contained HTML page.

All three say the same from the same blocks (headings, paragraphs, tables, drawings); Markdown leaves the drawings out.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, InputError
from ..io import atomic_write
from ..kernels.memory import size as shown_size
from ._protocol import Measure, Protocol, parse_protocol
from ._sets import known_sets
from ._store import read_store
from ._summary import WORDS, Comparison, Figure, Summary, summarise
from ._svg import critical_difference_diagram, curve_plot, rank_plot


def report(
    folder: str | os.PathLike[str],
    *,
    out: str | os.PathLike[str] | None = None,
    markdown: str | os.PathLike[str] | None = None,
    only: Iterable[str] | None = None,
) -> list[Path]:
    """Write ``report.md``, ``report.csv`` and ``report.html`` for everything a results folder holds.

    Parameters
    ----------
    folder : path
        A results folder that :func:`run` filled. Nothing of the protocols is executed.
    out : path, optional
        Where the three files go; the results folder by default.
    markdown : path, optional
        Write the Markdown to this file as well.
    only : iterable of str, optional
        Protocols to report; all by default.

    Returns
    -------
    list of Path
        The files that were written.
    """
    summaries, damaged = load_summaries(folder, only)
    target = Path(folder if out is None else out)
    target.mkdir(parents=True, exist_ok=True)
    blocks = _blocks(summaries, damaged)
    written = [target / "report.md", target / "report.csv", target / "report.html"]
    with atomic_write(written[0], "w", encoding="utf-8") as handle:
        handle.write(to_markdown(blocks))
    with atomic_write(written[1], "w", encoding="utf-8", newline="") as handle:
        write_csv(handle, summaries)
    with atomic_write(written[2], "w", encoding="utf-8") as handle:
        handle.write(to_html(blocks))
    if markdown is not None:
        written.append(Path(markdown))
        with atomic_write(written[3], "w", encoding="utf-8") as handle:
            handle.write(to_markdown(blocks))
    return written


def load_summaries(
    folder: str | os.PathLike[str], only: Iterable[str] | None = None
) -> tuple[list[Summary], int]:
    """The summaries of every protocol in a results folder, and the number of unreadable lines."""
    records = read_store(folder)
    if not records.records:
        raise FileError(
            f"{folder} holds no results: run 'consilience bench run PROTOCOL --out {folder}' first."
        )
    wanted = None if only is None or not (names := list(only)) else names
    out = []
    for path in sorted((Path(folder) / "protocols").glob("*.json")):
        if wanted is not None and path.stem not in wanted:
            continue
        try:
            raw = json.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise FileError(f"{path} cannot be read: {error}.") from None
        out.append(summarise(parse_protocol(raw, where=str(path)), records))
    if wanted is not None and (absent := set(wanted) - {s.protocol.name for s in out}):
        raise InputError(f"{folder} holds no results of {', '.join(sorted(absent))}.")
    return out, records.damaged


# Blocks ----------------------------------------------------------------------------------------------------


@dataclass
class Block:
    """One piece of a report. ``kind`` is h1, h2, h3, p, table, list or svg; a table's first row is its header."""

    kind: str
    text: str = ""
    rows: list[list[str]] = field(default_factory=list)
    strong: set[tuple[int, int]] = field(default_factory=set)  # cells of a table in bold
    folded: bool = False


def _blocks(summaries: list[Summary], damaged: int) -> list[Block]:
    out = [
        Block("h1", "Published comparisons, rerun"),
        Block(
            "p",
            "Ours beside the printed figures. 'Default' uses no true labels. 'Tuned by the truth' takes the best of a grid with "
            "the true labels in hand, as the printed tables do; it shows that the method is the same and says nothing about what "
            "a user gets. The two are never mixed, neither in averages nor in ranks nor in tests. Deviations are sample standard "
            "deviations (n - 1). Bold: the best of its row and column, or not told apart from it by a paired t-test at 5%.",
        ),
        Block(
            "p",
            "This page is generated ('make reproduce', or 'consilience bench report RESULTS'); figures are as measured, failures "
            "included.",
        ),
    ]
    if damaged:
        out.append(Block("p", f"{damaged} unreadable line(s) of the store were skipped."))
    out += _overview_blocks(summaries)
    for summary in summaries:
        out += _protocol_blocks(summary)
    return out


def _overview_blocks(summaries: list[Summary]) -> list[Block]:
    """How many printed figures were reached, and what failed, protocol by protocol."""
    rows = [["protocol", "measure", "sets", "methods", "default reached", "tuned reached", "failed cells"]]
    for summary in summaries:
        for measure in summary.protocol.measures:
            figures = summary.figures.get(measure.name, [])
            reached = [summary.reached(measure.name, c) for c in ("default", "tuned")] if figures else []
            rows.append(
                [
                    summary.protocol.name,
                    f"{measure.name} ({measure.key})",
                    str(len({figure.row for figure in figures})),
                    str(len({figure.method for figure in figures})),
                    *(f"{good} of {total}" if total else "-" for good, total in reached or [(0, 0), (0, 0)]),
                    str(len(summary.failures)),
                ]
            )
    text = (
        "Reached: our mean is no more than one printed standard deviation below the printed mean (where no deviation is printed: "
        "not below it). Printed figures are often tuned by the truth, so that 'default reached' compares unlike things there."
    )
    return [Block("h2", "Overview"), Block("p", text), Block("table", rows=rows)]


def _protocol_blocks(summary: Summary) -> list[Block]:
    protocol = summary.protocol
    out = [Block("h2", protocol.title)]
    out += [Block("p", text) for text in (protocol.reference, protocol.about) if text]
    out.append(Block("p", _setup(protocol)))
    if not summary.rows:
        out.append(Block("p", "No cell of this protocol has finished yet."))
    else:
        out += _data_blocks(summary)
        for measure in protocol.measures:
            out += _measure_blocks(summary, measure)
        out += _cost_blocks(summary)
    out += _omission_blocks(summary)
    return out


def _setup(protocol: Protocol) -> str:
    ensembles = protocol.ensembles
    parts = [f"Protocol '{protocol.name}': {protocol.repetitions} repetitions"]
    if any(method.input == "ensemble" for method in protocol.methods):
        made = f"{ensembles.size} base clusterings each"
        if ensembles.generator:
            given = ", ".join(f"{k}={v}" for k, v in ensembles.params.items())
            made += f" by {ensembles.generator}({given})"
        parts.append(made)
    parts.append(
        "measures "
        + ", ".join(
            f"{m.name} ({m.key}{', in percent' if m.scale == 100 else ''})" for m in protocol.measures
        )
    )
    return "; ".join(parts) + "."


def _data_blocks(summary: Summary) -> list[Block]:
    rows = [
        ["set", "file", "objects", "features or clusterings", "classes", "printed (n, d, c)", "differences"]
    ]
    known = known_sets()
    for item in summary.protocol.sets:
        if item.name not in summary.shapes:
            continue
        n, d, c = summary.shapes[item.name]
        printed = ", ".join("-" if v is None else f"{v:,}" for v in (item.n, item.d, item.classes))
        notes = list(summary.notes.get(item.name, []))
        if remark := known.get(item.data, {}).get("remark"):
            notes.append(remark)
        if item.transform:
            notes.append(f"features: {item.transform}")
        rows.append(
            [item.name, item.data, f"{n:,}", f"{d:,}", str(c), printed, "; ".join(notes) or "none known"]
        )
    return [Block("h3", "Data"), Block("table", rows=rows)]


def _measure_blocks(summary: Summary, measure: Measure) -> list[Block]:
    figures = summary.figures[measure.name]
    if not figures:
        return []
    out = [Block("h3", f"{measure.name} ({measure.key})")]
    rows = [
        [
            "set",
            "method",
            "runs",
            "default",
            "tuned by the truth",
            "printed",
            "default - printed",
            "tuned - printed",
        ]
    ]
    strong = set()
    by_cell: dict[tuple[str, str], dict[str, Figure]] = {}
    for figure in figures:
        by_cell.setdefault((figure.row, figure.method), {})[figure.column] = figure
    for (row, method), columns in by_cell.items():
        any_figure = next(iter(columns.values()))
        cells = [row, method, str(max(len(f.values) for f in columns.values()))]
        for place, column in ((3, "default"), (4, "tuned")):
            held = columns.get(column)
            cells.append("" if held is None else _value(held, measure))
            if held is not None and held.p_value is not None and held.among_best:
                strong.add((len(rows), place))
        cells.append(_pair(any_figure.printed, measure))
        cells += [
            _signed(columns[c].difference if c in columns else None, measure) for c in ("default", "tuned")
        ]
        rows.append(cells)
    out.append(Block("table", rows=rows, strong=strong))
    for column in ("default", "tuned"):
        good, total = summary.reached(measure.name, column)
        if total:
            out.append(
                Block(
                    "p",
                    f"{WORDS[column].capitalize()}: {good} of {total} figures are within one printed standard deviation of the "
                    "printed figure, or better.",
                )
            )
    for comparison in summary.comparisons:
        if comparison.measure == measure.name:
            out += _comparison_blocks(comparison, measure)
    for curve in summary.curves:
        if curve.measure == measure.name:
            out.append(
                Block(
                    "svg",
                    curve_plot(
                        curve.x, curve.lines, title=curve.title, x_label=curve.x_label, y_label=measure.name
                    ),
                )
            )
            head = [curve.x_label, *(_plain(v) for v in curve.x)]
            body = [
                [name, *("" if v is None else f"{v:.{measure.digits}f}" for v in line)]
                for name, line in curve.lines.items()
            ]
            out.append(Block("table", text=f"{measure.name}: {curve.title}", rows=[head, *body], folded=True))
    printed_only = _printed_only(summary, measure)
    if printed_only is not None:
        out.append(printed_only)
    return out


def _comparison_blocks(comparison: Comparison, measure: Measure) -> list[Block]:
    """Averages, ranks and tests over the sets that every method has."""
    n = len(comparison.rows)
    title = f"{measure.name}, {WORDS[comparison.column]}: over {n} set{'s' if n > 1 else ''}"
    order = np.argsort(comparison.ranks, kind="stable")
    rows = [["method", "average", "average rank", "RSEC's score"]]
    for j in order:
        average = comparison.averages[j]
        rows.append(
            [
                comparison.methods[j],
                "-" if np.isnan(average) else f"{average:.{measure.digits}f}",
                f"{comparison.ranks[j]:.2f}",
                f"{comparison.scores[j]:.2f}",
            ]
        )
    out = [Block("table", text=title, rows=rows, folded=comparison.column == "printed")]
    if comparison.column == "printed":
        return out
    ranks = [float(r) for r in comparison.ranks]
    out.append(Block("svg", rank_plot(comparison.methods, ranks, f"Average rank: {title}")))
    test = comparison.test
    if test is None:
        return out
    out.append(
        Block(
            "p",
            f"Friedman over {test.n_sets} sets and {test.n_methods} methods: chi-square {test.statistic:.2f}, p = {test.p_value:.3g}; "
            f"F of Iman and Davenport {test.f_statistic:.2f}, p = {test.f_p_value:.3g}. Nemenyi: average ranks closer than "
            f"{test.critical_difference:.2f} are not told apart at 5%.",
        )
    )
    out.append(
        Block(
            "svg",
            critical_difference_diagram(
                comparison.methods, ranks, test.critical_difference, f"Critical differences: {title}"
            ),
        )
    )
    return out


def _printed_only(summary: Summary, measure: Measure) -> Block | None:
    """The printed figures of methods that were not run here."""
    printed = summary.protocol.printed.get(measure.name, {})
    ran = {figure.method for figure in summary.figures[measure.name]}
    others = [name for name in printed if name not in ran]
    if not others:
        return None
    aliases = {item.name: item.printed_as or item.name for item in summary.protocol.sets}
    measured = {aliases.get(row, row) for row in summary.rows}
    rows = [row for row in dict.fromkeys(r for name in others for r in printed[name]) if row in measured]
    if not rows:
        return None
    body = [[row, *(_pair(printed[name].get(row), measure) for name in others)] for row in rows]
    return Block(
        "table", text="Printed figures of methods not run here", rows=[["set", *others], *body], folded=True
    )


def _cost_blocks(summary: Summary) -> list[Block]:
    if not summary.costs:
        return []
    rows = [["method", "settings", "cells", "mean s", "longest s", "mean processor s", "peak memory"]]
    for cost in summary.costs:
        peak = "-" if cost.peak_bytes is None else shown_size(cost.peak_bytes)
        rows.append(
            [
                cost.method,
                WORDS[cost.column],
                str(cost.cells),
                f"{cost.seconds:.3f}",
                f"{cost.longest:.3f}",
                f"{cost.cpu_seconds:.3f}",
                peak,
            ]
        )
    text = "Of the consensus step alone; memory is the peak above what the process held before."
    if summary.runs:
        run = summary.runs[-1]
        versions = ", ".join(f"{name} {number}" for name, number in run["versions"].items())
        text += (
            f" Last run {run['started'][:10]} on {run['cores']} cores ({run['machine']}), {run['workers']} worker"
            f"{'s' if run['workers'] > 1 else ''} of {run['threads']} thread{'s' if run['threads'] > 1 else ''}; {versions}."
        )
    return [Block("h3", "Time and memory"), Block("p", text), Block("table", rows=rows)]


def _omission_blocks(summary: Summary) -> list[Block]:
    out = []
    ran = {name for name in summary.shapes if any(row.startswith(name) for row in summary.rows)}
    idle = [item.name for item in summary.protocol.sets if item.name not in ran]
    methods = {figure.method for figures in summary.figures.values() for figure in figures}
    idle_methods = [method.name for method in summary.protocol.methods if method.name not in methods]
    for what, names in (("Sets", idle), ("Methods", idle_methods)):
        if names:
            out.append(Block("p", f"{what} of this protocol without results here: {', '.join(names)}."))
    if summary.skipped:
        out += [
            Block("h3", "Left out"),
            Block("list", rows=[[f"{what}: {why}"] for what, why in summary.skipped]),
        ]
    if summary.failures:
        counts: dict[str, int] = {}
        for record in summary.failures:
            error = record["error"]
            text = f"{record['method']} on {record['set']} ({WORDS[record['column']]}): {error['type']}: {error['message']}"
            counts[text] = counts.get(text, 0) + 1
        rows = [[f"{text} ({count} cell{'s' if count > 1 else ''})"] for text, count in counts.items()]
        out += [Block("h3", "Failed"), Block("list", rows=rows)]
    if summary.warnings:
        rows = [[f"{text} in {count} cells"] for text, count in summary.warnings.items()]
        out += [Block("h3", "Warnings"), Block("list", rows=rows)]
    return out


def _value(figure: Figure, measure: Measure) -> str:
    text = f"{figure.mean:.{measure.digits}f}"
    if figure.std is not None:
        text += f" ± {figure.std:.{measure.digits}f}"
    return f"{text} [{figure.note}]" if figure.note else text


def _pair(printed: tuple | None, measure: Measure) -> str:
    if printed is None:
        return ""
    mean, std = printed
    return f"{mean:.{measure.digits}f}" + ("" if std is None else f" ± {std:.{measure.digits}f}")


def _signed(value: float | None, measure: Measure) -> str:
    # Adding zero turns the -0.0 that rounding leaves into 0.0.
    return "" if value is None else f"{round(value, measure.digits) + 0.0:+.{measure.digits}f}"


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


# Formats ---------------------------------------------------------------------------------------------------


def to_markdown(blocks: list[Block]) -> str:
    """The report as Markdown; drawings are left to the HTML page, their numbers are in the tables."""
    out: list[str] = []
    for block in blocks:
        if block.kind in ("h1", "h2", "h3"):
            out.append(f"{'#' * int(block.kind[1])} {_markdown(block.text)}")
        elif block.kind == "p":
            out.append(_markdown(block.text))
        elif block.kind == "list":
            out.append("\n".join(f"- {_markdown(row[0])}" for row in block.rows))
        elif block.kind == "table":
            if block.text and not block.folded:
                out.append(f"{_markdown(block.text)}:")
            head, *body = block.rows
            lines = ["| " + " | ".join(map(_markdown, head)) + " |", "|" + "---|" * len(head)]
            for number, row in enumerate(body, 1):
                cells = [
                    f"**{_markdown(cell)}**" if (number, place) in block.strong and cell else _markdown(cell)
                    for place, cell in enumerate(row)
                ]
                lines.append("| " + " | ".join(cells) + " |")
            table = "\n".join(lines)
            if block.folded:
                summary = f"<summary>{escape(block.text)}</summary>"
                table = f"<details>{summary}\n\n{table}\n\n</details>"
            out.append(table)
    return "\n\n".join(out) + "\n"


def to_html(blocks: list[Block]) -> str:
    """The report as one page: no scripts, no requests, everything escaped."""
    body = []
    for block in blocks:
        if block.kind in ("h1", "h2", "h3", "p"):
            body.append(f"<{block.kind}>{escape(block.text)}</{block.kind}>")
        elif block.kind == "list":
            body.append("<ul>" + "".join(f"<li>{escape(row[0])}</li>" for row in block.rows) + "</ul>")
        elif block.kind == "svg":
            body.append(f"<figure>{block.text}</figure>")
        else:
            table = _html_table(block)
            if block.folded:
                table = f"<details><summary>{escape(block.text)}</summary>{table}</details>"
            elif block.text:
                table = f"<h4>{escape(block.text)}</h4>{table}"
            body.append(table)
    return _PAGE.replace("{body}", "\n".join(body))


def _html_table(block: Block) -> str:
    head, *rows = block.rows
    out = ["<div class='wide'><table><thead><tr>"]
    out += [f"<th scope='col'>{escape(cell)}</th>" for cell in head]
    out.append("</tr></thead><tbody>")
    for number, row in enumerate(rows, 1):
        cells = "".join(
            f"<td><b>{escape(cell)}</b></td>"
            if (number, place) in block.strong
            else f"<td>{escape(cell)}</td>"
            for place, cell in enumerate(row)
        )
        out.append(f"<tr>{cells}</tr>")
    return "".join(out) + "</tbody></table></div>"


def write_csv(handle: Any, summaries: list[Summary]) -> None:
    """One line per figure: ours, printed, difference, test, time and memory."""
    writer = csv.writer(handle)
    writer.writerow(
        [
            "protocol",
            "measure",
            "key",
            "row",
            "method",
            "column",
            "runs",
            "mean",
            "std",
            "printed_mean",
            "printed_std",
            "difference",
            "p_against_best",
            "mean_seconds",
            "peak_bytes",
            "note",
        ]
    )
    for summary in summaries:
        costs = {(cost.method, cost.column): cost for cost in summary.costs}
        for measure in summary.protocol.measures:
            for figure in summary.figures[measure.name]:
                cost = costs.get((figure.method, figure.column))
                mean, std = figure.printed or (None, None)
                values = [
                    figure.mean,
                    figure.std,
                    mean,
                    std,
                    figure.difference,
                    figure.p_value,
                    None if cost is None else cost.seconds,
                    None if cost is None else cost.peak_bytes,
                ]
                words = (figure.row, figure.method, figure.column)
                writer.writerow(
                    [
                        summary.protocol.name,
                        measure.name,
                        measure.key,
                        *map(_safe, words),
                        len(figure.values),
                        *("" if v is None else f"{v:.10g}" for v in values),
                        _safe(figure.note),
                    ]
                )


def _safe(text: str) -> str:
    """A cell that a spreadsheet cannot take for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _markdown(text: str) -> str:
    """Text that Markdown shows as it is."""
    text = escape(" ".join(str(text).split()), quote=False).replace("&amp;", "&")
    for mark in ("\\", "|", "`", "*", "[", "]"):
        text = text.replace(mark, "\\" + mark)
    return text


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Published comparisons, rerun</title>
<style>
body{font:15px/1.5 system-ui,sans-serif;max-width:75rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
table{border-collapse:collapse;margin:.6rem 0;font-size:.9rem}
td,th{border:1px solid #ccc;padding:.2rem .5rem;text-align:left;vertical-align:top}
th{background:#f2f4f7;position:sticky;top:0}tbody tr:nth-child(even){background:#fafafa}
.wide{overflow-x:auto}figure{margin:.8rem 0}details{margin:.6rem 0}summary{cursor:pointer;color:#0050a0}
h2{margin-top:2.5rem;border-bottom:2px solid #ddd}svg{max-width:100%;height:auto}
</style></head><body>
{body}
</body></html>
"""
