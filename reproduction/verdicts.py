"""Why a printed figure did not come out: a verdict for every miss, from the figures alone.

A miss is explained by the first of these that holds, and is unexplained otherwise:

    ensemble   a witness of its set (base clusterings, or a method that the protocol names) is off its own
               printed figure by more than one deviation, either way, and by no less than what the miss lacks;
               or the same method reaches the figure on other ensembles of the same set (the authors' own, or
               another draw)
    tuned      our default misses, and the best of our grid by the truth reaches, there or in a protocol that
               stands for it, or falls short by one of the other reasons
    seed       the printed mean is no further above ours than our own deviation over the ensembles; or it is
               of one ensemble, and one of ours reaches it
    setting    the paper does not print a setting that the row depends on, and at another value of it the row
               reaches

A miss lacks what is missing to "reached" (:func:`.analyze.compared`), so that a witness that is a little off
does not excuse a large gap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from .analyze import beyond, compared
from .protocol import Measure, Protocol

#: Verdict -> what it says, in the order shown.
VERDICTS = {
    "unexplained": "none of the following",
    "ensemble": "other base clusterings or features than those behind the printed table",
    "tuned": "the printed figure is tuned by the truth: our grid reaches it, our default does not",
    "seed": "within our own deviation over the ensembles, or, where the printed figure is of one ensemble, "
    "reached by one of ours",
    "setting": "it depends on a setting that the paper does not print, and another value of it reaches",
}


@dataclass(frozen=True)
class Grounds:
    """What a miss is judged by, all of it lines of the figures.

    ``witnesses`` tell whether the methods were given the same, ``draws`` are the same method on other
    ensembles of the set, ``tuned`` is the same method tuned by the truth (with the verdict on it, where it
    misses too), ``tuned_elsewhere`` the same in protocols that stand for this one, ``readings`` are the same
    row at other values of what is not printed, and ``one_ensemble`` says that the printed figure is of one
    ensemble.
    """

    witnesses: Iterable[Any] = ()
    draws: Iterable[Any] = ()
    tuned: Any | None = None
    tuned_verdict: str = ""
    tuned_elsewhere: Iterable[Any] = ()
    readings: Iterable[Any] = field(default_factory=tuple)
    one_ensemble: bool = False


def verdict(miss: Any, grounds: Grounds, digits: int) -> tuple[str, str]:
    """(verdict, evidence in words) of a line of the figures that missed."""
    lack = beyond(miss.difference, miss.printed_std, digits)
    off = [line for line in grounds.witnesses if _off(line, digits) and abs(line.difference) >= lack]
    if off:
        worst = max(off, key=lambda line: abs(line.difference))
        return "ensemble", f"{worst.method} {worst.difference:+.{digits}f}"
    if draw := _reaching(miss, grounds.draws, digits):
        return "ensemble", f"{draw.set} {draw.mean:.{digits}f}"
    tuned = grounds.tuned
    if miss.column == "default" and tuned is not None:
        if tuned.reached == "yes":
            return "tuned", f"tuned {tuned.mean:.{digits}f}"
        if grounds.tuned_verdict not in ("", "unexplained"):
            return "tuned", f"tuned {tuned.mean:.{digits}f}, which is {grounds.tuned_verdict}"
    if miss.column == "default" and (found := _reaching(miss, grounds.tuned_elsewhere, digits)):
        return "tuned", f"tuned {found.mean:.{digits}f} ({found.protocol})"
    if miss.std > 0 and beyond(miss.difference, miss.std, digits) <= 0:
        return "seed", f"deviation {miss.std:.{digits}f}"
    if grounds.one_ensemble and miss.reaching >= 1:
        return "seed", f"{miss.reaching:.0f} of {miss.runs:.0f} ensembles reach it"
    if reading := _reaching(miss, grounds.readings, digits):
        return (
            "setting",
            f"{' '.join(filter(None, [reading.method, reading.vary]))} {reading.mean:.{digits}f}",
        )
    return "unexplained", ""


def _off(line: Any, digits: int) -> bool:
    """Whether a witness is off print by more than one printed deviation.

    Where none is printed, one of our deviations counts, if there is one.
    """
    deviation = line.std if np.isnan(line.printed_std) else line.printed_std
    return not np.isnan(deviation) and beyond(line.difference, deviation, digits) > 0


def _reaching(miss: Any, others: Iterable[Any], digits: int) -> Any | None:
    """The best of the other lines that reach the printed figure of a miss."""
    deviation = None if np.isnan(miss.printed_std) else miss.printed_std
    best = max(others, key=lambda line: line.mean, default=None)
    if best is None or compared(best.mean, (miss.printed, deviation), digits)["reached"] == "no":
        return None
    return best


def judged(figures: pd.DataFrame, protocols: Iterable[Protocol]) -> pd.DataFrame:
    """The figures with a verdict and its evidence wherever a printed figure was missed."""
    evidence = _Evidence(figures, {protocol.name: protocol for protocol in protocols})
    found = [
        evidence.verdict(line) if line.reached == "no" else ("", "") for line in evidence.figures.itertuples()
    ]
    names = ["verdict", "evidence"]
    return figures.assign(**dict(zip(names, zip(*found), strict=True))) if found else figures


class _Evidence:
    """All figures, in reach of each miss."""

    def __init__(self, figures: pd.DataFrame, known: dict[str, Protocol]):
        # Tables of before do not say how many runs reached.
        self.figures = figures if "reaching" in figures else figures.assign(reaching=np.nan)
        self.known = known
        self.lines: dict[tuple, list] = defaultdict(list)  # of a row of a protocol by a measure
        self.readings: dict[tuple, list] = defaultdict(list)  # of the row that they stand for
        self.witnesses: dict[tuple, list] = defaultdict(list)
        for line in self.figures.itertuples():
            if line.column == "printed":
                continue
            protocol = known[line.protocol]
            self.lines[line.protocol, line.measure, line.method, line.column].append(line)
            row = {method.name: method.stands_for for method in protocol.methods}.get(line.method)
            if row is not None or protocol.stands_for is not None:
                place = protocol.stands_for or line.protocol, line.measure, row or line.method
                self.readings[place].append(line)
            if line.column == "default" and line.method in protocol.witness_rows and line.reached:
                self.witnesses[line.protocol, line.measure, line.set, line.vary].append(line)

    def verdict(self, miss: Any) -> tuple[str, str]:
        protocol = self.known[miss.protocol]
        digits = protocol.digits(miss.measure)
        place = miss.measure, miss.set, miss.vary
        near = [
            w for kin in _same_ensembles(protocol, self.known) for w in self.witnesses.get((kin, *place), ())
        ]
        kin = self.lines[miss.protocol, miss.measure, miss.method, miss.column]
        tuned = next(
            (
                line
                for line in self.lines[miss.protocol, miss.measure, miss.method, "tuned"]
                if (line.set, line.vary) == (miss.set, miss.vary)
            ),
            None,
        )
        further = miss.column == "default" and tuned is not None and tuned.reached == "no"
        grounds = Grounds(
            witnesses=near,
            draws=[
                line for line in kin if line.set != miss.set and _same_print(protocol, line.set, miss.set)
            ],
            tuned=tuned,
            tuned_verdict=self.verdict(tuned)[0] if further else "",
            tuned_elsewhere=[
                line
                for line in self.readings[miss.protocol, miss.measure, miss.method]
                if line.column == "tuned" and (line.set, line.vary) == (miss.set, miss.vary)
            ],
            readings=self._readings(protocol, miss),
            one_ensemble=protocol.one_ensemble,
        )
        return verdict(miss, grounds, digits)

    def _readings(self, protocol: Protocol, miss: Any) -> list:
        """Other values of what is not printed, where the protocol says what that is."""
        if miss.method not in protocol.unprinted:
            return []
        held = self.readings[protocol.name, miss.measure, miss.method]
        return [line for line in held if line.set == miss.set]


def _same_print(protocol: Protocol, row: str, other: str) -> bool:
    """Whether two rows are draws of one printed set."""
    names = {item.name: item.printed_as or item.name for item in protocol.sets}
    return row in names and names[row] == names.get(other)


def _same_ensembles(protocol: Protocol, known: dict[str, Protocol]) -> list[str]:
    """The protocols of the same paper that are made of the same ensembles, itself among them."""
    return [
        other.name
        for other in known.values()
        if other.paper == protocol.paper and other.ensembles == protocol.ensembles
    ]


def lacking(figures: pd.DataFrame, measures: Mapping[str, Measure]) -> pd.DataFrame:
    """The misses with what each ``lack``s to be reached: unexplained ones and large gaps to print first."""
    missed = figures[figures.reached == "no"]
    lack = [beyond(f.difference, f.printed_std, measures[f.measure].digits) for f in missed.itertuples()]
    order = [list(VERDICTS).index(name) for name in missed.verdict]
    return missed.assign(lack=lack, order=order).sort_values(["order", "difference"], kind="stable")
