"""Fused passes over the pairs of weighted objects for self-paced learning of a consensus matrix.

    s = sum_i x_i,   a = sum_i x_i [p, q together in i],   over the i that saw p and q,   x = 1/alpha      (1)
    B = s S^2 - 2 S a + a                          the loss of a pair, sum_i x_i (S - S_i)^2               (2)
    V = 1/W = max(1, 2 B / lambda)                                                                         (3)
    C = (a - rho |f_p - f_q|^2 V^2 / 2) / s,   cut = sqrt(gamma / s) V                                     (4)
    S = 0 if C <= cut, C if cut < C < 1, 1 if C >= 1                                                       (5)
    d_i = sum over p, q of w_p w_q W^2 (1 - S)^2 if together in i, of w_p w_q W^2 S^2 if apart             (6)

S_i is 0/1, which is why the m matrices S_i never exist: (1) and (6) are read off the labels as the pass goes.
(6) adds two kinds of squares instead of correcting a common sum: a clustering that comes to equal S has d_i
near 0, and a difference of large sums would be all rounding. V is stored and not W: it is finite, at least 1,
and what (4) multiplies by. A pair that no clustering saw has s = 0; without a loss the best S is 0. Objects
are distinct: no two have the same label in every clustering, so no pair of them is fixed at S = 1 (those are
inside an object), and pairs that were never together get S = 0 from (4) and (5) by themselves.

Two stores hold the unordered pairs p < q: :class:`.paced_dense.DensePairs` in the upper triangles of two
u x u arrays, and :class:`.paced_sparse.SparsePairs` on the pairs that were ever together (S is 0 on all
others, by (4)). Sums over blocks of rows are added in block order, so threads do not change them.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from ..runtime.threads import map_blocks

_ROWS = 64  # rows of a block
# C = cut is a tie of (5): S = C and S = 0 cost the same. It happens exactly (the threshold equal to an
# agreement k / m), so it is settled here, for the sparser S, and not by rounding.
TIE = 1.0 + 1e-12


class Embedding(NamedTuple):
    """What Eqs. (4) and (5) take besides the pairs; |f_p - f_q|^2 has spread_p + spread_q added to it."""

    F: np.ndarray  # (u, c), or (c, u) for the dense store
    spread: np.ndarray  # (u,)
    rho: float
    gamma: float


class Sums(NamedTuple):
    """What a block of pairs adds to."""

    d: np.ndarray  # (m,) of Eq. (6)
    nonzero: np.ndarray  # (1,) weight of the pairs with S above 0


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
        """Eqs. (4) to (6): a new S; returns d (m,) and the weight of its non-zero pairs with the diagonal."""

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


def add_up(parts, weights) -> tuple[np.ndarray, float]:
    """Both orders of every pair, and the diagonal, where S = S_i = 1."""
    d = 2.0 * np.sum([part[0] for part in parts], axis=0)
    return d, 2.0 * float(np.sum([part[1] for part in parts])) + float(weights @ weights)
