"""Soft clusterings in any accepted form, checked and brought to one form.

This is the entrance of :class:`consilience._data.soft.SoftEnsemble`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._base.names import is_pair
from .._base.parameters import checked_csr
from .._kernels.labels.incidence import row_sums
from ..errors import InputError
from .containers import refuse_foreign
from .ensemble import Ensemble
from .frames import as_array, as_frame, row_names

#: Sums of a row that exceed 1 up to this come from rounding, also of tables printed with few digits, and are
#: scaled to 1.
_ROUNDED = 1.01
#: Sums this near to 1 are 1.
WHOLE = 1e-6


def take_in(blocks: Any) -> tuple:
    """(Y, offsets, columns, widths of the blocks, their names, names of the rows)."""
    refuse_foreign(blocks, "blocks", reader="read_features")
    names: list[str] | None = None
    if isinstance(blocks, Mapping):
        names, items = [str(name) for name in blocks], list(blocks.values())
    elif sp.issparse(blocks) or as_frame(blocks) is not None or not isinstance(blocks, (Sequence, Iterator)):
        shape = getattr(blocks, "shape", "unknown")
        if not (isinstance(blocks, np.ndarray) and blocks.ndim == 3):
            raise InputError(
                f"blocks is one table of shape {shape}: expected a list with one block (n_samples, k_i) "
                f"for each clustering. For a "
                "single clustering pass SoftEnsemble([P])."
            )
        items = list(blocks)
    else:
        items = list(blocks)
        if items and all(is_pair(item) for item in items):
            names, items = [str(name) for name, _ in items], [block for _, block in items]
    if not items:
        raise InputError("blocks is empty: give at least one block of memberships.")
    parts, sample_names = [], None
    for i, item in enumerate(items):
        name = f"block {i}" if names is None else f"block {names[i]!r}"
        parts.append(_block(item, name))
        sample_names = sample_names or (row_names(item) if as_frame(item) is not None else None)
        if parts[i].shape[0] != parts[0].shape[0]:
            raise InputError(
                f"{name} has {parts[i].shape[0]} rows and block {0 if names is None else repr(names[0])} "
                f"has {parts[0].shape[0]}: all "
                "blocks are of the same objects, one row each."
            )
    widths = [part.shape[1] for part in parts]
    Y = sp.csr_array(sp.hstack(parts, format="csr"))
    Y.sum_duplicates()
    offsets = np.concatenate([[0], np.cumsum(widths)])
    held = without_empty(Y, offsets, [np.arange(w) for w in widths])
    return (*held, np.array(widths), names, sample_names)


def _block(item: Any, name: str) -> sp.csr_array:
    """One checked block of memberships."""
    if sp.issparse(item):
        block = sp.csr_array(checked_csr(item, name), copy=True)
    else:
        array = as_array(item)
        if array.ndim == 1:
            return Ensemble.from_clusterings([array]).indicator()
        if array.ndim != 2:
            raise InputError(f"{name} has shape {array.shape}; expected memberships (n_samples, k_i).")
        if array.dtype.kind not in "biuf":
            raise InputError(
                f"{name} holds {array.dtype}, not numbers; expected memberships between 0 and 1."
            )
        if not np.isfinite(array).all():
            row = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
            raise InputError(
                f"{name} has a value that is not finite in row {row}; a row of zeros says that the "
                f"clustering did not see the object."
            )
        block = sp.csr_array(array)
    block = block.astype(np.float64)
    block.sum_duplicates()
    block.eliminate_zeros()
    if not block.shape[0]:
        raise InputError(f"{name} has shape {block.shape}: no objects. Give at least one row.")
    if not np.isfinite(block.data).all():
        raise InputError(f"{name} has values that are not finite; leave out what was not seen.")
    if block.data.size and block.data.min() < 0:
        raise InputError(
            f"{name} holds {block.data.min():g}: memberships are not negative. Pass probabilities, not "
            f"scores or their logarithms."
        )
    if not block.nnz:
        raise InputError(f"{name} has no membership at all: every entry is 0. Leave it out.")
    sums = row_sums(block.data, block.indptr)
    if sums.max() > _ROUNDED:
        row = int(np.argmax(sums))
        raise InputError(
            f"{name} adds up to {sums[row]:g} in row {row} ({int((sums > _ROUNDED).sum())} such rows): "
            f"memberships of an object add up to "
            "at most 1. Where they are counts or weights divide by their sums: P / P.sum(axis=1, "
            "keepdims=True)."
        )
    scale = np.where((sums > 1.0) | (sums > 1.0 - WHOLE), np.where(sums > 0, sums, 1.0), 1.0)
    # One entry alone is 1 exactly; others are divided by their sum.
    block.data /= np.repeat(scale, np.diff(block.indptr))
    return block


def without_empty(
    Y, offsets: np.ndarray, columns: list[np.ndarray]
) -> tuple[Any, np.ndarray, list[np.ndarray]]:
    """Leave out the clusters that hold nothing."""
    held = np.bincount(Y.indices, minlength=Y.shape[1]) > 0
    if held.all():
        return Y, offsets, columns
    kept = [own[held[a:b]] for own, (a, b) in zip(columns, pairwise(offsets))]
    Y = sp.csr_array(sp.csc_array(Y)[:, np.flatnonzero(held)])
    Y.sort_indices()
    return Y, np.concatenate([[0], np.cumsum([len(own) for own in kept])]), kept
