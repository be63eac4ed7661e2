"""Base clusterings that are not in memory: a Dask array or data frame, and its distinct rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from operator import getitem
from typing import Any, ClassVar

import dask.array as da
import numpy as np
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

import dask

from ..ensemble import Ensemble as LocalEnsemble
from ..ensemble import question_labels
from ..errors import InputError, warn
from ..kernels.memory import available_memory
from ..kernels.parallel import one_blas_thread, one_thread
from ..kernels.signatures import RowTable
from ..naming import check_count
from ..prediction import codes_of
from ..validation import Integer, Nothing, check, check_range
from . import tables
from .engine import FAN_IN, call, collect, ensure_task_fits, keep, memory_in_all, memory_of_a_task, share
from .tables import Table

#: Bytes of a value that is no number: itself and the reference to it.
_OBJECT = 70
#: Distinct rows of a bucket, where all together are too many for one place.
_BUCKET = 1 << 20
_MOST_BUCKETS = 512
#: Share of the memory here that the distinct rows may take where nobody says how many there may be.
_SHARE = 0.25
#: Share of all workers' memory in which the place of every object is remembered.
_REMEMBERED = 0.1


class Ensemble:
    """Several clusterings of the same objects, held by Dask: what consensus methods take past one machine's memory.

    Parameters
    ----------
    labels : dask array or dask data frame (n_samples, n_clusterings)
        Rows are objects, columns are clusterings. Values mean what they mean to :class:`consilience.Ensemble`: any names, -1, NaN and
        the like are missing. Chunks may be of unknown or zero size.
    clustering_names : sequence, optional
        Names of the columns; those of a data frame by default.
    sample_weight : dask array (n_samples,), optional
        Positive weights, in the chunks of the labels.
    max_signatures : int or None
        The most distinct objects that are brought to one place. None is what fits into a quarter of the memory here. Up to as many, a
        fit is the one of a single machine, label for label. Of more, LWGP and CoassociationKMeans go through all of them in blocks,
        and every other method is fitted to as many of the heaviest and places the rest as ``predict`` does; ``coverage_`` of
        the fitted model is the share of the weight that took part.
    recipes, members : list, optional
        As of :class:`consilience.Ensemble`; :func:`consilience.dask.generate` fills them in.

    Notes
    -----
    Nothing is computed before it is needed, and the labels are then read once: each block gives its distinct rows, which are merged in a fixed
    tree. Give blocks of some 10^5 to 10^6 rows. ``fit`` reads them a second time when its ``labels_`` are asked for.

    Examples
    --------
    >>> import dask.array as da
    >>> import consilience as cs
    >>> ens = cs.dask.Ensemble(da.from_array([["a", "x"], ["a", "x"], ["b", "y"], ["b", "nan"]], chunks=(2, 2)))
    >>> ens
    dask.Ensemble: 4 objects, 2 clusterings, 2 blocks
    >>> ens.signatures()
    Ensemble: 3 objects, 2 clusterings (2 to 2 clusters, 4 in all), 16.7% of labels missing, weighted
    """

    is_lazy_ensemble: ClassVar[bool] = True

    def __init__(
        self,
        labels: Any,
        *,
        clustering_names: Sequence[Any] | None = None,
        sample_weight: Any = None,
        max_signatures: int | None = None,
        recipes: Sequence[dict] | None = None,
        members: Sequence[Any] | None = None,
    ):
        check("max_signatures", max_signatures, Nothing() | Integer(2))
        self.max_signatures = max_signatures
        self._lengths: tuple[int, ...] | None = None
        if isinstance(labels, Ensemble):
            vars(self).update({k: v for k, v in vars(labels).items() if k not in ("max_signatures", "found")})
            self.max_signatures = labels.max_signatures if max_signatures is None else max_signatures
        else:
            self._weights: Any = None
            self._recipes: list[dict] | None = None
            self._members: list[Any] | None = None
            self._keep_places = False
            self._collection, self._names = _collection_of(labels)
        m = self.n_clusterings
        if clustering_names is not None:
            names = check_count(clustering_names, m, "clustering_names", "clusterings")
            self._names = [str(name) for name in names]
        if sample_weight is not None:
            self._weights = _weights_of(sample_weight, self._collection)
        if recipes is not None:
            self._recipes = [dict(one) for one in check_count(recipes, m, "recipes", "clusterings")]
        if members is not None:
            self._members = check_count(members, m, "members", "clusterings")

    # What it is --------------------------------------------------------------------------------------------

    @property
    def n_clusterings(self) -> int:
        """Number of base clusterings, m."""
        return int(self._collection.shape[1])

    @property
    def n_blocks(self) -> int:
        """Number of blocks of rows."""
        return int(
            self._collection.npartitions if _is_frame(self._collection) else self._collection.numblocks[0]
        )

    @property
    def lengths(self) -> tuple[int, ...]:
        """Objects in each block; where Dask does not know them, they are counted when first asked for."""
        if self._lengths is None:
            known = None if _is_frame(self._collection) else self._collection.chunks[0]
            if known is None or any(math.isnan(length) for length in known):
                self._lengths = self.found.lengths
            else:
                self._lengths = tuple(int(length) for length in known)
        return self._lengths

    @property
    def knows_lengths(self) -> bool:
        """Whether the number of objects is known without looking at the labels."""
        return self._lengths is not None or (
            not _is_frame(self._collection)
            and not any(math.isnan(size) for size in self._collection.chunks[0])
        )

    @property
    def n_samples(self) -> int:
        """Number of objects."""
        return sum(self.lengths)

    def __len__(self) -> int:
        return self.n_samples

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_clusterings)."""
        return self.n_samples, self.n_clusterings

    @property
    def clustering_names(self) -> list[str]:
        """Column names; 'clustering 0', ... where none were given."""
        if self._names is not None:
            return list(self._names)
        return [f"clustering {i}" for i in range(self.n_clusterings)]

    @property
    def recipes(self) -> list[dict] | None:
        """How each member was made, or None."""
        return None if self._recipes is None else [dict(recipe) for recipe in self._recipes]

    @property
    def members(self) -> list[Any] | None:
        """What labels further objects, one for each clustering, or None."""
        return None if self._members is None else list(self._members)

    @property
    def labels(self) -> Any:
        """The labels as they were given, lazy."""
        return self._collection

    def __repr__(self) -> str:
        objects = f"{self.n_samples:,} objects" if self.knows_lengths else "objects not counted yet"
        return f"dask.Ensemble: {objects}, {self.n_clusterings} clusterings, {self.n_blocks} blocks" + (
            ", weighted" if self._weights is not None else ""
        )

    # Distinct rows -----------------------------------------------------------------------------------------

    def signatures(self) -> LocalEnsemble:
        """The distinct rows with their total weights as an ordinary ensemble, in memory: measures, plots and reports take it.

        In the order of their first appearance. Raises where there are more than ``max_signatures``.
        """
        if self.found.whole is None:
            raise InputError(
                f"The labels have {self.found.size:,} distinct rows, more than the {self.found.limit:,} that are brought to one place. Raise "
                "max_signatures, or fit a method: it goes through them in blocks or takes the heaviest."
            )
        return self.found.whole

    @cached_property
    def found(self) -> Found:
        """What one pass over the labels finds."""
        return find_signatures(self)

    def blocks(self) -> list[Delayed]:
        """The labels of each block of rows, as tasks."""
        if _is_frame(self._collection):
            return list(self._collection.to_delayed())
        return list(self._collection.to_delayed().ravel())

    def weights_of_blocks(self) -> list[Any]:
        """The weights of each block, as tasks; None where there are none."""
        return [None] * self.n_blocks if self._weights is None else list(self._weights.to_delayed().ravel())

    def lazily(
        self, tasks: Sequence[Delayed], *, dtype: Any, width: int | None = None, name: str = "labels"
    ) -> da.Array:
        """One lazy array of what tasks return, one for each block: (n,), or (n, width)."""
        return stacked(tasks, self.lengths, dtype=dtype, width=width, name=name)


def stacked(
    tasks: Sequence[Delayed],
    lengths: tuple[int, ...],
    *,
    dtype: Any,
    width: int | None = None,
    name: str = "labels",
) -> da.Array:
    """A dask array of blocks that tasks return, of known lengths: chunks and type are said, not asked for."""
    name = f"consilience-{name}-{dask.base.tokenize([task.key for task in tasks])}"
    columns = () if width is None else (0,)
    layer = {(name, i, *columns): task.key for i, task in enumerate(tasks)}
    graph = HighLevelGraph.from_collections(name, layer, dependencies=tasks)
    chunks = (tuple(lengths),) if width is None else (tuple(lengths), (width,))
    return da.Array(graph, name, chunks, dtype=dtype)


class Found:
    """What a pass over the labels of an ensemble found.

    lengths : objects in each block.
    whole : the distinct rows as an ordinary ensemble; None where they are too many for one place.
    first : (u,) the first object with each of them.
    limit : how many may be brought to one place.
    buckets : where they are too many, tasks of tables of which each distinct row is in one.
    size : number of distinct rows.
    exponent : of the limbs of the weights; None where they are counts.
    weight : of all objects together.
    positions : tasks of the distinct row of each object, block by block, kept where they were made; None if they are to be found anew.
    """

    lengths: tuple[int, ...]
    whole: LocalEnsemble | None = None
    first: np.ndarray
    limit: int
    size: int
    exponent: int | None = None
    weight: float
    categories: list[np.ndarray]
    names: list[str] | None
    buckets: list[Delayed]
    positions: list[Delayed] | None = None


def find_signatures(ensemble: Ensemble) -> Found:
    """One pass over the labels: tables of blocks, merged in a fixed tree, a few at a time while they fit into one place."""
    _ensure_blocks_fit(ensemble)
    found = Found()
    found.limit = _limit(ensemble)
    weights = ensemble.weights_of_blocks()
    found.exponent = _look_at_weights(ensemble, weights)
    remember = _remembers(ensemble)
    make = tables.table_and_places if remember else tables.table_of
    tasks = [call(make, block, own, found.exponent) for block, own in zip(ensemble.blocks(), weights)]
    pairs = keep(tasks) if remember else []
    parts = [call(getitem, pair, 0) for pair in pairs] if remember else keep(tasks)
    facts = collect([call(_facts, part) for part in parts])
    found.lengths = tuple(n for n, _, _ in facts)
    _say_lengths(ensemble)
    sizes = [size for _, size, _ in facts]
    if sum(found.lengths) == 0:
        raise InputError("labels has no objects: every block is empty. Give at least two rows.")
    while len(parts) > 1 and max(sizes) <= found.limit and _merge_fits(sizes, ensemble.n_clusterings):
        groups = [parts[a : a + FAN_IN] for a in range(0, len(parts), FAN_IN)]
        parts = keep(call(tables.merged, group) for group in groups)
        sizes = collect([call(_size, part) for part in parts])
    if len(parts) == 1 and sizes[0] <= found.limit:
        (table,) = collect(parts)
        _bring(found, table, ensemble)
        if remember:
            held = share(found.whole)
            found.positions = keep(call(_positions, pair, held) for pair in pairs)
    else:
        _deal(found, parts, sizes, ensemble)
    return found


def _bring(found: Found, table: Table, ensemble: Ensemble) -> None:
    """All distinct rows, here."""
    _check_filled(table.categories, ensemble)
    weights = table.weights(found.exponent)
    _check_seen(table, found.exponent)
    if weights.min() == 0:
        raise InputError(
            f"sample_weight spreads too wide: beside a weight of {weights.max():g} some distinct objects weigh nothing. Leave out the "
            "lightest, or raise their weights."
        )
    found.names = ensemble._names or table.names
    found.categories, found.first, found.size = table.categories, table.first, table.size
    found.weight, found.buckets = float(weights.sum()), []
    found.whole = tables.as_ensemble(table, weights, found.names, ensemble._recipes)
    found.whole.stands_for = table.n
    if 2 * table.size > table.n:
        question_labels(found.whole, told=found.names is not None)


def _deal(found: Found, parts: list[Delayed], sizes: list[int], ensemble: Ensemble) -> None:
    """More distinct rows than one place can hold: each goes to a bucket by what it says, and stays there."""
    facts = collect([call(_categories, part) for part in parts])
    found.categories, numbers = tables.united([own for own, _, _ in facts])
    _check_filled(found.categories, ensemble)
    starts = np.cumsum([0, *(n for _, n, _ in facts)])
    count = min(_MOST_BUCKETS, max(2, math.ceil(sum(sizes) / min(found.limit, _BUCKET))))
    dealt = [
        call(tables.dealt, part, own, found.categories, int(start), count)
        for part, own, start in zip(parts, numbers, starts)
    ]
    found.buckets = keep(
        call(tables.gathered, [call(getitem, one, b) for one in dealt]) for b in range(count)
    )
    summary = collect([call(_bucket_facts, bucket, found.exponent) for bucket in found.buckets])
    found.size, found.weight = sum(size for size, *_ in summary), float(sum(w for _, w, *_ in summary))
    for _, _, unseen, first in summary:
        if unseen:
            _refuse_unseen(unseen, first)
    found.names = ensemble._names or next((names for _, _, names in facts if names is not None), None)


# Tasks -------------------------------------------------------------------------------------------------------


def _positions(pair: tuple[Table, np.ndarray], whole: LocalEnsemble) -> np.ndarray:
    """(n,) the distinct row of each object of a block: those of its table are looked up, and the objects follow."""
    table, places = pair
    with one_thread(), one_blas_thread():
        if table.size == 0:
            return places
        own = tables.as_ensemble(table, np.ones(table.size), table.names)
        codes = codes_of(own, whole, "The ensemble")[0]
        return RowTable(whole.labels).find(codes).astype(np.int32)[places]


def _facts(table: Table) -> tuple[int, int, int]:
    return table.n, table.size, table.labels.nbytes


def _size(table: Table) -> int:
    return table.size


def _categories(table: Table) -> tuple[list[np.ndarray], int, list[str] | None]:
    return table.categories, table.n, table.names


def _bucket_facts(table: Table, exponent: int | None) -> tuple[int, float, int, int]:
    """(distinct rows, weight, how many of them no clustering saw, the first such object)."""
    lost = (table.labels < 0).all(axis=1)
    first = int(table.first[lost].min()) if lost.any() else -1
    return table.size, float(table.weights(exponent).sum()), int(lost.sum()), first


def _weight_facts(weights: Any) -> tuple:
    return tables.check_weights(weights)


# Rules -------------------------------------------------------------------------------------------------------


def _is_frame(collection: Any) -> bool:
    return hasattr(collection, "npartitions") and hasattr(collection, "columns")


def _collection_of(labels: Any) -> tuple[Any, list[str] | None]:
    """(a dask array with all columns in one chunk, or a dask frame; names of the columns)."""
    if isinstance(labels, da.Array):
        if labels.ndim != 2:
            raise InputError(
                f"labels has shape {labels.shape}; expected two dimensions (n_samples, n_clusterings). Several vectors become one array by "
                "dask.array.stack(vectors, axis=1)."
            )
        if labels.shape[1] == 0:
            raise InputError(f"labels has shape {labels.shape}: no clusterings. Give at least one column.")
        if labels.numblocks[1] > 1:
            labels = labels.rechunk({1: -1})
        return labels, None
    if _is_frame(labels) and hasattr(labels, "to_delayed") and hasattr(labels, "__dask_graph__"):
        if len(labels.columns) == 0:
            raise InputError("The data frame has no columns: give one column per clustering.")
        return labels, [str(name) for name in labels.columns]
    raise in_memory(labels, "labels", "consilience.Ensemble, or to fit itself")


def in_memory(data: Any, name: str, where: str) -> InputError:
    """What to say about an argument that is no collection of Dask."""
    kind = f"{type(data).__module__.partition('.')[0]}.{type(data).__name__}"
    return InputError(
        f"{name} is a {kind}, which is in memory already: pass it to {where}. To divide it all the same give "
        f"dask.array.from_array({name}, chunks=(250_000, -1))."
    )


def _weights_of(sample_weight: Any, labels: Any) -> Any:
    if hasattr(sample_weight, "to_dask_array"):
        sample_weight = sample_weight.to_dask_array()
    if not isinstance(sample_weight, da.Array) or sample_weight.ndim != 1:
        raise InputError(
            f"sample_weight is a {type(sample_weight).__name__}; expected a dask array of shape (n_samples,) in the chunks of the labels."
        )
    blocks = labels.npartitions if _is_frame(labels) else labels.numblocks[0]
    same = sample_weight.numblocks[0] == blocks
    known = not _is_frame(labels) and not np.isnan([*labels.chunks[0], *sample_weight.chunks[0]]).any()
    if not same or (known and sample_weight.chunks[0] != labels.chunks[0]):
        raise InputError(
            f"sample_weight has {sample_weight.numblocks[0]} blocks beside {blocks} blocks of labels, or others in size: give both the same "
            "chunks, sample_weight.rechunk(labels.chunks[0])."
        )
    return sample_weight


def _look_at_weights(ensemble: Ensemble, weights: list[Any]) -> int | None:
    """The exponent that weights are cut to limbs below, once it is known that they are weights."""
    if ensemble._weights is None:
        return None
    found = collect([call(_weight_facts, own) for own in weights])
    low, high = min(f[0] for f in found), max(f[1] for f in found)
    n = sum(f[4] for f in found)
    if n:
        check_range(np.array([low, high]))
    if n and high * n > 1e305:
        raise InputError(
            f"sample_weight holds {high:g} among {n} weights: they must add up to at most 1e305."
        )
    return tables.exponent_of(found)


def _limit(ensemble: Ensemble) -> int:
    """How many distinct rows may be brought here."""
    if ensemble.max_signatures is not None:
        return ensemble.max_signatures
    free = available_memory()
    return 2**31 if free is None else max(1000, int(_SHARE * free / _bytes_of_row(ensemble.n_clusterings)))


def _remembers(ensemble: Ensemble) -> bool:
    """Whether to keep the distinct row of each object, four bytes, instead of reading its labels again: where rows are labelled by
    members, which takes long, and where that is little beside the memory there is."""
    if ensemble._keep_places or not ensemble.knows_lengths:
        return ensemble._keep_places
    free = memory_in_all()
    return free is not None and 4.0 * sum(ensemble.lengths) <= _REMEMBERED * free


def _bytes_of_row(m: int) -> float:
    """What a distinct row takes while tables are merged: itself twice, its weight and place, and what tells rows apart."""
    return 2 * (4.0 * m + 16) + 40


def _merge_fits(sizes: list[int], m: int) -> bool:
    """Whether the next merge fits into a task."""
    free = memory_of_a_task()
    most = max(sum(sizes[a : a + FAN_IN]) for a in range(0, len(sizes), FAN_IN))
    return free is None or most * _bytes_of_row(m) <= free


def _ensure_blocks_fit(ensemble: Ensemble) -> None:
    """Refuse blocks that no task can hold, before any is read."""
    labels = ensemble.labels
    if _is_frame(labels) or not ensemble.knows_lengths:
        return
    m, rows = labels.shape[1], max(labels.chunks[0])
    each = m * (labels.dtype.itemsize if labels.dtype.kind != "O" else _OBJECT) + 4.0 * m + 48
    free = memory_of_a_task()
    if free is not None and rows * each > free:
        better = max(1, int(free / each / 2))
        ensure_task_fits(
            rows * each,
            what=f"A block of {rows:,} objects and {m} clusterings",
            remedy=f"divide the labels into smaller blocks, labels.rechunk(({better}, -1)), or give workers more memory",
        )


def _say_lengths(ensemble: Ensemble) -> None:
    if not ensemble.knows_lengths and not _is_frame(ensemble.labels):
        warn(
            f"The sizes of the {ensemble.n_blocks} blocks of labels are unknown to Dask: they were counted while the labels were read. "
            "labels.compute_chunk_sizes() beforehand tells them.",
            stacklevel=5,
        )


def _check_filled(categories: list[np.ndarray], ensemble: Ensemble) -> None:
    empty = [i for i, values in enumerate(categories) if len(values) == 0]
    if empty:
        names = ensemble.clustering_names
        raise InputError(
            f"Clustering {', '.join(repr(names[i]) for i in empty[:5])} has no labels at all: every entry is missing. Drop it."
        )


def _check_seen(table: Table, exponent: int | None) -> None:
    lost = np.flatnonzero((table.labels < 0).all(axis=1))
    if lost.size:
        _refuse_unseen(float(table.weights(exponent)[lost].sum()), int(table.first[lost].min()))


def _refuse_unseen(count: float, first: int) -> None:
    raise InputError(
        f"Objects of weight {count:g}, the first of them object {first}, are missing from every clustering, so no consensus can place them. "
        "Leave them out, as labels[(labels >= 0).any(axis=1)]."
    )
