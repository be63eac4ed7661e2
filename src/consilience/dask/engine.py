"""Where tasks run: on the client in force, or else on this machine by the scheduler that Dask is set to, by default its threads.

No data of more than :data:`MOST_IN_GRAPH` bytes are put into a graph: with a client they are scattered to every worker, so that the loss of
one loses none of them; without one, tasks share them in memory.
"""

from __future__ import annotations

import asyncio
import pickle
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent import futures as threads
from typing import Any

import numpy as np
from dask.base import get_scheduler
from dask.delayed import Delayed, delayed

import dask

from .._base.parameters import listed
from .._kernels.runtime.memory import available_memory, size
from ..errors import InputError, NotEnoughMemoryError

MOST_IN_GRAPH = 10**6
#: Tables that one task merges.
FAN_IN = 4
#: Share of a worker's memory that one task may be expected to take: Dask pauses a worker at 0.8.
_SHARE = 0.6
#: Seconds between looks at workers while results are waited for.
_LOOK = 2.0
#: Seconds to wait while all workers are paused, or while there is none.
_PATIENCE = 60.0
_PATIENCE_FOR_WORKERS = 300.0


def active_client() -> Any:
    """The client of ``distributed`` that tasks go to; None where they stay in this process."""
    refuse_inside_task()
    owner = getattr(get_scheduler(), "__self__", None)
    return owner if hasattr(owner, "scatter") and hasattr(owner, "scheduler_info") else None


def refuse_inside_task() -> None:
    """A task that waits for others takes the place of one of them: with all places taken it would wait for ever."""
    worker = sys.modules.get("distributed.worker")
    if worker is not None and hasattr(worker.thread_state, "execution_state"):
        raise InputError(
            "A fit of a Dask ensemble was called inside a Dask task, where it would wait for tasks that wait for it. Call it where the "
            "client is; to fit inside a task pass NumPy labels."
        )


def collect(tasks: Sequence[Delayed]) -> list[Any]:
    """What the tasks return; an interrupt cancels those that are under way."""
    tasks = list(tasks)
    client = active_client()
    if client is None:
        return list(dask.compute(*tasks))
    futures = client.compute(tasks)
    try:
        return _gathered(client, futures)
    except BaseException:
        client.cancel(futures, force=True)
        raise


def _gathered(client: Any, futures: list[Any]) -> list[Any]:
    """The results of futures; an error where no worker can run a task for too long, for which Dask waits for ever."""
    pending = asyncio.run_coroutine_threadsafe(
        client.gather(futures, asynchronous=True), client.loop.asyncio_loop
    )
    idle_since = None
    while not threads.wait([pending], timeout=_LOOK).done:
        workers = list(client.scheduler_info(n_workers=-1)["workers"].values())
        if any(_is_at_work(worker) for worker in workers):
            idle_since = None
        elif idle_since is None:
            idle_since = time.monotonic()
        else:
            _check_patience(workers, time.monotonic() - idle_since)
    return pending.result()


def _is_at_work(worker: dict[str, Any]) -> bool:
    """Whether a worker takes tasks, or has one that may end: paused ones finish what they have begun."""
    counts = worker["metrics"].get("task_counts", {})
    return worker["status"] not in ("paused", "closing_gracefully") or counts.get("executing", 0) > 0


def _check_patience(workers: list[dict[str, Any]], idle: float) -> None:
    """Raise if nobody has worked for longer than workers take to start, or to make room."""
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


def keep(tasks: Iterable[Delayed]) -> list[Delayed]:
    """The same tasks, whose results stay where they are made for as long as these are referred to."""
    return list(dask.persist(*tasks))


def keep_for_graphs(tasks: Iterable[Delayed]) -> list[Delayed]:
    """As :func:`keep`; the results stay as long as any graph made of these tasks, optimized or not."""
    return [call(_itself, _value_in_graph(task)) for task in keep(tasks)]


def blocks_of(collection: Any, names: list[str] | None = None) -> list[Delayed]:
    """One task for each block of rows, with what keeps persisted blocks alive.

    Blocks of a data frame have its columns in its order, called ``names`` where these are given.
    """
    # Optimizing a graph turns {key: future} into the key alone: dask._task_spec.convert_legacy_graph.
    blocks = list(np.ravel(collection.to_delayed(optimize_graph=not _holds_futures(collection))))
    if not hasattr(collection, "columns"):
        return blocks
    # Dask does not look at the columns of a partition, and what follows takes them by position.
    columns = [str(name) for name in collection.columns]
    return [call(_with_columns, block, columns, names, i) for i, block in enumerate(blocks)]


def _with_columns(block: Any, columns: list[str], names: list[str] | None, at: int) -> Any:
    """A block of a data frame with the columns of the frame, in its order."""
    own = [str(name) for name in block.columns]
    if own != columns:
        _check_columns(own, columns, at)
        block = block.iloc[:, [own.index(name) for name in columns]]
    return block if names is None or names == columns else block.set_axis(names, axis=1)


def _check_columns(own: list[str], columns: list[str], at: int) -> None:
    """Raise unless a block has the columns of its frame, in whatever order."""
    absent = [repr(name) for name in columns if name not in own]
    strange = [repr(name) for name in own if name not in columns]
    if not absent and not strange and len(own) == len(columns) == len(set(columns)):
        return
    parts = [f"{listed(absent)} missing"] if absent else []
    parts += [f"{listed(strange)} not expected"] if strange else []
    raise InputError(
        f"Block {at} of the data frame has other columns than the frame: "
        f"{'; '.join(parts) or 'a name occurs twice'}. Give every partition the same columns, in any order."
    )


def _holds_futures(collection: Any) -> bool:
    distributed = sys.modules.get("distributed")
    return distributed is not None and bool(distributed.futures_of(collection))


def _value_in_graph(task: Delayed) -> Any:
    """The future that persisting put into the graph of a task, or the task: arguments hold futures."""
    held = task.dask[task.key]
    return held if hasattr(held, "client") else task


def _itself(thing: Any) -> Any:
    return thing


def call(function: Callable[..., Any], *arguments: Any, name: str | None = None) -> Delayed:
    """One task; lists of tasks among the arguments are waited for."""
    return delayed(function, name=name, pure=False, traverse=False)(*arguments)


def share(thing: Any) -> Any:
    """Something that many tasks take, as what to put into their graph."""
    client = active_client()
    if client is None:
        return as_task(thing)
    if n_bytes(thing) <= MOST_IN_GRAPH:
        return as_task(thing)
    return client.scatter(thing, broadcast=True, hash=False)


def as_task(thing: Any) -> Delayed:
    """A task that is the thing itself: not looked into, nor hashed."""
    return delayed(
        thing, name=f"shared-{dask.base.tokenize(np.random.default_rng().integers(2**63))}", traverse=False
    )


def n_bytes(thing: Any) -> int:
    """Bytes that a message with it would have."""
    held = 0

    def count(buffer: Any) -> bool:
        nonlocal held
        held += buffer.raw().nbytes
        return False  # kept out of the stream

    return len(pickle.dumps(thing, protocol=5, buffer_callback=count)) + held


def in_tree(tasks: list[Delayed], function: Callable[[list[Any]], Any]) -> Delayed:
    """One task that has ``function`` of all results, in order, a few at a time; ``function`` is associative and takes a list."""
    while len(tasks) > 1:
        tasks = [call(function, tasks[a : a + FAN_IN]) for a in range(0, len(tasks), FAN_IN)]
    return tasks[0]


def memory_of_a_task() -> float | None:
    """Bytes that one task may take where the least is left for it; None where nobody knows."""
    client = active_client()
    if client is None:
        free = available_memory()
        return None if free is None else _SHARE * free / threads_here()
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    each = [w["memory_limit"] / max(1, w["nthreads"]) for w in workers if w.get("memory_limit")]
    return _SHARE * min(each) if each else None


def memory_in_all() -> float | None:
    """Bytes that all workers have together; None where nobody knows."""
    client = active_client()
    if client is None:
        return available_memory()
    limits = [w.get("memory_limit") for w in client.scheduler_info(n_workers=-1)["workers"].values()]
    return float(sum(limits)) if limits and all(limits) else None


def threads_here() -> int:
    """Tasks that run at a time where there is no client."""
    scheduler = dask.config.get("scheduler", None)
    if scheduler in ("sync", "synchronous", "single-threaded") or scheduler is dask.get:
        return 1
    pool = dask.config.get("pool", None)
    workers = dask.config.get("num_workers", None) or getattr(pool, "_max_workers", None)
    return int(workers or dask.system.CPU_COUNT)


def ensure_task_fits(needed: float, *, what: str, remedy: str) -> None:
    """Raise before any work where a task is expected to take more than there is for it."""
    free = memory_of_a_task()
    if free is not None and needed > free:
        raise NotEnoughMemoryError(
            f"{what} needs about {size(needed)}, but {size(free)} are there for one task; {remedy}."
        )
