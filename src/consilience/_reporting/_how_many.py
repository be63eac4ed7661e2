"""What the page says about the number of clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._choosing import COLUMNS
from .._choosing.study import with_pairs
from ..plot import CDFDisplay, ChooseKDisplay, DeltaAreaDisplay, SpectrumDisplay, TrackingDisplay
from . import _svg_study
from ._embed import printable
from ._words import count

#: Columns of the table, and of that for readers of ConsensusClusterPlus.
_SHOWN = (
    "frequency",
    "ari",
    "ari_null",
    "gain",
    "eigengap",
    "lifetime",
    "rcsi",
    "silhouette",
    "gap",
    "concordance",
    "split",
    "smallest",
    "doubtful",
)
_AS_THERE = ("pac", "rpac", "dispersion", "area", "delta_area")


def how_many(study: Any) -> dict[str, Any]:
    """Sentences, figures and tables; figures are markup of our own."""
    cdfs = CDFDisplay.from_study(study) if with_pairs(study) else None
    gain = ChooseKDisplay.from_study(study)
    figures = [
        {
            "name": "Stability above that of the references"
            if gain.statistic == "gain"
            else "Eigengap by number of clusters",
            "svg": _svg_study.gain(gain),
            "text": _gain_text(gain, study),
        },
        {
            "name": "Spectrum",
            "svg": _svg_study.spectrum(SpectrumDisplay.from_study(study)),
            "text": "Eigenvalues of the normalized co-association of clusterings with many numbers of "
            "clusters. k clusters give k values near 1; the line marks the largest ratio, after "
            f"{study.votes['eigengap']}."
            + (" Gray: 90% of the references." if study.references is not None else ""),
        },
    ]
    if cdfs is not None:
        sampled = max(cdfs.bands)
        figures.append(
            {
                "name": "Ambiguity of pairs",
                "svg": _svg_study.cdfs(cdfs),
                "text": "Share of pairs with at most this co-association, one curve for each number of "
                "clusters, lighter for more clusters. If it is flat in the middle, hardly any pair is "
                "ambiguous."
                + (
                    f" Pairs were sampled: curves hold within {sampled:.4f} with 99% probability."
                    if sampled
                    else ""
                ),
            }
        )
    tracking = TrackingDisplay.from_study(study)
    return {
        "text": [study.summary()],
        "notes": [printable(note, 1000) for note in study.notes],
        "tests": [
            {
                "name": test.name,
                "statistic": f"{test.statistic:.3g}",
                "p": f"{test.p:.3f}",
                "found": "yes" if test.rejected else "no",
            }
            for test in study.tests
        ],
        "figures": figures,
        "tracking": _svg_study.tracking(tracking),
        "tracking_text": f"{count(tracking.labels.shape[1], 'object')} from left to right, a row for each "
        "number of clusters, the same color for a cluster as long as it holds mostly the same objects."
        + (f" Framed: the answer, {study.n_clusters}." if study.n_clusters > 1 else ""),
        "table": _table(study, _SHOWN),
        "as_there": _table(study, _AS_THERE),
        "delta": _svg_study.delta_area(DeltaAreaDisplay.from_study(study)) if cdfs is not None else None,
    }


def _gain_text(display: ChooseKDisplay, study: Any) -> str:
    if display.low is None:
        return (
            "Logarithm of each eigenvalue over the next. There were no references to compare stability with."
        )
    chosen = (
        "Filled: the answer. " if study.n_clusters > 1 else "No number is chosen: the tests found nothing. "
    )
    rings = "Rings: also plausible. " if study.alternatives else ""
    return (
        "Mean adjusted Rand index between pairs of clusterings with this number of clusters, minus its mean "
        "over references without clusters; gray: "
        f"90% of these. {chosen}{rings}".strip()
    )


def _table(study: Any, wanted: tuple[str, ...]) -> dict[str, Any]:
    names = [name for name in wanted if name in study.columns]
    rows = [
        {
            "k": k,
            "chosen": k == study.n_clusters,
            "cells": [_cell(study.columns[name][i]) for name in names],
        }
        for i, k in enumerate(study.n_clusters_tried.tolist())
    ]
    heads = [{"name": name.replace("_", " "), "title": COLUMNS[name]} for name in names]
    return {"heads": heads, "rows": rows}


def _cell(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else "–"
