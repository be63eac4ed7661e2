"""What distinguishes the clusters: features that differ between a cluster and the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._data.features import Features, as_features
from .._kernels.runtime.memory import ensure_fits
from .._results.view import Fitted
from ..errors import InputError
from .style import axes, shorten

_BLOCK = 4_000_000  # numbers of X that are processed at a time
_NOTHING = 1e-12  # share of a mean square that rounding may leave of a zero variance


class FeaturesDisplay:
    """Difference between the features of each cluster and those of all other objects.

    The effect of feature f in cluster j is the difference of the means in units of the pooled spread,

        effect = (mean of f in j - mean of f elsewhere) / sqrt((W_j var_j + W_r var_r) / (W_j + W_r))

    with W the weights of the two sides and var their variances. The clusters were made from the data, usually
    from these very features: effects describe the clusters and are not a test.

    Attributes
    ----------
    names : list of str
        Names of the features.
    effect : array (n_clusters, n_features)
        Standardized difference; infinite where a feature varies on neither side and yet differs.
    error : array (n_clusters, n_features)
        Standard error of the effect, sqrt(1/n_j + 1/n_r + effect^2 / 2 (n_j + n_r)), for the effective
        numbers of objects by weight.
    mean, deviation : arrays (n_clusters, n_features)
        In the cluster, in the units of X.
    rest_mean, rest_deviation : arrays (n_clusters, n_features)
        Of all other objects.

    Examples
    --------
    >>> import consilience as cs
    >>> model = cs.consensus.EvidenceAccumulation(2).fit([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
    >>> display = cs.plot.FeaturesDisplay.from_estimator(model, [[1, 5], [3, 6], [7, 5], [9, 6]])
    >>> display.effect.round(2).tolist()
    [[-6.0, 0.0], [6.0, 0.0]]
    """

    def __init__(self, names, effect, error, mean, deviation, rest_mean, rest_deviation):
        self.names = names
        self.effect = effect
        self.error = error
        self.mean = mean
        self.deviation = deviation
        self.rest_mean = rest_mean
        self.rest_deviation = rest_deviation

    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, feature_names: Any = None) -> FeaturesDisplay:
        """Make the display of a fitted consensus method or pipeline and the features.

        The features have shape (n_samples, n_features) and may be dense or sparse; ``feature_names`` are
        their names if X has none.
        """
        return cls.from_fitted(Fitted.from_estimator(model), X, feature_names)

    @classmethod
    def from_ensemble(
        cls, ensemble: Any, labels: Any, X: Any, *, feature_names: Any = None
    ) -> FeaturesDisplay:
        """Make the display of base clusterings, any labels of the same objects, and their features."""
        return cls.from_fitted(Fitted.from_ensemble(ensemble, labels), X, feature_names)

    @classmethod
    def from_fitted(cls, fitted: Fitted, X: Any, feature_names: Any = None) -> FeaturesDisplay:
        """Make the display of the view of a fitted model that all displays share."""
        fitted = Fitted.of(fitted)
        features = as_features(X) if feature_names is None else Features(X, feature_names=feature_names)
        if features.n_samples != fitted.n_samples:
            raise InputError(
                f"X has {features.n_samples} rows, but the model has {fitted.n_samples} objects."
            )
        c, w = fitted.n_clusters, fitted.weights
        ensure_fits(
            80.0 * c * features.n_features,
            what=f"A table of {c} clusters by {features.n_features} features",
            remedy="give fewer features",
        )
        mass = np.bincount(fitted.labels, w, minlength=c)
        sums, squares, shift, scale = _moments(features.X, fitted.labels, w, c)
        inside = _mean_and_variance(sums, squares, mass)
        outside = _mean_and_variance(sums.sum(0) - sums, squares.sum(0) - squares, mass.sum() - mass)
        rest = (mass.sum() - mass)[:, None]
        pooled = np.sqrt((mass[:, None] * inside[1] + rest * outside[1]) / mass.sum())
        effect = _standardize(inside[0] - outside[0], pooled)
        worth = mass**2 / np.bincount(fitted.labels, w**2, minlength=c)
        others = (mass.sum() - mass) ** 2 / np.maximum(
            (w**2).sum() - np.bincount(fitted.labels, w**2, minlength=c), np.finfo(float).tiny
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.sqrt((1 / worth + 1 / others)[:, None] + effect**2 / (2 * (worth + others))[:, None])
        spread = [scale * np.sqrt(part[1]) for part in (inside, outside)]
        means = [_snapped(part[0] + shift) * scale for part in (inside, outside)]
        return cls(_names(features), effect, error, means[0], spread[0], means[1], spread[1])

    def top(self, cluster: int, max_features: int = 5) -> np.ndarray:
        """Return the features that differ most between a cluster and the rest, largest effect first."""
        size = np.abs(np.nan_to_num(self.effect[cluster], posinf=np.inf, neginf=-np.inf))
        return np.argsort(-size, kind="stable")[:max_features]

    def plot(self, ax: Any = None, *, max_features: int = 3, cmap: Any = "RdBu_r") -> FeaturesDisplay:
        """Draw the effects of the features that differ most, up to ``max_features`` of each cluster."""
        chosen = list(dict.fromkeys(f for j in range(len(self.effect)) for f in self.top(j, max_features)))
        shown = np.nan_to_num(self.effect[:, chosen])
        ax = axes(ax, "FeaturesDisplay.plot()", figsize=(2.5 + 0.5 * len(shown), 1.4 + 0.28 * len(chosen)))
        high = float(np.clip(np.abs(shown).max(initial=0.0), 1e-9, 5.0))
        image = ax.imshow(shown.T, cmap=cmap, vmin=-high, vmax=high, aspect="auto")
        ax.set_xticks(range(len(shown)), range(len(shown)))
        ax.set_yticks(range(len(chosen)), [shorten(self.names[f]) for f in chosen])
        ax.set(xlabel="cluster", title="What distinguishes the clusters")
        ax.figure.colorbar(image, ax=ax, label="standardized difference", shrink=0.85)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _names(features: Features) -> list[str]:
    given = features.feature_names
    return [f"feature {f}" for f in range(features.n_features)] if given is None else [str(n) for n in given]


def _moments(X: Any, labels: np.ndarray, w: np.ndarray, c: int) -> tuple[np.ndarray, ...]:
    """Weighted sums and sums of squares (c, d) of (X / scale - shift), with shift and scale (d,).

    Columns are scaled to at most 1, so that no square overflows, and dense ones shifted to their mean, so
    that no digit is lost where a feature is far from zero. Sparse columns are not shifted: they would fill
    up.
    """
    n, d = X.shape
    groups = sp.csr_array((w, (labels, np.arange(n))), (c, n))
    scale = abs(X).max(axis=0)
    scale = np.asarray(scale.toarray() if sp.issparse(scale) else scale, float).reshape(-1)
    scale[scale == 0] = 1.0
    if sp.issparse(X):
        unit = X.astype(float) @ sp.diags_array(1.0 / scale)
        return (groups @ unit).toarray(), (groups @ unit.power(2)).toarray(), np.zeros(d), scale
    shift = (w @ X.astype(float, copy=False)) / scale / w.sum()
    sums, squares = np.zeros((c, d)), np.zeros((c, d))
    step = max(1, _BLOCK // d)
    for a in range(0, n, step):
        block = X[a : a + step].astype(float) / scale - shift
        here = groups[:, a : a + step]
        sums += here @ block
        squares += here @ block**2
    return sums, squares, shift, scale


def _mean_and_variance(
    sums: np.ndarray, squares: np.ndarray, mass: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(means, variances); NaN for a side without objects."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, square = sums / mass[:, None], squares / mass[:, None]
    mean[mass <= 0], square[mass <= 0] = np.nan, np.nan
    variance = square - mean**2
    return mean, np.where(variance > _NOTHING * square, variance, 0.0)


def _snapped(unit: np.ndarray) -> np.ndarray:
    """Means of numbers up to 1, with the remains of rounding set to zero."""
    return np.where(np.abs(unit) > _NOTHING, unit, 0.0)


def _standardize(difference: np.ndarray, pooled: np.ndarray) -> np.ndarray:
    """difference / pooled: 0 where both are zero, infinite where only the spread is zero."""
    largest = np.nanmax(np.abs(difference), initial=0.0)
    difference = np.where(np.abs(difference) > _NOTHING * largest, difference, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where((pooled == 0) & (difference == 0), 0.0, difference / pooled)
