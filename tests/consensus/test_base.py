"""The base of the methods: how it maps solutions back."""

from __future__ import annotations

import numpy as np

from consilience.consensus._base import BaseConsensus, Solution


class Lonely(BaseConsensus):
    """Two clusters, and everyone in the lighter one alone."""

    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def _fit(self, ensemble, rng):
        alone = ensemble.weights < ensemble.weights.max()
        return Solution(alone.astype(int), exact=False, alone=alone)


def test_equal_objects_can_each_be_alone():
    model = Lonely().fit([[0, 1, 1, 0, 1, 2]])
    assert model.labels_.tolist() == [1, 0, 0, 2, 0, 3]
    assert model.confidence_.shape == (6,)
    assert np.unique(model.signatures_.labels).size == 3
