"""What base clusterings say about a number of clusters, without a matrix of pairs.

Object p has weight w_p and label l_i(p) in clustering i, of m, or none. A pair has co-association A = t / s:
of the s clusterings that saw both, t put them together. H[t, s] is the weight of such pairs
(:mod:`consilience._kernels.pairs.histogram`); pairs that no clustering saw are left out.

    mean(A), area = 1 - mean(A)                                      the area under the CDF of A         (1)
    PAC   = share of pairs with low < A < high                                                            (2)
    rPAC  = PAC / (1 - share of pairs with A = 0)                                                         (3)
    dispersion = mean of 4 (A - 1/2)^2                                                                    (4)
    silhouette of p = (b - a) / max(a, b),  a = 1 - mean A with the others of its cluster,
                 b = 1 - the largest mean A with another cluster                                          (5)
    concordance = mean over clusterings of the share of labels that agree with the partition, names
                 matched                                                                                  (6)
    spectrum: eigenvalues of D^-1/2 A D^-1/2,  A_pq = t / sqrt(s_p s_q),  D = diag(A w)                   (7)
    eigengap of k = log of the k-th over the next of these                                                (7')
    lifetime of k = difference of the heights at which average linkage of 1 - A leaves k and k - 1
                 clusters                                                                                 (8)
    split of k = largest over clusters C of (share of pairs of runs, with one cluster more, that both
                 divide C) x (mean ARI of these two divisions)                                            (9)

Means of A in (5) weight a pair by how often it was seen, as in :mod:`consilience._evidence.table`. In (7) s_p
is the number of clusterings that saw p, so that with nothing missing A is the co-association itself. Tests
compare each statistic with its dense formula.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._data.distinct import Compressed
from .._data.ensemble import Ensemble
from .._data.named import incidence_of
from .._evidence.table import Evidence, drawn_by_weight, place_others
from .._kernels.cut.partition import compact
from .._kernels.eigen import leading_eigenvectors
from .._kernels.labels.incidence import Labels
from .._kernels.labels.information import pairwise_measure
from .._kernels.pairs.histogram import pair_histogram, sampled_pair_histogram
from .._kernels.pairs.linkage import cut_tree, merge_tree_inplace
from .._kernels.runtime.threads import map_blocks

#: Distinct objects up to which all pairs are counted.
EXACT_UP_TO = 100_000
#: Co-association between these is ambiguous: bounds of PAC.
LOW, HIGH = 0.1, 0.9
#: Distinct objects that are linked for lifetimes; if there are more, this many are drawn by weight.
LINKED = 2_000
#: Chance that a CDF leaves the band of its sample anywhere.
_LEFT = 0.01
#: Rounding error that is left of a sum of weights after parts were taken out, relative to the sum.
_NOTHING = 1e-12
_ROWS = 1 << 15  # in a block
#: Smaller eigenvalues count as this one.
_LEAST_VALUE = 0.01
#: A run divides a cluster if the smaller part has at least this share of it.
_DIVIDES = 0.1


class PairShares(NamedTuple):
    """The distribution of co-association over pairs.

    counts : (m + 1, m + 1) H[t, s] of the module, as shares of the pairs seen together.
    unseen : share of the pairs that no clustering saw.
    band : half width of the band that holds the whole CDF with 99% probability if pairs were sampled; 0 if
        all were counted.
    """

    counts: np.ndarray
    unseen: float
    band: float

    def cdf(self) -> tuple[np.ndarray, np.ndarray]:
        """(values of A, ascending; share of pairs with at most that value)."""
        t, s = np.nonzero(self.counts)
        values, where = np.unique(t / s, return_inverse=True)
        return values, np.minimum(np.cumsum(np.bincount(where.reshape(-1), self.counts[t, s])), 1.0)

    def mean(self, function=lambda A: A) -> float:
        """Mean of a function of A over pairs."""
        t, s = np.nonzero(self.counts)
        return float(self.counts[t, s] @ function(t / s)) if t.size else float("nan")

    @property
    def area(self) -> float:
        """Eq. (1)."""
        return 1.0 - self.mean()

    def pac(self, low: float = LOW, high: float = HIGH) -> float:
        """Eq. (2)."""
        return self.mean(lambda shares: (shares > low) & (shares < high))

    def rpac(self, low: float = LOW, high: float = HIGH) -> float:
        """Eq. (3); 0 if no pair was ever together."""
        together = self.mean(lambda A: A > 0)
        return self.pac(low, high) / together if together > 0 else 0.0

    @property
    def dispersion(self) -> float:
        """Eq. (4)."""
        return self.mean(lambda A: 4 * (A - 0.5) ** 2)


def pairs_of(
    ensemble: Ensemble, *, n_pairs: int = 1_000_000, seed: Any = 0, n_jobs: int | None = -1
) -> PairShares:
    """All pairs of up to EXACT_UP_TO distinct objects; otherwise a sample of ``n_pairs``."""
    rows = ensemble.distinct(n_jobs=n_jobs)
    if rows.n_samples <= EXACT_UP_TO:
        return counted_pairs(rows.labels, rows.sample_weight, n_jobs=n_jobs)
    rng = np.random.default_rng(seed)
    H = sampled_pair_histogram(rows.labels, rows.sample_weight, n_pairs, rng, n_jobs=n_jobs)
    seen = max(float(H[:, 1:].sum()), 1.0)
    return _shares(H, float(np.sqrt(np.log(2 / _LEFT) / (2 * seen))))  # Dvoretzky, Kiefer and Wolfowitz


def counted_pairs(labels: np.ndarray, weights: np.ndarray | None, *, n_jobs: int | None = -1) -> PairShares:
    """All pairs of objects with labels (u, m), equal ones too."""
    return _shares(pair_histogram(labels, weights, n_jobs=n_jobs), 0.0)


def _shares(H: np.ndarray, band: float) -> PairShares:
    total = H.sum()
    unseen = float(H[0, 0] / total) if total > 0 else 0.0
    H[0, 0] = 0.0
    seen = H.sum()
    return PairShares(H / seen if seen > 0 else H, unseen, band)


def mean_ari(ensemble: Ensemble, *, n_jobs: int | None = -1) -> float:
    """Mean ARI of every two clusterings on the objects both saw; NaN for a single clustering."""
    rows = ensemble.distinct(n_jobs=n_jobs)
    return mean_ari_of(rows.labels, rows.n_clusters_per_clustering, rows.sample_weight, n_jobs=n_jobs)


def mean_ari_of(
    labels: np.ndarray, n_clusters: np.ndarray, weights: np.ndarray | None, *, n_jobs: int | None = -1
) -> float:
    """The same for labels (u, m)."""
    if labels.shape[1] < 2:
        return float("nan")
    found = pairwise_measure(labels, n_clusters, "ari", weights, n_jobs=n_jobs)
    return float(np.nanmean(found[np.triu_indices(len(found), 1)]))


def silhouette(evidence: Evidence, *, n_jobs: int | None = -1) -> float:
    """Weighted mean of Eq. (5) over objects with a cluster; 0 for objects alone in theirs.

    O(u m c) time, O(c) memory for each row of a block.
    """
    if evidence.n_groups < 2:
        return float("nan")
    incidence = incidence_of(evidence.ensemble)
    table, seen = evidence.table, np.repeat(evidence.seen, np.diff(evidence.ensemble.offsets), axis=0)
    itself = np.minimum(evidence.weights, 1.0 / evidence.unit) * incidence.sights(
        np.ones(evidence.ensemble.n_clusterings)
    )

    def block(a: int, b: int) -> float:
        rows = incidence[np.arange(a, b)]
        met, both = rows.gather(table, n_jobs=1), rows.gather(seen, n_jobs=1)
        each = _silhouettes(met, both, itself[a:b], evidence.groups[a:b])
        return float(each @ evidence.weights[a:b])

    parts = map_blocks(block, len(evidence.groups), size=_ROWS, n_jobs=n_jobs)
    return float(sum(parts) / evidence.weights.sum())


def _silhouettes(met: np.ndarray, both: np.ndarray, itself: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """(b,) Eq. (5), from how often objects were together with the clusters and seen with them.

    Both are (b, c) and include the object itself.
    """
    here = np.arange(len(groups))
    whole = both[here, groups].copy()
    met[here, groups] -= itself
    both[here, groups] -= itself
    alone = both[here, groups] <= _NOTHING * whole
    apart = 1.0 - np.divide(met, both, out=np.zeros(met.shape), where=both > _NOTHING)
    a = apart[here, groups]
    apart[here, groups] = np.inf
    b = apart.min(axis=1)
    largest = np.maximum(a, b)
    return np.where(alone | (largest <= 0), 0.0, (b - a) / np.where(largest > 0, largest, 1.0))


def concordance(evidence: Evidence) -> float:
    """Eq. (6), over the labels that are not missing."""
    from scipy.optimize import linear_sum_assignment

    table, offsets = evidence.table, evidence.ensemble.offsets
    shares = []
    for i in range(evidence.ensemble.n_clusterings):
        own = table[offsets[i] : offsets[i + 1]]
        rows, columns = linear_sum_assignment(own, maximize=True)
        shares.append(own[rows, columns].sum() / own.sum())
    return float(np.mean(shares))


def spectrum(ensemble: Ensemble, count: int, *, n_jobs: int | None = -1) -> np.ndarray:
    """(count,) largest eigenvalues of Eq. (7), descending from 1; zeros if there are fewer.

    O(u m^2) time, 8 k^2 bytes.
    """
    rows = ensemble.distinct(n_jobs=n_jobs)
    return spectrum_of(incidence_of(rows), rows.sample_weight, count, n_jobs=n_jobs)


def spectrum_of(incidence: Labels, weights: np.ndarray, count: int, *, n_jobs: int | None = -1) -> np.ndarray:
    """The same by the k x k matrix Y' diag(w / (d s)) Y, which has the same eigenvalues.

    Y is the indicator matrix of base clusters.
    """
    weights = weights / weights.sum()
    seen = incidence.sights(np.ones(incidence.offsets.size - 1))
    root = np.where(seen > 0, 1.0 / np.sqrt(np.maximum(seen, 1.0)), 0.0)
    sizes = incidence.scatter((weights * root)[:, None], n_jobs=n_jobs)
    degree = root * incidence.gather(sizes, n_jobs=n_jobs)[:, 0]
    share = np.where(degree > 0, weights * root**2 / np.where(degree > 0, degree, 1.0), 0.0)
    W = incidence.overlaps(share, n_jobs=n_jobs)
    out = np.zeros(count)
    found = leading_eigenvectors(lambda X: W @ X, len(W), min(count, len(W)), dense=lambda: W)
    out[: found.values.size] = np.clip(found.values, 0.0, 1.0)
    return out


def eigengaps(values: np.ndarray, ks: np.ndarray) -> np.ndarray:
    """log lambda_k - log lambda_(k+1) of descending eigenvalues, for each k.

    Eigenvalues below a hundredth count as a hundredth.

    Ratios are used because the question is whether the next direction still holds anything: with few large
    clusters the difference of the second and the third eigenvalue can exceed a fall from a half to nothing.
    """
    logs = np.log(np.maximum(values, _LEAST_VALUE))
    return logs[..., ks - 1] - logs[..., ks]


def lifetimes(ensemble: Ensemble, ks: np.ndarray, *, n_jobs: int | None = -1) -> tuple[np.ndarray, bool]:
    """(Eq. (8) for each k, whether all distinct objects were linked).

    It is 0 if there are fewer than k objects. O(u^2 m) time.
    """
    rows = ensemble.distinct(n_jobs=n_jobs)
    drawn, weights = drawn_by_weight(rows.sample_weight, LINKED)
    part: Ensemble = rows if drawn is None else rows.take(drawn)
    A = part.coassociation(n_jobs=n_jobs)
    _, _, heights = merge_tree_inplace(np.subtract(1.0, A, out=A), weights, "average")
    u = heights.size + 1
    heights = np.concatenate([[0.0], heights])  # the height at which u clusters begin
    after = [float(heights[u - k + 1] - heights[u - k]) if 2 <= k <= u else 0.0 for k in ks.tolist()]
    return np.array(after), drawn is None


class Linked(NamedTuple):
    """The average linkage of some distinct objects, drawn by weight: partitions of all, for any k."""

    ensemble: Compressed
    rows: np.ndarray
    weights: np.ndarray
    left: np.ndarray
    right: np.ndarray

    def partition(self, k: int, *, n_jobs: int | None = -1) -> np.ndarray:
        """(u,) k groups, 0 the heaviest, by a cut of the tree.

        Every object that was not linked joins the group it is most often together with.
        """
        groups, alike = compact(cut_tree(self.left, self.right, k)), np.ones(self.ensemble.n_base_clusters)
        placed = place_others(self.ensemble, self.rows, self.weights, groups, alike, n_jobs=n_jobs)
        order = np.argsort(-np.bincount(placed, self.ensemble.sample_weight, minlength=k), kind="stable")
        return np.argsort(order)[placed]


def link_some(ensemble: Compressed, *, n_jobs: int | None = -1) -> Linked:
    """The average linkage of LINKED objects."""
    rows, weights = drawn_by_weight(ensemble.sample_weight, LINKED)
    assert rows is not None
    A = ensemble.take(rows).coassociation(n_jobs=n_jobs)
    left, right, _ = merge_tree_inplace(np.subtract(1.0, A, out=A), weights, "average")
    return Linked(ensemble, rows, weights, left, right)


def split(labels: np.ndarray, finer: Ensemble) -> float:
    """Eq. (9) of a partition (n,) by the clusterings of ``finer``.

    It is 0 if no two of them divide the same cluster.

    A run divides a cluster into two parts, the largest and the rest, if the smaller part has a tenth of what
    the run saw of the cluster. O(n m^2) time for all clusters together.
    """
    best = 0.0
    n_runs = finer.n_clusterings
    if n_runs < 2:
        return float("nan")
    for j in range(int(labels.max()) + 1):
        members = np.flatnonzero(labels == j)
        if members.size < 2:
            continue
        part = finer.take(members)
        sizes = [np.append(own, 0.0) for own in np.split(part.cluster_sizes(), part.offsets[1:-1])]
        largest, total = (np.array([of(own) for own in sizes]) for of in (np.max, np.sum))
        divides = (total > largest) & (total - largest >= _DIVIDES * total)
        count = int(divides.sum())
        if count >= 2:
            share = count * (count - 1) / (n_runs * (n_runs - 1))
            best = max(best, share * mean_ari(part.select(divides)))
    return best


def changes(area: np.ndarray) -> np.ndarray:
    """Relative change of each value from the one before; the first is unchanged.

    For the areas under the CDFs this is the delta area.
    """
    before = np.concatenate([[0.0], area[:-1]])
    return np.where(before > 0, (area - before) / np.where(before > 0, before, 1.0), area)
