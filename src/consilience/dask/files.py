"""Features and labels in files larger than memory: Parquet, read by runs of row groups, and zarr."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
from dask.delayed import Delayed

from .._base.parameters import listed
from ..errors import FileError, InputError, MissingDependencyError, need
from ..io import check_writable, write_labels
from .engine import collect
from .ensemble import stacked
from .graphs import blocks_of, call

#: Rows of a block, unless a single row group has more.
ROWS = 250_000


class Run(NamedTuple):
    """Neighboring row groups of one file."""

    file: str
    groups: tuple[int, ...]
    rows: int


class Source(NamedTuple):
    """Lazy features or base clusterings, and where the names of their rows are.

    names : tasks of the row names of each block, or None.
    notes : what was decided about the columns.
    columns : their names, or None.
    """

    X: da.Array
    names: list[Delayed] | None
    notes: list[str]
    columns: list[str] | None = None


def open_features(path: str, *, index: bool | None = None, rows: int = ROWS) -> Source:
    """Features of a Parquet file, of a folder of such files, or of a zarr array.

    Files in a folder are taken in the order of their names. Sizes come from the headers of the files.

    index : whether column 1 holds row names; None means that it does if it is text. An index that pandas
    stored is taken for row names unless this is False, and is never a feature.
    """
    if str(path).rstrip("/").endswith(".zarr"):
        if find_spec("zarr") is None:
            raise MissingDependencyError(
                f"{path} is a zarr array; reading it needs the package 'zarr': pip install zarr"
            )
        X = da.from_zarr(str(path))
        if X.ndim != 2:
            raise FileError(f"{path} has shape {X.shape}; expected (n_samples, n_features).")
        return Source(X, None, [])
    parquet = need("pyarrow.parquet", "io", f"Reading {path}")
    files = _files(path)
    schema = parquet.read_schema(files[0])
    columns, names, notes = _columns(schema, str(path), index)
    runs = [run for file in files for run in _runs(parquet.ParquetFile(file).metadata, file, rows)]
    if not runs:
        raise FileError(f"{path} has no rows.")
    tasks = [call(_read, run, columns) for run in runs]
    lengths = tuple(run.rows for run in runs)
    X = stacked(tasks, lengths, dtype=_type(schema, columns), width=len(columns), name="parquet")
    called = None if names is None else [call(_read_names, run, names) for run in runs]
    return Source(X, called, notes, columns)


def open_labels(path: str, *, index: bool | None = None, rows: int = ROWS) -> Source:
    """Base clusterings, one per column, from the same kinds of files: numbers, or values of any type."""
    if str(path).rstrip("/").endswith(".zarr"):
        return open_features(path, index=index, rows=rows)
    parquet = need("pyarrow.parquet", "io", f"Reading {path}")
    files = _files(path)
    schema = parquet.read_schema(files[0])
    names = _stored_index(schema, str(path))
    own = [name for name in schema.names if name != names]
    notes = (
        [] if names is None else [f"Took the index {names!r}, which pandas stored in {path}, for row names."]
    )
    called_so = (
        bool(own)
        and own[0].lower() in ("name", "names", "id", "ids")
        and not _is_number(schema.field(own[0]))
    )
    if names is None and (index or (index is None and called_so)):
        names = own.pop(0)
        notes = [f"Took column {names!r} of {path} for row names, because of its name."]
    if not own:
        raise InputError(f"{path} has no columns of labels beside {names!r}.")
    runs = [run for file in files for run in _runs(parquet.ParquetFile(file).metadata, file, rows)]
    if not runs:
        raise FileError(f"{path} has no rows.")
    tasks = [call(_read_labels, run, own) for run in runs]
    X = stacked(tasks, tuple(run.rows for run in runs), dtype=np.dtype(object), width=len(own), name="labels")
    called = None if names is None or index is False else [call(_read_names, run, names) for run in runs]
    return Source(X, called, [] if called is None else notes, own)


def chosen(source: Source, columns: Sequence[str]) -> tuple[da.Array, list[str] | None]:
    """(the columns asked for, by name or position, and their names)."""
    if not columns or list(columns) == source.columns:
        return source.X, source.columns
    called = source.columns or []
    width = source.X.shape[1]
    own = []
    for column in columns:
        if column in called:
            own.append(called.index(column))
        elif column.isdigit() and int(column) < width:
            own.append(int(column))
        else:
            raise InputError(
                f"The files have no column {column!r}; they have "
                f"{listed([repr(name) for name in called]) or f'{width} without names'}."
            )
    return source.X[:, own], [called[i] for i in own] if called else None


def write_blocks(
    folder: str, labels: da.Array, *, confidence: Any = None, names: Sequence[Delayed] | None = None
) -> int:
    """Write labels and confidence to one Parquet file for each block, in order.

    Returns the number of files.
    """
    check_folder(folder)
    os.makedirs(folder, exist_ok=True)
    own = blocks_of(labels)
    sure: list[Any] = [None] * len(own) if confidence is None else blocks_of(confidence)
    called: Sequence[Any] = [None] * len(own) if names is None else names
    digits = max(5, len(str(len(own))))
    paths = [os.path.join(os.path.abspath(folder), f"part-{i:0{digits}d}.parquet") for i in range(len(own))]
    return sum(collect([call(_write, *block) for block in zip(paths, own, sure, called)], "writing labels"))


def check_folder(folder: str) -> None:
    """Raise before the work if labels could not be written after it."""
    need("pyarrow.parquet", "io", "Writing Parquet")
    if os.path.isdir(folder) and os.listdir(folder):
        raise FileError(
            f"{folder} is a folder with files in it, and labels would mix with them: give a new or empty one."
        )
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise FileError(
            f"{folder} is a file; labels of Dask features are written to a folder, one file for each block."
        )
    check_writable(folder.rstrip("/\\"), formats=False)


def _files(path: str) -> list[str]:
    place = Path(path)
    if place.is_dir():
        files = sorted(str(p) for p in place.rglob("*") if p.suffix in (".parquet", ".pq"))
        if not files:
            raise FileError(f"{path} is a folder without Parquet files (.parquet, .pq).")
        return files
    if not place.exists():
        raise FileError(f"{path} does not exist.")
    if place.suffix not in (".parquet", ".pq"):
        raise FileError(
            f"{path} is not a Parquet file: --dask reads .parquet, a folder of such files, or .zarr."
        )
    return [str(path)]


def _runs(metadata: Any, file: str, rows: int) -> list[Run]:
    """Row groups joined until each block has enough rows."""
    runs: list[Run] = []
    groups: list[int] = []
    held = 0
    for g in range(metadata.num_row_groups):
        groups.append(g)
        held += metadata.row_group(g).num_rows
        if held >= rows or g == metadata.num_row_groups - 1:
            if held:
                runs.append(Run(os.path.abspath(file), tuple(groups), held))
            groups, held = [], 0
    return runs


def _columns(schema: Any, path: str, index: bool | None) -> tuple[list[str], str | None, list[str]]:
    """(columns of features, the column of row names or None, what was decided)."""
    fields, notes, names = list(schema), [], None
    stored = _stored_index(schema, path)
    if stored is not None:
        fields = [field for field in fields if field.name != stored]
        if index is not False:
            names = stored
            notes.append(f"Took the index {stored!r}, which pandas stored in {path}, for row names.")
    elif index or (index is None and not _is_number(fields[0])):
        names = fields.pop(0).name
        if index is None:
            notes.append(f"Took column {names!r} of {path} for row names, because it holds no numbers.")
    odd = [repr(field.name) for field in fields if not _is_number(field)]
    if odd:
        raise InputError(
            f"{path} has columns that are not numbers: {listed(odd)}. Leave them out, or turn them into "
            f"numbers."
        )
    if not fields:
        raise InputError(f"{path} has no columns of numbers.")
    return [field.name for field in fields], names, notes


def _stored_index(schema: Any, path: str) -> str | None:
    """The column in which pandas stored the index; None if there is none, or if rows are merely numbered."""
    columns = (schema.pandas_metadata or {}).get("index_columns", [])
    names = [name for name in columns if isinstance(name, str)]
    if len(names) > 1:
        raise InputError(
            f"{path} has an index of {len(names)} columns, {listed([repr(name) for name in names])}: row "
            "names are one column. Store it after frame.reset_index(), with one of them for index."
        )
    return names[0] if names else None


def _is_number(field: Any) -> bool:
    import pyarrow.types as kinds

    return kinds.is_integer(field.type) or kinds.is_floating(field.type) or kinds.is_boolean(field.type)


def _type(schema: Any, columns: list[str]) -> np.dtype:
    """float32 where every column has it, else float64."""
    return np.dtype(
        np.float32
        if all(str(schema.field(name).type) in ("float", "halffloat") for name in columns)
        else np.float64
    )


# Tasks
# -------------------------------------------------------------------------------------------------------


def _read(run: Run, columns: list[str]) -> np.ndarray:
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(run.file) as file:
        table = file.read_row_groups(list(run.groups), columns=columns, use_threads=False)
        dtype = _type(file.schema_arrow, columns)
    out = np.empty((table.num_rows, len(columns)), dtype)
    for j, name in enumerate(columns):
        out[:, j] = table.column(name).to_numpy()
    return out


def _read_labels(run: Run, columns: list[str]) -> np.ndarray:
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(run.file) as file:
        table = file.read_row_groups(list(run.groups), columns=columns, use_threads=False)
    out = np.empty((table.num_rows, len(columns)), object)
    for j, name in enumerate(columns):
        out[:, j] = table.column(name).to_pylist()
    return out


def _read_names(run: Run, column: str) -> list[str]:
    import pyarrow.parquet as parquet

    with parquet.ParquetFile(run.file) as file:
        table = file.read_row_groups(list(run.groups), columns=[column], use_threads=False)
    return [str(value) for value in table.column(column).to_pylist()]


def _write(path: str, labels: np.ndarray, confidence: Any, names: Any) -> int:
    if len(labels) == 0:
        return 0
    write_labels(labels, path, sample_names=names, confidence=confidence)
    return 1
