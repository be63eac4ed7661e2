"""Lloyd's two steps for many runs at a time, until each of them stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .kmeans_assign import assign
from .kmeans_rows import Rows


def lloyd(
    rows: Rows,
    starts: list[np.ndarray],
    *,
    max_iter: int,
    tol: float,
    on_done: Callable[[int], Any] | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[np.ndarray]]:
    """Labels (m, n), iterations, whether converged, and centres of all runs from the given starts."""
    m = len(starts)
    ks = np.array([len(c) for c in starts])
    offsets = np.concatenate([[0], np.cumsum(ks)])
    centers = np.vstack(starts)
    sums = np.zeros_like(centers)
    labels = np.full((m, rows.n_samples), -1, dtype=np.int32)
    n_iter, converged = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=bool)
    last_look = np.zeros(m, dtype=bool)  # centres stand; labels are to be read off once more
    active = np.arange(m)
    while len(active):
        own = [slice(offsets[r], offsets[r + 1]) for r in active]
        stack = rows.stack(np.vstack([centers[o] for o in own]), ks[active])
        old, new = labels[active], assign(rows, stack)
        labels[active] = new
        moving = np.flatnonzero(~last_look[active])
        before_move = old[moving]
        if rows.far:  # what a far row leaves of a sum that it was in is its rounding: add up anew
            before_move = np.full_like(before_move, -1)
            for a in moving:
                sums[own[a]] = 0
        rows.move(offsets[active[moving]], before_move, new[moving], sums)
        for a in moving:
            r = active[a]
            o = own[a]
            before = centers[o].copy()
            centers[o] = means(rows, before, sums[o], new[a])
            n_iter[r] += 1
            if np.array_equal(old[a], new[a]):
                converged[r] = True
            elif ((centers[o] - before) ** 2).sum() <= tol:
                converged[r] = last_look[r] = True
            elif n_iter[r] == max_iter:
                last_look[r] = True
        stay = [a for a in moving if last_look[active[a]] or not converged[active[a]]]
        if on_done is not None and len(stay) < len(active):
            on_done(len(active) - len(stay))
        active = active[stay]
    return labels, n_iter, converged, [centers[offsets[r] : offsets[r + 1]] for r in range(m)]


def means(rows: Rows, before: np.ndarray, sums: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Centres of one run from its cluster sums, with empty clusters moved to the farthest rows."""
    k = len(before)
    mass = np.bincount(labels, weights=rows.weight, minlength=k)
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
