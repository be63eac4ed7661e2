"""Which numbers of clusters a study compares if the user does not say.

A first look costs little: ``LOOKS`` clusterings of all objects, with numbers of clusters spread evenly on a
logarithmic scale from 2 to the largest that is possible. The eigengap and the lifetime of their
co-association are known for every number of clusters at once, and each names one. Where both are small, 2 to
10 are compared. Otherwise the range reaches half as far again as the larger one, in steps that grow with the
number, and without gaps around both. If the answer is near the end of the range, the range is doubled.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, isqrt
from typing import Any

import numpy as np

from .._data.ensemble import Ensemble
from ..errors import InputError
from .material import Objects, Settings
from .runs import LOOK, ensemble_of
from .statistics import eigengaps, lifetimes, spectrum

#: The numbers that are compared in any case.
FIRST = 10
#: Clusterings of the first look, and the most clusters that one of them has.
LOOKS, MOST = 30, 200
#: An answer or a proposal beyond this share of a range is near its end.
_NEAR_END = 0.8
#: Numbers beyond FIRST grow by this factor.
_STEP = 1.12


def widest(n: int) -> int:
    """The largest number of clusters that is looked for among n objects, if they can be so many."""
    return max(FIRST, min(n // 5, 4 * isqrt(n), MOST))


def largest(n: int, distinct: int, sample_fraction: float) -> int:
    """The same for runs on subsamples of features; raises if there are too few objects."""
    most = min(widest(n), round(sample_fraction * n) - 1, distinct - 1)
    if most < 2:
        raise InputError(
            f"n_clusters='auto' cannot choose for {n} objects, {distinct} of them distinct: there are too "
            "few. Give the number of clusters."
        )
    return most


def look_at(objects: Objects, most: int, settings: Settings) -> Ensemble:
    """The clusterings of the first look at features."""
    ks = np.exp(np.log(most / 2) * (np.arange(LOOKS) + 0.5) / LOOKS)
    counts = np.maximum(np.round(2 * ks), 2).astype(int).tolist()
    seeds = [[settings.seed, LOOK, 0, i] for i in range(LOOKS)]
    return ensemble_of(settings.generator.label(objects.X, counts, seeds, objects.weights))


def proposals(ensemble: Ensemble, most: int, n_jobs: int | None) -> tuple[int, int]:
    """The numbers of clusters from 2 to ``most`` with the largest eigengap and the longest lifetime."""
    ks = np.arange(2, most + 1)
    gaps = eigengaps(spectrum(ensemble, most + 2, n_jobs=n_jobs), ks)
    lives, _ = lifetimes(ensemble, ks, n_jobs=n_jobs)
    return int(ks[gaps.argmax()]), int(ks[lives.argmax()])


def range_for(named: Iterable[int], most: int) -> np.ndarray:
    """The numbers to compare, ascending, if a first look named these."""
    named = list(named)
    top = max(named)
    return numbers_to(FIRST if top <= _NEAR_END * FIRST else ceil(1.5 * top), named, most)


def wider(ks: np.ndarray, answer: int, most: int) -> np.ndarray | None:
    """The numbers to compare instead if the answer is near the end; None if it is not, or at the limit."""
    top = int(ks[-1])
    if answer <= _NEAR_END * top or top >= most:
        return None
    return numbers_to(2 * top, [*ks.tolist(), answer], most)


def numbers_to(top: int, named: Iterable[int], most: int) -> np.ndarray:
    """2 to FIRST, then growing steps up to ``top``, and no gaps around the numbers that are named."""
    top = min(top, most)
    found = set(range(2, min(FIRST, top) + 1))
    k = FIRST
    while k < top:
        k = min(max(k + 1, round(k * _STEP)), top)
        found.add(k)
    for one in named:
        found |= set(range(max(2, one - 2), min(top, one + 2) + 1))
    return np.array(sorted(found))


def is_open(n_clusters: Any) -> bool:
    """Whether the range is left to the study."""
    return n_clusters is None or (isinstance(n_clusters, str) and n_clusters == "auto")
