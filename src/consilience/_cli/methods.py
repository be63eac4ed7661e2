"""``consilience methods``: the methods and generators of the library."""

from __future__ import annotations

import inspect
from typing import Any

import click

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
    from .. import multitask
    from .._register import FEATURES
    from ..consensus import methods
    from ..generate import generators

    consensus = {name: _method(name, cls) for name, cls in methods().items()}
    makers = {
        name: {
            "name": name,
            "description": maker.description,
            "parameters": {key: _default(value) for key, value in maker.parameters.items()},
        }
        for name, maker in generators().items()
    }
    estimators = {entry.name: _method(entry.name, entry.load()) for entry in FEATURES}
    several = {name: _method(name, cls) for name, cls in multitask.methods().items()}
    groups = (
        ("methods", "Consensus methods (--method)", consensus),
        ("generators", "Generators (--generator)", makers),
        (
            "estimators",
            "Both in one, in Python (here: consilience cluster; MDEC is consilience cluster --method mdec)",
            estimators,
        ),
        ("multitask", "Multi-task methods (consilience multitask --method)", several),
    )
    if as_json:
        listed = {key: list(entries.values()) for key, _, entries in groups}
        session.print_json({"command": "methods", **listed})
        return
    width = max(len(name) for _, _, entries in groups for name in entries)
    for _, title, entries in groups:
        click.echo(f"{title}:")
        for name, entry in entries.items():
            click.echo(f"  {name.ljust(width)}  {entry['description']}")


def _method(name: str, cls: Any) -> dict[str, Any]:
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    return {
        "name": name,
        "class": cls.__name__,
        "description": (inspect.getdoc(cls) or "").partition("\n")[0],
        "parameters": {parameter.name: _default(parameter) for parameter in parameters},
    }


def _default(parameter: inspect.Parameter) -> Any:
    """The default of a parameter; None also for a parameter without default."""
    return None if parameter.default is inspect.Parameter.empty else parameter.default
