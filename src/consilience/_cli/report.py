"""``consilience report``: base clusterings and a result in, an HTML page out."""

from __future__ import annotations

import os
import shlex
from types import SimpleNamespace
from typing import Any

import click

from ..errors import InputError
from ._files import check_inputs, check_report, matching_rows, read_classes, source
from ._options import Reading, common, labels_true_options, reading
from ._session import Session


@click.command("report", short_help="Write an HTML page about a result in files.")
@click.argument("ensemble")
@click.argument("labels")
@click.option(
    "-o",
    "--output",
    default="report.html",
    show_default=True,
    metavar="FILE.html",
    help="Where to write the page.",
)
@click.option(
    "-c",
    "--column",
    "columns",
    multiple=True,
    help="The result in LABELS, by name or position from 0; repeatable. The first is reported, the others "
    "are compared with it.",
)
@click.option(
    "--features",
    metavar="FILE",
    help="The features, to draw the objects and to show what distinguishes the clusters.",
)
@labels_true_options(required=False)
@click.option("--annotations", metavar="FILE", help="Further facts about the objects, one per column.")
@click.option("--title", help="The heading of the page.")
@reading
@common
@click.pass_obj
def command(
    session: Session,
    ensemble: str,
    labels: str,
    output: str,
    columns: tuple[str, ...],
    features: str | None,
    labels_true: str | None,
    true_column: str | None,
    true_key: str | None,
    annotations: str | None,
    title: str | None,
    reading: Reading,
    as_json: bool,
) -> None:
    """Write a page about the result in LABELS and the base clusterings in ENSEMBLE that it was made from.

    The result may come from any program. The options --header, --index, --transpose and --key apply to
    ENSEMBLE and LABELS. Rows are matched by name where both files have names, and by position otherwise. If
    LABELS has several columns, the page compares them.

    \b
    Examples:
      consilience report ensemble.csv labels.csv -o report.html
      consilience report ensemble.csv labels.csv --features features.csv --annotations samples.csv
      consilience report ensemble.csv labels.csv --labels-true truth.csv
    """
    given = [path for path in (ensemble, labels, features, labels_true, annotations) if path is not None]
    if given.count("-") > 1:
        raise InputError("Standard input can be read only once: give files for the others.")
    check_report(output, *given, option="-o")
    check_inputs(*given)

    from .._reporting import report
    from .._results.view import Fitted
    from ..io import read_features, read_labels

    base = read_labels(source(ensemble), **vars(reading), on_note=session.note)
    results = read_labels(source(labels), **vars(reading), columns=columns or None, on_note=session.note)
    rows = matching_rows(session, base, ensemble, results, labels)
    models = {
        name: Fitted.from_ensemble(base, _by_size(results.labels[rows, i], labels, name))
        for i, name in enumerate(results.clustering_names)
    }
    options: dict[str, Any] = {}
    X = None
    if features is not None:
        table = read_features(source(features), on_note=session.note)
        X = table.take(matching_rows(session, base, ensemble, table, features))
    if labels_true is not None:
        classes = read_classes(session, labels_true, true_column, true_key)
        matched = matching_rows(session, base, ensemble, classes, labels_true)
        options["labels_true"] = classes.original_labels(0)[matched]
    if annotations is not None:
        options["annotations"] = _annotations(session, base, ensemble, annotations)
    name = next(iter(models))
    page = report(
        models,
        X,
        path=output,
        title=title,
        source=f"{os.path.basename(labels)} ({name})" if len(models) > 1 else os.path.basename(labels),
        command=shlex.join(["consilience", *session.arguments]),
        warnings=[*session.warnings, *_names(results, rows)],
        **options,
    )
    session.say(f"wrote a report to {output}")
    if as_json:
        session.print_json(
            {"command": "report", "output": output, "results": list(models), "bytes": len(page.html.encode())}
        )


def _annotations(session: Session, base: Any, ensemble: str, path: str) -> dict[str, Any]:
    """Further facts about the objects, in their order."""
    from ..io import read_annotations

    notes = read_annotations(source(path), on_note=session.note)
    n = len(next(iter(notes.columns.values())))
    theirs = SimpleNamespace(n_samples=n, sample_names=notes.sample_names)
    order = matching_rows(session, base, ensemble, theirs, path)
    return {name: [values[i] for i in order] for name, values in notes.columns.items()}


def _by_size(codes: Any, file: str, name: str) -> Any:
    """Renumber the clusters from the largest down, as everywhere in the library."""
    import numpy as np

    if (codes < 0).any():
        raise InputError(
            f"{file}, column {name!r}: {(codes < 0).sum()} objects have no label, and the page needs a label "
            f"for every object. Leave them out of both files, or give them a label."
        )
    sizes = np.bincount(codes)
    numbers = np.empty(len(sizes), int)
    numbers[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return numbers[codes]


def _names(results: Any, rows: Any) -> list[str]:
    """A remark on the names of the clusters in the file, where they differ from their numbers."""
    codes = results.labels[rows, 0]
    called = dict(zip(_by_size(codes, "", "").tolist(), (str(results.categories[0][code]) for code in codes)))
    if all(str(number) == name for number, name in called.items()):
        return []
    pairs = [f"{number} is “{called[number]}”" for number in sorted(called)[:40]]
    more = "" if len(called) <= 40 else f", and {len(called) - 40} more"
    return [f"Clusters are numbered from the largest down: {', '.join(pairs)}{more}."]
