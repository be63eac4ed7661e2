"""Clusters from directions: exactly as many as asked for."""

from __future__ import annotations

import numpy as np
import pytest

from consilience._kernels.cut.embedding import cut_rows, unit_rows

from ...zoo import same_partition


def test_unit_rows_leave_zeros():
    assert unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist() == [[0.6, 0.8], [0.0, 0.0]]


def test_length_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, 90)
    truth[:3] = range(3)
    U = (np.eye(3)[truth] + 0.05 * rng.normal(size=(90, 3))) * rng.uniform(0.1, 10, 90)[:, None]
    assert same_partition(cut_rows(U, 3, unit=True, seeds=[0, 1]).labels, truth)


@pytest.mark.parametrize("k", [1, 2, 5, 12])
def test_exactly_as_many_even_if_rows_coincide(k):
    U = np.repeat([[1.0, 0.0], [0.0, 2.0]], 6, axis=0)
    labels = cut_rows(U, k, unit=True, seeds=[0]).labels
    assert np.unique(labels).size == k
    if k == 2:
        assert same_partition(labels, np.repeat([0, 1], 6))


@pytest.mark.parametrize("k", [5, 12])
def test_fewer_where_rows_coincide_if_that_will_do(k):
    U = np.repeat([[1.0, 0.0], [0.0, 2.0]], 6, axis=0)
    assert same_partition(cut_rows(U, k, unit=True, exact=False, seeds=[0]).labels, np.repeat([0, 1], 6))


@pytest.mark.parametrize("k", [1, 2, 30])
def test_inertia_is_that_of_the_labels(seed, k):
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(30, 4)), rng.uniform(0.5, 2, 30)
    cut = cut_rows(X, k, weights=w, seeds=[0, 1])
    centers = [np.average(X[cut.labels == j], axis=0, weights=w[cut.labels == j]) for j in range(k)]
    assert cut.inertia == pytest.approx(w @ ((X - np.array(centers)[cut.labels]) ** 2).sum(axis=1), abs=1e-9)
    assert cut.converged
