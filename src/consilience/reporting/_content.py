"""What the page says, section by section: plain values and sentences, no markup."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ensemble import Ensemble
from ..features import as_features
from ..fitted import DOUBTFUL, MOST_BETWEEN, MOST_COMPARED, Fitted
from ..labels import encode
from ..metrics import compare
from ..plot import (
    AgreementDisplay,
    AlluvialDisplay,
    CoassociationDisplay,
    ComparisonDisplay,
    EmbeddingDisplay,
    FeaturesDisplay,
)
from ..validation import listed
from ._embed import levels, pack, printable, spread
from ._methods import words_of
from ._words import count, number, percent

_TABLE_CLUSTERS = 300  # rows of the table of clusters
HEAT_CELLS = 180
POINTS = 4000
_DOUBTFUL_ROWS = 200
_BASE_ROWS = 400
_TIES = 20_000_000  # objects times clusters whose ties are computed
_ORDERED = 65_536  # objects that the heat map can name
_SIGNATURES = 5  # features shown of a cluster
_FEATURE_CELLS = 20_000_000  # clusters times features that are compared
_FEATURE_CLUSTERS = 24
_MEMBERS = 400_000  # characters that the base clusterings may take
_PAYLOAD = 4_000_000  # characters that labels, confidence and names of all objects may take
_FLOWS = 40_000  # bands of the alluvial picture, over all base clusterings
_NODES = 24  # of a base clustering there
_GROUPS = 40  # consensus clusters there


def clusters(fitted: Fitted) -> dict[str, Any]:
    """The table of clusters and the sentences above it."""
    c, sizes = fitted.n_clusters, fitted.sizes
    stability, firmness = fitted.evidence.stability, fitted.firmness
    mean = np.bincount(fitted.labels, fitted.confidence, minlength=c) / sizes
    doubtful = np.bincount(fitted.labels, fitted.doubtful, minlength=c).astype(int)
    closest: list[int | None] = [None] * c
    nearness = np.zeros(c)
    if 1 < c <= MOST_BETWEEN:
        others = np.nan_to_num(np.where(np.eye(c, dtype=bool), -1.0, fitted.evidence.between), nan=-1.0)
        nearness = others.max(axis=1)
        closest = [int(j) if near > 0 else None for j, near in zip(others.argmax(axis=1), nearness)]
    rows = [
        {
            "cluster": j,
            "size": number(sizes[j]),
            "share": sizes[j] / fitted.n_samples,
            "share_text": percent(sizes[j] / fitted.n_samples),
            "firmness": None if np.isnan(firmness[j]) else float(max(firmness[j], 0.0)),
            "firmness_text": "single object" if sizes[j] == 1 else percent(max(firmness[j], 0.0)),
            "together": "–" if np.isnan(stability[j]) else percent(stability[j]),
            "confidence": float(mean[j]),
            "confidence_text": f"{mean[j]:.2f}",
            "doubtful": number(doubtful[j]),
            "closest": closest[j],
            "closest_text": percent(nearness[j]),
        }
        for j in range(min(c, _TABLE_CLUSTERS))
    ]
    hidden = (
        "" if c <= _TABLE_CLUSTERS else f"The {number(c - _TABLE_CLUSTERS)} smallest clusters are not listed."
    )
    return {
        "clusters": rows,
        "hidden_clusters": hidden,
        "show_closest": 1 < c <= MOST_BETWEEN,
        "answer": _firmness_sentences(fitted),
    }


def _firmness_sentences(fitted: Fitted) -> list[str]:
    stability, firmness = fitted.evidence.stability, fitted.firmness
    known = np.flatnonzero(~np.isnan(firmness))
    if known.size == 0:
        seen = np.flatnonzero(~np.isnan(stability))
        if seen.size == 0:
            return ["No two objects of one cluster were seen by the same clustering, so firmness is unknown."]
        return [
            f"The objects of cluster {seen[0]} stay together in {percent(stability[seen[0]])} of the clusterings."
        ]
    low, high = known[firmness[known].argmin()], known[firmness[known].argmax()]
    firm = [percent(max(firmness[j], 0.0)) for j in (low, high)]
    if firm[0] == firm[1]:
        sentence = f"The clusters are equally firm ({firm[0]})."
    else:
        sentence = (
            f"Cluster {low} is the least firm ({firm[0]}; its objects stay together in {percent(stability[low])} of the "
            f"clusterings), cluster {high} the firmest ({firm[1]}; {percent(stability[high])})."
        )
    sentences = [sentence]
    if k := finer(fitted):
        sentences.append(
            f"Most base clusterings are finer than the answer (half of them have {number(k)} clusters or more), so they split firm "
            "clusters too: firmness allows for that, how often objects are together does not."
        )
    return sentences


def finer(fitted: Fitted, than: int | None = None) -> int:
    """The median number of base clusters, where it is far above that of the answer (or of classes); else 0."""
    k = int(np.median(fitted.signatures.n_clusters))
    return k if k >= 1.5 * (fitted.n_clusters if than is None else than) else 0


def lead(fitted: Fitted) -> list[str]:
    n, c, m = fitted.n_samples, fitted.n_clusters, fitted.signatures.n_clusterings
    within, across = fitted.togetherness
    first = f"{count(n, 'object')} in {count(c, 'cluster')}, from {count(m, 'base clustering')}."
    second = ""
    if not np.isnan(within):
        second = f"Two objects of the same cluster are together in {percent(within)} of the clusterings"
        second += "." if np.isnan(across) else f", two objects of different clusters in {percent(across)}."
    if contradicts(fitted):
        second = "Its base clusterings do not support it: read what is worth knowing before using it."
    return [sentence for sentence in (first, second) if sentence]


def doubts(fitted: Fitted) -> dict[str, Any]:
    """Sentences and the list of the least certain objects."""
    n = fitted.n_samples
    below = int(fitted.doubtful.sum())
    if below:
        worst = np.bincount(fitted.labels, fitted.doubtful, minlength=fitted.n_clusters)
        sentence = (
            f"{count(below, 'object')} ({percent(below / n)}) {'is' if below == 1 else 'are'} doubtful: confidence is below {DOUBTFUL:g}, "
            f"because base clusterings put {'it' if below == 1 else 'them'} among objects of other clusters."
        )
        if below > 1 and fitted.n_clusters > 1:
            sentence += f" Cluster {worst.argmax()} has the most of them ({number(worst.max())})."
    else:
        sentence = f"No object is doubtful: confidence is at least {DOUBTFUL:g} for each."
    order = np.lexsort((fitted.support, fitted.confidence))[:_DOUBTFUL_ROWS]
    choice, tie = choices(fitted, order)
    sentences = [sentence, *_overruled(fitted, order, choice, tie)]
    rows: list[dict[str, Any]] = [
        {
            "name": printable(fitted.name(i)),
            "cluster": int(fitted.labels[i]),
            "own": percent(fitted.support[i]),
            "choices": [(int(j), percent(t)) if j >= 0 else None for j, t in zip(each, ties)],
            "confidence": f"{fitted.confidence[i]:.2f}",
        }
        for i, each, ties in zip(order, choice, tie)
    ]
    # Numbers to sort by, and the very words of the table: a script that rounds again would say other numbers.
    data = [
        [int(i), row["cluster"], float(f"{fitted.support[i]:.6g}"), row["own"], int(each[0]), row["choices"][0] and row["choices"][0][1],
         int(each[1]), row["choices"][1] and row["choices"][1][1], float(f"{fitted.confidence[i]:.6g}"), row["confidence"], row["name"]]
        for i, each, row in zip(order, choice, rows)
    ]  # fmt: skip
    caption = (
        f"The {number(len(rows))} least certain of {count(n, 'object')}" if len(rows) < n else "All objects"
    )
    caption += (
        ". Ties: the share of an object's company, over all base clusterings, that is in a cluster. First and second choice: "
        "the two clusters with the most, whatever the method decided."
    )
    if len(rows) > 20:
        caption += " In print, the first 20."
    return {"doubt": sentences, "doubtful": rows, "doubtful_caption": caption, "doubtful_data": data}


def _overruled(fitted: Fitted, order: np.ndarray, choice: np.ndarray, tie: np.ndarray) -> list[str]:
    """How many objects are not in the cluster they have most ties to, and why; nothing where there are none."""
    away = (choice[:, 0] >= 0) & (choice[:, 0] != fitted.labels[order]) & (tie[:, 0] > fitted.support[order])
    if not away.any():
        return []
    found = count(int(away.sum()), "object") + (" of those listed" if len(order) < fitted.n_samples else "")
    one = away.sum() == 1
    because = (
        words_of(fitted.method).overrules if fitted.method is not None else "the labels come from elsewhere"
    )
    method = "The method" if fitted.method is None else type(fitted.method).__name__
    return [
        f"{found} {'is' if one else 'are'} not in the cluster that {'it has' if one else 'they have'} most ties to (the first choice "
        f"below). {method} overrules {'this tie' if one else 'these ties'}: {because}."
    ]


def choices(fitted: Fitted, objects: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """((p, 2) the two clusters each object has most ties to, or -1; (p, 2) the shares). O(p m c), in blocks."""
    p, c = len(objects), fitted.n_clusters
    choice, tie = np.full((p, 2), -1), np.zeros((p, 2))
    if c * p > _TIES:
        return choice, tie
    step, most = max(1, _TIES // (10 * c)), min(c, 2)
    for a in range(0, p, step):
        affinity = fitted.evidence.memberships(objects[a : a + step])
        rows = np.arange(len(affinity))
        for place in range(most):
            best = affinity.argmax(axis=1)
            tie[a : a + step, place] = affinity[rows, best]
            choice[a : a + step, place] = np.where(affinity[rows, best] > 0.0005, best, -1)
            affinity[rows, best] = -1.0
    return choice, np.maximum(tie, 0.0)


def runners_up(fitted: Fitted, objects: np.ndarray) -> np.ndarray:
    """The cluster, other than its own, that each object has most ties to; -1 where there is none."""
    choice, _ = choices(fitted, objects)
    return np.where(choice[:, 0] == fitted.labels[objects], choice[:, 1], choice[:, 0])


def heat(fitted: Fitted, display: CoassociationDisplay) -> tuple[dict[str, str], dict[str, Any]]:
    grouped = display.cell_size.max() > 1
    sizes = display.cell_size
    text = "Rows and columns are the objects, cluster by cluster; the stronger the colour, the more often two objects are together. Firm clusters are squares on the diagonal."
    if grouped:
        size = f"{sizes.min()}" if sizes.min() == sizes.max() else f"{sizes.min()} to {number(sizes.max())}"
        text += f" Each cell averages over blocks of {size} neighbouring objects."
    within, across = fitted.togetherness
    aria = (
        f"Heat map of how often objects are together, ordered by cluster: {percent(within)} inside clusters, {percent(across)} "
        "across. Use the arrow keys to read cells."
    )
    data: dict[str, Any] = {
        "values": shades(display.values),
        "cluster": display.cell_cluster.tolist(),
        "size": sizes.tolist(),
    }
    if fitted.n_samples <= _ORDERED:  # to name the objects of a cell
        data["order"] = pack(display.order, "u2")
    return {"text": text, "aria": aria}, data


def shades(values: np.ndarray) -> str:
    """Shares in [0, 1] as bytes 0..254, 255 where there is none."""
    return pack(
        np.where(np.isnan(values), 255, np.round(254 * np.clip(np.nan_to_num(values), 0, 1))).ravel(), "u1"
    )


def items(fitted: Fitted, display: CoassociationDisplay) -> tuple[dict[str, str], dict[str, Any]] | None:
    """How often the objects of each cell are together with each cluster; None where there are too many or one cluster."""
    values = display.items
    if values is None or not 1 < fitted.n_clusters <= _GROUPS:
        return None
    text = (
        "Columns are the objects in the same order, rows are the clusters: the stronger the colour, the more often an object is "
        "together with the members of a cluster. Dark in its own row alone: a firm object."
    )
    own = values[np.arange(len(values)), display.cell_cluster]
    strayed = int((np.nan_to_num(values.max(axis=1)) > np.nan_to_num(own) + 1e-12).sum())
    aria = (
        f"How often objects are together with each cluster: {percent(strayed / len(values))} of the columns are more together with "
        "another cluster than with their own. Use the arrow keys to read cells."
    )
    return {"text": text, "aria": aria}, {"values": shades(values.T)}


def plane(fitted: Fitted, X: Any) -> EmbeddingDisplay:
    """The objects in the plane; with any X the same objects."""
    return EmbeddingDisplay.from_fitted(fitted, X, POINTS)


def scatter(fitted: Fitted, display: EmbeddingDisplay) -> tuple[dict[str, str], dict[str, Any]]:
    """One picture of the plane: its words, and where the points are."""
    p, n = len(display.points), fitted.n_samples
    if display.what == "circle":
        text = (
            "Every cluster has a place on a circle, next to one that is like it. An object lies between the clusters that the base "
            "clusterings tie it to: stray points are doubtful. The spots are spread out to show all their objects."
        )
    elif display.what == "dimension":
        text = (
            "Objects that the clusterings often put together lie close (classical scaling of co-association)."
        )
    else:
        text = "The two directions in which the features vary most (principal components)."
    if p < n:
        text += f" {number(p)} of the {number(n)} objects are shown: a random sample of every cluster in proportion to its size."
    x, y = (spread(column) for column in display.points.T)
    centres = [
        [int(j), int(np.median(x[display.labels == j])), int(np.median(y[display.labels == j]))]
        for j in np.unique(display.labels)
    ]
    data: dict[str, Any] = {"x": pack(x, "u2"), "y": pack(y, "u2"), "centres": centres}
    across, up = display.axis_names()
    axes = f"Across: {across}. Up: {up}." if across else ""
    aria = f"Scatter plot of {number(p)} objects by cluster. Use the arrow keys to go through them, the most doubtful first."
    return {"text": text, "axes": axes, "aria": aria}, data


def points(fitted: Fitted, index: np.ndarray) -> dict[str, Any]:
    """What is told of the objects in the plane."""
    data: dict[str, Any] = {
        "labels": fitted.labels[index].tolist(),
        "confidence": levels(fitted.confidence[index]).tolist(),
        "ties": levels(fitted.support[index]).tolist(),
        "index": index.tolist(),
        "second": runners_up(fitted, index).tolist(),
    }
    if fitted.names is not None:
        data["names"] = [printable(fitted.name(i), 120) for i in index]
    return data


def alluvial(fitted: Fitted, agreement: AgreementDisplay) -> tuple[list[str], str, dict[str, Any]]:
    """(names to choose from, a note, data): base clusterings by agreement, as many as the page has room for."""
    c, totals = fitted.n_clusters, fitted.cluster_weights
    shown = min(c, _GROUPS)
    consensus = [{"name": f"cluster {j}", "size": float(totals[j]), "cluster": j} for j in range(shown)]
    if shown < c:
        consensus.append(
            {"name": f"{c - shown} smaller clusters", "size": float(totals[shown:].sum()), "cluster": None}
        )
    names: list[str] = []
    items: list[dict[str, Any]] = []
    flows_left = _FLOWS
    order = np.argsort(-np.nan_to_num(agreement.nmi), kind="stable")
    for i in order:
        bands = AlluvialDisplay.bands(fitted, i, _NODES, _GROUPS)
        a, b = np.nonzero(bands.flows)
        if len(a) > flows_left and items:
            break
        flows_left -= len(a)
        name = printable(agreement.clustering_names[i], 60)
        names.append(f"{name} ({len(bands.place)} clusters)")
        items.append(
            {
                "name": name,
                "nmi": float(np.nan_to_num(agreement.nmi[i])),
                "nodes": [
                    {"name": printable(node, 60), "size": round(float(flow.sum()), 3)}
                    for node, flow in zip(bands.names, bands.flows)
                ],
                "flows": [[int(p), int(q), round(float(bands.flows[p, q]), 3)] for p, q in zip(a, b)],
            }
        )
    note = (
        ""
        if len(items) == len(order)
        else f"The {len(items)} base clusterings closest to the consensus can be chosen, of {len(order)}."
    )
    return names, note, {"consensus": consensus, "clusterings": items}


def base(fitted: Fitted, agreement: AgreementDisplay) -> dict[str, Any]:
    """The table of base clusterings, closest to the consensus first."""
    signatures = fitted.signatures
    k, m = signatures.n_clusters, signatures.n_clusterings
    trust = fitted.trust
    order = np.argsort(-np.nan_to_num(agreement.nmi), kind="stable")[:_BASE_ROWS]
    rows = [
        {
            "name": printable(agreement.clustering_names[i]),
            "k": int(k[i]),
            "seen": percent(fitted.seen[i]),
            "nmi": None if np.isnan(agreement.nmi[i]) else float(agreement.nmi[i]),
            "nmi_text": f"{agreement.nmi[i]:.2f}",
            "trust": None if trust is None else float(trust[i] / trust.max()),
            "trust_text": "" if trust is None else f"{trust[i]:.3g}",
        }
        for i in order
    ]
    known = agreement.nmi[~np.isnan(agreement.nmi)]
    text = [
        f"{count(m, 'clustering')} with {number(k.min())} to {number(k.max())} clusters."
        if k.min() < k.max()
        else f"{count(m, 'clustering')} with {count(int(k[0]), 'cluster')} {'each' if m > 1 else ''}".rstrip()
        + "."
    ]
    if known.size > 1:
        text[0] += (
            f" Their agreement with the consensus (NMI: 1 is the same, 0 unrelated) is {known.mean():.2f} on average, from {known.min():.2f} to {known.max():.2f}."
        )
    if trust is not None:
        text.append(
            "Trust is what the method learned: the share of each clustering, adding up to 1. Bars compare with the largest."
        )
    shown = len(rows)
    caption = "Base clusterings, closest to the consensus first."
    more = f"{number(shown - 12)} further base clusterings" + (f" (of {number(m - 12)})" if shown < m else "")
    return {
        "text": text,
        "rows": rows,
        "missing": signatures.has_missing,
        "trusts": trust is not None,
        "caption": caption,
        "more": more,
    }


def comparison(main: str, display: ComparisonDisplay) -> dict[str, Any]:
    names, k = display.names, len(display.names)
    titles = {
        "clusters": "Clusters",
        "base_nmi": "NMI with the base",
        "firmness": "Firmness",
        "confidence": "Mean confidence",
        "doubtful": "Doubtful",
        "acc": "Accuracy",
        "nmi": "NMI",
        "ari": "ARI",
    }
    measures = [name for name in titles if name in next(iter(display.scores.values()))]
    i, j = np.triu_indices(k, 1)
    low = display.ari[i, j].argmin()
    least = display.ari[i[low], j[low]]
    text = [f"The rest of this page is about {main}."]
    if least >= 0.995:
        text.append("All methods give nearly the same answer, which speaks for it.")
    else:
        text.append(f"{names[i[low]]} and {names[j[low]]} agree least (adjusted Rand index {least:.2f}).")
    return {
        "text": [printable(sentence, 1000) for sentence in text],
        "names": [printable(name) for name in names],
        "measures": [titles[name] for name in measures],
        "matrix": [
            {
                "name": printable(name),
                "cells": [{"text": f"{v:.2f}", "shade": round(45 * max(float(v), 0.0))} for v in row],
            }
            for name, row in zip(names, display.ari)
        ],
        "scores": [
            {
                "name": printable(name),
                "numbers": [_score(m, found[m]) for m in measures],
            }
            for name, found in display.scores.items()
        ],
    }


def _score(measure: str, value: float) -> str:
    if measure == "clusters":
        return number(value)
    return percent(max(value, 0.0)) if measure in ("firmness", "doubtful") else f"{value:.3f}"


def against_truth(fitted: Fitted, truth: Any) -> dict[str, Any]:
    """Scores of the average and the best base clustering, and of the consensus."""
    everyone = fitted.signatures.take(fitted.inverse)
    ensemble = Ensemble(everyone, sample_weight=np.ones(fitted.n_samples))
    found = compare(fitted.labels, ensemble, truth, missing="ignore")
    classes = len(np.unique(encode(truth, "truth")[0]))
    k = finer(fitted, classes)
    # One-to-one accuracy of a base clustering with more clusters than classes counts all that are left over as wrong.
    titles = (
        {"nmi_arithmetic": "NMI", "ari": "ARI"} | ({} if k else {"acc": "Accuracy"}) | {"purity": "Purity"}
    )
    rows = [
        {"name": name.replace("_", " "), "numbers": [f"{scores[m]:.3f}" for m in titles]}
        for name, scores in found.items()
    ]
    names = list(found)
    mean, own = found[names[0]], found[names[-1]]
    text = []
    if k:
        text.append(
            f"Half of the base clusterings have {number(k)} clusters or more for {number(classes)} classes. NMI and ARI count a class "
            "that is split as a mistake, so they favour the consensus; purity (the share of objects in the main class of their "
            "cluster) favours finer clusterings. The truth is between the two."
        )
        if own["ari"] > mean["ari"] + 5e-4 and own["purity"] >= mean["purity"] - 5e-4:
            text.append("By both, the consensus is better than the average base clustering.")
        elif own["ari"] > mean["ari"] + 5e-4:
            text.append(
                f"The consensus has the higher ARI ({own['ari']:.2f}; base mean {mean['ari']:.2f}), the base clusterings the higher "
                f"purity ({mean['purity']:.2f}; consensus {own['purity']:.2f})."
            )
        else:
            text.append(
                f"The consensus is no better than the average base clustering (ARI {own['ari']:.2f} and {mean['ari']:.2f})."
            )
        text.append(f"Accuracy of the consensus, one cluster for each class: {own['acc']:.3f}.")
    else:
        verdict = "better than" if own["ari"] > mean["ari"] + 5e-4 else "no better than"
        text.append(
            f"The consensus is {verdict} the average base clustering (ARI {own['ari']:.2f} and {mean['ari']:.2f})."
        )
    return {"text": text, "measures": list(titles.values()), "rows": rows}


def payload(fitted: Fitted) -> tuple[dict[str, Any] | None, list[str]]:
    """Labels, confidence and names of all objects, as far as they fit; notes on what does not."""
    n, wide = fitted.n_samples, fitted.n_clusters > 256
    room = _PAYLOAD
    labels = 4 * n * (2 if wide else 1) // 3
    if labels > room or fitted.n_clusters > 65536:
        return None, [
            f"The page does not carry the labels of all {number(n)} objects: they are too many for one page."
        ]
    data: dict[str, Any] = {"labels": pack(fitted.labels, "u2" if wide else "u1"), "wide": wide}
    notes = []
    room -= labels
    if 8 * n // 3 <= room:
        data["confidence"] = pack(levels(fitted.confidence), "u2")
        room -= 8 * n // 3
    else:
        notes.append("The download has no column of confidence, to keep the page small.")
    if fitted.names is not None:
        names = [str(name) for name in fitted.names]
        if sum(map(len, names)) + 3 * n <= room:
            data["names"] = names
        else:
            notes.append("The download has row numbers (from 0) instead of names, to keep the page small.")
            room = 0
        room -= sum(map(len, names)) + 3 * n
    if n > _DOUBTFUL_ROWS:
        each = 32 // 3 + (8 if wide else 4)  # three shares and two clusters, in base64
        if each * n <= room and n * fitted.n_clusters <= _TIES:
            choice, tie = choices(fitted, np.arange(n))
            data["ties"] = [
                pack(levels(fitted.support), "u2"),
                pack(np.where(choice < 0, 65535, choice).ravel(), "u2"),
                pack(levels(tie).ravel(), "u2"),
            ]
        else:
            notes.append("Ties are known to this page for the least certain objects only, to keep it small.")
    return data, notes


def members(fitted: Fitted) -> str | None:
    """The labels of all objects in all base clusterings, for a file to run again with; None if they are too many."""
    signatures = fitted.signatures
    wide = signatures.n_clusters.max() > 255
    if 4 * fitted.n_samples * signatures.n_clusterings * (2 if wide else 1) // 3 > _MEMBERS:
        return None
    codes = signatures.labels[fitted.inverse]
    return pack(np.where(codes < 0, 65535 if wide else 255, codes).ravel(), "u2" if wide else "u1")


def cautions(fitted: Fitted) -> list[str]:
    """What a careful colleague would point out."""
    method, signatures = fitted.method, fitted.signatures
    m, k = signatures.n_clusterings, signatures.n_clusters
    out = []
    if fitted.contradiction:
        out.append(fitted.contradiction)
    if fitted.shortfall:
        steps = "" if method.n_iter_ < 1 else f" in {count(method.n_iter_, 'iteration')}"
        out.append(
            f"{type(method).__name__} did not converge{steps}: {printable(fitted.shortfall, 500).rstrip('.')}."
        )
    wanted = getattr(method, "n_clusters", None)
    if wanted is not None and wanted != fitted.n_clusters:
        out.append(f"{count(wanted, 'cluster')} were asked for and {number(fitted.n_clusters)} were found.")
    if m < 5:
        out.append(
            f"Only {count(m, 'base clustering')}: agreement between so few says little. Ten or more are usual."
        )
    if signatures.has_missing:
        out.append(
            f"{percent(1 - float(fitted.seen.mean()))} of the labels are missing; each pair of objects is judged by the clusterings that saw both."
        )
    if (fitted.weights != 1).any():
        out.append("Objects have weights: sizes here count objects, stability and agreement count weights.")
    single = np.flatnonzero(k == 1)
    if single.size:
        names = listed([f"“{printable(signatures.clustering_names[i], 40)}”" for i in single], 4)
        out.append(
            f"{count(single.size, 'base clustering')} put all objects into one cluster ({names}), which says nothing."
        )
    alone = int((fitted.sizes == 1).sum())
    if alone:
        out.append(
            f"{count(alone, 'cluster')} {'holds' if alone == 1 else 'hold'} a single object: an outlier, or a larger number of clusters than the data have."
        )
    if contradicts(fitted) and not fitted.contradiction:
        out.append(_culprit(fitted))
    doubtful = float(fitted.doubtful.mean())
    if doubtful > 0.25:
        out.append(
            f"{percent(doubtful)} of the objects are doubtful (confidence below {DOUBTFUL:g}). Fewer clusters, or more "
            "base clusterings, may suit the data better."
        )
    return out


def contradicts(fitted: Fitted) -> bool:
    """Whether objects of one cluster are hardly more often together than others."""
    within, across = fitted.togetherness
    return bool(fitted.contradiction) or (not np.isnan(across) and within < across + 0.05)


def _culprit(fitted: Fitted) -> str:
    """Why the clusters are not supported: by the base clusterings among themselves, or by the method."""
    between, own = fitted.mean_similarity, float(np.nanmean(fitted.nmi))
    hardly = "Objects of the same cluster are hardly more often together than objects of different clusters: "
    if between > max(2 * own, 0.2):
        return (
            f"{hardly}the base clusterings agree with each other (NMI {between:.2f} on average) but not with this answer "
            f"({own:.2f}). The method has failed here; try another one, such as EvidenceAccumulation, and compare."
        )
    return (
        f"{hardly}the base clusterings hardly agree with each other either (NMI {between:.2f} on average), or do not support this many "
        "clusters. Other base clusterings, or fewer clusters, may help; another method will not."
        if not np.isnan(between)
        else f"{hardly}one base clustering alone does not support these clusters."
    )


def distinguishing(fitted: Fitted, X: Any) -> dict[str, Any] | None:
    """The features that differ most between each cluster and the rest; None where nothing can be compared."""
    c = fitted.n_clusters
    if X is None or c < 2:
        return None
    features = as_features(X)
    if c * features.n_features > _FEATURE_CELLS:
        return {
            "panels": [],
            "text": [
                f"{number(c)} clusters by {number(features.n_features)} features are too many to compare here."
            ],
        }
    display = FeaturesDisplay.from_fitted(fitted, features)
    panels = []
    for j in range(min(c, _FEATURE_CLUSTERS)):
        chosen = [f for f in display.top(j, _SIGNATURES) if display.effect[j, f] != 0]
        largest = max(
            (abs(display.effect[j, f]) for f in chosen if np.isfinite(display.effect[j, f])), default=1.0
        )
        panels.append({"cluster": j, "rows": [_feature(display, j, f, largest) for f in chosen]})
    text = [
        "For each cluster, the features that differ most from all other objects. Effect: the difference of the means in units of "
        "the spread inside (1: the middle of one group lies one standard deviation off), with its standard error; means "
        "with their standard deviations."
    ]
    text.append(
        "The clusters were found in these very data, so effects describe them; they are no test."
        if fitted.pipeline is not None
        else "Where the clusters were found in these features, effects describe them; they are no test."
    )
    if c > len(panels):
        text.append(f"The {len(panels)} largest clusters of {number(c)}.")
    return {"panels": panels, "text": text}


def _feature(display: FeaturesDisplay, j: int, f: int, largest: float) -> dict[str, Any]:
    effect, error = float(display.effect[j, f]), float(display.error[j, f])
    sign = "+" if effect > 0 else "−"
    whole = not np.isfinite(effect)
    return {
        "name": printable(display.names[f], 60),
        "inside": f"{display.mean[j, f]:.3g} ± {display.deviation[j, f]:.2g}",
        "rest": f"{display.rest_mean[j, f]:.3g} ± {display.rest_deviation[j, f]:.2g}",
        "effect": f"{sign} no overlap" if whole else f"{sign}{abs(effect):.2f} ± {error:.2f}",
        "size": 1.0 if whole else abs(effect) / largest,
    }


def similarity(fitted: Fitted) -> tuple[dict[str, str], dict[str, Any]] | None:
    """Agreement between the base clusterings, alike ones side by side; None where there is one alone."""
    values, compared = fitted.similarity, fitted.compared
    if len(values) < 2:
        return None
    order = _side_by_side(values)
    names = [printable(fitted.signatures.clustering_names[i], 40) for i in compared[order]]
    m, shown = fitted.signatures.n_clusterings, len(order)
    text = (
        f"NMI between every two base clusterings, {fitted.mean_similarity:.2f} on average (1 is the same, 0 unrelated); alike ones side by "
        "side. Squares are groups that say the same; stripes that are pale throughout are loners."
    )
    if shown < m:
        text += f" {number(shown)} of the {number(m)} are shown, evenly from the closest to the consensus to the furthest."
    if fitted.signatures.n_samples > MOST_COMPARED:
        text += f" Measured on {number(MOST_COMPARED)} of the distinct objects, drawn at random."
    aria = f"Agreement between base clusterings: NMI {fitted.mean_similarity:.2f} on average. Use the arrow keys to read cells."
    return {"text": text, "aria": aria}, {"values": shades(values[np.ix_(order, order)]), "names": names}


def _side_by_side(values: np.ndarray) -> np.ndarray:
    """An order in which alike clusterings are neighbours: the leaves of an average-linkage tree."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    apart = np.clip(1.0 - np.nan_to_num(values), 0.0, 1.0)
    np.fill_diagonal(apart, 0.0)
    return leaves_list(linkage(squareform((apart + apart.T) / 2, checks=False), "average"))
