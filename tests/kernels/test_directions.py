"""Clusters from directions: exactly as many as asked for."""

from __future__ import annotations

import numpy as np
import pytest

from consilience.kernels.directions import cut_directions, unit_rows

from ..zoo import same_partition


def test_unit_rows_leave_zeros():
    assert unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [[0.6, 0.8], [0.0, 0.0]]


def test_length_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 90)
    truth[:3] = range(3)
    U = (np.eye(3)[truth] + 0.05 * rng.normal(size=(90, 3))) * rng.uniform(0.1, 10, 90)[:, None]
    assert same_partition(cut_directions(U, 3, seeds=[0, 1]), truth)


@pytest.mark.parametrize("k", [1, 2, 5, 12])
def test_exactly_as_many_even_if_rows_coincide(k):
    U = np.repeat([[1.0, 0.0], [0.0, 2.0]], 6, axis=0)
    labels = cut_directions(U, k, seeds=[0])
    assert np.unique(labels).size == k
    if k == 2:
        assert same_partition(labels, np.repeat([0, 1], 6))
