"""From anything a user may call 'my clusterings' to label vectors, and from these to integer codes.

:mod:`consilience._data.labels` says what a label is, and which labels are missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._base.names import check_count, check_unique, is_pair, numbered
from .._base.parameters import checked_csr, listed
from .._kernels.labels.codes import code_dtype, code_integers
from ..errors import InputError
from .containers import refuse_foreign, shown, unrolled
from .frames import as_frame, row_names, values_of
from .labels import Clusterings, Coded, Columns, Stored, as_codable, as_vector, encode


@dataclass
class Intake:
    """Clusterings that were accepted, as codes."""

    labels: np.ndarray  # (n, m) int16 or int32, -1 missing
    categories: list[np.ndarray]
    clustering_names: list[str] | None = None
    sample_names: list[Any] | None = None
    #: What it came in: "array", "rows" (nested lists), "frame", "table" (a file), "list" (of clusterings),
    #: "dict", or "known" (to be clusterings).
    container: str = "list"
    #: The library of the data frame that it came in: "pandas", "polars", ...
    library: str | None = None


def take_in(labels: Any) -> Intake:
    """Recognize the container and encode its content.

    Rows are objects, as in NumPy, unless the container says otherwise.
    """
    labels = _opened(labels)
    if (named := _from_columns(labels)) is not None:
        return named
    if isinstance(labels, Stored):
        intake = _from_array(labels.matrix)
        intake.container = "table"
        return intake
    if isinstance(labels, (Columns, Clusterings)):
        return _from_vectors(labels, container="table" if isinstance(labels, Columns) else "known")
    if isinstance(labels, Sequence) and not isinstance(labels, bytes):
        return _from_sequence(list(labels))
    return _from_array(labels)


def take_clusterings(labels: Any) -> Intake:
    """The same for label vectors, one per clustering."""
    labels = _opened(labels)
    if (named := _from_columns(labels)) is not None:
        return named
    if isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype == object:
        labels = labels.tolist()
    if isinstance(labels, Sequence) and not isinstance(labels, bytes):
        return _from_items(*_unpaired(list(labels)))
    if hasattr(labels, "shape"):
        raise InputError(
            f"from_clusterings got an array of shape {labels.shape}, not a list of label vectors. Where "
            f"rows are objects pass "
            "Ensemble(labels), where rows are clusterings Ensemble(labels.T)."
        )
    raise InputError(f"labels={shown(labels)} is not a list of label vectors: give one for each clustering.")


def _opened(labels: Any) -> Any:
    """Labels that can be iterated again; raises for what holds labels but is no table of them."""
    import scipy.sparse as sp

    labels = unrolled(labels)
    refuse_foreign(labels, "labels", reader="read_labels")
    if hasattr(labels, "draw") and hasattr(labels, "harden"):  # by its kind, as it is made of ensembles
        raise InputError(
            "labels is a SoftEnsemble, whose memberships are no labels: pass soft.draw(10), hard "
            "clusterings drawn from them, or "
            "soft.harden(), the largest membership of each object."
        )
    if sp.issparse(labels):
        raise InputError(
            f"labels is a sparse matrix of shape {labels.shape}. Pass a dense (n_samples, n_clusterings) "
            f"array of "
            "labels, or indicator matrices as a list with one 0/1 block per clustering: Ensemble([Y1, Y2, "
            "...])."
        )
    return labels


def _from_columns(labels: Any) -> Intake | None:
    """Encode named clusterings: a mapping, the columns of a data frame, or a fitted clusterer."""
    if isinstance(labels, Mapping):
        if not labels:
            raise InputError("labels is an empty mapping: give at least one clustering.")
        intake = _from_items(list(labels.values()), [str(name) for name in labels])
        intake.container = "dict"
        return intake
    frame = as_frame(labels)
    if frame is not None:
        return _from_frame(labels, frame)
    return _from_items([labels]) if hasattr(labels, "fit") else None


def _from_frame(native: Any, frame: Any) -> Intake:
    if frame.shape[1] == 0:
        raise InputError(
            f"The data frame has no columns (shape {frame.shape}): give one column per clustering."
        )
    intake = _from_vectors([values_of(column) for column in frame.iter_columns()], container="frame")
    intake.clustering_names = [str(name) for name in frame.columns]
    intake.sample_names = row_names(native)
    intake.library = str(frame.implementation)
    return intake


def _from_sequence(items: list) -> Intake:
    """Encode a list: lists of lists are rows, as in NumPy.

    Pairs, clusterers and 0/1 blocks are clusterings.
    """
    given, names = _unpaired(items)
    dimensions = {2 if hasattr(item, "fit") else _ndim(item) for item in given}
    if names is not None or dimensions & {0, 2}:  # what is no vector at all is told there
        return _from_items(given, names)
    if all(isinstance(item, (list, tuple)) for item in given):
        return _from_rows(given)
    what = type(next(item for item in given if not isinstance(item, (list, tuple)))).__name__
    raise InputError(
        f"labels is a list of {len(given)} vectors ({what}), which may be clusterings or objects. If each "
        f"holds the labels of one "
        "clustering pass Ensemble.from_clusterings(labels); if each is an object, numpy.array(labels)."
    )


def _unpaired(items: list) -> tuple[list, list[str] | None]:
    """(clusterings, their names) of pairs; the list itself if it holds none."""
    if not items:
        raise InputError("labels is an empty list: give at least one clustering.")
    if not all(map(is_pair, items)):
        return items, None
    names = [name for name, _ in items]
    check_unique(names, "clustering name", "name each clustering differently")
    return [item for _, item in items], names


def _from_rows(rows: list) -> Intake:
    """From one list per object."""
    lengths = [len(row) for row in rows]
    other = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
    if other is not None:
        raise InputError(
            f"Rows have different lengths: object 0 has {lengths[0]} labels, object {other} has "
            f"{lengths[other]}. A list of lists "
            "holds one row per object, with a label of every clustering (None where it did not see the "
            "object). For one "
            "vector per clustering pass Ensemble.from_clusterings(labels)."
        )
    if not lengths[0]:
        raise InputError(f"labels has shape ({len(rows)}, 0): no clusterings. Give at least one column.")
    return _from_vectors([list(column) for column in zip(*rows)], container="rows")


def _from_items(items: list, names: list[str] | None = None) -> Intake:
    """From label vectors, fitted clusterers and 0/1 blocks, one per clustering."""
    items, sample_names = _aligned(items, names)
    if names is None and all(hasattr(item, "fit") for item in items):
        names = numbered(type(item).__name__ for item in items)
    if names is None:
        own = [getattr(item, "name", None) for item in items]
        names = None if any(name in (None, "") for name in own) else numbered(own)
    if {_ndim(item) for item in items} == {0}:
        raise InputError(
            f"labels is a flat list of {len(items)} values. For a single clustering pass "
            f"Ensemble.from_clusterings([labels])."
        )
    intake = _from_vectors([_vector(item, i) for i, item in enumerate(items)])
    intake.clustering_names, intake.sample_names = names, sample_names
    return intake


def _vector(item: Any, position: int) -> Any:
    """The labels of one clustering, given in any accepted form."""
    if hasattr(item, "fit"):
        return _labels_of(item)
    dimensions = _ndim(item)
    if dimensions == 0:
        raise InputError(
            f"Clustering {position} is {shown(item)}, not a vector of labels; expected one label per "
            f"object. Give label "
            "vectors, fitted clusterers or 0/1 blocks, one per clustering."
        )
    return _from_one_hot(item, position) if dimensions == 2 else item


def _labels_of(model: Any) -> Any:
    """The labels of a fitted clusterer, also of a pipeline's last step or a search's best model."""
    name, inner = type(model).__name__, model
    while not hasattr(inner, "labels_"):
        if getattr(inner, "steps", None):
            inner = inner.steps[-1][1]
        elif hasattr(inner, "best_estimator_"):
            inner = inner.best_estimator_
        else:
            break
    if hasattr(inner, "labels_"):
        return inner.labels_
    if hasattr(inner, "predict") and _is_fitted(inner):
        raise InputError(
            f"{name} is fitted but keeps no labels_: pass its labels instead, model.predict(X), or let "
            "consilience.generate.estimators(X, clusterers=models) fit it."
        )
    raise InputError(
        f"{name} has no labels_ yet: fit every clusterer first, or let "
        "consilience.generate.estimators(X, clusterers=clusterers) do it."
    )


def _is_fitted(model: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


def _aligned(items: list, names: list[str] | None) -> tuple[list, list[Any] | None]:
    """pandas Series in the order of the first one's index, and its names of the objects."""
    series = [i for i, item in enumerate(items) if _is_series(item)]
    if not series:
        return items, None
    first = items[series[0]]
    if all(items[i].index.equals(first.index) for i in series):
        return items, row_names(first)
    called = [f"clustering {i if names is None else repr(names[i])}" for i in range(len(items))]
    if len(series) < len(items):
        other = next(i for i in range(len(items)) if i not in series)
        raise InputError(
            f"The Series among the clusterings have different indexes, but {called[other]} has none, so "
            f"its labels cannot be "
            "matched to theirs. Give all of them as Series, or bring the Series into one order and pass "
            "their .to_numpy()."
        )
    for i in series:
        check_unique(items[i].index, "sample name", f"make the index of {called[i]} unique")
        strange = items[i].index.symmetric_difference(first.index)
        if len(strange):
            raise InputError(
                f"C{called[i][1:]} labels other objects than {called[series[0]]}: "
                f"{listed(map(repr, strange))} "
                f"{'is' if len(strange) == 1 else 'are'} in one index alone. To match by name and leave "
                f"the others missing "
                f"pass pandas.DataFrame({'dict(enumerate(labels))' if names is None else 'labels'}); if "
                f"rows correspond by "
                "position, reset every index with reset_index(drop=True)."
            )
    return [item.loc[first.index] for item in items], list(first.index)


def _is_series(item: Any) -> bool:
    return type(item).__module__.partition(".")[0] == "pandas" and type(item).__name__ == "Series"


def _ndim(item: Any) -> int:
    if hasattr(item, "ndim"):
        return int(item.ndim)
    if hasattr(item, "fit") or isinstance(item, Coded):
        return 1
    if hasattr(item, "shape"):  # a polars Series
        return len(item.shape)
    if hasattr(item, "__array__") and hasattr(item, "__len__"):  # an Arrow array
        return 1
    if isinstance(item, (str, bytes)) or not isinstance(item, Sequence):
        return 0
    first = item[0] if item else None
    if isinstance(first, np.ndarray):  # without axes it is a label, as numpy.ma.masked is
        return 2 if first.ndim else 1
    return 2 if isinstance(first, Sequence) and not isinstance(first, (str, bytes)) else 1


def _from_one_hot(block: Any, position: int) -> np.ndarray:
    """Labels of one indicator block; an all-zero row is missing."""
    import scipy.sparse as sp

    try:
        Y = checked_csr(block, f"Block {position} of the list") if sp.issparse(block) else np.asarray(block)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"Item {position} of the list holds lists of different lengths. Give label vectors, one per "
            f"clustering."
        ) from None
    if Y.ndim == 2 and Y.shape[1] == 0:
        raise InputError(
            f"Block {position} of the list has shape {Y.shape}, no columns: give one column per cluster."
        )
    values = np.asarray(Y.data if sp.issparse(block) else Y)
    if values.dtype.kind not in "biuf" or not np.isin(values, (0, 1)).all():
        raise InputError(
            f"Block {position} of the list is two-dimensional but holds other values than 0 and 1. A list "
            f"of matrices is "
            "read as one-hot blocks; pass one (n_samples, n_clusterings) array for a label matrix."
        )
    counts = np.asarray((Y != 0).sum(axis=1)).ravel()
    if (counts > 1).any():
        row = int(np.argmax(counts > 1))
        raise InputError(
            f"Row {row} of one-hot block {position} has {counts[row]} ones; an object is in one cluster at "
            f"most."
        )
    labels = np.asarray(Y.argmax(axis=1)).ravel().astype(np.int32)
    labels[counts == 0] = -1
    return labels


def _from_vectors(vectors: Sequence[Any], *, container: str = "list") -> Intake:
    columns = [
        vector if isinstance(vector, Coded) else as_vector(vector, f"Clustering {i}")
        for i, vector in enumerate(vectors)
    ]
    lengths = [len(column.codes if isinstance(column, Coded) else column) for column in columns]
    if len(set(lengths)) > 1:
        other = next(i for i, length in enumerate(lengths) if length != lengths[0])
        raise InputError(
            f"Labels have different lengths: clustering 0 has {lengths[0]} objects, clustering {other} has "
            f"{lengths[other]}. "
            "Every clustering must label the same objects, in the same order (use NaN where one did not "
            "see an object)."
        )
    encoded = [encode(column, f"Clustering {i}") for i, column in enumerate(columns)]
    categories = [values for _, values in encoded]
    codes: np.ndarray = np.empty((lengths[0], len(columns)), code_dtype(max(map(len, categories))))
    for i, (column_codes, _) in enumerate(encoded):
        codes[:, i] = column_codes
    return Intake(codes, categories, container=container)


def _from_array(labels: Any) -> Intake:
    array = as_codable(labels if isinstance(labels, np.ma.MaskedArray) else np.asarray(labels))
    if array.ndim == 0:
        raise InputError(
            f"labels={shown(labels)} is not a label matrix: pass an array of shape (n_samples, "
            f"n_clusterings)."
        )
    if array.ndim == 1 and array.dtype == object and any(_ndim(item) for item in array):
        return _from_sequence(list(array))  # vectors in an array, as of different lengths
    if array.ndim == 1:
        raise InputError(
            f"labels has shape {array.shape}, one dimension. For a single clustering of {array.shape[0]} "
            f"objects pass "
            "Ensemble.from_clusterings([labels])."
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
            return Intake(*found, container="array")
    return _from_vectors(list(array.T), container="array")


def check_recipes(recipes: Any, m: int) -> list[dict]:
    """Copies of m recipes."""
    if not isinstance(recipes, Sequence) or not all(isinstance(recipe, Mapping) for recipe in recipes):
        raise InputError(
            f"recipes={recipes!r:.80} is not valid: expected a list of {m} dictionaries, one per clustering."
        )
    if len(recipes) != m:
        raise InputError(f"recipes has {len(recipes)} entries for {m} clusterings.")
    return [dict(recipe) for recipe in recipes]


def check_parts(parts: Mapping[str, Any]) -> None:
    """Raise unless the parts of an ensemble fit together, as compiled code requires."""
    labels, categories = parts["labels"], parts["categories"]
    shape = labels.shape
    fits = labels.dtype in (np.int16, np.int32) and len(shape) == 2 and min(shape) > 0
    if not fits or len(categories) != shape[1] or labels.min() < -1:
        raise InputError(
            f"labels of shape {shape} and type {labels.dtype} with {len(categories)} lists of categories."
        )
    if any(int(most) >= len(own) for most, own in zip(labels.max(axis=0), categories)):
        raise InputError("labels hold numbers beyond their categories.")
    named = (
        ("clustering_names", shape[1]),
        ("sample_names", shape[0]),
        ("recipes", shape[1]),
        ("base_models", shape[1]),
    )
    for name, count in named:
        if parts[name] is not None:
            check_count(parts[name], count, name, "entries")
