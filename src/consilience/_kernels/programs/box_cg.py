"""Conjugate gradients for rows of Eq. (1) of :mod:`.box`, sixteen rows at a time.

A row asks for    min over x >= 0    1/2 x' A x - b' x,    A_pq = -r_p w_p E_pq w_q r_q off the diagonal   (1)

In y = D^1/2 x, D the diagonal of A, the matrix is I - c o E o c' and its eigenvalues lie in (0, 2). Steps are
those of MPRGP (Dostal and Schoeberl 2005): conjugate gradients over the positive entries; where one of them
would pass 0, as far as it goes and a projected gradient step from there; and a gradient step over the entries
at 0 that should rise, once these outweigh the rest. Every step is one product with E, and sixteen rows share
the reading of it: their entries lie side by side in memory, and sums run over all of them at once. Each row
goes its own way, makes room for the next one when it is done, and its answer does not depend on which others
it was beside.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compile.jit import fast_kernel
from .coupling import Problem

_LANES = 16  # eight read the coupling twice as often: a quarter slower with 1,680 columns
_IDLE, _ALONG, _RISE, _LOOK = (
    0,
    1,
    2,
    3,
)  # what a lane multiplies: nothing, a conjugate direction, entries that rise, the point
_STEP = 0.99  # of a projected gradient step: below 2 over the largest eigenvalue
_FAR = 1e300


class _Lanes(NamedTuple):
    """Sixteen rows side by side, all (k, lanes)."""

    y: np.ndarray  # the point
    g: np.ndarray  # its gradient
    v: np.ndarray  # the direction
    u: np.ndarray  # c o v
    z: np.ndarray  # E u
    b: np.ndarray
    c: np.ndarray
    scale: np.ndarray  # D^-1/2


class _Row(NamedTuple):
    """What Eq. (1) of :mod:`.box` asks of one row, all (k,)."""

    s: np.ndarray
    w: np.ndarray
    o: np.ndarray
    degree: np.ndarray
    given: np.ndarray  # y
    linear: np.ndarray


def descend_together(
    problem: Problem, r: np.ndarray, rows: np.ndarray, *, tol: float = 1e-13, max_steps: int = 500
) -> np.ndarray:
    """Solve some rows of a problem as :func:`.box.smooth_rows` lays it out, in place.

    Returns the rows that it leaves unchanged.

    A row is solved where no entry would move by more than ``tol`` on its own. The coupling must be given by
    its entries.

    O(e) a step and row for e pairs that are coupled, some 30 to 300 steps.
    """
    return rows[_solve(problem, r, rows, tol, max_steps)]


@fast_kernel
def _solve(problem, r, rows, tol, max_steps):
    """Whether each of some rows was left unchanged.

    Lanes take the next row as soon as they are done with one.
    """
    S, W, seen, Y, linear, _, degree, coupling = problem
    _, starts, where, values = coupling
    k = S.shape[1]
    room = np.zeros((8, k, _LANES))
    y, g, v, u, z, b, c, scale = room[0], room[1], room[2], room[3], room[4], room[5], room[6], room[7]
    lanes = _Lanes(y, g, v, u, z, b, c, scale)
    mode, at, steps = np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64), np.zeros(_LANES, np.int64)
    curve, step, expand, gamma = np.zeros(_LANES), np.zeros(_LANES), np.zeros(_LANES), np.zeros(_LANES)
    found = np.zeros((5, _LANES))
    failed = np.zeros(rows.size, np.bool_)
    following = busy = 0
    while True:
        for j in range(_LANES):
            if mode[j] == _IDLE and following < rows.size:
                i = rows[following]
                w = W[0] if W.shape[0] == 1 else W[i]
                d = degree[0] if degree.shape[0] == 1 else degree[i]
                o = seen[0] if seen.shape[0] == 1 else seen[i]
                _load(j, _Row(S[i], w, o, d, Y[i], linear[i]), r, lanes)
                mode[j], at[j], steps[j] = _LOOK, following, 0
                following += 1
                busy += 1
        if busy == 0:
            return failed
        _multiply(u, z, starts, where, values, r)
        _measure(y, g, v, z, c, curve, step, expand)
        for j in range(_LANES):
            _choose(j, mode, curve, step, expand)
        _move(lanes, mode, step, expand, found)
        for j in range(_LANES):
            if mode[j] == _IDLE:
                continue
            steps[j] += 1
            done = _next(j, mode, curve, expand, found, gamma, tol)
            if done or steps[j] >= max_steps:
                i = rows[at[j]]
                w = W[0] if W.shape[0] == 1 else W[i]
                d = degree[0] if degree.shape[0] == 1 else degree[i]
                failed[at[j]] = not (done and _store(j, w, d, linear[i], y, z, scale, S[i]))
                mode[j] = _IDLE
                busy -= 1
        _turn(y, g, v, u, c, mode, gamma)


@fast_kernel(forceinline=True)
def _load(j, row, r, lanes):
    """Put a row into lane j.

    An entry of weight 0 has no part in it: its scale is 0, and so are all its other numbers.
    """
    s, w, o, d, given, l = row
    y, g, v, u, _, b, c, scale = lanes
    for p in range(s.size):
        own = r[p] * w[p] * (o[p] * w[p] + d[p])
        scale[p, j] = 1.0 / np.sqrt(own) if own > 0.0 else 0.0
        c[p, j] = r[p] * w[p] * scale[p, j]
        b[p, j] = scale[p, j] * r[p] * (o[p] * w[p] * w[p] * given[p] - 0.5 * l[p])
        y[p, j] = s[p] * np.sqrt(own) if own > 0.0 else 0.0
        v[p, j] = y[p, j]
        u[p, j] = c[p, j] * y[p, j]
        g[p, j] = 0.0


@fast_kernel(forceinline=True)
def _multiply(u, z, starts, where, values, r):
    """z_p = sum_q E_pq u_q: row p of the coupling holds r_p E_pq.

    Positions are unsigned, since these need no test for counting from the end.
    """
    total = np.empty(_LANES)
    for p in range(u.shape[0]):
        total[:] = 0.0
        for t in range(np.uint64(starts[p]), np.uint64(starts[p + 1])):
            value, q = values[t], np.uint64(where[t])
            for j in range(_LANES):
                total[j] += value * u[q, j]
        for j in range(_LANES):
            z[p, j] = total[j] / r[p]


@fast_kernel(forceinline=True)
def _measure(y, g, v, z, c, curve, slope, reach):
    """For every lane: v' A v, g' v, and how far y - a v stays at or above 0."""
    curve[:] = 0.0
    slope[:] = 0.0
    reach[:] = _FAR
    for p in range(y.shape[0]):
        for j in range(_LANES):
            curve[j] += v[p, j] * (v[p, j] - c[p, j] * z[p, j])
            slope[j] += g[p, j] * v[p, j]
            a = y[p, j] / v[p, j] if v[p, j] > 0.0 else _FAR
            reach[j] = a if a < reach[j] else reach[j]


@fast_kernel(forceinline=True)
def _choose(j, mode, curve, step, expand):
    """Set the length of the step, and that of the projected step after it.

    At the start, ``step`` holds g' v and ``expand`` the reach.
    """
    reach = expand[j]
    expand[j] = 0.0
    if mode[j] == _IDLE or mode[j] == _LOOK or curve[j] <= 0.0:
        step[j] = 0.0
        return
    step[j] /= curve[j]
    if mode[j] == _ALONG and step[j] > reach:
        step[j], expand[j] = reach, _STEP


@fast_kernel(forceinline=True)
def _move(lanes, mode, step, expand, found):
    """Take the steps and sum up the new gradient in ``found``.

    In this order: its squares over positive entries, the same as far as these can go, squares over entries at
    0 that should rise, the product of the first with A v, and the largest step of one entry.
    """
    y, g, v, _, z, b, c, scale = lanes
    keep, fresh = np.empty(_LANES), np.empty(_LANES)
    for j in range(_LANES):
        fresh[j] = 1.0 if mode[j] == _LOOK else 0.0
        keep[j] = 1.0 - fresh[j]
    found[:] = 0.0
    for p in range(y.shape[0]):
        for j in range(_LANES):
            product = v[p, j] - c[p, j] * z[p, j]
            new = y[p, j] - step[j] * v[p, j]
            new = new if new > 0.0 else 0.0
            slope = keep[j] * (g[p, j] - step[j] * product) + fresh[j] * (product - b[p, j])
            free = slope if new > 0.0 else 0.0
            up = slope if (slope < 0.0 and new <= 0.0) else 0.0
            found[0, j] += free * free
            found[1, j] += free * (free if free < new / _STEP else new / _STEP)
            found[2, j] += up * up
            found[3, j] += free * product
            size = abs(free + up) * scale[p, j]
            found[4, j] = size if size > found[4, j] else found[4, j]
            new -= expand[j] * free
            y[p, j] = new if new > 0.0 else 0.0
            g[p, j] = slope


@fast_kernel(forceinline=True)
def _next(j, mode, curve, expand, found, gamma, tol):
    """What lane j multiplies next; returns whether it is done, by a gradient that was formed again."""
    gamma[j] = 0.0
    if expand[j] > 0.0:
        mode[j] = _LOOK
        return False
    if found[4, j] <= tol:
        if mode[j] == _LOOK:
            return True
        mode[j] = _LOOK
        return False
    if found[2, j] > found[1, j]:
        mode[j] = _RISE
        return False
    if mode[j] == _ALONG and curve[j] > 0.0:
        gamma[j] = found[3, j] / curve[j]
    mode[j] = _ALONG
    return False


@fast_kernel(forceinline=True)
def _turn(y, g, v, u, c, mode, gamma):
    """Form the next directions."""
    along, rise, look = np.empty(_LANES), np.empty(_LANES), np.empty(_LANES)
    for j in range(_LANES):
        along[j] = 1.0 if mode[j] == _ALONG else 0.0
        rise[j] = 1.0 if mode[j] == _RISE else 0.0
        look[j] = 1.0 if mode[j] == _LOOK else 0.0
    for p in range(y.shape[0]):
        for j in range(_LANES):
            slope, here = g[p, j], y[p, j]
            free = slope if here > 0.0 else 0.0
            up = slope if (slope < 0.0 and here <= 0.0) else 0.0
            new = along[j] * (free - gamma[j] * v[p, j]) + rise[j] * up + look[j] * here
            v[p, j] = new
            u[p, j] = c[p, j] * new


@fast_kernel(forceinline=True)
def _store(j, w, d, l, y, z, scale, s):
    """Write a solution into its row; entries of weight 0 follow the others.

    Returns whether it lies in the box.
    """
    for p in range(s.size):
        if y[p, j] * scale[p, j] > 1.0 + 1e-9:  # only where l < 0
            return False
    for p in range(s.size):
        s[p] = min(y[p, j] * scale[p, j], 1.0)
        if w[p] == 0.0 and l[p] <= 0.0 and d[p] > 0.0:
            s[p] = min(max(z[p, j] / d[p], 0.0), 1.0)
    return True
