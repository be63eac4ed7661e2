"""Where tasks run: on the active client, or else on this machine.

Without a client, the scheduler that Dask is set to runs them, by default on threads. The workers are watched
while results are waited for, and results that were lost are requested again.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures as threads
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from dask.base import get_scheduler
from dask.callbacks import Callback
from dask.delayed import Delayed, delayed
from dask.diagnostics import ProgressBar

import dask

from .._base.progress import progress
from .._kernels.runtime.memory import available_memory, size
from ..errors import InputError, NotEnoughMemoryError

#: Share of a worker's memory that one task may be expected to take: Dask pauses a worker at 0.8.
_SHARE = 0.6
#: Seconds between looks at workers while results are waited for.
_LOOK = 2.0
#: Seconds to wait while all workers are paused, or while there is none.
_PATIENCE = 60.0
_PATIENCE_FOR_WORKERS = 300.0
#: How often tasks are requested whose results are lost before they arrive.
_ATTEMPTS = 4


def active_client() -> Any:
    """The client of ``distributed`` that tasks go to; None if they stay in this process."""
    refuse_inside_task()
    return client_in_force()


def client_in_force() -> Any:
    """The same client, but it can be asked for anywhere."""
    owner = getattr(get_scheduler(), "__self__", None)
    return owner if hasattr(owner, "scatter") and hasattr(owner, "scheduler_info") else None


def refuse_inside_task() -> None:
    """Refuse to wait inside a task.

    A task that waits for others takes the place of one of them: with all places taken, it would wait forever.
    """
    worker = sys.modules.get("distributed.worker")
    if worker is not None and hasattr(worker.thread_state, "execution_state"):
        raise InputError(
            "A fit of a Dask ensemble was called inside a Dask task, where it would wait for tasks that "
            "wait for it. Call it where the client is; to fit inside a task, pass NumPy labels."
        )


#: What phases are told to, beside bars: the command line's own lines, where there is no terminal.
_tell: Callable[[str], None] | None = None


@contextmanager
def phases_told(tell: Callable[[str], None]) -> Iterator[None]:
    """In this block, call ``tell`` with the name of each phase of the work as it begins."""
    global _tell
    before, _tell = _tell, tell
    try:
        yield
    finally:
        _tell = before


@contextmanager
def shown(what: str, tasks: Sequence[Delayed]) -> Iterator[Any]:
    """A bar for a phase of the work, whose ``update`` counts finished tasks.

    Where Dask's ProgressBar is in use, the name of the phase is written above its bar instead.
    """
    if _tell is not None:
        _tell(f"{what} ({len(tasks)} {'task' if len(tasks) == 1 else 'tasks'})")
    others = [one for one in map(_file_of_bar, Callback.active) if one is not None]
    for file in others:
        print(f"{what}:", file=file, flush=True)
    if others or len(tasks) < 2:
        yield None
        return
    with progress(total=len(tasks), what=what, unit="task") as bar:
        yield bar


def _file_of_bar(callbacks: Any) -> Any:
    """Where a ProgressBar of Dask writes to; None for other callbacks."""
    for own in callbacks:
        if isinstance(bar := getattr(own, "__self__", None), ProgressBar):
            return vars(bar).get("_file")
    return None


@contextmanager
def counted_by(bar: Any, tasks: Sequence[Delayed]) -> Iterator[None]:
    """Count tasks that a scheduler of this process finishes."""
    if bar is None:
        yield
        return
    keys = {task.key for task in tasks}
    with Callback(posttask=lambda key, *_: bar.update(key in keys)):
        yield


def collect(tasks: Sequence[Delayed], what: str) -> list[Any]:
    """The results of tasks of a phase, ``what``; an interrupt cancels those that are running.

    If workers were lost with what tasks need, the tasks are requested again: from what is left, or from the
    start.
    """
    tasks = list(tasks)
    client = active_client()
    with shown(what, tasks) as bar:
        if client is None:
            with counted_by(bar, tasks):
                return list(dask.compute(*tasks))
        return _collect_there(client, tasks, bar)


def _collect_there(client: Any, tasks: list[Delayed], bar: Any) -> list[Any]:
    """:func:`collect` on a client."""
    for attempt in range(_ATTEMPTS):
        if attempt:  # under new names: the client remembers the failure of the previous ones
            tasks = [delayed(itself, pure=False, traverse=False)(task) for task in tasks]
        futures = client.compute(tasks)
        try:
            return _gathered(client, futures, bar)
        except CancelledError as error:
            client.cancel(futures, force=True)
            if client.status != "running":
                raise InputError(
                    "The Dask client was closed, or lost its scheduler, while a fit was waiting for its "
                    "tasks. Connect again, and fit again."
                ) from error
        except BaseException:
            client.cancel(futures, force=True)
            raise
    raise InputError(
        f"Dask lost what a fit needs {_ATTEMPTS} times in a row, as it does when all workers die. Look at "
        "their logs, give them more memory, and fit again."
    )


def itself(thing: Any) -> Any:
    """A task that returns its argument."""
    return thing


def _gathered(client: Any, futures: list[Any], bar: Any) -> list[Any]:
    """The results of futures; an error if no worker can run a task for too long.

    Dask itself would wait forever.
    """
    pending = asyncio.run_coroutine_threadsafe(
        client.gather(futures, asynchronous=True), client.loop.asyncio_loop
    )
    idle_since, finished = None, 0
    while not threads.wait([pending], timeout=_LOOK).done:
        if bar is not None and not bar.disable:
            before, finished = finished, sum(one.status == "finished" for one in futures)
            bar.update(finished - before)
        workers = list(client.scheduler_info(n_workers=-1)["workers"].values())
        if any(_is_at_work(worker) for worker in workers):
            idle_since = None
        elif idle_since is None:
            idle_since = time.monotonic()
        else:
            _check_patience(workers, time.monotonic() - idle_since)
    return pending.result()


def _is_at_work(worker: dict[str, Any]) -> bool:
    """Whether a worker takes tasks or has one that may end: paused workers finish what they have begun."""
    counts = worker["metrics"].get("task_counts", {})
    return worker["status"] not in ("paused", "closing_gracefully") or counts.get("executing", 0) > 0


def _check_patience(workers: list[dict[str, Any]], idle: float) -> None:
    """Raise if no worker has worked for longer than workers take to start or to free memory."""
    if not workers and idle > _PATIENCE_FOR_WORKERS:
        raise InputError(
            f"The Dask cluster has had no workers for {idle:.0f} seconds. Start some, or close the client to "
            "compute in this process."
        )
    if workers and idle > _PATIENCE:
        used = max(worker["metrics"].get("memory", 0) for worker in workers)
        raise NotEnoughMemoryError(
            f"All {len(workers)} Dask workers are paused, as their memory is nearly full, and none has run a "
            f"task for {idle:.0f} seconds: the largest holds {size(used)}. Give workers more memory "
            "(memory_limit=...), or restart them by client.restart(). Workers that are threads of your own "
            "process count all memory of that process."
        )


def memory_of_a_task() -> float | None:
    """Bytes that one task may take on the worker with the least memory left; None if unknown."""
    client = active_client()
    if client is None:
        free = available_memory()
        return None if free is None else _SHARE * free / threads_here()
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    each = [w["memory_limit"] / max(1, w["nthreads"]) for w in workers if w.get("memory_limit")]
    return _SHARE * min(each) if each else None


def memory_in_all() -> float | None:
    """Bytes that all workers have together; None if unknown."""
    client = active_client()
    if client is None:
        return available_memory()
    limits = [w.get("memory_limit") for w in client.scheduler_info(n_workers=-1)["workers"].values()]
    return float(sum(limits)) if limits and all(limits) else None


def threads_here() -> int:
    """Number of tasks that run at a time without a client."""
    scheduler = dask.config.get("scheduler", None)
    if scheduler in ("sync", "synchronous", "single-threaded") or scheduler is dask.get:
        return 1
    pool = dask.config.get("pool", None)
    workers = dask.config.get("num_workers", None) or getattr(pool, "_max_workers", None)
    return int(workers or dask.system.CPU_COUNT)


def ensure_task_fits(needed: float, *, what: str, remedy: str) -> None:
    """Raise before any work if a task is expected to take more memory than there is for it."""
    free = memory_of_a_task()
    if free is not None and needed > free:
        raise NotEnoughMemoryError(
            f"{what} needs about {size(needed)}, but one task has {size(free)}; {remedy}."
        )
