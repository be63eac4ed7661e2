"""Parquet through pyarrow: columns, and which of them holds the row names."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

import numpy as np

from .._base.names import check_unique
from .._kernels.runtime.memory import ensure_fits
from ..errors import FileError, need
from ._formats import guarded, reason
from ._layout import INDEX_HEADINGS

#: Our note of the column that holds row names: as we write it, and as it was written before.
_OURS = (b"consilience.sample_names", b"consilience.row_names")


def read_parquet(
    handle: BinaryIO, name: str, *, labels: bool, index: bool | None
) -> tuple[list[str], list[np.ndarray], list[str] | None, list[str]]:
    """(column names, columns, row names, decisions)."""
    pyarrow = need("pyarrow", "io", f"{name} is a Parquet file; reading it")
    need("pyarrow.parquet", "io", f"{name} is a Parquet file; reading it")
    # All of it is guarded, not only the reading: names and values are decoded when they are used.
    with guarded(name, "a Parquet file"):
        table = _read_table(handle, name, pyarrow)
        check_unique(table.column_names, "column name", "rename the columns", file=name)
        columns = [
            _to_numpy(table.column(i), column, name, pyarrow) for i, column in enumerate(table.column_names)
        ]
        headings = list(table.column_names)
        position, decisions = _index_column(table, columns, pyarrow, labels, index)
        names = None
        if position is not None:
            names = [str(value) for value in columns.pop(position).tolist()]
            headings.pop(position)
        return headings, columns, names, decisions


def _read_table(handle: BinaryIO, name: str, pyarrow: Any) -> Any:
    """The table, with its texts as codes and a dictionary: a text that occurs in every row is held once."""
    file = pyarrow.parquet.ParquetFile(handle)
    metadata, schema = file.metadata, file.schema_arrow
    remedy = "store fewer columns, or shorter texts"
    ensure_fits(8 * metadata.num_rows * metadata.num_columns, what=name, remedy=remedy)
    texts = [field.name for field in schema if _is_text(field.type, pyarrow)]
    if texts:
        file.close(force=False)
        handle.seek(0)
        file = pyarrow.parquet.ParquetFile(handle, read_dictionary=texts)
    parts = []
    for group in range(metadata.num_row_groups):
        # As it is once unpacked, before a dictionary is expanded. (The columns say it too, but pyarrow's door
        # to them ends the process where their notes are damaged.)
        promised = metadata.row_group(group).total_byte_size
        ensure_fits(2 * promised, what=name, remedy=remedy)
        parts.append(file.read_row_group(group))
    return pyarrow.concat_tables(parts) if parts else file.read()


def _is_text(kind: Any, pyarrow: Any) -> bool:
    return pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind)


def _index_column(
    table: Any, columns: list[np.ndarray], pyarrow: Any, labels: bool, index: bool | None
) -> tuple[int | None, list[str]]:
    if index is False or table.num_columns == 0:
        return None, []
    recorded = _recorded_index(table.schema.metadata or {})
    if recorded in table.column_names:
        return table.column_names.index(recorded), [
            f"Column {recorded!r} holds row names (recorded in the file)."
        ]
    first = table.column_names[0]
    if index:
        return 0, [f"Column 1 ({first!r}) holds row names (as asked)."]
    kind = table.schema.types[0]
    text = _is_text(kind.value_type if pyarrow.types.is_dictionary(kind) else kind, pyarrow)
    likely = (first.lower() in INDEX_HEADINGS and (text or pyarrow.types.is_integer(kind))) or (
        text and not labels
    )
    if table.num_columns > 1 and likely and len(set(columns[0].tolist())) == table.num_rows:
        return 0, [
            f"Column 1 ({first!r}) holds row names (by its heading or type, and no value occurs twice)."
        ]
    return None, []


def _recorded_index(metadata: dict[bytes, bytes]) -> str | None:
    """The column that holds row names according to the metadata of the file: ours, or those of pandas."""
    for key in _OURS:
        if key in metadata:
            return metadata[key].decode()
    notes = json.loads(metadata.get(b"pandas", b"{}"))
    listed = notes.get("index_columns") if isinstance(notes, dict) else None
    return listed[0] if isinstance(listed, list) and len(listed) == 1 and isinstance(listed[0], str) else None


def _to_numpy(column: Any, heading: str, name: str, pyarrow: Any) -> np.ndarray:
    types = pyarrow.types
    kind = column.type
    if types.is_dictionary(kind) and _is_text(kind.value_type, pyarrow):
        return np.concatenate([np.empty(0, object), *map(_spelled_out, column.chunks)])
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if types.is_integer(kind) and column.null_count:
        if types.is_signed_integer(kind):
            return column.fill_null(-1).to_numpy()
        values: np.ndarray = np.empty(len(column), object)
        values[:] = column.to_pylist()  # as floats large numbers would lose digits
        return values
    if types.is_integer(kind) or types.is_floating(kind):
        return column.to_numpy()
    if types.is_boolean(kind) or types.is_null(kind):
        return column.cast(pyarrow.float64()).to_numpy()
    raise FileError(f"{name}, column {heading!r} has the type {kind}; expected numbers or text.")


def _spelled_out(chunk: Any) -> np.ndarray:
    """The texts of dictionary-encoded values; equal ones are one object."""
    table: np.ndarray = np.empty(len(chunk.dictionary) + 1, object)
    table[:-1] = chunk.dictionary.to_pylist()
    codes = chunk.indices.fill_null(len(chunk.dictionary)).to_numpy(zero_copy_only=False)
    return table[codes]


def write_parquet(handle: Any, columns: dict[str, Any], index: str | None, name: str) -> None:
    """Columns to an open file; ``index`` says which of them names the rows."""
    pyarrow = need("pyarrow", "io", "Writing Parquet")
    parquet = need("pyarrow.parquet", "io", "Writing Parquet")
    arrays = {}
    for heading, values in columns.items():
        try:
            arrays[heading] = pyarrow.array(values, from_pandas=True)
        except (pyarrow.ArrowException, OverflowError, TypeError, ValueError) as error:
            raise FileError(
                f"{name}: column {heading!r} cannot be kept in Parquet: {reason(error)}; give it values of "
                f"one type."
            ) from None
    table = pyarrow.table(arrays)
    if index is not None:
        table = table.replace_schema_metadata({_OURS[0]: index.encode()})
    parquet.write_table(table, handle)
