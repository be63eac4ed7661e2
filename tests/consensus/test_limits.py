"""Parameters at which rounding alone would decide are refused by name."""

from __future__ import annotations

import numpy as np
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


def test_unanimous_clusterings_leave_nothing_to_doubt():
    """Divergences of 0 at first and of one rounding later: an object must not lose all its company."""
    labels = [[0, 0, 0, 1, 1, 1]] * 3
    weights = [0.77194518, 1.41226741, 0.35584899, 0.71376904, 1.36379776, 0.48844313]
    found = cs.TRCE(2, graph_weight=1e4, max_iter=3).fit(labels, sample_weight=weights).labels_
    assert found.tolist() == [1, 1, 1, 0, 0, 0]  # the heavier first


@pytest.mark.parametrize("name", ["error_weight", "low_rank_weight"])
def test_weights_of_errors_and_rank_have_a_square(name):
    cs.RCE(2, n_rounds=2, **{name: 1e9}).fit(BASE)
    with pytest.raises(ConsilienceError, match=f"{name}=1e\\+300"):
        cs.RCE(2, **{name: 1e300}).fit(BASE)


@pytest.mark.parametrize("method", [cs.RCE, cs.DREC])
def test_rounds_that_are_all_done_have_an_end(method):
    with pytest.raises(ConsilienceError, match="n_rounds=1000000000000"):
        method(2, n_rounds=10**12).fit(BASE)


def test_the_graph_has_a_weight_that_can_be_divided_by():
    cs.TRCE(2, graph_weight=1e-9).fit(BASE)
    with pytest.raises(ConsilienceError, match="graph_weight=5e-324"):
        cs.TRCE(2, graph_weight=5e-324).fit(BASE)


#: Beyond what the type of such numbers of NumPy, or compiled code, counts up to.
SMALL_TYPES = [
    (cs.RSEC, {"n_clusters": np.int8(3)}),
    (cs.NRSEC, {"growth": np.float32(1e30)}),
    (cs.RSEC, {"penalty": 2**63}),
    (cs.NMFC, {"tol": np.uint64(2**64 - 1)}),
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
