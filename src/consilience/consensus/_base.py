"""The base class of the consensus methods: all they share, so that their files hold only mathematics.

Methods do not override ``fit``. It turns the input into an :class:`~consilience.Ensemble`, checks parameters,
compresses equal objects, puts the ensemble in canonical order, makes one random generator, calls ``_fit`` of
the method, and maps what was learned back to the objects and names of the user. Methods implement ``_fit``:
it gets distinct, weighted objects and returns a :class:`Solution`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast, final

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _register
from .._base.dask_types import is_lazy
from .._base.estimator import (
    BaseMethod,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    check_n_clusters,
    check_parameters,
    declared,
    keep,
    with_parameters,
)
from .._base.estimator import Solution as BaseSolution
from .._base.parameters import (
    LARGEST_SPREAD,
    NClusters,
    check_weights,
    listed,
    relative_to_lightest,
    unit_of,
)
from .._base.progress import announce, loops_shown
from .._base.rng import make_rng
from .._data.distinct import Compressed, check_distinct, inverted
from .._data.ensemble import Ensemble, as_ensemble, objects_behind, say_unseen
from .._data.features import Features
from .._data.frames import library_of
from .._data.links import join, linked_groups
from .._data.named import incidence_of
from .._data.soft import SoftCompressed, SoftEnsemble
from .._evidence.prediction import Predictor, TopClusters, check_top, codes_of, memberships_of, say_unknown
from .._evidence.table import Evidence, agreement_beside_baseline, sizes_of
from .._kernels.cut.partition import by_decreasing_size, compact, merge_small
from .._kernels.runtime.memory import WITHOUT_PAIRS, refusing
from .._kernels.runtime.threads import one_blas_thread
from .._results.model import FittedModel
from ..errors import InputError, LowAgreementWarning, MergedLabelsWarning, warn

#: The method whose ``fit`` it is; jedi would take Self for the base class.
Fitted = TypeVar("Fitted", bound="BaseConsensus")


@dataclass
class Solution(BaseSolution):
    """What a method learned about the u distinct objects it was given, and how.

    See also :class:`consilience._base.estimator.Solution`.

    Parameters
    ----------
    labels : array (u,)
        Cluster of each distinct object, any integers.
    exact : bool
        Whether there must be exactly ``n_clusters`` clusters (a faithful mode may say no).
    merges : array (u - 1, 2), optional
        For a method that builds a tree: one distinct object from each side of the merge at each of its
        ``heights``.
    alone : array (u,), optional
        Which distinct objects are split up: each of their equal objects becomes a cluster of its own,
        numbered last.
    per_sample, per_clustering, per_cluster : dict of arrays
        Arrays by name, whose first axis is that of the ensemble. They are stored as ``name_`` in the order of
        the user (per_sample expanded to all objects, also sparse matrices). ``clustering_weights`` is how far
        a method trusts each clustering: larger is more, and they add up to 1. Methods do not set
        ``confidence``: :class:`~consilience._evidence.table.Evidence` defines it for all of them.
    per_pair : dict of arrays (u, u)
        Stored in the order of ``distinct_`` (the distinct objects), not expanded.
    per_distinct_edge : dict of arrays (u, k)
        Values between objects and base clusters, also in the order of ``distinct_``.
    per_cluster_pair : dict of arrays (k, k)
        Values between base clusters.
    """

    labels: np.ndarray
    exact: bool = True
    merges: np.ndarray | None = None
    alone: np.ndarray | None = None
    per_sample: Mapping[str, Any] = field(default_factory=dict)
    per_clustering: Mapping[str, Any] = field(default_factory=dict)
    per_cluster: Mapping[str, Any] = field(default_factory=dict)
    per_pair: Mapping[str, Any] = field(default_factory=dict)
    per_distinct_edge: Mapping[str, Any] = field(default_factory=dict)
    per_cluster_pair: Mapping[str, Any] = field(default_factory=dict)

    def renumber(self, labels: np.ndarray, numbers: np.ndarray) -> None:
        """Rename cluster j of ``labels`` (u,) to numbers[j], which several may share, wherever it occurs."""
        self.labels = numbers[labels]
        if "membership" in self.per_sample:
            old = self.per_sample["membership"]
            new = np.zeros((old.shape[0], int(numbers.max()) + 1))
            np.add.at(new.T, numbers, old.T)
            self.per_sample = {**self.per_sample, "membership": new}
        if "cluster_labels" in self.per_cluster:
            known = np.append(numbers, -1)  # -1 stays -1
            self.per_cluster = {
                **self.per_cluster,
                "cluster_labels": known[self.per_cluster["cluster_labels"]],
            }


@dataclass(frozen=True)
class Pacing:
    """How to read the share of the admitted evidence from the history of a self-paced method.

    what : what is admitted, in words.
    share : from the history (one array per quantity) and the total weight, the share at each iteration.
    stage : the quantity whose changes begin a new stage; None if every iteration is one.
    """

    what: str
    share: Callable[[Mapping[str, np.ndarray], float], np.ndarray]
    stage: str | None = None


class _Membership:
    """``membership_`` of a method that does not learn it, computed at each access.

    A learned ``membership_`` is an instance attribute and takes precedence.
    """

    def __get__(self, model: Any, owner: type) -> Any:
        """Shares (n_samples, n_clusters) of the clusters in every object of fit, as in ``predict_proba``."""
        if model is None:
            return self
        if "distinct_" not in vars(model):
            raise AttributeError(f"{owner.__name__} is not fitted yet, so it has no membership_.")
        distinct = model.distinct_
        rows = distinct.labels if isinstance(distinct, Compressed) else incidence_of(distinct)
        return distinct.expand(model._predictor.shares(rows)[1])


#: Clusters of so many objects are not questioned, and the share from which on one cluster holds most of them.
FEW_OBJECTS, MOST_OF = 100, 0.8


@declared
class BaseConsensus(FittedModel, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseMethod):
    """Base of the methods that turn an ensemble into one clustering.

    A subclass declares its parameters as :func:`~consilience._base.estimator.declared` says, and implements
    ``_fit(ensemble, rng) -> Solution``. What follows means the same in all methods, and is put into the
    docstrings of those that have it.

    Parameters
    ----------
    n_clusters : int
        Number of clusters returned.
    n_init : int
        Number of starts of the final k-means; the best is kept.
    max_iter : int
        Maximum number of iterations of each start.
    min_cluster_size : float or None
        Clusters that weigh less are merged; see :meth:`fit`.
    random_state : int, Generator or None
        Seed of the random starts.
    n_jobs : int or None
        Number of threads. -1 uses all cores, None follows joblib. The answer does not depend on it.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of each object, 0 the largest.
    confidence_ : array (n_samples,)
        How sure the base clusterings are of each object's cluster, in [0, 1]. It is not a probability.
    membership_ : array (n_samples, n_clusters)
        Share of each cluster in every object, as :meth:`predict_proba` returns it. Computed when asked for.
    n_clusters_ : int
        Number of clusters found: ``n_clusters``, or fewer if ``min_cluster_size`` merged some.
    cluster_sizes_ : array (n_clusters,)
        Number of objects in each cluster, or their total weight if they have weights.
    heights_ : array (u - 1,)
        Heights of the merges of distinct objects, in increasing order.
    consensus_nmi_ : float
        Mean normalized mutual information (arithmetic) of the base clusterings with the clusters. It is the
        :meth:`score` of the objects of ``fit``.
    baseline_nmi_ : float
        The same for as many clusters from plain average linkage. With more than 500 distinct objects, a
        sample of 500 is compared.
    contradicted_ : bool
        Whether the base clusterings agree far less with the clusters than with those of plain average
        linkage.
    distinct_ : Compressed
        The u distinct objects: objects with the same labels in every base clustering are one.
    n_samples_, n_clusterings_ : int
        Number of objects and of base clusterings.
    sample_names_ : list or None
        Names of the objects, if they have any.
    history_ : list
        What changed at each iteration. Empty for methods that do not iterate.
    n_iter_ : int
        Number of iterations.
    converged_ : bool
        Whether the iteration met its stopping rule.
    messages_ : list of str
        Warnings of ``fit``: that it did not converge, that clusters were merged, or that the base clusterings
        contradict the answer. Empty if there were none.
    """

    n_clusters: NClusters = field(default=cast(int, None), kw_only=False)

    if TYPE_CHECKING:  # for classes looked up by name

        def __init__(self, n_clusters: int | None = None, **parameters: Any) -> None: ...

    #: Whether the answer depends only on the ratios of the weights, not on their unit.
    _any_unit: ClassVar[bool] = True
    #: Whether ``_fit`` takes the distinct objects of a SoftEnsemble too.
    _takes_soft: ClassVar[bool] = False
    #: What a user can do if memory runs out.
    _remedy: ClassVar[str] = WITHOUT_PAIRS

    membership_ = _Membership()

    _predictor: ClassVar[Predictor]  # of the last fit; computes what it needs at first use

    consensus_nmi_: ClassVar[float]
    baseline_nmi_: ClassVar[float]
    contradicted_: ClassVar[bool]
    distinct_: ClassVar[Compressed]
    sample_names_: ClassVar[list | None]
    n_samples_: ClassVar[int]
    n_clusterings_: ClassVar[int]

    # The closed part ---------------------------------------------------------------------------------------

    @final
    def fit(
        self: Fitted,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        must_link: Any = None,
    ) -> Fitted:
        """Fit the consensus to base clusterings.

        Parameters
        ----------
        X : Ensemble or anything :class:`~consilience.Ensemble` accepts
            The base clusterings, (n_samples, n_clusterings). Some methods also take a
            :class:`~consilience.SoftEnsemble`. For a :class:`consilience.dask.DaskEnsemble`, or a Dask array
            or data frame, the attributes about objects are lazy.
        y : ignored
            Exists for compatibility with scikit-learn.
        sample_weight : array (n_samples,), optional
            Positive weights of the objects. The largest is at most 1e15 times the smallest.
        must_link : list of pairs, optional
            Pairs of objects that belong together, by position or sample name. Objects that are linked,
            directly or through others, are treated as one object of their total weight, and get one label;
            see :mod:`consilience._data.links`.

        Notes
        -----
        With ``min_cluster_size``, no cluster weighs less than that: smaller clusters are merged, the smallest
        first, into the cluster they are most often together with (mean co-association). A warning is raised
        if fewer than ``n_clusters`` are left, and ``merged_`` holds the sizes of the merged clusters.
        """
        self._library = library_of(X)
        check_n_clusters(self.n_clusters, type(self).__name__, "cs.choose_k(ensemble=labels) estimates one")
        if is_lazy(X):
            check_parameters(self)
            return _register.offered("fit_lazily")(self, X, sample_weight, must_link)
        learn(self, X, sample_weight, must_link=must_link)
        return self

    def _fit(self, ensemble: Compressed, rng: np.random.Generator) -> Solution:
        raise NotImplementedError

    def _cost(self, ensemble: Compressed) -> tuple[float, float] | None:
        """Expected seconds and bytes of a fit, for methods that can take long; None for the others."""
        return None

    @final
    def fit_predict(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        must_link: Any = None,
    ) -> np.ndarray:
        """Fit the consensus and return the cluster of every object."""
        return self.fit(X, y, sample_weight=sample_weight, must_link=must_link).labels_

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Mean agreement of the clusters that :meth:`predict` returns with the base clusterings in X.

        The score is the mean normalized mutual information (divided by the mean of the two entropies) of the
        base clusterings in X with these clusters; for the objects of ``fit`` it is ``consensus_nmi_``. Use it
        to compare methods with the same number of clusters on the same base clusterings. It rises with the
        number of clusters, so that neither the score nor ``cross_val_score`` and ``GridSearchCV``, which use
        it, can choose ``n_clusters``: use :func:`consilience.choose_k`. Measures against true classes are in
        :mod:`consilience.metrics`.

        Parameters
        ----------
        X : Ensemble or anything :class:`~consilience.Ensemble` accepts
            Labels of the same clusterings, as for :meth:`predict`.
        y : ignored
        sample_weight : array (n_objects,), optional
            Weights of the objects. The default is those of X if it is an Ensemble.

        Returns
        -------
        float
        """
        if is_lazy(X):
            return _register.offered("score_lazily")(self, X)
        codes, _ = self._codes(X)
        weights = X.sample_weight if isinstance(X, (Ensemble, SoftEnsemble)) else None
        if sample_weight is not None:
            weights = check_weights(sample_weight, len(codes))
        return self._predictor.score(codes, weights, n_jobs=getattr(self, "n_jobs", None))

    def _open(self, X: Any, sample_weight: Any = None) -> Ensemble | SoftEnsemble:
        """The base clusterings: hard, or soft for a method that takes them."""
        if isinstance(X, Features):
            raise InputError(
                f"X is a table of {X.n_features} features, and {type(self).__name__} combines base "
                f"clusterings. To cluster features use ConsensusClustering(n_clusters=...).fit(X), or make "
                f"base clusterings of them with consilience.generate."
            )
        if not isinstance(X, SoftEnsemble):
            return as_ensemble(X, sample_weight)
        soft = X if sample_weight is None else SoftEnsemble(X, sample_weight=sample_weight)
        if soft.is_crisp:  # zeros and ones say the same as labels
            return soft.harden()
        if not self._takes_soft:
            native = [entry.name for entry in _register.CONSENSUS if entry.load()._takes_soft]
            raise InputError(
                f"{type(self).__name__} takes hard clusterings, but got a SoftEnsemble. Pass soft.draw(10), "
                f"hard clusterings drawn from the memberships with the same expected co-association, or use "
                f"a method that takes memberships: {listed(native)}."
            )
        return soft

    def _check_least(self, min_cluster_size: float | None, compressed: Any) -> None:
        """Raise an error if no cluster can be as large as ``min_cluster_size``."""
        total = float(compressed.sample_weight.sum())
        if min_cluster_size is not None and min_cluster_size > total * (1 + 1e-9):
            raise InputError(
                f"min_cluster_size={min_cluster_size:g} exceeds {total:g}, the weight of all objects "
                f"together; choose at most {total / self.n_clusters:g}, the mean weight of "
                f"{self.n_clusters} clusters."
            )

    def _merge_small(self, solution: Solution, canonical: Any, weights: np.ndarray, least: float) -> None:
        """Merge the clusters of a solution that weigh less than ``least``, and warn how many are left."""
        if solution.alone is not None:
            raise InputError(
                "min_cluster_size cannot be combined with mode='authors', which returns what the published "
                "program returns. Leave one of the two out."
            )
        labels = by_decreasing_size(solution.labels, canonical.sample_weight, tie_breaker=canonical.rows)
        sizes = np.bincount(labels, weights)
        evidence = Evidence(canonical, labels)
        T, N = evidence.table, evidence.seen
        home, merged = merge_small(sizes, T.T @ T, N.T @ N, least)
        numbers = by_decreasing_size(home[labels], canonical.sample_weight, tie_breaker=canonical.rows)
        _, first = np.unique(labels, return_index=True)
        solution.renumber(labels, numbers[first])
        solution.extra = {**solution.extra, "merged": np.array(merged)}
        if merged:
            solution.exact = False
            left = int(numbers.max()) + 1
            one = len(merged) == 1
            said = (
                f"min_cluster_size={least:g} leaves {left} of the {sizes.size} clusters: "
                f"{listed(f'{size:g}' for size in merged)} "
                f"{'is the size of one that was' if one else 'are the sizes of those that were'} merged "
                f"into the cluster "
                f"{'it is' if one else 'they are'} most often together with. Ask for fewer clusters, or a "
                f"smaller min_cluster_size."
            )
            solution.messages = [*solution.messages, said]
            warn(said, MergedLabelsWarning)

    def _admit(self, ensemble: Any, must_link: Any = None) -> Any:
        """The distinct objects, or an error if there can be no consensus."""
        if ensemble.n_samples < 2:
            raise InputError("The ensemble has a single object; a consensus needs at least two.")
        n_jobs = getattr(self, "n_jobs", None)
        if must_link is not None:
            groups = linked_groups(must_link, ensemble.n_samples, ensemble.sample_names)
            lost = ensemble.unseen[np.bincount(groups)[groups[ensemble.unseen]] == 1]
        else:
            lost = ensemble.unseen
        if lost.size:
            raise InputError(f"{say_unseen(ensemble)} Drop them with ensemble.drop_unseen().")
        compressed = (
            ensemble.distinct(n_jobs=n_jobs) if must_link is None else join(ensemble, groups, n_jobs=n_jobs)
        )
        c = self.n_clusters
        if c > ensemble.n_samples:
            hint = ""
            if ensemble.n_clusterings > ensemble.n_samples:
                hint = f" (rows are objects: pass labels.T if there are {ensemble.n_clusterings} objects)"
            raise InputError(
                f"n_clusters={c} exceeds the {ensemble.n_samples} objects in the ensemble{hint}; choose a "
                f"value between 1 and {ensemble.n_samples}."
            )
        check_distinct(c, compressed.n_samples, ensemble.n_samples)
        return compressed

    def _weigh(self, compressed: Compressed) -> Compressed:
        """Weights that the method can square and multiply, or an error if that is impossible."""
        weights = compressed.sample_weight
        low, high = float(weights.min()), float(weights.max())
        if high > LARGEST_SPREAD * low:
            raise InputError(
                f"sample_weight spreads over a factor of {high / low:.2g}, from {low:g} to {high:g}: "
                f"beyond {LARGEST_SPREAD:.0e} the lightest objects vanish in sums with the heaviest. Leave "
                f"out the lightest, or raise their weights."
            )
        # Published programs count objects.
        any_unit = self._any_unit and getattr(self, "mode", "standard") == "standard"
        if any_unit:
            return compressed.with_weights(relative_to_lightest(weights))
        if not self._any_unit:
            self._ask_for_the_unit(compressed)
        if unit_of(weights) != 1.0:
            raise InputError(
                f"sample_weight goes up to {high:g}: {type(self).__name__} takes a weight of 1 for one "
                f"object, and its answer depends on that unit. Divide the weights so that they are near 1."
            )
        return compressed

    def _ask_for_the_unit(self, compressed: Compressed) -> None:
        """Warn of weights that cannot be numbers of objects if the answer depends on their unit."""
        weights = compressed.sample_weight
        mean = float(weights.sum()) / (objects_behind(compressed) or compressed.inverse.size)
        if (weights != np.rint(weights)).any() and not 0.5 <= mean <= 2.0:
            warn(
                f"sample_weight has mean {mean:.3g}: {type(self).__name__} takes a weight of 1 for one "
                f"object, and its answer depends on that unit. If the weights only say which objects count "
                f"more, divide them by their mean.",
            )

    @final
    def _store(
        self, solution, ensemble, compressed, canonical, row_order, column_order, cluster_order
    ) -> None:
        found = np.unique(solution.labels).size
        assert found == self.n_clusters or not solution.exact, (
            f"{type(self).__name__} returned {found} clusters instead of {self.n_clusters}"
        )
        trust = solution.per_clustering.get("clustering_weights")
        assert trust is None or ((trust >= 0).all() and abs(trust.sum() - 1) < 1e-9), (
            f"{type(self).__name__} returned clustering_weights that are no shares: {trust}"
        )
        back = inverted(row_order)  # from the order of `compressed` to the canonical one
        columns, clusters = np.argsort(column_order), np.argsort(cluster_order)
        labels = by_decreasing_size(solution.labels, canonical.sample_weight, tie_breaker=canonical.rows)
        user_labels = labels[back][compressed.inverse]
        if solution.alone is not None:
            alone = solution.alone[back][compressed.inverse]
            user_labels[alone] = ensemble.n_samples + np.arange(alone.sum())
            user_labels = compact(user_labels)
        learned: dict[str, Any] = {
            "labels": user_labels,
            "n_clusters": int(user_labels.max()) + 1,
            "cluster_sizes": sizes_of(user_labels, ensemble.sample_weight),
            "n_samples": ensemble.n_samples,
            "n_clusterings": ensemble.n_clusterings,
            "distinct": compressed,
            "sample_names": ensemble.sample_names,
        }
        learned |= {name: value[back][compressed.inverse] for name, value in solution.per_sample.items()}
        learned |= {name: value[columns] for name, value in solution.per_clustering.items()}
        learned |= {name: value[clusters] for name, value in solution.per_cluster.items()}
        learned |= {name: value[back][:, back] for name, value in solution.per_pair.items()}
        learned |= {name: value[back][:, clusters] for name, value in solution.per_distinct_edge.items()}
        learned |= {name: value[clusters][:, clusters] for name, value in solution.per_cluster_pair.items()}
        assert "confidence" not in learned, (
            f"{type(self).__name__}: confidence has one definition, Evidence's"
        )
        here = back[compressed.inverse]
        if solution.alone is None:
            evidence = Evidence(canonical, labels)
            learned["confidence"] = evidence.confidence[here]
        else:  # equal objects are in different clusters
            evidence = Evidence(canonical, user_labels, rows=here, weights=ensemble.sample_weight)
            learned["confidence"] = evidence.confidence
        learned["consensus_nmi"] = evidence.mean_agreement("nmi")
        weights = None if solution.alone is None else ensemble.sample_weight
        self._merges = None if solution.merges is None else row_order[solution.merges]
        accept(self, solution, learned, Predictor(compressed, user_labels, weights), canonical)

    @final
    def _compare(self, canonical: Compressed) -> None:
        """Compare the answer with a plain one, ``baseline_nmi_``; warn if base clusterings contradict it."""
        agreement = agreement_beside_baseline(
            canonical, self.labels_[canonical.rows], n_jobs=getattr(self, "n_jobs", None)
        )
        vars(self).update(baseline_nmi_=agreement.baseline, contradicted_=agreement.contradicted)
        if self.contradicted_:
            (answer, plain), name = agreement, type(self).__name__
            another = "" if name == "EvidenceAccumulation" else "EvidenceAccumulation, or "
            said = (
                f"{name} contradicts its base clusterings: they agree with its clusters by a mean NMI of "
                f"{answer:.2f}, and with plain average linkage by {plain:.2f}. Use {another}other settings "
                f"of {name}."
            )
            self.messages_.append(said)
            warn(said, LowAgreementWarning)
        said = lopsided(self.cluster_sizes_, np.bincount(self.labels_))
        if said:
            self.messages_.append(said)
            warn(said)

    # Further objects ---------------------------------------------------------------------------------------

    @final
    def predict(self, X: Any) -> np.ndarray:
        """Predict the cluster of objects, those of fit or new ones, from their base labels.

        Objects with the same labels as an object of ``fit`` get its cluster, so that predicting the ensemble
        of ``fit`` returns ``labels_``. Other objects get the cluster they are together with most often; see
        :mod:`consilience._evidence.prediction`.

        Parameters
        ----------
        X : Ensemble or anything :class:`~consilience.Ensemble` accepts
            Labels of the same clusterings, (n_objects, n_clusterings). Clusterings are matched by name if
            both sides have names, else by position. A label that a clustering did not have in ``fit`` counts
            as missing.

        Returns
        -------
        array (n_objects,)
            The cluster of each object; -1, with a warning, if none of its labels is known. For Dask labels, a
            lazy array, without a warning.
        """
        if is_lazy(X):
            return self._lazily(X, "predict")
        codes, names = self._codes(X)
        labels = self._predictor.predict(codes, n_jobs=getattr(self, "n_jobs", None))
        say_unknown(labels, names, "have no label that was there in fit")
        return labels

    @final
    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the share of each cluster in objects from their base labels.

        Returns
        -------
        array (n_objects, n_clusters)
            Rows add up to 1. The largest share is that of the cluster that :meth:`predict` returns. The row
            of an object without any known label is 0.
        """
        if is_lazy(X):
            return self._lazily(X, "predict_proba")
        codes, _ = self._codes(X)
        return self._predictor.shares(codes, n_jobs=getattr(self, "n_jobs", None))[1]

    @final
    def predict_top(self, X: Any, n: int) -> TopClusters:
        """Predict the n clusters with the largest shares in each object.

        With many clusters, this takes less memory than :meth:`predict_proba`.


        Returns
        -------
        TopClusters
            A named tuple of ``clusters`` and ``shares``, arrays (n_objects, n), the largest first. An object
            without any known label has the clusters -1 and the shares 0. If there are fewer than n clusters,
            all of them are returned.
        """
        check_top(n)
        if is_lazy(X):
            return TopClusters(*self._lazily(X, "predict_top", n))
        codes, _ = self._codes(X)
        return self._predictor.top(codes, n, n_jobs=getattr(self, "n_jobs", None))

    @final
    def predict_confidence(self, X: Any) -> np.ndarray:
        """How sure the base clusterings are of the clusters that :meth:`predict` returns, in [0, 1].

        The scale is that of ``confidence_``. It is not a probability.
        """
        if is_lazy(X):
            return self._lazily(X, "predict_confidence")
        codes, _ = self._codes(X)
        n_jobs = getattr(self, "n_jobs", None)
        return self._predictor.confidence(codes, self._predictor.predict(codes, n_jobs=n_jobs), n_jobs=n_jobs)

    @final
    def transform(self, X: Any) -> np.ndarray:
        """Return :meth:`predict_proba`, for use as a transformer."""
        return self.predict_proba(X)

    def _lazily(self, X: Any, what: str, top: int | None = None) -> Any:
        check_is_fitted(self, "labels_")
        return _register.offered("predict_lazily")(self, X, what, top)

    def _codes(self, X: Any) -> tuple[Any, list[Any] | None]:
        check_is_fitted(self, "labels_")
        if isinstance(self.distinct_, SoftCompressed):
            return memberships_of(X, self.distinct_, type(self).__name__)
        if isinstance(X, SoftEnsemble):  # one of zeros and ones was hardened by fit
            X = self._open(X)
        return codes_of(X, self.distinct_, type(self).__name__)

    @property
    def _n_features_out(self) -> int:
        """Number of columns of :meth:`transform`, for their names."""
        return self._predictor.n_clusters

    def _names_of_rows(self) -> list[Any] | None:
        return self.sample_names_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


# The open hook ---------------------------------------------------------------------------------------------
#
# What other rooms (Dask, pipelines) do with a method beside `fit`. Functions, so that users do not meet them.


def learn(model: BaseConsensus, X: Any, sample_weight: Any = None, *, must_link: Any = None) -> Solution:
    """What ``fit`` does with base clusterings in memory.

    Returns
    -------
    Solution
        What the method learned about the distinct objects, in canonical order; the model keeps it.
    """
    parameters = check_parameters(model)
    # Threads run over blocks: more threads within a block would be slower, and round differently.
    with one_blas_thread():
        ensemble = model._open(X, sample_weight)
        compressed = model._admit(ensemble, must_link)
        least = parameters.get("min_cluster_size")  # a method of another package may not have it
        model._check_least(least, compressed)
        canonical, *orders = model._weigh(compressed).canonical()
        rng = make_rng(parameters.get("random_state"))
        u, k = canonical.n_samples, canonical.n_base_clusters
        what = f"{type(model).__name__} on {u} distinct objects and {k} base clusters"
        method = with_parameters(model, parameters)
        if (cost := method._cost(canonical)) is not None:
            announce(what, *cost)
        with refusing(what, model._remedy), loops_shown(type(model).__name__):
            solution = method._fit(canonical, rng)
            if least is not None:
                model._merge_small(solution, canonical, compressed.sample_weight[orders[0]], least)
            model._store(solution, ensemble, compressed, canonical, *orders)
    return solution


def accept(
    model: BaseConsensus,
    solution: Solution | BaseSolution,
    learned: Mapping[str, Any],
    predictor: Predictor,
    canonical: Compressed,
) -> None:
    """Make an answer that of a method: set ``name_`` for everything learned, and compare it with a plain one.

    Parameters
    ----------
    solution : how the loop ended.
    learned : by name, in the order of the user; "labels" among them.
    predictor : what places further objects.
    canonical : the distinct objects in canonical order; their ``rows`` are positions in the labels.
    """
    keep(model, solution, learned)
    vars(model)["_predictor"] = predictor
    model._compare(canonical)


def predictor_of(model: BaseConsensus) -> Predictor:
    """What places further objects in the clusters of a fitted method."""
    return model._predictor


def lopsided(sizes: np.ndarray, counts: np.ndarray) -> str:
    """What to say of three clusters or more of which one holds most objects, or is one object; else "".

    sizes : weight of each cluster, largest first; counts : objects of each. Few objects are not questioned.
    """
    total, largest = sizes.sum(), sizes[0]
    if sizes.size < 3 or counts.sum() < FEW_OBJECTS:
        return ""
    if largest > MOST_OF * total:
        return (
            f"One cluster holds {largest / total:.0%} of the objects ({largest:g} of {total:g}), the next "
            f"{sizes[1]:g}: the base clusterings may hardly tell most objects apart. Try another n_clusters, "
            "another method, or base clusterings of features prepared in another way (preprocess)."
        )
    alone = int((counts == 1).sum())
    if alone and largest > FEW_OBJECTS:
        clusters = "cluster is a single object" if alone == 1 else "clusters are single objects"
        return (
            f"{alone} {clusters} beside a cluster of {largest:g}: outliers, or torn off. min_cluster_size=2 "
            "merges them, and another method may find larger parts."
        )
    return ""
