"""Soft clusterings: every object is in every cluster to some share.

P_i (n, k_i) holds the memberships of clustering i and s_ip the sum of row p: 1 where the clustering places
the object fully, less where a part is unknown, 0 where it did not see the object.

    A_pq = sum_i P_ip P_iq' / sum_i s_ip s_iq,   A_pp = 1                                               (1)

This is the co-association of hard clusterings drawn from the memberships, each object by itself, in the limit
of many draws: what is unknown of an object is drawn as a missing label. Where all rows add up to 1 or 0 it is
the mean of P_ip P_iq' over the clusterings that saw both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._base.parameters import Integer, Real, check, check_weights, checked_csr, positions_of
from .._base.rng import make_rng
from .._kernels.labels.distinct import membership_colors, row_hashes
from .._kernels.labels.incidence import Memberships, row_sums, unequal_rows
from .._kernels.runtime.memory import ensure_fits
from .._kernels.runtime.threads import map_blocks
from ..errors import InputError
from .distinct import OfObjects, check_maps, total_weights
from .ensemble import Ensemble
from .named import NamedObjects, given_names, incidence_of
from .soft_intake import WHOLE, take_in, without_empty

_BLOCK_BYTES = 1 << 25  # in one row block of a matrix of pairs
_HASHED = 1 << 14  # rows at a time


class SoftEnsemble(NamedObjects):
    """Several soft clusterings of the same objects.

    Memberships are for instance probabilities, topic shares, fuzzy memberships or ancestry coefficients.

    Parameters
    ----------
    blocks : list, dict by name, list of (name, block) pairs, Ensemble or SoftEnsemble
        One block ``(n_samples, k_i)`` for each clustering, dense, sparse (kept sparse) or a data frame:
        ``predict_proba`` of a mixture, topics of documents, membership vectors of HDBSCAN, Q matrices.
        Entries are not negative, and rows add up to at most 1:

        =========================  ============================================================
        row                        meaning
        =========================  ============================================================
        adds up to 1               the clustering places the object fully
        adds up to less            the rest is unknown: evidence neither for nor against
        zeros                      the clustering did not see the object
        up to 1.01                 rounding: scaled to 1
        more                       refused
        =========================  ============================================================

        A label vector stands for a block of zeros and ones. A column without any membership is not a cluster,
        and is left out.
    clustering_names, sample_names : sequence, optional
        Names of blocks and rows; taken from a data frame if it has them.
    sample_weight : array (n_samples,), optional
        Positive weights; an object of weight 3 counts as three equal objects.

    Attributes
    ----------
    n_clusters_per_clustering : array (n_clusterings,)
        Clusters of each clustering that hold anything; ``columns[i]`` are their columns in the block given,
        of ``widths[i]``.
    offsets : array (n_clusterings + 1,)
        Cluster ``j`` of clustering ``i`` has the global number ``offsets[i] + j``.

    Notes
    -----
    :class:`~consilience.consensus.LWGP`, :class:`~consilience.consensus.CoassociationKMeans`,
    :class:`~consilience.consensus.EvidenceAccumulation`, :class:`~consilience.SCCABG`
    and :class:`~consilience.consensus.SoftVote` take it directly; :meth:`draw`
    makes hard clusterings for all others. If every membership is 0 or 1, it is a hard ensemble, and every
    method takes it as one. It takes 12 bytes for each entry that is not 0.

    Examples
    --------
    >>> import consilience as cs
    >>> soft = cs.SoftEnsemble([[[0.9, 0.1], [0.8, 0.2], [0, 1]], [[1, 0], [0.6, 0], [0, 1]]])
    >>> soft
    SoftEnsemble: 3 objects, 2 soft clusterings (2 to 2 clusters, 4 in all), 6.67% of memberships unknown
    >>> soft.coassociation()[0].round(3).tolist()
    [1.0, 0.838, 0.05]
    >>> cs.consensus.LWGP(n_clusters=2, random_state=0).fit_predict(soft).tolist()
    [0, 0, 1]
    """

    _remedy_for_pairs = "use distinct() first, or coassociation_blocks()"

    def __init__(
        self,
        blocks: Any,
        *,
        clustering_names: Sequence[Any] | None = None,
        sample_names: Sequence[Any] | None = None,
        sample_weight: Any = None,
    ):
        if isinstance(blocks, SoftEnsemble):
            given: tuple = (blocks._Y, blocks.offsets, blocks.columns, blocks.widths, blocks._names)
            given += (blocks._sample_names, blocks._weights)
        elif isinstance(blocks, Ensemble):
            columns = [np.arange(k) for k in blocks.n_clusters_per_clustering]
            names = given_names(blocks)
            weights = None if (blocks.sample_weight == 1).all() else np.array(blocks.sample_weight)
            given = (
                blocks.indicator(),
                blocks.offsets,
                columns,
                blocks.n_clusters_per_clustering,
                names,
                blocks.sample_names,
            )
            given += (weights,)
        else:
            given = (*take_in(blocks), None)
        self._set(*given)
        self._name_clusterings(clustering_names)
        self._name_objects(sample_names, sample_weight)

    offsets: np.ndarray
    columns: list[np.ndarray]
    widths: np.ndarray
    _Y: Any  # (n, k) CSR
    _compressed: SoftCompressed | None = None

    def _set(self, Y, offsets, columns, widths, names, sample_names, weights) -> None:
        Y.data.setflags(write=False)
        self._Y, self.offsets, self.columns, self.widths = Y, offsets, columns, widths
        self._names, self._sample_names, self._weights = names, sample_names, weights

    # What it is --------------------------------------------------------------------------------------------

    @property
    def n_samples(self) -> int:
        """Number of objects."""
        return self._Y.shape[0]

    @property
    def n_clusterings(self) -> int:
        """Number of soft clusterings, m."""
        return self.offsets.size - 1

    @property
    def n_clusters_per_clustering(self) -> np.ndarray:
        """(m,) number of clusters in each clustering."""
        return np.diff(self.offsets)

    @cached_property
    def masses(self) -> np.ndarray:
        """(n, m) s: the share of every object that each clustering places; 8 n m bytes."""
        return incidence_of(self).masses()

    @cached_property
    def has_missing(self) -> bool:
        """Whether a clustering did not see some object, or only a part of it."""
        return bool((np.abs(self.masses - 1.0) > WHOLE).any())

    @cached_property
    def is_crisp(self) -> bool:
        """Whether every membership is 0 or 1, as in a hard ensemble."""
        return bool((self._Y.data == 1.0).all())

    @cached_property
    def unseen(self) -> np.ndarray:
        """Indices of objects that no clustering saw."""
        return np.flatnonzero(np.diff(self._Y.indptr) == 0)

    def __repr__(self) -> str:
        n, m, k = self.n_samples, self.n_clusterings, self.n_clusters_per_clustering
        text = (
            f"{type(self).__name__}: {n:,} object{'s' if n > 1 else ''}, {m} soft "
            f"clustering{'s' if m > 1 else ''} "
            f"({k.min()} to {k.max()} clusters, {k.sum()} in all)"
        )
        if self.has_missing:
            text += f", {100 * float(1 - self.masses.mean()):.3g}% of memberships unknown"
        return text + (", weighted" if self._weights is not None else "")

    # Parts -------------------------------------------------------------------------------------------------

    def take(self, rows: Any) -> SoftEnsemble:
        """The ensemble of some objects (indices or a boolean mask); clusters left empty disappear."""
        rows = positions_of(rows, self.n_samples)
        names, weights = self._of_rows(rows)
        part = SoftEnsemble.__new__(SoftEnsemble)
        held = without_empty(self._Y[rows], self.offsets, self.columns)
        part._set(*held, self.widths, self._names, names, weights)
        return part

    def drop_unseen(self) -> SoftEnsemble:
        """Without the objects that no clustering saw (:attr:`unseen` lists them)."""
        if self.unseen.size == self.n_samples:
            raise InputError("No clustering saw any object: nothing is left.")
        return self.take(np.setdiff1d(np.arange(self.n_samples), self.unseen)) if self.unseen.size else self

    # Hard clusterings --------------------------------------------------------------------------------------

    def draw(self, n_draws: int = 10, *, random_state: Any = None) -> Ensemble:
        """A hard ensemble of ``n_draws`` clusterings, drawn by the memberships, for each soft one.

        The unknown part of an object is the probability of a missing label. The co-association of the draws
        is on average that of Eq. (1), and approaches it with many draws: its standard error is at most 0.5 /
        sqrt(m n_draws). O(entries n_draws) time, 4 n m n_draws bytes.
        """
        check("n_draws", n_draws, Integer(1))
        rng = make_rng(random_state)
        n, m = self.shape
        ensure_fits(
            8.0 * n * m * n_draws,
            what=f"{n_draws} draws of {m} clusterings of {n} objects",
            remedy="draw fewer",
        )
        vectors, columns = [], sp.csc_array(self._Y)
        names = [f"{name}, draw {t + 1}" for name in self.clustering_names for t in range(n_draws)]
        for i, (first, last) in enumerate(pairwise(self.offsets)):
            block = sp.csr_array(columns[:, first:last])
            numbers = np.append(self.columns[i], -1)
            vectors += [numbers[_draw(block, rng.random(n))] for _ in range(n_draws)]
        return _hard(vectors, names, self)

    def harden(self, threshold: float = 0.0) -> Ensemble:
        """A hard ensemble: every object joins the cluster of its largest membership.

        The label is missing if that membership is below ``threshold``. The result does not show how sure the
        memberships are; :meth:`draw` does.
        """
        check("threshold", threshold, Real(0, 1))
        vectors, columns = [], sp.csc_array(self._Y)
        for i, (first, last) in enumerate(pairwise(self.offsets)):
            block = sp.csr_array(columns[:, first:last])
            most = np.asarray(block.max(axis=1).todense()).ravel()
            seen = (np.diff(block.indptr) > 0) & (most >= threshold)
            numbers = np.append(self.columns[i], -1)
            vectors.append(numbers[np.where(seen, np.asarray(block.argmax(axis=1)).ravel(), -1)])
        return _hard(vectors, self._names, self)

    # Derived matrices --------------------------------------------------------------------------------------

    def _incidence(self) -> Memberships:
        return Memberships(self._Y, self.offsets)

    def indicator(self, dtype: Any = np.float64) -> sp.csr_array:
        """Y (n, k) CSR: the memberships, one block of columns per clustering."""
        return self._Y.astype(dtype)

    def cluster_sizes(self) -> np.ndarray:
        """(k,) total weight of each cluster."""
        return np.asarray(self._Y.T @ self.sample_weight)

    def contingency(self) -> np.ndarray:
        """Y' diag(w) Y (k, k) dense: what every two clusters share, as the mean over drawn ensembles."""
        return incidence_of(self).overlaps(self.sample_weight)

    def contingency_sparse(self) -> sp.csr_array:
        """:meth:`contingency` as CSR."""
        return sp.csr_array(self._Y.T @ (sp.diags_array(self.sample_weight) @ self._Y))

    def coassociation(self, *, n_jobs: int | None = -1) -> np.ndarray:
        """A (n, n) dense, Eq. (1); pairs never seen together are 0.

        O(n^2 m) time, 8 n^2 bytes; refused if that does not fit.
        """
        n = self.n_samples
        ensure_fits(
            8.0 * n * n,
            what=f"A dense {n} x {n} co-association",
            remedy="use distinct() first, or coassociation_blocks()",
        )
        out = np.empty((n, n))

        def rows(a: int, b: int) -> None:
            out[a:b] = self._pairs(a, b)

        map_blocks(rows, n, size=self._block_rows(), n_jobs=n_jobs)
        return out

    def coassociation_blocks(self, *, rows: int | None = None) -> Iterator[tuple[int, int, np.ndarray]]:
        """(start, stop, rows start..stop of A): the matrix by blocks. O(rows n) memory."""
        step = rows or self._block_rows()
        for start in range(0, self.n_samples, step):
            stop = min(start + step, self.n_samples)
            yield start, stop, self._pairs(start, stop)

    def _pairs(self, a: int, b: int) -> np.ndarray:
        """Rows a..b of Eq. (1)."""
        together = (self._Y[a:b] @ self._Y.T).toarray()
        if self.has_missing:
            seen = self.masses[a:b] @ self.masses.T
            together = np.divide(together, seen, out=np.zeros_like(together), where=seen > 0)
        else:
            together /= self.n_clusterings
        together[np.arange(b - a), np.arange(a, b)] = 1.0
        return together

    def _block_rows(self) -> int:
        return max(1, min(self.n_samples, _BLOCK_BYTES // (8 * self.n_samples) or 1))

    # Compression -------------------------------------------------------------------------------------------

    def distinct(self, *, n_jobs: int | None = -1) -> SoftCompressed:
        """The distinct rows of memberships with their total weights.

        ``.inverse`` maps objects to rows. O(entries) time.
        """
        if self._compressed is None:
            rows, inverse = _distinct_rows(self._Y)
            weights = total_weights(self._weights, inverse, rows.size)
            self._compressed = SoftCompressed._of(self, self._Y[rows], rows, inverse, weights)
        return self._compressed

    def __getstate__(self) -> dict:
        return {name: value for name, value in vars(self).items() if name not in ("_compressed", "masses")}


def from_memberships(
    Y: sp.csr_array,
    offsets: np.ndarray,
    columns: list[np.ndarray],
    widths: np.ndarray,
    names: list[str] | None,
    weights: np.ndarray,
) -> SoftEnsemble:
    """A soft ensemble of memberships that already follow the rules."""
    made = SoftEnsemble.__new__(SoftEnsemble)
    made._set(Y, offsets, columns, widths, names, None, weights)
    return made


class SoftCompressed(OfObjects, SoftEnsemble):
    """The distinct rows of a soft ensemble, with weights: what the methods work on.

    It is like :class:`~consilience._data.distinct.Compressed`.
    """

    @classmethod
    def _of(cls, parent: SoftEnsemble, Y, rows, inverse, weights) -> SoftCompressed:
        self = cls.__new__(cls)
        self._set(Y, parent.offsets, parent.columns, parent.widths, parent._names, None, weights)
        return self.standing_for(rows, inverse)

    def with_weights(self, weights: np.ndarray) -> SoftCompressed:
        """The same rows with other weights."""
        return SoftCompressed._of(self, self._Y, self.rows, self.inverse, weights)

    def _to_parts(self) -> dict[str, Any]:
        """Its parts, for files of models; :meth:`_from_parts` makes it again."""
        names = ("offsets", "columns", "widths", "inverse", "rows")
        return {"Y": self._Y, "clustering_names": self._names, "weights": self._weights} | {
            name: getattr(self, name) for name in names
        }

    @classmethod
    def _from_parts(cls, parts: Mapping[str, Any]) -> SoftCompressed:
        """The ensemble of these parts; raises unless they fit together, as compiled code requires."""
        Y, offsets, columns = checked_csr(parts["Y"], "Y"), parts["offsets"], parts["columns"]
        rows, inverse, widths, names = (
            parts[name] for name in ("rows", "inverse", "widths", "clustering_names")
        )
        kept = [len(own) for own in columns]
        fits = (
            offsets.dtype.kind + widths.dtype.kind == "ii"
            and np.array_equal(offsets, np.concatenate([[0], np.cumsum(kept, dtype=np.int64)]))
            and Y.shape == (rows.size, offsets[-1])
            and widths.shape == (len(kept),)
            and all(
                isinstance(own, np.ndarray) and own.ndim == 1 and own.dtype.kind == "i" for own in columns
            )
            and (names is None or (len(names) == len(kept) and all(isinstance(own, str) for own in names)))
            and Y.dtype == np.float64
            and bool(((Y.data > 0) & (Y.data <= 1 + 1e-9)).all())
        )
        if not fits:
            raise InputError(
                f"memberships of shape {Y.shape} in {len(kept)} clusterings do not fit together."
            )
        check_maps(rows, inverse, Y.shape[0])
        self = cls.__new__(cls)
        self._set(Y, offsets, columns, widths, names, None, check_weights(parts["weights"], rows.size))
        return self.standing_for(rows, inverse)

    def canonical(self) -> tuple[SoftCompressed, np.ndarray, np.ndarray, np.ndarray]:
        """The same in an order that depends only on its content, and that order.

        The order is that of rows, of clusterings and of clusters, as for
        :meth:`consilience._data.distinct.Compressed.canonical`.
        """
        colors, cluster_colors, clustering_colors = membership_colors(
            self._Y, self.offsets, self.sample_weight
        )
        row_order = np.argsort(colors, kind="stable")
        column_order = np.argsort(clustering_colors, kind="stable")
        rows = self._Y[row_order]
        # Clusters of one color are mirror images: only their first appearance tells them apart.
        place = np.asarray(rows.T @ np.arange(1.0, row_order.size + 1))
        cluster_order = np.concatenate(
            [
                self.offsets[i] + np.lexsort((place[own], cluster_colors[own]))
                for i in column_order
                for own in [slice(self.offsets[i], self.offsets[i + 1])]
            ]
        )
        Y = sp.csr_array(sp.csc_array(rows)[:, cluster_order])
        Y.sort_indices()
        ordered = SoftCompressed.__new__(SoftCompressed)
        offsets = np.concatenate([[0], np.cumsum(self.n_clusters_per_clustering[column_order])])
        widths = self.n_clusters_per_clustering[column_order]
        ordered._set(
            Y, offsets, [np.arange(w) for w in widths], widths, None, None, self.sample_weight[row_order]
        )
        return self.in_order(ordered, row_order), row_order, column_order, cluster_order


def _draw(block: sp.csr_array, chance: np.ndarray) -> np.ndarray:
    """(n,) the cluster that each row draws by a number in [0, 1); -1 in the part that is unknown."""
    counts = np.diff(block.indptr)
    before = np.cumsum(block.data) - block.data
    start = np.repeat(before[np.minimum(block.indptr[:-1], max(block.nnz - 1, 0))], counts)
    reached = (before - start) <= np.repeat(chance, counts)  # the first entry always is
    position = row_sums(reached.astype(float), block.indptr).astype(np.int64) - 1
    sums = row_sums(block.data, block.indptr)
    known = (counts > 0) & ((chance < sums) | (sums > 1.0 - WHOLE))
    out = np.full(counts.size, -1, np.int64)
    out[known] = block.indices[(block.indptr[:-1] + position)[known]]
    return out


def _hard(vectors: list[np.ndarray], names: Any, soft: SoftEnsemble) -> Ensemble:
    from .labels import Clusterings

    return Ensemble(
        Clusterings(vectors),
        clustering_names=names,
        sample_names=soft._sample_names,
        sample_weight=soft._weights,
    )


def _distinct_rows(Y: sp.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """(first row of each kind, kind of every row), kinds by first appearance; rows are compared exactly."""
    n = Y.shape[0]
    hashes = np.concatenate([row_hashes(Y[a : a + _HASHED]) for a in range(0, n, _HASHED)])
    _, first, kind = np.unique(hashes, return_index=True, return_inverse=True)
    first_of = first[kind.reshape(-1)]
    for a in range(
        0, n, _HASHED
    ):  # rows that share a hash but are not equal, if there ever are any, stay single
        alone = a + np.flatnonzero(unequal_rows(Y[a : a + _HASHED], Y[first_of[a : a + _HASHED]]))
        first_of[alone] = alone
    rows, inverse = np.unique(first_of, return_inverse=True)
    return rows, inverse.reshape(-1)
