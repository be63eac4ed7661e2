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

from functools import partial
from typing import NamedTuple

import numpy as np

from ..compile.jit import fast_kernel, kernel
from .box_cg import descend_together
from .coupling import Coupling, Problem, couple, spread

#: Weights are kept on this grid: rounding noise must not decide between columns that are mirror images.
_GRID = 2.0**36

#: Cubes of the number of positive entries, in couplings, above which conjugate gradients solve for them
#: sooner than factors, and the sum of couplings of an entry up to which they do so to enough digits: what is
#: left of a gradient may be so many times as large in the answer.
_MANY, _STIFF = 60.0, 1e5

#: For the steps of one row in `_pivot`: in rows of 20 entries, calls would take a twentieth of the time.
_step_of_pivot = partial(fast_kernel, inline="always")


class Row(NamedTuple):
    """What Eq. (1) asks of one row."""

    w: np.ndarray  # (k,)
    o: np.ndarray  # (k,)
    degree: np.ndarray  # (k,)


class Guesses(NamedTuple):
    """For some rows: whether all weights are 1, which entries count as positive, and how far each is."""

    plain: np.ndarray  # (rows,)
    free: np.ndarray  # (rows, k)
    state: np.ndarray  # (rows,) int8: 0 first guess, 1 growing, 2 solved, 3 given up


class Weighing(NamedTuple):
    """Rows of Eq. (2)."""

    S: np.ndarray  # (b, k)
    loss: np.ndarray  # (b, k) a
    lam: float
    E: np.ndarray  # (k, k)
    r: np.ndarray  # (k,)
    certain: np.ndarray  # (b, k) weights that are 1 in every solution


class _Steps(NamedTuple):
    """Room for the open entries of one row, as many as there are; those where s is 0 come last."""

    entries: np.ndarray  # (k,) which of the row they are
    M: np.ndarray  # (k, k) how they contradict each other; no rows for the last ones, of which no two do
    w: np.ndarray
    v: np.ndarray  # r w
    fixed: np.ndarray  # of the gradient, what does not change
    gradient: np.ndarray
    diagonal: np.ndarray


def smooth_rows(
    S: np.ndarray,
    W: np.ndarray | None,
    Y: np.ndarray,
    linear: np.ndarray,
    E: np.ndarray,
    r: np.ndarray,
    *,
    coupling: Coupling | None = None,
    observed: np.ndarray | None = None,
    tol: float = 1e-10,
    max_sweeps: int = 2000,
) -> tuple[np.ndarray, int]:
    """(solution of (1) for every row, rows that still moved at the end), starting at ``S``.

    ``W=None`` means all weights are 1, as ``observed=None`` does for o. coupling: that of E, where it is
    known.

    S, W, Y, linear (b, k); E (k, k); r (k,). A coordinate of weight 0 without a linear term does not matter
    to (1): it takes the limit w_p -> 0, the mean of the others as E weighs them. Coordinate descent with
    maintained gradients: O(k) for each coordinate that moves, after two (b, k) x (k, k) products. Where E is
    large against the loss it would creep; rows are then finished by solving for their positive entries, or by
    conjugate gradients (:mod:`.box_cg`) where these are many and couplings few.
    """
    coupling = couple(E, r) if coupling is None else coupling
    S = np.array(S, dtype=float, order="C")
    total = coupling.columns.sum(axis=0)
    if W is None:
        W, degree = np.ones((1, total.size)), total[None]
        pull = spread(S, coupling)  # (b, k): sum_q r_q E_pq w_q s_q
    else:
        degree = total - spread(1.0 - W, coupling)  # (b, k): sum_q r_q E_pq w_q; most weights are 1
        pull = spread(W * S, coupling)
    seen = np.ones((1, total.size)) if observed is None else observed
    problem = Problem(S, W, seen, Y, linear, pull, np.maximum(degree, 0.0), coupling)
    many = _many(coupling, degree)
    left = _descend(problem, np.arange(S.shape[0]), tol, max_sweeps, True, many)
    if left.size:
        left = _finish_together(problem, r, left, many)
        left = _pivot_rows(problem, r, left)
        left = _descend(problem, left, tol, max_sweeps, False, many)
    return S, left.size


@kernel
def _descend(problem, rows, tol, max_sweeps, sparing, many):
    """Sweeps over the coordinates of some rows; returns those that still moved in the last one.

    ``sparing`` leaves a row once its sweeps have cost as much as solving for its positive entries would;
    ``many`` of these are solved for by conjugate gradients.
    """
    S, W, seen, Y, linear, pull, degree, coupling = problem
    columns, starts, where, values = coupling
    k = S.shape[1]
    shared, few = W.shape[0] == 1, starts.size > 0
    left = np.empty(rows.size, np.int64)
    n_left = 0
    for i in rows:
        s, y, l, z = S[i], Y[i], linear[i], pull[i]
        w = W[0] if shared else W[i]
        d = degree[0] if shared else degree[i]
        o = seen[0] if seen.shape[0] == 1 else seen[i]
        largest, moves = np.inf, 0
        for _ in range(max_sweeps):
            largest, f = 0.0, 0
            for p in range(k):
                wp = w[p]
                curvature = wp * (o[p] * wp + d[p])
                if curvature > 0.0:
                    target = wp * (o[p] * wp * y[p] + z[p]) - 0.5 * l[p]
                    if target <= 0.0 and s[p] == 0.0:  # stays at 0, as most do
                        continue
                    target /= curvature
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
                        moves += 1
                        if few:
                            for t in range(starts[p], starts[p + 1]):
                                z[where[t]] += step * values[t]
                        else:
                            column = columns[p]
                            for q in range(k):
                                z[q] += step * column[q]
                f += s[p] > 0.0
            if largest <= tol or (sparing and moves > _patience(f, k, many)):
                break
        if largest > tol:
            left[n_left] = i
            n_left += 1
    return left[:n_left]


@kernel(inline="always")
def _patience(f, k, many):
    """Moves after which a row with f positive entries is better solved for these, by whichever method."""
    if f > many:  # by conjugate gradients: some three sweeps, in which most entries find their sign
        return 3.0 * f
    return (f * f / 24 + 3 * k) * f / k


def _many(coupling: Coupling, degree: np.ndarray) -> float:
    """Positive entries above which a row is solved by conjugate gradients; infinite if never."""
    if not coupling.starts.size or degree.max() > _STIFF:
        return np.inf
    return float(np.cbrt(_MANY * coupling.values.size))


def _finish_together(problem: Problem, r: np.ndarray, rows: np.ndarray, many: float) -> np.ndarray:
    """Finish rows with many positive entries by conjugate gradients; returns the other rows."""
    those = np.count_nonzero(problem.S[rows] > 0.0, axis=1) > many
    if not those.any():
        return rows
    left = descend_together(problem, r, rows[those])
    return np.sort(np.concatenate([rows[~those], left]))


def _pivot_rows(problem: Problem, r: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Finish rows of (1) that coordinate descent leaves, by solving for their positive entries.

    Returns the rows that it cannot finish.

    The matrix of a row is a diagonal plus the Laplacian of a graph, an M-matrix, and with l >= 0 no entry of
    the solution exceeds 1. So a guess of the positive entries, solved for, corrected by the signs found and
    solved again, only grows from then on and ends at the solution (Hintermueller, Ito, Kunisch 2003, Theorem
    3.2). Rows with the same positive entries share a factorization where all weights are 1.
    """
    free = problem.S[rows] > 0.0
    state = np.zeros(rows.size, np.int8)
    plain = np.ones(rows.size, bool)  # the matrix is the same for all of these rows
    for factor in (problem.W, problem.seen):
        plain &= (factor if factor.shape[0] == 1 else factor[rows]).min(axis=1) == 1.0
    guesses = Guesses(plain, free, state)
    for _ in range(free.shape[1] + 2):
        todo = np.flatnonzero(state < 2)
        if not todo.size:
            break
        if plain.any():  # equal guesses next to each other
            todo = todo[np.lexsort((*_words(free[todo]).T, plain[todo]))]
        _pivot(problem, r, rows, todo, guesses)
    return rows[state != 2]


def _words(flags: np.ndarray) -> np.ndarray:
    """(b, k) flags as (b, k / 64) whole numbers."""
    packed = np.packbits(np.pad(flags, ((0, 0), (0, -flags.shape[1] % 64))), axis=1)
    return packed.view(np.uint64)


@fast_kernel
def _pivot(problem, r, rows, todo, guesses):
    """Solve for the guessed positive entries of some rows, and correct the guess.

    index holds f <= k of them, and L is the factor for these: of f rows, or of none where that failed.
    """
    S, W, seen, Y, linear, _, degree, coupling = problem
    plain, free, state = guesses
    k = S.shape[1]
    L = np.empty((0, 0))
    index, before = np.empty(k, np.int64), np.empty(k, np.int64)
    x, b, z = np.empty(k), np.empty(k), np.empty(k)
    n_before = -1
    for t in todo:
        i = rows[t]
        w = W[0] if W.shape[0] == 1 else W[i]
        d = degree[0] if W.shape[0] == 1 else degree[i]
        o = seen[0] if seen.shape[0] == 1 else seen[i]
        f = _guess(w, o, Y[i], linear[i], free[t], b, index)
        known = plain[t] and f == n_before
        if known:
            for a in range(f):
                if index[a] != before[a]:
                    known = False
                    break
        if not known:
            L = _factor(_matrix(w, o, d, coupling.columns, r, index, f))
            for a in range(f):
                before[a] = index[a]
            n_before = f if plain[t] else -1
        if L.shape[0] < f:
            state[t] = 3
            continue
        for a in range(f):
            x[a] = r[index[a]] * b[index[a]]
        _solve(L, x)
        _gather(w, x, index, f, coupling, z)
        changed = _correct(Row(w, o, d), b, x, z, index, f, state[t] == 0, free[t])
        state[t] = 1
        if changed:
            continue
        over = False  # only where l < 0
        for a in range(f):
            over = over or x[a] > 1.0 + 1e-9
        state[t] = 3 if over else 2
        if not over:
            _place(w, d, linear[i], x, z, index, f, S[i])


@_step_of_pivot
def _guess(w, o, y, l, free, b, index):
    """Fill b, the right side, and index, the entries taken to be positive; returns how many these are."""
    f = 0
    for p in range(w.size):
        b[p] = o[p] * w[p] * w[p] * y[p] - 0.5 * l[p]
        # An entry of weight 0 does not act on the others; it is set at the end.
        if w[p] > 0.0 and (free[p] or b[p] > 0.0):
            free[p] = True
            index[f] = p
            f += 1
        else:
            free[p] = False
    return f


@_step_of_pivot
def _matrix(w, o, d, columns, r, index, f):
    """(f, f): the lower part of a row's matrix, at the entries of index."""
    A = np.zeros((f, f))
    for a in range(f):
        p = index[a]
        for c in range(a):
            q = index[c]
            A[a, c] = -w[p] * w[q] * columns[p, q] * r[q]
        A[a, a] = r[p] * w[p] * (o[p] * w[p] + d[p])
    return A


@_step_of_pivot
def _gather(w, x, index, f, coupling, z):
    """Fill z with the pull of x on every entry: sum_q r_q E_pq w_q x_q."""
    columns, starts, where, values = coupling
    few = starts.size > 0
    for p in range(z.size):
        z[p] = 0.0
    for a in range(f):
        p = index[a]
        step = w[p] * x[a]
        if few:
            for e in range(starts[p], starts[p + 1]):
                z[where[e]] += step * values[e]
        else:
            for q in range(z.size):
                z[q] += step * columns[p, q]


@_step_of_pivot
def _correct(row, b, x, z, index, f, first, free):
    """Free entries that x pulls above 0, hold those a first guess left below it; returns whether any did."""
    w, o, d = row
    changed = False
    if first:
        for a in range(f):
            if x[a] <= 0.0 and b[index[a]] <= 0.0:
                free[index[a]] = False
                changed = True
    for p in range(w.size):
        if w[p] > 0.0 and not free[p] and w[p] * z[p] + b[p] > 1e-12 * w[p] * (o[p] * w[p] + d[p]):
            free[p] = True
            changed = True
    return changed


@_step_of_pivot
def _place(w, d, l, x, z, index, f, s):
    """Write a solution into its row; entries of weight 0 follow the others."""
    for p in range(s.size):
        s[p] = 0.0
        if w[p] == 0.0 and l[p] <= 0.0 and d[p] > 0.0:
            s[p] = min(max(z[p] / d[p], 0.0), 1.0)
    for a in range(f):
        s[index[a]] = min(max(x[a], 0.0), 1.0)


@kernel
def _factor(A):
    """Cholesky factor, or an empty matrix where A (its lower part) is singular to working precision."""
    try:
        L = np.linalg.cholesky(A)
    except Exception:  # compiled code cannot name LinAlgError; the caller goes on by descent
        return np.empty((0, 0))
    for a in range(A.shape[0]):
        if L[a, a] * L[a, a] <= 1e-14 * A[a, a]:
            return np.empty((0, 0))
    return L


@fast_kernel(forceinline=True)
def _solve(L, x):
    """The first entries of x <- (L L')^-1 x, in place."""
    f = L.shape[0]
    for a in range(f):
        total = x[a]
        for c in range(a):
            total -= L[a, c] * x[c]
        x[a] = total / L[a, a]
    for a in range(f - 1, -1, -1):
        x[a] /= L[a, a]
        for c in range(a):
            x[c] -= L[a, c] * x[a]


def weigh_rows(
    W: np.ndarray,
    S: np.ndarray,
    Y: np.ndarray,
    lam: float,
    E: np.ndarray,
    r: np.ndarray,
    *,
    coupling: Coupling | None = None,
    observed: np.ndarray | None = None,
    tol: float = 1e-9,
    max_steps: int = 3000,
) -> tuple[np.ndarray, int, int]:
    """(weights, rows solved, rows that still moved at the end): a stationary point of (2) for every row.

    Here a_p = o_p (s_p - y_p)^2.

    A weight whose gradient cannot be positive anywhere in the box is 1 in every solution; rows of such
    weights alone are not solved. The other weights take projected gradient steps of length 1 / L from ``W``
    until none moves by more than ``tol``: O(f h) a step for f of them, h of which are at an s that is not 0.
    """
    loss = (S - Y) ** 2 if observed is None else observed * (S - Y) ** 2
    # Every term of the gradient but -lam is at its largest where all weights are 1.
    worst = 2 * loss + contradiction(S, E, r, coupling)
    certain = worst <= lam
    out = np.where(certain, 1.0, W)
    rows = np.flatnonzero(~certain.all(axis=1))
    moving = _step_rows(out, Weighing(S, loss, lam, E, r, certain), rows, tol, max_steps)
    return out, rows.size, moving


def contradiction(
    S: np.ndarray, E: np.ndarray, r: np.ndarray, coupling: Coupling | None = None
) -> np.ndarray:
    """(b, k): sum_q r_q E_pq (s_p - s_q)^2, the pull on a weight where all others are 1.

    ``coupling`` is that of E, where known.
    """
    coupling, squares = couple(E, r) if coupling is None else coupling, S * S
    value = squares * coupling.columns.sum(axis=0) - 2 * S * spread(S, coupling) + spread(squares, coupling)
    return np.maximum(value, 0.0, out=value)


@fast_kernel
def _step_rows(W, problem, rows, tol, max_steps):
    """Projected gradient steps for some rows of W, in place; returns how many still moved after the last."""
    k, moving = W.shape[1], 0
    room = _Steps(
        np.empty(k, np.int64), np.empty((k, k)),
        np.empty(k), np.empty(k), np.empty(k), np.empty(k), np.empty(k),
    )  # fmt: skip
    for i in rows:
        h, f = _open_entries(problem.S[i], problem.certain[i], room.entries)
        step = _prepare(W[i], problem, i, h, f, room)
        moving += _take_steps(problem.r, step, h, f, tol, max_steps, room)
        for a in range(f):
            W[i, room.entries[a]] = room.w[a]
    return moving


@fast_kernel(forceinline=True)
def _open_entries(s, certain, entries):
    """List what is not certain.

    Returns how many of it are at an s that is not 0, and come first, and how many there are.
    """
    f = 0
    for p in range(s.size):
        if not certain[p] and s[p] != 0.0:
            entries[f] = p
            f += 1
    h = f
    for p in range(s.size):
        if not certain[p] and s[p] == 0.0:
            entries[f] = p
            f += 1
    return h, f


@fast_kernel(forceinline=True)
def _prepare(weights, problem, i, h, f, room):
    """Fill in what the steps of row i need; returns their length, 1 / L."""
    S, loss, lam, E, r, certain = problem
    entries, M, w, _, fixed, gradient, diagonal = room
    s = S[i]
    for a in range(f):
        p = entries[a]
        total = 0.0  # what the weights that are 1 add to the gradient
        for q in range(s.size):
            if certain[i, q]:
                total += E[p, q] * r[q] * (s[p] - s[q]) ** 2
        fixed[a] = total - lam
        diagonal[a] = 2.0 * loss[i, p]
        gradient[a] = diagonal[a]  # its sum over a row of the whole matrix, for the length of a step
        w[a] = weights[p]
    for a in range(h):
        p = entries[a]
        for b in range(f):
            q = entries[b]
            M[a, b] = E[p, q] * (s[p] - s[q]) ** 2
            gradient[a] += M[a, b] * r[q]
        for b in range(h, f):
            gradient[b] += M[a, b] * r[p]
    lipschitz = 0.0
    for a in range(f):
        lipschitz = max(lipschitz, gradient[a])
    return 1.0 / lipschitz if lipschitz > 0.0 else 1.0 / lam


@fast_kernel(forceinline=True)
def _take_steps(r, step, h, f, tol, max_steps, room):
    """Steps until none moves an entry by more than ``tol``.

    Returns whether they would go on after the last.
    """
    entries, M, w, v, fixed, gradient, diagonal = room
    largest, ahead = 0.0, 1.0
    for steps in range(max_steps):
        for a in range(f):
            gradient[a] = fixed[a] + diagonal[a] * w[a]
            v[a] = r[entries[a]] * w[a]
        for a in range(h):
            total = 0.0
            for b in range(f):
                total += M[a, b] * v[b]
            gradient[a] += total
            if v[a] != 0.0:
                for b in range(h, f):
                    gradient[b] += M[a, b] * v[a]
        # With all entries before h held at 0, the others no longer act on each other: where they also only
        # rise, all further steps are the same and are taken at once.
        ahead = 1.0
        if _settled(w, gradient, diagonal, h, f):
            ahead = float(max_steps - steps)
        largest = 0.0
        for a in range(f):
            move = np.rint((w[a] - step * gradient[a]) * _GRID) / _GRID - w[a]
            new = min(max(w[a] + ahead * move, 0.0), 1.0)
            largest = max(largest, abs(new - w[a]))
            w[a] = new
        if largest <= tol or ahead > 1.0:
            break
    return largest > tol and (ahead == 1.0 or _rising(w, gradient, step, tol, h, f))


@fast_kernel(forceinline=True)
def _settled(w, gradient, diagonal, h, f):
    """Whether entries before h stay at 0 whatever the rest does, and the rest only rises.

    It then rises by constant steps.
    """
    for a in range(h):
        if w[a] != 0.0 or gradient[a] < 0.0:
            return False
    for a in range(h, f):  # noqa: SIM110 (compiled: loops, not generators)
        if gradient[a] > 0.0 or diagonal[a] != 0.0:
            return False
    return True


@fast_kernel(forceinline=True)
def _rising(w, gradient, step, tol, h, f):
    """Whether settled entries would move on by another step, the gradient still being the same."""
    for a in range(h, f):  # noqa: SIM110 (compiled: loops, not generators)
        if min(w[a] - step * gradient[a], 1.0) - w[a] > tol:
            return True
    return False
