"""Reading ensembles, in every format."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from .._base.names import check_unique
from .._base.parameters import listed
from .._data.ensemble import unquestioned
from .._data.labels import Coded, Columns, Stored
from .._kernels.runtime.floats import as_floats
from .._kernels.runtime.memory import ensure_fits
from ..errors import FileError, InputError
from ._archives import Archive, NpyFile, NpzFile, open_archive
from ._cells import label_values
from ._formats import shown
from ._layout import check_width
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
from ._text import TextTable

if TYPE_CHECKING:
    from .._data.ensemble import Ensemble

#: Names under which archives keep label matrices and true classes, in order of preference.
_MATRIX_KEYS = ("labels", "L", "E", "members", "baseCls", "base", "ensemble", "clusterings")
LABEL_KEYS = (*_MATRIX_KEYS, "label", "y", "gnd")
TRUTH_KEYS = ("y", "Y", "truth", "gnd", "gt", "target", "classes", "class", "label", "labels")


@dataclass
class _Raw:
    """Labels as they come from a file of any format."""

    columns: list[Any]
    names: list[str] | None = None
    row_names: list[str] | None = None
    decisions: list[str] = field(default_factory=list)
    recipes: list[dict] | None = None
    weights: np.ndarray | None = None
    matrix: np.ndarray | None = None  # instead of columns, where the format has one
    is_table: bool = False  # text or Parquet, in which a consensus is written with its confidence


def read_labels(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    columns: Sequence[str | int] | None = None,
    key: str | None = None,
    header: bool | None = None,
    index: bool | None = None,
    truth: bool = False,
    transpose: bool = False,
    least_rows: int = 2,
    on_note: OnNote | None = None,
) -> Ensemble:
    """Read label vectors: rows are objects, columns are clusterings.

    Parameters
    ----------
    path : path or binary file
        ``.csv``, ``.tsv``, ``.txt`` (also ``.gz``), ``.npy``, ``.npz``, ``.parquet`` or ``.mat``; the format
        of an open binary file is recognized by its first bytes.
    columns : list of str or int, optional
        Which clusterings to keep, by name or by position from 0; all by default. A file with the columns
        ``label`` and ``confidence``, as ``consilience consensus`` writes it, gives ``label`` alone.
    key : str, optional
        Which array of an ``.npz`` or ``.mat`` file to read; by default ``labels`` or some other usual name.
    header, index : bool, optional
        Whether line 1 holds column names and column 1 row names; by default the reader decides and reports
        it.
    truth : bool, default=False
        Whether to prefer the array of true classes (``y``, ``gnd``, ...) if an archive has several arrays.
    transpose : bool, default=False
        Whether rows of the file are clusterings and columns are objects.
    least_rows : int, default=2
        The smallest number of objects to accept. Use 1 for objects that a model is to label: then neither few
        rows nor columns without any label count as mistakes.
    on_note : callable, optional
        Called once with a note on what the reader decided, for instance ``print``.

    Returns
    -------
    Ensemble
        See :class:`~consilience.Ensemble` for what labels mean and which of them are missing. Text files have
        no types: columns of whole numbers become integer labels, columns of other numbers become floats, and
        anything else is text, including blanks around it. A number written with leading zeros is text.

    Examples
    --------
    >>> import io, consilience as cs
    >>> cs.io.read_labels(io.BytesIO(b"name,first,second\\nanna,1,a\\nbob,1,NA\\ncleo,2,b\\n"))
    Ensemble: 3 objects, 2 clusterings (2 to 2 clusters, 4 in all), 16.7% of labels missing
    """
    from .._data.ensemble import Ensemble

    name = shown(path)
    with ExitStack() as stack:
        raw = raw_labels(
            path, name, stack, key=key, header=header, index=index, truth=truth, transpose=transpose
        )
    check_rows(raw, name)
    drop_counting(raw)
    check_unique(raw.names, "column name", "rename the columns", file=name)
    _select(raw, columns, name)
    held = Columns(raw.columns) if raw.matrix is None else Stored(raw.matrix)
    try:
        ensemble = Ensemble(
            held if least_rows > 1 else unquestioned(held),
            clustering_names=raw.names,
            sample_names=raw.row_names,
            sample_weight=raw.weights,
            recipes=raw.recipes,
        )
    except InputError as error:
        raise FileError(f"{name}: {error}") from None
    if ensemble.n_samples < least_rows:
        raise FileError(f"{name} holds a single object; clustering needs at least two (rows are objects).")
    say(on_note, name, raw.decisions)
    return ensemble


def raw_labels(path: Any, name: str, stack: ExitStack, *, key, header, index, truth, transpose) -> _Raw:
    kind, handle, gzipped, size = open_file(path, stack)
    if kind == "text":
        text = TextTable(
            handle,
            name,
            labels=True,
            gzipped=gzipped,
            header=header,
            index=index,
            size=size,
            transpose=transpose,
        )
        if transpose:  # text has no types: each row is read like a column
            cells, row_names = text.cells()
            columns = [label_values(list(row)) for row in zip(*cells)]
            return _turned(columns, row_names, text.layout.column_names, text.layout.decisions)
        coded, row_names = text.labels()
        return _Raw(coded, text.layout.column_names, row_names, text.layout.decisions, is_table=True)
    if kind == "parquet":
        names, columns, row_names, decisions = read_parquet(handle, name, labels=True, index=index)
        if not columns:
            raise FileError(f"{name} has no columns of labels.")
        if transpose:
            rows = np.array([column.astype(object) for column in columns], object).T
            return _turned(list(rows), row_names, names, decisions)
        return _Raw(columns, names, row_names, decisions, is_table=True)
    archive = open_archive(kind, handle, name, stack)
    usable = {
        k: e
        for k, e in archive.entries.items()
        if len(e.shape) in (1, 2) and e.kind in "biufUSO" and not e.sparse
    }
    chosen = choose(archive, usable, TRUTH_KEYS if truth else LABEL_KEYS, key, "labels")
    raw = _labels_from(archive, chosen, transpose)
    if not transpose:
        return raw
    if raw.recipes is not None or any(isinstance(column, Coded) for column in raw.columns):
        raise FileError(f"{name} was written with its clusterings in columns; read it without transpose.")
    matrix = np.column_stack(raw.columns) if raw.matrix is None else raw.matrix
    return _turned(list(matrix), raw.row_names, raw.names, raw.decisions, is_table=False)


def _turned(
    columns: list[Any],
    names: list[str] | None,
    row_names: list[str] | None,
    decisions: list[str],
    *,
    is_table: bool = True,
) -> _Raw:
    """Labels with the rows of the file as clusterings."""
    decisions = [*decisions, "Transposed: rows of the file are clusterings."]
    return _Raw(columns, names, row_names, decisions, is_table=is_table)


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


def _labels_from(archive: Archive, key: str, transpose: bool) -> _Raw:
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
        check_width(math.prod(shape[1:]), archive.name, labels=not transpose)
    # Memory for the labels, their codes, and one temporary copy.
    ensure_fits(16 * math.prod(shape), what=archive.name, remedy="use fewer objects or clusterings")
    matrix = np.asarray(archive.load(key))
    if matrix.dtype.kind == "f":
        matrix = as_floats(matrix)  # half precision cannot tell large whole numbers apart
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
        check_width(matrix.shape[1], archive.name, labels=not transpose)
    if matrix.ndim == 1:
        matrix = matrix[:, None]
        decisions.append(f"A vector of {matrix.shape[0]} labels is read as one clustering.")
    raw = _Raw([], matrix=matrix, decisions=decisions)
    if matrix.dtype.kind == "O":
        raw.columns, raw.matrix = [matrix[:, j] for j in range(matrix.shape[1])], None
    if key in (
        "label",
        "labels",
    ):  # as we write them; beside other arrays, such names may mean something else
        raw.row_names = first_of(archive, ROW_KEYS, matrix.shape[0])
    if key != "labels":
        return raw
    raw.names = first_of(archive, COLUMN_KEYS, matrix.shape[1])
    weights = archive.entries.get("sample_weight")
    if weights is not None and weights.kind in "biuf" and not weights.sparse:
        if math.prod(weights.shape) != matrix.shape[0]:
            raise FileError(
                f"{archive.name}: 'sample_weight' has the shape {weights.shape} for {matrix.shape[0]} "
                f"objects."
            )
        raw.weights = np.asarray(archive.load("sample_weight"), float).ravel()
    if (recipes := single_text(archive, "recipes")) is not None:
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
            f"{archive.name}: 'labels' is of type {codes.dtype}, but beside 'categories_{position}' it "
            f"must hold whole numbers."
        )
    codes = codes.astype(np.int64)
    if codes.size and (codes.max() >= len(categories) or codes.min() < -1):
        raise FileError(
            f"{archive.name}: column {position} of 'labels' has codes from {codes.min()} to {codes.max()}, "
            f"but 'categories_{position}' has {len(categories)} values."
        )
    return Coded(codes, categories)


def _select(raw: _Raw, columns: Sequence[str | int] | None, name: str) -> None:
    """Keep the columns that were asked for; from a file written by ``consensus``, the labels."""
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
