"""Parameters at which rounding alone would decide are refused by name."""

from __future__ import annotations

import re

import numpy as np
import pytest

import consilience as cs
from consilience.errors import ConsilienceError

BASE = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 0]])


#: method, parameter, a value at its bound, one beyond.
BOUNDS = [
    *(
        (method, "walk_length", 10_000, 10**12)
        for method in (cs.consensus.PTA, cs.consensus.PTGP, cs.consensus.ECPCS)
    ),
    (cs.consensus.CESHL, "cohesion_weight", 1e-9, 5e-324),  # it holds the weights of clusters
    (cs.consensus.TRCE, "graph_weight", 1e-9, 5e-324),  # by which is divided
    (cs.consensus.RCE, "error_weight", 1e9, 1e300),  # whose square must be a number
    (cs.consensus.RCE, "low_rank_weight", 1e9, 1e300),
]


@pytest.mark.parametrize(
    ("method", "name", "last", "beyond"), BOUNDS, ids=[f"{m.__name__} {name}" for m, name, *_ in BOUNDS]
)
def test_bounds_hold_and_what_is_beyond_is_refused(method, name, last, beyond):
    method(2, **{name: last}).fit(BASE)
    with pytest.raises(ConsilienceError, match=re.escape(f"{name}={beyond!r}")):
        method(2, **{name: beyond}).fit(BASE)


def test_unanimous_clusterings_leave_nothing_to_doubt():
    """Divergences of 0 at first and of one rounding later: an object must not lose all its company."""
    labels = np.repeat([[0], [0], [0], [1], [1], [1]], 3, axis=1)
    weights = [0.77194518, 1.41226741, 0.35584899, 0.71376904, 1.36379776, 0.48844313]
    found = cs.consensus.TRCE(2, graph_weight=1e4, max_iter=3).fit(labels, sample_weight=weights).labels_
    assert found.tolist() == [1, 1, 1, 0, 0, 0]  # the heavier first


@pytest.mark.parametrize("method", [cs.consensus.RCE, cs.consensus.DREC])
def test_rounds_that_are_all_done_have_an_end(method):
    with pytest.raises(ConsilienceError, match="n_iter=1000000000000"):
        method(2, n_iter=10**12).fit(BASE)


#: Beyond what the type of such numbers of NumPy, or compiled code, counts up to.
SMALL_TYPES = [
    (cs.RSEC, {"n_clusters": np.int8(3)}),
    (cs.NRSEC, {"growth": np.float32(1e30)}),
    (cs.RSEC, {"penalty": 2**63}),
    (cs.consensus.NMFC, {"tol": np.uint64(2**64 - 1)}),
]


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("method", "given"), SMALL_TYPES, ids=lambda value: getattr(value, "__name__", str(value))
)
def test_numbers_of_any_type_are_taken_for_their_value(method, given):
    model = method(**{"n_clusters": 2, "random_state": 0, **given}).fit(BASE)
    plain = {name: value if isinstance(value, int) else value.item() for name, value in given.items()}
    twin = method(**{"n_clusters": 2, "random_state": 0, **plain}).fit(BASE)
    assert model.labels_.tolist() == twin.labels_.tolist()
    assert all(getattr(model, name) is value for name, value in given.items())  # what the user gave stays
