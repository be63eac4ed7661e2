"""Which pairs of objects were ever together, and in which clusterings.

Pairs that meet in the same clusterings share a pattern.

codes (m, u): global cluster ids, -1 missing. Pairs are unordered, p < q, and lie in the upper triangle of a
CSR pattern. A pattern is a string of bits, clustering i at bit i; patterns are numbered as they come, row by
row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..compile.jit import kernel
from ..compile.plain import sort_inplace
from ..labels.hashing import RowNumbers
from ..runtime.threads import map_blocks

_AT_A_TIME = 1 << 20  # pairs whose bits are held until they have a number
_ROWS = 64  # of a block


class Pairs(NamedTuple):
    """The pairs ever together, and their patterns."""

    indptr: np.ndarray  # (u + 1,)
    indices: np.ndarray  # (pairs,) int32, sorted in each row
    pattern: np.ndarray  # (pairs,) int32
    met: np.ndarray  # (patterns, bytes) the clusterings that have them together
    seen: np.ndarray  # (patterns, bytes) the clusterings that saw both; no bytes if that was not asked for


def find_pairs(codes: np.ndarray, k: int, *, seen: bool, n_jobs: int | None = -1) -> Pairs:
    """All pairs that were ever together.

    Cost: two steps for each pair and clustering that has it together; with ``seen`` m for each pair.

    seen: whether clusterings that saw only one of the two matter to a pattern.
    """
    m, u = codes.shape
    lists = _Lists(*_members(codes, k))
    lengths = np.zeros(u + 1, np.int64)
    map_blocks(lambda a, b: _count_partners(codes, lists, a, b, lengths), u, size=_ROWS, n_jobs=n_jobs)
    indptr = np.cumsum(lengths)
    indices, pattern = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.int32)
    words = -(-m // 64)
    numbers = RowNumbers(words * (1 + seen), np.uint64)
    for start, stop in _spans(indptr, _AT_A_TIME):
        first = indptr[start]
        bits = np.zeros((int(indptr[stop] - first), words * (1 + seen)), np.uint64)

        block = _Bits(bits, first)

        def rows(a, b, start=start, block=block):
            _fill_partners(codes, lists, start + a, start + b, indptr, indices, block, words)

        map_blocks(rows, stop - start, size=_ROWS, n_jobs=n_jobs)
        numbers.number(bits, pattern[first : indptr[stop]])
    found = numbers.rows
    return Pairs(indptr, indices, pattern, _as_bytes(found[:, :words], m), _as_bytes(found[:, words:], m))


def tie_members(codes: np.ndarray, k: int) -> sp.coo_array:
    """(u, u) graph with the components of all pairs ever together, but few edges.

    They go from the first object of a cluster to the others.
    """
    u = codes.shape[1]
    members, ends, _ = _members(codes, k)
    i, p = np.nonzero(codes >= 0)
    first = members[np.concatenate([[0], ends[:-1]])[codes[i, p]]]
    return sp.coo_array((np.ones(p.size), (first, p)), shape=(u, u))


class _Lists(NamedTuple):
    """The objects of each cluster, cluster after cluster."""

    members: np.ndarray  # int32, rising in each cluster
    ends: np.ndarray  # (k,) where each cluster ends
    place: np.ndarray  # (u, m) of every object in the list of its cluster


class _Bits(NamedTuple):
    """Bits of the pairs from ``first`` on.

    First those of the clusterings that have them together, then of those that saw both.
    """

    words: np.ndarray  # (pairs, words or twice as many) uint64
    first: int


def _spans(indptr: np.ndarray, size: int):
    """Ranges of rows with about ``size`` entries each."""
    start, u = 0, indptr.size - 1
    while start < u:
        stop = int(np.searchsorted(indptr, indptr[start] + size, "right")) - 1
        stop = min(max(stop, start + 1), u)
        yield start, stop
        start = stop


def _as_bytes(words: np.ndarray, m: int) -> np.ndarray:
    """(patterns, bytes) of bit strings whose bit i is clustering i."""
    little = np.ascontiguousarray(words.astype("<u8", copy=False))
    whole = little.view(np.uint8).reshape(len(words), 8 * words.shape[1])
    return np.ascontiguousarray(whole[:, : -(-m // 8)])


@kernel
def _members(codes, k):
    """Objects of each cluster in rising order, the end of each list, and each object's places in them."""
    m, u = codes.shape
    ends = np.zeros(k + 1, np.int64)
    for i in range(m):
        for p in range(u):
            if codes[i, p] >= 0:
                ends[codes[i, p] + 1] += 1
    for j in range(k):
        ends[j + 1] += ends[j]
    members, place = np.empty(ends[k], np.int32), np.zeros((u, m), np.int64)
    at = ends[:k].copy()
    for i in range(m):
        for p in range(u):
            code = codes[i, p]
            if code >= 0:
                members[at[code]] = p
                place[p, i] = at[code]
                at[code] += 1
    return members, ends[1:], place


@kernel
def _count_partners(codes, lists, start, stop, lengths):
    """How many later objects each was ever together with, behind its own place in ``lengths``."""
    members, ends, place = lists
    m, u = codes.shape
    last = np.full(u, -1, np.int32)
    for p in range(start, stop):
        count = 0
        for i in range(m):
            if codes[i, p] >= 0:
                for t in range(place[p, i] + 1, ends[codes[i, p]]):
                    if last[members[t]] != p:
                        last[members[t]] = p
                        count += 1
        lengths[p + 1] = count


@kernel
def _fill_partners(codes, lists, start, stop, indptr, indices, block, words):
    """The partners that :func:`_count_partners` counted, sorted, and the bits of their clusterings."""
    members, ends, place = lists
    bits, first = block
    m, u = codes.shape
    row = np.zeros((u, words), np.uint64)
    one, behind = np.uint64(1), bits.shape[1] > words
    for p in range(start, stop):
        at = indptr[p]
        for i in range(m):
            if codes[i, p] < 0:
                continue
            bit = one << np.uint64(i & 63)
            for t in range(place[p, i] + 1, ends[codes[i, p]]):
                q = members[t]
                new = True
                for w in range(words):
                    new = new and row[q, w] == 0
                if new:
                    indices[at] = q
                    at += 1
                row[q, i >> 6] |= bit
        sort_inplace(indices[indptr[p] : at])
        for t in range(indptr[p], at):
            q, b = indices[t], t - first
            out = bits[b]
            for w in range(words):
                out[w] = row[q, w]
                row[q, w] = 0
            if behind:
                for i in range(m):
                    if codes[i, p] >= 0 and codes[i, q] >= 0:
                        out[words + (i >> 6)] |= one << np.uint64(i & 63)
