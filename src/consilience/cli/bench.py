"""``consilience bench``: published comparisons, rerun."""

from __future__ import annotations

from typing import Any

import click

from ..errors import InputError
from ._options import common
from ._session import Session

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "k": 10**3, "m": 10**6, "g": 10**9}


@click.group("bench", short_help="Rerun published comparisons.")
def command() -> None:
    """Rerun published comparisons on the data you have, and set ours beside the printed figures.

    \b
    Examples:
      consilience bench list
      consilience bench run spce --data DIR --out results/
      consilience bench report results/

    A protocol of your own is a JSON file like those that "bench list --show NAME" prints; its methods may be
    package.module:Class, found beside the file too.
    """


@command.command("list")
@click.argument("protocol", required=False)
@click.option("--data", metavar="DIR", help="A folder of data sets: say which of a protocol are there.")
@click.option("--show", is_flag=True, help="Print the protocol as JSON, to start one of your own from.")
@common
@click.pass_obj
def list_(session: Session, protocol: str | None, data: str | None, show: bool, as_json: bool) -> None:
    """List the protocols, or what one PROTOCOL needs and what of it is available.

    \b
    Examples:
      consilience bench list
      consilience bench list sccabg --data DIR
      consilience bench list bundled --show > mine.json
    """
    import json

    from ..bench import load_protocol, protocols

    if protocol is None:
        if show:
            raise InputError(
                "--show needs the name of a protocol, for example: consilience bench list bundled --show"
            )
        found = protocols()
        if as_json:
            session.print_json({"command": "bench list", "protocols": {n: p.title for n, p in found.items()}})
            return
        width = max(map(len, found))
        for name, item in found.items():
            click.echo(
                f"{name.ljust(width)}  {item.title} ({len(item.sets)} sets, {len(item.methods)} methods)"
            )
        return
    chosen = load_protocol(protocol)
    if show:
        click.echo(json.dumps(chosen.raw, indent=1, ensure_ascii=False))
        return
    facts = _facts(chosen, data)
    if as_json:
        session.print_json({"command": "bench list", **facts})
        return
    click.echo(f"{chosen.title}\n{chosen.reference}\n{chosen.about}".strip())
    for what in ("sets", "methods"):
        click.echo(f"\n{what.capitalize()}:")
        for name, state in facts[what].items():
            click.echo(f"  {name}: {state}")


def _facts(protocol: Any, data: str | None) -> dict:
    from ..bench._cells import unavailable
    from ..bench._sets import find_set
    from ..errors import ConsilienceError

    sets = {}
    for item in protocol.sets:
        try:
            path = find_set(item.data, data)
            sets[item.name] = "bundled" if path is None else f"found ({path.name})"
        except ConsilienceError as error:
            sets[item.name] = f"not found ({item.data})" if data else str(error)
    methods = {
        method.name: unavailable(method, protocol.folder) or "available" for method in protocol.methods
    }
    return {"protocol": protocol.name, "sets": sets, "methods": methods}


@command.command("run")
@click.argument("names", nargs=-1, required=True, metavar="PROTOCOL...")
@click.option("--data", metavar="DIR", help="Folder of data sets (.npz, .mat or .csv by name).")
@click.option(
    "--out", required=True, metavar="DIR", help="Results folder; what it holds already is not run again."
)
@click.option("--sets", metavar="A,B,...", help="Only these sets; A;B;... where a name holds a comma.")
@click.option("--methods", metavar="A,B,...", help="Only these methods; A;B;... where a name holds a comma.")
@click.option("--repetitions", type=click.IntRange(1), help="Fewer repetitions than the protocol has.")
@click.option(
    "--tuned/--no-tuned", default=True, help="Also run the grids that are tuned by the truth, or not."
)
@click.option("--jobs", type=int, help="Worker processes. [default: as many as fit the cores]")
@click.option(
    "--threads", type=click.IntRange(1), default=1, show_default=True, help="Threads of each worker."
)
@click.option(
    "--time-limit", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help="Limit per cell."
)
@click.option("--memory-limit", metavar="SIZE", help="Limit per cell, for example 4GB.")
@click.option("--retry", is_flag=True, help="Run cells again that failed before.")
@common
@click.pass_obj
def run_(
    session: Session,
    names: tuple[str, ...],
    data: str | None,
    out: str,
    sets: str | None,
    methods: str | None,
    repetitions: int | None,
    tuned: bool,
    jobs: int | None,
    threads: int,
    time_limit: float | None,
    memory_limit: str | None,
    retry: bool,
    as_json: bool,
) -> None:
    """Run protocols into a results folder, or what is left of them after an interruption.

    \b
    Examples:
      consilience bench run bundled --out results/
      consilience bench run spce --data DIR --out results/ --sets GLIOMA,TOX --time-limit 600
      consilience bench run mine.json --data DIR --out results/
    """
    from ..bench import load_protocol, run
    from ..progress import progress_shown

    chosen = [load_protocol(name) for name in names]  # all of them, before the first one runs for hours
    rows = _shared_out(chosen, _listed(sets), "sets")
    columns = _shared_out(chosen, _listed(methods), "methods")
    limit = None if memory_limit is None else _bytes(memory_limit)
    outcomes = {}
    with progress_shown(False if session.quiet else None):
        for protocol in chosen:
            if protocol.name not in rows or protocol.name not in columns:
                session.note(f"{protocol.name} has none of what was asked for.")
                continue
            outcome = run(
                protocol,
                out=out,
                data=data,
                sets=rows[protocol.name],
                methods=columns[protocol.name],
                repetitions=repetitions,
                tuned=tuned,
                jobs=jobs,
                threads=threads,
                time_limit=time_limit,
                memory_limit=limit,
                retry=retry,
                report=session.note,
            )
            session.say(f"{protocol.name}: {outcome}")
            outcomes[protocol.name] = {**vars(outcome)}
    if as_json:
        session.print_json({"command": "bench run", "out": out, "protocols": outcomes})
    else:
        session.say(f"Next: consilience bench report {out}")


@command.command("report")
@click.argument("folder", metavar="RESULTS")
@click.option("--out", metavar="DIR", help="Where the report goes. [default: RESULTS]")
@click.option("--markdown", metavar="FILE", help="Write the Markdown to this file as well.")
@click.option("--only", metavar="A,B,...", help="Only these protocols.")
@common
@click.pass_obj
def report_(
    session: Session, folder: str, out: str | None, markdown: str | None, only: str | None, as_json: bool
) -> None:
    """Write report.md, report.csv and report.html for what RESULTS holds.

    \b
    Examples:
      consilience bench report results/
    """
    from ..bench import report

    written = [str(path) for path in report(folder, out=out, markdown=markdown, only=_listed(only))]
    if as_json:
        session.print_json({"command": "bench report", "written": written})
    else:
        session.say("\n".join(f"wrote {path}" for path in written))


def _shared_out(protocols: list[Any], wanted: list[str] | None, what: str) -> dict[str, list[str] | None]:
    """Protocol -> which of the wanted names it has; with several protocols each takes what it knows."""
    if not wanted or len(protocols) == 1:
        return {protocol.name: wanted for protocol in protocols}
    out: dict[str, list[str] | None] = {}
    for protocol in protocols:
        if mine := [name for name in wanted if protocol.has(what, name)]:
            out[protocol.name] = mine
    held = {name for mine in out.values() for name in mine or []}
    if unknown := [name for name in wanted if name not in held]:
        from ..validation import listed

        raise InputError(f"None of the protocols has the {what} {listed(map(repr, unknown))}.")
    return out


def _listed(text: str | None) -> list[str] | None:
    """Names between commas, or between semicolons where there are any: some names hold a comma."""
    if text is None:
        return None
    return [item.strip() for item in text.split(";" if ";" in text else ",") if item.strip()]


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
