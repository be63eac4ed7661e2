"""``consilience consensus``: an ensemble file in, one clustering out."""

from __future__ import annotations

import time

import click

from ._files import (
    check_model_output,
    check_output,
    check_report,
    save_model,
    source,
    write_report,
    write_result,
)
from ._options import (
    common,
    confidence_option,
    method_option,
    output,
    param_option,
    reading,
    report_option,
    running,
    save_option,
)
from ._params import method_params
from ._session import Session


@click.command("consensus", short_help="Turn an ensemble of clusterings into one.")
@click.argument("labels")
@click.option("-k", "--n-clusters", type=int, required=True, help="Number of clusters of the result.")
@method_option("evidence-accumulation")
@output
@confidence_option
@report_option
@save_option
@click.option(
    "-c",
    "--column",
    "columns",
    multiple=True,
    help="Use only this clustering, by name or position from 0; repeatable.",
)
@click.option("--drop-unseen", is_flag=True, help="Leave out objects that no clustering has labeled.")
@param_option("--param", "method")
@running
@reading
@common
@click.pass_obj
def command(
    session: Session,
    labels: str,
    n_clusters: int,
    method: str,
    output: str,
    confidence: bool,
    report_output: str | None,
    model_output: str | None,
    columns: tuple[str, ...],
    drop_unseen: bool,
    param: tuple[str, ...],
    seed: int,
    n_jobs: int | None,
    header: bool | None,
    index: bool | None,
    transpose: bool,
    key: str | None,
    as_json: bool,
) -> None:
    """Turn the clusterings in LABELS (rows are objects, columns are clusterings) into one.

    Cells that are empty, -1, NA, NaN, None or null are missing. The result has the columns "name" (row name, or row number
    from 0) and "label" (0 is the largest cluster).

    \b
    Examples:
      consilience consensus ensemble.csv -k 3 -o labels.csv
      consilience consensus ensemble.csv -k 3 --method evidence-accumulation --param linkage=complete --confidence
      cat ensemble.csv | consilience consensus - -k 3 > labels.csv
    """
    from .. import consensus
    from .._base.progress import progress_shown
    from .._warmup.first_use import compiling_beside
    from ..io import read_labels

    start = time.perf_counter()
    check_output(output, labels, as_json=as_json)
    check_model_output(model_output, labels, output, report_output or output)
    check_report(report_output, labels, output)
    cls = consensus.method(method)
    common = {"n_clusters": n_clusters, "random_state": seed, "n_jobs": n_jobs}
    taken = {name: value for name, value in common.items() if name in cls._get_param_names()}
    model = cls(**taken, **method_params(cls, param))
    with compiling_beside([cls.__name__], session.say), progress_shown(False if session.quiet else None):
        ensemble = read_labels(
            source(labels),
            key=key,
            header=header,
            index=index,
            columns=columns or None,
            transpose=transpose,
            on_note=session.note,
        )
        names = ensemble.sample_names
        if drop_unseen and ensemble.unseen.size:
            unseen = set(ensemble.unseen.tolist())
            kept = [i for i in range(ensemble.n_samples) if i not in unseen]
            names = [str(i) if names is None else names[i] for i in kept]
            session.note(f"Left out {len(unseen)} objects that no clustering has labeled.")
            ensemble = ensemble.drop_unseen()
        model.fit(ensemble)
        save_model(session, model_output, model)
        facts = {
            "command": "consensus",
            "method": type(model).__name__,
            "parameters": model.get_params(),
            "n_clusterings": ensemble.n_clusterings,
        }
        write_result(session, output, model, names, confidence=confidence, as_json=as_json, facts=facts)
        seconds = time.perf_counter() - start
        write_report(session, report_output, model, None, source=labels, names=names, seconds=seconds)
