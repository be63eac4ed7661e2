"""Options that several commands share."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click

from .._base.names import AUTO
from ._session import Session

Command = Callable[..., Any]
_LEFT = ', and "auto" chooses by the number of objects'


def _together(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def _set_quiet(ctx: click.Context, _: click.Parameter, quiet: bool) -> None:
    if quiet:
        ctx.ensure_object(Session).quiet = True


#: What every command takes.
common = _together(
    click.option(
        "--json", "as_json", is_flag=True, help="Print the result as one line of JSON on standard output."
    ),
    click.option(
        "-q",
        "--quiet",
        is_flag=True,
        expose_value=False,
        callback=_set_quiet,
        help="Print no notes and no progress bars.",
    ),
    click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error."),
)


def grouped(name: str, kind: Any, *options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Options that a command takes as one object: ``kind`` is a dataclass of their values."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def grouping(*args: Any, **values: Any) -> Any:
            values[name] = kind(*(values.pop(field) for field in kind.__dataclass_fields__))
            return command(*args, **values)

        return _together(*options)(grouping)

    return decorate


@dataclass(frozen=True)
class Reading:
    """How to read the input file: arguments of the readers in :mod:`consilience.io`."""

    header: bool | None
    index: bool | None
    transpose: bool
    key: str | None


reading = grouped(
    "reading",
    Reading,
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether line 1 holds column names; by default the reader decides and reports it.",
    ),
    click.option(
        "--index/--no-index",
        default=None,
        help="Whether column 1 holds row names; by default the reader decides and reports it.",
    ),
    click.option(
        "--transpose",
        is_flag=True,
        help="Columns of the file are the objects, as in tables with genes in rows.",
    ),
    click.option("--key", help="Which array to read from an .npz or .mat file."),
)


@dataclass(frozen=True)
class Running:
    """How a method runs."""

    random_state: int
    n_jobs: int | None


n_jobs_option = click.option(
    "--n-jobs", type=int, default=-1, show_default=True, help="Number of threads; -1 uses all cores."
)

running = grouped(
    "running",
    Running,
    click.option(
        "--random-state",
        type=click.IntRange(0),
        default=0,
        show_default=True,
        help="Seed of all random choices.",
    ),
    n_jobs_option,
)


@dataclass(frozen=True)
class Objects:
    """What a fit is told about the objects beside their data."""

    sample_weight: str | None
    must_link: str | None
    min_cluster_size: float | None

    @property
    def in_files(self) -> dict[str, str | None]:
        """The files by option."""
        return {"--sample-weight": self.sample_weight, "--must-link": self.must_link}


objects = grouped(
    "objects",
    Objects,
    click.option(
        "--sample-weight",
        metavar="FILE",
        default=None,
        help="One positive weight for each object; rows are matched by name where both files have names.",
    ),
    click.option(
        "--must-link",
        metavar="FILE",
        default=None,
        help="Objects that belong together: on each line, without a header, two row names, or two positions "
        "from 0.",
    ),
    click.option(
        "--min-cluster-size",
        type=click.FloatRange(0, min_open=True),
        default=None,
        metavar="SIZE",
        help="Merge clusters that are smaller (or weigh less, if objects have weights) into those they are "
        "most often together with.",
    ),
)


@dataclass(frozen=True)
class Labels:
    """Where labels are written, and what is written beside them."""

    output: str
    confidence: bool


@dataclass(frozen=True)
class Results:
    """The same, and what else is written about a result."""

    output: str
    confidence: bool
    save_report: str | None
    save_model: str | None


output = click.option(
    "-o",
    "--output",
    default="-",
    metavar="FILE",
    help='Where to write; "-" is standard output as CSV. [default: -]',
)


def method_option(default: str) -> Any:
    return click.option(
        "-m",
        "--method",
        default=default,
        show_default=True,
        help=f'Consensus method; "consilience methods" lists them{_LEFT if default == AUTO else ""}.',
    )


def generator_option(default: str) -> Any:
    return click.option(
        "-g",
        "--generator",
        default=default,
        show_default=True,
        help=f'Generator of the base clusterings; "consilience methods" lists '
        f"them{_LEFT if default == AUTO else ''}.",
    )


preprocess_option = click.option(
    "--preprocess",
    metavar="WAY",
    default=None,
    help='How the columns are prepared for each base clustering: "standardize", "ranks", ...; see the '
    'parameter "preprocess" of the generator.',
)

n_clusterings_option = click.option(
    "-n",
    "--n-clusterings",
    type=int,
    default=None,
    help="Number of base clusterings. [default: that of the generator]",
)

confidence_option = click.option(
    "--confidence",
    is_flag=True,
    help="Add a column that says how sure the base clusterings are of each object's cluster, from 0 to 1.",
)

save_report_option = click.option(
    "--save-report",
    metavar="FILE.html",
    default=None,
    help="Also write a page that shows and explains the result; it opens offline.",
)

save_model_option = click.option(
    "--save-model",
    metavar="FILE",
    default=None,
    help='Also write the model (without pickle), for "consilience predict" and consilience.load.',
)

labels_only = grouped("results", Labels, output, confidence_option)
results = grouped("results", Results, output, confidence_option, save_report_option, save_model_option)


class NumberOrAuto(click.ParamType):
    """A number of clusters, or "auto"."""

    name = "integer"

    def convert(self, value: Any, param: Any, ctx: Any) -> int | str:
        if str(value).strip().lower() == AUTO:
            return AUTO
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is neither a whole number nor {AUTO}.", param, ctx)

    def get_missing_message(self, *_: Any, **__: Any) -> str:
        return f'Give the number of clusters, or "-k {AUTO}" to have it chosen.'


number_or_auto_option = click.option(
    "-k",
    "--n-clusters",
    required=True,
    metavar="INTEGER|auto",
    type=NumberOrAuto(),
    help='Number of clusters of the result; "auto" chooses it ("consilience choose-k" shows how).',
)


def n_clusters_option(help: str, **options: Any) -> Any:
    """``-k`` of every command."""
    return click.option("-k", "--n-clusters", help=help, **options)


def param_option(target: str) -> Callable[[Command], Command]:
    """A repeatable ``--method-param`` or ``--generator-param``, each ``name=value``."""
    return click.option(
        f"--{target}-param",
        multiple=True,
        metavar="NAME=VALUE",
        help=f"A parameter of the {target}, by its name in Python; repeatable.",
    )


def labels_true_options(required: bool) -> Callable[[Command], Command]:
    """Known classes of the objects: the file, its column, its array."""
    return _together(
        click.option(
            "--labels-true", metavar="FILE", required=required, help="Known classes of the objects."
        ),
        click.option(
            "-t", "--true-column", help="The column of --labels-true to use; needed if there are several."
        ),
        click.option(
            "--true-key",
            help="Which array of --labels-true to read, if it is an .npz or .mat file. [default: y]",
        ),
    )
