"""``consilience report``: base clusterings and a result in, a page about it out."""

from __future__ import annotations

import os
import shlex
from types import SimpleNamespace
from typing import Any

import click

from ..errors import InputError
from ._files import check_report, matching_rows, source
from ._options import common
from ._session import Session


@click.command("report", short_help="Make a page about a result from files.")
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
    help="The result in LABELS, by name or position from 0; repeatable. The first is reported, the others are compared with it.",
)
@click.option(
    "--features", metavar="FILE", help="The features, for pictures and for what distinguishes the clusters."
)
@click.option("--truth", metavar="FILE", help="Known classes of the objects.")
@click.option("-t", "--truth-column", help="The column of --truth; needed if it has several.")
@click.option("--annotations", metavar="FILE", help="What else is known about the objects, one column each.")
@click.option("--title", help="The heading of the page.")
@common
@click.pass_obj
def command(
    session: Session,
    ensemble: str,
    labels: str,
    output: str,
    columns: tuple[str, ...],
    features: str | None,
    truth: str | None,
    truth_column: str | None,
    annotations: str | None,
    title: str | None,
    as_json: bool,
) -> None:
    """Make a page about the result in LABELS, of any program, and the base clusterings in ENSEMBLE that it came from.

    Rows are matched by name where both files have names, and by position otherwise. Several columns of LABELS are compared on
    the page.

    \b
    Examples:
      consilience report ensemble.csv labels.csv -o report.html
      consilience report ensemble.csv labels.csv --features features.csv --truth truth.csv --annotations samples.csv
    """
    from .._reporting import report
    from .._results.view import Fitted
    from ..io import read_annotations, read_features, read_labels

    given = [path for path in (ensemble, labels, features, truth, annotations) if path is not None]
    if given.count("-") > 1:
        raise InputError("Standard input can be read once only: give files for the others.")
    check_report(output, *given, option="-o")
    base = read_labels(source(ensemble), on_note=session.note)
    results = read_labels(source(labels), columns=columns or None, on_note=session.note)
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
    if truth is not None:
        wanted = None if truth_column is None else [truth_column]
        classes = read_labels(source(truth), columns=wanted, truth=True, on_note=session.note)
        if classes.n_clusterings > 1:
            names = ", ".join(map(repr, classes.clustering_names[:8]))
            raise InputError(
                f"{truth} has {classes.n_clusterings} columns ({names}); say which holds the truth with --truth-column."
            )
        found = classes.original_labels(0)
        options["truth"] = found[matching_rows(session, base, ensemble, classes, truth)]
    if annotations is not None:
        notes = read_annotations(source(annotations), on_note=session.note)
        n = len(next(iter(notes.columns.values())))
        order = matching_rows(
            session,
            base,
            ensemble,
            SimpleNamespace(n_samples=n, sample_names=notes.sample_names),
            annotations,
        )
        options["annotations"] = {name: [values[i] for i in order] for name, values in notes.columns.items()}
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


def _by_size(codes: Any, file: str, name: str) -> Any:
    """Numbers from the largest cluster down, as everywhere in the library."""
    import numpy as np

    if (codes < 0).any():
        raise InputError(
            f"{file}, column {name!r}: {(codes < 0).sum()} objects have no label; a page is about a result of all objects. Leave "
            "them out of both files, or give them a label."
        )
    sizes = np.bincount(codes)
    numbers = np.empty(len(sizes), int)
    numbers[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    return numbers[codes]


def _names(results: Any, rows: Any) -> list[str]:
    """What the numbers of the clusters are called in the file, where that is something else."""
    codes = results.labels[rows, 0]
    called = dict(zip(_by_size(codes, "", "").tolist(), (str(results.categories[0][code]) for code in codes)))
    if all(str(number) == name for number, name in called.items()):
        return []
    pairs = [f"{number} is “{called[number]}”" for number in sorted(called)[:40]]
    more = "" if len(called) <= 40 else f", and {len(called) - 40} more"
    return [f"Clusters are numbered from the largest down: {', '.join(pairs)}{more}."]
