"""References without clusters: one cloud with the covariance of the data, or one that fills their box.

    X - mean = U S V'                        U (n, r), S = diag, V (d, r)                                 (1)
    gaussian:  Q S V',    Q uniform over orthonormal columns orthogonal to the ones                       (2)
    uniform:   each column of U S uniform between its smallest and largest number, times V'               (3)

If the rows of X are drawn from one Gaussian, of any mean and covariance, then U is distributed as Q whatever
S and V are: the data and its references are equally likely in any order, so that the rank of the data among
them is an exact p-value, for any n and d. The references have exactly the covariance of the data. With
weights w, W^1/2 U has orthonormal columns; the test is then approximate, as a weighted object is not drawn
like the others.

If only distances matter, V' is left out: the scores are n x r and have the same distances.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._kernels.eigen.dense import eigenpairs
from ..errors import InputError

#: Directions with less than this share of the largest variance are rounding errors.
_NOTHING = 1e-12
#: Columns beyond these are far from Gaussian in a way that one cloud can be, too.
_SKEWED, _HEAVY = 0.5, 1.5
#: With fewer objects, moments say nothing.
_FEW = 20
#: Share of the columns from which on that is remarked on.
_MANY = 0.5

Null = Callable[[np.random.Generator], np.ndarray]


class Cloud(NamedTuple):
    """Eq. (1)."""

    mean: np.ndarray  # (d,)
    scores: np.ndarray  # (n, r) U S
    scales: np.ndarray  # (r,) S
    axes: np.ndarray | None  # (r, d) V'; None if not needed
    weights: np.ndarray  # (n,)

    def gaussian(self, rng: np.random.Generator) -> np.ndarray:
        """(n, r) scores of Eq. (2)."""
        root = np.sqrt(self.weights)[:, None]
        Z = rng.standard_normal(self.scores.shape)
        Z -= (self.weights @ Z) / self.weights.sum()
        Q, R = np.linalg.qr(root * Z)
        # The signs make Q uniform: a factorization prefers some of them.
        return (Q * np.sign(np.diag(R))) / root * self.scales

    def uniform(self, rng: np.random.Generator) -> np.ndarray:
        """(n, r) scores of Eq. (3)."""
        return rng.uniform(self.scores.min(axis=0), self.scores.max(axis=0), self.scores.shape)

    def place(self, scores: np.ndarray) -> np.ndarray:
        """(n, d) the rows that have these scores."""
        assert self.axes is not None
        return self.mean + scores @ self.axes


def cloud_of(X: Any, weights: np.ndarray, *, axes: bool) -> Cloud:
    """Eq. (1) of a dense or sparse X. O(n d min(n, d)) time; a sparse X is never filled."""
    n, d = X.shape
    share = weights / weights.sum()
    mean = np.asarray(share @ X, dtype=np.float64).reshape(-1)
    root = np.sqrt(weights)
    if d <= n:
        if sp.issparse(X):
            scatter = np.asarray((X.T @ (sp.diags_array(weights) @ X)).toarray(), np.float64)
            scatter -= weights.sum() * np.outer(mean, mean)
        else:
            C = (X - mean) * root[:, None]
            scatter = C.T @ C
        values, V = eigenpairs(scatter, which="largest")
        kept = values > _NOTHING * values[0]
        V, scales = V[:, kept], np.sqrt(values[kept])
        scores = np.asarray(X @ V) - mean @ V
        return Cloud(mean, scores, scales, V.T if axes else None, weights)
    if sp.issparse(X):
        inner = np.asarray((X @ X.T).toarray(), np.float64)
        own = np.asarray(X @ mean).reshape(-1)
        inner += mean @ mean - own[:, None] - own[None, :]
    else:
        C = X - mean
        inner = C @ C.T
    inner *= root[:, None]
    inner *= root[None, :]
    values, U = eigenpairs(inner, which="largest", overwrite=True)
    kept = values > _NOTHING * values[0]
    kept[n - 1 :] = False
    U, scales = U[:, kept], np.sqrt(values[kept])
    scores = U * scales / root[:, None]
    directions = None
    if axes:
        directions = (
            U.T @ (root[:, None] * (np.asarray(X.todense() if sp.issparse(X) else X) - mean))
        ) / scales[:, None]
    return Cloud(mean, scores, scales, directions, weights)


def make_null(null: Any, cloud: Cloud | None, X: Any, *, in_scores: bool) -> Null:
    """What draws one reference from a generator: in the space of X, or of its scores."""
    if callable(null):

        def own(rng: np.random.Generator) -> np.ndarray:
            found = np.asarray(null(X, rng), dtype=np.float64)
            if found.shape != X.shape or not np.isfinite(found).all():
                raise InputError(
                    f"null returned an array of shape {found.shape}"
                    f"{'' if found.shape != X.shape else ' with numbers that are not finite'} for X of "
                    f"shape {X.shape}; it must return features of the same number of objects, "
                    "null(X, rng) -> array."
                )
            return found

        return own
    assert cloud is not None
    draw = cloud.gaussian if null == "gaussian" else cloud.uniform
    return draw if in_scores else lambda rng: cloud.place(draw(rng))


def far_from_gaussian(X: np.ndarray, groups: np.ndarray) -> float:
    """Share of the columns that are skewed or heavy-tailed within groups (n,).

    Each group has its own scale: groups that lie apart or differ in spread make a column skewed or
    heavy-tailed even if the groups are not.
    """
    if len(X) < _FEW:
        return 0.0
    member = sp.csr_array((np.ones(len(X)), (groups, np.arange(len(X)))))
    sizes = np.bincount(groups)[:, None]
    C = X - (member @ X / sizes)[groups]
    spread = np.sqrt(member @ (C**2) / sizes)[groups]
    C = np.divide(C, spread, out=np.zeros(C.shape), where=spread > 0)
    whole = (C**2).mean(axis=0)
    varying = whole > 0
    if not varying.any():
        return 0.0
    C = C[:, varying] / np.sqrt(whole[varying])
    skew, tails = np.abs((C**3).mean(axis=0)), (C**4).mean(axis=0) - 3
    return float(((skew > _SKEWED) | (tails > _HEAVY)).mean())


def is_far(share: float) -> bool:
    """Whether that share of columns deserves a remark."""
    return share >= _MANY
