"""The two pictures of the README, which version control keeps: ``make pictures``.

Each file carries the figures that it was drawn from, so that a test finds a picture that no longer shows what
is stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt

from . import ROOT, cost, how, pictures
from .style import THEMES

FOLDER = ROOT / "docs" / "pictures"
#: Each picture, and the figures that it shows.
FIGURES: dict[str, Callable[[], object]] = {
    "landing": lambda: how.landing_model().labels_.tolist(),
    "quality-speed": cost.seconds_and_ranks,
}


def main(folder: Path = FOLDER) -> None:
    folder.mkdir(exist_ok=True)
    theme = THEMES[0]
    for name, figures in FIGURES.items():
        kept = {"Software": None, "Figures": json.dumps(figures())}
        with plt.rc_context({**theme.rc(), "savefig.facecolor": theme.paper}):
            figure = pictures()[name]()(theme)
            figure.savefig(folder / f"{name}.png", dpi=130, bbox_inches="tight", metadata=kept)
            plt.close(figure)


if __name__ == "__main__":
    main()
