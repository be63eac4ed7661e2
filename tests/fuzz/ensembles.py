"""Hostile ensembles and weights: ties, symmetry, singletons, nothing in common, missing nearly everywhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..zoo import planted

Rng = np.random.Generator


def _noisy(rng: Rng, n: int, m: int) -> np.ndarray:
    noise = rng.uniform(0, 0.6)
    return planted(int(rng.integers(2**31)), n=max(n, 4), m=m, c=int(rng.integers(2, 5)), noise=noise)[0]


def _random(rng: Rng, n: int, m: int) -> np.ndarray:
    return np.stack([rng.integers(0, rng.integers(1, n + 1), n) for _ in range(m)], axis=1)


def _grid(rng: Rng, n: int, m: int) -> np.ndarray:
    a, k = np.arange(n), int(rng.integers(2, 7))
    return np.stack([a % k, a // k, *((a + s) % k for s in range(1, m - 1))], axis=1)


def _singletons(rng: Rng, n: int, m: int) -> np.ndarray:
    return np.stack([rng.permutation(n) for _ in range(m)], axis=1)


def _unanimous(rng: Rng, n: int, m: int) -> np.ndarray:
    column = np.repeat(np.arange(n), rng.integers(1, 4, n))[: n + n // 2]
    return np.repeat(column[:, None], m, axis=1)


def _constant_among(rng: Rng, n: int, m: int) -> np.ndarray:
    labels = _random(rng, n, m + 1)
    labels[:, 0] = 0
    return labels


def _islands(rng: Rng, n: int, m: int) -> np.ndarray:
    """Groups of objects that no clustering saw together."""
    group = np.sort(rng.integers(0, 3, n))
    labels = np.full((n, 3 * m), -1)
    for g in range(3):
        rows = np.flatnonzero(group == g)
        labels[rows, g * m : (g + 1) * m] = rng.integers(0, 3, (rows.size, m))
    return labels[:, (labels >= 0).any(axis=0)]


def _nested(rng: Rng, n: int, m: int) -> np.ndarray:
    return np.stack([np.arange(n) // 2**j for j in range(m)], axis=1)


def _ring(rng: Rng, n: int, m: int) -> np.ndarray:
    """Every object looks like every other."""
    width = int(rng.integers(2, 5))
    n = max(width, n - n % width)
    return np.stack([(np.arange(n) + s) % n // width for s in range(max(m, 2))], axis=1)


def _repeated(rng: Rng, n: int, m: int) -> np.ndarray:
    """Few distinct rows, many objects."""
    distinct = rng.integers(0, 4, (max(2, n // 4), m))
    return distinct[rng.integers(0, len(distinct), 3 * n)]


def _two_views(rng: Rng, n: int, m: int) -> np.ndarray:
    """Clusterings that contradict each other by halves, copied, so that everything is a tie."""
    one, other = rng.integers(0, 3, n), rng.integers(0, 3, n)
    return np.stack([one, other] * max(1, m // 2), axis=1)


KINDS: tuple[Callable[[Rng, int, int], np.ndarray], ...] = (
    _noisy,
    _noisy,
    _random,
    _grid,
    _singletons,
    _unanimous,
    _constant_among,
    _islands,
    _nested,
    _ring,
    _repeated,
    _two_views,
)


def labels(rng: Rng) -> np.ndarray:
    """(n, m) int64 labels, -1 missing; every object and every clustering has at least one."""
    n = int(rng.choice([rng.integers(2, 8), rng.integers(8, 25), rng.integers(25, 61)], p=[0.3, 0.5, 0.2]))
    m = int(rng.choice([1, 2, 3, rng.integers(4, 8)], p=[0.1, 0.2, 0.3, 0.4]))
    made = np.asarray(KINDS[rng.integers(len(KINDS))](rng, n, m), np.int64)
    if rng.random() < 0.35:
        made = with_missing(rng, made)
    return made


def with_missing(rng: Rng, made: np.ndarray) -> np.ndarray:
    """Some labels gone, from a few to nearly all, without losing an object or a clustering."""
    out = np.where(rng.random(made.shape) < rng.choice([0.05, 0.3, 0.8]), -1, made)
    for i in np.flatnonzero((out < 0).all(axis=1)):
        seen = np.flatnonzero(made[i] >= 0)
        j = rng.choice(seen)
        out[i, j] = made[i, j]
    keep = (out >= 0).any(axis=0)
    return np.ascontiguousarray(out[:, keep])


#: Weights that a user could mean: methods may not refuse these.
ORDINARY = ("none", "whole", "fractional", "equal")


def weights(rng: Rng, n: int) -> tuple[str, np.ndarray | None]:
    """(kind, weights or None)."""
    kind = str(
        rng.choice(
            [
                *ORDINARY,
                "tiny",
                "huge",
                "wide",
                "one dominates",
                "subnormal",
                "beyond float32",
                "near the end",
            ],
            p=[0.45, 0.14, 0.14, 0.04, 0.05, 0.05, 0.04, 0.04, 0.015, 0.02, 0.015],
        )
    )
    if kind == "none":
        return kind, None
    if kind == "whole":
        return kind, rng.integers(1, 6, n).astype(float)
    if kind == "fractional":
        return kind, rng.uniform(0.1, 3, n)
    if kind == "equal":
        return kind, np.full(n, float(rng.choice([0.1, 1 / 3, 7])))
    if kind == "tiny":
        return kind, rng.uniform(0.5, 2, n) * 10.0 ** rng.choice([-10, -12, -20])
    if kind == "huge":
        return kind, rng.uniform(0.5, 2, n) * 10.0 ** rng.choice([9, 12, 19])
    if kind == "wide":
        return kind, 10.0 ** rng.uniform(-30, 30, n)
    if kind == "one dominates":
        out = np.ones(n)
        out[rng.integers(n)] = 1e9
        return kind, out
    if kind == "subnormal":
        return kind, rng.integers(1, 9, n) * 5e-324
    if kind == "beyond float32":
        return kind, rng.uniform(0.5, 2, n) * 10.0 ** rng.choice([39, 100])
    return kind, rng.uniform(0.1, 1, n) * 1e308


def distinct_rows(made: np.ndarray) -> int:
    return len(np.unique(made, axis=0))


def number_of_clusters(rng: Rng, made: np.ndarray) -> int:
    """Mostly possible; the ends are likely; now and then one that must be refused."""
    u = distinct_rows(made)
    if rng.random() < 0.03:
        return int(rng.choice([u + 1, len(made) + 1, 10**6]))
    return (
        int(rng.choice([1, 2, u, max(1, u - 1), rng.integers(1, u + 1)], p=[0.1, 0.2, 0.1, 0.1, 0.5]))
        if u > 1
        else 1
    )


def look_alike(made: np.ndarray, sample_weight: np.ndarray | None) -> bool:
    """Whether distinct objects cannot be told apart by color refinement, or clusterings cannot.

    Written independently here, with tuples instead of hashes, and run until nothing changes.
    """
    rows, inverse = np.unique(made, axis=0, return_inverse=True)
    given = np.ones(len(made)) if sample_weight is None else sample_weight
    with np.errstate(over="ignore", under="ignore"):
        totals = np.bincount(inverse.reshape(-1), weights=given).astype(np.float32)
    objects = _ranks([float(w) for w in totals])
    columns = [0] * rows.shape[1]
    for _ in range(len(rows) + rows.shape[1]):
        clusters: dict[tuple[int, int], tuple] = {}
        for j in range(rows.shape[1]):
            for label in np.unique(rows[:, j]):
                if label >= 0:
                    members = sorted(objects[i] for i in np.flatnonzero(rows[:, j] == label))
                    clusters[j, int(label)] = (columns[j], *members)
        new_columns = _ranks(
            [tuple(sorted(v for (k, _), v in clusters.items() if k == j)) for j in range(rows.shape[1])]
        )
        new_objects = _ranks(
            [
                (
                    objects[i],
                    tuple(
                        sorted(
                            (new_columns[j], clusters.get((j, int(label)), ())) for j, label in enumerate(row)
                        )
                    ),
                )
                for i, row in enumerate(rows)
            ]
        )
        if new_objects == objects and new_columns == columns:
            break
        objects, columns = new_objects, new_columns
    return len(set(objects)) < len(objects) or len(set(columns)) < len(columns)


def _ranks(values: list) -> list[int]:
    place = {value: i for i, value in enumerate(sorted(set(values)))}
    return [place[value] for value in values]
