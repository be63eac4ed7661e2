"""The objects in the plane, colored by cluster and confidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA

from .._base.parameters import Integer, check
from .._data.features import as_features
from .._kernels.eigen import eigenpairs, leading_eigenvectors
from .._results.view import Fitted
from ..errors import InputError
from .style import axes, color, plain

_FIT_ROWS = 20_000  # enough to estimate two directions well
_DENSE_CLUSTERS = 2_000
_LEAST_PER_CLUSTER = 15


class EmbeddingDisplay:
    """Objects in two dimensions.

    With features, these are their first two principal components. Without features and with up to three
    clusters, they come from classical scaling of the co-association, so that objects that are often together
    lie close to each other (these are the principal components of the indicator matrix Y, since Y Y' / m is
    the co-association). With more clusters, two dimensions cannot hold their distances: every cluster then
    has a place on a circle beside similar clusters, and an object lies between the clusters to which the base
    clusterings tie it, spread a little so that equal objects stay visible.

    At most ``max_samples`` objects are drawn, as a random sample in proportion to the sizes of the clusters
    (with at least some objects of each).

    Attributes
    ----------
    points : array (p, 2)
    index : array (p,)
        The objects that the points stand for.
    labels, confidence : arrays (p,)
    explained : array (2,)
        Share of the variance on each axis.
    n_samples : int
        Number of all objects, of which the points may be a sample.
    what : str
        "principal component", "dimension" or "circle".

    Examples
    --------
    >>> import consilience as cs
    >>> model = cs.consensus.EvidenceAccumulation(2).fit([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 1]])
    >>> display = cs.plot.EmbeddingDisplay.from_estimator(model)
    >>> display.points.shape, display.what
    ((4, 2), 'dimension')
    """

    def __init__(self, points, index, labels, confidence, explained, n_samples: int, what: str):
        self.points = points
        self.index = index
        self.labels = labels
        self.confidence = confidence
        self.explained = explained
        self.n_samples = n_samples
        self.what = what

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any = None, *, max_samples: int = 5000, random_state: int = 0
    ) -> EmbeddingDisplay:
        """Make the display of a fitted consensus method or pipeline and, if available, the features."""
        return cls.from_fitted(Fitted.from_estimator(model), X, max_samples, random_state)

    @classmethod
    def from_ensemble(
        cls,
        ensemble: Any,
        labels: Any,
        X: Any = None,
        *,
        confidence: Any = None,
        max_samples: int = 5000,
        random_state: int = 0,
    ) -> EmbeddingDisplay:
        """Make the display of base clusterings and any labels of the same objects."""
        return cls.from_fitted(
            Fitted.from_ensemble(ensemble, labels, confidence), X, max_samples, random_state
        )

    @classmethod
    def from_fitted(
        cls, fitted: Fitted, X: Any = None, max_samples: int = 5000, random_state: int = 0
    ) -> EmbeddingDisplay:
        """Make the display of the view of a fitted model that all displays share."""
        fitted = Fitted.of(fitted)
        check("max_samples", max_samples, Integer(1))
        rng = np.random.default_rng(random_state)
        index = sample(fitted.labels, fitted.sizes, max_samples, rng)
        if X is None and fitted.n_clusters > 3:
            points, explained, what = around_circle(fitted, index), np.zeros(2), "circle"
        elif X is None:
            points, explained = scale_coassociation(fitted.distinct)
            points, what = points[fitted.inverse[index]], "dimension"
        else:
            values = as_features(X).X
            if values.shape[0] != fitted.n_samples:
                raise InputError(
                    f"X has {values.shape[0]} rows, but the model has {fitted.n_samples} objects."
                )
            points, explained = principal_components(values, index, rng)
            what = "principal component"
        return cls(
            points, index, fitted.labels[index], fitted.confidence[index], explained, fitted.n_samples, what
        )

    def axis_names(self) -> list[str]:
        """What the two axes are; nothing for places on a circle."""
        if self.what == "circle":
            return ["", ""]
        return [
            f"{self.what} {i + 1} ({100 * share:.0f}% of the variance)"
            for i, share in enumerate(self.explained)
        ]

    def plot(self, ax: Any = None, *, by: str = "cluster", cmap: Any = "cividis") -> EmbeddingDisplay:
        """Draw the points, colored ``by`` "cluster" (faint where doubtful) or "confidence"."""
        if by not in ("cluster", "confidence"):
            raise InputError(f"by={by!r} is not valid: expected 'cluster' or 'confidence'.")
        ax = axes(ax, "EmbeddingDisplay.plot()", figsize=(6.2, 5))
        size = float(np.clip(4000 / len(self.points), 4, 30))
        x, y = self.points.T
        if by == "confidence":
            order = np.argsort(-self.confidence)  # doubtful objects on top
            drawn = ax.scatter(
                x[order], y[order], s=size, c=self.confidence[order], cmap=cmap, vmin=0, vmax=1
            )
            ax.figure.colorbar(drawn, ax=ax, label="confidence", shrink=0.85)
        else:
            shades = [color(j) for j in self.labels]
            ax.scatter(x, y, s=size, c=shades, alpha=0.25 + 0.75 * np.clip(self.confidence, 0, 1), lw=0)
            for j in np.unique(self.labels):
                middle = np.median(self.points[self.labels == j], axis=0)
                ax.annotate(str(j), middle, ha="center", va="center", weight="bold",
                            bbox={"boxstyle": "circle,pad=0.25", "fc": "white", "ec": color(j)})  # fmt: skip
        ax.set(**dict(zip(("xlabel", "ylabel"), self.axis_names())))
        shown = len(self.points)
        rest = "" if shown == self.n_samples else f" ({shown:,} of {self.n_samples:,}, a random sample)"
        ax.set_title(f"Objects by {by}{rest}")
        ax.set_xticks([])
        ax.set_yticks([])
        plain(ax)
        self.ax_, self.figure_ = ax, ax.figure
        return self


def sample(labels: np.ndarray, sizes: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """About ``most`` objects at most, in rising order, each cluster in proportion but with at least a few."""
    n = len(labels)
    if n <= most:
        return np.arange(n)
    least = max(1, min(_LEAST_PER_CLUSTER, most // len(sizes)))
    wanted = np.minimum(np.maximum(np.round(most * sizes / n).astype(np.int64), least), sizes)
    shuffled = rng.permutation(n)
    order = shuffled[np.argsort(labels[shuffled], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    picked = np.concatenate([order[start : start + count] for start, count in zip(starts, wanted)])
    if len(picked) > most:  # the minimum for each of many small clusters is too much
        picked = rng.choice(picked, most, replace=False)
    return np.sort(picked)


def principal_components(
    X: Any, index: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """(points of the rows ``index``, explained shares), with directions from at most 20,000 rows."""
    n, d = X.shape
    rows = np.arange(n) if n <= _FIT_ROWS else np.sort(rng.choice(n, _FIT_ROWS, replace=False))
    shown = X[index]
    if sp.issparse(X):
        solver = "arpack"
    else:
        solver = "covariance_eigh" if d <= 500 else "randomized"
    count = min(2, d, len(rows) - (solver == "arpack"))
    if sp.issparse(X) and count >= d:
        X, shown, solver = X.toarray(), shown.toarray(), "full"
    pca = PCA(count, svd_solver=solver, random_state=0).fit(X[rows])
    explained = np.nan_to_num(pca.explained_variance_ratio_)
    return _two_columns(pca.transform(shown)), _two(explained)


def scale_coassociation(distinct: Any) -> tuple[np.ndarray, np.ndarray]:
    """(u, 2) principal components of the rows of Y, centered over the objects each clustering saw.

    A missing label counts as the average (0 after centering). The matrix is dense (k, k) up to 2,000 base
    clusters; beyond, the decomposition of the operator is truncated.
    """
    Y, w, k = distinct.indicator(), distinct.sample_weight, distinct.n_base_clusters
    owner = np.repeat(np.arange(distinct.n_clusterings), distinct.n_clusters_per_clustering)
    seen = (distinct.labels >= 0).astype(float)  # (u, m)
    mass = np.maximum(seen.T @ w, np.finfo(float).tiny)
    mean = (Y.T @ w) / mass[owner]  # (k,) share of each base cluster

    def centered(vectors):  # (Y - seen * mean) @ vectors
        sums = np.zeros((distinct.n_clusterings, vectors.shape[1]))
        np.add.at(sums, owner, mean[:, None] * vectors)
        return Y @ vectors - seen @ sums

    def transposed(vectors):
        return Y.T @ vectors - mean[:, None] * (seen.T @ vectors)[owner]

    total = float(w @ seen @ (1.0 - np.add.reduceat(mean**2, distinct.offsets[:-1])))
    if k <= _DENSE_CLUSTERS:
        C = transposed(w[:, None] * centered(np.eye(k)))
        values, vectors = eigenpairs((C + C.T) / 2, min(k, 2), which="largest", overwrite=True)
    else:
        found = leading_eigenvectors(lambda V: transposed(w[:, None] * centered(V)), k, 2, tol=1e-4)
        values, vectors = found.values, found.vectors
    values = np.maximum(values, 0.0)
    vectors = vectors * np.where(
        vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])] < 0, -1, 1
    )
    explained = values / total if total > 0 else np.zeros_like(values)
    return _two_columns(centered(vectors)), _two(explained)


def around_circle(fitted: Fitted, index: np.ndarray) -> np.ndarray:
    """Points between the places of the clusters, by affinity.

    The objects with the highest confidence lie in the middle of the spot of their cluster.
    """
    c = fitted.n_clusters
    angle = np.empty(c)
    angle[seriate(fitted.evidence.between)] = 2 * np.pi * np.arange(c) / c
    places = np.column_stack([np.cos(angle), np.sin(angle)])
    points = fitted.evidence.memberships(index) @ places
    labels, sizes = fitted.labels[index], np.bincount(fitted.labels[index], minlength=c)
    order = np.lexsort((-fitted.confidence[index], labels))
    rank = np.empty(len(index))
    rank[order] = np.arange(len(index)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    # A sunflower: equal areas, no two points on top of each other.
    room = 0.8 * np.sin(np.pi / c) * np.sqrt(sizes / sizes.max())
    radius = room[labels] * np.sqrt((rank + 0.5) / sizes[labels])
    turn = rank * np.pi * (3 - np.sqrt(5))
    return points + radius[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])


def seriate(similarity: np.ndarray) -> np.ndarray:
    """An order of the clusters in which each is followed by the most similar of those that are left."""
    alike = np.nan_to_num(similarity)
    route, left = [0], set(range(1, len(alike)))
    while left:
        here = route[-1]
        route.append(max(left, key=lambda j: (alike[here, j], -j)))
        left.remove(route[-1])
    return np.array(route)


def _two_columns(points: np.ndarray) -> np.ndarray:
    return np.hstack([points, np.zeros((len(points), 2 - points.shape[1]))])


def _two(values: np.ndarray) -> np.ndarray:
    return np.concatenate([values, np.zeros(2 - len(values))])
