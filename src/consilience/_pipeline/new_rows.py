"""New rows of features, placed in a consensus that was fitted to features.

Each member labels the rows, and the consensus places their labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _register
from .._base.dask_types import is_lazy
from .._base.parameters import check_weights
from .._data.ensemble import Ensemble, bytes_of_members
from .._data.features import Features
from .._evidence.prediction import TopClusters, check_top, codes_of, say_unknown
from .._kernels.labels.distinct import RowKeys
from .._kernels.runtime.memory import size
from .._members.labeling import MOST_KEPT, label_rows
from ..consensus import predictor_of
from ..errors import InputError

#: Features, position (n,) of the equal row of fit or -1, codes (n, m) of base clusters, and the share (n,) of
#: members that know similar rows, if it was asked for.
Labeled = tuple[Features, np.ndarray, np.ndarray, "np.ndarray | None"]


class PlacesRows:
    """What :class:`~consilience.ConsensusClustering` computes for rows that may not be those of ``fit``."""

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
    sample_names_: list[Any] | None
    _rows_of_ensemble: Any
    _library: str | None
    n_features_in_: int

    def predict(self, X: Any) -> np.ndarray:
        """The cluster of each row, (n_rows,); rows have the features of ``fit``.

        Each base clustering labels the rows, and the consensus places these labels (as
        :meth:`consilience.consensus.LWEA.predict` does). A row that is equal to one of fit gets its cluster,
        so that predicting the X of ``fit`` gives ``labels_``. For Dask rows, a lazy array is returned.
        """
        if is_lazy(X):
            return self._lazily(X, "predict")
        features, known, codes, _ = self._label(X)
        labels = predictor_of(self.method_).predict(codes, n_jobs=self.n_jobs)
        labels[known >= 0] = self.labels_[known[known >= 0]]
        say_unknown(labels, features.sample_names, "got no label from any base clustering")
        return labels

    def predict_proba(self, X: Any) -> np.ndarray:
        """The share of each cluster in each row, (n_rows, n_clusters).

        The shares of a row add up to 1; the largest is that of the cluster of :meth:`predict`.
        """
        if is_lazy(X):
            return self._lazily(X, "predict_proba")
        codes = self._label(X)[2]
        return predictor_of(self.method_).shares(codes, n_jobs=self.n_jobs)[1]

    def predict_top(self, X: Any, n: int) -> TopClusters:
        """The n clusters with the largest shares in each row.

        A named tuple of ``clusters`` and ``shares``, each (n_rows, n).
        """
        check_top(n)
        if is_lazy(X):
            return TopClusters(*self._lazily(X, "predict_top", n))
        codes = self._label(X)[2]
        return predictor_of(self.method_).top(codes, n, n_jobs=self.n_jobs)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """How well the clusters of the rows agree with their base clusterings: ``consensus_nmi_`` of X.

        It is the mean normalized mutual information between the labels that base clusterings give to the rows
        and the clusters of :meth:`predict`. For the rows of ``fit``, with their weights, it is
        ``consensus_nmi_``. y is ignored. The score rises with the number of clusters, so neither it nor
        ``cross_val_score`` and ``GridSearchCV``, which use it, can choose ``n_clusters``; use
        ``n_clusters="auto"`` or :func:`consilience.choose_k` instead. Measures against true classes are in
        :mod:`consilience.metrics`.
        """
        check_is_fitted(self, "method_")
        if is_lazy(X):
            return self.method_.score(self.ensemble_)
        codes = self._label(X)[2]
        weights = None if sample_weight is None else check_weights(sample_weight, len(codes), zero=True)
        return predictor_of(self.method_).score(codes, weights, n_jobs=self.n_jobs)

    def predict_confidence(self, X: Any) -> np.ndarray:
        """How sure the base clusterings are of the cluster of each row, (n_rows,), in [0, 1].

        The clusters are those of :meth:`predict`, and the scale is that of ``confidence_``. It is not a
        probability.
        """
        if is_lazy(X):
            return self._lazily(X, "predict_confidence")
        codes = self._label(X)[2]
        predictor = predictor_of(self.method_)
        return predictor.confidence(codes, predictor.predict(codes, n_jobs=self.n_jobs), n_jobs=self.n_jobs)

    def score_samples(self, X: Any) -> np.ndarray:
        """The share of base clusterings that have seen rows like each row, (n_rows,), in [0, 1].

        A base clustering has seen the like if the row is no farther from its nearest row of fit (or center,
        or landmark) than the most isolated row of fit is from its own, in the prepared features. The score is
        1 for the rows of fit. Below one half, most base clusterings have not seen the like: treat the row as
        new, since :meth:`predict` extrapolates. A row that is odd in one column only may still score high.
        """
        if is_lazy(X):
            return self._lazily(X, "score_samples")
        within = self._label(X, reach=True)[3]
        assert within is not None
        return within

    def _lazily(self, X: Any, what: str, top: int | None = None) -> Any:
        check_is_fitted(self, "method_")
        return _register.offered("predict_rows_lazily")(self, X, what, top)

    def _label(
        self, X: Any, *, reach: bool = False
    ) -> tuple[Features, np.ndarray, np.ndarray, np.ndarray | None]:
        check_is_fitted(self, "method_")
        features = Features(X, least_rows=1)
        self._check_columns(features)
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

    def _check_columns(self, features: Features) -> None:
        """Raise unless there are as many columns as in fit, with the same names if both have names.

        The errors begin with the words that scikit-learn has for them.
        """
        name, width = type(self).__name__, features.n_features
        known, names = self._feature_names, features.feature_names
        remedy = "Pass the same features in the same order, or an array, whose columns count by position."
        if names is not None and known is not None and names != known:
            strange = [own for own in names if own not in set(known)]
            absent = [own for own in known if own not in set(names)]
            what = f"Feature names unseen at fit time:\n{_lines(strange)}" if strange else ""
            what += f"Feature names seen at fit time, yet now missing:\n{_lines(absent)}" if absent else ""
            what = what or "Feature names must be in the same order as they were in fit.\n"
            raise InputError(
                f"The feature names should match those that were passed during fit.\n{what}{remedy}"
            )
        if width != self.n_features_in_:
            raise InputError(
                f"X has {width} features, but {name} is expecting {self.n_features_in_} features as input. "
                f"{remedy}"
            )

    def _check_codes(self, codes: np.ndarray) -> None:
        """Raise unless members give codes of their own clusters, on which compiled code relies."""
        high, low = codes.max(axis=0), codes.min()
        if low < -1 or (high >= self.ensemble_.n_clusters_per_clustering).any():
            raise InputError(
                f"A base model gave the label {low if low < -1 else int(high.max())}, which is no code of "
                "its clustering; base models must give -1 or the codes of ensemble.labels."
            )

    def _members(self) -> list[Any]:
        """What labels new rows, or the reason why there is nothing."""
        if (members := self.ensemble_.base_models) is not None:
            return members
        n_bytes = bytes_of_members(self.ensemble_)
        name = type(self).__name__
        if n_bytes is None:
            raise InputError(
                f"{name} cannot label new rows: its generator is a function that returned only labels. "
                "Label the rows with the base clusterings yourself and pass the labels to "
                "model.method_.predict, or return an Ensemble with base_models."
            )
        why = f"keep_base_models={self.keep_base_models}" + (
            "" if self.keep_base_models is not None else f" keeps up to {size(MOST_KEPT)}"
        )
        raise InputError(
            f"{name} did not keep what labels new rows, {size(n_bytes)} for the "
            f"{self.ensemble_.n_clusterings} base clusterings ({why}). Fit it with keep_base_models=True."
        )


# What other rooms share -----------------------------------------------------------------------------------


def label(model: PlacesRows, X: Any, *, reach: bool = False) -> Labeled:
    """The labels that the base clusterings of a fitted pipeline give to rows."""
    return model._label(X, reach=reach)


def remember(
    model: PlacesRows,
    features: Features,
    rows_of_ensemble: np.ndarray | None,
    *,
    keys: RowKeys | None = None,
    sample_names: list[Any] | None = None,
    library: str | None = None,
) -> None:
    """Keep of the rows of fit what labels new ones: their type and names, and which objects they are.

    library : of the data frame that they came in.
    """
    model._keys, model._dtype, model._feature_names = keys, features.X.dtype, features.feature_names
    model._rows_of_ensemble = rows_of_ensemble
    model.sample_names_, model._library = sample_names, library


def features_of(model: PlacesRows) -> list[str] | None:
    """Names of the features of fit, if they had any."""
    return model._feature_names


def _lines(names: list[str], most: int = 5) -> str:
    """Names as scikit-learn lists them."""
    return "".join(f"- {name}\n" for name in names[:most]) + ("- ...\n" if len(names) > most else "")
