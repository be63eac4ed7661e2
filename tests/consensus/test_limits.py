"""Parameters at which rounding alone would decide are refused by name."""

from __future__ import annotations

import pytest

import consilience as cs
from consilience.errors import ConsilienceError

BASE = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 0]]


@pytest.mark.parametrize("method", [cs.PTA, cs.PTGP, cs.ECPCS])
def test_walks_have_an_end(method):
    method(2, walk_length=10_000).fit(BASE)
    with pytest.raises(ConsilienceError, match="walk_length=1000000000000"):
        method(2, walk_length=10**12).fit(BASE)


def test_weights_of_clusters_are_held_by_their_cohesion():
    cs.CESHL(2, cohesion_weight=1e-9).fit(BASE)
    with pytest.raises(ConsilienceError, match="cohesion_weight=5e-324"):
        cs.CESHL(2, cohesion_weight=5e-324).fit(BASE)
