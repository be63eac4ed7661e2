"""How much a consensus would change with other base clusterings, estimated from those at hand.

The base clusterings are split in two at random, each half is combined as all were, and the two answers are
compared:

    r = mean over SPLITS splits of ARI(answer of one half, answer of the other)                         (1)
    stability = 1 - c (1 - r),   c = CALIBRATION, or CALIBRATION_OF_MANY beyond FEW_OBJECTS objects     (2)

Two halves differ more than two ensembles of all members would, because they are half as large: (2) corrects
for that. c is what brought (2) closest to the measured ARI between seeds, on half A of the sets of
``python -m benchmarks.bench_stability`` and, for many objects, on its larger sets and curved sheets of
points. Average linkage of many objects has few merges that decide, and half of the members decide them almost
as surely as all do. Members that were read from one embedding stay in one half.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from .._base.progress import progress_shown
from .._data.ensemble import Ensemble
from ..metrics import ari

SPLITS = 3
CALIBRATION, CALIBRATION_OF_MANY, FEW_OBJECTS = 0.4, 0.8, 2_500
#: Embeddings, or members where each has its own: halves of fewer say little.
FEWEST = 10
#: Of more objects so many are looked at.
MOST_OBJECTS = 2_000


def stability_of(ensemble: Ensemble, consensus: Any) -> float:
    """Eq. (2) for the answer of ``consensus``, an estimator, to the ensemble.

    NaN if there are too few members to split.

    The splits, and the objects looked at where there are many, are the same every time.
    """
    rng = np.random.default_rng(0)
    groups = _sharing(ensemble.recipes, ensemble.n_clusterings)
    if (count := int(groups.max()) + 1) < FEWEST:
        return float("nan")
    calibration = CALIBRATION if ensemble.n_samples <= FEW_OBJECTS else CALIBRATION_OF_MANY
    if ensemble.n_samples > MOST_OBJECTS:
        ensemble = ensemble.take(np.sort(rng.choice(ensemble.n_samples, MOST_OBJECTS, replace=False)))
    alike = []
    for _ in range(SPLITS):
        first = np.isin(groups, rng.permutation(count)[: count // 2])
        halves = ensemble.select(first), ensemble.select(~first)
        unseen = np.union1d(halves[0].unseen, halves[1].unseen)
        if unseen.size:
            seen = np.setdiff1d(np.arange(ensemble.n_samples), unseen)
            if seen.size < 2:
                return float("nan")
            halves = halves[0].take(seen), halves[1].take(seen)
        alike.append(ari(*(_answer(half, consensus) for half in halves)))
    return 1.0 - calibration * (1.0 - float(np.mean(alike)))


def _answer(ensemble: Ensemble, consensus: Any) -> np.ndarray:
    """Labels by an estimator like this one, the same every time, without a word."""
    distinct = ensemble.distinct()
    if distinct.n_samples <= consensus.n_clusters:  # few members tell few objects apart
        return distinct.inverse
    own = clone(consensus)
    if "random_state" in own.get_params(deep=False):
        own.set_params(random_state=0)
    with warnings.catch_warnings(), progress_shown(False):
        warnings.simplefilter("ignore")
        return own.fit(ensemble).labels_


def _sharing(recipes: list[dict] | None, n_clusterings: int) -> np.ndarray:
    """(m,) number of the embedding that each member was read from, or of the member itself."""
    if recipes is None:
        return np.arange(n_clusterings)
    keys = [recipe.get("metric_seed", f"member {i}") for i, recipe in enumerate(recipes)]
    return np.unique(np.array([str(key) for key in keys]), return_inverse=True)[1]
