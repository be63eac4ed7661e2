"""``consilience multitask``: features of several related tasks in, one clustering of each out."""

from __future__ import annotations

import click

from ._files import check_inputs, check_output, source, write_result
from ._listing import check_method
from ._options import (
    Labels,
    Reading,
    Running,
    common,
    labels_only,
    n_clusters_option,
    param_option,
    reading,
    running,
)
from ._params import method_params
from ._session import Session


@click.command("multitask", short_help="Cluster related tasks together.")
@click.argument("features")
@click.option(
    "--task-column",
    required=True,
    metavar="NAME",
    help="The column with the task of each row (in an .npz or .mat file: the array).",
)
@n_clusters_option("Number of clusters of each task.", type=int, required=True)
@click.option(
    "-m",
    "--method",
    default="spmtc",
    show_default=True,
    help='Multi-task method; "consilience methods" lists them.',
)
@labels_only
@param_option("method")
@running
@reading
@common
@click.pass_obj
def command(
    session: Session,
    features: str,
    task_column: str,
    n_clusters: int,
    method: str,
    method_param: tuple[str, ...],
    results: Labels,
    running: Running,
    reading: Reading,
    as_json: bool,
) -> None:
    """Cluster the rows of FEATURES within each task, where the tasks learn from each other.

    Tasks are related sets of objects with the same features, for instance documents from two sources. Cluster
    0 of one task corresponds to cluster 0 of the others. The result has the columns "name" and "label", in
    the order of the rows.

    \b
    Examples:
      consilience multitask documents.csv --task-column source -k 2 -o labels.csv
      consilience multitask documents.csv --task-column source -k 2 --method-param weighting=hard --confidence
      consilience multitask documents.csv --task-column source -k 2 --method lssmtc --json
    """
    check_output(results.output, features, as_json=as_json)
    check_method(method, method_param, "multitask")
    check_inputs(features)

    from .. import multitask
    from .._warmup.first_use import compiling_beside
    from ..io import read_features

    cls = multitask.method(method)
    values = method_params(cls, method_param)
    model = cls(n_clusters=n_clusters, **vars(running), **values)
    with compiling_beside([cls.__name__], session.say):
        table = read_features(
            source(features),
            column=task_column,
            **vars(reading),
            on_note=session.note,
        )
        task = table.column
        model.fit(table, task=task)
    facts = {
        "command": "multitask",
        "method": type(model).__name__,
        "parameters": model.get_params(),
        "tasks": {str(name): int((task == name).sum()) for name in model.tasks_},
    }
    write_result(session, results, model, table.sample_names, as_json=as_json, facts=facts)
