"""Options that several commands share, and what they mean in terms of the library."""

from __future__ import annotations

import ast
import os
import shlex
import sys
from collections.abc import Callable, Iterable
from typing import Any

import click

from ..errors import InputError
from ._session import Session

Command = Callable[..., Any]

#: Generators by their command-line name; each is the function of that name in ``consilience.generate``.
GENERATORS = ("kmeans", "random-k", "random-features", "metric-subspace", "spectral", "bagging")


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

method_option = click.option(
    "-m",
    "--method",
    default="evidence-accumulation",
    show_default=True,
    help='Consensus method; "consilience methods" lists them.',
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


def param_option(name: str, target: str) -> Callable[[Command], Command]:
    """A repeatable ``name=value`` option."""
    return click.option(
        name,
        multiple=True,
        metavar="NAME=VALUE",
        help=f"A parameter of the {target}, by its name in Python; repeatable.",
    )


def parse_params(
    given: Iterable[str], valid: Iterable[str], *, owner: str, reserved: dict[str, str]
) -> dict[str, Any]:
    """``name=value`` pairs as keyword arguments, names checked; ``reserved`` maps names to the option that sets them."""
    names = [name for name in valid if name not in reserved]
    result: dict[str, Any] = {}
    for pair in given:
        name, equals, text = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise InputError(
                f"{pair!r} is not a parameter: expected NAME=VALUE, for example {(names or ['name'])[0]}=1."
            )
        if name in reserved:
            raise InputError(f"The parameter {name!r} is set by the option {reserved[name]}.")
        if name not in names:
            choices = f"its parameters are {', '.join(names)}" if names else "it has no further parameters"
            raise InputError(f"{owner} has no parameter {name!r}; {choices}.")
        result[name] = _value(text.strip())
    return result


def _value(text: str) -> Any:
    """A Python literal where it is one (true, false and none in any case), else the text itself."""
    words = {"true": True, "false": False, "none": None, "null": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def build_method(
    name: str, n_clusters: int, params: Iterable[str], *, seed: int | None, n_jobs: int | None
) -> Any:
    """The estimator of that name with its parameters."""
    from ..consensus import method

    cls = method(name)
    valid = cls._get_param_names()
    reserved = {"n_clusters": "-k", "random_state": "--seed", "n_jobs": "--n-jobs"}
    values = parse_params(params, valid, owner=cls.__name__, reserved=reserved)
    values |= {k: v for k, v in {"random_state": seed, "n_jobs": n_jobs}.items() if k in valid}
    return cls(n_clusters=n_clusters, **values)


def generator_parameters(name: str) -> dict[str, Any]:
    """The parameters of a generator after X, as :mod:`inspect` describes them."""
    import inspect

    from .. import generate

    found = inspect.signature(getattr(generate, name.replace("-", "_"))).parameters
    return {key: parameter for key, parameter in list(found.items())[1:] if key != "sample_weight"}


def run_generator(
    name: str,
    X: Any,
    params: Iterable[str],
    *,
    n_clusterings: int | None,
    k: int | None,
    random_state: int,
    n_jobs: int | None,
) -> Any:
    """The ensemble that a generator makes of X; what is None is left to its defaults."""
    from .. import generate

    valid = generator_parameters(name)
    options = {"n_clusterings": (n_clusterings, "-n"), "k": (k, "-k")}
    reserved = {key: option for key, (_, option) in options.items() if key in valid}
    reserved |= {"random_state": "--seed", "n_jobs": "--n-jobs"}
    values = parse_params(params, valid, owner=f"The generator {name}", reserved=reserved)
    for key, (value, option) in options.items():
        if value is None:
            continue
        if key not in valid:
            others = ", ".join(other for other in valid if other not in reserved)
            raise InputError(
                f"The generator {name} does not take {option}; its parameters are {others} (NAME=VALUE)."
            )
        values[key] = value
    if k is None and "k" in valid and valid["k"].default is not None:
        raise InputError(f"The generator {name} needs a number of clusters: give -k.")
    return getattr(generate, name.replace("-", "_"))(X, random_state=random_state, n_jobs=n_jobs, **values)


def source(path: str) -> Any:
    """A path, or standard input for ``-``."""
    return sys.stdin.buffer if path == "-" else path


def check_output(path: str, *inputs: str, as_json: bool = False, json_instead: bool = True) -> None:
    """Refuse now what could not be written later."""
    if path == "-":
        if as_json and not json_instead:
            raise InputError("--json prints on standard output, so the result needs a file: give -o FILE.")
        return
    from ..io import check_writable

    check_writable(path)
    for given in inputs:
        if given != "-" and os.path.exists(path) and os.path.exists(given) and os.path.samefile(path, given):
            raise InputError(f"{path} is the input file itself; give another output file.")


def check_report(path: str | None, *others: str) -> None:
    """Refuse now a page that could not be written later."""
    if path is None:
        return
    from ..errors import need
    from ..io import check_writable

    if path == "-":
        raise InputError("--report needs the name of a file, such as report.html.")
    need("jinja2", "report", "--report")
    check_writable(path, formats=False)
    same = [other for other in others if other != "-" and os.path.realpath(other) == os.path.realpath(path)]
    if same:
        raise InputError(f"--report {path} would overwrite the file of that name; give the page another one.")


def write_report(
    session: Session, path: str | None, model: Any, X: Any, *, source: str, names: Any, seconds: float
) -> None:
    """The page about a result, with the command that made it."""
    if path is None:
        return
    from ..reporting import report

    report(
        model,
        X,
        path=path,
        source="standard input" if source == "-" else os.path.basename(source),
        sample_names=names,
        command=shlex.join(["consilience", *session.arguments]),
        seconds=seconds,
        warnings=session.warnings,
    )
    session.say(f"wrote a report to {path}")


def write_result(
    session: Session,
    path: str,
    model: Any,
    names: Any,
    *,
    confidence: bool,
    as_json: bool,
    facts: dict[str, Any],
) -> None:
    """The labels to a file or to standard output; with ``--json`` what is worth knowing about them."""
    import numpy as np

    from ..io import write_labels

    labels = np.asarray(model.labels_)
    sure = model.confidence_ if confidence else None
    sizes = np.bincount(labels[labels >= 0])
    if path != "-":
        write_labels(path, labels, row_names=names, confidence=sure)
        session.say(
            f"wrote {len(labels)} labels in {len(sizes)} clusters ({_sizes(sizes)} objects) to {path}"
        )
    elif not as_json:
        write_labels(sys.stdout.buffer, labels, row_names=names, confidence=sure)
    if as_json:
        result = {
            **facts,
            "n_samples": len(labels),
            "n_clusters": len(sizes),
            "sizes": sizes,
            "converged": bool(getattr(model, "converged_", True)),
            "n_iter": getattr(model, "n_iter_", None),
            "mean_confidence": float(np.mean(model.confidence_)),
            "output": None if path == "-" else path,
        }
        if path == "-":
            result |= {"names": names, "labels": labels} | ({"confidence": sure} if confidence else {})
        session.print_json(result)


def _sizes(sizes: Any) -> str:
    from ..validation import listed

    return listed(sizes, most=10)
