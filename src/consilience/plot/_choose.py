"""The number of clusters: five displays of a study of k."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._choosing.statistics import changes
from .._choosing.study import ChooseKResult, with_pairs
from ..errors import InputError
from ..metrics import align
from .style import axes, color, plain

#: Columns of a tracking plot: so many objects are drawn at most, evenly along their order.
_MOST_TRACKED = 2_000
#: Numbers of clusters that are each marked on the axis.
_MOST_MARKED = 12
#: Share of the references that lies within a band.
WITHIN = 0.9


def null_band(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(low, high) between which the share WITHIN of the rows lies, column by column."""
    low, high = np.quantile(values, [(1 - WITHIN) / 2, (1 + WITHIN) / 2], axis=0)
    return low, high


def as_study(study: Any) -> Any:
    """The study itself, or that of a model which chose its number of clusters."""
    found = study if isinstance(study, ChooseKResult) else getattr(study, "study_", None)
    if found is None:
        raise InputError(
            f"{type(study).__name__} is not a study of the number of clusters: pass what choose_k returns, "
            "or a ConsensusClustering that was fitted with n_clusters='auto'."
        )
    return found


def _mark(ax: Any, numbers: np.ndarray) -> None:
    """Mark each number of clusters on the axis, or round ones if there are many."""
    if len(numbers) <= _MOST_MARKED:
        ax.set_xticks(numbers)
    else:
        ax.locator_params(axis="x", integer=True)


class OfStudy:
    """What the displays of a study share."""

    @classmethod
    def from_study(cls, study: Any) -> Any:
        raise NotImplementedError

    @classmethod
    def from_estimator(cls, model: Any) -> Any:
        """Make the display of the study of a fitted model, which chose its number of clusters."""
        return cls.from_study(model)


class ChooseKDisplay(OfStudy):
    """Stability of clusterings above that of data without clusters, for every k.

    Attributes
    ----------
    n_clusters_tried : array (K,)
    values : array (K,)
        The drawn statistic: the gain, or the eigengap if the study has no references.
    statistic : str
        "gain" or "eigengap".
    low, high : arrays (K,) or None
        Bounds between which 90% of the references lie; None without references.
    n_clusters : int
        The answer.
    alternatives : list of int
    verdict : str

    Examples
    --------
    >>> import numpy as np, consilience as cs
    >>> X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 20, axis=0)
    >>> study = cs.choose_k(X, n_clusters=(2, 5), random_state=0)
    >>> display = cs.plot.ChooseKDisplay.from_study(study)
    >>> display.n_clusters, int(display.n_clusters_tried[display.values.argmax()])
    (3, 3)
    """

    def __init__(self, n_clusters_tried, values, statistic, low, high, n_clusters, alternatives, verdict):
        self.n_clusters_tried = n_clusters_tried
        self.values = values
        self.statistic = statistic
        self.low = low
        self.high = high
        self.n_clusters = n_clusters
        self.alternatives = alternatives
        self.verdict = verdict

    @classmethod
    def from_study(cls, study: Any) -> ChooseKDisplay:
        """Make the display of a study, which :func:`consilience.choose_k` returns."""
        study = as_study(study)
        low = high = None
        if study.references is not None:
            low, high = null_band(study.references.ari - study.references.ari.mean(axis=0))
        statistic = "gain" if low is not None else "eigengap"
        return cls(
            study.n_clusters_tried,
            study.columns[statistic],
            statistic,
            low,
            high,
            study.n_clusters,
            study.alternatives,
            study.verdict,
        )

    def plot(self, ax: Any = None) -> ChooseKDisplay:
        """Draw the curve over the band of the references, with the answer filled and alternatives ringed."""
        ax = axes(ax, "ChooseKDisplay.plot()", figsize=(6.2, 4))
        if self.low is not None:
            ax.fill_between(
                self.n_clusters_tried,
                self.low,
                self.high,
                color="0.85",
                label=f"{WITHIN:.0%} of the references",
            )
            ax.axhline(0, color="0.6", lw=0.8)
        ax.plot(self.n_clusters_tried, self.values, marker="o", ms=4, color=color(0), label="features")
        at = dict(zip(self.n_clusters_tried.tolist(), self.values))
        if self.n_clusters in at:
            ax.plot(
                [self.n_clusters],
                [at[self.n_clusters]],
                "o",
                ms=10,
                color=color(5),
                label=f"answer: {self.n_clusters}",
            )
        others = [k for k in self.alternatives if k in at]
        if others:
            ax.plot(
                others,
                [at[k] for k in others],
                "o",
                ms=10,
                mfc="none",
                color=color(5),
                label="also plausible",
            )
        name = "ARI above that of the references" if self.statistic == "gain" else "eigengap"
        ax.set(xlabel="number of clusters", ylabel=name, title=_title(self.n_clusters, self.verdict))
        _mark(ax, self.n_clusters_tried)
        ax.legend(frameon=False, fontsize="small")
        return _finished(self, ax)


class CDFDisplay(OfStudy):
    """Distribution of co-association over pairs of objects, for every k.

    The curve is flat in the middle where hardly any pair is ambiguous.

    Attributes
    ----------
    n_clusters_tried : list of int
        The numbers of clusters with clusterings of their own.
    values, shares : lists of arrays
        For each k, the values of co-association in rising order, and the share of pairs with at most that
        value.
    bands : list of float
        Half width of the band that holds the curve with 99% probability if pairs were sampled, else 0.
    pac : array (K,)
        Share of pairs between .1 and .9.

    Examples
    --------
    >>> import consilience as cs
    >>> labels = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 1, 1], [0, 1, 2, 2]]
    >>> study = cs.choose_k(cs.Ensemble.from_clusterings(labels), n_clusters=[2, 3])
    >>> display = cs.plot.CDFDisplay.from_study(study)
    >>> display.n_clusters_tried, display.values[0].round(2).tolist(), display.shares[0].round(2).tolist()
    ([2], [0.0, 0.33, 0.67, 1.0], [0.33, 0.67, 0.83, 1.0])
    """

    def __init__(self, n_clusters_tried, values, shares, bands, pac):
        self.n_clusters_tried = n_clusters_tried
        self.values = values
        self.shares = shares
        self.bands = bands
        self.pac = pac

    @classmethod
    def from_study(cls, study: Any) -> CDFDisplay:
        """Make the display of a study, which :func:`consilience.choose_k` returns."""
        study = as_study(study)
        ks = _with_clusterings(study)
        curves = [study.cdf(k) for k in ks]
        here = np.isin(study.n_clusters_tried, ks)
        return cls(
            ks,
            [one.values for one in curves],
            [one.cdf for one in curves],
            [one.band for one in curves],
            study.columns["pac"][here],
        )

    def plot(self, ax: Any = None) -> CDFDisplay:
        """Draw one curve for each k, from few clusters (dark) to many (light)."""
        ax = axes(ax, "CDFDisplay.plot()", figsize=(6.2, 4))
        for j, k in enumerate(self.n_clusters_tried):
            x = np.concatenate([[0.0], self.values[j], [1.0]])
            y = np.concatenate([[0.0], self.shares[j], [1.0]])
            line = ax.step(x, y, where="post", color=shade(j, len(self.n_clusters_tried)), label=str(k))[0]
            if self.bands[j]:
                ax.fill_between(
                    x, y - self.bands[j], y + self.bands[j], step="post", alpha=0.2, color=line.get_color()
                )
        ax.set(
            xlim=(0, 1),
            ylim=(0, 1.01),
            xlabel="co-association",
            ylabel="share of pairs with at most this value",
            title="Ambiguity of pairs",
        )
        ax.legend(title="clusters", frameon=False, fontsize="small")
        return _finished(self, ax)


class DeltaAreaDisplay(OfStudy):
    """Relative change of the area under the CDF, as ConsensusClusterPlus draws it.

    The area is 1 - mean co-association. It depends on the sizes of the base clusters and hardly on their
    stability. Clusters of equal size give 1 - 1/k for any data, so the curve falls like ``balanced`` whether
    or not the data have clusters.

    Attributes
    ----------
    n_clusters_tried : array (K,)
    area, delta : arrays (K,)
        The area, and its change relative to the area of the previous k; for the first k, the area itself.
    balanced : array (K,)
        ``delta`` for clusters of equal size.

    Examples
    --------
    >>> import consilience as cs
    >>> labels = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 2, 2], [0, 1, 2, 2]]
    >>> study = cs.choose_k(cs.Ensemble.from_clusterings(labels), n_clusters=[2, 3])
    >>> display = cs.plot.DeltaAreaDisplay.from_study(study)
    >>> display.delta.round(2).tolist(), display.balanced.round(2).tolist()
    ([0.67, 0.25], [0.5, 0.33])
    """

    def __init__(self, n_clusters_tried, area, delta, balanced):
        self.n_clusters_tried = n_clusters_tried
        self.area = area
        self.delta = delta
        self.balanced = balanced

    @classmethod
    def from_study(cls, study: Any) -> DeltaAreaDisplay:
        """Make the display of a study, which :func:`consilience.choose_k` returns."""
        study = as_study(study)
        here = np.isin(study.n_clusters_tried, _with_clusterings(study))
        ks, area = study.n_clusters_tried[here], study.columns["area"][here]
        return cls(ks, area, changes(area), changes(1 - 1 / ks))

    def plot(self, ax: Any = None) -> DeltaAreaDisplay:
        """Draw both curves."""
        ax = axes(ax, "DeltaAreaDisplay.plot()", figsize=(6.2, 4))
        ax.plot(
            self.n_clusters_tried, self.balanced, "--", color="0.5", label="clusters of equal size, any data"
        )
        ax.plot(self.n_clusters_tried, self.delta, marker="o", ms=4, color=color(0), label="this study")
        ax.set(xlabel="number of clusters", ylabel="relative change of the area", title="Delta area")
        _mark(ax, self.n_clusters_tried)
        ax.legend(frameon=False, fontsize="small")
        return _finished(self, ax)


class TrackingDisplay(OfStudy):
    """Cluster of every object as k rises, in matching colors.

    A cluster is matched with the cluster of the previous k from which it has most of its objects.

    Attributes
    ----------
    n_clusters_tried : array (K,)
    labels : array (K, n)
        Clusters for each k, aligned with those of the previous k; objects are in ``order``.
    order : array (n,)
        The objects, sorted by cluster, from few clusters to many.
    n_clusters : int
        The answer.

    Examples
    --------
    >>> import consilience as cs
    >>> labels = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 2, 2], [0, 1, 2, 2]]
    >>> study = cs.choose_k(cs.Ensemble.from_clusterings(labels), n_clusters=[2, 3])
    >>> display = cs.plot.TrackingDisplay.from_study(study)
    >>> display.labels.tolist(), display.order.tolist()
    ([[0, 0, 1, 1], [0, 2, 1, 1]], [0, 1, 2, 3])
    """

    def __init__(self, n_clusters_tried, labels, order, n_clusters):
        self.n_clusters_tried = n_clusters_tried
        self.labels = labels
        self.order = order
        self.n_clusters = n_clusters

    @classmethod
    def from_study(cls, study: Any) -> TrackingDisplay:
        """Make the display of a study, which :func:`consilience.choose_k` returns."""
        study = as_study(study)
        rows: list[np.ndarray] = []
        for k in study.n_clusters_tried.tolist():
            own = study.labels(k)
            rows.append(align(own, rows[-1]) if rows else own)
        labels = np.stack(rows)
        order = np.lexsort(labels[::-1])
        return cls(study.n_clusters_tried, labels[:, order], order, study.n_clusters)

    def strip(self, max_samples: int = _MOST_TRACKED) -> np.ndarray:
        """(K, at most ``max_samples``) labels of objects taken evenly along the order."""
        n = self.labels.shape[1]
        return (
            self.labels
            if n <= max_samples
            else self.labels[:, np.linspace(0, n - 1, max_samples).round().astype(int)]
        )

    def plot(self, ax: Any = None) -> TrackingDisplay:
        """Draw a row for each k and a column for each object."""
        from matplotlib.colors import to_rgb

        ax = axes(ax, "TrackingDisplay.plot()", figsize=(7, 0.8 + 0.3 * len(self.n_clusters_tried)))
        strip = self.strip()
        paint = np.array([to_rgb(color(j)) for j in range(int(strip.max()) + 1)])
        ax.imshow(paint[strip], aspect="auto", interpolation="nearest")
        ax.set_yticks(
            range(len(self.n_clusters_tried)),
            [f"{k} (answer)" if k == self.n_clusters else str(k) for k in self.n_clusters_tried.tolist()],
        )
        ax.set_xticks([])
        ax.set(
            xlabel="objects",
            ylabel="number of clusters",
            title="Clusters as their number rises, in matching colors",
        )
        self.ax_, self.figure_ = ax, ax.figure
        return self


class SpectrumDisplay(OfStudy):
    """Eigenvalues of the normalized co-association: k clusters give k values near 1, then a gap.

    Attributes
    ----------
    values : array (L,)
        Eigenvalues, falling from 1.
    low, high : arrays (L,) or None
        Bounds between which 90% of the references lie; None without references.
    named : int
        The k after which the gap is largest.

    Examples
    --------
    >>> import consilience as cs
    >>> labels = [[0, 0, 1, 1], [0, 0, 1, 1], [0, 1, 2, 2], [0, 1, 2, 2]]
    >>> study = cs.choose_k(cs.Ensemble.from_clusterings(labels), n_clusters=[2, 3])
    >>> cs.plot.SpectrumDisplay.from_study(study).values.round(2).tolist()
    [1.0, 1.0, 0.33, 0.0, 0.0]
    """

    def __init__(self, values, low, high, named):
        self.values = values
        self.low = low
        self.high = high
        self.named = named

    @classmethod
    def from_study(cls, study: Any) -> SpectrumDisplay:
        """Make the display of a study, which :func:`consilience.choose_k` returns."""
        study = as_study(study)
        low = high = None
        # Clusterings that were given are others than those of the references: their spectra are not
        # comparable.
        if study.references is not None and "frequency" not in study.columns:
            low, high = null_band(study.references.values)
        return cls(study.spectrum, low, high, study.votes["eigengap"])

    def plot(self, ax: Any = None) -> SpectrumDisplay:
        """Draw the values over the band of the references, with a line at the largest gap."""
        ax = axes(ax, "SpectrumDisplay.plot()", figsize=(6.2, 4))
        number = np.arange(1, len(self.values) + 1)
        if self.low is not None:
            ax.fill_between(
                number, self.low, self.high, color="0.85", label=f"{WITHIN:.0%} of the references"
            )
        ax.plot(number, self.values, marker="o", ms=4, color=color(0), label="features")
        ax.axvline(self.named + 0.5, color=color(5), lw=1, ls="--", label=f"largest gap: {self.named}")
        ax.set(xlabel="number", ylabel="eigenvalue", title="Spectrum of the co-association", ylim=(0, 1.03))
        ax.legend(frameon=False, fontsize="small")
        return _finished(self, ax)


def shade(j: int, count: int) -> tuple[float, float, float]:
    """The j-th of ``count`` blues, from dark to light."""
    share = j / max(count - 1, 1)
    dark, light = np.array([0.02, 0.16, 0.36]), np.array([0.55, 0.80, 0.95])
    red, green, blue = (dark + share * (light - dark)).tolist()
    return red, green, blue


def _title(k: int, verdict: str) -> str:
    return f"{k} cluster{'' if k == 1 else 's'} (verdict: {verdict})"


def _with_clusterings(study: Any) -> list[int]:
    """The k that have clusterings of their own."""
    found = with_pairs(study)
    if not found:
        raise InputError(
            f"No two clusterings have the same number of clusters among {study.n_clusters_tried.tolist()}, "
            "so that no k has a distribution of pairs. Give more clusterings, or the features."
        )
    return found


def _finished(display: Any, ax: Any) -> Any:
    plain(ax)
    display.ax_, display.figure_ = ax, ax.figure
    return display
