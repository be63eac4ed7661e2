"""Delimited text, read in blocks.

A file is decoded and parsed in blocks of a few megabytes that end at a line end outside quotes, so neither a
large file nor a decompressed one is ever held as text. Numbers go through NumPy's C reader; a block it
refuses (quotes, missing cells, an error) goes through the csv module, which also finds the line to name in
the message.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
import warnings
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np

from .._base.progress import progress
from .._data.labels import Coded
from .._kernels.runtime.memory import ensure_fits
from ..errors import FileError
from ._cells import are_usual_integers, as_number, count_of, label_values, short
from ._formats import betrayed_by, guarded
from ._layout import HEAD, NAMES, SPACES, check_width, decide, escapes_quotes, sniff, widest_line

_BLOCK = 1 << 21
_PACKED = 1 << 18  # bytes of compressed text read at a time
_GZIP = 16 + zlib.MAX_WBITS  # for zlib: data with the header and trailer of gzip
_BATCH = 4096  # rows held as Python text at a time: more would only keep the garbage collector busy
_LONGEST_LINE = 1 << 28  # characters; p = 10 million features of 17 digits still pass
_TEXT = 64  # bytes of a text in memory besides its characters
_MOST_BLANK = 1_000_000  # number of blank lines beyond which a file is refused


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
        transpose: bool = False,
    ):
        self.name = name
        self._blocks = _blocks(handle, name, gzipped, size)
        self._first = next(self._blocks, None)
        if self._first is None or not self._first[0].strip():
            raise FileError(f"{name} is empty: it holds no cells.")
        delimiter, skip_space = sniff(self._first[0], prefer_tab=_is_tsv(name))
        self._delimiter, self._skip_space = delimiter, skip_space
        check_width(widest_line(self._first[0], delimiter), name, labels=labels and not transpose)
        head = [row for row in itertools.islice(self._rows(self._first[0]), HEAD) if not _is_blank(row)]
        if not head:
            raise FileError(f"{name} is empty: its first {HEAD} lines hold no cells.")
        # If transposed, names are recognized as in tables of numbers: columns do not repeat what they
        # hold.
        self.layout = decide(
            head,
            delimiter,
            skip_space,
            labels=labels and not transpose,
            header=header,
            index=index,
            name=name,
        )
        self._n_blank, self._first_blank = 0, 0
        self._kept_texts = 0  # bytes

    # Bodies -------------------------------------------------------------------------------------------------

    def numbers(self) -> tuple[np.ndarray, list[str] | None]:
        """(values, row names) of a table of numbers; missing cells are NaN."""
        parts: list[np.ndarray] = []
        names: list[str] = []
        for block, first_line in self._body():
            fast = self._fast_numbers(block)
            values, block_names = self._slow_numbers(block, first_line) if fast is None else fast
            parts.append(values)
            names.extend(self._counted(block_names))
            self._check_memory(parts)
        self._done(any(map(len, parts)))
        return np.concatenate(parts), names if self.layout.has_index else None

    def cells(self) -> tuple[list[Any], list[str] | None]:
        """(columns of text, row names) of a table of anything."""
        parts = []
        for block, first_line in self._body():
            for columns in self._columns(block, first_line):
                parts.append([self._counted(column) for column in columns])
                self._check_memory()
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
                names.extend(self._counted(fast[1]))
                self._check_memory(parts, books)
                continue
            for columns in self._columns(block, first_line):
                codes = np.empty((len(columns[0]), len(books)), np.int32)
                for j, book in enumerate(books):
                    codes[:, j] = np.fromiter(map(book.__getitem__, columns[start + j]), np.int32, len(codes))
                parts.append(codes)
                if start:
                    names.extend(self._counted(columns[0]))
            self._check_memory(parts, books)
        self._done(bool(parts))
        codes = np.concatenate(parts)
        coded = [Coded(codes[:, j], label_values(list(book))) for j, book in enumerate(books)]
        return coded, names if start else None

    def _counted(self, texts: Sequence[str]) -> Sequence[str]:
        """Keep texts, and count the memory that they take."""
        self._kept_texts += _size_of(texts)
        return texts

    def _check_memory(self, parts: Sequence[np.ndarray] = (), books: Sequence[_Book] = ()) -> None:
        """Check after each block whether all parts can still be joined in memory.

        The size of a compressed file does not tell the size of its content.
        """
        needed = 2 * sum(part.nbytes for part in parts) + self._kept_texts + sum(book.size for book in books)
        ensure_fits(needed, what=self.name, remedy="use fewer rows or columns, or write it as .npz")

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
        if self._delimiter == SPACES:
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
                        f"{self.name} holds more than {_MOST_BLANK} blank lines, the first is line "
                        f"{self._first_blank}; is it a table? Remove them."
                    )
            elif len(row) != self.layout.n_columns:
                raise self._ragged(self._line_of(block, i, first_line), len(row))
            elif self._n_blank and len(row) == 1:
                raise FileError(
                    f"{self.name}, line {self._first_blank} is blank: in a table of one column it may be a "
                    "missing value or no row at all. Write NA for a missing value, or remove the line."
                )
            else:
                kept.append(row)
        return kept

    def _ragged(self, line: int, n_cells: int) -> FileError:
        return FileError(
            f"{self.name}, line {line} has {count_of(n_cells, 'cell')} where the table has "
            f"{self.layout.n_columns} (separated by {NAMES[self._delimiter]}). Look for a missing cell, or "
            "for a separator inside a cell that needs quotes."
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
        if self._delimiter == SPACES:
            return None if self.layout.has_index else lines  # NumPy itself counts the cells
        n_separators = self.layout.n_columns - 1
        return lines if {line.count(self._delimiter) for line in lines} == {n_separators} else None

    def _split_names(self, lines: list[str]) -> tuple[list[str], list[str]]:
        """(row names, the lines without them)."""
        if not self.layout.has_index:
            return [], lines
        names = [line.partition(self._delimiter)[0] for line in lines]
        return names, [line[len(name) + 1 :] for line, name in zip(lines, names)]

    def _fast_numbers(self, block: str) -> tuple[np.ndarray, list[str]] | None:
        """A block read by NumPy's reader; None if that might read it differently."""
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
        if not are_usual_integers("\n".join(lines), self._delimiter):
            return None
        return self._load(lines, np.int64, names)

    def _columns(self, block: str, first_line: int) -> Iterator[list[Any]]:
        """The cells of a block by column, all at once if nothing is quoted, else in batches of rows."""
        width = self.layout.n_columns
        lines = None if self._delimiter == SPACES or self._skip_space else self._plain_lines(block)
        if lines and (width > 1 or all(map(str.strip, lines))):
            cells = self._delimiter.join(lines).split(self._delimiter)
            yield [cells[j::width] for j in range(width)]
        else:
            for rows in self._checked_rows(block, first_line):
                yield list(zip(*rows))

    def _load(self, lines: list[str], dtype: type, names: list[str]) -> tuple[np.ndarray, list[str]] | None:
        delimiter = None if self._delimiter == SPACES else self._delimiter
        if not any(map(str.strip, lines)):
            return None  # NumPy warns only about blank lines
        try:
            with warnings.catch_warnings():
                # NumPy 1 reads integers beyond 64 bits through floats, as other numbers, and calls that
                # deprecated.
                warnings.simplefilter("error", DeprecationWarning)
                values: np.ndarray = np.loadtxt(lines, dtype, delimiter=delimiter, comments=None, ndmin=2)
        except (ValueError, DeprecationWarning):
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
            remedy = "If line 1 is a header, give header=True (--header)."
        else:
            remedy = (
                "Every cell but the header and the row names must be a number; drop the column or encode it."
            )
        return FileError(f"{self.name}, line {line}, {where}: {short(cell)} is not a number. {remedy}")

    def _done(self, any_rows: bool) -> None:
        if not any_rows:
            raise FileError(f"{self.name} holds a header but no data below it.")
        if self._n_blank:
            self.layout.decisions.append(f"Skipped {count_of(self._n_blank, 'blank line')}.")


class _Book(dict):
    """Codes for the spellings of one column, in order of appearance."""

    size = 0  # bytes

    def __missing__(self, spelling: str) -> int:
        code = self[spelling] = len(self)
        self.size += 2 * _TEXT + len(spelling)
        return code

    def look_up(self, column: np.ndarray) -> np.ndarray:
        """Codes of whole numbers, as if each had occurred in its usual spelling."""
        values, inverse = np.unique(column, return_inverse=True)
        codes = np.fromiter(map(self.__getitem__, map(str, values.tolist())), np.int32, len(values))
        return codes[inverse.ravel()]


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


class _Gunzipped:
    """The content of gzip members. Python's own reader reads endless names and padding byte by byte."""

    def __init__(self, handle: BinaryIO):
        self._handle, self._packed = handle, b""
        self._member: Any = zlib.decompressobj(_GZIP)

    def read(self, n: int) -> bytes:
        """At most ``n`` of the next bytes, none at the end."""
        while True:
            self._packed = self._packed or self._handle.read(_PACKED)
            if self._member is None:  # between two members, or in the padding after the last
                if not self._packed:
                    return b""
                self._packed = self._packed.lstrip(b"\0")
                self._member = zlib.decompressobj(_GZIP) if self._packed else None
                continue
            ended = not self._packed
            out: bytes = self._member.decompress(self._packed, n)
            if self._member.eof:
                self._packed, self._member = self._member.unused_data, None
            elif ended and not out:
                raise EOFError("the compressed data end too early")
            else:
                self._packed = self._member.unconsumed_tail
            if out:
                return out


def _blocks(handle: BinaryIO, name: str, gzipped: bool, size: int | None) -> Iterator[tuple[str, int]]:
    """(text, number of its first line): decoded blocks that end at a line end outside quotes."""
    source: Any = _Gunzipped(handle) if gzipped else handle
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    held: list[str] = []  # without a place to cut
    quotes, line, first, half = 0, 1, True, ""
    escaped: bool | None = None  # None until a block shows it

    def unescaped(text: str) -> str:
        nonlocal escaped
        if escaped is None and '\\"' in text:
            escaped = escapes_quotes("".join([*held, text]))
        return text.replace('\\"', '""') if escaped else text

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
                    f"{name}, line {at}: byte 0x{error.object[error.start]:02x} is not UTF-8; the file is "
                    "probably in Latin-1. Convert it first, for example: iconv -f latin1 -t utf-8 OLD > NEW."
                ) from None
            if "\0" in text:
                at = line + _n_lines(held) + text[: text.index("\0")].count("\n")
                raise FileError(
                    f"{name}, line {at} holds a NUL byte: it is binary data or UTF-16, not UTF-8 text. "
                    f"Convert it first."
                )
            if size is not None:
                bar.update(max(0, (handle.tell() >> 20) - bar.n))
            if not data:
                held.append(unescaped(text))
                if any(held):
                    yield "".join(held), line
                return
            # A CR at the very end may be the first half of CR LF, a backslash that of a quote.
            half = text[-1:] if text.endswith(("\r", "\\")) else ""
            text = unescaped(text[: len(text) - len(half)])
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
                    f"{name}, line {line}: no line ends within {_LONGEST_LINE} characters; is it text, "
                    f"with every quote closed?"
                )


def _size_of(texts: Sequence[str]) -> int:
    """The memory that texts take, in bytes."""
    return _TEXT * len(texts) + sum(map(len, texts))


def _n_lines(pieces: list[str]) -> int:
    return sum(piece.count("\n") for piece in pieces)


def _is_blank(row: list[str]) -> bool:
    return not row or (len(row) == 1 and not row[0].strip() and row[0] != "")


def _is_tsv(name: str) -> bool:
    return name.lower().removesuffix(".gz").endswith((".tsv", ".tab"))


def _remedy_for(what: str) -> str:
    if what == "UTF-16 text":
        return (
            "Save it as UTF-8 (CSV UTF-8 in a spreadsheet), or convert it: iconv -f utf-16 -t utf-8 OLD > "
            "NEW."
        )
    endings = {
        "gzip data": ".csv.gz",
        "a zip archive": ".npz (or unpack it first)",
        "a Parquet file": ".parquet",
        "a NumPy array": ".npy",
    }
    return f"Let its name end in {endings.get(what, '.mat')}."
