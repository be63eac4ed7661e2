"""The data model: a label matrix with missing values, and everything derived from it.

Every rule about labels lives here and is checked here once; methods receive an :class:`Ensemble` and do not
check again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._intake import MISSING_WORDS, take_in
from .errors import InputError, OrientationWarning, warn
from .kernels import coassociation as _pairs
from .kernels.contingency import count_pairs
from .kernels.memory import ensure_fits, how_many_fit
from .kernels.parallel import blocks, map_blocks, map_tasks
from .kernels.signatures import canonical_colors, unique_rows
from .naming import check_count, check_unique
from .validation import check_range, check_weights, listed, unit_of

__all__ = ["MISSING_WORDS", "Compressed", "Ensemble"]

_BLOCK_BYTES = 1 << 25  # of one row block of a pairwise matrix
_BOUND_BY = 8  # clusterings; bounding the pattern by them takes a table of every two


class Ensemble:
    """Several clusterings of the same objects.

    Parameters
    ----------
    labels : array, data frame, list, dict or Ensemble
        - array or data frame ``(n_samples, n_clusterings)``: rows are objects, columns are clusterings;
        - list (or dict by name) of label vectors, one per clustering;
        - list of fitted scikit-learn clusterers (their ``labels_``);
        - list of 0/1 indicator blocks ``(n_samples, k_i)``, dense or sparse.

        Labels are categories: integers, strings and floats are names, and renaming them changes nothing.
        ``-1``, NaN, None, masked and empty entries mean "this clustering did not see this object".
    clustering_names, sample_names : sequence, optional
        Names of columns and rows; taken from a data frame when it has them.
    sample_weight : array (n_samples,), optional
        Positive weights; an object of weight 3 counts as three equal objects.
    recipes : list of dict, optional
        How each member was made; generators fill this in.

    Attributes
    ----------
    labels : array (n_samples, n_clusterings)
        Integer codes, 0..k_i - 1 in sorted order of the original values, -1 where missing. Read-only.
    categories : list of arrays
        The original label values: ``categories[i][code]``.
    n_clusters : array (n_clusterings,)
        Number of clusters of each clustering; ``offsets`` are their running sums, so that cluster ``j`` of
        clustering ``i`` has the global number ``offsets[i] + j``.

    Notes
    -----
    An ensemble is immutable; every derived view is a new object. Missing labels: co-association divides by
    how often a pair was seen together; a pair never seen together is stored as 0 and told apart from
    "always apart" by :meth:`cooccurrence_counts`.

    Examples
    --------
    >>> import consilience as cs
    >>> ens = cs.Ensemble([["a", "a", "b", "b"], [0, 0, 1, None]])
    >>> ens
    Ensemble: 4 objects, 2 clusterings (2 to 2 clusters, 4 in all), 12.5% of labels missing
    >>> ens.coassociation()[0].tolist()
    [1.0, 1.0, 0.0, 0.0]
    """

    def __init__(
        self,
        labels: Any,
        *,
        clustering_names: Sequence[Any] | None = None,
        sample_names: Sequence[Any] | None = None,
        sample_weight: Any = None,
        recipes: Sequence[dict] | None = None,
    ):
        if isinstance(labels, Ensemble):
            self._share(labels)
        else:
            intake = take_in(labels)
            if intake.labels.shape[0] == 0:
                raise InputError(
                    f"labels has shape {intake.labels.shape}: no objects. Give at least one row."
                )
            self._set(
                intake.labels, intake.categories, intake.clustering_names, intake.sample_names, None, None
            )
            self._check_columns()
            if intake.is_matrix:
                self._check_orientation()
        if clustering_names is not None:
            names = check_count(clustering_names, self.n_clusterings, "clustering_names", "clusterings")
            self._names = [str(name) for name in names]
        if sample_names is not None:
            self._sample_names = check_count(sample_names, self.n_samples, "sample_names", "objects")
        check_unique(self._sample_names, "sample name", "rename the rows or drop the copies")
        if sample_weight is not None:
            self._weights = check_weights(sample_weight, self.n_samples)
        if recipes is not None:
            self._recipes = _recipes(recipes, self.n_clusterings)

    _labels: np.ndarray
    _categories: list[np.ndarray]
    _names: list[str] | None
    _sample_names: list[Any] | None
    _weights: np.ndarray | None
    _recipes: list[dict] | None
    _compressed: Compressed | None = None

    # Construction ------------------------------------------------------------------------------------------

    def _set(self, labels, categories, names, sample_names, weights, recipes) -> None:
        labels.setflags(write=False)
        self._labels, self._categories = labels, categories
        self._names, self._sample_names = names, sample_names
        self._weights, self._recipes = weights, recipes

    def _share(self, other: Ensemble) -> None:
        self._set(
            other._labels,
            other._categories,
            other._names,
            other._sample_names,
            other._weights,
            other._recipes,
        )

    @classmethod
    def _from_codes(cls, labels, categories, names=None, sample_names=None, weights=None, recipes=None):
        """From codes that already follow the rules (or clusters emptied by a subset, which are renumbered)."""
        self = cls.__new__(cls)
        self._set(np.ascontiguousarray(labels), categories, names, sample_names, weights, recipes)
        return self

    def _check_columns(self) -> None:
        empty = np.flatnonzero(self.n_clusters == 0)
        if empty.size:
            shown = listed(repr(self.clustering_names[i]) for i in empty)
            raise InputError(
                f"Clustering {shown} (column {listed(empty)}) has no labels at all: every entry is missing. Drop it."
            )

    def _check_orientation(self) -> None:
        """Many more columns than rows, and columns that look like anything but clusterings: say so."""
        n, m = self._labels.shape
        if m < 3 * n:
            return
        hint = (
            f"labels has shape ({n}, {m}): rows are objects, columns are clusterings, so this says {m} clusterings of "
            f"{n} objects. Pass labels.T if you have {n} clusterings of {m} objects"
        )
        if m >= 10 * n and n > 2 and self.n_clusters.mean() > 0.3 * n:
            raise InputError(
                f"{hint}; if there really are {n} objects, pass the clusterings as a list: list(labels.T)."
            )
        warn(hint + ".", OrientationWarning, stacklevel=4)

    @classmethod
    def concatenate(cls, ensembles: Sequence[Any]) -> Ensemble:
        """One ensemble of all clusterings of several ensembles of the same objects.

        Sample names and weights must agree where given.
        """
        parts = [e if isinstance(e, Ensemble) else cls(e) for e in ensembles]
        if not parts:
            raise InputError("concatenate got an empty list: give at least one ensemble.")
        lengths = [part.n_samples for part in parts]
        if len(set(lengths)) > 1:
            raise InputError(
                f"Ensembles have different numbers of objects: {listed(lengths)}. They must label the same ones."
            )
        named = [part for part in parts if part._sample_names is not None]
        if any(part._sample_names != named[0]._sample_names for part in named):
            raise InputError("Ensembles have different sample names: put their rows in the same order first.")
        weighted = [part for part in parts if part._weights is not None]
        if any(not np.array_equal(part.weights, weighted[0].weights) for part in parts if weighted):
            raise InputError(
                "Ensembles have different sample weights: give the weights once, to the concatenated ensemble."
            )
        names = None
        if any(part._names is not None for part in parts):
            names = [name for part in parts for name in part.clustering_names]
            if len(set(names)) < len(names):
                names = [f"{i}:{name}" for i, part in enumerate(parts) for name in part.clustering_names]
        recipes = None
        if any(part._recipes is not None for part in parts):
            recipes = [recipe for part in parts for recipe in part._recipes or [{}] * part.n_clusterings]
        return cls._from_codes(
            np.concatenate([part.labels for part in parts], axis=1),
            [c for part in parts for c in part._categories],
            names,
            named[0]._sample_names if named else None,
            weighted[0]._weights if weighted else None,
            recipes,
        )

    # What it is --------------------------------------------------------------------------------------------

    @property
    def labels(self) -> np.ndarray:
        """(n_samples, n_clusterings) integer codes, -1 missing; read-only."""
        return self._labels

    @property
    def n_samples(self) -> int:
        """Number of objects."""
        return self._labels.shape[0]

    @property
    def n_clusterings(self) -> int:
        """Number of base clusterings, m."""
        return self._labels.shape[1]

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_clusterings)."""
        return self.n_samples, self.n_clusterings

    def __len__(self) -> int:
        return self.n_samples

    @cached_property
    def n_clusters(self) -> np.ndarray:
        """(m,) number of clusters in each clustering."""
        return np.array([len(c) for c in self._categories], np.int64)

    @property
    def n_total_clusters(self) -> int:
        """k, the number of clusters of all clusterings together."""
        return int(self.n_clusters.sum())

    @cached_property
    def offsets(self) -> np.ndarray:
        """(m + 1,) global number of the first cluster of each clustering."""
        return np.concatenate([[0], np.cumsum(self.n_clusters)])

    @property
    def categories(self) -> list[np.ndarray]:
        """Original label values of each clustering, by code."""
        return list(self._categories)

    @property
    def clustering_names(self) -> list[str]:
        """Column names; 'clustering 0', ... where none were given."""
        if self._names is not None:
            return list(self._names)
        return [f"clustering {i}" for i in range(self.n_clusterings)]

    @property
    def sample_names(self) -> list[Any] | None:
        """Row names, or None."""
        return None if self._sample_names is None else list(self._sample_names)

    @property
    def recipes(self) -> list[dict] | None:
        """How each member was made, or None."""
        return None if self._recipes is None else [dict(recipe) for recipe in self._recipes]

    @cached_property
    def weights(self) -> np.ndarray:
        """(n_samples,) weights; ones unless given. Read-only."""
        weights = np.ones(self.n_samples) if self._weights is None else self._weights
        weights.setflags(write=False)
        return weights

    @cached_property
    def has_missing(self) -> bool:
        """Whether any label is missing."""
        found = map_blocks(lambda a, b: bool((self._labels[a:b] < 0).any()), self.n_samples, size=1 << 18)
        return any(found)

    @cached_property
    def unseen(self) -> np.ndarray:
        """Indices of objects that no clustering saw."""
        if not self.has_missing:
            return np.empty(0, np.int64)
        return np.flatnonzero((self._labels < 0).all(axis=1))

    def original_labels(self, clustering: int) -> np.ndarray:
        """The labels of one clustering as they were given; missing entries are None (object array)."""
        out = np.full(self.n_samples, None, object)
        seen = self._labels[:, clustering] >= 0
        out[seen] = self._categories[clustering][self._labels[seen, clustering]]
        return out

    def __repr__(self) -> str:
        k = self.n_clusters
        text = (
            f"{type(self).__name__}: {_count(self.n_samples, 'object')}, {_count(self.n_clusterings, 'clustering')} "
            f"({k.min()} to {k.max()} clusters, {k.sum()} in all)"
        )
        if self.has_missing:
            text += f", {100 * float((self._labels < 0).mean()):.3g}% of labels missing"
        return text + (", weighted" if self._weights is not None else "")

    def _repr_html_(self) -> str:
        """A small table for notebooks: one row per clustering, at most twelve."""
        sizes = self.cluster_sizes()
        rows = []
        for i in range(min(self.n_clusterings, 12)):
            own = sizes[self.offsets[i] : self.offsets[i + 1]]
            seen = 100 * float((self._labels[:, i] >= 0).mean())
            cells = (
                self.clustering_names[i],
                len(own),
                f"{own.max():g}" if own.size else "-",
                f"{own.min():g}" if own.size else "-",
                f"{seen:.4g}%",
            )
            rows.append("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>")
        if self.n_clusterings > 12:
            rows.append(f"<tr><td colspan='5'>... {self.n_clusterings - 12} more</td></tr>")
        head = "".join(
            f"<th>{h}</th>" for h in ("clustering", "clusters", "largest", "smallest", "objects seen")
        )
        return f"<p>{escape(repr(self))}</p><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ensemble):
            return NotImplemented
        return (
            np.array_equal(self._labels, other._labels)
            and np.array_equal(self.weights, other.weights)
            and all(np.array_equal(a, b) for a, b in zip(self._categories, other._categories))
            and self.clustering_names == other.clustering_names
            and self._sample_names == other._sample_names
        )

    __hash__ = None  # type: ignore[assignment]

    # Parts -------------------------------------------------------------------------------------------------

    def take(self, rows: Any) -> Ensemble:
        """The ensemble of some objects (indices or a boolean mask); clusters left empty disappear."""
        rows = _row_index(rows, self.n_samples)
        return self._subset(self._labels[rows], rows)

    def _subset(self, labels: np.ndarray, rows: np.ndarray) -> Ensemble:
        labels = labels.copy() if not labels.flags.owndata else labels
        categories = []
        for i in range(self.n_clusterings):
            column = labels[:, i]
            present = np.zeros(len(self._categories[i]), bool)
            present[column[column >= 0]] = True
            if not present.all():
                numbers = np.append(np.cumsum(present) - 1, -1).astype(labels.dtype)
                labels[:, i] = numbers[column]
            categories.append(self._categories[i][present])
        names = None if self._sample_names is None else [self._sample_names[r] for r in rows]
        weights = None if self._weights is None else self._weights[rows]
        return Ensemble._from_codes(labels, categories, self._names, names, weights, self._recipes)

    def select(self, clusterings: Any) -> Ensemble:
        """The ensemble of some clusterings, by position, boolean mask or name."""
        picked = np.atleast_1d(np.asarray(clusterings, dtype=object if _has_text(clusterings) else None))
        if picked.dtype == object:
            lookup = {name: i for i, name in enumerate(self.clustering_names)}
            unknown = [name for name in picked if name not in lookup]
            if unknown:
                raise InputError(
                    f"No clustering is called {listed(map(repr, unknown))}; names are {listed(lookup)}."
                )
            picked = np.array([lookup[name] for name in picked])
        columns = _row_index(picked, self.n_clusterings, "clusterings")
        if columns.size == 0:
            raise InputError("No clusterings were selected: an ensemble needs at least one.")
        return Ensemble._from_codes(
            self._labels[:, columns],
            [self._categories[i] for i in columns],
            None if self._names is None else [self._names[i] for i in columns],
            self._sample_names,
            self._weights,
            None if self._recipes is None else [self._recipes[i] for i in columns],
        )

    def drop_unseen(self) -> Ensemble:
        """Without the objects that no clustering saw (:attr:`unseen` lists them)."""
        if self.unseen.size == 0:
            return self
        if self.unseen.size == self.n_samples:
            raise InputError("No clustering saw any object: nothing is left.")
        return self.take(np.setdiff1d(np.arange(self.n_samples), self.unseen))

    def with_weights(self, sample_weight: Any) -> Ensemble:
        """The same clusterings with other object weights."""
        return Ensemble(self, sample_weight=sample_weight)

    # Derived matrices --------------------------------------------------------------------------------------

    def global_labels(self) -> np.ndarray:
        """(n, m) int32 cluster numbers that run through all clusterings; -1 missing."""
        shifted = self._labels + self.offsets[:-1].astype(np.int32)
        if self.has_missing:
            shifted[self._labels < 0] = -1
        return shifted

    def indicator(self, dtype: Any = np.float64) -> sp.csr_array:
        """Y (n, k) CSR 0/1: one block of columns per clustering; a missing label is an empty block. n m entries."""
        codes = self.global_labels()
        seen = codes >= 0
        indptr = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
        indices = codes[seen] if self.has_missing else codes.ravel()
        shape = (self.n_samples, self.n_total_clusters)
        return sp.csr_array((np.ones(indices.size, dtype), indices, indptr), shape=shape)

    def cluster_sizes(self) -> np.ndarray:
        """(k,) total weight of each cluster."""
        sizes = []
        for i, k in enumerate(self.n_clusters):
            column = self._labels[:, i]
            seen = column >= 0
            weights = None if self._weights is None else self._weights[seen]
            sizes.append(np.bincount(column[seen], weights=weights, minlength=k).astype(float))
        return np.concatenate(sizes)

    def contingency(self, *, sparse: bool = False) -> Any:
        """Y' diag(w) Y (k, k): the weight of objects in every two clusters. O(n m^2) time, k^2 memory if dense.

        Missing labels count nowhere. ``sparse=True`` is an alias of :meth:`contingency_sparse`.
        """
        table = self.contingency_sparse()
        if sparse:
            return table
        k = self.n_total_clusters
        ensure_fits(8.0 * k * k, what=f"A dense {k} x {k} contingency", remedy="use contingency_sparse()")
        return table.toarray()

    def contingency_sparse(self) -> sp.csr_array:
        """:meth:`contingency` as CSR: only clusters that share an object are stored."""
        Y = self.indicator()
        scaled = Y if self._weights is None else sp.diags_array(self.weights) @ Y
        Y = sp.csc_array(Y)
        parts: list[sp.csr_array] = []
        stored = 0
        for i, own in enumerate(
            self.n_clusters
        ):  # by clustering, because how much is stored is known only afterwards
            most = min(int(own) * self.n_total_clusters, self.n_samples * self.n_clusterings)
            ensure_fits(
                12.0 * (stored + 2 * most),
                what=f"A sparse contingency of {self.n_total_clusters} clusters",
                remedy="select() fewer or coarser clusterings",
            )
            parts.append(sp.csr_array(Y[:, self.offsets[i] : self.offsets[i + 1]].T @ scaled))
            stored += parts[-1].nnz
        return sp.csr_array(sp.vstack(parts, format="csr"))

    def coassociation(
        self, *, clustering_weights: Any = None, cluster_weights: Any = None, n_jobs: int | None = None
    ) -> np.ndarray:
        """A (n, n) dense: the share of clusterings that put two objects together, of those that saw both.

        ``clustering_weights`` (m,) weigh the clusterings in numerator and denominator, ``cluster_weights``
        (k,) the clusters in the numerator only. Never-seen pairs are 0. O(n^2 m) time, 8 n^2 bytes; refused
        before allocating if that does not fit.
        """
        n = self.n_samples
        ensure_fits(
            8.0 * n * n,
            what=f"A dense {n} x {n} co-association",
            remedy="use compress() first, coassociation_sparse(), or coassociation_blocks()",
        )
        out = np.empty((n, n))
        arguments = self._pair_arguments(clustering_weights, cluster_weights)
        map_blocks(
            lambda a, b: _pairs.dense_rows(*arguments, a, b, out[a:b]),
            n,
            size=self._block_rows(),
            n_jobs=n_jobs,
        )
        return out

    def coassociation_blocks(
        self, *, clustering_weights: Any = None, cluster_weights: Any = None, rows: int | None = None
    ) -> Iterator[tuple[int, int, np.ndarray]]:
        """(start, stop, rows start..stop of A): the matrix without holding it. O(rows n) memory."""
        n = self.n_samples
        arguments = self._pair_arguments(clustering_weights, cluster_weights)
        rows = rows or self._block_rows()
        for start in range(0, n, rows):
            stop = min(start + rows, n)
            block = np.empty((stop - start, n))
            _pairs.dense_rows(*arguments, start, stop, block)
            yield start, stop, block

    def coassociation_sparse(
        self, *, clustering_weights: Any = None, cluster_weights: Any = None, n_jobs: int | None = None
    ) -> sp.csr_array:
        """A as CSR on its pattern: only pairs that were together at least once (the diagonal included).

        O(sum of squared cluster sizes) time; 12 bytes a stored pair. Refused before allocating if that does not fit.
        """
        n = self.n_samples
        codes, a, b, any_missing = self._pair_arguments(clustering_weights, cluster_weights)
        first, members = self._members()
        pairs, lengths = self._count_pattern(codes, first, members, enough=how_many_fit(12.0), n_jobs=n_jobs)
        ensure_fits(
            (12.0 if pairs < 2**31 else 20.0) * pairs,  # from there on positions are kept in 8 bytes
            what=f"A sparse co-association of {n} objects with {pairs} pairs{'' if lengths is not None else ' or more'}",
            remedy="use coassociation_blocks()"
            if isinstance(self, Compressed)
            else "use compress() first, or coassociation_blocks()",
        )
        assert lengths is not None, "counting ends early only with more pairs than fit"
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        indices = np.empty(pairs, np.int32)
        data = np.empty(pairs)
        map_blocks(
            lambda s, t: _pairs.fill_rows(
                codes, a, b, any_missing, members, first, s, t, indptr, indices, data
            ),
            n,
            size=self._block_rows(),
            n_jobs=n_jobs,
        )
        return sp.csr_array((data, indices, indptr), shape=(n, n))

    def pattern_size(self, *, enough: float = np.inf, n_jobs: int | None = None) -> int:
        """Number of pairs (p, q), both orders and the diagonal counted, that were together at least once.

        With more than ``enough`` of them counting ends early: the result is then above it, and a lower bound.
        """
        codes = self._pair_arguments(None, None)[0]
        return self._count_pattern(codes, *self._members(), enough=enough, n_jobs=n_jobs)[0]

    def _count_pattern(
        self, codes, first, members, *, enough: float, n_jobs: int | None
    ) -> tuple[int, np.ndarray | None]:
        """(pairs, partners of each object); or (some number above ``enough``, None)."""
        if np.isfinite(enough) and (at_least := self._least_pattern(codes, first, enough)) > enough:
            return int(at_least), None
        n, size = self.n_samples, self._block_rows()
        lengths = np.zeros(n, np.int64)
        pairs = 0
        for start, stop in blocks(n, 64 * size):
            spans = [(start + a, start + b) for a, b in blocks(stop - start, size)]
            map_tasks(
                lambda span: _pairs.count_row_pattern(codes, members, first, *span, lengths),
                spans,
                n_jobs=n_jobs,
            )
            pairs += int(lengths[start:stop].sum())
            if pairs > enough:
                return pairs, None
        return pairs, lengths

    def _least_pattern(self, codes, first, enough: float) -> float:
        """A lower bound on the pairs ever together, from tables of two clusterings; no better than needs be.

            |P_1 u ... u P_t|  >=  sum_i |P_i| - sum_i<j |P_i n P_j|,   P_i the pairs inside clusters of clustering i

        for any t clusterings, of which those with the largest clusters come first: |P_i| is the sum of their squared sizes,
        |P_i n P_j| that of the cells of their table.
        """
        alone = np.add.reduceat(np.diff(first).astype(float) ** 2, self.offsets[:-1])
        order = np.argsort(-alone, kind="stable")
        least = float(alone[order[0]])
        for t in range(1, min(order.size, _BOUND_BY + 1)):
            if least > enough or least + alone[order[t:]].sum() <= enough:
                break
            new = codes[order[t]]
            shared = sum(_pairs_in_both(new, codes[i]) for i in order[:t])
            if shared >= alone[order[t]]:  # says nothing new about others that are as coarse
                break
            least += float(alone[order[t]] - shared)
        return least

    def cooccurrence_counts(self, *, clustering_weights: Any = None) -> np.ndarray:
        """(n, n) dense: by how many clusterings (or what weight of them) both objects were seen; 0 is "no evidence"."""
        n = self.n_samples
        ensure_fits(
            8.0 * n * n,
            what=f"A dense {n} x {n} count of co-observations",
            remedy="use compress() first, or take() the objects of interest",
        )
        codes, a, _, _ = self._pair_arguments(clustering_weights, None)
        out = np.empty((n, n))
        map_blocks(lambda s, t: _pairs.seen_rows(codes, a, s, t, out[s:t]), n, size=self._block_rows())
        return out

    def bipartite(self, *, cluster_weights: Any = None) -> sp.csr_array:
        """Adjacency (n + k, n + k) of the graph between objects and clusters, weighted by cluster if asked."""
        Y = self.indicator()
        if cluster_weights is not None:
            Y = Y @ sp.diags_array(
                _vector(cluster_weights, self.n_total_clusters, "cluster_weights", "clusters")
            )
        return sp.csr_array(sp.block_array([[None, Y], [Y.T, None]]))

    def _pair_arguments(self, clustering_weights: Any, cluster_weights: Any) -> tuple:
        a = _vector(clustering_weights, self.n_clusterings, "clustering_weights", "clusterings")
        b = _vector(cluster_weights, self.n_total_clusters, "cluster_weights", "clusters")
        return np.ascontiguousarray(self.global_labels().T), a, b, self.has_missing

    def _members(self) -> tuple[np.ndarray, np.ndarray]:
        """(first, members): objects of global cluster g are members[first[g]:first[g + 1]], in rising order."""
        Y = self.indicator(np.int8).tocsc()
        return Y.indptr.astype(np.int64), Y.indices

    def _block_rows(self) -> int:
        return max(1, min(self.n_samples, _BLOCK_BYTES // (8 * self.n_samples) or 1))

    # Summaries ---------------------------------------------------------------------------------------------

    def agreement(self) -> np.ndarray:
        """(n,) in [0, 1]: do the clusterings describe the same company for an object?

        The mean, over pairs of clusterings that saw it, of the Jaccard overlap of its two clusters; 1 if it
        was always with the same objects. An object seen at most once has 1. O(n m^2) time, O(n) memory.
        """
        compressed = self.compress()
        labels = np.ascontiguousarray(compressed.labels.T)
        total, pairs = np.zeros(labels.shape[1]), np.zeros(labels.shape[1])
        k = self.n_clusters
        widest = np.sort(k)[-2:].astype(float).prod()
        ensure_fits(
            8.0 * widest,
            what=f"A table of the {' x '.join(map(str, np.sort(k)[-2:]))} clusters of two clusterings",
            remedy="select() coarser clusterings",
        )
        for i in range(self.n_clusterings):
            for j in range(i):
                _pairs.mean_overlap(labels[i], labels[j], compressed.weights, k[i], k[j], total, pairs)
        return compressed.expand(np.where(pairs > 0, total / np.maximum(pairs, 1), 1.0))

    def diversity(self, measure: str = "nmi") -> np.ndarray:
        """(m, m) similarity of the clusterings by ``"nmi"`` (arithmetic) or ``"ari"``, over objects both saw."""
        from .kernels.contingency import pairwise_measure

        compressed = self.compress()
        weights = compressed.weights / unit_of(compressed.weights)
        return pairwise_measure(compressed.labels, self.n_clusters, measure, weights=weights)

    # Compression -------------------------------------------------------------------------------------------

    def compress(self, *, n_jobs: int | None = None) -> Compressed:
        """The distinct rows ("signatures") with their total weights: exact, and usually far fewer than objects.

        Objects with equal rows are indistinguishable to every consensus function, so methods work on these.
        ``.inverse`` maps objects to rows, ``.expand(values)`` copies results back. O(n m) time.
        """
        if self._compressed is None:
            rows, inverse = unique_rows(self._labels, n_jobs=n_jobs)
            weights = np.bincount(inverse, weights=self._weights, minlength=rows.size).astype(float)
            self._compressed = Compressed._of(self, rows, inverse, weights)
        return self._compressed

    def __getstate__(self) -> dict:
        state = self.__dict__.copy()
        state.pop("_compressed", None)
        return state


class Compressed(Ensemble):
    """The distinct rows of an ensemble, with weights: what the methods work on.

    Attributes
    ----------
    weights : array (u,)
        Total weight of the objects with this row.
    inverse : array (n,)
        Row of every original object: ``compressed.labels[compressed.inverse]`` are the original labels.
    rows : array (u,)
        The first original object with each row.
    """

    inverse: np.ndarray
    rows: np.ndarray

    @classmethod
    def _of(cls, parent: Ensemble, rows: np.ndarray, inverse: np.ndarray, weights: np.ndarray) -> Compressed:
        self = cls._from_codes(
            parent._labels[rows], parent._categories, parent._names, None, weights, parent._recipes
        )
        inverse.setflags(write=False)
        self.rows, self.inverse = rows, inverse
        return self

    def compress(self, *, n_jobs: int | None = None) -> Compressed:
        """Itself: rows are distinct already."""
        return self

    def with_weights(self, weights: np.ndarray) -> Compressed:
        """The same rows with other weights."""
        other = Compressed._from_codes(
            self._labels, self._categories, self._names, None, weights, self._recipes
        )
        other.rows, other.inverse = self.rows, self.inverse
        return other

    def expand(self, values: Any) -> Any:
        """Values per distinct row (array or sparse rows) copied to the original objects."""
        return values[self.inverse]

    def canonical(self) -> tuple[Compressed, np.ndarray, np.ndarray, np.ndarray]:
        """The same ensemble in an order of rows, columns and cluster numbers that depends on its content only.

        Returns (ensemble, row_order, column_order, cluster_order): row ``i`` of the result is row
        ``row_order[i]`` of this one, and so on; cluster_order is about global cluster numbers. Whoever works
        on the result gets the same answer however objects, clusterings or labels were ordered or named,
        except among objects that are mirror images of each other.
        """
        colors, clustering_colors = canonical_colors(self.global_labels(), self.offsets, self.weights)
        row_order = np.argsort(colors, kind="stable")
        column_order = np.argsort(clustering_colors, kind="stable")
        labels = self._labels[row_order][:, column_order]
        cluster_order = []
        for position, i in enumerate(column_order):
            column = labels[:, position]
            present, first = np.unique(column, return_index=True)
            old = present[np.argsort(first)]  # by first appearance in the new order of rows
            old = old[old >= 0]
            numbers = np.empty(len(self._categories[i]) + 1, labels.dtype)
            numbers[old] = np.arange(old.size)
            numbers[-1] = -1
            labels[:, position] = numbers[column]
            cluster_order.append(self.offsets[i] + old)
        ordered = Compressed._from_codes(
            labels,
            [np.arange(len(self._categories[i])) for i in column_order],
            None,
            None,
            self.weights[row_order],
            None,
        )
        inverse_order = np.empty(row_order.size, np.int64)
        inverse_order[row_order] = np.arange(row_order.size)
        ordered.rows, ordered.inverse = self.rows[row_order], inverse_order[self.inverse]
        return ordered, row_order, column_order, np.concatenate(cluster_order)


# Small rules -----------------------------------------------------------------------------------------------


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _recipes(recipes: Any, m: int) -> list[dict]:
    if not isinstance(recipes, Sequence) or not all(isinstance(recipe, Mapping) for recipe in recipes):
        raise InputError(
            f"recipes={recipes!r:.80} is not valid: expected a list of {m} dictionaries, one per clustering."
        )
    if len(recipes) != m:
        raise InputError(f"recipes has {len(recipes)} entries for {m} clusterings.")
    return [dict(recipe) for recipe in recipes]


def _pairs_in_both(a: np.ndarray, b: np.ndarray) -> float:
    """Pairs (both orders and an object with itself) that two clusterings both put together; -1 is missing."""
    cells = count_pairs(a, b)
    seen = (cells.row_values[cells.rows] >= 0) & (cells.column_values[cells.columns] >= 0)
    return float((cells.counts[seen].astype(float) ** 2).sum())


def _vector(values: Any, expected: int, argument: str, things: str) -> np.ndarray:
    if values is None:
        return np.ones(expected)
    try:
        vector = np.asarray(values, float)
    except (TypeError, ValueError):
        raise InputError(f"{argument} must be numbers, one for each of the {expected} {things}.") from None
    if vector.shape != (expected,):
        raise InputError(f"{argument} has shape {vector.shape} for {expected} {things}; give one value each.")
    bad = ~(np.isfinite(vector) & (vector >= 0))
    if bad.any():
        first = int(np.argmax(bad))
        raise InputError(
            f"{argument}[{first}]={vector[first]:g} is not a weight: give finite numbers of at least 0."
        )
    if argument == "clustering_weights":
        if not vector.any():
            raise InputError(
                "clustering_weights are 0 for every clustering, so that nothing is left to count. Give at least one that is not."
            )
        check_range(vector, argument)
    return vector


def _has_text(values: Any) -> bool:
    if isinstance(values, str):
        return True
    return isinstance(values, (list, tuple)) and any(isinstance(v, str) for v in values)


def _row_index(rows: Any, n: int, things: str = "objects") -> np.ndarray:
    index = np.asarray(rows)
    if index.dtype == bool:
        if index.shape != (n,):
            raise InputError(f"The mask has shape {index.shape} for {n} {things}.")
        return np.flatnonzero(index)
    if index.size == 0:
        return np.empty(0, np.int64)
    if index.dtype.kind not in "iu" or index.ndim != 1:
        raise InputError(
            f"Pick {things} by a vector of positions or a boolean mask, not {type(rows).__name__} of {index.dtype}."
        )
    if index.min() < -n or index.max() >= n:
        raise InputError(
            f"Positions run from 0 to {n - 1}; got {index.max() if index.max() >= n else index.min()}."
        )
    return np.where(index < 0, index + n, index)
