"""Members that see different data, each a task of its own."""

from __future__ import annotations

from collections.abc import Callable

from ..kernels.parallel import map_tasks, one_blas_thread
from ..progress import progress


def each_member(
    run: Callable[[int], tuple], n_members: int, what: str, n_jobs: int | None
) -> tuple[list, list]:
    """Labels and recipes of the members ``run(0)``, ``run(1)``, ..., on threads."""
    with progress(total=n_members, what=what, unit="run") as bar, one_blas_thread():

        def task(i: int) -> tuple:
            result = run(i)
            bar.update(1)
            return result

        results = map_tasks(task, list(range(n_members)), n_jobs=n_jobs)
    return [labels for labels, _ in results], [recipe for _, recipe in results]
