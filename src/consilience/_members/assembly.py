"""What all generators do with their members: seeds, numbers of clusters, and the final assembly."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any

import numpy as np

from .._base.parameters import Integer, Nothing, RandomState, check, listed
from .._base.rng import entropy
from .._data.ensemble import Ensemble
from .._data.features import Features
from .._data.labels import Clusterings
from .._kernels.runtime.memory import refusing
from ..errors import InputError, warn

#: What a member's random numbers are for; each use has a stream of its own.
CHOOSE_K, CHOOSE_FEATURES, CHOOSE_ROWS = 1, 2, 3
CHOOSE_PREPARATION = 6  # 4 and 5 are those of random metrics


def member_seeds(random_state: Any, n_members: int) -> list[int]:
    """One seed a member. The i-th does not depend on how many follow, and survives a trip through JSON."""
    check("random_state", random_state, RandomState())
    words = np.random.SeedSequence(entropy(random_state)).generate_state(n_members, np.uint64)
    return [int(word) >> 11 for word in words]  # 53 bits


def stream(seed: int, purpose: int) -> np.random.Generator:
    """The generator of one member for one purpose."""
    return np.random.default_rng([seed, purpose])


def check_n_clusterings(n_clusterings: Any) -> int:
    check("n_clusterings", n_clusterings, Integer(1))
    return int(n_clusterings)


def choose_ks(k: Any, features: Features, seeds: Sequence[int]) -> list[int]:
    """Number of clusters of each member: fixed, drawn uniformly from a range, or about sqrt(n) for None."""
    if k is None:
        top = max(2, root(features.n_samples))
        return [min(top, features.distinct_rows(top))] * len(seeds)
    if isinstance(k, (tuple, list, np.ndarray)):
        if len(k) != 2:
            raise InputError(f"k={k!r} is not valid: expected a whole number or a pair (smallest, largest).")
        return draw_ks(k[0], k[1], features, seeds, names=("smallest k", "largest k"))
    check("k", k, Integer(1))
    features.check_k(int(k))
    return [int(k)] * len(seeds)


def root(n: int) -> int:
    """The square root of n, rounded down: the usual largest k."""
    return isqrt(n)


def root_upwards(n: int) -> int:
    """The square root of n, rounded up."""
    return isqrt(n - 1) + 1


def k_range(
    features: Features, k_min: Any, k_max: Any, *, widest: int, share: float = 0.0
) -> tuple[Any, Any]:
    """The smallest and largest k of members that draw theirs, for all who ask.

    A given end stays as it is. ``k_max=None`` is ``widest``, at least k_min and at most the number of distinct
    rows; ``k_min=None`` is that share of k_max, at least 2, or 1 where there is no room for two.
    """
    if k_max is None:
        check("k_min", k_min, Nothing() | Integer(1))
        low = 1 if k_min is None else int(k_min)
        top = max(widest, low)
        k_max = max(min(top, features.distinct_rows(top)), low)
    if k_min is None:
        check("k_max", k_max, Integer(1))
        k_min = min(max(2, int(share * k_max)), k_max)
    return k_min, k_max


def draw_ks(
    k_min: Any,
    k_max: Any,
    features: Features,
    seeds: Sequence[int],
    *,
    names: tuple[str, str] = ("k_min", "k_max"),
) -> list[int]:
    """k uniform in [k_min, k_max] for each member."""
    check(names[0], k_min, Integer(1))
    check(names[1], k_max, Integer(1))
    if k_min > k_max:
        raise InputError(f"{names[0]}={k_min} is above {names[1]}={k_max}; swap them.")
    features.check_k(int(k_max), names[1])
    return [int(stream(seed, CHOOSE_K).integers(k_min, k_max, endpoint=True)) for seed in seeds]


def assemble(
    features: Features,
    columns: Sequence[np.ndarray],
    recipes: Sequence[dict],
    *,
    names: Sequence[str] | None = None,
    members: Sequence[Any] | None = None,
    members_bytes: float | None = None,
) -> Ensemble:
    """The ensemble; ``members_bytes`` is what members take, or would. Says so if members came out with fewer clusters than asked for."""
    with refusing(
        f"An ensemble of {features.n_samples} objects in {len(columns)} clusterings",
        "ask for fewer clusterings",
    ):
        ensemble = Ensemble(
            Clusterings(columns),  # few objects with many members would look transposed
            clustering_names=names,
            sample_names=features.sample_names,
            sample_weight=features.sample_weight,
            recipes=recipes,
            base_models=members,
        )
    ensemble.members_bytes = members_bytes
    short = [
        i
        for i, (recipe, found) in enumerate(zip(recipes, ensemble.n_clusters))
        if "k" in recipe and found < recipe["k"]
    ]
    if short:
        warn(
            f"{len(short)} of {len(recipes)} clusterings have fewer clusters than asked for (members {listed(short)}): "
            "the rows they were made from have too few distinct values. Ask for fewer clusters or use more features.",
            stacklevel=4,
        )
    return ensemble
