"""The distinct rows of an ensemble, and an order of them that depends only on their content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._kernels.labels.distinct import canonical_colors
from .._kernels.runtime.sums import grouped_sums
from ..errors import InputError
from .ensemble import Ensemble, from_codes, objects_behind, stand_for
from .named import given_names


class Compressed(Ensemble):
    """The distinct rows of an ensemble, with weights: what the methods work on.

    Attributes
    ----------
    weights : array (u,)
        Total weight of the objects with this row.
    inverse : array (n,)
        Row of every original object: ``compressed.labels[compressed.inverse]`` are the original labels.
    rows : array (u,)
        The first original object with each row.
    """

    _remedy_for_pairs = "use coassociation_blocks()"
    inverse: np.ndarray
    rows: np.ndarray

    def distinct(self, *, n_jobs: int | None = -1) -> Compressed:
        """Itself, because rows are distinct already."""
        return self

    def with_weights(self, weights: np.ndarray) -> Compressed:
        """The same rows with other weights."""
        other = from_codes(
            self._labels, self._categories, self._names, None, weights, self._recipes, kind=Compressed
        )
        other.rows, other.inverse = self.rows, self.inverse
        return other

    @classmethod
    def regrouped(cls, other: Compressed, rows: np.ndarray, inverse: np.ndarray) -> Compressed:
        """The same rows for the objects given by ``inverse``; ``rows`` are the first object of each."""
        self = other.with_weights(other.sample_weight)
        self.rows, self.inverse = rows, inverse
        return self

    def _to_parts(self) -> dict[str, Any]:
        """The parts of an ensemble, and the maps back to its objects."""
        return {**super()._to_parts(), "inverse": self.inverse, "rows": self.rows}

    @classmethod
    def _from_parts(cls, parts: Mapping[str, Any]) -> Compressed:
        made = super()._from_parts(parts)
        assert isinstance(made, Compressed)
        inverse, rows = parts["inverse"], parts["rows"]
        if (
            rows.shape != (made.n_samples,)
            or rows.dtype.kind + inverse.dtype.kind != "ii"
            or inverse.ndim != 1
        ):
            raise InputError(
                f"{rows.shape} rows and {inverse.shape} objects for {made.n_samples} distinct ones."
            )
        _check_within(inverse, made.n_samples, "inverse")
        _check_within(rows, inverse.size, "rows")
        inverse.setflags(write=False)
        made.inverse, made.rows = inverse, rows
        return made

    def expand(self, values: Any) -> Any:
        """Values per distinct row (array or sparse rows) copied to the original objects."""
        return values[self.inverse]

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
        inverse_order = np.empty(row_order.size, np.int64)
        inverse_order[row_order] = np.arange(row_order.size)
        ordered.rows, ordered.inverse = self.rows[row_order], inverse_order[self.inverse]
        return ordered, row_order, column_order, np.concatenate(cluster_order)


def compressed(parent: Ensemble, rows: np.ndarray, inverse: np.ndarray, weights: np.ndarray) -> Compressed:
    """The rows of an ensemble at these positions, which are distinct, for all its objects."""
    names, recipes = given_names(parent), parent.recipes
    made = from_codes(parent.labels[rows], parent.categories, names, None, weights, recipes, kind=Compressed)
    inverse.setflags(write=False)
    made.rows, made.inverse = rows, inverse
    stand_for(made, objects_behind(parent))
    return made


def _check_within(positions: np.ndarray, end: int, name: str) -> None:
    if positions.size == 0 or positions.min() < 0 or positions.max() >= end:
        raise InputError(f"{name} holds positions outside of the {end} that there are.")


def total_weights(weights: np.ndarray | None, groups: np.ndarray, count: int) -> np.ndarray:
    """(count,) total weight of each group, exactly independent of the order of objects."""
    if weights is not None and ((weights != np.rint(weights)).any() or weights.sum() >= 2**53):
        return grouped_sums(weights, groups, count)
    return np.bincount(groups, weights=weights, minlength=count).astype(float)
