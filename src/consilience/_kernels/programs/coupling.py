"""Products of rows with one symmetric k x k matrix that all of them share, and with each other.

    spread    sum_q r_q E_pq s_q        for every row s and entry p                                (1)
    gram      A' diag(v) B              over all rows                                              (2)

E (k, k) is not negative, with zero diagonal, r (k,) counts how many equal entries one stands for. Where most
entries are 0, sums over the others alone are faster than matrix products.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..compile.jit import kernel

#: Shares of entries that are not 0, below which sums over these alone are faster than matrix products.
_FEW, _FEW_PAIRS = 0.1, 0.03


class Coupling(NamedTuple):
    """E o r by columns: row p holds what p contributes to the gradients of all.

    Where p contributes to few, it holds only those.
    """

    columns: np.ndarray  # (k, k): r_p E_qp at (p, q)
    starts: np.ndarray  # of each row in the next two; empty if most entries count
    where: np.ndarray
    values: np.ndarray

    @property
    def share(self) -> float:
        return self.values.size / self.columns.size if self.starts.size else 1.0


class Problem(NamedTuple):
    """Rows of Eq. (1) of :mod:`.box`; W, seen and degree have one row where it is that of all."""

    S: np.ndarray  # (b, k) what is sought, changed in place
    W: np.ndarray  # (b or 1, k) w
    seen: np.ndarray  # (b or 1, k) o
    Y: np.ndarray  # (b, k)
    linear: np.ndarray  # (b, k) l
    pull: np.ndarray  # (b, k) sum_q r_q E_pq w_q s_q, kept up to date by descent alone
    degree: np.ndarray  # (b or 1, k) sum_q r_q E_pq w_q
    coupling: Coupling


def couple(E: np.ndarray, r: np.ndarray) -> Coupling:
    """The coupling of all coordinates, ready for the kernels."""
    columns = np.ascontiguousarray((E * r).T)
    if np.count_nonzero(columns) > _FEW * columns.size:
        return Coupling(columns, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
    few = sp.csr_array(columns)
    return Coupling(columns, few.indptr.astype(np.int64), few.indices.astype(np.int64), few.data)


def spread(S: np.ndarray, coupling: Coupling) -> np.ndarray:
    """(b, k): sum_q r_q E_pq s_q for every row and p, by matrix product or from the non-zero entries."""
    if np.count_nonzero(S) * coupling.share > _FEW_PAIRS * S.size:
        return S @ coupling.columns
    if not coupling.starts.size:
        return sp.csr_array(S) @ coupling.columns
    return _spread(S, coupling.starts, coupling.where, coupling.values)


@kernel
def _spread(S, starts, where, values):
    b, k = S.shape
    out = np.zeros((b, k))
    for i in range(b):
        for p in range(k):
            s = S[i, p]
            if s != 0.0:
                for t in range(starts[p], starts[p + 1]):
                    out[i, where[t]] += s * values[t]
    return out


def gram(A: np.ndarray, weights: np.ndarray, B: np.ndarray | None = None) -> np.ndarray:
    """(k, k): A' diag(weights) B, where B is A if not given.

    It is computed from the entries that are not 0 where they are few.
    """
    if np.count_nonzero(A) > _FEW * A.size or (B is not None and np.count_nonzero(B) > _FEW * B.size):
        if B is None:  # a product of a matrix with itself takes half the time
            scaled = A * np.sqrt(weights)[:, None]
            return scaled.T @ scaled
        return (A * weights[:, None]).T @ B
    return _gram(A, weights, A if B is None else B)


@kernel
def _gram(A, weights, B):
    b, k = A.shape
    out = np.zeros((k, k))
    where, values = np.empty(k, np.int64), np.empty(k)
    for i in range(b):
        n = 0
        for p in range(k):
            if B[i, p] != 0.0:
                where[n], values[n] = p, B[i, p]
                n += 1
        for p in range(k):
            if A[i, p] != 0.0:
                step = weights[i] * A[i, p]
                for t in range(n):
                    out[p, where[t]] += step * values[t]
    return out
