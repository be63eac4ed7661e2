"""The data model: a label matrix with missing values.

Every rule about label matrices is here and is checked here once (the rules of a single label are in
:mod:`consilience._data.labels`); methods receive an :class:`Ensemble` and do not check again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from .._base.names import check_count
from .._base.parameters import check_weights, listed, positions_of
from .._kernels.labels.distinct import unique_rows
from .._kernels.labels.incidence import Labels
from .._kernels.runtime.threads import map_blocks
from ..errors import InputError
from .concatenate import joined_names, same_objects
from .intake import Intake, check_parts, check_recipes, take_clusterings, take_in
from .labels import drop_unused
from .named import given_names
from .pairs import WithPairs
from .plausibility import question
from .summary import as_frame_of, as_table, in_a_line
from .summary import say_unseen as say_unseen

if TYPE_CHECKING:
    from .distinct import Compressed


class Ensemble(WithPairs):
    """Several clusterings of the same objects.

    Parameters
    ----------
    labels : array, list of lists, data frame, dict or Ensemble
        - array, list of lists or data frame ``(n_samples, n_clusterings)``: rows are objects, columns are
          clusterings;
        - dict by name, or list of ``(name, vector)`` pairs: one label vector per clustering;
        - list of fitted scikit-learn clusterers or pipelines (their ``labels_``), or of 0/1 indicator blocks
          ``(n_samples, k_i)``, dense or sparse.

        A list of label vectors, one per clustering, goes to :meth:`from_clusterings`.

        Data that look like features, a co-association matrix or identifiers raise an error, or a warning if
        only some columns do. If names of rows or columns are given here, the orientation is not questioned.

        Labels are categories, and renaming them changes nothing. A value has the same meaning in every
        container, in every metric and in every file that keeps its type:

        ==============================================  ====================================================
        value                                           meaning
        ==============================================  ====================================================
        ``-1``, ``-1.0``, NaN, NaT, None, pandas' NA,   missing: this clustering did not see this object
        masked
        ``""``, ``"-1"``, ``"NA"``, ``"N/A"``,          missing, with any spaces, tabs or line ends around
        ``"<NA>"``, ``"nan"``, ``"NaN"``, ``"NAN"``,    the word
        ``"NaT"``, ``"None"``, ``"none"``, ``"null"``,
        ``"NULL"``
        ``1``, ``1.0``, True                            the category 1 (False: 0); a vector in which all
                                                        numbers are whole has integer categories
        ``1.5``                                         the category 1.5; a 1 beside it is 1.0
        inf                                             refused
        any other text                                  the category of that text, including blanks around
                                                        it; "1" is not a number
        date, or anything else that can be hashed       the category of that value
        ==============================================  ====================================================

        A CSV file keeps no types. Its columns are numbers if every cell that is not missing is one, apart
        from blanks around it (``inf`` is a number, and refused). Otherwise they are text as in the table;
        ``True`` is text.
    clustering_names, sample_names : sequence, optional
        Names of columns and rows; taken from a data frame when it has them.
    sample_weight : array (n_samples,), optional
        Positive weights; an object of weight 3 counts as three equal objects.
    recipes : list of dict, optional
        How each base clustering was made; generators fill this in.
    base_models : list, optional
        Models that label further objects, one for each clustering. Each has a method ``label(X)`` that
        returns codes of ``labels``. Generators fill this in if they are asked to keep base models. Not
        written to files.

    Attributes
    ----------
    labels : array (n_samples, n_clusterings)
        Integer codes, 0..k_i - 1 in sorted order of the original values, -1 where missing. Read-only.
    categories : list of arrays
        The original label values: ``categories[i][code]``.
    n_clusters_per_clustering : array (n_clusterings,)
        Number of clusters of each clustering. ``offsets`` are the cumulative sums, so that cluster ``j`` of
        clustering ``i`` has the global number ``offsets[i] + j``.

    Notes
    -----
    An ensemble is immutable; every derived view is a new object. As an array (``numpy.asarray``), and in a
    loop, it is :attr:`labels`: one row per object, and ``len`` is the number of objects.

    If labels are missing, co-association divides by how often a pair was seen together. A pair that was never
    seen together is stored as 0; :meth:`cooccurrence_counts` tells it apart from a pair that was always
    apart.

    Examples
    --------
    >>> import consilience as cs
    >>> ens = cs.Ensemble([["a", 0], ["a", 0], ["b", 1], ["b", None]])
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
        base_models: Sequence[Any] | None = None,
    ):
        intake = None
        if isinstance(labels, Ensemble):
            self._share(labels)
        else:
            intake = labels if isinstance(labels, Intake) else take_in(labels)
            if intake.labels.shape[0] == 0:
                raise InputError(
                    f"labels has shape {intake.labels.shape}: no objects. Give at least one row."
                )
            self._set(
                intake.labels, intake.categories, intake.clustering_names, intake.sample_names, None, None
            )
        self._name_clusterings(clustering_names)
        if intake is not None:
            intake.clustering_names = self._names
            told = clustering_names is not None or sample_names is not None
            question(intake, told=told and intake.container != "table")
            self._library = intake.library
        self._name_objects(sample_names, sample_weight)
        if recipes is not None:
            self._recipes = check_recipes(recipes, self.n_clusterings)
        if base_models is not None:
            self._base_models = check_count(base_models, self.n_clusterings, "base_models", "clusterings")

    _labels: np.ndarray
    _categories: list[np.ndarray]
    _recipes: list[dict] | None
    _library: str | None = None  # of the data frame that it came in
    _base_models: list[Any] | None = None
    _stands_for: int | None = None  #: objects that the weights count, if they are not those of this ensemble
    _members_bytes: float | None = (
        None  #: bytes that base models take, or would have taken if they had been kept
    )
    _distinct: tuple[np.ndarray, np.ndarray] | None = None  # of the rows of labels, whatever they weigh
    _compressed: Compressed | None = None

    # Construction ------------------------------------------------------------------------------------------

    def _set(self, labels, categories, names, sample_names, weights, recipes) -> None:
        labels.setflags(write=False)
        self._labels, self._categories = labels, categories
        self._names, self._sample_names = names, sample_names
        self._weights, self._recipes = weights, recipes

    def _share(self, other: Ensemble) -> None:
        """The labels of another ensemble, with names, weights and what is known of the labels."""
        names = (
            "_labels",
            "_categories",
            "_names",
            "_sample_names",
            "_weights",
            "_recipes",
            "_base_models",
            "_library",
            "_members_bytes",
        )
        known = ("_distinct", "_partners", "n_clusters_per_clustering", "offsets", "has_missing", "unseen")
        vars(self).update((name, value) for name, value in vars(other).items() if name in names + known)

    @classmethod
    def from_clusterings(
        cls,
        clusterings: Any,
        *,
        clustering_names: Sequence[Any] | None = None,
        sample_names: Sequence[Any] | None = None,
        sample_weight: Any = None,
        recipes: Sequence[dict] | None = None,
        base_models: Sequence[Any] | None = None,
    ) -> Ensemble:
        """An ensemble of label vectors, one per clustering; the rest as in the constructor.

        Parameters
        ----------
        clusterings : list, dict or data frame
            For each clustering the labels of all objects: an array, a list, a Series, a fitted clusterer (its
            ``labels_``) or a 0/1 block. A dict gives them by name, a list may hold ``(name, vector)`` pairs,
            and a data frame gives its columns. pandas Series are matched by their index.
        clustering_names, sample_names, sample_weight, recipes, base_models : optional
            As in the constructor.

        Examples
        --------
        >>> import consilience as cs
        >>> cs.Ensemble.from_clusterings([[0, 0, 1, 1], ["a", "b", "b", "b"]]).shape
        (4, 2)
        """
        return cls(
            take_clusterings(clusterings),
            clustering_names=clustering_names,
            sample_names=sample_names,
            sample_weight=sample_weight,
            recipes=recipes,
            base_models=base_models,
        )

    @classmethod
    def concatenate(cls, ensembles: Sequence[Any]) -> Ensemble:
        """One ensemble of all clusterings of several ensembles of the same objects.

        Sample names and weights must agree if given.
        """
        parts = [e if isinstance(e, Ensemble) else cls(e) for e in ensembles]
        if not parts:
            raise InputError("concatenate got an empty list: give at least one ensemble.")
        sample_names, weights = same_objects(parts)
        names = joined_names(parts)
        recipes = None
        if any(part._recipes is not None for part in parts):
            recipes = [recipe for part in parts for recipe in part._recipes or [{}] * part.n_clusterings]
        joined = from_codes(
            np.concatenate([part.labels for part in parts], axis=1),
            [c for part in parts for c in part._categories],
            names,
            sample_names,
            weights,
            recipes,
            kind=cls,
        )
        if all(part._base_models is not None for part in parts):
            joined._base_models = [member for part in parts for member in part._base_models or []]
        return joined

    # What it is --------------------------------------------------------------------------------------------

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """:attr:`labels`, with -1 where missing."""
        made = self._labels if dtype is None else self._labels.astype(dtype, copy=False)
        if copy is False and made is not self._labels:
            raise ValueError(f"labels of type {self._labels.dtype} become {made.dtype} only in a copy.")
        return made.copy() if copy and made is self._labels else made

    def __iter__(self) -> Iterator[np.ndarray]:
        """Rows of :attr:`labels`, one per object, as in an array."""
        return iter(self._labels)

    def to_frame(self) -> Any:
        """A data frame with the original labels, one column per clustering; missing ones are None.

        It belongs to the library of the data frame that the labels came in, otherwise to pandas, where sample
        names are the index.
        """
        return as_frame_of(self, self._library)

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

    @cached_property
    def n_clusters_per_clustering(self) -> np.ndarray:
        """(m,) number of clusters in each clustering."""
        return np.array([len(c) for c in self._categories], np.int64)

    @cached_property
    def offsets(self) -> np.ndarray:
        """(m + 1,) global number of the first cluster of each clustering."""
        return np.concatenate([[0], np.cumsum(self.n_clusters_per_clustering)])

    @property
    def categories(self) -> list[np.ndarray]:
        """Original label values of each clustering, by code."""
        return list(self._categories)

    @property
    def recipes(self) -> list[dict] | None:
        """How each base clustering was made, or None."""
        return None if self._recipes is None else [dict(recipe) for recipe in self._recipes]

    @property
    def base_models(self) -> list[Any] | None:
        """Models that label further objects, one for each clustering, or None if they were not kept."""
        return None if self._base_models is None else list(self._base_models)

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
        return in_a_line(self)

    def _repr_html_(self) -> str:
        return as_table(self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ensemble):
            return NotImplemented
        return (
            np.array_equal(self._labels, other._labels)
            and np.array_equal(self.sample_weight, other.sample_weight)
            and all(np.array_equal(a, b) for a, b in zip(self._categories, other._categories))
            and self.clustering_names == other.clustering_names
            and self._sample_names == other._sample_names
        )

    __hash__ = None  # type: ignore[assignment]

    # Parts -------------------------------------------------------------------------------------------------

    def take(self, rows: Any) -> Ensemble:
        """The ensemble of some objects (indices or a boolean mask); clusters left empty disappear."""
        rows = positions_of(rows, self.n_samples)
        return self._subset(self._labels[rows], rows)

    def _subset(self, labels: np.ndarray, rows: np.ndarray) -> Ensemble:
        labels = labels.copy() if not labels.flags.owndata else labels
        categories = []
        for i, own in enumerate(self._categories):
            labels[:, i], kept = drop_unused(labels[:, i], own)
            categories.append(kept)
        names, weights = self._of_rows(rows)
        made = from_codes(labels, categories, self._names, names, weights, self._recipes)
        made._library = self._library
        return made

    def select(self, clusterings: Any) -> Ensemble:
        """The ensemble of some clusterings, by position, boolean mask or name."""
        picked = np.atleast_1d(np.asarray(clusterings, dtype=object if _has_text(clusterings) else None))
        if picked.dtype == object:
            lookup = {name: i for i, name in enumerate(self.clustering_names)}
            unknown = [name for name in picked if name not in lookup]
            if unknown:
                raise InputError(
                    f"No clustering is called {listed(map(repr, unknown))}; the names are {listed(lookup)}."
                )
            picked = np.array([lookup[name] for name in picked])
        columns = positions_of(picked, self.n_clusterings, "clusterings")
        if columns.size == 0:
            raise InputError("No clusterings were selected: an ensemble needs at least one.")
        picked = from_codes(
            self._labels[:, columns],
            [self._categories[i] for i in columns],
            None if self._names is None else [self._names[i] for i in columns],
            self._sample_names,
            self._weights,
            None if self._recipes is None else [self._recipes[i] for i in columns],
        )
        picked._library = self._library
        picked._base_models = None if self._base_models is None else [self._base_models[i] for i in columns]
        return picked

    def drop_unseen(self) -> Ensemble:
        """Without the objects that no clustering saw (:attr:`unseen` lists them)."""
        if self.unseen.size == 0:
            return self
        if self.unseen.size == self.n_samples:
            raise InputError("No clustering saw any object: nothing is left.")
        return self.take(np.setdiff1d(np.arange(self.n_samples), self.unseen))

    # Derived matrices --------------------------------------------------------------------------------------

    def _incidence(self) -> Labels:
        return Labels(self._labels, self.offsets)

    def global_labels(self) -> np.ndarray:
        """(n, m) int32 global cluster numbers, over all clusterings; -1 missing."""
        shifted = self._labels + self.offsets[:-1].astype(np.int32)
        if self.has_missing:
            shifted[self._labels < 0] = -1
        return shifted

    def indicator(self, dtype: Any = np.float64) -> sp.csr_array:
        """Y (n, k) CSR 0/1: one block of columns per clustering, with n m entries.

        A missing label is an empty block.
        """
        codes = self.global_labels()
        seen = codes >= 0
        indptr = np.concatenate([[0], np.cumsum(seen.sum(axis=1))])
        indices = codes[seen] if self.has_missing else codes.ravel()
        shape = (self.n_samples, self.n_base_clusters)
        return sp.csr_array((np.ones(indices.size, dtype), indices, indptr), shape=shape)

    def cluster_sizes(self) -> np.ndarray:
        """(k,) total weight of each cluster."""
        sizes = []
        for i, k in enumerate(self.n_clusters_per_clustering):
            column = self._labels[:, i]
            seen = column >= 0
            weights = None if self._weights is None else self._weights[seen]
            sizes.append(np.bincount(column[seen], weights=weights, minlength=k).astype(float))
        return np.concatenate(sizes)

    # Compression -------------------------------------------------------------------------------------------

    def distinct(self, *, n_jobs: int | None = -1) -> Compressed:
        """The distinct rows ("distinct") with their total weights: exact, and usually far fewer than objects.

        Objects with equal rows are indistinguishable to every consensus function, so methods work on these.
        ``.inverse`` maps objects to rows, ``.expand(values)`` copies results back. O(n m) time.
        """
        from .distinct import compressed, total_weights

        if self._compressed is None:
            if self._distinct is None:
                self._distinct = unique_rows(self._labels, n_jobs=n_jobs)
            rows, inverse = self._distinct
            weights = total_weights(self._weights, inverse, rows.size)
            self._compressed = compressed(self, rows, inverse, weights)
        return self._compressed

    # As parts, for files of models
    # ---------------------------------------------------------------------------

    def _to_parts(self) -> dict[str, Any]:
        """Its parts by name; :meth:`_from_parts` makes it again."""
        return {
            "labels": self._labels,
            "categories": self._categories,
            "clustering_names": self._names,
            "sample_names": self._sample_names,
            "weights": self._weights,
            "recipes": self._recipes,
            "base_models": self._base_models,
            "members_bytes": self._members_bytes,
        }

    @classmethod
    def _from_parts(cls, parts: Mapping[str, Any]) -> Ensemble:
        """The ensemble of these parts; raises unless they fit together, as compiled code requires."""
        check_parts(parts)
        labels, categories, weights = parts["labels"], parts["categories"], parts["weights"]
        weights = None if weights is None else check_weights(weights, len(labels))
        names, sample_names = parts["clustering_names"], parts["sample_names"]
        made = from_codes(labels, categories, names, sample_names, weights, parts["recipes"], kind=cls)
        made._base_models, made._members_bytes = parts["base_models"], parts["members_bytes"]
        return made

    def __getstate__(self) -> dict:
        state = self.__dict__.copy()
        for name in ("_compressed", "_distinct", "_partners"):
            state.pop(name, None)
        return state


def from_codes(
    labels: np.ndarray,
    categories: list[np.ndarray],
    names: list[str] | None = None,
    sample_names: list[Any] | None = None,
    weights: np.ndarray | None = None,
    recipes: list[dict] | None = None,
    *,
    kind: type[Ensemble] = Ensemble,
) -> Any:
    """An ensemble of this kind, of codes that already follow the rules."""
    made = kind.__new__(kind)
    made._set(np.ascontiguousarray(labels), categories, names, sample_names, weights, recipes)
    return made


def unquestioned(labels: Any) -> Ensemble:
    """An ensemble of what is known to be labels, such as those of further objects.

    A single row or an empty column is then not an error.
    """
    intake = take_in(labels)
    if len(intake.labels) == 0:
        raise InputError(f"labels has shape {intake.labels.shape}: no objects. Give at least one row.")
    return from_codes(intake.labels, intake.categories, intake.clustering_names, intake.sample_names)


def stand_for(ensemble: Ensemble, n_objects: int | None) -> None:
    """Say how many objects the weights count, if they are not those of the ensemble."""
    ensemble._stands_for = n_objects


def objects_behind(ensemble: Ensemble) -> int | None:
    """How many objects the weights count; None if they are those of the ensemble."""
    return ensemble._stands_for


def note_bytes(ensemble: Ensemble, n_bytes: float | None) -> None:
    """Note the bytes that base models take, or would have taken if they had been kept."""
    ensemble._members_bytes = n_bytes


def bytes_of_members(ensemble: Ensemble) -> float | None:
    """What :func:`note_bytes` noted; None of an ensemble that no generator made."""
    return ensemble._members_bytes


def as_ensemble(labels: Any, sample_weight: Any = None) -> Ensemble:
    """The ensemble itself if nothing changes, so that its compression is reused; else a new one."""
    # The objects of a Compressed are its rows: it becomes a plain ensemble of them.
    if type(labels) is Ensemble and sample_weight is None:
        return labels
    return Ensemble(labels, sample_weight=sample_weight)


def question_labels(ensemble: Ensemble, *, told: bool = True) -> None:
    """Raise or warn if labels that were not yet questioned look like something else."""
    names = given_names(ensemble)
    question(Intake(ensemble.labels, ensemble.categories, names, container="array"), told=told)


def _has_text(values: Any) -> bool:
    values = values if isinstance(values, (list, tuple)) else [values]
    return any(isinstance(value, str) for value in values)
