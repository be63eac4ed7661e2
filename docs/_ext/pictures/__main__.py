"""The two pictures of the README, which version control keeps: ``make pictures``."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt

from . import ROOT, pictures
from .style import THEMES

FOLDER = ROOT / "docs" / "pictures"
NAMES = ("landing", "quality-speed")


def main(folder: Path = FOLDER) -> None:
    folder.mkdir(exist_ok=True)
    theme = THEMES[0]
    for name in NAMES:
        with plt.rc_context({**theme.rc(), "savefig.facecolor": theme.paper}):
            figure = pictures()[name]()(theme)
            figure.savefig(folder / f"{name}.png", dpi=130, bbox_inches="tight", metadata={"Software": None})
            plt.close(figure)


if __name__ == "__main__":
    main()
