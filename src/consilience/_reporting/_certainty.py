"""What the page says about single objects: which are doubtful, and which clusters the evidence favors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._results.view import DOUBTFUL, Fitted
from ._embed import printable
from ._methods import words_of
from ._words import count, number, percent

DOUBTFUL_ROWS = 200
TIES = 20_000_000  # objects times clusters whose ties are computed


def doubts(fitted: Fitted) -> dict[str, Any]:
    """Sentences and the list of the least certain objects."""
    n = fitted.n_samples
    below = int(fitted.doubtful.sum())
    if below:
        worst = np.bincount(fitted.labels, fitted.doubtful, minlength=fitted.n_clusters)
        sentence = (
            f"{count(below, 'object')} ({percent(below / n)}) {'is' if below == 1 else 'are'} doubtful: "
            f"confidence is below {DOUBTFUL:g}, because base clusterings put "
            f"{'it' if below == 1 else 'them'} among objects of other clusters."
        )
        if below > 1 and fitted.n_clusters > 1:
            sentence += f" Cluster {worst.argmax()} has the most of them ({number(worst.max())})."
    else:
        sentence = f"No object is doubtful: confidence is at least {DOUBTFUL:g} for each."
    order = np.lexsort((fitted.support, fitted.confidence))[:DOUBTFUL_ROWS]
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
    # Numbers to sort by, and the text of the table: a script that rounds again could show other numbers.
    data = [
        [
            int(i),
            row["cluster"],
            float(f"{fitted.support[i]:.6g}"),
            row["own"],
            int(each[0]),
            row["choices"][0] and row["choices"][0][1],
            int(each[1]),
            row["choices"][1] and row["choices"][1][1],
            float(f"{fitted.confidence[i]:.6g}"),
            row["confidence"],
            row["name"],
        ]
        for i, each, row in zip(order, choice, rows)
    ]
    caption = (
        f"The {number(len(rows))} least certain of {count(n, 'object')}" if len(rows) < n else "All objects"
    )
    caption += (
        ". Ties: the share of an object's company, over all base clusterings, that is in a cluster. First "
        "and second choice: the two clusters with the most, whatever the method decided."
    )
    if len(rows) > 20:
        caption += " In print, the first 20."
    return {"doubt": sentences, "doubtful": rows, "doubtful_caption": caption, "doubtful_data": data}


def _overruled(fitted: Fitted, order: np.ndarray, choice: np.ndarray, tie: np.ndarray) -> list[str]:
    """How many objects are not in the cluster that they have most ties to, and why; empty if none."""
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
        f"{found} {'is' if one else 'are'} not in the cluster that {'it has' if one else 'they have'} most "
        f"ties to (the first choice below). {method} overrules {'this tie' if one else 'these ties'}: "
        f"{because}."
    ]


def choices(fitted: Fitted, objects: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """((p, 2) the two clusters that each object has most ties to, or -1; (p, 2) the shares). O(p m c)."""
    p, c = len(objects), fitted.n_clusters
    choice, tie = np.full((p, 2), -1), np.zeros((p, 2))
    if c * p > TIES:
        return choice, tie
    step, most = max(1, TIES // (10 * c)), min(c, 2)
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
    """The cluster other than its own that each object has most ties to; -1 where there is none."""
    choice, _ = choices(fitted, objects)
    return np.where(choice[:, 0] == fitted.labels[objects], choice[:, 1], choice[:, 0])
