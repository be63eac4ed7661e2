"""Must-link: objects that belong together become one object of their total weight.

Pairs are joined to groups. In every clustering the group has the label that most of its weight has, and none
if two labels have the most: a tie is no evidence. In soft clusterings it has the mean memberships of those of
its objects that the clustering saw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from .._base.parameters import listed
from .._kernels.labels.incidence import Memberships
from ..errors import InputError
from .ensemble import Ensemble, from_codes
from .labels import drop_unused
from .named import given_names, incidence_of
from .soft import SoftEnsemble, from_memberships

_TIED = 1e-12  # relative difference of weights that counts as rounding


def linked_groups(must_link: Any, n: int, names: list[Any] | None) -> np.ndarray:
    """(n,) group of each object, by first appearance.

    ``must_link`` holds pairs (or longer lists) of positions or sample names.
    """
    if isinstance(must_link, (str, bytes)) or not hasattr(must_link, "__iter__"):
        raise InputError(
            f"must_link={must_link!r:.80} is no list of pairs: give pairs of positions or sample names."
        )
    places = {} if names is None else {name: i for i, name in enumerate(names)}
    left, right = [], []
    for entry in must_link:
        if isinstance(entry, (str, bytes)) or not isinstance(entry, (Sequence, np.ndarray)) or len(entry) < 2:
            raise InputError(f"must_link holds {entry!r:.80}: expected pairs of positions or sample names.")
        found = [_place(one, n, places) for one in entry]
        left += found[:-1]
        right += found[1:]
    links = sp.coo_array((np.ones(len(left)), (left, right)), shape=(n, n))
    found_groups = connected_components(links, directed=False)[1]
    _, first, numbers = np.unique(found_groups, return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first))
    return order[numbers.reshape(-1)]


def _place(one: Any, n: int, places: dict[Any, int]) -> int:
    if one in places:
        return places[one]
    if isinstance(one, (int, np.integer)) and not isinstance(one, bool) and 0 <= one < n:
        return int(one)
    known = f" or one of the sample names, such as {listed(map(repr, list(places)[:2]))}" if places else ""
    raise InputError(f"must_link names the object {one!r:.80}: expected a position from 0 to {n - 1}{known}.")


def join(ensemble: Ensemble | SoftEnsemble, groups: np.ndarray, *, n_jobs: int | None = -1) -> Any:
    """The distinct rows of the groups; ``inverse`` maps every object to the row of its group."""
    _, first, counts = np.unique(groups, return_index=True, return_counts=True)
    weights = np.bincount(groups, ensemble.sample_weight)
    if isinstance(ensemble, SoftEnsemble):
        Y = _pooled_memberships(incidence_of(ensemble), groups, counts, ensemble.sample_weight)
        unseen = np.flatnonzero(np.diff(Y.indptr) == 0)
        names = given_names(ensemble)
        soft = from_memberships(Y, ensemble.offsets, ensemble.columns, ensemble.widths, names, weights)
        joined: Any = soft.distinct()
    else:
        labels = _pooled_labels(ensemble.labels, groups, first, counts, ensemble.sample_weight)
        unseen = np.flatnonzero((labels < 0).all(axis=1))
        categories = []
        for i, own in enumerate(ensemble.categories):
            labels[:, i], kept = drop_unused(labels[:, i], own)
            categories.append(kept)
        hard = from_codes(labels, categories, given_names(ensemble), None, weights, ensemble.recipes)
        joined = hard.distinct(n_jobs=n_jobs)
    if unseen.size:
        members = np.flatnonzero(groups == unseen[0])
        names = ensemble.sample_names
        shown = listed(members if names is None else (repr(names[i]) for i in members))
        raise InputError(
            f"Objects {shown} are linked, but no clustering says where they belong: each clustering did not "
            "see them, or has them in different clusters of equal weight. Give one of them more weight, or "
            "leave the link out."
        )
    made = joined.with_weights(joined.sample_weight)
    return made.standing_for(first[joined.rows], joined.inverse[groups])


def _pooled_labels(labels, groups, first, counts, weights) -> np.ndarray:
    """(g, m) label of the most weight in each group, -1 if two have it."""
    pooled = labels[first].copy()
    several = counts > 1
    rows = np.flatnonzero(several[groups])
    pooled[several] = -1
    for i in range(labels.shape[1]):
        seen = rows[labels[rows, i] >= 0]
        if not seen.size:
            continue
        k = int(labels[seen, i].max()) + 1
        cells, at = np.unique(groups[seen] * k + labels[seen, i].astype(np.int64), return_inverse=True)
        votes = np.bincount(at.reshape(-1), weights[seen])
        order = np.lexsort((-votes, cells // k))
        owner = cells[order] // k
        top = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]])  # the heaviest label of each group
        second = np.minimum(top + 1, order.size - 1)
        rival = np.where((second > top) & (owner[second] == owner[top]), votes[order[second]], 0.0)
        clear = rival < votes[order[top]] * (1 - _TIED)
        pooled[owner[top][clear], i] = (cells[order[top]] % k)[clear]
    return pooled


def _pooled_memberships(rows: Memberships, groups, counts, weights) -> sp.csr_array:
    """(g, k) mean memberships in each clustering, over the objects of a group that it saw."""
    n = groups.size
    share = np.where(
        counts[groups] > 1, weights, 1.0
    )  # an object alone keeps its memberships to the last digit
    pool = sp.csr_array((share, (groups, np.arange(n))), shape=(counts.size, n))
    Y = sp.csr_array(pool @ rows.Y)
    seen = pool @ (rows.masses() > 0).astype(float)
    owner = np.repeat(np.arange(rows.offsets.size - 1), np.diff(rows.offsets))
    Y.data = Y.data / seen[np.repeat(np.arange(counts.size), np.diff(Y.indptr)), owner[Y.indices]]
    Y.sort_indices()
    return Y
