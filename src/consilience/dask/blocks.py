"""Methods that go through all distinct objects in blocks, where these are too many for one place: k x k sums, then rows one by one.

LWGP and CoassociationKMeans map a row of base labels to a point; the map comes from sums over all objects,

    K = Y' diag(w) Y                                                                                    (1)
    W = Y' diag(w / d) Y,   d = Y e                                                                     (2)

K and e as in the methods' own files. Points of the heaviest distinct objects are clustered by k-means, and every object goes to the nearest
centre. Sums of weights are exact; those of (2) round by blocks, so that labels are those of one machine up to rounding and to what
k-means makes of the heaviest objects in place of all.
"""

from __future__ import annotations

from typing import Any


def goes_in_blocks(model: Any) -> bool:
    return False


def fit_in_blocks(model: Any, found: Any, rules: dict[str, Any]) -> tuple[Any, Any, float]:
    raise NotImplementedError
