"""Dask is an extra: without it these tests skip, saying so."""

from __future__ import annotations

import pytest

pytest.importorskip("dask.array", reason="needs Dask: pip install 'consilience[dask]'")


@pytest.fixture
def here():
    """Every task in this thread, one after the other."""
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="session")
def _clusters():
    """Clusters by kind, each started when it is first needed: all tests of a session share them."""
    import dask

    started = {}

    def cluster(kind):
        if kind not in started:
            started[kind] = _cluster_of(kind)
        return started[kind]

    with dask.config.set({"distributed.comm.timeouts.connect": "60s"}):  # of a busy machine
        yield cluster
        for one in started.values():
            one.close()


def _cluster_of(kind):
    distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'consilience[dask]'")
    return distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=kind == "processes",
        # Workers that are threads count the memory of this whole process, which many tests have used: no
        # limit.
        memory_limit=0 if kind == "threads" else "1GB",
        dashboard_address=":0",
    )


@pytest.fixture
def mortal():
    """A client of two processes of its own: not every worker that is killed comes back."""
    import distributed

    import dask

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "60s"}),
        _cluster_of("processes") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def connect(_clusters):
    """What opens a client of the cluster of a kind, whose two workers have one thread each."""
    import distributed

    def client(kind):
        cluster = _clusters(kind)
        client = distributed.Client(cluster)
        client.wait_for_workers(2, timeout=60)
        return client

    return client
