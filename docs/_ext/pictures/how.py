"""How it works: one idea a picture."""

from __future__ import annotations

from functools import cache

import matplotlib.pyplot as plt
import numpy as np
from scipy.cluster.hierarchy import dendrogram, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score

import consilience as cs

from .style import COLORS, Draw, Theme, bare, colors, flat, matrix, points
from .toy import CLUSTERS, data, like_the_groups, runs

#: The base clusterings that stand beside their consensus in the first picture.
SHOWN_RUNS = (0, 17, 3)


@cache
def landing_model() -> cs.ConsensusClustering:
    """The default on the toy points; it must find the four groups, give or take a point between two."""
    X, groups = data()
    model = cs.ConsensusClustering(CLUSTERS, random_state=0, n_jobs=1).fit(X)
    if (agreement := adjusted_rand_score(groups, model.labels_)) < 0.95:
        raise AssertionError(f"the first picture would show a wrong answer: adjusted Rand index {agreement}")
    return model


def landing() -> Draw:
    X, model = data()[0], landing_model()
    members, labels = model.ensemble_.labels, like_the_groups(model.labels_)

    def draw(theme: Theme) -> plt.Figure:
        figure, axes = plt.subplot_mosaic(
            [["a", "z", "z"], ["b", "z", "z"], ["c", "z", "z"]], figsize=(7.6, 3.5), layout="constrained"
        )
        for name, run in zip("abc", SHOWN_RUNS):
            points(axes[name], X, members[:, run], size=5)
        points(axes["z"], X, labels, model.confidence_, size=34)
        return figure

    return draw


def base_runs() -> Draw:
    X, members = data()[0], runs()

    def draw(theme: Theme) -> plt.Figure:
        figure, axes = plt.subplots(1, 4, figsize=(9.6, 1.9), layout="constrained")
        for place, run in zip(axes, (0, 3, 5, 8)):
            points(
                place,
                X,
                members.labels[:, run],
                title=f"run {run + 1}: {members.n_clusters_per_clustering[run]} clusters",
                size=7,
            )
        return figure

    return draw


def table_of_labels(axes: plt.Axes, labels: np.ndarray, theme: Theme, title: str) -> None:
    """A row an object, a color a label."""
    image = colors(labels.ravel()).reshape(*labels.shape, 4)
    axes.imshow(image, aspect="auto", interpolation="nearest")
    for run in range(labels.shape[1] - 1):
        axes.axvline(run + 0.5, color=theme.paper, linewidth=2)
    axes.set_xticks(range(labels.shape[1]), [f"{run + 1}" for run in range(labels.shape[1])])
    axes.set_yticks([])
    axes.set_xlabel("run")
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(title)


def distinct() -> Draw:
    rows = np.sort(np.random.default_rng(0).choice(len(data()[0]), 60, replace=False))
    labels = runs().labels[rows][:, :8]
    distinct, counts = np.unique(labels, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")

    def draw(theme: Theme) -> plt.Figure:
        figure, axes = plt.subplots(1, 3, figsize=(8.4, 4.2), layout="constrained", width_ratios=(3, 3, 1.4))
        table_of_labels(axes[0], labels, theme, f"{len(rows)} points")
        table_of_labels(axes[1], distinct[order], theme, f"{len(distinct)} distinct rows")
        axes[2].barh(np.arange(len(distinct)), counts[order], color=COLORS[0], height=0.8)
        axes[2].set_ylim(len(distinct) - 0.5, -0.5)
        axes[2].set_yticks([])
        axes[2].spines["left"].set_visible(False)
        axes[2].xaxis.get_major_locator().set_params(integer=True)
        axes[2].set_title("points with this row")
        return figure

    return draw


def coassociation() -> Draw:
    A = runs().coassociation()
    model = cs.consensus.LWGP(CLUSTERS, random_state=0, n_jobs=1).fit(runs())
    tree = linkage(squareform(1 - A, checks=False), "average")
    place = np.empty(len(A), int)
    place[dendrogram(tree, no_plot=True)["leaves"]] = np.arange(len(A))
    order = np.lexsort((place, model.labels_))
    mixed = np.random.default_rng(0).permutation(len(A))  # rows of real data come in no order

    def draw(theme: Theme) -> plt.Figure:
        figure, axes = plt.subplots(1, 2, figsize=(8, 3.9), layout="constrained")
        matrix(axes[0], A[np.ix_(mixed, mixed)], theme, title="as the rows come", top=1)
        matrix(axes[1], A[np.ix_(order, order)], theme, title="sorted by the consensus", top=1)
        bar = figure.colorbar(
            axes[1].images[0], ax=axes, shrink=0.8, label="share of runs that have the pair together"
        )
        bar.outline.set_visible(False)
        return figure

    return draw


def in_order(column: np.ndarray) -> np.ndarray:
    """Clusters numbered from left to right, by where their objects are."""
    _, codes = np.unique(column, return_inverse=True)
    middles = [np.flatnonzero(codes == code).mean() for code in range(codes.max() + 1)]
    return np.argsort(np.argsort(middles, kind="stable"), kind="stable")[codes]


def bipartite() -> Draw:
    truth = data()[1]
    rng = np.random.default_rng(2)
    some = np.concatenate(
        [np.sort(rng.choice(np.flatnonzero(truth == group), 3, replace=False)) for group in range(4)]
    )
    labels = np.stack([in_order(column) for column in runs().labels[some][:, (0, 3, 5)].T], axis=1)
    offsets = np.concatenate([[0], np.cumsum(labels.max(axis=0) + 1)])
    known = like_the_groups(cs.consensus.LWGP(CLUSTERS, random_state=0, n_jobs=1).fit(runs()).labels_)[some]

    def draw(theme: Theme) -> plt.Figure:
        figure, axes = plt.subplots(figsize=(8, 3.4), layout="constrained")
        left = np.linspace(0, 1, len(some))
        gaps = np.repeat(np.arange(3), np.diff(offsets)) * 1.2
        right = np.arange(offsets[-1]) + gaps
        right = right / right.max()
        for run in range(3):
            for row, label in enumerate(labels[:, run]):
                axes.plot(
                    [left[row], right[offsets[run] + label]],
                    [0, 1],
                    color=COLORS[known[row]],
                    linewidth=1.1,
                    alpha=0.75,
                    zorder=1,
                )
        axes.scatter(left, np.zeros(len(some)), c=colors(known), s=90, zorder=2)
        axes.scatter(
            right, np.ones(len(right)), color=theme.paper, edgecolor=theme.ink, s=110, marker="s", zorder=2
        )
        for run in range(3):
            middle = right[offsets[run] : offsets[run + 1]].mean()
            axes.text(middle, 1.13, f"base clusters of run {run + 1}", ha="center")
        axes.text(0.5, -0.17, "objects", ha="center")
        axes.set_ylim(-0.25, 1.25)
        bare(axes)
        return figure

    return draw


def by_cluster(tree: np.ndarray, level: float, labels: np.ndarray, above: str) -> dict[int, str]:
    """Color of each merge: that of the cluster below it, up to the cut."""
    n = len(labels)
    leaf = {node: node for node in range(n)}  # any object below a node
    for merge, (left, *_rest) in enumerate(tree):
        leaf[n + merge] = leaf[int(left)]
    heights = tree[:, 2]
    return {
        n + i: COLORS[labels[leaf[n + i]]] if height < level else above for i, height in enumerate(heights)
    }


def cut() -> Draw:
    A = runs().coassociation()
    tree = linkage(squareform(1 - A, checks=False), "average")
    level = (tree[-CLUSTERS, 2] + tree[-CLUSTERS + 1, 2]) / 2
    model = cs.consensus.HBGF(CLUSTERS, random_state=0, n_jobs=1).fit(runs())
    labels, E = like_the_groups(model.labels_), model.embedding_

    def draw(theme: Theme) -> plt.Figure:
        figure, axes = plt.subplots(1, 2, figsize=(8.6, 3.3), layout="constrained", width_ratios=(1.35, 1))
        paint = by_cluster(tree, level, labels, theme.ink)
        dendrogram(tree, ax=axes[0], no_labels=True, link_color_func=paint.__getitem__)
        axes[0].axhline(level, color=theme.ink, linestyle="--", linewidth=1)
        axes[0].text(0.99, level - 0.06, "the cut", ha="right", transform=axes[0].get_yaxis_transform())
        axes[0].set_ylabel("1 − co-association")
        axes[0].spines["bottom"].set_visible(False)
        axes[0].set_title("linkage")
        axes[1].scatter(*flat(E, labels).T, c=colors(labels), s=14, linewidths=0)
        bare(axes[1], "eigenvectors of the graph")
        return figure

    return draw


def confidence() -> Draw:
    X, members = data()[0], runs()
    model = cs.consensus.LWGP(CLUSTERS, random_state=0, n_jobs=1).fit(members)
    labels = like_the_groups(model.labels_)

    def draw(theme: Theme) -> plt.Figure:
        figure, axes = plt.subplots(1, 2, figsize=(8.6, 3.1), layout="constrained", width_ratios=(1.5, 1))
        points(axes[0], X, labels, model.confidence_, size=24)
        axes[1].plot(np.sort(model.confidence_), color=COLORS[0])
        axes[1].axhline(0.6, color=theme.faint, linewidth=1)
        axes[1].text(len(X), 0.61, "doubtful below 0.6", ha="right", fontsize=8)
        axes[1].set_ylim(0, 1.02)
        axes[1].set_xlabel("points, the least sure first")
        axes[1].set_ylabel("confidence_")
        return figure

    return draw
