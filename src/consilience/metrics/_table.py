"""The contingency table of two label vectors, with all rules about which labels can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from .. import _register
from .._base import parameters
from .._base.dask_types import is_lazy
from .._base.parameters import Choice, check, unit_of
from .._data.labels import as_vector, encode
from .._kernels.labels.contingency import Cells, count_pairs
from .._kernels.runtime.memory import ensure_fits
from ..errors import InputError

MISSING = Choice("error", "ignore", "cluster")


@dataclass(frozen=True)
class Contingency:
    """Contingency table of two label vectors: the cells that are not 0, and both margins.

    Attributes
    ----------
    row_labels, column_labels : arrays
        The distinct labels of the rows and of the columns, sorted.
    rows, columns, counts : arrays of shape (n_cells,)
        The cells that are not 0, by row and then column. Counts are int64, or float64 if the sample weights
        are not whole numbers.
    row_sums, column_sums : arrays
        The sums over each row and each column.
    total : int or float
        The number of objects counted, or the sum of their weights.
    """

    row_labels: np.ndarray
    column_labels: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    counts: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.row_labels), len(self.column_labels)

    @cached_property
    def row_sums(self) -> np.ndarray:
        return _sums(self.rows, self.counts, self.shape[0])

    @cached_property
    def column_sums(self) -> np.ndarray:
        return _sums(self.columns, self.counts, self.shape[1])

    @cached_property
    def total(self) -> int | float:
        return self.counts.sum().item()

    @property
    def is_whole(self) -> bool:
        """Whether the counts are whole numbers, so that chance can be computed by counting."""
        return self.counts.dtype.kind == "i"

    @property
    def is_bijection(self) -> bool:
        """Whether both sides are the same partition under other names."""
        return len(self.counts) == self.shape[0] == self.shape[1]

    def in_ordinary_unit(self) -> Contingency:
        """The same table with counts that can be squared.

        Counts far from 1 are divided by a power of two.
        """
        unit = 1.0 if self.is_whole else unit_of(self.counts)
        return self if unit == 1.0 else replace(self, counts=self.counts / unit)

    @property
    def cells(self) -> Cells:
        return Cells(self.rows, self.columns, self.counts, self.row_labels, self.column_labels)

    def toarray(self) -> np.ndarray:
        """The dense table: one row for each of ``row_labels``, one column for each of ``column_labels``."""
        ensure_fits(
            self.counts.itemsize * self.shape[0] * self.shape[1],
            what=f"A dense table of shape {self.shape}",
            remedy="use tocsr()",
        )
        table = np.zeros(self.shape, self.counts.dtype)
        table[self.rows, self.columns] = self.counts
        return table

    def tocsr(self):
        """The table as a scipy CSR array."""
        from scipy.sparse import csr_array

        return csr_array((self.counts, (self.rows, self.columns)), shape=self.shape)

    def __repr__(self) -> str:
        return f"Contingency({self.shape[0]} rows x {self.shape[1]} columns, total {self.total:,})"


def contingency_table(
    labels_true: Any, labels_pred: Any, *, sample_weight: Any = None, missing: str = "error"
) -> Contingency:
    """Count how often each class of ``labels_true`` meets each cluster of ``labels_pred``.

    Every measure of this package is computed from such a table. Ten million integer labels are counted in one
    pass over memory, on all cores; text is first turned into codes by hashing.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n_samples,)
        Labels of the same objects in the same order: lists, arrays or series of integers, text, floats or
        anything that can be a dictionary key. Values are only names. Both can be Dask arrays or series, which
        are counted in one pass over their blocks.
    sample_weight : array-like of shape (n_samples,), optional
        How often each object counts: an object of weight 3 counts as three equal objects, one of weight 0 not
        at all.
    missing : {"error", "ignore", "cluster"}, default="error"
        What to do with objects whose label on either side is missing: -1, NaN, None or, in text, one of the
        usual words for it. "error" raises an error, "ignore" leaves these objects out, and "cluster" takes
        the missing labels for a cluster of their own, as scikit-learn does with -1.

    Returns
    -------
    Contingency
        Rows are classes of ``labels_true``, columns clusters of ``labels_pred``.

    Examples
    --------
    >>> from consilience.metrics import contingency_table
    >>> contingency_table([0, 0, 1, 1], ["a", "a", "a", "b"]).toarray()
    array([[2, 0],
           [1, 1]])
    """
    given = {"labels_true": labels_true, "labels_pred": labels_pred}
    return cross(given, sample_weight=sample_weight, missing=missing)


def cross(given: Mapping[str, Any], *, sample_weight: Any, missing: str) -> Contingency:
    """The table of two label vectors, named as in messages: rows are the first, columns the second."""
    check("missing", missing, MISSING)
    (first, labels), (second, other) = given.items()
    if is_lazy(labels) or is_lazy(other):
        labels, other, sample_weight = _register.offered("pairs_of")(given, sample_weight)
    a, b = as_vector(labels, first), as_vector(other, second)
    check_lengths(a, b, (first, second))
    weights = check_weights(sample_weight, len(a))
    a, names_a = _codes(a, first)
    b, names_b = _codes(b, second)
    return table_of_codes(a, b, weights, missing=missing, names=(names_a, names_b), called=(first, second))


def table_of_codes(
    a, b, weights, *, missing: str, names=(None, None), called: tuple[str, str] = ("labels", "reference")
) -> Contingency:
    """The table of integer vectors in which -1 is missing; ``missing`` applies to the counted table."""
    cells = count_pairs(a, b, weights)
    whole = weights is None or are_counts(weights)
    return _finish(cells, names, missing, whole, called)


def are_counts(weights: np.ndarray) -> bool:
    """Whether weights are whole numbers, whose sums are exact in float64 and fit into integers."""
    return bool((weights == np.rint(weights)).all()) and float(weights.sum()) < 2**53


def table_of_dense(counts: np.ndarray, row_labels: np.ndarray, column_labels: np.ndarray, whole: bool):
    """The table of dense counts without empty rows and columns; None if all counts are 0."""
    rows, columns = np.nonzero(counts)
    if rows.size == 0:
        return None
    cells = Cells(rows, columns, counts[rows, columns], np.asarray(row_labels), np.asarray(column_labels))
    cells = _subset(cells, np.ones(rows.size, bool))
    found = np.rint(cells.counts).astype(np.int64) if whole else cells.counts
    return Contingency(cells.row_values, cells.column_values, cells.rows, cells.columns, found)


def check_lengths(labels: np.ndarray, other: np.ndarray, called: tuple[str, str]) -> None:
    if len(labels) != len(other):
        raise InputError(
            f"{called[0]} has {len(labels)} objects but {called[1]} has {len(other)}; "
            "both must label the same objects in the same order."
        )
    if len(labels) == 0:
        raise InputError(f"{called[0]} and {called[1]} are empty: there is nothing to compare.")


def _finish(cells: Cells, names, missing: str, whole: bool, called: tuple[str, str]) -> Contingency:
    gone_rows, gone_columns = cells.row_values == -1, cells.column_values == -1
    if (gone_rows.any() or gone_columns.any()) and missing != "cluster":
        gone = gone_rows[cells.rows], gone_columns[cells.columns]
        if missing == "error":
            found = [int(cells.counts[g].sum()) for g in gone]
            refuse_missing(dict(zip(called, found)), int(cells.counts.sum()))
        keep = ~(gone[0] | gone[1])
        cells = _subset(cells, keep)
    if cells.counts.size == 0:
        raise InputError(
            f"No object is left to compare: each one has no label in {called[0]} or in {called[1]}, or "
            f"has weight zero."
        )
    counts = np.rint(cells.counts).astype(np.int64) if whole else cells.counts
    row_labels, column_labels = _named(cells.row_values, names[0]), _named(cells.column_values, names[1])
    return Contingency(row_labels, column_labels, cells.rows, cells.columns, counts)


def refuse_missing(
    counts: dict[str, int], total: int, remedies: tuple[str, ...] = ("ignore", "cluster")
) -> None:
    """Raise an error that says how many labels are missing, where, and what to do."""
    where = " and ".join(f"{count} in {name}" for name, count in counts.items() if count)
    ways = {
        "ignore": "missing='ignore' to compare only objects labeled on both sides",
        "cluster": "missing='cluster' to take the missing for a cluster of their own",
    }
    raise InputError(
        f"Missing labels (-1, NaN or None): {where}, of {total} objects. "
        f"Pass {', or '.join(ways[remedy] for remedy in remedies)}."
    )


def _subset(cells: Cells, keep: np.ndarray) -> Cells:
    used_rows, rows = np.unique(cells.rows[keep], return_inverse=True)
    used_columns, columns = np.unique(cells.columns[keep], return_inverse=True)
    return Cells(
        rows, columns, cells.counts[keep], cells.row_values[used_rows], cells.column_values[used_columns]
    )


def _codes(labels: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Integers to count, with -1 missing, and the labels they stand for.

    None instead of the labels means that the integers are the labels, which saves a pass.
    """
    if labels.dtype.kind in "iu" and not isinstance(labels, np.ma.MaskedArray):
        return labels, None
    return encode(labels, name)


def _named(values: np.ndarray, names: np.ndarray | None) -> np.ndarray:
    if names is None:
        return values
    if values.size and values[0] == -1:  # missing="cluster": the code has no name of its own
        out = np.empty(len(values), object)
        out[0] = None
        out[1:] = names[values[1:]]
        return out
    return names[values]


def check_weights(sample_weight: Any, n: int) -> np.ndarray | None:
    """The weights, some of which may be 0; None if there are none."""
    if sample_weight is None:
        return None
    weights = parameters.check_weights(sample_weight, n, zero=True)
    if not weights.any():
        raise InputError("sample_weight is zero for every object: there is nothing to compare.")
    return weights


def _sums(index: np.ndarray, counts: np.ndarray, size: int) -> np.ndarray:
    sums = np.zeros(size, counts.dtype)
    np.add.at(sums, index, counts)  # stays int64: bincount would go through float64
    return sums
