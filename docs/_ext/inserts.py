"""What the build puts where a page says so in a comment, which readers of the file do not see.

``<!-- picture: NAME | what it shows -->`` becomes a figure in a light and a dark version, drawn by ``_ext.pictures``;
``<!-- figures: CLASS ... -->`` the stored measurements of these methods' quality;
``<!-- ranks: PROTOCOL MEASURE -->`` the stored averages and ranks of a protocol's methods, a column a group of sets;
``<!-- first-use -->`` what each method, generator and measure compiles at its first use, and how long that took.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

from benchmarks import bench_which_method as bench
from consilience.first_use import needed, stored_uses

FOLDER = "_pictures"
_PICTURE = re.compile(r"^<!-- picture: ([\w-]+) \| (.*?) -->$", re.M | re.S)
_FIGURES = re.compile(r"^<!-- figures: ([\w ]+) -->$", re.M)
_RANKS = re.compile(r"^<!-- ranks: ([\w-]+) (\w+) -->$", re.M)
_FIRST_USE = re.compile(r"^<!-- first-use -->$", re.M)
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
        f"At defaults, over {len(cases)} cases and {len(names)} methods (how: [which method](/which-method.md#quality-in-full)):",
        "",
        "| | average rank | NMI | ARI | ACC |",
        "|---|---|---|---|---|",
        *(f"| `{name}` | {ranks[name]:.1f} | {' | '.join(means[name])} |" for name in found),
        *(f"| {base} | | {' | '.join(means[base])} |" for base in bench.BASES),
    ]
    return "\n".join(lines)


def ranks(protocol: str, measure: str) -> str:
    """A table of stored averages and ranks, methods in the order of their mean rank; a method that could not be run on all sets of
    a group has no average there."""

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


def first_uses() -> str:
    """A table of what is compiled at first use, from the package's own list."""
    names = stored_uses()
    lines = [
        "| | kernels | CPU seconds of compiling |",
        "|---|---|---|",
        *(
            f"| `{name}` | {len(found)} | {sum(kernel.seconds for kernel in found):.1f} |"
            for name, found in ((name, needed([name])) for name in names)
        ),
    ]
    everything = needed(names)
    lines.append(f"| all of them | {len(everything)} | {sum(kernel.seconds for kernel in everything):.1f} |")
    return "\n".join(lines)


def figure(name: str, words: str, up: str) -> str:
    """Two images, of which the theme shows the one that suits; the words are read out once, and stand below."""
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
    source[0] = _FIRST_USE.sub(lambda _: first_uses(), source[0])
    source[0] = _RANKS.sub(lambda match: ranks(match[1], match[2]), source[0])


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
