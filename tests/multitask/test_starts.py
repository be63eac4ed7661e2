"""One-hot parts, starts from k-means, the choice between forms of P, and features prepared task by task."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

import consilience as cs
from consilience.errors import ConsilienceWarning, InputError
from consilience.multitask import _model as models
from consilience.multitask._centers import Centers, indicator, squares
from consilience.multitask._preparation import chosen, learn
from consilience.multitask._subspaces import Reconstruction
from consilience.multitask._tasks import gather

from .data import same_partition, word_counts


def digits_of_two_tasks(n=300):
    X, digits = load_digits(return_X_y=True)
    return X[:n], np.arange(n) % 2, digits[:n]


def topics(seed, sizes=(400, 60), c=4, d=400):
    """(counts of each task, themes of each): words of a theme in common, others of each task alone."""
    rng = np.random.default_rng(seed)
    shared, common = rng.dirichlet(np.full(d, 0.05), size=c), rng.dirichlet(np.full(d, 0.3))
    Xs, ys = [], []
    for n in sizes:
        own, habit = rng.dirichlet(np.full(d, 0.05), size=c), rng.dirichlet(np.full(d, 0.05))
        y = np.arange(n) % c
        rates = 0.25 * (common + habit) + 0.5 * (0.6 * shared + 0.4 * own)[y]
        Xs.append(sp.csr_array(rng.poisson(25 * rates).astype(float)))
        ys.append(y)
    return Xs, ys


# One-hot parts ---------------------------------------------------------------------------------------------


def test_each_example_goes_to_the_center_that_leaves_least_of_it(seed):
    rng = np.random.default_rng(seed)
    X, P = rng.random((30, 6)), indicator(rng.integers(0, 3, 30), 3)
    model = models.Model([X], [P], Reconstruction(X, 3), 0.6, one_hot=True)
    model.refresh_centers()
    own, shared = model.Ms[0], model.W @ model.M
    losses = np.stack(
        [
            0.6 * ((X - own[:, j]) ** 2).sum(axis=1) + 0.4 * ((X - shared[:, j]) ** 2).sum(axis=1)
            for j in range(3)
        ],
        axis=1,
    )
    model.round()
    assert np.array_equal(model.Ps[0].argmax(axis=1), losses.argmin(axis=1))
    assert (model.Ps[0].sum(axis=1) == 1).all()


def test_an_empty_cluster_gets_the_worst_explained_example_that_can_be_spared():
    costs = np.array([[0.0, 9, 9], [0, 9, 9], [9, 1, 9], [0, 9, 9]])
    found = models.nearest(costs, np.array([1.0, 5, 50, 9]), np.array([1.0, 1, 1, 0]))
    # The third is alone in its cluster, and the fourth does not count.
    assert found.argmax(axis=1).tolist() == [0, 2, 1, 0]


def test_memberships_of_one_hot_parts_fall_with_the_squared_distance(seed):
    X, _, task = word_counts(seed)
    model = cs.SPMTC(2, parts="one-hot", random_state=0).fit(X, task=task)
    dense = X.toarray()
    for t in (0, 1):
        M, W = model.task_centers_[t], model.subspace_
        shared = model.centers_ @ W.T
        x = dense[task == t]
        d = 0.75 * ((x[:, None] - M) ** 2).sum(axis=2) + 0.25 * ((x[:, None] - shared) ** 2).sum(axis=2)
        shares = 1 / d
        np.testing.assert_allclose(
            model.memberships_[task == t], shares / shares.sum(axis=1, keepdims=True), rtol=1e-6
        )
    assert set(np.unique(model.parts_)) == {0.0, 1.0}


def test_an_example_on_its_center_is_wholly_in_it():
    X = np.array([[1.0, 0], [0, 1]])
    labels, shares = Centers(X.T.copy(), np.eye(2), one_hot=True).place(X)
    assert labels.tolist() == [0, 1]
    np.testing.assert_allclose(shares, np.eye(2), atol=1e-9)
    assert squares(X).tolist() == [1, 1]


# Starts ----------------------------------------------------------------------------------------------------


def test_a_start_from_kmeans_is_the_same_for_any_order_of_tasks_and_examples(seed):
    X, _, task = word_counts(seed)
    order = np.random.default_rng(seed).permutation(task.size)
    for pooled in (True, False):
        first = models.clusters_of(gather(X, task), 2, seeds=[1, 2], pooled=pooled)
        moved = models.clusters_of(gather(X[order], 1 - task[order]), 2, seeds=[1, 2], pooled=pooled)
        assert [P.tolist() for P in first] == [P.tolist() for P in moved[::-1]]


def test_clusters_of_tasks_that_start_apart_are_matched():
    Xs = [np.repeat(np.eye(3), [3, 2, 2], axis=0), np.repeat(np.eye(3), 2, axis=0)]
    Ps = [indicator(X.argmax(axis=1), 3) for X in Xs]
    turned = [Ps[0], Ps[1][:, [2, 0, 1]]]
    np.testing.assert_array_equal(models.matched(Xs, turned)[1], Ps[1])


def test_more_starts_never_end_higher(seed):
    X, task, _ = digits_of_two_tasks()
    values = [
        cs.multitask.LSSMTC(10, parts="one-hot", n_init=n, random_state=seed).fit(X, task=task).history_[-1]
        for n in (1, 6)
    ]
    assert values[1]["objective"] <= values[0]["objective"] * (1 + 1e-6)


# The choice ------------------------------------------------------------------------------------------------


def test_the_form_whose_starts_agree_better_is_kept():
    X, task, digits = digits_of_two_tasks()
    model = cs.SPMTC(10, random_state=0).fit(X, task=task)
    assert model.start_agreement_["one-hot"] > model.start_agreement_["non-negative"]
    assert set(np.unique(model.parts_)) == {0.0, 1.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConsilienceWarning)
        free = cs.SPMTC(10, parts="non-negative", init="random", random_state=0).fit(X, task=task)
    found, before = (
        np.mean([adjusted_rand_score(digits[task == t], one.labels_[task == t]) for t in (0, 1)])
        for one in (model, free)
    )
    assert found > before + 0.2


def test_equal_agreement_keeps_parts_in_every_center(seed):
    X, truth, task = word_counts(seed)
    model = cs.SPMTC(2, random_state=0).fit(X, task=task)
    assert model.start_agreement_ == {"non-negative": 1.0, "one-hot": 1.0}
    assert len(np.unique(model.parts_)) > 2
    assert all(same_partition(model.labels_[task == t], truth[task == t]) for t in (0, 1))


def test_a_given_start_is_not_compared():
    X, _, task = word_counts()
    model = cs.SPMTC(2, init=np.random.default_rng(0).random((70, 2))).fit(X, task=task)
    assert not hasattr(model, "start_agreement_")
    assert len(np.unique(model.parts_)) > 2


def test_memberships_near_one_in_c_are_said():
    X, task, _ = digits_of_two_tasks()
    settings = {"parts": "non-negative", "init": "random", "random_state": 0}
    with pytest.warns(ConsilienceWarning, match=r"largest membership of an example is 0\.[12]"):
        model = cs.SPMTC(10, **settings).fit(X, task=task)
    assert "near 1 / n_clusters = 0.10" in model.messages_[-1]
    X, _, task = word_counts()
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConsilienceWarning)
        cs.SPMTC(2, **settings).fit(X, task=task)


# Preparation -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("X", "name"),
    [
        (np.eye(20)[:, :15], "tf-idf"),  # few are not 0
        (np.array([[1, 2, 0, 0], [0, 0, 3, 0], [0, 1, 0, 0]]), "tf-idf"),  # small, and many are 0
        (np.array([[1, 1, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0]]), "none"),  # yes and no
        (np.array([[9, 8, 0, 0], [0, 0, 7, 0], [0, 9, 0, 0]]), "none"),  # pixels
        (np.array([[1, 2, 3, 0], [2, 1, 3, 4]]), "none"),
        (np.eye(20) * 1.5, "none"),
        (-np.eye(20), "none"),
        (np.zeros((3, 3)), "none"),
    ],
)
def test_counts_are_told_by_their_numbers(X, name):
    X = np.asarray(X, float)
    assert chosen(X) == chosen(sp.csr_array(X)) == name


def test_words_are_weighed_in_each_task_alone():
    Xs, _ = topics(0)
    model = cs.SPMTC(4, random_state=0).fit(Xs)
    assert model.preprocess_ == "tf-idf"
    own = []
    for X in Xs:
        found = np.maximum((X.toarray() > 0).sum(axis=0), 1)
        Z = X.toarray() * (1 + np.log(X.shape[0] / found))
        own.append(Z / np.linalg.norm(Z, axis=1, keepdims=True))
        np.testing.assert_allclose(learn("tf-idf", X).apply(X).toarray(), own[-1], rtol=1e-12)
    again = cs.SPMTC(4, random_state=0, preprocess="none").fit(own)
    np.testing.assert_array_equal(model.labels_, again.labels_)
    # New examples are prepared like those of their task.
    np.testing.assert_array_equal(model.predict([Xs[0][:5], Xs[1][:7]])[5:], model.task_labels_[1][:7])


def test_the_small_task_gains(seed):
    Xs, ys = topics(seed)
    model = cs.SPMTC(4, random_state=0).fit(Xs)
    assert adjusted_rand_score(ys[0], model.task_labels_[0]) > 0.95
    assert adjusted_rand_score(ys[1], model.task_labels_[1]) > 0.85


def test_counts_below_zero_are_refused():
    with pytest.raises(InputError, match="preprocess='tf-idf' needs counts"):
        cs.SPMTC(2, preprocess="tf-idf").fit(-np.eye(6))
