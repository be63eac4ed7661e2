"""What the page says, section by section: plain values and sentences, no markup."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ensemble import Ensemble
from ..fitted import MOST_BETWEEN, Fitted
from ..metrics import compare
from ..plot import (
    AgreementDisplay,
    AlluvialDisplay,
    CoassociationDisplay,
    ComparisonDisplay,
    EmbeddingDisplay,
)
from ..validation import listed
from ._embed import pack, printable, spread, thousandths
from ._words import count, number, percent

#: An object is doubtful if less than this share of its ties goes to its own cluster. (What methods call confidence
#: is on scales of their own.)
DOUBTFUL = 0.5
_TABLE_CLUSTERS = 300  # rows of the table of clusters
_HEAT_CELLS = 180
_POINTS = 4000
_DOUBTFUL_ROWS = 200
_BASE_ROWS = 400
_PAYLOAD = 4_000_000  # characters that labels, confidence and names of all objects may take
_FLOWS = 40_000  # bands of the alluvial picture, over all base clusterings
_NODES = 24  # of a base clustering there
_GROUPS = 40  # consensus clusters there


def clusters(fitted: Fitted) -> dict[str, Any]:
    """The table of clusters and the sentences above it."""
    c, sizes = fitted.n_clusters, fitted.sizes
    stability = fitted.evidence.stability
    mean = np.bincount(fitted.labels, fitted.confidence, minlength=c) / sizes
    doubtful = np.bincount(fitted.labels, fitted.support < DOUBTFUL, minlength=c).astype(int)
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
            "stability": None if np.isnan(stability[j]) else float(stability[j]),
            "stability_text": "single object" if sizes[j] == 1 else percent(stability[j]),
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
        "answer": _stability_sentences(fitted, stability),
    }


def _stability_sentences(fitted: Fitted, stability: np.ndarray) -> list[str]:
    known = np.flatnonzero(~np.isnan(stability))
    if known.size == 0:
        return ["No two objects of one cluster were seen by the same clustering, so stability is unknown."]
    if known.size == 1:
        return [
            f"The objects of cluster {known[0]} stay together in {percent(stability[known[0]])} of the clusterings."
        ]
    low, high = known[stability[known].argmin()], known[stability[known].argmax()]
    if percent(stability[low]) == percent(stability[high]):
        return [
            f"All clusters are equally stable: their objects stay together in {percent(stability[low])} of the clusterings."
        ]
    sentences = [
        f"Cluster {low} is the least stable: its objects stay together in {percent(stability[low])} of the clusterings. "
        f"Cluster {high} is the most stable, with {percent(stability[high])}."
    ]
    k = int(np.median(fitted.signatures.n_clusters))
    if k >= 1.5 * fitted.n_clusters:
        sentences.append(
            f"Most base clusterings are finer than the answer (half of them have {number(k)} clusters or more), so they "
            "split firm clusters too: compare the values with each other rather than with 100%."
        )
    return sentences


def lead(fitted: Fitted) -> list[str]:
    n, c, m = fitted.n_samples, fitted.n_clusters, fitted.signatures.n_clusterings
    within, across = fitted.togetherness
    first = f"{count(n, 'object')} in {count(c, 'cluster')}, agreed on by {count(m, 'base clustering')}."
    second = ""
    if not np.isnan(within):
        second = f"Two objects of the same cluster are together in {percent(within)} of the clusterings"
        second += "." if np.isnan(across) else f", two objects of different clusters in {percent(across)}."
    return [sentence for sentence in (first, second) if sentence]


def doubts(fitted: Fitted) -> dict[str, Any]:
    """Sentences and the list of the least certain objects."""
    n = fitted.n_samples
    below = int((fitted.support < DOUBTFUL).sum())
    if below:
        worst = np.bincount(fitted.labels, fitted.support < DOUBTFUL, minlength=fitted.n_clusters)
        sentence = (
            f"{count(below, 'object')} ({percent(below / n)}) {'is' if below == 1 else 'are'} doubtful: the base clusterings tie "
            f"{'it' if below == 1 else 'them'} more to other clusters than to {'its' if below == 1 else 'their'} own."
        )
        if below > 1 and fitted.n_clusters > 1:
            sentence += f" Cluster {worst.argmax()} has the most of them ({number(worst.max())})."
    else:
        sentence = (
            "No object is doubtful: the base clusterings tie each more to its own cluster than to all others."
        )
    order = np.argsort(fitted.support, kind="stable")[:_DOUBTFUL_ROWS]
    second, tie = runners_up(fitted, order)
    rows = [
        {
            "name": printable(fitted.name(i)),
            "cluster": int(fitted.labels[i]),
            "own": percent(fitted.support[i]),
            "confidence": f"{fitted.confidence[i]:.2f}",
            "second": int(j) if j >= 0 else None,
            "tie": percent(t),
        }
        for i, j, t in zip(order, second, tie)
    ]
    data = [
        [int(i), int(fitted.labels[i]), int(own), int(j), int(t), int(s), row["name"]]
        for i, own, j, t, s, row in zip(
            order,
            thousandths(fitted.support[order]),
            second,
            thousandths(tie),
            thousandths(fitted.confidence[order]),
            rows,
        )
    ]
    caption = (
        f"The {number(len(rows))} least certain of {count(n, 'object')}" if len(rows) < n else "All objects"
    )
    caption += ". Ties: the share of an object's company, over all base clusterings, that is in its own cluster; second choice: the other cluster with the most."
    if len(rows) > 20:
        caption += " In print, the first 20."
    return {"doubt": [sentence], "doubtful": rows, "doubtful_caption": caption, "doubtful_data": data}


def runners_up(fitted: Fitted, objects: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the other cluster each object is tied to most, or -1; the share of its ties)."""
    if fitted.n_clusters == 1 or fitted.n_clusters * len(objects) > 20_000_000:
        return np.full(len(objects), -1), np.zeros(len(objects))
    affinity = fitted.evidence.memberships(objects)
    affinity[np.arange(len(objects)), fitted.labels[objects]] = -1.0
    second = affinity.argmax(axis=1)
    tie = affinity[np.arange(len(objects)), second]
    return np.where(tie > 0.0005, second, -1), np.maximum(tie, 0.0)


def heat(fitted: Fitted) -> tuple[dict[str, str], dict[str, Any]]:
    display = CoassociationDisplay.from_fitted(fitted, _HEAT_CELLS)
    b = len(display.values)
    coded = np.where(np.isnan(display.values), 255, np.round(254 * np.nan_to_num(display.values)))
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
        "values": pack(coded.ravel(), "u1"),
        "cluster": display.cell_cluster.tolist(),
        "size": sizes.tolist(),
    }
    if b == fitted.n_samples:
        data["first"] = display.order.tolist()
    return {"text": text, "aria": aria}, data


def scatter(fitted: Fitted, X: Any) -> tuple[dict[str, str], dict[str, Any]]:
    display = EmbeddingDisplay.from_fitted(fitted, X, _POINTS)
    p, n = len(display.points), fitted.n_samples
    if display.what == "circle":
        text = (
            "Every cluster has a place on a circle, next to one that is like it. An object lies between the clusters that the base "
            "clusterings tie it to: stray points are doubtful. The spots are spread out to show all their objects."
        )
    elif X is None:
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
    second, _ = runners_up(fitted, display.index)
    data: dict[str, Any] = {
        "x": pack(x, "u2"),
        "y": pack(y, "u2"),
        "labels": display.labels.tolist(),
        "confidence": thousandths(display.confidence).tolist(),
        "index": display.index.tolist(),
        "second": second.tolist(),
        "centres": centres,
    }
    if fitted.names is not None:
        data["names"] = [printable(fitted.name(i), 120) for i in display.index]
    across, up = display.axis_names()
    axes = f"Across: {across}. Up: {up}." if across else ""
    aria = f"Scatter plot of {number(p)} objects by cluster. Use the arrow keys to go through them, the most doubtful first."
    return {"text": text, "axes": axes, "aria": aria}, data


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
        "base_nmi": "Mean NMI with base",
        "confidence": "Mean confidence",
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
                "numbers": [number(found[m]) if m == "clusters" else f"{found[m]:.3f}" for m in measures],
            }
            for name, found in display.scores.items()
        ],
    }


def against_truth(fitted: Fitted, truth: Any) -> dict[str, Any]:
    """Scores of the average and the best base clustering, and of the consensus."""
    everyone = fitted.signatures.take(fitted.inverse)
    ensemble = Ensemble(everyone, sample_weight=np.ones(fitted.n_samples))
    found = compare(fitted.labels, ensemble, truth, missing="ignore")
    titles = {"acc": "Accuracy", "nmi_arithmetic": "NMI", "ari": "ARI"}
    rows = [
        {"name": name.replace("_", " "), "numbers": [f"{scores[m]:.3f}" for m in titles]}
        for name, scores in found.items()
    ]
    mean, own = (found[name]["ari"] for name in (next(iter(found)), list(found)[-1]))
    verdict = "better than" if own > mean + 5e-4 else "no better than"
    text = [f"The consensus is {verdict} the average base clustering (ARI {own:.2f} and {mean:.2f})."]
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
        data["confidence"] = pack(thousandths(fitted.confidence), "u2")
        room -= 8 * n // 3
    else:
        notes.append("The download has no column of confidence, to keep the page small.")
    if fitted.names is not None:
        names = [str(name) for name in fitted.names]
        if sum(map(len, names)) + 3 * n <= room:
            data["names"] = names
        else:
            notes.append("The download has row numbers (from 0) instead of names, to keep the page small.")
    return data, notes


def _contradiction(method: Any) -> list[str]:
    """That the base clusterings contradict the answer, if they do: then it is the method that fails, not they."""
    agreement = getattr(method, "agreement_", None)
    if agreement is None or not agreement.contradicted:
        return []
    return [
        f"The base clusterings contradict this answer: they agree with it by a mean NMI of {agreement.consensus:.2f}, and with a plain "
        f"average linkage of the same evidence by {agreement.baseline:.2f}. Use EvidenceAccumulation, or other settings of "
        f"{type(method).__name__}."
    ]


def cautions(fitted: Fitted) -> list[str]:
    """What a careful colleague would point out."""
    method, signatures = fitted.method, fitted.signatures
    m, k = signatures.n_clusterings, signatures.n_clusters
    out = []
    if method is not None and not getattr(method, "converged_", True):
        steps = count(method.n_iter_, "iteration")
        advice = " Raise max_iter and run again." if "max_iter" in method.get_params() else ""
        out.append(
            f"The method stopped after {steps} before it had settled; labels may still change with more.{advice}"
        )
    contradiction = _contradiction(method)
    out += contradiction
    wanted = getattr(method, "n_clusters", fitted.n_clusters)
    if wanted != fitted.n_clusters:
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
    within, across = fitted.togetherness
    if not np.isnan(across) and within < across + 0.05 and not contradiction:
        out.append(
            "Objects of the same cluster are hardly more often together than objects of different clusters: the base "
            "clusterings do not support this many clusters, or do not agree at all."
        )
    doubtful = float((fitted.support < DOUBTFUL).mean())
    if doubtful > 0.25:
        out.append(
            f"{percent(doubtful)} of the objects are doubtful: tied more to other clusters than to their own. Fewer clusters, or more "
            "base clusterings, may suit the data better."
        )
    return out
