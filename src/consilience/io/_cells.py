"""Cells of text: which of them are numbers, and which labels the cells of a column stand for.

Text has no types. :mod:`consilience._data.labels` says what labels mean and which of them are missing.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .._data.labels import BLANKS, encode, is_missing

_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)


def as_number(cell: str) -> float | None:
    """The number in a cell, NaN for a missing one, None for text."""
    try:
        value = float(cell)
    except ValueError:
        return float("nan") if is_missing(cell) else None
    # float() also takes 1_000 and the digits of other scripts, which are names here.
    return value if "_" not in cell and cell.isascii() else None


def label_values(spellings: list[str]) -> np.ndarray:
    """The labels that the cells of one column stand for.

    Text has no types: labels are numbers if every cell that is not missing spells one (or infinity, which
    :func:`encode` refuses), and if no two of them become the same label. They are integers if all are
    integers, and floats otherwise. Where they are not numbers, labels are the text of the cells.
    """
    cells = [None if is_missing(spelling) else spelling.strip(BLANKS) for spelling in spellings]
    given = [cell for cell in cells if cell is not None]
    n_infinite = sum(1 for cell in given if _INFINITE.fullmatch(cell))
    n_numbers = sum(1 for cell in given if _NUMBER.fullmatch(cell) and cell != "-0")
    if n_numbers and n_numbers + n_infinite == len(given):
        whole = all(cell.lstrip("-").isdigit() for cell in given)
        if whole and max(map(len, given)) <= 20:
            integers = [-1 if cell is None else int(cell) for cell in cells]
            if all(-(2**63) <= value < 2**63 for value in integers):
                return np.array(integers, np.int64)
        floats = np.array([np.nan if cell is None else float(cell) for cell in cells])
        too_large = int(np.isinf(floats).sum()) > n_infinite
        if not too_large and not (whole and len(np.unique(floats)) < len(set(cells))):
            return floats
    values: np.ndarray = np.empty(len(spellings), object)
    values[:] = spellings
    return values


def read_back(spellings: list[str]) -> list[Any]:
    """The labels that a column with these spellings is read as, in the order given.

    A missing label is None.
    """
    values = label_values(spellings)
    if values.dtype.kind == "f" and np.isinf(values).any():
        return values.tolist()
    codes, categories = encode(values, "labels")
    return list(map([*categories.tolist(), None].__getitem__, codes.tolist()))  # code -1 picks the last place


def are_usual_integers(text: str, delimiter: str) -> bool:
    """Whether every cell is a whole number as str() writes it.

    Another spelling (007, +1, 1.0) is a label of its own.
    """
    if not text.isascii():
        return False
    characters = np.frombuffer(text.encode(), np.uint8)
    found = set(np.flatnonzero(np.bincount(characters, minlength=128)).tolist())
    if not found <= set(b"0123456789-\r\n" + delimiter.encode()):
        return False
    digit = characters >= ord("0")
    digit &= characters <= ord("9")
    zero = characters == ord("0")
    if zero.size and zero[0] and digit[1:2].any():
        return False
    leading = zero[1:-1] & ~digit[:-2] & digit[2:]
    return not leading.any() and b"-0" not in characters.tobytes()


def short(cell: str) -> str:
    """A cell in the form that messages show."""
    return repr(cell if len(cell) <= 40 else cell[:37] + "...")


def count_of(number: int, noun: str) -> str:
    """'1 cell', '2 cells'."""
    return f"{number} {noun}" + ("" if number == 1 else "s")
