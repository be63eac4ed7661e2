"""The entrance for features: every rule about X is checked here, once, for everything that takes features."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._base.names import check_count, check_unique
from .._base.parameters import check_weights, checked_csr, listed, positions_of
from .._kernels.labels.distinct import row_hashes
from .._kernels.runtime.floats import as_floats
from ..errors import ConsilienceError, InputError, InputTypeError
from .containers import refuse_foreign, shown, unrolled
from .frames import as_array, as_frame, in_order_of, row_names
from .mixed import is_gap, refuse_columns

__all__ = ["Features"]

#: Beyond this number, squares and their products with each other and with weights leave the range of float64;
#: so they do if not even the largest number reaches the second bound.
LARGEST, SMALLEST = 1e90, 1e-60


class Features:
    """A checked table of features: rows are objects, columns are features.

    Generators, the pipeline, the multi-task methods, plots and files all check features by this class, so
    what it accepts is accepted everywhere. Once made, it is not checked again. Numbers are copied only if
    they must be converted, so do not change X afterwards.

    Parameters
    ----------
    X : array, data frame (any library), nested lists, sparse matrix or Features
        Finite real numbers. float32 and float64 are kept; other numbers become float32 if it represents them
        exactly, else float64.
    sample_names, feature_names : sequence, optional
        By default those of the data frame.
    sample_weight : array (n_samples,), optional
        Positive weights of the objects.
    least_rows : int, default 2
        The smallest number of objects that is accepted.

    Attributes
    ----------
    X : array or CSR array (n_samples, n_features)
        C-contiguous or canonical, float32 or float64.
    sample_names, feature_names : list or None
    sample_weight : array (n_samples,) or None

    Examples
    --------
    >>> import consilience as cs
    >>> features = cs.io.Features([[1, 2], [3, 4], [1, 2]], sample_names=["a", "b", "c"])
    >>> features
    Features: 3 objects, 2 features (float64)
    >>> features.take([0, 2]).sample_names
    ['a', 'c']
    >>> cs.generate.kmeans(features, n_clusterings=2, n_clusters=2).sample_names
    ['a', 'b', 'c']
    """

    def __init__(
        self,
        X: Any,
        *,
        sample_names: Sequence[Any] | None = None,
        feature_names: Sequence[Any] | None = None,
        sample_weight: Any = None,
        least_rows: int = 2,
    ):
        if isinstance(X, Features):
            self._set(X.X, X.sample_names, X.feature_names, X.sample_weight)
            self._distinct, self._all_counted = X._distinct, X._all_counted
            check_rows(X.shape, least_rows)
            X.check_squares()
        else:
            self._set(*_read(X, least_rows))
        n, d = self.shape
        if sample_names is not None:
            check_not_of_columns(sample_names, (n, d), "sample_names")
            self.sample_names = check_count(sample_names, n, "sample_names", "objects")
            check_unique(self.sample_names, "sample name", "rename the rows or drop the copies")
        if feature_names is not None:
            names = check_count(feature_names, d, "feature_names", "features")
            self.feature_names = [str(name) for name in names]
        if sample_weight is not None:
            check_not_of_columns(sample_weight, (n, d), "sample_weight")
            self.sample_weight = check_weights(in_order_of(self.sample_names, sample_weight), n)

    X: Any
    sample_names: list[Any] | None
    feature_names: list[str] | None
    sample_weight: np.ndarray | None
    _distinct = 0  # rows known to differ
    _all_counted = False  # whether there are no others
    _squares_checked = True  # False if read from a file, which may hold any finite number

    def _set(self, X: Any, sample_names: Any, feature_names: Any, sample_weight: Any = None) -> None:
        self.X, self.sample_names, self.feature_names = X, sample_names, feature_names
        self.sample_weight = sample_weight

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_features)."""
        return tuple(self.X.shape)

    @property
    def n_samples(self) -> int:
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    def __repr__(self) -> str:
        kind = "sparse " if sp.issparse(self.X) else ""
        return f"Features: {self.n_samples} objects, {self.n_features} features ({kind}{self.X.dtype})"

    def take(self, rows: Any) -> Features:
        """The table of some objects, by their positions or a boolean mask."""
        rows = positions_of(rows, self.n_samples)
        names = None if self.sample_names is None else [self.sample_names[i] for i in rows]
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        taken = Features.__new__(Features)
        taken._set(self.X[rows], names, self.feature_names, weight)
        taken._squares_checked = self._squares_checked
        return taken

    def seen_as(self, X: Any, columns: np.ndarray) -> Features:
        """The same objects with other numbers X (n_samples, len(columns)), made from these columns."""
        names = None if self.feature_names is None else [self.feature_names[j] for j in columns]
        other = Features.__new__(Features)
        other._set(X, self.sample_names, names, self.sample_weight)
        return other

    def distinct_rows(self, enough: int) -> int:
        """Number of different rows, or any number >= ``enough`` as soon as that many were met."""
        if self._all_counted or self._distinct >= enough:
            return self._distinct
        seen: set[int] = set()
        size = max(1024, 2 * enough)
        for start in range(0, self.n_samples, size):
            seen.update(row_hashes(self.X[start : start + size]).tolist())
            if len(seen) >= enough:
                break
        else:
            self._all_counted = True
        self._distinct = len(seen)
        return self._distinct

    def check_squares(self) -> None:
        """Raise unless the numbers can be squared and added up."""
        if not self._squares_checked:
            names = self.sample_names, self.feature_names
            check_squares(self.X, *names, *check_finite(self.X, *names))
            self._squares_checked = True

    def check_k(self, k: int, name: str = "k") -> None:
        """Raise unless ``k`` clusters can be had."""
        n = self.n_samples
        if k > n:
            raise InputError(f"{name}={k} exceeds the {n} objects in X; choose a value between 1 and {n}.")
        distinct = self.distinct_rows(k)
        if k > distinct:
            raise InputError(
                f"{name}={k} exceeds the {distinct} distinct rows of X ({n} objects, the others repeat "
                f"them); "
                f"choose a value between 1 and {distinct}."
            )


def check_not_of_columns(values: Any, shape: tuple[int, int], what: str) -> None:
    """Raise if there is one value for each column of X instead of each row: samples are in columns."""
    n, d = shape
    if np.shape(values)[:1] == (d,) and d != n:
        raise InputError(
            f"{what} has {d} entries, which is the number of columns of X of shape {shape}; objects are "
            f"its rows. Are samples in columns, as "
            "in tables of genes by samples? Pass X.T."
        )


def as_features(X: Any, sample_weight: Any = None) -> Features:
    """X itself if it has been checked, else a checked table of it; with these weights if there are any."""
    if isinstance(X, Features) and sample_weight is None:
        check_rows(X.shape, 2)
        X.check_squares()
        return X
    return Features(X, sample_weight=sample_weight)


def _read(X: Any, least_rows: int) -> tuple[Any, list[Any] | None, list[str] | None]:
    """Values and names, all rules checked."""
    sample_names = feature_names = None
    X = unrolled(X)
    refuse_foreign(X, "X", reader="read_features")
    if sp.issparse(X):
        values = _from_sparse(X)
    else:
        frame = as_frame(X)
        if frame is not None:
            values, sample_names, feature_names = _from_frame(X, frame)
        else:
            values = _from_array(X)
    check_rows(values.shape, least_rows)
    low, high = check_finite(values, sample_names, feature_names)
    check_squares(values, sample_names, feature_names, low, high)
    return values, sample_names, feature_names


def _from_frame(native: Any, frame: Any) -> tuple[np.ndarray, list[Any] | None, list[str]]:
    sample_names = row_names(native)
    check_unique(sample_names, "row name", "rename them, or drop the names with X.reset_index(drop=True)")
    feature_names = [str(name) for name in frame.columns]
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        return np.empty(frame.shape), sample_names, feature_names
    columns, others = [], []  # others: names of columns that are no numbers
    found = {name: column.to_numpy() for name, column in zip(feature_names, frame.iter_columns())}
    for name, values in found.items():
        if values.dtype.kind in "mM" or values.dtype.kind not in "biufOUST" or _is_text(values):
            others.append(name)
    if others:
        refuse_columns(frame, others)
    for name, values in found.items():
        if values.dtype.kind not in "biuf":
            values = _numbers(values.reshape(-1, 1), sample_names, [name]).ravel()
        columns.append(values)
    return as_floats(np.stack(columns, axis=1)), sample_names, feature_names


def _is_text(values: np.ndarray) -> bool:
    """Whether most filled cells hold text or dates; a few texts among numbers are errors in cells."""
    if values.dtype.kind in "biuf":
        return False
    held = [value for value in values.ravel().tolist() if not is_gap(value)]
    odd = sum(isinstance(value, (str, datetime.date)) for value in held)
    return odd > len(held) / 2


def _from_array(X: Any) -> np.ndarray:
    if hasattr(X, "n_clusterings") and hasattr(X, "distinct"):
        raise InputError(
            "X is an Ensemble already; generators take features. Pass it to a consensus method instead, such "
            "as cs.consensus.LWGP(n_clusters).fit(X)."
        )
    if isinstance(X, Mapping):
        raise InputError(
            f"X is {shown(X)}, not a table: pass pandas.DataFrame(X), or "
            f"numpy.column_stack(list(X.values())) if each value "
            "is a column."
        )
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    try:
        values = as_array(X)
    except ValueError:
        raise InputError(
            f"X is not a table: its rows have different lengths{_lengths(X)}. Give every object the same "
            f"features."
        ) from None
    if values.dtype.kind in "US" and not isinstance(X, np.ndarray):
        values = np.array(X, dtype=object)  # NumPy turned the numbers among the texts into text as well
    if values.ndim == 1:
        raise InputError(
            f"X has shape {values.shape}: a table with one row per object is needed. Reshape your data: "
            f"X.reshape(-1, 1) if these are "
            "values of one feature, or X.reshape(1, -1) if they are one object."
        )
    if values.ndim != 2:
        raise InputError(
            f"X has shape {values.shape}: a table (objects, features) is needed. Flatten the others with "
            "X.reshape(len(X), -1)."
            if values.ndim > 2
            else f"X={shown(X)} is not a table: give an array of shape (objects, features)."
        )
    if values.dtype.kind == "c":
        raise InputError(
            f"X holds complex numbers ({values.dtype}). Complex data not supported: pass real and "
            f"imaginary parts as columns."
        )
    if values.dtype.kind not in "biuf":
        values = _numbers(values, None, None)
    return as_floats(values)


def _lengths(X: Any) -> str:
    """Which rows of a list differ in length."""
    found = [len(row) if hasattr(row, "__len__") and not sp.issparse(row) else 1 for row in X]
    j = next((j for j, length in enumerate(found) if length != found[0]), None)
    return "" if j is None else f": {found[0]} in row 0, {found[j]} in row {j}"


def _from_sparse(X: Any) -> Any:
    if X.ndim != 2:
        raise InputError(f"X is a sparse array of shape {X.shape}: a table (objects, features) is needed.")
    if X.dtype.kind not in "biuf":
        raise InputError(f"X is a sparse matrix of {X.dtype}: real numbers are needed.")
    return as_floats(checked_csr(X, "X"))


def _numbers(cells: np.ndarray, rows: list[Any] | None, columns: list[str] | None) -> np.ndarray:
    """Cells of an object or text array as float64; None is NaN, text is named."""
    out = np.empty(cells.shape)
    for (i, j), cell in np.ndenumerate(cells):
        if cell is None or cell is np.ma.masked or type(cell).__name__ == "NAType":
            out[i, j] = np.nan
            continue
        if isinstance(cell, str):
            found = f"X holds text: {str(cell)!r} {_at(i, j, rows, columns)}"
            whole = [k for k in range(cells.shape[1]) if _is_text(cells[:, k])]
            if j in whole:
                raise InputError(
                    f"{found}; {'columns' if len(whole) > 1 else 'column'} {listed(whole, most=8)} "
                    f"{'hold' if len(whole) > 1 else 'holds'} text or dates. Every feature must be a number: "
                    "cs.io.TableEncoder().fit_transform(X) makes features of all columns; to do without "
                    f"{'these' if len(whole) > 1 else 'this one'}, drop {'them' if len(whole) > 1 else 'it'}."
                )
            raise InputError(
                f"{found}. Every feature must be a number: put one, or NaN, in its place, or drop the row."
            )
        try:
            out[i, j] = float(cell)
        except OverflowError:
            raise InputError(
                f"X holds a number {_at(i, j, rows, columns)} that is beyond the range of floating-point "
                f"numbers. Scale X first."
            ) from None
        except (TypeError, ValueError) as error:
            raise InputTypeError(
                f"X holds {cell!r} {_at(i, j, rows, columns)}, which is not a number: {error}."
            ) from None
    return out


def check_rows(shape: tuple[int, int], least_rows: int) -> None:
    """Raise unless there are enough objects, and features."""
    n, d = shape
    if n == 0:
        raise InputError(
            f"X has shape {shape}: no objects. Give at least {'two rows' if least_rows > 1 else 'one row'}."
        )
    if d == 0:
        raise InputError(f"X has 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    if n < least_rows:
        raise InputError(
            f"X has shape {shape}, 1 sample: a single object cannot be clustered. Give at least two rows; "
            "pass X.T if the rows are features."
        )


def check_finite(
    values: Any,
    rows: Sequence[Any] | None,
    columns: Sequence[str] | None,
    *,
    what: str = "X",
    first: int = 0,
    error: type[ConsilienceError] = InputError,
) -> tuple[float, float]:
    """The smallest and the largest number; raises unless all are finite.

    ``first`` is the number of the first row.
    """
    flat = values.data if sp.issparse(values) else values
    if flat.size == 0:
        return 0.0, 0.0
    low, high = float(flat.min()), float(flat.max())
    if np.isfinite(low) and np.isfinite(high):  # both are NaN if any number is
        return low, high
    wrong = ~np.isfinite(flat)
    missing = int(np.isnan(flat).sum())
    infinite = int(wrong.sum()) - missing
    parts = [
        f"{count} {name}{'s' if count > 1 else ''}"
        for count, name in ((missing, "missing value"), (infinite, "infinite value"))
        if count
    ]
    kinds = " (NaN)" if not infinite else " (inf)" if not missing else " (NaN and inf)"
    i, j = _places(values, wrong)
    n, d = values.shape
    remedy = (
        "Fill them in (scikit-learn's SimpleImputer) or drop those rows or columns"
        if not infinite
        else "Drop those rows or columns, or put numbers, or NaN, in place of inf: scikit-learn's "
        "SimpleImputer fills in NaN"
    )
    raise error(
        f"{what} contains {' and '.join(parts)}{kinds} in {np.unique(i).size} of {n} rows and "
        f"{np.unique(j).size} of {d} "
        f"columns, the first {_at(i, j, rows, columns, first)}. {remedy}."
    )


def check_squares(
    values: Any, rows: Sequence[Any] | None, columns: Sequence[str] | None, low: float, high: float
) -> None:
    """Raise unless numbers between ``low`` and ``high`` can be squared and multiplied."""
    largest = max(-low, high)
    if largest == 0 or SMALLEST <= largest <= LARGEST:
        return
    flat = values.data if sp.issparse(values) else values
    if largest < SMALLEST:
        at = _at(*_places(values, flat != 0), rows, columns)
        raise InputError(
            f"X holds no number larger than {largest:.3g} (the first {at}): below {SMALLEST:g} squares "
            f"vanish. "
            "Scale X first (scikit-learn's StandardScaler)."
        )
    wrong = np.abs(flat) > LARGEST
    raise InputError(
        f"X holds {flat[wrong][0]:.3g} {_at(*_places(values, wrong), rows, columns)}: numbers beyond "
        f"{LARGEST:g} cannot be "
        "squared. Scale X first (scikit-learn's StandardScaler)."
    )


def _places(values: Any, mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the marked entries, row by row."""
    if sp.issparse(values):
        p = np.flatnonzero(mask)
        return np.searchsorted(values.indptr, p, side="right") - 1, values.indices[p]
    i, j = np.nonzero(mask)
    return i, j


def _at(i: Any, j: Any, rows: Sequence[Any] | None, columns: Sequence[str] | None, first: int = 0) -> str:
    """Where a cell is, or the first of several."""
    i, j = int(np.ravel(i)[0]), int(np.ravel(j)[0])
    row = f"row {i + first}" + (f" ({rows[i]!r})" if rows else "")
    return f"in {row}, column {columns[j]!r}" if columns else f"in {row}, column {j + first}"
