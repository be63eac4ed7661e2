"""Sparse matrices from any format, checked before SciPy's kernels trust their pieces."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._kernels.runtime.floats import as_floats
from .._kernels.runtime.memory import ensure_fits
from ..errors import FileError


def sparse_from_pieces(
    what: str, data: Any, indices: Any, indptr: Any, shape: tuple[Any, ...], *, layout: str
) -> Any:
    """The CSR array of ``layout`` ("csr" or "csc") pieces.

    Raises a :class:`FileError` that says what does not fit together.
    ``indices`` and ``data`` may be longer than ``indptr`` says, as MATLAB leaves them.
    """
    import scipy.sparse as sp

    data, indices, indptr = (np.asarray(piece).ravel() for piece in (data, indices, indptr))
    wrong = misfit(data, indices, indptr, shape, layout)
    if wrong is not None:
        raise FileError(f"{what}: the pieces of the sparse matrix do not fit together: {wrong}.")
    rows, columns = (int(length) for length in shape)
    count = int(indptr[-1])
    ensure_fits(32 * count + 16 * rows, what=what, remedy="store fewer rows or entries")
    index = (
        np.int32 if max(rows, columns, count) < 2**31 else np.int64
    )  # scikit-learn does not accept wider indices than needed
    pieces = (as_floats(data[:count]), indices[:count].astype(index), indptr.astype(index))
    make = sp.csr_array if layout == "csr" else sp.csc_array
    matrix = make(pieces, shape=(rows, columns)).tocsr()
    matrix.sum_duplicates()
    return matrix


def misfit(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[Any, ...], layout: str
) -> str | None:
    """What is wrong with the pieces of a sparse matrix, or None."""
    if data.dtype.kind not in "biuf":
        return f"its entries are of type {data.dtype}, expected numbers"
    for name, piece in (("indices", indices), ("indptr", indptr)):
        if piece.dtype.kind not in "iu":
            return f"{name} is of type {piece.dtype}, expected whole numbers"
        if piece.dtype == np.uint64 and piece.size and int(piece.max()) >= 2**63:
            return f"{name} reaches {int(piece.max())}"
    if len(shape) != 2 or not all(0 <= int(length) < 2**63 for length in shape):
        return f"its shape is {tuple(map(int, shape))}"
    major, minor = map(int, shape if layout == "csr" else shape[::-1])
    if len(indptr) != major + 1:
        return f"indptr has {len(indptr)} values, expected {major + 1}"
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        return "indptr does not rise from 0"
    count = int(indptr[-1])
    if count > min(len(indices), len(data)):
        return f"indptr promises {count} entries, there are {len(indices)} indices and {len(data)} values"
    used = indices[:count]
    if count and not (int(used.min()) >= 0 and int(used.max()) < minor):
        return f"indices run from {used.min()} to {used.max()}, expected 0 to {minor - 1}"
    return None
