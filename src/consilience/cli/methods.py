"""``consilience methods``: what there is."""

from __future__ import annotations

import inspect
from typing import Any

import click

from ._options import GENERATORS, common
from ._session import Session


@click.command("methods", short_help="List the consensus methods and generators.")
@common
@click.pass_obj
def command(session: Session, as_json: bool) -> None:
    """List the consensus methods and generators, one line each; --json adds their parameters.

    \b
    Examples:
      consilience methods
      consilience methods --json
    """
    from .. import generate
    from ..consensus import methods

    consensus = {name: (cls, _parameters(cls.__init__, 1)) for name, cls in methods().items()}
    generators = {}
    for name in GENERATORS:
        function = getattr(generate, name.replace("-", "_"))
        generators[name] = (function, _parameters(function, 1))
    if as_json:
        session.print_json(
            {
                "command": "methods",
                "methods": [
                    {
                        "name": name,
                        "class": cls.__name__,
                        "description": _summary(cls),
                        "parameters": parameters,
                    }
                    for name, (cls, parameters) in consensus.items()
                ],
                "generators": [
                    {"name": name, "description": _summary(function), "parameters": parameters}
                    for name, (function, parameters) in generators.items()
                ],
            }
        )
        return
    width = max(map(len, [*consensus, *generators]))
    click.echo("Consensus methods (--method):")
    for name, (cls, _) in consensus.items():
        click.echo(f"  {name.ljust(width)}  {_summary(cls)}")
    click.echo("Generators (--generator):")
    for name, (function, _) in generators.items():
        click.echo(f"  {name.ljust(width)}  {_summary(function)}")


def _summary(thing: Any) -> str:
    """The first line of its docstring."""
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def _parameters(function: Any, skip: int) -> dict[str, Any]:
    """Name -> default; None also where there is no default."""
    found = list(inspect.signature(function).parameters.values())[skip:]
    return {p.name: None if p.default is inspect.Parameter.empty else p.default for p in found}
