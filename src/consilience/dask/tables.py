"""Distinct rows of blocks of labels, and how they are merged: functions of NumPy, one for each kind of task.

A :class:`Table` describes one block or any run of neighboring blocks: its distinct rows by first appearance,
the weight of each, and the label values that the codes stand for. Tables of neighboring runs are merged into
that of both. Rows stay in the order of their first appearance, and weights are whole numbers. The result
therefore does not depend on how objects are divided into blocks: it is the one that
:meth:`consilience.Ensemble.distinct` gives for all objects in one place.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._data.ensemble import Ensemble, from_codes, question_labels, unquestioned
from .._data.labels import encode
from .._data.named import given_names
from .._kernels.labels.codes import code_dtype
from .._kernels.labels.distinct import hash_rows, unique_rows
from .._kernels.runtime.sums import LIMBS, from_limbs, to_limbs
from .._kernels.runtime.threads import one_blas_thread, one_thread
from ..errors import InputError
from .graphs import Declared, without_names

#: With fewer objects, it is not checked whether they are features: see _suspicion.
_MANY = 1000
_EXACT = 2**53


@dataclass(frozen=True)
class Table:
    """Distinct rows of some neighboring objects.

    labels (u, m) : codes of ``categories``, -1 missing, by first appearance.
    categories : values of each clustering, sorted.
    units (u, 1) or (u, LIMBS) : total weight, in whole numbers of which sums are exact: int64.
    first (u,) : the first object with each row, from the beginning of the table.
    n : objects.
    names : of the clusterings, or None.
    """

    labels: np.ndarray
    categories: list[np.ndarray]
    units: np.ndarray
    first: np.ndarray
    n: int
    names: list[str] | None = None

    @property
    def size(self) -> int:
        return len(self.labels)

    def weights(self, exponent: int | None) -> np.ndarray:
        """(u,) total weights; ``exponent`` is the one that the limbs were made with, None for counts."""
        return self.units[:, 0].astype(float) if exponent is None else from_limbs(self.units, exponent)

    def take(self, rows: np.ndarray) -> Table:
        """The table of some of its rows."""
        return replace(self, labels=self.labels[rows], units=self.units[rows], first=self.first[rows])


def table_of(
    block: Any, weights: Any = None, exponent: int | None = None, declared: Declared | None = None
) -> Table:
    """The table of one block of labels, an array (n, m) or a data frame."""
    return table_and_places(block, weights, exponent, declared)[0]


def table_and_places(
    block: Any, weights: Any = None, exponent: int | None = None, declared: Declared | None = None
) -> tuple[Table, np.ndarray]:
    """The table of a block, and the row of it (n,) that each object has."""
    if declared is not None:
        declared.check(block)
    if len(block) == 0:
        return _nothing(block.shape[1], 1 if weights is None or exponent is None else LIMBS)
    with one_thread(), one_blas_thread():
        ensemble = without_names(unquestioned, block)
        n = ensemble.n_samples
        rows, inverse = unique_rows(ensemble.labels, n_jobs=1)
        if rows.size > n // 2 and n >= _MANY:
            _refuse_what_is_none(ensemble)
        units = _units(weights, exponent, inverse, rows.size, n)
        names = given_names(ensemble)
        table = Table(ensemble.labels[rows], ensemble.categories, units, rows, n, names)
        return table, inverse.astype(np.int32)


def _nothing(m: int, width: int) -> tuple[Table, np.ndarray]:
    """The table of a block without objects."""
    nobody: np.ndarray = np.empty(0, np.int64)
    labels: np.ndarray = np.empty((0, m), np.int16)
    return Table(labels, [nobody] * m, np.empty((0, width), np.int64), nobody, 0), nobody.astype(np.int32)


def _refuse_what_is_none(ensemble: Ensemble) -> None:
    """Refuse features and identifiers, whose values hardly repeat.

    The first block shows it, before the values of all blocks are gathered.
    """
    filled = np.flatnonzero(ensemble.n_clusters_per_clustering)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # mere doubts are left to the check of all objects
        if filled.size:
            question_labels(ensemble.select(filled))


def _units(weights: Any, exponent: int | None, groups: np.ndarray, count: int, n: int) -> np.ndarray:
    if weights is None:
        return np.bincount(groups, minlength=count)[:, None].astype(np.int64)
    weights = np.asarray(weights, float)
    if weights.shape != (n,):
        raise InputError(
            f"sample_weight has a block of shape {weights.shape} beside a block of {n} objects: give both "
            "the same chunks, sample_weight.rechunk(labels.chunks[0])."
        )
    parts = weights[:, None] if exponent is None else to_limbs(weights, exponent)
    sums = [np.bincount(groups, weights=part, minlength=count) for part in parts.T]
    return np.stack(sums, axis=1).astype(np.int64)


def check_weights(weights: Any) -> tuple[float, float, float, bool, int]:
    """(smallest, largest, sum, whether all are whole, objects) of a block of weights.

    Raises an error if they are not weights.
    """
    weights = np.asarray(weights, float)
    bad = ~(np.isfinite(weights) & (weights > 0))
    if weights.ndim != 1 or bad.any():
        value = weights.ravel()[np.argmax(bad)] if weights.ndim == 1 else weights.shape
        raise InputError(
            f"sample_weight holds {value}: expected one positive number per object. Leave out objects that "
            f"should not count."
        )
    whole = bool((weights == np.rint(weights)).all())
    low, high = float(weights.min(initial=np.inf)), float(weights.max(initial=0.0))
    return low, high, float(weights.sum()), whole, weights.size


def exponent_of(found: Sequence[tuple[float, float, float, bool, int]]) -> int | None:
    """The exponent of two below which weights are cut to limbs; None if they are counts."""
    if all(whole for *_, whole, _ in found) and sum(total for _, _, total, _, _ in found) < _EXACT:
        return None
    return int(np.frexp(max(high for _, high, *_ in found))[1])


def merged(tables: Sequence[Table]) -> Table:
    """One table of neighboring ones, in order."""
    if len(tables) == 1:
        return tables[0]
    with one_thread(), one_blas_thread():
        categories, numbers = united([table.categories for table in tables])
        dtype = code_dtype(max((len(own) for own in categories), default=0))
        labels = np.concatenate([recoded(t.labels, own, dtype) for t, own in zip(tables, numbers)])
        starts = np.cumsum([0, *(table.n for table in tables)])
        first = np.concatenate([table.first + start for table, start in zip(tables, starts)])
        return _distinct(
            labels, categories, [t.units for t in tables], first, int(starts[-1]), _names_of(tables)
        )


def _distinct(labels, categories, units: list[np.ndarray], first: np.ndarray, n: int, names) -> Table:
    """A table of rows that may repeat, in the order of first appearance."""
    rows, inverse = unique_rows(labels, n_jobs=1) if len(labels) else (np.empty(0, np.int64),) * 2
    stacked = np.concatenate(units)
    sums = np.zeros((rows.size, stacked.shape[1]), np.int64)
    np.add.at(sums, inverse, stacked)
    return Table(labels[rows], categories, sums, first[rows], n, names)


def _names_of(tables: Sequence[Table]) -> list[str] | None:
    return next((table.names for table in tables if table.names is not None), None)


def united(found: Sequence[list[np.ndarray]]) -> tuple[list[np.ndarray], list[list[np.ndarray]]]:
    """(values of each clustering, for each part the new code of each of its old ones).

    Values that differ between parts in type, as whole numbers do where others hold fractions, mean what they
    mean in one vector.
    """
    widths = {len(own) for own in found}
    if len(widths) > 1:
        raise InputError(
            f"Blocks have different numbers of clusterings: {sorted(widths)}. Every block needs the same "
            f"columns."
        )
    categories: list[np.ndarray] = []
    numbers: list[list[np.ndarray]] = [[] for _ in found]
    for i in range(len(found[0])):
        parts = [own[i] for own in found]
        codes, values = encode(joined(parts), f"Clustering {i}")
        categories.append(values)
        at = 0
        for own, part in zip(numbers, parts):
            own.append(codes[at : at + len(part)])
            at += len(part)
    return categories, numbers


def joined(parts: list[np.ndarray]) -> np.ndarray:
    """Concatenated values, in a type that changes none of them."""
    filled = [part for part in parts if len(part)] or parts[:1]
    kinds = {part.dtype.kind for part in filled}
    large = any(part.dtype.kind in "iu" and np.abs(part).max(initial=0) >= _EXACT for part in filled)
    if len(kinds) == 1 or (kinds <= {"i", "f"} and not large):
        return np.concatenate(filled)
    values = [value for part in filled for value in part.tolist()]
    out = np.empty(len(values), object)
    out[:] = values
    return out


def recoded(labels: np.ndarray, numbers: list[np.ndarray], dtype: Any) -> np.ndarray:
    """Codes (u, m) in new numbers; -1 stays."""
    out = np.empty(labels.shape, dtype)
    for i, own in enumerate(numbers):
        out[:, i] = np.append(own, -1)[labels[:, i]]
    return out


# Tables that together are too large for one place
# -------------------------------------------------------------


def dealt(
    table: Table, numbers: list[np.ndarray], categories: list[np.ndarray], start: int, count: int
) -> list[Table]:
    """The rows of a table, dealt into ``count`` parts by their content.

    Rows are in the codes of ``categories``, and positions count from ``start`` on.
    """
    with one_thread(), one_blas_thread():
        dtype = code_dtype(max((len(own) for own in categories), default=0))
        labels = recoded(table.labels, numbers, dtype)
        bucket = (hash_rows(labels) >> np.uint64(32)) % np.uint64(count)
        whole = replace(table, labels=labels, categories=categories, first=table.first + start)
        return [whole.take(np.flatnonzero(bucket == b)) for b in range(count)]


def gathered(tables: Sequence[Table]) -> Table:
    """One table from parts of one bucket, whose codes and positions are those of all objects."""
    with one_thread(), one_blas_thread():
        labels = np.concatenate([table.labels for table in tables])
        first = np.concatenate([table.first for table in tables])
        n = sum(table.n for table in tables)
        units = [table.units for table in tables]
        return _distinct(labels, tables[0].categories, units, first, n, _names_of(tables))


def heaviest(table: Table, most: int, exponent: int | None) -> Table:
    """The ``most`` heaviest rows of a table, by first appearance."""
    return table.take(heaviest_rows(table, table.weights(exponent), most))


def heaviest_rows(table: Table, weights: np.ndarray, most: int) -> np.ndarray:
    """Positions of the ``most`` heaviest rows, by first appearance.

    Among equally heavy rows, those with the smaller hash are taken: this choice depends neither on the order
    of objects nor on that of blocks.
    """
    rows = np.arange(table.size)
    if table.size > most:
        rows = np.lexsort((hash_rows(table.labels), -weights))[:most]
    return rows[np.argsort(table.first[rows], kind="stable")]


def as_ensemble(table: Table, weights: np.ndarray, names: list[str] | None, recipes: Any = None) -> Ensemble:
    """The distinct rows as an ordinary ensemble of weighted objects."""
    labels = np.ascontiguousarray(table.labels)
    return from_codes(labels, table.categories, names, None, weights, recipes)
