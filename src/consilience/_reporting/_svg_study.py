"""Static drawings of a study of k: curves over k with the band of references, CDFs, the tracking strip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..plot import CDFDisplay, ChooseKDisplay, DeltaAreaDisplay, SpectrumDisplay, TrackingDisplay
from ..plot.style import color
from ._svg import line, picture, room, short, text_at

_WIDTH, _HEIGHT = 440, 240
_TOP, _RIGHT, _BOTTOM = 12, 12, 40
#: Columns of the tracking strip.
_STRIP = 400


class Frame(NamedTuple):
    """Axes: what is drawn where."""

    left: float
    x_range: tuple[float, float]
    y_range: tuple[float, float]

    def x(self, value: float) -> float:
        low, high = self.x_range
        return self.left + (_WIDTH - _RIGHT - self.left) * (value - low) / ((high - low) or 1.0)

    def y(self, value: float) -> float:
        low, high = self.y_range
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * (value - low) / ((high - low) or 1.0)

    def points(self, x: Sequence[float] | np.ndarray, y: Sequence[float] | np.ndarray) -> str:
        return " ".join(f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in zip(x, y))


def _frame(x: np.ndarray, curves: list[np.ndarray], x_ticks: list[float], name: str, *, pad: float = 0.06):
    """(frame, its drawing): grid lines, numbers and the name of the x axis."""
    known = np.concatenate([one[np.isfinite(one)] for one in curves])
    low, high = float(known.min()), float(known.max())
    margin = pad * ((high - low) or 1.0)
    low, high = low - margin, high + margin
    y_ticks = round_ticks(low, high)
    shown = [short(tick) for tick in y_ticks]
    frame = Frame(14 + max(map(room, shown)), (float(x.min()), float(x.max())), (low, high))
    parts = []
    for value, label in zip(y_ticks, shown):
        parts.append(line(frame.left, frame.y(value), _WIDTH - _RIGHT, frame.y(value)))
        parts.append(text_at(frame.left - 6, frame.y(value) + 4, label, "end", "soft"))
    parts += [
        text_at(frame.x(value), _HEIGHT - _BOTTOM + 16, f"{value:g}", "middle", "soft") for value in x_ticks
    ]
    parts.append(text_at(_WIDTH - _RIGHT, _HEIGHT - 6, name, "end", "soft"))
    return frame, parts


def round_ticks(low: float, high: float) -> list[float]:
    """Three to seven multiples of 1, 2 or 5 times a power of ten between the two."""
    rough = (high - low) / 5
    power = 10.0 ** np.floor(np.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    return [
        float(round(i * step, 12)) for i in range(int(np.ceil(low / step)), int(np.floor(high / step)) + 1)
    ]


def _ticks(ks: np.ndarray) -> list[float]:
    """The numbers of clusters that there is room for."""
    step = -(-len(ks) // 12)
    return ks[::step].tolist()


def _curve(frame: Frame, x, y, kind: str = "curve", dots: bool = True) -> list[str]:
    known = np.isfinite(y)
    x, y = np.asarray(x)[known], np.asarray(y)[known]
    parts = [f'<polyline class="{kind}" points="{frame.points(x, y)}"/>']
    if dots:
        parts += [
            f'<circle class="dot" cx="{frame.x(a):.1f}" cy="{frame.y(b):.1f}" r="2.5"/>' for a, b in zip(x, y)
        ]
    return parts


def _band(frame: Frame, x, low, high) -> str:
    outline = frame.points([*x, *x[::-1]], [*high, *low[::-1]])
    return f'<polygon class="null" points="{outline}"/>'


def gain(display: ChooseKDisplay) -> str:
    """The curve over the band of the references, with the answer filled and alternatives ringed."""
    ks, values = display.n_clusters_tried, display.values
    curves = [values] if display.low is None else [values, display.low, display.high]
    frame, parts = _frame(ks, curves, _ticks(ks), "number of clusters")
    if display.low is not None:
        parts.append(_band(frame, ks, display.low, display.high))
    parts += _curve(frame, ks, values)
    for k, value in zip(ks.tolist(), values):
        kind = "chosen" if k == display.n_clusters else "plausible" if k in display.alternatives else ""
        if kind:
            parts.append(f'<circle class="{kind}" cx="{frame.x(k):.1f}" cy="{frame.y(value):.1f}" r="7"/>')
    label = f"{display.statistic} by number of clusters: " + ", ".join(
        f"{k}: {value:.2f}" for k, value in zip(ks.tolist(), values)
    )
    return picture(_WIDTH, _HEIGHT, label, parts)


def spectrum(display: SpectrumDisplay) -> str:
    """Eigenvalues over the band of the references, with a line at the largest gap."""
    number = np.arange(1, len(display.values) + 1)
    frame, parts = _frame(
        number, [np.array([0.0, 1.0])], _ticks(number), "number of the eigenvalue", pad=0.03
    )
    if display.low is not None:
        parts.append(_band(frame, number, display.low, display.high))
    at = frame.x(display.named + 0.5)
    parts.append(f'<path class="mark" d="M{at:.1f},{_TOP}V{_HEIGHT - _BOTTOM}"/>')
    parts += _curve(frame, number, display.values)
    label = "Eigenvalues: " + ", ".join(f"{value:.2f}" for value in display.values)
    return picture(_WIDTH, _HEIGHT, f"{label}; the largest gap is after {display.named}", parts)


def cdfs(display: CDFDisplay) -> str:
    """One curve for each k, lighter for larger k, with its number where it has most room."""
    ends = np.array([0.0, 1.0])
    frame, parts = _frame(ends, [ends], [0, 0.25, 0.5, 0.75, 1], "co-association", pad=0.03)
    count = len(display.n_clusters_tried)
    for j, k in enumerate(display.n_clusters_tried):
        x = np.concatenate([[0.0], np.repeat(display.values[j], 2), [1.0]])
        y = np.concatenate([[0.0, 0.0], np.repeat(display.shares[j], 2)])
        share = round(100 - 70 * j / max(count - 1, 1))
        parts.append(
            f'<polyline class="curve" style="stroke-opacity:{share / 100:g}" '
            f'points="{frame.points(x, y)}"><title>{k} clusters</title></polyline>'
        )
    label = "Distribution of co-association. Share of ambiguous pairs: " + ", ".join(
        f"{k} clusters {pac:.2f}" for k, pac in zip(display.n_clusters_tried, display.pac)
    )
    return picture(_WIDTH, _HEIGHT, label, parts)


def delta_area(display: DeltaAreaDisplay) -> str:
    """The curve, and a dashed one for clusters of equal size."""
    frame, parts = _frame(
        display.n_clusters_tried,
        [display.delta, display.balanced],
        _ticks(display.n_clusters_tried),
        "number of clusters",
    )
    parts += _curve(frame, display.n_clusters_tried, display.balanced, "balanced", dots=False)
    parts += _curve(frame, display.n_clusters_tried, display.delta)
    label = "Delta area: " + ", ".join(
        f"{k}: {v:.2f}" for k, v in zip(display.n_clusters_tried.tolist(), display.delta)
    )
    return picture(_WIDTH, _HEIGHT, label, parts)


def tracking(display: TrackingDisplay) -> str:
    """A row for each k, in the colors of the clusters; equal neighbors form one rectangle."""
    strip = display.strip(_STRIP)
    rows, columns = strip.shape
    left, step, width = 34, 20, 580
    scale = (width - left - 4) / columns
    parts = []
    for i, k in enumerate(display.n_clusters_tried.tolist()):
        top = 4 + step * i
        parts.append(
            text_at(left - 8, top + 14, str(k), "end", "chosen-text" if k == display.n_clusters else "")
        )
        starts = np.flatnonzero(np.concatenate([[True], np.diff(strip[i]) != 0]))
        ends = np.append(starts[1:], columns)
        paths: dict[int, list[str]] = {}
        for a, b in zip(starts.tolist(), ends.tolist()):
            paths.setdefault(int(strip[i, a]), []).append(
                f"M{left + scale * a:.1f},{top}h{scale * (b - a):.1f}v{step - 3}h{-scale * (b - a):.1f}z"
            )
        parts += [f'<path d="{"".join(one)}" fill="{color(j)}"/>' for j, one in sorted(paths.items())]
        if k == display.n_clusters:
            parts.append(
                f'<rect class="chosen-row" x="{left}" y="{top - 1.5}" width="{width - left - 4}" '
                f'height="{step}"/>'
            )
    label = (
        f"Clusters of the objects for {', '.join(map(str, display.n_clusters_tried.tolist()))} "
        f"clusters, in matching colors."
    )
    return picture(width, 8 + step * rows, label, parts)
