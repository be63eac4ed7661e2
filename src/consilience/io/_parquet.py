"""Parquet through pyarrow: columns, and which of them holds the row names."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

import numpy as np

from ..errors import FileError, need
from ..kernels.memory import ensure_fits
from ._formats import damaged
from ._text import INDEX_HEADINGS, check_unique

_OURS = b"consilience.row_names"


def read_parquet(
    handle: BinaryIO, name: str, *, labels: bool, index: bool | None
) -> tuple[list[str], list[np.ndarray], list[str] | None, list[str]]:
    """(column names, columns, row names, decisions)."""
    pyarrow = need("pyarrow", "io", f"{name} is a Parquet file; reading it")
    parquet = need("pyarrow.parquet", "io", f"{name} is a Parquet file; reading it")
    try:
        file = parquet.ParquetFile(handle)
        ensure_fits(
            8 * file.metadata.num_rows * file.metadata.num_columns, what=name, remedy="store fewer columns"
        )
        table = file.read()
    except (pyarrow.ArrowException, OSError) as error:
        raise damaged(name, error, "a Parquet file") from None
    check_unique(table.column_names, "the column name", name, "rename the columns")
    position, decisions = _index_column(table, pyarrow, labels, index)
    names = None
    if position is not None:
        names = [str(value) for value in table.column(position).to_pylist()]
        table = table.remove_column(position)
    columns = [
        _to_numpy(table.column(i), column, name, pyarrow) for i, column in enumerate(table.column_names)
    ]
    return list(table.column_names), columns, names, decisions


def _index_column(table: Any, pyarrow: Any, labels: bool, index: bool | None) -> tuple[int | None, list[str]]:
    if index is False or table.num_columns == 0:
        return None, []
    metadata = table.schema.metadata or {}
    recorded = metadata.get(_OURS, b"").decode()
    if not recorded and b"pandas" in metadata:
        listed = json.loads(metadata[b"pandas"]).get("index_columns") or []
        recorded = listed[0] if len(listed) == 1 and isinstance(listed[0], str) else ""
    if recorded in table.column_names:
        return table.column_names.index(recorded), [
            f"Column {recorded!r} holds row names (recorded in the file)."
        ]
    first = table.column_names[0]
    if index:
        return 0, [f"Column 1 ({first!r}) holds row names (as asked)."]
    kind, types = table.schema.types[0], pyarrow.types
    text = types.is_string(kind) or types.is_large_string(kind)
    likely = (first.lower() in INDEX_HEADINGS and (text or types.is_integer(kind))) or (text and not labels)
    if table.num_columns > 1 and likely and len(table.column(0).unique()) == table.num_rows:
        return 0, [
            f"Column 1 ({first!r}) holds row names (by its heading or type, and no value occurs twice)."
        ]
    return None, []


def _to_numpy(column: Any, heading: str, name: str, pyarrow: Any) -> np.ndarray:
    types = pyarrow.types
    kind = column.type
    if types.is_dictionary(kind):
        column = column.cast(kind.value_type)
        kind = column.type
    if types.is_integer(kind):
        if column.null_count and types.is_signed_integer(kind):
            return column.fill_null(-1).to_numpy()
        return column.to_numpy()
    if types.is_floating(kind):
        return column.to_numpy()
    if types.is_boolean(kind) or types.is_null(kind):
        return column.cast(pyarrow.float64()).to_numpy()
    if types.is_string(kind) or types.is_large_string(kind):
        values = np.empty(len(column), object)
        values[:] = column.to_pylist()
        return values
    raise FileError(f"{name}, column {heading!r} has the type {kind}; expected numbers or text.")


def write_parquet(handle: Any, columns: dict[str, Any], row_names: str | None) -> None:
    """Columns to an open file; ``row_names`` says which of them names the rows."""
    pyarrow = need("pyarrow", "io", "Writing Parquet")
    parquet = need("pyarrow.parquet", "io", "Writing Parquet")
    table = pyarrow.table({name: pyarrow.array(values, from_pandas=True) for name, values in columns.items()})
    if row_names is not None:
        table = table.replace_schema_metadata({_OURS: row_names.encode()})
    parquet.write_table(table, handle)
