"""Measures of lazy labels.

Every block becomes its distinct pairs of labels with their counts, and these are compared as usual.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._base.dask_types import is_lazy
from .._data.labels import as_vector, encode
from .._kernels.labels.contingency import count_pairs
from .._kernels.runtime.threads import one_blas_thread, one_thread
from ..errors import InputError
from .engine import collect
from .graphs import blocks_of, call, in_tree
from .tables import joined

#: Values of one vector, values of the other, and how often each pair of them occurs.
Pairs = tuple[np.ndarray, np.ndarray, np.ndarray]


def pairs_of(both: Mapping[str, Any], sample_weight: Any = None) -> Pairs:
    """The distinct pairs of two vectors of labels with their counts.

    The vectors come by name. One pass over the blocks of both finds the pairs.
    """
    given = dict(both)
    first, labels = next(iter(given.items()))
    if sample_weight is not None:
        given["sample_weight"] = sample_weight
    for name, vector in given.items():
        if not is_lazy(vector):
            raise InputError(
                f"{name} is in memory, and other labels are lazy: pass dask.array.from_array({name}, "
                "chunks=...) with the chunks of those, or their .compute()."
            )
        if vector.ndim != 1:
            raise InputError(
                f"{name} has shape {vector.shape}; expected one label per object, shape (n_samples,)."
            )
    blocks = [_blocks(name, vector, first, labels) for name, vector in given.items()]
    tasks = [call(_pairs, *block) for block in zip(*blocks)]
    return collect([in_tree(tasks, _merged)], "counting pairs of labels")[0]


def _blocks(name: str, vector: Any, first: str, like: Any) -> list[Any]:
    """Tasks of the blocks of a vector, in the chunks of another if both know their chunks."""
    if vector is not like and hasattr(vector, "chunks") and hasattr(like, "chunks"):
        known = not np.isnan([*vector.chunks[0], *like.chunks[0]]).any()
        if known and sum(vector.chunks[0]) != sum(like.chunks[0]):
            raise InputError(
                f"{first} has {sum(like.chunks[0])} objects but {name} has {sum(vector.chunks[0])}; both "
                "must label the same objects in the same order."
            )
        if known and vector.chunks != like.chunks:
            vector = vector.rechunk(like.chunks)
    own = blocks_of(vector)
    others = blocks_of(like)
    if len(own) != len(others):
        raise InputError(
            f"{first} has {len(others)} blocks but {name} has {len(own)}, and their sizes are not known: "
            f"give both the same blocks."
        )
    return own


def _pairs(labels: Any, truth: Any, sample_weight: Any = None) -> Pairs:
    """The pairs of one block."""
    with one_thread(), one_blas_thread():
        a, b = as_vector(labels, "one vector"), as_vector(truth, "the other vector")
        if len(a) != len(b):
            raise InputError(
                f"A block of {len(a)} labels lies beside one of {len(b)}: give both the same chunks."
            )
        weights = None if sample_weight is None else np.asarray(sample_weight, float)
        return _counted(a, b, weights)


def _merged(parts: list[Pairs]) -> Pairs:
    """The pairs of several blocks, merged."""
    with one_thread(), one_blas_thread():
        a, b = (joined([part[side] for part in parts]) for side in (0, 1))
        return _counted(a, b, np.concatenate([part[2] for part in parts]))


def _counted(a: np.ndarray, b: np.ndarray, weights: np.ndarray | None) -> Pairs:
    if len(a) == 0:
        return a[:0], b[:0], np.empty(0)
    (a, names_a), (b, names_b) = encode(a, "one vector"), encode(b, "the other vector")
    cells = count_pairs(a, b, weights)
    rows, columns = cells.row_values[cells.rows], cells.column_values[cells.columns]
    return _named(names_a, rows), _named(names_b, columns), np.asarray(cells.counts, float)


def _named(names: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The labels that codes stand for; -1 becomes the missing value of their type."""
    if names.dtype.kind == "i":
        return np.append(names, -1)[codes]
    if names.dtype.kind == "f":
        return np.append(names, np.nan)[codes]
    out = np.empty(len(names) + 1, object)
    out[:-1] = names.tolist()
    return out[codes]
