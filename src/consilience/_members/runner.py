"""Members that see different data, each a task of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._base.progress import progress
from .._data.features import Features
from .._kernels.runtime.memory import refusing
from .._kernels.runtime.threads import map_tasks, one_blas_thread
from .labeling import table_bytes
from .preparation import View, Views

#: Bytes of a table up to which its prepared copies are held at the same time.
TOGETHER = 2**26


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
        for turn in _turns(views):
            made |= _members_of([(begin(view), view) for view in turn], bar, n_jobs)
            del turn  # before the next is made
    results = [made[i] for i in range(len(views))]
    labels, recipes, members = map(list, zip(*results))
    return labels, recipes, members


def _turns(views: Views) -> Iterator[list[View]]:
    """Preparations whose members are made side by side: all if tables are small, so that no thread waits."""
    if table_bytes(views.features.X) <= TOGETHER:
        yield list(views)
        return
    for view in views:
        yield [view]
        del view  # before the next is made


def _members_of(
    runs: list[tuple[Callable[[int], tuple], View]], bar: Any, n_jobs: int | None
) -> dict[int, tuple]:
    """The members of some preparations, each with what makes them."""

    def task(one: tuple[Callable[[int], tuple], View, int]) -> tuple:
        run, view, i = one
        labels, recipe, member = run(i)
        bar.update(1)
        if isinstance(recipe, list):  # several members that share their work
            return labels, [{**each, "preprocess": view.preparation.name} for each in recipe], member
        return labels, {**recipe, "preprocess": view.preparation.name}, member

    tasks = [(run, view, i) for run, view in runs for i in view.members]
    return dict(zip([i for _, _, i in tasks], map_tasks(task, tasks, n_jobs=n_jobs)))


def within_memory(what: str, features: Features, first: str = ""):
    """A context that reports running out of memory like a refusal; ``first`` is what to try first."""
    n, d = features.shape
    return refusing(
        f"The generator {what} on {n} objects with {d} features",
        f"{first}ask for fewer clusters or clusterings, pass X as float32, or use fewer objects or features",
    )
