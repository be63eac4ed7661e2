"""The distinct rows of an ensemble, and an order of them that depends only on their content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from .._kernels.labels.distinct import canonical_colors
from .._kernels.runtime.sums import grouped_sums
from ..errors import InputError
from .ensemble import Ensemble, from_codes, objects_behind, stand_for
from .named import given_names

Own = TypeVar("Own", bound="OfObjects")


class OfObjects:
    """Distinct rows that stand for objects: how they map back to these.

    Attributes
    ----------
    inverse : array (n,)
        Row of every original object: ``compressed.labels[compressed.inverse]`` are the original labels.
    rows : array (u,)
        The first original object with each row.
    """

    inverse: np.ndarray
    rows: np.ndarray

    def distinct(self: Own, *, n_jobs: int | None = -1) -> Own:
        """Itself, because rows are distinct already."""
        return self

    def expand(self, values: Any) -> Any:
        """Values per distinct row (array or sparse rows) copied to the original objects."""
        return values[self.inverse]

    def standing_for(self: Own, rows: np.ndarray, inverse: np.ndarray) -> Own:
        """Itself, for the objects given by ``inverse``; ``rows`` are the first object of each."""
        inverse.setflags(write=False)
        self.rows, self.inverse = rows, inverse
        return self

    def in_order(self, other: Own, row_order: np.ndarray) -> Own:
        """The other, whose rows are those of this one in this order, for the same objects."""
        return other.standing_for(self.rows[row_order], inverted(row_order)[self.inverse])


class Compressed(OfObjects, Ensemble):
    """The distinct rows of an ensemble, with their total weights: what the methods work on."""

    _remedy_for_pairs = "use coassociation_blocks()"

    def with_weights(self, weights: np.ndarray) -> Compressed:
        """The same rows with other weights."""
        other: Compressed = from_codes(
            self._labels, self._categories, self._names, None, weights, self._recipes, kind=Compressed
        )
        return other.standing_for(self.rows, self.inverse)

    def _to_parts(self) -> dict[str, Any]:
        """The parts of an ensemble, and the maps back to its objects."""
        return {**super()._to_parts(), "inverse": self.inverse, "rows": self.rows}

    @classmethod
    def _from_parts(cls, parts: Mapping[str, Any]) -> Compressed:
        made = super()._from_parts(parts)
        assert isinstance(made, Compressed)
        check_maps(parts["rows"], parts["inverse"], made.n_samples)
        return made.standing_for(parts["rows"], parts["inverse"])

    def canonical(self) -> tuple[Compressed, np.ndarray, np.ndarray, np.ndarray]:
        """The same ensemble in an order that depends only on its content.

        Returns (ensemble, row_order, column_order, cluster_order): row ``i`` of the result is row
        ``row_order[i]`` of this one, and so on; cluster_order refers to global cluster numbers. What is
        computed from the result does not depend on how objects, clusterings or labels were ordered or named,
        except among objects that are mirror images of each other.
        """
        colors, clustering_colors = canonical_colors(self.global_labels(), self.offsets, self.sample_weight)
        row_order = np.argsort(colors, kind="stable")
        column_order = np.argsort(clustering_colors, kind="stable")
        labels = self._labels[row_order][:, column_order]
        cluster_order = []
        for position, i in enumerate(column_order):
            column = labels[:, position]
            present, first = np.unique(column, return_index=True)
            old = present[np.argsort(first)]  # by first appearance in the new order of rows
            old = old[old >= 0]
            numbers = np.empty(len(self._categories[i]) + 1, labels.dtype)
            numbers[old] = np.arange(old.size)
            numbers[-1] = -1
            labels[:, position] = numbers[column]
            cluster_order.append(self.offsets[i] + old)
        categories = [np.arange(len(self._categories[i])) for i in column_order]
        ordered = from_codes(labels, categories, weights=self.sample_weight[row_order], kind=Compressed)
        return self.in_order(ordered, row_order), row_order, column_order, np.concatenate(cluster_order)


def compressed(parent: Ensemble, rows: np.ndarray, inverse: np.ndarray, weights: np.ndarray) -> Compressed:
    """The rows of an ensemble at these positions, which are distinct, for all its objects."""
    names, recipes = given_names(parent), parent.recipes
    made = from_codes(parent.labels[rows], parent.categories, names, None, weights, recipes, kind=Compressed)
    stand_for(made, objects_behind(parent))
    return made.standing_for(rows, inverse)


def inverted(order: np.ndarray) -> np.ndarray:
    """The place of every row in an order of all of them."""
    place = np.empty_like(order)
    place[order] = np.arange(order.size)
    return place


def check_distinct(n_clusters: int, u: int, n: int) -> None:
    """Raise if there are more clusters than the u rows that tell n objects apart."""
    if n_clusters > u:
        raise InputError(
            f"n_clusters={n_clusters} exceeds the {u} distinct objects: the clusterings tell only {u} of the "
            f"{n} objects apart. Choose a value between 1 and {u}, or add finer clusterings."
        )


def check_maps(rows: np.ndarray, inverse: np.ndarray, u: int) -> None:
    """Raise unless these map u distinct rows to objects and back, as compiled code requires."""
    if rows.shape != (u,) or rows.dtype.kind + inverse.dtype.kind != "ii" or inverse.ndim != 1:
        raise InputError(f"{rows.shape} rows and {inverse.shape} objects for {u} distinct ones.")
    _check_within(inverse, u, "inverse")
    _check_within(rows, inverse.size, "rows")
    if not np.array_equal(inverse[rows], np.arange(u)):
        raise InputError("rows are not the objects that distinct ones stand for.")


def _check_within(positions: np.ndarray, end: int, name: str) -> None:
    if positions.size == 0 or positions.min() < 0 or positions.max() >= end:
        raise InputError(f"{name} holds positions outside of the {end} that there are.")


def total_weights(weights: np.ndarray | None, groups: np.ndarray, count: int) -> np.ndarray:
    """(count,) total weight of each group, exactly independent of the order of objects."""
    if weights is not None and ((weights != np.rint(weights)).any() or weights.sum() >= 2**53):
        return grouped_sums(weights, groups, count)
    return np.bincount(groups, weights=weights, minlength=count).astype(float)
