"""NRSEC: RSEC with concave penalties, solved by linearizing them. Equations and symbols: :mod:`.rsec`."""

from __future__ import annotations

import numpy as np

from ._base import BaseLowRank, co_association, scaled
from ._lagrangian import EntryErrors, State, solve


def linearize(
    values: np.ndarray, E: np.ndarray, root: np.ndarray, gamma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Slopes of the concave penalties at (sigma(J), E): Lambda (r,), and W (u, u) in the layout of E.
    Algorithm 2, lines 4-5.
    """
    slopes = np.maximum(1.0 - values / gamma, 0.0)
    entries = np.abs(E)
    entries /= root[:, None] * gamma
    entries /= root
    np.subtract(1.0, entries, out=entries)
    np.maximum(entries, 0.0, out=entries)
    return slopes, entries.astype(np.float32)


class NRSEC(BaseLowRank):
    """RSEC with errors of single entries, and concave penalties of rank and error, which shrink what is large
    less.

    The nuclear norm of RSEC shrinks large singular values as much as small ones; the penalties here (MCP)
    leave off beyond ``saturation``. They are solved by linearization, as a reweighted RSEC with entrywise
    errors. Once and from zero, as printed and by default, all those weights are one, and what differs from
    RSEC is the error. ``linearize_about="convex"`` makes the penalties act, at twice the time; over twelve
    sets the two are level (figures in the method's page).

    Parameters
    ----------
    n_clusters : int
        Number of clusters returned.
    low_rank_weight, error_weight : floats, default 1.0 and 0.01
        lambda_1 and lambda_2 in Eq. (20), as printed.
    saturation : float, default 2.0
        gamma_1 = gamma_2 in Eq. (20): beyond it a singular value or an error costs nothing more. Large: the
        convex penalties. Singular values of Z hardly exceed 1, errors do not: at 2 none is spared. Of no
        effect from zero in one step.
    linearize_about : {"zero", "convex"}
        What the penalties are linearized about first: zero as printed, where all weights are one, or the
        answer with convex penalties (nuclear norm and l1), which is the answer from zero.
    n_linearizations : int, default 1
        Linearizations. The paper takes one.
    growth : float, default 1.3
        rho, as printed.
    labels_from, affinity, entries, penalty, unit_rows, tol, max_iter, n_init, random_state, n_jobs :
        See :class:`RSEC`; max_iter bounds each linearization.
    min_cluster_size : float or None, default None
        Smaller clusters are merged; see :meth:`fit`.

    Attributes
    ----------
    labels_, confidence_, embedding_, outlier_score_, representation_, error_, rank_, singular_values_,
    n_iter_, converged_ :
        see :class:`RSEC`
    history_ : list of dict
        As in :class:`RSEC`, over all linearizations one after the other, with ``linearization`` (0 is the
        convex start).

    Notes
    -----
    Three products of u x u matrices an iteration, one run for each step and one for the convex start: one and
    a half to four times the time of RSEC by default. Memory: about 120 u^2 bytes. A weight of 1 is one
    object, and the unit matters as in :class:`RSEC`: weights that only say which objects count more should
    have mean 1.

    Differences from the paper

    - Algorithm 2 prints ``W = (1 - |E_old|)_+`` without the division by gamma_2 that the derivative of the
      penalty has.
    - Those of :class:`RSEC` that concern the graph, the rows of H and missing labels.

    References
    ----------
    Z. Tao, H. Liu, S. Li, Z. Ding and Y. Fu, "Robust spectral ensemble clustering via rank minimization", ACM
    TKDD 13(1), 2019.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], ["x", "x", "x", "z", "z", "z"]])
    >>> cs.NRSEC(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    _test_params = [{"n_init": 3}, {"n_init": 3, "linearize_about": "convex"}]
    _BYTES = 120

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        low_rank_weight: float = 1.0,
        error_weight: float = 0.01,
        saturation: float = 2.0,
        linearize_about: str = "zero",
        n_linearizations: int = 1,
        labels_from: str = "embedding",
        affinity: str = "absolute",
        entries: str = "together",
        penalty: float | None = None,
        growth: float = 1.3,
        unit_rows: bool = True,
        tol: float = 1e-7,
        max_iter: int = 500,
        n_init: int = 20,
        min_cluster_size: float | None = None,
        random_state=None,
        n_jobs: int | None = -1,
    ):
        self.n_clusters = n_clusters
        self.low_rank_weight = low_rank_weight
        self.error_weight = error_weight
        self.saturation = saturation
        self.linearize_about = linearize_about
        self.n_linearizations = n_linearizations
        self.labels_from = labels_from
        self.affinity = affinity
        self.entries = entries
        self.penalty = penalty
        self.growth = growth
        self.unit_rows = unit_rows
        self.tol = tol
        self.max_iter = max_iter
        self.n_init = n_init
        self.min_cluster_size = min_cluster_size
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _learn(self, ensemble, root):
        S = scaled(co_association(ensemble, self.entries, self.n_jobs), root)
        frame = self._frame(ensemble, root, S)
        errors, state = EntryErrors(frame, self.error_weight, S), State.zero(frame, self.n_clusters)
        rank_weights = None
        first = 0 if self.linearize_about == "convex" else 1
        for step in range(first, self.n_linearizations + 1):
            if step > 0:
                rank_weights, weights = linearize(state.J.values, errors.E, root, self.saturation)
                errors.restart(weights)
            begun = len(state.history)
            solve(frame, errors, state, rank_weights=rank_weights, **self._options())
            for entry in state.history[begun:]:
                entry["linearization"] = step
        return frame, errors, state
