"""``consilience methods``: the methods and generators of the library."""

from __future__ import annotations

import click

from ._listing import listing
from ._options import common
from ._session import Session


@click.command("methods", short_help="List the consensus methods and generators.")
@common
@click.pass_obj
def command(session: Session, as_json: bool) -> None:
    """List the consensus methods, generators and multi-task methods, one line each.

    With --json, their parameters are listed as well.

    \b
    Examples:
      consilience methods
      consilience methods --json
    """
    found = listing()
    groups = (
        ("methods", "Consensus methods (--method)"),
        ("generators", "Generators (--generator)"),
        (
            "estimators",
            "Both in one, in Python (here: consilience cluster; MDEC is consilience cluster --method mdec)",
        ),
        ("multitask", "Multi-task methods (consilience multitask --method)"),
    )
    if as_json:
        listed = {key: found[key] for key, _ in groups}
        session.print_json({"command": "methods", **listed})
        return
    width = max(len(entry["name"]) for key, _ in groups for entry in found[key])
    for key, title in groups:
        click.echo(f"{title}:")
        for entry in found[key]:
            click.echo(f"  {entry['name'].ljust(width)}  {entry['description']}")
