"""Small tasks with a known answer."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def word_counts(seed: int = 0, sizes=(40, 30), d: int = 30, c: int = 2, noise: float = 0.3):
    """(X, truth, task): sparse counts, rows mixed.

    Each cluster has its own words, some of them common to all tasks.
    """
    rng = np.random.default_rng(seed)
    shared = rng.dirichlet(np.full(d, 0.2), size=c)
    X, truth, task = [], [], []
    for t, n in enumerate(sizes):
        own = rng.dirichlet(np.full(d, 0.2), size=c)
        y = np.arange(n) % c
        rates = (1 - noise) * (0.7 * shared + 0.3 * own)[y] + noise / d
        X.append(rng.poisson(60 * rates))
        truth.append(y)
        task.append(np.full(n, t))
    order = rng.permutation(sum(sizes))
    stack = [np.concatenate(parts)[order] for parts in (X, truth, task)]
    return sp.csr_array(stack[0].astype(float)), stack[1], stack[2]


def same_partition(a, b) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    pairs = {(x, y) for x, y in zip(a.tolist(), b.tolist())}
    return len(pairs) == len(set(a.tolist())) == len(set(b.tolist()))
