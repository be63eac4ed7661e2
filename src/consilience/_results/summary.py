"""A fitted model in a few lines of text."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._base.dask_types import is_lazy
from .._base.parameters import listed
from .model import known_stability
from .view import DOUBTFUL

#: Clusters whose sizes are listed.
_MOST_SIZES = 12


def summary(model: Any) -> str:
    """The model, its clusters and their sizes, their agreement with the base clusterings, and messages."""
    method = getattr(model, "method_", model)
    check_is_fitted(method, "labels_")
    lines = [_headline(model, method), f"  sizes: {_sizes(model.cluster_sizes_)}"]
    if (study := getattr(model, "study_", None)) is not None:
        lines.append(f"  number of clusters: chosen by a study, verdict {study.verdict}{_others(study)}")
    if hasattr(method, "consensus_nmi_"):
        lines.append(
            f"  agreement with the base clusterings: mean NMI {method.consensus_nmi_:.2f} "
            f"(average linkage: {method.baseline_nmi_:.2f})"
        )
    stability = known_stability(model)
    if stability is not None and not np.isnan(stability):
        lines.append(f"  stability: {stability:.2f} (estimated adjusted Rand index to another seed's answer)")
    if not is_lazy(model.confidence_):
        confidence = np.asarray(model.confidence_)
        doubtful = int((confidence < DOUBTFUL).sum())
        lines.append(
            f"  confidence: mean {confidence.mean():.2f}; below {DOUBTFUL:g} for {_count(doubtful, 'object')}"
        )
    messages = model.messages_
    lines.extend(f"  message: {said}" for said in messages)
    return "\n".join(lines if messages else [*lines, "  messages: none"])


def _headline(model: Any, method: Any) -> str:
    names = [type(model).__name__] + ([] if method is model else [type(method).__name__])
    n_samples = method.n_samples_ if is_lazy(model.labels_) else len(model.labels_)
    source = (
        f" from {_count(method.n_clusterings_, 'base clustering')}"
        if hasattr(method, "n_clusterings_")
        else f" of {_count(len(method.tasks_), 'task')}"
    )
    return (
        f"{' with '.join(names)}: {_count(model.n_clusters_, 'cluster')}, "
        f"{_count(n_samples, 'object')}{source}"
    )


def _others(study: Any) -> str:
    """The other plausible numbers of clusters, if there are any."""
    return f"; also plausible: {listed(study.alternatives)}" if study.alternatives else ""


def _sizes(sizes: Any) -> str:
    sizes = np.asarray(sizes)
    text = [str(size) if sizes.dtype.kind == "i" else f"{size:.6g}" for size in sizes]
    return listed(text, _MOST_SIZES)


def _count(n: int, thing: str) -> str:
    return f"{n:,} {thing}" + ("" if n == 1 else "s")
