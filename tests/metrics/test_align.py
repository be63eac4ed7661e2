"""The same ids across runs, numbers of clusters and months, by hand. See also test_external.py."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import consilience as cs
from consilience.errors import InputError


def test_a_permuted_run_gets_its_ids_back():
    old = np.repeat([0, 1, 2, 3], [5, 4, 3, 2])
    assert cs.align(np.array([2, 3, 1, 0])[old], old).tolist() == old.tolist()
    assert cs.align is cs.metrics.align


def test_more_clusters_than_before_get_new_ids():
    """Cluster 0 falls into two: the larger part keeps the id, the other gets the next number."""
    old = [0, 0, 0, 0, 0, 1, 1]
    assert cs.align([7, 7, 7, 4, 4, 9, 9], old).tolist() == [0, 0, 0, 2, 2, 1, 1]


def test_fewer_clusters_than_before_leave_ids_out():
    assert cs.align([1, 1, 1, 1, 0, 0], [0, 0, 0, 1, 2, 2]).tolist() == [0, 0, 0, 0, 2, 2]


def test_the_matching_is_the_best_of_all_not_the_first():
    # Cluster 0 shares 3 with 0 and 2 with 1, cluster 1 shares 2 with 0: 2 + 2 is more than the 3 that greed
    # would take.
    labels = [0, 0, 0, 0, 0, 1, 1]
    reference = [0, 0, 0, 1, 1, 0, 0]
    assert cs.align(labels, reference).tolist() == [1, 1, 1, 1, 1, 0, 0]


def test_months_are_matched_by_name():
    march = pd.Series([0, 0, 1, 1, 2], index=["a", "b", "c", "d", "gone"])
    april = pd.Series([5, 5, 8, 8, 8, 3], index=["c", "d", "b", "a", "new", "alone"])
    found = cs.align(april, march)
    assert found.tolist() == [1, 1, 0, 0, 0, 3]  # 2 is taken, though nobody is left in it
    assert cs.align(april[::-1], march).tolist() == found.tolist()[::-1]


def test_equal_indexes_and_arrays_go_by_position():
    index = ["a", "a", "b"]  # need not be unique where nothing is looked up
    assert cs.align(pd.Series([4, 4, 5], index), pd.Series([1, 1, 0], index)).tolist() == [1, 1, 0]
    assert cs.align(pd.Series([4, 4, 5], [7, 8, 9]), [1, 1, 0]).tolist() == [1, 1, 0]


def test_messages():
    with pytest.raises(InputError, match="no object in common"):
        cs.align(pd.Series([0, 1], ["a", "b"]), pd.Series([0, 1], ["c", "d"]))
    with pytest.raises(
        InputError, match=r"sample name 'a' occurs more than once; make the index of reference unique"
    ):
        cs.align(pd.Series([0, 1], ["a", "b"]), pd.Series([0, 1], ["a", "a"]))


def test_weights_decide():
    labels, reference = [0, 0, 0], [0, 1, 1]
    assert cs.align(labels, reference).tolist() == [1, 1, 1]
    assert cs.align(labels, reference, sample_weight=[9, 1, 1]).tolist() == [0, 0, 0]


def test_a_second_fit_with_another_seed():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 200)
    labels = np.stack([np.where(rng.random(200) < 0.1, rng.integers(0, 4, 200), truth) for _ in range(8)], 1)
    first, second = (
        cs.consensus.SEC(n_clusters=4, random_state=seed).fit(labels[:, seed:]).labels_ for seed in (0, 1)
    )
    assert np.mean(cs.align(second, first) == first) > 0.95
