"""Fused passes over the pairs of weighted objects for self-paced learning of a consensus matrix.

    s = sum_i x_i,   a = sum_i x_i [p, q together in i],   over the clusterings i that saw p and q,  x = 1/alpha   (1)
    B = s S^2 - 2 S a + a                          the loss of a pair, sum_i x_i (S - S_i)^2                       (2)
    V = 1/W = max(1, 2 B / lambda)                                                                                 (3)
    C = (a - rho |f_p - f_q|^2 V^2 / 2) / s,   cut = sqrt(gamma / s) V                                             (4)
    S = 0 if C <= cut, C if cut < C < 1, 1 if C >= 1                                                               (5)
    d_i = sum over p, q of w_p w_q W^2 (1 - S)^2 if together in i, of w_p w_q W^2 S^2 if apart                      (6)

S_i is 0/1, which is why the m matrices S_i never exist: (1) and (6) are read off the labels as the pass goes.
(6) adds two kinds of squares instead of correcting a common sum: a clustering that comes to equal S has d_i near
0, and a difference of large sums would be all rounding.
V is stored and not W: it is finite, at least 1, and what (4) multiplies by. A pair that no clustering saw has
s = 0; without a loss the best S is 0. Objects are distinct: no two have the same label in every clustering, so
no pair of them is fixed at S = 1 (those are inside an object), and pairs that were never together get S = 0
from (4) and (5) by themselves.

Two stores hold the unordered pairs p < q: :class:`DensePairs` in the upper triangles of two u x u arrays, and
:class:`SparsePairs` on the pairs that were ever together (S is 0 on all others, by (4)). Sums over blocks of
rows are added in block order, so threads do not change them.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dsymm

from ._jit import fast_kernel, kernel
from .graph import components, components_of_rows
from .parallel import map_blocks, map_tasks

_TILE = 512  # columns of a tile: its scratch vectors stay in the first-level cache
_ROWS = 64  # rows of a block
_COLUMNS = 8  # of a product, to a thread
# C = cut is a tie of (5): S = C and S = 0 cost the same. It happens exactly (the threshold equal to an agreement k / m), so
# it is settled here, for the sparser S, and not by rounding.
_TIE = 1.0 + 1e-12


class PairStore(Protocol):
    """What the two stores do; u distinct objects, m clusterings."""

    sparse: bool
    weights: np.ndarray  # (u,)
    V: np.ndarray
    n_jobs: int | None

    def restart(self) -> None:
        """S as it was in the beginning: co-association."""

    def pace(self, x: np.ndarray, lam: float) -> float:
        """Eqs. (2) and (3) from the present S; returns sum of w_p w_q (1 - W) over ordered pairs."""

    def unpaced(self) -> None:
        """W = 1 for every pair."""
        self.V.fill(1.0)

    def step(self, x, F, spread, rho: float, gamma: float) -> tuple[np.ndarray, float]:
        """Eqs. (4) to (6): a new S; returns d (m,) and the weight of its non-zero pairs, diagonal included."""

    def degrees(self) -> np.ndarray:
        """(u,) S w."""
        return self.product(self.weights[:, None]).ravel()

    def product(self, X: np.ndarray) -> np.ndarray:
        """S X, on threads: callers hold BLAS to one thread for their thin matrices."""

    def components(self) -> tuple[int, np.ndarray]:
        """Count and labels of the connected components of S."""

    def scaled_laplacian(self, degrees: np.ndarray) -> np.ndarray:
        """diag(S w) - N^1/2 S N^1/2, its upper triangle."""

    def matrix(self) -> sp.csr_array:
        """S (u, u) as CSR, both triangles and the diagonal."""

    def _map(self, function):
        return map_blocks(function, self.weights.size, size=_ROWS, n_jobs=self.n_jobs)


class DensePairs(PairStore):
    """All pairs, in the upper triangles of S and V: 8 u^2 bytes are touched (the lower halves stay untouched)."""

    sparse = False

    def __init__(self, codes: np.ndarray, weights: np.ndarray, *, any_missing: bool, n_jobs: int | None):
        """codes (m, u): global cluster ids, -1 missing; weights (u,)."""
        u = codes.shape[1]
        self.codes, self.weights, self.any_missing, self.n_jobs = codes, weights, any_missing, n_jobs
        # Zeros, not empty: pages of the lower triangles are then never touched, and hold no chance values.
        self.S, self.V = np.zeros((u, u)), np.zeros((u, u))
        np.fill_diagonal(self.S, 1.0)
        self.restart()

    def restart(self) -> None:
        self._map(lambda a, b: _dense_start(self.codes, self.any_missing, a, b, self.S))

    def pace(self, x: np.ndarray, lam: float) -> float:
        easy = self._map(
            lambda a, b: _dense_pace(self.codes, x, self.any_missing, lam, self.weights, self.S, a, b, self.V)
        )
        return 2.0 * float(np.sum(easy))

    def step(self, x, F, spread, rho: float, gamma: float) -> tuple[np.ndarray, float]:
        Ft = np.ascontiguousarray(F.T)

        def rows(a, b):
            d, nonzero = np.zeros(x.size), np.zeros(1)
            _dense_step(
                self.codes, x, self.any_missing, Ft, spread, rho, gamma, self.weights, self.V, a, b, self.S, d, nonzero
            )  # fmt: skip
            return d, nonzero[0]

        return _add_up(self._map(rows), self.weights)

    def product(self, X: np.ndarray) -> np.ndarray:
        X = np.asfortranarray(X)
        out = np.empty(X.shape, order="F")

        def columns(j: int) -> None:
            out[:, j : j + _COLUMNS] = dsymm(1.0, self.S.T, X[:, j : j + _COLUMNS], lower=1)

        map_tasks(columns, list(range(0, X.shape[1], _COLUMNS)), n_jobs=self.n_jobs)
        return out

    def components(self) -> tuple[int, np.ndarray]:
        return components(self.S)

    def scaled_laplacian(self, degrees: np.ndarray) -> np.ndarray:
        root = np.sqrt(self.weights)
        M = -self.S * root * root[:, None]
        M[np.diag_indices(root.size)] += degrees
        return M

    def matrix(self) -> sp.csr_array:
        u = self.weights.size
        lengths = np.zeros(u + 1, np.int64)
        _count_upper(self.S, lengths)
        indptr = np.cumsum(lengths)
        indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1])
        _fill_upper(self.S, indptr, indices, data)
        return sp.csr_array((data, indices, indptr), shape=(u, u))


class SparsePairs(PairStore):
    """The pairs that were together at least once, as the upper triangle of a CSR pattern: 20 + m / 8 bytes a pair."""

    sparse = True

    def __init__(
        self,
        codes: np.ndarray,
        weights: np.ndarray,
        upper: sp.csr_array,
        *,
        any_missing: bool,
        n_jobs: int | None,
    ):
        """upper (u, u): the co-association matrix on its pattern, without diagonal and lower triangle; its data is used up."""
        self.weights, self.any_missing, self.n_jobs = weights, any_missing, n_jobs
        self.n_clusterings = codes.shape[0]
        self.indptr, self.indices = upper.indptr.astype(np.int64), upper.indices.astype(np.int32, copy=False)
        self.S = upper.data.astype(float, copy=False)
        self.V = np.empty(self.S.size)
        self._compact: sp.csr_array | None = None
        rows = np.ascontiguousarray(codes.T)
        n_bytes = (codes.shape[0] + 7) // 8
        self.seen = np.zeros((rows.shape[0], n_bytes), np.uint8)
        self.met = np.zeros((self.S.size, n_bytes), np.uint8)
        _bits(rows, self.seen)
        self._map(lambda a, b: _pair_bits(rows, self.indptr, self.indices, a, b, self.met))

    def restart(self) -> None:
        x = np.ones(self.n_clusterings)
        self._map(
            lambda a, b: _sparse_start(
                self.met, self.seen, x, self.any_missing, self.indptr, self.indices, a, b, self.S
            )
        )
        self._compact = None

    def pace(self, x: np.ndarray, lam: float) -> float:
        easy = self._map(
            lambda a, b: _sparse_pace(
                self.met, self.seen, x, self.any_missing, lam, self.weights, self.indptr, self.indices, self.S, a, b,
                self.V,
            )
        )  # fmt: skip
        return 2.0 * float(np.sum(easy))

    def step(self, x, F, spread, rho: float, gamma: float) -> tuple[np.ndarray, float]:
        F = np.ascontiguousarray(F)

        def rows(a, b):
            d, nonzero = np.zeros(x.size), np.zeros(1)
            _sparse_step(
                self.met, self.seen, x, self.any_missing, F, spread, rho, gamma, self.weights, self.V, self.indptr,
                self.indices, a, b, self.S, d, nonzero,
            )  # fmt: skip
            return d, nonzero[0]

        self._compact = None
        return _add_up(self._map(rows), self.weights)

    def product(self, X: np.ndarray) -> np.ndarray:
        S = self.matrix()
        X = np.ascontiguousarray(X)
        out = np.empty_like(X)
        map_blocks(
            lambda a, b: _csr_product(S.indptr, S.indices, S.data, X, a, b, out),
            X.shape[0],
            size=256,
            n_jobs=self.n_jobs,
        )
        return out

    def components(self) -> tuple[int, np.ndarray]:
        return components_of_rows(self.indptr, self.indices, self.S)

    def scaled_laplacian(self, degrees: np.ndarray) -> np.ndarray:
        root = np.sqrt(self.weights)
        M = self.matrix().toarray() * -root * root[:, None]
        M[np.diag_indices(root.size)] += degrees
        return M

    def matrix(self) -> sp.csr_array:
        if self._compact is None:
            u = self.weights.size
            self._compact = _both_triangles(sp.csr_array((self.S, self.indices, self.indptr), shape=(u, u)))
        return self._compact


def _add_up(parts, weights) -> tuple[np.ndarray, float]:
    """Both orders of every pair, and the diagonal, where S = S_i = 1."""
    d = 2.0 * np.sum([part[0] for part in parts], axis=0)
    return d, 2.0 * float(np.sum([part[1] for part in parts])) + float(weights @ weights)


def _both_triangles(upper: sp.csr_array) -> sp.csr_array:
    """The symmetric matrix with unit diagonal, zeros dropped, indices sorted."""
    u = upper.shape[0]
    lengths = np.zeros(u + 1, np.int64)
    _count_symmetric(upper.indptr, upper.indices, upper.data, lengths)
    indptr = np.cumsum(lengths)
    indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1])
    _fill_symmetric(upper.indptr, upper.indices, upper.data, indptr, indices, data)
    return sp.csr_array((data, indices, indptr), shape=(u, u))


@kernel
def _count_symmetric(indptr, indices, data, lengths):
    for p in range(indptr.size - 1):
        lengths[p + 1] += 1
        for t in range(indptr[p], indptr[p + 1]):
            if data[t] != 0.0:
                lengths[p + 1] += 1
                lengths[indices[t] + 1] += 1


@kernel
def _fill_symmetric(indptr, indices, data, starts, out_indices, out_data):
    """Takes a strictly upper triangle, and the same entries for zeros as :func:`_count_symmetric`."""
    u = indptr.size - 1
    at = starts[:u].copy()
    # Rows in rising order: the entries left of a row's diagonal arrive, sorted, before the row itself.
    for p in range(u):
        out_indices[at[p]] = p
        out_data[at[p]] = 1.0
        at[p] += 1
        for t in range(indptr[p], indptr[p + 1]):
            if data[t] != 0.0:
                q = indices[t]
                out_indices[at[p]] = q
                out_data[at[p]] = data[t]
                at[p] += 1
                out_indices[at[q]] = p
                out_data[at[q]] = data[t]
                at[q] += 1


@kernel
def _count_upper(S, lengths):
    u = S.shape[0]
    for p in range(u):
        lengths[p + 1] += 1
        for q in range(p + 1, u):
            if S[p, q] != 0.0:
                lengths[p + 1] += 1
                lengths[q + 1] += 1


@kernel
def _fill_upper(S, starts, out_indices, out_data):
    """As :func:`_fill_symmetric`, from the upper triangle of a dense S."""
    u = S.shape[0]
    at = starts[:u].copy()
    for p in range(u):
        out_indices[at[p]] = p
        out_data[at[p]] = 1.0
        at[p] += 1
        for q in range(p + 1, u):
            value = S[p, q]
            if value != 0.0:
                out_indices[at[p]] = q
                out_data[at[p]] = value
                at[p] += 1
                out_indices[at[q]] = p
                out_data[at[q]] = value
                at[q] += 1


@fast_kernel
def _csr_product(indptr, indices, data, X, start, stop, out):
    c = X.shape[1]
    for p in range(start, stop):
        for k in range(c):
            out[p, k] = 0.0
        for t in range(indptr[p], indptr[p + 1]):
            value, q = data[t], indices[t]
            for k in range(c):
                out[p, k] += value * X[q, k]


# Dense passes ----------------------------------------------------------------------------------------------


@fast_kernel
def _dense_evidence(codes, x, any_missing, p, q0, length, total, a, s):
    """a and s of Eq. (1) for the pairs (p, q0 .. q0 + length)."""
    for t in range(length):
        a[t] = 0.0
        s[t] = total
    if any_missing:
        for t in range(length):
            s[t] = 0.0
    for i in range(x.size):
        code = codes[i, p]
        if code == -1:
            continue
        weight = x[i]
        column = codes[i, q0 : q0 + length]
        for t in range(length):
            a[t] += weight if column[t] == code else 0.0
        if any_missing:
            for t in range(length):
                s[t] += weight if column[t] != -1 else 0.0


@fast_kernel
def _dense_start(codes, any_missing, start, stop, S):
    m, u = codes.shape
    x = np.ones(m)
    a, s = np.empty(_TILE), np.empty(_TILE)
    for p in range(start, stop):
        for q0 in range(p + 1, u, _TILE):
            length = min(_TILE, u - q0)
            _dense_evidence(codes, x, any_missing, p, q0, length, float(m), a, s)
            for t in range(length):
                S[p, q0 + t] = a[t] / s[t] if s[t] > 0 else 0.0


@fast_kernel
def _dense_pace(codes, x, any_missing, lam, weights, S, start, stop, V):
    u = codes.shape[1]
    a, s = np.empty(_TILE), np.empty(_TILE)
    total = x.sum()
    easy = 0.0
    for p in range(start, stop):
        for q0 in range(p + 1, u, _TILE):
            length = min(_TILE, u - q0)
            _dense_evidence(codes, x, any_missing, p, q0, length, total, a, s)
            for t in range(length):
                q = q0 + t
                value = S[p, q]
                B = s[t] * value * value - 2.0 * value * a[t] + a[t]
                v = max(1.0, 2.0 * B / lam)
                V[p, q] = v
                easy += weights[p] * weights[q] * (1.0 - 1.0 / v)
    return easy


@fast_kernel
def _dense_step(
    codes, x, any_missing, Ft, spread, rho, gamma, weights, V, start, stop, S, d, nonzero
):  # fmt: skip
    m, u = codes.shape
    c = Ft.shape[0]
    a, s, far = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    hit, miss = np.empty(_TILE), np.empty(_TILE)
    total = x.sum()
    root = np.sqrt(gamma / total)
    for p in range(start, stop):
        for q0 in range(p + 1, u, _TILE):
            length = min(_TILE, u - q0)
            _dense_evidence(codes, x, any_missing, p, q0, length, total, a, s)
            for t in range(length):
                far[t] = spread[p] + spread[q0 + t]
            for k in range(c):
                f = Ft[k, p]
                row = Ft[k, q0 : q0 + length]
                for t in range(length):
                    z = row[t] - f
                    far[t] += z * z
            if any_missing:
                for t in range(length):
                    # Without evidence C is -inf; a stands in for it and the cut removes the pair.
                    far[t] = far[t] if s[t] > 0.0 else 0.0
                    s[t] = s[t] if s[t] > 0.0 else 1.0
            for t in range(length):
                q = q0 + t
                v = V[p, q]
                value = (a[t] - 0.5 * rho * far[t] * v * v) / s[t]
                cut = (np.sqrt(gamma / s[t]) if any_missing else root) * v
                value = 0.0 if value <= cut * _TIE else min(value, 1.0)
                S[p, q] = value
                both = weights[p] * weights[q]
                g = both / (v * v)
                hit[t] = g * (1.0 - value) * (1.0 - value)
                miss[t] = g * value * value
                nonzero[0] += both if value != 0.0 else 0.0
            for i in range(m):
                code = codes[i, p]
                if code == -1:
                    continue
                column = codes[i, q0 : q0 + length]
                part = 0.0
                if any_missing:
                    for t in range(length):
                        part += (hit[t] if column[t] == code else miss[t]) if column[t] != -1 else 0.0
                else:
                    for t in range(length):
                        part += hit[t] if column[t] == code else miss[t]
                d[i] += part


# Sparse passes ---------------------------------------------------------------------------------------------
#
# A pair's clusterings are bits, eight to a byte: met (pairs, bytes) has them together, and seen (u, bytes) of its two
# objects, both set, has them both seen. A sum over clusterings is then one look-up a byte, and the sums d of Eq. (6)
# are kept by byte value and taken apart into clusterings at the end of a block. Eq. (1), a and s of a pair, is written
# out in each pass: as a function of its own it doubles the time of a fit, since handing arrays to it for every
# pair costs more (their reference counts) than the look-ups.


@kernel
def _bits(codes, seen):
    """Which clusterings saw an object."""
    for p in range(codes.shape[0]):
        for i in range(codes.shape[1]):
            if codes[p, i] != -1:
                seen[p, i >> 3] |= np.uint8(1 << (i & 7))


@kernel
def _pair_bits(codes, indptr, indices, start, stop, met):
    """Which clusterings have a pair together."""
    for p in range(start, stop):
        left = codes[p]
        for t in range(indptr[p], indptr[p + 1]):
            right = codes[indices[t]]
            for i in range(left.size):
                if left[i] == right[i] and left[i] != -1:
                    met[t, i >> 3] |= np.uint8(1 << (i & 7))


@kernel
def _byte_sums(x):
    """(bytes, 256) sum of x over the set bits of a byte."""
    out = np.zeros(((x.size + 7) >> 3, 256))
    for i in range(x.size):
        for value in range(256):
            if (value >> (i & 7)) & 1:
                out[i >> 3, value] += x[i]
    return out


@kernel
def _sparse_start(met, seen, x, any_missing, indptr, indices, start, stop, S):
    table, total, n_bytes = _byte_sums(x), x.sum(), met.shape[1]
    for p in range(start, stop):
        for t in range(indptr[p], indptr[p + 1]):
            q = indices[t]
            a, s = 0.0, total
            for b in range(n_bytes):
                a += table[b, met[t, b]]
            if any_missing:
                s = 0.0
                for b in range(n_bytes):
                    s += table[b, seen[p, b] & seen[q, b]]
            S[t] = a / s


@kernel
def _sparse_pace(met, seen, x, any_missing, lam, weights, indptr, indices, S, start, stop, V):
    table, total, n_bytes = _byte_sums(x), x.sum(), met.shape[1]
    easy = 0.0
    for p in range(start, stop):
        for t in range(indptr[p], indptr[p + 1]):
            q = indices[t]
            a, s = 0.0, total
            for b in range(n_bytes):
                a += table[b, met[t, b]]
            if any_missing:
                s = 0.0
                for b in range(n_bytes):
                    s += table[b, seen[p, b] & seen[q, b]]
            value = S[t]
            B = s * value * value - 2.0 * value * a + a
            v = max(1.0, 2.0 * B / lam)
            V[t] = v
            easy += weights[p] * weights[q] * (1.0 - 1.0 / v)
    return easy


@kernel
def _sparse_step(
    met, seen, x, any_missing, F, spread, rho, gamma, weights, V, indptr, indices, start, stop, S, d, nonzero
):  # fmt: skip
    c, n_bytes = F.shape[1], met.shape[1]
    table, total = _byte_sums(x), x.sum()
    hits, misses = np.zeros((n_bytes, 256)), np.zeros((n_bytes, 256))
    for p in range(start, stop):
        for t in range(indptr[p], indptr[p + 1]):
            q = indices[t]
            a, s = 0.0, total
            for b in range(n_bytes):
                a += table[b, met[t, b]]
            if any_missing:
                s = 0.0
                for b in range(n_bytes):
                    s += table[b, seen[p, b] & seen[q, b]]
            v = V[t]
            cut = np.sqrt(gamma / s) * v
            value = a / s
            if value >= cut:  # the distance can only lower C, so it is needed only here
                far = spread[p] + spread[q]
                for k in range(c):
                    z = F[p, k] - F[q, k]
                    far += z * z
                value = (a - 0.5 * rho * far * v * v) / s
            value = 0.0 if value <= cut * _TIE else min(value, 1.0)
            S[t] = value
            both = weights[p] * weights[q]
            strength = both / (v * v)
            hit = strength * (1.0 - value) * (1.0 - value)
            for b in range(n_bytes):
                hits[b, met[t, b]] += hit
            if value != 0.0:
                miss = strength * value * value
                nonzero[0] += both
                for b in range(n_bytes):
                    misses[b, seen[p, b] & seen[q, b] & ~met[t, b]] += miss
    for i in range(x.size):
        for value in range(256):
            if (value >> (i & 7)) & 1:
                d[i] += hits[i >> 3, value] + misses[i >> 3, value]
