"""``consilience predict``: a saved model and new objects in, their clusters out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import click

from ._dask import WRITES, check_lazy, dask_option, predict_lazily
from ._files import check_inputs, check_output, source, write_result
from ._options import Labels, Reading, common, labels_only, n_jobs_option, reading
from ._session import Session


@click.command("predict", short_help="Label new objects with a saved model.")
@click.argument("model")
@click.argument("data")
@labels_only
@dask_option("DATA", more=WRITES)
@n_jobs_option
@reading
@common
@click.pass_obj
def command(
    session: Session,
    model: str,
    data: str,
    scheduler: str | None,
    n_jobs: int,
    results: Labels,
    reading: Reading,
    as_json: bool,
) -> None:
    """Label the objects in DATA with MODEL, a file written by --save-model.

    MODEL comes from "consilience cluster" or "consilience consensus". DATA holds the same kind of data that
    the model was fitted to: features, with the same columns in the same order, or base clusterings, which are
    matched by name where both have names. Objects of the fit keep their labels. An object about which nothing
    is known gets -1. No code in MODEL is run.

    \b
    Examples:
      consilience predict model.consilience features.csv -o labels.csv --confidence
      cat features.csv | consilience predict model.consilience - > labels.csv
      consilience predict model.consilience big.parquet --dask -o labels/
    """
    check_inputs(model, formats=False)
    if scheduler is not None:
        check_lazy(results.output, {"--transpose": reading.transpose, "--key": reading.key})
    else:
        check_output(results.output, model, data, as_json=as_json)
        check_inputs(data)

    from .._base.progress import progress_shown
    from ..io import load, read_features, read_labels

    fitted = load(model)
    if "n_jobs" in fitted.get_params(deep=False):
        fitted.set_params(n_jobs=n_jobs)
    if scheduler is not None:
        predict_lazily(
            session, fitted, model, data, scheduler, index=reading.index, results=results, as_json=as_json
        )
        return
    read: Any = read_features if hasattr(fitted, "ensemble_") else read_labels
    with progress_shown(False if session.quiet else None):
        table = read(
            source(data),
            **vars(reading),
            least_rows=1,
            on_note=session.note,
        )
        found = SimpleNamespace(labels_=fitted.predict(table), confidence_=fitted.predict_confidence(table))
        facts = {"command": "predict", "model": model, "method": type(fitted).__name__}
        write_result(session, results, found, table.sample_names, as_json=as_json, facts=facts)
