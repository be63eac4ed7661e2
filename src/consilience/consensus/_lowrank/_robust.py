"""The updates of RCE: connectivity matrices are cleaned of sparse errors, and their consensus has low rank.

    min over A, E_i of  sum_i KL(A, S_i - E_i) + l1 sum_i |E_i|_1 + l2 |A|_*,   0 <= A, S_i - E_i <= 1   (1)
    a = (A + A') / 2,   together: b1 = 2a / (1 - l1 + sqrt((1 - l1)^2 + 4 l1 a))                         (2)
                        apart:    b0 = 2a / (1 + l1 + sqrt((1 + l1)^2 - 4 l1 a))
    C = t log((1 - b1) / b1) + (seen - t) log((1 - b0) / b0) = C+ - C-                                   (3)
    W = (Ah Ah' + mu I)^-1/2,   Ah = N^1/2 A N^1/2,   D = l2 N^-1/2 W N^1/2 = D+ - D-                    (4)
    G = 2 seen / A + 2 seen / (1 - A) + C+ / A + 2 (D+ A) / A,   B = seen (log(A / (1 - A)) - 2 / (1 - A)),
    H = C- A + 2 (D- A) A,   A <- min(1, (-B + sqrt(B^2 + 4 G H)) / (2 G))                               (5)

S_i (n, n) is 1 where clustering i put a pair together, so that S_i - E_i takes only two values, b1 and b0.
All that is needed of the m matrices is how often each pair was together, t (u, u), and seen, seen (u, u). N =
diag(w) weights of the distinct objects. Products other than D+ A and D- A are taken entry by entry.
"""

from __future__ import annotations

import numpy as np

from ..._base.progress import progress
from ..._kernels.eigen import eigenpairs
from ..._kernels.runtime.threads import row_product

_MU = 1e-3  # of Eq. (4)
_STEPS = 20  # of Eq. (5) in a round
_FLOOR = 2.0**-52


def cleaned(a: np.ndarray, l1: float) -> tuple[np.ndarray, np.ndarray]:
    """(b1, b0) of Eq. (2): what S_i - E_i is for pairs together and apart."""
    root = np.sqrt((1.0 - l1) ** 2 + 4.0 * l1 * a)
    # Two forms of the same root; each avoids cancellation on its side of l1 = 1.
    b1 = 2.0 * a / np.maximum(1.0 - l1 + root, _FLOOR) if l1 < 1 else (l1 - 1.0 + root) / (2.0 * l1)
    b0 = 2.0 * a / (1.0 + l1 + np.sqrt(np.maximum((1.0 + l1) ** 2 - 4.0 * l1 * a, 0.0)))
    return b1, b0


def update_C(A: np.ndarray, t: np.ndarray, seen: np.ndarray, l1: float) -> np.ndarray:
    """Eq. (3)."""
    b1, b0 = cleaned((A + A.T) / 2, l1)

    def odds(b: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(1.0 - b, _FLOOR) / np.maximum(b, _FLOOR))

    return t * odds(b1) + (seen - t) * odds(b0)


def update_D(A: np.ndarray, weights: np.ndarray, l2: float, n_jobs: int | None = -1) -> np.ndarray:
    """Eq. (4): the gradient of l2 |A|_* is D A. O(u^3)."""
    root = np.sqrt(weights)
    Ah = root[:, None] * A * root
    values, V = eigenpairs(row_product(Ah, Ah.T, n_jobs=n_jobs), len(A))
    W = row_product(V / np.sqrt(np.maximum(values, 0.0) + _MU), V.T, n_jobs=n_jobs)
    return l2 * W * root / root[:, None]


def update_A(
    A: np.ndarray, C: np.ndarray, D: np.ndarray | None, seen: np.ndarray, n_jobs: int | None = -1
) -> np.ndarray:
    """Eq. (5), ``_STEPS`` times; entries that are 0 or 1 stay."""
    free = (A > 0) & (A < 1)
    up, down = np.maximum(C, 0.0), np.maximum(-C, 0.0)
    for _ in range(_STEPS):
        inside = np.where(free, A, 0.5)
        G = 2.0 * seen / inside + 2.0 * seen / (1.0 - inside) + up / inside
        B = seen * (np.log(inside / (1.0 - inside)) - 2.0 / (1.0 - inside))
        H = down * inside
        if D is not None:
            G += 2.0 * row_product(np.maximum(D, 0.0), A, n_jobs=n_jobs) / inside
            H += 2.0 * row_product(np.maximum(-D, 0.0), A, n_jobs=n_jobs) * inside
        moved = np.divide(-B + np.sqrt(B * B + 4.0 * G * H), 2.0 * G, out=inside.copy(), where=G > 0)
        A = np.where(free, np.minimum(moved, 1.0), A)
        free &= (A > 0) & (A < 1)
    return A


def learn(
    t: np.ndarray,
    seen: np.ndarray,
    weights: np.ndarray,
    l1: float,
    l2: float,
    rounds: int,
    n_jobs: int | None = -1,
) -> np.ndarray:
    """A (u, u) after the rounds of Eqs. (2) to (5), which start from the mean co-association.

    Pairs that were never seen start at its mean.
    """
    A = np.divide(t, seen, out=np.zeros_like(t), where=seen > 0)
    if not seen.all():
        known = (seen > 0) * weights * weights[:, None]
        A[seen == 0] = np.vdot(known, A) / known.sum()
    D = None
    for _ in progress(range(rounds), what="RCE", unit="round"):
        A = update_A(A, update_C(A, t, seen, l1), D, seen, n_jobs)
        D = update_D(A, weights, l2, n_jobs)
    return A
