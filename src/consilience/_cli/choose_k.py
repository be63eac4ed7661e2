"""``consilience choose-k``: estimates the number of clusters and shows the evidence."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import click

from .._base.names import AUTO
from ..errors import InputError, need
from ._dask import dask_option, opened, refuse_beside
from ._files import check_inputs, check_output, check_report, source, write_report
from ._options import (
    Reading,
    Running,
    common,
    generator_option,
    grouped,
    n_clusters_option,
    param_option,
    preprocess_option,
    reading,
    running,
    save_report_option,
)
from ._params import generator_params, parse_n_clusters
from ._session import Session

#: Characters of a column of the table.
_WIDTH = 10


@dataclass(frozen=True)
class Studying:
    """Arguments of the study as they are given."""

    n_clusterings: int
    n_references: int
    alpha: float
    max_samples: int
    sample_fraction: float
    feature_fraction: float
    checkpoint: str | None


studying = grouped(
    "studying",
    Studying,
    click.option(
        "-n",
        "--n-clusterings",
        type=int,
        default=50,
        show_default=True,
        help="Number of subsamples for each k.",
    ),
    click.option(
        "--n-references",
        type=int,
        default=39,
        show_default=True,
        help="Number of reference data sets without clusters to compare with.",
    ),
    click.option(
        "--alpha",
        type=float,
        default=0.05,
        show_default=True,
        help="Significance level of the two tests together.",
    ),
    click.option(
        "--max-samples",
        type=int,
        default=2_000,
        show_default=True,
        help="Largest number of objects to study; a larger table is sampled at random.",
    ),
    click.option(
        "--sample-fraction",
        type=float,
        default=0.8,
        show_default=True,
        help="Share of the objects in each subsample.",
    ),
    click.option(
        "--feature-fraction",
        type=float,
        default=1.0,
        show_default=True,
        help="Share of the features that each clustering sees.",
    ),
    click.option(
        "--checkpoint",
        default=None,
        metavar="FILE",
        help="Keep finished references in FILE; the same call resumes from there.",
    ),
)


@click.command("choose-k", short_help="Estimate the number of clusters, and show the evidence.")
@click.argument("file", metavar="FILE")
@n_clusters_option(
    'Numbers of clusters to try: an interval with both ends, or a list such as 2,3,5; "auto" tries 2 to 10, '
    "and more where the data call for it.",
    default=AUTO,
    show_default=True,
    metavar="LOW:HIGH|auto",
)
@click.option("--from-ensemble", is_flag=True, help="FILE holds base clusterings, not features.")
@click.option(
    "--features",
    metavar="FILE",
    default=None,
    help="Features of the objects, for the tests; only with --from-ensemble.",
)
@click.option(
    "--null",
    type=click.Choice(["gaussian", "uniform", "none"]),
    default="gaussian",
    show_default=True,
    help="Distribution of the reference data; none makes no comparison.",
)
@studying
@preprocess_option
@generator_option("kmeans")
@param_option("generator")
@click.option(
    "-o",
    "--output",
    default=None,
    metavar="FILE",
    help='Also write the table; "-" is standard output as CSV.',
)
@click.option("--save-labels", default=None, metavar="FILE", help="Also write the labels for the answer.")
@dask_option("FILE")
@save_report_option
@running
@reading
@common
@click.pass_obj
def command(
    session: Session,
    file: str,
    n_clusters: str,
    from_ensemble: bool,
    features: str | None,
    null: str,
    preprocess: str | None,
    generator: str,
    generator_param: tuple[str, ...],
    output: str | None,
    save_labels: str | None,
    scheduler: str | None,
    save_report: str | None,
    studying: Studying,
    running: Running,
    reading: Reading,
    as_json: bool,
) -> None:
    """Estimate how many clusters the rows of FILE have, how sure that is, and what else is plausible.

    The answer may be a single cluster. Base clusterings are made for every k, and also for reference data
    without clusters. With --from-ensemble, the clusterings in FILE are used instead; whether there are any
    clusters at all can then be tested only if --features is given.

    \b
    Examples:
      consilience choose-k features.csv -k 2:10 -o table.csv --save-report k.html
      consilience choose-k features.csv --preprocess none --save-labels labels.csv --json
      consilience choose-k features.csv -k 2:6 --generator random-features -n 20
      consilience choose-k ensemble.npz --from-ensemble --features features.csv
    """
    start = time.perf_counter()
    numbers = AUTO if n_clusters.strip().lower() == AUTO else parse_n_clusters(n_clusters)
    made_by = _generator_params(generator, generator_param)
    inputs = [file, *([] if features is None else [features])]
    _check_outputs(inputs, output, save_labels, save_report, as_json=as_json)
    if features is not None and not from_ensemble:
        raise InputError("--features goes with --from-ensemble; otherwise FILE itself holds the features.")
    if scheduler is not None:
        refused = {"--from-ensemble": from_ensemble, "--save-labels": save_labels}
        refused |= {"--save-report": save_report, "--transpose": reading.transpose}
        refuse_beside({**refused, "--key": reading.key})
    else:
        check_inputs(file, features)

    from .._base.progress import progress_shown
    from .._choosing import choose_k

    with progress_shown(False if session.quiet else None), ExitStack() as until:
        if scheduler is not None:
            need("dask.array", "dask", "--dask")
            X = until.enter_context(opened(session, file, scheduler, index=reading.index)).X
            data: Any = None
            ensemble = None
        else:
            data, X, ensemble = _read(session, file, features, reading, from_ensemble=from_ensemble)
        study = choose_k(
            X,
            ensemble=ensemble,
            n_clusters=numbers,
            preprocess=preprocess or AUTO,
            generator=generator,
            generator_params=made_by,
            null=None if null == "none" else null,
            **vars(studying),
            **vars(running),
        )
    if output is not None:
        _write_columns(session, output, study)
    if save_labels is not None:
        _write_answer(session, save_labels, study, data.sample_names)
    if save_report is not None:
        seconds, shown = time.perf_counter() - start, None if X is None else X.X
        names = data.sample_names
        write_report(session, save_report, study, shown, source=file, names=names, seconds=seconds)
    if as_json:
        session.print_json({"command": "choose-k", **study.to_dict(), "output": output})
    elif output != "-" and save_labels != "-":
        click.echo(str(study))
        _print_table(study)


def _read(
    session: Session, file: str, features: str | None, reading: Reading, *, from_ensemble: bool
) -> tuple[Any, Any, Any]:
    """(what FILE holds, features or None, base clusterings or None)."""
    from ..io import read_features, read_labels

    layout: dict[str, Any] = {**vars(reading), "on_note": session.note}
    if not from_ensemble:
        table = read_features(source(file), **layout)
        return table, table, None
    ensemble = read_labels(source(file), **layout)
    return ensemble, features and read_features(source(features), on_note=session.note), ensemble


def _generator_params(generator: str, given: tuple[str, ...]) -> dict[str, Any]:
    """The parameters of the generator, which is looked for where there are any."""
    if not given:
        return {}
    from .. import generate

    reserved = {"n_clusters": "the option -k", "preprocess": "the option --preprocess"}
    return generator_params(generate.generator(generator), given, reserved)


def _print_table(study: Any) -> None:
    from .._choosing import SHOWN

    names = [name for name in SHOWN if name in study.columns]  # a file has all
    click.echo()
    click.echo(" ".join(f"{name:>{_WIDTH}}" for name in names))
    for i in range(len(study.n_clusters_tried)):
        cells = (study.columns[name][i] for name in names)
        click.echo(
            " ".join(
                f"{cell:{_WIDTH}d}" if name == "n_clusters" else f"{cell:{_WIDTH}.3f}"
                for name, cell in zip(names, cells)
            )
        )


def _check_outputs(
    inputs: list[str],
    output: str | None,
    save_labels: str | None,
    save_report: str | None,
    *,
    as_json: bool,
) -> None:
    """Raise where a file that is to be written is one of the others, or cannot be written."""
    before: list[str] = []
    for path in (output, save_labels):
        if path is not None:
            check_output(path, *inputs, outputs=before, as_json=as_json, json_instead=False)
            before = [*before, path]
    check_report(save_report, *inputs, *before)


def _write_columns(session: Session, output: str, study: Any) -> None:
    from ..io import write_table

    target = sys.stdout.buffer if output == "-" else output
    write_table(study.columns, target, sample_names=[f"k={one}" for one in study.n_clusters_tried])
    if output != "-":
        session.say(f"wrote a table of {len(study.n_clusters_tried)} numbers of clusters to {output}")


def _write_answer(session: Session, output: str, study: Any, names: Any) -> None:
    """The labels for the answer, of the objects that were studied."""
    from ..io import write_labels

    if study.sample is not None:
        names = [names[i] if names else str(i) for i in study.sample]
    labels = study.labels()
    write_labels(labels, sys.stdout.buffer if output == "-" else output, sample_names=names)
    if output != "-":
        session.say(
            f"wrote {len(labels)} labels in {study.n_clusters} cluster{'' if study.n_clusters == 1 else 's'} "
            f"to {output}"
        )
