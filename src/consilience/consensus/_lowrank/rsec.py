"""RSEC and NRSEC: a low-rank representation of the co-association matrix and its spectral embedding, learned
    together.

    minimize  tr(H' Lz H) + lambda_1 rank(Z) + lambda_2 |E|     s. t.  S = S Z + E,  H'H = I                     (4)
    Lz = I - Dz^-1/2 (W + H H') Dz^-1/2,   W = (|Z| + |Z|')/2,   Dz = row sums of W + H H'                     (5, 6)

S (n, n) co-association, Z (n, n) representation, E (n, n) error, H (n, c) embedding. RSEC measures rank by
the nuclear norm and E by its column norms (l2,1); NRSEC by concave penalties of the singular values and of
the entries (MCP, phi(t) = |t| - t^2/(2 gamma) up to gamma, then constant), linearized about zero or a first
answer. With Z = J split off, multipliers Y1, Y2 and a growing penalty mu:

    J  <- shrink singular values of Z + Y2/mu by lambda_1/mu (times Lambda_i)                                   (11, 24)
    Z  <- (S'S + I)^-1 (S'S + J - S'E + (S'Y1 - Y2 + Dz^-1/2 H H' Dz^-1/2)/mu)                                      (13)
    Q   = S - S Z + Y1/mu;   E <- shrink columns of Q by lambda_2/mu, or entries by lambda_2/mu W_ij            (15, 25)
    H  <- c smallest eigenvectors of Lz, with Dz from the new Z and the old H                                       (16)
    Y1 <- Y1 + mu (S - S Z - E),  Y2 <- Y2 + mu (Z - J),  mu <- rho mu                                              (17)
    Lambda_i = (1 - sigma_i(J_old)/gamma)_+,  W_ij = (1 - |E_old_ij|/gamma)_+                              (Algorithm 2)

How the steps are computed on distinct objects, in the eigenbasis of S: :mod:`._lagrangian`.
"""

from __future__ import annotations

from ._base import BaseLowRank
from ._lagrangian import ColumnErrors, State, solve


class RSEC(BaseLowRank):
    """Robust spectral consensus by a low-rank representation of the co-association matrix.

    Learns a representation of the co-association matrix by itself (S = S Z + E) of low rank, puts aside in E
    what contradicts it, and lets the embedding it clusters strengthen the blocks of Z. Robust to base
    clusterings that disagree; the error tells which objects they disagree about.

    Parameters
    ----------
    n_clusters : int
        Number of clusters returned.
    low_rank_weight : float, default 0.5
        lambda_1 in Eq. (7). Larger: fewer directions in Z. The paper prints 0.1.
    error_weight : float, default 0.003
        lambda_2 in Eq. (7). Smaller: more of S is put aside as error. The paper prints 0.01.
    labels_from : {"embedding", "representation", "subspaces"}
        Read labels off H by k-means, or off Z by spectral clustering: of the graph of Z that H is learned
        from, or of the squared cosines between the rows of L Sigma^1/2, Z = L Sigma R', as low-rank
        representation does.
    affinity : {"absolute", "signed"}
        Graph of Z: ``(|Z| + |Z|')/2``, or (Z + Z')/2 as printed, whose row sums can be negative.
    entries : {"together", "signed"}
        Entries of S: share of clusterings that put a pair together (of those that saw both), or the mean of
        +1 together, -1 apart, 0 unseen. The paper has the second for ensembles with missing labels; it cannot
        tell two clusters apart.
    penalty : float or None
        mu_0, between 1e-20 and 1e20. None is 1.5 divided by the largest eigenvalue of S. The paper prints
        1e-6.
    growth : float, default 1.5
        rho, growth of the penalty in each iteration. The paper prints 1.1 for RSEC and 1.3 for NRSEC.
    unit_rows : bool, default True
        Bring the rows that k-means sees to length one. The paper does so for Z, and not for H.
    tol : float, default 1e-7
        Stop when every entry of S - S Z - E and of Z - J is smaller.
    max_iter : int, default 500
    n_init : int, default 20
        Starts of the k-means that reads the labels; the best is kept.
    min_cluster_size : float or None, default None
        Smaller clusters are merged; see :meth:`fit`.
    random_state : int, numpy generator or None
        Only the starts of k-means are random.
    n_jobs : int or None, default -1
        Threads; -1 is all cores, None as in joblib.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of each object, 0 the largest.
    confidence_ : array (n_samples,)
        How sure the base clusterings are of each object's cluster, in [0, 1], on the scale of all methods:
        :attr:`consilience._evidence.table.Evidence.confidence`.
    embedding_ : array (n_samples, n_clusters)
        H.
    outlier_score_ : array (n_samples,)
        Norm of the object's column of E relative to that of S: the share of its evidence that the low-rank
        structure does not explain. Objects the ensemble contradicts itself about score high.
    representation_, error_ : arrays (u, u)
        Z and E between the distinct objects, in the order of ``distinct_``.
    rank_, singular_values_ : rank of J and its singular values.
    history_ : list of dict
        Per iteration: ``residual`` (a bound on max ``|S - S Z - E|``), ``gap`` (one on max ``|Z - J|``, close
        to it near ``tol``), ``penalty`` (mu), ``rank`` (of J), ``bad_degrees`` (rows of the graph whose sum
        is not positive).
    n_iter_, converged_ : how the loop ended.

    Notes
    -----
    Works on the u distinct objects, exactly as on all n. Time per iteration: one product of two u x u
    matrices in single precision and a few of rank(J) + 8 columns; one symmetric eigendecomposition before.
    Memory: about 80 u^2 bytes. The stopping rule is met by the growth of mu whatever happens; that the end is
    a minimum is not proved.

    A weight of 1 is one object, and the unit matters: the printed objective adds terms that grow differently
    with the number of objects, so that every object twice, or all weights doubled, gives another answer.
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
    - Vectors that differ between equal objects are eigenvectors of the n x n Laplacian, too (eigenvalue 1);
      they are never used here.

    References
    ----------
    Z. Tao, H. Liu, S. Li, Z. Ding and Y. Fu, "Robust spectral ensemble clustering via rank minimization", ACM
    TKDD 13(1), 2019.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1], ["x", "x", "x", "z", "z", "z"]])
    >>> model = cs.RSEC(n_clusters=2, random_state=0).fit(base)
    >>> model.labels_.tolist()
    [0, 0, 0, 1, 1, 1]
    >>> int(model.outlier_score_.argmax())
    2
    """

    _test_params = [{"n_init": 3}, {"n_init": 3, "labels_from": "representation"}]
    _BYTES = 80

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        low_rank_weight: float = 0.5,
        error_weight: float = 0.003,
        labels_from: str = "embedding",
        affinity: str = "absolute",
        entries: str = "together",
        penalty: float | None = None,
        growth: float = 1.5,
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
        frame = self._frame(ensemble, root)
        errors, state = ColumnErrors(frame, self.error_weight), State.zero(frame, self.n_clusters)
        solve(frame, errors, state, **self._options())
        return frame, errors, state
