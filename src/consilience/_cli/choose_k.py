"""``consilience choose-k``: how many clusters, with the evidence."""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from ..errors import InputError
from ._files import check_output, check_report, source, write_report
from ._options import common, reading, report_option, running, scale_option
from ._session import Session


def parse_ks(text: str) -> list[int]:
    """2:10, both ends included, or 2,3,5, or both."""
    ks: list[int] = []
    for part in text.split(","):
        low, colon, high = part.partition(":")
        try:
            ks += range(int(low), int(high) + 1) if colon else [int(low)]
        except ValueError:
            raise InputError(
                f"--k {text} is not valid: expected the smallest and the largest number, such as 2:10, or a list, such as 2,3,5."
            ) from None
    return ks


@click.command("choose-k", short_help="Say how many clusters there are, with the evidence.")
@click.argument("file", metavar="FILE")
@click.option(
    "--k",
    "k",
    default="2:10",
    show_default=True,
    metavar="LOW:HIGH",
    help="Numbers of clusters to look at, both ends included; or a list, 2,3,5.",
)
@click.option("--ensemble", "is_ensemble", is_flag=True, help="FILE holds base clusterings, not features.")
@click.option(
    "--features", metavar="FILE", default=None, help="Features of the objects of an ensemble, for the tests."
)
@click.option("-n", "--n-clusterings", type=int, default=50, show_default=True, help="Subsamples for each k.")
@click.option(
    "--references",
    type=int,
    default=39,
    show_default=True,
    help="Data sets without clusters to compare with.",
)
@click.option(
    "--null",
    type=click.Choice(["gaussian", "uniform", "none"]),
    default="gaussian",
    show_default=True,
    help="What these look like; none compares with nothing.",
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Level of both tests together.")
@click.option(
    "--max-samples", type=int, default=5_000, show_default=True, help="Of more, a random sample is studied."
)
@scale_option
@click.option(
    "-o",
    "--output",
    default=None,
    metavar="FILE",
    help='Also write the table; "-" is standard output as CSV.',
)
@click.option(
    "--labels", "labels_output", default=None, metavar="FILE", help="Also write the labels for the answer."
)
@click.option(
    "--checkpoint",
    default=None,
    metavar="FILE",
    help="Keep references that are done; the same call goes on from there.",
)
@report_option
@running
@reading
@common
@click.pass_obj
def command(
    session: Session,
    file: str,
    k: str,
    is_ensemble: bool,
    features: str | None,
    n_clusterings: int,
    references: int,
    null: str,
    alpha: float,
    max_samples: int,
    scale: bool,
    output: str | None,
    labels_output: str | None,
    checkpoint: str | None,
    report_output: str | None,
    seed: int,
    n_jobs: int | None,
    header: bool | None,
    index: bool | None,
    transpose: bool,
    key: str | None,
    as_json: bool,
) -> None:
    """Say how many clusters the rows of FILE have, how sure that is, and what else is plausible; one is among the answers.

    Base clusterings are made for every k, and for data without clusters to compare with. With --ensemble the clusterings in FILE are
    taken as they are; only with --features can it then be tested whether there are clusters at all.

    \b
    Examples:
      consilience choose-k features.csv --k 2:10 -o table.csv --report k.html
      consilience choose-k features.csv --scale --labels labels.csv --json
      consilience choose-k ensemble.npz --ensemble --features features.csv
    """
    from .._base.progress import progress_shown
    from .._choosing import choose_k
    from ..io import read_features, read_labels

    start = time.perf_counter()
    ks = parse_ks(k)
    inputs = [file, *([] if features is None else [features])]
    _check_outputs(inputs, output, labels_output, report_output, as_json=as_json)
    if features is not None and not is_ensemble:
        raise InputError("--features goes with --ensemble; FILE itself holds features otherwise.")
    layout: dict[str, Any] = {
        "header": header,
        "index": index,
        "transpose": transpose,
        "on_note": session.note,
    }
    with progress_shown(False if session.quiet else None):
        if is_ensemble:
            data: Any = read_labels(source(file), key=key, **layout)
            X = None if features is None else read_features(source(features), on_note=session.note)
        else:
            data, X = read_features(source(file), key=key, **layout), None
        study = choose_k(
            data,
            ks,
            X=X,
            n_clusterings=n_clusterings,
            preprocess="standardize" if scale else "none",
            null=None if null == "none" else null,
            n_references=references,
            alpha=alpha,
            max_samples=max_samples,
            checkpoint=checkpoint,
            random_state=seed,
            n_jobs=n_jobs,
        )
    if output is not None:
        _write_columns(session, output, study)
    if labels_output is not None:
        _write_answer(session, labels_output, study, data.sample_names)
    pictured = X if is_ensemble else data
    write_report(
        session,
        report_output,
        study,
        None if pictured is None else pictured.X,
        source=file,
        names=data.sample_names,
        seconds=time.perf_counter() - start,
    )
    if as_json:
        session.print_json({"command": "choose-k", **study.to_dict(), "output": output})
    elif output != "-" and labels_output != "-":
        click.echo(str(study))
        _print_table(study)


def _print_table(study: Any) -> None:
    from .._choosing import SHOWN

    names = [name for name in SHOWN if name in study.columns]  # a file has all
    click.echo()
    click.echo(" ".join(f"{name:>9}" for name in names))
    for i in range(len(study.ks)):
        cells = (study.columns[name][i] for name in names)
        click.echo(
            " ".join(f"{cell:9d}" if name == "k" else f"{cell:9.3f}" for name, cell in zip(names, cells))
        )


def _check_outputs(
    inputs: list[str],
    output: str | None,
    labels_output: str | None,
    report_output: str | None,
    *,
    as_json: bool,
) -> None:
    """Raise where a file that is to be written is one of the others, or cannot be written."""
    before: list[str] = []
    for path in (output, labels_output):
        if path is not None:
            check_output(path, *inputs, outputs=before, as_json=as_json, json_instead=False)
            before = [*before, path]
    check_report(report_output, *inputs, *before)


def _write_columns(session: Session, output: str, study: Any) -> None:
    from ..io import write_table

    target = sys.stdout.buffer if output == "-" else output
    write_table(target, study.columns, sample_names=[f"k={one}" for one in study.ks])
    if output != "-":
        session.say(f"wrote a table of {len(study.ks)} numbers of clusters to {output}")


def _write_answer(session: Session, output: str, study: Any, names: Any) -> None:
    """The labels for the answer, of the objects that were studied."""
    from ..io import write_labels

    if study.sample is not None:
        names = [names[i] if names else str(i) for i in study.sample]
    labels = study.labels()
    write_labels(sys.stdout.buffer if output == "-" else output, labels, sample_names=names)
    if output != "-":
        session.say(
            f"wrote {len(labels)} labels in {study.k} cluster{'' if study.k == 1 else 's'} to {output}"
        )
