"""The distinct rows of labels that are not in memory.

One pass over the blocks makes tables, which are merged or, if too large for one place, dealt to buckets.
"""

from __future__ import annotations

import math
from operator import getitem
from typing import TYPE_CHECKING, Any

import numpy as np
from dask.delayed import Delayed

from .._base.parameters import check_range
from .._data.ensemble import Ensemble as LocalEnsemble
from .._data.ensemble import question_labels, stand_for
from .._data.named import given_names
from .._evidence.prediction import codes_of
from .._kernels.labels.distinct import RowTable
from .._kernels.runtime.memory import available_memory
from .._kernels.runtime.threads import one_blas_thread, one_thread
from ..errors import InputError, warn
from . import tables
from .engine import collect, ensure_task_fits, memory_in_all, memory_of_a_task
from .graphs import FAN_IN, call, keep, share
from .tables import Table

if TYPE_CHECKING:
    from .ensemble import DaskEnsemble

#: Phases of the work, as bars and the command line name them.
FINDING, MERGING, DIVIDING = (f"{what} distinct rows" for what in ("finding", "merging", "dividing"))
#: Bytes of a value that is not a number: the value and the reference to it.
_OBJECT = 70
#: Distinct rows of a bucket, if all distinct rows are too many for one place.
_BUCKET = 1 << 20
_MOST_BUCKETS = 512
#: Share of the memory here that the distinct rows may take if max_distinct is None.
_SHARE = 0.25
#: Share of the memory of all workers that the distinct row of every object may take.
_REMEMBERED = 0.1


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
    positions : tasks of the distinct row of each object, block by block, kept where they were made; None if
        they are to be found again.
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


def find_distinct(ensemble: DaskEnsemble, *, remember: bool) -> Found:
    """Find the distinct rows in one pass over the labels.

    Tables of blocks are merged in a fixed tree, a few at a time, while they fit into one place. ``remember``
    keeps the distinct row of each object, four bytes, instead of reading its labels again.
    """
    _ensure_blocks_fit(ensemble)
    found = Found()
    found.limit = _limit(ensemble)
    weights = ensemble.weights_of_blocks()
    found.exponent = _look_at_weights(weights)
    remember = remember or _remembers(ensemble)
    make = tables.table_and_places if remember else tables.table_of
    parts_of = zip(ensemble.blocks(), weights, ensemble.declared())
    tasks = [call(make, block, own, found.exponent, said) for block, own, said in parts_of]
    finding = "labeling rows" if ensemble.base_models is not None else FINDING
    pairs = keep(tasks, finding) if remember else []
    parts = [call(getitem, pair, 0) for pair in pairs] if remember else keep(tasks, finding)
    facts = collect([call(_facts, part) for part in parts], finding)
    found.lengths = tuple(n for n, _, _ in facts)
    _say_lengths(ensemble)
    sizes = [size for _, size, _ in facts]
    if sum(found.lengths) == 0:
        raise InputError("labels has no objects: every block is empty. Give at least two rows.")
    while len(parts) > 1 and max(sizes) <= found.limit and _merge_fits(sizes, ensemble.n_clusterings):
        groups = [parts[a : a + FAN_IN] for a in range(0, len(parts), FAN_IN)]
        parts = keep((call(tables.merged, group) for group in groups), MERGING)
        sizes = collect([call(_size, part) for part in parts], MERGING)
    if len(parts) == 1 and sizes[0] <= found.limit:
        (table,) = collect(parts, MERGING)
        _bring(found, table, ensemble)
        if remember:
            held = share(found.whole)
            found.positions = keep((call(_positions, pair, held) for pair in pairs), "placing objects")
    else:
        _deal(found, parts, sizes, ensemble)
    return found


def _bring(found: Found, table: Table, ensemble: DaskEnsemble) -> None:
    """Bring all distinct rows here."""
    _check_filled(table.categories, ensemble)
    weights = table.weights(found.exponent)
    _check_seen(table, found.exponent)
    if weights.min() == 0:
        raise InputError(
            f"sample_weight has too wide a range: beside a weight of {weights.max():g}, some distinct "
            "objects weigh nothing. Leave out the lightest, or raise their weights."
        )
    found.names = given_names(ensemble) or table.names
    _say_twins(table.categories, found.names)
    found.categories, found.first, found.size = table.categories, table.first, table.size
    found.weight, found.buckets = float(weights.sum()), []
    found.whole = tables.as_ensemble(table, weights, found.names, ensemble.recipes)
    stand_for(found.whole, table.n)
    if 2 * table.size > table.n:
        question_labels(found.whole, told=found.names is not None)


def _deal(found: Found, parts: list[Delayed], sizes: list[int], ensemble: DaskEnsemble) -> None:
    """Deal distinct rows that no single place can hold to buckets by their content."""
    facts = collect([call(_categories, part) for part in parts], MERGING)
    found.categories, numbers = tables.united([own for own, _, _ in facts])
    _check_filled(found.categories, ensemble)
    starts = np.cumsum([0, *(n for _, n, _ in facts)])
    count = min(_MOST_BUCKETS, max(2, math.ceil(sum(sizes) / min(found.limit, _BUCKET))))
    dealt = [
        call(tables.dealt, part, own, found.categories, int(start), count)
        for part, own, start in zip(parts, numbers, starts)
    ]
    found.buckets = keep(
        (call(tables.gathered, [call(getitem, one, b) for one in dealt]) for b in range(count)), DIVIDING
    )
    summary = collect([call(_bucket_facts, bucket, found.exponent) for bucket in found.buckets], DIVIDING)
    found.size, found.weight = sum(size for size, *_ in summary), float(sum(w for _, w, *_ in summary))
    for _, _, unseen, first in summary:
        if unseen:
            _refuse_unseen(unseen, first)
    found.names = given_names(ensemble) or next((names for _, _, names in facts if names is not None), None)
    _say_twins(found.categories, found.names)


# Tasks
# -------------------------------------------------------------------------------------------------------


def _positions(pair: tuple[Table, np.ndarray], whole: LocalEnsemble) -> np.ndarray:
    """(n,) the distinct row of each object of a block, found by looking up the rows of its table."""
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


# Rules
# -------------------------------------------------------------------------------------------------------


def _look_at_weights(weights: list[Any]) -> int | None:
    """Check the weights, and return the exponent below which they are cut to limbs."""
    if all(own is None for own in weights):
        return None
    found = collect([call(_weight_facts, own) for own in weights], "looking at weights")
    low, high = min(f[0] for f in found), max(f[1] for f in found)
    n = sum(f[4] for f in found)
    if n:
        check_range(np.array([low, high]))
    if n and high * n > 1e305:
        raise InputError(
            f"sample_weight holds {high:g} among {n} weights: they must add up to at most 1e305."
        )
    return tables.exponent_of(found)


def _limit(ensemble: DaskEnsemble) -> int:
    """The number of distinct rows that may be brought here."""
    if ensemble.max_distinct is not None:
        return ensemble.max_distinct
    free = available_memory()
    return 2**31 if free is None else max(1000, int(_SHARE * free / _bytes_of_row(ensemble.n_clusterings)))


def _remembers(ensemble: DaskEnsemble) -> bool:
    """Whether there is memory to keep the distinct row of each object."""
    if not ensemble.knows_lengths:
        return False
    free = memory_in_all()
    return free is not None and 4.0 * sum(ensemble.lengths) <= _REMEMBERED * free


def _bytes_of_row(m: int) -> float:
    """Memory of a distinct row while tables are merged.

    It holds the row twice, its weight and place, and a key that tells rows apart.
    """
    return 2 * (4.0 * m + 16) + 40


def _merge_fits(sizes: list[int], m: int) -> bool:
    """Whether the next merge fits into a task."""
    free = memory_of_a_task()
    most = max(sum(sizes[a : a + FAN_IN]) for a in range(0, len(sizes), FAN_IN))
    return free is None or most * _bytes_of_row(m) <= free


def _ensure_blocks_fit(ensemble: DaskEnsemble) -> None:
    """Refuse blocks that no task can hold, before any block is read."""
    labels = ensemble.labels
    if ensemble.is_frame or not ensemble.knows_lengths:
        return
    m, rows = labels.shape[1], max(labels.chunks[0])
    each = m * (labels.dtype.itemsize if labels.dtype.kind != "O" else _OBJECT) + 4.0 * m + 48
    free = memory_of_a_task()
    if free is not None and rows * each > free:
        better = max(1, int(free / each / 2))
        ensure_task_fits(
            rows * each,
            what=f"A block of {rows:,} objects and {m} clusterings",
            remedy=f"divide the labels into smaller blocks, labels.rechunk(({better}, -1)), or give "
            f"workers more memory",
        )


def _say_lengths(ensemble: DaskEnsemble) -> None:
    if not ensemble.knows_lengths and not ensemble.is_frame:
        warn(
            f"The sizes of the {ensemble.n_blocks} blocks of labels are unknown to Dask: they were counted "
            "while the labels were read. labels.compute_chunk_sizes() beforehand tells them.",
        )


def _check_filled(categories: list[np.ndarray], ensemble: DaskEnsemble) -> None:
    empty = [i for i, values in enumerate(categories) if len(values) == 0]
    if empty:
        names = ensemble.clustering_names
        raise InputError(
            f"Clustering {', '.join(repr(names[i]) for i in empty[:5])} has no labels at all: every entry "
            f"is missing. Drop it."
        )


def _say_twins(categories: list[np.ndarray], names: list[str] | None) -> None:
    """Warn of labels whose type differs between blocks: they count as different clusters."""
    for i, values in enumerate(categories):
        if values.dtype.kind != "O":
            continue
        texts = {value for value in values.tolist() if isinstance(value, str)}
        twins = [v for v in values.tolist() if not isinstance(v, str) and str(v) in texts]
        if twins:
            name = repr(names[i]) if names is not None else str(i)
            warn(
                f"Clustering {name} has labels that differ in type alone, such as {twins[0]!r} and "
                f"{str(twins[0])!r}: they count as different clusters. Give the column one type in every "
                "block, such as by astype(str).",
            )


def _check_seen(table: Table, exponent: int | None) -> None:
    lost = np.flatnonzero((table.labels < 0).all(axis=1))
    if lost.size:
        _refuse_unseen(float(table.weights(exponent)[lost].sum()), int(table.first[lost].min()))


def _refuse_unseen(count: float, first: int) -> None:
    raise InputError(
        f"Objects of weight {count:g}, the first of them object {first}, are missing from every clustering, "
        "so no consensus can place them. Leave them out, as labels[(labels >= 0).any(axis=1)]."
    )
