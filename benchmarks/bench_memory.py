"""Peak memory of every method above what its imports and compiled code take, on one ensemble.

    python -m benchmarks memory                         every method on Semeion (n = 1593, m = 20)
    python -m benchmarks.bench_memory spce rsec         only these

Each method is fitted in a process of its own, with one thread, after a fit of 100 objects that loads what it
needs. "loaded MB" is what the process holds then, before the fit that counts; "above MB" the most it held
during that fit, less that. The first row is an interpreter with the packages that every method needs:
scikit-learn's base classes bring scipy.stats with them, and pandas where it is installed.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np

from ._measure import SHARED, alone, peak, resident, table

POOL, CLUSTERS, SIZE = "pool_semeion", 10, 20
PACKAGES = ("scipy.sparse", "scipy.linalg", "joblib", "sklearn.base", "numba")


def imports() -> dict[str, float]:
    """MB that each package adds, in this order."""
    found, before = {"python and numpy": resident() / 1e6}, resident()
    for name in PACKAGES:
        __import__(name)
        found[name] = (resident() - before) / 1e6
        before = resident()
    return found


def fit(name: str) -> tuple[float, float]:
    """(MB before, MB above it at the peak) of one fit."""
    from consilience.consensus import methods

    warnings.simplefilter("ignore")
    with np.load(SHARED / "data" / f"{POOL}.npz", allow_pickle=False) as data:
        labels = data["labels"][:, :SIZE].astype(int)
    cls = methods()[name]
    seed = {"random_state": 0} if "random_state" in cls().get_params() else {}
    cls(2, n_jobs=1, **seed).fit(labels[:100])
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins again: compiling may have held more
    before = resident()
    cls(CLUSTERS, n_jobs=1, **seed).fit(labels)
    return before / 1e6, (peak() - before) / 1e6


def run(names: list[str] | None = None) -> list[dict]:
    from consilience.consensus import methods

    parts = alone(imports)[2]
    what = ", ".join(f"{name} {value:.0f}" for name, value in parts.items())
    rows = [{"method": f"packages alone: {what}", "loaded MB": round(sum(parts.values())), "above MB": ""}]
    for name in names or list(methods()):
        before, above = alone(fit, name)[2]
        rows.append({"method": name, "loaded MB": round(before), "above MB": round(above, 1)})
    return rows


if __name__ == "__main__":
    print(table(run(sys.argv[1:] or None)))
