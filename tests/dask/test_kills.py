"""Workers that die at any moment of a fit, of compute and of predict: the same labels, and no error of Dask.

``python -m tests.dask.test_kills [SEED]`` does the same with other moments, and prints what happened.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import dask.array as da
import numpy as np
import pytest

import consilience as cs
import dask

distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'consilience[dask]'")

MOMENTS = 10
PARAMS: dict[str, Any] = {"generator": "kmeans", "n_clusterings": 5, "random_state": 0}


def slow(block: np.ndarray) -> np.ndarray:
    """The same block, but so late that a kill finds work."""
    time.sleep(0.1)
    return block


def features() -> tuple[np.ndarray, da.Array]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 5)) + 4 * rng.integers(0, 4, 4000)[:, None]
    return X, da.from_array(X, chunks=(250, -1)).map_blocks(slow, dtype=X.dtype, meta=X[:0])


def work(lazy: da.Array) -> tuple[np.ndarray, ...]:
    """Everything that a team does on a cluster, and keeps no more of than it needs."""
    model = cs.ConsensusClustering(4, **PARAMS).fit(lazy)
    labels, sure = model.labels_, model.confidence_
    found = labels.compute()
    further = model.predict(lazy)
    model = model.to_local()
    return found, sure.compute(), further.compute(), model.predict(lazy).compute()


@contextmanager
def two_workers() -> Iterator[Any]:
    """A client of two processes, of which new ones start where old ones do not come back."""
    options = {"threads_per_worker": 1, "processes": True, "memory_limit": "1GB", "dashboard_address": ":0"}
    with dask.config.set({"distributed.comm.timeouts.connect": "60s"}):
        cluster = distributed.LocalCluster(n_workers=2, **options)
        try:
            with distributed.Client(cluster) as client:
                cluster.adapt(minimum=2, maximum=2)
                client.wait_for_workers(2, timeout=120)
                yield client
        finally:
            with suppress(TimeoutError):  # of nannies that wait for workers which were killed
                cluster.close()


def undisturbed() -> float:
    """Seconds of the work on workers that have compiled everything."""
    _, lazy = features()
    with two_workers():
        work(lazy)
        begun = time.perf_counter()
        work(lazy)
        return time.perf_counter() - begun


def disturbed(moment: float, everyone: bool) -> list[str]:
    """Kill a worker, or all, so many seconds after the work began; returns what went wrong."""
    X, lazy = features()
    expected = cs.ConsensusClustering(4, **PARAMS).fit(X)
    with two_workers() as client:
        pids = list(client.run(os.getpid).values())
        timer = threading.Timer(moment, kill, [pids if everyone else pids[:1]])
        timer.start()
        try:
            labels, sure, *further = work(lazy)
        except Exception as error:
            return [f"killed after {moment:.2f} s: {type(error).__name__}: {error}"]
        finally:
            timer.cancel()
    wrong = []
    if not all(np.array_equal(one, expected.labels_) for one in (labels, *further)):
        wrong.append(f"killed after {moment:.2f} s: other labels")
    if not np.array_equal(sure, expected.confidence_):
        wrong.append(f"killed after {moment:.2f} s: other confidence")
    return wrong


def kill(pids: list[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def length() -> float:
    return undisturbed()


@pytest.mark.slow
@pytest.mark.parametrize("everyone", [False, True], ids=["one worker", "all workers"])
@pytest.mark.parametrize("moment", np.random.default_rng(0).uniform(0, 1, MOMENTS))
def test_killed_workers_change_nothing_but_the_time(length, moment, everyone):
    assert disturbed(moment * length, everyone) == []


def main(seed: int) -> None:
    warnings.simplefilter("ignore")
    seconds, rng, failed = undisturbed(), np.random.default_rng(seed), 0
    print(f"{seconds:.1f} s undisturbed", flush=True)
    for everyone in (False, True):
        for moment in rng.uniform(0, seconds, MOMENTS):
            wrong = disturbed(float(moment), everyone)
            failed += bool(wrong)
            print("all workers" if everyone else "one worker", f"{moment:.2f} s", wrong or "same", flush=True)
    print(f"{failed} of {2 * MOMENTS} failed")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
