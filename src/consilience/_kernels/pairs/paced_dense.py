"""All pairs of weighted objects, for self-paced learning of a consensus matrix.

Equations in :mod:`.paced`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dsymm

from ..compile.jit import fast_kernel, kernel
from ..runtime.threads import map_tasks
from .components import components
from .paced import TIE, Embedding, PairStore, Sums, add_up

_TILE = 512  # columns of a tile: its scratch vectors stay in the first-level cache
_COLUMNS = 8  # of a product, to a thread


class _Votes(NamedTuple):
    """Base clusterings as Eq. (1) reads them."""

    codes: np.ndarray  # (m, u)
    x: np.ndarray  # (m,)
    any_missing: bool


class DensePairs(PairStore):
    """All pairs, in the upper triangles of S and V.

    8 u^2 bytes are touched (the lower halves stay untouched).
    """

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
        votes = _Votes(self.codes, x, self.any_missing)
        easy = self._map(lambda a, b: _dense_pace(votes, lam, self.weights, self.S, a, b, self.V))
        return 2.0 * float(np.sum(easy))

    def step(self, x, F, spread, rho: float, gamma: float) -> tuple[np.ndarray, float]:
        votes = _Votes(self.codes, x, self.any_missing)
        embedding = Embedding(np.ascontiguousarray(F.T), spread, rho, gamma)

        def rows(a, b):
            sums = Sums(np.zeros(x.size), np.zeros(1))
            _dense_step(votes, embedding, self.weights, self.V, a, b, self.S, sums)
            return sums.d, sums.nonzero[0]

        return add_up(self._map(rows), self.weights)

    def product(self, X: np.ndarray) -> np.ndarray:
        given, X = X.dtype, np.asfortranarray(X, dtype=float)
        out = np.empty(X.shape, order="F")

        def columns(j: int) -> None:
            out[:, j : j + _COLUMNS] = dsymm(1.0, self.S.T, X[:, j : j + _COLUMNS], lower=1)

        map_tasks(columns, list(range(0, X.shape[1], _COLUMNS)), n_jobs=self.n_jobs)
        return out.astype(given, copy=False)

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
    """S from its upper triangle, both triangles, into rows as long as :func:`_count_upper` has them."""
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


@fast_kernel(forceinline=True)
def _dense_evidence(votes, p, q0, length, total, a, s):
    """a and s of Eq. (1) for the pairs (p, q0 .. q0 + length)."""
    codes, x, any_missing = votes
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
    votes = _Votes(codes, np.ones(m), any_missing)
    a, s = np.empty(_TILE), np.empty(_TILE)
    for p in range(start, stop):
        for q0 in range(p + 1, u, _TILE):
            length = min(_TILE, u - q0)
            _dense_evidence(votes, p, q0, length, float(m), a, s)
            for t in range(length):
                S[p, q0 + t] = a[t] / s[t] if s[t] > 0 else 0.0


@fast_kernel
def _dense_pace(votes, lam, weights, S, start, stop, V):
    """Eqs. (2) and (3) for the pairs of rows start..stop; the weight of what is not yet trusted."""
    u = votes.codes.shape[1]
    a, s = np.empty(_TILE), np.empty(_TILE)
    total = votes.x.sum()
    easy = 0.0
    for p in range(start, stop):
        for q0 in range(p + 1, u, _TILE):
            length = min(_TILE, u - q0)
            _dense_evidence(votes, p, q0, length, total, a, s)
            for t in range(length):
                q = q0 + t
                value = S[p, q]
                B = s[t] * value * value - 2.0 * value * a[t] + a[t]
                v = max(1.0, 2.0 * B / lam)
                V[p, q] = v
                easy += weights[p] * weights[q] * (1.0 - 1.0 / v)
    return easy


@fast_kernel
def _dense_step(votes, embedding, weights, V, start, stop, S, sums):
    """Eqs. (4) to (6) for the pairs of rows start..stop."""
    codes, x, any_missing = votes
    Ft, spread, rho, gamma = embedding
    d, nonzero = sums
    m, u = codes.shape
    c = Ft.shape[0]
    a, s, far = np.empty(_TILE), np.empty(_TILE), np.empty(_TILE)
    hit, miss = np.empty(_TILE), np.empty(_TILE)
    total = x.sum()
    root = np.sqrt(gamma / total)
    for p in range(start, stop):
        for q0 in range(p + 1, u, _TILE):
            length = min(_TILE, u - q0)
            _dense_evidence(votes, p, q0, length, total, a, s)
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
                value = 0.0 if value <= cut * TIE else min(value, 1.0)
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
