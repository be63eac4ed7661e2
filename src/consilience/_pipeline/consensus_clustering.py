"""From features to a consensus in one estimator: make base clusterings, then combine them."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _register, generate
from .._base.dask_types import is_lazy
from .._base.estimator import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    check_parameters,
    declared,
    fit_with,
    forget,
)
from .._base.names import Named, check_names, find
from .._base.parameters import (
    Choice,
    Flag,
    Integer,
    Kind,
    MinClusterSize,
    NJobs,
    Nothing,
    Rule,
    Seed,
    check_weights,
    is_left_open,
    listed,
)
from .._base.progress import progress_shown
from .._base.rng import draw_seeds
from .._data.ensemble import Ensemble
from .._data.features import Features, as_features
from .._data.frames import in_order_of, library_of
from .._data.plausibility import question_features
from .._kernels.labels.distinct import RowKeys
from .._kernels.runtime.memory import refusing
from .._kernels.runtime.threads import one_blas_thread
from .._members.labeling import KEEP
from .._results.model import FittedModel
from .._results.summary import summary
from .._results.view import UNSTABLE, instability_of
from ..consensus import BaseConsensus, method, methods
from ..errors import GuessWarning, InputError, InstabilityWarning, warn
from ..generate import PREPARATIONS
from .defaults import AUTO, Plan, check_params, fill_in, is_auto, without_zeros
from .members import is_clusterer, make_members
from .new_rows import PlacesRows, remember
from .stability import stability_of

if TYPE_CHECKING:
    from .._choosing import ChooseKResult

__all__ = ["ConsensusClustering"]

#: The class whose ``fit`` it is; jedi would take Self for the base class.
Model = TypeVar("Model", bound="BasePipeline")

METHOD = Kind("an instance of a consensus method", lambda value: isinstance(value, BaseConsensus))
GENERATOR = (
    Named([AUTO, *generate.generators()])
    | Kind("a function", lambda value: callable(value) and not isinstance(value, type))
    | Kind("a clusterer (an instance)", is_clusterer)
    | Kind(
        "a list or dict of clusterers",
        lambda value: isinstance(value, (Sequence, Mapping)) and not isinstance(value, str),
    )
)
PARAMS = Nothing() | Kind("a dict of parameters by name", lambda value: isinstance(value, Mapping))
KeepBaseModels = Annotated[bool | None, KEEP]
Verbose = Annotated[bool | int | None, Nothing() | Flag() | Integer(0)]


class Whole(NamedTuple):
    """A published method that consists of a generator and a consensus method."""

    generator: str
    method: str
    params: dict[str, Any]


#: These methods, by the name that ``method`` takes.
WHOLE = {
    "mdec": Whole("metric-subspace", "lwea", {"instability_tolerance": 1.0}),
    "mdec-hc": Whole("metric-subspace", "lwea", {"instability_tolerance": 1.0}),
    "mdec-sc": Whole("metric-subspace", "lwsc", {"instability_tolerance": 1.0}),
    "mdec-bg": Whole("metric-subspace", "lwgp", {"instability_tolerance": 1.0}),
}


class BasePipeline(
    PlacesRows, FittedModel, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    """Base of the estimators that make base clusterings of features and combine them.

    Parameters
    ----------
    min_cluster_size : float or None
        Clusters smaller than this are merged, as by every consensus method: see
        :meth:`consilience.consensus.BaseConsensus.fit`.
    random_state : int, Generator or None
        Seed of generator and consensus.
    n_jobs : int or None
        Threads of generator and consensus. -1 uses all cores, None follows joblib. The answer does not depend
        on it. A ``method`` estimator that was given another number keeps it.
    keep_base_models : bool or None
        Whether to keep what labels new rows: the centers of k-means, landmarks, or X for base clusterings
        that label a row by its nearest neighbor (metric-subspace, spectral, clusterers without ``predict``).
        None, the default, keeps what takes at most 128 MB.
    verbose : bool, int or None
        Whether long work shows its progress; None, the default, shows it if there is a terminal.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of each object, 0 the largest.
    confidence_ : array (n_samples,)
        How sure the base clusterings are of each object's cluster, in [0, 1]. It is not a probability.
    membership_ : array (n_samples, n_clusters)
        Share of each cluster in every object; the shares of an object add up to 1. Computed when asked for.
    sample_names_ : list or None
        Names of the objects: the index of the data frame given to :meth:`fit`, else None.
    n_clusters_ : int
        Number of clusters found.
    cluster_sizes_ : array (n_clusters,)
        Number of objects in each cluster; their total weight where they have weights.
    consensus_nmi_, baseline_nmi_ : float
        Agreement of the base clusterings with the clusters, and with those of plain average linkage, as in
        ``method_``.
    ensemble_ : Ensemble
        The base clusterings, with their recipes and with what labels new rows.
    method_ : consensus estimator
        The fitted consensus method, with everything it learned.
    stability_ : float
        How similar the consensus clusterings of two other ensembles of this size would be (adjusted Rand
        index; 1 means equal), estimated from halves of the base clusterings at hand. Where it is low, another
        seed changes much. NaN for fewer than ten base clusterings. If ``method`` is "auto", ``fit`` computes
        it and warns below 0.85; otherwise it is computed when asked for, which takes as long as six fits to
        half of the base clusterings and at most 2,000 objects. It disregards ``must_link`` and
        ``min_cluster_size``.
    study_ : :class:`ChooseKResult`
        How the number of clusters was chosen, if it was left to "auto". Saved models keep it.
    plan_ : :class:`consilience._pipeline.defaults.Plan`
        The generator and the method with their parameters, as given or as chosen by the rule.
    n_features_in_ : int
        Number of features in ``fit``.
    feature_names_in_ : array (n_features,)
        Names of the features, if X is a data frame with names of columns.
    messages_ : list of str
        Warnings of ``fit``, and of a low ``stability_``. Empty if there were none.
    """

    _rules: ClassVar[dict[str, Rule]] = {}

    # Parameters of all pipelines.
    n_clusters: Any
    method: Any
    n_clusterings: int | None
    min_cluster_size: float | None
    random_state: Any
    n_jobs: int | None
    keep_base_models: bool | None
    verbose: bool | int | None

    labels_: np.ndarray
    confidence_: np.ndarray
    ensemble_: Ensemble
    method_: Any  # which method it is, and so what it learned, depends on the parameters
    study_: ChooseKResult
    plan_: Plan
    n_features_in_: int
    feature_names_in_: np.ndarray

    def fit(
        self: Model,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        must_link: Any = None,
    ) -> Model:
        """Make base clusterings of X (n_samples, n_features), dense, sparse or of Dask, and combine them.

        An object of ``sample_weight`` 0 takes no part; it gets the label of the nearest object that does.
        ``must_link`` is the same as in the consensus methods, see
        :meth:`consilience.consensus.BaseConsensus.fit`. If X is a Dask array or data frame, base clusterings
        are fitted to at most 200,000 rows (:func:`consilience.dask.make_ensemble`), and what is learned about
        objects is lazy.
        """
        forget(self)
        n_clusters = self._n_clusters()
        if is_auto(n_clusters):
            study = self._study(X, sample_weight)
            with warnings.catch_warnings():  # said before the study
                warnings.simplefilter("ignore", GuessWarning)
                fit_with(
                    self, study.n_clusters, lambda twin: twin.fit(X, y, sample_weight, must_link=must_link)
                )
            self.study_ = study
            return self
        check_parameters(self, n_clusters=n_clusters)
        plan = Plan(*self._generator(), self.n_clusterings, *self._method())
        check_params(plan)
        if not is_auto(plan.method):
            ready(self, plan)  # so that a wrong parameter is reported before any long work
        shown = None if self.verbose is None else bool(self.verbose)
        with (
            progress_shown(shown) if shown is not None else nullcontext(),
            refusing(
                f"{type(self).__name__} on X of shape {getattr(X, 'shape', '(unknown)')}",
                "use fewer base clusterings (n_clusterings), fewer objects or features, or a generator and "
                "consensus method whose memory grows with n alone (landmarks and LWGP)",
            ),
        ):
            if is_lazy(X):
                learn = _register.offered("learn_lazily")
                return learn(self, X, sample_weight, plan, n_clusters, must_link)
            return self._learn(X, sample_weight, plan, n_clusters, must_link)

    # Here and not beside predict_proba: scikit-learn lets set_output act on methods of this class alone.
    def transform(self, X: Any) -> np.ndarray:
        """The shares of :meth:`predict_proba`, for use as a transformer."""
        return self.predict_proba(X)

    def _learn(self: Model, X: Any, sample_weight: Any, plan: Plan, n_clusters: int, must_link: Any) -> Model:
        """:meth:`fit` after the parameters were checked."""
        everything = as_features(X)
        if everything is not X:
            self._question(everything, X)
        # Records n_features_in_, and feature_names_in_ unless names are of several types.
        validate_data(self, everything.X if _names_differ_in_type(X) else X, skip_check_array=True)
        everything.check_k(n_clusters, "n_clusters")
        features, counted = _split_weights(everything, sample_weight)
        if not counted.all():
            features.check_k(n_clusters, "n_clusters")
            if must_link is not None:
                raise InputError(
                    f"must_link is given with a sample_weight of zero for {int((~counted).sum())} objects, "
                    "which take no part. Give them a small positive weight, or leave them out."
                )
        plan = fill_in(plan, features, n_clusters)
        consensus, seeds = ready(self, plan), draw_seeds(self.random_state, 2)
        self.ensemble_ = members_of(self, without_zeros(features, plan), plan, seeds[0])
        own = consensus.get_params(deep=False)
        if "random_state" in own and own["random_state"] is None:
            consensus.set_params(random_state=seeds[1])
        self._check_seen(plan)
        self.method_ = consensus.fit(self.ensemble_, must_link=must_link)
        self.plan_ = plan
        self.labels_, self.confidence_ = self.method_.labels_, self.method_.confidence_
        rows = np.arange(everything.n_samples)
        if not counted.all():
            rows = _nearest(everything.X, features.X)
            self.labels_, self.confidence_ = self.labels_[rows], self.confidence_[rows]
        remember(
            self,
            everything,
            rows,
            keys=RowKeys.of(everything.X, n_jobs=self.n_jobs),
            sample_names=everything.sample_names,
            library=library_of(X),
        )
        if is_auto(self._method()[0]) and must_link is None and self.min_cluster_size is None:
            self._warn_of_instability()
        return self

    def _warn_of_instability(self) -> None:
        """Estimate :attr:`stability_`, and warn if it is low."""
        if self.stability_ < UNSTABLE:
            warn(instability_of(self.stability_, self.n_clusters_), InstabilityWarning)

    def _study(self, X: Any, sample_weight: Any) -> ChooseKResult:
        """Choose the number of clusters, and warn if it is one."""
        check_parameters(self, n_clusters=1)
        if is_lazy(X):
            features, weights = X, sample_weight
        else:
            weights = None
            features, _ = _split_weights(everything := as_features(X), sample_weight)
            if everything is not X:
                self._question(everything, X)
        study = _register.offered("choose_k")(
            features,
            sample_weight=weights,
            preprocess=self._prepared_as(),
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        if study.n_clusters == 1:
            warn(self._one_cluster)
        return study

    @property
    def _one_cluster(self) -> str:
        return (
            f"n_clusters='auto' found no more structure than one Gaussian cloud of the same covariance "
            f"has, so {type(self).__name__} makes one cluster. study_ says what was tested; give n_clusters "
            "to divide the objects all the same."
        )

    def _question(self, features: Features, given: Any) -> None:
        """Warn where what was given looks like labels."""
        remedy = "combine them with a consensus method, such as cs.consensus.LWGP(n_clusters).fit(X)"
        question_features(features, given, remedy)

    def _prepared_as(self) -> str:
        """The preparation of the features for the study: the generator's own, or that of the study."""
        own = (self._generator()[1] or {}).get("preprocess")
        if own in PREPARATIONS:
            return str(own)
        return "none" if own is None and not is_auto(self._generator()[0]) else AUTO

    @property
    def membership_(self) -> np.ndarray:
        if self._rows_of_ensemble is None:  # lazy
            return self.method_.membership_
        return self.method_.membership_[self._rows_of_ensemble]

    @property
    def n_clusters_(self) -> int:
        return self.method_.n_clusters_

    @property
    def cluster_sizes_(self) -> np.ndarray:
        return self.method_.cluster_sizes_

    @property
    def consensus_nmi_(self) -> float:
        return self.method_.consensus_nmi_

    @property
    def baseline_nmi_(self) -> float:
        return self.method_.baseline_nmi_

    @property
    def messages_(self) -> list[str]:
        study = vars(self).get("study_")
        said = [] if study is None or study.n_clusters > 1 else [self._one_cluster]
        unstable = instability_of(self._stability_, self.n_clusters_)
        return [*said, *self.method_.messages_, *([unstable] if unstable else [])]

    @property
    def stability_(self) -> float:
        if self._stability_ is None:
            local = self.to_local()
            self._stability_ = stability_of(local.ensemble_, local.method_)
        return self._stability_

    @property
    def _n_features_out(self) -> int:
        return self.method_._n_features_out

    def _check_seen(self, plan: Plan) -> None:
        """Raise if the generator left objects unseen, as bagging does with few members."""
        unseen, m = self.ensemble_.unseen, self.ensemble_.n_clusterings
        if unseen.size == 0:
            return
        names = self.ensemble_.sample_names
        shown = listed(unseen if names is None else (repr(names[i]) for i in unseen))
        bagging = find(plan.generator, {"bagging": True})
        more = (
            ", let each see more (generator_params={'sample_fraction': ...}), or give those it left out "
            "the label of the nearest center (generator_params={'unseen': 'nearest'})"
        )
        raise InputError(
            f"{'Object' if unseen.size == 1 else 'Objects'} {shown} "
            f"{'was' if unseen.size == 1 else 'were'} seen by none of the {m} base "
            f"clusterings, so no consensus can place {'it' if unseen.size == 1 else 'them'}. Make more base "
            f"clusterings (n_clusterings={plan.n_clusterings}){more if bagging else ''}."
        )

    def fit_predict(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        must_link: Any = None,
    ) -> np.ndarray:
        """Cluster X and return the cluster of every object."""
        return self.fit(X, y, sample_weight=sample_weight, must_link=must_link).labels_

    def summary(self) -> str:
        """A short text: the clusters, their sizes and confidence, and the warnings."""
        check_is_fitted(self, "method_")
        return summary(self)

    def _combined_by(self) -> BaseConsensus:
        return self.method_

    def _rows_in_ensemble(self) -> np.ndarray | None:
        return self._rows_of_ensemble

    def _names_of_rows(self) -> list[Any] | None:
        return self.sample_names_

    def _n_clusters(self) -> Any:
        """The number given here, or that of the consensus estimator; "auto" if neither is given."""
        asked = self.n_clusters
        if asked is None or is_auto(asked):
            return getattr(self.method, "n_clusters", None) or AUTO
        return asked

    def _generator(self) -> tuple[Any, dict[str, Any]]:
        """What makes the base clusterings, and its parameters."""
        raise NotImplementedError

    def _method(self) -> tuple[Any, dict[str, Any]]:
        """What combines them, and its parameters."""
        raise NotImplementedError

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def ready(model: BasePipeline, plan: Plan) -> BaseConsensus:
    """The consensus method of a plan, ready to fit."""
    chosen, params = plan.method, dict(plan.method_params)
    consensus = method(chosen)() if isinstance(chosen, str) else clone(chosen)
    names = consensus.get_params(deep=False)
    owner, here = type(consensus).__name__, type(model).__name__
    own = ("n_clusters", "min_cluster_size", "random_state", "n_jobs")
    reserved = {name: f"{name} of {here}" for name in own}
    check_names(params, names, owner=owner, reserved=reserved)
    if "n_jobs" in names and is_left_open(consensus, "n_jobs"):
        params["n_jobs"] = model.n_jobs
    if model.min_cluster_size is not None:
        params["min_cluster_size"] = model.min_cluster_size
    return consensus.set_params(n_clusters=model._n_clusters(), **params)


def members_of(model: BasePipeline, features: Features, plan: Plan, seed: int) -> Ensemble:
    """The base clusterings of a plan."""
    return make_members(
        features,
        plan,
        n_clusters=model._n_clusters(),
        keep_base_models=model.keep_base_models,
        random_state=seed,
        n_jobs=model.n_jobs,
        owner=type(model).__name__,
    )


@declared
class ConsensusClustering(BasePipeline):
    """Cluster features by consensus: many base clusterings are combined into one clustering.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters returned. "auto", the default, or None takes the number of a ``method`` estimator
        that was given one, and otherwise lets :func:`choose_k` choose. If the data cannot be told from a
        single cloud, the number is 1, with a warning that says so.
    generator : str, callable, clusterer, list or dict of clusterers
        How base clusterings are made. "auto", the default, leaves it to the rule below. A name is that of a
        function of :mod:`consilience.generate` (``consilience methods`` lists the names; hyphens and
        underscores are alike). A callable takes X and returns an Ensemble or labels; it gets a seed if it
        takes ``random_state``. Otherwise scikit-learn clusterers: one, a list of them or of ``(name,
        clusterer)`` pairs, or a dict by name.
    generator_params : dict or None
        More parameters of the generator, by name. If they do not include ``n_clusters``, the number of
        clusters of the base clusterings depends on the generator. With kmeans, random-features, bagging and
        spectral it is ``n_clusters``. With random-k it is from 2 to the larger of ``n_clusters`` and the
        square root of n_samples, and with metric-subspace from 2 to the square root of n_samples, rounded up.
        With landmarks the largest number is 60, or the square root of n_samples if that is less, but not
        below ``n_clusters``, and the smallest is a third of it.
    method : str or consensus estimator
        How base clusterings are combined. "auto", the default, leaves it to the rule below. Otherwise give
        the name of a method (``consilience methods`` lists them; short names such as ``eac`` are understood)
        or an instance, which is cloned and gets ``n_clusters`` from here. "mdec" (or "mdec-sc", "mdec-bg") is
        all of :class:`MDEC`: its base clusterings come from metric-subspace, whatever the default of
        ``generator``.
    method_params : dict or None
        More parameters of the consensus method, by name.
    n_clusterings : int or None
        Number of base clusterings. None leaves it to the rule below or to the generator: 20 for most, 100 for
        metric-subspace, and one for each bandwidth for spectral. A list of clusterers uses each once; a
        single clusterer makes 20 if it draws random numbers and one if it does not. A callable decides by
        itself.

    Notes
    -----
    With ``n_clusters="auto"`` a study comes first: that of :func:`choose_k` at its defaults, if the generator
    is left to the rule, and otherwise of the features as the generator prepares them. It takes longer than
    most fits.

    The rule behind the other "auto" looks at the shape of X, ``n_clusters`` and whether X is mostly zeros:
    sparse, or dense without negative values and with at most a tenth other than zero.

    For dense X the base clusterings come from metric-subspace, four from each embedding, with 2 to
    max(sqrt(n_samples), 2 n_clusters) clusters. For up to 2,500 objects there are 400 (from 1,000 objects on
    200), combined by :class:`LWSC`. For up to 5,000 objects there are 160,
    and for up to 12,000 objects 60, if n_samples^2 n_features is at most 4e10, combined by :class:`LWEA`.
    Beyond that there are 20 base clusterings of 1,000 landmarks each, with at most max(60, 2 n_clusters)
    clusters, combined by :class:`LWEA` (``instability_tolerance`` 1). If there are more than 10,000 distinct
    objects, it links a sample of 10,000 and then places the others. Each base clustering sees half of the
    features, but at least 8.

    For X of mostly zeros there are 100 base clusterings (from 1,000 objects on 60, from 2,500 on 30) by
    k-means with n_clusters / 2 to max(8, 2 n_clusters) clusters, combined by :class:`LWGP`.

    A preparation of the features is drawn for each base clustering (sparse counts are always tf-idf), so that
    columns need no scaling beforehand. A ``method`` that is named gets at most 50 base clusterings.
    docs/methods/consensus-clustering.md reports the evidence for the rule.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import consilience as cs
    >>> model = cs.ConsensusClustering(n_clusters=3, random_state=0).fit(load_iris().data)
    >>> model.labels_.shape, model.ensemble_.n_clusterings, model.plan_.generator
    ((150,), 400, 'metric-subspace')
    >>> bool((model.predict(load_iris().data) == model.labels_).all())
    True
    >>> params = {"bandwidths": [0.5, 1, 5]}
    >>> model = cs.ConsensusClustering(3, generator="spectral", generator_params=params, method="lwea")
    >>> model.fit(load_iris().data).ensemble_.n_clusterings
    3
    """

    n_clusters: Annotated[int | str | None, Integer(1) | Choice(AUTO)] = field(default=AUTO, kw_only=False)
    generator: Annotated[Any, GENERATOR] = AUTO
    generator_params: Annotated[Mapping[str, Any] | None, PARAMS] = None
    method: Annotated[Any, Named([AUTO, *methods(), *WHOLE]) | METHOD] = AUTO
    method_params: Annotated[Mapping[str, Any] | None, PARAMS] = None
    n_clusterings: Annotated[int | None, Nothing() | Integer(1)] = None
    min_cluster_size: MinClusterSize = None
    random_state: Seed = None
    n_jobs: NJobs = -1
    keep_base_models: KeepBaseModels = None
    verbose: Verbose = None

    def _generator(self) -> tuple[Any, dict[str, Any]]:
        """What makes the base clusterings, and its parameters."""
        chosen, params = self.generator, dict(self.generator_params or {})
        whole = find(self.method, WHOLE)
        if whole is None:
            return chosen, params
        default = inspect.signature(type(self).__init__).parameters["generator"].default
        if chosen != default and find(chosen, {whole.generator: True}) is None:
            raise InputError(
                f"method={self.method!r} is a whole method, whose base clusterings come from "
                f"{whole.generator}: leave out generator={chosen!r}, or choose method={whole.method!r} to "
                "combine the base clusterings of that generator."
            )
        return whole.generator, params

    def _method(self) -> tuple[Any, dict[str, Any]]:
        """What combines them, and its parameters."""
        params = dict(self.method_params or {})
        whole = find(self.method, WHOLE)
        return (self.method, params) if whole is None else (whole.method, {**whole.params, **params})


def _split_weights(features: Features, sample_weight: Any) -> tuple[Features, np.ndarray]:
    """The objects that count, with their weights, and a mask of them."""
    n = features.n_samples
    if sample_weight is None:
        return features, np.ones(n, bool)
    weights = check_weights(in_order_of(features.sample_names, sample_weight), n, zero=True)
    if (counted := weights > 0).sum() < 2:
        raise InputError(
            f"sample_weight is zero for all but {counted.sum()} objects; at least two must count."
        )
    kept = Features(features) if counted.all() else features.take(np.flatnonzero(counted))
    kept.sample_weight = weights[counted]
    return kept, counted


@one_blas_thread()
def _nearest(X: Any, among: Any) -> np.ndarray:
    """For every row of X, the index of the nearest row of ``among``."""
    from sklearn.neighbors import NearestNeighbors

    return NearestNeighbors(n_neighbors=1).fit(among).kneighbors(X, return_distance=False).ravel()


def _names_differ_in_type(X: Any) -> bool:
    """Whether columns are called by text and by other things, which scikit-learn does not record."""
    kinds = {isinstance(name, str) for name in getattr(X, "columns", ())}
    return len(kinds) > 1
