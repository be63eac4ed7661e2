"""A sample of the distinct objects, for methods on pairs that cannot take all of them."""

from __future__ import annotations

import numpy as np

from ..._evidence.table import drawn_by_weight


def linked_objects(
    weights: np.ndarray, sample: int | None, n_clusters: int
) -> tuple[np.ndarray | None, np.ndarray]:
    """(rows, weights) of the distinct objects that are linked; rows None are all."""
    most = weights.size if sample is None else max(sample, n_clusters)
    while True:
        rows, drawn = drawn_by_weight(weights, most)
        if rows is None or rows.size >= n_clusters:
            return rows, drawn
        most *= 2  # a few heavy objects take nearly all of the draws
