"""Rows of graphs between all pairs of objects, each a small problem of its own (the updates of TRCE).

    inside_pi = sum over q, in one cluster of clustering i with p, of w_q log B_pq                         (1)
    B_pq = C_pq / (pull_pq + th_p),   th_p such that sum_q w_q B_pq = 1                                    (2)
    S_p = max(V_p - t_p, 0),   t_p such that sum_q w_q S_pq = 1                                            (3)

B, C, pull, V (u, u), w (u,). Everything but (1) to (3) of one row is left to the processor's memory: no
further matrix of pairs is made.
"""

from __future__ import annotations

import numpy as np

from ..compile.jit import fast_kernel
from ..runtime.threads import map_blocks

_ROWS = 64  # of a block; does not depend on the number of threads
_STEPS = 100  # of Newton's rule at most; some ten are usual
_EXACT = 1e-13  # of sums that are to be 1


def log_sums(codes: np.ndarray, B: np.ndarray, weights: np.ndarray, *, n_jobs: int | None = -1) -> np.ndarray:
    """(u, m) Eq. (1), 0 where the clustering did not see p; codes (m, u), -1 missing.

    Entries that are 0 count as 1. O(u^2 m) time.
    """
    out = np.empty(codes.T.shape)
    map_blocks(lambda a, b: _log_sums(codes, B, weights, a, b, out), len(B), size=_ROWS, n_jobs=n_jobs)
    return out


def shared_out(
    C: np.ndarray, pull: np.ndarray, weights: np.ndarray, *, n_jobs: int | None = -1
) -> np.ndarray:
    """B of Eq. (2), 0 where C is, by Newton's method on 1 / sum.

    That is concave and rises: from below, the method never overshoots.

    Every row of C, which is not negative, has an entry above 0. O(u^2) a step.
    """
    out = np.empty(C.shape)
    map_blocks(lambda a, b: _shared_out(C, pull, weights, a, b, out), len(C), size=_ROWS, n_jobs=n_jobs)
    return out


def nearest_of_weight_one(V: np.ndarray, weights: np.ndarray, *, n_jobs: int | None = -1) -> np.ndarray:
    """S of Eq. (3): of all rows s >= 0 with w's = 1 those nearest to the rows of V, by weight.

    Entries that are not above t, if all above it share the sum, are left out until none is: t rises and ends
    at the solution (Michelot 1986). O(u^2) a pass, a few passes.
    """
    out = np.empty(V.shape)
    map_blocks(lambda a, b: _nearest(V, weights, a, b, out), len(V), size=_ROWS, n_jobs=n_jobs)
    return out


@fast_kernel
def _log_sums(codes, B, weights, start, stop, out):
    m, u = codes.shape
    logs = np.empty(u)
    for p in range(start, stop):
        row = B[p]
        for q in range(u):
            logs[q] = weights[q] * np.log(row[q]) if row[q] > 0.0 else 0.0
        for i in range(m):
            code, column, total = codes[i, p], codes[i], 0.0
            if code != -1:
                for q in range(u):
                    total += logs[q] if column[q] == code else 0.0
            out[p, i] = total


@fast_kernel
def _shared_out(C, pull, weights, start, stop, out):
    """Entries with C above 0 are gathered at the beginning of rest, mass and place."""
    u = C.shape[1]
    rest, mass = np.empty(u), np.empty(u)
    for p in range(start, stop):
        least, f = np.inf, 0
        for q in range(u):
            if C[p, q] > 0.0:
                rest[f], mass[f] = pull[p, q], C[p, q] * weights[q]
                least = min(least, pull[p, q])
                f += 1
        th = 0.0
        for a in range(f):
            rest[a] -= least
            th += mass[a] if rest[a] == 0.0 else 0.0
        for _ in range(_STEPS):
            total, slope = 0.0, 0.0
            for a in range(f):
                over = 1.0 / (rest[a] + th)
                share = mass[a] * over
                total += share
                slope += share * over
            if abs(total - 1.0) <= _EXACT:
                break
            th += (total - 1.0) * total / slope
        for q in range(u):
            out[p, q] = C[p, q] / ((pull[p, q] - least) + th) if C[p, q] > 0.0 else 0.0


@fast_kernel
def _nearest(V, weights, start, stop, out):
    """The first ``left`` of value and heavy may still be above t."""
    u = V.shape[1]
    value, heavy = np.empty(u), np.empty(u)
    for p in range(start, stop):
        for q in range(u):
            value[q], heavy[q] = V[p, q], weights[q]
        left, t = u, 0.0
        while True:
            total, mass = 0.0, 0.0
            for a in range(left):
                total += heavy[a] * value[a]
                mass += heavy[a]
            t = (total - 1.0) / mass
            kept = 0
            for a in range(left):
                if value[a] > t:
                    value[kept], heavy[kept] = value[a], heavy[a]
                    kept += 1
            if kept == left or kept == 0:  # none only by rounding
                break
            left = kept
        for q in range(u):
            out[p, q] = max(V[p, q] - t, 0.0)
