"""The same on workers in processes of their own, which may die and have little memory and few threads."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time

import dask.array as da
import numpy as np
import pytest

import consilience as cs
import dask
from consilience._kernels.runtime.threads import map_tasks, one_thread, resolve_jobs
from consilience.dask import engine, graphs
from consilience.errors import InputError, NotEnoughMemoryError

from ..zoo import planted

distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'consilience[dask]'")


@pytest.fixture(scope="module")
def client(connect):
    """Two workers, processes of one thread each."""
    with connect("processes") as client:
        yield client


def slow(block, seconds):
    time.sleep(seconds)
    return block


def test_labels_are_those_of_one_machine(client, monkeypatch):
    monkeypatch.setattr(graphs, "MOST_IN_GRAPH", 2000)  # as if the tables were large
    labels, _ = planted(6, n=600, m=6, noise=0.4)
    lazy = da.from_array(labels, chunks=(100, 6))
    for cls in (cs.consensus.LWGP, cs.consensus.LWEA):
        expected = cls(3, **({"random_state": 0} if cls is cs.consensus.LWGP else {})).fit(labels)
        model = cls(3, **({"random_state": 0} if cls is cs.consensus.LWGP else {})).fit(
            cs.dask.DaskEnsemble(lazy)
        )
        np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
        np.testing.assert_array_equal(model.confidence_.compute(), expected.confidence_)
    of_fit = max(len(pickle.dumps(task)) for task in dict(model.labels_.dask).values())
    assert of_fit < 2000 + labels[:100].nbytes  # the labels were made in memory here, and are the user's own

    truth = da.from_array(planted(6, n=600, m=6, noise=0.4)[1], chunks=100)
    assert cs.metrics.scores(truth, model.labels_) == cs.metrics.scores(truth.compute(), expected.labels_)
    blocks = cs.consensus.LWGP(3, random_state=0).fit(cs.dask.DaskEnsemble(lazy, max_distinct=100))
    with dask.config.set(scheduler="synchronous"):
        alone = (
            cs.consensus.LWGP(3, random_state=0)
            .fit(cs.dask.DaskEnsemble(lazy, max_distinct=100))
            .labels_.compute()
        )
    np.testing.assert_array_equal(blocks.labels_.compute(), alone)


def test_features_are_labeled_where_they_are(client):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(900, 5)) + 6 * rng.integers(0, 3, 900)[:, None]).astype(np.float32)
    params = {"generator": "kmeans", "n_clusterings": 4, "random_state": 0}
    model = cs.ConsensusClustering(3, **params).fit(da.from_array(X, chunks=(250, 5)))
    expected = cs.ConsensusClustering(3, **params).fit(X)
    np.testing.assert_array_equal(model.labels_.compute(), expected.labels_)
    np.testing.assert_array_equal(
        model.predict(da.from_array(X[:90], chunks=(40, 5))).compute(), expected.labels_[:90]
    )


def test_a_killed_worker_changes_nothing_but_the_time(mortal):
    labels, _ = planted(7, n=400, m=5)
    lazy = da.from_array(labels, chunks=(50, 5)).map_blocks(slow, 0.3, dtype=labels.dtype, meta=labels[:0])
    victim = sorted(mortal.run(os.getpid).values())[0]
    killer = threading.Timer(0.7, os.kill, (victim, signal.SIGKILL))
    killer.start()
    model = cs.consensus.LWGP(3, random_state=0).fit(cs.dask.DaskEnsemble(lazy))
    killer.join()
    np.testing.assert_array_equal(
        model.labels_.compute(), cs.consensus.LWGP(3, random_state=0).fit(labels).labels_
    )


def test_the_loss_of_all_workers_changes_nothing_but_the_time(mortal, monkeypatch):
    monkeypatch.setattr(graphs, "MOST_IN_GRAPH", 2000)
    labels, _ = planted(7, n=400, m=5)
    lazy = da.from_array(labels, chunks=(50, 5)).map_blocks(slow, 0.3, dtype=labels.dtype, meta=labels[:0])
    victims = mortal.run(os.getpid).values()
    killer = threading.Timer(0.7, lambda: [os.kill(victim, signal.SIGKILL) for victim in victims])
    killer.start()
    model = cs.consensus.LWGP(3, random_state=0).fit(cs.dask.DaskEnsemble(lazy))
    killer.join()
    np.testing.assert_array_equal(
        model.labels_.compute(), cs.consensus.LWGP(3, random_state=0).fit(labels).labels_
    )


def test_tasks_whose_results_are_lost_are_asked_for_again(client, monkeypatch):
    gathered, lost = engine._gathered, []

    def losing(client, futures, bar):
        if len(lost) < 3:
            lost.append(len(futures))
            client.cancel(futures, force=True)
        return gathered(client, futures, bar)

    monkeypatch.setattr(engine, "_gathered", losing)
    labels, _ = planted(6, n=400, m=6)
    model = cs.consensus.LWGP(3, random_state=0).fit(
        cs.dask.DaskEnsemble(da.from_array(labels, chunks=(100, 6)))
    )
    np.testing.assert_array_equal(
        model.labels_.compute(), cs.consensus.LWGP(3, random_state=0).fit(labels).labels_
    )
    monkeypatch.setattr(engine, "_ATTEMPTS", 1)
    lost.clear()
    with pytest.raises(InputError, match="Dask lost what a fit needs 1 times in a row.*more memory"):
        cs.consensus.LWGP(3).fit(cs.dask.DaskEnsemble(da.from_array(labels, chunks=(100, 6))))


def test_an_interrupt_cancels_what_is_under_way(client):
    labels, _ = planted(7, n=400, m=5)
    lazy = da.from_array(labels, chunks=(20, 5)).map_blocks(slow, 1.0, dtype=labels.dtype, meta=labels[:0])
    main = threading.main_thread().ident

    def press():
        """Ctrl-C, once workers are at work: what comes earlier may fall into a place that swallows it."""
        while not any(worker.processing for worker in client.cluster.scheduler.workers.values()):
            time.sleep(0.05)
        time.sleep(0.3)
        signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    begun = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        cs.consensus.LWGP(3).fit(cs.dask.DaskEnsemble(lazy))
    assert time.perf_counter() - begun < 8  # all would take ten
    end = time.perf_counter() + 20
    while any(client.processing().values()) and time.perf_counter() < end:
        time.sleep(0.1)
    assert not any(client.processing().values())


def test_a_fit_inside_a_task_is_refused(client):
    def fit():
        return cs.consensus.LWEA(2).fit(da.from_array(np.array([[0, 0], [1, 1]] * 4), chunks=(4, 2)))

    with pytest.raises(InputError, match="inside a Dask task"):
        client.submit(fit, pure=False).result(timeout=60)


def test_memory_of_a_worker_is_looked_at_beforehand(client):
    assert 1e8 < engine.memory_of_a_task() < 1e9
    labels = da.zeros((10**8, 20), chunks=(10**8, 20), dtype=np.int8)
    with pytest.raises(NotEnoughMemoryError, match=r"block of 100,000,000 objects and 20.*rechunk"):
        cs.consensus.LWGP(3).fit(cs.dask.DaskEnsemble(labels))
    with pytest.raises(NotEnoughMemoryError, match=r"block of 100,000,000 rows.*X.rechunk"):
        cs.dask.make_ensemble(labels.astype(np.float32))


@pytest.fixture
def paused(connect):
    """A client of workers that take no tasks, as if their memory were full."""

    def put(dask_worker, status):
        dask_worker.status = distributed.Status[status]

    with connect("threads") as client:
        client.run(put, status="paused")
        yield client
        client.run(put, status="running")


def test_workers_that_stay_paused_are_told(paused, monkeypatch):
    monkeypatch.setattr(engine, "_LOOK", 0.1)
    monkeypatch.setattr(engine, "_PATIENCE", 0.5)
    labels = da.from_array(planted(6, n=400, m=6)[0], chunks=(100, 6))
    with pytest.raises(NotEnoughMemoryError, match=r"All 2 Dask workers are paused.*client.restart"):
        cs.consensus.LWGP(3).fit(cs.dask.DaskEnsemble(labels))


def test_workers_that_run_again_are_waited_for(paused, monkeypatch):
    monkeypatch.setattr(engine, "_LOOK", 0.1)
    labels, _ = planted(6, n=400, m=6)

    def wake(dask_worker):
        dask_worker.status = distributed.Status.running

    timer = threading.Timer(1.0, paused.run, (wake,))
    timer.start()
    model = cs.consensus.LWGP(3, random_state=0).fit(
        cs.dask.DaskEnsemble(da.from_array(labels, chunks=(100, 6)))
    )
    timer.join()
    np.testing.assert_array_equal(
        model.labels_.compute(), cs.consensus.LWGP(3, random_state=0).fit(labels).labels_
    )


def test_a_cluster_without_workers_is_told(monkeypatch):
    monkeypatch.setattr(engine, "_LOOK", 0.1)
    monkeypatch.setattr(engine, "_PATIENCE_FOR_WORKERS", 0.5)
    labels = da.from_array(planted(6, n=400, m=6)[0], chunks=(100, 6))
    options = {"n_workers": 0, "processes": False, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**options) as cluster,
        distributed.Client(cluster),
        pytest.raises(InputError, match="has had no workers for .* seconds. Start some"),
    ):
        cs.consensus.LWGP(3).fit(cs.dask.DaskEnsemble(labels))


def test_one_thread_does_the_work_of_a_task():
    with one_thread():
        assert resolve_jobs(None) == resolve_jobs(8) == resolve_jobs(-1) == 1
        found = map_tasks(lambda _: threading.get_ident(), list(range(50)), n_jobs=8)
        assert set(found) == {threading.get_ident()}
    assert resolve_jobs(8) == 8
