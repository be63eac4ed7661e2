"""``consilience consensus``: an ensemble file in, one clustering out."""

from __future__ import annotations

import time
from typing import Any

import click

from .._base.names import AUTO
from ._dask import WRITES, check_lazy, consensus_lazily, dask_option
from ._files import (
    check_inputs,
    check_model_output,
    check_output,
    check_report,
    fit_arguments,
    save_model,
    source,
    write_report,
    write_result,
)
from ._listing import check_method
from ._options import (
    Objects,
    Reading,
    Results,
    Running,
    common,
    method_option,
    number_or_auto_option,
    objects,
    param_option,
    reading,
    results,
    running,
)
from ._params import method_params
from ._session import Session


@click.command("consensus", short_help="Turn an ensemble of clusterings into one.")
@click.argument("labels")
@number_or_auto_option
@method_option("lwgp")
@results
@click.option(
    "-c",
    "--column",
    "columns",
    multiple=True,
    help="Use only this clustering, by name or position from 0; repeatable.",
)
@click.option("--drop-unseen", is_flag=True, help="Leave out objects that no clustering has labeled.")
@objects
@dask_option("LABELS", more=WRITES)
@param_option("method")
@running
@reading
@common
@click.pass_obj
def command(
    session: Session,
    labels: str,
    n_clusters: int | str,
    method: str,
    columns: tuple[str, ...],
    drop_unseen: bool,
    scheduler: str | None,
    method_param: tuple[str, ...],
    results: Results,
    objects: Objects,
    running: Running,
    reading: Reading,
    as_json: bool,
) -> None:
    """Turn the clusterings in LABELS (rows are objects, columns are clusterings) into one.

    Cells that are empty, -1, NA, NaN, None or null are missing. The result has the columns "name" (row name,
    or row number from 0) and "label" (0 is the largest cluster).

    \b
    Examples:
      consilience consensus ensemble.csv -k 3 --confidence -o labels.csv
      consilience consensus ensemble.csv -k 3 --method evidence-accumulation --method-param linkage=complete
      consilience consensus ensemble.parquet -k 3 --index --method lwgp --dask -o labels/
      consilience consensus ensemble.csv -k auto --min-cluster-size 5 -o labels.csv
      cat ensemble.csv | consilience consensus - -k 3 > labels.csv
    """
    start = time.perf_counter()
    refused = {"-k auto": n_clusters == AUTO, "--drop-unseen": drop_unseen, **objects.in_files}
    refused |= {"--transpose": reading.transpose, "--key": reading.key}
    _check_outputs(labels, results, None if scheduler is None else refused, as_json=as_json)
    check_method(method, method_param)
    if scheduler is None:
        check_inputs(labels, *objects.in_files.values())

    from .. import consensus
    from .._base.progress import progress_shown
    from .._warmup.first_use import compiling_beside
    from ..io import read_labels

    cls = consensus.method(method)
    common = {
        "n_clusters": n_clusters,
        "min_cluster_size": objects.min_cluster_size,
        **vars(running),
    }
    taken = {name: value for name, value in common.items() if name in cls._get_param_names()}
    model = cls(**taken, **method_params(cls, method_param))
    if scheduler is not None:
        consensus_lazily(
            session,
            model,
            labels,
            scheduler,
            index=reading.index,
            columns=columns,
            results=results,
            as_json=as_json,
        )
        return
    with compiling_beside([cls.__name__], session.say), progress_shown(False if session.quiet else None):
        ensemble = read_labels(source(labels), **vars(reading), columns=columns or None, on_note=session.note)
        names = ensemble.sample_names
        if drop_unseen and ensemble.unseen.size:
            ensemble, names = _without_unseen(session, ensemble)
        given = fit_arguments(session, objects, ensemble, labels)
        if n_clusters == AUTO:
            model.n_clusters = _chosen(session, ensemble, running)
        model.fit(ensemble, **given)
        save_model(session, results.save_model, model)
        facts = {
            "command": "consensus",
            "method": type(model).__name__,
            "parameters": model.get_params(),
            "n_clusterings": ensemble.n_clusterings,
        }
        write_result(session, results, model, names, as_json=as_json, facts=facts)
        seconds = time.perf_counter() - start
        write_report(session, results.save_report, model, None, source=labels, names=names, seconds=seconds)


def _check_outputs(labels: str, results: Results, refused: dict[str, Any] | None, *, as_json: bool) -> None:
    """Refuse before the work what could not be written after it.

    ``refused`` holds what --dask does not take; None without it.
    """
    output, save_report = results.output, results.save_report
    if refused is not None:
        check_lazy(output, {"--save-report": save_report, **refused})
    else:
        check_output(output, labels, as_json=as_json)
    check_model_output(results.save_model, labels, output, save_report or output)
    check_report(save_report, labels, output)


def _chosen(session: Session, ensemble: Any, running: Running) -> int:
    """The number of clusters that the base clusterings show."""
    from .._choosing import choose_k

    study = choose_k(ensemble=ensemble, **vars(running))
    session.note(str(study))
    return study.n_clusters


def _without_unseen(session: Session, ensemble: Any) -> tuple[Any, list[str]]:
    """The ensemble of the objects that some clustering labels, and their names."""
    names, unseen = ensemble.sample_names, set(ensemble.unseen.tolist())
    kept = [i for i in range(ensemble.n_samples) if i not in unseen]
    session.note(f"Left out {len(unseen)} objects that no clustering has labeled.")
    return ensemble.drop_unseen(), [str(i) if names is None else names[i] for i in kept]
