"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
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
        help="No notes and no progress bars.",
    ),
    click.option("--debug", is_flag=True, expose_value=False, help="Show the traceback of an error."),
)

#: How the input file is to be read.
reading = _together(
    click.option(
        "--header/--no-header",
        default=None,
        help="Line 1 holds column names, or not; by default decided and said.",
    ),
    click.option(
        "--index/--no-index",
        default=None,
        help="Column 1 holds row names, or not; by default decided and said.",
    ),
    click.option(
        "--transpose", is_flag=True, help="Columns of the file are the objects, as where genes are in rows."
    ),
    click.option("--key", help="Which array of an .npz or .mat file."),
)

#: How a method runs.
running = _together(
    click.option(
        "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of all random choices."
    ),
    click.option("--n-jobs", type=int, default=None, help="Number of threads; -1 for all. [default: all]"),
)

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
        help=f'How the base clusterings are made; "consilience methods" lists the ways{_LEFT if default == AUTO else ""}.',
    )


scale_option = click.option(
    "--scale",
    is_flag=True,
    help='Bring columns to mean 0 and variance 1; short for the generator\'s parameter "preprocess=standardize".',
)

n_clusterings_option = click.option(
    "-n",
    "--n-clusterings",
    type=int,
    default=None,
    help="How many base clusterings. [default: that of the generator]",
)

confidence_option = click.option(
    "--confidence", is_flag=True, help="Add a column that says how sure each label is, from 0 to 1."
)

report_option = click.option(
    "--report",
    "report_output",
    metavar="FILE.html",
    default=None,
    help="Also write a page that shows and explains the result; it opens offline.",
)


save_option = click.option(
    "--save",
    "model_output",
    metavar="FILE",
    default=None,
    help='Also write the model, for "consilience predict" and consilience.load; no pickle.',
)


def param_option(name: str, target: str) -> Callable[[Command], Command]:
    """A repeatable ``name=value`` option."""
    return click.option(
        name,
        multiple=True,
        metavar="NAME=VALUE",
        help=f"A parameter of the {target}, by its name in Python; repeatable.",
    )
