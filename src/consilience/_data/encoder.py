"""A table of numbers, categories, dates and gaps as features: one transformer for the kinds of :mod:`.mixed`.

With s the spread of a column of numbers, which becomes 1, for a row p and a column j:

    numbers, levels, dates   (x_pj - m_j) / s_j,  m_j the mean, s_j the standard deviation; of levels,
                             which are numbered, no less than 2                                          (1)
    two values               (b_pj - m_j) / 2,  b of 0 and 1                                               (2)
    categories               (e_pjl - m_jl) / sqrt(8) for every category l, e of 0 and 1                   (3)
    a gap                    0 in (1) to (3): the mean of the column

Two rows of different categories are 1/2 apart by (2) and by (3): a quarter of the distance, by a column of
numbers, of two rows one standard deviation on either side of the mean. Standardized, a column of two values
would part all rows in two.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.estimator import BaseEstimator, TransformerMixin
from .._base.names import check_unique
from .._base.parameters import Integer, check, listed
from ..errors import GuessWarning, InputError, need, warn
from .frames import as_frame
from .mixed import describe, is_gap

#: Distance of two rows by a column of two values, or of categories.
APART = 0.5

Encoder = TypeVar("Encoder", bound="TableEncoder")


class TableEncoder(TransformerMixin, BaseEstimator):
    """Make features of a table of numbers, categories, booleans, dates and gaps.

    Numbers and dates get mean 0 and standard deviation 1. Columns of two values and categories become columns
    in which different rows are 1/2 apart; neighboring levels of an ordered column are no farther apart. So no
    question with few answers parts the objects by itself. Gaps get the mean of their column. Columns that
    name the objects are left out with a warning: text that differs in more than half of the rows, and whole
    numbers at constant steps.

    Parameters
    ----------
    max_categories : int, default 20
        A column keeps its most frequent categories, at most this number; the others count as gaps.

    Attributes
    ----------
    feature_names_in_ : array of str
        Columns of the table.
    kinds_ : dict
        What each column holds: "numbers", "two values", "levels", "categories", "dates" or "names".
    left_out_ : list of str
        Columns that became no feature: names of objects, and columns of a single value.

    Examples
    --------
    >>> import consilience as cs, pandas
    >>> table = pandas.DataFrame({"mass": [3.1, None, 5.2, 4.9], "island": ["A", "B", "B", "C"]})
    >>> encoder = cs.io.TableEncoder().set_output(transform="pandas")
    >>> encoder.fit_transform(table).columns.tolist()
    ['mass', 'island=A', 'island=B', 'island=C']
    """

    feature_names_in_: np.ndarray
    n_features_in_: int
    kinds_: dict[str, str]
    left_out_: list[str]

    def __init__(self, max_categories: int = 20):
        self.max_categories = max_categories

    def fit(self: Encoder, X: Any, y: Any = None) -> Encoder:
        """Learn what each column of the table holds; y is ignored."""
        check("max_categories", self.max_categories, Integer(2))
        frame = _frame_of(X)
        if frame.shape[0] == 0 or frame.shape[1] == 0:
            raise InputError(f"X has shape {frame.shape}: give at least one row and one column.")
        self._parts: list[tuple[str, str, Any]] = []
        self.kinds_, self.left_out_ = {}, []
        for name, kind, _ in describe(frame):
            self.kinds_[name] = kind
            learned = None if kind == "names" else self._learn(frame[name], kind)
            if learned is None:
                self.left_out_.append(name)
            else:
                self._parts.append((name, kind, learned))
        if not self._parts:
            raise InputError(
                f"X has no column that makes a feature: {listed(map(repr, self.left_out_))} hold names of "
                "the objects, or a single value."
            )
        named = [repr(name) for name, kind in self.kinds_.items() if kind == "names"]
        if named:
            warn(
                f"{listed(named)} {'tells' if len(named) == 1 else 'tell'} the objects apart, as a name or a "
                f"number of each does, and {'is' if len(named) == 1 else 'are'} left out. Turn "
                "whole numbers that measure something into fractions, such as X[column] / 1000.",
                GuessWarning,
            )
        self.feature_names_in_ = np.array(list(self.kinds_), dtype=object)
        self.n_features_in_ = len(self.kinds_)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Make features of the rows of a table with the columns of fit, (n_samples, n_features)."""
        check_is_fitted(self, "kinds_")
        frame = _frame_of(X)
        absent = [name for name, _, _ in self._parts if name not in frame.columns]
        if absent:
            raise InputError(
                f"X lacks {listed(map(repr, absent))}, which the table of fit had; it has "
                f"{listed(map(repr, frame.columns), most=8)}."
            )
        return np.column_stack([self._encoded(frame[name], kind, own) for name, kind, own in self._parts])

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features: those of the columns, and column=category."""
        check_is_fitted(self, "kinds_")
        names: list[str] = []
        for name, kind, own in self._parts:
            names += [f"{name}={value}" for value in own[0]] if kind == "categories" else [name]
        return np.array(names, dtype=object)

    def _learn(self, column: Any, kind: str) -> Any:
        """What (1) to (3) need of a column; None if it has a single value."""
        if kind in ("categories", "two values"):
            cells = _cells(column)
            count: dict[str, int] = {}
            for cell in cells:
                if cell is not None:
                    count[cell] = count.get(cell, 0) + 1
            if len(count) < 2:
                return None
            kept = sorted(count, key=lambda value: (-count[value], value))[: self.max_categories]
            shares = np.array([[cell == value for value in kept] for cell in cells if cell in count]).mean(0)
            order = np.argsort(kept)
            return [kept[i] for i in order], shares[order]
        values = _numbers(column, kind)
        seen = values[~np.isnan(values)]
        unit = float(np.abs(seen).max(initial=0.0)) or 1.0  # squares of its share stay in the range of floats
        deviation = float((seen / unit).std()) if seen.size else 0.0
        if deviation == 0:
            return None
        if kind == "levels":
            deviation = max(deviation, 1 / APART / unit)
        return unit, float((seen / unit).mean()), deviation

    def _encoded(self, column: Any, kind: str, own: Any) -> np.ndarray:
        """(n, its features) by (1) to (3)."""
        if kind not in ("categories", "two values"):
            unit, mean, deviation = own
            values = (_numbers(column, kind) / unit - mean) / deviation
            return np.where(np.isnan(values), 0.0, values)[:, None]
        kept, shares = own
        cells = _cells(column)
        known = np.array([cell in kept for cell in cells])
        found = np.array([[cell == value for value in kept] for cell in cells], float) - shares
        found[~known] = 0.0
        return found[:, 1:] * APART if kind == "two values" else found * (APART / np.sqrt(2))


def _frame_of(X: Any) -> Any:
    """The table as narwhals sees it; arrays and lists become frames of pandas."""
    frame = as_frame(X)
    if frame is None:
        pandas = need("pandas", "pandas", "TableEncoder for a table that is no data frame")
        try:
            made = pandas.DataFrame(X).infer_objects()
        except ValueError as error:
            raise InputError(f"X is not a table: {error}.") from None
        frame = as_frame(made.set_axis([f"column {j}" for j in range(made.shape[1])], axis=1))
    names = [str(name) for name in frame.columns]
    check_unique(names, "column name", "rename the columns")
    if all(isinstance(name, str) for name in frame.columns):
        return frame
    return as_frame(frame.to_native().set_axis(names, axis=1))  # of pandas: others call columns by text


def _cells(column: Any) -> list[str | None]:
    return [None if is_gap(value) else str(value) for value in column.to_list()]


def _numbers(column: Any, kind: str) -> np.ndarray:
    """Values of a column of numbers, dates or ordered levels, NaN in gaps."""
    if kind == "dates":
        values = np.asarray(column.to_numpy())
        if values.dtype.kind not in "mM":  # dates of Python's own
            values = np.array(
                [None if is_gap(value) else value for value in column.to_list()], "datetime64[us]"
            )
        numbers = values.astype(f"{values.dtype.kind}8[us]").astype(np.int64).astype(float)
        return np.where(np.isnat(values), np.nan, numbers)
    if kind == "levels":
        native = column.to_native()
        levels = native.cat.categories if hasattr(native, "cat") and hasattr(native.cat, "categories") else ()
        levels = [str(value) for value in (levels if len(levels) else column.dtype.categories)]
        places = {value: float(i) for i, value in enumerate(levels)}
        return np.array([np.nan if is_gap(v) else places.get(str(v), np.nan) for v in column.to_list()])
    values = np.array([np.nan if is_gap(value) else float(value) for value in column.to_list()])
    if np.isinf(values).any():
        raise InputError(
            f"X contains infinite values (inf), the first in row {int(np.isinf(values).argmax())}, column "
            f"{column.name!r}. Put numbers, or NaN, in their place."
        )
    return values
