"""What the build puts where a page says so in a comment, which readers of the file do not see.

``<!-- picture: NAME | what it shows -->`` becomes a figure in a light and a dark version, drawn by
``_ext.pictures``; ``<!-- figures: CLASS ... -->`` the stored measurements of these methods' quality; ``<!--
ranks: PROTOCOL MEASURE -->`` the stored averages and ranks of a protocol's methods, a column a group of sets;
``<!-- cells: PROTOCOL COLUMN | MEASURE, ... | METHOD, ... -->`` the stored means of these methods, a row a
set, each beside the printed one if there is one; ``<!-- curves: PROTOCOL | MEASURE, ... | METHOD, ... -->``
the same along what a protocol varies, a row a set and method; ``<!-- averages: PROTOCOL | MEASURE, ... |
METHOD, ... -->`` the same averaged over the sets, a row a method; ``<!-- grid: PROTOCOL | MEASURE, ... |
METHOD, ... -->`` the stored means of every setting of these methods' grids, a row a value of the first
parameter.

Links to ``examples/gallery/*.py``, which work in a checkout, lead to the pages made of these scripts.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

from benchmarks import bench_which_method as bench
from reproduction.protocol import names_in

FOLDER = "_pictures"
_PICTURE = re.compile(r"^<!-- picture: ([\w-]+) \| (.*?) -->$", re.M | re.S)
_FIGURES = re.compile(r"^<!-- figures: ([\w ]+) -->$", re.M)
_RANKS = re.compile(r"^<!-- ranks: ([\w-]+) (\w+) -->$", re.M)
_CELLS = re.compile(
    r"^<!-- (cells|curves|averages|grid): ([\w-]+)(?: (\w+))? \| ([^|\n]+) \| ([^|\n]+) -->$", re.M
)
#: A link to a script of the gallery, from wherever the page is.
_EXAMPLE = re.compile(r"\]\((?:\.\./)+examples/gallery/(\w+)\.py\)")
_STORED = Path(__file__).parents[1] / "reproduction"


def figures(classes: list[str]) -> str:
    """A table of stored figures; nothing for a method that has not been measured yet."""
    rows = bench.read(bench.QUALITY)
    names = bench.compared(rows)
    cases = bench.whole_cases(rows, names)
    ranks = bench.average_ranks(rows, cases, names)
    means = bench.shared_means(rows, cases, [*names, *bench.BASES])
    found = [name for name in classes if name in ranks]
    if not found:
        return ""
    lines = [
        f"At defaults, over {len(cases)} cases and {len(names)} methods (how: [which "
        f"method](/research/which-method.md#quality)):",
        "",
        "| | average rank | NMI | ARI | ACC |",
        "|---|---|---|---|---|",
        *(f"| `{name}` | {ranks[name]:.1f} | {' | '.join(means[name])} |" for name in found),
        *(f"| {base} | | {' | '.join(means[base])} |" for base in bench.BASES),
    ]
    return "\n".join(lines)


def ranks(protocol: str, measure: str) -> str:
    """A table of stored averages and ranks, methods in the order of their mean rank.

    A method that could not be run on all sets of a group has no average there.
    """

    def stored(table: str) -> list[dict[str, str]]:
        with open(_STORED / f"{table}.csv", encoding="utf-8", newline="") as handle:
            rows = csv.DictReader(handle)
            return [
                row
                for row in rows
                if (row["protocol"], row["measure"], row["column"]) == (protocol, measure, "default")
            ]

    cells = {(row["group"], row["method"]): row for row in stored("comparisons")}
    groups, methods = ([*dict.fromkeys(names)] for names in zip(*cells, strict=True))
    methods.sort(key=lambda method: sum(float(cells[group, method]["rank"]) for group in groups))
    apart = {row["group"]: float(row["critical_difference"]) for row in stored("tests")}

    def cell(row: dict[str, str]) -> str:
        average = f"{float(row['average']):.3f}" if row["average"] else "-"
        return f"{average}, rank {float(row['rank']):.2f}"

    sets = {group: cells[group, methods[0]]["sets"] for group in groups}
    lines = [
        f"| {measure}, average rank | {' | '.join(f'{group} ({sets[group]} sets)' for group in groups)} |",
        "|---" * (len(groups) + 1) + "|",
        *(
            f"| {method} | {' | '.join(cell(cells[group, method]) for group in groups)} |"
            for method in methods
        ),
        f"| ranks told apart at 5%, from | {' | '.join(f'{apart[group]:.2f}' for group in groups)} |",
    ]
    return "\n".join(lines)


Row = dict[str, str]


def _stored_cells(
    protocol: str, column: str, measures: list[str], methods: list[str]
) -> dict[tuple[str, str], dict[str, dict[str, Row]]]:
    """(set, what is varied) -> method -> measure -> row of the table."""
    found: dict[tuple[str, str], dict[str, dict[str, Row]]] = {}
    with open(_STORED / "figures.csv", encoding="utf-8", newline="") as handle:
        for row in csv.DictReader(handle):
            if (
                row["protocol"] == protocol
                and row["column"] == column
                and row["measure"] in measures
                and row["method"] in methods
            ):
                place = found.setdefault((row["set"], row["vary"]), {})
                place.setdefault(row["method"], {})[row["measure"]] = row
    return found


def _shown(rows: dict[str, Row], measures: list[str], figure: str) -> str:
    """The measures of one method side by side; nothing where it was not run."""
    values = [rows.get(measure, {}).get(figure, "") for measure in measures]
    if not any(values):
        return ""
    large = any(abs(float(value)) > 1 for value in values if value)
    return " / ".join(f"{float(value):.{1 if large else 3}f}" if value else "-" for value in values)


def cells(protocol: str, column: str, measures: list[str], methods: list[str]) -> str:
    """Means beside the printed ones, each with its number of ensembles where these numbers differ."""
    found = _stored_cells(protocol, column, measures, methods)
    every = [rows[method] for rows in found.values() for method in methods if method in rows]
    counts = {row["runs"] for rows in every for row in rows.values() if row["runs"]}
    printed = {
        method for rows in found.values() for method in rows if _shown(rows[method], measures, "printed")
    }

    def ours(rows: dict[str, Row]) -> str:
        mean = _shown(rows, measures, "mean")
        runs = next((row["runs"] for row in rows.values()), "")
        return f"{mean} ({runs})" if mean and len(counts) > 1 else mean

    heads, lines = [], []
    for method in methods:
        heads += [method, f"{method}, printed"] if method in printed else [method]
    for (name, _), rows in found.items():
        line = []
        for method in methods:
            line.append(ours(rows.get(method, {})))
            line += [_shown(rows.get(method, {}), measures, "printed")] if method in printed else []
        lines.append(f"| {name} | {' | '.join(line)} |")
    first = " / ".join(measures) + (
        f", {counts.pop()} runs" if len(counts) == 1 and column != "printed" else ""
    )
    return "\n".join([f"| {first} | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|", *lines])


def curves(protocol: str, column: str, measures: list[str], methods: list[str]) -> str:
    """Means along what is varied, with the number of ensembles."""
    found = _stored_cells(protocol, column, measures, methods)
    values = list(dict.fromkeys(value for _, value in found))
    lines = []
    for name in dict.fromkeys(name for name, _ in found):
        for method in methods:
            rows = [found.get((name, value), {}).get(method, {}) for value in values]
            runs = {row["runs"] for cell in rows for row in cell.values()}
            if runs:
                means = " | ".join(_shown(cell, measures, "mean") for cell in rows)
                lines.append(f"| {name}, {method} ({' to '.join(sorted(runs, key=int))}) | {means} |")
    return "\n".join(
        [f"| {' / '.join(measures)} | {' | '.join(values)} |", "|---" * (len(values) + 1) + "|", *lines]
    )


def averages(protocol: str, column: str, measures: list[str], methods: list[str]) -> str:
    """Means along what is varied, averaged over the sets, which all have every value."""
    found = _stored_cells(protocol, column, measures, methods)
    values = list(dict.fromkeys(value for _, value in found))
    sets = list(dict.fromkeys(name for name, _ in found))

    def mean(method: str, value: str) -> Row:
        rows = [found[name, value][method] for name in sets]
        return {m: str(sum(float(row[m]["mean"]) for row in rows) / len(rows)) for m in measures}

    lines = []
    for method in methods:
        means = (mean(method, value) for value in values)
        shown = (_shown({m: {"mean": v} for m, v in held.items()}, measures, "mean") for held in means)
        lines.append(f"| {method} | {' | '.join(shown)} |")
    head = f"{' / '.join(measures)}, average over {len(sets)} sets"
    return "\n".join([f"| {head} | {' | '.join(values)} |", "|---" * (len(values) + 1) + "|", *lines])


def grid(protocol: str, column: str, measures: list[str], methods: list[str]) -> str:
    """Means over the ensembles of every setting of each method's grid."""
    with open(_STORED / "curves.csv", encoding="utf-8", newline="") as handle:
        rows = [row for row in csv.DictReader(handle) if row["protocol"] == protocol]
    tables = (_grid_of([row for row in rows if row["method"] == method], measures) for method in methods)
    return "\n\n".join(tables)


def _grid_of(rows: list[Row], measures: list[str]) -> str:
    """A row for each value of the first parameter and a column for each of the second, if there is one.

    The best by the first measure is bold.
    """
    means: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        place = row["value"], row["line"] if "=" in row["line"] else "mean"
        means.setdefault(place, {})[row["measure"]] = row["mean"]
    down, across = (list(dict.fromkeys(names)) for names in zip(*means, strict=True))
    best = max(means, key=lambda place: float(means[place][measures[0]]))

    def shown(place: tuple[str, str]) -> str:
        text = _shown({name: {"mean": mean} for name, mean in means[place].items()}, measures, "mean")
        return f"**{text}**" if place == best else text

    lines = [f"| {value} | {' | '.join(shown((value, at)) for at in across)} |" for value in down]
    head = f"{rows[0]['method']}, {' / '.join(measures)} by {rows[0]['parameter']}"
    return "\n".join([f"| {head} | {' | '.join(across)} |", "|---" * (len(across) + 1) + "|", *lines])


def _cells_or_curves(match: re.Match[str]) -> str:
    kind, protocol, column, *lists = match.groups()
    measures, methods = map(names_in, lists)
    make = {"cells": cells, "curves": curves, "averages": averages, "grid": grid}[kind]
    return make(protocol, column or "default", measures, methods)


def figure(name: str, words: str, up: str) -> str:
    """Two images, of which the theme shows one; the words are read out once, and stand below."""
    return f"""
```{{image}} {up}{FOLDER}/{name}-light.svg
:class: only-light drawing
:alt: {words}
```
```{{image}} {up}{FOLDER}/{name}-dark.svg
:class: only-dark drawing
:alt: {words}
```
<p class="caption">{words}</p>
"""


def insert(app: Any, name: str, source: list[str]) -> None:
    up = "../" * name.count("/")

    def replace(match: re.Match[str]) -> str:
        if not app.config.consilience_pictures:
            return ""
        return figure(match[1], " ".join(match[2].split()), up)

    source[0] = _PICTURE.sub(replace, source[0])
    source[0] = _FIGURES.sub(lambda match: figures(match[1].split()), source[0])
    source[0] = _CELLS.sub(_cells_or_curves, source[0])
    source[0] = _RANKS.sub(lambda match: ranks(match[1], match[2]), source[0])
    source[0] = _EXAMPLE.sub(r"](/gallery/\1.rst)", source[0])


def draw(app: Any) -> None:
    if app.config.consilience_pictures:
        from .pictures import draw_all

        draw_all(Path(app.srcdir) / FOLDER)


def named(folder: Path) -> set[str]:
    """Pictures that the pages ask for."""
    texts = (page.read_text("utf-8") for page in folder.rglob("*.md"))
    return {match[1] for text in texts for match in _PICTURE.finditer(text)}


def setup(app: Any) -> dict[str, bool]:
    app.add_config_value("consilience_pictures", True, "env", (bool, str, int))
    app.connect("builder-inited", draw)
    app.connect("source-read", insert)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
