"""What a method costs, from the stored measurements: its curve among all others."""

from __future__ import annotations

from functools import partial

import matplotlib.pyplot as plt

from benchmarks import bench_which_method as bench

from .style import COLOURS, Draw, Theme


def curves(of: list[str]) -> Draw:
    grown = bench.growth_by_method(bench.read(bench.GROWTH))
    wanted = {name: cells for name, cells in grown.items() if name in of}

    def line(cells: dict, key: str) -> tuple[list[int], list[float]]:
        done = sorted(n for n, cell in cells.items() if cell["seconds"])
        scale = 1e6 if key == "bytes" else 1.0
        return done, [max(float(cells[n][key]) / scale, 1e-3) for n in done]

    def draw(theme: Theme) -> plt.Figure:
        figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.7), layout="constrained")
        for place, key, words in zip(axes, ("seconds", "bytes"), ("processor seconds", "MB on top")):
            for cells in grown.values():
                place.loglog(*line(cells, key), color=theme.faint, linewidth=0.9, zorder=1)
            for colour, (name, cells) in zip(COLOURS, wanted.items()):
                place.loglog(
                    *line(cells, key), "o-", color=colour, linewidth=2, markersize=4, label=name, zorder=2
                )
            place.minorticks_off()
            place.set_xlabel("distinct objects")
            place.set_ylabel(words)
        axes[0].legend(frameon=False, fontsize=8, loc="upper left")
        return figure

    return draw


def measured() -> set[str]:
    return set(bench.growth_by_method(bench.read(bench.GROWTH)))


def of_page(classes: list[str]):
    """The picture of a page's classes, or None where none of them was measured."""
    found = [name for name in classes if name in measured()]
    return partial(curves, found) if found else None


def quality_against_speed(n: int = 10_000) -> Draw:
    """Average rank over all sets against seconds; methods on the front, and the oldest, by name."""
    rows = bench.read(bench.QUALITY)
    names = bench.compared(rows)
    ranks = bench.average_ranks(rows, bench.whole_cases(rows, names), names)
    grown = bench.growth_by_method(bench.read(bench.GROWTH))
    cells = {name: grown.get(name, {}).get(n) for name in ranks}
    found = {
        name: (float(cell["seconds"]), ranks[name])
        for name, cell in cells.items()
        if cell and cell["seconds"]
    }
    front = {
        a
        for a, (seconds, rank) in found.items()
        if not any(s < seconds and r < rank for s, r in found.values())
    }

    def draw(theme: Theme) -> plt.Figure:
        figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
        for name, (seconds, rank) in found.items():
            axes.scatter(seconds, rank, s=40, color=COLOURS[0] if name in front else theme.faint, zorder=2)
            axes.annotate(name, (seconds, rank), (5, 3), textcoords="offset points", fontsize=8 if name in front else 6.5,
                          color=theme.ink if name in front else theme.dim)  # fmt: skip
        axes.set_xscale("log")
        axes.invert_yaxis()
        axes.set_xlabel(f"processor seconds for {n:,} distinct objects")
        axes.set_ylabel(f"average rank of {len(names)}\n(better is up)")
        return figure

    return draw
