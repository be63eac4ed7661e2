"""The kinds of things that members are made of, all plain data.

They say what a file of a model may hold of members, and what must fit together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._kernels.neighbors.landmarks import Landmarks
from ..errors import InputError
from .labeling import CenterMember, Neighbors
from .landmarks import LandmarkMember, LandmarkModel
from .preparation import PREPARATIONS, Preparation

METRICS = ("diversified", "cosine", "correlation", "spearman")


def preparation(**parts: Any) -> Preparation:
    """A preparation whose parts fit together."""
    made = Preparation(**parts)
    d, places = made.columns.size, made.places
    needs = {"standardize": ("unit", "scale"), "tf-idf": ("idf",), "ranks": ("places",)}
    own = [one for one in (made.unit, made.shift, made.scale, made.idf) if one is not None]
    fits = (
        made.name in PREPARATIONS
        and type(made.n_features) is int
        and d > 0
        and _positions(made.columns, made.n_features)
        and (made.name not in ("none", "pearson") or d == made.n_features)
        and all(one.dtype.kind == "f" and one.shape == (d,) and _finite(one) for one in own)
        and all(getattr(made, name) is not None for name in needs.get(made.name, ()))
        and (places is None or (made.name == "ranks" and len(places) == d and all(map(_is_scale, places))))
    )
    return _if(fits, made, f"A preparation {made.name!r:.60}")


def _is_scale(place: Any) -> bool:
    values, ranks = place
    return bool(
        values.dtype.kind == ranks.dtype.kind == "f"
        and values.shape == ranks.shape == (values.size,)
        and values.size
    )


def center_member(**parts: Any) -> CenterMember:
    """A member with centers whose parts fit together."""
    made = CenterMember(**parts)
    seen = _seen(made.preparation, made.columns)
    centers = made.centers
    fits = (
        seen is not None
        and isinstance(centers, np.ndarray)
        and centers.dtype in (np.float32, np.float64)
        and centers.ndim == 2
        and centers.shape[0] > 0
        and centers.shape[1] == seen
        and _finite(centers)
        and isinstance(made.largest, (float, np.floating))
    )
    return _if(fits, made, "A base model of centers")


def neighbors(**parts: Any) -> Neighbors:
    """A member with neighbors whose parts fit together."""
    made = Neighbors(**parts)
    n, d = made.X.shape
    size = n if made.rows is None else made.rows.size
    table = isinstance(made.X, np.ndarray) or (sp.issparse(made.X) and made.X.format == "csr")
    fits = (
        _seen(made.preparation, made.columns) is not None
        and table
        and made.X.dtype in (np.float32, np.float64)
        and _finite(made.X.data if sp.issparse(made.X) else made.X)
        and d == made.preparation.n_features
        and (made.rows is None or _positions(made.rows, n))
        and size > 0
        and made.codes.dtype.kind == "i"
        and made.codes.shape == (size,)
        and made.codes.min() >= -1
        and isinstance(made.unit, (float, np.floating))
        and _finite(made.unit)
        and made.metric in METRICS
        and (made.widths is None or _are_widths(made.widths, size))
    )
    return _if(fits, made, "A base model of neighbors")


def _finite(values: Any) -> bool:
    return bool(np.isfinite(values).all())


def _are_widths(widths: np.ndarray, size: int) -> bool:
    return bool(
        widths.dtype.kind == "f" and widths.shape == (size,) and _finite(widths) and (widths >= 0).all()
    )


def _seen(prepared: Any, columns: Any) -> int | None:
    """How many columns of the prepared table a member sees; None if it cannot."""
    if not isinstance(prepared, Preparation):
        return None
    if columns is None:
        return int(prepared.columns.size)
    fits = isinstance(columns, np.ndarray) and _positions(columns, prepared.columns.size) and columns.size > 0
    return int(columns.size) if fits else None


def _positions(values: np.ndarray, end: int) -> bool:
    """Whether these are positions below the end."""
    fits = values.dtype.kind == "i" and values.ndim == 1
    return bool(fits and values.min(initial=0) >= 0 and values.max(initial=-1) < end)


def _if(fits: Any, made: Any, what: str) -> Any:
    if not fits:
        raise InputError(f"{what} does not fit together.")
    return made


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
        and model.columns.ndim == at.lengths.ndim == at.group_lengths.ndim == at.starts.ndim == 1
        and at.starts.dtype.kind == "i"
        and type(K) is int
        and all(isinstance(one, (float, np.floating)) for one in (model.unit, model.sigma, model.furthest))
        and all(map(_finite, (at.points, at.groups, model.vectors, model.centers, model.unit, model.sigma)))
    )
    if not fits:
        raise InputError(f"A base model of {p} landmarks with {d} features does not fit together.")
    return LandmarkMember(preparation, model)


#: Name -> (kind, how one is made from its fields). A clusterer of scikit-learn is code of others, and is not
#: among them.
KINDS: dict[str, tuple[type, Callable[..., Any]]] = {
    "Preparation": (Preparation, preparation),
    "CenterMember": (CenterMember, center_member),
    "Neighbors": (Neighbors, neighbors),
    **{kind.__name__: (kind, kind) for kind in (LandmarkModel, Landmarks)},
    "LandmarkMember": (LandmarkMember, landmark_member),
}
