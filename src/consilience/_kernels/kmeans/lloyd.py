"""Lloyd's two steps for many runs at a time, until each of them stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .assign import assign
from .gaps import Changes, Gaps
from .means import means
from .rows import DenseRows, Rows
from .screen import Stack


def lloyd(
    rows: Rows,
    starts: list[np.ndarray],
    *,
    max_iter: int,
    tol: float,
    on_done: Callable[[int], Any] | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[np.ndarray]]:
    """Labels (m, n), iterations, whether converged, and centers of all runs from the given starts."""
    m = len(starts)
    ks = np.array([len(c) for c in starts])
    offsets = np.concatenate([[0], np.cumsum(ks)])
    centers = np.vstack(starts)
    sums = np.zeros((len(centers), rows.n_features + 1))  # the last column is the mass of the cluster
    labels = np.zeros((m, rows.n_samples), dtype=np.int32)
    memory = Gaps(rows, ks, labels) if isinstance(rows, DenseRows) else Afresh(rows, labels)
    n_iter, converged = np.zeros(m, dtype=np.int64), np.zeros(m, dtype=bool)
    last_look = np.zeros(m, dtype=bool)  # centers stand; labels are to be read off once more
    active = np.arange(m)
    first = True
    while len(active):
        own = [slice(offsets[r], offsets[r + 1]) for r in active]
        stack = rows.stack(np.vstack([centers[o] for o in own]), ks[active])
        changes = memory.look(stack, active, listed=not first)
        moving = np.flatnonzero(~last_look[active])
        if first or rows.far:  # what a far row leaves of a sum that it was in is its rounding: add up again
            for a in moving:
                sums[own[a]] = 0
            rows.add(offsets[active[moving]], labels, active[moving], sums)
        else:
            rows.move(offsets[active], labels, active, changes, sums)
        changed = np.bincount(changes.run, minlength=len(active))
        for a in moving:
            r = active[a]
            o = own[a]
            before = centers[o].copy()
            centers[o] = means(rows, before, sums[o], labels[r])
            memory.moved(r, before, centers[o])
            n_iter[r] += 1
            if not first and changed[a] == 0:
                converged[r] = True
            elif ((centers[o] - before) ** 2).sum() <= tol:
                converged[r] = last_look[r] = True
            elif n_iter[r] == max_iter:
                last_look[r] = True
        stay = [a for a in moving if last_look[active[a]] or not converged[active[a]]]
        if on_done is not None and len(stay) < len(active):
            on_done(len(active) - len(stay))
        active = active[stay]
        first = False
    return labels, n_iter, converged, [centers[offsets[r] : offsets[r + 1]] for r in range(m)]


class Afresh:
    """Labels of m runs, with nothing kept between looks: for rows whose products are expensive to gather."""

    def __init__(self, rows: Rows, labels: np.ndarray):
        self.rows, self.labels = rows, labels  # (m, n) int32, changed in place

    def look(self, stack: Stack, active: np.ndarray, *, listed: bool) -> Changes:
        """Labels of the active runs by the centers of ``stack``, and what changed if it is to be listed."""
        old, new = self.labels[active], assign(self.rows, stack)
        self.labels[active] = new
        run, row = np.nonzero(old != new) if listed else (np.empty(0, np.int64),) * 2
        return Changes(run.astype(np.int32), row.astype(np.int32), old[run, row])

    def moved(self, r: int, before: np.ndarray, after: np.ndarray) -> None:
        pass
