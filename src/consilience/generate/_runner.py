"""Members that see different data, each a task of its own."""

from __future__ import annotations

from collections.abc import Callable

from ..features import Features
from ..kernels.memory import refusing
from ..kernels.parallel import map_tasks, one_blas_thread
from ..progress import progress


def each_member(
    run: Callable[[int], tuple], n_members: int, features: Features, what: str, n_jobs: int | None
) -> tuple[list, list]:
    """Labels and recipes of the members ``run(0)``, ``run(1)``, ..., on threads; each copies its part of the features."""
    with (
        within_memory(what, features, "lower n_jobs, of which each works on a copy of its own, "),
        progress(total=n_members, what=what, unit="run") as bar,
        one_blas_thread(),
    ):

        def task(i: int) -> tuple:
            result = run(i)
            bar.update(1)
            return result

        results = map_tasks(task, list(range(n_members)), n_jobs=n_jobs)
    return [labels for labels, _ in results], [recipe for _, recipe in results]


def within_memory(what: str, features: Features, first: str = ""):
    """A context in which running out of memory is told like a refusal; ``first`` is what to try before all else."""
    n, d = features.shape
    return refusing(
        f"The generator {what} on {n} objects with {d} features",
        f"{first}ask for fewer clusters or clusterings, pass X as float32, or use fewer objects or features",
    )
