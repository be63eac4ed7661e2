"""Average ranks with critical differences, and curves over a parameter, as SVG files beside the tables."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd

from .analyze import WORDS
from .protocol import Protocol


def draw(protocols: list[Protocol], held: dict[str, pd.DataFrame], folder: Path) -> list[Path]:
    """Every picture of these protocols; returns the files."""
    matplotlib.use("svg")
    out = []
    for protocol in protocols:
        mine = {name: table[table.protocol == protocol.name] for name, table in held.items()}
        for at, lines in mine["comparisons"].groupby(["measure", "column", "group"], sort=False):
            measure, column, group = at
            test = mine["tests"].query("measure == @measure and column == @column and group == @group")
            if len(test):
                title = f"{protocol.name}: average ranks by {measure}, {WORDS[column]} {group}".strip()
                out.append(_save(draw_ranks(lines, test.critical_difference.iloc[0], title), folder, title))
        for title, x, lines in (*_over_grids(mine["curves"]), *_over_ensembles(protocol, mine["figures"])):
            title = f"{protocol.name}: {title}"
            out.append(_save(draw_curves(lines, x, title), folder, title))
    return out


def draw_ranks(lines: pd.DataFrame, difference: float, title: str) -> matplotlib.figure.Figure:
    """Mean ranks on a line; methods that a bar joins are not told apart (Nemenyi)."""
    from scikit_posthocs import critical_difference_diagram

    ranks = lines.set_index("method")["rank"]
    near = np.abs(np.subtract.outer(ranks.to_numpy(), ranks.to_numpy())) <= difference
    figure, ax = _figure(title, 1.2 + 0.2 * len(ranks))
    told_apart = pd.DataFrame(np.where(near, 1.0, 0.0), ranks.index, ranks.index)
    critical_difference_diagram(ranks, told_apart, ax=ax)
    ax.set_xlabel(f"critical difference {difference:.2f}")
    return figure


def draw_curves(lines: pd.DataFrame, x: list[str], title: str) -> matplotlib.figure.Figure:
    """Columns are lines, evenly spaced over the values: grids are often powers of ten."""
    figure, ax = _figure(title, 3.5)
    for name, line in lines.reindex(x).items():
        ax.plot(range(len(x)), line, marker="o", label=name)
    ax.set_xticks(range(len(x)), x)
    ax.set_xlabel(lines.index.name)
    ax.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    return figure


def _over_grids(curves: pd.DataFrame):
    for (measure, name, vary, method), part in curves.groupby(
        ["measure", "set", "vary", "method"], sort=False
    ):
        lines = part.pivot(index="value", columns="line", values="mean")
        lines.index.name = part.parameter.iloc[0]
        yield f"{measure} of {method} on {name} {vary}".strip(), list(dict.fromkeys(part.value)), lines


def _over_ensembles(protocol: Protocol, figures: pd.DataFrame):
    ours = figures[(figures.vary != "") & (figures.column != "printed")]
    for (measure, name, column), part in ours.groupby(["measure", "set", "column"], sort=False):
        lines = part.pivot(index="vary", columns="method", values="mean")
        lines.index.name = protocol.vary.label if protocol.vary else ""
        x = [variation.label for variation in protocol.variations]
        yield f"{measure} on {name}, {WORDS[column]}", x, lines


def _figure(title: str, height: float):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, height), layout="constrained")
    ax.set_title(title.replace("$", r"\$"), fontsize="medium")
    return figure, ax


def _save(figure: matplotlib.figure.Figure, folder: Path, title: str) -> Path:
    import matplotlib.pyplot as plt

    path = folder / "pictures" / (re.sub(r"[^A-Za-z0-9]+", "-", title).strip("-") + ".svg")
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path)
    plt.close(figure)
    return path
