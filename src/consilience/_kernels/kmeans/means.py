"""Centers of one run of k-means from the sums of its clusters."""

from __future__ import annotations

import numpy as np

from .rows import Rows


def means(rows: Rows, before: np.ndarray, sums: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Centers of one run from its cluster sums, with empty clusters moved to the farthest rows."""
    if not (rows.uneven or rows.far) and sums[:, -1].all():  # most steps, with nothing to look after
        return sums[:, :-1] / sums[:, -1:]
    sums, mass = sums[:, :-1], sums[:, -1].copy()
    if rows.uneven:  # what is left of weights that were added and taken off is not 0
        mass = np.bincount(labels, weights=rows.weight, minlength=len(before))
    empty, moved = np.flatnonzero(mass == 0), False
    if len(empty):
        sums = sums.copy()
        distance = rows.own_squares(before, labels)
        if moved := bool(distance.max() > 0):
            farthest = np.argpartition(distance, -len(empty))[: -len(empty) - 1 : -1]
            far_rows = rows.rows(farthest)
            for j, i, x in zip(empty, farthest, far_rows):
                w = rows.weight[i]
                sums[labels[i]] -= w * x
                mass[labels[i]] -= w
                sums[j] = w * x
                mass[j] = w
    # A cluster can stay empty only if rows coincide; it then follows the heaviest one.
    heaviest = mass.argmax()
    filled = mass > 0
    centers = np.empty_like(before)
    centers[filled] = sums[filled] / mass[filled, None]
    if rows.far and not moved:
        rows.add_residuals(labels, mass, centers)
    centers[~filled] = centers[heaviest]
    return centers
