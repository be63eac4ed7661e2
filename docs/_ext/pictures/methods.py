"""Every method on the same points: one of the runs, what the method makes of them all, and its answer."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import consilience as cs
from consilience import _register

from .style import COLORS, Draw, Theme, bare, colors, flat, matrix, points
from .toy import CLUSTERS, MEMBERS, data, like_the_groups, runs

Panel = Callable[[plt.Axes, Any, np.ndarray, Theme], None]
PAGES = Path(__file__).resolve().parents[2] / "methods"


def pages() -> dict[str, list[str]]:
    """Page -> the classes that its heading names, in that order."""
    names = {entry.name for entry in _register.ESTIMATORS}
    out = {}
    for file in sorted(PAGES.glob("*.md")):
        heading = file.read_text("utf-8").partition("\n")[0]
        if found := [name for name in re.findall(r"\w+", heading) if name in names]:
            out[file.stem] = list(dict.fromkeys(found))
    return out


# What a method makes of the runs
# ----------------------------------------------------------------------------------


def by_label(labels: np.ndarray, model: Any) -> np.ndarray:
    """Objects by cluster, and in a cluster by their base labels, so that blocks show."""
    return np.lexsort((*runs().labels.T, labels))


def pairs(attribute: str | None = None, words: str = "") -> Panel:
    """A matrix of pairs: co-association, or what the method learned instead."""

    def panel(axes: plt.Axes, model: Any, labels: np.ndarray, theme: Theme) -> None:
        values = runs().coassociation() if attribute is None else expanded(getattr(model, attribute), model)
        order = by_label(labels, model)
        matrix(axes, np.abs(values)[np.ix_(order, order)], theme, title=words or "co-association")

    return panel


def expanded(values: Any, model: Any) -> np.ndarray:
    """Values of all objects, where those of distinct ones are stored."""
    values = values.toarray() if sp.issparse(values) else np.asarray(values)
    if len(values) == len(model.labels_):
        return values
    compressed = runs().distinct()
    return (
        values[compressed.inverse][:, compressed.inverse]
        if values.shape[0] == values.shape[1]
        else values[compressed.inverse]
    )


def trusted(words: str) -> Panel:
    """Co-association in which base clusters count by their reliability."""

    def panel(axes: plt.Axes, model: Any, labels: np.ndarray, theme: Theme) -> None:
        A = runs().coassociation(cluster_weights=model.cluster_reliability_)
        order = by_label(labels, model)
        matrix(axes, A[np.ix_(order, order)], theme, title=words)

    return panel


def embedding(axes: plt.Axes, model: Any, labels: np.ndarray, theme: Theme) -> None:
    E = np.asarray(model.embedding_)
    axes.scatter(*flat(E, labels).T, c=colors(labels), s=12, linewidths=0)
    bare(axes, "embedding_, seen flat")


def heights(axes: plt.Axes, model: Any, labels: np.ndarray, theme: Theme) -> None:
    """The last merges, and where the cut is."""
    last = np.asarray(model.heights_)[-12:]
    at = np.arange(len(last), 0, -1)
    axes.bar(at, last, color=[COLORS[0] if clusters >= CLUSTERS else theme.faint for clusters in at])
    axes.axvline(CLUSTERS - 0.5, color=theme.ink, linestyle="--", linewidth=1)
    axes.set_xlabel("clusters left after a merge")
    axes.set_title("height of the last merges")


def weights(axes: plt.Axes, model: Any, labels: np.ndarray, theme: Theme) -> None:
    share = np.asarray(model.clustering_weights_)
    axes.bar(np.arange(1, len(share) + 1), share, color=COLORS[0])
    axes.axhline(1 / len(share), color=theme.ink, linestyle="--", linewidth=1)
    axes.set_xlabel("run")
    axes.set_title("trust in each run")


def members(axes: plt.Axes, model: Any, labels: np.ndarray, theme: Theme) -> None:
    """Label vectors, sorted by the answer; each run recolored by the cluster it mostly agrees with."""
    order = by_label(labels, model)
    aligned = np.stack([cs.align(column, labels) for column in runs().labels.T], axis=1)
    image = colors(aligned[order].ravel()).reshape(*aligned.shape, 4)
    axes.imshow(image, aspect="auto", interpolation="nearest")
    bare(axes, "label vectors, a row an object")
    axes.set_xlabel("runs")


def graph(attribute: str, words: str, columns_are: str = "base clusters") -> Panel:
    """Objects by base clusters: what they are in, or what was learned of it."""

    def panel(axes: plt.Axes, model: Any, labels: np.ndarray, theme: Theme) -> None:
        values = runs().indicator() if not attribute else getattr(model, attribute)
        values = expanded(values, model)
        order = by_label(labels, model)
        columns = np.argsort(
            [
                np.average(
                    np.arange(CLUSTERS),
                    weights=[values[labels == c, k].sum() + 1e-9 for c in range(CLUSTERS)],
                )
                for k in range(values.shape[1])
            ],
            kind="stable",
        )
        matrix(axes, np.abs(values[order][:, columns]), theme, title=words)
        axes.set_xlabel(columns_are)
        axes.set_ylabel("objects")

    return panel


def membership(axes: plt.Axes, model: Any, labels: np.ndarray, theme: Theme) -> None:
    values = np.asarray(model.membership_)
    order = by_label(labels, model)
    shown_as = {int(own): int(shown) for own, shown in zip(model.labels_, labels)}
    heights = [values[order, column] for column in range(values.shape[1])]
    axes.stackplot(
        np.arange(len(values)),
        heights,
        colors=[COLORS[shown_as[c]] for c in range(len(heights))],
        linewidth=0,
    )
    axes.set_ylim(0, 1)
    axes.set_xlim(0, len(values))
    bare(axes, "membership of each object")


def scores(axes: plt.Axes, model: Any, labels: np.ndarray, theme: Theme) -> None:
    found = dict(model.scores_)
    axes.barh(
        list(found),
        list(found.values()),
        color=[COLORS[0] if name == model.best_method_ else theme.faint for name in found],
    )
    axes.set_title("mean NMI with the runs")


def outliers(axes: plt.Axes, model: Any, labels: np.ndarray, theme: Theme) -> None:
    score = np.asarray(model.outlier_score_)
    X = data()[0]
    shown = axes.scatter(*X.T, c=score, cmap=theme.shades, s=12, edgecolor=theme.faint, linewidths=0.3)
    axes.set_aspect("equal", "datalim")
    bare(axes, "what the runs contradict: outlier_score_")
    shown.set_rasterized(False)


#: What of each method is shown; a new one shows co-association until it has its line.
SHOWN: dict[str, Panel] = {
    "EvidenceAccumulation": heights,
    "WEAC": weights,
    "CoassociationKMeans": pairs(words="co-association, row by row"),
    "LWEA": trusted("co-association by reliable clusters"),
    "LWSC": embedding,
    "LWGP": embedding,
    "SCCABG": graph("bipartite_graph_", "the learned graph"),
    "SPCE": pairs("consensus_matrix_", "the learned consensus matrix"),
    "RSEC": outliers,
    "NRSEC": outliers,
    "CSPA": embedding,
    "HBGF": embedding,
    "MCLA": graph("votes_", "votes", "clusters of base clusters"),
    "SEC": members,
    "KCC": members,
    "ECC": members,
    "Voting": members,
    "SoftVote": membership,
    "MixtureConsensus": membership,
    "BCE": membership,
    "ECPCS": heights,
    "LCE": embedding,
    "PTA": heights,
    "PTGP": embedding,
    "NMFC": embedding,
    "DREC": embedding,
    "RCE": pairs("distinct_consensus_", "the cleaned consensus"),
    "TRCE": weights,
    "CESHL": graph("distinct_incidence_", "the learned hypergraph"),
    "HGPA": graph("", "the hypergraph of base clusters"),
    "BestOf": scores,
}  # fmt: skip


def silently(fit: Callable[[], Any]) -> Any:
    """What is to be said about a fit is said on its page."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit()


def seeded(name: str, n_clusters: int = CLUSTERS) -> Any:
    model = _register.estimator(name)(n_clusters, n_jobs=1)
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def three_panels(found: dict[str, Any], fill: Callable[[Any, str, Any, Theme], None]) -> Draw:
    """A row for each method."""

    def draw(theme: Theme) -> plt.Figure:
        size = (9, 2.7 * len(found))
        figure, axes = plt.subplots(
            len(found), 3, figsize=size, layout="constrained", squeeze=False, width_ratios=(1.15, 1, 1.15)
        )
        for row, (name, what) in zip(axes, found.items()):
            fill(row, name, what, theme)
        return figure

    return draw


def of_consensus(names: list[str]) -> Draw:
    X = data()[0]
    found = {name: silently(lambda name=name: seeded(name).fit(runs())) for name in names}

    def fill(row: Any, name: str, model: Any, theme: Theme) -> None:
        labels = like_the_groups(model.labels_)
        points(row[0], X, runs().labels[:, 3], title=f"one of {MEMBERS} runs", size=8)
        SHOWN.get(name, pairs())(row[1], model, labels, theme)
        points(row[2], X, labels, model.confidence_, title=f"{name}: the answer", size=12)

    return three_panels(found, fill)


def digits() -> tuple[np.ndarray, np.ndarray]:
    """200 images of four digits, 64 pixels: many features, which is what MDEC is for."""
    X, y = load_digits(return_X_y=True)
    kept = np.flatnonzero(y < 4)[:200]
    return X[kept], y[kept]


def plane(X: np.ndarray) -> np.ndarray:
    return PCA(2, svd_solver="full").fit_transform(X)


def of_features(names: list[str]) -> Draw:
    """From features there are members of the method's own."""
    X, groups = digits() if names == ["MDEC"] else data()
    places = X if X.shape[1] == 2 else plane(X)
    found = {name: silently(lambda name=name: seeded(name).fit(X)) for name in names}

    def fill(row: Any, name: str, model: Any, theme: Theme) -> None:
        labels, members = cs.align(model.labels_, groups), model.ensemble_
        points(
            row[0], places, members.labels[:, 0], title=f"one of its {members.n_clusterings} members", size=8
        )
        order = np.lexsort((*members.labels.T, labels))
        matrix(row[1], members.coassociation()[np.ix_(order, order)], theme, title="co-association", top=1)
        points(row[2], places, labels, model.confidence_, title=f"{name}: the answer", size=12)

    return three_panels(found, fill)


def of_tasks(names: list[str]) -> Draw:
    """Word counts of two sources on three themes, the second source smaller and with other habits."""
    rng = np.random.default_rng(3)
    themes = rng.dirichlet(np.full(60, 0.15), 3)
    habits = rng.dirichlet(np.full(60, 0.3), 2)
    task = np.repeat([0, 1], (150, 60))
    theme_of = rng.integers(0, 3, len(task))
    shares = 0.6 * themes[theme_of] + 0.4 * habits[task]
    X = np.stack([rng.multinomial(40, share) for share in shares]).astype(float)
    models = {name: seeded(name, 3) for name in names}
    found = {
        name: cs.align(silently(lambda m=model: m.fit(X, task=task)).labels_, theme_of)
        for name, model in models.items()
    }
    places = {which: plane(X[task == which]) for which in (0, 1)}

    def draw(theme: Theme) -> plt.Figure:
        figure, axes = plt.subplots(
            2, len(names), figsize=(3 * len(names), 4.4), layout="constrained", squeeze=False
        )
        for column, (name, labels) in zip(axes.T, found.items()):
            for axis, which in zip(column, (0, 1)):
                points(axis, places[which], labels[task == which], title=f"{name}, task {which + 1}", size=10)
        return figure

    return draw


def picture(classes: list[str]) -> Draw:
    multitask = {entry.name for entry in _register.MULTITASK}
    features = {entry.name for entry in _register.FEATURES}
    if set(classes) <= multitask:
        return of_tasks(classes)
    return of_features(classes) if set(classes) <= features else of_consensus(classes)
