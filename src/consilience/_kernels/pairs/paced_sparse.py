"""The pairs ever together, for self-paced learning of a consensus matrix: equations in :mod:`.paced`.

Pairs whose objects meet in the same clusterings have the same a and s in Eq. (1). Such a *pattern* of
clusterings is held once, as bits, and a pair knows the number of its pattern. Most pairs are of patterns too
weak for any S but 0: while all pairs of a pattern have the same S, they have the same V by Eqs. (2) and (3),
and as long as the cut of Eq. (5) is above a / s they stay at 0 whatever the embedding. Such patterns are
dealt with as one pair each, which leaves the contested pairs to the passes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..compile.csr import Entries
from ..compile.jit import fast_kernel, kernel
from ..runtime.threads import map_blocks
from .components import components, components_of_rows
from .paced import TIE, Embedding, PairStore, Sums, add_up
from .patterns import find_pairs, tie_members

_COLUMNS = 8  # of the embedding, between looks whether a distance is large enough


class _Evidence(NamedTuple):
    """a and s of Eq. (1), by pattern; s is one number where all clusterings saw all."""

    a: np.ndarray
    s: np.ndarray


class _Levels(NamedTuple):
    """What is the same for all pairs of a pattern."""

    bulk: np.ndarray  # weight of the pairs
    level: np.ndarray  # V where it is the same
    flat: np.ndarray  # whether it is
    zero: np.ndarray  # whether S is 0 for all


class _Patterns(NamedTuple):
    """Clusterings of each pattern, as bits, and whether its pairs are to be looked at."""

    met: np.ndarray  # (patterns, bytes)
    seen: np.ndarray  # (patterns, bytes), or no bytes where all saw all
    look: np.ndarray  # (patterns,)


class _Pairs(NamedTuple):
    """Weighted objects and their pairs, row by row."""

    weights: np.ndarray  # (u,)
    V: np.ndarray  # (pairs,) where it differs within a pattern
    indptr: np.ndarray
    indices: np.ndarray
    pattern: np.ndarray  # (pairs,)


class _Above(NamedTuple):
    """Pairs with S above 0, as they are found."""

    lengths: np.ndarray  # how many in each row
    indices: np.ndarray
    data: np.ndarray


class SparsePairs(PairStore):
    """The pairs that were together at least once, in the upper triangle of a CSR pattern.

    16 bytes a pair, 12 a pair with S above 0, and 42 + m / 8 a pattern; with missing labels 50 + m / 4.
    """

    sparse = True
    _upper: sp.csr_array | None  # S as of the last step
    _both: sp.csr_array | None  # with its lower triangle, once it was asked for

    def __init__(self, codes: np.ndarray, weights: np.ndarray, *, any_missing: bool, n_jobs: int | None):
        """codes (m, u): global cluster ids, -1 missing; weights (u,)."""
        self.codes, self.weights, self.any_missing, self.n_jobs = codes, weights, any_missing, n_jobs
        self.n_clusters = int(codes.max()) + 1
        found = find_pairs(codes, self.n_clusters, seen=any_missing, n_jobs=n_jobs)
        self.indptr, self.indices, self.pattern, self.met, self.seen = found
        self.bulk = np.zeros(len(self.met))  # weight of a pattern's pairs
        _add_weights(self.indptr, self.indices, self.pattern, weights, self.bulk)
        self.V = np.empty(self.indices.size)
        # By pattern: V where it is the same for all pairs of it, and whether it is; whether S is 0 for all.
        self.level, self.flat = np.empty(self.bulk.size), np.zeros(self.bulk.size, np.bool_)
        self.zero = np.zeros(self.bulk.size, np.bool_)
        self.restart()

    def restart(self) -> None:
        """Nothing is written: until the first step, S is known by pattern."""
        self.fresh = True
        self.zero.fill(False)
        self._keep(None)

    def unpaced(self) -> None:
        self.level.fill(1.0)
        self.flat.fill(True)

    def pace(self, x: np.ndarray, lam: float) -> float:
        evidence = self._evidence(x)
        first = self._evidence(np.ones(x.size)) if self.fresh else evidence
        easy = _pace_patterns(evidence, first, self.fresh, lam, self._levels())
        if not self.flat.all():
            S, pairs = self.upper(), self._pairs()
            known = Entries(S.data, S.indices, S.indptr)
            parts = self._map(lambda i, j: _pace_pairs(evidence, lam, self.flat, pairs, known, i, j))
            easy += float(np.sum(parts))
        return 2.0 * easy

    def step(self, x, F, spread, rho: float, gamma: float) -> tuple[np.ndarray, float]:
        F = np.ascontiguousarray(F)
        self._keep(None)  # the S before is not needed for the next one: room for it
        evidence, levels, pairs = self._evidence(x), self._levels(), self._pairs()
        look, strength = _judge(evidence, gamma, levels)
        patterns, embedding = _Patterns(self.met, self.seen, look), Embedding(F, spread, rho, gamma)

        def rows(i, j):
            sums, most = Sums(np.zeros(x.size), np.zeros(1)), self.indptr[j] - self.indptr[i]
            above = _Above(np.zeros(j - i, np.int64), np.empty(most, np.int32), np.empty(most))
            found = _step_pairs(patterns, evidence, levels, embedding, pairs, (i, j), above, sums)
            kept = above.indices[:found].copy(), above.data[:found].copy()
            return sums.d, sums.nonzero[0], above.lengths, *kept

        parts = self._map(rows)
        alone = np.zeros(x.size)  # what the pairs add that were not looked at
        _add_by_clustering(self.met, strength, alone)
        self.fresh = False
        u = self.weights.size
        indptr = np.concatenate([[0], np.cumsum(np.concatenate([part[2] for part in parts]))])
        indices, data = (np.concatenate([part[i] for part in parts]) for i in (3, 4))
        self._keep(sp.csr_array((data, indices, indptr), shape=(u, u)))
        return add_up([*(part[:2] for part in parts), (alone, 0.0)], self.weights)

    def product(self, X: np.ndarray) -> np.ndarray:
        X = np.ascontiguousarray(X)
        if self.fresh and not self.any_missing:
            return self._start_times(X)
        if self._both is None or self._both.dtype != X.dtype:
            self._both = _both_triangles(self.upper(), X.dtype)
        S, out = self._both, np.empty_like(X)
        map_blocks(
            lambda a, b: _csr_product(S.indptr, S.indices, S.data, X, a, b, out),
            X.shape[0],
            size=256,
            n_jobs=self.n_jobs,
        )
        return out

    def _start_times(self, X: np.ndarray) -> np.ndarray:
        """Co-association times X, through the clusters: u m products instead of one for each pair."""
        held = _hold(self.codes, X, self.n_clusters)
        out = np.empty_like(X)
        map_blocks(
            lambda a, b: _collect(self.codes, held, a, b, out), X.shape[0], size=256, n_jobs=self.n_jobs
        )
        out /= self.codes.shape[0]
        return out

    def degrees(self) -> np.ndarray:
        if self.fresh and not self.any_missing:
            return self._start_times(self.weights[:, None]).ravel()
        S = self.upper()
        return self.weights + S @ self.weights + S.T @ self.weights

    def components(self) -> tuple[int, np.ndarray]:
        if self.fresh:
            return components(tie_members(self.codes, self.n_clusters))
        S = self.upper()
        return components_of_rows(S.indptr, S.indices, S.data)

    def scaled_laplacian(self, degrees: np.ndarray) -> np.ndarray:
        root = np.sqrt(self.weights)
        M = self.matrix().toarray() * -root * root[:, None]
        M[np.diag_indices(root.size)] += degrees
        return M

    def matrix(self) -> sp.csr_array:
        self._both = None  # room for another
        return _both_triangles(self.upper(), np.dtype(float))

    def upper(self) -> sp.csr_array:
        """S above its diagonal, without zeros."""
        if self._upper is not None:
            return self._upper
        a, s = self._evidence(np.ones(self.codes.shape[0]))
        return sp.csr_array(
            ((a / s)[self.pattern], self.indices, self.indptr), shape=(self.weights.size,) * 2
        )

    def _keep(self, upper: sp.csr_array | None) -> None:
        """A new S, or the first one, which is known by pattern."""
        self._upper = upper
        self._both = None

    def _evidence(self, x: np.ndarray) -> _Evidence:
        a = _sum_by_pattern(self.met, x)
        return _Evidence(a, _sum_by_pattern(self.seen, x) if self.any_missing else np.array([x.sum()]))

    def _levels(self) -> _Levels:
        return _Levels(self.bulk, self.level, self.flat, self.zero)

    def _pairs(self) -> _Pairs:
        return _Pairs(self.weights, self.V, self.indptr, self.indices, self.pattern)


def _both_triangles(upper: sp.csr_array, dtype: np.dtype) -> sp.csr_array:
    """The symmetric matrix with unit diagonal, indices sorted."""
    u = upper.shape[0]
    below = np.bincount(upper.indices, minlength=u)
    indptr = np.concatenate([[0], np.cumsum(np.diff(upper.indptr) + below + 1)])
    indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], dtype)
    _fill_symmetric(upper.indptr, upper.indices, upper.data, indptr, indices, data)
    return sp.csr_array((data, indices, indptr), shape=(u, u))


@kernel
def _fill_symmetric(indptr, indices, data, starts, out_indices, out_data):
    """Both triangles of a strictly upper one, and the diagonal.

    ``starts`` are those of rows that hold all this.
    """
    u = indptr.size - 1
    at = starts[:u].copy()
    # Rows in rising order: the entries left of a row's diagonal arrive, sorted, before the row itself.
    for p in range(u):
        out_indices[at[p]] = p
        out_data[at[p]] = 1.0
        at[p] += 1
        for t in range(indptr[p], indptr[p + 1]):
            q, value = indices[t], data[t]
            out_indices[at[p]] = q
            out_data[at[p]] = value
            at[p] += 1
            out_indices[at[q]] = p
            out_data[at[q]] = value
            at[q] += 1


@fast_kernel
def _csr_product(indptr, indices, data, X, start, stop, out):
    """CSR product, four entries at a time: rows of the result are read and written a quarter as often."""
    c = X.shape[1]
    for p in range(start, stop):
        row = out[p]
        for k in range(c):
            row[k] = 0.0
        whole = indptr[p] + (indptr[p + 1] - indptr[p]) // 4 * 4
        for t in range(indptr[p], whole, 4):
            v0, v1, v2, v3 = data[t], data[t + 1], data[t + 2], data[t + 3]
            x0, x1, x2, x3 = X[indices[t]], X[indices[t + 1]], X[indices[t + 2]], X[indices[t + 3]]
            for k in range(c):
                row[k] += (v0 * x0[k] + v1 * x1[k]) + (v2 * x2[k] + v3 * x3[k])
        for t in range(whole, indptr[p + 1]):
            v0, x0 = data[t], X[indices[t]]
            for k in range(c):
                row[k] += v0 * x0[k]


@kernel
def _hold(codes, X, k):
    """(k, c) what the objects of each cluster add up to."""
    held = np.zeros((k, X.shape[1]), X.dtype)
    for i in range(codes.shape[0]):
        for p in range(codes.shape[1]):
            if codes[i, p] >= 0:
                row = held[codes[i, p]]
                for j in range(X.shape[1]):
                    row[j] += X[p, j]
    return held


@kernel
def _collect(codes, held, start, stop, out):
    """Rows start..stop of ``out``: what each object's clusters hold, added up."""
    for p in range(start, stop):
        for j in range(out.shape[1]):
            out[p, j] = 0.0
        for i in range(codes.shape[0]):
            if codes[i, p] >= 0:
                row = held[codes[i, p]]
                for j in range(out.shape[1]):
                    out[p, j] += row[j]


@kernel
def _add_weights(indptr, indices, pattern, weights, bulk):
    for p in range(indptr.size - 1):
        for t in range(indptr[p], indptr[p + 1]):
            bulk[pattern[t]] += weights[p] * weights[indices[t]]


# Passes ----------------------------------------------------------------------------------------------------
#
# A sum over clusterings is one look-up for each byte of bits, and the sums d of Eq. (6) are kept by byte
# value and taken apart into clusterings at the end of a block.


@kernel
def _sum_by_pattern(bytes_, x):
    """(patterns,) sum of x over the set bits."""
    table = np.zeros((bytes_.shape[1], 256))
    for i in range(x.size):
        for value in range(256):
            if (value >> (i & 7)) & 1:
                table[i >> 3, value] += x[i]
    out = np.zeros(len(bytes_))
    for g in range(len(bytes_)):
        for b in range(bytes_.shape[1]):
            out[g] += table[b, bytes_[g, b]]
    return out


@kernel
def _add_by_clustering(bytes_, values, d):
    """Add to d (m,) the values of the patterns that have clustering i."""
    sums = np.zeros((bytes_.shape[1], 256))
    for g in range(len(bytes_)):
        if values[g] != 0.0:
            for b in range(bytes_.shape[1]):
                sums[b, bytes_[g, b]] += values[g]
    _take_apart(sums, d)


@kernel
def _take_apart(sums, d):
    for i in range(d.size):
        for value in range(256):
            if (value >> (i & 7)) & 1:
                d[i] += sums[i >> 3, value]


@kernel
def _pace_patterns(evidence, first, fresh, lam, levels):
    """Eqs. (2) and (3) for patterns of one S, which is a / s of ``first`` in the beginning and later 0.

    The weight of what is not yet trusted.
    """
    a, s = evidence
    start, sights = first
    bulk, level, flat, zero = levels
    easy = 0.0
    for g in range(a.size):
        flat[g] = fresh or zero[g]
        if flat[g]:
            S = start[g] / sights[g % sights.size] if fresh else 0.0
            B = s[g % s.size] * S * S - 2.0 * S * a[g] + a[g]
            level[g] = max(1.0, 2.0 * B / lam)
            easy += bulk[g] * (1.0 - 1.0 / level[g])
    return easy


@kernel
def _pace_pairs(evidence, lam, flat, pairs, S, start, stop):
    """Eqs. (2) and (3) for the pairs of all other patterns. S is of some of the pairs, in their order."""
    a, s = evidence
    weights, V, indptr, indices, pattern = pairs
    S_data, S_indices, S_indptr = S
    one, total = s.size == 1, s[0]
    easy = 0.0
    for p in range(start, stop):
        at, end = S_indptr[p], S_indptr[p + 1]
        for t in range(indptr[p], indptr[p + 1]):
            g = pattern[t]
            if not flat[g]:
                value = 0.0
                if at < end and S_indices[at] == indices[t]:
                    value = S_data[at]
                    at += 1
                B = (total if one else s[g]) * value * value - 2.0 * value * a[g] + a[g]
                V[t] = max(1.0, 2.0 * B / lam)
                easy += weights[p] * weights[indices[t]] * (1.0 - 1.0 / V[t])
    return easy


@kernel
def _judge(evidence, gamma, levels):
    """Which patterns to look at, and what the pairs of all others add to d of Eq. (6).

    ``zero`` is set to what it will be then.
    """
    a, s = evidence
    bulk, level, flat, zero = levels
    look, strength = np.ones(a.size, np.bool_), np.zeros(a.size)
    for g in range(a.size):
        total = s[g % s.size]
        # The distance can only lower C, and V only raise the cut: below the cut without them, S is 0.
        C, cut = a[g] / total, np.sqrt(gamma / total) * TIE
        if flat[g] and cut * level[g] >= C:
            look[g] = False
            strength[g] = bulk[g] / (level[g] * level[g])
        zero[g] = not look[g] or cut >= C
    return look, strength


@fast_kernel
def _step_pairs(patterns, evidence, levels, embedding, pairs, rows, above, sums):
    """Eqs. (4) to (6) for the pairs of patterns to look at in these rows.

    Writes S where it is above 0, and returns how often.
    """
    met, seen, look = patterns
    a, s = evidence
    _, level, flat, _ = levels
    F, spread, rho, gamma = embedding
    weights, V, indptr, indices, pattern = pairs
    start, stop = rows
    lengths, out_indices, out_data = above
    d, nonzero = sums
    c, n_bytes, one, any_missing = F.shape[1], met.shape[1], s.size == 1, seen.shape[1] > 0
    hits, misses = np.zeros((n_bytes, 256)), np.zeros((n_bytes, 256))
    shared = s[0] if one else 1.0  # without pairs there may be no s at all
    root = np.sqrt(gamma / shared)
    found = 0
    for p in range(start, stop):
        before = found
        for t in range(indptr[p], indptr[p + 1]):
            g = pattern[t]
            if not look[g]:
                continue
            q = indices[t]
            total = shared if one else s[g]
            v = level[g] if flat[g] else V[t]
            cut = (root if one else np.sqrt(gamma / total)) * v * TIE
            value = a[g] / total
            if value > cut:
                # The distance can only lower C. Once it has brought it to the cut, the rest of it does not
                # matter.
                share = 0.5 * rho * v * v / total
                far = spread[p] + spread[q]
                for k in range(0, c, _COLUMNS):
                    for j in range(k, min(k + _COLUMNS, c)):
                        z = F[p, j] - F[q, j]
                        far += z * z
                    if value - share * far <= cut:
                        break
                value -= share * far
            value = 0.0 if value <= cut else min(value, 1.0)
            both = weights[p] * weights[q]
            strength = both / (v * v)
            hit = strength * (1.0 - value) * (1.0 - value)
            for b in range(n_bytes):
                hits[b, met[g, b]] += hit
            if value != 0.0:
                out_indices[found], out_data[found] = q, value
                found += 1
                miss = strength * value * value
                nonzero[0] += both
                for b in range(n_bytes):
                    misses[b, ~met[g, b] & (seen[g, b] if any_missing else np.uint8(255))] += miss
        lengths[p - start] = found - before
    _take_apart(hits, d)
    _take_apart(misses, d)
    return found
