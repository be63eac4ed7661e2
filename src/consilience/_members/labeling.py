"""Members that label further objects: what each kind keeps of its fit, and how it places rows.

* k-means, random-k, random-features and bagging keep their centers: a row goes to the nearest;
* landmarks keep their landmarks (``consilience.generate._landmarks``);
* metric-subspace and spectral members, and clusterers without ``predict``, use neighbors: a row gets the
  label of the nearest row of the fit, as the member sees rows (its features, preparation and metric). They
  share one table of those rows. A row whose nearest row was missing from the member is missing too;
* clusterers with ``predict`` are kept themselves.

The parameter ``keep_base_models`` of every generator says whether members are kept: False, True, or None,
which keeps them if they take at most 128 MB.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import scipy.sparse as sp

from .._base.parameters import Flag, Nothing, check
from .._data.features import Features
from .._data.labels import encode
from .._kernels.neighbors.points import nearest_points, own_squares
from .._kernels.runtime.threads import blocks
from ..errors import InputError
from .preparation import Preparation

#: Bytes that members may take if ``keep_base_models`` is None: little compared with what a fit needs.
MOST_KEPT = 2**27
KEEP = Nothing() | Flag()
_NUMBERS = 1 << 24  # in new rows that are prepared at once
_ROOM = 1.0 + 1e-9  # so that rounding puts no row out of reach


def to_keep(keep_base_models: Any, n_bytes: float) -> bool:
    """Whether to keep members that take this number of bytes."""
    check("keep_base_models", keep_base_models, KEEP)
    return n_bytes <= MOST_KEPT if keep_base_models is None else bool(keep_base_models)


def table_bytes(X: Any) -> float:
    """Bytes of a table, dense or CSR."""
    return float(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes)


def neighbor_bytes(X: Any, m: int) -> float:
    """Bytes that m members keep if they use neighbors.

    They keep the rows of fit once, and for every member a label and a width of each row.
    """
    return table_bytes(X) + 12.0 * m * X.shape[0]


def codes_of_labels(labels: np.ndarray) -> np.ndarray:
    """Labels of one clustering as the ensemble numbers them, int32, -1 for missing."""
    return encode(labels, "The result of a base model")[0]


@dataclass(frozen=True, eq=False)
class Member(ABC):
    """What one clustering of an ensemble keeps to label further objects.

    preparation : how it sees the features.
    """

    preparation: Preparation

    def label(self, X: Any, *, n_jobs: int | None = 1) -> np.ndarray:
        """(n,) int32 codes of the ensemble, -1 for missing, of the rows of X."""
        return label_rows([self], Features(X, least_rows=1).X, n_jobs=n_jobs)[0][:, 0]

    @abstractmethod
    def find(self, Z: Any, known: Any, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray | None]:
        """(codes (n,), distances (n,) to what it was learned from, or None) of prepared rows.

        known : the rows of fit, prepared, for members that use neighbors.
        """

    @abstractmethod
    def furthest(self, known: Any, n_jobs: int | None) -> float:
        """The largest distance that a row of fit has."""

    @property
    def known_rows(self) -> Any:
        """The rows of fit as they were given, or None."""
        return None


@dataclass(frozen=True, eq=False)
class CenterMember(Member):
    """k-means: a row goes to the nearest center.

    columns : positions of the prepared features it sees; None is all.
    centers (k, d) : in the order of the codes.
    largest : distance of the farthest row of fit from its center.
    """

    columns: np.ndarray | None
    centers: np.ndarray = field(repr=False)
    largest: float = np.inf

    def find(self, Z: Any, known: Any, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray | None]:
        index, squares = nearest_points(columns_of(Z, self.columns), self.centers, n_jobs=n_jobs)
        return index.astype(np.int32), np.sqrt(squares)

    def furthest(self, known: Any, n_jobs: int | None) -> float:
        return self.largest


def center_member(
    preparation: Preparation, columns: np.ndarray | None, Z: Any, centers: np.ndarray, labels: np.ndarray
) -> CenterMember:
    """Made from the labels (n,) of the rows Z that a k-means saw.

    A center that lost all its rows attracts no others.
    """
    filled, index = np.unique(labels, return_inverse=True)
    centers = centers[filled]
    squares = own_squares(Z, centers, index.reshape(-1))
    return CenterMember(preparation, columns, centers, float(np.sqrt(squares.max())))


@dataclass(frozen=True, eq=False)
class Neighbors(Member):
    """A row gets the label of the nearest row of fit.

    X : the rows of fit as they were given, shared by all members.
    codes (len(rows),) : their labels, -1 for missing.
    rows : positions of those that the member saw; None is all.
    columns, unit, metric : as :func:`seen_by` takes them.
    widths (len(rows),) : mean square distance of each row to its own neighbors. Distances to the row are
        relative to it, as in the kernel of the member; None compares plain distances. Without it rows in a
        crowd, such as short texts, would be nearest to all others.
    """

    X: Any = field(repr=False)
    codes: np.ndarray = field(repr=False)
    rows: np.ndarray | None = None
    columns: np.ndarray | None = None
    unit: float = 1.0
    metric: str = "diversified"
    widths: np.ndarray | None = field(default=None, repr=False)

    @property
    def known_rows(self) -> Any:
        return self.X

    def _points(self, known: Any) -> Any:
        return seen_by(known if self.rows is None else known[self.rows], self.columns, self.unit, self.metric)

    def find(self, Z: Any, known: Any, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray | None]:
        index, distances = self.nearest(Z, known, n_jobs)
        return self.codes[index], distances

    def nearest(self, Z: Any, known: Any, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
        """(position, distance) of the row of fit that each prepared row is nearest to."""
        own = seen_by(Z, self.columns, self.unit, self.metric)
        index, squares = nearest_points(own, self._points(known), widths=self.widths, n_jobs=n_jobs)
        return index, np.sqrt(squares)

    def measures_like(self, other: Any) -> bool:
        """Whether another member, of the same preparation, finds the same neighbors.

        Members that were read from one embedding do.
        """
        return (
            isinstance(other, Neighbors)
            and (self.unit, self.metric) == (other.unit, other.metric)
            and all(
                _same(getattr(self, name), getattr(other, name)) for name in ("rows", "columns", "widths")
            )
        )

    def furthest(self, known: Any, n_jobs: int | None) -> float:
        if self not in _FURTHEST:
            points, end = self._points(known), 0.0
            if points.shape[0] > 1:
                squares = nearest_points(points, points, widths=self.widths, others=True, n_jobs=n_jobs)[1]
                end = float(np.sqrt(squares.max()))
            _FURTHEST[self] = end
        return _FURTHEST[self]


#: What :meth:`Neighbors.furthest` found, which takes as long as labeling the rows of fit.
_FURTHEST: WeakKeyDictionary[Neighbors, float] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class FittedMember(Member):
    """A fitted clusterer that labels rows by itself.

    categories : its labels, by code; any other is missing.
    columns : positions of the prepared features it sees; None is all.
    """

    model: Any
    categories: np.ndarray
    columns: np.ndarray | None = None

    def find(self, Z: Any, known: Any, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray | None]:
        codes, found = encode(self.model.predict(columns_of(Z, self.columns)), "The result of a base model")
        numbers = {value: code for code, value in enumerate(self.categories.tolist())}
        translated = [numbers.get(value, -1) for value in found.tolist()]
        return np.array([*translated, -1], np.int32)[codes], None

    def furthest(self, known: Any, n_jobs: int | None) -> float:
        return np.inf


def _same(first: np.ndarray | None, second: np.ndarray | None) -> bool:
    """Whether two arrays, or nothing, are equal."""
    return first is second or (first is not None and second is not None and np.array_equal(first, second))


# How rows are seen -----------------------------------------------------------------------------------------


def columns_of(Z: Any, columns: np.ndarray | None) -> Any:
    """Some columns of a table, C-contiguous or CSR; None is all."""
    if columns is None:
        return Z
    return sp.csr_array(Z[:, columns]) if sp.issparse(Z) else np.ascontiguousarray(Z[:, columns])


def seen_by(Z: Any, columns: np.ndarray | None, unit: float, metric: str) -> Any:
    """Rows such that their Euclidean distance is that of the metric, float64.

    "diversified" is Euclidean itself, times unit.
    """
    Z = columns_of(Z, columns)
    Z = sp.csr_array(Z, dtype=np.float64, copy=True) if sp.issparse(Z) else np.array(Z, np.float64)
    Z *= unit
    if metric == "diversified":
        return Z
    if metric in ("correlation", "spearman"):
        Z = Z.toarray() if sp.issparse(Z) else Z
        if metric == "spearman":
            from scipy.stats import rankdata

            Z = rankdata(Z, axis=1)
        Z = Z - Z.mean(axis=1, keepdims=True)
    squares = Z.multiply(Z) if sp.issparse(Z) else Z * Z
    length = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    inverse = 1.0 / np.where(length > 0, length, 1.0)
    return sp.csr_array(sp.diags_array(inverse) @ Z) if sp.issparse(Z) else Z * inverse[:, None]


# All members -----------------------------------------------------------------------------------------------


class _Shared:
    """Members that see the features alike, and the rows of fit as they do."""

    def __init__(self, members: list[Member], n_jobs: int | None):
        self.members, self.n_jobs = members, n_jobs

    def ends(self) -> list[float]:
        """The largest distance that a row of fit has, for each member."""
        ends: list[float] = []
        for t, member in enumerate(self.members):
            ends.append(ends[-1] if self._repeats(t) else member.furthest(self.known, self.n_jobs))
        return ends

    def find(self, Z: Any) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        """What each member finds for prepared rows.

        Consecutive members with the same neighbors share the search.
        """
        for t, member in enumerate(self.members):
            if not isinstance(member, Neighbors):
                yield member.find(Z, self.known, self.n_jobs)
                continue
            if not self._repeats(t):
                index, distances = member.nearest(Z, self.known, self.n_jobs)
            yield member.codes[index], distances

    def _repeats(self, t: int) -> bool:
        member = self.members[t]
        return t > 0 and isinstance(member, Neighbors) and member.measures_like(self.members[t - 1])

    @cached_property
    def known(self) -> Any:
        rows = next((member.known_rows for member in self.members if member.known_rows is not None), None)
        return None if rows is None else self.members[0].preparation.apply(rows, n_jobs=self.n_jobs)


def label_rows(
    members: Sequence[Any], X: Any, *, reach: bool = False, n_jobs: int | None = -1
) -> tuple[np.ndarray, np.ndarray | None]:
    """(codes (n, m) int32, within (n,) or None) of checked rows X.

    within : if ``score_samples``, the share of members, among those that can tell, for which a row is no
    farther than the rows of fit were.
    """
    n = X.shape[0]
    codes = np.empty((n, len(members)), np.int32)
    inside, telling = np.zeros(n), 0
    alike: dict[int, list[int]] = {}
    for i, member in enumerate(members):
        if isinstance(member, Member):
            alike.setdefault(id(member.preparation), []).append(i)
        else:  # of a generator of the user's own
            codes[:, i] = member.label(X)
    for own in alike.values():
        shared = _Shared([members[i] for i in own], n_jobs)
        ends = shared.ends() if reach else [np.inf] * len(own)
        tells = [False] * len(own)
        for a, b in blocks(n, max(1, _NUMBERS // X.shape[1])):
            Z = shared.members[0].preparation.apply(X[a:b], n_jobs=n_jobs)
            for t, (i, (found, distance)) in enumerate(zip(own, shared.find(Z))):
                codes[a:b, i] = found
                if reach and distance is not None:
                    inside[a:b] += distance <= ends[t] * _ROOM
                    tells[t] = True
        telling += sum(tells)
    if not reach:
        return codes, None
    if telling == 0:
        raise InputError(
            "No base model can tell how far a row is: clusterers that label rows with their own predict do "
            "not say. Use a generator of the library, such as generator='kmeans'."
        )
    return codes, inside / telling
