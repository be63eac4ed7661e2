"""Which method, as a chart: questions from the top down, and methods in the order of their measured ranks."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

from benchmarks import bench_which_method as bench
from consilience.consensus import methods

from .style import COLORS, Draw, Theme


def ranked(passes: Callable[[str], bool], most: int = 3) -> str:
    """The best of those that pass, by average rank over all sets."""
    rows = bench.read(bench.QUALITY)
    names = bench.compared(rows)
    order = bench.average_ranks(rows, bench.whole_cases(rows, names), names)
    return ", ".join([name for name in order if passes(name)][:most])


def questions() -> list[tuple[str, str]]:
    """What is asked, and what a yes leads to."""
    known = bench.tells()
    grown = bench.growth_by_method(bench.read(bench.GROWTH))
    classes = {cls.__name__: cls for cls in methods().values()}

    def within(name: str) -> bool:
        cell = grown.get(name, {}).get(100_000)
        return cell is not None and bool(cell["seconds"]) and float(cell["seconds"]) <= 5

    return [
        ("You have features, not clusterings?", "ConsensusClustering"),
        ("Features of several related tasks?", "SPMTC"),
        ("Memberships instead of labels?", ranked(lambda name: getattr(classes[name], "_takes_soft", False))),
        ("Missing labels to be filled in?", ranked(lambda name: hasattr(classes[name], "filled_labels"))),
        ("Objects that belong nowhere?", ranked(lambda name: "outlier_score_" in known[name])),
        ("Memberships as the answer?", ranked(lambda name: "membership_" in known[name])),
        ("How reliable is each base clustering?", ranked(lambda name: "clustering_weights_" in known[name])),
        ("No random numbers?", ranked(bench.is_deterministic)),
        ("100,000 distinct objects in 5 s?", ranked(within)),
        ("None of these?", ranked(lambda name: True)),
    ]


def chart() -> Draw:
    asked = questions()

    def draw(theme: Theme) -> plt.Figure:
        figure, axes = plt.subplots(figsize=(7.4, 0.62 * len(asked)), layout="constrained")
        axes.set(xlim=(0, 10), ylim=(-len(asked) + 0.4, 0.6))
        axes.axis("off")
        for row, (question, answer) in enumerate(asked):
            box(axes, 0.05, -row, 4.5, question, edge=theme.ink, theme=theme)
            box(axes, 5.4, -row, 4.55, answer, edge=COLORS[0], theme=theme, bold=True)
            arrow(axes, (4.55, -row), (5.4, -row), theme)
            if row < len(asked) - 1:
                arrow(axes, (2.3, -row - 0.3), (2.3, -row - 0.7), theme)
        axes.text(4.97, 0.12, "yes", ha="center", fontsize=8)
        axes.text(2.38, -0.5, "no", va="center", fontsize=8)
        return figure

    return draw


def box(
    axes: plt.Axes,
    left: float,
    middle: float,
    width: float,
    words: str,
    *,
    edge: str,
    theme: Theme,
    bold: bool = False,
) -> None:
    axes.add_patch(
        FancyBboxPatch(
            (left, middle - 0.3),
            width,
            0.6,
            boxstyle="round,pad=0,rounding_size=0.12",
            facecolor="none",
            edgecolor=edge,
            linewidth=1.2,
        )
    )
    axes.text(
        left + width / 2,
        middle,
        words,
        ha="center",
        va="center",
        weight="bold" if bold else "normal",
        fontsize=9,
    )


def arrow(axes: plt.Axes, start: tuple[float, float], end: tuple[float, float], theme: Theme) -> None:
    axes.annotate(
        "",
        end,
        start,
        arrowprops={"arrowstyle": "-|>", "color": theme.ink, "linewidth": 1, "shrinkA": 0, "shrinkB": 0},
    )
