"""Placing further objects in a consensus by their base labels.

Everything is computed from the table of :mod:`consilience._evidence.table`.

A row of base labels that the fit has seen (a known signature) keeps the cluster it was given, so that
predicting the objects of ``fit`` gives their labels. Any other row goes to the cluster with which it is most
often together: the largest membership, Eq. (3) of :mod:`consilience._evidence.table`, which with nothing
missing is the mean co-association with the objects of the cluster. A label that the clustering did not have
counts as missing. O(m) for a known row, O(m c) for any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._base.parameters import Integer, check, check_weights, listed, unit_of
from .._data.distinct import Compressed
from .._data.ensemble import Ensemble, unquestioned
from .._data.named import given_names, incidence_of
from .._data.soft import SoftCompressed, SoftEnsemble
from .._kernels.labels.distinct import RowTable
from .._kernels.labels.incidence import Labels, Memberships, MembershipTable
from .._kernels.labels.information import measure_tables
from .._kernels.runtime.threads import map_blocks
from ..errors import InputError, warn
from .table import Evidence, mean_of_known

_BLOCK = 1 << 14  # rows
#: How far the share of an object's own cluster is lifted above the others if it is not the largest: enough to
#: survive rounding.
_ABOVE = 1.0 + 1e-9


class TopClusters(NamedTuple):
    """The clusters with the largest shares in each object: arrays (n_objects, n), largest first."""

    clusters: np.ndarray
    shares: np.ndarray


class Predictor:
    """What places rows of base labels in the clusters of a fitted consensus.

    signatures : the distinct objects of the fit.
    labels : array (n,), the cluster of each object.
    weights : array (n,) of the objects; needed only if equal objects are in different clusters.
    """

    def __init__(
        self, distinct: Compressed | SoftCompressed, labels: np.ndarray, weights: np.ndarray | None = None
    ):
        self.distinct, self.labels, self.weights = distinct, labels, weights
        self.n_clusters = int(labels.max()) + 1

    @cached_property
    def groups(self) -> np.ndarray:
        """(u,) the cluster of each distinct object; if equal ones are in several, that of the first."""
        return self.labels[self.distinct.rows]

    @cached_property
    def evidence(self) -> Evidence:
        """The base clusterings against the clusters."""
        if self.weights is None:
            return Evidence(self.distinct, self.groups, self.n_clusters)
        rows = self.distinct.inverse
        return Evidence(self.distinct, self.labels, self.n_clusters, rows=rows, weights=self.weights)

    @cached_property
    def known(self) -> Any:
        """The distinct objects, for looking up rows."""
        rows = incidence_of(self.distinct)
        return RowTable(rows.labels) if isinstance(rows, Labels) else MembershipTable(rows.Y)

    def __getstate__(self) -> dict:
        return {**self._to_parts(), "n_clusters": self.n_clusters}  # the rest can be computed again

    def _to_parts(self) -> dict[str, Any]:
        """Its parts, for files of models."""
        return {"distinct": self.distinct, "labels": self.labels, "weights": self.weights}

    @classmethod
    def _from_parts(cls, parts: Mapping[str, Any]) -> Predictor:
        """The predictor made of these parts; raises unless they fit together, as compiled code requires."""
        distinct, labels, weights = parts["distinct"], parts["labels"], parts["weights"]
        fits = isinstance(distinct, (Compressed, SoftCompressed)) and labels.shape == distinct.inverse.shape
        if not fits or labels.dtype != np.int64 or labels.min() < 0 or labels.max() >= labels.size:
            raise InputError(
                f"labels of shape {labels.shape} and type {labels.dtype} are not those of the distinct "
                f"objects."
            )
        return cls(distinct, labels, None if weights is None else check_weights(weights, labels.size))

    # Rows of codes -----------------------------------------------------------------------------------------

    def predict(self, codes: np.ndarray | Memberships, *, n_jobs: int | None = -1) -> np.ndarray:
        """(n,) the cluster of each row of codes (n, m) of :func:`codes_of`; -1 if all are missing."""
        out = np.empty(len(codes), np.int64)
        known, ties = self.known, self.evidence.ties

        def block(a: int, b: int) -> None:
            found = known.find(codes[a:b])
            out[a:b] = self.groups[found]
            rest = np.flatnonzero(found < 0)
            if rest.size:
                rows = codes[a:b][rest]
                out[a + rest] = np.where(_any_known(rows), ties(rows).argmax(axis=1), -1)

        map_blocks(block, len(codes), size=_BLOCK, n_jobs=n_jobs)
        return out

    def shares(
        self, codes: np.ndarray | Memberships, top: int | None = None, *, n_jobs: int | None = -1
    ) -> tuple[np.ndarray | None, np.ndarray]:
        """(clusters, shares), each (n, top), largest first; for all clusters, in order, (None, (n, c)).

        The largest share is that of the predicted cluster: it is lifted just above the others if it is not. A
        row of which nothing is known has zeros, and clusters -1.
        """
        c = self.n_clusters
        width = c if top is None else min(top, c)
        shares = np.empty((len(codes), width))
        clusters = None if top is None else np.empty((len(codes), width), np.int64)
        known, ties = self.known, self.evidence.ties

        def block(a: int, b: int) -> None:
            found = known.find(codes[a:b])
            own = ties(codes[a:b])
            lift_inplace(own, np.where(found >= 0, self.groups[found], own.argmax(axis=1)))
            total = own.sum(axis=1, keepdims=True)
            own /= np.where(total > 0, total, 1.0)
            if clusters is None:
                shares[a:b] = own
                return
            order = np.argsort(-own, axis=1, kind="stable")[:, :width]
            shares[a:b] = np.take_along_axis(own, order, axis=1)
            clusters[a:b] = np.where(total > 0, order, -1)

        map_blocks(block, len(codes), size=_BLOCK, n_jobs=n_jobs)
        return clusters, shares

    def top(self, codes: np.ndarray | Memberships, n: int, *, n_jobs: int | None = -1) -> TopClusters:
        """The n clusters with the largest shares."""
        clusters, shares = self.shares(codes, n, n_jobs=n_jobs)
        assert clusters is not None
        return TopClusters(clusters, shares)

    def confidence(
        self, codes: np.ndarray | Memberships, labels: np.ndarray, *, n_jobs: int | None = -1
    ) -> np.ndarray:
        """(n,) how sure the base clusterings are of these labels of the rows.

        Eq. (10) of :mod:`consilience._evidence.table`.
        """
        return self.evidence.confidence_of(codes, labels, n_jobs=n_jobs)

    def score(
        self, codes: np.ndarray | Memberships, weights: np.ndarray | None = None, *, n_jobs: int | None = -1
    ) -> float:
        """Mean NMI of the clusterings of the rows with their clusters, over the rows that each saw.

        It is 0 if no clustering saw any row.
        """
        rows = codes if isinstance(codes, Memberships) else Labels(codes, self.distinct.offsets)
        weights = np.ones(len(codes)) if weights is None else weights / unit_of(weights)
        table = rows.table(self.predict(codes, n_jobs=n_jobs), self.n_clusters, weights)
        return mean_of_known(measure_tables(table, self.distinct.offsets, "nmi"))


def _any_known(rows: np.ndarray | Memberships) -> np.ndarray:
    """(n,) of bool: whether anything is known of each row."""
    if isinstance(rows, Memberships):
        return np.asarray(np.diff(rows.Y.indptr) > 0)
    return np.asarray((rows >= 0).any(axis=1))


def lift_inplace(shares: np.ndarray, labels: np.ndarray) -> None:
    """Make column ``labels[i]`` the largest of row i, just above the others, if it is not."""
    rows = np.flatnonzero(shares.argmax(axis=1) != labels)
    shares[rows, labels[rows]] = shares[rows].max(axis=1) * _ABOVE


def check_top(n: Any) -> None:
    """Raise unless ``n`` is a number of clusters."""
    check("n", n, Integer(1))


def say_unknown(labels: np.ndarray, names: list[Any] | None, why: str) -> None:
    """One warning about the objects that got no cluster."""
    lost = np.flatnonzero(labels < 0)
    if lost.size:
        shown = listed(lost if names is None else (repr(names[i]) for i in lost))
        warn(
            f"{lost.size} of {len(labels)} objects ({shown}) {why}, so they get the label -1.",
        )


# From new labels to the codes of the fit -------------------------------------------------------------------


def codes_of(labels: Any, distinct: Ensemble, owner: str) -> tuple[np.ndarray, list[Any] | None]:
    """(codes (n, m), sample names) of new labels in the codes of the fit.

    Labels that the fit did not have are -1. Clusterings are matched by name if both sides have names,
    otherwise by position; categories by value.
    """
    new = labels if isinstance(labels, Ensemble) else unquestioned(labels)
    codes, categories = new.labels, new.categories
    order = _matched(_own_names(new), distinct, codes.shape, owner)
    out = np.empty(codes.shape, distinct.labels.dtype)
    for i, (j, own) in enumerate(zip(order, distinct.categories)):
        column, found = codes[:, j], categories[j]
        if found.dtype == own.dtype and np.array_equal(found, own):
            out[:, i] = column
            continue
        numbers = {value: code for code, value in enumerate(_values(own))}
        translated = [numbers.get(value, -1) for value in _values(found)]
        out[:, i] = np.array([*translated, -1], out.dtype)[column]
    return out, new.sample_names


def memberships_of(blocks: Any, distinct: SoftCompressed, owner: str) -> tuple[Memberships, list[Any] | None]:
    """(rows, sample names) of new memberships in the columns of the fit.

    Memberships in a cluster that held nothing in the fit are unknown.
    """
    soft = blocks if isinstance(blocks, SoftEnsemble) else SoftEnsemble(blocks)
    order = _matched(_own_names(soft), distinct, soft.shape, owner)
    numbers = np.full(soft.n_base_clusters, -1)
    for i, j in enumerate(order):
        if soft.widths[j] != distinct.widths[i]:
            raise InputError(
                f"{soft.clustering_names[j]} has {soft.widths[j]} columns, but {owner} was fitted to "
                f"{distinct.widths[i]} there. Pass memberships in the same clusters, in the same order."
            )
        column = {value: distinct.offsets[i] + at for at, value in enumerate(distinct.columns[i])}
        numbers[soft.offsets[j] : soft.offsets[j + 1]] = [column.get(value, -1) for value in soft.columns[j]]
    entries = soft.indicator().tocoo()
    known = numbers[entries.col] >= 0
    places = entries.row[known], numbers[entries.col[known]]
    Y = sp.csr_array((entries.data[known], places), shape=(soft.n_samples, distinct.n_base_clusters))
    Y.sort_indices()
    return Memberships(Y, distinct.offsets), soft.sample_names


def _own_names(ensemble: Ensemble | SoftEnsemble) -> list[str] | None:
    return given_names(ensemble)


def _values(categories: np.ndarray) -> list[Any]:
    """Values that compare equal if they are: dates in one unit."""
    kind = categories.dtype.kind
    return (categories.astype(f"{kind}8[ns]") if kind in "mM" else categories).tolist()


def _matched(
    names: list[str] | None, distinct: Ensemble | SoftEnsemble, shape: tuple[int, ...], owner: str
) -> list[int]:
    """The column of the new labels for each clustering of the fit."""
    known = _own_names(distinct)
    if names is not None and known is not None and names != known:
        strange = [name for name in names if name not in known]
        absent = [name for name in known if name not in names]
        if not strange and not absent and len(names) == len(known) == len(set(names)):
            return [names.index(name) for name in known]
        parts = [f"the columns do not include {listed(map(repr, absent))}"] if absent else []
        parts += [f"its clusterings do not include {listed(map(repr, strange))}"] if strange else []
        raise InputError(
            f"{owner} was fitted to clusterings of other names: "
            f"{'; '.join(parts) or 'a name occurs twice'}. Pass the clusterings of "
            "fit, with a column of NaN for one that did not see these objects, or an array to match them "
            "by position."
        )
    m = distinct.n_clusterings
    if shape[1] != m:
        hint = f" Pass labels.T if there are {shape[1]} objects." if shape[0] == m else ""
        raise InputError(
            f"labels has shape {shape}: {shape[1]} clusterings, but {owner} was fitted to {m}. Pass labels "
            f"of the same clusterings in the same order, with NaN where one did not see an object.{hint}"
        )
    return list(range(m))
