"""Small drawings as SVG text: no plotting library, no scripts, every label escaped."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from ._analysis import groups_within

#: Told apart by people who do not tell red from green (Okabe and Ito), and by dashes beyond them.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999933")
_DASHES = ("", "5 3", "2 2", "8 3 2 3")


def rank_plot(methods: Sequence[str], ranks: Sequence[float], title: str) -> str:
    """Bars of mean rank, best on top."""
    order = np.argsort(ranks, kind="stable")
    left = _room(methods)
    height, width = 22 * len(methods) + 34, left + 410
    longest = max(max(ranks), 1.0)
    scale = (width - left - 60) / longest
    parts = []
    for position, j in enumerate(order):
        y = 30 + 22 * position
        parts.append(_text(left - 8, y + 12, methods[j], anchor="end"))
        parts.append(
            f'<rect x="{left}" y="{y}" width="{ranks[j] * scale:.1f}" height="16" fill="{COLOURS[0]}" opacity="0.8"/>'
        )
        parts.append(_text(left + ranks[j] * scale + 6, y + 12, f"{ranks[j]:.2f}"))
    return _svg(width, height, title, parts)


def critical_difference_diagram(
    methods: Sequence[str], ranks: Sequence[float], difference: float, title: str
) -> str:
    """Mean ranks on a line; methods that a bar joins are not told apart (Nemenyi)."""
    order = np.argsort(ranks, kind="stable")
    k = len(methods)
    bars = groups_within(np.asarray(ranks, float), difference)
    margin = _room(f"{name} 0.00" for name in methods) + 12
    width, left, right = 340 + 2 * margin, margin, margin + 340
    axis = 62
    below = axis + 14 + 9 * len(bars)
    height = below + 20 * math.ceil(k / 2) + 14

    def x(rank: float) -> float:
        return left + (right - left) * (rank - 1) / max(k - 1, 1)

    parts = [_line(x(1), axis, x(k), axis)]
    for tick in range(1, k + 1):
        parts += [
            _line(x(tick), axis - 5, x(tick), axis),
            _text(x(tick), axis - 9, str(tick), anchor="middle"),
        ]
    shown = min(difference, k - 1)
    parts += [
        _line(x(1), 32, x(1 + shown), 32, width=3),
        _text(x(1 + shown) + 6, 36, f"critical difference {difference:.2f}"),
    ]
    for position, j in enumerate(order):
        on_left = position < math.ceil(k / 2)
        step = position if on_left else k - 1 - position
        y = below + 20 * step + 8
        edge = left - 12 if on_left else right + 12
        label = f"{methods[j]} {ranks[j]:.2f}"
        parts += [
            _line(x(ranks[j]), axis, x(ranks[j]), y),
            _line(x(ranks[j]), y, edge, y),
            _text(edge + (-4 if on_left else 4), y + 4, label, anchor="end" if on_left else "start"),
        ]
    ordered = np.sort(ranks)
    for number, (first, last) in enumerate(bars):
        y = axis + 9 + 9 * number
        parts.append(_line(x(ordered[first]) - 3, y, x(ordered[last]) + 3, y, width=4, colour=COLOURS[1]))
    return _svg(width, height, title, parts)


def curve_plot(
    x: Sequence[Any], lines: Mapping[str, Sequence[float | None]], *, title: str, x_label: str, y_label: str
) -> str:
    """Lines over the values of a parameter; evenly spaced, since grids are often powers of ten."""
    left, top, bottom, right = 62, 34, 48, 37 + _room(lines)
    width, height = 410 + right, max(300, top + 16 * len(lines) + 20)
    values = [v for line in lines.values() for v in line if v is not None]
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    if high - low < 1e-9:
        low, high = low - 0.5 * (abs(low) or 1) * 0.1, high + 0.5 * (abs(high) or 1) * 0.1
    low, high = low - 0.05 * (high - low), high + 0.05 * (high - low)

    def at(i: int, value: float) -> tuple[float, float]:
        share = i / max(len(x) - 1, 1)
        return (
            left + share * (width - left - right),
            height - bottom - (value - low) / (high - low) * (height - top - bottom),
        )

    parts = [
        _line(left, height - bottom, width - right, height - bottom),
        _line(left, top, left, height - bottom),
    ]
    for step in range(5):
        value = low + (high - low) * step / 4
        y = at(0, value)[1]
        parts += [
            _line(left, y, width - right, y, colour="#ddd"),
            _text(left - 6, y + 4, f"{value:.3g}", anchor="end"),
        ]
    every = max(1, math.ceil(len(x) / 10))
    for i, value in enumerate(x):
        if i % every == 0:
            shown = (
                f"{value:g}"
                if isinstance(value, (int, float)) and not isinstance(value, bool)
                else str(value)
            )
            parts.append(_text(at(i, low)[0], height - bottom + 16, shown, anchor="middle"))
    parts.append(_text((left + width - right) / 2, height - 8, x_label, anchor="middle"))
    parts.append(_text(8, 26, y_label))
    for number, (name, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        dash = _DASHES[number // len(COLOURS) % len(_DASHES)]
        points = [at(i, v) for i, v in enumerate(line) if v is not None]
        path = " ".join(f"{px:.1f},{py:.1f}" for px, py in points)
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
        )
        parts += [f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.5" fill="{colour}"/>' for px, py in points]
        y = top + 6 + 16 * number
        parts.append(_line(width - right + 12, y, width - right + 32, y, width=2, colour=colour, dash=dash))
        parts.append(_text(width - right + 37, y + 4, name))
    return _svg(width, height, title, parts)


def _room(names: Iterable[str]) -> int:
    """Pixels that the longest name takes."""
    return 16 + math.ceil(6.8 * max(map(len, names), default=0))


def _svg(width: int, height: int, title: str, parts: list[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" font-family="sans-serif" font-size="12"><title>{escape(title)}</title>'
        f'<rect width="{width}" height="{height}" fill="white"/>'
        + _text(8, 14, title, weight="bold")
        + "".join(parts)
        + "</svg>"
    )


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}" fill="#222">{escape(str(text))}</text>'


def _line(
    x1: float, y1: float, x2: float, y2: float, *, width: float = 1, colour: str = "#222", dash: str = ""
) -> str:
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width:g}" '
        f'stroke-dasharray="{dash}"/>'
    )
