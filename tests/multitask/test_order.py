"""The order of rows does not matter, also where clusters had to be filled and in every subspace."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import consilience as cs

SUBSPACES = ("reconstruction", "span", "printed", "nonnegative")


def ordinary(seed: int):
    """Counts, grids and mixtures: two tasks with what real data have, ties included."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(12, 40)), int(rng.integers(3, 8))
    X = [
        rng.poisson(2.0, (n, d)).astype(float),
        np.round(np.abs(rng.standard_normal((n, d)) + 3 * rng.integers(0, 3, (n, 1)))),
        np.abs(rng.standard_normal((n, d))),
    ][seed % 3]
    X[0] += 1  # no example without any feature
    X = np.unique(X, axis=0)  # of equal examples, any may fill an empty cluster
    return rng, X[rng.permutation(len(X))], rng.integers(0, 2, len(X))


def quietly(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*args, **kwargs)


@pytest.mark.parametrize("subspace", SUBSPACES)
@pytest.mark.parametrize("method", [cs.SPMTC, cs.multitask.LSSMTC, cs.multitask.ASI])
@pytest.mark.parametrize("seed", range(6))
def test_labels_do_not_depend_on_the_order_of_rows(method, subspace, seed):
    rng, X, task = ordinary(seed)
    order = rng.permutation(len(X))
    models = [
        quietly(method(3, subspace=subspace, max_iter=25, random_state=0), X[rows], task=task[rows])
        for rows in (np.arange(len(X)), order)
    ]
    np.testing.assert_array_equal(models[1].labels_, models[0].labels_[order])
    np.testing.assert_array_equal(models[1].parts_, models[0].parts_[order])
    np.testing.assert_array_equal(models[1].memberships_, models[0].memberships_[order])


def test_labels_by_task_are_in_the_order_of_the_rows():
    _, X, task = ordinary(2)
    model = quietly(cs.multitask.LSSMTC(3, random_state=0), X, task=task)
    for t, labels in enumerate(model.task_labels_):
        np.testing.assert_array_equal(labels, model.labels_[task == t])
    as_list = quietly(cs.multitask.LSSMTC(3, random_state=0), [X[task == 0], X[task == 1]])
    for own, other in zip(as_list.task_labels_, model.task_labels_):
        np.testing.assert_array_equal(own, other)
