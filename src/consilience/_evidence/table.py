"""What base clusterings say about a partition, from one table; nothing of size n x n is formed.

Object p has weight w_p, is in cluster l_i(p) of base clustering i (or was not seen by it), and in group j(p)
of the partition (or in none).

    T (k, c)   weight of base cluster and group together                                                 (1)
    N (m, c)   sum of T over the clusters of each clustering: what it saw of each group                   (2)
    membership of p in j:  mean over the i that saw p of T[l_i(p), j] / N[i, j], to sum 1 over j          (3)
    support of p:          its membership in its own group                                                (4)
    stability of p:        (sum_i T[l_i(p), j(p)] - self) / (sum_i N[i, j(p)] - self)                     (5)
    B (c, c)               (T' A T - self) / (N' A N - self),   A = diag(weights of the clusterings)      (6)
    stability of group j:  B[j, j]                                                                        (7)
    purity of p:           mean over the i that saw p of T[l_i(p), j(p)] / S[l_i(p)],   S = sum_j T[:, j] (8)
    typicality of p:       r_p / max of r over the group,  r_p = sum_i T[l_i(p), j(p)] / sum_i N[i, j(p)] (9)
    confidence of p:       sqrt(purity * typicality)                                                      (10)

The sums of (5) and (9) are over the clusterings that saw p. B is the mean co-association between groups; with
nothing missing (5) is the mean co-association of p with the others of its group, and (7) that of all its
pairs: the item and cluster consensus of Monti et al. (2003). With missing labels each pair is weighted by how
often it was seen. An object of weight w counts as w equal objects, so "self", which removes the pair of an
object with itself, is min(w, 1) for each clustering that saw it in (5) and w min(w, 1) on the diagonal of
(6).

Confidence asks two questions, and an object must pass both. (8): how many of the objects it is together with
are in its group? An object at a border fails. (9): is it with its group as often as the most typical object
of the group? An object that was merged into a group of others, or lies at its rim, fails. Both are shares of
what base clusterings with this number of clusters can give, so that many small base clusters lower neither:
the denominator is S[l], not N, in (8), and the largest value of the group in (9). The pair of an object with
itself is kept, so that only the ratios of the weights matter.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from .._base.parameters import unit_of
from .._data.ensemble import Ensemble
from .._data.named import incidence_of
from .._kernels.labels.incidence import Labels, Memberships
from .._kernels.labels.information import measure_tables
from .._kernels.pairs.linkage import cut_tree, merge_tree_inplace
from .._kernels.runtime.memory import ensure_fits
from .._kernels.runtime.threads import map_blocks

if TYPE_CHECKING:
    from .._data.soft import SoftEnsemble

# The rest of a sum of weights after a part was subtracted counts as 0 if it is below this share of the sum:
# sums of fractional weights leave a rounding error there.
_NOTHING = 1e-12

# A consensus is contradicted if its agreement with the base clusterings is below this share of that of a
# plain one ...
_FAR_LESS = 0.7
# ... and lower by more than what separates the answers to base clusterings that are noise.
_BY_CHANCE = 0.05
# The largest number of distinct objects that are judged; if there are more, a sample of this size is.
_SAMPLE = 500
_ROWS = 4096  # in a block


class Evidence:
    """The base clusterings of an ensemble against one grouping of its objects.

    ensemble : Ensemble or SoftEnsemble
        The base clusterings of n objects, or of the u distinct ones. Soft clusterings count as the average
        over hard ones drawn from them: l_i(p) is every cluster of i by its share in p, and "self" is how
        often two objects equal to p would be together and seen.
    groups : array (n,)
        Group of each object, 0..n_groups - 1, -1 for none.
    rows : array (n,), optional
        Row of the ensemble of each object; by default object p is row p.
    weights : array (n,), optional
        Weights of the objects; by default those of the ensemble.
    """

    def __init__(
        self,
        ensemble: Ensemble | SoftEnsemble,
        groups: np.ndarray,
        n_groups: int | None = None,
        *,
        rows: np.ndarray | None = None,
        weights: np.ndarray | None = None,
    ):
        self.ensemble, self.groups, self.rows = ensemble, groups, rows
        self.n_groups = int(groups.max()) + 1 if n_groups is None else n_groups
        weights = ensemble.sample_weight if weights is None else weights
        self.unit = unit_of(weights)  # of everything below: one in which weights can be multiplied
        self.weights = weights / self.unit

    # The table ---------------------------------------------------------------------------------------------

    @cached_property
    def table(self) -> np.ndarray:
        """T of Eq. (1). O(n m) time, 8 k c bytes."""
        ensemble, c = self.ensemble, self.n_groups
        ensure_fits(
            24.0 * ensemble.n_base_clusters * c,
            what=f"A table of {ensemble.n_base_clusters} base clusters by {c} groups",
            remedy="look at fewer clusterings at a time, ensemble.select(...)",
        )
        incidence, groups, weights = incidence_of(ensemble), self.groups, self.weights
        if self.rows is not None:  # the distinct pairs of row and group: far fewer than objects
            here = groups >= 0
            entries = weights[here], (self.rows[here], groups[here])
            cells = sp.coo_array(entries, (ensemble.n_samples, c)).tocsr().tocoo()
            incidence, groups, weights = incidence[cells.row], cells.col, cells.data
        return incidence.table(groups, c, weights)

    @cached_property
    def seen(self) -> np.ndarray:
        """N of Eq. (2)."""
        return np.add.reduceat(self.table, self.ensemble.offsets[:-1], axis=0)

    @cached_property
    def _seen_by_owner(self) -> np.ndarray:
        """(k, c) N of the clustering that each base cluster is in."""
        return np.repeat(self.seen, self.ensemble.n_clusters_per_clustering, axis=0)

    @cached_property
    def _cluster_weights(self) -> np.ndarray:
        """(k,) S: weight of the objects in each base cluster that have a group."""
        return self.table.sum(axis=1)

    @cached_property
    def _shares(self) -> np.ndarray:
        """(k, c) share of each group, as its clustering saw it, that lies in a base cluster."""
        return self.table / np.maximum(self._seen_by_owner, np.finfo(float).tiny)

    def agreement(self, measure: str = "nmi", **options: Any) -> np.ndarray:
        """(m,) of each clustering with the partition, over the objects it saw; NaN if there are none.

        Measures and options are those of :func:`~consilience._kernels.labels.information.measure_tables`.
        """
        return measure_tables(self.table, self.ensemble.offsets, measure, **options)

    def mean_agreement(self, measure: str = "nmi_geometric") -> float:
        """The mean of :meth:`agreement` over the clusterings where it is defined; 0 if there are none."""
        return mean_of_known(self.agreement(measure))

    # Objects -----------------------------------------------------------------------------------------------

    def memberships(self, objects: np.ndarray | None = None) -> np.ndarray:
        """(n, c) Eq. (3), of some objects or of all; O(n m c)."""
        rows = self.rows
        if objects is not None:
            rows = objects if rows is None else rows[objects]
        incidence = incidence_of(self.ensemble) if rows is None else incidence_of(self.ensemble)[rows]
        ties = incidence.gather(self._shares)
        return ties / np.maximum(ties.sum(axis=1, keepdims=True), np.finfo(float).tiny)

    def ties(self, rows: np.ndarray | Memberships) -> np.ndarray:
        """(b, c) Eq. (3), before it is brought to sum 1, for any rows of codes (b, m) or memberships.

        The rows may be those of other objects.
        """
        return self._incidence(rows).gather(self._shares, n_jobs=1)

    def _incidence(self, rows: np.ndarray | Memberships) -> Labels | Memberships:
        return rows if isinstance(rows, Memberships) else Labels(rows, self.ensemble.offsets)

    def closest_groups(self, cluster_weights: np.ndarray, *, n_jobs: int | None = -1) -> np.ndarray:
        """(n,) the group that each object of the ensemble is most often together with.

        This is the mean over the group's objects and the clusterings that saw them; base clusters count by
        their weights (k,). O(n m c) time, O(c) memory for each thread and row.
        """
        incidence, ties = incidence_of(self.ensemble), self._shares * cluster_weights[:, None]

        def block(a: int, b: int) -> np.ndarray:
            return incidence[np.arange(a, b)].gather(ties, n_jobs=1).argmax(axis=1)

        return np.concatenate(map_blocks(block, self.ensemble.n_samples, size=_ROWS, n_jobs=n_jobs))

    @cached_property
    def support(self) -> np.ndarray:
        """(n,) Eq. (4). O(n m) time for any number of groups."""
        total = self._over_clusters(self._shares.sum(axis=1))
        return self._over_own(self._shares) / np.maximum(total, np.finfo(float).tiny)

    @cached_property
    def purity(self) -> np.ndarray:
        """(n,) Eq. (8); 0 for an object that no clustering saw, or that has no group."""
        sights = self._sights()
        return self._over_own(self._purities) / np.where(sights > 0, sights, 1.0)

    @cached_property
    def _purities(self) -> np.ndarray:
        """(k, c) share of each base cluster that is in a group."""
        return self.table / np.maximum(self._cluster_weights, np.finfo(float).tiny)[:, None]

    @cached_property
    def typicality(self) -> np.ndarray:
        """(n,) Eq. (9); 0 for an object that no clustering saw, or that has no group."""
        return np.where(self.groups >= 0, self._company / self.most[self.groups], 0.0)

    @cached_property
    def _company(self) -> np.ndarray:
        """(n,) r of Eq. (9)."""
        seen = self._over_own(self._seen_by_owner)
        return self._over_own(self.table) / np.where(seen > 0, seen, 1.0)

    @cached_property
    def most(self) -> np.ndarray:
        """(c,) the largest r of each group; 1 if there is none."""
        most = np.zeros(self.n_groups)
        here = self.groups >= 0
        np.maximum.at(most, self.groups[here], self._company[here])
        return np.where(most > 0, most, 1.0)

    @cached_property
    def confidence(self) -> np.ndarray:
        """(n,) Eq. (10), in [0, 1]: the ``confidence_`` of every consensus method. O(n m + k c) time."""
        return _confidence(self.purity, self.typicality)

    def confidence_of(
        self, rows: np.ndarray | Memberships, groups: np.ndarray, *, n_jobs: int | None = -1
    ) -> np.ndarray:
        """(b,) Eq. (10) of any rows of codes (b, m) or memberships, assumed to be in these groups (b,).

        It is 0 for group -1.
        """
        incidence = self._incidence(rows)
        typicality = self.company_of(rows, groups, n_jobs=n_jobs) / self.most[groups]
        sights = incidence.sights(np.ones(self.ensemble.n_clusterings))
        purity = incidence.gather_own(self._purities, groups, n_jobs=n_jobs) / np.where(
            sights > 0, sights, 1.0
        )
        return _confidence(purity, typicality)

    def company_of(
        self, rows: np.ndarray | Memberships, groups: np.ndarray, *, n_jobs: int | None = -1
    ) -> np.ndarray:
        """(b,) r of Eq. (9) of any rows of codes or memberships, assumed to be in these groups (b,)."""
        own = self._incidence(rows)
        seen = own.gather_own(self._seen_by_owner, groups, n_jobs=n_jobs)
        return own.gather_own(self.table, groups, n_jobs=n_jobs) / np.where(seen > 0, seen, 1.0)

    @cached_property
    def sample_stability(self) -> np.ndarray:
        """(n,) Eq. (5); NaN for an object that was never seen with another of its group, or has none."""
        own = np.minimum(self.weights, 1.0 / self.unit)
        together, seen = self._over_own(self.table), self._over_own(self._seen_by_owner)
        together_itself, seen_itself = self._meetings()
        return _ratio(together - own * together_itself, seen - own * seen_itself, seen)

    def _over_own(self, values: np.ndarray) -> np.ndarray:
        """(n,) sum of values (k, c) over an object's clusters, in the column of its group."""
        return incidence_of(self.ensemble).gather_own(values, self.groups, rows=self.rows)

    def _over_clusters(self, values: np.ndarray) -> np.ndarray:
        """(n,) sum of values (k,) over an object's clusters."""
        sums = incidence_of(self.ensemble).gather(values[:, None])[:, 0]
        return sums if self.rows is None else sums[self.rows]

    def _sights(self) -> np.ndarray:
        """(n,) number of the clusterings that saw each object, by the share they place."""
        sums = incidence_of(self.ensemble).sights(np.ones(self.ensemble.n_clusterings))
        return sums if self.rows is None else sums[self.rows]

    def _meetings(self, clustering_weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(n,), (n,): what the pair of each object with itself adds to "together" and to "seen by both"."""
        each = np.broadcast_to(
            1.0 if clustering_weights is None else clustering_weights, self.ensemble.n_clusterings
        )
        together, seen = incidence_of(self.ensemble).meetings(each)
        return (together, seen) if self.rows is None else (together[self.rows], seen[self.rows])

    # Groups ------------------------------------------------------------------------------------------------

    @cached_property
    def between(self) -> np.ndarray:
        """(c, c) mean co-association between groups, Eq. (6); NaN where no pair was seen."""
        return self.mean_coassociation()

    def mean_coassociation(self, clustering_weights: np.ndarray | None = None) -> np.ndarray:
        """Eq. (6) with weights (m,) of the clusterings. O(n m + k c^2) time, O((k + c) c) memory."""
        T, N, c = self.table, self.seen, self.n_groups
        ensure_fits(16.0 * c * c, what=f"A table of {c} by {c} groups", remedy="use fewer groups")
        together, seen = T.T, N.T
        if clustering_weights is not None:
            together = together * np.repeat(clustering_weights, self.ensemble.n_clusters_per_clustering)
            seen = seen * clustering_weights
        together, seen = together @ T, seen @ N
        together_itself, seen_itself = self._itself(clustering_weights)
        means = _ratio(together - np.diag(together_itself), seen - np.diag(seen_itself), seen)
        return (means + means.T) / 2  # a product with weights is symmetric up to rounding only

    @cached_property
    def stability(self) -> np.ndarray:
        """(c,) Eq. (7), only the diagonal of :attr:`between`, for any number of groups.

        NaN where no pair was seen.
        """
        together_itself, seen_itself = self._itself()
        seen = (self.seen**2).sum(axis=0)
        return _ratio((self.table**2).sum(axis=0) - together_itself, seen - seen_itself, seen)

    def _itself(self, clustering_weights: np.ndarray | None = None) -> list[np.ndarray]:
        """(c,), (c,): what pairs of objects with themselves add to the diagonal of Eq. (6).

        The first is for the numerator, the second for the denominator.
        """
        here = self.groups >= 0
        loops = self.weights * np.minimum(self.weights, 1.0 / self.unit)
        return [
            np.bincount(self.groups[here], (loops * pairs)[here], minlength=self.n_groups)
            for pairs in self._meetings(clustering_weights)
        ]


def _confidence(purity: np.ndarray, typicality: np.ndarray) -> np.ndarray:
    """Eq. (10). Sums of shares round, so that it could lie above 1."""
    return np.minimum(np.sqrt(purity * typicality), 1.0)


def _ratio(above: np.ndarray, below: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """above / below in [0, 1]; NaN where nothing is left in the denominator.

    The denominator is what is left of ``whole`` after something was subtracted.
    """
    some = below > _NOTHING * whole
    return np.where(some, np.clip(above / np.where(some, below, 1.0), 0.0, 1.0), np.nan)


# An answer beside a plain one ------------------------------------------------------------------------------


class Agreement(NamedTuple):
    """Mean NMI of the base clusterings with a consensus, and with a plain one of the same objects.

    A consensus far below the plain one contradicts its base clusterings.
    """

    consensus: float
    baseline: float

    @property
    def contradicted(self) -> bool:
        return self.consensus < _FAR_LESS * self.baseline and self.baseline - self.consensus > _BY_CHANCE


def mean_of_known(values: np.ndarray) -> float:
    """The mean of the values that are not NaN; 0 if there are none."""
    return float(np.nanmean(values)) if np.isfinite(values).any() else 0.0


def sizes_of(labels: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(c,) total weight of the objects in each cluster."""
    return whole(np.bincount(labels, weights))


def whole(sizes: np.ndarray) -> np.ndarray:
    """Sizes as whole numbers, if all of them are."""
    exact = bool((sizes == np.rint(sizes)).all()) and sizes.max() < 2**53
    return sizes.astype(np.int64) if exact else sizes


def agreement_beside_baseline(
    ensemble: Ensemble | SoftEnsemble, groups: np.ndarray, *, n_jobs: int | None = -1
) -> Agreement:
    """How the clusterings agree with groups (u,), and with average linkage of as many groups.

    Groups are of distinct objects. Up to 500 of them are linked. If there are more, 500 are drawn by weight,
    and both partitions are judged by them: O(500^2 m) time at most, whatever the number of objects.
    """
    rows, weights = drawn_by_weight(ensemble.sample_weight, _SAMPLE)
    part = ensemble if rows is None else ensemble.take(rows)
    _, groups = np.unique(groups if rows is None else groups[rows], return_inverse=True)
    c = int(groups.max()) + 1
    A = part.coassociation(n_jobs=n_jobs)
    left, right, _ = merge_tree_inplace(np.subtract(1.0, A, out=A), weights, "average")
    _, plain = np.unique(cut_tree(left, right, c), return_inverse=True)
    found = (
        np.nanmean(Evidence(part, labels.reshape(-1), c, weights=weights).agreement())
        for labels in (groups, plain)
    )
    return Agreement(*map(float, found))


def place_others(
    ensemble: Any,
    rows: np.ndarray,
    weights: np.ndarray,
    groups: np.ndarray,
    cluster_weights: np.ndarray,
    *,
    n_jobs: int | None = -1,
) -> np.ndarray:
    """(u,) groups of all objects from those of a sample, which keep theirs.

    The others join the group that they are most often together with, by base clusters of these weights.
    """
    known, own = np.full(ensemble.n_samples, -1), np.zeros(ensemble.n_samples)
    known[rows], own[rows] = groups, weights
    placed = Evidence(ensemble, known, weights=own).closest_groups(cluster_weights, n_jobs=n_jobs)
    placed[rows] = groups
    return placed


def drawn_by_weight(weights: np.ndarray, most: int) -> tuple[np.ndarray | None, np.ndarray]:
    """(rows, weights) of at most ``most`` objects, the same every time; None for all, unchanged.

    One ticket is drawn in each of ``most`` equal shares of the total weight: an object heavier than a share
    is always among them, and its weight is the number of its tickets.
    """
    if weights.size <= most:
        return None, weights
    ends = np.cumsum(weights)
    tickets = (np.arange(most) + np.random.default_rng(most).random(most)) * (ends[-1] / most)
    drawn = np.minimum(np.searchsorted(ends, tickets, side="right"), weights.size - 1)
    rows, counts = np.unique(drawn, return_counts=True)
    return rows, counts.astype(float)


# Trust in the clusterings ----------------------------------------------------------------------------------


def trust_by_reliability(ensemble: Ensemble | SoftEnsemble, reliability: np.ndarray) -> np.ndarray:
    """(m,) trust in every clustering, adding up to 1, from the reliability (k,) of all clusters.

    It is the mean reliability of the clusters by their weight: that of the cluster a random object is in.
    """
    sizes, starts = ensemble.cluster_sizes(), ensemble.offsets[:-1]
    return share_out(np.add.reduceat(sizes * reliability, starts) / np.add.reduceat(sizes, starts))


def share_out(trust: np.ndarray) -> np.ndarray:
    """Trust on any scale as shares that add up to 1."""
    return trust / trust.sum()
