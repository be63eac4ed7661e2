"""How time and memory of every consensus method grow with the number of distinct objects.

Writes docs/research/growth.md.

    python -m benchmarks growth                              measure what is not stored yet, then write the
                                                             page
    python -m benchmarks.bench_growth --page                 the page alone, from what is stored
    python -m benchmarks.bench_growth --methods KCC,LWGP --sizes 1000,1000000
    python -m benchmarks.bench_growth --methods "ECPCS, mc;PTGP" --again
                                                             names that hold commas; cells are measured again

Cells are those of bench_which_method (synthetic labels, all objects distinct, 20 clusterings, one thread, a
process for each cell, a limit of time and memory), stored in results/growth.csv; here also 1,000,000 objects,
where the method was done in time before. Exponents are of the last two sizes that were done: n^1 doubles with
the objects, n^2 grows to the fourfold.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable

from . import bench_which_method as cells
from ._measure import ROOT

PAGE = ROOT / "docs" / "research" / "growth.md"
SIZES = (*cells.SIZES, 1_000_000)
BARS = "▁▂▃▄▅▆▇█"
#: Seconds that the lowest and the highest bar stand for.
LOW, HIGH = 1e-3, float(cells.LIMIT)

Cells = dict[int, dict[str, str]]


def exponent(mine: Cells, figure: str) -> float | None:
    """Exponent of "seconds" or "bytes" in n, between the two largest sizes that were done."""
    done = sorted(n for n, cell in mine.items() if cell[figure])
    if len(done) < 2:
        return None
    first, last = done[-2:]
    ratio = float(mine[last][figure]) / max(float(mine[first][figure]), 1e-9)
    return math.log(ratio) / math.log(last / first)


def bars(mine: Cells) -> str:
    """Seconds of each size as bars on a logarithmic scale; a cross where it was not done."""
    drawn = []
    for n in SIZES:
        cell = mine.get(n)
        if cell is None:
            drawn.append("·")
        elif not cell["seconds"]:
            drawn.append("×")
        else:
            share = math.log(max(float(cell["seconds"]), LOW) / LOW) / math.log(HIGH / LOW)
            drawn.append(BARS[min(int(share * len(BARS)), len(BARS) - 1)])
    return "".join(drawn)


def lines(rows: list[dict[str, str]]) -> list[str]:
    grown = cells.growth_by_method(rows)
    heads = " | ".join(f"{n:,}" for n in SIZES)
    out = [
        f"| method | {heads} | time | memory | |",
        "|---" * (len(SIZES) + 4) + "|",
    ]
    for name in cells.measured_names():
        mine = grown.get(name)
        if mine is None:
            continue
        costs = " | ".join(cells.cost(mine.get(n)) for n in SIZES)
        powers = " | ".join(
            "" if (power := exponent(mine, figure)) is None else f"n^{power:.1f}"
            for figure in ("seconds", "bytes")
        )
        out.append(f"| `{name}` | {costs} | {powers} | {bars(mine)} |")
    return out


def text(rows: list[dict[str, str]]) -> str:
    """The whole page."""
    grown = cells.growth_by_method(rows)
    missing = [f"`{name}`" for name in cells.on_pages() if name not in grown]
    note = [f"Not measured yet: {', '.join(missing)}.", ""] if missing else []
    return "\n".join(
        [
            "# How cost grows with the number of objects",
            "",
            f"Every consensus method at its defaults on {cells.MEMBERS} clusterings of n objects, all of "
            f"them distinct, {cells.CLUSTERS} clusters",
            "asked for, on one thread: seconds of the processor, and peak memory above what the process "
            "held. Objects that all clusterings",
            "treat alike count once, so that real ensembles of n objects often cost what far fewer cost "
            "here.",
            "",
            f"A cell may take {cells.LIMIT} s and {cells.MEMORY / 1e9:.0f} GB; “–” was not run. The "
            f"exponents are measured, between the two largest sizes that were done.",
            f"Bars: seconds from {LOW * 1e3:.0f} ms to {HIGH:.0f} s on a logarithmic scale, one for each "
            f"size; × is over a limit.",
            "",
            *lines(rows),
            "",
            *note,
            f"Measured: {cells.origins(rows)}",
            "",
            "Made by `make growth` (`python -m benchmarks growth`) from `benchmarks/results/growth.csv`.",
            "",
        ]
    )


def write_page() -> None:
    PAGE.write_text(text(cells.read(cells.GROWTH)), encoding="utf-8")


def listed(text: str) -> list[str]:
    """Names with semicolons between them; one name alone, or else with commas."""
    if ";" in text or text.strip() in cells.measured_names():
        parts = text.split(";")
    else:
        parts = text.split(",")
    return [name for part in parts if (name := part.strip())]


def run(
    methods: Iterable[str] | None = None, sizes: Iterable[int] | None = None, *, again: bool = False
) -> list[dict]:
    """Measure what is missing, or all again, write the page, and return the stored cells."""
    cells.grow(methods, sizes or SIZES, again=again)
    write_page()
    return [dict(row) for row in cells.read(cells.GROWTH)]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--page", action="store_true", help="write the page from what is stored")
    parser.add_argument("--methods", help="names, with commas or semicolons between them")
    parser.add_argument("--sizes", help="numbers of objects, with commas between them")
    parser.add_argument("--again", action="store_true", help="measure stored cells of these again")
    options = parser.parse_args()
    if options.page:
        write_page()
        return
    run(
        listed(options.methods) if options.methods else None,
        [int(n) for n in options.sizes.split(",")] if options.sizes else None,
        again=options.again,
    )


if __name__ == "__main__":
    main()
