"""Work in row blocks on threads: the same blocks, and so the same sums, whatever the number of threads.

Threads are over our own blocks and tasks. BLAS and OpenMP have one thread meanwhile
(:func:`one_blas_thread`): their threads wait for each other by spinning, which on small matrices or beside
other work costs more than it saves, and the rounding of a product depends on how many they are.
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

from ..._base.parameters import N_JOBS, check
from ..._base.progress import counting
from ...errors import InputError
from ..compile.interrupts import interrupts_outside_kernels
from . import sharing
from .sharing import Place, place_of

T = TypeVar("T")

_BRIEF = 0.0005  # seconds of which nothing is learned but that they were few
_TRIAL = 0.01  # seconds after which a helper asks whether it helps: twice a turn of the interpreter's lock
_PAUSE = 0.02  # seconds for which one that does not help stays away, at first
_PRODUCT_ROWS = 256  # of one block of a product: enough to make up for reading the right factor again
_INNER_COLUMNS = 64  # of one block of an inner product, whose result has no more rows than some hundred


class _Own(threading.local):
    """What holds for this thread alone."""

    alone = False


_own = _Own()


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside, this thread does all work itself: for tasks of a scheduler that keeps every core busy."""
    before, _own.alone = _own.alone, True
    try:
        yield
    finally:
        _own.alone = before


def resolve_jobs(n_jobs: int | None) -> int:
    """Number of threads, by one rule for the whole library.

    -1 is all cores, other negative numbers count back from there, and None is what
    :func:`joblib.parallel_config` says, or 1 outside of it.

    All cores are those that this process may use, and, as for BLAS and scikit-learn's compiled loops, at most
    OMP_NUM_THREADS where the environment sets that.
    """
    if isinstance(n_jobs, Integral) and n_jobs == 0:
        raise InputError("n_jobs=0 has no meaning; pass -1 for all cores or a positive number.")
    check("n_jobs", n_jobs, N_JOBS)
    if _own.alone:
        return 1
    if n_jobs is None:
        return max(1, int(joblib.effective_n_jobs(None)))
    return int(n_jobs) if n_jobs > 0 else max(1, _all_jobs() + 1 + int(n_jobs))


@lru_cache(maxsize=1)
def cores() -> int:
    """Asked once: joblib reads the control group's files every time."""
    return joblib.cpu_count()


@lru_cache(maxsize=1)
def _all_jobs() -> int:
    # A list is one number for each level.
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return max(1, min(cores(), int(wanted))) if wanted.isdecimal() else cores()


def blocks(n: int, size: int) -> Iterator[tuple[int, int]]:
    """(start, stop) of consecutive blocks covering range(n)."""
    for start in range(0, n, size):
        yield start, min(start + size, n)


def map_blocks(function: Callable[[int, int], T], n: int, *, size: int, n_jobs: int | None = -1) -> list[T]:
    """[function(start, stop) for each block], in block order, on ``n_jobs`` threads.

    ``size`` must not depend on ``n_jobs``: a reduction over the returned list then adds the same numbers
    in the same order on any machine.
    """
    return _share_out(lambda span: function(*span), list(blocks(n, size)), resolve_jobs(n_jobs), function)


def map_tasks(function: Callable[..., T], tasks: list, *, n_jobs: int | None = -1) -> list[T]:
    """[function(task) for task in tasks], in order, on ``n_jobs`` threads (for work that frees the lock).

    The caller works too, and others join in if it takes longer than a moment; nobody waits for a thread that
    has not begun. Where tasks fail, the error is that of the first of them, as in a loop.
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
    place = place_of(named, len(tasks))
    found: list[T] = []
    if place.brief(len(tasks)):
        found = _alone(function, tasks, place)
        if len(found) == len(tasks):
            return found
    return found + _Run(function, tasks[len(found) :], place).results(workers)


def _alone(function: Callable[..., T], tasks: list, place: Place) -> list[T]:
    """What the first tasks return: all of them, unless that is too much work for one thread."""
    found: list[T] = []
    passed = 0.0
    begun, worked = time.perf_counter(), time.thread_time()
    checked = limit = place.limit
    for task in tasks:
        found.append(function(task))
        passed = time.perf_counter() - begun
        if passed > checked and len(found) < len(tasks):
            # What waits for other processes is not work: the thread's own clock, slower to ask,
            # decides. Where it stands for long, others work for these tasks.
            work = time.thread_time() - worked
            if work > limit or passed > sharing.WAITING:
                break
            checked = passed + limit - work
    if passed < _BRIEF:
        place.seconds = passed / len(found)
    else:
        work, passed = time.thread_time() - worked, time.perf_counter() - begun
        place.seconds = work / len(found)
        place.was_alone(work, passed, len(found))
    return found


def row_product(
    A: np.ndarray, B: np.ndarray, out: np.ndarray | None = None, *, n_jobs: int | None = -1
) -> np.ndarray:
    """A @ B by blocks of rows of A on threads: the same bits for any number of them."""
    if out is None:
        out = np.empty((A.shape[0], B.shape[1]), np.result_type(A, B))
    map_blocks(lambda a, b: np.matmul(A[a:b], B, out=out[a:b]), A.shape[0], size=_PRODUCT_ROWS, n_jobs=n_jobs)
    return out


def inner_product(A: np.ndarray, B: np.ndarray, *, n_jobs: int | None = -1) -> np.ndarray:
    """A' @ B of tall matrices, by blocks of columns of A on threads: the same bits for any number of them."""
    out = np.empty((A.shape[1], B.shape[1]), np.result_type(A, B))
    map_blocks(
        lambda a, b: np.matmul(A[:, a:b].T, B, out=out[a:b]), len(out), size=_INNER_COLUMNS, n_jobs=n_jobs
    )
    return out


class _Run:
    """The tasks of one call, taken in order by whoever is free."""

    def __init__(self, function: Callable[..., Any], tasks: list, place: Place):
        self.function, self.tasks, self.place = function, tasks, place
        self.found: list[Any] = [None] * len(tasks)
        self.failed: dict[int, BaseException] = {}
        self.lock = threading.Lock()
        self.end = len(tasks)  # falls to what was taken, once a task has failed
        self.taken = self.finished = self.helping = self.helped = 0
        self.spent = 0.0  # seconds of helpers' threads
        self.all_taken, self.all_finished = threading.Event(), threading.Event()

    def results(self, workers: int) -> list:
        """What the tasks return, on at most ``workers`` threads."""
        begun, worked, own = time.perf_counter(), time.thread_time(), 0
        # Where nothing is known, one task may be most of the work: helpers look at the clock themselves.
        help = self.help_later if self.place.seconds is None else self.help
        try:
            for _ in range(min(workers, len(self.tasks)) - 1):
                _pool().submit(help)
            own = self.work_on()
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
        self.remember(time.perf_counter() - begun, time.thread_time() - worked, own)
        return self.found

    def remember(self, clock: float, work: float, own: int) -> None:
        """Tell the place what this run took: clock seconds, the caller's thread seconds, and its tasks."""
        self.place.seconds = work / max(own, 1)
        if self.helped:
            self.place.was_shared(work + self.spent, clock, len(self.tasks))
        else:
            self.place.was_alone(work, clock, len(self.tasks))

    def abandon(self) -> None:
        """Let helpers finish their current tasks.

        An interrupt may fall between two lines of the caller, whose own task then never counts as finished:
        only helpers are waited for.
        """
        self.end = 0
        self.all_taken.set()
        while self.helping:
            time.sleep(0.001)

    def help_later(self) -> None:
        if not self.all_taken.wait(sharing.ALONE):
            self.help()

    def help(self) -> None:
        """Take tasks; where that does not pay, leave the caller alone for longer and longer whiles."""
        _limits.hold_helper()
        pause = _PAUSE
        while self.help_while_it_pays() and not self.all_taken.wait(pause):
            pause *= 2

    def help_while_it_pays(self) -> bool:
        """Whether there may be tasks left."""
        while True:
            begun, worked, done = time.perf_counter(), time.thread_time(), 0
            while (clock := time.perf_counter() - begun) < _TRIAL:
                if not self.do_one(helper=True):
                    return False
                done += 1
            threads = 1 + max(1, self.helping)
            if not self.place.pays(threads * self.place.worth(time.thread_time() - worked, done) / clock):
                return True

    def work_on(self) -> int:
        """Do tasks while there are any; returns how many. Notes what a caller does while nobody helps."""
        done = helped = 0
        begun, worked = time.perf_counter(), time.thread_time()
        while self.do_one():
            done += 1
            if not self.helped:  # so far; all of the run is noted at its end
                continue
            now, spent = time.perf_counter(), time.thread_time()
            if self.helped == helped and not self.helping:
                self.place.alone.add(spent - worked, now - begun)
            begun, worked, helped = now, spent, self.helped
        return done

    def do_one(self, *, helper: bool = False) -> bool:
        """Do the next task; False if there is none."""
        with self.lock:
            i = self.taken
            if i >= self.end:
                return False
            self.taken += 1
            self.helping += helper
            self.helped += helper
        worked = time.thread_time() if helper else 0.0
        try:
            self.found[i] = self.function(self.tasks[i])
        except BaseException as error:  # raised by the caller
            self.failed[i] = error
        spent = time.thread_time() - worked if helper else 0.0
        with self.lock:
            self.finished += 1
            self.spent += spent
            self.helping -= helper
            if self.failed:
                self.end = self.taken
            if self.finished == self.taken >= self.end:
                self.all_finished.set()
        return True


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    """Threads are kept: starting them for every call costs more than many a call."""
    return ThreadPoolExecutor(max(16, 4 * cores()), thread_name_prefix="consilience")


class _Limits:
    """One thread for BLAS while anyone needs it: the first to enter sets it, the last to leave restores it.

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
        """The loaded libraries.

        Looking for them takes milliseconds and is repeated when modules were imported.
        """
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
    """Let any thread set OpenBLAS's number of threads; ours take turns by a lock.

    Newer threadpoolctl lets one thread set it and silently ignores others.
    """
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
    """Hold BLAS and OpenMP to one thread; blocks may be nested, and open on several threads at a time.

    As these are the blocks in which kernels run, a Ctrl-C is kept from crashing them.
    """
    _limits.enter()
    try:
        with interrupts_outside_kernels():
            yield
    finally:
        _limits.leave()
