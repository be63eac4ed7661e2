"""Small ensembles with known structure, shared by the tests."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp


def planted(seed: int = 0, n: int = 60, m: int = 8, c: int = 3, noise: float = 0.2, missing: float = 0.0):
    """(labels (n, m), truth): c unequal planted clusters, a share of labels scrambled, some missing.

    Base clusterings have c to c + 2 clusters and scrambled label names.
    """
    rng = np.random.default_rng(seed)
    truth = np.sort(rng.choice(c, n, p=np.arange(1, c + 1) / np.arange(1, c + 1).sum()))
    truth[:c] = np.arange(c)
    labels = np.empty((n, m), int)
    for j in range(m):
        k = c + int(rng.integers(0, 3))
        column = truth.copy()
        for extra in range(c, k):  # split a planted cluster
            inside = np.flatnonzero(column == rng.integers(0, c))
            column[inside[rng.random(inside.size) < 0.5]] = extra
        flipped = rng.random(n) < noise
        column[flipped] = rng.integers(0, k, flipped.sum())
        labels[:, j] = rng.permutation(k + 3)[column]
    if missing:
        gone = rng.random((n, m)) < missing
        gone[gone.all(axis=1), 0] = False
        labels[gone] = -1
    return labels, truth


def clear(seed: int = 0, n: int = 100, m: int = 10, c: int = 2, noise: float = 0.02, missing: float = 0.0):
    """(labels (n, m), truth): c equal clusters, which every base clustering has but for a few labels.

    Some labels are missing.
    """
    rng = np.random.default_rng(seed)
    truth = np.arange(n) * c // n
    wrong = rng.random((n, m)) < noise
    labels = np.where(wrong, rng.integers(0, c, (n, m)), truth[:, None])
    labels.flat[rng.choice(labels.size, round(missing * labels.size), replace=False)] = -1
    labels[(labels < 0).all(axis=1), 0] = truth[(labels < 0).all(axis=1)]
    return labels, truth


def same_partition(a, b) -> bool:
    """Equal up to the names of clusters."""
    a, b = np.asarray(a), np.asarray(b)
    pairs = len(set(zip(a.tolist(), b.tolist())))
    return a.shape == b.shape and pairs == len(set(a.tolist())) == len(set(b.tolist()))


def random_sparse(
    shape: tuple[int, int], density: float, format: str = "csr", seed: int | np.random.Generator = 0
):
    """Sparse array with this share of uniform numbers (the seed of SciPy's own has two names by version)."""
    rng = np.random.default_rng(seed)
    size = shape[0] * shape[1]
    places = rng.choice(size, round(density * size), replace=False, shuffle=False)
    entries = (1.0 - rng.random(places.size), np.divmod(places, shape[1]))
    return sp.coo_array(entries, shape).asformat(format)
