"""Quadratic problems over a box, one small problem per row, all sharing one k x k matrix.

Two kinds appear when a graph between n objects and k clusters is learned; every row of the unknown is a
problem of its own, so the kernels take blocks of rows and free the interpreter lock.

    smooth    min over 0 <= s <= 1    sum_p o_p w_p^2 (s_p - y_p)^2 + sum_p l_p s_p
                                      + 1/2 sum_pq r_q r_p E_pq w_p w_q (s_p - s_q)^2             (1)
    weigh     min over 0 <= w <= 1    sum_p a_p w_p^2 - lam sum_p w_p
                                      + 1/2 sum_pq r_q r_p E_pq (s_p - s_q)^2 w_p w_q             (2)

E (k, k) is symmetric, not negative, with zero diagonal; r (k,) counts how many equal unknowns a coordinate
stands for (sums over p carry r_p too). (1) is convex, and coordinate descent solves it. (2) is not: its
matrix has a zero diagonal wherever a_p = 0, so that coordinate descent would let the order of the columns
decide which of two contradicting weights survives. It is solved by projected gradient steps, which treat all
columns alike.
"""

from __future__ import annotations

import numpy as np

from ._jit import fast_kernel, kernel

#: Weights are kept on this grid: rounding noise must not decide between columns that are mirror images.
_GRID = 2.0**36


def smooth_rows(
    S: np.ndarray,
    W: np.ndarray | None,
    Y: np.ndarray,
    linear: np.ndarray,
    E: np.ndarray,
    r: np.ndarray,
    *,
    observed: np.ndarray | None = None,
    tol: float = 1e-10,
    max_sweeps: int = 2000,
) -> np.ndarray:
    """Solution of (1) for every row, starting at ``S``; ``W=None`` means all weights are 1, as ``observed=None`` does for o.

    S, W, Y, linear (b, k); E (k, k); r (k,). A coordinate of weight 0 without a linear term does not matter
    to (1): it takes the limit w_p -> 0, the mean of the others as E weighs them. Coordinate descent with
    maintained gradients: O(k) for each coordinate that moves, after two (b, k) x (k, k) products.
    """
    coupling = E * r  # row p holds what the others contribute to the gradient of p
    S = np.array(S, dtype=float, order="C")
    weighted, W = (S, np.ones((1, E.shape[0]))) if W is None else (W * S, W)
    pull = weighted @ coupling.T  # (b, k): sum_q r_q E_pq w_q s_q
    degree = W @ coupling.T  # (b or 1, k): sum_q r_q E_pq w_q
    seen = np.ones((1, E.shape[0])) if observed is None else observed
    _descend(S, W, seen, Y, linear, pull, degree, np.ascontiguousarray(coupling.T), tol, max_sweeps)
    return S


@kernel
def _descend(S, W, seen, Y, linear, pull, degree, columns, tol, max_sweeps):
    b, k = S.shape
    shared = W.shape[0] == 1
    for i in range(b):
        s, y, l, z = S[i], Y[i], linear[i], pull[i]
        w = W[0] if shared else W[i]
        d = degree[0] if shared else degree[i]
        o = seen[0] if seen.shape[0] == 1 else seen[i]
        for _ in range(max_sweeps):
            largest = 0.0
            for p in range(k):
                wp = w[p]
                curvature = wp * (o[p] * wp + d[p])
                if curvature > 0.0:
                    target = (wp * (o[p] * wp * y[p] + z[p]) - 0.5 * l[p]) / curvature
                elif l[p] > 0.0:
                    target = 0.0
                elif d[p] > 0.0:
                    target = z[p] / d[p]
                else:
                    continue
                target = min(max(target, 0.0), 1.0)
                step = target - s[p]
                if step != 0.0:
                    s[p] = target
                    largest = max(largest, abs(step))
                    step *= wp
                    if step != 0.0:
                        column = columns[p]
                        for q in range(k):
                            z[q] += step * column[q]
            if largest <= tol:
                break


def weigh_rows(
    W: np.ndarray,
    S: np.ndarray,
    Y: np.ndarray,
    lam: float,
    E: np.ndarray,
    r: np.ndarray,
    *,
    observed: np.ndarray | None = None,
    tol: float = 1e-9,
    max_steps: int = 3000,
) -> tuple[np.ndarray, int]:
    """(weights, rows solved): a stationary point of (2) for every row, with a_p = o_p (s_p - y_p)^2.

    A weight whose gradient cannot be positive anywhere in the box is 1 in every solution; rows of such weights
    alone are not solved. The other weights take projected gradient steps of length 1 / L from ``W`` until none
    moves by more than ``tol``: O(f^2) a step for f of them.
    """
    coupling = E * r
    loss = (S - Y) ** 2 if observed is None else observed * (S - Y) ** 2
    # Every term of the gradient but -lam is at its largest where all weights are 1.
    worst = 2 * loss + contradiction(S, E, r)
    certain = worst <= lam
    out = np.where(certain, 1.0, W)
    rows = np.flatnonzero(~certain.all(axis=1))
    _step_rows(out, S, loss, lam, coupling, certain, rows, tol, max_steps)
    return out, rows.size


def contradiction(S: np.ndarray, E: np.ndarray, r: np.ndarray) -> np.ndarray:
    """(b, k): sum_q r_q E_pq (s_p - s_q)^2, the pull on a weight where all others are 1; two matrix products."""
    coupling = E * r
    value = S * S * coupling.sum(axis=1) - 2 * S * (S @ coupling.T) + (S * S) @ coupling.T
    return np.maximum(value, 0.0, out=value)


@fast_kernel
def _step_rows(W, S, loss, lam, coupling, certain, rows, tol, max_steps):
    k = W.shape[1]
    M = np.empty((k, k))
    open_ = np.empty(k, np.int64)
    w, fixed, gradient = np.empty(k), np.empty(k), np.empty(k)
    for i in rows:
        s = S[i]
        f = 0
        for p in range(k):
            if not certain[i, p]:
                open_[f] = p
                f += 1
        lipschitz = 0.0
        for a in range(f):
            p = open_[a]
            total = 0.0  # what the weights that are 1 add to the gradient
            for q in range(k):
                if certain[i, q]:
                    total += coupling[p, q] * (s[p] - s[q]) ** 2
            fixed[a] = total - lam
            total = 2.0 * loss[i, p]
            for b in range(f):
                M[a, b] = coupling[p, open_[b]] * (s[p] - s[open_[b]]) ** 2
                total += M[a, b]
            M[a, a] += 2.0 * loss[i, p]
            lipschitz = max(lipschitz, total)
            w[a] = W[i, p]
        step = 1.0 / lipschitz if lipschitz > 0.0 else 1.0 / lam
        for _ in range(max_steps):
            for a in range(f):
                total = fixed[a]
                for b in range(f):
                    total += M[a, b] * w[b]
                gradient[a] = total
            largest = 0.0
            for a in range(f):
                new = min(max(w[a] - step * gradient[a], 0.0), 1.0)
                new = np.rint(new * _GRID) / _GRID
                largest = max(largest, abs(new - w[a]))
                w[a] = new
            if largest <= tol:
                break
        for a in range(f):
            W[i, open_[a]] = w[a]
