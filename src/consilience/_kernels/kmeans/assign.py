"""Every row to its nearest center, in several runs at a time and with nothing known about it before."""

from __future__ import annotations

import numpy as np

from ..runtime.threads import map_blocks
from .rows import BLOCK, Rows
from .screen import Doubt, Stack, screen_block

#: Centers bounded by one product: its output stays in the second-level cache.
PART = 512


def assign(rows: Rows, stack: Stack) -> np.ndarray:
    """Nearest center of every row in each run of the stack: (runs, n) int32."""
    runs = len(stack.sizes)
    labels = np.empty((runs, rows.n_samples), dtype=np.int32)
    parts = _parts(stack.sizes)

    def assign_block(start: int, stop: int) -> None:
        b = stop - start
        for first, last in parts:
            part = slice(int(stack.offsets[first]), int(stack.offsets[last]))
            offsets = stack.offsets[first : last + 1] - part.start
            L, centers, own = rows.bounds(stack, part, start, stop), stack.part(part), labels[first:last]
            size = (last - first) * b
            doubt = Doubt(np.empty(size, np.int32), np.empty(size, np.int32), np.empty(size))
            count = screen_block(L, centers, offsets, *rows.doubt(start, stop), own, start, doubt)
            rows.settle(L, centers, offsets, Doubt(*(each[:count] for each in doubt)), start, own)

    map_blocks(assign_block, rows.n_samples, size=BLOCK, n_jobs=rows.n_jobs)
    return labels


def _parts(sizes: np.ndarray) -> list[tuple[int, int]]:
    """Consecutive runs with about PART centers together."""
    parts, first, total = [], 0, 0
    for r, k in enumerate(sizes):
        if total and total + k > PART:
            parts.append((first, r))
            first, total = r, 0
        total += k
    return [*parts, (first, len(sizes))]
