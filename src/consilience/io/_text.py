"""Delimited text: what the cells are separated by, which line and column hold names, and a reader by blocks.

A file is decoded and parsed in blocks of a few megabytes that end at a line end outside quotes, so neither a large
file nor a decompressed one is ever held as text. Numbers go through NumPy's C reader; a block it refuses (quotes,
missing cells, an error) goes through the csv module, which also finds the line to name in the message.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np

from ..errors import FileError
from ..kernels.memory import ensure_fits
from ..labels import BLANKS, Coded, encode, is_missing
from ..progress import progress
from ._formats import betrayed_by, guarded

#: Headings (lower case) under which row names are looked for in the first column.
INDEX_HEADINGS = frozenset(
    {"", "unnamed: 0", "__index_level_0__"}
    | {"name", "names", "id", "ids", "index", "row", "rows", "rowname", "rownames", "row_name", "row_names"}
    | {"sample", "samples", "sample_name", "sample_names", "sample_id", "object", "objects", "object_id"}
)

#: More columns of labels than this are refused.
MOST_CLUSTERINGS = 100_000

_BLOCK = 1 << 21
_BATCH = 4096  # rows held as Python text at a time: more of them only keep the garbage collector busy
_LONGEST_LINE = 1 << 28  # characters; p = 10 million features of 17 digits still pass
_MOST_BLANK = 1_000_000  # lines without a cell, after which this is no table
_HEAD = 2000  # lines looked at to decide the layout
_HEAD_CELLS = 10_000  # and of features, cells of line 1
_QUOTED = re.compile(r'"(?:[^"]|"")*"')
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACES = " "
_NAMES = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "vertical bars", _SPACES: "spaces"}


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


class TextTable:
    """One delimited text file: its layout, then its body as numbers or as categories."""

    def __init__(
        self,
        handle: BinaryIO,
        name: str,
        *,
        labels: bool,
        gzipped: bool = False,
        header: bool | None = None,
        index: bool | None = None,
        size: int | None = None,
    ):
        self.name = name
        self._blocks = _blocks(handle, name, gzipped, size)
        self._first = next(self._blocks, None)
        if self._first is None or not self._first[0].strip():
            raise FileError(f"{name} is empty: it holds no cells.")
        delimiter, skip_space = _sniff(self._first[0], prefer_tab=_is_tsv(name))
        self._delimiter, self._skip_space = delimiter, skip_space
        check_width(_widest(self._first[0], delimiter), name, labels=labels)
        head = [row for row in itertools.islice(self._rows(self._first[0]), _HEAD) if not _is_blank(row)]
        if not head:
            raise FileError(f"{name} is empty: its first {_HEAD} lines hold no cells.")
        self.layout = _decide(
            head, delimiter, skip_space, labels=labels, header=header, index=index, name=name
        )
        self._n_blank, self._first_blank = 0, 0

    # Bodies -------------------------------------------------------------------------------------------------

    def numbers(self) -> tuple[np.ndarray, list[str] | None]:
        """(values, row names) of a table of numbers; missing cells are NaN."""
        parts: list[np.ndarray] = []
        names: list[str] = []
        for block, first_line in self._body():
            fast = self._fast_numbers(block)
            values, block_names = self._slow_numbers(block, first_line) if fast is None else fast
            parts.append(values)
            names.extend(block_names)
            self._check_memory(parts)
        self._done(any(map(len, parts)))
        return np.concatenate(parts), names if self.layout.has_index else None

    def cells(self) -> tuple[list[Any], list[str] | None]:
        """(columns of text, row names) of a table of anything."""
        parts = [part for block, first_line in self._body() for part in self._columns(block, first_line)]
        self._done(bool(parts))
        columns = [[cell for part in parts for cell in part[j]] for j in range(self.layout.n_columns)]
        row_names = columns.pop(0) if self.layout.has_index else None
        return columns, row_names

    def labels(self) -> tuple[list[Coded], list[str] | None]:
        """(columns, row names) of a table of labels."""
        start = int(self.layout.has_index)
        books = [_Book() for _ in range(self.layout.n_columns - start)]
        parts: list[np.ndarray] = []
        names: list[str] = []
        for block, first_line in self._body():
            fast = self._fast_integers(block)
            if fast is not None:
                parts.append(np.column_stack([book.look_up(fast[0][:, j]) for j, book in enumerate(books)]))
                names.extend(fast[1])
                self._check_memory(parts)
                continue
            for columns in self._columns(block, first_line):
                codes = np.empty((len(columns[0]), len(books)), np.int32)
                for j, book in enumerate(books):
                    codes[:, j] = np.fromiter(map(book.__getitem__, columns[start + j]), np.int32, len(codes))
                parts.append(codes)
                if start:
                    names.extend(columns[0])
            self._check_memory(parts)
        self._done(bool(parts))
        codes = np.concatenate(parts)
        coded = [Coded(codes[:, j], label_values(list(book))) for j, book in enumerate(books)]
        return coded, names if start else None

    def _check_memory(self, parts: list[np.ndarray]) -> None:
        """What is packed tells nothing of what it unpacks to: look after each block whether all parts can still be joined."""
        remedy = "use fewer rows or columns, or write it as .npz"
        ensure_fits(2 * sum(part.nbytes for part in parts), what=self.name, remedy=remedy)

    # Blocks -------------------------------------------------------------------------------------------------

    def _body(self) -> Iterator[tuple[str, int]]:
        """Blocks after the header, each with the number of its first line."""
        assert self._first is not None
        block, line = self._first
        if self.layout.header is not None:
            reader = self._reader(io.StringIO(block, newline=""))
            for row in reader:
                if not _is_blank(row):
                    break
            used = reader.line_num
            stream = io.StringIO(block, newline="")
            for _ in range(used):
                stream.readline()
            block, line = stream.read(), line + used
        self._first = None
        if block:
            yield block, line
        yield from self._blocks

    def _reader(self, lines: Any) -> Any:
        if self._delimiter == _SPACES:
            return _SpaceReader(lines)
        return csv.reader(lines, delimiter=self._delimiter, skipinitialspace=self._skip_space)

    def _rows(self, block: str) -> Iterator[list[str]]:
        reader = self._reader(io.StringIO(block, newline=""))
        try:
            yield from reader
        except csv.Error as error:
            raise FileError(f"{self.name}, line {reader.line_num}: {error}; is a quote left open?") from None

    def _checked_rows(self, block: str, first_line: int) -> Iterator[list[list[str]]]:
        """The rows of a block in batches, blank lines left out, each row with the right number of cells."""
        width = self.layout.n_columns
        source = self._rows(block)
        for before in itertools.count(0, _BATCH):
            rows = list(itertools.islice(source, _BATCH))
            if not rows:
                return
            if width == 1 or set(map(len, rows)) != {width}:
                rows = self._kept(rows, block, before, first_line)
            if rows:
                yield rows

    def _kept(self, rows: list[list[str]], block: str, before: int, first_line: int) -> list[list[str]]:
        kept = []
        for i, row in enumerate(rows, before):
            if _is_blank(row):
                self._first_blank = self._first_blank or self._line_of(block, i, first_line)
                self._n_blank += 1
                if self._n_blank > _MOST_BLANK:
                    raise FileError(
                        f"{self.name} holds more than {_MOST_BLANK} blank lines, the first is line {self._first_blank}; "
                        "is it a table? Remove them."
                    )
            elif len(row) != self.layout.n_columns:
                raise self._ragged(self._line_of(block, i, first_line), len(row))
            elif self._n_blank and len(row) == 1:
                raise FileError(
                    f"{self.name}, line {self._first_blank} is blank: in a table of one column it may be a missing value or "
                    "no row at all. Write NA for a missing value, or remove the line."
                )
            else:
                kept.append(row)
        return kept

    def _ragged(self, line: int, n_cells: int) -> FileError:
        return FileError(
            f"{self.name}, line {line} has {_count(n_cells, 'cell')} where the table has {self.layout.n_columns} "
            f"(separated by {_NAMES[self._delimiter]}). Look for a missing cell, or for a separator inside "
            "a cell that needs quotes."
        )

    def _line_of(self, block: str, row: int, first_line: int) -> int:
        """The line of the file on which row ``row`` of a block starts."""
        reader = self._reader(io.StringIO(block, newline=""))
        for _ in range(row):
            next(reader)
        return first_line + reader.line_num

    def _plain_lines(self, block: str) -> list[str] | None:
        """The lines of a block without quotes, all with the right number of separators; None otherwise."""
        if '"' in block or (self._n_blank and self.layout.n_columns == 1):
            return None
        if "\r" in block:
            block = block.replace("\r\n", "\n")
            if "\r" in block:
                return None
        lines = block.split("\n")
        if not lines[-1]:
            lines.pop()
        if self._delimiter == _SPACES:
            return None if self.layout.has_index else lines  # NumPy counts the cells itself
        n_separators = self.layout.n_columns - 1
        return lines if {line.count(self._delimiter) for line in lines} == {n_separators} else None

    def _split_names(self, lines: list[str]) -> tuple[list[str], list[str]]:
        """(row names, the lines without them)."""
        if not self.layout.has_index:
            return [], lines
        names = [line.partition(self._delimiter)[0] for line in lines]
        return names, [line[len(name) + 1 :] for line, name in zip(lines, names)]

    def _fast_numbers(self, block: str) -> tuple[np.ndarray, list[str]] | None:
        """A block through NumPy's reader; None if that is not sure to mean the same."""
        lines = self._plain_lines(block)
        if not lines:
            return None
        names, lines = self._split_names(lines)
        return self._load(lines, np.float64, names)

    def _fast_integers(self, block: str) -> tuple[np.ndarray, list[str]] | None:
        """A block of whole numbers in their usual spelling; None if there is anything else in it."""
        lines = self._plain_lines(block)
        if not lines:
            return None
        names, lines = self._split_names(lines)
        if not _usual_integers("\n".join(lines), self._delimiter):
            return None
        return self._load(lines, np.int64, names)

    def _columns(self, block: str, first_line: int) -> Iterator[list[Any]]:
        """The cells of a block by column, all at once where nothing is quoted, else in batches of rows."""
        width = self.layout.n_columns
        lines = None if self._delimiter == _SPACES or self._skip_space else self._plain_lines(block)
        if lines and (width > 1 or all(map(str.strip, lines))):
            cells = self._delimiter.join(lines).split(self._delimiter)
            yield [cells[j::width] for j in range(width)]
        else:
            for rows in self._checked_rows(block, first_line):
                yield list(zip(*rows))

    def _load(self, lines: list[str], dtype: type, names: list[str]) -> tuple[np.ndarray, list[str]] | None:
        delimiter = None if self._delimiter == _SPACES else self._delimiter
        if not any(map(str.strip, lines)):
            return None  # NumPy warns of blank lines only
        try:
            values: np.ndarray = np.loadtxt(lines, dtype, delimiter=delimiter, comments=None, ndmin=2)
        except ValueError:
            return None
        # NumPy skips blank lines, which may mean something here.
        expected = (len(lines), self.layout.n_columns - int(self.layout.has_index))
        return (values, names) if values.shape == expected else None

    def _slow_numbers(self, block: str, first_line: int) -> tuple[np.ndarray, list[str]]:
        start = int(self.layout.has_index)
        width = self.layout.n_columns - start
        parts = [np.empty((0, width))]
        names: list[str] = []
        n_rows = 0
        for rows in self._checked_rows(block, first_line):
            values = np.empty((len(rows), width))
            for i, row in enumerate(rows):
                for j, cell in enumerate(row[start:]):
                    number = as_number(cell)
                    if number is None:
                        raise self._not_a_number(block, first_line, n_rows + i, j, cell)
                    values[i, j] = number
            parts.append(values)
            n_rows += len(rows)
            if start:
                names.extend(row[0] for row in rows)
        return np.concatenate(parts), names

    def _not_a_number(self, block: str, first_line: int, row: int, column: int, cell: str) -> FileError:
        filled = [i for i, cells in enumerate(self._rows(block)) if not _is_blank(cells)]
        line = self._line_of(block, filled[row], first_line)
        position = column + int(self.layout.has_index)
        names = self.layout.column_names
        where = f"column {position + 1}" + (f" ({names[column]!r})" if names else "")
        if re.fullmatch(r"\s*-?\d+,\d+\s*", cell):
            remedy = "Write decimals with a point."
        elif self.layout.header is None and line == 1:
            remedy = "If line 1 is a header, say so (header=True, or --header)."
        else:
            remedy = (
                "Every cell but the header and the row names must be a number; drop the column or encode it."
            )
        return FileError(f"{self.name}, line {line}, {where}: {short(cell)} is not a number. {remedy}")

    def _done(self, any_rows: bool) -> None:
        if not any_rows:
            raise FileError(f"{self.name} holds a header but no data below it.")
        if self._n_blank:
            self.layout.decisions.append(f"Skipped {_count(self._n_blank, 'blank line')}.")


class _Book(dict):
    """Numbers for the spellings of one column, in order of appearance."""

    def __missing__(self, spelling: str) -> int:
        code = self[spelling] = len(self)
        return code

    def look_up(self, column: np.ndarray) -> np.ndarray:
        """Numbers of whole numbers, as if each had been met in its usual spelling."""
        values, inverse = np.unique(column, return_inverse=True)
        return np.fromiter(map(self.__getitem__, map(str, values.tolist())), np.int32, len(values))[
            inverse.ravel()
        ]


def label_values(spellings: list[str]) -> np.ndarray:
    """The labels that the cells of one column stand for: integers if all are, else floats if all are, else their text.

    Text has no types: labels are numbers if every cell that is not missing spells one (or infinity, for :func:`encode`
    to refuse), and if two of them do not become one label by it.
    """
    cells = [None if is_missing(spelling) else spelling.strip(BLANKS) for spelling in spellings]
    given = [cell for cell in cells if cell is not None]
    n_infinite = sum(1 for cell in given if _INFINITE.fullmatch(cell))
    n_numbers = sum(1 for cell in given if _NUMBER.fullmatch(cell) and cell != "-0")
    if n_numbers and n_numbers + n_infinite == len(given):
        whole = all(cell.lstrip("-").isdigit() for cell in given)
        if whole and max(map(len, given)) <= 20:
            integers = [-1 if cell is None else int(cell) for cell in cells]
            if all(-(2**63) <= value < 2**63 for value in integers):
                return np.array(integers, np.int64)
        floats = np.array([np.nan if cell is None else float(cell) for cell in cells])
        too_large = int(np.isinf(floats).sum()) > n_infinite
        if not too_large and not (whole and len(np.unique(floats)) < len(set(cells))):
            return floats
    values: np.ndarray = np.empty(len(spellings), object)
    values[:] = spellings
    return values


def read_back(spellings: list[str]) -> list[Any]:
    """What a column of labels with these spellings is read as: the labels in the order given, None for a missing one."""
    values = label_values(spellings)
    if values.dtype.kind == "f" and np.isinf(values).any():
        return values.tolist()
    codes, categories = encode(values, "labels")
    return list(map([*categories.tolist(), None].__getitem__, codes.tolist()))  # code -1 picks the last place


class _SpaceReader:
    """Rows of cells separated by runs of blanks; quotes may enclose a cell."""

    def __init__(self, lines: Any):
        self.line_num = 0
        self._lines = iter(lines)

    def __iter__(self) -> _SpaceReader:
        return self

    def __next__(self) -> list[str]:
        line = next(self._lines)
        self.line_num += 1
        if '"' not in line:
            return line.split()
        return next(csv.reader([line.strip().replace("\t", " ")], delimiter=" ", skipinitialspace=True), [])


def _blocks(handle: BinaryIO, name: str, gzipped: bool, size: int | None) -> Iterator[tuple[str, int]]:
    """(text, number of its first line): decoded blocks that end at a line end outside quotes."""
    source: Any = gzip.GzipFile(fileobj=handle) if gzipped else handle
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    held: list[str] = []  # without a place to cut
    quotes, line, first, half = 0, 1, True, ""
    with progress(total=None if size is None else size >> 20, what=f"reading {name}", unit="MB") as bar:
        while True:
            with guarded(name, "gzip data" if gzipped else "readable"):
                data = source.read(_BLOCK)
            if first and data:
                first = False
                what = betrayed_by(data)
                if what is not None:
                    raise FileError(f"{name} is named as text but is {what}. {_remedy_for(what)}")
            try:
                text = half + decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                at = line + _n_lines(held) + error.object[: error.start].count(b"\n")
                raise FileError(
                    f"{name}, line {at}: byte 0x{error.object[error.start]:02x} is not UTF-8; the file is probably in "
                    "Latin-1. Convert it first, for example: iconv -f latin1 -t utf-8 OLD > NEW."
                ) from None
            if "\0" in text:
                at = line + _n_lines(held) + text[: text.index("\0")].count("\n")
                raise FileError(
                    f"{name}, line {at} holds a NUL byte: it is binary data or UTF-16, not UTF-8 text. Convert it first."
                )
            if size is not None:
                bar.update(max(0, (handle.tell() >> 20) - bar.n))
            if not data:
                held.append(text)
                if any(held):
                    yield "".join(held), line
                return
            # A CR at the very end may be half of a CR LF.
            half = "\r" if text.endswith("\r") else ""
            text = text[: len(text) - len(half)]
            cut = text.rfind("\n") + 1 or text.rfind("\r") + 1  # lines may end in a bare CR
            quotes_before_cut = quotes + text.count('"', 0, cut)
            if cut and quotes_before_cut % 2 == 0:
                block = "".join([*held, text[:cut]])
                yield block, line
                line += block.count("\n") or block.count("\r")
                held, quotes = [text[cut:]], text.count('"', cut)
            else:
                held.append(text)
                quotes = quotes_before_cut + text.count('"', cut)
            if sum(map(len, held)) > _LONGEST_LINE:
                raise FileError(
                    f"{name}, line {line}: no line ends within {_LONGEST_LINE} characters; is it text, with every quote closed?"
                )


def _n_lines(pieces: list[str]) -> int:
    return sum(piece.count("\n") for piece in pieces)


def _widest(text: str, delimiter: str) -> int:
    """The largest number of cells in the first lines, quotes not looked at: the cells are not cut apart yet."""
    lines = text.replace("\r", "\n").split("\n", _HEAD)[:_HEAD]
    if delimiter == _SPACES:
        return 1 + max(line.count(" ") + line.count("\t") for line in lines)
    return 1 + max(line.count(delimiter) for line in lines)


def check_width(n_columns: int, name: str, *, labels: bool) -> None:
    """Each column of labels costs time and memory of its own, so a table that is absurdly wide is refused at once."""
    if labels and n_columns > MOST_CLUSTERINGS:
        raise FileError(
            f"{name} has {n_columns} columns, and each column of labels is one clustering; at most {MOST_CLUSTERINGS} "
            "are read. If the rows are the clusterings, transpose the table; if these are features, read_features reads them."
        )
    if n_columns > MOST_CLUSTERINGS:
        # The cells of two lines as Python text, and what is decided from them.
        ensure_fits(400 * n_columns, what=name, remedy="write it as .npy, or store fewer columns")


def _sniff(text: str, *, prefer_tab: bool) -> tuple[str, bool]:
    """(delimiter, whether blanks follow it) judged by the first lines, text in quotes left out."""
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
        return _SPACES, False
    return ",", False


def _decide(
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
    said = [f"Cells are separated by {_NAMES[delimiter]}."] if width > 1 else []
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

    names = [cell.strip() if delimiter == _SPACES else cell for cell in first] if has_header else None
    if names is not None and len(names) not in ({width, width - 1} if has_index else {width}):
        raise FileError(
            f"{name}: the header has {_count(len(names), 'cell')}, the lines below have {width} "
            f"(separated by {_NAMES[delimiter]})."
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
    # Of millions of features the first thousands show what line 1 is.
    text = [as_number(cell) is None for cell in (cells if labels else cells[:_HEAD_CELLS])]
    # What a data frame without column names writes. As labels of one object 0, 1, 2 is no surprise, 0 to 5 is.
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
    # All text: names do not come back further down, labels do.
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
            "Column 1 counts the rows but is kept as a feature; say so if it holds row names (index=True, or --index).",
        )
    return False, ""


def _usual_integers(text: str, delimiter: str) -> bool:
    """Whether every cell is a whole number as str() writes it: another spelling (007, +1, 1.0) is a label of its own."""
    if not text.isascii():
        return False
    characters = np.frombuffer(text.encode(), np.uint8)
    found = set(np.flatnonzero(np.bincount(characters, minlength=128)).tolist())
    if not found <= set(b"0123456789-\r\n" + delimiter.encode()):
        return False
    digit = characters >= ord("0")
    digit &= characters <= ord("9")
    zero = characters == ord("0")
    if zero.size and zero[0] and digit[1:2].any():
        return False
    leading = zero[1:-1] & ~digit[:-2] & digit[2:]
    return not leading.any() and b"-0" not in characters.tobytes()


def as_number(cell: str) -> float | None:
    """The number in a cell, NaN for a missing one, None for text."""
    try:
        value = float(cell)
    except ValueError:
        return float("nan") if is_missing(cell) else None
    # float() also takes 1_000 and the digits of other scripts, which are names here.
    return value if "_" not in cell and cell.isascii() else None


def quote(cell: str) -> str:
    """A cell as it is written: in quotes where it could be misread."""
    if cell and cell.isalnum():
        return cell
    if _PLAIN.fullmatch(cell):
        return cell
    return '"' + cell.replace('"', '""') + '"'


_PLAIN = re.compile(r"[^\s,;|\"](?:[^\t\r\n\v\f,;|\"]*[^\s,;|\"])?")


def _is_blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip() and row[0] != "")


def _is_tsv(name: str) -> bool:
    return name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))


def _remedy_for(what: str) -> str:
    if what == "UTF-16 text":
        return "Save it as UTF-8 (CSV UTF-8 in a spreadsheet), or convert it: iconv -f utf-16 -t utf-8 OLD > NEW."
    endings = {
        "gzip data": ".csv.gz",
        "a zip archive": ".npz (or unpack it first)",
        "a Parquet file": ".parquet",
        "a NumPy array": ".npy",
    }
    return f"Let its name end in {endings.get(what, '.mat')}."


def short(cell: str) -> str:
    """A cell as messages show it."""
    return repr(cell if len(cell) <= 40 else cell[:37] + "...")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def check_encodable(texts: Iterable[str], file: str) -> None:
    """Refuse characters that cannot be written: NUL, which no format keeps, and half a surrogate pair, which no encoding has."""
    for text in texts:
        if "\0" in text:
            raise FileError(f"{file}: {short(text)} holds a NUL character, which no format keeps; rename it.")
        if not text.isascii() and _SURROGATE.search(text):
            raise FileError(
                f"{file}: {short(text)} holds half a surrogate pair, which is no character of its own (text decoded with "
                "'surrogateescape' has them); decode it with the right encoding, or rename it."
            )


Report = Callable[[str], None]
