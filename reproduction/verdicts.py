"""Why a printed figure did not come out: a verdict for every miss, from the figures alone.

A miss is explained by the first of these that holds, and is unexplained otherwise:

    ensemble   a witness of its set (base clusterings, or a method that the protocol names) is off its own printed figure by more
               than one deviation, either way, and by no less than what the miss lacks
    tuned      our default misses, and the best of our grid by the truth reaches
    seed       the printed mean is no further above ours than our own deviation over the ensembles

A miss lacks what is missing to "reached" (:func:`.analyse.compared`), so that a witness that is a little off does not excuse a
large gap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from .analyse import beyond
from .protocol import Measure, Protocol

#: Verdict -> what it says, in the order shown.
VERDICTS = {
    "unexplained": "none of the following",
    "ensemble": "other base clusterings or features than those behind the printed table",
    "tuned": "the printed figure is tuned by the truth: our grid reaches it, our default does not",
    "seed": "within our own deviation over the ensembles",
}


def verdict(miss: Any, witnesses: Iterable[Any], tuned: Any | None, digits: int) -> tuple[str, str]:
    """(verdict, evidence in words) of a line of the figures that missed.

    ``witnesses`` are the lines that tell whether the methods were given the same, ``tuned`` the line of the same method tuned by
    the truth, each with ``method``, ``mean``, ``std``, ``difference``, ``printed_std`` and ``reached``.
    """
    lack = beyond(miss.difference, miss.printed_std, digits)
    off = [line for line in witnesses if _off(line, digits) and abs(line.difference) >= lack]
    if off:
        worst = max(off, key=lambda line: abs(line.difference))
        return "ensemble", f"{worst.method} {worst.difference:+.{digits}f}"
    if miss.column == "default" and tuned is not None and tuned.reached == "yes":
        return "tuned", f"tuned {tuned.mean:.{digits}f}"
    if miss.std > 0 and beyond(miss.difference, miss.std, digits) <= 0:
        return "seed", f"deviation {miss.std:.{digits}f}"
    return "unexplained", ""


def _off(line: Any, digits: int) -> bool:
    """Whether a witness is off print by more than one printed deviation; where none is printed, one of ours, if there is one."""
    deviation = line.std if np.isnan(line.printed_std) else line.printed_std
    return not np.isnan(deviation) and beyond(line.difference, deviation, digits) > 0


def judged(figures: pd.DataFrame, protocols: Iterable[Protocol]) -> pd.DataFrame:
    """The figures with a verdict and its evidence wherever a printed figure was missed."""
    known = {protocol.name: protocol for protocol in protocols}
    witnesses: dict[tuple, list] = defaultdict(list)
    tuned = {}
    for line in figures.itertuples():
        if line.column == "default" and line.method in known[line.protocol].witness_rows and line.reached:
            witnesses[line.protocol, line.measure, line.set, line.vary].append(line)
        if line.column == "tuned":
            tuned[line.protocol, line.measure, line.set, line.vary, line.method] = line
    found = []
    for line in figures.itertuples():
        protocol, place = known[line.protocol], (line.measure, line.set, line.vary)
        if line.reached != "no":
            found.append(("", ""))
            continue
        near = [w for kin in _same_ensembles(protocol, known) for w in witnesses.get((kin, *place), ())]
        found.append(
            verdict(
                line, near, tuned.get((line.protocol, *place, line.method)), protocol.digits(line.measure)
            )
        )
    names = ["verdict", "evidence"]
    return figures.assign(**dict(zip(names, zip(*found), strict=True))) if found else figures


def _same_ensembles(protocol: Protocol, known: dict[str, Protocol]) -> list[str]:
    """The protocols of the same paper that are made of the same ensembles, itself among them."""
    return [
        other.name
        for other in known.values()
        if other.paper == protocol.paper and other.ensembles == protocol.ensembles
    ]


def lacking(figures: pd.DataFrame, measures: Mapping[str, Measure]) -> pd.DataFrame:
    """The misses with what each ``lack``s to be reached: unexplained first, and there the largest gap to print first."""
    missed = figures[figures.reached == "no"]
    lack = [beyond(f.difference, f.printed_std, measures[f.measure].digits) for f in missed.itertuples()]
    order = [list(VERDICTS).index(name) for name in missed.verdict]
    return missed.assign(lack=lack, order=order).sort_values(["order", "difference"], kind="stable")
