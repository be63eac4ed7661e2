"""``consilience cluster --dask``: features larger than memory in, a folder of labels out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from ..errors import InputError, need
from ._files import save_model
from ._options import Results
from ._session import Session


def check_lazy(output: str, refused: dict[str, Any]) -> None:
    """Refuse now what --dask has no way to do later."""
    need("dask.array", "dask", "--dask")
    for option, value in refused.items():
        if value:
            raise InputError(
                f"{option} needs all objects in memory, and --dask is there for more. Leave one of them out."
            )
    if output == "-":
        raise InputError(
            "--dask writes one file of labels for each block of rows: name a folder, such as -o labels/."
        )
    from ..dask.files import check_folder

    check_folder(output)


def cluster_lazily(
    session: Session,
    model: Any,
    features: str,
    scheduler: str,
    *,
    index: bool | None,
    results: Results,
    as_json: bool,
) -> None:
    """Fit a ConsensusClustering to files, and write what it finds."""
    import numpy as np

    from ..dask.files import open_features, write_blocks

    with _scheduler(session, scheduler):
        source = open_features(features, index=index)
        for note in source.notes:
            session.note(note)
        with _bar(session, scheduler):
            model.fit(source.X)
            sure = model.confidence_ if results.confidence else None
            files = write_blocks(results.output, model.labels_, confidence=sure, names=source.names)
        local = model.to_local()
        save_model(session, results.save_model, local)
        fitted = model.method_
        sizes = np.bincount(local.labels_, local.method_.distinct_.sample_weight).astype(np.int64)
        session.say(
            f"wrote {fitted.n_samples_} labels in {len(sizes)} clusters to {files} files in {results.output}"
        )
        if as_json:
            session.print_json(
                {
                    "command": "cluster",
                    "generator": model.plan_.generator,
                    "method": type(fitted).__name__,
                    "parameters": fitted.get_params(),
                    "n_clusterings": model.ensemble_.n_clusterings,
                    "n_samples": fitted.n_samples_,
                    "n_clusters": len(sizes),
                    "sizes": sizes if fitted.coverage_ == 1.0 else None,
                    "coverage": fitted.coverage_,
                    "converged": fitted.converged_,
                    "n_iter": fitted.n_iter_,
                    "files": files,
                    "output": results.output,
                }
            )


@contextmanager
def _scheduler(session: Session, address: str) -> Iterator[None]:
    """Dask's threads in this process, or the scheduler at an address."""
    if address == "threads":
        import dask

        with dask.config.set(scheduler="threads"):
            yield
        return
    distributed = need("distributed", "dask", "--dask ADDRESS")
    try:
        client = distributed.Client(address, timeout="20s")
    except (OSError, ValueError) as error:
        raise InputError(
            f"--dask {address}: no Dask scheduler answers there ({error}). Start one with 'dask scheduler'."
        ) from None
    with client:
        session.say(f"Dask: {client.dashboard_link}")
        yield


def _bar(session: Session, scheduler: str) -> Any:
    """Dask's own bar, where there is a terminal and no dashboard."""
    if session.quiet or scheduler != "threads" or not sys.stderr.isatty():
        return nullcontext()
    from dask.diagnostics import ProgressBar

    return ProgressBar(minimum=2.0, out=sys.stderr)
