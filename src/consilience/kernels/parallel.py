"""Work in row blocks on threads: the same blocks, and so the same sums, whatever the number of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from numbers import Integral
from typing import TypeVar

import joblib

from ..errors import InputError
from ..validation import N_JOBS, check

T = TypeVar("T")


def resolve_jobs(n_jobs: int | None) -> int:
    """Number of threads: None is every core this process may use, negative counts back from there.

    Like BLAS and scikit-learn's compiled loops (and unlike joblib's), the default uses the machine.
    """
    cores = _cores()
    if n_jobs is None:
        return cores
    if isinstance(n_jobs, Integral) and n_jobs == 0:
        raise InputError("n_jobs=0 has no meaning; pass None for all cores or a positive number.")
    check("n_jobs", n_jobs, N_JOBS)
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


@lru_cache(maxsize=1)
def _cores() -> int:
    """Asked once: joblib reads the control group's files every time."""
    return joblib.cpu_count()


def blocks(n: int, size: int) -> Iterator[tuple[int, int]]:
    """(start, stop) of consecutive blocks covering range(n)."""
    for start in range(0, n, size):
        yield start, min(start + size, n)


def map_blocks(function: Callable[[int, int], T], n: int, *, size: int, n_jobs: int | None = None) -> list[T]:
    """[function(start, stop) for each block], in block order, on ``n_jobs`` threads.

    ``size`` must not depend on ``n_jobs``: a reduction over the returned list then adds the same numbers
    in the same order on any machine.
    """
    spans = list(blocks(n, size))
    return map_tasks(lambda span: function(*span), spans, n_jobs=n_jobs)


def map_tasks(function: Callable[..., T], tasks: list, *, n_jobs: int | None = None) -> list[T]:
    """[function(task) for task in tasks], in order, on ``n_jobs`` threads (for work that frees the lock)."""
    workers = min(resolve_jobs(n_jobs), len(tasks))
    if workers <= 1:
        return [function(task) for task in tasks]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, tasks))


_held: list[int] = []  # the limits in force, one for each block that is open with the last of them
_lock = threading.Lock()


@contextmanager
def blas_threads(n_jobs: int | None) -> Iterator[None]:
    """Hold BLAS and OpenMP to ``n_jobs`` threads; None leaves them as they are.

    Blocks inside a block with the same limit, also on other threads, cost nothing: setting a limit takes milliseconds.
    """
    if n_jobs is None:
        yield
        return
    jobs = resolve_jobs(n_jobs)
    with _lock:
        joined = bool(_held) and _held[-1] == jobs
        if joined:
            _held.append(jobs)
    if joined:
        try:
            yield
        finally:
            with _lock:
                _held.remove(jobs)
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=jobs):
        with _lock:
            _held.append(jobs)
        try:
            yield
        finally:
            with _lock:
                _held.remove(jobs)
