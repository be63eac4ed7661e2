"""From anything a user may call 'my clusterings' to label vectors, and from these to integer codes.

What a label is, and which are missing, is said in :mod:`consilience.labels`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ._frames import as_frame, row_names
from .errors import InputError
from .kernels.factorise import code_dtype, code_integers
from .labels import Coded, Columns, as_codable, as_vector, encode
from .naming import check_unique, numbered
from .validation import checked_csr, listed


@dataclass
class Intake:
    """What the door lets through."""

    labels: np.ndarray  # (n, m) int16 or int32, -1 missing
    categories: list[np.ndarray]
    clustering_names: list[str] | None = None
    sample_names: list[Any] | None = None
    is_matrix: bool = False  # given as one n x m array: the only form that can be the wrong way round


def take_in(labels: Any) -> Intake:
    """Recognise the container and encode what is in it."""
    import scipy.sparse as sp

    if sp.issparse(labels):
        raise InputError(
            f"labels is a sparse matrix of shape {labels.shape}. Pass a dense (n_samples, n_clusterings) array of "
            "labels, or indicator matrices as a list with one 0/1 block per clustering: Ensemble([Y1, Y2, ...])."
        )
    if isinstance(labels, Mapping):
        if not labels:
            raise InputError("labels is an empty mapping: give at least one clustering.")
        intake = _from_vectors([labels[name] for name in labels])
        intake.clustering_names = [str(name) for name in labels]
        return intake
    frame = as_frame(labels)
    if frame is not None:
        return _from_frame(labels, frame)
    if isinstance(labels, Columns):
        return _from_vectors(labels, is_matrix=True)
    if isinstance(labels, Sequence) and not isinstance(labels, (str, bytes)):
        return _from_sequence(list(labels))
    if hasattr(labels, "labels_"):
        return _from_sequence([labels])
    return _from_array(labels)


def _from_frame(native: Any, frame: Any) -> Intake:
    if frame.shape[1] == 0:
        raise InputError(
            f"The data frame has no columns (shape {frame.shape}): give one column per clustering."
        )
    check_unique(frame.columns, "column name", "rename the columns")
    intake = _from_vectors([column.to_numpy() for column in frame.iter_columns()])
    intake.clustering_names = [str(name) for name in frame.columns]
    intake.sample_names = row_names(native)
    return intake


def _from_sequence(items: list) -> Intake:
    if not items:
        raise InputError("labels is an empty list: give at least one clustering.")
    if all(hasattr(item, "fit") for item in items):
        unfitted = [type(item).__name__ for item in items if not hasattr(item, "labels_")]
        if unfitted:
            raise InputError(
                f"{listed(unfitted)} have no labels_ yet: fit every clusterer first, "
                "or let consilience.generate.estimators(X, clusterers) do it."
            )
        intake = _from_vectors([item.labels_ for item in items])
        intake.clustering_names = numbered(type(item).__name__ for item in items)
        return intake
    dimensions = {_ndim(item) for item in items}
    if dimensions == {2}:
        return _from_vectors([_from_one_hot(block, i) for i, block in enumerate(items)])
    if dimensions == {1}:
        intake = _from_vectors(items)
        names = [getattr(item, "name", None) for item in items]
        if all(name is not None for name in names):
            intake.clustering_names = numbered(names)
        return intake
    if dimensions == {0}:
        raise InputError(
            f"labels is a flat list of {len(items)} values. For a single clustering pass [labels], a list holding one vector."
        )
    raise InputError(
        "labels is a list whose items have different numbers of dimensions. Give label vectors (one per clustering), "
        "fitted clusterers, or 0/1 blocks, not a mixture."
    )


def _ndim(item: Any) -> int:
    if hasattr(item, "ndim"):
        return int(item.ndim)
    if isinstance(item, (str, bytes)) or not isinstance(item, Sequence):
        return 0
    first = item[0] if item else None
    return 2 if isinstance(first, (Sequence, np.ndarray)) and not isinstance(first, (str, bytes)) else 1


def _from_one_hot(block: Any, position: int) -> np.ndarray:
    """Labels of one indicator block; an all-zero row is missing."""
    import scipy.sparse as sp

    try:
        Y = checked_csr(block, f"Block {position} of the list") if sp.issparse(block) else np.asarray(block)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"Item {position} of the list holds lists of different lengths. Give label vectors, one per clustering."
        ) from None
    if Y.ndim == 2 and Y.shape[1] == 0:
        raise InputError(
            f"Block {position} of the list has shape {Y.shape}, no columns: give one column per cluster."
        )
    values = np.asarray(Y.data if sp.issparse(block) else Y)
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise InputError(
            f"Block {position} of the list is two-dimensional but holds other values than 0 and 1. A list of matrices is "
            "read as one-hot blocks; pass one (n_samples, n_clusterings) array for a label matrix."
        )
    counts = np.asarray((Y != 0).sum(axis=1)).ravel()
    if (counts > 1).any():
        row = int(np.argmax(counts > 1))
        raise InputError(
            f"Row {row} of one-hot block {position} has {counts[row]} ones; an object is in one cluster at most."
        )
    labels = np.asarray(Y.argmax(axis=1)).ravel().astype(np.int32)
    labels[counts == 0] = -1
    return labels


def _from_vectors(vectors: Sequence[Any], *, is_matrix: bool = False) -> Intake:
    columns = [
        vector if isinstance(vector, Coded) else as_vector(vector, f"Clustering {i}")
        for i, vector in enumerate(vectors)
    ]
    lengths = [len(column.codes if isinstance(column, Coded) else column) for column in columns]
    if len(set(lengths)) > 1:
        other = next(i for i, length in enumerate(lengths) if length != lengths[0])
        raise InputError(
            f"Labels have different lengths: clustering 0 has {lengths[0]} objects, clustering {other} has {lengths[other]}. "
            "Every clustering must label the same objects, in the same order (use NaN where one did not see an object)."
        )
    encoded = [encode(column, f"Clustering {i}") for i, column in enumerate(columns)]
    categories = [values for _, values in encoded]
    codes: np.ndarray = np.empty((lengths[0], len(columns)), code_dtype(max(map(len, categories))))
    for i, (column_codes, _) in enumerate(encoded):
        codes[:, i] = column_codes
    return Intake(codes, categories, is_matrix=is_matrix)


def _from_array(labels: Any) -> Intake:
    array = as_codable(labels if isinstance(labels, np.ma.MaskedArray) else np.asarray(labels))
    if array.ndim == 0:
        raise InputError(
            f"labels={labels!r} is not a label matrix: pass an array of shape (n_samples, n_clusterings)."
        )
    if array.ndim == 1:
        raise InputError(
            f"labels has shape {array.shape}, one dimension. For a single clustering of {array.shape[0]} objects pass "
            "labels.reshape(-1, 1) or [labels]."
        )
    if array.ndim > 2:
        raise InputError(
            f"labels has shape {array.shape}; expected two dimensions (n_samples, n_clusterings)."
        )
    if array.shape[1] == 0:
        raise InputError(f"labels has shape {array.shape}: no clusterings. Give at least one column.")
    if array.dtype.kind in "iu" and not isinstance(array, np.ma.MaskedArray) and array.shape[0]:
        found = code_integers(array)
        if found is not None:
            return Intake(*found, is_matrix=True)
    return _from_vectors(list(array.T), is_matrix=True)
