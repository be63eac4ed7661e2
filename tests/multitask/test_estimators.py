"""The estimators as users meet them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import consilience as cs
from consilience.errors import InputError

from .data import same_partition, word_counts

#: One random start with parts in every center.
PLAIN = {"preprocess": "none", "parts": "non-negative", "init": "random", "n_init": 1}


def test_tasks_share_their_clusters(seed):
    X, truth, task = word_counts(seed)
    assert same_partition(cs.SPMTC(2, random_state=0).fit(X, task=task).labels_, truth)


def test_one_task_reduces_to_the_single_task_method(seed):
    """All weight on the shared term is ASI; with one task, its centers are shared whatever the trade-off."""
    X, _, task = word_counts(seed, noise=0.5)
    alone = X[task == 0]
    asi = cs.multitask.ASI(2, random_state=0, tol=0, max_iter=15)
    lss = cs.multitask.LSSMTC(2, trade_off=0, random_state=0, tol=0, max_iter=15, **PLAIN)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        single, shared = clone(asi).fit(alone), lss.fit(alone)
        own = clone(lss).set_params(trade_off=1).fit(alone)
        apart = asi.fit(X, task=task)
    np.testing.assert_allclose(shared.parts_, single.parts_)
    np.testing.assert_allclose(own.parts_, single.parts_, rtol=1e-6)
    # Among others, ASI still takes each task by itself; only the numbers of the clusters are common.
    for_one = apart.parts_[task == 0]
    assert min(np.abs(for_one - single.parts_[:, order]).max() for order in ([0, 1], [1, 0])) < 1e-8


def test_self_paced_with_everything_in_is_lssmtc():
    X, _, task = word_counts(0, noise=0.5)
    whole = cs.SPMTC(2, first_share=1.0, warm_up=20, max_iter=2, tol=0, random_state=0, **PLAIN)
    plain = cs.multitask.LSSMTC(2, max_iter=40, tol=0, random_state=0, **PLAIN)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        np.testing.assert_allclose(whole.fit(X, task=task).parts_, plain.fit(X, task=task).parts_)


@pytest.mark.parametrize("weighting", ["soft", "hard"])
def test_weights_by_stage(weighting, seed):
    X, _, task = word_counts(seed, noise=0.6)
    model = cs.SPMTC(2, weighting=weighting, random_state=0).fit(X, task=task)
    v = model.example_weights_
    assert v.shape == (6, 70)
    np.testing.assert_allclose(model.shares_, [0.5, 0.6, 0.7, 0.8, 0.9, 1.0])
    assert (v >= 0).all()
    assert (v <= 1).all()
    assert (v[-1] == 1).all()  # the weights reach one
    for t, n in ((0, 40), (1, 30)):  # every task has its own pace
        in_full = (v[:, task == t] >= 1).sum(axis=1)
        assert (in_full >= np.ceil(model.shares_ * n - 1e-9)).all()
        if weighting == "hard":
            assert in_full.tolist() == np.ceil(model.shares_ * n - 1e-9).tolist()
    for i in range(70):
        assert (v[model.entry_stage_[i] :, i] == 1).all()
        assert model.entry_stage_[i] == 0 or v[model.entry_stage_[i] - 1, i] < 1


def test_outliers_enter_last():
    X, _, task = word_counts(0, noise=0.1)
    X = X.toarray()
    rng = np.random.default_rng(0)
    odd = [3, 17]
    X[odd] = rng.permutation(rng.poisson(60, size=(2, 30)), axis=1)
    model = cs.SPMTC(2, random_state=0, **PLAIN).fit(X, task=task)
    assert (model.entry_stage_[odd] >= 4).all()
    assert (model.example_weights_[0, odd] < 0.5).all()


@pytest.mark.parametrize("subspace", ["span", "printed", "nonnegative"])
@pytest.mark.parametrize(("cls", "params"), [(cs.SPMTC, {"weighting": "hard"}), (cs.multitask.LSSMTC, {})])
def test_other_subspaces_run_and_find_the_clusters(cls, params, subspace):
    X, truth, task = word_counts(0, d=90)
    model = cls(2, subspace=subspace, n_components=3, random_state=0, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        labels = model.fit(X, task=task).labels_
    for t in (0, 1):
        assert same_partition(labels[task == t], truth[task == t])


def test_printed_weights_and_pace_are_selectable():
    X, truth, task = word_counts(0)
    model = cs.SPMTC(2, inclusion="any", weight_power=2, random_state=0).fit(X, task=task)
    assert same_partition(model.labels_, truth)
    v = model.example_weights_
    assert (v[0] > 0).sum() == 35
    assert v[-1].min() < 0.01


def test_shared_centers_carry_from_task_to_task():
    """A task too noisy to be clustered alone is clustered by the help of the other."""
    gains = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rates = rng.dirichlet(np.full(60, 0.3), size=2)
        y = [np.arange(200) % 2, np.arange(30) % 2]
        X = [rng.poisson(80 * rates[y[0]]), rng.poisson(6 * (0.5 * rates[y[1]] + 0.5 / 60))]
        X = [x.astype(float) for x in X]

        def right(labels, truth=y[1]):
            return cs.metrics.accuracy(truth, labels)

        alone = cs.multitask.LSSMTC(2, trade_off=1, random_state=0, **PLAIN).fit(X).task_labels_[1]
        together = cs.multitask.LSSMTC(2, trade_off=0.1, random_state=0, **PLAIN).fit(X).task_labels_[1]
        gains.append(right(together) - right(alone))
    assert np.mean(gains) > 0.05


def test_negative_numbers_are_fine(seed):
    rng = np.random.default_rng(seed)
    truth = np.arange(40) % 2
    X = rng.normal(size=(40, 5)) + np.where(truth, 3, -3)[:, None]
    labels = cs.SPMTC(2, random_state=seed).fit(X, task=np.arange(40) % 4 // 2).labels_
    assert same_partition(labels, truth)


def test_exactly_c_clusters_per_task(seed):
    rng = np.random.default_rng(seed)
    X = [rng.random((7, 3)), rng.random((6, 3))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = cs.SPMTC(5, random_state=seed).fit(X)
    assert [np.unique(own).size for own in model.task_labels_] == [5, 5]


def test_empty_clusters_are_said():
    X = np.outer(np.arange(1.0, 9), [1.0, 2.0])  # all on one ray: one center explains everything
    with pytest.warns(UserWarning, match="clusters of its tasks empty; each got the example nearest"):
        labels = [cs.multitask.LSSMTC(4, random_state=seed, **PLAIN).fit(X).labels_ for seed in range(5)]
    assert [np.unique(own).size for own in labels] == [4] * 5


def test_not_converged_is_said():
    X, _, task = word_counts(0)
    with pytest.warns(ConvergenceWarning, match=r"LSSMTC did not converge in 3 rounds.*raise max_iter"):
        model = cs.multitask.LSSMTC(2, max_iter=3, tol=0, random_state=0, **PLAIN).fit(X, task=task)
    assert not model.converged_


def test_start_is_not_modified():
    X, _, task = word_counts(0)
    start = np.random.default_rng(0).random((70, 2))
    kept = start.copy()
    cs.SPMTC(2, init=start).fit(X, task=task)
    np.testing.assert_array_equal(start, kept)


A = np.random.default_rng(0).random((6, 3))


@pytest.mark.parametrize(
    ("given", "parameters", "message"),
    [
        (([A, A[:, :2]], None), {}, "Task 1 has 2 features, task 0 has 3: tasks share one subspace"),
        (([A, A[:0]], None), {}, r"Task 1: X has shape \(0, 3\): no examples. Leave the task out."),
        (([A, A[:1]], None), {}, "Task 1 has 1 example, fewer than n_clusters=2; leave the task out"),
        ((A, list("aaaaab")), {}, "Task 'b' has 1 example, fewer than n_clusters=2"),
        (([A, np.ones((4, 3))], None), {}, "Task 1 has 1 distinct row in 4 examples"),
        (([A, A * np.nan], None), {}, "Task 1: X contains 18 missing values"),
        (([A, A], [0, 1]), {}, "X is a list of matrices, one per task, so that task must not"),
        ((A, [0, 1]), {}, r"task has shape \(2,\), but X has 6 rows"),
        ((A, [0, 0, 0, 1, 1, np.nan]), {}, "task has missing values"),
        ((A, [0, "a", None, 1, 1, 1]), {}, "task has missing values"),
        ((A, None), {"n_clusters": [2, 3]}, "every task gets the same number of clusters"),
        ((A, None), {"n_clusters": 0}, "n_clusters=0 is not valid: expected a whole number of at least 1"),
        (
            (A, None),
            {"trade_off": 1.5},
            "trade_off=1.5 is not valid: expected a number of at least 0 and at most 1",
        ),
        ((A, None), {"weighting": "firm"}, "weighting='firm' is not valid: expected one of 'soft', 'hard'"),
        (
            (A, None),
            {"n_components": 9},
            "n_components=9 exceeds the 3 dimensions that 6 examples with 3 features",
        ),
        ((A, None), {"init": np.ones((3, 2))}, r"init has shape \(3, 2\), not \(6, 2\)"),
        ((A, None), {"init": -np.ones((6, 2))}, "with negative or non-finite numbers"),
        ((A, None), {"init": "best"}, "init='best' is not valid"),
    ],
)
def test_messages(given, parameters, message):
    X, task = given
    with pytest.raises(InputError, match=message):
        cs.SPMTC(**{"n_clusters": 2, **parameters}).fit(X, task=task)


def test_messages_of_predict():
    X, _, task = word_counts(0)
    model = cs.SPMTC(2, random_state=0).fit(X, task=np.array(["a", "b"])[task])
    with pytest.raises(InputError, match="task is needed: fit saw the tasks 'a' and 'b'"):
        model.predict(X)
    with pytest.raises(InputError, match="Task 'z' not seen by fit, which saw 'a' and 'b'"):
        model.predict(X, task="z")
    with pytest.raises(InputError, match="X has 4 features, but fit saw 30"):
        model.predict(X[:, :4], task="a")
    with pytest.raises(InputError, match="3 matrices were given; fit saw 2 tasks"):
        model.predict([X, X, X])


# Real data -------------------------------------------------------------------------------------------------


def load(shared_dir, name):
    with np.load(shared_dir / "data" / f"{name}.npz") as z:
        X = sp.csr_array((z["data"].astype(float), z["indices"], z["indptr"]), shape=tuple(z["shape"]))
        return X, z["y"], z["task"]


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("comp_vs_sci", (0.86, 0.70)),
        ("orgs_vs_people", (0.82, 0.75)),
        ("orgs_vs_places", (0.76, 0.70)),
        ("people_vs_places", (0.69, 0.54)),
    ],
)
def test_real_text(shared_dir, name, least):
    X, truth, task = load(shared_dir, name)
    model = cs.SPMTC(n_clusters=2, weighting="soft", random_state=0).fit(X, task=task)
    for t in (0, 1):
        rows = task == t
        assert cs.metrics.accuracy(truth[rows], model.labels_[rows]) > least[t]


def test_where_the_printed_subspace_looks(shared_dir):
    """The finding behind the default: the smallest eigenvectors carry nothing from task to task.

    They hold next to nothing of the data, and carry nothing even in its span; the directions of the shared
    centers do.
    """
    X, _, task = load(shared_dir, "comp_vs_sci")
    rows = np.r_[np.flatnonzero(task == 0)[::6], np.flatnonzero(task == 1)[::6]]
    X, task = X[rows][:, :300], task[rows]
    X, task = X[X.sum(axis=1) > 0], task[X.sum(axis=1) > 0]

    def fit(**parameters):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return cs.multitask.LSSMTC(2, max_iter=40, random_state=0, **PLAIN, **parameters).fit(
                X, task=task
            )

    def agreement(a, b):
        return min(cs.metrics.accuracy(b[task == t], a[task == t]) for t in (0, 1))

    apart, span, ours = fit(trade_off=1), fit(subspace="span"), fit()
    held = [((X @ model.subspace_) ** 2).sum() / X.power(2).sum() for model in (span, ours)]
    assert held[0] < 0.5 * held[1]
    assert agreement(span.labels_, apart.labels_) > 0.97
    assert agreement(ours.labels_, apart.labels_) < 0.9


@pytest.mark.parametrize("step", [1e-40, 0, 1.5])
def test_steps_that_would_never_end_are_refused(step):
    X, _, task = word_counts(0)
    with pytest.raises(
        InputError, match="share_step=.* is not valid: expected a number of at least 0.0001 and at most 1"
    ):
        cs.SPMTC(2, share_step=step).fit(X, task=task)
