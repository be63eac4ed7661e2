"""Reading ensembles and feature tables: one door for every format."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from ..errors import FileError, InputError
from ..features import check_finite
from ..kernels.floats import as_floats
from ..kernels.memory import ensure_fits
from ..labels import Coded, Columns, is_missing
from ..naming import check_unique
from ..validation import listed
from ._archives import Archive, Entry, NpyFile, NpzFile, open_archive
from ._cells import as_number, short
from ._formats import format_of, is_special, is_stream, opened, shown
from ._layout import check_width
from ._parquet import read_parquet
from ._sparse import sparse_from_pieces
from ._table import Table
from ._text import TextTable

if TYPE_CHECKING:
    from ..ensemble import Ensemble

OnNote = Callable[[str], None]

#: Names under which archives keep label matrices, true classes and features, in order of preference.
_MATRIX_KEYS = ("labels", "L", "E", "members", "baseCls", "base", "ensemble", "clusterings")
LABEL_KEYS = (*_MATRIX_KEYS, "label", "y", "gnd")
TRUTH_KEYS = ("y", "Y", "truth", "gnd", "gt", "target", "classes", "class", "label", "labels")
FEATURE_KEYS = ("X", "x", "fea", "features", "data", "values")
ROW_KEYS = ("sample_names", "row_names", "names")
COLUMN_KEYS = ("clustering_names", "column_names", "feature_names")

_SPARSE_PIECES = ("data", "indices", "indptr", "shape")


@dataclass
class _Raw:
    """Labels as a format hands them over."""

    columns: list[Any]
    names: list[str] | None = None
    row_names: list[str] | None = None
    decisions: list[str] = field(default_factory=list)
    recipes: list[dict] | None = None
    weights: np.ndarray | None = None
    matrix: np.ndarray | None = None  # instead of columns, where the format has one
    is_table: bool = False  # text or Parquet, as results of consensus are written with their confidence


def read_labels(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    columns: Sequence[str | int] | None = None,
    key: str | None = None,
    header: bool | None = None,
    index: bool | None = None,
    truth: bool = False,
    on_note: OnNote | None = None,
) -> Ensemble:
    """Read label vectors: rows are objects, columns are clusterings.

    Parameters
    ----------
    path : path or binary file
        ``.csv``, ``.tsv``, ``.txt`` (also ``.gz``), ``.npy``, ``.npz``, ``.parquet`` or ``.mat``; an open binary file is
        read as text.
    columns : list of str or int, optional
        Which clusterings to keep, by name or by position from 0; all by default. A file with the columns ``label`` and
        ``confidence``, as ``consilience consensus`` writes it, gives ``label`` alone.
    key : str, optional
        Which array of an ``.npz`` or ``.mat`` file; by default ``labels`` and some usual other names.
    header, index : bool, optional
        Whether line 1 holds column names and column 1 row names; by default the reader decides and says so.
    truth : bool, default=False
        Prefer the array of true classes (``y``, ``gnd``, ...) when an archive has several.
    on_note : callable, optional
        Called once with what was decided, for instance ``print``.

    Returns
    -------
    Ensemble
        What a label means, and which are missing, is said at :class:`~consilience.Ensemble`. Text files have no types:
        there columns of whole numbers are integer labels, of other numbers floats, and anything else is text, blanks
        around it included; a number written with leading zeros is text.

    Examples
    --------
    >>> import io, consilience as cs
    >>> cs.io.read_labels(io.BytesIO(b"name,first,second\\nanna,1,a\\nbob,1,NA\\ncleo,2,b\\n"))
    Ensemble: 3 objects, 2 clusterings (2 to 2 clusters, 4 in all), 16.7% of labels missing
    """
    from ..ensemble import Ensemble

    name = shown(path)
    with ExitStack() as stack:
        raw = _raw_labels(path, name, stack, key=key, header=header, index=index, truth=truth)
    _check_rows(raw, name)
    _drop_counting(raw)
    check_unique(raw.names, "column name", "rename the columns", file=name)
    _select(raw, columns, name)
    try:
        ensemble = Ensemble(
            Columns(raw.columns) if raw.matrix is None else raw.matrix,
            clustering_names=raw.names,
            sample_names=raw.row_names,
            sample_weight=raw.weights,
            recipes=raw.recipes,
        )
    except InputError as error:
        raise FileError(f"{name}: {error}") from None
    if ensemble.n_samples == 1:
        raise FileError(f"{name} holds a single object; clustering needs at least two (rows are objects).")
    _say(on_note, name, raw.decisions)
    return ensemble


def read_features(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    column: str | None = None,
    key: str | None = None,
    header: bool | None = None,
    index: bool | None = None,
    on_note: OnNote | None = None,
) -> Table:
    """Read a table of numbers: rows are objects, columns are features.

    Parameters
    ----------
    path : path or binary file
        As for :func:`read_labels`. An ``.npz`` file may hold ``X``, or a sparse matrix as :func:`scipy.sparse.save_npz`
        writes it.
    column : str, optional
        A column that is no feature but something else, such as the task, group or site of each row; it may hold text.
        In a text file without header its position from 0; in an ``.npz`` or ``.mat`` file the name of an array beside
        the features.
    key : str, optional
        Which array of an ``.npz`` or ``.mat`` file; by default ``X`` and some usual other names.
    header, index : bool, optional
        Whether line 1 holds column names and column 1 row names; by default the reader decides and says so.
    on_note : callable, optional
        Called once with what was decided, for instance ``print``.

    Returns
    -------
    Table
        :class:`~consilience.Features`, with the ``column`` asked for and the reader's ``decisions``. A missing or infinite
        number is an error that says where it is.

    Examples
    --------
    >>> import io, consilience as cs
    >>> table = cs.io.read_features(io.BytesIO(b"name,width,height\\na,1.5,2\\nb,3,4.5\\n"))
    >>> table.sample_names, table.feature_names, table.X.tolist()
    (['a', 'b'], ['width', 'height'], [[1.5, 2.0], [3.0, 4.5]])
    """
    name = shown(path)
    with ExitStack() as stack:
        raw = _raw_features(path, name, stack, column=column, key=key, header=header, index=index)
    _check_rows(raw, name)
    if not raw.archive:  # where names are written on purpose
        _drop_counting(raw)
    check_unique(raw.column_names, "column name", "rename the columns", file=name)
    n, p = raw.values.shape
    if p == 0:
        raise FileError(f"{name} has no columns of features.")
    if n == 0:
        raise FileError(f"{name} has no rows.")
    if n == 1:
        raise FileError(f"{name} holds a single object; clustering needs at least two (rows are objects).")
    values = as_floats(raw.values)
    check_finite(values, raw.row_names, raw.column_names, what=name, first=1, error=FileError)
    cells = None if column is None else _tidy_column(raw.cells, n, column, name)
    _say(on_note, name, raw.decisions)
    return Table._of(values, raw.row_names, raw.column_names, raw.decisions, cells)


def names_in(path: str | os.PathLike[str] | BinaryIO) -> list[str]:
    """Names of the arrays of an ``.npz`` or ``.mat`` file, or of the columns of a table; empty where there is no header.

    Examples
    --------
    >>> import io, consilience as cs
    >>> cs.io.names_in(io.BytesIO(b"width,height\\n1.5,2\\n3,4.5\\n"))
    ['width', 'height']
    """
    name = shown(path)
    with ExitStack() as stack:
        kind, handle, gzipped, size = _open(path, stack)
        if kind == "text":
            text = TextTable(handle, name, labels=False, gzipped=gzipped, header=None, index=None, size=size)
            return list(text.layout.column_names or [])
        if kind == "parquet":
            return list(read_parquet(handle, name, labels=False, index=None)[0])
        return list(open_archive(kind, handle, name, stack).entries)


# Labels --------------------------------------------------------------------------------------------------------


def _raw_labels(path: Any, name: str, stack: ExitStack, *, key, header, index, truth) -> _Raw:
    kind, handle, gzipped, size = _open(path, stack)
    if kind == "text":
        text = TextTable(handle, name, labels=True, gzipped=gzipped, header=header, index=index, size=size)
        coded, row_names = text.labels()
        return _Raw(coded, text.layout.column_names, row_names, text.layout.decisions, is_table=True)
    if kind == "parquet":
        names, columns, row_names, decisions = read_parquet(handle, name, labels=True, index=index)
        if not columns:
            raise FileError(f"{name} has no columns of labels.")
        return _Raw(columns, names, row_names, decisions, is_table=True)
    archive = open_archive(kind, handle, name, stack)
    usable = {
        k: e
        for k, e in archive.entries.items()
        if len(e.shape) in (1, 2) and e.kind in "biufUSO" and not e.sparse
    }
    chosen = _choose(archive, usable, TRUTH_KEYS if truth else LABEL_KEYS, key, "labels")
    return _labels_from(archive, chosen)


def _recipes(text: str, n_clusterings: int, name: str) -> list[dict]:
    try:
        recipes = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(f"{name}: the entry 'recipes' is not JSON: {error}.") from None
    if (
        not isinstance(recipes, list)
        or len(recipes) != n_clusterings
        or not all(isinstance(recipe, dict) for recipe in recipes)
    ):
        raise FileError(
            f"{name}: the entry 'recipes' is not a list of {n_clusterings} JSON objects, one per clustering."
        )
    return recipes


def _labels_from(archive: Archive, key: str) -> _Raw:
    shape = archive.entries[key].shape
    if 0 in shape:
        raise FileError(
            f"{archive.name}: labels has shape {shape}: "
            + (
                "no clusterings. Give at least one column."
                if shape[0]
                else "no objects. Give at least two rows."
            )
        )
    if shape[0] > 1:  # a single row may be a vector lying on its side
        check_width(math.prod(shape[1:]), archive.name, labels=True)
    # The labels, their codes, and one copy on the way.
    ensure_fits(16 * math.prod(shape), what=archive.name, remedy="use fewer objects or clusterings")
    matrix = np.asarray(archive.load(key))
    if matrix.dtype.kind == "f":
        matrix = as_floats(matrix)  # single or double precision: half has no room to tell whole numbers
    decisions = (
        [] if isinstance(archive, NpyFile) or len(archive.entries) == 1 else [f"Took the array {key!r}."]
    )
    if (
        matrix.ndim == 2
        and matrix.shape[0] == 1 < matrix.shape[1]
        and not isinstance(archive, (NpyFile, NpzFile))
    ):
        matrix = matrix.T  # MATLAB has no vectors, only rows and columns
    if matrix.ndim == 2:
        check_width(matrix.shape[1], archive.name, labels=True)
    if matrix.ndim == 1:
        matrix = matrix[:, None]
        decisions.append(f"A vector of {matrix.shape[0]} labels is read as one clustering.")
    raw = _Raw([], matrix=matrix, decisions=decisions)
    if matrix.dtype.kind == "O":
        raw.columns, raw.matrix = [matrix[:, j] for j in range(matrix.shape[1])], None
    if key != "labels":
        return raw
    raw.row_names = _first_of(archive, ROW_KEYS, matrix.shape[0])
    raw.names = _first_of(archive, COLUMN_KEYS, matrix.shape[1])
    weights = archive.entries.get("sample_weight")
    if weights is not None and weights.kind in "biuf" and not weights.sparse:
        if math.prod(weights.shape) != matrix.shape[0]:
            raise FileError(
                f"{archive.name}: 'sample_weight' has the shape {weights.shape} for {matrix.shape[0]} objects."
            )
        raw.weights = np.asarray(archive.load("sample_weight"), float).ravel()
    if (recipes := _single_text(archive, "recipes")) is not None:
        raw.recipes = _recipes(recipes, matrix.shape[1], archive.name)
    listed_categories = [f"categories_{i}" in archive.entries for i in range(matrix.shape[1])]
    if any(listed_categories):
        raw.columns = [
            _coded(archive, i, matrix[:, i]) if there else matrix[:, i]
            for i, there in enumerate(listed_categories)
        ]
        raw.matrix = None
    return raw


def _coded(archive: Archive, position: int, codes: np.ndarray) -> Coded:
    """Codes with the categories stored beside them."""
    categories = np.asarray(archive.load(f"categories_{position}")).ravel()
    if codes.dtype.kind not in "biu":
        raise FileError(
            f"{archive.name}: 'labels' is of type {codes.dtype}, but beside 'categories_{position}' it must hold whole numbers."
        )
    codes = codes.astype(np.int64)
    if codes.size and (codes.max() >= len(categories) or codes.min() < -1):
        raise FileError(
            f"{archive.name}: column {position} of 'labels' has codes from {codes.min()} to {codes.max()}, "
            f"but 'categories_{position}' has {len(categories)} values."
        )
    return Coded(codes, categories)


def _select(raw: _Raw, columns: Sequence[str | int] | None, name: str) -> None:
    """Keep the columns asked for; of a file written by ``consensus`` the labels."""
    m = len(raw.columns) if raw.matrix is None else raw.matrix.shape[1]
    names = raw.names or [f"clustering {i}" for i in range(m)]
    if columns is None:
        if not raw.is_table or not {"label", "confidence"} <= set(names):
            return
        columns = [n for n in names if n != "confidence"]
        raw.decisions.append("Left out the column 'confidence'.")
    chosen = []
    for column in columns:
        if column in names:
            chosen.append(names.index(column))
        elif str(column).isdigit() and int(column) < m:
            chosen.append(int(column))
        else:
            raise FileError(f"{name} has no column {column!r}; it has {listed(map(repr, names), 8)}.")
    if raw.matrix is None:
        raw.columns = [raw.columns[i] for i in chosen]
    else:
        raw.matrix = raw.matrix[:, chosen]
    raw.names = [names[i] for i in chosen]
    if raw.recipes is not None:
        raw.recipes = [raw.recipes[i] for i in chosen]


def _check_rows(raw: _Raw | _RawTable, name: str) -> None:
    """Row names must be unique."""
    check_unique(
        raw.row_names,
        "row name",
        "make the names in column 1 unique, or drop it (or read with index=False)",
        file=name,
    )


def _drop_counting(raw: _Raw | _RawTable) -> None:
    """Names that only count the rows are none."""
    if raw.row_names is not None and raw.row_names == [str(i) for i in range(len(raw.row_names))]:
        raw.row_names = None
        raw.decisions.append("The row names only count the rows from 0 and are not kept.")


# Features ------------------------------------------------------------------------------------------------------


@dataclass
class _RawTable:
    """Features as a format hands them over."""

    values: Any
    row_names: list[str] | None
    column_names: list[str] | None
    decisions: list[str]
    cells: Any = None  # of the column asked for apart
    archive: bool = False


def _raw_features(path: Any, name: str, stack: ExitStack, *, column, key, header, index) -> _RawTable:
    kind, handle, gzipped, size = _open(path, stack)
    if kind == "text":
        text = TextTable(handle, name, labels=False, gzipped=gzipped, header=header, index=index, size=size)
        layout = text.layout
        if column is None:
            values, row_names = text.numbers()
            return _RawTable(values, row_names, layout.column_names, layout.decisions)
        columns, row_names = text.cells()
        names = layout.column_names or [str(j) for j in range(len(columns))]
        return _from_columns(columns, names, row_names, layout.decisions, column, name)
    if kind == "parquet":
        names, columns, row_names, decisions = read_parquet(handle, name, labels=False, index=index)
        return _from_columns(columns, names, row_names, decisions, column, name)
    archive = open_archive(kind, handle, name, stack)
    pieces = all(piece in archive.entries for piece in _SPARSE_PIECES[:3])
    if key is None and (pieces or {"data", "format"} <= set(archive.entries)):
        values = _sparse_from(archive)
        decisions = ["Read a sparse matrix."]
    else:
        usable = {k: e for k, e in archive.entries.items() if len(e.shape) in (1, 2) and e.kind in "biuf"}
        chosen = _choose(archive, usable, FEATURE_KEYS, key, "features")
        values = archive.load(chosen)
        decisions = [] if len(archive.entries) == 1 else [f"Took the array {chosen!r}."]
        if not hasattr(values, "tocsr"):
            if values.ndim == 1:
                values = values[:, None]
                decisions.append(f"A vector of {values.shape[0]} numbers is read as one feature.")
            if values.dtype.itemsize < 4 and values.dtype.kind in "biu":
                ensure_fits(
                    4 * values.size, what=f"{name} as float32", remedy="use fewer objects or features"
                )
            values = as_floats(values)
    n, p = values.shape
    cells = None if column is None else _array_cells(archive, column)
    row_names, column_names = _first_of(archive, ROW_KEYS, n), _first_of(archive, COLUMN_KEYS, p)
    return _RawTable(values, row_names, column_names, decisions, cells, archive=True)


def _from_columns(
    columns: list[Any], names: list[str], row_names: Any, decisions: list[str], apart: str | None, name: str
) -> _RawTable:
    """The columns of numbers side by side, and the cells of the one asked for apart."""
    if apart is not None and apart not in names:
        raise FileError(f"{name} has no column {apart!r}; it has {listed(map(repr, names), 10)}.")
    at = None if apart is None else names.index(apart)
    rest = [_numbers(cells, names[i], name) for i, cells in enumerate(columns) if i != at]
    if not rest and at is not None:
        raise FileError(f"{name} has no columns of features beside {apart!r}.")
    values = np.column_stack(rest) if rest else np.empty((0, 0))
    kept = [heading for i, heading in enumerate(names) if i != at]
    return _RawTable(values, row_names, kept, decisions, None if at is None else columns[at])


def _numbers(cells: Any, heading: str, name: str) -> np.ndarray:
    """One column of a table whose columns differ in kind."""
    if isinstance(cells, np.ndarray) and cells.dtype != object:
        return as_floats(cells)
    spelled = isinstance(cells, list)  # a text file; elsewhere text is no number, whatever it spells
    out = np.empty(len(cells))
    for i, cell in enumerate(cells):
        number = as_number(cell) if spelled else np.nan if cell is None else None
        if number is None:
            raise FileError(
                f"{name}, column {heading!r}, row {i + 1}: {short(str(cell))} is not a number; drop the column or encode it."
            )
        out[i] = number
    return out


def _array_cells(archive: Archive, key: str) -> Any:
    """The values of an array beside the features."""
    if key not in archive.entries:
        raise FileError(
            f"{archive.name} has no array {key!r}; it holds {listed(map(repr, archive.entries))}."
        )
    if archive.entries[key].kind in "USO":
        return archive.texts(key)
    return np.asarray(archive.load(key)).ravel().tolist()


def _tidy_column(cells: Any, n: int, column: str, name: str) -> np.ndarray:
    """Whole numbers where all cells are, else text; none may be missing."""
    texts = [str(cell).strip() for cell in cells]
    if len(texts) != n:
        raise FileError(f"{name}: {column!r} has {len(texts)} values for {n} rows.")
    for i, text in enumerate(texts):
        if is_missing(text):
            raise FileError(f"{name}, column {column!r}, row {i + 1} is missing; fill it in or drop the row.")
    # Only in their usual spelling: 01 and 1 are two names.
    whole = all(re.fullmatch(r"0|-?[1-9][0-9]{0,17}", text) for text in texts)
    return np.array([int(text) for text in texts] if whole else texts)


def _sparse_from(archive: Archive) -> Any:
    """The matrix stored as its pieces, as :func:`scipy.sparse.save_npz` does."""
    stored = _single_text(archive, "format")
    layout = "csr" if stored is None else stored
    if layout not in ("csr", "csc"):
        raise FileError(
            f"{archive.name} holds a sparse matrix in {layout!r} format; save it as CSR: save_npz(path, X.tocsr())."
        )
    refusal = archive.refusal(_SPARSE_PIECES)
    absent = [piece for piece in _SPARSE_PIECES[:3] if piece not in archive.entries]
    if refusal is not None:
        raise refusal
    if absent:
        raise FileError(
            f"{archive.name} holds a sparse matrix without {listed(map(repr, absent))}; write it again with save_npz."
        )
    data, indices, indptr = (np.asarray(archive.load(piece)).ravel() for piece in _SPARSE_PIECES[:3])
    if "shape" in archive.entries:
        stored_shape = np.asarray(archive.load("shape")).ravel()
        if stored_shape.dtype.kind not in "iu" or stored_shape.size != 2:
            raise FileError(
                f"{archive.name}: the pieces of the sparse matrix do not fit together: its shape is "
                f"{listed(map(repr, stored_shape.tolist()), 4)}, expected two whole numbers."
            )
        shape = tuple(stored_shape.tolist())
    else:
        other = int(indices.max()) + 1 if indices.size and indices.dtype.kind in "iu" else 0
        shape = (len(indptr) - 1, other) if layout == "csr" else (other, len(indptr) - 1)
    return sparse_from_pieces(archive.name, data, indices, indptr, shape, layout=layout)


# Common --------------------------------------------------------------------------------------------------------


def _open(path: Any, stack: ExitStack) -> tuple[str, BinaryIO, bool, int | None]:
    """(format, handle, gzipped, size in bytes)."""
    if is_stream(path):
        return "text", path, False, None
    handle = stack.enter_context(opened(path))
    kind, gzipped = format_of(path)
    return kind, handle, gzipped, None if is_special(path) else os.fstat(handle.fileno()).st_size


def _choose(
    archive: Archive, usable: dict[str, Entry], preferred: tuple[str, ...], key: str | None, what: str
) -> str:
    """The array meant: the key asked for, a usual name, or the only one there is."""
    there = listed((f"{k!r} {entry.shape}" for k, entry in archive.entries.items()), 10)
    refusal = archive.refusal((key,) if key else preferred)
    if key is not None:
        if key in usable:
            return key
        if refusal is not None:
            raise refusal
        if key in archive.entries:
            raise FileError(
                f"{archive.name}: {key!r} {archive.entries[key].shape} cannot be {what}; the file holds {there}."
            )
        raise FileError(f"{archive.name} has no array {key!r}; it holds {there}.")
    for candidate in preferred:
        if candidate in usable:
            return candidate
    if refusal is not None:
        raise refusal
    if len(usable) == 1:
        return next(iter(usable))
    raise FileError(
        f"{archive.name} holds {there or 'no arrays'}: none is called {listed(map(repr, preferred[:3]))}, so it is not "
        f"clear which are the {what}. Name one (key=..., or --key)."
    )


def _say(on_note: OnNote | None, name: str, decisions: list[str]) -> None:
    if on_note is not None and decisions:
        on_note(f"{name}: {' '.join(decisions)}")


def _first_of(archive: Archive, keys: tuple[str, ...], length: int) -> list[str] | None:
    """Names stored beside an array, if there are as many as needed."""
    for key in keys:
        entry = archive.entries.get(key)
        if entry is not None and entry.kind in "USO" and math.prod(entry.shape) == length:
            return archive.texts(key)
    return None


def _single_text(archive: Archive, key: str) -> str | None:
    """A text stored beside an array, if it is one."""
    entry = archive.entries.get(key)
    texts = archive.texts(key) if entry is not None and math.prod(entry.shape) == 1 else None
    return texts[0] if texts else None
