"""Whether ensembles have the same objects, and the names of all their clusterings together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.parameters import listed
from ..errors import InputError
from .named import given_names, given_weights

if TYPE_CHECKING:
    from .ensemble import Ensemble


def same_objects(parts: Sequence[Ensemble]) -> tuple[list[Any] | None, np.ndarray | None]:
    """(sample names, weights), which must agree if given; None if no ensemble has them."""
    lengths = [part.n_samples for part in parts]
    if len(set(lengths)) > 1:
        raise InputError(
            f"Ensembles have different numbers of objects: {listed(lengths)}. "
            "They must label the same objects."
        )
    named = [part for part in parts if part.sample_names is not None]
    if any(part.sample_names != named[0].sample_names for part in named):
        raise InputError("Ensembles have different sample names: put their rows in the same order first.")
    weighted = [part for part in parts if given_weights(part) is not None]
    if any(not np.array_equal(part.sample_weight, weighted[0].sample_weight) for part in parts if weighted):
        raise InputError(
            "Ensembles have different sample weights: give the weights once, to the concatenated ensemble."
        )
    return named[0].sample_names if named else None, given_weights(weighted[0]) if weighted else None


def joined_names(parts: Sequence[Ensemble]) -> list[str] | None:
    """Names of all clusterings; None without any.

    If some would be equal, they get the number of their ensemble.
    """
    if all(given_names(part) is None for part in parts):
        return None
    names = [name for part in parts for name in part.clustering_names]
    if len(set(names)) == len(names):
        return names
    return [f"{i}:{name}" for i, part in enumerate(parts) for name in part.clustering_names]
