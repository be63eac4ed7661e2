"""``python -m reproduction``: published comparisons, rerun."""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Callable
from typing import Any

import click

from consilience._base.parameters import listed
from consilience.errors import ConsilienceError, InputError

Note = Callable[[str], None]
_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "k": 10**3, "m": 10**6, "g": 10**9}


def say(text: str) -> None:
    click.echo(text, err=True)


def _running(command: Callable[..., None]) -> Callable[..., None]:
    """The options of all commands that run cells; ``memory_limit`` is in bytes, ``note`` prints messages."""

    @click.option("--data", metavar="DIR", help="Folder of data sets (.npz, .mat or .csv by name).")
    @click.option(
        "--out", required=True, metavar="DIR", help="Results; what is there already is not run again."
    )
    @click.option("--jobs", type=int, help="Worker processes. [default: as many as fit the cores]")
    @click.option(
        "--time-limit", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help="Per cell."
    )
    @click.option("--memory-limit", metavar="SIZE", help="Limit per cell, for example 4GB.")
    @click.option("--quiet", is_flag=True, help="Say nothing but errors.")
    @functools.wraps(command)
    def run(*, memory_limit: str | None, quiet: bool, **options: Any) -> None:
        from consilience._base.progress import progress_shown

        note = (lambda text: None) if quiet else say
        limit = None if memory_limit is None else _bytes(memory_limit)
        with progress_shown(False if quiet else None):
            command(note=note, memory_limit=limit, **options)
        note(f"Next: python -m reproduction report {options['out']}")

    return run


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def cli() -> None:
    """Rerun published comparisons on the data you have, and set ours beside the printed figures.

    \b
    Examples:
      python -m reproduction list
      python -m reproduction run spce --data DIR --out results/
      python -m reproduction report results/

    A protocol of your own is a JSON file like those that "list --show NAME" prints; its methods may be
    package.module:Class, found beside the file too.
    """


@cli.command("list")
@click.argument("protocol", required=False)
@click.option("--data", metavar="DIR", help="A folder of data sets: say which of a protocol are there.")
@click.option("--show", is_flag=True, help="Print the protocol as JSON, to start one of your own from.")
def list_(protocol: str | None, data: str | None, show: bool) -> None:
    """List the protocols, or what one PROTOCOL needs and what of it is available."""
    from .protocol import load_protocol, plain, protocols

    if protocol is None:
        if show:
            raise InputError("--show needs the name of a protocol, for example: list bundled --show")
        for name, item in protocols().items():
            click.echo(f"{name:18} {item.title} ({len(item.sets)} sets, {len(item.methods)} methods)")
        return
    chosen = load_protocol(protocol)
    if show:
        click.echo(json.dumps(plain(chosen), indent=1, ensure_ascii=False))
        return
    click.echo(f"{chosen.title}\n{chosen.reference}\n{chosen.about}".strip())
    for what, states in _facts(chosen, data).items():
        click.echo(f"\n{what}:")
        for name, state in states.items():
            click.echo(f"  {name}: {state}")


def _facts(protocol: Any, data: str | None) -> dict[str, dict[str, str]]:
    """What of a protocol is there."""
    from .cells import unavailable
    from .sets import find_set

    sets = {}
    for item in protocol.sets:
        try:
            path = find_set(item.data, data)
            sets[item.name] = "bundled" if path is None else f"found ({path.name})"
        except ConsilienceError as error:
            sets[item.name] = f"not found ({item.data})" if data else str(error)
    methods = {method.name: unavailable(method) or "available" for method in protocol.methods}
    return {"Sets": sets, "Methods": methods}


@cli.command("run")
@click.argument("names", nargs=-1, required=True, metavar="PROTOCOL...")
@click.option("--sets", metavar="A,B,...", help="Only these sets; A;B;... where a name holds a comma.")
@click.option("--methods", metavar="A,B,...", help="Only these methods; A;B;... where a name holds a comma.")
@click.option("--repetitions", type=click.IntRange(1), help="Fewer repetitions than the protocol has.")
@click.option("--tuned/--no-tuned", default=True, help="Also run the grids tuned by the truth, or not.")
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="Threads per worker.")
@click.option("--retry", is_flag=True, help="Run cells again that failed before.")
@_running
def run_(names: tuple[str, ...], sets: str | None, methods: str | None, note: Note, **options: Any) -> None:
    """Run protocols into a results folder, or what is left of them after an interruption."""
    from .protocol import load_protocol
    from .run import run

    chosen = [load_protocol(name) for name in names]  # all of them, before the first one runs for hours
    rows, columns = (
        _shared_out(chosen, listing, what) for listing, what in ((sets, "sets"), (methods, "methods"))
    )
    idle = []
    for protocol in chosen:
        if protocol.name not in rows or protocol.name not in columns:
            note(f"{protocol.name} has none of what was asked for.")
            continue
        options |= {"sets": rows[protocol.name], "methods": columns[protocol.name]}
        try:
            note(f"{protocol.name}: {run(protocol, **options, on_note=note)}")
        except InputError as error:  # the others are run all the same
            idle.append(str(error))
    if idle:
        raise InputError("\n".join(idle))


@cli.command("all")
@click.option("--only", metavar="A,B,...", help="Only the steps of these protocols.")
@_running
def all_(only: str | None, note: Note, **options: Any) -> None:
    """Run everything that the kept tables hold (reproduction/kept.json), into one results folder."""
    from .kept import run_kept

    for step, outcome in run_kept(only=_listed(only), on_note=note, **options):
        note(f"{step.protocol}: {outcome}")


@cli.command("report")
@click.argument("results", required=False)
@click.option("--out", metavar="DIR", help="Where tables and pages go. [default: RESULTS]")
@click.option("--only", metavar="A,B,...", help="Only these protocols.")
@click.option("--pictures", is_flag=True, help="Also draw ranks and curves (SVG).")
def report_(results: str | None, out: str | None, only: str | None, pictures: bool) -> None:
    """Write what RESULTS holds as CSV tables and one page per paper.

    Tables that are in --out already keep the protocols that RESULTS does not hold. Without RESULTS the pages
    are written again from the tables in --out.
    """
    from .report import report

    for path in report(results, out=out, only=_listed(only), pictures=pictures):
        say(f"wrote {path}")


def _shared_out(protocols: list[Any], listing: str | None, what: str) -> dict[str, list[str] | None]:
    """Protocol -> which of the wanted names it has; with several protocols each takes what it knows."""
    wanted = _listed(listing)
    if not wanted or len(protocols) == 1:
        return {protocol.name: wanted for protocol in protocols}
    out: dict[str, list[str] | None] = {
        protocol.name: mine
        for protocol in protocols
        if (mine := [name for name in wanted if protocol.has(what, name)])
    }
    held = {name for mine in out.values() for name in mine or []}
    if unknown := [name for name in wanted if name not in held]:
        raise InputError(f"None of the protocols has the {what} {listed(map(repr, unknown))}.")
    return out


def _listed(text: str | None) -> list[str] | None:
    from .protocol import names_in

    return None if text is None else names_in(text)


def _bytes(text: str) -> float:
    """'4GB', '500 MB' or a plain number of bytes."""
    number = text.strip().lower().rstrip("bkmg ")
    unit = text.strip().lower()[len(number) :].strip()
    try:
        value = float(number) * _UNITS[unit]
    except (ValueError, KeyError):
        value = 0.0
    if not value > 0 or value == float("inf"):
        raise InputError(f"--memory-limit={text!r} is not a size: expected for example 500MB or 4GB.")
    return value


def main() -> None:
    """Run the program; our own errors are sentences, not tracebacks."""
    try:
        cli(prog_name="python -m reproduction")
    except ConsilienceError as error:
        say(f"error: {error}")
        sys.exit(2)


if __name__ == "__main__":
    main()
