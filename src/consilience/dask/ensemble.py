"""Base clusterings that are not in memory: a Dask array or data frame, and its distinct rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import dask.array as da
import numpy as np
from dask.delayed import Delayed
from dask.highlevelgraph import HighLevelGraph

import dask

from .._base.names import check_count
from .._base.parameters import Integer, Nothing, check
from .._data.ensemble import Ensemble as LocalEnsemble
from .._data.named import NamedClusterings
from ..errors import InputError, need, warn
from .engine import collect
from .finding import Found, find_distinct
from .graphs import Declared, blocks_of, call, indexes_of, lengths_in_files


class DaskEnsemble(NamedClusterings):
    """Several clusterings of the same objects, held by Dask, for data larger than memory.

    Parameters
    ----------
    labels : dask array or dask data frame (n_samples, n_clusterings)
        Rows are objects, columns are clusterings. Values are read as by :class:`consilience.Ensemble`: labels
        may be of any kind, and -1, NaN and the like are missing. Chunks may be of unknown
        or zero size. Columns of a data frame are matched by name in every partition.
    clustering_names : sequence, optional
        Names of the columns; those of a data frame by default.
    sample_weight : dask array (n_samples,), optional
        Positive weights, in the chunks of the labels.
    max_distinct : int or None
        The largest number of distinct objects that are brought to one place; None is the number that fits
        into a quarter of the memory here. Up to this number, a fit gives the same labels as on a single
        machine. If there are more, LWGP and CoassociationKMeans go through all of them in blocks. Every other
        method is fitted to this number of the heaviest distinct objects and places the rest as ``predict``
        does; ``coverage_`` of the fitted model is the share of the weight that took part.
    recipes, base_models : list, optional
        As in :class:`consilience.Ensemble`; :func:`consilience.dask.make_ensemble` fills them in.

    Notes
    -----
    Nothing is computed before it is needed. The labels are then read once: each block gives its distinct
    rows, which are merged in a fixed tree. Use blocks of about 10^5 to 10^6 rows. The labels are read a
    second time when ``labels_`` of the fitted model are computed.

    Examples
    --------
    >>> import dask.array as da
    >>> import consilience as cs
    >>> labels = da.from_array([["a", "x"], ["a", "x"], ["b", "y"], ["b", "nan"]], chunks=(2, 2))
    >>> ens = cs.dask.DaskEnsemble(labels)
    >>> ens
    DaskEnsemble: 4 objects, 2 clusterings, 2 blocks
    >>> ens.distinct()
    Ensemble: 3 objects, 2 clusterings (2 to 2 clusters, 4 in all), 16.7% of labels missing, weighted
    """

    is_lazy_ensemble: ClassVar[bool] = True

    def __init__(
        self,
        labels: Any,
        *,
        clustering_names: Sequence[Any] | None = None,
        sample_weight: Any = None,
        max_distinct: int | None = None,
        recipes: Sequence[dict] | None = None,
        base_models: Sequence[Any] | None = None,
    ):
        check("max_distinct", max_distinct, Nothing() | Integer(2))
        self.max_distinct = max_distinct
        self._lengths: tuple[int, ...] | None = None
        if isinstance(labels, DaskEnsemble):
            vars(self).update({k: v for k, v in vars(labels).items() if k not in ("max_distinct", "found")})
            self.max_distinct = labels.max_distinct if max_distinct is None else max_distinct
        else:
            self._weights: Any = None
            self._recipes: list[dict] | None = None
            self._base_models: list[Any] | None = None
            self._keep_places = False
            self._indexes: list[Delayed] | None = (
                None  # of labels that members gave to the rows of a data frame
            )
            self._collection, self._names = _collection_of(labels)
        m = self.n_clusterings
        self._name_clusterings(clustering_names)
        if sample_weight is not None:
            self._weights = _weights_of(sample_weight, self._collection)
        if recipes is not None:
            self._recipes = [dict(one) for one in check_count(recipes, m, "recipes", "clusterings")]
        if base_models is not None:
            self._base_models = check_count(base_models, m, "base_models", "clusterings")

    # What it is --------------------------------------------------------------------------------------------

    @property
    def n_clusterings(self) -> int:
        """Number of base clusterings, m."""
        return int(self._collection.shape[1])

    @property
    def is_frame(self) -> bool:
        """Whether the labels are columns of a data frame, whose blocks have no known sizes."""
        return _is_frame(self._collection)

    @property
    def n_blocks(self) -> int:
        """Number of blocks of rows."""
        return int(self._collection.npartitions if self.is_frame else self._collection.numblocks[0])

    @property
    def lengths(self) -> tuple[int, ...]:
        """Number of objects in each block; where Dask does not know it, they are counted when needed."""
        if self._lengths is None:
            known = None if self.is_frame else self._collection.chunks[0]
            if known is None or any(math.isnan(length) for length in known):
                self._lengths = self.found.lengths
            else:
                self._lengths = tuple(int(length) for length in known)
        return self._lengths

    @property
    def knows_lengths(self) -> bool:
        """Whether the number of objects is known without looking at the labels."""
        return self._lengths is not None or (
            not self.is_frame and not any(math.isnan(size) for size in self._collection.chunks[0])
        )

    @property
    def n_samples(self) -> int:
        """Number of objects."""
        return sum(self.lengths)

    @property
    def recipes(self) -> list[dict] | None:
        """How each base clustering was made, or None."""
        return None if self._recipes is None else [dict(recipe) for recipe in self._recipes]

    @property
    def base_models(self) -> list[Any] | None:
        """Models that label further objects, one for each clustering, or None."""
        return None if self._base_models is None else list(self._base_models)

    @property
    def labels(self) -> Any:
        """The labels as they were given, lazy."""
        return self._collection

    def __repr__(self) -> str:
        objects = f"{self.n_samples:,} objects" if self.knows_lengths else "objects not counted yet"
        return f"DaskEnsemble: {objects}, {self.n_clusterings} clusterings, {self.n_blocks} blocks" + (
            ", weighted" if self._weights is not None else ""
        )

    # Distinct rows -----------------------------------------------------------------------------------------

    def distinct(self) -> LocalEnsemble:
        """Return the distinct rows with their total weights as an ordinary ensemble in memory.

        Measures, plots and reports take it. Rows are in the order of their first appearance. Raises an error
        if there are more than ``max_distinct``.
        """
        if self.found.whole is None:
            raise InputError(
                f"The labels have {self.found.size:,} distinct rows, more than the {self.found.limit:,} that "
                "are brought to one place. Raise max_distinct, or fit a method: it goes through them in "
                "blocks or takes the heaviest."
            )
        return self.found.whole

    @cached_property
    def found(self) -> Found:
        """The result of one pass over the labels."""
        return find_distinct(self, remember=self._keep_places)

    def blocks(self) -> list[Delayed]:
        """Return the labels of each block of rows, as tasks."""
        return blocks_of(self._collection, self._names)

    def declared(self) -> list[Declared]:
        """Return what is known of each block, for the tasks that read it."""
        lengths = self.lengths if self.knows_lengths else [None] * self.n_blocks
        return [Declared("labels", i, n, self.n_clusterings) for i, n in enumerate(lengths)]

    def count(self) -> None:
        """Find out the number of objects in each block, where it is not known, without their labels."""
        if not self.knows_lengths:
            self._lengths = counted(self._collection, "labels")

    def indexes(self) -> list[Delayed] | None:
        """Return the index of each block of a data frame, as tasks.

        None for arrays, whose objects have positions.
        """
        return indexes_of(self._collection) if self.is_frame else self._indexes

    def weights_of_blocks(self) -> list[Any]:
        """Return the weights of each block, as tasks; None where there are none."""
        return [None] * self.n_blocks if self._weights is None else blocks_of(self._weights)

    def lazily(
        self, tasks: Sequence[Delayed], *, dtype: Any, width: int | None = None, name: str = "labels"
    ) -> da.Array:
        """One lazy array of the results of tasks, one for each block: (n,), or (n, width)."""
        return stacked(tasks, self.lengths, dtype=dtype, width=width, name=name)


def counted(collection: Any, what: str) -> tuple[int, ...]:
    """The rows of each block, from the headers of Parquet files or else by a pass, which a warning tells."""
    frame = _is_frame(collection)
    if frame and (known := lengths_in_files(collection)) is not None:
        return known
    blocks = blocks_of(collection[[collection.columns[0]]] if frame else collection)
    warn(
        f"The sizes of the {len(blocks)} blocks of {what} are unknown to Dask: a pass over "
        f"{f'the first column of {what}' if frame else what} counts them. {what}.compute_chunk_sizes() of an "
        "array, or frame.to_dask_array(lengths=True), beforehand tells them.",
    )
    return tuple(collect([call(len, block) for block in blocks], "counting rows"))


def made_by_members(ensemble: DaskEnsemble, indexes: list[Delayed] | None) -> None:
    """Note that base models label the rows, which takes long, and the index of the frame that they label."""
    ensemble._indexes = indexes
    ensemble._keep_places = True  # four bytes per row, instead of labeling every row a second time


def lazy_weights(ensemble: DaskEnsemble) -> Any:
    """The weights of the objects, lazy; None if there are none."""
    return ensemble._weights


def framed(columns: dict[str, da.Array], indexes: list[Delayed] | None) -> Any:
    """A dask data frame of vectors of the same chunks, with the index of each block, or else positions."""
    pandas = need("pandas", "pandas", "to_frame()")
    frames = need("dask.dataframe", "dask", "to_frame() of a fit to Dask data")
    vectors = list(columns.values())
    ends = np.cumsum([0, *vectors[0].chunks[0]]).tolist()
    own = indexes or [pandas.RangeIndex(a, b) for a, b in pairwise(ends)]
    blocks = zip(own, *(blocks_of(vector) for vector in vectors))
    parts = [call(_framed, list(columns), index, *values) for index, *values in blocks]
    types = {name: pandas.Series([], dtype=vector.dtype) for name, vector in columns.items()}
    return frames.from_delayed(parts, meta=pandas.DataFrame(types), verify_meta=False)


def _framed(names: list[str], index: Any, *values: np.ndarray) -> Any:
    import pandas

    return pandas.DataFrame(dict(zip(names, values)), index=index)


def stacked(
    tasks: Sequence[Delayed],
    lengths: tuple[int, ...],
    *,
    dtype: Any,
    width: int | None = None,
    name: str = "labels",
) -> da.Array:
    """A dask array of blocks that tasks return, whose lengths and type are known in advance."""
    name = f"consilience-{name}-{dask.base.tokenize([task.key for task in tasks])}"
    columns = () if width is None else (0,)
    layer = {(name, i, *columns): task.key for i, task in enumerate(tasks)}
    graph = HighLevelGraph.from_collections(name, layer, dependencies=tasks)
    chunks = (tuple(lengths),) if width is None else (tuple(lengths), (width,))
    return da.Array(graph, name, chunks, dtype=dtype)


def _is_frame(collection: Any) -> bool:
    return hasattr(collection, "npartitions") and hasattr(collection, "columns")


def _collection_of(labels: Any) -> tuple[Any, list[str] | None]:
    """(a dask array with all columns in one chunk, or a dask frame; names of the columns)."""
    if isinstance(labels, da.Array):
        if labels.ndim != 2:
            raise InputError(
                f"labels has shape {labels.shape}; expected two dimensions (n_samples, n_clusterings). "
                "Several vectors become one array by dask.array.stack(vectors, axis=1)."
            )
        if labels.shape[1] == 0:
            raise InputError(f"labels has shape {labels.shape}: no clusterings. Give at least one column.")
        if labels.numblocks[1] > 1:
            labels = labels.rechunk({1: -1})
        return labels, None
    if _is_frame(labels) and hasattr(labels, "to_delayed") and hasattr(labels, "__dask_graph__"):
        if len(labels.columns) == 0:
            raise InputError("The data frame has no columns: give one column per clustering.")
        return labels, [str(name) for name in labels.columns]
    raise in_memory(labels, "labels", "consilience.Ensemble, or to fit itself")


def in_memory(data: Any, name: str, where: str) -> InputError:
    """The error for an argument that is not a Dask collection."""
    kind = f"{type(data).__module__.partition('.')[0]}.{type(data).__name__}"
    return InputError(
        f"{name} is a {kind}, which is in memory already: pass it to {where}. To divide it anyway, give "
        f"dask.array.from_array({name}, chunks=(250_000, -1))."
    )


def _weights_of(sample_weight: Any, labels: Any) -> Any:
    if hasattr(sample_weight, "to_dask_array"):
        sample_weight = sample_weight.to_dask_array()
    if not isinstance(sample_weight, da.Array) or sample_weight.ndim != 1:
        raise InputError(
            f"sample_weight is a {type(sample_weight).__name__}; expected a dask array of shape "
            f"(n_samples,) in the chunks of the labels."
        )
    blocks = labels.npartitions if _is_frame(labels) else labels.numblocks[0]
    same = sample_weight.numblocks[0] == blocks
    known = not _is_frame(labels) and not np.isnan([*labels.chunks[0], *sample_weight.chunks[0]]).any()
    if not same or (known and sample_weight.chunks[0] != labels.chunks[0]):
        raise InputError(
            f"sample_weight has {sample_weight.numblocks[0]} blocks beside {blocks} blocks of labels, or "
            "others in size: give both the same chunks, sample_weight.rechunk(labels.chunks[0])."
        )
    return sample_weight
