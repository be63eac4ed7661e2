"""The answer beside those of other methods, and beside known classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._data.ensemble import Ensemble
from .._data.labels import encode
from .._results.view import Fitted
from ..metrics import compare_with_base
from ..plot import ComparisonDisplay
from ._answer import finer
from ._embed import printable
from ._words import number, percent


def comparison(main: str, display: ComparisonDisplay) -> dict[str, Any]:
    names, k = display.names, len(display.names)
    titles = {
        "clusters": "Clusters",
        "base_nmi": "NMI with the base",
        "firmness": "Firmness",
        "confidence": "Mean confidence",
        "doubtful": "Doubtful",
        "accuracy": "Accuracy",
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


def against_truth(fitted: Fitted, labels_true: Any) -> dict[str, Any]:
    """Scores of the average and the best base clustering, and of the consensus."""
    everyone = fitted.distinct.take(fitted.inverse)
    ensemble = Ensemble(everyone, sample_weight=np.ones(fitted.n_samples))
    found = compare_with_base(ensemble, fitted.labels, labels_true, missing="ignore")
    classes = len(np.unique(encode(labels_true, "labels_true")[0]))
    k = finer(fitted, classes)
    # One-to-one accuracy of a base clustering with more clusters than classes counts all that are left over
    # as wrong.
    titles = {"nmi": "NMI", "ari": "ARI"} | ({} if k else {"accuracy": "Accuracy"}) | {"purity": "Purity"}
    rows = [
        {"name": name.replace("_", " "), "numbers": [f"{scores[m]:.3f}" for m in titles]}
        for name, scores in found.items()
    ]
    names = list(found)
    mean, own = found[names[0]], found[names[-1]]
    text = []
    if k:
        text.append(
            f"Half of the base clusterings have {number(k)} clusters or more for {number(classes)} "
            f"classes. NMI and ARI count a class that is split as a mistake, so they favor the consensus; "
            "purity (the share of objects in the main class of their cluster) favors finer clusterings. "
            "The truth is between the two."
        )
        if own["ari"] > mean["ari"] + 5e-4 and own["purity"] >= mean["purity"] - 5e-4:
            text.append("By both, the consensus is better than the average base clustering.")
        elif own["ari"] > mean["ari"] + 5e-4:
            text.append(
                f"The consensus has the higher ARI ({own['ari']:.2f}; base mean {mean['ari']:.2f}), the "
                f"base clusterings the higher purity ({mean['purity']:.2f}; consensus {own['purity']:.2f})."
            )
        else:
            text.append(
                f"The consensus is no better than the average base clustering (ARI {own['ari']:.2f} and "
                f"{mean['ari']:.2f})."
            )
        text.append(f"Accuracy of the consensus, one cluster for each class: {own['accuracy']:.3f}.")
    else:
        verdict = "better than" if own["ari"] > mean["ari"] + 5e-4 else "no better than"
        text.append(
            f"The consensus is {verdict} the average base clustering (ARI {own['ari']:.2f} and "
            f"{mean['ari']:.2f})."
        )
    return {"text": text, "measures": list(titles.values()), "rows": rows}
