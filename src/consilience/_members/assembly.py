"""What all generators do with their members: seeds, numbers of clusters, and the final assembly."""

from __future__ import annotations

from collections.abc import Sequence
from math import isqrt
from typing import Any

import numpy as np

from .._base.numbers import is_interval, numbers
from .._base.parameters import Integer, Nothing, RandomState, check, listed
from .._base.rng import entropy
from .._data.ensemble import Ensemble, note_bytes
from .._data.features import Features
from .._data.labels import Clusterings
from .._kernels.runtime.memory import refusing
from ..errors import warn

#: Numbers of clusters of members: one number, an interval whose ends may be left open, or a set.
NClusters = int | tuple[int | None, int | None] | Sequence[int] | None
#: Purposes of a member's random numbers; each has a stream of its own.
CHOOSE_K, CHOOSE_FEATURES, CHOOSE_ROWS = 1, 2, 3
CHOOSE_PREPARATION = 6  # random metrics use 4 and 5
CHOOSE_EVENLY = 7
GOLDEN = (5**0.5 - 1) / 2


def member_seeds(random_state: Any, n_members: int) -> list[int]:
    """One seed for each member. The i-th does not depend on how many follow, and JSON keeps it exactly."""
    check("random_state", random_state, RandomState())
    words = np.random.SeedSequence(entropy(random_state)).generate_state(n_members, np.uint64)
    return [int(word) >> 11 for word in words]  # 53 bits


def stream(seed: int, purpose: int) -> np.random.Generator:
    """The generator of one member for one purpose."""
    return np.random.default_rng([seed, purpose])


def draw_columns(d: int, count: int, seed: int) -> np.ndarray:
    """A number of the d columns for one member, sorted."""
    return np.sort(stream(seed, CHOOSE_FEATURES).choice(d, count, replace=False))


def some_columns(d: int, fraction: float, seed: int) -> np.ndarray | None:
    """A share of the d columns for one member, at least one, sorted; None if it sees all of them."""
    count = max(1, round(fraction * d))
    return None if count == d else draw_columns(d, count, seed)


def check_n_clusterings(n_clusterings: Any) -> int:
    check("n_clusterings", n_clusterings, Integer(1))
    return int(n_clusterings)


def choose_ks(
    n_clusters: Any,
    features: Features,
    seeds: Sequence[int],
    *,
    widest: int | None = None,
    share: float = 0.0,
    each: int | None = None,
) -> list[int]:
    """Number of clusters of each member: fixed, or drawn uniformly from an interval or a set.

    If ``n_clusters`` is None, ``widest`` is the largest number drawn, and ``share`` of it the smallest.
    Without ``widest``, members then have about sqrt(n) clusters. With ``each`` they are spread evenly over
    the range, see :func:`spread_ks`.
    """
    if n_clusters is None and widest is None:
        top = max(2, root(features.n_samples))
        return [min(top, features.distinct_rows(top))] * len(seeds)
    widest = root(features.n_samples) if widest is None else widest
    among = numbers("n_clusters", k_range(features, n_clusters, widest=widest, share=share))
    features.check_k(among[-1], "n_clusters")
    if each is not None:
        return spread_ks(among, seeds, each)
    return [among[int(stream(seed, CHOOSE_K).integers(len(among)))] for seed in seeds]


def root(n: int) -> int:
    """The square root of n, rounded down: the usual largest k."""
    return isqrt(n)


def root_upwards(n: int) -> int:
    """The square root of n, rounded up."""
    return isqrt(n - 1) + 1


def k_range(features: Features, n_clusters: Any, *, widest: int, share: float = 0.0) -> Any:
    """Numbers of clusters without open ends; None is an interval open on both sides.

    If the largest number is None, it is ``widest``, at least the smallest and at most the number of distinct
    rows. If the smallest is None, it is ``share`` of the largest, at least 2, or 1 if there is no room for
    two.
    """
    if n_clusters is not None and not (is_interval(n_clusters) and None in n_clusters):
        return n_clusters
    low, high = (None, None) if n_clusters is None else n_clusters
    if high is None:
        check("n_clusters[0]", low, Nothing() | Integer(1))
        top = max(widest, 2 if low is None else int(low))
        high = max(min(top, features.distinct_rows(top)), 1 if low is None else int(low))
    if low is None:
        check("n_clusters[1]", high, Integer(1))
        low = min(max(2, int(share * high)), high)
    return low, high


def spread_ks(among: Sequence[int], seeds: Sequence[int], each: int) -> list[int]:
    """Numbers of clusters spread over ``among`` for every ``each`` members in turn.

    Each of ``each`` equal parts gives one number. The position within the part is the same for all parts; it
    starts at random and moves by the golden ratio from turn to turn, which fills the range evenly for any
    number of turns.
    """
    start, width = stream(seeds[0], CHOOSE_K).random(), len(among)
    places = ((i % each + (start + GOLDEN * (i // each)) % 1.0) / each for i in range(len(seeds)))
    return [among[min(int(place * width), width - 1)] for place in places]


def even_places(seed: int, count: int, width: int) -> np.ndarray:
    """(count, width) numbers in [0, 1) that fill the unit cube evenly from a random start, for any count.

    They are a Kronecker sequence; its steps are powers of the root of x^(width + 1) = x + 1, which for width
    1 is the golden ratio.
    """
    root = 2.0
    for _ in range(50):
        root = (1 + root) ** (1 / (width + 1))
    steps = root ** -np.arange(1.0, width + 1)
    return (stream(seed, CHOOSE_EVENLY).random(width) + np.arange(count)[:, None] * steps) % 1.0


def dealt(d: int, kept: int, turn: int, seed: int) -> np.ndarray:
    """Deal out ``kept`` of d features at a time, as from shuffled decks: each is seen equally often."""
    deck, first = divmod(turn * kept, d)
    order = np.random.default_rng([seed, CHOOSE_FEATURES, deck]).permutation(d)
    hand = order[first : first + kept]
    if hand.size < kept:
        order = np.random.default_rng([seed, CHOOSE_FEATURES, deck + 1]).permutation(d)
        hand = np.concatenate([hand, order[~np.isin(order, hand)][: kept - hand.size]])
    return np.sort(hand)


def assemble(
    features: Features,
    columns: Sequence[np.ndarray],
    recipes: Sequence[dict],
    *,
    names: Sequence[str] | None = None,
    members: Sequence[Any] | None = None,
    members_bytes: float | None = None,
) -> Ensemble:
    """The ensemble; ``members_bytes`` is what base models take, or would take.

    Warns if members have fewer clusters than asked for.
    """
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
    note_bytes(ensemble, members_bytes)
    short = [
        i
        for i, (recipe, found) in enumerate(zip(recipes, ensemble.n_clusters_per_clustering))
        if "n_clusters" in recipe and found < recipe["n_clusters"]
    ]
    if short:
        warn(
            f"{len(short)} of {len(recipes)} clusterings have fewer clusters than asked for (base "
            f"clusterings {listed(short)}): the rows they were made from have too few distinct values. Ask "
            "for fewer clusters or use more features.",
        )
    return ensemble
