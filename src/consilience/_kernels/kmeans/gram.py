"""k-means of few rows with many features, from their inner products.

No step depends on the number of features.

    |x_p - c_j|^2 = G_pp - 2 S_jp / W_j + q_j / W_j^2                                                      (1)
    S_jp = sum over q in j of w_q G_pq,  W_j = sum over q in j of w_q,  q_j = sum over p in j of w_p S_jp  (2)

G (n, n) holds the inner products of centered rows. S is corrected for the rows that changed their cluster
alone, so that a run costs O(n^2) for its first step, O(n k) for each, and O(n) for each move, where Lloyd on
the rows takes O(n d k) a step. Start and empty clusters are those of :mod:`.kmeans`; a run stops when no
label changes.
"""

from __future__ import annotations

import numpy as np

from ..compile.jit import kernel
from .small import draw, running_products, running_sum


class Gram:
    """Inner products G (n, n) of centered rows, in place of the rows: a subset of them is a block of G."""

    def __init__(self, G: np.ndarray):
        self.G = G

    @classmethod
    def of(cls, X: np.ndarray) -> Gram:
        """Inner products of rows (n, d), which are centered here."""
        C = np.asarray(X, np.float64) - X.mean(axis=0, dtype=np.float64)
        return cls(C @ C.T)

    @property
    def shape(self) -> tuple[int, int]:
        return self.G.shape[0], self.G.shape[1]

    def __getitem__(self, rows: np.ndarray) -> Gram:
        return Gram(self.G[np.ix_(rows, rows)])

    def kmeans(
        self, k: int, weights: np.ndarray, rng: np.random.Generator, max_iter: int = 300
    ) -> np.ndarray:
        """(n,) labels of one run with k clusters, 1 <= k <= n."""
        n = len(self.G)
        if not 1 <= k <= n or weights.shape != (n,):
            raise ValueError(f"k={k} and {weights.shape} weights for {n} rows.")
        first, tickets = rng.random(), rng.random((k - 1, 2 + int(np.log(k))))
        chosen = _plus_plus(self.G, weights, first, tickets)
        return _lloyd(self.G, weights, chosen, max_iter)

    def scatter(self, weights: np.ndarray) -> float:
        """Weighted sum of squared distances from the weighted mean."""
        return float(weights @ self.G.diagonal() - weights @ self.G @ weights / weights.sum())

    def within(self, labels: np.ndarray, weights: np.ndarray) -> float:
        """The same from the means of the clusters, whose labels (n,) all occur."""
        return _within(self.G, weights, labels, int(labels.max()) + 1)


@kernel
def _plus_plus(G, weights, first, tickets):
    """k rows by greedy k-means++, as in :mod:`.small`."""
    n, trials, steps = weights.size, tickets.shape[1], tickets.shape[0]
    chosen = np.empty(steps + 1, np.int64)
    heap = running_sum(weights)
    chosen[0] = draw(heap, first)
    closest = np.full(n, np.inf)
    trial, best = np.empty(n), np.empty(n)
    _approach(G, chosen[0], closest, closest)
    for step in range(steps):
        reached = running_products(closest, weights)
        least = np.inf
        for t in range(trials):
            # Where every row sits on a chosen one any will do, and empty clusters sort it out.
            candidate = draw(reached if reached[-1] > 0 else heap, tickets[step, t])
            _approach(G, candidate, closest, trial)
            left = 0.0
            for p in range(n):
                left += weights[p] * trial[p]
            if t == 0 or left < least:
                least = left
                chosen[step + 1] = candidate
                best, trial = trial, best
        closest, best = best, closest
    return chosen


@kernel
def _approach(G, row, closest, out):
    """out <- min(closest, squared distances to a row); rounding does not make them negative."""
    for p in range(closest.size):
        out[p] = min(closest[p], max(G[p, p] + G[row, row] - 2 * G[row, p], 0.0))


@kernel
def _lloyd(G, weights, chosen, max_iter):
    n, k = weights.size, chosen.size
    S, mass, square = np.zeros((k, n)), np.zeros(k), np.zeros(k)
    labels = np.full(n, -1, np.int32)
    for j in range(k):  # each start is a cluster of its own row, of weight one
        mass[j] = 1.0
        square[j] = G[chosen[j], chosen[j]]
        S[j] = G[chosen[j]]
    score, least = np.empty(n), np.empty(n)
    for step in range(max_iter):
        new = np.zeros(n, np.int32)
        least[:] = np.inf
        for j in range(k):
            if mass[j] > 0:
                half, share = square[j] / (2 * mass[j] * mass[j]), 1.0 / mass[j]
                for p in range(n):
                    score[p] = half - share * S[j, p]
                    if score[p] < least[p]:
                        least[p] = score[p]
                        new[p] = j
        if step == 0:
            S[:] = 0.0
            mass[:] = 0.0
        moved = False
        for p in range(n):
            if new[p] != labels[p]:
                moved = True
                _move(G, weights, p, labels[p], new[p], S, mass)
        labels = new
        moved |= _fill_empty(G, weights, labels, least, S, mass)
        if not moved:
            break
        square[:] = 0.0
        for p in range(n):
            square[labels[p]] += weights[p] * S[labels[p], p]
    return labels


@kernel
def _move(G, weights, p, old, new, S, mass):
    w = weights[p]
    if old >= 0:
        mass[old] -= w
        for q in range(weights.size):
            S[old, q] -= w * G[p, q]
    mass[new] += w
    for q in range(weights.size):
        S[new, q] += w * G[p, q]


@kernel
def _fill_empty(G, weights, labels, least, S, mass):
    """Move the farthest row into each cluster without rows; returns whether there was one.

    ``least`` is half the squared distance from the center, less G_pp / 2.
    """
    counts = np.zeros(mass.size, np.int64)
    for p in range(labels.size):
        counts[labels[p]] += 1
    moved = False
    for j in range(mass.size):
        if counts[j] > 0:
            continue
        S[j] = 0.0
        mass[j] = 0.0
        far, where = 0.0, -1
        for p in range(labels.size):
            distance = least[p] + G[p, p] / 2
            if counts[labels[p]] > 1 and distance > far:
                far = distance
                where = p
        if where < 0 or far <= 1e-12 * G[where, where]:
            continue  # all rows sit on their center: rows coincide, and the cluster stays empty
        counts[labels[where]] -= 1
        _move(G, weights, where, labels[where], j, S, mass)
        labels[where] = j
        counts[j] = 1
        least[where] = -G[where, where] / 2
        moved = True
    return moved


@kernel
def _within(G, weights, labels, k):
    n = weights.size
    mass, square = np.zeros(k), np.zeros(k)
    total = 0.0
    for p in range(n):
        mass[labels[p]] += weights[p]
        total += weights[p] * G[p, p]
        inner = 0.0
        for q in range(n):
            if labels[q] == labels[p]:
                inner += weights[q] * G[p, q]
        square[labels[p]] += weights[p] * inner
    for j in range(k):
        if mass[j] > 0:
            total -= square[j] / mass[j]
    return total
