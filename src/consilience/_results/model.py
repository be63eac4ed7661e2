"""What users do with a fitted model next: the methods that consensus methods and pipelines share."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _register
from .._base.dask_types import is_lazy, refuse_lazy
from .._data.frames import labels_frame
from ..errors import InputError
from .matrices import consensus_matrix, linkage_matrix

Model = TypeVar("Model", bound="FittedModel")


class InMemory(NamedTuple):
    """What a fit to Dask data keeps in memory.

    local : the model of the distinct objects.
    index : that of the data frame of the input; None of an array.
    """

    local: Any
    index: Any


class FittedModel:
    """Files, frames, matrices and the page of a model with ``labels_`` and ``confidence_``."""

    labels_: np.ndarray
    confidence_: np.ndarray
    _library: str | None  # of the data frame that fit got
    #: What the history says about self-pacing; None if the method is not self-paced.
    _pacing: ClassVar[Any] = None
    _merges: np.ndarray | None = None  # of a tree, by distinct object
    _in_memory_: InMemory | None = None  # after a fit to Dask data
    _stability_: float | None = None  # of a pipeline, once it was estimated

    def _combined_by(self) -> Any:
        """The consensus method that learned from the ensemble: this one, or that of a pipeline."""
        return self

    def _rows_in_ensemble(self) -> np.ndarray | None:
        """The object of the ensemble that each row stands for; None if they are the same."""
        return None

    def _names_of_rows(self) -> list[Any] | None:
        raise NotImplementedError

    def save(self, path: Any) -> None:
        """Write the model to a file, without pickle; :func:`consilience.load` reads it.

        See :func:`consilience.io.save`.
        """
        refuse_lazy(getattr(self, "labels_", None), "save")
        _register.offered("save")(self, path)

    def to_local(self: Model) -> Model:
        """Return the model without lazy attributes.

        After a fit to Dask data, this is the model of the distinct objects with their weights.
        """
        check_is_fitted(self, "labels_")
        return self if self._in_memory_ is None else self._in_memory_.local

    def report(self, path: Any = None, X: Any = None, **options: Any) -> Any:
        """Write a page about the model to ``path``; see :func:`consilience.report` for the options."""
        return _register.offered("report")(self, X, path=path, **options)

    def to_frame(self) -> Any:
        """Return a data frame of labels and confidence.

        It comes from the library of the data frame that ``fit`` got, else from pandas; after a fit to Dask
        data, from Dask. A pandas frame is indexed by the names of the rows (or positions); other frames have
        the names, if there are any, in a column ``sample``.
        """
        check_is_fitted(self, "labels_")
        if is_lazy(self.labels_):
            held = self._combined_by()._in_memory_
            return _register.offered("frame_lazily")(self.labels_, self.confidence_, held.index)
        return labels_frame(self.labels_, self.confidence_, self._names_of_rows(), self._library)

    def consensus_matrix(self) -> np.ndarray:
        """Return how often each two objects are together in the base clusterings.

        An entry is the share of the clusterings that put both objects together, among those that saw both.
        Base clusters are weighted by ``cluster_reliability_`` in methods that learn it (LWEA, LWSC, LWGP,
        SCCABG, CESHL), else clusterings by ``clustering_weights_`` in methods that learn these; otherwise,
        and for soft clusterings, all have equal weight. Raises
        :class:`~consilience.errors.NotEnoughMemoryError` if 8 n_samples^2 bytes do not fit.

        Returns
        -------
        array (n_samples, n_samples)
            Values from 0 to 1, with 1 on the diagonal, in the order of the objects of ``fit``.
        """
        check_is_fitted(self, "labels_")
        refuse_lazy(self.labels_, "consensus_matrix()")
        return consensus_matrix(self._combined_by(), self._rows_in_ensemble())

    def linkage_matrix(self) -> np.ndarray:
        """Return the tree of a method that builds one, in the format of :mod:`scipy.cluster.hierarchy`.

        Use it for ``dendrogram`` and ``fcluster``: ``fcluster(model.linkage_matrix(), 3, "maxclust")``.
        Methods with ``heights_`` have a tree.

        Returns
        -------
        array (n_samples - 1, 4)
            Leaves are the objects of ``fit`` in their order. Objects that no clustering tells apart are
            joined first, at height 0.
        """
        check_is_fitted(self, "labels_")
        refuse_lazy(self.labels_, "linkage_matrix()")
        method, rows = self._combined_by(), self._rows_in_ensemble()
        inverse = method.distinct_.inverse
        if method._merges is None:
            name = type(method).__name__
            if hasattr(method, "heights_"):
                raise InputError(
                    f"{name} linked a sample of the objects, so there is no tree of all objects. Fit it with "
                    f"max_samples=None."
                )
            raise InputError(
                f"{name} builds no tree with these parameters. Use a method that has heights_, such as "
                f"EvidenceAccumulation."
            )
        return linkage_matrix(method._merges, method.heights_, inverse if rows is None else inverse[rows])


def hold(model: FittedModel, local: Any, index: Any = None) -> None:
    """Keep the model of the distinct objects of Dask data, :meth:`FittedModel.to_local`."""
    model._in_memory_ = InMemory(local, index)


def pacing_of(model: Any) -> Any:
    """How to read the history of a self-paced method; None of the others."""
    return model._pacing if isinstance(model, FittedModel) else None


def known_stability(model: Any) -> float | None:
    """The stability of a pipeline, if ``fit`` estimated it."""
    return model._stability_ if isinstance(model, FittedModel) else None
