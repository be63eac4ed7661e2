"""Colors, in a light and a dark version, and how a picture is drawn and kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from scipy.spatial.distance import pdist

#: Told apart by most eyes, also where colors are not (Okabe and Ito), without the yellow that white swallows.
COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#7f6bb3", "#8c8c3e")

#: For the numbers of a run with many clusters, which mean nothing but "the same" and "another".
MANY = (
    *COLORS,
    *(matplotlib.colormaps["tab20b"](place) for place in (0.0, 0.2, 0.42, 0.62, 0.82, 0.3, 0.95, 0.55)),
)


@dataclass(frozen=True)
class Theme:
    name: str
    ink: str
    faint: str
    dim: str
    paper: str

    @property
    def shades(self) -> LinearSegmentedColormap:
        """From the page to full: 0 is not there."""
        return LinearSegmentedColormap.from_list(
            "shades", [self.paper, "#0072b2" if self.name == "light" else "#6cc5f5"]
        )

    def rc(self) -> dict[str, object]:
        return {
            "figure.facecolor": "none",
            "axes.facecolor": "none",
            "savefig.facecolor": "none",
            "text.color": self.ink,
            "axes.labelcolor": self.ink,
            "axes.titlecolor": self.ink,
            "axes.edgecolor": self.faint,
            "xtick.color": self.ink,
            "ytick.color": self.ink,
            "grid.color": self.faint,
            "font.size": 9,
            "axes.titlesize": 9.5,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "svg.hashsalt": "consilience",  # the same picture is the same file
        }


#: Papers are those of the site's theme.
THEMES = (
    Theme("light", "#222832", "#c9cdd4", "#6b7280", "#ffffff"),
    Theme("dark", "#ced6dd", "#48566b", "#8b98a8", "#14181e"),
)
Draw = Callable[[Theme], Figure]


def keep(draw: Draw, name: str, folder: Path) -> None:
    """The picture in both versions."""
    for theme in THEMES:
        with plt.rc_context(theme.rc()):
            figure = draw(theme)
            figure.savefig(folder / f"{name}-{theme.name}.svg", dpi=144, bbox_inches="tight", pad_inches=0.05,
                           metadata={"Date": None})  # fmt: skip
            plt.close(figure)


def colors(labels: np.ndarray, confidence: np.ndarray | None = None) -> np.ndarray:
    """(n, 4): the color of each cluster, as opaque as the point is sure."""
    palette = COLORS if labels.max() < len(COLORS) else MANY
    rgb = np.array([to_rgb(palette[label % len(palette)]) for label in labels])
    alpha = np.ones(len(labels)) if confidence is None else 0.12 + 0.88 * np.clip(confidence, 0, 1) ** 2
    return np.column_stack([rgb, alpha])


def apart(places: np.ndarray) -> np.ndarray:
    """Points that coincide, spread a little so that all are seen."""
    return places + np.random.default_rng(0).normal(0, 0.02, places.shape) * places.std(axis=0)


def flat(E: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Seen from a side on which no two clusters hide each other: the best of a few hundred."""
    centers = np.stack([E[labels == label].mean(axis=0) for label in np.unique(labels)])
    middle = centers.mean(axis=0)
    _, _, axes = np.linalg.svd(centers - middle, full_matrices=False)
    rng = np.random.default_rng(0)
    sides = [np.linalg.qr(rng.normal(size=(len(axes), 2)))[0] for _ in range(300)]
    views = [axes.T @ side for side in sides]
    nearest = [pdist((centers - middle) @ view).min() for view in views]
    return apart((E - middle) @ views[int(np.argmax(nearest))])


def bare(axes: plt.Axes, title: str = "") -> plt.Axes:
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    if title:
        axes.set_title(title)
    return axes


def points(
    axes: plt.Axes,
    X: np.ndarray,
    labels: np.ndarray,
    confidence: np.ndarray | None = None,
    *,
    title: str = "",
    size: float = 12,
) -> None:
    axes.scatter(*X.T, c=colors(labels, confidence), s=size, linewidths=0)
    axes.set_aspect("equal", "datalim")
    bare(axes, title)


def matrix(
    axes: plt.Axes, values: np.ndarray, theme: Theme, *, title: str = "", top: float | None = None
) -> None:
    """Shares from 0 to 1 (or to top); kept as pixels."""
    axes.imshow(
        values,
        cmap=theme.shades,
        vmin=0,
        vmax=top or max(float(values.max()), 1e-12),
        aspect="auto",
        interpolation="nearest",
    )
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(True)
    axes.set_title(title)
