"""Small static drawings for the page.

Colors come from the style sheet of the page, so that they follow its light or dark mode.
"""

from __future__ import annotations

import math
from html import escape

import numpy as np

from ..plot import ConfidenceDisplay, PacingDisplay
from ..plot.style import color, needs_log

_TEXT_WIDTH = 8.0  # of a character at 12 px, in the widest of the usual fonts


def ridges(display: ConfidenceDisplay) -> str:
    """One row of bars per cluster over confidence, with the median."""
    c, left, width, step = len(display.counts), 64, 580, 30
    bottom = 12 + step * c
    span = width - left - 12

    def x(value: float) -> float:
        return left + span * value

    parts = []
    for tick in (0, 0.25, 0.5, 0.75, 1):
        parts.append(line(x(tick), 8, x(tick), bottom))
        parts.append(text_at(x(tick), bottom + 16, f"{tick:g}", "middle", "soft"))
    peaks = np.maximum(display.counts.max(axis=1), 1)
    for j in range(c):
        base = 8 + step * (j + 1)
        bars = []
        for b, count in enumerate(display.counts[j]):
            if count:
                height = max(1.0, (step - 5) * count / peaks[j])
                bars.append(
                    f"M{x(display.edges[b]) + 0.5:.1f},{base}v{-height:.1f}"
                    f"h{span / len(display.counts[j]) - 1:.1f}v{height:.1f}z"
                )
        low, middle, high = display.quartiles[j]
        title = (
            f"Cluster {j}: {display.sizes[j]:,} objects, median confidence {middle:.2f}, half of them "
            f"between {low:.2f} and {high:.2f}"
        )
        parts.append(
            f'<g><title>{escape(title)}</title><path d="{"".join(bars)}" fill="{color(j)}"/>'
            f'<path class="median" d="M{x(middle):.1f},{base}V{base - step + 6}"/></g>'
        )
        parts.append(text_at(left - 10, base - 6, str(j), "end"))
    parts.append(text_at(8, 18, "cluster", kind="soft"))
    label = "Confidence by cluster. " + " ".join(
        f"Cluster {j}: median {display.quartiles[j, 1]:.2f}." for j in range(c)
    )
    return picture(width, bottom + 24, label, parts)


def curve(name: str, values: np.ndarray) -> str:
    """A small panel: one quantity over the iterations."""
    return _steps(name, values, np.ones(len(values), int), width=440, height=170, log=needs_log(values))


def pacing(display: PacingDisplay) -> str:
    """The admitted share over the iterations, with the stages."""
    stage = display.stage if display.stage[-1] < len(display.stage) else np.ones(len(display.stage), int)
    return _steps(
        f"share of {display.what} admitted", display.share, stage, width=580, height=210, percent=True
    )


def _steps(name, values, stage, *, width, height, log=False, percent=False) -> str:
    right, top, bottom = 8, 10, 24
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    if log:
        low, high = math.log10(low), math.log10(high)
    if high - low <= 1e-12 * max(abs(high), 1.0):
        low, high = low - 0.5 * max(abs(low), 1e-9), high + 0.5 * max(abs(high), 1e-9)
        if percent:
            low, high = 0.0, 1.0
    ticks = [low + share * (high - low) for share in (0, 0.5, 1)]
    ticks = [10**tick for tick in ticks] if log else ticks
    shown = _percents(ticks) if percent else [short(tick) for tick in ticks]
    left = 12 + max(map(room, shown))

    def x(i: int) -> float:
        return left + (width - left - right) * (i / max(len(values) - 1, 1))

    def y(value: float) -> float:
        value = math.log10(value) if log else value
        return height - bottom - (height - top - bottom) * (value - low) / (high - low)

    parts = []
    for value, text in zip(ticks, shown):
        parts.append(line(left, y(value), width - right, y(value)))
        parts.append(text_at(left - 6, y(value) + 4, text, "end", "soft"))
    for i in np.flatnonzero(np.diff(stage)).tolist():
        middle = (x(i) + x(i + 1)) / 2
        parts.append(line(middle, top, middle, height - bottom))
        label = f"stage {stage[i + 1]}"
        if middle + 4 + room(label) < width:
            parts.append(text_at(middle + 4, height - bottom - 5, label, kind="soft"))
    points = [(x(i), y(v)) for i, v in enumerate(values) if np.isfinite(v)]
    parts.append(f'<polyline class="curve" points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}"/>')
    if len(points) <= 60:
        parts += [f'<circle class="dot" cx="{a:.1f}" cy="{b:.1f}" r="2.5"/>' for a, b in points]
    parts.append(text_at(left, height - 6, "1", kind="soft"))
    parts.append(text_at(width - right, height - 6, f"iteration {len(values)}", "end", "soft"))
    first, last = (f"{finite[0]:.4g}", f"{finite[-1]:.4g}") if finite.size else ("-", "-")
    return picture(width, height, f"{name}: from {first} to {last} in {len(values)} iterations", parts)


def room(text: str) -> float:
    """The width that a label may take; a percent sign is half as wide again as a digit."""
    return _TEXT_WIDTH * (len(text) + 0.5 * text.count("%"))


def _percents(ticks: list[float]) -> list[str]:
    """Shares as percentages, with as few digits as tell them apart."""
    for digits in range(4):
        shown = [f"{100 * tick:.{digits}f}%" for tick in ticks]
        if len(set(shown)) == len(shown):
            break
    return shown


def short(value: float) -> str:
    """Four significant digits at most: 1234567 as 1.23e6."""
    text = f"{value:.3g}"
    mantissa, e, power = text.partition("e")
    return f"{mantissa}e{int(power)}" if e else text


def picture(width: float, height: float, label: str, parts: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def text_at(x: float, y: float, text: str, anchor: str = "start", kind: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'


def line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path class="axis" d="M{x1:.1f},{y1:.1f}L{x2:.1f},{y2:.1f}"/>'
