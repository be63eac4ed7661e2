"""What a method costs, from the stored measurements: its curve among all others."""

from __future__ import annotations

from functools import partial

import matplotlib.pyplot as plt
from matplotlib.transforms import Bbox

from benchmarks import bench_which_method as bench

from .style import COLORS, Draw, Theme


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
            for color, (name, cells) in zip(COLORS, wanted.items()):
                place.loglog(
                    *line(cells, key), "o-", color=color, linewidth=2, markersize=4, label=name, zorder=2
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


def seconds_and_ranks(n: int = 10_000) -> dict[str, tuple[float, float]]:
    """For each method: CPU seconds for n distinct objects, and the average rank over all sets, as stored."""
    rows = bench.read(bench.QUALITY)
    names = bench.compared(rows)
    ranks = bench.average_ranks(rows, bench.whole_cases(rows, names), names)
    grown = bench.growth_by_method(bench.read(bench.GROWTH))
    cells = {name: grown.get(name, {}).get(n) for name in ranks}
    return {
        name: (float(cell["seconds"]), round(ranks[name], 2))
        for name, cell in cells.items()
        if cell and cell["seconds"]
    }


def quality_against_speed() -> Draw:
    """Average rank over all sets against seconds; methods that none beats in both are colored."""
    found = seconds_and_ranks()
    front = {
        a
        for a, (seconds, rank) in found.items()
        if not any(s < seconds and r < rank for s, r in found.values())
    }
    ranked = len(bench.compared(bench.read(bench.QUALITY)))

    def draw(theme: Theme) -> plt.Figure:
        figure, axes = plt.subplots(figsize=(7.6, 4.6), layout="constrained")
        for name, (seconds, rank) in found.items():
            axes.scatter(seconds, rank, s=34, color=COLORS[0] if name in front else theme.dim,
                         zorder=3 if name in front else 2)  # fmt: skip
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter("{x:g}")
        axes.margins(x=0.12)
        axes.invert_yaxis()
        axes.set_xlabel("processor seconds for 10,000 distinct objects")
        axes.set_ylabel(f"average rank of {ranked} methods (better is up)")
        name_points(axes, {name: found[name] for name in sorted(found, key=lambda name: name not in front)},
                    bold=front, theme=theme)  # fmt: skip
        return figure

    return draw


#: Where a name may stand about its point: places in points and the side at which the text begins.
PLACES = tuple(
    (x * away, y * away, {1: "left", -1: "right", 0: "center"}[x])
    for away in (1, 2, 3)
    for x, y in ((1, 0), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1), (0, 1), (0, -1))
)


def name_points(
    axes: plt.Axes, places: dict[str, tuple[float, float]], *, bold: set[str], theme: Theme
) -> None:
    """Each name beside its point, where it covers neither a point nor a name that stands already."""
    axes.figure.draw_without_rendering()
    dots = [Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in axes.transData.transform(list(places.values()))]
    taken: list[Bbox] = []
    for name, place in places.items():
        tries = []
        for x, y, side in PLACES:
            text = axes.annotate(
                name,
                place,
                (6 * x, 7 * y),
                textcoords="offset points",
                ha=side,
                va="center",
                fontsize=8,
                weight="bold" if name in bold else "normal",
                color=theme.ink,
            )
            box = text.get_window_extent()
            covered = box.count_overlaps([*taken, *dots]) + (not axes.bbox.contains(box.x1, box.y0))
            tries.append((covered, len(tries), text, box))
        best = min(tries, key=lambda one: one[:2])
        taken.append(best[3])
        for one in tries:
            if one is not best:
                one[2].remove()
