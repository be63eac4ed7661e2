"""NRSEC: RSEC with concave penalties, solved by linearizing them. Equations and symbols: :mod:`.rsec`."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..._base.estimator import declared
from ..._base.parameters import Choice, Integer, Real
from ._base import BaseLowRank, Positive, co_association, scaled
from ._lagrangian import EntryErrors, State, solve


def linearize(
    values: np.ndarray, E: np.ndarray, root: np.ndarray, gamma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Slopes of the concave penalties at (sigma(J), E), Algorithm 2, lines 4-5.

    Returns Lambda (r,), and W (u, u) in the layout of E.
    """
    slopes = np.maximum(1.0 - values / gamma, 0.0)
    entries = np.abs(E)
    entries /= root[:, None] * gamma
    entries /= root
    np.subtract(1.0, entries, out=entries)
    np.maximum(entries, 0.0, out=entries)
    return slopes, entries.astype(np.float32)


@declared
class NRSEC(BaseLowRank):
    """RSEC with errors of single entries and concave penalties, which shrink large values less.

    The nuclear norm of RSEC shrinks large singular values as much as small ones; the penalties used here
    (MCP) are constant beyond ``saturation``. They are solved by linearization, as a reweighted RSEC with
    entrywise errors. With one linearization about zero, as in the paper and by default, all weights are one,
    and only the error differs from RSEC. With ``linearize_about="convex"`` the penalties take effect, at
    twice the time; over twelve data sets the two are level (see the page of the method).

    Parameters
    ----------
    low_rank_weight : float
        lambda_1 in the paper, Eq. (20), with its value.
    error_weight : float
        lambda_2 in the paper, Eq. (20), with its value.
    saturation : float
        gamma_1 = gamma_2 in the paper, Eq. (20): beyond it, a larger singular value or error costs no more.
        Large values give the convex penalties. Singular values of Z hardly exceed 1, and errors do not, so
        that with 2 all of them are still shrunk. It has no effect with one linearization about zero.
    linearize_about : {"zero", "convex"}
        Where the penalties are linearized first: about zero as in the paper, where all weights are one, or
        about the answer with convex penalties (nuclear norm and l1), which is the answer with "zero".
    n_linearizations : int
        Number of linearizations. The paper uses one.
    growth : float
        Factor by which the penalty grows in each iteration (rho in the paper, with its value).
    max_iter : int
        Maximum number of iterations of each linearization.

    Attributes
    ----------
    history_ : list of dict
        The entries of :class:`RSEC`, for all linearizations one after the other, with ``linearization`` (0
        is the convex start).

    Notes
    -----
    An iteration takes three products of u x u matrices, and there is one run for each linearization and one
    for the convex start. By default, a fit takes one and a half to four times as long as RSEC, and about 120
    u^2 bytes. A weight of 1 stands for one object, and the unit matters as in :class:`RSEC`: weights that
    only say which objects count more should have mean 1.

    Differences from the paper

    - Algorithm 2 prints ``W = (1 - |E_old|)_+`` without the division by gamma_2 that the derivative of the
      penalty has.
    - The differences of :class:`RSEC` that concern the graph, the rows of H and missing labels.

    References
    ----------
    Z. Tao, H. Liu, S. Li, Z. Ding and Y. Fu, "Robust spectral ensemble clustering via rank minimization", ACM
    TKDD 13(1), 2019.

    Examples
    --------
    >>> import consilience as cs
    >>> runs = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], ["x", "x", "x", "z", "z", "z"]]
    >>> base = cs.Ensemble.from_clusterings(runs)
    >>> cs.NRSEC(n_clusters=2, random_state=0).fit_predict(base).tolist()
    [0, 0, 0, 1, 1, 1]
    """

    low_rank_weight: Positive = 1.0
    error_weight: Positive = 0.01
    saturation: Annotated[float, Real(1, open_low=True)] = 2.0
    linearize_about: Annotated[str, Choice("zero", "convex")] = "zero"
    n_linearizations: Annotated[int, Integer(1)] = 1
    growth: Annotated[float, Real(1, open_low=True)] = 1.3

    _test_params = [{"n_init": 3}, {"n_init": 3, "linearize_about": "convex"}]
    _BYTES = 120

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
