"""The entrance for label vectors: what a label is, and which labels are missing.

A label is a category, and has the same meaning wherever it is given: to :class:`~consilience.Ensemble` (whose
docstring has the table of values and meanings), to a metric, or in a file. Codes number the categories of a
vector 0..k-1 in sorted order of their values, -1 where missing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._kernels.labels.codes import code_integers, code_values
from ..errors import InputError
from .frames import LARGEST_WHOLE, as_array, beyond_floats

#: Texts that mean "not clustered here", with any blanks around them.
MISSING_WORDS = frozenset(
    {"", "-1", "nan", "NaN", "NAN", "NA", "N/A", "<NA>", "None", "none", "null", "NULL", "NaT"}
)

#: These blanks are ignored around a missing word; other kinds of blank belong to a label.
BLANKS = " \t\r\n"

#: Labels up to which a look at all of them is quicker than compiled passes on threads.
_SHORT = 1 << 14

_NUMBERS = (bool, int, float, np.bool_, np.integer, np.floating)


class Coded(NamedTuple):
    """Labels that hold each value once: object i has the label values[codes[i]].

    It has no label if the code is -1.
    """

    codes: np.ndarray
    values: Any


class Columns(list):
    """Label vectors that are the columns of one table, which may be transposed."""


class Stored(NamedTuple):
    """A label matrix as read from a file, which may be transposed."""

    matrix: np.ndarray


class Clusterings(list):
    """Label vectors that are known to be clusterings, one each, and need no further question."""


def encode(labels: Any, where: str) -> tuple[np.ndarray, np.ndarray]:
    """(codes, categories) of one label vector; ``where`` is what messages call it.

    Codes are int32. Whole numbers, floats that are whole, and booleans have integer categories. Nothing of
    length n is sorted: integers use a table or, if they are spread wide, hashing, as everything else does.
    O(n).
    """
    if isinstance(labels, Coded):
        codes, categories = encode(labels.values, where)
        return drop_unused(np.append(codes, np.int32(-1))[labels.codes], categories)
    vector = as_vector(labels, where)
    if isinstance(vector, np.ma.MaskedArray):
        codes = np.full(vector.size, -1, np.int32)
        seen = ~np.ma.getmaskarray(vector)
        codes[seen], categories = encode(vector.data[seen], where)
        return codes, categories
    kind = vector.dtype.kind
    if kind in "iu":
        return _encode_integers(vector)
    if kind == "f":
        return _encode_floats(vector, where)
    if kind in "mM":
        codes, categories = code_values(vector)
        return _drop(codes, categories, np.isnat(categories))
    if kind == "U" and vector.dtype.itemsize:
        codes, categories = code_values(vector)
        return _drop(codes, categories, np.array([is_missing(word) for word in categories.tolist()], bool))
    if kind in "OTU":
        return _encode_objects(vector.astype(object), where)
    raise InputError(f"{where} has labels of type {vector.dtype}, which cannot be categories.")


def is_missing(value: Any) -> bool:
    """Whether a single label means "not clustered here"."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, str):
        return value.strip(BLANKS) in MISSING_WORDS
    if isinstance(value, (bool, np.bool_)):
        return False
    try:
        return bool(value == -1) or bool(value != value)
    except ArithmeticError:  # a signaling NaN, which cannot be compared
        return True


def as_vector(labels: Any, where: str) -> np.ndarray:
    """The labels as one dimension that compiled code can read: booleans as 0 and 1, bytes as text."""
    try:
        array = labels if isinstance(labels, np.ma.MaskedArray) else as_array(labels)
    except ValueError:
        raise InputError(f"{where} holds lists among its labels; expected one label per object.") from None
    if array.ndim == 0:
        hint = f" Pass those it learned, {type(labels).__name__}.labels_." if hasattr(labels, "fit") else ""
        raise InputError(
            f"{where} is {labels!r}, not a vector of labels; expected one label per object.{hint}"
        )
    if array.ndim != 1:
        raise InputError(
            f"{where} has shape {array.shape}; expected one label per object, shape (n_samples,). "
            "For one column of a table pass it alone, such as table[:, 0]."
        )
    kind = array.dtype.kind
    exact = _as_given(labels, array)
    if exact is not None:
        return exact
    if (
        kind in "US"
        and isinstance(labels, (list, tuple))
        and not all(isinstance(v, (str, bytes)) for v in labels)
    ):
        array = np.empty(len(labels), object)  # numpy spells numbers out in a mixed list
        array[:] = labels
    elif kind == "S":
        array = _decode(array)
    return as_codable(array)


def _as_given(labels: Any, array: np.ndarray) -> np.ndarray | None:
    """The labels one by one if an array of numbers or text would merge some; else None.

    It merges whole numbers beyond all floats beside a gap or a fraction, and text that ends in NUL.
    """
    if isinstance(labels, np.ndarray) or not array.size:
        return None
    if array.dtype.kind == "f" and beyond_floats(array):
        kind: tuple[type, ...] = (int, np.integer)
    elif array.dtype.kind == "U" and isinstance(labels, (list, tuple)):
        kind = (str,)
    else:
        return None
    listed = next(
        (getattr(labels, name) for name in ("to_pylist", "to_list", "tolist") if hasattr(labels, name)), None
    )
    values = list(labels) if listed is None else listed()
    lost = (value for value in values if isinstance(value, kind))
    if not any(not isinstance(value, str) or value.endswith("\0") for value in lost):
        return None
    out = np.empty(len(values), object)
    out[:] = values
    return out


def as_codable(array: np.ndarray) -> np.ndarray:
    """The same labels in the byte order of this machine, booleans as 0 and 1."""
    if array.dtype.kind == "b":
        return array.view(np.int8)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _decode(array: np.ndarray) -> np.ndarray:
    """Byte strings as text: UTF-8, or Latin-1 if that fails, which tells all bytes apart."""
    if isinstance(array, np.ma.MaskedArray):
        return np.ma.array(_decode(array.data), mask=np.ma.getmaskarray(array))
    try:
        return np.char.decode(array, "utf-8")
    except UnicodeDecodeError:
        return np.char.decode(array, "latin-1")


def _encode_integers(vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if (count := _count_of_codes(vector)) is not None:
        return vector.astype(np.int32), np.arange(count, dtype=np.int64)
    found = code_integers(vector[:, None], np.int32) if vector.size else None
    if found is not None:
        return found[0][:, 0], found[1][0]
    wide = vector.astype(np.uint64 if vector.dtype.kind == "u" else np.int64)
    codes, categories = code_values(wide)
    return _drop(codes, categories, categories == -1)


def _count_of_codes(vector: np.ndarray) -> int | None:
    """k if a short vector holds all of 0..k-1, and perhaps -1, as what clusterers return does; else None."""
    if not 0 < vector.size <= _SHORT:
        return None
    count = int(vector.max()) + 1
    if count > vector.size or vector.min() < -1:
        return None
    present = np.bincount(vector.astype(np.int64) + 1, minlength=count + 1)[1:]
    return count if present.all() else None


def _encode_floats(vector: np.ndarray, where: str) -> tuple[np.ndarray, np.ndarray]:
    with np.errstate(invalid="ignore"):  # NaNs of a damaged file may be signaling ones
        vector = vector.astype(np.promote_types(vector.dtype, np.float64)) + 0.0  # -0.0 and 0.0 are one label
    codes, categories = code_values(vector)
    if np.isinf(categories).any():
        _refuse_infinite(np.isinf(vector), vector, where)
    codes, categories = _drop(codes, categories, np.isnan(categories) | (categories == -1))
    return codes, _whole(categories)


def _encode_objects(vector: np.ndarray, where: str) -> tuple[np.ndarray, np.ndarray]:
    values = vector.tolist()
    try:
        codes, seen = _distinct(values)
    except (TypeError, ValueError):
        values = [_hashable(value, row, where) for row, value in enumerate(values)]
        codes, seen = _distinct(values)
    infinite = {value for value in seen if value in (np.inf, -np.inf)}
    if infinite:
        _refuse_infinite(np.array([value in infinite for value in values]), vector, where)
    try:
        with np.errstate(over="ignore"):  # a large number beside a NumPy scalar of a narrow type
            seen.sort()
    except (TypeError, ArithmeticError, ValueError):
        # Numbers and text together, with numbers beyond all floats, or arrays, which have no single
        # order.
        seen.sort(key=lambda value: (type(value).__name__, str(value)))
    codes.update((value, code) for code, value in enumerate(seen))
    return np.fromiter(map(codes.__getitem__, values), np.int32, len(values)), _as_array(seen)


def _distinct(values: list) -> tuple[dict[Any, int], list]:
    """(-1 for each distinct value, those not missing)."""
    codes = dict.fromkeys(values, -1)
    return codes, [value for value in codes if not is_missing(value)]


def _hashable(value: Any, row: int, where: str) -> Any:
    """The label, or None for a missing one: a signaling NaN cannot be hashed."""
    try:
        hash(None if is_missing(value) else value)
    except (TypeError, ValueError):
        raise InputError(
            f"{where} has a label of type {type(value).__name__} at object {row}; labels must be numbers "
            f"or text."
        ) from None
    return None if is_missing(value) else value


def _refuse_infinite(infinite: np.ndarray, vector: np.ndarray, where: str) -> None:
    row = int(np.argmax(infinite))
    raise InputError(
        f"{where} has the label {vector[row]} at object {row}; use NaN for a missing label, or give this "
        f"cluster a number."
    )


def _as_array(categories: list) -> np.ndarray:
    """Numbers if all are and one type holds them exactly, so that a None among labels changes no category."""
    if categories and all(isinstance(value, _NUMBERS) for value in categories):
        whole = not any(isinstance(value, (float, np.floating)) for value in categories)
        try:
            array = np.array(categories, np.int64 if whole else np.float64)
        except OverflowError:  # beyond the type
            array = np.empty(0)
        if array.tolist() == categories:
            return _whole(array)
    array = np.empty(len(categories), object)
    array[:] = categories
    return array


def _whole(categories: np.ndarray) -> np.ndarray:
    """Floats as integers where all of them are whole: 1.0 is what a missing label beside it makes of 1."""
    if categories.dtype.kind != "f" or not categories.size:
        return categories
    if (np.abs(categories) < LARGEST_WHOLE).all() and (categories == np.rint(categories)).all():
        return categories.astype(np.int64)
    return categories


def _drop(codes: np.ndarray, categories: np.ndarray, missing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Turn the categories marked ``missing`` into code -1."""
    if not missing.any():
        return codes, categories
    numbers = np.where(missing, -1, np.cumsum(~missing) - 1).astype(np.int32)
    return numbers[codes], categories[~missing]


def drop_unused(codes: np.ndarray, categories: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Leave out categories that no object has; codes may be -1."""
    used = np.zeros(len(categories) + 1, bool)
    used[codes] = True  # code -1 marks the last place
    if used[:-1].all():
        return codes, categories
    numbers = np.append(np.cumsum(used[:-1]) - 1, -1).astype(codes.dtype)
    return numbers[codes], categories[used[:-1]]
