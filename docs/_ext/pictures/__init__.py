"""The pictures of the site, drawn from the library and the stored measurements while it is built."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from . import chart, cost, how, methods
from .style import Draw, keep

ROOT = Path(__file__).resolve().parents[3]


def pictures() -> dict[str, Callable[[], Draw]]:
    """Name -> what computes the numbers and returns what draws them."""
    out: dict[str, Callable[[], Draw]] = {
        "landing": how.landing,
        "base-runs": how.base_runs,
        "distinct": how.distinct,
        "coassociation": how.coassociation,
        "bipartite": how.bipartite,
        "cut": how.cut,
        "confidence": how.confidence,
        "chart": chart.chart,
        "quality-speed": cost.quality_against_speed,
    }
    for page, classes in methods.pages().items():
        out[f"method-{page}"] = partial(methods.picture, classes)
        if (drawn := cost.of_page(classes)) is not None:
            out[f"cost-{page}"] = drawn
    return out


def stamp() -> str:
    """Digest of all that the pictures depend on: the library, the code that draws, and the measurements."""
    files = [*(ROOT / "src").rglob("*.py"), *Path(__file__).parent.glob("*.py")]
    files += [*(ROOT / "benchmarks" / "results").glob("*.csv"), *(ROOT / "docs" / "methods").glob("*.md")]
    whole = hashlib.sha256()
    for file in sorted(files):
        whole.update(file.read_bytes())
    return whole.hexdigest()


def draw_all(folder: Path) -> None:
    """What is not there, or not of the present state."""
    folder.mkdir(exist_ok=True)
    mark, now = folder / "stamp", stamp()
    if mark.exists() and mark.read_text() == now:
        return
    for name, compute in pictures().items():
        keep(compute(), name, folder)
    mark.write_text(now)
