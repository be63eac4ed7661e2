"""Numbers in readable form."""

from __future__ import annotations

import math


def number(value: float) -> str:
    """1797 as 1,797; fractions with one digit."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def count(value: float, noun: str) -> str:
    return f"{number(value)} {noun}{'' if value == 1 else 's'}"


def percent(share: float) -> str:
    """0.614 as 61%; a share strictly between 0 and 1 never reads 0% or 100%."""
    if math.isnan(share):
        return "unknown"
    if 0 < share < 0.005:
        return "under 1%"
    if 0.995 <= share < 1:
        return "over 99%"
    return f"{100 * share:.0f}%"


def duration(seconds: float) -> str:
    if seconds < 10:
        return f"{seconds:.2g} seconds"
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"
