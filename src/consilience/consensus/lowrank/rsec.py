"""RSEC and NRSEC: a low-rank representation of the co-association matrix and its spectral embedding, learned together.

    minimise  tr(H' Lz H) + lambda_1 rank(Z) + lambda_2 |E|     s. t.  S = S Z + E,  H'H = I                     (4)
    Lz = I - Dz^-1/2 (W + H H') Dz^-1/2,   W = (|Z| + |Z|')/2,   Dz = row sums of W + H H'                     (5, 6)

S (n, n) co-association, Z (n, n) representation, E (n, n) error, H (n, c) embedding. RSEC measures rank by the nuclear
norm and E by its column norms (l2,1); NRSEC by concave penalties of the singular values and of the entries (MCP,
phi(t) = |t| - t^2/(2 gamma) up to gamma, then constant), linearised about a first answer. With Z = J split off, multipliers
Y1, Y2 and a growing penalty mu:

    J  <- shrink singular values of Z + Y2/mu by lambda_1/mu (times Lambda_i)                                   (11, 24)
    Z  <- (S'S + I)^-1 (S'S + J - S'E + (S'Y1 - Y2 + Dz^-1/2 H H' Dz^-1/2)/mu)                                      (13)
    Q   = S - S Z + Y1/mu;   E <- shrink columns of Q by lambda_2/mu, or entries by lambda_2/mu W_ij            (15, 25)
    H  <- c smallest eigenvectors of Lz, with Dz from the new Z and the old H                                       (16)
    Y1 <- Y1 + mu (S - S Z - E),  Y2 <- Y2 + mu (Z - J),  mu <- rho mu                                              (17)
    Lambda_i = (1 - sigma_i(J_old)/gamma)_+,  W_ij = (1 - |E_old_ij|/gamma)_+                              (Algorithm 2)

How the steps are computed on distinct objects, in the eigenbasis of S: :mod:`._lagrangian`.

References
----------
Z. Tao, H. Liu, S. Li, Z. Ding and Y. Fu, "Robust spectral ensemble clustering via rank minimization", ACM TKDD 13(1), 2019.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import scipy.sparse as sp

from ...ensemble import Compressed
from ...kernels.eigen import eigenpairs
from ...kernels.kmeans import many_kmeans
from ...kernels.partition import split_clusters
from ...validation import Choice, Flag, Integer, Nothing, Real, Rule
from .._base import BaseConsensus, Solution
from ._lagrangian import (
    ColumnErrors,
    EntryErrors,
    Frame,
    State,
    eigenpairs_of_product,
    ensure_memory,
    leading_vectors,
    solve,
)

_POSITIVE = Real(0, open_low=True)
_THIN = 0.8  # base clusters per distinct object up to which S is decomposed through them


def co_association(ensemble: Compressed, evidence: str, n_jobs: int | None = None) -> np.ndarray:
    """S (u, u). Eq. (1) divided by m; with "signed" (the paper's rule for missing labels) +1 together, -1 apart, 0 unseen."""
    if evidence == "auto":
        evidence = "signed" if ensemble.has_missing else "together"
    S = ensemble.coassociation(n_jobs=n_jobs)
    if evidence == "signed":  # seen (2 together/seen - 1) / m
        S *= 2.0
        S -= 1.0
        S *= ensemble.cooccurrence_counts()
        S /= ensemble.n_clusterings
    return S


def scaled(S: np.ndarray, root: np.ndarray) -> np.ndarray:
    """diag(root) S diag(root), in place: for root = sqrt(weights) its norms and spectra are those of all n objects."""
    S *= root[:, None]
    S *= root
    return S


def cluster_rows(
    points: np.ndarray, weights: np.ndarray, n_clusters: int, n_init: int, rng, n_jobs
) -> np.ndarray:
    """k-means, the best of ``n_init`` starts; exactly ``n_clusters`` clusters even where rows coincide."""
    if n_clusters == 1:
        return np.zeros(weights.size, np.int64)
    points = np.ascontiguousarray(points)
    seeds = rng.spawn(n_init)
    runs = many_kmeans(points, [n_clusters] * n_init, seeds=seeds, sample_weight=weights, n_jobs=n_jobs)
    labels = runs.labels[:, int(np.argmin(runs.inertia))]
    return split_clusters(labels, n_clusters, embedding=points, weights=weights)


class _LowRankConsensus(BaseConsensus):
    """What RSEC and NRSEC share: S, the frame, and how labels are read."""

    constraints: ClassVar[dict[str, Rule]] = {
        "low_rank_weight": _POSITIVE,
        "error_weight": _POSITIVE,
        "from_": Choice("embedding", "representation"),
        "affinity": Choice("absolute", "signed"),
        "evidence": Choice("auto", "together", "signed"),
        "penalty": Real(1e-20, 1e20) | Nothing(),  # beyond, its products leave single precision
        "growth": Real(1, open_low=True),
        "tol": _POSITIVE,
        "unit_rows": Flag(),
        "n_init": Integer(1),
        "gamma": Real(1, open_low=True),
        "warm_start": Choice("convex", "zero"),
        "n_steps": Integer(1),
    }
    _any_unit = False
    _BYTES: ClassVar[int]  # for each pair of distinct objects

    def _fit(self, ensemble, rng):
        c = self.n_clusters
        ensure_memory(ensemble.n_samples, self._BYTES, type(self).__name__)
        root = np.sqrt(ensemble.weights)
        frame, errors, state = self._learn(ensemble, root)
        E = errors.error()
        graph = frame.graph
        Z = frame.product(frame.U, (state.J.dense() + frame.gap).T)
        vectors = state.H if self.from_ == "embedding" else spectral_rows(graph, root, c, self.n_jobs)
        points = rows_of_unit_length(vectors) if self.unit_rows else vectors / root[:, None]
        labels = cluster_rows(points, ensemble.weights, c, self.n_init, rng, self.n_jobs)
        outlier_score = np.linalg.norm(E, axis=0) / np.linalg.norm(frame.U * frame.lam, axis=1)
        last = state.history[-1]
        return Solution(
            labels,
            history=state.history,
            converged=state.converged,
            shortfall=(
                f"max |S - S Z - E| = {last['residual']:.1e} and max |Z - J| = {last['gap']:.1e} exceed tol={self.tol:g}; "
                f"raise max_iter={self.max_iter}"
                if state.certified
                else "singular values above the threshold may have been missed; lower tol or raise max_iter"
            ),
            per_sample={
                "embedding": state.H / root[:, None],
                "outlier_score": outlier_score,
            },
            per_pair={"representation": scaled(Z, 1.0 / root), "error": scaled(E, 1.0 / root)},
            extra={"rank": state.J.rank, "singular_values": state.J.values},
        )

    def _options(self) -> dict:
        return {
            "low_rank_weight": self.low_rank_weight,
            "penalty": self.penalty,
            "growth": self.growth,
            "affinity": self.affinity,
            "tol": self.tol,
            "max_iter": self.max_iter,
        }

    def _learn(self, ensemble: Compressed, root: np.ndarray):
        raise NotImplementedError

    def _frame(self, ensemble: Compressed, root: np.ndarray, S: np.ndarray | None = None) -> Frame:
        """S in its eigenbasis; through the base clusters where they are fewer than the objects."""
        u, k = ensemble.n_samples, ensemble.n_total_clusters
        plain = self.evidence == "together" or (self.evidence == "auto" and not ensemble.has_missing)
        if plain and not ensemble.has_missing and k < _THIN * u:
            F = sp.diags_array(root / np.sqrt(ensemble.n_clusterings)) @ ensemble.indicator()
            pairs = eigenpairs_of_product(sp.csr_array(F))
        else:
            if S is None:
                S = scaled(co_association(ensemble, self.evidence, self.n_jobs), root)
            pairs = eigenpairs(S, which="largest", overwrite=True)
        return Frame(*pairs, root, n_clusters=self.n_clusters, n_jobs=self.n_jobs)


def spectral_rows(W: np.ndarray, root: np.ndarray, count: int, n_jobs: int | None = None) -> np.ndarray:
    """(u, count) leading eigenvectors of D^-1/2 W D^-1/2 for an affinity W (scaled)."""
    degrees = (W @ root.astype(W.dtype)).astype(np.float64) / root
    scale = np.zeros(root.size)
    np.power(degrees, -0.5, out=scale, where=degrees > 0)
    return leading_vectors(W, scale, count, n_jobs=n_jobs)[0]


def rows_of_unit_length(V: np.ndarray) -> np.ndarray:
    """Rows divided by their length; a zero row stays."""
    lengths = np.linalg.norm(V, axis=1, keepdims=True)
    return V / np.where(lengths > 0, lengths, 1.0)


class RSEC(_LowRankConsensus):
    """Robust spectral consensus by a low-rank representation of the co-association matrix.

    Learns a representation of the co-association matrix by itself (S = S Z + E) of low rank, puts aside in E what
    contradicts it, and lets the embedding it clusters strengthen the blocks of Z. Robust to base clusterings that
    disagree; the error tells which objects they disagree about.

    Parameters
    ----------
    n_clusters : int
        Number of clusters returned.
    low_rank_weight : float, default 0.5
        lambda_1 in Eq. (7). Larger: fewer directions in Z. The paper prints 0.1.
    error_weight : float, default 0.003
        lambda_2 in Eq. (7). Smaller: more of S is put aside as error. The paper prints 0.01.
    from_ : {"embedding", "representation"}
        Read labels off H by k-means, or off Z by spectral clustering.
    affinity : {"absolute", "signed"}
        Graph of Z: (|Z| + |Z|')/2, or (Z + Z')/2 as printed, whose row sums can be negative.
    evidence : {"auto", "together", "signed"}
        Entries of S: share of clusterings that put a pair together (of those that saw both), or the mean of +1 together,
        -1 apart, 0 unseen. "auto" is the second for ensembles with missing labels, as in the paper.
    penalty : float or None
        mu_0, between 1e-20 and 1e20. None is 1.5 divided by the largest eigenvalue of S. The paper prints 1e-6.
    growth : float, default 1.5
        rho, growth of the penalty in each iteration. The paper prints 1.1 for RSEC and 1.3 for NRSEC.
    unit_rows : bool, default True
        Bring the rows that k-means sees to length one. The paper does so for Z, and not for H.
    tol : float, default 1e-7
        Stop when every entry of S - S Z - E and of Z - J is smaller.
    max_iter : int, default 500
    n_init : int, default 20
        Starts of the k-means that reads the labels; the best is kept.
    random_state : int, numpy generator or None
        Only the starts of k-means are random.
    n_jobs : int or None
        Threads; None is all cores.

    Attributes
    ----------
    labels_, confidence_ : arrays (n_samples,)
        Cluster of each object, 0 the largest; and the share of its evidence that points there.
    embedding_ : array (n_samples, n_clusters)
        H.
    outlier_score_ : array (n_samples,)
        Norm of the object's column of E relative to that of S: the share of its evidence that the low-rank structure
        does not explain. Objects the ensemble contradicts itself about score high.
    representation_, error_ : arrays (u, u)
        Z and E between the distinct objects, in the order of ``signatures_``.
    rank_, singular_values_ : rank of J and its singular values.
    history_ : list of dict
        Per iteration: ``residual`` (a bound on max |S - S Z - E|), ``gap`` (max |Z - J|), ``penalty`` (mu), ``rank`` (of J),
        ``bad_degrees`` (rows of the graph whose sum is not positive).
    n_iter_, converged_ : how the loop ended.

    Notes
    -----
    Works on the u distinct objects, exactly as on all n. Time per iteration: one product of two u x u matrices in single
    precision and a few of rank(J) + 8 columns; one symmetric eigendecomposition before. Memory: about 80 u^2 bytes.
    The stopping rule is met by the growth of mu whatever happens; that the end is a minimum is not proved.

    A weight of 1 is one object, and the unit matters: the printed objective adds terms that grow differently with the
    number of objects, so that every object twice, or all weights doubled, gives another answer. Weights that only
    say which objects count more should have mean 1.

    Differences from the paper (figures for each in the method's page)
    - Eq. (15) is printed without the column Q_i that it scales.
    - ``affinity="absolute"``, ``penalty=None``, ``growth=1.5``, ``low_rank_weight=0.5``, ``error_weight=0.003`` and
      ``unit_rows=True`` instead of (Z + Z')/2, 1e-6, 1.1, 0.1, 0.01 and rows of H as they are.
    - Objects whose degree is not positive (possible with "signed" only) are left out of the graph for that iteration.
    - Vectors that differ between equal objects are eigenvectors of the n x n Laplacian, too (eigenvalue 1); they are never
      used here.

    References
    ----------
    Z. Tao, H. Liu, S. Li, Z. Ding and Y. Fu, "Robust spectral ensemble clustering via rank minimization", ACM TKDD 13(1), 2019.

    Examples
    --------
    >>> import consilience as cs
    >>> base = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], ["x", "x", "x", "z", "z", "z"]]
    >>> model = cs.RSEC(n_clusters=2, random_state=0).fit(base)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    >>> int(model.outlier_score_.argmax())
    2
    """

    _test_params = [{"n_init": 3}, {"n_init": 3, "from_": "representation"}]
    _BYTES = 80

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        low_rank_weight: float = 0.5,
        error_weight: float = 0.003,
        from_: str = "embedding",
        affinity: str = "absolute",
        evidence: str = "auto",
        penalty: float | None = None,
        growth: float = 1.5,
        unit_rows: bool = True,
        tol: float = 1e-7,
        max_iter: int = 500,
        n_init: int = 20,
        random_state=None,
        n_jobs: int | None = None,
    ):
        self.n_clusters = n_clusters
        self.low_rank_weight = low_rank_weight
        self.error_weight = error_weight
        self.from_ = from_
        self.affinity = affinity
        self.evidence = evidence
        self.penalty = penalty
        self.growth = growth
        self.unit_rows = unit_rows
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learn(self, ensemble, root):
        frame = self._frame(ensemble, root)
        errors, state = ColumnErrors(frame, self.error_weight), State.zero(frame, self.n_clusters)
        solve(frame, errors, state, **self._options())
        return frame, errors, state


class NRSEC(_LowRankConsensus):
    """RSEC with concave penalties of rank and error, which shrink what is large less.

    The nuclear norm of RSEC shrinks large singular values as much as small ones, which costs small clusters beside
    large ones; the penalties here (MCP) leave off beyond ``gamma``. They are linearised about a first answer and solved as
    a reweighted RSEC with entrywise errors.

    Parameters
    ----------
    n_clusters : int
        Number of clusters returned.
    low_rank_weight, error_weight : floats, default 3.0 and 0.01
        lambda_1 and lambda_2 in Eq. (20). The paper prints 1 and 0.01.
    gamma : float, default 2.0
        gamma_1 = gamma_2 in Eq. (20): beyond it a singular value or an error costs nothing more. Large: the convex penalties.
    warm_start : {"convex", "zero"}
        What the penalties are linearised about: the answer with convex penalties (nuclear norm and l1), or zero as
        printed, for which all weights are one and the answer *is* that convex one.
    n_steps : int, default 1
        Linearisations. The paper takes one.
    growth : float, default 1.3
        rho, as printed.
    from_, affinity, evidence, penalty, unit_rows, tol, max_iter, n_init, random_state, n_jobs : see :class:`RSEC`
        max_iter bounds each linearisation.

    Attributes
    ----------
    labels_, confidence_, embedding_, outlier_score_, representation_, error_, rank_, singular_values_, n_iter_, converged_ :
        see :class:`RSEC`
    history_ : list of dict
        As in :class:`RSEC`, over all linearisations one after the other, with ``step`` (0 is the convex warm start).

    Notes
    -----
    Three products of u x u matrices an iteration, one run for the warm start and one for each step: about six times
    the time of RSEC. Memory: about 120 u^2 bytes. A weight of 1 is one object, and the unit matters as in :class:`RSEC`:
    weights that only say which objects count more should have mean 1.

    Differences from the paper
    - The warm start (see ``warm_start``): from zero, as printed, one linearisation is RSEC with an l1 error.
    - Algorithm 2 prints W = (1 - |E_old|)_+ without the division by gamma_2 that the derivative of the penalty has.
    - Those of :class:`RSEC` that concern the graph.

    References
    ----------
    Z. Tao, H. Liu, S. Li, Z. Ding and Y. Fu, "Robust spectral ensemble clustering via rank minimization", ACM TKDD 13(1), 2019.

    Examples
    --------
    >>> import consilience as cs
    >>> base = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], ["x", "x", "x", "z", "z", "z"]]
    >>> cs.NRSEC(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    _test_params = [{"n_init": 3}]
    _BYTES = 120

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        low_rank_weight: float = 3.0,
        error_weight: float = 0.01,
        gamma: float = 2.0,
        warm_start: str = "convex",
        n_steps: int = 1,
        from_: str = "embedding",
        affinity: str = "absolute",
        evidence: str = "auto",
        penalty: float | None = None,
        growth: float = 1.3,
        unit_rows: bool = True,
        tol: float = 1e-7,
        max_iter: int = 500,
        n_init: int = 20,
        random_state=None,
        n_jobs: int | None = None,
    ):
        self.n_clusters = n_clusters
        self.low_rank_weight = low_rank_weight
        self.error_weight = error_weight
        self.gamma = gamma
        self.warm_start = warm_start
        self.n_steps = n_steps
        self.from_ = from_
        self.affinity = affinity
        self.evidence = evidence
        self.penalty = penalty
        self.growth = growth
        self.unit_rows = unit_rows
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learn(self, ensemble, root):
        S = scaled(co_association(ensemble, self.evidence, self.n_jobs), root)
        frame = self._frame(ensemble, root, S.copy())
        errors, state = EntryErrors(frame, self.error_weight, S), State.zero(frame, self.n_clusters)
        rank_weights = None
        first = 0 if self.warm_start == "convex" else 1
        for step in range(first, self.n_steps + 1):
            if step > 0:
                rank_weights, weights = linearise(state.J.values, errors.E, root, self.gamma)
                errors.restart(weights)
            begun = len(state.history)
            solve(frame, errors, state, rank_weights=rank_weights, **self._options())
            for entry in state.history[begun:]:
                entry["step"] = step
        return frame, errors, state


def linearise(
    values: np.ndarray, E: np.ndarray, root: np.ndarray, gamma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Slopes of the concave penalties at (sigma(J), E): Lambda (r,), and W (u, u) in the layout of E. Algorithm 2, lines 4-5."""
    slopes = np.maximum(1.0 - values / gamma, 0.0)
    entries = np.abs(E)
    entries /= root[:, None] * gamma
    entries /= root
    np.subtract(1.0, entries, out=entries)
    np.maximum(entries, 0.0, out=entries)
    return slopes, entries.astype(np.float32)
