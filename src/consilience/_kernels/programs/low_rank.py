"""Passes of the augmented Lagrangian for S = S Z + E, Z = J, with a symmetric S = U diag(lam) U'.

They work in the eigenbasis of S.

Arrays hold columns as rows: row i of ``Z`` is U' z_i, for column z_i of the representation. There S and
(S'S + I)^-1 are diagonal, so that the step of one column costs O(s) and every pass is one reading of memory.
Serial over a block of rows; see :mod:`..runtime.threads`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compile.jit import fast_kernel


class Basis(NamedTuple):
    """The eigenbasis of S (u objects, s directions), and what is kept in it."""

    U: np.ndarray  # (u, s)
    lam: np.ndarray  # (s,)
    Y2: np.ndarray  # (u, s) float32, the multiplier of Z = J
    rest: np.ndarray  # (u, s) float32, Z - J + Y2 / mu of the next step
    gap: np.ndarray  # (u, s) float32, Z - J


class ColumnShares(NamedTuple):
    """E = share Q and Y1 = mu (1 - share) Q, by column."""

    Q: np.ndarray  # (u, s)
    share: np.ndarray  # (u,)
    thresholds: np.ndarray  # (u,)


class EntrySteps(NamedTuple):
    """E and its multiplier by entries, and a product on the way (float32); all (u, u)."""

    moved: np.ndarray
    E: np.ndarray
    Y1: np.ndarray


class Thresholds(NamedTuple):
    """Entry (i, p) of E is shrunk by all * weights_ip root_i root_p."""

    weights: np.ndarray  # (u, u), or (0, 0) for weights of one
    root: np.ndarray  # (u,)
    all: float


class Penalty(NamedTuple):
    """mu of this step, the last and the next."""

    now: float
    last: float
    next: float


@fast_kernel
def step_columns(basis, J, G, columns, penalty, start, out):
    """Z, E (by columns) and both multipliers, for rows start..start + len(J).

    E = share Q and Y1 = mu (1 - share) Q by column, so neither is stored: with y = Y1 / mu,
        z = (lam (lam u - e + y) + j + (g - y2) / mu) / (lam^2 + 1),     q = lam (u - z) + y,
        y2 += mu (z - j),     share = max(1 - threshold / |q|, 0),       rest = z - j + y2 / mu_next.
    J and G are blocks, the others whole arrays. out (len(J), 2): |S - S Z - E| and |Z - J| of each column.
    """
    U, lam, Y2, rest, gap = basis
    Q, share, thresholds = columns
    mu, mu_last, mu_next = penalty
    for r in range(J.shape[0]):
        i = start + r
        e = share[i]
        y = (1.0 - e) * mu_last / mu
        new2, cross, old2, gap2 = 0.0, 0.0, 0.0, 0.0
        for j in range(lam.shape[0]):
            old = Q[i, j]
            u = U[i, j]
            z = (lam[j] * (lam[j] * u - (e - y) * old) + J[r, j] + (G[r, j] - Y2[i, j]) / mu) / (
                lam[j] * lam[j] + 1.0
            )
            q = lam[j] * (u - z) + y * old
            d = z - J[r, j]
            y2 = Y2[i, j] + mu * d
            Y2[i, j] = y2
            rest[i, j] = d + y2 / mu_next
            gap[i, j] = d
            Q[i, j] = q
            new2 += q * q
            cross += q * old
            old2 += old * old
            gap2 += d * d
        norm = np.sqrt(new2)
        kept = 1.0 - thresholds[i] / norm if norm > thresholds[i] else 0.0
        share[i] = kept
        # S - S Z - E = (1 - kept) q - y old
        left = (1.0 - kept) ** 2 * new2 - 2.0 * (1.0 - kept) * y * cross + y * y * old2
        out[r, 0] = np.sqrt(max(left, 0.0))
        out[r, 1] = np.sqrt(gap2)


@fast_kernel
def step_representation(basis, J, G, D, image, penalty, start, norms):
    """Z and its multiplier where E is shrunk entry by entry: D = E - Y1 / mu is given in the eigenbasis.

    image (float32) becomes lam (z - j), from which S Z follows; norms (len(J),) those of z - j.
    """
    U, lam, Y2, rest, gap = basis
    mu, _, mu_next = penalty
    for r in range(J.shape[0]):
        i = start + r
        gap2 = 0.0
        for j in range(lam.shape[0]):
            z = (lam[j] * (lam[j] * U[i, j] - D[i, j]) + J[r, j] + (G[r, j] - Y2[i, j]) / mu) / (
                lam[j] * lam[j] + 1.0
            )
            d = z - J[r, j]
            y2 = Y2[i, j] + mu * d
            Y2[i, j] = y2
            rest[i, j] = d + y2 / mu_next
            gap[i, j] = d
            image[i, j] = lam[j] * d
            gap2 += d * d
        norms[r] = np.sqrt(gap2)


@fast_kernel
def step_entries(S, SJ, entries, thresholds, penalty, start):
    """E (by entries) and its multiplier, Q = S - S Z + Y1 / mu, for a block of rows of the original basis.

    The rows are start..start + len(SJ).

    moved holds S (Z - J) and becomes the change of E - Y1 / mu, for the next step. Returns max |S - S Z - E|
    / (root_i root_p) and the largest |row of moved| / root_i.
    """
    moved, E, Y1 = entries
    weights, root, threshold = thresholds
    mu, _, mu_next = penalty
    worst, farthest = 0.0, 0.0
    inverse = 1.0 / root
    for r in range(SJ.shape[0]):
        i = start + r
        largest, square = 0.0, 0.0
        for p in range(S.shape[1]):
            t = threshold * root[i] * root[p]
            if weights.shape[0] > 0:
                t *= weights[i, p]
            rest = S[i, p] - SJ[r, p] - moved[i, p]
            y = Y1[i, p] * (1.0 / mu)
            q = rest + y
            cut = min(max(q, -t), t)
            e = q - cut
            largest = max(largest, abs(rest - e) * inverse[p])
            change = (e - cut * (mu / mu_next)) - (E[i, p] - y)
            square += change * change
            moved[i, p] = change
            E[i, p] = e
            Y1[i, p] = mu * cut
        worst = max(worst, largest * inverse[i])
        farthest = max(farthest, np.sqrt(square) * inverse[i])
    return worst, farthest


@fast_kernel
def energies(gap, pull, start):
    """Sums of squares of each column of gap - pull over rows start..start + len(pull); pull is a block."""
    out = np.zeros(gap.shape[1])
    for r in range(pull.shape[0]):
        for j in range(gap.shape[1]):
            d = np.float64(gap[start + r, j]) - pull[r, j]
            out[j] += d * d
    return out


@fast_kernel
def largest_row(gap, pull, chosen, root, start):
    """Largest norm / root of rows start..start + len(pull) of gap - pull, over the columns.

    Only columns where ``chosen`` is 1 count (it is 0 elsewhere).
    """
    worst = 0.0
    for r in range(pull.shape[0]):
        square = 0.0
        for j in range(gap.shape[1]):
            d = gap[start + r, j] - pull[r, j]
            square += chosen[j] * d * d
        worst = max(worst, np.sqrt(square) / root[start + r])
    return worst


@fast_kernel
def largest_gap(gap, root, start, stop):
    """max |gap_ip| / (root_i root_p) over rows start..stop."""
    worst = 0.0
    for i in range(start, stop):
        for p in range(gap.shape[1]):
            worst = max(worst, abs(gap[i, p]) / (root[i] * root[p]))
    return worst


@fast_kernel
def symmetrize_inplace(W, absolute, start, stop):
    """W <- (|W| + |W|') / 2, or (W + W') / 2, for the pairs (i, p <= i) of rows start..stop.

    In tiles as wide as the block is high, so that reading down a column stays in the cache.
    """
    for left in range(0, stop, stop - start):
        for i in range(start, stop):
            for p in range(left, min(left + stop - start, i + 1)):
                a, b = W[i, p], W[p, i]
                half = 0.5 * (abs(a) + abs(b)) if absolute else 0.5 * (a + b)
                W[i, p] = half
                W[p, i] = half
