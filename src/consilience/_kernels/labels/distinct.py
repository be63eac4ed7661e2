"""Numbers that stand for rows: exact unique rows of an integer matrix, and hashes of rows of features.

Unique rows take time linear in the size of the matrix, on threads: rows are hashed (one pass over memory),
dealt into partitions by their top hash bits, and each partition is grouped with a small table
(:mod:`.hashing`) that stays in cache. Groups are numbered by first appearance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._base.parameters import relative_to_lightest
from ..compile.arrays import empty_array
from ..compile.jit import kernel
from ..runtime.threads import map_blocks, map_tasks
from .few import FEW_LABELS
from .hashing import Known, as_words, enter, find, free_table, hash_of, mix, places_for

_ROWS_PER_BLOCK = 1 << 16
_PARTITION_BITS = 8
_PARTITIONS = 1 << _PARTITION_BITS


@kernel
def _hash_rows(words, start, stop, out):
    for i in range(start, stop):
        out[i] = hash_of(words, i)


@kernel
def _count_partitions(hashes, start, stop, counts):
    shift = np.uint64(64 - _PARTITION_BITS)
    for i in range(start, stop):
        counts[hashes[i] >> shift] += 1


@kernel
def _deal(hashes, start, stop, positions, order):
    """positions are running sums of the counts of the same hashes: each row has one place in ``order``."""
    shift = np.uint64(64 - _PARTITION_BITS)
    for i in range(start, stop):
        part = hashes[i] >> shift
        order[positions[part]] = i
        positions[part] += 1


@kernel
def _group(words, hashes, rows, first):
    """first[i] = the earliest row equal to row i, for the rows of one partition (given in rising order)."""
    known = Known(words, hashes, np.full(places_for(rows.size), -1, np.int64))
    for i in rows:
        place, j = find(known, words, i, hashes[i])
        if j < 0:
            known.table[place] = i
            j = i
        first[i] = j


@kernel
def _number(first, representatives):
    """Turn first-row indices into group numbers in place; rows that open a group are listed."""
    u = 0
    for i in range(first.size):
        if first[i] == i:
            representatives[u] = i
            first[i] = u
            u += 1
        else:
            first[i] = first[first[i]]
    return u


def hash_rows(matrix: np.ndarray) -> np.ndarray:
    """(n,) 64-bit hashes of the rows of an integer matrix.

    Equal rows have equal hashes, and others hardly ever do.
    """
    matrix = np.ascontiguousarray(matrix)
    hashes = np.zeros(len(matrix), np.uint64)
    if matrix.size:
        _hash_rows(as_words(matrix), 0, len(matrix), hashes)
    return hashes


def unique_rows(matrix: np.ndarray, *, n_jobs: int | None = -1) -> tuple[np.ndarray, np.ndarray]:
    """(representatives, inverse): one row index per distinct row, and the group of every row.

    ``matrix[representatives][inverse]`` equals ``matrix``; groups are numbered by first appearance.
    Cost: O(n m) time on ``n_jobs`` threads; about 24 bytes a row beside the matrix.
    """
    matrix = np.ascontiguousarray(matrix)
    n = matrix.shape[0]
    if matrix.size == 0:
        return np.zeros(min(n, 1), np.int64), np.zeros(n, np.int64)
    if matrix.size <= FEW_LABELS:
        return _few_unique_rows(matrix)
    words = as_words(matrix)
    hashes = np.empty(n, np.uint64)
    map_blocks(lambda a, b: _hash_rows(words, a, b, hashes), n, size=_ROWS_PER_BLOCK, n_jobs=n_jobs)

    def count(a: int, b: int) -> np.ndarray:
        counts = np.zeros(_PARTITIONS, np.int64)
        _count_partitions(hashes, a, b, counts)
        return counts

    counts = np.array(map_blocks(count, n, size=_ROWS_PER_BLOCK, n_jobs=n_jobs))  # (blocks, partitions)
    # Where each block writes its rows of each partition: partition by partition, block by block.
    ends = np.cumsum(counts.T.ravel()).reshape(_PARTITIONS, -1).T
    starts = np.ascontiguousarray(ends - counts)
    order = np.empty(n, np.int64)
    map_blocks(
        lambda a, b: _deal(hashes, a, b, starts[a // _ROWS_PER_BLOCK], order),
        n,
        size=_ROWS_PER_BLOCK,
        n_jobs=n_jobs,
    )
    first = np.empty(n, np.int64)
    bounds = np.concatenate([[0], ends[-1]])
    tasks = [order[bounds[p] : bounds[p + 1]] for p in range(_PARTITIONS) if bounds[p] < bounds[p + 1]]
    map_tasks(lambda rows: _group(words, hashes, rows, first), tasks, n_jobs=n_jobs)
    u = _number(first, order)  # order is spent: reuse it for the representatives
    return order[:u].copy(), first


def _few_unique_rows(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same by sorting, which is quick for few rows and compiles nothing."""
    whole = matrix.view(np.dtype((np.void, matrix.itemsize * matrix.shape[1]))).ravel()
    _, first, group = np.unique(whole, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    return first[order], number[group.ravel()]


@kernel
def _look_up(known, words, hashes, out):
    """out[i] = the known row equal to row i of words, or -1."""
    for i in range(words.shape[0]):
        out[i] = find(known, words, i, hashes[i])[1]


class RowTable:
    """Distinct rows (u, m) of integers among which others are looked up.

    O(u m) to make, 16 to 40 bytes a row beside them.
    """

    def __init__(self, rows: np.ndarray):
        self._dtype, self._width = rows.dtype, rows.shape[1]
        words, hashes = as_words(np.ascontiguousarray(rows)), np.empty(len(rows), np.uint64)
        _hash_rows(words, 0, len(rows), hashes)
        self._known = Known(words, hashes, free_table(len(rows)))
        enter(hashes, len(rows), self._known.table)

    def find(self, rows: np.ndarray) -> np.ndarray:
        """(n,) the position of the row that equals each of these in every number, -1 where there is none."""
        if rows.dtype != self._dtype or rows.ndim != 2 or rows.shape[1] != self._width:
            raise ValueError(f"{rows.shape} {rows.dtype} among rows of {self._width} {self._dtype}.")
        words = as_words(np.ascontiguousarray(rows))
        hashes, out = np.empty(len(rows), np.uint64), np.empty(len(rows), np.int64)
        _hash_rows(words, 0, len(rows), hashes)
        _look_up(self._known, words, hashes, out)
        return out


@kernel
def _refine_clusters(codes, start, stop, object_colors, cluster_sums):
    for i in range(start, stop):
        color = mix(object_colors[i])
        for j in range(codes.shape[1]):
            g = codes[i, j]
            if g >= 0:
                cluster_sums[g] += color


#: Stands in the place of the color of a cluster, for an object without label.
_UNSEEN = np.uint64(0x632BE59BD9B4E019)


@kernel
def _refine_objects(codes, start, stop, cluster_colors, clustering_colors, object_colors):
    for i in range(start, stop):
        total = np.uint64(0)
        for j in range(codes.shape[1]):
            g = codes[i, j]
            part = _UNSEEN if g < 0 else cluster_colors[g]
            total += mix(part ^ mix(clustering_colors[j]))
        object_colors[i] = mix(object_colors[i] + mix(total))


_REFINEMENTS = 1 << 26  # labels looked at beyond the first rounds


def canonical_colors(
    codes: np.ndarray, offsets: np.ndarray, weights: np.ndarray, *, rounds: int = 4
) -> tuple[np.ndarray, np.ndarray]:
    """Fingerprints of objects and of clusterings that ignore every order and every name.

    Color refinement on the graph objects - clusters - clusterings: a cluster is colored by the multiset of
    its objects, a clustering by that of its clusters, an object by that of its clusters. Multisets are
    hashed by wrapping sums, so the colors do not depend on the order of summation. Where objects share a
    color after ``rounds`` rounds, more follow until none is told apart any more: what shares one then looks
    alike from every side (in large ensembles: within 16 steps).

    codes (u, m): global cluster ids, -1 missing; offsets (m + 1): first id of each clustering.
    Returns colors (u,) and (m,), uint64. Cost: O(rounds u m), and at most some 1e8 steps more.
    """
    colors = _weight_colors(weights)
    for _ in range(rounds):
        colors, clustering_colors = _refine(codes, offsets, colors)
    distinct = np.unique(colors).size
    if distinct == colors.size:
        return colors, clustering_colors
    first, first_clusterings = colors, clustering_colors
    for _ in range(max(16, _REFINEMENTS // codes.size)):  # long chains: news travels by one object a round
        colors, clustering_colors = _refine(codes, offsets, colors)
        before, distinct = distinct, np.unique(colors).size
        if distinct in (before, colors.size):
            break
    return _ranks(first, colors), _ranks(first_clusterings, clustering_colors)


def _refine(codes: np.ndarray, offsets: np.ndarray, colors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One round: new colors of objects, and those of clusterings that they were made from."""
    m = offsets.size - 1
    if codes.size <= FEW_LABELS:
        return _refine_few(codes, offsets, colors)
    sums, refined = np.zeros(int(offsets[-1]), np.uint64), colors.copy()
    _refine_clusters(codes, 0, colors.size, colors, sums)
    cluster_colors = mix_array(sums)
    clustering_colors = np.zeros(m, np.uint64)
    owner = np.repeat(np.arange(m), np.diff(offsets))
    np.add.at(clustering_colors, owner, mix_array(cluster_colors))
    _refine_objects(codes, 0, colors.size, cluster_colors, clustering_colors, refined)
    return refined, clustering_colors


def _refine_few(codes: np.ndarray, offsets: np.ndarray, colors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for few labels."""
    seen, colors_of = codes >= 0, np.broadcast_to(mix_array(colors)[:, None], codes.shape)
    sums = np.zeros(int(offsets[-1]), np.uint64)
    np.add.at(sums, codes[seen], colors_of[seen])
    cluster_colors = mix_array(sums)
    clustering_colors = np.zeros(offsets.size - 1, np.uint64)
    owner = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    np.add.at(clustering_colors, owner, mix_array(cluster_colors))
    parts = np.where(seen, cluster_colors[codes], _UNSEEN) ^ mix_array(clustering_colors)
    around = mix_array(parts.ravel()).reshape(parts.shape).sum(axis=1, dtype=np.uint64)
    return mix_array(colors + mix_array(around)), clustering_colors


def membership_colors(
    Y: Any, offsets: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fingerprints of objects, clusters and clusterings that ignore every order and every name.

    The memberships Y (u, k) are CSR.

    :func:`canonical_colors` with the share of an object in a cluster on the edge between them. Returns colors
    (u,), (k,) and (m,), uint64. O(entries) a round, 4 to 16 rounds.
    """
    m = offsets.size - 1
    shares = mix_array(Y.data.view(np.uint64))
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    owner = np.repeat(np.arange(m), np.diff(offsets))
    colors = _weight_colors(weights)
    distinct = 0
    for turn in range(16):
        sums = np.zeros(Y.shape[1], np.uint64)
        np.add.at(sums, Y.indices, mix_array(mix_array(colors)[rows] ^ shares))
        cluster_colors = mix_array(sums)
        clustering_colors = np.zeros(m, np.uint64)
        np.add.at(clustering_colors, owner, mix_array(cluster_colors))
        seen_from = mix_array(cluster_colors ^ mix_array(clustering_colors)[owner])
        around = np.zeros(Y.shape[0], np.uint64)
        np.add.at(around, rows, mix_array(seen_from[Y.indices] ^ shares))
        with np.errstate(over="ignore"):  # wrapping sums are the hash
            colors = mix_array(colors + mix_array(around))
        before, distinct = distinct, np.unique(colors).size
        if turn >= 3 and distinct in (before, colors.size):
            break
    return colors, seen_from, clustering_colors


def _weight_colors(weights: np.ndarray) -> np.ndarray:
    """One number for each weight, which neither a constant factor nor the last digits of a sum change."""
    relative = relative_to_lightest(weights).astype(np.float32)
    return mix_array(relative.view(np.uint32).astype(np.uint64))


def _ranks(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """The place of each pair of values among the distinct ones, by the first and then by the second."""
    order = np.lexsort((second, first))
    new = np.ones(order.size, np.uint64)
    new[1:] = (np.diff(first[order]) != 0) | (np.diff(second[order]) != 0)
    out = np.empty(order.size, np.uint64)
    out[order] = np.cumsum(new)
    return out


def mix_array(values: np.ndarray) -> np.ndarray:
    """:func:`mix` on every element."""
    if values.size <= FEW_LABELS:
        h = values ^ (values >> np.uint64(30))
        h *= np.uint64(0xBF58476D1CE4E5B9)
        h ^= h >> np.uint64(27)
        h *= np.uint64(0x94D049BB133111EB)
        return h ^ (h >> np.uint64(31))
    out = np.empty(values.size, np.uint64)
    _mix_into(values, out)
    return out


@kernel
def _mix_into(values, out):
    for i in range(values.size):
        out[i] = mix(values[i])


def row_hashes(X: Any) -> np.ndarray:
    """(n,) one 64-bit number for each row of floats, dense or CSR.

    Equal rows have equal numbers, and minus zero is zero.

    A dense row and a sparse one have different numbers. Works on a copy of X: give blocks of rows.
    """
    if not sp.issparse(X):
        return _hash_dense((X.astype(np.float64) + 0.0).view(np.uint64))
    X = sp.csr_array(X, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    values = X.data.astype(np.float64).view(np.uint64)
    return _hash_sparse(values, X.indices.astype(np.int64), X.indptr.astype(np.int64))


@kernel
def _stir(h, value):
    h = (h ^ value) * np.uint64(0x9E3779B97F4A7C15)
    return h ^ (h >> np.uint64(29))


@kernel
def _hash_dense(bits):
    out = empty_array(bits.shape[0], np.uint64)
    for i in range(bits.shape[0]):
        h = np.uint64(0x243F6A8885A308D3)
        for c in range(bits.shape[1]):
            h = _stir(h, bits[i, c])
        out[i] = h
    return out


@kernel
def _hash_sparse(values, indices, indptr):
    out = empty_array(indptr.shape[0] - 1, np.uint64)
    for i in range(out.shape[0]):
        h = np.uint64(0x243F6A8885A308D3)
        for p in range(indptr[i], indptr[i + 1]):
            h = _stir(_stir(h, np.uint64(indices[p])), values[p])
        out[i] = h
    return out


def row_keys(X: Any) -> np.ndarray:
    """(n,) uint64 numbers that depend only on the content of a row.

    They depend neither on its place nor on whether X is sparse.
    """
    size = 4096
    return np.concatenate([row_hashes(sp.csr_array(X[a : a + size])) for a in range(0, X.shape[0], size)])


def uniforms_by_key(keys: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """(n, count) numbers in (0, 1) drawn by key: equal keys draw equal numbers, whatever their places.

    Each is a hash (splitmix64) of the seed, the key and the column.
    """
    seed = rng.integers(2**63, dtype=np.uint64)
    steps = np.arange(1, count + 1, dtype=np.uint64)
    with np.errstate(over="ignore"):
        z = (keys[:, None] ^ seed) + steps * np.uint64(0x9E3779B97F4A7C15)
    z = mix_array(z.ravel()).reshape(z.shape)
    return ((z >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


class RowKeys:
    """Rows of features among which others are recognized, by 64-bit numbers.

    They take 16 bytes a row, whatever its width.

    Two different rows are taken for equal with a probability of 2^-64. A dense and a sparse row of the same
    numbers are equal.
    """

    def __init__(self, keys: np.ndarray, positions: np.ndarray, sparse: bool):
        self.keys, self.positions, self.sparse = keys, positions, sparse

    def _to_parts(self) -> dict[str, Any]:
        """The parts it is made of, for model files."""
        return {"keys": self.keys, "positions": self.positions, "sparse": self.sparse}

    @classmethod
    def _from_parts(cls, parts: dict[str, Any]) -> RowKeys:
        """Make it again from its parts."""
        return cls(**parts)

    @classmethod
    def of(cls, X: Any, *, n_jobs: int | None = -1) -> RowKeys:
        """Keys of the rows of X; where rows are equal, the first is remembered."""
        sparse = sp.issparse(X)
        keys, positions = np.unique(cls._hashed(X, sparse, n_jobs), return_index=True)
        return cls(keys, positions, sparse)

    def find(self, X: Any, *, n_jobs: int | None = -1) -> np.ndarray:
        """(n,) the position of the row equal to each row of X, -1 where there is none."""
        keys = self._hashed(X, self.sparse, n_jobs)
        place = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        return np.where(self.keys[place] == keys, self.positions[place], -1)

    @staticmethod
    def _hashed(X: Any, sparse: bool, n_jobs: int | None) -> np.ndarray:
        def block(a: int, b: int) -> np.ndarray:
            part = X[a:b]
            if sparse:
                return row_hashes(sp.csr_array(part))
            return row_hashes(part.toarray() if sp.issparse(part) else part)

        size = max(1, (1 << 20) // max(1, X.shape[1]))
        return np.concatenate(map_blocks(block, X.shape[0], size=size, n_jobs=n_jobs))
