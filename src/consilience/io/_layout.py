"""The layout of delimited text: what separates the cells, and which line and column hold names.

Each decision comes with its reason in words, for the user to check.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

from .._kernels.runtime.memory import ensure_fits
from ..errors import FileError
from ._cells import as_number, count_of

#: Headings (lower case) under which row names are looked for in the first column.
INDEX_HEADINGS = frozenset(
    {"", "unnamed: 0", "__index_level_0__"}
    | {"name", "names", "id", "ids", "index", "row", "rows", "rowname", "rownames", "row_name", "row_names"}
    | {"sample", "samples", "sample_name", "sample_names", "sample_id", "object", "objects", "object_id"}
)

#: More columns of labels than this are refused.
MOST_CLUSTERINGS = 100_000

HEAD = 2000  # number of lines from which the layout is decided
_HEAD_CELLS = 10_000  # for features: number of cells of line 1
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
SPACES = " "
_AROUND = frozenset(",\t;| \r\n")  # what can stand beside a quoted cell
NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars", SPACES: "spaces"}


@dataclass
class Layout:
    """What was decided about a text file."""

    delimiter: str
    skip_space: bool
    header: list[str] | None
    has_index: bool
    n_columns: int  # cells per line, row names included
    decisions: list[str] = field(default_factory=list)

    @property
    def column_names(self) -> list[str] | None:
        """Names of the columns that hold data."""
        if self.header is None:
            return None
        return self.header[1:] if self.has_index and len(self.header) == self.n_columns else self.header


def widest_line(text: str, delimiter: str) -> int:
    """The largest number of cells in the first lines, where quotes are ignored."""
    lines = text.replace("\r", "\n").split("\n", HEAD)[:HEAD]
    if delimiter == SPACES:
        return 1 + max(line.count(" ") + line.count("\t") for line in lines)
    return 1 + max(line.count(delimiter) for line in lines)


def escapes_quotes(text: str) -> bool:
    """Whether quotes inside quoted cells are written \\" as R writes them, rather than "".

    The closing quotes tell which it is.
    """
    start, stop = text.find("\n") + 1, text.rfind("\n") + 1
    # Whole lines only, which the first and the last of a block may not be.
    lines = "\n" + (text[start:stop] if text[start:stop].count('\\"') else text) + "\n"
    return not _well_quoted(lines) and _well_quoted(lines.replace('\\"', '""'))


def _well_quoted(lines: str) -> bool:
    """Whether quotes enclose whole cells."""
    for found in _QUOTED.finditer(lines):
        if lines[found.start() - 1] not in _AROUND or lines[found.end()] not in _AROUND:
            return False
    return '"' not in _QUOTED.sub("", lines)


def check_width(n_columns: int, name: str, *, labels: bool) -> None:
    """Refuse a table of labels that is far too wide, since each column costs time and memory."""
    if labels and n_columns > MOST_CLUSTERINGS:
        raise FileError(
            f"{name} has {n_columns} columns, and each column of labels is one clustering; at most "
            f"{MOST_CLUSTERINGS} are read. If the rows are the clusterings, read it with transpose=True "
            "(--transpose); if these are features, read_features reads them."
        )
    if n_columns > MOST_CLUSTERINGS:
        # The cells of two lines as Python text, and what is decided from them.
        ensure_fits(400 * n_columns, what=name, remedy="write it as .npy, or store fewer columns")


def sniff(text: str, *, prefer_tab: bool) -> tuple[str, bool]:
    """(delimiter, whether blanks follow it), judged by the first lines without the text in quotes."""
    lines = [line for line in re.split(r"\r\n|\n|\r", _QUOTED.sub("Q", text[: 1 << 18])) if line.strip()][
        :200
    ]
    if len(text) > 1 << 18 and len(lines) > 1:
        lines.pop()  # may be cut short
    best, best_share = ",", 0.0
    for delimiter in "\t;|,":
        counts = Counter(line.count(delimiter) for line in lines)
        count, lines_with_it = max(
            ((c, k) for c, k in counts.items() if c > 0), key=lambda pair: pair[1], default=(0, 0)
        )
        share = lines_with_it / len(lines)
        if count and prefer_tab and delimiter == "\t":
            return delimiter, False
        if share > best_share:
            best, best_share = delimiter, share
    if best_share:
        at = [line for line in lines if best in line]
        skip = best != "\t" and all(line.count(best) == line.count(best + " ") for line in at)
        return best, skip
    widths = {len(line.split()) for line in lines[1:]} or {len(lines[0].split())}
    tokens = [token for line in lines[1:] or lines for token in line.split()[1:]]
    if len(widths) == 1 and max(widths) > 1 and all(as_number(token) is not None for token in tokens):
        return SPACES, False
    return ",", False


def decide(
    rows: list[list[str]],
    delimiter: str,
    skip_space: bool,
    *,
    labels: bool,
    header: bool | None,
    index: bool | None,
    name: str,
) -> Layout:
    """Header and row names, with the reason for each."""
    first, body = rows[0], rows[1:]
    width = Counter(map(len, body)).most_common(1)[0][0] if body else len(first)
    even = [row for row in body if len(row) == width]
    said = [f"Cells are separated by {NAMES[delimiter]}."] if width > 1 else []
    short = (
        header is not False
        and index is not False
        and width > 1
        and len(first) == width - 1
        and len(body) == len(even)
    )

    has_header, why = (header, "as asked") if header is not None else _find_header(first, even, short, labels)
    if has_header:
        said.append(f"Line 1 is a header ({why}).")
    elif width == len(first):
        said.append(f"There is no header ({why}).")

    has_index, why = (
        (index, "as asked")
        if index is not None
        else _find_index(first, even, short, labels, bool(has_header))
    )
    if has_index and width == 1:
        raise FileError(
            f"{name} has a single column, so none is left beside row names; read it with index=False."
        )
    heading = f" ({first[0]!r})" if has_header and not short and first and first[0] else ""
    if has_index:
        said.append(f"Column 1{heading} holds row names ({why}).")
    elif why:
        said.append(why)

    names = [cell.strip() if delimiter == SPACES else cell for cell in first] if has_header else None
    if names is not None and len(names) not in ({width, width - 1} if has_index else {width}):
        raise FileError(
            f"{name}: the header has {count_of(len(names), 'cell')}, the lines below have {width} "
            f"(separated by {NAMES[delimiter]})."
        )
    return Layout(delimiter, skip_space, names, bool(has_index), width, said)


def _find_header(first: list[str], body: list[list[str]], short: bool, labels: bool) -> tuple[bool, str]:
    if short:
        return True, "it has one cell fewer than the lines below"
    if len(first) != len(body[0]) if body else False:
        return False, "line 1 has another number of cells than the lines below"
    heading = first[0].strip().lower()
    if len(first) > 1 and body and heading in INDEX_HEADINGS and first[0] not in {row[0] for row in body}:
        return True, f"its first cell is {first[0]!r}" if first[0].strip() else "its first cell is empty"
    cells = first[1:] or first
    # With millions of features, the first thousands show what line 1 is.
    text = [as_number(cell) is None for cell in (cells if labels else cells[:_HEAD_CELLS])]
    # A data frame without column names writes this line. As labels of one object 0, 1, 2 is plausible, 0 to 5
    # is.
    if body and len(first) >= (6 if labels else 3) and first == [str(i) for i in range(len(first))]:
        return True, "it counts the columns"
    if not labels:
        return (
            (True, "its cells are not numbers")
            if 2 * sum(text) > len(text)
            else (False, "line 1 holds numbers")
        )
    if not body:
        named = len(first) > 1 and all(as_number(cell) is None for cell in first)
        return (True, "its cells are not numbers") if named else (False, "there is only one line")
    start = 1 if len(first) > 1 else 0
    columns = list(zip(*body))[start:]
    if any(t and all(as_number(cell) is not None for cell in column) for t, column in zip(text, columns)):
        return True, "it holds text above numbers"
    if not all(text):
        return False, "line 1 holds numbers"
    # All text: names do not occur again further down, labels do.
    fresh = all(cell not in set(column) for cell, column in zip(cells, columns)) and len(set(cells)) == len(
        cells
    )
    repeated = any(len(set(column)) < len(column) for column in columns)
    if fresh and repeated:
        return True, "none of its cells occurs again below it"
    return False, "cells of line 1 occur again below it"


def _find_index(
    first: list[str], body: list[list[str]], short: bool, labels: bool, has_header: bool
) -> tuple[bool, str]:
    if short:
        return True, "the header has no cell for it"
    if len(first) < 2:
        return False, ""
    rows = body if has_header or len(first) != (len(body[0]) if body else len(first)) else [first, *body]
    if not rows:
        return False, ""
    column = [row[0] for row in rows]
    unique = len(set(column)) == len(column)
    if has_header and not first[0].strip():
        return True, "its heading is empty"
    if has_header and first[0].strip().lower() in INDEX_HEADINGS and unique:
        return True, "by its heading, and no value occurs twice"
    text = [as_number(cell) is None for cell in column]
    if not labels and 2 * sum(text) > len(text):
        return True, "it holds text"
    counts = [str(i) for i in range(len(column))] == column or [
        str(i + 1) for i in range(len(column))
    ] == column
    others = list(zip(*(row[1:] for row in rows)))
    if labels and len(rows) > 2 and unique and any(len(set(other)) < len(other) for other in others):
        if all(text):
            return True, "it holds text that never occurs twice"
        if counts and len(rows) > 3:
            return True, "it counts the rows"
    if not labels and counts and len(rows) > 3:
        return (
            False,
            "Column 1 counts the rows but is kept as a feature; say so if it holds row names (index=True, "
            "or --index).",
        )
    return False, ""
