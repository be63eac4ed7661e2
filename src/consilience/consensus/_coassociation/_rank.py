"""The rank condition of SPCE: has S c components, and which embedding does the next S start from?

Equations and symbols are those of :mod:`.spce`. :class:`ByComponents` counts components,
:class:`ByEigenvalues` tests sums of eigenvalues as the authors' program does.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..._kernels.eigen import component_vectors, eigenpairs, smallest_eigenvectors

# Residual of an eigenvector, by the mean degree. Labels were those of exact eigenvectors in 16 of 16 runs
# from 1e-7 to 1e-4, and in 15 of 16 at 1e-3; products with S halve from 1e-6 to 1e-4.
_EIGEN_TOL = 1e-4


class Embedding(NamedTuple):
    """F (u, c), and spread (u,): what is added to |f_p - f_q|^2 for both ends of a pair."""

    F: np.ndarray
    spread: np.ndarray


class Look(NamedTuple):
    """Result of the rank condition for S: the sign of (components - c), and the embedding for the next S."""

    verdict: int
    embedding: Embedding | None  # None: keep the one before
    measured: dict[str, float]  # for the history; "trace" is tr(F' L F)


def update_F(pairs, c, labels, *, start=None):
    """Eq. (5) on distinct objects: F = N^-1/2 X, X the smallest eigenvectors of diag(S w) - N^1/2 S N^1/2.

    labels: the components of S, which are its null space; only what is missing to c is solved for.
    Returns F (u, c), the sum of its eigenvalues tr(F' L F), and vectors to start the next solution from.
    """
    root = np.sqrt(pairs.weights)[:, None]
    degrees, single = pairs.degrees(), root.astype(np.float32)
    found = smallest_eigenvectors(
        degrees,
        lambda X: single * pairs.product(single * X),
        c,
        null=component_vectors(labels, pairs.weights),
        start=start,
        dense=lambda: pairs.scaled_laplacian(degrees),
        tol=_EIGEN_TOL,
        dtype=np.float32,
    )
    return found.vectors / root, float(found.values.sum()), found.block


class ByComponents:
    """Rank condition by graph search: exact. With more than c components no embedding is needed at all."""

    def __init__(self, pairs, c):
        self.pairs, self.c, self.start = pairs, c, None
        self._first = None

    def embed(self, labels) -> tuple[Embedding, float]:
        F, trace, self.start = update_F(self.pairs, self.c, labels, start=self.start)
        return Embedding(F, np.zeros(F.shape[0])), trace

    def first(self) -> Embedding:
        """The embedding of the S that every threshold starts with, computed once.

        It is half of the work if S falls apart at once.
        """
        if self._first is None:
            self._first = self.embed(self.pairs.components()[1])[0], self.start
        embedding, self.start = self._first
        return embedding

    def __call__(self) -> Look:
        count, labels = self.pairs.components()
        measured = {"pieces": count, "trace": 0.0}
        if count > self.c:
            return Look(1, None, measured)
        embedding, measured["trace"] = self.embed(labels)
        return Look(int(count < self.c) * -1, embedding, measured)


def with_inner_vectors(values, degrees, weights, count) -> tuple[np.ndarray, np.ndarray, int]:
    """The ``count`` smallest eigenvalues of the Laplacian of all n objects, from the u distinct ones.

    A vector that is not 0 only within a group of w equal objects (and adds up to 0 there) is an eigenvector
    too; its eigenvalue, the degree of the group, has multiplicity w - 1. Returns (eigenvalues, spread (u,),
    how many of the vectors of the distinct objects are among them). t such vectors put t / w of squared
    length on every object of the group, hence spread_p + spread_q on |f_p - f_q|^2 across groups. If only
    some of the w - 1 tied vectors are among the smallest, a program that works on all n objects picks some of
    them by rounding; here all objects of the group share them evenly.
    """
    inner = np.maximum(np.floor(weights + 1e-9).astype(np.int64) - 1, 0)
    groups = np.repeat(np.arange(weights.size), np.minimum(inner, count))
    owner = np.concatenate([np.full(values.size, -1), groups])
    everything = np.concatenate([values, degrees[groups]])
    order = np.lexsort((owner, everything))[:count]
    chosen = owner[order]
    spread = np.bincount(chosen[chosen >= 0], minlength=weights.size) / weights
    return everything[order], spread, int((chosen < 0).sum())


class ByEigenvalues:
    """Rank condition of the authors' program: sums of eigenvalues against 1e-9 and 1e-11.

    Its eigenvalues are those of all n objects, see :func:`with_inner_vectors`.
    """

    def __init__(self, pairs, c):
        self.pairs, self.c = pairs, c
        self._first = None

    def solve(self):
        weights, u = self.pairs.weights, self.pairs.weights.size
        root, degrees = np.sqrt(weights)[:, None], self.pairs.degrees()
        found, vectors = eigenpairs(self.pairs.scaled_laplacian(degrees), min(self.c + 1, u), overwrite=True)
        values, spread, kept = with_inner_vectors(found, degrees, weights, self.c)
        one_more = with_inner_vectors(found, degrees, weights, self.c + 1)[0]
        # One distinct object per cluster: there is no further eigenvalue, and nothing can be cut further.
        beyond = float(one_more.sum()) if one_more.size > self.c else np.inf
        return Embedding(vectors[:, :kept] / root, spread), float(values.sum()), beyond

    def first(self) -> Embedding:
        """As for :class:`ByComponents`."""
        self._first = self.solve()[0] if self._first is None else self._first
        return self._first

    def __call__(self) -> Look:
        count = self.pairs.components()[0]
        # More than c components are more than c eigenvalues 0: both sums are known without solving.
        embedding, smallest, beyond = (None, 0.0, 0.0) if count > self.c else self.solve()
        measured = {"pieces": count, "trace": smallest}
        measured |= {"eigenvalues": smallest, "eigenvalues_one_more": beyond}
        if smallest > 1e-9:
            return Look(-1, embedding, measured)
        if beyond < 1e-11:
            return Look(1, None, measured)
        return Look(0, embedding, measured)
