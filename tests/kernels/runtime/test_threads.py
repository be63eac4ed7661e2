"""Threads over blocks: order, errors, who works; and BLAS on one thread while anyone needs it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest
import threadpoolctl

from consilience._kernels.runtime import sharing
from consilience._kernels.runtime import threads as parallel
from consilience._kernels.runtime.threads import (
    map_blocks,
    map_tasks,
    one_blas_thread,
    resolve_jobs,
    row_product,
)
from consilience.errors import InputError

# Tasks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 2, 7, 100])
@pytest.mark.parametrize("seconds", [0.0, 0.003])
def test_results_come_in_order(n_jobs, count, seconds):
    def square(i):
        if i < 6:
            time.sleep(seconds)
        return i * i

    assert map_tasks(square, list(range(count)), n_jobs=n_jobs) == [i * i for i in range(count)]


def burn(seconds):
    """Use the thread's own clock up, as work does."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


@pytest.mark.parametrize("count", [2, 40])
@pytest.mark.parametrize("expected", [None, 0.0, 1.0], ids=["new", "known to be short", "known to be long"])
def test_long_tasks_are_shared(count, expected, monkeypatch):
    """Two tasks that wait for each other end only if there are two threads."""
    meeting = threading.Barrier(2, timeout=30)

    def task(i):
        if i in (count - 2, count - 1) and (count > 2 or expected != 0.0):
            meeting.wait()
        burn(0.005)

    monkeypatch.setattr(sharing, "_places", {})
    place = sharing.place_of(task, count)
    place.seconds = expected
    map_tasks(task, list(range(count)), n_jobs=2)
    assert place.seconds > 0.001  # and known for the next time


@pytest.mark.parametrize("count", [2, 40])
def test_short_work_stays_on_the_callers_thread(count, monkeypatch):
    monkeypatch.setattr(sharing, "ALONE", 60.0)
    monkeypatch.setattr(sharing, "_places", {})
    for _ in range(2):  # before it is known that it is short, and after
        workers = set(map_tasks(lambda _: threading.get_ident(), list(range(count)), n_jobs=2))
        assert workers == {threading.get_ident()}


def test_threads_are_kept(monkeypatch):
    monkeypatch.setattr(sharing, "ALONE", 0.0)
    for _ in range(50):
        map_tasks(lambda _: time.sleep(0.0002), [0, 1], n_jobs=2)
    ours = [thread for thread in threading.enumerate() if thread.name.startswith("consilience")]
    assert 0 < len(ours) <= parallel._pool()._max_workers


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_the_error_is_that_of_the_first_task_that_fails(n_jobs):
    done = []

    def task(i):
        time.sleep(0.004 if i == 3 else 0.001)
        if i in (3, 4):
            raise InputError(f"task {i}")
        done.append(i)

    with pytest.raises(InputError, match="task 3"):
        map_tasks(task, list(range(200)), n_jobs=n_jobs)
    assert len(done) < 100  # nobody goes on with what is lost


def test_tasks_within_tasks():
    """More callers than threads: those who wait for nobody to come do the work themselves."""

    def outer(i):
        return sum(map_tasks(lambda j: time.sleep(0.001) or i * j, list(range(4)), n_jobs=4))

    assert map_tasks(outer, list(range(40)), n_jobs=40) == [6 * i for i in range(40)]


def test_blocks_do_not_depend_on_the_number_of_threads():
    spans = [map_blocks(lambda a, b: (a, b), 1000, size=64, n_jobs=j) for j in (1, 2, 3)]
    assert spans[0] == spans[1] == spans[2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("transposed", [False, True])
def test_row_product_has_the_same_bits_for_any_number_of_threads(dtype, transposed):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((700, 90)).astype(dtype), rng.standard_normal((90, 11)).astype(dtype)
    if transposed:
        A = np.ascontiguousarray(A.T).T
    with one_blas_thread():
        found = [row_product(A, B, n_jobs=j) for j in (1, 2, 3, None)]
    out = np.empty((700, 11), dtype)
    assert row_product(A, B, out) is out
    assert all(np.array_equal(found[0], other) for other in found)
    assert np.allclose(found[0], A @ B, rtol=1e-3 if dtype == np.float32 else 1e-12)


def test_a_forked_child_has_threads_of_its_own():
    if not hasattr(os, "fork"):
        pytest.skip("this system has no fork")
    code = (
        "import os, threading, time\n"
        "from consilience._kernels.runtime.threads import map_tasks, one_blas_thread\n"
        "from consilience._kernels.runtime.sharing import _places\n"
        "meeting = threading.Barrier(2, timeout=30)\n"
        "work = lambda: map_tasks(lambda i: meeting.wait() * 0 or threading.get_ident(), [0, 1], n_jobs=2)\n"
        "work()\n"
        "_places.clear()\n"
        "with one_blas_thread():\n"
        "    pid = os.fork()\n"
        "    if pid == 0:\n"
        "        with one_blas_thread():\n"
        "            os._exit(0 if len(set(work())) == 2 else 7)\n"
        "assert os.waitpid(pid, 0)[1] == 0\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)


# How many ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"), [("1", 1), ("3", 3), ("2,1", 2), ("64", 4), ("", 4), ("many", 4), ("0", 1)]
)
def test_minus_one_is_all_cores_or_what_the_environment_says(monkeypatch, value, expected):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    monkeypatch.setattr(parallel, "cores", lambda: 4)
    parallel._all_jobs.cache_clear()
    try:
        assert resolve_jobs(-1) == expected
        assert resolve_jobs(-2) == max(1, expected - 1)
        assert resolve_jobs(7) == 7
        assert resolve_jobs(None) == 1
    finally:
        parallel._all_jobs.cache_clear()


def test_none_is_what_joblib_says():
    assert resolve_jobs(None) == 1
    with joblib.parallel_backend("threading", n_jobs=3):
        assert resolve_jobs(None) == 3
        assert resolve_jobs(2) == 2
    assert resolve_jobs(None) == 1


# BLAS -------------------------------------------------------------------------------------------------------


def blas_threads():
    return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]


def openmp_threads():
    return [pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "openmp"]


@pytest.fixture
def three():
    """A user who has chosen three threads."""
    import sklearn.cluster  # noqa: F401  (brings OpenMP)

    with threadpoolctl.threadpool_limits(3):
        if set(blas_threads()) != {3}:
            pytest.skip("this BLAS takes no number of threads")
        yield


def test_one_thread_inside_and_what_was_before_after(three):
    with one_blas_thread():
        with one_blas_thread():
            assert set(blas_threads() + openmp_threads()) == {1}
        assert set(blas_threads() + openmp_threads()) == {1}
    assert set(blas_threads() + openmp_threads()) == {3}


def test_an_error_restores_too(three):
    with pytest.raises(InputError), one_blas_thread():
        raise InputError("x")
    assert set(blas_threads() + openmp_threads()) == {3}


def test_the_last_to_leave_restores(three):
    """Two that overlap: the first leaves while the second is inside."""
    inside, leave, seen = threading.Event(), threading.Event(), []

    def second():
        with one_blas_thread():
            inside.set()
            leave.wait(30)
            seen.append(set(blas_threads() + openmp_threads()))

    thread = threading.Thread(target=second)
    with one_blas_thread():
        thread.start()
        inside.wait(30)
    assert set(blas_threads()) == {1}
    leave.set()
    thread.join()
    assert seen == [{1}]
    assert set(blas_threads()) == {3}


def test_many_at_once(three):
    wrong = []

    def enter_and_leave():
        for _ in range(50):
            with one_blas_thread():
                if set(blas_threads()) != {1}:
                    wrong.append(1)

    threads = [threading.Thread(target=enter_and_leave) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert set(blas_threads()) == {3}


def test_helpers_have_one_openmp_thread_each(three):
    """OpenMP counts for each thread by itself."""
    meeting = threading.Barrier(2, timeout=30)
    with one_blas_thread():
        found = map_tasks(lambda _: (meeting.wait() and 0) or openmp_threads(), [0, 1], n_jobs=2)
    assert [set(each) for each in found] == [{1}, {1}]
