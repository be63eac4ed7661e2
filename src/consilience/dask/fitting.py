"""The unchanged methods on a lazy ensemble.

They are fitted to the distinct rows, and what they learn is mapped back to all objects lazily. Wherever the
objects are, a method sees distinct, weighted objects, in an order that depends on their content, with ties in
the order of first appearance. The table of :mod:`.tables` has those rows in that order with those weights, so
a fit to it gives the same labels as on one machine.
"""

from __future__ import annotations

import copy
from operator import getitem
from typing import Any

import dask.array as da
import numpy as np

from .._base.estimator import take_over
from .._data.distinct import Compressed, check_distinct
from .._data.ensemble import Ensemble as LocalEnsemble
from .._data.ensemble import from_codes
from .._data.named import given_names
from .._evidence.prediction import Predictor, codes_of
from .._kernels.runtime.threads import one_blas_thread, one_thread
from .._results.model import hold
from ..consensus import learn, predictor_of
from ..errors import InputError, LowAgreementWarning, NotEnoughMemoryError, warn
from . import tables
from .blocks import fit_in_blocks, goes_in_blocks, heaviest_table
from .ensemble import DaskEnsemble, framed, lazy_weights, stacked
from .finding import Found
from .graphs import Declared, blocks_of, call, share, without_names
from .tables import Table


def as_lazy(X: Any, sample_weight: Any = None) -> DaskEnsemble:
    """The lazy ensemble for the arguments of ``fit``."""
    if isinstance(X, DaskEnsemble) and sample_weight is None:
        return X
    return DaskEnsemble(X, sample_weight=sample_weight)


def fit_lazily(model: Any, X: Any, sample_weight: Any, must_link: Any = None) -> Any:
    """``fit`` of a consensus method on a lazy ensemble; returns the model itself, whose labels are lazy."""
    lazy = as_lazy(X, sample_weight)
    if must_link is not None:
        raise InputError(
            "must_link is about single objects, and the objects of a Dask ensemble are not in memory. Give "
            "linked objects one row of labels before, or fit model.fit(ensemble.distinct()), whose objects "
            "can be linked."
        )
    found = lazy.found
    check_distinct(model.n_clusters, found.size, lazy.n_samples)
    if found.whole is not None:
        local, names, coverage = _fit_whole(model, found)
    elif goes_in_blocks(model):
        local, names, coverage = fit_in_blocks(model, found)
    else:
        local, names, coverage = _fit_heaviest(model, found)
    take_over(model, local)
    hold(model, local, lazy.indexes())
    model.coverage_, model.n_samples_ = coverage, lazy.n_samples
    _make_lazy(model, local, lazy, names, complete=coverage == 1.0 and found.whole is not None)
    return model


def solved(model: Any, ensemble: LocalEnsemble) -> tuple[Any, tuple[str, ...]]:
    """(a fitted copy, the names of what its method learned about objects)."""
    local = copy.copy(model)
    solution = learn(local, ensemble)
    if solution.alone is not None and solution.alone.any():
        raise InputError(
            f"{type(model).__name__}(mode='authors') puts each of several equal objects that it cuts off "
            "into a cluster of its own, which needs every object in one place. Use mode='standard', or fit "
            "NumPy labels."
        )
    return local, tuple(solution.per_sample)


def _fit_whole(model: Any, found: Found) -> tuple[Any, tuple[str, ...], float]:
    assert found.whole is not None
    try:
        return *solved(model, found.whole), 1.0
    except NotEnoughMemoryError as error:
        return _fit_fewer(model, found, error)


def _fit_fewer(model: Any, found: Found, error: Exception) -> tuple[Any, tuple[str, ...], float]:
    """Fit a method that has no memory for all pairs of objects.

    It is fitted to half as many of the heaviest objects, repeatedly, until they fit.
    """
    assert found.whole is not None
    table = Table(
        found.whole.labels,
        found.whole.categories,
        np.zeros((found.size, 1), np.int64),
        found.first,
        0,
    )
    weights = found.whole.sample_weight
    most = found.size // 2
    while most >= max(2, int(model.n_clusters)):
        rows = tables.heaviest_rows(table, weights, most)
        try:
            local, names = solved(model, found.whole.take(rows))
        except NotEnoughMemoryError as again:
            error, most = again, most // 2
            continue
        coverage = float(weights[rows].sum() / found.weight)
        _say_coverage(model, most, found, coverage)
        return local, names, coverage
    raise error


def _fit_heaviest(model: Any, found: Found) -> tuple[Any, tuple[str, ...], float]:
    """Fit the heaviest distinct rows, from the heaviest of every bucket, if one place cannot hold all."""
    ensemble, coverage = heaviest_of(found, found.limit)
    local, names = solved(model, ensemble)
    _say_coverage(model, ensemble.n_samples, found, coverage)
    return local, names, coverage


def heaviest_of(found: Found, most: int) -> tuple[LocalEnsemble, float]:
    """(the heaviest distinct rows as an ensemble, their share of the weight)."""
    few = heaviest_table(found, most)
    weights = few.weights(found.exponent)
    everything = tables.as_ensemble(few, weights, found.names)
    # take() leaves out base clusters without objects, which methods do not expect.
    return everything.take(np.arange(few.size)), float(weights.sum() / found.weight)


def _say_coverage(model: Any, most: int, found: Found, coverage: float) -> None:
    warn(
        f"{type(model).__name__} was fitted to the {most:,} heaviest of {found.size:,} distinct objects, "
        f"{100 * coverage:.3g}% of the weight (coverage_); the others are placed by their base labels, as "
        "predict does. LWGP takes all of them.",
        LowAgreementWarning,
    )


# What is lazy
# ------------------------------------------------------------------------------------------------


class Signatures(Compressed):
    """The distinct objects of a lazy ensemble, in memory, with a lazy map back to the objects."""

    def expand(self, values: Any) -> da.Array:
        """Return values per distinct row as a lazy array over all objects."""
        return spread(self.inverse, values)


def spread(inverse: da.Array, values: Any) -> da.Array:
    """values[inverse], lazily; values (u,) or (u, width)."""
    if not isinstance(values, np.ndarray):
        raise InputError(
            f"A {type(values).__name__} of all objects cannot be made lazily: model.to_local() has it for "
            "the distinct ones."
        )
    held = share(values)
    tasks = [call(getitem, held, block) for block in blocks_of(inverse)]
    width = None if values.ndim == 1 else values.shape[1]
    return stacked(tasks, inverse.chunks[0], dtype=values.dtype, width=width, name="spread")


def _make_lazy(model: Any, local: Any, lazy: DaskEnsemble, names: tuple[str, ...], *, complete: bool) -> None:
    """Replace what the model learned about the distinct objects by lazy values for all objects."""
    predictor = predictor_of(local)
    if not complete:
        held = share(predictor)
        tasks = _on_blocks(lazy, _place, held)
        model.labels_ = lazy.lazily(tasks, dtype=np.int64)
        sure = _on_blocks(lazy, _confidence, held)
        model.confidence_ = lazy.lazily(sure, dtype=np.float64, name="confidence")
        for name in names:
            vars(model).pop(f"{name}_", None)
        if model.coverage_ < 1:  # sizes counted only the heaviest
            counted = da.bincount(
                model.labels_ + 1, weights=lazy_weights(lazy), minlength=model.n_clusters_ + 1
            )
            model.cluster_sizes_ = counted[1:]
        return
    inverse = lazy.lazily(_positions(lazy, predictor), dtype=np.int32, name="rows")
    for name in ("labels", "confidence", *names):
        value = getattr(local, f"{name}_")
        if isinstance(value, np.ndarray):
            setattr(model, f"{name}_", spread(inverse, value))
        else:
            delattr(model, f"{name}_")
    own = local.distinct_
    model.distinct_ = from_codes(
        own.labels, own.categories, given_names(own), None, own.sample_weight, own.recipes, kind=Signatures
    )
    model.distinct_.rows, model.distinct_.inverse = lazy.found.first, inverse


def _positions(lazy: DaskEnsemble, predictor: Predictor) -> list[Any]:
    """Tasks of the distinct row of each object, block by block."""
    if lazy.found.positions is not None:
        return lazy.found.positions
    held = share(predictor)
    return _on_blocks(lazy, _find, held)


def _on_blocks(lazy: DaskEnsemble, function: Any, *arguments: Any) -> list[Any]:
    """Tasks of function(block, what is known of the block, ...)."""
    return [call(function, block, said, *arguments) for block, said in zip(lazy.blocks(), lazy.declared())]


def predict_lazily(model: Any, X: Any, what: str, top: int | None = None) -> Any:
    """``predict``, ``predict_proba`` or ``predict_confidence`` for lazy labels, as a lazy array."""
    lazy = as_lazy(X)
    lazy.count()
    predictor = predictor_of(model)
    held = share(predictor)
    if what == "predict":
        return lazy.lazily(_on_blocks(lazy, _place, held), dtype=np.int64, name=what)
    if what == "predict_confidence":
        return lazy.lazily(_on_blocks(lazy, _confidence, held), dtype=np.float64, name=what)
    pairs = _on_blocks(lazy, _shares, held, top)
    width = predictor.n_clusters if top is None else min(top, predictor.n_clusters)
    shares = lazy.lazily([call(getitem, p, 1) for p in pairs], dtype=np.float64, width=width, name=what)
    if top is None:
        return shares
    clusters = lazy.lazily([call(getitem, p, 0) for p in pairs], dtype=np.int64, width=width, name=what)
    return clusters, shares


def frame_lazily(labels: da.Array, confidence: da.Array, index: Any) -> Any:
    """Label and confidence of each object as a dask data frame, with the index of the fitted frame."""
    return framed({"label": labels, "confidence": confidence}, index)


def score_lazily(model: Any, X: Any) -> float:
    """``score`` of a model that was fitted to the lazy ensemble X."""
    n = as_lazy(X).n_samples
    if n != model.n_samples_:
        raise InputError(
            f"score was given {n} objects, but {type(model).__name__} was fitted to {model.n_samples_}: it "
            f"judges the clustering of those."
        )
    local = model.to_local()
    return local.score(local.distinct_)


# Tasks
# -------------------------------------------------------------------------------------------------------


def codes_in(block: Any, declared: Declared, predictor: Predictor) -> np.ndarray:
    """The labels of a block in the codes of the fit."""
    declared.check(block)
    distinct = predictor.distinct
    assert isinstance(distinct, Compressed)
    if len(block) == 0:
        return np.empty((0, distinct.n_clusterings), distinct.labels.dtype)
    return without_names(lambda labels: codes_of(labels, distinct, "The model")[0], block)


def _find(block: Any, declared: Declared, predictor: Predictor) -> np.ndarray:
    with one_thread(), one_blas_thread():
        return predictor.known.find(codes_in(block, declared, predictor)).astype(np.int32)


def _place(block: Any, declared: Declared, predictor: Predictor) -> np.ndarray:
    with one_thread(), one_blas_thread():
        return predictor.predict(codes_in(block, declared, predictor), n_jobs=1)


def _confidence(block: Any, declared: Declared, predictor: Predictor) -> np.ndarray:
    with one_thread(), one_blas_thread():
        codes = codes_in(block, declared, predictor)
        return predictor.confidence(codes, predictor.predict(codes, n_jobs=1), n_jobs=1)


def _shares(
    block: Any, declared: Declared, predictor: Predictor, top: int | None
) -> tuple[np.ndarray | None, np.ndarray]:
    with one_thread(), one_blas_thread():
        return predictor.shares(codes_in(block, declared, predictor), top, n_jobs=1)
