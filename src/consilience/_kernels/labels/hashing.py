"""The hash table of this package: rows of words, found among known rows.

A table holds positions of known rows and -1 at places that are free; it has a power of two of places, at
least twice as many as there are known rows, so that every search ends. Equal hashes are confirmed by
comparing the rows: no answer depends on the hash.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compile.jit import kernel

_AT_FIRST = 1 << 10  # rows that there is room for, a power of two


class Known(NamedTuple):
    """Rows that others are looked up among."""

    words: np.ndarray  # (rows, q)
    hashes: np.ndarray  # (rows,) uint64
    table: np.ndarray  # positions of rows


class RowNumbers:
    """Numbers for rows by first appearance, as they come."""

    def __init__(self, width: int, dtype: type):
        self._known = Known(
            np.empty((_AT_FIRST, width), dtype),
            np.empty(_AT_FIRST, np.uint64),
            free_table(_AT_FIRST, np.int32),
        )
        self.count = 0

    @property
    def rows(self) -> np.ndarray:
        """(count, q) the row of each number."""
        return self._known.words[: self.count]

    def number(self, words: np.ndarray, out: np.ndarray) -> None:
        """Write the numbers of these rows into ``out``."""
        at = 0
        while at < len(words):
            at, self.count = _number_rows(words, at, self._known, self.count, out)
            if self.count == len(self._known.words):
                words_too, hashes, _ = self._known
                hashes, table = _doubled(hashes), free_table(2 * self.count, np.int32)
                enter(hashes, self.count, table)
                self._known = Known(_doubled(words_too), hashes, table)


def free_table(count: int, dtype: type = np.int64) -> np.ndarray:
    """A table for so many rows."""
    return np.full(places_for(count), -1, dtype)


def _doubled(rows: np.ndarray) -> np.ndarray:
    return np.concatenate([rows, np.empty_like(rows)])


def as_words(matrix: np.ndarray) -> np.ndarray:
    """The same bytes seen as the widest words that divide a row: fewer steps for hash and comparison."""
    row_bytes = matrix.shape[1] * matrix.itemsize
    for word in (np.uint64, np.uint32, np.uint16, np.uint8):
        if row_bytes % np.dtype(word).itemsize == 0:
            return matrix.view(word)
    raise AssertionError("bytes divide everything")


@kernel(inline="always")
def places_for(count):
    places = 16
    while places < 2 * count:
        places *= 2
    return places


@kernel
def mix(h):
    """Spread the bits of a 64-bit word (the finalizer of splitmix64)."""
    h ^= h >> np.uint64(30)
    h *= np.uint64(0xBF58476D1CE4E5B9)
    h ^= h >> np.uint64(27)
    h *= np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


@kernel(inline="always")
def hash_of(words, i):
    """The hash of row i."""
    h = np.uint64(0)
    for j in range(words.shape[1]):
        h = mix(h ^ np.uint64(words[i, j])) + np.uint64(0x9E3779B97F4A7C15)
    return h


@kernel(inline="always")
def _quick_hash_of(words, i):
    """A hash of row i for this table alone: less well spread, at half the time."""
    h = np.uint64(0xCBF29CE484222325)
    for j in range(words.shape[1]):
        h ^= np.uint64(words[i, j])
        h ^= h >> np.uint64(32)  # small whole numbers as float64 differ in their highest bits alone
        h *= np.uint64(0x9E3779B97F4A7C15)
        h ^= h >> np.uint64(29)
    return h


@kernel(inline="always")
def find(known, words, i, h):
    """(place in the table, position of the known row equal to row i of words), whose hash is h.

    (the free place, -1) if none is.
    """
    rows, hashes, table = known
    mask = np.uint64(table.size - 1)
    place = h & mask
    while True:
        j = table[place]
        if j < 0:
            return place, j
        if hashes[j] == h:
            same = True
            for t in range(words.shape[1]):
                if words[i, t] != rows[j, t]:
                    same = False
                    break
            if same:
                return place, j
        place = (place + np.uint64(1)) & mask


@kernel
def enter(hashes, count, table):
    """Put the first ``count`` rows, of which no two are equal, into a free table."""
    mask = np.uint64(table.size - 1)
    for i in range(count):
        place = hashes[i] & mask
        while table[place] >= 0:
            place = (place + np.uint64(1)) & mask
        table[place] = i


@kernel
def _number_rows(words, at, known, count, out):
    """Numbers of the rows from ``at`` on, new ones as they come.

    Returns where it stopped, full, and how many are known.
    """
    for i in range(at, len(words)):
        if count == len(known.hashes):
            return i, count
        h = _quick_hash_of(words, i)
        place, number = find(known, words, i, h)
        if number < 0:
            number = count
            for t in range(words.shape[1]):
                known.words[count, t] = words[i, t]
            known.hashes[count] = h
            known.table[place] = count
            count += 1
        out[i] = number
    return len(words), count
