"""One small data set for all pictures, and the base clusterings of it."""

from __future__ import annotations

from functools import cache

import numpy as np
from sklearn.datasets import make_moons

import consilience as cs

#: Members, and between how many clusters each has.
MEMBERS, FEWEST, MOST = 20, 6, 14
CLUSTERS = 4


@cache
def data() -> tuple[np.ndarray, np.ndarray]:
    """240 points: two moons, a wide group and a dense one."""
    rng = np.random.default_rng(4)
    moons, which = make_moons(130, noise=0.06, random_state=4)
    X = np.vstack([moons, rng.normal((3.1, 0.75), 0.28, (70, 2)), rng.normal((2.75, -0.75), 0.16, (40, 2))])
    return X, np.concatenate([which, np.full(70, 2), np.full(40, 3)])


@cache
def runs() -> cs.Ensemble:
    return cs.generate.random_k(
        data()[0], n_clusterings=MEMBERS, n_clusters=(FEWEST, MOST), random_state=0, n_jobs=1
    )


def like_the_groups(labels: np.ndarray) -> np.ndarray:
    """Labels renumbered, so that a color means the same group in all pictures."""
    return cs.align(labels, data()[1])
