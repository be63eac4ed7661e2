"""Tables of measured figures: kept as JSON with commit, machine and load, and written into the pages.

    python -m benchmarks.stored                      what there is, and how old it is
    python -m benchmarks.stored spce kmeans-grid     measure these, keep them in results/measured/ and write
                                                     the pages
    python -m benchmarks.stored --pages              write the pages from what is kept

A page shows a table where it says ``<!-- measured: NAME | COLUMN, COLUMN as NAME, ... -->``, up to ``<!-- end
-->``; without columns it shows all of them (a comma within a name is written ``\\,``). Below it stands where
the figures come from. Nothing between the two marks is typed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from ._measure import ROOT, origin, table

KEPT = ROOT / "benchmarks" / "results" / "measured"
PAGES = (ROOT / "benchmarks" / "README.md", ROOT / "README.md", ROOT / "docs")
_MARK = re.compile(r"(<!-- measured: ([\w-]+)(?: \| ([^>]*?))? -->\n).*?(<!-- end -->)", re.S)


class Source(NamedTuple):
    """Which function of which benchmark makes the rows."""

    module: str
    call: str = "run"
    options: dict[str, Any] = {}

    def measure(self) -> list[dict[str, Any]]:
        function = getattr(importlib.import_module(f"benchmarks.bench_{self.module}"), self.call)
        return list(function(**self.options))


SOURCES = {
    "signatures": Source("signatures"),
    "metrics": Source("metrics", options={"n": 1_000_000}),
    "kmeans-mnist": Source("kmeans"),
    "kmeans-grid": Source("kmeans", "grid", {"threads": 1, "sizes": (100_000,)}),
    "kmeans-grid-large": Source(
        "kmeans", "grid", {"threads": 1, "sizes": (1_000_000,), "widths": (4, 16), "ks": (10, 40)}
    ),
    "kmeans-small": Source("kmeans", "small"),
    "threads": Source("threads", "summary", {"parts": ("methods", "measures")}),
    "threads-generators": Source("threads", "summary", {"parts": ("generators",)}),
    "memory": Source("memory"),
    "first-answer": Source("first_answer"),
    "first-use": Source("first_use", "by_list"),
    "first-use-clock": Source(
        "first_use", "with_and_without", {"names": ["ConsensusClustering", "MDEC", "SPCE"]}
    ),
    "default": Source("default"),
    "stability": Source("stability", "kept"),
    "baselines-plain": Source("baselines", options={"wanted": "plain"}),
    "baselines-larger": Source("baselines", options={"wanted": "larger"}),
    "baselines-million": Source("baselines", options={"wanted": "million"}),
    "spce": Source("spce"),
    "sccabg-plain": Source("sccabg", options={"parts": ("plain",)}),
    "sccabg": Source("sccabg", options={"parts": ("usps", "mnist", "growth")}),
    "mdec-members": Source("mdec", options={"only": "members"}),
    "mdec-consensus": Source("mdec", options={"only": "consensus"}),
    "rsec-pools": Source("rsec", "pools"),
    "rsec-large": Source("rsec", "large"),
    "rsec-profile": Source("rsec", "profile"),
    "spmtc": Source("spmtc", options={"max_rounds": 20}),
}


def file_of(name: str) -> Path:
    return KEPT / f"{name}.json"


def keep(name: str, measure: Callable[[], list[dict[str, Any]]]) -> dict[str, Any]:
    """Measure, and replace what is kept under this name."""
    found = {**origin(), "rows": measure()}  # the load is that of the beginning
    if not found["rows"]:
        raise SystemExit(f"{name}: nothing was measured, and what is kept stays; its data may be missing "
            f"(CONSILIENCE_SHARED names their folder).")  # fmt: skip
    KEPT.mkdir(parents=True, exist_ok=True)
    file_of(name).write_text(json.dumps(found, indent=1, default=float) + "\n", "utf-8")
    return found


def kept(name: str) -> dict[str, Any]:
    if name not in SOURCES:
        raise KeyError(f"No stored table is called {name!r}; there are {', '.join(SOURCES)}.")
    return json.loads(file_of(name).read_text("utf-8"))


def selected(rows: list[dict[str, Any]], columns: str | None) -> list[dict[str, Any]]:
    """The columns asked for, by the names asked for; a column that no row has is a mistake on the page."""
    if not columns:
        return rows
    wanted = [[part.strip() for part in column.split(" as ")] for column in _columns(columns)]
    unknown = [source for source, *_ in wanted if not any(source in row for row in rows)]
    if unknown:
        raise KeyError(f"no column {', '.join(unknown)} among {', '.join(rows[0])}")
    return [{shown[-1]: row.get(shown[0], "") for shown in wanted} for row in rows]


def _columns(text: str) -> list[str]:
    r"""At commas, but for those that are part of a name: ``\,``."""
    return [column.replace("\\,", ",") for column in re.split(r"(?<!\\),", text)]


def block(name: str, columns: str | None = None) -> str:
    """The table, and where it comes from."""
    if name in SOURCES and not file_of(name).is_file():
        return f"\nNot measured yet: `python -m benchmarks.stored {name}`.\n\n"
    found = kept(name)
    machine = found["machine"]
    state = f"commit {found['commit']}{' with changes' if found['changed'] else ''}"
    return (
        f"\n{table(selected(found['rows'], columns))}\n\n"
        f"`python -m benchmarks.stored {name}`, {found['when'][:10]}, {state}; {machine['cores']} cores of "
        f"{machine['processor']}, "
        f"load {found['load']} at the start.\n\n"
    )


def filled(text: str) -> str:
    """A page with its tables as kept."""
    return _MARK.sub(lambda mark: mark[1] + block(mark[2], mark[3]) + mark[4], text)


def pages() -> list[Path]:
    """Pages that show such tables."""
    files = [file for page in PAGES for file in (sorted(page.rglob("*.md")) if page.is_dir() else [page])]
    return [file for file in files if _MARK.search(file.read_text("utf-8"))]


def write_pages() -> None:
    for file in pages():
        file.write_text(filled(file.read_text("utf-8")), "utf-8")


def listed() -> list[dict[str, Any]]:
    rows = []
    for name in SOURCES:
        found = kept(name) if file_of(name).is_file() else {}
        rows.append(
            {
                "name": name,
                "commit": found.get("commit", "-"),
                "when": found.get("when", "never")[:10],
                "load": found.get("load", ""),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", choices=[[], *SOURCES], help="tables to measure")
    parser.add_argument("--pages", action="store_true", help="only write the pages")
    given = parser.parse_args()
    if not (given.names or given.pages):
        print(table(listed()))
        return
    for name in given.names:
        print(f"\n## {name}\n\n{table(keep(name, SOURCES[name].measure)['rows'])}", flush=True)
    write_pages()


if __name__ == "__main__":
    main()
