"""Base clusterings of features that are not in memory.

Members are fitted to a sample, and label every row where it is. The sample is drawn by position, from the
seed and the number of rows alone, so it does not depend on how rows are divided into blocks. A sample of all
rows gives the same members as on one machine.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Mapping, Sequence
from operator import getitem
from typing import Any
from weakref import WeakKeyDictionary

import dask.array as da
import numpy as np
from dask.base import tokenize
from dask.delayed import Delayed
from sklearn.utils.validation import validate_data

from .._base.parameters import Integer, check
from .._base.rng import draw_seeds, make_rng
from .._data.ensemble import Ensemble as LocalEnsemble
from .._data.features import Features
from .._data.named import given_names
from .._kernels.labels.codes import code_dtype
from .._kernels.runtime.threads import one_blas_thread, one_thread
from .._members.labeling import label_rows
from .._pipeline.consensus_clustering import members_of, ready
from .._pipeline.defaults import AUTO, Plan, fill_in
from .._pipeline.new_rows import label, remember
from .._results.model import hold
from ..consensus import predictor_of
from ..errors import InputError
from ..generate import generator as look_up
from .engine import active_client, collect, ensure_task_fits
from .ensemble import DaskEnsemble, counted, in_memory, lazy_weights, made_by_members, stacked
from .graphs import Declared, Scattered, blocks_of, call, indexes_of, share, without_names

#: Rows that members are fitted to.
SAMPLE = 200_000


def make_ensemble(
    X: Any,
    generator: str = AUTO,
    *,
    n_clusterings: int | None = None,
    n_clusters: int | None = None,
    generator_params: Mapping[str, Any] | None = None,
    max_samples: int = SAMPLE,
    sample_weight: Any = None,
    max_distinct: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = -1,
) -> DaskEnsemble:
    """Make base clusterings of Dask features.

    Base clusterings are fitted to a sample here. Every row is labeled where it is, when needed.

    Parameters
    ----------
    X : dask array or dask data frame (n_samples, n_features)
        Finite numbers.
    generator : str, default "auto"
        Name of a generator (``consilience methods`` lists them); "auto" is the choice of
        :class:`~consilience.ConsensusClustering` for as many objects as the sample has.
    n_clusterings : int or None
        Number of base clusterings; None leaves it to the generator.
    n_clusters : int or None
        Number of clusters that the consensus will have, from which generators choose the numbers of clusters
        of the base clusterings.
    generator_params : dict, optional
        More parameters of the generator, by name.
    max_samples : int, default 200,000
        Number of rows, drawn by position, that base clusterings are fitted to; all rows if there are no more.
    sample_weight : dask array (n_samples,), optional
        Positive weights, in the chunks of X.
    max_distinct : int or None
        As in :class:`consilience.dask.DaskEnsemble`.
    random_state : int, numpy generator or None
        Seed of the sample and of the base clusterings.
    n_jobs : int or None, default -1
        Number of threads that fit base clusterings; each task labels rows with one thread.

    Returns
    -------
    consilience.dask.DaskEnsemble
        The ensemble, with ``base_models`` and with ``recipes`` of how they were made.

    Examples
    --------
    >>> import dask.array as da
    >>> import consilience as cs
    >>> X = da.random.default_rng(0).normal(size=(1000, 4), chunks=(250, 4))
    >>> ens = cs.dask.make_ensemble(
    ...     X, "kmeans", n_clusterings=3, n_clusters=4, max_samples=500, random_state=0
    ... )
    >>> ens
    DaskEnsemble: 1,000 objects, 3 clusterings, 4 blocks
    """
    rows = Rows.of(X, sample_weight)
    seeds = draw_seeds(random_state, 2)
    features = rows.sample(max_samples, seeds[0])
    plan = Plan(generator, dict(generator_params or {}), n_clusterings, AUTO, {})
    plan = fill_in(plan, features, 2 if n_clusters is None else n_clusters)
    params = {**plan.generator_params, "keep_base_models": True}
    maker = look_up(plan.generator)
    if maker.needs_n_clusters and n_clusters is None and "n_clusters" not in params:
        raise InputError(f"The generator {maker.name} needs a number of clusters: pass n_clusters=....")
    options = {"n_clusterings": plan.n_clusterings, "random_state": seeds[1], "n_jobs": n_jobs}
    fitted = maker(features, params, n_clusters=n_clusters, **options)
    return labeled(rows, fitted, features, max_distinct)


class Rows:
    """Lazy rows of features, block by block.

    blocks : tasks of arrays or data frames.
    lengths : rows of each.
    """

    indexes: list[Delayed] | None = None  # of the blocks of a data frame

    def __init__(self, blocks: list[Delayed], lengths: tuple[int, ...], width: int, weights: Any):
        self.blocks, self.lengths, self.width, self.weights = blocks, lengths, width, weights

    @classmethod
    def of(cls, X: Any, sample_weight: Any = None) -> Rows:
        """Rows of the given features; sizes that Dask does not know are counted, with a warning."""
        frame = hasattr(X, "npartitions") and hasattr(X, "columns")
        if not frame and not isinstance(X, da.Array):
            raise in_memory(X, "X", "consilience.generate or ConsensusClustering")
        if len(X.shape) != 2 or X.shape[1] == 0:
            raise InputError(
                f"X has shape {X.shape}; expected (n_samples, n_features), one feature at least."
            )
        if not frame and X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        blocks = blocks_of(X)
        known = None if frame else X.chunks[0]
        if known is None or any(math.isnan(length) for length in known):
            known = counted(X, "X")
        elif X.dtype.kind in "fiu":
            most = max(known)
            ensure_task_fits(
                float(most) * X.shape[1] * (X.dtype.itemsize + 8),
                what=f"A block of {most:,} rows and {X.shape[1]} features",
                remedy=f"divide X into smaller blocks, X.rechunk(({max(1, most // 8)}, -1)), or give "
                f"workers more memory",
            )
        weights = None
        if sample_weight is not None:
            weights = lazy_weights(DaskEnsemble(_one_column(X), sample_weight=sample_weight))
        rows = cls(blocks, tuple(int(n) for n in known), int(X.shape[1]), weights)
        rows.indexes = indexes_of(X) if frame else None
        return rows

    @property
    def n_samples(self) -> int:
        return sum(self.lengths)

    def declared(self) -> list[Declared]:
        """What is known of each block, for the tasks that read it."""
        return [Declared("X", i, n, self.width) for i, n in enumerate(self.lengths)]

    def sample(self, size: int, seed: int) -> Features:
        """Rows drawn by position, in their order, after checks."""
        check("max_samples", size, Integer(2))
        n = self.n_samples
        if n < 2:
            raise InputError(f"X has {n} rows; at least two are needed.")
        ends = np.cumsum([0, *self.lengths])
        weights = [None] * len(self.blocks) if self.weights is None else blocks_of(self.weights)
        spans = zip(ends[:-1].tolist(), ends[1:].tolist())
        tasks = [
            call(_pick, block, said, own, n, size, seed, start, stop)
            for block, said, own, (start, stop) in zip(self.blocks, self.declared(), weights, spans)
        ]
        return self._gathered(tasks)

    def take(self, positions: np.ndarray | None) -> Features:
        """Rows at rising positions, after checks; None means all rows."""
        if self.n_samples < 2:
            raise InputError(f"X has {self.n_samples} rows; at least two are needed.")
        ends = np.cumsum([0, *self.lengths])
        weights = [None] * len(self.blocks) if self.weights is None else blocks_of(self.weights)
        if positions is None:
            positions = np.arange(ends[-1])
        cuts = np.searchsorted(positions, ends)
        own = [positions[a:b] - start for a, b, start in zip(cuts, cuts[1:], ends.tolist())]
        blocks = zip(self.blocks, self.declared(), weights, own)
        return self._gathered([call(_rows_at, *block) for block in blocks if len(block[3])])

    def _gathered(self, tasks: list[Delayed]) -> Features:
        """The results of tasks on blocks, as features."""
        found = [pair for pair in collect(tasks, "drawing a sample") if len(pair[0])]
        parts = [pair[0] for pair in found]
        if hasattr(parts[0], "iloc"):
            import pandas

            together = pandas.concat(parts, ignore_index=True)
        else:
            together = np.concatenate(parts)
        weight = None if self.weights is None else np.concatenate([pair[1] for pair in found])
        return Features(together, sample_weight=weight)


def _one_column(X: Any) -> Any:
    return X[[X.columns[0]]] if hasattr(X, "columns") else X[:, :1]


def labeled(
    rows: Rows, fitted: LocalEnsemble, features: Features, max_distinct: int | None = None
) -> DaskEnsemble:
    """The lazy ensemble of labels that the base models of a fitted ensemble give to rows."""
    members = fitted.base_models
    if members is None:
        raise InputError(
            "The generator kept nothing that labels further rows, and of Dask features it sees a sample "
            "alone. Use a generator of the library, or return an Ensemble with base_models."
        )
    dtype = code_dtype(int(fitted.n_clusters_per_clustering.max()))
    held = share((members, features.X.dtype, dtype))
    m = len(members)
    tasks = [call(_label, block, said, held) for block, said in zip(rows.blocks, rows.declared())]
    codes = stacked(tasks, rows.lengths, dtype=np.dtype(dtype), width=m, name="members")
    names = given_names(fitted)
    ensemble = DaskEnsemble(
        codes,
        clustering_names=names,
        sample_weight=rows.weights,
        max_distinct=max_distinct,
        recipes=fitted.recipes,
        base_models=members,
    )
    made_by_members(ensemble, rows.indexes)
    return ensemble


# Features to a consensus
# ---------------------------------------------------------------------------------------


def learn_lazily(
    model: Any, X: Any, sample_weight: Any, plan: Plan, n_clusters: int, must_link: Any = None
) -> Any:
    """``fit`` of ConsensusClustering on lazy features, parameters checked."""
    if model.keep_base_models is not None and not model.keep_base_models:
        raise InputError(
            "keep_base_models=False leaves nothing to label the rows of Dask features with: leave it out."
        )
    rows = Rows.of(X, sample_weight)
    sample_seed, *seeds = draw_seeds(make_rng(model.random_state), 3)
    features = rows.sample(SAMPLE, sample_seed)
    # With a sample of all rows, the data and the seeds are those of one machine.
    if rows.n_samples <= SAMPLE:
        seeds = draw_seeds(model.random_state, 2) if _repeats(model.random_state) else seeds
    validate_data(model, _named(features), skip_check_array=True)
    features.check_k(n_clusters, "n_clusters")
    plan = fill_in(plan, features, n_clusters)
    consensus = ready(model, plan)
    plan.generator_params.setdefault("keep_base_models", True)
    fitted = members_of(model, features, plan, seeds[0])
    plan.generator_params.pop("keep_base_models")
    own = consensus.get_params(deep=False)
    if "random_state" in own and own["random_state"] is None:
        consensus.set_params(random_state=seeds[1])
    model.ensemble_ = labeled(rows, fitted, features)
    model.method_ = consensus.fit(model.ensemble_, must_link=must_link)
    model.plan_ = plan
    model.labels_, model.confidence_ = consensus.labels_, consensus.confidence_
    remember(model, features, None)
    local = copy.copy(model)
    local.method_ = consensus.to_local()
    local.ensemble_ = LocalEnsemble(local.method_.distinct_, base_models=fitted.base_models)
    local.labels_, local.confidence_ = local.method_.labels_, local.method_.confidence_
    remember(local, features, np.arange(len(local.labels_)))
    hold(model, local)
    return model


def _named(features: Features) -> Any:
    """An array or frame that tells scikit-learn the number of features and their names."""
    if features.feature_names is None:
        return features.X[:1]
    import pandas

    return pandas.DataFrame(features.X[:1], columns=features.feature_names)


def _repeats(random_state: Any) -> bool:
    """Whether the same seeds can be drawn again."""
    return random_state is None or isinstance(random_state, (int, np.integer))


def predict_rows_lazily(model: Any, X: Any, what: str, top: int | None = None) -> Any:
    """The result of a method of a fitted ConsensusClustering on lazy rows, as a lazy array."""
    rows = Rows.of(X)
    if rows.width != model.n_features_in_:
        raise InputError(
            f"X has {rows.width} features, but {type(model).__name__} was fitted to "
            f"{model.n_features_in_}. Pass the same features."
        )
    held = _on_workers(model)
    c = predictor_of(model.method_).n_clusters
    one_value = what in ("predict", "predict_confidence", "score_samples")
    width = None if one_value else c if top is None else min(top, c)
    # Named by model and block, so that all methods on the same rows share one labeling.
    of_model = held.task.key if isinstance(held, Scattered) else held.key
    blocks = [
        (block, said, f"labeled-{tokenize(of_model, block.key)}")
        for block, said in zip(rows.blocks, rows.declared())
    ]
    known = [call(_label_once, block, said, held, key=key) for block, said, key in blocks]
    tasks = [call(_predict, one, held, what, top, width) for one in known]
    if top is not None:
        clusters = stacked(
            [call(getitem, t, 0) for t in tasks], rows.lengths, dtype=np.int64, width=width, name=what
        )
        shares = stacked(
            [call(getitem, t, 1) for t in tasks], rows.lengths, dtype=np.float64, width=width, name=what
        )
        return clusters, shares
    dtype = np.int64 if what == "predict" else np.float64
    return stacked(tasks, rows.lengths, dtype=dtype, width=width, name=what)


#: Model -> (its method, the client, the model where tasks find it), for as long as it is not fitted again.
_SENT: WeakKeyDictionary[Any, tuple[Any, Any, Any]] = WeakKeyDictionary()


def _on_workers(model: Any) -> Any:
    """The model in a form to give to tasks: it is sent to workers once."""
    local, client = model.to_local(), active_client()
    method, former, held = _SENT.get(model, (None, None, None))
    if method is not local.method_ or former is not client:
        held = share(copy.copy(local))  # a copy, so that nothing here keeps the model alive
        _SENT[model] = local.method_, client, held
    return held


# Tasks
# -------------------------------------------------------------------------------------------------------


def drawn(n: int, size: int, seed: int) -> np.ndarray:
    """Positions of a sample, rising; all of them if there are no more."""
    if n <= size:
        return np.arange(n)
    return np.sort(np.random.default_rng(seed).choice(n, size, replace=False, shuffle=False))


def _pick(
    block: Any, declared: Declared, weights: Any, n: int, size: int, seed: int, start: int, stop: int
) -> tuple[Any, np.ndarray | None]:
    """The rows of a block that are in the sample.

    The sample is drawn again in every task, so that the graph holds no positions.
    """
    positions = drawn(n, size, seed)
    return _rows_at(
        block,
        declared,
        weights,
        positions[np.searchsorted(positions, start) : np.searchsorted(positions, stop)] - start,
    )


def _rows_at(block: Any, declared: Declared, weights: Any, own: np.ndarray) -> tuple[Any, np.ndarray | None]:
    """Some rows of a block with their weights."""
    declared.check(block)
    rows = block.iloc[own] if hasattr(block, "iloc") else np.asarray(block)[own]
    return rows, None if weights is None else np.asarray(weights)[own]


def _features(block: Any) -> Features:
    return Features(block, least_rows=1)


def _label(block: Any, declared: Declared, held: tuple[Sequence[Any], Any, Any]) -> np.ndarray:
    declared.check(block)
    members, dtype, codes = held
    if len(block) == 0:
        return np.empty((0, len(members)), codes)
    with one_thread(), one_blas_thread():
        X = without_names(_features, block).X.astype(dtype, copy=False)
        return label_rows(members, X, n_jobs=1)[0].astype(codes)


def _label_once(block: Any, declared: Declared, model: Any) -> tuple[Any, np.ndarray, Any] | None:
    """Label a block.

    Returns (the row of the fit that each row equals, codes, the share of members that know similar rows, or
    why there is none).
    """
    declared.check(block)
    if len(block) == 0:
        return None
    with one_thread(), one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return without_names(lambda X: label(model, X, reach=True)[1:], block)
        except InputError as error:
            # Base models that cannot say it, or rows that are refused: the error says which.
            return *without_names(lambda X: label(model, X)[1:3], block), str(error)


def _predict(labeled: Any, model: Any, what: str, top: int | None, width: int | None) -> Any:
    """The result of a method of the model on a labeled block."""
    if labeled is None:
        nothing = np.empty((0,) if width is None else (0, width), np.int64 if what == "predict" else float)
        return nothing if top is None else (nothing.astype(np.int64), nothing)
    known, codes, within = labeled
    if what == "score_samples":
        if isinstance(within, str):
            raise InputError(within)
        return within
    predictor = predictor_of(model.method_)
    with one_thread(), one_blas_thread():
        if what in ("predict_proba", "predict_top"):
            clusters, shares = predictor.shares(codes, top, n_jobs=1)
            return shares if top is None else (clusters, shares)
        labels = predictor.predict(codes, n_jobs=1)
        if what == "predict_confidence":
            return predictor.confidence(codes, labels, n_jobs=1)
        labels[known >= 0] = model.labels_[known[known >= 0]]
        return labels
