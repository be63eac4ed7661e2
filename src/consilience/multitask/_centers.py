"""Centers of a task, how they assign its examples, and clusters that are left empty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._kernels.programs.nnls import nonnegative_parts


@dataclass
class Centers:
    """The centers of one task; an example minimizes p B p - 2 a p over p >= 0, a = x' combined."""

    combined: np.ndarray  #: (d, c) l1 M^t + (1 - l1) W M
    B: np.ndarray  #: (c, c)
    one_hot: bool = False  #: whether an example has a part in one center only
    largest: int | None = None  #: cluster with most of the examples that were learned from

    def parts(self, X: Any) -> np.ndarray:
        """(n, c) the best P for these centers."""
        if self.one_hot:
            return indicator(self.costs(np.asarray(X @ self.combined)).argmin(axis=1), len(self.B))
        return nonnegative_parts(np.asarray(X @ self.combined), self.B)

    def costs(self, A: np.ndarray) -> np.ndarray:
        """(n, c) what each center alone leaves of an example, but for a constant; A = X combined."""
        return np.diag(self.B) - 2 * A

    def memberships(self, P: np.ndarray) -> np.ndarray:
        """(n, c) how much each center contributes to each example; rows sum to 1, or are 0 where P is.

        The columns of P can be scaled against those of the centers; the length of a contribution, p_j times
        the length of center j, cannot.
        """
        size = P * np.sqrt(np.maximum(np.diag(self.B), 0.0))
        total = size.sum(axis=1, keepdims=True)
        return np.divide(size, total, out=np.zeros_like(size), where=total > 0)

    def place(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Labels and memberships of examples; those whose features are all 0 go to the largest cluster."""
        shares = self._inverse_distances(X) if self.one_hot else self.memberships(self.parts(X))
        labels = shares.argmax(axis=1)
        empty = ~shares.any(axis=1)
        if empty.any():
            here = np.bincount(labels[~empty], minlength=1).argmax()
            labels[empty] = here if self.largest is None else self.largest
        return labels, shares

    def _inverse_distances(self, X: Any) -> np.ndarray:
        """(n, c) shares that fall with the squared distance to each center, as in fuzzy c-means.

        An example whose features are all 0 has none.
        """
        A, own = np.asarray(X @ self.combined), squares(X)
        costs = self.costs(A)
        best = costs.argmin(axis=1)
        distances = np.maximum(own[:, None] + costs, 1e-12 * np.maximum(own, 1e-300)[:, None])
        rows = np.arange(len(best))
        # Rounding must not take the first place from the center that is nearest.
        distances[rows, best] = distances.min(axis=1) * (1 - 1e-12)
        shares = distances.min(axis=1, keepdims=True) / distances
        shares /= shares.sum(axis=1, keepdims=True)
        shares[own == 0] = 0.0
        return shares

    def reordered(self, order: np.ndarray, *, largest: int) -> Centers:
        """The clusters in another order, in which ``largest`` is the largest."""
        return Centers(self.combined[:, order], self.B[np.ix_(order, order)], self.one_hot, largest)


def indicator(labels: np.ndarray, c: int) -> np.ndarray:
    """(n, c) 1 in the column of the label, 0 elsewhere."""
    return (labels[:, None] == np.arange(c)).astype(float)


def squares(X: Any) -> np.ndarray:
    """(n,) squared lengths of the rows."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def fill_empty(labels: np.ndarray, shares: np.ndarray, c: int) -> int:
    """Give each empty cluster the example nearest to it, in place; returns how many were empty."""
    moved = 0
    for j in range(c):
        sizes = np.bincount(labels, minlength=c)
        if sizes[j]:
            continue
        own = shares[np.arange(labels.size), labels]
        regret = np.where(sizes[labels] > 1, own - shares[:, j], np.inf)
        labels[regret.argmin()] = j
        moved += 1
    return moved
