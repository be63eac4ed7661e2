"""A lazy result keeps what it needs: it can be computed when neither model nor ensemble is left."""

from __future__ import annotations

import gc
import os
import signal
import time
import weakref

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import consilience as cs
import dask
from consilience.dask import graphs

from ..zoo import planted

distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'consilience[dask]'")

LABELS, TRUTH = planted(6, n=400, m=6, noise=0.3)
X = np.random.default_rng(0).normal(size=(400, 3)) + 6 * TRUTH[:, None]


@pytest.fixture(scope="module", params=["no client", "threads", "processes"])
def place(request, connect):
    """Where tasks run."""
    if request.param == "no client":
        yield request.param
        return
    with connect(request.param):
        yield request.param


def table():
    return da.from_array(LABELS, chunks=(100, -1))


def method(n=3):
    return cs.consensus.LWGP(n, random_state=0)


def fitted(table=table):
    return method().fit(cs.dask.DaskEnsemble(table()))


def frame():
    dd = pytest.importorskip("dask.dataframe")
    return dd.from_pandas(pd.DataFrame(LABELS, columns=list("abcdef")), npartitions=3)


def pipeline():
    features = da.from_array(X, chunks=(150, -1))
    return cs.ConsensusClustering(3, generator="kmeans", n_clusterings=3, random_state=0).fit(features)


def generated():
    return cs.dask.make_ensemble(
        da.from_array(X, chunks=(150, -1)), "kmeans", n_clusterings=3, n_clusters=3, random_state=0
    )


RESULTS = {
    "labels_": lambda: fitted().labels_,
    "confidence_": lambda: fitted().confidence_,
    "membership_": lambda: fitted().membership_,
    "fit_predict": lambda: method().fit_predict(cs.dask.DaskEnsemble(table())),
    "counts of labels_": lambda: da.bincount(fitted().labels_, minlength=3),
    "delayed blocks of labels_": lambda: da.concatenate(
        [da.from_delayed(one, (100,), np.int64) for one in fitted().labels_.to_delayed()]
    ),
    "optimized labels_": lambda: dask.optimize(fitted().labels_)[0],
    "predict": lambda: fitted().predict(table()),
    "predict_proba": lambda: fitted().predict_proba(table()),
    "predict_confidence": lambda: fitted().predict_confidence(table()),
    "transform": lambda: fitted().transform(table()),
    "KCC": lambda: cs.consensus.KCC(3, random_state=0).fit(cs.dask.DaskEnsemble(table())).labels_,
    "too many distinct rows": lambda: (
        method().fit(cs.dask.DaskEnsemble(table(), max_distinct=100)).confidence_
    ),
    "frame": lambda: fitted(frame).labels_,
    "persisted array": lambda: fitted(lambda: table().persist()).labels_,
    "persisted array, read again": lambda: (
        method().fit(cs.dask.DaskEnsemble(table().persist(), max_distinct=100)).labels_
    ),
    "persisted frame": lambda: fitted(lambda: frame().persist()).labels_,
    "predict of a persisted array": lambda: fitted().predict(table().persist()),
    "ConsensusClustering": lambda: pipeline().labels_,
    "ConsensusClustering, sure": lambda: pipeline().confidence_,
    "ConsensusClustering, predict": lambda: pipeline().predict(da.from_array(X, chunks=(150, -1))),
    "ConsensusClustering, score_samples": lambda: pipeline().score_samples(
        da.from_array(X, chunks=(150, -1))
    ),
    "method on generate": lambda: method().fit(generated()).labels_,
    "generate": lambda: generated().labels,
}
#: The results that every run of the tests looks at.
QUICK = ("labels_", "confidence_", "fit_predict", "predict", "too many distinct rows", "persisted frame")
QUICK += ("ConsensusClustering", "ConsensusClustering, predict", "method on generate")


@pytest.mark.filterwarnings("ignore::consilience.errors.ConsilienceWarning")
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(make, id=name, marks=() if name in QUICK else pytest.mark.slow)
        for name, make in RESULTS.items()
    ],
)
def test_a_result_is_all_that_has_to_be_kept(place, make, monkeypatch):
    monkeypatch.setattr(graphs, "MOST_IN_GRAPH", 2000)  # as if the tables were large
    result = make()
    gc.collect()
    found = result.compute()
    with dask.config.set(scheduler="synchronous"):
        expected = make().compute()
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", [list, tuple, lambda items: dict(enumerate(items))])
def test_what_tasks_share_is_one_thing_whatever_it_is(place, kind, monkeypatch):
    monkeypatch.setattr(graphs, "MOST_IN_GRAPH", 100)
    thing = kind([np.arange(100), "b"])
    found = graphs.call(len, graphs.share(thing)).compute()
    assert found == 2


#: All results but those whose labels a user has put on workers, from where nobody brings them back.
OWN = {name: make for name, make in RESULTS.items() if "persisted" not in name and "optimized" not in name}
OWN.pop("delayed blocks of labels_")  # cut out of their graph when they were made


def expected(name):
    with dask.config.set(scheduler="synchronous"):
        return RESULTS[name]().compute()


@pytest.fixture
def results(monkeypatch):
    """All of them, made on a client."""
    monkeypatch.setattr(graphs, "MOST_IN_GRAPH", 2000)

    def made():
        found = {name: make() for name, make in OWN.items()}
        gc.collect()
        return found

    return made


@pytest.mark.filterwarnings("ignore::consilience.errors.ConsilienceWarning")
def test_results_outlive_their_client(results, connect):
    client = connect("threads")
    found = results()
    with dask.config.set(scheduler="synchronous"):
        elsewhere = {name: one.compute() for name, one in found.items()}
    client.close()
    for name, one in found.items():
        wanted = expected(name)
        np.testing.assert_array_equal(one.compute(), wanted, err_msg=name)
        np.testing.assert_array_equal(elsewhere[name], wanted, err_msg=name)


@pytest.mark.filterwarnings("ignore::consilience.errors.ConsilienceWarning")
@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_another_scheduler_computes_them_beside_an_open_client(results, connect, scheduler):
    with connect("processes"):
        found = results()
        for name, one in found.items():
            np.testing.assert_array_equal(one.compute(scheduler=scheduler), expected(name), err_msg=name)
        beside = frame().assign(label=fitted(frame).labels_)
        np.testing.assert_array_equal(
            fitted(frame).to_frame().compute(scheduler=scheduler)["label"], beside.compute()["label"]
        )


@pytest.mark.filterwarnings("ignore::consilience.errors.ConsilienceWarning")
def test_they_are_computed_on_another_client(results, connect):
    client = connect("threads")
    found = results()
    client.close()
    with connect("threads"):
        for name in ("labels_", "confidence_", "predict", "ConsensusClustering", "too many distinct rows"):
            np.testing.assert_array_equal(found[name].compute(), expected(name), err_msg=name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::consilience.errors.ConsilienceWarning")
def test_they_outlive_all_workers(results, mortal):
    found = results()
    before = mortal.run(os.getpid)
    for pid in before.values():
        os.kill(pid, signal.SIGKILL)
    end = time.perf_counter() + 60
    while set(mortal.scheduler_info()["workers"]) & set(before) and time.perf_counter() < end:
        time.sleep(0.1)
    mortal.wait_for_workers(1, timeout=60)
    for name, one in found.items():
        np.testing.assert_array_equal(one.compute(), expected(name), err_msg=name)


def test_predicting_leaves_nothing_in_a_model(tmp_path):
    """A model can be saved afterwards, and is freed when nobody holds it."""
    model = cs.ConsensusClustering(3, generator="kmeans", n_clusterings=3, random_state=0).fit(X)
    before = set(vars(model))
    labels = model.predict(da.from_array(X, chunks=(150, -1))).compute()
    np.testing.assert_array_equal(labels, model.labels_)
    assert set(vars(model)) == before
    model.save(tmp_path / "model.consilience")
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
