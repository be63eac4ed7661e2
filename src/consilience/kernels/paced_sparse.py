"""The pairs ever together, for self-paced learning of a consensus matrix: equations in :mod:`.paced_pairs`."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from ._jit import fast_kernel, kernel
from .graph import components_of_rows
from .paced_pairs import TIE, PairStore, add_up
from .parallel import map_blocks

# A pair's clusterings are bits, eight to a byte: met (pairs, bytes) has them together, and seen (u, bytes) of its two
# objects, both set, has them both seen. A sum over clusterings is then one look-up a byte, and the sums d of Eq. (6)
# are kept by byte value and taken apart into clusterings at the end of a block. Eq. (1), a and s of a pair, is written
# out in each pass: as a function of its own it doubles the time of a fit, since handing arrays to it for every
# pair costs more (their reference counts) than the look-ups.


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
        return add_up(self._map(rows), self.weights)

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
            value = 0.0 if value <= cut * TIE else min(value, 1.0)
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
