"""How often pairs of objects were put together, counted over all pairs without a matrix of them.

    H[t, s] = sum over pairs p < q of w_p w_q [t clusterings put p and q together, s saw both]            (1)

An object of weight w stands for w equal objects, whose own pairs, w (w - 1) / 2 of them, are together
wherever the object was seen: H[s_p, s_p]. The co-association of a pair is t / s, so that the distribution of
co-association, its mean, its spread and the share of doubtful pairs are sums over H, (m + 1)^2 numbers,
whatever the number of objects.
"""

from __future__ import annotations

import numpy as np

from ..compile.jit import kernel
from ..runtime.threads import map_blocks

_ROWS = 64  # objects p of a block: a block is up to _ROWS u pairs
_TILE = 4096  # objects q that are compared at a time, so that their codes stay in the first cache
_DRAWS = 1 << 14  # pairs of a block


def pair_histogram(
    labels: np.ndarray, weights: np.ndarray | None = None, *, n_jobs: int | None = -1
) -> np.ndarray:
    """H of Eq. (1), (m + 1, m + 1), of labels (u, m), -1 missing.

    O(u^2 m / 2) time, on bytes where no clustering has more than 254 clusters; O(u m) memory.
    """
    u, m = labels.shape
    codes = _narrow(labels)
    w = np.ones(u) if weights is None else np.ascontiguousarray(weights, np.float64)

    def block(a: int, b: int) -> np.ndarray:
        out = np.zeros((m + 1, m + 1))
        _count_block(codes, w, a, b, out)
        return out

    total = np.zeros((m + 1, m + 1))
    for part in map_blocks(block, u, size=_ROWS, n_jobs=n_jobs):
        total += part
    return total


def sampled_pair_histogram(
    labels: np.ndarray,
    weights: np.ndarray | None,
    n_pairs: int,
    rng: np.random.Generator,
    *,
    n_jobs: int | None = -1,
) -> np.ndarray:
    """H of Eq. (1) from ``n_pairs`` pairs of different objects, drawn with replacement by w_p w_q.

    It adds up to ``n_pairs``.

    Two draws of the same row are a pair of equal objects with probability (w - 1) / w, and are drawn again
    otherwise.
    """
    u, m = labels.shape
    w = np.ones(u) if weights is None else np.asarray(weights, np.float64)
    ends = np.cumsum(w)
    left, right = np.empty(0, np.int64), np.empty(0, np.int64)
    while left.size < n_pairs:
        short = n_pairs - left.size
        p, q = (
            np.minimum(np.searchsorted(ends, rng.random(short) * ends[-1], side="right"), u - 1)
            for _ in range(2)
        )
        keep = (p != q) | (rng.random(short) * w[p] < w[p] - 1)
        left, right = np.concatenate([left, p[keep]]), np.concatenate([right, q[keep]])

    def block(a: int, b: int) -> np.ndarray:
        out = np.zeros((m + 1, m + 1))
        _count_drawn(labels, left[a:b], right[a:b], out)
        return out

    total = np.zeros((m + 1, m + 1))
    for part in map_blocks(block, n_pairs, size=_DRAWS, n_jobs=n_jobs):
        total += part
    return total


def _narrow(labels: np.ndarray) -> np.ndarray:
    """(m, u) the labels of each clustering in a row, in bytes where they fit.

    A missing label is the largest number of the type.
    """
    u, m = labels.shape
    kind = np.uint8 if labels.size == 0 or labels.max() < 255 else np.uint32
    codes = np.empty((m, u), kind)
    for i in range(m):
        codes[i] = labels[:, i].astype(kind)  # -1 wraps around to the largest
    return codes


@kernel
def _count_block(codes, weights, start, stop, out):
    """Pairs (p, q > p) of the objects p of a block, tile by tile."""
    m, u = codes.shape
    missing = np.iinfo(codes.dtype).max
    together, seen = np.empty(_TILE, np.uint16), np.empty(_TILE, np.uint16)
    for p in range(start, stop):
        sights = 0
        for i in range(m):
            if codes[i, p] != missing:
                sights += 1
        out[sights, sights] += weights[p] * max(weights[p] - 1.0, 0.0) / 2
    for first in range(start + 1, u, _TILE):
        last = min(first + _TILE, u)
        for p in range(start, min(stop, last - 1)):
            begin = max(first, p + 1)
            width = last - begin
            if width <= 0:
                continue
            for j in range(width):
                together[j] = 0
                seen[j] = 0
            for i in range(m):
                code = codes[i, p]
                if code == missing:
                    continue
                others = codes[i, begin:last]
                for j in range(width):
                    together[j] += others[j] == code
                    seen[j] += others[j] != missing
            w = weights[p]
            for j in range(width):
                out[together[j], seen[j]] += w * weights[begin + j]


@kernel
def _count_drawn(labels, left, right, out):
    """left and right hold rows of labels; t <= s <= m by construction."""
    for d in range(left.size):
        p, q = left[d], right[d]
        together, seen = 0, 0
        for i in range(labels.shape[1]):
            a, b = labels[p, i], labels[q, i]
            if a >= 0 and b >= 0:
                seen += 1
                together += a == b
        out[together, seen] += 1.0
