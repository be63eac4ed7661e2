"""Reading feature tables, in every format."""

from __future__ import annotations

import os
import re
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from .._base.names import check_unique
from .._base.parameters import listed
from .._data.features import Features, check_finite
from .._data.labels import is_missing
from .._kernels.runtime.floats import as_floats
from .._kernels.runtime.memory import ensure_fits
from ..errors import FileError, InputError
from ._archives import Archive, open_archive
from ._cells import as_number, short
from ._formats import shown
from ._genes import look_like_genes
from ._parquet import read_parquet
from ._source import (
    COLUMN_KEYS,
    ROW_KEYS,
    OnNote,
    check_rows,
    choose,
    drop_counting,
    first_of,
    open_file,
    say,
    single_text,
)
from ._sparse import sparse_from_pieces
from ._text import TextTable

#: Names under which archives keep features, in order of preference.
FEATURE_KEYS = ("X", "x", "fea", "features", "data", "values")

_SPARSE_PIECES = ("data", "indices", "indptr", "shape")


class Table(Features):
    """Features that were read from a file.

    It is a :class:`~consilience.io.Features` with further facts from the file, and can be passed wherever
    features can.

    Attributes
    ----------
    X : array or CSR array (n_samples, n_features)
        Finite numbers, float32 where that holds them without loss, else float64.
    sample_names, feature_names : list of str, or None
        Names of rows and of columns, as found in the file. ``values`` is another name of X.
    column : array (n_samples,) or None
        The cells of the column that was asked for: whole numbers if all are, else text.
    decisions : list of str
        What the reader decided about separators, header and row names, one sentence each.

    Examples
    --------
    >>> import io, consilience as cs
    >>> table = cs.io.read_features(io.BytesIO(b"a,site,b\\n1,x,2\\n3,y,4\\n"), column="site")
    >>> table.feature_names, table.X.tolist(), table.column.tolist()
    (['a', 'b'], [[1.0, 2.0], [3.0, 4.0]], ['x', 'y'])
    """

    decisions: list[str]
    column: np.ndarray | None

    @classmethod
    def _of(
        cls,
        values: Any,
        sample_names: list[str] | None,
        feature_names: list[str] | None,
        decisions: list[str],
        column: np.ndarray | None = None,
    ) -> Table:
        """A table of numbers and names that have been checked."""
        self = cls.__new__(cls)
        self._set(values, sample_names, feature_names)
        self._squares_checked = False
        self.decisions, self.column = decisions, column
        return self

    @property
    def values(self) -> Any:
        """X."""
        return self.X


@dataclass
class _RawTable:
    """Features as they come from a file of any format."""

    values: Any
    row_names: list[str] | None
    column_names: list[str] | None
    decisions: list[str]
    cells: Any = None  # cells of the column that was asked for
    archive: bool = False


def _raw_features(path: Any, name: str, stack: ExitStack, *, column, key, header, index) -> _RawTable:
    kind, handle, gzipped, size = open_file(path, stack)
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
        chosen = choose(archive, usable, FEATURE_KEYS, key, "features")
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
    row_names, column_names = first_of(archive, ROW_KEYS, n), first_of(archive, COLUMN_KEYS, p)
    return _RawTable(values, row_names, column_names, decisions, cells, archive=True)


def _from_columns(
    columns: list[Any], names: list[str], row_names: Any, decisions: list[str], apart: str | None, name: str
) -> _RawTable:
    """The columns of numbers as a matrix, and the cells of the column that was asked for."""
    if apart is not None and apart not in names:
        raise FileError(f"{name} has no column {apart!r}; it has {listed(map(repr, names), 10)}.")
    at = None if apart is None else names.index(apart)
    rest = [_numbers(cells, names[i], name) for i, cells in enumerate(columns) if i != at]
    if not rest and at is not None:
        raise FileError(f"{name} has no columns of features besides {apart!r}.")
    values = np.column_stack(rest) if rest else np.empty((0, 0))
    kept = [heading for i, heading in enumerate(names) if i != at]
    return _RawTable(values, row_names, kept, decisions, None if at is None else columns[at])


def _numbers(cells: Any, heading: str, name: str) -> np.ndarray:
    """One column of a table whose columns differ in type."""
    if isinstance(cells, np.ndarray) and cells.dtype != object:
        return as_floats(cells)
    spelled = isinstance(cells, list)  # a text file; in other formats text is never a number
    out = np.empty(len(cells))
    for i, cell in enumerate(cells):
        number = as_number(cell) if spelled else np.nan if cell is None else None
        if number is None:
            raise FileError(
                f"{name}, column {heading!r}, row {i + 1}: {short(str(cell))} is not a number; drop the "
                f"column or encode it."
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
    """Whole numbers if all cells are, else text; none may be missing."""
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
    stored = single_text(archive, "format")
    layout = "csr" if stored is None else stored
    if layout not in ("csr", "csc"):
        raise FileError(
            f"{archive.name} holds a sparse matrix in {layout!r} format; save it as CSR: save_npz(path, "
            f"X.tocsr())."
        )
    refusal = archive.refusal(_SPARSE_PIECES)
    absent = [piece for piece in _SPARSE_PIECES[:3] if piece not in archive.entries]
    if refusal is not None:
        raise refusal
    if absent:
        raise FileError(
            f"{archive.name} holds a sparse matrix without {listed(map(repr, absent))}; write it again "
            f"with save_npz."
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


def _transpose(raw: _RawTable, column: str | None, name: str) -> None:
    """Transpose the table: columns of the file become the objects."""
    if column is not None:
        raise InputError(
            f"{name}: the column {column!r} cannot be read from a transposed table, whose columns are "
            "objects. Transpose the file first, or leave out transpose."
        )
    raw.values = raw.values.T.tocsr() if hasattr(raw.values, "tocsr") else np.ascontiguousarray(raw.values.T)
    raw.row_names, raw.column_names = raw.column_names, raw.row_names
    raw.decisions.append("Transposed: columns of the file are objects.")


def read_features(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    column: str | None = None,
    key: str | None = None,
    header: bool | None = None,
    index: bool | None = None,
    transpose: bool = False,
    least_rows: int = 2,
    on_note: OnNote | None = None,
) -> Table:
    """Read a table of numbers: rows are objects, columns are features.

    Parameters
    ----------
    path : path or binary file
        As for :func:`read_labels`. An ``.npz`` file may hold ``X``, or a sparse matrix as
        :func:`scipy.sparse.save_npz` writes it.
    column : str, optional
        A column that is not a feature, such as the task, group or site of each row; it may hold text. In a
        text file without header, give its position from 0; in an ``.npz`` or ``.mat`` file, the name of an
        array beside the features.
    key : str, optional
        Which array of an ``.npz`` or ``.mat`` file to read; by default ``X`` or some other usual name.
    header, index : bool, optional
        Whether line 1 holds column names and column 1 row names; by default the reader decides and reports
        it.
    transpose : bool, default=False
        Whether rows of the file are features and columns are objects, as in many tables of genes. If row
        names look like genes and this is not set, the reader says so.
    least_rows : int, default=2
        The smallest number of objects to accept; 1 for objects that a model is to label.
    on_note : callable, optional
        Called once with a note on what the reader decided, for instance ``print``.

    Returns
    -------
    Table
        :class:`~consilience.io.Features`, with the ``column`` that was asked for and the ``decisions`` of the
        reader. A missing or infinite number is an error that says where it is.

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
    if transpose:
        _transpose(raw, column, name)
    check_rows(raw, name)
    if not raw.archive:  # formats in which names are written on purpose
        drop_counting(raw)
    check_unique(raw.column_names, "column name", "rename the columns", file=name)
    n, p = raw.values.shape
    if p == 0:
        raise FileError(f"{name} has no columns of features.")
    if n == 0:
        raise FileError(f"{name} has no rows.")
    if n < least_rows:
        raise FileError(f"{name} holds a single object; clustering needs at least two (rows are objects).")
    values = as_floats(raw.values)
    check_finite(values, raw.row_names, raw.column_names, what=name, first=1, error=FileError)
    cells = None if column is None else _tidy_column(raw.cells, n, column, name)
    if not transpose and n > p and look_like_genes(raw.row_names):
        raw.decisions.append(
            f"The {n} row names look like genes ({listed(map(repr, (raw.row_names or [])[:2]))}, ...), and "
            f"rows are what is clustered: to cluster the columns, give transpose=True (--transpose)."
        )
    say(on_note, name, raw.decisions)
    return Table._of(values, raw.row_names, raw.column_names, raw.decisions, cells)
