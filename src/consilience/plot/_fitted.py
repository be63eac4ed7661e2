"""What the displays and the report read from a fitted model, and the tables they share.

With Y (u, k) the distinct objects' base clusters and Z (u, b) the weight of each distinct object in each of b
bins (consensus clusters, or runs of objects in the order of a heat map):

    T = Y' Z        (k, b) weight of base cluster and bin together                              (1)
    N = sum of T over the clusters of each clustering  (m, b) weight of each bin that it saw     (2)
    B = (T' T - self) / (N' N - self)                                                           (3)

(3) is the mean co-association between bins, over pairs and clusterings that saw both; nothing of size n x n is
formed. An object of weight w counts as w equal objects, so the pairs of an object with itself that "self" takes
out of the diagonal weigh w min(w, 1) for every clustering that saw it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from ..ensemble import Compressed, Ensemble
from ..errors import InputError
from ..kernels.memory import ensure_fits

_POWER_STEPS = 8


@dataclass
class Fitted:
    """A consensus and the evidence behind it.

    labels, confidence (n,); signatures: the distinct objects; inverse (n,): the signature of every object; names:
    sample names or None; method: the fitted consensus estimator or None; pipeline: what wraps it, or None.
    """

    labels: np.ndarray
    confidence: np.ndarray
    signatures: Compressed
    names: list[Any] | None
    method: Any = None
    pipeline: Any = None

    @property
    def inverse(self) -> np.ndarray:
        return self.signatures.inverse

    @property
    def n_samples(self) -> int:
        return len(self.labels)

    @property
    def trust(self) -> np.ndarray | None:
        """(m,) how far the method trusts each base clustering, adding up to 1; None where it learns no such thing."""
        return getattr(self.method, "clustering_weights_", None)

    @cached_property
    def n_clusters(self) -> int:
        return int(self.labels.max()) + 1

    @cached_property
    def sizes(self) -> np.ndarray:
        """(c,) number of objects in each cluster."""
        return np.bincount(self.labels, minlength=self.n_clusters)

    @cached_property
    def weights(self) -> np.ndarray:
        """(n,) weight of each object: the mean over those with its signature."""
        per_object = self.signatures.weights / np.bincount(self.inverse, minlength=self.signatures.n_samples)
        return per_object[self.inverse]

    @cached_property
    def table(self) -> np.ndarray:
        """T of Eq. (1) for the consensus clusters."""
        return self.cross(self.labels, self.n_clusters)

    @cached_property
    def between(self) -> np.ndarray:
        """(c, c) Eq. (3) for the consensus clusters; the diagonal is their stability (NaN: no pair was seen)."""
        return self.blocks(self.labels, self.n_clusters)

    @cached_property
    def stability(self) -> np.ndarray:
        """(c,) the diagonal of :attr:`between` alone: any number of clusters."""
        N = np.add.reduceat(self.table, self.signatures.offsets[:-1], axis=0)
        itself = self._itself(self.labels, self.n_clusters)
        return _ratio((self.table**2).sum(axis=0) - itself, (N**2).sum(axis=0) - itself)

    def cross(self, bins: np.ndarray, b: int) -> np.ndarray:
        """Eq. (1)."""
        signatures = self.signatures
        ensure_fits(
            8.0 * signatures.n_total_clusters * b,
            what=f"A table of {signatures.n_total_clusters} base clusters by {b} groups",
            remedy="look at fewer clusterings, ensemble.select(...)",
        )
        Z = sp.coo_array((self.weights, (self.inverse, bins)), (signatures.n_samples, b)).tocsr()
        return (signatures.indicator().T @ Z).toarray()

    def blocks(self, bins: np.ndarray, b: int) -> np.ndarray:
        """Eq. (3), NaN where no pair was seen. O(n m + k b^2) time, O((k + b) b) memory."""
        ensure_fits(16.0 * b * b, what=f"A table of {b} by {b} groups", remedy="use fewer groups")
        T = self.cross(bins, b)
        N = np.add.reduceat(T, self.signatures.offsets[:-1], axis=0)
        together, seen = T.T @ T, N.T @ N
        itself = self._itself(bins, b)
        together[np.diag_indices(b)] -= itself
        seen[np.diag_indices(b)] -= itself
        return _ratio(together, seen)

    def _itself(self, bins: np.ndarray, b: int) -> np.ndarray:
        """(b,) what the pairs of objects with themselves add to the diagonal of Eq. (3), above and below."""
        sights = (self.signatures.labels >= 0).sum(axis=1)[self.inverse]
        return np.bincount(bins, self.weights * np.minimum(self.weights, 1.0) * sights, minlength=b)

    @cached_property
    def shares(self) -> np.ndarray:
        """(k, c) share of each consensus cluster, as its clustering saw it, that lies in a base cluster."""
        N = np.add.reduceat(self.table, self.signatures.offsets[:-1], axis=0)
        owner = np.repeat(np.arange(self.signatures.n_clusterings), self.signatures.n_clusters)
        return self.table / np.maximum(N[owner], np.finfo(float).tiny)

    @cached_property
    def support(self) -> np.ndarray:
        """(n,) share of an object's ties that go to its own cluster, whatever the method calls confidence."""
        return support(self)

    def affinity(self, signatures: np.ndarray) -> np.ndarray:
        """(len(signatures), c) how strongly the clusterings tie these distinct objects to each cluster; rows sum to 1.

        As in :func:`consilience.consensus._base.memberships`.
        """
        share = self.shares
        codes = self.signatures.labels[signatures]
        out = np.zeros((len(signatures), self.n_clusters))
        for i, start in enumerate(self.signatures.offsets[:-1]):
            seen = codes[:, i] >= 0
            out[seen] += share[start + codes[seen, i]]
        return out / out.sum(axis=1, keepdims=True)

    def inner_order(self) -> np.ndarray:
        """The objects by cluster and, inside a cluster, along the main direction of what its clusterings disagree on.

        That direction is the first principal component of the cluster's rows of Y, by a few power steps for all
        clusters at once; it puts the parts of a cluster that are often together side by side. O(u m) time.
        """
        codes, w = self.signatures.labels, self.signatures.weights
        own = self.labels[self.signatures.rows]
        c = self.n_clusters
        mass = np.bincount(own, w, minlength=c)
        score = np.cos(1.0 + np.arange(own.size))
        for _ in range(_POWER_STEPS):
            score -= (np.bincount(own, w * score, minlength=c) / np.maximum(mass, np.finfo(float).tiny))[own]
            pull = np.zeros(own.size)
            for column, k in zip(codes.T, self.signatures.n_clusters):
                seen = np.flatnonzero(column >= 0)
                where = own[seen] * k + column[seen]
                pull[seen] += np.bincount(where, (w * score)[seen], minlength=c * k)[where]
            scale = np.maximum(np.sqrt(np.bincount(own, w * pull**2, minlength=c)), np.finfo(float).tiny)
            score = pull / scale[own]
        sure = (
            self.confidence
            - (np.bincount(self.labels, self.confidence, minlength=c) / self.sizes)[self.labels]
        )
        along = score[self.inverse]
        forward = np.bincount(self.labels, sure * along, minlength=c) >= 0
        along = np.where(forward[self.labels], along, -along).round(9)  # the surer end first
        return np.lexsort((-self.confidence, -along, self.labels))

    def name(self, i: int) -> str:
        """How to call object i."""
        return str(i) if self.names is None else str(self.names[i])


def read(model: Any) -> Fitted:
    """From a fitted consensus method, or a pipeline around one."""
    pipeline, method = None, model
    if hasattr(model, "consensus_"):
        pipeline, method = model, model.consensus_
    if not hasattr(method, "labels_") and hasattr(method, "fit"):
        check_is_fitted(method, "labels_")
    if not hasattr(method, "signatures_"):
        raise InputError(
            f"{type(model).__name__} is not a fitted consensus method: expected an estimator of consilience after fit(). "
            "For labels from elsewhere use from_ensemble(ensemble, labels)."
        )
    labels = np.asarray(method.labels_)
    return Fitted(
        labels, np.asarray(method.confidence_), method.signatures_, method._sample_names, method, pipeline
    )


def from_labels(ensemble: Any, labels: Any, confidence: Any = None) -> Fitted:
    """From base clusterings and any partition of the same objects."""
    if not isinstance(ensemble, Ensemble):
        ensemble = Ensemble(ensemble)
    values = np.asarray(labels)
    if values.shape != (ensemble.n_samples,):
        raise InputError(
            f"labels has shape {values.shape} for the {ensemble.n_samples} objects of the ensemble; give one label each."
        )
    _, codes = np.unique(values, return_inverse=True)
    fitted = Fitted(codes.reshape(-1), np.empty(0), ensemble.compress(), ensemble.sample_names)
    if confidence is None:
        fitted.confidence = support(fitted)
    else:
        fitted.confidence = np.asarray(confidence, float)
        if fitted.confidence.shape != values.shape:
            raise InputError(
                f"confidence has shape {fitted.confidence.shape} for {len(values)} objects; give one each."
            )
    return fitted


def support(fitted: Fitted) -> np.ndarray:
    """(n,) affinity of every object to its own cluster. O(n m) time for any number of clusters."""
    own, total = np.zeros(fitted.n_samples), np.zeros(fitted.n_samples)
    share = fitted.shares
    sums = share.sum(axis=1)
    for i, start in enumerate(fitted.signatures.offsets[:-1]):
        column = fitted.signatures.labels[:, i][fitted.inverse]
        seen = np.flatnonzero(column >= 0)
        rows = start + column[seen]
        own[seen] += share[rows, fitted.labels[seen]]
        total[seen] += sums[rows]
    return own / np.maximum(total, np.finfo(float).tiny)


def _ratio(together: np.ndarray, seen: np.ndarray) -> np.ndarray:
    some = seen > 1e-9
    return np.where(some, np.clip(together / np.where(some, seen, 1.0), 0.0, 1.0), np.nan)
