"""Randomness: what users pass as ``random_state``, as numpy's generators and seeds."""

from __future__ import annotations

from typing import Any

import numpy as np


def entropy(random_state: Any) -> int | list[int] | None:
    """What numpy can be seeded with.

    Numbers are drawn from a generator, so that its next use gives others.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state.integers(2**63, size=2).tolist()
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(np.iinfo(np.int32).max))
    return None if random_state is None else int(random_state)


def make_rng(random_state: Any) -> np.random.Generator:
    """The generator itself if it is one, else a new one."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(entropy(random_state))


def draw_seeds(random_state: Any, count: int) -> list[int]:
    """Independent seeds, for the parts of one estimator."""
    return [int(seed) for seed in make_rng(random_state).integers(2**31 - 1, size=count)]
