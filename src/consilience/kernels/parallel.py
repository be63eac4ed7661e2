"""Work in row blocks on threads: the same blocks, and so the same sums, whatever the number of threads.

Threads are over our own blocks and tasks. BLAS and OpenMP have one thread meanwhile (:func:`one_blas_thread`): their threads
wait for each other by spinning, which on small matrices or beside other work costs more than it saves, and the rounding of
a product depends on how many they are.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import lru_cache
from numbers import Integral
from typing import Any, TypeVar

import joblib
import numpy as np

from ..errors import InputError
from ..progress import counting
from ..validation import N_JOBS, check

T = TypeVar("T")

#: Seconds of work that a caller does alone. A thread woken for less gains little on a quiet machine, and on a busy one it may
#: lose its core with the interpreter's lock or in the middle of a task, and be waited for: schedulers hand out cores for
#: some milliseconds.
_ALONE = 0.003
_WAITING = 0.5  # seconds in which a caller alone may seem to do nothing
_seconds: dict[Any, float] = {}  # that a task took of its thread, the last time that function was mapped
_PRODUCT_ROWS = 256  # of one block of a product: enough to make up for reading the right factor anew
_INNER_COLUMNS = 64  # of one block of an inner product, whose result has no more rows than some hundred


class _Own(threading.local):
    """What holds for this thread alone."""

    alone = False


_own = _Own()


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, this thread does all work itself: for tasks of a scheduler that keeps every core busy with others."""
    before, _own.alone = _own.alone, True
    try:
        yield
    finally:
        _own.alone = before


def resolve_jobs(n_jobs: int | None) -> int:
    """Number of threads: None is every core this process may use, negative counts back from there.

    Like BLAS and scikit-learn's compiled loops (and unlike joblib's), the default uses the machine; and like theirs it is
    at most OMP_NUM_THREADS where the environment sets that.
    """
    if n_jobs is None:
        return 1 if _own.alone else _default_jobs()
    if isinstance(n_jobs, Integral) and n_jobs == 0:
        raise InputError("n_jobs=0 has no meaning; pass None for all cores or a positive number.")
    check("n_jobs", n_jobs, N_JOBS)
    if _own.alone:
        return 1
    return n_jobs if n_jobs > 0 else max(1, cores() + 1 + n_jobs)


@lru_cache(maxsize=1)
def cores() -> int:
    """Asked once: joblib reads the control group's files every time."""
    return joblib.cpu_count()


@lru_cache(maxsize=1)
def _default_jobs() -> int:
    # A list is one number for each level.
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return max(1, min(cores(), int(wanted))) if wanted.isdecimal() else cores()


def blocks(n: int, size: int) -> Iterator[tuple[int, int]]:
    """(start, stop) of consecutive blocks covering range(n)."""
    for start in range(0, n, size):
        yield start, min(start + size, n)


def map_blocks(function: Callable[[int, int], T], n: int, *, size: int, n_jobs: int | None = None) -> list[T]:
    """[function(start, stop) for each block], in block order, on ``n_jobs`` threads.

    ``size`` must not depend on ``n_jobs``: a reduction over the returned list then adds the same numbers
    in the same order on any machine.
    """
    return _share_out(lambda span: function(*span), list(blocks(n, size)), resolve_jobs(n_jobs), function)


def map_tasks(function: Callable[..., T], tasks: list, *, n_jobs: int | None = None) -> list[T]:
    """[function(task) for task in tasks], in order, on ``n_jobs`` threads (for work that frees the lock).

    The caller works too, and others join in if it takes longer than a moment; nobody waits for a thread that has not begun.
    Where tasks fail, the error is that of the first of them, as in a loop.
    """
    return _share_out(function, tasks, resolve_jobs(n_jobs), function)


def _share_out(function: Callable[..., T], tasks: list, workers: int, named: Callable) -> list[T]:
    with counting(len(tasks)) as done:
        if done is None:
            return _share(function, tasks, workers, named)

        def counted(task: Any) -> T:
            result = function(task)
            done()
            return result

        return _share(counted, tasks, workers, named)


def _share(function: Callable[..., T], tasks: list, workers: int, named: Callable) -> list[T]:
    if min(workers, len(tasks)) <= 1:
        return [function(task) for task in tasks]
    # Calls from one place in the code have in common how long their tasks take.
    place = getattr(named, "__code__", None) or type(named)
    expected = _seconds.get(place)
    found: list[T] = []
    if expected is not None and expected * len(tasks) <= _ALONE:
        found, expected = _alone(function, tasks, expected)
        _seconds[place] = expected
        if len(found) == len(tasks):
            return found
    run = _Run(function, tasks[len(found) :])
    # Where nothing is known, one task may be most of the work: helpers look at the clock themselves.
    rest, _seconds[place] = run.results(workers, later=expected is None)
    return found + rest


def _alone(function: Callable[..., T], tasks: list, expected: float) -> tuple[list[T], float]:
    """(what the first tasks return, seconds that one took): all of them, unless that is too much work for one thread."""
    found: list[T] = []
    begun, worked = time.perf_counter(), time.thread_time()
    for task in tasks:
        found.append(function(task))
        if (passed := time.perf_counter() - begun) > _ALONE:
            # What waits for other processes is not work: the thread's own clock, which is dearer to ask, decides. Where it
            # stands for long, others work for these tasks.
            expected = (time.thread_time() - worked) / len(found)
            if expected * len(found) > _ALONE or passed > _WAITING:
                break
    return found, expected


def row_product(
    A: np.ndarray, B: np.ndarray, out: np.ndarray | None = None, *, n_jobs: int | None = None
) -> np.ndarray:
    """A @ B by blocks of rows of A on threads: the same bits for any number of them."""
    if out is None:
        out = np.empty((A.shape[0], B.shape[1]), np.result_type(A, B))
    map_blocks(lambda a, b: np.matmul(A[a:b], B, out=out[a:b]), A.shape[0], size=_PRODUCT_ROWS, n_jobs=n_jobs)
    return out


def inner_product(A: np.ndarray, B: np.ndarray, *, n_jobs: int | None = None) -> np.ndarray:
    """A' @ B of tall matrices, by blocks of columns of A on threads: the same bits for any number of them."""
    out = np.empty((A.shape[1], B.shape[1]), np.result_type(A, B))
    map_blocks(
        lambda a, b: np.matmul(A[:, a:b].T, B, out=out[a:b]), len(out), size=_INNER_COLUMNS, n_jobs=n_jobs
    )
    return out


class _Run:
    """The tasks of one call, taken in order by whoever is free."""

    def __init__(self, function: Callable[..., Any], tasks: list):
        self.function, self.tasks = function, tasks
        self.found: list[Any] = [None] * len(tasks)
        self.failed: dict[int, BaseException] = {}
        self.lock = threading.Lock()
        self.end = len(tasks)  # falls to what was taken, once a task has failed
        self.taken = self.finished = self.helping = 0
        self.all_taken, self.all_finished = threading.Event(), threading.Event()

    def results(self, workers: int, *, later: bool) -> tuple[list, float]:
        """(what the tasks return, seconds that one took of the caller's thread), on at most ``workers`` threads."""
        begun, own = time.thread_time(), 0
        try:
            for _ in range(min(workers, len(self.tasks)) - 1):
                _pool().submit(self.help_later if later else self.help)
            own = self.work()
        except BaseException:
            self.abandon()
            raise
        with self.lock:
            self.end = self.taken
            busy = self.finished < self.taken
        self.all_taken.set()
        if busy:
            self.all_finished.wait()
        if self.failed:
            raise self.failed[min(self.failed)]
        return self.found, (time.thread_time() - begun) / max(own, 1)

    def abandon(self) -> None:
        """Let helpers end what they are at. An interrupt may fall between two lines of the caller, whose own task then never
        counts as finished: only helpers are waited for."""
        self.end = 0
        self.all_taken.set()
        while self.helping:
            time.sleep(0.001)

    def help_later(self) -> None:
        if not self.all_taken.wait(_ALONE):
            self.help()

    def help(self) -> None:
        _limits.hold_helper()
        self.work(helper=True)

    def work(self, *, helper: bool = False) -> int:
        """Do tasks while there are any; returns how many."""
        done = 0
        while True:
            with self.lock:
                i = self.taken
                if i >= self.end:
                    return done
                self.taken += 1
                self.helping += helper
            try:
                self.found[i] = self.function(self.tasks[i])
            except BaseException as error:  # raised by the caller
                self.failed[i] = error
            done += 1
            with self.lock:
                self.finished += 1
                self.helping -= helper
                if self.failed:
                    self.end = self.taken
                if self.finished == self.taken >= self.end:
                    self.all_finished.set()


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    """Threads are kept: starting them for every call costs more than many a call."""
    return ThreadPoolExecutor(max(16, 4 * cores()), thread_name_prefix="consilience")


class _Limits:
    """One thread for BLAS while anyone needs it: the first to enter sets it, the last to leave restores what was.

    The number of OpenMP's threads belongs to the thread that asks, so each of ours sets its own.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.open = 0
        self.own = threading.local()  # depth, and how to restore OpenMP
        self.blas: Any = None
        self._controller: Any = None
        self._modules = 0

    def controller(self) -> Any:
        """The libraries loaded. Looking for them takes milliseconds and is repeated when modules were imported."""
        if self._controller is None or len(sys.modules) != self._modules:
            from threadpoolctl import ThreadpoolController

            self._controller, self._modules = ThreadpoolController(), len(sys.modules)
        return self._controller

    def enter(self) -> None:
        depth = getattr(self.own, "depth", 0)
        with self.lock:
            if self.open == 0:
                with _any_thread():
                    self.blas = self.controller().select(user_api="blas").limit(limits=1)
            self.open += 1
            if depth == 0:
                self.own.openmp = self._controller.select(user_api="openmp").limit(limits=1)
        self.own.depth = depth + 1

    def leave(self) -> None:
        self.own.depth -= 1
        if self.own.depth == 0:
            self.own.openmp.restore_original_limits()
        with self.lock:
            self.open -= 1
            if self.open == 0:
                self.restore()

    def hold_helper(self) -> None:
        """OpenMP on one thread for good, in a thread of our pool."""
        with self.lock:
            controller = self._controller if self.open else None
            if controller is not None and getattr(self.own, "held", None) is not controller:
                controller.select(user_api="openmp").limit(limits=1)
                self.own.held = controller

    def forked(self) -> None:
        """In a child process: only the thread that forked is left, and nobody holds the lock."""
        self.lock = threading.Lock()
        self.open, before = getattr(self.own, "depth", 0), self.open
        if before and not self.open:
            self.restore()

    def restore(self) -> None:
        with _any_thread():
            self.blas.restore_original_limits()


@contextmanager
def _any_thread() -> Iterator[None]:
    """Newer threadpoolctl lets one thread set OpenBLAS's number and silently ignores others; ours take turns by a lock."""
    import threadpoolctl

    release = getattr(getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", None)
    if release is None:
        yield
        return
    release(force=True)
    yield
    release(force=True)


_limits = _Limits()


def _after_fork() -> None:
    _pool.cache_clear()  # its threads stayed behind
    _limits.forked()


with suppress(AttributeError):  # where there is no fork there is nothing to register
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS and OpenMP to one thread; blocks may be nested, and open on several threads at a time."""
    _limits.enter()
    try:
        yield
    finally:
        _limits.leave()
