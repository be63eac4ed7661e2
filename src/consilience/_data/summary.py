"""Descriptions of an ensemble: a line, a table for notebooks, and a sentence on unseen objects."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from .._base.names import numbered
from .._base.parameters import listed
from ..errors import need
from .named import given_weights

if TYPE_CHECKING:
    from .ensemble import Ensemble

_SHOWN = 12  # clusterings in a table


def in_a_line(ensemble: Ensemble) -> str:
    k = ensemble.n_clusters_per_clustering
    text = (
        f"{type(ensemble).__name__}: {_count(ensemble.n_samples, 'object')}, "
        f"{_count(ensemble.n_clusterings, 'clustering')} "
        f"({k.min()} to {k.max()} clusters, {k.sum()} in all)"
    )
    if ensemble.has_missing:
        text += f", {100 * float((ensemble.labels < 0).mean()):.3g}% of labels missing"
    return text + (", weighted" if given_weights(ensemble) is not None else "")


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
    return (
        f"<p>{escape(repr(ensemble))}</p><table><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def as_frame_of(ensemble: Ensemble, library: str | None) -> Any:
    """A data frame of the labels as given, one column per clustering, of that library or of pandas."""
    library = library or "pandas"
    needed = need(library, library, "to_frame()")
    names = numbered(ensemble.clustering_names)
    if library == "pandas":
        columns = {name: _of_pandas(ensemble, i, needed) for i, name in enumerate(names)}
        return needed.DataFrame(columns, index=ensemble.sample_names)
    import narwhals as nw

    # The module itself is passed: old versions of narwhals do not know names of libraries.
    lists = {name: ensemble.original_labels(i).tolist() for i, name in enumerate(names)}
    return nw.from_dict(lists, backend=needed).to_native()


def _of_pandas(ensemble: Ensemble, clustering: int, pandas: Any) -> Any:
    """The labels of one clustering; whole numbers stay whole beside missing ones."""
    codes, values = ensemble.labels[:, clustering], ensemble.categories[clustering]
    seen = codes >= 0
    if seen.all():
        return values[codes]
    if values.dtype.kind == "i":
        return pandas.arrays.IntegerArray(np.where(seen, values[codes], 0), ~seen)
    return ensemble.original_labels(clustering)


def say_unseen(ensemble: Ensemble) -> str:
    """A sentence on the objects that no clustering saw."""
    names, many = ensemble.sample_names, ensemble.unseen.size > 1
    shown = listed(ensemble.unseen if names is None else (repr(names[i]) for i in ensemble.unseen))
    return (
        f"{'Objects' if many else 'Object'} {shown} {'are' if many else 'is'} missing from every "
        f"clustering, so no consensus can place "
        f"{'them' if many else 'it'}."
    )


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
