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
from typing import Any

import dask.array as da
import numpy as np
import pytest

import consilience as cs

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


def run(client: Any, moments: np.ndarray, everyone: bool) -> list[str]:
    """Kill a worker, or all of them, at each moment (seconds after the work began); what went wrong."""
    X, lazy = features()
    expected = cs.ConsensusClustering(4, **PARAMS).fit(X)
    wrong = []
    for moment in moments:
        client.wait_for_workers(2, timeout=120)
        pids = list(client.run(os.getpid).values())
        timer = threading.Timer(moment, kill, [pids if everyone else pids[:1]])
        timer.start()
        begun = time.perf_counter()
        try:
            found = work(lazy)
        except Exception as error:
            wrong.append(f"killed after {moment:.2f} s: {type(error).__name__}: {error}")
            continue
        finally:
            timer.join()
        if not all(np.array_equal(found[i], expected.labels_) for i in (0, 2, 3)):
            wrong.append(f"killed after {moment:.2f} s: other labels")
        if not np.array_equal(found[1], expected.confidence_):
            wrong.append(f"killed after {moment:.2f} s: other confidence")
        print(f"killed after {moment:.2f} of {time.perf_counter() - begun:.2f} s", flush=True)
    return wrong


def kill(pids: list[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("everyone", [False, True], ids=["one worker", "all workers"])
def test_killed_workers_change_nothing_but_the_time(mortal, everyone):
    _, lazy = features()
    work(lazy)  # compiled
    begun = time.perf_counter()
    work(lazy)
    length = time.perf_counter() - begun
    moments = np.random.default_rng(int(everyone)).uniform(0, length, MOMENTS)
    assert run(mortal, moments, everyone) == []


def main(seed: int) -> None:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, memory_limit="1GB", dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        _, lazy = features()
        work(lazy)
        begun = time.perf_counter()
        work(lazy)
        length = time.perf_counter() - begun
        for everyone in (False, True):
            print(f"{'all workers' if everyone else 'one worker'}, {length:.1f} s undisturbed", flush=True)
            print(run(client, rng.uniform(0, length, MOMENTS), everyone) or "no error, the same labels")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
