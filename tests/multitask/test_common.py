"""Checks that every registered multi-task method passes: it joins by being registered."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import consilience as cs
from consilience.errors import ConsilienceWarning, InputError
from consilience.multitask import methods

from .data import same_partition, word_counts

pytestmark = pytest.mark.parametrize(
    ("cls", "params"),
    [
        pytest.param(cls, params, id=f"{name}-{i}")
        for name, cls in methods().items()
        for i, params in enumerate(cls._test_params)
    ],
)


def build(cls, params, **more):
    return cls(**{"n_clusters": 2, "random_state": 0, **params, **more})


# The contract ----------------------------------------------------------------------------------------------


def test_scikit_learn_contract(cls, params):
    X, _, task = word_counts(0)
    model = build(cls, params)
    before = model.get_params()
    assert model.fit(X, task=task) is model
    assert model.get_params() == before
    copy = clone(model)
    assert not hasattr(copy, "labels_")
    assert copy.get_params() == before
    assert np.array_equal(copy.fit_predict(X, None, task=task), model.labels_)


def test_pickles(cls, params):
    X, _, task = word_counts(0)
    model = build(cls, params).fit(X, task=task)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.labels_, model.labels_)
    assert np.array_equal(again.predict(X, task=task), model.labels_)


def test_nothing_of_an_earlier_fit_is_left(cls, params):
    X, _, task = word_counts(0)
    model = build(cls, params)
    model.learned_by_other_settings_ = 1
    assert not hasattr(model.fit(X, task=task), "learned_by_other_settings_")


def test_same_seed_same_answer_for_any_n_jobs(cls, params):
    X, _, task = word_counts(0, noise=0.7)
    first = build(cls, params).fit(X, task=task)
    for n_jobs in (None, 1, 2):
        again = build(cls, params, n_jobs=n_jobs).fit(X, task=task)
        assert np.array_equal(again.labels_, first.labels_)
        assert np.array_equal(again.confidence_, first.confidence_)


@pytest.mark.filterwarnings("ignore:.*(did not converge|clusters of its tasks empty)")
def test_clusters_are_as_many_as_asked_for_and_numbered_by_size(cls, params, seed):
    X, _, task = word_counts(seed, noise=0.6)
    for c in (1, 2, 5):
        model = build(cls, params, n_clusters=c, max_iter=5)
        model.fit(X, task=task)
        sizes = np.bincount(model.labels_)
        assert sizes.size == c
        assert (np.diff(sizes) <= 0).all()
        if not params.get("pooled"):
            assert all(np.unique(own).size == c for own in model.task_labels_)


def test_input_is_neither_needed_writeable_nor_written(cls, params):
    X, _, task = word_counts(0)
    expected = build(cls, params).fit_predict(X, task=task)
    dense = X.toarray()
    kept = dense.copy(), task.copy(), X.copy()
    for array in (dense, task, X.data, X.indices, X.indptr):
        array.setflags(write=False)
    for given in (dense, X, [dense[task == 0], dense[task == 1]]):
        found = build(cls, params).fit(given, task=None if isinstance(given, list) else task)
        assert np.array_equal(found.task_labels_[0], expected[task == 0])
    assert np.array_equal(dense, kept[0])
    assert np.array_equal(task, kept[1])
    assert (kept[2] != X).nnz == 0


def test_warnings_point_to_the_caller(cls, params):
    if params.get("parts") == "one-hot":  # they stop changing, and leave no cluster empty
        params = {**params, "parts": "non-negative"}
    X, _, task = word_counts(0)
    with pytest.warns(ConvergenceWarning, match="did not converge in [0-9]+ rounds") as caught:
        build(cls, params, tol=0, max_iter=1).fit(X, task=task)
    assert {one.filename for one in caught} == {__file__}
    ray = np.outer(np.arange(1.0, 9), [1.0, 2.0])  # one center explains everything
    with pytest.warns(ConsilienceWarning, match="clusters of its tasks empty") as caught:
        [build(cls, params, n_clusters=4, random_state=seed).fit(ray) for seed in range(5)]
    assert {one.filename for one in caught} == {__file__}


# Refusals --------------------------------------------------------------------------------------------------


def test_refuses_bad_numbers_of_clusters(cls, params):
    X, _, task = word_counts(0)
    for c, message in (
        (0, "n_clusters=0 is not valid: expected a whole number of at least 1"),
        (2.5, "n_clusters=2.5 is not valid"),
        ([2, 3], "every task gets the same number of clusters"),
        (31, "Task 1 has 30 examples, fewer than n_clusters=31"),
    ):
        with pytest.raises(InputError, match=message):
            build(cls, params, n_clusters=c).fit(X, task=task)


def test_refuses_bad_parameters(cls, params):
    X, _, task = word_counts(0)
    for name, value in (
        ("max_iter", 0),
        ("tol", -1.0),
        ("random_state", "x"),
        ("n_jobs", 0),
        ("subspace", "flat"),
    ):
        with pytest.raises(InputError, match=f"{name}=.* is not valid: expected"):
            build(cls, params, **{name: value}).fit(X, task=task)


# What it finds, and the same input in other clothes --------------------------------------------------------


def test_finds_the_clusters(cls, params, seed):
    X, truth, task = word_counts(seed)
    labels = build(cls, params).fit(X, task=task).labels_
    for t in (0, 1):
        assert same_partition(labels[task == t], truth[task == t])


def test_list_of_matrices_is_the_same_as_task_ids(cls, params):
    X, _, task = word_counts(0)
    one, two = X[task == 0], X[task == 1]
    stacked = build(cls, params).fit(X, task=task)
    listed = build(cls, params).fit([one, two])
    np.testing.assert_array_equal(
        listed.labels_, np.concatenate([stacked.labels_[task == 0], stacked.labels_[task == 1]])
    )
    assert [own.size for own in listed.task_labels_] == [40, 30]
    np.testing.assert_array_equal(np.concatenate(listed.task_labels_), listed.labels_)
    np.testing.assert_array_equal(listed.predict([one, two]), listed.labels_)


def test_order_of_examples_and_tasks_does_not_matter(cls, params, seed):
    X, _, task = word_counts(seed, noise=0.6)
    labels = build(cls, params).fit(X, task=task).labels_
    order = np.random.default_rng(seed).permutation(task.size)
    np.testing.assert_array_equal(build(cls, params).fit(X[order], task=task[order]).labels_, labels[order])
    swapped = build(cls, params).fit(X, task=1 - task).labels_
    assert same_partition(swapped[task == 0], labels[task == 0])
    assert same_partition(swapped[task == 1], labels[task == 1])
    named = build(cls, params).fit(X, task=np.array(["news", "mail"])[task])
    np.testing.assert_array_equal(named.labels_, swapped)
    assert named.tasks_.tolist() == ["mail", "news"]


def test_dense_sparse_and_frames_agree(cls, params):
    pandas = pytest.importorskip("pandas")
    X, _, task = word_counts(1)
    labels = build(cls, params).fit(X, task=task).labels_
    np.testing.assert_array_equal(build(cls, params).fit(X.toarray(), task=task.tolist()).labels_, labels)
    np.testing.assert_array_equal(build(cls, params).fit(sp.coo_matrix(X), task=task).labels_, labels)
    np.testing.assert_array_equal(
        build(cls, params).fit(pandas.DataFrame(X.toarray()), task=task).labels_, labels
    )


def test_one_task_needs_no_name(cls, params):
    X, truth, task = word_counts(0)
    alone = X[task == 0]
    model = build(cls, params).fit(alone)
    np.testing.assert_array_equal(model.labels_, build(cls, params).fit([alone]).labels_)
    np.testing.assert_array_equal(model.predict(alone), model.labels_)
    assert same_partition(model.labels_, truth[task == 0])


def test_objective_falls_within_a_stage(cls, params, seed):
    X, _, task = word_counts(seed, noise=0.7)
    history = build(cls, params).fit(X, task=task).history_
    for before, after in pairwise(history):
        if before["stage"] == after["stage"] and before.get("task") == after.get("task"):
            assert after["objective"] <= before["objective"] * (1 + 1e-9)


def test_learned_attributes_and_predict(cls, params):
    X, _, task = word_counts(0)
    model = build(cls, params).fit(X, task=task)
    assert model.labels_.dtype.kind == "i"
    assert model.confidence_.shape == model.labels_.shape == (70,)
    assert ((model.confidence_ >= 0) & (model.confidence_ <= 1)).all()
    assert isinstance(model.history_, list)
    assert isinstance(model.converged_, bool)
    assert model.n_features_in_ == 30
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1)
    assert model.parts_.shape == (70, 2)
    np.testing.assert_array_equal(model.predict(X, task=task), model.labels_)
    np.testing.assert_array_equal(model.predict(X[task == 1], task=1), model.labels_[task == 1])
    np.testing.assert_array_equal(
        model.predict(X[[4]].toarray().tolist(), task=[task[4]]), model.labels_[[4]]
    )
    if isinstance(model, cs.multitask.ASI):
        assert [W.shape for W in model.task_subspaces_] == [(30, 2)] * 2
    else:
        assert model.subspace_.shape == (30, 2)
        np.testing.assert_allclose(model.subspace_.T @ model.subspace_, np.eye(2), atol=1e-10)
        assert model.centers_.shape == (2, 2)
        assert [M.shape for M in model.task_centers_] == [(2, 30)] * 2
    assert model.n_iter_ == len(model.history_)


def test_examples_without_features_go_to_the_largest_cluster(cls, params):
    X, _, task = word_counts(0)
    X = X.toarray()
    X[5] = 0
    model = build(cls, params).fit(X, task=task)
    own = model.labels_[task == task[5]]
    assert model.labels_[5] == np.bincount(own).argmax()
    assert (model.memberships_[5] == 0).all()
    np.testing.assert_array_equal(model.predict(X, task=task), model.labels_)
