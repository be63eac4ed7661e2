"""Members that see different data, each a task of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._base.progress import progress
from .._data.features import Features
from .._kernels.runtime.memory import refusing
from .._kernels.runtime.threads import map_tasks, one_blas_thread
from .preparation import View, Views


def each_member(
    begin: Callable[[View], Callable[[int], tuple]],
    views: Views,
    what: str,
    n_jobs: int | None,
    *,
    first: str = "lower n_jobs, of which each works on a copy of its own, ",
) -> tuple[list, list, list]:
    """Labels, recipes and what labels further rows, of all members in order, on threads.

    Each thread copies its part of the features.

    ``begin(view)`` is called once for each preparation of the features and gives ``run``; ``run(i)`` makes
    the labels, the recipe, to which the preparation is added, and what labels further rows, or None, of
    member i. ``first`` is as in :func:`within_memory`.
    """
    made: dict[int, tuple] = {}
    with (
        within_memory(what, views.features, first),
        progress(total=len(views), what=what, unit="run") as bar,
        one_blas_thread(),
    ):
        for view in views:
            made |= _members_of(begin(view), view, bar, n_jobs)
            del view  # before the next is made
    results = [made[i] for i in range(len(views))]
    labels, recipes, members = map(list, zip(*results))
    return labels, recipes, members


def _members_of(run: Callable[[int], tuple], view: View, bar: Any, n_jobs: int | None) -> dict[int, tuple]:
    """Those that see the features alike."""

    def task(i: int) -> tuple:
        labels, recipe, member = run(i)
        bar.update(1)
        if isinstance(recipe, list):  # several members that share their work
            return labels, [{**one, "preprocess": view.preparation.name} for one in recipe], member
        return labels, {**recipe, "preprocess": view.preparation.name}, member

    return dict(zip(view.members, map_tasks(task, view.members, n_jobs=n_jobs)))


def within_memory(what: str, features: Features, first: str = ""):
    """A context that reports running out of memory like a refusal; ``first`` is what to try first."""
    n, d = features.shape
    return refusing(
        f"The generator {what} on {n} objects with {d} features",
        f"{first}ask for fewer clusters or clusterings, pass X as float32, or use fewer objects or features",
    )
