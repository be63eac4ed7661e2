"""The base of the methods: how it maps solutions back."""

from __future__ import annotations

import numpy as np

import consilience as cs
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


def test_order_of_objects_along_a_chain(seed):
    """Two clusterings that link objects in one long chain: what tells them apart is far away."""
    n = 22
    chain = np.column_stack([np.arange(n) // 2, (np.arange(n) + 1) // 2 % 11]).astype(float)
    chain[9, 1] = np.nan
    order = np.random.default_rng(seed).permutation(n)
    wanted, found = (cs.Ensemble(rows).compress().canonical()[0].labels for rows in (chain, chain[order]))
    assert np.array_equal(found, wanted)
