"""Reading annotations of the objects: columns of any kind."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from .._base.names import check_unique
from .._data.labels import encode
from ._formats import shown
from ._read_labels import raw_labels
from ._source import OnNote, check_rows, drop_counting, say


class Annotations(NamedTuple):
    """Columns by name, with None for an empty cell, and the names of the rows, if there are any."""

    columns: dict[str, list[Any]]
    sample_names: list[str] | None


def read_annotations(
    path: str | os.PathLike[str] | BinaryIO,
    *,
    key: str | None = None,
    header: bool | None = None,
    index: bool | None = None,
    on_note: OnNote | None = None,
) -> Annotations:
    """Read columns of text or numbers that describe the objects, such as batch, age or treatment.

    Parameters
    ----------
    path : path or binary file
        As for :func:`read_labels`.
    key : str, optional
        Which array of an ``.npz`` or ``.mat`` file to read.
    header, index : bool, optional
        Whether line 1 holds column names and column 1 row names; by default the reader decides and reports
        it.
    on_note : callable, optional
        Called once with a note on what the reader decided, for instance ``print``.

    Returns
    -------
    Annotations
        ``columns``, a dict of lists by name, for ``annotations=`` of :func:`consilience.report`, and
        ``sample_names``. A cell that is empty, -1, NA or the like, as in :func:`read_labels`, is None.

    Examples
    --------
    >>> import io, consilience as cs
    >>> cs.io.read_annotations(io.BytesIO(b"name,batch,age\\nanna,A,31.5\\nbob,,40\\ncleo,B,28\\n")).columns
    {'batch': ['A', None, 'B'], 'age': [31.5, 40.0, 28.0]}
    """
    name = shown(path)
    with ExitStack() as stack:
        raw = raw_labels(path, name, stack, key=key, header=header, index=index, truth=False, transpose=False)
    check_rows(raw, name)
    drop_counting(raw)
    check_unique(raw.names, "column name", "rename the columns", file=name)
    held = raw.columns if raw.matrix is None else list(np.asarray(raw.matrix).T)
    names = raw.names or [f"column {i}" for i in range(len(held))]
    columns = {}
    for title, column in zip(names, held):
        codes, categories = encode(column, f"{name}, column {title!r}")
        columns[title] = list(map([*categories.tolist(), None].__getitem__, codes.tolist()))
    say(on_note, name, raw.decisions)
    return Annotations(columns, raw.row_names)
