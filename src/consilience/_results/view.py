"""A consensus and the evidence behind it: the view of a fitted model for displays and the report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.dask_types import refuse_lazy
from .._data.distinct import Compressed
from .._data.ensemble import as_ensemble
from .._data.soft import SoftEnsemble
from .._evidence.table import Evidence
from .._kernels.labels.information import pairwise_measure
from ..errors import InputError
from .model import known_stability, pacing_of

#: An object is doubtful below this confidence.
DOUBTFUL = 0.6
#: A clustering is unstable below this estimated agreement between seeds.
UNSTABLE = 0.85
#: Above this number of clusters, relations of all pairs of clusters are left out.
MOST_BETWEEN = 1000
#: The agreement between base clusterings is measured on at most so many of them, and on at most so many
#: distinct objects.
MOST_CLUSTERINGS, MOST_COMPARED = 100, 20_000


def instability_of(stability: float | None, n_clusters: int) -> str:
    """The message that another seed can give a very different answer, if it can; else empty."""
    if stability is None or math.isnan(stability) or stability >= UNSTABLE:
        return ""
    return (
        f"This clustering depends on chance: with another seed the adjusted Rand index to it would be "
        f"about {stability:.2f}, estimated from the answers to halves of its base clusterings. The data may "
        f"not have {n_clusters} separate clusters: try another n_clusters, or more n_clusterings."
    )


@dataclass
class Fitted:
    """A consensus and the evidence behind it. Every number is computed once, at its first access.

    labels, confidence (n,); distinct: the distinct objects; names: sample names or None; method: the fitted
    consensus estimator or None; pipeline: the estimator around it, or None; own_weights (n,): the weights of
    the objects, or None if only the total of equal ones is known.
    """

    labels: np.ndarray
    confidence: np.ndarray
    distinct: Compressed
    names: list[Any] | None
    method: Any = None
    pipeline: Any = None
    own_weights: np.ndarray | None = None

    @classmethod
    def from_estimator(cls, model: Any, *, soft: bool = False) -> Fitted:
        """The view of a fitted consensus method, or of a pipeline around one.

        Models of soft clusterings are accepted only with ``soft``, because most of the view is about labels.
        """
        pipeline, method = None, model
        if hasattr(model, "method_"):
            pipeline, method = model, model.method_
        if not hasattr(method, "labels_") and hasattr(method, "fit"):
            check_is_fitted(method, "labels_")
        if hasattr(method, "task_labels_"):
            raise InputError(
                f"{type(model).__name__} is a multi-task method, which combines no base clusterings, so "
                f"there is no consensus to show. Its result is in labels_, confidence_, task_labels_ and "
                f"history_; to compare it with base clusterings of the same objects, use "
                f"Fitted.from_ensemble(ensemble, labels_)."
            )
        if not hasattr(method, "distinct_"):
            raise InputError(
                f"{type(model).__name__} is not a fitted consensus method: expected an estimator of "
                f"consilience after fit(). For other labels use from_ensemble(ensemble, labels)."
            )
        if isinstance(method.distinct_, SoftEnsemble) and not soft:
            raise InputError(
                f"{type(model).__name__} was fitted to a SoftEnsemble, but this view is about hard base "
                f"clusterings. Compare the answer with drawn ones: from_ensemble(soft.draw(10), "
                f"model.labels_), or fit the model to soft.draw(10)."
            )
        refuse_lazy(method.labels_, "A display or report")
        labels, confidence = np.asarray(method.labels_), np.asarray(method.confidence_)
        own = None if pipeline is None else pipeline.ensemble_.sample_weight
        return cls(labels, confidence, method.distinct_, method.sample_names_, method, pipeline, own)

    @classmethod
    def of(cls, model: Any) -> Fitted:
        """The view itself, or that of a fitted model."""
        return model if isinstance(model, Fitted) else cls.from_estimator(model)

    @classmethod
    def from_ensemble(cls, ensemble: Any, labels: Any, confidence: Any = None) -> Fitted:
        """The view of base clusterings and any partition of the same objects."""
        ensemble = as_ensemble(ensemble)
        values = np.asarray(labels)
        if values.shape != (ensemble.n_samples,):
            raise InputError(
                f"labels has shape {values.shape} for the {ensemble.n_samples} objects of the ensemble; "
                f"give one label each."
            )
        _, codes = np.unique(values, return_inverse=True)
        own = ensemble.sample_weight
        fitted = cls(
            codes.reshape(-1), np.empty(0), ensemble.distinct(), ensemble.sample_names, own_weights=own
        )
        fitted.confidence = (
            fitted.evidence.confidence if confidence is None else np.asarray(confidence, float)
        )
        if fitted.confidence.shape != values.shape:
            raise InputError(
                f"confidence has shape {fitted.confidence.shape} for {len(values)} objects; give one each."
            )
        return fitted

    # Objects and clusters ----------------------------------------------------------------------------------

    @property
    def inverse(self) -> np.ndarray:
        """(n,) the distinct object of every object."""
        return self.distinct.inverse

    @property
    def n_samples(self) -> int:
        return len(self.labels)

    @cached_property
    def n_clusters(self) -> int:
        return int(self.labels.max()) + 1

    @cached_property
    def sizes(self) -> np.ndarray:
        """(c,) number of objects in each cluster."""
        return np.bincount(self.labels, minlength=self.n_clusters)

    @cached_property
    def copies(self) -> np.ndarray:
        """(u,) number of objects that each distinct object stands for."""
        return np.bincount(self.inverse, minlength=self.distinct.n_samples)

    @cached_property
    def weights(self) -> np.ndarray:
        """(n,) weight of each object: its own, or, if unknown, the mean over equal objects."""
        if self.own_weights is not None:
            return self.own_weights
        return (self.distinct.sample_weight / self.copies)[self.inverse]

    @cached_property
    def cluster_weights(self) -> np.ndarray:
        """(c,) weight of the objects in each cluster."""
        return np.bincount(self.labels, self.weights, minlength=self.n_clusters)

    def name(self, i: int) -> str:
        """The name of object i."""
        return str(i) if self.names is None else str(self.names[i])

    # Evidence ----------------------------------------------------------------------------------------------

    @cached_property
    def evidence(self) -> Evidence:
        """The base clusterings against the consensus."""
        return self.against(self.labels, self.n_clusters)

    def against(self, groups: np.ndarray, n_groups: int) -> Evidence:
        """The base clusterings against any groups (n,) of the objects."""
        return Evidence(self.distinct, groups, n_groups, rows=self.inverse, weights=self.weights)

    @property
    def support(self) -> np.ndarray:
        """(n,) share of the ties of an object that go to its own cluster."""
        return self.evidence.support

    @property
    def doubtful(self) -> np.ndarray:
        """(n,) which objects the base clusterings are not sure of, by confidence.

        Ties say as much about the numbers of clusters of the base clusterings as about an object.
        """
        return self.confidence < DOUBTFUL

    @cached_property
    def nmi(self) -> np.ndarray:
        """(m,) NMI of every base clustering with the consensus, over the objects it saw; NaN if none."""
        return self.evidence.agreement("nmi")

    @cached_property
    def ari(self) -> np.ndarray:
        """(m,) adjusted Rand index, as :attr:`nmi`."""
        return self.evidence.agreement("ari")

    @cached_property
    def seen(self) -> np.ndarray:
        """(m,) share of the objects that each base clustering saw."""
        return (self.distinct.labels >= 0).T @ self.copies.astype(float) / self.n_samples

    @cached_property
    def togetherness(self) -> tuple[float, float]:
        """Mean co-association over pairs in the same and in different clusters; NaN if there are none."""
        n, stability = self.sizes.astype(float), self.evidence.stability
        within, across = _mean(stability, n * (n - 1) / 2), np.nan
        if 1 < self.n_clusters <= MOST_BETWEEN:
            i, j = np.triu_indices(self.n_clusters, 1)
            across = _mean(self.evidence.between[i, j], n[i] * n[j])
        return within, across

    @cached_property
    def firmness(self) -> np.ndarray:
        """(c,) how firmly the base clusterings hold each cluster, adjusted for how fine or coarse they are.

        0 is expected by chance, 1 is the most that clusterings with these numbers of clusters can reach; see
        :func:`firmness_of`. NaN if there is no pair, or only one cluster.
        """
        evidence = self.evidence
        loops = evidence.weights * np.minimum(evidence.weights, 1.0 / evidence.unit)
        itself = np.empty((self.distinct.n_clusterings, self.n_clusters))
        if self.distinct.has_missing:
            for i, column in enumerate(self.distinct.labels.T):
                seen = column[self.inverse] >= 0
                itself[i] = np.bincount(self.labels[seen], loops[seen], minlength=self.n_clusters)
        else:
            itself[:] = np.bincount(self.labels, loops, minlength=self.n_clusters)
        return firmness_of(evidence.table, self.distinct.offsets, itself)

    @cached_property
    def mean_firmness(self) -> float:
        """Mean firmness of the cluster of a random object."""
        return _mean(self.firmness, self.cluster_weights)

    @cached_property
    def compared(self) -> np.ndarray:
        """Base clusterings whose agreement with each other is measured.

        All of them, or a selection spread evenly from the closest to the consensus to the furthest.
        """
        m = self.distinct.n_clusterings
        if m <= MOST_CLUSTERINGS:
            return np.arange(m)
        by_agreement = np.argsort(-np.nan_to_num(self.nmi), kind="stable")
        return np.sort(by_agreement[np.linspace(0, m - 1, MOST_CLUSTERINGS).round().astype(int)])

    @cached_property
    def similarity(self) -> np.ndarray:
        """NMI between the :attr:`compared` base clusterings; NaN if no object was seen by both."""
        distinct = self.distinct
        rows = np.arange(distinct.n_samples)
        if rows.size > MOST_COMPARED:
            rows = np.sort(np.random.default_rng(0).choice(rows.size, MOST_COMPARED, replace=False))
        return pairwise_measure(
            distinct.labels[rows][:, self.compared],
            distinct.n_clusters_per_clustering[self.compared],
            "nmi",
            distinct.sample_weight[rows],
        )

    @cached_property
    def mean_similarity(self) -> float:
        """Mean NMI between two different base clusterings; NaN if there is only one."""
        apart = self.similarity[np.triu_indices(len(self.similarity), 1)]
        return _mean(apart, np.ones(apart.size))

    # What the method learned -------------------------------------------------------------------------------

    @property
    def trust(self) -> np.ndarray | None:
        """(m,) trust of the method in each base clustering, adding up to 1; None if it is not learned."""
        return getattr(self.method, "clustering_weights_", None)

    @property
    def shortfall(self) -> str:
        """The message that the method did not converge, and why; empty if it converged."""
        if self.method is None or getattr(self.method, "converged_", True):
            return ""
        said = getattr(self.method, "messages_", [])
        return said[0] if said else f"{type(self.method).__name__} was stopped before it had settled."

    @property
    def seed_agreement(self) -> float | None:
        """``stability_`` of the pipeline, if its fit estimated it."""
        known = known_stability(self.pipeline)
        return None if known is None or math.isnan(known) else float(known)

    @property
    def instability(self) -> str:
        """The message that another seed can give a very different answer, if it can; else empty."""
        return instability_of(self.seed_agreement, self.n_clusters)

    @property
    def contradiction(self) -> str:
        """The message that base clusterings contradict the answer, if they do; else empty."""
        if not getattr(self.method, "contradicted_", False):
            return ""
        return (
            f"The base clusterings contradict this answer: they agree with it by a mean NMI of "
            f"{self.method.consensus_nmi_:.2f}, and with plain average linkage of the same evidence by "
            f"{self.method.baseline_nmi_:.2f}. Use EvidenceAccumulation, or other settings of "
            f"{type(self.method).__name__}."
        )

    @cached_property
    def terms(self) -> dict[str, np.ndarray]:
        """The history of the method by quantity; empty if it keeps no history."""
        return read_terms(getattr(self.method, "history_", []))

    @property
    def is_paced(self) -> bool:
        """Whether the history of the method contains how much evidence it had admitted."""
        return bool(self.terms) and pacing_of(self.method) is not None


def read_terms(history: Any) -> dict[str, np.ndarray]:
    """One array per quantity from a list of numbers or of dicts of numbers; other values are left out."""
    entries = [entry if isinstance(entry, dict) else {"objective": entry} for entry in history]
    names = list(dict.fromkeys(name for entry in entries for name in entry))
    terms = {}
    for name in names:
        numbers = [_number(entry.get(name)) for entry in entries]
        if not all(math.isnan(v) for v in numbers):
            terms[str(name)] = np.array(numbers)
    return terms


def firmness_of(table: np.ndarray, offsets: np.ndarray, itself: np.ndarray) -> np.ndarray:
    """(c,) how firmly clusterings hold each group, from chance (0) to the most possible (1).

    The most possible depends on how fine or coarse the clusterings are. For clustering i and group j, with T
    (k, c) the weights of base cluster and group together, ``itself`` (m, c) the pairs of an object with
    itself, and N the sums of T over the base clusters of i:

        together = sum_l T_lj^2 - itself           pairs inside j that i has together               (1)
        pairs    = N_ij^2 - itself                 all pairs inside j                               (2)
        company  = sum_l T_lj T_l. - itself        pairs that i has together with one object in j   (3)
        chance   = company pairs / (N_ij N_i. - itself)                                             (4)
        firmness_j = sum_i (together - chance) / sum_i (min(pairs, company) - chance)               (5)

    A clustering that only splits groups has together = company, one that only joins them together = pairs:
    both reach the bound, whereas mean co-association (1) / (2) would call the first one weak.
    """
    starts = offsets[:-1]
    seen = np.add.reduceat(table, starts, axis=0)
    together = np.add.reduceat(table**2, starts, axis=0) - itself
    company = np.add.reduceat(table * table.sum(axis=1, keepdims=True), starts, axis=0) - itself
    pairs = seen**2 - itself
    everyone = seen * seen.sum(axis=1, keepdims=True) - itself
    some = everyone > 1e-12 * np.maximum(seen, 1.0) ** 2
    chance = np.where(some, company * pairs / np.where(some, everyone, 1.0), 0.0)
    bound = np.minimum(pairs, company)
    room = (bound - chance).sum(axis=0)
    known = room > 1e-9 * np.maximum(bound.sum(axis=0), np.finfo(float).tiny)
    return np.where(known, (together - chance).sum(axis=0) / np.where(known, room, 1.0), np.nan)


def _number(value: Any) -> float:
    """NaN for what is not one number."""
    return float(value) if isinstance(value, (int, float, np.number, np.bool_)) else math.nan


def _mean(values: np.ndarray, weights: np.ndarray) -> float:
    """The mean of the known values with a weight; NaN if there are none."""
    known = ~np.isnan(values) & (weights > 0)
    return float(np.average(values[known], weights=weights[known])) if known.any() else math.nan
