"""What the page says about the base clusterings: their agreement with the consensus and with each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._results.view import MOST_COMPARED, Fitted
from ..plot import AgreementDisplay, AlluvialDisplay
from ._embed import printable
from ._pictures import GROUPS, shades
from ._words import count, number, percent

_BASE_ROWS = 400
_FLOWS = 40_000  # bands of the alluvial picture, over all base clusterings
_NODES = 24  # of a base clustering there


def base(fitted: Fitted, agreement: AgreementDisplay) -> dict[str, Any]:
    """The table of base clusterings, closest to the consensus first."""
    distinct = fitted.distinct
    k, m = distinct.n_clusters_per_clustering, distinct.n_clusterings
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
            f" Their agreement with the consensus (NMI: 1 is the same, 0 unrelated) is {known.mean():.2f} "
            f"on average, from {known.min():.2f} to {known.max():.2f}."
        )
    if trust is not None:
        text.append(
            "Trust is the weight that the method learned for each clustering; weights add up to 1. Bars "
            "compare with the largest."
        )
    shown = len(rows)
    caption = "Base clusterings, closest to the consensus first."
    more = f"{number(shown - 12)} further base clusterings" + (f" (of {number(m - 12)})" if shown < m else "")
    return {
        "text": text,
        "rows": rows,
        "missing": distinct.has_missing,
        "trusts": trust is not None,
        "caption": caption,
        "more": more,
    }


def alluvial(fitted: Fitted, agreement: AgreementDisplay) -> tuple[list[str], str, dict[str, Any]]:
    """(names to choose from, a note, data): base clusterings that the page has room for, by agreement."""
    c, totals = fitted.n_clusters, fitted.cluster_weights
    shown = min(c, GROUPS)
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
        bands = AlluvialDisplay.bands(fitted, i, _NODES, GROUPS)
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
        else f"Of {len(order)} base clusterings, the {len(items)} closest to the consensus can be chosen."
    )
    return names, note, {"consensus": consensus, "clusterings": items}


def similarity(fitted: Fitted) -> tuple[dict[str, str], dict[str, Any]] | None:
    """Agreement between the base clusterings, similar ones side by side; None if there is only one."""
    values, compared = fitted.similarity, fitted.compared
    if len(values) < 2:
        return None
    order = _side_by_side(values)
    names = [printable(fitted.distinct.clustering_names[i], 40) for i in compared[order]]
    m, shown = fitted.distinct.n_clusterings, len(order)
    text = (
        f"NMI between each pair of base clusterings, {fitted.mean_similarity:.2f} on average (1 means "
        "identical, 0 unrelated); similar ones are side by side. Squares are groups that agree with each "
        "other; a stripe that is pale throughout is a clustering that agrees with no other."
    )
    if shown < m:
        text += (
            f" {number(shown)} of the {number(m)} are shown, evenly from the closest to the consensus "
            f"to the furthest."
        )
    if fitted.distinct.n_samples > MOST_COMPARED:
        text += f" Measured on {number(MOST_COMPARED)} of the distinct objects, drawn at random."
    aria = (
        f"Agreement between base clusterings: NMI {fitted.mean_similarity:.2f} on average. Use the "
        f"arrow keys to read cells."
    )
    return {"text": text, "aria": aria}, {"values": shades(values[np.ix_(order, order)]), "names": names}


def _side_by_side(values: np.ndarray) -> np.ndarray:
    """An order in which similar clusterings are neighbors: the leaves of an average-linkage tree."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    apart = np.clip(1.0 - np.nan_to_num(values), 0.0, 1.0)
    np.fill_diagonal(apart, 0.0)
    return leaves_list(linkage(squareform((apart + apart.T) / 2, checks=False), "average"))
