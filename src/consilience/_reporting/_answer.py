"""What the page says about the answer: the lead, the table of clusters, and the cautions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._base.parameters import listed
from .._results.view import DOUBTFUL, MOST_BETWEEN, Fitted
from ._embed import printable
from ._words import count, number, percent

_TABLE_CLUSTERS = 300  # rows of the table of clusters


def lead(fitted: Fitted) -> list[str]:
    n, c, m = fitted.n_samples, fitted.n_clusters, fitted.distinct.n_clusterings
    within, across = fitted.togetherness
    first = f"{count(n, 'object')} in {count(c, 'cluster')}, from {count(m, 'base clustering')}."
    second = ""
    if not np.isnan(within):
        second = f"Two objects of the same cluster are together in {percent(within)} of the clusterings"
        second += "." if np.isnan(across) else f", two objects of different clusters in {percent(across)}."
    if contradicts(fitted):
        second = "Its base clusterings do not support it: read what is worth knowing before using it."
    return [sentence for sentence in (first, second) if sentence]


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
            f"The objects of cluster {seen[0]} stay together in {percent(stability[seen[0]])} of the "
            f"clusterings."
        ]
    low, high = known[firmness[known].argmin()], known[firmness[known].argmax()]
    firm = [percent(max(firmness[j], 0.0)) for j in (low, high)]
    if firm[0] == firm[1]:
        sentence = f"The clusters are equally firm ({firm[0]})."
    else:
        sentence = (
            f"Cluster {low} is the least firm ({firm[0]}; its objects stay together in "
            f"{percent(stability[low])} of the clusterings), cluster {high} the firmest ({firm[1]}; "
            f"{percent(stability[high])})."
        )
    sentences = [sentence]
    if k := finer(fitted):
        sentences.append(
            f"Most base clusterings are finer than the answer (half of them have {number(k)} clusters or "
            "more), so they split firm clusters too. Firmness allows for that; the share of clusterings in "
            "which objects are together does not."
        )
    return sentences


def finer(fitted: Fitted, than: int | None = None) -> int:
    """The median number of base clusters, if it is far above that of the answer (or the classes); else 0."""
    k = int(np.median(fitted.distinct.n_clusters_per_clustering))
    return k if k >= 1.5 * (fitted.n_clusters if than is None else than) else 0


def cautions(fitted: Fitted) -> list[str]:
    """Cautions that a reader should know."""
    method, distinct = fitted.method, fitted.distinct
    m, k = distinct.n_clusterings, distinct.n_clusters_per_clustering
    out = []
    if fitted.contradiction:
        out.append(fitted.contradiction)
    if fitted.instability:
        out.append(fitted.instability)
    if fitted.shortfall:
        out.append(printable(fitted.shortfall, 600))
    wanted = getattr(method, "n_clusters", None)
    if wanted is not None and wanted != fitted.n_clusters:
        out.append(f"{count(wanted, 'cluster')} were asked for and {number(fitted.n_clusters)} were found.")
    if m < 5:
        out.append(
            f"Only {count(m, 'base clustering')}: agreement between so few says little. Ten or more are "
            f"usual."
        )
    if distinct.has_missing:
        out.append(
            f"{percent(1 - float(fitted.seen.mean()))} of the labels are missing; each pair of objects is "
            f"judged by the clusterings that saw both."
        )
    if (fitted.weights != 1).any():
        out.append("Objects have weights: sizes count objects, but stability and agreement use the weights.")
    single = np.flatnonzero(k == 1)
    if single.size:
        names = listed([f"“{printable(distinct.clustering_names[i], 40)}”" for i in single], 4)
        out.append(
            f"{count(single.size, 'base clustering')} put all objects into one cluster ({names}), which "
            f"says nothing."
        )
    alone = int((fitted.sizes == 1).sum())
    if alone:
        out.append(
            f"{count(alone, 'cluster')} {'holds' if alone == 1 else 'hold'} a single object: an outlier, "
            f"or a larger number of clusters than the data have."
        )
    if contradicts(fitted) and not fitted.contradiction:
        out.append(_culprit(fitted))
    doubtful = float(fitted.doubtful.mean())
    if doubtful > 0.25:
        out.append(
            f"{percent(doubtful)} of the objects are doubtful (confidence below {DOUBTFUL:g}). Fewer "
            "clusters, or more base clusterings, may suit the data better."
        )
    return out


def contradicts(fitted: Fitted) -> bool:
    """Whether objects of the same cluster are hardly more often together than others."""
    within, across = fitted.togetherness
    return bool(fitted.contradiction) or (not np.isnan(across) and within < across + 0.05)


def _culprit(fitted: Fitted) -> str:
    """Why the clusters are not supported: because of the base clusterings, or because of the method."""
    between, own = fitted.mean_similarity, float(np.nanmean(fitted.nmi))
    hardly = "Objects of the same cluster are hardly more often together than objects of different clusters: "
    if between > max(2 * own, 0.2):
        return (
            f"{hardly}the base clusterings agree with each other (NMI {between:.2f} on average) but not with "
            f"this answer ({own:.2f}). The method has failed here; try another one, such as "
            "EvidenceAccumulation, and compare."
        )
    return (
        f"{hardly}the base clusterings hardly agree with each other either (NMI {between:.2f} on average), "
        "or do not support this many clusters. Other base clusterings, or fewer clusters, may help; another "
        "method will not."
        if not np.isnan(between)
        else f"{hardly}one base clustering alone does not support these clusters."
    )
