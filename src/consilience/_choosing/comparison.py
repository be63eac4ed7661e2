"""The runs on references, except for those that are in the checkpoint."""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from .._base.progress import progress
from .._kernels.runtime.threads import map_tasks
from ..errors import InputError
from .checkpoint import Checkpoint, fingerprint
from .material import Objects, Settings, as_run
from .null import cloud_of, make_null
from .runs import Measured, Plan, measure_reference


def name_of(null: Any) -> str:
    """The name of a null."""
    return null if isinstance(null, str) else getattr(null, "__name__", "the function given")


def run_references(
    null: Any, count: int, checkpoint: Any, objects: Objects, plan: Plan, settings: Settings
) -> list[Measured]:
    """What each of them shows, in their order."""
    X, cloud, by_distance = objects.features.X, objects.cloud, objects.by_distance
    if sp.issparse(X) and not by_distance and not callable(null):
        if plan.feature_fraction < 1:
            raise InputError(
                f"X is sparse, and feature_fraction={plan.feature_fraction:g} needs columns, which the "
                "references do not have. Pass X.toarray() if it fits, leave feature_fraction out, or pass "
                "null=None."
            )
        raise InputError(
            f"X is sparse, and generator={settings.generator.name!r} depends on more than distances, so "
            "that no reference can be drawn that it could cluster. Pass X.toarray() if it fits, or null=None."
        )
    if cloud is None and not callable(null):
        cloud = cloud_of(X, objects.weights, axes=True)
    draw = make_null(null, cloud, X, in_scores=by_distance)
    store = Checkpoint(checkpoint, fingerprint(X, objects.weights, plan, name_of(null)))
    left = [r for r in range(1, count + 1) if r not in store.done]
    with progress(total=count, initial=count - len(left), what="references", unit="reference") as bar:

        def run(number: int) -> None:
            measured = measure_reference(
                number, lambda rng: as_run(draw(rng), by_distance=by_distance), objects.weights, plan
            )
            store.add(number, measured)
            bar.update(1)

        map_tasks(run, left, n_jobs=settings.n_jobs)
    return [store.done[r] for r in range(1, count + 1)]
