"""The normalized cut of weighted co-association: as k-means of labels, and by moves of single objects.

    S = Y diag(a) Y',   s = Y' w,   d = S w = sum over p's clusters b of a_b s_b                           (1)
    Ncut = c - sum_j Q_j / D_j,   C = Y' diag(w) R,   Q_j = sum_b a_b C_bj^2,   D_j = sum_b a_b s_b C_bj   (2)
    sum_p w_p d_p | x_p - center |^2 = Ncut - c + sum_p w_p (sum over b of a_b) / d_p,
        x_pb = a_b^1/2 Y_pb / d_p                                                                          (3)

Y (u, k) indicator of base clusters, a (k,) their weights, w (u,) weights of the objects, R (u, c) indicator
of the groups. (3) holds for every grouping: k-means of the points x with weights w d lowers the very cut that
eigenvectors relax. a = 1 is the graph of co-association, a = 1 / s that of objects and clusters once its
cluster vertices are eliminated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compile.jit import kernel
from ..labels.grouping import Costs, LabelRows, label_rows
from ..labels.overlaps import gather, scatter


class Sums(NamedTuple):
    """What Eq. (2) needs of c groups; changed in place as objects move."""

    table: np.ndarray  # (k, c) C
    volumes: np.ndarray  # (c,) D
    inside: np.ndarray  # (c,) Q
    counts: np.ndarray  # (c,) objects


def cut_loop(
    labels: np.ndarray,
    offsets: np.ndarray,
    weights: np.ndarray,
    cluster_weights: np.ndarray,
    *,
    n_jobs: int | None = -1,
) -> tuple[LabelRows, Costs]:
    """(rows, costs) for the loops of :mod:`..labels.grouping`, whose loss is the left side of Eq. (3)."""
    a = cluster_weights[:, None]
    flow = a * scatter(labels, offsets, weights[:, None], n_jobs=n_jobs)  # a s
    d = gather(labels, offsets, flow, n_jobs=n_jobs)[:, 0]
    own = gather(labels, offsets, a, n_jobs=n_jobs)[:, 0]

    def costs(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        volumes = (flow * table).sum(axis=0)
        share = table / np.where(volumes > 0, volumes, 1.0)
        return -2.0 * a * share, (a * share**2).sum(axis=0)

    return label_rows(labels, offsets, weights, mass=weights * d, scale=1.0 / d, shift=own / d**2), costs


def normalized_cut(table: np.ndarray, cluster_weights: np.ndarray) -> float:
    """Eq. (2) of a grouping, from its table C (k, c); empty groups count as cut off entirely."""
    a = cluster_weights[:, None]
    volumes = (a * table.sum(axis=1, keepdims=True) * table).sum(axis=0)
    inside = (a * table**2).sum(axis=0)
    return float(table.shape[1] - (inside / np.where(volumes > 0, volumes, 1.0)).sum())


def move_objects(
    rows: LabelRows,
    groups: np.ndarray,
    n_groups: int,
    cluster_weights: np.ndarray,
    *,
    max_sweeps: int,
) -> tuple[np.ndarray, int]:
    """(groups, moves): single objects moved, in order and in turn, wherever that lowers Eq. (2).

    The last object of a group stays.

    Hartigan's rule, which leaves fewer poor optima than moving all objects at once. rows of :func:`cut_loop`;
    groups (u,) from 0. O(u m c) a sweep, on one thread: every move changes what the next one sees.
    """
    groups = np.array(groups, np.int64)
    if groups.shape != (len(rows.labels),) or groups.min() < 0 or groups.max() >= n_groups:
        raise ValueError(
            f"Groups {groups.shape} of {len(rows.labels)} objects; expected 0 to {n_groups - 1}."
        )
    table = rows.table(groups, n_groups)
    degrees = 1.0 / rows.scale
    sums = Sums(
        table,
        np.bincount(groups, rows.mass, minlength=n_groups),
        np.zeros(n_groups),
        np.bincount(groups, minlength=n_groups),
    )
    a = np.ascontiguousarray(cluster_weights, float)
    moves = _move(rows.labels, rows.offsets, rows.weights, degrees, a, groups, sums, max_sweeps)
    return groups, int(moves)


@kernel
def _move(labels, offsets, weights, degrees, a, groups, sums, max_sweeps):
    """Q_j and D_j of Eq. (2) with p in or out of j follow from sums over its m clusters."""
    table, volumes, inside, counts = sums
    c = table.shape[1]
    for b in range(table.shape[0]):
        for j in range(c):
            inside[j] += a[b] * table[b, j] * table[b, j]
    met = np.empty(c)
    moves = 0
    for _ in range(max_sweeps):
        before = moves
        for p in range(labels.shape[0]):
            here = groups[p]
            if counts[here] <= 1:
                continue
            met[:] = 0.0
            own = 0.0
            for i in range(labels.shape[1]):
                code = labels[p, i]
                if code >= 0:
                    r = offsets[i] + code
                    own += a[r]
                    for j in range(c):
                        met[j] += a[r] * table[r, j]
            w, mass = weights[p], weights[p] * degrees[p]
            rest = volumes[here] - mass
            without = inside[here] - 2.0 * w * met[here] + w * w * own
            if not rest > 0.0:
                continue
            lost = inside[here] / volumes[here] - without / rest
            best, most = here, 1e-12  # gains below are rounding, and could go to and fro
            for j in range(c):
                if j != here:
                    joined = (inside[j] + 2.0 * w * met[j] + w * w * own) / (volumes[j] + mass)
                    gain = joined - (inside[j] / volumes[j] if volumes[j] > 0.0 else 0.0) - lost
                    if gain > most:
                        best, most = j, gain
            if best == here:
                continue
            inside[here] = without
            inside[best] += 2.0 * w * met[best] + w * w * own
            volumes[here] = rest
            volumes[best] += mass
            counts[here] -= 1
            counts[best] += 1
            groups[p] = best
            moves += 1
            for i in range(labels.shape[1]):
                code = labels[p, i]
                if code >= 0:
                    table[offsets[i] + code, here] -= w
                    table[offsets[i] + code, best] += w
        if moves == before:
            break
    return moves
