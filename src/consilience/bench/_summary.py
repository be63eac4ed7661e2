"""From records to figures: means, deviations, tests and ranks, with default and tuned kept apart throughout."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ._analysis import Friedman, average_ranks, friedman, mean_and_std, paired_t_test, rsec_score
from ._protocol import Measure, Method, Protocol, digest, setting_name
from ._store import Records

#: Never mixed: no truth used; the best of a grid by the truth; the figures as printed.
COLUMNS = ("default", "tuned")
WORDS = {"default": "default", "tuned": "tuned by the truth", "printed": "printed"}


@dataclass
class Figure:
    """One method on one row by one measure: our mean and deviation, the printed one, the difference."""

    row: str
    method: str
    column: str
    values: dict[int, float]
    spread: list[float] | None = None
    printed: tuple | None = None
    p_value: float | None = None  # against the best method of the row and column
    note: str = ""
    digits: int = 4  # that were printed

    @property
    def mean(self) -> float:
        return mean_and_std(np.array(self.spread or list(self.values.values())))[0]

    @property
    def std(self) -> float | None:
        return mean_and_std(np.array(self.spread or list(self.values.values())))[1]

    @property
    def difference(self) -> float | None:
        return None if self.printed is None else self.mean - self.printed[0]

    @property
    def reached(self) -> bool | None:
        """Within one printed standard deviation of the printed figure, or better; None where none is printed."""
        if self.printed is None:
            return None
        rounding = 0.5001 * 10.0**-self.digits
        return self.mean >= self.printed[0] - (self.printed[1] or 0.0) - rounding

    @property
    def among_best(self) -> bool:
        return self.p_value is None or self.p_value >= 0.05


@dataclass
class Comparison:
    """All methods over all rows by one measure, in one column ("default", "tuned" or "printed")."""

    measure: str
    column: str
    rows: list[str]
    methods: list[str]
    table: np.ndarray
    averages: np.ndarray
    ranks: np.ndarray
    scores: np.ndarray
    test: Friedman | None


@dataclass
class Curve:
    """Mean scores over the values of a parameter, one line per method or second parameter."""

    title: str
    x_label: str
    x: list[Any]
    lines: dict[str, list[float | None]]
    measure: str


@dataclass
class Cost:
    """What a method took per cell."""

    method: str
    column: str
    cells: int
    seconds: float
    longest: float
    cpu_seconds: float
    peak_bytes: int | None


@dataclass
class Summary:
    """Everything a report says about one protocol."""

    protocol: Protocol
    rows: list[str]
    figures: dict[str, list[Figure]]
    comparisons: list[Comparison]
    curves: list[Curve]
    costs: list[Cost]
    failures: list[dict] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    notes: dict[str, list[str]] = field(default_factory=dict)
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    runs: list[dict] = field(default_factory=list)
    warnings: dict[str, int] = field(default_factory=dict)

    def reached(self, measure: str, column: str) -> tuple[int, int]:
        """(figures within one printed deviation or better, figures with a printed one)."""
        held = [f.reached for f in self.figures[measure] if f.column == column and f.reached is not None]
        return sum(held), len(held)


def summarise(protocol: Protocol, records: Records) -> Summary:
    """The figures of one protocol from the records of a store."""
    cells = _current(protocol, records)
    runs = [record for record in records.of("run") if record["protocol"] == protocol.name]
    summary = Summary(protocol, [], {}, [], [], [], runs=runs)
    for record in runs:
        summary.notes.update(record.get("notes", {}))
        summary.shapes.update({name: tuple(shape) for name, shape in record.get("shapes", {}).items()})
    if runs:
        summary.skipped = [(what, why) for what, why in runs[-1].get("skipped", [])]
    good = [record for record in cells if "error" not in record]
    summary.failures = [record for record in cells if "error" in record]
    for record in good:
        for text in record.get("warnings", []):
            key = f"{record['method']}: {text.split(':')[0]}"
            summary.warnings[key] = summary.warnings.get(key, 0) + 1
    row_sets = _rows(protocol, good)
    summary.rows = list(row_sets)
    for measure in protocol.measures:
        summary.figures[measure.name] = _figures(protocol, measure, good, row_sets)
        if not protocol.variations:
            summary.comparisons += _comparisons(protocol, measure, summary, row_sets)
        summary.curves += _grid_curves(protocol, measure, good)
        summary.curves += _variation_curves(protocol, measure, summary)
    summary.costs = _costs(protocol, good)
    return summary


def _current(protocol: Protocol, records: Records) -> list[dict]:
    """The last record of every cell that the protocol, as it is now, contains; one version of each data set."""
    last: dict[str, dict] = {}
    newest_data: dict[str, str] = {}
    newest_digest: dict[tuple, str] = {}
    sets = {item.name for item in protocol.sets}
    wanted = {method.name: _wanted(method) for method in protocol.methods}
    for record in records.of("cell"):
        method = record["method"]
        if record["protocol"] != protocol.name or record["set"] not in sets or method not in wanted:
            continue
        if (record["column"], digest(record["params"])) not in wanted[method]:
            continue
        last[record["name"]] = record
        newest_data[record["set"]] = record["data_sha"]
        newest_digest[_group(record)] = record["digest"]
    return [
        record
        for record in last.values()
        if record["data_sha"] == newest_data[record["set"]]
        and record["digest"] == newest_digest[_group(record)]
    ]


def _group(record: dict) -> tuple:
    """A cell but for its repetition: an edited protocol replaces all repetitions, not some."""
    return tuple(record[key] for key in ("set", "variation", "method", "column", "setting"))


def _wanted(method: Method) -> set[tuple[str, str]]:
    """(column, fingerprint of the parameters) of each setting the protocol has for a method."""
    out = {("default", digest(dict(method.params)))} if method.default else set()
    if method.tuned is not None:
        out |= {("tuned", digest(point)) for point in method.tuned.points()}
    return out


def _row(record: dict, part: str) -> str:
    name = f"{record['set']} {part}" if part else record["set"]
    return name if record["variation"] is None else f"{name} @ {record['variation']}"


def _rows(protocol: Protocol, cells: list[dict]) -> dict[str, str]:
    """Row -> set, in the protocol's order of sets, tasks and variations."""
    found: dict[str, tuple] = {}
    sets = [item.name for item in protocol.sets]
    labels = [None, *(variation.label for variation in protocol.variations)]
    for record in cells:
        for part in record["scores"]:
            key = (sets.index(record["set"]), part, labels.index(record["variation"]))
            found[_row(record, part)] = key
    return {row: sets[found[row][0]] for row in sorted(found, key=lambda row: found[row])}


def _figures(
    protocol: Protocol, measure: Measure, cells: list[dict], row_sets: dict[str, str]
) -> list[Figure]:
    """Every mean of one measure: rows in the protocol's order, then methods, default before tuned."""
    # row -> method -> column -> setting -> repetition -> value
    held: dict = defaultdict(lambda: defaultdict(lambda: defaultdict(lambda: defaultdict(dict))))
    spread: dict[tuple[str, str], list[float]] = defaultdict(list)
    printed_rows: dict[str, str] = {}
    aliases = {item.name: item.printed_as or item.name for item in protocol.sets}
    for record in cells:
        for part, scores in record["scores"].items():
            value = scores.get(measure.key)
            if value is None:
                continue
            row = _row(record, part)
            printed_rows[row] = _row({**record, "set": aliases[record["set"]]}, part)
            held[row][record["method"]][record["column"]][record["setting"]][record["repetition"]] = (
                value * measure.scale
            )
            if "each" in record:
                each = record["each"][part][measure.key]
                spread[row, record["method"]] += [v * measure.scale for v in each if v is not None]
    out = []
    for row in row_sets:
        for method in protocol.methods:
            for column in COLUMNS:
                settings = held[row][method.name][column]
                if not settings:
                    continue
                values, note = (settings["default"], "") if column == "default" else _best(method, settings)
                printed = protocol.printed_value(measure.name, method.name, printed_rows[row])
                figure = Figure(
                    row,
                    method.name,
                    column,
                    values,
                    spread.get((row, method.name)),
                    printed,
                    note=note,
                    digits=measure.digits,
                )
                out.append(figure)
    _test_against_best(protocol, out)
    return out


def _best(method: Method, settings: dict[str, dict[int, float]]) -> tuple[dict[int, float], str]:
    """The best of the grid by the truth: per ensemble, or one setting for the set."""
    assert method.tuned is not None
    planned = sum(1 for _ in method.tuned.points())
    note = "" if len(settings) == planned else f"{len(settings)} of {planned} settings of the grid"
    if method.tuned.choice == "set":
        name = max(settings, key=lambda s: (np.mean(list(settings[s].values())), s))
        return settings[name], "; ".join(filter(None, [name, note]))
    repetitions = sorted({r for values in settings.values() for r in values})
    return {r: max(values[r] for values in settings.values() if r in values) for r in repetitions}, note


def _test_against_best(protocol: Protocol, figures: list[Figure]) -> None:
    """Paired t-test of each method against the best of its row and column; base clusterings are not methods."""
    base = {method.name for method in protocol.methods if method.is_base}
    groups: dict[tuple[str, str], list[Figure]] = defaultdict(list)
    for figure in figures:
        if figure.method not in base:
            groups[figure.row, figure.column].append(figure)
    for group in groups.values():
        best = max(group, key=lambda figure: figure.mean)
        for figure in group:
            shared = sorted(set(figure.values) & set(best.values))
            figure.p_value = paired_t_test(
                np.array([best.values[r] for r in shared]), np.array([figure.values[r] for r in shared])
            )
            if figure is best:
                figure.p_value = 1.0


def _comparisons(
    protocol: Protocol, measure: Measure, summary: Summary, row_sets: dict[str, str]
) -> Iterator[Comparison]:
    base = {method.name for method in protocol.methods if method.is_base}
    copies = {item.name for item in protocol.sets if item.printed_as}  # a set must not count twice
    for column in COLUMNS:
        figures = {
            (f.row, f.method): f.mean
            for f in summary.figures[measure.name]
            if f.column == column and f.method not in base
        }
        methods = [m.name for m in protocol.methods if any(key[1] == m.name for key in figures)]
        failed = {(r["set"], r["method"]) for r in summary.failures if r["column"] == column}
        rows = [
            row
            for row in summary.rows
            if row_sets[row] not in copies
            and any((row, m) in figures for m in methods)
            and all((row, m) in figures or (row_sets[row], m) in failed for m in methods)
        ]
        yield from _comparison(measure.name, column, rows, methods, figures)
    printed = protocol.printed.get(measure.name, {})
    methods = [name for name in printed if name not in base]
    figures = {(row, name): printed[name][row][0] for name in methods for row in printed[name]}
    rows = list(dict.fromkeys(row for name in methods for row in printed[name]))
    yield from _comparison(measure.name, "printed", rows, methods, figures)


def _comparison(measure, column, rows, methods, figures) -> Iterator[Comparison]:
    if len(rows) < 1 or len(methods) < 2:
        return
    table = np.array([[figures.get((row, name), np.nan) for name in methods] for row in rows])
    whole = ~np.isnan(table)
    averages = np.array([table[:, j].mean() if whole[:, j].all() else np.nan for j in range(len(methods))])
    yield Comparison(
        measure,
        column,
        rows,
        methods,
        table,
        averages,
        average_ranks(table),
        rsec_score(table),
        friedman(table),
    )


def _grid_curves(protocol: Protocol, measure: Measure, cells: list[dict]) -> Iterator[Curve]:
    """Scores over the first parameter of each grid, one line per value of the others; mean over repetitions."""
    for method in protocol.methods:
        if method.tuned is None:
            continue
        x_name, *others = method.tuned.grid
        values: dict = defaultdict(lambda: defaultdict(list))
        for record in cells:
            if record["method"] != method.name or record["column"] != "tuned":
                continue
            line = setting_name({name: record["params"][name] for name in others}) if others else method.name
            for part, scores in record["scores"].items():
                if scores.get(measure.key) is not None:
                    point = str(record["params"][x_name])
                    values[_row(record, part)][line, point].append(scores[measure.key] * measure.scale)
        x = list(method.tuned.grid[x_name])
        for row, points in values.items():
            names = list(dict.fromkeys(line for line, _ in points))
            lines = {n: [_mean(points.get((n, str(v)))) for v in x] for n in names}
            yield Curve(f"{method.name} on {row}", x_name, x, lines, measure.name)


def _variation_curves(protocol: Protocol, measure: Measure, summary: Summary) -> Iterator[Curve]:
    if not protocol.variations:
        return
    x = [variation.value for variation in protocol.variations]
    stems = list(dict.fromkeys(row.rsplit(" @ ", 1)[0] for row in summary.rows))
    for column in COLUMNS:
        means = {(f.row, f.method): f.mean for f in summary.figures[measure.name] if f.column == column}
        for stem in stems:
            lines = {}
            for method in protocol.methods:
                line = [means.get((f"{stem} @ {v.label}", method.name)) for v in protocol.variations]
                if any(value is not None for value in line):
                    lines[method.name] = line
            if lines:
                yield Curve(f"{stem} ({WORDS[column]})", protocol.vary, x, lines, measure.name)


def _mean(values: list[float] | None) -> float | None:
    return float(np.mean(values)) if values else None


def _costs(protocol: Protocol, cells: list[dict]) -> list[Cost]:
    groups: dict[tuple[str, str], list[dict]] = defaultdict(list)
    for record in cells:
        if "seconds" in record:
            groups[record["method"], record["column"]].append(record)
    out = []
    for method in protocol.methods:
        for column in COLUMNS:
            group = groups.get((method.name, column))
            if not group:
                continue
            peaks = [r["peak_bytes"] for r in group if r.get("peak_bytes") is not None]
            out.append(
                Cost(
                    method.name,
                    column,
                    len(group),
                    float(np.mean([r["seconds"] for r in group])),
                    max(r["seconds"] for r in group),
                    float(np.mean([r["cpu_seconds"] for r in group])),
                    max(peaks) if peaks else None,
                )
            )
    return out
