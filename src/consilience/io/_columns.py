"""A table of features of which one column is something else: the task, group or site of each row."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any, BinaryIO

import numpy as np

from ..errors import FileError
from ..validation import listed
from ._archives import open_archive
from ._formats import shown
from ._parquet import read_parquet
from ._read import Report, Table, _check_finite, _open, _say, read_features
from ._sparse import as_floats
from ._text import MISSING, TextTable, as_number, check_unique, short


def read_features_and_column(
    path: str | os.PathLike[str] | BinaryIO,
    column: str,
    *,
    key: str | None = None,
    header: bool | None = None,
    index: bool | None = None,
    report: Report | None = None,
) -> tuple[Table, np.ndarray]:
    """Read a table of features and, apart, one of its columns, which may hold text.

    Parameters
    ----------
    path, key, header, index, report
        As for :func:`~consilience.io.read_features`.
    column : str
        Name of the column; in a text file without header its position from 0; in an ``.npz`` or ``.mat`` file
        the name of the array beside the features.

    Returns
    -------
    (Table, array)
        The features, and the cells of the column: whole numbers where all are, else text.

    Examples
    --------
    >>> import io
    >>> table, site = read_features_and_column(io.BytesIO(b"a,site,b\\n1,x,2\\n3,y,4\\n"), "site")
    >>> table.column_names, table.values.tolist(), site.tolist()
    (['a', 'b'], [[1.0, 2.0], [3.0, 4.0]], ['x', 'y'])
    """
    name = shown(path)
    with ExitStack() as stack:
        kind, handle, gzipped, size = _open(path, stack)
        if kind not in ("text", "parquet"):
            archive = open_archive(kind, handle, name, stack)
            if column not in archive.entries:
                raise FileError(
                    f"{name} has no array {column!r}; it holds {listed(map(repr, archive.entries))}."
                )
            cells: Any = (
                archive.texts(column)
                if archive.entries[column].kind in "USO"
                else np.asarray(archive.load(column)).ravel().tolist()
            )
            table = read_features(path, key=key, report=report)
            return table, _tidy(cells, table.shape[0], column, name)
        if kind == "text":
            names, columns, row_names, decisions = _text_columns(
                TextTable(handle, name, labels=False, gzipped=gzipped, header=header, index=index, size=size)
            )
        else:
            names, columns, row_names, decisions = read_parquet(handle, name, labels=False, index=index)
    if column not in names:
        raise FileError(f"{name} has no column {column!r}; it has {listed(map(repr, names), 10)}.")
    check_unique(
        row_names, "the row name", name, "make the names in column 1 unique, or read with index=False"
    )
    check_unique(names, "the column name", name, "rename the columns")
    at = names.index(column)
    rest = [
        _floats(cells, heading, name) for i, (heading, cells) in enumerate(zip(names, columns)) if i != at
    ]
    if not rest:
        raise FileError(f"{name} has no columns of features beside {column!r}.")
    table = Table(np.column_stack(rest), row_names, [n for n in names if n != column], decisions)
    _check_finite(table, name)
    _say(report, name, decisions)
    return table, _tidy(columns[at], table.shape[0], column, name)


def _text_columns(text: TextTable) -> tuple[list[str], list[Any], list[str] | None, list[str]]:
    """Headings (or positions), cells by column, row names, decisions."""
    parts = [part for block, line in text._body() for part in text._columns(block, line)]
    if not parts:
        raise FileError(f"{text.name} holds a header but no data below it.")
    columns = [[cell for part in parts for cell in part[j]] for j in range(text.layout.n_columns)]
    row_names = columns.pop(0) if text.layout.has_index else None
    names = text.layout.column_names or [str(j) for j in range(len(columns))]
    return list(names), columns, row_names, text.layout.decisions


def _floats(cells: Any, heading: str, name: str) -> np.ndarray:
    if isinstance(cells, np.ndarray) and cells.dtype != object:
        return as_floats(cells)
    out = np.empty(len(cells))
    for i, cell in enumerate(cells):
        number = np.nan if cell is None else as_number(str(cell))
        if number is None:
            raise FileError(
                f"{name}, column {heading!r}, row {i + 1}: {short(str(cell))} is not a number; drop the column or encode it."
            )
        out[i] = number
    return out


def _tidy(cells: Any, n: int, column: str, name: str) -> np.ndarray:
    """Whole numbers where all cells are, else text; none may be missing."""
    texts = [str(cell).strip() for cell in cells]
    if len(texts) != n:
        raise FileError(f"{name}: {column!r} has {len(texts)} values for {n} rows.")
    for i, text in enumerate(texts):
        if text in MISSING or text == "None":
            raise FileError(f"{name}, column {column!r}, row {i + 1} is missing; fill it in or drop the row.")
    try:
        return np.array([int(text) for text in texts])
    except ValueError:
        return np.array(texts)
