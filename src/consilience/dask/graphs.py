"""Graphs of tasks whose results outlive what they were made with: models, ensembles, workers and clients.

Data of more than :data:`MOST_IN_GRAPH` bytes are never put into a graph. With a client, they are scattered to
every worker, so that the loss of one worker loses no data; without a client, tasks share them in memory.

Whenever a graph is used, data on workers, scattered or kept, are looked for. If they are gone, with all
workers or with the client, or if another scheduler is in force, the graph has the data themselves, or the
tasks that make them again.
"""

from __future__ import annotations

import pickle
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from dask.base import tokenize
from dask.delayed import Delayed, delayed
from dask.highlevelgraph import HighLevelGraph
from dask.optimization import cull

import dask

from .._base.parameters import listed
from ..errors import InputError
from .engine import active_client, client_in_force, counted_by, itself, shown

MOST_IN_GRAPH = 10**6
#: Number of tables that one task merges.
FAN_IN = 4
#: What dashboards call tasks, by the name of their function; others have that name.
WORDS = {
    "_pick": "draw-sample",
    "_rows_at": "take-rows",
    "_label": "label-rows",
    "_label_once": "label-rows",
    "_predict": "predict-rows",
    "table_of": "find-distinct-rows",
    "table_and_places": "find-distinct-rows",
    "_facts": "find-distinct-rows",
    "merged": "merge-distinct-rows",
    "_size": "merge-distinct-rows",
    "dealt": "divide-distinct-rows",
    "gathered": "divide-distinct-rows",
    "_positions": "place-objects",
    "_find": "place-objects",
    "_place": "place-objects",
    "_confidence": "confidence",
    "_shares": "shares",
    "_of_bucket": "add-up-distinct-rows",
    "_added": "add-up-distinct-rows",
    "_pairs": "count-pairs-of-labels",
    "_merged": "count-pairs-of-labels",
    "_read": "read-parquet",
    "_read_labels": "read-parquet",
    "_read_names": "read-names",
    "_write": "write-labels",
    "_framed": "frame-of-labels",
}


class Scattered:
    """An object on all workers, with a copy here for tasks that cannot reach them."""

    def __init__(self, future: Any, thing: Any):
        self.future, self.task = future, as_task(thing)


class Either(Mapping):
    """A layer of a graph: for each key one task that takes what is on workers, or tasks that make it again.

    futures : what each key needs on workers.
    there : the task of each key where that can be used.
    anew : the tasks where it cannot, with all that they need.
    """

    def __init__(self, futures: dict[str, list[Any]], there: dict[str, Any], anew: dict[Any, Any]):
        self.futures, self.there, self.anew = futures, there, anew
        self._seen: dict[Any, Any] | None = None

    def at_this_moment(self) -> dict[Any, Any]:
        """The tasks, chosen by what can be used at this moment."""
        client = None if _in_local_scheduler() else client_in_force()
        gone = [key for key, own in self.futures.items() if not all(_is_there(one, client) for one in own)]
        if len(gone) == len(self.futures):
            return self.anew
        found = cull(self.anew, gone)[0] if gone else {}
        return {**found, **{key: task for key, task in self.there.items() if key not in found}}

    def __iter__(self) -> Iterator[Any]:
        self._seen = self.at_this_moment()
        return iter(self._seen)

    def __len__(self) -> int:
        return len(self.at_this_moment())

    def __getitem__(self, key: Any) -> Any:
        if self._seen is None:
            self._seen = self.at_this_moment()
        return self._seen[key]

    def __reduce__(self) -> Any:
        return dict, (self.at_this_moment(),)


def _in_local_scheduler() -> bool:
    """Whether a scheduler of this process asks for tasks.

    ``compute(scheduler="threads")`` tells it to nobody else: beside an open client, only the callers show it.
    """
    frame: Any = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__") in ("dask.local", "dask.threaded", "dask.multiprocessing"):
            return True
        frame = frame.f_back
    return False


def _is_there(future: Any, client: Any) -> bool:
    """Whether tasks of the active client can take a future."""
    if client is None or future.client is not client or client.status != "running":
        return False
    return future.status not in ("cancelled", "lost")


def call(function: Callable[..., Any], *arguments: Any, key: str | None = None) -> Delayed:
    """One task, named ``key`` or by a unique name; lists of tasks among the arguments are waited for."""
    make = delayed(function, pure=False, traverse=False)
    if key is None and (words := WORDS.get(function.__name__)):
        key = f"{words}-{_unique()}"
    scattered = [one for one in arguments if isinstance(one, Scattered)]
    if not scattered:
        return make(*arguments, dask_key_name=key)
    there = make(*(one.future if isinstance(one, Scattered) else one for one in arguments), dask_key_name=key)
    own = there.key
    here = make(*(one.task if isinstance(one, Scattered) else one for one in arguments), dask_key_name=own)
    needed = {own: here.dask.layers[own][own]}
    for one in scattered:
        needed.update(one.task.dask)
    layer = Either({own: [one.future for one in scattered]}, {own: there.dask.layers[own][own]}, needed)
    return Delayed(own, HighLevelGraph({**there.dask.layers, own: layer}, there.dask.dependencies))


def keep(tasks: Iterable[Delayed], what: str) -> list[Delayed]:
    """The same tasks, whose results stay where they were made as long as any graph of these tasks exists.

    what : the phase of the work that they are.
    """
    tasks = list(tasks)
    if active_client() is None:
        with shown(what, tasks) as bar, counted_by(bar, tasks):
            return list(dask.persist(*tasks))
    kept = list(dask.persist(*tasks))
    name = f"kept-{_unique()}"
    keys = [f"{name}-{i}" for i in range(len(tasks))]
    take = delayed(itself, pure=False, traverse=False)
    futures = {key: [one.dask[one.key]] for key, one in zip(keys, kept)}
    there = {key: take(own, dask_key_name=key).dask[key] for key, (own,) in futures.items()}
    anew = _without_futures(take(task, dask_key_name=key) for key, task in zip(keys, tasks))
    graph = HighLevelGraph({name: Either(futures, there, anew)}, {name: set()})
    return [Delayed(key, graph, layer=name) for key in keys]


def _without_futures(tasks: Iterable[Delayed]) -> dict[Any, Any]:
    """One graph of tasks that makes again what is kept on workers."""
    layers: dict[str, Mapping] = {}
    for task in tasks:
        layers.update(task.dask.layers)
    found: dict[Any, Any] = {}
    for layer in layers.values():
        mapping = getattr(layer, "mapping", layer)
        found.update(mapping.anew if isinstance(mapping, Either) else mapping)
    return found


def _unique() -> str:
    return uuid.uuid4().hex


def share(thing: Any) -> Any:
    """An object that many tasks take, in a form to give to :func:`call`."""
    client = active_client()
    if client is None or n_bytes(thing) <= MOST_IN_GRAPH:
        return as_task(thing)
    try:
        # In a list of one: a list or tuple of its own would be scattered item by item.
        (future,) = client.scatter([thing], broadcast=True, hash=False)
        return Scattered(future, thing)
    except TimeoutError:  # no worker takes it at present: it waits in the graph for one that does
        return as_task(thing)


def as_task(thing: Any) -> Delayed:
    """A task that returns the object itself, which is neither inspected nor hashed."""
    return delayed(thing, name=f"shared-{_unique()}", traverse=False)


def blocks_of(collection: Any, names: list[str] | None = None) -> list[Delayed]:
    """One task for each block of rows, which keeps persisted blocks alive.

    Blocks of a data frame have its columns in its order, called ``names`` where these are given.
    """
    # Optimizing a graph turns {key: future} into the key alone (dask._task_spec.convert_legacy_graph), and a
    # choice between results and what makes them again into what was chosen at that moment.
    settled = not _holds_futures(collection) and not _holds_choices(collection)
    blocks = list(np.ravel(collection.to_delayed(optimize_graph=settled)))
    if hasattr(collection, "npartitions") and len(blocks) != collection.npartitions:
        # Files of which few columns are read are put together, and blocks would not lie beside those of
        # others.
        blocks = collection.simplify().to_delayed(optimize_graph=False)
    if not hasattr(collection, "columns"):
        return blocks
    # Dask does not look at the columns of a partition, and what follows takes them by position.
    columns = [str(name) for name in collection.columns]
    return [
        call(_with_columns, block, columns, names, i, key=f"columns-{tokenize(block.key, columns, names)}")
        for i, block in enumerate(blocks)
    ]


def indexes_of(frame: Any) -> list[Delayed]:
    """The index of each block of a data frame; columns are read only if the source needs them."""
    return [call(itself, one) for one in frame.index.simplify().to_delayed(optimize_graph=False)]


def _with_columns(block: Any, columns: list[str], names: list[str] | None, at: int) -> Any:
    """A block of a data frame with the columns of the frame, in its order."""
    own = [str(name) for name in block.columns]
    if own != columns:
        _check_columns(own, columns, at)
        block = block.iloc[:, [own.index(name) for name in columns]]
    return block if names is None or names == columns else block.set_axis(names, axis=1)


def _check_columns(own: list[str], columns: list[str], at: int) -> None:
    """Raise unless a block has the columns of its frame, in any order."""
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


class Declared(NamedTuple):
    """What a collection says about one of its blocks.

    what : the name of the argument.
    at : position of the block.
    rows, columns : how many it has; None where this is not known.
    """

    what: str
    at: int
    rows: int | None
    columns: int | None

    def check(self, block: Any) -> None:
        """Raise unless a block has the shape that it was said to have."""
        shape = tuple(block.shape)
        wanted = (self.rows, self.columns)
        if len(shape) == 2 and all(want in (None, own) for want, own in zip(wanted, shape)):
            return
        told = " x ".join("any" if size is None else f"{size:,}" for size in wanted)
        raise InputError(
            f"Block {self.at} of {self.what} has shape {shape}, but Dask was told that it is {told}. A "
            "function given to map_blocks, map_partitions or from_delayed may have changed the number of "
            "rows or columns: say so in its chunks=, or call compute_chunk_sizes()."
        )


def without_names(read: Callable[[Any], Any], block: Any) -> Any:
    """What ``read`` makes of a block, whose row names are looked at only for an error message."""
    if not hasattr(block, "reset_index"):
        return read(block)
    try:
        return read(block.reset_index(drop=True))
    except InputError:
        pass
    return read(block)


def lengths_in_files(frame: Any) -> tuple[int, ...] | None:
    """The rows of each partition of a data frame that is read from Parquet, by the headers of the files.

    None for any other.
    """
    try:
        from dask.dataframe.dask_expr._expr import Lengths

        found = Lengths(frame.expr).optimize(fuse=False)
        lengths = tuple(int(n) for n in found.value) if type(found).__name__ == "Literal" else ()
    except (ImportError, AttributeError, TypeError, ValueError):  # another version of Dask
        return None
    return lengths if len(lengths) == frame.npartitions else None


def _holds_futures(collection: Any) -> bool:
    distributed = sys.modules.get("distributed")
    return distributed is not None and bool(distributed.futures_of(collection))


def _holds_choices(collection: Any) -> bool:
    layers = getattr(collection.__dask_graph__(), "layers", {})
    return any(isinstance(getattr(layer, "mapping", layer), Either) for layer in layers.values())


def n_bytes(thing: Any) -> int:
    """Bytes that a message with the object would have."""
    held = 0

    def count(buffer: Any) -> bool:
        nonlocal held
        held += buffer.raw().nbytes
        return False  # kept out of the stream

    return len(pickle.dumps(thing, protocol=5, buffer_callback=count)) + held


def in_tree(tasks: list[Delayed], function: Callable[[list[Any]], Any]) -> Delayed:
    """One task that applies ``function`` to all results, in order, a few at a time.

    ``function`` is associative and takes a list.
    """
    while len(tasks) > 1:
        tasks = [call(function, tasks[a : a + FAN_IN]) for a in range(0, len(tasks), FAN_IN)]
    return tasks[0]
