"""The kinds of things that members are made of, all plain data.

They say what a file of a model may hold of members, and what must fit together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._kernels.neighbors.landmarks import Landmarks
from ..errors import InputError
from .labeling import CenterMember, Neighbors
from .landmarks import LandmarkMember, LandmarkModel
from .preparation import Preparation


def landmark_member(preparation: Preparation, model: LandmarkModel) -> LandmarkMember:
    """A member whose parts fit together, as compiled code requires."""
    at, K = model.landmarks, model.n_neighbors
    (p, d), (g, _), (near, q) = at.points.shape, at.groups.shape, at.nearby.shape
    (v, c), (k, w) = model.vectors.shape, model.centers.shape
    fits = (
        at.points.dtype == at.groups.dtype
        and at.points.dtype in (np.float32, np.float64)
        and at.groups.shape[1] == d == model.columns.size
        and p == near == v == at.lengths.size
        and c == w
        and k > 0
        and at.group_lengths.size == g == at.starts.size - 1
        and 1 <= K <= q
        and model.vectors.dtype == model.centers.dtype == at.lengths.dtype == at.group_lengths.dtype == float
        and at.starts[0] == 0
        and at.starts[-1] == p
        and bool((np.diff(at.starts) > 0).all())
        and at.nearby.dtype == np.int32
        and 0 <= int(at.nearby.min()) <= int(at.nearby.max()) < p
        and model.columns.dtype.kind == "i"
        and 0 <= int(model.columns.min()) <= int(model.columns.max()) < preparation.columns.size
    )
    if not fits:
        raise InputError(f"A base model of {p} landmarks with {d} features does not fit together.")
    return LandmarkMember(preparation, model)


#: Name -> (kind, how one is made from its fields). A clusterer of scikit-learn is code of others, and is not
#: among them.
KINDS: dict[str, tuple[type, Callable[..., Any]]] = {
    **{
        kind.__name__: (kind, kind)
        for kind in (Preparation, CenterMember, Neighbors, LandmarkModel, Landmarks)
    },
    "LandmarkMember": (LandmarkMember, landmark_member),
}
