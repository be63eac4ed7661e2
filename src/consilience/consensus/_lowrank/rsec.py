"""RSEC and NRSEC: a low-rank representation of co-association is learned with its spectral embedding.

    minimize  tr(H' Lz H) + lambda_1 rank(Z) + lambda_2 |E|     s. t.  S = S Z + E,  H'H = I     (4)
    Lz = I - Dz^-1/2 (W + H H') Dz^-1/2,   W = (|Z| + |Z|')/2,   Dz = row sums of W + H H'       (5, 6)

S (n, n) co-association, Z (n, n) representation, E (n, n) error, H (n, c) embedding. RSEC measures rank by
the nuclear norm and E by its column norms (l2,1); NRSEC by concave penalties of the singular values and of
the entries (MCP, phi(t) = |t| - t^2/(2 gamma) up to gamma, then constant), linearized about zero or a first
answer. With Z = J split off, multipliers Y1, Y2 and a growing penalty mu:

    J  <- shrink singular values of Z + Y2/mu by lambda_1/mu (times Lambda_i)                    (11, 24)
    Z  <- (S'S + I)^-1 (S'S + J - S'E + (S'Y1 - Y2 + Dz^-1/2 H H' Dz^-1/2)/mu)                   (13)
    Q   = S - S Z + Y1/mu;   E <- shrink columns of Q by lambda_2/mu, or entries by lambda_2/mu W_ij(15, 25)
    H  <- c smallest eigenvectors of Lz, with Dz from the new Z and the old H                    (16)
    Y1 <- Y1 + mu (S - S Z - E),  Y2 <- Y2 + mu (Z - J),  mu <- rho mu                           (17)
    Lambda_i = (1 - sigma_i(J_old)/gamma)_+,  W_ij = (1 - |E_old_ij|/gamma)_+                    (Algorithm 2)

How the steps are computed on distinct objects, in the eigenbasis of S: :mod:`._lagrangian`.
"""

from __future__ import annotations

from typing import Annotated

from ..._base.estimator import declared
from ..._base.parameters import Real
from ._base import BaseLowRank, Positive
from ._lagrangian import ColumnErrors, State, solve


@declared
class RSEC(BaseLowRank):
    """Robust spectral consensus by a low-rank representation of the co-association matrix.

    The method represents the co-association matrix by itself (S = S Z + E) with a matrix Z of low rank, moves
    what contradicts it to the error E, and lets the embedding that it clusters strengthen the blocks of Z. It
    is robust to base clusterings that disagree; the error tells which objects they disagree about.

    Parameters
    ----------
    low_rank_weight : float
        lambda_1 in the paper, Eq. (7). Larger values give Z a lower rank. The paper uses 0.1.
    error_weight : float
        lambda_2 in the paper, Eq. (7). Smaller values move more of S to the error. The paper uses 0.01.
    growth : float
        Factor by which the penalty grows in each iteration (rho in the paper, which uses 1.1).

    Attributes
    ----------
    n_iter_, converged_ : int and bool
        Number of iterations, and whether the residuals fell below ``tol``.

    Notes
    -----
    The method works on the u distinct objects, with the same result as on all n. An iteration takes one
    product of two u x u matrices in single precision and a few products with rank(J) + 8 columns; one
    symmetric eigendecomposition precedes them. The fit takes about 80 u^2 bytes. The growth of mu alone
    ensures that the stopping rule is met; it is not proved that the result is a minimum.

    A weight of 1 stands for one object, and the unit matters: the published objective adds terms that grow
    differently with the number of objects, so that doubling all objects, or all weights, changes the answer.
    Weights that only say which objects count more should have mean 1.

    Differences from the paper (figures for each in the method's page)

    - Eq. (15) is printed without the column Q_i that it scales.
    - ``affinity="absolute"``, ``penalty=None``, ``growth=1.5``, ``low_rank_weight=0.5``,
      ``error_weight=0.003`` and ``unit_rows=True`` instead of (Z + Z')/2, 1e-6, 1.1, 0.1, 0.01 and rows of H
      as they are.
    - Missing labels: S holds shares of the clusterings that saw both objects (0 if none did), as it does
      without missing labels, instead of +1, -1 and 0 (``entries="signed"``). The signed S of two clear
      clusters has rank one and ``|Z|`` no blocks: one missing label in a thousand then turns a perfect answer
      into a random one. For three clusters and more both work.
    - Objects whose degree is not positive (possible with "signed" only) are left out of the graph for that
      iteration.
    - Vectors that differ between equal objects are also eigenvectors of the n x n Laplacian (eigenvalue 1);
      they are never used here.

    References
    ----------
    Z. Tao, H. Liu, S. Li, Z. Ding and Y. Fu, "Robust spectral ensemble clustering via rank minimization", ACM
    TKDD 13(1), 2019.

    Examples
    --------
    >>> import consilience as cs
    >>> runs = [[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], ["x", "x", "x", "z", "z", "z"]]
    >>> base = cs.Ensemble.from_clusterings(runs)
    >>> model = cs.RSEC(n_clusters=2, random_state=0).fit(base)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    >>> int(model.outlier_score_.argmax())
    2
    """

    low_rank_weight: Positive = 0.5
    error_weight: Positive = 0.003
    growth: Annotated[float, Real(1, open_low=True)] = 1.5

    _test_params = [{"n_init": 3}, {"n_init": 3, "labels_from": "representation"}]
    _BYTES = 80

    def _learn(self, ensemble, root):
        frame = self._frame(ensemble, root)
        errors, state = ColumnErrors(frame, self.error_weight), State.zero(frame, self.n_clusters)
        solve(frame, errors, state, **self._options())
        return frame, errors, state
