"""``--dask``: files larger than memory in, a folder of labels out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from ..errors import InputError, need
from ._files import save_model
from ._options import Labels, Results
from ._session import Session


def dask_option(reads: str, *, more: str = "") -> Any:
    """The option ``--dask`` of a command that reads ``reads``."""
    return click.option(
        "--dask",
        "scheduler",
        is_flag=False,
        flag_value="threads",
        default=None,
        metavar="[ADDRESS]",
        help=f"Read data larger than memory in blocks, from Parquet (a file or a folder) or zarr{more}. "
        f"Local "
        f"threads do the work, or the Dask scheduler at ADDRESS. Put {reads} before this option.",
    )


WRITES = ", and write labels to a folder"


def check_lazy(output: str, refused: dict[str, Any]) -> None:
    """Refuse before the work what --dask cannot do afterwards."""
    need("dask.array", "dask", "--dask")
    refuse_beside(refused)
    if output == "-":
        raise InputError(
            "--dask writes one file of labels for each block of rows: name a folder, such as -o labels/."
        )
    from ..dask.files import check_folder

    check_folder(output)


def refuse_beside(refused: dict[str, Any]) -> None:
    """Raise if an option is given that cannot be combined with --dask."""
    for option, value in refused.items():
        if value:
            raise InputError(
                f"{option} needs all objects in memory, and --dask is for data that do not fit. Leave one "
                f"of them out."
            )


@contextmanager
def opened(
    session: Session, path: str, scheduler: str, *, index: bool | None, labels: bool = False
) -> Iterator[Any]:
    """The content of the files at ``path``, while the scheduler is in force."""
    from ..dask.files import open_features, open_labels

    with _scheduler(session, scheduler):
        source = (open_labels if labels else open_features)(path, index=index)
        for note in source.notes:
            session.note(note)
        with _phases(session):
            yield source


def predict_lazily(
    session: Session,
    fitted: Any,
    model: str,
    data: str,
    scheduler: str,
    *,
    index: bool | None,
    results: Labels,
    as_json: bool,
) -> None:
    """Label the objects in files with a saved model, and write the labels."""
    from .._data.named import given_names
    from .._pipeline.new_rows import features_of
    from ..dask.files import chosen, write_blocks

    of_labels = not hasattr(fitted, "ensemble_")
    with opened(session, data, scheduler, index=index, labels=of_labels) as source:
        own = given_names(fitted.distinct_) if of_labels else features_of(fitted)
        rows = chosen(source, own if source.columns and own else ())[0]
        labels = fitted.predict(rows)
        sure = fitted.predict_confidence(rows) if results.confidence else None
        files = write_blocks(results.output, labels, confidence=sure, names=source.names)
    n = sum(labels.chunks[0])
    session.say(f"wrote {n} labels to {files} files in {results.output}")
    if as_json:
        facts = {"command": "predict", "model": model, "method": type(fitted).__name__}
        session.print_json({**facts, "n_samples": n, "files": files, "output": results.output})


def consensus_lazily(
    session: Session,
    model: Any,
    labels: str,
    scheduler: str,
    *,
    index: bool | None,
    columns: tuple[str, ...],
    results: Results,
    as_json: bool,
) -> None:
    """Fit a consensus method to base clusterings in files, and write the labels."""
    from ..dask import DaskEnsemble
    from ..dask.files import chosen, write_blocks

    with opened(session, labels, scheduler, index=index, labels=True) as source:
        table, names = chosen(source, columns)
        model.fit(DaskEnsemble(table, clustering_names=names))
        sure = model.confidence_ if results.confidence else None
        files = write_blocks(results.output, model.labels_, confidence=sure, names=source.names)
    save_model(session, results.save_model, model.to_local())
    session.say(f"wrote {model.n_samples_} labels to {files} files in {results.output}")
    if as_json:
        facts = {"command": "consensus", "method": type(model).__name__, "parameters": model.get_params()}
        more = {"n_clusterings": model.n_clusterings_, "n_samples": model.n_samples_, "files": files}
        session.print_json({**facts, **more, "coverage": model.coverage_, "output": results.output})


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
    """Fit a ConsensusClustering to features in files, and write the labels."""
    import numpy as np

    from ..dask.files import write_blocks

    with opened(session, features, scheduler, index=index) as source:
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
            f"--dask {address}: no Dask scheduler answers at this address ({error}). Start one with 'dask "
            f"scheduler'."
        ) from None
    with client:
        session.say(f"Dask: {client.dashboard_link}")
        yield


def _phases(session: Session) -> Any:
    """A bar for each phase of the work on a terminal; elsewhere a line, unless told to be quiet."""
    from .._base.progress import progress_shown
    from ..dask.engine import phases_told

    if session.quiet or sys.stderr.isatty():
        return progress_shown(False if session.quiet else None)
    said: list[str] = []

    def say(what: str) -> None:
        if said[-1:] != [what]:
            session.say(f"Dask: {what}")
        said.append(what)

    return phases_told(say)
