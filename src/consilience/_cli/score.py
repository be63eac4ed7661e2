"""``consilience score``: clusterings against known classes."""

from __future__ import annotations

import click

from ..errors import InputError
from ._files import check_inputs, matching_rows, read_classes, source
from ._options import common, labels_true_options
from ._session import Session


@click.command("score", short_help="Compare clusterings with known classes.")
@click.argument("labels")
@click.option(
    "-c",
    "--column",
    "columns",
    multiple=True,
    help="Score only this column of LABELS, by name or position; repeatable.",
)
@labels_true_options(required=True)
@click.option("--key", help="Which array of LABELS to read, if it is an .npz or .mat file.")
@click.option("--drop-missing", is_flag=True, help="Compare only the objects that both files label.")
@common
@click.pass_obj
def command(
    session: Session,
    labels: str,
    columns: tuple[str, ...],
    labels_true: str,
    true_column: str | None,
    true_key: str | None,
    key: str | None,
    drop_missing: bool,
    as_json: bool,
) -> None:
    """Compare every clustering in LABELS with known classes, using all measures.

    Rows are matched by name where both files have names, and by position otherwise.

    \b
    Examples:
      consilience score labels.csv --labels-true truth.csv
      consilience score labels.csv --labels-true truth.csv --true-column class --json
    """
    if labels == labels_true == "-":
        raise InputError("Standard input can be read only once: give a file for LABELS or --labels-true.")
    check_inputs(labels, labels_true)

    from ..io import read_labels
    from ..metrics import scores

    ours = read_labels(source(labels), key=key, columns=columns or None, on_note=session.note)
    theirs = read_classes(session, labels_true, true_column, true_key)
    rows = matching_rows(session, ours, labels, theirs, labels_true)
    reference = theirs.labels[rows, 0]
    missing = "ignore" if drop_missing else "error"
    result: dict[str, dict[str, float]] = {}
    for i, name in enumerate(ours.clustering_names):
        try:
            result[name] = scores(reference, ours.labels[:, i], missing=missing)
        except InputError as error:
            remedy = "" if drop_missing else " On the command line: --drop-missing."
            raise InputError(f"{labels}, column {name!r}: {error}{remedy}") from None
    if as_json:
        session.print_json({"command": "score", "n_samples": ours.n_samples, "scores": result})
    else:
        _print_table(result)


def _print_table(result: dict[str, dict[str, float]]) -> None:
    measures = list(next(iter(result.values())))
    width = max(10, *map(len, result))
    click.echo(" ".join(["clustering".ljust(width), *(f"{m:>{max(6, len(m))}}" for m in measures)]))
    for name, values in result.items():
        click.echo(" ".join([name.ljust(width), *(f"{values[m]:{max(6, len(m))}.4f}" for m in measures)]))
