"""``consilience predict``: a saved model and new objects in, their clusters out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import click

from ._files import check_output, source, write_result
from ._options import common, confidence_option, output, reading
from ._session import Session


@click.command("predict", short_help="Label new objects with a saved model.")
@click.argument("model")
@click.argument("data")
@output
@confidence_option
@click.option("--n-jobs", type=int, default=None, help="Number of threads; -1 for all. [default: all]")
@reading
@common
@click.pass_obj
def command(
    session: Session,
    model: str,
    data: str,
    output: str,
    confidence: bool,
    n_jobs: int | None,
    header: bool | None,
    index: bool | None,
    transpose: bool,
    key: str | None,
    as_json: bool,
) -> None:
    """Label the objects in DATA with MODEL, a file that "cluster --save" or "consensus --save" wrote.

    DATA holds what the model was made from: features, with the same columns in the same order, or base clusterings, matched by name where
    both have names. Objects of the fit get the label they had; one of which nothing is known gets -1. Nothing in MODEL is run.

    \b
    Examples:
      consilience predict model.consilience features.csv -o labels.csv --confidence
      cat features.csv | consilience predict model.consilience - > labels.csv
    """
    from .._base.progress import progress_shown
    from ..io import load, read_features, read_labels

    check_output(output, model, data, as_json=as_json)
    fitted = load(model)
    if n_jobs is not None and "n_jobs" in fitted.get_params(deep=False):
        fitted.set_params(n_jobs=n_jobs)
    read: Any = read_features if hasattr(fitted, "ensemble_") else read_labels
    with progress_shown(False if session.quiet else None):
        table = read(
            source(data),
            key=key,
            header=header,
            index=index,
            transpose=transpose,
            least_rows=1,
            on_note=session.note,
        )
        found = SimpleNamespace(labels_=fitted.predict(table), confidence_=fitted.predict_confidence(table))
        facts = {"command": "predict", "model": model, "method": type(fitted).__name__}
        write_result(
            session, output, found, table.sample_names, confidence=confidence, as_json=as_json, facts=facts
        )
