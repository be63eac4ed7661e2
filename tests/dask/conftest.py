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

    distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'consilience[dask]'")
    # Workers that are threads count the memory of this whole process, which many tests have used: no limit.
    limits = {"threads": 0, "processes": "1GB"}
    started = {}

    def cluster(kind):
        if kind not in started:
            started[kind] = distributed.LocalCluster(
                n_workers=2,
                threads_per_worker=1,
                processes=kind == "processes",
                memory_limit=limits[kind],
                dashboard_address=":0",
            )
        return started[kind]

    with dask.config.set({"distributed.comm.timeouts.connect": "60s"}):  # of a busy machine
        yield cluster
        for one in started.values():
            one.close()


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
