"""Self-paced clustering ensemble: a consensus matrix is learned, from easy pairs first.

    min over S, W, alpha, F
        sum_i (1/alpha_i) ||(S - S_i) o W||^2 - lambda ||W||_1 + gamma ||S||_0 + rho tr(F' L F)            (1)
    s.t.  S = 1 where all clusterings put a pair together, 0 where none does;  0 <= S, W <= 1;  sum alpha = 1;
    F'F = I

    W = min(lambda / (2 B), 1),   B = sum_i (S - S_i)^2 / alpha_i                                          (2)
    C = (a - rho |f_p - f_q|^2 / (2 W^2)) / s,   a = sum_i S_i / alpha_i,   s = sum_i 1 / alpha_i          (3)
    S = 0 if C < sqrt(gamma / s) / W,  C if below 1,  1 otherwise                                          (4)
    F = the c eigenvectors of L = D - S with the smallest eigenvalues                                      (5)
    alpha_i = sqrt(d_i) / sum_j sqrt(d_j),   d_i = ||(S - S_i) o W||^2                                     (6)
    lambda = 2 r (1 - r) m^2,  r = 0.9, 0.8, 0.7, 0.6, 0.5;   gamma = (theta m)^2                          (7)
    rho doubles while S has fewer than c components and halves while it has more                           (8)

S_i (n, n) is 1 where clustering i has a pair together, S (n, n) the consensus matrix, W (n, n) how much each
pair is trusted so far, alpha (m,) the losses of the clusterings (1 / alpha is the trust in a clustering), F
(n, c) the embedding. Objects with equal labels everywhere are one object of larger weight: everything below
has u rows, and sums over objects carry the weights w.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..._base.estimator import declared
from ..._base.parameters import Choice, MinClusterSize, NJobs, Real, Tol
from ..._base.progress import progress
from ..._data.pairs import pattern_size
from ..._evidence.table import Evidence, share_out
from ..._kernels.cut.partition import compact, split_clusters
from ..._kernels.pairs.linkage import cut_tree, merge_tree_inplace
from ..._kernels.pairs.paced import PairStore
from ..._kernels.pairs.paced_dense import DensePairs
from ..._kernels.pairs.paced_sparse import SparsePairs
from ..._kernels.runtime.memory import WITHOUT_PAIRS, ensure_fits, how_many_fit
from .._base import BaseConsensus, Pacing, Solution
from ._rank import ByComponents, ByEigenvalues

#: Eq. (7): (r, maximum number of inner steps of that stage). Listed, because 0.9 - 4 * 0.1 is not 0.5 in
#: floating point.
STAGES = ((0.9, 5), (0.8, 5), (0.7, 5), (0.6, 5), (0.5, 20))
#: What threshold="auto" tries, in increasing order; the smaller of two that agree equally well with the
#: clusterings is kept.
THRESHOLDS = (0.1, 0.2, 0.4, 0.6, 0.7)
# Share of pairs ever together below which the sparse store is used. It is the faster one up to 0.73 at least
# (1.4 times there, twice at 0.55), but takes more memory where pairs meet in clusterings of their own each.
_SPARSE_BELOW = 0.8
# Memory at the peak: for each ordered pair ever together in the sparse store, and for one of its clusterings
# (measured, where no pair is cut: 48 of 20 clusterings with few patterns; with as many patterns as pairs 54
# of 30 with missing labels, 71 of 100); for each ordered pair of all in the dense one, where a dense solver
# is used, and where components are merged.
_SPARSE_BYTES, _PATTERN_BYTES, _DENSE_BYTES, _SOLVER_BYTES, _MERGE_BYTES = 50.0, 0.25, 8.0, 32.0, 40.0


def objective(d, alpha, *, lam, easy, gamma, nonzero, rho, trace) -> dict[str, float]:
    """Eq. (1) and its four terms, from the sums over the pairs.

    d (m,) of Eq. (6); easy = ||W||_1; nonzero = ||S||_0; trace = tr(F' L F).
    """
    terms = {
        "loss": float(np.sum(d / alpha)),
        "pace": float(-lam * easy),
        "sparsity": float(gamma * nonzero),
        "connectivity": float(rho * trace),
    }
    return {"objective": sum(terms.values()), **terms}


def update_W(pairs, alpha, lam) -> float:
    """Eq. (2); returns ||W||_1. Pairs that were never together have B = 0 and W = 1."""
    return float(pairs.weights.sum()) ** 2 - pairs.pace(1.0 / alpha, lam)


def update_S(pairs, F, spread, alpha, rho, gamma) -> tuple[np.ndarray, float]:
    """Eqs. (3) and (4), in place; returns d of Eq. (6) and ||S||_0, from the same pass over the pairs.

    spread (u,) is added to |f_p - f_q|^2 for differences within groups of equal objects, see
    :func:`._rank.with_inner_vectors`.
    """
    return pairs.step(1.0 / alpha, F, spread, rho, gamma)


def update_alpha(d, seen: float | np.ndarray = 1.0) -> np.ndarray:
    """Eq. (6) for d_i / s_i, where s = ``seen`` (m,) holds the share of all pairs that each clustering saw.

    d_i is a sum over the pairs that clustering i saw: without s, a clustering would be trusted for seeing
    little. This alpha minimizes sum_i d_i / alpha_i subject to sum_i s_i alpha_i = mean(s), which is the
    published constraint if all saw equally many. The published rule divides by 0 when a clustering equals S,
    so roots are at least 1e-9 of the largest.
    """
    seen = np.broadcast_to(seen, d.shape)
    root = np.sqrt(d / seen)
    if root.max() == 0.0:  # all clusterings equal S: nothing tells them apart
        return np.full(d.size, 1.0 / d.size)
    root = np.maximum(root, 1e-9 * root.max())
    return root * seen.mean() / (seen * root).sum()


def shares_seen(ensemble) -> np.ndarray:
    """(m,) the share of all pairs, by weight, that each clustering saw."""
    seen = ensemble.sample_weight @ (ensemble.labels >= 0)
    return (seen / ensemble.sample_weight.sum()) ** 2


def repair(ensemble, labels, c, *, alpha, F) -> np.ndarray:
    """Merge components by average co-association (S is 0 between them), or split them by F, to c clusters."""
    labels = compact(labels)
    found = int(labels.max()) + 1
    if found < c:
        return split_clusters(labels, c, embedding=F, weights=ensemble.sample_weight)
    if found == c:
        return labels
    ensure_fits(
        _MERGE_BYTES * found**2,
        what=f"Merging the {found} components of SPCE's graph into {c} clusters",
        remedy="use threshold=0.2 or less, which leaves few components, or LWGP",
    )
    # a / s between components, over the pairs that were seen.
    average = np.nan_to_num(Evidence(ensemble, labels).mean_coassociation(1.0 / alpha))
    sizes = np.bincount(labels, weights=ensemble.sample_weight)
    left, right, _ = merge_tree_inplace(1.0 - average, sizes, "average")
    return compact(cut_tree(left, right, c)[labels])


def agreement(ensemble, labels) -> float:
    """Mean adjusted Rand index of the clusterings with a partition.

    The pair of an object with itself counts, which makes the value independent of the scale of the
    weights.
    """
    return float(Evidence(ensemble, labels).agreement("ari", with_itself=True).mean())


def make_pairs(ensemble, *, n_jobs=-1, sparse: bool | None = None, solver: bool = False) -> PairStore:
    """The store of pairs that suits the ensemble: sparse if few enough pairs were ever together.

    Raises an error if it does not fit into memory, together with what the dense eigensolver needs if used.
    """
    u = ensemble.n_samples
    each = _SPARSE_BYTES + _PATTERN_BYTES * ensemble.n_clusterings
    pairs = u * u
    if sparse is None:
        # Where the pairs of all objects would not fit, counting those ever together ends with the first too
        # many.
        enough = how_many_fit(each) if u * u > how_many_fit(_DENSE_BYTES) else np.inf
        pairs = pattern_size(ensemble, n_jobs=n_jobs, enough=enough)
        sparse = pairs < _SPARSE_BELOW * u * u
    store = each * pairs if sparse else _DENSE_BYTES * u * u
    ensure_fits(
        store + _SOLVER_BYTES * solver * u * u, what=f"SPCE on {u} distinct objects", remedy=WITHOUT_PAIRS
    )
    codes = np.ascontiguousarray(ensemble.global_labels().T)
    if not sparse:
        return DensePairs(codes, ensemble.sample_weight, any_missing=ensemble.has_missing, n_jobs=n_jobs)
    return SparsePairs(codes, ensemble.sample_weight, any_missing=ensemble.has_missing, n_jobs=n_jobs)


def learn(pairs, m, threshold, rank, *, weighting, tol, seen: float | np.ndarray = 1.0):
    """The published loop. Returns (alpha, F, history); S is left in ``pairs``.

    seen: see :func:`update_alpha`. rank: :class:`ByComponents` or :class:`ByEigenvalues`, reused for all
    thresholds. tol: a stage with too many components ends when the objective changes by less than this share
    of itself (None: never), because halving rho does not join what the cut of Eq. (4) has separated.
    """
    gamma = (threshold * m) ** 2
    alpha = np.full(m, 1.0 / m)
    embedding = rank.first()
    easy = float(pairs.weights.sum()) ** 2
    if weighting == "none":
        pairs.unpaced()
    rho, history = 1.0, []
    with progress(total=sum(cap for _, cap in STAGES), what="SPCE, at most", unit="step") as bar:
        for stage, (r, cap) in enumerate(STAGES):
            lam = 2 * r * (1 - r) * m**2
            if weighting == "self-paced" or (weighting == "fixed" and stage == 0):
                easy = update_W(pairs, alpha, lam)
            for step in range(1, cap + 1):
                bar.update(1)
                d, nonzero = update_S(pairs, embedding.F, embedding.spread, alpha, rho, gamma)
                look = rank()
                alpha = update_alpha(d, seen)
                trace = look.measured["trace"]
                terms = objective(
                    d, alpha, lam=lam, easy=easy, gamma=gamma, nonzero=nonzero, rho=rho, trace=trace
                )
                entry = {"r": r, "step": step, "rho": rho, "lambda": lam, "nonzero": nonzero}
                history.append(entry | look.measured | terms)
                # With too many components F is set back to the one before: the next S is computed from that.
                embedding = look.embedding or embedding
                if look.verdict == 0 and step > 1:
                    break
                rho *= 2.0**-look.verdict
                if look.verdict > 0 and tol is not None and step > 1 and _change(history) <= tol:
                    break
            bar.update(cap - step)  # the stage may end early
    return alpha, embedding.F, history


def _change(history) -> float:
    before, now = history[-2]["objective"], history[-1]["objective"]
    return abs(now - before) / max(abs(now), np.finfo(float).tiny)


@declared
class SPCE(BaseConsensus):
    """Self-paced clustering ensemble: a sparse consensus matrix whose connected components are the clusters.

    Every pair of objects gets a consensus value. The values are learned first from the pairs that the
    clusterings agree on and later from the contested ones. Clusterings that disagree with the consensus lose
    weight, and the graph of the values is driven to fall apart into ``n_clusters`` components.

    Parameters
    ----------
    threshold : float in [0, 1) or "auto"
        Consensus values below about this threshold are set to 0 (theta in the paper; gamma = (threshold m)^2
        in the published objective). Up to 0.2, the graph nearly always has exactly c components; above, it
        has more, and they are merged. "auto" tries 0.1, 0.2, 0.4, 0.6 and 0.7 and keeps the result with the
        best mean adjusted Rand index with the base clusterings; no true labels are used.
    weighting : {"self-paced", "fixed", "none"}
        How pairs are trusted. "self-paced": the weights are learned, and more pairs are trusted at each
        stage. "fixed": the weights stay at their values in the first stage, given by agreement (published as
        SPCE-fixW). "none": all pairs are trusted equally (SPCE-W).
    mode : {"standard", "authors"}
        "authors" follows the published program step by step and returns the components of the last consensus
        matrix as clusters, whatever their number.
    tol : float
        A stage whose graph has too many components ends when the objective changes by less than this share.

    Attributes
    ----------
    consensus_matrix_ : sparse array (n_samples, n_samples)
        S, expanded from ``distinct_consensus_`` each time.
    distinct_consensus_ : sparse array (u, u)
        S between the distinct objects, in the order of ``distinct_``.
    clustering_weights_ : array (n_clusterings,)
        Trust in each base clustering: 1 / alpha, which multiplies its loss, normalized to add up to 1.
    clustering_losses_ : array (n_clusterings,)
        alpha, normalized to add up to 1: how far each base clustering is from the consensus matrix on the
        pairs it saw.
    n_pieces_ : int
        Number of pieces (connected components) of the learned graph. If it is not ``n_clusters``, they were
        merged by average co-association or split by the embedding, with a ConvergenceWarning.
    threshold_ : float
        The threshold that was used.
    history_ : list of dict
        One entry per inner step: the stage ``r``, ``step``, ``rho``, ``lambda``, ``pieces``, ``nonzero``
        pairs, ``trace`` = tr(F'LF), the ``objective`` and its terms ``loss``, ``pace``, ``sparsity`` and
        ``connectivity`` (rho times the trace); with mode="authors" also ``eigenvalues`` and
        ``eigenvalues_one_more``, the sums of the c and c + 1 smallest that the published program tests.

    Notes
    -----
    An inner step takes O(u^2 (m + c)) time for u distinct rows of labels, and there are at most 40 steps. The
    fit takes 8 u^2 bytes, or at most 100 + m / 2 bytes for each pair that was ever together if those are
    fewer than 80% of all pairs; 32 u^2 bytes more with mode="authors", and 40 g^2 bytes to merge g components
    (g is small for a threshold up to 0.2). An error is raised beforehand if this does not fit into memory.
    The method is deterministic.

    A weight of 1 stands for one object, and the unit matters: rho starts at 1 against an embedding whose
    length falls with the number of objects, so that doubling all weights may change the answer. Weights that
    only say which objects count more should have mean 1.

    Within a stage (W fixed) and for a fixed rho, every update lowers loss + sparsity + 2 rank; nothing is
    guaranteed across stages, or while rho changes.

    Missing labels: a pair is judged by the clusterings that saw both objects, and a clustering by its loss
    for each pair that it saw, so that seeing less earns no trust. A pair that none saw has no loss and no
    edge. Only objects with the same label in every clustering are tied for certain.

    Differences from the paper: components are counted by graph search instead of eigenvalues; objects with
    equal labels are one weighted object (the same iterates, except that no eigenvector can separate them);
    exactly ``n_clusters`` clusters are returned; a clustering that equals S keeps a tiny alpha instead of 0
    (the loss divides by it); a tie C = cut gives 0; a stage ends when it cannot change any further. The
    objective counts rho tr(F'LF) as printed, although the published S update belongs to twice that.

    References
    ----------
    P. Zhou, L. Du, X. Liu, Y.-D. Shen, M. Fan and X. Li, "Self-paced clustering ensemble", IEEE TNNLS 32(4),
    2021.

    Examples
    --------
    >>> import consilience as cs
    >>> base = cs.Ensemble.from_clusterings([[0, 0, 0, 1, 1], [0, 0, 1, 1, 1], ["x", "x", "z", "z", "z"]])
    >>> model = cs.SPCE(n_clusters=2, threshold=0.2).fit(base)
    >>> model.labels_.tolist()
    [1, 1, 0, 0, 0]
    >>> model.n_pieces_
    2
    """

    threshold: Annotated[float | str, Real(0, 1, open_high=True) | Choice("auto")] = "auto"
    weighting: Annotated[str, Choice("self-paced", "fixed", "none")] = "self-paced"
    mode: Annotated[str, Choice("standard", "authors")] = "standard"
    tol: Tol = 1e-6
    min_cluster_size: MinClusterSize = None
    n_jobs: NJobs = -1

    distinct_consensus_: ClassVar[sp.csr_array]
    clustering_weights_: ClassVar[np.ndarray]
    clustering_losses_: ClassVar[np.ndarray]
    n_pieces_: ClassVar[int]
    threshold_: ClassVar[float]

    _test_params = [
        {},
        {"weighting": "fixed"},
        {"weighting": "none"},
        {"threshold": 0.5},
        {"threshold": "auto"},
    ]

    _any_unit = False
    # The pace term is -lambda times the sum of the pairs' weights; all weights 1 make the square of the
    # total.
    _pacing = Pacing(
        "pairs of objects", lambda terms, total: -terms["pace"] / terms["lambda"] / total**2, stage="lambda"
    )

    def _fit(self, ensemble, rng):
        # The eigensolver goes dense for the faithful mode, and where most vectors are asked for.
        solver = self.mode == "authors" or 5 * (self.n_clusters + 4) >= ensemble.n_samples
        pairs = make_pairs(ensemble, n_jobs=self.n_jobs, solver=solver)
        rank = (ByEigenvalues if self.mode == "authors" else ByComponents)(pairs, self.n_clusters)
        if self.threshold != "auto":
            return self._solve(ensemble, pairs, rank, self.threshold)
        best = self._solve(ensemble, pairs, rank, THRESHOLDS[0])
        highest = agreement(ensemble, best.labels)
        for threshold in THRESHOLDS[1:]:
            pairs.restart()
            solution = self._solve(ensemble, pairs, rank, threshold)
            # A hair more is needed, so that rounding does not choose between thresholds that give the same
            # partition.
            if (value := agreement(ensemble, solution.labels)) > highest + 1e-9:
                best, highest = solution, value
        return best

    def _solve(self, ensemble, pairs, rank, threshold):
        c, faithful = self.n_clusters, self.mode == "authors"
        tol = None if faithful else self.tol
        seen = 1.0 if faithful else shares_seen(ensemble)  # the published program knows no missing labels
        alpha, F, history = learn(
            pairs, ensemble.n_clusterings, threshold, rank, weighting=self.weighting, tol=tol, seen=seen
        )
        found, components = pairs.components()
        labels = components if faithful else repair(ensemble, components, c, alpha=alpha, F=F)
        return Solution(
            labels,
            history=history,
            converged=found == c,
            shortfall=_shortfall(found, c, threshold, faithful),
            exact=not faithful,
            per_clustering={
                "clustering_weights": share_out(1.0 / alpha),
                "clustering_losses": share_out(alpha),
            },
            per_pair={"distinct_consensus": pairs.matrix()},
            extra={"n_pieces": found, "threshold": float(threshold)},
        )

    @property
    def consensus_matrix_(self) -> sp.csr_array:
        """S (n_samples, n_samples) as CSR, expanded from ``distinct_consensus_`` at each access."""
        check_is_fitted(self, "labels_")
        S, inverse = self.distinct_consensus_, self.distinct_.inverse
        copies = np.bincount(inverse)
        stored = float(copies @ ((S != 0) @ copies))
        ensure_fits(
            24.0 * stored,
            what=f"The consensus matrix of {inverse.size} objects with {stored:.0f} pairs",
            remedy="use distinct_consensus_ and distinct_.inverse",
        )
        return sp.csr_array(S[inverse][:, inverse])


def _shortfall(found, c, threshold, faithful) -> str:
    if found == c:
        return ""
    learned = f"the learned graph has {found} components for n_clusters={c}"
    if faithful:
        return f'{learned}, and mode="authors" returns them as they are'
    if found > c:
        return (
            f"{learned}; they were merged by average co-association (a threshold below {threshold:g} cuts "
            f"less)"
        )
    return f"{learned}; the largest were split by the embedding (a threshold above {threshold:g} cuts more)"
