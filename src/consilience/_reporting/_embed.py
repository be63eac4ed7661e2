"""Data in a page: packed numbers, and text that cannot become markup."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

#: Characters that could end a script element or a line of script; as JSON escapes, they mean the same.
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def to_json(value: Any) -> str:
    """JSON that is safe inside a ``<script type="application/json">`` element, whatever the strings hold."""
    # Lone surrogates (undecodable bytes of a file name) cannot be written as UTF-8; ASCII escapes can.
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character, escaped in _UNSAFE.items():
        text = text.replace(character, escaped)
    return text


def pack(values: Any, dtype: str) -> str:
    """Whole numbers as base64 of little-endian ``dtype``."""
    return base64.b64encode(
        np.ascontiguousarray(values, np.dtype(dtype).newbyteorder("<")).tobytes()
    ).decode()


def levels(values: Any) -> np.ndarray:
    """Shares in [0, 1] as 16-bit numbers: fine enough to be rounded for display as if exact."""
    return np.round(65535 * np.clip(np.nan_to_num(values), 0.0, 1.0)).astype(np.int64)


def spread(values: np.ndarray) -> np.ndarray:
    """Coordinates as 16-bit numbers over their range."""
    low, high = float(values.min()), float(values.max())
    if high <= low:
        return np.full(len(values), 32767)
    return np.round(65535 * (values - low) / (high - low)).astype(np.int64)


def printable(text: Any, most: int = 300) -> str:
    """Text of the user that can be shown: shortened, with lone surrogates and control characters replaced."""
    shown = str(text).encode("utf-8", "replace").decode("utf-8")
    shown = "".join(c if c.isprintable() or c in " \t\n" else "\ufffd" for c in shown)
    return shown if len(shown) <= most else shown[: most - 1] + "…"
