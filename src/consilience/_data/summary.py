"""What an ensemble says of itself: a line, a table for notebooks, and a sentence on objects that nobody saw."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from .._base.parameters import listed

if TYPE_CHECKING:
    from .ensemble import Ensemble

_SHOWN = 12  # clusterings of a table


def in_a_line(ensemble: Ensemble) -> str:
    k = ensemble.n_clusters
    text = (
        f"{type(ensemble).__name__}: {_count(ensemble.n_samples, 'object')}, {_count(ensemble.n_clusterings, 'clustering')} "
        f"({k.min()} to {k.max()} clusters, {k.sum()} in all)"
    )
    if ensemble.has_missing:
        text += f", {100 * float((ensemble.labels < 0).mean()):.3g}% of labels missing"
    return text + (", weighted" if ensemble._weights is not None else "")


def as_table(ensemble: Ensemble) -> str:
    """HTML: one row per clustering, at most twelve."""
    sizes = ensemble.cluster_sizes()
    rows = []
    for i in range(min(ensemble.n_clusterings, _SHOWN)):
        own = sizes[ensemble.offsets[i] : ensemble.offsets[i + 1]]
        seen = 100 * float((ensemble.labels[:, i] >= 0).mean())
        cells = (
            ensemble.clustering_names[i],
            len(own),
            f"{own.max():g}" if own.size else "-",
            f"{own.min():g}" if own.size else "-",
            f"{seen:.4g}%",
        )
        rows.append("<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in cells) + "</tr>")
    if ensemble.n_clusterings > _SHOWN:
        rows.append(f"<tr><td colspan='5'>... {ensemble.n_clusterings - _SHOWN} more</td></tr>")
    names = ("clustering", "clusters", "largest", "smallest", "objects seen")
    head = "".join(f"<th>{name}</th>" for name in names)
    return f"<p>{escape(repr(ensemble))}</p><table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def say_unseen(ensemble: Ensemble) -> str:
    """Which objects no clustering saw, in a sentence."""
    names, many = ensemble.sample_names, ensemble.unseen.size > 1
    shown = listed(ensemble.unseen if names is None else (repr(names[i]) for i in ensemble.unseen))
    return (
        f"{'Objects' if many else 'Object'} {shown} {'are' if many else 'is'} missing from every clustering, so no consensus can place "
        f"{'them' if many else 'it'}."
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
