"""What the page carries for downloads: labels of all objects, and the base clusterings."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._results.view import Fitted
from ._certainty import DOUBTFUL_ROWS, TIES, choices
from ._embed import levels, pack
from ._words import number

_MEMBERS = 400_000  # characters that the base clusterings may take
_PAYLOAD = 4_000_000  # characters that labels, confidence and names of all objects may take


def payload(fitted: Fitted) -> tuple[dict[str, Any] | None, list[str]]:
    """Labels, confidence and names of all objects, as far as they fit, and notes on what does not fit."""
    n, wide = fitted.n_samples, fitted.n_clusters > 256
    room = _PAYLOAD
    labels = 4 * n * (2 if wide else 1) // 3
    if labels > room or fitted.n_clusters > 65536:
        return None, [
            f"The page does not carry the labels of all {number(n)} objects: they are too many for one page."
        ]
    data: dict[str, Any] = {"labels": pack(fitted.labels, "u2" if wide else "u1"), "wide": wide}
    notes = []
    room -= labels
    if 8 * n // 3 <= room:
        data["confidence"] = pack(levels(fitted.confidence), "u2")
        room -= 8 * n // 3
    else:
        notes.append("The download has no column of confidence, to keep the page small.")
    if fitted.names is not None:
        names = [str(name) for name in fitted.names]
        if sum(map(len, names)) + 3 * n <= room:
            data["names"] = names
        else:
            notes.append("The download has row numbers (from 0) instead of names, to keep the page small.")
            room = 0
        room -= sum(map(len, names)) + 3 * n
    if n > DOUBTFUL_ROWS:
        each = 32 // 3 + (8 if wide else 4)  # three shares and two clusters, in base64
        if each * n <= room and n * fitted.n_clusters <= TIES:
            choice, tie = choices(fitted, np.arange(n))
            data["ties"] = [
                pack(levels(fitted.support), "u2"),
                pack(np.where(choice < 0, 65535, choice).ravel(), "u2"),
                pack(levels(tie).ravel(), "u2"),
            ]
        else:
            notes.append("To keep the page small, it holds ties only for the least certain objects.")
    return data, notes


def members(fitted: Fitted) -> str | None:
    """The labels of all objects in all base clusterings, for a file to run again with.

    None if they are too many.
    """
    distinct = fitted.distinct
    wide = distinct.n_clusters_per_clustering.max() > 255
    if 4 * fitted.n_samples * distinct.n_clusterings * (2 if wide else 1) // 3 > _MEMBERS:
        return None
    codes = distinct.labels[fitted.inverse]
    return pack(np.where(codes < 0, 65535 if wide else 255, codes).ravel(), "u2" if wide else "u1")
