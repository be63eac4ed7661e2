"""Further rows of features, placed in a consensus that was fitted to such: each member labels them, and the
consensus places their labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from .._base.dask_types import is_lazy
from .._base.parameters import check_weights
from .._data.ensemble import Ensemble
from .._data.features import Features
from .._evidence.prediction import TopClusters, check_top, codes_of, say_unknown
from .._kernels.labels.distinct import RowKeys
from .._kernels.runtime.memory import size
from .._members.labeling import MOST_KEPT, label_rows
from ..errors import InputError


class PlacesRows:
    """What :class:`~consilience.ConsensusClustering` says of rows that may not be those of ``fit``."""

    n_jobs: int | None
    keep_base_models: bool | None
    labels_: np.ndarray
    ensemble_: Ensemble
    method_: Any
    # What fit leaves behind for this: the rows it saw (None where they were not in memory) and their type and
    # names, and which object of the ensemble each stands for.
    _keys: RowKeys | None
    _dtype: np.dtype
    _feature_names: list[str] | None
    _rows_of_ensemble: Any

    def predict(self, X: Any) -> np.ndarray:
        """The cluster of rows with the features of fit: (n_rows,).

        Each member labels the rows, and the consensus places these labels
        (:meth:`consilience.consensus.LWEA.predict` and its like). A row that is equal to one of fit gets its
        cluster, so that predicting the X of ``fit`` gives ``labels_``. Of Dask rows a lazy array.
        """
        if is_lazy(X):
            return self._lazily(X, "predict")
        features, known, codes, _ = self._label(X)
        labels = self.method_._predictor.predict(codes, n_jobs=self.n_jobs)
        labels[known >= 0] = self.labels_[known[known >= 0]]
        say_unknown(labels, features.sample_names, "got no label from any member")
        return labels

    def predict_proba(self, X: Any) -> np.ndarray:
        """The share of each cluster in rows: (n_rows, n_clusters), adding up to 1, the largest that of
        :meth:`predict`.
        """
        if is_lazy(X):
            return self._lazily(X, "predict_proba")
        codes = self._label(X)[2]
        return self.method_._predictor.shares(codes, n_jobs=self.n_jobs)[1]

    def predict_top(self, X: Any, n: int) -> TopClusters:
        """The n clusters with the largest shares in each row: a named tuple of ``clusters`` and ``shares``,
        each (n_rows, n).
        """
        check_top(n)
        if is_lazy(X):
            return TopClusters(*self._lazily(X, "predict_top", n))
        codes = self._label(X)[2]
        return self.method_._predictor.top(codes, n, n_jobs=self.n_jobs)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """How well the clusters of rows agree with the base clusterings of these: ``consensus_nmi_`` of X.

        The mean normalized mutual information of the labels that members give to the rows with the clusters
        of :meth:`predict`; for the rows of ``fit``, with their weights, it is ``consensus_nmi_``. y is
        ignored. It rises with the number of clusters, so that neither it nor ``cross_val_score`` and
        ``GridSearchCV``, which use it, can choose ``n_clusters``: ``n_clusters="auto"`` and
        :func:`consilience.choose_k` do. Measures against true classes are in :mod:`consilience.metrics`.
        """
        check_is_fitted(self, "method_")
        if is_lazy(X):
            return self.method_.score(self.ensemble_)
        codes = self._label(X)[2]
        weights = None if sample_weight is None else check_weights(sample_weight, len(codes), zero=True)
        return self.method_._predictor.score(codes, weights, n_jobs=self.n_jobs)

    def predict_confidence(self, X: Any) -> np.ndarray:
        """How sure the members are of the clusters that :meth:`predict` gives, (n_rows,), on the scale of
        ``confidence_``.
        """
        if is_lazy(X):
            return self._lazily(X, "predict_confidence")
        codes = self._label(X)[2]
        predictor = self.method_._predictor
        return predictor.confidence(codes, predictor.predict(codes, n_jobs=self.n_jobs), n_jobs=self.n_jobs)

    def score_samples(self, X: Any) -> np.ndarray:
        """(n_rows,) the share of members for which a row is no farther than the rows of fit were from each
        other, in [0, 1].

        1 for the rows of fit. Below one half, most members have not seen the like: what :meth:`predict` says
        of such a row is an extrapolation. Distances are those to the nearest center or row of fit, or to the
        last of a row's landmarks, as a member sees rows, against the largest that a row of fit has (of rows,
        to the nearest other one).
        """
        if is_lazy(X):
            return self._lazily(X, "score_samples")
        within = self._label(X, reach=True)[3]
        assert within is not None
        return within

    def transform(self, X: Any) -> np.ndarray:
        """The share of each cluster in rows, :meth:`predict_proba`, where a transformer is expected."""
        return self.predict_proba(X)

    def _lazily(self, X: Any, what: str, top: int | None = None) -> Any:
        from ..dask.generation import predict_rows_lazily

        check_is_fitted(self, "method_")
        return predict_rows_lazily(self, X, what, top)

    def _label(
        self, X: Any, *, reach: bool = False
    ) -> tuple[Features, np.ndarray, np.ndarray, np.ndarray | None]:
        """(features, position (n,) of the equal row of fit or -1, codes (n, m) of the base clusters, reach)
        of rows.
        """
        check_is_fitted(self, "method_")
        features = Features(X, least_rows=1)
        validate_data(self, X, reset=False, skip_check_array=True)
        self._check_names(features.feature_names)
        Z = features.X.astype(self._dtype, copy=False)
        if self._keys is None:  # fitted to Dask features, which members labeled
            fresh, within = label_rows(self._members(), Z, reach=reach, n_jobs=self.n_jobs)
            codes = codes_of(fresh, self.method_.distinct_, type(self).__name__)[0]
            return features, np.full(len(codes), -1), codes, within
        known = self._keys.find(Z, n_jobs=self.n_jobs)
        codes, within = self.ensemble_.labels[self._rows_of_ensemble[known]], np.ones(len(known))
        rest = np.flatnonzero(known < 0)
        if rest.size:
            part = Z if rest.size == len(known) else Z[rest]
            fresh, inside = label_rows(self._members(), part, reach=reach, n_jobs=self.n_jobs)
            self._check_codes(fresh)
            codes[rest], within[rest] = fresh, 1.0 if inside is None else inside
        return features, known, codes, within if reach else None

    def _check_names(self, names: list[str] | None) -> None:
        """Raise where columns have other names than in fit: scikit-learn looks at data frames of pandas
        alone.
        """
        known = self._feature_names
        if names is None or known is None or names == known:
            return
        j = next(j for j, (own, other) in enumerate(zip(known, names)) if own != other)
        raise InputError(
            f"Column {j} of X is {names[j]!r}, but {type(self).__name__} was fitted with {known[j]!r} "
            f"there. Pass the same features in the same "
            "order, or an array without names."
        )

    def _check_codes(self, codes: np.ndarray) -> None:
        """Compiled code takes for granted that a member gives codes of its own clusters."""
        high, low = codes.max(axis=0), codes.min()
        if low < -1 or (high >= self.ensemble_.n_clusters_per_clustering).any():
            raise InputError(
                f"A member gave the label {low if low < -1 else int(high.max())}, which is no code of its "
                f"clustering; members give -1, or the "
                "codes of ensemble.labels."
            )

    def _members(self) -> list[Any]:
        """What labels new rows, or the reason why there is nothing."""
        if (members := self.ensemble_.base_models) is not None:
            return members
        n_bytes = self.ensemble_._members_bytes
        name = type(self).__name__
        if n_bytes is None:
            raise InputError(
                f"{name} cannot label new rows: its generator is a function that returned labels alone. "
                f"Label the rows with the base "
                "clusterings yourself and pass that to model.method_.predict, or return an Ensemble with "
                "members."
            )
        why = f"keep_base_models={self.keep_base_models}" + (
            "" if self.keep_base_models is not None else f" keeps up to {size(MOST_KEPT)}"
        )
        raise InputError(
            f"{name} did not keep what labels new rows, {size(n_bytes)} for the "
            f"{self.ensemble_.n_clusterings} base clusterings ({why}). Fit "
            "it with keep_base_models=True."
        )
