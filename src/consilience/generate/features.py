"""The door for features: every rule about X is checked here, once, for all generators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._frames import as_frame
from ..errors import InputError, InputTypeError
from ..kernels._jit import kernel
from ..validation import listed

#: Larger numbers cannot be squared and summed in float64.
LARGEST = 1e150


@dataclass
class Features:
    """A checked table of features."""

    X: Any  #: (n, d) C-contiguous float32 or float64, or CSR of one of them; finite
    sample_names: list[Any] | None
    column_names: list[str] | None

    @property
    def n_samples(self) -> int:
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    def take(self, rows: np.ndarray) -> Features:
        """The table of some objects."""
        names = None if self.sample_names is None else [self.sample_names[i] for i in rows]
        return Features(self.X[rows], names, self.column_names)

    def distinct_rows(self, enough: int) -> int:
        """Number of different rows, or any number >= ``enough`` as soon as that many were met."""
        seen: set[int] = set()
        size = max(1024, 2 * enough)
        for start in range(0, self.n_samples, size):
            seen.update(self._hashes(start, min(start + size, self.n_samples)).tolist())
            if len(seen) >= enough:
                break
        return len(seen)

    def _hashes(self, start: int, stop: int) -> np.ndarray:
        """One 64-bit number per row; equal rows have equal numbers, and minus zero is zero."""
        block = self.X[start:stop]
        if not sp.issparse(block):
            return _hash_dense(block.astype(np.float64) + 0.0)
        block = sp.csr_array(block, copy=True)
        block.sum_duplicates()
        block.eliminate_zeros()
        values = block.data.astype(np.float64).view(np.uint64)
        return _hash_sparse(values, block.indices.astype(np.int64), block.indptr.astype(np.int64))

    def check_k(self, k: int, name: str = "k") -> None:
        """Raise unless ``k`` clusters can be had."""
        n = self.n_samples
        if k > n:
            raise InputError(f"{name}={k} exceeds the {n} objects in X; choose a value between 1 and {n}.")
        distinct = self.distinct_rows(k)
        if k > distinct:
            raise InputError(
                f"{name}={k} exceeds the {distinct} distinct rows of X ({n} objects, the others repeat them); "
                f"choose a value between 1 and {distinct}."
            )


def check_features(X: Any) -> Features:
    """Accept arrays, data frames (any library), nested lists and sparse matrices; word what is wrong otherwise."""
    if isinstance(X, Features):
        return X
    sample_names = column_names = None
    if sp.issparse(X):
        values = _from_sparse(X)
    else:
        frame = as_frame(X)
        if frame is not None:
            values, sample_names, column_names = _from_frame(X, frame)
        else:
            values = _from_array(X)
    _check_shape(values)
    _check_finite(values, sample_names, column_names)
    return Features(values, sample_names, column_names)


def _from_frame(native: Any, frame: Any) -> tuple[np.ndarray, list[Any] | None, list[str]]:
    index = getattr(native, "index", None)
    sample_names = None if index is None or type(index).__name__ == "RangeIndex" else list(index)
    if sample_names is not None and len(set(sample_names)) < len(sample_names):
        counts: dict[Any, int] = {}
        for name in sample_names:
            counts[name] = counts.get(name, 0) + 1
        repeated = [repr(name) for name, count in counts.items() if count > 1]
        raise InputError(
            f"Row names are not unique: {listed(repeated)} appear more than once; "
            "rename them, or drop the names with X.reset_index(drop=True)."
        )
    column_names = [str(name) for name in frame.columns]
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        return np.empty(frame.shape), sample_names, column_names
    columns = []
    for name, column in zip(column_names, frame.iter_columns()):
        values = column.to_numpy()
        if values.dtype.kind in "mM" or (values.dtype.kind not in "biuf" and values.dtype.kind not in "OUST"):
            raise InputError(
                f"Column {name!r} holds {column.dtype} values, which have no distance here; "
                "turn it into numbers or drop it."
            )
        if values.dtype.kind not in "biuf":
            values = _numbers(values.reshape(-1, 1), sample_names, [name]).ravel()
        columns.append(values)
    return _floats(np.stack(columns, axis=1)), sample_names, column_names


def _from_array(X: Any) -> np.ndarray:
    if hasattr(X, "n_clusterings") and hasattr(X, "compress"):
        raise InputError(
            "X is an Ensemble already; generators take features. Pass it to a consensus method instead."
        )
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    try:
        values = np.asarray(X)
    except ValueError as error:
        raise InputError(
            f"X is not a table: its rows have different lengths ({error}). Give every object the same features."
        ) from None
    if values.ndim == 1:
        raise InputError(
            f"X has shape {values.shape}: a table with one row per object is needed. Pass X.reshape(-1, 1) if these are "
            "values of one feature, or X.reshape(1, -1) if they are one object."
        )
    if values.ndim != 2:
        raise InputError(
            f"X has shape {values.shape}: a table (objects, features) is needed. Flatten the others with "
            "X.reshape(len(X), -1)."
            if values.ndim > 2
            else f"X={X!r} is not a table: give an array of shape (objects, features)."
        )
    if values.dtype.kind == "c":
        raise InputError(
            f"X holds complex numbers ({values.dtype}). Complex data not supported: pass real and imaginary parts as columns."
        )
    if values.dtype.kind not in "biuf":
        values = _numbers(values, None, None)
    return _floats(values)


def _from_sparse(X: Any) -> Any:
    if X.ndim != 2:
        raise InputError(f"X is a sparse array of shape {X.shape}: a table (objects, features) is needed.")
    if X.dtype.kind not in "biuf":
        raise InputError(f"X is a sparse matrix of {X.dtype}: real numbers are needed.")
    values = sp.csr_array(X)
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(_float_type(values.dtype))
    if not values.has_canonical_format:
        values = values.copy()
        values.sum_duplicates()
    return values


def _numbers(cells: np.ndarray, rows: list[Any] | None, columns: list[str] | None) -> np.ndarray:
    """Cells of an object or text array as float64; None is NaN, text is named."""
    out = np.empty(cells.shape)
    for (i, j), cell in np.ndenumerate(cells):
        if cell is None or type(cell).__name__ == "NAType":
            out[i, j] = np.nan
            continue
        if isinstance(cell, str):
            raise InputError(
                f"X holds text: {str(cell)!r} {_at(i, j, rows, columns)}. Every feature must be a number: "
                "drop the column or encode it first (scikit-learn's OneHotEncoder or OrdinalEncoder)."
            )
        try:
            out[i, j] = float(cell)
        except (TypeError, ValueError) as error:
            raise InputTypeError(
                f"X holds {cell!r} {_at(i, j, rows, columns)}, which is not a number: {error}."
            ) from None
    return out


def _float_type(dtype: np.dtype) -> type:
    """float32 for what it holds exactly (small integers, half precision), else float64."""
    exact = dtype.kind in "biu" and dtype.itemsize <= 2
    return np.float32 if exact or dtype in (np.float16, np.float32) else np.float64


def _floats(values: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(values, dtype=_float_type(values.dtype))


def _check_shape(values: Any) -> None:
    n, d = values.shape
    if n == 0:
        raise InputError(f"X has shape {values.shape}: no objects. Give at least two rows.")
    if d == 0:
        raise InputError(f"X has 0 feature(s) (shape={values.shape}) while a minimum of 1 is required.")
    if n == 1:
        raise InputError(
            f"X has shape {values.shape}, 1 sample: a single object cannot be clustered. Give at least two rows; "
            "pass X.T if the rows are features."
        )


def _check_finite(values: Any, rows: list[Any] | None, columns: list[str] | None) -> None:
    flat = values.data if sp.issparse(values) else values
    if flat.size == 0:
        return
    low, high = float(flat.min()), float(flat.max())
    if low >= -LARGEST and high <= LARGEST:  # false for NaN too
        return
    wrong = ~np.isfinite(flat)
    if not wrong.any():
        i, j = _first(values, np.abs(flat) > LARGEST)
        raise InputError(
            f"X holds {flat[np.abs(flat) > LARGEST][0]:.3g} {_at(i, j, rows, columns)}: numbers beyond {LARGEST:g} cannot be "
            "squared. Scale X first (scikit-learn's StandardScaler)."
        )
    missing = int(np.isnan(flat).sum())
    infinite = int(wrong.sum()) - missing
    parts = [
        f"{count} {name}{'s' if count > 1 else ''}"
        for count, name in ((missing, "missing value"), (infinite, "infinite value"))
        if count
    ]
    i, j = _first(values, wrong)
    kinds = " (NaN)" if not infinite else " (inf)" if not missing else " (NaN and inf)"
    raise InputError(
        f"X contains {' and '.join(parts)}{kinds}, the first {_at(i, j, rows, columns)}. "
        "Fill them in (scikit-learn's SimpleImputer) or drop those rows or columns."
    )


def _first(values: Any, mask: np.ndarray) -> tuple[int, int]:
    """Row and column of the first marked entry."""
    if sp.issparse(values):
        p = int(np.flatnonzero(mask)[0])
        return int(np.searchsorted(values.indptr, p, side="right")) - 1, int(values.indices[p])
    i, j = np.unravel_index(int(mask.argmax()), mask.shape)
    return int(i), int(j)


def _at(i: int, j: int, rows: list[Any] | None, columns: list[str] | None) -> str:
    row = f"row {i}" + (f" ({rows[i]!r})" if rows else "")
    if not columns:
        return f"in {row}, column {j}"
    name = columns[j] if j < len(columns) else j
    return f"in {row}, column {name!r}"


@kernel()
def _mix(h, value):
    h = (h ^ value) * np.uint64(0x9E3779B97F4A7C15)
    return h ^ (h >> np.uint64(29))


@kernel()
def _hash_rows(bits):
    out = np.empty(bits.shape[0], np.uint64)
    for i in range(bits.shape[0]):
        h = np.uint64(0x243F6A8885A308D3)
        for c in range(bits.shape[1]):
            h = _mix(h, bits[i, c])
        out[i] = h
    return out


def _hash_dense(block: np.ndarray) -> np.ndarray:
    return _hash_rows(block.view(np.uint64))


@kernel()
def _hash_sparse(values, indices, indptr):
    out = np.empty(indptr.shape[0] - 1, np.uint64)
    for i in range(out.shape[0]):
        h = np.uint64(0x243F6A8885A308D3)
        for p in range(indptr[i], indptr[i + 1]):
            h = _mix(_mix(h, np.uint64(indices[p])), values[p])
        out[i] = h
    return out
