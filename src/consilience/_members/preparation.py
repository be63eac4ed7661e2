"""How members see the features: as given, or prepared, optionally each member in its own way.

:mod:`consilience.generate` describes the values of ``preprocess``. As formulas, for an object p of weight w_p
(1 by default; W is the sum) and a column j:

    standardize   (x_pj - m_j) / s_j,   m_j = sum_p w_p x_pj / W,  s_j^2 = sum_p w_p (x_pj - m_j)^2 / W    (1)
    ranks         ( w(x_.j < x_pj) + w(x_.j = x_pj) / 2 ) / W                                              (2)
    log           log(1 + x_pj)                                                                            (3)
    tf-idf        x_pj (1 + log( W / w(x_.j != 0) )), then (5)                                             (4)
    unit          x_pj / |x_p|, a row of zeros stays                                                       (5)
    pearson       x_pj - mean_j x_pj, then (5): squared distances are 2 (1 - correlation of the rows)      (6)

A sparse X stays sparse: (1) then leaves m_j out, which no distance between objects can tell, and (2) and (6)
are refused. (4) has no smoothing term, so that the unit of the weights does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._base.parameters import Choice, Nothing, check, listed, relative_to_lightest
from .._data.features import Features
from .._kernels.runtime.memory import ensure_fits
from .._kernels.runtime.threads import map_blocks, map_tasks
from ..errors import InputError, warn
from .assembly import CHOOSE_PREPARATION, stream

#: The preparations by name, in the order in which members that have them are made.
PREPARATIONS = ("none", "standardize", "ranks", "log", "tf-idf", "unit", "pearson")
#: Preparations that move zeros, and those that keep constant columns: a correlation is over all columns.
DENSE_ONLY, OVER_ALL = ("ranks", "pearson"), ("none", "pearson")
#: What generators accept as ``preprocess``. None is "none", which the command line reads as None.
PREPARE = Choice(*PREPARATIONS, "diverse") | Nothing()
#: The largest number of values of a column whose ranks are kept; between them ranks are interpolated.
MOST_PLACES = 2**16
#: A dense table without negative values is one of counts if at most this share is not zero.
SHARE_OF_COUNTS = 0.1
#: Steps between the values of a column of few values, in units of the spread of other columns, in members of
#: "diverse". Standardized, such a column would part all objects into its values, whatever else there is.
STEP, FEW_VALUES = 0.5, 4
#: Share of the rows that do not have the commonest value of such a column, at least.
LEAST_SHARE = 0.05
#: Ratio of the widest column to a narrow one, beyond which the narrow one is named: it hardly affects
#: distances.
LARGEST_RATIO = 1000.0
_FEW = 1000  # rows that show that most columns have more than two values
_BLOCK = 2**18  # numbers processed at once


class Columns:
    """The smallest and the largest value of every column, and what follows from them."""

    def __init__(self, X: Any):
        if sp.issparse(X):
            self.low, self.high = (
                np.asarray(end.toarray(), np.float64).ravel() for end in (X.min(axis=0), X.max(axis=0))
            )
        else:
            self.low, self.high = X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64)
        self._eps = float(np.finfo(X.dtype).eps)
        self._X = X

    @property
    def half_range(self) -> np.ndarray:
        """Half of high - low, which itself may be beyond the range of floats."""
        return self.high / 2 - self.low / 2

    @property
    def varying(self) -> np.ndarray:
        """Positions of the columns that are not constant, up to the rounding of their numbers."""
        return np.flatnonzero(
            self.half_range > 2 * self._eps * np.maximum(np.abs(self.low), np.abs(self.high))
        )

    @cached_property
    def steps(self) -> np.ndarray:
        """(d,) steps between the smallest and the largest value of columns of few values, such as yes and no.

        0 for other columns, and for all if there are no others. A twentieth of the rows, at least, do not
        have the commonest value: what few rows have does not part the others. X is dense.
        """
        found = np.zeros(self.low.size)
        if sp.issparse(self._X):
            return found
        varying = self.varying
        for j in varying.tolist():
            column = self._X[:, j]
            if np.unique(column[:_FEW]).size <= FEW_VALUES:
                values, counts = np.unique(column, return_counts=True)
                if values.size <= FEW_VALUES and counts.max() <= (1 - LEAST_SHARE) * len(column):
                    found[j] = values.size - 1
        return found if (found[varying] == 0).any() else np.zeros_like(found)

    @property
    def parts_as_given(self) -> bool:
        """Whether a column of few values stands out beside the others in the units given."""
        few = np.flatnonzero(self.steps)
        if few.size == 0:
            return False
        others = np.setdiff1d(self.varying, few)
        spread = float(np.median(np.std(self._X[:, others], axis=0, dtype=np.float64)))
        return bool((2 * self.half_range[few] / self.steps[few] > STEP * spread).any())


@dataclass(frozen=True)
class Preparation:
    """One preparation, as learned from a table: the same for its rows and for new ones.

    name : one of PREPARATIONS.
    n_features : columns of the table it was learned from.
    columns : positions of the columns that are kept.
    unit, shift, scale : of the kept columns; "standardize" is (x * unit - shift) * scale, and unit is a
        power of two that keeps squares in the range of floats. shift is None if X is sparse.
    idf : of the kept columns, for "tf-idf".
    places : for "ranks", (values, ranks) of each kept column, ascending.
    """

    name: str
    n_features: int
    columns: np.ndarray
    unit: np.ndarray | None = None
    shift: np.ndarray | None = None
    scale: np.ndarray | None = None
    idf: np.ndarray | None = None
    places: list[tuple[np.ndarray, np.ndarray]] | None = field(default=None, repr=False)

    def apply(self, X: Any, *, n_jobs: int | None = 1) -> Any:
        """Rows of X (n, n_features), prepared: (n, len(columns)), of the same precision.

        Each row is prepared by itself.

        X are features that have been checked: a float32 or float64 array, or CSR. Sparse stays sparse, unless
        the preparation was learned from dense features and moves zeros.
        """
        if X.shape[1] != self.n_features:
            raise InputError(
                f"X has {X.shape[1]} features, but the preparation {self.name!r} was learned from "
                f"{self.n_features}; "
                "pass the same features in the same order."
            )
        if self.name == "none":
            return X
        if self.name in ("log", "tf-idf"):
            _check_not_negative(self.name, X)
        if sp.issparse(X):
            X = X if len(self.columns) == self.n_features else sp.csr_array(X[:, self.columns])
            if self.shift is None and self.name not in DENSE_ONLY:
                values = self._entries(X.data[: X.nnz].astype(np.float64), X.indices[: X.nnz])
                if self.name in ("tf-idf", "unit"):
                    values = _unit_entries(values, X.indptr)
                return sp.csr_array((values.astype(X.dtype), X.indices[: X.nnz], X.indptr), shape=X.shape)
            X, columns = X.toarray(), np.arange(X.shape[1])
        else:
            columns = self.columns
        out = np.empty((X.shape[0], len(columns)), X.dtype)
        if self.places is not None:
            self._rank(X, columns, out, n_jobs)
            return out

        def block(a: int, b: int) -> None:
            Z = (
                X[a:b].astype(np.float64)
                if len(columns) == X.shape[1]
                else X[a:b, columns].astype(np.float64)
            )
            Z = self._entries(Z, slice(None))
            if self.name == "pearson":
                Z = _centered_rows(Z, float(np.finfo(X.dtype).eps))
            out[a:b] = _unit_rows(Z) if self.name in ("tf-idf", "unit", "pearson") else Z

        map_blocks(block, X.shape[0], size=max(1, _BLOCK // max(1, X.shape[1])), n_jobs=n_jobs)
        return out

    def _entries(self, values: np.ndarray, columns: Any) -> np.ndarray:
        """The preparation of single numbers; ``columns`` are those of the values.

        Values are float64 and may be changed.
        """
        if self.name == "log":
            return np.log1p(values, out=values)
        if self.name == "tf-idf":
            assert self.idf is not None
            values *= self.idf[columns]
        elif self.name == "standardize":
            assert self.unit is not None
            assert self.scale is not None
            values *= self.unit[columns]
            if self.shift is not None:
                values -= self.shift[columns]
            values *= self.scale[columns]
        return values

    def _rank(self, X: np.ndarray, columns: np.ndarray, out: np.ndarray, n_jobs: int | None) -> None:
        assert self.places is not None
        places = self.places

        def column(j: int) -> None:
            values, ranks = places[j]
            # Between subnormal numbers the slope is infinite; the values at the ends are right all the same.
            out[:, j] = np.clip(np.interp(X[:, columns[j]], values, ranks), ranks[0], ranks[-1])

        map_tasks(column, list(range(len(columns))), n_jobs=n_jobs)


@dataclass(frozen=True)
class View:
    """Some members, and the features as they see them.

    members : their positions, ascending.
    features : the prepared table, with the names and weights of the objects; the given one itself for "none".
    """

    preparation: Preparation
    members: list[int]
    features: Features

    def original(self, columns: np.ndarray) -> list[int]:
        """Columns of the prepared table as columns of the given one, for recipes."""
        return self.preparation.columns[columns].tolist()


class Views:
    """What each member of a generator sees: ``names`` by member, and the :class:`View` of each name.

    Views are iterated over, and tables are made one after the other: release one before asking for the next.

    Parameters
    ----------
    preprocess : see the head of :mod:`consilience.generate`
    features : Features
    seeds : one for each member
    n_jobs : threads that prepare
    note : whether to name columns that distances hardly see, if all members see them as given
    places : (len(seeds),) in [0, 1), which of the preparations of "diverse" each member sees; None draws it
        by its seed
    """

    def __init__(
        self,
        preprocess: Any,
        features: Features,
        seeds: Sequence[int],
        *,
        n_jobs: int | None = 1,
        note: bool = True,
        places: np.ndarray | None = None,
    ):
        check("preprocess", preprocess, PREPARE)
        self.features, self.n_jobs = features, n_jobs
        preprocess = preprocess or "none"
        self._diverse = preprocess == "diverse"
        self._columns = Columns(features.X) if note or preprocess != "none" else None
        if preprocess == "diverse":
            names = suitable(features, self._columns)
            if places is None:
                draws = [int(stream(seed, CHOOSE_PREPARATION).integers(len(names))) for seed in seeds]
            else:
                draws = [int(place * len(names)) for place in places]
            self.names = [names[draw] for draw in draws]
        else:
            self.names = [preprocess] * len(seeds)
            _check_suits(preprocess, features.X)
        if preprocess == "none" and self._columns is not None:
            _note_scales(features, self._columns, "'standardize' or 'diverse'")

    def __len__(self) -> int:
        """Number of members."""
        return len(self.names)

    def __iter__(self) -> Iterator[View]:
        for name in PREPARATIONS:
            members = [i for i, own in enumerate(self.names) if own == name]
            if members:
                yield self._view(name, members)

    def _view(self, name: str, members: list[int]) -> View:
        preparation = learn(name, self.features, self._columns, n_jobs=self.n_jobs)
        if self._columns is not None and self._diverse:
            preparation = lightened(preparation, self._columns)
        if name == "none":
            return View(preparation, members, self.features)
        X = preparation.apply(self.features.X, n_jobs=self.n_jobs)
        return View(preparation, members, self.features.seen_as(X, preparation.columns))


def prepared(features: Features, preprocess: str, *, n_jobs: int | None = -1) -> Features:
    """The features as a member sees them that is prepared in this one way."""
    if preprocess == "none":
        _note_scales(features, Columns(features.X), "'standardize'")
    return next(iter(Views(preprocess, features, [0], n_jobs=n_jobs, note=False))).features


def suitable(features: Features, columns: Columns | None = None) -> list[str]:
    """Names of the preparations that "diverse" draws from.

    Counts (tables without negative values that are sparse, or dense with at most a tenth other than zero)
    have tf-idf and unit, other sparse tables none, standardize and unit, and other dense tables none,
    standardize and ranks; without none if a column of few values stands out in the units given. A single
    column has no direction, and constant columns have nothing to prepare. Counts as given and their
    logarithms are not drawn: they show little but the length of a text.
    """
    X = features.X
    columns = columns or Columns(X)
    varying = columns.varying
    if varying.size == 0:
        return ["none"]
    sparse = sp.issparse(X)
    counts = columns.low.min() >= 0 and (sparse or np.count_nonzero(X) <= SHARE_OF_COUNTS * X.size)
    if not counts and not sparse:
        comparable = ["standardize", "ranks"]
        return comparable if columns.parts_as_given else ["none", *comparable]
    if varying.size < 2:
        return ["none"] if counts else ["none", "standardize"]
    return ["tf-idf", "unit"] if counts else ["none", "standardize", "unit"]


def comparable(features: Features) -> str:
    """The simplest preparation after which distances do not depend on the units of the columns."""
    return "standardize" if "standardize" in suitable(features) else "tf-idf"


def learn(
    name: str, features: Features, columns: Columns | None = None, *, n_jobs: int | None = 1
) -> Preparation:
    """The preparation of that name, learned from a table; refused if memory is too small to apply it."""
    X, n_features = features.X, features.n_features
    if name == "none":
        return Preparation(name, n_features, np.arange(n_features))
    _check_suits(name, X)
    columns = columns or Columns(X)
    kept = np.arange(n_features) if name in OVER_ALL else columns.varying
    if kept.size == 0:
        kept = np.zeros(1, np.int64)  # a table needs at least one column
    _ensure_copy(name, X, len(kept))
    weights = features.sample_weight
    if weights is not None:
        weights = relative_to_lightest(weights)
    learned: dict[str, Any] = {}
    if name == "standardize":
        learned = _moments(X, weights, kept, columns, n_jobs)
    elif name == "tf-idf":
        learned = {"idf": _inverse_frequencies(X, weights, kept)}
    elif name == "ranks":
        learned = {"places": map_tasks(lambda j: _places(X[:, j], weights), kept.tolist(), n_jobs=n_jobs)}
    return Preparation(name, n_features, kept, **learned)


def lightened(preparation: Preparation, columns: Columns) -> Preparation:
    """The preparation with steps of STEP, at most, in columns of few values."""
    steps = columns.steps[preparation.columns]
    if not steps.any():
        return preparation
    if preparation.places is not None:
        spread = 1 / np.sqrt(12)  # of ranks
        wide = np.array([ranks[-1] - ranks[0] for _, ranks in preparation.places])
        factors = np.where(steps > 0, np.minimum(1.0, STEP * spread * steps / wide), 1.0)
        places = [
            (values, 0.5 + factor * (ranks - 0.5)) if factor < 1 else (values, ranks)
            for factor, (values, ranks) in zip(factors.tolist(), preparation.places)
        ]
        return replace(preparation, places=places)
    if preparation.scale is None or preparation.unit is None:
        return preparation
    wide = 2 * columns.half_range[preparation.columns] * preparation.unit * preparation.scale
    factors = np.where(steps > 0, np.minimum(1.0, STEP * steps / wide), 1.0)
    return replace(preparation, scale=factors * preparation.scale)


# What is learned -------------------------------------------------------------------------------------------


def _moments(
    X: Any, weights: np.ndarray | None, kept: np.ndarray, columns: Columns, n_jobs: int | None
) -> dict[str, np.ndarray | None]:
    """unit, shift and scale of the kept columns, in two passes: a mean far from 0 loses no digit."""
    n = X.shape[0]
    largest = np.maximum(np.abs(columns.low[kept]), np.abs(columns.high[kept]))
    # Beyond 1000 the power of two itself leaves the range of floats; the small rest does no harm.
    unit = 2.0 ** -np.clip(np.frexp(largest)[1], -1000, 1000).astype(np.float64)
    total = float(n) if weights is None else float(weights.sum())
    if sp.issparse(X):
        Z = sp.csr_array(X[:, kept])
        rows = np.repeat(np.arange(n), np.diff(Z.indptr))
        w = np.ones(len(rows)) if weights is None else weights[rows]
        d = len(kept)
        values = Z.data.astype(np.float64) * unit[Z.indices]
        mean = np.bincount(Z.indices, w * values, d) / total
        squares = np.bincount(Z.indices, w * (values - mean[Z.indices]) ** 2, d)
        zeros = np.maximum(total - np.bincount(Z.indices, w, d), 0.0)
        variance = (squares + zeros * mean**2) / total
        return {"unit": unit, "shift": None, "scale": _inverse_root(variance)}

    def summed(center: np.ndarray | None) -> np.ndarray:
        def block(a: int, b: int) -> np.ndarray:
            Z = X[a:b, kept].astype(np.float64) * unit
            if center is not None:
                Z = (Z - center) ** 2
            return Z.sum(axis=0) if weights is None else (Z * weights[a:b, None]).sum(axis=0)

        return np.sum(map_blocks(block, n, size=max(1, _BLOCK // X.shape[1]), n_jobs=n_jobs), axis=0)

    mean = summed(None) / total
    return {"unit": unit, "shift": mean, "scale": _inverse_root(summed(mean) / total)}


def _inverse_root(variance: np.ndarray) -> np.ndarray:
    """1 / deviation; 1 for a constant column, which is kept only if there is no other."""
    return 1.0 / np.sqrt(np.where(variance > 0, variance, 1.0))


def _inverse_frequencies(X: Any, weights: np.ndarray | None, kept: np.ndarray) -> np.ndarray:
    """1 + log(objects / objects in which the column is not zero), by weight, in any unit of weight."""
    n, d = X.shape
    if sp.issparse(X):
        entries = X.data != 0
        w = None if weights is None else np.repeat(weights, np.diff(X.indptr))[entries]
        seen = np.bincount(X.indices[entries], w, d)[kept]
    elif weights is None:
        seen = np.count_nonzero(X, axis=0)[kept]
    else:
        seen = sum(
            (weights[a : a + 256, None] * (X[a : a + 256, kept] != 0)).sum(axis=0) for a in range(0, n, 256)
        )
    total = float(n) if weights is None else float(weights.sum())
    # A column of nothing but zeros is kept only if there is no other; rounding may leave a full one above the
    # total.
    return 1.0 + np.log(total / np.minimum(np.where(seen > 0, seen, total), total))


def _places(column: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """The different values of a column, ascending, and their ranks in (0, 1).

    A rank is the weight below plus half of the value's own.
    """
    if weights is None:
        values = np.sort(column)
        starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        own = np.diff(np.append(starts, len(values))).astype(np.float64)
    else:
        order = np.argsort(column, kind="stable")
        values = column[order]
        starts = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
        own = np.add.reduceat(weights[order], starts)
    values = values[starts]
    end = np.cumsum(own)
    ranks = (end - own / 2) / end[-1]
    if len(values) > MOST_PLACES:
        # At even steps of rank, the values on both sides of each: no interpolated rank is off by more than a
        # step, also beside a value that many objects share.
        steps = np.linspace(ranks[0], ranks[-1], MOST_PLACES // 2)
        above = np.minimum(np.searchsorted(ranks, steps), len(ranks) - 1)
        chosen = np.unique([above, np.maximum(above - 1, 0)])
        values, ranks = values[chosen], ranks[chosen]
    return values.astype(np.float64), ranks


# Rows of length one ----------------------------------------------------------------------------------------


def _unit_rows(Z: np.ndarray) -> np.ndarray:
    """Dense rows divided by their length, first by their largest entry so that squares stay in range."""
    largest = np.abs(Z).max(axis=1, initial=0.0)
    Z /= np.where(largest > 0, largest, 1.0)[:, None]
    length = np.sqrt((Z * Z).sum(axis=1))
    Z /= np.where(length > 0, length, 1.0)[:, None]
    return Z


def _centered_rows(Z: np.ndarray, eps: float) -> np.ndarray:
    """Dense rows minus their mean, in any scale.

    A row that is constant up to rounding becomes zeros: it correlates with nothing.
    """
    largest = np.abs(Z).max(axis=1, initial=0.0)
    Z /= np.where(largest > 0, largest, 1.0)[:, None]
    Z -= Z.mean(axis=1)[:, None]
    Z[np.abs(Z).max(axis=1, initial=0.0) <= 4 * eps] = 0.0
    return Z


def _unit_entries(values: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """The entries of CSR rows, likewise."""
    counts = np.diff(indptr)
    filled = np.flatnonzero(counts)
    if filled.size == 0:
        return values
    for measure in (np.maximum, np.add):
        sizes = np.abs(values) if measure is np.maximum else values * values
        size = measure.reduceat(sizes, indptr[filled])
        size = size if measure is np.maximum else np.sqrt(size)
        values = values / np.repeat(np.where(size > 0, size, 1.0), counts[filled])
    return values


# What is refused, and what is said -------------------------------------------------------------------------


def _check_suits(name: str, X: Any) -> None:
    if name in DENSE_ONLY and sp.issparse(X):
        why = "ranks of zeros" if name == "ranks" else "zeros less the mean of their row"
        raise InputError(
            f"preprocess={name!r} on a sparse X of shape {X.shape}: {why} are not zero, so it would become "
            f"dense. "
            "Use preprocess='log', 'tf-idf', 'standardize' or 'unit', or pass X.toarray() if it fits."
        )
    if name == "pearson" and X.shape[1] < 3:
        raise InputError(
            f"preprocess='pearson' on {X.shape[1]} features: every correlation of two rows would be 1, -1 "
            "or undefined. Use preprocess='standardize', or give at least 3 features."
        )
    if name in ("log", "tf-idf"):
        _check_not_negative(name, X)


def _check_not_negative(name: str, X: Any) -> None:
    low = float((X.data if sp.issparse(X) else X).min(initial=0.0))
    if low < 0:
        raise InputError(
            f"preprocess={name!r} is for values that are not negative, and X holds {low:g}; use "
            f"preprocess='standardize'."
        )


def _ensure_copy(name: str, X: Any, kept: int) -> None:
    n, d = X.shape
    if sp.issparse(X):
        n_bytes = (
            X.nnz * (8.0 + 8.0 + X.dtype.itemsize) + 8.0 * n
        )  # and the numbers in double precision on the way
        what = f"a sparse copy of {X.nnz} entries"
    else:
        n_bytes = float(n) * kept * X.dtype.itemsize
        n_bytes += 16.0 * min(n, MOST_PLACES) * kept + 24.0 * n if name == "ranks" else 0.0
        what = f"a copy of {n} x {kept} numbers"
    ensure_fits(
        n_bytes,
        what=f"preprocess={name!r} on {n} objects with {d} features ({what})",
        remedy="use preprocess='none', pass X as float32, or use fewer objects or features",
    )


def _note_scales(features: Features, columns: Columns, remedies: str) -> None:
    """Name the columns that distances hardly see beside the widest, and the preparations that help."""
    spans = columns.half_range
    widest = int(spans.argmax())
    narrow = columns.varying[spans[columns.varying] < spans[widest] / LARGEST_RATIO]
    if narrow.size == 0:
        return
    names = features.feature_names

    def column(j: int) -> str:
        return repr(names[j]) if names else f"column {j}"

    warn(
        f"X holds features of very different scale: beside {column(widest)}, from {columns.low[widest]:g} to "
        f"{columns.high[widest]:g}, {narrow.size} of {features.n_features} have less than a thousandth of "
        f"that range "
        f"({listed(column(j) for j in narrow.tolist())}), so distances hardly see them. If they should "
        f"count, use preprocess={remedies}, or scale X.",
    )
