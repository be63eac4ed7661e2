"""The K largest co-associations of each object, found without a matrix of pairs.

    A_pq = t_pq / m_pq,   t the clusterings that have p and q together, m those that saw both              (1)
    kept: A_pq > 0 that is at least the Kth largest of row p; ties are all kept                            (2)

Labels are compared in the narrowest integers that hold them, a clustering at a time, so that one instruction
compares many.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ..compile.jit import kernel
from ..compile.plain import kth_smallest_inplace
from ..runtime.threads import map_blocks

_ROWS = 256  # of a block; does not depend on the number of threads
_NARROW = np.iinfo(np.uint8).max  # numbered labels below it, and counts up to it, fit a byte
_LEVELS = 1024  # that shares are first told apart by


def strongest_company(
    labels: np.ndarray,
    others: np.ndarray,
    K: int,
    *,
    same: bool = False,
    any_missing: bool = False,
    n_jobs: int | None = -1,
) -> sp.csr_array:
    """(a, b) rows of Eq. (2) between the objects of ``labels`` (a, m) and those of ``others`` (b, m).

    Both are numbered alike from 0, -1 missing.

    same: they are the same objects in the same order, and an object is not paired with itself. O(a b m) time,
    12 bytes an entry kept.
    """
    assert K >= 1, (
        "the level of the Kth largest is looked for upwards, and ends at the largest only if one is to be "
        "kept"
    )
    wide = max(int(labels.max(initial=0)), int(others.max(initial=0)), labels.shape[1]) >= _NARROW
    kind = np.int32 if wide else np.uint8  # -1 becomes the largest of a byte, which is no label
    rows = np.ascontiguousarray(labels.astype(kind))
    columns = np.ascontiguousarray(others.T.astype(kind))
    missing = kind(-1) if wide else kind(_NARROW)

    def block(start: int, stop: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        own = start if same else -1
        if any_missing:
            return _most_often_seen(rows[start:stop], columns, missing, K, own)
        return _most_often(rows[start:stop], columns, K, own)

    found = map_blocks(block, len(labels), size=_ROWS, n_jobs=n_jobs)
    lengths, indices, values = (np.concatenate(part) for part in zip(*found))
    return sp.csr_array(
        (values, indices, np.concatenate([[0], np.cumsum(lengths)])), shape=(len(labels), len(others))
    )


@kernel
def _room(array, used, more):
    """The array, or one twice as long with the same beginning, with place for ``more`` after ``used``."""
    if used + more <= array.size:
        return array
    longer = np.empty(max(2 * array.size, used + more), array.dtype)
    for t in range(used):  # a slice set to another takes two seconds to compile
        longer[t] = array[t]
    return longer


@kernel
def _top(levels, K, at):
    """(least, kept): how many levels are at least ``least``.

    ``least`` is the Kth largest level, or 1 if fewer are above 0.

    levels are below the length of ``at``, which is scratch. ``least`` rises as soon as K are above it: few
    levels are counted at all.
    """
    at[:] = 0
    least, kept = 1, 0
    for q in range(levels.size):
        level = levels[q]
        if level >= least:
            at[level] += 1
            kept += 1
            while kept - at[least] >= K:
                kept -= at[least]
                least += 1
    return least, kept


@kernel
def _most_often(rows, columns, K, own):
    """(lengths, indices, values) of Eq. (2) with nothing missing.

    Row p is object own + p of the columns, unless own is -1.
    """
    m, b = columns.shape
    lengths = np.zeros(len(rows), np.int64)
    indices, values = np.empty(32 * len(rows), np.int32), np.empty(32 * len(rows))
    together = np.empty(b, columns.dtype)
    at = np.empty(m + 1, np.int64)
    used = np.int64(0)  # a plain 0 is a type of its own, for which _room would be compiled once more
    for p in range(len(rows)):
        together[:] = 0
        for i in range(m):
            code, column = rows[p, i], columns[i]
            for q in range(b):
                together[q] += column[q] == code
        if own >= 0:
            together[own + p] = 0
        least, kept = _top(together, K, at)
        indices, values = _room(indices, used, kept), _room(values, used, kept)
        for q in range(b):
            if together[q] >= least:
                indices[used] = q
                values[used] = together[q] / m
                used += 1
        lengths[p] = kept
    return lengths, indices[:used].copy(), values[:used].copy()


@kernel
def _most_often_seen(rows, columns, missing, K, own):
    """The same over the clusterings that saw both objects.

    Pairs are chosen by shares rounded down first, then among those left by the shares themselves.
    """
    m, b = columns.shape
    lengths = np.zeros(len(rows), np.int64)
    indices, values = np.empty(32 * len(rows), np.int32), np.empty(32 * len(rows))
    together, seen = np.empty(b, columns.dtype), np.empty(b, columns.dtype)
    levels, at = np.empty(b, np.int32), np.empty(_LEVELS + 2, np.int64)
    used = np.int64(0)  # a plain 0 is a type of its own, for which _room would be compiled once more
    for p in range(len(rows)):
        together[:] = 0
        seen[:] = 0
        for i in range(m):
            code, column = rows[p, i], columns[i]
            if code != missing:
                for q in range(b):
                    together[q] += column[q] == code
                for q in range(b):
                    seen[q] += column[q] != missing
        if own >= 0:
            together[own + p] = 0
        for q in range(b):
            # Shares above 0 have levels above 0.
            levels[q] = (together[q] > 0) + int(_LEVELS * (together[q] / max(seen[q], 1)))
        least, kept = _top(levels, K, at)
        indices, values = _room(indices, used, kept), _room(values, used, kept)
        begin = used
        for q in range(b):
            if levels[q] >= least:
                indices[used] = q
                values[used] = together[q] / seen[q]
                used += 1
        if kept > K:
            bound = kth_smallest_inplace(values[begin:used].copy(), kept - K)
            used = begin
            for t in range(begin, begin + kept):
                if values[t] >= bound:
                    indices[used], values[used] = indices[t], values[t]
                    used += 1
        lengths[p] = used - begin
    return lengths, indices[:used].copy(), values[:used].copy()
