"""A consensus and the evidence behind it: the one view of a fitted model that displays and the report share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .compressed import Compressed
from .ensemble import as_ensemble
from .errors import InputError
from .evidence import Evidence

#: Above, relations of all pairs of clusters are left out.
MOST_BETWEEN = 1000


@dataclass
class Fitted:
    """A consensus and the evidence behind it. Every number is computed when first asked for, and once.

    labels, confidence (n,); signatures: the distinct objects; names: sample names or None; method: the fitted consensus
    estimator or None; pipeline: what wraps it, or None.
    """

    labels: np.ndarray
    confidence: np.ndarray
    signatures: Compressed
    names: list[Any] | None
    method: Any = None
    pipeline: Any = None

    @classmethod
    def from_estimator(cls, model: Any) -> Fitted:
        """From a fitted consensus method, or a pipeline around one."""
        pipeline, method = None, model
        if hasattr(model, "consensus_"):
            pipeline, method = model, model.consensus_
        if not hasattr(method, "labels_") and hasattr(method, "fit"):
            check_is_fitted(method, "labels_")
        if hasattr(method, "task_labels_"):
            raise InputError(
                f"{type(model).__name__} is a multi-task method, which combines no base clusterings, so there is no consensus to "
                "show. What it found is in labels_, confidence_, task_labels_ and history_; to set it beside base "
                "clusterings of the same objects use Fitted.from_ensemble(ensemble, labels_)."
            )
        if not hasattr(method, "signatures_"):
            raise InputError(
                f"{type(model).__name__} is not a fitted consensus method: expected an estimator of consilience after fit(). "
                "For labels from elsewhere use from_ensemble(ensemble, labels)."
            )
        labels, confidence = np.asarray(method.labels_), np.asarray(method.confidence_)
        return cls(labels, confidence, method.signatures_, method.sample_names_, method, pipeline)

    @classmethod
    def from_ensemble(cls, ensemble: Any, labels: Any, confidence: Any = None) -> Fitted:
        """From base clusterings and any partition of the same objects."""
        ensemble = as_ensemble(ensemble)
        values = np.asarray(labels)
        if values.shape != (ensemble.n_samples,):
            raise InputError(
                f"labels has shape {values.shape} for the {ensemble.n_samples} objects of the ensemble; give one label each."
            )
        _, codes = np.unique(values, return_inverse=True)
        fitted = cls(codes.reshape(-1), np.empty(0), ensemble.compress(), ensemble.sample_names)
        fitted.confidence = fitted.support if confidence is None else np.asarray(confidence, float)
        if fitted.confidence.shape != values.shape:
            raise InputError(
                f"confidence has shape {fitted.confidence.shape} for {len(values)} objects; give one each."
            )
        return fitted

    # Objects and clusters ----------------------------------------------------------------------------------

    @property
    def inverse(self) -> np.ndarray:
        """(n,) the signature of every object."""
        return self.signatures.inverse

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
        """(u,) number of objects with each signature."""
        return np.bincount(self.inverse, minlength=self.signatures.n_samples)

    @cached_property
    def weights(self) -> np.ndarray:
        """(n,) weight of each object: the mean over those with its signature."""
        return (self.signatures.weights / self.copies)[self.inverse]

    @cached_property
    def cluster_weights(self) -> np.ndarray:
        """(c,) weight of the objects in each cluster."""
        return np.bincount(self.labels, self.weights, minlength=self.n_clusters)

    def name(self, i: int) -> str:
        """How to call object i."""
        return str(i) if self.names is None else str(self.names[i])

    # Evidence ----------------------------------------------------------------------------------------------

    @cached_property
    def evidence(self) -> Evidence:
        """The base clusterings against the consensus."""
        return self.against(self.labels, self.n_clusters)

    def against(self, groups: np.ndarray, n_groups: int) -> Evidence:
        """The base clusterings against any groups (n,) of the objects."""
        return Evidence(self.signatures, groups, n_groups, rows=self.inverse, weights=self.weights)

    @property
    def support(self) -> np.ndarray:
        """(n,) share of an object's ties that go to its own cluster, whatever the method calls confidence."""
        return self.evidence.support

    @cached_property
    def nmi(self) -> np.ndarray:
        """(m,) of every base clustering with the consensus, over the objects it saw; NaN if there are none."""
        return self.evidence.agreement("nmi")

    @cached_property
    def ari(self) -> np.ndarray:
        """(m,) as :attr:`nmi`."""
        return self.evidence.agreement("ari")

    @cached_property
    def seen(self) -> np.ndarray:
        """(m,) share of the objects that each base clustering saw."""
        return (self.signatures.labels >= 0).T @ self.copies.astype(float) / self.n_samples

    @cached_property
    def togetherness(self) -> tuple[float, float]:
        """Mean co-association over pairs of objects of one cluster, and of different ones; NaN if there are none."""
        n, stability = self.sizes.astype(float), self.evidence.stability
        within, across = _mean(stability, n * (n - 1) / 2), np.nan
        if 1 < self.n_clusters <= MOST_BETWEEN:
            i, j = np.triu_indices(self.n_clusters, 1)
            across = _mean(self.evidence.between[i, j], n[i] * n[j])
        return within, across

    # What the method learned -------------------------------------------------------------------------------

    @property
    def trust(self) -> np.ndarray | None:
        """(m,) how far the method trusts each base clustering, adding up to 1; None where it learns no such thing."""
        return getattr(self.method, "clustering_weights_", None)

    @cached_property
    def terms(self) -> dict[str, np.ndarray]:
        """What the method recorded at each iteration, by name; empty if it keeps no history."""
        return read_terms(getattr(self.method, "history_", []))

    @property
    def is_paced(self) -> bool:
        """Whether the method says in its history how much evidence it had admitted."""
        return bool(self.terms) and getattr(self.method, "pacing", None) is not None


def score(model: Any, n_samples: int, y: Any = None) -> float:
    """How good a fitted consensus is, as one number of which larger is better; at most 1.

    With y, the true classes: the adjusted Rand index. Without: the mean normalised mutual information (geometric) with
    the base clusterings, what Strehl and Ghosh (2002) set a consensus to maximise; it compares answers of the same number of
    clusters to the same ensemble, and says nothing about how many clusters there should be.
    """
    from .metrics import ari

    fitted = Fitted.from_estimator(model)
    labels = np.asarray(model.labels_)
    if n_samples != len(labels):
        raise InputError(
            f"score was given {n_samples} objects, but {type(model).__name__} was fitted to {len(labels)}: it judges the "
            "clustering of those. Pass the data of fit, or fit the model to these objects."
        )
    if y is not None:
        return ari(labels, y)
    agreement = fitted.evidence.agreement("nmi_geometric")
    return float(np.mean(agreement[~np.isnan(agreement)]))


def read_terms(history: Any) -> dict[str, np.ndarray]:
    """A list of numbers, or of dicts of numbers, as one array per quantity; what is not a number is left out."""
    entries = [entry if isinstance(entry, dict) else {"objective": entry} for entry in history]
    names = list(dict.fromkeys(name for entry in entries for name in entry))
    terms = {}
    for name in names:
        numbers = [_number(entry.get(name)) for entry in entries]
        if not all(math.isnan(v) for v in numbers):
            terms[str(name)] = np.array(numbers)
    return terms


def _number(value: Any) -> float:
    """NaN for what is not one number."""
    return float(value) if isinstance(value, (int, float, np.number, np.bool_)) else math.nan


def _mean(values: np.ndarray, weights: np.ndarray) -> float:
    """The mean of what is known and has weight; NaN if nothing does."""
    known = ~np.isnan(values) & (weights > 0)
    return float(np.average(values[known], weights=weights[known])) if known.any() else math.nan
